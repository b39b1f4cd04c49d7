/* SPDX-License-Identifier: Apache-2.0 */
/* Computing rows of a space; see space.h. */
#include "sweep/space.h"

#include "estimate/stage_layers.h"
#include "program/rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- workers --------------------------------------------------------------------------------- */

/* Columns of a block each, or NULL when out of memory. Those that nobody writes cost nothing, as
 * they would in an arena, which takes huge pages. */
static double **make_columns(const st_space_worker *worker, size_t count)
{
    double **columns = st_arena_alloc(worker->arena, count + 1, sizeof *columns);
    double *rows = calloc(count + 1, ST_SPACE_MOST_ROWS * sizeof *rows);
    if (rows == NULL || !st_arena_defer(worker->arena, free, rows)) {
        free(rows);
        return NULL;
    }
    for (size_t i = 0; columns != NULL && i < count; i++)
        columns[i] = rows + i * ST_SPACE_MOST_ROWS;
    return columns;
}

/* Nothing before the last run's inputs has changed. */
enum { UNCHANGED = ST_AXES_MAX + 1, LEAST_PIECE = 128 };

/* Rows from which laying out a product pays, and values of its lists. */
enum { LEAST_PRODUCT = ST_SPACE_MOST_ROWS, MOST_VALUES = 65536 };

static size_t workspace_count(const st_space *space)
{
    return space->variant_count * (space->replayed != NULL ? 2 : 1);
}

static void release_workspace(void *context)
{
    st_workspace_destroy(context);
}

/* A workspace that goes with the arena, by its number. */
static st_workspace *make_workspace(const st_space_worker *worker, size_t number)
{
    const st_space *space = worker->space;
    bool whole = number >= space->variant_count;
    const st_variant *variant = &space->variants[whole ? number - space->variant_count : number];
    st_workspace *made = st_workspace_create(whole ? variant->whole : variant->program);
    if (made == NULL || st_arena_defer(worker->arena, release_workspace, made))
        return made;
    st_workspace_destroy(made);
    return NULL;
}

/* Whether checks may run alone: rows have one program, and no plugin that might refuse them. */
static bool has_judge(const st_space *space)
{
    return space->variant_count == 1 && space->plugin_count == 0 && space->check_count > 0;
}

static bool make_workspaces(st_space_worker *worker)
{
    const st_space *space = worker->space;
    uint8_t *levels = st_arena_alloc(worker->arena, space->base.input_count + 1, sizeof *levels);
    worker->workspaces =
        st_arena_alloc(worker->arena, workspace_count(space) + 1, sizeof *worker->workspaces);
    if (st_arena_failed(worker->arena))
        return false;
    for (size_t i = 0; i < workspace_count(space); i++) {
        worker->workspaces[i] = make_workspace(worker, i);
        if (worker->workspaces[i] == NULL)
            return false;
    }
    const st_space *pace_space = worker->space;
    for (size_t i = 0; i < pace_space->driven_count; i++)
        levels[pace_space->driven[i].input] = (uint8_t)(pace_space->driven[i].axis + 1);
    for (size_t i = 0; i < workspace_count(pace_space); i++)
        st_paced_begin(worker->workspaces[i], levels);
    if (!has_judge(space))
        return true;
    worker->judge = make_workspace(worker, 0);
    if (worker->judge != NULL)
        st_paced_begin(worker->judge, levels);
    return worker->judge != NULL;
}

double *st_space_worker_add(st_space_worker *worker, size_t input)
{
    double *column = st_arena_alloc(worker->arena, ST_SPACE_MOST_ROWS, sizeof *column);
    double *spare = st_arena_alloc(worker->arena, ST_SPACE_MOST_ROWS, sizeof *spare);
    if (column == NULL || spare == NULL || worker->columns[input].stride != 0)
        return NULL;
    worker->varying[worker->varying_count] = input;
    worker->inputs[worker->varying_count] = column;
    worker->spare_inputs[worker->varying_count++] = spare;
    worker->columns[input] = (st_column){.values = column, .stride = 1};
    return column;
}

/* --- slow inputs ------------------------------------------------------------------------------ */

