/* SPDX-License-Identifier: Apache-2.0 */
/* The fit of a group, half of its shapes held out, and its baselines; see operators.h. */
#include "operator-times/fit/operators.h"

#include "base/hash.h"
#include "steptime/keys.h"
#include "steptime/tool/job_values.h"

#include <math.h>
#include <string.h>

enum { LEAST_ROWS = 16 }; /* of each half */

const st_operator_shape st_operator_shapes[ST_OPERATORS] = {
    {{ST_KEY_OPERATOR_M, ST_KEY_OPERATOR_N, ST_KEY_OPERATOR_K, NULL},
     NULL,
     {ST_KEY_OPERATOR_N, ST_KEY_OPERATOR_K, NULL}},
    {{ST_KEY_OPERATOR_BATCH, ST_KEY_OPERATOR_SEQUENCE, ST_KEY_OPERATOR_HEADS,
      ST_KEY_OPERATOR_HEAD_DIM, NULL},
     ST_KEY_OPERATOR_SEQUENCE,
     {ST_KEY_OPERATOR_SEQUENCE, ST_KEY_OPERATOR_HEADS, NULL}},
    {{ST_KEY_OPERATOR_TOKENS, ST_KEY_OPERATOR_HIDDEN, ST_KEY_OPERATOR_FFN, ST_KEY_OPERATOR_TOP_K,
      ST_KEY_OPERATOR_EXPERTS},
     NULL,
     {ST_KEY_OPERATOR_HIDDEN, ST_KEY_OPERATOR_FFN, NULL}},
};

/* A constant by its key, between bounds in the key's unit. */
typedef struct constant {
    const char *key;
    double low;
    double high;
    bool by_precision; /* the key ends in the precision's name */
} constant;

static const constant constants[ST_OPERATORS][ST_OPERATOR_CONSTANTS] = {
    {{"cluster.gpu.gemm_efficiency_", 0.02, 1, true},
     {"cluster.gpu.gemm_memory_", 0.02, 1, true},
     {"cluster.gpu.gemm_constant_", 0.05, 200, true}},
    {{ST_KEY_CLUSTER_GPU_ATTENTION_EFFICIENCY_64, 0.02, 1, false},
     {ST_KEY_CLUSTER_GPU_ATTENTION_HALF_64, 1, 20000, false},
     {ST_KEY_CLUSTER_GPU_ATTENTION_EFFICIENCY_128, 0.02, 1, false},
     {ST_KEY_CLUSTER_GPU_ATTENTION_HALF_128, 1, 20000, false},
     {ST_KEY_CLUSTER_GPU_ATTENTION_CONSTANT, 0.05, 500, false}},
    {{ST_KEY_CLUSTER_GPU_GROUPED_EFFICIENCY_BF16, 0.02, 2, false},
     {ST_KEY_CLUSTER_GPU_GROUPED_EFFICIENCY_FP8, 0.02, 2, false},
     {ST_KEY_CLUSTER_GPU_GROUPED_EFFICIENCY_FP8_BLOCK, 0.02, 2, false},
     {ST_KEY_CLUSTER_GPU_GROUPED_EFFICIENCY_NVFP4, 0.02, 2, false},
     {ST_KEY_CLUSTER_GPU_GROUPED_HALF, 0.5, 5000, false},
     {ST_KEY_CLUSTER_GPU_GROUPED_MEMORY, 0.02, 1, false},
     {ST_KEY_CLUSTER_GPU_GROUPED_CONSTANT, 0.05, 1000, false}},
};

/* What distinguishes libraries: keys with the precision's name where there is one, and the
 * library's. */
static const char *const factors[ST_OPERATORS][2] = {
    {"cluster.gpu.gemm_overhead_", NULL},
    {"cluster.gpu.attention_rate_", "cluster.gpu.attention_overhead_"},
    {NULL, NULL},
};
static const double factor_low = 0.02;
static const double factor_high = 50;
static const char library_key[] = ST_KEY_OPERATOR_LIBRARY;

