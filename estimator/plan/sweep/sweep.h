/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep: every row of a space, in order, as text that is handed on block by block.
 *
 * Blocks are computed by several threads and written in their order, so that the bytes do not
 * depend on how many threads there are. Memory is that of a block per thread.
 */
#ifndef STEPTIME_SWEEP_SWEEP_H
#define STEPTIME_SWEEP_SWEEP_H

#include "sweep/space.h"

#include <signal.h>

/* ST_SWEEP_NOTHING: no rows are written; `look` gets them. */
typedef enum st_sweep_format {
    ST_SWEEP_TEXT,
    ST_SWEEP_CSV,
    ST_SWEEP_JSON,
    ST_SWEEP_NOTHING
} st_sweep_format;

/* Called by one thread at a time, in the order of the rows. */
typedef struct st_sweep_sink {
    st_status (*write)(void *context, const char *data, size_t length);
    /* NULL: none. */
    void (*progress)(void *context, uint64_t done, uint64_t rows);
    /* NULL: none; `worker` holds the rows that were computed last. */
    st_status (*look)(void *context, const st_space_worker *worker, uint64_t first);
    void *context;
    const volatile sig_atomic_t *interrupted; /* NULL: it cannot be */
} st_sweep_sink;

typedef struct st_sweep_options {
    st_sweep_format format;
    bool all;    /* rejected rows, too, with the reason */
    int threads; /* 0: as many as the machine has cores */
} st_sweep_options;

typedef struct st_sweep_result {
    uint64_t done; /* rows computed */
    uint64_t kept;
    uint64_t *reasons; /* rows per reason, st_reason_count of them; in the space's arena */
    bool interrupted;
} st_sweep_result;

/* `result` is set whatever happens. */
st_status st_sweep_run(const st_space *space, const st_sweep_options *options,
                       const st_sweep_sink *sink, st_sweep_result *result,
                       st_errors *errors) ST_NODISCARD;

/* "rejected 12 of 40 rows", then a line per reason; nothing where all rows were kept. */
void st_sweep_write_reasons(const st_space *space, const st_sweep_result *result,
                            st_buffer *buffer);

/* Where checks reject nothing, by --check none, rows are marked with those that they fail. */
static inline bool st_sweep_marks(const st_space *space)
{
    return space->request.checks_warn;
}
/* "fits; v == 1 or p > 1", "" where none fails; false where a limit is exceeded. */
bool st_sweep_failed(const st_space_worker *worker, size_t row, st_buffer *text);

/* Writes the rows that a worker holds. */
void st_sweep_write_rows(const st_space_worker *worker, const st_sweep_options *options,
                         st_buffer *buffer);

/* The rows as a workbook with a chart. */
typedef struct st_sweep_book st_sweep_book;

/* Lives in the space's arena until it ends or is dropped. */
st_status st_sweep_book_begin(const st_space *space, const char *path, st_sweep_book **book,
                              st_errors *errors) ST_NODISCARD;
/* Adds the rows that a worker holds, without those that are rejected. */
st_status st_sweep_book_take(st_sweep_book *book, const st_space_worker *worker,
                             st_errors *errors) ST_NODISCARD;
/* Writes the file, with the first cell over the last axis as a chart; `keep` false writes nothing.
 */
st_status st_sweep_book_end(st_sweep_book *book, bool keep, st_errors *errors) ST_NODISCARD;

#endif
