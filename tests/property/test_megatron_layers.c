/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of every kind against megatron_layers.h, over random plans: times of their passes, what
 * they keep for the backward pass, and what stages and mean layers are made of.
 */
#include "megatron_bench.h"
#include "megatron_layers.h"
#include "megatron_layout.h"

enum { PLANS = 900 };

static void expect_member(const bench *b, const char *cell, const char *member, double expected)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%s[%s]", cell, member);
    expect(b, name, expected);
}

static double member(const bench *b, const char *cell, const char *of)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%s[%s]", cell, of);
    return found(b, name);
}

static void expect_kind(const bench *b, const char *cell, size_t kind, double expected)
{
    expect_member(b, cell, layer_names[kind], expected);
}

static double of_kind(const bench *b, const char *cell, size_t kind)
{
    return member(b, cell, layer_names[kind]);
}

static void expect_times(const bench *b, size_t kind, const layer *one)
{
    expect_kind(b, "t_gemm", kind, one->products);
    expect_kind(b, "core_forward", kind, one->core);
    expect_kind(b, "t_forward", kind, one->forward);
    expect_kind(b, "t_backward", kind, one->backward);
    expect_kind(b, "t_recompute", kind, one->again);
    expect_kind(b, "t_wgrad", kind, one->weights);
}

/* What a sheet's cells of a plan are held against. */
typedef void expect_plan(bench *b, const layers_reference *r);

static void over_plans(void **state, expect_plan *expect_cells)
{
    bench b;
    open_bench(&b, "megatron", *state);
    compile_kinds(&b);
    for (int i = 0; i < PLANS; i++) {
        plan x = draw_plan_of_kinds(*state);
        layers_reference r = refer_layers_of(&x);
        run_kinds(&b, &x);
        expect_cells(&b, &r);
    }
    close_bench(&b);
}

static void expect_all_times(bench *b, const layers_reference *r)
{
    for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++)
        if (is_possible(r->x, kind))
            expect_times(b, kind, &r->layers[kind]);
}

TEST(times_of_every_kind_are_those_of_its_matrices)
{
    over_plans(state, expect_all_times);
}

static void expect_activations(bench *b, const layers_reference *r)
{
    for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++) {
        if (!is_possible(r->x, kind))
            continue;
        expect_kind(b, "A_kept", kind, r->layers[kind].kept);
        expect_kind(b, "A", kind, r->layers[kind].stays);
    }
}

TEST(activations_of_every_kind_are_its_tensors)
{
    over_plans(state, expect_activations);
}

/* ---- what providers are told ---- */

/* Every argument is seen, also those that tell shapes apart. */
static double seen_by_provider(const double *a, size_t count)
{
    double sum = 1e-3;
    for (size_t i = 0; i < count; i++)
        sum += 1e-5 * (double)(i + 2) * log1p(a[i]);
    return sum;
}

static st_status answer_shape(void *self, size_t rows, const double *const *arguments,
                              double *values)
{
    size_t count = *(const size_t *)self;
    for (size_t row = 0; row < rows; row++) {
        double a[EXPERTS_ARGUMENTS];
        for (size_t i = 0; i < count; i++)
            a[i] = arguments[i][row];
        values[row] = seen_by_provider(a, count);
    }
    return ST_OK;
}

static void provide_shapes(bench *b)
{
    static const char *const units[2][EXPERTS_ARGUMENTS] = {
        {"1", "1", "1", "1", "1", "B", "FLOP", "FLOP/s", "1", "B", "B/s"},
        {"1", "1", "1", "1", "1", "B", "FLOP", "FLOP/s", "1", "B", "B/s", "s"}};
    static const char *const names[] = {"fused_attention", "grouped_experts"};
    static size_t counts[] = {ATTENTION_ARGUMENTS, EXPERTS_ARGUMENTS};
    st_provider *providers = st_arena_alloc(b->arena, 2, sizeof *providers);
    assert_non_null(providers);
    for (size_t i = 0; i < 2; i++) {
        st_unit *read = st_arena_alloc(b->arena, EXPERTS_ARGUMENTS, sizeof *read);
        assert_non_null(read);
        for (size_t k = 0; k < counts[i]; k++)
            read[k] = unit(units[i][k]);
        providers[i] = (st_provider){.name = names[i],
                                     .source = "test",
                                     .argument_units = read,
                                     .argument_count = counts[i],
                                     .unit = unit("s"),
                                     .evaluate = answer_shape,
                                     .self = &counts[i]};
    }
    compile_kinds_with(b, providers, 2);
}

