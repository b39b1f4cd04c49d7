/* SPDX-License-Identifier: Apache-2.0 */
/* See link.h. */
#include "trace/link.h"

#include "trace/xalloc.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct sorter {
    const st_trace_event *events;
    size_t offset;
} sorter;

static int64_t number_of(const sorter *s, uint32_t event)
{
    int64_t number;
    memcpy(&number, (const char *)&s->events[event] + s->offset, sizeof number);
    return number;
}

static bool in_order(const sorter *s, const uint32_t *order, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (number_of(s, order[i]) < number_of(s, order[i - 1]))
            return false;
    return true;
}

/* Two runs, from[0..middle) and from[middle..end), into one. */
static void merge(const sorter *s, const uint32_t *from, size_t middle, size_t end, uint32_t *to)
{
    size_t a = 0;
    size_t b = middle;
    if (middle == end || number_of(s, from[middle - 1]) <= number_of(s, from[middle])) {
        memcpy(to, from, end * sizeof *to);
        return;
    }
    for (size_t i = 0; i < end; i++)
        if (b >= end || (a < middle && number_of(s, from[a]) <= number_of(s, from[b])))
            to[i] = from[a++];
        else
            to[i] = from[b++];
}

/* Bottom-up merges: stable, and quick on the long runs in order that traces are made of. */
void st_event_order(const st_trace_event *events, size_t offset, uint32_t *order, size_t count)
{
    const sorter s = {events, offset};
    if (in_order(&s, order, count))
        return;
    uint32_t *other = st_xmalloc(count * sizeof *other);
    uint32_t *from = order;
    uint32_t *to = other;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            size_t left = count - i;
            size_t end = left < 2 * width ? left : 2 * width;
            merge(&s, from + i, width < end ? width : end, end, to + i);
        }
        uint32_t *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != order)
        memcpy(order, from, count * sizeof *order);
    free(other);
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
        if (trace->events[i].kind == kind && trace->events[i].correlation >= 0)
            calls[used++] = (uint32_t)i;
    st_event_order(trace->events, offsetof(st_trace_event, correlation), calls, used);
    *links = (st_links){.trace = trace, .calls = calls, .count = used};
}

void st_links_free(st_links *links)
{
    free(links->calls);
    links->calls = NULL;
}

uint32_t st_links_find(const st_links *links, int64_t correlation, int64_t before_ns)
{
    const st_trace_event *events = links->trace->events;
    size_t low = 0;
    ST_BISECT(low, links->count, events[links->calls[middle]].correlation < correlation);
    if (correlation < 0 || low == links->count ||
        events[links->calls[low]].correlation != correlation)
        return ST_TRACE_NONE;
    while (low + 1 < links->count && events[links->calls[low + 1]].correlation == correlation &&
           events[links->calls[low + 1]].start_ns <= before_ns)
        low++;
    return links->calls[low];
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
        bool wraps = before->correlation - event->correlation > UINT32_MAX / 2; /* 32 bits do */
        if (event->correlation >= before->correlation || wraps) {
            *before = (latest){event->correlation, event->start_ns};
        } else if (event->correlation > 0 && event->start_ns - before->start_ns > JUMP_NS) {
            status = fault(
                trace, partial,
                st_errors_text(errors,
                               "a clock jumps backwards: call %lld of a thread is recorded %.3f ms "
                               "before call %lld, which it follows",
                               (long long)before->correlation,
                               (double)(event->start_ns - before->start_ns) / 1e6,
                               (long long)event->correlation),
                "--partial takes the times as they are", errors);
            break;
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

/* Whether a GPU task has the number, so that it matters which of two calls with it is meant. */
static bool is_launched(const st_links *tasks, int64_t correlation)
{
    return st_links_find(tasks, correlation, INT64_MIN) != ST_TRACE_NONE;
}

st_status st_trace_check(st_trace *trace, bool partial, st_errors *errors)
{
    st_links links;
    st_links tasks[3];
    if (check_span(trace, partial, errors) != ST_OK)
        return ST_ERR_VALUE;
    for (size_t i = 0; i < ST_COUNT(tasks); i++)
        st_links_make(trace, (st_trace_kind)(ST_TRACE_KERNEL + i), &tasks[i]);
    st_links_make(trace, ST_TRACE_CALL, &links);
    st_status status = ST_OK;
    const st_trace_event *events = links.trace->events;
    size_t twice = 0;
    int64_t first = -1;
    for (size_t i = 1; i < links.count; i++) {
        int64_t correlation = events[links.calls[i]].correlation;
        /* 0 is what some profilers write for "none" */
        if (correlation == 0 || correlation != events[links.calls[i - 1]].correlation)
            continue;
        /* Merged ranks count on their own. */
        if (trace->tracks[events[links.calls[i]].track].process !=
            trace->tracks[events[links.calls[i - 1]].track].process)
            continue;
        bool matters = false; /* MTIA gives calls that launch nothing the number of another */
        for (size_t k = 0; k < ST_COUNT(tasks); k++)
            matters = matters || is_launched(&tasks[k], correlation);
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
        uint32_t call = st_links_find(&links, event->correlation, event->start_ns);
        if (call == ST_TRACE_NONE || event->start_ns >= trace->events[call].start_ns - JUMP_NS)
            continue;
        kernels =
            fault(trace, partial,
                  st_errors_text(errors,
                                 "a clock jumps backwards: GPU task %lld begins %.3f ms before "
                                 "the call that launches it",
                                 (long long)event->correlation,
                                 (double)(trace->events[call].start_ns - event->start_ns) / 1e6),
                  "--partial takes the times as they are", errors);
        break;
    }
    status = status == ST_OK ? kernels : status;
    st_links_free(&links);
    return status;
}
