/* SPDX-License-Identifier: Apache-2.0 */
/* The second half of megatron_reference.h: the step, its parts and memory. */
#ifndef STEPTIME_TESTS_MEGATRON_REFERENCE_STEP_H
#define STEPTIME_TESTS_MEGATRON_REFERENCE_STEP_H

#include "megatron_reference.h"

/* ---- the step ---- */

/* docs/megatron.md#launch: a p-norm of the host's and the GPU's time. */
static inline double rounded_max(double x, double y, double power)
{
    double longer = fmax(x, y);
    return longer * pow(1 + pow(fmin(x, y) / longer, power), 1 / power);
}

static inline void refer_stage_times(reference *r)
{
    const plan *x = r->x;
    static const double launches[] = {0.75, 0.8, 1}; /* none, selective, full */
    double host = (x->launch + x->launch_rank * (x->t - 1)) * launches[(int)x->recompute];
    double message = r->t_tp + r->cost_tp;
    for (size_t k = 0; k < KINDS; k++) {
        r->gpu[k] = r->forward[k] + r->backward[k] + r->again[k] +
                    r->blocks[k] / 2 * r->n_tp * message + r->t_cp + r->cost_cp +
                    (k == MOE ? r->t_ep + r->cost_ep : 0);
        r->layer[k] = rounded_max(r->gpu[k], k == MOE ? x->moe_launch * host : host, x->sharpness);
        r->gpu[k] = k == MOE && x->E <= 0 ? 0 : r->gpu[k];
        r->layer[k] = k == MOE && x->E <= 0 ? 0 : r->layer[k];
    }
    r->slowest = 0;
    for (size_t i = 0; i < STAGES; i++) {
        bool has_first = i == FIRST || x->p <= 1;
        bool has_last = i == LAST || x->p <= 1;
        r->stage_time[i] =
            r->stage_kind[i][DENSE] * r->layer[DENSE] + r->stage_kind[i][MOE] * r->layer[MOE] +
            (has_first ? r->embedding + message : 0) + (has_last ? r->head + message : 0);
        if (x->p > 1 || i != MIDDLE)
            r->slowest = fmax(r->slowest, r->stage_time[i]);
    }
    r->model_time = r->layers[DENSE] * r->layer[DENSE] + r->layers[MOE] * r->layer[MOE] +
                    r->embedding + r->head + 2 * message;
}

/* Forward passes of layers over all of them, with what a pass of a kind communicates. */
static inline double forward_part(const reference *r)
{
    double behind = r->slow_cp * r->x->hide_cp * r->core_forward;
    double ring = fmax(r->ring_cp - behind, 0);
    double forward = 0;
    double all = 0;
    for (size_t k = 0; k < (r->x->E > 0 ? KINDS : 1); k++) {
        double once = r->cost_cp + (k == MOE ? r->t_ep + r->cost_ep : 0);
        double pass = r->blocks[k] * (r->t_tp + r->cost_tp) + ring + once / (r->passes + 1);
        double work = r->forward[k]; /* Qi et al. table 6: as long as a backward pass without W */
        if (r->x->schedule == ZERO_BUBBLE || r->x->schedule == ZERO_BUBBLE_2)
            work = (work + r->backward[k] - fmin(r->wgrad[k], r->backward[k])) / 2;
        forward += r->layers[k] * (work + pass);
        all += r->layers[k] * r->gpu[k];
    }
    return forward / all;
}

typedef struct stage_passes {
    double blocks, chunk, forward, weights, backward;
} stage_passes;

/* The passes of the stages, and of the chunks that have an end of the model. */
static inline void refer_passes(const reference *r, stage_passes *stages)
{
    const plan *x = r->x;
    double message = r->t_tp + r->cost_tp;
    double weights = r->layers[DENSE] * r->wgrad[DENSE] + r->layers[MOE] * r->wgrad[MOE];
    double all = r->layers[DENSE] * r->gpu[DENSE] + r->layers[MOE] * r->gpu[MOE];
    double widest = 0;
    for (size_t i = 0; i < STAGES; i++) {
        double blocks =
            r->stage_kind[i][DENSE] * r->layer[DENSE] + r->stage_kind[i][MOE] * r->layer[MOE];
        stages[i].blocks = i == MIDDLE && x->p <= 2 ? 0 : blocks;
        stages[i].forward = forward_part(r) * stages[i].blocks;
        stages[i].weights = weights / all * stages[i].blocks;
        widest = fmax(widest, stages[i].blocks);
    }
    stages[FIRST].forward += r->embedding / 2 + message;
    stages[LAST].forward += r->head / 3;
    stages[LAST].weights += r->logits / 3;
    for (size_t i = 0; i < STAGES; i++) {
        double time = i == MIDDLE && x->p <= 2 ? 0 : r->stage_time[i];
        stages[i].backward = fmax(time - stages[i].forward - stages[i].weights, 0);
        stages[i].chunk = time - widest * (x->v - 1) / x->v;
    }
}

