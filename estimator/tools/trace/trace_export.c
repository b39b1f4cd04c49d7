/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_export.h. A file is read a second time, and its events are copied one by one. */
#include "trace/trace_export_map.h"

#include "base/number.h"
#include "base/text.h"
#include "trace/link.h"
#include "trace/visit.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

typedef struct copier {
    const st_trace_export *asked;
    const st_trace *trace;
    size_t rank; /* index */
    bool merged; /* several ranks in one file */
    st_export_map map;
    uint32_t *seen;    /* by event: how many that begin with it have come */
    int64_t offset_ns; /* to the clock that all ranks share */
    st_buffer *out;
    bool has_events;
} copier;

/* ---- which event, and where ---- */

/* The kept event that an event of the file is: those of one start are in the order of the file.
 */
static uint32_t event_of(copier *c, int64_t start_ns)
{
    size_t low = 0;
    ST_BISECT(low, c->trace->event_count, c->trace->events[middle].start_ns < start_ns);
    return low < c->trace->event_count ? (uint32_t)low + c->seen[low]++ : ST_TRACE_NONE;
}

/* The thread or, where there is none of these numbers, the stream. */
static uint32_t track_of(const copier *c, const st_draft *draft)
{
    uint32_t found = ST_TRACE_NONE;
    if (draft->process.is_text || draft->thread.is_text)
        return ST_TRACE_NONE;
    for (uint32_t t = 0; t < c->trace->track_count; t++) {
        const st_trace_track *track = &c->trace->tracks[t];
        if (track->is_text || track->number != draft->thread.number ||
            track->process != draft->process.number)
            continue;
        if (!track->is_stream)
            return t;
        found = t;
    }
    return found;
}

static st_moment moment(const copier *c, uint32_t track, int64_t at_ns)
{
    return (st_moment){at_ns,
                       c->asked->before == NULL ? at_ns : st_export_moment(&c->map, track, at_ns)};
}

/* ---- writing ---- */

static void next_event(copier *c)
{
    st_buffer_text(c->out, c->has_events ? ",\n" : "");
    c->has_events = true;
}

/* The replacements of an event's values, by their places. */
typedef struct patch {
    st_scan_span at;
    char text[ST_MICROSECONDS_TEXT + 32];
} patch;

static void add_patch(patch *patches, size_t *count, st_scan_span at, const char *text)
{
    size_t i = (*count)++;
    for (; i > 0 && patches[i - 1].at.start > at.start; i--)
        patches[i] = patches[i - 1];
    patches[i].at = at;
    (void)snprintf(patches[i].text, sizeof patches[i].text, "%s", text);
}

/* Microseconds; whole ones as such, as old files have them. */
static const char *time_text(int64_t time_ns, char *text)
{
    if (time_ns % 1000 != 0)
        return st_microseconds_print(time_ns, text);
    (void)snprintf(text, ST_MICROSECONDS_TEXT, "%lld", (long long)(time_ns / 1000));
    return text;
}

static void add_time(patch *patches, size_t *count, st_scan_span at, int64_t time_ns)
{
    char text[ST_MICROSECONDS_TEXT];
    if (at.length > 0)
        add_patch(patches, count, at, time_text(time_ns, text));
}

static void write_patched(copier *c, const st_visit *visit, const patch *patches, size_t count)
{
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)(patches[i].at.start - visit->start);
        st_buffer_append(c->out, visit->text + done, at - done);
        st_buffer_text(c->out, patches[i].text);
        done = at + patches[i].at.length;
    }
    st_buffer_append(c->out, visit->text + done, visit->length - done);
}

/* Where an event goes: as its task does, or with what is around it. */
static void move(const copier *c, uint32_t event, const st_draft *draft, st_moment *start,
                 st_moment *end)
{
    bool is_task = event != ST_TRACE_NONE && st_trace_is_gpu(&c->trace->events[event]);
    if (is_task && c->asked->before != NULL) {
        *start = c->map.starts[event];
        *end = c->map.ends[event];
        return;
    }
    uint32_t track = event != ST_TRACE_NONE ? c->trace->events[event].track : track_of(c, draft);
    *start = moment(c, track, draft->start_ns);
    *end = *start;
    if (draft->has_duration && draft->duration_ns >= 0)
        *end = moment(c, track, draft->start_ns + draft->duration_ns);
}

