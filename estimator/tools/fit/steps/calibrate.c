/* SPDX-License-Identifier: Apache-2.0 */
/* The fit, and fits without a row or a group; see calibrate.h. */
#include "fit/steps/calibrate.h"

#include "steptime/tool/paced_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An input of a block whose rows several constants move. */
typedef struct mixed {
    double *values;  /* by row */
    size_t *sources; /* index of what varies a row, SIZE_MAX: nothing */
} mixed;

/* The used rows of one table that have the same providers, ready to run. */
typedef struct fit_block {
    const st_measured *set;
    const st_provider_list *providers;
    const st_program *program;
    st_workspace *workspace;
    st_column *columns;
    size_t first; /* of its rows among all */
    size_t row_count;
    mixed *mixed; /* inputs that constants vary for some rows, or for each another */
    size_t mixed_count;
    bool laid_out; /* the workspace has run: from then on only what varied constants change runs */
} fit_block;

/* Errors of rows by fits that have not seen them, and of what is naive; NaN where there are none.
 */
typedef struct held_errors {
    double *mfu;
    double *own;
    double *naive[ST_NAIVES];
    bool *in; /* which rows are chosen */
} held_errors;

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
    double *slopes; /* of the rows of the fit to all of them; NULL: each fit computes its own */
    bool solves;    /* rows that no fit sees need no estimate */
    held_errors held;
    st_parameter parameters[ST_FIT_MAX_PARAMETERS];
} fitter;

/* ---- rows ---- */

static st_status list_rows(fitter *fit)
{
    st_calibration *calibration = fit->calibration;
    size_t all = 0;
    size_t blocks = 0;
    for (size_t i = 0; i < calibration->set_count; i++) {
        all += calibration->sets[i].row_count;
        blocks += st_measured_variants(&calibration->sets[i]);
    }
    fit->blocks = st_arena_alloc(fit->arena, blocks + 1, sizeof *fit->blocks);
    calibration->rows = st_arena_alloc(fit->arena, all + 1, sizeof *calibration->rows);
    fit->measured = st_arena_alloc(fit->arena, all + 1, sizeof *fit->measured);
    fit->estimates = st_arena_alloc(fit->arena, all + 1, sizeof *fit->estimates);
    fit->scratch = st_arena_alloc(fit->arena, 2 * all + 1, sizeof *fit->scratch);
    fit->counts = st_arena_alloc(fit->arena, all + 1, sizeof *fit->counts);
    fit->held.mfu = st_arena_alloc(fit->arena, all + 1, sizeof *fit->held.mfu);
    fit->held.own = st_arena_alloc(fit->arena, all + 1, sizeof *fit->held.own);
    fit->held.in = st_arena_alloc(fit->arena, all + 1, sizeof *fit->held.in);
    for (size_t i = 0; i < ST_NAIVES; i++)
        fit->held.naive[i] = st_arena_alloc(fit->arena, all + 1, sizeof *fit->held.naive[i]);
    if (st_arena_failed(fit->arena))
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < calibration->set_count; i++)
        for (size_t variant = 0; variant < st_measured_variants(&calibration->sets[i]); variant++) {
            /* The rows of a block are adjacent. */
            st_calibration *block_calibration = fit->calibration;
            const st_measured *set = &block_calibration->sets[i];
            fit_block *block = &fit->blocks[fit->block_count++];
            *block = (fit_block){.set = set,
                                 .providers = st_measured_providers(set, variant),
                                 .first = block_calibration->row_count};
            for (size_t row = 0; row < set->row_count; row++) {
                if (!st_row_counts(&set->rows[row]) || set->rows[row].variant != variant)
                    continue;
                fit->measured[block_calibration->row_count] = set->rows[row].measured;
                /* What a row reaches as measured, by the sheet's count of FLOPs. */
                const st_row *mfu_own = &set->rows[row];
                fit->held.mfu[block_calibration->row_count] =
                    set->more_count > 0
                        ? set->more_values[0][row] * mfu_own->estimate / mfu_own->measured
                        : (double)NAN;
                block_calibration->rows[block_calibration->row_count++] = (st_used_row){
                    .set = i,
                    .row = row,
                    .test = block_calibration->first_test > 0 && i >= block_calibration->first_test,
                    .error_left_out = (double)NAN};
            }
            block->row_count = block_calibration->row_count - block->first;
            if (block->row_count == 0) /* nothing was asked of its providers */
                fit->block_count--;
        }
    return ST_OK;
}

