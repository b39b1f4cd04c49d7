/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of traces. Whether a dependency is there is seen by what a longer task moves: small traces
 * written here, one kind of dependency each, and published ones where they are at hand.
 */
#include "trace_graph_support.h"

/* --- tests ---------------------------------------------------------------------------------------
 */

TEST_WITH(test_streams_run_apart, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "a", 7, 100, 30.5, 11);
    launch(&r, "b", 7, 150, 10.25, 12);
    launch(&r, "c", 9, 170, 5.125, 13);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    check_recorded(&p);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_LAUNCH).exact, 3);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_STREAM).exact, 1);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_THREAD).exact, 2);
    assert_int_equal(moved_by(&p, "a", "b"), 1500000 - (150 - 130) * 1000 + 500);
    assert_int_equal(moved_by(&p, "a", "c"), 0);
    assert_int_equal(p.graph->ranks[0].launch_lag_ns, 5000);
    stop(&p);
}

TEST_WITH(test_exact_wait, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "other", 5, 90, 3, 10);
    launch(&r, "a", 7, 100, 30.5, 11);
    call(&r, "cudaEventRecord", 1, 101, 1, 20);
    launch(&r, "later", 7, 140, 3, 12);
    call(&r, "cudaStreamWaitEvent", 1, 141, 1, 21);
    launch(&r, "c", 9, 150, 5, 13);
    wait_record(&r, 9, 21, 7, 20);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    check_recorded(&p);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_STREAMS).exact, 1);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_STREAMS).inferred, 0);
    assert_true(moved_by(&p, "a", "c") > 1400000);
    assert_int_equal(moved_by(&p, "later", "c"), 0);
    assert_int_equal(moved_by(&p, "other", "c"), 0);
    stop(&p);
}

/* Without the profiler's records: what was launched before the event was recorded. */
TEST_WITH(test_inferred_wait, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "a", 7, 100, 30.5, 11);
    call(&r, "cudaEventRecord", 1, 101, 1, 20);
    call(&r, "cudaStreamWaitEvent", 1, 141, 1, 21);
    launch(&r, "c", 9, 150, 5, 13);
    launch(&r, "d", 9, 160, 5, 14);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    check_recorded(&p);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_STREAMS).inferred, 1);
    assert_true(moved_by(&p, "a", "c") > 1400000);
    stop(&p);
}

TEST_WITH(test_contradicted_wait, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "early", 5, 90, 3, 10);
    launch(&r, "a", 7, 100, 530.5, 11); /* still runs when c begins */
    call(&r, "cudaStreamWaitEvent", 1, 141, 1, 21);
    launch(&r, "c", 9, 150, 5, 13);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    check_recorded(&p);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_STREAMS).contradicted, 1);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_STREAMS).inferred, 1);
    assert_int_equal(moved_by(&p, "a", "c"), 0);
    assert_true(moved_by(&p, "early", "c") > 1400000);
    stop(&p);
}

/* Without what is late for no reason, the recording's own starts. */
static void check_start(const played *p, const char *name, int64_t start_ns)
{
    st_task_time time = st_replay_task(p->replay, task_of(p, 0, name));
    if (time.start_ns != start_ns)
        fail_msg("%s starts at %lld, not %lld", name, (long long)time.start_ns,
                 (long long)start_ns);
}

/* Inside of a graph b follows a, d runs beside b, and c follows what ended last, which is d. What
 * passes in between is the graph's, also in the queue before e; f is late for no reason. */
