/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV as profilers print it into a log: other lines stand in front of the heading and behind the
 * rows, rows may have fewer fields than columns, quoted fields may hold line ends.
 */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_RAGGED_H
#define STEPTIME_CALIBRATE_SLOWDOWN_RAGGED_H

#include "steptime/arena.h"

enum { ST_RAGGED_MAX_FIELDS = 16 * 1024 * 1024, ST_RAGGED_MAX_COLUMNS = 20000 };

typedef struct st_ragged {
    const char *file;
    const char **fields; /* NUL-terminated, row after row; the heading first */
    size_t *rows;        /* where each row below the heading begins in `fields`, and their end */
    int *lines;          /* of each row in the file */
    size_t row_count;
    size_t column_count;
    int head_line;
} st_ragged;

/*
 * Fills a table whose `file` is set. Everything before the first row that has a field `mark`, and
 * rows that are one field alone, such as "==PROF== Disconnected", are passed over. Refused: a text
 * without such a row, a quote that is not closed, a row with more fields than the heading, other
 * bytes than UTF-8. Lives in `arena`.
 */
st_status st_ragged_parse(st_ragged *table, const char *text, size_t length, const char *mark,
                          st_arena *arena, st_errors *errors) ST_NODISCARD;

/* SIZE_MAX where there is none of that name. */
size_t st_ragged_column(const st_ragged *table, const char *name);

/* "" behind the end of the row. */
const char *st_ragged_field(const st_ragged *table, size_t row, size_t column);
size_t st_ragged_width(const st_ragged *table, size_t row);
int st_ragged_line(const st_ragged *table, size_t row);

#endif
