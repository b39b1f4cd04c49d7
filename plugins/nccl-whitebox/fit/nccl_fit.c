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
#include "nccl-whitebox/fit/nccl_fit.h"

#include "fit/steps/solve.h"
#include "nccl-whitebox/fit/nccl_rest.h"
#include "nccl-whitebox/fit/nccl_transfer.h"

#include <gsl/gsl_qrng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CANDIDATES = 400, STARTS = 6 };

static const double spread_of_rows = 0.03; /* of repeated measurements, nccl-tests of many sites */
static const double loss_scale = 0.045;    /* one and a half of that */
static const double floor_share = 1e-4; /* of a range that begins at zero: where its scale begins */

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

const char *const st_nccl_kind_texts[ST_NCCL_KINDS] = {
    "nominal",        "profile",     "fitted",        "size left out",
    "ranks left out", "three lines", "between sizes", "between ranks"};

const char *const st_nccl_kind_keys[ST_NCCL_KINDS] = {"nominal",
                                                      "profile",
                                                      "fitted",
                                                      "leave_one_size_out",
                                                      "leave_one_rank_count_out",
                                                      "three_lines",
                                                      "between_sizes",
                                                      "between_ranks"};

static st_status fail(const fitter *fit, st_status status, const char *message)
{
    const st_nccl_table *table = fit->fit->tables[0];
    return st_fail(fit->errors, status, st_nccl_place_of(table), "%s", message);
}

/* ---- parameters ---- */

static void values_of(const fitter *fit, const double *parameters, double *values)
{
    const st_nccl_model *model = &fit->fit->model;
    for (size_t i = 0; i < model->varied_count; i++) {
        double value = parameters[i] - fit->shifts[i];
        const st_nccl_varied *varied = &model->varied[i];
        values[i] = value < varied->low ? varied->low : value > varied->high ? varied->high : value;
    }
}

/* One for each row: 1 plus the logarithm of estimated over measured, or of a parameter over its
 * nominal value with the weight of a prior. */
