/* SPDX-License-Identifier: Apache-2.0 */
/* From the number of a plan to the columns of the sheet's inputs; see worker.h. */
#include "search/worker.h"

#include <math.h>
#include <string.h>

enum { MAX_ALIASES = 16 };

/* A second input that reads the key of a plan parameter. */
typedef struct alias {
    double *column;
    st_plan_param param;
} alias;

/* Lives in the memory of the space's worker. */
struct st_search_worker {
    const st_search *search;
    st_space_worker *space;
    double *columns[ST_PARAMS];
    alias aliases[MAX_ALIASES];
    size_t alias_count;
    uint64_t *picks;
    st_space_run_rows *runs; /* at most one per row; NULL: sizes of plans differ from row to row */
    uint64_t *plans;         /* per row; NULL: what plans depend on is the same in all rows */
    bool *infeasible;        /* per row, for the space's worker */
    bool by_axes; /* visits go through all plans with each combination of what the axes have */
};

/* --- plans ----------------------------------------------------------------------------------- */

/* The rows that are picked already. */
static void fill_picks(st_search_worker *self, size_t rows)
{
    const st_search *search = self->search;
    uint64_t repeat = search->space->total;
    for (size_t row = 0; row < rows; row++) {
        double values[ST_PARAMS];
        st_plan_at(&search->plans, self->picks[row] / repeat, values);
        for (size_t param = 0; param < ST_PARAMS; param++)
            if (self->columns[param] != NULL)
                self->columns[param][row] = values[param];
    }
    for (size_t row = 0; row < rows; row++) {
        if (self->plans != NULL)
            self->plans[row] = self->picks[row] / repeat;
        self->picks[row] %= repeat;
    }
    st_space_fill_rows(self->space, self->picks, rows);
}

/* Whether plan parameters of a group are all at one place of it: that of its axes, where it has
 * some. */
static bool is_group_at(const st_search *search, size_t group, size_t place,
                        const double values[ST_PARAMS])
{
    for (size_t i = 0; i < search->zipped_count; i++) {
        const st_zipped *zipped = &search->zipped[i];
        if (zipped->group == group && zipped->values[place] != values[zipped->param])
            return false;
    }
    return true;
}

static bool is_zipped(const st_search_worker *self, const double values[ST_PARAMS], size_t row)
{
    const st_search *search = self->search;
    bool good = true;
    for (size_t group = 0; group < search->group_count && good; group++) {
        size_t axis = search->group_axes[group];
        size_t count = 0;
        for (size_t i = 0; i < search->zipped_count; i++)
            count = search->zipped[i].group == group ? search->zipped[i].count : count;
        if (axis != SIZE_MAX) {
            good = is_group_at(search, group, (size_t)self->space->digits[axis][row], values);
            continue;
        }
        bool found = count == 0;
        for (size_t place = 0; place < count && !found; place++)
            found = is_group_at(search, group, place, values);
        good = found;
    }
    return good;
}

/* Rows of one shape have the same sizes; of a few it is not worth it to compute these apart. Each
 * plan comes `repeat` times. */
static size_t add_runs(st_search_worker *self, uint64_t repeat, uint64_t first, size_t rows,
                       size_t count)
{
    enum { LEAST = 48 };
    const st_search *search = self->search;
    for (size_t row = 0; row < rows;) {
        size_t run = st_plans_run(&search->plans, repeat, first + row, rows - row);
        bool slow = run >= LEAST;
        if (!slow && count > 0 && !self->runs[count - 1].slow)
            self->runs[count - 1].rows += run;
        else
            self->runs[count++] = (st_space_run_rows){.rows = run, .slow = slow};
        if (slow && repeat == 1)
            self->runs[count - 1].product = st_plans_product(&search->plans, first + row);
        row += run;
    }
    self->space->runs = self->runs;
    self->space->run_count = count;
    return count;
}

/* Rows whose plans are filled in: what depends on these. */
static st_space_worker *settle(st_search_worker *self, size_t rows)
{
    /* What depends on the columns of a plan. If nodes differ between rows, what replaces
     * them is GPUs until now. */
    const st_search_driven *size = &self->search->node_size;
    double *nodes = self->columns[ST_PARAM_NODES];
    for (size_t row = 0; size->given && nodes != NULL && row < rows; row++) {
        uint64_t digit = self->space->digits[size->axis][row];
        nodes[row] = ceil(nodes[row] / st_search_driven_value(self->search, size, digit));
    }
    /* A plan that is one for some row need not be one for this row. */
    const st_search *search = self->search;
    st_plan_cursor cursor = {.plans = &search->plans};
    for (size_t row = 0; self->plans != NULL && row < rows; row++) {
        const double *values = st_plan_cursor_at(&cursor, self->plans[row]);
        double bases[ST_PLAN_BASES];
        for (size_t i = 0; i < ST_PLAN_BASES; i++) {
            const st_search_driven *driven = &search->bases[i];
            uint64_t digit = driven->given ? self->space->digits[driven->axis][row] : 0;
            bases[i] = driven->given ? st_search_driven_value(search, driven, digit)
                                     : search->wanted.bases[i].values[0];
        }
        self->infeasible[row] =
            (search->bases_differ && !st_plan_divides(&search->wanted, bases, values)) ||
            (!st_plan_runs(&search->wanted, bases, values) &&
             self->plans[row] != search->plans.own) ||
            !is_zipped(self, values, row);
    }
    for (size_t i = 0; i < self->alias_count; i++)
        memcpy(self->aliases[i].column, self->columns[self->aliases[i].param],
               rows * sizeof(double));
    return self->space;
}

