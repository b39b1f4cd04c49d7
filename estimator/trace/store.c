/* SPDX-License-Identifier: Apache-2.0 */
/* See store.h. */
#include "trace/store.h"

#include "trace/classify.h"
#include "trace/event_order.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ITEMS = 256, FIRST_TRACK_SLOTS = 256 };

st_status st_store_create(const char *file, st_store **store)
{
    st_store *made = calloc(1, sizeof *made);
    if (made == NULL)
        return ST_ERR_MEMORY;
    st_status status = st_names_init(&made->names);
    size_t length = strlen(file) + 1;
    made->file = malloc(length);
    made->track_slots = calloc(FIRST_TRACK_SLOTS, sizeof *made->track_slots);
    made->track_slot_count = FIRST_TRACK_SLOTS;
    if (status != ST_OK || made->file == NULL || made->track_slots == NULL) {
        st_store_destroy(made);
        return ST_ERR_MEMORY;
    }
    memcpy(made->file, file, length);
    made->trace = (st_trace){.file = made->file,
                             .base_ns = -1,
                             .rank = -1,
                             .world_size = -1,
                             .gpu = ST_TRACE_NONE,
                             .unit = ST_TRACE_NONE,
                             .sm_count = -1,
                             .owner = made};
    *store = made;
    return ST_OK;
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
    free(store->track_slots);
    free(store->file);
    free(store);
}

/* Room for one more item. */
static st_status reserve(void **items, size_t size, size_t count, size_t *capacity)
{
    if (count < *capacity)
        return ST_OK;
    size_t wanted = *capacity > 0 ? 2 * *capacity : FIRST_ITEMS;
    void *grown = realloc(*items, wanted * size);
    if (grown == NULL)
        return ST_ERR_MEMORY;
    *items = grown;
    *capacity = wanted;
    return ST_OK;
}

static size_t track_hash(const st_trace_track *key)
{
    uint64_t hash = (uint64_t)key->process * UINT64_C(0x9E3779B97F4A7C15);
    hash = (hash ^ hash >> 31 ^ (uint64_t)key->number) * UINT64_C(0xBF58476D1CE4E5B9);
    hash ^= (uint64_t)key->is_stream << 7 ^ (uint64_t)key->is_text << 9;
    return (size_t)(hash ^ hash >> 29);
}

static bool same_track(const st_trace_track *a, const st_trace_track *b)
{
    return a->number == b->number && a->process == b->process && a->is_stream == b->is_stream &&
           a->is_text == b->is_text;
}

static size_t find_track(const st_store *store, const st_trace_track *key)
{
    size_t mask = store->track_slot_count - 1;
    size_t slot = track_hash(key) & mask;
    while (store->track_slots[slot] != 0 &&
           !same_track(key, &store->trace.tracks[store->track_slots[slot] - 1]))
        slot = (slot + 1) & mask;
    return slot;
}

static st_status grow_track_slots(st_store *store)
{
    size_t count = 2 * store->track_slot_count;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL)
        return ST_ERR_MEMORY;
    free(store->track_slots);
    store->track_slots = slots;
    store->track_slot_count = count;
    for (uint32_t i = 0; i < store->trace.track_count; i++)
        slots[find_track(store, &store->trace.tracks[i])] = i + 1;
    return ST_OK;
}

static st_status add_track(st_store *store, const st_trace_track *key, size_t slot)
{
    st_trace *trace = &store->trace;
    size_t threads = trace->track_count - store->stream_count;
    if (key->is_stream ? store->stream_count >= ST_TRACE_MAX_STREAMS
                       : threads >= ST_TRACE_MAX_THREADS)
        return ST_ERR_LIMIT;
    st_status status = reserve((void **)&trace->tracks, sizeof *trace->tracks, trace->track_count,
                               &store->track_capacity);
    if (status != ST_OK)
        return status;
    trace->tracks[trace->track_count++] = *key;
    store->stream_count += key->is_stream;
    store->track_slots[slot] = (uint32_t)trace->track_count;
    return trace->track_count * 2 > store->track_slot_count ? grow_track_slots(store) : ST_OK;
}

st_status st_store_track(st_store *store, const st_trace_track *key, uint32_t *track)
{
    st_trace *trace = &store->trace;
    *track = store->last_track;
    if (*track < trace->track_count && same_track(key, &trace->tracks[*track]))
        return ST_OK;
    size_t slot = find_track(store, key);
    if (store->track_slots[slot] == 0) {
        st_status status = add_track(store, key, slot);
        if (status != ST_OK)
            return status;
        *track = (uint32_t)trace->track_count - 1;
    } else {
        *track = store->track_slots[slot] - 1;
    }
    store->last_track = *track;
    return ST_OK;
}

