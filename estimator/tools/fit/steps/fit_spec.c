/* SPDX-License-Identifier: Apache-2.0 */
/* See fit_spec.h. */
#include "fit/steps/fit_spec.h"

#include "steptime/tool/input_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TABLES_MAX = 100 };

/* Without bounds a constant moves so many standard deviations around its prior. */
static const double reach = 4.0;
static const double usual_noise = 0.08;

/* ---- texts and numbers ---- */

static double read_share(st_yaml_reader *reader, const st_yaml_node *map, const char *key,
                         double otherwise)
{
    const st_unit one = st_unit_one();
    double value = st_read_quantity(reader, map, key, &one, otherwise);
    if (!(value > 0) && st_yaml_get(map, key) != NULL)
        ST_NOTE(reader, ST_ERR_VALUE, st_yaml_get(map, key)->place,
                "'%s' is not above zero" ST_EXPECTED "a share such as 8 %%", key);
    return value;
}

static const char *const *read_texts(st_yaml_reader *reader, const st_yaml_node *map,
                                     const char *key, size_t *count)
{
    return st_read_texts(reader, st_read_list(reader, map, key, ST_SOURCE_ITEMS_MAX),
                         "list items must be strings", count);
}

/* One of two words; whether it is the second. */
static bool read_choice(st_yaml_reader *reader, const st_yaml_node *map, const char *key,
                        const char *first, const char *second)
{
    const char *text = st_read_text(reader, map, key, first);
    bool is_second = strcmp(text, second) == 0;
    if (!is_second && strcmp(text, first) != 0)
        ST_NOTE(reader, ST_ERR_VALUE, st_yaml_get(map, key)->place,
                "'%s'" ST_FOUND "'%s'" ST_EXPECTED "%s or %s", key, text, first, second);
    return is_second;
}

/* ---- tables ---- */

/* Where `data` lies; NULL without STEPTIME_DATA. */
static const char *data_file(st_yaml_reader *reader, const st_yaml_node *node, const char *data)
{
    const char *folder = getenv("STEPTIME_DATA");
    if (folder != NULL && folder[0] != '\0')
        return st_arena_printf(reader->arena, "%s/%s", folder, data);
    ST_NOTE(reader, ST_ERR_IO, node->place,
            "no folder contains %s" ST_HINT
            "set STEPTIME_DATA to the folder with the sources' tables",
            data);
    return NULL;
}

static st_measured_table *read_tables(st_yaml_reader *reader, const st_yaml_node *root,
                                      const char *key, size_t *count)
{
    const st_yaml_node *list = st_read_list(reader, root, key, TABLES_MAX);
    st_measured_table *tables = st_read_room(reader, &list, sizeof *tables);
    for (size_t i = 0; i < list->count; i++) {
        const st_yaml_node *node = list->items[i];
        st_measured_table *table = &tables[(*count)++];
        static const char *const known[] = {"file", "data", "rows"};
        if (st_read_is(reader, node, ST_YAML_MAP, "a table is not a map")) {
            st_read_keys(reader, node, "a table", known, 3, 0);
            const char *file = st_read_text(reader, node, "file", NULL);
            const char *data = st_read_text(reader, node, "data", NULL);
            if ((file == NULL) == (data == NULL))
                ST_NOTE(reader, ST_ERR_NAME, node->place,
                        "missing location of the table" ST_EXPECTED
                        "either 'file', relative to this file, or 'data', below STEPTIME_DATA");
            else
                table->file = file != NULL ? file : data_file(reader, node, data);
            table->place = file != NULL ? node->place : (st_place){0};
            table->filter = st_read_text(reader, node, "rows", NULL);
        }
    }
    return tables;
}

st_status st_fit_spec_load(const char *file, st_arena *arena, st_fit_spec *spec, st_errors *errors)
{
    static const char *const known[] = {"tables", "constants", "set",   "title",    "loss",
                                        "scale",  "errors",    "noise", "each_row", "leave_out",
                                        "mfu",    "nearest",   "tests"};
    st_source text = {0};
    *spec = (st_fit_spec){.file = file};
    st_status status = st_file_read(file, (st_place){0}, arena, &text, errors);
    if (status == ST_OK)
        status = st_yaml_read(&text, arena, &spec->root, errors);
    if (status != ST_OK)
        return status;
    st_yaml_reader reader = {.arena = arena, .errors = errors, .file = text.file};
    if (!st_read_is(&reader, spec->root, ST_YAML_MAP, "a fit is not a map"))
        return reader.status;
    st_read_keys(&reader, spec->root, "a fit", known, ST_COUNT(known), 2);
    spec->tables = read_tables(&reader, spec->root, "tables", &spec->table_count);
    spec->tests = read_tables(&reader, spec->root, "tests", &spec->test_count);
    spec->sets = read_texts(&reader, spec->root, "set", &spec->set_count);
    return reader.status;
}

