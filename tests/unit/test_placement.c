/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of groups against counting, the paper's two maps, flows against their sums. */
#include "estimate/placement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static st_placement make(size_t tp, size_t cp, size_t dp, size_t pp, size_t per_node,
                         const char *order)
{
    st_placement placement;
    st_placement_plan plan = {
        .size = {tp, cp, 1, dp, pp, 0}, .gpus_per_node = per_node, .order = order};
    assert_int_equal(st_placement_create(&plan, &placement, NULL), ST_OK);
    return placement;
}

/* --- the paper's maps: (p, t, d) = (4, 2, 4) on four machines of eight GPUs --------------------
 */

TEST(default_map_keeps_tp_and_dp_inside_machines)
{
    st_placement placement = make(2, 1, 4, 4, 8, "tp-dp-pp"); /* Figure 3 */
    assert_int_equal(placement.ranks, 32);
    assert_int_equal(st_placement_shape(&placement, ST_GROUP_TP, 13).nodes, 1);
    assert_int_equal(st_placement_shape(&placement, ST_GROUP_DP, 13).nodes, 1);
    assert_int_equal(st_placement_shape(&placement, ST_GROUP_DP, 13).first_rank, 9);
    assert_int_equal(st_placement_shape(&placement, ST_GROUP_PP, 13).nodes, 4);
    assert_int_equal(placement.stride[ST_GROUP_PP], 8);
    assert_int_equal(st_placement_sharing(&placement, ST_GROUP_PP), 8);
    assert_int_equal(st_placement_sharing(&placement, ST_GROUP_DP), 0);
}

TEST(customised_map_keeps_tp_and_pp_inside_machines)
{
    st_placement placement = make(2, 1, 4, 4, 8, "tp-pp-dp"); /* Figure 12 */
    assert_int_equal(st_placement_shape(&placement, ST_GROUP_TP, 13).nodes, 1);
    assert_int_equal(st_placement_shape(&placement, ST_GROUP_PP, 13).nodes, 1);
    assert_int_equal(st_placement_shape(&placement, ST_GROUP_DP, 13).nodes, 4);
    assert_int_equal(st_placement_shape(&placement, ST_GROUP_DP, 13).first_rank, 5);
    assert_int_equal(st_placement_sharing(&placement, ST_GROUP_DP), 8);
}

/* Groups of a machine that leave it share its NICs: as many as there are members of one of them. */
TEST(groups_that_leave_a_machine_share_its_nics)
{
    st_placement placement = make(2, 1, 12, 2, 8, "tp-dp-pp"); /* four data ranks a machine */
    assert_int_equal(st_placement_sharing(&placement, ST_GROUP_TP), 0);
    assert_int_equal(st_placement_sharing(&placement, ST_GROUP_DP), 2);
    assert_int_equal(st_placement_sharing(&placement, ST_GROUP_PP), 8);
    placement = make(1, 1, 2, 6, 8, "dp-pp"); /* 8 ranks on a machine, 4 on the other */
    assert_int_equal(st_placement_sharing(&placement, ST_GROUP_PP), 2);
    assert_int_equal(st_placement_sharing(&placement, ST_GROUP_DP), 0);
}

/* --- shapes against counting ----------------------------------------------------------------- */

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return *seed >> 33;
}

/* The place of a rank in every group, from its number alone. */
static void coordinates(const char *order, const size_t *size, size_t rank, size_t *where)
{
    memset(where, 0, ST_GROUPS * sizeof(*where));
    for (const char *word = order; *word != '\0'; word += word[2] == '-' ? 3 : 2) {
        for (st_group group = ST_GROUP_TP; group < ST_GROUP_EMBEDDING; group++) {
            if (group != ST_GROUP_EP && memcmp(word, st_group_name(group), 2) == 0) {
                where[group] = rank % size[group];
                rank /= size[group];
            }
        }
    }
}

/* The place of a rank where experts fold the ranks of a stage: no cp, ep and expert_dp for dp. */
static void fold(const char *order, const st_placement *placement, size_t rank, size_t *where)
{
    memset(where, 0, ST_GROUPS * sizeof(*where));
    for (const char *word = order; *word != '\0'; word += word[2] == '-' ? 3 : 2) {
        static const st_group axes[][2] = {
            {ST_GROUP_TP, ST_GROUPS}, {ST_GROUP_PP, ST_GROUPS}, {ST_GROUP_EP, ST_GROUP_EXPERT_DP}};
        const char *names[] = {"tp", "pp", "dp"};
        for (size_t i = 0; i < 3; i++) {
            for (size_t j = 0; j < 2 && memcmp(word, names[i], 2) == 0; j++) {
                if (axes[i][j] == ST_GROUPS)
                    continue;
                where[axes[i][j]] = rank % placement->size[axes[i][j]];
                rank /= placement->size[axes[i][j]];
            }
        }
    }
}

