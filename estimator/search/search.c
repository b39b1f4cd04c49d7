/* SPDX-License-Identifier: Apache-2.0 */
/* What a search looks for and where; see search.h. */
#include "search/search.h"

#include "search/guided.h"
#include "search/space_bind.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_GPU_COUNTS = 1000, MOST_GPUS = 100000000 };

static st_status out_of_memory(st_errors *errors)
{
    (void)st_errors_add(errors, &(st_error){.status = ST_ERR_MEMORY, .message = "out of memory"});
    return ST_ERR_MEMORY;
}

/* --- what is varied -------------------------------------------------------------------------- */

/* All orders in which four groups can be numbered. */
static const char all_orders[] =
    "parallel.order=tp-cp-dp-pp,tp-cp-pp-dp,tp-dp-cp-pp,tp-dp-pp-cp,tp-pp-cp-dp,tp-pp-dp-cp,"
    "cp-tp-dp-pp,cp-tp-pp-dp,cp-dp-tp-pp,cp-dp-pp-tp,cp-pp-tp-dp,cp-pp-dp-tp,dp-tp-cp-pp,"
    "dp-tp-pp-cp,dp-cp-tp-pp,dp-cp-pp-tp,dp-pp-tp-cp,dp-pp-cp-tp,pp-tp-cp-dp,pp-tp-dp-cp,"
    "pp-cp-tp-dp,pp-cp-dp-tp,pp-dp-tp-cp,pp-dp-cp-tp";

/* One --vary, split. */
typedef struct varied {
    const char *key;
    const char *text; /* KEY=VALUES; NULL: KEY alone */
    st_knob knob;     /* ST_KNOBS: an axis of the space */
} varied;

static varied *read_varies(const st_search_request *request, st_arena *arena, st_errors *errors)
{
    varied *list = st_arena_alloc(arena, request->vary_count + 1, sizeof *list);
    bool good = list != NULL;
    for (size_t i = 0; good && i < request->vary_count; i++) {
        const char *text = request->varies[i];
        size_t length = strcspn(text, "=");
        char *key = st_arena_copy(arena, text, length);
        good = key != NULL;
        while (good && length > 0 && key[length - 1] == ' ') {
            key[--length] = '\0';
        }
        list[i].key = key;
        list[i].text = strchr(text, '=') != NULL ? text : NULL;
        list[i].knob = good ? st_knob_find(key) : ST_KNOBS;
    }
    if (!good) {
        (void)out_of_memory(errors);
    }
    return good ? list : NULL;
}

/* Axes of the space: what is varied and no knob. */
static st_status list_axes(st_search *search, const varied *varies, st_arena *arena,
                           st_errors *errors)
{
    const st_search_request *request = &search->request;
    const char **axes = st_arena_alloc(arena, request->vary_count + 1, sizeof *axes);
    size_t count = 0;
    if (axes == NULL) {
        return out_of_memory(errors);
    }
    for (size_t i = 0; i < request->vary_count; i++) {
        bool orders = varies[i].text == NULL && strcmp(varies[i].key, "parallel.order") == 0;
        if (varies[i].knob == ST_KNOBS) {
            axes[count++] = orders ? all_orders : request->varies[i];
        }
    }
    search->request.space.overs = axes;
    search->request.space.over_count = count;
    return ST_OK;
}

/* Knobs that a job may leave open, but a sheet may not: any value does until they vary. */
static st_status close_job(st_search *search, const st_paths *paths, st_arena *arena,
                           st_errors *errors)
{
    static const char *const keys[] = {"batch.micro", "recompute", "cluster.nodes"};
    static const char *const values[] = {"batch.micro=1", "recompute=none", "cluster.nodes=1"};
    st_space_request *space = &search->request.space;
    const st_job *job = NULL;
    st_errors *quiet = st_errors_create();
    const char **sets = st_arena_alloc(arena, space->set_count + 4, sizeof *sets);
    if (quiet == NULL || sets == NULL) {
        st_errors_destroy(quiet);
        return out_of_memory(errors);
    }
    st_status status =
        st_job_load(paths, space->job, space->sets, space->set_count, arena, &job, quiet);
    st_errors_destroy(quiet);
    if (status != ST_OK) {
        return ST_OK; /* told when the space is made */
    }
    for (size_t i = 0; i < space->set_count; i++) {
        sets[i] = space->sets[i];
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (st_job_value_of(job, keys[i])->origin == ST_ORIGIN_NONE) {
            sets[space->set_count++] = values[i];
        }
    }
    space->sets = sets;
    return ST_OK;
}

