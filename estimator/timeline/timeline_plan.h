/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources that turn a sheet's cells into a plan share. */
#ifndef STEPTIME_TIMELINE_TIMELINE_PLAN_H
#define STEPTIME_TIMELINE_TIMELINE_PLAN_H

#include "timeline/timeline.h"
#include "schedule/schedule_internal.h"

enum { ST_PLAN_CELLS = 80 };

/* A plan in the making. */
typedef struct st_planner {
    st_estimate *estimate;
    st_arena *arena;
    st_errors *errors;
    st_timeline_plan *plan;
    double cell[ST_PLAN_CELLS]; /* in base units, in the order of the names that were run */
    bool out_of_range;          /* a time that no step has */
} st_planner;

/* Runs the sheet for cells and inputs by name; the list ends with NULL. */
st_status st_plan_run(st_planner *planner, const char *const *names) ST_NODISCARD;
/* Picoseconds; notes times that are negative, too long or not finite. */
int64_t st_plan_ticks(st_planner *planner, double seconds);
/* A count that the sheet's checks have let pass; at least 1. */
uint32_t st_plan_whole(double value);
/* parallel.schedule */
st_schedule_kind st_plan_kind(const st_planner *planner);

extern const char *const st_megatron_names[];
st_status st_plan_megatron(st_planner *planner, bool dualpipe) ST_NODISCARD;
extern const char *const st_ddp_names[];
st_status st_plan_ddp(st_planner *planner, bool dualpipe) ST_NODISCARD;

#endif