/* A way to the last stage and back, for a first and a last micro-batch, beside passes ahead. */
static inline double way_waits(const reference *r, double way, double pass, double ahead)
{
    double forward = r->forward_share * pass;
    if (r->m - 1 <= ahead)
        return fmax(way - (r->m - 1) * fmin(forward, pass - forward), 0);
    return fmax(way - ahead * forward, 0) + fmax(way - ahead * (pass - forward), 0);
}

/* Rounds of a last group of interleaved micro-batches that is smaller than the others. */
static inline double last_group_waits(const reference *r, double lacks)
{
    const plan *x = r->x;
    double rest = fmod(r->m, x->p);
    double odd = fmod(lacks, 2);
    double early = fmax((x->v - 2) * x->p - (x->v - 1) * rest - odd * (x->v + 1) / 2, 0);
    double around = x->p + rest + 3 * odd;
    if (r->m <= x->p)
        return (x->v - 1) * lacks;
    return rest * floor(early / around) + fmin(rest, fmod(early, around));
}

static inline double refer_1f1b(const reference *r, const stage_passes *stages, double lacks)
{
    const plan *x = r->x;
    double widest = fmax(stages[FIRST].blocks, fmax(stages[MIDDLE].blocks, stages[LAST].blocks));
    double through = r->model_time - x->p * widest * (x->v - 1) / x->v;
    double each = x->v > 1 ? 2 : 1;
    double first = stages[FIRST].chunk;
    double middle = stages[MIDDLE].chunk;
    double layers = r->stage[FIRST] + (x->p - 2) * r->stage[MIDDLE] + r->stage[LAST];
    double shorter = x->p > 2 ? fmax(layers - x->L, 0) : 0;
    double before = first + (x->p - 3 - shorter) * middle;
    double last = r->m * r->stage_time[LAST] + through - stages[LAST].chunk;
    double time = fmax(last, r->m * r->stage_time[FIRST] +
                                 way_waits(r, through - first, first, each * (x->p - 1)));
    if (x->p > 2)
        time =
            fmax(time, r->m * r->stage_time[MIDDLE] + before +
                           way_waits(r, through - before - middle, middle, each * (shorter + 1)));
    double entry = (x->p - 1) * fmax(first - widest / x->v, 0);
    entry *= x->v <= 1 ? 0 : lacks == 0 ? 1 : r->m > x->p ? 0.5 : 0;
    double forward = forward_part(r);
    double idle = (x->v - 1) * lacks * (1 - forward) + last_group_waits(r, lacks) * forward;
    return time + entry + idle * widest / x->v;
}

/* Qi et al. table 2, which stands where nothing replays the schedule. */
static inline double refer_zero_bubble(const reference *r, const stage_passes *stages)
{
    const plan *x = r->x;
    double waits = stages[MIDDLE].forward + stages[MIDDLE].backward -
                   (x->schedule == ZERO_BUBBLE ? 1 : 2) * stages[MIDDLE].weights;
    return r->m * r->slowest + (x->p - 1) * fmax(waits, 0);
}

/* Weight gradients of their own passes, which the library replays where it is asked. */
static inline bool has_late_weights(const plan *x)
{
    return x->schedule == ZERO_BUBBLE || x->schedule == ZERO_BUBBLE_2;
}

