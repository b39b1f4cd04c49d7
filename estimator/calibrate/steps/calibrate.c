/* SPDX-License-Identifier: Apache-2.0 */
/* The fit, and fits without a row or a group; see calibrate.h. */
#include "calibrate/steps/calibrate.h"

#include "program/rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The used rows of one table that have the same providers, ready to run. */
typedef struct fit_block {
    const st_measured *set;
    const st_provider_list *providers;
    const st_program *program;
    st_workspace *workspace;
    st_column *columns;
    size_t first; /* of its rows among all */
    size_t row_count;
    bool laid_out; /* the workspace has run: from then on only what varied constants change runs */
} fit_block;

typedef struct fitter {
    st_calibration *calibration;
    st_arena *arena;
    st_errors *errors;
    fit_block *blocks;
    size_t block_count;
    double *values; /* of the varied inputs, where the columns point to */
    double *measured;
    double *estimates;
    double *scratch;
    bool *counts;
    st_parameter parameters[ST_FIT_MAX_PARAMETERS];
} fitter;

/* ---- rows ---- */

static bool is_used(const st_row *row)
{
    return row->left_out == NULL && !row->ran_out;
}

static size_t variants_of(const st_measured *set)
{
    return set->variant_count > 0 ? set->variant_count : 1;
}

/* The rows of a block stand side by side. */
static void list_block(fitter *own, size_t index, size_t variant)
{
    static const st_provider_list none = {0};
    st_calibration *calibration = own->calibration;
    const st_measured *set = &calibration->sets[index];
    fit_block *block = &own->blocks[own->block_count++];
    *block = (fit_block){.set = set,
                         .providers = set->variant_count > 0 ? &set->variants[variant] : &none,
                         .first = calibration->row_count};
    for (size_t row = 0; row < set->row_count; row++) {
        if (!is_used(&set->rows[row]) || set->rows[row].variant != variant)
            continue;
        own->measured[calibration->row_count] = set->rows[row].measured;
        calibration->rows[calibration->row_count++] = (st_used_row){.set = index, .row = row};
    }
    block->row_count = calibration->row_count - block->first;
}

static st_status list_rows(fitter *own)
{
    st_calibration *calibration = own->calibration;
    size_t all = 0;
    size_t blocks = 0;
    for (size_t i = 0; i < calibration->set_count; i++) {
        all += calibration->sets[i].row_count;
        blocks += variants_of(&calibration->sets[i]);
    }
    own->blocks = st_arena_alloc(own->arena, blocks + 1, sizeof *own->blocks);
    calibration->rows = st_arena_alloc(own->arena, all + 1, sizeof *calibration->rows);
    own->measured = st_arena_alloc(own->arena, all + 1, sizeof *own->measured);
    own->estimates = st_arena_alloc(own->arena, all + 1, sizeof *own->estimates);
    own->scratch = st_arena_alloc(own->arena, 2 * all + 1, sizeof *own->scratch);
    own->counts = st_arena_alloc(own->arena, all + 1, sizeof *own->counts);
    if (own->blocks == NULL || calibration->rows == NULL || own->measured == NULL ||
        own->estimates == NULL || own->scratch == NULL || own->counts == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < calibration->set_count; i++)
        for (size_t variant = 0; variant < variants_of(&calibration->sets[i]); variant++)
            list_block(own, i, variant);
    return ST_OK;
}

/* ---- blocks ---- */

/* The index of what varies an input; SIZE_MAX: nothing. */
static size_t varied_index(const fitter *own, const st_sheet_input *input)
{
    for (size_t i = 0; i < own->calibration->varied_count; i++)
        if (strcmp(own->calibration->varied[i].path, input->from) == 0)
            return i;
    return SIZE_MAX;
}

/* An input of the used rows alone; the first of them tells where a fit may start. */
static double *gather(fitter *own, const fit_block *block, size_t input)
{
    const st_measured *set = block->set;
    double *values = st_arena_alloc(own->arena, block->row_count + 1, sizeof *values);
    for (size_t i = 0; values != NULL && i < block->row_count; i++) {
        size_t row = own->calibration->rows[block->first + i].row;
        values[i] = set->inputs[input * set->row_count + row];
    }
    return values;
}

/* What is the same in all rows is computed once. */
static size_t stride_of(const double *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (memcmp(&values[i], &values[0], sizeof *values) != 0)
            return 1;
    return 0;
}

