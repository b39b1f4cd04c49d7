/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An explanation that fits a screen: the cell in full, then what it reads as a tree, a line each.
 * The largest part of the tree is opened first, as far as the lines last; zeros share a line, and
 * what is open elsewhere is not opened again.
 */
#include "estimate/explain_fold.h"

#include "base/dimension.h"
#include "sheet/binding.h"

#include <math.h>
#include <string.h>

enum { MOST_ROWS = 256 };

/* A line of the tree. */
typedef struct row {
    const st_explanation *step;
    size_t above; /* the row whose formula reads it; SIZE_MAX: the cell itself */
    size_t depth;
    bool open;
    bool closed; /* too large for what is left, an input, or it has a line elsewhere */
} row;

typedef struct tree {
    const st_estimate *estimate;
    st_arena *arena;
    const st_explanation *root;
    const st_explanation **full; /* of each cell of the sheet, the step that has its operands */
    const st_sheet_cell *cells;
    row rows[MOST_ROWS];
    size_t count;
    size_t lines; /* of what is open */
    size_t most;
    size_t left; /* direct operands of the cell without a line */
} tree;

static size_t cell_of(const tree *all, const st_explanation *step)
{
    const st_sheet_cell *cell =
        step->kind == ST_EXPLAIN_CELL ? st_sheet_find_cell(all->estimate->sheet, step->name) : NULL;
    return cell != NULL ? (size_t)(cell - all->cells) : SIZE_MAX;
}

/* Finds for each cell the step with its operands: it is explained where it is read first. */
static void find_full(tree *all, const st_explanation *step)
{
    size_t cell = cell_of(all, step);
    if (cell != SIZE_MAX && !step->shown_before)
        all->full[cell] = step;
    for (size_t i = 0; i < step->operand_count; i++)
        find_full(all, step->operands[i]);
}

static const st_explanation *full_of(const tree *all, const st_explanation *step)
{
    size_t cell = cell_of(all, step);
    return cell != SIZE_MAX && all->full[cell] != NULL ? all->full[cell] : step;
}

static bool is_zero(const st_explanation *step)
{
    return step->type.kind == ST_TYPE_NUMBER && step->value == 0;
}

/* Values of the cell's own dimension go first, larger ones before smaller ones. */
static double weight_of(const tree *all, const st_explanation *step)
{
    bool alike = step->type.kind == ST_TYPE_NUMBER && all->root->type.kind == ST_TYPE_NUMBER &&
                 st_dimension_equal(step->type.unit.dimension, all->root->type.unit.dimension);
    return alike && isfinite(step->value) ? fabs(step->value) : 0;
}

static bool is_listed(const tree *all, const st_explanation *step)
{
    bool listed = strcmp(all->root->name, step->name) == 0;
    for (size_t i = 0; i < all->count && !listed; i++)
        listed = strcmp(all->rows[i].step->name, step->name) == 0;
    return listed && step->kind != ST_EXPLAIN_FUNCTION;
}

/* Whether the operand of a step has a line: once, and again where it is one of the terms. */
static bool has_line(const tree *all, const st_explanation *step, size_t operand)
{
    const st_explanation *one = step->operands[operand];
    for (size_t i = 0; i < operand; i++)
        if (strcmp(step->operands[i]->name, one->name) == 0 && one->kind != ST_EXPLAIN_FUNCTION)
            return false;
    return weight_of(all, one) > 0 || !is_listed(all, one);
}

/* How many lines the operands of a step take. */
static size_t lines_below(const tree *all, const st_explanation *step)
{
    size_t lines = 0;
    bool zeros = false;
    for (size_t i = 0; i < step->operand_count; i++) {
        bool zero = is_zero(step->operands[i]);
        lines += !zero && has_line(all, step, i) ? 1 : 0;
        zeros = zeros || zero;
    }
    return lines + (zeros ? 1 : 0);
}

static void open_step(tree *all, const st_explanation *step, size_t above)
{
    size_t depth = above != SIZE_MAX ? all->rows[above].depth + 1 : 0;
    all->lines += lines_below(all, step);
    for (size_t i = 0; i < step->operand_count && all->count < MOST_ROWS; i++) {
        if (is_zero(step->operands[i]) || !has_line(all, step, i))
            continue;
        const st_explanation *operand = full_of(all, step->operands[i]);
        if (above == SIZE_MAX && all->count + 1 >= all->most) {
            all->left++;
            continue;
        }
        bool closed = is_listed(all, operand) || operand->operand_count == 0;
        all->rows[all->count++] =
            (row){.step = operand, .above = above, .depth = depth, .closed = closed};
    }
}

