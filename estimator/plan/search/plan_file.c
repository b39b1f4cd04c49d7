/* SPDX-License-Identifier: Apache-2.0 */
/* A found plan as a job file: the way from a search to an estimate, and to a launch. */
#include "search/search_make.h"

#include "base/memory.h"
#include "base/error_scope.h"
#include "job/job_write.h"
#include "plugin/refine_parse.h"

#include <string.h>

/* The user's own sets, and behind them all of the plan. */
static const char **list_sets(const st_search *search, uint64_t row, size_t *count)
{
    size_t own = search->own_set_count;
    size_t plan_count = 0;
    const char *const *plan = st_search_sets(search, row, true, &plan_count);
    const char **sets = st_arena_alloc(search->space->arena, own + plan_count + 1, sizeof *sets);
    if (plan == NULL || sets == NULL)
        return NULL;
    for (size_t i = 0; i < own; i++)
        sets[i] = search->request.space.sets[i];
    for (size_t i = 0; i < plan_count; i++)
        sets[own + i] = plan[i];
    *count = own + plan_count;
    return sets;
}

static const char *comment_of(const st_search_view *view, size_t rank)
{
    const st_space *space = view->detail.space;
    char value[ST_QUANTITY_TEXT];
    double goal = view->ranking[(rank - 1) * space->cell_count];
    return st_arena_printf(
        space->arena,
        "Plan %zu that 'steptime search %s' found, %s %s: the estimate of\n"
        "this file has the same values.",
        rank, st_job_name(space->base.job), space->cells[0],
        st_type_format(space->types[0], goal, ST_STYLE_SCALED, value, sizeof value));
}

st_status st_search_write_plan(const st_paths *paths, const st_search_view *view, size_t rank,
                               st_buffer *file, st_errors *errors)
{
    const st_search *search = view->search;
    st_arena *arena = search->space->arena;
    size_t count = 0;
    const char **sets = list_sets(search, view->ranked[rank - 1].row, &count);
    st_error_scope quiet = {.edit = st_error_is_severe}; /* warnings were reported before */
    st_job_writing made = {.comment = comment_of(view, rank), .sheet = search->request.space.sheet};
    if (sets == NULL || made.comment == NULL)
        return st_out_of_memory(errors);
    st_errors_enter(errors, &quiet);
    st_status status =
        st_job_load(paths, search->request.space.job, sets, count, arena, &made.job, errors);
    st_errors_leave(errors, &quiet);
    if (status == ST_OK) {
        const st_space_request *space = &search->request.space;
        const st_words words = {space->refine, space->refine_count};
        st_refinements plugins = {0};
        st_status plugin_status =
            st_refine_for(paths, made.job, &words, search->space->arena, &plugins, errors);
        made.refinements = plugins.items;
        made.refinement_count = plugins.count;
        status = plugin_status;
    }
    return status == ST_OK ? st_job_write(&made, arena, file, errors) : status;
}
