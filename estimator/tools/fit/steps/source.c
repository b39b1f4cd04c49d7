/* SPDX-License-Identifier: Apache-2.0 */
/* Reads validation/SOURCE/table.yaml; see source.h. */
#include "fit/steps/source.h"
#include "fit/steps/source_base.h"
#include "steptime/keys.h"
#include "steptime/tool/job_keys.h"

#include <math.h>
#include <string.h>

/* ---- conditions ---- */

static int add_formula(st_yaml_reader *reader, st_table_source *source, const st_yaml_node *node,
                       size_t offset, const char *unit)
{
    return st_row_formulas_add(reader, source->formulas, &(st_row_formula){node, offset, unit});
}

static st_when read_when(st_yaml_reader *reader, st_table_source *source, const st_yaml_node *map)
{
    st_when when = {.formula = ST_NO_FORMULA};
    when.conditions = st_read_conditions(reader, map, "if", "unless", &when.condition_count);
    if (st_read_text(reader, map, "that", NULL) != NULL)
        when.formula = add_formula(reader, source, st_yaml_get(map, "that"), 0, "bool");
    return when;
}

/* ---- assumptions ---- */

/* The unit of a key's formula; NULL where it can have none. */
static const char *unit_of(const st_key *key)
{
    switch (key->kind) {
    case ST_KEY_COUNT:
    case ST_KEY_NUMBER:
        return "1";
    case ST_KEY_QUANTITY:
        return key->unit;
    case ST_KEY_BOOL:
        return "bool";
    case ST_KEY_ENUM:
    case ST_KEY_TEXT:
        break;
    }
    return NULL;
}

static void find_path(st_yaml_reader *reader, st_assigned *assigned)
{
    static const size_t prefix = sizeof ST_KEY_CONSTANTS;
    const st_key_section *section = st_section_find(assigned->path);
    assigned->key = st_key_find(assigned->path);
    if (assigned->key != NULL)
        return;
    bool is_constant = strncmp(assigned->path, ST_KEY_CONSTANTS ".", prefix) == 0 &&
                       st_is_constant_name(assigned->path + prefix);
    if (section != NULL && section->is_file && strcmp(section->path, ST_KEY_CONSTANTS) != 0)
        assigned->section = section;
    else if (!is_constant)
        ST_NOTE(reader, ST_ERR_NAME, assigned->place, "unknown key '%s'" ST_HINT "%s",
                assigned->path, st_or_none(st_key_nearest_path(assigned->path)));
}

static const st_assigned *read_assigned(st_yaml_reader *reader, st_table_source *source,
                                        const st_yaml_node *map, const char *name, size_t *count)
{
    const st_yaml_node *node = st_read_map(reader, map, name);
    st_assigned *list = st_read_room(reader, &node, sizeof *list);
    *count = node->count;
    for (size_t i = 0; i < node->count; i++) {
        const st_yaml_node *item = node->items[i];
        st_assigned *assigned = &list[i];
        *assigned = (st_assigned){
            .path = node->keys[i], .formula = ST_NO_FORMULA, .place = node->key_places[i]};
        find_path(reader, assigned);
        if (!st_read_is(
                reader, item, ST_YAML_SCALAR,
                st_errors_text(reader->errors, "the value of %s is not a text", assigned->path)))
            continue;
        assigned->value = (st_value_text){item->text, item->length, item->quoted, item->place};
        if (!item->quoted && item->text[0] == '=') {
            /* A value that begins with '=' is a formula over the row's columns. */
            size_t offset = 1 + strspn(item->text + 1, " \t");
            const char *unit = assigned->key != NULL ? unit_of(assigned->key) : NULL;
            if (unit != NULL)
                assigned->formula = add_formula(reader, source, item, offset, unit);
            else
                ST_NOTE(reader, ST_ERR_VALUE, item->place,
                        "%s cannot be a formula" ST_EXPECTED "a value", assigned->path);
        }
    }
    return list;
}

/* ---- rows left out, groups ---- */