static st_status copy_event(void *context, const st_visit *visit)
{
    copier *c = context;
    const st_draft *draft = visit->draft;
    uint32_t event = visit->kind != ST_TRACE_KINDS ? event_of(c, draft->start_ns) : ST_TRACE_NONE;
    patch patches[ST_MARKED];
    size_t count = 0;
    if (draft->has_start && draft->phase != 'M') {
        st_moment start;
        st_moment end;
        move(c, event, draft, &start, &end);
        int64_t duration_ns = end.to_ns - start.to_ns;
        bool was_task = event != ST_TRACE_NONE && st_trace_is_gpu(&c->trace->events[event]);
        if (was_task && duration_ns == 0 && draft->duration_ns > 0)
            return ST_OK; /* a kernel that is not launched any more */
        if (start.to_ns + c->offset_ns != start.from_ns)
            add_time(patches, &count, draft->marked[ST_MARKED_START], start.to_ns + c->offset_ns);
        if (draft->has_duration && duration_ns != draft->duration_ns && draft->duration_ns >= 0)
            add_time(patches, &count, draft->marked[ST_MARKED_DURATION], duration_ns);
    }
    if (c->merged) {
        /* "rank 3 0": the process of a rank, in a file of several. */
        static const st_marked values[] = {ST_MARKED_PROCESS, ST_MARKED_ID};
        for (size_t i = 0; i < ST_COUNT(values); i++) {
            st_scan_span at = visit->draft->marked[values[i]];
            char text[64];
            if (at.length == 0 || at.length > 24)
                continue;
            const char *value = visit->text + (at.start - visit->start);
            bool quoted = value[0] == '"';
            (void)snprintf(text, sizeof text, "\"rank %zu %.*s\"", c->rank,
                           (int)at.length - (quoted ? 2 : 0), value + quoted);
            add_patch(patches, &count, at, text);
        }
    }
    next_event(c);
    write_patched(c, visit, patches, count);
    return ST_OK;
}

/* ---- the critical path ---- */

static void write_path(copier *c)
{
    const st_trace_times *times = c->asked->after;
    const st_graph *graph = c->asked->graph->graph;
    /* The rank as the graph has it. */
    uint32_t own = UINT32_MAX;
    const st_trace_rank *rank = &c->asked->graph->ranks[c->rank];
    for (size_t i = 0; i < c->trace->event_count; i++)
        if (rank->tasks[i] != ST_TASK_NONE) {
            own = st_graph_task(c->asked->graph->graph, rank->tasks[i]).rank;
            break;
        }
    for (size_t i = 0; i < times->path_count; i++) {
        st_task_view view = st_graph_task(graph, times->path[i].task);
        st_task_time time = times->tasks[times->path[i].task];
        char texts[2][ST_MICROSECONDS_TEXT];
        if (view.rank != own || time.end_ns == time.start_ns)
            continue;
        next_event(c);
        st_buffer_quoted(c->out, "{\"ph\":\"X\",\"cat\":\"critical_path\",\"name\":",
                         view.name[0] != '\0' ? view.name : view.category_name, ",\"pid\":");
        if (c->merged)
            st_buffer_printf(c->out, "\"rank %zu critical path\"", c->rank);
        else
            st_buffer_text(c->out, "\"critical path\"");
        st_buffer_printf(
            c->out, ",\"tid\":\"critical path\",\"ts\":%s,\"dur\":%s,\"args\":{",
            st_microseconds_print(time.start_ns - c->map.shift_ns + c->offset_ns, texts[0]),
            st_microseconds_print(time.end_ns - time.start_ns, texts[1]));
        st_buffer_quoted(c->out, "\"category\":", view.category_name, "}}");
    }
}

/* ---- copies ---- */

/* ---- files ---- */

