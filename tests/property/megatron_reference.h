/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sheet megatron says, once more and without a sheet: parameters, memory, messages and the
 * step of a plan, from the papers and the tables of docs/megatron.md. Stages and kinds of layers
 * are indices.
 */
#ifndef STEPTIME_TESTS_MEGATRON_REFERENCE_H
#define STEPTIME_TESTS_MEGATRON_REFERENCE_H

#include "megatron_plan.h"

enum { FIRST, MIDDLE, LAST, STAGES };
enum { DENSE, MOE, KINDS };
enum { ALL_REDUCE = 1, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, SEND_RECV };
enum { PARTS = 11 };

typedef struct reference {
    const plan *x;
    bool provided; /* collectives and slowdowns are those of the test */
    /* the model */
    double kv, dh, f, dq, dv, up, V, fe, layers[KINDS], heads_out, split, whole, mlp, expert,
        shared;
    double router, b_heads, b_mlp, norm, b_whole, visited, parameters, active;
    /* the plan */
    double m, n, gpus, etp, dp_ranks, expert_ranks, ahead;
    double stage[STAGES], stage_kind[STAGES][KINDS], P_layer[KINDS], P_experts, P_rows;
    double P[STAGES], P_most, P_most_experts, P_updated;
    double tp_node, cp_node, ep_node, dp_node, expert_node, crossing, in_flight[STAGES];
    /* a layer */
    double w, w_gemm, g, o, mask, peak, rate_16, rate, slow_bytes, fast_bytes, norm_split, n_expert,
        load;
    double scores, e_flash, core_forward, core_backward, core_again, down, passes;
    double gemm[KINDS], other[KINDS], casts[KINDS], casts_back[KINDS], blocks[KINDS], sums[KINDS],
        forward[KINDS], backward[KINDS], again[KINDS];
    double wgrad[KINDS], logits, head, embedding;
    /* messages */
    double wc, link, nic, intensity, intensity_core, tp_message, cp_message, ep_message, pp_message;
    double all_reduce_tp, t_tp, n_tp, ring_cp, t_cp, all_to_all, t_ep, transfer, reduce, gather,
        tied;
    /* slowdowns, and what they cost */
    double slow_tp, slow_cp, slow_ep, slow_pp, slow_gemm, slow_forward, slow_backward, slow_inputs;
    double slow_dp, forward_share, cost_tp, cost_cp, cost_ep;
    /* the step */
    double gpu[KINDS], layer[KINDS], stage_time[STAGES], slowest, middle_forward, middle_backward,
        model_time, bubble, transfers;
    double n_transfers, data, data_hidden, data_ends, slowdown_data, slowdown, optimizer, step;
    double n_reduce, n_gather, work[KINDS];
    double part[PARTS], hidden[5], exposed, all_hidden;
    /* memory */
    double A_input, A_whole[KINDS], A_scores, A_kept[KINDS], A_dropped[KINDS], A[KINDS];
    double M_state[STAGES], M_layers[STAGES];
    double M_embedding, M_work[STAGES], M_logits, M_gathered, M[STAGES], allocated;
    double memory, frees[6];
    size_t worst;
} reference;

/* ---- the model: Korthikanti et al. table 1, Narayanan et al. eq. 2, DeepSeek-V2 sec. 2 ---- */