/* Opens the heaviest row that fits; false: none is left. */
static bool open_next(tree *all)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < all->count; i++)
        if (!all->rows[i].open && !all->rows[i].closed &&
            (best == SIZE_MAX ||
             weight_of(all, all->rows[i].step) > weight_of(all, all->rows[best].step)))
            best = i;
    if (best == SIZE_MAX)
        return false;
    row *chosen = &all->rows[best];
    if (all->lines + lines_below(all, chosen->step) > all->most) {
        chosen->closed = true;
        return true;
    }
    chosen->open = true;
    open_step(all, chosen->step, best);
    return true;
}

static const char *indent_of(const tree *all, size_t depth)
{
    const char *text = "";
    for (size_t i = 0; i < depth; i++)
        st_text_add(all->arena, &text, "", "· ");
    return st_or_none(text);
}

static void write_row(const tree *all, const row *line, st_table *table)
{
    st_arena *arena = all->arena;
    const st_explanation *step = line->step;
    char value[ST_QUANTITY_TEXT + 2] = "= ";
    st_type_format(&step->type, step->value, step->style, value + 2, sizeof value - 2);
    const char *more = "";
    size_t input = step->kind == ST_EXPLAIN_INPUT ? st_estimate_input(all->estimate, step->name)
                                                  : all->estimate->input_count;
    if (input < all->estimate->input_count) {
        const st_bound_input *bound = &all->estimate->inputs[input];
        more = st_arena_printf(arena, " (%s%s)", bound->input->from,
                               st_input_is_assumed(bound) ? ", assumed" : "");
    } else if (step->provider[0] != '\0') {
        more = st_arena_printf(arena, ", by %s",
                               step->refusal[0] != '\0' ? "the formula" : step->provider);
    }
    const char *const fields[] = {
        st_arena_printf(arena, "%s%s", indent_of(all, line->depth), step->name), value,
        st_arena_printf(arena, "%.*s%s", (int)strcspn(step->doc, ",;(:"), step->doc,
                        st_or_none(more))};
    st_table_row(table, fields);
}

/* The rows below one, each with what is open below it; zeros come last, in one line. */
static void write_below(const tree *all, const st_explanation *step, size_t above, st_table *table)
{
    st_arena *arena = all->arena;
    size_t depth = above != SIZE_MAX ? all->rows[above].depth + 1 : 0;
    const char *zeros = "";
    for (size_t i = 0; i < all->count; i++) {
        if (all->rows[i].above != above)
            continue;
        write_row(all, &all->rows[i], table);
        if (all->rows[i].open)
            write_below(all, all->rows[i].step, i, table);
    }
    for (size_t i = 0; i < step->operand_count; i++)
        if (is_zero(step->operands[i]) && strstr(zeros, step->operands[i]->name) == NULL)
            st_text_add(arena, &zeros, ", ", "%s", step->operands[i]->name);
    if (zeros != NULL && zeros[0] != '\0') {
        const char *const fields[] = {st_arena_printf(arena, "%s0", indent_of(all, depth)), "",
                                      zeros};
        st_table_row(table, fields);
    }
}

void st_explanation_fold(const st_estimate *estimate, const st_explanation *root, size_t lines,
                         st_node *node)
{
    st_arena *arena = node->result->arena;
    static const st_table_column columns[] = {
        {.ink = ST_INK_NAME}, {.joined = true}, {.elastic = true, .ink = ST_INK_FAINT}};
    size_t cell_count = 0;
    tree *all = st_arena_alloc(arena, 1, sizeof *all);
    if (all == NULL)
        return;
    *all = (tree){.estimate = estimate, .arena = arena, .root = root, .most = lines};
    all->cells = st_sheet_cells(estimate->sheet, &cell_count);
    all->full = st_arena_alloc(arena, cell_count + 1, sizeof(const st_explanation *));
    if (all->full == NULL)
        return;
    find_full(all, root);
    open_step(all, root, SIZE_MAX);
    while (open_next(all))
        continue;
    size_t shown = 0;
    size_t known = 0;
    for (size_t i = 0; i < cell_count; i++)
        known += all->full[i] != NULL ? 1 : 0;
    for (size_t i = 0; i < all->count; i++)
        shown += all->rows[i].open ? 1 : 0;
    st_say(node, "\n");
    write_below(all, root, SIZE_MAX, st_say_table(node, columns, 3, 2));
    if (all->left > 0)
        st_say(node, "  ... %zu more that it reads\n", all->left);
    st_say(node, "\n%zu of %zu cells; --depth 1 shows formulas of one level, --all everything\n",
           shown + 1, known);
}