static st_slow *make_slow(const st_space_worker *worker)
{
    size_t inputs = worker->space->base.input_count + 1;
    st_workspace *workspace = make_workspace(worker, 0);
    st_workspace *judge = has_judge(worker->space) ? make_workspace(worker, 0) : workspace;
    st_slow *slow = st_arena_alloc(worker->arena, 1, sizeof *slow);
    if (slow == NULL || workspace == NULL || judge == NULL)
        return NULL;
    *slow = (st_slow){
        .workspace = workspace,
        .judge = judge,
        .columns = st_arena_alloc(worker->arena, inputs, sizeof *slow->columns),
        .values = st_arena_alloc(worker->arena, inputs, sizeof *slow->values),
        .levels = st_arena_alloc(worker->arena, inputs, sizeof *slow->levels),
        .lists = st_arena_alloc(worker->arena, inputs, sizeof *slow->lists),
    };
    return st_arena_failed(worker->arena) ? NULL : slow;
}

static bool has_slow(st_space_worker *worker)
{
    if (worker->slow == NULL)
        worker->slow = make_slow(worker);
    return worker->slow != NULL;
}

bool st_space_worker_slow(st_space_worker *worker, size_t input)
{
    if (!has_slow(worker))
        return false;
    worker->slow->levels[input] = 1;
    return true;
}

bool st_space_worker_listed(st_space_worker *worker, size_t input, size_t list)
{
    if (!has_slow(worker))
        return false;
    worker->slow->lists[input] = (uint8_t)(list + 1);
    return true;
}

/* Where the columns of a run begin; returns its level. */
static unsigned move_slow(st_space_worker *worker, size_t first)
{
    st_slow *slow = worker->slow;
    unsigned level = slow->laid_out ? 1 : 0;
    if (!slow->laid_out) {
        /* The columns as they are now, and the levels of all inputs. */
        st_slow *out_slow = worker->slow;
        for (size_t i = 0; i < worker->space->base.input_count; i++) {
            out_slow->columns[i] = worker->columns[i];
            if (out_slow->levels[i] == 1)
                out_slow->columns[i] = (st_column){.values = &out_slow->values[i], .stride = 0};
            else
                out_slow->levels[i] = worker->columns[i].stride != 0 ? 2 : 0;
        }
        st_workspace *const both[] = {out_slow->workspace, out_slow->judge};
        for (size_t i = 0; i < (has_judge(worker->space) ? 2 : 1); i++) {
            st_paced_begin(both[i], out_slow->levels);
            /* Without memory for it rows are computed one by one. */
            (void)st_paced_product(both[i], out_slow->lists, ST_PRODUCT_LISTS, ST_SPACE_MOST_ROWS);
        }
    }
    for (size_t i = 0; i < worker->varying_count; i++) {
        size_t input = worker->varying[i];
        if (slow->levels[input] == 1)
            slow->values[input] = worker->inputs[i][first];
        else
            slow->columns[input].values = worker->inputs[i] + first;
    }
    slow->laid_out = true;
    return level;
}

/* What holds rows: inputs, digits, results and failures; false when out of memory. */
static bool make_rows(st_space_worker *worker)
{
    const st_space *space = worker->space;
    st_arena *arena = worker->arena;
    worker->outputs = make_columns(worker, st_space_outputs(space));
    worker->checks = make_columns(worker, space->check_count);
    worker->spare = make_columns(worker, st_space_outputs(space) + space->check_count);
    worker->codes = st_arena_alloc(arena, space->check_count + 1, sizeof *worker->codes);
    worker->failures = st_arena_alloc(arena, ST_SPACE_MOST_ROWS, sizeof *worker->failures);
    worker->spare_failures =
        st_arena_alloc(arena, ST_SPACE_MOST_ROWS, sizeof *worker->spare_failures);
    worker->variants = st_arena_alloc(arena, ST_SPACE_MOST_ROWS, sizeof *worker->variants);
    worker->picked = st_arena_alloc(arena, ST_SPACE_MOST_ROWS, sizeof *worker->picked);
    worker->reasons = st_arena_alloc(arena, ST_SPACE_MOST_ROWS, sizeof *worker->reasons);
    if (space->plugin_count > 0) {
        worker->refused = st_arena_alloc(arena, ST_SPACE_MOST_ROWS, sizeof *worker->refused);
        worker->spare_refused =
            st_arena_alloc(arena, ST_SPACE_MOST_ROWS, sizeof *worker->spare_refused);
    }
    return worker->outputs != NULL && worker->checks != NULL && worker->spare != NULL;
}

