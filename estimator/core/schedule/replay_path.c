/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path: backwards from the task that ends last, to what each one waited for. */
#include "schedule/graph_internal.h"

#include "base/lists.h"
#include "steptime/tool/graph_arrays.h"

typedef struct st_path {
    const st_replay *replay;
    st_arena *arena;
    st_path_step *steps; /* last first, until the end */
    size_t count;
} st_path;

static bool add_step(st_path *path, st_task_id task, st_edge_kind edge, int64_t time_ns)
{
    return ST_APPEND(path->arena, path->steps, path->count,
                     (st_path_step){.task = task, .edge = edge, .time_ns = time_ns});
}

static bool walk(st_path *path, st_task_id task)
{
    const st_replay *replay = path->replay;
    while (task != ST_TASK_NONE) {
        st_edge_kind edge = ST_EDGE_PROGRAM;
        int64_t time_ns = replay->end_ns[task] - replay->start_ns[task];
        /* The member that came last, or `task` itself. */
        st_task_id late;
        const st_graph *graph = replay->graph;
        uint32_t instance = graph->instance[task];
        int64_t start_ns = replay->start_ns[task];
        if (instance == 0 || replay->ready_ns[task] == start_ns) {
            late = task;
        } else {
            size_t i = graph->member_first[instance];
            while (replay->ready_ns[graph->members[i]] != start_ns)
                i++;
            late = graph->members[i];
        }
        if (late != task) {
            if (!add_step(path, task, ST_EDGE_MEETING, time_ns))
                return false;
            task = late;
            time_ns = 0;
        }
        /* The task whose end made `task` ready, or ST_TASK_NONE where it could start by itself. */
        st_task_id next = ST_TASK_NONE;
        int64_t ready_ns = replay->ready_ns[task];
        st_task_id previous = graph->previous[task];
        edge = ST_EDGE_PROGRAM;
        if (previous != ST_TASK_NONE && replay->end_ns[previous] == ready_ns) {
            next = previous;
        } else {
            for (uint32_t i = graph->before_first[task]; i < graph->before_first[task + 1]; i++) {
                if (replay->end_ns[graph->before[i]] == ready_ns) {
                    edge = (st_edge_kind)graph->before_kind[i];
                    next = graph->before[i];
                    break;
                }
            }
        }
        if (!add_step(path, task, edge, time_ns))
            return false;
        task = next;
    }
    return true;
}

st_status st_replay_path(const st_replay *replay, st_arena *arena, const st_path_step **steps,
                         size_t *count, st_errors *errors)
{
    st_task_id task = 0;
    while (task < replay->graph->task_count && replay->end_ns[task] != replay->last_ns)
        task++;
    return st_replay_path_to(replay, task, arena, steps, count, errors);
}

st_status st_replay_path_to(const st_replay *replay, st_task_id task, st_arena *arena,
                            const st_path_step **steps, size_t *count, st_errors *errors)
{
    st_path path = {.replay = replay, .arena = arena};
    *steps = NULL;
    *count = 0;
    if (task >= replay->graph->task_count)
        return ST_OK;
    if (!walk(&path, task))
        return st_out_of_memory(errors);
    for (size_t i = 0; i < path.count / 2; i++) {
        st_path_step kept = path.steps[i];
        path.steps[i] = path.steps[path.count - 1 - i];
        path.steps[path.count - 1 - i] = kept;
    }
    *steps = path.steps;
    *count = path.count;
    return ST_OK;
}
