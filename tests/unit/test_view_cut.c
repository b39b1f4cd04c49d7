/* SPDX-License-Identifier: Apache-2.0 */
/* What of a recording belongs to some steps, kernels of several ranks in one table, and streams as
 * a picture. */
#include "trace_view_support.h"

#include "trace/view.h"

typedef struct fixture {
    st_errors *errors;
    st_arena *arena;
    st_trace *ranks[3];
} fixture;

static int setup(void **state)
{
    fixture *own = calloc(1, sizeof *own);
    own->errors = st_errors_create();
    own->arena = st_arena_create();
    *state = own;
    return 0;
}

static int teardown(void **state)
{
    fixture *own = *state;
    for (size_t i = 0; i < 3; i++)
        st_trace_destroy(own->ranks[i]);
    st_arena_destroy(own->arena);
    st_errors_destroy(own->errors);
    free(own);
    return 0;
}

static st_status cut(fixture *own, const char *text, const char *steps)
{
    st_trace_destroy(own->ranks[0]);
    own->ranks[0] = trace_of(text, false, own->errors);
    if (own->ranks[0] == NULL)
        fail_msg("%s", said(own->errors));
    st_trace_set set = set_of(own->ranks, 1);
    return st_trace_cut_steps(&set, steps, own->errors);
}

#define END "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}"

/* Steps 3, 4 and 6 of 50 us each from 100 us on. Tasks lie before, across and at the borders; the
 * last one of step 3 ends with it, and one begins with step 4. */
static const char three_steps[] = "{\"traceEvents\":[" STEP("3", "100", "50") STEP("4", "150", "50")
    STEP("6", "200", "50") CALL("cudaLaunchKernel", "80", "1", "30")
        TASK("before", "8", "85", "15", "30") CALL("cudaLaunchKernel", "85", "2", "31")
            TASK("early", "7", "90", "20", "31") CALL("cudaLaunchKernel", "100", "3", "32")
                TASK("inside", "7", "112", "23", "32") CALL("cudaLaunchKernel", "110", "4", "33")
                    TASK("closing", "8", "120", "30", "33")
                        CALL("cudaLaunchKernel", "112", "5", "34")
                            TASK("across", "7", "145", "10", "34")
                                CALL("cudaLaunchKernel", "150", "6", "35")
                                    TASK("opening", "8", "150", "7", "35")
                                        CALL("cudaLaunchKernel", "210", "7", "36")
                                            TASK("late", "7", "220", "60", "36") END;

typedef struct kept_event {
    const char *name;
    int64_t start_ns;
    int64_t duration_ns;
} kept_event;

static void expect_kept(const fixture *own, const kept_event *expected, size_t count)
{
    const st_trace *trace = own->ranks[0];
    assert_true(trace->is_cut);
    assert_int_equal(trace->event_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(trace->names[trace->events[i].name], expected[i].name);
        assert_int_equal(trace->events[i].start_ns, expected[i].start_ns);
        assert_int_equal(trace->events[i].duration_ns, expected[i].duration_ns);
    }
}

/* Calls from before come first, then tasks that are clipped to the begin. */
TEST_WITH(tasks_are_clipped_to_a_step, setup, teardown)
{
    static const kept_event expected[] = {{"cudaLaunchKernel", 85000, 2000},
                                          {"early", 100000, 10000},
                                          {"ProfilerStep#3", 100000, 50000},
                                          {"cudaLaunchKernel", 100000, 3000},
                                          {"cudaLaunchKernel", 110000, 4000},
                                          {"inside", 112000, 23000},
                                          {"cudaLaunchKernel", 112000, 5000},
                                          {"closing", 120000, 30000},
                                          {"across", 145000, 5000}};
    fixture *own = *state;
    assert_int_equal(cut(own, three_steps, "3"), ST_OK);
    expect_kept(own, expected, COUNT(expected));
    assert_int_equal(own->ranks[0]->cut_start_ns, 100000);
    assert_int_equal(own->ranks[0]->cut_end_ns, 150000);
    assert_int_equal(own->ranks[0]->kind_counts[ST_TRACE_KERNEL], 4);
    assert_int_equal(own->ranks[0]->kind_counts[ST_TRACE_CALL], 4);
    assert_int_equal(own->ranks[0]->kind_counts[ST_TRACE_STEP], 1);
}

TEST_WITH(what_a_step_begins_with_is_its_own, setup, teardown)
{
    static const kept_event expected[] = {{"cudaLaunchKernel", 112000, 5000},
                                          {"across", 150000, 5000},
                                          {"ProfilerStep#4", 150000, 50000},
                                          {"cudaLaunchKernel", 150000, 6000},
                                          {"opening", 150000, 7000}};
    fixture *own = *state;
    assert_int_equal(cut(own, three_steps, "4"), ST_OK);
    expect_kept(own, expected, COUNT(expected));
}

/* From the first begin to the last end, whatever lies between. */
TEST_OF(several_steps_are_one_window, fixture *own, setup, teardown)
{
    assert_int_equal(cut(own, three_steps, "4..6"), ST_OK);
    assert_int_equal(own->ranks[0]->cut_start_ns, 150000);
    assert_int_equal(own->ranks[0]->cut_end_ns, 250000);
    assert_int_equal(own->ranks[0]->kind_counts[ST_TRACE_STEP], 2);
    assert_int_equal(event_of(own->ranks[0], ST_TRACE_KERNEL, 2)->duration_ns, 30000);
}

