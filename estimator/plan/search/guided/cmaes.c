/* SPDX-License-Identifier: Apache-2.0 */
/* CMA-ES; see cmaes.h. Names in comments are those of Hansen's tutorial. */
#include "search/guided/cmaes.h"

#include "base/lists.h"
#include "steptime/arena.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_eigen.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>

enum { MOST_GROWTH = 64 };

struct st_cmaes {
    st_arena *arena; /* holds all of it, itself too */
    size_t dimension;
    size_t first_count; /* lambda before any restart */
    size_t count;       /* lambda */
    size_t parents;     /* mu */
    double *weights;
    double weight_mass; /* mu_eff */
    double path_rate;   /* c_sigma */
    double damping;     /* d_sigma */
    double rank_path_rate;
    double rank_one;
    double rank_mu;
    double expected_length; /* E||N(0, I)|| */
    double sigma;
    size_t generation;
    gsl_rng *random;
    gsl_vector mean;
    gsl_vector path_sigma;
    gsl_vector path;
    gsl_vector step; /* of the mean, over sigma: y_w */
    gsl_vector spare;
    gsl_matrix covariance;
    gsl_matrix copy;
    gsl_matrix axes;    /* eigenvectors: B */
    gsl_vector lengths; /* square roots of the eigenvalues: D */
    gsl_eigen_symmv_workspace *eigen;
    double *draws;  /* y, per point */
    double *points; /* mirrored */
};

/* --- shape ----------------------------------------------------------------------------------- */

static void begin(st_cmaes *self)
{
    self->sigma = 0.3;
    self->generation = 0;
    gsl_vector_set_zero(&self->path_sigma);
    gsl_vector_set_zero(&self->path);
    gsl_matrix_set_identity(&self->covariance);
    gsl_matrix_set_identity(&self->axes);
    gsl_vector_set_all(&self->lengths, 1);
}

/* What a generation needs by its number of points. */
static bool make_lists(st_cmaes *self, size_t count)
{
    self->count = count;
    self->weights = st_arena_alloc(self->arena, count, sizeof *self->weights);
    self->draws = st_arena_alloc(self->arena, count * self->dimension, sizeof *self->draws);
    self->points = st_arena_alloc(self->arena, count * self->dimension, sizeof *self->points);
    if (!st_arena_failed(self->arena)) {
        /* Weights and rates for the size of the generation (table 1). */
        double n = (double)self->dimension;
        double sum = 0;
        double squares = 0;
        self->parents = self->count / 2;
        for (size_t i = 0; i < self->parents; i++) {
            self->weights[i] = log(((double)self->count + 1) / 2) - log((double)i + 1);
            sum += self->weights[i];
        }
        for (size_t i = 0; i < self->parents; i++) {
            self->weights[i] /= sum;
            squares += self->weights[i] * self->weights[i];
        }
        double mass = 1 / squares;
        self->weight_mass = mass;
        self->path_rate = (mass + 2) / (n + mass + 5);
        double excess = sqrt((mass - 1) / (n + 1)) - 1;
        self->damping = 1 + 2 * (excess > 0 ? excess : 0) + self->path_rate;
        self->rank_path_rate = (4 + mass / n) / (n + 4 + 2 * mass / n);
        self->rank_one = 2 / ((n + 1.3) * (n + 1.3) + mass);
        double rest = 1 - self->rank_one;
        double many = 2 * (0.25 + mass + 1 / mass - 2) / ((n + 2) * (n + 2) + mass);
        self->rank_mu = many < rest ? many : rest;
        self->expected_length = sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
    }
    return !st_arena_failed(self->arena);
}

static bool make_vectors(st_cmaes *self)
{
    gsl_vector *vectors[] = {&self->mean, &self->path_sigma, &self->path,
                             &self->step, &self->spare,      &self->lengths};
    gsl_matrix *matrices[] = {&self->covariance, &self->copy, &self->axes};
    const size_t n = self->dimension;
    double *numbers = st_arena_alloc(self->arena, (ST_COUNT(vectors) + ST_COUNT(matrices) * n) * n,
                                     sizeof *numbers);
    for (size_t i = 0; numbers != NULL && i < ST_COUNT(vectors); i++, numbers += n)
        *vectors[i] = gsl_vector_view_array(numbers, n).vector;
    for (size_t i = 0; numbers != NULL && i < ST_COUNT(matrices); i++, numbers += n * n)
        *matrices[i] = gsl_matrix_view_array(numbers, n, n).matrix;
    self->random = gsl_rng_alloc(gsl_rng_mt19937);
    self->eigen = gsl_eigen_symmv_alloc(n);
    return numbers != NULL && self->random != NULL && self->eigen != NULL;
}

st_cmaes *st_cmaes_create(size_t dimension, uint64_t seed)
{
    st_arena *arena = st_arena_create();
    st_cmaes *self = arena != NULL ? st_arena_alloc(arena, 1, sizeof *self) : NULL;
    gsl_error_handler_t *handler = gsl_set_error_handler_off(); /* NULL instead of an abort */
    if (self == NULL) {
        st_arena_destroy(arena);
    } else {
        *self = (st_cmaes){.arena = arena,
                           .dimension = dimension,
                           .first_count = 4 + (size_t)(3 * log((double)dimension))};
        if (!make_vectors(self) || !make_lists(self, self->first_count)) {
            st_cmaes_destroy(self);
            self = NULL;
        }
    }
    (void)gsl_set_error_handler(handler);
    if (self != NULL) {
        gsl_rng_set(self->random, (unsigned long)(seed % 0x7fffffffU) + 1);
        gsl_vector_set_all(&self->mean, 0.5);
        begin(self);
    }
    return self;
}

