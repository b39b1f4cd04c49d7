/* SPDX-License-Identifier: Apache-2.0 */
/* Slowdowns of kernels that nothing was trained for, worked out by hand. */
#include "base_support.h"

#include "overlap-xgboost/fit/baselines.h"

enum { KERNELS = 7 };

static const size_t all[KERNELS] = {0, 1, 2, 3, 4, 5, 6};

/* Kernels of which nothing but duration, protocol and bytes is known. */
static st_kernel kernel_of(const char *name, double slowdown, float duration)
{
    st_kernel kernel = {.name = name,
                        .isolated_ns = 1000,
                        .overlapped_ns = 1300,
                        .share = 0.5,
                        .slowdown = slowdown};
    for (size_t j = 0; j < ST_FEATURES; j++)
        kernel.features[j] = NAN;
    kernel.features[ST_FEATURE_DURATION] = duration;
    return kernel;
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

static void make(st_kernel *rows, st_kernels *kernels, double least)
{
    static const double slowdowns[KERNELS] = {1.9, 1.1, 1.3, 1.5, 1.7, 2.385, 9.75};
    static const float durations[KERNELS] = {3, 4, 6, 9, 13, 5, 7};
    for (size_t i = 0; i < KERNELS; i++)
        rows[i] = kernel_of(i < 5 ? "gemm" : i == 5 ? "norm" : "copy", slowdowns[i], durations[i]);
    rows[5].share = ST_LEAST_SHARE;
    rows[6].share = 0.049; /* too little to learn from */
    *kernels = (st_kernels){.rows = rows, .count = KERNELS, .least = least};
}

/* Beside communication: 0.5*1000 + 0.25*3000 = 1250 ns alone; measured 900 - 500 = 400 and
 * 3800 - 2250 = 1550. */
TEST(one_slowdown_gives_all_kernels_their_time)
{
    st_kernel rows[3] = {{.isolated_ns = 1000, .overlapped_ns = 900, .share = 0.5},
                         {.isolated_ns = 777, .overlapped_ns = 7777, .share = 0.7},
                         {.isolated_ns = 3000, .overlapped_ns = 3800, .share = 0.25}};
    const st_kernels kernels = {.rows = rows, .count = 3};
    const size_t items[] = {0, 2};
    (void)state;
    assert_near(st_slowdown_constant(&(st_kernel_rows){&kernels, items, 2}), 1950.0 / 1250);
    assert_near(st_slowdown_constant(&(st_kernel_rows){&kernels, items, 1}), 1); /* not 0.8 */
    assert_near(st_slowdown_constant(&(st_kernel_rows){&kernels, items, 0}), 1);
    rows[0].share = 0;
    assert_near(st_slowdown_constant(&(st_kernel_rows){&kernels, items, 1}), 1);
    assert_near(st_slowdown_of_share(&rows[2], 2.2), 0.75 + 0.25 * 2.2);
}

TEST(baselines_predict_what_they_have_seen)
{
    static const struct {
        st_baseline baseline;
        const char *name;
        double slowdown;
    } cases[] = {
        /* each 1000 ns took 1300, of which 500, of the last two 50 and 49, beside communication */
        {ST_BASELINE_CONSTANT, "gemm",
         (7 * 1300.0 - 5 * 500.0 - 950 - 951) / (5 * 500.0 + 50 + 49)},
        {ST_BASELINE_NONE, "gemm", 1},
        {ST_BASELINE_MEDIAN, "gemm", 1.5},
        {ST_BASELINE_MEDIAN, "norm", 2.385},
        {ST_BASELINE_MEDIAN, "new", (1.5 + 1.7) / 2}, /* of six: no copy */
        {ST_BASELINE_MEDIAN, "copy", (1.5 + 1.7) / 2},
        {ST_BASELINE_NEIGHBOURS, "gemm", 1.3}, /* of 4, 3 and 6 */
        {ST_BASELINE_NEIGHBOURS, "norm", 2.385},
        {ST_BASELINE_NEIGHBOURS, "new", 1},
    };
    st_arena *arena = st_arena_create();
    st_kernel rows[KERNELS];
    st_kernels kernels;
    (void)state;
    make(rows, &kernels, 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_kernel asked = kernel_of(cases[i].name, 77, 4.5F);
        asked.share = 0.25;
        const st_kernels held = {.rows = &asked, .count = 1};
        double factor = 0;
        assert_int_equal(st_baseline_predict(cases[i].baseline,
                                             &(st_kernel_rows){&kernels, all, KERNELS},
                                             &(st_kernel_rows){&held, all, 1}, arena, &factor),
                         ST_OK);
        assert_near(factor, 0.75 + 0.25 * cases[i].slowdown);
    }
    st_arena_destroy(arena);
}

TEST(nothing_learnt_is_no_slowdown)
{
    st_arena *arena = st_arena_create();
    st_kernel rows[KERNELS];
    st_kernels kernels;
    double factor = 0;
    (void)state;
    make(rows, &kernels, 1);
    for (int baseline = 0; baseline < ST_BASELINES; baseline++) {
        const st_kernel_rows none = {&kernels, all, 0};
        const st_kernel_rows one = {&kernels, all, 1};
        assert_int_equal(st_baseline_predict((st_baseline)baseline, &none, &one, arena, &factor),
                         ST_OK);
        assert_near(factor, 1);
    }
    st_arena_destroy(arena);
}

/* No slowdown is below the table's least, whether by name, of all, or of neighbours. */
TEST(slowdowns_are_bounded_below)
{
    static const struct {
        st_baseline baseline;
        const char *name;
    } cases[] = {{ST_BASELINE_MEDIAN, "gemm"},
                 {ST_BASELINE_MEDIAN, "new"},
                 {ST_BASELINE_NEIGHBOURS, "gemm"}};
    st_arena *arena = st_arena_create();
    st_kernel rows[KERNELS];
    st_kernels kernels;
    (void)state;
    make(rows, &kernels, 1.85);
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_kernel asked = kernel_of(cases[i].name, 77, 4.5F);
        const st_kernels held = {.rows = &asked, .count = 1};
        double factor = 0;
        assert_int_equal(st_baseline_predict(cases[i].baseline,
                                             &(st_kernel_rows){&kernels, all, KERNELS},
                                             &(st_kernel_rows){&held, all, 1}, arena, &factor),
                         ST_OK);
        assert_near(factor, 0.5 + 0.5 * 1.85);
    }
    st_arena_destroy(arena);
}

