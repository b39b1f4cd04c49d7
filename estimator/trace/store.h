/* SPDX-License-Identifier: Apache-2.0 */
/* A trace while it is read: what grows, and what finds things again. */
#ifndef STEPTIME_TRACE_STORE_H
#define STEPTIME_TRACE_STORE_H

#include "trace/trace.h"
#include "trace/strings.h"

typedef struct st_store {
    st_trace trace; /* what the reader hands out */
    st_names names;
    uint8_t *calls;   /* by name: st_trace_call + 1, 0: not asked yet */
    uint8_t *classes; /* by name: st_trace_class + 1, 0: not asked yet */
    size_t call_capacity;
    size_t class_capacity;
    size_t event_capacity;
    size_t track_capacity;
    size_t collective_capacity;
    size_t wait_capacity;
    size_t frame_capacity;
    size_t allocation_capacity;
    st_index track_index;
    uint32_t last_track;
    size_t stream_count;
    char *file;
} st_store;

st_status st_store_create(const char *file, st_store **store) ST_NODISCARD;
void st_store_destroy(st_store *store);

/* Functions below report nothing: ST_ERR_MEMORY, or ST_ERR_LIMIT where there is too much. */
st_status st_store_track(st_store *store, const st_trace_track *key, uint32_t *track) ST_NODISCARD;
st_status st_store_event(st_store *store, const st_trace_event *event) ST_NODISCARD;
st_status st_store_collective(st_store *store, const st_trace_collective *collective,
                              uint32_t *detail) ST_NODISCARD;
st_status st_store_wait(st_store *store, const st_trace_wait *wait, uint32_t *detail) ST_NODISCARD;
st_status st_store_frame(st_store *store, const st_trace_frame *frame) ST_NODISCARD;
st_status st_store_allocation(st_store *store, const st_trace_allocation *allocation) ST_NODISCARD;
st_status st_store_call(st_store *store, uint32_t name, uint8_t *call) ST_NODISCARD;
st_status st_store_class(st_store *store, uint32_t name, uint8_t *class_) ST_NODISCARD;

/* Sorts the events. */
st_status st_store_finish(st_store *store) ST_NODISCARD;

#endif
