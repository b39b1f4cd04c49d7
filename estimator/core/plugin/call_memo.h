/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an isolated plugin has answered. A search asks for the same message of the same group again
 * and again, and a question costs two switches between processes. The values of a plugin depend on
 * its arguments alone (docs/plugins.md), so that an answer holds as long as its process, for all
 * threads.
 */
#ifndef STEPTIME_PLUGIN_CALL_MEMO_H
#define STEPTIME_PLUGIN_CALL_MEMO_H

#include "steptime/arena.h"

#include <stddef.h>
#include <stdint.h>

enum { ST_CALL_ROWS = 512, ST_CALL_COLUMNS = 16 };

typedef struct st_call_memo st_call_memo;

/* NULL when out of memory. */
st_call_memo *st_call_memo_create(void);
void st_call_memo_destroy(st_call_memo *memo); /* NULL is fine */

/* A call between its begin and its end. */
typedef struct st_memo_call {
    size_t rows;
    size_t asked_count;              /* 0 before it begins */
    uint32_t asked[ST_CALL_ROWS];    /* numbers of the rows that are asked */
    uint32_t place_of[ST_CALL_ROWS]; /* in the table, of an asked row */
    uint32_t asked_of[ST_CALL_ROWS]; /* of a row that is not known */
    double known[ST_CALL_ROWS];
} st_memo_call;

/*
 * Rows of a call, at most ST_CALL_ROWS, columns that are NULL have no values: finds which differ
 * from all that was answered or asked, call->asked, and returns how many have no answer yet. What
 * begins before the call has ended adds its rows, as many as fit. Each call that has begun has to
 * end. Rows of more than ST_CALL_COLUMNS columns are not kept.
 */
size_t st_call_memo_begin(st_call_memo *memo, st_memo_call *call, size_t provider,
                          size_t column_count, const double *const *columns, size_t rows);
/* The values of all rows from those of the rows that were asked; NULL: there was no answer. */
void st_call_memo_end(st_call_memo *memo, const st_memo_call *call, const double *answers,
                      double *values);

/* Which provider is asked, and which columns it is given: a bit each, behind one that says how many
 * there are. */
uint64_t st_call_head(size_t provider, size_t column_count, const double *const *columns);
static inline size_t st_call_head_provider(uint64_t head)
{
    return (size_t)(head >> (ST_CALL_COLUMNS + 1)) - 1;
}
static inline bool st_call_head_has(uint64_t head, size_t column_count, size_t column)
{
    return (head >> (column_count - 1 - column) & 1U) != 0;
}

/* What was answered to a question about one row: kept, and given again as a copy; NULL: not known.
 */
void st_call_memo_keep(st_call_memo *memo, size_t provider, size_t column_count,
                       const double *const *columns, const char *text, size_t length);
const char *st_call_memo_text(st_call_memo *memo, size_t provider, size_t column_count,
                              const double *const *columns, st_arena *arena, size_t *length);

#endif
