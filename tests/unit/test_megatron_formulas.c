/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas of the sheets megatron and ddp against identities and against the numbers that were
 * fitted: what changes a term or a constant has to be seen without an expected text.
 */
#include "megatron_support.h"

static double cell_after(fixture *own, const char *job, const char *sets, const char *name)
{
    st_estimate estimate = estimate_of(own, job, sets);
    return cell(&estimate, name);
}

/* The constants as docs/megatron.md and the calibration have them. */
TEST_WITH(defaults_are_the_fitted_constants, set_up, tear_down)
{
    static const char *const constants[] = {
        ("constants.gemm_scale=1 constants.fp8_efficiency=0.65 constants.attention_efficiency=0.5 "
         "constants.flash_efficiency=0.7 constants.grouped_efficiency=0.8 "
         "constants.memory_efficiency=0.67 constants.stream_efficiency=0.85 "
         "constants.loss_traffic=52~B constants.framework_memory=2.5~GB"),
        ("constants.fragmentation=1.04 constants.communication_buffers=0~GB "
         "constants.logit_memory=12~B constants.second_gradient=0~B "
         "constants.overlap_slowdown=1 constants.site_factor=1 constants.power_factor=1"),
        ("constants.link_efficiency=0.78 constants.network_efficiency=0.92 "
         "constants.small_group_loss=0.3 constants.collective_latency=36~us "
         "constants.rank_latency=5.3~us constants.node_latency=20~us "
         "constants.transfer_latency=20~us"),
        ("constants.layer_launch=3.24~ms constants.rank_launch=102~us constants.launch_sharpness=4 "
         "constants.moe_launch=1.5"),
    };
    static const char *const jobs[] = {"gpt3-175b-64xa100", "moye-gpt-485b-8192xh800",
                                       "mixtral-8x7b-64xh100", "llama3-8b-8xh100"};
    static const char *const seen[] = {"step_time", "memory", "time_gemm", "time_memory",
                                       "time_tp"};
    fixture *own = *state;
    for (size_t j = 0; j < COUNT(jobs); j++) {
        st_estimate plain = estimate_of(own, jobs[j], "");
        for (size_t i = 0; i < COUNT(constants); i++) {
            st_estimate given = estimate_of(own, jobs[j], constants[i]);
            for (size_t k = 0; k < COUNT(seen); k++)
                assert_true(cell(&given, seen[k]) == cell(&plain, seen[k]));
        }
    }
}

/* docs/megatron.md: 36 us + 5.3 us per rank in a node + 20 us per doubling of the nodes. */
TEST_OF(collectives_start_by_ranks_and_doublings, fixture *own, set_up, tear_down)
{
    static const char job[] = "gpt3-175b-1024xa100";
    static const char name[] = "t_all_reduce_tp";
    static const char plan[] = "parallel.tp=16 parallel.pp=8 parallel.dp=8 model.heads=96 "
                               "cluster.gpus_per_node=4 cluster.nodes=256 cluster.gpu.memory=1TB ";
    double plain = cell_after(own, job, plan, name);
    double base = cell_after(
        own, job, st_arena_printf(own->arena, "%sconstants.collective_latency=136~us", plan), name);
    double rank = cell_after(
        own, job, st_arena_printf(own->arena, "%sconstants.rank_latency=105.3~us", plan), name);
    double node = cell_after(
        own, job, st_arena_printf(own->arena, "%sconstants.node_latency=120~us", plan), name);
    assert_true(base > plain);
    assert_near((rank - plain) / (base - plain), 4, 1e-9, "ranks on a node");
    assert_near((node - plain) / (base - plain), 2, 1e-9, "doublings from 4 ranks to 16");
}

