/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fit; see nccl_fit.h.
 *
 * Models of collectives take the least of several lines, so that their errors have kinks and many
 * minima. The search therefore begins at several points: the nominal values and the best of some
 * hundred points that a Halton sequence spreads over the box. A fit without one size begins at the
 * result of that to all rows, which is near its own. A fit without a number of ranks is further
 * from that, and would end in the minimum next to it, which the rows left out have chosen: it looks
 * for its own.
 */
#include "calibrate/collectives/nccl_fit.h"

#include "calibrate/steps/solve.h"
#include "calibrate/collectives/nccl_rest.h"

#include <gsl/gsl_qrng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CANDIDATES = 400, STARTS = 6, MEGABYTE = 1 << 20 };

static const double spread_of_rows = 0.03; /* of repeated measurements, nccl-tests of many sites */
static const double loss_scale = 0.045;    /* one and a half of that */
static const double floor_share = 1e-4; /* of a range that begins at zero: where its scale begins */

const st_nccl_range st_nccl_ranges[ST_NCCL_RANGES] = {
    {"all sizes", "all", 0, 1e300},
    {"below 1 MiB", "below_1_mib", 0, MEGABYTE - 1},
    {"from 1 MiB", "from_1_mib", MEGABYTE, 1e300},
    {"4 to 256 MiB", "4_to_256_mib", 4.0 * MEGABYTE, 256.0 * MEGABYTE},
};

typedef struct fitter {
    st_nccl_fit *fit;
    st_arena *arena;
    st_errors *errors;
    st_parameter parameters[ST_NCCL_MAX_VARIED];
    double shifts[ST_NCCL_MAX_VARIED]; /* parameter minus value */
    size_t rows;     /* points and, behind them, one for each parameter: its prior */
    double *ones;    /* measured, after division by what was */
    double *times_s; /* of one evaluation */
    bool *counts;    /* rows that a fit sees */
    bool *usable;    /* points that the plugin does not refuse */
    size_t evaluations;
} fitter;

const char *st_nccl_kind_text(st_nccl_kind kind)
{
    static const char *const texts[ST_NCCL_KINDS] = {"nominal", "fitted", "size left out",
                                                     "ranks left out"};
    return texts[kind];
}

const char *st_nccl_kind_key(st_nccl_kind kind)
{
    static const char *const keys[ST_NCCL_KINDS] = {"nominal", "fitted", "leave_one_size_out",
                                                    "leave_one_rank_count_out"};
    return keys[kind];
}

static st_status fail(const fitter *own, st_status status, const char *message)
{
    const st_nccl_table *table = own->fit->tables[0];
    return st_fail(own->errors, status, (st_place){.file = table->file, .line = table->line}, "%s",
                   message);
}

/* ---- parameters ---- */

/* Parameters are above zero and move on a logarithmic scale; an option that may be zero or less is
 * shifted. */
static void set_parameters(fitter *own)
{
    const st_nccl_model *model = &own->fit->model;
    for (size_t i = 0; i < model->varied_count; i++) {
        const st_nccl_varied *varied = &model->varied[i];
        double range = varied->high - varied->low;
        double shift = varied->low > 0 ? 0 : floor_share * range - varied->low;
        own->shifts[i] = shift;
        own->parameters[i] = (st_parameter){.low = varied->low + shift,
                                            .high = varied->high + shift,
                                            .start = varied->nominal + shift};
    }
}

static void values_of(const fitter *own, const double *parameters, double *values)
{
    const st_nccl_model *model = &own->fit->model;
    for (size_t i = 0; i < model->varied_count; i++) {
        double value = parameters[i] - own->shifts[i];
        const st_nccl_varied *varied = &model->varied[i];
        values[i] = value < varied->low ? varied->low : value > varied->high ? varied->high : value;
    }
}

/* One for each row: 1 plus the logarithm of estimated over measured, or of a parameter over its
 * nominal value with the weight of a prior. */
static st_status evaluate(void *self, const double *parameters, double *estimates)
{
    fitter *own = self;
    const st_nccl_model *model = &own->fit->model;
    double values[ST_NCCL_MAX_VARIED];
    values_of(own, parameters, values);
    own->evaluations++;
    st_status status = st_nccl_model_run(model, values, NULL, own->times_s, own->errors);
    for (size_t i = 0; status == ST_OK && i < model->point_count; i++)
        estimates[i] = own->usable[i] ? 1 + log(own->times_s[i] / model->points[i].measured_s) : 1;
    for (size_t i = 0; status == ST_OK && i < model->varied_count; i++) {
        const st_nccl_varied *varied = &model->varied[i];
        double away = varied->is_factor ? log(parameters[i] / own->parameters[i].start)
                                        : values[i] - varied->nominal;
        estimates[model->point_count + i] = 1 + spread_of_rows * away / varied->deviation;
    }
    return status;
}

