/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of operators that were measured: CSV with the sizes of each and its time. */
#ifndef ST_OPERATOR_TABLE_H
#define ST_OPERATOR_TABLE_H

#include <stddef.h>

enum { ST_TABLE_SIZES = 5, ST_TABLE_REASON = 240 };

typedef struct st_measured {
    double sizes[ST_TABLE_SIZES];
    double time_s;
    size_t line;
} st_measured;

typedef struct st_table {
    st_measured *rows;
    size_t count;
} st_table;

/* Rows with another value in this column, where the table has it, do not count. */
typedef struct st_table_only {
    const char *column;
    const char *value;
} st_table_only;

typedef struct st_table_form {
    const char *sizes[ST_TABLE_SIZES]; /* columns; NULL behind the last one */
    const st_table_only *only;
    size_t only_count;
    const char *not_source; /* nor do rows with this in the column source; NULL: all do */
    const char *as_dtype; /* nor those whose value here differs from that of dtype; NULL: all do */
    /* How the names of the options begin that filter by dtype and source; NULL: there are none, and
     * times in two types may be mixed. */
    const char *options;
    const char *may_be_zero; /* a column of sizes; NULL: none may */
} st_table_form;

/* Which rows of a table count; "" for all. */
typedef struct st_table_filter {
    const char *gpu;
    const char *dtype;
    const char *source;
} st_table_filter;

/*
 * Reads CSV with the columns of the form and us, and perhaps gpu, dtype and source, behind lines of
 * comments. NULL, or what is wrong, in `reason`, which has room for ST_TABLE_REASON.
 */
const char *st_table_read(st_table *table, const char *text, const st_table_form *form,
                          const st_table_filter *filter, char *reason);
void st_table_free(st_table *table);

#endif
