/* SPDX-License-Identifier: Apache-2.0 */
/* Which plans a search enumerates: the values of plan parameters, the GPUs, and what plans depend
 * on. */

#include "search/search_state.h"

#include "base/memory.h"
#include "estimate/resolved_layout.h"
#include "job/bind.h"
#include "job/job_loader.h"
#include "steptime/keys.h"
#include "sweep/space_bind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GPU_COUNTS = 1000, MOST_GPUS = 100000000 };

static double number_of(const st_search *search, const char *key)
{
    return st_job_number(search->space->base.job, key);
}

/* The axis that drives a key, directly or through a file. */
static st_search_driven driven_by(const st_search *search, const char *key)
{
    const st_space *space = search->space;
    st_search_driven found = {0};
    for (size_t i = 0; i < space->driven_count && !found.given; i++) {
        const st_driven *driven = &space->driven[i];
        if (strcmp(space->base.inputs[driven->input].input->from, key) == 0)
            found =
                (st_search_driven){.given = true, .axis = driven->axis, .values = driven->values};
    }
    size_t i = st_space_axis_of(space, key);
    if (!found.given && i < space->axis_count)
        found = (st_search_driven){.given = true, .axis = i, .values = space->axes[i].numbers};
    return found;
}

/* --- plan parameters
 * ----------------------------------------------------------------------------------- */

bool st_search_is_set(const st_search *search, const char *key)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < search->own_set_count; i++) {
        const char *set = search->request.space.sets[i];
        if (strncmp(set, key, length) == 0 && set[length + strspn(set + length, " ")] == '=')
            return true;
    }
    return false;
}

/* Values of an axis as a list, also of a range. */
static st_status list_values(st_arena *arena, const st_axis *axis, const st_sheet_input *input,
                             st_plan_choice *choice, st_errors *errors)
{
    enum { MOST_VALUES = 100000 };
    const double *values = NULL;
    st_status status = st_axis_numbers(axis, input, arena, &values, errors);
    if (status == ST_OK && axis->count > MOST_VALUES)
        status = st_fail(errors, ST_ERR_LIMIT, axis->place,
                         "too many values" ST_EXPECTED "at most 100000");
    if (status == ST_OK && values == NULL) {
        double *range = st_arena_alloc(arena, axis->count, sizeof *range);
        if (range == NULL)
            return st_out_of_memory(errors);
        for (size_t i = 0; i < axis->count; i++)
            range[i] = axis->start + (double)i * axis->step;
        values = range;
    }
    choice->values = values;
    choice->count = axis->count;
    return status;
}

/* The same value twice would make every plan of it two. `numbers` NULL: its values are texts. */
static st_status check_once(const st_search *search, const st_axis *axis, const double *numbers,
                            st_errors *errors)
{
    size_t size = numbers != NULL ? sizeof *numbers : sizeof *axis->texts;
    char *sorted = st_arena_alloc(search->space->arena, axis->count, size);
    bool twice = false;
    if (axis->texts == NULL)
        return ST_OK; /* a range */
    if (sorted == NULL)
        return st_out_of_memory(errors);
    memcpy(sorted, numbers != NULL ? (const void *)numbers : axis->texts, axis->count * size);
    int (*compare)(const void *, const void *) =
        numbers != NULL ? st_order_numbers : st_order_texts;
    qsort(sorted, axis->count, size, compare);
    for (size_t i = 1; i < axis->count && !twice; i++)
        twice = compare(sorted + (i - 1) * size, sorted + i * size) == 0;
    if (!twice)
        return ST_OK;
    return st_fail(errors, ST_ERR_USAGE, axis->place,
                   "duplicate value of %s" ST_EXPECTED "every value once", axis->path);
}

/* The number of the group in which a key advances with others; SIZE_MAX: in none. */
static size_t group_of(const st_search *search, const char *key)
{
    size_t group = SIZE_MAX;
    for (size_t i = 0; i < search->joined_count; i++) {
        const st_joined *one = &search->joined[i];
        group += i == 0 || strcmp(one->with, search->joined[i - 1].with) != 0 ? 1 : 0;
        if (strcmp(one->key, key) == 0 || strcmp(one->with, key) == 0)
            return group;
    }
    return SIZE_MAX;
}

