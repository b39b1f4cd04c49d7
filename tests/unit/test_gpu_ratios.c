/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that were measured on two GPUs, and what others of the first take on the second. */
#include "job_support.h"

#include "base/csv.h"
#include "kernel-times/fit/ratios.h"

#include <math.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* What this test's second GPU takes over the first one's time: short products gain little. */
static double rule(st_trace_class class_, double seconds)
{
    return class_ == ST_TRACE_GEMM ? 0.31 + 2.385e-6 / seconds : 0.577;
}

/* Two models on the first GPU, and the second GPU's times of the same pieces. */
static void fill_sets(fixture *own, st_time_sets *from, st_time_sets *to)
{
    static const st_times_piece pieces[] = {ST_TIMES_NORM_1, ST_TIMES_PROJECTION, ST_TIMES_ADD};
    bool has[ST_TIMES_FEATURES] = {[ST_TIMES_TOKENS] = true,
                                   [ST_TIMES_HIDDEN] = true,
                                   [ST_TIMES_HEADS] = true,
                                   [ST_TIMES_TENSOR] = true};
    *from = (st_time_sets){.gpu = "a100-sxm-80gb", .peak = 312e12, .bandwidth = 2039e9};
    *to = (st_time_sets){.gpu = "h100-sxm", .peak = 989.4e12, .bandwidth = 3350e9};
    from->groups[from->group_count++] = "one";
    to->groups[to->group_count++] = "wide";
    to->groups[to->group_count++] = "narrow";
    st_time_set *first = st_time_set_of(from, ST_TIMES_OF_FORWARD, has, pieces, 3);
    st_time_set *second = st_time_set_of(to, ST_TIMES_OF_FORWARD, has, pieces, 3);
    for (size_t i = 0; i < 200; i++) {
        st_time_sample sample = {.group = 0};
        double hidden = i % 2 == 0 ? 5120 : 3072;
        for (size_t k = 0; k < ST_TIMES_FEATURES; k++)
            sample.shape.features[k] = (double)NAN;
        sample.shape.features[ST_TIMES_TOKENS] = 37 * (double)(i / 2 + 1);
        sample.shape.features[ST_TIMES_HIDDEN] = hidden;
        sample.shape.features[ST_TIMES_HEADS] = 32;
        sample.shape.features[ST_TIMES_TENSOR] = 2;
        double tokens = sample.shape.features[ST_TIMES_TOKENS];
        sample.times[0] = 3.1e-6 + tokens * hidden * 2.9e-12;
        sample.times[1] = 7.3e-6 + tokens * hidden * hidden * 4.7e-15;
        sample.times[2] = 2.3e-6 + tokens * hidden * 4.1e-12;
        assert_int_equal(st_time_add(first, &sample, own->arena, own->errors), ST_OK);
        sample.group = i % 2;
        for (size_t k = 0; k < 3; k++)
            sample.times[k] *= rule(k == 1 ? ST_TRACE_GEMM : ST_TRACE_ELEMENTWISE, sample.times[k]);
        if (i != 199) /* which has no counterpart */
            assert_int_equal(st_time_add(second, &sample, own->arena, own->errors), ST_OK);
    }
}

