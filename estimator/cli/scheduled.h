/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs share that lay a job out by a schedule. */
#ifndef STEPTIME_CLI_SCHEDULED_H
#define STEPTIME_CLI_SCHEDULED_H

#include "cli/cli.h"
#include "timeline/timeline.h"
#include "workload/workload.h"

/* Rows for the members `schedule`, `settings` and `detail` of a verb's options. */
#define CLI_ROWS_SCHEDULE(options)                                                                 \
    CLI_TEXT(options, schedule, "schedule", "NAME",                                                \
             "in place of the job's parallel.schedule: gpipe, 1f1b, interleaved, zero_bubble, "    \
             "zero_bubble_2, zero_bubble_v, v_half, v_min, dualpipe, or that of a plugin, PLUGIN " \
             "or PLUGIN:NAME"),                                                                    \
        CLI_TEXTS(options, settings, "option", "NAME=VALUE",                                       \
                  "an option of the schedule's plugin; may be repeated"),                          \
        CLI_CHOICE(options, detail, "detail", "WHICH", "passes layers",                            \
                   "a task for each kind of work of a pass, or of each of its layers")

typedef struct cli_scheduled {
    const char *schedule; /* NULL: the job's own */
    const cli_texts *settings;
    bool layers;          /* a task for each layer */
    const char *jitter;   /* NULL, or KIND:SPREAD in place of the job's variance */
    const char *strategy; /* NULL, or the file of a strategy in place of the job's plan */
} cli_scheduled;

/* Loads the job of the command line with that schedule, and makes the plan of its timeline. */
st_status cli_plan_timeline(cli_run *run, const cli_scheduled *wish, st_estimate *estimate,
                            st_timeline_plan *plan) ST_NODISCARD;

/* The work of all stages of that job; the timeline is for st_timeline_free in any case. */
st_status cli_make_workload(cli_run *run, const cli_scheduled *wish, st_timeline *timeline,
                            st_workload *workload) ST_NODISCARD;

#endif
