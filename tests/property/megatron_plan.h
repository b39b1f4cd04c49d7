/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random training plans for the sheet megatron: every input that its formulas read, by its key.
 * Ranges are wide rather than sensible, so that each side of every minimum, and every case, comes
 * up.
 */
#ifndef STEPTIME_TESTS_MEGATRON_PLAN_H
#define STEPTIME_TESTS_MEGATRON_PLAN_H

#include "property.h"

enum { NONE, SELECTIVE, FULL };
enum { FP32, BF16, FP16, FP8 };
enum { KINDS_OF_LAYERS = 10, MOST_STAGES = 9 };
enum { GPIPE, ONE_F_ONE_B, INTERLEAVED, ZERO_BUBBLE, ZERO_BUBBLE_2 };

/* In base units; flags are 0 or 1, choices indices of the names below. */
typedef struct plan {
    /* the model, in the letters of Korthikanti et al. */
    double L, h, a, kv, dh, f, gated, bias, rms_norm, tied, V, multiple, positions, dropout, causal;
    double q_rank, kv_rank, rope, dv;
    double E, K, fe, fs, dense_layers, moe_every, imbalance, capacity;
    /* batch and plan */
    double B, b, s, t, p, v, d, cp, ep, etp, zero, schedule, first_layers, last_layers;
    double sequence_parallel, scatter_gather, recompute, unfused;
    double hide_tp, hide_cp, hide_ep, hide_pp, hide_gradients, hide_weights, prefetch;
    double weights, gradients, moments, messages, fp8, fused_wgrad;
    /* the cluster */
    double nodes, G, peak_fp16, peak_bf16, peak_fp32, peak_fp8, bandwidth, link, nics, memory;
    double gemm, power, price, pue, tokens;
    /* constants */
    double gemm_scale, fp8_efficiency, scores, flash, grouped, eta, stream, loss_bytes, early_stop;
    double eta_link, eta_network, small_group, alpha, alpha_rank, alpha_node, alpha_transfer;
    double slowdown, launch, launch_rank, sharpness, moe_launch, site, power_factor;
    double framework, fragmentation, buffers, logit_bytes, second_gradient, saving;
    double master_weights, keep_gathered;
    /* layers by kind, and what came with them; all neutral unless draw_kinds() draws them */
    double hybrid, window, gated_attention, index_heads, index_dim, index_top_k, index_join;
    double index_layers, streams, mamba_heads, mamba_dim, mamba_state, mamba_groups;
    double delta_k_heads, delta_v_heads, delta_k_dim, delta_v_dim, moe_latent, mtp, mtp_shared;
    double recipe, first_last, attention_fp8, gather, peak_fp4, dispatcher, cp_method, shard, outer;
    double graphs, host, again_attention, again_mlp, again_moe, again_activation, again_norms;
    double again_latent, again_shared, again_layers, task, lora_rank, sample;
    double grouped_half, half_length, expert_launch, overlap_launch, moe_sync, overhead, repeats;
    double flash_narrow, flash_sinks, flash_latent, flash_sparse, fp4_efficiency, mxfp8_efficiency;
    double cast_traffic, scan_traffic, scan_work, delta_traffic, permutes, gemm_memory, sinks,
        mxfp8, master;
    double grace, graph_launch, graph_moe, mamba_launch, graph_memory, static_rows;
    double dispatch, dispatch_network, alltoall, used;
    /* not keys: layers of each stage by kind, multi-token prediction last */
    double layers[MOST_STAGES][KINDS_OF_LAYERS + 1];
} plan;

typedef struct plan_key {
    const char *key;
    size_t at;
    const char *names[7]; /* of a choice, in the order of the constants above */
} plan_key;

#define TYPES                                                                                      \
    {                                                                                              \
        "fp32", "bf16", "fp16", "fp8"                                                              \
    }
#define KEY(name, member)                                                                          \
    {                                                                                              \
        .key = (name), .at = offsetof(plan, member)                                                \
    }

