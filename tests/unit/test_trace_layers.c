/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers found in traces that a test writes: two ranks, several steps, each kernel with a duration
 * of its own, so that sums, means and who comes first can be told apart.
 */
#include "job_support.h"

#include "kernel-times/fit/layer_times.h"

#include <inttypes.h>
#include <math.h>

enum { MOST_KERNELS = 8 };

typedef struct kernel {
    const char *name; /* NULL behind the last one */
    int duration_us;
    int gap_us; /* in front of it */
} kernel;

typedef struct recording {
    int rank, ranks, layers, steps;
    const char *gpu;
    kernel forward[MOST_KERNELS], backward[MOST_KERNELS], optimizer[MOST_KERNELS];
} recording;

typedef struct writer {
    st_buffer text;
    int at_us;
    int correlation;
} writer;

static void write_kernels(writer *own, const kernel *kernels)
{
    for (; kernels->name != NULL; kernels++) {
        own->at_us += kernels->gap_us;
        st_buffer_printf(&own->text,
                         "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
                         "\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1,\"args\":{\"correlation\":%d}},\n"
                         "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,"
                         "\"ts\":%d,\"dur\":%d,\"args\":{\"correlation\":%d,\"device\":0,"
                         "\"stream\":7}},\n",
                         own->at_us, own->correlation, kernels->name, own->at_us,
                         kernels->duration_us, own->correlation);
        own->at_us += kernels->duration_us;
        own->correlation++;
    }
}

static const char *write_recording(fixture *own, const char *name, const recording *what)
{
    writer made = {.at_us = 100};
    st_buffer_printf(&made.text,
                     "{\"distributedInfo\":{\"rank\":%d,\"world_size\":%d},\"deviceProperties\":"
                     "[{\"name\":\"%s\"}],\"traceEvents\":[\n",
                     what->rank, what->ranks, what->gpu);
    for (int step = 0; step < what->steps; step++) {
        st_buffer_printf(&made.text,
                         "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\","
                         "\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":3000},\n",
                         step, made.at_us - 1);
        for (int i = 0; i < what->layers; i++)
            write_kernels(&made, what->forward);
        for (int i = 0; i < what->layers; i++)
            write_kernels(&made, what->backward);
        write_kernels(&made, what->optimizer);
    }
    st_buffer_printf(&made.text,
                     "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"end\",\"pid\":1,\"tid\":1,"
                     "\"ts\":%d,\"dur\":1}]}\n",
                     made.at_us);
    write_text(own, name, made.text.data);
    st_buffer_free(&made.text);
    return below(own, name);
}

static recording rank_of(int rank)
{
    recording made = {.rank = rank,
                      .ranks = 2,
                      .layers = 5,
                      .steps = 3,
                      .gpu = "NVIDIA A100-SXM4-80GB",
                      .forward = {{"gemm_first", 211 + 10 * rank, 3},
                                  {"ncclDevKernel_AllReduce", 97 + rank, 1},
                                  {"layer_norm", 53, 4}},
                      .backward = {{"gemm_wgrad", 197 + 20 * rank, 2},
                                   {"layer_norm_grad", 71, 5},
                                   {"ncclDevKernel_AllReduce", 83, 1},
                                   {"gemm_dgrad", 229, 6}},
                      .optimizer = {{"multi_tensor_apply_adam", 311 + 12 * rank, 9}}};
    return made;
}

static st_status find(fixture *own, const char *const *paths, size_t count, uint32_t layers,
                      st_trace_layers *found)
{
    st_trace_set *set = NULL;
    st_status status = st_trace_set_read(paths, count, NULL, &set, own->errors);
    if (status == ST_OK)
        status = st_trace_layers_find(set, layers, own->arena, found, own->errors);
    if (status == ST_OK && found->gpu != NULL)
        found->gpu = st_arena_copy(own->arena, found->gpu, strlen(found->gpu));
    st_trace_set_destroy(set);
    return status;
}

static void near_us(double seconds, double wanted_us)
{
    if (!(fabs(1e6 * seconds - wanted_us) <= 1e-6 * wanted_us))
        fail_msg("%.17g us is not %.17g us", 1e6 * seconds, wanted_us);
}

