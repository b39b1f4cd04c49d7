/* SPDX-License-Identifier: Apache-2.0 */
/* Channels, lines and chunks against what NCCL 2.22.3 computes for common
 * machines. */
#include "nccl_support.h"

/* ---- what the search finds ---- */

TEST(channels_of_common_machines)
{
    static const struct {
        const st_nccl_machine *machine;
        double nodes, per_node, channels, rate, total;
    } cases[] = {
        {&a100, 1, 8, 12, 20, 24}, {&a100, 2, 8, 8, 24, 16}, {&a100, 16, 8, 8, 24, 16},
        {&a800, 1, 8, 8, 20, 16},  {&h800, 1, 8, 8, 20, 16}, {&h800, 4, 8, 8, 22, 16},
        {&h100, 1, 8, 12, 30, 24}, {&h100, 2, 8, 8, 48, 16}, {&h100_4, 1, 4, 12, 30, 24},
        {&v100, 1, 8, 6, 20, 12},
    };
    st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_nccl_group group = {.ranks = cases[i].nodes * cases[i].per_node,
                               .per_node = cases[i].per_node,
                               .nodes = cases[i].nodes};
        st_nccl_search found = st_nccl_search_rings(cases[i].machine, &group, &choices);
        assert_near(found.channels, cases[i].channels, 0);
        assert_near(found.intra_gbs, cases[i].rate, 1e-12);
        assert_near(found.total, cases[i].total, 0);
    }
    choices.channels = 7.0;
    st_nccl_group group = {.ranks = 8, .per_node = 8, .nodes = 1};
    assert_near(st_nccl_search_rings(&a100, &group, &choices).total, 7.0, 0);
}

/* ---- lines ---- */

static void expect_line(const st_nccl_plan *plan, int algorithm, int protocol, double latency_us,
                        double rate_gbs)
{
    const st_nccl_line *line = find_line(plan, algorithm, protocol);
    assert_non_null(line);
    double latency = (line->base_us + line->intra_us + line->inter_us) * line->plateau;
    assert_near(latency, latency_us, 0.051 + 1e-3 * latency_us);
    assert_near(line->rate_gbs, rate_gbs, 0.051);
}

static void check_lines(const st_nccl_machine *machine, double nodes, double per_node, int cpu,
                        const double expected[4][2])
{
    st_nccl_choices choices = plain_choices(cpu, 1);
    st_nccl_plan plan = nominal_plan(machine, nodes, per_node, ST_NCCL_ALL_REDUCE, &choices);
    const st_nccl_line *simple = find_line(&plan, ST_NCCL_RING, ST_NCCL_SIMPLE);
    expect_line(&plan, ST_NCCL_RING, ST_NCCL_SIMPLE, expected[0][0] * simple->plateau,
                expected[0][1]);
    expect_line(&plan, ST_NCCL_RING, ST_NCCL_LL128, expected[1][0], expected[1][1]);
    expect_line(&plan, ST_NCCL_TREE, ST_NCCL_LL128, expected[2][0], expected[2][1]);
    expect_line(&plan, ST_NCCL_TREE, ST_NCCL_LL, expected[3][0], expected[3][1]);
}

TEST(lines_of_one_machine)
{
    static const double of_a100[4][2] = {{56.0, 137.1}, {40.6, 126.2}, {31.5, 85.9}, {15.2, 29.1}};
    static const double of_a800[4][2] = {{56.0, 91.4}, {40.6, 84.1}, {31.5, 57.2}, {15.2, 19.4}};
    static const double of_h100[4][2] = {{56.0, 205.7}, {40.6, 189.3}, {31.5, 128.8}, {15.2, 43.6}};
    static const double of_four[4][2] = {{28.8, 240.0}, {25.4, 220.8}, {21.5, 128.8}, {10.4, 43.6}};
    static const double of_v100[4][2] = {{56.0, 68.6}, {40.6, 63.1}, {31.5, 42.9}, {15.2, 14.5}};
    check_lines(&a100, 1, 8, ST_NCCL_INTEL, of_a100);
    check_lines(&a800, 1, 8, ST_NCCL_INTEL, of_a800);
    check_lines(&h100, 1, 8, ST_NCCL_INTEL, of_h100);
    check_lines(&h100_4, 1, 4, ST_NCCL_INTEL, of_four);
    check_lines(&v100, 1, 8, ST_NCCL_INTEL, of_v100);
}

