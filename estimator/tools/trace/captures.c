/* SPDX-License-Identifier: Apache-2.0 */
/* See captures.h. */
#include "trace/captures.h"

#include "base/index.h"
#include "base/lists.h"
#include "base/memory.h"
#include "trace/link.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TRIES = 64 }; /* places at which a graph's kernels are looked for */

typedef struct launched {
    uint32_t call;
    uint32_t event;
} launched;

ST_COMPARE(compare_launched, launched, ST_RISING(call) ST_RISING(event));

/* The kernels of one launch of a graph, in their order. */
typedef struct graph_kernels {
    const launched *items;
    size_t count;
} graph_kernels;

/* Graphs that were looked for: those of one hash have the same kernels. */
typedef struct known_graph {
    uint64_t hash;
    const uint32_t *calls; /* as many as kernels; NULL: nowhere */
} known_graph;

typedef struct finder {
    const st_trace *trace;
    const st_sweep *frames;
    uint32_t *captured; /* calls of launches during captures */
    size_t captured_count;
    size_t *captures; /* the first of each, and the end */
    size_t capture_count;
    uint32_t *plain; /* calls of kernels launched one by one, in this order */
    uint32_t *plain_events;
    size_t plain_count;
    st_lists by_name; /* of these */
    known_graph *known;
    size_t known_count;
    st_index index;
    st_arena *arena;
} finder;

static const char *call_name(const st_trace *trace, uint32_t call)
{
    return trace->names[trace->events[call].name];
}

static bool is_graph_launch(const st_trace *trace, uint32_t call)
{
    return strstr(call_name(trace, call), "GraphLaunch") != NULL;
}

static const st_trace_frame *frame_of(const finder *f, uint32_t call)
{
    const st_trace_event *event = &f->trace->events[call];
    uint32_t frame = st_sweep_at(f->frames, event->track, event->start_ns);
    return frame != ST_TRACE_NONE ? &f->trace->frames[frame] : NULL;
}

static bool same_operators(const finder *f, const uint32_t *a, const uint32_t *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const st_trace_frame *first = frame_of(f, a[i]);
        const st_trace_frame *second = frame_of(f, b[i]);
        if ((first == NULL) != (second == NULL) ||
            (first != NULL && (first->name != second->name || first->shapes != second->shapes ||
                               first->types != second->types)))
            return false;
    }
    return true;
}

/* ---- captures ---- */

static void find_captures(finder *f, const uint32_t *call_of)
{
    const st_trace *trace = f->trace;
    size_t open = 0;
    bool *runs = st_xcalloc(trace->event_count + 1, sizeof *runs);
    for (size_t i = 0; i < trace->event_count; i++)
        if (call_of[i] != ST_TRACE_NONE)
            runs[call_of[i]] = true;
    for (uint32_t i = 0; i < trace->event_count; i++) {
        if (trace->events[i].kind != ST_TRACE_CALL)
            continue;
        const char *name = call_name(trace, i);
        if (strstr(name, "StreamBeginCapture") != NULL && open++ == 0)
            ST_XAPPEND(f->arena, f->captures, f->capture_count, f->captured_count);
        open -= open > 0 && strstr(name, "StreamEndCapture") != NULL;
        if (open > 0 && !runs[i] && strstr(name, "Launch") != NULL &&
            strstr(name, "HostFunc") == NULL && strstr(name, "GraphLaunch") == NULL)
            ST_XAPPEND(f->arena, f->captured, f->captured_count, i);
    }
    size_t end = f->captured_count;
    size_t count = f->capture_count;
    ST_XAPPEND(f->arena, f->captures, count, end);
    free(runs);
}

static const uint32_t *in_captures(const finder *f, const graph_kernels *graph)
{
    const st_trace_event *events = f->trace->events;
    const uint32_t *found = NULL;
    for (size_t i = 0; i < graph->count; i++)
        if (events[graph->items[i].event].track != events[graph->items[0].event].track)
            return NULL;
    for (size_t i = 0; i < f->capture_count; i++) {
        const uint32_t *calls = f->captured + f->captures[i];
        if (f->captures[i + 1] - f->captures[i] != graph->count)
            continue;
        if (found != NULL && !same_operators(f, found, calls, graph->count))
            return NULL;
        found = calls;
    }
    return found;
}

/* ---- kernels launched one by one ---- */

static uint32_t name_of_plain(const void *context, uint32_t item)
{
    const finder *f = context;
    return f->trace->events[f->plain_events[item]].name;
}

