/* SPDX-License-Identifier: Apache-2.0 */
/* Views of recordings, on small traces whose answers are known. */
#include "trace_view_support.h"
#include "trace/view.h"

static int64_t sum_of(const st_idle *idle)
{
    int64_t sum_ns = 0;
    for (int i = 0; i < ST_IDLE_CAUSES; i++)
        sum_ns += idle->causes_ns[i];
    return sum_ns;
}

TEST_WITH(test_idle, make_errors, drop_errors)
{
    st_trace *trace = trace_of(idle_trace, false, *state);
    st_trace_set set = set_of(&trace, 1);
    st_arena *arena = st_arena_create();
    st_idle_rank *rank = NULL;
    st_trace_summary summary;
    st_view_idle(&set, arena, &rank);
    assert_int_equal(rank->window_ns, 167615);
    assert_int_equal(rank->gpu.idle_ns, 44000);
    assert_int_equal(rank->gpu.causes_ns[ST_IDLE_HOST], 7250);
    assert_int_equal(rank->gpu.causes_ns[ST_IDLE_SYNC], 9625);
    assert_int_equal(rank->gpu.causes_ns[ST_IDLE_LAUNCH], 27125);
    st_trace_summarize(trace, arena, &summary);
    assert_int_equal(rank->gpu.idle_ns, summary.time.idle_ns);
    assert_int_equal(rank->stream_count, 2);
    assert_int_equal(rank->streams[0].stream, 7);
    assert_int_equal(rank->streams[0].idle_ns, 63000);
    assert_int_equal(rank->streams[0].causes_ns[ST_IDLE_COMMUNICATION], 19000);
    assert_int_equal(rank->streams[0].causes_ns[ST_IDLE_DEPENDENCY], 0);
    for (size_t i = 0; i < rank->stream_count; i++)
        assert_int_equal(sum_of(&rank->streams[i]), rank->streams[i].idle_ns);
    st_arena_destroy(arena);
    st_trace_destroy(trace);
}

/* Some rounds end with the host waiting for the GPU: the gaps behind these, and no others, are its.
 */
TEST_WITH(test_waits, make_errors, drop_errors)
{
    enum { ROUNDS = 9 };
    static const char call[] = "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"%s\",\"pid\":4,"
                               "\"tid\":2,\"ts\":%d,\"dur\":%d,\"args\":{\"correlation\":%d}},";
    static const char task[] = "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"sgemm\",\"pid\":0,"
                               "\"tid\":7,\"ts\":%d,\"dur\":20,\"args\":{\"device\":0,"
                               "\"stream\":7,\"correlation\":%d}},";
    for (unsigned waits = 0; waits < 1U << ROUNDS; waits += 37) {
        st_arena *arena = st_arena_create();
        st_idle_rank *rank = NULL;
        st_buffer text = {0};
        int64_t waited = 0;
        st_buffer_text(&text, "{\"traceEvents\":[");
        for (int i = 0; i < ROUNDS; i++) {
            bool waits_here = (waits >> i & 1U) != 0;
            st_buffer_printf(&text, call, "cudaLaunchKernel", 1000 * i + 100, 5, 2 * i + 2);
            st_buffer_printf(&text, task, 1000 * i + 110, 2 * i + 2);
            if (waits_here)
                st_buffer_printf(&text, call, "cudaStreamSynchronize", 1000 * i + 106, 34,
                                 2 * i + 3);
            waited += waits_here && i + 1 < ROUNDS ? 1 : 0;
        }
        st_buffer_text(&text, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}");
        st_trace *trace = trace_of(st_buffer_read(&text), false, *state);
        st_trace_set set = set_of(&trace, 1);
        assert_non_null(trace);
        st_view_idle(&set, arena, &rank);
        int64_t last_ns = rank->gpu.causes_ns[ST_IDLE_SYNC] % 970000;
        assert_int_equal(rank->gpu.causes_ns[ST_IDLE_SYNC] - last_ns, 970000 * waited);
        assert_int_equal(rank->gpu.causes_ns[ST_IDLE_LAUNCH], 10000 * ROUNDS);
        st_arena_destroy(arena);
        st_trace_destroy(trace);
        st_buffer_free(&text);
    }
}