/* docs/megatron.md#schedule: Narayanan et al. sec. 2.2, Qi et al. for late weight gradients. */
static inline void refer_bubble(reference *r)
{
    const plan *x = r->x;
    stage_passes stages[STAGES];
    refer_passes(r, stages);
    double rest = fmod(r->m, x->p);
    double lacks = rest > 0 ? x->p - rest : 0;
    bool late = has_late_weights(x);
    double forward =
        fmax(stages[FIRST].forward, fmax(stages[MIDDLE].forward, stages[LAST].forward));
    double backward = 0;
    for (size_t i = 0; i < STAGES; i++)
        backward = fmax(backward, stages[i].backward + stages[i].weights);
    double time = late                   ? refer_zero_bubble(r, stages)
                  : x->schedule == GPIPE ? r->model_time + (r->m - 1) * (forward + backward)
                                         : refer_1f1b(r, stages, lacks);
    r->middle_forward = stages[MIDDLE].forward;
    r->middle_backward = stages[MIDDLE].backward + stages[MIDDLE].weights;
    double sent = 2 * (r->m * x->v + x->p - 1);
    r->bubble = x->p <= 1 ? 0 : fmax(time - r->m * r->slowest, 0);
    r->n_transfers = sent + (x->v - 1) * lacks + last_group_waits(r, lacks);
    r->transfers = (1 - x->hide_pp) * (late ? sent : r->n_transfers) * r->transfer;
}

/* What split weights hide: docs/megatron.md#data-parallelism. */
static inline double hidden_split(reference *r, double reduce, double gather, double widest)
{
    double forward = r->slow_forward * r->forward_share * r->slowest;
    double backward = r->slow_backward * (1 - r->forward_share) * r->slowest;
    double waits = fmax(0, reduce + gather - r->ahead * forward);
    r->data_ends = (reduce + gather + (r->m - 1) * waits) / widest;
    double cover = fmin(gather, forward) + fmin(gather + reduce, backward) +
                   (reduce + r->ahead * gather) / widest;
    double most = r->m * (reduce + 2 * gather) - r->data_ends;
    return r->ahead > 0 ? fmin(fmin(most, r->m * cover), r->slow_dp * r->m * r->slowest) : 0;
}

/* What whole weights hide, gradients reduced once a step or with every micro-batch. */
static inline double hidden_whole(reference *r, double reduce, double gather, double widest)
{
    double forward = r->slow_forward * r->forward_share * r->slowest;
    double backward = r->slow_backward * (1 - r->forward_share) * r->slowest;
    bool split = r->x->zero > 1;
    double cover = split ? (r->m - 1 / widest) * backward + (r->m - 1) * forward : backward;
    r->data_ends = split ? reduce / widest : 0;
    return fmin(r->n_reduce * reduce - r->data_ends, cover) + r->n_gather * fmin(gather, forward);
}

static inline void refer_data(reference *r)
{
    const plan *x = r->x;
    double widest = fmax(r->stage[FIRST], fmax(r->stage[MIDDLE], r->stage[LAST]));
    double reduce = x->hide_gradients * r->reduce;
    double gather = x->hide_weights * r->gather;
    r->n_reduce = x->zero > 1 ? r->m : 1;
    r->n_gather = x->zero > 2 ? 2 * r->m : x->zero > 0 ? 1 : 0;
    r->data = r->n_reduce * r->reduce + r->n_gather * r->gather;
    r->data_hidden = x->zero > 2 ? hidden_split(r, reduce, gather, widest)
                                 : hidden_whole(r, reduce, gather, widest);
    /* a schedule that is replayed: beside the passes of a middle stage */
    if (has_late_weights(x) && x->zero < 2 && r->slow_dp == 1)
        r->data_hidden = reduce + r->n_gather * gather - fmax(reduce - r->middle_backward, 0) -
                         fmax(r->n_gather * gather - r->middle_forward, 0);
    double pass = fmin(reduce + (x->zero > 2 ? gather : 0),
                       r->slow_backward * (1 - r->forward_share) * r->slowest);
    double backward = fmin(r->data_hidden, r->n_reduce * pass);
    r->slowdown_data =
        cost(backward, r->slow_backward) + cost(r->data_hidden - backward, r->slow_forward);
    r->slowdown = r->slowdown_data + cost(x->hide_pp * r->n_transfers * r->transfer, r->slow_pp);
    r->optimizer = (5 * r->g + 2 * r->o + r->w) * r->P_updated / r->fast_bytes;
    r->step = x->site * (r->m * r->slowest + r->bubble + r->transfers + r->data - r->data_hidden +
                         r->tied + r->optimizer + r->slowdown);
}

/* In the order of the parts that a report may name. */
enum { MEMORY, LAUNCH, TP, BUBBLE, DP, PP, EP, SLOWDOWN, CP, OPTIMIZER, GEMMS };

