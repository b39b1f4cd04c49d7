/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closed list of unit names and prefixes, shared by the parser, by the suggestions for slips
 * and by printing at a sensible scale.
 */
#ifndef STEPTIME_BASE_UNIT_NAMES_H
#define STEPTIME_BASE_UNIT_NAMES_H

#include "steptime/quantity.h"

/* Which prefixes a name takes; every prefix belongs to one family. */
enum {
    ST_PREFIX_LARGE = 1,  /* k M G T P E */
    ST_PREFIX_BINARY = 2, /* Ki Mi Gi Ti Pi Ei */
    ST_PREFIX_MILLI = 4,  /* m */
    ST_PREFIX_TINY = 8,   /* u n p */
    ST_PREFIX_NONE = 16   /* the empty prefix, which every name takes */
};

typedef struct st_unit_prefix {
    const char *text;
    const char *word; /* "giga" */
    double multiplier;
    double divisor;
    unsigned family;
} st_unit_prefix;

typedef struct st_unit_name {
    const char *text;
    int8_t exponent[ST_DIMENSIONS]; /* whole */
    double multiplier;
    double divisor;
    unsigned families;
} st_unit_name;

/* Both in rising order of scale within a family; ended by a NULL text. */
extern const st_unit_prefix st_unit_prefixes[];
extern const st_unit_name st_unit_names[];

/* The name that fills `text`; `prefix` is NULL where it has none. NULL: unknown name
 * or it does not take that prefix.
 */
const st_unit_name *st_unit_name_find(const char *text, size_t length,
                                      const st_unit_prefix **prefix);

/* Bytes of the name at the start of `text`: up to an operator, a parenthesis or a blank. */
size_t st_unit_name_length(const char *text, size_t length);

/*
 * What the writer of an unknown name most likely meant, for the whole unit: "GB/s", "kB or KiB" or
 * a remedy; NULL without one. The name is at `at` in `text` for `name_length`.
 */
const char *st_unit_suggest(const char *text, size_t length, size_t at, size_t name_length,
                            st_errors *errors);

/* The name is a thing that is counted: "GPU", "tokens". */
bool st_unit_is_count(const char *name, size_t length);

#endif
