/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer of every kind, once more and without a sheet: its linear layers as a list, of which
 * weights, products, quantised inputs and adapters follow, and the tensors that its backward pass
 * needs, from the papers (Korthikanti et al. sec. 4, DeepSeek-V2 sec. 2.1, Yang et al. 2024, Dao
 * and Gu 2024).
 */
#ifndef STEPTIME_TESTS_MEGATRON_LAYERS_H
#define STEPTIME_TESTS_MEGATRON_LAYERS_H

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
    double seen, load, copies, rows, share, indexed;
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
    if (x->attention_fp8 > 0 && x->peak_fp8 > 0)
        rate *= x->peak_fp8 / peak_of_weights(x);
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
 * Of fused attention in which a token sees so many keys, queries and values together so wide, in
 * the order of the sheet's function:
 * shape, bytes of a number, work, rate, half length, bytes, bandwidth.
 */
static inline void attention_arguments(const layers_reference *r, double keys, double width,
                                       double a[ATTENTION_ARGUMENTS])
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
                                               x->half_length,
                                               r->w * r->n * (x->a + r->kv) * (r->dq + r->dv) /
                                                   r->t,
                                               r->slow};
    memcpy(a, given, sizeof given);
}

static inline double flash_time(const layers_reference *r, double keys, double width)
{
    double a[ATTENTION_ARGUMENTS];
    attention_arguments(r, keys, width, a);
    return fmax(a[6] * (1 + a[8] / a[1]) / a[7], a[9] / a[10]);
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
    attention_arguments(r, r->x->causal > 0 ? r->seen / 2 : r->seen, r->dq + r->dv, a);
    double rate = a[7] / r->x->flash_sparse * (r->latent ? r->x->flash_latent : 1);
    return fmax(a[6] * (1 + a[8] / a[1]) / rate, a[9] / a[10]);
}

static inline void time_attention(layers_reference *r)
{
    const plan *x = r->x;
    double scores = r->n * r->seen * x->a / r->t;
    double numbers = r->n * x->a * (r->dq + r->dv) / r->t;
    double width = r->dq + r->dv;
    r->t_window = flash_time(r, keys_in_window(r), width);
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
    double flash = flash_time(r, keys_in_full(r), width_in_full(r));
    if (r->indexed > 0)
        flash = fmin(flash, masked_time(r));
    r->t_full = flash + scoring;
    r->t_full_back = 2.5 * flash + 2 * scoring;
    r->scores_kept = 4 * r->n * x->a / r->t;
}

static inline void add(layer *one, double tokens, double in, double out, bool narrow)
{
    assert_in_range(one->count, 0, MOST_LINEARS - 1);
    one->list[one->count++] = (linear){tokens, in, out, narrow};
}

static inline bool is_windowed(size_t kind)
{
    return kind == A_WINDOW || kind == A_WINDOW_MOE;
}

static inline bool is_delta(size_t kind)
{
    return kind == A_DELTA || kind == A_DELTA_MOE;
}

static inline bool has_mlp(size_t kind)
{
    return kind == A_DENSE || kind == A_WINDOW || kind == A_DELTA || kind == AN_MLP;
}

static inline double qkv_width(const layers_reference *r)
{
    const plan *x = r->x;
    double gate = x->gated_attention > 0 ? x->a * r->dv : 0;
    return gate + (r->latent ? x->a * r->dq : x->a * r->dh + r->kv * (r->dh + r->dv));
}

/* Heads are split over ranks; what leads down to a rank is not, and no indexer. */
static inline void list_attention(const layers_reference *r, layer *one)
{
    const plan *x = r->x;
    if (r->latent) {
        add(one, r->n, x->h, x->q_rank + x->kv_rank + x->rope, true);
        add(one, r->n, x->q_rank > 0 ? x->q_rank : x->h, qkv_width(r) / r->t, true);
        add(one, r->n, x->kv_rank, x->a * (r->dh + r->dv) / r->t, true);
    } else {
        add(one, r->n, x->h, qkv_width(r) / r->t, true);
    }
    add(one, r->n, x->a * r->dv / r->t, x->h, true);
    if (r->indexed > 0) {
        double queries = (x->q_rank > 0 ? x->q_rank : x->h) * x->index_heads * x->index_dim;
        double all = queries + x->h * x->index_heads + x->h * x->index_dim;
        add(one, r->n, x->h, r->indexed * all / x->L / x->h, false);
    }
}

