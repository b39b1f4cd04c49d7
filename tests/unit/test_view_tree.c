/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of GPU time: by stacks that operators carry, annotations, and what ran backward; and the
 * ranges of threads that they are made of. */
#include "trace_view_support.h"
#include "../support/fixture.h"

#include "trace/view.h"

FIXTURE(st_trace *trace; st_tree tree;, st_trace_destroy(own->trace););

#define RANGE(category, name, thread, ts, dur, arguments)                                          \
    "{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":4,\"tid\":" thread       \
    ",\"ts\":" ts ",\"dur\":" dur ",\"args\":{" arguments "}},"
#define STACKED(name, ts, dur, stack)                                                              \
    RANGE("cpu_op", name, "2", ts, dur, "\"Call stack\":\"" stack "\"")
#define SEQUENCE(name, thread, ts, dur, sequence, forward)                                         \
    RANGE("cpu_op", name, thread, ts, dur,                                                         \
          "\"Sequence number\":" sequence ",\"Fwd thread id\":" forward)
#define CALL_OF(thread, ts, corr)                                                                  \
    RANGE("cuda_runtime", "cudaLaunchKernel", thread, ts, "2", "\"correlation\":" corr)
#define END "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}"

static void read_trace(fixture *own, const char *text)
{
    st_trace_options options = {.details = true};
    st_trace_destroy(own->trace);
    own->trace = NULL;
    if (st_trace_read_memory("t.json", text, strlen(text), &options, &own->trace, own->errors) !=
        ST_OK)
        fail_msg("%s", said(own->errors));
}

static void grow(fixture *own, const char *text, st_tree_by by)
{
    read_trace(own, text);
    st_trace_set set = set_of(&own->trace, 1);
    assert_int_equal(st_view_tree(&set, by, false, own->arena, &own->tree, own->errors), ST_OK);
}

typedef struct expected_node {
    const char *name;
    uint32_t depth;
    int64_t self_ns;
    int64_t gpu_ns;
    int64_t backward_ns;
    int64_t communication_ns;
    size_t kernels;
} expected_node;

/* Depth first, the longest sibling first. */
static void expect_tree(const fixture *own, const expected_node *expected, size_t count)
{
    assert_int_equal(own->tree.count, count);
    for (size_t i = 0; i < count; i++) {
        const st_tree_node *node = &own->tree.nodes[own->tree.order[i]];
        assert_string_equal(node->name, expected[i].name);
        assert_int_equal(node->depth, expected[i].depth);
        assert_int_equal(node->self_ns, expected[i].self_ns);
        assert_int_equal(node->gpu_ns, expected[i].gpu_ns);
        assert_int_equal(node->backward_ns, expected[i].backward_ns);
        assert_int_equal(node->communication_ns, expected[i].communication_ns);
        assert_int_equal(node->kernels, expected[i].kernels);
    }
}

/* ---- instances ---- */

#define MODULE(name, ts, dur) RANGE("python_function", "nn.Module: " name, "2", ts, dur, "\"x\":1")

/* Two instances of one module become one part; a module of one instance keeps its name, as one does
 * that a second recording alone would fold. */
static const char two_layers[] = "{\"traceEvents\":[" MODULE("Net_0", "100", "90")
    MODULE("Layer_3", "101", "30") CALL_OF("2", "105", "31")
        TASK("sgemm", "7", "110", "23.85", "31") MODULE("Layer_11", "140", "30")
            CALL_OF("2", "145", "32") TASK("sgemm", "7", "150", "38.5", "32") END;

TEST_OF(instances_are_folded, fixture *own, set_up, tear_down)
{
    static const expected_node apart[] = {{"all", 0, 0, 62350, 0, 0, 2},
                                          {"Net_0", 1, 0, 62350, 0, 0, 2},
                                          {"Layer_11", 2, 38500, 38500, 0, 0, 1},
                                          {"Layer_3", 2, 23850, 23850, 0, 0, 1}};
    static const expected_node one[] = {{"all", 0, 0, 62350, 0, 0, 2},
                                        {"Net_0", 1, 0, 62350, 0, 0, 2},
                                        {"Layer_*", 2, 62350, 62350, 0, 0, 2}};
    grow(own, two_layers, ST_TREE_MODULE);
    expect_tree(own, apart, COUNT(apart));
    st_trace_set set = set_of(&own->trace, 1);
    const st_tree_ask ask = {.set = &set, .by = ST_TREE_MODULE, .fold = true};
    assert_int_equal(st_view_tree_asked(&ask, own->arena, &own->tree, own->errors), ST_OK);
    expect_tree(own, one, COUNT(one));
    assert_int_equal(own->tree.nodes[own->tree.order[2]].calls, 2);
}