static st_status copy_rank(copier *c, st_errors *errors)
{
    st_arena *arena = st_xarena();
    st_visitor visitor = {c, copy_event};
    st_trace_options options = {.partial = c->asked->partial, .visitor = &visitor};
    st_trace *again = NULL;
    st_errors *ignored = st_xmemory(st_errors_create()); /* warnings that the first reading gave */
    c->trace = c->asked->set->ranks[c->rank];
    c->seen = st_xcalloc(c->trace->event_count + 1, sizeof *c->seen);
    st_status status = ST_OK;
    if (status == ST_OK && c->asked->graph != NULL)
        st_export_map_make(c->asked, c->rank, arena, &c->map);
    status = st_trace_read(c->trace->file, &options, &again, ignored);
    if (status != ST_OK)
        status = st_fail(errors, status, (st_place){.file = c->trace->file},
                         "the file changed while it was read");
    if (status == ST_OK && c->asked->graph != NULL && c->asked->after != NULL) {
        /* Tasks of layers and micro-batches that the recording has not; no call launches them. */
        static const char *const categories[] = {[ST_TRACE_KERNEL] = "kernel",
                                                 [ST_TRACE_MEMCPY] = "gpu_memcpy",
                                                 [ST_TRACE_MEMSET] = "gpu_memset"};
        const st_trace_rank *rank = &c->asked->graph->ranks[c->rank];
        for (size_t i = 0; i < rank->copy_count; i++) {
            const st_trace_event *event = &c->trace->events[rank->copies[i].event];
            const st_trace_track *track = &c->trace->tracks[event->track];
            st_task_time time = c->asked->after->tasks[rank->copies[i].task];
            /* As far from the replay as what it is a copy of. */
            int64_t apart_ns = event->start_ns -
                               c->asked->before->tasks[rank->tasks[rank->copies[i].event]].ready_ns;
            char texts[2][ST_MICROSECONDS_TEXT];
            next_event(c);
            st_buffer_printf(c->out, "{\"ph\":\"X\",\"cat\":\"%s\"", categories[event->kind]);
            st_buffer_quoted(c->out, ",\"name\":", c->trace->names[event->name], "");
            st_buffer_text(c->out, ",\"pid\":");
            if (c->merged)
                st_buffer_printf(c->out, "\"rank %zu %lld\"", c->rank, (long long)track->process);
            else
                st_buffer_printf(c->out, "%lld", (long long)track->process);
            st_buffer_printf(
                c->out, ",\"tid\":%lld,\"ts\":%s,\"dur\":%s,\"args\":{\"stream\":%lld}}",
                (long long)track->number,
                st_microseconds_print(time.ready_ns + apart_ns + c->offset_ns, texts[0]),
                st_microseconds_print(time.end_ns - time.ready_ns, texts[1]),
                (long long)track->number);
        }
        if (c->asked->critical)
            write_path(c);
    }
    st_trace_destroy(again);
    st_errors_destroy(ignored);
    free(c->seen);
    st_arena_destroy(arena);
    return status;
}

st_status st_trace_export_rank(const st_trace_export *asked, size_t rank, st_buffer *buffer,
                               st_errors *errors)
{
    copier c = {.asked = asked, .rank = rank, .out = buffer};
    const st_trace *trace = asked->set->ranks[rank];
    st_status status = ST_OK;
    if (!trace->is_array) {
        st_buffer_text(buffer, "{");
        status = st_visit_members(trace->file, buffer, errors);
        st_buffer_text(buffer, "\"traceEvents\": ");
    }
    st_buffer_text(buffer, "[\n");
    if (status == ST_OK)
        status = copy_rank(&c, errors);
    st_buffer_text(buffer, trace->is_array ? "\n]\n" : "\n]}\n");
    st_xdone(!buffer->failed);
    return status;
}

st_status st_trace_export_all(const st_trace_export *asked, st_buffer *buffer, st_errors *errors)
{
    const st_trace_set *set = asked->set;
    int64_t base_ns = st_trace_base_ns(set->ranks[0]);
    st_status status = ST_OK;
    copier c = {.asked = asked, .merged = true, .out = buffer};
    st_buffer_text(buffer, "{\"" ST_TRACE_PARTS "\": [");
    for (size_t i = 0; i < set->count && status == ST_OK; i++) {
        st_buffer_text(buffer, i > 0 ? ",\n{" : "\n{");
        /* What the file of a rank says besides its events. */
        const st_trace *trace = set->ranks[i];
        st_buffer members = {0};
        status = trace->is_array ? ST_OK : st_visit_members(trace->file, &members, errors);
        if (status == ST_OK && members.length > 2)
            st_buffer_append(buffer, members.data, members.length - 2); /* the last comma */
        st_buffer_free(&members);
        st_buffer_text(buffer, "}");
        base_ns =
            st_trace_base_ns(set->ranks[i]) < base_ns ? st_trace_base_ns(set->ranks[i]) : base_ns;
    }
    st_buffer_text(buffer, "\n],\n\"traceEvents\": [\n");
    for (size_t i = 0; i < set->count && status == ST_OK; i++) {
        c.rank = i;
        c.offset_ns = st_trace_base_ns(set->ranks[i]) - base_ns;
        if (asked->graph != NULL)
            c.offset_ns += asked->graph->ranks[i].clock_ns;
        c.offset_ns -= c.offset_ns % 1000; /* whole microseconds stay so */
        status = copy_rank(&c, errors);
    }
    st_buffer_text(buffer, "\n]}\n");
    st_xdone(!buffer->failed);
    return status;
}