static bool same_group(const size_t *a, const size_t *b, st_group group)
{
    bool same = true;
    for (st_group other = ST_GROUP_TP; other < ST_GROUPS; other++)
        same = same && (other == group || a[other] == b[other]);
    return same;
}

static void count_shape(const st_placement *placement, const char *order, st_group group,
                        size_t rank, st_group_shape *shape)
{
    size_t mine[ST_GROUPS];
    size_t other[ST_GROUPS];
    size_t on_node[4096] = {0};
    *shape = (st_group_shape){.first_rank = SIZE_MAX};
    bool folded = group == ST_GROUP_EP || group == ST_GROUP_EXPERT_DP;
    coordinates(order, placement->size, rank, mine);
    if (folded)
        fold(order, placement, rank, mine);
    for (size_t i = 0; i < placement->ranks; i++) {
        coordinates(order, placement->size, i, other);
        if (folded)
            fold(order, placement, i, other);
        if (!same_group(mine, other, group))
            continue;
        size_t *count = &on_node[i / placement->gpus_per_node];
        shape->first_rank = i < shape->first_rank ? i : shape->first_rank;
        shape->ranks++;
        shape->nodes += *count == 0 ? 1 : 0;
        (*count)++;
        shape->most_per_node = *count > shape->most_per_node ? *count : shape->most_per_node;
    }
}

TEST(shapes_agree_with_counting)
{
    static const char *const orders[] = {"tp-cp-ep-dp-pp", "tp-dp-pp-cp", "pp-tp-cp-dp",
                                         "dp-cp-tp-pp", "cp-pp-dp-tp"};
    const char *text = getenv("STEPTIME_SEED");
    uint64_t seed = text == NULL ? 2385 : strtoull(text, NULL, 10);
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 400; round++) {
        size_t number = next_random(&seed) % 5;
        const char *order = orders[number];
        size_t ep = 1 + next_random(&seed) % 4;
        st_placement_plan plan = {.size = {1 + next_random(&seed) % 6, 1 + next_random(&seed) % 4,
                                           ep, ep * (1 + next_random(&seed) % 4),
                                           1 + next_random(&seed) % 6, 0},
                                  .gpus_per_node = 1 + next_random(&seed) % 11,
                                  .order = order};
        st_placement placement;
        st_status status = st_placement_create(&plan, &placement, NULL);
        bool apart = number == 1 || number == 4; /* cp and dp lie on both sides of pp */
        bool good = !apart || ep == 1 || plan.size[ST_GROUP_CP] == 1 || plan.size[ST_GROUP_PP] == 1;
        assert_int_equal(status, good ? ST_OK : ST_ERR_VALUE);
        for (st_group group = ST_GROUP_TP; group < ST_GROUPS && good; group++) {
            if (group == ST_GROUP_EMBEDDING || (group == ST_GROUP_EXPERT_DP && apart))
                continue;
            size_t rank = next_random(&seed) % placement.ranks;
            st_group_shape counted;
            count_shape(&placement, order, group, rank, &counted);
            st_group_shape shape = st_placement_shape(&placement, group, rank);
            assert_int_equal(shape.first_rank, counted.first_rank);
            assert_int_equal(shape.ranks, counted.ranks);
            assert_int_equal(shape.nodes, counted.nodes);
            assert_int_equal(shape.most_per_node, counted.most_per_node);
            st_group_shape first = st_placement_shape(&placement, group, 0);
            if (st_placement_is_even(&placement, group) &&
                placement.ranks % placement.gpus_per_node == 0) {
                assert_int_equal(shape.nodes, first.nodes);
                assert_int_equal(shape.most_per_node, first.most_per_node);
            }
        }
    }
}

/* --- flows ----------------------------------------------------------------------------------- */

typedef struct sums {
    uint64_t bytes[ST_GROUPS];
    size_t flows;
    size_t stop_after;
} sums;

static bool add(void *context, const st_flow *flow)
{
    sums *total = context;
    assert_int_not_equal(flow->source, flow->target);
    assert_true(flow->bytes > 0);
    total->bytes[flow->group] += flow->bytes;
    total->flows++;
    return total->flows != total->stop_after;
}

