/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates for other programs; see steptime/estimate.h. */
#include "estimate/handle.h"

#include "base/chars.h"

#include "base/memory.h"
#include "base/sized_struct.h"
#include "estimate/effects.h"
#include "estimate/provider_effects.h"
#include "estimate/stage_layers.h"
#include "sheet/binding.h"
#include "estimate/summary_values.h"

#include <math.h>
#include <string.h>

st_estimate_handle *st_estimate_handle_of(st_estimate *estimate)
{
    return (st_estimate_handle *)(void *)estimate;
}

/* ---- programs ---- */

void st_kept_drop(st_kept_program *kept)
{
    st_workspace_destroy(kept->ready.workspace);
    st_arena_destroy(kept->arena);
    *kept = (st_kept_program){0};
}

void st_handle_drop_programs(st_estimate_handle *handle)
{
    for (size_t form = 0; form < ST_FORMS; form++) {
        st_kept_drop(&handle->reports[form]);
        st_kept_drop(&handle->extras[form]);
    }
}

static st_status keep(st_kept_program *kept, st_arena *arena, const st_program *program,
                      st_errors *errors)
{
    st_status status = st_ready_make(program, arena, &kept->ready, errors);
    if (status == ST_OK)
        kept->arena = arena;
    return status;
}

st_status st_kept_names(const st_estimate *estimate, const char *const *names, size_t count,
                        st_kept_program *kept, st_errors *errors)
{
    const st_program *program = NULL;
    if (kept->arena != NULL)
        return ST_OK;
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return st_out_of_memory(errors);
    st_status status =
        names == NULL ? st_estimate_compile(estimate, arena, &program, errors)
                      : st_estimate_compile_names(estimate, names, count, arena, &program, errors);
    if (status == ST_OK)
        status = keep(kept, arena, program, errors);
    if (status != ST_OK)
        st_arena_destroy(arena);
    return status;
}

/* ---- loading ---- */

st_arena *st_handle_results(st_estimate_handle *handle)
{
    if (handle->results == NULL)
        handle->results = st_arena_create();
    return handle->results;
}

void st_handle_forget(st_estimate_handle *handle)
{
    st_estimate *estimate = &handle->estimate;
    st_arena_destroy(handle->results);
    handle->results = NULL;
    handle->has_extras = false;
    handle->generation++;
    estimate->values = NULL;
    estimate->workspace = NULL;
    estimate->checks = NULL;
    estimate->effects = NULL;
    estimate->refined = NULL;
    estimate->refined_count = 0;
    estimate->found = NULL;
}

/* Where each cell is among what the program of the report computes: what is shown, and what is
 * aside behind it; false when out of memory. */
static bool place_shown(const st_estimate *estimate, st_arena *arena, size_t **places)
{
    size_t count = 0;
    const st_sheet_cell *cells = st_sheet_cells(estimate->sheet, &count);
    size_t *made = st_arena_alloc(arena, count + 1, sizeof *made);
    for (size_t i = 0; made != NULL && i < count; i++)
        made[i] = SIZE_MAX;
    for (size_t i = estimate->shown_count + estimate->aside_count; made != NULL && i-- > 0;) {
        const char *name = i < estimate->shown_count ? estimate->shown[i].name
                                                     : estimate->aside[i - estimate->shown_count];
        const st_sheet_cell *cell = st_sheet_find_cell(estimate->sheet, name);
        if (cell != NULL)
            made[cell - cells] = i;
    }
    *places = made;
    return made != NULL;
}

/* What the program computes besides: whether the plan is replayed, and what a summary shows. */
static bool list_aside(const st_estimate_handle *handle, st_estimate *estimate, st_arena *arena)
{
    const char *asked = st_replayed_plan(estimate->sheet);
    const char **summary = NULL;
    size_t count = 0;
    if (handle->cell_count == 0 && !st_summary_names(estimate, arena, &summary, &count))
        return false;
    const char **names = st_arena_alloc(arena, count + 2, sizeof *names);
    if (names == NULL)
        return false;
    estimate->aside = names;
    estimate->aside_count = 0;
    if (asked != NULL)
        names[estimate->aside_count++] = asked;
    for (size_t i = 0; i < count; i++)
        if (!ST_HAS(estimate->shown, estimate->shown_count, name, summary[i]))
            names[estimate->aside_count++] = summary[i];
    return true;
}

