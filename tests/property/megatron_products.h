/* SPDX-License-Identifier: Apache-2.0 */
/* What megatron_layers.h reckons with: sizes, rates of products, attention. */
#ifndef STEPTIME_TESTS_MEGATRON_PRODUCTS_H
#define STEPTIME_TESTS_MEGATRON_PRODUCTS_H

#include "megatron_kinds.h"

enum { NO_RECIPE, BF16_RECIPE, FP8_DELAYED, FP8_CURRENT, FP8_BLOCK, MXFP8, NVFP4 };
enum { NO_GRAPHS, LAYER_GRAPHS, SCOPED_GRAPHS, FULL_GRAPH };
enum { MOST_LINEARS = 8 };

/* One matrix: its width in and out on a rank; narrow ones are multiplied in FP8 or FP4. */
typedef struct linear {
    double tokens, in, out;
    bool narrow;
} linear;

/* Tensors of a layer that a backward pass needs, in bytes. */
typedef struct tensors {
    double residual, normed_mixer, normed_ffn, mixer, heads, context, mlp, experts, activated,
        shared;
} tensors;

typedef struct layer {
    linear list[MOST_LINEARS];
    size_t count;
    linear router;
    /* of a micro-batch on a rank, in seconds */
    double products, routed, core, core_back, passed, casts, adapters;
    double forward, backward, again, weights;
    double accumulated; /* numbers */
    tensors tensors;
    double kept, dropped, stays;
} layer;

typedef struct layers_reference {
    const plan *x;
    double n, t, kv, dh, f, dq, dv, up, fe, hl, split;
    double dk_all, dv_all, delta_in, inner, mamba_in;
    double w, g, mask, rate_16, rate, w_q, w_gemm, w_saved, slow, slow_gemm, stream;
    double seen, load, copies, rows, share, indexed, rings;
    bool latent, narrow, keeps_copies;
    double t_window, t_full, t_full_back, scores_kept;
    layer layers[KINDS_OF_LAYERS];
} layers_reference;

/* ---- shapes and rates ---- */

static inline void size_model(layers_reference *r)
{
    const plan *x = r->x;
    r->n = x->b * x->s / x->cp;
    r->t = x->t;
    r->latent = x->kv_rank > 0;
    r->kv = x->kv > 0 ? x->kv : x->a;
    r->dh = x->dh > 0 ? x->dh : x->h / x->a;
    r->dv = x->dv > 0 ? x->dv : r->dh;
    r->dq = r->dh + (r->latent ? x->rope : 0);
    r->f = x->f > 0 ? x->f : 4 * x->h;
    r->fe = x->fe > 0 ? x->fe : r->f;
    r->up = 1 + x->gated;
    r->hl = x->moe_latent > 0 ? x->moe_latent : x->h;
    r->split = x->sequence_parallel > 0 ? x->t : 1;
    r->dk_all = x->delta_k_heads * x->delta_k_dim;
    r->dv_all = x->delta_v_heads * x->delta_v_dim;
    /* queries, keys, values and gate, decay and step of a head: Yang et al. sec. 3 */
    r->delta_in = r->dk_all + r->dk_all + r->dv_all + r->dv_all + 2 * x->delta_v_heads;
    r->inner = x->mamba_heads * x->mamba_dim;
    /* gate and input, B and C of each group, a step of each head: Dao and Gu sec. 7.2 */
    r->mamba_in = r->inner + r->inner + 2 * x->mamba_groups * x->mamba_state + x->mamba_heads;
    r->seen = x->sample > 0 ? fmin(x->sample, x->s) : x->s;
    double per_node = fmin(x->cp, fmax(floor(x->G / x->t), 1));
    r->rings = x->cp / (x->cp_method == 0 ? 1 : x->cp_method == 1 ? x->cp : per_node);
    r->indexed = x->index_heads > 0 ? (x->index_layers > 0 ? x->index_layers : x->L) : 0;
}

static inline double bytes_of(double type)
{
    return type == FP32 ? 4 : type == FP8 ? 1 : 2;
}

static inline double peak_of_weights(const plan *x)
{
    double own = x->weights == FP32 ? x->peak_fp32 : x->weights == BF16 ? x->peak_bf16 : 0;
    return own > 0 ? own : x->peak_fp16;
}

