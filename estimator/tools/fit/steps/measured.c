/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and jobs as measured rows; see measured.h. */
#include "fit/steps/measured.h"

#include "base/error_scope.h"

#include "fit/steps/row_checks.h"
#include "fit/steps/row_fields.h"
#include "fit/steps/row_words.h"
#include "fit/steps/filter.h"
#include "fit/steps/rows.h"
#include "fit/steps/table_csv.h"
#include "steptime/keys.h"
#include "steptime/tool/job_values.h"
#include "steptime/tool/input_files.h"
#include "fit/steps/base.h"
#include "steptime/tool/job_keys.h"
#include "steptime/tool/rank_groups.h"

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
        st_status source_status =
            st_table_source_load(paths, entries[i].name, arena, &list[i], errors);
        status = status == ST_OK ? source_status : status;
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
                   "no column with measurements" ST_EXPECTED
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

/* A row and the place of its errors. */
typedef struct faulty_row {
    st_row *row;
    st_arena *arena;
} faulty_row;

/* What is said of a cell that cannot be read warns, and is the reason why its row is left out. */
static bool as_reason(const void *context, st_errors *errors, st_error *error)
{
    const faulty_row *fault = context;
    if (error->severity != ST_SEVERITY_ERROR || error->status == ST_ERR_MEMORY)
        return true;
    if (fault->row->left_out == NULL)
        fault->row->left_out =
            st_arena_printf(fault->arena, "%s%s%s", error->message,
                            error->found != NULL ? ": found " : "", st_or_none(error->found));
    error->severity = ST_SEVERITY_WARNING;
    error->message =
        st_errors_text(errors, "row %s is left out: %s", fault->row->id, error->message);
    return true;
}

static st_status read_measured(const table_reader *reader, const measured_column *column,
                               st_measured *measured, size_t row)
{
    st_row *kept_row = &measured->rows[row];
    const char *ran_out = measured->source != NULL ? measured->source->ran_out : NULL;
    const char *text =
        st_csv_field(reader->csv, kept_row->line, st_csv_column(reader->csv, column->name));
    kept_row->measured = (double)NAN;
    if (text[0] == '\0') {
        kept_row->unmeasured = true;
        return ST_OK;
    }
    kept_row->ran_out = ran_out != NULL && strcmp(text, ran_out) == 0;
    if (kept_row->ran_out)
        return ST_OK;
    const faulty_row fault = {kept_row, reader->arena};
    st_error_scope scope = {.edit = as_reason, .context = &fault};
    st_errors_enter(reader->errors, &scope);
    st_status status =
        parse_measured(reader, column, measured->type, kept_row->line, &kept_row->measured);
    st_errors_leave(reader->errors, &scope);
    return status == ST_ERR_MEMORY ? status : ST_OK;
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
    return st_leave_out_repeated(measured, reader->arena, reader->errors);
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
                             "a formula reads '%s', which is not a column of %s" ST_HINT "%s",
                             column_name, reader->csv->file,
                             st_errors_nearest(reader->errors, column_name, reader->csv->columns,
                                               reader->csv->column_count));
        }
    }
    if (status == ST_OK && measured->source != NULL)
        status = run_formulas(reader, measured);
    if (status != ST_OK)
        return status;
    st_status row_status = ST_OK;
    for (size_t row = 0; row < measured->row_count; row++) {
        st_status source_status = read_measured(reader, &column, measured, row);
        row_status = row_status == ST_OK ? source_status : row_status;
    }
    (void)st_sheet_inputs(measured->sheet, &measured->input_count);
    size_t values = measured->input_count * measured->row_count;
    measured->inputs = st_arena_alloc(reader->arena, values + 1, sizeof *measured->inputs);
    if (measured->inputs == NULL)
        return ST_ERR_MEMORY;
    st_status filled =
        st_rows_fill(reader->request, measured, reader->use_extra, reader->arena, reader->errors);
    return row_status == ST_OK ? filled : row_status;
}