static st_status evaluate(void *context, const double *parameters, double *estimates)
{
    fitter *fit = context;
    const st_nccl_model *model = &fit->fit->model;
    double values[ST_NCCL_MAX_VARIED];
    values_of(fit, parameters, values);
    fit->evaluations++;
    const st_nccl_trial trial = {.values = values};
    st_status status = st_nccl_model_run(model, &trial, fit->times_s, fit->errors);
    for (size_t i = 0; status == ST_OK && i < model->point_count; i++)
        estimates[i] = fit->usable[i] ? 1 + log(fit->times_s[i] / model->points[i].measured_s) : 1;
    for (size_t i = 0; status == ST_OK && i < model->varied_count; i++) {
        const st_nccl_varied *varied = &model->varied[i];
        double away = varied->is_factor ? log(parameters[i] / fit->parameters[i].start)
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

static double cost_of(const fitter *fit, const double *estimates)
{
    double cost = 0;
    for (size_t i = 0; i < fit->rows; i++) {
        double z = (estimates[i] - 1) / loss_scale;
        if (fit->counts[i])
            cost += sqrt(1 + z * z) - 1;
    }
    return isfinite(cost) ? cost : 1e300;
}

/* Times with all parameters as they begin, one of them at so many times its value. */
static st_status run_beginning(fitter *fit, size_t which, double factor, double *times_s)
{
    const st_nccl_model *model = &fit->fit->model;
    double values[ST_NCCL_MAX_VARIED];
    for (size_t i = 0; i < model->varied_count; i++)
        values[i] = model->varied[i].nominal;
    if (which < model->varied_count)
        values[which] =
            fmin(fmax(values[which] * factor, model->varied[which].low), model->varied[which].high);
    const st_nccl_trial trial = {.values = values};
    return st_nccl_model_run(model, &trial, times_s, fit->errors);
}

/* Whether the time of a row that counts moves with a parameter at twice or half its value. */
static st_status is_informed(fitter *fit, size_t which, const double *base, bool *informed)
{
    static const double steps[] = {2, 0.5};
    *informed = false;
    for (int step = 0; step < 2; step++) {
        st_status status = run_beginning(fit, which, steps[step], fit->times_s);
        if (status != ST_OK)
            return status;
        for (size_t i = 0; i < fit->fit->model.point_count; i++)
            *informed = *informed || (fit->counts[i] && fit->times_s[i] != base[i]);
    }
    return ST_OK;
}

/* Which parameters the counted rows depend on. */
static st_status find_informed(fitter *fit, bool *informed)
{
    size_t points = fit->fit->model.point_count;
    double *base = st_arena_alloc(fit->arena, points + 1, sizeof *base);
    st_status status = base != NULL ? run_beginning(fit, SIZE_MAX, 1, base) : ST_ERR_MEMORY;
    for (size_t i = 0; i < fit->fit->model.varied_count && status == ST_OK; i++)
        status = is_informed(fit, i, base, &informed[i]);
    return status;
}

/* The best of descents from several points; those that fail do not count. */
static st_status solve(fitter *fit, const candidate *starts, size_t count, st_solution *solution)
{
    st_status status = ST_ERR_MATH;
    for (size_t i = 0; i < count; i++) {
        st_solution own_solution;
        const double *start = starts[i].parameters;
        const st_nccl_model *model = &fit->fit->model;
        st_parameter solve_parameters[ST_NCCL_MAX_VARIED];
        for (size_t j = 0; j < model->varied_count; j++) {
            solve_parameters[j] = fit->parameters[j];
            solve_parameters[j].start = start[j];
        }
        st_problem problem = {.parameters = solve_parameters,
                              .parameter_count = model->varied_count,
                              .measured = fit->ones,
                              .row_count = fit->rows,
                              .counts = fit->counts,
                              .loss = ST_LOSS_SOFT_L1,
                              .scale = loss_scale,
                              .start_only = true,
                              .rough = true,
                              .evaluate = evaluate,
                              .self = fit};
        st_status solved = st_solve(&problem, &own_solution);
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
static st_status solve_anew(fitter *fit, st_solution *solution)
{
    candidate starts[STARTS + 1];
    size_t count = 0;
    /* Points spread over the box; the widest factor from the nominal value is ten. What no row
     * depends on stays nominal. */
    size_t parameters = fit->fit->model.varied_count;
    double *estimates = st_arena_alloc(fit->arena, fit->rows + 1, sizeof *estimates);
    gsl_qrng *sequence = gsl_qrng_alloc(gsl_qrng_halton, (unsigned)parameters);
    bool informed[ST_NCCL_MAX_VARIED] = {false};
    st_status status =
        estimates != NULL && sequence != NULL ? find_informed(fit, informed) : ST_ERR_MEMORY;
    for (size_t i = 0; i < CANDIDATES && status == ST_OK; i++) {
        double shares[ST_NCCL_MAX_VARIED];
        candidate new = {0};
        (void)gsl_qrng_get(sequence, shares);
        for (size_t k = 0; k < parameters; k++) {
            const st_parameter *parameter = &fit->parameters[k];
            st_parameter near = {.low = fmax(parameter->low, parameter->start / 10),
                                 .high = fmin(parameter->high, parameter->start * 10)};
            new.parameters[k] = informed[k] ? st_parameter_at(&near, shares[k]) : parameter->start;
        }
        status = evaluate(fit, new.parameters, estimates);
        new.cost = status == ST_OK ? cost_of(fit, estimates) : 0;
        if (status == ST_OK) {
            /* Keeps the best ones, sorted. */
            size_t at = count;
            while (at > 0 && starts[at - 1].cost > new.cost)
                at--;
            if (at >= STARTS)
                continue;
            size_t last = count < STARTS ? count++ : STARTS - 1;
            memmove(&starts[at + 1], &starts[at], (last - at) * sizeof *starts);
            starts[at] = new;
        }
    }
    if (sequence != NULL)
        gsl_qrng_free(sequence);
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < fit->fit->model.varied_count; i++)
        starts[count].parameters[i] = fit->parameters[i].start;
    return solve(fit, starts, count + 1, solution);
}

/* ---- fits ---- */

/* With the correction that goes with the parameters, where the plugin takes one, and in it marks
 * where times between groups are interpolated. */
static st_status predict(fitter *fit, const double *parameters, bool marks, double *times_s,
                         const char **correction)
{
    const st_nccl_model *model = &fit->fit->model;
    double values[ST_NCCL_MAX_VARIED];
    values_of(fit, parameters, values);
    st_nccl_trial trial = {.values = values};
    *correction = NULL;
    st_status status = st_nccl_model_run(model, &trial, times_s, fit->errors);
    if (status != ST_OK || model->correction == NULL)
        return status;
    /* The correction by the rows that count, from their times without it. */
    const st_nccl_model *correction_model = &fit->fit->model;
    st_nccl_rest *rests =
        st_arena_alloc(fit->arena, correction_model->point_count + 1, sizeof *rests);
    size_t count = 0;
    const st_nccl_table *last = NULL;
    const char *mark = NULL;
    for (size_t i = 0; rests != NULL && i < correction_model->point_count; i++) {
        const st_nccl_point *point = &correction_model->points[i];
        const st_nccl_table *table = fit->fit->tables[point->table];
        if (marks && model->shares[0] != NULL && table != last)
            mark = st_nccl_between_mark(fit->fit, fit->counts, point->table);
        last = table;
        if (fit->counts[i] && isfinite(times_s[i]))
            rests[count++] = (st_nccl_rest){.ranks = table->ranks,
                                            .nodes = table->nodes,
                                            .size_bytes = point->row->size_bytes,
                                            .log_ratio = log(point->measured_s / times_s[i]),
                                            .mark = mark};
    }
    *correction = rests != NULL ? st_nccl_rest_text(rests, count, fit->arena) : NULL;
    if (*correction == NULL)
        return ST_ERR_MEMORY;
    trial.correction = *correction;
    return st_nccl_model_run(model, &trial, times_s, fit->errors);
}

/* The key of rows that are left out together. */
static double group_of(const fitter *fit, st_nccl_kind kind, size_t point)
{
    const st_nccl_point *own_point = &fit->fit->model.points[point];
    return kind == ST_NCCL_NO_SIZE ? own_point->row->size_bytes
                                   : (double)fit->fit->tables[own_point->table]->ranks;
}

/* Counts all rows but those of two groups; false where none would be left. */
static bool leave_out(fitter *fit, st_nccl_kind kind, double group, double other)
{
    size_t left = 0;
    for (size_t i = 0; i < fit->fit->model.point_count; i++) {
        double its = group_of(fit, kind, i);
        fit->counts[i] = fit->usable[i] && its != group && its != other;
        left += fit->counts[i] ? 1 : 0;
    }
    return left > 0;
}

/* The buffers of a fit without some rows. */
typedef struct left_out {
    double *results[ST_NCCL_SHARES]; /* by shares, the same of all slots; the first alone where the
                                        plugin has no such options */
    double *scratch;
    double *chosen; /* of the results */
    bool *done;
    size_t shares;
} left_out;

/* Times of all points with a fit that has not seen some, for each share. */
static st_status predict_shares(fitter *fit, const double *parameters, double group,
                                st_nccl_kind kind, left_out *buffers)
{
    const st_nccl_model *model = &fit->fit->model;
    const char *correction = NULL;
    double values[ST_NCCL_MAX_VARIED];
    st_status status = predict(fit, parameters, false, buffers->scratch, &correction);
    values_of(fit, parameters, values);
    for (size_t s = 0; s < buffers->shares && status == ST_OK; s++) {
        const double share = st_nccl_share(s);
        const double all[ST_NCCL_SHARE_SLOTS] = {share, share, share, share};
        const st_nccl_trial trial = {.values = values, .correction = correction, .shares = all};
        if (s > 0)
            status = st_nccl_model_run(model, &trial, buffers->scratch, fit->errors);
        for (size_t i = 0; status == ST_OK && i < model->point_count; i++)
            if (group_of(fit, kind, i) == group && fit->usable[i])
                buffers->results[s][i] = buffers->scratch[i];
    }
    return status;
}

static st_status make_buffers(fitter *fit, st_nccl_kind kind, left_out *buffers)
{
    const st_nccl_model *model = &fit->fit->model;
    size_t points = model->point_count;
    bool has_shares = model->shares[0] != NULL || model->shares[1] != NULL;
    *buffers = (left_out){.scratch = st_arena_alloc(fit->arena, points + 1, sizeof(double)),
                          .chosen = st_arena_alloc(fit->arena, points + 1, sizeof(double)),
                          .done = st_arena_alloc(fit->arena, points + 1, sizeof(bool)),
                          .shares = kind == ST_NCCL_NO_RANKS && has_shares ? ST_NCCL_SHARES : 1};
    if (buffers->scratch == NULL || buffers->chosen == NULL || buffers->done == NULL)
        return ST_ERR_MEMORY;
    for (size_t s = 0; s < buffers->shares; s++) {
        buffers->results[s] = st_arena_alloc(fit->arena, points + 1, sizeof(double));
        if (buffers->results[s] == NULL)
            return ST_ERR_MEMORY;
        for (size_t i = 0; i < points; i++)
            buffers->results[s][i] = buffers->chosen[i] = (double)NAN;
    }
    return ST_OK;
}

static void set_done(const fitter *fit, st_nccl_kind kind, double group, left_out *buffers)
{
    for (size_t i = 0; i < fit->fit->model.point_count; i++)
        buffers->done[i] = buffers->done[i] || group_of(fit, kind, i) == group;
}

/* Chooses all shares; of `unseen`, rows of `but` ranks have no say. */
static void choose_shares(const st_nccl_fit *fit, const st_nccl_unseen *unseen, double but,
                          st_nccl_transfer *transfers)
{
    for (int slot = 0; slot < ST_NCCL_SHARE_SLOTS; slot++) {
        st_nccl_kind_of_group kind = {.across = slot / 2 > 0, .large = slot % 2 > 0, .but = but};
        (void)st_nccl_choose_transfer(fit, unseen, kind, &transfers[slot]);
    }
}

/* The estimates of a group with the shares that the other groups choose, which have not seen it. */
static st_status choose_unseen(fitter *fit, double group, const st_solution *solution,
                               left_out *buffers)
{
    const st_nccl_model *model = &fit->fit->model;
    candidate start = {.cost = 0};
    left_out others;
    double values[ST_NCCL_MAX_VARIED];
    double shares[ST_NCCL_SHARE_SLOTS];
    st_nccl_transfer transfers[ST_NCCL_SHARE_SLOTS];
    const char *correction = NULL;
    memcpy(start.parameters, solution->values, sizeof start.parameters);
    values_of(fit, solution->values, values);
    st_status status = predict(fit, solution->values, true, buffers->scratch, &correction);
    if (status == ST_OK)
        status = make_buffers(fit, ST_NCCL_NO_RANKS, &others);
    if (status == ST_OK) {
        /* Each of the other groups by a fit without it and without one group, from the fit without
         * that. */
        for (size_t i = 0; i < fit->fit->model.point_count && status == ST_OK; i++) {
            double other = group_of(fit, ST_NCCL_NO_RANKS, i);
            st_solution both_solution;
            if (other == group || others.done[i] || !fit->usable[i] ||
                !leave_out(fit, ST_NCCL_NO_RANKS, group, other))
                continue;
            status = solve(fit, &start, 1, &both_solution);
            if (status == ST_OK)
                status =
                    predict_shares(fit, both_solution.values, other, ST_NCCL_NO_RANKS, &others);
            set_done(fit, ST_NCCL_NO_RANKS, other, &others);
            status = status == ST_ERR_MATH ? ST_OK : status;
        }
    }
    if (status != ST_OK)
        return status;
    const st_nccl_unseen unseen = {.times_s = others.results, .count = others.shares};
    choose_shares(fit->fit, &unseen, group, transfers);
    for (int i = 0; i < ST_NCCL_SHARE_SLOTS; i++)
        shares[i] = transfers[i].share;
    const st_nccl_trial trial = {.values = values, .correction = correction, .shares = shares};
    status = st_nccl_model_run(model, &trial, buffers->scratch, fit->errors);
    for (size_t i = 0; status == ST_OK && i < model->point_count; i++)
        if (group_of(fit, ST_NCCL_NO_RANKS, i) == group && fit->usable[i])
            buffers->chosen[i] = buffers->scratch[i];
    return status;
}

/* Estimates the rows of one group by a fit to the others; false in `*others` where there are none.
 */
static st_status fit_without_one(fitter *fit, st_nccl_kind kind, double group,
                                 const candidate *start, left_out *buffers, bool *others)
{
    st_solution solution;
    *others = leave_out(fit, kind, group, group);
    if (!*others)
        return ST_OK;
    st_status status =
        kind == ST_NCCL_NO_RANKS ? solve_anew(fit, &solution) : solve(fit, start, 1, &solution);
    if (status == ST_OK)
        status = predict_shares(fit, solution.values, group, kind, buffers);
    if (status == ST_OK && buffers->shares > 1)
        status = choose_unseen(fit, group, &solution, buffers);
    set_done(fit, kind, group, buffers);
    return status == ST_ERR_MATH ? ST_OK : status;
}

/* Estimates each group of rows by a fit to the others; nothing where there is one group only. */
static st_status fit_without(fitter *fit, st_nccl_kind kind, const candidate *start)
{
    left_out buffers;
    bool others = true;
    st_status status = make_buffers(fit, kind, &buffers);
    for (size_t i = 0; status == ST_OK && others && i < fit->fit->model.point_count; i++)
        if (!buffers.done[i] && fit->usable[i])
            status = fit_without_one(fit, kind, group_of(fit, kind, i), start, &buffers, &others);
    if (status != ST_OK || !others)
        return status;
    fit->fit->times_s[kind] = buffers.shares > 1 ? buffers.chosen : buffers.results[0];
    const st_nccl_unseen unseen = {.times_s = buffers.results, .count = buffers.shares};
    if (buffers.shares > 1)
        choose_shares(fit->fit, &unseen, 0, fit->fit->transfers);
    return ST_OK;
}

static st_status fit_all(fitter *fitting, candidate *best)
{
    st_nccl_fit *fit = fitting->fit;
    st_solution solution;
    st_status status = solve_anew(fitting, &solution);
    if (status != ST_OK)
        return status == ST_ERR_MATH ? fail(fitting, status, "the fit does not converge") : status;
    memcpy(best->parameters, solution.values, sizeof best->parameters);
    for (size_t i = 0; i < fit->model.varied_count; i++)
        fit->errors[i] = solution.errors[i] / solution.values[i];
    values_of(fitting, solution.values, fit->values);
    fit->times_s[ST_NCCL_FITTED] =
        st_arena_alloc(fitting->arena, fit->model.point_count + 1, sizeof(double));
    if (fit->times_s[ST_NCCL_FITTED] == NULL)
        return ST_ERR_MEMORY;
    return predict(fitting, solution.values, true, fit->times_s[ST_NCCL_FITTED], &fit->correction);
}

/* All rows that the plugin does not refuse, and all priors. */
static void count_all(fitter *fit)
{
    for (size_t i = 0; i < fit->rows; i++)
        fit->counts[i] = i >= fit->fit->model.point_count || fit->usable[i];
}

/* The plugin as it comes; what it refuses takes no part in what follows. */
static st_status run_nominal(fitter *fitting)
{
    st_nccl_fit *fit = fitting->fit;
    size_t points = fit->model.point_count;
    double *times = st_arena_alloc(fitting->arena, points + 1, sizeof *times);
    double *starts = st_arena_alloc(fitting->arena, points + 1, sizeof *starts);
    if (times == NULL || starts == NULL)
        return ST_ERR_MEMORY;
    size_t before = st_errors_size(fitting->errors);
    const st_nccl_trial trial = {.values = NULL};
    st_status status = st_nccl_model_run(&fit->model, &trial, times, fitting->errors);
    if (status != ST_OK)
        return status == ST_ERR_PROVIDER && st_errors_size(fitting->errors) == before
                   ? fail(fitting, status, "the plugin fails")
                   : status;
    memcpy(starts, times, points * sizeof *starts);
    /* With what a fit begins with: a rate that nobody knows is none that nominal options have. */
    const st_nccl_model *model = &fitting->fit->model;
    bool opens = false;
    for (size_t i = 0; i < model->varied_count; i++)
        opens = opens || model->varied[i].is_rate;
    status = opens && fitting->fit->wants_fit ? run_beginning(fitting, SIZE_MAX, 1, starts) : ST_OK;
    if (status != ST_OK)
        return status;
    for (size_t i = 0; i < points; i++) {
        fitting->usable[i] = isfinite(starts[i]);
        fit->refused += fitting->usable[i] ? 0 : 1;
    }
    fit->times_s[ST_NCCL_NOMINAL] = times;
    if (fit->refused < points)
        return ST_OK;
    const st_nccl_fit *all_fit = fitting->fit;
    const char *why = st_nccl_model_refusal(&all_fit->model, fitting->arena);
    const st_nccl_table *table = all_fit->tables[0];
    if (all_fit->model.gpu == NULL && table->gpu[0] != '\0')
        why = st_arena_printf(fitting->arena, "%s%sunknown GPU '%.60s'", why != NULL ? why : "",
                              why != NULL ? "; " : "", table->gpu);
    return st_fail(fitting->errors, ST_ERR_PROVIDER, st_nccl_place_of(table),
                   "plugin '%s' rejects all rows%s%.300s" ST_HINT
                   "give --cluster NAME or --set KEY=VALUE",
                   all_fit->plugin, why != NULL ? ": " : "", why != NULL ? why : "");
}

st_status st_nccl_fit_run(st_nccl_fit *fit, st_arena *arena, st_errors *errors)
{
    size_t points = fit->model.point_count;
    fitter fitting = {
        .fit = fit, .arena = arena, .errors = errors, .rows = points + fit->model.varied_count};
    fitting.ones = st_arena_alloc(arena, fitting.rows + 1, sizeof *fitting.ones);
    fitting.times_s = st_arena_alloc(arena, points + 1, sizeof *fitting.times_s);
    fitting.counts = st_arena_alloc(arena, fitting.rows + 1, sizeof *fitting.counts);
    fitting.usable = st_arena_alloc(arena, points + 1, sizeof *fitting.usable);
    if (fitting.ones == NULL || fitting.times_s == NULL || fitting.counts == NULL ||
        fitting.usable == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < fitting.rows; i++)
        fitting.ones[i] = 1;
    st_status status = run_nominal(&fitting);
    if (status == ST_OK)
        status = st_nccl_baselines(fit, arena);
    if (status != ST_OK || !fit->wants_fit)
        return status;
    if (fit->model.varied_count == 0)
        return fail(&fitting, ST_ERR_VALUE,
                    st_errors_text(errors, "plugin '%s' has no option to fit", fit->plugin));
    candidate start = {0};
    count_all(&fitting);
    /* Options of which the rows say nothing stay as they are, and are not shown as fitted. */
    st_nccl_model *told_model = &fitting.fit->model;
    bool informed[ST_NCCL_MAX_VARIED] = {false};
    size_t kept = 0;
    st_status fit_status = find_informed(&fitting, informed);
    for (size_t i = 0; i < told_model->varied_count && fit_status == ST_OK; i++)
        if (informed[i] || told_model->varied[i].is_rate)
            told_model->varied[kept++] = told_model->varied[i];
    if (fit_status == ST_OK && kept > 0) {
        told_model->varied_count = kept;
        fitting.rows = told_model->point_count + kept;
    }
    if (fit_status != ST_OK)
        return fit_status;
    /* Parameters are above zero and move on a logarithmic scale; an option that may be zero or
     * less is shifted. */
    const st_nccl_model *model = &fitting.fit->model;
    for (size_t i = 0; i < model->varied_count; i++) {
        const st_nccl_varied *varied = &model->varied[i];
        double range = varied->high - varied->low;
        double shift = varied->low > 0 ? 0 : floor_share * range - varied->low;
        fitting.shifts[i] = shift;
        fitting.parameters[i] = (st_parameter){.low = varied->low + shift,
                                               .high = varied->high + shift,
                                               .start = varied->nominal + shift};
    }
    count_all(&fitting);
    fit_status = fit_all(&fitting, &start);
    const st_nccl_unseen nothing = {.count = 0};
    choose_shares(fitting.fit, &nothing, 0, fitting.fit->transfers);
    if (fit_status == ST_OK)
        fit_status = fit_without(&fitting, ST_NCCL_NO_SIZE, &start);
    if (fit_status == ST_OK)
        fit_status = fit_without(&fitting, ST_NCCL_NO_RANKS, &start);
    return fit_status;
}

/* ---- errors ---- */

st_status st_nccl_fit_errors(const st_nccl_fit *fit, st_nccl_kind kind, size_t range, size_t table,
                             st_error_summary *summary)
{
    const st_nccl_model *model = &fit->model;
    const st_nccl_range *within = &st_nccl_ranges[range];
    double *errors = malloc((model->point_count + 1) * sizeof *errors);
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
    *summary = st_summarize_errors(errors, count);
    free(errors);
    return ST_OK;
}
