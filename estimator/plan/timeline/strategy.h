/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strategy files: a plan named stage by stage, as FlexFlow and Proteus have them, instead of by
 * degrees of parallelism.
 *
 *   strategy: front-light
 *   schedule: 1f1b             # or an order in every stage
 *   stages:
 *     - devices: 0-7           # ranks
 *       layers: 0-9            # of the model, from 0; a range for each chunk of the stage
 *       order: [F0, F1, B0, B1]
 *       tp: 4                  # the stage's own, as are cp and recompute; else the job's
 *
 * A pass is F, B (both gradients), I (of activations) or W (of weights) with its micro-batch from 0
 * and, where stages have chunks, behind a point the chunk: F3.1.
 */
#ifndef STEPTIME_TIMELINE_STRATEGY_H
#define STEPTIME_TIMELINE_STRATEGY_H

#include "steptime/job.h"
#include "base/yaml.h"
#include "timeline/schedule_choice.h"

enum { ST_STRATEGY_STAGES = 4096, ST_STRATEGY_NUMBER = 999999, ST_STRATEGY_PASSES = 100000 };

/* Ranks or layers, from `first` to `last`. */
typedef struct st_strategy_span {
    uint32_t first;
    uint32_t last;
    st_place place;
} st_strategy_span;

typedef struct st_strategy_spans {
    const st_strategy_span *items;
    size_t count;
} st_strategy_spans;

typedef struct st_strategy_pass {
    st_slot slot;
    st_place place;
} st_strategy_pass;

typedef struct st_strategy_stage {
    st_place place;
    st_strategy_spans devices;
    st_strategy_spans layers;      /* a span for each chunk */
    const st_strategy_pass *order; /* NULL: by the schedule */
    size_t pass_count;
    st_place order_place;
    double tp; /* 0: the job's */
    double cp;
    const char *recompute; /* NULL: the job's */
} st_strategy_stage;

struct st_strategy {
    const char *name;
    const char *schedule; /* NULL: the orders, or else the job's */
    st_place schedule_place;
    const st_strategy_stage *stages;
    size_t count;
};

/* Reads `root` and reports all errors that can be found without a job. */
st_status st_strategy_read(const st_yaml_node *root, st_arena *arena, st_strategy *strategy,
                           st_errors *errors) ST_NODISCARD;

/*
 * Refuses layers that are missing, doubled or out of order, and devices that the job has not, that
 * appear in two stages or, for equal stages, on another stage than parallel.order assigns.
 * Sizes of tensor and context parallelism are the stage's or the job's, that of data parallelism is
 * what the devices leave; a stage of fewer data-parallel ranks takes larger micro-batches.
 */
st_status st_strategy_apply(const st_strategy *strategy, const st_job *job, st_arena *arena,
                            st_strategy_sets *sets, st_errors *errors) ST_NODISCARD;

/* Layers of every chunk of the model, for st_timeline_plan_of; NULL: no memory. */
const st_place_layers *st_strategy_layers(const st_strategy *strategy, const st_strategy_sets *sets,
                                          st_arena *arena);

/* Gives a plan the orders of the strategy, where it has them, and tries them. */
st_status st_strategy_order(const st_strategy *strategy, st_arena *arena, st_timeline_plan *plan,
                            st_errors *errors) ST_NODISCARD;

#endif