TEST_WITH(test_graph, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    call(&r, "cudaGraphLaunch", 1, 10, 4, 9);
    kernel(&r, "a", 7, 20, 30, 9);
    kernel(&r, "b", 8, 51.5, 30, 9);
    kernel(&r, "d", 9, 60, 100, 9);
    kernel(&r, "c", 7, 200, 30, 9);
    call(&r, "cudaLaunchKernel", 1, 100, 4, 10);
    kernel(&r, "e", 7, 400, 11, 10);
    call(&r, "cudaLaunchKernel", 1, 110, 4, 11);
    kernel(&r, "f", 10, 711, 11, 11);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    assert_int_equal(p.graph->ranks[0].edges[ST_TRACE_EDGE_STREAMS].inferred, 3);
    assert_int_equal(p.graph->ranks[0].edges[ST_TRACE_EDGE_STREAMS].contradicted, 0);
    assert_int_equal(moved_by(&p, "a", "b"), 1500000);
    assert_int_equal(moved_by(&p, "a", "d"), 1500000);
    assert_int_equal(moved_by(&p, "b", "d"), 0);
    assert_int_equal(moved_by(&p, "b", "c"), 0);
    assert_int_equal(moved_by(&p, "d", "c"), 1500000);
    assert_int_equal(p.graph->ranks[0].graphs_ns, 1500 + 10000 + 40000 + 170000);
    assert_int_equal(p.graph->ranks[0].unexplained, 1);
    assert_int_equal(st_trace_graph_delays(p.graph, false, *state), ST_OK);
    assert_int_equal(st_replay_run(p.replay, *state), ST_OK);
    check_start(&p, "c", 190000);
    check_start(&p, "e", 390000);
    check_start(&p, "f", 100000 + p.graph->ranks[0].launch_lag_ns);
    stop(&p);
}

/* Nodes of no length at one time, on two streams: none waits for the other in a circle. */
TEST_WITH(test_graph_of_nothing, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    call(&r, "cudaGraphLaunch", 1, 10, 4, 9);
    kernel(&r, "a", 7, 20, 0, 9);
    kernel(&r, "b", 8, 20, 0, 9);
    kernel(&r, "c", 7, 20, 0, 9);
    kernel(&r, "d", 8, 20, 0, 9);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    check_start(&p, "d", 10000);
    stop(&p);
}

/* No call says that c waits, but it pauses and goes on 2 us after b has ended; d has no reason. */
TEST_WITH(test_paused_streams, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "a", 7, 100, 30.5, 11);
    launch(&r, "b", 9, 135, 240.75, 12);
    call(&r, "cudaLaunchKernel", 1, 145, 3, 13);
    kernel(&r, "c", 7, 377.75, 5, 13);
    call(&r, "cudaLaunchKernel", 1, 150, 3, 14);
    kernel(&r, "d", 9, 462, 5, 14);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    check_recorded(&p);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_STREAMS).inferred, 1);
    assert_true(moved_by(&p, "b", "c") > 1400000);
    assert_int_equal(moved_by(&p, "c", "d"), 0);
    stop(&p);
}

/* What was launched later cannot be waited for, nor does a task that begins long after. */
TEST_WITH(test_pauses_without_a_reason, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "a", 7, 100, 30.5, 11);
    call(&r, "cudaLaunchKernel", 1, 120, 3, 12);
    launch(&r, "b", 9, 135, 240.75, 13);
    kernel(&r, "c", 7, 377.75, 5, 12);
    call(&r, "cudaLaunchKernel", 1, 150, 3, 14);
    kernel(&r, "d", 7, 410.25, 5, 14);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    check_recorded(&p);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_STREAMS).inferred, 0);
    assert_int_equal(moved_by(&p, "b", "c"), 0);
    stop(&p);
}

/* The profiler's records say who waits; a graph's tasks have none. */
TEST_WITH(test_pauses_beside_records, make_errors, drop_errors)
{
    for (int in_graph = 0; in_graph < 2; in_graph++) {
        recording r;
        played p = {0};
        begin(&r, 0, 1);
        launch(&r, "a", 7, 100, 30.5, 11);
        call(&r, "cudaEventRecord", 1, 101, 1, 20);
        call(&r, "cudaStreamWaitEvent", 1, 141, 1, 21);
        launch(&r, "e", 5, 150, 5, 15);
        wait_record(&r, 5, 21, 7, 20);
        launch(&r, "b", 9, 155, 240.75, 12);
        call(&r, in_graph != 0 ? "cudaGraphLaunch" : "cudaLaunchKernel", 1, 160, 3, 13);
        kernel(&r, "c", 7, 397.75, 5, 13);
        if (in_graph != 0)
            kernel(&r, "d", 7, 405.25, 5, 13);
        p.ranks[0] = end(&r, *state);
        play(&p, *state);
        check_recorded(&p);
        assert_int_equal(edges_of(&p, ST_TRACE_EDGE_STREAMS).exact, 1);
        assert_int_equal(edges_of(&p, ST_TRACE_EDGE_STREAMS).inferred, in_graph);
        stop(&p);
    }
}

