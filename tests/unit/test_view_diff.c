/* SPDX-License-Identifier: Apache-2.0 */
/* Two recordings beside each other: what is divided by ranks and steps, in which order changes
 * stand, and where in the model kernels are. */
#include "trace_view_support.h"

#include "trace/view.h"

typedef struct fixture {
    st_errors *errors;
    st_arena *arena;
    st_trace *ranks[2][2]; /* by side */
    st_trace_diff diff;
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
    for (int side = 0; side < 2; side++)
        for (int rank = 0; rank < 2; rank++)
            st_trace_destroy(own->ranks[side][rank]);
    st_arena_destroy(own->arena);
    st_errors_destroy(own->errors);
    free(own);
    return 0;
}

/* `second` is another rank before the change; NULL: there is none. */
static st_status compare(fixture *own, const char *first, const char *second, const char *after)
{
    const char *texts[2][2] = {{first, second}, {after, NULL}};
    st_trace_set sets[2];
    for (int side = 0; side < 2; side++) {
        for (int rank = 0; rank < 2; rank++) {
            st_trace_options options = {.details = true};
            st_trace_destroy(own->ranks[side][rank]);
            own->ranks[side][rank] = NULL;
            const char *text = texts[side][rank];
            if (text != NULL)
                assert_int_equal(st_trace_read_memory(side == 0 ? "a.json" : "b.json", text,
                                                      strlen(text), &options,
                                                      &own->ranks[side][rank], own->errors),
                                 ST_OK);
        }
        sets[side] = set_of(own->ranks[side], texts[side][1] != NULL ? 2 : 1);
    }
    return st_view_diff(&(st_diff_ask){.sets = {&sets[0], &sets[1]}}, own->arena, &own->diff,
                        own->errors);
}

#define END "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}"
#define LAUNCHED(name, ts, dur, corr)                                                              \
    CALL("cudaLaunchKernel", ts "0", "1", corr) TASK(name, "7", ts "5", dur, corr)

typedef struct expected_row {
    const char *name;
    const char *place;
    const char *word;
    double before_ns;
    double after_ns;
    double before_count;
    bool is_kernel;
} expected_row;

static void expect_rows(const fixture *own, const expected_row *expected, size_t count)
{
    assert_int_equal(own->diff.count, count);
    for (size_t i = 0; i < count; i++) {
        const st_diff_row *row = &own->diff.rows[i];
        assert_string_equal(row->name, expected[i].name);
        assert_string_equal(row->place, expected[i].place);
        assert_string_equal(st_diff_word(row), expected[i].word);
        assert_true(row->time_ns[0] == expected[i].before_ns);
        assert_true(row->time_ns[1] == expected[i].after_ns);
        assert_true(row->count[0] == expected[i].before_count);
        assert_int_equal(row->is_kernel, expected[i].is_kernel);
    }
}

/* Kernels of 10, 20 and 5 us in two steps, of which the other rank has three. */
#define KERNELS                                                                                    \
    LAUNCHED("a", "11", "10", "31") LAUNCHED("b", "14", "20", "32") LAUNCHED("c", "18", "5", "33")
static const char two_steps[] =
    "{\"traceEvents\":[" STEP("1", "100", "50") STEP("2", "150", "50") KERNELS END;
static const char three_steps[] = "{\"traceEvents\":[" STEP("1", "100", "50") STEP("2", "150", "50")
    STEP("3", "200", "50") KERNELS END;
static const char one_step[] = "{\"traceEvents\":[" STEP("1", "100", "50")
    LAUNCHED("a", "11", "8", "31") LAUNCHED("b", "14", "7", "32") LAUNCHED("c", "18", "2.5", "33")
        LAUNCHED("d", "19", "1", "34") END;

