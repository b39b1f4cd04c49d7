/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings that are not Kineto's. Each reader fills a store with the same events: GPU tasks on
 * streams, calls on threads that share a correlation with what they launch, records of waiting.
 */
#ifndef STEPTIME_TRACE_FORMATS_H
#define STEPTIME_TRACE_FORMATS_H

#include "trace/store.h"

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

#endif