static const plan_key plan_keys[] = {
    KEY("model.layers", L),
    KEY("model.hidden", h),
    KEY("model.heads", a),
    KEY("model.kv_heads", kv),
    KEY("model.head_dim", dh),
    KEY("model.ffn", f),
    KEY("model.gated", gated),
    KEY("model.bias", bias),
    {"model.norm", offsetof(plan, rms_norm), {"layer", "rms"}},
    KEY("model.tied", tied),
    KEY("model.vocabulary", V),
    KEY("model.vocabulary_multiple", multiple),
    KEY("model.positions", positions),
    KEY("model.dropout", dropout),
    KEY("model.causal", causal),
    KEY("model.q_lora", q_rank),
    KEY("model.kv_lora", kv_rank),
    KEY("model.rope_dim", rope),
    KEY("model.v_dim", dv),
    KEY("model.experts", E),
    KEY("model.top_k", K),
    KEY("model.expert_ffn", fe),
    KEY("model.shared_ffn", fs),
    KEY("model.dense_layers", dense_layers),
    KEY("model.moe_every", moe_every),
    KEY("model.imbalance", imbalance),
    KEY("model.capacity_factor", capacity),
    KEY("batch.global", B),
    KEY("batch.micro", b),
    KEY("batch.sequence", s),
    KEY("parallel.tp", t),
    KEY("parallel.pp", p),
    KEY("parallel.virtual_stages", v),
    KEY("parallel.dp", d),
    KEY("parallel.cp", cp),
    KEY("parallel.ep", ep),
    KEY("parallel.expert_tp", etp),
    KEY("parallel.zero", zero),
    {"parallel.schedule",
     offsetof(plan, schedule),
     {"gpipe", "1f1b", "interleaved", "zero_bubble", "zero_bubble_2"}},
    KEY("parallel.first_stage_layers", first_layers),
    KEY("parallel.last_stage_layers", last_layers),
    KEY("parallel.sequence_parallel", sequence_parallel),
    KEY("parallel.scatter_gather", scatter_gather),
    {"recompute", offsetof(plan, recompute), {"none", "selective", "full"}},
    {"attention", offsetof(plan, unfused), {"flash", "unfused"}},
    KEY("overlap.tp", hide_tp),
    KEY("overlap.cp", hide_cp),
    KEY("overlap.ep", hide_ep),
    KEY("overlap.pp", hide_pp),
    KEY("overlap.gradients", hide_gradients),
    KEY("overlap.parameters", hide_weights),
    KEY("overlap.prefetch", prefetch),
    {"precision.weights", offsetof(plan, weights), TYPES},
    {"precision.gradients", offsetof(plan, gradients), TYPES},
    {"precision.optimizer", offsetof(plan, moments), TYPES},
    {"precision.communication", offsetof(plan, messages), TYPES},
    KEY("precision.fp8", fp8),
    KEY("precision.fused_wgrad", fused_wgrad),
    KEY("cluster.nodes", nodes),
    KEY("cluster.gpus_per_node", G),
    KEY("cluster.gpu.peak_fp16", peak_fp16),
    KEY("cluster.gpu.peak_bf16", peak_bf16),
    KEY("cluster.gpu.peak_fp32", peak_fp32),
    KEY("cluster.gpu.peak_fp8", peak_fp8),
    KEY("cluster.gpu.memory_bandwidth", bandwidth),
    KEY("cluster.gpu.link_bandwidth", link),
    KEY("cluster.nic_bandwidth", nics),
    KEY("cluster.gpu.memory", memory),
    KEY("cluster.gpu.gemm_efficiency", gemm),
    KEY("cluster.gpu.power", power),
    KEY("cluster.price", price),
    KEY("cluster.pue", pue),
    KEY("train.tokens", tokens),
    KEY("constants.gemm_scale", gemm_scale),
    KEY("constants.fp8_efficiency", fp8_efficiency),
    KEY("constants.attention_efficiency", scores),
    KEY("constants.flash_efficiency", flash),
    KEY("constants.grouped_efficiency", grouped),
    KEY("constants.memory_efficiency", eta),
    KEY("constants.stream_efficiency", stream),
    KEY("constants.loss_traffic", loss_bytes),
    KEY("constants.early_stop", early_stop),
    KEY("constants.link_efficiency", eta_link),
    KEY("constants.network_efficiency", eta_network),
    KEY("constants.small_group_loss", small_group),
    KEY("constants.collective_latency", alpha),
    KEY("constants.rank_latency", alpha_rank),
    KEY("constants.node_latency", alpha_node),
    KEY("constants.transfer_latency", alpha_transfer),
    KEY("constants.overlap_slowdown", slowdown),
    KEY("constants.layer_launch", launch),
    KEY("constants.rank_launch", launch_rank),
    KEY("constants.launch_sharpness", sharpness),
    KEY("constants.moe_launch", moe_launch),
    KEY("constants.site_factor", site),
    KEY("constants.power_factor", power_factor),
    KEY("constants.framework_memory", framework),
    KEY("constants.fragmentation", fragmentation),
    KEY("constants.communication_buffers", buffers),
    KEY("constants.logit_memory", logit_bytes),
    KEY("constants.second_gradient", second_gradient),
    KEY("constants.selective_saving", saving),
    KEY("constants.weights_are_master", master_weights),
    KEY("constants.keep_gathered", keep_gathered),
    KEY("model.hybrid", hybrid),
    KEY("model.window", window),
    KEY("model.gated_attention", gated_attention),
    KEY("model.index_heads", index_heads),
    KEY("model.index_dim", index_dim),
    KEY("model.index_top_k", index_top_k),
    KEY("model.index_compression", index_join),
    KEY("model.index_layers", index_layers),
    KEY("model.hyper_connections", streams),
    KEY("model.mamba_heads", mamba_heads),
    KEY("model.mamba_head_dim", mamba_dim),
    KEY("model.mamba_state", mamba_state),
    KEY("model.mamba_groups", mamba_groups),
    KEY("model.delta_k_heads", delta_k_heads),
    KEY("model.delta_v_heads", delta_v_heads),
    KEY("model.delta_k_dim", delta_k_dim),
    KEY("model.delta_v_dim", delta_v_dim),
    KEY("model.moe_latent", moe_latent),
    KEY("model.mtp", mtp),
    KEY("model.mtp_shared", mtp_shared),
    {"precision.recipe",
     offsetof(plan, recipe),
     {"default", "bf16", "fp8_delayed", "fp8_current", "fp8_block", "mxfp8", "nvfp4"}},
    KEY("precision.first_last_bf16", first_last),
    KEY("precision.attention_fp8", attention_fp8),
    {"precision.gather", offsetof(plan, gather), {"weights", "fp8", "fp4"}},
    KEY("cluster.gpu.peak_fp4", peak_fp4),
    {"parallel.dispatcher",
     offsetof(plan, dispatcher),
     {"alltoall", "allgather", "deepep", "hybridep"}},
    {"parallel.cp_method", offsetof(plan, cp_method), {"ring", "alltoall", "hierarchical"}},
    KEY("parallel.shard", shard),
    KEY("parallel.outer_states", outer),
    {"graphs", offsetof(plan, graphs), {"none", "layer", "scoped", "full"}},
    {"cluster.gpu.host", offsetof(plan, host), {"x86", "grace"}},
    KEY("recomputed.attention", again_attention),
    KEY("recomputed.mlp", again_mlp),
    KEY("recomputed.moe", again_moe),
    KEY("recomputed.activation", again_activation),
    KEY("recomputed.norms", again_norms),
    KEY("recomputed.latent", again_latent),
    KEY("recomputed.shared_experts", again_shared),
    KEY("recomputed.layers", again_layers),
    {"train.task", offsetof(plan, task), {"pretraining", "sft", "lora"}},
    KEY("train.lora_rank", lora_rank),
    KEY("train.sample", sample),
    KEY("constants.grouped_half", grouped_half),
    KEY("constants.flash_half_length", half_length),
    KEY("constants.expert_launch", expert_launch),
    KEY("constants.overlap_launch", overlap_launch),
    KEY("constants.moe_sync", moe_sync),
    KEY("constants.step_overhead", overhead),
    KEY("constants.selective_repeats", repeats),
    KEY("constants.flash_narrow", flash_narrow),
    KEY("constants.flash_sinks", flash_sinks),
    KEY("constants.flash_latent", flash_latent),
    KEY("constants.flash_sparse", flash_sparse),
    KEY("constants.fp4_efficiency", fp4_efficiency),
    KEY("constants.mxfp8_efficiency", mxfp8_efficiency),
    KEY("constants.cast_traffic", cast_traffic),
    KEY("constants.scan_traffic", scan_traffic),
    KEY("constants.scan_work", scan_work),
    KEY("constants.delta_traffic", delta_traffic),
    KEY("constants.permutation_traffic", permutes),
    KEY("constants.gemm_memory_efficiency", gemm_memory),
    KEY("model.sinks", sinks),
    KEY("cluster.gpu.mxfp8", mxfp8),
    {"precision.master", offsetof(plan, master), {"fp32", "fp16", "bf16", "none"}},
    KEY("constants.grace_launch", grace),
    KEY("constants.graph_launch", graph_launch),
    KEY("constants.graph_launch_moe", graph_moe),
    KEY("constants.mamba_launch", mamba_launch),
    KEY("constants.graph_memory", graph_memory),
    KEY("constants.static_rows", static_rows),
    KEY("constants.dispatch_efficiency", dispatch),
    KEY("constants.dispatch_network_efficiency", dispatch_network),
    KEY("constants.alltoall_efficiency", alltoall),
    KEY("cluster.gpus_used_per_node", used),
};