TEST_WITH(test_queue, make_errors, drop_errors)
{
    st_trace *trace = trace_of(idle_trace, false, *state);
    st_trace_set set = set_of(&trace, 1);
    st_arena *arena = st_arena_create();
    st_idle_rank *rank = NULL;
    st_view_idle(&set, arena, &rank);
    const st_queue *queue = &rank->queues[0];
    assert_int_equal(queue->launched, 5);
    assert_int_equal(queue->most_length, 2);
    /* 8, 23, 8.375, 7.25 and 50.5 us, of which the first, third and fourth find nothing */
    assert_int_equal(queue->delay_median_ns, 8375);
    assert_int_equal(queue->delay_p90_ns, 23000);
    assert_int_equal(queue->delay_most_ns, 50500);
    assert_int_equal(queue->empty_median_ns, 8000);
    assert_int_equal(queue->call_median_ns, 5000);
    assert_int_equal(queue->shorter, 1);
    assert_true(fabs(queue->mean_length - 97.125 / 167.615) < 1e-9);
    st_arena_destroy(arena);
    st_trace_destroy(trace);
}

TEST_WITH(test_orphan, make_errors, drop_errors)
{
    static const char text[] = "{\"traceEvents\":[" CALL("cudaLaunchKernel", "100.5", "5", "31")
        TASK("sgemm", "7", "110.25", "10", "31")
            TASK("sgemm", "7", "150.75", "10",
                 "99") "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}";
    st_trace *trace = trace_of(text, false, *state);
    st_trace_set set = set_of(&trace, 1);
    st_arena *arena = st_arena_create();
    st_idle_rank *rank = NULL;
    st_view_idle(&set, arena, &rank);
    assert_int_equal(rank->gpu.causes_ns[ST_IDLE_UNKNOWN], 30500);
    assert_int_equal(rank->queues[0].launched, 1);
    st_arena_destroy(arena);
    st_trace_destroy(trace);
}

/* What a step's breakdown says in the summary of all is what the summary of the step says. */
TEST_WITH(test_steps, make_errors, drop_errors)
{
    static const char *const steps[] = {"3", "4"};
    st_arena *arena = st_arena_create();
    for (size_t i = 0; i < ST_COUNT(steps); i++) {
        st_trace *trace = trace_of(idle_trace, false, *state);
        st_trace_set set = set_of(&trace, 1);
        st_trace_summary whole;
        st_trace_summary part;
        st_idle_rank *rank = NULL;
        st_trace_summarize(trace, arena, &whole);
        assert_int_equal(st_trace_cut_steps(&set, steps[i], *state), ST_OK);
        st_trace_summarize(trace, arena, &part);
        assert_int_equal(part.step_count, 1);
        assert_memory_equal(&whole.steps[i].time, &part.time, sizeof part.time);
        st_view_idle(&set, arena, &rank);
        assert_int_equal(rank->gpu.idle_ns, part.time.idle_ns);
        assert_int_equal(sum_of(&rank->gpu), part.time.idle_ns);
        assert_int_equal(rank->gpu.tasks, i == 0 ? 4 : 3);
        st_trace_destroy(trace);
    }
    st_arena_destroy(arena);
}

TEST_WITH(test_steps_refused, make_errors, drop_errors)
{
    static const struct {
        const char *steps;
        st_status status;
        const char *message;
    } cases[] = {
        {"3..5", ST_ERR_VALUE, "expected steps from 3 to 4"},
        {"1", ST_ERR_VALUE, "not all of the steps 1 are recorded"},
        {"4..3", ST_ERR_USAGE, "found '4..3'"},
        {"x", ST_ERR_USAGE, "found 'x'"},
        {"3..", ST_ERR_USAGE, "found '3..'"},
        {"99999999999999999999", ST_ERR_USAGE, "found '99999999999999999999'"},
    };
    for (size_t i = 0; i < ST_COUNT(cases); i++) {
        st_trace *trace = trace_of(idle_trace, false, *state);
        st_trace_set set = set_of(&trace, 1);
        st_errors_clear(*state);
        assert_int_equal(st_trace_cut_steps(&set, cases[i].steps, *state), cases[i].status);
        assert_contains(said(*state), cases[i].message);
        st_trace_destroy(trace);
    }
    st_errors_clear(*state);
}