static inline void refer_shapes(reference *r)
{
    const plan *x = r->x;
    bool latent = x->kv_rank > 0;
    double rows = x->multiple * x->t;
    r->kv = x->kv > 0 ? x->kv : x->a;
    r->dh = x->dh > 0 ? x->dh : x->h / x->a;
    r->dv = x->dv > 0 ? x->dv : r->dh;
    r->dq = r->dh + (latent ? x->rope : 0);
    r->f = x->f > 0 ? x->f : 4 * x->h;
    r->fe = x->fe > 0 ? x->fe : r->f;
    r->up = 1 + x->gated;
    r->V = rows * ceil(x->V / rows);
    r->layers[MOE] = x->E > 0 ? floor((x->L - x->dense_layers) / x->moe_every) : 0;
    r->layers[DENSE] = x->L - r->layers[MOE];
    if (latent) {
        r->heads_out = x->a * r->dq;
        r->whole = x->h * x->q_rank + x->h * (x->kv_rank + x->rope);
        r->split =
            (x->q_rank > 0 ? x->q_rank : x->h) * r->heads_out + x->kv_rank * x->a * (r->dh + r->dv);
    } else {
        r->heads_out = x->a * r->dh + r->kv * (r->dh + r->dv);
        r->whole = 0;
        r->split = x->h * r->heads_out;
    }
    r->split += x->a * r->dv * x->h; /* back from the heads */
}

static inline void refer_parameters(reference *r)
{
    const plan *x = r->x;
    r->mlp = (r->up + 1) * x->h * r->f;
    r->expert = (r->up + 1) * x->h * r->fe;
    r->shared = (r->up + 1) * x->h * x->fs;
    r->router = x->h * x->E;
    r->norm = (x->rms_norm > 0 ? 1 : 2) * x->h;
    r->b_heads = x->bias * r->heads_out;
    r->b_mlp = x->bias * r->up * r->f;
    r->b_whole = x->bias * 2 * x->h + 2 * r->norm;
    double every = r->split + r->whole + r->b_heads + r->b_whole;
    double without = r->layers[DENSE] * (every + r->mlp + r->b_mlp) +
                     r->layers[MOE] * (every + r->shared + r->router) +
                     (2 - x->tied) * r->V * x->h + x->positions * x->h + r->norm;
    r->parameters = without + r->layers[MOE] * x->E * r->expert;
    r->active = without + r->layers[MOE] * x->K * r->expert;
    r->visited = x->L * (r->split + r->whole) + r->layers[DENSE] * r->mlp +
                 r->layers[MOE] * (x->K * r->expert + r->shared + r->router);
}

/* ---- the plan ---- */

static inline void refer_stages(reference *r)
{
    const plan *x = r->x;
    double given = (x->first_layers > 0 ? 1 : 0) + (x->last_layers > 0 ? 1 : 0);
    double even = ceil((x->L - x->first_layers - x->last_layers) / fmax(x->p - given, 1));
    r->stage[FIRST] = x->first_layers > 0 ? x->first_layers : even;
    double lacks = (x->p - given) * even - (x->L - x->first_layers - x->last_layers);
    r->stage[MIDDLE] = x->p > 2 ? even - (lacks >= x->p - 2 ? 1 : 0) : 0;
    r->stage[LAST] =
        x->last_layers > 0 ? x->last_layers : even - (x->p > 1 && lacks >= x->p - 1 ? 1 : 0);
    for (size_t i = 0; i < STAGES; i++) {
        double moe = i == FIRST ? fmax(floor((r->stage[i] - x->dense_layers) / x->moe_every), 0)
                                : ceil(r->stage[i] / x->moe_every);
        r->stage_kind[i][MOE] = x->p > 1 ? fmin(moe, r->layers[MOE]) : r->layers[MOE];
        r->stage_kind[i][DENSE] = r->stage[i] - r->stage_kind[i][MOE];
    }
}

static inline void refer_ranks(reference *r)
{
    const plan *x = r->x;
    r->m = x->B / (x->b * x->d);
    r->n = x->b * x->s / x->cp;
    r->gpus = x->t * x->cp * x->p * x->d;
    r->etp = x->etp > 0 ? x->etp : x->t;
    r->dp_ranks = x->d * x->cp;
    r->expert_ranks = x->t * x->cp * x->d / (x->ep * r->etp);
    r->ahead = x->zero > 2 ? x->prefetch : 0;
    double groups = fmax(floor(x->G / x->t), 1);
    r->tp_node = fmin(x->t, x->G);
    r->cp_node = fmin(x->cp, groups);
    r->dp_node = fmin(r->dp_ranks, groups);
    r->ep_node = fmin(x->ep, fmax(floor(x->G / r->etp), 1));
    r->expert_node = fmin(r->expert_ranks, fmax(floor(x->G / (r->etp * x->ep)), 1));
    r->crossing = 0;
    if (r->gpus > x->G)
        r->crossing = r->gpus / x->p >= x->G ? 1 : (r->gpus / x->G - 1) / (x->p - 1);
}

