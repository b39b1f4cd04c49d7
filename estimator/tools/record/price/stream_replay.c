/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events, graphs and collectives of one worker; see stream_replay.h. */
#include "record/price/stream_replay.h"

#include "base/memory.h"

#include <string.h>

enum { MOST_EVENTS = 1 << 20, MOST_LANES = 4096, MOST_WAITS = 1 << 25 };

/* ---- streams ---- */

uint32_t st_stream_replay_lane(st_stream_replay *replay, const st_worker_call *call,
                               uint32_t stream)
{
    st_walk_worker *walked = replay->walked;
    bool inner = (call->record->flags & ST_LOG_CAPTURED) != 0;
    uint32_t thread = stream == ST_LOG_STREAM_PER_THREAD ? call->thread : 0;
    for (size_t i = 0; i < walked->lane_count; i++) {
        const st_walk_lane *lane = &walked->lanes[i];
        if (lane->stream == stream && lane->device == call->record->device &&
            lane->thread == thread && lane->inner == inner)
            return (uint32_t)i;
    }
    st_walk_lane made = {.device = call->record->device,
                         .stream = stream,
                         .thread = thread,
                         .inner = inner,
                         .blocking = !inner,
                         .head = ST_NO_INDEX,
                         .tail = ST_NO_INDEX,
                         .waited = ST_NO_INDEX,
                         .default_waited = ST_NO_INDEX,
                         .wait = ST_NO_INDEX};
    if (walked->lane_count >= MOST_LANES)
        return ST_NO_INDEX;
    if (!ST_APPEND(replay->walk->arena, walked->lanes, walked->lane_count, made))
        return ST_NO_INDEX;
    return (uint32_t)walked->lane_count - 1;
}

/* Out of memory, or more of something than a program has. */
static st_status no_room(const st_stream_replay *replay)
{
    return st_fail(replay->errors, ST_ERR_LIMIT, (st_place){.file = replay->walked->worker->file},
                   "too many streams, events or GPU tasks in the log" ST_EXPECTED
                   "at most %d, %d and %d",
                   MOST_LANES, MOST_EVENTS, ST_WORKERS_MOST_TASKS);
}

/* Puts a wait in front of a list. */
static st_status add_wait(st_stream_replay *replay, uint32_t *list, uint32_t task, uint32_t record)
{
    st_walk_worker *walked = replay->walked;
    st_walk_wait wait = {.task = task, .record = record, .next = *list};
    if (task == ST_NO_INDEX)
        return ST_OK;
    if (walked->wait_count >= MOST_WAITS ||
        !ST_APPEND(replay->walk->arena, walked->waits, walked->wait_count, wait))
        return no_room(replay);
    *list = (uint32_t)walked->wait_count - 1;
    return ST_OK;
}

static st_status add_task(st_stream_replay *replay, const st_walk_task *task)
{
    st_walk_worker *walked = replay->walked;
    uint32_t index = (uint32_t)walked->task_count;
    st_walk_task made = *task;
    st_walk_lane *lane = &walked->lanes[task->lane];
    made.next = ST_NO_INDEX;
    made.end_ns = ST_WALK_LAUNCHED;
    made.wait = lane->wait;
    /* The legacy default stream and the blocking ones of a device wait for each other, once for
     * each last task: the tasks of a stream are in order. */
    st_status status = ST_OK;
    for (size_t i = 0; i < walked->lane_count && status == ST_OK && lane->blocking; i++) {
        st_walk_lane *other = &walked->lanes[i];
        bool meets = other != lane && other->device == lane->device && other->blocking &&
                     (lane->stream == 0) != (other->stream == 0);
        uint32_t *waited = lane->stream == 0 ? &other->default_waited : &lane->waited;
        bool matters =
            meets && other->tail != *waited &&
            (other->head != ST_NO_INDEX || walked->tasks[other->tail].end_ns > lane->ready_ns);
        if (matters)
            status = add_wait(replay, &made.wait, *waited = other->tail, ST_NO_INDEX);
    }
    if (status != ST_OK)
        return status;
    if (walked->task_count >= ST_WORKERS_MOST_TASKS ||
        !st_arena_append(replay->walk->arena, &walked->tasks, &walked->task_count,
                         &walked->task_room, &made, sizeof made))
        return no_room(replay);
    if (lane->tail != ST_NO_INDEX)
        walked->tasks[lane->tail].next = index;
    if (lane->head == ST_NO_INDEX)
        lane->head = index;
    lane->tail = index;
    lane->wait = ST_NO_INDEX;
    return ST_OK;
}

