/* SPDX-License-Identifier: Apache-2.0 */
/* A trace while it is read: what grows, and what finds things again. */
#ifndef STEPTIME_TRACE_STORE_H
#define STEPTIME_TRACE_STORE_H

#include "trace/trace.h"
#include "base/numbered_texts.h"

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

void st_store_create(const char *file, st_store **store);
void st_store_destroy(st_store *store);

/* Functions below report nothing: ST_ERR_MEMORY, or ST_ERR_LIMIT where there is too much. */
st_status st_store_track(st_store *store, const st_trace_track *key, uint32_t *track) ST_NODISCARD;
st_status st_store_event(st_store *store, const st_trace_event *event) ST_NODISCARD;
st_status st_store_collective(st_store *store, const st_trace_collective *collective,
                              uint32_t *detail) ST_NODISCARD;
st_status st_store_wait(st_store *store, const st_trace_wait *wait, uint32_t *detail) ST_NODISCARD;
st_status st_store_frame(st_store *store, const st_trace_frame *frame) ST_NODISCARD;
st_status st_store_allocation(st_store *store, const st_trace_allocation *allocation) ST_NODISCARD;
void st_store_call(st_store *store, uint32_t name, uint8_t *call);
void st_store_class(st_store *store, uint32_t name, uint8_t *class_);

/*
 * What keeps the events of a recording that is not Kineto's: one status, reported, after which
 * nothing is kept; and how many events had times that cannot be, which only a partial reading
 * leaves out.
 */
typedef struct st_keeper {
    const char *file;
    const char *what;  /* "recording": as messages call it */
    const char *wrong; /* "impossible times": of events that are left out */
    st_store *store;
    st_errors *errors;
    bool partial;
    uint64_t left_out;
    st_status status;
} st_keeper;

/* A name's number; nothing, where keeping has failed, as all of these. */
uint32_t st_keep_name(st_keeper *keeper, const char *text, size_t length);
void st_keep_class(st_keeper *keeper, st_trace_event *event);
void st_keep_call(st_keeper *keeper, st_trace_event *event);
uint32_t st_keep_wait(st_keeper *keeper, const st_trace_wait *wait);
st_status st_keep_event(st_keeper *keeper, const st_trace_track *track, st_trace_event *event);
/* What the trace says of all that was kept, and of what was left out. */
void st_keep_end(st_keeper *keeper);

/* Sorts the events. */
void st_store_finish(st_store *store);

#endif