TEST(lines_of_several_machines)
{
    static const double two[4][2] = {{220.4, 102.4}, {82.0, 85.3}, {48.5, 80.0}, {25.2, 11.2}};
    static const double four[4][2] = {{444.4, 99.1}, {154.0, 82.6}, {65.5, 66.8}, {35.2, 9.5}};
    static const double many[4][2] = {{1788, 96.8}, {586, 80.6}, {99.5, 66.8}, {55.2, 9.5}};
    static const double of_h800[4][2] = {{304, 90.8}, {148.6, 83.6}, {65.5, 64.5}, {35.2, 8.7}};
    static const double of_h100[4][2] = {
        {152.8, 204.8}, {79.4, 156.6}, {48.5, 124.8}, {25.2, 16.6}};
    check_lines(&a100, 2, 8, ST_NCCL_AMD, two);
    check_lines(&a100, 4, 8, ST_NCCL_AMD, four);
    check_lines(&a100, 16, 8, ST_NCCL_AMD, many);
    check_lines(&h800, 4, 8, ST_NCCL_INTEL, of_h800);
    check_lines(&h100, 2, 8, ST_NCCL_INTEL, of_h100);
}

TEST(lines_of_the_switch)
{
    st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 1);
    st_nccl_plan plan = nominal_plan(&h100, 1, 8, ST_NCCL_ALL_REDUCE, &choices);
    expect_line(&plan, ST_NCCL_NVLS, ST_NCCL_SIMPLE, 25.0, 266.7);
    plan = nominal_plan(&h100, 2, 8, ST_NCCL_ALL_REDUCE, &choices);
    expect_line(&plan, ST_NCCL_NVLS_TREE, ST_NCCL_SIMPLE, 53.0, 266.7);
    choices.version = ST_NCCL_2_30;
    plan = nominal_plan(&h100, 1, 8, ST_NCCL_ALL_REDUCE, &choices);
    /* 8 heads of 40 GB/s, 0.85 of them, 7 of 8, both ways, 8 of 14 steps */
    expect_line(&plan, ST_NCCL_NVLS, ST_NCCL_SIMPLE, 25.0,
                8 * 40 * 0.85 * 7.0 / 8.0 * 2 * 8 / 14.0);
    choices.nvls = 0;
    plan = nominal_plan(&h100, 1, 8, ST_NCCL_ALL_REDUCE, &choices);
    assert_null(find_line(&plan, ST_NCCL_NVLS, ST_NCCL_SIMPLE));
}

/*
 * 72 GB200 of one NVLink domain, NCCL 2.29, worked out by hand from its cost model. Links: 900
 * GB/s, of which NCCL counts 0.802, 721.8. Rings: 8 channels of the rung of 90 are 720, doubled and
 * halved to 16 of 45; an all-reduce has 2 * 71 = 142 steps of 3.4 us behind 8.4 us. Switch: 32
 * heads at most, and 721.8 / 33 = 21.9, whose rung is 20; 0.74 of it, 31 of 32, both ways. A
 * measured rack (CoreWeave, GB200, NCCL 2.26.2) comes to 839 GB/s of a bus, the switch's line to
 * 918.
 */
TEST(lines_of_a_rack)
{
    static const st_nccl_machine rack = {
        ST_NCCL_BLACKWELL, ST_NCCL_NVLINK, ST_NCCL_INFINIBAND, 72.0, 721.8, 3456.0, false};
    st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 1);
    choices.version = ST_NCCL_2_29;
    st_nccl_plan plan = nominal_plan(&rack, 1, 72, ST_NCCL_ALL_REDUCE, &choices);
    assert_near(plan.search.channels, 16.0, 0);
    assert_near(plan.search.intra_gbs, 45.0, 1e-12);
    expect_line(&plan, ST_NCCL_RING, ST_NCCL_SIMPLE, 491.2, 365.07); /* 720 * 72 / 142 */
    expect_line(&plan, ST_NCCL_NVLS, ST_NCCL_SIMPLE, 25.0, 465.26);  /* 917.6 * 72 / 142 */
}

