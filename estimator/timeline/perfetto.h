/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replay as a trace that Perfetto and chrome://tracing open: the JSON form of Chrome's trace
 * events, with a process for every rank and a thread for every resource.
 */
#ifndef STEPTIME_TIMELINE_PERFETTO_H
#define STEPTIME_TIMELINE_PERFETTO_H

#include "steptime/graph.h"

/*
 * Appends the trace. `ticks_per_ns` says in what the graph counts. Starts and ends are rounded down
 * to whole nanoseconds, so that events of a thread that do not overlap do not do so in the trace;
 * tasks shorter than that are left out. ST_ERR_LIMIT beyond five million tasks.
 */
st_status st_perfetto_write(const st_replay *replay, int64_t ticks_per_ns, st_buffer *buffer,
                            st_errors *errors) ST_NODISCARD;

#endif