void st_cmaes_destroy(st_cmaes *self)
{
    if (self == NULL)
        return;
    gsl_rng_free(self->random);
    gsl_eigen_symmv_free(self->eigen);
    st_arena_destroy(self->arena);
}

/* --- a generation ---------------------------------------------------------------------------- */

size_t st_cmaes_count(const st_cmaes *self)
{
    return self->count;
}

static double mirror(double x)
{
    double rest = fmod(fabs(x), 2);
    return rest > 1 ? 2 - rest : rest;
}

const double *st_cmaes_draw(st_cmaes *self)
{
    for (size_t i = 0; i < self->count; i++) {
        /* y = B D z */
        double *draw = self->draws + i * self->dimension;
        double *point = self->points + i * self->dimension;
        size_t n = self->dimension;
        for (size_t k = 0; k < n; k++) {
            double z = gsl_ran_ugaussian(self->random);
            gsl_vector_set(&self->spare, k, gsl_vector_get(&self->lengths, k) * z);
        }
        gsl_vector_view y = gsl_vector_view_array(draw, n);
        (void)gsl_blas_dgemv(CblasNoTrans, 1, &self->axes, &self->spare, 0, &y.vector);
        for (size_t k = 0; k < n; k++)
            point[k] = mirror(gsl_vector_get(&self->mean, k) + self->sigma * draw[k]);
    }
    return self->points;
}

void st_cmaes_tell(st_cmaes *self, const size_t *order)
{
    /* y_w, and with it the mean, which is kept inside of the cube. */
    gsl_vector_set_zero(&self->step);
    for (size_t i = 0; i < self->parents; i++) {
        gsl_vector_view y =
            gsl_vector_view_array(self->draws + order[i] * self->dimension, self->dimension);
        (void)gsl_blas_daxpy(self->weights[i], &y.vector, &self->step);
    }
    (void)gsl_blas_daxpy(self->sigma, &self->step, &self->mean);
    for (size_t k = 0; k < self->dimension; k++)
        gsl_vector_set(&self->mean, k, mirror(gsl_vector_get(&self->mean, k)));
    /* p_sigma with C^(-1/2) y_w = B D^(-1) B' y_w; returns its length. */
    double rate = self->path_rate;
    (void)gsl_blas_dgemv(CblasTrans, 1, &self->axes, &self->step, 0, &self->spare);
    (void)gsl_vector_div(&self->spare, &self->lengths);
    (void)gsl_blas_dgemv(CblasNoTrans, sqrt(rate * (2 - rate) * self->weight_mass), &self->axes,
                         &self->spare, 1 - rate, &self->path_sigma);
    double length = gsl_blas_dnrm2(&self->path_sigma);
    double faded = 1 - pow(1 - self->path_rate, 2 * ((double)self->generation + 1));
    double n = (double)self->dimension;
    const bool steady = length / sqrt(faded) < (1.4 + 2 / (n + 1)) * self->expected_length;
    double covariance_rate = self->rank_path_rate;
    double lost = steady ? 0 : covariance_rate * (2 - covariance_rate);
    double keep = 1 - self->rank_one - self->rank_mu + self->rank_one * lost;
    (void)gsl_vector_scale(&self->path, 1 - covariance_rate);
    if (steady)
        (void)gsl_blas_daxpy(sqrt(covariance_rate * (2 - covariance_rate) * self->weight_mass),
                             &self->step, &self->path);
    (void)gsl_matrix_scale(&self->covariance, keep);
    (void)gsl_blas_dsyr(CblasLower, self->rank_one, &self->path, &self->covariance);
    for (size_t i = 0; i < self->parents; i++) {
        gsl_vector_view y =
            gsl_vector_view_array(self->draws + order[i] * self->dimension, self->dimension);
        (void)gsl_blas_dsyr(CblasLower, self->rank_mu * self->weights[i], &y.vector,
                            &self->covariance);
    }
    for (size_t row = 0; row < self->dimension; row++) {
        for (size_t column = row + 1; column < self->dimension; column++)
            gsl_matrix_set(&self->covariance, row, column,
                           gsl_matrix_get(&self->covariance, column, row));
    }
    double growth = self->path_rate / self->damping * (length / self->expected_length - 1);
    self->sigma *= exp(growth < 1 ? growth : 1);
    self->sigma = self->sigma < 1e3 ? self->sigma : 1e3;
    self->generation++;
    /* B and D; eigenvalues that rounding has brought to zero stay a little above. */
    const double least = 1e-14;
    (void)gsl_matrix_memcpy(&self->copy, &self->covariance);
    (void)gsl_eigen_symmv(&self->copy, &self->lengths, &self->axes, self->eigen);
    for (size_t k = 0; k < self->dimension; k++) {
        double value = gsl_vector_get(&self->lengths, k);
        gsl_vector_set(&self->lengths, k, sqrt(value > least ? value : least));
    }
}

double st_cmaes_spread(const st_cmaes *self)
{
    return self->sigma * gsl_vector_max(&self->lengths);
}

bool st_cmaes_restart(st_cmaes *self)
{
    size_t count = 2 * self->count;
    if (count <= MOST_GROWTH * self->first_count && !make_lists(self, count))
        return false;
    for (size_t k = 0; k < self->dimension; k++)
        gsl_vector_set(&self->mean, k, gsl_rng_uniform(self->random));
    begin(self);
    return true;
}
