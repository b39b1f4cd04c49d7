/* SPDX-License-Identifier: Apache-2.0 */
/* One estimate, from names on a command line to values; see estimate.h. */
#include "estimate/estimate_internal.h"

#include "base/chars.h"
#include "base/memory.h"
#include "job/bind.h"
#include "plugin/refine_parse.h"
#include "estimate/groups.h"
#include "estimate/provider_effects.h"
#include "plugin/plugins.h"
#include "program/impossible.h"
#include "steptime/keys.h"
#include "steptime/tool/roles.h"
#include "estimate/builtin.h"
#include "estimate/pipeline_functions.h"
#include "estimate/resolved_layout.h"
#include "estimate/stage_layers.h"
#include "base/error_scope.h"
#include "estimate/balanced_layout.h"
#include "job/job_loader.h"

#include <string.h>

/* A reader that reports a sheet which does not exist where the job names it. */
typedef struct job_reader {
    st_sheet_reader reader;
    st_place place;
} job_reader;

static st_status read_for_job(void *context, const char *name, st_place place, st_arena *arena,
                              st_source *source, st_errors *errors)
{
    const job_reader *parser = context;
    st_place from = place.file != NULL ? place : parser->place;
    return parser->reader.read(parser->reader.context, name, from, arena, source, errors);
}

static st_status load_sheet(const st_paths *paths, const st_request *request, st_arena *arena,
                            st_estimate *estimate, st_errors *errors)
{
    const char *asked = request->sheet;
    job_reader parser = {.reader = st_paths_sheet_reader(paths)};
    const char *name = asked;
    if (name == NULL) {
        const st_job_value *value = st_job_value_of(estimate->job, ST_KEY_SHEET);
        if (value == NULL || value->origin == ST_ORIGIN_NONE)
            return st_fail(errors, ST_ERR_NAME, (st_place){.file = st_job_file(estimate->job)},
                           "the job has no 'sheet'" ST_HINT
                           "add 'sheet: NAME' to the job or use --sheet NAME");
        name = value->text;
        if (strchr(name, '/') == NULL) /* a path is relative to the job's file already */
            parser.place = value->place;
    }
    st_sheet_reader reader = {read_for_job, &parser};
    return st_sheet_load(&reader, name, arena, &estimate->sheet, errors);
}

static st_status bind_inputs(st_arena *arena, st_estimate *estimate, st_errors *errors)
{
    (void)st_sheet_inputs(estimate->sheet, &estimate->input_count);
    st_status status =
        st_job_bind(estimate->job, estimate->sheet, arena, &estimate->inputs, errors);
    if (status != ST_OK)
        return status;
    double *values = st_arena_alloc(arena, estimate->input_count + 1, sizeof *values);
    if (values == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < estimate->input_count; i++)
        values[i] = estimate->inputs[i].value;
    estimate->input_values = values;
    return ST_OK;
}

/* The plugins' providers and then, where no plugin gives the same, the library's own. */
static st_status gather_providers(const st_paths *paths, const st_request *request,
                                  const st_provider_list *builtin, st_arena *arena,
                                  st_estimate *estimate, st_errors *errors)
{
    const st_provider *const *plugins = NULL;
    st_refine_request wish = {.paths = paths,
                              .job = estimate->job,
                              .sheet = estimate->sheet,
                              .keys = &estimate->plugin_keys};
    const st_words words = {request->refine, request->refine_count};
    st_refinements named = {0};
    st_status status = st_refine_for(paths, estimate->job, &words, arena, &named, errors);
    wish.refinements = estimate->refinements = named.items;
    wish.count = estimate->refinement_count = named.count;
    if (status == ST_OK)
        status = st_plugins_refine(&wish, arena, &plugins, &estimate->plugin_count, errors);
    if (status != ST_OK)
        return status;
    const st_provider **all =
        st_arena_alloc(arena, estimate->plugin_count + builtin->count + 1, sizeof *all);
    if (all == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < estimate->plugin_count; i++)
        all[i] = plugins[i];
    estimate->providers = all;
    estimate->provider_count = estimate->plugin_count;
    for (size_t i = 0; i < builtin->count; i++) {
        bool taken = false;
        for (size_t j = 0; j < estimate->plugin_count; j++)
            taken = taken || strcmp(all[j]->name, builtin->items[i]->name) == 0;
        if (!taken)
            all[estimate->provider_count++] = builtin->items[i];
    }
    estimate->whole = estimate->providers;
    estimate->whole_count = estimate->provider_count;
    return ST_OK;
}

