/* SPDX-License-Identifier: Apache-2.0 */
/* Where moments of a recording go: between known ones, and from a replay to another. */
#include "trace_view_support.h"
#include "trace/link.h"
#include "trace/trace_replay.h"
#include "trace/trace_export.h"

/* --- between known moments
 * ----------------------------------------------------------------------- */

/* Nanoseconds; the last one is of no track and must not be read. */
static st_moment known[] = {{100, 110}, {200, 250}, {200, 270}, {300, 330}, {350, 9000}};

typedef struct moved {
    int64_t from_ns;
    int64_t to_ns;
} moved;

TEST_WITH(test_between, make_errors, drop_errors)
{
    /* Before the first and behind the last as these do; shares of the way between two; of two at
     * one time what follows goes with the second. */
    static const moved asked[] = {{50, 60},   {100, 110}, {150, 180}, {199, 248}, {200, 270},
                                  {250, 300}, {290, 324}, {300, 330}, {325, 355}, {400, 430}};
    st_time_map tracks[] = {{NULL, 0}, {known, 4}, {known + 3, 1}};
    st_export_map map = {.tracks = tracks, .main_track = 1};
    (void)state;
    for (size_t i = 0; i < ST_COUNT(asked); i++) {
        assert_int_equal(st_export_moment(&map, 1, asked[i].from_ns), asked[i].to_ns);
        /* what stands on no track, or on one of which nothing is known, goes with the main one */
        assert_int_equal(st_export_moment(&map, 0, asked[i].from_ns), asked[i].to_ns);
        assert_int_equal(st_export_moment(&map, ST_TRACE_NONE, asked[i].from_ns), asked[i].to_ns);
        assert_int_equal(st_export_moment(&map, 2, asked[i].from_ns), asked[i].from_ns + 30);
    }
}

/* Without a main track nothing else moves. */
TEST_WITH(test_nowhere, make_errors, drop_errors)
{
    st_time_map tracks[] = {{NULL, 0}, {known, 4}};
    st_export_map map = {.tracks = tracks, .main_track = ST_TRACE_NONE};
    (void)state;
    assert_int_equal(st_export_moment(&map, 0, 2385), 2385);
    assert_int_equal(st_export_moment(&map, ST_TRACE_NONE, 2385), 2385);
    assert_int_equal(st_export_moment(&map, 1, 150), 180);
}

/* --- of a recording
 * ------------------------------------------------------------------------------ */

#define ON_THREAD(name, category, thread, ts, dur, corr)                                           \
    "{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":4,\"tid\":" thread       \
    ",\"ts\":" ts ",\"dur\":" dur ",\"args\":{\"correlation\":" corr "}},"
#define LAUNCH(thread, ts, corr)                                                                   \
    ON_THREAD("cudaLaunchKernel", "cuda_runtime", thread, ts, "5", corr)

/* Operators before and behind all, which are no part of the window; a thread that launches two
 * kernels and one that launches three, of which the last begins before the one before it ends. */
static const char two_threads[] =
    "{\"traceEvents\":[" ON_THREAD("aten::mm", "cpu_op", "2", "90.385", "60", "0")
        LAUNCH("2", "100.385", "1") TASK("a", "7", "110", "10", "1") LAUNCH("2", "120", "2")
            TASK("b", "7", "130", "10", "2") LAUNCH("3", "140", "3")
                TASK("c", "7", "150", "10", "3") LAUNCH("3", "150", "4")
                    TASK("d", "7", "160", "20", "4") LAUNCH("3", "165", "5")
                        TASK("e", "7", "175", "10", "5")
                            ON_THREAD("aten::add", "cpu_op", "9", "180", "2.385",
                                      "0") "{\"ph\":\"M\",\"name\":\"x\",\"pid\":0}]}";

typedef struct moving {
    st_trace *trace;
    st_trace_set set;
    st_trace_graph *graph;
    st_replay *replay;
    st_arena *arena;
    st_trace_times before;
    st_trace_times after;
    st_export_map map;
} moving;

static void begin(moving *m, const char *text, st_errors *errors)
{
    *m = (moving){.trace = trace_of(text, false, errors), .arena = st_arena_create()};
    assert_non_null(m->trace);
    m->set = set_of(&m->trace, 1);
    assert_int_equal(st_trace_graph_make(&m->set, &m->graph, errors), ST_OK);
    m->replay = st_replay_create(m->graph->graph);
    assert_non_null(m->replay);
    assert_int_equal(st_replay_run(m->replay, errors), ST_OK);
    assert_int_equal(st_replayed_times(m->graph, m->replay, m->arena, &m->before, errors), ST_OK);
    assert_int_equal(st_replayed_times(m->graph, m->replay, m->arena, &m->after, errors), ST_OK);
}

static void make(moving *m, bool changed)
{
    st_trace_export asked = {.set = &m->set,
                             .graph = m->graph,
                             .before = changed ? &m->before : NULL,
                             .after = &m->after};
    st_export_map_make(&asked, 0, m->arena, &m->map);
}

static void drop(moving *m)
{
    st_replay_destroy(m->replay);
    st_trace_graph_destroy(m->graph);
    st_arena_destroy(m->arena);
    st_trace_destroy(m->trace);
}

static uint32_t track_of(const moving *m, int64_t number)
{
    for (uint32_t t = 0; t < m->trace->track_count; t++)
        if (m->trace->tracks[t].number == number)
            return t;
    fail_msg("no track %lld", (long long)number);
    return ST_TRACE_NONE;
}

