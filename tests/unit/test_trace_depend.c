/* SPDX-License-Identifier: Apache-2.0 */
/* For which GPU task a call of the host waited: told by the profiler's records, by what ended when
 * the call returned, by turns, by asking again and again, or by a copy that blocks. */
#include "trace_graph_support.h"

enum { LONGER = 1500000 }; /* what moved_by adds to a task */

/* The profiler's record of a call that waits for an event of a stream. */
static void event_record(recording *r, int id, int on_stream, int record)
{
    event(r, "cuda_sync", "Event Sync", -1, 121, 0);
    st_buffer_printf(&r->text,
                     ",\"args\":{\"correlation\":%d,\"wait_on_stream\":%d,"
                     "\"wait_on_cuda_event_record_corr_id\":%d}",
                     id, on_stream, record);
}

static void expect_syncs(const played *p, uint64_t exact, uint64_t inferred, uint64_t contradicted)
{
    st_trace_edges edges = edges_of(p, ST_TRACE_EDGE_SYNC);
    assert_int_equal(edges.exact, exact);
    assert_int_equal(edges.inferred, inferred);
    assert_int_equal(edges.contradicted, contradicted);
}

/* What is launched last, on a stream of its own, moves with the one task that the host waited for.
 */
static void expect_waited(played *p, const char *waited, const char *const *others, size_t count)
{
    assert_int_equal(moved_by(p, waited, "last"), LONGER);
    for (size_t i = 0; i < count; i++)
        if (moved_by(p, others[i], "last") != 0)
            fail_msg("the host waits for %s, too", others[i]);
}

/* ---- records ---- */

/* The event was recorded before the recording began, as its call has a smaller number than all: of
 * what was in flight then on its stream the last that was over when the call returned. */
TEST_WITH(events_from_before_the_recording_are_waited_for, make_errors, drop_errors)
{
    static const char *const others[] = {"other"};
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    kernel(&r, "first", 7, 60, 40, 11);
    kernel(&r, "second", 7, 100, 50, 12);
    kernel(&r, "beyond", 7, 150, 200, 13);
    kernel(&r, "other", 9, 90, 61, 14);
    call(&r, "cudaEventSynchronize", 1, 120, 32, 60);
    event_record(&r, 60, 7, 5);
    launch(&r, "last", 8, 165, 10, 61);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    expect_waited(&p, "second", others, COUNT(others));
    expect_syncs(&p, 1, 0, 0);
    stop(&p);
}

/* One whose record is of the recording is waited for by that record's place. */
TEST_WITH(events_of_the_recording_are_waited_for, make_errors, drop_errors)
{
    static const char *const others[] = {"other"};
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "first", 7, 60, 70, 51);
    call(&r, "cudaEventRecord", 1, 70, 1, 52);
    launch(&r, "other", 9, 90, 61, 53);
    call(&r, "cudaEventSynchronize", 1, 120, 32, 60);
    event_record(&r, 60, 7, 52);
    launch(&r, "last", 8, 165, 10, 61);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    expect_waited(&p, "first", others, COUNT(others));
    expect_syncs(&p, 1, 0, 0);
    stop(&p);
}

/* ---- without records ---- */

/* The call returns when the last of what it may have waited for is over. */
TEST_WITH(what_ended_last_is_waited_for, make_errors, drop_errors)
{
    static const char *const others[] = {"first", "beyond"};
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "first", 7, 60, 85, 51);
    launch(&r, "other", 9, 90, 61, 52);
    launch(&r, "beyond", 10, 95, 200, 53);
    call(&r, "cudaStreamSynchronize", 1, 120, 32, 60);
    launch(&r, "last", 8, 165, 10, 61);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    expect_waited(&p, "other", others, COUNT(others));
    expect_syncs(&p, 0, 1, 0);
    stop(&p);
}