static double value_at(const st_space *space, const st_driven *driven, uint64_t digit)
{
    return st_axis_value(&space->axes[driven->axis].axis, driven->values, digit);
}

/* Samples, zipped axes, or programs that change from row to row: everything varies. */
static bool is_flat(const st_space *space)
{
    return space->request.zip || space->rows != space->total || space->variant_count > 1;
}

/* The values of the inputs that an axis drives; NULL: these differ, or memory ran out. */
static const double *list_values(const st_space_worker *worker, size_t axis, uint8_t *lists)
{
    const st_space *space = worker->space;
    const st_driven *first = NULL;
    const size_t count = (size_t)space->axes[axis].axis.count;
    for (size_t i = 0; i < space->driven_count; i++) {
        const st_driven *driven = &space->driven[i];
        if (driven->axis != axis)
            continue;
        if (first != NULL && driven->values != first->values)
            return NULL;
        first = driven;
        lists[driven->input] = (uint8_t)(axis - worker->inner + 1);
    }
    double *values = st_arena_alloc(worker->arena, count, sizeof *values);
    for (size_t i = 0; i < count && values != NULL && first != NULL; i++)
        values[i] = value_at(space, first, i);
    return values;
}

/* The axes that vary within a piece as lists of a product, where each gives all its inputs the same
 * values. */
static void make_product(st_space_worker *worker)
{
    const st_space *space = worker->space;
    const size_t count = space->axis_count - worker->inner;
    uint8_t *lists = st_arena_alloc(worker->arena, space->base.input_count + 1, sizeof *lists);
    const double **values = st_arena_alloc(worker->arena, count + 1, sizeof *values);
    size_t *counts = st_arena_alloc(worker->arena, count + 1, sizeof *counts);
    bool is_product = !is_flat(space) && count > 1 && count <= ST_PRODUCT_LISTS &&
                      space->rows >= LEAST_PRODUCT && !st_arena_failed(worker->arena);
    for (size_t i = 0; i < count && is_product; i++) {
        const st_space_axis *axis = &space->axes[worker->inner + i];
        is_product = axis->follows == 0 && axis->axis.count <= MOST_VALUES;
        values[i] = is_product ? list_values(worker, worker->inner + i, lists) : NULL;
        counts[i] = is_product ? (size_t)axis->axis.count : 0;
        is_product = values[i] != NULL;
    }
    st_workspace *const both[] = {worker->workspaces[0], worker->judge};
    for (size_t i = 0; i < 2 && is_product; i++)
        is_product = both[i] == NULL || st_paced_product(both[i], lists, count, ST_SPACE_MOST_ROWS);
    if (is_product)
        worker->product = (st_product){.lists = values, .counts = counts};
}

