/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings written anew: the same, changed, and several ranks in one file. */
#include "trace_view_support.h"
#include "trace/bytes.h"
#include "trace/trace_export.h"
#include "trace/view.h"

#include <unistd.h>

static const char *write_file(const char *text)
{
    static char paths[4][32];
    static size_t next;
    char *path = paths[next++ % 4];
    strcpy(path, "/tmp/st-export-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(file), 0);
    return path;
}

static st_trace_set *read_set(const char *const *texts, size_t count, st_errors *errors)
{
    const char *paths[2];
    st_trace_set *set = NULL;
    for (size_t i = 0; i < count; i++)
        paths[i] = write_file(texts[i]);
    assert_int_equal(st_trace_set_read(paths, count, NULL, &set, errors), ST_OK);
    return set;
}

static void drop_set(st_trace_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        unlink(set->ranks[i]->file);
    st_trace_set_destroy(set);
}

static void assert_same_events(const st_trace *a, const st_trace *b)
{
    assert_int_equal(a->event_count, b->event_count);
    for (size_t i = 0; i < a->event_count; i++) {
        assert_int_equal(a->events[i].start_ns, b->events[i].start_ns);
        assert_int_equal(a->events[i].duration_ns, b->events[i].duration_ns);
        assert_int_equal(st_trace_correlation(a, &a->events[i]),
                         st_trace_correlation(b, &b->events[i]));
        assert_string_equal(a->names[a->events[i].name], b->names[b->events[i].name]);
    }
}

/* What nothing changes reads back as it was, packed or not. */
TEST_WITH(test_same, make_errors, drop_errors)
{
    const char *const texts[] = {idle_trace};
    st_trace_set *set = read_set(texts, 1, *state);
    st_trace_export asked = {.set = set};
    st_buffer text = {0};
    assert_int_equal(st_trace_export_rank(&asked, 0, &text, *state), ST_OK);
    st_trace *again = trace_of(text.data, false, *state);
    assert_same_events(set->ranks[0], again);
    assert_int_equal(again->file_events, set->ranks[0]->file_events);
    st_trace_destroy(again);
    assert_int_equal(st_gzip(&text, *state), ST_OK);
    assert_int_equal(st_trace_read_memory("t.gz", text.data, text.length, NULL, &again, *state),
                     ST_OK);
    assert_same_events(set->ranks[0], again);
    st_trace_destroy(again);
    st_buffer_free(&text);
    drop_set(set);
}

typedef struct changed {
    st_trace_set *set;
    st_trace_graph *graph;
    st_arena *arena;
    st_trace_outcome outcome;
    st_trace *again;
    st_buffer text;
} changed;

static void change(changed *c, const st_trace_change *asked_for, st_errors *errors)
{
    const char *const texts[] = {idle_trace};
    *c = (changed){.set = read_set(texts, 1, errors), .arena = st_arena_create()};
    assert_int_equal(st_trace_graph_make(c->set, &c->graph, errors), ST_OK);
    assert_int_equal(st_trace_whatif(c->graph, asked_for, c->arena, &c->outcome, errors), ST_OK);
    st_trace_export asked = {.set = c->set,
                             .graph = c->graph,
                             .before = &c->outcome.times_before,
                             .after = &c->outcome.times_after,
                             .critical = true};
    assert_int_equal(st_trace_export_rank(&asked, 0, &c->text, errors), ST_OK);
    c->again = trace_of(c->text.data, false, errors);
}

static void drop(changed *c)
{
    st_trace_destroy(c->again);
    st_buffer_free(&c->text);
    st_trace_graph_destroy(c->graph);
    st_arena_destroy(c->arena);
    drop_set(c->set);
}

/* The new step lasts as the what-if says, and its GEMMs half as long as recorded. */
TEST_WITH(test_changed, make_errors, drop_errors)
{
    static const char *const sets[] = {"speed.gemm=2"};
    changed c;
    st_trace_summary summary;
    change(&c, &(st_trace_change){.sets = sets, .set_count = 1, .keep_times = true}, *state);
    st_trace_summarize(c.again, c.arena, &summary);
    assert_int_equal(summary.time.window_ns, c.outcome.after[0].window_ns);
    /* each rounded to whole nanoseconds */
    assert_in_range(summary.classes[ST_TRACE_GEMM].total_ns, 70115 / 2, 70115 / 2 + 2);
    assert_int_equal(summary.classes[ST_TRACE_COMMUNICATION].total_ns, 50000);
    assert_int_equal(summary.step_count, 2);
    assert_int_equal(summary.overlaps, 0);
    assert_contains(c.text.data, "\"cat\":\"critical_path\"");
    drop(&c);
}

TEST_WITH(test_removed, make_errors, drop_errors)
{
    static const char *const removed[] = {"ampere*"};
    changed c;
    change(&c, &(st_trace_change){.removed = removed, .removed_count = 1, .keep_times = true},
           *state);
    assert_int_equal(c.again->kind_counts[ST_TRACE_KERNEL], 3);
    assert_null(strstr(c.text.data, "\"name\":\"ampere"));
    drop(&c);
}

/* ---- copies ---- */

enum { LAYERS = 6 };

typedef struct written_step {
    st_buffer text;
    int kernels;
    int host_us;
    double gpu_us;
} written_step;

static void add_kernel(written_step *s, const char *name, double duration_us)
{
    s->kernels++;
    st_buffer_printf(&s->text,
                     "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
                     "\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1,\"args\":{\"correlation\":%d}},\n"
                     "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":0,\"tid\":7,"
                     "\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"device\":0,\"stream\":7,"
                     "\"correlation\":%d}},\n",
                     s->host_us, s->kernels,
                     strncmp(name, "Memcpy", 6) == 0 ? "gpu_memcpy" : "kernel", name, s->gpu_us,
                     duration_us, s->kernels);
    s->host_us += 2;
    s->gpu_us += duration_us;
}

/* A step of one micro-batch, back to back. */
static written_step write_step(void)
{
    written_step s = {.host_us = 100, .gpu_us = 110};
    st_buffer_text(&s.text, "{\"distributedInfo\":{\"rank\":0,\"world_size\":1},\"traceEvents\":[");
    for (int layer = 0; layer < LAYERS; layer++) {
        add_kernel(&s, "gemm_f", 61.5);
        add_kernel(&s, "gelu_f", 7.5);
    }
    for (int layer = 0; layer < LAYERS; layer++) {
        add_kernel(&s, "gemm_b", 120.25);
        add_kernel(&s, "layer_norm_b", 15.5);
        add_kernel(&s, "Memcpy DtoD (Device -> Device)", 3.25);
    }
    add_kernel(&s, "adam", 85.5);
    st_buffer_text(&s.text, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}]}");
    return s;
}

