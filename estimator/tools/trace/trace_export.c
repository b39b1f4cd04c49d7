/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_export.h. A file is read a second time, and its events are copied one by one. */
#include "trace/trace_export.h"

#include "base/number.h"
#include "base/text.h"
#include "trace/link.h"
#include "trace/scan.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

typedef struct mapper {
    const st_trace_export *asked;
    const st_trace_rank *rank;
    const st_trace *trace; /* as recorded */
    st_arena *arena;
    st_export_map *map;
    size_t *counts;      /* by track */
    uint32_t *resources; /* by track: of the graph, or ST_TRACE_NONE */
} mapper;

static st_task_time time_of(const st_trace_times *times, st_task_id task)
{
    return times->tasks[task];
}

/* Threads by the host tasks that end where their calls launch. */
static void find_resources(mapper *m)
{
    const st_graph *graph = m->asked->graph->graph;
    for (size_t t = 0; t < m->trace->track_count; t++)
        m->resources[t] = ST_TRACE_NONE;
    st_links links;
    st_links_make(m->trace, ST_TRACE_CALL, &links);
    for (size_t i = 0; i < m->trace->event_count; i++) {
        const st_trace_event *event = &m->trace->events[i];
        if (m->rank->hosts[i] == ST_TASK_NONE)
            continue;
        uint32_t call = st_links_call(&links, event);
        if (call != ST_TRACE_NONE)
            m->resources[m->trace->events[call].track] =
                st_graph_task(graph, m->rank->hosts[i]).resource;
    }
    st_links_free(&links);
}

ST_COMPARE(compare_moments, st_moment, ST_RISING(from_ns) ST_RISING(to_ns));

static void add_moment(mapper *m, uint32_t track, int64_t from_ns, int64_t to_ns)
{
    st_time_map *own = &m->map->tracks[track];
    own->moments[own->count++] = (st_moment){from_ns, to_ns};
}

static uint32_t track_of_resource(const mapper *m, uint32_t resource)
{
    for (uint32_t t = 0; t < m->trace->track_count; t++)
        if (m->resources[t] == resource)
            return t;
    return ST_TRACE_NONE;
}

static bool is_host(const st_graph *graph, st_task_id task)
{
    return st_graph_task(graph, task).kind == ST_RESOURCE_HOST;
}

static void make_room(mapper *m, const uint32_t *tracks)
{
    const st_graph *graph = m->asked->graph->graph;
    for (size_t i = 0; i < st_graph_task_count(graph); i++) {
        uint32_t track = tracks[st_graph_task(graph, (st_task_id)i).resource];
        if (track != ST_TRACE_NONE && is_host(graph, (st_task_id)i))
            m->counts[track] += 2;
    }
    for (size_t i = 0; i < m->trace->event_count; i++)
        m->counts[m->trace->events[i].track] += st_trace_is_gpu(&m->trace->events[i]) ? 2 : 0;
    for (size_t t = 0; t < m->trace->track_count; t++) {
        m->map->tracks[t].moments = st_xalloc(m->arena, m->counts[t] + 1, sizeof(st_moment));
    }
}

/* GPU tasks keep what they differ from the replay of the recording, and their order on a stream. */
static void map_tasks(mapper *m)
{
    int64_t *reach = st_xmalloc((m->trace->track_count + 1) * sizeof *reach);
    for (size_t t = 0; t < m->trace->track_count; t++)
        reach[t] = INT64_MIN;
    for (size_t i = 0; i < m->trace->event_count; i++) {
        const st_trace_event *event = &m->trace->events[i];
        st_task_id task = m->rank->tasks[i];
        if (task == ST_TASK_NONE)
            continue;
        st_task_time before = time_of(m->asked->before, task);
        st_task_time after = time_of(m->asked->after, task);
        int64_t end_ns = st_trace_end_ns(event);
        st_moment start = {event->start_ns, event->start_ns + after.ready_ns - before.ready_ns};
        st_moment end = {end_ns, end_ns + after.end_ns - before.end_ns};
        bool changes = start.to_ns != start.from_ns || end.to_ns != end.from_ns;
        if (changes && start.to_ns < reach[event->track])
            start.to_ns = reach[event->track];
        if (end.to_ns < start.to_ns)
            end.to_ns = start.to_ns;
        reach[event->track] = end.to_ns;
        m->map->starts[i] = start;
        m->map->ends[i] = end;
        add_moment(m, event->track, start.from_ns, start.to_ns);
        add_moment(m, event->track, end.from_ns, end.to_ns);
    }
    free(reach);
}

static void finish(mapper *m)
{
    m->map->main_track = ST_TRACE_NONE;
    for (uint32_t t = 0; t < m->trace->track_count; t++) {
        st_time_map *own = &m->map->tracks[t];
        st_sort(own->moments, own->count, sizeof *own->moments, compare_moments);
        for (size_t i = 1; i < own->count; i++)
            if (own->moments[i].to_ns < own->moments[i - 1].to_ns)
                own->moments[i].to_ns = own->moments[i - 1].to_ns;
        if (!m->trace->tracks[t].is_stream && own->count > 0 &&
            (m->map->main_track == ST_TRACE_NONE ||
             own->count > m->map->tracks[m->map->main_track].count))
            m->map->main_track = t;
    }
}

