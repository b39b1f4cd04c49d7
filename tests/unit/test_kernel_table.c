/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of kernels at the bounds of what counts: shares, slowdowns, and kernels to learn from. */
#include "base_support.h"
#include "../support/fixture.h"

#include "overlap-xgboost/fit/slowdown.h"

#define HEAD "kernel,isolated_ns,overlapped_ns,overlap_ratio"

FIXTURE(, );

static st_status read_table(fixture *own, const char *text, st_kernels *kernels)
{
    const st_csv *csv = NULL;
    assert_int_equal(st_csv_parse("k.csv", text, strlen(text), own->arena, &csv, own->errors),
                     ST_OK);
    return st_kernels_read(csv, own->arena, kernels, own->errors);
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* A kernel's slowdown s is that of its share: d = (1 - o) g + o g s. */
TEST_WITH(slowdowns_are_those_of_the_share, set_up, tear_down)
{
    static const struct {
        double isolated_ns, overlapped_ns, share;
        double slowdown; /* 0: none */
        size_t faster, much_faster;
    } cases[] = {
        {1000, 1300, 0.5, 1.6, 0, 0},
        {1000, 1000, 0.25, 1, 0, 0},
        {1024, 1023, 0.5, 1 - 2.0 / 1024, 1, 0},
        {1000, 980, 0.25, 0.92, 1, 1},
        {1024, 972.8, 1, 0.95, 1, 1}, /* just as much */
        {1000, 951, 1, 0.951, 1, 0},
        {1000, 900, 0.05, -1, 1, 1},
        {1000, 900, 0.0499, 1 - 0.1 / 0.0499, 0, 0}, /* too little to count */
        {1000, 900, 0, 0, 0, 0},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_kernels kernels = {0};
        const char *text =
            st_arena_printf(own->arena, HEAD "\nsgemm,%.17g,%.17g,%.17g\n", cases[i].isolated_ns,
                            cases[i].overlapped_ns, cases[i].share);
        assert_int_equal(read_table(own, text, &kernels), ST_OK);
        if (cases[i].slowdown != 0)
            assert_near(kernels.rows[0].slowdown, cases[i].slowdown);
        else
            assert_true(isnan(kernels.rows[0].slowdown));
        if (kernels.faster != cases[i].faster || kernels.much_faster != cases[i].much_faster)
            fail_msg("case %zu: %zu faster, %zu of them much", i, kernels.faster,
                     kernels.much_faster);
        assert_near((double)kernels.rows[0].features[ST_FEATURE_DURATION],
                    (double)(float)log(cases[i].isolated_ns));
        assert_near(kernels.least, 1);
    }
}

/* Twenty kernels of two classes, ten of them beside communication, are the least. */
TEST_WITH(few_kernels_teach_nothing, set_up, tear_down)
{
    static const struct {
        size_t rows, beside;
        const char *second;
        const char *words; /* NULL: enough */
    } cases[] = {
        {20, 10, "layer_norm", NULL},
        {19, 19, "layer_norm", "19 kernels are too few to learn from: expected at least 20"},
        {20, 9, "layer_norm",
         "9 kernels ran alongside communication: expected at least 10 with an overlap_ratio of "
         "0.05 or more"},
        {20, 20, "dgemm", "all kernels are of the class gemm"},
        {2385, 10, "layer_norm", NULL},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_kernels kernels = {0};
        st_buffer text = {0};
        st_buffer_text(&text, HEAD "\n");
        for (size_t k = 0; k < cases[i].rows; k++)
            st_buffer_printf(&text, "%s,1000,1100,%s\n",
                             k + 1 < cases[i].rows ? "sgemm" : cases[i].second,
                             k < cases[i].beside ? "0.05" : "0.0499");
        assert_int_equal(read_table(own, text.data, &kernels), ST_OK);
        st_status status = st_kernels_check(&kernels, own->errors);
        const char *messages = said(own->errors);
        if (cases[i].words == NULL ? status != ST_OK : strstr(messages, cases[i].words) == NULL)
            fail_msg("case %zu: %d, '%s'", i, (int)status, messages);
        st_buffer_free(&text);
    }
}

/* ---- what two tables have ---- */

/* Two kernels: of the bytes, in the table to learn from and in the one to test; "" is none. */
TEST_WITH(what_all_taught_all_need, set_up, tear_down)
{
    static const struct {
        const char *learnt[2];
        const char *test[2];
        const char *words; /* NULL: alike enough */
    } cases[] = {
        {{"64", "128"}, {"32", "16"}, NULL},
        {{"64", "128"}, {"32", ""}, "some kernels have no 'bytes', unlike all in k.csv"},
        {{"64", "128"}, {"", ""}, "no kernel has a 'bytes', unlike all in k.csv"},
        {{"128", "64"}, {"", "16"}, "some kernels have no 'bytes'"},
        {{"64", "64"}, {"", ""}, NULL}, /* the same for all: no tree asks for it */
        {{"64", ""}, {"", ""}, NULL},
        {{"", ""}, {"32", "16"}, NULL},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_kernels tables[2] = {{0}};
        for (size_t k = 0; k < 2; k++) {
            const char *const *bytes = k == 0 ? cases[i].learnt : cases[i].test;
            const char *text = st_arena_printf(
                own->arena, HEAD ",bytes\nsgemm,1000,1100,0.5,%s\nsgemm,1000,1100,0.5,%s\n",
                bytes[0], bytes[1]);
            assert_int_equal(read_table(own, text, &tables[k]), ST_OK);
            size_t known = (bytes[0][0] != '\0' ? 1U : 0U) + (bytes[1][0] != '\0' ? 1U : 0U);
            assert_int_equal(st_kernels_have(&tables[k], ST_FEATURE_BYTES, false), known > 0);
            assert_int_equal(st_kernels_have(&tables[k], ST_FEATURE_BYTES, true), known == 2);
        }
        st_status status = st_kernels_check_like(&tables[1], &tables[0], own->errors);
        const char *messages = said(own->errors);
        assert_int_equal(status == ST_OK, cases[i].words == NULL);
        if (cases[i].words != NULL)
            assert_contains(messages, cases[i].words);
    }
}

/* ---- errors ---- */

/*
 * Kernels of 8, 10 and 20 us that took 1.25, 1.2 and 1.5 times as long, predicted 4 % and 12 % too
 * high and 8 % too low: factors of 1.3, 1.344 and 1.38.
 */
TEST(errors_are_summed_up_by_part)
{
    st_kernel rows[3] = {{.isolated_ns = 8000, .overlapped_ns = 10000, .share = 0.0499},
                         {.isolated_ns = 10000, .overlapped_ns = 12000, .share = 0.05},
                         {.isolated_ns = 20000, .overlapped_ns = 30000, .share = 1}};
    const st_kernels kernels = {.rows = rows, .count = 3};
    static const size_t items[3] = {0, 1, 2};
    static const double factors[3] = {1.3, 1.344, 1.38};
    const double squares[3] = {0.05 * 0.05, 0.144 * 0.144, 0.12 * 0.12};
    const st_kernel_rows all = {&kernels, items, 3};
    (void)state;
    st_slowdown_errors found = st_slowdown_compare(&all, factors, ST_SLOWDOWN_ALL);
    assert_int_equal(found.count, 3);
    assert_near(found.within_5, 1.0 / 3);
    assert_near(found.within_10, 2.0 / 3);
    assert_near(found.within_15, 1);
    assert_near(found.rmse, sqrt((squares[0] + squares[1] + squares[2]) / 3));
    assert_near(found.rmse_10us, sqrt((squares[1] + squares[2]) / 2)); /* 10 us are long */
    assert_near(found.rmse_weighted,
                sqrt((8 * squares[0] + 10 * squares[1] + 20 * squares[2]) / 38));
    assert_near(found.bias, (8 * 1.3 + 10 * 1.344 + 20 * 1.38) / 52 - 1);
    found = st_slowdown_compare(&all, factors, ST_SLOWDOWN_ALONGSIDE);
    assert_int_equal(found.count, 2);
    assert_near(found.bias, (10 * 1.344 + 20 * 1.38) / 42 - 1);
    found = st_slowdown_compare(&all, factors, ST_SLOWDOWN_SLOWED);
    assert_int_equal(found.count, 2); /* 1.2 is not more than 1.2 */
    assert_near(found.bias, (8 * 1.3 + 20 * 1.38) / 40 - 1);
    found = st_slowdown_compare(&(st_kernel_rows){&kernels, items, 1}, factors, ST_SLOWDOWN_ALL);
    assert_true(isnan(found.rmse_10us));
    found = st_slowdown_compare(&(st_kernel_rows){&kernels, items, 0}, factors, ST_SLOWDOWN_ALL);
    assert_int_equal(found.count, 0);
    assert_true(isnan(found.rmse) && isnan(found.bias) && isnan(found.within_5));
}

TESTS(kernel_table);
