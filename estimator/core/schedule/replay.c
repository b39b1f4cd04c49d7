/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: one pass over the tasks in an order in which all that a task waits for comes before it.
 *
 * There is nothing to decide at run time, as every resource has its program order: a task starts
 * when the last of its predecessors has ended.
 */
#include "schedule/graph_internal.h"

#include <stdlib.h>

st_replay *st_replay_create(const st_graph *graph)
{
    st_replay *replay = calloc(1, sizeof(*replay));
    if (replay == NULL)
        return NULL;
    size_t tasks = graph->task_count + 1;
    replay->graph = graph;
    const bool meets = graph->instance_count > 0;
    replay->ready_ns = meets ? calloc(tasks, sizeof(*replay->ready_ns)) : NULL;
    replay->start_ns = meets ? calloc(tasks, sizeof(*replay->start_ns)) : NULL;
    replay->end_ns = calloc(tasks, sizeof(*replay->end_ns));
    if (!graph->sealed || replay->end_ns == NULL ||
        (meets && (replay->ready_ns == NULL || replay->start_ns == NULL))) {
        st_replay_destroy(replay);
        return NULL;
    }
    return replay;
}

void st_replay_destroy(st_replay *replay)
{
    if (replay == NULL)
        return;
    free(replay->start_ns);
    free(replay->ready_ns);
    free(replay->end_ns);
    free(replay);
}

/* When all that a task alone waits for has ended. */
static inline int64_t find_ready_ns(const st_replay *replay, st_task_id task)
{
    const st_graph *graph = replay->graph;
    int64_t ready_ns = graph->earliest_ns == NULL ? 0 : graph->earliest_ns[task];
    st_task_id previous = graph->previous[task];
    if (previous != ST_TASK_NONE && replay->end_ns[previous] > ready_ns)
        ready_ns = replay->end_ns[previous];
    for (uint32_t k = graph->before_first[task]; k < graph->before_first[task + 1]; k++)
        if (replay->end_ns[graph->before[k]] > ready_ns)
            ready_ns = replay->end_ns[graph->before[k]];
    return ready_ns;
}

int64_t st_replay_ready_ns(const st_replay *replay, st_task_id task)
{
    return replay->ready_ns == NULL ? find_ready_ns(replay, task) : replay->ready_ns[task];
}

int64_t st_replay_start_ns(const st_replay *replay, st_task_id task)
{
    return replay->start_ns == NULL ? find_ready_ns(replay, task) : replay->start_ns[task];
}

/* Ends `task`; false where its end is beyond what an int64_t holds. */
static bool finish(st_replay *replay, st_task_id task, int64_t start_ns)
{
    int64_t end_ns = 0;
    if (__builtin_add_overflow(start_ns, replay->graph->duration_ns[task], &end_ns))
        return false;
    if (replay->start_ns != NULL)
        replay->start_ns[task] = start_ns;
    replay->end_ns[task] = end_ns;
    replay->last_ns = end_ns > replay->last_ns ? end_ns : replay->last_ns;
    return true;
}

st_status st_replay_too_late(const st_graph *graph, st_task_id task, st_errors *errors)
{
    return st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                   "the end of %s is out of range" ST_EXPECTED "at most 2^63 - 1 ns, 292 years",
                   st_graph_describe(graph, task, errors));
}

st_status st_replay_run(st_replay *replay, st_errors *errors)
{
    const st_graph *graph = replay->graph;
    replay->last_ns = 0;
    for (size_t i = 0; i < graph->task_count;) {
        st_task_id task = graph->order[i];
        uint32_t instance = graph->instance[task];
        size_t count = 1;
        int64_t start_ns = 0;
        if (instance != 0)
            count = graph->member_first[instance + 1] - graph->member_first[instance];
        for (size_t j = i; j < i + count; j++) {
            st_task_id one = graph->order[j];
            int64_t ready_ns = find_ready_ns(replay, one);
            if (replay->ready_ns != NULL)
                replay->ready_ns[one] = ready_ns;
            start_ns = ready_ns > start_ns ? ready_ns : start_ns;
        }
        for (size_t j = i; j < i + count; j++)
            if (!finish(replay, graph->order[j], start_ns))
                return st_replay_too_late(graph, graph->order[j], errors);
        i += count;
    }
    return ST_OK;
}

int64_t st_replay_end_ns(const st_replay *replay)
{
    return replay->last_ns;
}

st_task_time st_replay_task(const st_replay *replay, st_task_id task)
{
    int64_t ready_ns = st_replay_ready_ns(replay, task);
    return (st_task_time){.ready_ns = ready_ns,
                          .start_ns = replay->start_ns == NULL ? ready_ns : replay->start_ns[task],
                          .end_ns = replay->end_ns[task]};
}
