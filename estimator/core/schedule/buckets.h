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

enum { ST_BUCKET_SIZES = 24 };

/* What all-reduces of some sizes take. */
typedef struct st_bucket_curve {
    size_t count;
    double bytes[ST_BUCKET_SIZES]; /* rising */
    double times[ST_BUCKET_SIZES];
} st_bucket_curve;

/*
 * The sizes of the list's buckets, each once, rising; where there are more than ST_BUCKET_SIZES of
 * them, as many sizes from the smallest to the largest, each by the same factor above the one
 * before. The times are left as they are.
 */
void st_bucket_sizes(const st_layers *layers, const st_bucket_caps *caps, st_bucket_curve *curve);

/* The time of a bucket: exact at the curve's sizes, between two of them on a straight line. */
double st_bucket_time(const st_bucket_curve *curve, double bytes);

/* All-reduces go one after the other, each once its bucket is ready. */
typedef struct st_bucket_times {
    double backward; /* the pass alone, without communication */
    const st_bucket_curve *curve;
    double slowdown; /* of the pass while a bucket is on its way, 1: none */
} st_bucket_times;

typedef struct st_bucket_outcome {
    double exposed; /* by which the last all-reduce outlasts the backward pass */
    double added;   /* by which concurrent all-reduces lengthen the backward pass */
    double total;   /* of all all-reduces */
} st_bucket_outcome;

/*
 * Runs the backward pass with its all-reduces, in the unit of the times given. While a bucket is on
 * its way, the pass advances at 1/slowdown of its speed, and later buckets become ready later.
 */
st_bucket_outcome st_buckets_run(const st_layers *layers, const st_bucket_caps *caps,
                                 const st_bucket_times *times);

#endif