static bool make_all(st_space_worker *worker)
{
    /* The innermost axes that together make a piece worth its overhead vary within it; all
     * others stand still, and what depends on them alone is computed when they move. */
    const st_space *pace_space = worker->space;
    bool flat = is_flat(pace_space);
    worker->inner = flat ? 0 : pace_space->axis_count;
    worker->piece_rows = flat ? UINT64_MAX : 1;
    while (worker->inner > 0 && worker->piece_rows < LEAST_PIECE) {
        const st_space_axis *axis = &pace_space->axes[--worker->inner];
        worker->piece_rows *= axis->follows == 0 ? axis->axis.count : 1;
    }
    if (worker->inner == 0)
        worker->piece_rows = UINT64_MAX;
    /* What holds inputs and where results go. */
    const st_space *list_space = worker->space;
    st_arena *arena = worker->arena;
    size_t inputs = list_space->base.input_count + 1;
    size_t outputs = st_space_outputs(list_space) + list_space->check_count + 1;
    worker->digits = st_arena_alloc(arena, list_space->axis_count + 1, sizeof *worker->digits);
    for (size_t i = 0; worker->digits != NULL && i < list_space->axis_count; i++)
        worker->digits[i] = st_arena_alloc(arena, ST_SPACE_MOST_ROWS, sizeof **worker->digits);
    worker->columns = st_arena_alloc(arena, inputs, sizeof *worker->columns);
    worker->base = st_arena_alloc(arena, inputs, sizeof *worker->base);
    worker->inputs = st_arena_alloc(arena, inputs, sizeof *worker->inputs);
    worker->spare_inputs = st_arena_alloc(arena, inputs, sizeof *worker->spare_inputs);
    worker->varying = st_arena_alloc(arena, inputs, sizeof *worker->varying);
    worker->laid_out = st_arena_alloc(arena, workspace_count(list_space), sizeof *worker->laid_out);
    worker->outputs_at = st_arena_alloc(arena, outputs, sizeof *worker->outputs_at);
    if (!make_rows(worker) || !make_workspaces(worker))
        return false;
    /* What nothing drives stays at its value for good. */
    const st_space *space = worker->space;
    for (size_t i = 0; i < space->base.input_count; i++) {
        worker->base[i] = space->base.input_values[i];
        worker->columns[i] = (st_column){.values = &worker->base[i], .stride = 0};
    }
    /* The failure of a row is the number of its reason, as a double, or infinity: the least of
     * what its checks and cells say. A row is so rejected for the first check that fails; where
     * none does, for a value that is none. Warnings reject nothing, but a check without a value
     * does. Conditions of the request follow the checks of the sheet. */
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(worker->space->sheet, &count);
    const st_space_request *request = &worker->space->request;
    size_t silent = request->checks_warn ? count - request->where_count : 0;
    for (size_t i = 0; i < count; i++)
        worker->codes[i] = (st_check_codes){
            .failed = checks[i].warning || i < silent ? (double)INFINITY : (double)(i + 1),
            .missing = (double)st_reason_no_value(worker->space),
        };
    for (size_t i = 0; i < space->driven_count; i++) {
        const st_driven *driven = &space->driven[i];
        if (driven->axis >= worker->inner && st_space_worker_add(worker, driven->input) == NULL)
            return false;
    }
    make_product(worker);
    return !st_arena_failed(worker->arena);
}

st_space_worker *st_space_worker_create(const st_space *space)
{
    st_arena *arena = st_arena_create();
    st_space_worker *worker = arena != NULL ? st_arena_alloc(arena, 1, sizeof *worker) : NULL;
    if (worker != NULL) {
        worker->arena = arena;
        worker->space = space;
    }
    if (worker != NULL && make_all(worker))
        return worker;
    st_arena_destroy(arena);
    return NULL;
}

void st_space_worker_destroy(st_space_worker *worker)
{
    if (worker != NULL)
        st_arena_destroy(worker->arena);
}

/* --- rows ------------------------------------------------------------------------------------ */

/* The digits of every row, from the last axis to the first, without a division per row. */
static void count_digits(st_space_worker *worker, uint64_t first, size_t rows)
{
    const st_space *space = worker->space;
    uint64_t stride = 1;
    for (size_t axis = space->axis_count; axis-- > 0;) {
        if (space->axes[axis].follows != 0)
            continue;
        uint64_t count = space->axes[axis].axis.count;
        if (stride == 1) {
            /* Those of an axis that moves with every row. */
            uint64_t *digits = worker->digits[axis];
            uint64_t digit = first % count;
            for (size_t row = 0; row < rows;) {
                size_t run = count - digit < rows - row ? (size_t)(count - digit) : rows - row;
                for (size_t i = 0; i < run; i++)
                    digits[row + i] = digit + i;
                row += run;
                digit = 0;
            }
        } else {
            /* The digits of one axis, each covering `stride` rows: whole runs at a time.
             */
            uint64_t *digits = worker->digits[axis];
            uint64_t digit = first / stride % count;
            uint64_t left = stride - first % stride;
            for (size_t row = 0; row < rows;) {
                size_t end = left < rows - row ? row + (size_t)left : rows;
                for (; row < end; row++)
                    digits[row] = digit;
                left = stride;
                digit = digit + 1 == count ? 0 : digit + 1;
            }
        }
        stride *= count;
    }
    for (size_t axis = 0; axis < space->axis_count; axis++) {
        size_t follows = space->axes[axis].follows;
        if (follows != 0)
            memcpy(worker->digits[axis], worker->digits[follows - 1],
                   rows * sizeof *worker->digits[axis]);
    }
}

