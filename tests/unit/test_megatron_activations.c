/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank keeps, tensor by tensor: activations by kind of layer, type and recomputed module,
 * rows of experts, weights and states by recipe and optimizer, adapters, and what host memory
 * takes.
 */
#include "megatron_support.h"

#define NO_MODULES "recomputed.norms=false recomputed.latent=false recomputed.activation=false "
#define ROOM       "cluster.gpu.memory=99999~GiB"

/* ---- activations ---- */

enum { TOKENS = 4096 };

/* Mixtral 8x7B on one rank: 32 heads of 128, 8 of keys and values, 2 of 8 experts of 14336. */
static double mixtral_layer(double saved, double copy)
{
    double h = 4096;
    double norms = 2 * 2 * h + saved * h + 2 * h; /* the router needs 16 bits */
    double heads = 2.0 * 128 * (32 + 2 * 8 + 32) + copy * 32 * 128 + 4 * 32;
    double experts = 2 * (saved * h + 2 * 2 * 14336.0 + saved * 14336.0) + 4 * 8;
    return TOKENS * (norms + heads + experts);
}

TEST_OF(a_layer_keeps_what_its_products_need, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *recipe;
        double saved;
        double copy;
    } cases[] = {
        {"precision.recipe=bf16", 2, 0},
        {"precision.recipe=fp8_current", 1, 1},
        {"precision.recipe=mxfp8 cluster.gpu.mxfp8=true", 1.03125, 1.03125},
        {"precision.recipe=nvfp4 cluster.gpu.peak_fp4=9000~TFLOP/s", 0.5625, 0.5625},
        {"precision.recipe=fp8_current train.task=lora train.lora_rank=16", 2, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate e = estimate_of(own, "mixtral-8x7b-64xh100",
                                    st_arena_printf(own->arena, "%s " ROOM, cases[i].recipe));
        assert_near(cell(&e, "A_kept[moe]"), mixtral_layer(cases[i].saved, cases[i].copy), 1e-12,
                    cases[i].recipe);
        assert_near(cell(&e, "A[moe]"), cell(&e, "A_kept[moe]"), 1e-15, "nothing is dropped");
    }
}

TEST_OF(kinds_of_layers_keep_their_own, fixture *own, set_up, tear_down)
{
    st_estimate nano =
        estimate_of(own, "llama3-8b-8xh100",
                    "model=nemotron-3-nano-30b-a3b batch.sequence=4096 " ROOM " recompute=none");
    double h = 2688;
    double scan = 2 * (2 * 4096.0 + 2 * 8 * 128 + 64) + 2 * 2 * 4096.0;
    double experts = 6 * 2 * (h + 2 * 1856) + 4 * 128 + 2 * 2 * 3712;
    assert_near(cell(&nano, "A_kept[mamba_block]"), TOKENS * (4 * h + scan), 1e-12, "Mamba-2");
    assert_near(cell(&nano, "A_kept[experts_block]"), TOKENS * (4 * h + experts), 1e-12, "experts");
    st_estimate next =
        estimate_of(own, "llama3-8b-8xh100",
                    "model=qwen3-next-80b-a3b batch.sequence=4096 " ROOM " recompute=none");
    double in = 2 * 2048 + 2 * 4096 + 2 * 32;
    double delta = 2 * (in + 2 * 2048 + 2 * 4096 + 64 * 32) + 2 * 4096;
    assert_near(cell(&next, "A_mixer[delta_moe]"), TOKENS * delta, 1e-12, "delta net");
    /* queries of 16 heads, keys and values of 2, context, gate and gated context, a sum per row */
    double gated = 2 * 256.0 * (16 + 2 * 2 + 3 * 16) + 4 * 16;
    assert_near(cell(&next, "A_mixer[moe]"), TOKENS * gated, 1e-12, "gated attention");
}

typedef struct module_case {
    const char *module;
    const char *kind;
    double drops;
} module_case;

