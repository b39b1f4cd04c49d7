/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers by kind, recipes, dispatchers, graphs, prediction and adapters of the sheet megatron,
 * each worked out by hand; and the FLOPs per token of every architecture in the published tables.
 */
#include "megatron_support.h"

#include "base/csv.h"

static const char job[] = "llama3-8b-8xh100";

/* An H100 of odd rates, on which all fits. */
#define GPU                                                                                        \
    "cluster.gpu.memory=99999~GiB cluster.gpu.gemm_efficiency=0.53 cluster.gpu.peak_bf16=913~"     \
    "TFLOP/s cluster.gpu.memory_bandwidth=3170~GB/s constants.memory_efficiency=0.61 "             \
    "recompute=none "

static const double rate_16 = 0.53 * 913e12;
static const double bw_memory = 0.61 * 3170e9;

static st_estimate estimate_with(fixture *own, const char *model, const char *sets)
{
    return estimate_of(own, job, st_arena_printf(own->arena, GPU "model=%s %s", model, sets));
}

static void expect(const st_estimate *estimate, const char *name, double expected)
{
    assert_near(cell(estimate, name), expected, 1e-9, name);
}

/* m x k by k x n in BF16. */
static double product(double m, double n, double k)
{
    return fmax(2 * m * n * k / rate_16, 2 * (m * k + k * n + m * n) / bw_memory);
}

/* ---- kinds ---- */

/* GPT-OSS 20B: every other layer sees a window; 64 heads of 64. */
TEST_OF(windows_see_their_keys_and_tiles, fixture *own, set_up, tear_down)
{
    st_estimate estimate =
        estimate_with(own, "gpt-oss-20b",
                      "model.window=97 batch.sequence=3328 batch.micro=3 batch.global=72 "
                      "constants.flash_efficiency=0.62 constants.flash_narrow=0.85");
    double n = 3 * 3328;
    double keys = 97 - 97.0 * 96 / (2 * 3328) + 128;
    double rate = 0.62 * 0.85 * rate_16;
    expect(&estimate, "L_kind[window_moe]", 12);
    expect(&estimate, "L_kind[moe]", 12);
    expect(&estimate, "L_kind[dense]", 0);
    expect(&estimate, "keys_window", keys);
    expect(&estimate, "pairs_window", 2 * (keys - 128)); /* edges of tiles are no work of a model */
    expect(&estimate, "t_window",
           fmax(2 * n * 64 * keys * 128 / rate, 2 * n * (64 + 8) * 128 / bw_memory));
    expect(&estimate, "core_forward[moe]", 2 * n * 3328 * 64 * 128 / 2 / rate);
    expect(&estimate, "core_backward[window_moe]", 2.5 * cell(&estimate, "t_window"));
    expect(&estimate, "t_cp_kind[window_moe]", 0);
    st_estimate narrow =
        estimate_with(own, "gpt-oss-20b", "model.window=250 batch.sequence=256 batch.global=24");
    expect(&narrow, "keys_window", 128); /* half of a sequence, which a window cannot pass */
    expect(&narrow, "pairs_window", 2 * (250 - 250.0 * 249 / (2 * 256)));
    st_estimate packed = estimate_with(
        own, "gpt-oss-20b",
        "model.window=250 batch.sequence=4608 train.task=sft train.sample=117 batch.global=24");
    expect(&packed, "pairs_window", 117 + 1); /* all of a sample, and itself */
}

/* Nemotron 3 Nano: 64 heads of 64, state 128, 8 groups. */
TEST_OF(hybrids_have_layers_of_one_block, fixture *own, set_up, tear_down)
{
    st_estimate estimate = estimate_with(
        own, "nemotron-3-nano-30b-a3b",
        "batch.sequence=2304 batch.micro=2 batch.global=48 constants.scan_traffic=41 "
        "constants.scan_work=1931~FLOP cluster.gpu.peak_fp32=71~TFLOP/s "
        "constants.attention_efficiency=0.47 constants.mamba_launch=0.55 constants.moe_launch=1.7 "
        "constants.layer_launch=2.9~ms");
    double n = 2 * 2304;
    double inner = 64 * 64;
    double in = 2 * inner + 2 * 8 * 128 + 64;
    expect(&estimate, "L_kind[mamba_block]", 23);
    expect(&estimate, "L_kind[experts_block]", 23);
    expect(&estimate, "L_kind[attention_block]", 6);
    expect(&estimate, "L_kind[moe]", 0);
    expect(&estimate, "t_scan",
           2 * n * 41 * inner / bw_memory + 2 * n * inner * (2 * 128 + 128) / (0.47 * rate_16) +
               n * inner * 1931 / 71e12);
    expect(&estimate, "t_gemm[mamba_block]", product(n, in, 2688) + product(n, 2688, inner));
    expect(&estimate, "W_token[mamba_block]", 2688 * in + inner * 2688);
    expect(&estimate, "W_token[experts_block]", 2688 * 2 * (6 * 1856.0 + 3712) + 2688 * 128);
    expect(&estimate, "t_launch[mamba_block]", 0.75 * 0.55 * 2.9e-3);
    expect(&estimate, "t_launch[experts_block]", 0.75 * 1.2 * 2.9e-3);
    expect(&estimate, "t_launch[attention_block]", 0.75 * 0.5 * 2.9e-3);
    expect(&estimate, "tp_blocks[mamba_block]", 1);
    expect(&estimate, "core_backward[mamba_block]", 2 * cell(&estimate, "t_scan"));
}