/* Columns of the inputs that vary within a piece. */
static void fill_inputs(st_space_worker *worker, size_t rows)
{
    const st_space *space = worker->space;
    size_t column = 0;
    for (size_t i = 0; i < space->driven_count; i++) {
        const st_driven *driven = &space->driven[i];
        if (driven->axis < worker->inner)
            continue;
        const uint64_t *digits = worker->digits[driven->axis];
        double *target = worker->inputs[column++];
        for (size_t row = 0; row < rows; row++)
            target[row] = value_at(space, driven, digits[row]);
    }
}

/* --- one program among several --------------------------------------------------------------- */

static void scatter(const st_space_worker *worker, double *const *from, double *const *to,
                    size_t columns, size_t rows)
{
    for (size_t i = 0; i < columns; i++)
        for (size_t row = 0; row < rows; row++)
            to[i][worker->picked[row]] = from[i][row];
}

/* Checks that are the same in all rows, in every row. */
static void fill_checks(const st_space_worker *worker, size_t number, size_t rows,
                        double *const *checks)
{
    for (size_t i = 0; i < worker->space->check_count; i++) {
        double value = 0;
        if (!st_paced_scalar_check(worker->workspaces[number], i, &value))
            continue;
        for (size_t row = 0; row < rows; row++)
            checks[i][row] = value;
    }
}

/* Runs the picked rows together and scatters the results. Inputs that stay
 * still may have moved since the workspace ran. */
static void run_picked(st_space_worker *worker, size_t number, size_t rows)
{
    const st_space *space = worker->space;
    double **outputs = worker->spare;
    double **checks = outputs + st_space_outputs(space);
    double **inputs = worker->spare_inputs;
    for (size_t i = 0; i < worker->varying_count; i++) {
        for (size_t row = 0; row < rows; row++)
            inputs[i][row] = worker->inputs[i][worker->picked[row]];
        worker->columns[worker->varying[i]].values = inputs[i];
    }
    st_paced run = {.inputs = worker->columns,
                    .level = worker->laid_out[number] ? 1 : 0,
                    .rows = rows,
                    .outputs = outputs,
                    .checks = worker->all_checks ? checks : NULL,
                    .codes = worker->codes,
                    .failures = worker->spare_failures,
                    .refused = worker->spare_refused};
    st_paced_run(worker->workspaces[number], &run);
    worker->laid_out[number] = true;
    for (size_t i = 0; i < worker->varying_count; i++)
        worker->columns[worker->varying[i]].values = worker->inputs[i];
    scatter(worker, outputs, worker->outputs, st_space_outputs(space), rows);
    for (size_t row = 0; row < rows && worker->refused != NULL; row++)
        worker->refused[worker->picked[row]] = worker->spare_refused[row];
    scatter(worker, &worker->spare_failures, &worker->failures, 1, rows);
    if (worker->all_checks) {
        fill_checks(worker, number, rows, checks);
        scatter(worker, checks, worker->checks, space->check_count, rows);
    }
}

/* What has run by a variant's program, again where it is for the whole one. */
static void run_whole(st_space_worker *worker, size_t variant, size_t first, size_t rows)
{
    /* Of rows from `first` on of a variant that has run, those that are for its whole program.
     * What is rejected for a check that is the same in both stays as it is if nobody
     * looks at it. */
    const st_space *space = worker->space;
    const double *replayed = space->replayed != NULL ? worker->outputs[space->cell_count] : NULL;
    double most = space->request.keeps_bounds ? ST_REPLAYED_ALWAYS : (double)INFINITY;
    double settled = worker->kept_alone ? (double)space->variants[variant].settled_checks : 0;
    size_t picked = 0;
    for (size_t row = first; replayed != NULL && row < first + rows; row++)
        if (replayed[row] > 0 && replayed[row] <= most && worker->failures[row] > settled &&
            (space->variant_count == 1 || worker->variants[row] == variant))
            worker->picked[picked++] = (uint32_t)row;
    if (picked > 0)
        run_picked(worker, worker->space->variant_count + variant, picked);
}

/* --- failures -------------------------------------------------------------------------------- */

static void check_cells(st_space_worker *worker, size_t rows)
{
    const st_space *space = worker->space;
    double no_value = (double)st_reason_no_value(space);
    double *restrict failures = worker->failures;
    for (size_t i = 0; i < space->cell_count; i++) {
        const double *restrict values = worker->outputs[i];
        for (size_t row = 0; row < rows; row++) {
            /* 0 for what is finite */
            double found = values[row] - values[row] == 0.0 ? (double)INFINITY : no_value;
            failures[row] = found < failures[row] ? found : failures[row];
        }
    }
}