/* --- cells ----------------------------------------------------------------------------------- */

/* Goals by the names that sheets give them; the first is looked for where none is named. */
static const char *default_goal(const st_sheet *sheet)
{
    size_t sections = 0;
    const st_sheet_section *report = st_sheet_sections(sheet, &sections);
    if (st_sheet_find_cell(sheet, "step_time") != NULL) {
        return "step_time";
    }
    return sections > 0 && report[0].count > 0 ? report[0].cells[0] : "step_time";
}

static st_status choose_cells(st_search *search, const st_sheet *sheet, st_arena *arena,
                              st_errors *errors)
{
    const st_search_request *request = &search->request;
    const char **cells = st_arena_alloc(arena, 5, sizeof *cells);
    size_t count = 0;
    if (cells == NULL) {
        return out_of_memory(errors);
    }
    search->goal = request->minimise != NULL ? request->minimise : default_goal(sheet);
    cells[count++] = search->goal;
    for (size_t i = 0; i < 2 && request->front[i] != NULL; i++) {
        cells[count++] = request->front[i];
    }
    if (st_sheet_find_cell(sheet, "memory") != NULL) {
        search->near = count;
        cells[count++] = "memory";
    }
    if (request->guide.floor != NULL) {
        search->floor = count;
        cells[count++] = request->guide.floor;
    }
    search->request.space.cells = cells;
    search->request.space.cell_count = count;
    return ST_OK;
}

/* The sheet, loaded once more than necessary: cells are chosen before the space is made. */
static st_status find_cells(st_search *search, const st_paths *paths, st_arena *arena,
                            st_errors *errors)
{
    st_errors *quiet = st_errors_create();
    st_estimate estimate;
    st_request request = {.job = search->request.space.job,
                          .sheet = search->request.space.sheet,
                          .sets = search->request.space.sets,
                          .set_count = search->request.space.set_count};
    if (quiet == NULL) {
        return out_of_memory(errors);
    }
    (void)!st_estimate_open(paths, &request, arena, &estimate, quiet);
    st_errors_destroy(quiet);
    if (estimate.sheet == NULL) {
        return ST_OK; /* told when the space is made */
    }
    return choose_cells(search, estimate.sheet, arena, errors);
}

/* --- knobs ----------------------------------------------------------------------------------- */

static const st_sheet_input *input_of(const st_sheet *sheet, const char *key)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(inputs[i].from, key) == 0) {
            return &inputs[i];
        }
    }
    return NULL;
}

static bool is_set(const st_search_request *request, const char *key)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < request->space.set_count; i++) {
        const char *set = request->space.sets[i];
        if (strncmp(set, key, length) == 0 && set[length + strspn(set + length, " ")] == '=') {
            return true;
        }
    }
    return false;
}

/* Values of an axis as a list, also of a range. */
static st_status list_values(const st_search *search, const st_axis *axis,
                             const st_sheet_input *input, st_knob_choice *choice, st_errors *errors)
{
    enum { MOST_VALUES = 100000 };
    const double *values = NULL;
    st_status status = st_axis_numbers(axis, input, search->space->arena, &values, errors);
    if (status == ST_OK && axis->count > MOST_VALUES) {
        status = st_errors_add(errors, &(st_error){.status = ST_ERR_LIMIT,
                                                   .place = axis->place,
                                                   .message = "there are too many values",
                                                   .expected = "at most 100000"});
    }
    if (status == ST_OK && values == NULL) {
        double *range = st_arena_alloc(search->space->arena, axis->count, sizeof *range);
        if (range == NULL) {
            return out_of_memory(errors);
        }
        for (size_t i = 0; i < axis->count; i++) {
            range[i] = axis->start + (double)i * axis->step;
        }
        values = range;
    }
    choice->values = values;
    choice->count = axis->count;
    return status;
}

static st_status choose_listed(st_search *search, const varied *given, st_knob_choice *choice,
                               st_errors *errors)
{
    st_axis axis;
    st_status status = st_axis_parse("--vary", given->text, search->space->arena, &axis, errors);
    if (status != ST_OK) {
        return status;
    }
    return list_values(search, &axis, input_of(search->space->sheet, given->key), choice, errors);
}

