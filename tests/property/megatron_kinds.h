/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random plans with layers of any kind: windows, delta nets, hybrids of single blocks, prediction;
 * with recipes of precision, dispatchers, graphs, modules that are computed again and adapters.
 */
#ifndef STEPTIME_TESTS_MEGATRON_KINDS_H
#define STEPTIME_TESTS_MEGATRON_KINDS_H

#include "megatron_plan.h"

/* In the order of the sheet's enumeration. */
enum {
    A_DENSE,
    A_MOE,
    A_WINDOW,
    A_WINDOW_MOE,
    A_DELTA,
    A_DELTA_MOE,
    A_MAMBA,
    AN_ATTENTION,
    AN_MLP,
    AN_EXPERTS
};
static const char *const layer_names[KINDS_OF_LAYERS] = {
    "dense",     "moe",         "window",          "window_moe", "delta",
    "delta_moe", "mamba_block", "attention_block", "mlp_block",  "experts_block"};
enum { PRETRAINING, SFT, LORA };

static inline bool is_routed(size_t kind)
{
    return kind == A_MOE || kind == A_WINDOW_MOE || kind == A_DELTA_MOE || kind == AN_EXPERTS;
}

static inline bool has_attention(size_t kind)
{
    return kind <= A_WINDOW_MOE || kind == AN_ATTENTION;
}

static inline bool is_possible(const plan *x, size_t kind)
{
    if ((kind >= A_MAMBA) != (x->hybrid > 0) || (is_routed(kind) && x->E <= 0))
        return false;
    return ((kind != A_WINDOW && kind != A_WINDOW_MOE) || x->window > 0) &&
           ((kind != A_DELTA && kind != A_DELTA_MOE) || x->delta_v_heads > 0);
}

static inline void draw_shapes_of_kinds(property_random *random, plan *x)
{
    x->hybrid = draw_one_in(random, 3);
    x->window = x->hybrid > 0 ? 0 : draw_or_zero(random, draw_whole(random, 30, 190));
    x->gated_attention = draw_one_in(random, 3);
    bool indexed = x->hybrid <= 0 && random_below(random, 5) == 0;
    x->index_heads = indexed ? draw_whole(random, 3, 70) : 0;
    x->index_dim = indexed ? draw_whole(random, 30, 130) : 0;
    x->index_top_k = indexed ? draw_whole(random, 30, 900) : 0;
    x->index_join = draw_whole(random, 1, 5);
    x->streams = random_below(random, 5) == 0 ? draw_whole(random, 2, 5) : 1;
    x->mamba_heads = x->hybrid > 0 ? draw_whole(random, 3, 130) : 0;
    x->mamba_dim = draw_whole(random, 30, 130);
    x->mamba_state = draw_whole(random, 30, 260);
    x->mamba_groups = draw_whole(random, 1, 9);
    bool deltas = x->hybrid <= 0 && random_below(random, 3) == 0;
    x->delta_k_heads = draw_whole(random, 3, 40);
    x->delta_v_heads = deltas ? draw_whole(random, 3, 70) : 0;
    x->delta_k_dim = draw_whole(random, 30, 140);
    x->delta_v_dim = draw_whole(random, 30, 140);
    x->moe_latent = x->E > 0 ? draw_or_zero(random, draw_whole(random, 300, 2100)) : 0;
    x->mtp = draw_or_zero(random, draw_whole(random, 1, 3));
    x->mtp_shared = draw_one_in(random, 2);
}

/* Each stage has its own layers, all of them at least one. */
static inline void draw_layers_of_stages(property_random *random, plan *x)
{
    x->L = 0;
    for (size_t stage = 0; stage < (size_t)x->p; stage++) {
        for (int i = random_between(random, 1, 13); i > 0;) {
            size_t kind = random_below(random, KINDS_OF_LAYERS);
            if (!is_possible(x, kind))
                continue;
            x->layers[stage][kind]++;
            x->L++;
            i--;
        }
    }
    x->layers[(size_t)x->p - 1][KINDS_OF_LAYERS] = x->mtp;
    x->first_layers = 0;
    x->last_layers = 0;
    x->index_layers = x->index_heads > 0 ? draw_whole(random, 0, (int)x->L) : 0;
}