/* ---- searching ---- */

typedef struct candidate {
    double cost;
    double parameters[ST_NCCL_MAX_VARIED];
} candidate;

static double cost_of(const fitter *own, const double *estimates)
{
    double cost = 0;
    for (size_t i = 0; i < own->rows; i++) {
        double z = (estimates[i] - 1) / loss_scale;
        if (own->counts[i])
            cost += sqrt(1 + z * z) - 1;
    }
    return isfinite(cost) ? cost : 1e300;
}

/* Keeps the best ones, sorted. */
static void keep(candidate *best, size_t *count, const candidate *new)
{
    size_t at = *count;
    while (at > 0 && best[at - 1].cost > new->cost)
        at--;
    if (at >= STARTS)
        return;
    size_t last = *count < STARTS ? (*count)++ : STARTS - 1;
    memmove(&best[at + 1], &best[at], (last - at) * sizeof *best);
    best[at] = *new;
}

/* Points spread over the box; the widest factor from the nominal value is ten. */
static st_status spread(fitter *own, candidate *best, size_t *count)
{
    size_t parameters = own->fit->model.varied_count;
    double *estimates = st_arena_alloc(own->arena, own->rows + 1, sizeof *estimates);
    gsl_qrng *sequence = gsl_qrng_alloc(gsl_qrng_halton, (unsigned)parameters);
    st_status status = estimates != NULL && sequence != NULL ? ST_OK : ST_ERR_MEMORY;
    for (size_t i = 0; i < CANDIDATES && status == ST_OK; i++) {
        double shares[ST_NCCL_MAX_VARIED];
        candidate new = {0};
        (void)gsl_qrng_get(sequence, shares);
        for (size_t k = 0; k < parameters; k++) {
            const st_parameter *parameter = &own->parameters[k];
            st_parameter near = {.low = fmax(parameter->low, parameter->start / 10),
                                 .high = fmin(parameter->high, parameter->start * 10)};
            new.parameters[k] = st_parameter_at(&near, shares[k]);
        }
        status = evaluate(own, new.parameters, estimates);
        new.cost = status == ST_OK ? cost_of(own, estimates) : 0;
        if (status == ST_OK)
            keep(best, count, &new);
    }
    if (sequence != NULL)
        gsl_qrng_free(sequence);
    return status;
}

static st_status solve_from(fitter *own, const double *start, st_solution *solution)
{
    const st_nccl_model *model = &own->fit->model;
    st_parameter parameters[ST_NCCL_MAX_VARIED];
    for (size_t i = 0; i < model->varied_count; i++) {
        parameters[i] = own->parameters[i];
        parameters[i].start = start[i];
    }
    st_problem problem = {.parameters = parameters,
                          .parameter_count = model->varied_count,
                          .measured = own->ones,
                          .row_count = own->rows,
                          .counts = own->counts,
                          .loss = ST_LOSS_SOFT_L1,
                          .scale = loss_scale,
                          .start_only = true,
                          .rough = true,
                          .evaluate = evaluate,
                          .self = own};
    return st_solve(&problem, solution);
}

/* The best of descents from several points; those that fail do not count. */
static st_status solve(fitter *own, const candidate *starts, size_t count, st_solution *solution)
{
    st_status status = ST_ERR_MATH;
    for (size_t i = 0; i < count; i++) {
        st_solution own_solution;
        st_status solved = solve_from(own, starts[i].parameters, &own_solution);
        if (solved == ST_ERR_MEMORY)
            return solved;
        if (solved != ST_OK)
            continue;
        if (status != ST_OK || own_solution.cost < solution->cost * (1 - 1e-9))
            *solution = own_solution;
        status = ST_OK;
    }
    return status;
}

/* Searches everywhere. */
static st_status solve_anew(fitter *own, st_solution *solution)
{
    candidate starts[STARTS + 1];
    size_t count = 0;
    st_status status = spread(own, starts, &count);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < own->fit->model.varied_count; i++)
        starts[count].parameters[i] = own->parameters[i].start;
    return solve(own, starts, count + 1, solution);
}

/* ---- fits ---- */