static st_status check_length(const st_zipped *zipped, const char *other, size_t count,
                              st_errors *errors)
{
    if (zipped->count == count)
        return ST_OK;
    return st_fail(errors, ST_ERR_USAGE, zipped->place,
                   "zipped axes differ in length: %s has %zu values, %s %zu" ST_EXPECTED
                   "as many values on every axis",
                   other, count, st_plan_param_key(zipped->param), zipped->count);
}

/* The axes of the groups in which plan parameters are, and whether all have as many values. */
static st_status find_groups(st_search *search, st_errors *errors)
{
    st_space *space = search->space;
    st_status status = ST_OK;
    for (size_t i = 0; i < ST_SEARCH_MAX_GROUPS; i++)
        search->group_axes[i] = SIZE_MAX;
    for (size_t i = 0; i < space->axis_count; i++) {
        size_t group = group_of(search, space->axes[i].axis.path);
        if (group < ST_SEARCH_MAX_GROUPS)
            search->group_axes[group] = i;
    }
    for (size_t i = 0; i < search->zipped_count; i++) {
        const st_zipped *one = &search->zipped[i];
        const st_zipped *first = one;
        for (size_t k = i; k-- > 0;)
            first = search->zipped[k].group == one->group ? &search->zipped[k] : first;
        size_t axis = search->group_axes[one->group];
        st_note(&status, axis != SIZE_MAX ? check_length(one, space->axes[axis].axis.path,
                                                         space->axes[axis].axis.count, errors)
                                          : check_length(one, st_plan_param_key(first->param),
                                                         first->count, errors));
        search->group_count =
            one->group + 1 > search->group_count ? one->group + 1 : search->group_count;
    }
    if (search->zipped_count > 0)
        space->infeasible = search->bases_differ
                                ? "sizes do not divide, or zipped keys do not match"
                                : "zipped keys do not match";
    return status;
}

/* What the job itself has, as the sheet numbers it; 1 where it says nothing. */
static double own_value(const st_search *search, st_plan_param param)
{
    const char *key = st_plan_param_key(param);
    const st_space *space = search->space;
    const st_job_value *given = st_job_value_of(space->base.job, key);
    double value = given->origin != ST_ORIGIN_NONE ? given->number : 1;
    for (size_t i = 0; i < space->base.input_count; i++)
        if (strcmp(space->base.inputs[i].input->from, key) == 0)
            value = space->base.input_values[i];
    return value;
}

bool st_search_is_other(const st_search *search, st_plan_param param, double value)
{
    const char *key = st_plan_param_key(param);
    const st_job_value *given = st_job_value_of(search->space->base.job, key);
    bool closed = given->origin == ST_ORIGIN_SET && !st_search_is_set(search, key);
    return closed || given->origin == ST_ORIGIN_NONE || own_value(search, param) != value;
}

static st_status choose_fixed(const st_search *search, st_plan_param param, st_plan_choice *choice,
                              st_errors *errors)
{
    double *value = st_arena_alloc(search->space->arena, 1, sizeof *value);
    if (value == NULL)
        return st_out_of_memory(errors);
    *value = own_value(search, param);
    choice->values = value;
    choice->count = 1;
    choice->held = true;
    return ST_OK;
}

/* Divisors of values that the job does not set are unknown. */
static bool lacks_base(const st_search *search, st_plan_param param)
{
    const st_plan_base base = param == ST_PARAM_MICRO ? ST_PLAN_BATCH : ST_PLAN_LAYERS;
    const char *key = st_plan_base_key(base);
    return (param == ST_PARAM_MICRO || param == ST_PARAM_VIRTUAL) && number_of(search, key) == 0 &&
           !driven_by(search, key).given;
}

static st_status refuse_open(const st_varied *given, st_errors *errors)
{
    return st_fail(errors, ST_ERR_USAGE, st_varied_place(given, errors),
                   "the job does not define what %s divides" ST_EXPECTED
                   "KEY=VALUES, as in batch.micro=1,2,4",
                   given->key);
}

