/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches that do not compute every plan; see search/guided.h. Plans are computed in batches of
 * one size, whose order depends on nothing but what is known, so that neither threads nor processes
 * affect the result.
 *
 * The parts of a run call each other: methods and the scan have plans computed and noted here, and
 * processes share what each of them finds.
 */
#include "base/dimension.h"
#include "program/instructions.h"
#include "search/guided/guided_module.h"
#include "search/guided/lattice.h"
#include "search/guided/run.h"
#include "search/guided/walks.h"
#include "sweep/threads.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static st_status st_guided_scan(st_guided_run *run);
static st_status st_guided_walk(st_guided_run *run);

static void say_count(uint64_t count, const char *what, st_node *root)
{
    if (count > 0)
        st_say(root, "  %10" PRIu64 "  %s\n", count, what);
}

static void say_rule(size_t rule, const st_rule_result *result, st_node *root)
{
    static const char *const states[] = {
        [ST_RULE_IDLE] = "nothing to skip",
        [ST_RULE_PROVEN] = "holds for all pairs of plans",
        [ST_RULE_OPEN] = "declared: plugins may contradict it",
        [ST_RULE_BROKEN] = "not used: it does not hold",
    };
    const char *state = states[result->state];
    if (result->state == ST_RULE_OPEN && !result->applied)
        state = "not used: it depends on plugins";
    st_say(root, "  %10" PRIu64 "  skipped by rule '%s', %s; %s", result->skipped,
           st_rule_name(rule), st_rule_doc(rule), state);
    if (result->broken > 0)
        st_say(root, " for %" PRIu64 " of %" PRIu64 " pairs of plans", result->broken,
               result->pairs);
    st_say(root, "\n");
}

void st_guided_put(const st_search_view *view, st_node *root)
{
    const st_guided *guided = &view->result->guided;
    bool pruned = view->search->request.guide.pruning != ST_PRUNING_NONE;
    st_node *node = st_put_map(root, "guided");
    st_put_count(node, "computed", guided->computed);
    st_put_count(node, "best_at", guided->best_at);
    st_put_count(node, "ruled_out", guided->ruled_out);
    st_put_count(node, "cut", guided->cut);
    st_put_count(node, "untried", guided->untried);
    st_put_number(node, "gap", st_search_gap(view->search, view->result));
    st_put_text(node, "bound",
                !guided->scanned   ? "none"
                : guided->declared ? "declared"
                                   : "proven");
    if (pruned) {
        static const char *const states[] = {[ST_RULE_IDLE] = "idle",
                                             [ST_RULE_PROVEN] = "proven",
                                             [ST_RULE_OPEN] = "open",
                                             [ST_RULE_BROKEN] = "broken"};
        st_node *list = st_put_list(node, "rules");
        for (size_t i = 0; i < ST_RULES; i++) {
            const st_rule_result *rule = &guided->rules[i];
            st_node *row = st_put_line_map(list, NULL);
            st_put_text(row, "name", st_rule_name(i));
            st_put_text(row, "state", states[rule->state]);
            st_put_bool(row, "applied", rule->applied);
            st_put_count(row, "pairs", rule->pairs);
            st_put_count(row, "broken", rule->broken);
            st_put_count(row, "skipped", rule->skipped);
        }
    }
    const st_guided *method_guided = &view->result->guided;
    st_say(node, "\nSearch statistics\n");
    say_count(method_guided->computed, "computed", node);
    if (st_method_is_walk(view->search->request.guide.method))
        say_count(method_guided->best_at, "of them up to the best one", node);
    say_count(method_guided->ruled_out, "not computed: they fail a check for any result of plugins",
              node);
    say_count(method_guided->cut, "not computed: their bounds exclude them from the best", node);
    for (size_t i = 0; i < ST_RULES && view->search->request.guide.pruning != ST_PRUNING_NONE; i++)
        say_rule(i, &method_guided->rules[i], node);
    say_count(method_guided->untried, "not considered", node);
    const st_guided *promise_guided = &view->result->guided;
    double gap = st_search_gap(view->search, view->result);
    if (gap == 0) {
        st_say(node, "No other plan is better");
    } else if (gap != gap) {
        st_say(node, "The gap to the best plan is unknown\n");
        return;
    } else {
        st_say(node, "Another plan may be up to %.3g %% better", 100 * gap);
    }
    bool plugins = view->search->space->variants[0].plugin_count > 0;
    st_say(node, ": %s\n",
           promise_guided->declared ? "from a cell that was declared to be a bound"
           : plugins                ? "proven, because results of plugins are never negative"
                                    : "proven");
}