/* Nothing ended inside of the call: the thread's last task was over before. */
TEST_WITH(a_task_that_was_over_is_waited_for, make_errors, drop_errors)
{
    static const char *const others[] = {"first"};
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "first", 7, 60, 10, 51);
    launch(&r, "second", 9, 75, 10, 52);
    call(&r, "cudaStreamSynchronize", 1, 120, 2, 60);
    launch(&r, "last", 8, 165, 10, 61);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    assert_int_equal(moved_by(&p, others[0], "last"), 0);
    assert_true(moved_by(&p, "second", "last") > LONGER - 100000); /* it was over 35 us before */
    expect_syncs(&p, 0, 1, 0);
    stop(&p);
}

/* Events that take turns: a call waits for the end of the step before, while the next runs on; what
 * ended later on another stream is none of it. */
TEST_WITH(events_take_turns, make_errors, drop_errors)
{
    static const char *const others[] = {"other", "step2"};
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "other", 9, 80, 123, 50);
    launch(&r, "step1", 7, 100, 100, 51);
    call(&r, "cudaEventSynchronize", 1, 110, 2, 60);
    call(&r, "cudaLaunchKernel", 1, 120, 3, 52);
    kernel(&r, "step2", 7, 200, 100, 52);
    call(&r, "cudaEventSynchronize", 1, 130, 75, 62);
    launch(&r, "last", 8, 225, 10, 63);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    expect_waited(&p, "step1", others, COUNT(others));
    expect_syncs(&p, 0, 1, 0);
    stop(&p);
}

/* ---- asking ---- */

static void ask(recording *r, int from, int count, int apart_us)
{
    for (int i = 0; i < count; i++)
        call(r, "cudaEventQuery", 1, from + i * apart_us, 2, 70 + i);
}

/* So many questions, so far apart, behind a kernel that ends at 140 us. */
static int64_t moved_by_asking(int count, int apart_us, st_errors *errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "first", 7, 60, 80, 51);
    ask(&r, 100, count, apart_us);
    launch(&r, "last", 8, 105 + count * apart_us + 5, 10, 90);
    p.ranks[0] = end(&r, errors);
    play(&p, errors);
    int64_t moved = moved_by(&p, "first", "last");
    stop(&p);
    return moved;
}

/* Over 20 us from the first question to the last answer is waiting; one question is none. */
TEST_WITH(a_thread_that_asks_again_and_again_waits, make_errors, drop_errors)
{
    assert_true(moved_by_asking(10, 5, *state) > LONGER - 100000);
    assert_true(moved_by_asking(2, 40, *state) > LONGER - 100000);
    assert_int_equal(moved_by_asking(1, 40, *state), 0);
    assert_int_equal(moved_by_asking(2, 18, *state), 0);
}

/* ---- copies ---- */