/* Of a step that two threads mark, the first begin and the last end. */
TEST_OF(steps_of_several_threads_are_one, fixture *own, setup, teardown)
{
    assert_int_equal(cut(own,
                         "{\"traceEvents\":[" STEP(
                             "3", "100", "50") "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":"
                                               "\"ProfilerStep#3\",\"pid\":4,"
                                               "\"tid\":3,\"ts\":110,\"dur\":61}," CALL(
                                                   "cudaLaunchKernel", "112", "5", "34")
                                                   TASK("across", "7", "145", "90", "34") END,
                         "3"),
                     ST_OK);
    assert_int_equal(own->ranks[0]->cut_start_ns, 100000);
    assert_int_equal(own->ranks[0]->cut_end_ns, 171000);
}

TEST_WITH(steps_that_lack_are_refused, setup, teardown)
{
    static const char no_steps[] =
        "{\"traceEvents\":[" CALL("cudaLaunchKernel", "112", "5", "34") END;
    static const char no_numbers[] = "{\"traceEvents\":[" STEP("x", "100", "50")
        STEP("7x", "150", "50") CALL("cudaLaunchKernel", "112", "5", "34") END;
    static const char first_step[] =
        "{\"traceEvents\":[" STEP("0", "100", "50") CALL("cudaLaunchKernel", "112", "5", "34") END;
    static const struct {
        const char *text;
        const char *steps;
        const char *words;
    } cases[] = {{three_steps, "5", "expected steps from 3 to 6"},
                 {three_steps, "3..5", "not all of the steps 3..5 are recorded"},
                 {three_steps, "2..4", "not all of the steps 2..4 are recorded"},
                 {no_steps, "3", "the trace has no steps, but steps 3 are asked for"},
                 {no_numbers, "7", "the trace has no steps, but steps 7 are asked for"},
                 {first_step, "1", "expected steps from 0 to 0"}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(cut(own, cases[i].text, cases[i].steps), ST_ERR_VALUE);
        assert_contains(said(own->errors), cases[i].words);
        assert_false(own->ranks[0]->is_cut);
    }
    assert_int_equal(cut(own, first_step, "0"), ST_OK);
    assert_int_equal(cut(own, three_steps, "3...4"), ST_ERR_USAGE);
    assert_int_equal(cut(own, three_steps, "3 "), ST_ERR_USAGE);
    assert_int_equal(cut(own, three_steps, ""), ST_ERR_USAGE);
}

/* ---- streams as a picture ---- */

/* 120 us are 1,200 columns. Of a column most is drawn, if it is a tenth at least. */
TEST_WITH(streams_are_drawn_in_columns, setup, teardown)
{
    static const char text[] = "{\"traceEvents\":[" CALL("cudaLaunchKernel", "100", "5", "31")
        TASK("sgemm", "7", "110", "20", "31") TASK("gelu", "7", "140", "0.009", "32")
            TASK("gelu", "7", "150", "0.012", "33") TASK("sgemm", "7", "160", "0.04", "34")
                TASK("gelu", "7", "160.04", "0.06", "35")
                    CALL("cudaDeviceSynchronize", "215", "5", "44") END;
    fixture *own = *state;
    st_buffer svg = {0};
    for (size_t i = 0; i < 2; i++)
        own->ranks[i] = trace_of(text, false, own->errors);
    own->ranks[1]->rank = 5;
    st_trace_set set = set_of(own->ranks, 2);
    st_view_streams_svg(&set, &svg);
    assert_contains(svg.data, "width=\"1370\" height=\"188\"");
    assert_contains(svg.data, "<rect x=\"150\" y=\"90\" width=\"1200\" height=\"17\"");
    assert_contains(svg.data, "<rect x=\"250\" y=\"90\" width=\"200\" height=\"17\"");
    assert_contains(svg.data, "<rect x=\"650\" y=\"90\" width=\"1\" height=\"17\"");
    assert_contains(svg.data, "<rect x=\"750\" y=\"90\" width=\"1\" height=\"17\"");
    assert_null(strstr(svg.data, "<rect x=\"550\" y=\"90\""));
    assert_contains(svg.data, "<rect x=\"250\" y=\"124\" width=\"200\" height=\"17\"");
    assert_contains(svg.data, ">rank 0 stream 7<");
    assert_contains(svg.data, ">rank 5 stream 7<");
    assert_contains(svg.data, ">0.120 ms<");
    /* The two boxes of one column are of the same class, another one than the first. */
    const char *first = strstr(svg.data, "<rect x=\"250\" y=\"90\"");
    const char *second = strstr(svg.data, "<rect x=\"650\" y=\"90\"");
    const char *third = strstr(svg.data, "<rect x=\"750\" y=\"90\"");
    size_t length = strcspn(third, ">") - strlen("<rect x=\"750\"");
    assert_memory_equal(second + strlen("<rect x=\"650\""), third + strlen("<rect x=\"750\""),
                        length);
    assert_true(strncmp(strstr(first, "height"), strstr(second, "height"), 50) != 0);
    st_buffer_free(&svg);
}

TESTS(view_cut);
