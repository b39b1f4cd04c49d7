/* SPDX-License-Identifier: Apache-2.0 */
/* What a replay says of a rank: its breakdown, with or without the threads that only watch; its
 * steps. */
#ifndef STEPTIME_TRACE_REPLAYED_H
#define STEPTIME_TRACE_REPLAYED_H

#include "trace/trace.h"

void st_replayed_rank(const st_trace_graph *graph, const st_replay *replay, size_t rank,
                      bool all_threads, st_trace_breakdown *time);
/* What a replay that ran says of every task, in `arena`. */
st_status st_replayed_times(const st_trace_graph *graph, const st_replay *replay, st_arena *arena,
                            st_trace_times *times, st_errors *errors) ST_NODISCARD;
/* How long a step lasts on its host, in a replay that ran. */
int64_t st_replayed_step_ns(const st_trace_mark *step, const st_replay *replay);

#endif