/* ---- stacks ---- */

/* Two lines of one function, an all-reduce right in the program, and a kernel of no operator.
 * Nothing between two semicolons is no level. */
static const char stacked_trace[] = "{\"traceEvents\":[" STACKED(
    "aten::mm", "100", "20", "net.py(3): mm;net.py(1): forward;main.py(1): run")
    CALL_OF("2", "105", "31") TASK("sgemm", "7", "110", "23.85", "31")
        STACKED("aten::add", "130", "20", "net.py(9): add;;net.py(1): forward;main.py(1): run;")
            CALL_OF("2", "135", "32") TASK("add", "7", "140", "38.5", "32")
                STACKED("c10d::allreduce", "160", "20", "main.py(1): run") CALL_OF("2", "165", "33")
                    TASK("ncclDevKernel_AllReduce", "20", "200", "57.1", "33")
                        CALL_OF("2", "190", "34") TASK("fill", "7", "205", "2.385", "34") END;

TEST_WITH(stacks_of_operators_are_read_from_the_outermost, set_up, tear_down)
{
    static const expected_node expected[] = {{"all", 0, 2385, 121835, 0, 57100, 4},
                                             {"main.py(1): run", 1, 57100, 119450, 0, 57100, 3},
                                             {"net.py(1): forward", 2, 0, 62350, 0, 0, 2},
                                             {"net.py(9): add", 3, 38500, 38500, 0, 0, 1},
                                             {"net.py(3): mm", 3, 23850, 23850, 0, 0, 1}};
    fixture *own = *state;
    grow(own, stacked_trace, ST_TREE_STACK);
    expect_tree(own, expected, COUNT(expected));
}

/* Where functions of Python are recorded themselves, stacks of operators do not count. */
TEST_WITH(functions_take_the_place_of_stacks, set_up, tear_down)
{
    static const char text[] =
        "{\"traceEvents\":[" RANGE("python_function", "main.py(1): run", "2", "90", "80", "")
            RANGE("python_function", "nn.Module: Linear_0", "2", "95", "60", "")
                STACKED("aten::mm", "100", "20", "net.py(3): mm;other.py(1): run")
                    CALL_OF("2", "105", "31") TASK("sgemm", "7", "110", "23.85", "31") END;
    static const expected_node expected[] = {{"all", 0, 0, 23850, 0, 0, 1},
                                             {"main.py(1): run", 1, 0, 23850, 0, 0, 1},
                                             {"Linear_0", 2, 23850, 23850, 0, 0, 1}};
    fixture *own = *state;
    grow(own, text, ST_TREE_STACK);
    expect_tree(own, expected, COUNT(expected));
    assert_int_equal(own->tree.nodes[1].calls, 1);
    assert_int_equal(own->tree.nodes[1].host_ns, 80000);
}

/* ---- annotations ---- */

/* What another thread launches is of the annotation on the thread of the steps, which are none. */
TEST_WITH(other_threads_work_for_the_annotation, set_up, tear_down)
{
    static const char text[] = "{\"traceEvents\":[" STEP("7", "90", "110")
        RANGE("user_annotation", "forward", "2", "100", "40", "")
            RANGE("user_annotation", "backward", "2", "150", "40", "") CALL_OF("2", "105", "31")
                TASK("sgemm", "7", "110", "23.85", "31") CALL_OF("3", "160", "32")
                    TASK("sgemm", "7", "170", "38.5", "32") CALL_OF("3", "145", "33")
                        TASK("fill", "8", "150", "2.385", "33")
                            RANGE("user_annotation", "other", "9", "140", "30", "")
                                CALL_OF("9", "162", "34") TASK("add", "8", "175", "5.5", "34") END;
    static const expected_node expected[] = {{"all", 0, 2385, 70235, 0, 0, 4},
                                             {"backward", 1, 38500, 38500, 0, 0, 1},
                                             {"forward", 1, 23850, 23850, 0, 0, 1},
                                             {"other", 1, 5500, 5500, 0, 0, 1}};
    fixture *own = *state;
    grow(own, text, ST_TREE_ANNOTATION);
    expect_tree(own, expected, COUNT(expected));
    /* By operators such a thread stands for itself. */
    read_trace(own, text);
    st_trace_set set = set_of(&own->trace, 1);
    assert_int_equal(
        st_view_tree(&set, ST_TREE_OPERATOR, false, own->arena, &own->tree, own->errors),
        ST_ERR_VALUE);
    assert_contains(said(own->errors), "the trace has no operators");
}

