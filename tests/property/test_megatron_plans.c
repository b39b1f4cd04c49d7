/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sheet megatron against its sources written out in C (megatron_reference.h), over random
 * plans: once as it stands, once with collectives and slowdowns of the test, in which every
 * argument is seen.
 */
#include "megatron_reference.h"

#include "megatron_bench.h"

enum { PLANS = 700, OPEN = 8 };

static st_status answer_collective(void *self, size_t rows, const double *const *arguments,
                                   double *values)
{
    for (size_t row = 0; row < rows; row++) {
        double a[5];
        for (size_t i = 0; i < 5; i++)
            a[i] = arguments[i][row];
        values[row] = provided_collective(*(const int *)self, a);
    }
    return ST_OK;
}

static st_status answer_slowdown(void *self, size_t rows, const double *const *arguments,
                                 double *values)
{
    int kind = *(const int *)self;
    for (size_t row = 0; row < rows; row++)
        values[row] = kind == 3 ? provided_slowdown(3, arguments[0][row], 0, arguments[1][row])
                                : provided_slowdown(kind, arguments[0][row], arguments[1][row],
                                                    arguments[2][row]);
    return ST_OK;
}

typedef struct open_function {
    const char *name;
    int kind;
    bool slows;
} open_function;

static const open_function opened[OPEN] = {
    {"all_reduce", ALL_REDUCE, false},         {"all_gather", ALL_GATHER, false},
    {"reduce_scatter", REDUCE_SCATTER, false}, {"all_to_all", ALL_TO_ALL, false},
    {"send_recv", SEND_RECV, false},           {"slowdown_gemm", 1, true},
    {"slowdown_attention", 2, true},           {"slowdown_elementwise", 3, true}};

static void compile_bench(bench *b, bool provided)
{
    static const char *const of_collective[] = {"B", "1", "1", "B/s", "s"};
    static const char *const of_slowdown[] = {"B", "FLOP/B", "1"};
    static const char *const of_elementwise[] = {"B", "1"};
    static int kinds[OPEN];
    st_provider *providers = st_arena_alloc(b->arena, OPEN, sizeof *providers);
    const st_provider *pointers[OPEN];
    assert_non_null(providers);
    for (size_t i = 0; i < OPEN; i++) {
        bool elementwise = opened[i].slows && opened[i].kind == 3;
        const char *const *texts = elementwise       ? of_elementwise
                                   : opened[i].slows ? of_slowdown
                                                     : of_collective;
        size_t count = elementwise ? 2 : opened[i].slows ? 3 : 5;
        st_unit *units = st_arena_alloc(b->arena, count, sizeof *units);
        assert_non_null(units);
        for (size_t k = 0; k < count; k++)
            units[k] = unit(texts[k]);
        kinds[i] = opened[i].kind;
        providers[i] =
            (st_provider){.name = opened[i].name,
                          .source = "test",
                          .argument_units = units,
                          .argument_count = count,
                          .unit = unit(opened[i].slows ? "1" : "s"),
                          .evaluate = opened[i].slows ? answer_slowdown : answer_collective,
                          .self = &kinds[i]};
        pointers[i] = &providers[i];
    }
    compile_with(b, pointers, provided ? OPEN : 0);
}

TEST(every_key_of_a_plan_is_read)
{
    bench b;
    size_t count = 0;
    open_bench(&b, "megatron", *state);
    compile_with(&b, NULL, 0);
    const st_sheet_input *inputs = st_sheet_inputs(b.sheet, &count);
    for (size_t i = 0; i < PLAN_KEYS; i++) {
        bool read = false;
        for (size_t k = 0; k < count; k++)
            read = read || strcmp(inputs[k].from, plan_keys[i].key) == 0;
        if (!read)
            fail_msg("%s is no input of the sheet", plan_keys[i].key);
    }
    close_bench(&b);
}

/* A GPU has no rate, a node no links and a model no table that nobody gave; factors leave all as it
 * is. */
