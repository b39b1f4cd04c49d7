/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates for other programs; see steptime/estimate.h. */
#include "estimate/handle.h"

#include "base/chars.h"
#include "estimate/report.h"

#include "base/memory.h"
#include "base/sized_struct.h"
#include "estimate/effects.h"
#include "job/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

st_estimate_handle *st_estimate_handle_of(st_estimate *estimate)
{
    return (st_estimate_handle *)(void *)estimate;
}

/* ---- loading ---- */

/* Copies of texts, so that a caller may free its own; NULL where memory is out. */
static const char **copy_texts(st_arena *arena, const char *const *texts, size_t count)
{
    const char **copies = st_arena_alloc(arena, count + 1, sizeof *copies);
    for (size_t i = 0; i < count && copies != NULL; i++) {
        copies[i] = st_arena_copy(arena, texts[i], strlen(texts[i]));
        if (copies[i] == NULL)
            return NULL;
    }
    return copies;
}

static const char *copy_text(st_arena *arena, const char *text, bool *failed)
{
    const char *copy = text != NULL ? st_arena_copy(arena, text, strlen(text)) : NULL;
    *failed = *failed || (text != NULL && copy == NULL);
    return copy;
}

/* Loads into an arena of its own, which takes the place of the old one on success only. */
static st_status load(st_estimate_handle *handle, st_errors *errors)
{
    st_estimate loaded = {0};
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return st_out_of_memory(errors);
    st_status status = st_estimate_load(handle->paths, &handle->request, arena, &loaded, errors);
    if (status == ST_OK)
        status = handle->cell_count > 0
                     ? st_estimate_show_names(&loaded, handle->cells, handle->cell_count,
                                              (st_place){0}, arena, errors)
                     : st_estimate_show_report(&loaded, handle->all, arena);
    if (status != ST_OK) {
        st_arena_destroy(arena);
        return status;
    }
    st_arena_destroy(handle->arena);
    handle->arena = arena;
    handle->estimate = loaded;
    return ST_OK;
}

static st_status create(const st_estimate_request *request, bool alone, st_estimate **estimate,
                        st_errors *errors)
{
    st_estimate_request asked;
    st_status status = st_sized_take(request, &asked, sizeof asked, errors);
    if (status != ST_OK)
        return status;
    st_estimate_handle *handle = calloc(1, sizeof *handle);
    st_arena *texts = st_arena_create();
    if (handle == NULL || texts == NULL) {
        st_arena_destroy(texts);
        free(handle);
        return st_out_of_memory(errors);
    }
    handle->texts = texts;
    bool failed = false;
    const char **providers = copy_texts(handle->texts, asked.providers, asked.provider_count);
    handle->sets = copy_texts(handle->texts, asked.sets, asked.set_count);
    handle->set_capacity = asked.set_count + 1;
    handle->cells = copy_texts(handle->texts, asked.cells, asked.cell_count);
    handle->cell_count = asked.cell_count;
    handle->all = asked.all;
    handle->request = (st_request){.checks_warn = asked.checks_warn,
                                   .job = copy_text(handle->texts, asked.job, &failed),
                                   .sheet = copy_text(handle->texts, asked.sheet, &failed),
                                   .sets = handle->sets,
                                   .set_count = asked.set_count,
                                   .refine = providers,
                                   .refine_count = asked.provider_count};
    failed = failed || providers == NULL || handle->sets == NULL || handle->cells == NULL;
    status = failed ? ST_ERR_MEMORY : ST_OK;
    handle->request.alone = alone;
    if (status == ST_OK)
        status = st_paths_create(asked.folders, asked.folder_count, &handle->paths, errors);
    if (status == ST_OK)
        st_paths_set_isolation(handle->paths, asked.isolate);
    if (status == ST_OK && asked.profiles != NULL) {
        /* The texts of a request outlive it in the handle. */
        const char *file = asked.profiles;
        const char *kept = st_arena_copy(handle->texts, file, strlen(file));
        if (kept == NULL)
            status = st_out_of_memory(errors);
        else
            st_paths_set_profiles(handle->paths, kept);
    }
    if (status == ST_OK)
        status = load(handle, errors);
    if (status == ST_OK)
        *estimate = &handle->estimate;
    else
        st_estimate_destroy(&handle->estimate);
    return status;
}

st_status st_estimate_create(const st_estimate_request *request, st_estimate **estimate,
                             st_errors *errors)
{
    return create(request, false, estimate, errors);
}