/* Every all-reduce is counted in one range of sizes, whatever sizes there are. */
TEST_WITH(ranges_of_sizes_hold_every_message, set_up, tear_down)
{
    static const char *const ranges[] = {"messages_to_1MiB",   "messages_to_10MiB",
                                         "messages_to_25MiB",  "messages_to_50MiB",
                                         "messages_to_100MiB", "messages_above_100MiB"};
    static const double ends[] = {1, 10, 25, 50, 100, HUGE_VAL};
    fixture *own = *state;
    for (size_t r = 0; r < COUNT(ranges); r++) {
        for (double size = 0.385; size < 140; size *= 1.07) {
            const char *sets = st_arena_printf(
                own->arena, "constants.bucket_first=%.6fMiB constants.bucket=%.6fMiB", size, size);
            st_estimate estimate = estimate_of(own, "resnet152-128xa100", sets);
            double largest = cell(&estimate, "message_largest") / (1024.0 * 1024.0);
            if (largest >= ends[r])
                assert_true(size > 0.1 && cell(&estimate, "messages") >= 1);
            size_t above = 0;
            for (size_t k = r; k < COUNT(ranges); k++)
                above += cell(&estimate, ranges[k]) > 0 ? 1 : 0;
            if (r == 0)
                assert_true(above > 0);
            if (r > 0 && largest < ends[r - 1])
                assert_int_equal(above, 0);
            if (r > 0 && largest >= ends[r - 1] && largest < ends[r])
                assert_true(cell(&estimate, ranges[r]) >= 1);
        }
    }
}

/* Stages hold their layers; the first one has the embedding, the last one its copy and the norm. */
TEST_OF(stages_hold_the_parameters_of_their_layers, fixture *own, set_up, tear_down)
{
    st_estimate e = estimate_of(own, "gpt3-175b-1024xa100", "");
    double layers = 12 * cell(&e, "P_layer[dense]");
    assert_near(cell(&e, "P[middle]"), layers, 1e-12, "a middle stage");
    assert_near(cell(&e, "P[first]") - layers, cell(&e, "P_vocabulary") + cell(&e, "P_position"),
                1e-9, "the embedding");
    assert_near(cell(&e, "P[last]") - layers, cell(&e, "P_vocabulary") + cell(&e, "P_norm"), 1e-9,
                "the output layer");
    assert_true(cell(&e, "P_position") > 0 && cell(&e, "P_norm") > 0);
    st_estimate one = estimate_of(own, "megatron-22b-8xa100", "parallel.pp=1 model.tied=false");
    assert_near(cell(&one, "P[last]"), cell(&one, "P[first]"), 1e-12, "a single stage");
    assert_near(cell(&one, "P[first]"),
                48 * cell(&one, "P_layer[dense]") + 2 * cell(&one, "P_vocabulary") +
                    cell(&one, "P_position") + cell(&one, "P_norm"),
                1e-12, "one stage with all");
}

/* PyTorch's: a first bucket of 1 MiB, all others of 25 MiB. */
TEST_OF(buckets_are_those_of_pytorch, fixture *own, set_up, tear_down)
{
    st_estimate plain = estimate_of(own, "resnet50-32x3090", "");
    st_estimate given = estimate_of(own, "resnet50-32x3090",
                                    "constants.bucket_first=1~MiB constants.bucket=25~MiB");
    assert_true(cell(&plain, "messages") > 2);
    assert_true(cell(&plain, "messages") == cell(&given, "messages"));
    assert_true(cell(&plain, "T_comm") == cell(&given, "T_comm"));
    assert_true(cell(&plain, "message_largest") == cell(&given, "message_largest"));
}

/* Three tensor-parallel ranks leave two of the eight GPUs of a node to nobody. */
TEST_OF(nodes_hold_whole_tensor_groups, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    (void)try_estimate(own, "gpt3-175b-64xa100",
                       "parallel.tp=3 parallel.cp=4 parallel.dp=8 parallel.pp=1 "
                       "parallel.virtual_stages=1 model.layers=32 batch.global=64 batch.micro=1 "
                       "cluster.gpus_per_node=8 cluster.nodes=16 cluster.gpu.memory=100TB",
                       &estimate);
    st_errors_clear(own->errors);
    assert_int_equal(cell(&estimate, "tp_per_node"), 3);
    assert_int_equal(cell(&estimate, "cp_per_node"), 2);
    assert_int_equal(cell(&estimate, "dp_per_node"), 2);
}

/* ---- slowdowns --------------------------------------------------------------------------------
 */

#define GEMM        1.385
#define ATTENTION   1.17
#define ELEMENTWISE 1.93

