/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of Megatron-LM in YAML: MODEL_ARGS of its functional tests (model_config.yaml), the
 * experiments of Primus, and a flat map as of Primus' models.
 *
 * An experiment names files of a model and of a trainer, which extend others. They are looked for
 * next to it, and where Primus keeps them: in primus/configs of a folder above it.
 */
#include "launch/import/megatron.h"

#include "base/text.h"
#include "base/yaml.h"
#include "steptime/keys.h"
#include "steptime/tool/input_files.h"

#include <string.h>

static const char *const marks[] = {"MODEL_ARGS:", "modules:", "extends:", "num_layers:"};

bool megatron_is_yaml(const st_import_request *request)
{
    megatron_line line = {0};
    for (size_t offset = 0; megatron_next_line(request, &offset, &line);)
        for (size_t i = 0; i < ST_COUNT(marks); i++)
            if (line.length >= strlen(marks[i]) &&
                memcmp(line.text, marks[i], strlen(marks[i])) == 0)
                return true;
    return false;
}

static const st_yaml_node *member(const st_yaml_node *map, const char *name)
{
    for (size_t i = 0; map != NULL && map->kind == ST_YAML_MAP && i < map->count; i++)
        if (strcmp(map->keys[i], name) == 0)
            return map->items[i];
    return NULL;
}

/* "${NAME:2385}" of Primus and "${NAME:-2385}" have a value to fall back on. */
const char *megatron_fallback(megatron_run *run, const char *text)
{
    const char *start = strstr(text, "${");
    const char *end = start != NULL ? strchr(start, '}') : NULL;
    const char *colon = end != NULL ? memchr(start, ':', (size_t)(end - start)) : NULL;
    if (colon == NULL)
        return text;
    colon += colon[1] == '-' ? 2 : 1;
    return st_draft_text(run->draft, "%.*s%.*s%s", (int)(start - text), text, (int)(end - colon),
                         colon, end + 1);
}

static const char *text_of(megatron_run *run, const st_yaml_node *node, bool is_words)
{
    st_buffer list = {0};
    if (node->kind == ST_YAML_SCALAR) {
        const char *text = megatron_fallback(run, node->text);
        return strcmp(text, "true") == 0    ? "True"
               : strcmp(text, "false") == 0 ? "False"
               : strcmp(text, "null") == 0  ? "None"
                                            : text;
    }
    /* An option that takes several words, or a list as Python writes it. */
    st_buffer_text(&list, is_words ? "" : "[");
    for (size_t i = 0; i < node->count; i++)
        if (node->items[i]->kind == ST_YAML_SCALAR)
            st_buffer_printf(&list, "%s%s",
                             i == 0     ? ""
                             : is_words ? " "
                                        : ", ",
                             node->items[i]->text);
    st_buffer_text(&list, is_words ? "" : "]");
    return st_draft_keep(run->draft, &list);
}

/* Options are arguments under other names, and one that is false is not given. */
static void read_map(megatron_run *run, const st_yaml_node *map, const char *prefix, bool is_own)
{
    for (size_t i = 0; i < map->count; i++) {
        const st_yaml_node *node = map->items[i];
        if (node == NULL)
            continue;
        const bool is_option = strncmp(map->keys[i], "--", 2) == 0;
        const char *key = map->keys[i] + (is_option ? 2 : 0);
        if (prefix[0] == '\0' && (strcmp(key, "extends") == 0 || strcmp(key, "includes") == 0))
            continue;
        char *name = (char *)st_arena_printf(run->draft->arena, "%s%s", prefix, key);
        if (name == NULL) {
            st_draft_out_of_memory(run->draft);
            return;
        }
        for (char *c = name; *c != '\0'; c++)
            *c = *c == '-' ? '_' : *c;
        if (node->kind == ST_YAML_MAP) {
            const st_yaml_node *enabled = member(node, "enabled");
            const bool is_off = enabled != NULL && enabled->kind == ST_YAML_SCALAR &&
                                strcmp(enabled->text, "false") == 0;
            if (!is_off)
                read_map(run, node, st_draft_text(run->draft, "%s.", name), is_own);
            continue;
        }
        const char *value = text_of(run, node, megatron_is_list(name));
        const int line = is_own ? node->place.line : 0;
        if (!is_option)
            megatron_set(run, name, value, line);
        else if (strcmp(value, "False") != 0 && strcmp(value, "None") != 0)
            megatron_set_option(run, name, strcmp(value, "True") == 0 ? NULL : value, line);
    }
}

