/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/trace_export_map.h"

#include "trace/link.h"
#include "trace/xalloc.h"

#include <stdlib.h>

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
        uint32_t call = st_links_find(&links, event->correlation, event->start_ns);
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

static uint32_t track_of(const mapper *m, uint32_t resource)
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
        index[i] = track_of(&m, (uint32_t)i);
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
