/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of measured products, and what near shapes make of a formula. */
#include "../shapes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const st_shapes_filter all = {"", "", ""};
static const st_rates rates = {
    .rate = 713e12, .bandwidth = 2.385e12, .width = 2, .constant_s = 2.7e-6, .corner = (double)NAN};

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance * fabs(wanted)))
        fail_msg("%.17g is not %.17g", value, wanted);
}

static void the_formula_is_the_slower_of_two(void **state)
{
    (void)state;
    const st_product large = {.m = 8192, .n = 7168, .k = 16384};
    const st_product thin = {.m = 1031, .n = 7168, .k = 7};
    const double bytes = 2 * (1031.0 * 7 + 7168 * 7 + 1031.0 * 7168);
    assert_near(st_product_formula(&large, &rates), 2.0 * 8192 * 7168 * 16384 / 713e12 + 2.7e-6,
                1e-4);
    assert_near(st_product_formula(&thin, &rates), bytes / 2.385e12 + 2.7e-6, 1e-4);
}

static void both_sides_as_slow_make_a_smooth_corner(void **state)
{
    (void)state;
    st_product product = {.m = 2048, .n = 2048, .k = 512};
    st_rates even = {.rate = 713e12, .width = 2, .corner = (double)NAN};
    double arithmetic = 2.0 * 2048 * 2048 * 512 / 713e12;
    even.bandwidth = 2 * (2048.0 * 512 * 2 + 2048.0 * 2048) / arithmetic;
    assert_near(st_product_formula(&product, &even), arithmetic * pow(2, 0.25), 1e-12);
    even.corner = 0.37;
    assert_near(st_product_formula(&product, &even), arithmetic * 1.37, 1e-12);
}

/* Products that take 1.3 times as long as the formula has. */
static const char *table_of(char *text, size_t size, double factor)
{
    size_t used = (size_t)snprintf(text, size, "# measured\ngpu,dtype,m,n,k,us\n");
    for (int m = 1024; m <= 8192; m *= 2)
        for (int n = 1024; n <= 8192; n *= 2) {
            const st_product own = {.m = m, .n = n, .k = 4096};
            used += (size_t)snprintf(text + used, size - used, "h100_sxm,bf16,%d,%d,4096,%.9g\n", m,
                                     n, 1e6 * factor * st_product_formula(&own, &rates));
        }
    return text;
}

static void near_shapes_correct_the_formula(void **state)
{
    (void)state;
    char text[4096];
    char reason[ST_SHAPES_REASON] = "";
    st_shapes shapes;
    double nearest = 0;
    assert_null(st_shapes_read(&shapes, table_of(text, sizeof text, 1.3), &all, reason));
    assert_int_equal(shapes.count, 16);
    const st_product known = {.m = 2048, .n = 4096, .k = 4096};
    const st_product between = {.m = 3072, .n = 3072, .k = 4096};
    const st_product far = {.m = 3, .n = 5, .k = 7};
    assert_near(st_shapes_ratio(&shapes, &known, &rates, 1, &nearest), 1.3, 0.003);
    assert_near(nearest + 1, 1, 1e-12);
    assert_near(st_shapes_ratio(&shapes, &between, &rates, 1, &nearest), 1.3, 0.02);
    assert_near(nearest, hypot(log(1.5), log(4.0 / 3)), 0.3);
    /* far away the formula counts, and more so the less the reach is */
    double wide = st_shapes_ratio(&shapes, &far, &rates, 100, &nearest);
    double narrow = st_shapes_ratio(&shapes, &far, &rates, 0.1, &nearest);
    assert_near(wide, 1.3, 0.01);
    assert_near(narrow, 1.0, 0.01);
    assert_true(nearest > 5);
    st_shapes_free(&shapes);
}

static void a_measured_shape_counts_among_its_neighbours(void **state)
{
    (void)state;
    char reason[ST_SHAPES_REASON] = "";
    char text[256];
    st_shapes shapes;
    double nearest = 0;
    const st_product slow = {.m = 2048, .n = 2048, .k = 2048};
    const st_product fast = {.m = 4096, .n = 2048, .k = 2048};
    (void)snprintf(text, sizeof text, "m,n,k,us\n2048,2048,2048,%.9g\n4096,2048,2048,%.9g\n",
                   1.7e6 * st_product_formula(&slow, &rates),
                   0.9e6 * st_product_formula(&fast, &rates));
    assert_null(st_shapes_read(&shapes, text, &all, reason));
    /* weights 1/0.01, 1/(log(2)^2 + 0.01) and 1/1.01 for the formula */
    double other = 1 / (log(2) * log(2) + 0.01);
    double wanted = (1.7 * 100 + 0.9 * other + 1 / 1.01) / (100 + other + 1 / 1.01);
    assert_near(st_shapes_ratio(&shapes, &slow, &rates, 1, &nearest), wanted, 1e-7);
    st_shapes_free(&shapes);
}

static void rows_are_chosen_by_words(void **state)
{
    (void)state;
    static const char text[] = "gpu,dtype,source,m,n,k,us\n"
                               "h100_sxm,bf16,cublas 12,1031,2053,4099,33.7\n"
                               "h100_sxm,fp8,cublas 12,1031,2053,4099,19.3\n"
                               "b200_sxm,bf16,cutlass 3,1031,2053,4099,17.1\n";
    char reason[ST_SHAPES_REASON] = "";
    st_shapes shapes;
    const st_shapes_filter one = {"h100_sxm", "fp8", ""};
    const st_shapes_filter library = {"", "", "cutlass 3"};
    const st_shapes_filter none = {"gb300", "", ""};
    assert_null(st_shapes_read(&shapes, text, &one, reason));
    assert_int_equal(shapes.count, 1);
    assert_near(shapes.products[0].time_s, 19.3e-6, 1e-12);
    st_shapes_free(&shapes);
    assert_null(st_shapes_read(&shapes, text, &library, reason));
    assert_near(shapes.products[0].time_s, 17.1e-6, 1e-12);
    st_shapes_free(&shapes);
    assert_non_null(st_shapes_read(&shapes, text, &none, reason));
    assert_string_equal(reason, "no row of the table is left");
    assert_non_null(st_shapes_read(&shapes, text, &all, reason));
    assert_string_equal(
        reason, "the table has rows of h100_sxm and b200_sxm; name one with the option gpu");
}

static void wrong_tables_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *reason;
    } cases[] = {
        {"", "the table has no heading"},
        {"m,n,us\n3,5,7\n", "the table has no column 'k'"},
        {"m,n,k,us\n3,5,7\n", "line 2 of the table has 3 fields and the heading 4"},
        {"# c\nm,n,k,us\n3,5,7,9\n3,-5,7,9\n",
         "line 4 of the table: column n: found '-5', expected a number above 0"},
        {"m,n,k,us\n3,5,7,nan\n",
         "line 2 of the table: column us: found 'nan', expected a number above 0"},
        {"m,n,k,us\n", "no row of the table is left"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char reason[ST_SHAPES_REASON] = "";
        st_shapes shapes;
        const char *fault = st_shapes_read(&shapes, cases[i].text, &all, reason);
        assert_non_null(fault);
        assert_string_equal(fault, cases[i].reason);
        assert_int_equal(shapes.count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_formula_is_the_slower_of_two),
        cmocka_unit_test(both_sides_as_slow_make_a_smooth_corner),
        cmocka_unit_test(near_shapes_correct_the_formula),
        cmocka_unit_test(a_measured_shape_counts_among_its_neighbours),
        cmocka_unit_test(rows_are_chosen_by_words),
        cmocka_unit_test(wrong_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