/* Limit of plans with individual states. */
static const uint64_t most_rows = UINT64_C(1) << 24;

static st_status check(const st_search *search, st_errors *errors)
{
    const st_guide *guide = &search->request.guide;
    bool every = guide->method == ST_METHOD_BOUND || guide->pruning != ST_PRUNING_NONE;
    if (guide->method == ST_METHOD_EXHAUSTIVE && guide->floor != NULL)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "--bound has no effect on an exhaustive search" ST_EXPECTED
                       "--method bound or --method cmaes");
    if (!st_guide_is_given(guide))
        return ST_OK;
    if (search->request.space.sample > 0)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "--sample computes all of its plans" ST_EXPECTED
                       "--method exhaustive and no --prune");
    if (search->request.front[0] != NULL)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "a Pareto front requires every plan" ST_EXPECTED
                       "--method exhaustive and no --prune");
    if (every && search->rows > most_rows)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = "--vary"},
                       "%llu plans are too many" ST_EXPECTED
                       "at most 16777216 for --method bound and --prune",
                       (unsigned long long)search->rows);
    /* A bound of another kind than the goal bounds nothing. */
    const st_type *goal = search->space->types[0];
    const st_type *floor = search->space->types[search->floor];
    if (search->floor == 0 || (goal->kind == floor->kind &&
                               st_dimension_equal(goal->unit.dimension, floor->unit.dimension)))
        return ST_OK;
    return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                   "--bound: '%.60s' has another unit or type than '%.60s'" ST_EXPECTED
                   "a cell that is a lower bound of the minimised cell",
                   search->request.guide.floor, search->goal);
}

/* --- what was found -------------------------------------------------------------------------- */

/* Whether a rule excludes the row; records it. */
static bool st_guided_skip(st_guided_run *run, uint64_t row)
{
    st_rule_result *rules = run->result->guided.rules;
    if (run->search->request.guide.pruning == ST_PRUNING_NONE || run->states.marks == NULL)
        return false;
    size_t rule =
        st_rules_skip(run->search, &run->states, rules, row, st_rank_worst(&run->result->found));
    if (rule == ST_RULES)
        return false;
    rules[rule].skipped++;
    run->states.marks[row] |= ST_STATE_SKIPPED;
    if (st_rule_rejects(rule))
        run->states.marks[row] |= ST_STATE_FAILED;
    return true;
}

/* --- batches --------------------------------------------------------------------------------- */

/* What a worker says of a row that it has computed, with all checks. */
static void st_guided_read(const st_search *search, const st_space_worker *worker, size_t row,
                           st_trial *trial)
{
    trial->reason = worker->reasons[row];
    trial->goal = worker->outputs[0][row];
    trial->near = worker->outputs[search->near][row];
    trial->faults = st_search_failing(search->space, worker, row);
}

/* Some of the batch, by one thread. */
static void compute_some(st_guided_run *run, size_t first, size_t count)
{
    uint64_t picks[ST_GUIDED_BATCH];
    for (size_t i = 0; i < count; i++)
        picks[i] = run->trials[first + i].row;
    st_space_worker *worker =
        st_search_worker_fill(run->workers[st_thread_number()], picks, 0, count);
    worker->all_checks = true;
    st_space_compute(worker, count);
    for (size_t i = 0; i < count; i++)
        st_guided_read(run->search, worker, i, &run->trials[first + i]);
}

