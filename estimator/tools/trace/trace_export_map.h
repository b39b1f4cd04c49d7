/* SPDX-License-Identifier: Apache-2.0 */
/* Where moments of a thread or a stream move to when its tasks run at other times. */
#ifndef STEPTIME_TRACE_TRACE_EXPORT_MAP_H
#define STEPTIME_TRACE_TRACE_EXPORT_MAP_H

#include "trace/trace_export.h"

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