static inline size_t slowest_stage(const reference *r)
{
    if (r->x->p <= 1 || r->stage_time[LAST] >= r->slowest)
        return LAST;
    return r->stage_time[FIRST] >= r->stage_time[MIDDLE] ? FIRST : MIDDLE;
}

static inline void refer_gemms(reference *r, const double *layers)
{
    const plan *x = r->x;
    double core = r->passes * r->core_forward + r->core_backward + r->core_again;
    double kernels = r->forward[DENSE] + r->backward[DENSE] + r->again[DENSE];
    double skipped = x->recompute == FULL && x->early_stop > 0 ? r->down : 0;
    double dense = fmin((2 + r->passes) * r->gemm[DENSE] - skipped + core, kernels);
    double moe = (2 + r->passes) * r->gemm[MOE] + core;
    bool has_head = slowest_stage(r) == LAST;
    r->part[GEMMS] = layers[DENSE] * dense + (x->E > 0 ? layers[MOE] * moe : 0) +
                     (has_head ? r->m * r->logits : 0);
}

static inline void refer_parts(reference *r)
{
    const plan *x = r->x;
    size_t at = slowest_stage(r);
    double share = r->m;
    const double layers[KINDS] = {share * r->stage_kind[at][DENSE], share * r->stage_kind[at][MOE]};
    double all = layers[DENSE] + layers[MOE];
    double messages =
        (layers[DENSE] + layers[MOE] * r->blocks[MOE] / 2) * r->n_tp + r->m * (x->p <= 1      ? 2
                                                                               : at == MIDDLE ? 0
                                                                                              : 1);
    double waits = layers[DENSE] * (r->layer[DENSE] - r->gpu[DENSE]) +
                   layers[MOE] * (r->layer[MOE] - r->gpu[MOE]);
    refer_gemms(r, layers);
    r->part[LAUNCH] = waits;
    r->part[TP] = messages * r->t_tp;
    r->part[CP] = all * r->t_cp;
    r->part[EP] = layers[MOE] * r->t_ep;
    r->part[PP] = r->transfers;
    r->part[DP] = r->data - r->data_hidden + r->tied;
    r->part[BUBBLE] = r->bubble;
    r->part[OPTIMIZER] = r->optimizer;
    r->part[SLOWDOWN] =
        messages * r->cost_tp + all * r->cost_cp + layers[MOE] * r->cost_ep + r->slowdown;
    r->part[MEMORY] = r->step / x->site;
    for (size_t i = LAUNCH; i < PARTS; i++) {
        r->part[MEMORY] -= r->part[i];
        r->part[i] *= x->site;
    }
    r->part[MEMORY] *= x->site;
    r->exposed = r->part[TP] + r->part[CP] + r->part[EP] + r->part[PP] + r->part[DP];
    r->hidden[0] = x->site * messages * x->hide_tp * r->all_reduce_tp;
    r->hidden[1] = x->site * all * ((r->passes + 2) * r->ring_cp - r->t_cp);
    r->hidden[2] = x->site * layers[MOE] * 2 * (r->passes + 1) * x->hide_ep * r->all_to_all;
    r->hidden[3] = x->site * x->hide_pp * r->n_transfers * r->transfer;
    r->hidden[4] = x->site * r->data_hidden;
    r->all_hidden = 0;
    for (size_t i = 0; i < 5; i++)
        r->all_hidden += r->hidden[i];
}

/* ---- memory: Korthikanti et al. sec. 4, Rajbhandari et al. sec. 3 and 5 ---- */

/* What a parameter takes in states, of so many bytes as a weight with its quantised copies. */
static inline double state_bytes(const reference *r, double stored, double ranks)
{
    const plan *x = r->x;
    double weights = x->zero < 3 ? stored : x->master_weights > 0 ? 0 : r->w / ranks;
    double gradients = (r->g + x->second_gradient) / (x->zero < 2 ? 1 : ranks);
    return weights + gradients + r->o / (x->zero < 1 ? 1 : ranks);
}

static inline double most_of_kinds(const reference *r, const double values[KINDS])
{
    return fmax(r->layers[DENSE] > 0 ? values[DENSE] : 0, r->layers[MOE] > 0 ? values[MOE] : 0);
}