static inline void list_mixer(const layers_reference *r, size_t kind, layer *one)
{
    const plan *x = r->x;
    if (has_attention(kind)) {
        list_attention(r, one);
        one->core = is_windowed(kind) ? r->t_window : r->t_full;
        one->core_back = is_windowed(kind) ? 2.5 * r->t_window : r->t_full_back;
    } else if (is_delta(kind)) {
        add(one, r->n, x->h, r->delta_in / r->t, true);
        add(one, r->n, r->dv_all / r->t, x->h, true);
        one->core = r->w * r->n * x->delta_traffic * (r->dk_all + r->dv_all) / r->t / r->slow +
                    8 * r->n * r->dv_all * x->delta_v_dim / r->t / (x->scores * r->rate_16);
        one->core_back = 2 * one->core;
    } else if (kind == A_MAMBA) {
        add(one, r->n, x->h, r->mamba_in / r->t, true);
        add(one, r->n, r->inner / r->t, x->h, true);
        one->core =
            r->w * r->n * x->scan_traffic * r->inner / r->t / r->slow +
            2 * r->n * r->inner / r->t * (2 * x->mamba_state + 128) / (x->scores * r->rate_16);
        one->core_back = 2 * one->core;
    }
}

static inline linear shared_experts(const layers_reference *r)
{
    return (linear){r->n, r->x->h, (r->up + 1) * r->x->fs / r->t, true};
}

static inline double passed_by_experts(const layers_reference *r, bool activation_alone)
{
    const plan *x = r->x;
    double activation = (r->up + 1) * r->copies * r->fe / etp_of(x);
    /* a read and a write there and back, around an all-to-all by rank and by expert */
    double passes = x->dispatcher > 0 ? 4 : 8;
    double permuted = activation_alone ? 0 : passes * r->copies / etp_of(x) * r->hl;
    return r->w * x->permutes * (permuted + activation);
}

/* Of the grouped products of the experts on a rank, in the order of the sheet's function. */
static inline void experts_arguments(const layers_reference *r, double a[EXPERTS_ARGUMENTS])
{
    const plan *x = r->x;
    double alike = x->E / x->ep;
    double inner = (r->up + 1) * r->fe / etp_of(x);
    const double given[EXPERTS_ARGUMENTS] = {
        r->copies,
        alike,
        r->hl,
        r->fe / etp_of(x),
        r->up + 1,
        r->w_gemm,
        2 * r->copies * r->hl * inner,
        x->grouped * r->rate / (1 + x->grouped_half / fmax(r->copies / alike, 1)),
        x->grouped_half,
        r->w_gemm * (alike * r->hl * inner + r->copies * (2 * r->hl + inner)),
        r->slow_gemm,
        passed_by_experts(r, false) / r->slow};
    memcpy(a, given, sizeof given);
}

static inline double time_of_experts(const layers_reference *r)
{
    double a[EXPERTS_ARGUMENTS];
    experts_arguments(r, a);
    return fmax(a[6] / a[7], a[9] / a[10]);
}

/* Tokens of the router lie split; those of the shared experts do not. */
static inline void list_ffn(const layers_reference *r, size_t kind, layer *one)
{
    const plan *x = r->x;
    if (has_mlp(kind)) {
        add(one, r->n, x->h, r->up * r->f / r->t, true);
        add(one, r->n, r->f / r->t, x->h, true);
    }
    if (!is_routed(kind))
        return;
    one->routed = time_of_experts(r);
    one->router = (linear){r->n / r->t, x->h, x->E, false};
    linear shared = shared_experts(r);
    add(one, shared.tokens, shared.in, shared.out, true);
    for (int i = 0; i < 2 && x->moe_latent > 0; i++) /* to the experts' width, and back */
        add(one, r->n / r->t, x->h, r->hl, false);
}