TEST(test_transfer_slowdown)
{
    /* The second kind never runs alone, the last one never beside; 3 % beside computation is alone.
     */
    static const st_transfer_time times[] = {
        {0, 100000, 0},      {0, 100000, 3000},   {0, 136000, 136000}, {0, 118000, 68000},
        {1, 238500, 238500}, {2, 272000, 272000}, {2, 200000, 0},      {3, 50000, 0}};
    (void)state;
    st_transfer_slowdown found;
    st_transfer_slowdown_find(times, ST_COUNT(times), &found);
    assert_int_equal(found.alone, 3);
    assert_int_equal(found.overlapped, 3);
    assert_true(fabs(found.slowdown - 1.36) < 1e-9);
    assert_true(found.error_frac < 1e-9);
    assert_true(fabs(found.error_none_frac - (2 * 36 / 136.0 + 18 / 118.0) / 3) < 1e-9);
    /* One that takes longer is told by the others alone. */
    const st_transfer_time odd[] = {times[0], times[2], {0, 170000, 170000}};
    st_transfer_slowdown_find(odd, ST_COUNT(odd), &found);
    assert_true(fabs(found.slowdown - 1.53) < 1e-9);
    assert_true(fabs(found.error_frac - (34 / 136.0 + 34 / 170.0) / 2) < 1e-9);
    /* One whose rest is longer than those alone counts, too: of 20 and -2 us of work in 41 us. */
    const st_transfer_time quick[] = {times[0], {0, 107200, 27200}, {0, 115800, 13800}};
    st_transfer_slowdown_find(quick, ST_COUNT(quick), &found);
    assert_int_equal(found.overlapped, 2);
    assert_true(fabs(found.slowdown - 41.0 / 18) < 1e-9);
    st_transfer_slowdown_find(times, 3, &found);
    assert_int_equal(found.overlapped, 1);
    assert_true(isnan(found.slowdown));
}

/* A row for each stream, in the colours of its classes. */
TEST_WITH(test_picture, make_errors, drop_errors)
{
    st_trace *trace = trace_of(idle_trace, false, *state);
    st_trace_set set = set_of(&trace, 1);
    st_buffer svg = {0};
    st_view_streams_svg(&set, &svg);
    assert_contains(svg.data, "rank 0 stream 7");
    assert_contains(svg.data, "rank 0 stream 20");
    assert_contains(svg.data, "0.168 ms");
    st_buffer_free(&svg);
    st_trace_destroy(trace);
}

/* nccl-tests, doc/PERFORMANCE.md */
TEST_WITH(test_bus_factor, make_errors, drop_errors)
{
    assert_true(fabs(st_bus_factor("all_reduce", 8) - 1.75) < 1e-12);
    assert_true(fabs(st_bus_factor("all_gather", 5) - 0.8) < 1e-12);
    assert_true(fabs(st_bus_factor("broadcast", 5) - 1) < 1e-12);
    assert_true(isnan(st_bus_factor("all_reduce", -1)));
    assert_true(isnan(st_bus_factor("gather", 8)));
}

#define PYTHON(name, ts, dur)                                                                      \
    "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"" name                                   \
    "\",\"pid\":4,\"tid\":2,\"ts\":" ts ",\"dur\":" dur "},"
#define OPERATOR(name, thread, ts, dur, sequence, forward)                                         \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":4,\"tid\":" thread             \
    ",\"ts\":" ts ",\"dur\":" dur ",\"args\":{\"Sequence number\":" sequence                       \
    ",\"Fwd thread id\":" forward "}},"
#define BACKWARD_CALL(ts, corr)                                                                    \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":4,\"tid\":3,"    \
    "\"ts\":" ts ",\"dur\":2,\"args\":{\"correlation\":" corr "}},"