/* Transformer Engine keeps inputs of linear layers as it multiplies them, others as they are. */
static inline void refer_activations(reference *r)
{
    const plan *x = r->x;
    double t = x->t;
    double tokens = r->n * x->h / r->norm_split;
    double saved = x->fp8 > 0 ? 1 : r->w;
    double norms = (2 * r->w + 2 * r->mask + saved) * tokens;
    double heads = x->a * r->dh + r->kv * (r->dh + r->dv);
    if (x->kv_rank > 0)
        heads = x->a * (2 * r->dq + r->dv) +
                t * ((1 + saved / r->w) * (x->q_rank + x->kv_rank) + x->rope);
    double context = (r->w + (x->fp8 > 0 ? saved : 0)) * x->a * r->dv;
    r->A_input = r->w * tokens;
    r->A_whole[DENSE] = norms + saved * tokens;
    r->A_whole[MOE] = norms + (r->w + (x->fp8 > 0 && x->fs > 0 ? saved : 0)) * tokens;
    r->A_scores =
        x->unfused > 0 ? (r->w + x->dropout * (r->w + 1)) * r->scores : 4 * r->n * x->a / t;
    double inner = r->w * r->up + saved;
    double both = r->n * (r->w * heads + context) / t + r->A_scores;
    r->A_kept[DENSE] = r->A_whole[DENSE] + both + r->n * inner * r->f / t;
    r->A_kept[MOE] = r->A_whole[MOE] + both + r->n * inner * x->fs / t + 4 * r->n / t * x->E +
                     r->n_expert * (saved * x->h + inner * r->fe / r->etp);
    for (size_t k = 0; k < KINDS; k++) {
        r->A_dropped[k] = x->unfused > 0 ? r->A_scores : x->saving * r->A_kept[k];
        r->A[k] = r->A_kept[k];
        if (x->recompute == FULL)
            r->A[k] = r->A_input;
        else if (x->recompute == SELECTIVE)
            r->A[k] = fmax(r->A_kept[k] - r->A_dropped[k], r->A_input);
    }
}

static inline double all_layers(const reference *r)
{
    return r->layers[DENSE] * r->P_layer[DENSE] + r->layers[MOE] * (r->P_layer[MOE] + r->P_experts);
}

/* What is computed again of the largest layer of a stage; kept inputs count already. */
static inline double again_on(const reference *r, size_t stage)
{
    double again = 0;
    for (size_t k = 0; k < KINDS; k++) {
        bool there = r->stage_kind[stage][k] > 0;
        if (there && r->x->recompute == FULL)
            again = fmax(again, r->A_kept[k] - r->A_input);
        else if (there && r->x->recompute == SELECTIVE)
            again = fmax(again, r->A_dropped[k]);
    }
    return again;
}

static inline void refer_work(reference *r)
{
    const plan *x = r->x;
    const double gradients[KINDS] = {
        r->n * (r->up + 1) * r->f / x->t,
        r->n_expert * (2 * x->h + (r->up + 1) * r->fe / r->etp),
    };
    for (size_t i = 0; i < STAGES; i++)
        r->M_work[i] = again_on(r, i) + r->w * (2 * r->n * x->h + most_of_kinds(r, gradients)) +
                       (x->fused_wgrad > 0 ? 0 : r->w * x->h * r->up * r->f / x->t);
    r->M_logits = x->logit_bytes * r->n * r->V / x->t;
    r->M_gathered = 0;
    if (x->zero > 2 && x->keep_gathered > 0)
        r->M_gathered = (r->w + 4) * r->P_most;
    else if (x->zero > 2)
        r->M_gathered = (r->ahead + 2) * r->w / x->L * all_layers(r);
}

static inline void refer_states(reference *r)
{
    const plan *x = r->x;
    double copies = 2 * x->fp8; /* by rows and by columns, a byte each */
    double layers = state_bytes(r, r->w + copies, r->dp_ranks);
    double ends = state_bytes(r, r->w, r->dp_ranks);
    double experts = state_bytes(r, r->w + copies, r->expert_ranks);
    for (size_t i = 0; i < STAGES; i++) {
        double blocks = r->stage_kind[i][DENSE] * r->P_layer[DENSE] +
                        (x->E > 0 ? r->stage_kind[i][MOE] * r->P_layer[MOE] : 0);
        r->M_state[i] = layers * blocks + ends * (r->P[i] - blocks) +
                        experts * r->stage_kind[i][MOE] * r->P_experts;
    }
}

