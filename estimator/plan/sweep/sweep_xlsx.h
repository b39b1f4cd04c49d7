/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a sweep as a workbook with a chart. */
#ifndef STEPTIME_SWEEP_SWEEP_XLSX_H
#define STEPTIME_SWEEP_SWEEP_XLSX_H

#include "sweep/space.h"

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