/* Without steps the thread of the first annotation is the main one. */
TEST_WITH(annotations_need_no_steps, set_up, tear_down)
{
    static const char text[] =
        "{\"traceEvents\":[" RANGE("user_annotation", "backward", "2", "150", "40", "")
            CALL_OF("3", "160", "32") TASK("sgemm", "7", "170", "38.5", "32") END;
    static const expected_node expected[] = {{"all", 0, 0, 38500, 0, 0, 1},
                                             {"backward", 1, 38500, 38500, 0, 0, 1}};
    fixture *own = *state;
    grow(own, text, ST_TREE_ANNOTATION);
    expect_tree(own, expected, COUNT(expected));
}

/* ---- backward ---- */

/* The forward operator ran twice, as where activations are recomputed: the last before counts. One
 * whose forward operator is not recorded is unattributed, and still runs backward. */
TEST_WITH(backward_work_is_of_the_last_forward_operator, set_up, tear_down)
{
    static const char text[] =
        "{\"traceEvents\":[" RANGE("python_function", "nn.Module: First_0", "2", "100", "20", "")
            RANGE("python_function", "nn.Module: Again_0", "2", "130", "20", "")
                RANGE("python_function", "nn.Module: Late_0", "2", "200", "20", "")
                    SEQUENCE("aten::mm", "2", "105", "5", "17", "0")
                        SEQUENCE("aten::mm", "2", "135", "5", "17", "0")
                            SEQUENCE("aten::mm", "2", "205", "5", "17", "0")
                                SEQUENCE("MmBackward0", "3", "160", "9", "17", "1")
                                    CALL_OF("3", "162", "31")
                                        TASK("sgemm", "7", "170", "23.85", "31")
                                            SEQUENCE("AddBackward0", "3", "175", "9", "18", "1")
                                                CALL_OF("3", "177", "32")
                                                    TASK("add", "7", "200", "2.385", "32") END;
    static const expected_node expected[] = {{"all", 0, 2385, 26235, 26235, 0, 2},
                                             {"Again_0", 1, 23850, 23850, 23850, 0, 1},
                                             {"First_0", 1, 0, 0, 0, 0, 0},
                                             {"Late_0", 1, 0, 0, 0, 0, 0}};
    fixture *own = *state;
    grow(own, text, ST_TREE_MODULE);
    expect_tree(own, expected, COUNT(expected));
}

/* Of every node its kernels, by name; two of one name are one. */
TEST_WITH(kernels_may_be_leaves, set_up, tear_down)
{
    static const expected_node expected[] = {{"all", 0, 0, 121835, 0, 57100, 4},
                                             {"aten::add", 1, 0, 38500, 0, 0, 1}};
    fixture *own = *state;
    read_trace(own, stacked_trace);
    st_trace_set set = set_of(&own->trace, 1);
    assert_int_equal(
        st_view_tree(&set, ST_TREE_OPERATOR, true, own->arena, &own->tree, own->errors), ST_OK);
    assert_int_equal(own->tree.count, 1 + 3 + 4);
    for (size_t i = 0; i < own->tree.count; i++) {
        const st_tree_node *node = &own->tree.nodes[i];
        assert_int_equal(node->is_kernel, node->self_ns > 0);
    }
    const st_tree_node *all = &own->tree.nodes[own->tree.order[0]];
    assert_int_equal(all->gpu_ns, expected[0].gpu_ns);
    assert_string_equal(own->tree.nodes[own->tree.order[1]].name, "c10d::allreduce");
    assert_string_equal(own->tree.nodes[own->tree.order[3]].name, expected[1].name);
    assert_int_equal(own->tree.nodes[own->tree.order[3]].gpu_ns, expected[1].gpu_ns);
    assert_string_equal(own->tree.nodes[own->tree.order[7]].name, "fill");
    assert_int_equal(own->tree.nodes[own->tree.order[7]].depth, 1);
}

TEST_WITH(what_lacks_is_named_with_its_remedy, set_up, tear_down)
{
    static const struct {
        st_tree_by by;
        const char *words;
    } cases[] = {{ST_TREE_MODULE, "t.json: error: the trace has no modules; record with"},
                 {ST_TREE_ANNOTATION, "the trace has no annotations; put"},
                 {ST_TREE_STACK, "the trace has no stacks of Python; record with"},
                 {ST_TREE_OPERATOR, "the trace has no operators; record with"}};
    fixture *own = *state;
    read_trace(own, "{\"traceEvents\":[" STEP("7", "90", "110") CALL_OF("2", "105", "31")
                        TASK("sgemm", "7", "110", "23.85", "31") END);
    st_trace_set set = set_of(&own->trace, 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(
            st_view_tree(&set, cases[i].by, false, own->arena, &own->tree, own->errors),
            ST_ERR_VALUE);
        assert_contains(said(own->errors), cases[i].words);
    }
    assert_int_equal(
        st_view_tree(&set, ST_TREE_NOTHING, false, own->arena, &own->tree, own->errors), ST_OK);
    assert_int_equal(own->tree.nodes[0].self_ns, 23850);
}