#undef KEY
#undef TYPES

enum { PLAN_KEYS = sizeof plan_keys / sizeof plan_keys[0] };

static inline double plan_value(const plan *x, const plan_key *key)
{
    double value;
    memcpy(&value, (const char *)x + key->at, sizeof value);
    return value;
}

/* One call in `odds` is 1, the others 0. */
static inline double draw_one_in(property_random *random, size_t odds)
{
    return random_below(random, odds) == 0 ? 1 : 0;
}

static inline double draw_whole(property_random *random, int low, int high)
{
    return random_between(random, low, high);
}

static inline double draw_real(property_random *random, double low, double high)
{
    return low + (high - low) * random_unit_interval(random);
}

/* Evenly over the powers. */
static inline double draw_wide(property_random *random, double low, double high)
{
    return low * pow(high / low, random_unit_interval(random));
}

static inline double draw_power(property_random *random, int most)
{
    return 1 << random_between(random, 0, most);
}

/* Zero now and then, which stands for "as the rest says"; and one, the least that does not. */
static inline double draw_or_zero(property_random *random, double value)
{
    size_t pick = random_below(random, 8);
    return pick < 4 ? 0 : pick < 5 ? 1 : value;
}

static inline void draw_model(property_random *random, plan *x)
{
    x->L = draw_whole(random, 27, 97);
    x->a = draw_whole(random, 2, 96);
    x->h = floor(draw_wide(random, 300, 17000));
    x->kv = draw_or_zero(random, draw_whole(random, 1, (int)x->a));
    x->dh = draw_or_zero(random, draw_whole(random, 32, 200));
    x->f = draw_or_zero(random, floor(x->h * draw_real(random, 1.5, 6)));
    x->gated = draw_one_in(random, 2);
    x->bias = draw_one_in(random, 2);
    x->rms_norm = draw_one_in(random, 2);
    x->tied = draw_one_in(random, 2);
    x->V = draw_whole(random, 1000, 260000);
    x->multiple = draw_whole(random, 1, 200);
    x->positions = draw_or_zero(random, draw_whole(random, 1000, 9000));
    x->dropout = draw_one_in(random, 2);
    x->causal = draw_one_in(random, 2);
    bool latent = random_below(random, 4) == 0;
    x->kv_rank = latent ? fmax(draw_or_zero(random, draw_whole(random, 50, 700)), 1) : 0;
    x->q_rank = latent ? draw_or_zero(random, draw_whole(random, 50, 1700)) : 0;
    x->rope = latent ? draw_whole(random, 8, 90) : 0;
    x->dv = draw_or_zero(random, draw_whole(random, 30, 200));
}

