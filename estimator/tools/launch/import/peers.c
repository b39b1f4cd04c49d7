/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans, models and systems of other estimators of training steps: Calculon (execution,
 * application, system; Isaev et al., SC 2023) and SimuMax (strategy, model, system), and the files
 * with the time that they print.
 *
 * configs/peers has a row for every key that these tools read. Keys outside of it, and values that
 * no key of a job can say, are errors: a comparison would be of two different jobs.
 */
#include "launch/import/job_draft.h"

#include "base/json_read.h"
#include "base/text.h"
#include "base/yaml_read.h"
#include "launch/import/megatron.h"
#include "steptime/keys.h"
#include "steptime/quantity.h"
#include "steptime/tool/input_files.h"
#include "steptime/tool/job_keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum peer_kind {
    CALCULON_EXECUTION,
    CALCULON_APPLICATION,
    CALCULON_SYSTEM,
    CALCULON_RESULT,
    SIMUMAX_STRATEGY,
    SIMUMAX_MODEL,
    SIMUMAX_SYSTEM,
    SIMUMAX_RESULT,
    PEER_KINDS
} peer_kind;

/* Which tables of configs/peers have them, and under `files` which of a table. */
static const char *const tools[2] = {"calculon", "simumax"};
static const char *const kind_names[PEER_KINDS] = {"execution", "application", "system", "stats",
                                                   "strategy",  "model",       "system", "result"};

typedef struct peer_row {
    const char *name;   /* patterns, as of fnmatch, of paths below the root: "networks.0.size" */
    const char *key;    /* of the job; NULL: only looked at */
    const char *unit;   /* behind their number; NULL: none */
    const char *words;  /* "theirs=ours ...", all others refused; NULL: any value */
    const char *absent; /* their value where the file lacks the key; NULL: nothing */
    bool required;
    bool number;
} peer_row;

typedef struct peer_kind_table {
    const char *mark;  /* the key by which a file is recognized; no other kind has it */
    const char *title; /* "Calculon's execution" */
    bool required;
    const peer_row *rows;
    size_t count;
} peer_kind_table;

typedef struct peer_file {
    const st_source *source;
    const st_json *root;
} peer_file;

typedef struct peer {
    st_draft draft;
    peer_kind_table kinds[PEER_KINDS];
    const char *stacks[2]; /* that the tools describe, "stack=NAME" */
    peer_file files[PEER_KINDS];
    st_buffer unused; /* names that are only looked at and decide nothing */
} peer;

/* ---- the tables ---- */

static peer_row read_row(st_yaml_reader *reader, const st_yaml_node *node)
{
    static const char *const known[] = {"name",   "key",      "unit",  "words",
                                        "absent", "required", "number"};
    st_read_keys(reader, node, "row", known, ST_COUNT(known), 1);
    const peer_row row = {
        .name = st_read_text(reader, node, "name", ""),
        .key = st_read_text(reader, node, "key", NULL),
        .unit = st_read_text(reader, node, "unit", NULL),
        .words = st_read_text(reader, node, "words", NULL),
        .absent = st_read_text(reader, node, "absent", NULL),
        .required = st_read_bool(reader, node, "required"),
        .number = st_read_bool(reader, node, "number"),
    };
    if (row.key != NULL && st_key_find(row.key) == NULL)
        st_note(&reader->status,
                st_fail(reader->errors, ST_ERR_NAME, st_yaml_get(node, "key")->place,
                        "jobs have no key '%.100s'", row.key));
    return row;
}

