/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from the syntax of a framework. */
#include "launch/frameworks/settings.h"
#include "launch/frameworks/toml.h"

#include "base/json_read.h"
#include "base/yaml.h"
#include "steptime/keys.h"

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