static inline void draw_experts(property_random *random, plan *x)
{
    bool moe = random_below(random, 2) == 0;
    x->ep = moe ? draw_power(random, 5) : 1;
    x->etp = moe ? draw_or_zero(random, draw_power(random, 3)) : 0;
    x->E = moe ? x->ep * draw_whole(random, 1, 20) : 0;
    x->K = moe ? draw_whole(random, 1, 9) : 0;
    x->fe = moe ? draw_or_zero(random, draw_whole(random, 300, 9000)) : 0;
    x->fs = moe ? draw_or_zero(random, draw_whole(random, 300, 9000)) : 0;
    x->dense_layers = moe ? draw_whole(random, 0, 5) : 0;
    x->moe_every = draw_whole(random, 1, 4);
    x->imbalance = draw_real(random, 1, 2.5);
    x->capacity = draw_or_zero(random, draw_real(random, 1, 2.5));
}

static inline void draw_parallel(property_random *random, plan *x)
{
    x->b = draw_whole(random, 1, 9);
    x->s = draw_wide(random, 200, 40000);
    x->t = draw_power(random, 4);
    x->p = draw_one_in(random, 3) > 0 ? 1 : draw_whole(random, 2, 9);
    x->v = x->p > 1 && random_below(random, 2) == 0 ? draw_whole(random, 2, 5) : 1;
    x->cp = draw_one_in(random, 2) > 0 ? 1 : draw_power(random, 3);
    x->d = draw_one_in(random, 5) > 0 ? 1 : draw_power(random, 7);
    while (x->t * x->cp * x->d < x->ep * (x->etp > 0 ? x->etp : x->t))
        x->d *= 2; /* whole groups of experts */
    x->B = x->b * x->d * draw_whole(random, 1, 40);
    x->zero = draw_whole(random, 0, 3);
    x->schedule = draw_whole(random, GPIPE, ZERO_BUBBLE_2);
    x->first_layers = x->p > 1 ? draw_or_zero(random, draw_whole(random, 1, 9)) : 0;
    x->last_layers = x->p > 1 ? draw_or_zero(random, draw_whole(random, 1, 9)) : 0;
    x->sequence_parallel = draw_one_in(random, 2);
    x->scatter_gather = draw_one_in(random, 2);
    x->recompute = draw_whole(random, NONE, FULL);
    x->unfused = draw_one_in(random, 2);
    x->hide_tp = draw_or_zero(random, draw_real(random, 0, 1));
    x->hide_cp = draw_real(random, 0, 1);
    x->hide_ep = draw_real(random, 0, 1);
    x->hide_pp = draw_real(random, 0, 1);
    x->hide_gradients = draw_real(random, 0, 1);
    x->hide_weights = draw_real(random, 0, 1);
    x->prefetch = draw_whole(random, 0, 4);
    x->weights = draw_whole(random, FP32, FP16);
    x->gradients = draw_whole(random, FP32, FP16);
    x->moments = draw_whole(random, FP32, FP8);
    x->messages = draw_whole(random, FP32, FP8);
    x->fp8 = draw_one_in(random, 4);
    x->fused_wgrad = draw_one_in(random, 2);
}