static void read_omissions(st_yaml_reader *reader, const st_yaml_node *root,
                           st_table_source *source)
{
    static const char *const known[] = {"why", "if", "unless", "that"};
    const st_yaml_node *list = st_read_list(reader, root, "skip", ST_SOURCE_ITEMS_MAX);
    st_omission *items = st_read_room(reader, &list, sizeof *items);
    for (size_t i = 0; i < list->count; i++) {
        const st_yaml_node *node = list->items[i];
        if (!st_read_is(reader, node, ST_YAML_MAP, "an entry of 'skip' must be a map"))
            continue;
        st_read_keys(reader, node, "an entry of 'skip'", known, 4, 1);
        items[source->omission_count++] =
            (st_omission){read_when(reader, source, node), st_read_text(reader, node, "why", "")};
    }
    source->omissions = items;
}

static double read_limit(st_yaml_reader *reader, const st_yaml_node *map, const char *key)
{
    const st_unit one = st_unit_one();
    double limit = st_read_quantity(reader, map, key, &one, (double)NAN);
    if (limit <= 0)
        ST_NOTE(reader, ST_ERR_VALUE, st_yaml_get(map, key)->place,
                "limits must be above zero" ST_FOUND "%s" ST_EXPECTED "a share such as 8 %%",
                st_yaml_get(map, key)->text);
    return isnan(limit) ? 0 : limit;
}

/* All rows are a group too, with limits at the top of the file. */
static void read_groups(st_yaml_reader *reader, const st_yaml_node *root, st_table_source *source)
{
    const st_yaml_node *list = st_read_list(reader, root, "groups", ST_SOURCE_ITEMS_MAX);
    size_t count = list != NULL ? list->count : 0;
    st_row_group *groups = st_read_alloc(reader, count + 1, sizeof *groups);
    if (groups == NULL)
        return;
    groups[0] = (st_row_group){.name = "",
                               .when = {.formula = ST_NO_FORMULA},
                               .limit = read_limit(reader, root, "limit"),
                               .site_limit = read_limit(reader, root, "site_limit")};
    groups[0].site_factor = st_read_bool(reader, root, "site_factor") || groups[0].site_limit > 0;
    for (size_t i = 0; i < count; i++) {
        const st_yaml_node *node = list->items[i];
        st_row_group *group = &groups[i + 1];
        static const char *const known[] = {"name",        "if",    "unless",    "that",
                                            "site_factor", "limit", "site_limit"};
        *group = (st_row_group){.name = "", .when = {.formula = ST_NO_FORMULA}};
        if (!st_read_is(reader, node, ST_YAML_MAP, "a group is not a map"))
            continue;
        st_read_keys(reader, node, "a group", known, 7, 1);
        group->name = st_read_text(reader, node, "name", "");
        group->when = read_when(reader, source, node);
        group->limit = read_limit(reader, node, "limit");
        group->site_limit = read_limit(reader, node, "site_limit");
        group->site_factor = st_read_bool(reader, node, "site_factor") || group->site_limit > 0;
    }
    source->memory_limit = read_limit(reader, root, "memory_limit");
    source->groups = groups;
    source->group_count = count + 1;
}

/* ---- columns ---- */

static const st_renamed *read_renamed(st_yaml_reader *reader, const st_yaml_node *root,
                                      const char *key, size_t *count)
{
    const st_yaml_node *map = st_read_map(reader, root, key);
    st_renamed *list = st_read_room(reader, &map, sizeof *list);
    *count = map->count;
    for (size_t i = 0; i < map->count; i++)
        list[i] = (st_renamed){map->keys[i], st_read_text(reader, map, map->keys[i], ""),
                               map->key_places[i]};
    return list;
}

