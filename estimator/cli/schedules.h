/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules by their names on the command line: built in, or of a plugin. */
#ifndef STEPTIME_CLI_SCHEDULES_H
#define STEPTIME_CLI_SCHEDULES_H

#include "cli/cli.h"
#include "report/timeline.h"

bool cli_schedule_is_built_in(const char *name);

/*
 * Gives a plan the order of a plugin's schedule: "PLUGIN" where it has one, else "PLUGIN:NAME". The
 * plan's own schedule tells how many chunks a stage has.
 */
st_status cli_schedule_of_plugin(cli_run *run, const st_paths *paths, const char *name,
                                 st_timeline_plan *plan) ST_NODISCARD;

#endif
