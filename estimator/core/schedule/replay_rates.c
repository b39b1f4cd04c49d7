/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay in which tasks that run side by side on a rank slow each other down.
 *
 * What ends next depends on what runs concurrently, so events are handled in the order of time:
 * whenever the set of running tasks of a rank changes, each of them has done its share of work and
 * goes on at a new rate. Work is conserved: the rates of a task over its time add up to its
 * duration.
 */
#include "schedule/graph_internal.h"

#include "steptime/quantity.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_RATE 1e-6
/* Rounding of work that is done but for less than this many ns is done. */
#define SLACK_NS 1e-6

typedef struct st_event {
    int64_t at_ns;
    st_task_id task;
    uint32_t version; /* of the task's rate; 0: the task's earliest time has come */
} st_event;

/* What is known of a task while it runs. */
typedef struct st_running {
    double left_ns; /* work */
    double rate;
    int64_t since_ns;
    uint32_t version;
} st_running;

typedef struct st_rates {
    st_arena *arena;
    st_replay *replay;
    const st_graph *graph;
    const st_rate_rule *rule;
    st_errors *errors;
    st_status status;
    st_successors after; /* of `waits` and `missing`, what has not come */
    st_running *running;
    /* running tasks of a rank: set[set_first[rank]] ..., at most one a resource */
    size_t *set_first;
    size_t *set_count;
    st_task_id *set;
    st_event *heap;
    size_t heap_count;
    size_t heap_capacity;
} st_rates;

/* --- events ------------------------------------------------------------------------------------
 */

static bool earlier(const st_event *a, const st_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->task < b->task;
}