TEST(lines_that_a_machine_lacks)
{
    st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 1);
    st_nccl_machine pci = {ST_NCCL_AMPERE, ST_NCCL_PCI, ST_NCCL_INFINIBAND, 8.0, 12.0, 12.0, false};
    st_nccl_plan plan = nominal_plan(&pci, 1, 4, ST_NCCL_ALL_REDUCE, &choices);
    assert_null(find_line(&plan, ST_NCCL_RING, ST_NCCL_LL128));
    assert_non_null(find_line(&plan, ST_NCCL_RING, ST_NCCL_LL));
    plan = nominal_plan(&h100, 1, 8, ST_NCCL_ALL_GATHER, &choices);
    assert_null(find_line(&plan, ST_NCCL_TREE, ST_NCCL_LL));
    assert_non_null(find_line(&plan, ST_NCCL_NVLS, ST_NCCL_SIMPLE));
    choices.version = ST_NCCL_2_30;
    plan = nominal_plan(&a100, 16, 1, ST_NCCL_ALL_GATHER, &choices);
    const st_nccl_line *pat = find_line(&plan, ST_NCCL_PAT, ST_NCCL_SIMPLE);
    assert_non_null(pat);
    assert_near(pat->base_us + pat->intra_us + pat->inter_us, 8 + 4 * 14 / 3.5 + 2.8 * 16, 1e-9);
    choices.algorithm = ST_NCCL_RING;
    choices.protocol = ST_NCCL_LL128;
    plan = nominal_plan(&a100, 16, 8, ST_NCCL_ALL_REDUCE, &choices);
    assert_int_equal(plan.count, 1);
    choices.algorithm = ST_NCCL_NVLS;
    plan = nominal_plan(&a100, 1, 8, ST_NCCL_ALL_REDUCE, &choices);
    assert_int_equal(plan.count, 0);
    assert_true(isnan(st_nccl_time_us(&plan, 2385.0)));
    assert_true(isnan(st_nccl_answer_of(&plan, 2385.0).total_us));
}

/* ---- time ---- */

TEST(a_tree_loses_in_the_middle)
{
    assert_near(st_nccl_tree_share(ST_NCCL_LL, 64.0 * 4096, false), 0.4, 0);
    assert_near(st_nccl_tree_share(ST_NCCL_LL, 64.0 * 4096 * 1.99, false), 0.4, 0);
    assert_near(st_nccl_tree_share(ST_NCCL_LL, 64.0 * 16384 * 1.5, true), 0.55, 1e-12);
    assert_near(st_nccl_tree_share(ST_NCCL_SIMPLE, 1.0, true), 0.9, 0);
    assert_near(st_nccl_tree_share(ST_NCCL_SIMPLE, 1e12, true), 0.9, 0);
    assert_near(st_nccl_tree_share(ST_NCCL_SIMPLE, 1e12, false), 1.0, 0);
}

TEST(time_is_the_best_line)
{
    st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 0);
    st_nccl_plan plan = nominal_plan(&h100_4, 1, 4, ST_NCCL_ALL_REDUCE, &choices);
    /* ring, Simple: 28.8 us + bytes at 240 GB/s */
    assert_near(st_nccl_time_us(&plan, 2.4e9), 28.8 + 1e4, 1e-6);
    st_nccl_answer answer = st_nccl_answer_of(&plan, 2.4e9);
    assert_int_equal(answer.line->algorithm, ST_NCCL_RING);
    assert_int_equal(answer.line->protocol, ST_NCCL_SIMPLE);
    assert_near(answer.setup_us, 8.4, 1e-9);
    /* of the six steps three sum what arrives */
    assert_near(answer.intra_us, 20.4 + 5e3, 1e-6);
    assert_near(answer.inter_us, 0.0, 0);
    assert_near(answer.reduction_us, 5e3, 1e-6);
    /* the mean of two lines lies below both, by at most 2^(1/q) */
    double least = st_nccl_time_us(&plan, 3e6);
    plan.sharpness = 8.0;
    plan.near = exp(-2.0);
    plan.far = exp(-16.0);
    double mean = st_nccl_time_us(&plan, 3e6);
    assert_true(mean < least && mean > least * pow((double)plan.count, -1.0 / 8.0));
}