/* Another factor for each kind of kernel, from a plugin. */
static st_estimate slowed_estimate(fixture *own, const char *recompute)
{
    static const char *const plugins[] = {
        "overlap-constant:gemm=1.385,attention=1.17,elementwise=1.93"};
    const char *sets[] = {st_arena_printf(own->arena, "recompute=%s", recompute),
                          "cluster.gpu.memory=100TB", "parallel.zero=1"};
    st_request request = {.job = "gpt3-175b-1024xa100",
                          .sets = sets,
                          .set_count = COUNT(sets),
                          .refine = plugins,
                          .refine_count = 1};
    st_estimate estimate;
    if (st_estimate_load(own->paths, &request, own->arena, &estimate, own->errors) != ST_OK ||
        st_estimate_show_report(&estimate, true, own->arena) != ST_OK ||
        st_estimate_run(&estimate, own->arena, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    return estimate;
}

static double mean_by_time(double gemm, double attention, double elementwise)
{
    return (gemm * GEMM + attention * ATTENTION + elementwise * ELEMENTWISE) /
           (gemm + attention + elementwise);
}

/* docs/megatron.md#overlap: the slowdown of a pass is that of its kernels, by the time they take.
 */
TEST_WITH(slowdowns_of_passes_are_means_by_time, set_up, tear_down)
{
    static const char *const kinds[] = {"none", "selective", "full"};
    fixture *own = *state;
    const char *tests = getenv("STEPTIME_TEST_PLUGINS");
    assert_non_null(tests);
    const char *folders[] = {own->folder, st_arena_printf(own->arena, "%s/..", tests)};
    st_paths_destroy(own->paths);
    assert_int_equal(st_paths_create(folders, COUNT(folders), &own->paths, own->errors), ST_OK);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        st_estimate e = slowed_estimate(own, kinds[i]);
        double gemm = cell(&e, "t_gemm[dense]");
        double rest = cell(&e, "t_elementwise[dense]");
        double core =
            cell(&e, "t_core_backward") + cell(&e, i == 2 ? "t_core_forward" : "t_recompute_core");
        double passes = cell(&e, "passes");
        double sums = cell(&e, "t_accumulate[dense]");
        assert_near(passes, i == 2 ? 2 : 1, 1e-12,
                    "passes that a backward pass takes over its data");
        assert_true(sums > 0 && rest > 0 && core > 0);
        double forward = mean_by_time(gemm, cell(&e, "t_core_forward"), rest);
        double backward = mean_by_time((passes + 1) * gemm, core, (passes + 1) * rest + sums);
        assert_near(cell(&e, "slow_forward"), forward, 1e-12, "forward");
        assert_near(cell(&e, "slow_backward"), backward, 1e-12, "backward");
        assert_near(cell(&e, "slow_inputs"), mean_by_time(passes * gemm, core, (passes + 1) * rest),
                    1e-12, "backward without the weights");
        double share = 1 / (passes + 2);
        assert_near(cell(&e, "slow_dp"), share * forward + (1 - share) * backward, 1e-12, "all");
    }
}

/* ---- memory -----------------------------------------------------------------------------------
 */

TEST_OF(working_sets_stand_where_the_logits_are, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"parallel.pp=1 batch.micro=2 cluster.gpu.memory=100TB",
                                       "parallel.pp=2 batch.micro=2 cluster.gpu.memory=100TB"};
    for (size_t i = 0; i < COUNT(sets); i++) {
        st_estimate e = estimate_of(own, "megatron-22b-8xa100", sets[i]);
        double work = cell(&e, "M_work[last]");
        double logits = cell(&e, "M_logits");
        assert_true(work != logits);
        assert_near(cell(&e, "M_active[last]"), fmax(work, logits), 1e-12, "the last stage");
        assert_near(cell(&e, "M_active[first]"), i == 0 ? fmax(work, logits) : work, 1e-12,
                    "the first stage");
    }
}

