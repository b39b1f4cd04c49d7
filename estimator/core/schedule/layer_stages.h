/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer list cut into the stages of a pipeline, run by a schedule, and its weights gathered and
 * its gradients scattered in units concurrently with the passes, as in fully sharded data
 * parallelism.
 */
#ifndef STEPTIME_SCHEDULE_LAYER_STAGES_H
#define STEPTIME_SCHEDULE_LAYER_STAGES_H

#include "schedule/buckets.h"
#include "schedule/schedule.h"

enum { ST_LAYER_STAGES = 1024 };

/* How a list is cut, and what a micro-batch takes on all stages together, in seconds. */
typedef struct st_layer_pipeline {
    const st_layers *layers;
    bool by_parameters; /* stages of equal parameters, else of equal time */
    bool compiled;
    double moved_share; /* of the time of a pass that goes with values moved, the rest with FLOP */
    double stages;
    double micros;
    double gpipe; /* all forward passes before the backward passes; 0: 1F1B */
    double forward;
    double backward;
    double value_time; /* a value's time on its way to the next stage */
    double start;      /* of a transfer */
} st_layer_pipeline;

typedef struct st_layer_stage {
    double share; /* of the passes' time */
    double parameters;
    double kept;      /* values of a micro-batch */
    double output;    /* values that go on to the next stage */
    double in_flight; /* micro-batches whose values are kept at a time */
} st_layer_stage;

/*
 * The stages, contiguous whole layers, with the largest as small as possible;
 * false where there are fewer layers than stages, or more than ST_LAYER_STAGES stages.
 */
bool st_layer_stages_cut(const st_layer_pipeline *pipeline, st_layer_stage *stages);

/* From the first pass to the last, with or without transfers; NaN where it cannot be cut or has
 * more than 2^22 passes. */
double st_layer_stages_run(const st_layer_pipeline *pipeline, bool with_transfers);

/* Units of a list and their collectives, one after the other on one stream. */
typedef struct st_shards {
    const st_layers *layers;
    st_bucket_caps caps; /* of a unit, in bytes of gathered weights */
    double forward;
    double backward;
    bool gathers_again;            /* weights are gathered for the backward pass, too */
    double scatter;                /* a reduce-scatter's time over that of the all-gather */
    const st_bucket_curve *gather; /* all-gathers by size */
} st_shards;

/*
 * What the collectives add to both passes. The weights of a unit are gathered while the one before
 * it computes (one ahead, Zhao et al. 2023 section 3.3); its gradients are scattered once it is
 * done, behind the gathering that was asked for before.
 */
double st_shards_exposed(const st_shards *shards);

#endif
