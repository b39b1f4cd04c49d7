/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls cost the host: from a table, or from a recording of PyTorch's profiler on a real GPU,
 * as the median of each call that does not wait. Such recordings lack the calls of cuBLAS, cuDNN
 * and NCCL but contain what these launch, so each of their calls costs one launch.
 */
#include "record/price/imported.h"

#include "base/memory.h"
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

/* ---- from a recording ---- */

/* A call of a recording. */
typedef struct seen_call {
    uint32_t name;
    int64_t duration_ns;
} seen_call;

ST_COMPARE(order_seen, seen_call, ST_RISING(name) ST_RISING(duration_ns));

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

static st_status learn(const st_trace *trace, st_arena *arena, const st_call_cost **costs,
                       size_t *count, st_errors *errors)
{
    enum { LIBRARIES = 4 };
    size_t seen_count = 0;
    seen_call *seen = st_arena_alloc(arena, trace->event_count + 1, sizeof *seen);
    st_call_cost *list = st_arena_alloc(arena, trace->event_count + LIBRARIES, sizeof *list);
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (event->kind == ST_TRACE_CALL && !waits(event))
            seen[seen_count++] = (seen_call){event->name, event->duration_ns};
    }
    st_sort(seen, seen_count, sizeof *seen, order_seen);
    /* Medians of sorted calls, a row for each name. */
    static const char *const libraries[] = {"cublas*Gemm*", "cublasLtMatmul", "cudnnBackendExecute",
                                            "nccl[A-Z]*"};
    size_t rows = 0;
    int64_t launch_ns = -1;
    for (size_t first = 0, end = 0; first < seen_count; first = end) {
        while (end < seen_count && seen[end].name == seen[first].name)
            end++;
        const char *name = trace->names[seen[first].name];
        int64_t median_ns = seen[first + (end - first) / 2].duration_ns;
        list[rows++] = (st_call_cost){st_arena_copy(arena, name, strlen(name)), median_ns};
        if (strcmp(name, "cudaLaunchKernel") == 0)
            launch_ns = median_ns;
    }
    for (size_t i = 0; i < ST_COUNT(libraries) && launch_ns >= 0; i++)
        list[rows++] = (st_call_cost){libraries[i], launch_ns};
    *count = rows;
    *costs = list;
    return *count > 0 ? ST_OK
                      : st_fail(errors, ST_ERR_VALUE, (st_place){.file = "--costs"},
                                "the recording contains no CUDA calls" ST_EXPECTED
                                "events of category cuda_runtime or cuda_driver");
}

st_status st_call_costs_read(const char *file, st_arena *arena, const st_call_cost **costs,
                             size_t *count, st_errors *errors)
{
    st_trace *trace = NULL;
    FILE *stream = fopen(file, "rb");
    unsigned char head[64] = {0};
    size_t length = stream != NULL ? fread(head, 1, sizeof head, stream) : 0;
    if (stream != NULL)
        (void)fclose(stream);
    size_t blanks = 0;
    while (blanks < length && strchr(" \t\r\n", head[blanks]) != NULL)
        blanks++;
    bool json = blanks < length && (head[blanks] == '{' || head[blanks] == '[');
    if (!json && (length <= 1 || head[0] != 0x1f || head[1] != 0x8b)) {
        const st_named_times asked = {
            .file = file, .option = "--costs", .column = "call", .most_s = 10};
        st_named_time *times = NULL;
        st_status table_status = st_named_times_read(&asked, arena, &times, count, errors);
        st_call_cost *list = st_arena_alloc(arena, *count + 1, sizeof *list);
        for (size_t i = 0; table_status == ST_OK && i < *count; i++)
            list[i] = (st_call_cost){times[i].name, (int64_t)(times[i].time_s * 1e9 + 0.5)};
        *costs = list;
        return table_status;
    }
    st_status status = st_trace_read(file, &(st_trace_options){.partial = true}, &trace, errors);
    if (status == ST_OK)
        status = learn(trace, arena, costs, count, errors);
    st_trace_destroy(trace);
    return status;
}