static bool has_refinements(const st_job *job)
{
    size_t count = 0;
    (void)st_job_refinements(job, &count);
    return count > 0;
}

st_status st_estimate_open(const st_paths *paths, const st_request *request, st_arena *arena,
                           st_estimate *estimate, st_errors *errors)
{
    *estimate = (st_estimate){.checks_warn = request->checks_warn};
    const st_job_parts parts = {request->job, request->sheet, request->sets, request->set_count};
    st_status status = st_job_load_for(paths, &parts, arena, &estimate->job, errors);
    /* Plugins say what they change, formula by formula. */
    estimate->alone = status == ST_OK && request->alone && request->refine_count == 0 &&
                      !has_refinements(estimate->job);
    if (status == ST_OK)
        status = load_sheet(paths, request, arena, estimate, errors);
    if (status == ST_OK)
        status = bind_inputs(arena, estimate, errors);
    return status;
}

st_status st_estimate_gather(const st_paths *paths, const st_request *request, st_arena *arena,
                             st_estimate *estimate, st_errors *errors)
{
    st_provider_list builtin = {0};
    st_job_watch(estimate->job, true);
    st_status status =
        st_builtin_providers(paths, estimate->job, estimate->sheet, arena, &builtin, errors);
    if (status == ST_OK)
        status = gather_providers(paths, request, &builtin, arena, estimate, errors);
    st_job_watch(estimate->job, false);
    return status;
}

/* Goes without the provider of that name, unless it is a plugin's. */
static bool drop(st_estimate *estimate, const char *name, st_arena *arena)
{
    const st_provider **kept = st_arena_alloc(arena, estimate->provider_count + 1, sizeof *kept);
    size_t count = 0;
    for (size_t i = 0; kept != NULL && i < estimate->provider_count; i++)
        if (i < estimate->plugin_count || strcmp(estimate->providers[i]->name, name) != 0)
            kept[count++] = estimate->providers[i];
    if (kept == NULL)
        return false;
    estimate->providers = kept;
    estimate->provider_count = count;
    return true;
}

bool st_estimate_drop_replays(st_estimate *estimate, st_arena *arena)
{
    const char *given = st_replays_given(estimate->sheet);
    return (given == NULL || drop(estimate, given, arena)) &&
           drop(estimate, ST_REPLAY_FUNCTION, arena);
}

/* Opens the estimate again with the layout of the stack's recipe, if the job leaves it that. */
static st_status take_recipe_layout(const st_paths *paths, st_request *request,
                                    st_estimate *estimate, const char **recipes, st_arena *arena,
                                    st_errors *errors)
{
    const st_stack *stack = st_job_stack(estimate->job);
    if (stack == NULL || stack->layout == NULL)
        return ST_OK;
    *recipes = stack->recipes;
    const char **sets = st_arena_alloc(arena, request->set_count + 1, sizeof *sets);
    const char *set = st_arena_printf(arena, ST_KEY_PARALLEL_LAYOUT "=%s", stack->layout);
    st_error_scope quiet = {.edit = st_error_is_severe}; /* warnings were reported before */
    if (sets == NULL || set == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < request->set_count; i++)
        sets[i] = request->sets[i];
    sets[request->set_count++] = set;
    request->sets = sets;
    st_errors_enter(errors, &quiet);
    st_status status = st_estimate_open(paths, request, arena, estimate, errors);
    st_errors_leave(errors, &quiet);
    return status;
}

