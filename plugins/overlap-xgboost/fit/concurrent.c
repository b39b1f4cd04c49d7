/* SPDX-License-Identifier: Apache-2.0 */
/* Spans in which collectives run, joined and sorted; a kernel is looked up by bisection. */
#include "overlap-xgboost/fit/concurrent.h"

#include <stdlib.h>

ST_COMPARE(by_place, st_concurrent_span, ST_RISING(device) ST_RISING(start_ns));

st_status st_concurrent_make(const st_recorded *recorded, st_arena *arena,
                             st_concurrent *concurrent)
{
    size_t count = 0;
    for (size_t i = 0; i < recorded->count; i++)
        count += recorded->kernels[i].collective != NULL ? 1 : 0;
    *concurrent =
        (st_concurrent){.spans = st_arena_alloc(arena, count + 1, sizeof *concurrent->spans)};
    if (concurrent->spans == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < recorded->count; i++) {
        const st_recorded_kernel *kernel = &recorded->kernels[i];
        if (kernel->collective != NULL && kernel->end_ns > kernel->start_ns)
            concurrent->spans[concurrent->count++] =
                (st_concurrent_span){.device = kernel->device,
                                     .start_ns = kernel->start_ns,
                                     .end_ns = kernel->end_ns,
                                     .collective = kernel->collective,
                                     .longest_ns = kernel->end_ns - kernel->start_ns};
    }
    qsort(concurrent->spans, concurrent->count, sizeof *concurrent->spans, by_place);
    /* Joins spans that touch; they are sorted. */
    size_t kept = 0;
    for (size_t i = 0; i < concurrent->count; i++) {
        st_concurrent_span next = concurrent->spans[i];
        st_concurrent_span *last = kept > 0 ? &concurrent->spans[kept - 1] : NULL;
        if (last == NULL || last->device != next.device || next.start_ns > last->end_ns) {
            concurrent->spans[kept++] = next;
            continue;
        }
        if (next.longest_ns > last->longest_ns) {
            last->collective = next.collective;
            last->longest_ns = next.longest_ns;
        }
        last->end_ns = next.end_ns > last->end_ns ? next.end_ns : last->end_ns;
    }
    concurrent->count = kept;
    return ST_OK;
}

/* The first span that ends behind the kernel's start, on its device. */
static size_t first_span(const st_concurrent *concurrent, const st_recorded_kernel *kernel)
{
    const st_concurrent_span *spans = concurrent->spans;
    size_t low = 0;
    ST_BISECT(low, concurrent->count,
              spans[middle].device < kernel->device || (spans[middle].device == kernel->device &&
                                                        spans[middle].end_ns <= kernel->start_ns));
    return low;
}

int64_t st_concurrent_time(const st_concurrent *concurrent, const st_recorded_kernel *kernel,
                           const st_recorded_collective **collective)
{
    int64_t sum_ns = 0;
    int64_t most_ns = 0;
    const st_recorded_collective *longest = NULL;
    for (size_t i = first_span(concurrent, kernel); i < concurrent->count; i++) {
        const st_concurrent_span *span = &concurrent->spans[i];
        if (span->device != kernel->device || span->start_ns >= kernel->end_ns)
            break;
        int64_t from_ns = span->start_ns > kernel->start_ns ? span->start_ns : kernel->start_ns;
        int64_t to_ns = span->end_ns < kernel->end_ns ? span->end_ns : kernel->end_ns;
        sum_ns += to_ns - from_ns;
        if (to_ns - from_ns > most_ns) {
            most_ns = to_ns - from_ns;
            longest = span->collective;
        }
    }
    if (collective != NULL)
        *collective = longest;
    return sum_ns;
}