/* ---- events ---- */

static st_replay_event *event_at(st_stream_replay *replay, uint32_t event)
{
    if (event >= MOST_EVENTS)
        return NULL;
    while (replay->event_count <= event) {
        st_replay_event none = {ST_NO_INDEX, ST_NO_INDEX};
        if (!ST_APPEND(replay->walk->arena, replay->events, replay->event_count, none))
            return NULL;
    }
    return &replay->events[event];
}

uint32_t st_stream_replay_event(const st_stream_replay *replay, const st_log_event *event)
{
    return event->event < replay->event_count ? replay->events[event->event].task : ST_NO_INDEX;
}

/* ---- collectives ---- */

static st_status add_meet(st_stream_replay *replay, uint32_t what, uint32_t next, uint32_t *meet)
{
    st_walk_worker *walked = replay->walked;
    st_walk_meet made = {.what = what, .next = next};
    st_status status = st_groups_meet(replay->walk->groups, replay->index,
                                      walked->worker->calls[what].record, &made.instance);
    if (status != ST_OK)
        return status;
    if (!ST_APPEND(replay->walk->arena, walked->meets, walked->meet_count, made))
        return no_room(replay);
    *meet = (uint32_t)walked->meet_count - 1;
    return ST_OK;
}

/* ---- graphs ---- */

/* The graph of a record, the latest first. */
static st_replay_graph *graph_of(const st_stream_replay *replay, const st_log_graph *graph)
{
    for (size_t i = replay->graph_count; i > 0; i--) {
        st_replay_graph *known = &replay->graphs[i - 1];
        if ((graph->executable != 0 && known->executable == graph->executable) ||
            (graph->graph != 0 && known->graph == graph->graph) ||
            (graph->capture != 0 && known->capture == graph->capture))
            return known;
    }
    return NULL;
}

static st_status add_graph(st_stream_replay *replay, const st_replay_graph *made)
{
    return ST_APPEND(replay->walk->arena, replay->graphs, replay->graph_count, *made)
               ? ST_OK
               : no_room(replay);
}

static st_status add_node(st_stream_replay *replay, st_replay_graph *graph, uint32_t call)
{
    const st_replay_node node = {.place = call, .what = call};
    return st_arena_append(replay->walk->arena, &graph->nodes, &graph->node_count,
                           &graph->node_room, &node, sizeof node)
               ? ST_OK
               : no_room(replay);
}

/* What was captured, up to a call. */
static st_status end_capture(st_stream_replay *replay, uint32_t end)
{
    enum { ADDED = ST_LOG_NODE | ST_LOG_CHANGE };
    const st_worker_call *calls = replay->walked->worker->calls;
    const st_log_graph *of = &calls[end].record->graph;
    st_replay_graph *graph = graph_of(replay, &(st_log_graph){.capture = of->capture});
    st_status status = ST_OK;
    if (graph == NULL)
        return ST_OK;
    graph->graph = of->graph;
    for (uint32_t i = graph->first; i < end && status == ST_OK; i++)
        if ((calls[i].record->flags & (ST_LOG_CAPTURED | ADDED)) == ST_LOG_CAPTURED)
            status = add_node(replay, graph, i);
    return status;
}

/* Adds a graph with the nodes that another one has now. */
static st_status share_graph(st_stream_replay *replay, st_replay_graph *made,
                             const st_log_graph *wanted)
{
    st_replay_graph *graph = graph_of(replay, wanted);
    if (graph == NULL)
        return ST_OK;
    made->stream = graph->stream;
    made->nodes = graph->nodes;
    made->node_count = graph->node_count;
    made->shares = graph->shares = true;
    return add_graph(replay, made);
}

static st_status instantiate(st_stream_replay *replay, const st_log_graph *of)
{
    return share_graph(replay, &(st_replay_graph){.executable = of->executable},
                       &(st_log_graph){.graph = of->graph, .capture = of->capture});
}

/* Of a capture, of nodes that are added, or a copy of another one. */
static st_status begin_graph(st_stream_replay *replay, const st_log_graph *of, uint32_t first)
{
    st_replay_graph made = {
        .capture = of->capture, .graph = of->graph, .stream = of->stream, .first = first};
    return of->nodes > 0 ? share_graph(replay, &made, &(st_log_graph){.capture = of->nodes})
                         : add_graph(replay, &made);
}

