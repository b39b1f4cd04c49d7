/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls cost the host: from a table, or learnt from a recording of PyTorch's profiler on a
 * real GPU, of each call the median of those that wait for nothing. cuBLAS, cuDNN and NCCL are not
 * in such recordings by their own names; what they launch is, so that their calls cost one launch.
 */
#include "record/price/imported.h"

#include "base/fields.h"
#include "base/memory.h"
#include "job/files.h"
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

typedef struct cost_row {
    const char *call;
    double time_s;
} cost_row;

static st_status read_table(const char *file, st_arena *arena, const st_call_cost **costs,
                            size_t *count, st_errors *errors)
{
    static const st_field_unit units[] = {{"us", 1e-6}, {"ms", 1e-3}, {NULL, 0}};
    static const st_field fields[] = {
        {.name = "call",
         .set = st_field_text,
         .flags = ST_FIELD_REQUIRED,
         .offset = offsetof(cost_row, call)},
        {.name = "time",
         .units = units,
         .set = st_field_number,
         .flags = ST_FIELD_REQUIRED,
         .most = 10,
         .offset = offsetof(cost_row, time_s)},
    };
    st_source source;
    const st_csv *csv = NULL;
    st_status status =
        st_file_read_table(file, (st_place){.file = "--costs"}, arena, &source, errors);
    if (status == ST_OK)
        status = st_csv_parse(source.file, source.text, source.length, arena, &csv, errors);
    if (status != ST_OK)
        return status;
    st_field_reader reader = {
        .csv = csv, .fields = fields, .count = ST_COUNT(fields), .arena = arena, .errors = errors};
    st_call_cost *list = st_arena_alloc(arena, csv->row_count + 1, sizeof *list);
    if (list == NULL)
        return st_out_of_memory(errors);
    *count = 0;
    for (size_t i = 0; st_fields_find(&reader) && i < csv->row_count; i++) {
        cost_row row = {0};
        if (st_fields_read(&reader, i, &row))
            list[(*count)++] = (st_call_cost){row.call, (int64_t)(row.time_s * 1e9 + 0.5)};
    }
    *costs = list;
    return reader.status;
}

/* ---- from a recording ---- */

/* A call of a recording. */
typedef struct seen_call {
    uint32_t name;
    int64_t duration_ns;
} seen_call;

static int order_seen(const void *left, const void *right)
{
    const seen_call *a = left;
    const seen_call *b = right;
    int order = ST_ORDER(a->name, b->name);
    return order != 0 ? order : ST_ORDER(a->duration_ns, b->duration_ns);
}

static bool waits(const st_trace_event *event)
{
    switch ((st_trace_call)event->class_) {
    case ST_CALL_SYNC_STREAM:
    case ST_CALL_SYNC_EVENT:
    case ST_CALL_SYNC_DEVICE:
    case ST_CALL_FREE:
        return true;
    default:
        return false;
    }
}

static bool is_recording(const char *file)
{
    FILE *stream = fopen(file, "rb");
    unsigned char head[64] = {0};
    size_t length = stream != NULL ? fread(head, 1, sizeof head, stream) : 0;
    if (stream != NULL)
        (void)fclose(stream);
    size_t blanks = 0;
    while (blanks < length && strchr(" \t\r\n", head[blanks]) != NULL)
        blanks++;
    bool json = blanks < length && (head[blanks] == '{' || head[blanks] == '[');
    return json || (length > 1 && head[0] == 0x1f && head[1] == 0x8b);
}

/* Medians of sorted calls, a row for each name. */
static size_t add_medians(const st_trace *trace, const seen_call *seen, size_t count,
                          st_arena *arena, st_call_cost *list)
{
    static const char *const libraries[] = {"cublas*Gemm*", "cublasLtMatmul", "cudnnBackendExecute",
                                            "nccl[A-Z]*"};
    size_t rows = 0;
    int64_t launch_ns = -1;
    for (size_t first = 0, end = 0; first < count; first = end) {
        while (end < count && seen[end].name == seen[first].name)
            end++;
        const char *name = trace->names[seen[first].name];
        int64_t median_ns = seen[first + (end - first) / 2].duration_ns;
        list[rows++] = (st_call_cost){st_arena_copy(arena, name, strlen(name)), median_ns};
        if (strcmp(name, "cudaLaunchKernel") == 0)
            launch_ns = median_ns;
    }
    for (size_t i = 0; i < ST_COUNT(libraries) && launch_ns >= 0; i++)
        list[rows++] = (st_call_cost){libraries[i], launch_ns};
    return rows;
}

static st_status learn(const st_trace *trace, st_arena *arena, const st_call_cost **costs,
                       size_t *count, st_errors *errors)
{
    enum { LIBRARIES = 4 };
    size_t seen_count = 0;
    seen_call *seen = st_arena_alloc(arena, trace->event_count + 1, sizeof *seen);
    st_call_cost *list = st_arena_alloc(arena, trace->event_count + LIBRARIES, sizeof *list);
    if (seen == NULL || list == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (event->kind == ST_TRACE_CALL && !waits(event))
            seen[seen_count++] = (seen_call){event->name, event->duration_ns};
    }
    st_sort(seen, seen_count, sizeof *seen, order_seen);
    *count = add_medians(trace, seen, seen_count, arena, list);
    *costs = list;
    if (st_arena_failed(arena))
        return st_out_of_memory(errors);
    return *count > 0 ? ST_OK
                      : st_fail(errors, ST_ERR_VALUE, (st_place){.file = "--costs"},
                                "the recording has no calls of CUDA" ST_EXPECTED
                                "events of the category cuda_runtime or cuda_driver");
}

st_status st_call_costs_read(const char *file, st_arena *arena, const st_call_cost **costs,
                             size_t *count, st_errors *errors)
{
    st_trace *trace = NULL;
    if (!is_recording(file))
        return read_table(file, arena, costs, count, errors);
    st_status status = st_trace_read(file, &(st_trace_options){.partial = true}, &trace, errors);
    if (status == ST_OK)
        status = learn(trace, arena, costs, count, errors);
    st_trace_destroy(trace);
    return status;
}
