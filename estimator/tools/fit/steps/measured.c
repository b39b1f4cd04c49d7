/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and jobs as measured rows; see measured.h. */
#include "fit/steps/measured.h"

#include "fit/steps/row_fields.h"
#include "fit/steps/row_words.h"
#include "fit/steps/filter.h"
#include "fit/steps/rows.h"
#include "fit/steps/table_csv.h"
#include "steptime/keys.h"
#include "steptime/tool/job_values.h"
#include "steptime/tool/input_files.h"

#include <math.h>
#include <string.h>

/* ---- sources ---- */

st_status st_table_sources_load(const st_paths *paths, st_arena *arena,
                                const st_table_source **sources, size_t *count, st_errors *errors)
{
    const st_path_entry *entries = NULL;
    st_status status = st_paths_list(paths, ST_FOLDER_TABLES, arena, &entries, count, errors);
    if (status != ST_OK)
        return status;
    st_table_source *list = st_arena_alloc(arena, *count + 1, sizeof *list);
    if (list == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < *count; i++) {
        st_status own = st_table_source_load(paths, entries[i].name, arena, &list[i], errors);
        status = status == ST_OK ? own : status;
    }
    *sources = list;
    return status;
}

const char *st_measured_field(const st_measured *measured, size_t row, const char *column)
{
    if (measured->csv == NULL)
        return "";
    st_source_field field = st_source_field_find(measured->csv, NULL, column);
    return st_source_field_text(measured->csv, field, measured->rows[row].line, NULL);
}

double st_measured_value(const st_measured *measured, size_t row, const char *key)
{
    size_t index = st_sheet_reading_index(measured->sheet, key);
    return index != SIZE_MAX ? measured->inputs[index * measured->row_count + row] : (double)NAN;
}

const char *st_measured_choice(const st_measured *measured, size_t row, const char *key)
{
    double value = st_measured_value(measured, row, key);
    const st_sheet_input *input = st_sheet_reading(measured->sheet, key);
    const st_enum *names =
        input != NULL && input->type.kind == ST_TYPE_ENUM ? input->type.enumeration : NULL;
    bool known = names != NULL && value >= 0 && value < (double)names->count;
    return known ? names->values[(size_t)value] : "";
}

static bool line_holds(const st_csv *csv, const st_table_source *source, const st_when *when,
                       size_t line)
{
    char storage[ST_SOURCE_FIELD_BYTES];
    for (size_t i = 0; i < when->condition_count; i++) {
        st_source_field field = st_source_field_find(csv, source, when->conditions[i].column);
        if (!st_condition_holds(&when->conditions[i],
                                st_source_field_text(csv, field, line, storage)))
            return false;
    }
    return true;
}

bool st_measured_holds(const st_measured *measured, const st_when *when, size_t row)
{
    if (!line_holds(measured->csv, measured->source, when, measured->rows[row].line))
        return false;
    /* a formula that has no value, as over a blank field, does not hold */
    return when->formula == ST_NO_FORMULA || measured->formulas[when->formula][row] == 1.0;
}

/* ---- what was measured ---- */

typedef struct measured_column {
    const char *name;
    const char *unit;
    const char *cell; /* NULL: the one of the role */
    st_role role;
} measured_column;

static const measured_column known_columns[] = {
    {ST_KEY_MEASURED_STEP_TIME, NULL, NULL, ST_ROLE_STEP},
    {"target_iter_s", "s", NULL, ST_ROLE_STEP},
    {"iter_time_s", "s", NULL, ST_ROLE_STEP},
    {"step_time_s", "s", NULL, ST_ROLE_STEP},
    {ST_KEY_MEASURED_MEMORY, NULL, NULL, ST_ROLE_MEMORY},
    {"peak_memory_gib", "GiB", NULL, ST_ROLE_MEMORY},
};

enum { KNOWN_COLUMNS = ST_COUNT(known_columns) };

typedef struct table_reader {
    const st_measured_request *request;
    const st_csv *csv;
    const char *name;
    const bool *kept; /* by --rows */
    bool use_extra;
    size_t *owner; /* per line: index of its source, source_count for none */
    st_arena *arena;
    st_errors *errors;
} table_reader;

