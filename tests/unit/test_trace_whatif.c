/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What-if on a training step that is written here: micro-batches of forward and backward passes
 * over layers of a few kernels, back to back, so that what a change comes to can be told by hand.
 */
#include "trace_support.h"
#include "../support/text_cases.h"
#include "trace/trace.h"

#include "schedule/schedule.h"

enum { LAYERS = 6, MICROS = 4 };

/* Microseconds. */
#define FORWARD  (61.5 + 11.25 + 7.5)
#define BACKWARD (120.25 + 23.75 + 15.5 + 3.25)
#define ADAM     85.5
#define REDUCE   240.75

typedef struct step {
    st_buffer text;
    double host_us;
    double gpu_us;
    int id;
} step;

static void kernel(step *s, const char *name, double duration_us)
{
    s->id++;
    st_buffer_printf(&s->text,
                     "%s{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
                     "\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":1,\"args\":{\"correlation\":%d}},\n"
                     "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,"
                     "\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"device\":0,\"stream\":7,"
                     "\"correlation\":%d}}",
                     s->id > 1 ? ",\n" : "", s->host_us, s->id, name, s->gpu_us, duration_us,
                     s->id);
    s->host_us += 2;
    s->gpu_us += duration_us;
}

static void pass(step *s, const char *const *names, const double *durations_us, size_t count)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        for (size_t i = 0; i < count; i++)
            kernel(s, names[i], durations_us[i]);
    }
}

