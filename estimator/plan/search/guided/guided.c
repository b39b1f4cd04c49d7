/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches that do not compute every plan; see search/guided.h. Plans are computed in batches of
 * one size, whose order depends on nothing but what is known, so that neither threads nor processes
 * can be told from the result.
 *
 * The parts of a run call each other: methods and the scan have plans computed and noted here, and
 * processes share what each of them finds. Circle: with search/guided/guided_walk,
 * search/guided/guided_scan, search/guided/guided_share, because of that.
 */
#include "search/guided/guided_module.h"
#include "search/guided/run.h"

#include "base/dimension.h"
#include "sweep/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Plans of which something can be noted one by one. */
static const uint64_t most_rows = UINT64_C(1) << 24;

static st_status check(const st_search *search, st_errors *errors)
{
    const st_guide *guide = &search->request.guide;
    bool every = guide->method == ST_METHOD_BOUND || guide->pruning != ST_PRUNING_NONE;
    if (guide->method == ST_METHOD_EXHAUSTIVE && guide->floor != NULL)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "--bound says nothing to an exhaustive search" ST_EXPECTED
                       "--method bound or --method cmaes");
    if (!st_guide_is_given(guide))
        return ST_OK;
    if (search->request.space.sample > 0)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "a sample is computed whole" ST_EXPECTED
                       "--method exhaustive and no --prune");
    if (search->request.front[0] != NULL)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "a Pareto front needs every plan" ST_EXPECTED
                       "--method exhaustive and no --prune");
    if (every && search->rows > most_rows)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = "--vary"},
                       "there are %llu plans" ST_EXPECTED
                       "at most 16777216 for --method bound and --prune",
                       (unsigned long long)search->rows);
    /* A bound of another kind than the goal bounds nothing. */
    const st_type *goal = search->space->types[0];
    const st_type *floor = search->space->types[search->floor];
    if (search->floor == 0 || (goal->kind == floor->kind &&
                               st_dimension_equal(goal->unit.dimension, floor->unit.dimension)))
        return ST_OK;
    return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                   "--bound: '%.60s' is of another kind than '%.60s'" ST_EXPECTED
                   "a cell that is never above the one that is minimised",
                   search->request.guide.floor, search->goal);
}

/* --- what was found -------------------------------------------------------------------------- */

bool st_guided_skip(st_guided_run *run, uint64_t row)
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

void st_guided_read(const st_search *search, const st_space_worker *worker, size_t row,
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

bool st_guided_is_settled(const st_guided_run *run)
{
    uint64_t patience = run->search->request.guide.stop_after;
    return patience > 0 && run->best_count == ST_GUIDED_STANDING && run->unchanged >= patience;
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

st_status st_guided_compute(st_guided_run *run)
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

st_status st_guided_try(st_guided_run *run, uint64_t row)
{
    run->trials[run->trial_count++].row = row;
    return run->trial_count == ST_GUIDED_BATCH ? st_guided_compute(run) : ST_OK;
}

bool st_guided_is_interrupted(const st_guided_run *run)
{
    const st_search_watch *watch = run->watch;
    return watch->interrupted != NULL && *watch->interrupted != 0;
}

bool st_guided_stop(st_guided_run *run)
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

/* All rows that may pass, the least bound first; or all rows, those first that tell of others. */
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
    /* Every plan but those of which a rule tells. */
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

/* What is still possible among the plans that were not computed. */
static void find_floor(st_guided_run *run)
{
    st_guided *guided = &run->result->guided;
    unsigned settled = ST_STATE_COMPUTED | ST_STATE_SKIPPED;
    guided->has_floor = guided->scanned;
    guided->floor = HUGE_VAL;
    for (uint64_t row = 0; guided->scanned && row < run->search->rows; row++) {
        bool open = st_plan_states_outcome(&run->states, row) != ST_OUTCOME_FAILS &&
                    (run->states.marks[row] & settled) == 0;
        if (open && run->states.low[row] < guided->floor)
            guided->floor = run->states.low[row];
    }
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
        find_floor(&run);
    }
    st_arena_destroy(run.arena);
    if (status != ST_OK)
        st_fail(errors, status, (st_place){0}, "%s",
                status == ST_ERR_IO ? "the processes lost touch" : st_status_text(status));
    return status;
}

static const st_guided_methods methods = {.check = check, .run = run_guided, .put = st_guided_put};
const st_guided_methods *const st_guided_module = &methods;