st_space_worker *st_search_worker_fill(st_search_worker *self, const uint64_t *picks,
                                       uint64_t first, size_t rows)
{
    if (picks == NULL) {
        const st_search *fill_search = self->search;
        if (fill_search->rows != fill_search->total) {
            for (size_t row = 0; row < rows; row++)
                self->picks[row] = st_search_pick(fill_search, first + row);
            fill_picks(self, rows);
        } else {
            st_space_fill(self->space, first, rows);
            for (size_t row = 0; self->plans != NULL && row < rows; row++)
                self->plans[row] = (first + row) / fill_search->space->total;
            st_plans_fill(&fill_search->plans, fill_search->space->total, first, rows,
                          self->columns);
            if (self->runs != NULL)
                (void)add_runs(self, fill_search->space->total, first, rows, 0);
        }
    } else {
        memcpy(self->picks, picks, rows * sizeof *picks);
        fill_picks(self, rows);
    }
    return settle(self, rows);
}

uint64_t st_search_visited(const st_search_worker *self, uint64_t visit)
{
    const st_search *search = self->search;
    return self->by_axes
               ? visit % search->plans.count * search->space->total + visit / search->plans.count
               : visit;
}

st_space_worker *st_search_worker_visit(st_search_worker *self, uint64_t first, size_t rows)
{
    const st_search *search = self->search;
    double *columns[ST_PARAMS];
    size_t runs = 0;
    if (!self->by_axes)
        return st_search_worker_fill(self, NULL, first, rows);
    for (size_t row = 0; row < rows;) {
        /* Plans of one combination of what the axes have. */
        uint64_t plan = (first + row) % search->plans.count;
        uint64_t left = search->plans.count - plan;
        size_t part = left < rows - row ? (size_t)left : rows - row;
        for (size_t i = 0; i < ST_PARAMS; i++)
            columns[i] = self->columns[i] != NULL ? self->columns[i] + row : NULL;
        st_plans_fill(&search->plans, 1, plan, part, columns);
        for (size_t i = row; i < row + part; i++)
            self->picks[i] = (first + row) / search->plans.count;
        for (size_t i = 0; self->plans != NULL && i < part; i++)
            self->plans[row + i] = plan + i;
        runs = add_runs(self, 1, plan, part, runs);
        row += part;
    }
    st_space_fill_runs(self->space, self->picks, rows);
    return settle(self, rows);
}

st_status st_search_each_block(const st_search *search, uint64_t most, st_search_block *take,
                               void *context)
{
    const uint64_t drawn = search->rows < most ? search->rows : most;
    uint64_t picks[ST_SPACE_BLOCK];
    st_search_worker *worker = st_search_worker_create(search);
    if (worker == NULL)
        return ST_ERR_MEMORY;
    for (uint64_t first = 0; first < drawn; first += ST_SPACE_BLOCK) {
        uint64_t left = drawn - first;
        size_t rows = left < ST_SPACE_BLOCK ? (size_t)left : ST_SPACE_BLOCK;
        for (size_t i = 0; i < rows; i++) {
            double share = (double)(first + i) / (double)drawn;
            uint64_t row =
                drawn == search->rows ? first + i : (uint64_t)(share * (double)search->rows);
            picks[i] = st_search_pick(search, row);
        }
        st_space_worker *space = st_search_worker_fill(worker, picks, 0, rows);
        space->all_checks = true;
        st_space_compute(space, rows);
        take(context, space, picks, rows);
    }
    st_search_worker_destroy(worker);
    return ST_OK;
}

double st_search_failing(const st_space *space, const st_space_worker *worker, size_t row)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(space->sheet, &count);
    uint32_t reason = worker->reasons[row];
    double failing = reason == st_reason_order(space)        ? 1
                     : reason == st_reason_infeasible(space) ? ST_INFEASIBLE_CHECKS
                                                             : 0;
    for (size_t i = 0; i < count; i++)
        failing += !checks[i].warning && worker->checks[i][row] != 1.0 ? 1 : 0;
    return failing;
}

