/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic of a plan on its nodes: which bytes leave a node, by sums that do not depend on where
 * ranks are. */
#include "megatron_support.h"

#include "estimate/messages.h"
#include "estimate/traffic.h"

static st_traffic_report traffic_of(fixture *own, const char *job, const char *sets)
{
    st_estimate estimate = estimate_of(own, job, sets);
    st_traffic_report report;
    if (st_traffic_report_make(&estimate, ST_GROUPS, own->arena, &report, own->errors) != ST_OK)
        fail_msg("%s %s: %s", job, sets, said(own));
    return report;
}

static const char plan[] = "parallel.tp=4 parallel.pp=2 parallel.dp=4 parallel.cp=1 "
                           "parallel.virtual_stages=1 batch.global=64 batch.micro=1 "
                           "model.layers=32 cluster.gpu.memory=999~TB ";

static double crossing(fixture *own, int gpus_per_node, st_group group)
{
    const char *sets =
        st_arena_printf(own->arena,
                        "%scluster.gpus_per_node=%d cluster.nodes=%d "
                        "cluster.gpu.link_bandwidth=300~GB/s cluster.nic_bandwidth=25~GB/s",
                        plan, gpus_per_node, 32 / gpus_per_node);
    st_traffic_report report = traffic_of(own, "gpt3-175b-64xa100", sets);
    return (double)report.crossing_bytes[group];
}

/* One node keeps all bytes; nodes of one GPU let all of them out, a ring's neighbours being
 * elsewhere. */
TEST_OF(bytes_cross_where_nodes_differ, fixture *own, set_up, tear_down)
{
    static const st_group groups[] = {ST_GROUP_TP, ST_GROUP_DP, ST_GROUP_PP};
    for (size_t i = 0; i < COUNT(groups); i++) {
        assert_true(crossing(own, 32, groups[i]) == 0);
        assert_true(crossing(own, 1, groups[i]) > 0);
    }
}

/*
 * Order tp-dp-pp: 4 tensor-parallel ranks are neighbours. On nodes of 2 GPUs a ring of 4 crosses at
 * two of its 4 edges, on nodes of 4 nowhere. A ring over data-parallel ranks, 4 apart, crosses
 * everywhere up to nodes of 4, at two of 4 edges on nodes of 8.
 */
TEST_OF(rings_cross_at_the_edges_of_nodes, fixture *own, set_up, tear_down)
{
    double tp = crossing(own, 1, ST_GROUP_TP);
    double dp = crossing(own, 1, ST_GROUP_DP);
    double pp = crossing(own, 1, ST_GROUP_PP);
    assert_near(crossing(own, 2, ST_GROUP_TP), tp / 2, 1e-9, "tensor-parallel rings on pairs");
    assert_true(crossing(own, 4, ST_GROUP_TP) == 0);
    assert_near(crossing(own, 4, ST_GROUP_DP), dp, 1e-9, "data-parallel rings on nodes of 4");
    assert_near(crossing(own, 8, ST_GROUP_DP), dp / 2, 1e-9, "data-parallel rings on nodes of 8");
    assert_true(crossing(own, 16, ST_GROUP_DP) == 0);
    assert_near(crossing(own, 16, ST_GROUP_PP), pp, 1e-9, "stages on a node each");
}

/* Table 3 of Li et al. 2024, and the buckets of VGG-16 in its Figure 1a, the largest of 392 MiB. */
TEST_OF(messages_are_those_that_were_counted, fixture *own, set_up, tear_down)
{
    st_estimate gpt = estimate_of(own, "gpt-3b-32x3090", "");
    st_messages messages;
    assert_int_equal(st_messages_make(&gpt, own->arena, &messages, own->errors), ST_OK);
    assert_int_equal(messages.count, 4);
    assert_string_equal(messages.sizes[0].kind, "tp");
    assert_int_equal(messages.sizes[0].count, 680);
    assert_near(messages.sizes[0].bytes, 125 * 1048576.0, 1e-12, "a message of tensor parallelism");
    st_estimate vgg = estimate_of(own, "vgg16-32x3090", "");
    assert_int_equal(st_messages_make(&vgg, own->arena, &messages, own->errors), ST_OK);
    double most = 0;
    double all = 0;
    for (size_t i = 0; i < messages.count; i++) {
        assert_string_equal(messages.sizes[i].kind, "dp");
        most = fmax(most, messages.sizes[i].bytes);
        all += messages.sizes[i].bytes;
    }
    assert_near(most, 411058176, 1e-12, "the first fully connected layer with its bias");
    assert_near(all, cell(&vgg, "message_bytes"), 1e-12, "all gradients");
}

/* Counts times sizes are what is handed to the collectives. */
TEST_WITH(messages_add_up_to_payloads, set_up, tear_down)
{
    static const char *const sets[] = {"", "parallel.zero=3 parallel.pp=1 parallel.dp=64 "
                                           "parallel.virtual_stages=1 model.imbalance=1.385"};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(sets); i++) {
        st_estimate all = estimate_of(own, "mixtral-8x7b-64xh100", sets[i]);
        st_estimate asked = estimate_of(own, "mixtral-8x7b-64xh100", sets[i]);
        st_messages messages;
        assert_int_equal(st_messages_make(&asked, own->arena, &messages, own->errors), ST_OK);
        double sum = 0;
        for (size_t k = 0; k < messages.count; k++)
            sum += (double)messages.sizes[k].count * messages.sizes[k].bytes;
        double payloads = cell(&all, "tp_payload") + cell(&all, "ep_payload") +
                          cell(&all, "dp_payload") + cell(&all, "expert_dp_payload") +
                          cell(&all, "pp_payload") + cell(&all, "tied_payload");
        assert_near(sum, payloads, 1e-9, "messages");
    }
}

/* Li et al. 2024, Figures 6 and 12: stages inside of nodes talk faster, gradients between nodes
 * slower. */
TEST_WITH(the_order_of_ranks_changes_bandwidths, set_up, tear_down)
{
    st_estimate inside = estimate_of(*state, "gpt-3b-32x3090", "parallel.order=tp-dp-pp");
    st_estimate turned = estimate_of(*state, "gpt-3b-32x3090", "parallel.order=tp-pp-dp");
    assert_near(cell(&inside, "C_PP_used"), 12.5e9 / 8, 1e-12, "stages on nodes of their own");
    assert_near(cell(&inside, "C_DP_used"), 3.4e9, 1e-12, "gradients inside of a node");
    assert_near(cell(&turned, "T_PP"), 2 * 8 * 131072000 / 3.4e9, 1e-12, "stages in one node");
    assert_near(cell(&turned, "T_DP"), 2.0 * 2695966000 / 8 * 2 * 3 / 4 / (12.5e9 / 8), 1e-12,
                "gradients between nodes");
}

TESTS(traffic);
