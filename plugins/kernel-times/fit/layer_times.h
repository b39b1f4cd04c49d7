/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer times in a trace: what repeats in the work of a rank, distinguished by its kernels. Of a
 * training step the layers forward come first and those backward behind them; recomputation is part
 * of the backward runs.
 */
#ifndef STEPTIME_CALIBRATE_LAYERS_LAYER_TIMES_H
#define STEPTIME_CALIBRATE_LAYERS_LAYER_TIMES_H

#include "trace/trace.h"
#include "kernel-times/fit/samples.h"

typedef enum st_layer_pass { ST_LAYER_FORWARD, ST_LAYER_BACKWARD, ST_LAYER_PASSES } st_layer_pass;

/* Runs of the same layers on one rank, or on all. */
typedef struct st_layer_runs {
    size_t runs;
    double tasks;         /* of a layer; the rest is the mean over ranks, runs and layers */
    double computation_s; /* kernels other than communication, in sum */
    double communication_s;
    double elapsed_s; /* from the first task to the end of the last */
} st_layer_runs;

typedef struct st_trace_layers {
    uint32_t layers;   /* of each run */
    size_t pass_count; /* 1: forward only */
    const char *gpu;   /* of the first rank; NULL: the trace does not say */
    size_t ranks;
    st_layer_runs passes[ST_LAYER_PASSES];
    double optimizer_s; /* of a step; NaN where the trace has no steps or no such kernels */
    size_t steps;
} st_trace_layers;

/*
 * Finds the layers of a set of ranks, `layers` of them in a run, or as many as cover most time
 * where that is 0. Refused: traces in which nothing repeats, and ranks of which one has another
 * number of layers or of passes.
 */
st_status st_trace_layers_find(const st_trace_set *set, uint32_t layers, st_arena *arena,
                               st_trace_layers *result, st_errors *errors) ST_NODISCARD;

/*
 * The times as those of the job's layers: forward, backward (without recomputation, which costs
 * as much as the forward pass), and the optimizer's.
 */
st_status st_trace_layers_take(const st_trace_layers *layers, const st_paths *paths,
                               const char *job, st_arena *arena, st_time_sets *sets,
                               st_errors *errors) ST_NODISCARD;

#endif
