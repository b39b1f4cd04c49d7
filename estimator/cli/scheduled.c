/* SPDX-License-Identifier: Apache-2.0 */
/* From the command line to the plan of a timeline; see scheduled.h. */
#include "cli/scheduled.h"

#include "base/error_scope.h"
#include "base/memory.h"
#include "timeline/schedule_choice.h"

#include <string.h>

enum { MOST_SETS = 3 + ST_STRATEGY_SETS }; /* that options stand for */

/* Keys that options stand for. */
typedef struct scheduled_sets {
    const char *items[MOST_SETS];
    size_t count;
} scheduled_sets;

static st_status add_set(scheduled_sets *sets, const char *text)
{
    sets->items[sets->count++] = text;
    return text != NULL ? ST_OK : ST_ERR_MEMORY;
}

/* Errors of what --jitter stands for are reported as errors of --jitter. */
static bool tell_jitter(const void *context, st_errors *errors, st_error *error)
{
    static const char *const sets[] = {"--set variance.distribution=", "--set variance.jitter="};
    (void)context;
    (void)errors;
    for (size_t i = 0; i < ST_COUNT(sets) && error->place.file != NULL; i++)
        if (strncmp(error->place.file, sets[i], strlen(sets[i])) == 0)
            error->place = (st_place){.file = "--jitter"};
    return true;
}

/* "lognormal:0.05" as the two keys that it stands for. */
static st_status add_jitter(cli_run *run, const char *jitter, scheduled_sets *sets)
{
    const char *colon = strchr(jitter, ':');
    if (colon == NULL || colon == jitter || colon[1] == '\0')
        return st_fail(run->errors, ST_ERR_USAGE, (st_place){.file = "--jitter"},
                       "found '%.80s'" ST_EXPECTED "KIND:SPREAD, as lognormal:0.05", jitter);
    st_status status = add_set(sets, st_arena_printf(run->arena, "variance.distribution=%.*s",
                                                     (int)(colon - jitter), jitter));
    return status == ST_OK
               ? add_set(sets, st_arena_printf(run->arena, "variance.jitter=%s", colon + 1))
               : status;
}

/* A strategy, what it sets, and the job with that. */
typedef struct scheduled_strategy {
    const st_strategy *file; /* NULL: none */
    st_strategy_sets sets;
    st_request request;
} scheduled_strategy;

/* What the strategy says in place of the job's plan. */
static st_status add_strategy(cli_run *run, const cli_scheduled *wish, scheduled_strategy *strategy,
                              scheduled_sets *sets)
{
    const st_job_parts parts = {.name = run->arguments[0],
                                .sheet = run->common.sheet,
                                .sets = run->common.sets.items,
                                .set_count = run->common.sets.count};
    const st_job *job = NULL;
    st_strategy_sets *own = &strategy->sets;
    if (wish->schedule != NULL)
        return st_fail(run->errors, ST_ERR_USAGE, (st_place){.file = "--strategy"},
                       "has its own schedule" ST_EXPECTED "no --schedule beside it");
    st_status status = st_job_load_for(run->paths, &parts, run->arena, &job, run->errors);
    if (status == ST_OK)
        status =
            st_strategy_load(wish->strategy, job, run->arena, &strategy->file, own, run->errors);
    for (size_t i = 0; i < own->count && status == ST_OK; i++)
        status = add_set(sets, own->items[i]);
    return status;
}

/* The job with what options say in place of its own, but for the schedule of a plugin. */
static st_status load(cli_run *run, const cli_scheduled *wish, scheduled_strategy *strategy,
                      st_estimate *estimate)
{
    const cli_texts *given = &run->common.sets;
    const char *schedule = wish->schedule;
    scheduled_sets own = {0};
    st_status status = ST_OK;
    if (schedule != NULL && st_schedule_is_built_in(schedule))
        status = add_set(&own, st_arena_printf(run->arena, "parallel.schedule=%s", schedule));
    if (status == ST_OK && wish->strategy != NULL)
        status = add_strategy(run, wish, strategy, &own);
    if (status == ST_OK && wish->jitter != NULL)
        status = add_jitter(run, wish->jitter, &own);
    if (status != ST_OK)
        return status;
    if (own.count == 0)
        return cli_load_job(run, estimate);
    const char **sets = st_arena_alloc(run->arena, given->count + own.count, sizeof *sets);
    if (sets == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < given->count; i++)
        sets[i] = given->items[i];
    for (size_t i = 0; i < own.count; i++)
        sets[given->count + i] = own.items[i];
    strategy->request = cli_request(run);
    strategy->request.sets = sets;
    strategy->request.set_count = given->count + own.count;
    st_error_scope scope = {.edit = tell_jitter};
    if (wish->jitter != NULL)
        st_errors_enter(run->errors, &scope);
    status = st_estimate_load(run->paths, &strategy->request, run->arena, estimate, run->errors);
    if (wish->jitter != NULL)
        st_errors_leave(run->errors, &scope);
    return status;
}

st_status cli_plan_timeline(cli_run *run, const cli_scheduled *wish, st_estimate *estimate,
                            st_timeline_plan *plan)
{
    const st_schedule_wish choice = {.name = wish->schedule,
                                     .settings = wish->settings->items,
                                     .setting_count = wish->settings->count};
    scheduled_strategy strategy = {0};
    st_strategy_job named = {
        .request = &strategy.request, .sets = &strategy.sets, .estimate = estimate};
    st_status status = cli_paths(run);
    named.paths = run->paths;
    if (status == ST_OK)
        status = load(run, wish, &strategy, estimate);
    if (status == ST_OK)
        status = strategy.file != NULL
                     ? st_strategy_plan(strategy.file, &named, run->arena, plan, run->errors)
                     : st_timeline_plan_make(estimate, run->arena, plan, run->errors);
    if (status == ST_OK && plan->order == NULL)
        status =
            st_schedule_choose(&choice, run->paths, estimate->job, run->arena, plan, run->errors);
    if (status == ST_OK && wish->layers)
        plan->schedule.layers = plan->layers;
    return status;
}

st_status cli_make_workload(cli_run *run, const cli_scheduled *wish, st_timeline *timeline,
                            st_workload *workload)
{
    st_estimate estimate = {0};
    st_timeline_plan plan = {0};
    st_status status = cli_plan_timeline(run, wish, &estimate, &plan);
    if (status == ST_OK)
        status = st_timeline_make(&plan, false, run->arena, timeline, run->errors);
    if (status == ST_OK)
        status = st_workload_make(&estimate, timeline, run->arena, workload, run->errors);
    return status;
}
