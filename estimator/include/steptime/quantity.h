/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantities: numbers with units over five base dimensions.
 *
 * Inside steptime every number is a double in base units: byte, flop, second, joule, dollar and
 * their products. Units exist where numbers come in and go out. A unit keeps its scale as a
 * multiplier and a divisor, both exact in binary, so that 2.5[us] is one correctly rounded division
 * and not a product with an already rounded 1e-6.
 *
 * Grammar of a unit:   unit := "1" | "%" | term { ("*" | "/") term };  term := name [ "^" integer ]
 *                      | "(" unit ")" [ "^" integer ]; "1/s" is allowed.
 * Names: B, bit, FLOP (or flop), s, min, h, day, J, W, Wh, $ (or USD), with
 *   k M G T P E on B, bit, FLOP, J, W, Wh, $; Ki Mi Gi Ti Pi Ei on B and bit; m u n p on s;
 *   m on J and W. MB is 10^6 bytes, MiB 2^20, always. Counts (ranks, layers, tokens) have unit "1".
 */
#ifndef STEPTIME_QUANTITY_H
#define STEPTIME_QUANTITY_H

#include "steptime/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ST_BYTE, ST_FLOP, ST_SECOND, ST_JOULE, ST_DOLLAR, ST_DIMENSIONS };
/* Exponents are kept in twelfths, so that square and cube roots of units stay exact. */
enum { ST_EXPONENT_ONE = 12 };

typedef struct st_dimension {
    int16_t exponent[ST_DIMENSIONS]; /* twelfths */
} st_dimension;

typedef struct st_unit {
    st_dimension dimension;
    double multiplier; /* base value = value * multiplier / divisor */
    double divisor;
    char text[40]; /* as written, e.g. "GB/s"; "1" for a pure number */
} st_unit;

/* The pure number. */
ST_API st_unit st_unit_one(void);

/*
 * Reads a unit that fills `text` of `length` bytes. `place` is where the text starts; an error is
 * reported with the column of the error and, for a slip such as "Gbps", "GFLOPS" or "KB", the
 * spelling that steptime wants. `unit` is set only on success.
 */
ST_API st_status st_unit_parse(const char *text, size_t length, st_place place, st_unit *unit,
                               st_errors *errors) ST_NODISCARD;

/* Between a value in the unit and one in base units; one rounding where the scale allows it. */
ST_API double st_unit_to_base(const st_unit *unit, double value);
ST_API double st_unit_from_base(const st_unit *unit, double base_value);

/*
 * Reads a decimal number that fills `text`: digits [ "." digits ] [ ("e"|"E") [sign] digits ] with
 * an optional sign. Nothing else: no nan, inf, hexadecimal, underscore, comma or trailing text.
 * Values that overflow or that vanish (not written as zero) are refused. Independent of the locale.
 */
ST_API st_status st_number_parse(const char *text, size_t length, st_place place, double *value,
                                 st_errors *errors) ST_NODISCARD;

/*
 * Reads "number unit" (blank between them optional) into base units. The dimension must be that of
 * `expected`; a missing unit is an error unless `expected` is a pure number, and a pure number may
 * carry "%" or the very unit of `expected` only. `value` is set only on success.
 */
ST_API st_status st_quantity_parse(const char *text, size_t length, const st_unit *expected,
                                   st_place place, double *value, st_errors *errors) ST_NODISCARD;

/* How st_quantity_format shows a value. */
typedef enum st_style {
    ST_STYLE_SCALED, /* 4 significant digits at a sensible prefix of the unit's family: "16.73 s" */
    ST_STYLE_UNIT,   /* 6 significant digits in the unit itself: "16730.2 ms" */
    ST_STYLE_EXACT /* shortest text that reads back to the same double, in the unit itself; in base
                      units where rounding leaves no such text */
} st_style;

/* As ST_STYLE_SCALED with so many significant digits, 1 to 17. */
#define ST_STYLE_DIGITS(digits) ((st_style)(ST_STYLE_EXACT + (digits)))

enum { ST_QUANTITY_TEXT = 96 }; /* enough for every formatted quantity */

/*
 * Writes a base value with its unit ("GB/s" picks the decimal family, "GiB/s" the binary one; whole
 * pure numbers below 1e15 print in full with no separators); returns `text`. Not finite values
 * print as "not finite". Independent of the locale.
 */
ST_API const char *st_quantity_format(double base_value, const st_unit *unit, st_style style,
                                      char *text, size_t size);
/* Shortest decimal text that reads back to `value`; "nan", "inf", "-inf" otherwise. */
ST_API const char *st_number_format(double value, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
