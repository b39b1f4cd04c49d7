/* SPDX-License-Identifier: Apache-2.0 */
/* Merging equal plans; see merge.h. */
#include "search/merge.h"

#include <string.h>

typedef struct merger {
    st_search_view *view;
    double *values; /* of the cells of the plans that are kept */
    st_found *kept;
    uint64_t *equals;
    size_t count;
} merger;

/* Keys by which two plans of one shape differ; false where they are of different shapes. */
static bool compare_plans(const st_search *search, uint64_t one, uint64_t other,
                          bool differs[ST_PARAMS])
{
    uint64_t repeat = search->space->total;
    double a[ST_PARAMS];
    double b[ST_PARAMS];
    if (one % repeat != other % repeat)
        return false;
    st_plan_at(&search->plans, one / repeat, a);
    st_plan_at(&search->plans, other / repeat, b);
    for (size_t i = 0; i < ST_PARAMS; i++) {
        differs[i] = a[i] != b[i];
        if (i < ST_PARAM_VIRTUAL && differs[i])
            return false;
    }
    return true;
}

/* The plan is one of those that are kept. */
static bool is_merged(merger *self, const st_found *one, const double *values)
{
    st_search_view *view = self->view;
    size_t cells = view->detail.space->cell_count;
    for (size_t i = self->count; i-- > 0 && self->kept[i].goal == one->goal;) {
        bool differs[ST_PARAMS] = {false};
        if (memcmp(self->values + i * cells, values, cells * sizeof *values) != 0 ||
            !compare_plans(view->search, self->kept[i].row, one->row, differs))
            continue;
        self->equals[i]++;
        view->merged++;
        for (size_t k = 0; k < ST_PARAMS; k++)
            view->effectless[k] = view->effectless[k] || differs[k];
        return true;
    }
    return false;
}

bool st_search_merge(st_search_view *view)
{
    const st_search *search = view->search;
    const st_results *found = &view->result->found;
    st_arena *arena = search->space->arena;
    size_t cells = view->detail.space->cell_count;
    size_t most = found->ranking_count + 1;
    merger self = {.view = view,
                   .values = st_arena_alloc(arena, most * cells, sizeof *self.values),
                   .kept = st_arena_alloc(arena, most, sizeof *self.kept),
                   .equals = st_arena_alloc(arena, most, sizeof *self.equals)};
    if (self.values == NULL || self.kept == NULL || self.equals == NULL)
        return false;
    for (size_t i = 0; i < found->ranking_count; i++) {
        const double *values = view->ranking + i * cells;
        if (search->request.merges && is_merged(&self, &found->ranking[i], values))
            continue;
        if (self.count == search->request.top)
            break;
        memcpy(self.values + self.count * cells, values, cells * sizeof *values);
        self.kept[self.count++] = found->ranking[i];
    }
    view->ranking = self.values;
    view->ranked = self.kept;
    view->ranked_count = self.count;
    view->equals = self.equals;
    return true;
}
