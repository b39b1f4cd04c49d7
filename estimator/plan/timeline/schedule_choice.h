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
 * names. The plan's own schedule defines the chunks of a stage; a built-in schedule
 * leaves the plan as it is. The order lives as long as the arena.
 */
st_status st_schedule_choose(const st_schedule_wish *wish, const st_paths *paths, const st_job *job,
                             st_arena *arena, st_timeline_plan *plan,
                             st_errors *errors) ST_NODISCARD;

/* A plan defined stage by stage, from a file (its format: timeline/strategy.h). */
typedef struct st_strategy st_strategy;

enum { ST_STRATEGY_SETS = 14, ST_VARIANT_SETS = 6 };

/* What a stage has of its own, as --set takes it, over all that the others have. */
typedef struct st_strategy_variant {
    const char *items[ST_VARIANT_SETS];
    size_t count; /* 0: nothing */
    uint32_t tp, cp, dp;
} st_strategy_variant;

/* What the strategy says in place of a job's own plan, as --set takes it. */
typedef struct st_strategy_sets {
    const char *items[ST_STRATEGY_SETS];
    size_t count;
    const st_strategy_variant *stages; /* by stage */
    const double *moe_layers;          /* of every chunk of the model; NULL: it has a pattern */
    bool is_uneven;                    /* stages differ in devices or in how they are split */
} st_strategy_sets;

/* Reads the file of --strategy and holds it against the job. Both results live in `arena`. */
st_status st_strategy_load(const char *path, const st_job *job, st_arena *arena,
                           const st_strategy **strategy, st_strategy_sets *sets,
                           st_errors *errors) ST_NODISCARD;

/* A job with the sets of its strategy. */
typedef struct st_strategy_job {
    const st_paths *paths;
    const st_request *request; /* what `estimate` was loaded of */
    const st_strategy_sets *sets;
    st_estimate *estimate;
} st_strategy_job;

/* Its plan; stages that have something of their own are estimated with that. */
st_status st_strategy_plan(const st_strategy *strategy, const st_strategy_job *job, st_arena *arena,
                           st_timeline_plan *plan, st_errors *errors) ST_NODISCARD;

#endif