TEST_WITH(test_host_waits, make_errors, drop_errors)
{
    static const char *const calls[] = {"cudaStreamSynchronize", "cudaDeviceSynchronize",
                                        "cudaEventSynchronize", "hipDeviceSynchronize"};
    for (size_t i = 0; i < COUNT(calls); i++) {
        recording r;
        played p = {0};
        begin(&r, 0, 1);
        launch(&r, "a", 7, 100, 30.5, 11);
        call(&r, calls[i], 1, 110, 25, 12);
        launch(&r, "b", 9, 150, 5, 13);
        p.ranks[0] = end(&r, *state);
        play(&p, *state);
        check_recorded(&p);
        st_trace_edges edges = edges_of(&p, ST_TRACE_EDGE_SYNC);
        assert_int_equal(edges.exact + edges.inferred, 1);
        assert_int_equal(moved_by(&p, "a", "b"), 1500000);
        stop(&p);
    }
}

TEST_WITH(test_blocking_copy, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "a", 7, 100, 30.5, 11);
    call(&r, "cudaMemcpyAsync", 1, 110, 50, 12);
    event(&r, "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 7, 140, 15);
    st_buffer_text(&r.text, ",\"args\":{\"stream\":7,\"correlation\":12}");
    launch(&r, "b", 9, 170, 5, 13);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    check_recorded(&p);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_SYNC).exact, 1);
    assert_true(moved_by(&p, "a", "b") > 1400000);
    stop(&p);
}

/* A graph of kernels has one call; work from before the recording has none. */
TEST_WITH(test_odd_launches, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    kernel(&r, "orphan", 7, 40, 20, 3);
    call(&r, "cudaGraphLaunch", 1, 90, 5, 11);
    kernel(&r, "a", 7, 100, 30, 11);
    kernel(&r, "b", 9, 105, 30, 11);
    kernel(&r, "c", 7, 131, 4, 11);
    kernel(&r, "early", 11, 150, 4, 12); /* before its call: the clocks differ */
    call(&r, "cudaLaunchKernel", 1, 155, 5, 12);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_LAUNCH).exact, 4);
    assert_int_equal(p.graph->ranks[0].unlaunched, 1);
    assert_int_equal(start_of(&p, 0, "orphan"), 0);
    assert_int_equal(start_of(&p, 0, "b"), 65000);
    assert_true(moved_by(&p, "orphan", "a") > 1400000); /* one stream */
    assert_int_equal(moved_by(&p, "orphan", "b"), 0);
    stop(&p);
}

TEST_WITH(test_threads_wake_each_other, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    call(&r, "cudaLaunchKernel", 2, 10, 3, 5); /* the second thread is there, and pauses */
    kernel(&r, "z", 5, 20, 3, 5);
    launch(&r, "a", 7, 400, 30, 11);
    call(&r, "cudaDeviceSynchronize", 1, 410, 30, 12);
    call(&r, "cudaLaunchKernel", 2, 450, 3, 13); /* 10 us after the first one went quiet */
    kernel(&r, "b", 9, 460, 3, 13);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    check_recorded(&p);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_THREAD).inferred, 2);
    assert_int_equal(moved_by(&p, "a", "b"), 1500000);
    stop(&p);
}

TEST_WITH(test_overlap_on_a_stream, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "a", 7, 100, 30, 11);
    launch(&r, "b", 7, 120, 20, 12);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    assert_int_equal(start_of(&p, 0, "b"), 35000);
    assert_int_equal(st_replay_task(p.replay, task_of(&p, 0, "b")).end_ns, 45000);
    stop(&p);
}

TEST_WITH(test_steps, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    event(&r, "user_annotation", "ProfilerStep#4", 1, 90, 80);
    launch(&r, "a", 7, 100, 30.5, 11);
    call(&r, "cudaDeviceSynchronize", 1, 110, 25, 12);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    const st_trace_rank *rank = &p.graph->ranks[0];
    assert_int_equal(rank->step_count, 1);
    assert_int_equal(st_replay_task(p.replay, rank->steps[0].ends).end_ns, 75000);
    stop(&p);
}

/* --- ranks ---------------------------------------------------------------------------------------
 */

enum { NO_METADATA, COMMUNICATOR, SEQUENCE };

static const char reduce[] = "ncclDevKernel_AllReduce_Sum_f16_RING_LL";

