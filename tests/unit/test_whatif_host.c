/* SPDX-License-Identifier: Apache-2.0 */
/* What-if where the host is what takes time: short kernels, each begun 7 us after its call, so that
 * a step ends as late as the last launch lets it. */
#include "trace_graph_support.h"

enum { MOST_CHANGES = 3 };

/* Kernels of 2.385 us. */
static void launch_at(recording *r, const char *name, double ts_us, double dur_us, int id)
{
    call(r, "cudaLaunchKernel", 1, ts_us, dur_us, id);
    kernel(r, name, 7, ts_us + 7, 2.385, id);
}

/* Calls of 5, 5, 5 and 3 us with pauses of 5, 10 and 10 us, in the second of which another call
 * ends 6 us before the third launch. */
static st_trace *four_launches(st_errors *errors)
{
    recording r;
    begin(&r, 0, 1);
    launch_at(&r, "a", 100, 5, 51);
    launch_at(&r, "b", 110, 5, 52);
    call(&r, "cudaMalloc", 1, 117, 2, 53);
    launch_at(&r, "c", 125, 5, 54);
    launch_at(&r, "d", 140, 3, 55);
    return end(&r, errors);
}

/* A graph of two kernels, launched after "a" and before "d". */
static st_trace *a_graph(st_errors *errors)
{
    recording r;
    begin(&r, 0, 1);
    launch_at(&r, "a", 100, 5, 51);
    call(&r, "cudaGraphLaunch", 1, 115, 8, 52);
    kernel(&r, "b", 7, 122, 2.385, 52);
    kernel(&r, "c", 7, 125, 2.385, 52);
    launch_at(&r, "d", 140, 3, 55);
    return end(&r, errors);
}

typedef struct host_case {
    const char *sets[MOST_CHANGES];
    const char *removed[MOST_CHANGES];
    const char *fused[MOST_CHANGES];
    const char *inserted[MOST_CHANGES];
    double saved_us;
} host_case;

static size_t count_of(const char *const *texts)
{
    size_t count = 0;
    while (count < MOST_CHANGES && texts[count] != NULL)
        count++;
    return count;
}

static void expect_saved(st_trace *(*make)(st_errors *), const host_case *one, size_t index,
                         st_errors *errors)
{
    const st_trace_change change = {.sets = one->sets,
                                    .set_count = count_of(one->sets),
                                    .removed = one->removed,
                                    .removed_count = count_of(one->removed),
                                    .fused = one->fused,
                                    .fused_count = count_of(one->fused),
                                    .inserted = one->inserted,
                                    .inserted_count = count_of(one->inserted)};
    st_arena *arena = st_arena_create();
    st_trace_outcome outcome;
    played p = {.ranks = {make(errors)}};
    play(&p, errors);
    if (st_trace_whatif(p.graph, &change, arena, &outcome, errors) != ST_OK)
        fail_msg("case %zu: %s", index, said(errors));
    assert_int_equal(outcome.before_ns, 49385);
    if (outcome.before_ns - outcome.after_ns != llround(1000 * one->saved_us))
        fail_msg("case %zu saves %d ns, not %.3f us", index,
                 (int)(outcome.before_ns - outcome.after_ns), one->saved_us);
    stop(&p);
    st_arena_destroy(arena);
}