/* A half of a group's rows, ready to fit or to estimate. */
typedef struct part {
    st_measured set;
    size_t *rows; /* in the group's table */
} times_part;

/* ---- parts ---- */

/* By the features of a shape: the same half on every GPU and in every order of rows. */
static bool in_first_half(const st_operator_group *group, size_t row)
{
    uint64_t hash = ST_HASH_BEGIN;
    const char *const *keys = st_operator_shapes[group->kind].half;
    for (size_t i = 0; keys[i] != NULL; i++)
        hash = st_hash_number(hash, (uint64_t)st_measured_value(group->table, row, keys[i]));
    return (hash >> 32) % 2 == 0;
}

/* The rows of the first half (0), of the second (1), or all (2), with inputs of their own. */
static st_status take_part(const st_operator_fit *fit, const st_operator_group *group,
                           unsigned which, times_part *taken)
{
    const st_measured *table = group->table;
    size_t count = 0;
    taken->set = *table;
    taken->rows = st_arena_alloc(fit->arena, group->row_count + 1, sizeof *taken->rows);
    if (taken->rows == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < group->row_count; i++)
        if (which == 2 || in_first_half(group, group->rows[i]) == (which == 0))
            taken->rows[count++] = group->rows[i];
    taken->set.row_count = count;
    taken->set.rows = st_arena_alloc(fit->arena, count + 1, sizeof *taken->set.rows);
    taken->set.inputs =
        st_arena_alloc(fit->arena, table->input_count * count + 1, sizeof *taken->set.inputs);
    if (taken->set.rows == NULL || taken->set.inputs == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        taken->set.rows[i] = table->rows[taken->rows[i]];
    for (size_t i = 0; i < table->input_count; i++)
        for (size_t k = 0; k < count; k++)
            taken->set.inputs[i * count + k] = table->inputs[i * table->row_count + taken->rows[k]];
    return ST_OK;
}

static void put_constant(times_part *part, size_t input, double value)
{
    for (size_t row = 0; row < part->set.row_count; row++)
        part->set.inputs[input * part->set.row_count + row] = value;
}

/* Puts values of the first constants into all rows; libraries of which none says anything are as
 * all are together. */
static void put_constants(const st_operator_group *group, const double *values, size_t value_count,
                          times_part *part)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(part->set.sheet, &count);
    for (size_t i = 0; i < count; i++) {
        bool is_factor = false;
        const char *key = inputs[i].from;
        for (size_t k = 0; k < 2 && factors[group->kind][k] != NULL; k++)
            if (strncmp(key, factors[group->kind][k], strlen(factors[group->kind][k])) == 0) {
                is_factor = true;
                break;
            }
        if (is_factor)
            put_constant(part, i, 1);
        for (size_t k = 0; k < value_count; k++)
            if (strcmp(inputs[i].from, group->varied[k].path) == 0)
                put_constant(part, i, values[k]);
    }
}

/* Estimates all rows by values of constants. */
static st_status estimate(const st_operator_fit *fit, const st_operator_group *group,
                          const double *values, times_part *part)
{
    put_constants(group, values, group->varied_count, part);
    return st_measured_run(&part->set, fit->arena, fit->errors);
}

/* ---- constants ---- */

static const st_type *type_of(const st_measured *table, const char *key)
{
    const st_sheet_input *input = st_sheet_reading(table->sheet, key);
    return input != NULL ? &input->type : NULL;
}

/* Whether a row answers to a constant: those of one width of heads, or of experts in one precision,
 * need rows of theirs. */
