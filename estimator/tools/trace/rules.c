/* SPDX-License-Identifier: Apache-2.0 */
/* Reads rules for kernels; see prices.h. */
#include "trace/prices.h"

#include "base/yaml_read.h"
#include "steptime/keys.h"
#include "steptime/tool/input_files.h"
#include "steptime/tool/roles.h"
#include "trace/xalloc.h"

#include <fnmatch.h>
#include <string.h>

enum { LONGEST_NAME = 1024, MOST_FORMULAS = 64 };

static const char *const form_names[ST_FORMS] = {
    "kernel", "product",   "attention", "attention_backward",
    "copy",   "host_copy", "fill",      "collective"};

const char *const st_size_keys[ST_SIZE_KEYS] = {
    ST_KEY_OPERATOR_M,        ST_KEY_OPERATOR_N,         ST_KEY_OPERATOR_K,
    ST_KEY_OPERATOR_PRODUCTS, ST_KEY_OPERATOR_BATCH,     ST_KEY_OPERATOR_SEQUENCE,
    ST_KEY_OPERATOR_HEADS,    ST_KEY_OPERATOR_KV_HEADS,  ST_KEY_OPERATOR_HEAD_DIM,
    ST_KEY_OPERATOR_BYTES,    ST_KEY_OPERATOR_REDUCTIONS};

const char *st_task_form_name(st_task_form form)
{
    return form_names[form];
}

typedef struct rules_reader {
    st_yaml_reader yaml;
    st_rules *rules;
} rules_reader;

/* ---- operations ---- */

/* A map of texts: `key: text`; returns how many there are. */
static size_t read_pairs(rules_reader *r, const st_yaml_node *map, const char *key,
                         st_rule_type **pairs)
{
    const st_yaml_node *by = st_read_map(&r->yaml, map, key);
    size_t count = 0;
    *pairs = by != NULL ? st_read_alloc(&r->yaml, by->count + 1, sizeof **pairs) : NULL;
    for (size_t i = 0; *pairs != NULL && i < by->count; i++)
        if (st_read_is(&r->yaml, by->items[i], ST_YAML_SCALAR, "values must be strings"))
            (*pairs)[count++] = (st_rule_type){by->keys[i], by->items[i]->text};
    return count;
}

/* A map of formulas; `sizes`: its keys are sizes without their prefix, "bytes". */
static size_t read_formulas(rules_reader *r, const st_yaml_node *map, const char *key, bool sizes,
                            st_rule_formula **formulas)
{
    static const char prefix[] = "operator.";
    const st_yaml_node *by = st_read_map(&r->yaml, map, key);
    size_t count = 0;
    *formulas = by != NULL ? st_read_alloc(&r->yaml, by->count + 1, sizeof **formulas) : NULL;
    for (size_t i = 0; *formulas != NULL && i < by->count && i < MOST_FORMULAS; i++) {
        st_rule_formula made = {.name = by->keys[i], .place = by->items[i]->place};
        if (!st_read_is(&r->yaml, by->items[i], ST_YAML_SCALAR, "formulas must be strings"))
            continue;
        made.text = by->items[i]->text;
        while (sizes && made.size < ST_SIZE_KEYS &&
               strcmp(st_size_keys[made.size] + sizeof prefix - 1, made.name) != 0)
            made.size++;
        if (made.size == ST_SIZE_KEYS)
            ST_NOTE(&r->yaml, ST_ERR_NAME, by->key_places[i],
                    "unknown size of a kernel" ST_FOUND "%s" ST_EXPECTED
                    "bytes, m, n, k, batch and the like",
                    made.name);
        else
            (*formulas)[count++] = made;
    }
    return count;
}

/* What the closed form calls the like of it. */
static size_t read_part(rules_reader *r, const st_yaml_node *item)
{
    const char *text = st_read_text(&r->yaml, item, "part", NULL);
    const char *const *parts = st_role_describe(ST_ROLE_SPENT)->parts;
    size_t count = st_role_part_count(ST_ROLE_SPENT);
    size_t part = text != NULL ? st_find_text(parts, count, sizeof *parts, text) : SIZE_MAX;
    if (text != NULL && part == SIZE_MAX)
        ST_NOTE(&r->yaml, ST_ERR_NAME, item->place,
                "unknown part of an estimate" ST_FOUND "%s" ST_EXPECTED
                "products, attention, memory or optimizer" ST_HINT "%s",
                text, st_errors_nearest(r->yaml.errors, text, parts, count));
    return part < count ? part : ST_RULE_NO_PART;
}

