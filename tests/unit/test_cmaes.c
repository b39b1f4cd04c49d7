/* SPDX-License-Identifier: Apache-2.0 */
/* CMA-ES on functions whose least value is known, and the lattice of plans. */
#include "job_support.h"

#include "search/guided/cmaes.h"
#include "search/guided/lattice.h"

#include <math.h>

enum { DIMENSION = 6, MOST = 4096 };

typedef double function(const double *point);

/* An ellipse whose axes differ by a thousand, turned by 45 degrees in its first two coordinates. */
static double ellipse(const double *point)
{
    static const double centre[DIMENSION] = {0.2385, 0.61, 0.77, 0.432, 0.5191, 0.35};
    double sum = 0;
    for (size_t i = 0; i < DIMENSION; i++) {
        double x = point[i] - centre[i];
        if (i < 2) {
            double other = point[1 - i] - centre[1 - i];
            x = i == 0 ? x + other : x - other;
        }
        sum += pow(1000, (double)i / (DIMENSION - 1)) * x * x;
    }
    return sum;
}

/* The least value lies in a corner of the cube. */
static double corner(const double *point)
{
    double sum = 0;
    for (size_t i = 0; i < DIMENSION; i++)
        sum += i % 2 == 0 ? point[i] : 1 - point[i];
    return sum;
}

static void order_points(const double *points, size_t count, function *value, size_t *order)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at > 0 && value(points + order[at - 1] * DIMENSION) > value(points + i * DIMENSION);
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static double run_walk(function *value, size_t generations, uint64_t seed)
{
    static size_t order[MOST];
    st_cmaes *walk = st_cmaes_create(DIMENSION, seed);
    double best = HUGE_VAL;
    assert_non_null(walk);
    for (size_t i = 0; i < generations; i++) {
        size_t count = st_cmaes_count(walk);
        const double *points = st_cmaes_draw(walk);
        for (size_t k = 0; k < count * DIMENSION; k++)
            assert_true(points[k] >= 0 && points[k] <= 1);
        order_points(points, count, value, order);
        best = fmin(best, value(points + order[0] * DIMENSION));
        st_cmaes_tell(walk, order);
    }
    st_cmaes_destroy(walk);
    return best;
}

TEST(walks_find_the_least_value)
{
    for (uint64_t seed = 0; seed < 5; seed++) {
        double found = run_walk(ellipse, 300, seed);
        if (!(found < 1e-8))
            fail_msg("seed %d: the least value of an ellipse is 0, not %g", (int)seed, found);
        found = run_walk(corner, 400, seed);
        if (!(found < 0.02))
            fail_msg("seed %d: the least value in a corner is 0, not %g", (int)seed, found);
    }
}

TEST(seeds_tell_walks_apart)
{
    assert_true(run_walk(ellipse, 12, 7) == run_walk(ellipse, 12, 7));
    assert_true(run_walk(ellipse, 12, 7) != run_walk(ellipse, 12, 8));
}

TEST(restarts_draw_more_points_up_to_a_limit)
{
    st_cmaes *walk = st_cmaes_create(DIMENSION, 2385);
    assert_non_null(walk);
    size_t first = st_cmaes_count(walk);
    assert_int_equal(first, 4 + (size_t)(3 * log(DIMENSION)));
    double spread = st_cmaes_spread(walk);
    for (size_t i = 0; i < 9; i++)
        assert_true(st_cmaes_restart(walk));
    assert_int_equal(st_cmaes_count(walk), 64 * first);
    assert_true(st_cmaes_spread(walk) == spread);
    st_cmaes_destroy(walk);
    st_cmaes_destroy(NULL);
}

/* Every plan of a search is a point: drawn often enough, points give all of them and no other. */
TEST_OF(points_are_plans, fixture *own, set_up, tear_down)
{
    static const char *const varies[] = {"parallel.tp", "parallel.pp", "batch.micro=1,2,4",
                                         "cluster.price=1.5 $/h,2.385 $/h"};
    st_search_request request = {.space = {.job = "gpt3-175b-64xa100"},
                                 .gpus = "8,64",
                                 .only = varies,
                                 .only_count = 4,
                                 .top = 1};
    st_search *search = NULL;
    if (st_search_create(own->paths, &request, own->arena, &search, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    st_lattice lattice = st_lattice_make(search);
    bool seen[1000] = {false};
    uint64_t state_of_random = 2385;
    uint64_t found = 0;
    assert_true(search->rows > 30 && search->rows < 1000);
    assert_int_equal(lattice.dimension, 5); /* GPUs, tp, pp, micro, price */
    for (size_t i = 0; i < 200000; i++) {
        double point[ST_LATTICE_MOST] = {0};
        for (size_t k = 0; k < lattice.dimension; k++) {
            state_of_random = state_of_random * 6364136223846793005U + 1442695040888963407U;
            point[k] = (double)(state_of_random >> 11) * 0x1p-53;
        }
        uint64_t row = st_lattice_row(&lattice, point);
        assert_true(row < search->rows);
        found += seen[row] ? 0 : 1;
        seen[row] = true;
    }
    assert_int_equal(found, search->rows);
    double ends[ST_LATTICE_MOST] = {1, 1, 1, 1, 1};
    assert_int_equal(st_lattice_row(&lattice, ends), search->rows - 1);
    memset(ends, 0, sizeof ends);
    assert_int_equal(st_lattice_row(&lattice, ends), 0);
}

TESTS(cmaes);