bool st_search_is_over(const st_space *space, const st_space_worker *worker, size_t row)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(space->sheet, &count);
    bool over = worker->reasons[row] != ST_REASON_NONE;
    for (size_t i = 0; i < count && space->request.checks_warn; i++)
        over = over || (checks[i].limit && worker->checks[i][row] == 0.0);
    return over;
}

bool st_search_exceeds(const st_space *space, const st_space_worker *worker, size_t row)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(space->sheet, &count);
    uint32_t reason = worker->reasons[row];
    if (reason == ST_REASON_NONE)
        return st_search_is_over(space, worker, row);
    if (reason > count)
        return false;
    for (size_t i = 0; i < count; i++) {
        bool holds = checks[i].warning || checks[i].limit || worker->checks[i][row] == 1.0;
        if (!holds)
            return false;
    }
    return isfinite(worker->outputs[0][row]) != 0;
}

/* --- making ----------------------------------------------------------------------------------- */

static bool add_column(st_search_worker *self, st_plan_param param, size_t input)
{
    double *column = st_space_worker_add(self->space, input);
    bool varied = param >= ST_PARAM_VIRTUAL && param < ST_PARAMS && self->search->varies[param];
    bool slow = self->runs != NULL && !varied;
    if (slow && !st_space_worker_slow(self->space, input))
        return false;
    if (self->runs != NULL && varied &&
        !st_space_worker_listed(self->space, input, (size_t)(param - ST_PARAM_VIRTUAL)))
        return false;
    if (column == NULL || self->alias_count == MAX_ALIASES)
        return false;
    if (self->columns[param] == NULL)
        self->columns[param] = column;
    else
        self->aliases[self->alias_count++] = (alias){.column = column, .param = param};
    return true;
}

/* Where axes make few combinations, what depends on them alone is computed once for each. */
static bool slow_axes(st_search_worker *self)
{
    const st_search *search = self->search;
    const st_space *space = search->space;
    self->by_axes = self->runs != NULL && space->total > 1 && self->space->inner == 0 &&
                    search->rows == search->total;
    for (size_t i = 0; i < space->driven_count && self->by_axes; i++)
        if (!st_space_worker_slow(self->space, space->driven[i].input))
            return false;
    return true;
}

/* Columns for the plan parameters that the sheet reads. */
static bool add_columns(st_search_worker *self)
{
    const st_search *search = self->search;
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(search->space->sheet, &count);
    for (st_plan_param param = ST_PARAM_NODES; param < ST_PARAMS; param++) {
        for (size_t i = 0; i < count; i++)
            if (strcmp(inputs[i].from, st_plan_param_key(param)) == 0 &&
                !add_column(self, param, i))
                return false;
    }
    static const st_plan_param groups[ST_SPACE_ORDER_GROUPS] = {ST_PARAM_TP, ST_PARAM_CP,
                                                                ST_PARAM_DP, ST_PARAM_PP};
    for (size_t i = 0; i < ST_SPACE_ORDER_GROUPS; i++)
        self->space->group_sizes[i] = self->columns[groups[i]];
    return true;
}

st_search_worker *st_search_worker_create(const st_search *search)
{
    st_space_worker *space = st_space_worker_create(search->space);
    st_search_worker *made = space != NULL ? st_arena_alloc(space->arena, 1, sizeof *made) : NULL;
    if (made != NULL)
        *made = (st_search_worker){.search = search, .space = space};
    if (made != NULL) {
        st_arena *arena = made->space->arena;
        made->picks = st_arena_alloc(arena, ST_SPACE_MOST_ROWS, sizeof *made->picks);
        if (!made->search->node_size.given && made->search->space->variant_count == 1)
            made->runs = st_arena_alloc(arena, ST_SPACE_MOST_ROWS, sizeof *made->runs);
        if (st_search_has_infeasible(made->search)) {
            made->plans = st_arena_alloc(arena, ST_SPACE_MOST_ROWS, sizeof *made->plans);
            made->infeasible = st_arena_alloc(arena, ST_SPACE_MOST_ROWS, sizeof *made->infeasible);
            made->space->infeasible = made->infeasible;
        }
        if (!st_arena_failed(arena) && slow_axes(made) && add_columns(made))
            return made;
    }
    st_space_worker_destroy(space);
    return NULL;
}

void st_search_worker_destroy(st_search_worker *self)
{
    if (self != NULL)
        st_space_worker_destroy(self->space);
}

st_status st_search_values(const st_search *search, const uint64_t *picks, size_t count,
                           double *values)
{
    size_t cells = search->space->cell_count;
    st_search_worker *worker = st_search_worker_create(search);
    if (worker == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        st_space_worker *space = st_search_worker_fill(worker, &picks[i], 0, 1);
        st_space_compute(space, 1);
        for (size_t k = 0; k < cells; k++)
            values[i * cells + k] = space->outputs[k][0];
    }
    st_search_worker_destroy(worker);
    return ST_OK;
}