static void read_table(peer *from, size_t tool)
{
    static const char *const known[] = {"tool", "source", "stack", "files"};
    static const char *const of_file[] = {"mark", "keys", "required"};
    const st_yaml_node *root = NULL;
    st_draft *draft = &from->draft;
    st_note(&draft->status, st_paths_read_yaml(draft->request->paths, ST_FOLDER_PEERS, tools[tool],
                                               draft->arena, &root, draft->errors));
    if (draft->status != ST_OK)
        return;
    st_yaml_reader reader = {
        .arena = draft->arena, .errors = draft->errors, .file = root->place.file};
    st_read_keys(&reader, root, "table of keys", known, ST_COUNT(known), ST_COUNT(known));
    const char *title = st_read_text(&reader, root, "tool", "");
    const st_yaml_node *files = st_read_map(&reader, root, "files");
    from->stacks[tool] =
        st_draft_text(draft, ST_KEY_STACK "=%s", st_read_text(&reader, root, "stack", ""));
    for (size_t i = tool * SIMUMAX_STRATEGY; i < (tool + 1) * SIMUMAX_STRATEGY; i++) {
        const st_yaml_node *file = st_read_map(&reader, files, kind_names[i]);
        peer_kind_table *table = &from->kinds[i];
        st_read_keys(&reader, file, "file", of_file, ST_COUNT(of_file), 2);
        const st_yaml_node *list = st_read_list(&reader, file, "keys", 256);
        peer_row *rows = st_read_room(&reader, &list, sizeof *rows);
        for (size_t k = 0; k < list->count; k++)
            rows[k] = read_row(&reader, list->items[k]);
        *table = (peer_kind_table){st_read_text(&reader, file, "mark", ""),
                                   st_draft_text(draft, "%s's %s", title, kind_names[i]),
                                   st_read_bool(&reader, file, "required"), rows, list->count};
    }
    st_note(&draft->status, reader.status);
}

static st_place place_of(const peer_file *file, const st_json *node)
{
    return (st_place){.file = file->source != NULL ? file->source->file : NULL,
                      .line = node != NULL ? node->line : 0};
}

static const st_json *child(const st_json *map, const char *name)
{
    for (const st_json *node = map != NULL ? map->first : NULL; node != NULL; node = node->next)
        if (node->name != NULL && strcmp(node->name, name) == 0)
            return node->kind != ST_JSON_NULL ? node : NULL;
    return NULL;
}

/* ---- the keys of a file ---- */

/* Our value for theirs; NULL: the row's words lack it. */
static const char *translated(peer *from, const peer_row *row, const char *theirs)
{
    const size_t length = strlen(theirs);
    if (row->words == NULL)
        return row->unit == NULL || strpbrk(theirs, " s") != NULL
                   ? theirs
                   : st_draft_text(&from->draft, "%s %s", theirs, row->unit);
    for (const char *word = row->words; *word != '\0'; word += strspn(word, " ")) {
        const size_t end = strcspn(word, " ");
        if (strncmp(word, theirs, length) == 0 && word[length] == '=')
            return st_draft_text(&from->draft, "%.*s", (int)(end - length - 1), word + length + 1);
        word += end;
    }
    return NULL;
}

/* "none, attn_only, full" */
static const char *listed(peer *from, const char *values)
{
    st_buffer list = {0};
    for (const char *word = values; *word != '\0'; word += strspn(word, " ")) {
        st_buffer_printf(&list, "%s%.*s", list.length > 0 ? ", " : "", (int)strcspn(word, "="),
                         word);
        word += strcspn(word, " ");
    }
    return st_draft_keep(&from->draft, &list);
}

static bool is_of_cluster(const char *key)
{
    return strncmp(key, ST_KEY_CLUSTER ".", sizeof ST_KEY_CLUSTER) == 0;
}

static void put_row(peer *from, peer_kind kind, const peer_row *row, const char *name,
                    const char *theirs, const st_json *node)
{
    const st_place place = place_of(&from->files[kind], node);
    const char *ours = translated(from, row, theirs);
    double number = 0;
    if (row->number)
        st_note(&from->draft.status,
                st_number_parse(theirs, strlen(theirs), place, &number, from->draft.errors));
    if (row->key != NULL && (st_draft_is_given(&from->draft, row->key) ||
                             (from->draft.cluster != NULL && is_of_cluster(row->key))))
        return;
    if (ours == NULL)
        ST_NOTE(&from->draft, ST_ERR_VALUE, place,
                "no key of a job says '%s'" ST_FOUND "%s" ST_EXPECTED "%s" ST_HINT "%s%s", name,
                theirs, listed(from, row->words), row->key != NULL ? "override it with --set " : "",
                st_or_none(row->key));
    else if (row->key != NULL)
        st_draft_put_at(&from->draft, row->key, place, ours,
                        st_draft_text(&from->draft,
                                      node != NULL ? "%s %s" : "%s, as it is without %s",
                                      from->kinds[kind].title, name));
}