/* Whether a row is of a group of that name of its source. */
static bool is_part(const fitter *fit, size_t row, const char *name)
{
    const st_used_row *used = &fit->calibration->rows[row];
    const st_measured *set = &fit->calibration->sets[used->set];
    for (size_t k = 1; set->source != NULL && k < set->source->group_count; k++)
        if (strcmp(set->source->groups[k].name, name) == 0 &&
            st_measured_holds(set, &set->source->groups[k].when, used->row))
            return true;
    return false;
}

/* ---- blocks ---- */

/* Whether anything varies an input. */
static bool is_varied(const fitter *fit, const st_sheet_input *input)
{
    return ST_HAS(fit->calibration->varied, fit->calibration->varied_count, path, input->from);
}

/* The index of what varies an input of a row: the first that holds for it. SIZE_MAX: nothing. */
static size_t varied_index(const fitter *fit, const st_sheet_input *input, size_t used)
{
    const st_used_row *row = &fit->calibration->rows[used];
    const st_measured *set = &fit->calibration->sets[row->set];
    for (size_t i = 0; i < fit->calibration->varied_count; i++) {
        const st_varied *varied = &fit->calibration->varied[i];
        if (strcmp(varied->path, input->from) != 0)
            continue;
        if (varied->when.condition_count == 0 ||
            (set->csv != NULL && st_measured_holds(set, &varied->when, row->row)))
            return i;
    }
    return SIZE_MAX;
}

/* What is the same in all rows is computed once. */
static size_t stride_of(const double *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (memcmp(&values[i], &values[0], sizeof *values) != 0)
            return 1;
    return 0;
}

/* Which constant moves each row of a varied input, and where it starts by default. */
static st_status mix_column(fitter *fit, fit_block *block, const st_sheet_input *input,
                            double *values, st_column *column)
{
    size_t *sources = st_arena_alloc(fit->arena, block->row_count + 1, sizeof *sources);
    bool same = true;
    if (sources == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < block->row_count; i++) {
        sources[i] = varied_index(fit, input, block->first + i);
        same = same && sources[i] == sources[0];
        if (sources[i] != SIZE_MAX && !isfinite(fit->parameters[sources[i]].start))
            fit->parameters[sources[i]].start = values[i];
    }
    if (same && block->row_count > 0 && sources[0] != SIZE_MAX) {
        *column = (st_column){&fit->values[sources[0]], 0};
        return ST_OK;
    }
    *column = (st_column){values, 1};
    block->mixed[block->mixed_count++] = (mixed){values, sources};
    return ST_OK;
}

static st_status fill_columns(fitter *fit, fit_block *block)
{
    size_t count = 0;
    st_status status = ST_OK;
    const st_sheet_input *inputs = st_sheet_inputs(block->set->sheet, &count);
    block->columns = st_arena_alloc(fit->arena, count + 1, sizeof *block->columns);
    block->mixed = st_arena_alloc(fit->arena, count + 1, sizeof *block->mixed);
    if (block->columns == NULL || block->mixed == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        /* An input of the used rows alone; the first of them gives the start of a fit. */
        const st_measured *set = block->set;
        double *values = st_arena_alloc(fit->arena, block->row_count + 1, sizeof *values);
        for (size_t j = 0; values != NULL && j < block->row_count; j++) {
            size_t row = fit->calibration->rows[block->first + j].row;
            values[j] = set->inputs[i * set->row_count + row];
        }
        if (values == NULL)
            return ST_ERR_MEMORY;
        if (is_varied(fit, &inputs[i]))
            status = mix_column(fit, block, &inputs[i], values, &block->columns[i]);
        else
            block->columns[i] = (st_column){values, stride_of(values, block->row_count)};
    }
    return status;
}