/* ---- what moves through memory: docs/megatron.md#compute ---- */

static inline double bytes_passed(const layers_reference *r, size_t kind)
{
    const plan *x = r->x;
    double tokens = r->n * x->h / r->split;
    double bytes = (10 * r->w + 2 * r->mask) * tokens / (x->hybrid > 0 ? 2 : 1);
    if (x->streams > 1)
        bytes += 7 * r->w * x->streams * tokens;
    double wide = has_attention(kind) ? qkv_width(r)
                  : is_delta(kind)    ? r->delta_in
                  : kind == A_MAMBA   ? r->mamba_in
                                      : 0;
    bytes += 2 * r->w * r->n * wide / r->t;
    if (has_mlp(kind))
        bytes += r->w * (r->up + 1) * r->n * r->f / r->t;
    if (is_routed(kind))
        bytes += passed_by_experts(r, false) + r->w * (r->up + 1) * r->n * x->fs / r->t;
    return bytes;
}

/* Numbers that are quantised in front of linear layers, with a pass more for the largest. */
static inline double bytes_cast(const layers_reference *r, size_t kind)
{
    const plan *x = r->x;
    bool has_mixer = kind != AN_MLP && kind != AN_EXPERTS;
    double numbers = has_mixer ? r->n * x->h : 0;
    if (has_attention(kind))
        numbers += r->n * x->a * r->dv / r->t;
    else if (is_delta(kind))
        numbers += r->n * r->dv_all / r->t;
    else if (kind == A_MAMBA)
        numbers += r->n * r->inner / r->t;
    if (has_mlp(kind))
        numbers += r->n * (x->h + r->f / r->t);
    if (is_routed(kind)) {
        numbers += r->copies * (r->hl + r->fe / etp_of(x));
        numbers += x->fs > 0 ? r->n * (x->h + x->fs / r->t) : 0;
    }
    bool looks_first = x->recipe == FP8_CURRENT || x->recipe == NVFP4;
    double each = (looks_first ? 2 : 1) * r->w + 2 * r->w_q;
    return r->narrow ? x->cast_traffic * each * numbers : 0;
}

static inline void time_layer(const layers_reference *r, size_t kind, layer *one)
{
    const plan *x = r->x;
    bool adapts = x->task == LORA;
    for (size_t i = 0; i < one->count; i++) {
        one->products += time_of(r, &one->list[i]);
        one->accumulated += one->list[i].in * one->list[i].out;
    }
    if (is_routed(kind)) {
        one->products += one->routed + time_of(r, &one->router);
        one->accumulated += x->E / x->ep * (r->up + 1) * r->hl * r->fe / etp_of(x);
    }
    linear thin = {r->n, 2 * x->h, x->lora_rank, false};
    one->adapters = adapts ? 4 * time_of(r, &thin) + 4 * r->w * r->n * x->h / r->slow : 0;
    one->passed = bytes_passed(r, kind) / r->slow;
    one->casts = bytes_cast(r, kind) / r->slow;
    double each = 2 * r->g + (x->fused_wgrad > 0 ? 0 : r->w);
    double sums = adapts ? 0 : each * one->accumulated / r->stream;
    one->forward = one->products + one->core + one->passed + one->casts + one->adapters;
    one->backward = (adapts ? 1 : 2) * one->products + one->core_back + 2 * one->passed + sums +
                    one->casts + 2 * one->adapters;
    one->weights = adapts ? 0 : one->products;
    if (kind == A_DENSE)
        one->weights = fmin(one->weights, one->backward / 2);
}

/* ---- recomputation: options of Megatron-LM ---- */

