/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a pipeline takes, without a task graph: the orders of a schedule are gone through once,
 * stage by stage, with the few times that a plan's stages differ by.
 *
 * It is what a replay of the same schedule takes (schedule_build.c) where a pass is one time, and a
 * transfer stops both of its ends; tests/property/test_pipelines.c holds the two against each
 * other.
 */
#ifndef STEPTIME_SCHEDULE_PIPELINE_TIME_H
#define STEPTIME_SCHEDULE_PIPELINE_TIME_H

#include "schedule/schedule.h"

/* Stages between the first and the last one are alike; of folded schedules it is chunks of the
 * model. */
enum { ST_END_FIRST, ST_END_MIDDLE, ST_END_LAST, ST_ENDS };

/* Times in seconds, of one micro-batch. Two of them are the same where all bytes are. */
typedef struct st_pipeline {
    double pass[ST_PASSES][ST_ENDS];  /* of a stage, by st_pass */
    double alone[ST_PASSES][ST_ENDS]; /* further time of a pass that runs as one with no other */
    double transfer;                  /* that a stage stops for after each pass */
    double tied;                      /* exchange of first and last stage at the end */
    double shorter;                   /* middle stages, of the last ones, that have fewer layers */
    double shorter_share;             /* of the time of the other middle stages */
    double held_for_weights;          /* as in st_schedule_shape */
    double stages;
    double micros;
    double kind; /* st_schedule_kind */
} st_pipeline;

/* Each reaches further than the one before it. */
typedef struct st_pipeline_times {
    double passes; /* first pass to last; the longest span of a stage for ZB-2p */
    double with_transfers;
    double with_tied;
} st_pipeline_times;

/* NaN where the schedule does not know the shape, or there are more than 2^22 passes. */
st_pipeline_times st_pipeline_replay(const st_pipeline *pipeline);

#endif