/* All that a shape allows, or all names. */
static st_status choose_all(const st_search *search, st_plan_param param,
                            const st_sheet_input *input, st_plan_choice *choice, st_errors *errors)
{
    if (param == ST_PARAM_RECOMPUTE) {
        /* Every value of the enumeration that the sheet reads. */
        size_t count = input->type.kind == ST_TYPE_ENUM ? input->type.enumeration->count : 1;
        double *values = st_arena_alloc(search->space->arena, count, sizeof *values);
        if (values == NULL)
            return st_out_of_memory(errors);
        for (size_t i = 0; i < count; i++)
            values[i] = (double)i;
        choice->values = values;
        choice->count = count;
        return ST_OK;
    }
    choice->free = true;
    return ST_OK;
}

/* What a --vary says. */
static st_status choose_given(st_search *search, const st_varied *given,
                              const st_sheet_input *input, st_plan_choice *choice,
                              st_errors *errors)
{
    if (given->text != NULL) {
        st_axis axis;
        st_status status =
            st_axis_parse(given->option, given->text, search->space->arena, &axis, errors);
        if (status == ST_OK)
            status =
                list_values(search->space->arena, &axis,
                            st_sheet_reading(search->space->sheet, given->key), choice, errors);
        if (status != ST_OK)
            return status;
        size_t group = group_of(search, given->key);
        if (group == SIZE_MAX)
            return check_once(search, &axis, choice->values, errors);
        /* Notes what a plan parameter is at every place of its group; plans are made of each of its
         * values once. */
        st_arena *arena = search->space->arena;
        double *once = st_arena_alloc(arena, choice->count, sizeof *once);
        st_zipped *list = search->zipped != NULL ? search->zipped
                                                 : st_arena_alloc(arena, ST_PARAMS, sizeof *list);
        size_t count = 0;
        if (once == NULL || list == NULL)
            return st_out_of_memory(errors);
        if (group >= ST_SEARCH_MAX_GROUPS || choice->count > ST_SEARCH_MAX_ZIPPED)
            return st_fail(errors, ST_ERR_LIMIT, axis.place,
                           "too many zipped axes or values" ST_EXPECTED
                           "at most 16 groups of 1000 values");
        for (size_t i = 0; i < choice->count; i++) {
            size_t at = 0;
            while (at < count && once[at] != choice->values[i])
                at++;
            once[at] = choice->values[i];
            count += at == count ? 1 : 0;
        }
        search->zipped = list;
        list[search->zipped_count++] = (st_zipped){.param = st_plan_param_find(axis.path),
                                                   .group = group,
                                                   .values = choice->values,
                                                   .count = choice->count,
                                                   .place = axis.place};
        *choice = (st_plan_choice){.read = choice->read, .values = once, .count = count};
        return ST_OK;
    }
    if (group_of(search, given->key) != SIZE_MAX)
        return st_fail(errors, ST_ERR_USAGE, st_varied_place(given, errors),
                       "%s is zipped without values" ST_EXPECTED
                       "as many values as the other zipped keys",
                       given->key);
    if (input == NULL)
        return choose_fixed(search, given->param, choice, errors);
    return lacks_base(search, given->param)
               ? refuse_open(given, errors)
               : choose_all(search, given->param, input, choice, errors);
}

/*
 * The first and the last stage go together: where one is given, the other stays as it is, too. A
 * layout gives both.
 */
static bool is_other_end_given(const st_search *search, st_plan_param param)
{
    const st_job_value *layout = st_job_value_of(search->space->base.job, ST_KEY_PARALLEL_LAYOUT);
    bool end = param == ST_PARAM_FIRST || param == ST_PARAM_LAST;
    st_plan_param other = param == ST_PARAM_FIRST ? ST_PARAM_LAST : ST_PARAM_FIRST;
    bool given = end && (layout->origin != ST_ORIGIN_NONE ||
                         st_search_is_set(search, st_plan_param_key(other)) ||
                         st_sheet_reading(search->space->sheet, st_plan_param_key(other)) == NULL);
    for (size_t i = 0; i < search->varied_count && end; i++)
        given = given || (search->varied[i].param == other && search->varied[i].text != NULL);
    return given;
}