static void refuse_key(peer *from, peer_kind kind, const char *path, const st_json *node)
{
    const peer_kind_table *table = &from->kinds[kind];
    const char **names = st_draft_alloc(&from->draft, table->count, sizeof *names);
    for (size_t i = 0; names != NULL && i < table->count; i++)
        names[i] = table->rows[i].name;
    if (names == NULL)
        return;
    ST_NOTE(&from->draft, ST_ERR_NAME, place_of(&from->files[kind], node),
            "unknown key '%.100s' in %s" ST_HINT "%s", path, from->kinds[kind].title,
            st_errors_nearest(from->draft.errors, path, names, table->count));
}

static void read_node(peer *from, peer_kind kind, const st_json *node, const char *path)
{
    const peer_row *row = from->kinds[kind].rows;
    const peer_row *end = row + from->kinds[kind].count;
    size_t index = 0;
    if (node->kind == ST_JSON_NULL || from->draft.status == ST_ERR_MEMORY)
        return;
    for (const st_json *below = node->first; below != NULL; below = below->next, index++) {
        const char *name =
            below->name != NULL ? below->name : st_draft_text(&from->draft, "%zu", index);
        read_node(from, kind, below,
                  path[0] == '\0' ? name : st_draft_text(&from->draft, "%s.%s", path, name));
    }
    if (node->kind == ST_JSON_MAP || node->kind == ST_JSON_LIST)
        return;
    while (row < end && (!megatron_fits(row->name, path) ||
                         (row->absent != NULL && child(node->parent, path) != node)))
        row++;
    if (row == end) {
        refuse_key(from, kind, path, node);
        return;
    }
    if (row->key == NULL && row->words == NULL && row->absent == NULL && !row->required &&
        node->parent == from->files[kind].root && kind != CALCULON_RESULT && kind != SIMUMAX_RESULT)
        st_buffer_printf(&from->unused, "%s%s", from->unused.length > 0 ? ", " : "", path);
    put_row(from, kind, row, path, node->text, node);
}

/* The value of a path, "networks.0.size"; NULL: not there. */
static const st_json *at_path(const st_json *node, const char *path)
{
    while (node != NULL && *path != '\0') {
        const size_t length = strcspn(path, ".");
        size_t index = 0;
        const st_json *found = NULL;
        for (const st_json *one = node->first; one != NULL && found == NULL; one = one->next) {
            char number[24];
            (void)snprintf(number, sizeof number, "%zu", index++);
            const char *name = one->name != NULL ? one->name : number;
            if (strlen(name) == length && strncmp(name, path, length) == 0)
                found = one;
        }
        node = found;
        path += length + (path[length] == '.');
    }
    return node != NULL && node->kind != ST_JSON_NULL ? node : NULL;
}

static void read_file(peer *from, peer_kind kind)
{
    const st_json *root = from->files[kind].root;
    read_node(from, kind, root, "");
    for (size_t i = 0; i < from->kinds[kind].count; i++) {
        const peer_row *row = &from->kinds[kind].rows[i];
        if ((!row->required && row->absent == NULL) || at_path(root, row->name) != NULL)
            continue;
        if (!row->required)
            put_row(from, kind, row, row->name, row->absent, NULL);
        else if (row->key == NULL || !st_draft_is_given(&from->draft, row->key))
            ST_NOTE(&from->draft, ST_ERR_NAME, place_of(&from->files[kind], root),
                    "%s lacks the key '%s'", from->kinds[kind].title, row->name);
    }
}

/* ---- what several keys say together ---- */

/* Of rows with `number`, so that a text is an error before. */
static double number_at(const peer *from, peer_kind kind, const char *path, double absent)
{
    const st_json *node = at_path(from->files[kind].root, path);
    double number = absent;
    if (node != NULL && node->text != NULL &&
        st_number_parse(node->text, strlen(node->text), (st_place){0}, &number, NULL) != ST_OK)
        return absent;
    return number;
}

