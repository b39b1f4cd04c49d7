/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes that are alike: as many kernels a layer forward as backward, each ending in a collective
 * of one name, on two groups of two ranks. Layers are still told apart, and groups not guessed.
 */
#include "trace_support.h"
#include "trace/trace.h"

#include "trace/repeat.h"

enum { LAYERS = 5 };

/* Microseconds. */
#define FORWARD   (61.5 + 11.25 + 23.85)
#define BACKWARD  (120.25 + 23.75 + 23.85)
#define GRADIENTS 240.75
#define ADAM      85.5

typedef struct step {
    st_buffer text;
    double gpu_us;
    int id;
} step;

static void kernel(step *s, const char *name, double duration_us, const char *ranks)
{
    s->id++;
    st_buffer_printf(
        &s->text,
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
        "\"tid\":1,\"ts\":%d,\"dur\":1,\"args\":{\"correlation\":%d}},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%.3f,"
        "\"dur\":%.3f,\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d",
        100 + 2 * s->id, s->id, name, s->gpu_us, duration_us, s->id);
    if (ranks != NULL)
        st_buffer_printf(
            &s->text,
            ",\"Collective name\":\"allreduce\",\"In msg nelems\":2385,\"Group size\":2,"
            "\"dtype\":\"Float\",\"Process Group Ranks\":\"%s\"",
            ranks);
    st_buffer_text(&s->text, "}},\n");
    s->gpu_us += duration_us;
}

/* With a kernel of `other_us` that is of no layer. */
static st_trace *make_step_and(double other_us, st_errors *errors)
{
    step s = {.gpu_us = 110};
    st_buffer_text(&s.text, "{\"distributedInfo\":{\"rank\":0,\"world_size\":4},\"traceEvents\":[");
    for (int layer = 0; layer < LAYERS; layer++) {
        kernel(&s, "gemm_f", 61.5, NULL);
        kernel(&s, "flash_f", 11.25, NULL);
        kernel(&s, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 23.85, "[0, 1]");
    }
    for (int layer = 0; layer < LAYERS; layer++) {
        kernel(&s, "gemm_b", 120.25, NULL);
        kernel(&s, "flash_b", 23.75, NULL);
        kernel(&s, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 23.85, "[0, 1]");
    }
    kernel(&s, "ncclDevKernel_AllReduce_Sum_f32_TREE", GRADIENTS, "[0, 2]");
    kernel(&s, "adam", ADAM, NULL);
    if (other_us > 0)
        kernel(&s, "conv", other_us, NULL);
    st_buffer_text(&s.text, "{\"ph\":\"M\"}]}");
    assert_false(s.text.failed);
    st_trace *trace = trace_of(s.text.data, false, errors);
    assert_non_null(trace);
    st_buffer_free(&s.text);
    return trace;
}

static st_trace *make_step(st_errors *errors)
{
    return make_step_and(0, errors);
}

/* Layers of less than half of the work, collectives apart, may be none. */
TEST_WITH(test_doubtful_layers, make_errors, drop_errors)
{
    double layers_us = LAYERS * (FORWARD + BACKWARD - 2 * 23.85);
    st_arena *arena = st_arena_create();
    for (int i = 0; i < 2; i++) {
        st_trace *trace = make_step_and(layers_us - ADAM + (i == 0 ? -2.385 : 2.385), *state);
        st_repeats repeats;
        st_repeats_find(trace, (st_repeats_ask){0}, arena, &repeats);
        assert_int_equal(repeats.layers, LAYERS);
        assert_int_equal(st_repeats_are_layers(&repeats), i == 0);
        assert_non_null(
            strstr(st_repeats_doubt(&repeats, *state), "50 % of the time of computing kernels"));
        st_repeats_find(trace, (st_repeats_ask){LAYERS, false}, arena, &repeats);
        assert_true(st_repeats_are_layers(&repeats));
        st_trace_destroy(trace);
    }
    st_arena_destroy(arena);
}