/* A plan parameter that the sheet reads and that does not take all its values limits the space. */
static st_status choose_param(st_search *search, st_plan_param param, st_errors *errors)
{
    const char *key = st_plan_param_key(param);
    const st_search_request *request = &search->request;
    st_plan_choice *choice = &search->wanted.choices[param];
    const st_sheet_input *input = st_sheet_reading(search->space->sheet, key);
    choice->read = input != NULL;
    for (size_t i = 0; i < search->varied_count; i++) {
        const st_varied *varied = &search->varied[i];
        if (varied->param == param) {
            search->limited = search->limited || (input != NULL && varied->text != NULL);
            return choose_given(search, varied, input, choice, errors);
        }
    }
    bool rest = param == ST_PARAM_DP || (request->only_count == 0 && !request->limited);
    bool free = rest && !st_search_is_set(search, key) && input != NULL &&
                !lacks_base(search, param) && !is_other_end_given(search, param);
    search->limited = search->limited || (input != NULL && !free);
    return free ? choose_all(search, param, input, choice, errors)
                : choose_fixed(search, param, choice, errors);
}

/* --- GPUs ------------------------------------------------------------------------------------ */

st_status st_search_read_gpus(st_search *search, st_arena *arena, st_errors *errors)
{
    st_axis axis = {.path = "the number of GPUs"};
    st_plan_choice choice = {0};
    axis.place.file = st_arena_printf(arena, "--gpus %.200s", search->request.gpus);
    st_type count = {.kind = ST_TYPE_NUMBER, .unit = st_unit_one()};
    const st_sheet_input input = {.name = "gpus", .type = count};
    if (axis.place.file == NULL)
        return st_out_of_memory(errors);
    st_status status = st_axis_parse_values(search->request.gpus, arena, &axis, errors);
    if (status == ST_OK)
        status = list_values(arena, &axis, &input, &choice, errors);
    for (size_t i = 0; i < choice.count && status == ST_OK; i++) {
        double gpus = choice.values[i];
        if (gpus < 1 || gpus > MOST_GPUS || gpus != floor(gpus) || choice.count > MAX_GPU_COUNTS)
            status = st_fail(errors, ST_ERR_USAGE, axis.place,
                             "the number of GPUs is out of range" ST_EXPECTED
                             "at most 1000 whole numbers, each from 1 to 100000000");
    }
    if (status != ST_OK)
        return status;
    /* Removes duplicates and keeps the first, so that no plan occurs twice. */
    double *gpus = st_arena_alloc(arena, choice.count + 1, sizeof *gpus);
    size_t gpu_count = 0;
    if (gpus == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < choice.count; i++) {
        size_t at = 0;
        while (at < gpu_count && gpus[at] != choice.values[i])
            at++;
        gpus[at] = choice.values[i];
        gpu_count += at == gpu_count ? 1 : 0;
    }
    search->wanted.gpus = gpus;
    search->wanted.gpus_count = gpu_count;
    return ST_OK;
}

/* Whether only the search set a key, because the sheet requires it. */
static bool is_closed(const st_search *search, const char *key)
{
    const st_job_value *value = st_job_value_of(search->space->base.job, key);
    return value->origin == ST_ORIGIN_SET && !st_search_is_set(search, key) &&
           !driven_by(search, key).given;
}

/* GPUs of a node that plans take; 0: unknown. */
static double node_size_of(const st_search *search)
{
    double used = number_of(search, ST_KEY_CLUSTER_GPUS_USED_PER_NODE);
    return used > 0 ? used : number_of(search, ST_KEY_CLUSTER_GPUS_PER_NODE);
}

