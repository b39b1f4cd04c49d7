/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces that Perfetto and chrome://tracing open: the JSON form of Chrome's trace events, with a
 * process for every rank and a thread for every resource. Generated timelines and replayed
 * recordings are both written here.
 */
#ifndef STEPTIME_SCHEDULE_PERFETTO_H
#define STEPTIME_SCHEDULE_PERFETTO_H

#include "steptime/graph.h"

/*
 * Appends a whole replay. `ticks_per_ns` says in what the graph counts. Starts and ends are rounded
 * down to whole nanoseconds, so that events of a thread that do not overlap do not do so in the
 * trace; tasks shorter than that are left out. ST_ERR_LIMIT beyond five million tasks.
 */
st_status st_perfetto_write(const st_replay *replay, int64_t ticks_per_ns, st_buffer *buffer,
                            st_errors *errors) ST_NODISCARD;

#endif
