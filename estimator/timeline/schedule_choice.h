/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules by their names, in a job or in place of the job's own: built in, or of a plugin. */
#ifndef STEPTIME_TIMELINE_SCHEDULE_CHOICE_H
#define STEPTIME_TIMELINE_SCHEDULE_CHOICE_H

#include "timeline/timeline.h"

/* What is asked for in place of the job's own, all zero where nothing is. */
typedef struct st_schedule_wish {
    const char *name;            /* of --schedule */
    const char *const *settings; /* of the plugin, by --option: "NAME=VALUE" */
    size_t setting_count;
} st_schedule_wish;

bool st_schedule_is_built_in(const char *name);

/*
 * Gives a plan the order of the plugin's schedule that the wish names: "PLUGIN" where it has one,
 * else "PLUGIN:NAME", with its settings; without a name that which the job's parallel.schedule
 * names. The plan's own schedule tells how many chunks a stage has; a schedule that is built in
 * leaves the plan as it is. The order lives as long as the arena.
 */
st_status st_schedule_choose(const st_schedule_wish *wish, const st_paths *paths, const st_job *job,
                             st_arena *arena, st_timeline_plan *plan,
                             st_errors *errors) ST_NODISCARD;

#endif
