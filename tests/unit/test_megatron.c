/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sheet megatron: published sizes to the last parameter, equations of the papers written out in
 * C, bubbles, limits, sums, and what has to grow with what. Memory and traffic have files of their
 * own.
 */
#include "megatron_support.h"

#include "estimate/placement.h"

static const char *const parts[] = {
    "time_gemm", "time_memory", "time_launch", "time_tp",        "time_cp",       "time_ep",
    "time_pp",   "time_dp",     "time_bubble", "time_optimizer", "time_slowdown", "time_overhead"};
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
TEST_OF(published_models_have_their_parameters, fixture *own, set_up, tear_down)
{
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
TEST_OF(gpt_has_the_parameters_of_the_equation, fixture *own, set_up, tear_down)
{
    st_estimate estimate = estimate_of(own, "gpt3-175b-64xa100", "");
    double L = 96;
    double h = 12288;
    double equation = 12 * L * h * h * (1 + 13 / (12 * h) + (51200.0 + 2048) / (12 * L * h));
    assert_near(cell(&estimate, "parameters"), equation + 2 * h, 1e-15, "parameters");
    assert_true(cell(&estimate, "parameters_active") == cell(&estimate, "parameters"));
}

TEST_OF(experts_count_once_per_token, fixture *own, set_up, tear_down)
{
    st_estimate mixtral = estimate_of(own, "mixtral-8x7b-64xh100", "");
    double expert = 3.0 * 4096 * 14336;
    assert_true(cell(&mixtral, "parameters") - cell(&mixtral, "parameters_active") ==
                32 * 6 * expert);
    st_estimate deepseek = estimate_of(own, "deepseek-v3-2048xh800", "model.mtp=0");
    assert_near(cell(&deepseek, "parameters"), 671.0e9, 0.001, "parameters of DeepSeek-V3");
    assert_near(cell(&deepseek, "parameters_active"), 37.5e9, 0.01, "its active parameters");
    assert_true(cell(&deepseek, "L_kind[moe]") == 58);
}

/* One MoE layer in two, after one dense layer: 7 layers have 3 of them. */
TEST_OF(moe_layers_follow_their_frequency, fixture *own, set_up, tear_down)
{
    st_estimate estimate =
        estimate_of(own, "mixtral-8x7b-64xh100",
                    "model.layers=7 model.dense_layers=1 model.moe_every=2 parallel.pp=1 "
                    "parallel.virtual_stages=1 model.hidden=1024 model.head_dim=32");
    assert_true(cell(&estimate, "L_kind[moe]") == 3);
    assert_true(cell(&estimate, "L_stage_kind[first,moe]") == 3);
}

/* ---- Narayanan et al. ---- */

/* Equation 3: 96 B s L h^2 (1 + s/6h + V/16Lh), with recomputation. */
TEST_OF(work_is_equation_3, fixture *own, set_up, tear_down)
{
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
TEST_OF(printed_rates_belong_to_printed_times, fixture *own, set_up, tear_down)
{
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
TEST_OF(whole_trainings_are_equation_4, fixture *own, set_up, tear_down)
{
    st_estimate estimate = estimate_of(own, "gpt3-175b-1024xa100", "");
    double days = cell(&estimate, "training_time") / 86400;
    assert_near(days, 34, 0.08, "days of GPT-3");
    assert_near(cell(&estimate, "training_time") * cell(&estimate, "tokens_per_s"), 300e9, 1e-14,
                "tokens");
    assert_near(cell(&estimate, "gpu_time"), 1024 * cell(&estimate, "training_time"), 1e-15,
                "GPU-hours");
    assert_near(cell(&estimate, "price"), 2.79 / 3600, 1e-14, "list price");
    assert_near(cell(&estimate, "cost"), cell(&estimate, "gpu_time") / 3600 * 2.79, 1e-14, "price");
    assert_near(cell(&estimate, "energy"), cell(&estimate, "gpu_time") * 400, 1e-14, "energy");
    st_estimate dear = estimate_of(own, "gpt3-175b-1024xa100",
                                   "cluster.price=2.385~$/h cluster.pue=1.25 "
                                   "constants.power_factor=1.82 train.tokens=150e9");
    assert_near(cell(&dear, "cost"), cell(&estimate, "cost") / 2 * 2.385 / 2.79, 1e-13, "price");
    assert_near(cell(&dear, "energy"), cell(&estimate, "energy") / 2 * 1.25 * 1.82, 1e-13,
                "energy");
    st_estimate unpriced = estimate_of(own, "gpt3-175b-1024xa100", "cluster.gpu=h20");
    assert_true(isnan(cell(&unpriced, "price")));
    assert_true(isnan(cell(&unpriced, "cost")));
}

/* ---- bubbles ---- */

/* Stages that are alike but for ends of no weight idle (p-1)/(v m + p-1) of the time. */
TEST_OF(equal_stages_have_the_known_bubble, fixture *own, set_up, tear_down)
{
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

/* ZB-H1's ramp is (p - 1)(F + B - W) where the stages are alike (Qi et al. 2024, table 2), and
 * ZB-2p, with twice the memory, has next to none. */
TEST_OF(late_weight_gradients_fill_the_bubble, fixture *own, set_up, tear_down)
{
    const char *job = "megatron-1t-512xa100";
    st_estimate first = estimate_of(own, job,
                                    "parallel.schedule=zero_bubble "
                                    "cluster.gpu.memory=500~GiB");
    double ramp =
        63 * (cell(&first, "t_stage_forward[middle]") + cell(&first, "t_stage_backward[middle]") -
              cell(&first, "t_stage_wgrad[middle]"));
    assert_true(fabs(cell(&first, "T_bubble") / ramp - 1) < 0.06);
    st_estimate second = estimate_of(own, job,
                                     "parallel.schedule=zero_bubble_2 "
                                     "cluster.gpu.memory=500~GiB");
    assert_true(cell(&second, "T_bubble") >= 0);
    assert_true(cell(&second, "T_bubble") < 0.3 * cell(&first, "T_bubble"));
    assert_true(cell(&second, "M_layers[first]") == cell(&first, "M_layers[first]") / 64 * 127);
}

/* 61 micro-batches on 8 stages of 3 chunks: the last group lacks 3, in 2 further rounds. */
TEST_OF(micro_batches_that_do_not_fit_the_stages_idle, fixture *own, set_up, tear_down)
{
    st_estimate even = estimate_of(own, "gpt3-175b-64xa100", "");
    assert_true(cell(&even, "T_shortage") == 0);
    st_estimate odd = estimate_of(own, "gpt3-175b-64xa100", "batch.global=61");
    double backward = (1 - cell(&odd, "forward_part")) * cell(&odd, "t_widest") / 3;
    assert_near(cell(&odd, "T_shortage"), 2 * 3 * backward, 1e-14, "idle time");
    st_estimate few = estimate_of(own, "gpt3-175b-64xa100", "batch.global=5");
    assert_near(cell(&few, "T_shortage"), 2 * 3 * cell(&few, "t_widest") / 3, 1e-14, "idle time");
}

typedef struct flight_case {
    const char *plan;
    double first;
    double middle;
    double last;
} flight_case;

TEST_OF(stages_keep_what_their_schedule_has_in_flight, fixture *own, set_up, tear_down)
{
    static const flight_case cases[] = {
        {"", 8, 7, 1},
        {"batch.global=5", 5, 5, 1},
        {"parallel.schedule=gpipe", 64, 64, 64},
        {"parallel.virtual_stages=3", (24 + 7) / 3.0, (24 + 5) / 3.0, (24 - 7) / 3.0},
        {"parallel.schedule=zero_bubble", 8, 8, 8},
        {"parallel.schedule=zero_bubble_2", 15, 15, 15},
        {"parallel.schedule=zero_bubble_2 batch.global=11", 11, 11, 11},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate estimate = estimate_of(
            own, "gpt3-175b-64xa100",
            st_arena_printf(own->arena, "parallel.virtual_stages=1 cluster.gpu.memory=9999~GiB %s",
                            cases[i].plan));
        assert_near(cell(&estimate, "in_flight[first]"), cases[i].first, 1e-15, cases[i].plan);
        assert_near(cell(&estimate, "in_flight[middle]"), cases[i].middle, 1e-15, cases[i].plan);
        assert_near(cell(&estimate, "in_flight[last]"), cases[i].last, 1e-15, cases[i].plan);
    }
}

/* Where a layout has one chunk on a rank, a stage keeps its own layers of each micro-batch. */
TEST_OF(layouts_without_chunks_keep_micro_batches_of_their_stage, fixture *own, set_up, tear_down)
{
    static const char *const stages[] = {"first", "middle", "last"};
    static const struct {
        const char *schedule;
        double in_flight[3];
    } cases[] = {{"1f1b", {8, 3, 1}}, {"gpipe", {64, 64, 64}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate e =
            estimate_of(own, "gpt3-175b-64xa100",
                        st_arena_printf(own->arena,
                                        "parallel.virtual_stages=1 cluster.gpu.memory=9999~GiB "
                                        "parallel.layout=Et*11|t*12|t*12|t*12|t*12|t*13|t*13|t*11L "
                                        "parallel.schedule=%s",
                                        cases[i].schedule));
        for (size_t at = 0; at < COUNT(stages); at++) {
            double one = cell(&e, st_arena_printf(own->arena, "A_stage[%s]", stages[at]));
            const char *kept = st_arena_printf(own->arena, "A_in_flight[%s]", stages[at]);
            assert_near(cell(&e, kept), cases[i].in_flight[at] * one, 1e-14, kept);
        }
    }
}

/* ---- limits ---- */

TEST_OF(one_gpu_has_nothing_to_tell_others, fixture *own, set_up, tear_down)
{
    st_estimate estimate =
        estimate_of(own, "llama3-8b-8xh100",
                    "parallel.dp=1 parallel.zero=0 model.layers=8 cluster.nodes=1 "
                    "cluster.gpus_per_node=1");
    static const char *const nothing[] = {
        "time_exposed", "time_hidden", "time_bubble", "T_transfers", "t_tied",      "t_tp[dense]",
        "t_cp[dense]",  "t_reduce",    "t_gather",    "tp_payload",  "pp_payload",  "dp_payload",
        "dp_sent",      "ep_sent",     "cp_sent",     "tp_sent",     "pp_crossing", "bubble"};
    for (size_t i = 0; i < COUNT(nothing); i++)
        if (cell(&estimate, nothing[i]) != 0)
            fail_msg("%s is %g", nothing[i], cell(&estimate, nothing[i]));
    assert_near(cell(&estimate, "step_time"),
                cell(&estimate, "m") * cell(&estimate, "t_stage[first]") +
                    cell(&estimate, "T_optimizer"),
                1e-14, "step time");
}

TEST_OF(a_dense_model_has_no_experts_anywhere, fixture *own, set_up, tear_down)
{
    st_estimate estimate = estimate_of(own, "megatron-530b-280xa100", "");
    static const char *const nothing[] = {"L_kind[moe]", "L_stage_kind[first,moe]", "P_experts",
                                          "time_ep",     "n_layers[moe]",           "ep_payload",
                                          "hidden_ep",   "P_stage_experts"};
    for (size_t i = 0; i < COUNT(nothing); i++)
        assert_true(cell(&estimate, nothing[i]) == 0);
}

/* A large micro-batch hides the host, a tiny layer is the host's alone. */
TEST_OF(layers_take_the_longer_of_host_and_gpu, fixture *own, set_up, tear_down)
{
    st_estimate large = estimate_of(own, "megatron-530b-280xa100", "");
    assert_near(cell(&large, "t_layer[dense]"), cell(&large, "t_gpu[dense]"), 1e-3,
                "a large layer");
    assert_true(cell(&large, "t_layer[dense]") > cell(&large, "t_gpu[dense]"));
    st_estimate tiny = estimate_of(own, "megatron-22b-8xa100",
                                   "model.hidden=512 model.heads=8 batch.micro=1 recompute=full "
                                   "constants.collective_latency=2~us");
    assert_near(cell(&tiny, "t_layer[dense]"), 3.24e-3 + 7 * 102e-6, 1e-3, "a tiny layer");
    assert_string_equal(named(&tiny, "bottleneck"), "host_launches");
    /* The rounded corner of each pass: alike times take 2^(1/4) of either. */
    double x = cell(&large, "t_forward_pass[dense]");
    double y = cell(&large, "t_launch[dense]") * cell(&large, "forward_share");
    double back = cell(&large, "t_gpu[dense]") - x;
    double more = cell(&large, "t_launch[dense]") - y;
    assert_near(cell(&large, "t_layer[dense]"),
                pow(pow(x, 4) + pow(y, 4), 0.25) + pow(pow(back, 4) + pow(more, 4), 0.25), 1e-12,
                "the corner");
}

/* docs/megatron.md: the host launches each kernel anew that is recomputed. */
TEST_OF(recomputation_launches_again, fixture *own, set_up, tear_down)
{
    static const char constants[] =
        "constants.layer_launch=2.385~ms constants.rank_launch=0.385~ms parallel.tp=4 ";
    static const struct {
        const char *recompute;
        double share;
    } kinds[] = {{"full", 1}, {"selective", 0.8}, {"none", 0.75}};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const char *sets = st_arena_printf(own->arena, "%scluster.gpu.memory=100TB recompute=%s",
                                           constants, kinds[i].recompute);
        st_estimate estimate = estimate_of(own, "megatron-22b-8xa100", sets);
        assert_near(cell(&estimate, "t_launch[dense]"), kinds[i].share * (2.385e-3 + 3 * 0.385e-3),
                    1e-12, kinds[i].recompute);
    }
}

/* What the sheet says of groups on nodes, against ranks that are placed and counted one by one. */
TEST_OF(groups_on_nodes_are_those_of_the_placement, fixture *own, set_up, tear_down)
{
    static const struct {
        size_t tp, cp, dp, pp, per_node;
    } plans[] = {{4, 2, 8, 2, 8},   {2, 1, 16, 2, 8}, {8, 2, 2, 4, 8}, {1, 4, 2, 8, 4},
                 {2, 2, 2, 16, 16}, {4, 1, 1, 16, 2}, {1, 1, 4, 4, 16}};
    for (size_t i = 0; i < COUNT(plans); i++) {
        size_t ranks = plans[i].tp * plans[i].cp * plans[i].dp * plans[i].pp;
        const char *sets = st_arena_printf(
            own->arena,
            "parallel.tp=%zu parallel.cp=%zu parallel.dp=%zu parallel.pp=%zu "
            "parallel.virtual_stages=1 model.layers=32 batch.global=64 batch.micro=1 "
            "cluster.gpus_per_node=%zu cluster.nodes=%zu cluster.gpu.memory=100TB",
            plans[i].tp, plans[i].cp, plans[i].dp, plans[i].pp, plans[i].per_node,
            (ranks + plans[i].per_node - 1) / plans[i].per_node);
        st_estimate estimate;
        (void)try_estimate(own, "gpt3-175b-64xa100", sets, &estimate); /* a check may fail */
        st_errors_clear(own->errors);
        st_placement placement;
        const st_placement_plan plan = {
            .size = {plans[i].tp, plans[i].cp, 1, plans[i].dp, plans[i].pp, 0},
            .gpus_per_node = plans[i].per_node,
            .order = "tp-cp-dp-pp"};
        assert_int_equal(st_placement_create(&plan, &placement, own->errors), ST_OK);
        assert_int_equal(cell(&estimate, "tp_per_node"),
                         st_placement_shape(&placement, ST_GROUP_TP, 0).most_per_node);
        assert_int_equal(cell(&estimate, "cp_per_node"),
                         st_placement_shape(&placement, ST_GROUP_CP, 0).most_per_node);
        size_t crossings = 0;
        for (size_t rank = 0; rank + ranks / plans[i].pp < ranks; rank++)
            crossings +=
                rank / plans[i].per_node != (rank + ranks / plans[i].pp) / plans[i].per_node ? 1
                                                                                             : 0;
        double boundaries = (double)(ranks - ranks / plans[i].pp);
        assert_near(cell(&estimate, "pp_crossing"), (double)crossings / boundaries, 1e-12,
                    "boundaries between nodes");
        /* Context-parallel ranks reduce gradients with the data-parallel ones. */
        size_t reduced = plans[i].cp * plans[i].dp;
        size_t fit = plans[i].per_node / plans[i].tp > 1 ? plans[i].per_node / plans[i].tp : 1;
        assert_int_equal(cell(&estimate, "dp_per_node"), reduced < fit ? reduced : fit);
    }
}

TEST_OF(stages_hold_whole_layers, fixture *own, set_up, tear_down)
{
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
        assert_true(cell(&estimate, "L_stage[first]") == cases[i].first);
        assert_true(cell(&estimate, "L_stage[middle]") == cases[i].middle);
        assert_true(cell(&estimate, "L_stage[last]") == cases[i].last);
    }
}

/* ---- sums ---- */

TEST_OF(parts_add_up_to_the_step, fixture *own, set_up, tear_down)
{
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
        assert_true(cell(&priced, "time_slowdown") >= 0);
        st_estimate plain = estimate_of(own, jobs[i], "");
        assert_near(cell(&estimate, "step_time"), 1.134 * cell(&plain, "step_time"), 1e-13,
                    "the site factor");
    }
}

/* What no longer hides is exposed, and the other way round. */
TEST_OF(hidden_and_exposed_communication_add_up, fixture *own, set_up, tear_down)
{
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

TEST_OF(hiding_ends_with_what_it_hides_behind, fixture *own, set_up, tear_down)
{
    st_estimate slow = estimate_of(own, "gpt3-175b-1024xa100",
                                   "cluster.nic_bandwidth=0.5~GB/s overlap.gradients=1");
    assert_near(cell(&slow, "T_data_hidden"),
                cell(&slow, "t_stage_backward[first]") + cell(&slow, "t_stage_wgrad[first]"), 1e-12,
                "what the last backward pass, of the first stage, hides");
    assert_true(cell(&slow, "time_dp") > 0);
    assert_string_equal(named(&slow, "overhead"), "data_parallel");
}

/* Beside a message of x the computation loses x - x/slowdown; more is hidden, as it lasts longer.
 */
TEST_OF(hiding_has_its_price, fixture *own, set_up, tear_down)
{
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
        assert_true(cell(&free_of, "time_slowdown") == 0);
        assert_true(cell(&priced, "time_hidden") > 0);
        /* Gradients and weights also pass behind exposed messages, which do not slow down, and
         * behind one stage after another. */
        bool of_step = strstr(pairs[i][1], "tp=") == NULL && strstr(pairs[i][1], "pp=") == NULL;
        double price = cell(&priced, "time_hidden") * (1 - 1 / 1.481);
        if (of_step)
            assert_true(cell(&priced, "time_slowdown") > 0.1 * price &&
                        cell(&priced, "time_slowdown") < 16 * price);
        else
            assert_near(cell(&priced, "time_slowdown"), price, 1e-12, pairs[i][1]);
        assert_true(cell(&priced, "time_hidden") > 0.9 * cell(&free_of, "time_hidden"));
        assert_true(cell(&priced, "step_time") > cell(&free_of, "step_time"));
    }
    st_estimate rings = estimate_of(own, "llama3-8b-8xh100",
                                    "parallel.zero=1 parallel.cp=4 parallel.dp=2 batch.global=2 "
                                    "recompute=none overlap.cp=0.125 "
                                    "constants.overlap_slowdown=1.613");
    assert_near(cell(&rings, "t_slowdown_cp[dense]"),
                (1 - 1 / 1.613) * (3 * cell(&rings, "t_ring_cp") - cell(&rings, "t_cp[dense]")),
                1e-9, "what the ring costs attention");
}

/* ---- what grows with what ---- */

TEST_OF(more_of_anything_good_is_never_slower, fixture *own, set_up, tear_down)
{
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

TESTS(megatron);