static st_status find_measured(const table_reader *reader, const st_table_source *source,
                               measured_column *column)
{
    if (source != NULL && source->column != NULL) {
        *column = (measured_column){source->column, source->unit, source->cell, ST_ROLE_STEP};
        if (st_csv_column(reader->csv, column->name) != SIZE_MAX)
            return ST_OK;
        return st_fail(reader->errors, ST_ERR_NAME, (st_place){reader->csv->file, 1, 0},
                       "no column '%s'" ST_HINT "%s", column->name,
                       st_errors_nearest(reader->errors, column->name, reader->csv->columns,
                                         reader->csv->column_count));
    }
    for (size_t i = 0; i < KNOWN_COLUMNS; i++) {
        *column = known_columns[i];
        if (st_csv_column(reader->csv, column->name) != SIZE_MAX)
            return ST_OK;
    }
    return st_fail(reader->errors, ST_ERR_NAME, (st_place){reader->csv->file, 1, 0},
                   "no column holds what was measured" ST_EXPECTED
                   "target_iter_s, iter_time_s or step_time_s in seconds, peak_memory_gib, "
                   "measured.step_time or measured.memory");
}

/* A number above zero in the column's unit, or a quantity with a unit of its own. */
static st_status parse_measured(const table_reader *reader, const measured_column *column,
                                const st_type *type, size_t line, double *value)
{
    size_t index = st_csv_column(reader->csv, column->name);
    const char *text = st_csv_field(reader->csv, line, index);
    size_t length = strlen(text);
    st_unit unit = type->unit;
    st_status status = ST_OK;
    if (column->unit != NULL)
        status = st_unit_parse(column->unit, strlen(column->unit), (st_place){0}, &unit, NULL);
    if (status == ST_OK && column->unit != NULL) {
        status = st_number_parse(text, length, (st_place){0}, value, NULL);
        *value = st_unit_to_base(&unit, *value);
    } else if (status == ST_OK) {
        status = st_quantity_parse(text, length, &unit, (st_place){0}, value, NULL);
    }
    if (status == ST_OK && *value > 0 && isfinite(*value))
        return ST_OK;
    return st_fail(
        reader->errors, ST_ERR_VALUE, st_csv_place(reader->csv, line, index),
        "column %s" ST_FOUND "'%s'" ST_EXPECTED "%s", column->name, text,
        st_errors_text(reader->errors,
                       column->unit != NULL ? "a number of %s above 0" : "a quantity in %s above 0",
                       column->unit != NULL ? column->unit : type->unit.text));
}

static st_status read_measured(const table_reader *reader, const measured_column *column,
                               st_measured *measured, size_t row)
{
    st_row *own = &measured->rows[row];
    const char *ran_out = measured->source != NULL ? measured->source->ran_out : NULL;
    const char *text =
        st_csv_field(reader->csv, own->line, st_csv_column(reader->csv, column->name));
    own->measured = (double)NAN;
    if (text[0] == '\0') {
        own->unmeasured = true;
        return ST_OK;
    }
    own->ran_out = ran_out != NULL && strcmp(text, ran_out) == 0;
    if (own->ran_out)
        return ST_OK;
    return parse_measured(reader, column, measured->type, own->line, &own->measured);
}

/* ---- one source of a table ---- */

st_status st_measured_find_cell(st_measured *measured, const char *name, st_role role,
                                st_errors *errors)
{
    const st_role_part wanted = {.role = role};
    if (name == NULL &&
        st_sheet_need_roles(measured->sheet,
                            &(st_role_list){&wanted, 1, "a measured value is compared with"}, &name,
                            errors) != ST_OK)
        return ST_ERR_NAME;
    const st_sheet_cell *cell = st_sheet_find_cell(measured->sheet, name);
    measured->cell = name;
    if (cell == NULL)
        return st_fail(errors, ST_ERR_NAME, (st_place){0}, "sheet %s has no cell '%s'" ST_HINT "%s",
                       st_sheet_name(measured->sheet), name,
                       st_or_none(st_sheet_nearest(measured->sheet, name)));
    measured->type = &cell->type;
    measured->fits = st_sheet_role(measured->sheet, ST_ROLE_FITS);
    return ST_OK;
}

bool st_measured_is_step(const st_measured *measured)
{
    const char *step = st_sheet_role(measured->sheet, ST_ROLE_STEP);
    return step != NULL && strcmp(measured->cell, step) == 0;
}

