/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of tables of kernels as people spell them: "L1 Hit Rate [%]" is "l1_hit_rate", and
 * "Running time (us)" is a running time in microseconds.
 */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_DATA_COLUMNS_H
#define STEPTIME_CALIBRATE_SLOWDOWN_DATA_COLUMNS_H

#include "base/csv.h"

typedef enum st_column_unit {
    ST_COLUMN_PLAIN, /* a name or a pure number */
    ST_COLUMN_PERCENT,
    ST_COLUMN_TIME, /* ns where the heading has no unit */
    ST_COLUMN_BYTES
} st_column_unit;

typedef struct st_column {
    size_t at;    /* SIZE_MAX: the table has no such column */
    double scale; /* from the unit in the heading to ns or bytes */
} st_column;

/*
 * The first of the names, which are lower case with single blanks, that a heading has. Headings are
 * compared without case, and signs in them count as blanks; a unit may follow.
 */
st_column st_column_find(const st_csv *csv, const char *const *names, st_column_unit unit);

/*
 * The index of a word in a list such as " LL LL128 Simple ", without case and signs; SIZE_MAX where
 * there is none. With `inside` the longest word that the text contains: " a100 h100 " has the
 * "NVIDIA A100-SXM4-80GB".
 */
size_t st_column_word(const char *text, const char *words, bool inside);

#endif
