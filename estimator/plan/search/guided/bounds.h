/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program can give at all while some of its providers are not asked.
 *
 * Such a provider gives a finite value that is not negative, or none (st_provider_call sees to it).
 * From there interval arithmetic follows the program: every range holds each value that the program
 * could give for the row, whatever the providers say, provided that it gives one. Sums, products,
 * quotients and roots are rounded as the program rounds them, and correct rounding keeps order, so
 * that nothing is lost at the ends (IEEE 754-2019, sec. 4.3); powers, logarithms and exponentials
 * are widened by far more than a mathematics library errs.
 */
#ifndef STEPTIME_GUIDED_BOUNDS_H
#define STEPTIME_GUIDED_BOUNDS_H

#include "program/program.h"

/* Both ends included; NaN at both: no value. An infinite end: no known bound. */
typedef struct st_range {
    double low;
    double high;
} st_range;

/* Scratch memory of one thread. */
typedef struct st_bounds st_bounds;

/*
 * `unknown` are the providers that are not asked; the others are, where all that they read is
 * known. It lives in `arena`; NULL when out of memory.
 */
st_bounds *st_bounds_create(const st_program *program, const st_provider *const *unknown,
                            size_t unknown_count, st_arena *arena);

/*
 * One row: a value per input of the sheet; a range per output and, where the program has checks,
 * per check. Allocates nothing.
 */
void st_bounds_run(st_bounds *bounds, const double *inputs, st_range *outputs, st_range *checks);

/*
 * A value that an output is not below in the last row, where it can be shown that it does not fall
 * while any provider's value rises: its value, less a billionth for rounding, where they all give
 * 0. Otherwise minus infinity. Ranges alone say little of a sheet that takes what is hidden of a
 * time from that time. It holds for formulas as written: next to times so long that a number has
 * no digits left for the rest, what the program rounds may lie below.
 */
double st_bounds_least(st_bounds *bounds, size_t output);

/* Whether an output depends on a provider that is not asked. */
bool st_bounds_output_is_open(const st_bounds *bounds, size_t output);
bool st_bounds_check_is_open(const st_bounds *bounds, size_t check);

#endif