/* Launches that the last kernel comes after: three of 5 us, in 40 us of the host. */
TEST_WITH(the_host_and_its_launches_may_be_faster, make_errors, drop_errors)
{
    static const host_case cases[] = {
        {.sets = {"speed.launch=2"}, .saved_us = 3 * 2.5},
        {.sets = {"speed.launch=0.5"}, .saved_us = -3 * 5},
        {.sets = {"speed.launch=1"}, .saved_us = 0},
        {.sets = {"speed.host=2"}, .saved_us = 20},
        {.sets = {"speed.host=0.8"}, .saved_us = -10},
        {.sets = {"speed.host=2", "speed.launch=2"}, .saved_us = 40 - (40 - 7.5) / 2},
        {.sets = {"speed.kernel:a=2"}, .saved_us = 0},
        {.sets = {"speed.kernel:d=2.5"}, .saved_us = 2.385 * 0.6},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_saved(four_launches, &cases[i], i, *state);
}

/* With a kernel go its call, and the host's time since the call before it; the first has none.
 * Where the last one goes, the one before it is the last: it ends 15 us earlier. */
TEST_WITH(launches_go_with_their_kernels, make_errors, drop_errors)
{
    static const host_case cases[] = {
        {.removed = {"a"}, .saved_us = 5},
        {.removed = {"b"}, .saved_us = 5 + 5},
        {.removed = {"c"}, .saved_us = 5 + 6},
        {.removed = {"b", "c"}, .saved_us = 5 + 5 + 5 + 6},
        {.removed = {"[bc]"}, .saved_us = 5 + 5 + 5 + 6},
        {.removed = {"b"}, .sets = {"speed.launch=2"}, .saved_us = 5 + 5 + 2 * 2.5},
        {.removed = {"b"}, .sets = {"speed.host=2"}, .saved_us = 40 - (40 - 10) / 2.0},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_saved(four_launches, &cases[i], i, *state);
}

/* A further kernel costs what a launch of the thread does, 5 us of 5, 5, 5 and 3; a pair saves the
 * second one's. */
TEST_WITH(edits_change_launches, make_errors, drop_errors)
{
    static const host_case cases[] = {
        {.inserted = {"b=0.385us"}, .saved_us = -5},
        {.inserted = {"b=0.385us", "b=0.385us"}, .saved_us = -10},
        {.inserted = {"[ab]=0.385us"}, .saved_us = -10},
        {.inserted = {"b=0.385us"}, .sets = {"speed.launch=2"}, .saved_us = 3 * 2.5 - 2.5},
        {.fused = {"a,b"}, .saved_us = 5 + 5},
        {.fused = {"b,c"}, .saved_us = 5 + 6},
        {.fused = {"a,b"}, .inserted = {"c=0.385us"}, .saved_us = 5 + 5 - 5},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_saved(four_launches, &cases[i], i, *state);
}

/* A graph is launched as long as one of its kernels is left; with all of them its call goes. */
TEST_WITH(graphs_go_with_the_last_of_their_kernels, make_errors, drop_errors)
{
    static const host_case cases[] = {
        {.removed = {"b"}, .saved_us = 0},
        {.removed = {"c"}, .saved_us = 0},
        {.removed = {"b", "c"}, .saved_us = 8 + 10},
        {.sets = {"speed.launch=2"}, .saved_us = 2.5 + 4},
        {.sets = {"speed.host=2"}, .saved_us = 20},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_saved(a_graph, &cases[i], i, *state);
}

/* What a further kernel behind one without a recorded call takes is known, its launch is not. */
TEST_WITH(kernels_without_launches_are_told, make_errors, drop_errors)
{
    static const char *const inserted[] = {"e=23.85us"};
    const st_trace_change change = {.inserted = inserted, .inserted_count = 1};
    recording r;
    st_arena *arena = st_arena_create();
    st_trace_outcome outcome;
    played p = {0};
    begin(&r, 0, 1);
    launch_at(&r, "a", 100, 5, 51);
    kernel(&r, "e", 7, 120, 2.385, 99);
    kernel(&r, "e", 7, 130, 2.385, 98);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    assert_int_equal(st_trace_whatif(p.graph, &change, arena, &outcome, *state), ST_OK);
    assert_int_equal(outcome.inserted, 2);
    assert_true(outcome.after_ns - outcome.before_ns >= 23850);
    assert_string_equal(outcome.notes[0], "2 kernels of 23.850 us are launched right behind 'e'");
    assert_string_equal(outcome.notes[1], "2 kernels of --insert have no launch: that of the one "
                                          "before them is not recorded");
    stop(&p);
    st_arena_destroy(arena);
}

/* The second of a pair waits for a kernel of another stream: both stay. */
TEST_WITH(pairs_that_wait_stay_two_kernels, make_errors, drop_errors)
{
    static const char *const fused[] = {"[ac],b"};
    const st_trace_change change = {.fused = fused, .fused_count = 1};
    for (int has_other = 0; has_other < 2; has_other++) {
        recording r;
        st_arena *arena = st_arena_create();
        st_trace_outcome outcome;
        played p = {0};
        begin(&r, 0, 1);
        launch_at(&r, "a", 60, 5, 51);
        launch(&r, "x", 20, 100, 40, 52);
        call(&r, "cudaEventRecord", 1, 99, 1, 53);
        call(&r, "cudaStreamWaitEvent", 1, 101, 1, 54);
        wait_record(&r, 7, 54, 20, 53);
        launch_at(&r, "b", 140, 5, 55);
        if (has_other) {
            launch_at(&r, "c", 160, 5, 56);
            launch_at(&r, "b", 170, 5, 57);
        }
        p.ranks[0] = end(&r, *state);
        play(&p, *state);
        st_status status = st_trace_whatif(p.graph, &change, arena, &outcome, *state);
        assert_int_equal(status, has_other ? ST_OK : ST_ERR_VALUE);
        if (has_other) {
            assert_int_equal(outcome.fused, 1);
            assert_string_equal(outcome.notes[outcome.note_count - 1],
                                "1 pairs of --fuse stay two kernels: the second "
                                "one waits for another stream");
        } else {
            assert_contains(said(*state), "by one called 'b' without waiting for another stream");
        }
        stop(&p);
        st_arena_destroy(arena);
    }
}

/* Threads that only watch stay as they are. */
TEST_WITH(watching_threads_stay, make_errors, drop_errors)
{
    static const char *const sets[] = {"speed.host=2"};
    const st_trace_change change = {.sets = sets, .set_count = 1};
    recording r;
    st_arena *arena = st_arena_create();
    st_trace_outcome outcome;
    played p = {0};
    begin(&r, 0, 1);
    launch_at(&r, "a", 100, 5, 51);
    call(&r, "cudaEventQuery", 2, 101, 2, 61);
    launch_at(&r, "d", 140, 3, 55);
    call(&r, "cudaEventQuery", 2, 139, 2, 62);
    p.ranks[0] = end(&r, *state);
    play(&p, *state);
    assert_int_equal(st_trace_whatif(p.graph, &change, arena, &outcome, *state), ST_OK);
    assert_int_equal(outcome.before_ns - outcome.after_ns, 20000);
    /* Its last answer came 41 us after the first call. */
    assert_int_equal(st_replay_run(p.replay, *state), ST_OK);
    assert_int_equal(st_replay_end_ns(p.replay), 41000);
    stop(&p);
    st_arena_destroy(arena);
}

TESTS(whatif_host);