static inline double again_in_mixer(const layers_reference *r, size_t kind, const layer *one)
{
    const plan *x = r->x;
    double again = 0;
    if (has_attention(kind) && (x->again_attention > 0 || (x->unfused > 0 && !is_windowed(kind))))
        again += one->core;
    if (has_attention(kind) && x->again_latent > 0 && r->latent)
        again += time_of(r, &one->list[0]) + time_of(r, &one->list[2]);
    return again;
}

/* Products, and what moves besides. */
static inline double again_in_ffn(const layers_reference *r, size_t kind, const layer *one)
{
    const plan *x = r->x;
    double again = 0;
    if (has_mlp(kind) && x->again_mlp > 0)
        again += time_of(r, &one->list[one->count - 2]) +
                 (r->up + 1) * r->w * r->n * r->f / r->t / r->slow;
    if (!is_routed(kind))
        return again;
    linear shared = shared_experts(r);
    if (x->again_moe > 0)
        return one->routed + time_of(r, &one->router) +
               (passed_by_experts(r, false) + r->w * (r->up + 1) * r->n * x->fs / r->t) / r->slow;
    if (x->again_activation > 0)
        again += passed_by_experts(r, true) / r->slow;
    if (x->again_shared > 0) /* two of three matrices, or of two one and a third */
        again += time_of(r, &shared) * 2 / 3;
    return again;
}

static inline void recompute_layer(const layers_reference *r, size_t kind, layer *one)
{
    const plan *x = r->x;
    one->again = 0;
    if (x->recompute == FULL) {
        double skipped =
            kind == A_DENSE && x->early_stop > 0 ? time_of(r, &one->list[one->count - 1]) : 0;
        one->again = r->share * (one->forward - skipped);
    }
    if (x->recompute != SELECTIVE)
        return;
    one->again = again_in_mixer(r, kind, one) + again_in_ffn(r, kind, one);
    if (x->again_norms > 0) /* each is read and written */
        one->again += (x->hybrid > 0 ? 2 : 4) * r->w * r->n * x->h / r->split / r->slow;
    if (x->unfused <= 0)
        one->again += x->repeats * (one->products + one->passed);
}

/* ---- activations ---- */

static inline void keep_attention(const layers_reference *r, tensors *kept)
{
    const plan *x = r->x;
    double core = x->attention_fp8 > 0 ? 1 : r->w;
    double out = r->n * x->a * r->dv / r->t;
    kept->context = core * out;
    kept->heads =
        core * r->n / r->t *
        (r->latent ? x->a * (r->dq + r->dq + r->dv) : x->a * r->dh + r->kv * (r->dh + r->dv));
    kept->mixer = kept->context + kept->heads + r->scores_kept;
    if (r->keeps_copies)
        kept->mixer += r->w_saved * out;
    if (x->gated_attention > 0) /* the gate, and the gated output where no copy of it is kept */
        kept->mixer += r->w * out * (r->keeps_copies ? 1 : 2);
    if (r->latent) /* before and behind their norms */
        kept->mixer +=
            r->n * (r->w + r->w_saved) * (x->q_rank + x->kv_rank) + r->n * r->w * x->rope;
}

static inline void keep_mixer(const layers_reference *r, size_t kind, tensors *kept)
{
    const plan *x = r->x;
    double last = r->keeps_copies ? r->w_saved : r->w;
    if (has_attention(kind))
        keep_attention(r, kept);
    else if (is_delta(kind)) /* projections, convolved, output, keys by keys in chunks of 64 */
        kept->mixer = r->n / r->t *
                      (r->w * (r->delta_in + r->dk_all + r->dk_all + r->dv_all + r->dv_all +
                               64 * x->delta_v_heads) +
                       last * r->dv_all);
    else if (kind == A_MAMBA)
        kept->mixer = r->n / r->t * (r->w * (r->mamba_in + r->inner) + last * r->inner);
}