/* Varied constants move with every run, all other inputs never. */
static st_status begin_runs(fitter *fit, fit_block *block)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(block->set->sheet, &count);
    uint8_t *levels = st_arena_alloc(fit->arena, count + 1, sizeof *levels);
    block->workspace = levels != NULL ? st_workspace_create(block->program) : NULL;
    if (block->workspace == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        levels[i] = is_varied(fit, &inputs[i]) ? 1 : 0;
    st_paced_begin(block->workspace, levels);
    return ST_OK;
}

static st_status prepare(fitter *fit)
{
    st_calibration *calibration = fit->calibration;
    fit->values = st_arena_alloc(fit->arena, calibration->varied_count + 1, sizeof *fit->values);
    if (fit->values == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < calibration->varied_count; i++) {
        const st_varied *varied = &calibration->varied[i];
        fit->parameters[i] =
            (st_parameter){varied->low, varied->high, varied->start, varied->prior, varied->sd};
    }
    st_status status = ST_OK;
    for (size_t i = 0; i < fit->block_count && status == ST_OK; i++) {
        fit_block *block = &fit->blocks[i];
        const st_measured *set = block->set;
        const st_program_options options = {.outputs = &set->cell,
                                            .output_count = 1,
                                            .providers = block->providers->items,
                                            .provider_count = block->providers->count,
                                            .without_checks = true};
        st_status block_status =
            st_program_compile(set->sheet, &options, fit->arena, &block->program, fit->errors);
        if (block_status == ST_OK)
            block_status = fill_columns(fit, block);
        status = block_status == ST_OK ? begin_runs(fit, block) : block_status;
    }
    for (size_t i = 0; i < calibration->varied_count; i++)
        if (!isfinite(fit->parameters[i].start))
            fit->parameters[i].start = st_parameter_at(&fit->parameters[i], 0.5);
    return status;
}

static st_status evaluate(void *context, const double *values, double *estimates)
{
    fitter *fit = context;
    memcpy(fit->values, values, fit->calibration->varied_count * sizeof *values);
    for (size_t i = 0; i < fit->block_count; i++) {
        fit_block *block = &fit->blocks[i];
        if (fit->solves && fit->calibration->rows[block->first].test)
            continue;
        for (size_t j = 0; j < block->mixed_count; j++)
            for (size_t row = 0; row < block->row_count; row++)
                if (block->mixed[j].sources[row] != SIZE_MAX)
                    block->mixed[j].values[row] = fit->values[block->mixed[j].sources[row]];
        double *const outputs[] = {estimates + block->first};
        const st_paced paced = {.inputs = block->columns,
                                .level = block->laid_out ? 1 : 0,
                                .rows = block->row_count,
                                .outputs = outputs};
        st_paced_run(block->workspace, &paced);
        block->laid_out = true;
    }
    return ST_OK;
}

/* ---- what cannot be fitted ---- */

static size_t count_fitted(const st_calibration *calibration)
{
    size_t count = 0;
    for (size_t i = 0; i < calibration->row_count; i++)
        count += calibration->rows[i].test ? 0 : 1;
    return count;
}