static st_status fill_columns(fitter *own, fit_block *block)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(block->set->sheet, &count);
    block->columns = st_arena_alloc(own->arena, count + 1, sizeof *block->columns);
    if (block->columns == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        double *values = gather(own, block, i);
        size_t varied = varied_index(own, &inputs[i]);
        if (values == NULL)
            return ST_ERR_MEMORY;
        block->columns[i] = (st_column){values, stride_of(values, block->row_count)};
        if (varied == SIZE_MAX)
            continue;
        block->columns[i] = (st_column){&own->values[varied], 0};
        if (block->row_count > 0 && !isfinite(own->parameters[varied].start))
            own->parameters[varied].start = values[0];
    }
    return ST_OK;
}

/* Varied constants move with every run, all other inputs never. */
static st_status begin_runs(fitter *own, fit_block *block)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(block->set->sheet, &count);
    uint8_t *levels = st_arena_alloc(own->arena, count + 1, sizeof *levels);
    block->workspace = levels != NULL ? st_workspace_create(block->program) : NULL;
    if (block->workspace == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        levels[i] = varied_index(own, &inputs[i]) != SIZE_MAX ? 1 : 0;
    st_paced_begin(block->workspace, levels);
    return ST_OK;
}

static st_status prepare_block(fitter *own, fit_block *block)
{
    const st_measured *set = block->set;
    const st_program_options options = {.outputs = &set->cell,
                                        .output_count = 1,
                                        .providers = block->providers->items,
                                        .provider_count = block->providers->count,
                                        .without_checks = true};
    st_status status =
        st_program_compile(set->sheet, &options, own->arena, &block->program, own->errors);
    if (status == ST_OK)
        status = fill_columns(own, block);
    return status == ST_OK ? begin_runs(own, block) : status;
}

static st_status prepare(fitter *own)
{
    st_calibration *calibration = own->calibration;
    own->values = st_arena_alloc(own->arena, calibration->varied_count + 1, sizeof *own->values);
    if (own->values == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < calibration->varied_count; i++)
        own->parameters[i] = (st_parameter){calibration->varied[i].low, calibration->varied[i].high,
                                            calibration->varied[i].start};
    st_status status = ST_OK;
    for (size_t i = 0; i < own->block_count && status == ST_OK; i++)
        status = prepare_block(own, &own->blocks[i]);
    for (size_t i = 0; i < calibration->varied_count; i++)
        if (!isfinite(own->parameters[i].start))
            own->parameters[i].start = st_parameter_at(&own->parameters[i], 0.5);
    return status;
}

static st_status evaluate(void *self, const double *values, double *estimates)
{
    fitter *own = self;
    memcpy(own->values, values, own->calibration->varied_count * sizeof *values);
    for (size_t i = 0; i < own->block_count; i++) {
        fit_block *block = &own->blocks[i];
        double *const outputs[] = {estimates + block->first};
        const st_paced run = {.inputs = block->columns,
                              .level = block->laid_out ? 1 : 0,
                              .rows = block->row_count,
                              .outputs = outputs};
        st_paced_run(block->workspace, &run);
        block->laid_out = true;
    }
    return ST_OK;
}

/* ---- what cannot be fitted ---- */

static st_status check_counts(const fitter *own)
{
    const st_calibration *calibration = own->calibration;
    if (calibration->row_count >= calibration->varied_count)
        return ST_OK;
    return st_fail(own->errors, ST_ERR_VALUE, (st_place){0},
                   "%zu measured row%s cannot tell %zu constants" ST_HINT
                   "give at least as many rows as constants",
                   calibration->row_count, calibration->row_count == 1 ? "" : "s",
                   calibration->varied_count);
}

/* Whether any row answers when a constant goes from one bound to the other. */
static st_status is_sensitive(fitter *own, size_t index, bool *answer)
{
    double values[ST_FIT_MAX_PARAMETERS];
    size_t rows = own->calibration->row_count;
    for (size_t i = 0; i < own->calibration->varied_count; i++)
        values[i] = own->parameters[i].start;
    values[index] = own->parameters[index].low;
    st_status status = evaluate(own, values, own->scratch);
    values[index] = own->parameters[index].high;
    if (status == ST_OK)
        status = evaluate(own, values, own->scratch + rows);
    *answer = false;
    for (size_t i = 0; i < rows && status == ST_OK; i++) {
        double low = own->scratch[i];
        double high = own->scratch[rows + i];
        *answer = *answer || !(fabs(high - low) <= 1e-9 * fabs(low));
    }
    return status;
}

