/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/timeline_request.h"

#include "base/error_scope.h"
#include "base/memory.h"
#include "steptime/keys.h"
#include "timeline/schedule_choice.h"

#include <string.h>

/* Errors in the keys that --jitter sets are reported as errors of --jitter. */
static bool move_to_jitter(const void *context, st_errors *errors, st_error *error)
{
    static const char *const sets[] = {"--set variance.distribution=", "--set variance.jitter="};
    (void)context;
    (void)errors;
    for (size_t i = 0; i < ST_COUNT(sets) && error->place.file != NULL; i++)
        if (strncmp(error->place.file, sets[i], strlen(sets[i])) == 0)
            error->place = (st_place){.file = "--jitter"};
    return true;
}

/* The request with the keys that a schedule, a strategy and jitter set. */
static st_status add_sets(const st_timeline_request *request, const st_strategy_sets *strategy,
                          st_arena *arena, st_request *job, st_errors *errors)
{
    enum { MOST_SETS = 3 + ST_STRATEGY_SETS };
    const char *jitter = request->jitter;
    const char *colon = jitter != NULL ? strchr(jitter, ':') : NULL;
    const char **sets =
        st_arena_alloc(arena, request->job.set_count + MOST_SETS + strategy->count, sizeof *sets);
    *job = request->job;
    if (sets == NULL)
        return ST_ERR_MEMORY;
    if (jitter != NULL && (colon == NULL || colon == jitter || colon[1] == '\0'))
        return st_fail(errors, ST_ERR_USAGE, (st_place){.file = "--jitter"},
                       "found '%.80s'" ST_EXPECTED "KIND:SPREAD, as lognormal:0.05", jitter);
    for (size_t i = 0; i < job->set_count; i++)
        sets[i] = job->sets[i];
    if (request->schedule != NULL && st_schedule_is_built_in(request->schedule))
        sets[job->set_count++] =
            st_arena_printf(arena, ST_KEY_PARALLEL_SCHEDULE "=%s", request->schedule);
    for (size_t i = 0; i < strategy->count; i++)
        sets[job->set_count++] = strategy->items[i];
    if (jitter != NULL) {
        sets[job->set_count++] = st_arena_printf(arena, ST_KEY_VARIANCE_DISTRIBUTION "=%.*s",
                                                 (int)(colon - jitter), jitter);
        sets[job->set_count++] = st_arena_printf(arena, ST_KEY_VARIANCE_JITTER "=%s", colon + 1);
    }
    job->sets = sets;
    return st_arena_failed(arena) ? ST_ERR_MEMORY : ST_OK;
}

st_status st_timeline_load(const st_timeline_request *request, st_arena *arena,
                           st_estimate *estimate, st_timeline_plan *plan, st_errors *errors)
{
    const st_schedule_wish choice = {.name = request->schedule,
                                     .settings = request->settings,
                                     .setting_count = request->setting_count};
    const st_job_parts parts = {.name = request->job.job,
                                .sheet = request->job.sheet,
                                .sets = request->job.sets,
                                .set_count = request->job.set_count};
    const st_strategy *file = NULL;
    const st_job *planned = NULL;
    st_strategy_sets sets = {0};
    st_request job = request->job;
    st_error_scope scope = {.edit = move_to_jitter};
    st_status status = ST_OK;
    if (request->strategy != NULL) {
        if (request->schedule != NULL)
            return st_fail(errors, ST_ERR_USAGE, (st_place){.file = "--strategy"},
                           "defines its own schedule" ST_EXPECTED "no --schedule with it");
        status = st_job_load_for(request->paths, &parts, arena, &planned, errors);
        if (status == ST_OK)
            status = st_strategy_load(request->strategy, planned, arena, &file, &sets, errors);
    }
    if (status == ST_OK)
        status = add_sets(request, &sets, arena, &job, errors);
    if (status != ST_OK)
        return status;
    if (request->jitter != NULL)
        st_errors_enter(errors, &scope);
    status = st_estimate_load(request->paths, &job, arena, estimate, errors);
    if (request->jitter != NULL)
        st_errors_leave(errors, &scope);
    if (status != ST_OK)
        return status;
    const st_strategy_job named = {
        .request = &job, .sets = &sets, .estimate = estimate, .paths = request->paths};
    status = file != NULL ? st_strategy_plan(file, &named, arena, plan, errors)
                          : st_timeline_plan_make(estimate, arena, plan, errors);
    if (status == ST_OK && plan->order == NULL)
        status = st_schedule_choose(&choice, request->paths, estimate->job, arena, plan, errors);
    if (status == ST_OK && request->layers)
        plan->schedule.layers = plan->layers;
    return status;
}

static void free_timeline(void *context)
{
    st_timeline_free(context);
}

st_status st_timeline_lay_out(const st_timeline_request *request, st_arena *arena,
                              st_estimate **estimate, st_timeline **timeline, st_errors *errors)
{
    st_timeline_plan plan = {0};
    st_timeline *made = st_arena_alloc(arena, 1, sizeof *made);
    *estimate = st_estimate_new(arena);
    *timeline = made;
    if (*estimate == NULL || made == NULL)
        return st_out_of_memory(errors);
    *made = (st_timeline){0};
    if (!st_arena_defer(arena, free_timeline, made))
        return st_out_of_memory(errors);
    st_status status = st_timeline_load(request, arena, *estimate, &plan, errors);
    return status == ST_OK ? st_timeline_make(&plan, false, arena, made, errors) : status;
}