/* DeepSeek-V3 in BF16: 128 heads, keys of 192 and values of 128, 8 of 256 experts of 2048. */
TEST_OF(recomputed_modules_drop_what_they_can_make_again, fixture *own, set_up, tear_down)
{
    double n = TOKENS;
    double h = 7168;
    double shared = n * 2 * 3 * 2048;
    double experts = 8 * n * 2 * (h + 3 * 2048) + 4 * n * 256;
    const module_case cases[] = {
        {"norms", "moe", 2 * 2 * n * h},
        {"latent", "moe", 2 * n * 128 * (2 * 192 + 128)},
        {"activation", "moe", 2 * 8 * n * 2048},
        {"shared_experts", "moe", shared},
        {"moe", "moe", experts + shared},
        {"attention", "moe", 4 * n * 128},
        {"mlp", "dense", 2 * n * 3 * 18432 + 2 * n * h},
        {"mlp", "moe", 0},
        {"activation", "dense", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate e = estimate_of(own, "deepseek-v3-2048xh800",
                                    st_arena_printf(own->arena,
                                                    "recompute=selective precision.recipe=bf16 "
                                                    "precision.gather=weights " NO_MODULES
                                                    "recomputed.%s=true " ROOM,
                                                    cases[i].module));
        double kept = cell(&e, st_arena_printf(own->arena, "A_kept[%s]", cases[i].kind));
        double left = cell(&e, st_arena_printf(own->arena, "A[%s]", cases[i].kind));
        if (fabs(kept - left - cases[i].drops) > 1e-9 * kept)
            fail_msg("%s drops %.9g of %s, not %.9g", cases[i].module, kept - left, cases[i].kind,
                     cases[i].drops);
    }
}

TEST_OF(blocks_of_layers_keep_their_input, fixture *own, set_up, tear_down)
{
    st_estimate none = estimate_of(own, "llama3-8b-8xh100", "recompute=none " ROOM);
    st_estimate some =
        estimate_of(own, "llama3-8b-8xh100", "recompute=full recomputed.layers=5 " ROOM);
    double input = 2.0 * 8192 * 4096;
    assert_near(cell(&some, "A_stage[first]"), 27 * cell(&none, "A[dense]") + 5 * input, 1e-12,
                "5 of 32 layers");
    assert_near(cell(&some, "M_recompute[first]"), cell(&none, "A[dense]") - input, 1e-12,
                "the layer in hand");
}

TEST_OF(graphs_of_a_step_reserve_rows, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *sets;
        double factor;
    } cases[] = {
        {"graphs=none", 1},
        {"graphs=none model.capacity_factor=1.25", 1},
        {"graphs=full parallel.dispatcher=hybridep", 1.5},
        {"graphs=full parallel.dispatcher=hybridep constants.static_rows=1.3", 1.3},
        {"graphs=full parallel.dispatcher=hybridep model.capacity_factor=1.25", 1.25},
        {"graphs=full parallel.dispatcher=hybridep model.imbalance=1.7", 1.7},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate e = estimate_of(own, "mixtral-8x7b-64xh100",
                                    st_arena_printf(own->arena, "%s " ROOM, cases[i].sets));
        assert_near(cell(&e, "n_rows"), cases[i].factor * 2 * TOKENS, 1e-12, cases[i].sets);
    }
}

TEST_OF(predicted_tokens_have_a_layer_and_logits, fixture *own, set_up, tear_down)
{
    st_estimate with = estimate_of(own, "deepseek-v3-2048xh800",
                                   "model.mtp=2 precision.recipe=bf16 precision.gather=weights "
                                   "constants.logit_memory=12~B recompute=none " ROOM);
    st_estimate without = estimate_of(own, "deepseek-v3-2048xh800",
                                      "model.mtp=0 precision.recipe=bf16 precision.gather=weights "
                                      "constants.logit_memory=12~B recompute=none " ROOM);
    double logits = 4096.0 * 129280;
    double layer = cell(&without, "A[moe]") + 2 * (2 + 2) * 4096.0 * 7168;
    assert_near(cell(&without, "M_logits"), 12 * logits, 1e-12, "logits");
    assert_near(cell(&with, "M_logits"), (12 + 2 * 4) * logits, 1e-12, "those of two depths");
    assert_near(cell(&with, "A_stage[last]") - cell(&without, "A_stage[last]"), 2 * layer, 1e-9,
                "layers of two depths");
}