TEST_WITH(test_both_passes_are_found, make_errors, drop_errors)
{
    st_trace *trace = make_step(*state);
    st_arena *arena = st_arena_create();
    st_repeats repeats;
    st_repeats_find(trace, (st_repeats_ask){0}, arena, &repeats);
    assert_int_equal(repeats.layers, LAYERS);
    assert_int_equal(repeats.count, 2);
    assert_int_equal(repeats.items[0].first, 0);
    assert_int_equal(repeats.items[1].first, 3 * LAYERS);
    assert_int_equal(repeats.items[1].duration_ns, (int64_t)(1e3 * LAYERS * BACKWARD));
    assert_int_not_equal(st_repeat_mark(trace, &repeats, &repeats.items[0]),
                         st_repeat_mark(trace, &repeats, &repeats.items[1]));
    st_arena_destroy(arena);
    st_trace_destroy(trace);
}

/* What becomes of the step; `expected_us` below 0: it is refused, with `message`. */
static void ask(const char *const *have, const char *const *sets, double expected_us,
                const char *message, st_errors *errors)
{
    st_trace *trace = make_step(errors);
    st_trace_set set = {.ranks = &trace, .count = 1, .world_size = 4};
    st_trace_graph *graph = NULL;
    st_trace_outcome outcome;
    st_trace_change change = {.have = have, .sets = sets};
    st_arena *arena = st_arena_create();
    while (have[change.have_count] != NULL)
        change.have_count++;
    while (sets[change.set_count] != NULL)
        change.set_count++;
    assert_int_equal(st_trace_graph_make(&set, &graph, errors), ST_OK);
    st_status status = st_trace_whatif(graph, &change, arena, &outcome, errors);
    const char *heard = said(errors);
    double after_us = status == ST_OK ? (double)outcome.after_ns / 1e3 : -1;
    bool told = status != ST_OK && strstr(heard, message) != NULL;
    for (size_t i = 0; status == ST_OK && i < outcome.note_count; i++)
        told = told || strstr(outcome.notes[i], message) != NULL;
    if (fabs(after_us - expected_us) > 0.5 || !told)
        fail_msg("%s: %.3f us and '%s', not %.3f us and '%s'", sets[0], after_us, heard,
                 expected_us, message);
    st_arena_destroy(arena);
    st_trace_graph_destroy(graph);
    st_trace_destroy(trace);
}

#define WITH(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST_WITH(test_changes, make_errors, drop_errors)
{
    const double passes = LAYERS * (FORWARD + BACKWARD);
    const double lead = 8; /* from the first call to the first kernel */
    static const char *const nothing[] = {NULL};
    ask(nothing, WITH("model.layers=10"), lead + 2 * passes + GRADIENTS + 2 * ADAM,
        "1 collectives outside of layers last as before", *state);
    ask(WITH("parallel.tp=2", "parallel.dp=2"), WITH("model.layers=10"),
        lead + 2 * (passes + GRADIENTS + ADAM), "one rank of 4", *state);
    ask(WITH("parallel.tp=2", "parallel.dp=2"), WITH("parallel.dp=4"),
        lead + passes + 1.5 * GRADIENTS + ADAM, "rings", *state);
    ask(nothing, WITH("batch.micro_batches=3"), lead + 3 * passes + GRADIENTS + ADAM,
        "the optimizer begins with", *state);
    ask(nothing, WITH("parallel.pp=5", "batch.micro_batches=3", "pipeline.schedule=gpipe"),
        (lead + GRADIENTS + ADAM) / 5 + (3 + 4) * passes / 5, "gpipe schedule", *state);
}

TEST_WITH(test_refused, make_errors, drop_errors)
{
    static const char *const nothing[] = {NULL};
    ask(WITH("parallel.dp=2"), WITH("parallel.dp=4"), -1,
        "t.json: its groups of 2 ranks are of two kinds, [0, 1] and [0, 2]: expected --have "
        "parallel.tp, too",
        *state);
    ask(WITH("parallel.tp=2"), WITH("bandwidth.tp=2"), -1, "expected --have parallel.dp, too",
        *state);
    ask(nothing, WITH("pipeline.schedule=gpipe"), -1,
        "pipeline.schedule describes a new pipeline, but none is requested", *state);
    ask(nothing, WITH("pipeline.transfer_us=2.385"), -1, "pipeline.transfer_us describes", *state);
}

TESTS(trace_passes);
