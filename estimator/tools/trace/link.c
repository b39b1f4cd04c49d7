/* SPDX-License-Identifier: Apache-2.0 */
/* See link.h. */
#include "trace/link.h"

#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

typedef struct sorter {
    const st_trace *trace;
    bool by_correlation;
    uint32_t *room; /* for half of them */
} sorter;

static int64_t number_of(const sorter *s, uint32_t event)
{
    const st_trace_event *e = &s->trace->events[event];
    return s->by_correlation ? st_trace_correlation(s->trace, e) : e->start_ns;
}

/* Merges halves that are sorted: stable, and quick on the long runs in order that traces are made
 * of. */
static void sort(const sorter *s, uint32_t *order, size_t count)
{
    const size_t half = count / 2;
    size_t left = 0;
    size_t right = half;
    if (half == 0)
        return;
    sort(s, order, half);
    sort(s, order + half, count - half);
    if (number_of(s, order[half - 1]) <= number_of(s, order[half]))
        return;
    memcpy(s->room, order, half * sizeof *order);
    for (size_t i = 0; left < half; i++)
        order[i] = right < count && number_of(s, order[right]) < number_of(s, s->room[left])
                       ? order[right++]
                       : s->room[left++];
}

void st_event_order(const st_trace *trace, bool by_correlation, uint32_t *order, size_t count)
{
    const sorter s = {trace, by_correlation, st_xmalloc((count / 2 + 1) * sizeof *order)};
    sort(&s, order, count);
    free(s.room);
}

/* CUPTI numbers calls as they begin, so a later number with an earlier time is a clock that
 * jumped; clocks of host and GPU differ by some 20 us at most in sound traces. */
static const int64_t JUMP_NS = 1000000;

/* Sums and differences of times of several ranks stay far from overflow. */
static const int64_t LONGEST_SPAN_NS = INT64_C(1) << 59;

void st_links_make(const st_trace *trace, st_trace_kind kind, st_links *links)
{
    size_t count = trace->kind_counts[kind];
    uint32_t *calls = st_xmalloc((count + 1) * sizeof *calls);
    size_t used = 0;
    for (size_t i = 0; i < trace->event_count; i++)
        if (trace->events[i].kind == kind && st_trace_correlation(trace, &trace->events[i]) >= 0)
            calls[used++] = (uint32_t)i;
    st_event_order(trace, true, calls, used);
    *links = (st_links){.trace = trace, .calls = calls, .count = used};
}

void st_links_free(st_links *links)
{
    free(links->calls);
    links->calls = NULL;
}

int64_t st_links_number(const st_links *links, size_t place)
{
    return st_trace_correlation(links->trace, &links->trace->events[links->calls[place]]);
}

size_t st_links_first(const st_links *links, int64_t correlation)
{
    size_t low = 0;
    ST_BISECT(low, links->count, st_links_number(links, middle) < correlation);
    return low < links->count && st_links_number(links, low) == correlation ? low : links->count;
}

uint32_t st_links_find(const st_links *links, int64_t correlation, int64_t before_ns)
{
    const st_trace_event *events = links->trace->events;
    size_t low = st_links_first(links, correlation);
    if (low == links->count)
        return ST_TRACE_NONE;
    while (low + 1 < links->count && st_links_number(links, low + 1) == correlation &&
           events[links->calls[low + 1]].start_ns <= before_ns)
        low++;
    return links->calls[low];
}

uint32_t st_links_call(const st_links *links, const st_trace_event *event)
{
    return st_links_find(links, st_trace_correlation(links->trace, event), event->start_ns);
}

static st_status fault(const st_trace *trace, bool partial, const char *message, const char *remedy,
                       st_errors *errors)
{
    st_report(errors, partial ? ST_SEVERITY_WARNING : ST_SEVERITY_ERROR, ST_ERR_VALUE,
              (st_place){.file = trace->file}, "%s" ST_HINT "%s", message, partial ? "" : remedy);
    return partial ? ST_OK : ST_ERR_VALUE;
}

/* The latest number on a track, and when. */
typedef struct latest {
    int64_t correlation;
    int64_t start_ns;
} latest;

static st_status check_threads(const st_trace *trace, bool partial, st_errors *errors)
{
    latest *last = st_xcalloc(trace->track_count + 1, sizeof *last);
    st_status status = ST_OK;
    for (size_t i = 0; i < trace->event_count && status == ST_OK; i++) {
        const st_trace_event *event = &trace->events[i];
        latest *before = &last[event->track];
        if (event->kind != ST_TRACE_CALL || strncmp(trace->names[event->name], "cu", 2) != 0)
            continue;
        bool wraps = before->correlation - event->link > UINT32_MAX / 2; /* 32 bits do */
        if (event->link >= before->correlation || wraps) {
            *before = (latest){event->link, event->start_ns};
        } else if (event->link > 0 && event->start_ns - before->start_ns > JUMP_NS) {
            status = fault(
                trace, partial,
                st_errors_text(errors,
                               "a clock jumps backwards: call %lld of a thread is recorded %.3f ms "
                               "before call %lld, which it follows",
                               (long long)before->correlation,
                               (double)(event->start_ns - before->start_ns) / 1e6,
                               (long long)event->link),
                "--partial takes the times as they are", errors);
        }
    }
    free(last);
    return status;
}

