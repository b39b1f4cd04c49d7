/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, or the profiler's records of waiting, by their correlation ids. */
#ifndef STEPTIME_TRACE_LINK_H
#define STEPTIME_TRACE_LINK_H

#include "trace/trace.h"

typedef struct st_links {
    const st_trace *trace;
    uint32_t *calls; /* events, by correlation, then by start */
    size_t count;
} st_links;

/* `kind` is ST_TRACE_CALL or ST_TRACE_SYNC. */
void st_links_make(const st_trace *trace, st_trace_kind kind, st_links *links);
void st_links_free(st_links *links);

/*
 * The call with a correlation, ST_TRACE_NONE without one. Of several, the last that began at
 * `before_ns` or before, or the first.
 */
uint32_t st_links_find(const st_links *links, int64_t correlation, int64_t before_ns);

/*
 * What cannot be in a sound trace: correlation ids that two calls share, and times that run against
 * the order of the ids. Errors, or with `partial` warnings.
 */
st_status st_trace_check(const st_trace *trace, bool partial, st_errors *errors) ST_NODISCARD;

static inline bool st_trace_is_gpu(const st_trace_event *event)
{
    return event->kind <= ST_TRACE_MEMSET;
}

static inline int64_t st_trace_end_ns(const st_trace_event *event)
{
    return event->start_ns + event->duration_ns;
}

/* Sums of durations stay at the largest time instead of overflowing. */
static inline int64_t st_add_ns(int64_t sum_ns, int64_t duration_ns)
{
    return sum_ns > INT64_MAX - duration_ns ? INT64_MAX : sum_ns + duration_ns;
}

/* Events in the order of one of their numbers, with four bytes for each: traces have millions. */

/*
 * Sorts `order`, indices of events, by the int64_t member at `offset` of st_trace_event. Events of
 * equal numbers stay in the order in which they are. Reports nothing: ST_ERR_MEMORY.
 */
void st_event_order(const st_trace_event *events, size_t offset, uint32_t *order, size_t count);

#endif