static bool answers(const st_operator_group *group, size_t row, const char *key)
{
    static const char experts[] = "cluster.gpu.grouped_efficiency_";
    const char *end = key + strlen(key);
    if (group->kind == ST_OPERATOR_EXPERTS && strncmp(key, experts, strlen(experts)) == 0)
        return strcmp(st_measured_choice(group->table, row, ST_KEY_OPERATOR_PRECISION),
                      key + strlen(experts)) == 0;
    if (group->kind == ST_OPERATOR_ATTENTION && end[-1] >= '0' && end[-1] <= '9')
        return (st_measured_value(group->table, row, ST_KEY_OPERATOR_HEAD_DIM) < 96) ==
               (strcmp(end - 3, "_64") == 0);
    return true;
}

/* Enough rows of the half that is fitted alone, too. */
static bool has_rows_for(const st_operator_group *group, const char *key)
{
    size_t count = 0;
    for (size_t i = 0; i < group->row_count; i++)
        if (answers(group, group->rows[i], key) && in_first_half(group, group->rows[i]))
            count++;
    return count >= LEAST_ROWS;
}

/* Products that arrive quantised have the constants of the type that they are in. */
static const char *constants_of(const char *precision)
{
    return strcmp(precision, "fp8_static") == 0 ? "fp8" : precision;
}

static st_status add_constant(const st_operator_fit *fit, st_operator_group *group, const char *key,
                              double low, double high)
{
    if (key == NULL)
        return ST_ERR_MEMORY;
    const st_type *type = type_of(group->table, key);
    if (type == NULL)
        return st_fail(fit->errors, ST_ERR_NAME, (st_place){.file = group->table->file},
                       "the sheet %s reads no %s", st_sheet_name(group->table->sheet), key);
    group->varied[group->varied_count++] = (st_varied){.path = key,
                                                       .name = key,
                                                       .type = type,
                                                       .low = st_unit_to_base(&type->unit, low),
                                                       .high = st_unit_to_base(&type->unit, high),
                                                       .start = (double)NAN};
    return ST_OK;
}

/* ---- libraries ---- */

/* Which libraries have rows enough, of the half that is fitted alone, too. */
static size_t find_libraries(const st_operator_group *group, bool *known, size_t count)
{
    size_t rows[ST_OPERATOR_LIBRARIES] = {0};
    size_t found = 0;
    for (size_t i = 0; i < group->row_count; i++) {
        double library = st_measured_value(group->table, group->rows[i], library_key);
        if (library >= 1 && library < (double)count && in_first_half(group, group->rows[i]))
            rows[(size_t)library]++;
    }
    for (size_t i = 1; i < count; i++) {
        known[i] = rows[i] >= LEAST_ROWS;
        found += known[i] ? 1 : 0;
    }
    return found;
}

/* One library alone is what all are together; products that arrive quantised launch one kernel. */
static st_status list_factors(const st_operator_fit *fit, st_operator_group *group)
{
    const st_type *type = type_of(group->table, library_key);
    size_t count = type != NULL ? type->enumeration->count : 0;
    bool known[ST_OPERATOR_LIBRARIES] = {false};
    st_status status = ST_OK;
    if (strcmp(group->precision_name, constants_of(group->precision_name)) != 0)
        return ST_OK;
    if (count > ST_OPERATOR_LIBRARIES || find_libraries(group, known, count) < 2)
        return ST_OK;
    for (size_t k = 0; k < 2 && factors[group->kind][k] != NULL; k++)
        for (size_t i = 1; i < count && status == ST_OK; i++) {
            bool precise = group->kind == ST_OPERATOR_GEMM;
            const char *key = st_arena_printf(fit->arena, "%s%s%s%s", factors[group->kind][k],
                                              precise ? constants_of(group->precision_name) : "",
                                              precise ? "_" : "", type->enumeration->values[i]);
            if (known[i] && (key == NULL || type_of(group->table, key) != NULL))
                status = add_constant(fit, group, key, factor_low, factor_high);
        }
    return status;
}

/* ---- fits ---- */

/* Fits a range of the constants of a group. What goes wrong with it is said next to it, and the
 * others go on. */
