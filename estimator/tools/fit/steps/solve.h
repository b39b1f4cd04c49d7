/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nonlinear least squares on relative errors, below everything that knows what a row or a constant
 * is.
 *
 * Each parameter is positive and moves between two bounds on a logarithmic scale, through a smooth
 * transformation that never reaches them. The minimum is looked for from the start and from two
 * fixed points of the box, always in the same order, so that the same problem gives the same bits.
 *
 * A prior is one more residual, noise*log(value/prior)/sd: a parameter that no row determines stays
 * there.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_SOLVE_H
#define STEPTIME_CALIBRATE_STEPS_SOLVE_H

#include "steptime/status.h"

enum { ST_FIT_MAX_PARAMETERS = 48 };

typedef enum st_loss {
    ST_LOSS_SOFT_L1, /* square for small errors, linear for large ones */
    ST_LOSS_SQUARE
} st_loss;

/* Above 0, low < high. */
typedef struct st_parameter {
    double low;
    double high;
    double start; /* moved inside where it lies outside */
    double prior; /* what is known of it beforehand; 0: nothing */
    double sd;    /* standard deviation of its logarithm around that; above 0 where prior is */
} st_parameter;

typedef struct st_problem {
    const st_parameter *parameters;
    size_t parameter_count;
    const double *measured; /* above 0 */
    size_t row_count;
    const bool *counts; /* which rows the fit sees; NULL: all */
    st_loss loss;
    double scale;    /* relative error from which soft-l1 turns linear */
    bool logarithms; /* errors are log(estimate/measured) instead of estimate/measured - 1 */
    double noise;    /* standard deviation of a row's error, against which priors weigh */
    bool start_only; /* the minimum is near the start: look nowhere else */
    bool rough;      /* a model with kinks: few steps, and where they end counts */
    /* Slopes at the start, [row * parameter_count + parameter] and behind the rows those of the
     * priors: the first step needs no runs for them. NULL: not known. */
    const double *known_slopes;
    double *slopes; /* takes those of the solution in this form; NULL: nobody needs them */
    /* Estimates all rows for one set of parameters. */
    st_status (*evaluate)(void *self, const double *values, double *estimates);
    void *self;
} st_problem;

typedef struct st_solution {
    double values[ST_FIT_MAX_PARAMETERS];
    double errors[ST_FIT_MAX_PARAMETERS]; /* standard errors; NaN if rows do not determine them */
    double correlation[ST_FIT_MAX_PARAMETERS][ST_FIT_MAX_PARAMETERS];
    bool at_low[ST_FIT_MAX_PARAMETERS];
    bool at_high[ST_FIT_MAX_PARAMETERS];
    double cost;    /* half the sum of the losses, those of priors among them */
    double freedom; /* effective degrees of freedom: parameters that rows, not priors, determine */
    size_t rows;    /* that the fit has seen */
    size_t iterations;
} st_solution;

/*
 * Finds the minimum. ST_ERR_VALUE: fewer rows and priors than parameters; ST_ERR_MATH: no finite
 * estimate, or no minimum found. The caller says which. GSL's own error handler is out of force
 * meanwhile, for the whole process.
 */
st_status st_solve(const st_problem *problem, st_solution *solution) ST_NODISCARD;

/* Where `share` of the way from low to high is, on the logarithmic scale. */
double st_parameter_at(const st_parameter *parameter, double share);

#endif
