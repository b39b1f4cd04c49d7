/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a search. Every thread goes through blocks of plans and keeps its own results (rank.h);
 * at the end those of all threads and processes are merged.
 */
#include "sweep/threads.h"
#include "search/worker.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct runner {
    const st_search *search;
    const st_processes *processes;
    const st_search_watch *watch;
    st_search_worker **workers; /* per thread */
    st_results *found;          /* per thread */
    int threads;
    size_t block_rows; /* that a thread takes at a time */
    bool near;         /* looking for the plan that is nearest to fitting */
    atomic_bool stop;
    atomic_bool interrupted;
    _Atomic uint64_t done;
    uint64_t own_done; /* rows that this process computed */
} runner;

static bool has_front(const st_search *search)
{
    return search->request.front[0] != NULL && search->request.front[1] != NULL;
}

static bool make_results(const st_search *search, st_results *results)
{
    return st_results_make(results, st_search_ranked(search), has_front(search),
                           st_reason_count(search->space), search->space->arena);
}

/* --- blocks ---------------------------------------------------------------------------------- */

static void run_block(runner *self, int thread, uint64_t first)
{
    const st_search *search = self->search;
    st_results *found = &self->found[thread];
    uint64_t left = search->rows - first;
    size_t rows = left < self->block_rows ? (size_t)left : self->block_rows;
    st_space_worker *space = st_search_worker_visit(self->workers[thread], first, rows);
    space->all_checks = self->near || search->request.all || search->space->request.checks_warn;
    space->kept_alone = !space->all_checks;
    st_space_compute(space, rows);
    for (size_t row = 0; row < rows; row++) {
        uint32_t reason = space->reasons[row];
        uint64_t number = st_search_visited(self->workers[thread], first + row);
        if (self->near) {
            st_rank_add_nearest(found, number, st_search_failing(search->space, space, row),
                                space->outputs[search->near][row]);
            continue;
        }
        found->reasons[reason]++;
        if (reason == ST_REASON_NONE ||
            (search->request.all && st_search_exceeds(search->space, space, row))) {
            st_found one = {.row = number,
                            .goal = search->sign * space->outputs[0][row],
                            .too_large = st_search_is_over(search->space, space, row)};
            found->kept += one.too_large ? 0 : 1;
            st_rank_add(found, &one);
            if (has_front(search) && !one.too_large) {
                one.front[0] = search->front_signs[0] * space->outputs[1][row];
                one.front[1] = search->front_signs[1] * space->outputs[2][row];
                st_rank_add_front(found, &one);
            }
        }
    }
    found->done += self->near ? 0 : rows;
}

static void show_progress(runner *self, uint64_t rows)
{
    uint64_t done = atomic_fetch_add(&self->done, rows) + rows;
    uint64_t all = self->search->rows / (uint64_t)self->processes->count;
    if (self->watch->progress != NULL && st_thread_number() == 0 && self->processes->rank == 0)
        self->watch->progress(self->watch->context, done < all ? done : all, all);
    if (self->watch->interrupted != NULL && *self->watch->interrupted != 0) {
        atomic_store(&self->interrupted, true);
        atomic_store(&self->stop, true);
    }
}

/* Every process takes each n-th block; with more processes than blocks some have none. */
static void run_blocks(runner *self)
{
    int64_t blocks = (int64_t)((self->search->rows + self->block_rows - 1) / self->block_rows);
#ifdef STEPTIME_HAVE_OPENMP
#pragma omp parallel for schedule(dynamic) num_threads(self->threads)
#endif
    for (int64_t block = self->processes->rank; block < blocks; block += self->processes->count) {
        if (!atomic_load(&self->stop)) {
            run_block(self, st_thread_number(), (uint64_t)block * self->block_rows);
            show_progress(self, self->block_rows);
        }
    }
}

/* --- workers --------------------------------------------------------------------------------- */

/* --- processes ------------------------------------------------------------------------------- */

/* --- the whole ------------------------------------------------------------------------------- */

