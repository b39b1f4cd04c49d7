/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far estimates are from measurements. An error is estimated over measured minus 1, so that a
 * positive one is an estimate that is too high.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_STATS_H
#define STEPTIME_CALIBRATE_STEPS_STATS_H

#include "steptime/status.h"

#include <string.h>

typedef struct st_error_summary {
    size_t count;         /* 0: everything else is NaN */
    double mean_absolute; /* MAPE */
    double median_absolute;
    double bias;     /* mean */
    double largest;  /* of the absolute ones */
    double within_5; /* share of rows whose absolute error is at most 5 % */
    double within_10;
    double within_15;
    double within_20;
} st_error_summary;

/* The errors lose their signs and rise. */
st_error_summary st_summarize_errors(double *errors, size_t count);

/* The middle value, the mean of the two middle ones of an even count, NaN of none. Sorts `values`.
 */
double st_median(double *values, size_t count);

/* Values with their distances, the nearest first; equally near ones in the order of their coming.
 */
typedef struct st_near {
    double distance;
    double value;
} st_near;

/* Keeps one of the `most` nearest. */
static inline void st_keep_near(st_near *nearest, size_t *count, size_t most, st_near next)
{
    size_t at = *count;
    while (at > 0 && nearest[at - 1].distance > next.distance)
        at--;
    if (at == most)
        return;
    size_t kept = *count < most ? *count : most - 1;
    memmove(nearest + at + 1, nearest + at, (kept - at) * sizeof *nearest);
    nearest[at] = next;
    *count = kept + 1;
}

/*
 * The factor on the estimates that a site needs: the median of measured over estimated. `scratch`
 * has room for `count` values.
 */
double st_site_factor(const double *errors, size_t count, double *scratch);

/* Errors after the site's factor. */
void st_apply_site_factor(const double *errors, size_t count, double factor, double *corrected);

/*
 * Errors of each row after the factor that the other rows give, as a row that nobody has seen would
 * have it. NaN where there are no others.
 */
st_status st_leave_one_out_of_site(const double *errors, size_t count,
                                   double *corrected) ST_NODISCARD;

#endif