st_status st_estimate_create_alone(const st_estimate_request *request, st_estimate **estimate,
                                   st_errors *errors)
{
    return create(request, true, estimate, errors);
}

void st_estimate_destroy(st_estimate *estimate)
{
    if (estimate == NULL)
        return;
    st_estimate_handle *handle = st_estimate_handle_of(estimate);
    st_arena_destroy(handle->arena);
    st_paths_destroy(handle->paths);
    st_arena_destroy(handle->texts);
    free(handle);
}

st_status st_estimate_set(st_estimate *estimate, const char *assignment, st_errors *errors)
{
    st_estimate_handle *handle = st_estimate_handle_of(estimate);
    size_t count = handle->request.set_count;
    const char **sets =
        st_arena_grow(handle->texts, handle->sets, sizeof *sets, count + 1, &handle->set_capacity);
    const char *copy = st_arena_copy(handle->texts, assignment, strlen(assignment));
    if (sets == NULL || copy == NULL)
        return st_out_of_memory(errors);
    sets[count] = copy;
    handle->sets = sets;
    handle->request.sets = sets;
    handle->request.set_count = count + 1;
    st_status status = load(handle, errors);
    if (status != ST_OK)
        handle->request.set_count = count;
    return status;
}

/* ---- computing ---- */

st_status st_estimate_compute(st_estimate *estimate, st_errors *errors)
{
    st_estimate_handle *handle = st_estimate_handle_of(estimate);
    size_t before = st_errors_count(errors, ST_SEVERITY_LIMIT);
    st_status status = st_estimate_run(&handle->estimate, handle->arena, errors);
    bool exceeded = st_errors_count(errors, ST_SEVERITY_LIMIT) > before;
    return status == ST_OK && exceeded ? ST_ERR_CHECK : status;
}

/* Its values are there, whether or not all checks hold. */
static bool is_computed(const st_estimate *estimate)
{
    return estimate->checks != NULL;
}

st_status st_estimate_complete(st_estimate_handle *handle, st_errors *errors)
{
    st_estimate *estimate = &handle->estimate;
    st_status status =
        is_computed(estimate) ? ST_OK : st_estimate_run(estimate, handle->arena, errors);
    if (status != ST_OK || estimate->effects != NULL)
        return status;
    status = st_estimate_find_effects(estimate, handle->arena);
    if (status == ST_OK)
        st_effects_tell(estimate, errors);
    return status;
}

const st_shown *st_find_shown(const st_estimate *estimate, const char *name)
{
    size_t i = ST_FIND(estimate->shown, estimate->shown_count, name, name);
    return i < estimate->shown_count ? &estimate->shown[i] : NULL;
}

size_t st_estimate_input(const st_estimate *estimate, const char *name)
{
    size_t i = 0;
    while (i < estimate->input_count && !st_same(estimate->inputs[i].input->name, name))
        i++;
    return i;
}

st_status st_estimate_want(st_estimate_handle *handle, const char *name, st_errors *errors)
{
    st_estimate *estimate = &handle->estimate;
    const st_estimate before = *estimate;
    st_estimate one = *estimate;
    if (st_find_shown(estimate, name) != NULL)
        return is_computed(estimate) ? ST_OK : st_estimate_run(estimate, handle->arena, errors);
    st_status status = st_estimate_show_names(&one, &name, 1, (st_place){0}, handle->arena, errors);
    if (status != ST_OK)
        return status;
    st_shown *shown = st_arena_alloc(handle->arena, before.shown_count + 1, sizeof *shown);
    if (shown == NULL)
        return st_out_of_memory(errors);
    if (before.shown != NULL)
        memcpy(shown, before.shown, before.shown_count * sizeof *shown);
    shown[before.shown_count] = one.shown[0];
    estimate->shown = shown;
    estimate->shown_count = before.shown_count + 1;
    estimate->values = NULL;
    estimate->checks = NULL;
    status = st_estimate_run(estimate, handle->arena, errors);
    if (!is_computed(estimate))
        *estimate = before;
    return status;
}

/* ---- cells ---- */

static const char *show_value(st_estimate_handle *handle, const st_type *type, double value)
{
    char text[ST_QUANTITY_TEXT];
    st_type_format(type, value, ST_STYLE_SCALED, text, sizeof text);
    return st_arena_copy(handle->arena, text, strlen(text));
}