/* Three collectives; the second rank's clock is 2 s ahead, and it comes late to the second one. */
static void make_ranks(played *p, int level, st_errors *errors)
{
    for (int rank = 0; rank < 2; rank++) {
        recording r;
        double ahead = rank == 1 ? 2e6 : 0;
        const double starts[] = {100, rank == 1 ? 250 : 200, 300};
        const double ends[] = {120, 260, 315.5};
        begin(&r, rank, 2);
        launch(&r, "work", 7, ahead + 90 + rank, 8, 50);
        for (int i = 0; i < 3; i++) {
            launch(&r, reduce, 20, ahead + starts[i], ends[i] - starts[i], 60 + i);
            if (level == NO_METADATA)
                continue;
            r.text.length--; /* args go on */
            st_buffer_text(&r.text, ",\"Collective name\":\"allreduce\",\"Group size\":2,"
                                    "\"Process Group Name\":\"3\"");
            if (level == SEQUENCE)
                st_buffer_printf(&r.text, ",\"Seq\":%d", 40 + i);
            st_buffer_text(&r.text, "}");
        }
        p->ranks[rank] = end(&r, errors);
    }
    play(p, errors);
}

/* Collectives of two runs of a job: intervals grow on one rank, and shrink on the other. */
TEST_WITH(test_other_runs_are_refused, make_errors, drop_errors)
{
    enum { COUNT = 8 };
    st_trace *ranks[2];
    for (int rank = 0; rank < 2; rank++) {
        recording r;
        double at_us = 100;
        begin(&r, rank, 2);
        for (int i = 0; i < COUNT; i++) {
            launch(&r, reduce, 20, at_us, 12.5, 60 + i);
            r.text.length--; /* args go on */
            st_buffer_printf(&r.text,
                             ",\"Collective name\":\"allreduce\",\"Group size\":2,"
                             "\"Process Group Name\":\"3\",\"Seq\":%d}",
                             40 + i);
            at_us += 1000 * (rank == 0 ? 1 + i * i : 1 + (COUNT - i) * (COUNT - i));
        }
        ranks[rank] = end(&r, *state);
    }
    st_trace_set set = {.ranks = ranks, .count = 2, .world_size = 2};
    st_trace_graph *graph = NULL;
    assert_int_equal(st_trace_graph_make(&set, &graph, *state), ST_ERR_VALUE);
    assert_non_null(strstr(said(*state), "the collectives of the ranks contradict each other"));
    st_trace_destroy(ranks[0]);
    st_trace_destroy(ranks[1]);
}

TEST_WITH(test_ranks_meet, make_errors, drop_errors)
{
    for (int i = NO_METADATA; i <= SEQUENCE; i++) {
        played p = {0};
        make_ranks(&p, i, *state);
        check_recorded(&p);
        assert_int_equal(p.graph->instances.exact, i == SEQUENCE ? 3 : 0);
        assert_int_equal(p.graph->instances.inferred, i == SEQUENCE ? 0 : 3);
        assert_int_equal(p.graph->instances.contradicted, 0);
        assert_int_equal(p.graph->ranks[1].clock_ns, -2000000000);
        assert_int_equal(p.graph->most_apart_ns, 0);
        /* The transfer is what follows the last arrival. */
        st_task_id tasks[2] = {ST_TASK_NONE, ST_TASK_NONE};
        for (size_t rank = 0; rank < 2; rank++) {
            size_t seen = 0;
            for (size_t k = 0; k < p.ranks[rank]->event_count; k++) {
                const st_trace_event *e = &p.ranks[rank]->events[k];
                if (e->kind == ST_TRACE_KERNEL && e->class_ == ST_TRACE_COMMUNICATION &&
                    seen++ == 1)
                    tasks[rank] = p.graph->ranks[rank].tasks[k];
            }
            assert_int_equal(st_graph_task(p.graph->graph, tasks[rank]).duration_ns, 10000);
        }
        assert_int_equal(st_replay_task(p.replay, tasks[0]).start_ns,
                         st_replay_task(p.replay, tasks[1]).ready_ns);
        stop(&p);
    }
}

