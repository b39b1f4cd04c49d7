/* SPDX-License-Identifier: Apache-2.0 */
/* What `steptime trace graph`, `replay`, `whatif` and `rank` print. */
#ifndef STEPTIME_TRACE_TRACE_REPLAY_H
#define STEPTIME_TRACE_TRACE_REPLAY_H

#include "trace/reports.h"
#include "trace/trace.h"

/*
 * What a graph of traces makes of extremes: no time on the GPU, none on the host, a class of
 * kernels at a tenth. A graph that lacks a wait for the GPU keeps it as host work, and hardly gets
 * shorter, however well it replays the recording.
 */

typedef struct st_trace_left {
    const char *what;  /* "GPU at zero", "host at zero", "gemm at a tenth" */
    int64_t length_ns; /* of the replay: first event of any rank to the last that is waited for */
    int64_t host_ns;   /* the critical path of it: host work */
    int64_t wait_ns;   /* waits of unknown cause */
    int64_t launch_ns; /* lags of launches */
    int64_t late_ns;   /* what tasks were late for no known reason, and nodes of graphs */
    int64_t gpu_ns;    /* kernels, copies, fills, collectives */
} st_trace_left;

typedef struct st_trace_replayed {
    st_trace_breakdown recorded;
    st_trace_breakdown replayed; /* with the delays that dependencies do not explain */
    st_trace_breakdown alone;    /* by dependencies alone */
    int64_t transfer_ns;         /* of its collectives, from the arrival of the last rank */
    int64_t waiting_ns;          /* in collectives, for other ranks */
    bool waits_known; /* false: of none of them another rank is recorded, and these times are one */
    st_trace_step *steps; /* as recorded */
    int64_t *step_ns;     /* replayed */
    size_t step_count;
    struct st_trace_replayed *devices; /* of one that has several */
    size_t device_count;
    int64_t device; /* its number */
} st_trace_replayed;

typedef struct st_trace_replay_report {
    st_trace_graph *graph;
    st_trace_replayed *ranks;
    int64_t recorded_ns; /* first event of any rank to the last */
    int64_t replayed_ns;
    double most_points; /* the largest difference of a share of a rank's window, in percent of it */
    double most_points_alone;
    st_trace_left *left; /* what extremes leave of it */
    size_t left_count;
    st_trace_tally *path; /* the critical path by category, longest first */
    size_t path_count;
} st_trace_replay_report;

/* Replays a graph twice; what stays in its replay and durations is with all delays. */
st_status st_trace_replay_make(st_trace_graph *graph, st_replay *replay, st_arena *arena,
                               st_trace_replay_report *report, st_errors *errors) ST_NODISCARD;

void st_trace_replay_result(const st_trace_replay_report *report, st_arena *arena,
                            st_result *result);
void st_trace_graph_result(const st_trace_graph *graph, st_arena *arena, st_result *result);

/* Before and after a change. */
void st_trace_whatif_result(const st_trace_graph *graph, const st_trace_outcome *outcome,
                            st_arena *arena, st_result *result);

/* A row of a list: `which`, window_ns to idle_ns, and the same as people read them. */
st_node *st_put_breakdown_row(st_node *list, const char *which, const st_trace_breakdown *time);
#define ST_BREAKDOWN_COLUMNS "which,window_ns,exposed_compute_ns,exposed_comm_ns,overlap_ns,idle_ns"
/* A table of such rows: ".name" of the rank, which, window, and the four shares. */
st_table *st_trace_breakdown_table(st_node *root);
void st_trace_show_breakdowns(st_table *table, const st_node *rows);

/* "+1.23 %" */
const char *st_change_text(int64_t new_ns, int64_t old_ns, char *text, size_t size);

/* What a replay says of a rank: its breakdown, with or without the threads that only watch; its
 * steps. */

void st_replayed_rank(const st_trace_graph *graph, const st_replay *replay, size_t rank,
                      bool all_threads, st_trace_breakdown *time);
/* The same of one of its devices, by number; -1: of all as one. */
void st_replayed_device(const st_trace_graph *graph, const st_replay *replay, size_t rank,
                        int64_t device, bool all_threads, st_trace_breakdown *time);
/* The path to what ends last; threads that only watch go on at their own pace. */
st_status st_replayed_path(const st_trace_graph *graph, const st_replay *replay, st_arena *arena,
                           const st_path_step **steps, size_t *count, st_errors *errors);
/* What a replay that ran says of every task, in `arena`. */
st_status st_replayed_times(const st_trace_graph *graph, const st_replay *replay, st_arena *arena,
                            st_trace_times *times, st_errors *errors) ST_NODISCARD;
/* How long a step lasts on its host, in a replay that ran. */
int64_t st_replayed_step_ns(const st_trace_mark *step, const st_replay *replay);

/* Which class or kernel, which part of the host, how many times as fast, shortens a step most. */

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

/* The recorded breakdown of a device, by number, in the window of the whole trace. */
void st_trace_device_time(const st_trace *trace, int64_t device, const st_trace_summary *whole,
                          st_trace_breakdown *time);

#endif
