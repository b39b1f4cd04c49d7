/* SPDX-License-Identifier: Apache-2.0 */
/* A copy, as several functions of CUDA ask for it. */
#ifndef STEPTIME_RECORD_LIBRARY_TRANSFERS_H
#define STEPTIME_RECORD_LIBRARY_TRANSFERS_H

#include "record/library/entry.h"

typedef struct st_copy {
    uint64_t to;
    uint64_t from;
    uint64_t bytes; /* of a row */
    uint64_t rows;
    uint64_t to_pitch; /* from row to row */
    uint64_t from_pitch;
    uint64_t kind; /* cudaMemcpyKind */
} st_copy;

/* The draft of a copy by its pointers; its stream is the default one. */
void st_copy_draft(st_call *call, uint64_t to, uint64_t from, uint64_t bytes);
/* In the call's stream, asynchronously where it has one. */
uint64_t st_copy_run(st_call *call, const st_copy *copy);

#endif
