/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an isolated plugin has answered. A search asks for the same message of the same group again
 * and again, and a question costs two switches between processes. The values of a plugin depend on
 * its arguments alone (docs/plugins.md), so that an answer holds as long as the instance.
 */
#ifndef STEPTIME_PLUGIN_CALL_MEMO_H
#define STEPTIME_PLUGIN_CALL_MEMO_H

#include <stddef.h>
#include <stdint.h>

enum { ST_CALL_ROWS = 512 };

typedef struct st_call_memo st_call_memo;

/* For one thread at a time; NULL when out of memory. */
st_call_memo *st_call_memo_create(void);
void st_call_memo_destroy(st_call_memo *memo); /* NULL is fine */

/*
 * Rows of a call, at most ST_CALL_ROWS, columns that are NULL have no values: finds which differ
 * from all that was answered, and returns how many. asked[i] is the i-th of them.
 */
size_t st_call_memo_begin(st_call_memo *memo, size_t provider, size_t column_count,
                          const double *const *columns, size_t rows, uint32_t *asked);
/* The values of all rows from those of the rows that were asked; NULL: there was no answer. */
void st_call_memo_end(st_call_memo *memo, const double *answers, double *values);

#endif
