/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sheet megatron: published sizes to the last parameter, Korthikanti's activation memory to the
 * last digit, Table 3 of Li et al., equations of the papers written out in C, limits, sums, what
 * has to grow with what, checks with their messages, and where every line comes from.
 */
#include "megatron_support.h"

static const char *const parts[] = {"time_gemm",   "time_memory",    "time_launch", "time_tp",
                                    "time_cp",     "time_ep",        "time_pp",     "time_dp",
                                    "time_bubble", "time_optimizer", "time_price"};
static const char *const hidden[] = {"hidden_tp", "hidden_cp", "hidden_ep", "hidden_pp",
                                     "hidden_dp"};

static const char *const jobs[] = {
    "gpt3-175b-1024xa100",    "gpt3-175b-64xa100",      "megatron-22b-8xa100",
    "megatron-530b-280xa100", "megatron-1t-512xa100",   "bloom-176b-384xa100",
    "llama3-405b-16384xh100", "llama3-8b-8xh100",       "mixtral-8x7b-64xh100",
    "deepseek-v3-2048xh800",  "moye-gpt-485b-8192xh800"};

/* ---- models ---- */

typedef struct size_case {
    const char *model;
    double parameters;
} size_case;

/* As the published configurations count them. */
static void published_models_have_their_parameters(void **state)
{
    fixture *own = *state;
    static const size_case cases[] = {
        {"llama2-7b", 6738415616.0},    {"llama2-13b", 13015864320.0},
        {"llama2-70b", 68976648192.0},  {"llama3-8b", 8030261248.0},
        {"llama3-70b", 70553706496.0},  {"llama3-405b", 405853388800.0},
        {"mixtral-8x7b", 46702792704.0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char set[64];
        (void)snprintf(set, sizeof set, "model=%s sheet=megatron-model", cases[i].model);
        st_estimate estimate = estimate_of(own, "llama3-8b-8xh100", set);
        if (cell(&estimate, "parameters") != cases[i].parameters)
            fail_msg("%s has %.0f parameters", cases[i].model, cell(&estimate, "parameters"));
    }
}

/* P = 12 L h^2 (1 + 13/(12h) + (V + s)/(12 L h)), the equation of Narayanan et al., plus the last
 * layer norm, which it rounds away. */
static void gpt_has_the_parameters_of_the_equation(void **state)
{
    fixture *own = *state;
    st_estimate estimate = estimate_of(own, "gpt3-175b-64xa100", "");
    double L = 96;
    double h = 12288;
    double equation = 12 * L * h * h * (1 + 13 / (12 * h) + (51200.0 + 2048) / (12 * L * h));
    assert_near(cell(&estimate, "parameters"), equation + 2 * h, 1e-15, "parameters");
    assert_true(cell(&estimate, "parameters_active") == cell(&estimate, "parameters"));
}

static void experts_count_once_per_token(void **state)
{
    fixture *own = *state;
    st_estimate mixtral = estimate_of(own, "mixtral-8x7b-64xh100", "");
    double expert = 3.0 * 4096 * 14336;
    assert_true(cell(&mixtral, "parameters") - cell(&mixtral, "parameters_active") ==
                32 * 6 * expert);
    st_estimate deepseek = estimate_of(own, "deepseek-v3-2048xh800", "");
    assert_near(cell(&deepseek, "parameters"), 671.0e9, 0.001, "parameters of DeepSeek-V3");
    assert_near(cell(&deepseek, "parameters_active"), 37.5e9, 0.01, "its active parameters");
    assert_true(cell(&deepseek, "L_moe") == 58);
}

/* One MoE layer in two, after one dense layer: 7 layers have 3 of them. */
static void moe_layers_follow_their_frequency(void **state)
{
    fixture *own = *state;
    st_estimate estimate =
        estimate_of(own, "mixtral-8x7b-64xh100",
                    "model.layers=7 model.dense_layers=1 model.moe_every=2 parallel.pp=1 "
                    "parallel.virtual_stages=1 model.hidden=1024 model.head_dim=32");
    assert_true(cell(&estimate, "L_moe") == 3);
    assert_true(cell(&estimate, "L_moe_first") == 3);
}

/* ---- Korthikanti et al.: activation memory ---- */

typedef struct activation_case {
    const char *job;
    double whole_gib;   /* no recomputation, no sequence parallelism */
    double reduced_gib; /* both */
    double percent[3];  /* sequence parallelism, selective, full, as plotted */
} activation_case;

static double activations_gib(fixture *own, const char *job, const char *assignments)
{
    char text[256];
    (void)snprintf(text, sizeof text,
                   "%s sheet=megatron-memory constants.framework_memory=0~B "
                   "cluster.gpu.memory=500~GiB",
                   assignments);
    st_estimate estimate = estimate_of(own, job, text);
    return cell(&estimate, "M_layers_first") / GIB;
}

static void activation_memory_is_korthikantis_to_the_digit(void **state)
{
    fixture *own = *state;
    static const activation_case cases[] = {
        {"megatron-22b-8xa100", 59.25, 9.5625, {66.84, 49.42, 7.64}},
        {"gpt3-175b-64xa100", 66.84375, 12.3515625, {62.04, 56.53, 8.71}},
        {"megatron-530b-280xa100", 114.0234375, 23.076171875, {58.31, 62.04, 9.42}},
        {"megatron-1t-512xa100", 131.25, 26.5625, {58.31, 62.04, 9.42}},
    };
    static const char *const modes[] = {"parallel.sequence_parallel=true recompute=none",
                                        "parallel.sequence_parallel=false recompute=selective",
                                        "parallel.sequence_parallel=false recompute=full"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double whole =
            activations_gib(own, cases[i].job, "parallel.sequence_parallel=false recompute=none");
        assert_true(whole == cases[i].whole_gib);
        assert_true(activations_gib(own, cases[i].job, "") == cases[i].reduced_gib);
        for (size_t k = 0; k < COUNT(modes); k++) {
            double percent = 100 * activations_gib(own, cases[i].job, modes[k]) / whole;
            if (fabs(percent - cases[i].percent[k]) > 0.21)
                fail_msg("%s: %s keeps %.2f %%", cases[i].job, modes[k], percent);
        }
    }
}

/* 34 sbh/t and 5 a s^2 b/t per layer, or without tensor parallelism's split 10 sbh. */
static void a_layers_activations_are_equations_1_to_6(void **state)
{
    fixture *own = *state;
    double sbh = 2048.0 * 4 * 6144;
    double scores = 5.0 * 64 * 2048 * 2048 * 4;
    st_estimate with = estimate_of(own, "megatron-22b-8xa100", "");
    assert_near(cell(&with, "A_dense_kept"), (34 * sbh + scores) / 8, 1e-15, "equation 4");
    assert_near(cell(&with, "A_dense"), 34 * sbh / 8, 1e-15, "equation 6");
    st_estimate without = estimate_of(own, "megatron-22b-8xa100",
                                      "parallel.sequence_parallel=false recompute=none "
                                      "cluster.gpu.memory=500~GiB");
    assert_near(cell(&without, "A_dense"), 10 * sbh + (24 * sbh + scores) / 8, 1e-15, "equation 2");
}

/* ---- Li et al.: Table 3 ---- */

static void traffic_is_table_3(void **state)
{
    fixture *own = *state;
    st_estimate estimate = estimate_of(
        own, "gpt-3b-32x3090",
        "sheet=megatron model.heads=20 parallel.scatter_gather=false precision.weights=fp16 "
        "precision.gradients=fp16 precision.communication=fp16 attention=unfused "
        "cluster.gpu.memory=500~GiB");
    assert_true(cell(&estimate, "tp_message") == 131072000);
    assert_true(cell(&estimate, "tp_messages") == 680);
    assert_true(cell(&estimate, "tp_payload") == 89128960000.0);
    assert_true(cell(&estimate, "tp_sent") == 89128960000.0);
    assert_true(cell(&estimate, "pp_messages") == 16);
    assert_true(cell(&estimate, "pp_sent") == 1048576000);
    assert_true(cell(&estimate, "dp_payload") == 777492000);
    assert_true(cell(&estimate, "dp_messages") == 1);
    assert_true(cell(&estimate, "dp_sent") == 2 * 777492000.0 * 3 / 4);
    assert_true(cell(&estimate, "tied_payload") == 100864000);
    assert_true(cell(&estimate, "expert_dp_payload") == 0);
    assert_true(cell(&estimate, "L_first") == 14);
    assert_true(cell(&estimate, "ep_messages") == 0);
    assert_true(cell(&estimate, "cp_sent") == 0);
}

/* What splits states sends as much once as an all-reduce does, and with every micro-batch what is
 * needed then. */
static void splitting_states_changes_the_traffic(void **state)
{
    fixture *own = *state;
    static const struct {
        int zero;
        double messages; /* with 16 micro-batches */
        double payload;  /* bytes per parameter, gradients of 4 and weights of 2 bytes */
        double sent;     /* on a ring of 8 ranks */
    } cases[] = {{0, 1, 4, 2 * 4 * 7 / 8.0},
                 {1, 2, 4 + 2, (4 + 2) * 7 / 8.0},
                 {2, 17, 16 * 4 + 2, (16 * 4 + 2) * 7 / 8.0},
                 {3, 48, 16 * (4 + 2 * 2), 16 * (4 + 2 * 2) * 7 / 8.0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate estimate =
            estimate_of(own, "llama3-8b-8xh100",
                        st_arena_printf(own->arena, "parallel.zero=%d cluster.gpu.memory=999~GiB",
                                        cases[i].zero));
        double parameters = cell(&estimate, "P_first");
        assert_true(cell(&estimate, "m") == 16);
        assert_true(cell(&estimate, "dp_messages") == cases[i].messages);
        assert_near(cell(&estimate, "dp_payload"), cases[i].payload * parameters, 1e-14, "payload");
        assert_near(cell(&estimate, "dp_sent"), cases[i].sent * parameters, 1e-14, "bytes sent");
    }
}

/* A token's copies go to their experts and come back, forward and backward; each expert's gradient
 * meets those of the ranks that hold it too. */
static void experts_are_visited_and_returned_from(void **state)
{
    fixture *own = *state;
    st_estimate estimate = estimate_of(own, "mixtral-8x7b-64xh100", "");
    assert_true(cell(&estimate, "ep_messages") == 64 * 8 * 4);
    assert_true(cell(&estimate, "ep_message") == 2 * 4096 * 4096 * 2);
    assert_true(cell(&estimate, "ep_sent") == cell(&estimate, "ep_payload") * 7 / 8);
    assert_true(cell(&estimate, "expert_dp_ranks") == 2);
    assert_near(cell(&estimate, "expert_dp_payload"), (4 + 2) * 8 * 3 * 4096.0 * 14336, 1e-15,
                "expert gradients and weights");
    st_estimate crowded =
        estimate_of(own, "mixtral-8x7b-64xh100", "model.imbalance=2.5 cluster.gpu.memory=999~GiB");
    assert_near(cell(&crowded, "ep_message"), 2.5 * cell(&estimate, "ep_message"), 1e-15,
                "a crowded message");
    st_estimate capped =
        estimate_of(own, "mixtral-8x7b-64xh100", "model.imbalance=2.5 model.capacity_factor=1.25");
    assert_near(cell(&capped, "ep_message"), 1.25 * cell(&estimate, "ep_message"), 1e-15,
                "a capped message");
}

/* Ranks that share an expert gather the tokens of all of them first. */
static void shared_experts_gather_their_tokens(void **state)
{
    fixture *own = *state;
    st_estimate estimate = estimate_of(own, "mixtral-8x7b-64xh100",
                                       "parallel.tp=4 parallel.dp=4 parallel.expert_tp=4 "
                                       "parallel.ep=4");
    double others = 3 * cell(&estimate, "ep_message");
    assert_near(cell(&estimate, "t_expert_tp"),
                cell(&estimate, "start_tp") + others / cell(&estimate, "bw_tp"), 1e-12,
                "gathered tokens");
}

static void rings_of_keys_and_values_go_round(void **state)
{
    fixture *own = *state;
    st_estimate estimate =
        estimate_of(own, "llama3-8b-8xh100", "parallel.cp=4 parallel.dp=2 batch.global=2");
    /* 32 layers, 2 passes forward and 2 rounds backward, 3 neighbours, 2 bytes of 8 heads */
    assert_true(cell(&estimate, "cp_messages") == 32 * 4 * 3);
    assert_true(cell(&estimate, "cp_sent") == 32.0 * 4 * 3 * 2 * 2048 * 2 * 8 * 128);
}

/* ---- Narayanan et al. ---- */

/* Equation 3: 96 B s L h^2 (1 + s/6h + V/16Lh), with recomputation. */
static void work_is_equation_3(void **state)
{
    fixture *own = *state;
    st_estimate estimate = estimate_of(own, "gpt3-175b-1024xa100", "");
    double B = 1536;
    double s = 2048;
    double L = 96;
    double h = 12288;
    double V = 51200;
    assert_near(cell(&estimate, "flop_hardware"),
                96 * B * s * L * h * h * (1 + s / (6 * h) + V / (16 * L * h)), 1e-14, "equation 3");
    assert_near(cell(&estimate, "flop_model"),
                72 * B * s * L * h * h * (1 + s / (6 * h) + V / (12 * L * h)), 1e-14,
                "equation 3 without recomputation");
    assert_near(cell(&estimate, "mfu") * 312e12 * 1024 * cell(&estimate, "step_time"),
                cell(&estimate, "flop_model"), 1e-14, "MFU");
    assert_near(cell(&estimate, "flops_gpu_hardware") / 312e12, cell(&estimate, "hfu"), 1e-14,
                "HFU");
}

typedef struct rate_case {
    const char *model;
    const char *assignments;
    double teraflops; /* as printed */
    double time_s;    /* as printed */
} rate_case;

/* Rates that tables print beside times: the same work must lie between them. GPT-2 on DGX-2 and
 * DGX A100, and the models of Jan 2021, all from the README of Megatron-LM. */
static void printed_rates_belong_to_printed_times(void **state)
{
    fixture *own = *state;
    static const rate_case cases[] = {
        {"megatron-3.6b", "batch.global=512 parallel.tp=2 parallel.pp=1 parallel.dp=32", 131,
         3.8950},
        {"megatron-39.1b", "batch.global=1536 parallel.tp=8 parallel.pp=2 parallel.dp=32", 128,
         15.5827},
        {"megatron-76.1b", "batch.global=1792 parallel.tp=8 parallel.pp=4 parallel.dp=32", 133,
         16.9030},
        {"megatron-145.6b", "batch.global=2304 parallel.tp=8 parallel.pp=8 parallel.dp=24", 136,
         27.0071},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char set[256];
        (void)snprintf(set, sizeof set, "model=%s %s", cases[i].model, cases[i].assignments);
        st_estimate estimate = estimate_of(own, "gpt3-175b-1024xa100", set);
        double rate = cell(&estimate, "flop_hardware") / cases[i].time_s / cell(&estimate, "gpus");
        assert_near(rate, cases[i].teraflops * 1e12, 1e-4, cases[i].model);
    }
}

/* Section 5.1: GPT-3, 300 billion tokens, 1,024 GPUs at 140 TFLOP/s: 34 days. */
static void whole_trainings_are_equation_4(void **state)
{
    fixture *own = *state;
    st_estimate estimate = estimate_of(own, "gpt3-175b-1024xa100", "");
    double days = cell(&estimate, "training_time") / 86400;
    assert_near(days, 34, 0.08, "days of GPT-3");
    assert_near(cell(&estimate, "training_time") * cell(&estimate, "tokens_per_s"), 300e9, 1e-14,
                "tokens");
    assert_near(cell(&estimate, "gpu_time"), 1024 * cell(&estimate, "training_time"), 1e-15,
                "GPU-hours");
    assert_near(cell(&estimate, "cost"), cell(&estimate, "gpu_time") / 3600 * 2, 1e-14, "price");
    assert_near(cell(&estimate, "energy"), cell(&estimate, "gpu_time") * 400, 1e-14, "energy");
    st_estimate dear = estimate_of(own, "gpt3-175b-1024xa100",
                                   "cluster.price=2.385~$/h cluster.pue=1.25 "
                                   "constants.power_factor=1.82 train.tokens=150e9");
    assert_near(cell(&dear, "cost"), cell(&estimate, "cost") / 2 * 2.385 / 2, 1e-13, "price");
    assert_near(cell(&dear, "energy"), cell(&estimate, "energy") / 2 * 1.25 * 1.82, 1e-13,
                "energy");
}

/* ---- bubbles ---- */

/* Stages that are alike but for ends of no weight idle (p-1)/(v m + p-1) of the time. */
static void equal_stages_have_the_known_bubble(void **state)
{
    fixture *own = *state;
    static const char small[] = "model.vocabulary=128 model.vocabulary_multiple=1 "
                                "constants.loss_traffic=0~B parallel.tp=8 parallel.dp=1 ";
    static const struct {
        const char *plan;
        double bubble;
    } cases[] = {
        {"parallel.pp=8 batch.global=24", 7.0 / 31},
        {"parallel.pp=8 batch.global=24 parallel.schedule=gpipe", 7.0 / 31},
        {"parallel.pp=8 batch.global=24 parallel.virtual_stages=3", 7.0 / 79},
        {"parallel.pp=8 batch.global=24 parallel.virtual_stages=3 parallel.schedule=interleaved",
         7.0 / 79},
        {"parallel.pp=1 batch.global=24", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char set[320];
        (void)snprintf(set, sizeof set, "%s%s", small, cases[i].plan);
        st_estimate estimate =
            estimate_of(own, "gpt3-175b-1024xa100",
                        st_arena_printf(own->arena, "%s cluster.gpu.memory=9999~GiB", set));
        double bubble = cell(&estimate, "bubble");
        if (fabs(bubble - cases[i].bubble) > 1e-3)
            fail_msg("%s: bubble %.5f, not %.5f", cases[i].plan, bubble, cases[i].bubble);
    }
}

/* ZB-H1 and ZB-H2 take two and three weight gradients out of the ramp. */
static void late_weight_gradients_fill_the_bubble(void **state)
{
    fixture *own = *state;
    const char *job = "megatron-1t-512xa100";
    const char *room = "cluster.gpu.memory=500~GiB ";
    st_estimate plain = estimate_of(own, job, room);
    double share = cell(&plain, "t_gemm") / cell(&plain, "t_gpu");
    double ramp = cell(&plain, "T_ramp");
    assert_true(share > 0.2 && share < 1.0 / 3);
    st_estimate first = estimate_of(own, job,
                                    "parallel.schedule=zero_bubble "
                                    "cluster.gpu.memory=500~GiB");
    assert_near(cell(&first, "T_ramp"), ramp * (1 - 2 * share), 1e-12, "ramp of ZB-H1");
    st_estimate second = estimate_of(own, job,
                                     "parallel.schedule=zero_bubble_2 "
                                     "cluster.gpu.memory=500~GiB");
    assert_near(cell(&second, "T_ramp"), ramp * (1 - 3 * share), 1e-12, "ramp of ZB-H2");
    assert_true(cell(&second, "M_layers_first") == cell(&first, "M_layers_first") / 64 * 127);
}

static void micro_batches_that_do_not_fit_the_stages_idle(void **state)
{
    fixture *own = *state;
    st_estimate even = estimate_of(own, "gpt3-175b-64xa100", "");
    assert_true(cell(&even, "T_shortage") == 0);
    st_estimate odd = estimate_of(own, "gpt3-175b-64xa100", "batch.global=61");
    assert_near(cell(&odd, "T_shortage"), 2 * 3 * cell(&odd, "t_slowest") / 3, 1e-14, "idle time");
}

typedef struct flight_case {
    const char *plan;
    double first;
    double middle;
    double last;
} flight_case;

static void stages_keep_what_their_schedule_has_in_flight(void **state)
{
    fixture *own = *state;
    static const flight_case cases[] = {
        {"", 8, 7, 1},
        {"batch.global=5", 5, 5, 1},
        {"parallel.schedule=gpipe", 64, 64, 64},
        {"parallel.virtual_stages=3", 8 + 7.0 / 3, 8 + 5.0 / 3, 1 + 7.0 / 3},
        {"parallel.schedule=zero_bubble", 8, 8, 8},
        {"parallel.schedule=zero_bubble_2", 15, 15, 15},
        {"parallel.schedule=zero_bubble_2 batch.global=11", 11, 11, 11},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate estimate = estimate_of(
            own, "gpt3-175b-64xa100",
            st_arena_printf(own->arena, "parallel.virtual_stages=1 cluster.gpu.memory=9999~GiB %s",
                            cases[i].plan));
        assert_near(cell(&estimate, "in_flight_first"), cases[i].first, 1e-15, cases[i].plan);
        assert_near(cell(&estimate, "in_flight_middle"), cases[i].middle, 1e-15, cases[i].plan);
        assert_near(cell(&estimate, "in_flight_last"), cases[i].last, 1e-15, cases[i].plan);
    }
}

/* ---- limits ---- */

static void one_gpu_has_nothing_to_tell_others(void **state)
{
    fixture *own = *state;
    st_estimate estimate =
        estimate_of(own, "llama3-8b-8xh100",
                    "parallel.dp=1 parallel.zero=0 model.layers=8 cluster.nodes=1 "
                    "cluster.gpus_per_node=1");
    static const char *const nothing[] = {
        "time_exposed", "time_hidden", "time_bubble", "T_transfers", "t_tied",      "t_tp",
        "t_cp",         "t_reduce",    "t_gather",    "tp_payload",  "pp_payload",  "dp_payload",
        "dp_sent",      "ep_sent",     "cp_sent",     "tp_sent",     "pp_crossing", "bubble"};
    for (size_t i = 0; i < COUNT(nothing); i++)
        if (cell(&estimate, nothing[i]) != 0)
            fail_msg("%s is %g", nothing[i], cell(&estimate, nothing[i]));
    assert_near(cell(&estimate, "step_time"),
                cell(&estimate, "m") * cell(&estimate, "t_first") + cell(&estimate, "T_optimizer"),
                1e-14, "step time");
}

static void a_dense_model_has_no_experts_anywhere(void **state)
{
    fixture *own = *state;
    st_estimate estimate = estimate_of(own, "megatron-530b-280xa100", "");
    static const char *const nothing[] = {"L_moe", "L_moe_first", "P_experts", "time_ep",
                                          "n_moe", "ep_payload",  "hidden_ep", "P_stage_experts"};
    for (size_t i = 0; i < COUNT(nothing); i++)
        assert_true(cell(&estimate, nothing[i]) == 0);
}

/* A large micro-batch hides the host, a tiny layer is the host's alone. */
static void layers_take_the_longer_of_host_and_gpu(void **state)
{
    fixture *own = *state;
    st_estimate large = estimate_of(own, "megatron-530b-280xa100", "");
    assert_near(cell(&large, "t_layer"), cell(&large, "t_gpu"), 1e-3, "a large layer");
    assert_true(cell(&large, "t_layer") > cell(&large, "t_gpu"));
    st_estimate tiny = estimate_of(own, "megatron-22b-8xa100",
                                   "model.hidden=512 model.heads=8 batch.micro=1 recompute=full");
    assert_near(cell(&tiny, "t_layer"), 3.24e-3 + 7 * 102e-6, 1e-3, "a tiny layer");
    assert_string_equal(named(&tiny, "bottleneck"), "host_launches");
    /* The rounded corner: alike times take 2^(1/4) of either. */
    double x = cell(&large, "t_gpu");
    double y = cell(&large, "t_launch");
    assert_near(cell(&large, "t_layer"), pow(pow(x, 4) + pow(y, 4), 0.25), 1e-12, "the corner");
}

static void stages_hold_whole_layers(void **state)
{
    fixture *own = *state;
    static const struct {
        const char *plan;
        double first, middle, last;
    } cases[] = {
        {"parallel.pp=5", 10, 10, 10},
        {"parallel.pp=6 parallel.first_stage_layers=7 parallel.last_stage_layers=5", 7, 9, 5},
        {"parallel.pp=6 parallel.first_stage_layers=8", 8, 8, 8},
        {"parallel.pp=6 parallel.last_stage_layers=3", 9, 9, 3},
        {"parallel.pp=2 parallel.first_stage_layers=27 parallel.last_stage_layers=21", 27, 0, 21},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate estimate =
            estimate_of(own, "megatron-22b-8xa100",
                        st_arena_printf(own->arena,
                                        "parallel.tp=1 parallel.sequence_parallel=false "
                                        "cluster.gpu.memory=9999~GiB %s",
                                        cases[i].plan));
        assert_true(cell(&estimate, "L_first") == cases[i].first);
        assert_true(cell(&estimate, "L_middle") == cases[i].middle);
        assert_true(cell(&estimate, "L_last") == cases[i].last);
    }
}

/* ---- sums ---- */

static void parts_add_up_to_the_step(void **state)
{
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(jobs); i++) {
        st_estimate estimate = estimate_of(own, jobs[i], "constants.site_factor=1.134");
        double sum = 0;
        for (size_t k = 0; k < COUNT(parts); k++) {
            if (cell(&estimate, parts[k]) < 0)
                fail_msg("%s: %s is %g", jobs[i], parts[k], cell(&estimate, parts[k]));
            sum += cell(&estimate, parts[k]);
        }
        assert_near(sum, cell(&estimate, "step_time"), 1e-12, jobs[i]);
        double concealed = 0;
        for (size_t k = 0; k < COUNT(hidden); k++) {
            assert_true(cell(&estimate, hidden[k]) >= 0);
            concealed += cell(&estimate, hidden[k]);
        }
        assert_near(concealed, cell(&estimate, "time_hidden"), 1e-12, jobs[i]);
        st_estimate priced = estimate_of(own, jobs[i],
                                         "constants.overlap_slowdown=1.391 overlap.tp=0.4375 "
                                         "overlap.pp=0.375 overlap.ep=0.625 overlap.cp=0.25");
        sum = 0;
        for (size_t k = 0; k < COUNT(parts); k++)
            sum += cell(&priced, parts[k]);
        assert_near(sum, cell(&priced, "step_time"), 1e-12, jobs[i]);
        assert_true(cell(&priced, "time_price") >= 0);
        st_estimate plain = estimate_of(own, jobs[i], "");
        assert_near(cell(&estimate, "step_time"), 1.134 * cell(&plain, "step_time"), 1e-13,
                    "the site factor");
    }
}

/* What no longer hides is exposed, and the other way round. */
static void hidden_and_exposed_communication_add_up(void **state)
{
    fixture *own = *state;
    static const char *const pairs[][4] = {
        {"gpt3-175b-1024xa100", "overlap.tp=0.375", "time_tp", "hidden_tp"},
        {"gpt3-175b-1024xa100", "overlap.pp=0.375", "time_pp", "hidden_pp"},
        {"gpt3-175b-1024xa100", "overlap.gradients=0.375", "time_dp", "hidden_dp"},
        {"mixtral-8x7b-64xh100", "overlap.ep=0.375", "time_ep", "hidden_ep"},
        {"llama3-8b-8xh100", "overlap.parameters=0.5", "time_dp", "hidden_dp"},
        {"llama3-8b-8xh100",
         "parallel.zero=1 parallel.cp=4 parallel.dp=2 batch.global=2 recompute=none "
         "overlap.cp=0.125",
         "time_cp", "hidden_cp"},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        st_estimate none = estimate_of(own, pairs[i][0],
                                       st_arena_printf(own->arena,
                                                       "%s overlap.tp=0 overlap.pp=0 overlap.ep=0 "
                                                       "overlap.cp=0 overlap.gradients=0 "
                                                       "overlap.parameters=0",
                                                       pairs[i][1]));
        st_estimate some = estimate_of(own, pairs[i][0], pairs[i][1]);
        assert_true(cell(&none, pairs[i][3]) == 0);
        if (cell(&some, pairs[i][3]) <= 0)
            fail_msg("%s hides nothing", pairs[i][1]);
        assert_near(cell(&some, pairs[i][2]) + cell(&some, pairs[i][3]), cell(&none, pairs[i][2]),
                    1e-9, pairs[i][1]);
    }
}

static void hiding_ends_with_what_it_hides_behind(void **state)
{
    fixture *own = *state;
    st_estimate slow = estimate_of(own, "gpt3-175b-1024xa100",
                                   "cluster.nic_bandwidth=0.5~GB/s overlap.gradients=1");
    assert_near(cell(&slow, "T_data_hidden"), 0.75 * cell(&slow, "t_slowest"), 1e-12,
                "what a backward pass hides");
    assert_true(cell(&slow, "time_dp") > 0);
    assert_string_equal(named(&slow, "overhead"), "data_parallel");
}

/* Beside a message of x the computation loses x - x/slowdown; more is hidden, as it lasts longer.
 */
static void hiding_has_its_price(void **state)
{
    fixture *own = *state;
    static const char *const pairs[][2] = {
        {"gpt3-175b-1024xa100", "overlap.tp=0.375"},
        {"gpt3-175b-1024xa100", "overlap.pp=0.375"},
        {"gpt3-175b-1024xa100", "overlap.gradients=0.375"},
        {"mixtral-8x7b-64xh100", "overlap.ep=0.375"},
        {"llama3-8b-8xh100", "overlap.parameters=0.5"},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        st_estimate free_of = estimate_of(own, pairs[i][0], pairs[i][1]);
        st_estimate priced = estimate_of(
            own, pairs[i][0],
            st_arena_printf(own->arena, "%s constants.overlap_slowdown=1.481", pairs[i][1]));
        assert_true(cell(&free_of, "time_price") == 0);
        assert_true(cell(&priced, "time_hidden") > 0);
        assert_near(cell(&priced, "time_price"), cell(&priced, "time_hidden") * (1 - 1 / 1.481),
                    1e-12, pairs[i][1]);
        assert_true(cell(&priced, "time_hidden") >= cell(&free_of, "time_hidden"));
        assert_true(cell(&priced, "step_time") > cell(&free_of, "step_time"));
    }
    st_estimate slow = estimate_of(own, "gpt3-175b-1024xa100",
                                   "cluster.nic_bandwidth=0.5~GB/s overlap.gradients=1 "
                                   "constants.overlap_slowdown=1.269");
    assert_near(cell(&slow, "T_data_hidden"), 1.269 * 0.75 * cell(&slow, "t_slowest"), 1e-12,
                "what a slower backward pass hides");
    st_estimate rings = estimate_of(own, "llama3-8b-8xh100",
                                    "parallel.zero=1 parallel.cp=4 parallel.dp=2 batch.global=2 "
                                    "recompute=none overlap.cp=0.125 "
                                    "constants.overlap_slowdown=1.613");
    assert_near(cell(&rings, "price_cp"),
                (1 - 1 / 1.613) * (3 * cell(&rings, "t_ring_cp") - cell(&rings, "t_cp")), 1e-9,
                "what the ring costs attention");
}

/* ---- what grows with what ---- */

static void more_of_anything_good_is_never_slower(void **state)
{
    fixture *own = *state;
    static const char *const better[] = {
        "cluster.gpu.peak_fp16=624~TFLOP/s",
        "cluster.gpu.memory_bandwidth=4078~GB/s",
        "cluster.gpu.link_bandwidth=600~GB/s",
        "cluster.nic_bandwidth=400~GB/s",
        "cluster.gpu.gemm_efficiency=0.9",
        "overlap.tp=0.5",
        "overlap.pp=0.5",
        "overlap.gradients=1",
        "precision.fused_wgrad=true",
        "constants.collective_latency=1~us",
        "constants.transfer_latency=1~us",
        "constants.loss_traffic=8~B",
        "recompute=selective",
        "attention=flash",
        "model.dropout=false",
        "model.vocabulary=32000",
    };
    st_estimate plain = estimate_of(own, "gpt3-175b-1024xa100", "");
    for (size_t i = 0; i < COUNT(better); i++) {
        st_estimate other =
            estimate_of(own, "gpt3-175b-1024xa100",
                        st_arena_printf(own->arena, "cluster.gpu.memory=500~GiB %s", better[i]));
        if (cell(&other, "step_time") >= cell(&plain, "step_time"))
            fail_msg("%s does not help", better[i]);
    }
}

static void memory_shrinks_with_what_splits_it(void **state)
{
    fixture *own = *state;
    static const char *const less[] = {
        "parallel.zero=1",
        "parallel.zero=2",
        "parallel.zero=3",
        "recompute=full",
        "precision.optimizer=bf16",
        "parallel.tp=4 parallel.dp=4",
        "batch.micro=1",
        "precision.gradients=bf16",
        "attention=flash",
        "parallel.cp=2 parallel.dp=2",
    };
    const char *room =
        "parallel.dp=4 batch.global=64 batch.micro=2 recompute=none attention=unfused "
        "parallel.sequence_parallel=true parallel.tp=2 parallel.pp=1 "
        "cluster.gpu.memory=9999~GiB precision.gradients=fp32";
    st_estimate plain = estimate_of(own, "megatron-22b-8xa100", room);
    for (size_t i = 0; i < COUNT(less); i++) {
        st_estimate other = estimate_of(own, "megatron-22b-8xa100",
                                        st_arena_printf(own->arena, "%s %s", room, less[i]));
        if (cell(&other, "memory") >= cell(&plain, "memory"))
            fail_msg("%s needs no less", less[i]);
    }
}

/* ---- memory ---- */

/* Qi et al., table 4: peak memory in GB, which no constant has seen. */
static void measured_peaks_are_met(void **state)
{
    fixture *own = *state;
    static const struct {
        const char *plan;
        double measured_gb;
    } cases[] = {
        {"model=zero-bubble-1.5b parallel.pp=8 batch.micro=6 batch.global=144 "
         "parallel.first_stage_layers=2 parallel.last_stage_layers=2",
         30},
        {"model=zero-bubble-6.2b parallel.pp=8 batch.micro=3 batch.global=72 "
         "parallel.first_stage_layers=3 parallel.last_stage_layers=3",
         39},
        {"model=zero-bubble-28.3b parallel.pp=32 batch.micro=1 batch.global=96 "
         "parallel.first_stage_layers=1 parallel.last_stage_layers=1",
         43},
        {"model=zero-bubble-1.5b parallel.pp=8 batch.micro=6 batch.global=144 "
         "parallel.first_stage_layers=2 parallel.last_stage_layers=2 parallel.virtual_stages=3",
         40},
        {"model=zero-bubble-6.2b parallel.pp=8 batch.micro=3 batch.global=72 "
         "parallel.first_stage_layers=3 parallel.last_stage_layers=3 parallel.virtual_stages=4",
         48},
        {"model=zero-bubble-28.3b parallel.pp=32 batch.micro=1 batch.global=96 "
         "parallel.first_stage_layers=1 parallel.last_stage_layers=1 parallel.virtual_stages=2",
         58},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate estimate =
            estimate_of(own, "gpt3-175b-1024xa100",
                        st_arena_printf(own->arena,
                                        "parallel.tp=1 parallel.dp=1 batch.sequence=1024 "
                                        "recompute=none precision.gradients=fp32 "
                                        "precision.fused_wgrad=true %s",
                                        cases[i].plan));
        assert_near(cell(&estimate, "memory_allocated"), cases[i].measured_gb * 1e9, 0.06,
                    cases[i].plan);
        assert_string_equal(named(&estimate, "worst_stage"), "middle_stage");
    }
}

static void states_are_split_by_zero(void **state)
{
    fixture *own = *state;
    static const double bytes[] = {2 + 4 + 12.0, 2 + 4 + 12.0 / 8, 2 + 4 / 8.0 + 12.0 / 8,
                                   (2 + 4 + 12) / 8.0};
    for (int zero = 0; zero < 4; zero++) {
        st_estimate estimate = estimate_of(
            own, "llama3-8b-8xh100",
            st_arena_printf(own->arena, "parallel.zero=%d cluster.gpu.memory=999~GiB", zero));
        assert_near(cell(&estimate, "state_bytes"), bytes[zero], 1e-15, "bytes of a parameter");
    }
    st_estimate fp32 = estimate_of(own, "llama3-8b-8xh100",
                                   "precision.weights=fp32 parallel.zero=0 "
                                   "cluster.gpu.memory=999~GiB");
    assert_near(cell(&fp32, "state_bytes"), 4 + 4 + 8, 1e-15, "bytes of an FP32 parameter");
    st_estimate fsdp = estimate_of(
        own, "llama3-8b-8xh100", "constants.weights_are_master=true constants.second_gradient=2~B");
    assert_near(cell(&fsdp, "state_bytes"), (4 + 2 + 12) / 8.0, 1e-15, "bytes of FSDP");
}

typedef struct remedy_case {
    const char *job;
    const char *plan;
    const char *says;
} remedy_case;

static void what_does_not_fit_is_told_how_to(void **state)
{
    fixture *own = *state;
    static const remedy_case cases[] = {
        {"megatron-22b-8xa100", "recompute=none parallel.sequence_parallel=false",
         "What would help most: full recomputation"},
        {"llama3-8b-8xh100", "parallel.zero=0", "What would help most: full sharding"},
        {"megatron-22b-8xa100",
         "parallel.dp=2 batch.global=8 cluster.gpu.memory=20~GiB recompute=full model.layers=1 "
         "model.hidden=24576",
         "What would help most: optimizer sharding"},
        {"megatron-22b-8xa100", "model=megatron-1t", "which is not enough"},
        {"llama3-8b-8xh100", "batch.micro=16", "micro batch of one"},
        {"megatron-530b-280xa100",
         "parallel.sequence_parallel=false recompute=full "
         "cluster.gpu.memory=48~GiB",
         "sequence parallelism, "},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate estimate;
        assert_int_equal(try_estimate(own, cases[i].job, cases[i].plan, &estimate), ST_ERR_CHECK);
        const char *text = said(own);
        if (strstr(text, "the plan does not fit; the ") == NULL ||
            strstr(text, cases[i].says) == NULL)
            fail_msg("%s %s: %s", cases[i].job, cases[i].plan, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILES(published_models_have_their_parameters),
        WITH_FILES(gpt_has_the_parameters_of_the_equation),
        WITH_FILES(experts_count_once_per_token),
        WITH_FILES(moe_layers_follow_their_frequency),
        WITH_FILES(activation_memory_is_korthikantis_to_the_digit),
        WITH_FILES(a_layers_activations_are_equations_1_to_6),
        WITH_FILES(traffic_is_table_3),
        WITH_FILES(splitting_states_changes_the_traffic),
        WITH_FILES(experts_are_visited_and_returned_from),
        WITH_FILES(shared_experts_gather_their_tokens),
        WITH_FILES(rings_of_keys_and_values_go_round),
        WITH_FILES(work_is_equation_3),
        WITH_FILES(printed_rates_belong_to_printed_times),
        WITH_FILES(whole_trainings_are_equation_4),
        WITH_FILES(equal_stages_have_the_known_bubble),
        WITH_FILES(late_weight_gradients_fill_the_bubble),
        WITH_FILES(micro_batches_that_do_not_fit_the_stages_idle),
        WITH_FILES(stages_keep_what_their_schedule_has_in_flight),
        WITH_FILES(one_gpu_has_nothing_to_tell_others),
        WITH_FILES(a_dense_model_has_no_experts_anywhere),
        WITH_FILES(layers_take_the_longer_of_host_and_gpu),
        WITH_FILES(stages_hold_whole_layers),
        WITH_FILES(parts_add_up_to_the_step),
        WITH_FILES(hidden_and_exposed_communication_add_up),
        WITH_FILES(hiding_ends_with_what_it_hides_behind),
        WITH_FILES(hiding_has_its_price),
        WITH_FILES(more_of_anything_good_is_never_slower),
        WITH_FILES(memory_shrinks_with_what_splits_it),
        WITH_FILES(measured_peaks_are_met),
        WITH_FILES(states_are_split_by_zero),
        WITH_FILES(what_does_not_fit_is_told_how_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