/* ---- files of Primus ---- */

enum { FILE_BYTES = 4096, PARENTS = 8, EXTENDED = 8 };

const st_yaml_node *megatron_primus_file(st_draft *draft, const char *name, const char *kind)
{
    const char *from = draft->request->file;
    const char *slash = strrchr(from, '/');
    const int folder = slash != NULL ? (int)(slash - from) + 1 : 0;
    const st_yaml_node *root = NULL;
    st_source source = {0};
    char path[FILE_BYTES];
    if (strchr(name, '/') != NULL || from[0] == '<')
        return NULL;
    (void)snprintf(path, sizeof path, "%.*s%s", folder, from, name);
    bool found = st_file_read_foreign(path, (st_place){0}, draft->arena, &source, NULL) == ST_OK;
    for (int up = 0; !found && up < PARENTS; up++) {
        (void)snprintf(path, sizeof path, "%.*s%.*sprimus/configs/%s/%s", folder, from, 3 * up,
                       "../../../../../../../../", kind, name);
        found = st_file_read_foreign(path, (st_place){0}, draft->arena, &source, NULL) == ST_OK;
    }
    if (!found)
        return NULL;
    st_note(&draft->status, st_yaml_parse(source.file, source.text, source.length, draft->arena,
                                          &root, draft->errors));
    return draft->status == ST_OK && root->kind == ST_YAML_MAP ? root : NULL;
}

/* Reads a file that an experiment names; false where it is nowhere. */
static bool read_file(megatron_run *run, const char *name, const char *kind, int depth)
{
    const st_yaml_node *root =
        depth <= EXTENDED ? megatron_primus_file(run->draft, name, kind) : NULL;
    if (root == NULL)
        return false;
    const st_yaml_node *bases = member(root, "extends");
    bool all = true;
    for (size_t i = 0; bases != NULL && bases->kind == ST_YAML_LIST && i < bases->count; i++)
        if (bases->items[i]->kind == ST_YAML_SCALAR)
            all = read_file(run, bases->items[i]->text, kind, depth + 1) && all;
    read_map(run, root, "", false);
    return all;
}

/* What Primus' trainer_base.yaml, language_model.yaml and the files of its models, which extend
 * llama_base.yaml, have where an experiment is silent. */
static const char *const primus[] = {
    "micro_batch_size=2",
    "global_batch_size=128",
    "seq_length=4096",
    "bf16=True",
    "sequence_parallel=True",
    "swiglu=True",
    "add_bias_linear=False",
    "untie_embeddings_and_output_weights=True",
    "position_embedding_type=rope",
    "normalization=RMSNorm",
    "hidden_dropout=0.0",
    "attention_dropout=0.0",
};

/* Primus starts the 8 GPUs of a node where nobody says otherwise. */
static void put_node_ranks(megatron_run *run)
{
    const uint64_t ranks = megatron_count_or(run, "tensor_model_parallel_size", 1) *
                           megatron_count_or(run, "pipeline_model_parallel_size", 1) *
                           megatron_count_or(run, "context_parallel_size", 1);
    const uint64_t ep = megatron_count_or(run, "expert_model_parallel_size", 1);
    const uint64_t pp = megatron_count_or(run, "pipeline_model_parallel_size", 1);
    const uint64_t micro = megatron_count_or(run, "micro_batch_size", 1);
    const uint64_t global = megatron_count_or(run, "global_batch_size", 0);
    const uint64_t unit = ranks > 0 && micro <= 1000000 ? micro * (8 / ranks) : 0;
    if (ranks > 0 && 8 % ranks == 0 && ep * pp > 0 && 8 % (ep * pp) == 0 &&
        global % (unit > 0 ? unit : 1) == 0 && !st_draft_is_given(run->draft, ST_KEY_PARALLEL_DP)) {
        st_draft_put_count(run->draft, ST_KEY_PARALLEL_DP, 0, 8 / ranks,
                           "default of Primus: the 8 GPUs of a node");
        st_draft_note(run->draft, "The experiment lacks the number of ranks: the 8 GPUs of a node "
                                  "are assumed, Primus' default (--set parallel.dp=...).");
    }
}