/* The GPUs that the job's own plan takes; of a job without a plan those of its cluster. */
static st_status choose_gpus(st_search *search, st_errors *errors)
{
    static const char *const sizes[] = {ST_KEY_PARALLEL_TP, ST_KEY_PARALLEL_CP, ST_KEY_PARALLEL_PP,
                                        ST_KEY_PARALLEL_DP};
    if (search->request.gpus != NULL)
        return ST_OK; /* they were read before the space was made */
    double *gpus = st_arena_alloc(search->space->arena, 1, sizeof *gpus);
    if (gpus == NULL)
        return st_out_of_memory(errors);
    double node = node_size_of(search);
    *gpus = 1;
    for (size_t i = 0; i < ST_COUNT(sizes); i++)
        *gpus *= number_of(search, sizes[i]);
    if (*gpus <= 1) { /* the job has no plan yet: all that there are */
        *gpus = number_of(search, ST_KEY_CLUSTER_NODES) * (node > 0 ? node : 1);
        search->gpus_from =
            is_closed(search, ST_KEY_CLUSTER_NODES) ? "of one node" : "of the job's cluster";
    }
    search->wanted.gpus = gpus;
    search->wanted.gpus_count = 1;
    return ST_OK;
}

/* --- what plans depend on ----------------------------------------------------------------------
 */

double st_search_driven_value(const st_search *search, const st_search_driven *driven,
                              uint64_t digit)
{
    return st_axis_value(&search->space->axes[driven->axis].axis, driven->values, digit);
}

/* Puts a number into a rising list, unless it is there; false where the list is full. */
static bool insert(double *values, size_t *count, double value)
{
    size_t at = *count;
    while (at > 0 && values[at - 1] >= value)
        at--;
    if (at < *count && values[at] == value)
        return true;
    if (*count == ST_PLAN_MOST_NUMBERS)
        return false;
    memmove(&values[at + 1], &values[at], (*count - at) * sizeof *values);
    values[at] = value;
    ++*count;
    return true;
}

/* The values that a base has in some row; `all` is set if they are complete. */
static st_status list_numbers(st_search *search, st_plan_base base, bool *all, st_errors *errors)
{
    st_search_driven driven = driven_by(search, st_plan_base_key(base));
    st_plan_numbers *numbers = &search->wanted.bases[base];
    double *values = st_arena_alloc(search->space->arena, ST_PLAN_MOST_NUMBERS, sizeof *values);
    *numbers = (st_plan_numbers){.values = values, .count = 1};
    *all = true;
    if (values == NULL)
        return st_out_of_memory(errors);
    if (!driven.given) {
        values[0] = number_of(search, st_plan_base_key(base));
        return ST_OK;
    }
    search->bases[base] = driven;
    search->bases_differ = true;
    numbers->count = 0;
    uint64_t count = search->space->axes[driven.axis].axis.count;
    for (uint64_t i = 0; i < count && *all; i++)
        *all = insert(values, &numbers->count, st_search_driven_value(search, &driven, i));
    return ST_OK;
}

/* The plan parameter whose values are made from a base. */
static st_plan_param param_of(st_plan_base base)
{
    switch (base) {
    case ST_PLAN_BATCH:
        return ST_PARAM_MICRO;
    case ST_PLAN_EXPERTS:
    case ST_PLAN_EXPERT_TP:
        return ST_PARAM_EP;
    case ST_PLAN_LAYERS:
    case ST_PLAN_BASES:
        break;
    }
    return ST_PARAM_VIRTUAL;
}

/* Of a key with very many values plans are left to the checks, unless they are made from it. */
static st_status find_base(st_search *search, st_plan_base base, st_errors *errors)
{
    const char *key = st_plan_base_key(base);
    st_plan_numbers *numbers = &search->wanted.bases[base];
    st_plan_param param = param_of(base);
    bool all = true;
    st_status status = list_numbers(search, base, &all, errors);
    if (status != ST_OK || all)
        return status;
    numbers->count = 0;
    if (!search->wanted.choices[param].free)
        return ST_OK;
    return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = search->request.space.option},
                   "too many values of %s with %s, which is derived from it" ST_EXPECTED
                   "at most 100" ST_HINT "also give the values of %s",
                   key, st_plan_param_key(param), st_plan_param_key(param));
}

