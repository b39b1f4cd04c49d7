/* SPDX-License-Identifier: Apache-2.0 */
/* Replays of the best plans; see confirm.h. */
#include "search/confirm.h"

#include "base/lists.h"
#include "base/memory.h"
#include "search/search_state.h"
#include "search/ties.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Closed form and replay that differ by less agree. */
#define AGREEMENT 1e-3

typedef struct confirmer {
    const st_paths *paths;
    st_search_view *view;
    st_replayed *replays; /* by plan */
    size_t count;
    double best_s;
} confirmer;

/* --- one replay ------------------------------------------------------------------------------ */

/* The plan of a row as a timeline knows it; warnings of such a job were reported before. */
static st_status lay_out(const st_paths *paths, const st_search *search, uint64_t row,
                         st_arena *arena, st_timeline_plan *plan, st_errors *faults)
{
    const st_space_request *space = &search->request.space;
    st_estimate *estimate = st_estimate_new(arena);
    size_t count = 0;
    const char *const *sets = st_search_settings(search, row, &count);
    if (estimate == NULL || sets == NULL)
        return ST_ERR_MEMORY;
    const st_request request = {.job = space->job,
                                .sheet = space->sheet,
                                .sets = sets,
                                .set_count = count,
                                .refine = space->refine,
                                .refine_count = space->refine_count,
                                .checks_warn = true};
    st_status status = st_estimate_load(paths, &request, arena, estimate, faults);
    return status == ST_OK ? st_timeline_plan_make(estimate, arena, plan, faults) : status;
}

/* Of a listed plan: what its two times are made of, where they differ. */
static st_status find_terms(const st_timeline_plan *plan, int64_t step, st_replayed *one,
                            st_errors *faults)
{
    int64_t term[ST_TERMS];
    if (fabs(one->step_s - one->closed_s) <= AGREEMENT * one->closed_s)
        return ST_OK;
    st_status status = st_timeline_find_terms(plan, plan->order, step, term, faults);
    for (int i = 0; i < ST_TERMS && status == ST_OK; i++) {
        one->term_s[0][i] = plan->term_s[i];
        one->term_s[1][i] = st_ticks_s(term[i]);
    }
    one->has_terms = status == ST_OK;
    return status;
}

static const char *first_fault(const st_errors *faults, st_arena *arena)
{
    for (size_t i = 0; i < st_errors_size(faults); i++) {
        const st_error *error = st_errors_at(faults, i);
        if (error->severity == ST_SEVERITY_ERROR)
            return st_arena_printf(arena, "%s", error->message);
    }
    return "no timeline";
}

/* A plan that has no timeline keeps its closed form. ST_ERR_MEMORY or ST_OK. */
static st_status replay(const st_paths *paths, const st_search *search, const st_found *found,
                        bool terms, st_replayed *one)
{
    int64_t step = 0;
    st_timeline_plan plan;
    st_arena *arena = st_arena_create();
    st_errors *faults = st_errors_create();
    st_status status = arena == NULL || faults == NULL ? ST_ERR_MEMORY : ST_OK;
    one->tried = true;
    if (status == ST_OK)
        status = lay_out(paths, search, found->row, arena, &plan, faults);
    if (status == ST_OK)
        status = st_timeline_step(&plan, &step, faults);
    if (status == ST_OK) {
        one->known = true;
        one->closed_s = plan.closed_s;
        one->step_s = st_ticks_s(step);
        status = terms ? find_terms(&plan, step, one, faults) : ST_OK;
    }
    if (status != ST_OK && status != ST_ERR_MEMORY) {
        one->why = first_fault(faults, search->space->arena);
        status = ST_OK;
    }
    st_errors_destroy(faults);
    st_arena_destroy(arena);
    return status;
}

/* --- all of them ----------------------------------------------------------------------------- */

static st_status take(confirmer *self, size_t index)
{
    st_replayed *one = &self->replays[index];
    st_confirmation *done = &self->view->confirmation;
    st_status status =
        replay(self->paths, self->view->search, &self->view->plans[index], false, one);
    done->replayed++;
    self->best_s = fmin(self->best_s, one->step_s);
    if (one->known)
        done->margin = fmax(done->margin, 1 - one->step_s / one->closed_s);
    return status;
}

static bool ties_with_replayed(const confirmer *self, size_t index)
{
    bool differs[ST_PARAMS];
    for (size_t i = 0; i < index; i++)
        if (self->replays[i].tried && st_search_are_tied(self->view, i, index, differs))
            return true;
    return false;
}

/* The first plans in closed form, as many as are asked for, without those that tie. */
static st_status take_first(confirmer *self)
{
    const st_search_request *request = &self->view->search->request;
    size_t listed = request->top < ST_CONFIRM_LISTED ? request->top : ST_CONFIRM_LISTED;
    size_t wanted = request->confirm > listed ? request->confirm : listed;
    st_status status = ST_OK;
    for (size_t i = 0; i < self->count && wanted > 0 && status == ST_OK; i++) {
        if (request->merges && ties_with_replayed(self, i))
            continue;
        status = take(self, i);
        wanted--;
    }
    return status;
}