st_status st_store_event(st_store *store, const st_trace_event *event)
{
    st_trace *trace = &store->trace;
    if (trace->event_count >= ST_TRACE_MAX_EVENTS)
        return ST_ERR_LIMIT;
    st_status status = reserve((void **)&trace->events, sizeof *trace->events, trace->event_count,
                               &store->event_capacity);
    if (status != ST_OK)
        return status;
    trace->events[trace->event_count++] = *event;
    trace->kind_counts[event->kind]++;
    return ST_OK;
}

st_status st_store_collective(st_store *store, const st_trace_collective *collective,
                              uint32_t *detail)
{
    st_trace *trace = &store->trace;
    st_status status = reserve((void **)&trace->collectives, sizeof *trace->collectives,
                               trace->collective_count, &store->collective_capacity);
    if (status != ST_OK)
        return status;
    *detail = (uint32_t)trace->collective_count;
    trace->collectives[trace->collective_count++] = *collective;
    return ST_OK;
}

st_status st_store_wait(st_store *store, const st_trace_wait *wait, uint32_t *detail)
{
    st_trace *trace = &store->trace;
    st_status status = reserve((void **)&trace->waits, sizeof *trace->waits, trace->wait_count,
                               &store->wait_capacity);
    if (status != ST_OK)
        return status;
    *detail = (uint32_t)trace->wait_count;
    trace->waits[trace->wait_count++] = *wait;
    return ST_OK;
}

st_status st_store_frame(st_store *store, const st_trace_frame *frame)
{
    st_trace *trace = &store->trace;
    st_status status = reserve((void **)&trace->frames, sizeof *trace->frames, trace->frame_count,
                               &store->frame_capacity);
    if (status == ST_OK)
        trace->frames[trace->frame_count++] = *frame;
    return status;
}

st_status st_store_allocation(st_store *store, const st_trace_allocation *allocation)
{
    st_trace *trace = &store->trace;
    st_status status = reserve((void **)&trace->allocations, sizeof *trace->allocations,
                               trace->allocation_count, &store->allocation_capacity);
    if (status == ST_OK)
        trace->allocations[trace->allocation_count++] = *allocation;
    return status;
}

/* A byte per name, zero at first. */
static st_status reserve_bytes(uint8_t **bytes, uint32_t name, size_t *capacity)
{
    if (name < *capacity)
        return ST_OK;
    size_t wanted = 2 * (size_t)name + FIRST_ITEMS;
    uint8_t *grown = realloc(*bytes, wanted);
    if (grown == NULL)
        return ST_ERR_MEMORY;
    memset(grown + *capacity, 0, wanted - *capacity);
    *bytes = grown;
    *capacity = wanted;
    return ST_OK;
}

st_status st_store_call(st_store *store, uint32_t name, uint8_t *call)
{
    st_status status = reserve_bytes(&store->calls, name, &store->call_capacity);
    if (status != ST_OK)
        return status;
    if (store->calls[name] == 0)
        store->calls[name] = (uint8_t)(1 + st_trace_call_of(store->names.texts[name]));
    *call = (uint8_t)(store->calls[name] - 1);
    return ST_OK;
}

st_status st_store_class(st_store *store, uint32_t name, uint8_t *class_)
{
    st_status status = reserve_bytes(&store->classes, name, &store->class_capacity);
    if (status != ST_OK)
        return status;
    if (store->classes[name] == 0)
        store->classes[name] = (uint8_t)(1 + st_trace_classify(store->names.texts[name]));
    *class_ = (uint8_t)(store->classes[name] - 1);
    return ST_OK;
}

static bool in_order(const st_trace *trace)
{
    for (size_t i = 1; i < trace->event_count; i++)
        if (trace->events[i].start_ns < trace->events[i - 1].start_ns)
            return false;
    return true;
}

/* Puts each event where `order` has it; an event is moved once, no second list is needed. */
static void rearrange(st_trace_event *events, uint32_t *order, size_t count)
{
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
}

static st_status sort_events(st_trace *trace)
{
    size_t count = trace->event_count;
    uint32_t *order = malloc(count * sizeof *order);
    if (order == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    st_status status =
        st_event_order(trace->events, offsetof(st_trace_event, start_ns), order, count);
    if (status == ST_OK)
        rearrange(trace->events, order, count);
    free(order);
    return status;
}

st_status st_store_finish(st_store *store)
{
    store->trace.names = store->names.texts;
    store->trace.name_count = store->names.count;
    return in_order(&store->trace) ? ST_OK : sort_events(&store->trace);
}