/* Qwen3-Next: 16 key heads and 32 value heads of 128; attention of 16 heads of 256 with gates. */
TEST_OF(delta_nets_and_gates, fixture *own, set_up, tear_down)
{
    st_estimate estimate =
        estimate_with(own, "qwen3-next-80b-a3b",
                      "batch.sequence=2304 batch.micro=2 batch.global=48 "
                      "constants.delta_traffic=37 constants.attention_efficiency=0.43");
    double n = 2 * 2304;
    expect(&estimate, "L_kind[delta_moe]", 36);
    expect(&estimate, "L_kind[moe]", 12);
    expect(&estimate, "delta_in", 2 * 2048 + 2 * 4096 + 2 * 32);
    expect(&estimate, "qkv_out", (16 + 2 + 2 + 16) * 256);
    expect(&estimate, "t_delta",
           2 * n * 37 * (2048 + 4096) / bw_memory + 8 * n * 4096 * 128 / (0.43 * rate_16));
    expect(&estimate, "t_gemm_mixer[delta_moe]",
           product(n, 2 * 2048 + 2 * 4096 + 64, 2048) + product(n, 2048, 4096));
    expect(&estimate, "core_forward[delta_moe]", cell(&estimate, "t_delta"));
}

/* Two ranks have half of the heads each, of Mamba-2 and of delta nets alike. */
TEST_WITH(tensor_parallelism_splits_every_mixer, set_up, tear_down)
{
    static const char plan[] = "parallel.tp=2 parallel.dp=4 batch.sequence=2304 batch.micro=2 "
                               "batch.global=48 constants.delta_traffic=37 "
                               "constants.scan_traffic=41 constants.attention_efficiency=0.43";
    fixture *own = *state;
    const double n = 2 * 2304;
    st_estimate nano = estimate_with(own, "nemotron-3-nano-30b-a3b", plan);
    const double inner = 64 * 64;
    const double in = 2 * inner + 2 * 8 * 128 + 64;
    expect(&nano, "P_mixer[mamba_block]", 2688 * (in + inner) / 2);
    expect(&nano, "t_gemm_mixer[mamba_block]",
           product(n, in / 2, 2688) + product(n, 2688, inner / 2));
    expect(&nano, "t_scan",
           (2 * n * 41 * inner / bw_memory + 2 * n * inner * (2 * 128 + 128) / (0.43 * rate_16)) /
               2);
    expect(&nano, "A_scan", 2 * n * (in + 2 * inner) / 2);
    expect(&nano, "P_mixer[mlp_block]", 0);
    st_estimate next = estimate_with(own, "qwen3-next-80b-a3b", plan);
    const double delta_in = 2 * 2048 + 2 * 4096 + 2 * 32;
    expect(&next, "P_mixer[delta_moe]", 2048 * (delta_in + 4096) / 2);
    expect(&next, "t_gemm_mixer[delta_moe]",
           product(n, delta_in / 2, 2048) + product(n, 2048, 4096.0 / 2));
    expect(&next, "t_delta",
           (2 * n * 37 * (2048 + 4096) / bw_memory + 8 * n * 4096 * 128 / (0.43 * rate_16)) / 2);
    expect(&next, "A_delta", 2 * n * (delta_in + 2 * 2048 + 3 * 4096 + 64 * 32) / 2);
}

/* DeepSeek-V4 Flash: 8 groups of 8 heads of 512 come back through a rank of 1024 each. */
TEST_OF(heads_come_back_in_groups, fixture *own, set_up, tear_down)
{
    st_estimate estimate = estimate_with(own, "deepseek-v4-flash",
                                         "batch.sequence=2304 parallel.ep=8 batch.global=72");
    const double heads = 64 * 512;
    const double plain = 2304;
    expect(&estimate, "t_projection",
           product(plain, 8 * 1024, heads / 8) + product(plain, 4096, 8 * 1024));
    expect(&estimate, "A_back", 2 * plain * 8 * 1024);
    /* 21 layers of 43 with an indexer and its keys of four tokens each, 20 with keys of 128 */
    const double indexer = 1024 * 64 * 128 + 4096 * 64 + 4096 * 128 + 4096 * (4 * 512 + 3 * 128);
    expect(&estimate, "W_index", (21 * indexer + 2 * 20 * 4096.0 * 512) / 43);
    /* Queries by way of a rank, the rotary 64 of 512 numbers included; keys are shared by heads. */
    expect(&estimate, "t_latent", product(plain, heads, 1024));
    expect(&estimate, "t_qkv",
           product(plain, 1024 + 512, 4096) + product(plain, heads, 1024) +
               cell(&estimate, "t_index"));
    expect(&estimate, "A_heads", 2 * plain * (heads + 512));
    expect(&estimate, "e_compress", plain * (21 * 2 * (512 + 128) * 54 + 20 * 512 * 36) / 43);
    /* Megatron-Bridge prints 90.78 GFLOP for a token of 4,096 (26.08) and has no weights of norms.
     */
    st_estimate printed = estimate_with(own, "deepseek-v4-flash",
                                        "batch.sequence=4096 parallel.ep=8 batch.global=72");
    assert_near(cell(&printed, "flop_token"), 90.78e9, 2e-3, "flop_token");
    assert_true(cell(&printed, "mfu") < 1.1 * cell(&printed, "mfu_causal"));
}

