/* SPDX-License-Identifier: Apache-2.0 */
/* A trace while it is read: what grows, and what finds things again. */
#ifndef STEPTIME_TRACE_STORE_H
#define STEPTIME_TRACE_STORE_H

#include "base/numbered_texts.h"
#include "trace/trace.h"

typedef struct st_store {
    st_trace trace; /* what the reader hands out */
    st_names names;
    uint8_t *calls;   /* by name: st_trace_call + 1, 0: not asked yet */
    uint8_t *classes; /* by name: st_trace_class + 1, 0: not asked yet */
    const st_trace_classes *kernel_classes;
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

/* Of `options`, which may be NULL, only the classes count. */
void st_store_create(const char *file, const st_trace_options *options, st_store **store);
void st_store_destroy(st_store *store);

/* Functions below report nothing: ST_ERR_MEMORY, or ST_ERR_LIMIT where there is too much. */
st_status st_store_track(st_store *store, const st_trace_track *key, uint16_t *track) ST_NODISCARD;

/* What an event keeps of a correlation. */
static inline int64_t st_store_link(int64_t correlation)
{
    return correlation < 0 ? -1 : correlation;
}

st_status st_store_event(st_store *store, const st_trace_event *event) ST_NODISCARD;
/* These two take the event's correlation, and link it to what they keep. */
void st_store_collective(st_store *store, st_trace_collective made, st_trace_event *event);
void st_store_wait(st_store *store, st_trace_wait made, st_trace_event *event);
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
st_status st_keep_event(st_keeper *keeper, const st_trace_track *track, st_trace_event *event);
/* What the trace says of all that was kept, and of what was left out. */
void st_keep_end(st_keeper *keeper);

/* Gives back the events behind the first `count`. */
void st_trace_keep_events(st_trace *trace, size_t count);

/* Sorts the events. */
void st_store_finish(st_store *store);

/*
 * Recordings that are not Kineto's. Each reader fills a store with the same events: GPU tasks on
 * streams, calls on threads that share a correlation with what they launch, records of waiting.
 */

#define ST_FOREIGN_FORMAT                                                                          \
    "%s is not read" ST_EXPECTED                                                                   \
    "JSON, a database of Nsight Systems or rocprofv3, or a profile of XLA" ST_HINT                 \
    "write one with '%s'"

typedef enum st_trace_format {
    ST_FORMAT_KINETO,
    ST_FORMAT_NSYS,  /* a database that 'nsys export --type sqlite' wrote */
    ST_FORMAT_XPLANE /* what JAX's profiler wrote */
} st_trace_format;

/* A part of a file that holds several ranks, each by itself. */
typedef struct st_trace_part {
    const char *path;
    size_t part;
} st_trace_part;

/* How many ranks a file holds: at least 1. */
st_status st_trace_parts(const char *path, size_t *count, st_errors *errors) ST_NODISCARD;

/* Reads one of them, whatever the format. */
st_status st_trace_read_part(const st_trace_part *part, const st_trace_options *options,
                             st_trace **trace, st_errors *errors) ST_NODISCARD;

/* Processes with kernels, and the events of one of them. */
st_status st_nsys_count(const char *path, size_t *count, st_errors *errors) ST_NODISCARD;
st_status st_nsys_read(const st_trace_part *part, bool partial, st_store *store,
                       st_errors *errors) ST_NODISCARD;

/* The same of devices of a profile of XLA; bytes must live until it returns. */
typedef struct st_trace_text {
    const char *bytes;
    size_t length;
} st_trace_text;

st_status st_xplane_count(const char *path, size_t *count, st_errors *errors) ST_NODISCARD;
st_status st_xplane_read(const st_trace_part *part, bool partial, st_store *store,
                         st_errors *errors) ST_NODISCARD;
st_status st_xplane_read_memory(const st_trace_text *text, const st_trace_part *part, bool partial,
                                st_store *store, st_errors *errors) ST_NODISCARD;

/* What rocprofv3 writes behind "rocprofiler-sdk-tool": of the processes that it lists, the one of
 * this number, from 1 on. */
typedef struct st_rocprof_part {
    size_t number;
    bool partial;
} st_rocprof_part;

struct st_scan;
bool st_rocprof_read(struct st_scan *scan, st_rocprof_part part, st_store *store,
                     size_t *processes);

/* What the name of a call says; what that of a kernel says is st_trace_classify. */

#endif