/* A model of two layers; the first one's GEMM runs backward on another thread. */
static const char module_trace[] = "{\"traceEvents\":[" PYTHON("train.py(31): step", "90", "80")
    PYTHON("nn.Module: Net_0", "100", "40") PYTHON("nn.Module: Linear_0", "105", "10.5") PYTHON(
        "nn.Module: Linear_1", "120", "15") OPERATOR("aten::addmm", "2", "106", "8", "17", "0")
        CALL("cudaLaunchKernel", "107", "2", "31") TASK("sgemm", "7", "110", "23.85", "31")
            CALL("cudaLaunchKernel", "118", "1", "32") TASK("relu", "7", "135", "4.5", "32")
                CALL("cudaLaunchKernel", "121", "2", "33") TASK("sgemm", "7", "140", "9.25", "33")
                    OPERATOR("AddmmBackward0", "3", "145", "9", "17", "1")
                        BACKWARD_CALL("146", "34") TASK("sgemm", "7", "150", "41.125", "34")
                            BACKWARD_CALL("160", "35")
                                TASK("fill", "7", "195", "2.385",
                                     "35") "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}";

static st_trace *detailed(const char *text, st_errors *errors)
{
    st_trace *trace = NULL;
    st_trace_options options = {.details = true};
    assert_int_equal(st_trace_read_memory("t.json", text, strlen(text), &options, &trace, errors),
                     ST_OK);
    return trace;
}

static const st_tree_node *node_of(const st_tree *tree, const char *name)
{
    for (size_t i = 0; i < tree->count; i++)
        if (strcmp(tree->nodes[i].name, name) == 0)
            return &tree->nodes[i];
    fail_msg("no node '%s'", name);
    return NULL;
}

TEST_WITH(test_modules, make_errors, drop_errors)
{
    st_trace *trace = detailed(module_trace, *state);
    st_trace_set set = set_of(&trace, 1);
    st_arena *arena = st_arena_create();
    st_tree tree;
    assert_int_equal(st_view_tree(&set, ST_TREE_MODULE, false, arena, &tree, *state), ST_OK);
    assert_int_equal(tree.count, 4);
    assert_int_equal(tree.nodes[0].gpu_ns, 81110);
    assert_int_equal(tree.nodes[0].self_ns, 2385);
    const st_tree_node *net = node_of(&tree, "Net_0");
    assert_int_equal(net->depth, 1);
    assert_int_equal(net->gpu_ns, 78725);
    assert_int_equal(net->self_ns, 4500);
    assert_int_equal(net->backward_ns, 41125);
    assert_int_equal(net->kernels, 4);
    assert_int_equal(net->host_ns, 40000);
    assert_int_equal(node_of(&tree, "Linear_0")->gpu_ns, 23850 + 41125);
    assert_int_equal(node_of(&tree, "Linear_1")->gpu_ns, 9250);
    assert_string_equal(tree.nodes[tree.order[2]].name, "Linear_0");
    assert_string_equal(tree.nodes[tree.order[3]].name, "Linear_1");
    st_arena_destroy(arena);
    st_trace_destroy(trace);
}

/* Whatever the kind, parts and what is unattributed add up to all GPU time. */
TEST_WITH(test_sums, make_errors, drop_errors)
{
    st_trace *trace = detailed(module_trace, *state);
    st_trace_set set = set_of(&trace, 1);
    st_arena *arena = st_arena_create();
    for (int by = 0; by < ST_TREE_BYS; by++) {
        st_tree tree;
        int64_t sum_ns = 0;
        st_status status = st_view_tree(&set, (st_tree_by)by, false, arena, &tree, *state);
        if (by == ST_TREE_ANNOTATION) {
            assert_int_equal(status, ST_ERR_VALUE);
            assert_contains(said(*state), "the trace has no annotations");
            continue;
        }
        assert_int_equal(status, ST_OK);
        for (size_t i = 0; i < tree.count; i++)
            sum_ns += tree.nodes[i].self_ns;
        assert_int_equal(sum_ns, 81110);
        assert_int_equal(tree.nodes[0].gpu_ns, 81110);
    }
    st_arena_destroy(arena);
    st_trace_destroy(trace);
}