/* The correction by the rows that count, from their times without it; NULL without memory. */
static const char *correction_of(fitter *own, const double *times_s)
{
    const st_nccl_model *model = &own->fit->model;
    st_nccl_rest *rests = st_arena_alloc(own->arena, model->point_count + 1, sizeof *rests);
    size_t count = 0;
    for (size_t i = 0; rests != NULL && i < model->point_count; i++) {
        const st_nccl_point *point = &model->points[i];
        const st_nccl_table *table = own->fit->tables[point->table];
        if (own->counts[i] && isfinite(times_s[i]))
            rests[count++] = (st_nccl_rest){.ranks = table->ranks,
                                            .nodes = table->nodes,
                                            .size_bytes = point->row->size_bytes,
                                            .log_ratio = log(point->measured_s / times_s[i])};
    }
    return rests != NULL ? st_nccl_rest_text(rests, count, own->arena) : NULL;
}

/* With the correction that goes with the parameters, where the plugin takes one. */
static st_status predict(fitter *own, const double *parameters, double *times_s,
                         const char **correction)
{
    const st_nccl_model *model = &own->fit->model;
    double values[ST_NCCL_MAX_VARIED];
    values_of(own, parameters, values);
    *correction = NULL;
    st_status status = st_nccl_model_run(model, values, NULL, times_s, own->errors);
    if (status != ST_OK || model->correction == NULL)
        return status;
    *correction = correction_of(own, times_s);
    if (*correction == NULL)
        return ST_ERR_MEMORY;
    return st_nccl_model_run(model, values, *correction, times_s, own->errors);
}

/* What tells the rows that are left out together. */
static double group_of(const fitter *own, st_nccl_kind kind, size_t point)
{
    const st_nccl_point *own_point = &own->fit->model.points[point];
    return kind == ST_NCCL_NO_SIZE ? own_point->row->size_bytes
                                   : (double)own->fit->tables[own_point->table]->ranks;
}

/* Counts all rows but those of the group; false where none would be left. */
static bool leave_out(fitter *own, st_nccl_kind kind, double group)
{
    size_t left = 0;
    for (size_t i = 0; i < own->fit->model.point_count; i++) {
        own->counts[i] = own->usable[i] && group_of(own, kind, i) != group;
        left += own->counts[i] ? 1 : 0;
    }
    return left > 0;
}

/* The buffers of a fit without some rows. */
typedef struct left_out {
    double *result;
    double *scratch;
    bool *done;
} left_out;

/* Estimates the rows of one group by a fit to the others; false in `*others` where there are none.
 */
static st_status fit_without_one(fitter *own, st_nccl_kind kind, double group,
                                 const candidate *start, left_out *buffers, bool *others)
{
    st_solution solution;
    const char *correction = NULL;
    *others = leave_out(own, kind, group);
    if (!*others)
        return ST_OK;
    st_status status =
        kind == ST_NCCL_NO_RANKS ? solve_anew(own, &solution) : solve(own, start, 1, &solution);
    if (status == ST_OK)
        status = predict(own, solution.values, buffers->scratch, &correction);
    if (status != ST_OK && status != ST_ERR_MATH)
        return status;
    for (size_t i = 0; i < own->fit->model.point_count; i++) {
        if (group_of(own, kind, i) != group)
            continue;
        buffers->done[i] = true;
        if (status == ST_OK && own->usable[i])
            buffers->result[i] = buffers->scratch[i];
    }
    return ST_OK;
}

/* Estimates each group of rows by a fit to the others; nothing where there is one group only. */
static st_status fit_without(fitter *own, st_nccl_kind kind, const candidate *start)
{
    size_t points = own->fit->model.point_count;
    left_out buffers = {.result = st_arena_alloc(own->arena, points + 1, sizeof(double)),
                        .scratch = st_arena_alloc(own->arena, points + 1, sizeof(double)),
                        .done = st_arena_alloc(own->arena, points + 1, sizeof(bool))};
    bool others = true;
    if (buffers.result == NULL || buffers.scratch == NULL || buffers.done == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < points; i++)
        buffers.result[i] = (double)NAN;
    for (size_t i = 0; i < points && others; i++) {
        if (buffers.done[i] || !own->usable[i])
            continue;
        st_status status =
            fit_without_one(own, kind, group_of(own, kind, i), start, &buffers, &others);
        if (status != ST_OK)
            return status;
    }
    if (others)
        own->fit->times_s[kind] = buffers.result;
    return ST_OK;
}