/* A copy in the time of its call blocks it; one that ends later does not, nor does another kind. */
TEST_WITH(copies_may_block_their_calls, make_errors, drop_errors)
{
    static const struct {
        const char *call;
        const char *category;
        double start_us;
        double duration_us;
        bool blocks;
    } cases[] = {{"cudaMemcpyAsync", "gpu_memcpy", 105, 40, true},
                 {"cudaMemcpyAsync", "gpu_memcpy", 105, 46, false},
                 {"cudaMemsetAsync", "gpu_memset", 105, 40, false},
                 {"cudaLaunchKernel", "gpu_memcpy", 105, 40, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        recording r;
        played p = {0};
        begin(&r, 0, 1);
        launch(&r, "first", 7, 60, 10, 50);
        call(&r, cases[i].call, 1, 100, 50, 51);
        event(&r, cases[i].category, "Memcpy DtoH (Device -> Pinned)", 7, cases[i].start_us,
              cases[i].duration_us);
        st_buffer_text(&r.text, ",\"args\":{\"device\":0,\"stream\":7,\"correlation\":51}");
        launch(&r, "last", 8, 165, 10, 61);
        p.ranks[0] = end(&r, *state);
        play(&p, *state);
        int64_t moved = moved_by(&p, "Memcpy DtoH (Device -> Pinned)", "last");
        assert_int_equal(moved, cases[i].blocks ? LONGER : 0);
        expect_syncs(&p, cases[i].blocks, 0, 0);
        stop(&p);
    }
}

/* Of pageable memory one may seem to end up to 50 us after its call, where that lasts over 50 us.
 */
TEST_WITH(clocks_of_pageable_copies_may_be_late, make_errors, drop_errors)
{
    static const struct {
        double call_us;
        double copy_us;
        bool blocks;
    } cases[] = {{55, 95, true}, {55, 105, false}, {45, 55, false}, {45, 35, true}};
    static const char name[] = "Memcpy DtoH (Device -> Pageable)";
    for (size_t i = 0; i < COUNT(cases); i++) {
        recording r;
        played p = {0};
        begin(&r, 0, 1);
        launch(&r, "first", 7, 60, 10, 50);
        call(&r, "cudaMemcpyAsync", 1, 100, cases[i].call_us, 51);
        event(&r, "gpu_memcpy", name, 7, 105, cases[i].copy_us);
        st_buffer_text(&r.text, ",\"args\":{\"device\":0,\"stream\":7,\"correlation\":51}");
        launch(&r, "last", 8, 225, 10, 61);
        p.ranks[0] = end(&r, *state);
        play(&p, *state);
        expect_syncs(&p, cases[i].blocks, 0, 0);
        assert_int_equal(moved_by(&p, name, "last") > 0, cases[i].blocks);
        stop(&p);
    }
}

/* ---- pauses ---- */

/* The thread goes on at `next_us`, when a kernel ended at `end_us`. */
static int64_t moved_by_pause(double end_us, double next_us, st_errors *errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "first", 7, 60, end_us - 60, 51);
    launch(&r, "last", 8, next_us + 5, 10, 61);
    p.ranks[0] = end(&r, errors);
    play(&p, errors);
    int64_t moved = moved_by(&p, "first", "last");
    stop(&p);
    return moved;
}

/* A thread that pauses for more than 100 us, here from 58 us on, waited for what ended less than
 * 83 us before it goes on. */
TEST_WITH(the_gpu_ends_pauses, make_errors, drop_errors)
{
    static const struct {
        double end_us;
        double next_us;
        bool waits;
    } cases[] = {{317, 400, false},     {317.001, 400, true}, {400, 400, true},
                 {400.001, 400, false}, {150, 158, false},    {150, 158.001, true}};
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(moved_by_pause(cases[i].end_us, cases[i].next_us, *state) > 0,
                         cases[i].waits);
}

/* What another thread finished in the 100 us before 400 us ends a pause; questions do not. The
 * other thread waited for the first to begin. */
TEST_WITH(other_threads_end_pauses, make_errors, drop_errors)
{
    static const struct {
        const char *name;
        double start_us;
        double duration_us;
        uint64_t inferred;
    } cases[] = {{"cudaMalloc", 350, 20, 2},     {"cudaMalloc", 290, 10, 1},
                 {"cudaMalloc", 290, 10.001, 2}, {"cudaMalloc", 390, 10, 2},
                 {"cudaMalloc", 390, 10.001, 1}, {"cudaEventQuery", 350, 20, 0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        recording r;
        played p = {0};
        begin(&r, 0, 1);
        launch(&r, "first", 7, 60, 10, 51);
        call(&r, cases[i].name, 2, cases[i].start_us, cases[i].duration_us, 55);
        launch(&r, "last", 8, 405, 10, 61);
        p.ranks[0] = end(&r, *state);
        play(&p, *state);
        assert_int_equal(edges_of(&p, ST_TRACE_EDGE_THREAD).inferred, cases[i].inferred);
        stop(&p);
    }
}

/* ---- all that is certain ---- */

TEST_WITH(certain_edges_are_counted, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launch(&r, "a", 7, 60, 10, 50);
    launch(&r, "b", 7, 80, 10, 51);
    launch(&r, "c", 7, 100, 10, 52);
    launch(&r, "d", 9, 120, 10, 53);
    kernel(&r, "e", 9, 140, 10, 99);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_LAUNCH).exact, 4);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_STREAM).exact, 2 + 1);
    assert_int_equal(edges_of(&p, ST_TRACE_EDGE_THREAD).exact, 3);
    assert_int_equal(p.graph->ranks[0].unlaunched, 1);
    check_recorded(&p);
    stop(&p);
}

TESTS(trace_depend);
