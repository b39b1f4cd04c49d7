/* SPDX-License-Identifier: Apache-2.0 */
/* Walks through the unit cube: all but the random one get nearer to what is best. */
#include "search/guided/walks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DIMENSION = 3, GENERATIONS = 40, MOST_POINTS = 1024 };

/* Distance to (0.2385, 0.6137, 0.4071); a corner of the cube fails. */
static double worth_of(const double *point)
{
    static const double best[DIMENSION] = {0.2385, 0.6137, 0.4071};
    double sum = 0;
    for (size_t k = 0; k < DIMENSION; k++)
        sum += (point[k] - best[k]) * (point[k] - best[k]);
    return point[0] > 0.7 && point[1] > 0.7 ? (double)INFINITY : sqrt(sum);
}

static const double *worths;

static int compare(const void *a, const void *b)
{
    double first = worths[*(const size_t *)a];
    double second = worths[*(const size_t *)b];
    return first < second ? -1 : first > second ? 1 : 0;
}

/* The mean worth of the points of the last generation that pass. */
static double walk(st_method method, uint64_t seed)
{
    static double worth[MOST_POINTS];
    static size_t order[MOST_POINTS];
    double mean = 0;
    st_walk *self = st_walk_create(method, DIMENSION, seed);
    assert_non_null(self);
    for (int generation = 0; generation < GENERATIONS; generation++) {
        size_t count = st_walk_count(self);
        size_t passing = 0;
        assert_true(count > 0 && count <= MOST_POINTS);
        const double *points = st_walk_draw(self);
        mean = 0;
        for (size_t i = 0; i < count; i++) {
            for (size_t k = 0; k < DIMENSION; k++)
                assert_true(points[i * DIMENSION + k] >= 0 && points[i * DIMENSION + k] <= 1);
            worth[i] = worth_of(&points[i * DIMENSION]);
            order[i] = i;
            mean += isfinite(worth[i]) ? worth[i] : 0;
            passing += isfinite(worth[i]) ? 1 : 0;
        }
        mean /= (double)passing;
        worths = worth;
        qsort(order, count, sizeof *order, compare);
        st_walk_tell(self, order, worth);
    }
    st_walk_destroy(self);
    return mean;
}

TEST(walks_get_nearer)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        double by_chance = walk(ST_METHOD_RANDOM, seed);
        assert_true(by_chance > 0.3 && by_chance < 0.8);
        assert_true(walk(ST_METHOD_CMAES, seed) < by_chance / 4);
        assert_true(walk(ST_METHOD_EVOLUTION, seed) < by_chance / 2);
        assert_true(walk(ST_METHOD_BAYES, seed) < by_chance / 1.5);
    }
}

TEST(a_seed_repeats_a_walk)
{
    for (int method = ST_METHOD_CMAES; method <= ST_METHOD_BAYES; method++) {
        double first = walk((st_method)method, 2385);
        double again = walk((st_method)method, 2385);
        double other = walk((st_method)method, 2386);
        assert_true(first == again);
        assert_true(first != other);
    }
}

TESTS(walk);