/* The list of what an estimate shows, in an arena of its own. */
static st_status list_shown(st_estimate_handle *handle, st_estimate *estimate, st_arena **shown,
                            size_t **places, st_errors *errors)
{
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return st_out_of_memory(errors);
    estimate->settling =
        st_arena_alloc(arena, estimate->input_count + 1, sizeof *estimate->settling);
    st_status status = handle->cell_count > 0
                           ? st_estimate_show_names(estimate, handle->cells, handle->cell_count,
                                                    (st_place){0}, arena, errors)
                           : st_estimate_show_report(estimate, handle->all, arena);
    if (status == ST_OK &&
        !(list_aside(handle, estimate, arena) && place_shown(estimate, arena, places)))
        status = st_out_of_memory(errors);
    if (status == ST_OK)
        *shown = arena;
    else
        st_arena_destroy(arena);
    return status;
}

static bool shows_the_same(const st_estimate *left, const st_estimate *right)
{
    bool same = left->shown_count == right->shown_count && left->aside_count == right->aside_count;
    for (size_t i = 0; same && i < left->shown_count; i++)
        same = strcmp(left->shown[i].name, right->shown[i].name) == 0;
    for (size_t i = 0; same && i < left->aside_count; i++)
        same = strcmp(left->aside[i], right->aside[i]) == 0;
    return same;
}

st_status st_handle_list_shown(st_estimate_handle *handle, st_errors *errors)
{
    st_estimate listed = handle->estimate;
    st_arena *shown = NULL;
    size_t *places = NULL;
    st_status status = list_shown(handle, &listed, &shown, &places, errors);
    if (status != ST_OK)
        return status;
    for (size_t form = 0; form < ST_FORMS && !shows_the_same(&listed, &handle->estimate); form++)
        st_kept_drop(&handle->reports[form]);
    st_arena_destroy(handle->shown);
    handle->shown = shown;
    handle->shown_of = places;
    handle->estimate.shown = listed.shown;
    handle->estimate.shown_count = listed.shown_count;
    handle->estimate.settling = listed.settling;
    handle->estimate.aside = listed.aside;
    handle->estimate.aside_count = listed.aside_count;
    return ST_OK;
}

/* What a loaded estimate needs to take settings; false when out of memory. */
static bool make_settable(st_estimate_handle *handle, st_estimate *loaded, st_arena *arena)
{
    size_t count = loaded->input_count;
    size_t cells = 0;
    (void)st_sheet_cells(loaded->sheet, &cells);
    st_bound_input *inputs = st_arena_alloc(arena, count + 1, sizeof *inputs);
    double *values = st_arena_alloc(arena, count + 1, sizeof *values);
    st_value_note *notes = st_arena_alloc(arena, count + cells + 1, sizeof *notes);
    if (inputs == NULL || values == NULL || notes == NULL)
        return false;
    memcpy(inputs, loaded->inputs, count * sizeof *inputs);
    memcpy(values, loaded->input_values, count * sizeof *values);
    handle->notes = notes;
    handle->inputs = inputs;
    handle->input_values = values;
    loaded->inputs = inputs;
    loaded->input_values = values;
    return true;
}

/* The providers of a form, made when they are asked for; false when out of memory. */
static bool take_form(st_estimate_handle *handle, size_t form)
{
    st_estimate *estimate = &handle->estimate;
    if (handle->providers[form] == NULL) {
        st_estimate other = *estimate;
        other.providers = other.whole;
        other.provider_count = other.whole_count;
        if (form == ST_CLOSED_FORM && !st_estimate_drop_replays(&other, handle->arena))
            return false;
        handle->providers[form] = other.providers;
        handle->provider_counts[form] = other.provider_count;
    }
    handle->form = form;
    estimate->providers = handle->providers[form];
    estimate->provider_count = handle->provider_counts[form];
    return true;
}