static const char *unit_of(const st_type *type)
{
    return type->kind == ST_TYPE_NUMBER ? type->unit.text : "";
}

static st_status give_input(st_estimate_handle *handle, const st_bound_input *bound,
                            st_estimate_cell *cell, st_errors *errors)
{
    const st_sheet_input *input = bound->input;
    const st_shown *shown = st_find_shown(&handle->estimate, input->name);
    const st_estimate_cell found = {.name = input->name,
                                    .unit = unit_of(&input->type),
                                    .doc = st_text_or_empty(input->doc),
                                    .cite = st_text_or_empty(input->cite),
                                    .section = shown != NULL ? shown->section : "",
                                    .formula = st_text_or_empty(input->from),
                                    .text = show_value(handle, &input->type, bound->value),
                                    .value = bound->value,
                                    .is_input = true,
                                    .is_assumed = st_input_is_assumed(bound),
                                    .is_computed = true};
    return found.text != NULL ? st_sized_give(&found, sizeof found, cell, errors)
                              : st_out_of_memory(errors);
}

static st_status give_cell(st_estimate_handle *handle, const st_sheet_cell *of,
                           st_estimate_cell *cell, st_errors *errors)
{
    const st_shown *shown = st_find_shown(&handle->estimate, of->name);
    bool has_value = shown != NULL && is_computed(&handle->estimate) && isfinite(shown->value);
    const st_estimate_cell found = {.name = of->name,
                                    .unit = unit_of(&of->type),
                                    .doc = st_text_or_empty(of->doc),
                                    .cite = st_text_or_empty(of->cite),
                                    .section = shown != NULL ? shown->section : "",
                                    .formula = of->formula,
                                    .text = has_value ? show_value(handle, &of->type, shown->value)
                                                      : "",
                                    .value = has_value ? shown->value : (double)NAN,
                                    .is_computed = has_value};
    return found.text != NULL ? st_sized_give(&found, sizeof found, cell, errors)
                              : st_out_of_memory(errors);
}

size_t st_estimate_cell_count(const st_estimate *estimate)
{
    size_t inputs = 0;
    size_t cells = 0;
    (void)st_sheet_inputs(estimate->sheet, &inputs);
    (void)st_sheet_cells(estimate->sheet, &cells);
    return inputs + cells;
}

st_status st_estimate_cell_at(st_estimate *estimate, size_t index, st_estimate_cell *cell,
                              st_errors *errors)
{
    st_estimate_handle *handle = st_estimate_handle_of(estimate);
    size_t count = 0;
    const st_sheet_cell *cells = st_sheet_cells(estimate->sheet, &count);
    if (index < estimate->input_count)
        return give_input(handle, &estimate->inputs[index], cell, errors);
    if (index - estimate->input_count < count)
        return give_cell(handle, &cells[index - estimate->input_count], cell, errors);
    return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                   "cell index %zu is out of range" ST_EXPECTED "an index below %zu", index,
                   estimate->input_count + count);
}

st_status st_estimate_read(st_estimate *estimate, const char *name, st_estimate_cell *cell,
                           st_errors *errors)
{
    st_estimate_handle *handle = st_estimate_handle_of(estimate);
    size_t i = st_estimate_input(estimate, name);
    if (i < estimate->input_count)
        return give_input(handle, &estimate->inputs[i], cell, errors);
    st_status status = st_estimate_want(handle, name, errors);
    if (!is_computed(estimate) || st_find_shown(estimate, name) == NULL)
        return status;
    st_status given = give_cell(handle, st_sheet_find_cell(estimate->sheet, name), cell, errors);
    return status == ST_OK ? given : status;
}

/* ---- checks ---- */

size_t st_estimate_check_count(const st_estimate *estimate)
{
    size_t count = 0;
    (void)st_sheet_checks(estimate->sheet, &count);
    return count;
}

st_status st_estimate_check_at(const st_estimate *estimate, size_t index, st_estimate_check *check,
                               st_errors *errors)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(estimate->sheet, &count);
    if (!is_computed(estimate))
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "checks are not available before the estimate is computed");
    if (index >= count)
        return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                       "check index %zu is out of range" ST_EXPECTED "an index below %zu", index,
                       count);
    const st_estimate_check found = {.formula = checks[index].formula,
                                     .holds = estimate->checks[index] == 1,
                                     .is_warning = checks[index].warning,
                                     .is_limit = checks[index].limit};
    return st_sized_give(&found, sizeof found, check, errors);
}
