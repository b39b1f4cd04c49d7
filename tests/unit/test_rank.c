/* SPDX-License-Identifier: Apache-2.0 */
/* Rankings and fronts against plain definitions, whatever the order in which plans come. */
#include "search/rank.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { PLANS = 60, TOP = 7, ROUNDS = 50 };

typedef struct fixture {
    st_arena *arena;
    st_found plans[PLANS];
    uint64_t seed;
} fixture;

static uint64_t next_random(fixture *self)
{
    self->seed = self->seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return self->seed >> 33;
}

static int set_up(void **state)
{
    static fixture self;
    self = (fixture){.arena = st_arena_create(), .seed = 2385};
    *state = &self;
    return self.arena != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    st_arena_destroy(((fixture *)*state)->arena);
    return 0;
}

/* Few different values, so that many are equal in one cell or in both. */
static void draw(fixture *self)
{
    for (size_t i = 0; i < PLANS; i++) {
        double first = (double)(next_random(self) % 9) + 0.385;
        double second = (double)(next_random(self) % 9) + 0.2385;
        self->plans[i] = (st_found){.row = i, .goal = first + second, .front = {first, second}};
    }
    for (size_t i = PLANS - 1; i > 0; i--) {
        size_t j = next_random(self) % (i + 1);
        st_found one = self->plans[i];
        self->plans[i] = self->plans[j];
        self->plans[j] = one;
    }
}

static void make(fixture *self, st_results *results)
{
    assert_true(st_results_make(results, TOP, true, 1, self->arena));
}

/* One beats another that is nowhere better and somewhere worse; of equal ones the first row stays.
 */
static bool beats(const st_found *one, const st_found *other)
{
    if (one->front[0] > other->front[0] || one->front[1] > other->front[1])
        return false;
    return one->front[0] < other->front[0] || one->front[1] < other->front[1] ||
           one->row < other->row;
}

static bool is_in_front(const fixture *self, const st_found *one)
{
    for (size_t i = 0; i < PLANS; i++)
        if (beats(&self->plans[i], one))
            return false;
    return true;
}

static void expect_front(const fixture *self, const st_results *results)
{
    size_t expected = 0;
    for (size_t i = 0; i < PLANS; i++)
        expected += is_in_front(self, &self->plans[i]) ? 1 : 0;
    assert_int_equal(results->front_count, expected);
    for (size_t i = 0; i < results->front_count; i++) {
        assert_true(is_in_front(self, &results->front[i]));
        if (i > 0) {
            assert_true(results->front[i - 1].front[0] < results->front[i].front[0]);
            assert_true(results->front[i - 1].front[1] > results->front[i].front[1]);
        }
    }
}

TEST_OF(a_front_is_what_no_plan_beats, fixture *self, set_up, tear_down)
{
    for (int round = 0; round < ROUNDS; round++) {
        st_results results;
        make(self, &results);
        draw(self);
        for (size_t i = 0; i < PLANS; i++)
            st_rank_add_front(&results, &self->plans[i]);
        expect_front(self, &results);
    }
}

TEST_OF(fronts_join_to_the_front_of_all, fixture *self, set_up, tear_down)
{
    for (int round = 0; round < ROUNDS; round++) {
        st_results both[2];
        draw(self);
        for (int half = 0; half < 2; half++) {
            make(self, &both[half]);
            for (size_t i = (size_t)half; i < PLANS; i += 2)
                st_rank_add_front(&both[half], &self->plans[i]);
        }
        st_results_merge(&both[0], &both[1]);
        expect_front(self, &both[0]);
    }
}

/* Each of the cases of two plans, in both orders. */
TEST_OF(two_plans_keep_who_is_not_beaten, fixture *self, set_up, tear_down)
{
    static const struct {
        double first[2], second[2];
        size_t kept;
    } cases[] = {
        {{2.385, 5.5}, {3.385, 4.5}, 2}, /* each is better in one */
        {{2.385, 4.5}, {3.385, 5.5}, 1}, {{2.385, 4.5}, {2.385, 5.5}, 1},
        {{2.385, 4.5}, {3.385, 4.5}, 1}, {{2.385, 4.5}, {2.385, 4.5}, 1},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        const double *a = cases[i / 2].first;
        const double *b = cases[i / 2].second;
        st_found pair[] = {{.row = 11, .front = {a[0], a[1]}}, {.row = 23, .front = {b[0], b[1]}}};
        st_results results;
        make(self, &results);
        st_rank_add_front(&results, &pair[i % 2]);
        st_rank_add_front(&results, &pair[1 - i % 2]);
        assert_int_equal(results.front_count, cases[i / 2].kept);
        assert_int_equal(results.front[0].row, 11);
    }
}

TEST_OF(a_ranking_has_the_least_goals_in_order, fixture *self, set_up, tear_down)
{
    for (int round = 0; round < ROUNDS; round++) {
        st_results results;
        make(self, &results);
        draw(self);
        assert_null(st_rank_worst(&results));
        for (size_t i = 0; i < PLANS; i++)
            st_rank_add(&results, &self->plans[i]);
        assert_int_equal(results.ranking_count, TOP);
        assert_ptr_equal(st_rank_worst(&results), &results.ranking[TOP - 1]);
        for (size_t at = 0; at < TOP; at++) {
            size_t before = 0;
            const st_found *one = &results.ranking[at];
            for (size_t i = 0; i < PLANS; i++) {
                const st_found *other = &self->plans[i];
                before +=
                    other->goal < one->goal || (other->goal == one->goal && other->row < one->row)
                        ? 1
                        : 0;
            }
            assert_int_equal(before, at);
        }
    }
}

TEST_OF(the_nearest_fails_least_and_needs_least, fixture *self, set_up, tear_down)
{
    st_results results;
    make(self, &results);
    assert_false(results.has_nearest);
    st_rank_add_nearest(&results, 31, 2, 0.385);
    st_rank_add_nearest(&results, 29, 1, 2.385);
    st_rank_add_nearest(&results, 30, 1, 2.385);
    st_rank_add_nearest(&results, 41, 1, 3.385);
    assert_true(results.has_nearest);
    assert_int_equal(results.nearest.row, 29);
    st_rank_add_nearest(&results, 28, 1, 2.385);
    assert_int_equal(results.nearest.row, 28);
    st_rank_add_nearest(&results, 43, 1, 1.385);
    assert_int_equal(results.nearest.row, 43);
    st_rank_add_nearest(&results, 7, 3, 0.2);
    assert_int_equal(results.nearest.row, 43);
}

TESTS(rank);
