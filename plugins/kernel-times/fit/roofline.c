/* SPDX-License-Identifier: Apache-2.0 */
/* Rooflines: a floor, a rate and a bandwidth, by least squares on relative errors. */
#include "steptime/tool/input_files.h"
#include "base/memory.h"
#include "kernel-times/fit/predict.h"

#include "fit/steps/solve.h"
#include "fit/steps/stats.h"

#include <math.h>

typedef struct line_fit {
    const st_time_set *set;
    double *flop;
    double *bytes;
    double *measured;
    size_t count;
    bool has_flop;
    bool has_bytes;
} line_fit;

/* Parameters in their order: floor, then those slopes that the piece has. */
static st_times_roofline line_of(const line_fit *fitted, const double *values)
{
    st_times_roofline line = {.floor = *values++};
    if (fitted->has_flop)
        line.per_flop = *values++;
    if (fitted->has_bytes)
        line.per_byte = *values;
    return line;
}

static st_status evaluate(void *context, const double *values, double *estimates)
{
    const line_fit *fitted = context;
    st_times_roofline line = line_of(fitted, values);
    for (size_t i = 0; i < fitted->count; i++)
        estimates[i] = st_times_roofline_time(&line, fitted->flop[i], fitted->bytes[i]);
    return ST_OK;
}

static bool gather(line_fit *line, size_t piece, const bool *counts, st_arena *arena)
{
    size_t most = line->set->count + 1;
    line->flop = st_arena_alloc(arena, most, sizeof *line->flop);
    line->bytes = st_arena_alloc(arena, most, sizeof *line->bytes);
    line->measured = st_arena_alloc(arena, most, sizeof *line->measured);
    if (line->flop == NULL || line->bytes == NULL || line->measured == NULL)
        return false;
    for (size_t i = 0; i < line->set->count; i++) {
        const st_time_sample *sample = &line->set->samples[i];
        if (counts != NULL && !counts[i])
            continue;
        st_times_work(line->set->pieces[piece], &sample->shape, &line->flop[line->count],
                      &line->bytes[line->count]);
        line->has_flop = line->has_flop || line->flop[line->count] > 0;
        line->has_bytes = line->has_bytes || line->bytes[line->count] > 0;
        line->measured[line->count++] = sample->times[piece];
    }
    return true;
}

/* The median of time over work, near which a slope must be. */
static double median_slope(const line_fit *line, const double *work, double *scratch)
{
    for (size_t i = 0; i < line->count; i++)
        scratch[i] = line->measured[i] / work[i];
    return st_median(scratch, line->count);
}

/* The least time over work: no slope is above it, and where this work alone counts none is below.
 */
static double least_slope(const line_fit *line, const double *work)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < line->count; i++)
        least = fmin(least, line->measured[i] / work[i]);
    return least;
}

static bool is_at_edge(const st_solution *solution, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (solution->at_low[i] || solution->at_high[i])
            return true;
    return false;
}

/*
 * The minimum. A descent from slopes that are far too steep may end at a bound, where none of the
 * others begins: then it is looked for once more, from the steepest slopes that the rows allow.
 */
static st_status solve(const line_fit *line, st_parameter *parameters, st_problem *problem,
                       st_solution *solution)
{
    st_solution other;
    size_t at = 1;
    st_status status = st_solve(problem, solution);
    if (status != ST_OK || !is_at_edge(solution, problem->parameter_count))
        return status;
    if (line->has_flop)
        parameters[at++].start = least_slope(line, line->flop);
    if (line->has_bytes)
        parameters[at].start = least_slope(line, line->bytes);
    problem->start_only = true;
    if (st_solve(problem, &other) == ST_OK && other.cost < solution->cost)
        *solution = other;
    return ST_OK;
}

/* Too few rows for a curve, or no minimum: one slope through the origin. */
static st_times_roofline straight_line(const line_fit *fitted, double per_flop, double per_byte)
{
    st_times_roofline line = {0};
    line.per_flop = fitted->has_flop ? per_flop : 0;
    line.per_byte = fitted->has_flop ? 0 : per_byte;
    return line;
}

static double mean_error(const line_fit *fitted, const st_times_roofline *line)
{
    double sum = 0;
    for (size_t i = 0; i < fitted->count; i++) {
        double time = st_times_roofline_time(line, fitted->flop[i], fitted->bytes[i]);
        sum += fabs(log(time / fitted->measured[i])) / (double)fitted->count;
    }
    return sum;
}

st_status st_times_fit_roofline(const st_time_set *set, size_t piece, const bool *counts,
                                st_arena *arena, st_times_roofline *line, st_errors *errors)
{
    line_fit fitted = {.set = set};
    st_parameter parameters[3];
    size_t count = 1;
    double least = HUGE_VAL;
    double *scratch = st_arena_alloc(arena, set->count + 1, sizeof *scratch);
    if (scratch == NULL || !gather(&fitted, piece, counts, arena))
        return st_out_of_memory(errors);
    for (size_t i = 0; i < fitted.count; i++)
        least = fmin(least, fitted.measured[i]);
    parameters[0] = (st_parameter){.low = least * 1e-4, .high = least * 1.5, .start = least * 0.5};
    double per_flop = fitted.has_flop ? median_slope(&fitted, fitted.flop, scratch) : 0;
    double per_byte = fitted.has_bytes ? median_slope(&fitted, fitted.bytes, scratch) : 0;
    if (fitted.has_flop)
        parameters[count++] =
            (st_parameter){.low = per_flop / 100, .high = per_flop * 10, .start = per_flop * 0.8};
    if (fitted.has_bytes)
        parameters[count++] =
            (st_parameter){.low = per_byte / 1000, .high = per_byte * 10, .start = per_byte * 0.5};
    *line = straight_line(&fitted, per_flop, per_byte);
    st_problem problem = {.parameters = parameters,
                          .parameter_count = count,
                          .measured = fitted.measured,
                          .row_count = fitted.count,
                          .loss = ST_LOSS_SOFT_L1,
                          .scale = 0.1,
                          .evaluate = evaluate,
                          .self = &fitted};
    st_solution solution;
    if (fitted.count > count && isfinite(least) &&
        solve(&fitted, parameters, &problem, &solution) == ST_OK)
        *line = line_of(&fitted, solution.values);
    if (set->pieces[piece] == ST_TIMES_WHOLE && fitted.count > 1) {
        /* A formula that is there already is not moved for what two constants gain by chance: a fit
         * of k constants to n values is about 2k/n worse on others than on its own. */
        st_times_roofline formula_line = *line;
        const st_times_roofline as_it_is = {.per_flop = 1};
        double penalty = 1 + 4.0 / (double)fitted.count;
        *line = mean_error(&fitted, &as_it_is) < penalty * mean_error(&fitted, &formula_line)
                    ? as_it_is
                    : formula_line;
    }
    return ST_OK;
}
