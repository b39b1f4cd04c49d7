/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the ranks' time goes: the pieces of all resources of a rank, merged by their start.
 *
 * A task is up to two pieces, waiting for the others of its instance and running. Pieces of one
 * resource come in order by themselves, so that a heap over the resources of a rank merges them.
 */
#include "schedule/graph_internal.h"

typedef enum st_activity {
    ACTIVITY_COMPUTE,
    ACTIVITY_COMMUNICATION,
    ACTIVITY_WAITING,
    ACTIVITIES
} st_activity;

/* The next piece of a resource. */
typedef struct st_cursor {
    int64_t start_ns;
    st_task_id task;
    bool running; /* past the waiting */
} st_cursor;

typedef struct st_merger {
    st_arena *arena;
    const st_replay *replay;
    uint32_t *resource_first; /* resources of a rank, by its index */
    uint32_t *resources;
    st_task_id *first; /* of every resource */
    st_task_id *next;  /* of every task, on its resource */
    st_cursor *heap;
    size_t heap_count;
    int64_t now_ns;
    int64_t until_ns[ACTIVITIES];
} st_merger;

/* Lists the resources of each rank and returns the most that one has; 0 when out of memory. */
static size_t list_resources(st_merger *merger)
{
    const st_graph *graph = merger->replay->graph;
    size_t ranks = graph->rank_table.count;
    size_t most = 1;
    merger->resource_first = st_arena_alloc(merger->arena, ranks + 2, sizeof(uint32_t));
    merger->resources = st_arena_alloc(merger->arena, graph->resource_count + 1, sizeof(uint32_t));
    if (merger->resource_first == NULL || merger->resources == NULL)
        return 0;
    uint32_t *first = merger->resource_first + 1;
    for (size_t i = 0; i < graph->resource_count; i++)
        first[graph->resources[i].rank_index + 1]++;
    for (size_t i = 1; i <= ranks; i++) {
        most = first[i] > most ? first[i] : most;
        first[i] += first[i - 1];
    }
    for (size_t i = 0; i < graph->resource_count; i++)
        merger->resources[first[graph->resources[i].rank_index]++] = (uint32_t)i;
    return most;
}

static st_cursor cursor_at(const st_replay *replay, st_task_id task)
{
    return (st_cursor){.start_ns = st_replay_ready_ns(replay, task), .task = task};
}

/* Lets the cursor at the top of the heap sink to its place. */
static void sink(st_merger *merger, size_t at)
{
    st_cursor *heap = merger->heap;
    st_cursor sinking = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < merger->heap_count && heap[child + 1].start_ns < heap[child].start_ns)
            child++;
        if (child >= merger->heap_count || heap[child].start_ns >= sinking.start_ns)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = sinking;
}

/* Accounts for the time up to `to_ns`, in which no piece starts. */
static void advance(st_merger *merger, int64_t to_ns, st_rank_time *time)
{
    while (merger->now_ns < to_ns) {
        int64_t next_ns = to_ns;
        bool active[ACTIVITIES];
        for (int i = 0; i < ACTIVITIES; i++) {
            active[i] = merger->until_ns[i] > merger->now_ns;
            if (active[i] && merger->until_ns[i] < next_ns)
                next_ns = merger->until_ns[i];
        }
        int64_t passed_ns = next_ns - merger->now_ns;
        if (active[ACTIVITY_COMPUTE])
            *(active[ACTIVITY_COMMUNICATION] ? &time->overlapped_ns : &time->exposed_compute_ns) +=
                passed_ns;
        else if (active[ACTIVITY_COMMUNICATION])
            time->exposed_communication_ns += passed_ns;
        else
            *(active[ACTIVITY_WAITING] ? &time->waiting_ns : &time->idle_ns) += passed_ns;
        merger->now_ns = next_ns;
    }
}