static st_status note_trial(st_guided_run *run, const st_trial *trial)
{
    st_results *found = &run->result->found;
    bool passes = trial->reason == ST_REASON_NONE;
    run->result->guided.computed++;
    if (passes) {
        st_rank_add(found, &(st_found){.row = trial->row, .goal = trial->goal});
        found->kept++;
        const double goal = trial->goal;
        const uint64_t at = run->result->guided.computed;
        size_t place = run->best_count;
        while (place > 0 && goal < run->best[place - 1])
            place--;
        if (place == ST_GUIDED_STANDING) {
            run->unchanged++;
        } else {
            if (run->best_count < ST_GUIDED_STANDING)
                run->best_count++;
            memmove(&run->best[place + 1], &run->best[place],
                    (run->best_count - 1 - place) * sizeof *run->best);
            run->best[place] = goal;
            run->unchanged = 0;
            if (place == 0)
                run->result->guided.best_at = at;
        }
    } else {
        found->reasons[trial->reason]++;
        st_rank_add_nearest(found, trial->row, trial->faults, trial->near);
    }
    return st_plan_states_note(&run->states, trial->row, passes, trial->goal) ? ST_OK
                                                                              : ST_ERR_MEMORY;
}

/* Computes what is in the batch; the trials stay until the next one is added. */
static st_status st_guided_compute(st_guided_run *run)
{
    enum { CHUNK = 8 };
    int chunks = (int)((run->trial_count + CHUNK - 1) / CHUNK);
#ifdef STEPTIME_HAVE_OPENMP
#pragma omp parallel for schedule(dynamic) num_threads(run->threads)
#endif
    for (int chunk = 0; chunk < chunks; chunk++) {
        size_t first = (size_t)chunk * CHUNK;
        size_t left = run->trial_count - first;
        if (st_guided_owner(run, (uint64_t)chunk) == run->processes->rank)
            compute_some(run, first, left < CHUNK ? left : CHUNK);
    }
    for (size_t i = 0; i < run->trial_count; i++)
        run->own += st_guided_owner(run, i / CHUNK) == run->processes->rank ? 1 : 0;
    st_status status = run->trial_count > 0 ? st_guided_share_batch(run, CHUNK) : ST_OK;
    for (size_t i = 0; i < run->trial_count && status == ST_OK; i++)
        status = note_trial(run, &run->trials[i]);
    run->trial_count = 0;
    return status;
}

/* Adds a row to the batch; computes the batch when it is full. */
static st_status st_guided_try(st_guided_run *run, uint64_t row)
{
    run->trials[run->trial_count++].row = row;
    return run->trial_count == ST_GUIDED_BATCH ? st_guided_compute(run) : ST_OK;
}

/* Whether the user interrupted this process. */
static bool st_guided_is_interrupted(const st_guided_run *run)
{
    const st_search_watch *watch = run->watch;
    return watch->interrupted != NULL && *watch->interrupted != 0;
}

static bool st_guided_stop(st_guided_run *run)
{
    const st_search_watch *watch = run->watch;
    if (watch->progress != NULL && run->processes->rank == 0)
        watch->progress(watch->context, run->result->guided.computed, run->search->rows);
    /* Several processes agree with every batch. */
    run->interrupted =
        run->interrupted || (run->processes->count == 1 && st_guided_is_interrupted(run));
    return run->interrupted;
}

/* --- orders ---------------------------------------------------------------------------------- */

typedef struct place {
    double key;
    uint64_t row;
} place;

ST_COMPARE(compare_places, place, ST_RISING(key) ST_RISING(row));

