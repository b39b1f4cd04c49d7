/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identities of the sheet megatron that hold for layers of every kind: parts add up to the step,
 * passes to the layer, stages to the model, ranks to its parameters. The layers of each stage are
 * the test's, given as a pattern or a layout would.
 */
#include "megatron_layout.h"

enum { PLANS = 900 };

static double of_kind(const bench *b, const char *cell, size_t kind)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%s[%s]", cell, layer_names[kind]);
    return found(b, name);
}

/* ---- identities ---- */

static void expect_layers_of_stages(const bench *b)
{
    static const char *const stages[] = {"first", "middle", "last"};
    const plan *x = b->plan;
    const size_t numbers[] = {0, (size_t)found(b, "stage_number[middle]"), (size_t)x->p - 1};
    for (size_t i = 0; i < 3; i++) {
        double sum = 0;
        char name[80];
        if (i == 1 && x->p <= 2)
            continue;
        for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++) {
            (void)snprintf(name, sizeof name, "L_stage_kind[%s,%s]", stages[i], layer_names[kind]);
            expect(b, name, x->layers[numbers[i]][kind]);
            sum += x->layers[numbers[i]][kind];
        }
        (void)snprintf(name, sizeof name, "L_stage[%s]", stages[i]);
        expect(b, name, sum);
    }
    for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++) {
        double sum = 0;
        char name[80];
        for (size_t stage = 0; stage < (size_t)x->p; stage++)
            sum += x->layers[stage][kind];
        (void)snprintf(name, sizeof name, "L_kind[%s]", layer_names[kind]);
        expect(b, name, sum);
    }
}

/* One rank that holds all of the model holds its parameters; of a layer of prediction the norms are
 * left out. */
static void expect_parameters(const bench *b)
{
    const plan *x = b->plan;
    double own = x->E > 0 ? found(b, "L_expert_stage[first]") * found(b, "P_experts") : 0;
    double depths = x->mtp_shared > 0 ? 1 : x->mtp;
    double norms = x->mtp > 0 ? 3 * depths * found(b, "P_norm") : 0;
    expect(b, "parameters", found(b, "P[first]") + own + norms);
}

/* What a pass takes on the GPU, together, and what of it waits for the host. */
static void expect_passes(const bench *b, size_t kind)
{
    double gpu = of_kind(b, "t_gpu", kind);
    double waits = of_kind(b, "t_layer", kind) - gpu;
    char name[80];
    (void)snprintf(name, sizeof name, "t_passes[%s]", layer_names[kind]);
    expect(b, name, gpu);
    double launches = of_kind(b, "forward_launch", kind) + of_kind(b, "backward_launch", kind);
    (void)snprintf(name, sizeof name, "weights_launch[%s]", layer_names[kind]);
    expect_of(b, name, waits - launches, of_kind(b, "t_layer", kind));
}

/* What of a layer is neither product nor attention nor message. */
static double moved_in_layer(const bench *b, size_t kind)
{
    const plan *x = b->plan;
    double each = of_kind(b, "t_elementwise", kind) + of_kind(b, "t_adapters", kind);
    double casts = of_kind(b, "t_cast", kind);
    double moved =
        3 * each + casts + of_kind(b, "t_cast_backward", kind) + of_kind(b, "t_accumulate", kind);
    if (x->recompute == FULL)
        moved += found(b, "recompute_share") * (each + casts);
    if (x->recompute == SELECTIVE)
        moved += of_kind(b, "t_recompute", kind) - of_kind(b, "t_recompute_products", kind);
    return moved;
}

static void expect_parts(const bench *b)
{
    static const char *const parts[] = {
        "time_gemm",      "time_launch", "time_tp",       "time_cp",     "time_ep",
        "time_pp",        "time_dp",     "time_slowdown", "time_bubble", "time_memory",
        "time_optimizer", "time_hidden", "time_overhead"};
    const plan *x = b->plan;
    double first = found(b, "of_first");
    double last = found(b, "of_head");
    double step = found(b, "step_time");
    double moved = found(b, "m") *
                   (first * found(b, "t_embedding") +
                    (last + found(b, "mtp_slowest")) * (found(b, "t_head") - found(b, "t_logits")));
    for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++)
        if (is_possible(x, kind))
            moved += of_kind(b, "n_layers", kind) * moved_in_layer(b, kind);
    expect_of(b, "time_memory", x->site * moved, step);
    expect(b, "time_overhead", x->site * x->overhead);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!(found(b, parts[i]) >= -1e-9 * step) || !isfinite(found(b, parts[i])))
            fail_msg("%s is %g (STEPTIME_SEED=%" PRIu64 ")", parts[i], found(b, parts[i]),
                     b->random->seed);
}

