/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The minimum with GSL's trust region method (Levenberg and Marquardt's step); see solve.h.
 *
 * A robust loss becomes a plain sum of squares by giving the solver the square root of each row's
 * loss, with the error's sign, in place of the error: the sum is the same, smooth, and needs no
 * weights that would have to be iterated.
 */
#include "fit/steps/solve.h"

#include "base/lists.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_matrix.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_vector.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITERATIONS = 300, ROUGH_ITERATIONS = 60 };

static const double tolerance = 1e-10;
static const double rough_tolerance = 1e-5;
static const double edge = 1e-3; /* share of the way between bounds that counts as being there */
static const double least_step = 6e-6; /* of central differences: the cube root of the rounding */
static const double least_rank = 1e-8;
static const double start_shares[] = {0.25, 0.75};

typedef struct fit_state {
    const st_problem *problem;
    double *estimates; /* all rows */
    st_status status;  /* of the last evaluation that failed */
    gsl_vector *moved; /* coordinates next to those of the slopes */
    gsl_vector *up;    /* residuals there */
    gsl_vector *down;
    bool begun; /* slopes were asked for before */
} fit_state;

double st_parameter_at(const st_parameter *parameter, double share)
{
    return parameter->low * pow(parameter->high / parameter->low, share);
}

static double share_of(double coordinate)
{
    return 1.0 / (1.0 + exp(-coordinate));
}

static void values_of(const st_problem *problem, const gsl_vector *coordinates, double *values)
{
    for (size_t i = 0; i < problem->parameter_count; i++)
        values[i] =
            st_parameter_at(&problem->parameters[i], share_of(gsl_vector_get(coordinates, i)));
}

/* The square root of twice a row's loss, with the sign of its error. */
static double root_of_loss(const st_problem *problem, double error)
{
    if (problem->loss == ST_LOSS_SQUARE)
        return error;
    double z = error / problem->scale;
    return error * sqrt(2.0 / (sqrt(1.0 + z * z) + 1.0));
}

static bool is_seen(const st_problem *problem, size_t row)
{
    return problem->counts == NULL || problem->counts[row];
}

static bool has_prior(const st_parameter *parameter)
{
    return parameter->prior > 0.0;
}

/* GSL's residuals: one per row that counts, one per prior. */
static int residuals(const gsl_vector *coordinates, void *context, gsl_vector *result)
{
    fit_state *state = context;
    const st_problem *problem = state->problem;
    double values[ST_FIT_MAX_PARAMETERS];
    values_of(problem, coordinates, values);
    state->status = problem->evaluate(problem->self, values, state->estimates);
    if (state->status != ST_OK)
        return GSL_EFAILED;
    size_t next = 0;
    for (size_t i = 0; i < problem->row_count; i++) {
        if (!is_seen(problem, i))
            continue;
        const double estimate = state->estimates[i];
        const double measured = problem->measured[i];
        double error = problem->logarithms ? log(estimate / measured) : estimate / measured - 1.0;
        if (!isfinite(error)) {
            state->status = ST_ERR_MATH;
            return GSL_EDOM;
        }
        gsl_vector_set(result, next++, root_of_loss(problem, error));
    }
    /* Behind the rows. */
    for (size_t i = 0; i < problem->parameter_count; i++) {
        const st_parameter *parameter = &problem->parameters[i];
        if (has_prior(parameter))
            gsl_vector_set(result, next++,
                           problem->noise * log(values[i] / parameter->prior) / parameter->sd);
    }
    return GSL_SUCCESS;
}

/* The slopes at the start of the rows that count, and of the priors behind all rows. */
static void take_known(const fit_state *state, gsl_matrix *result)
{
    const st_problem *problem = state->problem;
    const size_t count = problem->parameter_count;
    size_t next = 0;
    for (size_t i = 0; i < problem->row_count + count && next < result->size1; i++) {
        if (i < problem->row_count ? !is_seen(problem, i)
                                   : !has_prior(&problem->parameters[i - problem->row_count]))
            continue;
        for (size_t k = 0; k < count; k++)
            gsl_matrix_set(result, next, k, problem->known_slopes[i * count + k]);
        next++;
    }
}

/*
 * Central differences, or where few steps are wanted, forward ones with half the runs. Steps do not
 * shrink with a coordinate: one in the middle of its bounds is 0, or nearly.
 */
