/* SPDX-License-Identifier: Apache-2.0 */
/* When a GPU computes, communicates, or does both: unions of intervals. */
#ifndef STEPTIME_TRACE_BUSY_H
#define STEPTIME_TRACE_BUSY_H

#include "trace/trace.h"

typedef struct st_interval {
    int64_t start_ns;
    int64_t end_ns;
    bool communicates;
} st_interval;

typedef struct st_busy_span {
    int64_t start_ns;
    int64_t end_ns;
    int64_t before_ns; /* all spans before it */
} st_busy_span;

/* When something runs. */
typedef struct st_busy_spans {
    st_busy_span *items;
    size_t count;
} st_busy_spans;

/* Leaves spans in order that do not touch. */
void st_busy_spans_merge(st_busy_spans *spans);
/* The time of merged spans before a moment. */
int64_t st_busy_spans_until(const st_busy_spans *spans, int64_t at_ns);

void st_intervals_sort(st_interval *intervals, size_t count);

/*
 * The breakdown from `start_ns` to `end_ns` of intervals by start; parts of intervals outside do
 * not count.
 */
void st_busy_breakdown(const st_interval *intervals, size_t count, int64_t start_ns, int64_t end_ns,
                       st_trace_breakdown *time);

/* Adds to each period the time in which any of the intervals, which are by start, runs. */
void st_busy_periods(const st_interval *intervals, size_t count, int64_t start_ns,
                     int64_t period_ns, double *busy_ns, size_t period_count);

#endif
