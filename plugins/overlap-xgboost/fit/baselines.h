/* SPDX-License-Identifier: Apache-2.0 */
/* What a model of slowdowns has to beat: answers that nothing had to be trained for. */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_BASELINES_H
#define STEPTIME_CALIBRATE_SLOWDOWN_BASELINES_H

#include "overlap-xgboost/fit/neighbours.h"

typedef enum st_baseline {
    ST_BASELINE_CONSTANT, /* one slowdown that gives the sum of all times: Proteus' way */
    ST_BASELINE_NONE,
    ST_BASELINE_MEDIAN,     /* of the kernels of the name; of all for a name that is new */
    ST_BASELINE_NEIGHBOURS, /* the nearest of the name; none for a name that is new */
    ST_BASELINES
} st_baseline;

extern const char *const st_baseline_names[ST_BASELINES];

/* What each held row takes concurrently with communication over its isolated time, as far as the
 * training rows say. */
st_status st_baseline_predict(st_baseline baseline, const st_kernel_rows *learn,
                              const st_kernel_rows *held, st_arena *arena,
                              double *factors) ST_NODISCARD;

/* The one slowdown that gives the rows their total time, at least 1. */
double st_slowdown_constant(const st_kernel_rows *rows);

/* What a row takes under that slowdown. */
double st_slowdown_of_share(const st_kernel *kernel, double slowdown);

#endif