static void read_extractions(st_yaml_reader *reader, const st_yaml_node *root,
                             st_table_source *source)
{
    const st_yaml_node *map = st_read_map(reader, root, "numbers");
    st_extraction *list = st_read_room(reader, &map, sizeof *list);
    for (size_t i = 0; i < map->count; i++) {
        list[i] = (st_extraction){map->keys[i], "", "", ""};
        const st_yaml_node *node = map->items[i];
        st_extraction *extraction = &list[i];
        static const char *const known[] = {"from", "behind", "before"};
        if (!st_read_is(reader, node, ST_YAML_MAP, "an entry of 'numbers' must be a map"))
            continue;
        st_read_keys(reader, node, "an entry of 'numbers'", known, 3, 1);
        extraction->from = st_read_text(reader, node, "from", "");
        extraction->behind = st_read_text(reader, node, "behind", "");
        extraction->before = st_read_text(reader, node, "before", "");
        if ((extraction->behind[0] == '\0') == (extraction->before[0] == '\0'))
            ST_NOTE(reader, ST_ERR_NAME, node->place,
                    "missing position of the number" ST_EXPECTED "either 'behind' or 'before'");
    }
    source->extractions = list;
    source->extraction_count = map->count;
}

/* Maps of words by key or column; what each word may say is checked by `check`. */
static const st_words *read_words(st_yaml_reader *reader, const st_yaml_node *root,
                                  const char *name, size_t *count,
                                  void (*check)(st_yaml_reader *, const st_words *))
{
    const st_yaml_node *map = st_read_map(reader, root, name);
    st_words *list = st_read_room(reader, &map, sizeof *list);
    *count = map->count;
    for (size_t i = 0; i < map->count; i++) {
        st_words *words = &list[i];
        *words = (st_words){.path = map->keys[i], .place = map->key_places[i]};
        words->items = read_renamed(reader, map, map->keys[i], &words->count);
        check(reader, words);
    }
    return list;
}

/* Words map to values of an existing key. */
static void check_words(st_yaml_reader *reader, const st_words *words)
{
    st_assigned assigned = {.path = words->path, .place = words->place};
    find_path(reader, &assigned);
    for (size_t i = 0; assigned.key != NULL && i < words->count; i++) {
        const st_renamed *item = &words->items[i];
        const st_value_text text = {
            .text = item->theirs, .length = strlen(item->theirs), .place = item->place};
        if (assigned.key->kind != ST_KEY_TEXT)
            st_note(&reader->status,
                    st_value_parse(assigned.key, &text, &(double){0}, reader->errors));
    }
}

/* Words of a list are each a yes to a key, or none that a job knows. */
static void check_list(st_yaml_reader *reader, const st_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        const st_renamed *item = &words->items[i];
        const st_key *key = st_key_find(item->theirs);
        if (strcmp(item->theirs, ST_NO_WORD) == 0 || (key != NULL && key->kind == ST_KEY_BOOL))
            continue;
        ST_NOTE(reader, ST_ERR_NAME, item->place,
                "'%s' is not a boolean key" ST_EXPECTED "such a key, or " ST_NO_WORD ST_HINT "%s",
                item->theirs, st_or_none(st_key_nearest_path(item->theirs)));
    }
}

static const char *const *read_names(st_yaml_reader *reader, const st_yaml_node *root,
                                     const char *key, size_t *count)
{
    return st_read_texts(reader, st_read_list(reader, root, key, ST_SOURCE_ITEMS_MAX),
                         st_errors_text(reader->errors, "entries of '%s' must be names", key),
                         count);
}

/* ---- the file ---- */