/* ---- the table ---- */

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
    if (status != ST_OK)
        return status;
    size_t sources = reader.request->source_count;
    bool *has_lines = st_arena_alloc(reader.arena, sources + 1, sizeof *has_lines);
    reader.owner = st_arena_alloc(reader.arena, reader.csv->row_count, sizeof *reader.owner);
    if (has_lines == NULL || reader.owner == NULL)
        return ST_ERR_MEMORY;
    /* Gives each line to the first source that it matches; returns how many have at least one. */
    const st_measured_request *table_request = reader.request;
    size_t used = 0;
    for (size_t line = 0; line < reader.csv->row_count; line++) {
        size_t owner = 0;
        while (owner < table_request->source_count &&
               !line_holds(reader.csv, NULL, &table_request->sources[owner].match, line))
            owner++;
        bool wanted = reader.kept[line] &&
                      !(table_request->known_only && owner == table_request->source_count);
        reader.owner[line] = wanted ? owner : SIZE_MAX;
        if (wanted && !has_lines[owner]) {
            has_lines[owner] = true;
            used++;
        }
    }
    st_measured *list = st_arena_alloc(reader.arena, used + 1, sizeof *list);
    if (list == NULL)
        return ST_ERR_MEMORY;
    *sets = list;
    *count = used;
    st_status table_status = ST_OK;
    for (size_t owner = 0; owner <= sources; owner++) {
        if (!has_lines[owner])
            continue;
        st_status source_status = read_source(&reader, owner, list++);
        table_status = table_status == ST_OK ? source_status : table_status;
    }
    return table_status;
}

/* ---- values of rows ---- */

/* The values of every row. */

enum { SECTIONS_BYTES = 4096 };

/* How the inputs of the sheet are found in the table. */
typedef struct input_plan {
    const st_sheet_input *input;
    const st_key *key; /* NULL: a constant */
    const st_standard_column *column;
    const st_words *words; /* that the table has for the key's values; NULL: the key's own */
    st_source_field field; /* of the column, or of one that is named like the key */
    const char *note;      /* about a blank field */
    size_t note_rows;
} input_plan;

/* An assumption's value for an input. */
typedef struct resolved {
    const st_assigned *from;
    size_t input; /* SIZE_MAX: the sheet has none that reads it */
    double number;
} resolved;

/* A key that the sheet does not read: its fields are checked, and where it is a text the job of a
 * row's files gets it. */
typedef struct unread_key {
    const st_key *key;
    const st_words *words;
    st_source_field field;
    const char *set; /* what assumptions say of a text, NULL: nothing */
    const char *fill;
} unread_key;

typedef struct row_reader {
    const st_measured_request *request;
    st_measured *measured;
    const st_table_source *source; /* NULL: none */
    const st_csv *csv;
    st_arena *arena;
    st_errors *errors;
    st_status status;
    st_bases bases;
    input_plan *plans;
    size_t plan_count;
    resolved *values; /* of all assumptions, in their order, `set` before `fill` */
    size_t value_count;
    const double **set; /* per input, of the row at hand; NULL: none */
    const double **fill;
    bool *listed; /* per input: a list of the row at hand has a word for it */
    unread_key *unread;
    size_t unread_count;
    char texts[SECTIONS_BYTES]; /* of the row at hand, and numbers that they must agree with */
    double *storage;            /* values of formulas, one per entry of `values` */
    const char *order_set;      /* what assumptions say of the order of ranks, NULL: nothing */
    const char *order_fill;
} row_reader;

static void note(row_reader *reader, st_status status)
{
    st_note(&reader->status, status);
}

/* Of a cell: its row is left out, and only that. */
static void note_cell(row_reader *reader, st_status status)
{
    if (status == ST_ERR_MEMORY)
        note(reader, status);
}

static const char *text_of(const row_reader *reader, st_source_field field, size_t row,
                           char *storage)
{
    return st_source_field_text(reader->csv, field, reader->measured->rows[row].line, storage);
}

/* The value of an input in a row. */
static double *value_at(const row_reader *reader, size_t input, size_t row)
{
    return &reader->measured->inputs[input * reader->measured->row_count + row];
}

/* ---- planning ---- */

static const st_words *words_of(const row_reader *reader, const char *path)
{
    const st_table_source *source = reader->source;
    return source != NULL ? st_words_of(source->words, source->word_count, path) : NULL;
}

/* Checks a literal against the key even where this sheet does not read it. */
static void resolve(row_reader *reader, const st_assigned *from)
{
    resolved *found = &reader->values[reader->value_count++];
    *found = (resolved){.from = from,
                        .input = st_sheet_reading_index(reader->measured->sheet, from->path)};
    if (from->section != NULL || from->formula != ST_NO_FORMULA)
        return;
    if (found->input != SIZE_MAX)
        note(reader, st_input_parse(reader->plans[found->input].input, &from->value, &found->number,
                                    reader->errors));
    else if (from->key != NULL)
        note(reader, st_value_parse(from->key, &from->value, &found->number, reader->errors));
}