/* Microseconds of a layer: kernels that compute or that communicate, and all from first to last. */
static double sum_of(const kernel *kernels, bool communication)
{
    double sum = 0;
    for (; kernels->name != NULL; kernels++)
        if ((strncmp(kernels->name, "nccl", 4) == 0) == communication)
            sum += kernels->duration_us;
    return sum;
}

static double elapsed_of(const kernel *kernels, int layers)
{
    double sum = -kernels->gap_us;
    for (int i = 0; i < layers; i++)
        for (const kernel *one = kernels; one->name != NULL; one++)
            sum += one->gap_us + one->duration_us;
    return sum / layers;
}

static void expect_pass(const st_trace_layers *found, st_layer_pass pass, const kernel *first,
                        const kernel *second)
{
    const st_layer_runs *runs = &found->passes[pass];
    int layers = (int)found->layers;
    assert_int_equal(runs->runs, 6);
    near_us(runs->computation_s, (sum_of(first, false) + sum_of(second, false)) / 2);
    near_us(runs->communication_s, (sum_of(first, true) + sum_of(second, true)) / 2);
    near_us(runs->elapsed_s, (elapsed_of(first, layers) + elapsed_of(second, layers)) / 2);
}

TEST_OF(layers_are_means_over_ranks, fixture *own, set_up, tear_down)
{
    recording ranks[] = {rank_of(0), rank_of(1)};
    const char *paths[] = {write_recording(own, "r0.json", &ranks[0]),
                           write_recording(own, "r1.json", &ranks[1])};
    st_trace_layers found;
    assert_int_equal(find(own, paths, 2, 0, &found), ST_OK);
    assert_int_equal(found.layers, 5);
    assert_int_equal(found.ranks, 2);
    assert_int_equal(found.pass_count, 2);
    assert_int_equal(found.steps, 6);
    assert_string_equal(found.gpu, "NVIDIA A100-SXM4-80GB");
    expect_pass(&found, ST_LAYER_FORWARD, ranks[0].forward, ranks[1].forward);
    expect_pass(&found, ST_LAYER_BACKWARD, ranks[0].backward, ranks[1].backward);
    near_us(found.optimizer_s, 311 + 6);
    if (fabs(found.passes[ST_LAYER_FORWARD].tasks - 3) > 1e-12 ||
        fabs(found.passes[ST_LAYER_BACKWARD].tasks - 4) > 1e-12)
        fail_msg("%g and %g tasks", found.passes[0].tasks, found.passes[1].tasks);
}

/* A pass with far less work than the other, a tenth, is none. */
TEST_OF(a_pass_of_little_work_is_none, fixture *own, set_up, tear_down)
{
    st_trace_layers found;
    recording one = rank_of(0);
    one.ranks = 1;
    one.backward[0] = (kernel){"gemm_wgrad", 13, 2};
    one.backward[1] = (kernel){"gemm_dgrad", 11, 1};
    one.backward[2] = (kernel){"layer_norm_grad", 2, 3};
    one.backward[3] = (kernel){.name = NULL};
    one.optimizer[0] = (kernel){.name = NULL};
    const char *path = write_recording(own, "little.json", &one);
    assert_int_equal(find(own, &path, 1, 0, &found), ST_OK);
    assert_int_equal(found.pass_count, 1);
    assert_true(isnan(found.optimizer_s));
    near_us(found.passes[ST_LAYER_FORWARD].computation_s, 264);
    one.backward[0].duration_us = 31; /* 44 us, of 264 or, with messages, of 361 */
    path = write_recording(own, "little.json", &one);
    assert_int_equal(find(own, &path, 1, 0, &found), ST_OK);
    assert_int_equal(found.pass_count, 2);
    near_us(found.passes[ST_LAYER_BACKWARD].computation_s, 44);
}

static void expect_refusal(fixture *own, st_status status, const char *words)
{
    assert_int_not_equal(status, ST_OK);
    const char *text = said(own);
    if (strstr(text, words) == NULL)
        fail_msg("'%s' is not in '%s'", words, text);
}

