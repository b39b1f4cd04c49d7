/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of a recording on another GPU: the operator that launches a kernel has the shapes of its
 * tensors (record_shapes=True), a sheet has the times of these on both GPUs, and the recorded time
 * changes by the ratio of the two. What a sheet is off on both GPUs alike cancels.
 */
#ifndef STEPTIME_TRACE_RECORDED_GPUS_H
#define STEPTIME_TRACE_RECORDED_GPUS_H

#include "trace/prices.h"

typedef struct st_recorded_gpus {
    const st_trace_set *set; /* read with details */
    st_prices *before;       /* of the GPU that the set was recorded on */
    st_prices *after;
    const char *to; /* name of the other GPU */
} st_recorded_gpus;

/*
 * The ratios of all kernels that compute, in `arena`. One without shapes takes the mean of its
 * class, weighted by time. Refused: recordings without shapes; products, convolutions and attention
 * whose shapes contradict each other.
 */
st_status st_recorded_ratios(const st_recorded_gpus *gpus, st_arena *arena,
                             st_trace_kernel_ratios *ratios, st_errors *errors) ST_NODISCARD;

#endif