static void resolve_assumptions(row_reader *reader)
{
    const st_table_source *source = reader->source;
    size_t count = 0;
    for (size_t i = 0; source != NULL && i < source->assumption_count; i++)
        count += source->assumptions[i].set_count + source->assumptions[i].fill_count;
    reader->values = st_arena_alloc(reader->arena, count + 1, sizeof *reader->values);
    reader->storage = st_arena_alloc(reader->arena, count + 1, sizeof *reader->storage);
    if (reader->values == NULL || reader->storage == NULL) {
        note(reader, ST_ERR_MEMORY);
        return;
    }
    for (size_t i = 0; source != NULL && i < source->assumption_count; i++) {
        const st_assumption *assumption = &source->assumptions[i];
        for (size_t k = 0; k < assumption->set_count; k++)
            resolve(reader, &assumption->set[k]);
        for (size_t k = 0; k < assumption->fill_count; k++)
            resolve(reader, &assumption->fill[k]);
    }
}

static unread_key *unread_of(row_reader *reader, const char *path)
{
    for (size_t i = 0; i < reader->unread_count; i++)
        if (strcmp(reader->unread[i].key->path, path) == 0)
            return &reader->unread[i];
    return NULL;
}

/* Takes up a key that no input of the sheet reads. */
static void add_unread(row_reader *reader, const char *path)
{
    const st_key *key = st_key_find(path);
    if (key == NULL || strcmp(path, ST_KEY_PARALLEL_ORDER) == 0 ||
        unread_of(reader, path) != NULL ||
        st_sheet_reading_index(reader->measured->sheet, path) != SIZE_MAX)
        return;
    reader->unread[reader->unread_count++] =
        (unread_key){.key = key,
                     .words = words_of(reader, path),
                     .field = st_source_field_find(reader->csv, reader->source, path)};
}

/* A text that says more of a row than a name. */
static bool is_row_text(const st_key *key)
{
    const char *dot = key != NULL && key->kind == ST_KEY_TEXT ? strrchr(key->path, '.') : NULL;
    return dot != NULL && strcmp(dot, ".name") != 0;
}

static bool prepare(row_reader *reader)
{
    const st_sheet_input *inputs = st_sheet_inputs(reader->measured->sheet, &reader->plan_count);
    reader->plans = st_arena_alloc(reader->arena, reader->plan_count + 1, sizeof *reader->plans);
    reader->set = st_arena_alloc(reader->arena, reader->plan_count + 1, sizeof *reader->set);
    reader->fill = st_arena_alloc(reader->arena, reader->plan_count + 1, sizeof *reader->fill);
    reader->listed = st_arena_alloc(reader->arena, reader->plan_count + 1, sizeof(bool));
    if (st_arena_failed(reader->arena)) {
        note(reader, ST_ERR_MEMORY);
        return false;
    }
    for (size_t i = 0; i < reader->plan_count; i++) {
        const st_sheet_input *input = &inputs[i];
        input_plan *plan = &reader->plans[i];
        *plan = (input_plan){.input = input,
                             .key = st_key_find(input->from),
                             .column = st_standard_column_of(input->from)};
        plan->words = words_of(reader, input->from);
        plan->field = st_source_field_find(reader->csv, reader->source, input->from);
        if (plan->field.column == SIZE_MAX && plan->column != NULL)
            plan->field = st_source_field_find(reader->csv, reader->source, plan->column->name);
    }
    resolve_assumptions(reader);
    if (reader->status == ST_OK) {
        /* Keys that columns are named by, or assumptions name, and the sheet does not read. */
        const st_table_source *source = reader->source;
        size_t most = reader->value_count + reader->csv->column_count +
                      (source != NULL ? source->column_count : 0);
        reader->unread = st_arena_alloc(reader->arena, most + 1, sizeof *reader->unread);
        if (reader->unread == NULL) {
            note(reader, ST_ERR_MEMORY);
        } else {
            for (size_t i = 0; source != NULL && i < source->column_count; i++)
                add_unread(reader, source->columns[i].name);
            for (size_t i = 0; i < reader->csv->column_count; i++)
                if (is_row_text(st_key_find(reader->csv->columns[i])))
                    add_unread(reader, reader->csv->columns[i]);
            for (size_t i = 0; i < reader->value_count; i++)
                if (reader->values[i].from->key != NULL &&
                    reader->values[i].from->key->kind == ST_KEY_TEXT)
                    add_unread(reader, reader->values[i].from->path);
        }
    }
    return reader->status == ST_OK;
}

/* ---- fields ---- */

static void leave_out(row_reader *reader, size_t row, const char *why)
{
    if (why == NULL)
        note(reader, ST_ERR_MEMORY);
    else if (reader->measured->rows[row].left_out == NULL)
        reader->measured->rows[row].left_out = why;
}

/* Truth as tables write it. */
static bool is_bit(const char *text)
{
    return (text[0] == '0' || text[0] == '1') && text[1] == '\0';
}

