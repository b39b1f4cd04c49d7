/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory in the sheet megatron: the activations of Korthikanti et al. to the last digit, states by
 * ZeRO, measured peaks, what splits memory, and what a plan that does not fit is reported.
 */
#include "megatron_support.h"
#include "steptime/tool/job_values.h"

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
    return cell(&estimate, "M_layers[first]") / GIB;
}

TEST_OF(activation_memory_is_korthikantis_to_the_digit, fixture *own, set_up, tear_down)
{
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
TEST_OF(a_layers_activations_are_equations_1_to_6, fixture *own, set_up, tear_down)
{
    double sbh = 2048.0 * 4 * 6144;
    double scores = 5.0 * 64 * 2048 * 2048 * 4;
    st_estimate with = estimate_of(own, "megatron-22b-8xa100", "");
    assert_near(cell(&with, "A_kept[dense]"), (34 * sbh + scores) / 8, 1e-15, "equation 4");
    assert_near(cell(&with, "A[dense]"), 34 * sbh / 8, 1e-15, "equation 6");
    st_estimate without = estimate_of(own, "megatron-22b-8xa100",
                                      "parallel.sequence_parallel=false recompute=none "
                                      "cluster.gpu.memory=500~GiB");
    assert_near(cell(&without, "A[dense]"), 10 * sbh + (24 * sbh + scores) / 8, 1e-15,
                "equation 2");
}

TEST_OF(memory_shrinks_with_what_splits_it, fixture *own, set_up, tear_down)
{
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
TEST_OF(measured_peaks_are_met, fixture *own, set_up, tear_down)
{
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
        assert_string_equal(named(&estimate, "worst_stage"), "middle");
    }
}

TEST_OF(states_are_split_by_zero, fixture *own, set_up, tear_down)
{
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

/* DualPipe (DeepSeek-AI 2024, table 2): a rank has the weights of two stages, and in flight p
 * micro-batches that entered at its end and one that entered at the other. */
TEST_OF(dualpipe_holds_both_ends, fixture *own, set_up, tear_down)
{
    static const char *const states[][2] = {
        {"m_state", "M_state"}, {"m_weights", "M_weights"}, {"m_grads", "M_grads"}};
    st_estimate estimate = estimate_of(own, "gpt3-175b-64xa100",
                                       "parallel.virtual_stages=1 parallel.schedule=dualpipe "
                                       "parallel.first_stage_layers=7 parallel.last_stage_layers=5 "
                                       "cluster.gpu.memory=9999~GiB");
    for (size_t i = 0; i < COUNT(states); i++) {
        double of_stage[3], held[3];
        static const char *const stages[] = {"first", "middle", "last"};
        for (size_t at = 0; at < COUNT(stages); at++) {
            of_stage[at] =
                cell(&estimate, st_arena_printf(own->arena, "%s[%s]", states[i][0], stages[at]));
            held[at] =
                cell(&estimate, st_arena_printf(own->arena, "%s[%s]", states[i][1], stages[at]));
        }
        assert_true(of_stage[0] > of_stage[2] && of_stage[2] > 0);
        assert_near(held[0], of_stage[0] + of_stage[2], 1e-15, states[i][1]);
        assert_near(held[1], 2 * of_stage[1], 1e-15, states[i][1]);
        assert_near(held[2], of_stage[0] + of_stage[2], 1e-15, states[i][1]);
    }
    double first = cell(&estimate, "A_stage[first]");
    double last = cell(&estimate, "A_stage[last]");
    assert_true(first > last && last > 0);
    assert_near(cell(&estimate, "M_flight[first]"), 8 * first + last, 1e-14, "first");
    assert_near(cell(&estimate, "M_flight[middle]"), 9 * cell(&estimate, "A_stage[middle]"), 1e-14,
                "middle");
    assert_near(cell(&estimate, "M_flight[last]"), 8 * last + first, 1e-14, "last");
}

typedef struct remedy_case {
    const char *job;
    const char *plan;
    const char *says;
} remedy_case;

TEST_OF(what_does_not_fit_is_told_how_to, fixture *own, set_up, tear_down)
{
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
        assert_int_equal(try_estimate(own, cases[i].job, cases[i].plan, &estimate), ST_OK);
        assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_LIMIT), 1);
        assert_true(cell(&estimate, "memory_free") < 0);
        const char *text = said(own);
        if (strstr(text, "the plan does not fit; the ") == NULL ||
            strstr(text, cases[i].says) == NULL)
            fail_msg("%s %s: %s", cases[i].job, cases[i].plan, text);
    }
}

/* With the micro-batch that the report says fits, the plan fits; with one sequence more it does
 * not. */
TEST_OF(the_largest_micro_batch_fits, fixture *own, set_up, tear_down)
{
    static const struct {
        const char *job;
        const char *plan;
    } cases[] = {{"llama3-8b-8xh100", "recompute=none"},
                 {"llama3-8b-8xh100", "recompute=selective"},
                 {"gpt3-175b-64xa100", ""},
                 {"megatron-22b-8xa100", "recompute=full"},
                 {"mixtral-8x7b-64xh100", ""}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char plan[256];
        st_estimate estimate = estimate_of(own, cases[i].job, cases[i].plan);
        const double dp = cell(&estimate, "gpus") / st_job_number(estimate.job, "parallel.tp") /
                          fmax(st_job_number(estimate.job, "parallel.pp"), 1);
        (void)snprintf(plan, sizeof plan, "%s batch.global=%.0f", cases[i].plan,
                       960 * dp * st_job_number(estimate.job, "batch.micro"));
        estimate = estimate_of(own, cases[i].job, plan);
        const double most = cell(&estimate, "b_fits");
        assert_true(most >= 1);
        for (size_t more = 0; more < 2; more++) {
            (void)snprintf(plan, sizeof plan, "%s batch.micro=%.0f batch.global=%.0f",
                           cases[i].plan, most + (double)more, 960 * dp * (most + (double)more));
            assert_int_equal(try_estimate(own, cases[i].job, plan, &estimate), ST_OK);
            if ((cell(&estimate, "memory_free") < 0) != (more == 1))
                fail_msg("%s %s: %g B are free", cases[i].job, plan,
                         cell(&estimate, "memory_free"));
            st_errors_clear(own->errors);
        }
    }
}

TESTS(megatron_memory);
