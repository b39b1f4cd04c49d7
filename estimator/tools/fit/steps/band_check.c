/* SPDX-License-Identifier: Apache-2.0 */
/* Bands of rows from other rows; see band_check.h. */
#include "fit/steps/band_check.h"

#include <math.h>
#include <string.h>

typedef enum left_out { NOTHING, BLOCK, SOURCE, STACK, PLAN, LEFT_OUT } left_out;

static const char *const names[LEFT_OUT] = {"with_all", "without_block", "without_source",
                                            "without_stack", "without_plan"};

static bool have_same_plan(const st_error_row *row, const st_error_row *other)
{
    return row->kind.is_sharded == other->kind.is_sharded &&
           row->kind.has_stages == other->kind.has_stages;
}

/* Rows of the same kind but for the stack. */
static bool is_known(const st_error_row *row, const st_error_row *other, left_out without)
{
    switch (without) {
    case BLOCK:
        return memcmp(row->model, other->model, sizeof row->model) != 0;
    case SOURCE:
        return strcmp(row->source, other->source) != 0;
    case STACK:
        return strcmp(row->kind.stack, other->kind.stack) != 0;
    case PLAN:
        return !have_same_plan(row, other);
    default:
        return true;
    }
}

/* The half-width that the rows known give one; NaN where none is of its kind. */
static double half_width(const st_error_rows *rows, const st_error_row *row, left_out without,
                         double *errors)
{
    for (int all_stacks = 0; all_stacks < 2; all_stacks++) {
        size_t count = 0;
        bool has_states = false;
        bool has_stages = !row->kind.has_stages;
        for (size_t i = 0; i < rows->count; i++) {
            const st_error_row *other = &rows->items[i];
            st_error_kind kind = other->kind;
            if (all_stacks)
                kind.stack = row->kind.stack;
            if (!st_error_kind_equal(&row->kind, &kind) || !is_known(row, other, without))
                continue;
            errors[count++] = st_error_row_counted(other);
            has_states = has_states || row->kind.is_sharded == other->kind.is_sharded;
            has_stages = has_stages || other->kind.has_stages;
        }
        if (count > 0)
            return st_error_half_width(count, st_nine_of_ten(errors, count),
                                       has_states && has_stages);
    }
    return (double)NAN;
}

typedef struct band_check {
    const st_error_rows *rows;
    double *widths; /* of each row, by what is left out */
    double *scratch;
    st_node *list;
    st_table *table;
} band_check;

typedef enum part { FITTED, HELD_OUT } part;

/* One line: the rows of a source, or of all of them (NULL), that a fit used or that none did. */
static void put_group(const band_check *check, const char *source, part of)
{
    st_node *node = NULL;
    for (size_t without = 0; without < LEFT_OUT; without++) {
        size_t count = 0;
        size_t banded = 0;
        size_t inside = 0;
        for (size_t i = 0; i < check->rows->count; i++) {
            const st_error_row *row = &check->rows->items[i];
            const double width = check->widths[i * LEFT_OUT + without];
            if (row->fitted != (of == FITTED) ||
                (source != NULL && strcmp(row->source, source) != 0))
                continue;
            count++;
            if (!isfinite(width))
                continue;
            check->scratch[banded++] = width;
            inside += fabs(st_error_row_counted(row)) <= width ? 1 : 0;
        }
        if (count == 0)
            return;
        if (without == 0) {
            node = st_put_line_map(check->list, NULL);
            st_put_text(node, "source", source);
            st_put_text(node, "part",
                        st_row_part_text(of == FITTED ? ST_ROWS_FITTED : ST_ROWS_HELD_OUT));
            st_put_text(node, ".source", source != NULL ? source : "all");
            st_put_count(node, "rows", count);
        }
        st_node *map = st_put_line_map(node, names[without]);
        st_put_count(map, "banded", banded);
        st_put_number(map, "inside", banded > 0 ? (double)inside / (double)banded : (double)NAN);
        st_put_number(map, "half_width", st_median(check->scratch, banded));
    }
    st_table_show(check->table, node,
                  ".source,part,rows,with_all/inside,with_all/half_width,without_block/inside,"
                  "without_block/half_width,without_source/inside,without_source/half_width,"
                  "without_stack/inside,without_stack/half_width,without_plan/inside,"
                  "without_plan/half_width");
}

static void fill_row(const void *context, size_t index, st_node *node)
{
    const band_check *check = context;
    const st_error_row *row = &check->rows->items[index];
    st_put_text(node, "source", row->source);
    st_put_text(node, "id", row->id);
    st_put_text(node, "gpu", row->kind.gpu);
    st_put_text(node, "precision", row->kind.precision);
    st_put_text(node, "model", row->kind.model);
    st_put_text(node, "stack", row->kind.stack);
    st_put_bool(node, "sharded", row->kind.is_sharded);
    st_put_bool(node, "stages", row->kind.has_stages);
    st_put_bool(node, "fitted", row->fitted);
    st_put_number(node, "error", row->error);
    for (size_t i = 0; i < LEFT_OUT; i++)
        st_put_number(node, names[i], check->widths[index * LEFT_OUT + i]);
}

st_status st_band_check_put(const st_error_rows *rows, st_arena *arena, st_node *root)
{
    static const st_table_column columns[] = {{.title = "source", .ink = ST_INK_NAME},
                                              {.title = ""},
                                              ST_COLUMN_NUMBER("rows"),
                                              ST_COLUMN_SHARE("inside", 0),
                                              ST_COLUMN_SHARE("+-", 0),
                                              ST_COLUMN_SHARE("no block", 0),
                                              ST_COLUMN_SHARE("+-", 0),
                                              ST_COLUMN_SHARE("no source", 0),
                                              ST_COLUMN_SHARE("+-", 0),
                                              ST_COLUMN_SHARE("no stack", 0),
                                              ST_COLUMN_SHARE("+-", 0),
                                              ST_COLUMN_SHARE("no plan", 0),
                                              ST_COLUMN_SHARE("+-", 0)};
    band_check *check = st_arena_alloc(arena, 1, sizeof *check);
    double *widths = st_arena_alloc(arena, rows->count * LEFT_OUT + 1, sizeof *widths);
    double *scratch = st_arena_alloc(arena, rows->count + 1, sizeof *scratch);
    if (check == NULL || widths == NULL || scratch == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < rows->count; i++)
        for (int without = 0; without < LEFT_OUT; without++)
            widths[i * LEFT_OUT + (size_t)without] =
                half_width(rows, &rows->items[i], (left_out)without, scratch);
    *check = (band_check){rows, widths, scratch, st_put_list(root, "bands"),
                          st_say_table(root, columns, ST_COUNT(columns), 2)};
    for (int of = FITTED; of <= HELD_OUT; of++)
        put_group(check, NULL, (part)of);
    for (size_t i = 0; i < rows->count; i++)
        for (int of = FITTED; of <= HELD_OUT; of++)
            if (i == 0 || strcmp(rows->items[i].source, rows->items[i - 1].source) != 0)
                put_group(check, rows->items[i].source, (part)of);
    (void)st_put_rows(root, "band_rows", fill_row, check, rows->count);
    return ST_OK;
}