/* ---- states ---- */

TEST_OF(states_follow_recipe_and_optimizer, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *sets;
        double bytes;
    } cases[] = {
        {"precision.recipe=bf16", 2 + 4 + 12},
        {"precision.recipe=fp8_delayed", 2 + 2 + 4 + 12},
        {"precision.recipe=fp8_current precision.gather=fp8", 2 + 4 + 12},
        {"precision.recipe=fp8_current cluster.gpu.mxfp8=true", 2 + 1 + 4 + 12},
        {"precision.recipe=fp8_block cluster.gpu.mxfp8=true", 2 + 2 + 4 + 12},
        {"precision.recipe=mxfp8 cluster.gpu.mxfp8=true", 2 + 2.0625 + 4 + 12},
        {"precision.recipe=nvfp4 cluster.gpu.peak_fp4=9000~TFLOP/s", 2 + 1.125 + 4 + 12},
        {"precision.optimizer=bf16", 2 + 4 + 4 + 4},
        {"precision.master=fp16 precision.gradients=bf16", 2 + 2 + 8 + 2},
        {"precision.master=none", 2 + 4 + 8},
        {"optimizer=muon", 2 + 4 + 4 + 4},
        {"train.task=lora train.lora_rank=16", 2},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate e =
            estimate_of(own, "llama3-8b-8xh100",
                        st_arena_printf(own->arena, "parallel.zero=0 %s " ROOM, cases[i].sets));
        assert_near(cell(&e, "state_bytes"), cases[i].bytes, 1e-15, cases[i].sets);
    }
}

TEST_OF(groups_of_shards_split_what_they_hold, fixture *own, set_up, tear_down)
{
    st_estimate e = estimate_of(own, "llama3-8b-8xh100",
                                "parallel.zero=3 parallel.shard=4 cluster.gpu.memory=999~GiB");
    assert_near(cell(&e, "state_bytes"), (2 + 4 + 12) / 4.0, 1e-15, "bytes of a parameter");
    st_estimate fp8 =
        estimate_of(own, "llama3-8b-8xh100",
                    "parallel.zero=3 precision.recipe=fp8_current precision.gather=fp8 "
                    "cluster.gpu.memory=999~GiB");
    assert_near(cell(&fp8, "state_bytes"), (1 + 4 + 12) / 8.0, 1e-15, "in FP8");
}

TEST_OF(adapters_are_all_that_is_trained, fixture *own, set_up, tear_down)
{
    st_estimate e = estimate_of(own, "llama3-8b-8xh100",
                                "train.task=lora train.lora_rank=16 parallel.zero=1 " ROOM);
    double widths = 2 * 4096 + (32 + 2 * 8) * 128 + 32 * 128 + 2 * 4096 + 3 * 14336.0;
    assert_near(cell(&e, "m_adapters[first]"), (2 + 4 + 12 / 8.0) * 32 * 16 * widths, 1e-12,
                "adapters");
    assert_near(cell(&e, "M_state[first]"),
                2 * cell(&e, "P[first]") + cell(&e, "m_adapters[first]"), 1e-12, "states");
}

/* ---- host memory ---- */