/* One rank's recording began a collective later. */
TEST_WITH(test_ranks_cut_differently, make_errors, drop_errors)
{
    played p = {0};
    static const char *const names[] = {"ncclA", "ncclB", "ncclC", "ncclB", "ncclD"};
    for (int rank = 0; rank < 2; rank++) {
        recording r;
        begin(&r, rank, 2);
        for (int i = rank; i < 5; i++)
            launch(&r, names[i], 20, 100 + 50 * i - rank, 20 + rank, 60 + i);
        p.ranks[rank] = end(&r, *state);
    }
    play(&p, *state);
    assert_int_equal(p.graph->instances.inferred, 4);
    assert_int_equal(p.graph->instances.contradicted, 0);
    stop(&p);
}

TEST_WITH(test_ranks_that_do_not_fit, make_errors, drop_errors)
{
    played p = {0};
    for (int rank = 0; rank < 2; rank++) {
        recording r;
        begin(&r, rank, 2);
        launch(&r, "ncclA", 20, 1000, 20, 60);
        launch(&r, "ncclA", 20, 2000, 20, 61);
        launch(&r, rank == 0 ? "ncclB" : "ncclC", 20, 3000, 20, 62);
        launch(&r, "ncclA", 20, rank == 0 ? 4000 : 9000, 20, 63); /* cannot be one */
        p.ranks[rank] = end(&r, *state);
    }
    play(&p, *state);
    check_recorded(&p);
    assert_int_equal(p.graph->instances.inferred, 2);
    assert_int_equal(p.graph->instances.contradicted, 2);
    assert_non_null(strstr(said(*state), "2 of 4 collectives contradict each other"));
    stop(&p);
}

TEST_WITH(test_no_gpu_work, make_errors, drop_errors)
{
    recording r;
    begin(&r, 0, 1);
    call(&r, "cudaGetDevice", 1, 10, 3, 5);
    st_trace *trace = end(&r, *state);
    st_trace_set set = {.ranks = &trace, .count = 1};
    st_trace_graph *graph = NULL;
    assert_int_equal(st_trace_graph_make(&set, &graph, *state), ST_ERR_VALUE);
    assert_non_null(strstr(said(*state), "t.json: error: the trace has no GPU work"));
    st_trace_destroy(trace);
}

/* --- published traces ----------------------------------------------------------------------------
 */

static double share(int64_t part_ns, const st_trace_breakdown *time)
{
    return 100 * (double)part_ns / (double)time->window_ns;
}

static double most_points(const st_trace_breakdown *a, const st_trace_breakdown *b)
{
    double most = fabs(share(a->exposed_compute_ns, a) - share(b->exposed_compute_ns, b));
    most = fmax(
        most, fabs(share(a->exposed_communication_ns, a) - share(b->exposed_communication_ns, b)));
    most = fmax(most, fabs(share(a->overlapped_ns, a) - share(b->overlapped_ns, b)));
    return fmax(most, fabs(share(a->idle_ns, a) - share(b->idle_ns, b)));
}

/* Every rank: shares within `points` and length within `percent` of the recording. */
static void compare_ranks(const st_trace_graph *graph, const st_replay *replay, double points,
                          double percent)
{
    st_arena *arena = st_arena_create();
    for (size_t i = 0; i < graph->set->count; i++) {
        st_trace_summary summary;
        st_trace_breakdown time;
        st_trace_summarize(graph->set->ranks[i], arena, &summary);
        st_trace_replay_rank(graph, replay, i, &time);
        double length = 100 * ((double)time.window_ns / (double)summary.time.window_ns - 1);
        if (most_points(&summary.time, &time) > points || fabs(length) > percent)
            fail_msg("%s: %.3f points, %.3f %%", graph->set->ranks[i]->file,
                     most_points(&summary.time, &time), length);
    }
    st_arena_destroy(arena);
}

static void check_set(const char *name, double points, double percent, st_errors *errors)
{
    char path[512];
    const char *data = getenv("STEPTIME_DATA");
    const char *const paths[] = {path};
    st_trace_set *set = NULL;
    st_trace_graph *graph = NULL;
    (void)snprintf(path, sizeof path, "%s/traces/%s", data != NULL ? data : "../shared/data", name);
    if (st_trace_set_read(paths, 1, NULL, &set, errors) != ST_OK) {
        print_message("[ SKIPPED  ] %s is not there (STEPTIME_DATA)\n", path);
        skip();
    }
    assert_int_equal(st_trace_graph_make(set, &graph, errors), ST_OK);
    st_replay *replay = st_replay_create(graph->graph);
    assert_non_null(replay);
    assert_int_equal(st_replay_run(replay, errors), ST_OK);
    compare_ranks(graph, replay, 0.05, 0.01); /* with its delays it is the recording */
    assert_int_equal(st_trace_graph_delays(graph, false, errors), ST_OK);
    assert_int_equal(st_replay_run(replay, errors), ST_OK);
    compare_ranks(graph, replay, points, percent);
    st_replay_destroy(replay);
    st_trace_graph_destroy(graph);
    st_trace_set_destroy(set);
}