TEST(providers_are_told_shapes)
{
    bench b;
    open_bench(&b, "megatron", *state);
    provide_shapes(&b);
    for (int i = 0; i < PLANS / 3; i++) {
        plan x = draw_plan_of_kinds(*state);
        layers_reference r = refer_layers_of(&x);
        double a[EXPERTS_ARGUMENTS];
        run_kinds(&b, &x);
        attention_arguments(&r, keys_in_full(&r), width_in_full(&r), times_rows(&r), a);
        expect(&b, "t_chosen", seen_by_provider(a, ATTENTION_ARGUMENTS));
        attention_arguments(&r, keys_in_window(&r), r.dq + r.dv, 1, a);
        expect(&b, "t_window", seen_by_provider(a, ATTENTION_ARGUMENTS));
        if (x.E <= 0)
            continue;
        experts_arguments(&r, a);
        expect(&b, "t_experts", seen_by_provider(a, EXPERTS_ARGUMENTS));
    }
    close_bench(&b);
}

/* ---- the host, messages and passes: docs/megatron.md#launch ---- */

static double launches_of(const plan *x, size_t kind)
{
    if (kind == A_MAMBA)
        return x->mamba_launch;
    if (kind == AN_ATTENTION || kind == AN_MLP)
        return 0.5;
    if (kind == AN_EXPERTS)
        return fmax(x->moe_launch - 0.5, 0.5);
    return is_routed(kind) ? x->moe_launch : 1;
}

static double host_time(const layers_reference *r, size_t kind)
{
    const plan *x = r->x;
    double passes = x->recompute == FULL        ? 0.75 + 0.25 * r->share
                    : x->recompute == SELECTIVE ? 0.8
                                                : 0.75;
    double host = launches_of(x, kind) * passes * (x->launch + x->launch_rank * (x->t - 1));
    if (x->graphs == FULL_GRAPH)
        return 0;
    if (x->graphs != NO_GRAPHS)
        host *= is_routed(kind) ? x->graph_moe : x->graph_launch;
    if (is_routed(kind) && (r->narrow || x->bias > 0)) /* outside of graphs */
        host += x->expert_launch * x->E / x->ep;
    if (is_routed(kind) && x->hide_ep > 0 && x->dispatcher < 3) /* not with HybridEP */
        host *= x->overlap_launch;
    return x->host > 0 ? host * x->grace : host;
}

/* Blocks whose tokens tensor parallelism splits; experts may have theirs split already. */
static double blocks_of(const layers_reference *r, size_t kind)
{
    bool experts = etp_of(r->x) == r->x->t || r->x->fs > 0;
    if (r->x->hybrid > 0)
        return kind == AN_EXPERTS && !experts ? 0 : 1;
    return is_routed(kind) && !experts ? 1 : 2;
}

/* A kind's messages, exposed, and the slowdown by hidden ones: forward, and of all passes. */
typedef struct messages {
    double forward, all, slow_forward, slow_all;
} messages;

static messages messages_of(const bench *b, const layers_reference *r, size_t kind)
{
    const plan *x = r->x;
    double passes = 1 + r->share;
    double dispatched = passes + 1 + (x->recompute == SELECTIVE ? x->again_moe : 0);
    double forward = blocks_of(r, kind);
    double all = forward * (2 + r->share * (1 - x->early_stop / 2));
    messages sent = {.forward = forward * found(b, "t_tp"),
                     .all = all * found(b, "t_tp"),
                     .slow_forward = forward * found(b, "t_slowdown_tp"),
                     .slow_all = all * found(b, "t_slowdown_tp")};
    if (has_attention(kind)) {
        double behind = found(b, "slow_cp") * x->hide_cp * r->t_full;
        sent.forward += found(b, "t_heads_cp") + fmax(found(b, "t_ring_cp") - behind, 0);
        sent.all += found(b, "t_cp");
        sent.slow_forward += found(b, "t_slowdown_cp") / (passes + 1);
        sent.slow_all += found(b, "t_slowdown_cp");
    }
    if (!has_attention(kind)) { /* exchanges of heads, which test_megatron_kinds.c works out */
        double exchanged = of_kind(b, "t_cp_kind", kind);
        sent.forward += exchanged / (passes + 1);
        sent.all += exchanged;
    }
    if (is_routed(kind)) {
        sent.forward += found(b, "t_ep") / dispatched;
        sent.all += found(b, "t_ep");
        sent.slow_forward += found(b, "t_slowdown_ep") / (passes + 1);
        sent.slow_all += found(b, "t_slowdown_ep");
    }
    return sent;
}

