/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU's clock against the host's on one rank. Profilers convert one into the other, and are off
 * by tens of microseconds at times: then kernels seem to end after the calls have returned that
 * wait for them, or to begin before they are launched.
 */
#ifndef STEPTIME_TRACE_GPU_CLOCK_H
#define STEPTIME_TRACE_GPU_CLOCK_H

#include "trace/task_order.h"

/*
 * The order of a rank on one clock, for st_order_free: where the GPU's is late, by *late_ns and not
 * by 0, it is that of a copy in which GPU tasks are earlier by that, and which shares all but the
 * events.
 */
void st_gpu_clock_order(const st_trace *trace, st_arena *arena, st_order *order, int64_t *late_ns);

#endif