/* --- pieces ---------------------------------------------------------------------------------- */

/* Moves the axes that are constant within a piece to their values in a row of the block; returns
 * the level of the outermost that has moved. */
static unsigned move_outer_axes(st_space_worker *worker, size_t row)
{
    const st_space *space = worker->space;
    unsigned level = worker->laid_out[0] ? UNCHANGED : 0;
    for (size_t axis = worker->inner; axis-- > 0;) {
        uint64_t digit = worker->digits[axis][row];
        if (digit != worker->current[axis] && level != 0)
            level = (unsigned)axis + 1;
        worker->current[axis] = digit;
    }
    for (size_t i = 0; i < space->driven_count && level != UNCHANGED; i++) {
        const st_driven *driven = &space->driven[i];
        if (driven->axis < worker->inner)
            worker->base[driven->input] = value_at(space, driven, worker->current[driven->axis]);
    }
    return level;
}

/* Whether checks run first, and the rest for the rows alone that these do not reject. */
static bool is_judged(const st_space_worker *worker)
{
    return worker->kept_alone && !worker->all_checks && worker->judge != NULL;
}

/* The rows of a judged piece that no check rejects for good. */
static size_t pick_kept(const st_space_worker *worker, const double *failures, size_t rows)
{
    const st_space *space = worker->space;
    const double settled = space->replayed != NULL ? (double)space->variants[0].settled_checks
                                                   : (double)st_reason_no_value(space);
    size_t picked = 0;
    for (size_t row = 0; row < rows; row++) {
        worker->picked[picked] = (uint32_t)row;
        picked += failures[row] > settled ? 1 : 0;
    }
    return picked;
}

/* Runs a piece: what its checks need, and then its outputs in the rows that these keep. */
static void run_judged(st_space_worker *worker, st_paced run, st_slow *slow)
{
    const st_space *space = worker->space;
    const size_t outputs = st_space_outputs(space);
    st_column *columns = slow != NULL ? slow->columns : worker->columns;
    unsigned *level = slow != NULL ? &slow->level : &worker->level;
    st_product some = run.product != NULL ? *run.product : (st_product){0};
    run.outputs = NULL;
    st_paced_run(slow != NULL ? slow->judge : worker->judge, &run);
    const size_t picked = pick_kept(worker, run.failures, run.rows);
    *level = run.level < *level ? run.level : *level;
    if (picked == 0)
        return;
    const bool all = picked == run.rows;
    for (size_t i = 0; i < worker->varying_count && !all; i++) {
        st_column *column = &columns[worker->varying[i]];
        for (size_t row = 0; row < picked && column->stride != 0; row++)
            worker->spare_inputs[i][row] = column->values[worker->picked[row]];
        column->values = column->stride != 0 ? worker->spare_inputs[i] : column->values;
    }
    some.picked = all ? NULL : worker->picked;
    run.product = run.product != NULL ? &some : NULL;
    run.outputs = all ? worker->outputs_at : worker->spare;
    run.failures = NULL;
    run.level = *level;
    run.rows = picked;
    st_paced_run(slow != NULL ? slow->workspace : worker->workspaces[0], &run);
    *level = UNCHANGED;
    if (!all)
        scatter(worker, worker->spare, worker->outputs_at, outputs, picked);
}