static bool number_of(const row_reader *reader, size_t row, const char *name, double *number)
{
    char storage[ST_SOURCE_FIELD_BYTES];
    st_source_field field = st_source_field_find(reader->csv, reader->source, name);
    const char *text = text_of(reader, field, row, storage);
    return st_number_parse(text, strlen(text), (st_place){0}, number, NULL) == ST_OK;
}

/* Nodes that so many GPUs fill; false if the row lacks one of the numbers. */
static bool take_nodes(const row_reader *reader, size_t row, double *value)
{
    double gpus = 0;
    double per_node = 0;
    bool known = number_of(reader, row, "gpus", &gpus) && gpus >= 1 &&
                 number_of(reader, row, "gpus_per_node", &per_node) && per_node >= 1;
    if (known)
        *value = ceil(gpus / per_node);
    return known;
}

/* The value that the table's own column gives. */
static void take_field(row_reader *reader, const input_plan *plan, size_t row, const char *text,
                       double *value)
{
    const char *path = plan->input->from;
    bool own_name =
        plan->column == NULL || plan->words != NULL || st_csv_column(reader->csv, path) != SIZE_MAX;
    text = st_words_meaning(plan->words, text);
    if (!own_name && strcmp(path, ST_KEY_PRECISION_WEIGHTS) == 0) {
        /* Types of weights; "fp8" is a type of GEMMs, whose weights are bf16. */
        const st_value_text given = {.text = text, .length = strlen(text)};
        const st_value_text bf16 = {.text = "bf16", .length = 4};
        bool fp8 = strcmp(text, "fp8") == 0;
        if (st_input_parse(plan->input, fp8 ? &bf16 : &given, value, NULL) != ST_OK)
            leave_out(reader, row,
                      st_arena_printf(reader->arena, "type '%s' is not modelled", text));
    } else {
        /* A text of the table as the value of an input. A wrong one is looked at again for its
         * place, which would take too long for every field. */
        const st_source_field field = plan->field;
        st_value_text given = {.text = text, .length = strlen(text)};
        if (plan->input->type.kind == ST_TYPE_BOOL && is_bit(text)) {
            *value = text[0] - '0';
        } else if (st_input_parse(plan->input, &given, value, NULL) != ST_OK) {
            given.place = st_csv_place(reader->csv, reader->measured->rows[row].line, field.column);
            if (plan->words != NULL)
                note_cell(reader,
                          st_words_refuse(plan->words, text, reader->csv->columns[field.column],
                                          given.place, reader->errors));
            else
                note_cell(reader, st_input_parse(plan->input, &given, value, reader->errors));
        }
    }
    if (!own_name && strcmp(path, ST_KEY_PARALLEL_ZERO) == 0) {
        /* A distributed optimizer is what ZeRO calls stage 1. */
        double distributed = 0;
        if (number_of(reader, row, "dist_opt", &distributed) && distributed == 1 && *value < 1)
            *value = 1;
    }
}

/* ---- assumptions ---- */

/* The value of an assumption for a row; NaN where its formula has none that the key can take. */
static const double *assumed_value(row_reader *reader, size_t index, size_t row)
{
    const resolved *found = &reader->values[index];
    if (found->from->formula == ST_NO_FORMULA)
        return &found->number;
    double value = reader->measured->formulas[found->from->formula][row];
    const st_key *key = found->from->key;
    bool whole = key->kind != ST_KEY_COUNT || value == floor(value);
    bool in_range = key->kind == ST_KEY_BOOL || (value >= key->minimum && value <= key->maximum);
    reader->storage[index] = whole && in_range ? value : (double)NAN;
    return &reader->storage[index];
}

static void add_section(row_reader *reader, const char *path, const char *text, char *sections)
{
    size_t used = strlen(sections);
    int length = snprintf(sections + used, SECTIONS_BYTES - used, "%s=%s\n", path, text);
    if (length < 0 || (size_t)length >= SECTIONS_BYTES - used)
        note(reader, st_fail(reader->errors, ST_ERR_LIMIT, (st_place){reader->csv->file, 0, 0},
                             "too many files and texts for one row"));
}

/* A number in the unit of its key, or 0 or 1 for no or yes, as tables write them. */
static bool is_bare(const st_key *key, const char *text)
{
    double number = 0;
    return (key->kind == ST_KEY_BOOL && is_bit(text)) ||
           (key->kind == ST_KEY_QUANTITY &&
            st_number_parse(text, strlen(text), (st_place){0}, &number, NULL) == ST_OK);
}

