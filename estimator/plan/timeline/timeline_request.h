/* SPDX-License-Identifier: Apache-2.0 */
/* A job with a schedule, a strategy or jitter of the command line, laid out as a timeline. */
#ifndef STEPTIME_TIMELINE_TIMELINE_REQUEST_H
#define STEPTIME_TIMELINE_TIMELINE_REQUEST_H

#include "timeline/timeline.h"

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

/* Loads the job with that schedule, and makes the plan of its timeline. */
st_status st_timeline_load(const st_timeline_request *request, st_arena *arena,
                           st_estimate *estimate, st_timeline_plan *plan,
                           st_errors *errors) ST_NODISCARD;

#endif
