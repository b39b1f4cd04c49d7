/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, or the profiler's records of waiting, by their correlation ids. */
#ifndef STEPTIME_TRACE_LINK_H
#define STEPTIME_TRACE_LINK_H

#include "trace/trace.h"

/* Of a sync or a described collective, which has the correlation then, its place among those:
 * -2 less the link; otherwise ST_TRACE_NONE. */
static inline uint32_t st_trace_detail(const st_trace_event *event)
{
    return event->link < -1 ? (uint32_t)(-2 - event->link) : ST_TRACE_NONE;
}

static inline void st_trace_set_detail(st_trace_event *event, uint32_t detail)
{
    event->link = -2 - (int64_t)detail;
}

/* What is known of a kernel's collective, NULL for nothing. */
static inline const st_trace_collective *st_trace_described(const st_trace *trace,
                                                            const st_trace_event *event)
{
    return event->link < -1 && event->kind != ST_TRACE_SYNC
               ? &trace->collectives[st_trace_detail(event)]
               : NULL;
}

/* -1: none. */
static inline int64_t st_trace_correlation(const st_trace *trace, const st_trace_event *event)
{
    if (event->link >= -1)
        return event->link;
    return event->kind == ST_TRACE_SYNC ? trace->waits[st_trace_detail(event)].correlation
                                        : trace->collectives[st_trace_detail(event)].correlation;
}

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
/* That of a GPU task. */
uint32_t st_links_call(const st_links *links, const st_trace_event *event);
/* The first place with a correlation, the count without one; and the correlation of a place. */
size_t st_links_first(const st_links *links, int64_t correlation);
int64_t st_links_number(const st_links *links, size_t place);

/*
 * What cannot be in a sound trace: correlation ids that two calls share, and times that run against
 * the order of the ids. Errors, or with `partial` warnings.
 */
st_status st_trace_check(st_trace *trace, bool partial, st_errors *errors) ST_NODISCARD;

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

/*
 * Sorts `order`, indices of events, by start or by correlation. Equal events stay in the order in
 * which they are.
 */
void st_event_order(const st_trace *trace, bool by_correlation, uint32_t *order, size_t count);

/* The events of a rank in the orders in which dependencies are looked for. */

/* Lists one behind the other: items[starts[i]] to items[starts[i + 1]]. */
typedef struct st_lists {
    uint32_t *starts;
    uint32_t *items;
} st_lists;

/* Which list an item belongs to; ST_TRACE_NONE: to none. */
typedef uint32_t st_list_of(const void *context, uint32_t item);

/* `count` lists of the numbers below `items`, which keep their order; they live in `arena`. */
void st_lists_make(st_lists *lists, size_t count, size_t items, st_list_of *which,
                   const void *context, st_arena *arena);

/* An event and the time by which it is sorted. */
typedef struct st_launch {
    int64_t launch_ns;
    uint32_t event;
} st_launch;

/* For qsort: by launch, then in the order of the events. */
ST_COMPARE(st_launch_compare, st_launch, ST_RISING(launch_ns) ST_RISING(event));

/* Tasks in flight when a recording begins are few: up to an eighth in public ones. */
static inline bool st_trace_lacks_calls(size_t unlaunched, size_t tasks)
{
    return unlaunched > tasks / 4;
}

typedef struct st_order {
    const st_trace *trace;
    st_arena *arena;
    st_links calls;
    st_links syncs;
    uint32_t *call_of;     /* by event: the call that launches a GPU task, or ST_TRACE_NONE */
    st_launch *unlaunched; /* GPU tasks without a call, by event, and when they may have been */
    size_t unlaunched_count;
    st_lists by_start;     /* events: GPU tasks of a stream, by start */
    st_lists by_launch;    /* by launch */
    st_lists thread_calls; /* calls of a thread, by start */
    st_lists call_tasks;   /* GPU tasks of a call (by event), by start */
    st_arena *of_calls;    /* these two lists */
    int64_t start_ns;      /* window */
    int64_t end_ns;
    size_t gpu_count;
} st_order;

void st_order_make(const st_trace *trace, st_arena *arena, st_order *order);
/* Warns where calls of tasks are missing. */
void st_order_judge(const st_order *order, st_errors *errors);
/* Gives back links and lists of calls; lists of GPU tasks stay in the arena. */
void st_order_free(st_order *order);

/* When a GPU task was launched; without a call, at the earliest. */
int64_t st_order_launch_ns(const st_order *order, uint32_t task);

/* The last task of a stream that was launched before a time, ST_TRACE_NONE without one. */
uint32_t st_order_last(const st_order *order, uint32_t track, int64_t before_ns);
/* The first that was launched at a time or after it. */
uint32_t st_order_next(const st_order *order, uint32_t track, int64_t from_ns);
/* How many tasks by start, of this stream and those before it, have begun before a time: the place
 * behind the last of them in `by_start`; where the stream starts, none of its own has. */
uint32_t st_order_begun(const st_order *order, uint32_t track, int64_t before_ns);
/* The last end of all that was launched before a time; INT64_MIN for nothing. */
int64_t st_order_over_ns(const st_order *order, int64_t before_ns);

/*
 * The GPU's clock against the host's on one rank. Profilers convert one into the other, and are off
 * by tens of microseconds at times: then kernels seem to end after the calls have returned that
 * wait for them, or to begin before they are launched.
 */

/*
 * The order of a rank on one clock, for st_order_free: where the GPU's is late, by *late_ns and not
 * by 0, it is that of a copy in which GPU tasks are earlier by that, and which shares all but the
 * events.
 */
void st_gpu_clock_order(const st_trace *trace, st_arena *arena, st_order *order, int64_t *late_ns);

/* The same on the times of the trace itself: what it recorded is lost. */
void st_gpu_clock_mend(st_trace *trace);

/* Reports that a trace has no GPU work, with what the file has and what records it. Gives
 * ST_ERR_VALUE. */
st_status st_trace_no_work(const st_trace *trace, st_severity severity, st_errors *errors);
/* Reports it of every rank that has none. */
st_status st_trace_need_work(const st_trace_set *set, st_errors *errors) ST_NODISCARD;

#endif