static bool same_stream(const st_worker_call *a, const st_worker_call *b)
{
    const uint32_t *one = st_record_stream(a->record);
    const uint32_t *other = st_record_stream(b->record);
    return one != NULL && other != NULL && *one == *other;
}

/* The node of a number, from 1; those of a capture count without its events. */
static st_replay_node *node_of(const st_stream_replay *replay, const st_replay_graph *graph,
                               uint32_t number)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const st_log_record *record = replay->walked->worker->calls[graph->nodes[i].place].record;
        number -= record->kind != ST_LOG_EVENT_RECORD && record->kind != ST_LOG_EVENT_WAIT &&
                  (record->flags & ST_LOG_SAME_NODE) == 0;
        if (number == 0)
            return &graph->nodes[i];
    }
    return NULL;
}

/* The record before `call` is a node, or changes one. */
static st_status take_node(st_stream_replay *replay, uint32_t call)
{
    const st_worker_call *calls = replay->walked->worker->calls;
    const st_log_graph *of = &calls[call].record->graph;
    const st_log_record *made = call > 0 ? calls[call - 1].record : NULL;
    st_replay_graph *graph =
        graph_of(replay, &(st_log_graph){.executable = of->executable,
                                         .capture = of->executable == 0 ? of->capture : 0});
    if (graph == NULL || made == NULL || made->status != 0 ||
        calls[call - 1].thread != calls[call].thread)
        return ST_OK;
    if (graph->shares) {
        st_replay_node *own =
            st_arena_alloc(replay->walk->arena, graph->node_count + 1, sizeof *own);
        if (own == NULL)
            return no_room(replay);
        if (graph->node_count > 0)
            memcpy(own, graph->nodes, graph->node_count * sizeof *own);
        graph->nodes = own;
        graph->node_room = graph->node_count + 1;
        graph->shares = false;
    }
    if ((made->flags & ST_LOG_NODE) != 0)
        return add_node(replay, graph, call - 1);
    st_replay_node *node = node_of(replay, graph, of->nodes);
    const uint32_t first = node != NULL ? node->place : 0;
    for (; node != NULL && node < graph->nodes + graph->node_count; node++) {
        const st_worker_call *own = &calls[node->place];
        const bool is_first = node->place == first;
        if (!is_first && !same_stream(&calls[first], own))
            continue;
        if (!is_first && (own->record->flags & ST_LOG_SAME_NODE) == 0)
            break;
        if (made->kind == ST_LOG_CALL)
            node->is_off = of->stream == 0;
        else
            node->what = is_first ? call - 1 : ST_NO_INDEX;
    }
    return ST_OK;
}

/* A call that puts something into streams: itself, or the nodes of a graph. */
typedef struct launching {
    uint32_t call;
    int64_t launch_ns;
    uint32_t origin; /* the first stream that was captured, whose nodes ... */
    uint32_t lane;   /* ... go here; ST_NO_INDEX: no graph is launched */
    uint32_t depth;  /* of graphs within graphs */
} launching;

static st_status launch_record(st_stream_replay *replay, const launching *by, uint32_t place,
                               uint32_t what);

/* Where a record goes: a node of a graph goes to the stream into which that is launched, where it
 * was captured in the first stream. */
static uint32_t lane_of(st_stream_replay *replay, const launching *by, uint32_t what,
                        uint32_t stream)
{
    if (by->lane != ST_NO_INDEX && stream == by->origin)
        return by->lane;
    return st_stream_replay_lane(replay, &replay->walked->worker->calls[what], stream);
}

/* The nodes of a graph, in the stream that it is launched into and in streams of its walked; a
 * graph among them is launched the same way. */
