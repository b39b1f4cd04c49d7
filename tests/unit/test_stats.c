/* SPDX-License-Identifier: Apache-2.0 */
/* Error statistics: values worked out by hand, and leaving out one row as a loop would. */
#include "base_support.h"

#include "fit/steps/stats.h"

static void assert_near(double value, double expected, double most)
{
    if (!(fabs(value - expected) <= most))
        fail_msg("%.17g is not within %g of %.17g", value, most, expected);
}

/* ---- medians ---- */

TEST(medians)
{
    double odd[] = {7.3, -2.385, 4.1};
    double even[] = {7.3, 0.5, 4.1, -9.75};
    double one[] = {2.385};
    assert_same_double(st_median(odd, 3), 4.1);
    assert_near(st_median(even, 4), (0.5 + 4.1) / 2, 1e-15);
    assert_same_double(st_median(one, 1), 2.385);
    assert_true(isnan(st_median(one, 0)));
    assert_same_double(odd[0], -2.385); /* sorted */
    assert_same_double(odd[2], 7.3);
}

/* ---- summaries ---- */

TEST(a_summary_of_errors)
{
    double errors[] = {0.03, -0.07, 0.12, -0.31, 0.05};
    st_error_summary summary = st_summarize_errors(errors, COUNT(errors));
    assert_int_equal(summary.count, 5);
    assert_near(summary.mean_absolute, (0.03 + 0.07 + 0.12 + 0.31 + 0.05) / 5, 1e-15);
    assert_near(summary.median_absolute, 0.07, 1e-15);
    assert_near(summary.bias, (0.03 - 0.07 + 0.12 - 0.31 + 0.05) / 5, 1e-15);
    assert_near(summary.largest, 0.31, 1e-15);
    assert_near(summary.within_5, 2.0 / 5, 1e-15); /* exactly 5 % is within 5 % */
    assert_near(summary.within_10, 3.0 / 5, 1e-15);
    assert_near(summary.within_15, 4.0 / 5, 1e-15);
    assert_near(summary.within_20, 4.0 / 5, 1e-15);
}

TEST(a_summary_of_nothing)
{
    st_error_summary summary = st_summarize_errors(NULL, 0);
    assert_int_equal(summary.count, 0);
    assert_true(isnan(summary.mean_absolute));
    assert_true(isnan(summary.median_absolute));
    assert_true(isnan(summary.bias));
    assert_true(isnan(summary.largest));
    assert_true(isnan(summary.within_5));
    assert_true(isnan(summary.within_20));
}

/* ---- site factors ---- */

TEST(a_site_factor_removes_a_common_error)
{
    /* estimates of 1/1.37 of what was measured */
    double errors[] = {1 / 1.37 - 1, 1 / 1.37 - 1, 1 / 1.37 - 1};
    double scratch[3];
    double corrected[3];
    double factor = st_site_factor(errors, 3, scratch);
    assert_near(factor, 1.37, 1e-14);
    st_apply_site_factor(errors, 3, factor, corrected);
    for (size_t i = 0; i < 3; i++)
        assert_near(corrected[i], 0, 1e-14);
}

TEST(a_site_factor_is_a_median)
{
    /* measured over estimated: 1.25, 0.8, 2 */
    static const double errors[] = {0.8 - 1, 1.25 - 1, 0.5 - 1};
    double scratch[3];
    assert_near(st_site_factor(errors, 3, scratch), 1.25, 1e-14);
}

static double random_share(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

/* The same by leaving each row out in a loop. */
static double left_out_in_a_loop(const double *errors, size_t count, size_t row)
{
    double others[64];
    double scratch[64];
    double corrected = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (i != row)
            others[kept++] = errors[i];
    st_apply_site_factor(&errors[row], 1, st_site_factor(others, kept, scratch), &corrected);
    return corrected;
}

TEST(leaving_out_one_row)
{
    uint64_t seed = 2385;
    for (size_t count = 2; count <= 40; count++) {
        double errors[64];
        double corrected[64];
        for (size_t i = 0; i < count; i++)
            errors[i] = floor(random_share(&seed) * 20) / 20 - 0.45; /* with equal ones */
        assert_int_equal(st_leave_one_out_of_site(errors, count, corrected), ST_OK);
        for (size_t i = 0; i < count; i++)
            assert_near(corrected[i], left_out_in_a_loop(errors, count, i), 1e-14);
    }
}

TEST(leaving_out_the_only_row)
{
    double error = 0.17;
    double corrected = 0;
    assert_int_equal(st_leave_one_out_of_site(&error, 1, &corrected), ST_OK);
    assert_true(isnan(corrected));
    assert_int_equal(st_leave_one_out_of_site(&error, 0, &corrected), ST_OK);
}

TESTS(stats);