/* Events are by start. With `partial`, those far from the middle one are left out. */
static st_status check_span(st_trace *trace, bool partial, st_errors *errors)
{
    size_t kept = 0;
    bool fits = true;
    const int64_t first_ns = trace->event_count > 0 ? trace->events[0].start_ns : 0;
    const int64_t middle_ns =
        trace->event_count > 0 ? trace->events[trace->event_count / 2].start_ns : 0;
    for (size_t i = 0; i < trace->event_count && fits; i++)
        fits = st_trace_end_ns(&trace->events[i]) - first_ns <= LONGEST_SPAN_NS;
    if (fits)
        return ST_OK;
    if (!partial)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = trace->file},
                       "the events are more than 18 years apart" ST_HINT
                       "--partial leaves those far from most others out");
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        const int64_t most_ns = LONGEST_SPAN_NS / 2;
        if (event->start_ns - middle_ns >= -most_ns && st_trace_end_ns(event) - middle_ns < most_ns)
            trace->events[kept++] = *event;
        else
            trace->kind_counts[event->kind]--;
    }
    st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){.file = trace->file},
              "%zu events years away from the others are left out", trace->event_count - kept);
    trace->left_out += trace->event_count - kept;
    trace->partial = true;
    trace->event_count = kept;
    return ST_OK;
}

/* Times of Kineto are microseconds. No launching call takes a millisecond each time, and no task of
 * a GPU less than a nanosecond. */
static void check_unit(const st_trace *trace, st_errors *errors)
{
    enum { FEW_CALLS = 3 };
    static const int64_t LONG_CALL_NS = 1000000;
    size_t launches = 0;
    int64_t shortest_ns = INT64_MAX;
    int64_t longest_task_ns = -1;
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        bool is_launch = event->kind == ST_TRACE_CALL && event->class_ == ST_CALL_LAUNCH;
        launches += is_launch;
        if (is_launch && event->duration_ns < shortest_ns)
            shortest_ns = event->duration_ns;
        if (st_trace_is_gpu(event) && event->duration_ns > longest_task_ns)
            longest_task_ns = event->duration_ns;
    }
    const bool is_short = longest_task_ns == 0;
    if (is_short || (launches >= FEW_CALLS && shortest_ns >= LONG_CALL_NS))
        (void)st_report(errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){.file = trace->file},
                        is_short ? "all GPU tasks last 0 ns" ST_EXPECTED
                                   "times in microseconds, not in seconds or milliseconds"
                                 : "every call that launches takes over a millisecond" ST_EXPECTED
                                   "times in microseconds, not in nanoseconds");
}

st_status st_trace_check(st_trace *trace, bool partial, st_errors *errors)
{
    st_links links;
    st_links tasks[3];
    if (check_span(trace, partial, errors) != ST_OK)
        return ST_ERR_VALUE;
    check_unit(trace, errors);
    for (size_t i = 0; i < ST_COUNT(tasks); i++)
        st_links_make(trace, (st_trace_kind)(ST_TRACE_KERNEL + i), &tasks[i]);
    st_links_make(trace, ST_TRACE_CALL, &links);
    st_status status = ST_OK;
    const st_trace_event *events = links.trace->events;
    size_t twice = 0;
    int64_t first = -1;
    for (size_t i = 1; i < links.count; i++) {
        int64_t correlation = st_links_number(&links, i);
        /* 0 is what some profilers write for "none" */
        if (correlation == 0 || correlation != st_links_number(&links, i - 1))
            continue;
        /* Merged ranks count on their own. */
        if (trace->tracks[events[links.calls[i]].track].process !=
            trace->tracks[events[links.calls[i - 1]].track].process)
            continue;
        /* MTIA gives calls that launch nothing the number of another. */
        bool matters = false;
        for (size_t k = 0; k < ST_COUNT(tasks); k++)
            matters = matters || st_links_first(&tasks[k], correlation) < tasks[k].count;
        if (!matters)
            continue;
        first = twice == 0 ? correlation : first;
        twice++;
    }
    if (twice != 0)
        status =
            fault(links.trace, partial,
                  st_errors_text(errors,
                                 "several calls have one correlation id: %zu times, the first is "
                                 "%lld",
                                 twice, (long long)first),
                  "--partial links each kernel to the last such call before it", errors);
    for (size_t i = 0; i < ST_COUNT(tasks); i++)
        st_links_free(&tasks[i]);
    st_status threads = check_threads(trace, partial, errors);
    status = status == ST_OK ? threads : status;
    st_status kernels = ST_OK;
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (!st_trace_is_gpu(event))
            continue;
        uint32_t call = st_links_call(&links, event);
        if (call == ST_TRACE_NONE || event->start_ns >= trace->events[call].start_ns - JUMP_NS)
            continue;
        kernels =
            fault(trace, partial,
                  st_errors_text(errors,
                                 "a clock jumps backwards: GPU task %lld begins %.3f ms before "
                                 "the call that launches it",
                                 (long long)st_trace_correlation(trace, event),
                                 (double)(trace->events[call].start_ns - event->start_ns) / 1e6),
                  "--partial takes the times as they are", errors);
        break;
    }
    status = status == ST_OK ? kernels : status;
    st_links_free(&links);
    return status;
}
