/* SPDX-License-Identifier: Apache-2.0 */
/* The plans of a search against counting: each that its rules allow is there, and there once. */
#include "base_support.h"

#include "search/plans.h"

enum { MOST_PLANS = 20000, RECOMPUTES = 3 };

static const double recomputes[RECOMPUTES] = {0, 1, 2};
static const double layers = 6;
static const double batch = 12;
static const double experts = 4;
static const double none = 0;

/* Every plan parameter varies freely, recomputation over its names. */
static st_plan_request free_request(const double *gpus, size_t count)
{
    st_plan_request request = {.gpus = gpus,
                               .gpus_count = count,
                               .gpus_per_node = 8,
                               .bases = {[ST_PLAN_LAYERS] = {&layers, 1},
                                         [ST_PLAN_BATCH] = {&batch, 1},
                                         [ST_PLAN_EXPERTS] = {&experts, 1},
                                         [ST_PLAN_EXPERT_TP] = {&none, 1}}};
    for (int param = 0; param < ST_PARAMS; param++)
        request.choices[param] = (st_plan_choice){.read = true, .free = true};
    for (int param = ST_PARAM_FIRST; param <= ST_PARAM_LAST; param++)
        request.choices[param] = (st_plan_choice){.read = true, .values = &none, .count = 1};
    request.choices[ST_PARAM_RECOMPUTE].values = recomputes;
    request.choices[ST_PARAM_RECOMPUTE].count = RECOMPUTES;
    request.choices[ST_PARAM_RECOMPUTE].free = false;
    return request;
}

/* Whole numbers below 64, one behind the other. */
static uint64_t number_of(const double *values)
{
    uint64_t number = 0;
    for (int param = 0; param < ST_PARAMS; param++)
        number = number * 64 + (uint64_t)values[param];
    return number;
}

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;
    return (*a > *b) - (*a < *b);
}

static bool divides(int part, int whole)
{
    return whole % part == 0;
}

/* What docs/search.md says of plans, of one whose sizes make up the GPUs. */
static bool is_plan(const st_plan_request *request, const double *values)
{
    int tp = (int)values[ST_PARAM_TP];
    int pp = (int)values[ST_PARAM_PP];
    int dp = (int)values[ST_PARAM_DP];
    int cp = (int)values[ST_PARAM_CP];
    int chunks = (int)values[ST_PARAM_VIRTUAL];
    int ep = (int)values[ST_PARAM_EP];
    int given = (int)request->bases[ST_PLAN_EXPERT_TP].values[0];
    int inner = given > 0 ? given : tp;
    int count = (int)layers;
    bool good = pp <= count && (chunks == 1 || (pp > 1 && divides(pp * chunks, count)));
    good = good && divides((int)values[ST_PARAM_MICRO] * dp, (int)batch);
    good = good && divides(ep, (int)experts);
    good = good && (ep == 1 || divides(ep * inner, tp * cp * dp));
    good = good && (values[ST_PARAM_SEQUENCE] == 0 || tp > 1);
    return good && (values[ST_PARAM_ZERO] == 0 || dp * cp > 1);
}

typedef struct counted {
    uint64_t *numbers;
    size_t count;
} counted;

/* Within one shape: chunks, experts, micro-batches, recomputation, sequence, ZeRO. */
static void count_shape(const st_plan_request *request, double *values, counted *all)
{
    const int ends[] = {6, 4, 12, RECOMPUTES, 2, 4};
    const int firsts[] = {1, 1, 1, 0, 0, 0};
    int at[] = {1, 1, 1, 0, 0, 0};
    for (bool more = true; more;) {
        for (size_t i = 0; i < COUNT(at); i++)
            values[ST_PARAM_VIRTUAL + i] = at[i];
        if (is_plan(request, values)) {
            assert_true(all->count < MOST_PLANS);
            all->numbers[all->count++] = number_of(values);
        }
        size_t digit = COUNT(at);
        while (digit > 0 && ++at[digit - 1] == firsts[digit - 1] + ends[digit - 1]) {
            at[digit - 1] = firsts[digit - 1];
            digit--;
        }
        more = digit > 0;
    }
}

static void count_all(const st_plan_request *request, int gpus, counted *all)
{
    double values[ST_PARAMS] = {0};
    for (int tp = 1; tp <= gpus; tp++)
        for (int cp = 1; cp <= gpus; cp++)
            for (int pp = 1; pp <= gpus; pp++) {
                if (!divides(tp * cp * pp, gpus))
                    continue;
                values[ST_PARAM_NODES] = gpus > 8 ? 2 : 1;
                values[ST_PARAM_TP] = tp;
                values[ST_PARAM_CP] = cp;
                values[ST_PARAM_PP] = pp;
                values[ST_PARAM_DP] = gpus / (tp * cp * pp);
                count_shape(request, values, all);
            }
}