static inline void refer_held_parameters(reference *r)
{
    const plan *x = r->x;
    r->P_layer[DENSE] = (r->split + r->mlp + r->b_heads + r->b_mlp) / x->t + r->whole + r->b_whole;
    r->P_layer[MOE] =
        (r->split + r->shared + r->b_heads) / x->t + r->whole + r->b_whole + r->router;
    r->P_experts = x->E / x->ep * r->expert / r->etp;
    r->P_rows = r->V * x->h / x->t;
    for (size_t i = 0; i < STAGES; i++)
        r->P[i] = r->stage_kind[i][DENSE] * r->P_layer[DENSE] +
                  r->stage_kind[i][MOE] * (x->E > 0 ? r->P_layer[MOE] : 0);
    r->P[FIRST] += r->P_rows + x->positions * x->h;
    if (x->p > 1) {
        r->P[LAST] += r->P_rows + r->norm;
    } else {
        r->P[FIRST] += (1 - x->tied) * r->P_rows + r->norm;
        r->P[LAST] = r->P[FIRST];
    }
    r->P_most = fmax(r->P[FIRST], fmax(x->p > 1 ? r->P[MIDDLE] : 0, r->P[LAST]));
    double layers =
        fmax(r->stage_kind[FIRST][MOE], fmax(r->stage_kind[MIDDLE][MOE], r->stage_kind[LAST][MOE]));
    r->P_most_experts = layers * r->P_experts;
    r->P_updated = x->zero > 0 ? r->P_most / r->dp_ranks + r->P_most_experts / r->expert_ranks
                               : r->P_most + r->P_most_experts;
}

/* docs/megatron.md, "micro-batches in flight". */
static inline void refer_in_flight(reference *r)
{
    const plan *x = r->x;
    bool chunks = x->v > 1;
    const double one_f_one_b[STAGES] = {x->p + (chunks ? (x->p - 1) / x->v : 0),
                                        x->p + (chunks ? (x->p - 3) / x->v : -1),
                                        chunks ? x->p - (x->p - 1) / x->v : 1};
    for (size_t i = 0; i < STAGES; i++) {
        double held = one_f_one_b[i];
        if (x->schedule == GPIPE)
            held = r->m;
        else if (x->schedule == ZERO_BUBBLE)
            held = one_f_one_b[FIRST];
        else if (x->schedule == ZERO_BUBBLE_2)
            held = 2 * x->p - 1;
        r->in_flight[i] = fmin(r->m, held);
    }
}

/* ---- a layer: docs/megatron.md#compute ---- */

static inline double width_of(double type)
{
    return type == FP32 ? 4 : type == FP8 ? 1 : 2;
}

static inline void refer_rates(reference *r)
{
    const plan *x = r->x;
    r->w = width_of(x->weights);
    r->g = width_of(x->gradients);
    r->o = 2 * width_of(x->moments) + (x->weights == FP32 ? 0 : 4);
    r->w_gemm = x->fp8 > 0 ? (2 + r->w) / 3 : r->w; /* two operands in, a wide result out */
    r->mask = x->dropout;
    double own = x->weights == FP32 ? x->peak_fp32 : x->weights == BF16 ? x->peak_bf16 : 0;
    r->peak = own > 0 ? own : x->peak_fp16;
    r->rate_16 = x->gemm_scale * x->gemm * r->peak;
    r->rate = x->fp8 > 0 && x->peak_fp8 > 0 ? x->fp8_efficiency * x->peak_fp8 : r->rate_16;
    r->slow_bytes = x->eta * x->bandwidth;
    r->fast_bytes = x->stream * x->bandwidth;
    r->norm_split = x->sequence_parallel > 0 ? x->t : 1;
    r->load = x->capacity > 0 ? fmin(x->imbalance, x->capacity) : x->imbalance;
    r->n_expert = r->n * x->K * r->load * r->etp / x->t;
    r->passes = x->recompute == FULL ? 2 : 1;
}