static bool is_true(const peer *from, const char *name, bool absent)
{
    const st_json *node = child(from->files[SIMUMAX_STRATEGY].root, name);
    return node == NULL ? absent : node->text != NULL && strcmp(node->text, "true") == 0;
}

static void put_number(peer *from, const char *key, double value, const char *unit,
                       const char *origin)
{
    if (from->draft.cluster == NULL || !is_of_cluster(key))
        st_draft_put(&from->draft, key, 0, st_draft_text(&from->draft, "%.17g%s", value, unit),
                     origin);
}

static uint64_t count_of(const peer *from, const char *key)
{
    const uint64_t count = st_draft_count(&from->draft, key);
    return count > 0 ? count : 1;
}

static void put_nodes(peer *from, double ranks)
{
    const double width = (double)count_of(from, ST_KEY_CLUSTER_GPUS_PER_NODE);
    put_number(from, ST_KEY_CLUSTER_NODES, ceil(ranks / width), "",
               "the ranks over the GPUs of a node");
    /* The sheet has the energy of a step, which no comparison with these tools shows. */
    put_number(from, ST_KEY_CLUSTER_GPU_POWER, 400, " W",
               "assumed: the system has none; energy and cost alone depend on it");
}

/* Where --set names no other. */
static void put_stack(peer *from, const char *stack)
{
    if (from->draft.file_count == 0)
        from->draft.files[from->draft.file_count++] = stack;
}

/* The two 16-bit types have the same rate on every GPU that has both. */
static void put_missing_peaks(peer *from, const char *origin)
{
    static const char *const keys[2] = {ST_KEY_CLUSTER_GPU_PEAK_FP16, ST_KEY_CLUSTER_GPU_PEAK_BF16};
    for (size_t i = 0; i < 2 && from->draft.cluster == NULL; i++) {
        const char *own = from->draft.values[st_key_index(st_key_find(keys[i]))].text;
        const char *other = from->draft.values[st_key_index(st_key_find(keys[1 - i]))].text;
        if (own == NULL && other != NULL)
            st_draft_put(&from->draft, keys[i], 0, other, origin);
    }
}

static void settle_calculon(peer *from)
{
    const peer_file *plan = &from->files[CALCULON_EXECUTION];
    const double ranks = number_at(from, CALCULON_EXECUTION, "num_procs", 0);
    const double sizes = number_at(from, CALCULON_EXECUTION, "tensor_par", 1) *
                         number_at(from, CALCULON_EXECUTION, "pipeline_par", 1) *
                         number_at(from, CALCULON_EXECUTION, "data_par", 1);
    if (ranks != sizes)
        ST_NOTE(&from->draft, ST_ERR_VALUE, place_of(plan, child(plan->root, "num_procs")),
                "num_procs %g is not tensor_par x pipeline_par x data_par = %g", ranks, sizes);
    put_number(from, ST_KEY_MODEL_POSITIONS, number_at(from, CALCULON_APPLICATION, "seq_size", 0),
               "", "Calculon counts a learned position per token");
    put_stack(from, from->stacks[0]);
    if (!st_draft_is_given(&from->draft, ST_KEY_PRECISION_GRADIENTS))
        st_draft_put(&from->draft, ST_KEY_PRECISION_GRADIENTS, 0,
                     from->draft.values[st_key_index(st_key_find(ST_KEY_PRECISION_WEIGHTS))].text,
                     "Calculon's execution datatype, which its gradients have, too");
    if (from->files[CALCULON_SYSTEM].root == NULL || from->draft.cluster != NULL)
        return;
    /* Network 0 is the fast one inside of a node where there are two. */
    const char *second =
        at_path(from->files[CALCULON_SYSTEM].root, "networks.1") != NULL ? "1" : "0";
    const double node = number_at(from, CALCULON_SYSTEM, "networks.0.size", 0);
    put_number(from, ST_KEY_CLUSTER_GPUS_PER_NODE, node, "", "Calculon's system networks.0.size");
    put_number(from, ST_KEY_CLUSTER_GPU_LINK_BANDWIDTH,
               number_at(from, CALCULON_SYSTEM, "networks.0.bandwidth", 0), " GB/s",
               "Calculon's system networks.0.bandwidth");
    put_number(from, ST_KEY_CLUSTER_NIC_BANDWIDTH,
               node * number_at(from, CALCULON_SYSTEM,
                                st_draft_text(&from->draft, "networks.%s.bandwidth", second), 0),
               " GB/s", "Calculon's system, bandwidth of a GPU times those of a node");
    /* A system has one rate for both types, or that of the plan's type alone. */
    put_missing_peaks(from, "Calculon's system, of the other 16-bit type");
    put_nodes(from, ranks);
}