TEST_WITH(test_stack, make_errors, drop_errors)
{
    st_trace *trace = detailed(module_trace, *state);
    st_trace_set set = set_of(&trace, 1);
    st_arena *arena = st_arena_create();
    st_tree tree;
    st_buffer svg = {0};
    assert_int_equal(st_view_tree(&set, ST_TREE_STACK, false, arena, &tree, *state), ST_OK);
    assert_int_equal(node_of(&tree, "train.py(31): step")->gpu_ns, 78725);
    assert_int_equal(node_of(&tree, "Linear_1")->depth, 3);
    st_view_tree_svg(&tree, &svg);
    assert_contains(svg.data, "train.py(31): step");
    st_buffer_free(&svg);
    st_arena_destroy(arena);
    st_trace_destroy(trace);
}

/* A kernel twice as long, one gone, one new: rows by module, and changes that add up. */
TEST_WITH(test_diff, make_errors, drop_errors)
{
    static const char after_text[] = "{\"traceEvents\":[" PYTHON("nn.Module: Net_0", "100", "40")
        PYTHON("nn.Module: Linear_0", "105", "10.5") CALL("cudaLaunchKernel", "107", "2", "31")
            TASK("sgemm", "7", "110", "47.7", "31") CALL("cudaLaunchKernel", "118", "1", "32")
                TASK("gelu", "7", "158", "2.385",
                     "32") "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}";
    st_trace *traces[] = {detailed(module_trace, *state), detailed(after_text, *state)};
    st_trace_set before = set_of(&traces[0], 1);
    st_trace_set after = set_of(&traces[1], 1);
    st_arena *arena = st_arena_create();
    st_trace_diff diff;
    double change_ns = 0;
    size_t words = 0;
    assert_int_equal(st_view_diff(&(st_diff_ask){.sets = {&before, &after}}, arena, &diff, *state),
                     ST_OK);
    assert_true(diff.by_module);
    assert_false(diff.by_step);
    for (size_t i = 0; i < diff.count; i++) {
        const st_diff_row *row = &diff.rows[i];
        change_ns += row->is_kernel ? row->time_ns[1] - row->time_ns[0] : 0;
        words += strcmp(row->name, "gelu") == 0 && strcmp(st_diff_word(row), "new") == 0 &&
                 strcmp(row->place, "Net_0") == 0;
        words += strcmp(row->name, "relu") == 0 && strcmp(st_diff_word(row), "gone") == 0;
        words += strcmp(row->name, "Linear_1") == 0 && strcmp(st_diff_word(row), "gone") == 0;
        words += strcmp(row->name, "Linear_0") == 0 && strcmp(st_diff_word(row), "shrank") == 0 &&
                 row->time_ns[0] == 64975 && row->time_ns[1] == 47700;
    }
    assert_int_equal(words, 4);
    assert_true(diff.total_ns[0] == 81110 && diff.total_ns[1] == 50085);
    assert_true(fabs(change_ns - (50085 - 81110)) < 1e-6);
    st_arena_destroy(arena);
    st_trace_destroy(traces[0]);
    st_trace_destroy(traces[1]);
}

/* What is as before is "same", whatever the number of steps and ranks. */
TEST_WITH(test_no_difference, make_errors, drop_errors)
{
    st_trace *traces[] = {detailed(idle_trace, *state), detailed(idle_trace, *state)};
    st_trace_set one = set_of(traces, 1);
    st_trace_set two = set_of(traces, 2);
    st_arena *arena = st_arena_create();
    st_trace_diff diff;
    assert_int_equal(st_view_diff(&(st_diff_ask){.sets = {&one, &two}}, arena, &diff, *state),
                     ST_OK);
    assert_true(diff.by_step);
    assert_true(diff.total_ns[0] == 154615.0 / 2);
    for (size_t i = 0; i < diff.count; i++)
        assert_string_equal(st_diff_word(&diff.rows[i]), "same");
    st_arena_destroy(arena);
    st_trace_destroy(traces[0]);
    st_trace_destroy(traces[1]);
}

#define MEMORY(ts, thread, address, bytes, total)                                                  \
    "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":4,"     \
    "\"tid\":" thread ",\"ts\":" ts ",\"args\":{\"Addr\":" address ",\"Bytes\":" bytes             \
    ",\"Total Allocated\":" total ",\"Total Reserved\":4194304,\"Device Type\":1,"                 \
    "\"Device Id\":0}},"