TEST_OF(pieces_of_the_same_sizes_tell_the_ratio, fixture *own, set_up, tear_down)
{
    st_time_sets *from = st_arena_alloc(own->arena, 2, sizeof *from);
    st_time_sets *to = from + 1;
    st_ratios_kernels kernels;
    st_ratios *ratios = st_arena_alloc(own->arena, 1, sizeof *ratios);
    st_ratios_tests tried = {0};
    st_trace_class taken = ST_TRACE_OTHER;
    fill_sets(own, from, to);
    assert_int_equal(st_ratios_match(from, to, own->arena, &kernels, own->errors), ST_OK);
    assert_int_equal(kernels.count, 199 * 3);
    assert_int_equal(kernels.unlike, 3);
    assert_int_equal(kernels.layers, 199);
    assert_int_equal(st_ratios_learn(&kernels, SIZE_MAX, false, own->arena, ratios), ST_OK);
    for (double us = 17; us < 300; us *= 1.3) {
        double found = st_ratios_ask(ratios, ST_TRACE_GEMM, us * 1e-6, &taken);
        assert_true(fabs(found / rule(ST_TRACE_GEMM, us * 1e-6) - 1) < 0.05);
        assert_int_equal(taken, ST_TRACE_GEMM);
    }
    assert_true(fabs(st_ratios_ask(ratios, ST_TRACE_NORM, 11e-6, &taken) - 0.577) < 1e-9);
    /* Classes without measurements take those of their kind. */
    assert_true(fabs(st_ratios_ask(ratios, ST_TRACE_OPTIMIZER, 11e-6, &taken) - 0.577) < 1e-9);
    assert_int_equal(taken, ST_TRACE_ELEMENTWISE);
    (void)st_ratios_ask(ratios, ST_TRACE_ATTENTION, 11e-6, &taken);
    assert_int_equal(taken, ST_TRACE_GEMM);
    assert_true(isnan(st_ratios_ask(ratios, ST_TRACE_GEMM, 0, &taken)));
    assert_int_equal(st_ratios_try(&kernels, from, to, own->arena, &tried, own->errors), ST_OK);
    const st_ratios_test *tests = tried.items;
    assert_int_equal(tried.count, 2);
    assert_string_equal(tests[1].name, "narrow");
    assert_int_equal(tests[0].layers, 100);
    assert_int_equal(tests[1].kernels, 99 * 3);
    for (size_t i = 0; i < tried.count; i++) {
        assert_true(tests[i].each[ST_RATIOS_CURVES].mean_absolute < 0.05);
        assert_true(tests[i].sums[ST_RATIOS_CURVES].mean_absolute <
                    tests[i].sums[ST_RATIOS_SHEETS].mean_absolute);
    }
    /* Data sheets: all products by 312/989.4, all else by 2039/3350. */
    assert_true(tests[0].each[ST_RATIOS_SHEETS].largest > 0.1);
    to->count = 0;
    assert_int_equal(st_ratios_match(from, to, own->arena, &kernels, own->errors), ST_ERR_VALUE);
}

/* Products take half as long by the data sheets, all else 0.6 of it. A group without kernels, and
 * one without others to learn from, are not tried. */
TEST_OF(errors_are_those_of_the_group_left_out, fixture *own, set_up, tear_down)
{
    st_time_sets *sets = st_arena_alloc(own->arena, 2, sizeof *sets);
    sets[0] = (st_time_sets){.peak = 300e12, .bandwidth = 1.8e12};
    sets[1] = (st_time_sets){.peak = 600e12, .bandwidth = 3e12};
    sets[1].groups[0] = "one";
    sets[1].groups[1] = "two";
    sets[1].groups[2] = "none";
    sets[1].group_count = 3;
    st_ratios_kernel items[] = {{ST_TRACE_GEMM, 10e-6, 4e-6, 2, 7, 0},
                                {ST_TRACE_NORM, 5e-6, 3e-6, 1, 7, 0},
                                {ST_TRACE_GEMM, 10e-6, 10e-6, 1, 8, 0},
                                {ST_TRACE_GEMM, 20e-6, 12e-6, 3, 9, 1},
                                {ST_TRACE_NORM, 5e-6, 2.5e-6, 1, 9, 1}};
    st_ratios_kernels kernels = {.items = items, .count = ST_COUNT(items), .layers = 3};
    st_ratios_tests tests = {0};
    assert_int_equal(st_ratios_try(&kernels, &sets[0], &sets[1], own->arena, &tests, own->errors),
                     ST_OK);
    assert_int_equal(tests.count, 2);
    const st_ratios_test *one = &tests.items[0];
    assert_string_equal(one->name, "one");
    assert_int_equal(one->kernels, 3);
    assert_int_equal(one->layers, 2);
    /* 5 for 4 us, 3 for 3, 5 for 10; layers 13 for 11 and 5 for 10 */
    assert_true(fabs(one->each[ST_RATIOS_SHEETS].mean_absolute - 0.25) < 1e-12);
    assert_true(fabs(one->each[ST_RATIOS_SHEETS].bias + 0.25 / 3) < 1e-12);
    assert_true(fabs(one->sums[ST_RATIOS_SHEETS].bias - (2.0 / 11 - 0.5) / 2) < 1e-12);
    /* two kernels of the other group are too few to learn from */
    assert_true(isnan(one->each[ST_RATIOS_FLAT].mean_absolute));
    assert_string_equal(tests.items[1].name, "two");
    assert_true(fabs(tests.items[1].each[ST_RATIOS_SHEETS].bias - (0.2 - 1.0 / 6) / 2) < 1e-12);
    kernels.count = 3; /* all of one group */
    assert_int_equal(st_ratios_try(&kernels, &sets[0], &sets[1], own->arena, &tests, own->errors),
                     ST_OK);
    assert_int_equal(tests.count, 0);
}

/*
 * Doublings around 2^-40, 2^-17 and 2^23 seconds, of which the first and the last also have what is
 * beyond; five kernels at least make a point, the median of theirs.
 */
