/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells of placement under an order of the job's own: against the formulas where the order is
 * Megatron's, against the shapes of real groups where it is another, rank by rank.
 */
#include "megatron_support.h"

#include "estimate/placement_cells.h"
#include "estimate/placement.h"

static const char *const cells[] = {"tp_per_node", "cp_per_node", "dp_per_node",
                                    "ep_per_node", "pp_crossing", "expert_dp_per_node"};

TEST_OF(megatrons_order_gives_what_the_formulas_give, fixture *own, set_up, tear_down)
{
    static const char *const jobs[] = {"gpt3-175b-1024xa100",  "megatron-530b-280xa100",
                                       "megatron-22b-8xa100",  "llama3-405b-16384xh100",
                                       "mixtral-8x7b-64xh100", "bloom-176b-384xa100"};
    for (size_t i = 0; i < COUNT(jobs); i++) {
        st_estimate formulas = estimate_of(own, jobs[i], "");
        st_estimate placed = estimate_of(own, jobs[i], "parallel.order=tp-cp-ep-dp-pp");
        assert_int_equal(placed.provider_count, formulas.provider_count + COUNT(cells));
        for (size_t k = 0; k < COUNT(cells); k++)
            assert_near(cell(&placed, cells[k]), cell(&formulas, cells[k]), 1e-15, cells[k]);
        assert_true(cell(&placed, "step_time") == cell(&formulas, "step_time"));
    }
}

typedef struct order_case {
    const char *order;
    size_t tp, cp, dp, pp, gpus_per_node;
} order_case;

static const order_case orders[] = {
    {"tp-cp-dp-pp", 4, 2, 8, 4, 8},  {"dp-tp-pp-cp", 4, 2, 8, 4, 8}, {"pp-tp-cp-dp", 4, 2, 8, 4, 8},
    {"cp-pp-dp-tp", 2, 4, 2, 16, 8}, {"pp-dp-tp", 2, 1, 4, 32, 8},   {"dp-pp-tp", 8, 1, 2, 8, 4},
    {"tp-pp-dp", 8, 1, 16, 8, 16},   {"tp-dp-pp", 2, 1, 2, 2, 8},    {"pp-tp-dp", 2, 1, 16, 8, 32},
    {"dp-cp-tp-pp", 2, 8, 4, 2, 1},  {"tp-pp-dp", 4, 1, 2, 4, 8},
};

static st_estimate place(fixture *own, const order_case *one)
{
    return estimate_of(
        own, "gpt3-175b-1024xa100",
        st_arena_printf(own->arena,
                        "parallel.order=%s parallel.tp=%zu parallel.cp=%zu parallel.dp=%zu "
                        "parallel.pp=%zu cluster.gpus_per_node=%zu batch.global=1024 "
                        "cluster.nodes=1024 cluster.gpu.memory=99999~GiB model.layers=96",
                        one->order, one->tp, one->cp, one->dp, one->pp, one->gpus_per_node));
}

static st_placement placement_of(fixture *own, const order_case *one)
{
    st_placement placement;
    const st_placement_plan plan = {
        .size = {[ST_GROUP_TP] = one->tp,
                 [ST_GROUP_CP] = one->cp,
                 [ST_GROUP_EP] = 1,
                 [ST_GROUP_DP] = one->dp,
                 [ST_GROUP_PP] = one->pp,
                 [ST_GROUP_EMBEDDING] = 1},
        .gpus_per_node = one->gpus_per_node,
        .order = one->order,
    };
    assert_int_equal(st_placement_create(&plan, &placement, own->errors), ST_OK);
    return placement;
}

/* Of all links between neighbouring stages, those between nodes; rank by rank. */
static double crossing_of(const st_placement *placement)
{
    size_t links = 0;
    size_t crossing = 0;
    size_t stride = placement->stride[ST_GROUP_PP];
    for (size_t rank = 0; rank < placement->ranks; rank++) {
        if (rank / stride % placement->size[ST_GROUP_PP] + 1 == placement->size[ST_GROUP_PP])
            continue;
        links++;
        crossing += rank / placement->gpus_per_node != (rank + stride) / placement->gpus_per_node;
    }
    return links > 0 ? (double)crossing / (double)links : 0;
}

/* Ranks with the same tensor-parallel rank and stage, on the node of rank 0. */
static double reducers_on_first_node(const st_placement *placement)
{
    size_t count = 0;
    for (size_t rank = 0; rank < placement->gpus_per_node && rank < placement->ranks; rank++) {
        size_t tp = rank / placement->stride[ST_GROUP_TP] % placement->size[ST_GROUP_TP];
        size_t pp = rank / placement->stride[ST_GROUP_PP] % placement->size[ST_GROUP_PP];
        count += tp == 0 && pp == 0;
    }
    return (double)count;
}

TEST_OF(other_orders_give_what_real_groups_look_like, fixture *own, set_up, tear_down)
{
    for (size_t i = 0; i < COUNT(orders); i++) {
        st_estimate estimate = place(own, &orders[i]);
        st_placement placement = placement_of(own, &orders[i]);
        const char *order = orders[i].order;
        assert_near(cell(&estimate, "tp_per_node"),
                    (double)st_placement_shape(&placement, ST_GROUP_TP, 0).most_per_node, 0, order);
        assert_near(cell(&estimate, "cp_per_node"),
                    (double)st_placement_shape(&placement, ST_GROUP_CP, 0).most_per_node, 0, order);
        assert_near(cell(&estimate, "dp_per_node"), reducers_on_first_node(&placement), 0, order);
        assert_near(cell(&estimate, "pp_crossing"), crossing_of(&placement), 1e-12, order);
    }
}

