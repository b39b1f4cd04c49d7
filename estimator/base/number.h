/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decimal numbers below the public interface: finding where one ends, explaining what is wrong with
 * one, and printing in which the locale has no say.
 */
#ifndef STEPTIME_BASE_NUMBER_H
#define STEPTIME_BASE_NUMBER_H

#include "base/lists.h"
#include "steptime/quantity.h"

/*
 * Bytes of the longest number at the start of `text`, sign included; 0 when there is none. An 'e'
 * without digits behind it does not belong to the number: it may begin a unit.
 */
size_t st_number_scan(const char *text, size_t length);

/*
 * Reports why `text` is not a number. `end` is where st_number_scan stopped; always adds an error.
 */
st_status st_number_fault(const char *text, size_t length, size_t end, st_place place,
                          st_errors *errors) ST_NODISCARD;

/* printf's %e, %f or %g of a finite value with a point, whatever the locale; exponents as in 1e-5.
 */
const char *st_number_print(char conversion, int precision, double value, char *text, size_t size);

/* `digits` significant digits, none of them a trailing zero; whole numbers below 1e15 in full. */
const char *st_number_significant(double value, int digits, char *text, size_t size);

/* "12.345": nanoseconds as microseconds with all their digits. */
enum { ST_MICROSECONDS_TEXT = 32 };
const char *st_microseconds_print(int64_t time_ns, char *text);

/* The greatest that divides both, of whole numbers. */
double st_common_divisor(double a, double b);

#endif
