/* SPDX-License-Identifier: Apache-2.0 */
/* The stage that is furthest behind, for simulations that go from event to event. */
#include "schedule/schedule_internal.h"

static bool behind(st_stage_entry one, st_stage_entry other)
{
    return one.time != other.time ? one.time < other.time : one.stage < other.stage;
}

void st_stage_heap_push(st_stage_heap *heap, uint32_t stage, int64_t time)
{
    st_stage_entry *entries = heap->entries;
    st_stage_entry pushed = {.time = time, .stage = stage};
    size_t at = heap->count++;
    while (at > 0 && behind(pushed, entries[(at - 1) / 2])) {
        entries[at] = entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    entries[at] = pushed;
}

uint32_t st_stage_heap_pop(st_stage_heap *heap)
{
    st_stage_entry *entries = heap->entries;
    uint32_t first = entries[0].stage;
    st_stage_entry sinking = entries[--heap->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < heap->count && behind(entries[child + 1], entries[child]))
            child++;
        if (child >= heap->count || !behind(entries[child], sinking))
            break;
        entries[at] = entries[child];
        at = child;
    }
    entries[at] = sinking;
    return first;
}