static const char memory_trace[] = "{\"traceEvents\":[" OPERATOR(
    "aten::addmm", "2", "106", "8", "17", "0") MEMORY("107", "2", "1000", "238500", "1238500")
    MEMORY("110", "2", "77", "-400000", "838500") OPERATOR(
        "AddmmBackward0", "3", "145", "9", "17", "1") MEMORY("146", "3", "2000", "95400", "933900")
        MEMORY("150", "3", "3000", "2385000", "3318900") MEMORY(
            "152", "3", "1000", "-238500",
            "3080400") "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"Optimizer.step#SGD."
                       "step\",\"pid\":4,"
                       "\"tid\":2,\"ts\":160,\"dur\":10}," MEMORY("161", "2", "4000", "50000",
                                                                  "3130400")
                           MEMORY("175", "2", "3000", "-2385000", "745400") CALL("cudaLaunchKernel",
                                                                                 "101.5", "2", "31")
                               TASK("sgemm", "7", "110", "23.85",
                                    "31") "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}";

TEST_WITH(test_memory, make_errors, drop_errors)
{
    st_trace *trace = detailed(memory_trace, *state);
    st_trace_set set = set_of(&trace, 1);
    st_arena *arena = st_arena_create();
    st_memory_view view;
    st_buffer svg = {0};
    assert_int_equal(st_view_memory(&set, arena, &view, *state), ST_OK);
    assert_int_equal(view.count, 1);
    const st_memory_device *gpu = &view.devices[0];
    assert_int_equal(gpu->start_bytes, 1000000);
    assert_int_equal(gpu->peak_bytes, 3318900);
    assert_int_equal(gpu->peak.at_ns, 48500);
    assert_int_equal(gpu->peak.bytes[ST_MEMORY_BEFORE], 600000);
    assert_int_equal(gpu->peak.bytes[ST_MEMORY_FORWARD], 238500);
    assert_int_equal(gpu->peak.bytes[ST_MEMORY_BACKWARD], 2480400);
    assert_int_equal(gpu->reserved_bytes, 4194304);
    assert_int_equal(gpu->difference_bytes, 0);
    const st_memory_sample *last = &gpu->samples[gpu->sample_count - 1];
    assert_int_equal(last->bytes[ST_MEMORY_FORWARD], 0);
    assert_int_equal(last->bytes[ST_MEMORY_BACKWARD], 95400);
    assert_int_equal(last->bytes[ST_MEMORY_OPTIMIZER], 50000);
    assert_int_equal(gpu->block_count, 3);
    assert_int_equal(gpu->blocks[0].bytes, 2385000);
    assert_string_equal(gpu->blocks[0].name, "AddmmBackward0");
    assert_string_equal(gpu->blocks[1].name, "aten::addmm");
    st_view_memory_svg(&view, &svg);
    assert_contains(svg.data, "3.2 MiB");
    st_buffer_free(&svg);
    st_arena_destroy(arena);
    st_trace_destroy(trace);
}

/* Without any, and with a total that events do not add up to. */
TEST_WITH(test_memory_lacks, make_errors, drop_errors)
{
    static const char missing[] =
        "{\"traceEvents\":[" MEMORY("107", "2", "1000", "238500", "1238500")
            MEMORY("110", "2", "2000", "95400",
                   "1336285") "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}";
    st_trace *traces[] = {detailed(idle_trace, *state), detailed(missing, *state)};
    st_trace_set none = set_of(&traces[0], 1);
    st_trace_set some = set_of(&traces[1], 1);
    st_arena *arena = st_arena_create();
    st_memory_view view;
    assert_int_equal(st_view_memory(&none, arena, &view, *state), ST_ERR_VALUE);
    assert_contains(said(*state), "profile_memory=True");
    assert_int_equal(st_view_memory(&some, arena, &view, *state), ST_OK);
    assert_int_equal(view.devices[0].difference_bytes, 2385);
    assert_int_equal(view.devices[0].peak.bytes[ST_MEMORY_OTHER], 238500 + 95400);
    st_arena_destroy(arena);
    st_trace_destroy(traces[0]);
    st_trace_destroy(traces[1]);
}

