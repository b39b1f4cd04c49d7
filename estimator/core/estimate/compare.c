/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs, then cells: those of the first estimate, then what only the second has. */
#include "estimate/compare.h"
#include "base/dimension.h"

#include "base/memory.h"
#include "plugin/refine_parse.h"
#include "sheet/type_write.h"

#include <math.h>
#include <string.h>

/* --- rows ------------------------------------------------------------------------------------ */

/* The meaning of a value: an enumeration's numbers mean nothing across two sheets. */
static bool same_value(const st_compared *row, const st_type *type_b)
{
    char texts[2][ST_QUANTITY_TEXT];
    if (row->type->kind != ST_TYPE_ENUM) {
        /* Sums of the same terms may differ in their last bits. */
        return fabs(row->a - row->b) <= 1e-12 * fmax(fabs(row->a), fabs(row->b)) ||
               (isnan(row->a) && isnan(row->b));
    }
    return strcmp(st_type_format(row->type, row->a, ST_STYLE_EXACT, texts[0], ST_QUANTITY_TEXT),
                  st_type_format(type_b, row->b, ST_STYLE_EXACT, texts[1], ST_QUANTITY_TEXT)) == 0;
}

/* What one estimate has of an input or a cell. */
typedef struct st_side {
    const st_type *type; /* NULL: it has none */
    double value;
} st_side;

/* Adds a row that has name and meaning. */
static void compare_sides(st_comparison *comparison, st_compared row, st_side side, st_side other,
                          bool from_a, bool all)
{
    bool both = other.type != NULL && side.type->kind == other.type->kind &&
                (side.type->kind != ST_TYPE_NUMBER ||
                 st_dimension_equal(side.type->unit.dimension, other.type->unit.dimension));
    double others = both ? other.value : 0;
    row.type = side.type;
    row.in_a = from_a || both;
    row.in_b = !from_a || both;
    row.a = from_a ? side.value : others;
    row.b = from_a ? others : side.value;
    if ((both && !from_a) || (both && !all && same_value(&row, other.type)))
        return; /* reported from A's side, or nothing to report */
    for (size_t i = 0; i < comparison->count; i++) {
        const st_compared *row_other = &comparison->rows[i];
        if (row_other->is_input == row.is_input && strcmp(row_other->name, row.name) == 0 &&
            row_other->in_a == row.in_a && row_other->in_b == row.in_b)
            return; /* a cell that two sections show */
    }
    comparison->rows[comparison->count++] = row;
}

static void compare_inputs(st_comparison *comparison, const st_estimate *from,
                           const st_estimate *to, bool all)
{
    for (size_t i = 0; i < from->input_count; i++) {
        const st_sheet_input *input = from->inputs[i].input;
        size_t j = st_estimate_input(to, input->name);
        const st_bound_input *other = j < to->input_count ? &to->inputs[j] : NULL;
        compare_sides(comparison,
                      (st_compared){.name = input->name, .doc = input->doc, .is_input = true},
                      (st_side){&input->type, from->inputs[i].value},
                      other != NULL ? (st_side){&other->input->type, other->value} : (st_side){0},
                      from == comparison->a, all);
    }
}

static void compare_cells(st_comparison *comparison, const st_estimate *from, const st_estimate *to,
                          bool all)
{
    for (size_t i = 0; i < from->shown_count; i++) {
        const st_shown *shown = &from->shown[i];
        const st_shown *other = st_find_shown(to, shown->name);
        if (st_sheet_find_input(from->sheet, shown->name) == NULL)
            compare_sides(comparison, (st_compared){.name = shown->name, .doc = shown->doc},
                          (st_side){shown->type, shown->value},
                          other != NULL ? (st_side){other->type, other->value} : (st_side){0},
                          from == comparison->a, all);
    }
}

st_status st_comparison_make(const st_estimate *a, const st_estimate *b, bool all, st_arena *arena,
                             st_comparison *comparison, st_errors *errors)
{
    size_t most = a->input_count + b->input_count + a->shown_count + b->shown_count;
    *comparison = (st_comparison){.a = a, .b = b};
    comparison->rows = st_arena_alloc(arena, most + 1, sizeof(*comparison->rows));
    if (comparison->rows == NULL)
        return st_out_of_memory(errors);
    compare_inputs(comparison, a, b, all);
    compare_inputs(comparison, b, a, all);
    compare_cells(comparison, a, b, all);
    compare_cells(comparison, b, a, all);
    return ST_OK;
}

/* --- the result ------------------------------------------------------------------------------ */

static void put_side(st_node *node, const char *key, bool there, const st_type *type, double value)
{
    if (there)
        st_put_value(node, key, type, value);
    else
        st_put_null(node, key);
}

static void put_rows(const st_comparison *comparison, bool inputs, st_node *list, st_table *table)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const st_compared *row = &comparison->rows[i];
        if (row->is_input != inputs)
            continue;
        st_node *node = st_put_line_map(list, NULL);
        st_put_text(node, "kind", inputs ? "input" : "cell");
        st_put_text(node, "name", row->name);
        put_side(node, "a", row->in_a, row->type, row->a);
        put_side(node, "b", row->in_b, row->type, row->b);
        st_put_unit(node, "unit", row->type);
        st_put_text(node, ".doc", row->doc);
        /* B over A as a change in percent; nothing where a ratio says nothing. */
        if (row->in_a && row->in_b && row->type->kind == ST_TYPE_NUMBER && row->a != 0 &&
            isfinite(row->a))
            st_put_change(node, ".change", row->b / row->a - 1);
        st_table_show(table, node, "name,a,b,.change,.doc");
    }
}

static void put_estimate(const char *key, const char *letter, const st_estimate *estimate,
                         st_node *root)
{
    const st_refinements refinements = {estimate->refinements, estimate->refinement_count};
    st_node *side = st_put_line_map(root, key);
    st_put_text(side, "job", st_job_name(estimate->job));
    st_put_text(side, "sheet", st_sheet_name(estimate->sheet));
    st_refine_put(&refinements, side);
    st_error_band_put(&estimate->band, side);
    st_say(side, "%s  %s by sheet %s\n   error %s\n", letter, st_job_name(estimate->job),
           st_sheet_name(estimate->sheet),
           st_error_band_text(&estimate->band, root->result->arena));
}

void st_comparison_report(const st_comparison *comparison, st_arena *arena, st_result *result)
{
    static const st_table_column columns[] = {{.ink = ST_INK_NAME},
                                              {.title = "A", .none = "-", .right = true},
                                              {.title = "B", .none = "-", .right = true},
                                              {.title = "change", .right = true},
                                              {.ink = ST_INK_FAINT, .elastic = true}};
    st_node *root = st_result_begin(result, arena);
    put_estimate("a", "A", comparison->a, root);
    put_estimate("b", "B", comparison->b, root);
    st_say(root, "\n");
    st_node *rows = st_put_list(root, "rows");
    st_result_csv(result, "rows", "kind,name,a,b,unit,.doc=meaning");
    if (comparison->count == 0) {
        st_say(root, "all inputs and cells of the report are equal\n");
        return;
    }
    st_table *table = st_say_table(root, columns, ST_COUNT(columns), 2);
    st_table_title(table, "Inputs");
    put_rows(comparison, true, rows, table);
    st_table_title(table, "");
    st_table_title(table, "Cells");
    put_rows(comparison, false, rows, table);
}