TEST(what_is_left_out_is_neutral)
{
    static const struct {
        const char *key;
        double value;
    } cases[] = {{"cluster.gpu.peak_bf16", 0},
                 {"cluster.gpu.peak_fp32", 0},
                 {"cluster.gpu.peak_fp8", 0},
                 {"cluster.gpu.link_bandwidth", 0},
                 {"cluster.nic_bandwidth", 0},
                 {"model.positions", 0},
                 {"train.tokens", 0},
                 {"cluster.pue", 1},
                 {"constants.overlap_slowdown", 1},
                 {"constants.power_factor", 1}};
    bench b;
    size_t count = 0;
    size_t seen = 0;
    open_bench(&b, "megatron", *state);
    compile_with(&b, NULL, 0);
    const st_sheet_input *inputs = st_sheet_inputs(b.sheet, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
            if (strcmp(inputs[i].from, cases[k].key) != 0)
                continue;
            if (!inputs[i].has_default || inputs[i].default_value != cases[k].value)
                fail_msg("%s is %g where no job gives it", cases[k].key, inputs[i].default_value);
            seen++;
        }
    assert_int_equal(seen, sizeof cases / sizeof cases[0]);
    close_bench(&b);
}

/* ---- what is expected ---- */

/* "t_forward" and FIRST: the member t_forward[first]. */
static void expect_member(const bench *b, const char *cell, const char *member, double expected)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%s[%s]", cell, member);
    expect(b, name, expected);
}

static const char *const stage_names[] = {"first", "middle", "last"};
static const char *const kind_names[] = {"dense", "moe"};

static void expect_model(const bench *b, const reference *r)
{
    expect(b, "parameters", r->parameters);
    expect(b, "parameters_active", r->active);
    expect(b, "layer_work", 2 * r->visited / r->x->L);
    expect(b, "L_kind[moe]", r->layers[MOE]);
    expect(b, "P_updated", r->P_updated);
    expect(b, "P_stage", r->P_most);
    expect(b, "P[first]", r->P[FIRST]);
    expect(b, "P[last]", r->P[LAST]);
    double all = r->parameters - (2 - r->x->tied) * r->V * r->x->h - r->x->positions * r->x->h;
    expect_of(b, "layer_parameters", (all - r->norm) / r->x->L, r->parameters / r->x->L);
    for (size_t i = 0; i < STAGES; i++) {
        if (i == MIDDLE && r->x->p <= 2)
            continue;
        expect_member(b, "L_stage", stage_names[i], r->stage[i]);
        expect_member(b, "in_flight", stage_names[i], r->in_flight[i]);
    }
}

static void expect_layers(const bench *b, const reference *r)
{
    for (size_t k = 0; k < (r->x->E > 0 ? KINDS : 1); k++) {
        expect_member(b, "t_gemm", kind_names[k], r->gemm[k]);
        expect_member(b, "t_forward", kind_names[k], r->forward[k]);
        expect_member(b, "t_backward", kind_names[k], r->backward[k]);
        expect_member(b, "t_recompute", kind_names[k], r->again[k]);
        expect_member(b, "t_wgrad", kind_names[k], r->wgrad[k]);
        expect_member(b, "t_gpu", kind_names[k], r->gpu[k]);
        expect_member(b, "t_layer", kind_names[k], r->layer[k]);
    }
    expect(b, "t_head", r->head);
    expect(b, "t_embedding", r->embedding);
    expect(b, "slow_inputs", r->slow_inputs);
    expect(b, "slow_weights", r->slow_gemm);
    expect(b, "slow_dp", r->slow_dp);
    expect_of(b, "T_bubble", r->bubble, r->m * r->slowest);
    expect_of(b, "bubble", r->bubble / (r->m * r->slowest + r->bubble), 1);
}

