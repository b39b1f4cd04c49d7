/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said of every plan without asking the plugins. */
#include "search/guided/run.h"

#include "sweep/threads.h"
#include "program/instructions.h"

#include <math.h>
#include <stdatomic.h>

/* One thread. */
typedef struct scanner {
    const st_search *search;
    st_search_worker *worker;
    st_bounds **bounds; /* per variant */
    double *inputs;
    st_range *outputs;
    st_range *checks;
    st_results found; /* reasons and the nearest plan */
    uint64_t ruled_out;
} scanner;

static bool make_scanner(const st_guided_run *run, st_search_worker *worker, scanner *made)
{
    st_arena *arena = run->arena;
    const st_space *space = run->search->space;
    *made = (scanner){
        .search = run->search,
        .worker = worker,
        .bounds = st_arena_alloc(arena, space->variant_count + 1, sizeof *made->bounds),
        .inputs = st_arena_alloc(arena, space->base.input_count + 1, sizeof *made->inputs),
        .outputs = st_arena_alloc(arena, st_space_outputs(space) + 1, sizeof *made->outputs),
        .checks = st_arena_alloc(arena, space->check_count + 1, sizeof *made->checks)};
    for (size_t i = 0; !st_arena_failed(arena) && i < space->variant_count; i++) {
        const st_variant *variant = &space->variants[i];
        const st_program *program = variant->whole != NULL ? variant->whole : variant->program;
        made->bounds[i] =
            st_bounds_create(program, program->options.providers, variant->plugin_count, arena);
    }
    return !st_arena_failed(arena) &&
           st_results_make(&made->found, 0, false, st_reason_count(space), space->arena);
}

static bool is_none(st_range range)
{
    return range.low != range.low;
}

static bool is_certain(const st_bounds *bounds, size_t check, st_range range, double value)
{
    return range.low == value && range.high == value && !st_bounds_check_is_open(bounds, check);
}

/* Whether nothing can reject the row any more. */
static bool is_safe(const scanner *self, const st_bounds *bounds)
{
    const st_space *space = self->search->space;
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(space->sheet, &count);
    for (size_t i = 0; i < count; i++) {
        bool holds = checks[i].warning ? !st_bounds_check_is_open(bounds, i)
                                       : is_certain(bounds, i, self->checks[i], 1);
        if (!holds)
            return false;
    }
    for (size_t i = 0; i < space->cell_count; i++)
        if (st_bounds_output_is_open(bounds, i))
            return false;
    return true;
}

static void scan_row(scanner *self, st_plan_states *states, const st_space_worker *worker,
                     uint64_t first, size_t row)
{
    const st_search *search = self->search;
    double faults = 0;
    size_t variant = st_space_row_inputs(worker, row, self->inputs);
    bool lacks = st_space_order_lacks(worker, variant, row);
    const st_bounds *bounds = self->bounds[variant];
    st_bounds_run(self->bounds[variant], self->inputs, self->outputs, self->checks);
    bool infeasible = worker->infeasible != NULL && worker->infeasible[row];
    /* Why a row fails for certain, whatever providers say; ST_REASON_NONE: it does not. */
    const st_space *space = self->search->space;
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(space->sheet, &count);
    uint32_t fault_reason = ST_REASON_NONE;
    bool missing = false;
    faults = 0;
    for (size_t i = count; i-- > 0;) {
        missing = missing || is_none(self->checks[i]);
        if (!checks[i].warning && self->checks[i].high == 0) {
            fault_reason = (uint32_t)i + 1;
            faults += 1;
        }
    }
    for (size_t i = 0; i < space->cell_count; i++)
        missing = missing || is_none(self->outputs[i]);
    uint32_t reason = fault_reason == ST_REASON_NONE && missing
                          ? (uint32_t)st_reason_no_value(space)
                          : fault_reason;
    if (lacks || infeasible) {
        reason = (uint32_t)(infeasible ? st_reason_infeasible(search->space)
                                       : st_reason_order(search->space));
        faults += infeasible ? ST_INFEASIBLE_CHECKS : 1;
    }
    uint64_t at = first + row;
    if (reason != ST_REASON_NONE) {
        double near = self->outputs[search->near].low;
        states->marks[at] = ST_OUTCOME_FAILS;
        self->found.reasons[reason]++;
        self->ruled_out++;
        st_rank_add_nearest(&self->found, at, faults, near);
        return;
    }
    states->marks[at] = is_safe(self, bounds) ? ST_OUTCOME_PASSES : ST_OUTCOME_OPEN;
    double floor = search->floor > 0 ? self->outputs[search->floor].low : -HUGE_VAL;
    double least = st_bounds_least(self->bounds[variant], 0);
    double low = fmax(floor, fmax(least, self->outputs[0].low));
    states->low[at] = low;
    states->high[at] = self->outputs[0].high;
}

