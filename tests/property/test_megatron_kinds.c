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
    double moved = 3 * each + 2 * casts + of_kind(b, "t_accumulate", kind);
    if (x->recompute == FULL)
        moved += found(b, "recompute_share") * (each + casts);
    if (x->recompute == SELECTIVE)
        moved += of_kind(b, "t_recompute", kind) - of_kind(b, "t_recompute_products", kind);
    return moved;
}

static void expect_parts(const bench *b)
{
    static const char *const parts[] = {"time_gemm",   "time_launch",    "time_tp",
                                        "time_cp",     "time_ep",        "time_pp",
                                        "time_dp",     "time_slowdown",  "time_bubble",
                                        "time_memory", "time_optimizer", "time_hidden"};
    const plan *x = b->plan;
    double first = found(b, "of_first");
    double last = found(b, "of_head");
    double step = found(b, "step_time");
    double moved =
        x->overhead + found(b, "m") * (first * found(b, "t_embedding") +
                                       last * (found(b, "t_head") - found(b, "t_logits")));
    for (size_t kind = 0; kind < KINDS_OF_LAYERS; kind++)
        if (is_possible(x, kind))
            moved += of_kind(b, "n_layers", kind) * moved_in_layer(b, kind);
    if (x->mtp > 0)
        moved += found(b, "m") * found(b, "mtp_slowest") *
                 (found(b, "t_prediction") - found(b, "t_logits") - found(b, "t_tp") -
                  found(b, "t_slowdown_tp"));
    expect_of(b, "time_memory", x->site * moved, step);
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
    double nodes = found(b, "copies_nodes");
    if (x->E <= 0)
        return;
    assert_true(ranks >= 1 - 1e-12 && ranks <= fmin(x->ep, x->K) + 1e-9);
    assert_true(nodes >= 1 - 1e-12 && nodes <= ranks + 1e-9);
}

static void layers_of_every_kind_add_up(void **state)
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
    }
    close_bench(&b);
}

static void one_rank_holds_all_parameters(void **state)
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
static void impossible_kinds_are_nothing(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_of_every_kind_add_up),
        cmocka_unit_test(one_rank_holds_all_parameters),
        cmocka_unit_test(impossible_kinds_are_nothing),
    };
    return cmocka_run_group_tests(tests, property_setup, NULL);
}
