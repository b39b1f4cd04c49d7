/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of dimensions, for the checks of units in sheets. */
#ifndef STEPTIME_BASE_DIMENSION_H
#define STEPTIME_BASE_DIMENSION_H

#include "steptime/quantity.h"

/* A number has no dimension at all. */
bool st_dimension_equal(st_dimension a, st_dimension b);
bool st_dimension_is_number(st_dimension dimension);
/* Exponents that would leave int16 stay at its ends. */
st_dimension st_dimension_multiply(st_dimension a, st_dimension b, int sign_of_b);
/* Fails with ST_ERR_UNIT where the result is not a whole number of twelfths or leaves int16. */
st_status st_dimension_power(st_dimension base, double exponent, st_dimension *result);
/* In base units, e.g. "B/s", "FLOP/(B*s)", "B^0.5", "1 (a pure number)"; returns `text`. */
const char *st_dimension_text(st_dimension dimension, char *text, size_t size);

#endif
