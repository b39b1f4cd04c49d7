/* SPDX-License-Identifier: Apache-2.0 */
/* Ways through the unit cube; see walks.h. */
#include "search/guided/walks.h"

#include "base/lists.h"
#include "search/guided/cmaes.h"
#include "steptime/arena.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    POINTS = 16,       /* of a generation */
    ELITES = 4,        /* that an evolution keeps */
    MOST_KNOWN = 256,  /* points that the Parzen estimator looks at, the newest */
    MOST_GOOD = 25,    /* of these taken for good (Bergstra et al. 2013) */
    FIRST_RANDOM = 20, /* that pass before it begins */
    CANDIDATES = 24    /* the most promising one becomes a point */
};

/* A point whose worth is known. */
typedef struct known_point {
    const double *at; /* in `places` */
    double worth;
} known_point;

struct st_walk {
    st_arena *arena;
    st_method method;
    size_t dimension;
    st_cmaes *cmaes;
    gsl_rng *random;
    double *points;
    double *elites; /* the best of the last generation, best first */
    size_t elite_count;
    double *places; /* a ring of known points */
    double *worths;
    size_t known;
    known_point *sorted;
    double *candidate;
};

/* --- life ------------------------------------------------------------------------------------ */

st_walk *st_walk_create(st_method method, size_t dimension, uint64_t seed)
{
    st_arena *arena = st_arena_create();
    st_walk *self = arena != NULL ? st_arena_alloc(arena, 1, sizeof *self) : NULL;
    if (self == NULL) {
        st_arena_destroy(arena);
        return NULL;
    }
    *self = (st_walk){.arena = arena, .method = method, .dimension = dimension};
    bool good = true;
    if (method == ST_METHOD_CMAES) {
        self->cmaes = st_cmaes_create(dimension, seed);
        good = self->cmaes != NULL;
    } else {
        size_t n = self->dimension;
        self->random = gsl_rng_alloc(gsl_rng_mt19937);
        self->points = st_arena_alloc(self->arena, POINTS * n, sizeof(double));
        self->elites = st_arena_alloc(self->arena, ELITES * n, sizeof(double));
        self->places = st_arena_alloc(self->arena, MOST_KNOWN * n, sizeof(double));
        self->worths = st_arena_alloc(self->arena, MOST_KNOWN, sizeof(double));
        self->sorted = st_arena_alloc(self->arena, MOST_KNOWN, sizeof *self->sorted);
        self->candidate = st_arena_alloc(self->arena, n, sizeof(double));
        good = self->random != NULL && self->points != NULL && self->elites != NULL &&
               self->places != NULL && self->worths != NULL && self->sorted != NULL &&
               self->candidate != NULL;
        if (good)
            gsl_rng_set(self->random, (unsigned long)seed);
    }
    if (good)
        return self;
    st_walk_destroy(self);
    return NULL;
}

void st_walk_destroy(st_walk *self)
{
    if (self == NULL)
        return;
    st_cmaes_destroy(self->cmaes);
    if (self->random != NULL)
        gsl_rng_free(self->random);
    st_arena_destroy(self->arena);
}

size_t st_walk_count(const st_walk *self)
{
    return self->cmaes != NULL ? st_cmaes_count(self->cmaes) : POINTS;
}

/* --- random and evolution -------------------------------------------------------------------- */

static double mirror(double x)
{
    double folded = fmod(fabs(x), 2);
    return folded > 1 ? 2 - folded : folded;
}

static void draw_anywhere(st_walk *self, double *point)
{
    for (size_t k = 0; k < self->dimension; k++)
        point[k] = gsl_rng_uniform(self->random);
}

/* Each coordinate from one of two parents; one in as many as there are is changed: by a step, or
 * drawn anew. */
static void draw_child(st_walk *self, double *point)
{
    const double step = 0.15;
    const double *mother =
        &self->elites[gsl_rng_uniform_int(self->random, self->elite_count) * self->dimension];
    const double *father =
        &self->elites[gsl_rng_uniform_int(self->random, self->elite_count) * self->dimension];
    for (size_t k = 0; k < self->dimension; k++) {
        point[k] = gsl_rng_uniform_int(self->random, 2) == 0 ? mother[k] : father[k];
        if (gsl_rng_uniform_int(self->random, self->dimension) > 0)
            continue;
        if (gsl_rng_uniform_int(self->random, 2) == 0)
            point[k] = gsl_rng_uniform(self->random);
        else
            point[k] = mirror(point[k] + gsl_ran_gaussian(self->random, step));
    }
}