/* Whether a plan without a replay may have one below the best. */
static bool may_be_best(const confirmer *self, size_t index)
{
    const st_replayed *one = &self->replays[index];
    double share = 1 - self->view->confirmation.margin;
    return !one->tried && one->closed_s * share < self->best_s;
}

static st_status take_others(confirmer *self)
{
    st_confirmation *done = &self->view->confirmation;
    st_status status = ST_OK;
    for (size_t i = 0; i < self->count && status == ST_OK; i++)
        if (may_be_best(self, i) && done->replayed < ST_CONFIRM_MOST)
            status = take(self, i);
    for (size_t i = 0; i < self->count; i++)
        done->open += may_be_best(self, i) ? 1 : 0;
    return status;
}

/* --- order ----------------------------------------------------------------------------------- */

typedef struct place {
    const st_replayed *replayed;
    const st_found *plan;
    size_t index;
} place;

/* Replayed plans by their replays, then the others as they were. */
static int order_places(const void *a, const void *b)
{
    const place *one = a;
    const place *other = b;
    if (one->replayed->tried != other->replayed->tried)
        return one->replayed->tried ? -1 : 1;
    if (one->replayed->tried && one->replayed->step_s != other->replayed->step_s)
        return one->replayed->step_s < other->replayed->step_s ? -1 : 1;
    return one->index < other->index ? -1 : 1;
}

static st_status order_plans(confirmer *self)
{
    st_search_view *view = self->view;
    st_arena *arena = view->search->space->arena;
    size_t cells = view->detail.space->cell_count;
    place *places = st_arena_alloc(arena, self->count + 1, sizeof *places);
    st_found *plans = st_arena_alloc(arena, self->count + 1, sizeof *plans);
    st_replayed *replays = st_arena_alloc(arena, self->count + 1, sizeof *replays);
    double *values = st_arena_alloc(arena, (self->count + 1) * cells, sizeof *values);
    if (places == NULL || plans == NULL || replays == NULL || values == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < self->count; i++)
        places[i] = (place){&self->replays[i], &view->plans[i], i};
    st_sort(places, self->count, sizeof *places, order_places);
    for (size_t i = 0; i < self->count; i++) {
        plans[i] = *places[i].plan;
        replays[i] = *places[i].replayed;
        memcpy(values + i * cells, view->ranking + places[i].index * cells, cells * sizeof *values);
    }
    view->plans = plans;
    view->replays = replays;
    view->ranking = values;
    return ST_OK;
}

/* Whether replays give what is to be ranked. */
static bool can_rank(const st_search *search)
{
    return search->request.confirm > 0 && st_search_keeps_bounds(search, search->space->sheet);
}

st_status st_search_confirm(const st_paths *paths, st_search_view *view, st_errors *errors)
{
    const st_search *search = view->search;
    size_t count = view->result->found.ranking_count;
    st_replayed *replays = st_arena_alloc(search->space->arena, count + 1, sizeof *replays);
    confirmer self = {paths, view, replays, count, (double)INFINITY};
    if (replays == NULL)
        return st_out_of_memory(errors);
    view->replays = replays;
    for (size_t i = 0; i < count; i++)
        replays[i].step_s = replays[i].closed_s = view->plans[i].goal;
    view->confirmation.ranks = can_rank(search);
    if (!view->confirmation.ranks)
        return ST_OK;
    st_status status = take_first(&self);
    if (status == ST_OK)
        status = take_others(&self);
    return status == ST_OK ? order_plans(&self) : status;
}

st_status st_search_explain_replays(const st_paths *paths, st_search_view *view, st_errors *errors)
{
    const st_search *search = view->search;
    st_replayed *replays =
        st_arena_alloc(search->space->arena, view->ranked_count + 1, sizeof *replays);
    bool none = search->request.confirm == 0 || !st_timeline_has_roles(search->space->sheet);
    st_status status = ST_OK;
    if (replays == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < view->ranked_count && status == ST_OK; i++) {
        const st_replayed *before = &view->replays[i];
        bool differs =
            before->known && fabs(before->step_s - before->closed_s) > AGREEMENT * before->closed_s;
        replays[i] = *before;
        if (!none && (differs || (!before->tried && i < search->request.confirm)))
            status = replay(paths, search, &view->ranked[i], true, &replays[i]);
    }
    view->replays = replays;
    return status;
}

st_term st_replayed_differs_by(const st_replayed *one)
{
    int most = ST_TERMS;
    double largest = 0;
    for (int i = 0; i < ST_TERMS && one->has_terms; i++) {
        double gap = fabs(one->term_s[1][i] - one->term_s[0][i]);
        most = gap > largest ? i : most;
        largest = fmax(gap, largest);
    }
    return (st_term)most;
}