static int slopes(const gsl_vector *coordinates, void *context, gsl_matrix *result)
{
    fit_state *state = context;
    const bool is_forward = state->problem->rough;
    int code = GSL_SUCCESS;
    if (state->problem->known_slopes != NULL && !state->begun) {
        state->begun = true;
        take_known(state, result);
        return code;
    }
    (void)gsl_vector_memcpy(state->moved, coordinates);
    if (is_forward)
        code = residuals(coordinates, state, state->down);
    for (size_t k = 0; k < coordinates->size && code == GSL_SUCCESS; k++) {
        const double at = gsl_vector_get(coordinates, k);
        const double step = least_step * fmax(fabs(at), 1.0);
        gsl_vector_set(state->moved, k, at + step);
        code = residuals(state->moved, state, state->up);
        gsl_vector_set(state->moved, k, at - step);
        if (code == GSL_SUCCESS && !is_forward)
            code = residuals(state->moved, state, state->down);
        gsl_vector_set(state->moved, k, at);
        for (size_t i = 0; i < result->size1; i++)
            gsl_matrix_set(result, i, k,
                           (gsl_vector_get(state->up, i) - gsl_vector_get(state->down, i)) /
                               (is_forward ? step : 2.0 * step));
    }
    return code;
}

static size_t count_priors(const st_problem *problem)
{
    size_t count = 0;
    for (size_t i = 0; i < problem->parameter_count; i++)
        count += has_prior(&problem->parameters[i]) ? 1 : 0;
    return count;
}

/* The variance of a row's error; what priors were weighed with where rows scatter less. */
static double spread_of(const st_problem *problem, const gsl_vector *errors,
                        const st_solution *solution)
{
    double sum = 0.0;
    double free_rows = (double)solution->rows - solution->freedom;
    for (size_t i = 0; i < solution->rows; i++)
        sum += gsl_vector_get(errors, i) * gsl_vector_get(errors, i);
    double spread = free_rows > 0.0 ? sum / free_rows : (double)NAN;
    double known = problem->noise * problem->noise;
    return count_priors(problem) > 0 && !(spread > known) ? known : spread;
}

typedef struct gsl_parts {
    gsl_multifit_nlinear_workspace *workspace;
    gsl_vector *start;
    gsl_matrix *covariance;
} gsl_parts;

static void read_solution(const st_problem *problem, const gsl_parts *parts, st_solution *solution)
{
    const gsl_vector *coordinates = gsl_multifit_nlinear_position(parts->workspace);
    const gsl_vector *errors = gsl_multifit_nlinear_residual(parts->workspace);
    values_of(problem, coordinates, solution->values);
    solution->cost = 0.0;
    for (size_t i = 0; i < errors->size; i++)
        solution->cost += gsl_vector_get(errors, i) * gsl_vector_get(errors, i) / 2.0;
    solution->iterations = gsl_multifit_nlinear_niter(parts->workspace);
    gsl_matrix_set_zero(parts->covariance);
    (void)gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(parts->workspace), least_rank,
                                     parts->covariance);
    /* Each parameter counts by the share of its information that rows give. */
    const gsl_matrix *jacobian = gsl_multifit_nlinear_jac(parts->workspace);
    size_t rows = solution->rows;
    double freedom = (double)problem->parameter_count;
    for (size_t i = 0; i < problem->parameter_count; i++) {
        if (!has_prior(&problem->parameters[i]))
            continue;
        double slope = gsl_matrix_get(jacobian, rows++, i);
        freedom -= slope * slope * gsl_matrix_get(parts->covariance, i, i);
    }
    solution->freedom = freedom;
    /* Standard errors and correlations from the Jacobian, by linear propagation to the values. */
    const gsl_matrix *covariance = parts->covariance;
    const double spread = spread_of(problem, errors, solution);
    size_t count = problem->parameter_count;
    for (size_t i = 0; i < count; i++) {
        const st_parameter *parameter = &problem->parameters[i];
        double share = share_of(gsl_vector_get(coordinates, i));
        double own = gsl_matrix_get(covariance, i, i);
        double slope =
            solution->values[i] * log(parameter->high / parameter->low) * share * (1.0 - share);
        solution->at_low[i] = share < edge;
        solution->at_high[i] = share > 1.0 - edge;
        bool known = own > 0.0 && !solution->at_low[i] && !solution->at_high[i];
        solution->errors[i] = known ? slope * sqrt(own * spread) : (double)NAN;
        for (size_t k = 0; k < count; k++) {
            double other = gsl_matrix_get(covariance, k, k);
            solution->correlation[i][k] = own > 0.0 && other > 0.0
                                              ? gsl_matrix_get(covariance, i, k) / sqrt(own * other)
                                              : (double)NAN;
        }
    }
}

/* For fits to some of the rows. */
static void put_slopes(const st_problem *problem, const gsl_parts *parts)
{
    const gsl_matrix *jacobian = gsl_multifit_nlinear_jac(parts->workspace);
    const size_t count = problem->parameter_count;
    size_t next = 0;
    for (size_t i = 0; problem->slopes != NULL && i < problem->row_count + count; i++) {
        if (i < problem->row_count ? !is_seen(problem, i)
                                   : !has_prior(&problem->parameters[i - problem->row_count]))
            continue;
        for (size_t k = 0; k < count; k++)
            problem->slopes[i * count + k] = gsl_matrix_get(jacobian, next, k);
        next++;
    }
}