/* All rows that may pass, the least bound first; or all rows, those first that exclude others. */
static st_status list_places(const st_guided_run *run, bool by_bound, place **list, size_t *count)
{
    place *made = st_arena_alloc(run->arena, (size_t)run->search->rows + 1, sizeof *made);
    if (made == NULL || (by_bound && run->states.marks == NULL))
        return ST_ERR_MEMORY;
    *count = 0;
    for (uint64_t row = 0; row < run->search->rows; row++) {
        if (by_bound && st_plan_states_outcome(&run->states, row) == ST_OUTCOME_FAILS)
            continue;
        double key = by_bound ? run->states.low[row]
                              : st_rules_rank(run->search, run->result->guided.rules, row);
        made[(*count)++] = (place){.key = key, .row = row};
    }
    qsort(made, *count, sizeof *made, compare_places);
    *list = made;
    return ST_OK;
}

/* --- methods --------------------------------------------------------------------------------- */

/* Whether no plan with that bound, or one after it, can be among the best. */
static bool is_beyond(const place *next, const st_found *worst)
{
    return worst != NULL &&
           (next->key > worst->goal || (next->key == worst->goal && next->row > worst->row));
}

/* The least bound first, until none is below what was found. */
static st_status run_bound(st_guided_run *run)
{
    place *list = NULL;
    size_t count = 0;
    st_status status = list_places(run, true, &list, &count);
    size_t next = 0;
    while (next < count && status == ST_OK &&
           !is_beyond(&list[next], st_rank_worst(&run->result->found)) &&
           !(run->trial_count == 0 && st_guided_stop(run))) {
        uint64_t row = list[next++].row;
        if (!st_guided_skip(run, row))
            status = st_guided_try(run, row);
    }
    if (status == ST_OK)
        status = st_guided_compute(run);
    if (!run->interrupted)
        run->result->guided.cut = count - next;
    return status;
}

static st_status run_method(st_guided_run *run)
{
    switch (run->search->request.guide.method) {
    case ST_METHOD_BOUND:
        return run_bound(run);
    case ST_METHOD_CMAES:
    case ST_METHOD_RANDOM:
    case ST_METHOD_EVOLUTION:
    case ST_METHOD_BAYES:
        return st_guided_walk(run);
    case ST_METHOD_EXHAUSTIVE:
        break;
    }
    /* Every plan except those that a rule excludes. */
    place *list = NULL;
    size_t count = 0;
    st_status status = list_places(run, false, &list, &count);
    memset(run->result->found.reasons, 0, run->result->found.reason_count * sizeof(uint64_t));
    run->result->guided.ruled_out = 0; /* it computes those, too */
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        bool turn = i > 0 && list[i].key != list[i - 1].key;
        if (turn)
            status = st_guided_compute(run);
        if (run->trial_count == 0 && st_guided_stop(run))
            break;
        if (status == ST_OK && !st_guided_skip(run, list[i].row))
            status = st_guided_try(run, list[i].row);
    }
    return status == ST_OK ? st_guided_compute(run) : status;
}

/* --- the whole ------------------------------------------------------------------------------- */

static void release_worker(void *worker)
{
    st_search_worker_destroy(worker);
}

static bool make_workers(st_guided_run *run)
{
    run->threads = st_threads(run->search->request.threads);
    run->workers = st_arena_alloc(run->arena, (size_t)run->threads, sizeof *run->workers);
    for (int i = 0; run->workers != NULL && i < run->threads; i++) {
        run->workers[i] = st_search_worker_create(run->search);
        if (run->workers[i] == NULL)
            return false;
        if (!st_arena_defer(run->arena, release_worker, run->workers[i])) {
            st_search_worker_destroy(run->workers[i]);
            return false;
        }
    }
    return run->workers != NULL;
}

static bool make_run(st_guided_run *run)
{
    const st_search *search = run->search;
    const st_guide *guide = &search->request.guide;
    bool dense = search->rows <= most_rows || guide->method == ST_METHOD_BOUND ||
                 guide->pruning != ST_PRUNING_NONE;
    return run->arena != NULL && make_workers(run) &&
           st_results_make(&run->result->found, st_search_ranked(search), false,
                           st_reason_count(search->space), search->space->arena) &&
           st_plan_states_make(&run->states, search->rows, dense, run->arena);
}