st_status st_estimate_load_whole(const st_paths *paths, const st_request *request, st_arena *arena,
                                 st_estimate *estimate, st_errors *errors)
{
    st_request laid = *request;
    const char *recipes = NULL;
    st_status status = st_estimate_open(paths, request, arena, estimate, errors);
    if (status == ST_OK)
        status = take_recipe_layout(paths, &laid, estimate, &recipes, arena, errors);
    bool is_open = status == ST_OK && st_has_open_layout(estimate->job);
    if (status == ST_OK)
        status = st_estimate_gather(paths, &laid, arena, estimate, errors);
    if (status == ST_OK)
        status = st_resolve_layout(paths, &laid, arena, estimate, errors);
    estimate->has_open_layout = is_open;
    estimate->recipes = recipes;
    return status == ST_OK ? st_estimate_find_band(paths, estimate, arena, errors) : status;
}

st_status st_estimate_load(const st_paths *paths, const st_request *request, st_arena *arena,
                           st_estimate *estimate, st_errors *errors)
{
    st_status status = st_estimate_load_whole(paths, request, arena, estimate, errors);
    const char *asked = status == ST_OK ? st_replayed_plan(estimate->sheet) : NULL;
    double is_replayed = 0;
    /* The program of a plan that is not replayed goes without what replays take. */
    if (asked != NULL &&
        (st_estimate_look(estimate, &asked, 1, arena, &is_replayed, NULL) != ST_OK ||
         is_replayed <= 0))
        status = st_estimate_drop_replays(estimate, arena) ? ST_OK : st_out_of_memory(errors);
    return status;
}

st_status st_estimate_find_band(const st_paths *paths, st_estimate *estimate, st_arena *arena,
                                st_errors *errors)
{
    const st_error_kind kind = st_error_kind_of(estimate->job);
    st_status status =
        st_error_band_find(paths, estimate->sheet, &kind, arena, &estimate->band, errors);
    estimate->band.is_refined = estimate->plugin_count > 0;
    return status;
}

static st_shown describe_cell(const st_sheet_cell *cell)
{
    return (st_shown){.name = cell->name,
                      .doc = st_text_or_empty(cell->doc),
                      .cite = st_text_or_empty(cell->cite),
                      .section = "",
                      .type = &cell->type};
}

/* Fills in what is known of a cell or input of that name; false where there is none. */
static bool describe(const st_sheet *sheet, const char *name, st_shown *shown)
{
    const st_sheet_cell *cell = st_sheet_find_cell(sheet, name);
    if (cell != NULL) {
        *shown = describe_cell(cell);
        return true;
    }
    const st_sheet_input *input = st_sheet_find_input(sheet, name);
    if (input != NULL)
        *shown = (st_shown){.name = input->name,
                            .doc = st_text_or_empty(input->doc),
                            .cite = st_text_or_empty(input->cite),
                            .section = "",
                            .type = &input->type};
    return input != NULL;
}

static bool settles(const void *context, const st_sheet_input *input, double *value)
{
    const st_estimate *estimate = context;
    size_t count = 0;
    if (estimate->settling != NULL)
        estimate->settling[input - st_sheet_inputs(estimate->sheet, &count)] = true;
    return st_job_settles(estimate->job, input, value);
}

bool st_estimate_find_absent(const st_estimate *estimate, st_arena *arena, st_absence *absence)
{
    st_given *given = st_arena_alloc(arena, 1, sizeof *given);
    if (given == NULL)
        return false;
    *given = (st_given){settles, estimate};
    return st_absence_begin(absence, estimate->sheet, given, NULL, arena);
}

bool st_estimate_is_absent(st_absence *absence, const char *name)
{
    size_t count = 0;
    const st_sheet_cell *cells = st_sheet_cells(absence->sheet, &count);
    const st_sheet_cell *cell = st_sheet_find_cell(absence->sheet, name);
    return cell != NULL && st_absence_has_cell(absence, (size_t)(cell - cells));
}

