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
static st_times_roofline line_of(const line_fit *own, const double *values)
{
    st_times_roofline line = {.floor = *values++};
    if (own->has_flop)
        line.per_flop = *values++;
    if (own->has_bytes)
        line.per_byte = *values;
    return line;
}

static st_status evaluate(void *self, const double *values, double *estimates)
{
    const line_fit *own = self;
    st_times_roofline line = line_of(own, values);
    for (size_t i = 0; i < own->count; i++)
        estimates[i] = st_times_roofline_time(&line, own->flop[i], own->bytes[i]);
    return ST_OK;
}

static bool gather(line_fit *own, size_t piece, const bool *counts, st_arena *arena)
{
    size_t most = own->set->count + 1;
    own->flop = st_arena_alloc(arena, most, sizeof *own->flop);
    own->bytes = st_arena_alloc(arena, most, sizeof *own->bytes);
    own->measured = st_arena_alloc(arena, most, sizeof *own->measured);
    if (own->flop == NULL || own->bytes == NULL || own->measured == NULL)
        return false;
    for (size_t i = 0; i < own->set->count; i++) {
        const st_time_sample *sample = &own->set->samples[i];
        if (counts != NULL && !counts[i])
            continue;
        st_times_work(own->set->pieces[piece], &sample->shape, &own->flop[own->count],
                      &own->bytes[own->count]);
        own->has_flop = own->has_flop || own->flop[own->count] > 0;
        own->has_bytes = own->has_bytes || own->bytes[own->count] > 0;
        own->measured[own->count++] = sample->times[piece];
    }
    return true;
}

/* The median of time over work, near which a slope must be. */
static double median_slope(const line_fit *own, const double *work, double *scratch)
{
    for (size_t i = 0; i < own->count; i++)
        scratch[i] = own->measured[i] / work[i];
    return st_median(scratch, own->count);
}

/* The least time over work: no slope is above it, and where this work alone counts none is below.
 */
static double least_slope(const line_fit *own, const double *work)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < own->count; i++)
        least = fmin(least, own->measured[i] / work[i]);
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
static st_status solve(const line_fit *own, st_parameter *parameters, st_problem *problem,
                       st_solution *solution)
{
    st_solution other;
    size_t at = 1;
    st_status status = st_solve(problem, solution);
    if (status != ST_OK || !is_at_edge(solution, problem->parameter_count))
        return status;
    if (own->has_flop)
        parameters[at++].start = least_slope(own, own->flop);
    if (own->has_bytes)
        parameters[at].start = least_slope(own, own->bytes);
    problem->start_only = true;
    if (st_solve(problem, &other) == ST_OK && other.cost < solution->cost)
        *solution = other;
    return ST_OK;
}

/* Too few rows for a curve, or no minimum: one slope through the origin. */
static st_times_roofline straight_line(const line_fit *own, double per_flop, double per_byte)
{
    st_times_roofline line = {0};
    line.per_flop = own->has_flop ? per_flop : 0;
    line.per_byte = own->has_flop ? 0 : per_byte;
    return line;
}

static double mean_error(const line_fit *own, const st_times_roofline *line)
{
    double sum = 0;
    for (size_t i = 0; i < own->count; i++) {
        double time = st_times_roofline_time(line, own->flop[i], own->bytes[i]);
        sum += fabs(log(time / own->measured[i])) / (double)own->count;
    }
    return sum;
}

st_status st_times_fit_roofline(const st_time_set *set, size_t piece, const bool *counts,
                                st_arena *arena, st_times_roofline *line, st_errors *errors)
{
    line_fit own = {.set = set};
    st_parameter parameters[3];
    size_t count = 1;
    double least = HUGE_VAL;
    double *scratch = st_arena_alloc(arena, set->count + 1, sizeof *scratch);
    if (scratch == NULL || !gather(&own, piece, counts, arena))
        return st_out_of_memory(errors);
    for (size_t i = 0; i < own.count; i++)
        least = fmin(least, own.measured[i]);
    parameters[0] = (st_parameter){.low = least * 1e-4, .high = least * 1.5, .start = least * 0.5};
    double per_flop = own.has_flop ? median_slope(&own, own.flop, scratch) : 0;
    double per_byte = own.has_bytes ? median_slope(&own, own.bytes, scratch) : 0;
    if (own.has_flop)
        parameters[count++] =
            (st_parameter){.low = per_flop / 100, .high = per_flop * 10, .start = per_flop * 0.8};
    if (own.has_bytes)
        parameters[count++] =
            (st_parameter){.low = per_byte / 1000, .high = per_byte * 10, .start = per_byte * 0.5};
    *line = straight_line(&own, per_flop, per_byte);
    st_problem problem = {.parameters = parameters,
                          .parameter_count = count,
                          .measured = own.measured,
                          .row_count = own.count,
                          .loss = ST_LOSS_SOFT_L1,
                          .scale = 0.1,
                          .evaluate = evaluate,
                          .self = &own};
    st_solution solution;
    if (own.count > count && isfinite(least) &&
        solve(&own, parameters, &problem, &solution) == ST_OK)
        *line = line_of(&own, solution.values);
    if (set->pieces[piece] == ST_TIMES_WHOLE && own.count > 1) {
        /* A formula that is there already is not moved for what two constants gain by chance: a fit
         * of k constants to n values is about 2k/n worse on others than on its own. */
        st_times_roofline formula_line = *line;
        const st_times_roofline as_it_is = {.per_flop = 1};
        double penalty = 1 + 4.0 / (double)own.count;
        *line = mean_error(&own, &as_it_is) < penalty * mean_error(&own, &formula_line)
                    ? as_it_is
                    : formula_line;
    }
    return ST_OK;
}