static double later_of(double x, double y, double power)
{
    double longer = fmax(x, y);
    return longer * pow(1 + pow(fmin(x, y) / longer, power), 1 / power);
}

static bool weights_wait(const plan *x)
{
    return x->schedule == ZERO_BUBBLE || x->schedule == ZERO_BUBBLE_2;
}

static void expect_layer(const bench *b, const layers_reference *r, size_t kind)
{
    const plan *x = r->x;
    const layer *one = &r->layers[kind];
    messages sent = messages_of(b, r, kind);
    double weights = fmin(one->weights, one->backward);
    double work = one->forward + one->backward + one->again;
    double first = weights_wait(x) ? (one->forward + one->backward - weights) / 2 : one->forward;
    double gpu = work + sent.all + sent.slow_all;
    double sync =
        is_routed(kind) && x->graphs != FULL_GRAPH ? x->moe_sync * (x->ep > 1 ? 1 : 0.3) : 0;
    expect_kind(b, "t_gpu", kind, gpu);
    expect_kind(b, "t_layer", kind, later_of(gpu, host_time(r, kind), x->sharpness) + sync);
    expect_kind(b, "t_forward_pass", kind, first + sent.forward + sent.slow_forward);
    expect_kind(b, "t_backward_pass", kind,
                work - first - weights + sent.all - sent.forward + sent.slow_all -
                    sent.slow_forward);
    expect_kind(b, "forward_sent", kind, sent.forward);
    expect_kind(b, "forward_slowdown", kind, sent.slow_forward);
    expect_kind(b, "forward_pass", kind,
                first + sent.forward + sent.slow_forward + of_kind(b, "forward_launch", kind));
    expect_kind(b, "weights_pass", kind, weights + of_kind(b, "weights_launch", kind));
}

static void expect_all_layers(bench *b, const layers_reference *r)
{
    for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++)
        if (is_possible(r->x, kind))
            expect_layer(b, r, kind);
}

TEST(layers_are_their_passes_messages_and_launches)
{
    over_plans(state, expect_all_layers);
}

static double layers_of_kind(const plan *x, size_t kind)
{
    double count = 0;
    for (size_t stage = 0; stage < (size_t)x->p; stage++)
        count += x->layers[stage][kind];
    return count;
}

static bool of_a_chunk; /* the sheet is asked for one chunk of a stage */

/* Of the layers with or without experts, by how many there are of each kind in the model or on the
 * chunk that is asked for. */
static void expect_mean(const bench *b, const char *mean, bool routed, const double *values)
{
    double sum = 0;
    double count = 0;
    char name[80];
    for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++) {
        if (is_routed(kind) != routed || !is_possible(b->plan, kind))
            continue;
        double own = of_a_chunk ? of_kind(b, "L_asked", kind) : layers_of_kind(b->plan, kind);
        count += own;
        sum += own * values[kind];
    }
    (void)snprintf(name, sizeof name, "%s[%s]", mean, routed ? "with_experts" : "without_experts");
    if (count > 0)
        expect_of(b, name, sum / count, found(b, "t_stage[first]") * 1e-6);
    else if (routed)
        expect(b, name, 0);
}

/* Cells of a kind and what lays out their means. */
static void expect_means_of_cells(const bench *b, bool routed)
{
    static const char *const cells[][2] = {{"forward_mean", "t_forward_work"},
                                           {"forward_mean_slowdown", "forward_slowdown"},
                                           {"forward_mean_launch", "forward_launch"},
                                           {"backward_mean", "backward_work"},
                                           {"backward_mean_slowdown", "backward_slowdown"},
                                           {"backward_mean_launch", "backward_launch"},
                                           {"weights_mean", "weights_work"},
                                           {"weights_mean_launch", "weights_launch"}};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        double values[KINDS_OF_LAYERS] = {0};
        for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++)
            if (is_possible(b->plan, kind))
                values[kind] = of_kind(b, cells[i][1], kind);
        expect_mean(b, cells[i][0], routed, values);
    }
}