static st_status check_sensitivity(fitter *fit)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < fit->calibration->varied_count; i++) {
        st_varied *varied = &fit->calibration->varied[i];
        double values[ST_FIT_MAX_PARAMETERS];
        size_t rows = fit->calibration->row_count;
        for (size_t j = 0; j < fit->calibration->varied_count; j++)
            values[j] = fit->parameters[j].start;
        values[i] = fit->parameters[i].low;
        st_status ran = evaluate(fit, values, fit->scratch);
        values[i] = fit->parameters[i].high;
        if (ran == ST_OK)
            ran = evaluate(fit, values, fit->scratch + rows);
        varied->moves = false;
        for (size_t j = 0; j < rows && ran == ST_OK; j++) {
            double low = fit->scratch[j];
            double high = fit->scratch[rows + j];
            varied->moves = varied->moves || (!fit->calibration->rows[j].test &&
                                              !(fabs(high - low) <= 1e-9 * fabs(low)));
        }
        if (ran != ST_OK)
            return ran;
        if (!varied->moves && varied->prior > 0)
            st_report(fit->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){0},
                      "no row is sensitive to %s, which stays at its prior", varied->name);
        else if (!varied->moves)
            status = st_fail(fit->errors, ST_ERR_VALUE, (st_place){0},
                             "no row is sensitive to %s" ST_HINT
                             "leave it out, or give rows on which it has an effect",
                             varied->name);
    }
    return status;
}

/* A fit without more rows than constants reproduces its rows, whatever they say. */
static void warn_of_few_rows(const fitter *fit)
{
    const st_calibration *calibration = fit->calibration;
    const size_t rows = count_fitted(calibration);
    const st_used_row *used = &calibration->rows[0];
    const st_measured *set = &calibration->sets[used->set];
    const st_place place = set->csv != NULL ? st_csv_place(set->csv, set->rows[used->row].line, 0)
                                            : (st_place){.file = set->file};
    if (rows <= calibration->varied_count)
        st_report(fit->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, place,
                  "%zu measured row%s, the first here, and as many constants or more: the fit "
                  "reproduces %s, and no row is left that says how wrong it is",
                  rows, rows == 1 ? "" : "s", rows == 1 ? "it" : "them");
}

/* What the solution says about itself. */
static st_status check_solution(const fitter *fit)
{
    const st_calibration *calibration = fit->calibration;
    const st_solution *solution = &calibration->solution;
    st_status status = ST_OK;
    warn_of_few_rows(fit);
    for (size_t i = 0; i < calibration->varied_count; i++) {
        bool at_bound = solution->at_low[i] || solution->at_high[i];
        const char *path = calibration->varied[i].name;
        if (at_bound)
            st_report(fit->errors, ST_SEVERITY_WARNING, ST_ERR_VALUE, (st_place){0},
                      "%s ends at its %s bound", path, solution->at_low[i] ? "lower" : "upper");
        else if (count_fitted(calibration) > calibration->varied_count &&
                 !isfinite(solution->errors[i]))
            status = st_fail(fit->errors, ST_ERR_MATH, (st_place){0},
                             "the rows cannot separate %s from the other constants" ST_HINT
                             "fit fewer of them, or give rows that differ more",
                             path);
    }
    return status;
}

/* ---- fits ---- */

static st_problem problem_of(fitter *fit)
{
    const st_calibration *calibration = fit->calibration;
    return (st_problem){.parameters = fit->parameters,
                        .parameter_count = calibration->varied_count,
                        .measured = fit->measured,
                        .row_count = calibration->row_count,
                        .loss = calibration->loss,
                        .scale = calibration->scale,
                        .logarithms = calibration->logarithms,
                        .noise = calibration->noise,
                        .evaluate = evaluate,
                        .self = fit};
}

/* Of the rows that are chosen, those that have an error. */
static st_error_summary summarize(fitter *fit, const double *errors)
{
    size_t count = 0;
    for (size_t i = 0; i < fit->calibration->row_count; i++)
        if (fit->held.in[i] && isfinite(errors[i]))
            fit->scratch[count++] = errors[i];
    return st_summarize_errors(fit->scratch, count);
}