static inline void keep_ffn(const layers_reference *r, size_t kind, tensors *kept)
{
    const plan *x = r->x;
    double inner = r->w * r->up + r->w_saved;
    if (has_mlp(kind))
        kept->mlp = r->n * inner * r->f / r->t;
    if (!is_routed(kind))
        return;
    kept->activated = r->w_saved * r->rows * r->fe / etp_of(x);
    kept->experts = r->rows * (r->w_saved * r->hl + r->w * r->up * r->fe / etp_of(x)) +
                    kept->activated + 4 * r->n / r->t * x->E;
    if (x->moe_latent > 0)
        kept->experts += 2 * r->w * r->n * r->hl / r->t;
    kept->shared = r->n * inner * x->fs / r->t;
}

static inline double stream_bytes(const layers_reference *r)
{
    return r->w * r->x->streams * r->n * r->x->h / r->split;
}

static inline void keep_norms(const layers_reference *r, size_t kind, tensors *kept)
{
    const plan *x = r->x;
    double tokens = r->n * x->h / r->split;
    double joined = x->streams > 1 ? 2 * r->w * tokens : 0;
    kept->residual =
        (2 * stream_bytes(r) + 2 * r->mask * tokens + joined) / (x->hybrid > 0 ? 2 : 1);
    kept->normed_mixer = kind == AN_MLP || kind == AN_EXPERTS ? 0 : r->w_saved * tokens;
    if (has_mlp(kind))
        kept->normed_ffn = r->w_saved * tokens;
    if (is_routed(kind))
        kept->normed_ffn = (r->w + (r->keeps_copies && x->fs > 0 ? r->w_saved : 0)) * tokens;
}

static inline double dropped_by_selection(const layers_reference *r, size_t kind, const layer *one)
{
    const plan *x = r->x;
    const tensors *kept = &one->tensors;
    double dropped = 0;
    if (has_attention(kind)) {
        dropped += x->unfused > 0 || x->again_attention > 0 ? r->scores_kept : 0;
        dropped += x->again_attention > 0 && r->keeps_copies ? kept->context : 0;
        dropped += x->again_latent > 0 && r->latent ? kept->heads : 0;
    }
    if (has_mlp(kind) && x->again_mlp > 0)
        dropped += kept->mlp + (x->again_norms > 0 ? 0 : kept->normed_ffn);
    if (x->again_moe > 0)
        dropped += kept->experts + kept->shared;
    else
        dropped += (x->again_activation > 0 ? kept->activated : 0) +
                   (x->again_shared > 0 ? kept->shared : 0);
    if (x->again_norms > 0)
        dropped += kept->normed_mixer + kept->normed_ffn;
    return dropped + (x->unfused > 0 ? 0 : x->saving * one->kept);
}

static inline void keep_layer(const layers_reference *r, size_t kind, layer *one)
{
    tensors *kept = &one->tensors;
    keep_norms(r, kind, kept);
    keep_mixer(r, kind, kept);
    keep_ffn(r, kind, kept);
    one->kept = kept->residual + kept->normed_mixer + kept->normed_ffn + kept->mixer + kept->mlp +
                kept->experts + kept->shared;
    one->dropped = dropped_by_selection(r, kind, one);
    one->stays = r->share * stream_bytes(r) + (1 - r->share) * one->kept;
    if (r->x->recompute == SELECTIVE)
        one->stays = fmax(one->kept - one->dropped, stream_bytes(r));
}

static inline layers_reference refer_layers_of(const plan *x)
{
    layers_reference r = {.x = x};
    size_model(&r);
    rate_model(&r);
    count_tokens_of_experts(&r);
    time_attention(&r);
    for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++) {
        layer *one = &r.layers[kind];
        if (!is_possible(x, kind))
            continue;
        list_mixer(&r, kind, one);
        list_ffn(&r, kind, one);
        time_layer(&r, kind, one);
        recompute_layer(&r, kind, one);
        keep_layer(&r, kind, one);
    }
    return r;
}

#endif