/* Roofline of an m x k by k x n product, in the type of the blocks or in that of the weights. */
static inline double roofline(const reference *r, const double *sizes, double rate, double width)
{
    double m = sizes[0];
    double n = sizes[1];
    double k = sizes[2];
    return fmax(2 * m * n * k / rate, width * (m * k + k * n + m * n) / r->slow_bytes);
}

static inline double product(const reference *r, double m, double n, double k)
{
    const double sizes[] = {m, n, k};
    return roofline(r, sizes, r->rate, r->w_gemm);
}

static inline double product_16(const reference *r, double m, double n, double k)
{
    const double sizes[] = {m, n, k};
    return roofline(r, sizes, r->rate_16, r->w);
}

static inline void refer_attention(reference *r)
{
    const plan *x = r->x;
    double a = x->a / x->t;
    double width = r->dq + r->dv;
    r->scores = r->n * x->s * a;
    r->e_flash = r->w * r->n * (a + r->kv / x->t) * width;
    if (x->unfused > 0) {
        double bytes = 2 * r->w + x->dropout * (2 * r->w + 1);
        double products = fmax(2 * r->scores * width / (x->scores * r->peak),
                               2 * r->w * (r->scores + r->n * a * width) / r->slow_bytes);
        r->core_forward = products + bytes * r->scores / r->slow_bytes;
        r->core_backward = 2 * products + (bytes + r->w) * r->scores / r->slow_bytes;
    } else {
        double pairs = x->causal > 0 ? r->scores / 2 : r->scores;
        r->core_forward =
            fmax(2 * pairs * width / (x->flash * r->rate_16), r->e_flash / r->slow_bytes);
        r->core_backward = 2.5 * r->core_forward; /* Dao 2023 sec. 3.1 */
        /* a ring's blocks, all but its own half as large, summed: context in FP32 */
        double later = 0.75 * (x->cp - 1);
        double context = 2 * r->w + 8 + later * (r->w + 8);
        double gradients = r->w * (a * r->dq * (2 + 3 * later) + 3 * r->kv / x->t * width * x->cp);
        r->core_forward += x->cp > 1 ? r->n * a * r->dv * context / r->slow_bytes : 0;
        r->core_backward += x->cp > 1 ? r->n * gradients / r->slow_bytes : 0;
    }
    r->core_again = x->unfused > 0 && x->recompute == SELECTIVE ? r->core_forward : 0;
}

static inline void refer_products(reference *r)
{
    const plan *x = r->x;
    bool latent = x->kv_rank > 0;
    double in = latent && x->q_rank > 0 ? x->q_rank : x->h;
    double attention =
        product(r, r->n, r->heads_out / x->t, in) + product(r, r->n, x->h, x->a * r->dv / x->t);
    if (latent)
        attention += product(r, r->n, x->q_rank + x->kv_rank + x->rope, x->h) +
                     product(r, r->n, x->a * (r->dh + r->dv) / x->t, x->kv_rank);
    r->down = product(r, r->n, x->h, r->f / x->t);
    r->gemm[DENSE] = attention + product(r, r->n, r->up * r->f / x->t, x->h) + r->down;
    double bytes =
        r->w_gemm * (r->P_experts + r->n_expert * (2 * x->h + (r->up + 1) * r->fe / r->etp));
    double experts =
        fmax(2 * r->n_expert * r->expert / r->etp / (x->grouped * r->rate), bytes / r->slow_bytes);
    r->gemm[MOE] = attention + experts + product_16(r, r->n / x->t, x->E, x->h) +
                   product(r, r->n, (r->up + 1) * x->fs / x->t, x->h);
}