static inline void rate_model(layers_reference *r)
{
    const plan *x = r->x;
    bool is_narrow = x->recipe == NO_RECIPE ? x->fp8 > 0 : x->recipe != BF16_RECIPE;
    double wide = fmin(2 * x->first_last / x->L, 1);
    double peak = x->recipe == NVFP4 ? x->peak_fp4 : x->peak_fp8;
    double reached = x->recipe == NVFP4   ? x->fp4_efficiency
                     : x->recipe == MXFP8 ? x->mxfp8_efficiency
                                          : x->fp8_efficiency;
    r->w = bytes_of(x->weights);
    r->g = bytes_of(x->gradients);
    r->mask = x->dropout;
    r->narrow = is_narrow;
    r->keeps_copies = is_narrow && x->task != LORA;
    r->rate_16 = x->gemm_scale * x->gemm * peak_of_weights(x);
    double rate = is_narrow && peak > 0 ? reached * peak : r->rate_16;
    r->rate = wide > 0 ? 1 / (wide / r->rate_16 + (1 - wide) / rate) : rate;
    r->w_q = r->w;
    if (is_narrow) /* one scale for 32 numbers, or for 16 of half a byte */
        r->w_q = x->recipe == MXFP8 ? 1 + 1 / 32.0 : x->recipe == NVFP4 ? 0.5 + 1 / 16.0 : 1;
    r->w_gemm = (r->w_q + r->w_q + r->w) / 3;
    r->w_saved = r->keeps_copies ? wide * r->w + (1 - wide) * r->w_q : r->w;
    r->slow = x->eta * x->bandwidth;
    r->slow_gemm = x->gemm_memory > 0 ? x->gemm_memory * x->bandwidth : r->slow;
    r->stream = x->stream * x->bandwidth;
    r->share = x->recompute == FULL ? 1 : 0;
    if (x->recompute == FULL && x->again_layers > 0)
        r->share = fmin(x->again_layers * x->p / x->L, 1);
}

static inline double etp_of(const plan *x)
{
    return x->etp > 0 ? x->etp : x->t;
}

static inline void count_tokens_of_experts(layers_reference *r)
{
    const plan *x = r->x;
    r->load = x->capacity > 0 ? fmin(x->imbalance, x->capacity) : x->imbalance;
    double most = x->capacity > 0 ? x->capacity : x->static_rows;
    double even = r->n / r->t * x->K * etp_of(x);
    r->copies = even * r->load;
    r->rows = even * (x->graphs == FULL_GRAPH ? fmax(most, r->load) : r->load);
}

/* Williams et al.: the slower of arithmetic and memory. */
static inline double time_of(const layers_reference *r, const linear *one)
{
    double rate = one->narrow ? r->rate : r->rate_16;
    double width = one->narrow ? r->w_gemm : r->w;
    double numbers = one->tokens * one->in + one->in * one->out + one->tokens * one->out;
    return fmax(2 * one->tokens * one->in * one->out / rate, width * numbers / r->slow_gemm);
}

/* ---- attention and its kin ---- */

static inline double flash_rate(const layers_reference *r)
{
    const plan *x = r->x;
    double rate = x->flash * r->rate_16;
    if (x->attention_fp8 > 0)
        rate *= 1.6;
    if (r->indexed > 0)
        rate *= x->flash_sparse;
    else if (r->latent)
        rate *= x->flash_latent;
    else if (r->dh <= 64)
        rate *= x->flash_narrow;
    return x->sinks > 0 ? rate * x->flash_sinks : rate;
}

enum { ATTENTION_ARGUMENTS = 11, EXPERTS_ARGUMENTS = 12 };

/*
 * Of fused attention in which a token sees so many keys, queries and values together so wide, and
 * which takes so many times what its rows need besides, in the order of the sheet's function:
 * shape, bytes of a number, work, rate, half length, bytes, bandwidth.
 */
static inline void attention_arguments(const layers_reference *r, double keys, double width,
                                       double rows, double a[ATTENTION_ARGUMENTS])
{
    const plan *x = r->x;
    const double given[ATTENTION_ARGUMENTS] = {r->n / r->seen,
                                               r->seen,
                                               x->a / r->t,
                                               r->kv / r->t,
                                               (r->dq + r->dv) / 2,
                                               x->attention_fp8 > 0 ? 1 : r->w,
                                               2 * r->n * x->a / r->t * keys * width,
                                               flash_rate(r),
                                               x->half_length * rows,
                                               r->w * r->n * (x->a + r->kv) * (r->dq + r->dv) /
                                                   r->t,
                                               r->slow};
    memcpy(a, given, sizeof given);
}

/* Each block that comes after a rank's own lacks half of its rows or half of its keys. */
static inline double times_rows(const layers_reference *r)
{
    return 1 + 0.75 * (r->rings - 1);
}

static inline double flash_time(const layers_reference *r, double keys, double width, double rows)
{
    double a[ATTENTION_ARGUMENTS];
    attention_arguments(r, keys, width, rows, a);
    return fmax(a[6] * (1 + a[8] / a[1]) / a[7], a[9] / a[10]);
}

