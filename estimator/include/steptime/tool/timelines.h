/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines for tools: the step of a job laid out as tasks. */
#ifndef STEPTIME_TOOL_TIMELINES_H
#define STEPTIME_TOOL_TIMELINES_H

#include "steptime/graph.h"
#include "steptime/tool/estimates.h"

/* Times of timelines are counted in picoseconds. */
#define ST_TICKS_PER_S 1e12

typedef struct st_timeline st_timeline;

/* A job with a schedule, a strategy or jitter in place of its own. */
typedef struct st_timeline_request {
    const st_paths *paths;
    st_request job;
    const char *schedule;        /* NULL: the job's own */
    const char *const *settings; /* "NAME=VALUE" for the plugin of the schedule */
    size_t setting_count;
    bool layers;          /* a task for each layer */
    const char *jitter;   /* NULL, or KIND:SPREAD in place of the job's variance */
    const char *strategy; /* NULL, or the file of a strategy in place of the job's plan */
} st_timeline_request;

/* Lays the job out with one rank a stage; estimate and timeline live in `arena`. */
st_status st_timeline_lay_out(const st_timeline_request *request, st_arena *arena,
                              st_estimate **estimate, st_timeline **timeline,
                              st_errors *errors) ST_NODISCARD;

/* What a timeline lays out; lives as long as the timeline. */
typedef struct st_timeline_outline {
    const char *job;
    const char *sheet;
    const char *schedule; /* its name */
    uint32_t cp;          /* context-parallel ranks */
    uint32_t micros;      /* micro-batches of a pipeline */
    uint32_t chunks;      /* of a stage */
    const st_graph *graph;
    const st_replay *replay;
} st_timeline_outline;

st_timeline_outline st_timeline_outline_of(const st_timeline *timeline);

/* The stage of a rank, by the rank's index in the graph. */
uint32_t st_timeline_stage(const st_timeline *timeline, size_t rank_index);

/* Whether tasks of a category are passes of a micro-batch. */
bool st_is_pass(const char *category);

#endif