/* By ranks and steps, of which two were recorded by both; equal changes stand by name. */
TEST_WITH(times_are_of_a_rank_and_step, setup, teardown)
{
    static const expected_row expected[] = {{"a", "", "grew", 5000, 8000, 0.5, true},
                                            {"b", "", "shrank", 10000, 7000, 0.5, true},
                                            {"d", "", "new", 0, 1000, 0, true},
                                            {"c", "", "same", 2500, 2500, 0.5, true}};
    fixture *own = *state;
    assert_int_equal(compare(own, two_steps, three_steps, one_step), ST_OK);
    assert_true(own->diff.by_step);
    assert_false(own->diff.by_module);
    assert_int_equal(own->diff.sides[0].steps, 2);
    assert_int_equal(own->diff.sides[0].ranks, 2);
    assert_int_equal(own->diff.sides[1].steps, 1);
    assert_true(own->diff.total_ns[0] == 17500);
    assert_true(own->diff.total_ns[1] == 18500);
    expect_rows(own, expected, COUNT(expected));
}

/* Where one side has no steps, ranks alone divide. */
TEST_WITH(steps_count_where_both_have_them, setup, teardown)
{
    static const char no_steps[] = "{\"traceEvents\":[" LAUNCHED("a", "11", "8", "31") END;
    static const expected_row expected[] = {{"b", "", "gone", 20000, 0, 1, true},
                                            {"c", "", "gone", 5000, 0, 1, true},
                                            {"a", "", "shrank", 10000, 8000, 1, true}};
    fixture *own = *state;
    assert_int_equal(compare(own, two_steps, two_steps, no_steps), ST_OK);
    assert_false(own->diff.by_step);
    assert_true(own->diff.total_ns[0] == 35000);
    expect_rows(own, expected, COUNT(expected));
}

#define MODULE(name, ts, dur)                                                                      \
    "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: " name                        \
    "\",\"pid\":4,\"tid\":2,\"ts\":" ts ",\"dur\":" dur "},"

/* A kernel of one name in two modules, which change alike: by name, then by place. */
TEST_WITH(kernels_stand_in_their_modules, setup, teardown)
{
    static const char before[] = "{\"traceEvents\":[" MODULE("Net_0", "100", "90")
        MODULE("Linear_1", "105", "10") LAUNCHED("gemm", "11", "10", "31")
            MODULE("Linear_0", "135", "10") LAUNCHED("gemm", "14", "20", "32") END;
    static const char after[] = "{\"traceEvents\":[" MODULE("Net_0", "100", "90")
        MODULE("Linear_1", "105", "10") LAUNCHED("gemm", "11", "13", "31")
            MODULE("Linear_0", "135", "10") LAUNCHED("gemm", "14", "23", "32") END;
    static const expected_row expected[] = {
        {"Net_0", "", "grew", 30000, 36000, 2, false},
        {"Linear_0", "Net_0", "grew", 20000, 23000, 1, false},
        {"Linear_1", "Net_0", "grew", 10000, 13000, 1, false},
        {"gemm", "Net_0 > Linear_0", "grew", 20000, 23000, 1, true},
        {"gemm", "Net_0 > Linear_1", "grew", 10000, 13000, 1, true}};
    fixture *own = *state;
    assert_int_equal(compare(own, before, NULL, after), ST_OK);
    assert_true(own->diff.by_module);
    expect_rows(own, expected, COUNT(expected));
    /* Where one side has none, kernels stand alone. */
    assert_int_equal(compare(own, before, NULL, one_step), ST_OK);
    assert_false(own->diff.by_module);
}

TEST_WITH(recordings_without_kernels_are_refused, setup, teardown)
{
    static const char none[] = "{\"traceEvents\":[" CALL("cudaMalloc", "112", "5", "34") END;
    fixture *own = *state;
    assert_int_equal(compare(own, two_steps, NULL, none), ST_ERR_VALUE);
    assert_contains(said(own->errors), "b.json: error: the trace has no GPU work");
    assert_int_equal(compare(own, none, NULL, two_steps), ST_ERR_VALUE);
    assert_contains(said(own->errors), "a.json: error: the trace has no GPU work");
}

TESTS(view_diff);