/* Every value of the enumeration that the sheet reads. */
static st_status choose_all_names(const st_search *search, const st_sheet_input *input,
                                  st_knob_choice *choice, st_errors *errors)
{
    size_t count = input->type.kind == ST_TYPE_ENUM ? input->type.enumeration->count : 1;
    double *values = st_arena_alloc(search->space->arena, count, sizeof *values);
    if (values == NULL) {
        return out_of_memory(errors);
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = (double)i;
    }
    choice->values = values;
    choice->count = count;
    return ST_OK;
}

static st_status choose_fixed(const st_search *search, const char *key, const st_sheet_input *input,
                              st_knob_choice *choice, st_errors *errors)
{
    double *value = st_arena_alloc(search->space->arena, 1, sizeof *value);
    const st_job_value *given = st_job_value_of(search->space->base.job, key);
    if (value == NULL) {
        return out_of_memory(errors);
    }
    *value = given->origin != ST_ORIGIN_NONE ? given->number : 1;
    for (size_t i = 0; input != NULL && i < search->space->base.input_count; i++) {
        if (search->space->base.inputs[i].input == input) {
            *value = search->space->base.input_values[i];
        }
    }
    choice->values = value;
    choice->count = 1;
    return ST_OK;
}

static st_status choose_knob(st_search *search, st_knob knob, const varied *varies,
                             st_errors *errors)
{
    const char *key = st_knob_key(knob);
    const st_search_request *request = &search->request;
    st_knob_choice *choice = &search->wanted.choices[knob];
    const st_sheet_input *input = input_of(search->space->sheet, key);
    const varied *given = NULL;
    for (size_t i = 0; i < request->vary_count; i++) {
        given = varies[i].knob == knob ? &varies[i] : given;
    }
    choice->read = input != NULL;
    if (given != NULL && given->text != NULL) {
        return choose_listed(search, given, choice, errors);
    }
    bool rest = knob == ST_KNOB_DP && !is_set(request, key);
    bool free = given != NULL || rest || (request->vary_count == 0 && !is_set(request, key));
    if (!free || input == NULL) {
        return choose_fixed(search, key, input, choice, errors);
    }
    if (knob == ST_KNOB_RECOMPUTE) {
        return choose_all_names(search, input, choice, errors);
    }
    choice->free = true;
    return ST_OK;
}

static st_status refuse_nodes(const varied *varies, size_t count, st_errors *errors)
{
    for (size_t i = 0; i < count; i++) {
        if (varies[i].knob == ST_KNOB_NODES) {
            return st_errors_add(
                errors, &(st_error){.status = ST_ERR_USAGE,
                                    .place = {.file = "--vary cluster.nodes"},
                                    .message = "a search takes as many nodes as its GPUs need",
                                    .suggestion = "give the numbers of GPUs with --gpus"});
        }
    }
    return ST_OK;
}

/* --- GPUs ------------------------------------------------------------------------------------ */

static double number_of(const st_search *search, const char *key)
{
    const st_job_value *value = st_job_value_of(search->space->base.job, key);
    return value->origin != ST_ORIGIN_NONE ? value->number : 0;
}

static st_status read_gpus(st_search *search, st_errors *errors)
{
    st_arena *arena = search->space->arena;
    st_axis axis = {.path = "the number of GPUs"};
    st_knob_choice choice = {0};
    axis.place.file = st_arena_printf(arena, "--gpus %.200s", search->request.gpus);
    st_type count = {.kind = ST_TYPE_NUMBER, .unit = st_unit_one()};
    const st_sheet_input input = {.name = "gpus", .type = count};
    if (axis.place.file == NULL) {
        return out_of_memory(errors);
    }
    st_status status = st_axis_parse_values(search->request.gpus, arena, &axis, errors);
    if (status == ST_OK) {
        status = list_values(search, &axis, &input, &choice, errors);
    }
    for (size_t i = 0; i < choice.count && status == ST_OK; i++) {
        double gpus = choice.values[i];
        if (gpus < 1 || gpus > MOST_GPUS || gpus != floor(gpus) || choice.count > MAX_GPU_COUNTS) {
            status = st_errors_add(
                errors, &(st_error){.status = ST_ERR_USAGE,
                                    .place = axis.place,
                                    .message = "that many GPUs cannot be searched",
                                    .expected = "whole numbers from 1 to 100000000, at most 1000"});
        }
    }
    search->wanted.gpus = choice.values;
    search->wanted.gpus_count = choice.count;
    return status;
}