/* Runs through the space once and adds what threads and processes found to `all`. */
static st_status run_pass(runner *self, st_results *all)
{
    st_results own;
    if (!make_results(self->search, &own))
        return ST_ERR_MEMORY; /* the others cannot know: mpirun ends them */
    run_blocks(self);
    for (int i = 0; i < self->threads; i++) {
        st_results_merge(&own, &self->found[i]);
        st_results_clear(&self->found[i]);
    }
    self->own_done += own.done;
    if (self->processes->count > 1) {
        /* Every process learns what all have found. */
        const st_processes *processes = self->processes;
        uint64_t interrupted = atomic_load(&self->interrupted) ? 1 : 0;
        size_t bytes = sizeof interrupted + st_results_bytes(&own);
        size_t count = (size_t)processes->count;
        unsigned char *messages = calloc(count + 1, bytes);
        if (messages == NULL)
            return ST_ERR_MEMORY; /* the others cannot know: mpirun ends them */
        unsigned char *mine = messages + count * bytes;
        memcpy(mine, &interrupted, sizeof interrupted);
        st_results_pack(&own, mine + sizeof interrupted);
        st_status status =
            processes->gather(processes->context, mine, bytes, messages) == 0 ? ST_OK : ST_ERR_IO;
        for (size_t i = 0; i < count && status == ST_OK; i++) {
            memcpy(&interrupted, messages + i * bytes, sizeof interrupted);
            st_results_merge_packed(all, messages + i * bytes + sizeof interrupted);
            if (interrupted != 0)
                atomic_store(&self->interrupted, true);
        }
        free(messages);
        return status;
    }
    st_results_merge(all, &own);
    return ST_OK;
}

/* Computes every plan; if none passes, a second time to find the nearest one. */
static st_status run_exhaustive(runner *self, st_search_result *result)
{
    const st_search *search = self->search;
    st_results *found = &result->found;
    /* Steps of many rows cost less for each; where rows are few, or a plugin's are slow, threads
     * and processes need blocks enough. */
    const bool many =
        search->space->plugin_count == 0 &&
        search->rows / (uint64_t)self->processes->count >= UINT64_C(64) * ST_SPACE_MOST_ROWS;
    self->block_rows = many ? ST_SPACE_MOST_ROWS : ST_SPACE_BLOCK;
    uint64_t blocks = self->search->rows / self->block_rows + 1;
    self->threads = st_threads(self->search->request.threads);
    if (blocks < (uint64_t)self->threads)
        self->threads = (int)blocks;
    self->workers = calloc((size_t)self->threads, sizeof *self->workers);
    self->found = calloc((size_t)self->threads, sizeof *self->found);
    bool good = self->workers != NULL && self->found != NULL;
    for (int i = 0; good && i < self->threads; i++) {
        self->workers[i] = st_search_worker_create(self->search);
        good = self->workers[i] != NULL && make_results(self->search, &self->found[i]);
    }
    if (!good || !make_results(search, found))
        return ST_ERR_MEMORY;
    st_status status = run_pass(self, found);
    result->own_done = self->own_done;
    result->threads = self->threads;
    if (status == ST_OK && found->kept == 0 && search->rows > 0 &&
        !atomic_load(&self->interrupted)) {
        self->near = true;
        status = run_pass(self, found);
    }
    result->interrupted = atomic_load(&self->interrupted);
    /* Numbers of rows become those of the whole space. */
    for (size_t i = 0; i < found->ranking_count; i++)
        found->ranking[i].row = st_search_pick(search, found->ranking[i].row);
    for (size_t i = 0; i < found->front_count; i++)
        found->front[i].row = st_search_pick(search, found->front[i].row);
    if (found->has_nearest)
        found->nearest.row = st_search_pick(search, found->nearest.row);
    return status;
}

st_status st_search_run(const st_search *search, const st_processes *processes,
                        const st_search_watch *watch, st_search_result *result, st_errors *errors)
{
    runner self = {.search = search, .processes = processes, .watch = watch};
    *result = (st_search_result){0};
    const st_guide *guide = &search->request.guide;
    if (st_guide_is_given(guide))
        return guide->methods->run(search, processes, watch, result, errors);
    st_status status = run_exhaustive(&self, result);
    for (int i = 0; self.workers != NULL && i < self.threads; i++)
        st_search_worker_destroy(self.workers[i]);
    free(self.workers);
    free(self.found);
    if (status != ST_OK)
        st_fail(errors, status, (st_place){0}, "%s",
                status == ST_ERR_MEMORY ? "out of memory"
                                        : "lost connection between the processes");
    return status;
}