/* Whether the graph's kernels are those from a place on, by name and about by time. */
static bool is_at(const finder *f, const graph_kernels *graph, size_t place)
{
    const st_trace_event *events = f->trace->events;
    int64_t graph_ns = 0;
    int64_t plain_ns = 0;
    if (place + graph->count > f->plain_count)
        return false;
    for (size_t i = 0; i < graph->count; i++) {
        const st_trace_event *one = &events[graph->items[i].event];
        const st_trace_event *other = &events[f->plain_events[place + i]];
        if (one->name != other->name)
            return false;
        graph_ns = st_add_ns(graph_ns, one->duration_ns);
        plain_ns = st_add_ns(plain_ns, other->duration_ns);
    }
    /* The same kernels of other sizes take other times. */
    return graph_ns / 3 <= plain_ns / 2 && plain_ns / 3 <= graph_ns / 2;
}

static const uint32_t *among_plain(const finder *f, const graph_kernels *graph)
{
    const uint32_t *found = NULL;
    const uint32_t *starts = f->by_name.starts;
    uint32_t rarest = UINT32_MAX;
    size_t offset = 0;
    for (size_t i = 0; i < graph->count; i++) {
        uint32_t name = f->trace->events[graph->items[i].event].name;
        if (starts[name + 1] - starts[name] < rarest) {
            rarest = starts[name + 1] - starts[name];
            offset = i;
        }
    }
    const uint32_t name = f->trace->events[graph->items[offset].event].name;
    for (size_t i = 0; i < rarest && i < MOST_TRIES; i++) {
        size_t place = f->by_name.items[starts[name] + i];
        if (place < offset || !is_at(f, graph, place - offset))
            continue;
        if (found != NULL && !same_operators(f, found, f->plain + place - offset, graph->count))
            return NULL;
        found = f->plain + place - offset;
    }
    return found;
}

/* ---- graphs ---- */

static const uint32_t *calls_of(finder *f, const graph_kernels *graph)
{
    uint64_t hash = st_hash_number(ST_HASH_BEGIN, graph->count);
    uint32_t found = 0;
    for (size_t i = 0; i < graph->count; i++) {
        const st_trace_event *event = &f->trace->events[graph->items[i].event];
        hash = st_hash_number(st_hash_number(hash, event->name), event->track);
    }
    ST_INDEX_FIND(&f->index, hash, found, f->known[found].hash == hash);
    if (found != ST_INDEX_NONE)
        return f->known[found].calls;
    const uint32_t *calls = in_captures(f, graph);
    const known_graph made = {hash, calls != NULL ? calls : among_plain(f, graph)};
    st_xdone(st_index_add(&f->index, f->arena, hash, f->known_count));
    ST_XAPPEND(f->arena, f->known, f->known_count, made);
    return made.calls;
}

void st_captured_calls(const st_trace *trace, const st_sweep *frames, uint32_t *call_of)
{
    finder f = {.trace = trace, .frames = frames, .arena = st_xarena()};
    launched *graphs = NULL;
    launched *plain = NULL;
    size_t count = 0;
    for (uint32_t i = 0; i < trace->event_count; i++) {
        const launched one = {call_of[i], i};
        if (trace->events[i].kind != ST_TRACE_KERNEL || one.call == ST_TRACE_NONE)
            continue;
        if (is_graph_launch(trace, one.call))
            ST_XAPPEND(f.arena, graphs, count, one);
        else
            ST_XAPPEND(f.arena, plain, f.plain_count, one);
    }
    if (count > 0) {
        st_sort(graphs, count, sizeof *graphs, compare_launched);
        st_sort(plain, f.plain_count, sizeof *plain, compare_launched);
        f.plain = st_xalloc(f.arena, f.plain_count + 1, sizeof *f.plain);
        f.plain_events = st_xalloc(f.arena, f.plain_count + 1, sizeof *f.plain_events);
        for (size_t i = 0; i < f.plain_count; i++) {
            f.plain[i] = plain[i].call;
            f.plain_events[i] = plain[i].event;
        }
        st_lists_make(&f.by_name, trace->name_count, f.plain_count, name_of_plain, &f, f.arena);
        find_captures(&f, call_of);
    }
    for (size_t i = 0; i < count;) {
        graph_kernels graph = {graphs + i, 0};
        while (i < count && graphs[i].call == graph.items[0].call) {
            graph.count++;
            i++;
        }
        const uint32_t *calls = calls_of(&f, &graph);
        for (size_t k = 0; k < graph.count; k++)
            call_of[graph.items[k].event] = calls != NULL ? calls[k] : ST_TRACE_NONE;
    }
    st_arena_destroy(f.arena);
}