TEST_OF(host_memory_takes_its_share, fixture *own, set_up, tear_down)
{
    const char *link = "cluster.gpu.host_bandwidth=15.3~GB/s recompute=none";
    st_estimate plain = estimate_of(own, "llama3-8b-8xh100", "recompute=none " ROOM);
    st_estimate moved = estimate_of(
        own, "llama3-8b-8xh100",
        st_arena_printf(own->arena, "%s offload.activations=0.4 offload.optimizer=0.25 " ROOM,
                        link));
    st_estimate all =
        estimate_of(own, "llama3-8b-8xh100",
                    st_arena_printf(own->arena, "%s offload.activations=1 " ROOM, link));
    double layers = cell(&plain, "M_layers[first]");
    assert_near(cell(&moved, "M_layers[first]"), 0.6 * layers, 1e-12, "activations");
    assert_near(cell(&all, "M_layers[first]"), layers * 2 / 32, 1e-12, "two layers on their way");
    assert_near(cell(&plain, "state_bytes") - cell(&moved, "state_bytes"), 0.25 * 12 / 8, 1e-12,
                "states");
    double out = 0.4 * layers / 15.3e9;
    double whole = cell(&moved, "t_slowest") - 32 * cell(&moved, "t_host_wait[dense]");
    double forward =
        32 * (cell(&moved, "t_forward_pass[dense]") + cell(&moved, "forward_launch[dense]")) +
        cell(&moved, "embedding_work") + cell(&moved, "head_forward");
    double exposed = fmax(out - forward, 0) + fmax(out - (whole - forward), 0);
    assert_true(exposed > 0);
    assert_near(cell(&moved, "T_host_layers"), 16 * exposed, 1e-9, "exposed transfers");
    assert_near(cell(&moved, "T_host_states"),
                0.25 * (4 + 2 + 24) * cell(&moved, "P_updated") / 15.3e9, 1e-12,
                "updates on the host");
    assert_near(cell(&moved, "T_optimizer"), 0.75 * cell(&plain, "T_optimizer"), 1e-12,
                "updates on the GPU");
}

TEST_OF(parts_add_up_with_host_memory, fixture *own, set_up, tear_down)
{
    st_estimate e = estimate_of(own, "llama3-8b-8xh100",
                                "recompute=none offload.activations=0.7 offload.optimizer=0.3 "
                                "cluster.gpu.host_bandwidth=31~GB/s constants.site_factor=1.13 "
                                "constants.step_overhead=23.85~ms " ROOM);
    static const char *const parts[] = {"time_gemm",      "time_memory",   "time_launch",
                                        "time_exposed",   "time_slowdown", "time_bubble",
                                        "time_optimizer", "time_host",     "time_overhead"};
    double sum = 0;
    for (size_t i = 0; i < COUNT(parts); i++)
        sum += cell(&e, parts[i]);
    assert_near(sum, cell(&e, "step_time"), 1e-12, "parts");
    assert_near(cell(&e, "time_host"),
                1.13 * (cell(&e, "T_host_states") + cell(&e, "T_host_layers")), 1e-12,
                "host memory");
    assert_near(cell(&e, "time_overhead"), 1.13 * 0.02385, 1e-12, "overhead of the step");
    st_estimate none = estimate_of(own, "llama3-8b-8xh100", "");
    assert_true(cell(&none, "time_host") == 0);
}

TEST_OF(host_memory_needs_a_link, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"offload.activations=0.35", "offload.optimizer=0.35"};
    write_text(own, "no-link.yaml",
               "model: llama3-8b\n"
               "cluster:\n"
               "  nodes: 1\n"
               "  gpus_per_node: 8\n"
               "  nic_bandwidth: 400 GB/s\n"
               "  gpu: {peak_fp16: 989 TFLOP/s, peak_bf16: 989 TFLOP/s, memory: 80 GiB,\n"
               "        memory_bandwidth: 3350 GB/s, link_bandwidth: 450 GB/s, power: 700 W,\n"
               "        gemm_efficiency: 0.53}\n"
               "parallel: {dp: 8, zero: 3}\n"
               "batch: {global: 16, micro: 1, sequence: 4096}\n"
               "recompute: full\n");
    const char *job = below(own, "no-link.yaml");
    (void)estimate_of(own, job, "");
    for (size_t i = 0; i < COUNT(sets); i++) {
        st_estimate e;
        assert_int_not_equal(try_estimate(own, job, sets[i], &e), ST_OK);
        if (strstr(said(own), "require the bandwidth of a GPU to host memory") == NULL)
            fail_msg("%s: %s", sets[i], said(own));
        st_errors_clear(own->errors);
    }
}

