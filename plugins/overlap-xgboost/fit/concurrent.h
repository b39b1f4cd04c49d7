/* SPDX-License-Identifier: Apache-2.0 */
/* When the collectives of a recording run, and how long a kernel ran alongside them. */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_CONCURRENT_H
#define STEPTIME_CALIBRATE_SLOWDOWN_CONCURRENT_H

#include "overlap-xgboost/fit/recorded.h"

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

#endif