/* Parts sum to the time; what sums nothing has no reduction, a reduce-scatter no other bytes. */
TEST(parts_sum_to_the_time)
{
    static const struct {
        int collective;
        double share; /* of the bytes that are summed */
    } cases[] = {{ST_NCCL_ALL_REDUCE, 0.5},
                 {ST_NCCL_REDUCE_SCATTER, 1.0},
                 {ST_NCCL_ALL_GATHER, 0.0},
                 {ST_NCCL_BROADCAST, 0.0},
                 {ST_NCCL_REDUCE, 1.0}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (double nodes = 1.0; nodes <= 3.0; nodes += 2.0) {
            st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 0);
            st_nccl_plan plan = nominal_plan(&a100, nodes, 8, cases[i].collective, &choices);
            double bytes = 2.385e9;
            st_nccl_answer answer = st_nccl_answer_of(&plan, bytes);
            double time = st_nccl_time_us(&plan, bytes);
            double moved = bytes * answer.line->us_per_byte;
            assert_near(answer.total_us, time, 1e-9 * time);
            assert_near(answer.reduction_us, cases[i].share * moved, 1e-9 * time);
            if (nodes > 1.0) {
                assert_true(answer.inter_us >= (1.0 - cases[i].share) * moved);
            } else {
                assert_near(answer.inter_us, 0.0, 0);
            }
        }
    }
}

static st_nccl_kind kind_of(double setup, double latency, double bandwidth)
{
    return (st_nccl_kind){.setup = {setup, setup, setup},
                          .latency = {latency, latency, latency},
                          .bandwidth = {bandwidth, bandwidth, bandwidth},
                          .tree_latency = 1.0,
                          .tree_bandwidth = 1.0};
}

/* All of them 1. */
static st_nccl_factors plain_factors(void)
{
    return (st_nccl_factors){.inside = kind_of(1, 1, 1),
                             .across = kind_of(1, 1, 1),
                             .nvls_latency = 1.0,
                             .nvls_bandwidth = 1.0,
                             .sharpness = 32.0};
}

TEST(time_grows_with_the_bytes)
{
    static const st_nccl_machine *const machines[] = {&a100, &h800, &h100, &v100};
    st_nccl_factors factors = {
        .inside = {{1.3, 0.7, 1.9}, {0.6, 2.1, 1.4}, {0.8, 1.3, 0.9}, 0.9, 1.1},
        .across = {{0.7, 1.2, 1.1}, {1.7, 0.9, 1.2}, {0.6, 0.7, 1.2}, 1.2, 0.8},
        .nvls_latency = 1.2,
        .nvls_bandwidth = 0.8,
        .small_group = 0.3,
        .offset_us = 0.7,
        .sharpness = 12.0};
    for (size_t i = 0; i < 4 * COUNT(machines) * ST_NCCL_COLLECTIVES; i++) {
        st_nccl_choices choices = plain_choices((int)i % 3, (int)i % 2);
        choices.version = (int)i % ST_NCCL_VERSIONS;
        double nodes = exp2((double)(i % 4));
        st_nccl_plan plan =
            nominal_plan(machines[i / 4 % COUNT(machines)], nodes, 8, (int)(i / 16), &choices);
        st_nccl_calibrate(&plan, &factors);
        double before = 0.0;
        for (int k = 0; k < 1150; k++) {
            double bytes = pow(1.0371, k);
            double time = st_nccl_time_us(&plan, bytes);
            st_nccl_answer answer = st_nccl_answer_of(&plan, bytes);
            /* The switch and its tree have rounds, whose chunks grow in steps, and what carries
             * short transfers carries no others. */
            bool steps = find_line(&plan, ST_NCCL_NVLS, ST_NCCL_SIMPLE) != NULL ||
                         find_line(&plan, ST_NCCL_NVLS_TREE, ST_NCCL_SIMPLE) != NULL ||
                         find_line(&plan, ST_NCCL_P2P, ST_NCCL_SIMPLE) != NULL;
            assert_true(time > 0.0 && (time >= before || plan.obeys || steps));
            assert_near(answer.total_us, time, 1e-12 * time);
            before = time;
        }
    }
}