static bool give_bound(const void *context, const st_sheet_input *input, double *value)
{
    const st_estimate *estimate = context;
    size_t count = 0;
    *value = estimate->input_values[input - st_sheet_inputs(estimate->sheet, &count)];
    return true;
}

/* The form that the plan as loaded probably has: that of the branches whose conditions are known to
 * hold; the first run says. False when out of memory. */
static bool choose_form(st_estimate_handle *handle)
{
    const st_sheet *sheet = handle->estimate.sheet;
    const char *name = st_replayed_plan(sheet);
    const st_sheet_cell *asked = name != NULL ? st_sheet_find_cell(sheet, name) : NULL;
    const st_given given = {give_bound, &handle->estimate};
    st_bindings bindings = {0};
    st_absence absence;
    if (asked == NULL)
        return take_form(handle, ST_REPLAYED);
    st_arena *arena = st_arena_create();
    if (arena == NULL ||
        st_bind_providers(sheet, handle->estimate.whole, handle->estimate.whole_count, arena,
                          &bindings, NULL) == ST_ERR_MEMORY ||
        !st_absence_begin(&absence, sheet, &given, bindings.cells, arena)) {
        st_arena_destroy(arena);
        return false;
    }
    const st_expr *branch = asked->expr;
    absence.asks_providers = true;
    while (branch->builtin == ST_BUILTIN_IF) {
        const st_guess condition = st_absence_guess(&absence, st_expr_child(branch, 0));
        branch = st_expr_child(branch, condition.known && condition.value > 0 ? 1 : 2);
    }
    const st_guess replays = st_absence_guess(&absence, branch);
    st_arena_destroy(arena);
    return take_form(handle, replays.known && replays.value > 0 ? ST_REPLAYED : ST_CLOSED_FORM);
}

st_status st_handle_load(st_estimate_handle *handle, const char *const *sets, size_t count,
                         st_errors *errors)
{
    st_estimate loaded = {0};
    st_request request = handle->request;
    st_arena *shown = NULL;
    size_t *places = NULL;
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return st_out_of_memory(errors);
    request.sets = sets;
    request.set_count = count;
    st_status status = st_estimate_load_whole(handle->paths, &request, arena, &loaded, errors);
    if (status == ST_OK)
        status = list_shown(handle, &loaded, &shown, &places, errors);
    if (status == ST_OK && !make_settable(handle, &loaded, arena))
        status = st_out_of_memory(errors);
    if (status != ST_OK) {
        st_arena_destroy(shown);
        st_arena_destroy(arena);
        return status;
    }
    st_handle_drop_programs(handle);
    st_handle_forget(handle);
    st_arena_destroy(handle->shown);
    st_arena_destroy(handle->arena);
    handle->arena = arena;
    handle->shown = shown;
    handle->shown_of = places;
    handle->estimate = loaded;
    handle->has_old_band = false;
    handle->sources = NULL;
    for (size_t form = 0; form < ST_FORMS; form++)
        handle->providers[form] = NULL;
    handle->wanted = NULL; /* names of the sheet that was loaded before */
    handle->wanted_count = 0;
    return choose_form(handle) ? ST_OK : st_out_of_memory(errors);
}

/* ---- computing ---- */

/* Its values are there, whether or not all checks hold. */
static bool is_computed(const st_estimate *estimate)
{
    return estimate->checks != NULL;
}

/* Runs the program of what is shown; that of the other form where the plan is of that one. */
static st_status run_report(st_estimate_handle *handle, st_errors *errors)
{
    const st_estimate *estimate = &handle->estimate;
    st_status status = ST_OK;
    for (size_t turn = 0; turn < ST_FORMS && status == ST_OK; turn++) {
        const st_ready_program *ready = &handle->reports[handle->form].ready;
        status = st_kept_names(estimate, NULL, 0, &handle->reports[handle->form], errors);
        if (status == ST_OK)
            status = st_program_run_again(ready->program, ready->workspace, estimate->input_values,
                                          ready->values, ready->checks);
        if (status != ST_OK || st_replayed_plan(estimate->sheet) == NULL)
            return status;
        double replayed = ready->values[estimate->shown_count]; /* the first of what is aside */
        size_t form = isfinite(replayed) && replayed > 0 ? ST_REPLAYED : ST_CLOSED_FORM;
        if (form == handle->form)
            return ST_OK;
        status = take_form(handle, form) ? ST_OK : st_out_of_memory(errors);
    }
    return status;
}

