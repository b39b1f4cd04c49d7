/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of GPUs over time, by where it was allocated: what was there before the recording,
 * forward, backward, in the optimizer, elsewhere. From the profiler's [memory] events: what is
 * given back counts against what took it, by its address. Categories add up to the whole at any
 * moment.
 */
#ifndef STEPTIME_TRACE_VIEW_MEMORY_H
#define STEPTIME_TRACE_VIEW_MEMORY_H

#include "trace/view.h"

typedef enum st_memory_category {
    ST_MEMORY_BEFORE,
    ST_MEMORY_FORWARD,
    ST_MEMORY_BACKWARD,
    ST_MEMORY_OPTIMIZER,
    ST_MEMORY_OTHER, /* outside of operators; all, where the profiler wrote no addresses */
    ST_MEMORY_CATEGORIES
} st_memory_category;

const char *st_memory_category_name(st_memory_category category);

typedef struct st_memory_sample {
    int64_t at_ns; /* from the begin of the recording's window */
    int64_t bytes[ST_MEMORY_CATEGORIES];
} st_memory_sample;

/* What is there at the peak. */
typedef struct st_memory_block {
    int64_t bytes;
    int64_t at_ns; /* when it was taken */
    st_memory_category category;
    const char *name; /* the operator that took it, or none */
} st_memory_block;

typedef struct st_memory_device {
    const st_trace *trace;
    int64_t device;
    size_t events;
    bool has_addresses;
    bool knows_start; /* what was there before: "Total Allocated" is recorded */
    int64_t start_bytes;
    int64_t peak_bytes;
    int64_t reserved_bytes;   /* at most; -1: not recorded */
    int64_t difference_bytes; /* at most, from the recorded total: events that are missing */
    st_memory_sample peak;
    st_memory_sample *samples; /* by time, at most 500, each the most of its part */
    size_t sample_count;
    st_memory_block *blocks; /* at the peak, the largest first; without those from before */
    size_t block_count;
} st_memory_device;

typedef struct st_memory_view {
    st_memory_device *devices;
    size_t count;
} st_memory_view;

/* Sets that were read with details; refuses those without such events, with what to record. */
st_status st_view_memory(const st_trace_set *set, st_arena *arena, st_memory_view *view,
                         st_errors *errors) ST_NODISCARD;
void st_view_memory_result(const st_memory_view *view, size_t top, st_arena *arena,
                           st_result *result);
void st_view_memory_svg(const st_memory_view *view, st_buffer *svg);

#endif