static void expect_parts(const bench *b, const reference *r)
{
    static const char *const parts[PARTS] = {
        "time_memory", "time_launch",   "time_tp", "time_bubble",    "time_dp",  "time_pp",
        "time_ep",     "time_slowdown", "time_cp", "time_optimizer", "time_gemm"};
    static const char *const hidden[] = {"hidden_tp", "hidden_cp", "hidden_ep", "hidden_pp",
                                         "hidden_dp"};
    size_t largest = MEMORY;
    double scale = r->step + r->all_hidden;
    expect(b, "step_time", r->step);
    for (size_t i = 0; i < PARTS; i++) {
        expect_of(b, parts[i], r->part[i], scale);
        largest = i < GEMMS && r->part[i] > r->part[largest] ? i : largest;
    }
    for (size_t i = 0; i < 5; i++)
        expect_of(b, hidden[i], r->hidden[i], scale);
    expect_of(b, "time_exposed", r->exposed, scale);
    expect_of(b, "time_hidden", r->all_hidden, scale);
    expect_of(b, "hidden_in_passes", r->all_hidden - r->hidden[4], scale);
    if (r->part[largest] > 0)
        expect(b, "overhead", (double)largest);
    bool gemms = r->part[GEMMS] >= fmax(r->part[largest], 0);
    expect(b, "bottleneck", gemms ? GEMMS : (double)largest);
    double attention = 6 * r->x->B * r->x->s * r->x->s * r->x->L * r->x->a * (r->dq + r->dv);
    double blocks = 2 * r->x->B * r->x->s * r->visited;
    double model = 3 * blocks + 6 * r->x->B * r->x->s * r->V * r->x->h + attention;
    double again = r->x->recompute == FULL ? blocks + attention / 3
                   : r->core_again > 0     ? attention / 3
                                           : 0;
    double peak = r->step * r->gpus * r->peak;
    expect(b, "mfu", model / peak);
    expect(b, "hfu", (model + again) / peak);
    expect(b, "flops_gpu", model / r->step / r->gpus);
    expect(b, "flops_gpu_hardware", (model + again) / r->step / r->gpus);
}

/* Megatron-Bridge counts pairs of tokens that see each other, and no router. */
static void expect_causal(const bench *b, const reference *r)
{
    const plan *x = r->x;
    double routers = r->layers[MOE] * r->router;
    double seen = x->causal > 0 ? x->s / 2 : x->s;
    double attention = 6 * x->L * x->a * (r->dq + r->dv) * seen;
    double token = 6 * (r->visited - routers + r->V * x->h) + attention;
    double step = token * x->B * x->s / r->step / r->gpus;
    expect(b, "flops_gpu_causal", step);
    expect(b, "mfu_causal", step / r->peak);
}

static void expect_cost(const bench *b, const reference *r)
{
    const plan *x = r->x;
    double tokens = x->tokens > 0 ? x->tokens : 20 * r->parameters; /* Hoffmann et al. */
    double seconds = tokens / (x->B * x->s) * r->step;
    expect(b, "tokens_per_s", x->B * x->s / r->step);
    expect(b, "tokens_per_s_gpu", x->B * x->s / r->step / r->gpus);
    expect(b, "tokens", tokens);
    expect(b, "training_time", seconds);
    expect(b, "price", x->price);
    expect(b, "cost", seconds * r->gpus * x->price);
    expect(b, "energy", seconds * r->gpus * x->power * x->power_factor * x->pue);
}

