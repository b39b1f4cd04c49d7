/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic in the sheet megatron: Table 3 of Li et al. to the byte, what splitting states changes,
 * messages of experts and rings, and the times of some written out in C.
 */
#include "megatron_support.h"

static void traffic_is_table_3(void **state)
{
    fixture *own = *state;
    st_estimate estimate = estimate_of(
        own, "gpt-3b-32x3090",
        "sheet=megatron model.heads=20 parallel.scatter_gather=false precision.weights=fp16 "
        "precision.gradients=fp16 precision.communication=fp16 attention=unfused "
        "cluster.gpu.memory=500~GiB");
    assert_true(cell(&estimate, "tp_message") == 131072000);
    assert_true(cell(&estimate, "tp_messages") == 680);
    assert_true(cell(&estimate, "tp_payload") == 89128960000.0);
    assert_true(cell(&estimate, "tp_sent") == 89128960000.0);
    assert_true(cell(&estimate, "pp_messages") == 16);
    assert_true(cell(&estimate, "pp_sent") == 1048576000);
    assert_true(cell(&estimate, "dp_payload") == 777492000);
    assert_true(cell(&estimate, "dp_messages") == 1);
    assert_true(cell(&estimate, "dp_sent") == 2 * 777492000.0 * 3 / 4);
    assert_true(cell(&estimate, "tied_payload") == 100864000);
    assert_true(cell(&estimate, "expert_dp_payload") == 0);
    assert_true(cell(&estimate, "L_stage[first]") == 14);
    assert_true(cell(&estimate, "ep_messages") == 0);
    assert_true(cell(&estimate, "cp_sent") == 0);
}

/* What splits states sends as much once as an all-reduce does, and with every micro-batch what is
 * needed then. */
static void splitting_states_changes_the_traffic(void **state)
{
    fixture *own = *state;
    static const struct {
        int zero;
        double messages; /* with 16 micro-batches */
        double payload;  /* bytes per parameter, gradients of 4 and weights of 2 bytes */
        double sent;     /* on a ring of 8 ranks */
    } cases[] = {{0, 1, 4, 2 * 4 * 7 / 8.0},
                 {1, 2, 4 + 2, (4 + 2) * 7 / 8.0},
                 {2, 17, 16 * 4 + 2, (16 * 4 + 2) * 7 / 8.0},
                 {3, 48, 16 * (4 + 2 * 2), 16 * (4 + 2 * 2) * 7 / 8.0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate estimate =
            estimate_of(own, "llama3-8b-8xh100",
                        st_arena_printf(own->arena, "parallel.zero=%d cluster.gpu.memory=999~GiB",
                                        cases[i].zero));
        double parameters = cell(&estimate, "P[first]");
        assert_true(cell(&estimate, "m") == 16);
        assert_true(cell(&estimate, "dp_messages") == cases[i].messages);
        assert_near(cell(&estimate, "dp_payload"), cases[i].payload * parameters, 1e-14, "payload");
        assert_near(cell(&estimate, "dp_sent"), cases[i].sent * parameters, 1e-14, "bytes sent");
    }
}

/* A token's copies go to their experts and come back, forward and backward; each expert's gradient
 * meets those of the ranks that hold it too. */
static void experts_are_visited_and_returned_from(void **state)
{
    fixture *own = *state;
    st_estimate estimate = estimate_of(own, "mixtral-8x7b-64xh100", "");
    assert_true(cell(&estimate, "ep_messages") == 64 * 8 * 4);
    assert_true(cell(&estimate, "ep_message") == 2 * 4096 * 4096 * 2);
    assert_true(cell(&estimate, "ep_sent") == cell(&estimate, "ep_payload") * 7 / 8);
    assert_true(cell(&estimate, "expert_dp_ranks") == 2);
    assert_near(cell(&estimate, "expert_dp_payload"), (4 + 2) * 8 * 3 * 4096.0 * 14336, 1e-15,
                "expert gradients and weights");
    st_estimate crowded =
        estimate_of(own, "mixtral-8x7b-64xh100", "model.imbalance=2.5 cluster.gpu.memory=999~GiB");
    assert_near(cell(&crowded, "ep_message"), 2.5 * cell(&estimate, "ep_message"), 1e-15,
                "a crowded message");
    st_estimate capped =
        estimate_of(own, "mixtral-8x7b-64xh100", "model.imbalance=2.5 model.capacity_factor=1.25");
    assert_near(cell(&capped, "ep_message"), 1.25 * cell(&estimate, "ep_message"), 1e-15,
                "a capped message");
}

/* Ranks that share an expert gather the tokens of all of them first. */
static void shared_experts_gather_their_tokens(void **state)
{
    fixture *own = *state;
    st_estimate estimate = estimate_of(own, "mixtral-8x7b-64xh100",
                                       "parallel.tp=4 parallel.dp=4 parallel.expert_tp=4 "
                                       "parallel.ep=4");
    double others = 3 * cell(&estimate, "ep_message");
    assert_near(cell(&estimate, "t_expert_tp"),
                cell(&estimate, "start_tp") + others / cell(&estimate, "bw_tp"), 1e-12,
                "gathered tokens");
}

static void rings_of_keys_and_values_go_round(void **state)
{
    fixture *own = *state;
    st_estimate estimate =
        estimate_of(own, "llama3-8b-8xh100", "parallel.cp=4 parallel.dp=2 batch.global=2");
    /* 32 layers, 2 passes forward and 2 rounds backward, 3 neighbours, 2 bytes of 8 heads */
    assert_true(cell(&estimate, "cp_messages") == 32 * 4 * 3);
    assert_true(cell(&estimate, "cp_sent") == 32.0 * 4 * 3 * 2 * 2048 * 2 * 8 * 128);
    /* three hops over links that a ring of four loses 0.3/4 of, and 20 us to begin each */
    double ring = cell(&estimate, "bw_link") * (1 - 0.3 / 4);
    assert_near(cell(&estimate, "t_ring_cp"), 3 * (20e-6 + 2 * 2048 * 2 * 8 * 128 / ring), 1e-12,
                "a round of keys and values");
    st_estimate bare = estimate_of(own, "llama3-8b-8xh100",
                                   "parallel.cp=4 parallel.dp=2 batch.global=2 overlap.cp=0");
    assert_near(cell(&bare, "t_cp"), 4 * cell(&bare, "t_ring_cp"), 1e-12, "nothing hides");
    st_estimate exchanged =
        estimate_of(own, "llama3-8b-8xh100",
                    "parallel.cp=4 parallel.dp=2 batch.global=2 parallel.cp_method=alltoall");
    assert_true(cell(&exchanged, "t_cp_exchange") > 20e-6);
    assert_near(cell(&exchanged, "t_cp"), 4 * cell(&exchanged, "t_cp_exchange"), 1e-12,
                "heads are exchanged in the open");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILES(traffic_is_table_3),
        WITH_FILES(splitting_states_changes_the_traffic),
        WITH_FILES(experts_are_visited_and_returned_from),
        WITH_FILES(shared_experts_gather_their_tokens),
        WITH_FILES(rings_of_keys_and_values_go_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