TEST_OF(ranks_that_differ_are_refused, fixture *own, set_up, tear_down)
{
    recording ranks[] = {rank_of(0), rank_of(1)};
    const char *paths[] = {write_recording(own, "r0.json", &ranks[0]), NULL};
    st_trace_layers found;
    ranks[1].layers = 4;
    paths[1] = write_recording(own, "r1.json", &ranks[1]);
    expect_refusal(own, find(own, paths, 2, 0, &found), "repeats 4 layers, the previous one 5");
    ranks[1].layers = 5;
    ranks[1].backward[0] = (kernel){.name = NULL};
    paths[1] = write_recording(own, "r1.json", &ranks[1]);
    expect_refusal(own, find(own, paths, 2, 0, &found), "this rank has other passes");
    expect_refusal(own, find(own, paths, 2, 7, &found), "this trace has no repeated kernels");
}

/* ---- as the layers of a job ---- */

static const st_time_sample *taken(const st_time_sets *sets, st_times_cell cell)
{
    for (size_t i = 0; i < sets->count; i++)
        if (sets->sets[i].cell == cell) {
            assert_int_equal(sets->sets[i].count, 1);
            return &sets->sets[i].samples[0];
        }
    return NULL;
}

static void write_job(fixture *own, const char *name, const char *recompute)
{
    write_text(
        own, name,
        st_arena_printf(own->arena,
                        "sheet: megatron\nmodel: {layers: 5, hidden: 2048, heads: 16, "
                        "vocabulary: 50257}\nbatch: {global: 16, micro: 2, sequence: 1024}\n"
                        "parallel: {tp: 2, pp: 1, dp: 1}\nrecompute: %s\ncluster: {nodes: 1, "
                        "gpus_per_node: 2, gpu: a100-sxm-80gb}\n",
                        recompute));
}

/* Full recomputation runs the forward pass once more, in the backward one. */
TEST_OF(times_become_those_of_the_job, fixture *own, set_up, tear_down)
{
    recording ranks[] = {rank_of(0), rank_of(1)};
    const char *paths[] = {write_recording(own, "r0.json", &ranks[0]),
                           write_recording(own, "r1.json", &ranks[1])};
    static const char *const recompute[] = {"none", "full"};
    st_trace_layers found;
    assert_int_equal(find(own, paths, 2, 0, &found), ST_OK);
    for (int i = 0; i < 2; i++) {
        st_time_sets *sets = st_arena_alloc(own->arena, 1, sizeof *sets);
        assert_non_null(sets);
        write_job(own, "job.yaml", recompute[i]);
        if (st_trace_layers_take(&found, own->paths, below(own, "job.yaml"), own->arena, sets,
                                 own->errors) != ST_OK)
            fail_msg("%s", said(own));
        st_errors_clear(own->errors);
        const st_time_sample *forward = taken(sets, ST_TIMES_OF_FORWARD);
        const st_time_sample *backward = taken(sets, ST_TIMES_OF_BACKWARD);
        const st_time_sample *optimizer = taken(sets, ST_TIMES_OF_OPTIMIZER);
        assert_non_null(forward);
        assert_non_null(backward);
        assert_non_null(optimizer);
        near_us(forward->times[0], 269);
        near_us(backward->times[0], i == 0 ? 507 : 507 - 269);
        near_us(optimizer->times[0], 317);
        assert_string_equal(sets->gpu, "a100-sxm-80gb");
        near_us(1e-6 * sets->peak, 312e12);
        near_us(1e-6 * sets->bandwidth, 2039e9);
        near_us(1e-6 * forward->shape.features[ST_TIMES_TOKENS], 2048);
        near_us(1e-6 * forward->shape.features[ST_TIMES_HIDDEN], 2048);
        near_us(1e-6 * forward->shape.features[ST_TIMES_TENSOR], 2);
        assert_true(isnan(forward->shape.features[ST_TIMES_PARAMETERS]));
        assert_true(isnan(optimizer->shape.features[ST_TIMES_TOKENS]));
        assert_true(optimizer->shape.features[ST_TIMES_PARAMETERS] > 1e6);
    }
}

