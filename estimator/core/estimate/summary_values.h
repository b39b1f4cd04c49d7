/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a sheet's summary for one estimate. */
#ifndef STEPTIME_ESTIMATE_SUMMARY_VALUES_H
#define STEPTIME_ESTIMATE_SUMMARY_VALUES_H

#include "estimate/estimate_internal.h"
#include "sheet/summary.h"

typedef struct st_summary_values {
    const char **names; /* of cells and inputs, each once */
    const double *values;
    size_t count;
} st_summary_values;

/* The names of the summary, each once; false when out of memory. */
bool st_summary_names(const st_estimate *estimate, st_arena *arena, const char ***names,
                      size_t *count) ST_NODISCARD;
/* Computes all that the summary names, members of families included. Lives in the arena. */
st_status st_summary_compute(const st_estimate *estimate, st_arena *arena,
                             st_summary_values *values, st_errors *errors) ST_NODISCARD;

/* A number of the summary; NaN where there is none, 0 for a NULL name. */
double st_summary_value(const st_summary_values *values, const char *name);
const st_type *st_summary_type(const st_estimate *estimate, const char *name);
/* The number of a part: of a family that of the member, 0 where there is none. */
double st_summary_part_value(const st_estimate *estimate, const st_summary_values *values,
                             const char *name, size_t member, st_arena *arena);

#endif