/* The i-th task of the host on the thread that launches a kernel. */
static st_task_time *host_of(moving *m, size_t kernel, size_t i)
{
    const st_graph *graph = m->graph->graph;
    size_t event = (size_t)(event_of(m->trace, ST_TRACE_KERNEL, kernel) - m->trace->events);
    uint32_t resource = st_graph_task(graph, m->graph->ranks[0].hosts[event]).resource;
    for (size_t task = 0; task < st_graph_task_count(graph); task++)
        if (st_graph_task(graph, (st_task_id)task).resource == resource && i-- == 0)
            return &m->after.tasks[task];
    fail_msg("too few tasks");
    return NULL;
}

TEST_WITH(test_unchanged, make_errors, drop_errors)
{
    moving m;
    begin(&m, two_threads, *state);
    make(&m, false);
    assert_int_equal(m.map.shift_ns, m.graph->ranks[0].start_ns - 100385);
    assert_int_equal(m.map.main_track, ST_TRACE_NONE);
    make(&m, true);
    assert_int_equal(m.map.shift_ns, m.graph->ranks[0].start_ns - 100385);
    /* the thread that does most, not the stream, which does more */
    assert_int_equal(m.map.main_track, track_of(&m, 3));
    assert_true(m.map.tracks[track_of(&m, 7)].count > m.map.tracks[m.map.main_track].count);
    for (uint32_t t = 0; t < m.trace->track_count; t++)
        for (size_t i = 0; i < m.map.tracks[t].count; i++)
            assert_int_equal(m.map.tracks[t].moments[i].to_ns, m.map.tracks[t].moments[i].from_ns);
    /* The first task begins with the window; what overlaps goes on doing so. */
    assert_int_equal(m.map.tracks[track_of(&m, 2)].moments[0].from_ns, 100385);
    for (size_t i = 0; i < 5; i++) {
        const st_trace_event *kernel = event_of(m.trace, ST_TRACE_KERNEL, i);
        size_t event = (size_t)(kernel - m.trace->events);
        assert_int_equal(m.map.starts[event].to_ns, kernel->start_ns);
        assert_int_equal(m.map.ends[event].to_ns, st_trace_end_ns(kernel));
    }
    drop(&m);
}

/* Times of a thread do not go back: of a task that would begin at 160 us and end at 141 us, what
 * comes before 160 us waits for that. */
TEST_WITH(test_threads_go_on, make_errors, drop_errors)
{
    static const int64_t to_ns[] = {100385, 140000, 160000, 160000, 160000, 165000, 165000, 170000};
    moving m;
    begin(&m, two_threads, *state);
    uint32_t track = track_of(&m, 3);
    host_of(&m, 2, 1)->start_ns += 20000;
    host_of(&m, 2, 1)->end_ns -= 9000;
    make(&m, true);
    const st_time_map *own = &m.map.tracks[track];
    assert_int_equal(own->count, ST_COUNT(to_ns));
    for (size_t i = 0; i < own->count; i++)
        assert_int_equal(own->moments[i].to_ns, to_ns[i]);
    drop(&m);
}

/* A GPU whose clock is early has the window begin with the launch, not with the kernel. */
TEST_WITH(test_early_clock, make_errors, drop_errors)
{
    moving m;
    begin(&m,
          "{\"traceEvents\":[" LAUNCH("2", "100.385", "1")
              TASK("a", "7", "98.385", "10", "1") "{\"ph\":\"M\",\"name\":\"x\",\"pid\":0}]}",
          *state);
    make(&m, true);
    assert_true(m.graph->ranks[0].gpu_late_ns < 0);
    assert_int_equal(m.map.shift_ns, m.graph->ranks[0].start_ns - 100385);
    drop(&m);
}

static void change_kernel(moving *m, size_t kernel, int64_t start_ns, int64_t end_ns)
{
    size_t event = (size_t)(event_of(m->trace, ST_TRACE_KERNEL, kernel) - m->trace->events);
    st_task_time *time = &m->after.tasks[m->graph->ranks[0].tasks[event]];
    time->ready_ns += start_ns;
    time->end_ns += end_ns;
}

static void expect_kernel(const moving *m, size_t kernel, int64_t start_ns, int64_t end_ns)
{
    size_t event = (size_t)(event_of(m->trace, ST_TRACE_KERNEL, kernel) - m->trace->events);
    assert_int_equal(m->map.starts[event].to_ns, start_ns);
    assert_int_equal(m->map.ends[event].to_ns, end_ns);
}

/* What changes keeps the order of its stream, be it that its start changes or its end. */
TEST_WITH(test_streams_keep_order, make_errors, drop_errors)
{
    moving m;
    begin(&m, two_threads, *state);
    change_kernel(&m, 0, -7385, -2000); /* nothing is before it */
    change_kernel(&m, 1, -15000, 385);  /* would begin before a ends, at 118 us */
    change_kernel(&m, 2, 2000, -12000); /* would end before it begins */
    change_kernel(&m, 3, 1000, 1000);
    change_kernel(&m, 4, 0, 15000); /* begins before d ends, and ends later than it did */
    make(&m, true);
    expect_kernel(&m, 0, 102615, 118000);
    expect_kernel(&m, 1, 118000, 140385);
    expect_kernel(&m, 2, 152000, 152000);
    expect_kernel(&m, 3, 161000, 181000);
    expect_kernel(&m, 4, 181000, 200000);
    drop(&m);
}

TESTS(trace_moments);