static void expect_means_of_messages(const bench *b, const layers_reference *r, bool routed)
{
    const plan *x = b->plan;
    double behind = found(b, "slow_cp") * x->hide_cp * r->t_full;
    double ring = found(b, "t_heads_cp") + fmax(found(b, "t_ring_cp") - behind, 0);
    double values[4][KINDS_OF_LAYERS];
    for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++) {
        double tp = blocks_of(r, kind) * found(b, "t_tp");
        values[0][kind] = tp;
        values[1][kind] = tp * (1 + r->share * (1 - x->early_stop / 2));
        double all = is_possible(x, kind) ? of_kind(b, "t_cp_kind", kind) : 0;
        double passes = 2 + r->share;
        values[2][kind] = has_attention(kind) ? ring : all / passes;
        values[3][kind] = has_attention(kind) ? found(b, "t_cp") - ring : all - all / passes;
    }
    expect_mean(b, "forward_mean_tp", routed, values[0]);
    expect_mean(b, "backward_mean_tp", routed, values[1]);
    expect_mean(b, "forward_mean_cp", routed, values[2]);
    expect_mean(b, "backward_mean_cp", routed, values[3]);
}

static void expect_means(bench *b, const layers_reference *r)
{
    for (int routed = 0; routed < 2; routed++) {
        expect_means_of_cells(b, routed > 0);
        expect_means_of_messages(b, r, routed > 0);
    }
}

static void ask_for_chunk(bench *b)
{
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(b->sheet, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(inputs[i].from, "parallel.chunk") == 0)
            b->inputs[i] = 1;
    assert_int_equal(st_program_run_one(b->program, b->workspace, b->inputs, b->outputs, NULL),
                     ST_OK);
}

static void expect_means_of_both(bench *b, const layers_reference *r)
{
    of_a_chunk = false;
    expect_means(b, r);
    ask_for_chunk(b);
    of_a_chunk = true;
    expect_means(b, r);
}

TEST(mean_layers_are_means_of_their_kinds)
{
    over_plans(state, expect_means_of_both);
}

/* ---- parameters and memory of stages ---- */

static double parameters_of(const layers_reference *r, size_t kind)
{
    const plan *x = r->x;
    const layer *one = &r->layers[kind];
    double norm = (x->rms_norm > 0 ? 1 : 2) * x->h;
    double count = x->hybrid > 0 ? norm : 2 * norm + x->bias * 2 * x->h;
    for (size_t i = 0; i < one->count; i++)
        count += one->list[i].in * one->list[i].out;
    if (has_attention(kind))
        count += x->bias * qkv_width(r) / r->t;
    if (has_mlp(kind))
        count += x->bias * r->up * r->f / r->t;
    return count + (is_routed(kind) ? x->h * x->E : 0);
}

/* Bytes of a weight, its gradient and its states, split over so many ranks of each. */
static double state_bytes(const layers_reference *r, double stored, double shards, double ranks)
{
    const plan *x = r->x;
    bool adapts = x->task == LORA;
    double bytes = stored;
    if (x->zero > 2)
        bytes = x->master_weights > 0 ? 0 : stored / shards;
    double gradients = adapts ? 0 : r->g + x->second_gradient;
    double master = x->weights == FP32 || x->master == 3 ? 0 : x->master > 0 ? 2 : 4;
    double moments = adapts ? 0 : 2 * bytes_of(x->moments) + master;
    bytes += gradients / (x->zero > 2 ? shards : x->zero > 1 ? ranks : 1);
    return bytes + moments / (x->zero > 2 && x->outer <= 0 ? shards : x->zero > 0 ? ranks : 1);
}

static double copies_of_weights(const layers_reference *r)
{
    const plan *x = r->x;
    bool one_scale = x->recipe < FP8_BLOCK;
    if (!r->narrow || x->zero > 2)
        return 0;
    return (x->mxfp8 > 0 && one_scale ? 1 : 2) * r->w_q;
}

static double stored_weight(const layers_reference *r)
{
    if (!r->narrow || r->x->gather == 0)
        return r->w;
    return r->x->zero > 2 ? r->w_q : 0;
}

typedef struct stage {
    const char *name;
    const double *layers;
    double flight; /* micro-batches */
} stage;

/* A layer, two norms and the two inputs of their projection: DeepSeek-V3 sec. 2.2. */
static double kept_predicting(const layers_reference *r)
{
    const plan *x = r->x;
    double kept = x->hybrid > 0 ? r->layers[AN_ATTENTION].stays + r->layers[AN_EXPERTS].stays
                                : r->layers[x->E > 0 ? A_MOE : A_DENSE].stays;
    return kept + 2 * (r->w + r->w_saved) * r->n * x->h / r->split;
}

