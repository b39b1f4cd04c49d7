/* SPDX-License-Identifier: Apache-2.0 */
/* See settled_layout.h. */
#include "estimate/settled_layout.h"

#include "base/error_scope.h"
#include "base/memory.h"
#include "estimate/balanced_layout.h"
#include "job/job_loader.h"
#include "steptime/keys.h"
#include "steptime/tool/roles.h"

#include <string.h>

bool st_has_open_layout(const st_job *job)
{
    const st_job_value *layout = st_job_value_of(job, ST_KEY_PARALLEL_LAYOUT);
    return layout->text != NULL && strcmp(layout->text, ST_LAYOUT_AUTO) == 0;
}

enum { SETS = 2, CHUNKS = 1 };

/* "parallel.layout=Et*3|(tt|)*29m|L" and the chunks that it has, which folded schedules do not
 * give; NULL: the sheet looks into no layouts. */
static st_status find_layout(const st_estimate *estimate, st_arena *arena, const char *sets[SETS],
                             st_errors *errors)
{
    const char *names[ST_BALANCE_NUMBERS];
    double values[ST_BALANCE_NUMBERS];
    const st_stage_plan *plan = st_stage_plan_of(estimate->providers, estimate->provider_count);
    sets[0] = NULL;
    for (size_t i = 0; i < ST_BALANCE_NUMBERS; i++) {
        names[i] = st_sheet_role_part(estimate->sheet, ST_ROLE_BALANCED_LAYOUT, i);
        if (plan == NULL || names[i] == NULL)
            return ST_OK;
    }
    st_status status = st_estimate_look(estimate, names, ST_BALANCE_NUMBERS, arena, values, errors);
    const char *text = NULL;
    if (status == ST_OK)
        status = st_balance_text(plan, values, arena, &text, errors);
    if (status != ST_OK)
        return status;
    sets[0] = st_arena_printf(arena, ST_KEY_PARALLEL_LAYOUT "=%s", text);
    sets[1] = st_arena_printf(arena, ST_KEY_PARALLEL_VIRTUAL_STAGES "=%g", values[CHUNKS]);
    return sets[0] == NULL || sets[1] == NULL ? st_out_of_memory(errors) : ST_OK;
}

static st_status open_with(const st_paths *paths, const st_request *request,
                           const char *const more[SETS], st_arena *arena, st_estimate *estimate,
                           st_errors *errors)
{
    const char **sets = st_arena_alloc(arena, request->set_count + SETS, sizeof *sets);
    st_request own = *request;
    st_error_scope quiet = {.edit = st_error_is_severe}; /* warnings were reported before */
    if (sets == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < request->set_count; i++)
        sets[i] = request->sets[i];
    for (size_t i = 0; i < SETS; i++)
        sets[own.set_count++] = more[i];
    own.sets = sets;
    st_errors_enter(errors, &quiet);
    st_status status = st_estimate_open(paths, &own, arena, estimate, errors);
    if (status == ST_OK)
        status = st_estimate_gather(paths, &own, arena, estimate, errors);
    st_errors_leave(errors, &quiet);
    return status;
}

st_status st_settle_layout(const st_paths *paths, const st_request *request, st_arena *arena,
                           st_estimate *estimate, st_errors *errors)
{
    const char *sets[SETS] = {NULL};
    if (!st_has_open_layout(estimate->job))
        return ST_OK;
    st_status status = find_layout(estimate, arena, sets, errors);
    return status == ST_OK && sets[0] != NULL
               ? open_with(paths, request, sets, arena, estimate, errors)
               : status;
}

st_status st_settled_job(const st_paths *paths, const st_request *request, st_arena *arena,
                         const st_job **job, st_errors *errors)
{
    const st_job_parts parts = {request->job, request->sheet, request->sets, request->set_count};
    st_status status = st_job_load_for(paths, &parts, arena, job, errors);
    if (status != ST_OK || !st_has_open_layout(*job))
        return status;
    st_estimate estimate;
    st_error_scope quiet = {.edit = st_error_is_severe};
    st_errors_enter(errors, &quiet);
    status = st_estimate_load(paths, request, arena, &estimate, errors);
    st_errors_leave(errors, &quiet);
    if (status == ST_OK)
        *job = estimate.job;
    return status;
}