static inline void refer_traffic_in_memory(reference *r)
{
    const plan *x = r->x;
    double shared = (10 * r->w + 2 * r->mask) * r->n * x->h / r->norm_split +
                    2 * r->w * r->n * r->heads_out / x->t;
    double activation = (r->up + 1) * r->w * r->n;
    double moved = 8 * r->w * r->n_expert / r->etp * x->h;
    r->other[DENSE] = (shared + activation * r->f / x->t) / r->slow_bytes;
    r->other[MOE] = (shared + moved + activation * x->fs / x->t +
                     (r->up + 1) * r->w * r->n_expert * r->fe / r->etp) /
                    r->slow_bytes;
    double added = 2 * r->g + (x->fused_wgrad > 0 ? 0 : r->w);
    r->sums[DENSE] = added * ((r->split + r->mlp) / x->t + r->whole) / r->fast_bytes;
    r->sums[MOE] =
        added * ((r->split + r->shared) / x->t + r->whole + r->P_experts) / r->fast_bytes;
    r->logits = 3 * product_16(r, r->n, r->V / x->t, x->h);
    r->head = r->logits + x->loss_bytes * r->n * r->V / x->t / r->slow_bytes +
              added * r->P_rows / r->fast_bytes;
    r->embedding = 6 * r->w * r->n * x->h / r->slow_bytes;
}

static inline void refer_layers(reference *r)
{
    const plan *x = r->x;
    double attention = r->n * (x->h + x->a * r->dv / x->t);
    double shared = x->fs > 0 ? r->n * (x->h + x->fs / x->t) : 0;
    double bytes = x->fp8 * (r->w + 2) / r->slow_bytes; /* read once, written by rows and columns */
    r->casts[DENSE] = bytes * (attention + r->n * (x->h + r->f / x->t));
    r->casts[MOE] = bytes * (attention + r->n_expert * (x->h + r->fe / r->etp) + shared);
    double outputs = r->n * (x->h + r->heads_out / x->t);
    double shared_out = x->fs > 0 ? r->n * (x->h + r->up * x->fs / x->t) : 0;
    r->casts_back[DENSE] = bytes * (outputs + r->n * (x->h + r->up * r->f / x->t));
    r->casts_back[MOE] =
        bytes * (outputs + r->n_expert * (x->h + r->up * r->fe / r->etp) + shared_out);
    for (size_t k = 0; k < KINDS; k++) {
        r->forward[k] = r->gemm[k] + r->core_forward + r->other[k] + r->casts[k];
        r->backward[k] =
            2 * (r->gemm[k] + r->other[k]) + r->core_backward + r->sums[k] + r->casts_back[k];
        r->again[k] = x->recompute == FULL ? r->forward[k] : r->core_again;
    }
    if (x->recompute == FULL && x->early_stop > 0)
        r->again[DENSE] -= r->down;
    r->wgrad[DENSE] = fmin(r->gemm[DENSE], r->backward[DENSE] / 2);
    r->wgrad[MOE] = x->E > 0 ? r->gemm[MOE] : 0;
}

/* ---- messages: rings, docs/megatron.md#communication ---- */

/* What the test's providers answer: every argument is in it, so that each of them is seen. */
static inline double provided_collective(int kind, const double *a)
{
    return a[4] + a[0] / a[3] * (0.31 * kind + 0.17 * a[1] + 0.053 * a[2]);
}

static inline double provided_slowdown(int kind, double size, double intensity, double otherwise)
{
    return otherwise + kind * 0.1 * size / (size + 3e7) + 0.2 * intensity / (intensity + 100);
}