static void settle_recompute(peer *from)
{
    const double experts = number_at(from, SIMUMAX_MODEL, "expert_num", 1);
    const bool has_dense =
        experts <= 1 || st_draft_count(&from->draft, ST_KEY_MODEL_DENSE_LAYERS) > 0;
    const struct {
        const char *name;
        const char *key;
        bool is_there;
    } modules[] = {{"attn_recompute", ST_KEY_RECOMPUTED_ATTENTION, true},
                   {"mlp_recompute", ST_KEY_RECOMPUTED_MLP, has_dense},
                   {"mlp_recompute", ST_KEY_RECOMPUTED_MOE, experts > 1},
                   {"mla_rms_recompute", ST_KEY_RECOMPUTED_NORMS, true}};
    const peer_file *plan = &from->files[SIMUMAX_STRATEGY];
    const st_json *granularity = child(plan->root, "recompute_granularity");
    const uint64_t stage_layers =
        count_of(from, ST_KEY_MODEL_LAYERS) / count_of(from, ST_KEY_PARALLEL_PP);
    const double of_stage = (double)stage_layers;
    const double layers = number_at(from, SIMUMAX_STRATEGY, "recompute_layer_num", 0);
    const char *what = "none";
    if (is_true(from, "enable_recompute", true) && granularity != NULL && layers > 0 &&
        granularity->text != NULL && strcmp(granularity->text, "none") != 0)
        what = strcmp(granularity->text, "full_block") == 0 ? "full" : "selective";
    st_draft_put(&from->draft, ST_KEY_RECOMPUTE, 0, what,
                 "SimuMax's strategy enable_recompute, recompute_granularity, recompute_layer_num");
    if (strcmp(what, "full") == 0 && layers < of_stage)
        put_number(from, ST_KEY_RECOMPUTED_LAYERS, layers, "",
                   "SimuMax's strategy recompute_layer_num");
    if (strcmp(what, "selective") == 0 && layers < of_stage &&
        !st_draft_is_given(&from->draft, ST_KEY_RECOMPUTE))
        ST_NOTE(&from->draft, ST_ERR_VALUE,
                place_of(plan, child(plan->root, "recompute_layer_num")),
                "no key of a job says that modules of %g of the %g layers of a stage are "
                "recomputed" ST_HINT
                "set recompute_layer_num to %g, or override it with --set " ST_KEY_RECOMPUTE "=...",
                layers, of_stage, of_stage);
    for (size_t i = 0; strcmp(what, "selective") == 0 && i < ST_COUNT(modules); i++)
        st_draft_put_bool(&from->draft, modules[i].key,
                          modules[i].is_there && is_true(from, modules[i].name, false),
                          st_draft_text(&from->draft, "SimuMax's strategy %s", modules[i].name));
}

/* "b=1, m=4096, k=8192, n=1280, ..." */
static bool read_shape(const char *text, double size[4])
{
    static const char *const names[] = {"b=", ", m=", ", k=", ", n="};
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        size_t length = strlen(names[i]);
        if (strncmp(text, names[i], length) != 0)
            return false;
        char *end = NULL;
        size[i] = strtod(text + length, &end);
        if (end == text + length)
            return false;
        text = end;
    }
    return true;
}

/* Work over time of the shapes "b=1, m=4096, k=8192, n=1280, ..." of its table of matrix products.
 */
