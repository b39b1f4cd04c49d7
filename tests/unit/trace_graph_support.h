/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of graphs of traces share: recordings written call by call, and what moves in the
 * replay of their graph when a task lasts longer. */
#ifndef STEPTIME_TESTS_TRACE_GRAPH_SUPPORT_H
#define STEPTIME_TESTS_TRACE_GRAPH_SUPPORT_H

#include "trace_support.h"
#include "trace/trace.h"

/* --- small traces ------------------------------------------------------------------------------
 */

typedef struct recording {
    st_buffer text;
    bool started;
} recording;

static inline void begin(recording *r, int rank, int ranks)
{
    *r = (recording){0};
    st_buffer_printf(&r->text,
                     "{\"distributedInfo\":{\"rank\":%d,\"world_size\":%d},"
                     "\"traceEvents\":[",
                     rank, ranks);
}

static inline void event(recording *r, const char *category, const char *name, int tid,
                         double ts_us, double dur_us)
{
    st_buffer_printf(&r->text,
                     "%s\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,"
                     "\"ts\":%.3f,\"dur\":%.3f",
                     r->started ? "}," : "", category, name, 0, tid, ts_us, dur_us);
    r->started = true;
}

static inline void call(recording *r, const char *name, int tid, double ts_us, double dur_us,
                        int id)
{
    event(r, "cuda_runtime", name, tid, ts_us, dur_us);
    st_buffer_printf(&r->text, ",\"args\":{\"correlation\":%d}", id);
}

static inline void kernel(recording *r, const char *name, int stream, double ts_us, double dur_us,
                          int id)
{
    event(r, "kernel", name, stream, ts_us, dur_us);
    st_buffer_printf(&r->text, ",\"args\":{\"device\":0,\"stream\":%d,\"correlation\":%d}", stream,
                     id);
}

static inline void wait_record(recording *r, int stream, int id, int on_stream, int record)
{
    event(r, "cuda_sync", "Stream Wait Event", stream, 141, 0);
    st_buffer_printf(&r->text,
                     ",\"args\":{\"stream\":%d,\"correlation\":%d,\"wait_on_stream\":%d,"
                     "\"wait_on_cuda_event_record_corr_id\":%d}",
                     stream, id, on_stream, record);
}

/* A launch 5 us before its kernel. */
static inline void launch(recording *r, const char *name, int stream, double ts_us, double dur_us,
                          int id)
{
    call(r, "cudaLaunchKernel", 1, ts_us - 5, 3, id);
    kernel(r, name, stream, ts_us, dur_us, id);
}

static inline st_trace *end(recording *r, st_errors *errors)
{
    st_buffer_text(&r->text, r->started ? "}]}" : "]}");
    assert_false(r->text.failed);
    st_trace *trace = trace_of(r->text.data, false, errors);
    if (trace == NULL)
        fail_msg("%s", said(errors));
    st_buffer_free(&r->text);
    return trace;
}

/* --- a graph and its replay --------------------------------------------------------------------
 */

typedef struct played {
    st_trace *ranks[2];
    st_trace_set set;
    st_trace_graph *graph;
    st_replay *replay;
} played;

static inline void play(played *p, st_errors *errors)
{
    p->set = (st_trace_set){.ranks = p->ranks, .count = p->ranks[1] != NULL ? 2 : 1};
    if (st_trace_graph_make(&p->set, &p->graph, errors) != ST_OK)
        fail_msg("%s", said(errors));
    p->replay = st_replay_create(p->graph->graph);
    assert_non_null(p->replay);
    assert_int_equal(st_replay_run(p->replay, errors), ST_OK);
}

static inline void stop(played *p)
{
    st_replay_destroy(p->replay);
    st_trace_graph_destroy(p->graph);
    st_trace_destroy(p->ranks[0]);
    st_trace_destroy(p->ranks[1]);
}

/* The task of the kernel with a name. */
static inline st_task_id task_of(const played *p, size_t rank, const char *name)
{
    const st_trace *trace = p->ranks[rank];
    for (size_t i = 0; i < trace->event_count; i++) {
        if (p->graph->ranks[rank].tasks[i] != ST_TASK_NONE &&
            strcmp(trace->names[trace->events[i].name], name) == 0)
            return p->graph->ranks[rank].tasks[i];
    }
    fail_msg("no kernel %s", name);
    return ST_TASK_NONE;
}

static inline int64_t start_of(const played *p, size_t rank, const char *name)
{
    return st_replay_task(p->replay, task_of(p, rank, name)).ready_ns;
}

/* By how much `name` moves when `longer` takes 1.5 ms more. */
static inline int64_t moved_by(played *p, const char *longer, const char *name)
{
    st_graph *graph = p->graph->graph;
    st_task_id task = task_of(p, 0, longer);
    int64_t before = start_of(p, 0, name);
    int64_t duration = st_graph_task(graph, task).duration_ns;
    assert_int_equal(st_graph_set_duration(graph, task, duration + 1500000, NULL), ST_OK);
    assert_int_equal(st_replay_run(p->replay, NULL), ST_OK);
    int64_t after = start_of(p, 0, name);
    assert_int_equal(st_graph_set_duration(graph, task, duration, NULL), ST_OK);
    assert_int_equal(st_replay_run(p->replay, NULL), ST_OK);
    return after - before;
}

/* With all delays kept a replay is the recording: the same start of every GPU task. */
static inline void check_recorded(const played *p)
{
    for (size_t r = 0; r < p->set.count; r++) {
        const st_trace *trace = p->ranks[r];
        int64_t shift = p->graph->ranks[r].start_ns - trace->events[0].start_ns;
        for (size_t i = 0; i < trace->event_count; i++) {
            st_task_id task = p->graph->ranks[r].tasks[i];
            if (task == ST_TASK_NONE)
                continue;
            st_task_time time = st_replay_task(p->replay, task);
            assert_int_equal(time.ready_ns - shift, trace->events[i].start_ns);
            assert_int_equal(time.end_ns - time.ready_ns, trace->events[i].duration_ns);
        }
    }
}

static inline st_trace_edges edges_of(const played *p, st_trace_edge_kind kind)
{
    return p->graph->ranks[0].edges[kind];
}

#endif