/* ---- Muon ---- */

static double newton_schulz(double m, double n)
{
    double less = fmin(m, n);
    return 5 * (4 * less * less * fmax(m, n) + 2 * less * less * less);
}

TEST_OF(muon_iterates_its_matrices, fixture *own, set_up, tear_down)
{
    st_estimate e = estimate_of(own, "llama3-8b-8xh100", "optimizer=muon parallel.zero=1 " ROOM);
    st_estimate adam = estimate_of(own, "llama3-8b-8xh100", "parallel.zero=1 " ROOM);
    double layer = 2 * newton_schulz(4096, 4096) + 2 * newton_schulz(4096, 1024) +
                   3 * newton_schulz(4096, 14336);
    assert_near(cell(&e, "W_muon"), 32 * layer / 8, 1e-12, "iterations of a rank");
    assert_near(cell(&e, "T_muon"), 32 * layer / 8 / cell(&e, "rate_16"), 1e-12, "their time");
    assert_near(cell(&adam, "e_optimizer") - cell(&e, "e_optimizer"), 2 * 4, 1e-12, "one moment");
    assert_true(cell(&adam, "T_muon") == 0);
}

/* ---- what must hold for every plan ---- */

TEST_OF(less_is_never_more, fixture *own, set_up, tear_down)
{
    static const char *const jobs[] = {"llama3-8b-8xh100", "mixtral-8x7b-64xh100",
                                       "deepseek-v3-2048xh800", "gpt3-175b-1024xa100"};
    static const char *const steps[] = {
        "recomputed.norms=true",  "recomputed.attention=true", "recomputed.activation=true",
        "recomputed.moe=true",    "recomputed.latent=true",    "recomputed.shared_experts=true",
        "recomputed.mlp=true",    "offload.activations=0.2",   "offload.activations=0.9",
        "offload.optimizer=0.45",
    };
    static const char *const base = "recompute=selective constants.selective_saving=0 "
                                    "cluster.gpu.host_bandwidth=60~GB/s " NO_MODULES ROOM;
    for (size_t i = 0; i < COUNT(jobs); i++) {
        double memory = cell(&(st_estimate[]){estimate_of(own, jobs[i], base)}[0], "memory");
        for (size_t k = 0; k < COUNT(steps); k++) {
            st_estimate e;
            if (try_estimate(own, jobs[i], st_arena_printf(own->arena, "%s %s", base, steps[k]),
                             &e) != ST_OK) { /* a module that this model lacks */
                st_errors_clear(own->errors);
                continue;
            }
            st_errors_clear(own->errors);
            if (cell(&e, "memory") > memory * (1 + 1e-12))
                fail_msg("%s needs more with %s", jobs[i], steps[k]);
        }
        st_estimate full =
            estimate_of(own, jobs[i], st_arena_printf(own->arena, "%s recompute=full", base));
        assert_true(cell(&full, "memory") <= memory);
    }
}

TEST_OF(experts_are_split_over_more_ranks, fixture *own, set_up, tear_down)
{
    st_estimate e;
    assert_int_equal(try_estimate(own, "mixtral-8x7b-64xh100",
                                  "parallel.ep=2 parallel.zero=1 cluster.gpu.memory=30~GiB", &e),
                     ST_OK);
    double experts = 8 * 4.0 * 3 * 4096 * 14336; /* 8 layers, 4 of 8 experts */
    assert_near(cell(&e, "free_by_experts"), 0.75 * (2 + 4) * experts, 1e-12,
                "8 ranks instead of 2");
    assert_near(cell(&e, "free_by_zero_3"),
                cell(&e, "M_state_worst") - 18 * (cell(&e, "P_worst") / 16 + experts / 8) -
                    3 * 2 * cell(&e, "P_all_layers") / 32,
                1e-12, "ZeRO-3 splits experts over those that have the same");
    if (strstr(said(own), "Expert parallelism would free ") == NULL)
        fail_msg("%s", said(own));
}

TESTS(megatron_activations);
