/* SPDX-License-Identifier: Apache-2.0 */
/* Events that a file has as a begin and an end, phases B and E or b and e: which end is whose. */
#ifndef STEPTIME_TRACE_PAIRS_H
#define STEPTIME_TRACE_PAIRS_H

#include "trace/store.h"

/* An event that has begun; ST_TRACE_NONE where the store does not keep it as such. */
typedef struct st_open {
    int64_t start_ns;
    uint64_t name; /* hash */
    uint32_t event;
    uint32_t frame;
    uint32_t below; /* + 1: what began before it on its thread and has not ended; 0: none */
} st_open;

/* All zero at first. */
typedef struct st_pairs {
    st_names threads; /* of these, or ids */
    uint32_t *latest; /* by thread: of `opens` + 1 */
    size_t latest_capacity;
    st_open *opens;
    size_t count;
    size_t capacity;
    uint32_t unused; /* first of a list through `below` of opens that have ended, + 1 */
    uint64_t lone_ends;
} st_pairs;

/* The number of a thread by its name; ST_ERR_LIMIT, not reported, for too many. */
st_status st_pairs_thread(st_pairs *pairs, const char *name, size_t length,
                          uint32_t *thread) ST_NODISCARD;
void st_pairs_begin(st_pairs *pairs, uint32_t thread, st_open open);
/* Gives the event that ends: the latest of the thread, with a name (0: not given) that of this
 * name. False, and counted, where there is none. */
bool st_pairs_end(st_pairs *pairs, uint32_t thread, uint64_t name, st_open *open);
/* Takes events without an end from the store, those of a duration below 0, and counts them. */
uint64_t st_pairs_finish(st_trace *trace);
void st_pairs_free(st_pairs *pairs);

#endif