static void export_copies(changed *c, bool merged, st_errors *errors)
{
    static const char *const sets[] = {"model.layers=8"};
    static const char *const have[] = {"model.layers=6"};
    written_step step = write_step();
    const char *const texts[] = {step.text.data};
    *c = (changed){.set = read_set(texts, 1, errors), .arena = st_arena_create()};
    st_buffer_free(&step.text);
    const st_trace_change change_of = {
        .sets = sets, .set_count = 1, .have = have, .have_count = 1, .keep_times = true};
    assert_int_equal(st_trace_graph_make(c->set, &c->graph, errors), ST_OK);
    assert_int_equal(st_trace_whatif(c->graph, &change_of, c->arena, &c->outcome, errors), ST_OK);
    const st_trace_export asked = {.set = c->set,
                                   .graph = c->graph,
                                   .before = &c->outcome.times_before,
                                   .after = &c->outcome.times_after,
                                   .critical = true};
    if (merged)
        assert_int_equal(st_trace_export_all(&asked, &c->text, errors), ST_OK);
    else
        assert_int_equal(st_trace_export_rank(&asked, 0, &c->text, errors), ST_OK);
}

/* Two further layers of five tasks, which no call launches: all stand in a row on the stream, each
 * as long as what it is a copy of. */
TEST_WITH(test_copies, make_errors, drop_errors)
{
    static const double layer_us = 61.5 + 7.5 + 120.25 + 15.5 + 3.25;
    changed c;
    st_trace_summary summary;
    export_copies(&c, false, *state);
    c.again = trace_of(c.text.data, false, *state);
    assert_int_equal(c.outcome.added, 10);
    assert_int_equal(c.again->kind_counts[ST_TRACE_KERNEL], 25 + 8);
    assert_int_equal(c.again->kind_counts[ST_TRACE_MEMCPY], 6 + 2);
    st_trace_summarize(c.again, c.arena, &summary);
    assert_int_equal(summary.overlaps, 0);
    assert_int_equal(summary.unlaunched, 10);
    assert_int_equal(summary.streams, 1);
    /* The optimizer takes its time for each layer. */
    assert_int_equal(summary.time.exposed_compute_ns,
                     llround(1000 * (8 * layer_us + 85.5 * 8 / LAYERS)));
    assert_int_equal(summary.time.window_ns, c.outcome.after[0].window_ns);
    const st_trace_event *last = &c.again->events[c.again->event_count - 1];
    assert_string_equal(c.again->names[last->name], "adam");
    assert_contains(c.text.data, "\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy DtoD (Device -> "
                                 "Device)\",\"pid\":0,\"tid\":7,\"ts\":");
    assert_contains(c.text.data, "\"pid\":\"critical path\",\"tid\":\"critical path\"");
    drop(&c);
}

/* In a file of several ranks each has processes of its own. */
TEST_WITH(test_copies_of_ranks, make_errors, drop_errors)
{
    changed c;
    export_copies(&c, true, *state);
    assert_contains(c.text.data, "\"cat\":\"kernel\",\"name\":\"gemm_f\",\"pid\":\"rank 0 0\","
                                 "\"tid\":7,\"ts\":");
    assert_contains(c.text.data, "\"pid\":\"rank 0 critical path\"");
    assert_contains(c.text.data, "\"name\":\"cudaLaunchKernel\",\"pid\":\"rank 0 1\"");
    drop(&c);
}