/* Times of a trace without an optimizer, forward passes alone, of a job of layers of experts. */
TEST_WITH(times_of_experts_have_their_shape, set_up, tear_down)
{
    static const struct {
        st_times_feature feature;
        double value;
    } features[] = {
        {ST_TIMES_HIDDEN, 2048},       {ST_TIMES_EXPERTS, 16},        {ST_TIMES_TOP, 3},
        {ST_TIMES_EXPERT_INNER, 1408}, {ST_TIMES_SHARED_INNER, 2816}, {ST_TIMES_EXPERT_RANKS, 4},
        {ST_TIMES_EXPERT_TENSOR, 1}};
    fixture *own = *state;
    st_time_sets *sets = st_arena_alloc(own->arena, 1, sizeof *sets);
    assert_non_null(sets);
    write_text(own, "moe.yaml",
               "sheet: megatron\nmodel: {layers: 5, hidden: 2048, heads: 16, vocabulary: 50257, "
               "experts: 16, top_k: 3, expert_ffn: 1408, shared_ffn: 2816}\n"
               "batch: {global: 16, micro: 2, sequence: 1024}\n"
               "parallel: {tp: 2, pp: 1, dp: 4, ep: 4, expert_tp: 1}\n"
               "cluster: {nodes: 1, gpus_per_node: 8, gpu: a100-sxm-80gb}\n");
    st_trace_layers layers = {.layers = 5, .pass_count = 1, .optimizer_s = (double)NAN};
    layers.passes[ST_LAYER_FORWARD].computation_s = 2.385e-3;
    layers.passes[ST_LAYER_BACKWARD].computation_s = 7.5e-3; /* of no pass that was found */
    if (st_trace_layers_take(&layers, own->paths, below(own, "moe.yaml"), own->arena, sets,
                             own->errors) != ST_OK)
        fail_msg("%s", said(own));
    assert_int_equal(sets->count, 1);
    const st_time_sample *forward = taken(sets, ST_TIMES_OF_FORWARD_MOE);
    assert_non_null(forward);
    near_us(forward->times[0], 2385);
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        near_us(1e-6 * forward->shape.features[features[i].feature], features[i].value);
    assert_true(isnan(forward->shape.features[ST_TIMES_PARAMETERS]));
    assert_true(forward->shape.features[ST_TIMES_CLOSED] > 0);
    assert_string_equal(sets->gpu, "the job's");
    assert_null(strstr(said(own), "layers"));
    layers.layers = 3; /* of a stage there are as many in each */
    layers.pass_count = ST_LAYER_PASSES;
    layers.optimizer_s = 1e-3;
    *sets = (st_time_sets){.count = 0};
    assert_int_equal(st_trace_layers_take(&layers, own->paths, below(own, "moe.yaml"), own->arena,
                                          sets, own->errors),
                     ST_OK);
    assert_non_null(strstr(said(own), "the job has 5 layers, but kernels of the trace repeat 3 "
                                      "times"));
    assert_int_equal(sets->count, 3);
    near_us(taken(sets, ST_TIMES_OF_BACKWARD_MOE)->times[0], 7500);
}

TEST_OF(a_trace_of_another_gpu_is_refused, fixture *own, set_up, tear_down)
{
    recording one = rank_of(0);
    st_time_sets *sets = st_arena_alloc(own->arena, 1, sizeof *sets);
    st_trace_layers found;
    one.ranks = 1;
    one.gpu = "NVIDIA H100 80GB HBM3";
    const char *path = write_recording(own, "h100.json", &one);
    assert_non_null(sets);
    write_job(own, "job.yaml", "none");
    assert_int_equal(find(own, &path, 1, 0, &found), ST_OK);
    found.gpu = "NVIDIA H100-SXM5";
    expect_refusal(own,
                   st_trace_layers_take(&found, own->paths, below(own, "job.yaml"), own->arena,
                                        sets, own->errors),
                   "the job runs on another GPU");
}

TESTS(trace_layers);