static st_status calibrate(const st_operator_fit *fit, st_operator_group *group,
                           const times_part *part, const size_t range[2],
                           st_calibration *calibration)
{
    st_errors *faults = st_errors_create();
    if (faults == NULL)
        return ST_ERR_MEMORY;
    *calibration = (st_calibration){.sets = &part->set,
                                    .set_count = 1,
                                    .varied = group->varied + range[0],
                                    .varied_count = range[1] - range[0],
                                    .scale = 0.1,
                                    .whole = true};
    st_status status = st_calibrate(calibration, fit->arena, faults);
    const st_error *said = st_errors_size(faults) > 0 ? st_errors_at(faults, 0) : NULL;
    if (status == ST_ERR_VALUE || status == ST_ERR_MATH) {
        group->fault = st_arena_printf(fit->arena, "%s", said != NULL ? said->message : "no fit");
        status = group->fault != NULL ? ST_OK : ST_ERR_MEMORY;
    }
    st_errors_destroy(faults);
    return status;
}

/* What all libraries share is fitted as if they were one: it holds for one that is not named. What
 * distinguishes them is fitted after that, and moves nothing of it. */
static st_status fit_part(const st_operator_fit *fit, st_operator_group *group, times_part *part,
                          st_calibration *calibration)
{
    size_t shared = group->shared_count;
    put_constants(group, NULL, 0, part);
    st_status status = calibrate(fit, group, part, (const size_t[]){0, shared}, calibration);
    if (status != ST_OK || group->fault != NULL || group->varied_count == shared)
        return status;
    st_solution solution = calibration->solution;
    put_constants(group, solution.values, shared, part);
    status =
        calibrate(fit, group, part, (const size_t[]){shared, group->varied_count}, calibration);
    for (size_t i = shared; i < group->varied_count; i++) {
        solution.values[i] = calibration->solution.values[i - shared];
        solution.errors[i] = calibration->solution.errors[i - shared];
        solution.at_low[i] = calibration->solution.at_low[i - shared];
        solution.at_high[i] = calibration->solution.at_high[i - shared];
    }
    calibration->solution = solution;
    return status;
}

static void summarize_part(const st_operator_fit *fit, const times_part *part,
                           st_error_summary *summary)
{
    double *errors = st_arena_alloc(fit->arena, part->set.row_count + 1, sizeof *errors);
    size_t count = 0;
    for (size_t i = 0; errors != NULL && i < part->set.row_count; i++)
        if (part->set.rows[i].left_out == NULL)
            errors[count++] = part->set.rows[i].error;
    if (errors != NULL)
        *summary = st_summarize_errors(errors, count);
}

/* ---- naive ---- */

static size_t key_count(st_operator_kind kind)
{
    size_t count = 0;
    while (count < ST_OPERATOR_SHAPE && st_operator_shapes[kind].keys[count] != NULL)
        count++;
    return count;
}

/* Measured over estimated, or over the work where `by_work`, of one half. */
static st_status take_points(const st_operator_fit *fit, const st_operator_group *group,
                             const times_part *part, bool by_work, st_operator_points *points)
{
    size_t keys = key_count(group->kind);
    size_t count = part->set.row_count;
    *points = (st_operator_points){
        .logs = st_arena_alloc(fit->arena, count * keys + 1, sizeof *points->logs),
        .ratios = st_arena_alloc(fit->arena, count + 1, sizeof *points->ratios),
        .count = count,
        .keys = keys};
    if (points->logs == NULL || points->ratios == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const st_row *row = &part->set.rows[i];
        /* The logarithms of a shape, and what its work is proportional to. */
        const size_t shape_row = part->rows[i];
        double *logs = points->logs + i * keys;
        const st_operator_shape *shape = &st_operator_shapes[group->kind];
        double work = 1;
        for (size_t j = 0; j < key_count(group->kind); j++) {
            double value = st_measured_value(group->table, shape_row, shape->keys[j]);
            logs[j] = log(value);
            work *= value;
            if (shape->squared != NULL && strcmp(shape->squared, shape->keys[j]) == 0)
                work *= value;
        }
        points->ratios[i] = row->measured / (by_work ? work : row->estimate);
    }
    return ST_OK;
}