TEST(flows_sum_up_to_the_closed_form)
{
    static const uint64_t sent[4][ST_GROUPS] = {
        {89128960001, 7919, 104729, 1554984000, 1048576000, 33333, 7777777},
        {79128960003, 6919, 94729, 1254984000, 1048576000, 0, 6777777},
        {79128960005, 5919, 84729, 1254984001, 1048576000, 0, 5777777},
        {99128960001, 4919, 74731, 1654984000, 1048576000, 33333, 4777777}};
    st_traffic traffic = {.sent_bytes = sent, .around_bytes = 238500001, .expert_load = 2.385};
    for (size_t pp = 1; pp <= 4; pp++) {
        st_placement_plan plan = {.size = {2, 3, 5, 10, pp},
                                  .expert_tp = 4,
                                  .gpus_per_node = 8,
                                  .order = "tp-cp-ep-dp-pp"};
        st_placement placement;
        sums total = {0};
        assert_int_equal(st_placement_create(&plan, &placement, NULL), ST_OK);
        st_traffic_visit(&placement, &traffic, add, &total);
        for (st_group group = ST_GROUP_TP; group < ST_GROUPS; group++) {
            assert_true(total.bytes[group] == st_traffic_total_bytes(&placement, &traffic, group));
        }
        assert_true((total.bytes[ST_GROUP_PP] > 0) == (pp > 1));
        assert_true((total.bytes[ST_GROUP_EMBEDDING] > 0) == (pp > 1));
    }
}

/* Groups of two or three of five ranks that hand tokens on, the last of them smaller; a ring. */
TEST(forwarded_tokens_sum_up_to_the_closed_form)
{
    static const uint64_t sent[2][ST_GROUPS] = {{[ST_GROUP_EP] = 7919}, {[ST_GROUP_EP] = 104729}};
    static const st_token_bytes tokens[3][2] = {
        {{104729, 94731}, {84729, 0}}, {{0, 74731}, {7919, 6919}}, {{0, 0}, {0, 0}}};
    for (size_t i = 0; i < 3; i++)
        for (size_t joined = 1; joined <= 5; joined++) {
            st_placement_plan plan = {.size = {2, 1, 5, 10, 2}, .gpus_per_node = 8};
            st_placement placement;
            assert_int_equal(st_placement_create(&plan, &placement, NULL), ST_OK);
            st_traffic traffic = {.sent_bytes = sent,
                                  .token_bytes = tokens[i],
                                  .experts_joined = joined,
                                  .expert_load = 2.385};
            sums total = {0};
            st_traffic_visit(&placement, &traffic, add, &total);
            assert_true(total.bytes[ST_GROUP_EP] > 0);
            assert_true(total.bytes[ST_GROUP_EP] ==
                        st_traffic_total_bytes(&placement, &traffic, ST_GROUP_EP));
        }
}

TEST(a_walk_may_stop)
{
    st_placement placement = make(2, 1, 4, 4, 8, NULL);
    static const uint64_t sent[8][ST_GROUPS] = {{5, 5, 5, 5, 5, 5, 5}};
    st_traffic traffic = {.sent_bytes = sent};
    sums total = {.stop_after = 7};
    st_traffic_visit(&placement, &traffic, add, &total);
    assert_int_equal(total.flows, 7);
}

/* --- what is refused ------------------------------------------------------------------------- */

static void expect_refusal(const st_placement_plan *plan, const char *fragment)
{
    st_errors *errors = st_errors_create();
    st_placement placement;
    assert_int_equal(st_placement_create(plan, &placement, errors), ST_ERR_VALUE);
    assert_non_null(strstr(st_errors_at(errors, 0)->message, fragment));
    st_errors_destroy(errors);
}

TEST(senseless_plans_are_refused)
{
    st_placement_plan plan = {.size = {2, 1, 1, 4, 4, 0}, .gpus_per_node = 8};
    plan.order = "tp-dp-xp";
    expect_refusal(&plan, "unexpected 'xp'");
    plan.order = "tp-dp-tp-pp";
    expect_refusal(&plan, "unexpected 'tp'");
    plan.order = "tp--dp-pp";
    expect_refusal(&plan, "unexpected '' in");
    plan.order = "tp-dp";
    expect_refusal(&plan, "omits 'pp'");
    plan.order = NULL;
    plan.size[ST_GROUP_EP] = 3;
    expect_refusal(&plan, "do not divide the 8 ranks of a stage");
    plan.size[ST_GROUP_EP] = 1;
    plan.gpus_per_node = 0;
    expect_refusal(&plan, "have no GPUs");
    plan.gpus_per_node = 8;
    plan.size[ST_GROUP_DP] = 0;
    expect_refusal(&plan, "0 ranks");
    plan.size[ST_GROUP_DP] = 90000000;
    expect_refusal(&plan, "too many ranks");
}

TESTS(placement);
