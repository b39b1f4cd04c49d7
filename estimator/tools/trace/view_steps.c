/* SPDX-License-Identifier: Apache-2.0 */
/* What of a recording belongs to some steps, and what views of it share. */
#include "trace/link.h"
#include "trace/view.h"
#include "trace/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct range {
    int64_t first;
    int64_t last;
} range;

/* ---- which steps ---- */

static bool take_number(const char **at, int64_t *number)
{
    char *end = NULL;
    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    *number = strtoll(*at, &end, 10);
    *at = end;
    return errno == 0;
}

/* The number of ProfilerStep#N; -1 where there is none. */
static int64_t number_of(const st_trace *trace, const st_trace_event *event)
{
    const char *at = strchr(trace->names[event->name], '#');
    int64_t number = -1;
    if (event->kind != ST_TRACE_STEP || at == NULL)
        return -1;
    at++;
    return take_number(&at, &number) && *at == '\0' ? number : -1;
}

static st_status refuse_steps(const st_trace *trace, const char *steps, st_errors *errors)
{
    range has = {INT64_MAX, -1};
    for (size_t i = 0; i < trace->event_count; i++) {
        int64_t number = number_of(trace, &trace->events[i]);
        if (number < 0)
            continue;
        has.first = number < has.first ? number : has.first;
        has.last = number > has.last ? number : has.last;
    }
    if (has.last < 0)
        return st_fail(errors, ST_ERR_VALUE, (st_place){.file = trace->file},
                       "the trace has no steps, but steps %s are asked for" ST_HINT
                       "call profiler.step() after each step when recording",
                       steps);
    return st_fail(errors, ST_ERR_VALUE, (st_place){.file = trace->file},
                   "not all of the steps %s are recorded" ST_EXPECTED "steps from %lld to %lld",
                   steps, (long long)has.first, (long long)has.last);
}

/* ---- cutting ---- */

/* From the begin of the first step to the end of the last; false where one is missing. */
static bool find_cut(st_trace *trace, const range *steps)
{
    bool has_first = false;
    bool has_last = false;
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        int64_t number = number_of(trace, event);
        if (number == steps->first && !has_first)
            trace->cut_start_ns = event->start_ns;
        if (number == steps->last)
            trace->cut_end_ns = st_trace_end_ns(event);
        has_first = has_first || number == steps->first;
        has_last = has_last || number == steps->last;
    }
    return has_first && has_last && trace->cut_end_ns > trace->cut_start_ns;
}

static void clip(const st_trace *trace, st_trace_event *event)
{
    int64_t end_ns = st_trace_end_ns(event);
    if (!st_trace_is_gpu(event))
        return;
    if (event->start_ns < trace->cut_start_ns)
        event->start_ns = trace->cut_start_ns;
    event->duration_ns =
        (end_ns < trace->cut_end_ns ? end_ns : trace->cut_end_ns) - event->start_ns;
}

/* Marks what stays; calls outside that launch what is inside stay, too. */
static void mark(const st_trace *trace, bool *stays)
{
    st_links links;
    st_links_make(trace, ST_TRACE_CALL, &links);
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        bool is_inside;
        if (st_trace_is_gpu(event))
            is_inside =
                event->start_ns < trace->cut_end_ns && st_trace_end_ns(event) > trace->cut_start_ns;
        else
            is_inside =
                event->start_ns >= trace->cut_start_ns && event->start_ns < trace->cut_end_ns;
        if (!is_inside)
            continue;
        stays[i] = true;
        uint32_t call = st_trace_is_gpu(event) ? st_links_call(&links, event) : ST_TRACE_NONE;
        if (call != ST_TRACE_NONE)
            stays[call] = true;
    }
    st_links_free(&links);
}

/* Calls from before the steps come first, then tasks that are clipped to their begin. */
static int place_of(const st_trace *trace, const st_trace_event *event)
{
    if (event->start_ns >= trace->cut_start_ns)
        return 2;
    return st_trace_is_gpu(event) ? 1 : 0;
}

static void cut(st_trace *trace)
{
    size_t kept = 0;
    bool *stays = st_xcalloc(trace->event_count + 1, sizeof *stays);
    st_trace_event *events = st_xmalloc((trace->event_count + 1) * sizeof *events);
    mark(trace, stays);
    memset(trace->kind_counts, 0, sizeof trace->kind_counts);
    for (int place = 0; place < 3; place++) {
        for (size_t i = 0; i < trace->event_count; i++) {
            if (!stays[i] || place_of(trace, &trace->events[i]) != place)
                continue;
            events[kept] = trace->events[i];
            clip(trace, &events[kept]);
            trace->kind_counts[events[kept++].kind]++;
        }
    }
    memcpy(trace->events, events, kept * sizeof *events);
    trace->event_count = kept;
    trace->is_cut = true;
    free(stays);
    free(events);
}

st_status st_trace_cut_steps(st_trace_set *set, const char *steps, st_errors *errors)
{
    range wanted = {0};
    st_status status = ST_OK;
    const char *at = steps;
    bool ok = take_number(&at, &wanted.first);
    wanted.last = wanted.first;
    if (ok && strncmp(at, "..", 2) == 0) {
        at += 2;
        ok = take_number(&at, &wanted.last);
    }
    if (!ok || *at != '\0' || wanted.first > wanted.last) {
        status = st_fail(errors, ST_ERR_USAGE, (st_place){0},
                         "option --steps" ST_FOUND "'%s'" ST_EXPECTED
                         "a step of ProfilerStep#N, as '3', or several, as '2..4'",
                         steps);
    }
    for (size_t i = 0; i < set->count && status == ST_OK; i++) {
        if (find_cut(set->ranks[i], &wanted))
            cut(set->ranks[i]);
        else
            status = refuse_steps(set->ranks[i], steps, errors);
    }
    return status;
}

/* ---- what views share ---- */

void st_view_orders_make(const st_trace_set *set, st_arena *arena, st_view_orders *orders)
{
    int64_t late_ns = 0;
    *orders = (st_view_orders){0};
    orders->orders = st_xalloc(arena, set->count, sizeof *orders->orders);
    for (size_t i = 0; i < set->count; i++)
        st_gpu_clock_order(set->ranks[i], arena, &orders->orders[orders->count++], &late_ns);
}

void st_view_orders_free(st_view_orders *orders)
{
    for (size_t i = 0; i < orders->count; i++)
        st_order_free(&orders->orders[i]);
}

void st_view_window(const st_order *order, int64_t *start_ns, int64_t *end_ns)
{
    bool is_cut = order->trace->is_cut;
    *start_ns = is_cut ? order->trace->cut_start_ns : order->start_ns;
    *end_ns = is_cut ? order->trace->cut_end_ns : order->end_ns;
}

const char *st_short_name(const char *name, char *text)
{
    enum { BEGIN = 38, END = 24 };
    size_t length = strlen(name);
    if (length <= BEGIN + END)
        return name;
    (void)snprintf(text, ST_SHORT_NAME, "%.*s..%s", BEGIN, name, name + length - END);
    return text;
}

void st_put_short(st_node *node, const char *key, const char *name, bool whole)
{
    char text[ST_SHORT_NAME];
    st_put_text(node, key, whole ? name : st_short_name(name, text));
}
