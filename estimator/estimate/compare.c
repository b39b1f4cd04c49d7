/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs, then cells: those of the first estimate, then what only the second has. */
#include "estimate/compare.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

/* --- rows ------------------------------------------------------------------------------------ */

static bool same_type(const st_type *a, const st_type *b)
{
    return a->kind == b->kind &&
           (a->kind != ST_TYPE_NUMBER || st_dimension_equal(a->unit.dimension, b->unit.dimension));
}

/* What a value stands for: an enumeration's numbers mean nothing across two sheets. */
static bool same_value(const st_compared *row, const st_type *type_b)
{
    char texts[2][ST_QUANTITY_TEXT];
    if (row->type->kind != ST_TYPE_ENUM) {
        /* Sums of the same terms may differ in their last bits. */
        return fabs(row->a - row->b) <= 1e-12 * fmax(fabs(row->a), fabs(row->b));
    }
    return strcmp(st_type_format(row->type, row->a, ST_STYLE_EXACT, texts[0], ST_QUANTITY_TEXT),
                  st_type_format(type_b, row->b, ST_STYLE_EXACT, texts[1], ST_QUANTITY_TEXT)) == 0;
}

static void add_row(st_comparison *comparison, const st_compared *row)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const st_compared *other = &comparison->rows[i];
        if (other->is_input == row->is_input && strcmp(other->name, row->name) == 0 &&
            other->in_a == row->in_a && other->in_b == row->in_b) {
            return; /* a cell that two sections show */
        }
    }
    comparison->rows[comparison->count++] = *row;
}

static const st_bound_input *find_input(const st_estimate *estimate, const char *name)
{
    for (size_t i = 0; i < estimate->input_count; i++) {
        if (strcmp(estimate->inputs[i].input->name, name) == 0) {
            return &estimate->inputs[i];
        }
    }
    return NULL;
}

static const st_shown *find_shown(const st_estimate *estimate, const char *name)
{
    for (size_t i = 0; i < estimate->shown_count; i++) {
        if (strcmp(estimate->shown[i].name, name) == 0) {
            return &estimate->shown[i];
        }
    }
    return NULL;
}

static void compare_inputs(st_comparison *comparison, const st_estimate *from,
                           const st_estimate *to, bool all)
{
    bool from_a = from == comparison->a;
    for (size_t i = 0; i < from->input_count; i++) {
        const st_sheet_input *input = from->inputs[i].input;
        const st_bound_input *other = find_input(to, input->name);
        bool both = other != NULL && same_type(&input->type, &other->input->type);
        st_compared row = {.name = input->name,
                           .doc = input->doc,
                           .type = &input->type,
                           .is_input = true,
                           .in_a = from_a || both,
                           .in_b = !from_a || both};
        row.a = from_a ? from->inputs[i].value : both ? other->value : 0;
        row.b = from_a ? (both ? other->value : 0) : from->inputs[i].value;
        if ((both && !from_a) || (both && !all && same_value(&row, &other->input->type))) {
            continue; /* told from A's side, or nothing to tell */
        }
        add_row(comparison, &row);
    }
}

static void compare_cells(st_comparison *comparison, const st_estimate *from, const st_estimate *to,
                          bool all)
{
    bool from_a = from == comparison->a;
    for (size_t i = 0; i < from->shown_count; i++) {
        const st_shown *shown = &from->shown[i];
        const st_shown *other = find_shown(to, shown->name);
        bool both = other != NULL && same_type(shown->type, other->type);
        st_compared row = {.name = shown->name,
                           .doc = shown->doc,
                           .type = shown->type,
                           .in_a = from_a || both,
                           .in_b = !from_a || both};
        row.a = from_a ? shown->value : both ? other->value : 0;
        row.b = from_a ? (both ? other->value : 0) : shown->value;
        if ((both && !from_a) || (both && !all && same_value(&row, other->type)) ||
            st_sheet_find_input(from->sheet, shown->name) != NULL) {
            continue;
        }
        add_row(comparison, &row);
    }
}

st_status st_comparison_make(const st_estimate *a, const st_estimate *b, bool all, st_arena *arena,
                             st_comparison *comparison, st_errors *errors)
{
    size_t most = a->input_count + b->input_count + a->shown_count + b->shown_count;
    *comparison = (st_comparison){.a = a, .b = b};
    comparison->rows = st_arena_alloc(arena, most + 1, sizeof(*comparison->rows));
    if (comparison->rows == NULL) {
        return st_out_of_memory(errors);
    }
    compare_inputs(comparison, a, b, all);
    compare_inputs(comparison, b, a, all);
    compare_cells(comparison, a, b, all);
    compare_cells(comparison, b, a, all);
    return ST_OK;
}

/* --- tables ---------------------------------------------------------------------------------- */

static const char *value_text(const st_compared *row, bool there, double value, char *text)
{
    return there ? st_type_format(row->type, value, ST_STYLE_SCALED, text, ST_QUANTITY_TEXT) : "-";
}

/* B over A as a change in percent; "" where a ratio says nothing. */
static const char *change_text(const st_compared *row, char *text)
{
    st_unit percent = st_unit_one();
    bool ratio = row->in_a && row->in_b && row->type->kind == ST_TYPE_NUMBER && row->a != 0 &&
                 row->a != row->b;
    if (!ratio || st_unit_parse("%", 1, (st_place){0}, &percent, NULL) != ST_OK) {
        return "";
    }
    double change = row->b / row->a - 1;
    text[0] = change > 0 ? '+' : '-';
    (void)st_quantity_format(fabs(change), &percent, ST_STYLE_SCALED, text + 1,
                             ST_QUANTITY_TEXT - 1);
    return text;
}

