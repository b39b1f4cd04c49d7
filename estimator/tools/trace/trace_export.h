/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings written anew with other times: every event of the file, its arguments and all that
 * is around the events stay; times follow the tasks of a graph. A GPU task has its own times.
 * What else is on a thread or stream moves with the tasks around it, so that ranges keep what
 * they hold and arrows lead where they led. Times that do not change are copied as text.
 */
#ifndef STEPTIME_TRACE_TRACE_EXPORT_H
#define STEPTIME_TRACE_TRACE_EXPORT_H

#include "trace/trace.h"

typedef struct st_trace_export {
    const st_trace_set *set;
    const st_trace_graph *graph;  /* NULL: nothing changes, and clocks are taken as they are */
    const st_trace_times *before; /* NULL: nothing changes */
    const st_trace_times *after;
    bool critical; /* with a process more, that shows the critical path of `after` */
    bool partial;  /* the files were read so */
} st_trace_export;

/* Appends the file of one rank (an index). */
st_status st_trace_export_rank(const st_trace_export *asked, size_t rank, st_buffer *buffer,
                               st_errors *errors) ST_NODISCARD;
/*
 * Appends one file of all ranks, which `steptime trace` reads as the ranks that they are: times on
 * one clock, and "rank N" before the names of processes.
 */
st_status st_trace_export_all(const st_trace_export *asked, st_buffer *buffer,
                              st_errors *errors) ST_NODISCARD;

/* Where moments of a thread or a stream move to when its tasks run at other times. */

typedef struct st_moment {
    int64_t from_ns; /* as recorded, of the file's clock */
    int64_t to_ns;
} st_moment;

typedef struct st_time_map {
    st_moment *moments; /* both rising */
    size_t count;
} st_time_map;

typedef struct st_export_map {
    st_time_map *tracks; /* by track of the trace */
    uint32_t main_track; /* whose moments hold where nothing else is known; ST_TRACE_NONE: none */
    st_moment *starts;   /* by event: of GPU tasks */
    st_moment *ends;
    int64_t shift_ns; /* from the file's clock to that of the graph */
} st_export_map;

void st_export_map_make(const st_trace_export *asked, size_t rank, st_arena *arena,
                        st_export_map *map);
/* A moment on a track, or with ST_TRACE_NONE anywhere else. */
int64_t st_export_moment(const st_export_map *map, uint32_t track, int64_t from_ns);

#endif