/* What kernels of a ring across machines take on top of NCCL's prediction. */
TEST(rings_across_machines)
{
    static const struct {
        const st_nccl_machine *machine;
        double per_node;
        int collective;
        double hops;     /* between machines, as many times NCCL's */
        double rate_gbs; /* 0: NCCL's */
    } cases[] = {
        {&h100, 8, ST_NCCL_ALL_GATHER, 2, 8 * 41.0 * 16 / 15},
        {&h100, 8, ST_NCCL_ALL_REDUCE, 1, 8 * 41.0 * 16 / 30},
        {&h100, 1, ST_NCCL_REDUCE_SCATTER, 1, 41.0 * 2},
        {&h100_4, 4, ST_NCCL_REDUCE_SCATTER, 2, 0}, /* NICs of 24 GB/s */
        {&a100, 8, ST_NCCL_ALL_GATHER, 2, 0},
    };
    st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 0);
    st_nccl_factors factors = plain_factors();
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_nccl_plan plan =
            nominal_plan(cases[i].machine, 2, cases[i].per_node, cases[i].collective, &choices);
        st_nccl_line nccl = *find_line(&plan, ST_NCCL_RING, ST_NCCL_SIMPLE);
        st_nccl_calibrate(&plan, &factors);
        const st_nccl_line *line = find_line(&plan, ST_NCCL_RING, ST_NCCL_SIMPLE);
        double rate = cases[i].rate_gbs > 0 ? cases[i].rate_gbs : nccl.rate_gbs;
        assert_near(line->inter_us, cases[i].hops * nccl.inter_us, 1e-12);
        assert_near(line->rate_gbs, rate, 1e-9);
        assert_near(line->asked_us, nccl.latency_us, 1e-12);
    }
}

/* Which of two lines NCCL predicts to be faster decides, whatever the factors say. */
TEST(rings_inside_a_machine_are_chosen_by_prediction)
{
    st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 0);
    const int protocols[] = {ST_NCCL_LL, ST_NCCL_LL128, ST_NCCL_SIMPLE};
    /* 8 A100: LL up to 2.73 MB, LL128 up to 15.4 MB, from section 1.4 of the cost model */
    const double sizes[] = {2.41e6, 3.07e6, 13.2e6, 17.9e6};
    const int chosen[] = {ST_NCCL_LL, ST_NCCL_LL128, ST_NCCL_LL128, ST_NCCL_SIMPLE};
    st_nccl_factors slow_first = plain_factors();
    st_nccl_factors slow_last = plain_factors();
    slow_first.inside = (st_nccl_kind){{9, 3, 1}, {7, 3, 1}, {0.2, 0.4, 1}, 1, 1};
    slow_last.inside = (st_nccl_kind){{1, 3, 9}, {1, 3, 7}, {1, 0.4, 0.2}, 1, 1};
    slow_last.across = slow_last.inside;
    const st_nccl_factors *const factors[] = {&slow_first, &slow_last};
    for (size_t f = 0; f < 2; f++) {
        st_nccl_plan plan = nominal_plan(&a100, 1, 8, ST_NCCL_ALL_GATHER, &choices);
        st_nccl_calibrate(&plan, factors[f]);
        assert_true(plan.obeys);
        for (size_t i = 0; i < COUNT(sizes); i++) {
            st_nccl_answer answer = st_nccl_answer_of(&plan, sizes[i]);
            assert_int_equal(answer.line->protocol, chosen[i]);
        }
        for (size_t i = 0; i < COUNT(protocols); i++) {
            const st_nccl_line *line = find_line(&plan, ST_NCCL_RING, protocols[i]);
            const double bytes[] = {17.3e3, 5.19e6, 387e6};
            double time = st_nccl_time_us(&plan, bytes[i]);
            double alone = line->latency_us + bytes[i] * line->us_per_byte;
            assert_near(time, alone, 1e-12 * alone);
        }
    }
    st_nccl_plan across = nominal_plan(&a100, 2, 8, ST_NCCL_ALL_GATHER, &choices);
    st_nccl_plan reduced = nominal_plan(&a100, 1, 8, ST_NCCL_ALL_REDUCE, &choices);
    st_nccl_calibrate(&across, &slow_last);
    st_nccl_calibrate(&reduced, &slow_last);
    assert_true(reduced.obeys && !across.obeys);
    assert_int_equal(st_nccl_answer_of(&across, 1e9).line->protocol, ST_NCCL_LL128);
}