static void write_rows(const st_comparison *comparison, st_table *table, bool inputs)
{
    char texts[3][ST_QUANTITY_TEXT];
    for (size_t i = 0; i < comparison->count; i++) {
        const st_compared *row = &comparison->rows[i];
        if (row->is_input == inputs) {
            const char *fields[] = {row->name, value_text(row, row->in_a, row->a, texts[0]),
                                    value_text(row, row->in_b, row->b, texts[1]),
                                    change_text(row, texts[2]), row->doc};
            st_table_row(table, fields);
        }
    }
}

static void write_side(const char *letter, const st_estimate *estimate, st_buffer *buffer)
{
    st_buffer_printf(buffer, "%s  %s by sheet %s\n", letter, st_job_name(estimate->job),
                     st_sheet_name(estimate->sheet));
}

void st_comparison_text(const st_comparison *comparison, const st_paint *paint, st_arena *arena,
                        st_buffer *buffer)
{
    static const st_table_column columns[] = {{.ink = ST_INK_NAME},
                                              {.right = true},
                                              {.right = true},
                                              {.right = true},
                                              {.ink = ST_INK_FAINT, .elastic = true}};
    static const char *const heading[] = {"", "A", "B", "change", ""};
    st_table *table = st_table_create(arena, columns, sizeof(columns) / sizeof(columns[0]));
    if (table == NULL) {
        buffer->failed = true;
        return;
    }
    write_side("A", comparison->a, buffer);
    write_side("B", comparison->b, buffer);
    st_buffer_text(buffer, "\n");
    if (comparison->count == 0) {
        st_buffer_text(buffer, "no input and no cell of the report differs\n");
        return;
    }
    st_table_row(table, heading);
    st_table_title(table, "Inputs");
    write_rows(comparison, table, true);
    st_table_title(table, "");
    st_table_title(table, "Cells");
    write_rows(comparison, table, false);
    st_table_write(table, paint, 2, buffer);
}

/* --- for programs ---------------------------------------------------------------------------- */

/* A value in its unit, exactly; numbers bare, everything else quoted where `quote`. */
static void write_exact(const st_compared *row, bool there, double value, bool quote,
                        st_buffer *buffer)
{
    char text[ST_QUANTITY_TEXT];
    if (!there) {
        st_buffer_text(buffer, quote ? "null" : "");
    } else if (row->type->kind == ST_TYPE_NUMBER) {
        st_buffer_text(buffer, st_number_format(st_unit_from_base(&row->type->unit, value), text,
                                                sizeof(text)));
    } else {
        (void)st_type_format(row->type, value, ST_STYLE_EXACT, text, sizeof(text));
        if (quote) {
            st_buffer_json_string(buffer, text);
        } else {
            st_buffer_csv_field(buffer, text);
        }
    }
}

void st_comparison_csv(const st_comparison *comparison, st_buffer *buffer)
{
    st_buffer_text(buffer, "kind,name,a,b,unit,meaning\n");
    for (size_t i = 0; i < comparison->count; i++) {
        const st_compared *row = &comparison->rows[i];
        st_buffer_printf(buffer, "%s,%s,", row->is_input ? "input" : "cell", row->name);
        write_exact(row, row->in_a, row->a, false, buffer);
        st_buffer_text(buffer, ",");
        write_exact(row, row->in_b, row->b, false, buffer);
        st_buffer_text(buffer, ",");
        st_buffer_csv_field(buffer, row->type->kind == ST_TYPE_NUMBER ? row->type->unit.text : "");
        st_buffer_text(buffer, ",");
        st_buffer_csv_field(buffer, row->doc == NULL ? "" : row->doc);
        st_buffer_text(buffer, "\n");
    }
}

static void write_side_json(const st_estimate *estimate, st_buffer *buffer)
{
    st_buffer_text(buffer, "{\"job\": ");
    st_buffer_json_string(buffer, st_job_name(estimate->job));
    st_buffer_text(buffer, ", \"sheet\": ");
    st_buffer_json_string(buffer, st_sheet_name(estimate->sheet));
    st_buffer_text(buffer, "}");
}

void st_comparison_json(const st_comparison *comparison, st_buffer *buffer)
{
    st_buffer_printf(buffer, "{\n  \"schema_version\": %d,\n  \"a\": ", ST_SCHEMA_VERSION);
    write_side_json(comparison->a, buffer);
    st_buffer_text(buffer, ",\n  \"b\": ");
    write_side_json(comparison->b, buffer);
    st_buffer_text(buffer, ",\n  \"rows\": [");
    for (size_t i = 0; i < comparison->count; i++) {
        const st_compared *row = &comparison->rows[i];
        st_buffer_printf(buffer, "%s\n    {\"kind\": \"%s\", \"name\": ", i == 0 ? "" : ",",
                         row->is_input ? "input" : "cell");
        st_buffer_json_string(buffer, row->name);
        st_buffer_text(buffer, ", \"a\": ");
        write_exact(row, row->in_a, row->a, true, buffer);
        st_buffer_text(buffer, ", \"b\": ");
        write_exact(row, row->in_b, row->b, true, buffer);
        st_buffer_text(buffer, ", \"unit\": ");
        if (row->type->kind == ST_TYPE_NUMBER) {
            st_buffer_json_string(buffer, row->type->unit.text);
        } else {
            st_buffer_text(buffer, "null");
        }
        st_buffer_text(buffer, "}");
    }
    st_buffer_text(buffer, "\n  ]\n}\n");
}