/* DeepSeek-V3 on 4 stages: the last one predicts. */
TEST_WITH(prediction_lies_on_the_last_stage, set_up, tear_down)
{
    static const char plan[] = "batch.sequence=2048 batch.global=64 parallel.pp=4 parallel.dp=16 "
                               "parallel.ep=16 parallel.zero=1 cluster.nodes=8 ";
    fixture *own = *state;
    st_estimate none =
        estimate_with(own, "deepseek-v3", st_arena_printf(own->arena, "%smodel.mtp=0", plan));
    st_estimate one =
        estimate_with(own, "deepseek-v3", st_arena_printf(own->arena, "%smodel.mtp=1", plan));
    st_estimate two =
        estimate_with(own, "deepseek-v3",
                      st_arena_printf(own->arena, "%smodel.mtp=2 model.mtp_shared=true", plan));
    expect(&one, "mtp_stage[first]", 0);
    expect(&one, "mtp_stage[last]", 1);
    expect(&two, "mtp_stage[last]", 2);
    double projection = 3 * product(2048, 7168, 2 * 7168);
    expect(&one, "t_prediction", cell(&one, "t_layer[moe]") + cell(&one, "t_head") + projection);
    expect(&one, "t_blocks[last]", cell(&none, "t_blocks[last]") + cell(&one, "t_prediction"));
    expect(&two, "t_blocks[last]", cell(&none, "t_blocks[last]") + 2 * cell(&one, "t_prediction"));
    /* a layer with its experts, a projection and three norms; shared depths have them once */
    double layer = cell(&one, "W_common[moe]") + 256 * cell(&one, "W_expert");
    double more = layer + 2 * 7168.0 * 7168 + 3 * 7168;
    assert_near(cell(&one, "parameters") - cell(&none, "parameters"), more, 1e-6, "parameters");
    assert_near(cell(&two, "parameters") - cell(&none, "parameters"), more, 1e-6, "shared");
    assert_near(cell(&one, "flop_token") - cell(&none, "flop_token"),
                6 * (cell(&one, "W_token[moe]") - 256 * 7168.0 + 129280 * 7168.0 +
                     2 * 7168.0 * 7168 + 128 * 320 * 1024.0),
                1e-6, "work of prediction");
}

/* ---- precision ---- */

typedef struct recipe_case {
    const char *name;
    double width, cast, rate;
} recipe_case;

TEST_WITH(recipes_have_their_widths_and_rates, set_up, tear_down)
{
    static const recipe_case recipes[] = {
        {"bf16", 2, 0, 0.53 * 913e12},
        {"fp8_delayed", 1, 4, 0.59 * 1871e12},
        {"fp8_current", 1, 6, 0.59 * 1871e12},
        {"fp8_block", 1, 4, 0.59 * 1871e12},
        {"mxfp8", 33.0 / 32, 2 + 66.0 / 32, 0.57 * 1871e12},
        {"nvfp4", 9.0 / 16, 4 + 18.0 / 16, 0.41 * 7130e12},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(recipes); i++) {
        const recipe_case *x = &recipes[i];
        st_estimate estimate = estimate_with(
            own, "llama3-8b",
            st_arena_printf(own->arena,
                            "precision.recipe=%s cluster.gpu.peak_fp8=1871~TFLOP/s "
                            "cluster.gpu.peak_fp4=7130~TFLOP/s cluster.gpu.mxfp8=true "
                            "constants.fp8_efficiency=0.59 constants.mxfp8_efficiency=0.57 "
                            "constants.fp4_efficiency=0.41 constants.cast_traffic=0.83 "
                            "precision.first_last_bf16=3",
                            x->name));
        double share = 6.0 / 32;
        expect(&estimate, "w_q", x->width);
        expect(&estimate, "w_gemm", (2 * x->width + 2) / 3);
        expect(&estimate, "rate_q", x->rate);
        expect(&estimate, "rate", 1 / ((1 - share) / x->rate + share / rate_16));
        /* inputs of the four projections: tokens times 3 hidden sizes and the inner width */
        expect(&estimate, "t_cast[dense]", 0.83 * x->cast * 8192 * (3 * 4096 + 14336) / bw_memory);
        /* gradients of queries, keys and values, of two hidden sizes, of gate and value */
        expect(&estimate, "t_cast_backward[dense]",
               0.83 * x->cast * 8192 * (6144 + 2 * 4096 + 2 * 14336) / bw_memory);
        expect(&estimate, "t_logits", 3 * product(8192, 128256, 4096));
    }
}

/* ---- experts ---- */

/* Probability that none of the marked ones is among those drawn, one after the other. */
static double none_of(int marked, int items, int drawn)
{
    double none = 1;
    for (int i = 0; i < drawn; i++)
        none *= fmax(items - marked - i, 0) / (items - i);
    return none;
}

/* 16 ranks on two nodes, 8 experts of a token. */
TEST_WITH(dispatchers_send_what_they_say, set_up, tear_down)
{
    static const char plan[] =
        "batch.sequence=1536 batch.global=64 parallel.dp=32 parallel.ep=16 parallel.zero=1 "
        "cluster.nodes=4 model.imbalance=1.3 constants.dispatch_efficiency=0.71 "
        "constants.dispatch_network_efficiency=0.87 cluster.gpu.link_bandwidth=431~GB/s "
        "cluster.nic_bandwidth=371~GB/s parallel.dispatcher=";
    fixture *own = *state;
    double ranks = 16 * (1 - none_of(8, 128, 8));
    double nodes = 2 * (1 - none_of(64, 128, 8));
    double bytes = 2.0 * 1536 * 2048 * 1.3;
    double links = bytes * ranks * 15 / 16 / (0.71 * 431e9);
    double network = bytes * nodes / 2 / (0.87 * 371e9 / 8);
    double start = 36e-6 + 8 * 5.3e-6 + 20e-6;
    double nic = 0.92 * 371e9 / 8;
    static const char *const names[] = {"deepep", "hybridep", "alltoall", "allgather"};
    const double times[] = {network + 0.3 * links, network + 0.3 * links,
                            start + 8.0 / 16 * 8 * bytes / nic, /* half stays in the node */
                            start + 15.0 / 16 * 16 * (bytes / 1.3) / fmin(8 * nic, 0.78 * 431e9)};
    for (size_t i = 0; i < COUNT(names); i++) {
        st_estimate estimate = estimate_with(own, "qwen3-30b-a3b",
                                             st_arena_printf(own->arena, "%s%s", plan, names[i]));
        expect(&estimate, "copies_ranks", ranks);
        expect(&estimate, "copies_groups", nodes);
        expect(&estimate, "t_all_to_all", times[i]);
        bool copies = i < 2; /* a token goes once to each of two nodes, there to its eight ranks */
        double payload = cell(&estimate, "ep_payload");
        double exchanged = cell(&estimate, "ep_messages") * 2 * 1536 * nodes * 2048;
        expect(&estimate, "ep_joined", copies ? 8 : 1);
        expect(&estimate, "ep_forwarded", copies ? payload : 0);
        expect(&estimate, "ep_exchanged", copies ? exchanged : i == 2 ? payload : 0);
        expect(&estimate, "ep_sent", copies ? exchanged / 2 + payload * 7 / 8 : payload * 15 / 16);
    }
    /* three of eight groups of 16 experts: a rank has half a group, a node four of them */
    st_estimate limited = estimate_with(
        own, "qwen3-30b-a3b",
        st_arena_printf(own->arena, "%sdeepep model.expert_groups=8 model.top_groups=3", plan));
    expect(&limited, "copies_ranks", 6 * (1 - none_of(8, 48, 8)));
    expect(&limited, "copies_groups",
           2 - 2 * (4 + 24 * none_of(16, 48, 8) + 24 * none_of(32, 48, 8)) / 56);
    /* two ranks of one node: all that a dispatcher sends goes over links */
    double near = 2 * (1 - none_of(64, 128, 8));
    st_estimate pair = estimate_with(own, "qwen3-30b-a3b",
                                     st_arena_printf(own->arena, "%sdeepep parallel.ep=2", plan));
    expect(&pair, "copies_ranks", near);
    expect(&pair, "t_all_to_all", bytes * near / 2 / (0.71 * 431e9));
    /* an expert on each rank: as many ranks as experts of a token, and half of 8 with 4 on 2 */
    st_estimate each =
        estimate_with(own, "qwen3-30b-a3b",
                      st_arena_printf(own->arena, "%sdeepep model.experts=16 model.top_k=4", plan));
    expect(&each, "copies_ranks", 4);
    expect(&each, "copies_groups", 2 - 2 * none_of(8, 16, 4));
}