/* One module trains; its model is a file of its own. */
static void read_module(megatron_run *run, const char *name, const st_yaml_node *module)
{
    const st_yaml_node *framework = member(module, "framework");
    const st_yaml_node *model = member(module, "model");
    const st_yaml_node *overrides = member(module, "overrides");
    if (framework != NULL && framework->kind == ST_YAML_SCALAR &&
        strcmp(framework->text, "megatron") != 0)
        ST_NOTE(run->draft, ST_ERR_VALUE, framework->place,
                "module '%.40s' trains with another framework" ST_FOUND "'%.40s'" ST_EXPECTED
                "megatron" ST_HINT "%s",
                name, framework->text,
                strcmp(framework->text, "torchtitan") == 0 ? "use 'steptime import torchtitan'"
                                                           : "");
    const st_yaml_node *trainer = member(module, "config");
    bool knows_trainer = trainer != NULL && trainer->kind == ST_YAML_SCALAR &&
                         read_file(run, trainer->text, "modules/megatron", 0);
    bool names_model = model != NULL && model->kind == ST_YAML_SCALAR;
    const char *model_file = names_model ? megatron_fallback(run, model->text) : "";
    bool knows_model = names_model && read_file(run, model_file, "models/megatron", 0);
    if (overrides != NULL && overrides->kind == ST_YAML_MAP)
        read_map(run, overrides, "", true);
    for (size_t i = 0; i < ST_COUNT(primus); i++) {
        const size_t length = strcspn(primus[i], "=");
        const char *argument = st_draft_text(run->draft, "%.*s", (int)length, primus[i]);
        const bool other = strcmp(argument, "bf16") == 0 && megatron_is_true(run, "fp16", false);
        if (!other && !ST_HAS(run->arguments, run->count, name, argument))
            megatron_set(run, argument, primus[i] + length + 1, 0);
    }
    put_node_ranks(run);
    if (knows_model)
        st_draft_note(run->draft, "The shape of the model is that of %.80s%s.", model_file,
                      knows_trainer ? "; where the experiment is silent, values are those of its "
                                      "trainer's file"
                                    : "");
    else
        st_draft_note(run->draft, "Where the file is silent, values are those of Primus: bf16, "
                                  "and layers of its Llama models.");
    if (names_model && !knows_model && !megatron_is_given(run, "num_layers") &&
        !st_draft_is_given(run->draft, ST_KEY_MODEL_LAYERS))
        ST_NOTE(run->draft, ST_ERR_NAME, model->place,
                "the model is another file" ST_FOUND "'%.80s', neither next to the experiment nor "
                "in primus/configs/models/megatron of a folder above it" ST_HINT
                "give its shape with --set model.layers=... and so on",
                model_file);
}

void megatron_read_yaml(megatron_run *run)
{
    st_draft *draft = run->draft;
    const st_yaml_node *root = NULL;
    st_note(&draft->status,
            st_yaml_parse(draft->request->file, draft->request->text, draft->request->length,
                          draft->arena, &root, draft->errors));
    if (draft->status != ST_OK || root->kind != ST_YAML_MAP)
        return;
    const st_yaml_node *options = member(root, "MODEL_ARGS");
    const st_yaml_node *modules = member(root, "modules");
    const st_yaml_node *variables = member(root, "ENV_VARS");
    if (options != NULL && options->kind == ST_YAML_MAP)
        read_map(run, options, "", true);
    for (size_t i = 0; modules != NULL && modules->kind == ST_YAML_MAP && i < modules->count; i++)
        read_module(run, modules->keys[i], modules->items[i]);
    const st_yaml_node *bases = options == NULL && modules == NULL ? member(root, "extends") : NULL;
    for (size_t i = 0; bases != NULL && bases->kind == ST_YAML_LIST && i < bases->count; i++)
        if (bases->items[i]->kind == ST_YAML_SCALAR)
            (void)read_file(run, bases->items[i]->text, "models/megatron", 0);
    if (options == NULL && modules == NULL)
        read_map(run, root, "", true);
    for (size_t i = 0; variables != NULL && variables->kind == ST_YAML_MAP && i < variables->count;
         i++)
        if (megatron_is_rank_variable(variables->keys[i]))
            megatron_set(run, variables->keys[i], text_of(run, variables->items[i], true),
                         variables->items[i]->place.line);
    megatron_settle_ranks(run);
}
