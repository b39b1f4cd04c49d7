/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What-if with interference: two products one after the other, a collective beside the first. What
 * comes of a change can be told by hand.
 */
#include "trace_support.h"
#include "trace/trace.h"

/* Products from 10 to 410 and to 510 us, the collective from 110 to 310. */
static const char overlapped[] =
    "{\"distributedInfo\":{\"rank\":0,\"world_size\":1},\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
    "\"ts\":1,\"dur\":1,\"args\":{\"correlation\":1}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ampere_gemm_a\",\"pid\":0,\"tid\":7,\"ts\":10,"
    "\"dur\":400,\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
    "\"ts\":3,\"dur\":1,\"args\":{\"correlation\":2}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ampere_gemm_b\",\"pid\":0,\"tid\":7,\"ts\":410,"
    "\"dur\":100,\"args\":{\"device\":0,\"stream\":7,\"correlation\":2}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
    "\"ts\":105,\"dur\":1,\"args\":{\"correlation\":3}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32_RING_LL\",\"pid\":"
    "0,\"tid\":20,\"ts\":110,\"dur\":200,\"args\":{\"device\":0,\"stream\":20,"
    "\"correlation\":3}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaDeviceSynchronize\",\"pid\":1,\"tid\":1,"
    "\"ts\":107,\"dur\":403,\"args\":{\"correlation\":4}}]}";

static st_status ask(const char *const *have, const char *const *sets, size_t set_count,
                     st_trace_outcome *outcome, st_arena *arena, st_errors *errors)
{
    st_trace *trace = trace_of(overlapped, false, errors);
    st_trace_set set = {.ranks = &trace, .count = 1, .world_size = 1};
    st_trace_graph *graph = NULL;
    st_trace_change change = {
        .have = have, .have_count = have[0] != NULL ? 1 : 0, .sets = sets, .set_count = set_count};
    assert_int_equal(st_trace_graph_make(&set, &graph, errors), ST_OK);
    st_status status = st_trace_whatif(graph, &change, arena, outcome, errors);
    st_trace_graph_destroy(graph);
    st_trace_destroy(trace);
    return status;
}

/* By how many microseconds the step changes. */
static void check_change(const char *have, const char *set, double change_us, st_errors *errors)
{
    st_arena *arena = st_arena_create();
    st_trace_outcome outcome;
    if (ask(&have, &set, 1, &outcome, arena, errors) != ST_OK)
        fail_msg("%s: %s", set, said(errors));
    double found_us = (double)(outcome.after_ns - outcome.before_ns) / 1e3;
    if (fabs(found_us - change_us) > 0.01)
        fail_msg("%s: %.3f us, expected %.3f", set, found_us, change_us);
    st_arena_destroy(arena);
}

/* Of the 400 us of the first product 200 were slowed: alone it takes 400 - 200 (1 - 1/1.6) = 325.
 */
TEST_WITH(test_change, make_errors, drop_errors)
{
    static const char have[] = "overlap.slowdown=1.6";
    check_change(have, "speed.other=3", 0, *state);
    check_change(have, "overlap.slowdown=1.6", 0, *state);
    check_change(have, "overlap.slowdown=1", -75, *state);
    /* 100 alone, 200 concurrently with the collective at 1/3.2, then the 162.5 that are left. */
    check_change(have, "overlap.slowdown=3.2", 62.5, *state);
    /* 100 alone, 100 beside it at 1/1.6, then 162.5. */
    check_change(have, "bandwidth=2", 362.5 - 400, *state);
    /* 162.5: 100 alone, 100 beside it for the rest. 50 more beside it take 80 and end at 290,
     * before the collective does. */
    check_change(have, "speed.gemm=2", 310 - 510, *state);
    /* Nothing was slowed: 100 alone, 200 at 1/1.25, 140 of 400 left. */
    check_change(NULL, "overlap.slowdown=1.25", 40, *state);
    check_change(NULL, "bandwidth=2", 0, *state);
}

/* The collective ran alongside products all the time: alone it takes 200/1.6 = 125. */
TEST_WITH(test_slowed_collectives, make_errors, drop_errors)
{
    static const char have[] = "overlap.communication_slowdown=1.6";
    check_change(have, "speed.other=3", 0, *state);
    /* Products until 110 and 135: 25 us at 1/1.6, then the 109.375 that are left, alone. */
    check_change(have, "speed.gemm=4", 135 + 109.375 - 510, *state);
    check_change(NULL, "speed.gemm=4", 310 - 510, *state);
    /* 400 of the 510 us alongside products at 1/4, then the other half alone. */
    check_change(NULL, "overlap.communication_slowdown=4", 100, *state);
    check_change(NULL, "overlap.communication_slowdown=1.6", 0, *state);
}

TEST_WITH(test_notes, make_errors, drop_errors)
{
    static const char *const have[] = {"overlap.slowdown=1.6"};
    static const char *const sets[] = {"bandwidth=2"};
    st_arena *arena = st_arena_create();
    st_trace_outcome outcome;
    assert_int_equal(ask(have, sets, 1, &outcome, arena, *state), ST_OK);
    bool found = false;
    for (size_t i = 0; i < outcome.note_count; i++)
        found =
            found || strcmp(outcome.notes[i], "1 task ran alongside a collective and is taken to "
                                              "have been slowed 1.6 times") == 0;
    assert_true(found);
    st_arena_destroy(arena);
}

TEST_WITH(test_refused, make_errors, drop_errors)
{
    static const char *const wrong[] = {"overlap.slowdown=0.8", "overlap.slowdown=1001"};
    static const char *const none[] = {NULL};
    static const char *const found[] = {"0.8", "1001"};
    static const char *const sets[] = {"bandwidth=2"};
    st_arena *arena = st_arena_create();
    st_trace_outcome outcome;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(ask(none, &wrong[i], 1, &outcome, arena, *state), ST_ERR_USAGE);
        const char *words = said(*state);
        assert_non_null(strstr(words, "--set: error: invalid value of overlap.slowdown: found "));
        assert_non_null(strstr(words, found[i]));
        assert_non_null(strstr(words, ", expected from 1 to 1000\n"));
        assert_int_equal(ask(&wrong[i], sets, 1, &outcome, arena, *state), ST_ERR_USAGE);
        assert_non_null(strstr(said(*state), "from 1 to 1000"));
    }
    st_arena_destroy(arena);
}

TESTS(trace_slowdown);
