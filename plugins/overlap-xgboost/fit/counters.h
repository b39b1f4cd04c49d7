/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of kernels as 'ncu --csv' prints them: 'ncu --csv --page raw' has a row for each kernel,
 * a column for each metric and, below the heading, a row of units; 'ncu --csv' (page details) has a
 * row for each metric of each kernel.
 */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_COUNTERS_H
#define STEPTIME_CALIBRATE_SLOWDOWN_COUNTERS_H

#include "base/csv.h"

typedef enum st_counter {
    ST_COUNTER_COMPUTE, /* percent of the peak, all of them */
    ST_COUNTER_MEMORY,
    ST_COUNTER_DRAM,
    ST_COUNTER_OCCUPANCY,
    ST_COUNTER_L1,
    ST_COUNTER_L2,
    ST_COUNTERS
} st_counter;

typedef struct st_counted_kernel {
    const char *name; /* the function alone: no namespace, no parameters */
    int64_t grid[3];  /* 0: not known */
    int64_t block[3];
    double values[ST_COUNTERS];
} st_counted_kernel;

typedef struct st_counters {
    const char *file;
    st_counted_kernel *kernels; /* in the order in which they ran */
    size_t count;
} st_counters;

/*
 * Reads the text of such a file. Lines before the heading that are not CSV ("==PROF== ...") are
 * passed over. Refused, all errors at once: a file without heading or kernels, a metric that is
 * missing (reported with the option of ncu that adds it), a value that is not a number, rows that
 * end too soon. Lives in `arena`.
 */
st_status st_counters_read(const char *file, const char *text, size_t length, st_arena *arena,
                           st_counters *counters, st_errors *errors) ST_NODISCARD;

/*
 * The function's own name in a demangled one: "void at::native::fill<float, 4>(int)" is "fill".
 * Points into `name`; the length goes to `length`.
 */
const char *st_function_name(const char *name, size_t *length);

#endif