/* Bytes that a rank of the first stage hands to its groups and sends: rings, li2024 sec. 5.1. */
static void expect_traffic(const bench *b, const reference *r)
{
    const plan *x = r->x;
    /* chunks of the first stage lie all over the model */
    bool has_chunks = x->v > 1 && x->E > 0;
    double moe = has_chunks ? found(b, "L_asked[moe]") : r->stage_kind[FIRST][MOE];
    double dense = r->stage[FIRST] - moe;
    double parameters = has_chunks ? found(b, "P_asked") : r->P[FIRST];
    double tp =
        x->t > 1 ? r->m * ((dense + moe * r->blocks[MOE] / 2) * r->n_tp + (x->p > 1 ? 1 : 2)) : 0;
    /* With chunks those of the first stage come from the last one, too, and go back there. */
    double pp = x->p > 1 ? 2 * r->m * (2 * x->v - 1) : 0;
    double ep = x->ep > 1 ? r->m * moe * 2 * (r->passes + 1) : 0;
    double cp = r->m * r->stage[FIRST] * (r->passes + 2) * (x->cp - 1);
    bool reduces = r->dp_ranks > 1;
    double handed = r->n_reduce * r->g + r->n_gather * r->w;
    double sent = handed + (x->zero > 0 ? 0 : r->g);
    double tied = x->p > 1 ? x->tied * r->g * r->P_rows : 0;
    expect(b, "tp_messages", tp);
    expect(b, "tp_payload", tp * r->tp_message);
    expect(b, "tp_sent", tp * r->tp_message * 2 * (x->t - 1) / x->t);
    expect(b, "pp_messages", pp);
    expect(b, "pp_payload", pp * r->pp_message);
    expect(b, "pp_sent", pp * r->pp_message / 2);
    expect(b, "ep_messages", ep);
    expect(b, "ep_payload", ep * r->ep_message / r->load);
    expect(b, "ep_sent", ep * r->ep_message / r->load * (1 - 1 / x->ep));
    expect(b, "cp_messages", cp);
    expect(b, "cp_sent", cp * r->cp_message);
    expect(b, "dp_messages", reduces ? r->n_reduce + r->n_gather : 0);
    expect(b, "dp_payload", reduces ? handed * parameters : 0);
    expect(b, "dp_sent", reduces ? sent * parameters * (1 - 1 / r->dp_ranks) : 0);
    expect(b, "expert_dp_payload", r->expert_ranks > 1 ? handed * moe * r->P_experts : 0);
    expect(b, "tied_payload", tied);
    expect(b, "emb_sent", tied);
}

/* A step as it is laid out: the passes of a layer, and what goes with each of them. */
static void expect_passes(const bench *b, const reference *r, size_t k)
{
    const char *kind = kind_names[k];
    double cp = fmax(r->ring_cp - r->slow_cp * r->x->hide_cp * r->core_forward, 0);
    double ep = k == MOE ? r->t_ep : 0;
    double weights = fmin(r->wgrad[k], r->backward[k]);
    bool late = r->x->schedule == ZERO_BUBBLE || r->x->schedule == ZERO_BUBBLE_2;
    double first = late ? (r->forward[k] + r->backward[k] - weights) / 2 : r->forward[k];
    double inputs = r->forward[k] + r->backward[k] + r->again[k] - weights - first;
    double hidden = r->cost_cp + (k == MOE ? r->cost_ep : 0);
    double per = 1 / (r->passes + 1);
    double slow_forward = r->blocks[k] * r->cost_tp + hidden * per;
    double slow_backward = r->blocks[k] / 2 * (r->n_tp - 2) * r->cost_tp + hidden * (1 - per);
    double forward = first + r->blocks[k] * r->t_tp + cp + ep * per + slow_forward;
    double backward = inputs + r->blocks[k] / 2 * (r->n_tp - 2) * r->t_tp + (r->t_cp - cp) +
                      ep * (1 - per) + slow_backward;
    double wait = (r->layer[k] - r->gpu[k]) / (forward + backward + weights);
    expect_member(b, "weights_work", kind, weights);
    expect_member(b, "backward_work", kind, inputs);
    expect_of(b, k == MOE ? "forward_slowdown[moe]" : "forward_slowdown[dense]", slow_forward,
              r->gpu[k]);
    expect_of(b, k == MOE ? "backward_slowdown[moe]" : "backward_slowdown[dense]", slow_backward,
              r->gpu[k]);
    expect_of(b, k == MOE ? "forward_launch[moe]" : "forward_launch[dense]", wait * forward,
              r->layer[k]);
    expect_of(b, k == MOE ? "backward_launch[moe]" : "backward_launch[dense]", wait * backward,
              r->layer[k]);
    expect_of(b, k == MOE ? "weights_launch[moe]" : "weights_launch[dense]", wait * weights,
              r->layer[k]);
    expect(b, "forward_tp", 2 * r->t_tp);
    expect_of(b, "backward_tp", (r->n_tp - 2) * r->t_tp, 0);
    expect_of(b, "forward_cp", cp, r->ring_cp);
    expect_of(b, "backward_cp", r->t_cp - cp, r->ring_cp);
    expect(b, "forward_ep", r->t_ep * per);
    expect(b, "backward_ep", r->t_ep * (1 - per));
}