/* Whether all that may be wrong is worth a warning, which a reading of cells has no use for:
 * finding its words takes milliseconds. */
static bool is_harmless(const st_estimate *estimate)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(estimate->sheet, &count);
    for (size_t i = 0; i < count; i++)
        if (estimate->checks[i] != 1.0 &&
            !((checks[i].warning || checks[i].limit || estimate->checks_warn) &&
              isfinite(estimate->checks[i])))
            return false;
    for (size_t i = 0; i < estimate->shown_count; i++)
        if (!isfinite(estimate->values[i]))
            return false;
    return true;
}

static st_status run(st_estimate_handle *handle, st_errors *errors)
{
    st_status status = run_report(handle, errors);
    handle->is_judged = false;
    if (status == ST_OK)
        st_estimate_take(&handle->estimate, &handle->reports[handle->form].ready);
    return status;
}

st_status st_handle_judge(st_estimate_handle *handle, st_errors *errors)
{
    bool is_judged = handle->is_judged;
    handle->is_judged = true;
    return is_judged
               ? ST_OK
               : st_estimate_judge(&handle->estimate, &handle->reports[handle->form].ready, errors);
}

st_status st_handle_compute(st_estimate_handle *handle, st_errors *errors)
{
    if (is_computed(&handle->estimate))
        return ST_OK;
    st_status status = run(handle, errors);
    return status != ST_OK || is_harmless(&handle->estimate) ? status
                                                             : st_handle_judge(handle, errors);
}

st_status st_estimate_compute(st_estimate *estimate, st_errors *errors)
{
    st_estimate_handle *handle = st_estimate_handle_of(estimate);
    size_t before = st_errors_count(errors, ST_SEVERITY_LIMIT);
    st_status status = run(handle, errors);
    if (status == ST_OK)
        status = st_handle_judge(handle, errors);
    bool exceeded = st_errors_count(errors, ST_SEVERITY_LIMIT) > before;
    return status == ST_OK && exceeded ? ST_ERR_CHECK : status;
}

