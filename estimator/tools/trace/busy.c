/* SPDX-License-Identifier: Apache-2.0 */
/* See busy.h. One sweep over starts: three unions grow side by side. */
#include "trace/busy.h"

#include <stdlib.h>

typedef struct union_length {
    int64_t reach_ns; /* covered up to here */
    int64_t length_ns;
} union_length;

ST_COMPARE(compare, st_interval, ST_RISING(start_ns) ST_RISING(end_ns));

void st_intervals_sort(st_interval *intervals, size_t count)
{
    bool sorted = true;
    for (size_t i = 1; i < count && sorted; i++)
        sorted = intervals[i - 1].start_ns <= intervals[i].start_ns;
    if (!sorted)
        qsort(intervals, count, sizeof *intervals, compare);
}

ST_COMPARE(by_start, st_busy_span, ST_RISING(start_ns));

void st_busy_spans_merge(st_busy_spans *spans)
{
    size_t kept = 0;
    if (spans->count == 0)
        return;
    st_sort(spans->items, spans->count, sizeof *spans->items, by_start);
    for (size_t i = 0; i < spans->count; i++) {
        st_busy_span *last = kept > 0 ? &spans->items[kept - 1] : NULL;
        if (last != NULL && spans->items[i].start_ns <= last->end_ns)
            last->end_ns =
                spans->items[i].end_ns > last->end_ns ? spans->items[i].end_ns : last->end_ns;
        else
            spans->items[kept++] = spans->items[i];
    }
    spans->count = kept;
    for (size_t i = 1; i < kept; i++) {
        const st_busy_span *before = &spans->items[i - 1];
        spans->items[i].before_ns = before->before_ns + before->end_ns - before->start_ns;
    }
}

int64_t st_busy_spans_until(const st_busy_spans *spans, int64_t at_ns)
{
    size_t low = 0;
    ST_BISECT(low, spans->count, spans->items[middle].start_ns < at_ns);
    if (low == 0)
        return 0;
    const st_busy_span *last = &spans->items[low - 1];
    int64_t end_ns = last->end_ns < at_ns ? last->end_ns : at_ns;
    return last->before_ns + end_ns - last->start_ns;
}

static void extend(union_length *u, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < u->reach_ns)
        start_ns = u->reach_ns;
    if (end_ns <= start_ns)
        return;
    u->length_ns += end_ns - start_ns;
    u->reach_ns = end_ns;
}

void st_busy_breakdown(const st_interval *intervals, size_t count, int64_t start_ns, int64_t end_ns,
                       st_trace_breakdown *time)
{
    union_length all = {start_ns, 0};
    union_length compute = {start_ns, 0};
    union_length communication = {start_ns, 0};
    for (size_t i = 0; i < count && intervals[i].start_ns < end_ns; i++) {
        int64_t end = intervals[i].end_ns < end_ns ? intervals[i].end_ns : end_ns;
        extend(&all, intervals[i].start_ns, end);
        extend(intervals[i].communicates ? &communication : &compute, intervals[i].start_ns, end);
    }
    *time = (st_trace_breakdown){
        .exposed_compute_ns = all.length_ns - communication.length_ns,
        .exposed_communication_ns = all.length_ns - compute.length_ns,
        .overlapped_ns = compute.length_ns + communication.length_ns - all.length_ns,
        .idle_ns = end_ns - start_ns - all.length_ns,
        .window_ns = end_ns - start_ns,
    };
}

void st_busy_periods(const st_interval *intervals, size_t count, int64_t start_ns,
                     int64_t period_ns, double *busy_ns, size_t period_count)
{
    int64_t reach = start_ns;
    for (size_t i = 0; i < count; i++) {
        int64_t from = intervals[i].start_ns > reach ? intervals[i].start_ns : reach;
        if (intervals[i].end_ns <= from)
            continue;
        int64_t from_ns = from - start_ns;
        const int64_t to_ns = intervals[i].end_ns - start_ns;
        while (from_ns < to_ns) {
            size_t period = (size_t)(from_ns / period_ns);
            if (period >= period_count)
                break;
            int64_t period_end = ((int64_t)period + 1) * period_ns;
            int64_t end = to_ns < period_end ? to_ns : period_end;
            busy_ns[period] += (double)(end - from_ns);
            from_ns = end;
        }
        reach = intervals[i].end_ns;
    }
}
