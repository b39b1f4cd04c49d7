/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/view.h"
#include "trace/xalloc.h"

#include <stdlib.h>

enum { MOST_NESTED = 4096 };

/* A range by thread, start, and the longer first. */
typedef struct range {
    uint32_t track;
    uint32_t frame;
    int64_t start_ns;
    int64_t end_ns;
} range;

typedef struct nested {
    int64_t end_ns;
    uint32_t value;
} nested;

ST_COMPARE(compare_ranges, range,
           ST_RISING(track) ST_RISING(start_ns) ST_FALLING(end_ns) ST_RISING(frame));

static void set_change(st_sweep *made, int64_t at_ns, uint32_t value)
{
    made->items[made->count++] = (st_sweep_change){at_ns, value};
}

static st_status sweep_thread(const st_sweep_ask *ask, const range *ranges, size_t count,
                              st_sweep *made, st_errors *errors)
{
    nested stack[MOST_NESTED];
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        while (depth > 0 && stack[depth - 1].end_ns <= ranges[i].start_ns) {
            depth--;
            set_change(made, stack[depth].end_ns, depth > 0 ? stack[depth - 1].value : ask->none);
        }
        if (depth == MOST_NESTED)
            return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = ask->trace->file},
                           "ranges are nested too deeply" ST_EXPECTED "at most 4096 levels");
        nested inner = {ranges[i].end_ns, ask->none};
        if (depth > 0 && inner.end_ns > stack[depth - 1].end_ns)
            inner.end_ns = stack[depth - 1].end_ns;
        st_status status = ST_OK;
        if (ask->value == NULL)
            inner.value = ranges[i].frame;
        else
            status = ask->value(ask->context, depth > 0 ? stack[depth - 1].value : ask->none,
                                &ask->trace->frames[ranges[i].frame], &inner.value);
        if (status != ST_OK)
            return status;
        set_change(made, ranges[i].start_ns, inner.value);
        stack[depth++] = inner;
    }
    while (depth-- > 0)
        set_change(made, stack[depth].end_ns, depth > 0 ? stack[depth - 1].value : ask->none);
    return ST_OK;
}

st_status st_sweep_make(const st_sweep_ask *ask, st_sweep *sweep, st_errors *errors)
{
    size_t tracks = ask->trace->track_count;
    range *ranges = st_xmalloc((ask->count + 1) * sizeof *ranges);
    *sweep = (st_sweep){.items = st_xcalloc(2 * ask->count + 1, sizeof *sweep->items),
                        .firsts = st_xcalloc(tracks + 1, sizeof *sweep->firsts),
                        .none = ask->none};
    st_status status = ST_OK;
    for (size_t i = 0; i < ask->count; i++) {
        const uint32_t frame = ask->frames[i];
        const st_trace_frame *f = &ask->trace->frames[frame];
        ranges[i] = (range){f->track, frame, f->start_ns, f->start_ns + f->duration_ns};
    }
    st_sort(ranges, ask->count, sizeof *ranges, compare_ranges);
    size_t first = 0;
    for (uint32_t t = 0; t < tracks && status == ST_OK; t++) {
        size_t end = first;
        sweep->firsts[t] = sweep->count;
        while (end < ask->count && ranges[end].track == t)
            end++;
        status = sweep_thread(ask, ranges + first, end - first, sweep, errors);
        first = end;
    }
    if (status == ST_OK)
        sweep->firsts[tracks] = sweep->count;
    free(ranges);
    return status;
}

uint32_t st_sweep_at(const st_sweep *sweep, uint32_t track, int64_t at_ns)
{
    size_t first = sweep->firsts[track];
    size_t low = first;
    ST_BISECT(low, sweep->firsts[track + 1], sweep->items[middle].at_ns <= at_ns);
    return low > first ? sweep->items[low - 1].value : sweep->none;
}

void st_sweep_free(st_sweep *sweep)
{
    free(sweep->items);
    free(sweep->firsts);
    *sweep = (st_sweep){0};
}
