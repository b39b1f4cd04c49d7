/* SPDX-License-Identifier: Apache-2.0 */
/* Reads validation/SOURCE/cases.yaml; see cases.h. */
#include "fit/steps/cases.h"

#include "base/yaml_read.h"
#include "steptime/tool/input_files.h"

#include <string.h>

static void read_case(st_yaml_reader *reader, const st_yaml_node *node, st_case *item)
{
    static const char *const known[] = {"name", "job", "values", "sheet", "set"};
    *item = (st_case){.name = "", .job = "", .place = node->place};
    if (!st_read_is(reader, node, ST_YAML_MAP, "a case is not a map"))
        return;
    st_read_keys(reader, node, "a case", known, 5, 3);
    item->name = st_read_text(reader, node, "name", "");
    /* A job named by a path is relative to the file that names it. */
    const char *name = st_read_text(reader, node, "job", "");
    if (!st_name_is_path(name)) {
        item->job = name;
    } else {
        const char *path = st_path_resolve(reader->arena, node->place, name);
        if (path == NULL)
            reader->status = ST_ERR_MEMORY;
        item->job = path != NULL ? path : name;
    }
    item->sheet = st_read_text(reader, node, "sheet", NULL);
    item->sets = st_read_texts(reader, st_read_list(reader, node, "set", ST_CASES_MAX),
                               "an entry of 'set' must be text", &item->set_count);
    const st_yaml_node *list = st_read_list(reader, node, "values", ST_CASES_MAX);
    item->values = st_read_room(reader, &list, sizeof *item->values);
    item->value_count = list->count;
    for (size_t i = 0; i < list->count; i++) {
        const st_yaml_node *value_node = list->items[i];
        st_case_value *value = &item->values[i];
        static const char *const value_known[] = {"cell", "published", "tolerance", "note",
                                                  "missed"};
        *value =
            (st_case_value){.cell = "", .published = "", .tolerance = "", .note = "", .missed = ""};
        if (!st_read_is(reader, value_node, ST_YAML_MAP, "a value of a case is not a map"))
            continue;
        st_read_keys(reader, value_node, "a value of a case", value_known, 5, 3);
        value->cell = st_read_text(reader, value_node, "cell", "");
        value->published = st_read_text(reader, value_node, "published", "");
        value->tolerance = st_read_text(reader, value_node, "tolerance", "");
        value->note = st_read_text(reader, value_node, "note", "");
        value->missed = st_read_text(reader, value_node, "missed", "");
        const st_yaml_node *cell = st_yaml_get(value_node, "cell");
        const st_yaml_node *published = st_yaml_get(value_node, "published");
        const st_yaml_node *tolerance = st_yaml_get(value_node, "tolerance");
        value->cell_place = cell != NULL ? cell->place : value_node->place;
        value->published_place = published != NULL ? published->place : value_node->place;
        if (tolerance == NULL || value->tolerance[0] == '\0')
            continue;
        st_unit one = st_unit_one();
        st_status status =
            st_quantity_parse(value->tolerance, strlen(value->tolerance), &one, tolerance->place,
                              &value->tolerance_frac, reader->errors);
        if (status != ST_OK && reader->status == ST_OK)
            reader->status = status;
        if (status == ST_OK && value->tolerance_frac < 0.0)
            ST_NOTE(reader, ST_ERR_VALUE, tolerance->place,
                    "negative tolerance" ST_FOUND "%s" ST_EXPECTED
                    "a fraction such as 0.5 %%, or 0 for equal numbers",
                    st_or_none(value->tolerance));
    }
}

st_status st_cases_load(const st_paths *paths, const char *name, st_arena *arena,
                        st_case_source *source, st_errors *errors)
{
    const st_yaml_node *root = NULL;
    st_status status = st_paths_read_yaml(paths, ST_FOLDER_VALIDATION, name, arena, &root, errors);
    if (status != ST_OK)
        return status;
    st_yaml_reader reader = {.arena = arena, .errors = errors, .file = root->place.file};
    static const char *const known[] = {"source", "title", "cite", "cases"};
    *source = (st_case_source){.name = name, .title = "", .cite = "", .file = reader.file};
    if (st_read_is(&reader, root, ST_YAML_MAP, "validation cases are not a map")) {
        st_read_keys(&reader, root, "the validation cases", known, 4, 4);
        const char *declared = st_read_text(&reader, root, "source", name);
        source->title = st_read_text(&reader, root, "title", "");
        source->cite = st_read_text(&reader, root, "cite", "");
        if (strcmp(declared, name) != 0)
            ST_NOTE(&reader, ST_ERR_NAME, st_yaml_get(root, "source")->place,
                    "'source' is not the folder's name" ST_FOUND "'%s'" ST_EXPECTED "'%s'",
                    declared, name);
        const st_yaml_node *list = st_read_list(&reader, root, "cases", ST_CASES_MAX);
        source->cases = st_read_room(&reader, &list, sizeof *source->cases);
        source->case_count = list->count;
        for (size_t i = 0; i < list->count; i++)
            read_case(&reader, list->items[i], &source->cases[i]);
        for (size_t i = 0; i < source->case_count; i++) {
            for (size_t k = 0; k < i; k++) {
                const st_case *item = &source->cases[i];
                if (item->name[0] == '\0' || strcmp(item->name, source->cases[k].name) != 0)
                    continue;
                ST_NOTE(&reader, ST_ERR_NAME, item->place, "two cases are named '%s'", item->name);
                break;
            }
        }
    }
    return reader.status;
}