/* Chooses the rows that fits see, or those that none does; of these a part, "" all. */
static void choose(fitter *fit, bool test, const char *part)
{
    for (size_t i = 0; i < fit->calibration->row_count; i++)
        fit->held.in[i] =
            fit->calibration->rows[i].test == test && (part[0] == '\0' || is_part(fit, i, part));
}

static st_status solve(fitter *fit, const st_problem *problem, st_solution *solution)
{
    fit->solves = true;
    const st_status status = st_solve(problem, solution);
    fit->solves = false;
    return status;
}

static st_status fit_all(fitter *fit)
{
    st_calibration *calibration = fit->calibration;
    st_problem problem = problem_of(fit);
    for (size_t i = 0; i < calibration->row_count; i++)
        fit->counts[i] = !calibration->rows[i].test;
    problem.counts = fit->counts;
    if (calibration->noise > 0)
        fit->slopes = st_arena_alloc(
            fit->arena,
            (calibration->row_count + calibration->varied_count) * calibration->varied_count + 1,
            sizeof *fit->slopes);
    problem.slopes = fit->slopes;
    st_status status = solve(fit, &problem, &calibration->solution);
    if (status == ST_ERR_MATH)
        return st_fail(fit->errors, status, (st_place){0},
                       "the fit fails: some estimates are not finite" ST_HINT
                       "narrow the bounds, or leave out the rows without a finite estimate");
    if (status == ST_OK)
        status = evaluate(fit, calibration->solution.values, fit->estimates);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < calibration->row_count; i++)
        fit->held.own[i] = calibration->rows[i].error = fit->estimates[i] / fit->measured[i] - 1.0;
    choose(fit, false, "");
    calibration->errors = summarize(fit, fit->held.own);
    return ST_OK;
}

/* Whether rows or a prior determine every constant; one without either would
 * keep the value that the rows left out have given it. */
static bool tells_all(const fitter *fit, const st_solution *solution)
{
    for (size_t i = 0; i < fit->calibration->varied_count; i++)
        if (!solution->at_low[i] && !solution->at_high[i] && !isfinite(solution->errors[i]))
            return false;
    return true;
}

/* A fit to the rows that own->counts has, from where the fit to all of them ended: the errors of
 * the others. Where it fails there are none to show; further fits go on. */
static st_status fit_others(fitter *fit)
{
    const st_calibration *calibration = fit->calibration;
    st_solution solution = {0};
    st_problem problem = problem_of(fit);
    st_parameter near[ST_FIT_MAX_PARAMETERS];
    for (size_t i = 0; i < calibration->varied_count; i++) {
        near[i] = fit->parameters[i];
        near[i].start = calibration->solution.values[i];
    }
    problem.parameters = near;
    problem.counts = fit->counts;
    problem.start_only = true;
    problem.rough = calibration->noise > 0;
    problem.known_slopes = fit->slopes;
    for (size_t i = 0; i < calibration->varied_count; i++) /* there a start moves inside */
        if (calibration->solution.at_low[i] || calibration->solution.at_high[i])
            problem.known_slopes = NULL;
    st_status status = solve(fit, &problem, &solution);
    if (status == ST_OK && !tells_all(fit, &solution))
        status = ST_ERR_MATH;
    if (status == ST_OK)
        status = evaluate(fit, solution.values, fit->estimates);
    for (size_t i = 0; i < calibration->row_count; i++)
        if (!fit->counts[i] && !calibration->rows[i].test)
            fit->held.own[i] =
                status == ST_OK ? fit->estimates[i] / fit->measured[i] - 1.0 : (double)NAN;
    return status == ST_ERR_VALUE || status == ST_ERR_MATH ? ST_OK : status;
}

static void clear_held(fitter *fit)
{
    for (size_t i = 0; i < fit->calibration->row_count; i++)
        fit->held.own[i] = fit->held.naive[ST_NAIVE_MFU][i] = fit->held.naive[ST_NAIVE_NEAREST][i] =
            (double)NAN;
}