static void put_shapes(peer *from)
{
    const st_json *table = at_path(from->files[SIMUMAX_SYSTEM].root,
                                   "accelerator.op.matmul.accurate_efficient_factor");
    double work = 0;
    double time = 0;
    size_t count = 0;
    for (const st_json *shape = table != NULL ? table->first : NULL; shape != NULL;
         shape = shape->next, count++) {
        double size[4] = {0}; /* b, m, k, n */
        double efficiency = 0;
        if (!read_shape(shape->name, size) ||
            st_number_parse(st_or_none(shape->text), strlen(st_or_none(shape->text)), (st_place){0},
                            &efficiency, NULL) != ST_OK ||
            !(efficiency > 0)) {
            ST_NOTE(&from->draft, ST_ERR_VALUE, place_of(&from->files[SIMUMAX_SYSTEM], shape),
                    "no efficiency of a product" ST_FOUND "'%.80s': %.40s" ST_EXPECTED
                    "'b=..., m=..., k=..., n=...' and a number above 0",
                    st_or_none(shape->name), st_or_none(shape->text));
            return;
        }
        work += size[0] * size[1] * size[2] * size[3];
        time += size[0] * size[1] * size[2] * size[3] / efficiency;
    }
    if (!(time > 0))
        return;
    put_number(from, ST_KEY_CLUSTER_GPU_GEMM_EFFICIENCY, work / time, "",
               st_draft_text(&from->draft,
                             "SimuMax's system, work over time of the %zu shapes of op.matmul",
                             count));
}

static void settle_simumax(peer *from)
{
    static const char *const latent[][2] = {{"v_head_dim", ST_KEY_MODEL_V_DIM},
                                            {"qk_pos_emb_head_dim", ST_KEY_MODEL_ROPE_DIM},
                                            {"q_lora_rank", ST_KEY_MODEL_Q_LORA},
                                            {"kv_lora_rank", ST_KEY_MODEL_KV_LORA}};
    const peer_file *plan = &from->files[SIMUMAX_STRATEGY];
    const st_json *attention = child(from->files[SIMUMAX_MODEL].root, "attention_type");
    const bool is_latent =
        attention != NULL && attention->text != NULL && strcmp(attention->text, "mla") == 0;
    const double ranks = number_at(from, SIMUMAX_STRATEGY, "world_size", 8);
    const double inner = (double)count_of(from, ST_KEY_PARALLEL_TP) *
                         (double)count_of(from, ST_KEY_PARALLEL_CP) *
                         (double)count_of(from, ST_KEY_PARALLEL_PP);
    const double dp = floor(ranks / inner);
    const double experts = number_at(from, SIMUMAX_MODEL, "expert_num", 1);
    if (dp * inner != ranks || dp < 1) {
        ST_NOTE(&from->draft, ST_ERR_VALUE, place_of(plan, child(plan->root, "world_size")),
                "world_size %g is not a multiple of tp_size x cp_size x pp_size = %g", ranks,
                inner);
        return;
    }
    put_number(from, ST_KEY_PARALLEL_DP, dp, "",
               "SimuMax's strategy world_size over the other sizes");
    put_number(from, ST_KEY_BATCH_GLOBAL,
               (double)(count_of(from, ST_KEY_PARALLEL_DP) * count_of(from, ST_KEY_BATCH_MICRO)) *
                   number_at(from, SIMUMAX_STRATEGY, "micro_batch_num", 1),
               "", "SimuMax's strategy micro_batch_num x micro_batch_size x data-parallel size");
    put_number(from, ST_KEY_MODEL_EXPERTS, experts > 1 ? experts : 0, "",
               "SimuMax's model expert_num");
    put_number(from, ST_KEY_MODEL_HEAD_DIM,
               number_at(from, SIMUMAX_MODEL, is_latent ? "qk_head_dim" : "head_size", 0), "",
               is_latent ? "SimuMax's model qk_head_dim" : "SimuMax's model head_size");
    for (size_t i = 0; i < ST_COUNT(latent) && is_latent; i++)
        put_number(from, latent[i][1], number_at(from, SIMUMAX_MODEL, latent[i][0], 0), "",
                   st_draft_text(&from->draft, "SimuMax's model %s", latent[i][0]));
    put_number(from, ST_KEY_MODEL_KV_HEADS,
               is_latent ? 0 : number_at(from, SIMUMAX_MODEL, "kv_head_num", 0), "",
               "SimuMax's model kv_head_num");
    settle_recompute(from);
    put_stack(from, from->stacks[1]);
    if (from->files[SIMUMAX_SYSTEM].root != NULL) {
        put_missing_peaks(from, "SimuMax's system, of the other 16-bit type");
        put_nodes(from, ranks);
        put_shapes(from);
        st_draft_note(&from->draft,
                      "Of the system's efficiencies only that of op.matmul counts; those of other "
                      "operators, of bandwidths and of collectives are steptime's.");
    }
}

