/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives that ranks meet in, and the clocks of ranks.
 *
 * Kernels of one collective are found by communicator and sequence number, by communicator and
 * order, or, without metadata, by order alone, in groups inferred from their ends. All end
 * together, for none can be done before the last has come: their ends align the clocks, and what a
 * kernel lasts from the arrival of the last rank is the transfer; the rest is waiting.
 */
#ifndef STEPTIME_TRACE_COLLATE_H
#define STEPTIME_TRACE_COLLATE_H

#include "trace/task_order.h"

typedef struct st_instance_member {
    uint64_t key;
    uint32_t place; /* in the order of the key, or the sequence number */
    uint32_t rank;  /* index */
    uint32_t event;
    bool exact;
} st_instance_member;

typedef struct st_instance {
    size_t first; /* member */
    uint32_t count;
    bool dropped;          /* the recorded times contradict it */
    int64_t last_start_ns; /* aligned */
} st_instance;

typedef struct st_collation {
    st_instance_member *members; /* of an instance one behind the other */
    size_t member_count;
    st_instance *instances;
    size_t instance_count;
    int64_t *offsets_ns;    /* by rank: what to add to its times */
    size_t inferred_groups; /* of ranks, where no trace names any; 0: it is all ranks, or unknown */
    st_trace_edges edges;
    int64_t most_apart_ns; /* the largest spread of ends in an instance, after alignment */
} st_collation;

/* `orders`: one per rank. */
void st_collate(const st_order *orders, size_t count, st_arena *arena, st_collation *collation);

#endif
