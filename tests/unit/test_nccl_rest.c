/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of what a model leaves over: what they follow, what they forgive, where they end. */
#include "base_support.h"

#include "nccl-whitebox/fit/nccl_rest.h"

#include <math.h>

enum { SIZES = 19 };

/* Sizes from 1 KiB, each twice the last. */
static void fill(st_nccl_rest *rows, size_t ranks, size_t nodes, double rest)
{
    for (size_t i = 0; i < SIZES; i++)
        rows[i] = (st_nccl_rest){ranks, nodes, ldexp(1024, (int)i), rest, NULL};
}

static double factor_in(const char *text, const char *group, double size)
{
    char wanted[64];
    const char *at = strstr(text, group);
    assert_non_null(at);
    snprintf(wanted, sizeof wanted, " %.0f=", size);
    at = strstr(at, wanted);
    if (at == NULL) {
        fail_msg("no size %.0f in '%s'", size, text);
        return 0;
    }
    return strtod(at + strlen(wanted), NULL);
}

static void assert_about(double value, double expected, double most)
{
    if (!(fabs(value - expected) <= most))
        fail_msg("%.17g is not within %g of %.17g", value, most, expected);
}

TEST(a_curve_follows_its_rows)
{
    st_arena *arena = st_arena_create();
    st_nccl_rest rows[SIZES];
    fill(rows, 16, 2, 0);
    for (size_t i = 0; i < SIZES; i++)
        rows[i].log_ratio = 0.137 * sin(0.4 * (double)i);
    const char *text = st_nccl_rest_text(rows, SIZES, arena);
    assert_non_null(text);
    assert_int_equal(strncmp(text, "16/2 4=1.0000 ", 14), 0);
    for (size_t i = 1; i + 1 < SIZES; i++)
        assert_about(log(factor_in(text, "16/2", rows[i].size_bytes)), rows[i].log_ratio, 0.012);
    st_arena_destroy(arena);
}

/* Equations 2.23 and 4.17 for one row: r k(d)/(1 + noise) with k(d) = (1 + d/2) exp(-d/2), noise a
 * twentieth over the weight, and a weight of 1/(1 + 1/(4*1.48)^2), as the row is its own median. */
TEST(a_single_row_is_the_process_by_hand)
{
    st_arena *arena = st_arena_create();
    st_nccl_rest row = {8, 1, ldexp(1, 20), 0.2385, NULL};
    const char *text = st_nccl_rest_text(&row, 1, arena);
    double weight = 1 / (1 + 1 / (4 * 1.48 * 4 * 1.48));
    for (int away = -7; away <= 7; away++) {
        double likeness = (1 + abs(away) / 2.0) * exp(-abs(away) / 2.0);
        double rest = 0.2385 * likeness / (1 + 0.05 / weight);
        assert_about(factor_in(text, "8/1", ldexp(1, 20 + away)), exp(rest), 6e-5);
    }
    st_arena_destroy(arena);
}

TEST(beyond_its_rows_a_curve_fades)
{
    st_arena *arena = st_arena_create();
    st_nccl_rest rows[SIZES];
    fill(rows, 8, 1, 0.217);
    const char *text = st_nccl_rest_text(rows, SIZES, arena);
    double last = exp(0.217);
    assert_about(factor_in(text, "8/1", rows[9].size_bytes), last, 0.003);
    for (int beyond = 1; beyond <= 8; beyond++) {
        double factor = factor_in(text, "8/1", ldexp(rows[SIZES - 1].size_bytes, beyond));
        if (!(factor < last && factor >= 1))
            fail_msg("%d octaves beyond: %g after %g", beyond, factor, last);
        last = factor;
    }
    assert_about(last, 1, 0);
    st_arena_destroy(arena);
}

TEST(one_wrong_row_moves_little)
{
    st_arena *arena = st_arena_create();
    st_nccl_rest rows[SIZES];
    fill(rows, 8, 1, 0);
    for (size_t i = 0; i < SIZES; i++)
        rows[i].log_ratio = i % 2 ? 0.013 : -0.011;
    rows[9].log_ratio = 1.6;
    const char *text = st_nccl_rest_text(rows, SIZES, arena);
    for (size_t i = 0; i < SIZES; i++)
        assert_about(log(factor_in(text, "8/1", rows[i].size_bytes)), 0, i == 9 ? 0.8 : 0.1);
    st_arena_destroy(arena);
}