static st_status leave_rows_out(fitter *fit)
{
    st_calibration *calibration = fit->calibration;
    size_t fitted = count_fitted(calibration);
    st_status status = ST_OK;
    calibration->folds = fitted > ST_LEFT_OUT_ALONE ? ST_FOLDS : fitted;
    clear_held(fit);
    for (size_t fold = 0; fold < calibration->folds && status == ST_OK; fold++) {
        size_t number = 0;
        for (size_t i = 0; i < calibration->row_count; i++)
            fit->counts[i] = !calibration->rows[i].test && number++ % calibration->folds != fold;
        status = fit_others(fit);
    }
    for (size_t i = 0; i < calibration->row_count; i++)
        calibration->rows[i].error_left_out = fit->held.own[i];
    calibration->left_out = summarize(fit, fit->held.own);
    return status;
}

/* ---- groups ---- */

static const char *field_of(const fitter *fit, size_t row, const char *column)
{
    const st_used_row *used = &fit->calibration->rows[row];
    return st_measured_field(&fit->calibration->sets[used->set], used->row, column);
}

/* Sorted, each once. */
static size_t sort_texts(const char **values, size_t used)
{
    size_t kept = 0;
    st_sort(values, used, sizeof values[0], st_order_texts);
    for (size_t i = 0; i < used; i++)
        if (kept == 0 || strcmp(values[i], values[kept - 1]) != 0)
            values[kept++] = values[i];
    return kept;
}

static void summarize_group(fitter *fit, const char *value, st_held_group *group)
{
    *group = (st_held_group){.value = value, .errors = summarize(fit, fit->held.own)};
    for (size_t i = 0; i < ST_NAIVES; i++)
        group->naive[i] = summarize(fit, fit->held.naive[i]);
}

/* What is naive of the rows that are chosen, by the rows that own->counts has. */
static void try_naive(fitter *fit)
{
    held_errors *held = &fit->held;
    for (size_t i = 0; i < fit->calibration->row_count; i++)
        for (size_t k = 0; held->in[i] && k < ST_NAIVES; k++)
            held->naive[k][i] = held->mfu[i] / st_naive_mfu(fit->calibration, (st_naive)k, i,
                                                            held->mfu, fit->counts, fit->scratch) -
                                1.0;
}

/* All rows that fits see, or none of them, and by the groups of their sources. */
static st_status summarize_parts(fitter *fit, bool test, st_held_group **parts, size_t *part_count)
{
    size_t count = 0;
    /* Names of the groups that the sources of the rows have, behind "" for all rows. */
    size_t *list_count = &count;
    const st_calibration *calibration = fit->calibration;
    const char **names = NULL;
    const char *all = "";
    *list_count = 0;
    (void)ST_APPEND(fit->arena, names, *list_count, all);
    for (size_t i = 0; i < calibration->set_count; i++) {
        const st_table_source *source = calibration->sets[i].source;
        for (size_t k = 1; source != NULL && k < source->group_count; k++)
            (void)ST_APPEND(fit->arena, names, *list_count, source->groups[k].name);
    }
    *list_count = sort_texts(names, *list_count);
    st_held_group *list = st_arena_alloc(fit->arena, count + 1, sizeof *list);
    if (list == NULL)
        return ST_ERR_MEMORY;
    *parts = list;
    *part_count = 0;
    for (size_t i = 0; i < count; i++) {
        choose(fit, test, names[i]);
        summarize_group(fit, names[i], &list[*part_count]);
        *part_count += i == 0 || list[*part_count].errors.count > 0 ? 1 : 0;
    }
    return ST_OK;
}