static st_status launch_graph(st_stream_replay *replay, const launching *by, uint32_t what)
{
    enum { MOST_DEPTH = 8, MOST_NESTED = ST_WORKERS_MOST_TASKS };
    const st_worker *worker = replay->walked->worker;
    const st_log_graph *graph = &worker->calls[what].record->graph;
    const st_replay_graph *found = graph_of(replay, graph);
    launching nodes = *by;
    nodes.lane = lane_of(replay, by, what, graph->stream);
    nodes.depth++;
    if (nodes.lane == ST_NO_INDEX)
        return no_room(replay);
    if (found == NULL)
        return ST_OK;
    const st_replay_graph launched = *found; /* where it lies may move */
    if (nodes.depth > MOST_DEPTH || (nodes.depth > 1 && ++replay->nested > MOST_NESTED))
        return st_fail(replay->errors, ST_ERR_LIMIT, (st_place){.file = worker->file},
                       "graphs are nested too deep" ST_EXPECTED "at most %d levels", MOST_DEPTH);
    nodes.origin = launched.stream;
    replay->open_group = 0; /* those of an earlier launch have the same numbers */
    st_status status = ST_OK;
    for (size_t i = 0; i < launched.node_count && status == ST_OK; i++)
        if (!launched.nodes[i].is_off && launched.nodes[i].what != ST_NO_INDEX)
            status = launch_record(replay, &nodes, launched.nodes[i].place, launched.nodes[i].what);
    return status;
}

/* ---- records ---- */

/* What call `what` says is launched, which is the launching one, or a node of a graph; `place` has
 * its stream. */
static st_status launch_record(st_stream_replay *replay, const launching *by, uint32_t place,
                               uint32_t what)
{
    const st_worker_call *node = &replay->walked->worker->calls[what];
    const st_log_record *record = node->record;
    if (record->kind == ST_LOG_GRAPH_LAUNCH)
        return record->status == 0 ? launch_graph(replay, by, what) : ST_OK;
    const uint32_t *stream = st_record_stream(replay->walked->worker->calls[place].record);
    if (record->status != 0 || st_record_stream(record) == NULL || stream == NULL)
        return ST_OK;
    uint32_t lane = lane_of(replay, by, place, *stream);
    if (lane == ST_NO_INDEX)
        return no_room(replay);
    st_walk_task task = {.start_ns = by->launch_ns,
                         .call = by->call,
                         .what = what,
                         .lane = lane,
                         .meet = ST_NO_INDEX};
    switch ((st_log_kind)record->kind) {
    case ST_LOG_EVENT_RECORD:
    case ST_LOG_EVENT_WAIT: {
        st_replay_event *event = event_at(replay, record->event.event);
        if (event == NULL)
            return no_room(replay);
        if (record->kind == ST_LOG_EVENT_WAIT)
            return add_wait(replay, &replay->walked->lanes[lane].wait, event->task, event->record);
        *event = (st_replay_event){.task = replay->walked->lanes[lane].tail, .record = what};
        return ST_OK;
    }
    case ST_LOG_STREAM_CREATE:
        replay->walked->lanes[lane].blocking = (record->flags & ST_LOG_NON_BLOCKING) == 0;
        return ST_OK;
    case ST_LOG_COLLECTIVE: {
        st_walk_worker *walked = replay->walked;
        const st_log_collective *collective = &walked->worker->calls[task.what].record->collective;
        /* The task of the group that is open, in this stream. */
        uint32_t open = ST_NO_INDEX;
        if (collective->group != 0 && collective->group == replay->open_group) {
            for (size_t i = replay->group_first; i < walked->task_count; i++)
                if (walked->tasks[i].lane == task.lane && walked->tasks[i].meet != ST_NO_INDEX) {
                    open = (uint32_t)i;
                    break;
                }
        }
        if (collective->group != replay->open_group) {
            replay->open_group = collective->group;
            replay->group_first = walked->task_count;
        }
        if (open == ST_NO_INDEX) {
            st_status status = add_meet(replay, task.what, ST_NO_INDEX, &task.meet);
            return status == ST_OK ? add_task(replay, &task) : status;
        }
        uint32_t meet = 0;
        st_status status = add_meet(replay, task.what, walked->tasks[open].meet, &meet);
        if (status == ST_OK)
            walked->tasks[open].meet = meet;
        return status;
    }
    default:
        if (node->shape == ST_NO_INDEX)
            return ST_OK;
        task.call = by->call - replay->walk->run->times[node->times].behind;
        return add_task(replay, &task);
    }
}