static double carried_us(int carrier, double bytes)
{
    st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 0);
    st_nccl_factors factors = plain_factors();
    st_nccl_machine machine = a100;
    machine.carrier = carrier;
    st_nccl_plan plan = nominal_plan(&machine, 2, 8, ST_NCCL_ALL_REDUCE, &choices);
    st_nccl_of_carrier(&machine, &factors);
    st_nccl_calibrate(&plan, &factors);
    return st_nccl_time_us(&plan, bytes);
}

/* What carries messages between machines costs latency; TCP costs rate, too. */
TEST(carriers_take_longer)
{
    static const int slower[] = {ST_NCCL_EFA, ST_NCCL_TCPXO, ST_NCCL_TCPX, ST_NCCL_TCP};
    (void)state;
    double small_us = carried_us(ST_NCCL_INFINIBAND, 23850.0);
    double large_us = carried_us(ST_NCCL_INFINIBAND, 2.385e9);
    assert_true(carried_us(ST_NCCL_ROCE, 23850.0) == small_us);
    for (size_t i = 0; i < sizeof(slower) / sizeof(slower[0]); i++) {
        assert_true(carried_us(slower[i], 23850.0) > 1.2 * small_us);
        double share = large_us / carried_us(slower[i], 2.385e9);
        assert_true(slower[i] == ST_NCCL_TCP ? share > 0.5 && share < 0.6 : share > 0.9);
    }
}

/* An all-reduce's bytes go around twice and fill the ring once. */
TEST(small_groups_lose_rate)
{
    static const double losses[ST_NCCL_COLLECTIVES] = {
        [ST_NCCL_ALL_REDUCE] = 1, [ST_NCCL_ALL_GATHER] = 2, [ST_NCCL_REDUCE_SCATTER] = 2,
        [ST_NCCL_BROADCAST] = 1,  [ST_NCCL_ALL_TO_ALL] = 2, [ST_NCCL_SEND_RECV] = 1,
        [ST_NCCL_REDUCE] = 1,
    };
    st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 0);
    st_nccl_factors factors = plain_factors();
    st_nccl_factors all = plain_factors();
    factors.small_group = 0.37;
    all.small_group = 0.97;
    for (int collective = 0; collective < ST_NCCL_COLLECTIVES; collective++) {
        st_nccl_plan plain = nominal_plan(&a100, 1, 4, collective, &choices);
        st_nccl_plan plan = plain;
        st_nccl_calibrate(&plan, &factors);
        assert_near(plan.lines[0].rate_gbs,
                    plain.lines[0].rate_gbs * (1 - losses[collective] * 0.37 / 4), 1e-9);
    }
    st_nccl_plan pair = nominal_plan(&a100, 1, 2, ST_NCCL_ALL_GATHER, &choices);
    double before = pair.lines[0].rate_gbs;
    st_nccl_calibrate(&pair, &all);
    assert_near(pair.lines[0].rate_gbs, 0.1 * before, 1e-9);
}