/* The GPUs that the job's own plan takes; of a job without a plan those of its cluster. */
static st_status choose_gpus(st_search *search, st_errors *errors)
{
    static const char *const sizes[] = {"parallel.tp", "parallel.cp", "parallel.pp", "parallel.dp"};
    if (search->request.gpus != NULL) {
        return read_gpus(search, errors);
    }
    double *gpus = st_arena_alloc(search->space->arena, 1, sizeof *gpus);
    if (gpus == NULL) {
        return out_of_memory(errors);
    }
    double node = number_of(search, "cluster.gpus_per_node");
    *gpus = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        *gpus *= number_of(search, sizes[i]);
    }
    if (*gpus <= 1) { /* the job has no plan yet: all that there are */
        *gpus = number_of(search, "cluster.nodes") * (node > 0 ? node : 1);
    }
    search->wanted.gpus = gpus;
    search->wanted.gpus_count = 1;
    return ST_OK;
}

/* --- the whole ------------------------------------------------------------------------------- */

static void note_varying(st_search *search)
{
    double first[ST_KNOBS] = {0};
    for (size_t i = 0; i < search->plans.shape_count; i++) {
        const st_shape *shape = &search->plans.shapes[i];
        for (size_t k = 0; k < ST_KNOBS; k++) {
            bool size = k < ST_KNOB_VIRTUAL;
            const double *list = size ? NULL : shape->lists[k - ST_KNOB_VIRTUAL];
            double value = size ? shape->sizes[k] : list[0];
            first[k] = i == 0 ? value : first[k];
            bool several = !size && shape->counts[k - ST_KNOB_VIRTUAL] > 1;
            search->varies[k] = search->varies[k] || several || value != first[k];
        }
    }
}

static st_status count_rows(st_search *search, st_errors *errors)
{
    double rows = (double)search->plans.count * (double)search->space->total;
    uint64_t sample = search->request.space.sample;
    search->total = rows < 1e18 ? search->plans.count * search->space->total : 0;
    if (rows >= 1e18 || (sample == 0 && search->total > st_space_most_rows)) {
        return st_errors_add(
            errors, &(st_error){.status = ST_ERR_LIMIT,
                                .place = {.file = "--vary"},
                                .message = st_errors_text(errors, "there are %.3g plans", rows),
                                .expected = "at most 1000000000",
                                .suggestion = "vary less, or draw some of them with --sample N"});
    }
    search->rows = sample > 0 && sample < search->total ? sample : search->total;
    return ST_OK;
}

/*
 * What a plugin reads once cannot differ from plan to plan. Only of a profile, which is chosen for
 * a number of machines, there is a sensible rest: that of the job's own number.
 */
static st_status check_plugins(const st_search *search, st_errors *errors)
{
    const st_refine_keys *keys = &search->space->plugin_keys;
    st_status status = ST_OK;
    for (size_t i = 0; i < keys->count; i++) {
        st_knob knob = st_knob_find(keys->paths[i]);
        bool nodes = knob == ST_KNOB_NODES;
        if (knob == ST_KNOBS || !search->varies[knob]) {
            continue;
        }
        st_status told = st_errors_add(
            errors,
            &(st_error){.status = nodes ? ST_ERR_VALUE : ST_ERR_USAGE,
                        .severity = nodes ? ST_SEVERITY_WARNING : ST_SEVERITY_ERROR,
                        .place = {.file = "--refine"},
                        .message = nodes ? "the profile of the job's own number of machines "
                                           "counts for every plan"
                                         : st_errors_text(errors,
                                                          "a plugin reads %s, which plans vary and "
                                                          "sheet %s has not among its inputs",
                                                          keys->paths[i],
                                                          st_sheet_name(search->space->sheet))});
        status = nodes ? status : told;
    }
    return status;
}