static void push(st_rates *rates, int64_t at_ns, st_task_id task, uint32_t version)
{
    if (!ST_ROOM(rates->heap, rates->heap_count, rates->heap_capacity)) {
        rates->status = st_out_of_memory(rates->errors);
        return;
    }
    st_event *heap = rates->heap;
    st_event event = {.at_ns = at_ns, .task = task, .version = version};
    size_t at = rates->heap_count++;
    while (at > 0 && earlier(&event, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = event;
}

/* --- running tasks ------------------------------------------------------------------------------
 */

static void end_at(st_rates *rates, st_task_id task, int64_t now_ns)
{
    st_running *running = &rates->running[task];
    double takes_ns = ceil(running->left_ns / running->rate - SLACK_NS);
    int64_t end_ns = 0;
    takes_ns = takes_ns > 0 ? takes_ns : 0;
    if (takes_ns > 9e18 || __builtin_add_overflow(now_ns, (int64_t)takes_ns, &end_ns)) {
        rates->status = st_replay_too_late(rates->graph, task, rates->errors);
        return;
    }
    push(rates, end_ns, task, running->version);
}

/* The set of a rank has changed: its tasks go on at new rates. */
static void refresh(st_rates *rates, size_t rank, int64_t now_ns)
{
    st_task_id *set = &rates->set[rates->set_first[rank]];
    size_t count = rates->set_count[rank];
    for (size_t i = 0; i < count && rates->status == ST_OK; i++) {
        st_task_id task = set[i];
        st_running *running = &rates->running[task];
        if (st_graph_work(rates->graph, task) == ST_WORK_NONE)
            continue;
        /* The others: the set with this task moved to its end. */
        set[i] = set[count - 1];
        double rate = rates->rule->rate(rates->rule->self, rates->graph, task, set, count - 1);
        set[count - 1] = set[i];
        set[i] = task;
        if (!(rate >= LEAST_RATE && rate <= 1)) {
            char text[ST_QUANTITY_TEXT];
            rates->status =
                st_fail(rates->errors, ST_ERR_PROVIDER, (st_place){0},
                        "%s has an invalid rate" ST_FOUND "%s" ST_EXPECTED "from 1e-6 to 1",
                        st_graph_describe(rates->graph, task, rates->errors),
                        st_number_format(rate, text, sizeof(text)));
            return;
        }
        running->left_ns -= running->rate * (double)(now_ns - running->since_ns);
        running->left_ns = running->left_ns > 0 ? running->left_ns : 0;
        running->since_ns = now_ns;
        running->rate = rate;
        running->version++;
        end_at(rates, task, now_ns);
    }
}

static size_t rank_of(const st_rates *rates, st_task_id task)
{
    return rates->graph->resources[rates->graph->resource[task]].rank_index;
}

static void start(st_rates *rates, st_task_id task, int64_t now_ns)
{
    size_t rank = rank_of(rates, task);
    int64_t duration_ns = rates->graph->duration_ns[task];
    rates->replay->start_ns[task] = now_ns;
    rates->running[task] =
        (st_running){.left_ns = (double)duration_ns, .rate = 1, .since_ns = now_ns, .version = 1};
    if (st_graph_work(rates->graph, task) == ST_WORK_NONE)
        end_at(rates, task, now_ns);
    rates->set[rates->set_first[rank] + rates->set_count[rank]++] = task;
    refresh(rates, rank, now_ns);
}

/* All that a task alone waits for has come: it starts, or its instance has one member less to wait
 * for. */
static void arrive(st_rates *rates, st_task_id task, int64_t now_ns)
{
    const st_graph *graph = rates->graph;
    uint32_t instance = graph->instance[task];
    rates->replay->ready_ns[task] = now_ns;
    if (instance == 0)
        start(rates, task, now_ns);
    else if (--rates->after.missing[instance] == 0)
        for (uint32_t i = graph->member_first[instance]; i < graph->member_first[instance + 1]; i++)
            start(rates, graph->members[i], now_ns);
}

static void release(st_rates *rates, st_task_id task, int64_t now_ns)
{
    const st_graph *graph = rates->graph;
    int64_t earliest_ns = graph->earliest_ns == NULL ? 0 : graph->earliest_ns[task];
    if (earliest_ns > now_ns)
        push(rates, earliest_ns, task, 0);
    else
        arrive(rates, task, now_ns);
}

static void finish(st_rates *rates, st_task_id task, int64_t now_ns)
{
    size_t rank = rank_of(rates, task);
    rates->replay->end_ns[task] = now_ns;
    rates->replay->last_ns = now_ns > rates->replay->last_ns ? now_ns : rates->replay->last_ns;
    rates->running[task].version++; /* no event is valid any more */
    st_task_id *set = &rates->set[rates->set_first[rank]];
    size_t place = 0;
    while (set[place] != task)
        place++;
    set[place] = set[--rates->set_count[rank]];
    refresh(rates, rank, now_ns);
    for (uint32_t i = rates->after.first[task]; i < rates->after.first[task + 1]; i++)
        if (--rates->after.waits[rates->after.items[i]] == 0)
            release(rates, rates->after.items[i], now_ns);
    if (rates->after.next[task] != ST_TASK_NONE &&
        --rates->after.waits[rates->after.next[task]] == 0)
        release(rates, rates->after.next[task], now_ns);
}

/* --- the whole ----------------------------------------------------------------------------------
 */

static bool make_room(st_rates *rates)
{
    const st_graph *graph = rates->graph;
    size_t tasks = graph->task_count;
    size_t ranks = graph->rank_table.count;
    st_arena *arena = rates->arena;
    if (arena == NULL)
        return false;
    st_replay *replay = rates->replay; /* tasks at other rates last as long as they take */
    if (replay->ready_ns == NULL)
        replay->ready_ns = calloc(tasks + 1, sizeof *replay->ready_ns);
    if (replay->start_ns == NULL)
        replay->start_ns = calloc(tasks + 1, sizeof *replay->start_ns);
    rates->running = st_arena_alloc(arena, tasks + 1, sizeof *rates->running);
    rates->set_first = st_arena_alloc(arena, ranks + 2, sizeof *rates->set_first);
    rates->set_count = st_arena_alloc(arena, ranks + 1, sizeof *rates->set_count);
    rates->set = st_arena_alloc(arena, graph->resource_count + 1, sizeof *rates->set);
    return !st_arena_failed(arena) && st_graph_successors(graph, arena, &rates->after) &&
           replay->ready_ns != NULL && replay->start_ns != NULL;
}

st_status st_replay_run_rates(st_replay *replay, const st_rate_rule *rule, st_errors *errors)
{
    st_rates rates = {.arena = st_arena_create(),
                      .replay = replay,
                      .graph = replay->graph,
                      .rule = rule,
                      .errors = errors};
    replay->last_ns = 0;
    if (make_room(&rates)) {
        const st_graph *graph = rates.graph;
        for (size_t i = 0; i < graph->resource_count; i++)
            rates.set_first[graph->resources[i].rank_index + 1]++;
        for (size_t i = 0; i < graph->rank_table.count; i++)
            rates.set_first[i + 1] += rates.set_first[i];
        /* Tasks that wait for nothing are noted before any runs: what runs lets others start. */
        for (size_t i = 0; i < rates.graph->task_count && rates.status == ST_OK; i++) {
            if (rates.after.waits[i] == 0) {
                int64_t at_ns = rates.graph->earliest_ns == NULL ? 0 : rates.graph->earliest_ns[i];
                push(&rates, at_ns, (st_task_id)i, 0);
            }
        }
        while (rates.heap_count > 0 && rates.status == ST_OK) {
            st_event *heap = rates.heap;
            st_event event = heap[0];
            st_event sinking = heap[--rates.heap_count];
            size_t at = 0;
            for (;;) {
                size_t child = 2 * at + 1;
                if (child + 1 < rates.heap_count && earlier(&heap[child + 1], &heap[child]))
                    child++;
                if (child >= rates.heap_count || !earlier(&heap[child], &sinking))
                    break;
                heap[at] = heap[child];
                at = child;
            }
            heap[at] = sinking;
            if (event.version == 0)
                arrive(&rates, event.task, event.at_ns);
            else if (event.version == rates.running[event.task].version)
                finish(&rates, event.task, event.at_ns);
        }
    } else {
        rates.status = st_out_of_memory(errors);
    }
    free(rates.heap);
    st_arena_destroy(rates.arena);
    return rates.status;
}
