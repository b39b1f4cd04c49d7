/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that a sheet leaves open and a table of the library computes: rows of such a table as
 * providers. */
#ifndef STEPTIME_ESTIMATE_OPEN_FUNCTIONS_H
#define STEPTIME_ESTIMATE_OPEN_FUNCTIONS_H

#include "program/program.h"

enum { ST_OPEN_ARGUMENTS = 144 };

typedef struct st_open_function {
    const char *name;
    const char *units[ST_OPEN_ARGUMENTS + 1]; /* of the arguments, up to NULL */
    const char *unit;
    double (*value)(const void *over, const double *arguments, int which);
    int which; /* of the values that `value` computes */
} st_open_function;

/* The state of a provider. */
typedef struct st_open_self {
    const st_open_function *function;
    const void *over; /* what the function looks into; NULL: its arguments alone */
    size_t argument_count;
} st_open_self;

/* The sheet's open function of that name, NULL where it has none. */
const st_sheet_function *st_open_function_find(const st_sheet *sheet, const char *name);

/* Evaluates rows; one with an argument that is not finite has no value. */
st_status st_open_evaluate(void *context, size_t rows, const double *const *arguments,
                           double *values);

/* A provider without its source, in `arena`. */
st_status st_open_provider(const st_open_function *function, const void *over, st_arena *arena,
                           st_provider *provider, st_errors *errors) ST_NODISCARD;

#endif
