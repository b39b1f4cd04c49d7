/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic of a plan on its nodes: which bytes leave a node, by sums that do not depend on where
 * ranks are. */
#include "megatron_support.h"

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
static void bytes_cross_where_nodes_differ(void **state)
{
    fixture *own = *state;
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
static void rings_cross_at_the_edges_of_nodes(void **state)
{
    fixture *own = *state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILES(bytes_cross_where_nodes_differ),
        WITH_FILES(rings_cross_at_the_edges_of_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