/* In Megatron's order experts lie side by side, whatever tensor parallelism the rest has. */
TEST_OF(experts_take_their_ranks_from_the_data_parallel_ones, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *plan;
        double ep, expert_dp;
    } cases[] = {
        {"parallel.order=tp-dp-pp", 8, 1},
        {"parallel.order=pp-tp-dp", 2, 1},
        {"parallel.order=tp-pp-dp", 2, 1},
        {"parallel.order=tp-dp-pp parallel.ep=4", 4, 2},
        {"parallel.order=tp-dp-pp parallel.tp=2 parallel.expert_tp=2 parallel.ep=4", 4, 1},
        {"parallel.order=dp-tp-pp parallel.tp=2 parallel.expert_tp=2 parallel.ep=4", 4, 2},
        {"parallel.order=tp-dp-pp parallel.tp=4 parallel.expert_tp=1", 8, 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate estimate = estimate_of(
            own, "mixtral-8x7b-64xh100",
            st_arena_printf(own->arena, "cluster.nodes=99 cluster.gpu.memory=999~GiB %s",
                            cases[i].plan));
        assert_near(cell(&estimate, "ep_per_node"), cases[i].ep, 0, cases[i].plan);
        assert_near(cell(&estimate, "expert_dp_per_node"), cases[i].expert_dp, 0, cases[i].plan);
    }
}

/* Tensor parallelism over the network costs what one expects. */
TEST_OF(an_order_moves_the_time, fixture *own, set_up, tear_down)
{
    st_estimate near = estimate_of(own, "gpt3-175b-1024xa100", "");
    st_estimate far = estimate_of(own, "gpt3-175b-1024xa100", "parallel.order=dp-tp-pp");
    assert_true(cell(&far, "time_tp") > 5 * cell(&near, "time_tp"));
    assert_true(cell(&far, "time_dp") < cell(&near, "time_dp"));
    assert_true(cell(&far, "memory") == cell(&near, "memory"));
    assert_string_equal(far.providers[0]->source, "rank order dp-tp-pp");
}

TEST_OF(orders_that_do_not_suit_the_plan_are_refused, fixture *own, set_up, tear_down)
{
    static const char *const cases[][2] = {
        {"parallel.order=tp-dp", "omits 'pp' (8 ranks)"},
        {"parallel.order=tp-tp", "duplicate group in parallel.order"},
        {"parallel.order=tp-xp", "unknown group in parallel.order"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate estimate;
        assert_int_not_equal(try_estimate(own, "gpt3-175b-1024xa100", cases[i][0], &estimate),
                             ST_OK);
        const char *text = said(own);
        if (strstr(text, cases[i][1]) == NULL)
            fail_msg("%s: %s", cases[i][0], text);
    }
    (void)estimate_of(own, "megatron-22b-8xa100", "parallel.order=tp"); /* the rest has one rank */
}

TEST_OF(a_sheet_without_placement_warns_of_an_order, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    assert_int_equal(try_estimate(own, "bert-large-32x3090", "parallel.order=tp-dp-pp", &estimate),
                     ST_OK);
    assert_string_equal(said(own),
                        "--set parallel.order=tp-dp-pp: warning: parallel.order has no effect on "
                        "the estimate: sheet ddp has no placement roles\n");
    assert_int_equal(try_estimate(own, "bert-large-32x3090", "", &estimate), ST_OK);
    assert_string_equal(said(own), "");
}

/* A cell that the sheet keeps closed, or that lacks what it depends on, stays the sheet's. */
TEST_OF(only_open_cells_are_provided, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    static const char head[] =
        "sheet: mine\ninputs:\n"
        "  t: {from: parallel.tp, doc: x}\n  cp: {from: parallel.cp, doc: x}\n"
        "  d: {from: parallel.dp, doc: x}\n  p: {from: parallel.pp, doc: x}\n"
        "  ep: {from: parallel.ep, doc: x}\n"
        "  G: {from: cluster.gpus_per_node, doc: x}\ncells:\n";
    static const char roles[] = "roles:\n  tp: t\n  dp: d\n  tp_per_node: tp_per_node\n"
                                "  dp_per_node: dp_per_node\n";
    write_text(
        own, "configs/jobs/job.yaml",
        "sheet: mine\nparallel: {tp: 4, dp: 8, order: dp-tp}\ncluster: {gpus_per_node: 8}\n");
    write_text(
        own, "formulas/mine.yaml",
        st_arena_printf(own->arena,
                        "%s  etp: {is: t + cp + d + p + ep + G, doc: x}\n"
                        "  tp_per_node: {is: 2.385, doc: x}\n"
                        "  dp_per_node: {open: true, is: 2.385, doc: x}\n%s  gpus_per_node: G\n",
                        head, roles));
    assert_int_equal(try_estimate(own, "job", "", &estimate), ST_OK);
    assert_int_equal(estimate.provider_count, 1);
    assert_true(cell(&estimate, "tp_per_node") == 2.385);
    assert_true(cell(&estimate, "dp_per_node") == 8);
    write_text(own, "formulas/mine.yaml",
               st_arena_printf(own->arena,
                               "%s  x: {is: t + cp + d + p + ep + G, doc: x}\n"
                               "  tp_per_node: {is: 2.385, doc: x}\n"
                               "  dp_per_node: {open: true, is: 2.385, doc: x}\n%s",
                               head, roles));
    assert_int_equal(try_estimate(own, "job", "", &estimate), ST_OK);
    assert_true(cell(&estimate, "dp_per_node") == 2.385);
    assert_non_null(strstr(said(own), "has no placement roles"));
}

TESTS(cells);