/* DeepEP's kernels join eight ranks, HybridEP's a whole rack; both keep multiprocessors for
 * themselves. */
TEST_WITH(dispatchers_reach_and_take_multiprocessors, set_up, tear_down)
{
    static const char plan[] =
        "batch.sequence=1536 batch.global=64 parallel.dp=64 parallel.ep=32 cluster.nodes=1 "
        "cluster.gpus_per_node=64 constants.dispatch_efficiency=0.71 "
        "cluster.gpu.link_bandwidth=431~GB/s cluster.gpu.multiprocessors=139 overlap.ep=0.37 "
        "parallel.dispatcher=";
    fixture *own = *state;
    double bytes = 2.0 * 1536 * 2048 / (0.71 * 431e9);
    double ranks = 32 * (1 - none_of(4, 128, 8));
    double groups = 4 * (1 - none_of(32, 128, 8));
    static const char *const names[] = {"deepep", "hybridep", "alltoall"};
    /* a copy for each other group over links, then 0.3 of those inside; or one for each rank */
    const double times[] = {bytes * (groups * 3 / 4 + 0.3 * ranks * 31 / 32),
                            bytes * ranks * 31 / 32};
    const double taken[] = {20, 16, 0};
    const double moved[] = {4, 4, 8};
    for (size_t i = 0; i < COUNT(names); i++) {
        st_estimate estimate = estimate_with(own, "qwen3-30b-a3b",
                                             st_arena_printf(own->arena, "%s%s", plan, names[i]));
        if (i < COUNT(times))
            expect(&estimate, "t_all_to_all", times[i]);
        expect(&estimate, "slow_ep", 1 / (1 - taken[i] / 139));
        expect(&estimate, "t_slowdown_ep[moe]",
               4 * 0.37 * cell(&estimate, "t_all_to_all") * taken[i] / 139);
        expect(&estimate, "e_moved", 2 * 1536 * 8 * (moved[i] * 2048 + 3 * 768));
    }
}

/* Biases of experts are added expert by expert, but by a graph of the whole step. */
TEST_WITH(biases_of_experts_move_rows, set_up, tear_down)
{
    static const char plan[] =
        "batch.sequence=1536 batch.micro=3 batch.global=72 constants.expert_bias_traffic=17~B "
        "constants.expert_launch=31~us constants.layer_launch=2.7~ms parallel.ep=8 "
        "parallel.expert_tp=1 "
        "parallel.dispatcher=hybridep graphs=";
    fixture *own = *state;
    double rows = 3 * 1536 * 4;
    for (int full = 0; full < 2; full++) {
        st_estimate estimate = estimate_with(
            own, "gpt-oss-20b", st_arena_printf(own->arena, "%s%s", plan, full ? "full" : "none"));
        expect(&estimate, "e_moved", rows * (2 * (4 + 3) * 2880.0 + (full ? 0 : 17 * 2880)));
        double launch = cell(&estimate, "launch_kind[moe]") * 0.75 * 2.7e-3 + 4 * 31e-6;
        expect(&estimate, "t_launch[moe]", full ? 0 : launch);
    }
}

/* Squared ReLU: one matrix in, one value kept of it and its square, as GELU has them. */
TEST_OF(plain_activations_have_one_input, fixture *own, set_up, tear_down)
{
    st_estimate estimate =
        estimate_with(own, "nemotron4-15b", "batch.micro=3 batch.global=72 batch.sequence=1536");
    double n = 3 * 1536;
    double f = cell(&estimate, "f");
    expect(&estimate, "up", 1);
    expect(&estimate, "W_mlp", 2 * 6144 * f);
    expect(&estimate, "A_mlp", 2 * 2 * n * f); /* before it, and after it for the second product */
    double others = cell(&estimate, "e_norms") + 2 * 2 * n * cell(&estimate, "qkv_out");
    expect(&estimate, "e_elementwise[dense]", others + 2 * 2 * n * f); /* read and written */
}

/* ---- what kernels reach alone ---- */

