/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of CUDA graphs, and the calls from which they were captured. */
#ifndef STEPTIME_TRACE_CAPTURES_H
#define STEPTIME_TRACE_CAPTURES_H

#include "trace/view.h"

/*
 * `call_of` has the call that launches each GPU task, by event; the kernels of a graph get the call
 * whose operator they are of instead, where the recording has one:
 *
 * - the captures with as many launches as the graph has kernels, if these are of one stream and all
 *   such captures have the same operators;
 * - kernels launched one by one, as before a capture, with the same names in the same order, the
 *   same operators wherever they are found, and about the same time.
 *
 * Others get none: what launches a graph is not what its kernels do.
 */
void st_captured_calls(const st_trace *trace, const st_sweep *frames, uint32_t *call_of);

#endif