st_status st_estimate_show_report(st_estimate *estimate, bool all, st_arena *arena)
{
    size_t section_count = 0;
    size_t cell_count = 0;
    const st_sheet_section *sections = st_sheet_sections(estimate->sheet, &section_count);
    const st_sheet_cell *cells = st_sheet_cells(estimate->sheet, &cell_count);
    size_t capacity = cell_count + 1;
    for (size_t i = 0; i < section_count; i++)
        capacity += sections[i].count;
    estimate->shown = st_arena_alloc(arena, capacity, sizeof *estimate->shown);
    bool *in_section = st_arena_alloc(arena, cell_count + 1, sizeof *in_section);
    st_absence absence;
    if (estimate->shown == NULL || in_section == NULL ||
        !st_estimate_find_absent(estimate, arena, &absence))
        return ST_ERR_MEMORY;
    estimate->shown_count = 0;
    for (size_t i = 0; i < section_count; i++) {
        const st_sheet_section *section = &sections[i];
        size_t count = 0;
        const st_sheet_cell *section_cells = st_sheet_cells(estimate->sheet, &count);
        for (size_t j = 0; j < section->count; j++) {
            st_shown *shown = &estimate->shown[estimate->shown_count];
            const st_sheet_cell *cell = st_sheet_find_cell(estimate->sheet, section->cells[j]);
            if (st_estimate_is_absent(&absence, section->cells[j]) ||
                !describe(estimate->sheet, section->cells[j], shown))
                continue;
            shown->section = section->title;
            estimate->shown_count++;
            if (cell != NULL)
                in_section[cell - section_cells] = true;
        }
    }
    bool everything = all || estimate->shown_count == 0;
    for (size_t i = 0; everything && i < cell_count; i++)
        if (!in_section[i])
            estimate->shown[estimate->shown_count++] = describe_cell(&cells[i]);
    return ST_OK;
}

st_status st_unknown_cell(const st_sheet *sheet, const char *name, st_place place,
                          st_errors *errors)
{
    return st_fail(errors, ST_ERR_NAME, place, "unknown cell '%s' in sheet %s" ST_HINT "%s", name,
                   st_sheet_name(sheet), st_or_none(st_sheet_nearest(sheet, name)));
}

st_status st_estimate_show_names(st_estimate *estimate, const char *const *names, size_t count,
                                 st_place place, st_arena *arena, st_errors *errors)
{
    st_status status = ST_OK;
    estimate->shown = st_arena_alloc(arena, count + 1, sizeof *estimate->shown);
    if (estimate->shown == NULL)
        return ST_ERR_MEMORY;
    estimate->shown_count = count;
    for (size_t i = 0; i < count; i++) {
        if (describe(estimate->sheet, names[i], &estimate->shown[i]))
            continue;
        status = st_unknown_cell(estimate->sheet, names[i], place, errors);
    }
    return status;
}

st_status st_estimate_compile(const st_estimate *estimate, st_arena *arena,
                              const st_program **program, st_errors *errors)
{
    size_t count = estimate->shown_count + estimate->aside_count;
    const char **names = st_arena_alloc(arena, count + 1, sizeof *names);
    if (names == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < count; i++)
        names[i] = i < estimate->shown_count ? estimate->shown[i].name
                                             : estimate->aside[i - estimate->shown_count];
    const st_given given = {st_job_settles, estimate->job};
    const st_program_options options = {.outputs = names,
                                        .output_count = count,
                                        .unjudged = estimate->aside_count,
                                        .given = estimate->alone ? &given : NULL,
                                        .few_rows = estimate->alone,
                                        .providers = estimate->providers,
                                        .provider_count = estimate->provider_count,
                                        .checks_warn = estimate->checks_warn};
    return st_program_compile(estimate->sheet, &options, arena, program, errors);
}