TEST_WITH(doublings_have_medians_of_five_kernels, set_up, tear_down)
{
    static const struct {
        double from_s[6], ratios[6];
        size_t count;
        double point_s; /* 0: none */
    } cases[] = {
        {{7.6e-6, 7e-6, 8e-6, 9e-6, 10e-6}, {0.5, 0.9, 0.7, 0.6, 0.8}, 5, 0x1p-17},
        {{7.6e-6, 7e-6, 8e-6, 9e-6}, {0.5, 0.9, 0.7, 0.6}, 4, 0},
        {{7.6e-6, 7e-6, 8e-6, 9e-6, 11e-6}, {0.5, 0.9, 0.7, 0.6, 0.7}, 5, 0},  /* 2^-16.5 = 10.8 */
        {{7.6e-6, 7e-6, 8e-6, 9e-6, 5.3e-6}, {0.5, 0.9, 0.7, 0.6, 0.7}, 5, 0}, /* 2^-17.5 = 5.4 */
        {{1e-12, 1e-13, 1e-15, 1.2e-12, 1e-12}, {0.5, 0.9, 0.7, 0.6, 0.8}, 5, 0x1p-40},
        {{8e6, 9e6, 1e7, 2e8, 3e9, 1e12}, {0.5, 0.9, 0.7, 0.6, 0.7, 0.75}, 6, 0x1p23},
        {{2e-12, 2e-12, 2e-12, 2e-12, 1e-12}, {0.5, 0.9, 0.7, 0.6, 0.8}, 5, 0},
        {{8e6, 8e6, 8e6, 8e6, 4e6}, {0.5, 0.9, 0.7, 0.6, 0.8}, 5, 0},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_ratios_kernel items[8];
        st_ratios ratios;
        for (size_t k = 0; k < cases[i].count; k++)
            items[k] = (st_ratios_kernel){.class_ = ST_TRACE_NORM,
                                          .from_s = cases[i].from_s[k],
                                          .to_s = cases[i].from_s[k] * cases[i].ratios[k],
                                          .group = 3};
        /* of another class, and of the group that is left out */
        items[cases[i].count] = items[cases[i].count + 1] = items[0];
        items[cases[i].count].class_ = ST_TRACE_GEMM;
        items[cases[i].count + 1].group = 4;
        const st_ratios_kernels kernels = {.items = items, .count = cases[i].count + 2};
        assert_int_equal(st_ratios_learn(&kernels, 4, false, own->arena, &ratios), ST_OK);
        assert_int_equal(ratios.counts[ST_TRACE_NORM], cases[i].point_s > 0 ? 1 : 0);
        assert_int_equal(ratios.counts[ST_TRACE_GEMM], 0);
        if (cases[i].point_s > 0) {
            assert_true(ratios.points[ST_TRACE_NORM][0].from_s == cases[i].point_s);
            assert_true(fabs(ratios.points[ST_TRACE_NORM][0].ratio - 0.7) < 1e-12);
        }
        assert_int_equal(st_ratios_learn(&kernels, 4, true, own->arena, &ratios), ST_OK);
        assert_int_equal(ratios.counts[ST_TRACE_NORM], cases[i].count >= 5 ? 1 : 0);
        if (cases[i].count >= 5)
            assert_true(ratios.points[ST_TRACE_NORM][0].from_s == 1);
    }
}

/* Between 1 and 16 us a ratio goes from 0.8 to 0.2, at 4 us (half way by logarithms) it is 0.4;
 * beyond them it stays. */
