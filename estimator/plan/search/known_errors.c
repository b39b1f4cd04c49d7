/* SPDX-License-Identifier: Apache-2.0 */
/* How far estimates like those of a search have been off; see search_make.h. */
#include "search/search_make.h"

#include "base/error_scope.h"
#include "steptime/keys.h"

#include <string.h>

/* Whether some axis may make an estimate one of another kind; the keys of a plan do not. */
static bool kinds_may_differ(const st_space *space)
{
    static const char *const sections[] = {ST_KEY_MODEL, ST_KEY_CLUSTER, ST_KEY_PRECISION,
                                           ST_KEY_STACK};
    for (size_t i = 0; i < space->axis_count; i++) {
        const char *path = space->axes[i].axis.path;
        for (size_t k = 0; k < ST_COUNT(sections); k++) {
            size_t length = strlen(sections[k]);
            if (strncmp(path, sections[k], length) == 0 &&
                (path[length] == '\0' || path[length] == '.'))
                return true;
        }
    }
    return false;
}

static st_status find_band(const st_paths *paths, const st_search_view *view, const st_job *job,
                           st_error_band *band, st_errors *errors)
{
    const st_error_kind kind = st_error_kind_of(job);
    const st_space *space = view->search->space;
    st_status status = st_error_band_find(paths, space->sheet, &kind, space->arena, band, errors);
    band->is_refined = space->plugin_count > 0;
    return status;
}

/* The job of a ranked plan, whose warnings were reported before. */
static st_status load_plan(const st_paths *paths, const st_search_view *view, size_t index,
                           const st_job **job, st_errors *errors)
{
    const st_search *search = view->search;
    size_t count = 0;
    const char *const *sets = st_search_settings(search, view->ranked[index].row, &count);
    st_error_scope quiet = {.edit = st_error_is_severe};
    if (sets == NULL)
        return ST_ERR_MEMORY;
    st_errors_enter(errors, &quiet);
    st_status status = st_job_load(paths, search->request.space.job, sets, count,
                                   search->space->arena, job, errors);
    st_errors_leave(errors, &quiet);
    return status;
}

st_status st_search_find_bands(const st_paths *paths, st_search_view *view, st_errors *errors)
{
    const st_space *space = view->search->space;
    st_error_band *bands = st_arena_alloc(space->arena, view->ranked_count + 1, sizeof *bands);
    if (bands == NULL)
        return ST_ERR_MEMORY;
    view->band = bands[0];
    st_status status = find_band(paths, view, space->base.job, &view->band, errors);
    if (!kinds_may_differ(space))
        return status;
    for (size_t i = 0; i < view->ranked_count && status == ST_OK; i++) {
        const st_job *job = NULL;
        status = load_plan(paths, view, i, &job, errors);
        if (status == ST_OK)
            status = find_band(paths, view, job, &bands[i], errors);
        bool equal = status != ST_OK || st_error_kind_equal(&bands[i].kind, &bands[0].kind);
        view->bands = equal ? view->bands : bands;
    }
    if (status == ST_OK && view->ranked_count > 0)
        view->band = bands[0];
    return status;
}