/* Products without an efficiency of their own take that of the recipe's table, with its corner. */
TEST_WITH(products_reach_what_they_reach_alone, set_up, tear_down)
{
    static const struct {
        const char *name;
        double peak, efficiency, scale, bandwidth, constant, width;
    } cases[] = {
        {"bf16", 913, 0.71, 1, 0.57, 2.3, 2},
        {"fp8_delayed", 1871, 0.61, 0.97, 0.47, 7.9, 4.0 / 3},
        {"fp8_current", 1871, 0.61, 1.07, 0.47, 7.9, 4.0 / 3},
        {"fp8_block", 1871, 0.59, 1, 0.53, 6.1, 4.0 / 3},
        {"mxfp8", 1871, 0.63, 0.93, 0.61, 8.3, (2 + 2 * 1.03125) / 3},
        {"nvfp4", 3907, 0.43, 1.31, 0.51, 7.1, (2 + 2 * 0.5625) / 3},
    };
    static const char gpu[] =
        "cluster.gpu.gemm_efficiency=0 constants.gemm_scale=1.05 constants.fp8_efficiency=0 "
        "constants.mxfp8_efficiency=0 constants.fp4_efficiency=0 constants.fp8_scale=1.07 "
        "constants.fp8_delayed_scale=0.97 "
        "constants.mxfp8_scale=0.93 constants.fp4_scale=1.31 cluster.gpu.peak_fp8=1871~TFLOP/s "
        "cluster.gpu.peak_fp4=3907~TFLOP/s cluster.gpu.mxfp8=true "
        "cluster.gpu.gemm_efficiency_bf16=0.71 cluster.gpu.gemm_memory_bf16=0.57 "
        "cluster.gpu.gemm_constant_bf16=2.3~us cluster.gpu.gemm_efficiency_fp8=0.61 "
        "cluster.gpu.gemm_memory_fp8=0.47 cluster.gpu.gemm_constant_fp8=7.9~us "
        "cluster.gpu.gemm_efficiency_fp8_block=0.59 cluster.gpu.gemm_memory_fp8_block=0.53 "
        "cluster.gpu.gemm_constant_fp8_block=6.1~us cluster.gpu.gemm_efficiency_mxfp8=0.63 "
        "cluster.gpu.gemm_memory_mxfp8=0.61 cluster.gpu.gemm_constant_mxfp8=8.3~us "
        "cluster.gpu.gemm_efficiency_nvfp4=0.43 cluster.gpu.gemm_memory_nvfp4=0.51 "
        "cluster.gpu.gemm_constant_nvfp4=7.1~us";
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate estimate = estimate_of(
            own, job,
            st_arena_printf(own->arena, GPU "%s precision.recipe=%s", gpu, cases[i].name));
        double rate = 1.05 * cases[i].scale * cases[i].efficiency * cases[i].peak * 1e12;
        double m = cell(&estimate, "n");
        double work = 2 * m * 4096 * 14336 / rate;
        double bytes = cases[i].width * (m * 14336 + 14336.0 * 4096 + m * 4096);
        double moved = bytes / (cases[i].bandwidth * 3170e9);
        expect(&estimate, "t_mlp_down",
               cases[i].constant * 1e-6 + sqrt(sqrt(pow(work, 4) + pow(moved, 4))));
        /* the output layer stays in 16 bits */
        double logits = 2 * m * 128256 * 4096 / (1.05 * 0.71 * 913e12);
        double rows = 2 * (m * 4096 + 4096.0 * 128256 + m * 128256) / (0.57 * 3170e9);
        expect(&estimate, "t_logits", 3 * (2.3e-6 + sqrt(sqrt(pow(logits, 4) + pow(rows, 4)))));
    }
    /* an efficiency that somebody gives goes first */
    st_estimate given = estimate_of(
        own, job, st_arena_printf(own->arena, GPU "%s cluster.gpu.gemm_efficiency=0.53", gpu));
    expect(&given, "rate_16", 1.05 * 0.53 * 913e12);
    expect(&given, "t0_q", 0);
    /* and narrower products keep their share */
    given =
        estimate_of(own, job,
                    st_arena_printf(own->arena,
                                    GPU "%s cluster.gpu.gemm_efficiency=0.53 "
                                        "cluster.gpu.gemm_kept=0.743 precision.recipe=fp8_current",
                                    gpu));
    expect(&given, "rate_q", 1.05 * 1.07 * 0.61 * 0.743 * 1871e12);
}

/* Attention without a rate over that of products has its own, by width of heads, length, and rows:
 * four heads of queries to one of keys, or eight. */
TEST_WITH(attention_reaches_what_it_reaches_alone, set_up, tear_down)
{
    static const char gpu[] =
        "constants.flash_efficiency=0 constants.flash_scale=0.73 constants.flash_sinks=0.41 "
        "constants.flash_half_scale=1.87 "
        "cluster.gpu.attention_efficiency_64=0.47 cluster.gpu.attention_half_64=1130 "
        "cluster.gpu.attention_efficiency_128=0.59 cluster.gpu.attention_half_128=790 "
        "batch.sequence=3328 batch.global=64";
    fixture *own = *state;
    st_estimate wide = estimate_with(own, "llama3-8b", gpu);
    double work = 2.0 * 3328 * 3328 * 32 * 128;
    expect(&wide, "t_flash", work * (1 + 1.87 * 5 / 8 * 790 / 3328) / (0.73 * 0.59 * 913e12));
    expect(&wide, "t_core_backward", 2.5 * cell(&wide, "t_flash"));
    st_estimate narrow = estimate_with(own, "gpt-oss-20b", gpu);
    work = 2.0 * 3328 * 3328 * 64 * 64;
    expect(&narrow, "t_flash",
           work * (1 + 1.87 * 9 / 16 * 1130 / 3328) / (0.41 * 0.73 * 0.47 * 913e12));
}