static void read_operations(rules_reader *r, const st_yaml_node *root)
{
    static const char *const known[] = {"time", "work", "by", "needs", "part"};
    const st_yaml_node *map = st_read_map(&r->yaml, root, "operations");
    st_rule_operation *list =
        map != NULL ? st_read_alloc(&r->yaml, map->count + 1, sizeof *list) : NULL;
    r->rules->operations = list;
    for (size_t i = 0; list != NULL && i < map->count; i++) {
        const st_yaml_node *item = map->items[i];
        st_rule_operation *own = &list[r->rules->operation_count++];
        *own = (st_rule_operation){.name = map->keys[i], .place = map->key_places[i]};
        if (!st_read_is(&r->yaml, item, ST_YAML_MAP, "an operation must be a map"))
            continue;
        st_read_keys(&r->yaml, item, "an operation", known, ST_COUNT(known), 1);
        own->time = st_read_text(&r->yaml, item, "time", "");
        own->work = st_read_text(&r->yaml, item, "work", NULL);
        own->by_count = read_pairs(r, item, "by", &own->by);
        own->part = read_part(r, item);
        const st_yaml_node *need_list = st_read_list(&r->yaml, item, "needs", ST_SIZE_KEYS);
        for (size_t j = 0; need_list != NULL && j < need_list->count; j++) {
            const st_yaml_node *need_item = need_list->items[j];
            size_t key =
                need_item->kind == ST_YAML_SCALAR
                    ? st_find_text(st_size_keys, ST_SIZE_KEYS, sizeof(char *), need_item->text)
                    : SIZE_MAX;
            if (key < ST_SIZE_KEYS)
                own->needs |= 1U << key;
            else
                ST_NOTE(&r->yaml, ST_ERR_NAME, need_item->place,
                        "unknown size of a kernel" ST_FOUND "%s" ST_EXPECTED
                        "operator.m, operator.bytes and the like" ST_HINT "%s",
                        st_yaml_describe(need_item, r->yaml.errors),
                        need_item->kind == ST_YAML_SCALAR
                            ? st_errors_nearest(r->yaml.errors, need_item->text, st_size_keys,
                                                ST_SIZE_KEYS)
                            : "");
        }
    }
}

/* ---- rules ---- */

static void read_rules(rules_reader *r, const st_yaml_node *root)
{
    const st_yaml_node *list = st_read_list(&r->yaml, root, "rules", ST_RULES_MOST);
    if (list == NULL)
        return;
    r->rules->rules = st_read_alloc(&r->yaml, list->count + 1, sizeof *r->rules->rules);
    for (size_t i = 0; r->rules->rules != NULL && i < list->count; i++) {
        const st_yaml_node *node = list->items[i];
        static const char *const known[] = {"of", "operation", "names", "unknown", "type", "sizes"};
        st_rules *rules = r->rules;
        st_rule rule = {0};
        if (!st_read_is(&r->yaml, node, ST_YAML_MAP, "a rule must be a map"))
            continue;
        st_read_keys(&r->yaml, node, "a rule", known, ST_COUNT(known), 2);
        const char *of = st_read_text(&r->yaml, node, "of", "kernel");
        const char *operation = st_read_text(&r->yaml, node, "operation", NULL);
        size_t form = st_find_text(form_names, ST_FORM_COLLECTIVE, sizeof(char *), of);
        rule.operation = operation != NULL
                             ? ST_FIND(rules->operations, rules->operation_count, name, operation)
                             : SIZE_MAX;
        if (form == SIZE_MAX)
            ST_NOTE(&r->yaml, ST_ERR_NAME, st_yaml_get(node, "of")->place,
                    "unknown kind of task '%s'" ST_HINT "%s", of,
                    st_errors_nearest(r->yaml.errors, of, form_names, ST_FORM_COLLECTIVE));
        if (operation != NULL && rule.operation == SIZE_MAX)
            ST_NOTE(&r->yaml, ST_ERR_NAME, st_yaml_get(node, "operation")->place,
                    "unknown operation '%s'" ST_EXPECTED "one of 'operations' of the file",
                    operation);
        rule.of = (st_task_form)form;
        rule.unknown = st_read_bool(&r->yaml, node, "unknown");
        rule.type = st_read_text(&r->yaml, node, "type", NULL);
        rule.size_count = read_formulas(r, node, "sizes", true, &rule.sizes);
        const st_yaml_node *rule_list = st_read_list(&r->yaml, node, "names", ST_RULE_NAMES_MOST);
        if (rule_list != NULL) {
            rule.names = st_read_alloc(&r->yaml, rule_list->count + 1, sizeof *rule.names);
            for (size_t j = 0; rule.names != NULL && j < rule_list->count; j++)
                if (st_read_is(&r->yaml, rule_list->items[j], ST_YAML_SCALAR,
                               "names must be strings"))
                    rule.names[rule.name_count++] = rule_list->items[j]->text;
        }
        rules->rules[rules->rule_count++] = rule;
    }
}

