/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that are as good as each other; see ties.h. */
#include "search/ties.h"

#include <math.h>

/* Notes by which keys two plans differ; false where one has more GPUs, or other values of what
 * varies in addition to the plan. */
static bool compare_plans(const st_search *search, uint64_t one, uint64_t other,
                          bool differs[ST_PARAMS])
{
    uint64_t repeat = search->space->total;
    double a[ST_PARAMS];
    double b[ST_PARAMS];
    double gpus[2] = {1, 1};
    for (size_t i = 0; i < search->space->axis_count; i++)
        if (!st_search_is_tried(search, i) && st_space_digit(search->space, i, one % repeat) !=
                                                  st_space_digit(search->space, i, other % repeat))
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

bool st_search_is_near(double a, double b, double share)
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
        if (!is_part &&
            !st_search_is_near(a[i], b[i], is_number ? view->search->request.tie_frac : 0))
            return false;
    }
    return true;
}

bool st_search_are_tied(const st_search_view *view, size_t one, size_t other,
                        bool differs[ST_PARAMS])
{
    size_t cells = view->detail.space->cell_count;
    return view->plans[one].too_large == view->plans[other].too_large &&
           are_tied(view, view->ranking + one * cells, view->ranking + other * cells) &&
           compare_plans(view->search, view->plans[one].row, view->plans[other].row, differs);
}