/* The errors of the held half by what the neighbours of each shape have. */
static st_status try_between(const st_operator_fit *fit, const st_operator_points *known,
                             const st_operator_points *held, st_error_summary *summary)
{
    double *errors = st_arena_alloc(fit->arena, held->count + 1, sizeof *errors);
    if (errors == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < held->count; i++)
        errors[i] = st_operator_between(known, held->logs + i * held->keys) / held->ratios[i] - 1.0;
    *summary = st_summarize_errors(errors, held->count);
    return ST_OK;
}

/* ---- a group ---- */

static st_status try_halves(const st_operator_fit *fit, st_operator_group *group)
{
    times_part known = {0};
    times_part held = {0};
    st_calibration calibration = {0};
    st_status status = take_part(fit, group, 0, &known);
    if (status == ST_OK)
        status = take_part(fit, group, 1, &held);
    if (status != ST_OK || known.set.row_count < LEAST_ROWS || held.set.row_count < LEAST_ROWS) {
        group->fault = "too few rows: fewer than 16 in half of the shapes";
        return status;
    }
    status = fit_part(fit, group, &known, &calibration);
    if (status == ST_OK && group->fault == NULL)
        status = estimate(fit, group, calibration.solution.values, &known);
    if (status == ST_OK && group->fault == NULL)
        status = estimate(fit, group, calibration.solution.values, &held);
    if (status != ST_OK || group->fault != NULL)
        return status;
    summarize_part(fit, &held, &group->held_out);
    st_operator_points first = {0};
    st_operator_points second = {0};
    st_status naive_status = take_points(fit, group, &known, true, &first);
    if (naive_status == ST_OK)
        naive_status = take_points(fit, group, &held, true, &second);
    if (naive_status == ST_OK) {
        double *errors = st_arena_alloc(fit->arena, second.count + 1, sizeof *errors);
        double *ratios = st_arena_alloc(fit->arena, first.count + 1, sizeof *ratios);
        if (errors == NULL || ratios == NULL) {
            naive_status = ST_ERR_MEMORY;
        } else {
            memcpy(ratios, first.ratios, first.count * sizeof *ratios);
            double middle = st_median(ratios, first.count);
            for (size_t i = 0; i < second.count; i++)
                errors[i] = middle / second.ratios[i] - 1.0;
            group->rate = st_summarize_errors(errors, second.count);
        }
    }
    if (naive_status == ST_OK)
        naive_status = try_between(fit, &first, &second, &group->between);
    if (naive_status == ST_OK)
        naive_status = take_points(fit, group, &known, false, &first);
    if (naive_status == ST_OK)
        naive_status = take_points(fit, group, &held, false, &second);
    return naive_status == ST_OK ? try_between(fit, &first, &second, &group->corrected)
                                 : naive_status;
}

/* ---- GPUs left out ---- */

/* GPUs of one architecture: 8.9 is not that of 8.0, 10.3 is that of 10.0. */
static bool is_kin(const st_operator_group *group, const st_operator_group *other)
{
    const st_job_value *capability =
        st_job_value_of(group->job, ST_KEY_CLUSTER_GPU_COMPUTE_CAPABILITY);
    const st_job_value *its = st_job_value_of(other->job, ST_KEY_CLUSTER_GPU_COMPUTE_CAPABILITY);
    return floor(capability->number) == floor(its->number) &&
           fabs(capability->number - its->number) < 0.75;
}

static bool is_like(const st_operator_group *group, const st_operator_group *other)
{
    bool like = other != group && other->fault == NULL && !st_operator_same_gpu(other, group) &&
                other->kind == group->kind && other->burst == group->burst &&
                strcmp(other->precision_name, group->precision_name) == 0 &&
                other->shared_count == group->shared_count;
    for (size_t i = 0; like && i < group->shared_count; i++)
        like = strcmp(group->varied[i].path, other->varied[i].path) == 0;
    return like;
}

