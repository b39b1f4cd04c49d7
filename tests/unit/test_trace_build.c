/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured of a recording while its graph is built: lags of launches, gaps in queues, tasks
 * that are late, kernels that another stream's keeps from beginning, the clock of the GPU. */
#include "trace_graph_support.h"

/* A call that begins at `call_us` and its kernel. */
static void launched(recording *r, const char *name, int stream, double call_us, double ts_us,
                     double dur_us)
{
    static int id = 100;
    call(r, "cudaLaunchKernel", 1, call_us, 0.5, ++id);
    kernel(r, name, stream, ts_us, dur_us, id);
}

static void finish(recording *r, played *p, st_errors *errors)
{
    p->ranks[0] = end(r, errors);
    play(p, errors);
}

/* Of launches into an empty stream the least lag counts where there are few, of tasks in a queue
 * the median gap. */
TEST_WITH(lags_and_gaps_are_measured, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launched(&r, "a", 7, 95, 100, 10);
    launched(&r, "b", 7, 130, 138.5, 19.5);
    launched(&r, "c", 7, 140, 160, 12);
    launched(&r, "d", 7, 141, 175, 5);
    launched(&r, "e", 7, 142, 186, 5);
    finish(&r, &p, *state);
    const st_trace_rank *rank = &p.graph->ranks[0];
    assert_int_equal(rank->launch_lag_ns, 5000);
    assert_int_equal(rank->queue_gap_ns, 3000);
    /* "b" is late by 3.5 us behind its launch, "e" by 3 us beyond the usual gap. */
    assert_int_equal(rank->unexplained, 2);
    assert_int_equal(rank->unexplained_ns, 3500 + 3000);
    assert_int_equal(rank->unlaunched, 0);
    assert_int_equal(rank->blocked, 0);
    check_recorded(&p);
    stop(&p);
}

/* Lags of 5 to 25 us: one of twenty is less than what counts. */
TEST_WITH(one_of_twenty_lags_is_less, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    for (int i = 0; i < 21; i++)
        launched(&r, "a", 7, 100 * (i + 1), 100 * (i + 1) + 25 - i, 2.385);
    finish(&r, &p, *state);
    assert_int_equal(p.graph->ranks[0].launch_lag_ns, 6000);
    assert_int_equal(p.graph->ranks[0].queue_gap_ns, 0);
    stop(&p);
}

TEST_WITH(lags_have_a_bound, make_errors, drop_errors)
{
    static const struct {
        double lag_us;
        int64_t expected_ns;
    } cases[] = {{99, 99000}, {100, 100000}, {150, 100000}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        recording r;
        played p = {0};
        begin(&r, 0, 1);
        launched(&r, "a", 7, 100, 100 + cases[i].lag_us, 2.385);
        finish(&r, &p, *state);
        assert_int_equal(p.graph->ranks[0].launch_lag_ns, cases[i].expected_ns);
        stop(&p);
    }
}

/* ---- kernels in the way ---- */

/* A kernel of stream 8 is ready at 105 us. It was kept from beginning by one of stream 7 where it
 * does as the last blocks of that one drain, in a 32nd of its time; where it waited 20 us at least,
 * in nine tenths of which the first ran. Collectives keep nobody from beginning. */
TEST_WITH(a_kernel_begins_as_another_one_drains, make_errors, drop_errors)
{
    static const struct {
        const char *first;
        double from_us;
        double to_us;
        double start_us;
        bool is_blocked;
    } cases[] = {{"gemm", 100, 206, 203, true},         {"gemm", 100, 206, 202.6, false},
                 {"gemm", 100, 125.5, 125, true},       {"gemm", 100, 125.4, 124.9, false},
                 {"gemm", 114.5, 206, 203.2, true},     {"gemm", 115.2, 206, 203.2, false},
                 {"ncclKernel_A", 100, 206, 203, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        recording r;
        played p = {0};
        begin(&r, 0, 1);
        launched(&r, cases[i].first, 7, cases[i].from_us - 5, cases[i].from_us,
                 cases[i].to_us - cases[i].from_us);
        launched(&r, "gelu", 8, 100, cases[i].start_us, 10);
        finish(&r, &p, *state);
        const st_trace_rank *rank = &p.graph->ranks[0];
        if (rank->blocked != cases[i].is_blocked)
            fail_msg("case %zu is %s", i, rank->blocked > 0 ? "blocked" : "not blocked");
        int64_t late_ns = llround(1000 * (cases[i].start_us - 105));
        assert_int_equal(rank->blocked_ns, cases[i].is_blocked ? late_ns : 0);
        assert_int_equal(rank->unexplained_ns, cases[i].is_blocked ? 0 : late_ns);
        stop(&p);
    }
}

/* Half as long, it keeps the other one half as long, of 98 us. */
TEST_WITH(what_is_in_the_way_may_last_longer, make_errors, drop_errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launched(&r, "gemm", 7, 95, 100, 106);
    launched(&r, "gelu", 8, 100, 203, 10);
    finish(&r, &p, *state);
    st_task_id task = task_of(&p, 0, "gemm");
    assert_int_equal(start_of(&p, 0, "gelu"), 203000 - 95000);
    assert_int_equal(st_graph_set_duration(p.graph->graph, task, 53000, *state), ST_OK);
    assert_int_equal(st_trace_graph_unblock(p.graph, *state), ST_OK);
    assert_int_equal(st_replay_run(p.replay, *state), ST_OK);
    assert_int_equal(start_of(&p, 0, "gelu"), 105000 - 95000 + 49000);
    stop(&p);
}

/* ---- the clock of the GPU ---- */

static int64_t late_of(double call_us, double start_us, double return_us, st_errors *errors)
{
    recording r;
    played p = {0};
    begin(&r, 0, 1);
    launched(&r, "gemm", 7, call_us, start_us, 50);
    call(&r, "cudaDeviceSynchronize", 1, call_us + 10, return_us - call_us - 10, 99);
    finish(&r, &p, errors);
    int64_t late_ns = p.graph->ranks[0].gpu_late_ns;
    stop(&p);
    return late_ns;
}

/* A task that begins before its launch has an early clock, a call that returns before what it waits
 * for, 50 us later, is over a late one: by no more than launches may come nearer. 4 us are the
 * least that both take. */
TEST_WITH(the_clock_of_the_gpu_is_set, make_errors, drop_errors)
{
    static const struct {
        double start_us;
        double return_us;
        int64_t late_ns;
    } cases[] = {{107, 160, 0},        {107, 157, 0},    {97, 160, -7000},
                 {107, 156.999, 3000}, {120, 168, 6000}, {120, 159, 15000},
                 {120, 157, 16000},    {104, 150, 0},    {104.001, 150, 1}};
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(late_of(100, cases[i].start_us, cases[i].return_us, *state),
                         cases[i].late_ns);
}

TESTS(trace_build);
