/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sequences of numbers, matched in order; when the collectives of a recording run, and how long
 * a kernel ran alongside them; kernels of recordings joined with those that were counted.
 */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_MATCHING_H
#define STEPTIME_CALIBRATE_SLOWDOWN_MATCHING_H

#include "overlap-xgboost/fit/counters.h"
#include "overlap-xgboost/fit/recorded.h"

enum { ST_MATCHING_MAX_APART = 2000 }; /* items of only one of the two */

typedef struct st_sequence {
    const uint32_t *items;
    size_t count;
} st_sequence;

/*
 * The longest common subsequence [myers1986]. matches[i] becomes the place in `right` of left item
 * i, SIZE_MAX where it has none. ST_ERR_LIMIT, not reported, where the two differ in more than
 * ST_MATCHING_MAX_APART items.
 */
st_status st_matching(st_sequence left, st_sequence right, size_t *matches) ST_NODISCARD;

/* A stretch in which at least one collective runs on a device. */
typedef struct st_concurrent_span {
    int64_t device;
    int64_t start_ns;
    int64_t end_ns;
    const st_recorded_collective *collective; /* the longest in it */
    int64_t longest_ns;
} st_concurrent_span;

typedef struct st_concurrent {
    st_concurrent_span *spans; /* by device, then by start; apart from each other */
    size_t count;
} st_concurrent;

st_status st_concurrent_make(const st_recorded *recorded, st_arena *arena,
                             st_concurrent *concurrent) ST_NODISCARD;

/*
 * The time of the kernel's run in which a collective ran on its device. `collective`, unless it is
 * NULL, becomes the one that did so longest, NULL for none.
 */
int64_t st_concurrent_time(const st_concurrent *concurrent, const st_recorded_kernel *kernel,
                           const st_recorded_collective **collective);

typedef struct st_join st_join;

st_status st_join_make(const st_counters *counters, st_arena *arena, st_join **join) ST_NODISCARD;

/*
 * The counters of the next kernel of that function and, where both sides know them, of that grid
 * and block. Nsight Compute often stops after a step: where its kernels of a function are
 * used up, it begins again with the first. NULL where it has none, or where one is not known.
 */
const st_counted_kernel *st_join_next(st_join *join, const st_recorded_kernel *kernel);

#endif