TEST(factors_scale_their_parts)
{
    st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 0);
    st_nccl_plan plan = nominal_plan(&a100, 2, 8, ST_NCCL_ALL_REDUCE, &choices);
    st_nccl_line tree = *find_line(&plan, ST_NCCL_TREE, ST_NCCL_LL128);
    st_nccl_factors factors = plain_factors();
    factors.across = (st_nccl_kind){{1, 1.3, 1}, {1, 0.7, 1}, {1, 1.7, 1}, 1.9, 2.3};
    factors.small_group = 0.32;
    st_nccl_calibrate(&plan, &factors);
    const st_nccl_line *line = find_line(&plan, ST_NCCL_TREE, ST_NCCL_LL128);
    assert_near(line->base_us, tree.base_us * 1.3, 1e-12);
    assert_near(line->intra_us, tree.intra_us * 0.7 * 1.9, 1e-12);
    assert_near(line->inter_us, tree.inter_us * 0.7 * 1.9, 1e-12);
    assert_near(line->rate_gbs, tree.rate_gbs * 1.7 * 2.3 * (1 - 0.32 / 16), 1e-9);
}

/* ---- transfers ---- */

TEST(transfers)
{
    st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 0);
    st_nccl_plan plan = nominal_plan(&a100, 1, 8, ST_NCCL_ALL_TO_ALL, &choices);
    assert_near(find_line(&plan, ST_NCCL_P2P, ST_NCCL_SIMPLE)->rate_gbs, 240.0 * 8 / 7, 1e-9);
    plan = nominal_plan(&a100, 4, 8, ST_NCCL_ALL_TO_ALL, &choices);
    assert_near(find_line(&plan, ST_NCCL_P2P, ST_NCCL_SIMPLE)->rate_gbs, 24.0 * 32 / 24, 1e-9);
    plan = nominal_plan(&a100, 2, 1, ST_NCCL_SEND_RECV, &choices);
    const st_nccl_line *line = find_line(&plan, ST_NCCL_P2P, ST_NCCL_SIMPLE);
    assert_near(line->rate_gbs, 24.0, 1e-9);
    assert_near(line->base_us + line->inter_us, 14.0 + 14.0, 1e-9);
    assert_near(line->intra_us, 0.0, 0);
    assert_int_equal(plan.count, 3);
    choices.protocol = ST_NCCL_LL;
    plan = nominal_plan(&a100, 2, 1, ST_NCCL_SEND_RECV, &choices);
    assert_int_equal(plan.count, 1);
    assert_near(plan.lines[0].rate_gbs, 12.0, 1e-9);
    /* small chunks have the factors of LL128 */
    choices.protocol = ST_NCCL_ANY;
    plan = nominal_plan(&a100, 2, 1, ST_NCCL_SEND_RECV, &choices);
    st_nccl_factors factors = plain_factors();
    factors.across = (st_nccl_kind){{1, 1.3, 1}, {1, 0.7, 1}, {1, 1.7, 1}, 1, 1};
    factors.offset_us = 2.3;
    st_nccl_calibrate(&plan, &factors);
    assert_near(plan.lines[0].rate_gbs, 24.0, 1e-9);
    assert_near(plan.lines[1].rate_gbs, 0.75 * 24.0 * 1.7, 1e-9);
    assert_near(plan.lines[1].base_us, 8.4 * 1.3 + 2.3, 1e-9);
}

/* ---- chunks ---- */

TEST(chunks_of_echo)
{
    static const double chunk_kb[] = {18, 36, 72, 72, 72, 144, 288};
    static const double sent[] = {17280, 34560, 71040, 71040, 71040, 144000, 288000};
    static const double rounds[] = {16, 16, 15, 30, 60, 59, 59};
    st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 0);
    st_nccl_plan plan = nominal_plan(&h800, 4, 8, ST_NCCL_ALL_REDUCE, &choices);
    for (size_t i = 0; i < COUNT(chunk_kb); i++) {
        double bytes = 4194304.0 * exp2((double)i);
        st_nccl_cut cut = st_nccl_cut_of(&plan, ST_NCCL_TREE, ST_NCCL_LL128, bytes);
        assert_near(cut.channels, 16.0, 0);
        assert_near(cut.chunk_bytes, 1000.0 * chunk_kb[i], 0);
        assert_near(cut.sent_bytes, sent[i], 0);
        assert_near(cut.rounds, rounds[i], 0);
    }
}

