/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shallow launch queues that several streams share, after a change. A launch waits until of those
 * before it all but a depth less one have ended. In a graph that is the end of one task, and which
 * one depends on how long all of them last: it is looked up in a replay, and the graph replayed
 * with it, until none changes.
 */
#include "steptime/tool/graph_arrays.h"
#include "trace/queue.h"
#include "trace/whatif.h"
#include "trace/xalloc.h"

#include <stdlib.h>

enum {
    MOST_DEPTH = 64, /* in deeper queues one task more or less makes no difference */
    MOST_ROUNDS = 12
};

/* A launch: the task that holds its place, and what makes room for it. */
typedef struct shared_launch {
    st_task_id task;
    st_task_id freed_by;
    st_task_id host; /* that calls, or ST_TASK_NONE */
} shared_launch;

typedef struct shared_queue {
    uint32_t depth;
    bool at_begin; /* as of st_launch_queues */
    bool in_order;
    shared_launch *items; /* by launch */
    size_t count;
} shared_queue;

typedef struct sharer {
    st_whatif *w;
    shared_queue *queues;
    size_t count;
    st_whatif_room *room; /* by task */
    size_t *launch;       /* by task that waits: 1 + its place over all queues, or 0 */
} sharer;

static int64_t free_ns(const sharer *s, const shared_queue *q, const shared_launch *one)
{
    st_task_time time = st_replay_task(s->w->replay, one->task);
    return q->at_begin ? time.ready_ns : time.end_ns;
}

static bool set_room(shared_launch *one, st_task_id task)
{
    const bool changed = one->freed_by != task;
    one->freed_by = task;
    return changed;
}

/* As below, where places are free in the order of launches: the last of those that must be. */
static bool find_room_in_order(const sharer *s, shared_queue *q)
{
    size_t last = 0;
    bool changed = false;
    for (size_t i = q->depth; i < q->count; i++) {
        const size_t next = i - q->depth;
        last = free_ns(s, q, &q->items[next]) >= free_ns(s, q, &q->items[last]) ? next : last;
        changed = set_room(&q->items[i], q->items[last].task) || changed;
    }
    return changed;
}

/* What makes room for each launch by the replay that ran: of the tasks before it, the one that is
 * over `depth`-th from the last. False where nothing changed. */
static bool find_room(const sharer *s, shared_queue *q)
{
    shared_launch last[MOST_DEPTH] = {{0}}; /* by end, rising */
    size_t held = 0;
    bool changed = false;
    for (size_t i = 0; i < q->count; i++) {
        const int64_t own_ns = free_ns(s, q, &q->items[i]);
        size_t at = held == q->depth;
        size_t to = 0;
        if (held == q->depth)
            changed = set_room(&q->items[i], last[0].task) || changed;
        if (held == q->depth && own_ns <= free_ns(s, q, &last[0]))
            continue;
        for (; at < held && free_ns(s, q, &last[at]) <= own_ns; at++)
            last[to++] = last[at];
        for (size_t k = held; held < q->depth && k > to; k--)
            last[k] = last[k - 1];
        held += held < q->depth;
        last[to] = q->items[i];
    }
    return changed;
}

static void add_queue(sharer *s, size_t rank, const st_launch_queues *queues,
                      const st_launch_queue *found)
{
    const st_trace_rank *own = &s->w->graph->ranks[rank];
    shared_queue q = {.depth = found->depth,
                      .count = found->count,
                      .at_begin = queues->at_begin,
                      .in_order = queues->in_order};
    q.items = st_xalloc(s->w->arena, q.count + 1, sizeof *q.items);
    for (size_t i = 0; i < q.count; i++) {
        const uint32_t frees = found->entries[i].frees;
        const st_queue_entry *one = &found->entries[i];
        q.items[i].task = own->tasks[queues->at_begin ? one->first : one->last];
        q.items[i].host = own->hosts[one->last];
        q.items[i].freed_by = frees == ST_TRACE_NONE ? ST_TASK_NONE : own->tasks[frees];
    }
    ST_XAPPEND(s->w->arena, s->queues, s->count, q);
}

static void list_queues(sharer *s)
{
    for (size_t r = 0; r < s->w->graph->set->count; r++) {
        st_order order;
        st_launch_queues found;
        int64_t late_ns = 0;
        st_gpu_clock_order(s->w->graph->set->ranks[r], s->w->arena, &order, &late_ns);
        st_queues_find(&order, s->w->arena, &found);
        for (size_t i = 0; i < found.count; i++)
            if (found.items[i].is_seen && !found.items[i].is_stream && found.items[i].depth > 0 &&
                found.items[i].depth < MOST_DEPTH)
                add_queue(s, r, &found, &found.items[i]);
        st_order_free(&order);
    }
}

/* Which launch each task waits with: a task of the host that follows its call, or its lag. */
static void find_waiting(sharer *s)
{
    const st_graph_arrays graph = st_graph_arrays_of(s->w->graph->graph);
    size_t *of_host = st_xcalloc(graph.task_count + 1, sizeof *of_host);
    size_t place = 0;
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->queues[i].count; k++) {
            const shared_launch *one = &s->queues[i].items[k];
            place++;
            if (one->freed_by != ST_TASK_NONE && one->host != ST_TASK_NONE)
                of_host[one->host] = place;
        }
    for (st_task_id task = 0; task < graph.task_count; task++) {
        st_task_id host = task > 0 ? task - 1 : task;
        bool waits = false;
        for (uint32_t i = graph.before_first[task]; i < graph.before_first[task + 1]; i++) {
            waits = waits || graph.before_kind[i] == ST_EDGE_QUEUE;
            host = graph.before_kind[i] == ST_EDGE_LAUNCH ? graph.before[i] : host;
        }
        /* Behind what the call does besides waiting. */
        while (waits && of_host[host] == 0 && host > 0 &&
               graph.resource[host - 1] == graph.resource[host] && task - host < 3)
            host--;
        s->launch[task] = waits ? of_host[host] : 0;
    }
    free(of_host);
}

/* Takes what makes room from the launches to the tasks that wait. */
static void move_room(sharer *s, size_t tasks)
{
    st_whatif_room *all = NULL;
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->queues[i].count; k++) {
            st_whatif_room one = {s->queues[i].items[k].freed_by, s->queues[i].at_begin};
            ST_XAPPEND(s->w->arena, all, count, one);
        }
    for (size_t task = 0; task < tasks; task++)
        s->room[task] =
            s->launch[task] > 0 ? all[s->launch[task] - 1] : (st_whatif_room){ST_TASK_NONE, false};
}

void st_whatif_share_queues(st_whatif *w)
{
    sharer s = {.w = w};
    if (w->unit_count > 0)
        return;
    list_queues(&s);
    if (s.count == 0)
        return;
    const size_t tasks = st_graph_task_count(w->graph->graph);
    s.room = st_xalloc(w->arena, tasks + 1, sizeof *s.room);
    s.launch = st_xalloc(w->arena, tasks + 1, sizeof *s.launch);
    find_waiting(&s);
    for (int round = 0; round < MOST_ROUNDS && w->status == ST_OK; round++) {
        bool changed = false;
        st_whatif_replay(w);
        for (size_t i = 0; i < s.count && w->status == ST_OK; i++)
            changed = (s.queues[i].in_order ? find_room_in_order(&s, &s.queues[i])
                                            : find_room(&s, &s.queues[i])) ||
                      changed;
        if (!changed || w->status != ST_OK)
            break;
        move_room(&s, tasks);
        st_whatif_rebuild(w, s.room);
    }
}