static st_status fit_all(fitter *own, candidate *best)
{
    st_nccl_fit *fit = own->fit;
    st_solution solution;
    st_status status = solve_anew(own, &solution);
    if (status != ST_OK)
        return status == ST_ERR_MATH ? fail(own, status, "the fit finds no minimum") : status;
    memcpy(best->parameters, solution.values, sizeof best->parameters);
    values_of(own, solution.values, fit->values);
    fit->times_s[ST_NCCL_FITTED] =
        st_arena_alloc(own->arena, fit->model.point_count + 1, sizeof(double));
    if (fit->times_s[ST_NCCL_FITTED] == NULL)
        return ST_ERR_MEMORY;
    return predict(own, solution.values, fit->times_s[ST_NCCL_FITTED], &fit->correction);
}

static st_status run_fits(fitter *own)
{
    candidate start = {0};
    set_parameters(own);
    for (size_t i = 0; i < own->rows; i++)
        own->counts[i] = i >= own->fit->model.point_count || own->usable[i];
    st_status status = fit_all(own, &start);
    if (status == ST_OK)
        status = fit_without(own, ST_NCCL_NO_SIZE, &start);
    if (status == ST_OK)
        status = fit_without(own, ST_NCCL_NO_RANKS, &start);
    return status;
}

/* The plugin as it comes; what it refuses takes no part in what follows. */
static st_status run_nominal(fitter *own)
{
    st_nccl_fit *fit = own->fit;
    size_t points = fit->model.point_count;
    double *times = st_arena_alloc(own->arena, points + 1, sizeof *times);
    if (times == NULL)
        return ST_ERR_MEMORY;
    size_t before = st_errors_size(own->errors);
    st_status status = st_nccl_model_run(&fit->model, NULL, NULL, times, own->errors);
    if (status != ST_OK)
        return status == ST_ERR_PROVIDER && st_errors_size(own->errors) == before
                   ? fail(own, status, "the plugin fails")
                   : status;
    for (size_t i = 0; i < points; i++) {
        own->usable[i] = isfinite(times[i]);
        fit->refused += own->usable[i] ? 0 : 1;
    }
    fit->times_s[ST_NCCL_NOMINAL] = times;
    if (fit->refused < points)
        return ST_OK;
    return fail(own, ST_ERR_PROVIDER,
                st_errors_text(own->errors, "plugin '%s' refuses all rows", fit->plugin));
}

st_status st_nccl_fit_run(st_nccl_fit *fit, st_arena *arena, st_errors *errors)
{
    size_t points = fit->model.point_count;
    fitter own = {
        .fit = fit, .arena = arena, .errors = errors, .rows = points + fit->model.varied_count};
    own.ones = st_arena_alloc(arena, own.rows + 1, sizeof *own.ones);
    own.times_s = st_arena_alloc(arena, points + 1, sizeof *own.times_s);
    own.counts = st_arena_alloc(arena, own.rows + 1, sizeof *own.counts);
    own.usable = st_arena_alloc(arena, points + 1, sizeof *own.usable);
    if (own.ones == NULL || own.times_s == NULL || own.counts == NULL || own.usable == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < own.rows; i++)
        own.ones[i] = 1;
    st_status status = run_nominal(&own);
    if (status != ST_OK || !fit->wants_fit)
        return status;
    if (fit->model.varied_count == 0)
        return fail(&own, ST_ERR_VALUE,
                    st_errors_text(errors, "plugin '%s' has no option to fit", fit->plugin));
    return run_fits(&own);
}

/* ---- errors ---- */

st_status st_nccl_fit_errors(const st_nccl_fit *fit, st_nccl_kind kind, size_t range, size_t table,
                             st_error_summary *summary)
{
    const st_nccl_model *model = &fit->model;
    const st_nccl_range *within = &st_nccl_ranges[range];
    double *errors = malloc((2 * model->point_count + 1) * sizeof *errors);
    size_t count = 0;
    if (errors == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; fit->times_s[kind] != NULL && i < model->point_count; i++) {
        const st_nccl_point *point = &model->points[i];
        double size = point->row->size_bytes;
        double estimate = fit->times_s[kind][i];
        if ((table == SIZE_MAX || point->table == table) && size >= within->from_bytes &&
            size <= within->to_bytes && isfinite(estimate))
            errors[count++] = estimate / point->measured_s - 1;
    }
    st_summarize_errors(errors, count, errors + model->point_count, summary);
    free(errors);
    return ST_OK;
}
