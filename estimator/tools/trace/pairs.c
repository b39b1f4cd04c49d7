/* SPDX-License-Identifier: Apache-2.0 */
/* See pairs.h. */
#include "trace/pairs.h"

#include "base/memory.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* Ends that the file lacks are searched for below no more events than this. */
enum { MOST_LOST = 64 };

st_status st_pairs_thread(st_pairs *pairs, const char *name, size_t length, uint32_t *thread)
{
    if (pairs->threads.arena == NULL)
        st_xdone(st_names_init(&pairs->threads) == ST_OK);
    st_status status = st_names_add(&pairs->threads, name, length, false, thread);
    size_t known = pairs->latest_capacity;
    if (status != ST_OK || *thread < known)
        return status;
    pairs->latest_capacity = 2 * known + 64;
    pairs->latest =
        st_xmemory(realloc(pairs->latest, pairs->latest_capacity * sizeof *pairs->latest));
    memset(pairs->latest + known, 0, (pairs->latest_capacity - known) * sizeof *pairs->latest);
    return ST_OK;
}

void st_pairs_begin(st_pairs *pairs, uint32_t thread, st_open open)
{
    uint32_t own = pairs->unused;
    if (own > 0) {
        pairs->unused = pairs->opens[own - 1].below;
    } else {
        st_xdone(ST_ROOM(pairs->opens, pairs->count, pairs->capacity));
        own = (uint32_t)++pairs->count;
    }
    open.below = pairs->latest[thread];
    pairs->opens[own - 1] = open;
    pairs->latest[thread] = own;
}

bool st_pairs_end(st_pairs *pairs, uint32_t thread, uint64_t name, st_open *open)
{
    uint32_t found = pairs->latest[thread];
    for (size_t i = 0; name != 0 && found > 0 && pairs->opens[found - 1].name != name; i++)
        found = i < MOST_LOST ? pairs->opens[found - 1].below : 0;
    if (found == 0) {
        pairs->lone_ends++;
        return false;
    }
    *open = pairs->opens[found - 1];
    for (uint32_t at = pairs->latest[thread]; at != open->below;) {
        st_open *over = &pairs->opens[at - 1];
        const uint32_t below = over->below;
        over->below = pairs->unused;
        pairs->unused = at;
        at = below;
    }
    pairs->latest[thread] = open->below;
    return true;
}

uint64_t st_pairs_finish(st_trace *trace)
{
    size_t kept = 0;
    uint64_t lone = 0;
    for (size_t i = 0; i < trace->event_count; i++)
        if (trace->events[i].duration_ns >= 0)
            trace->events[kept++] = trace->events[i];
        else
            trace->kind_counts[trace->events[i].kind]--;
    lone = trace->event_count - kept;
    trace->event_count = kept;
    kept = 0;
    for (size_t i = 0; i < trace->frame_count; i++)
        if (trace->frames[i].duration_ns >= 0)
            trace->frames[kept++] = trace->frames[i];
    trace->frame_count = kept;
    return lone;
}

void st_pairs_free(st_pairs *pairs)
{
    st_names_free(&pairs->threads);
    free(pairs->latest);
    free(pairs->opens);
}