void st_export_map_make(const st_trace_export *asked, size_t rank, st_arena *arena,
                        st_export_map *map)
{
    mapper m = {.asked = asked,
                .rank = &asked->graph->ranks[rank],
                .trace = asked->set->ranks[rank],
                .arena = arena,
                .map = map};
    size_t tracks = m.trace->track_count + 1;
    size_t events = m.trace->event_count + 1;
    *map = (st_export_map){.tracks = st_xalloc(arena, tracks, sizeof *map->tracks),
                           .main_track = ST_TRACE_NONE,
                           .starts = st_xalloc(arena, events, sizeof *map->starts),
                           .ends = st_xalloc(arena, events, sizeof *map->ends)};
    /* Where the window of the rank begins, by the clock of the file. */
    int64_t first = INT64_MAX;
    int64_t late_ns = m.rank->gpu_late_ns;
    for (size_t i = 0; i < m.trace->event_count; i++) {
        const st_trace_event *event = &m.trace->events[i];
        int64_t n_start_ns = event->start_ns - (st_trace_is_gpu(event) ? late_ns : 0);
        if ((st_trace_is_gpu(event) || event->kind == ST_TRACE_CALL) && n_start_ns < first)
            first = n_start_ns;
    }
    map->shift_ns = m.rank->start_ns - first;
    if (asked->before == NULL)
        return;
    m.counts = st_xalloc(arena, tracks, sizeof *m.counts);
    m.resources = st_xalloc(arena, tracks, sizeof *m.resources);
    find_resources(&m);
    /* By resource of the graph: the track, so that tasks find theirs at once. */
    size_t count = st_graph_resource_count(m.asked->graph->graph);
    uint32_t *index = st_xmalloc((count + 1) * sizeof *index);
    for (size_t i = 0; i < count; i++)
        index[i] = track_of_resource(&m, (uint32_t)i);
    make_room(&m, index);
    const st_graph *graph = m.asked->graph->graph;
    for (size_t i = 0; i < st_graph_task_count(graph); i++) {
        st_task_id task = (st_task_id)i;
        uint32_t track = index[st_graph_task(graph, task).resource];
        if (track == ST_TRACE_NONE || !is_host(graph, task))
            continue;
        st_task_time before = time_of(m.asked->before, task);
        st_task_time after = time_of(m.asked->after, task);
        if (before.start_ns < 0) /* a copy, which the recording has not */
            continue;
        add_moment(&m, track, before.start_ns - m.map->shift_ns, after.start_ns - m.map->shift_ns);
        add_moment(&m, track, before.end_ns - m.map->shift_ns, after.end_ns - m.map->shift_ns);
    }
    map_tasks(&m);
    finish(&m);
    free(index);
}

int64_t st_export_moment(const st_export_map *map, uint32_t track, int64_t from_ns)
{
    if (track == ST_TRACE_NONE || map->tracks[track].count == 0)
        track = map->main_track;
    if (track == ST_TRACE_NONE)
        return from_ns;
    const st_time_map *own = &map->tracks[track];
    size_t low = 0;
    ST_BISECT(low, own->count, own->moments[middle].from_ns <= from_ns);
    const st_moment *next = &own->moments[low < own->count ? low : own->count - 1];
    const st_moment *last = low > 0 ? next - (low < own->count) : next;
    if (last == next)
        return from_ns + last->to_ns - last->from_ns;
    double share = (double)(from_ns - last->from_ns) / (double)(next->from_ns - last->from_ns);
    int64_t moves_ns = last->to_ns - last->from_ns;
    int64_t more_ns = (next->to_ns - next->from_ns) - moves_ns;
    return from_ns + moves_ns + (int64_t)(share * (double)more_ns);
}

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

/* "rank 3 0": the process of a rank, in a file of several. */
static void add_rank(const copier *c, const st_visit *visit, patch *patches, size_t *count)
{
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
        add_patch(patches, count, at, text);
    }
}

static st_status copy_event(void *context, const st_visit *visit)
{
    copier *c = context;
    const st_draft *draft = visit->draft;
    const bool begins = draft->phase == 'B' || draft->phase == 'b';
    if (visit->kind != ST_TRACE_KINDS && (draft->phase == 'E' || draft->phase == 'e'))
        return ST_OK; /* its begin was written as all of it */
    uint32_t event = visit->kind != ST_TRACE_KINDS ? event_of(c, draft->start_ns) : ST_TRACE_NONE;
    st_draft complete = *draft;
    patch patches[ST_MARKED];
    size_t count = 0;
    if (begins && visit->kind != ST_TRACE_KINDS) {
        if (event == ST_TRACE_NONE || c->trace->events[event].start_ns != draft->start_ns)
            return ST_OK; /* it has no end and was left out */
        complete.has_duration = true;
        complete.duration_ns = c->trace->events[event].duration_ns;
        draft = &complete;
    }
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
        if (draft == &complete) {
            char text[ST_MICROSECONDS_TEXT];
            char phase[ST_MICROSECONDS_TEXT + 32];
            (void)snprintf(phase, sizeof phase, "\"X\",\"dur\":%s", time_text(duration_ns, text));
            add_patch(patches, &count, draft->marked[ST_MARKED_PHASE], phase);
        } else if (draft->has_duration && duration_ns != draft->duration_ns &&
                   draft->duration_ns >= 0)
            add_time(patches, &count, draft->marked[ST_MARKED_DURATION], duration_ns);
    }
    if (c->merged)
        add_rank(c, visit, patches, &count);
    next_event(c);
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)(patches[i].at.start - visit->start);
        st_buffer_append(c->out, visit->text + done, at - done);
        st_buffer_text(c->out, patches[i].text);
        done = at + patches[i].at.length;
    }
    st_buffer_append(c->out, visit->text + done, visit->length - done);
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
    if (c->asked->graph != NULL)
        st_export_map_make(c->asked, c->rank, arena, &c->map);
    st_status status = st_trace_read(c->trace->file, &options, &again, ignored);
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