/* Split weights are gathered for a layer, its gradient, and as many as are fetched ahead. */
TEST_OF(gathered_weights_are_those_of_layers, fixture *own, set_up, tear_down)
{
    double held[3];
    for (int ahead = 0; ahead < 3; ahead++) {
        st_estimate e =
            estimate_of(own, "llama3-8b-8xh100",
                        st_arena_printf(own->arena, "parallel.zero=3 overlap.prefetch=%d", ahead));
        held[ahead] = cell(&e, "M_gathered");
        assert_near(held[ahead], (ahead + 2) * held[0] / 2, 1e-12, "layers ahead");
        assert_near(held[ahead], (ahead + 2) * 2 * cell(&e, "P_layer[dense]"), 1e-12,
                    "two bytes a weight");
    }
}

/* What the replay finds beyond the bubble of equal passes, a half or two thirds of 1F1B's. */
TEST_WITH(uneven_passes_wait_in_every_micro_batch, set_up, tear_down)
{
    static const struct {
        const char *schedule;
        double once;
    } cases[] = {{"v_half", 1.0 / 2}, {"v_min", 2.0 / 3}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *plan = st_arena_printf(own->arena,
                                           "parallel.virtual_stages=2 variance.slow=1.1 "
                                           "constants.site_factor=1.17 parallel.schedule=%s",
                                           cases[i].schedule);
        st_estimate estimate = estimate_of(own, "gpt3-175b-1024xa100", plan);
        double passes = 1.17 * cell(&estimate, "T_steady");
        double repeated = cell(&estimate, "time_bubble") - cases[i].once * 8 * passes / 96;
        assert_true(repeated > 1);
        assert_near(cell(&estimate, "waits_repeated"), repeated, 1e-12,
                    "seconds of repeated waits");
    }
}

/* More micro-batches than an order is gone through for: the bubbles of the papers' tables, with the
 * passes F, B and W of a middle stage. */
TEST_WITH(long_steps_have_the_bubbles_of_the_papers, set_up, tear_down)
{
    static const struct {
        const char *plan;
        double forward, backward, weights; /* passes in the bubble */
        double chunks;
    } cases[] = {
        {"parallel.virtual_stages=1 parallel.schedule=zero_bubble", 7, 7, -7, 1},
        {"parallel.virtual_stages=1 parallel.schedule=zero_bubble_2", 7, 7, -14, 1},
        {"parallel.virtual_stages=2 parallel.schedule=zero_bubble_v", 0, 0, 0, 2},
        {"parallel.virtual_stages=2 parallel.schedule=v_half", 4, 4, 4, 2},
        {"parallel.virtual_stages=2 parallel.schedule=v_min", 16 / 3., 16 / 3., 16 / 3., 2},
        {"parallel.virtual_stages=1 parallel.schedule=dualpipe", 3, 6, -3, 1},
        {"parallel.virtual_stages=5", 7 / 5., 7 / 5., 7 / 5.,
         5}, /* 96 layers are no whole chunks */
        {"parallel.virtual_stages=1 parallel.layout=Et*11|t*12|t*12|t*12|t*12|t*13|t*13|t*11L", 7,
         7, 7, 1},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_estimate e = estimate_of(
            own, "gpt3-175b-64xa100",
            st_arena_printf(own->arena,
                            "batch.global=20000000 cluster.gpu.memory=99999~GiB overlap.pp=0.3 %s",
                            cases[i].plan));
        double bubble = cases[i].forward * cell(&e, "t_stage_forward[middle]") +
                        cases[i].backward * cell(&e, "t_stage_backward[middle]") +
                        cases[i].weights * cell(&e, "t_stage_wgrad[middle]");
        double passes = cell(&e, "T_replay[passes_alone]");
        double transfers = 2 * (2e7 * cases[i].chunks + 7) * 0.7 * cell(&e, "t_transfer");
        assert_near(cell(&e, "T_replay[busiest]"), 2e7 * cell(&e, "t_fullest"), 1e-13,
                    cases[i].plan);
        if (fabs(passes - cell(&e, "T_replay[busiest]") - bubble) > 1e-5)
            fail_msg("%s: %.9g s in place of %.9g", cases[i].plan,
                     passes - cell(&e, "T_replay[busiest]"), bubble);
        assert_near(cell(&e, "T_replay[with_transfers]") - passes, transfers, 1e-9, cases[i].plan);
        assert_near(cell(&e, "T_replay[with_tied]"), passes + transfers + cell(&e, "t_tied"), 1e-13,
                    cases[i].plan);
    }
}

TESTS(megatron_formulas);
