/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each cause of idle time is worth: the idle time that a replay without it saves. Two causes
 * that hide each other save less than both together, and what one cause makes longer counts for
 * none: the rest is shown.
 */
#include "trace/busy.h"
#include "trace/trace_replay.h"
#include "trace/view.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

typedef struct causer {
    const st_trace_set *set;
    st_idle_rank *ranks;
    size_t count;
    st_arena *arena;
    st_errors *errors;
    int64_t **recorded_ns; /* by rank and device: idle time of the GPU, then of its streams, as
                              replayed */
} causer;

/* What is zero in a replay: a category of tasks on the host or off it. */
typedef struct removal {
    const char *category; /* NULL: of none, dependencies are left out instead */
    bool on_host;
    unsigned without; /* dependencies that are not built */
} removal;

static const removal removals[ST_IDLE_CAUSES] = {
    [ST_IDLE_HOST] = {"host", true, 0},
    [ST_IDLE_SYNC] = {NULL, false, ST_GRAPH_WITHOUT_SYNC},
    [ST_IDLE_DEPENDENCY] = {NULL, false, ST_GRAPH_WITHOUT_STREAMS},
    [ST_IDLE_COMMUNICATION] = {"communication", false, 0},
    [ST_IDLE_LAUNCH] = {"delay", true, 0},
    [ST_IDLE_UNKNOWN] = {"delay", false, 0},
};

/* A task of a stream in a replay. */
typedef struct stream_task {
    uint32_t track;
    int64_t start_ns;
    int64_t end_ns;
} stream_task;

ST_COMPARE(compare_stream_tasks, stream_task, ST_RISING(track) ST_RISING(start_ns));

/* By track: how long a stream is busy in a replay. */
static int64_t *busy_ns(const causer *c, const st_trace_rank *rank, const st_replay *replay)
{
    const st_trace *trace = rank->trace;
    size_t count = 0;
    int64_t *busy = st_xalloc(c->arena, trace->track_count + 1, sizeof *busy);
    stream_task *tasks = st_xmalloc((trace->event_count + 1) * sizeof *tasks);
    for (size_t i = 0; i < trace->event_count; i++) {
        if (rank->tasks[i] == ST_TASK_NONE)
            continue;
        st_task_time time = st_replay_task(replay, rank->tasks[i]);
        tasks[count++] = (stream_task){trace->events[i].track, time.ready_ns, time.end_ns};
    }
    st_sort(tasks, count, sizeof *tasks, compare_stream_tasks);
    int64_t reach_ns = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        const stream_task *one = &tasks[i];
        if (i > 0 && one->track != one[-1].track)
            reach_ns = INT64_MIN;
        int64_t from_ns = one->start_ns > reach_ns ? one->start_ns : reach_ns;
        busy[one->track] += one->end_ns > from_ns ? one->end_ns - from_ns : 0;
        reach_ns = one->end_ns > reach_ns ? one->end_ns : reach_ns;
    }
    free(tasks);
    return busy;
}

/* Idle time of a rank's GPU and of its streams, in a replay that ran. */
static int64_t *measure_idle(const causer *c, const st_trace_graph *graph, const st_replay *replay,
                             const st_idle_rank *own)
{
    const st_trace_rank *rank = &graph->ranks[own->rank];
    const int64_t *busy = busy_ns(c, rank, replay);
    int64_t *idle_ns = st_xalloc(c->arena, own->stream_count + 1, sizeof *idle_ns);
    st_trace_breakdown time;
    st_replayed_device(graph, replay, own->rank, own->device, false, &time);
    idle_ns[0] = time.idle_ns;
    for (size_t i = 0; i < own->stream_count; i++)
        idle_ns[i + 1] = time.window_ns;
    /* Streams are in the order of tracks: each is looked for behind the one before. */
    size_t at = 0;
    for (size_t t = 0; t < rank->trace->track_count; t++) {
        const st_trace_track *track = &rank->trace->tracks[t];
        size_t tried = 0;
        while (track->is_stream && tried < own->stream_count &&
               (track->number != own->streams[at].stream ||
                track->process != own->streams[at].device)) {
            at = at + 1 < own->stream_count ? at + 1 : 0;
            tried++;
        }
        if (track->is_stream && tried < own->stream_count)
            idle_ns[at + 1] -= busy[t];
    }
    return idle_ns;
}

static st_status zero_tasks(const causer *c, st_trace_graph *graph, const removal *without)
{
    st_status status = ST_OK;
    size_t count = st_graph_task_count(graph->graph);
    for (st_task_id i = 0; i < count && without->category != NULL && status == ST_OK; i++) {
        st_task_view view = st_graph_task(graph->graph, i);
        bool on_host = view.kind == ST_RESOURCE_HOST;
        if (on_host == without->on_host && strcmp(view.category_name, without->category) == 0)
            status = st_graph_set_duration(graph->graph, i, 0, c->errors);
    }
    return status;
}

/* Replays with a cause taken away, or as recorded where `without` is NULL. */
static st_status replay_without(causer *c, const removal *without, st_idle_cause cause)
{
    st_trace_graph *graph = NULL;
    st_errors *silent = st_xmemory(st_errors_create());
    st_status status = st_trace_graph_make_without(c->set, without == NULL ? 0 : without->without,
                                                   NULL, &graph, silent);
    if (without == NULL) /* the other graphs are of the same recording */
        for (size_t i = 0; i < st_errors_size(silent); i++)
            (void)st_errors_add(c->errors, st_errors_at(silent, i));
    st_errors_destroy(silent);
    if (status != ST_OK)
        return status;
    st_replay *replay = st_xmemory(st_replay_create(graph->graph));
    if (without != NULL)
        status = zero_tasks(c, graph, without);
    if (status == ST_OK)
        status = st_replay_run(replay, c->errors);
    for (size_t r = 0; r < c->count && status == ST_OK; r++) {
        st_idle_rank *own = &c->ranks[r];
        int64_t *idle_ns = measure_idle(c, graph, replay, own);
        if (without == NULL) {
            c->recorded_ns[r] = idle_ns;
            continue;
        }
        for (size_t i = 0; i <= own->stream_count; i++) {
            int64_t saved_ns = c->recorded_ns[r][i] - idle_ns[i];
            st_idle *idle = i == 0 ? &own->gpu : &own->streams[i - 1];
            idle->causes_ns[cause] = saved_ns > 0 ? saved_ns : 0;
            idle->is_replayed = true;
        }
    }
    st_replay_destroy(replay);
    st_trace_graph_destroy(graph);
    return status;
}

st_status st_view_idle_causes(const st_trace_set *set, st_arena *arena, st_idle_rank *ranks,
                              size_t count, st_errors *errors)
{
    causer c = {.set = set, .ranks = ranks, .count = count, .arena = arena, .errors = errors};
    c.recorded_ns = st_xalloc(arena, count, sizeof *c.recorded_ns);
    st_status status = replay_without(&c, NULL, ST_IDLE_HOST);
    for (int i = 0; i < ST_IDLE_CAUSES && status == ST_OK; i++)
        status = replay_without(&c, &removals[i], (st_idle_cause)i);
    return status;
}