static bool has_plugins(const st_space *space)
{
    for (size_t i = 0; i < space->variant_count; i++)
        if (space->variants[i].plugin_count > 0)
            return true;
    return false;
}

static void scan_block(scanner *self, st_plan_states *states, uint64_t first, size_t rows)
{
    st_space_worker *worker = st_search_worker_fill(self->worker, NULL, first, rows);
    if (has_plugins(self->search->space)) {
        for (size_t row = 0; row < rows; row++)
            scan_row(self, states, worker, first, row);
        return;
    }
    worker->all_checks = true;
    st_space_compute(worker, rows);
    for (size_t row = 0; row < rows; row++) {
        st_trial trial = {.row = first + row};
        st_guided_read(self->search, worker, row, &trial);
        /* A row of a block that was computed: where no plugin takes part everything is known. */
        if (trial.reason != ST_REASON_NONE) {
            states->marks[trial.row] = ST_OUTCOME_FAILS;
            self->found.reasons[trial.reason]++;
            self->ruled_out++;
            st_rank_add_nearest(&self->found, trial.row, trial.faults, trial.near);
            continue;
        }
        states->marks[trial.row] = ST_OUTCOME_PASSES;
        states->low[trial.row] = trial.goal;
        states->high[trial.row] = trial.goal;
    }
}

static void scan_blocks(st_guided_run *run, scanner *scanners)
{
    const st_search *search = run->search;
    int64_t blocks = (int64_t)((search->rows + ST_SPACE_BLOCK - 1) / ST_SPACE_BLOCK);
    atomic_bool stop = false;
#ifdef STEPTIME_HAVE_OPENMP
#pragma omp parallel for schedule(dynamic, 4) num_threads(run->threads)
#endif
    for (int64_t block = 0; block < blocks; block++) {
        if (atomic_load(&stop) || st_guided_owner(run, (uint64_t)block) != run->processes->rank)
            continue;
        scanner *one = &scanners[st_thread_number()];
        uint64_t first = (uint64_t)block * ST_SPACE_BLOCK;
        uint64_t left = search->rows - first;
        size_t rows = left < ST_SPACE_BLOCK ? (size_t)left : ST_SPACE_BLOCK;
        scan_block(one, &run->states, first, rows);
        if (st_guided_is_interrupted(run))
            atomic_store(&stop, true);
    }
    run->interrupted = atomic_load(&stop);
}

st_status st_guided_scan(st_guided_run *run)
{
    scanner *scanners = st_arena_alloc(run->arena, (size_t)run->threads, sizeof *scanners);
    for (int i = 0; i < run->threads; i++)
        if (scanners == NULL || !make_scanner(run, run->workers[i], &scanners[i]))
            return ST_ERR_MEMORY;
    scan_blocks(run, scanners);
    run->result->guided.scanned = true;
    run->result->guided.declared = run->search->floor > 0 && has_plugins(run->search->space);
    for (int i = 0; i < run->threads; i++) {
        st_results_merge(&run->result->found, &scanners[i].found);
        run->result->guided.ruled_out += scanners[i].ruled_out;
    }
    st_status status = st_guided_share_scan(run);
    return status == ST_OK ? st_guided_share_states(run) : status;
}
