/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlocks: which tasks wait for each other.
 *
 * Every task that never runs waits for another one that never runs, so that going from one to the
 * next must come back to where it was.
 */
#include "schedule/graph_internal.h"

#include <stdlib.h>

enum { STEPS_NAMED = 8 };

const char *st_graph_describe(const st_graph *graph, st_task_id task, st_errors *errors)
{
    const st_task_view view = st_graph_task(graph, task);
    return st_errors_text(errors, "task %lu%s%.80s%s of rank %lu (%s)", (unsigned long)task,
                          view.name[0] == '\0' ? "" : " '", view.name,
                          view.name[0] == '\0' ? "" : "'", (unsigned long)view.rank,
                          st_graph_resource_name(graph, view.resource)[0] == '\0'
                              ? st_resource_kind_name(view.kind)
                              : st_graph_resource_name(graph, view.resource));
}

typedef struct st_cycle_search {
    const st_graph *graph;
    const uint32_t *waits;
    uint8_t *runs;
    uint32_t *place; /* in the walk, counted from 1; 0 where it has not been */
} st_cycle_search;

/* One that never runs and for which `task`, which never runs, waits. */
static st_task_id blocker(const st_cycle_search *search, st_task_id task)
{
    const st_graph *graph = search->graph;
    if (search->waits[task] == 0) {
        uint32_t instance = graph->instance[task];
        size_t i = graph->member_first[instance];
        while (search->waits[graph->members[i]] == 0)
            i++;
        return graph->members[i];
    }
    if (graph->previous[task] != ST_TASK_NONE && search->runs[graph->previous[task]] == 0)
        return graph->previous[task];
    size_t i = graph->before_first[task];
    while (search->runs[graph->before[i]] != 0)
        i++;
    return graph->before[i];
}

/* Walks from one blocker to the next until the walk meets itself; keeps the loop. */
static bool walk(st_graph *graph, st_cycle_search *search)
{
    st_task_id *steps = NULL;
    size_t capacity = 0;
    size_t count = 0;
    st_task_id task = 0;
    while (search->runs[task] != 0)
        task++;
    for (; search->place[task] == 0; task = blocker(search, task)) {
        if (!ST_ROOM(steps, count, capacity)) {
            free(steps);
            return false;
        }
        steps[count++] = task;
        search->place[task] = (uint32_t)count;
    }
    size_t first = search->place[task] - 1;
    graph->cycle_count = count - first;
    for (size_t i = 0; i < graph->cycle_count; i++)
        steps[i] = steps[first + i];
    graph->cycle = steps;
    return true;
}

static st_status report(const st_graph *graph, st_errors *errors)
{
    st_buffer text = {0};
    size_t shown = graph->cycle_count < STEPS_NAMED ? graph->cycle_count : STEPS_NAMED;
    for (size_t i = 0; i < shown; i++)
        st_buffer_printf(&text, "%s%s", i == 0 ? "" : " waits for ",
                         st_graph_describe(graph, graph->cycle[i], errors));
    if (graph->cycle_count > shown)
        st_buffer_printf(&text, " waits for %zu more tasks; the last of them",
                         graph->cycle_count - shown);
    if (graph->cycle_count > 0)
        st_buffer_printf(&text, " waits for %s", st_graph_describe(graph, graph->cycle[0], errors));
    st_status status = st_fail(errors, ST_ERR_CYCLE, (st_place){0}, "tasks wait for each other: %s",
                               text.data == NULL ? "" : text.data);
    st_buffer_free(&text);
    return status;
}

st_status st_graph_report_cycle(st_graph *graph, const uint32_t *waits, size_t ordered,
                                st_errors *errors)
{
    st_status status = ST_OK;
    st_cycle_search search = {.graph = graph,
                              .waits = waits,
                              .runs = calloc(graph->task_count, sizeof(*search.runs)),
                              .place = calloc(graph->task_count, sizeof(*search.place))};
    if (search.runs == NULL || search.place == NULL) {
        status = st_out_of_memory(errors);
        goto cleanup;
    }
    for (size_t i = 0; i < ordered; i++)
        search.runs[graph->order[i]] = 1;
    status = walk(graph, &search) ? report(graph, errors) : st_out_of_memory(errors);

cleanup:
    free(search.runs);
    free(search.place);
    return status;
}

const st_task_id *st_graph_cycle(const st_graph *graph, size_t *count)
{
    *count = graph->cycle_count;
    return graph->cycle;
}