TEST(ratios_lie_between_their_points)
{
    static const struct {
        st_trace_class class_, taken;
        double from_s, ratio;
    } cases[] = {
        {ST_TRACE_GEMM, ST_TRACE_GEMM, 4e-6, 0.4},
        {ST_TRACE_GEMM, ST_TRACE_GEMM, 1e-6, 0.8},
        {ST_TRACE_GEMM, ST_TRACE_GEMM, 0.7e-6, 0.8},
        {ST_TRACE_GEMM, ST_TRACE_GEMM, 16e-6, 0.2},
        {ST_TRACE_GEMM, ST_TRACE_GEMM, 32e-6, 0.6}, /* of the next two points */
        {ST_TRACE_GEMM, ST_TRACE_GEMM, 65e-6, 1.8},
        {ST_TRACE_ATTENTION, ST_TRACE_GEMM, 4e-6, 0.4},
        {ST_TRACE_NORM, ST_TRACE_ELEMENTWISE, 4e-6, 0.577},
        {ST_TRACE_OTHER, ST_TRACE_ELEMENTWISE, 4e-6, 0.577},
        {ST_TRACE_MEMORY, ST_TRACE_MEMORY, 4e-6, 0.31},
        {ST_TRACE_GEMM, ST_TRACE_GEMM, 0, (double)NAN},
    };
    static const st_ratios ratios = {
        .points = {[ST_TRACE_GEMM] = {{1e-6, 0.8}, {16e-6, 0.2}, {64e-6, 1.8}},
                   [ST_TRACE_ELEMENTWISE] = {{1, 0.577}},
                   [ST_TRACE_MEMORY] = {{1, 0.31}}},
        .counts = {[ST_TRACE_GEMM] = 3, [ST_TRACE_ELEMENTWISE] = 1, [ST_TRACE_MEMORY] = 1}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_trace_class taken = ST_TRACE_CLASSES;
        double ratio = st_ratios_ask(&ratios, cases[i].class_, cases[i].from_s, &taken);
        assert_int_equal(taken, cases[i].taken);
        assert_int_equal(isnan(ratio), isnan(cases[i].ratio));
        if (!isnan(ratio) && !(fabs(ratio - cases[i].ratio) < 1e-12))
            fail_msg("case %zu: %.17g", i, ratio);
    }
}

static st_status read_ratios(fixture *own, const char *text, st_ratios *ratios)
{
    const st_csv *csv = NULL;
    st_status status =
        st_csv_parse("ratios.csv", text, strlen(text), own->arena, &csv, own->errors);
    return status == ST_OK ? st_ratios_read(csv, own->arena, ratios, own->errors) : status;
}

TEST_OF(ratios_survive_their_text, fixture *own, set_up, tear_down)
{
    st_ratios *ratios = st_arena_alloc(own->arena, 2, sizeof *ratios);
    st_buffer text = {0};
    st_trace_class taken;
    assert_int_equal(read_ratios(own,
                                 "class,ratio,us,from,to\nnorm,0.713,5.5,a100,h100\n"
                                 "gemm,0.6,7,a100,h100\ngemm,0.3,63,a100,h100\n",
                                 &ratios[0]),
                     ST_OK);
    assert_true(fabs(st_ratios_ask(&ratios[0], ST_TRACE_GEMM, 21e-6, &taken) - sqrt(0.6 * 0.3)) <
                1e-12);
    assert_true(st_ratios_ask(&ratios[0], ST_TRACE_GEMM, 5e-6, &taken) == 0.6);
    assert_true(st_ratios_ask(&ratios[0], ST_TRACE_GEMM, 1, &taken) == 0.3);
    assert_true(isnan(st_ratios_ask(&ratios[0], ST_TRACE_MEMORY, 1, &taken)));
    st_ratios_write(&ratios[0], &text);
    assert_int_equal(read_ratios(own, text.data, &ratios[1]), ST_OK);
    assert_string_equal(ratios[1].to, "h100");
    assert_int_equal(ratios[1].counts[ST_TRACE_GEMM], 2);
    assert_true(fabs(ratios[1].points[ST_TRACE_GEMM][1].from_s - 63e-6) < 1e-12);
    st_buffer_free(&text);
}

TEST_OF(faulty_ratios_are_refused, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *text;
        const char *message;
    } faults[] = {
        {"from,to,class,us\na,b,gemm,3\n", "no column 'ratio'"},
        {"from,to,class,us,ratio\n", "no rows"},
        {"from,to,class,us,ratio\na,b,gem,3,0.5\n", "found 'gem'"},
        {"from,to,class,us,ratio\na,b,gemm,-3,0.5\n", "found '-3'"},
        {"from,to,class,us,ratio\na,b,gemm,3,0\n", "column ratio"},
        {"from,to,class,us,ratio\na,b,gemm,3,0.5\na,b,gemm,3,0.4\n", "durations of a class"},
        {"from,to,class,us,ratio\na,b,gemm,3,0.5\na,c,gemm,4,0.4\n", "one GPU in all rows"},
        {"from,to,class,us,ratio\na,b,communication,3,0.5\n", "kernels that compute"},
    };
    st_ratios *ratios = st_arena_alloc(own->arena, 1, sizeof *ratios);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        assert_int_not_equal(read_ratios(own, faults[i].text, ratios), ST_OK);
        const char *heard = said(own);
        if (strstr(heard, faults[i].message) == NULL)
            fail_msg("'%s', not '%s'", heard, faults[i].message);
        st_errors_clear(own->errors);
    }
}

TESTS(gpu_ratios);