/* Neighbours that agree make a step of two levels, not an outlier. */
TEST(a_step_is_kept)
{
    st_arena *arena = st_arena_create();
    st_nccl_rest rows[SIZES];
    fill(rows, 8, 1, 0);
    for (size_t i = 0; i < SIZES; i++)
        rows[i].log_ratio = (i < 9 ? -0.31 : 0.29) + (i % 2 ? 0.02 : -0.02);
    const char *text = st_nccl_rest_text(rows, SIZES, arena);
    assert_about(log(factor_in(text, "8/1", rows[5].size_bytes)), -0.31, 0.03);
    assert_about(log(factor_in(text, "8/1", rows[8].size_bytes)), -0.31, 0.25);
    assert_about(log(factor_in(text, "8/1", rows[9].size_bytes)), 0.29, 0.25);
    assert_about(log(factor_in(text, "8/1", rows[13].size_bytes)), 0.29, 0.03);
    st_arena_destroy(arena);
}

TEST(groups_are_apart_and_in_order)
{
    st_arena *arena = st_arena_create();
    st_nccl_rest rows[3 * SIZES];
    fill(rows, 64, 8, 0.3);
    fill(rows + SIZES, 8, 1, -0.2);
    fill(&rows[(size_t)2 * SIZES], 64, 16, 0.1);
    const char *text = st_nccl_rest_text(rows, (size_t)3 * SIZES, arena);
    assert_int_equal(strncmp(text, "8/1 ", 4), 0);
    assert_non_null(strstr(text, "; 64/8 "));
    assert_true(strstr(text, "; 64/8 ") < strstr(text, "; 64/16 "));
    assert_about(log(factor_in(text, "8/1 ", 65536)), -0.2, 0.01);
    assert_about(log(factor_in(text, "64/8 ", 65536)), 0.3, 0.01);
    assert_about(log(factor_in(text, "64/16 ", 65536)), 0.1, 0.01);
    st_arena_destroy(arena);
}

/* The same size twice is one row of less noise. */
TEST(repeated_sizes_are_averaged)
{
    st_arena *arena = st_arena_create();
    st_nccl_rest rows[2 * SIZES];
    fill(rows, 8, 1, 0.05);
    fill(rows + SIZES, 8, 1, 0.13);
    const char *text = st_nccl_rest_text(rows, (size_t)2 * SIZES, arena);
    assert_null(strchr(text, ';'));
    assert_about(log(factor_in(text, "8/1", 1 << 19)), 0.09, 0.003);
    st_arena_destroy(arena);
}

TEST(extremes)
{
    enum { MANY = 4000 };
    st_arena *arena = st_arena_create();
    st_nccl_rest *rows = calloc(MANY, sizeof *rows);
    assert_non_null(rows);
    assert_string_equal(st_nccl_rest_text(rows, 0, arena), "");
    rows[0] = (st_nccl_rest){2, 1, 1, 0.07, NULL};
    assert_about(factor_in(st_nccl_rest_text(rows, 1, arena), "2/1", 1), exp(0.07), 0.01);
    rows[0] = (st_nccl_rest){2, 1, 1125899906842624.0, 900, NULL};
    const char *text = st_nccl_rest_text(rows, 1, arena);
    assert_true(factor_in(text, "2/1", 1125899906842624.0 / 2) < 149);
    for (size_t i = 0; i < MANY; i++)
        rows[i] = (st_nccl_rest){2, 1, exp2(50.0 * (double)i / MANY), 0.1, "~large"};
    text = st_nccl_rest_text(rows, MANY, arena);
    assert_int_equal(strncmp(text, "2/1~large 1=", 12), 0); /* the mark stays with its group */
    assert_about(log(factor_in(text, "2/1", 1 << 20)), 0.1, 0.001);
    free(rows);
    st_arena_destroy(arena);
}

TESTS(nccl_rest);
