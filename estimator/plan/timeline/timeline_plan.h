/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources that turn a sheet's roles into a plan share. */
#ifndef STEPTIME_TIMELINE_TIMELINE_PLAN_H
#define STEPTIME_TIMELINE_TIMELINE_PLAN_H

#include "timeline/timeline.h"
#include "schedule/schedule_internal.h"
#include "steptime/tool/roles.h"

/* What the roles that are split consist of. */
enum { ST_SPLIT_EXPOSED, ST_SPLIT_HIDDEN };

/* A plan in the making. */
typedef struct st_planner {
    st_estimate *estimate;
    st_arena *arena;
    st_errors *errors;
    st_timeline_plan *plan;
    const st_place_layers *given;          /* NULL: as the sheet fills stages */
    double value[ST_ROLES][ST_ROLE_PARTS]; /* in base units; 0 where nothing fills the role */
    const double *transfer_s;              /* by stage, where they are asked one by one */
    bool out_of_range;                     /* a time that no step has */
} st_planner;

/* Whether the sheet fills the role. */
bool st_plan_has(const st_planner *planner, st_role role);
/* Picoseconds; notes times that are negative, too long or not finite. */
int64_t st_plan_ticks(st_planner *planner, double seconds);
/* A count that the sheet's checks have let pass; at least 1. */
uint32_t st_plan_whole(double value);

/* The times of every chunk of the schedule's shape, and of what surrounds them. */
st_status st_plan_passes(st_planner *planner) ST_NODISCARD;
st_status st_plan_ends(st_planner *planner) ST_NODISCARD;
/* The buckets or units of a layer list as pieces of its passes; a list in stages has none. */
st_status st_plan_buckets(st_planner *planner) ST_NODISCARD;

#endif