TEST_WITH(test_published_sets, make_errors, drop_errors)
{
    check_set("01_megatron_tp8_a100", 1, 1, *state);
    check_set("03_dlrm_v100x8", 1, 1, *state);
}

/* One rank of eight: what waits for the others is in its kernels. */
TEST_WITH(test_published_rank, make_errors, drop_errors)
{
    check_set("07_hta_a100_rank3of8_2022/control.json.gz", 1.5, 3.5, *state);
}

/* The profiler left most nodes of its CUDA graphs out. */
TEST_WITH(test_published_graphs, make_errors, drop_errors)
{
    check_set("13_a100_cudagraph_rank0of16/rank0.json.gz", 0.5, 0.2, *state);
}

/* A kernel without room begins as the last blocks of another stream's drain: that one's time is in
 * its wait. One that begins while much of the other is left, or a copy, was late for another
 * reason. */
TEST_WITH(test_blocked, make_errors, drop_errors)
{
    for (int i = 0; i < 3; i++) {
        recording r;
        played p = {0};
        begin(&r, 0, 1);
        launch(&r, "gemm", 7, 100, 2385, 11);
        call(&r, "cudaLaunchKernel", 1, 110, 3, 12);
        if (i < 2)
            kernel(&r, "permute", 20, i == 0 ? 2450.5 : 2350.5, 20, 12);
        else
            event(&r, "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 20, 2450.5, 20);
        if (i == 2)
            st_buffer_printf(&r.text, ",\"args\":{\"device\":0,\"stream\":20,\"correlation\":12}");
        p.ranks[0] = end(&r, *state);
        play(&p, *state);
        check_recorded(&p);
        const st_trace_rank *rank = &p.graph->ranks[0];
        assert_int_equal(rank->blocked, i == 0);
        assert_int_equal(rank->unexplained, i > 0);
        if (i == 0) {
            st_task_id gemm = task_of(&p, 0, "gemm");
            int64_t before = start_of(&p, 0, "permute");
            int64_t wait_ns = rank->blocked_ns;
            assert_true(wait_ns > 2300000 && wait_ns < 2340000);
            assert_int_equal(st_graph_set_duration(p.graph->graph, gemm, 2385000 / 2, *state),
                             ST_OK);
            assert_int_equal(st_trace_graph_unblock(p.graph, *state), ST_OK);
            assert_int_equal(st_replay_run(p.replay, *state), ST_OK);
            assert_true(llabs(before - start_of(&p, 0, "permute") - wait_ns / 2) < 10);
        }
        stop(&p);
    }
}

/* A call that waits for everything works on when that is over; what is not recorded is unknown. */
TEST_WITH(test_own_work, make_errors, drop_errors)
{
    static const char *const launches[] = {"cudaLaunchKernel", "cudaGraphLaunch",
                                           "cudaMemcpyAsync"};
    for (int i = 0; i < 3; i++) {
        recording r;
        played p = {0};
        begin(&r, 0, 1);
        launch(&r, "a", 7, 100, 30.5, 11);
        call(&r, "cudaDeviceSynchronize", 1, 120, 14.5, 12);
        call(&r, launches[i], 1, 150, 3, 13);
        if (i < 2)
            kernel(&r, "b", 7, 155, 60, 13);
        call(&r, "cudaFree", 1, 160, 2385, 14); /* the kernel is over at 215 */
        p.ranks[0] = end(&r, *state);
        play(&p, *state);
        const st_trace_waiting *waiting = &p.graph->ranks[0].waiting;
        assert_int_equal(waiting->count, 2);
        assert_int_equal(waiting->own_ns, i == 0 ? 2330000 : 0);
        assert_int_equal(waiting->unknown_ns, i == 0 ? 0 : i == 1 ? 2330000 : 2385000);
        stop(&p);
    }
}

TESTS(trace_graph);
