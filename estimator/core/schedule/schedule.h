/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipeline schedules: in which order each stage runs its passes, and the task graph of a step.
 *
 * A micro-batch goes forward through all chunks of the model and back. The backward pass has two
 * parts, gradients of activations, for which the stage before waits, and gradients of weights, for
 * which nobody waits (Qi et al. 2024); other schedules run both at once.
 *
 * Times are whole numbers in the unit of the graph: nanoseconds, or what the caller counts in (the
 * timeline of a job counts picoseconds, so that rounding stays below 1e-9 of a step).
 */
#ifndef STEPTIME_SCHEDULE_SCHEDULE_H
#define STEPTIME_SCHEDULE_SCHEDULE_H

#include "steptime/graph.h"
#include "steptime/tool/pipeline_schedule.h"

/* The resources of hidden gradients and of hidden weights in a task graph of passes; gradients wait
 * while weights are on their way. */
#define ST_DATA_STREAM    "data"
#define ST_WEIGHTS_STREAM "weights"

static inline int64_t st_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
/* Whether a stage s has the chunks s and 2 stages - 1 - s of the model, first and last on one. */
bool st_schedule_is_folded(st_schedule_kind kind);
/* Whether its order depends on how long passes take. */
bool st_schedule_looks_at_times(st_schedule_kind kind);
/* Whether a stage begins the next step without waiting for the others: its longest span counts. */
bool st_schedule_is_staggered(st_schedule_kind kind);

/*
 * The chunk of the model at which a slot of a stage works, from 0 to stages * chunks - 1; a
 * DualPipe stage has the chunks s and stages - 1 - s of a model of as many chunks as stages, a
 * folded one s and 2 stages - 1 - s.
 */
uint32_t st_schedule_place(const st_schedule_shape *shape, uint32_t stage, uint32_t chunk);
/* The stage that runs a chunk of the model for a micro-batch. */
uint32_t st_schedule_stage(const st_schedule_shape *shape, uint32_t place, uint32_t micro);
/* Chunks of the model: stages * chunks, or the stages alone for DualPipe. */
uint32_t st_schedule_places(const st_schedule_shape *shape);
/* Chunks that a rank holds; DualPipe's has those of two places. */
uint32_t st_schedule_rank_chunks(const st_schedule_shape *shape);

/* Pipelines that do not exchange micro-batches: of stages that differ, as many as the greatest
 * common divisor of their data-parallel ranks. */
uint32_t st_schedule_pipelines(const st_schedule_plan *plan);
/* The stage of a rank in the order in which ranks are built: pipeline by pipeline. */
uint32_t st_schedule_stage_of_rank(const st_schedule_plan *plan, size_t index);

/*
 * Whether a step with that order ends: one rank of each stage does what all the others do. Refused
 * as st_schedule_build and st_graph_seal refuse it, a cycle as its tasks and ranks.
 */
st_status st_schedule_try(const st_schedule_shape *shape, const st_schedule_order *order,
                          st_errors *errors) ST_NODISCARD;

#endif