st_status st_ready_make(const st_program *program, st_arena *arena, st_ready_program *ready,
                        st_errors *errors)
{
    size_t checks = 0;
    (void)st_sheet_checks(st_program_sheet(program), &checks);
    st_ready_program made = {
        .program = program,
        .values = st_arena_alloc(arena, st_program_output_count(program) + 1, sizeof(double)),
        .checks = st_arena_alloc(arena, checks + 1, sizeof(double)),
        .workspace = st_workspace_create(program)};
    if (made.values == NULL || made.checks == NULL || made.workspace == NULL) {
        st_workspace_destroy(made.workspace);
        return st_out_of_memory(errors);
    }
    *ready = made;
    return ST_OK;
}

void st_estimate_take(st_estimate *estimate, const st_ready_program *ready)
{
    /* Prices without a given value, and what depends on them, are not known. */
    for (size_t i = 0; i < estimate->shown_count; i++)
        estimate->shown[i].value =
            st_sheet_known(estimate->sheet, estimate->shown[i].name, ready->values[i]);
    estimate->program = ready->program;
    estimate->workspace = ready->workspace;
    estimate->values = ready->values;
    estimate->checks = ready->checks;
}

st_status st_estimate_judge(const st_estimate *estimate, const st_ready_program *ready,
                            st_errors *errors)
{
    return st_program_is_well(ready->program, ready->workspace, ready->values, ready->checks)
               ? ST_OK
               : st_program_verify(ready->program, estimate->input_values, errors);
}

st_status st_estimate_run(st_estimate *estimate, st_arena *arena, st_errors *errors)
{
    const st_program *program = NULL;
    st_ready_program ready = {0};
    st_status status = st_estimate_compile(estimate, arena, &program, errors);
    if (status == ST_OK)
        status = st_ready_make(program, arena, &ready, errors);
    if (status == ST_OK)
        status = st_program_run_one(program, ready.workspace, estimate->input_values, ready.values,
                                    ready.checks);
    if (status == ST_OK) {
        st_estimate_take(estimate, &ready);
        status = st_estimate_judge(estimate, &ready, errors);
    }
    if (status == ST_OK)
        status = st_estimate_compare_formulas(estimate, arena, errors);
    st_workspace_destroy(ready.workspace);
    estimate->workspace = NULL;
    return status;
}

bool st_input_is_assumed(const st_bound_input *input)
{
    return input->from == NULL || input->from->assumption;
}

const char *st_input_origin(const st_bound_input *input)
{
    if (input->from == NULL)
        return "sheet";
    switch (input->from->origin) {
    case ST_ORIGIN_FILE:
        return "file";
    case ST_ORIGIN_SET:
        return "set";
    case ST_ORIGIN_STACK:
        return "stack";
    case ST_ORIGIN_DEFAULT:
    case ST_ORIGIN_NONE:
        break;
    }
    return "default";
}

st_place st_input_place(const st_bound_input *input)
{
    return input->from != NULL ? input->from->place : input->input->place;
}

st_status st_estimate_compile_names(const st_estimate *estimate, const char *const *names,
                                    size_t count, st_arena *arena, const st_program **program,
                                    st_errors *errors)
{
    const st_given given = {st_job_settles, estimate->job};
    const st_program_options options = {.outputs = names,
                                        .output_count = count,
                                        .given = estimate->alone ? &given : NULL,
                                        .few_rows = estimate->alone,
                                        .providers = estimate->providers,
                                        .provider_count = estimate->provider_count,
                                        .without_checks = true};
    return st_program_compile(estimate->sheet, &options, arena, program, errors);
}

st_status st_estimate_look(const st_estimate *estimate, const char *const *names, size_t count,
                           st_arena *arena, double *values, st_errors *errors)
{
    const st_program *program = NULL;
    st_status status = st_estimate_compile_names(estimate, names, count, arena, &program, errors);
    if (status != ST_OK)
        return status;
    st_workspace *workspace = st_workspace_create(program);
    if (workspace == NULL)
        return st_out_of_memory(errors);
    status = st_program_run_one(program, workspace, estimate->input_values, values, NULL);
    if (status == ST_OK && !st_program_is_well(program, workspace, values, NULL))
        status = st_program_verify(program, estimate->input_values, errors);
    st_workspace_destroy(workspace);
    return status;
}

