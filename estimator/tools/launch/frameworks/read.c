/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from the syntax of a framework. */
#include "launch/frameworks/settings.h"
#include "launch/frameworks/toml.h"

#include "base/chars.h"
#include "base/json_read.h"
#include "base/word_sets.h"
#include "base/yaml.h"
#include "steptime/keys.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define CARRIED "# steptime: "

enum { MAX_CARRIED = 1024 };

/* A key that is there twice has no value. */
static void set_once(megatron_run *settings, const char *name, const char *value, int line)
{
    const size_t i = ST_FIND(settings->arguments, settings->count, name, name);
    const bool twice = i < settings->count;
    if (twice)
        ST_NOTE(settings->draft, ST_ERR_SYNTAX,
                (st_place){.file = settings->draft->request->file, .line = line},
                "key '%.80s' is given twice, first in line %d" ST_FOUND "'%.40s' and '%.40s'", name,
                settings->arguments[i].line, settings->arguments[i].value, value);
    else
        megatron_set(settings, name, value, line);
}

/* ---- TOML ---- */

/* Values as Python writes them. */
static void take_toml(void *context, const st_toml_value *value)
{
    const megatron_run *settings = context;
    const char *text = value->text;
    if (settings->draft->status != ST_OK)
        return; /* more keys than a run has would be compared with all that it has */
    if (!value->quoted && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        text = text[0] == 't' ? "True" : "False";
    set_once(context, value->name, text, value->line);
}

static void read_toml(megatron_run *settings)
{
    st_draft *draft = settings->draft;
    const st_import_request *request = draft->request;
    st_note(&draft->status,
            st_toml_read(&(st_toml_source){request->file, request->text, request->length},
                         take_toml, settings, draft->arena, draft->errors));
}

/* ---- YAML ---- */

static const char *spelled(const char *text)
{
    return strcmp(text, "true") == 0    ? "True"
           : strcmp(text, "false") == 0 ? "False"
           : strcmp(text, "null") == 0  ? "None"
                                        : text;
}

static const char *yaml_text(st_draft *draft, const st_yaml_node *node)
{
    st_buffer list = {0};
    if (node->kind == ST_YAML_SCALAR)
        return node->quoted ? node->text : spelled(node->text);
    st_buffer_text(&list, "[");
    for (size_t i = 0; node->kind == ST_YAML_LIST && i < node->count; i++)
        st_buffer_printf(&list, "%s%s", i > 0 ? ", " : "",
                         node->items[i]->kind == ST_YAML_SCALAR ? node->items[i]->text : "?");
    st_buffer_text(&list, "]");
    return st_draft_keep(draft, &list);
}

static void flatten_yaml(megatron_run *settings, const st_yaml_node *map, const char *prefix)
{
    for (size_t i = 0; i < map->count; i++) {
        const st_yaml_node *value = map->items[i];
        const char *name = st_draft_text(settings->draft, "%s%.200s", prefix, map->keys[i]);
        if (value->kind == ST_YAML_MAP)
            flatten_yaml(settings, value, st_draft_text(settings->draft, "%s.", name));
        else
            megatron_set(settings, name, yaml_text(settings->draft, value), value->place.line);
    }
}

/* ---- JSON ---- */

static void flatten_json(megatron_run *settings, const st_json *map, const char *prefix)
{
    for (const st_json *node = map->first; node != NULL; node = node->next) {
        const char *name = st_draft_text(settings->draft, "%s%.200s", prefix, node->name);
        if (node->kind == ST_JSON_MAP)
            flatten_json(settings, node, st_draft_text(settings->draft, "%s.", name));
        else if (node->text != NULL)
            set_once(settings, name, node->kind == ST_JSON_BOOL ? spelled(node->text) : node->text,
                     node->line);
    }
}

static bool has_line(const st_import_request *request, const char *start)
{
    megatron_line line = {0};
    for (size_t offset = 0; megatron_next_line(request, &offset, &line);)
        if (line.length >= strlen(start) && memcmp(line.text, start, strlen(start)) == 0)
            return true;
    return false;
}

/* A file of accelerate is YAML, one of DeepSpeed a map of JSON. */
static bool is_yaml(const st_import_request *request)
{
    size_t i = 0;
    while (i < request->length && strchr(" \t\r\n\xEF\xBB\xBF", request->text[i]) != NULL)
        i++;
    return i < request->length && request->text[i] != '{' && request->text[i] != '[' &&
           has_line(request, "distributed_type:");
}

const char *fw_implied_stack(st_framework framework, const st_import_request *request)
{
    static const char *const stacks[] = {NULL, ST_KEY_STACK "=megatron-bridge",
                                         ST_KEY_STACK "=torchtitan", ST_KEY_STACK "=deepspeed"};
    /* accelerate starts FSDP of PyTorch, Megatron-LM, DeepSpeed, or DDP, which no stack is. */
    static const char *const types[][2] = {
        {"distributed_type: FSDP", ST_KEY_STACK "=torchtitan"},
        {"distributed_type: DEEPSPEED", ST_KEY_STACK "=deepspeed"},
        {"distributed_type: MEGATRON_LM", ST_KEY_STACK "=megatron-core"},
    };
    if (framework != ST_DEEPSPEED || !is_yaml(request))
        return stacks[framework];
    for (size_t i = 0; i < ST_COUNT(types); i++)
        if (has_line(request, types[i][0]))
            return types[i][1];
    return NULL;
}

static const st_json *member(const st_json *map, const char *name)
{
    for (const st_json *node = map != NULL ? map->first : NULL; node != NULL; node = node->next)
        if (node->name != NULL && strcmp(node->name, name) == 0)
            return node;
    return NULL;
}

static st_json *parse_json(const st_import_request *request, st_arena *arena, st_errors *errors)
{
    st_json *tree = NULL;
    if (st_json_parse(request->file, request->text, request->length, arena, &tree, errors) != ST_OK)
        return NULL;
    if (tree->kind == ST_JSON_MAP)
        return tree;
    (void)st_fail(errors, ST_ERR_VALUE, (st_place){.file = request->file},
                  "not a DeepSpeed configuration" ST_EXPECTED "a map of options");
    return NULL;
}

/* ---- experiments of Primus ---- */

/* What its pre_trainer.yaml for torchtitan has where an experiment is silent. */
static const char *const primus[][2] = {
    {"training.local_batch_size", "8"},
    {"training.seq_len", "2048"},
    {"activation_checkpoint.mode", "none"},
};

/* "qwen3_8b.yaml" is flavor 8B of qwen3, "llama3.1_70B-fp8.yaml" 70B of llama3 with a converter. */
static void read_model_name(megatron_run *settings, const char *file, int line)
{
    st_draft *draft = settings->draft;
    const size_t stem = strcspn(file, "-") < strlen(file) && strstr(file, "-fp8") != NULL
                            ? (size_t)(strstr(file, "-fp8") - file)
                            : strlen(file) - (st_ends_in(file, ".yaml") ? 5 : 0);
    const char *name = st_draft_text(draft, "%.*s", (int)stem, file);
    const char *cut = strrchr(name, '_');
    if (cut == NULL || !st_is_digit(cut[1]))
        return;
    const char *model =
        st_draft_text(draft, "%.*s", (int)strcspn(name, strchr(name, '.') < cut ? "." : ""), name);
    if (strlen(model) > (size_t)(cut - name))
        model = st_draft_text(draft, "%.*s", (int)(cut - name), name);
    char flavor[64] = "";
    const bool small = st_has_word("llama4 gpt_oss", model); /* as torchtitan spells them */
    for (size_t i = 0; cut[i + 1] != '\0' && i + 1 < sizeof flavor; i++)
        flavor[i] =
            (char)(small ? tolower((unsigned char)cut[i + 1]) : toupper((unsigned char)cut[i + 1]));
    megatron_set(settings, ST_KEY_MODEL_NAME, model, line); /* named alike */
    megatron_set(settings, "model.flavor", flavor, line);
    if (strstr(file, "-fp8") != NULL)
        megatron_set(settings, "model.converters", "[\"quantize.linear.float8\"]", line);
}

/* Kernels of Primus-Turbo are not converters of torchtitan. */
static void keep_converters(megatron_run *settings)
{
    const size_t i = ST_FIND(settings->arguments, settings->count, name, "model.converters");
    if (i >= settings->count)
        return;
    const char *list = settings->arguments[i].value;
    megatron_set(settings, "model.converters",
                 strstr(list, "float8") != NULL      ? "[\"quantize.linear.float8\"]"
                 : strstr(list, "linear.mx") != NULL ? "[\"quantize.linear.mx\"]"
                                                     : "[]",
                 settings->arguments[i].line);
}

/* Primus starts the 8 GPUs of a node where nobody says otherwise. */
static void put_node_ranks(megatron_run *settings)
{
    static const char shards[] = "parallelism.data_parallel_shard_degree";
    static const char *const others[] = {
        "parallelism.data_parallel_replicate_degree", "parallelism.tensor_parallel_degree",
        "parallelism.pipeline_parallel_degree", "parallelism.context_parallel_degree"};
    const char *given = megatron_text(settings, shards);
    uint64_t ranks = 8;
    for (size_t i = 0; i < ST_COUNT(others); i++) {
        const uint64_t size = megatron_count_or(settings, others[i], 1);
        ranks = size > 0 && ranks % size == 0 ? ranks / size : 0;
    }
    if ((given[0] != '\0' && strcmp(given, "-1") != 0) || ranks == 0 ||
        st_draft_is_given(settings->draft, ST_KEY_PARALLEL_DP))
        return;
    megatron_set(settings, shards, st_draft_text(settings->draft, "%" PRIu64, ranks), 0);
    st_draft_note(settings->draft, "The experiment lacks the number of ranks: the 8 GPUs of a node "
                                   "are assumed, Primus' default (--set parallel.dp=...).");
}

static void read_experiment(megatron_run *settings, const st_yaml_node *module)
{
    const st_yaml_node *model = st_yaml_get(module, "model");
    const st_yaml_node *overrides = st_yaml_get(module, "overrides");
    st_draft *draft = settings->draft;
    for (size_t i = 0; i < ST_COUNT(primus); i++)
        megatron_set(settings, primus[i][0], primus[i][1], 0);
    if (model != NULL && model->kind == ST_YAML_SCALAR) {
        const char *file = megatron_fallback(settings, model->text);
        const st_yaml_node *known = megatron_primus_file(draft, file, "models/torchtitan");
        if (known != NULL)
            flatten_yaml(settings, known, "");
        else
            read_model_name(settings, file, model->place.line);
    }
    if (overrides != NULL && overrides->kind == ST_YAML_MAP)
        flatten_yaml(settings, overrides, "");
    for (size_t i = 0; i < settings->count; i++)
        settings->arguments[i].value = megatron_fallback(settings, settings->arguments[i].value);
    keep_converters(settings);
    put_node_ranks(settings);
    st_draft_note(draft, "Where the experiment is silent, values are those of Primus' trainer of "
                         "torchtitan: 8 sequences of 2,048 tokens, no recomputation.");
}

static bool read_primus(megatron_run *settings)
{
    st_draft *draft = settings->draft;
    const st_yaml_node *root = NULL;
    if (!has_line(draft->request, "modules:"))
        return false;
    st_note(&draft->status,
            st_yaml_parse(draft->request->file, draft->request->text, draft->request->length,
                          draft->arena, &root, draft->errors));
    const st_yaml_node *modules = draft->status == ST_OK ? st_yaml_get(root, "modules") : NULL;
    for (size_t i = 0; modules != NULL && modules->kind == ST_YAML_MAP && i < modules->count; i++) {
        const st_yaml_node *framework = st_yaml_get(modules->items[i], "framework");
        if (framework == NULL || framework->kind != ST_YAML_SCALAR ||
            strcmp(framework->text, "torchtitan") != 0)
            ST_NOTE(draft, ST_ERR_VALUE, modules->items[i]->place,
                    "module '%.40s' trains with another framework" ST_EXPECTED "torchtitan" ST_HINT
                    "use 'steptime import megatron'",
                    modules->keys[i]);
        else
            read_experiment(settings, modules->items[i]);
    }
    return true;
}

void fw_read(st_framework framework, megatron_run *settings)
{
    if (framework == ST_MEGATRON) {
        megatron_read_command(settings);
    } else if (framework == ST_MEGATRON_BRIDGE ||
               (framework == ST_DEEPSPEED && is_yaml(settings->draft->request))) {
        st_draft *draft = settings->draft;
        const st_yaml_node *root = NULL;
        st_note(&draft->status,
                st_yaml_parse(draft->request->file, draft->request->text, draft->request->length,
                              draft->arena, &root, draft->errors));
        if (draft->status == ST_OK && root->kind != ST_YAML_MAP)
            ST_NOTE(draft, ST_ERR_VALUE, root->place,
                    "not overrides of a recipe" ST_FOUND "%s" ST_EXPECTED
                    "a map of sections such as model and train",
                    st_or_none(st_yaml_describe(root, draft->errors)));
        if (draft->status == ST_OK)
            flatten_yaml(settings, root, "");
    } else if (framework == ST_TORCHTITAN && settings->draft->request->log != NULL) {
        const st_json *tree =
            parse_json(settings->draft->request, settings->draft->arena, settings->draft->errors);
        if (tree != NULL)
            flatten_json(settings, tree, "");
        else
            st_note(&settings->draft->status, ST_ERR_VALUE);
    } else if (framework == ST_TORCHTITAN) {
        if (!read_primus(settings))
            read_toml(settings);
    } else {
        st_draft *draft = settings->draft;
        megatron_run words = {.draft = draft};
        const st_json *tree = parse_json(draft->request, draft->arena, draft->errors);
        const st_json *launch = member(member(tree, "_steptime"), "launch");
        if (tree == NULL) {
            st_note(&draft->status, ST_ERR_VALUE);
            return;
        }
        for (const st_json *node = tree->first; node != NULL; node = node->next) {
            if (strcmp(node->name, "_steptime") == 0)
                continue;
            if (node->kind == ST_JSON_MAP)
                flatten_json(settings, node, st_draft_text(draft, "%.200s.", node->name));
            else if (node->text != NULL)
                set_once(settings, node->name,
                         node->kind == ST_JSON_BOOL ? spelled(node->text) : node->text, node->line);
        }
        if (launch == NULL || launch->kind != ST_JSON_STRING)
            return;
        megatron_read_words(&words, launch->text, strlen(launch->text));
        for (size_t i = 0; i < words.count; i++)
            megatron_set(settings, st_draft_text(draft, "launch.%s", words.arguments[i].name),
                         words.arguments[i].value, launch->line);
    }
}

/* ---- scripts ---- */

/* The word behind "<<" at the end of a line, without quotes. */
static const char *end_word(const megatron_line *line, st_arena *arena)
{
    size_t at = line->length;
    while (at >= 2 && memcmp(line->text + at - 2, "<<", 2) != 0)
        at--;
    size_t length = line->length - at;
    const bool quoted = at >= 2 && length >= 2 && line->text[at] == '\'';
    return at < 2 || length < 1 ? NULL
                                : st_arena_copy(arena, line->text + at + (quoted ? 1 : 0),
                                                length - (quoted ? 2 : 0));
}

bool fw_take_script(st_import_request *request, st_arena *arena)
{
    char *text = st_arena_alloc(arena, request->length + 1, sizeof *text);
    const char *end = NULL;
    megatron_line line = {0};
    bool is_over = false;
    if (text == NULL)
        return false;
    if (request->length < 2 || memcmp(request->text, "#!", 2) != 0)
        return true;
    for (size_t offset = 0; megatron_next_line(request, &offset, &line);) {
        const size_t start = (size_t)(line.text - request->text);
        is_over = is_over || (end != NULL && strlen(end) == line.length &&
                              memcmp(line.text, end, line.length) == 0);
        const bool is_body = end != NULL && !is_over;
        for (size_t i = start; i < offset && i < request->length; i++)
            text[i] = is_body || request->text[i] == '\n' ? request->text[i] : ' ';
        end = end == NULL ? end_word(&line, arena) : end;
    }
    if (end != NULL)
        request->text = text;
    return true;
}

/* ---- what is carried ---- */

static void add_carried(const char **list, size_t *count, st_arena *arena, const char *text,
                        size_t length)
{
    const char *copy = *count < MAX_CARRIED ? st_arena_copy(arena, text, length) : NULL;
    if (copy != NULL)
        list[(*count)++] = copy;
}

const char **fw_read_carried(st_framework framework, const st_import_request *request,
                             st_arena *arena, size_t *count, st_errors *errors)
{
    const char **list = st_arena_alloc(arena, MAX_CARRIED, sizeof *list);
    const size_t mark = strlen(CARRIED);
    megatron_line line = {0};
    *count = 0;
    if (list == NULL)
        return NULL;
    if (framework == ST_DEEPSPEED && !is_yaml(request)) {
        const st_json *tree = parse_json(request, arena, errors);
        const st_json *texts = member(member(tree, "_steptime"), "carried");
        for (const st_json *node = texts != NULL ? texts->first : NULL; node != NULL;
             node = node->next)
            if (node->kind == ST_JSON_STRING)
                add_carried(list, count, arena, node->text, strlen(node->text));
        return tree != NULL ? list : NULL;
    }
    for (size_t offset = 0; megatron_next_line(request, &offset, &line);)
        if (line.length > mark && memcmp(line.text, CARRIED, mark) == 0)
            add_carried(list, count, arena, line.text + mark, line.length - mark);
    return list;
}