static st_status run_guided(const st_search *search, const st_processes *processes,
                            const st_search_watch *watch, st_search_result *result,
                            st_errors *errors)
{
    st_guided_run run = {.arena = st_arena_create(),
                         .search = search,
                         .processes = processes,
                         .watch = watch,
                         .result = result};
    st_status status = make_run(&run) ? ST_OK : ST_ERR_MEMORY;
    if (status == ST_OK && run.states.marks != NULL)
        status = st_guided_scan(&run);
    if (status == ST_OK && search->request.guide.pruning != ST_PRUNING_NONE && !run.interrupted)
        st_rules_check(search, &run.states, result->guided.rules);
    if (status == ST_OK && !run.interrupted)
        status = run_method(&run);
    if (status == ST_OK) {
        st_search_result *over_result = run.result;
        st_guided *guided = &over_result->guided;
        uint64_t settled = guided->computed + guided->ruled_out + guided->cut;
        for (size_t i = 0; i < ST_RULES; i++)
            settled += guided->rules[i].skipped;
        guided->used = true;
        guided->untried = run.search->rows - settled;
        over_result->found.done = settled;
        over_result->own_done = run.own;
        over_result->threads = run.threads;
        over_result->interrupted = run.interrupted;
        over_result->found.has_nearest =
            over_result->found.has_nearest && over_result->found.kept == 0;
        /* What is still possible among the plans that were not computed. */
        st_guided *floor_guided = &run.result->guided;
        unsigned floor_settled = ST_STATE_COMPUTED | ST_STATE_SKIPPED;
        floor_guided->has_floor = floor_guided->scanned;
        floor_guided->floor = HUGE_VAL;
        for (uint64_t row = 0; floor_guided->scanned && row < run.search->rows; row++) {
            bool open = st_plan_states_outcome(&run.states, row) != ST_OUTCOME_FAILS &&
                        (run.states.marks[row] & floor_settled) == 0;
            if (open && run.states.low[row] < floor_guided->floor)
                floor_guided->floor = run.states.low[row];
        }
    }
    st_arena_destroy(run.arena);
    if (status != ST_OK)
        st_fail(errors, status, (st_place){0}, "%s",
                status == ST_ERR_IO ? "lost connection between the processes"
                                    : st_status_text(status));
    return status;
}

static const st_guided_methods methods = {.check = check, .run = run_guided, .put = st_guided_put};
const st_guided_methods *const st_guided_module = &methods;

/* ---- what holds of every plan ---- */

/* What can be said of every plan without asking the plugins. */

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

/* Bounds and outcomes of all rows. */
static st_status st_guided_scan(st_guided_run *run)
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

/* ---- several processes ---- */

/*
 * Several processes that share a guided search. What is computed next depends on all that was found
 * before, so that every process walks the same way; but each computes only its share of every batch
 * and of the scan, and sends them to the others. They also agree on interrupts, which reach one
 * before another.
 */

/* Bytes of every process, one behind the other; NULL when out of memory or out of touch. */
static unsigned char *gather(const st_guided_run *run, const void *own, size_t bytes,
                             st_status *status)
{
    const st_processes *processes = run->processes;
    unsigned char *all = calloc((size_t)processes->count, bytes);
    *status = all != NULL ? ST_OK : ST_ERR_MEMORY;
    if (all != NULL && processes->gather(processes->context, own, bytes, all) != 0) {
        *status = ST_ERR_IO;
        free(all);
        all = NULL;
    }
    return all;
}

/* --- batches --------------------------------------------------------------------------------- */

typedef struct batch_message {
    uint64_t interrupted;
    st_trial trials[ST_GUIDED_BATCH];
} batch_message;