static void expect_ends(const bench *b, const reference *r)
{
    const plan *x = r->x;
    double pass_reduce = x->zero > 1 ? r->reduce / x->v : 0;
    double pass_gather = x->zero > 2 ? r->gather / x->v : 0;
    double end_reduce = x->zero > 1 ? 0 : r->reduce;
    double end_gather = x->zero > 2 ? 0 : r->gather;
    expect(b, "embedding_work", r->embedding / 2);
    expect(b, "head_forward", r->head / 3);
    expect(b, "head_weights", r->logits / 3);
    expect(b, "head_backward", r->head * 2 / 3 - r->logits / 3);
    expect(b, "transfer_exposed", (1 - x->hide_pp) * r->transfer);
    expect(b, "gradients_split", x->zero > 1 ? 1 : 0);
    expect(b, "reduce_pass_hidden", x->hide_gradients * pass_reduce);
    expect(b, "reduce_pass_exposed", (1 - x->hide_gradients) * pass_reduce);
    expect(b, "gather_pass_hidden", x->hide_weights * pass_gather);
    expect(b, "gather_pass_exposed", (1 - x->hide_weights) * pass_gather);
    expect(b, "reduce_end_hidden", x->hide_gradients * end_reduce);
    expect(b, "reduce_end_exposed", (1 - x->hide_gradients) * end_reduce);
    expect(b, "gather_end_hidden", x->hide_weights * end_gather);
    expect(b, "gather_end_exposed", (1 - x->hide_weights) * end_gather);
    expect_of(b, "slowdown_end", r->slowdown - r->slowdown_data, r->slowdown);
    expect_of(b, "T_data_exposed", r->data - r->data_hidden, r->data);
    /* 32 of 34 + 5as/h bytes, eq. 1 of Korthikanti et al., its last term the scores */
    expect(b, "held_for_weights", 32 / (34 + x->unfused * 5 * x->a * x->s / x->h));
}

static void expect_memory_of(const bench *b, const reference *r)
{
    static const char *const frees[] = {"free_by_recompute",   "free_by_zero_1", "free_by_sequence",
                                        "free_by_micro_batch", "free_by_zero_3", "free_by_experts"};
    double most = 0;
    size_t best = 6; /* nothing but more GPUs */
    for (size_t i = 0; i < 6; i++) {
        expect_of(b, frees[i], r->frees[i], r->allocated);
        best = r->frees[i] > most ? i : best;
        most = fmax(r->frees[i], most);
    }
    for (size_t i = 0; i < STAGES; i++)
        expect_member(b, "M", stage_names[i], r->M[i]);
    expect(b, "worst_stage", (double)r->worst);
    expect(b, "memory", r->memory);
    expect_of(b, "memory_free", r->x->memory - r->memory, r->memory);
    double missing = fmax(r->memory - r->x->memory, 0);
    expect_of(b, "memory_missing", missing, r->memory);
    expect(b, "fits", r->memory <= r->x->memory ? 1 : 0);
    expect(b, "free_by_best", most);
    expect(b, "remedy", (double)best);
    expect(b, "relief", most * r->x->fragmentation < missing ? 1 : 0);
    expect(b, "M_state_worst", r->M_state[r->worst]);
    expect(b, "M_layers_worst", r->M_layers[r->worst]);
    expect(b, "M_work_worst", r->M_work[r->worst]);
    expect(b, "M_gathered", r->M_gathered);
    expect(b, "layers_in_flight", r->stage[r->worst] * r->in_flight[r->worst]);
    double whole = r->w + r->g + r->x->second_gradient + r->o;
    expect(b, "gpus_for_states", ceil(r->parameters * whole / r->x->memory));
}