/* ---- constants ---- */

static bool check_bounds(st_yaml_reader *reader, const st_yaml_node *node, const st_varied *varied)
{
    const char *wrong = NULL;
    if (!(varied->low > 0))
        wrong = "its lower bound is not above 0";
    else if (!(varied->low < varied->high))
        wrong = "its bounds are equal or reversed";
    else if (varied->prior > 0 && !(varied->low < varied->prior && varied->prior < varied->high))
        wrong = "its prior is out of bounds";
    else if ((varied->prior > 0) != (varied->sd > 0))
        wrong = "'prior' and its standard deviation 'sd' require each other";
    if (wrong != NULL)
        ST_NOTE(reader, ST_ERR_VALUE, node->place, "%s: %s", varied->name, wrong);
    return wrong == NULL;
}

st_status st_fit_spec_apply(const st_fit_spec *spec, st_calibration *calibration, st_arena *arena,
                            st_errors *errors)
{
    st_yaml_reader reader = {.arena = arena, .errors = errors, .file = spec->file};
    const st_yaml_node *root = spec->root;
    const st_yaml_node *list = st_read_list(&reader, root, "constants", ST_FIT_MAX_PARAMETERS);
    calibration->varied = st_arena_alloc(arena, ST_FIT_MAX_PARAMETERS, sizeof *calibration->varied);
    if (calibration->varied == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        const st_yaml_node *node = list->items[i];
        static const char *const known[] = {"key", "name",   "low", "high",  "prior",
                                            "sd",  "source", "if",  "unless"};
        const char *nearest = NULL;
        if (!st_read_is(&reader, node, ST_YAML_MAP, "a constant is not a map"))
            continue;
        st_read_keys(&reader, node, "a constant", known, ST_COUNT(known), 1);
        const char *path = st_read_text(&reader, node, "key", "");
        const st_sheet_input *input = st_varied_input(calibration, path, reader.arena, &nearest);
        st_varied varied = {.path = path,
                            .name = st_read_text(&reader, node, "name", path),
                            .source = st_read_text(&reader, node, "source", NULL),
                            .when.formula = ST_NO_FORMULA};
        varied.when.conditions =
            st_read_conditions(&reader, node, "if", "unless", &varied.when.condition_count);
        if (input == NULL || input->type.kind != ST_TYPE_NUMBER) {
            ST_NOTE(&reader, ST_ERR_NAME, node->place, "%s '%s'" ST_HINT "%s",
                    input == NULL ? "no sheet reads" : "a fit moves numbers, not", path,
                    st_or_none(nearest));
            continue;
        }
        varied.type = &input->type;
        const st_unit one = st_unit_one();
        const st_unit *unit = &varied.type->unit;
        varied.prior = st_read_quantity(&reader, node, "prior", unit, 0);
        varied.sd = st_read_quantity(&reader, node, "sd", &one, 0);
        double factor = exp(reach * varied.sd);
        bool value_known = varied.prior > 0 && varied.sd > 0;
        varied.low =
            st_read_quantity(&reader, node, "low", unit, value_known ? varied.prior / factor : 0);
        varied.high =
            st_read_quantity(&reader, node, "high", unit, value_known ? varied.prior * factor : 0);
        varied.start = value_known ? varied.prior : (double)NAN;
        if (ST_HAS(calibration->varied, calibration->varied_count, name, varied.name))
            ST_NOTE(&reader, ST_ERR_NAME, node->place,
                    "duplicate '%s'" ST_HINT "give each its own 'name'", varied.name);
        else if (check_bounds(&reader, node, &varied))
            calibration->varied[calibration->varied_count++] = varied;
    }
    calibration->loss =
        read_choice(&reader, root, "loss", "soft-l1", "square") ? ST_LOSS_SQUARE : ST_LOSS_SOFT_L1;
    calibration->scale = read_share(&reader, root, "scale", calibration->scale);
    calibration->logarithms = read_choice(&reader, root, "errors", "relative", "log");
    calibration->noise = read_share(&reader, root, "noise", usual_noise);
    calibration->whole = !st_read_bool(&reader, root, "each_row");
    if (calibration->column_count == 0)
        calibration->columns = read_texts(&reader, root, "leave_out", &calibration->column_count);
    calibration->alike[ST_NAIVE_MFU].columns =
        read_texts(&reader, root, "mfu", &calibration->alike[ST_NAIVE_MFU].count);
    calibration->alike[ST_NAIVE_NEAREST].columns =
        read_texts(&reader, root, "nearest", &calibration->alike[ST_NAIVE_NEAREST].count);
    return reader.status;
}