/* ---- the files ---- */

static void add_file(peer *from, const st_source *source)
{
    st_json *root = NULL;
    st_status status = st_json_parse(source->file, source->text, source->length, from->draft.arena,
                                     &root, from->draft.errors);
    size_t kind = 0;
    st_note(&from->draft.status, status);
    if (status != ST_OK)
        return;
    while (kind < PEER_KINDS && child(root, from->kinds[kind].mark) == NULL)
        kind++;
    const peer_file file = {source, root};
    if (kind == PEER_KINDS)
        ST_NOTE(&from->draft, ST_ERR_VALUE, place_of(&file, root),
                "not a file of Calculon or SimuMax" ST_EXPECTED
                "an execution, application, system or stats of Calculon, or a strategy, model, "
                "system or result of SimuMax");
    else if (from->files[kind].root != NULL)
        ST_NOTE(&from->draft, ST_ERR_VALUE, place_of(&file, root),
                "a second file with %s" ST_HINT "the first is %s", from->kinds[kind].title,
                from->files[kind].source->file);
    else
        from->files[kind] = file;
}

/* The files of one tool, all that a job needs. */
static bool is_whole(peer *from, bool *is_calculon)
{
    bool has[2] = {false, false};
    for (size_t kind = 0; kind < PEER_KINDS; kind++)
        has[kind >= SIMUMAX_STRATEGY] |= from->files[kind].root != NULL;
    *is_calculon = has[0];
    if (has[0] && has[1])
        ST_NOTE(&from->draft, ST_ERR_VALUE, (st_place){0},
                "files of Calculon and of SimuMax in one job" ST_EXPECTED "those of one tool");
    for (size_t kind = 0; kind < PEER_KINDS && has[0] != has[1]; kind++)
        if (has[kind >= SIMUMAX_STRATEGY] && from->kinds[kind].required &&
            from->files[kind].root == NULL)
            ST_NOTE(&from->draft, ST_ERR_NAME, (st_place){0}, "no file has %s, with the key '%s'",
                    from->kinds[kind].title, from->kinds[kind].mark);
    return from->draft.status == ST_OK;
}

st_status st_import_peer(const st_import_request *request, const st_source *files, size_t count,
                         st_buffer *job, st_errors *errors)
{
    peer from = {0};
    bool is_calculon = false;
    st_arena *arena = st_arena_create();
    st_status status = arena != NULL ? ST_OK : st_out_of_memory(errors);
    if (status == ST_OK)
        status = st_draft_start(&from.draft, request, arena, errors);
    for (size_t tool = 0; tool < ST_COUNT(tools) && status == ST_OK; tool++)
        read_table(&from, tool);
    if (status == ST_OK)
        status = from.draft.status;
    for (size_t i = 0; i < count && status == ST_OK; i++)
        add_file(&from, &files[i]);
    if (status == ST_OK && from.draft.status == ST_OK && is_whole(&from, &is_calculon)) {
        for (size_t kind = 0; kind < PEER_KINDS; kind++)
            if (from.files[kind].root != NULL)
                read_file(&from, (peer_kind)kind);
        if (from.draft.status == ST_OK && is_calculon)
            settle_calculon(&from);
        else if (from.draft.status == ST_OK)
            settle_simumax(&from);
        if (from.unused.length > 0)
            st_draft_note(&from.draft, "Keys without effect on this job: %s.",
                          st_draft_keep(&from.draft, &from.unused));
    }
    if (status == ST_OK)
        status = from.draft.status;
    if (status == ST_OK)
        status = st_draft_write(
            &from.draft, is_calculon ? "From files of Calculon." : "From files of SimuMax.", job);
    st_buffer_free(&from.unused);
    st_arena_destroy(arena);
    return status;
}