st_status st_estimate_complete(st_estimate_handle *handle, bool whole, st_errors *errors)
{
    st_estimate *estimate = &handle->estimate;
    st_status status = st_handle_compute(handle, errors);
    if (status == ST_OK)
        status = st_handle_judge(handle, errors);
    st_arena *arena = st_handle_results(handle);
    if (status != ST_OK || arena == NULL)
        return status == ST_OK ? st_out_of_memory(errors) : status;
    if (handle->has_old_band)
        status = st_estimate_find_band(handle->paths, estimate, arena, errors);
    handle->has_old_band = handle->has_old_band && status != ST_OK;
    if (status == ST_OK && estimate->refined == NULL)
        status = st_estimate_compare_formulas(estimate, arena, errors);
    if (status == ST_OK && (estimate->effects == NULL || (whole && !handle->has_whole_effects))) {
        status = st_estimate_find_effects(estimate, whole, arena);
        handle->has_whole_effects = whole;
    }
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

/* ---- what is not shown ---- */

/* A cell, SIZE_MAX: an input, of that name; its own text, NULL: there is none. */
static const char *find_name(const st_sheet *sheet, const char *name, size_t *cell)
{
    size_t count = 0;
    const st_sheet_cell *cells = st_sheet_cells(sheet, &count);
    const st_sheet_cell *found = st_sheet_find_cell(sheet, name);
    const st_sheet_input *input = st_sheet_find_input(sheet, name);
    *cell = found != NULL ? (size_t)(found - cells) : SIZE_MAX;
    return found != NULL ? found->name : input != NULL ? input->name : NULL;
}

/* The report's program gives it. */
static bool is_there(const st_estimate_handle *handle, const char *name, size_t cell)
{
    const st_estimate *estimate = &handle->estimate;
    return cell != SIZE_MAX ? handle->shown_of[cell] != SIZE_MAX
                            : st_find_shown(estimate, name) != NULL ||
                                  st_has_text(estimate->aside, estimate->aside_count, name);
}

/* Adds what is neither shown nor wanted yet. */
static st_status want(st_estimate_handle *handle, const char *const *names, size_t count,
                      st_errors *errors)
{
    size_t before = handle->wanted_count;
    st_status status = ST_OK;
    for (size_t i = 0; i < count; i++) {
        size_t cell = 0;
        const char *own = find_name(handle->estimate.sheet, names[i], &cell);
        if (own == NULL) {
            status = st_unknown_cell(handle->estimate.sheet, names[i], (st_place){0}, errors);
        } else if (!is_there(handle, own, cell) &&
                   !st_has_text(handle->wanted, handle->wanted_count, own) &&
                   !ST_APPEND(handle->arena, handle->wanted, handle->wanted_count, own)) {
            status = st_out_of_memory(errors);
        }
    }
    if (status != ST_OK) {
        handle->wanted_count = before;
        return status;
    }
    if (handle->wanted_count != before) {
        for (size_t form = 0; form < ST_FORMS; form++)
            st_kept_drop(&handle->extras[form]);
        handle->has_extras = false;
    }
    return ST_OK;
}

static st_status compute_extras(st_estimate_handle *handle, st_errors *errors)
{
    st_kept_program *kept = &handle->extras[handle->form];
    if (handle->has_extras || handle->wanted_count == 0)
        return ST_OK;
    st_status status =
        st_kept_names(&handle->estimate, handle->wanted, handle->wanted_count, kept, errors);
    if (status == ST_OK)
        status = st_program_run_again(kept->ready.program, kept->ready.workspace,
                                      handle->estimate.input_values, kept->ready.values, NULL);
    handle->has_extras = status == ST_OK;
    return status;
}

/* The value of a cell or input that is shown or wanted; NaN: none. */
static double value_of(const st_estimate_handle *handle, const char *name)
{
    const st_estimate *estimate = &handle->estimate;
    size_t cell = 0;
    const char *own = find_name(estimate->sheet, name, &cell);
    if (cell == SIZE_MAX)
        return handle->input_values[st_estimate_input(estimate, own)];
    const size_t place = handle->shown_of[cell];
    if (place < estimate->shown_count || (place != SIZE_MAX && !is_computed(estimate)))
        return is_computed(estimate) ? estimate->shown[place].value : (double)NAN;
    if (place != SIZE_MAX)
        return st_sheet_known(estimate->sheet, own, estimate->values[place]);
    size_t i =
        handle->has_extras ? st_text_at(handle->wanted, handle->wanted_count, own) : SIZE_MAX;
    return i < handle->wanted_count
               ? st_sheet_known(estimate->sheet, own, handle->extras[handle->form].ready.values[i])
               : (double)NAN;
}

/* Why a cell that no report shows has no value. */
static st_status blame(st_estimate_handle *handle, const char *name, st_errors *errors)
{
    st_kept_program one = {0};
    st_status status = st_kept_names(&handle->estimate, &name, 1, &one, errors);
    if (status == ST_OK)
        status = st_program_verify(one.ready.program, handle->estimate.input_values, errors);
    st_kept_drop(&one);
    return status;
}

st_status st_handle_look(st_estimate_handle *handle, const char *const *names, size_t count,
                         double *values, st_errors *errors)
{
    st_status status = want(handle, names, count, errors);
    if (status != ST_OK)
        return status;
    status = st_handle_compute(handle, errors);
    if (is_computed(&handle->estimate)) {
        st_status extra = compute_extras(handle, errors);
        st_note(&status, extra);
    }
    for (size_t i = 0; i < count; i++) {
        size_t cell = 0;
        const char *own = find_name(handle->estimate.sheet, names[i], &cell);
        const double value = value_of(handle, names[i]);
        values[i] = isfinite(value) ? value : (double)NAN;
        const bool is_extra = !is_there(handle, own, cell);
        const bool is_aside =
            !is_extra && cell != SIZE_MAX && handle->shown_of[cell] >= handle->estimate.shown_count;
        if (!isfinite(value) && is_computed(&handle->estimate) &&
            ((is_extra && handle->has_extras) || is_aside))
            st_note(&status, blame(handle, own, errors));
    }
    return status;
}

const st_program *st_handle_program_of(const st_estimate_handle *handle, const char *name)
{
    size_t cell = 0;
    const char *own = find_name(handle->estimate.sheet, name, &cell);
    return is_there(handle, own, cell) ? handle->estimate.program
                                       : handle->extras[handle->form].ready.program;
}

/* ---- cells ---- */

/* The text of a value, kept until the value changes. */
static const char *show_value(st_estimate_handle *handle, size_t place, const st_type *type,
                              double value)
{
    st_value_note *note = &handle->notes[place];
    if (note->generation != handle->generation) {
        char text[ST_QUANTITY_TEXT];
        st_arena *arena = st_handle_results(handle);
        st_type_format(type, value, ST_STYLE_SCALED, text, sizeof text);
        const char *kept = arena != NULL ? st_arena_copy(arena, text, strlen(text)) : NULL;
        if (kept == NULL)
            return NULL;
        *note = (st_value_note){handle->generation, kept};
    }
    return note->text;
}

static const char *unit_of(const st_type *type)
{
    return type->kind == ST_TYPE_NUMBER ? type->unit.text : "";
}

static st_status give_input(st_estimate_handle *handle, size_t index, st_estimate_cell *cell,
                            st_errors *errors)
{
    const st_bound_input *bound = &handle->inputs[index];
    const st_sheet_input *input = bound->input;
    const st_shown *shown = st_find_shown(&handle->estimate, input->name);
    const st_estimate_cell found = {.name = input->name,
                                    .unit = unit_of(&input->type),
                                    .doc = st_text_or_empty(input->doc),
                                    .cite = st_text_or_empty(input->cite),
                                    .section = shown != NULL ? shown->section : "",
                                    .formula = st_text_or_empty(input->from),
                                    .text = show_value(handle, index, &input->type, bound->value),
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
    size_t count = 0;
    const st_estimate *estimate = &handle->estimate;
    size_t index = (size_t)(of - st_sheet_cells(estimate->sheet, &count));
    size_t shown = handle->shown_of[index];
    double value = value_of(handle, of->name);
    bool has_value = isfinite(value);
    const char *text =
        has_value ? show_value(handle, estimate->input_count + index, &of->type, value) : "";
    const st_estimate_cell found = {
        .name = of->name,
        .unit = unit_of(&of->type),
        .doc = st_text_or_empty(of->doc),
        .cite = st_text_or_empty(of->cite),
        .section = shown < estimate->shown_count ? estimate->shown[shown].section : "",
        .formula = of->formula,
        .text = text,
        .value = has_value ? value : (double)NAN,
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
        return give_input(handle, index, cell, errors);
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
    const st_sheet_input *input = st_sheet_find_input(estimate->sheet, name);
    size_t count = 0;
    if (input != NULL)
        return give_input(handle, (size_t)(input - st_sheet_inputs(estimate->sheet, &count)), cell,
                          errors);
    double value = 0;
    st_status status = st_handle_look(handle, &name, 1, &value, errors);
    if (!is_computed(estimate) || status == ST_ERR_NAME)
        return status;
    st_status given = give_cell(handle, st_sheet_find_cell(estimate->sheet, name), cell, errors);
    return status == ST_OK ? given : status;
}

st_status st_estimate_read_many(st_estimate *estimate, const char *const *names, size_t count,
                                double *values, st_errors *errors)
{
    return st_handle_look(st_estimate_handle_of(estimate), names, count, values, errors);
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