static st_status check_sensitivity(fitter *own)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < own->calibration->varied_count; i++) {
        bool answer = false;
        st_status run = is_sensitive(own, i, &answer);
        if (run != ST_OK)
            return run;
        if (!answer)
            status = st_fail(own->errors, ST_ERR_VALUE, (st_place){0},
                             "no row is sensitive to %s" ST_HINT
                             "leave it out, or give rows on which it has an effect",
                             own->calibration->varied[i].path);
    }
    return status;
}

/* What the solution says about itself. */
static st_status check_solution(const fitter *own)
{
    const st_calibration *calibration = own->calibration;
    const st_solution *solution = &calibration->solution;
    st_status status = ST_OK;
    for (size_t i = 0; i < calibration->varied_count; i++) {
        bool at_bound = solution->at_low[i] || solution->at_high[i];
        const char *path = calibration->varied[i].path;
        if (at_bound)
            st_report(own->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){0},
                      "%s ends at its %s bound", path, solution->at_low[i] ? "lower" : "upper");
        else if (calibration->row_count > calibration->varied_count &&
                 !isfinite(solution->errors[i]))
            status = st_fail(own->errors, ST_ERR_MATH, (st_place){0},
                             "the rows cannot tell %s apart from the other constants" ST_HINT
                             "fit fewer of them, or give rows that differ more",
                             path);
    }
    return status;
}

/* ---- fits ---- */

static st_problem problem_of(fitter *own)
{
    const st_calibration *calibration = own->calibration;
    return (st_problem){.parameters = own->parameters,
                        .parameter_count = calibration->varied_count,
                        .measured = own->measured,
                        .row_count = calibration->row_count,
                        .loss = calibration->loss,
                        .scale = calibration->scale,
                        .evaluate = evaluate,
                        .self = own};
}

static st_status fit_all(fitter *own)
{
    st_calibration *calibration = own->calibration;
    const st_problem problem = problem_of(own);
    st_status status = st_solve(&problem, &calibration->solution);
    if (status == ST_ERR_MATH)
        return st_fail(own->errors, status, (st_place){0},
                       "no minimum is found: estimates without a finite value" ST_HINT
                       "narrow the bounds, or leave out the rows that have none");
    if (status == ST_OK)
        status = evaluate(own, calibration->solution.values, own->estimates);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < calibration->row_count; i++) {
        calibration->rows[i].error = own->estimates[i] / own->measured[i] - 1.0;
        own->scratch[i] = calibration->rows[i].error;
    }
    st_summarize_errors(own->scratch, calibration->row_count, own->scratch + calibration->row_count,
                        &calibration->errors);
    return ST_OK;
}

/* A fit to the rows that own->counts has, from where the fit to all of them ended, and the errors
 * of the others, which stand in own->scratch. */
static st_status fit_others(fitter *own, size_t *held)
{
    const st_calibration *calibration = own->calibration;
    st_solution solution = {0};
    st_problem problem = problem_of(own);
    st_parameter near[ST_FIT_MAX_PARAMETERS];
    for (size_t i = 0; i < calibration->varied_count; i++) {
        near[i] = own->parameters[i];
        near[i].start = calibration->solution.values[i];
    }
    problem.parameters = near;
    problem.counts = own->counts;
    problem.start_only = true;
    *held = 0;
    st_status status = st_solve(&problem, &solution);
    if (status == ST_OK)
        status = evaluate(own, solution.values, own->estimates);
    for (size_t i = 0; i < calibration->row_count && status == ST_OK; i++)
        if (!own->counts[i])
            own->scratch[(*held)++] = own->estimates[i] / own->measured[i] - 1.0;
    return status;
}

/* A fit that fails without some rows has no error to show for them; the others go on. */
static bool is_fatal(st_status status)
{
    return status != ST_OK && status != ST_ERR_VALUE && status != ST_ERR_MATH;
}

static st_status leave_fold_out(fitter *own, size_t fold, size_t folds)
{
    st_calibration *calibration = own->calibration;
    size_t held = 0;
    size_t next = 0;
    for (size_t i = 0; i < calibration->row_count; i++)
        own->counts[i] = i % folds != fold;
    st_status status = fit_others(own, &held);
    for (size_t i = fold; i < calibration->row_count; i += folds)
        calibration->rows[i].error_left_out = status == ST_OK ? own->scratch[next++] : (double)NAN;
    return is_fatal(status) ? status : ST_OK;
}