/* A step; `loss_us` between the passes of a micro-batch. */
static st_trace *make_step(double loss_us, const char *backward_name, const char *last_name,
                           st_errors *errors)
{
    static const char *const forward[] = {"gemm_f", "flash_f", "gelu_f"};
    const char *const backward[] = {backward_name, "flash_b", "layer_norm_b", "memcpy_b"};
    static const double forward_us[] = {61.5, 11.25, 7.5};
    static const double backward_us[] = {120.25, 23.75, 15.5, 3.25};
    step s = {.host_us = 100, .gpu_us = 110};
    st_buffer_text(&s.text, "{\"distributedInfo\":{\"rank\":0,\"world_size\":1},\"traceEvents\":[");
    for (int micro = 0; micro < MICROS; micro++) {
        pass(&s, forward, forward_us, 3);
        if (loss_us > 0)
            kernel(&s, "loss", loss_us);
        pass(&s, backward, backward_us, 4);
    }
    kernel(&s, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", REDUCE);
    kernel(&s, last_name, ADAM);
    st_buffer_printf(&s.text,
                     ",\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaDeviceSynchronize\","
                     "\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"correlation\":%d}}",
                     s.host_us, s.gpu_us - s.host_us, s.id + 1);
    st_buffer_text(&s.text, "]}");
    assert_false(s.text.failed);
    st_trace *trace = trace_of(s.text.data, false, errors);
    assert_non_null(trace);
    st_buffer_free(&s.text);
    return trace;
}

typedef struct asked {
    double loss_us;
    const char *backward; /* NULL: another kernel than the forward pass has */
    const char *have[3];
    const char *set[3];
    const char *fused[2];
    const char *inserted[2];
    bool approximate;
    bool other_gpu;
    bool inference;
    st_trace_growth growth;
    st_trace_job job; /* unless it has no name */
    int64_t gpus;     /* of the recorded job; 0: one, -1: the trace does not tell */
} asked;

/* Another GPU on which kernels that were measured take 0.385 of the time; norms were not. */
static double other_gpu(const void *context, size_t rank, size_t event, st_trace_class *taken)
{
    const st_trace_set *set = context;
    const st_trace_event *kernel = &set->ranks[rank]->events[event];
    st_trace_class class_ = (st_trace_class)kernel->class_;
    assert_true(kernel->duration_ns > 1000 && kernel->duration_ns < 1000000);
    *taken = class_ == ST_TRACE_ATTENTION ? ST_TRACE_GEMM : class_;
    return class_ == ST_TRACE_NORM ? (double)NAN : 0.385;
}

static st_status ask(const asked *question, st_arena *arena, st_trace_outcome *outcome,
                     st_errors *errors)
{
    st_trace *trace =
        make_step(question->loss_us, question->backward != NULL ? question->backward : "gemm_b",
                  question->inference ? "argmax" : "adam", errors);
    st_trace_set set = {.ranks = &trace, .count = 1};
    set.world_size = question->gpus != 0 ? question->gpus : 1;
    const st_trace_kernel_ratios other_ratios = {
        .context = &set, .to = "h100-sxm", .by = "what was measured on", .ratio = other_gpu};
    st_trace_graph *graph = NULL;
    st_trace_change change = {.job = question->job.name != NULL ? &question->job : NULL,
                              .have = question->have,
                              .sets = question->set,
                              .fused = question->fused,
                              .inserted = question->inserted,
                              .approximate = question->approximate,
                              .ratios = question->other_gpu ? &other_ratios : NULL,
                              .growth = question->growth};
    while (change.have_count < 3 && question->have[change.have_count] != NULL)
        change.have_count++;
    while (change.fused_count < 2 && question->fused[change.fused_count] != NULL)
        change.fused_count++;
    while (change.inserted_count < 2 && question->inserted[change.inserted_count] != NULL)
        change.inserted_count++;
    while (change.set_count < 3 && question->set[change.set_count] != NULL)
        change.set_count++;
    assert_int_equal(st_trace_graph_make(&set, &graph, errors), ST_OK);
    st_status status = st_trace_whatif(graph, &change, arena, outcome, errors);
    st_trace_graph_destroy(graph);
    st_trace_destroy(trace);
    return status;
}

/* By how many microseconds the step changes. */
static void check_change(const asked *question, double change_us, st_errors *errors)
{
    st_trace_outcome outcome;
    st_arena *arena = st_arena_create();
    assert_non_null(arena);
    if (ask(question, arena, &outcome, errors) != ST_OK)
        fail_msg("%s: %s", question->set[0], said(errors));
    double found_us = (double)(outcome.after_ns - outcome.before_ns) / 1e3;
    if (fabs(found_us - change_us) > 0.5)
        fail_msg("%s: %.3f us, expected %.3f", question->set[0], found_us, change_us);
    /* Without training a repetition may be tokens: no number of layers is shown but the given one.
     */
    bool unknown = question->inference && question->have[0] == NULL;
    assert_int_equal(outcome.layers, unknown ? 0 : LAYERS);
    st_arena_destroy(arena);
}

static void check_refused(const asked *question, const char *message, st_errors *errors)
{
    st_trace_outcome outcome;
    st_arena *arena = st_arena_create();
    assert_non_null(arena);
    assert_int_not_equal(ask(question, arena, &outcome, errors), ST_OK);
    const char *heard = said(errors);
    if (strstr(heard, message) == NULL)
        fail_msg("%s: '%s', not '%s'", question->set[0], heard, message);
    st_arena_destroy(arena);
}

/* "set KEY=VALUE; have KEY=VALUE; fuse A,B; insert A=TIME; inference; loss US" */
static const char *answer(void *context, const char *section, char *given, size_t length)
{
    asked question = {.loss_us = 0};
    size_t set = 0;
    size_t have = 0;
    st_trace_outcome outcome;
    st_errors *errors = st_errors_create();
    (void)section;
    (void)length;
    for (char *next; given != NULL; given = next) {
        next = strstr(given, "; ");
        if (next != NULL) {
            *next = '\0';
            next += 2;
        }
        char *value = given + strcspn(given, " ") + 1;
        if (strncmp(given, "set ", 4) == 0)
            question.set[set++] = value;
        else if (strncmp(given, "have ", 5) == 0)
            question.have[have++] = value;
        else if (strncmp(given, "fuse ", 5) == 0)
            question.fused[0] = value;
        else if (strncmp(given, "insert ", 7) == 0)
            question.inserted[0] = value;
        else if (strncmp(given, "loss ", 5) == 0)
            question.loss_us = strtod(value, NULL);
        else
            question.inference = strcmp(given, "inference") == 0;
    }
    assert_int_not_equal(ask(&question, context, &outcome, errors), ST_OK);
    const char *text = said(errors);
    st_errors_destroy(errors);
    return st_arena_copy(context, text, strlen(text));
}

TEST(test_refusals)
{
    st_arena *arena = st_arena_create();
    run_text_rows("tests/unit/cases/trace_whatif.txt", answer, arena, arena);
    st_arena_destroy(arena);
}

TEST_WITH(test_speed, make_errors, drop_errors)
{
    double gemm = MICROS * LAYERS * (61.5 + 120.25);
    check_change(&(asked){.set = {"speed.gemm=2"}}, -gemm / 2, *state);
    check_change(&(asked){.set = {"speed.gemm=4x"}}, -gemm * 3 / 4, *state);
    check_change(&(asked){.set = {"speed.attention=0.5"}}, MICROS * LAYERS * (11.25 + 23.75),
                 *state);
    check_change(&(asked){.set = {"speed.optimizer=3", "speed.memory=2"}},
                 -ADAM * 2 / 3 - MICROS * LAYERS * 3.25 / 2, *state);
}

TEST_WITH(test_other_gpu, make_errors, drop_errors)
{
    double kernels = MICROS * LAYERS * (FORWARD + BACKWARD - 15.5) + ADAM;
    check_change(&(asked){.other_gpu = true}, -kernels * (1 - 0.385), *state);
    check_change(&(asked){.other_gpu = true, .set = {"speed.norm=2"}},
                 -kernels * (1 - 0.385) - MICROS * LAYERS * 15.5 / 2, *state);
}

TEST_WITH(test_kernels, make_errors, drop_errors)
{
    check_change(&(asked){.set = {"speed.kernel:flash_*=2.5"}},
                 -MICROS * LAYERS * (11.25 + 23.75) * (1 - 1 / 2.5), *state);
    check_change(&(asked){.set = {"speed.kernel:gelu_f=0.5", "speed.kernel:layer_norm_b=5"}},
                 MICROS * LAYERS * (7.5 - 15.5 * 4 / 5), *state);
    check_change(&(asked){.set = {"speed.host=3"}}, 0, *state); /* the GPU is what takes time */
}

/* Kernels stand back to back, far behind their launches: their times alone count. */
TEST_WITH(test_fuse, make_errors, drop_errors)
{
    const double pairs = MICROS * LAYERS;
    check_change(&(asked){.fused = {"gemm_f,flash_f"}}, 0, *state);
    check_change(&(asked){.fused = {"gemm_f,flash_f=38.5us"}}, pairs * (38.5 - 61.5 - 11.25),
                 *state);
    check_change(&(asked){.fused = {"gemm_*,flash_*=0.0385 ms", "*norm_b,memcpy\\_b=2.385us"}},
                 pairs * (38.5 - 61.5 - 11.25 + 38.5 - 120.25 - 23.75 + 2.385 - 15.5 - 3.25),
                 *state);
    check_change(&(asked){.fused = {"gemm_f,flash_f"}, .set = {"speed.gemm=2"}},
                 -pairs * (61.5 + 120.25) / 2, *state);
    check_change(&(asked){.fused = {"gemm_f,flash_f=38.5us"}, .set = {"model.layers=12"}},
                 ADAM + pairs * (FORWARD + BACKWARD) + pairs * 2 * (38.5 - 61.5 - 11.25), *state);
    /* Half of the layers: what is recorded lasts half as long. */
    check_change(&(asked){.fused = {"gemm_f,flash_f=38.5us"}, .set = {"model.layers=3"}},
                 -ADAM / 2 - pairs / 2 * (FORWARD + BACKWARD - 38.5 + 61.5 + 11.25), *state);
}

TEST_WITH(test_insert, make_errors, drop_errors)
{
    const double times = MICROS * LAYERS;
    check_change(&(asked){.inserted = {"gelu_f=238.5us"}}, times * 238.5, *state);
    check_change(&(asked){.inserted = {"gelu_f=23.85us", "*_b=2us"}}, times * (23.85 + 4 * 2),
                 *state);
    check_change(&(asked){.fused = {"gemm_f,flash_f"}, .inserted = {"flash_f=23.85us"}},
                 times * 23.85, *state);
    check_change(&(asked){.inserted = {"gelu_f=238.5us"}, .set = {"model.layers=3"}},
                 -ADAM / 2 - times / 2 * (FORWARD + BACKWARD) + times / 2 * 238.5, *state);
}

TEST_WITH(test_inference, make_errors, drop_errors)
{
    check_change(
        &(asked){.inference = true, .have = {"model.layers=6"}, .set = {"model.layers=12"}},
        MICROS * LAYERS * (FORWARD + BACKWARD), *state);
    check_change(&(asked){.inference = true, .set = {"speed.attention=0.5"}},
                 MICROS * LAYERS * (11.25 + 23.75), *state);
}

TEST_WITH(test_layers, make_errors, drop_errors)
{
    double one = MICROS * (FORWARD + BACKWARD) + ADAM / LAYERS;
    double gradient = REDUCE / LAYERS;
    check_change(&(asked){.set = {"model.layers=12"}}, 6 * one, *state);
    check_change(&(asked){.set = {"model.layers=1"}}, -5 * one, *state);
    check_change(&(asked){.set = {"model.layers=2"}, .have = {"parallel.dp=4"}},
                 -4 * (one + gradient), *state);
    check_change(&(asked){.set = {"model.layers=7"}, .have = {"model.layers=6"}}, one, *state);
    check_change(&(asked){.set = {"model.layers=7"}, .loss_us = 40.5}, one, *state);
    /* What repeats most are micro-batches, most of which are no layers. */
    check_change(
        &(asked){.have = {"model.layers=6"}, .set = {"model.layers=7"}, .loss_us = 23850.5}, one,
        *state);
}

/* Products, attention, element-wise kernels and norms as the growth says, whatever the key is. */
TEST_WITH(test_width, make_errors, drop_errors)
{
    double gemm = MICROS * LAYERS * (61.5 + 120.25);
    double copies = MICROS * LAYERS * 3.25; /* no shape tells their time */
    double other = MICROS * LAYERS * (FORWARD + BACKWARD) - gemm - copies;
    check_change(&(asked){.have = {"model.hidden=1024", "parallel.dp=4"},
                          .set = {"model.hidden=2048"},
                          .growth = {4.5, 2.25, 2.25, 1.5, 3.75, 3.25}},
                 3.5 * gemm + 1.25 * other + 2.25 * ADAM + 2.75 * REDUCE, *state);
    check_change(&(asked){.set = {"model.ffn=6144"}, .growth = {1.25, 1, 1, 1, 1.375, 1.375}},
                 gemm / 4 + ADAM * 0.375, *state);
    check_change(&(asked){.have = {"parallel.tp=4"},
                          .set = {"parallel.tp=8"},
                          .growth = {0.55, 1, 1, 1, 1, 0.525}},
                 -0.45 * gemm - 0.475 * ADAM + REDUCE / 6, *state);
}

TEST_WITH(test_groups, make_errors, drop_errors)
{
    check_change(&(asked){.have = {"parallel.dp=2"}, .set = {"parallel.dp=8"}},
                 REDUCE * (7.0 / 8 / 0.5 - 1), *state);
    check_change(&(asked){.have = {"parallel.dp=2"}, .set = {"bandwidth.dp=2.5"}},
                 -REDUCE * (1 - 1 / 2.5), *state);
    check_change(&(asked){.set = {"bandwidth=0.5x"}}, REDUCE, *state);
    check_change(&(asked){.have = {"parallel.tp=2"}, .set = {"bandwidth.tp=2"}}, -REDUCE / 2,
                 *state);
    double sharded = MICROS * LAYERS * (61.5 + 120.25 + 11.25 + 23.75) + ADAM;
    check_change(&(asked){.have = {"parallel.tp=2"}, .set = {"parallel.tp=4"}, .approximate = true},
                 -sharded / 2 + REDUCE * (0.75 / 0.5 - 1), *state);
}

TEST_WITH(test_pipeline, make_errors, drop_errors)
{
    double layer = FORWARD + BACKWARD;
    check_change(&(asked){.set = {"batch.micro_batches=9"}}, 5 * LAYERS * layer, *state);
    check_change(&(asked){.set = {"batch.micro_batches=9"}, .loss_us = 40.5},
                 5 * (LAYERS * layer + 40.5), *state);
    /* Qi et al. 2024: a step of 1F1B has micros + stages - 1 passes of a stage. */
    double before = MICROS * LAYERS * layer + ADAM + REDUCE;
    double rest = (ADAM + REDUCE + 10) / 3; /* the window begins 10 us before the first kernel */
    check_change(&(asked){.set = {"parallel.pp=3"}},
                 (MICROS + 2) * LAYERS / 3 * layer + rest - before - 10, *state);
    check_change(&(asked){.set = {"parallel.pp=3", "pipeline.schedule=gpipe"}},
                 (MICROS + 2) * LAYERS / 3 * layer + rest - before - 10, *state);
    check_change(
        &(asked){.set = {"parallel.pp=3", "batch.micro_batches=32", "pipeline.schedule=gpipe"},
                 .have = {"batch.micro_batches=4"}},
        34 * LAYERS / 3 * layer + rest - before - 10, *state);
    /* The first forward pass reaches the last stage two transfers later, the last gradient the
     * first stage as well; what stands between follows without a pause. */
    check_change(
        &(asked){.set = {"parallel.pp=3", "pipeline.schedule=gpipe", "pipeline.transfer_us=23.85"}},
        (MICROS + 2) * LAYERS / 3 * layer + 4 * 23.85 + rest - before - 10, *state);
}

/* Fewer micro-batches, or more of other layers: those that are recorded last shorter or longer, but
 * for the last one, in which gradients are reduced. */
TEST_WITH(test_other_micro_batches, make_errors, drop_errors)
{
    double layer = FORWARD + BACKWARD;
    check_change(&(asked){.set = {"batch.micro_batches=4"}}, 0, *state);
    check_change(&(asked){.set = {"batch.micro_batches=3"}}, -LAYERS * layer, *state);
    check_change(&(asked){.set = {"batch.micro_batches=2"}}, -2 * LAYERS * layer, *state);
    check_change(&(asked){.set = {"batch.micro_batches=2"}, .loss_us = 40.5},
                 -2 * (LAYERS * layer + 40.5), *state);
    check_change(&(asked){.set = {"batch.micro_batches=9", "model.layers=12"}},
                 (9 * 12 - MICROS * LAYERS) * layer + ADAM, *state);
    check_change(&(asked){.set = {"batch.micro_batches=2", "model.layers=3"}},
                 (2 * 3 - MICROS * LAYERS) * layer - ADAM / 2, *state);
    check_change(&(asked){.set = {"batch.micro_batches=2", "speed.optimizer=2"}},
                 -2 * LAYERS * layer - ADAM / 2, *state);
}

/* The recorded step has 6 layers and 4 micro-batches on one rank. */
TEST_OF(test_job, st_errors *errors, make_errors, drop_errors)
{
    static const st_trace_job right = {"run.yaml", 1, 24, 2, 4};
    static const st_trace_job wrong = {"run.yaml", 1, 48, 2, 12};
    static const st_trace_job one_stage = {"run.yaml", 1, 6, 2, 8};
    asked question = {.have = {"batch.micro=2", "parallel.pp=2"},
                      .set = {"speed.gemm=2"},
                      .job = right,
                      .gpus = -1};
    st_arena *arena = st_arena_create();
    st_trace_outcome outcome;
    /* 12 layers of a rank in two chunks, 2 micro-batches in each: the passes that the step has. */
    assert_int_equal(ask(&question, arena, &outcome, errors), ST_OK);
    assert_int_equal(outcome.note_count, 0);
    question.job = wrong;
    assert_int_equal(ask(&question, arena, &outcome, errors), ST_OK);
    assert_int_equal(outcome.note_count, 2);
    assert_non_null(strstr(outcome.notes[0], "the job has 12 layers in a row on a rank, but "
                                             "kernels of the trace repeat 6 times"));
    assert_non_null(strstr(outcome.notes[1], "the job has 12, the trace 4 in 1 steps"));
    /* Virtual stages are those of a pipeline. */
    question = (asked){
        .have = {"batch.micro=2", "parallel.pp=1"}, .set = {"speed.gemm=2"}, .job = one_stage};
    assert_int_equal(ask(&question, arena, &outcome, errors), ST_OK);
    assert_int_equal(outcome.note_count, 0);
    question.have[1] = "parallel.dp=3";
    check_refused(&question, "found 3 GPUs (tp 1, pp 1, dp 3, cp 1)", errors);
    st_arena_destroy(arena);
}

/* Told by hand: what the trace has, another number of layers, what does not repeat at all. */
TEST_WITH(test_told_layers, make_errors, drop_errors)
{
    st_trace_outcome outcome;
    st_arena *arena = st_arena_create();
    asked question = {.have = {"model.layers=6"}, .set = {"speed.gemm=2"}};
    assert_int_equal(ask(&question, arena, &outcome, *state), ST_OK);
    assert_int_equal(outcome.note_count, 0);
    static const char *const wrong[] = {"3", "96"};
    for (size_t i = 0; i < 2; i++) {
        char note[128];
        char have[32];
        (void)snprintf(have, sizeof have, "model.layers=%s", wrong[i]);
        (void)snprintf(note, sizeof note,
                       "model.layers gives %s on a rank, but kernels of the trace repeat 6 times",
                       wrong[i]);
        question.have[0] = have;
        assert_int_equal(ask(&question, arena, &outcome, *state), ST_OK);
        assert_int_equal(outcome.note_count, 1);
        assert_string_equal(outcome.notes[0], note);
    }
    st_arena_destroy(arena);
}

TEST_WITH(test_notes, make_errors, drop_errors)
{
    st_trace_outcome outcome;
    st_arena *arena = st_arena_create();
    asked question = {
        .have = {"model.hidden=64"}, .set = {"model.hidden=128"}, .growth = {2.385, 2, 2, 2, 2, 2}};
    assert_int_equal(ask(&question, arena, &outcome, *state), ST_OK);
    assert_int_equal(outcome.note_count, 2); /* growth, and what has no price */
    assert_non_null(outcome.after);
    question = (asked){.set = {"parallel.pp=2"}};
    assert_int_equal(ask(&question, arena, &outcome, *state), ST_OK);
    assert_null(outcome.after);
    assert_true(outcome.bubble_frac > 0.15 && outcome.bubble_frac < 0.25);
    st_arena_destroy(arena);
}

/* ---- collectives by a model ---- */

/* A step of two messages that the profiler describes and one that it does not. */
static const char described[] =
    "{\"distributedInfo\":{\"rank\":0,\"world_size\":1},\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
    "\"ts\":1,\"dur\":1,\"args\":{\"correlation\":1}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32_RING_LL\",\"pid\":"
    "0,"
    "\"tid\":7,\"ts\":10,\"dur\":240.75,\"args\":{\"device\":0,\"stream\":7,\"correlation\":1,"
    "\"Collective name\":\"allreduce\",\"dtype\":\"BFloat16\",\"In msg nelems\":2385000,"
    "\"Out msg nelems\":2385000,\"Group size\":4}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
    "\"ts\":3,\"dur\":1,\"args\":{\"correlation\":2}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllGather_RING_LL\",\"pid\":0,"
    "\"tid\":7,\"ts\":250.75,\"dur\":85.5,\"args\":{\"device\":0,\"stream\":7,\"correlation\":2,"
    "\"Collective name\":\"_allgather_base\",\"dtype\":\"Float\",\"In msg nelems\":1000,"
    "\"Out msg nelems\":4000,\"Group size\":4}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
    "\"ts\":5,\"dur\":1,\"args\":{\"correlation\":3}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32_RING_LL\",\"pid\":"
    "0,"
    "\"tid\":7,\"ts\":336.25,\"dur\":61.5,\"args\":{\"device\":0,\"stream\":7,"
    "\"correlation\":3}}]}";

typedef struct model {
    size_t questions;
    double most_ranks;
    double gathered_bytes;
    bool knows_gathering;
    bool refuses;
} model;

/* 17 us and a microsecond for 20 kB, times the ranks, by the bandwidth. */
static double model_s(const st_trace_transfer *transfer)
{
    return 17e-6 + transfer->size_bytes / 2e4 * 1e-6 * transfer->ranks / transfer->bandwidth_factor;
}

static st_status ask_model(void *context, const st_trace_transfer *transfer, double *seconds,
                           st_errors *errors)
{
    model *own = context;
    own->questions++;
    own->most_ranks = transfer->ranks > own->most_ranks ? transfer->ranks : own->most_ranks;
    if (own->refuses)
        return st_errors_add(errors, &(st_error){.status = ST_ERR_PROVIDER, .message = "not so"});
    if (strcmp(transfer->collective, "all_gather") == 0) {
        own->gathered_bytes = transfer->size_bytes;
        *seconds = own->knows_gathering ? model_s(transfer) : 0;
        return ST_OK;
    }
    assert_string_equal(transfer->collective, "all_reduce");
    *seconds = model_s(transfer);
    return ST_OK;
}

static st_status ask_described(model *own, const char *const *sets, size_t count, st_arena *arena,
                               st_trace_outcome *outcome, st_errors *errors)
{
    static const char *const have[] = {"parallel.dp=4"};
    const st_trace_collective_model times = {.context = own, .time = ask_model};
    st_trace *trace = trace_of(described, false, errors);
    assert_non_null(trace);
    st_trace_set set = {.ranks = &trace, .count = 1, .world_size = 1};
    st_trace_graph *graph = NULL;
    assert_int_equal(st_trace_graph_make(&set, &graph, errors), ST_OK);
    const st_trace_change change = {
        .have = have, .have_count = 1, .sets = sets, .set_count = count, .model = &times};
    st_status status = st_trace_whatif(graph, &change, arena, outcome, errors);
    st_trace_graph_destroy(graph);
    st_trace_destroy(trace);
    return status;
}

TEST_WITH(test_model, make_errors, drop_errors)
{
    static const char *const sets[] = {"parallel.dp=16", "bandwidth=2.5"};
    st_arena *arena = st_arena_create();
    st_trace_outcome outcome;
    model own = {.knows_gathering = true};
    assert_int_equal(ask_described(&own, sets, 2, arena, &outcome, *state), ST_OK);
    assert_int_equal(own.questions, 4);
    assert_true(own.most_ranks == 16);
    assert_true(own.gathered_bytes == 16000);
    const st_trace_transfer message = {"all_reduce", 2385000 * 2, 4, 1, 1};
    const st_trace_transfer later = {"all_reduce", 2385000 * 2, 16, 1, 2.5};
    const st_trace_transfer gathered = {"all_gather", 16000, 4, 1, 1};
    const st_trace_transfer gathered_later = {"all_gather", 16000, 16, 1, 2.5};
    double ring = 61.5 * (15.0 / 16) / (3.0 / 4) / 2.5; /* without a description */
    double expected_us = 240.75 * (model_s(&later) / model_s(&message) - 1) +
                         85.5 * (model_s(&gathered_later) / model_s(&gathered) - 1) + ring - 61.5;
    double found_us = (double)(outcome.after_ns - outcome.before_ns) / 1e3;
    assert_true(fabs(found_us - expected_us) < 0.01);
    bool told = false;
    for (size_t i = 0; i < outcome.note_count; i++)
        told = told || strncmp(outcome.notes[i],
                               "2 collectives take the model's ratio of times, 1 "
                               "as rings do",
                               60) == 0;
    assert_true(told);
    st_arena_destroy(arena);
}

/* What the model does not know is a ring; what it refuses ends all; what stays is not asked. */
TEST_WITH(test_model_limits, make_errors, drop_errors)
{
    static const char *const sets[] = {"parallel.dp=16"};
    static const char *const faster[] = {"speed.gemm=2"};
    static const char *const alone[] = {"parallel.dp=1"};
    st_arena *arena = st_arena_create();
    st_trace_outcome outcome;
    model own = {0};
    assert_int_equal(ask_described(&own, sets, 1, arena, &outcome, *state), ST_OK);
    const st_trace_transfer message = {"all_reduce", 2385000 * 2, 4, 1, 1};
    const st_trace_transfer later = {"all_reduce", 2385000 * 2, 16, 1, 1};
    double expected_us = 240.75 * (model_s(&later) / model_s(&message) - 1) +
                         (85.5 + 61.5) * ((15.0 / 16) / (3.0 / 4) - 1);
    assert_true(fabs((double)(outcome.after_ns - outcome.before_ns) / 1e3 - expected_us) < 0.01);
    own = (model){.refuses = true};
    assert_int_equal(ask_described(&own, sets, 1, arena, &outcome, *state), ST_ERR_PROVIDER);
    assert_non_null(strstr(said(*state), "not so"));
    own = (model){.refuses = true};
    assert_int_equal(ask_described(&own, faster, 1, arena, &outcome, *state), ST_OK);
    assert_int_equal(own.questions, 0);
    assert_int_equal(ask_described(&own, alone, 1, arena, &outcome, *state), ST_OK);
    assert_int_equal(own.questions, 0);
    /* Alone there is nothing to send; the last task is launched 4 us after the first. */
    double change_us = (double)(outcome.after_ns - outcome.before_ns) / 1e3;
    assert_true(fabs(change_us + 240.75 + 85.5 + 61.5 - 4) < 0.01);
    st_arena_destroy(arena);
}

/* ---- groups of several kinds ---- */

/* All-reduces in groups of 2, 4 and 8 ranks, of 100, 200 and 400 us. */
static st_trace *make_groups(st_errors *errors)
{
    step s = {.host_us = 1, .gpu_us = 10};
    st_buffer_text(&s.text, "{\"distributedInfo\":{\"rank\":0,\"world_size\":8},\"traceEvents\":[");
    for (int i = 0; i < 3; i++) {
        st_buffer_printf(
            &s.text,
            "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
            "\"tid\":1,\"ts\":%d,\"dur\":1,\"args\":{\"correlation\":%d}},\n"
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,"
            "\"tid\":7,\"ts\":%.3f,\"dur\":%d,\"args\":{\"device\":0,\"stream\":7,"
            "\"correlation\":%d,\"Collective name\":\"allreduce\",\"dtype\":\"Float\","
            "\"In msg nelems\":%d,\"Out msg nelems\":385,\"Group size\":%d}},\n",
            1 + 2 * i, i + 1, s.gpu_us, 100 << i, i + 1, 1000 << i, 2 << i);
        s.gpu_us += 100 << i;
    }
    st_buffer_text(&s.text, "{\"ph\":\"M\",\"name\":\"x\",\"pid\":0}]}");
    st_trace *trace = trace_of(s.text.data, false, errors);
    assert_non_null(trace);
    st_buffer_free(&s.text);
    return trace;
}

/* As many microseconds as ranks, times how far apart they are. */
static st_status spread_time(void *context, const st_trace_transfer *transfer, double *seconds,
                             st_errors *errors)
{
    (void)context;
    (void)errors;
    *seconds = 1e-6 * transfer->ranks * transfer->stride / transfer->bandwidth_factor;
    return ST_OK;
}

typedef struct group_case {
    const char *set;
    bool has_model;
    double times_us[3]; /* of the three afterwards */
} group_case;

static void check_groups(const group_case *one, st_arena *arena, st_trace_outcome *outcome,
                         st_errors *errors)
{
    static const char *const have[] = {"parallel.tp=2", "parallel.dp=4"};
    static const st_trace_collective_model spread = {.time = spread_time};
    st_trace *trace = make_groups(errors);
    const st_trace_set set = {.ranks = &trace, .count = 1, .world_size = 8};
    st_trace_graph *graph = NULL;
    const st_trace_change change = {.have = have,
                                    .have_count = 2,
                                    .sets = &one->set,
                                    .set_count = 1,
                                    .approximate = true,
                                    .model = one->has_model ? &spread : NULL};
    assert_int_equal(st_trace_graph_make(&set, &graph, errors), ST_OK);
    if (st_trace_whatif(graph, &change, arena, outcome, errors) != ST_OK)
        fail_msg("%s: %s", one->set, said(errors));
    double change_us = one->times_us[0] + one->times_us[1] + one->times_us[2] - 700;
    double found_us = (double)(outcome->after_ns - outcome->before_ns) / 1e3;
    if (fabs(found_us - change_us) > 0.002)
        fail_msg("%s: %.3f us, expected %.3f", one->set, found_us, change_us);
    st_trace_graph_destroy(graph);
    st_trace_destroy(trace);
}

/* Groups are told by their sizes: of 2 ranks tensor-parallel, of 4 data-parallel, two ranks apart
 * from each other; those of 8 are neither. On a ring of n ranks a message takes (n-1)/n. */
TEST_WITH(test_kinds_of_groups, make_errors, drop_errors)
{
    static const group_case cases[] = {
        {"bandwidth=2", false, {50, 100, 200}},
        {"bandwidth=2", true, {50, 100, 200}},
        {"bandwidth.tp=2.5", false, {40, 200, 400}},
        {"bandwidth.tp=2.5", true, {40, 200, 400}},
        {"bandwidth.dp=2.5", false, {100, 80, 400}},
        {"bandwidth.dp=2.5", true, {100, 80, 400}},
        {"parallel.dp=8", false, {100, 200 * 7 / 6.0, 400}},
        {"parallel.dp=8", true, {100, 400, 400}},
        {"parallel.tp=4", false, {150, 100, 400}}, /* half the gradients on a rank */
        {"parallel.tp=4", true, {200, 400, 400}}, /* ranks of equal shards are twice as far apart */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_arena *arena = st_arena_create();
        st_trace_outcome outcome;
        check_groups(&cases[i], arena, &outcome, *state);
        bool told = false;
        for (size_t k = 0; k < outcome.note_count; k++)
            told = told || strcmp(outcome.notes[k],
                                  "1 all-to-alls and others of neither tp nor dp, 0.400 ms over "
                                  "all ranks, last as before") == 0;
        assert_int_equal(told, strncmp(cases[i].set, "parallel", 8) == 0);
        st_arena_destroy(arena);
    }
}

TESTS(trace_whatif);