static st_status leave_values_out(fitter *fit, st_held *by)
{
    size_t count = 0;
    /* The values of a column; rows without one are never held out. */
    const char *column = by->column;
    size_t rows = fit->calibration->row_count;
    const char **values = st_arena_alloc(fit->arena, rows + 1, sizeof *values);
    size_t used = 0;
    for (size_t i = 0; values != NULL && i < rows; i++)
        if (!fit->calibration->rows[i].test && field_of(fit, i, column)[0] != '\0')
            values[used++] = field_of(fit, i, column);
    count = sort_texts(values, used);
    by->groups = st_arena_alloc(fit->arena, count + 1, sizeof *by->groups);
    if (by->groups == NULL)
        return ST_ERR_MEMORY;
    if (count < 2)
        return st_fail(fit->errors, ST_ERR_USAGE, (st_place){0},
                       "--group %s makes %zu group%s of the rows" ST_HINT
                       "name a column that has at least two values",
                       by->column, count, count == 1 ? "" : "s");
    clear_held(fit);
    st_status status = ST_OK;
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        const char *value = values[i];
        const st_used_row *out_rows = fit->calibration->rows;
        for (size_t j = 0; j < fit->calibration->row_count; j++) {
            fit->counts[j] = !out_rows[j].test && strcmp(field_of(fit, j, by->column), value) != 0;
            fit->held.in[j] = !out_rows[j].test && !fit->counts[j];
        }
        status = fit_others(fit);
        if (status == ST_OK)
            try_naive(fit);
        if (status == ST_OK)
            summarize_group(fit, values[i], &by->groups[by->group_count++]);
    }
    return status == ST_OK ? summarize_parts(fit, false, &by->parts, &by->part_count) : status;
}

static st_status leave_groups_out(fitter *fit)
{
    st_calibration *calibration = fit->calibration;
    st_status status = ST_OK;
    calibration->held =
        st_arena_alloc(fit->arena, calibration->column_count + 1, sizeof *calibration->held);
    if (calibration->held == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < calibration->column_count && status == ST_OK; i++) {
        calibration->held[i] = (st_held){.column = calibration->columns[i]};
        status = leave_values_out(fit, &calibration->held[i]);
    }
    return status;
}

st_status st_calibrate(st_calibration *calibration, st_arena *arena, st_errors *errors)
{
    fitter fit = {.calibration = calibration, .arena = arena, .errors = errors};
    st_status status = list_rows(&fit);
    if (status == ST_OK) {
        const st_calibration *count_calibration = fit.calibration;
        size_t rows = count_fitted(count_calibration);
        size_t known = 0;
        for (size_t i = 0; i < count_calibration->varied_count; i++)
            known += count_calibration->varied[i].prior > 0 ? 1 : 0;
        if (rows + known < count_calibration->varied_count || rows <= 0) {
            status = st_fail(fit.errors, ST_ERR_VALUE, (st_place){0},
                             "%zu measured row%s cannot determine %zu constants" ST_HINT
                             "give at least as many rows as constants",
                             rows, rows == 1 ? "" : "s", count_calibration->varied_count);
        }
    }
    if (status == ST_OK)
        status = prepare(&fit);
    if (status == ST_OK)
        status = check_sensitivity(&fit);
    if (status == ST_OK)
        status = fit_all(&fit);
    if (status == ST_OK)
        status = check_solution(&fit);
    if (status == ST_OK && !calibration->whole)
        status = leave_rows_out(&fit);
    if (status == ST_OK)
        status = leave_groups_out(&fit);
    if (status == ST_OK) {
        /* Rows that no fit sees, by the fit to all others; with the baselines by MFU.
         */
        st_calibration *test_calibration = fit.calibration;
        if (test_calibration->first_test != 0) {
            clear_held(&fit);
            for (size_t i = 0; i < test_calibration->row_count; i++) {
                fit.counts[i] = !test_calibration->rows[i].test;
                fit.held.own[i] = test_calibration->rows[i].error;
            }
            choose(&fit, true, "");
            try_naive(&fit);
            status = summarize_parts(&fit, true, &test_calibration->tests,
                                     &test_calibration->test_count);
        }
    }
    for (size_t i = 0; i < fit.block_count; i++)
        st_workspace_destroy(fit.blocks[i].workspace);
    return status;
}
