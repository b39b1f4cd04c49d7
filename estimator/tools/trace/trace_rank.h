/* SPDX-License-Identifier: Apache-2.0 */
/* Which class or kernel, which part of the host, how many times as fast, shortens a step most. */
#ifndef STEPTIME_TRACE_TRACE_RANK_H
#define STEPTIME_TRACE_TRACE_RANK_H

#include "trace/reports.h"

typedef struct st_trace_gain {
    const char *what;   /* "gemm", a kernel's name, "host", "launch" */
    const char *change; /* as `trace whatif --set` takes it */
    int64_t time_ns;    /* of its tasks over all ranks; of the host 0 */
    int64_t after_ns;
    int64_t saved_ns;
} st_trace_gain;

typedef struct st_trace_ranking {
    double speed;
    int64_t before_ns;
    st_trace_gain *gains; /* most saved first */
    size_t count;
} st_trace_ranking;

/* Classes, the host, launches and the `top` longest kernels; everything is of `arena`. */
st_status st_trace_rank_gains(const st_trace_set *set, double speed, size_t top, st_arena *arena,
                              st_trace_ranking *ranking, st_errors *errors) ST_NODISCARD;
void st_trace_ranking_result(const st_trace_ranking *ranking, st_arena *arena, st_result *result);

#endif
