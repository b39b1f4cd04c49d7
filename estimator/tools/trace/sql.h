/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about recordings as SQL: one SELECT, or a view, which is a file of SELECTs with a line
 * that begins with "--:" before each that says what becomes of its rows:
 *
 *     --: let NAME         a temporary table for the statements behind it
 *     --: fields           the columns of its row are fields of the result
 *     --: say              its first column is printed as text, where it is not NULL
 *     --: rows KEY         a list of the result
 *     --: map KEY          its row is a map of the result; in text a row of the table before it
 *     --: text TITLE=COLUMN|...    the columns of a table; '*' is a name, '>' aligns right, '?'
 *                                  leaves the column out where it is NULL in all rows
 *     --: csv COLUMN,...   of the list or the map
 *
 * Columns whose name begins with '.' are for text alone. A map whose first column of the text, or
 * of the CSV, is NULL is left out there. Nothing can write: only SELECT is authorized.
 */
#ifndef STEPTIME_TRACE_SQL_H
#define STEPTIME_TRACE_SQL_H

#include "base/result.h"
#include "base/yaml.h"
#include "trace/trace.h"

/* A value for a parameter ":top" of a statement. */
typedef struct st_sql_value {
    const char *name; /* ":top" */
    int64_t number;
} st_sql_value;

typedef struct st_sql_question {
    st_source text; /* its name is for messages */
    bool is_view;   /* a file of statements; otherwise one SELECT */
    const st_sql_value *values;
    size_t value_count;
    double limit_s; /* 0: none */
} st_sql_question;

/*
 * Asks it of no recording, so that errors are known before any is read, and says whether the
 * recordings have to be read with their details.
 */
st_status st_sql_check(const st_sql_question *question, bool *needs_details,
                       st_errors *errors) ST_NODISCARD;
st_status st_sql_ask(const st_sql_question *question, const st_trace_set *set, st_arena *arena,
                     st_result *result, st_errors *errors) ST_NODISCARD;

#endif
