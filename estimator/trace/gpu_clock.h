/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU's clock against the host's on one rank. Profilers convert one into the other, and are off
 * by tens of microseconds at times: then kernels seem to end after the calls have returned that
 * wait for them, or to begin before they are launched.
 */
#ifndef STEPTIME_TRACE_GPU_CLOCK_H
#define STEPTIME_TRACE_GPU_CLOCK_H

#include "trace/task_order.h"

/* By how much the GPU's clock is late, 0 where the times of calls and tasks fit together. */
int64_t st_gpu_clock_late_ns(const st_order *order);
/* A copy in which GPU tasks are earlier by that; it shares everything but the events. */
st_trace *st_gpu_clock_align(const st_trace *trace, int64_t late_ns, st_arena *arena);

#endif