static inline void draw_cluster(property_random *random, plan *x)
{
    x->G = draw_whole(random, 1, 13);
    x->nodes = draw_whole(random, 1, 400);
    x->peak_fp16 = draw_wide(random, 5e13, 3e15);
    x->peak_bf16 = draw_one_in(random, 5) > 0 ? 0 : x->peak_fp16 * draw_real(random, 0.5, 1.5);
    x->peak_fp32 = draw_one_in(random, 5) > 0 ? 0 : x->peak_fp16 * draw_real(random, 0.05, 0.5);
    x->peak_fp8 = draw_one_in(random, 5) > 0 ? 0 : x->peak_fp16 * draw_real(random, 1.2, 2);
    x->bandwidth = draw_wide(random, 3e11, 8e12);
    x->link = draw_one_in(random, 8) > 0 ? 0 : draw_wide(random, 1e10, 9e11);
    x->nics = draw_one_in(random, 8) > 0 ? 0 : draw_wide(random, 1e9, 4e11);
    x->memory = draw_wide(random, 1e10, 4e12);
    x->gemm = draw_real(random, 0.3, 0.9);
    x->power = draw_real(random, 200, 1200);
    x->price = draw_real(random, 0.3, 9) / 3600;
    x->pue = draw_real(random, 1, 2);
    x->tokens = draw_or_zero(random, draw_wide(random, 1e9, 1e13));
}