/* What is shown of a stage's memory adds up to what the GPU sees, but for what CUDA takes. */
static void expect_held(const bench *b, const reference *r)
{
    static const char *const parts[] = {"M_held_states",   "M_held_layers",   "M_held_embedding",
                                        "M_held_active",   "M_held_gathered", "M_held_buffers",
                                        "M_held_fragments"};
    for (size_t i = 0; i < STAGES; i++) {
        double sum = 0;
        char name[80];
        if ((i == MIDDLE && r->x->p <= 2) || (i == LAST && r->x->p <= 1))
            continue;
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
            (void)snprintf(name, sizeof name, "%s[%s]", parts[k], stage_names[i]);
            sum += found(b, name);
        }
        if (fabs(sum - r->x->fragmentation * r->M[i]) > 1e-9 * sum)
            fail_msg("parts of the %s stage's memory are %g, not %g", stage_names[i], sum,
                     r->x->fragmentation * r->M[i]);
        expect_member(b, "M_held_states", stage_names[i], r->M_state[i]);
        expect_member(b, "M_held_embedding", stage_names[i], i == FIRST ? r->M_embedding : 0);
    }
}

static void compare_plans(property_random *random, bool provided)
{
    bench b;
    open_bench(&b, "megatron", random);
    compile_bench(&b, provided);
    for (int i = 0; i < PLANS; i++) {
        plan x = draw_plan(random);
        reference r = refer(&x, provided);
        run_plan(&b, &x);
        expect_model(&b, &r);
        expect_layers(&b, &r);
        expect_traffic(&b, &r);
        expect_ends(&b, &r);
        for (size_t k = 0; k < (x.E > 0 ? KINDS : 1); k++)
            expect_passes(&b, &r, k);
        expect_parts(&b, &r);
        expect_causal(&b, &r);
        expect_cost(&b, &r);
        expect_memory_of(&b, &r);
        expect_held(&b, &r);
    }
    close_bench(&b);
}

/* Experts spread over no more ranks than the largest power of two that divides them. */
TEST(experts_are_spread_over_powers_of_two)
{
    bench b;
    open_bench(&b, "megatron", *state);
    compile_with(&b, NULL, 0);
    for (int experts = 1; experts <= 1024; experts++) {
        plan x = draw_plan(*state);
        x.E = experts;
        run_plan(&b, &x);
        expect(&b, "E_power", fmin(experts & -experts, 512));
    }
    close_bench(&b);
}

/* What a job leaves unused of its nodes does not count, down to one GPU of each. */
TEST(used_gpus_are_the_gpus_of_a_node)
{
    static const char *const cells[] = {"step_time", "memory", "bw_nic", "tp_per_node"};
    bench b;
    open_bench(&b, "megatron", *state);
    compile_with(&b, NULL, 0);
    for (int i = 0; i < PLANS / 7; i++) {
        double expected[sizeof cells / sizeof cells[0]];
        plan x = draw_plan(*state);
        run_plan(&b, &x);
        for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++)
            expected[k] = found(&b, cells[k]);
        x.used = x.G;
        x.G += draw_whole(*state, 1, 9);
        run_plan(&b, &x);
        for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++)
            expect(&b, cells[k], expected[k]);
    }
    close_bench(&b);
}

/* To the last byte. */
TEST(a_plan_that_needs_all_memory_fits)
{
    bench b;
    open_bench(&b, "megatron", *state);
    compile_with(&b, NULL, 0);
    for (int i = 0; i < PLANS / 7; i++) {
        plan x = draw_plan(*state);
        run_plan(&b, &x);
        x.memory = found(&b, "memory");
        run_plan(&b, &x);
        expect(&b, "fits", 1);
        expect(&b, "memory_missing", 0);
        x.memory = nextafter(x.memory, 0);
        run_plan(&b, &x);
        expect(&b, "fits", 0);
    }
    close_bench(&b);
}

TEST(plans_are_those_of_the_sources)
{
    compare_plans(*state, false);
}

TEST(plans_with_other_collectives_are_those_of_the_sources)
{
    compare_plans(*state, true);
}

TESTS_WITH(megatron_plans, property_setup, NULL);