/* Of 3, 4, 6, 9, 13 and 5 (no copy): mean 20/3, squares 9+16+36+81+169+25 = 336, so that the
 * variance is 56 - 400/9 = 104/9. */
TEST(features_are_scaled_by_their_deviation)
{
    st_arena *arena = st_arena_create();
    st_kernel rows[KERNELS];
    st_kernels kernels;
    st_neighbours own;
    (void)state;
    make(rows, &kernels, 1);
    for (size_t i = 0; i < KERNELS; i++)
        rows[i].features[ST_FEATURE_PROTOCOL] = (float)i;
    rows[1].features[ST_FEATURE_L2] = 23;
    rows[3].features[ST_FEATURE_L2] = 31;
    rows[4].features[ST_FEATURE_DRAM] = 31;
    assert_int_equal(st_neighbours_learn(&(st_kernel_rows){&kernels, all, KERNELS}, arena, &own),
                     ST_OK);
    assert_int_equal(own.rows.count, 6);
    assert_near(own.deviation[ST_FEATURE_DURATION], sqrt(104.0 / 9));
    assert_near(own.deviation[ST_FEATURE_L2], 4); /* of those where it is known */
    assert_same_double(own.deviation[ST_FEATURE_DRAM], 0);
    assert_same_double(own.deviation[ST_FEATURE_L1], 0);
    assert_same_double(own.deviation[ST_FEATURE_PROTOCOL], 0); /* a word has no size */
    st_arena_destroy(arena);
}

/*
 * Three kernels as the one asked for, but for the duration of one, are 0, 0 and 2.25 away, where
 * squares of differences count: their median is 1.4. A fourth, 3.7 slow, that is nearer than the
 * 2.25 takes the place of the one of 1.2, and 1.6 is the median; one that is further away changes
 * nothing.
 */
TEST(words_and_unknown_features_are_one_deviation_apart)
{
    static const struct {
        float duration, word, dram, bytes;
        bool counts;
    } cases[] = {
        {4, 2, 31, NAN, true},     /* another word: 1 */
        {4, 0, 31, NAN, true},     /* which sorts before it */
        {4, 2, NAN, NAN, true},    /* and a feature that is not known: 2 */
        {4, 2, NAN, 7, false},     /* and one that is known of it alone: 3 */
        {6.8F, 1, 31, NAN, true},  /* 1.4 deviations: 1.96 */
        {1.2F, 1, 31, NAN, true},  /* on the other side */
        {6.8F, 2, 31, NAN, false}, /* and another word: 2.96 */
        {7.2F, 1, 31, NAN, false}, /* 1.6 deviations: 2.56 */
        {4, 1, 77, NAN, true},     /* of what was the same for all no difference is told */
    };
    static const st_feature words[] = {ST_FEATURE_PROTOCOL, ST_FEATURE_ALGORITHM,
                                       ST_FEATURE_COLLECTIVE, ST_FEATURE_GPU};
    static const double slowdowns[4] = {1.4, 1.6, 1.2, 3.7};
    (void)state;
    for (size_t i = 0; i < COUNT(cases) * COUNT(words); i++) {
        st_kernel rows[5];
        const st_kernels kernels = {.rows = rows, .count = 4, .least = 1};
        st_neighbours own = {.rows = {&kernels, all, 4}};
        st_feature word = words[i / COUNT(cases)];
        size_t at = i % COUNT(cases);
        own.deviation[ST_FEATURE_DURATION] = 2;
        for (size_t k = 0; k < 5; k++) { /* the last is asked for */
            rows[k] = kernel_of("gemm", k < 4 ? slowdowns[k] : 99, k == 2 ? 7 : 4);
            rows[k].features[word] = 1;
            rows[k].features[ST_FEATURE_DRAM] = 31;
        }
        rows[3].features[ST_FEATURE_DURATION] = cases[at].duration;
        rows[3].features[word] = cases[at].word;
        rows[3].features[ST_FEATURE_DRAM] = cases[at].dram;
        rows[3].features[ST_FEATURE_BYTES] = cases[at].bytes;
        double found = st_neighbours_ask(&own, &rows[4]);
        if (found != (cases[at].counts ? 1.6 : 1.4))
            fail_msg("case %zu of word %d: %g", at, (int)word, found);
    }
}

TESTS(baselines);
