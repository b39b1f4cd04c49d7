/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a pipeline takes, without a task graph: the orders of a schedule are gone through once,
 * stage by stage, with the times that the chunks of the model have.
 *
 * It is what a replay of the same schedule takes (schedule_build.c) where a pass is one time, and a
 * transfer stops both of its ends; tests/property/test_pipelines.c holds the two against each
 * other.
 */
#ifndef STEPTIME_SCHEDULE_PIPELINE_TIME_H
#define STEPTIME_SCHEDULE_PIPELINE_TIME_H

#include "schedule/schedule.h"

/*
 * The passes of an order one after the other, each behind those that it waits for: found once, and
 * gone through for any times where the schedule looks at none (st_schedule_looks_at_times).
 */
typedef struct st_pipeline_walk st_pipeline_walk;

/* A step of them, in ticks of a picosecond. */
typedef struct st_pipeline {
    const st_schedule_shape *shape; /* its transfer stops a stage after each pass */
    /* Weights gathered before the first pass and the second one, gradients reduced from the last
     * backward pass on and after it, and what the first and the last stage exchange at the end. */
    const st_schedule_ends *ends;
} st_pipeline;

/* In ticks; each of the last four reaches further than the one before it. */
typedef struct st_pipeline_times {
    int64_t busiest; /* passes of the stage that has the most to do */
    int64_t passes;  /* first pass to last; the longest span of a stage for staggered schedules */
    int64_t with_transfers;
    int64_t with_tied;
    int64_t with_data;
} st_pipeline_times;

/* NULL where the schedule does not know the shape, there are more than 2^22 passes, or no memory.
 * Lives in `arena`. */
st_pipeline_walk *st_pipeline_walk_make(const st_schedule_shape *shape, st_arena *arena);

/* `walk` is of a shape that is the same but for its times, and used by one thread at a time. false
 * where ticks might not count all passes one after the other. */
bool st_pipeline_replay(const st_pipeline *pipeline, st_pipeline_walk *walk,
                        st_pipeline_times *times);

#endif
