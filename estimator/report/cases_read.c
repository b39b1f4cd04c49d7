/* SPDX-License-Identifier: Apache-2.0 */
/* Reads validation/SOURCE/cases.yaml; see cases.h. */
#include "report/cases.h"

#include "base/yaml.h"
#include "report/groups.h"

#include <string.h>

typedef struct case_reader {
    st_arena *arena;
    st_errors *errors;
    const char *file;
    st_status status; /* of the first fault */
} case_reader;

static void report(case_reader *reader, const st_error *error)
{
    st_status status = st_errors_add(reader->errors, error);
    if (reader->status == ST_OK)
        reader->status = status;
}

static void *alloc(case_reader *reader, size_t count, size_t size_bytes)
{
    void *memory = st_arena_alloc(reader->arena, count, size_bytes);
    if (memory == NULL)
        reader->status = ST_ERR_MEMORY;
    return memory;
}

static bool is_kind(case_reader *reader, const st_yaml_node *node, st_yaml_kind kind,
                    const char *what)
{
    static const char *const names[] = {
        [ST_YAML_SCALAR] = "a text", [ST_YAML_LIST] = "a list", [ST_YAML_MAP] = "a map"};
    if (node->kind == kind)
        return true;
    report(reader, &(st_error){.status = ST_ERR_VALUE,
                               .place = node->place,
                               .message = what,
                               .found = st_yaml_describe(node, reader->errors),
                               .expected = names[kind]});
    return false;
}

/* Reports keys that `known` does not list; the names before `required` many of them must be there.
 */
static void check_keys(case_reader *reader, const st_yaml_node *map, const char *what,
                       const char *const *known, size_t count, size_t required)
{
    for (size_t i = 0; i < map->count; i++) {
        bool found = false;
        for (size_t k = 0; k < count; k++)
            found = found || strcmp(map->keys[i], known[k]) == 0;
        if (!found) {
            const char *near = st_nearest(map->keys[i], known, count);
            report(reader,
                   &(st_error){.status = ST_ERR_NAME,
                               .place = map->key_places[i],
                               .message = st_errors_text(reader->errors, "unknown key '%s' in %s",
                                                         map->keys[i], what),
                               .suggestion = near});
        }
    }
    for (size_t k = 0; k < required; k++) {
        if (st_yaml_get(map, known[k]) == NULL)
            report(reader,
                   &(st_error){.status = ST_ERR_NAME,
                               .place = map->place,
                               .message = st_errors_text(
                                   reader->errors, "key '%s' is missing in %s", known[k], what)});
    }
}

/* The text of a key, `otherwise` where it is absent or faulty. */
static const char *read_text(case_reader *reader, const st_yaml_node *map, const char *key,
                             const char *otherwise)
{
    const st_yaml_node *node = st_yaml_get(map, key);
    if (node == NULL)
        return otherwise;
    if (!is_kind(reader, node, ST_YAML_SCALAR,
                 st_errors_text(reader->errors, "'%s' is not a text", key)))
        return otherwise;
    if (node->length == 0) {
        report(reader,
               &(st_error){.status = ST_ERR_VALUE,
                           .place = node->place,
                           .message = st_errors_text(reader->errors, "'%s' is empty", key)});
        return otherwise;
    }
    return node->text;
}

/* The items of a list, NULL (and *count 0) where the key is absent or no list. */
static const st_yaml_node *read_list(case_reader *reader, const st_yaml_node *map, const char *key,
                                     size_t *count)
{
    const st_yaml_node *node = st_yaml_get(map, key);
    *count = 0;
    if (node == NULL || !is_kind(reader, node, ST_YAML_LIST,
                                 st_errors_text(reader->errors, "'%s' is not a list", key)))
        return NULL;
    if (node->count > ST_CASES_MAX) {
        report(reader,
               &(st_error){.status = ST_ERR_LIMIT,
                           .place = node->place,
                           .message = st_errors_text(reader->errors, "'%s' has %zu items", key,
                                                     node->count),
                           .expected = st_errors_text(reader->errors, "at most %d", ST_CASES_MAX)});
        return NULL;
    }
    *count = node->count;
    return node;
}

static void read_value(case_reader *reader, const st_yaml_node *node, st_case_value *value)
{
    static const char *const known[] = {"cell", "published", "tolerance", "note"};
    *value = (st_case_value){.cell = "", .published = "", .tolerance = "", .note = ""};
    if (!is_kind(reader, node, ST_YAML_MAP, "a value of a case is not a map"))
        return;
    check_keys(reader, node, "a value of a case", known, 4, 3);
    value->cell = read_text(reader, node, "cell", "");
    value->published = read_text(reader, node, "published", "");
    value->tolerance = read_text(reader, node, "tolerance", "");
    value->note = read_text(reader, node, "note", "");
    const st_yaml_node *cell = st_yaml_get(node, "cell");
    const st_yaml_node *published = st_yaml_get(node, "published");
    const st_yaml_node *tolerance = st_yaml_get(node, "tolerance");
    value->cell_place = cell != NULL ? cell->place : node->place;
    value->published_place = published != NULL ? published->place : node->place;
    if (tolerance == NULL || value->tolerance[0] == '\0')
        return;
    st_unit one = st_unit_one();
    st_status status = st_quantity_parse(value->tolerance, strlen(value->tolerance), &one,
                                         tolerance->place, &value->tolerance_frac, reader->errors);
    if (status != ST_OK && reader->status == ST_OK)
        reader->status = status;
    if (status == ST_OK && value->tolerance_frac < 0.0)
        report(reader, &(st_error){.status = ST_ERR_VALUE,
                                   .place = tolerance->place,
                                   .message = "a tolerance below zero",
                                   .found = value->tolerance,
                                   .expected = "a fraction such as 0.5 %, or 0 for equal numbers"});
}