/* ---- settled layouts ---- */

bool st_has_open_layout(const st_job *job)
{
    const st_job_value *layout = st_job_value_of(job, ST_KEY_PARALLEL_LAYOUT);
    return layout->text != NULL && strcmp(layout->text, ST_LAYOUT_AUTO) == 0;
}

enum { SETS = 2, CHUNKS = 1 };

/* "parallel.layout=Et*3|(tt|)*29m|L" and the chunks that it has, which folded schedules do not
 * give; NULL: the sheet looks into no layouts. */
static st_status find_layout(const st_estimate *estimate, st_arena *arena, const char *sets[SETS],
                             st_errors *errors)
{
    const char *names[ST_BALANCE_NUMBERS];
    double values[ST_BALANCE_NUMBERS];
    const st_stage_plan *plan = st_stage_plan_of(estimate->providers, estimate->provider_count);
    sets[0] = NULL;
    for (size_t i = 0; i < ST_BALANCE_NUMBERS; i++) {
        names[i] = st_sheet_role_part(estimate->sheet, ST_ROLE_BALANCED_LAYOUT, i);
        if (plan == NULL || names[i] == NULL)
            return ST_OK;
    }
    st_status status = st_estimate_look(estimate, names, ST_BALANCE_NUMBERS, arena, values, errors);
    const char *text = NULL;
    if (status == ST_OK)
        status = st_balance_text(plan, values, arena, &text, errors);
    if (status != ST_OK)
        return status;
    sets[0] = st_arena_printf(arena, ST_KEY_PARALLEL_LAYOUT "=%s", text);
    sets[1] = st_arena_printf(arena, ST_KEY_PARALLEL_VIRTUAL_STAGES "=%g", values[CHUNKS]);
    return sets[0] == NULL || sets[1] == NULL ? st_out_of_memory(errors) : ST_OK;
}

st_status st_resolve_layout(const st_paths *paths, const st_request *request, st_arena *arena,
                            st_estimate *estimate, st_errors *errors)
{
    const char *sets[SETS] = {NULL};
    if (!st_has_open_layout(estimate->job))
        return ST_OK;
    st_status status = find_layout(estimate, arena, sets, errors);
    if (status != ST_OK || sets[0] == NULL)
        return status;
    const char **open_sets = st_arena_alloc(arena, request->set_count + SETS, sizeof *open_sets);
    st_request changed = *request;
    st_error_scope quiet = {.edit = st_error_is_severe}; /* warnings were reported before */
    if (open_sets == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < request->set_count; i++)
        open_sets[i] = request->sets[i];
    for (size_t i = 0; i < SETS; i++)
        open_sets[changed.set_count++] = sets[i];
    changed.sets = open_sets;
    st_errors_enter(errors, &quiet);
    st_status open_status = st_estimate_open(paths, &changed, arena, estimate, errors);
    if (open_status == ST_OK)
        open_status = st_estimate_gather(paths, &changed, arena, estimate, errors);
    st_errors_leave(errors, &quiet);
    return open_status;
}

st_status st_settled_job(const st_paths *paths, const st_request *request, st_arena *arena,
                         const st_job **job, st_errors *errors)
{
    const st_job_parts parts = {request->job, request->sheet, request->sets, request->set_count};
    st_status status = st_job_load_for(paths, &parts, arena, job, errors);
    if (status != ST_OK || !st_has_open_layout(*job))
        return status;
    st_estimate estimate;
    st_error_scope quiet = {.edit = st_error_is_severe};
    st_errors_enter(errors, &quiet);
    status = st_estimate_load(paths, request, arena, &estimate, errors);
    st_errors_leave(errors, &quiet);
    if (status == ST_OK)
        *job = estimate.job;
    return status;
}
