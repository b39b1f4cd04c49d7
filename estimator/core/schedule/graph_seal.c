/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sealing a task graph: lists of predecessors, and an order in which each task comes after all that
 * it waits for (Kahn 1962, last in first out, so that the order follows one rank for a while).
 *
 * Members of an instance count as one: they are ready when the last of them is, and lie side by
 * side in the order.
 */
#include "schedule/graph_internal.h"

#include <stdlib.h>

/* Offsets and items of lists that are sorted by counting; false when out of memory. */
static bool list_before(st_graph *graph)
{
    size_t tasks = graph->task_count;
    size_t edges = graph->edge_count;
    graph->before_first = calloc(tasks + 2, sizeof(*graph->before_first));
    graph->before = malloc((edges + 1) * sizeof(*graph->before));
    graph->before_kind = malloc(edges + 1);
    if (graph->before_first == NULL || graph->before == NULL || graph->before_kind == NULL)
        return false;
    uint32_t *first = graph->before_first + 1;
    for (size_t i = 0; i < edges; i++)
        first[graph->edge_to[i] + 1]++;
    /* first[i] becomes the start of list i and, while it fills, the place of its next item: in the
     * end before_first[i + 1] is the end of list i, which is where list i + 1 starts. */
    for (size_t i = 1; i <= tasks; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < edges; i++) {
        uint32_t place = first[graph->edge_to[i]]++;
        graph->before[place] = graph->edge_from[i];
        graph->before_kind[place] = graph->edge_kind[i];
    }
    free(graph->edge_from);
    free(graph->edge_to);
    free(graph->edge_kind);
    graph->edge_from = graph->edge_to = NULL;
    graph->edge_kind = NULL;
    graph->edge_capacity = 0;
    return true;
}

/* Program order: each task's predecessor on its resource. */
static bool list_previous(st_graph *graph)
{
    graph->previous = malloc((graph->task_count + 1) * sizeof(*graph->previous));
    if (graph->previous == NULL)
        return false;
    for (size_t i = 0; i < graph->resource_count; i++)
        graph->resources[i].last = ST_TASK_NONE;
    for (size_t i = 0; i < graph->task_count; i++) {
        st_task_id *last = &graph->resources[graph->resource[i]].last;
        graph->previous[i] = *last;
        *last = (st_task_id)i;
    }
    return true;
}

bool st_graph_successors(const st_graph *graph, st_arena *arena, st_successors *after)
{
    size_t tasks = graph->task_count;
    uint32_t *first = st_arena_alloc(arena, tasks + 2, sizeof *first);
    after->items = st_arena_alloc(arena, graph->edge_count + 1, sizeof *after->items);
    after->next = st_arena_alloc(arena, tasks + 1, sizeof *after->next);
    after->waits = st_arena_alloc(arena, tasks + 1, sizeof *after->waits);
    after->missing = st_arena_alloc(arena, graph->instance_count + 1, sizeof *after->missing);
    if (st_arena_failed(arena))
        return false;
    after->first = first++;
    for (size_t i = 0; i < graph->edge_count; i++)
        first[graph->before[i] + 1]++;
    for (size_t i = 1; i <= tasks; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < tasks; i++) {
        st_task_id previous = graph->previous[i];
        for (uint32_t k = graph->before_first[i]; k < graph->before_first[i + 1]; k++)
            after->items[first[graph->before[k]]++] = (st_task_id)i;
        after->waits[i] = graph->before_first[i + 1] - graph->before_first[i];
        after->waits[i] += previous != ST_TASK_NONE;
        after->next[i] = ST_TASK_NONE;
        if (previous != ST_TASK_NONE)
            after->next[previous] = (st_task_id)i;
    }
    for (size_t i = 1; i <= graph->instance_count; i++)
        after->missing[i] = graph->instance_size[i];
    return true;
}

typedef struct st_sorter {
    st_graph *graph;
    st_successors after; /* of `waits` and `missing`, what is not in order yet */
    size_t ordered;
    size_t stacked; /* at the end of `order`, which has room for both */
} st_sorter;

/* All that `task` waits for is in order: so is it, or its instance has one member less to wait for.
 */
static void ready(st_sorter *sorter, st_task_id task)
{
    const st_graph *graph = sorter->graph;
    uint32_t instance = graph->instance[task];
    if (instance == 0 || --sorter->after.missing[instance] == 0)
        graph->order[graph->task_count - ++sorter->stacked] = task;
}

static void release(st_sorter *sorter, st_task_id task)
{
    for (uint32_t i = sorter->after.first[task]; i < sorter->after.first[task + 1]; i++)
        if (--sorter->after.waits[sorter->after.items[i]] == 0)
            ready(sorter, sorter->after.items[i]);
    st_task_id next = sorter->after.next[task];
    if (next != ST_TASK_NONE && --sorter->after.waits[next] == 0)
        ready(sorter, next);
}

static void sort(st_sorter *sorter)
{
    const st_graph *graph = sorter->graph;
    for (size_t i = graph->task_count; i > 0; i--)
        if (sorter->after.waits[i - 1] == 0)
            ready(sorter, (st_task_id)(i - 1));
    while (sorter->stacked > 0) {
        st_task_id task = graph->order[graph->task_count - sorter->stacked--];
        uint32_t instance = graph->instance[task];
        if (instance == 0) {
            graph->order[sorter->ordered++] = task;
            release(sorter, task);
            continue;
        }
        size_t first = graph->member_first[instance];
        size_t count = graph->member_first[instance + 1] - first;
        for (size_t i = 0; i < count; i++)
            graph->order[sorter->ordered++] = graph->members[first + i];
        for (size_t i = 0; i < count; i++)
            release(sorter, graph->members[first + i]);
    }
}

st_status st_graph_seal(st_graph *graph, st_errors *errors)
{
    if (graph->sealed || graph->broken)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0}, "the task graph is already sealed");
    /* Where no task meets others these are zeros that are never written and take no memory. */
    if (graph->instance == NULL)
        graph->instance = calloc(graph->task_count + 1, sizeof(*graph->instance));
    st_status status =
        graph->instance == NULL ? st_out_of_memory(errors) : st_graph_compose(graph, errors);
    if (status == ST_OK)
        status = st_graph_list_members(graph, errors);
    if (status == ST_OK && !(list_before(graph) && list_previous(graph)))
        status = st_out_of_memory(errors);
    if (status == ST_OK) {
        st_arena *arena = st_arena_create();
        st_sorter sorter = {.graph = graph};
        graph->order = malloc((graph->task_count + 1) * sizeof *graph->order);
        if (arena == NULL || graph->order == NULL ||
            !st_graph_successors(graph, arena, &sorter.after)) {
            status = st_out_of_memory(errors);
        } else {
            sort(&sorter);
            if (sorter.ordered < graph->task_count)
                status = st_graph_report_cycle(graph, sorter.after.waits, sorter.ordered, errors);
        }
        st_arena_destroy(arena);
    }
    graph->sealed = status == ST_OK;
    graph->broken = status != ST_OK;
    return status;
}
