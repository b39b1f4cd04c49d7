/* SPDX-License-Identifier: Apache-2.0 */
/* The breakdown of a rank in a replay, with or without the threads that only watch. */
#ifndef STEPTIME_TRACE_REPLAYED_H
#define STEPTIME_TRACE_REPLAYED_H

#include "trace/trace.h"

st_status st_replayed_rank(const st_trace_graph *graph, const st_replay *replay, size_t rank,
                           bool all_threads, st_trace_breakdown *time) ST_NODISCARD;

#endif
