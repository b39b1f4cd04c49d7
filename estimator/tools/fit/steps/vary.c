/* SPDX-License-Identifier: Apache-2.0 */
/* --vary: which inputs are fitted and between which bounds; see calibrate.h. */
#include "fit/steps/calibrate.h"

#include "base/error_scope.h"
#include "base/text.h"
#include "steptime/tool/job_values.h"
#include "steptime/tool/job_keys.h"

#include <math.h>
#include <string.h>

typedef struct vary_reader {
    const st_measured *sets;
    size_t set_count;
    st_arena *arena;
    st_errors *errors;
    st_status status;
    st_varied *list;
    size_t count;
} vary_reader;

static ST_PRINTF(2, 3) void refuse(vary_reader *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    st_note(&reader->status, st_vfail(reader->errors, ST_ERR_USAGE, (st_place){.file = "--vary"},
                                      format, arguments));
    va_end(arguments);
}

/* The first input of any of the sheets that reads a key. */
static const st_sheet_input *find_input(const vary_reader *reader, const char *path)
{
    const st_sheet_input *found = NULL;
    for (size_t i = 0; i < reader->set_count && found == NULL; i++)
        found = st_sheet_reading(reader->sets[i].sheet, path);
    return found;
}

/* The nearest of all keys that the sheets read. */
static const char *nearest_path(vary_reader *reader, const char *path)
{
    size_t count = 0;
    const st_sheet_input *inputs =
        reader->set_count > 0 ? st_sheet_inputs(reader->sets[0].sheet, &count) : NULL;
    const char **paths = st_arena_alloc(reader->arena, count + 1, sizeof *paths);
    for (size_t i = 0; paths != NULL && i < count; i++)
        paths[i] = inputs[i].from;
    return paths != NULL ? st_nearest(path, paths, count) : NULL;
}

static bool as_wrong_use(const void *context, st_errors *errors, st_error *error)
{
    (void)context;
    (void)errors;
    error->status = ST_ERR_USAGE;
    error->place.column = 0;
    return true;
}

static bool parse_value(vary_reader *reader, const char *path, const st_type *type,
                        const char *text, double *value)
{
    const char *file = st_errors_text(reader->errors, "--vary %s", path);
    st_error_scope scope = {.edit = as_wrong_use};
    st_errors_enter(reader->errors, &scope);
    st_status status = st_quantity_parse(text, strlen(text), &type->unit, (st_place){.file = file},
                                         value, reader->errors);
    st_errors_leave(reader->errors, &scope);
    if (status != ST_OK)
        st_note(&reader->status, ST_ERR_USAGE);
    return status == ST_OK;
}

/* "LOW..HIGH" or "LOW..START..HIGH" */
static void read_range(vary_reader *reader, const char *path, const st_type *type,
                       const char *range)
{
    double values[3] = {0, 0, 0};
    size_t count = 0;
    const char **parts = st_text_split(range, "..", reader->arena, &count);
    if (parts == NULL) {
        reader->status = ST_ERR_MEMORY;
        return;
    }
    if (count < 2 || count > 3) {
        refuse(reader, "%s has no bounds in '%s'" ST_EXPECTED "LOW..HIGH or LOW..START..HIGH", path,
               range);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (!parse_value(reader, path, type, parts[i], &values[i]))
            return;
    st_varied varied = {.path = path,
                        .name = path,
                        .when = {.formula = ST_NO_FORMULA},
                        .type = type,
                        .low = values[0],
                        .high = values[count - 1],
                        .start = count == 3 ? values[1] : (double)NAN};
    if (!(varied.low > 0))
        refuse(reader,
               "the lower bound of %s is not above 0" ST_EXPECTED
               "bounds above 0, for constants move on a logarithmic scale",
               varied.path);
    else if (varied.low > varied.high)
        refuse(reader, "the bounds of %s are reversed" ST_EXPECTED "LOW..HIGH", varied.path);
    else if (varied.low == varied.high)
        refuse(reader, "the bounds of %s are equal" ST_EXPECTED "LOW below HIGH", varied.path);
    else if (varied.start < varied.low || varied.start > varied.high)
        refuse(reader, "the start of %s is outside its bounds" ST_EXPECTED "LOW..START..HIGH",
               varied.path);
    for (size_t i = 0; i < reader->count; i++)
        if (strcmp(reader->list[i].path, varied.path) == 0)
            refuse(reader, "%s is varied twice", varied.path);
    reader->list[reader->count++] = varied;
}

const st_sheet_input *st_varied_input(const st_calibration *calibration, const char *path,
                                      st_arena *arena, const char **nearest)
{
    vary_reader reader = {
        .sets = calibration->sets, .set_count = calibration->set_count, .arena = arena};
    const st_sheet_input *input = find_input(&reader, path);
    *nearest = input == NULL ? nearest_path(&reader, path) : NULL;
    return input;
}

st_status st_varied_parse(st_calibration *calibration, const char *const *texts, size_t count,
                          st_arena *arena, st_errors *errors)
{
    vary_reader reader = {.sets = calibration->sets,
                          .set_count = calibration->set_count,
                          .arena = arena,
                          .errors = errors};
    reader.list = st_arena_alloc(arena, ST_FIT_MAX_PARAMETERS, sizeof *reader.list);
    if (reader.list == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        size_t term_count = 0;
        const char **terms = st_text_split(texts[i], ",", arena, &term_count);
        if (terms == NULL)
            return ST_ERR_MEMORY;
        for (size_t k = 0; k < term_count; k++) {
            st_assignment read;
            if (!st_assignment_read(terms[k], reader.arena, &read)) {
                reader.status = ST_ERR_MEMORY;
                continue;
            }
            const char *path = read.key;
            if (read.value == NULL) {
                refuse(&reader, "missing bounds in '%s'" ST_EXPECTED "KEY=LOW..HIGH", path);
                continue;
            }
            const st_sheet_input *input = find_input(&reader, path);
            if (input == NULL) {
                refuse(&reader, "no sheet reads '%s'" ST_HINT "%s", path,
                       st_or_none(nearest_path(&reader, path)));
                continue;
            }
            if (input->type.kind != ST_TYPE_NUMBER) {
                refuse(&reader, "%s is not a number" ST_EXPECTED "a number or a quantity", path);
                continue;
            }
            if (reader.count == ST_FIT_MAX_PARAMETERS) {
                refuse(&reader, "too many constants" ST_EXPECTED "at most %d",
                       ST_FIT_MAX_PARAMETERS);
                continue;
            }
            read_range(&reader, path, &input->type, read.value);
        }
    }
    calibration->varied = reader.list;
    calibration->varied_count = reader.count;
    return reader.status;
}
