/* SPDX-License-Identifier: Apache-2.0 */
/* Which counters belong to which kernel of a recording: by function, grid and block, in order. */
#ifndef STEPTIME_CALIBRATE_SLOWDOWN_JOIN_H
#define STEPTIME_CALIBRATE_SLOWDOWN_JOIN_H

#include "overlap-xgboost/fit/counters.h"
#include "overlap-xgboost/fit/recorded.h"

typedef struct st_join st_join;

st_status st_join_make(const st_counters *counters, st_arena *arena, st_join **join) ST_NODISCARD;

/*
 * The counters of the next kernel of that function and, where both sides know them, of that grid
 * and block. Nsight Compute often stops after a step: where its kernels of a function are
 * used up, it begins again with the first. NULL where it has none, or where one is not known.
 */
const st_counted_kernel *st_join_next(st_join *join, const st_recorded_kernel *kernel);

#endif