static void run_piece(st_space_worker *worker, size_t first, const st_space_run_rows *piece)
{
    const st_space *space = worker->space;
    st_slow *const slow = piece->slow ? worker->slow : NULL;
    const size_t rows = piece->rows;
    const size_t outputs = st_space_outputs(space);
    const bool is_listed = slow == NULL && worker->product.counts != NULL && !worker->scattered;
    st_product product = worker->product;
    product.first = (worker->first + first) % space->rows % worker->piece_rows;
    st_paced run = {.inputs = slow != NULL ? slow->columns : worker->columns,
                    .level =
                        slow != NULL ? move_slow(worker, first) : move_outer_axes(worker, first),
                    .rows = rows,
                    .outputs = worker->outputs_at,
                    .checks = worker->all_checks ? worker->outputs_at + outputs : NULL,
                    .codes = worker->codes,
                    .failures = worker->failures + first,
                    .refused = worker->refused != NULL ? worker->refused + first : NULL,
                    .product = is_listed                       ? &product
                               : piece->product.counts != NULL ? &piece->product
                                                               : NULL};
    for (size_t i = 0; i < outputs; i++)
        worker->outputs_at[i] = worker->outputs[i] + first;
    for (size_t i = 0; i < space->check_count && worker->all_checks; i++)
        worker->outputs_at[outputs + i] = worker->checks[i] + first;
    for (size_t i = 0; i < worker->varying_count && slow == NULL; i++)
        worker->columns[worker->varying[i]].values = worker->inputs[i] + first;
    worker->laid_out[0] = worker->laid_out[0] || slow == NULL;
    if (is_judged(worker)) {
        run_judged(worker, run, slow);
        return;
    }
    st_paced_run(slow != NULL ? slow->workspace : worker->workspaces[0], &run);
    if (worker->all_checks)
        fill_checks(worker, 0, rows, worker->outputs_at + outputs);
}

static void run_pieces(st_space_worker *worker, size_t rows)
{
    if (worker->runs != NULL && worker->inner == 0 && !worker->scattered && !worker->all_checks) {
        for (size_t i = 0, row = 0; i < worker->run_count; row += worker->runs[i++].rows)
            run_piece(worker, row, &worker->runs[i]);
        run_whole(worker, 0, 0, rows);
        return;
    }
    bool alone = worker->scattered && worker->inner > 0;
    uint64_t piece = alone ? 1 : worker->piece_rows;
    uint64_t left = piece - worker->first % piece;
    for (size_t row = 0; row < rows;) {
        size_t count = left < rows - row ? (size_t)left : rows - row;
        run_piece(worker, row, &(st_space_run_rows){.rows = count});
        run_whole(worker, 0, row, count); /* while the outer axes are where they are */
        row += count;
        left = piece;
    }
}

static void run_variants(st_space_worker *worker, size_t rows)
{
    const st_space *space = worker->space;
    const st_space *variant_space = worker->space;
    memset(worker->variants, 0, rows * sizeof *worker->variants);
    for (size_t axis = 0; axis < variant_space->axis_count; axis++) {
        size_t stride = variant_space->axes[axis].variant_stride;
        for (size_t row = 0; stride != 0 && row < rows; row++)
            worker->variants[row] += (uint32_t)(worker->digits[axis][row] * stride);
    }
    for (size_t i = 0; i < space->variant_count; i++) {
        size_t picked = 0;
        for (size_t row = 0; row < rows; row++)
            if (worker->variants[row] == i)
                worker->picked[picked++] = (uint32_t)row;
        if (picked > 0)
            run_picked(worker, i, picked);
        run_whole(worker, i, 0, rows);
    }
}

static bool order_lacks(const st_space_worker *worker, const st_variant *variant, size_t row)
{
    const st_space *space = worker->space;
    for (size_t i = 0; i < ST_SPACE_ORDER_GROUPS; i++) {
        const st_group_size *size = &space->group_sizes[i];
        double ranks = size->fixed;
        if (worker->group_sizes[i] != NULL) {
            ranks = worker->group_sizes[i][row];
        } else if (size->axis != SIZE_MAX) {
            const st_space_axis *axis = &space->axes[size->axis];
            uint64_t digit = worker->digits[size->axis][row];
            ranks = st_axis_value(&axis->axis, axis->numbers, digit);
        }
        if (ranks > 1 && !variant->named[i])
            return true;
    }
    return false;
}

bool st_space_order_lacks(const st_space_worker *worker, size_t variant, size_t row)
{
    const st_variant *one = &worker->space->variants[variant];
    return one->order != NULL && order_lacks(worker, one, row);
}

void st_space_fill(st_space_worker *worker, uint64_t first, size_t rows)
{
    worker->rows = rows;
    worker->first = first;
    worker->scattered = false;
    const st_space *space = worker->space;
    if (!space->request.zip && space->rows == space->total) {
        count_digits(worker, first, rows);
    } else {
        for (size_t row = 0; row < rows; row++) {
            uint64_t pick = st_space_pick(space, first + row);
            for (size_t axis = 0; axis < space->axis_count; axis++)
                worker->digits[axis][row] = st_space_digit(space, axis, pick);
        }
    }
    fill_inputs(worker, rows);
}

