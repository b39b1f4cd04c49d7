/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic in the sheet megatron: Table 3 of Li et al. to the byte, what splitting states changes,
 * messages of experts and rings, and the times of some written out in C.
 */
#include "megatron_support.h"

TEST_OF(traffic_is_table_3, fixture *own, set_up, tear_down)
{
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
TEST_OF(splitting_states_changes_the_traffic, fixture *own, set_up, tear_down)
{
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
TEST_OF(experts_are_visited_and_returned_from, fixture *own, set_up, tear_down)
{
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

/* A stage of dense layers alone has no experts whose gradients or weights meet. */
TEST_WITH(stages_without_experts_exchange_none, set_up, tear_down)
{
    static const struct {
        const char *stage;
        double routed, reduced, gathered;             /* layers, messages */
    } cases[] = {{"0", 0, 0, 0}, {"1", 5, 120, 240}}; /* 57 layers over 14 stages */
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate e = estimate_of(
            own, "deepseek-v3-2048xh800",
            st_arena_printf(own->arena,
                            "parallel.zero=3 parallel.first_stage_layers=3 parallel.stage=%s "
                            "cluster.gpu.memory=999~GiB",
                            cases[i].stage));
        double experts = cases[i].routed * cell(&e, "P_experts");
        assert_true(cell(&e, "L_asked_routed") == cases[i].routed);
        assert_true(cell(&e, "expert_reduce_messages") == cases[i].reduced);
        assert_true(cell(&e, "expert_gather_messages") == cases[i].gathered);
        assert_near(cell(&e, "expert_dp_sent"), cell(&e, "dp_bytes_sent") * experts * 3 / 4, 1e-14,
                    "four ranks have the same experts");
    }
}

/* Frozen weights are gathered in the format of split weights, adapters in that of their kernels. */
TEST_OF(traffic_has_the_bytes_of_the_gathers_in_the_step, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {
        "parallel.zero=3", "parallel.zero=3 precision.recipe=fp8_current",
        "parallel.zero=3 precision.recipe=fp8_current train.task=lora train.lora_rank=24",
        "parallel.zero=1 train.task=lora train.lora_rank=24"};
    for (size_t i = 0; i < COUNT(sets); i++) {
        st_estimate e =
            estimate_of(own, "mixtral-8x7b-64xh100",
                        st_arena_printf(own->arena, "%s cluster.gpu.memory=999~GiB", sets[i]));
        double gathers = cell(&e, "n_gather");
        assert_near(cell(&e, "dp_gathered") * cell(&e, "dp_ranks"),
                    gathers * cell(&e, "V_gathered"), 1e-4, "weights without routed experts");
        assert_near(cell(&e, "expert_gathered") * cell(&e, "expert_dp_ranks"),
                    gathers * cell(&e, "V_gathered_experts"), 1e-4, "routed experts");
    }
}

/* What a pipeline of PyTorch keeps whole is sent once per step. */
TEST_OF(kept_weights_are_gathered_once, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *sets;
        double gathers, reductions; /* of 8 micro-batches */
    } cases[] = {{"parallel.pp=1 parallel.dp=8 batch.global=64 parallel.zero=3", 16, 8},
                 {"parallel.pp=2 parallel.dp=4 batch.global=32 parallel.zero=3", 1, 1},
                 {"parallel.pp=2 parallel.dp=4 batch.global=32 parallel.zero=2", 1, 1},
                 {"parallel.pp=2 parallel.dp=4 batch.global=32 parallel.zero=3 "
                  "constants.keep_gathered=false",
                  16, 8}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate e = estimate_of(
            own, "llama3-8b-8xh100",
            st_arena_printf(own->arena,
                            "%s stack=torchtitan batch.micro=1 cluster.gpu.memory=999~GiB",
                            cases[i].sets));
        assert_true(cell(&e, "n_gather") == cases[i].gathers);
        assert_true(cell(&e, "n_reduce") == cases[i].reductions);
    }
}

/* Ranks that share an expert gather the tokens of all of them first. */
TEST_OF(shared_experts_gather_their_tokens, fixture *own, set_up, tear_down)
{
    st_estimate estimate = estimate_of(own, "mixtral-8x7b-64xh100",
                                       "parallel.tp=4 parallel.dp=4 parallel.expert_tp=4 "
                                       "parallel.ep=4");
    double others = 3 * cell(&estimate, "ep_message");
    assert_near(cell(&estimate, "t_expert_tp"),
                cell(&estimate, "start_tp") + others / cell(&estimate, "bw_tp"), 1e-12,
                "gathered tokens");
}

/* Sequence parallelism gathers and scatters, and gathers once more for the gradients of weights. */
TEST_OF(sequences_are_gathered_once_more, fixture *own, set_up, tear_down)
{
    static const char plan[] = "parallel.tp=4 parallel.dp=2 batch.global=2 constants.tp_hidden=0.5 "
                               "constants.small_group_loss=0.26 constants.regather_hidden=%s "
                               "parallel.sequence_parallel=%s overlap.tp=0";
    const char *job = "llama3-8b-8xh100";
    st_estimate all = estimate_of(own, job, st_arena_printf(own->arena, plan, "1", "true"));
    st_estimate some = estimate_of(own, job, st_arena_printf(own->arena, plan, "0.375", "true"));
    st_estimate none = estimate_of(own, job, st_arena_printf(own->arena, plan, "0.375", "false"));
    double once = cell(&all, "bw_link") * (1 - 2 * 0.26 / 4);
    double gather = cell(&all, "start_tp") + 0.75 * cell(&all, "tp_message") / once;
    double ring = cell(&all, "bw_link") * (1 - 0.26 / 4);
    double blocks = 2 * cell(&some, "L_placed") * cell(&some, "m");
    assert_near(cell(&all, "t_all_reduce_tp"), 2 * gather, 1e-12, "a gather and a scatter");
    assert_near(cell(&none, "t_all_reduce_tp"),
                cell(&all, "start_tp") + 1.5 * cell(&all, "tp_message") / ring, 1e-12, "a ring");
    assert_true(cell(&all, "t_tp_again[dense]") == 0);
    assert_near(cell(&some, "t_tp_again[dense]"), 0.625 * gather, 1e-12, "exposed");
    assert_near(cell(&some, "time_tp") - cell(&all, "time_tp"), blocks * 0.625 * gather, 1e-9,
                "a gather for each block");
    assert_near(cell(&some, "hidden_tp"), blocks * 0.375 * gather, 1e-9, "what hides");
    assert_near(cell(&some, "tp_sent") - cell(&none, "tp_sent"),
                blocks * 0.75 * cell(&all, "tp_message"), 1e-9, "its bytes");
}

TEST_OF(rings_of_keys_and_values_go_round, fixture *own, set_up, tear_down)
{
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
    assert_near(cell(&bare, "t_cp[dense]"), 4 * cell(&bare, "t_ring_cp"), 1e-12, "nothing hides");
    st_estimate exchanged =
        estimate_of(own, "llama3-8b-8xh100",
                    "parallel.cp=4 parallel.dp=2 batch.global=2 parallel.cp_method=alltoall");
    /* 32 heads of queries and context, 8 of keys and values, in four all-to-alls a pass */
    double start = 36e-6 + 4 * 5.3e-6;
    double bytes = 2.0 * 2048 * (2 * 32 + 2 * 8) * 128;
    assert_near(cell(&exchanged, "t_heads_cp"), 4 * start + 0.75 * bytes / ring, 1e-12,
                "an exchange of heads");
    assert_near(cell(&exchanged, "t_cp[dense]"), 3 * cell(&exchanged, "t_heads_cp"), 1e-12,
                "heads are exchanged in the open");
    assert_true(cell(&exchanged, "cp_messages") == 32 * 3 * 4);
    assert_near(cell(&exchanged, "cp_sent"), 32 * 3 * 0.75 * bytes, 1e-12, "bytes of heads");
}

/* Nemotron-H-56B: keys and values of 10 attentions go round, 54 Mamba-2 layers exchange their
 * channels before and after each of three scans. */
TEST_OF(scans_are_entered_and_left, fixture *own, set_up, tear_down)
{
    st_estimate estimate = estimate_of(own, "llama3-8b-8xh100",
                                       "model=nemotron-h-56b parallel.cp=4 parallel.dp=2 "
                                       "batch.global=2 cluster.gpu.memory=999~GiB");
    assert_true(cell(&estimate, "cp_messages") == 10 * 4 * 3 + 54 * 3 * 2);
}

/* Eight ranks in two nodes: heads inside, keys and values of two between them. */
TEST_OF(hierarchies_exchange_heads_inside, fixture *own, set_up, tear_down)
{
    static const char plan[] = "parallel.cp=8 parallel.dp=1 batch.global=1 cluster.nodes=2 "
                               "cluster.gpus_per_node=4 cluster.nic_bandwidth=173~GB/s "
                               "overlap.cp=0 parallel.cp_method=";
    st_estimate both =
        estimate_of(own, "llama3-8b-8xh100", st_arena_printf(own->arena, "%shierarchical", plan));
    double nic = 0.92 * 173e9 / 4;
    double ring = cell(&both, "bw_link") * (1 - 0.3 / 4);
    double hop = 20e-6 + 2.0 * 1024 * 2 * 8 * 128 / nic;
    double heads = 4 * (36e-6 + 4 * 5.3e-6) + 0.75 * 2.0 * 1024 * (2 * 32 + 2 * 8) * 128 / ring;
    assert_near(cell(&both, "t_ring_cp"), hop, 1e-12, "one hop between nodes");
    assert_near(cell(&both, "t_heads_cp"), heads, 1e-12, "heads inside a node");
    assert_near(cell(&both, "t_cp[dense]"), 3 * heads + 4 * hop, 1e-12, "all passes");
    /* without a node's border it is an exchange of heads alone */
    st_estimate near =
        estimate_of(own, "llama3-8b-8xh100",
                    "parallel.cp=4 parallel.dp=2 batch.global=2 parallel.cp_method=hierarchical");
    st_estimate whole =
        estimate_of(own, "llama3-8b-8xh100",
                    "parallel.cp=4 parallel.dp=2 batch.global=2 parallel.cp_method=alltoall");
    assert_true(cell(&near, "t_cp[dense]") == cell(&whole, "t_cp[dense]"));
    /* all eight exchange heads: half of what they send takes their own share of the NICs */
    st_estimate heads_alone =
        estimate_of(own, "llama3-8b-8xh100", st_arena_printf(own->arena, "%salltoall", plan));
    assert_near(cell(&heads_alone, "t_heads_cp"),
                4 * (36e-6 + 4 * 5.3e-6 + 20e-6) + 0.5 * 2.0 * 1024 * (2 * 32 + 2 * 8) * 128 / nic,
                1e-12, "heads across nodes");
}

/* A delta net and Mamba-2 get all tokens of some heads, and give them back, whatever attention
 * does. */
TEST_OF(scans_exchange_heads, fixture *own, set_up, tear_down)
{
    st_estimate next =
        estimate_of(own, "llama3-8b-8xh100",
                    "model=qwen3-next-80b-a3b parallel.cp=2 parallel.dp=4 "
                    "parallel.ep=8 parallel.expert_tp=1 batch.global=4 batch.sequence=4096");
    double ring = cell(&next, "bw_link") * (1 - 0.3 / 2);
    double start = 36e-6 + 2 * 5.3e-6;
    /* queries and keys 16 x 128 each, values, gates and what comes out 32 x 128, 32 decays and
     * steps */
    double delta = 2 * 2048 + 3 * 4096 + 2 * 32;
    double pass = 2 * start + 2.0 * 2048 * delta / 2 / ring;
    assert_near(cell(&next, "t_cp_kind[delta_moe]"), 3 * pass, 1e-12, "delta nets");
    assert_near(cell(&next, "time_cp"),
                cell(&next, "n_layers[delta_moe]") * 3 * pass +
                    cell(&next, "n_layers[moe]") * cell(&next, "t_cp[moe]"),
                1e-9, "the part of the step");
    st_estimate nano =
        estimate_of(own, "llama3-8b-8xh100",
                    "model=nemotron-3-nano-30b-a3b parallel.cp=2 parallel.dp=4 "
                    "parallel.ep=8 parallel.expert_tp=1 batch.global=4 batch.sequence=4096 "
                    "recompute=none");
    double mamba = 3 * 4096 + 2 * 8 * 128 + 64;
    assert_near(cell(&nano, "t_cp_kind[mamba_block]"),
                2 * (2 * start + 2.0 * 2048 * mamba / 2 / ring), 1e-12, "Mamba-2, once");
}

/* The first chunk has the embedding, the last one the output layer; a folded schedule has both on
 * the first stage. Each boundary of a chunk is passed there and back. */
TEST_OF(traffic_is_of_the_stage_that_is_asked_for, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *plan;
        double embedding, head, transfers; /* of a micro-batch, out and in */
    } cases[] = {
        {"parallel.virtual_stages=1 parallel.stage=0", 1, 0, 2},
        {"parallel.virtual_stages=1 parallel.stage=3", 0, 0, 4},
        {"parallel.virtual_stages=1 parallel.stage=7", 0, 1, 2},
        {"parallel.virtual_stages=3 parallel.stage=0", 1, 0, 2 * (3 + 2)},
        {"parallel.virtual_stages=3 parallel.stage=3", 0, 0, 2 * (3 + 3)},
        {"parallel.virtual_stages=3 parallel.stage=7", 0, 1, 2 * (3 + 2)},
        {"parallel.virtual_stages=3 parallel.stage=0 parallel.chunk=1", 1, 0, 2 * (3 + 2)},
        {"parallel.virtual_stages=3 parallel.stage=0 parallel.chunk=2", 0, 0, 2 * (3 + 2)},
        {"parallel.virtual_stages=3 parallel.stage=7 parallel.chunk=2", 0, 0, 2 * (3 + 2)},
        {"parallel.virtual_stages=3 parallel.stage=7 parallel.chunk=3", 0, 1, 2 * (3 + 2)},
        {"parallel.virtual_stages=2 parallel.schedule=zero_bubble_v parallel.stage=0", 1, 1, 4},
        {"parallel.virtual_stages=2 parallel.schedule=zero_bubble_v parallel.stage=3", 0, 0, 8},
        {"parallel.virtual_stages=2 parallel.schedule=zero_bubble_v parallel.stage=7", 0, 0, 4},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate e = estimate_of(
            own, "gpt3-175b-64xa100",
            st_arena_printf(own->arena, "cluster.gpu.memory=9999~GiB %s", cases[i].plan));
        double m = cell(&e, "m");
        double layers = cell(&e, "L_placed");
        double ends = cases[i].embedding + cases[i].head;
        assert_true(cell(&e, "at_embedding") == cases[i].embedding);
        assert_true(cell(&e, "at_head") == cases[i].head);
        assert_near(cell(&e, "pp_messages"), m * cases[i].transfers, 1e-15, cases[i].plan);
        assert_near(cell(&e, "tp_messages"), m * (layers * cell(&e, "n_tp") + ends), 1e-15,
                    cases[i].plan);
    }
}

TESTS(megatron_network);