TEST(chunks_of_rings)
{
    st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 1);
    st_nccl_plan plan = nominal_plan(&h100, 1, 8, ST_NCCL_ALL_REDUCE, &choices);
    st_nccl_cut cut = st_nccl_cut_of(&plan, ST_NCCL_RING, ST_NCCL_SIMPLE, 402653184.0);
    assert_near(cut.channels, 24.0, 0);
    assert_near(cut.chunk_bytes, 2097152.0, 0);
    assert_near(cut.rounds, 1.0, 0);
    cut = st_nccl_cut_of(&plan, ST_NCCL_RING, ST_NCCL_SIMPLE, 402653185.0);
    assert_near(cut.rounds, 2.0, 0);
    /* all 24 channels from 786 kB */
    assert_near(st_nccl_cut_of(&plan, ST_NCCL_RING, ST_NCCL_SIMPLE, 786432.0).channels, 24.0, 0);
    assert_near(st_nccl_cut_of(&plan, ST_NCCL_RING, ST_NCCL_SIMPLE, 786431.0).channels, 23.0, 0);
    assert_near(st_nccl_cut_of(&plan, ST_NCCL_RING, ST_NCCL_LL, 1.0).channels, 1.0, 0);
    assert_near(st_nccl_cut_of(&plan, ST_NCCL_RING, ST_NCCL_LL, 1e8).chunk_bytes, 32768.0, 0);
    assert_near(st_nccl_cut_of(&plan, ST_NCCL_RING, ST_NCCL_LL128, 1e8).sent_bytes, 576000.0, 0);
}

TEST(chunks_of_the_switch_and_of_transfers)
{
    st_nccl_choices choices = plain_choices(ST_NCCL_INTEL, 1);
    st_nccl_plan plan = nominal_plan(&h100, 1, 8, ST_NCCL_ALL_REDUCE, &choices);
    /* 16 channels of 8 heads: 128 chunks at a time */
    assert_near(st_nccl_cut_of(&plan, ST_NCCL_NVLS, 2, 64.0 * 128 * 131072).chunk_bytes, 131072, 0);
    assert_near(st_nccl_cut_of(&plan, ST_NCCL_NVLS, 2, 63.0 * 128 * 131072).chunk_bytes, 65536, 0);
    assert_near(st_nccl_cut_of(&plan, ST_NCCL_NVLS, 2, 7.0 * 128 * 65536).chunk_bytes, 32768, 0);
    assert_near(st_nccl_cut_of(&plan, ST_NCCL_NVLS, 2, 1.9 * 128 * 32768).chunk_bytes, 16384, 0);
    st_nccl_plan far = nominal_plan(&h100, 4, 8, ST_NCCL_ALL_REDUCE, &choices);
    assert_near(st_nccl_cut_of(&far, ST_NCCL_NVLS_TREE, 2, 1e12).chunk_bytes, 65536, 0);
    st_nccl_plan pair = nominal_plan(&h100, 2, 1, ST_NCCL_SEND_RECV, &choices);
    assert_near(st_nccl_cut_of(&pair, ST_NCCL_P2P, 2, 1e5).chunk_bytes, 32768, 0);
    assert_near(st_nccl_cut_of(&pair, ST_NCCL_P2P, 2, 1e6).chunk_bytes, 65536, 0);
    assert_near(st_nccl_cut_of(&pair, ST_NCCL_P2P, 2, 1e9).chunk_bytes, 131072, 0);
    choices.version = ST_NCCL_2_30;
    st_nccl_plan lone = nominal_plan(&a100, 8, 1, ST_NCCL_ALL_GATHER, &choices);
    assert_near(st_nccl_cut_of(&lone, ST_NCCL_PAT, 2, 1e5).chunk_bytes, 65536, 0);
}

TESTS(nccl_model);