/* --- Parzen estimator ------------------------------------------------------------------------ */

ST_COMPARE(compare_known, known_point, ST_RISING(worth) ST_RISING(at));

/* Known points by worth; the first `good` of them count as good. */
static size_t sort_known(st_walk *self, size_t *good)
{
    size_t count = self->known < MOST_KNOWN ? self->known : MOST_KNOWN;
    size_t passing = 0;
    for (size_t i = 0; i < count; i++) {
        self->sorted[i] =
            (known_point){.at = &self->places[i * self->dimension], .worth = self->worths[i]};
        passing += isfinite(self->worths[i]) ? 1 : 0;
    }
    qsort(self->sorted, count, sizeof *self->sorted, compare_known);
    *good = passing < FIRST_RANDOM ? 0 : (size_t)ceil(sqrt((double)passing));
    *good = *good < MOST_GOOD ? *good : MOST_GOOD;
    return count;
}

/* How dense known points are at a coordinate, as a mixture of normal distributions with an even one
 * beneath. */
static double density(const known_point *points, size_t count, size_t k, double x, double width)
{
    double sum = 1;
    for (size_t i = 0; i < count; i++)
        sum += gsl_ran_gaussian_pdf(x - points[i].at[k], width);
    return sum / (double)(count + 1);
}

/* The candidate near a good point at which good points are densest, compared with the others. */
static void draw_promising(st_walk *self, size_t count, size_t good, double *point)
{
    const double width = fmax(0.05, 0.5 / sqrt((double)good));
    double most = -(double)INFINITY;
    for (int turn = 0; turn < CANDIDATES; turn++) {
        double promise = 0;
        for (size_t k = 0; k < self->dimension; k++) {
            const known_point *near = &self->sorted[gsl_rng_uniform_int(self->random, good)];
            double x = mirror(near->at[k] + gsl_ran_gaussian(self->random, width));
            self->candidate[k] = x;
            promise += log(density(self->sorted, good, k, x, width) /
                           density(self->sorted + good, count - good, k, x, width));
        }
        if (promise > most) {
            most = promise;
            memcpy(point, self->candidate, self->dimension * sizeof *point);
        }
    }
}

/* --- generations ----------------------------------------------------------------------------- */

const double *st_walk_draw(st_walk *self)
{
    if (self->cmaes != NULL)
        return st_cmaes_draw(self->cmaes);
    size_t good = 0;
    size_t count = self->method == ST_METHOD_BAYES ? sort_known(self, &good) : 0;
    for (size_t i = 0; i < POINTS; i++) {
        double *point = &self->points[i * self->dimension];
        if (self->method == ST_METHOD_EVOLUTION) {
            /* The elites themselves come first, so that they stay as long as nothing is better. */
            size_t n = self->dimension;
            if (self->elite_count == 0)
                draw_anywhere(self, point);
            else if (i < self->elite_count)
                memcpy(point, &self->elites[i * n], n * sizeof *point);
            else
                draw_child(self, point);
        } else if (good > 0) {
            draw_promising(self, count, good, point);
        } else {
            draw_anywhere(self, point);
        }
    }
    return self->points;
}

void st_walk_tell(st_walk *self, const size_t *order, const double *worth)
{
    size_t n = self->dimension;
    if (self->cmaes != NULL) {
        st_cmaes_tell(self->cmaes, order);
        return;
    }
    size_t j = self->dimension;
    self->elite_count = 0;
    for (size_t i = 0; i < ELITES && isfinite(worth[order[i]]); i++)
        memcpy(&self->elites[self->elite_count++ * j], &self->points[order[i] * j],
               j * sizeof *self->elites);
    for (size_t i = 0; i < POINTS; i++) {
        size_t place = self->known++ % MOST_KNOWN;
        memcpy(&self->places[place * n], &self->points[i * n], n * sizeof *self->places);
        self->worths[place] = worth[i];
    }
}

bool st_walk_is_spent(const st_walk *self)
{
    const double least = 1e-3;
    return self->cmaes != NULL && st_cmaes_spread(self->cmaes) <= least;
}

bool st_walk_restart(st_walk *self)
{
    if (self->cmaes != NULL)
        return st_cmaes_restart(self->cmaes);
    self->elite_count = 0;
    self->known = 0;
    return true;
}
