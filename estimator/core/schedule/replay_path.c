/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path: backwards from the task that ends last, to what each one waited for. */
#include "schedule/graph_internal.h"

#include "steptime/tool/graph_arrays.h"

typedef struct st_path {
    const st_replay *replay;
    st_path_step *steps; /* from the last one back; NULL while steps are counted */
    size_t count;
} st_path;

static void add_step(st_path *path, st_task_id task, st_edge_kind edge, int64_t time_ns)
{
    if (path->steps != NULL)
        *--path->steps = (st_path_step){.task = task, .edge = edge, .time_ns = time_ns};
    path->count++;
}

static void walk(st_path *path, st_task_id task)
{
    const st_replay *replay = path->replay;
    while (task != ST_TASK_NONE) {
        st_edge_kind edge = ST_EDGE_PROGRAM;
        int64_t start_ns = st_replay_start_ns(replay, task);
        int64_t time_ns = replay->end_ns[task] - start_ns;
        /* The member that came last, or `task` itself. */
        st_task_id late;
        const st_graph *graph = replay->graph;
        uint32_t instance = graph->instance[task];
        if (instance == 0 || replay->ready_ns[task] == start_ns) {
            late = task;
        } else {
            size_t i = graph->member_first[instance];
            while (replay->ready_ns[graph->members[i]] != start_ns)
                i++;
            late = graph->members[i];
        }
        if (late != task) {
            add_step(path, task, ST_EDGE_MEETING, time_ns);
            task = late;
            time_ns = 0;
        }
        /* The task whose end made `task` ready, or ST_TASK_NONE where it could start by itself. */
        st_task_id next = ST_TASK_NONE;
        int64_t ready_ns = st_replay_ready_ns(replay, task);
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
        add_step(path, task, edge, time_ns);
        task = next;
    }
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
    /* Two walks: paths have millions of steps, and a list that grows needs room for twice as many.
     */
    st_path path = {.replay = replay};
    *steps = NULL;
    *count = 0;
    if (task >= replay->graph->task_count)
        return ST_OK;
    walk(&path, task);
    st_path_step *made = st_arena_alloc(arena, path.count, sizeof *made);
    if (made == NULL)
        return st_out_of_memory(errors);
    *steps = made;
    *count = path.count;
    path.steps = made + path.count;
    walk(&path, task);
    return ST_OK;
}