static st_status list_rows(const table_reader *reader, size_t owner, st_measured *measured)
{
    st_source_field id = st_source_field_find(reader->csv, measured->source, "id");
    char storage[ST_SOURCE_FIELD_BYTES];
    size_t count = 0;
    for (size_t line = 0; line < reader->csv->row_count; line++)
        count += reader->owner[line] == owner ? 1 : 0;
    measured->rows = st_arena_alloc(reader->arena, count + 1, sizeof *measured->rows);
    if (measured->rows == NULL)
        return ST_ERR_MEMORY;
    for (size_t line = 0; line < reader->csv->row_count; line++) {
        if (reader->owner[line] != owner)
            continue;
        st_row *row = &measured->rows[measured->row_count++];
        *row = (st_row){.id = st_source_field_text(reader->csv, id, line, storage), .line = line};
        if (row->id == storage)
            row->id = st_arena_copy(reader->arena, storage, strlen(storage));
        else if (row->id[0] == '\0')
            row->id = st_arena_printf(reader->arena, "row-%zu", line + 1);
        if (row->id == NULL)
            return ST_ERR_MEMORY;
    }
    return ST_OK;
}

/* The columns of numbers that formulas read; NaN where there is none. */
static st_status fill_columns(const table_reader *reader, const st_measured *measured,
                              st_column *columns)
{
    const st_row_formulas *formulas = measured->source->formulas;
    char storage[ST_SOURCE_FIELD_BYTES];
    for (size_t i = 0; i < formulas->column_count; i++) {
        double *values = st_arena_alloc(reader->arena, measured->row_count + 1, sizeof *values);
        if (values == NULL)
            return ST_ERR_MEMORY;
        st_source_field field =
            st_source_field_find(reader->csv, measured->source, formulas->columns[i]);
        for (size_t row = 0; row < measured->row_count; row++) {
            const char *text =
                st_source_field_text(reader->csv, field, measured->rows[row].line, storage);
            values[row] = (double)NAN;
            (void)!st_number_parse(text, strlen(text), (st_place){0}, &values[row], NULL);
        }
        columns[i] = (st_column){values, 1};
    }
    return ST_OK;
}

