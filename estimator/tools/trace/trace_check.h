/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a graph of traces makes of extremes: no time on the GPU, none on the host, a class of
 * kernels at a tenth. A graph that lacks a wait for the GPU keeps it as host work, and hardly gets
 * shorter, however well it replays the recording.
 */
#ifndef STEPTIME_TRACE_TRACE_CHECK_H
#define STEPTIME_TRACE_TRACE_CHECK_H

#include "trace/trace.h"

typedef struct st_trace_left {
    const char *what;  /* "GPU at zero", "host at zero", "gemm at a tenth" */
    int64_t length_ns; /* of the replay: first event of any rank to the last that is waited for */
    int64_t host_ns;   /* the critical path of it: host work */
    int64_t wait_ns;   /* waits of unknown cause */
    int64_t launch_ns; /* lags of launches */
    int64_t late_ns;   /* what tasks were late for no known reason, and nodes of graphs */
    int64_t gpu_ns;    /* kernels, copies, fills, collectives */
} st_trace_left;

/* Replays with all delays, several times, and leaves durations as they were. Rows are of `arena`.
 */
st_status st_trace_check_graph(st_trace_graph *graph, st_replay *replay, st_arena *arena,
                               st_trace_left **rows, size_t *count, st_errors *errors) ST_NODISCARD;

#endif