/* DeepSeek-V3 with the indexer of V3.2: 64 heads of 128, 2,048 keys of 512 + 64 numbers. */
TEST_WITH(indexers_score_all_keys_in_fp8, set_up, tear_down)
{
    static const char plan[] =
        "batch.sequence=65536 batch.global=64 constants.index_efficiency=0.37 "
        "constants.flash_sparse=0.83 constants.flash_sparse_backward=1.39 "
        "constants.flash_efficiency=0.62 parallel.tp=2 parallel.dp=4 parallel.ep=8 "
        "parallel.expert_tp=1 cluster.gpu.peak_fp8=1871~TFLOP/s ";
    static const char indexer[] = "model.index_heads=64 model.index_dim=128 model.index_top_k=2048";
    fixture *own = *state;
    st_estimate sparse =
        estimate_with(own, "deepseek-v3", st_arena_printf(own->arena, "%s%s", plan, indexer));
    /* each rank scores half of the square for all 64 heads; sums in FP32, written and read */
    double pairs = 65536.0 * 65536 / 2;
    double scoring = 2 * pairs * 64 * 128 / (0.37 * 1871e12) + 8 * pairs / bw_memory;
    expect(&sparse, "t_scoring", scoring);
    double keys = 2048 * (1 - 2048 / (2 * 65536.0));
    double core = 2 * 65536.0 * 64 * keys * (2 * 512 + 64) / (0.83 * 0.62 * rate_16);
    expect(&sparse, "t_core_forward", core + scoring);
    /* their loss: queries times chosen keys once more, two gradients of the chosen scores */
    double loss = 65536.0 * keys * (2 * 64 * (512 + 64) + 4 * 64 * 128) / (0.83 * 0.62 * rate_16);
    expect(&sparse, "t_core_backward", 2.5 * 1.39 * core + loss);
    /* what it is for: attention of long sequences takes less */
    st_estimate full = estimate_with(own, "deepseek-v3", plan);
    assert_true(cell(&sparse, "t_core_forward") < 0.8 * cell(&full, "t_core_forward"));
}

/* Layers that are not computed again launch no kernels again. */
TEST_OF(launches_come_with_the_layers_computed_again, fixture *own, set_up, tear_down)
{
    st_estimate estimate = estimate_with(own, "llama3-8b",
                                         "recompute=full recomputed.layers=11 "
                                         "constants.layer_launch=2.7~ms");
    expect(&estimate, "t_launch[dense]", (0.75 + 0.25 * 11 / 32) * 2.7e-3);
}

/* Attention in FP8 is as fast as FP8, whatever the linear layers are computed in. */
TEST_WITH(attention_in_fp8_has_the_rate_of_fp8, set_up, tear_down)
{
    static const char *const recipes[] = {"bf16", "fp8_current", "nvfp4"};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(recipes); i++) {
        st_estimate estimate = estimate_with(
            own, "llama3-8b",
            st_arena_printf(own->arena,
                            "cluster.gpu.peak_fp8=1871~TFLOP/s cluster.gpu.peak_fp4=3907~TFLOP/s "
                            "constants.flash_efficiency=0.62 precision.attention_fp8=true "
                            "precision.recipe=%s",
                            recipes[i]));
        expect(&estimate, "rate_core", 0.62 * rate_16 * 1.6);
    }
}

/* ---- launches ---- */

TEST_WITH(graphs_take_launches_away, set_up, tear_down)
{
    static const char *const names[] = {"none", "layer", "scoped", "full"};
    static const double dense[] = {1, 0.23, 0.23, 0};
    static const double moe[] = {1, 0.61, 0.61, 0};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(names); i++) {
        st_estimate estimate = estimate_with(
            own, "deepseek-v2-lite",
            st_arena_printf(own->arena,
                            "batch.sequence=1536 constants.layer_launch=2.7~ms "
                            "constants.moe_launch=1.6 constants.graph_launch=0.23 "
                            "constants.graph_launch_moe=0.61 constants.moe_sync=310~us "
                            "constants.expert_launch=17~us precision.recipe=fp8_current "
                            "constants.overlap_launch=1.7 overlap.ep=0.37 "
                            "cluster.gpu.host=grace constants.grace_launch=1.35 parallel.ep=8 "
                            "parallel.dispatcher=%s graphs=%s",
                            i % 3 > 0 ? "deepep" : "hybridep", names[i]));
        double host = 1.35 * 0.75 * 2.7e-3;
        expect(&estimate, "t_launch[dense]", dense[i] * host);
        double experts = i == 3 ? 0 : 1.35 * 17e-6 * 64 / 8; /* outside of graphs */
        double turns =
            i % 3 > 0 ? 1 + 0.7 * 0.37 : 1; /* beside another micro-batch, counts on the host */
        expect(&estimate, "t_launch[moe]", turns * (moe[i] * 1.6 * host + experts));
        expect(&estimate, "t_sync[moe]", i == 3 ? 0 : 310e-6);
        expect(&estimate, "t_sync[dense]", 0);
    }
}

/* ---- tasks, shards, stages ---- */

TEST_OF(adapters_leave_weights_alone, fixture *own, set_up, tear_down)
{
    st_estimate full = estimate_with(own, "llama3-8b", "batch.sequence=2304");
    st_estimate lora =
        estimate_with(own, "llama3-8b", "batch.sequence=2304 train.task=lora train.lora_rank=24");
    double n = 2304;
    expect(&lora, "t_adapters[dense]", product(n, 24, 18432) + product(n, 24, 51200));
    expect(&lora, "trained", 32 * 24 * (18432 + 51200) / cell(&full, "parameters"));
    expect(&lora, "t_logits", 2 * cell(&full, "t_logits") / 3);
    expect(&lora, "t_accumulate[dense]", 0);
    expect(&lora, "t_wgrad[dense]", 0);
    expect(&lora, "t_backward[dense]",
           cell(&full, "t_gemm[dense]") + cell(&full, "core_backward[dense]") +
               2 * (cell(&full, "t_elementwise[dense]") + cell(&lora, "t_adapters[dense]")));
    expect(&lora, "T_optimizer", cell(&lora, "trained") * cell(&full, "T_optimizer"));
    expect(&lora, "flop_token",
           cell(&full, "flop_token") - 2 * (cell(&full, "W_visited") + 128256 * 4096.0));
    expect(&lora, "flop_model",
           cell(&full, "flop_model") - 2304 * cell(&lora, "tokens_per_s") *
                                           cell(&lora, "step_time") / 2304 *
                                           (2 * (cell(&full, "W_visited") + 128256 * 4096.0) -
                                            6 * cell(&lora, "parameters_trained")));
}

