/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer of every kind, once more and without a sheet: its linear layers as a list, of which
 * weights, products, quantised inputs and adapters follow, and the tensors that its backward pass
 * needs, from the papers (Korthikanti et al. sec. 4, DeepSeek-V2 sec. 2.1, Yang et al. 2024, Dao
 * and Gu 2024).
 */
#ifndef STEPTIME_TESTS_MEGATRON_LAYERS_H
#define STEPTIME_TESTS_MEGATRON_LAYERS_H

#include "megatron_products.h"

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
            2 * r->n * r->inner / r->t * (2 * x->mamba_state + 128) / (x->scores * r->rate_16) +
            (x->peak_fp32 > 0 ? r->n * r->inner / r->t * x->scan_work / x->peak_fp32 : 0);
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
    double half = x->grouped_half * r->rate / r->rate_16;
    const double given[EXPERTS_ARGUMENTS] = {
        r->copies,
        alike,
        r->hl,
        r->fe / etp_of(x),
        r->up + 1,
        r->w_gemm,
        2 * r->copies * r->hl * inner,
        x->grouped * r->rate / (1 + half / fmax(r->copies / alike, 1)),
        half,
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

/* Read and written by rows and columns, with a pass more for the largest. */
static inline double quantised_bytes(const layers_reference *r, double numbers)
{
    const plan *x = r->x;
    bool looks_first = x->recipe == FP8_CURRENT || x->recipe == NVFP4;
    double each = (looks_first ? 2 : 1) * r->w + 2 * r->w_q;
    return r->narrow ? x->cast_traffic * each * numbers : 0;
}

/* Of numbers in front of linear layers. */
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
    return quantised_bytes(r, numbers);
}

/* Of gradients: at the outputs, where gate and value are apart. */
static inline double bytes_cast_back(const layers_reference *r, size_t kind)
{
    const plan *x = r->x;
    bool has_mixer = kind != AN_MLP && kind != AN_EXPERTS;
    double numbers = has_mixer ? r->n * x->h : 0;
    if (has_attention(kind))
        numbers += r->n * qkv_width(r) / r->t;
    else if (is_delta(kind))
        numbers += r->n * r->delta_in / r->t;
    else if (kind == A_MAMBA)
        numbers += r->n * r->mamba_in / r->t;
    if (has_mlp(kind))
        numbers += r->n * (x->h + r->up * r->f / r->t);
    if (is_routed(kind)) {
        numbers += r->copies * (r->hl + r->up * r->fe / etp_of(x));
        numbers += x->fs > 0 ? r->n * (x->h + r->up * x->fs / r->t) : 0;
    }
    return quantised_bytes(r, numbers);
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
    double casts_back = bytes_cast_back(r, kind) / r->slow;
    double each = 2 * r->g + (x->fused_wgrad > 0 ? 0 : r->w);
    double sums = adapts ? 0 : each * one->accumulated / r->stream;
    one->forward = one->products + one->core + one->passed + one->casts + one->adapters;
    one->backward = (adapts ? 1 : 2) * one->products + one->core_back + 2 * one->passed + sums +
                    casts_back + 2 * one->adapters;
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