static st_status leave_rows_out(fitter *own)
{
    st_calibration *calibration = own->calibration;
    size_t rows = calibration->row_count;
    size_t kept = 0;
    st_status status = ST_OK;
    calibration->folds = rows > ST_LEFT_OUT_ALONE ? ST_FOLDS : rows;
    for (size_t i = 0; i < calibration->folds && status == ST_OK; i++)
        status = leave_fold_out(own, i, calibration->folds);
    for (size_t i = 0; i < rows; i++)
        if (isfinite(calibration->rows[i].error_left_out))
            own->scratch[kept++] = calibration->rows[i].error_left_out;
    st_summarize_errors(own->scratch, kept, own->scratch + rows, &calibration->left_out);
    return status;
}

/* ---- groups ---- */

static const char *group_of(const fitter *own, size_t row)
{
    const st_used_row *used = &own->calibration->rows[row];
    return st_measured_field(&own->calibration->sets[used->set], used->row,
                             own->calibration->group);
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The values of the column, sorted; rows without one are never held out. */
static const char **list_groups(const fitter *own, size_t *count)
{
    size_t rows = own->calibration->row_count;
    const char **values = st_arena_alloc(own->arena, rows + 1, sizeof *values);
    size_t used = 0;
    size_t kept = 0;
    for (size_t i = 0; values != NULL && i < rows; i++)
        if (group_of(own, i)[0] != '\0')
            values[used++] = group_of(own, i);
    if (used > 0)
        qsort(values, used, sizeof values[0], compare_texts);
    for (size_t i = 0; i < used; i++)
        if (kept == 0 || strcmp(values[i], values[kept - 1]) != 0)
            values[kept++] = values[i];
    *count = kept;
    return values;
}

static st_status leave_group_out(fitter *own, const char *value, double *all, size_t *all_count)
{
    st_calibration *calibration = own->calibration;
    st_held_group *group = &calibration->groups[calibration->group_count++];
    size_t held = 0;
    for (size_t i = 0; i < calibration->row_count; i++)
        own->counts[i] = strcmp(group_of(own, i), value) != 0;
    st_status status = fit_others(own, &held);
    if (is_fatal(status))
        return status;
    held = status == ST_OK ? held : 0;
    if (held > 0)
        memcpy(all + *all_count, own->scratch, held * sizeof *all);
    *all_count += held;
    *group = (st_held_group){.value = value};
    st_summarize_errors(own->scratch, held, own->scratch + calibration->row_count, &group->errors);
    return ST_OK;
}

static st_status leave_groups_out(fitter *own)
{
    st_calibration *calibration = own->calibration;
    size_t count = 0;
    size_t held = 0;
    if (calibration->group == NULL)
        return ST_OK;
    const char **values = list_groups(own, &count);
    double *all = st_arena_alloc(own->arena, calibration->row_count + 1, sizeof *all);
    calibration->groups = st_arena_alloc(own->arena, count + 1, sizeof *calibration->groups);
    if (values == NULL || all == NULL || calibration->groups == NULL)
        return ST_ERR_MEMORY;
    if (count < 2)
        return st_fail(own->errors, ST_ERR_USAGE, (st_place){0},
                       "--group %s makes %zu group%s of the rows" ST_HINT
                       "name a column that has at least two values",
                       calibration->group, count, count == 1 ? "" : "s");
    st_status status = ST_OK;
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = leave_group_out(own, values[i], all, &held);
    st_summarize_errors(all, held, own->scratch, &calibration->group_errors);
    return status;
}

st_status st_calibrate(st_calibration *calibration, st_arena *arena, st_errors *errors)
{
    fitter own = {.calibration = calibration, .arena = arena, .errors = errors};
    st_status status = list_rows(&own);
    if (status == ST_OK)
        status = check_counts(&own);
    if (status == ST_OK)
        status = prepare(&own);
    if (status == ST_OK)
        status = check_sensitivity(&own);
    if (status == ST_OK)
        status = fit_all(&own);
    if (status == ST_OK)
        status = check_solution(&own);
    if (status == ST_OK && !calibration->whole)
        status = leave_rows_out(&own);
    if (status == ST_OK)
        status = leave_groups_out(&own);
    for (size_t i = 0; i < own.block_count; i++)
        st_workspace_destroy(own.blocks[i].workspace);
    return status;
}