static inline double collective(const reference *r, int kind, const double *a)
{
    double share = (a[1] - 1) / a[1];
    if (r->provided)
        return provided_collective(kind, a);
    if (kind == SEND_RECV)
        return a[4] + a[0] / a[3];
    return a[1] > 1 ? a[4] + (kind == ALL_REDUCE ? 2 : 1) * share * a[0] / a[3] : 0;
}

static inline double ring(const reference *r, double ranks, double per_node)
{
    return ranks > per_node ? fmin(r->nic * per_node, r->link)
                            : r->link * (1 - r->x->small_group / ranks);
}

static inline double start(const reference *r, double ranks, double per_node)
{
    return r->x->alpha + r->x->alpha_rank * per_node + r->x->alpha_node * log2(ranks / per_node);
}

/* A collective of a group whose bandwidth is that of its ring. */
static inline double grouped(const reference *r, int kind, double size, double ranks, double node)
{
    const double a[] = {size, ranks, node, ring(r, ranks, node), start(r, ranks, node)};
    return collective(r, kind, a);
}

static inline void refer_messages(reference *r)
{
    const plan *x = r->x;
    r->wc = width_of(x->messages);
    r->nic = x->eta_network * (x->nics > 0 ? x->nics : 1e9) / x->G;
    r->link = x->G > 1 && x->link > 0 ? x->eta_link * x->link : r->nic;
    r->intensity =
        2 * r->n * x->h * r->f / x->t / (r->w * (r->n * x->h + (x->h + r->n) * r->f / x->t));
    r->intensity_core = 2 * r->scores * (r->dq + r->dv) * (x->causal > 0 ? 0.5 : 1) / r->e_flash;
    r->tp_message = r->wc * r->n * x->h;
    r->cp_message = r->wc * r->n * r->kv * (r->dq + r->dv) / x->t;
    r->ep_message = r->wc * r->n / x->t * x->K * x->h * r->load;
    r->pp_message = r->tp_message / (x->scatter_gather > 0 || x->sequence_parallel > 0 ? x->t : 1);
    r->n_tp = x->recompute == FULL ? 6 - x->early_stop : 4;
    /* Tokens of experts that tensor parallelism does not split are split already. */
    r->blocks[DENSE] = 2;
    r->blocks[MOE] = r->etp == x->t || x->fs > 0 ? 2 : 1;
}

static inline double transfer(const reference *r, double size, double per_node, double bandwidth)
{
    const double a[] = {size, 2, per_node, bandwidth, r->x->alpha_transfer};
    return collective(r, SEND_RECV, a);
}

static inline void refer_layer_messages(reference *r)
{
    const plan *x = r->x;
    r->all_reduce_tp = grouped(r, ALL_REDUCE, r->tp_message, x->t, r->tp_node);
    r->t_tp = (1 - x->hide_tp) * r->all_reduce_tp;
    r->ring_cp = x->cp > 1 ? (x->cp - 1) * transfer(r, r->cp_message, x->cp > r->cp_node ? 1 : 2,
                                                    ring(r, x->cp, r->cp_node))
                           : 0;
    bool crosses = x->ep > r->ep_node;
    const double moved[] = {r->ep_message, x->ep, r->ep_node,
                            crosses ? r->nic * (x->ep - 1) / (x->ep - r->ep_node)
                                    : ring(r, x->ep, r->ep_node),
                            start(r, x->ep, r->ep_node)};
    r->all_to_all = collective(r, ALL_TO_ALL, moved);
    const double inside[] = {r->etp * r->ep_message, r->etp, fmin(r->etp, r->tp_node),
                             ring(r, x->t, r->tp_node), start(r, x->t, r->tp_node)};
    r->t_ep = 2 * (r->passes + 1) *
              ((1 - x->hide_ep) * r->all_to_all + collective(r, ALL_GATHER, inside));
}

