/* SPDX-License-Identifier: Apache-2.0 */
/* See store.h. */
#include "trace/store.h"

#include "base/memory.h"
#include "trace/classes.h"
#include "trace/link.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

typedef struct call_pattern {
    const char *text;
    st_trace_call call;
} call_pattern;

static st_trace_call trace_call_of(const char *name)
{
    static const call_pattern calls[] = {
        {"Query", ST_CALL_QUERY},
        {"EventRecord", ST_CALL_RECORD},
        {"StreamWaitEvent", ST_CALL_WAIT},
        {"StreamSynchronize", ST_CALL_SYNC_STREAM},
        {"EventSynchronize", ST_CALL_SYNC_EVENT},
        {"DeviceSynchronize", ST_CALL_SYNC_DEVICE},
        {"CtxSynchronize", ST_CALL_SYNC_DEVICE},
        {"FreeAsync", ST_CALL_OTHER},
        {"FreeHost", ST_CALL_OTHER},
        {"FreeArray", ST_CALL_OTHER},
        {"MemFree", ST_CALL_FREE},
        {"cudaFree", ST_CALL_FREE},
        {"hipFree", ST_CALL_FREE},
        {"GraphLaunch", ST_CALL_LAUNCH},
        {"Launch", ST_CALL_LAUNCH},
        {"Memcpy", ST_CALL_LAUNCH},
        {"Memset", ST_CALL_LAUNCH},
    };
    for (size_t i = 0; i < ST_COUNT(calls); i++)
        if (strstr(name, calls[i].text) != NULL)
            return calls[i].call;
    return ST_CALL_OTHER;
}

enum { FIRST_ITEMS = 256 };

/* Puts an item behind those of a list of the trace. */
#define ADD(list, count, capacity, item)                                                           \
    (st_xdone(ST_ROOM(list, count, capacity)), list[count++] = (item), ST_OK)

void st_store_create(const char *file, const st_trace_options *options, st_store **store)
{
    st_store *made = st_xcalloc(1, sizeof *made);
    st_xdone(st_names_init(&made->names) == ST_OK);
    size_t length = strlen(file) + 1;
    made->file = st_xmalloc(length);
    memcpy(made->file, file, length);
    made->kernel_classes = options != NULL ? options->classes : NULL;
    made->trace = (st_trace){.file = made->file,
                             .base_ns = -1,
                             .rank = -1,
                             .world_size = -1,
                             .gpu = ST_TRACE_NONE,
                             .unit = ST_TRACE_NONE,
                             .sm_count = -1,
                             .owner = made};
    *store = made;
}

void st_store_destroy(st_store *store)
{
    if (store == NULL)
        return;
    st_names_free(&store->names);
    free(store->trace.events);
    free(store->trace.tracks);
    free(store->trace.collectives);
    free(store->trace.waits);
    free(store->trace.frames);
    free(store->trace.allocations);
    free(store->calls);
    free(store->classes);
    st_index_free(&store->track_index);
    free(store->file);
    free(store);
}

static uint64_t track_hash(const st_trace_track *key)
{
    uint64_t hash = (uint64_t)key->process * UINT64_C(0x9E3779B97F4A7C15);
    hash = (hash ^ hash >> 31 ^ (uint64_t)key->number) * UINT64_C(0xBF58476D1CE4E5B9);
    hash ^= (uint64_t)key->is_stream << 7 ^ (uint64_t)key->is_text << 9;
    return hash ^ hash >> 29;
}

static bool same_track(const st_trace_track *a, const st_trace_track *b)
{
    return a->number == b->number && a->process == b->process && a->is_stream == b->is_stream &&
           a->is_text == b->is_text;
}

st_status st_store_track(st_store *store, const st_trace_track *key, uint16_t *track)
{
    st_trace *trace = &store->trace;
    uint32_t found = store->last_track;
    _Static_assert(ST_TRACE_MAX_STREAMS + ST_TRACE_MAX_THREADS <= UINT16_MAX + 1, "");
    *track = (uint16_t)found;
    if (found < trace->track_count && same_track(key, &trace->tracks[found]))
        return ST_OK;
    const uint64_t hash = track_hash(key);
    ST_INDEX_FIND(&store->track_index, hash, found, same_track(key, &trace->tracks[found]));
    if (found == ST_INDEX_NONE) {
        size_t threads = trace->track_count - store->stream_count;
        if (key->is_stream ? store->stream_count >= ST_TRACE_MAX_STREAMS
                           : threads >= ST_TRACE_MAX_THREADS)
            return ST_ERR_LIMIT;
        st_xdone(ST_ROOM(trace->tracks, trace->track_count, store->track_capacity) &&
                 st_index_add(&store->track_index, NULL, hash, trace->track_count));
        found = (uint32_t)trace->track_count;
        trace->tracks[trace->track_count++] = *key;
        store->stream_count += key->is_stream;
    }
    store->last_track = found;
    *track = (uint16_t)found;
    return ST_OK;
}

st_status st_store_event(st_store *store, const st_trace_event *event)
{
    st_trace *trace = &store->trace;
    if (trace->event_count >= ST_TRACE_MAX_EVENTS)
        return ST_ERR_LIMIT;
    trace->kind_counts[event->kind]++;
    return ADD(trace->events, trace->event_count, store->event_capacity, *event);
}