/* 64 ranks: gradients of adapters alone travel, 2 x 63/64 of 4 bytes; frozen weights if sharded. */
TEST_OF(adapters_alone_are_reduced, fixture *own, set_up, tear_down)
{
    static const char plan[] = "parallel.dp=64 cluster.nodes=8 cluster.nic_bandwidth=371~GB/s "
                               "batch.global=64 train.task=lora train.lora_rank=";
    static const struct {
        const char *words;
        double adapted; /* inputs and outputs of a layer's matrices, of 4 rows of Llama 3 8B */
        double zero;
    } cases[] = {{"8 parallel.zero=0", 69632, 0},
                 {"256 parallel.zero=1", 69632, 1},
                 {"17 parallel.zero=3", 69632, 3},
                 {"17 parallel.zero=0 train.lora_fc1=false train.lora_fc2=false", 18432, 0},
                 {"17 parallel.zero=2 train.lora_qkv=false train.lora_projection=false", 51200, 2},
                 {"0 parallel.zero=0 train.lora_fc1=false train.lora_qkv=false", 26624, 0}};
    static const double ranks[] = {8, 256, 17, 17, 17, 32};
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate e = estimate_with(own, "llama3-8b",
                                      st_arena_printf(own->arena, "%s%s", plan, cases[i].words));
        double adapters = 32 * ranks[i] * cases[i].adapted;
        double bytes =
            cases[i].zero >= 1 ? (4 * cell(&e, "n_reduce") + 2 * cell(&e, "n_gather")) : 2 * 4;
        double frozen = cases[i].zero >= 3 ? 2 * cell(&e, "n_gather") * cell(&e, "P_stage") : 0;
        expect(&e, "parameters_trained", adapters);
        expect(&e, "dp_sent", (bytes * adapters + frozen) * 63 / 64);
        expect(&e, "V_reduced", 4 * adapters);
        expect(&e, "P_updated", adapters / (cases[i].zero >= 1 ? 64 : 1));
        expect(&e, "m_adapters[first]",
               adapters *
                   ((cases[i].zero >= 3 ? 2.0 / 64 : 2) + (cases[i].zero >= 2 ? 4.0 / 64 : 4) +
                    (cases[i].zero >= 1 ? 12.0 / 64 : 12)));
    }
}

TEST_OF(packed_samples_see_themselves, fixture *own, set_up, tear_down)
{
    st_estimate estimate =
        estimate_with(own, "llama3-8b", "batch.sequence=4608 train.task=sft train.sample=517");
    expect(&estimate, "s_seen", 517);
    expect(&estimate, "scores", 4608.0 * 517 * 32);
    expect(&estimate, "work_core", 4608.0 * 517 * 32 * 256);
}

/* 32 data-parallel ranks, weights split among 8: four replicas. */
TEST_OF(replicas_sum_their_gradients_once, fixture *own, set_up, tear_down)
{
    st_estimate estimate = estimate_with(
        own, "llama3-8b",
        "batch.sequence=1536 batch.global=96 parallel.dp=32 parallel.shard=8 parallel.zero=3 "
        "cluster.nodes=4 cluster.nic_bandwidth=371~GB/s");
    double bytes = 4 * cell(&estimate, "P_stage") / 8;
    expect(&estimate, "group_dp", 8);
    expect(&estimate, "replicas", 4);
    expect(&estimate, "state_ranks", 8);
    expect(&estimate, "t_reduce_replicas",
           (36e-6 + 8 * 5.3e-6 + 2 * 0.75 * bytes / (0.92 * 371e9 / 8)) / 3);
}

/* 126 layers, embedding and loss count as one each: 128 on 16 stages, and on interleaved ones also
 * where nobody says so. */
TEST_WITH(ends_count_as_layers, set_up, tear_down)
{
    static const char plan[] = "batch.global=32 parallel.tp=8 parallel.dp=1 parallel.zero=0 ";
    static const struct {
        const char *sets;
        double first, middle;
    } cases[] = {
        {"parallel.pp=16 cluster.nodes=16 parallel.account_embedding=true "
         "parallel.account_loss=true",
         7, 8},
        {"parallel.pp=16 parallel.virtual_stages=4 cluster.nodes=16", 7, 8},
        {"parallel.pp=16 cluster.nodes=16", 8, 8},
        {"parallel.pp=9 cluster.nodes=9", 14, 14},
        {"parallel.pp=11 cluster.nodes=11", 12, 12},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate estimate = estimate_with(
            own, "llama3-405b", st_arena_printf(own->arena, "%s%s", plan, cases[i].sets));
        expect(&estimate, "L_stage[first]", cases[i].first);
        expect(&estimate, "L_stage[middle]", cases[i].middle);
    }
}

/* Megatron counts recomputed layers by chunk. */
TEST_OF(layers_are_computed_again_in_each_chunk, fixture *own, set_up, tear_down)
{
    st_estimate estimate = estimate_with(own, "llama3-8b",
                                         "recompute=full recomputed.layers=3 parallel.pp=2 "
                                         "parallel.virtual_stages=4 parallel.dp=4");
    expect(&estimate, "recompute_share", 3.0 * 2 * 4 / 32);
}