static void read_precisions(rules_reader *r, const st_yaml_node *root)
{
    st_rule_type *pairs = NULL;
    size_t count = read_pairs(r, root, "precisions", &pairs);
    r->rules->precisions = st_read_alloc(&r->yaml, count + 1, sizeof *r->rules->precisions);
    for (size_t i = 0; r->rules->precisions != NULL && i < count; i++)
        r->rules->precisions[r->rules->precision_count++] =
            (st_rule_precision){pairs[i].type, pairs[i].cell};
}

st_status st_rules_load(const st_paths *paths, const char *name, st_arena *arena,
                        const st_rules **rules, st_errors *errors)
{
    static const char *const known[] = {"sheet",  "operations", "rules",      "precisions",
                                        "source", "band",       "definitions"};
    const st_unit one = st_unit_one();
    const st_yaml_node *root = NULL;
    st_rules *made = st_xalloc(arena, 1, sizeof *made);
    st_status status = st_paths_read_yaml(paths, ST_FOLDER_KERNELS, name, arena, &root, errors);
    if (status != ST_OK)
        return status;
    rules_reader r = {.yaml = {.arena = arena, .errors = errors, .file = root->place.file},
                      .rules = made};
    made->file = root->place.file;
    if (!st_read_is(&r.yaml, root, ST_YAML_MAP, "the rules must be a map"))
        return r.yaml.status;
    st_read_keys(&r.yaml, root, "rules for kernels", known, ST_COUNT(known), 3);
    made->sheet = st_read_text(&r.yaml, root, "sheet", "");
    made->sheet_place = root->place;
    read_operations(&r, root);
    read_precisions(&r, root);
    made->definition_count = read_formulas(&r, root, "definitions", false, &made->definitions);
    read_rules(&r, root);
    made->band = st_read_quantity(&r.yaml, root, "band", &one, 0);
    if (!(made->band >= 0 && made->band <= 10))
        ST_NOTE(&r.yaml, ST_ERR_VALUE, st_yaml_get(root, "band")->place,
                "'band' is out of range" ST_EXPECTED "from 0 to 10");
    if (r.yaml.status == ST_OK)
        *rules = made;
    return r.yaml.status;
}

/* ---- looking up ---- */

static void to_lower(const char *name, char text[LONGEST_NAME])
{
    size_t i = 0;
    for (; name[i] != '\0' && i + 1 < LONGEST_NAME; i++)
        text[i] = st_to_lower(name[i]);
    text[i] = '\0';
}

const st_rule *st_rules_find(const st_rules *rules, st_task_form of, const char *name)
{
    char text[LONGEST_NAME];
    to_lower(name, text);
    for (size_t i = 0; i < rules->rule_count; i++) {
        const st_rule *rule = &rules->rules[i];
        bool fits = rule->of == of && rule->name_count == 0;
        for (size_t k = 0; k < rule->name_count && rule->of == of && !fits; k++)
            fits = fnmatch(rule->names[k], text, 0) == 0;
        if (fits)
            return rule;
    }
    return NULL;
}