#define MEMORY_OF(device, type, ts, bytes)                                                         \
    "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":4,\"tid\":2,\"ts\":" ts               \
    ",\"args\":{\"Bytes\":" bytes ",\"Device Type\":" type ",\"Device Id\":" device "}},"

/* Devices by number, the host left out. 10 ms are 498 parts of 20 us: of the first, in which 1000,
 * 6000 and 3000 bytes are taken, the moment of most is shown. */
TEST_WITH(test_memory_of_devices, make_errors, drop_errors)
{
    static const char text[] =
        "{\"traceEvents\":[" CALL("cudaMalloc", "100", "2", "31") MEMORY_OF("3", "1", "100", "1000")
            MEMORY_OF("0", "1", "101", "2385") MEMORY_OF("-1", "0", "102", "77")
                MEMORY_OF("3", "1", "105", "5000") MEMORY_OF("3", "1", "110", "-3000")
                    MEMORY_OF("3", "1", "10100",
                              "500") "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}";
    st_trace *trace = detailed(text, *state);
    st_trace_set set = set_of(&trace, 1);
    st_arena *arena = st_arena_create();
    st_memory_view view;
    assert_int_equal(st_view_memory(&set, arena, &view, *state), ST_OK);
    assert_int_equal(view.count, 2);
    assert_int_equal(view.devices[0].device, 0);
    assert_int_equal(view.devices[0].peak_bytes, 2385);
    const st_memory_device *gpu = &view.devices[1];
    assert_int_equal(gpu->device, 3);
    assert_int_equal(gpu->peak_bytes, 6000);
    assert_int_equal(gpu->peak.at_ns, 5000);
    assert_false(gpu->knows_start);
    assert_int_equal(gpu->sample_count, 2);
    assert_int_equal(gpu->samples[0].at_ns, 5000);
    assert_int_equal(gpu->samples[0].bytes[ST_MEMORY_OTHER], 6000);
    assert_int_equal(gpu->samples[1].at_ns, 10000000);
    assert_int_equal(gpu->samples[1].bytes[ST_MEMORY_OTHER], 3500);
    st_arena_destroy(arena);
    st_trace_destroy(trace);
}

/* Nothing is launched from 131 to 150 us. The host had waited where its call returns after the
 * first of these, up to the last. */
TEST_WITH(test_idle_behind_a_wait, make_errors, drop_errors)
{
    static const struct {
        const char *duration_us; /* of a call from 120 us on */
        bool has_waited;
    } cases[] = {{"10.5", false}, {"11", false}, {"11.001", true}, {"30", true}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[2048];
        (void)snprintf(
            text, sizeof text, "%s%s%s",
            "{\"traceEvents\":[" CALL("cudaLaunchKernel", "102", "5", "31")
                TASK("sgemm", "7", "105", "26",
                     "31") "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
                           "\"cudaStreamSynchronize\",\"pid\":4,\"tid\":2,\"ts\":120,\"dur\":",
            cases[i].duration_us,
            ",\"args\":{\"correlation\":40}}," CALL("cudaLaunchKernel", "150", "5", "32")
                TASK("sgemm", "7", "153", "20",
                     "32") "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}");
        st_trace *trace = trace_of(text, false, *state);
        st_trace_set set = set_of(&trace, 1);
        st_arena *arena = st_arena_create();
        st_idle_rank *ranks = NULL;
        st_view_idle(&set, arena, &ranks);
        const st_idle *idle = &ranks[0].streams[0];
        assert_int_equal(idle->causes_ns[ST_IDLE_LAUNCH], 3000 + 3000);
        assert_int_equal(idle->causes_ns[ST_IDLE_SYNC], cases[i].has_waited ? 19000 : 0);
        assert_int_equal(idle->causes_ns[ST_IDLE_HOST], cases[i].has_waited ? 0 : 19000);
        st_arena_destroy(arena);
        st_trace_destroy(trace);
    }
}

TESTS(trace_views);