/* Marks and texts of processes; ranges around tasks move with them, in whole microseconds where
 * they were such. */
TEST_WITH(test_marks, make_errors, drop_errors)
{
    static const char text[] =
        "{\"baseTimeNanoseconds\":5000,\"traceEvents\":["
        "{\"ph\":\"i\",\"name\":\"mark\",\"pid\":\"Spans\",\"tid\":9,\"ts\":120},\n"
        "{\"ph\":\"i\",\"name\":\"later\",\"pid\":9,\"tid\":9,\"ts\":120.385},\n"
        "{\"ph\":\"s\",\"id\":52,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":4,\"tid\":2,"
        "\"ts\":102},\n" CALL("cudaLaunchKernel", "102", "5", "31")
            TASK("sgemm", "7", "110", "20", "31") "{\"ph\":\"M\",\"name\":\"x\",\"pid\":0}]}";
    static const char other[] =
        "{\"baseTimeNanoseconds\":2000,\"traceEvents\":[" CALL("cudaLaunchKernel", "102", "5", "31")
            TASK("sgemm", "7", "110", "20", "31") "{\"ph\":\"M\",\"name\":\"x\",\"pid\":0}]}";
    const char *const texts[] = {text, other};
    st_trace_set *set = read_set(texts, 2, *state);
    const st_trace_export asked = {.set = set};
    st_buffer out = {0};
    assert_int_equal(st_trace_export_all(&asked, &out, *state), ST_OK);
    /* The first rank's clock begins 3 us after the second's. */
    assert_contains(out.data, "\"name\":\"mark\",\"pid\":\"rank 0 Spans\",\"tid\":9,\"ts\":123}");
    assert_contains(out.data, "\"name\":\"later\",\"pid\":\"rank 0 9\",\"tid\":9,\"ts\":123.385}");
    assert_contains(out.data, "\"id\":\"rank 0 52\"");
    assert_contains(out.data, "\"name\":\"x\",\"pid\":\"rank 0 0\"}");
    assert_contains(out.data, "\"pid\":\"rank 0 4\",\"tid\":2,\"ts\":105,\"dur\":5");
    assert_contains(out.data, "\"pid\":\"rank 1 4\",\"tid\":2,\"ts\":102,\"dur\":5");
    assert_contains(out.data, "\"ts\":113,\"dur\":20");
    st_buffer_free(&out);
    drop_set(set);
}

/* One file of two ranks reads as two ranks, on one clock. */
TEST_WITH(test_all, make_errors, drop_errors)
{
    const char *const texts[] = {MET("0", "100", "100"), MET("1", "123.85", "76.15")};
    st_trace_set *set = read_set(texts, 2, *state);
    st_trace_export asked = {.set = set};
    st_buffer text = {0};
    st_trace_set *again = NULL;
    assert_int_equal(st_trace_export_all(&asked, &text, *state), ST_OK);
    const char *path = write_file(text.data);
    assert_int_equal(st_trace_set_read(&path, 1, NULL, &again, *state), ST_OK);
    assert_int_equal(again->count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(again->ranks[i]->rank, i);
        assert_int_equal(again->ranks[i]->world_size, 2);
        assert_same_events(set->ranks[i], again->ranks[i]);
    }
    st_buffer_free(&text);
    drop_set(again);
    drop_set(set);
}

/* What each task adds is the whole length, and tasks follow each other. */
TEST_WITH(test_path, make_errors, drop_errors)
{
    st_trace *trace = trace_of(idle_trace, false, *state);
    st_trace_set set = set_of(&trace, 1);
    st_trace_graph *graph = NULL;
    st_arena *arena = st_arena_create();
    st_path_view view;
    int64_t sum_ns = 0;
    assert_int_equal(st_trace_graph_make(&set, &graph, *state), ST_OK);
    assert_int_equal(st_view_path(graph, 0, arena, &view, *state), ST_OK);
    assert_int_equal(view.length_ns, 187615); /* to the end of the last step */
    for (size_t i = 0; i < view.count; i++) {
        sum_ns += view.rows[i].adds_ns;
        assert_true(i == 0 || view.rows[i].end_ns > view.rows[i - 1].end_ns);
    }
    assert_int_equal(sum_ns, 187615);
    assert_string_equal(view.rows[view.count - 1].task.category_name, "host");
    st_trace_graph_destroy(graph);
    st_arena_destroy(arena);
    st_trace_destroy(trace);
}

/* A file that is there no more. */
TEST_WITH(test_gone, make_errors, drop_errors)
{
    const char *const texts[] = {idle_trace};
    st_trace_set *set = read_set(texts, 1, *state);
    st_trace_export asked = {.set = set};
    st_buffer text = {0};
    unlink(set->ranks[0]->file);
    assert_int_equal(st_trace_export_rank(&asked, 0, &text, *state), ST_ERR_IO);
    assert_contains(said(*state), "No such file or directory");
    st_buffer_free(&text);
    st_trace_set_destroy(set);
}

TESTS(trace_export);