st_status st_guided_share_batch(st_guided_run *run, size_t chunk)
{
    st_status status = ST_OK;
    batch_message own = {.interrupted = st_guided_is_interrupted(run) ? 1 : 0};
    if (run->processes->count == 1)
        return ST_OK;
    memcpy(own.trials, run->trials, run->trial_count * sizeof *own.trials);
    unsigned char *all = gather(run, &own, sizeof own, &status);
    for (int i = 0; all != NULL && i < run->processes->count; i++) {
        batch_message one;
        memcpy(&one, all + (size_t)i * sizeof one, sizeof one);
        run->interrupted = run->interrupted || one.interrupted != 0;
        for (size_t k = 0; k < run->trial_count; k++)
            if (st_guided_owner(run, k / chunk) == i)
                run->trials[k] = one.trials[k];
    }
    free(all);
    return status;
}

/* --- the scan -------------------------------------------------------------------------------- */

/* What is known of one row, packed without gaps. */
enum { ROW_BYTES = 2 * sizeof(double) + 1, TURNS = 32 };

static void pack_row(const st_plan_states *states, uint64_t row, unsigned char *to)
{
    memcpy(to, &states->low[row], sizeof(double));
    memcpy(to + sizeof(double), &states->high[row], sizeof(double));
    to[ROW_BYTES - 1] = states->marks[row];
}

static void unpack_row(st_plan_states *states, uint64_t row, const unsigned char *from)
{
    memcpy(&states->low[row], from, sizeof(double));
    memcpy(&states->high[row], from + sizeof(double), sizeof(double));
    states->marks[row] = from[ROW_BYTES - 1];
}

/* Rows of the blocks from `first` on that one process scanned, in its message or out of it. */
static void copy_blocks(st_plan_states *states, const st_guided_run *run, uint64_t first, int rank,
                        unsigned char *message, bool pack)
{
    uint64_t step = (uint64_t)run->processes->count;
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        uint64_t start = (first + turn * step + (uint64_t)rank) * ST_SPACE_BLOCK;
        for (uint64_t row = 0; row < ST_SPACE_BLOCK && start + row < states->rows; row++) {
            unsigned char *at = message + (turn * ST_SPACE_BLOCK + row) * ROW_BYTES;
            if (pack)
                pack_row(states, start + row, at);
            else
                unpack_row(states, start + row, at);
        }
    }
}

st_status st_guided_share_states(st_guided_run *run)
{
    const size_t bytes = (size_t)TURNS * ST_SPACE_BLOCK * ROW_BYTES;
    const int count = run->processes->count;
    uint64_t blocks = (run->states.rows + ST_SPACE_BLOCK - 1) / ST_SPACE_BLOCK;
    unsigned char *own = count > 1 ? calloc(1, bytes) : NULL;
    st_status status = count > 1 && own == NULL ? ST_ERR_MEMORY : ST_OK;
    for (uint64_t first = 0; count > 1 && first < blocks && status == ST_OK;
         first += (uint64_t)count * TURNS) {
        copy_blocks(&run->states, run, first, run->processes->rank, own, true);
        unsigned char *all = gather(run, own, bytes, &status);
        for (int i = 0; all != NULL && i < count; i++)
            copy_blocks(&run->states, run, first, i, all + (size_t)i * bytes, false);
        free(all);
    }
    free(own);
    return status;
}

typedef struct scan_head {
    uint64_t interrupted;
    uint64_t ruled_out;
} scan_head;

