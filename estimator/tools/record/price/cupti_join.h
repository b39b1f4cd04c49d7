/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI measured: calls and, in separate records, their GPU tasks, joined by numbers. A call
 * gets the record of its first task; further tasks, as of a graph's launch, follow it.
 */
#ifndef STEPTIME_RECORD_PRICE_CUPTI_JOIN_H
#define STEPTIME_RECORD_PRICE_CUPTI_JOIN_H

#include "record/price/workers.h"

/* The threads of a process, by the files of its logs. */
typedef struct st_measured_threads {
    uint32_t *numbers; /* as the system counts */
    size_t count;
    size_t capacity;
} st_measured_threads;

/* Joins the calls of a worker, whose threads get places; *lost: what no call was found for. */
void st_measured_join(st_run *run, st_worker *worker, st_measured_threads *threads, uint64_t *lost);

#endif