/* What the file of a GPU says of its bursts is not a measurement of related GPUs: a rate of theirs
 * counts as their table has it. */
static double scale_of(const st_operator_group *group, size_t index)
{
    static const char efficiency[] = "cluster.gpu.gemm_efficiency_";
    bool scaled = group->burst != 0 &&
                  strncmp(group->varied[index].path, efficiency, strlen(efficiency)) == 0;
    return scaled ? st_measured_value(group->table, group->rows[0], ST_KEY_CLUSTER_GPU_GEMM_BURST)
                  : 1.0;
}

/* The geometric mean of the constants of kin, or of all others where there is none. */
static st_status try_kin(const st_operator_fit *fit, st_operator_group *group, bool kin_only)
{
    double values[ST_OPERATOR_VARIED] = {0};
    size_t counts[ST_OPERATOR_VARIED] = {0};
    size_t count = 0;
    st_buffer names = {0};
    for (size_t i = 0; i < fit->group_count; i++) {
        const st_operator_group *other = &fit->groups[i];
        if (!is_like(group, other) || (kin_only && !is_kin(group, other)))
            continue;
        st_buffer_printf(&names, "%s%s", count++ > 0 ? ", " : "", st_operator_gpu(other));
        /* Adds the logarithms of another GPU's constants; a library that it has not does not
         * count. */
        for (size_t k = 0; k < group->varied_count; k++) {
            /* The place of a constant among those of another group; its count where it has none. */
            size_t place = 0;
            while (place < other->varied_count &&
                   strcmp(other->varied[place].path, group->varied[k].path) != 0)
                place++;
            if (place == other->varied_count)
                continue;
            values[k] += log(other->solution.values[place] * scale_of(other, place));
            counts[k]++;
        }
    }
    for (size_t k = 0; k < group->varied_count; k++)
        values[k] = counts[k] > 0 ? exp(values[k] / (double)counts[k]) / scale_of(group, k) : 1;
    group->kin_names = st_buffer_keep(&names, fit->arena);
    if (count == 0 && kin_only)
        return try_kin(fit, group, false);
    times_part all = {0};
    st_status status = take_part(fit, group, 2, &all);
    if (status == ST_OK && count > 0)
        status = estimate(fit, group, values, &all);
    if (status == ST_OK && count > 0)
        summarize_part(fit, &all, &group->kin);
    return status;
}

st_status st_operators_fit(st_operator_fit *fit)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < fit->group_count && status == ST_OK; i++) {
        st_operator_group *group = &fit->groups[i];
        times_part all = {0};
        st_calibration calibration = {0};
        st_status group_status = ST_OK;
        for (size_t j = 0; j < ST_OPERATOR_CONSTANTS && group_status == ST_OK; j++) {
            const constant *row = &constants[group->kind][j];
            if (row->key == NULL || !has_rows_for(group, row->key))
                continue; /* the sheet's own value holds */
            const char *key =
                st_arena_printf(fit->arena, "%s%s", row->key,
                                row->by_precision ? constants_of(group->precision_name) : "");
            group_status = add_constant(fit, group, key, row->low, row->high);
        }
        group->shared_count = group->varied_count;
        if (group_status == ST_OK)
            group_status = list_factors(fit, group);
        if (group_status == ST_OK)
            group_status = try_halves(fit, group);
        if (group_status == ST_OK && group->fault == NULL)
            group_status = take_part(fit, group, 2, &all);
        if (group_status == ST_OK && group->fault == NULL)
            group_status = fit_part(fit, group, &all, &calibration);
        group->solution = calibration.solution;
        group->fitted = calibration.errors;
        status = group_status;
    }
    for (size_t i = 0; fit->leave_gpu && i < fit->group_count && status == ST_OK; i++)
        if (fit->groups[i].fault == NULL)
            status = try_kin(fit, &fit->groups[i], true);
    return status;
}