void st_search_keep_own(st_space *space)
{
    size_t kept = 0;
    for (size_t i = 0; i < space->driven_count; i++) {
        st_plan_param param =
            st_plan_param_find(space->base.inputs[space->driven[i].input].input->from);
        if (param == ST_PARAM_NODES || param == ST_PARAMS)
            space->driven[kept++] = space->driven[i];
    }
    space->driven_count = kept;
}

/* A plan that no framework can launch is excluded, unless a list of values or --set requests it.
 */
static void limit_to_stack(st_search *search)
{
    const st_space *space = search->space;
    if (st_space_axis_of(space, ST_KEY_STACK) != SIZE_MAX)
        return;
    const st_stack_runs *runs = &space->base.job->runs;
    st_plan_request *wanted = &search->wanted;
    const st_plan_choice *choices = wanted->choices;
    if (choices[ST_PARAM_ZERO].free) {
        wanted->zero = runs->zero;
        wanted->zero_with_stages = runs->zero_with_stages;
    }
    wanted->whole_groups =
        runs->whole_groups && choices[ST_PARAM_VIRTUAL].free && choices[ST_PARAM_MICRO].read;
    wanted->near_ends = runs->near_ends && wanted->balanced == 0 && choices[ST_PARAM_FIRST].free &&
                        choices[ST_PARAM_LAST].free;
}

/* The plan that the job itself gives, where nothing that plans depend on varies with it. */
static st_status add_own(st_search *search, st_errors *errors)
{
    st_plan_request *wanted = &search->wanted;
    double *own = st_arena_alloc(search->space->arena, ST_PARAMS, sizeof *own);
    if (own == NULL)
        return st_out_of_memory(errors);
    if (wanted->balanced > 0 || wanted->nodes_differ || search->bases_differ ||
        search->zipped_count > 0)
        return ST_OK;
    for (size_t i = 0; i < search->space->axis_count; i++)
        if (!st_search_is_tried(search, i))
            return ST_OK;
    for (st_plan_param param = ST_PARAM_TP; param < ST_PARAMS; param++)
        own[param] = own_value(search, param);
    wanted->own = own;
    return ST_OK;
}

/* --- the whole ------------------------------------------------------------------------------- */

static void note_varying(st_search *search)
{
    double first[ST_PARAMS] = {0};
    for (size_t i = 0; i < search->plans.shape_count; i++) {
        const st_shape *shape = &search->plans.shapes[i];
        for (size_t k = 0; k < ST_PARAMS; k++) {
            bool size = k < ST_PARAM_VIRTUAL;
            const double *list = size ? NULL : shape->lists[k - ST_PARAM_VIRTUAL];
            double value = size ? shape->sizes[k] : list[0];
            first[k] = i == 0 ? value : first[k];
            bool several = !size && shape->counts[k - ST_PARAM_VIRTUAL] > 1;
            search->varies[k] = search->varies[k] || several || value != first[k];
        }
    }
    search->varies[ST_PARAM_NODES] = search->varies[ST_PARAM_NODES] || search->node_size.given;
    for (st_plan_param param = ST_PARAM_NODES; param < ST_PARAMS; param++) {
        bool other = param != ST_PARAM_NODES && search->plans.shape_count > 0 &&
                     first[param] != own_value(search, param);
        search->shown[param] = search->varies[param] || other;
    }
}

static st_status count_rows(st_search *search, st_errors *errors)
{
    double rows = (double)search->plans.count * (double)search->space->total;
    uint64_t sample = search->request.space.sample;
    search->total = rows < 1e18 ? search->plans.count * search->space->total : 0;
    if (rows >= 1e18 || (sample == 0 && search->total > st_space_most_rows))
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = search->request.space.option},
                       "%.3g plans are too many" ST_EXPECTED "at most 1000000000" ST_HINT
                       "vary fewer keys, or draw a sample with --sample N",
                       rows);
    search->rows = sample > 0 && sample < search->total ? sample : search->total;
    return ST_OK;
}

/*
 * What a plugin reads once cannot differ from plan to plan. Only of a profile, which is chosen for
 * a number of nodes, there is a sensible rest: that of the job's own number.
 */