st_status st_guided_share_scan(st_guided_run *run)
{
    st_results *found = &run->result->found;
    size_t bytes = sizeof(scan_head) + st_results_bytes(found);
    st_status status = ST_OK;
    if (run->processes->count == 1)
        return ST_OK;
    scan_head head = {.interrupted = run->interrupted ? 1 : 0,
                      .ruled_out = run->result->guided.ruled_out};
    unsigned char *own = calloc(1, bytes);
    if (own == NULL)
        return ST_ERR_MEMORY;
    memcpy(own, &head, sizeof head);
    st_results_pack(found, own + sizeof head);
    unsigned char *all = gather(run, own, bytes, &status);
    st_results_clear(found);
    run->result->guided.ruled_out = 0;
    for (int i = 0; all != NULL && i < run->processes->count; i++) {
        unsigned char *one = all + (size_t)i * bytes;
        memcpy(&head, one, sizeof head);
        run->interrupted = run->interrupted || head.interrupted != 0;
        run->result->guided.ruled_out += head.ruled_out;
        st_results_merge_packed(found, one + sizeof head);
    }
    free(all);
    free(own);
    return status;
}

/* ---- walks ---- */

/*
 * Search by a walk over the lattice of choices: CMA-ES, random, evolution, Bayesian (walks.h).
 * Plans that fail rank behind those that pass, by the number of checks that fail and by how far
 * they are from fitting; plans that are known already are not computed again. Where a generation
 * brings nothing new it begins anew, with more points.
 */

/* A point of a generation: its plan and its worth; the least is best. */
typedef struct member {
    uint64_t row;
    double faults; /* 0: it passes; infinite: it was skipped */
    double value;
    size_t index;
} member;

typedef struct swarm {
    st_guided_run *run;
    st_lattice lattice;
    st_walk *walk;
    member *members;
    size_t *order;
    double *worth; /* by point */
    size_t capacity;
    uint64_t budget;
    unsigned idle;   /* generations in a row that brought nothing, since it last began anew */
    unsigned barren; /* the same over all beginnings */
} swarm;

ST_COMPARE(compare_members, member, ST_RISING(faults) ST_RISING(value) ST_RISING(index));

static bool make_room(swarm *self)
{
    size_t count = st_walk_count(self->walk);
    if (count <= self->capacity && self->members != NULL)
        return true;
    self->members = st_arena_alloc(self->run->arena, count + 1, sizeof *self->members);
    self->order = st_arena_alloc(self->run->arena, count + 1, sizeof *self->order);
    self->worth = st_arena_alloc(self->run->arena, count + 1, sizeof *self->worth);
    self->capacity = count;
    return self->members != NULL && self->order != NULL && self->worth != NULL;
}

/* Whether a plan is worth a trial. */
static bool is_new(swarm *self, uint64_t row)
{
    st_guided_run *run = self->run;
    if (st_plan_states_is_computed(&run->states, row))
        return false;
    if (run->states.marks == NULL)
        return true;
    bool skipped = (run->states.marks[row] & ST_STATE_SKIPPED) != 0;
    return !skipped && st_plan_states_outcome(&run->states, row) != ST_OUTCOME_FAILS &&
           !st_guided_skip(run, row);
}

static bool is_in_batch(const st_guided_run *run, uint64_t row)
{
    for (size_t i = 0; i < run->trial_count; i++)
        if (run->trials[i].row == row)
            return true;
    return false;
}

static st_status flush(swarm *self)
{
    st_guided_run *run = self->run;
    size_t count = run->trial_count;
    st_status status = st_guided_compute(run);
    /* The trials of a batch belong to the members from `first` on that have their rows. */
    const st_trial *trials = run->trials;
    size_t members = st_walk_count(self->walk);
    for (size_t i = 0; i < members; i++) {
        for (size_t k = 0; k < count; k++) {
            if (self->members[i].row == trials[k].row) {
                bool passes = trials[k].reason == ST_REASON_NONE;
                double near = isfinite(trials[k].near) ? trials[k].near : HUGE_VAL;
                self->members[i].faults = passes ? 0 : 1 + trials[k].faults;
                self->members[i].value = passes ? trials[k].goal : near;
            }
        }
    }
    return status;
}