static void read_sets(case_reader *reader, const st_yaml_node *node, st_case *item)
{
    size_t count = 0;
    const st_yaml_node *list = read_list(reader, node, "set", &count);
    if (list == NULL)
        return;
    const char **sets = alloc(reader, count + 1, sizeof *sets);
    if (sets == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        if (is_kind(reader, list->items[i], ST_YAML_SCALAR, "an entry of 'set' is not a text"))
            sets[item->set_count++] = list->items[i]->text;
    }
    item->sets = sets;
}

/* A job named by a path is relative to the file that names it. */
static const char *resolve_job(case_reader *reader, const char *name)
{
    const char *slash = strrchr(reader->file, '/');
    size_t length = strlen(name);
    bool is_path =
        strchr(name, '/') != NULL || (length > 5 && strcmp(name + length - 5, ".yaml") == 0);
    if (!is_path || name[0] == '/' || slash == NULL)
        return name;
    const char *path = st_arena_printf(reader->arena, "%.*s%s", (int)(slash - reader->file + 1),
                                       reader->file, name);
    if (path == NULL)
        reader->status = ST_ERR_MEMORY;
    return path != NULL ? path : name;
}

static void read_case(case_reader *reader, const st_yaml_node *node, st_case *item)
{
    static const char *const known[] = {"name", "job", "values", "sheet", "set"};
    *item = (st_case){.name = "", .job = "", .place = node->place};
    if (!is_kind(reader, node, ST_YAML_MAP, "a case is not a map"))
        return;
    check_keys(reader, node, "a case", known, 5, 3);
    item->name = read_text(reader, node, "name", "");
    item->job = resolve_job(reader, read_text(reader, node, "job", ""));
    item->sheet = read_text(reader, node, "sheet", NULL);
    read_sets(reader, node, item);
    size_t count = 0;
    const st_yaml_node *list = read_list(reader, node, "values", &count);
    item->values = list != NULL ? alloc(reader, count + 1, sizeof *item->values) : NULL;
    for (size_t i = 0; item->values != NULL && i < count; i++)
        read_value(reader, list->items[i], &item->values[item->value_count++]);
}

static void check_names(case_reader *reader, const st_case_source *source)
{
    for (size_t i = 0; i < source->case_count; i++) {
        for (size_t k = 0; k < i; k++) {
            const st_case *item = &source->cases[i];
            if (item->name[0] == '\0' || strcmp(item->name, source->cases[k].name) != 0)
                continue;
            report(reader,
                   &(st_error){.status = ST_ERR_NAME,
                               .place = item->place,
                               .message = st_errors_text(reader->errors, "two cases are named '%s'",
                                                         item->name)});
            break;
        }
    }
}

static void read_source(case_reader *reader, const st_yaml_node *root, const char *name,
                        st_case_source *source)
{
    static const char *const known[] = {"source", "title", "cite", "cases"};
    *source = (st_case_source){.name = name, .title = "", .cite = "", .file = reader->file};
    if (!is_kind(reader, root, ST_YAML_MAP, "validation cases are not a map"))
        return;
    check_keys(reader, root, "the validation cases", known, 4, 4);
    const char *declared = read_text(reader, root, "source", name);
    source->title = read_text(reader, root, "title", "");
    source->cite = read_text(reader, root, "cite", "");
    if (strcmp(declared, name) != 0)
        report(reader, &(st_error){.status = ST_ERR_NAME,
                                   .place = st_yaml_get(root, "source")->place,
                                   .message = "'source' is not the folder's name",
                                   .found = st_errors_text(reader->errors, "'%s'", declared),
                                   .expected = st_errors_text(reader->errors, "'%s'", name)});
    size_t count = 0;
    const st_yaml_node *list = read_list(reader, root, "cases", &count);
    source->cases = list != NULL ? alloc(reader, count + 1, sizeof *source->cases) : NULL;
    for (size_t i = 0; source->cases != NULL && i < count; i++)
        read_case(reader, list->items[i], &source->cases[source->case_count++]);
    if (source->cases != NULL)
        check_names(reader, source);
}

st_status st_cases_load(const st_paths *paths, const char *name, st_arena *arena,
                        st_case_source *source, st_errors *errors)
{
    st_source text = {0};
    const st_yaml_node *root = NULL;
    st_status status =
        st_paths_read(paths, ST_FOLDER_VALIDATION, name, (st_place){0}, arena, &text, errors);
    if (status == ST_OK)
        status = st_yaml_parse(text.file, text.text, text.length, arena, &root, errors);
    if (status != ST_OK)
        return status;
    case_reader reader = {.arena = arena, .errors = errors, .file = text.file};
    read_source(&reader, root, name, source);
    return reader.status;
}
