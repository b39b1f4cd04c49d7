/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a pipeline takes, without a task graph: the orders of a schedule are gone through once,
 * stage by stage, with the times that the chunks of the model have.
 *
 * It is what a replay of the same schedule takes (schedule_build.c) where a pass is one time, and a
 * transfer stops both of its ends; tests/property/test_pipelines.c holds the two against each
 * other. Hidden gradients and weights of a stage are one queue, in which each message starts when
 * the one before it has ended; a pass that runs meanwhile takes longer and leaves them a part of
 * their rate.
 */
#ifndef STEPTIME_SCHEDULE_PIPELINE_TIME_H
#define STEPTIME_SCHEDULE_PIPELINE_TIME_H

#include "schedule/schedule.h"

/*
 * The passes of an order one after the other, each behind those that it waits for: found once, and
 * gone through for any times where the schedule looks at none (st_schedule_looks_at_times).
 */
typedef struct st_pipeline_walk st_pipeline_walk;

/* Passes with their gradients; a backward pass with the weights' gradients is a kind of its own. */
enum { ST_PASS_WITH_WEIGHTS = ST_PASSES, ST_PASS_KINDS };

/* Parts into which passes are cut where messages slow down their computation, so that it and their
 * own messages alternate as they do from layer to layer; fewer where no chunk has as many layers.
 */
enum { ST_SLOWED_PARTS = 8 };

uint32_t st_slowed_parts(double layers); /* of the chunk that has most of them */

/* Gradients and weights of the layers of each pass, where they are split (ZeRO 2 and 3), and what
 * they and the passes do to each other. */
typedef struct st_pipeline_data {
    const uint32_t *layers; /* by place, at least 1 */
    double gather_hidden;   /* of a pass of a chunk, in ticks; its layers have equal parts */
    double gather_exposed;
    double reduce_hidden;
    double reduce_exposed;
    uint32_t prefetch;      /* layers whose weights are gathered ahead */
    const double *moves;    /* by place and pass: time alone of hidden messages that go on during
                               the pass, in ticks; with its weights' gradients their sum counts */
    double slow[ST_PASSES]; /* slowdown of a pass's computation by messages */
    double rate_sending;    /* of hidden messages during transfers; during exposed ones they wait */
} st_pipeline_data;

/* A step of them, in ticks of a picosecond. */
typedef struct st_pipeline {
    const st_schedule_shape *shape; /* its transfer stops a stage after each pass */
    /* Weights gathered before the first pass and the second one, gradients reduced from the last
     * backward pass on and after it, and what the first and the last stage exchange at the end. */
    const st_schedule_ends *ends;
    const st_pipeline_data *data; /* NULL: all of them at the ends, and none slows another down */
} st_pipeline;

/* In ticks; each of the last five reaches further than the one before it. */
typedef struct st_pipeline_times {
    int64_t busiest; /* passes of the stage that has the most to do */
    int64_t passes;  /* first pass to last; the longest span of a stage for staggered schedules */
    int64_t with_transfers;
    int64_t with_tied;
    int64_t with_data;
    int64_t with_slowdown; /* of computation that hides gradients and weights */
} st_pipeline_times;

/* NULL where the schedule does not know the shape, there are more than 2^22 passes, or no memory.
 * Lives in `arena`. */
st_pipeline_walk *st_pipeline_walk_make(const st_schedule_shape *shape, st_arena *arena);

/* `walk` is of a shape that is the same but for its times, and used by one thread at a time. false
 * where ticks might not count all passes one after the other. */
bool st_pipeline_replay(const st_pipeline *pipeline, st_pipeline_walk *walk,
                        st_pipeline_times *times);

#endif
