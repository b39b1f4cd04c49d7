/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of random machines: a host that launches, waits and pauses, and streams that run,
 * queue and wait for each other. The replay of such a recording is the recording, to the
 * nanosecond, and without the delays that no dependency explains nothing begins later.
 */
#include "property.h"

#include "trace/depend.h"
#include "trace/trace.h"

enum { MACHINES = 60, STREAMS = 4, MOST_ACTIONS = 120 };

typedef struct machine {
    property_random *random;
    st_buffer text;
    int64_t host_ns;
    int64_t free_ns[STREAMS]; /* when the last task of a stream ends */
    int64_t wait_ns[STREAMS]; /* before which the next task of a stream may not begin */
    int next_id;
    bool knows_waits; /* the profiler writes which event is waited for */
} machine;

static void write_event(machine *m, const char *category, const char *name, int tid,
                        int64_t start_ns, int64_t duration_ns)
{
    st_buffer_printf(
        &m->text,
        "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,\"ts\":%" PRId64
        ".%03d,\"dur\":%" PRId64 ".%03d,\"args\":",
        m->text.length > 1 ? ",\n" : "", category, name, tid, start_ns / 1000,
        (int)(start_ns % 1000), duration_ns / 1000, (int)(duration_ns % 1000));
}

static void write_call(machine *m, const char *name, int64_t duration_ns)
{
    write_event(m, "cuda_runtime", name, 5, m->host_ns, duration_ns);
    st_buffer_printf(&m->text, "{\"correlation\":%d}}", m->next_id++);
    m->host_ns += duration_ns;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void launch(machine *m)
{
    static const char *const names[] = {"ampere_sgemm", "flash_fwd", "elementwise",
                                        "ncclDevKernel"};
    int stream = random_between(m->random, 0, STREAMS - 1);
    int64_t start = m->host_ns + random_between(m->random, 3000, 9000);
    int id = m->next_id;
    start = later(start, later(m->free_ns[stream], m->wait_ns[stream]));
    start += random_below(m->random, 3) == 0 ? random_between(m->random, 0, 40000) : 0;
    int64_t duration = random_between(m->random, 0, 90000);
    write_call(m, "cudaLaunchKernel", random_between(m->random, 900, 6000));
    write_event(m, "kernel", names[random_below(m->random, 4)], 10 + stream, start, duration);
    st_buffer_printf(&m->text, "{\"device\":0,\"stream\":%d,\"correlation\":%d}}", 10 + stream, id);
    m->free_ns[stream] = start + duration;
}

static void wait_for_stream(machine *m)
{
    int waits = random_between(m->random, 0, STREAMS - 1);
    int on = (waits + random_between(m->random, 1, STREAMS - 1)) % STREAMS;
    int record = m->next_id;
    write_call(m, "cudaEventRecord", random_between(m->random, 500, 2000));
    int64_t start = m->host_ns;
    int id = m->next_id;
    write_call(m, "cudaStreamWaitEvent", random_between(m->random, 500, 2000));
    m->wait_ns[waits] = later(m->wait_ns[waits], m->free_ns[on]);
    if (!m->knows_waits)
        return;
    write_event(m, "cuda_sync", "Stream Wait Event", 10 + waits, start, 0);
    st_buffer_printf(&m->text,
                     "{\"stream\":%d,\"correlation\":%d,\"wait_on_stream\":%d,"
                     "\"wait_on_cuda_event_record_corr_id\":%d}}",
                     10 + waits, id, 10 + on, record);
}

static void synchronize(machine *m)
{
    int64_t end = m->host_ns;
    for (int i = 0; i < STREAMS; i++)
        end = later(end, m->free_ns[i]);
    write_call(m, "cudaDeviceSynchronize", end - m->host_ns + random_between(m->random, 500, 5000));
}

static st_trace *record(property_random *random, st_errors *errors)
{
    machine m = {.random = random,
                 .host_ns = 1712164731000000000 + random_between(random, 0, 1000000),
                 .knows_waits = random_below(random, 2) == 0};
    int actions = random_between(random, 5, MOST_ACTIONS);
    st_trace *trace = NULL;
    st_buffer_text(&m.text, "[");
    launch(&m);
    for (int i = 0; i < actions; i++) {
        size_t kind = random_below(random, 12);
        if (kind == 0)
            synchronize(&m);
        else if (kind == 1)
            wait_for_stream(&m);
        else if (kind == 2)
            m.host_ns += random_between(random, 0, 300000);
        else
            launch(&m);
    }
    st_buffer_text(&m.text, "]");
    assert_false(m.text.failed);
    if (st_trace_read_memory("t", m.text.data, m.text.length, NULL, &trace, errors) != ST_OK) {
        st_errors_write(errors, stderr);
        fail();
    }
    st_buffer_free(&m.text);
    return trace;
}

static void compare(const st_trace_graph *graph, const st_replay *replay, bool same)
{
    const st_trace_rank *rank = &graph->ranks[0];
    int64_t shift = rank->trace->events[0].start_ns; /* the first event is a call */
    for (size_t i = 0; i < rank->trace->event_count; i++) {
        const st_trace_event *event = &rank->trace->events[i];
        if (rank->tasks[i] == ST_TASK_NONE)
            continue;
        st_task_time time = st_replay_task(replay, rank->tasks[i]);
        if (same)
            assert_int_equal(time.start_ns, event->start_ns - shift);
        else
            assert_true(time.start_ns <= event->start_ns - shift);
        assert_int_equal(time.end_ns - time.start_ns, event->duration_ns);
    }
}

TEST_OF(replays_are_recordings, property_random *random, NULL, NULL)
{
    for (int i = 0; i < MACHINES; i++) {
        st_errors *errors = st_errors_create();
        st_arena *arena = st_arena_create();
        st_trace *trace = record(random, errors);
        st_trace_set set = {.ranks = &trace, .count = 1, .world_size = -1};
        st_trace_graph *graph = NULL;
        st_trace_summary summary;
        st_trace_breakdown time;
        assert_int_equal(st_trace_graph_make(&set, &graph, errors), ST_OK);
        st_replay *replay = st_replay_create(graph->graph);
        assert_non_null(replay);
        assert_int_equal(st_replay_run(replay, errors), ST_OK);
        compare(graph, replay, true);
        st_trace_summarize(trace, arena, &summary);
        st_trace_replay_rank(graph, replay, 0, &time);
        assert_memory_equal(&time, &summary.time, sizeof time);
        assert_int_equal(st_trace_graph_delays(graph, false, errors), ST_OK);
        assert_int_equal(st_replay_run(replay, errors), ST_OK);
        compare(graph, replay, false);
        st_replay_destroy(replay);
        st_trace_graph_destroy(graph);
        st_trace_destroy(trace);
        st_arena_destroy(arena);
        st_errors_destroy(errors);
    }
}

/* Threads with operators in one another, calls, pauses, and kernels: several hand over. */
static st_trace *record_threads(property_random *random, st_errors *errors)
{
    enum { THREADS = 4, EVENTS = 60 };
    st_buffer text = {0};
    st_trace *trace = NULL;
    int64_t at_ns[THREADS] = {0};
    st_buffer_text(&text, "[");
    for (int i = 0; i < EVENTS; i++) {
        int thread = random_between(random, 0, THREADS - 1);
        bool pauses = random_below(random, 5) == 0;
        int64_t start = at_ns[thread] + random_between(random, 0, pauses ? 900000 : 60000);
        int64_t lasts = random_between(random, 0, 150000);
        bool is_call = i == 0 || random_below(random, 3) == 0;
        bool asks = i > 0 && thread == 0; /* a thread of operators and calls that ask */
        at_ns[thread] = start + (random_below(random, 3) == 0 ? lasts : lasts / 3);
        st_buffer_printf(&text,
                         "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,"
                         "\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"correlation\":%d}}",
                         i > 0 ? "," : "", is_call ? "cuda_runtime" : "cpu_op",
                         !is_call ? "aten::mm"
                         : asks   ? "cudaEventQuery"
                                  : "cudaLaunchKernel",
                         thread + 2, (double)start / 1e3, (double)lasts / 1e3, i + 1);
        if (is_call && !asks)
            st_buffer_printf(&text,
                             ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,"
                             "\"tid\":7,\"ts\":%.3f,\"dur\":0.25,\"args\":{\"stream\":%d,"
                             "\"device\":0,\"correlation\":%d}}",
                             (double)(start + lasts + i) / 1e3, 10 + thread, i + 1);
    }
    st_buffer_text(&text, "]");
    assert_int_equal(st_trace_read_memory("t", text.data, text.length, NULL, &trace, errors),
                     ST_OK);
    st_buffer_free(&text);
    return trace;
}

/* Dependencies and the length do not change where operators go that show nothing; many go. */
TEST_OF(operators_that_show_nothing, property_random *random, NULL, NULL)
{
    size_t gone = 0;
    for (int i = 0; i < 4 * MACHINES; i++) {
        st_errors *errors = st_errors_create();
        st_trace *trace = record_threads(random, errors);
        st_trace_set set = {.ranks = &trace, .count = 1, .world_size = -1};
        st_trace_edges edges[ST_TRACE_EDGE_KINDS];
        int64_t end_ns[3];
        size_t events = trace->event_count;
        for (int thin = 0; thin < 3; thin++) {
            st_trace_graph *graph = NULL;
            if (thin == 1)
                st_depend_thin(trace);
            gone += thin == 1 ? events - trace->event_count : 0;
            if (thin < 2)
                assert_int_equal(st_trace_graph_make(&set, &graph, errors), ST_OK);
            else
                assert_int_equal(
                    st_trace_graph_of_path(&set, ST_GRAPH_WITHOUT_DELAYS, &graph, errors), ST_OK);
            assert_int_equal(st_trace_graph_delays(graph, false, errors), ST_OK);
            st_replay *replay = st_replay_create(graph->graph);
            assert_non_null(replay);
            assert_int_equal(st_replay_run(replay, errors), ST_OK);
            end_ns[thin] = st_replay_end_ns(replay);
            if (thin > 0)
                assert_memory_equal(edges, graph->ranks[0].edges, sizeof edges);
            memcpy(edges, graph->ranks[0].edges, sizeof edges);
            st_replay_destroy(replay);
            st_trace_graph_destroy(graph);
        }
        assert_int_equal(end_ns[0], end_ns[1]);
        assert_int_equal(end_ns[0], end_ns[2]);
        st_trace_destroy(trace);
        st_errors_destroy(errors);
    }
    assert_true(gone > MACHINES);
}

TESTS_WITH(traces, property_setup, NULL);