void st_store_collective(st_store *store, st_trace_collective made, st_trace_event *event)
{
    st_trace *trace = &store->trace;
    made.correlation = event->link;
    st_trace_set_detail(event, (uint32_t)trace->collective_count);
    (void)ADD(trace->collectives, trace->collective_count, store->collective_capacity, made);
}

void st_store_wait(st_store *store, st_trace_wait made, st_trace_event *event)
{
    st_trace *trace = &store->trace;
    made.correlation = event->link;
    st_trace_set_detail(event, (uint32_t)trace->wait_count);
    (void)ADD(trace->waits, trace->wait_count, store->wait_capacity, made);
}

st_status st_store_frame(st_store *store, const st_trace_frame *frame)
{
    st_trace *trace = &store->trace;
    return ADD(trace->frames, trace->frame_count, store->frame_capacity, *frame);
}

st_status st_store_allocation(st_store *store, const st_trace_allocation *allocation)
{
    st_trace *trace = &store->trace;
    return ADD(trace->allocations, trace->allocation_count, store->allocation_capacity,
               *allocation);
}

/* A byte per name, zero at first. */
static void reserve_bytes(uint8_t **bytes, uint32_t name, size_t *capacity)
{
    if (name < *capacity)
        return;
    size_t wanted = 2 * (size_t)name + FIRST_ITEMS;
    uint8_t *grown = st_xmemory(realloc(*bytes, wanted));
    memset(grown + *capacity, 0, wanted - *capacity);
    *bytes = grown;
    *capacity = wanted;
}

void st_store_call(st_store *store, uint32_t name, uint8_t *call)
{
    reserve_bytes(&store->calls, name, &store->call_capacity);
    if (store->calls[name] == 0)
        store->calls[name] = (uint8_t)(1 + trace_call_of(store->names.texts[name]));
    *call = (uint8_t)(store->calls[name] - 1);
}

void st_store_class(st_store *store, uint32_t name, uint8_t *class_)
{
    reserve_bytes(&store->classes, name, &store->class_capacity);
    if (store->classes[name] == 0)
        store->classes[name] =
            (uint8_t)(1 + st_trace_class_of(store->kernel_classes, store->names.texts[name]));
    *class_ = (uint8_t)(store->classes[name] - 1);
}

/* ---- keeping ---- */

static void kept(st_keeper *keeper, st_status status)
{
    if (status == ST_ERR_LIMIT)
        status = st_fail(keeper->errors, status, (st_place){.file = keeper->file},
                         "the %s has too many tasks, names, streams or threads", keeper->what);
    keeper->status = st_xstatus(status);
}

uint32_t st_keep_name(st_keeper *keeper, const char *text, size_t length)
{
    uint32_t name = 0;
    if (keeper->status == ST_OK)
        kept(keeper, st_names_add(&keeper->store->names, text, length, false, &name));
    return name;
}

void st_keep_class(st_keeper *keeper, st_trace_event *event)
{
    if (keeper->status == ST_OK)
        st_store_class(keeper->store, event->name, &event->class_);
}

void st_keep_call(st_keeper *keeper, st_trace_event *event)
{
    if (keeper->status == ST_OK)
        st_store_call(keeper->store, event->name, &event->class_);
}

st_status st_keep_event(st_keeper *keeper, const st_trace_track *track, st_trace_event *event)
{
    if (keeper->status == ST_OK)
        kept(keeper, st_store_track(keeper->store, track, &event->track));
    if (keeper->status == ST_OK)
        kept(keeper, st_store_event(keeper->store, event));
    return keeper->status;
}

void st_keep_end(st_keeper *keeper)
{
    st_trace *trace = &keeper->store->trace;
    trace->file_events = trace->event_count + keeper->left_out;
    trace->complete_events = trace->file_events;
    trace->left_out = keeper->left_out;
    trace->partial = keeper->left_out > 0;
    if (trace->partial)
        st_report(keeper->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE,
                  (st_place){.file = keeper->file}, "%llu events of %s are left out",
                  (unsigned long long)keeper->left_out, keeper->wrong);
}

void st_trace_keep_events(st_trace *trace, size_t count)
{
    st_store *store = trace->owner;
    trace->events = st_xmemory(realloc(trace->events, (count + 1) * sizeof *trace->events));
    trace->event_count = count;
    store->event_capacity = count + 1;
}

void st_store_finish(st_store *store)
{
    store->trace.names = store->names.texts;
    store->trace.name_count = store->names.count;
    size_t count = store->trace.event_count;
    uint32_t *order = st_xmalloc((count + 1) * sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    st_event_order(&store->trace, false, order, count);
    /* Puts each event where `order` has it; an event is moved once, no second list is needed.
     */
    st_trace_event *events = store->trace.events;
    for (size_t i = 0; i < count; i++) {
        st_trace_event first = events[i];
        size_t at = i;
        while (order[at] != i) {
            size_t from = order[at];
            events[at] = events[from];
            order[at] = (uint32_t)at;
            at = from;
        }
        events[at] = first;
        order[at] = (uint32_t)at;
    }
    free(order);
}