/* Takes the piece that starts first and puts the next one of its resource in its place. */
static void step(st_merger *merger, st_rank_time *time)
{
    const st_replay *replay = merger->replay;
    st_cursor *top = &merger->heap[0];
    st_work work = st_graph_work(replay->graph, top->task);
    int64_t start_ns = top->running ? top->start_ns : st_replay_start_ns(replay, top->task);
    int64_t until_ns = top->running ? replay->end_ns[top->task] : start_ns;
    advance(merger, top->start_ns, time);
    if (top->running && work != ST_WORK_NONE) {
        int64_t *busy =
            &merger->until_ns[work == ST_WORK_COMPUTE ? ACTIVITY_COMPUTE : ACTIVITY_COMMUNICATION];
        *busy = until_ns > *busy ? until_ns : *busy;
    } else if (!top->running && until_ns > merger->until_ns[ACTIVITY_WAITING]) {
        merger->until_ns[ACTIVITY_WAITING] = until_ns;
    }
    if (!top->running) {
        top->running = true;
        top->start_ns = start_ns;
    } else if (merger->next[top->task] != ST_TASK_NONE) {
        *top = cursor_at(replay, merger->next[top->task]);
    } else {
        *top = merger->heap[--merger->heap_count];
    }
    if (merger->heap_count > 0)
        sink(merger, 0);
}

st_status st_replay_ranks(const st_replay *replay, st_rank_time *times, st_errors *errors)
{
    st_merger merger = {.arena = st_arena_create(), .replay = replay};
    bool has_room = true;
    const st_graph *graph = merger.replay->graph;
    st_arena *arena = merger.arena;
    size_t most = arena != NULL ? list_resources(&merger) : 0;
    if (most == 0) {
        has_room = false;
    } else {
        merger.first = st_arena_alloc(arena, graph->resource_count + 1, sizeof(st_task_id));
        merger.next = st_arena_alloc(arena, graph->task_count + 1, sizeof(st_task_id));
        merger.heap = st_arena_alloc(arena, most, sizeof(st_cursor));
        if (st_arena_failed(arena) || merger.resource_first == NULL || merger.first == NULL) {
            has_room = false;
        } else {
            for (size_t i = 0; i < graph->resource_count; i++)
                merger.first[i] = ST_TASK_NONE;
            for (size_t i = 0; i < graph->task_count; i++) {
                st_task_id previous = graph->previous[i];
                merger.next[i] = ST_TASK_NONE;
                if (previous == ST_TASK_NONE)
                    merger.first[graph->resource[i]] = (st_task_id)i;
                else
                    merger.next[previous] = (st_task_id)i;
            }
        }
    }
    st_status status = has_room ? ST_OK : st_out_of_memory(errors);
    for (size_t i = 0; has_room && i < replay->graph->rank_table.count; i++) {
        st_rank_time *time = &times[i];
        const st_replay *down_replay = merger.replay;
        *time = (st_rank_time){0};
        merger.now_ns = 0;
        merger.heap_count = 0;
        for (int j = 0; j < ACTIVITIES; j++)
            merger.until_ns[j] = 0;
        for (size_t j = merger.resource_first[i]; j < merger.resource_first[i + 1]; j++) {
            st_task_id task = merger.first[merger.resources[j]];
            if (task != ST_TASK_NONE)
                merger.heap[merger.heap_count++] = cursor_at(down_replay, task);
        }
        for (size_t j = merger.heap_count; j > 0; j--)
            sink(&merger, j - 1);
        while (merger.heap_count > 0)
            step(&merger, time);
        advance(&merger, down_replay->last_ns, time);
    }
    st_arena_destroy(merger.arena);
    return status;
}

st_status st_replay_categories(const st_replay *replay, uint32_t rank, int64_t *sums_ns,
                               uint64_t *counts, st_errors *errors)
{
    const st_graph *graph = replay->graph;
    uint32_t index = st_pair_find(&graph->rank_table, (st_pair){rank, 0});
    if (rank != ST_RANKS_ALL && index == ST_TASK_NONE)
        return st_fail(errors, ST_ERR_NAME, (st_place){0}, "rank %lu has no resources",
                       (unsigned long)rank);
    for (size_t i = 0; i < graph->category_count; i++) {
        sums_ns[i] = 0;
        if (counts != NULL)
            counts[i] = 0;
    }
    for (size_t i = 0; i < graph->task_count; i++) {
        uint16_t category = graph->category[i];
        if (rank != ST_RANKS_ALL && graph->resources[graph->resource[i]].rank_index != index)
            continue;
        int64_t time_ns = replay->end_ns[i] - st_replay_start_ns(replay, (st_task_id)i);
        if (__builtin_add_overflow(sums_ns[category], time_ns, &sums_ns[category]))
            return st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                           "the total time of category '%s' is too long" ST_EXPECTED
                           "at most 2^63 - 1 ns, 292 years",
                           st_graph_category_name(graph, category));
        if (counts != NULL)
            counts[category]++;
    }
    return ST_OK;
}
