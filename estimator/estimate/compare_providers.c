/* SPDX-License-Identifier: Apache-2.0 */
/* One job under several refinements; see compare_providers.h. */
#include "estimate/compare_providers.h"

#include "sheet/type_write.h"

#include <math.h>
#include <string.h>

/* ---- which rows ---- */

/* The first column that has run: all that have run have the same cells. */
static const st_estimate *first_of(const st_columns *columns)
{
    size_t first = 0;
    while (columns->faults[first] != NULL) {
        first++;
    }
    return &columns->estimates[first];
}

/* What comes first, and what hiding communication is about. */
static bool is_key(const char *name, size_t index)
{
    static const char *const names[] = {"time_exposed", "time_hidden", "time_price",
                                        "T_exposed",    "T_hidden",    "T_price"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return index == 0;
}

/* Sums of the same terms may differ in their last bits. */
static bool same(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

static bool is_row(const st_columns *columns, size_t index)
{
    const st_estimate *first = first_of(columns);
    const st_shown *shown = &first->shown[index];
    bool differs = columns->all || is_key(shown->name, index);
    for (size_t i = 1; i < columns->count; i++) {
        differs = differs || (columns->faults[i] == NULL &&
                              !same(shown->value, columns->estimates[i].shown[index].value));
    }
    for (size_t i = 0; i < index; i++) { /* a cell that two sections show */
        differs = differs && strcmp(first->shown[i].name, shown->name) != 0;
    }
    return differs && st_sheet_find_input(first->sheet, shown->name) == NULL;
}

/* The value over that of the first column, minus 1; NaN where a ratio says nothing. */
static double change_of(const st_columns *columns, size_t column, size_t index)
{
    if (columns->faults[0] != NULL || columns->faults[column] != NULL) {
        return (double)NAN;
    }
    const st_shown *from = &columns->estimates[0].shown[index];
    double value = columns->estimates[column].shown[index].value;
    if (from->type->kind != ST_TYPE_NUMBER || from->value == 0) {
        return (double)NAN;
    }
    return same(value, from->value) ? 0 : value / from->value - 1;
}

/* ---- text ---- */

/* "+2.90 %", "" in the first column and where a ratio says nothing. */
static const char *change_text(const st_columns *columns, size_t column, size_t index, char *text)
{
    double change = change_of(columns, column, index);
    st_unit percent = st_unit_one();
    if (!isfinite(change) || change == 0 ||
        st_unit_parse("%", 1, (st_place){0}, &percent, NULL) != ST_OK) {
        return "";
    }
    text[0] = change > 0 ? '+' : '-';
    (void)st_quantity_format(fabs(change), &percent, ST_STYLE_SCALED, text + 1,
                             ST_QUANTITY_TEXT - 1);
    return text;
}

/* Name, the first value, then a value and its change for each further column, the meaning. */
static void add_row(const st_columns *columns, size_t index, st_table *table)
{
    const st_shown *shown = &first_of(columns)->shown[index];
    const char *fields[ST_TABLE_COLUMNS] = {shown->name};
    char values[ST_COLUMNS_MAX][ST_QUANTITY_TEXT];
    char changes[ST_COLUMNS_MAX][ST_QUANTITY_TEXT];
    size_t count = 1;
    for (size_t i = 0; i < columns->count; i++) {
        fields[count++] =
            columns->faults[i] != NULL
                ? "failed"
                : st_type_format(shown->type, columns->estimates[i].shown[index].value,
                                 ST_STYLE_SCALED, values[i], ST_QUANTITY_TEXT);
        if (i > 0) {
            fields[count++] = change_text(columns, i, index, changes[i]);
        }
    }
    fields[count] = shown->doc;
    st_table_row(table, fields);
}

/* What plugins have a part in, column by column. */
static void write_refined(const st_columns *columns, const st_paint *paint, st_arena *arena,
                          st_buffer *buffer)
{
    static const st_table_column layout[] = {
        {.ink = ST_INK_NAME}, {0}, {.right = true}, {.right = true}, {.elastic = true}};
    static const char *const heading[] = {"refinement", "cell", "value", "formula", "by"};
    st_table *table = st_table_create(arena, layout, sizeof layout / sizeof layout[0]);
    size_t rows = 0;
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    st_table_row(table, heading);
    for (size_t i = 0; i < columns->count; i++) {
        const st_estimate *estimate = &columns->estimates[i];
        for (size_t k = 0; k < estimate->refined_count; k++, rows++) {
            const st_refined_cell *cell = &estimate->refined[k];
            char value[ST_QUANTITY_TEXT];
            char formula[ST_QUANTITY_TEXT] = "-";
            (void)st_type_format(cell->type, cell->value, ST_STYLE_SCALED, value, sizeof value);
            if (isfinite(cell->formula_value)) {
                (void)st_type_format(cell->type, cell->formula_value, ST_STYLE_SCALED, formula,
                                     sizeof formula);
            }
            const char *by = cell->refusal[0] == '\0'
                                 ? cell->providers
                                 : st_arena_printf(arena, "formula in place of %s: %s",
                                                   cell->providers, cell->refusal);
            const char *fields[] = {columns->names[i], cell->name, value, formula, by};
            st_table_row(table, fields);
        }
    }
    if (rows > 0) {
        st_buffer_text(buffer, "\nRefined by plugins\n");
        st_table_write(table, paint, 2, buffer);
    }
}

static void write_faults(const st_columns *columns, const st_paint *paint, st_arena *arena,
                         st_buffer *buffer)
{
    static const st_table_column layout[] = {{.ink = ST_INK_NAME}, {.elastic = true}};
    st_table *table = st_table_create(arena, layout, sizeof layout / sizeof layout[0]);
    size_t rows = 0;
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    for (size_t i = 0; i < columns->count; i++) {
        if (columns->faults[i] != NULL) {
            const char *fields[] = {columns->names[i], columns->faults[i]};
            st_table_row(table, fields);
            rows++;
        }
    }
    if (rows > 0) {
        st_buffer_text(buffer, "\nFailed\n");
        st_table_write(table, paint, 2, buffer);
    }
}

void st_columns_text(const st_columns *columns, const st_paint *paint, st_arena *arena,
                     st_buffer *buffer)
{
    st_table_column layout[ST_TABLE_COLUMNS] = {{.ink = ST_INK_NAME}};
    const char *heading[ST_TABLE_COLUMNS] = {""};
    const st_estimate *first = first_of(columns);
    size_t count = 1;
    for (size_t i = 0; i < columns->count; i++) {
        layout[count].right = true;
        heading[count++] = columns->names[i];
        if (i > 0) {
            layout[count].right = true;
            heading[count++] = "change";
        }
    }
    layout[count++] = (st_table_column){.ink = ST_INK_FAINT, .elastic = true};
    st_table *table = st_table_create(arena, layout, count);
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    st_buffer_printf(buffer, "%s by sheet %s\n\n", st_job_name(first->job),
                     st_sheet_name(first->sheet));
    st_table_row(table, heading);
    const char *section = "";
    for (size_t i = 0; i < first->shown_count; i++) {
        if (!is_row(columns, i)) {
            continue;
        }
        if (strcmp(section, first->shown[i].section) != 0) {
            section = first->shown[i].section;
            st_table_title(table, section);
        }
        add_row(columns, i, table);
    }
    st_table_write(table, paint, 2, buffer);
    write_refined(columns, paint, arena, buffer);
    write_faults(columns, paint, arena, buffer);
}

/* ---- for programs ---- */

void st_columns_csv(const st_columns *columns, st_buffer *buffer)
{
    const st_estimate *first = first_of(columns);
    st_buffer_text(buffer, "cell,unit");
    for (size_t i = 0; i < columns->count; i++) {
        st_buffer_text(buffer, ",");
        st_buffer_csv_field(buffer, columns->names[i]);
    }
    st_buffer_text(buffer, ",meaning\n");
    for (size_t k = 0; k < first->shown_count; k++) {
        const st_shown *shown = &first->shown[k];
        if (!is_row(columns, k)) {
            continue;
        }
        st_buffer_printf(buffer, "%s,", shown->name);
        st_buffer_csv_field(buffer, st_type_unit_text(shown->type));
        for (size_t i = 0; i < columns->count; i++) {
            char text[ST_QUANTITY_TEXT] = "";
            if (columns->faults[i] == NULL) {
                st_exact_text(shown->type, columns->estimates[i].shown[k].value, text, sizeof text);
            }
            st_buffer_text(buffer, ",");
            st_buffer_csv_field(buffer, text);
        }
        st_buffer_text(buffer, ",");
        st_buffer_csv_field(buffer, shown->doc);
        st_buffer_text(buffer, "\n");
    }
}

static void write_json_row(const st_columns *columns, size_t index, st_json *json)
{
    const st_shown *shown = &first_of(columns)->shown[index];
    st_json_open_line(json, NULL, '{');
    st_json_text(json, "name", shown->name);
    st_json_unit(json, "unit", shown->type);
    st_json_open_line(json, "values", '[');
    for (size_t i = 0; i < columns->count; i++) {
        if (columns->faults[i] != NULL) {
            st_json_number(json, NULL, (double)NAN);
        } else {
            st_json_value(json, NULL, shown->type, columns->estimates[i].shown[index].value);
        }
    }
    st_json_close(json, ']');
    st_json_open_line(json, "changes", '[');
    for (size_t i = 0; i < columns->count; i++) {
        st_json_number(json, NULL, change_of(columns, i, index));
    }
    st_json_close(json, ']');
    st_json_close(json, '}');
}

static void write_json_column(const st_columns *columns, size_t column, st_json *json)
{
    const st_estimate *estimate = &columns->estimates[column];
    st_json_open(json, NULL, '{');
    st_json_text(json, "refine", columns->names[column]);
    st_json_text_or_null(json, "fault", columns->faults[column]);
    st_json_open(json, "refined", '[');
    for (size_t i = 0; i < estimate->refined_count; i++) {
        const st_refined_cell *cell = &estimate->refined[i];
        st_json_open_line(json, NULL, '{');
        st_json_text(json, "name", cell->name);
        st_json_value(json, "value", cell->type, cell->value);
        st_json_value(json, "formula_value", cell->type, cell->formula_value);
        st_json_unit(json, "unit", cell->type);
        st_json_text(json, "provider", cell->providers);
        st_json_text_or_null(json, "refusal", cell->refusal);
        st_json_close(json, '}');
    }
    st_json_close(json, ']');
    st_json_close(json, '}');
}

void st_columns_json(const st_columns *columns, st_buffer *buffer)
{
    const st_estimate *first = first_of(columns);
    st_json json = {.buffer = buffer};
    st_json_open(&json, NULL, '{');
    st_json_count(&json, "schema_version", ST_SCHEMA_VERSION);
    st_json_text(&json, "job", st_job_name(first->job));
    st_json_text(&json, "sheet", st_sheet_name(first->sheet));
    st_json_open(&json, "columns", '[');
    for (size_t i = 0; i < columns->count; i++) {
        write_json_column(columns, i, &json);
    }
    st_json_close(&json, ']');
    st_json_open(&json, "rows", '[');
    for (size_t i = 0; i < first->shown_count; i++) {
        if (is_row(columns, i)) {
            write_json_row(columns, i, &json);
        }
    }
    st_json_close(&json, ']');
    st_json_close(&json, '}');
}