/* Blocks of context in 16 bits or more, their sum in FP32 in and out, and out once more. */
static inline double bytes_merged(const layers_reference *r)
{
    double later = times_rows(r) - 1;
    double numbers = r->n * r->x->a * r->dv / r->t;
    return r->rings > 1 ? numbers * ((r->w + 4) + later * (r->w + 4 + 4) + (4 + r->w)) : 0;
}

/* Gradients of queries: the first block copied, each other one added; of keys and values, all. */
static inline double bytes_merged_back(const layers_reference *r)
{
    double later = times_rows(r) - 1;
    double queries = r->n * r->x->a * r->dq / r->t;
    double others = r->n * r->kv * (r->dq + r->dv) / r->t;
    return r->rings > 1 ? r->w * (queries * (2 + 3 * later) + others * 3 * r->rings) : 0;
}

/* The mean of min(i, w) over a sample's tokens i, and half a tile of 128 keys on each side. */
static inline double keys_in_window(const layers_reference *r)
{
    double wide = fmin(r->x->window, r->seen);
    double mean = wide - wide * (wide - 1) / (2 * r->seen);
    return fmin(mean + 128, r->seen / 2);
}

/* The mean over i of min(i/join, top_k), of the layers with an indexer; a window goes with it. */
static inline double keys_chosen(const layers_reference *r)
{
    const plan *x = r->x;
    double most = fmin(x->index_top_k, r->seen / x->index_join);
    double chosen = most - most * most * x->index_join / (2 * r->seen);
    return x->window + chosen * r->indexed / x->L;
}

/* Scores of all joined keys by every rank in FP8 if there is any; sums over heads out and in. */
static inline double time_of_scores(const layers_reference *r)
{
    const plan *x = r->x;
    double pairs = r->n * r->seen / x->index_join * (x->causal > 0 ? 0.5 : 1) * r->indexed / x->L;
    double rate = 0.4 * (x->peak_fp8 > 0 ? x->peak_fp8 : peak_of_weights(x));
    return 2 * pairs * x->index_heads * x->index_dim / rate + (4 + 4) * pairs / r->slow;
}

static inline double keys_in_full(const layers_reference *r)
{
    if (r->indexed > 0)
        return keys_chosen(r);
    return r->x->causal > 0 ? r->seen / 2 : r->seen;
}

/* Chosen keys are those of all heads, which latent attention has at its rank's width. */
static inline double width_in_full(const layers_reference *r)
{
    if (r->indexed > 0 && r->latent)
        return 2 * r->x->kv_rank + r->x->rope;
    return r->dq + r->dv;
}

/* All keys computed, and those masked that were not chosen: not at the rate of gathered keys. */
static inline double masked_time(const layers_reference *r)
{
    double a[ATTENTION_ARGUMENTS];
    attention_arguments(r, r->x->causal > 0 ? r->seen / 2 : r->seen, r->dq + r->dv, times_rows(r),
                        a);
    double rate = a[7] / r->x->flash_sparse * (r->latent ? r->x->flash_latent : 1);
    return fmax(a[6] * (1 + a[8] / a[1]) / rate, a[9] / a[10]);
}

static inline void time_attention(layers_reference *r)
{
    const plan *x = r->x;
    double scores = r->n * r->seen * x->a / r->t;
    double numbers = r->n * x->a * (r->dq + r->dv) / r->t;
    double width = r->dq + r->dv;
    r->t_window = flash_time(r, keys_in_window(r), width, 1);
    double scoring = time_of_scores(r);
    if (x->unfused > 0) {
        double products = fmax(2 * scores * (r->dq + r->dv) / (x->scores * peak_of_weights(x)),
                               2 * r->w * (scores + numbers) / r->slow);
        double passed = 2 * r->w + (x->dropout > 0 ? 2 * r->w + 1 : 0);
        r->t_full = products + passed * scores / r->slow + scoring;
        r->t_full_back = 2 * products + (passed + r->w) * scores / r->slow + 2 * scoring;
        r->scores_kept = (r->w + (x->dropout > 0 ? r->w + 1 : 0)) * scores;
        return;
    }
    double flash = flash_time(r, keys_in_full(r), width_in_full(r), times_rows(r));
    if (r->indexed > 0)
        flash = fmin(flash, masked_time(r));
    r->t_full = flash + bytes_merged(r) / r->slow + scoring;
    r->t_full_back = 2.5 * flash + bytes_merged_back(r) / r->slow + 2 * scoring;
    r->scores_kept = 4 * r->n * x->a / r->t;
}

#endif