static inline void draw_constants(property_random *random, plan *x)
{
    x->gemm_scale = draw_real(random, 0.5, 1.1);
    x->fp8_efficiency = draw_real(random, 0.3, 0.9);
    x->scores = draw_real(random, 0.2, 0.9);
    x->flash = draw_real(random, 0.3, 1);
    x->grouped = draw_real(random, 0.3, 1);
    x->eta = draw_real(random, 0.3, 1);
    x->stream = draw_real(random, 0.3, 1);
    x->loss_bytes = draw_real(random, 10, 70);
    x->early_stop = draw_one_in(random, 2);
    x->eta_link = draw_real(random, 0.3, 1);
    x->eta_network = draw_real(random, 0.3, 1);
    x->small_group = draw_real(random, 0, 0.7);
    x->alpha = draw_wide(random, 1e-6, 1e-3);
    x->alpha_rank = draw_wide(random, 1e-7, 1e-4);
    x->alpha_node = draw_wide(random, 1e-6, 1e-4);
    x->alpha_transfer = draw_wide(random, 1e-6, 1e-3);
    x->slowdown = draw_or_zero(random, draw_real(random, 0, 1)) + 1;
    x->launch = draw_wide(random, 1e-5, 1e-1);
    x->launch_rank = draw_wide(random, 1e-6, 1e-3);
    x->sharpness = draw_real(random, 1, 9);
    x->moe_launch = draw_real(random, 0.5, 3);
    x->site = draw_real(random, 0.5, 2);
    x->power_factor = draw_real(random, 0.5, 2);
    x->framework = draw_real(random, 0, 9e9);
    x->fragmentation = draw_real(random, 1, 1.4);
    x->buffers = draw_real(random, 0, 9e9);
    x->logit_bytes = draw_real(random, 2, 20);
    x->second_gradient = draw_or_zero(random, draw_real(random, 1, 5));
    x->saving = draw_real(random, 0, 0.9);
    x->master_weights = draw_one_in(random, 2);
    x->keep_gathered = draw_one_in(random, 2);
}

static inline plan draw_plan(property_random *random)
{
    plan x = {.index_join = 1,
              .streams = 1,
              .mamba_groups = 1,
              .flash_narrow = 1,
              .flash_sinks = 1,
              .overlap_launch = 1,
              .flash_latent = 1,
              .cast_traffic = 1,
              .permutes = 1,
              .alltoall = 1};
    draw_model(random, &x);
    draw_experts(random, &x);
    draw_parallel(random, &x);
    draw_cluster(random, &x);
    draw_constants(random, &x);
    return x;
}

/* As assignments for `--set`, in base units. */
static inline void print_plan(const plan *x)
{
    for (size_t i = 0; i < PLAN_KEYS; i++)
        printf("# %s=%.17g\n", plan_keys[i].key, plan_value(x, &plan_keys[i]));
}

#endif
