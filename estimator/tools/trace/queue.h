/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch queue: a driver holds a limited number of launches whose tasks have not ended. A call
 * that finds the queue full blocks until one of them has; its time then is the GPU's, not the
 * host's.
 */
#ifndef STEPTIME_TRACE_QUEUE_H
#define STEPTIME_TRACE_QUEUE_H

#include "trace/link.h"

/*
 * Launches that may be outstanding on current CUDA drivers, the running one included: measured on
 * recordings of V100 to H100, where calls block with 1,018 to 1,024 tasks waiting.
 */
enum { ST_QUEUE_USUAL = 1025 };

/* A launch in its queue. */
typedef struct st_queue_entry {
    uint32_t call;  /* event, or ST_TRACE_NONE: launched before the recording */
    uint32_t first; /* its task that begins first, an event */
    uint32_t last;  /* and the one that ends last */
    uint32_t frees; /* the task that frees its place, or ST_TRACE_NONE */
    bool blocks;    /* the call lasts longer than usual, as it waits for that */
} st_queue_entry;

/* One queue: of a stream, or of all streams of a device. */
typedef struct st_launch_queue {
    st_queue_entry *entries; /* by launch */
    size_t count;
    uint32_t depth; /* launches that have not ended when a call returns, at most; 0: no limit */
    bool is_seen;   /* by calls that block; otherwise it is the usual one */
    bool is_stream; /* its tasks are of one stream and end in their order */
    size_t blocked;
    int64_t blocked_ns; /* what blocking calls waited */
    int64_t usual_ns;   /* of a call that does not block */
} st_launch_queue;

typedef struct st_launch_queues {
    st_launch_queue *items;
    size_t count;
    bool at_begin; /* tasks free their places when they begin, not when they end */
    bool in_order; /* and not before those launched earlier do */
} st_launch_queues;

/* Everything is of `arena`. */
void st_queues_find(const st_order *order, st_arena *arena, st_launch_queues *queues);

#endif
