/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules by their names on the command line: built in, or of a plugin. */
#ifndef STEPTIME_CLI_SCHEDULES_H
#define STEPTIME_CLI_SCHEDULES_H

#include "cli/cli.h"
#include "timeline/timeline.h"

/* What is asked for, all zero where nothing is. */
typedef struct cli_schedule {
    const char *name;   /* of --schedule */
    cli_texts settings; /* of --option */
} cli_schedule;

bool cli_schedule_is_built_in(const char *name);
/* By --schedule, or else by the job. */
bool cli_schedule_is_dualpipe(const cli_schedule *asked, const st_job *job);

/*
 * Gives a plan the order of the plugin's schedule that --schedule names: "PLUGIN" where it has one,
 * else "PLUGIN:NAME", with what --option says; without --schedule that which the job's
 * parallel.schedule names. The plan's own schedule tells how many chunks a stage has; a schedule
 * that is built in leaves the plan as it is.
 */
st_status cli_schedule_choose(cli_run *run, const cli_schedule *asked, const st_paths *paths,
                              const st_job *job, st_timeline_plan *plan) ST_NODISCARD;

#endif
