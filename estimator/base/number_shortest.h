/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digits of a double, fast: what printf's "%.15e" and its neighbours give, from integers alone.
 * Tables of a million rows consist of such numbers.
 */
#ifndef STEPTIME_BASE_NUMBER_SHORTEST_H
#define STEPTIME_BASE_NUMBER_SHORTEST_H

#include <stdbool.h>
#include <stdint.h>

/* digits * 10^(exponent - count + 1): `exponent` is that of the first digit. */
typedef struct st_digits {
    uint64_t digits;
    int count; /* at most 17; trailing zeros count */
    int exponent;
} st_digits;

/*
 * The fewest digits, from 15 on, that read back as `value`, rounded as printf rounds. False for
 * what is not above 0 or needs more than 128 bits on the way (below about 1e-15, above 1e38, and
 * powers of two whose digits are many): the caller then asks printf.
 */
bool st_digits_shortest(double value, st_digits *digits);
/* The same with `count` digits, at most 15. */
bool st_digits_rounded(double value, int count, st_digits *digits);

/* At least 32 bytes for `text`, which becomes what "%.*g" with as many digits gives. */
void st_digits_write(const st_digits *digits, bool negative, char *text);

#endif
