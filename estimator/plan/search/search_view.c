/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown of a search, computed: the ranking without ties, the parts of each value, how far
 * such estimates have been off, and what the nearest plan lacks. */
#include "base/dimension.h"
#include "base/error_scope.h"
#include "base/memory.h"
#include "base/text.h"
#include "steptime/tool/job_write.h"
#include "plugin/refine_parse.h"
#include "search/fixed_params.h"
#include "search/search_state.h"
#include "search/ties.h"
#include "sheet/type_write.h"
#include "steptime/keys.h"
#include "steptime/tool/roles.h"
#include "sweep/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct merger {
    st_search_view *view;
    size_t *kept; /* places in the ranking */
    uint64_t *equals;
    size_t count;
} merger;

/* Notes by which axes two plans that tie differ. */
static void note_axes(st_search_view *view, uint64_t one, uint64_t other)
{
    const st_space *space = view->search->space;
    for (size_t i = 0; i < space->axis_count; i++)
        if (st_space_digit(space, i, one % space->total) !=
            st_space_digit(space, i, other % space->total))
            view->tied_by_axis[i] = true;
}

/* The plan is one of those that are kept, or as good as it, also by its replay. */
static bool is_merged(merger *self, size_t index)
{
    st_search_view *view = self->view;
    const st_replayed *own = &view->replays[index];
    for (size_t i = 0; i < self->count; i++) {
        bool differs[ST_PARAMS] = {false};
        const st_replayed *kept = &view->replays[self->kept[i]];
        if ((own->known && kept->known &&
             !st_search_is_near(own->step_s, kept->step_s, view->search->request.tie_frac)) ||
            !st_search_are_tied(view, self->kept[i], index, differs))
            continue;
        self->equals[i]++;
        view->merged++;
        for (size_t k = 0; k < ST_PARAMS; k++)
            view->tied_by[k] = view->tied_by[k] || differs[k];
        note_axes(view, view->plans[self->kept[i]].row, view->plans[index].row);
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
           st_search_is_near(found->ranking[ranked - 1].goal,
                             view->plans[self->kept[self->count - 1]].goal,
                             view->search->request.tie_frac);
}

/* The plans that are shown, with their values, alone. */
static bool keep(merger *self)
{
    st_search_view *view = self->view;
    st_arena *arena = view->search->space->arena;
    size_t cells = view->detail.space->cell_count;
    double *values = st_arena_alloc(arena, (self->count + 1) * cells, sizeof *values);
    st_found *ranked = st_arena_alloc(arena, self->count + 1, sizeof *ranked);
    st_replayed *replays = st_arena_alloc(arena, self->count + 1, sizeof *replays);
    if (values == NULL || ranked == NULL || replays == NULL)
        return false;
    for (size_t i = 0; i < self->count; i++) {
        size_t from = self->kept[i];
        memcpy(values + i * cells, view->ranking + from * cells, cells * sizeof *values);
        ranked[i] = view->plans[from];
        replays[i] = view->replays[from];
    }
    view->ranking = values;
    view->ranked = ranked;
    view->ranked_count = self->count;
    view->replays = replays;
    view->equals = self->equals;
    return true;
}

/*
 * Picks what is shown of a ranking whose cells are computed (view->ranking): the first of plans
 * that tie, and how many tie with it. Plans tie that take as many GPUs and differ in no shown cell,
 * not in their memory and not in their replay by more than the share `tie_frac` of the request;
 * their parts may. Where replays rank, a plan without one is only counted. False when out of
 * memory.
 */
static bool merge_ties(st_search_view *view)
{
    const st_search *search = view->search;
    size_t count = view->result->found.ranking_count;
    st_arena *arena = search->space->arena;
    merger self = {.view = view,
                   .kept = st_arena_alloc(arena, count + 1, sizeof *self.kept),
                   .equals = st_arena_alloc(arena, count + 1, sizeof *self.equals)};
    if (self.kept == NULL || self.equals == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        bool waits = view->confirmation.ranks && !view->replays[i].tried &&
                     search->request.top <= ST_CONFIRM_LISTED;
        if (search->request.merges && is_merged(&self, i))
            continue;
        if (self.count < search->request.top && !waits)
            self.kept[self.count++] = i; /* what follows may be as good as one that is listed */
    }
    view->more_ties = search->request.merges && may_be_more(view, &self);
    return keep(&self);
}

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

/* How far estimates of the ranked plans\' kinds have been off. */
static st_status find_bands(const st_paths *paths, st_search_view *view, st_errors *errors)
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
        "Plan %zu of 'steptime search %s', %s %s: the estimate of\nthis file has the same values.",
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

/* What is worth a column next to the goal, where the sheet has it. */
static const st_role usual[] = {ST_ROLE_STEP, ST_ROLE_MFU, ST_ROLE_MEMORY, ST_ROLE_COST,
                                ST_ROLE_ENERGY};

/* --- values ---------------------------------------------------------------------------------- */

/* The section of the report that shows the goal. */
static const st_sheet_section *section_of(const st_sheet *sheet, const char *cell)
{
    size_t count = 0;
    const st_sheet_section *sections = st_sheet_sections(sheet, &count);
    for (size_t i = 0; i < count; i++)
        if (st_has_text(sections[i].cells, sections[i].count, cell))
            return &sections[i];
    return NULL;
}

/* Cells of a cell's section and type: its parts. */
static void list_parts(st_search_view *view, const st_sheet *sheet, const char *whole,
                       const st_sheet_section *section)
{
    const st_sheet_cell *own = st_sheet_find_cell(sheet, whole);
    for (size_t i = 0; own != NULL && section != NULL && i < section->count; i++) {
        const st_sheet_cell *cell = st_sheet_find_cell(sheet, section->cells[i]);
        if (cell != NULL && cell != own && cell->type.kind == ST_TYPE_NUMBER &&
            st_dimension_equal(cell->type.unit.dimension, own->type.unit.dimension) &&
            !st_dimension_is_number(cell->type.unit.dimension) &&
            view->part_count < ST_SEARCH_MAX_PARTS)
            view->parts[view->part_count++] = cell->name;
    }
}

/* The cell of a role, where the sheet fills it and the list lacks it. */
static void add_role(const st_sheet *sheet, st_role role, const char **list, size_t *count)
{
    const char *cell = st_sheet_role(sheet, role);
    if (cell != NULL && !st_has_text(list, *count, cell))
        list[(*count)++] = cell;
}

/* The goal, the front's cells, the usual ones, the parts; last what is not shown. */
static st_status list_cells(st_search_view *view, const char ***cells, size_t *count)
{
    const st_sheet *sheet = view->search->space->base.sheet;
    st_arena *arena = view->search->space->arena;
    size_t most = ST_SEARCH_MAX_PARTS + 16 + view->search->request.cell_count;
    const char **list = st_arena_alloc(arena, most, sizeof *list);
    view->parts = st_arena_alloc(arena, ST_SEARCH_MAX_PARTS, sizeof *view->parts);
    if (list == NULL || view->parts == NULL)
        return ST_ERR_MEMORY;
    list[(*count)++] = view->search->goal;
    for (size_t i = 0; i < 2 && view->search->request.front[i] != NULL; i++)
        if (!st_has_text(list, *count, view->search->request.front[i]))
            list[(*count)++] = view->search->request.front[i];
    const st_search_request *request = &view->search->request;
    for (size_t i = 0; i < request->cell_count; i++)
        if (!st_has_text(list, *count, request->cells[i]))
            list[(*count)++] = request->cells[i];
    for (size_t i = 0; request->cell_count == 0 && i < sizeof usual / sizeof usual[0]; i++)
        add_role(sheet, usual[i], list, count);
    for (size_t i = 0; i < view->search->request.also_count; i++)
        add_role(sheet, view->search->request.also[i], list, count);
    /* The parts of the goal, and those of the step time where that is not minimised. */
    const char *time = st_search_default_goal(sheet);
    const char *goal = view->search->goal;
    size_t all_count = 0;
    const st_sheet_section *own = section_of(sheet, goal);
    const st_sheet_section *first = st_sheet_sections(sheet, &all_count);
    const st_sheet_section *times = time != NULL ? section_of(sheet, time) : NULL;
    if (times == NULL && all_count > 0)
        times = first; /* the step time goes by another name there */
    own = time != NULL && strcmp(goal, time) == 0 ? times : own;
    list_parts(view, sheet, goal, own);
    view->own_parts = view->part_count;
    if (time != NULL && own != times) {
        list_parts(view, sheet, time, times);
        view->whole = time;
    }
    view->part_from = *count;
    for (size_t i = 0; i < view->part_count; i++)
        list[(*count)++] = view->parts[i];
    add_role(sheet, ST_ROLE_MEMORY, list, count); /* which distinguishes plans, shown or not */
    *cells = list;
    return ST_OK;
}

static st_status compute(st_search_view *view, const st_found *found, size_t count,
                         const double **values)
{
    st_arena *arena = view->search->space->arena;
    uint64_t *picks = st_arena_alloc(arena, count + 1, sizeof *picks);
    double *list =
        st_arena_alloc(arena, (count + 1) * view->detail.space->cell_count, sizeof *list);
    if (picks == NULL || list == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        picks[i] = found[i].row;
    *values = list;
    return st_search_values(&view->detail, picks, count, list);
}

/* Collects errors and warnings of an estimate of a plan; ST_ERR_MEMORY or ST_OK. */
static st_status estimate_plan(const st_paths *paths, const st_search *search, size_t row,
                               bool has_nearest, st_errors *faults)
{
    const st_space_request *space = &search->request.space;
    st_arena *arena = search->space->arena;
    size_t count = 0;
    const char *const *plan = st_search_sets(search, row, has_nearest, &count);
    const char **sets = st_arena_alloc(arena, space->set_count + count + 1, sizeof *sets);
    st_estimate estimate;
    if (plan == NULL || sets == NULL)
        return ST_ERR_MEMORY;
    memcpy(sets, space->sets, space->set_count * sizeof *sets);
    memcpy(sets + space->set_count, plan, count * sizeof *sets);
    st_request request = {.job = space->job,
                          .sheet = space->sheet,
                          .sets = sets,
                          .set_count = space->set_count + count,
                          .refine = space->refine,
                          .refine_count = space->refine_count};
    st_status status = st_estimate_load(paths, &request, arena, &estimate, faults);
    if (status == ST_OK) {
        estimate.sheet = search->space->sheet; /* with the conditions */
        status = st_estimate_show_names(&estimate, &search->goal, 1, (st_place){0}, arena, faults);
    }
    if (status == ST_OK)
        status = st_estimate_run(&estimate, arena, faults);
    return status == ST_ERR_MEMORY ? status : ST_OK;
}

/* Of a search that found nothing: the plan that is nearest to fitting, or what does not divide. */
static st_status compute_nearest(const st_paths *paths, st_search_view *view)
{
    const st_search *search = view->search;
    const st_results *found = &view->result->found;
    if (found->has_nearest) {
        st_status status = compute(view, &found->nearest, 1, &view->nearest);
        if (status != ST_OK)
            return status;
        /* The errors of the plan that is nearest to fitting, as its estimate reports them. */
        st_arena *arena = search->space->arena;
        st_errors *faults = st_errors_create();
        view->miss = "";
        st_status miss_status =
            faults != NULL
                ? estimate_plan(paths, search, view->result->found.nearest.row, true, faults)
                : ST_ERR_MEMORY;
        for (size_t i = 0; miss_status == ST_OK && i < st_errors_size(faults); i++) {
            const st_error *error = st_errors_at(faults, i);
            view->too_large = view->too_large || error->severity == ST_SEVERITY_LIMIT;
            if (error->severity != ST_SEVERITY_WARNING)
                st_text_add(arena, &view->miss, "; ", "%s", error->message);
        }
        st_errors_destroy(faults);
        if (view->miss != NULL && view->miss[0] == '\0')
            view->miss = st_reason_text(search->space, st_reason_infeasible(search->space));
        return miss_status == ST_OK && view->miss != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    if (search->plans.count > 0 || !search->plans.miss.given)
        return ST_OK;
    view->miss = st_plan_miss_text(&search->wanted, &search->plans.miss, search->space->arena);
    return view->miss != NULL ? ST_OK : ST_ERR_MEMORY;
}

st_status st_search_view_make(const st_paths *paths, const st_search *search,
                              const st_search_result *result, st_search_view *view,
                              st_errors *errors)
{
    size_t count = 0;
    const char **cells = NULL;
    *view = (st_search_view){.search = search, .result = result, .plans = result->found.ranking};
    st_status status = list_cells(view, &cells, &count);
    if (status == ST_OK)
        status = st_search_with_cells(paths, search, cells, count, &view->detail, errors);
    if (status == ST_OK) {
        st_search_keep_own(view->detail.space);
        /* Only what is listed is worth its replay. */
        view->detail.space->request.keeps_bounds = true;
        status = compute(view, result->found.ranking, result->found.ranking_count, &view->ranking);
    }
    if (status == ST_OK) {
        /* A ranking by an unknown cost is meaningless. */
        const st_search *known_search = view->search;
        bool is_known = view->result->found.ranking_count == 0 ||
                        !isnan(st_sheet_known(known_search->space->sheet, known_search->goal,
                                              view->ranking[0]));
        status = is_known
                     ? ST_OK
                     : st_fail(errors, ST_ERR_USAGE, (st_place){.file = "--minimise"},
                               "unknown %s: neither the cluster nor its GPU has a price" ST_EXPECTED
                               "--set 'cluster.price=2.5 $/h', or price: in the file of the GPU",
                               known_search->goal);
    }
    if (status == ST_OK)
        status = st_search_confirm(paths, view, errors);
    if (status == ST_OK && !merge_ties(view))
        status = ST_ERR_MEMORY;
    if (status == ST_OK)
        status = st_search_explain_replays(paths, view, errors);
    if (status == ST_OK) {
        view->detail.space->request.keeps_bounds = false;
        status = compute(view, view->ranked, view->ranked_count, &view->ranking);
    }
    if (status == ST_OK)
        status = find_bands(paths, view, errors);
    if (status == ST_OK)
        status = compute(view, result->found.front, result->found.front_count, &view->front);
    if (status == ST_OK)
        status = compute_nearest(paths, view);
    if (status == ST_OK) {
        /* What the sheet's checks warn of in the first plan: its rank is no better than their
         * cause. */
        st_errors *faults = st_errors_create();
        status = faults == NULL ? ST_ERR_MEMORY
                 : view->ranked_count == 0
                     ? ST_OK
                     : estimate_plan(paths, view->search, view->ranked[0].row, false, faults);
        for (size_t i = 0; status == ST_OK && i < st_errors_size(faults); i++) {
            const st_error *one = st_errors_at(faults, i);
            if (one->severity == ST_SEVERITY_WARNING && one->status == ST_ERR_CHECK)
                st_report(errors, ST_SEVERITY_WARNING, ST_ERR_CHECK, one->place, "plan 1: %s",
                          one->message);
        }
        st_errors_destroy(faults);
    }
    if (status != ST_OK)
        st_fail(errors, status, (st_place){0}, "%s", st_status_text(status));
    return status;
}
