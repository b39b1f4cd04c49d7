/* SPDX-License-Identifier: Apache-2.0 */
/* Error statistics; see stats.h. */
#include "fit/steps/stats.h"

#include "base/lists.h"

#include <math.h>
#include <stdlib.h>

/* The macro is a float. */
static const double not_a_number = (double)NAN;

double st_median(double *values, size_t count)
{
    st_sort(values, count, sizeof values[0], st_order_numbers);
    if (count == 0)
        return not_a_number;
    return (values[(count - 1) / 2] + values[count / 2]) / 2.0;
}

st_error_summary st_summarize_errors(double *errors, size_t count)
{
    st_error_summary sums = {.count = count};
    for (size_t i = 0; i < count; i++) {
        sums.bias += errors[i];
        errors[i] = fabs(errors[i]);
        sums.mean_absolute += errors[i];
        sums.within_5 += errors[i] <= 0.05 ? 1 : 0;
        sums.within_10 += errors[i] <= 0.10 ? 1 : 0;
        sums.within_15 += errors[i] <= 0.15 ? 1 : 0;
        sums.within_20 += errors[i] <= 0.20 ? 1 : 0;
    }
    const double number = count > 0 ? (double)count : not_a_number;
    const double middle = st_median(errors, count);
    return (st_error_summary){.count = count,
                              .mean_absolute = sums.mean_absolute / number,
                              .median_absolute = middle,
                              .bias = sums.bias / number,
                              .largest = count > 0 ? errors[count - 1] : not_a_number,
                              .within_5 = sums.within_5 / number,
                              .within_10 = sums.within_10 / number,
                              .within_15 = sums.within_15 / number,
                              .within_20 = sums.within_20 / number};
}

double st_site_factor(const double *errors, size_t count, double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = 1.0 / (1.0 + errors[i]);
    return st_median(scratch, count);
}

void st_apply_site_factor(const double *errors, size_t count, double factor, double *corrected)
{
    for (size_t i = 0; i < count; i++)
        corrected[i] = (1.0 + errors[i]) * factor - 1.0;
}

/* The median of `sorted` without one of its values, which it holds at `left_out`. */
static double median_without(const double *sorted, size_t count, size_t left_out)
{
    size_t low = (count - 2) / 2;
    size_t high = (count - 1) / 2;
    low += low >= left_out ? 1 : 0;
    high += high >= left_out ? 1 : 0;
    return (sorted[low] + sorted[high]) / 2.0;
}

st_status st_leave_one_out_of_site(const double *errors, size_t count, double *corrected)
{
    double *sorted = malloc((count + 1) * sizeof *sorted);
    if (sorted == NULL)
        return ST_ERR_MEMORY;
    (void)st_site_factor(errors, count, sorted);
    for (size_t i = 0; i < count; i++) {
        double own = 1.0 / (1.0 + errors[i]);
        const double *place = bsearch(&own, sorted, count, sizeof sorted[0], st_order_numbers);
        corrected[i] = not_a_number;
        if (place != NULL && count > 1)
            st_apply_site_factor(&errors[i], 1,
                                 median_without(sorted, count, (size_t)(place - sorted)),
                                 &corrected[i]);
    }
    free(sorted);
    return ST_OK;
}