static void assert_plans(const st_plan_request *request)
{
    st_plans plans;
    counted all = {.numbers = calloc(MOST_PLANS, sizeof *all.numbers)};
    uint64_t *found = calloc(MOST_PLANS, sizeof *found);
    st_arena *arena = st_arena_create();
    assert_true(all.numbers != NULL && found != NULL && arena != NULL);
    assert_int_equal(st_plans_make(request, arena, &plans, NULL), ST_OK);
    for (size_t i = 0; i < request->gpus_count; i++)
        count_all(request, (int)request->gpus[i], &all);
    assert_true(all.count > 100);
    assert_int_equal(plans.count, all.count);
    for (size_t i = 0; i < all.count; i++) {
        double values[ST_PARAMS];
        st_plan_at(&plans, i, values);
        found[i] = number_of(values);
    }
    qsort(found, all.count, sizeof *found, compare);
    qsort(all.numbers, all.count, sizeof *all.numbers, compare);
    for (size_t i = 0; i < all.count; i++)
        assert_int_equal(found[i], all.numbers[i]);
    st_arena_destroy(arena);
    free(found);
    free(all.numbers);
}

TEST(every_plan_is_there_once)
{
    static const double gpus[] = {8, 12};
    st_plan_request request = free_request(gpus, COUNT(gpus));
    (void)state;
    assert_plans(&request);
}

TEST(experts_divide_the_ranks_of_a_stage)
{
    static const double gpus[] = {12};
    static const double one = 1;
    static const double two = 2;
    st_plan_request request = free_request(gpus, 1);
    (void)state;
    request.bases[ST_PLAN_EXPERT_TP].values = &two;
    assert_plans(&request);
    request.bases[ST_PLAN_EXPERT_TP].values = &one;
    assert_plans(&request);
}

/* Chunks of a balanced layout are as few as leave each 1, 2, ... layers at most, or one: of 13
 * layers on two stages 7, 4, 3 and 2, on four 4 and 2, on eight 2. */
TEST(balanced_layouts_have_few_chunks)
{
    static const double gpus = 8;
    static const double thirteen = 13;
    static const uint64_t expected[9] = {
        [1] = 1U << 1,
        [2] = 1U << 1 | 1U << 2 | 1U << 3 | 1U << 4 | 1U << 7,
        [4] = 1U << 1 | 1U << 2 | 1U << 4,
        [8] = 1U << 1 | 1U << 2,
    };
    uint64_t found[9] = {0};
    st_plan_request request = free_request(&gpus, 1);
    st_arena *arena = st_arena_create();
    st_plans plans;
    (void)state;
    request.bases[ST_PLAN_LAYERS].values = &thirteen;
    request.balanced = 2;
    assert_int_equal(st_plans_make(&request, arena, &plans, NULL), ST_OK);
    for (uint64_t i = 0; i < plans.count; i++) {
        double values[ST_PARAMS];
        st_plan_at(&plans, i, values);
        found[(size_t)values[ST_PARAM_PP]] |= UINT64_C(1) << (unsigned)values[ST_PARAM_VIRTUAL];
    }
    for (size_t pp = 1; pp <= 8; pp++)
        assert_int_equal(found[pp], expected[pp]);
    st_arena_destroy(arena);
}

/* Columns have the values of single plans, each as often as it is repeated, from anywhere on. */
TEST(columns_are_filled_from_any_plan)
{
    enum { REPEAT = 3, ROWS = 64 };
    static const double gpus[] = {8, 12};
    st_plan_request request = free_request(gpus, COUNT(gpus));
    st_arena *arena = st_arena_create();
    st_plans plans;
    double held[ST_PARAMS][ROWS];
    double *columns[ST_PARAMS];
    (void)state;
    assert_int_equal(st_plans_make(&request, arena, &plans, NULL), ST_OK);
    for (int param = 0; param < ST_PARAMS; param++)
        columns[param] = param == ST_PARAM_CP ? NULL : held[param]; /* one that nobody wants */
    for (uint64_t first = 0; first + ROWS <= plans.count * REPEAT; first += 137) {
        st_plans_fill(&plans, REPEAT, first, ROWS, columns);
        for (size_t row = 0; row < ROWS; row++) {
            double values[ST_PARAMS];
            st_plan_at(&plans, (first + row) / REPEAT, values);
            for (int param = 0; param < ST_PARAMS; param++)
                assert_true(columns[param] == NULL || columns[param][row] == values[param]);
        }
    }
    st_arena_destroy(arena);
}

/* Whatever order plans are asked for in: the next one, the same again, one far ahead, one before.
 */
TEST(a_cursor_has_the_values_of_any_plan)
{
    static const uint64_t steps[] = {1, 1, 0, 1, 389, 1, 1, 1, 0, 2, 1, 1, 1, 1, 1, 1, 1};
    static const double gpus[] = {8, 12};
    st_plan_request request = free_request(gpus, COUNT(gpus));
    st_arena *arena = st_arena_create();
    st_plans plans;
    (void)state;
    assert_int_equal(st_plans_make(&request, arena, &plans, NULL), ST_OK);
    st_plan_cursor cursor = {.plans = &plans};
    uint64_t plan = 0;
    for (size_t i = 0; i < 20000; i++) {
        double values[ST_PARAMS];
        const double *at_hand = st_plan_cursor_at(&cursor, plan);
        st_plan_at(&plans, plan, values);
        for (int param = 0; param < ST_PARAMS; param++)
            assert_true(at_hand[param] == values[param]);
        plan = (plan + steps[i % COUNT(steps)]) % plans.count;
    }
    st_arena_destroy(arena);
}

TESTS(plans);
