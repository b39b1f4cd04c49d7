/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient buckets of data-parallel training and how much of their all-reduce stays exposed.
 *
 * Gradients become ready from the last layer to the first. Tensors are put into a bucket in that
 * order until it holds at least its cap; then it is sent while the backward pass goes on. The first
 * bucket has a cap of its own, small, so that communication starts early [li2020 sec. 3.2.3, 4.2].
 */
#ifndef STEPTIME_SCHEDULE_BUCKETS_H
#define STEPTIME_SCHEDULE_BUCKETS_H

#include "schedule/layer_list.h"

typedef struct st_bucket_caps {
    double first_bytes;
    double cap_bytes;
    double width_bytes; /* of one gradient value */
} st_bucket_caps;

typedef struct st_bucket {
    double bytes;
    double ready_frac; /* share of the backward pass after which its last gradient is there */
} st_bucket;

/*
 * Calls `visit` with every bucket in the order of sending; stops early where it returns false.
 * Returns the number of buckets visited.
 */
size_t st_buckets_visit(const st_layers *layers, const st_bucket_caps *caps,
                        bool (*visit)(void *context, const st_bucket *bucket), void *context);

/* A bucket costs start + bytes*per_byte, one after the other, each once it is ready. */
typedef struct st_bucket_times {
    double backward; /* the pass alone, nothing beside it */
    double start;
    double per_byte;
    double slowdown; /* of the pass while a bucket is on its way, 1: none */
} st_bucket_times;

typedef struct st_bucket_outcome {
    double exposed; /* by which the last all-reduce outlasts the backward pass */
    double added;   /* by which the all-reduces beside it lengthen the backward pass */
} st_bucket_outcome;

/*
 * Runs the backward pass with its all-reduces, in the unit of the times given. While a bucket is on
 * its way, the pass advances at 1/slowdown of its speed, and later buckets become ready later.
 */
st_bucket_outcome st_buckets_run(const st_layers *layers, const st_bucket_caps *caps,
                                 const st_bucket_times *times);

#endif