static void expect_stage(const bench *b, const layers_reference *r, const stage *at)
{
    const plan *x = r->x;
    double kept = at->layers[KINDS_OF_LAYERS] * kept_predicting(r);
    double again = 0;
    double blocks = at->layers[KINDS_OF_LAYERS] * found(b, "P_prediction");
    for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++) {
        const layer *one = &r->layers[kind];
        if (at->layers[kind] <= 0)
            continue;
        kept += at->layers[kind] * one->stays;
        blocks += at->layers[kind] * parameters_of(r, kind);
        if (x->recompute == FULL)
            again = fmax(again, one->kept - stream_bytes(r));
        else if (x->recompute == SELECTIVE)
            again = fmax(again, one->dropped);
    }
    expect_member(b, "A_stage", at->name, kept);
    expect_member(b, "M_layers", at->name, kept * at->flight);
    expect_member(b, "M_recompute", at->name, again);
    expect_member(b, "P_blocks", at->name, blocks);
}

static void expect_states(const bench *b, const layers_reference *r, const stage *at)
{
    const plan *x = r->x;
    double ranks = x->d * x->cp;
    double shards = x->shard > 0 ? x->shard : ranks;
    double expert_ranks = x->t * x->cp * x->d / (x->ep * etp_of(x));
    double stored = stored_weight(r);
    double copies = copies_of_weights(r);
    double blocks = member(b, "P_blocks", at->name);
    double ends = member(b, "P", at->name) - blocks;
    double experts = member(b, "L_expert_stage", at->name) * found(b, "P_experts");
    double states =
        (copies + state_bytes(r, stored, shards, ranks)) * blocks +
        state_bytes(r, r->w, shards, ranks) * ends +
        (copies + state_bytes(r, stored, expert_ranks * shards / ranks, expert_ranks)) * experts;
    double layers = 0;
    for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++)
        layers += at->layers[kind];
    expect_member(b, "M_state", at->name, states + layers * found(b, "m_adapters"));
}

static double gradients_of(const layers_reference *r, size_t kind)
{
    const plan *x = r->x;
    double mixer = is_delta(kind)    ? r->n * r->delta_in / r->t
                   : kind == A_MAMBA ? 2 * r->n * r->mamba_in / r->t
                                     : 0;
    double ffn = has_mlp(kind)     ? r->n * (r->up + 1) * r->f / r->t
                 : is_routed(kind) ? r->rows * (2 * r->hl + (r->up + 1) * r->fe / etp_of(x))
                                   : 0;
    return r->w * (2 * r->n * x->h + fmax(mixer, ffn));
}

static void expect_work(const bench *b, const layers_reference *r)
{
    const plan *x = r->x;
    double widest = 0;
    double all = 0;
    double rows = x->multiple * x->t;
    double V = rows * ceil(x->V / rows);
    bool keeps = x->graphs == LAYER_GRAPHS || x->graphs == SCOPED_GRAPHS;
    for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++) {
        double count = layers_of_kind(x, kind);
        double experts = is_routed(kind) ? found(b, "P_experts") : 0;
        widest = count > 0 ? fmax(widest, gradients_of(r, kind)) : widest;
        all += count * (parameters_of(r, kind) + experts);
    }
    if (x->fused_wgrad <= 0 && x->task != LORA)
        widest += r->w * x->h * r->up * r->f / r->t;
    double waiting = x->mtp * fmin(x->logit_bytes, 4);
    double gathered = 0;
    if (x->zero > 2)
        gathered = x->keep_gathered > 0 ? (r->w + 4) * found(b, "P_stage")
                                        : (x->prefetch + 2) * r->w * all / x->L;
    expect(b, "M_gradients", widest);
    expect(b, "M_logits", (x->logit_bytes + waiting) * r->n * V / r->t);
    expect(b, "M_gathered", gathered);
    expect(b, "M_buffers",
           (x->t * x->cp * x->p * x->d > 1 ? x->buffers : 0) + (keeps ? x->graph_memory : 0));
}

static void expect_stages(bench *b, const layers_reference *r)
{
    const plan *x = r->x;
    size_t middle = (size_t)found(b, "stage_number[middle]");
    const stage stages[] = {
        {"first", x->layers[0], found(b, "in_flight[first]")},
        {"last", x->layers[(size_t)x->p - 1], found(b, "in_flight[last]")},
        {"middle", x->layers[middle], found(b, "in_flight[middle]")},
    };
    for (size_t k = 0; k < (x->p > 2 ? 3 : 2); k++) {
        expect_stage(b, r, &stages[k]);
        expect_states(b, r, &stages[k]);
    }
    expect_work(b, r);
}

TEST(stages_hold_their_layers)
{
    over_plans(state, expect_stages);
}

TESTS_WITH(megatron_layers, property_setup, NULL);