/* One generation; `fresh`: plans that it computed. */
static st_status run_generation(swarm *self, uint64_t *fresh)
{
    st_guided_run *run = self->run;
    size_t count = st_walk_count(self->walk);
    const double *points = st_walk_draw(self->walk);
    uint64_t before = run->result->guided.computed;
    st_status status = ST_OK;
    for (size_t i = 0; i < count; i++) {
        member *one = &self->members[i];
        one->row = st_lattice_row(&self->lattice, points + i * self->lattice.dimension);
        one->index = i;
        /* What a plan that was settled before is worth. */
        const st_plan_states *states = &self->run->states;
        bool dense = states->marks != NULL;
        bool passed = dense && (states->marks[one->row] & ST_STATE_PASSED) != 0;
        one->faults = passed ? 0 : HUGE_VAL;
        one->value = passed ? states->low[one->row] : HUGE_VAL;
    }
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        bool room = run->result->guided.computed + run->trial_count < self->budget;
        if (!room || is_in_batch(run, self->members[i].row) || !is_new(self, self->members[i].row))
            continue;
        run->trials[run->trial_count++].row = self->members[i].row;
        if (run->trial_count == ST_GUIDED_BATCH)
            status = flush(self);
    }
    if (status == ST_OK)
        status = flush(self);
    qsort(self->members, count, sizeof *self->members, compare_members);
    for (size_t i = 0; i < count; i++) {
        const member *one = &self->members[i];
        self->order[i] = one->index;
        self->worth[one->index] = one->faults == 0 ? one->value : HUGE_VAL;
    }
    *fresh = run->result->guided.computed - before;
    return status;
}

/* Goes on, or elsewhere where nothing new comes or the distribution has shrunk. */
static st_status move_on(swarm *self, uint64_t fresh)
{
    enum { MOST_IDLE = 8 };
    st_walk_tell(self->walk, self->order, self->worth);
    self->idle = fresh > 0 ? 0 : self->idle + 1;
    self->barren = fresh > 0 ? 0 : self->barren + 1;
    if (self->idle < MOST_IDLE && !st_walk_is_spent(self->walk))
        return ST_OK;
    self->idle = 0;
    bool good = st_walk_restart(self->walk) && make_room(self);
    return good ? ST_OK : ST_ERR_MEMORY;
}

static st_status run_generations(swarm *self)
{
    /* Of a small space everything is soon known, and chance alone would not end the search. */
    enum { MOST_BARREN = 100 };
    const uint64_t most = 100 + 10 * self->budget;
    st_guided *guided = &self->run->result->guided;
    st_status status = ST_OK;
    for (uint64_t i = 0; i < most && guided->computed < self->budget && status == ST_OK; i++) {
        uint64_t fresh = 0;
        if (st_guided_stop(self->run))
            break;
        uint64_t patience = self->run->search->request.guide.stop_after;
        if ((patience > 0 && self->run->best_count == ST_GUIDED_STANDING &&
             self->run->unchanged >= patience) ||
            self->barren > MOST_BARREN)
            break;
        status = run_generation(self, &fresh);
        if (status == ST_OK)
            status = move_on(self, fresh);
    }
    return status;
}

/* A walk over the lattice of choices. */
static st_status st_guided_walk(st_guided_run *run)
{
    const st_search *search = run->search;
    uint64_t trials = search->request.guide.trials;
    uint64_t open = search->rows - run->result->guided.ruled_out;
    uint64_t budget = trials > 0 ? trials : ST_GUIDE_TRIALS;
    swarm self = {
        .run = run, .lattice = st_lattice_make(search), .budget = budget < open ? budget : open};
    if (self.lattice.dimension == 0) { /* one plan */
        st_status status = open > 0 ? st_guided_try(run, 0) : ST_OK;
        return status == ST_OK ? st_guided_compute(run) : status;
    }
    self.walk = st_walk_create(search->request.guide.method, self.lattice.dimension,
                               search->request.space.seed);
    st_status status = self.walk != NULL && make_room(&self) ? ST_OK : ST_ERR_MEMORY;
    if (status == ST_OK)
        status = run_generations(&self);
    st_walk_destroy(self.walk);
    return status;
}