/* Texts of a row, which its job has in addition to the files. */
static void add_texts(row_reader *reader, size_t row, char *sections)
{
    char storage[ST_SOURCE_FIELD_BYTES];
    for (size_t i = 0; i < reader->unread_count; i++) {
        const unread_key *unread = &reader->unread[i];
        const char *field = text_of(reader, unread->field, row, storage);
        const char *text = st_words_meaning(unread->words, field);
        if (field[0] != '\0') {
            const char *meaning = st_words_meaning(unread->words, field);
            st_value_text unread_text = {.text = meaning, .length = strlen(meaning)};
            if (unread->key->kind != ST_KEY_TEXT && !is_bare(unread->key, meaning) &&
                st_value_parse(unread->key, &unread_text, &(double){0}, NULL) != ST_OK) {
                unread_text.place = st_csv_place(reader->csv, reader->measured->rows[row].line,
                                                 unread->field.column);
                if (unread->words != NULL)
                    note_cell(reader, st_words_refuse(unread->words, field,
                                                      reader->csv->columns[unread->field.column],
                                                      unread_text.place, reader->errors));
                else
                    note_cell(reader, st_value_parse(unread->key, &unread_text, &(double){0},
                                                     reader->errors));
            }
        }
        if (!is_row_text(unread->key))
            continue;
        text = unread->set != NULL ? unread->set : text;
        text = strcmp(text, ST_NO_WORD) == 0 ? "" : text;
        text = text[0] == '\0' ? st_or_none(unread->fill) : text;
        if (text[0] != '\0')
            add_section(
                reader, unread->key->path, text,
                strstr(ST_KEY_STACK_RELEASE " " ST_KEY_MODEL_LAYER_LIST, unread->key->path) != NULL
                    ? sections
                    : reader->texts);
    }
}

/* What assumptions say of a row: values into set and fill, files into `sections`. */
static void apply_assumptions(row_reader *reader, size_t row, char *sections)
{
    const st_table_source *source = reader->source;
    size_t index = 0;
    memset(reader->set, 0, reader->plan_count * sizeof(double *));
    memset(reader->fill, 0, reader->plan_count * sizeof(double *));
    reader->order_set = NULL;
    reader->order_fill = NULL;
    for (size_t i = 0; i < reader->unread_count; i++)
        reader->unread[i].set = reader->unread[i].fill = NULL;
    for (size_t i = 0; source != NULL && i < source->assumption_count; i++) {
        const st_assumption *assumption = &source->assumptions[i];
        size_t all = assumption->set_count + assumption->fill_count;
        bool holds = st_measured_holds(reader->measured, &assumption->when, row);
        for (size_t k = 0; k < all; k++, index++) {
            const resolved *value = &reader->values[index];
            if (!holds)
                continue;
            if (value->input == SIZE_MAX) {
                /* What an assumption says of a text or a file. */
                const st_assigned *from = value->from;
                const bool set = k < assumption->set_count;
                unread_key *unread = from->section == NULL ? unread_of(reader, from->path) : NULL;
                if (from->section != NULL)
                    add_section(reader, from->path, from->value.text, sections);
                else if (strcmp(from->path, ST_KEY_PARALLEL_ORDER) == 0)
                    *(set ? &reader->order_set : &reader->order_fill) = from->value.text;
                else if (unread != NULL)
                    *(set ? &unread->set : &unread->fill) = from->value.text;
            } else {
                (k < assumption->set_count ? reader->set : reader->fill)[value->input] =
                    assumed_value(reader, index, row);
            }
        }
    }
}

/* ---- rows ---- */

/* A blank field of a plan: the key's default where that is what a blank means, else nothing. */
static void take_default(row_reader *reader, input_plan *plan, size_t row, const st_base *base,
                         size_t index, double *value)
{
    bool from_file =
        base->origins[index] == ST_ORIGIN_FILE || base->origins[index] == ST_ORIGIN_STACK;
    bool is_default = !from_file && isfinite(base->values[index]);
    const st_standard_column *column = plan->column;
    *value = base->values[index];
    if (isfinite(*value) && (from_file || column == NULL))
        return;
    if (is_default && column != NULL && column->may_be_blank)
        plan->note_rows++;
    else if (column != NULL)
        leave_out(reader, row,
                  st_arena_printf(reader->arena, "no value for %s (column %s)", plan->input->from,
                                  column->name));
    else
        leave_out(reader, row,
                  st_arena_printf(reader->arena, "no value for %s", plan->input->from));
}

static void take_assumed(row_reader *reader, const input_plan *plan, size_t row, double assumed,
                         double *value)
{
    *value = assumed;
    if (!isfinite(assumed))
        leave_out(reader, row,
                  st_arena_printf(reader->arena, "the formula for %s gives an invalid value",
                                  plan->input->from));
}