st_status st_stream_replay_launch(st_stream_replay *replay, uint32_t call, int64_t launch_ns)
{
    const st_log_record *record = replay->walked->worker->calls[call].record;
    const launching by = {.call = call, .launch_ns = launch_ns, .lane = ST_NO_INDEX};
    switch ((st_log_kind)record->kind) {
    case ST_LOG_CAPTURE_BEGIN:
        return begin_graph(replay, &record->graph, call + 1);
    case ST_LOG_CAPTURE_END:
        return end_capture(replay, call);
    case ST_LOG_GRAPH_INSTANTIATE:
        return instantiate(replay, &record->graph);
    case ST_LOG_GRAPH_NODE:
        return take_node(replay, call);
    default:
        return (record->flags & ST_LOG_CAPTURED) != 0 ? ST_OK
                                                      : launch_record(replay, &by, call, call);
    }
}

/* ---- when ---- */

/* One task of a stream, the first that has no end. */
static bool resolve_task(st_stream_replay *replay, st_walk_lane *lane)
{
    st_walk_worker *walked = replay->walked;
    st_walk_task *task = &walked->tasks[lane->head];
    bool arrives = task->meet != ST_NO_INDEX && task->end_ns == ST_WALK_LAUNCHED;
    if (task->end_ns == ST_WALK_LAUNCHED) {
        /* The latest of what a task waits for; false while that is not known. */
        int64_t start = task->start_ns > lane->ready_ns ? task->start_ns : lane->ready_ns;
        for (uint32_t i = task->wait; i != ST_NO_INDEX; i = walked->waits[i].next) {
            int64_t end = walked->tasks[walked->waits[i].task].end_ns;
            if (end < 0)
                return false;
            start = end > start ? end : start;
        }
        task->start_ns = start;
        task->end_ns = ST_WALK_STARTED;
    }
    if (task->meet == ST_NO_INDEX) {
        const st_worker_call *call = &walked->worker->calls[task->what];
        const st_log_measured *measured = &replay->walk->run->times[call->times].log;
        const double priced_ns = replay->walk->prices[call->shape].time_s * 1e9 + 0.5;
        task->end_ns =
            task->start_ns + (call->times != 0 ? (int64_t)measured->length_ns : (int64_t)priced_ns);
    }
    if (arrives) {
        for (uint32_t i = task->meet; i != ST_NO_INDEX; i = walked->meets[i].next) {
            st_instance_of *instance = &replay->walk->groups->instances[walked->meets[i].instance];
            const st_log_record *record = walked->worker->calls[walked->meets[i].what].record;
            if (st_groups_only_waits(replay->walk->groups, replay->index, record))
                continue;
            instance->arrived++;
            instance->last_ns =
                task->start_ns > instance->last_ns ? task->start_ns : instance->last_ns;
        }
    }
    if (task->meet != ST_NO_INDEX) {
        /* The end of the collectives of a task: sends concurrent with receives, others in sequence.
         */
        int64_t last = task->start_ns;
        int64_t sent = 0;
        int64_t received = 0;
        int64_t others = 0;
        for (uint32_t i = task->meet; i != ST_NO_INDEX; i = walked->meets[i].next) {
            const st_walk_meet *meet = &walked->meets[i];
            const st_instance_of *instance = &replay->walk->groups->instances[meet->instance];
            uint32_t operation = walked->worker->calls[meet->what].record->collective.operation;
            if (instance->arrived < instance->expected)
                return arrives;
            last = instance->last_ns > last ? instance->last_ns : last;
            *(operation == ST_LOG_SEND      ? &sent
              : operation == ST_LOG_RECEIVE ? &received
                                            : &others) += instance->duration_ns;
        }
        int64_t duration_ns = others + (sent > received ? sent : received);
        walked->meets[task->meet].duration_ns = duration_ns;
        task->end_ns = last + duration_ns;
    }
    lane->ready_ns = task->end_ns;
    lane->head = task->next;
    return true;
}

bool st_stream_replay_resolve(st_stream_replay *replay)
{
    bool any = false;
    bool again = true;
    while (again) {
        again = false;
        for (size_t i = 0; i < replay->walked->lane_count; i++) {
            st_walk_lane *lane = &replay->walked->lanes[i];
            bool went = lane->head != ST_NO_INDEX;
            while (went && lane->head != ST_NO_INDEX) {
                uint32_t before = lane->head;
                went = resolve_task(replay, lane);
                again = again || went;
                went = went && lane->head != before;
            }
        }
        any = any || again;
    }
    return any;
}

bool st_stream_replay_is_done(const st_stream_replay *replay)
{
    for (size_t i = 0; i < replay->walked->lane_count; i++)
        if (replay->walked->lanes[i].head != ST_NO_INDEX)
            return false;
    return true;
}
