/* SPDX-License-Identifier: Apache-2.0 */
/* From the command line to the plan of a timeline; see scheduled.h. */
#include "cli/scheduled.h"

#include "timeline/schedule_choice.h"

/* The job with --schedule in place of its own, but for that of a plugin. */
static st_status load(cli_run *run, const char *schedule, st_estimate *estimate)
{
    const cli_texts *given = &run->common.sets;
    if (schedule == NULL || !st_schedule_is_built_in(schedule))
        return cli_load_job(run, estimate);
    const char **sets = st_arena_alloc(run->arena, given->count + 1, sizeof *sets);
    const char *set = st_arena_printf(run->arena, "parallel.schedule=%s", schedule);
    if (sets == NULL || set == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < given->count; i++)
        sets[i] = given->items[i];
    sets[given->count] = set;
    st_request request = cli_request(run);
    request.sets = sets;
    request.set_count = given->count + 1;
    return st_estimate_load(run->paths, &request, run->arena, estimate, run->errors);
}

st_status cli_plan_timeline(cli_run *run, const cli_scheduled *wish, st_estimate *estimate,
                            st_timeline_plan *plan)
{
    const st_schedule_wish choice = {.name = wish->schedule,
                                     .settings = wish->settings->items,
                                     .setting_count = wish->settings->count};
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = load(run, wish->schedule, estimate);
    if (status == ST_OK)
        status = st_timeline_plan_make(estimate, run->arena, plan, run->errors);
    if (status == ST_OK)
        status =
            st_schedule_choose(&choice, run->paths, estimate->job, run->arena, plan, run->errors);
    if (status == ST_OK && wish->layers)
        plan->schedule.layers = plan->layers;
    return status;
}