static void fill_input(row_reader *reader, size_t index, size_t row, const st_base *base)
{
    char storage[ST_SOURCE_FIELD_BYTES];
    input_plan *plan = &reader->plans[index];
    double *value = value_at(reader, index, row);
    const char *text = text_of(reader, plan->field, row, storage);
    *value = base->values[index];
    if (base->origins[index] == ST_ORIGIN_SET)
        return;
    bool is_nodes = strcmp(plan->input->from, ST_KEY_CLUSTER_NODES) == 0 && plan->column != NULL &&
                    st_csv_column(reader->csv, ST_KEY_CLUSTER_NODES) == SIZE_MAX;
    if (reader->set[index] != NULL)
        take_assumed(reader, plan, row, *reader->set[index], value);
    else if (is_nodes && take_nodes(reader, row, value))
        return;
    else if (text[0] != '\0' && !is_nodes)
        take_field(reader, plan, row, text, value);
    else if (reader->listed[index])
        *value = 1;
    else if (reader->fill[index] != NULL)
        take_assumed(reader, plan, row, *reader->fill[index], value);
    else
        take_default(reader, plan, row, base, index, value);
}

/*
 * The base of a row whose stack has recipes: they go by values that the row has, such as the
 * precision, which the base's job then has, too.
 */
static const st_base *base_with_recipes(row_reader *reader, size_t row, const st_base *base,
                                        char *sections, st_error_scope *cells)
{
    char number[ST_QUANTITY_TEXT];
    size_t count = 0;
    const st_key *keys = st_job_recipe_keys(base->job, &count);
    for (size_t i = 0; i < count; i++) {
        size_t index = st_sheet_reading_index(reader->measured->sheet, keys[i].path);
        if (index == SIZE_MAX)
            continue;
        st_errors_enter(reader->errors, cells);
        fill_input(reader, index, row, base);
        st_errors_leave(reader->errors, cells);
        double value = *value_at(reader, index, row);
        const st_type *type = &reader->plans[index].input->type;
        if (base->origins[index] == ST_ORIGIN_SET || !isfinite(value))
            continue;
        if (type->kind == ST_TYPE_ENUM)
            add_section(reader, keys[i].path, type->enumeration->values[(size_t)value], sections);
        else if (type->kind == ST_TYPE_BOOL)
            add_section(reader, keys[i].path, value != 0 ? "true" : "false", sections);
        else
            add_section(reader, keys[i].path, st_number_format(value, number, sizeof number),
                        sections);
    }
    if (count == 0 || reader->measured->rows[row].left_out != NULL)
        return base;
    return st_base_of(
        &reader->bases,
        &(st_base_name){.gpu = base->name.gpu, .sections = sections, .texts = "", .order = ""});
}

/* Columns that contradict each other leave out their row. */
static void check_columns(row_reader *reader, size_t row)
{
    static const char *const sizes[] = {ST_KEY_PARALLEL_TP, ST_KEY_PARALLEL_PP, ST_KEY_PARALLEL_DP,
                                        ST_KEY_PARALLEL_CP};
    st_row_check check = {.csv = reader->csv,
                          .source = reader->source,
                          .row = &reader->measured->rows[row],
                          .is_step = st_measured_is_step(reader->measured),
                          .plan_gpus = 1,
                          .errors = reader->errors};
    for (size_t i = 0; i < ST_COUNT(sizes); i++) {
        size_t index = st_sheet_reading_index(reader->measured->sheet, sizes[i]);
        check.plan_gpus *= index != SIZE_MAX ? *value_at(reader, index, row) : (double)NAN;
    }
    const char *why = st_row_contradiction(&check);
    if (why != NULL)
        leave_out(reader, row, why);
}

/* ---- the order of ranks ---- */

/* What a row says of its order, "" nothing. */
static const char *asked_order(const row_reader *reader, size_t row)
{
    char storage[ST_SOURCE_FIELD_BYTES];
    const char *const names[] = {ST_KEY_PARALLEL_ORDER, "order"};
    if (reader->order_set != NULL)
        return reader->order_set;
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        st_source_field field = st_source_field_find(reader->csv, reader->source, names[i]);
        const char *text = text_of(reader, field, row, storage);
        if (text != storage && text[0] != '\0')
            return text;
    }
    return reader->order_fill != NULL ? reader->order_fill : "";
}