static st_status make_plans(st_search *search, const varied *varies, st_errors *errors)
{
    st_plan_request *wanted = &search->wanted;
    st_status status = refuse_nodes(varies, search->request.vary_count, errors);
    if (status == ST_OK) {
        status = choose_gpus(search, errors);
    }
    for (st_knob knob = ST_KNOB_TP; knob < ST_KNOBS; knob++) {
        st_status chosen = choose_knob(search, knob, varies, errors);
        status = status == ST_OK ? chosen : status;
    }
    if (status != ST_OK) {
        return status;
    }
    wanted->choices[ST_KNOB_NODES].read = input_of(search->space->sheet, "cluster.nodes") != NULL;
    wanted->gpus_per_node = number_of(search, "cluster.gpus_per_node");
    wanted->layers = number_of(search, "model.layers");
    wanted->batch = number_of(search, "batch.global");
    wanted->experts = number_of(search, "model.experts");
    wanted->expert_tp = number_of(search, "parallel.expert_tp");
    status = st_plans_make(wanted, search->space->arena, &search->plans, errors);
    if (status == ST_OK) {
        note_varying(search);
        status = check_plugins(search, errors);
    }
    if (status == ST_OK) {
        status = count_rows(search, errors);
    }
    return status;
}

st_status st_search_create(const st_paths *paths, const st_search_request *request, st_arena *arena,
                           st_search **search, st_errors *errors)
{
    st_search *made = st_arena_alloc(arena, 1, sizeof *made);
    if (made == NULL) {
        return out_of_memory(errors);
    }
    made->request = *request;
    made->request.space.option = "--vary";
    const varied *varies = read_varies(request, arena, errors);
    if (varies == NULL) {
        return ST_ERR_MEMORY;
    }
    st_status status = list_axes(made, varies, arena, errors);
    if (status == ST_OK) {
        status = close_job(made, paths, arena, errors);
    }
    if (status == ST_OK) {
        status = find_cells(made, paths, arena, errors);
    }
    st_space_request whole = made->request.space;
    whole.uncounted = whole.sample > 0;
    whole.sample = 0; /* plans are sampled, not the axes */
    if (status == ST_OK) {
        status = st_space_create(paths, &whole, arena, &made->space, errors);
    }
    if (status == ST_OK) {
        status = make_plans(made, varies, errors);
    }
    if (status == ST_OK) {
        status = st_guide_check(made, errors);
    }
    if (status == ST_OK) {
        *search = made;
    }
    return status;
}

/* --- names ----------------------------------------------------------------------------------- */

static const char *knob_set(const st_search *search, st_knob knob, double value)
{
    const char *key = st_knob_key(knob);
    const st_sheet_input *input = input_of(search->space->sheet, key);
    char text[ST_QUANTITY_TEXT];
    if (input != NULL && input->type.kind == ST_TYPE_ENUM) {
        return st_arena_printf(search->space->arena, "%s=%s", key,
                               input->type.enumeration->values[(size_t)value]);
    }
    if (input != NULL && input->type.kind == ST_TYPE_BOOL) {
        return st_arena_printf(search->space->arena, "%s=%s", key, value != 0 ? "true" : "false");
    }
    return st_arena_printf(search->space->arena, "%s=%s", key,
                           st_number_format(value, text, sizeof text));
}

const char *const *st_search_sets(const st_search *search, uint64_t row, bool all, size_t *count)
{
    const st_space *space = search->space;
    const char **sets = st_arena_alloc(space->arena, ST_KNOBS + space->axis_count, sizeof *sets);
    double values[ST_KNOBS];
    *count = 0;
    st_plan_at(&search->plans, row / space->total, values);
    for (st_knob knob = ST_KNOB_NODES; sets != NULL && knob < ST_KNOBS; knob++) {
        const st_knob_choice *choice = &search->wanted.choices[knob];
        if (!choice->read || (!all && !search->varies[knob])) {
            continue;
        }
        sets[*count] = knob_set(search, knob, values[knob]);
        if (sets[(*count)++] == NULL) {
            return NULL;
        }
    }
    for (size_t i = 0; sets != NULL && i < space->axis_count; i++) {
        char storage[ST_AXIS_TEXT];
        uint64_t digit = st_space_digit(space, i, row % space->total);
        sets[*count] = st_arena_printf(space->arena, "%s=%s", space->axes[i].axis.path,
                                       st_axis_text(&space->axes[i].axis, digit, storage));
        if (sets[(*count)++] == NULL) {
            return NULL;
        }
    }
    return sets;
}