static st_status run_formulas(const table_reader *reader, st_measured *measured)
{
    const st_row_formulas *formulas = measured->source->formulas;
    st_column columns[ST_FORMULA_COLUMNS_MAX];
    double *results[ST_FORMULAS_MAX];
    if (formulas->program == NULL)
        return ST_OK;
    const double **kept = st_arena_alloc(reader->arena, formulas->count, sizeof *kept);
    st_status status = kept != NULL ? fill_columns(reader, measured, columns) : ST_ERR_MEMORY;
    for (size_t i = 0; status == ST_OK && i < formulas->count; i++) {
        results[i] = st_arena_alloc(reader->arena, measured->row_count + 1, sizeof *results[i]);
        kept[i] = results[i];
        status = results[i] != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    if (status != ST_OK)
        return status;
    st_workspace *workspace = st_workspace_create(formulas->program);
    if (workspace == NULL)
        return ST_ERR_MEMORY;
    status =
        st_program_run(formulas->program, workspace, columns, measured->row_count, results, NULL);
    st_workspace_destroy(workspace);
    measured->formulas = kept;
    return status;
}

static st_status read_rows(const table_reader *reader, const measured_column *column,
                           st_measured *measured)
{
    st_status status = ST_OK;
    for (size_t row = 0; row < measured->row_count; row++) {
        st_status own = read_measured(reader, column, measured, row);
        status = status == ST_OK ? own : status;
    }
    (void)st_sheet_inputs(measured->sheet, &measured->input_count);
    size_t values = measured->input_count * measured->row_count;
    measured->inputs = st_arena_alloc(reader->arena, values + 1, sizeof *measured->inputs);
    if (measured->inputs == NULL)
        return ST_ERR_MEMORY;
    st_status filled =
        st_rows_fill(reader->request, measured, reader->use_extra, reader->arena, reader->errors);
    return status == ST_OK ? filled : status;
}

static st_status read_source(const table_reader *reader, size_t owner, st_measured *measured)
{
    const st_measured_request *request = reader->request;
    measured_column column = {0};
    *measured = (st_measured){.name = reader->name, .file = reader->csv->file, .csv = reader->csv};
    if (owner < request->source_count) {
        measured->source = &request->sources[owner];
        measured->name = measured->source->name;
    }
    const char *name = reader->request->sheet;
    if (name == NULL && measured->source != NULL)
        name = measured->source->sheet;
    st_sheet_reader paths = st_paths_sheet_reader(reader->request->paths);
    st_status status = st_sheet_load(&paths, name != NULL ? name : "megatron", reader->arena,
                                     &measured->sheet, reader->errors);
    if (status == ST_OK)
        status = find_measured(reader, measured->source, &column);
    if (status == ST_OK)
        status = st_measured_find_cell(measured, column.cell, column.role, reader->errors);
    if (status == ST_OK)
        status = list_rows(reader, owner, measured);
    if (status == ST_OK && !request->known_only)
        st_columns_tell_unread(reader->csv, measured->source, column.name, reader->errors);
    if (status == ST_OK && measured->source != NULL) {
        /* The columns that formulas and conditions name must be known: a slip would never hold. */
        const st_table_source *source = measured->source;
        const st_row_formulas *formulas = source->formulas;
        for (size_t i = 0; i < formulas->column_count; i++) {
            const char *column_name = formulas->columns[i];
            bool known = st_source_field_find(reader->csv, source, column_name).column != SIZE_MAX;
            if (known || st_is_standard_column(column_name))
                continue;
            status = st_fail(reader->errors, ST_ERR_NAME, (st_place){source->file, 0, 0},
                             "a formula reads '%s', which is no column of %s" ST_HINT "%s",
                             column_name, reader->csv->file,
                             st_errors_nearest(reader->errors, column_name, reader->csv->columns,
                                               reader->csv->column_count));
        }
    }
    if (status == ST_OK && measured->source != NULL)
        status = run_formulas(reader, measured);
    return status == ST_OK ? read_rows(reader, &column, measured) : status;
}

/* ---- the table ---- */

static st_status split_table(table_reader *reader, st_measured **sets, size_t *count)
{
    size_t sources = reader->request->source_count;
    bool *has_lines = st_arena_alloc(reader->arena, sources + 1, sizeof *has_lines);
    reader->owner = st_arena_alloc(reader->arena, reader->csv->row_count, sizeof *reader->owner);
    if (has_lines == NULL || reader->owner == NULL)
        return ST_ERR_MEMORY;
    /* Gives each line to the first source that it matches; returns how many have at least one. */
    const st_measured_request *request = reader->request;
    size_t used = 0;
    for (size_t line = 0; line < reader->csv->row_count; line++) {
        size_t owner = 0;
        while (owner < request->source_count &&
               !line_holds(reader->csv, NULL, &request->sources[owner].match, line))
            owner++;
        bool wanted =
            reader->kept[line] && !(request->known_only && owner == request->source_count);
        reader->owner[line] = wanted ? owner : SIZE_MAX;
        if (wanted && !has_lines[owner]) {
            has_lines[owner] = true;
            used++;
        }
    }
    st_measured *list = st_arena_alloc(reader->arena, used + 1, sizeof *list);
    if (list == NULL)
        return ST_ERR_MEMORY;
    *sets = list;
    *count = used;
    st_status status = ST_OK;
    for (size_t owner = 0; owner <= sources; owner++) {
        if (!has_lines[owner])
            continue;
        st_status own = read_source(reader, owner, list++);
        status = status == ST_OK ? own : status;
    }
    return status;
}

st_status st_measured_read(const st_measured_request *request, const st_measured_table *table,
                           st_arena *arena, st_measured **sets, size_t *count, st_errors *errors)
{
    table_reader reader = {.request = request,
                           .name = st_last_part(table->file, '/'),
                           .use_extra = st_filter_mentions(table->filter, "split"),
                           .arena = arena,
                           .errors = errors};
    const char *path = st_path_resolve(arena, table->place, table->file);
    if (path == NULL)
        return ST_ERR_MEMORY;
    st_status status = ST_OK;
    reader.csv = table->csv;
    if (table->csv == NULL)
        status = st_table_csv_read(path, table->place, arena, &reader.csv, errors);
    if (status == ST_OK) {
        status = ST_ERR_MEMORY;
        const st_csv *csv = reader.csv;
        const char *filter = table->filter;
        bool *list = st_arena_alloc(arena, csv->row_count, sizeof *list);
        if (list != NULL) {
            memset(list, 1, csv->row_count * sizeof *list);
            reader.kept = list;
            status = filter != NULL ? st_filter_rows(filter, csv, arena, list, errors) : ST_OK;
        }
    }
    return status == ST_OK ? split_table(&reader, sets, count) : status;
}