/* A copy goes to one rank at least, and to no more than there are experts of a token or ranks. */
static void expect_copies(const bench *b)
{
    const plan *x = b->plan;
    double ranks = found(b, "copies_ranks");
    double groups = found(b, "copies_groups");
    if (x->E <= 0)
        return;
    assert_true(ranks >= 1 - 1e-12 && ranks <= fmin(x->ep, x->K) + 1e-9);
    assert_true(groups >= 1 - 1e-12 && groups <= ranks + 1e-9);
    assert_true(found(b, "sent_links") <= ranks + groups);
}

/* An all-to-all of so many bytes among the ranks of a context-parallel group, or some of them. */
static double exchange(const bench *b, double bytes, double ranks)
{
    const plan *x = b->plan;
    double node = fmin(ranks, found(b, "cp_per_node"));
    double nic = found(b, "bw_nic");
    double start = x->alpha + node * x->alpha_rank + x->alpha_node * log2(ranks / node);
    double inside = found(b, "bw_link") * (1 - x->small_group / ranks);
    /* what leaves a machine takes a rank's own share of the NICs */
    double time =
        ranks > node ? bytes * (ranks - node) / ranks / nic : bytes * (ranks - 1) / ranks / inside;
    return start + time;
}

/* Queries, keys, values and context of attention, or what goes into a scan and comes out of it. */
static void expect_exchanges(const bench *b)
{
    const plan *x = b->plan;
    enum { RING, ALL_HEADS };
    double bytes = found(b, "wc") * found(b, "n") / x->t;
    double passes = found(b, "passes") + 1;
    double inner = x->cp_method == RING        ? 1
                   : x->cp_method == ALL_HEADS ? x->cp
                                               : found(b, "cp_per_node");
    double heads = x->a * (found(b, "dq") + found(b, "dv"));
    heads += found(b, "kv") * (found(b, "dq") + found(b, "dv"));
    double start = inner > 1 ? exchange(b, 0, inner) : 0;
    expect(b, "t_heads_cp", inner > 1 ? 3 * start + exchange(b, heads * bytes, inner) : 0);
    if (inner >= x->cp)
        expect(b, "t_cp", passes * found(b, "t_heads_cp"));
    for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++) {
        if (!is_possible(x, kind) || has_attention(kind))
            continue;
        double width = 0;
        if (kind == A_DELTA || kind == A_DELTA_MOE)
            width = 2 * x->delta_k_heads * x->delta_k_dim + 3 * x->delta_v_heads * x->delta_v_dim +
                    2 * x->delta_v_heads;
        if (kind == A_MAMBA)
            width = 3 * x->mamba_heads * x->mamba_dim + 2 * x->mamba_groups * x->mamba_state +
                    x->mamba_heads;
        double time =
            x->cp > 1 && width > 0 ? exchange(b, 0, x->cp) + exchange(b, width * bytes, x->cp) : 0;
        char name[80];
        (void)snprintf(name, sizeof name, "t_cp_kind[%s]", layer_names[kind]);
        expect(b, name, passes * time);
    }
}

TEST(layers_of_every_kind_add_up)
{
    bench b;
    open_bench(&b, "megatron", *state);
    compile_kinds(&b);
    for (int i = 0; i < PLANS; i++) {
        plan x = draw_plan_of_kinds(*state);
        run_kinds(&b, &x);
        expect_layers_of_stages(&b);
        for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++)
            if (is_possible(&x, kind))
                expect_passes(&b, kind);
        expect_parts(&b);
        expect_copies(&b);
        expect_exchanges(&b);
    }
    close_bench(&b);
}

TEST(one_rank_holds_all_parameters)
{
    bench b;
    open_bench(&b, "megatron", *state);
    compile_kinds(&b);
    for (int i = 0; i < PLANS; i++) {
        plan x = draw_plan_of_kinds(*state);
        for (size_t stage = 1; stage < (size_t)x.p; stage++)
            for (size_t kind = 0; kind <= KINDS_OF_LAYERS; kind++)
                x.layers[0][kind] += x.layers[stage][kind];
        x.t = x.p = x.v = x.ep = x.etp = 1;
        x.multiple = 1;
        run_kinds(&b, &x);
        expect_parameters(&b);
    }
    close_bench(&b);
}

/* A kind that a model cannot have takes no time and no layers. */
TEST(impossible_kinds_are_nothing)
{
    static const char *const cells[] = {"L_kind", "t_gemm", "t_layer", "t_gpu", "n_layers", "A"};
    bench b;
    open_bench(&b, "megatron", *state);
    compile_kinds(&b);
    for (int i = 0; i < PLANS / 9; i++) {
        plan x = draw_plan_of_kinds(*state);
        run_kinds(&b, &x);
        for (size_t kind = A_MOE; kind < KINDS_OF_LAYERS; kind++)
            for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++)
                if (!is_possible(&x, kind) && of_kind(&b, cells[k], kind) != 0)
                    fail_msg("%s[%s] is %g (STEPTIME_SEED=%" PRIu64 ")", cells[k],
                             layer_names[kind], of_kind(&b, cells[k], kind), b.random->seed);
    }
    close_bench(&b);
}

TESTS_WITH(megatron_kinds, property_setup, NULL);