static st_status check_plugins(const st_search *search, st_errors *errors)
{
    const st_refine_keys *keys = &search->space->plugin_keys;
    st_status status = ST_OK;
    for (size_t i = 0; i < keys->count; i++) {
        st_plan_param param = st_plan_param_find(keys->paths[i]);
        bool nodes = param == ST_PARAM_NODES;
        if (param == ST_PARAMS || !search->varies[param])
            continue;
        st_status reported = st_report(
            errors, nodes ? ST_SEVERITY_WARNING : ST_SEVERITY_ERROR,
            nodes ? ST_ERR_VALUE : ST_ERR_USAGE, (st_place){.file = "--refine"}, "%s",
            st_or_none(nodes
                           ? "all plans use the profile of the job's own number of nodes"
                           : st_errors_text(errors,
                                            "a plugin reads %s, which varies between plans and is "
                                            "not an input of sheet %s",
                                            keys->paths[i], st_sheet_name(search->space->sheet))));
        status = nodes ? status : reported;
    }
    return status;
}

st_status st_search_make_plans(st_search *search, st_errors *errors)
{
    st_plan_request *wanted = &search->wanted;
    st_status status = ST_OK;
    for (size_t i = 0; i < search->varied_count; i++) {
        if (search->varied[i].param == ST_PARAM_NODES) {
            status = st_fail(errors, ST_ERR_USAGE, st_varied_place(&search->varied[i], errors),
                             "a search derives the number of nodes from the GPUs" ST_HINT
                             "set the numbers of GPUs with --gpus");
            break;
        }
    }
    if (status == ST_OK) {
        /* Zipped axes may have a value twice, with different ones of the others. */
        const st_space *space = search->space;
        status = ST_OK;
        for (size_t i = 0; i < space->axis_count; i++) {
            bool joined = space->axes[i].follows != 0;
            for (size_t k = i + 1; k < space->axis_count; k++)
                joined = joined || space->axes[k].follows == i + 1;
            if (joined)
                continue;
            st_note(&status,
                    check_once(search, &space->axes[i].axis, space->axes[i].numbers, errors));
        }
    }
    if (status == ST_OK)
        status = choose_gpus(search, errors);
    for (st_plan_param param = ST_PARAM_TP; param < ST_PARAMS; param++)
        st_note(&status, choose_param(search, param, errors));
    if (status != ST_OK)
        return status;
    wanted->choices[ST_PARAM_NODES].read =
        st_sheet_reading(search->space->sheet, ST_KEY_CLUSTER_NODES) != NULL;
    st_search_keep_own(search->space);
    if (st_has_open_layout(search->space->base.job)) /* embedding and loss, and prediction */
        wanted->balanced = number_of(search, ST_KEY_MODEL_MTP) > 0 ? 3 : 2;
    limit_to_stack(search);
    /* Where GPUs in a node differ from row to row, nodes do. */
    static const char node_size[] = ST_KEY_CLUSTER_GPUS_PER_NODE;
    status = ST_OK;
    for (st_plan_base base = ST_PLAN_LAYERS; base < ST_PLAN_BASES; base++)
        st_note(&status, find_base(search, base, errors));
    search->node_size = driven_by(search, node_size);
    wanted->nodes_differ = search->node_size.given;
    wanted->gpus_per_node = node_size_of(search);
    if (status == ST_OK)
        status = find_groups(search, errors);
    /* Why rows are not plans, if the stack's software is one reason. */
    if (search->wanted.whole_groups || search->wanted.near_ends)
        search->space->infeasible = search->bases_differ || search->zipped_count > 0
                                        ? "sizes do not divide, zipped keys do not match, or the "
                                          "stack does not support it (see limits)"
                                        : "the stack does not support it (see limits)";
    if (status == ST_OK)
        status = add_own(search, errors);
    if (status == ST_OK)
        status = st_plans_make(wanted, search->space->arena, &search->plans, errors);
    if (status == ST_OK) {
        note_varying(search);
        status = check_plugins(search, errors);
    }
    if (status == ST_OK)
        status = count_rows(search, errors);
    return status;
}