static inline void refer_memory(reference *r)
{
    const plan *x = r->x;
    refer_activations(r);
    refer_work(r);
    refer_states(r);
    r->M_embedding = (r->w + r->mask) * r->n * x->h / r->norm_split * r->in_flight[FIRST];
    for (size_t i = 0; i < STAGES; i++) {
        bool loss = i == LAST || (i == FIRST && x->p <= 1);
        r->M_layers[i] = r->in_flight[i] * (r->stage_kind[i][DENSE] * r->A[DENSE] +
                                            (x->E > 0 ? r->stage_kind[i][MOE] * r->A[MOE] : 0));
        r->M[i] = r->M_state[i] + r->M_layers[i] + (i == FIRST ? r->M_embedding : 0) +
                  (loss ? fmax(r->M_work[i], r->M_logits) : r->M_work[i]) + r->M_gathered +
                  (r->gpus > 1 ? x->buffers : 0);
    }
    if (x->p <= 1)
        r->M[LAST] = r->M[FIRST];
    if (x->p <= 2)
        r->M[MIDDLE] = 0;
    r->worst = r->M[MIDDLE] > r->M[FIRST] ? MIDDLE : FIRST;
    if (r->M[LAST] > r->M[r->worst])
        r->worst = LAST;
    r->allocated = r->M[r->worst];
    r->memory = x->fragmentation * r->allocated + x->framework;
}

/* In the order in which the sheet names them. */
enum { BY_RECOMPUTE, BY_ZERO_1, BY_SEQUENCE, BY_MICRO_BATCH, BY_ZERO_3, BY_EXPERTS };

/* What freeing states by splitting them leaves, of the layers and of the experts. */
static inline void refer_split_states(reference *r)
{
    const plan *x = r->x;
    double whole = r->w + r->g + x->second_gradient + r->o;
    double layers = r->P[r->worst];
    double experts = r->stage_kind[r->worst][MOE] * r->P_experts;
    double held =
        r->w + 2 * x->fp8 + (r->g + x->second_gradient) / (x->zero < 2 ? 1 : r->expert_ranks);
    double most = fmax(fmin(x->E, floor(x->t * x->cp * x->d / r->etp)), x->ep);
    if (x->zero < 1)
        r->frees[BY_ZERO_1] =
            r->o * (layers * (1 - 1 / r->dp_ranks) + experts * (1 - 1 / r->expert_ranks));
    if (x->zero < 3)
        r->frees[BY_ZERO_3] =
            fmax(r->M_state[r->worst] - whole * (layers / r->dp_ranks + experts / r->expert_ranks) -
                     3 * r->w * all_layers(r) / x->L,
                 0);
    if (x->zero < 3 && x->E > 0)
        r->frees[BY_EXPERTS] = (1 - x->ep / most) * experts * held;
}

static inline void refer_remedies(reference *r)
{
    const plan *x = r->x;
    double kept = r->stage[r->worst] * r->in_flight[r->worst];
    double layers = r->M_layers[r->worst];
    refer_split_states(r);
    if (x->recompute != FULL)
        r->frees[BY_RECOMPUTE] =
            fmax(layers - kept * r->A_input - (most_of_kinds(r, r->A_kept) - r->A_input), 0);
    if (r->norm_split < x->t)
        r->frees[BY_SEQUENCE] = kept *
                                (x->recompute == FULL ? r->A_input : most_of_kinds(r, r->A_whole)) *
                                (1 - 1 / x->t);
    r->frees[BY_MICRO_BATCH] = fmax(r->M_work[r->worst], r->M_logits) * (1 - 1 / x->b);
    if (x->schedule != GPIPE)
        r->frees[BY_MICRO_BATCH] +=
            layers * fmax(1 - fmin(r->m * x->b, x->p) / (x->b * r->in_flight[FIRST]), 0);
}

static inline reference refer(const plan *x, bool provided)
{
    reference r = {.x = x, .provided = provided};
    refer_shapes(&r);
    refer_parameters(&r);
    refer_stages(&r);
    refer_ranks(&r);
    refer_held_parameters(&r);
    refer_in_flight(&r);
    refer_rates(&r);
    refer_attention(&r);
    refer_products(&r);
    refer_traffic_in_memory(&r);
    refer_layers(&r);
    refer_messages(&r);
    refer_layer_messages(&r);
    refer_step_messages(&r);
    refer_slowdowns(&r);
    refer_stage_times(&r);
    refer_bubble(&r);
    refer_data(&r);
    refer_parts(&r);
    refer_memory(&r);
    refer_remedies(&r);
    return r;
}

#endif