/* Finds the providers of a row whose inputs are there. */
static void place_row(row_reader *reader, size_t row, const st_base *base)
{
    st_row *kept_row = &reader->measured->rows[row];
    const char *asked = asked_order(reader, row);
    bool is_other = asked[0] != '\0' && strcmp(asked, base->order) != 0;
    const char *order = is_other && !base->order_is_set ? asked : base->order;
    if (kept_row->left_out == NULL && order[0] != '\0') {
        /* An order that does not suit the row's plan leaves the row out. */
        static const struct {
            const char *key;
            st_group group;
        } axes[] = {{ST_KEY_PARALLEL_TP, ST_GROUP_TP},
                    {ST_KEY_PARALLEL_CP, ST_GROUP_CP},
                    {ST_KEY_PARALLEL_DP, ST_GROUP_DP},
                    {ST_KEY_PARALLEL_PP, ST_GROUP_PP}};
        st_placement placement;
        st_placement_plan plan = {.gpus_per_node = 1, .order = order};
        st_errors *errors = st_errors_create();
        for (size_t i = 0; i < ST_GROUPS; i++)
            plan.size[i] = 1;
        for (size_t i = 0; i < ST_COUNT(axes); i++) {
            size_t index = st_sheet_reading_index(reader->measured->sheet, axes[i].key);
            if (index != SIZE_MAX)
                plan.size[axes[i].group] = (size_t)*value_at(reader, index, row);
        }
        if (errors == NULL)
            note(reader, ST_ERR_MEMORY);
        else if (st_placement_create(&plan, &placement, errors) != ST_OK)
            leave_out(reader, row,
                      st_arena_printf(reader->arena, "%s", st_errors_at(errors, 0)->message));
        st_errors_destroy(errors);
    }
    if (kept_row->left_out != NULL)
        return;
    if (reader->texts[0] != '\0') {
        /* Numbers with which the texts of a row must agree, which its job gets as well. */
        static const char *const keys[] = {
            ST_KEY_MODEL_LAYERS,           ST_KEY_MODEL_DENSE_LAYERS, ST_KEY_MODEL_MOE_EVERY,
            ST_KEY_MODEL_EXPERTS,          ST_KEY_MODEL_MTP,          ST_KEY_PARALLEL_PP,
            ST_KEY_PARALLEL_VIRTUAL_STAGES};
        char number[ST_QUANTITY_TEXT];
        for (size_t i = 0; i < ST_COUNT(keys); i++) {
            size_t index = st_sheet_reading_index(reader->measured->sheet, keys[i]);
            if (index != SIZE_MAX)
                add_section(reader, keys[i],
                            st_number_format(*value_at(reader, index, row), number, sizeof number),
                            reader->texts);
        }
    }
    if (order != base->order || reader->texts[0] != '\0')
        base =
            st_base_of(&reader->bases, &(st_base_name){.gpu = base->name.gpu,
                                                       .sections = base->name.sections,
                                                       .texts = reader->texts,
                                                       .order = order != base->order ? order : ""});
    if (base == NULL) {
        note(reader, ST_ERR_VALUE);
    } else if (base->fault != NULL) {
        leave_out(reader, row, base->fault);
    } else {
        kept_row->variant = base->variant;
        kept_row->job = base->job;
    }
}

static bool is_omitted(row_reader *reader, size_t row, bool use_extra)
{
    char storage[ST_SOURCE_FIELD_BYTES];
    const st_table_source *source = reader->source;
    for (size_t i = 0; source != NULL && i < source->omission_count; i++) {
        if (!st_measured_holds(reader->measured, &source->omissions[i].when, row))
            continue;
        leave_out(reader, row, source->omissions[i].why);
        return true;
    }
    st_source_field split = st_source_field_find(reader->csv, source, "split");
    if (use_extra || strcmp(text_of(reader, split, row, storage), "extra") != 0)
        return false;
    leave_out(reader, row, "the table's own 'split' is extra: only for ratios");
    return true;
}