static inline void refer_step_messages(reference *r)
{
    const plan *x = r->x;
    bool moe = x->E > 0;
    int kind = x->zero > 0 ? REDUCE_SCATTER : ALL_REDUCE;
    r->transfer = 0;
    if (x->p > 1)
        r->transfer = r->crossing * transfer(r, r->pp_message, 1, r->nic) +
                      (1 - r->crossing) * transfer(r, r->pp_message, 2, r->link);
    r->reduce = grouped(r, kind, r->g * r->P_most, r->dp_ranks, r->dp_node);
    r->gather = grouped(r, ALL_GATHER, r->w * r->P_most, r->dp_ranks, r->dp_node);
    if (moe) {
        r->reduce += grouped(r, kind, r->g * r->P_most_experts, r->expert_ranks, r->expert_node);
        r->gather +=
            grouped(r, ALL_GATHER, r->w * r->P_most_experts, r->expert_ranks, r->expert_node);
    }
    r->gather = x->zero > 0 ? r->gather : 0;
    const double pair[] = {r->g * r->P_rows, 2, r->crossing > 0 ? 1 : 2,
                           r->crossing > 0 ? r->nic : r->link, x->alpha_transfer};
    r->tied = x->p > 1 && x->tied > 0 ? collective(r, ALL_REDUCE, pair) : 0;
}

/* ---- slowdowns: docs/megatron.md#overlap ---- */

/* GEMM, ATTENTION, ELEMENTWISE. */
static inline double slowdown(const reference *r, int kind, double size)
{
    const double intensities[] = {0, r->intensity, r->intensity_core, 0};
    double otherwise = r->x->slowdown;
    return r->provided ? provided_slowdown(kind, size, intensities[kind], otherwise) : otherwise;
}

/* Of kernels that take so long, by their times. */
static inline double mixed(const reference *r, double size, double gemm, double core, double rest)
{
    return (gemm * slowdown(r, 1, size) + core * slowdown(r, 2, size) +
            rest * slowdown(r, 3, size)) /
           (gemm + core + rest);
}

static inline double cost(double hidden, double factor)
{
    return hidden - hidden / factor;
}

static inline void refer_slowdowns(reference *r)
{
    const plan *x = r->x;
    double bytes = r->g * r->P_most;
    double core = r->core_backward + (x->recompute == FULL ? r->core_forward : r->core_again);
    double gemm = r->gemm[DENSE];
    double rest = r->other[DENSE];
    double again = r->passes;
    r->slow_tp = slowdown(r, 1, r->tp_message);
    r->slow_cp = slowdown(r, 2, r->cp_message);
    r->slow_ep =
        x->E > 0 ? mixed(r, r->ep_message, r->gemm[MOE], r->core_forward, r->other[MOE]) : 1;
    r->slow_pp = mixed(r, r->pp_message, gemm, r->core_forward, rest);
    r->slow_gemm = slowdown(r, 1, bytes);
    r->slow_forward = mixed(r, bytes, gemm, r->core_forward, rest);
    r->slow_backward =
        mixed(r, bytes, (again + 1) * gemm, core, (again + 1) * rest + r->sums[DENSE]);
    r->slow_inputs = mixed(r, bytes, again * gemm, core, (again + 1) * rest);
    r->forward_share = 1 / (again + 2);
    r->slow_dp = r->slow_backward + (r->slow_forward - r->slow_backward) * r->forward_share;
    double behind_forward = r->slow_cp * x->hide_cp * r->core_forward;
    double behind_backward = r->slow_cp * x->hide_cp * r->core_backward;
    double cp_hidden =
        again * fmin(r->ring_cp, behind_forward) + fmin(2 * r->ring_cp, behind_backward);
    r->t_cp = (again + 2) * r->ring_cp - cp_hidden;
    r->cost_tp = cost(x->hide_tp * r->all_reduce_tp, r->slow_tp);
    r->cost_cp = cost(cp_hidden, r->slow_cp);
    r->cost_ep = cost(2 * (again + 1) * x->hide_ep * r->all_to_all, r->slow_ep);
}

#include "megatron_reference_step.h"

#endif
