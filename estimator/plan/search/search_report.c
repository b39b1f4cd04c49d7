/* SPDX-License-Identifier: Apache-2.0 */
/* What a search shows: the ranking with the parts of each value, the front, what was rejected. */
#include "base/dimension.h"
#include "base/error_scope.h"
#include "base/memory.h"
#include "base/text.h"
#include "job/job_write.h"
#include "plugin/refine_parse.h"
#include "search/fixed_params.h"
#include "search/search_state.h"
#include "sheet/type_write.h"
#include "steptime/keys.h"
#include "steptime/tool/roles.h"
#include "sweep/sweep.h"

#include <inttypes.h>
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
 * varies in addition to the plan. */
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

/*
 * Picks what is shown of a ranking whose cells are computed (view->ranking): the first of plans
 * that tie, and how many tie with it. Plans tie that take as many GPUs and differ in no shown cell
 * and not in their memory by more than the share `tie_frac` of the request; their parts may. False
 * when out of memory.
 */
static bool merge_ties(st_search_view *view)
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
    *view = (st_search_view){.search = search, .result = result};
    st_status status = list_cells(view, &cells, &count);
    if (status == ST_OK)
        status = st_search_with_cells(paths, search, cells, count, &view->detail, errors);
    if (status == ST_OK) {
        st_search_keep_own(view->detail.space);
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
    if (status == ST_OK && !merge_ties(view))
        status = ST_ERR_MEMORY;
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

/* --- plans that were found ------------------------------------------------------------------- */

static size_t shown_cells(const st_search_view *view)
{
    return view->part_from + view->part_count;
}

/* A list of plans; what text and CSV show of a row has a name of its own. */
typedef struct found_rows {
    const st_search_view *view;
    const st_found *found;
    size_t count;
    const double *values;
    const char **keys;       /* of all that a plan sets */
    const char **key_fields; /* ".plan KEY" */
    size_t key_count;
    const char **cell_fields; /* ".cell NAME" */
} found_rows;

static void put_value(st_node *node, const char *key, const st_type *type, double value)
{
    bool known =
        type->kind != ST_TYPE_ENUM || (value >= 0 && value < (double)type->enumeration->count);
    if (type->kind == ST_TYPE_NUMBER)
        st_put_quantity(node, key, value, &type->unit);
    else if (!known || !isfinite(value))
        st_put_null(node, key);
    else if (type->kind == ST_TYPE_BOOL)
        st_put_bool(node, key, value != 0);
    else
        st_put_text(node, key, type->enumeration->values[(size_t)value]);
}

/* Names and values of a plan under other keys; NULL: under their own. */
static void put_plan(const st_search_view *view, uint64_t row, const char *const *fields,
                     st_node *node)
{
    st_arena *arena = view->search->space->arena;
    size_t count = 0;
    const char *const *sets = st_search_sets(view->search, row, true, &count);
    for (size_t i = 0; sets != NULL && i < count; i++) {
        size_t length = strcspn(sets[i], "=");
        const char *key = fields != NULL ? fields[i] : st_arena_copy(arena, sets[i], length);
        st_put_text(node, st_or_none(key), sets[i] + length + 1);
    }
}

/* "--set KEY=VALUE --set ..." as a shell takes it, on a line behind a label. */
static void say_settings_of(st_node *root, const char *label, const char *const *sets, size_t count)
{
    st_buffer line = {0};
    for (size_t i = 0; i < count; i++) {
        st_buffer_text(&line, i > 0 ? " --set " : "--set ");
        st_text_shell(sets[i], &line);
    }
    st_say(root, "  %s%s\n", label, st_buffer_read(&line));
    st_buffer_end(&line, &root->result->failed);
}

static void fill_found(const void *context, size_t index, st_node *row)
{
    const found_rows *rows = context;
    const st_space *space = rows->view->detail.space;
    const double *values = rows->values + index * space->cell_count;
    put_plan(rows->view, rows->found[index].row, rows->keys, st_put_map(row, "plan"));
    /* What makes an estimate of the job one of this plan; of the ranking also what equals it. */
    size_t count = 0;
    const char *const *sets =
        st_search_settings(rows->view->search, rows->found[index].row, &count);
    st_node *list = st_put_line_list(row, "set");
    for (size_t i = 0; sets != NULL && i < count; i++)
        st_put_text(list, NULL, sets[i]);
    if (rows->found == rows->view->ranked) {
        st_put_count(row, "equal", rows->view->equals[index]);
        st_put_bool(row, "fits", !rows->found[index].too_large);
        st_put_text(row, ".fits", rows->found[index].too_large ? "TOO LARGE" : "yes");
    }
    if (rows->found == rows->view->ranked && rows->view->bands != NULL) {
        const st_error_band *band = &rows->view->bands[index];
        st_error_band_put(band, row);
        st_put_text(row, ".error", st_error_band_short(band, rows->view->search->space->arena));
    }
    st_node *cells = st_put_map(row, "cells");
    for (size_t i = 0; i < shown_cells(rows->view); i++) {
        double value = st_sheet_known(space->sheet, space->cells[i], values[i]);
        put_value(cells, space->cells[i], space->types[i], value);
        put_value(row, rows->cell_fields[i], space->types[i], value);
    }
    st_put_count(row, ".rank", index + 1);
    put_plan(rows->view, rows->found[index].row, rows->key_fields, row);
}

/* NULL when out of memory. */
static found_rows *make_rows(const st_search_view *view, const st_found *found, size_t count,
                             const double *values)
{
    const st_space *space = view->detail.space;
    st_arena *arena = space->arena;
    size_t keys = 0;
    const char *const *sets =
        count > 0 ? st_search_sets(view->search, found[0].row, true, &keys) : NULL;
    found_rows *made = st_arena_alloc(arena, 1, sizeof *made);
    if (made == NULL || (count > 0 && sets == NULL))
        return NULL;
    *made = (found_rows){
        .view = view, .found = found, .count = count, .values = values, .key_count = keys};
    made->keys = st_arena_alloc(arena, keys + 1, sizeof *made->keys);
    made->key_fields = st_arena_alloc(arena, keys + 1, sizeof *made->key_fields);
    made->cell_fields = st_arena_alloc(arena, space->cell_count + 1, sizeof *made->cell_fields);
    bool good = made->keys != NULL && made->key_fields != NULL && made->cell_fields != NULL;
    for (size_t i = 0; good && i < keys; i++) {
        size_t length = strcspn(sets[i], "=");
        made->keys[i] = st_arena_copy(arena, sets[i], length);
        made->key_fields[i] = st_arena_printf(arena, ".plan %.*s", (int)length, sets[i]);
        good = made->keys[i] != NULL && made->key_fields[i] != NULL;
    }
    for (size_t i = 0; good && i < space->cell_count; i++) {
        made->cell_fields[i] = st_arena_printf(arena, ".cell %s", space->cells[i]);
        good = made->cell_fields[i] != NULL;
    }
    return good ? made : NULL;
}

/* Columns of a table as they are chosen: one list of titles and fields. */
typedef struct shown_columns {
    st_arena *arena;
    st_table_column *columns;
    size_t count;
    const char *fields;
} shown_columns;

static void show_column(shown_columns *shown, const char *title, const char *field)
{
    const st_table_column column = {.title = title, .right = true};
    (void)ST_APPEND(shown->arena, shown->columns, shown->count, column);
    st_text_add(shown->arena, &shown->fields, ",", "%s", field);
}

typedef struct cell_span {
    size_t from;
    size_t to;
} cell_span;

/* A table of some cells, and of the plans unless it shows parts. */
static void say_found(st_node *node, const found_rows *rows, const st_node *list, cell_span cells,
                      bool ranked, bool plans)
{
    const st_space *space = rows->view->detail.space;
    shown_columns shown = {.arena = node->result->arena, .fields = ""};
    if (ranked) {
        /* What a ranking says of each plan as a whole. */
        const st_search_view *view = rows->view;
        show_column(&shown, "rank", ".rank");
        if (view->search->request.all)
            show_column(&shown, "fits", ".fits");
        if (plans && view->merged > 0)
            show_column(&shown, "ties", "equal");
        if (plans && view->bands != NULL)
            show_column(&shown, "error", ".error");
    }
    for (size_t i = cells.from; i < cells.to; i++) {
        double first = rows->count > 0 ? rows->values[i] : 1;
        if (!isnan(st_sheet_known(space->sheet, space->cells[i], first)))
            show_column(&shown, space->cells[i], rows->cell_fields[i]);
    }
    if (plans) {
        /* The keys that plans differ by, or that are not as in the job. */
        size_t count = 0;
        const char *const *sets =
            st_search_sets(rows->view->search, rows->found[0].row, false, &count);
        for (size_t i = 0, key = 0; sets != NULL && i < count && key < rows->key_count; key++) {
            size_t length = strlen(rows->keys[key]);
            if (strncmp(sets[i], rows->keys[key], length) == 0 && sets[i][length] == '=') {
                show_column(&shown, st_last_part(rows->keys[key], '.'), rows->key_fields[key]);
                i++;
            }
        }
    }
    st_table_show(st_say_table(node, shown.columns, shown.count, 2), list,
                  st_or_none(shown.fields));
}

static void say_ranking(st_node *root, const found_rows *rows, const st_node *list)
{
    const st_search_view *view = rows->view;
    size_t parts = view->part_from;
    size_t own = parts + view->own_parts;
    st_say(root, "\nRanking\n");
    say_found(root, rows, list, (cell_span){0, parts}, true, true);
    const char *keys = "";
    for (st_plan_param param = ST_PARAM_NODES; param < ST_PARAMS; param++)
        if (view->tied_by[param])
            st_text_add(root->result->arena, &keys, ", ", "%s",
                        st_last_part(st_plan_param_key(param), '.'));
    char number[ST_QUANTITY_TEXT];
    if (view->merged > 0)
        st_say(root,
               "\nNot listed: %s%" PRIu64 " plan%s with one of these (within %s %% in all "
               "columns and memory; --tie 0 lists each), by other %s\n",
               view->more_ties ? "at least " : "", view->merged,
               view->merged == 1 ? " that ties" : "s that tie",
               st_number_format(100 * view->search->request.tie_frac, number, sizeof number),
               st_or_none(keys));
    if (view->own_parts > 0) {
        st_say(root, "\nParts of %s\n", view->search->goal);
        say_found(root, rows, list, (cell_span){parts, own}, true, false);
    }
    if (view->part_count > view->own_parts) {
        st_say(root, "\nParts of %s\n", view->whole);
        say_found(root, rows, list, (cell_span){own, shown_cells(view)}, true, false);
    }
}

/* A line for each plan, to be copied behind 'steptime estimate JOB'. The search's own sets, which
 * share is shown once if it is long, as that of --model is. */
static void say_settings(const st_search_view *view, st_node *root)
{
    enum { FEW = 3 };
    size_t own = view->search->own_set_count;
    size_t apart = own > FEW && view->ranked_count > 1 ? own : 0;
    st_say(root, "\nSettings\n");
    if (apart > 0)
        say_settings_of(root, " all  ", view->search->request.space.sets, apart);
    for (size_t i = 0; i < view->ranked_count; i++) {
        size_t count = 0;
        char rank[24];
        const char *const *sets = st_search_settings(view->search, view->ranked[i].row, &count);
        snprintf(rank, sizeof rank, "%4zu  ", i + 1);
        if (sets != NULL)
            say_settings_of(root, rank, sets + apart, count - apart);
    }
}

/* --- the second plan ------------------------------------------------------------------------- */

static void say_gap(const st_search_view *view, size_t cell, st_node *root)
{
    char text[ST_QUANTITY_TEXT];
    const st_space *space = view->detail.space;
    double gap = view->ranking[space->cell_count + cell] - view->ranking[cell];
    st_say(root, "%s %s%s", space->cells[cell], gap < 0 ? "-" : "+",
           st_type_format(space->types[cell], fabs(gap), ST_STYLE_SCALED, text, sizeof text));
}

/* What the second plan has more of, and less, the largest first. */
static void say_runner_up(const st_search_view *view, st_node *root)
{
    enum { PARTS_NAMED = 5 };
    bool named[ST_SEARCH_MAX_PARTS] = {false};
    if (view->ranked_count < 2)
        return;
    if (view->ranking[view->detail.space->cell_count] == view->ranking[0]) {
        st_say(root, "\nThe second plan has the same %s\n", view->detail.space->cells[0]);
        return;
    }
    st_say(root, "\nThe second plan: ");
    say_gap(view, 0, root);
    for (size_t i = 0; i < PARTS_NAMED; i++) {
        /* The index of the part that differs most and was not named yet; SIZE_MAX: none is left
         * but what is rounding. */
        const st_space *space = view->detail.space;
        size_t part = SIZE_MAX;
        double most = 0;
        double least = 1e-9 * fabs(view->ranking[space->cell_count] - view->ranking[0]);
        for (size_t j = view->part_from; j < view->part_from + view->own_parts; j++) {
            double gap = fabs(view->ranking[space->cell_count + j] - view->ranking[j]);
            if (!named[j - view->part_from] && gap > most && gap > least) {
                most = gap;
                part = j;
            }
        }
        if (part == SIZE_MAX)
            break;
        named[part - view->part_from] = true;
        st_say(root, i == 0 ? ", of which " : ", ");
        say_gap(view, part, root);
    }
    st_say(root, "\n");
}

/* --- the whole ------------------------------------------------------------------------------- */

static void put_rejected(const st_search_view *view, st_node *root)
{
    const st_space *space = view->search->space;
    const st_search_result *result = view->result;
    const st_guided *guided = &result->guided;
    st_sweep_result counts = {.done = guided->used ? guided->computed + guided->ruled_out
                                                   : result->found.done,
                              .kept = result->found.kept,
                              .reasons = result->found.reasons};
    st_node *list = st_put_list(root, "rejected");
    for (size_t i = 1; i < st_reason_count(space); i++) {
        if (counts.reasons[i] > 0) {
            st_node *row = st_put_line_map(list, NULL);
            st_put_text(row, "reason", st_reason_text(space, i));
            st_put_count(row, "plans", counts.reasons[i]);
        }
    }
    if (counts.done > counts.kept) {
        st_buffer text = {0};
        st_sweep_write_reasons(space, &counts, &text);
        st_say(root, "\n%.*s", (int)text.length, st_buffer_read(&text));
        st_buffer_end(&text, &root->result->failed);
    }
}

/* Whether every plan of the space was computed. */
static bool is_whole(const st_search_view *view)
{
    const st_search *search = view->search;
    return search->rows == search->total && !view->result->interrupted &&
           !view->result->guided.used;
}

static void say_head(const st_search_view *view, st_node *root)
{
    const st_search *search = view->search;
    const st_search_result *result = view->result;
    char number[ST_QUANTITY_TEXT];
    bool sampled = search->rows < search->total;
    st_say(root, "job       %s\nsheet     %s\n", st_job_name(search->space->base.job),
           st_sheet_name(search->space->base.sheet));
    for (size_t i = 0; i < search->space->refine_count; i++)
        st_say(root, "%s    %s\n", i == 0 ? "refine" : "      ", search->space->refine[i]);
    st_say(root, "GPUs      ");
    for (size_t i = 0; i < search->wanted.gpus_count; i++)
        st_say(root, "%s%s", i == 0 ? "" : ", ",
               st_number_format(search->wanted.gpus[i], number, sizeof number));
    if (search->gpus_from != NULL)
        st_say(root, " (all %s: neither --gpus nor the job's plan sets a number)",
               search->gpus_from);
    /* How many GPUs of a node are used, where the numbers do not fill nodes. */
    if (search->used_gpus > 0)
        st_say(root, " (%.10g of the %.10g GPUs of a node are used)", search->used_gpus,
               search->node_gpus);
    else if (search->node_gpus > 0)
        st_say(root, " (no share of a node of %.10g fits all; set cluster.gpus_used_per_node)",
               search->node_gpus);
    else if (search->fewer_gpus > 0)
        st_say(root, " (--gpus %.10g uses a power of two on each node and may be faster)",
               search->fewer_gpus);
    else if (search->request.gpus != NULL && search->wanted.gpus_count == 1 &&
             search->wanted.gpus[0] < search->wanted.gpus_per_node)
        st_say(root, " (of the %.10g of a node)", search->wanted.gpus_per_node);
    st_say(root, "\n");
    st_search_put_fixed_params(search, NULL, 10, root);
    uint64_t plans = result->guided.used ? search->rows : result->found.done;
    st_say(root, "plans     %" PRIu64 ", of which %" PRIu64 " pass all checks", plans,
           result->found.kept);
    if (result->guided.used)
        st_say(root, " among the %" PRIu64 " computed", result->guided.computed);
    if (sampled)
        st_say(root, "; drawn from %" PRIu64, search->total);
    if (result->interrupted)
        st_say(root, "; interrupted, %" PRIu64 " not considered",
               search->rows - result->found.done);
    st_say(root, "\nerror     %s",
           view->bands != NULL ? "differs between plans, see the column: median / 9 of 10"
                               : st_or_none(st_error_band_text(&view->band, search->space->arena)));
    st_say(root, "\n%s  %s, ", search->sign < 0 ? "maximise" : "minimise", search->goal);
    if (is_whole(view) && search->limited)
        st_say(root, "all %" PRIu64 " plans of the limited space\n", search->rows);
    else
        st_say(root, "%s\n", sampled ? "a sample" : st_method_name(search->request.guide.method));
}

static void put_head(const st_search_view *view, st_node *root)
{
    const st_search *search = view->search;
    const st_search_result *result = view->result;
    const st_space *space = view->detail.space;
    st_put_text(root, "job", st_job_name(search->space->base.job));
    st_put_text(root, "sheet", st_sheet_name(search->space->base.sheet));
    st_put_texts(root, "refine", search->space->refine, search->space->refine_count);
    st_put_text(root, search->sign < 0 ? "maximise" : "minimise", search->goal);
    st_put_bool(root, "exhaustive", is_whole(view) && !search->limited);
    if (result->interrupted)
        st_put_bool(root, "interrupted", true);
    st_put_bool(root, "limited", search->limited);
    st_put_text(root, "method", st_method_name(search->request.guide.method));
    st_put_count(root, "plans", result->found.done);
    st_put_count(root, "kept", result->found.kept);
    st_put_count(root, "merged", view->merged);
    st_error_band_put(view->bands != NULL ? NULL : &view->band, root);
    st_put_number(root, "tie", search->request.merges ? search->request.tie_frac : 0);
    st_node *units = st_put_map(root, "units");
    for (size_t i = 0; i < shown_cells(view); i++)
        st_put_text(units, space->cells[i], st_type_unit_text(space->types[i]));
    say_head(view, root);
}

void st_search_put(const st_search_view *view, st_result *result)
{
    const st_results *found = &view->result->found;
    st_arena *arena = view->search->space->arena;
    st_node *root = st_result_begin(result, arena);
    const found_rows *ranking = make_rows(view, view->ranked, view->ranked_count, view->ranking);
    const found_rows *front = make_rows(view, found->front, found->front_count, view->front);
    if (ranking == NULL || front == NULL)
        return;
    put_head(view, root);
    st_node *list = st_put_rows(root, "ranking", fill_found, ranking, ranking->count);
    if (ranking->count > 0) {
        /* The heading of CSV; its rows are those of the ranking. */
        const st_space *space = ranking->view->detail.space;
        st_result_csv(result, "ranking", ".rank=rank");
        if (ranking->view->search->request.all)
            st_result_csv_column(result, "fits", "fits");
        for (size_t i = 0; i < ranking->key_count; i++)
            st_result_csv_column(result, ranking->key_fields[i], ranking->keys[i]);
        for (size_t i = 0; i < shown_cells(ranking->view); i++) {
            const st_type *type = space->types[i];
            bool unit = type->kind == ST_TYPE_NUMBER && strcmp(type->unit.text, "1") != 0;
            const char *name =
                unit ? st_arena_printf(space->arena, "%s [%s]", space->cells[i], type->unit.text)
                     : space->cells[i];
            st_result_csv_column(result, ranking->cell_fields[i], st_or_none(name));
        }
        say_ranking(root, ranking, list);
        say_runner_up(view, root);
        say_settings(view, root);
    }
    list = st_put_rows(root, "front", fill_found, front, front->count);
    if (front->count > 0) {
        st_say(root, "\nPareto front of %s and %s: %zu plans%s\n", view->search->request.front[0],
               view->search->request.front[1], front->count, found->front_full ? " at least" : "");
        say_found(root, front, list, (cell_span){0, view->part_from}, false, true);
    }
    if (view->result->guided.used)
        view->search->request.guide.methods->put(view, root);
    if (view->miss != NULL) {
        st_node *node = st_put_map(root, "nearest");
        if (!view->result->found.has_nearest) {
            st_say(node, "\nNothing divides\n");
        } else {
            /* The numbers of the plan that is nearest to fitting, and what makes an estimate one of
             * it. */
            size_t count = 0;
            const st_found *nearest = &view->result->found.nearest;
            const found_rows *rows = make_rows(view, nearest, 1, view->nearest);
            const char *const *sets = st_search_settings(view->search, nearest->row, &count);
            st_say(node, "\nNearest to fitting%s", view->too_large ? ", " : "");
            if (view->too_large)
                st_say_ink(node, ST_INK_BAD, "TOO LARGE");
            st_say(node, "\n");
            if (rows != NULL && sets != NULL) {
                fill_found(rows, 0, node);
                st_put_bool(node, "fits", !view->too_large);
                say_found(node, rows, node, (cell_span){0, view->part_from}, false, true);
                say_settings_of(node, "", sets, count);
            }
        }
        st_put_text(node, "lacks", view->miss);
        st_say(node, "  lacks: %s\n", view->miss);
    }
    put_rejected(view, root);
}