static void read_source(st_yaml_reader *reader, const st_yaml_node *root, st_table_source *source)
{
    if (!st_read_is(reader, root, ST_YAML_MAP, "a source of tables is not a map"))
        return;
    source->formulas = st_read_alloc(reader, 1, sizeof *source->formulas);
    if (source->formulas == NULL)
        return;
    static const char *const head_known[] = {
        "source", "title",    "cite",   "match",   "sheet",       "rows",
        "data",   "measured", "fitted", "columns", "gpus",        "numbers",
        "assume", "skip",     "groups", "limit",   "site_limit",  "site_factor",
        "words",  "lists",    "ignore", "base",    "memory_limit"};
    st_read_keys(reader, root, "a source of tables", head_known, ST_COUNT(head_known), 4);
    source->name = st_read_text(reader, root, "source", source->name);
    source->title = st_read_text(reader, root, "title", "");
    source->cite = st_read_text(reader, root, "cite", "");
    source->sheet = st_read_text(reader, root, "sheet", NULL);
    source->rows = st_read_text(reader, root, "rows", NULL);
    source->data = st_read_text(reader, root, "data", NULL);
    source->place = root->place;
    source->match.formula = ST_NO_FORMULA;
    source->match.conditions =
        st_read_conditions(reader, root, "match", NULL, &source->match.condition_count);
    bool outside =
        source->data != NULL && (source->data[0] == '/' || strstr(source->data, "..") != NULL);
    if (outside)
        ST_NOTE(reader, ST_ERR_VALUE, st_yaml_get(root, "data")->place,
                "'data' leaves STEPTIME_DATA" ST_EXPECTED "a path below that folder");
    static const char *const known[] = {"column", "unit", "cell", "ran_out"};
    const st_yaml_node *map = st_read_map(reader, root, "measured");
    if (map != NULL) {
        st_read_keys(reader, map, "'measured'", known, 4, 3);
        source->column = st_read_text(reader, map, "column", NULL);
        source->unit = st_read_text(reader, map, "unit", "1");
        source->cell = st_read_text(reader, map, "cell", NULL);
        source->ran_out = st_read_text(reader, map, "ran_out", NULL);
    }
    source->constants = read_names(reader, root, "fitted", &source->constant_count);
    source->ignored = read_names(reader, root, "ignore", &source->ignored_count);
    source->words = read_words(reader, root, "words", &source->word_count, check_words);
    source->lists = read_words(reader, root, "lists", &source->list_count, check_list);
    source->columns = read_renamed(reader, root, "columns", &source->column_count);
    source->gpus = read_renamed(reader, root, "gpus", &source->gpu_count);
    read_extractions(reader, root, source);
    const st_yaml_node *list = st_read_list(reader, root, "assume", ST_SOURCE_ITEMS_MAX);
    st_assumption *items = st_read_room(reader, &list, sizeof *items);
    for (size_t i = 0; i < list->count; i++) {
        const st_yaml_node *node = list->items[i];
        st_assumption *assumption = &items[i];
        static const char *const assumption_known[] = {"why", "set",    "fill",
                                                       "if",  "unless", "that"};
        *assumption = (st_assumption){.when = {.formula = ST_NO_FORMULA}, .why = ""};
        if (!st_read_is(reader, node, ST_YAML_MAP, "an assumption is not a map"))
            continue;
        st_read_keys(reader, node, "an assumption", assumption_known, 6, 1);
        assumption->when = read_when(reader, source, node);
        assumption->why = st_read_text(reader, node, "why", "");
        assumption->set = read_assigned(reader, source, node, "set", &assumption->set_count);
        assumption->fill = read_assigned(reader, source, node, "fill", &assumption->fill_count);
        if (assumption->set_count + assumption->fill_count == 0)
            ST_NOTE(reader, ST_ERR_NAME, node->place,
                    "empty assumption" ST_EXPECTED "'set', 'fill' or both");
    }
    source->assumptions = items;
    source->assumption_count = list->count;
    read_omissions(reader, root, source);
    read_groups(reader, root, source);
    if (reader->status == ST_OK)
        st_row_formulas_compile(reader, source->formulas);
}

st_status st_table_source_load(const st_paths *paths, const char *name, st_arena *arena,
                               st_table_source *source, st_errors *errors)
{
    const st_yaml_node *root = NULL;
    st_status status = st_source_read(paths, name, arena, &root, errors);
    if (status != ST_OK)
        return status;
    const char *file = root->place.file;
    st_yaml_reader reader = {.arena = arena, .errors = errors, .file = file};
    *source = (st_table_source){.name = name, .file = file};
    read_source(&reader, root, source);
    return reader.status;
}