static void fill_row(row_reader *reader, size_t row, bool use_extra)
{
    char sections[SECTIONS_BYTES] = "";
    char storage[ST_SOURCE_FIELD_BYTES];
    reader->texts[0] = '\0';
    if (reader->measured->rows[row].left_out != NULL || is_omitted(reader, row, use_extra))
        return;
    apply_assumptions(reader, row, sections);
    const faulty_row fault = {&reader->measured->rows[row], reader->arena};
    st_error_scope cells = {.edit = as_reason, .context = &fault};
    st_errors_enter(reader->errors, &cells);
    add_texts(reader, row, sections);
    /* What lists of words say of a row. */
    char word[ST_WORD_BYTES];
    const st_table_source *source = reader->source;
    memset(reader->listed, 0, reader->plan_count * sizeof(bool));
    for (size_t i = 0; source != NULL && i < source->list_count; i++) {
        const st_words *words = &source->lists[i];
        size_t line = reader->measured->rows[row].line;
        size_t column = st_csv_column(reader->csv, words->path);
        const char *field = column != SIZE_MAX ? st_csv_field(reader->csv, line, column) : "";
        while (st_next_word(&field, word)) {
            const char *path = st_words_meaning(words, word);
            size_t input = st_sheet_reading_index(reader->measured->sheet, path);
            if (path == word)
                note_cell(reader,
                          st_words_refuse(words, word, words->path,
                                          st_csv_place(reader->csv, line, column), reader->errors));
            else if (input != SIZE_MAX)
                reader->listed[input] = true;
        }
    }
    st_errors_leave(reader->errors, &cells);
    if (reader->measured->rows[row].left_out != NULL)
        return;
    st_source_field gpu = st_source_field_find(reader->csv, reader->source, "gpu");
    const st_base *base =
        st_base_of(&reader->bases, &(st_base_name){.gpu = text_of(reader, gpu, row, storage),
                                                   .sections = sections,
                                                   .texts = "",
                                                   .order = ""});
    if (base == NULL) {
        st_status first = st_errors_status(reader->errors);
        note(reader, first != ST_OK ? first : ST_ERR_MEMORY);
        return;
    }
    if (base->fault != NULL) {
        leave_out(reader, row, base->fault);
        return;
    }
    base = base_with_recipes(reader, row, base, sections, &cells);
    if (base == NULL) {
        note(reader, st_errors_status(reader->errors));
        return;
    }
    reader->measured->rows[row].job = base->job;
    st_errors_enter(reader->errors, &cells);
    for (size_t i = 0; i < reader->plan_count; i++)
        fill_input(reader, i, row, base);
    st_errors_leave(reader->errors, &cells);
    /* "fp8" turns on the FP8 products, unless something else says it. */
    char fp8_storage[ST_SOURCE_FIELD_BYTES];
    size_t index = st_sheet_reading_index(reader->measured->sheet, ST_KEY_PRECISION_FP8);
    st_source_field field = st_source_field_find(reader->csv, reader->source, "dtype");
    if (index != SIZE_MAX && base->origins[index] != ST_ORIGIN_SET && reader->set[index] == NULL)
        if (strcmp(text_of(reader, field, row, fp8_storage), "fp8") == 0)
            *value_at(reader, index, row) = 1;
    check_columns(reader, row);
    place_row(reader, row, base);
}

st_status st_rows_fill(const st_measured_request *request, st_measured *measured, bool use_extra,
                       st_arena *arena, st_errors *errors)
{
    row_reader reader = {.request = request,
                         .measured = measured,
                         .source = measured->source,
                         .csv = measured->csv,
                         .arena = arena,
                         .errors = errors,
                         .bases = {.paths = request->paths,
                                   .sheet = measured->sheet,
                                   .source = measured->source,
                                   .constants = request->constants,
                                   .sets = request->sets,
                                   .set_count = request->set_count,
                                   .refine = request->refine,
                                   .refine_count = request->refine_count,
                                   .arena = arena,
                                   .errors = errors}};
    if (!prepare(&reader))
        return reader.status;
    for (size_t row = 0; row < measured->row_count && reader.status != ST_ERR_MEMORY; row++)
        fill_row(&reader, row, use_extra);
    if (reader.status == ST_OK) {
        /* Which defaults replaced blank fields, and in how many rows. */
        st_measured *note_measured = reader.measured;
        note_measured->notes =
            st_arena_alloc(reader.arena, reader.plan_count + 1, sizeof *note_measured->notes);
        note_measured->note_rows =
            st_arena_alloc(reader.arena, reader.plan_count + 1, sizeof *note_measured->note_rows);
        for (size_t i = 0; note_measured->notes != NULL && note_measured->note_rows != NULL &&
                           i < reader.plan_count;
             i++) {
            const input_plan *plan = &reader.plans[i];
            if (plan->note_rows == 0)
                continue;
            const char *text = plan->key != NULL ? plan->key->default_text : NULL;
            const char *own = st_arena_printf(
                reader.arena, "%s is %s where column %s is blank", plan->input->from,
                text != NULL ? text : "the sheet's default", plan->column->name);
            note_measured->notes[note_measured->note_count] = own != NULL ? own : plan->input->from;
            note_measured->note_rows[note_measured->note_count++] = plan->note_rows;
        }
    }
    measured->variants = reader.bases.variants;
    measured->variant_count = reader.bases.variant_count;
    return reader.status;
}
