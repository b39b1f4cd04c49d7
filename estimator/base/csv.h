/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV as RFC 4180 has it, read strictly: a table that is wrong somewhere is not used in part.
 *
 * The first line names the columns. Fields are separated by commas; one that holds a comma, a quote
 * or a line end is in quotes, with its quotes doubled. Lines end in LF or CR LF. Refused, all
 * errors at once and each with its place: a byte order mark, text that is not UTF-8, control
 * characters, a column without a name or with a name used before, rows with more or fewer fields
 * than columns, quotes in the wrong place or never closed, and whatever passes a limit below.
 *
 * A log is read more kindly: profilers print their tables among other lines. The heading is the
 * first line that has a field `mark`; before it and behind it, lines of one field and those that
 * begin with "==" are passed over. Rows may end early or lack at all, and names of columns may be
 * anything.
 */
#ifndef STEPTIME_BASE_CSV_H
#define STEPTIME_BASE_CSV_H

#include "base/lists.h"
#include "steptime/arena.h"

enum {
    ST_CSV_MAX_BYTES = 64 * 1024 * 1024,
    ST_CSV_MAX_ROWS = 1000000,
    ST_CSV_MAX_COLUMNS = 1000,
    ST_CSV_MAX_LOG_COLUMNS = 20000,
    ST_CSV_MAX_FIELDS = 16 * 1024 * 1024,
    ST_CSV_MAX_FIELD_BYTES = 65536
};

typedef struct st_csv {
    const char *file;
    const char *const *columns; /* names */
    size_t column_count;
    size_t row_count;
    const char *text;        /* the fields, unquoted, each ended by NUL */
    const uint32_t *offsets; /* where each starts in `text` and in `source`, row by row */
    const uint32_t *heads;   /* the same of the names */
    const char *source;      /* the file */
} st_csv;

typedef struct st_csv_input {
    const char *file; /* in messages */
    const char *text; /* is copied */
    size_t length;
    size_t start;     /* the offset of the first line; earlier text is ignored */
    const char *mark; /* a name in the heading of a log; NULL: a table */
} st_csv_input;

/* `csv` is set only on success. */
st_status st_csv_read(const st_csv_input *input, st_arena *arena, const st_csv **csv,
                      st_errors *errors) ST_NODISCARD;

/* The same of a table from its first byte. */
st_status st_csv_parse(const char *file, const char *text, size_t length, st_arena *arena,
                       const st_csv **csv, st_errors *errors) ST_NODISCARD;

/* The index of a column, SIZE_MAX where there is none of that name. */
size_t st_csv_column(const st_csv *csv, const char *name);

/* The text of a field, "" where it is blank or its row ends before. */
const char *st_csv_field(const st_csv *csv, size_t row, size_t column);

/* How many fields a row has: in a table all, in a log perhaps fewer. */
size_t st_csv_width(const st_csv *csv, size_t row);

/* The place of a field, or of a column's name. Takes time in proportion to the file: for messages.
 */
st_place st_csv_place(const st_csv *csv, size_t row, size_t column);
st_place st_csv_head_place(const st_csv *csv, size_t column);

#endif