/* The best of all descents; a later one must be better by more than rounding. */
static st_status try_all(fit_state *state, const gsl_parts *parts, st_solution *best)
{
    size_t fixed = ST_COUNT(start_shares);
    size_t attempts = state->problem->start_only ? 1 : 1 + fixed;
    st_status first = ST_ERR_MATH;
    bool found = false;
    for (size_t i = 0; i < attempts; i++) {
        st_solution tried = {.rows = best->rows};
        const st_problem *problem = state->problem;
        gsl_vector *start = parts->start;
        for (size_t j = 0; j < problem->parameter_count; j++) {
            const st_parameter *parameter = &problem->parameters[j];
            double value =
                i == 0 ? parameter->start : st_parameter_at(parameter, start_shares[i - 1]);
            /* The coordinate of a value, moved inside the bounds where it is not. */
            double share = log(value / parameter->low) / log(parameter->high / parameter->low);
            if (!(share > edge))
                share = edge;
            if (share > 1.0 - edge)
                share = 1.0 - edge;
            gsl_vector_set(start, j, log(share / (1.0 - share)));
        }
        /* One descent from parts->start. */
        st_status status = ST_ERR_MEMORY;
        gsl_multifit_nlinear_fdf system = {.f = residuals,
                                           .df = slopes,
                                           .n = tried.rows + count_priors(state->problem),
                                           .p = state->problem->parameter_count,
                                           .params = state};
        bool rough = state->problem->rough;
        double least = rough ? rough_tolerance : tolerance;
        int info = 0;
        int code = gsl_multifit_nlinear_init(parts->start, &system, parts->workspace);
        if (code == GSL_SUCCESS)
            code = gsl_multifit_nlinear_driver(rough ? ROUGH_ITERATIONS : MAX_ITERATIONS, least,
                                               least, 0.0, NULL, NULL, &info, parts->workspace);
        if (code != GSL_ENOMEM) {
            /* no progress: differences between rows are down to rounding, which is as good as it
             * gets */
            if (code != GSL_SUCCESS && code != GSL_ENOPROG && !(rough && code == GSL_EMAXITER)) {
                status = state->status != ST_OK ? state->status : ST_ERR_MATH;
            } else {
                read_solution(state->problem, parts, &tried);
                status = isfinite(tried.cost) ? ST_OK : ST_ERR_MATH;
            }
        }
        if (status != ST_OK && status != ST_ERR_MATH)
            return status;
        if (status != ST_OK)
            continue;
        if (!found || tried.cost < best->cost * (1.0 - 1e-9)) {
            *best = tried;
            put_slopes(state->problem, parts);
        }
        found = true;
        first = ST_OK;
    }
    return first;
}

st_status st_solve(const st_problem *problem, st_solution *solution)
{
    size_t count = 0;
    for (size_t i = 0; i < problem->row_count; i++)
        count += is_seen(problem, i) ? 1 : 0;
    st_solution best = {.rows = count};
    if (problem->parameter_count == 0 || problem->parameter_count > ST_FIT_MAX_PARAMETERS ||
        best.rows + count_priors(problem) < problem->parameter_count)
        return ST_ERR_VALUE;
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    gsl_multifit_nlinear_parameters options = gsl_multifit_nlinear_default_parameters();
    size_t residual_count = best.rows + count_priors(problem);
    fit_state state = {.problem = problem,
                       .moved = gsl_vector_alloc(problem->parameter_count),
                       .up = gsl_vector_alloc(residual_count),
                       .down = gsl_vector_alloc(residual_count)};
    st_status status = ST_ERR_MEMORY;
    gsl_parts parts = {
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &options,
                                   best.rows + count_priors(problem), problem->parameter_count),
        gsl_vector_alloc(problem->parameter_count),
        gsl_matrix_alloc(problem->parameter_count, problem->parameter_count),
    };
    state.estimates = calloc(problem->row_count, sizeof *state.estimates);
    if (parts.workspace == NULL || parts.start == NULL || parts.covariance == NULL ||
        state.estimates == NULL || state.moved == NULL || state.up == NULL || state.down == NULL)
        goto cleanup;
    status = try_all(&state, &parts, &best);
    if (status == ST_OK)
        *solution = best;
cleanup:
    free(state.estimates);
    gsl_vector_free(state.down);
    gsl_vector_free(state.up);
    gsl_vector_free(state.moved);
    gsl_matrix_free(parts.covariance);
    gsl_vector_free(parts.start);
    gsl_multifit_nlinear_free(parts.workspace);
    (void)gsl_set_error_handler(handler);
    return status;
}