TEST_WITH(modules_are_computed_again, set_up, tear_down)
{
    static const char plan[] = "batch.sequence=1536 parallel.ep=8 recompute=selective recomputed.";
    fixture *own = *state;
    static const char *const modules[] = {"attention", "moe", "shared_experts"};
    st_estimate none = estimate_with(own, "deepseek-v2-lite", "batch.sequence=1536 parallel.ep=8");
    const double times[] = {cell(&none, "t_core_forward"),
                            cell(&none, "t_experts") + cell(&none, "t_router") +
                                cell(&none, "e_routed") / bw_memory,
                            cell(&none, "t_shared") * 2 / 3};
    for (size_t i = 0; i < COUNT(modules); i++) {
        st_estimate estimate = estimate_with(
            own, "deepseek-v2-lite", st_arena_printf(own->arena, "%s%s=true", plan, modules[i]));
        expect(&estimate, "t_recompute[moe]", times[i]);
        expect(&estimate, "ep_passes", i == 1 ? 3 : 2);
    }
    st_estimate norms =
        estimate_with(own, "deepseek-v2-lite", st_arena_printf(own->arena, "%snorms=true", plan));
    expect(&norms, "t_recompute[dense]", 4 * 2 * 1536.0 * 2048 / bw_memory);
}

/* ---- published FLOPs ---- */

static double inner_width_of_nano(const char *sequence)
{
    /* 23 layers of Mamba-2 with an inner width of twice the hidden size, 5376 instead of 4096 */
    return strcmp(sequence, "8192") == 0 ? -6 * 23 * 1280.0 * (3 * 2688 + 3.5 * 128) : 0;
}

/* What a source leaves out or counts otherwise, of a token in FLOP, so that both count alike. */
static double counted_otherwise(const char *model, const char *sequence)
{
    if (strncmp(model, "Nemotron-3-Nano", 15) == 0 || strncmp(model, "Nemotron-3.5", 12) == 0)
        return inner_width_of_nano(sequence);
    if (strcmp(model, "Qwen3-Next-80B-A3B") == 0) /* gates of attention, steps of delta nets */
        return 6 * 2048 * (12 * 4096.0 + 36 * 64.0);
    return 0;
}

static const char *file_of(fixture *own, const char *model)
{
    char *name = st_arena_copy(own->arena, model, strlen(model));
    assert_non_null(name);
    for (char *c = name; *c != '\0'; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
    return strncmp(name, "llama3.1", 8) == 0 ? "llama3-405b" : name;
}

static void expect_row(fixture *own, const st_csv *csv, size_t row)
{
    const char *model = st_csv_field(csv, row, st_csv_column(csv, "model"));
    const char *sequence = st_csv_field(csv, row, st_csv_column(csv, "seq"));
    const char *layers = st_csv_field(csv, row, st_csv_column(csv, "layers"));
    const char *depth = st_csv_field(csv, row, st_csv_column(csv, "mtp"));
    const char *flops = st_csv_field(csv, row, st_csv_column(csv, "flops_per_token_G"));
    bool dense = st_csv_field(csv, row, st_csv_column(csv, "experts"))[0] == '\0';
    bool cut = strncmp(model, "Llama3.1", 8) == 0 || strncmp(model, "Grok1", 5) == 0;
    st_estimate estimate =
        estimate_with(own, file_of(own, model),
                      st_arena_printf(own->arena, "batch.sequence=%s model.vocabulary=%s %s%s %s%s",
                                      sequence, st_csv_field(csv, row, st_csv_column(csv, "vocab")),
                                      cut ? "model.layers=" : "", cut ? layers : "",
                                      dense ? "" : "model.mtp=", dense ? "" : depth));
    double ours = cell(&estimate, "flop_token") - counted_otherwise(model, sequence);
    if (!(fabs(ours / (1e9 * strtod(flops, NULL)) - 1) < 0.006))
        fail_msg("%s, %s tokens: %.2f GFLOP a token, the table has %s", model, sequence, ours / 1e9,
                 flops);
}

static size_t expect_table(fixture *own, const char *path)
{
    FILE *stream = fopen(path, "rb");
    const st_csv *csv = NULL;
    size_t rows = 0;
    if (stream == NULL) {
        print_message("[ SKIPPED  ] %s is not there (STEPTIME_DATA)\n", path);
        return 0;
    }
    char *text = st_arena_alloc(own->arena, 1 << 20, 1);
    assert_non_null(text);
    size_t length = fread(text, 1, 1 << 20, stream);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(st_csv_parse(path, text, length, own->arena, &csv, own->errors), ST_OK);
    size_t model = st_csv_column(csv, "model");
    for (size_t row = 0; row < csv->row_count; row++) {
        bool again =
            row > 0 &&
            strcmp(st_csv_field(csv, row, model), st_csv_field(csv, row - 1, model)) == 0 &&
            strcmp(st_csv_field(csv, row, st_csv_column(csv, "flops_per_token_G")),
                   st_csv_field(csv, row - 1, st_csv_column(csv, "flops_per_token_G"))) == 0;
        /* Adapters are counted by sources in two ways; see adapters_leave_weights_alone. */
        if (again || strcmp(st_csv_field(csv, row, st_csv_column(csv, "task")), "lora") == 0)
            continue;
        expect_row(own, csv, row);
        rows++;
    }
    return rows;
}

TEST_WITH(published_work_of_a_token_is_met, set_up, tear_down)
{
    static const char *const tables[] = {"modern_nemo.csv", "modern_other.csv"};
    fixture *own = *state;
    const char *data = getenv("STEPTIME_DATA");
    for (size_t i = 0; i < COUNT(tables); i++) {
        size_t rows =
            expect_table(own, st_arena_printf(own->arena, "%s/step_times/%s",
                                              data != NULL ? data : "../shared/data", tables[i]));
        if (rows == 0)
            skip();
        assert_true(rows > 15);
    }
}

TESTS(megatron_kinds);
