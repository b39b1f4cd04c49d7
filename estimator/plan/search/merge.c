/* SPDX-License-Identifier: Apache-2.0 */
/* Merging plans that tie; see merge.h. */
#include "search/merge.h"

#include <math.h>
#include <string.h>

typedef struct merger {
    st_search_view *view;
    double *values; /* of the cells of the plans that are kept */
    st_found *kept;
    uint64_t *equals;
    size_t count;
} merger;

/* Notes by which keys two plans differ; false where one has more GPUs, or other values of what
 * varies beside the plan. */
static bool compare_plans(const st_search *search, uint64_t one, uint64_t other,
                          bool differs[ST_PARAMS])
{
    uint64_t repeat = search->space->total;
    double a[ST_PARAMS];
    double b[ST_PARAMS];
    double gpus[2] = {1, 1};
    if (one % repeat != other % repeat)
        return false;
    st_plan_at(&search->plans, one / repeat, a);
    st_plan_at(&search->plans, other / repeat, b);
    for (size_t i = ST_PARAM_TP; i <= ST_PARAM_DP; i++) {
        gpus[0] *= a[i];
        gpus[1] *= b[i];
    }
    for (size_t i = 0; i < ST_PARAMS; i++)
        differs[i] = a[i] != b[i];
    return gpus[0] == gpus[1];
}

/* Equal, both nothing, or apart by no more than a share of the greater one. */
static bool is_near(double a, double b, double share)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= share * fmax(fabs(a), fabs(b));
}

/* Of the goal, what is shown and the memory. */
static bool are_tied(const st_search_view *view, const double *a, const double *b)
{
    const st_space *space = view->detail.space;
    for (size_t i = 0; i < space->cell_count; i++) {
        bool is_part = i >= view->part_from && i < view->part_from + view->part_count;
        bool is_number = space->types[i]->kind == ST_TYPE_NUMBER;
        if (!is_part && !is_near(a[i], b[i], is_number ? view->search->request.tie_frac : 0))
            return false;
    }
    return true;
}

/* The plan is one of those that are kept, or as good as it. */
static bool is_merged(merger *self, const st_found *one, const double *values)
{
    st_search_view *view = self->view;
    size_t cells = view->detail.space->cell_count;
    for (size_t i = 0; i < self->count; i++) {
        bool differs[ST_PARAMS] = {false};
        if (self->kept[i].too_large != one->too_large ||
            !are_tied(view, self->values + i * cells, values) ||
            !compare_plans(view->search, self->kept[i].row, one->row, differs))
            continue;
        self->equals[i]++;
        view->merged++;
        for (size_t k = 0; k < ST_PARAMS; k++)
            view->tied_by[k] = view->tied_by[k] || differs[k];
        return true;
    }
    return false;
}

/* A plan that was not ranked may still be as good as one that is shown. */
static bool may_be_more(const st_search_view *view, const merger *self)
{
    const st_results *found = &view->result->found;
    size_t ranked = found->ranking_count;
    return ranked == found->top && self->count > 0 &&
           is_near(found->ranking[ranked - 1].goal, self->kept[self->count - 1].goal,
                   view->search->request.tie_frac);
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
            continue; /* what follows may be as good as one that is listed */
        memcpy(self.values + self.count * cells, values, cells * sizeof *values);
        self.kept[self.count++] = found->ranking[i];
    }
    view->ranking = self.values;
    view->ranked = self.kept;
    view->ranked_count = self.count;
    view->equals = self.equals;
    view->more_ties = search->request.merges && may_be_more(view, &self);
    return true;
}
