/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a trace from memory and building its graph. The text is made here, with what real traces
 * consist of: operators with shapes, calls, kernels with twenty arguments, and flow events, which
 * are passed over.
 */
#include "bench.h"

#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef STEPTIME_HAVE_YAJL
#include <yajl/yajl_parse.h>
#endif

enum { LAUNCHES = 30000, FLOWS = 100000 };

typedef struct setting {
    st_buffer text;
    st_buffer padded; /* the same with flow events that are not kept */
    st_trace *trace;
    st_errors *errors;
} setting;

static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench_trace: %s\n", what);
    exit(1);
}

static void write_flow(st_buffer *text, int i)
{
    st_buffer_printf(text,
                     ",\n{\"ph\": \"s\", \"id\": %d, \"pid\": 3113936, \"tid\": 3126441, \"ts\": "
                     "4212936%06d.310,\"cat\": \"ac2g\", \"name\": \"ac2g\"}",
                     i, i);
}

static void write_launch(st_buffer *text, int i)
{
    st_buffer_printf(
        text,
        "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add_\", \"pid\": 3113936, "
        "\"tid\": 3126441, \"ts\": 4212936%06d.125, \"dur\": 13.385, \"args\": {\"External id\": "
        "%d, \"Record function id\": 0, \"Sequence number\": %d, \"Fwd thread id\": 0, \"Ev Idx\": "
        "%d, \"Concrete Inputs\": [\"\", \"\", \"1\"], \"Input type\": [\"float\", \"float\", "
        "\"Scalar\"], \"Input Strides\": [[65536, 1024, 32, 1], [65536, 1024, 32, 1], []], \"Input "
        "Dims\": [[32, 64, 32, 32], [32, 64, 32, 32], []]}},\n",
        i > 0 ? ",\n" : "", 4 * i, i, i, i);
    st_buffer_printf(
        text,
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": "
        "3113936, \"tid\": 3126441, \"ts\": 4212936%06d.500, \"dur\": 4.012, \"args\": {\"External "
        "id\": %d, \"cbid\": 211, \"correlation\": %d}},\n",
        4 * i + 1, i, i);
    st_buffer_printf(
        text,
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void at::native::"
        "vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<"
        "char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)\", "
        "\"pid\": 0, \"tid\": 7, \"ts\": 4212936%06d.010, \"dur\": 3.071, \"args\": {\"External "
        "id\": %d, \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": "
        "%d, \"registers per thread\": 18, \"shared memory\": 0, \"blocks per SM\": 38.787880, "
        "\"warps per SM\": 155.151520, \"grid\": [5120, 1, 1], \"block\": [128, 1, 1], \"est. "
        "achieved occupancy %%\": 100}}",
        4 * i + 8, i, i);
}

static void make_texts(setting *s)
{
    st_buffer_text(&s->text, "{\"schemaVersion\": 1, \"traceEvents\": [\n");
    for (int i = 0; i < LAUNCHES; i++) {
        write_launch(&s->text, i);
        write_flow(&s->text, i);
    }
    st_buffer_append(&s->padded, s->text.data, s->text.length);
    for (int i = 0; i < FLOWS; i++)
        write_flow(&s->padded, i);
    st_buffer_text(&s->text, "\n]}\n");
    st_buffer_text(&s->padded, "\n]}\n");
    demand(!s->text.failed && !s->padded.failed, "out of memory");
}

static void read_text(setting *s, const st_buffer *text, size_t repeats)
{
    for (size_t i = 0; i < repeats; i++) {
        st_trace *trace = NULL;
        demand(st_trace_read_memory("bench", text->data, text->length, NULL, &trace, s->errors) ==
                       ST_OK &&
                   trace->event_count == 3 * (size_t)LAUNCHES,
               "the trace cannot be read");
        st_trace_destroy(trace);
    }
}

static void run_read(void *context, size_t repeats)
{
    setting *s = context;
    read_text(s, &s->text, repeats);
}

static void run_padded(void *context, size_t repeats)
{
    setting *s = context;
    read_text(s, &s->padded, repeats);
}

/* The same text through yajl, which is shown every value and keeps none. */
static void run_yajl(void *context, size_t repeats)
{
#ifdef STEPTIME_HAVE_YAJL
    static const yajl_callbacks nothing = {0};
    setting *s = context;
    for (size_t i = 0; i < repeats; i++) {
        yajl_handle handle = yajl_alloc(&nothing, NULL, NULL);
        demand(handle != NULL &&
                   yajl_parse(handle, (const unsigned char *)s->text.data, s->text.length) ==
                       yajl_status_ok &&
                   yajl_complete_parse(handle) == yajl_status_ok,
               "yajl cannot read the trace");
        yajl_free(handle);
    }
#else
    (void)context;
    (void)repeats;
#endif
}

static void run_graph(void *context, size_t repeats)
{
    setting *s = context;
    st_trace_set set = {.ranks = &s->trace, .count = 1, .world_size = -1};
    for (size_t i = 0; i < repeats; i++) {
        st_trace_graph *graph = NULL;
        demand(st_trace_graph_make(&set, &graph, s->errors) == ST_OK, "no graph");
        st_trace_graph_destroy(graph);
    }
}

int main(void)
{
    setting s = {.errors = st_errors_create()};
    demand(s.errors != NULL, "out of memory");
    make_texts(&s);
    demand(st_trace_read_memory("bench", s.text.data, s.text.length, NULL, &s.trace, s.errors) ==
               ST_OK,
           "the trace cannot be read");
    bench_case cases[] = {
        {.name = "read", .clock = BENCH_CPU, .run = run_read, .context = &s},
        {.name = "read with flows", .clock = BENCH_CPU, .run = run_padded, .context = &s},
        {.name = "yajl", .clock = BENCH_CPU, .run = run_yajl, .context = &s},
        {.name = "graph", .clock = BENCH_CPU, .run = run_graph, .context = &s},
    };
    bench_measure(cases, sizeof cases / sizeof cases[0]);
    double mb = (double)s.text.length / 1e6;
    double padded_mb = (double)s.padded.length / 1e6;
    bench_figure figures[] = {
        {"trace ingest, JSON on a core", mb / cases[0].median_s, "MB/s", 250, true},
        {"the same with more flow events", padded_mb / cases[1].median_s, "MB/s", 250, true},
        {"rate over that of yajl, which keeps nothing", cases[2].median_s / cases[0].median_s, "",
         0, true},
        {"graph of a trace, GPU tasks", LAUNCHES / cases[3].median_s / 1e6, "M/s", 0, true},
    };
    printf("traces of %.1f and %.1f MB, %d launches; median of %d rounds\n", mb, padded_mb,
           LAUNCHES, BENCH_ROUNDS);
    bool reached = bench_print(figures, sizeof figures / sizeof figures[0]);
    st_trace_destroy(s.trace);
    st_buffer_free(&s.text);
    st_buffer_free(&s.padded);
    st_errors_destroy(s.errors);
    return reached ? 0 : 1;
}