static inline void draw_ways_of_kinds(property_random *random, plan *x)
{
    x->recipe = draw_whole(random, 0, 6);
    x->first_last = draw_or_zero(random, draw_whole(random, 1, 2));
    x->attention_fp8 = draw_one_in(random, 4);
    x->gather = draw_whole(random, 0, 2);
    x->peak_fp4 = draw_one_in(random, 3) > 0 ? 0 : x->peak_fp16 * draw_real(random, 2.2, 6);
    x->dispatcher = draw_whole(random, 0, 3);
    x->cp_method = draw_whole(random, 0, 2);
    x->shard = x->zero > 2 && x->d > 1 ? draw_or_zero(random, 2) : 0;
    x->outer = x->shard > 0 ? draw_whole(random, 0, 1) : 0;
    x->graphs = draw_whole(random, 0, 3);
    x->host = draw_one_in(random, 2);
    x->again_attention = draw_one_in(random, 2);
    x->again_mlp = draw_one_in(random, 3);
    x->again_moe = x->E > 0 ? draw_one_in(random, 3) : 0;
    x->again_activation = x->E > 0 ? draw_one_in(random, 3) : 0;
    x->again_norms = draw_one_in(random, 3);
    x->again_latent = x->kv_rank > 0 ? draw_one_in(random, 3) : 0;
    x->again_shared = x->fs > 0 ? draw_one_in(random, 3) : 0;
    x->again_layers = x->recompute == FULL ? draw_or_zero(random, draw_whole(random, 1, 5)) : 0;
    x->task = draw_whole(random, PRETRAINING, LORA);
    x->lora_rank = x->task == LORA ? draw_whole(random, 3, 65) : 0;
    x->sample = draw_or_zero(random, draw_real(random, 90, 3000));
    x->grouped_half = draw_real(random, 0, 300);
    x->half_length = draw_real(random, 0, 900);
    x->expert_launch = draw_wide(random, 1e-6, 1e-4);
    x->overlap_launch = draw_real(random, 0.5, 2.5);
    x->moe_sync = draw_wide(random, 1e-6, 1e-3);
    x->overhead = draw_wide(random, 1e-5, 1e-1);
    x->repeats = draw_real(random, 0, 1);
}

static inline void draw_constants_of_kinds(property_random *random, plan *x)
{
    x->flash_narrow = draw_real(random, 0.3, 1);
    x->flash_sinks = draw_real(random, 0.3, 1);
    x->flash_latent = draw_real(random, 0.3, 1);
    x->flash_sparse = draw_real(random, 0.3, 1);
    x->fp4_efficiency = draw_real(random, 0.2, 0.8);
    x->mxfp8_efficiency = draw_real(random, 0.3, 0.9);
    x->cast_traffic = draw_real(random, 0.5, 2);
    x->scan_traffic = draw_real(random, 10, 60);
    x->scan_work = draw_real(random, 500, 3000);
    x->delta_traffic = draw_real(random, 10, 60);
    x->permutes = draw_real(random, 0.5, 2);
    x->gemm_memory = draw_or_zero(random, draw_real(random, 0.3, 0.9));
    x->sinks = draw_one_in(random, 4);
    x->mxfp8 = draw_one_in(random, 2);
    x->master = draw_whole(random, 0, 3);
    x->grace = draw_real(random, 0.5, 2);
    x->graph_launch = draw_real(random, 0.1, 0.9);
    x->graph_moe = draw_real(random, 0.1, 0.9);
    x->mamba_launch = draw_real(random, 0.3, 0.9);
    x->graph_memory = draw_real(random, 1e8, 5e9);
    x->static_rows = draw_real(random, 1, 3);
    x->dispatch = draw_real(random, 0.3, 1);
    x->dispatch_network = draw_real(random, 0.3, 1);
    x->alltoall = draw_real(random, 0.3, 1);
}

static inline plan draw_plan_of_kinds(property_random *random)
{
    plan x = draw_plan(random);
    draw_shapes_of_kinds(random, &x);
    draw_layers_of_stages(random, &x);
    draw_ways_of_kinds(random, &x);
    draw_constants_of_kinds(random, &x);
    return x;
}

#endif