/* ---- ranges ---- */

/* The value of a range is its own number and that of what is around it. */
static st_status value_of(void *context, uint32_t outer, const st_trace_frame *frame,
                          uint32_t *value)
{
    (void)context;
    *value = 10 * outer + (uint32_t)frame->sequence;
    return frame->sequence == 9 ? ST_ERR_LIMIT : ST_OK;
}

enum { TRACK = 1, TRACKS = 3 };

/* One within another that begins with it, one beyond its end, one after it, one of no length. */
TEST_WITH(the_innermost_range_counts, set_up, tear_down)
{
    static st_trace_frame frames[] = {
        {.start_ns = 100, .duration_ns = 50, .sequence = 1, .track = TRACK},
        {.start_ns = 100, .duration_ns = 20, .sequence = 2, .track = TRACK},
        {.start_ns = 140, .duration_ns = 30, .sequence = 3, .track = TRACK},
        {.start_ns = 150, .duration_ns = 10, .sequence = 4, .track = TRACK},
        {.start_ns = 155, .duration_ns = 0, .sequence = 5, .track = TRACK},
        {.start_ns = 90, .duration_ns = 20, .sequence = 6, .track = 2}};
    static const uint32_t numbers[] = {5, 3, 1, 4, 0, 2};
    static const struct {
        uint32_t track;
        int64_t at_ns;
        uint32_t value;
    } cases[] = {{TRACK, 99, 0},  {TRACK, 100, 12}, {TRACK, 119, 12}, {TRACK, 120, 1},
                 {TRACK, 139, 1}, {TRACK, 140, 13}, {TRACK, 149, 13}, {TRACK, 150, 4},
                 {TRACK, 154, 4}, {TRACK, 155, 4},  {TRACK, 159, 4},  {TRACK, 160, 0},
                 {2, 95, 6},      {2, 110, 0},      {2, 89, 0},       {0, 105, 0}};
    fixture *own = *state;
    const st_trace trace = {.frames = frames, .frame_count = COUNT(frames), .track_count = TRACKS};
    const st_sweep_ask ask = {&trace, numbers, COUNT(numbers), 0, value_of, NULL};
    st_sweep sweep;
    assert_int_equal(st_sweep_make(&ask, &sweep, own->errors), ST_OK);
    for (size_t i = 0; i < COUNT(cases); i++)
        if (st_sweep_at(&sweep, cases[i].track, cases[i].at_ns) != cases[i].value)
            fail_msg("at %d of track %u: %u, expected %u", (int)cases[i].at_ns, cases[i].track,
                     st_sweep_at(&sweep, cases[i].track, cases[i].at_ns), cases[i].value);
    st_sweep_free(&sweep);
    frames[3].sequence = 9;
    assert_int_equal(st_sweep_make(&ask, &sweep, own->errors), ST_ERR_LIMIT);
    st_sweep_free(&sweep);
}

static st_status no_value(void *context, uint32_t outer, const st_trace_frame *frame,
                          uint32_t *value)
{
    (void)context;
    (void)frame;
    *value = outer;
    return ST_OK;
}

TEST_WITH(ranges_are_nested_to_a_depth, set_up, tear_down)
{
    enum { MOST = 4096 };
    fixture *own = *state;
    st_trace_frame *frames = calloc(MOST + 1, sizeof *frames);
    uint32_t *numbers = calloc(MOST + 1, sizeof *numbers);
    const st_trace trace = {.file = "t.json", .frames = frames, .track_count = 1};
    st_sweep_ask ask = {&trace, numbers, MOST, 7, no_value, NULL};
    st_sweep sweep;
    for (uint32_t i = 0; i <= MOST; i++) {
        numbers[i] = i;
        frames[i] = (st_trace_frame){.start_ns = i, .duration_ns = 20000 - 2 * (int64_t)i};
    }
    assert_int_equal(st_sweep_make(&ask, &sweep, own->errors), ST_OK);
    assert_int_equal(st_sweep_at(&sweep, 0, 2385), 7);
    st_sweep_free(&sweep);
    ask.count = MOST + 1;
    assert_int_equal(st_sweep_make(&ask, &sweep, own->errors), ST_ERR_LIMIT);
    assert_contains(said(own->errors), "t.json: error: ranges are nested too deeply");
    st_sweep_free(&sweep);
    free(frames);
    free(numbers);
}

TESTS(view_tree);