void st_space_fill_rows(st_space_worker *worker, const uint64_t *picks, size_t rows)
{
    worker->rows = rows;
    worker->first = 0;
    worker->scattered = true;
    for (size_t axis = 0; axis < worker->space->axis_count; axis++)
        for (size_t row = 0; row < rows; row++)
            worker->digits[axis][row] = st_space_digit(worker->space, axis, picks[row]);
    fill_inputs(worker, rows);
}

void st_space_fill_runs(st_space_worker *worker, const uint64_t *picks, size_t rows)
{
    worker->rows = rows;
    worker->first = 0;
    worker->scattered = false;
    for (size_t axis = 0; axis < worker->space->axis_count; axis++) {
        uint64_t *digits = worker->digits[axis];
        for (size_t row = 0; row < rows; row++)
            digits[row] = row > 0 && picks[row] == picks[row - 1]
                              ? digits[row - 1]
                              : st_space_digit(worker->space, axis, picks[row]);
    }
    fill_inputs(worker, rows);
}

size_t st_space_row_inputs(const st_space_worker *worker, size_t row, double *inputs)
{
    const st_space *space = worker->space;
    size_t variant = 0;
    memcpy(inputs, space->base.input_values, space->base.input_count * sizeof *inputs);
    for (size_t i = 0; i < space->driven_count; i++) {
        const st_driven *driven = &space->driven[i];
        inputs[driven->input] = value_at(space, driven, worker->digits[driven->axis][row]);
    }
    for (size_t i = 0; i < worker->varying_count; i++)
        inputs[worker->varying[i]] = worker->inputs[i][row];
    for (size_t i = 0; i < space->axis_count; i++)
        variant += (size_t)worker->digits[i][row] * space->axes[i].variant_stride;
    return variant;
}

void st_space_compute(st_space_worker *worker, size_t rows)
{
    const st_space *space = worker->space;
    if (worker->checks_laid_out != worker->all_checks ||
        worker->judged_laid_out != is_judged(worker)) {
        memset(worker->laid_out, 0, workspace_count(worker->space) * sizeof *worker->laid_out);
        if (worker->slow != NULL)
            worker->slow->laid_out = false;
        worker->checks_laid_out = worker->all_checks;
        worker->judged_laid_out = is_judged(worker);
    }
    if (space->variant_count > 1)
        run_variants(worker, rows);
    else
        run_pieces(worker, rows);
    check_cells(worker, rows);
    double most = (double)st_reason_no_value(worker->space);
    for (size_t row = 0; row < rows; row++) {
        double failure = worker->failures[row];
        worker->reasons[row] = failure > most ? ST_REASON_NONE : (uint32_t)failure;
    }
    /* What has no value for want of a plugin's is its refusal. */
    const st_space *refusal_space = worker->space;
    uint32_t no_value = (uint32_t)st_reason_no_value(refusal_space);
    for (size_t row = 0; row < rows && worker->refused != NULL; row++) {
        uint32_t provider = worker->refused[row];
        if (worker->reasons[row] == no_value && provider > 0 &&
            provider <= refusal_space->plugin_count)
            worker->reasons[row] = (uint32_t)st_reason_refused(refusal_space, provider - 1);
    }
    bool has_orders = false;
    for (size_t i = 0; i < space->variant_count; i++)
        if (space->variants[i].order != NULL) {
            has_orders = true;
            break;
        }
    if (has_orders) {
        const st_space *order_space = worker->space;
        for (size_t row = 0; row < rows; row++) {
            const st_variant *variant =
                &order_space->variants[order_space->variant_count > 1 ? worker->variants[row] : 0];
            if (variant->order != NULL && order_lacks(worker, variant, row))
                worker->reasons[row] = (uint32_t)st_reason_order(order_space);
        }
    }
    for (size_t row = 0; worker->infeasible != NULL && row < rows; row++)
        if (worker->infeasible[row])
            worker->reasons[row] = (uint32_t)st_reason_infeasible(worker->space);
}

void st_space_run(st_space_worker *worker, uint64_t first, size_t rows)
{
    st_space_fill(worker, first, rows);
    st_space_compute(worker, rows);
}
