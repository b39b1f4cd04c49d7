/* SPDX-License-Identifier: Apache-2.0 */
/* See event_order.h. */
#include "trace/event_order.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

typedef struct sorter {
    const st_trace_event *events;
    size_t offset;
} sorter;

static int64_t number_of(const sorter *s, uint32_t event)
{
    int64_t number;
    memcpy(&number, (const char *)&s->events[event] + s->offset, sizeof number);
    return number;
}

static bool in_order(const sorter *s, const uint32_t *order, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (number_of(s, order[i]) < number_of(s, order[i - 1]))
            return false;
    return true;
}

/* Two runs, from[0..middle) and from[middle..end), into one. */
static void merge(const sorter *s, const uint32_t *from, size_t middle, size_t end, uint32_t *to)
{
    size_t a = 0;
    size_t b = middle;
    if (middle == end || number_of(s, from[middle - 1]) <= number_of(s, from[middle])) {
        memcpy(to, from, end * sizeof *to);
        return;
    }
    for (size_t i = 0; i < end; i++)
        if (b >= end || (a < middle && number_of(s, from[a]) <= number_of(s, from[b])))
            to[i] = from[a++];
        else
            to[i] = from[b++];
}

/* Bottom-up merges: stable, and quick on the long runs in order that traces are made of. */
void st_event_order(const st_trace_event *events, size_t offset, uint32_t *order, size_t count)
{
    const sorter s = {events, offset};
    if (in_order(&s, order, count))
        return;
    uint32_t *other = st_xmalloc(count * sizeof *other);
    uint32_t *from = order;
    uint32_t *to = other;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            size_t left = count - i;
            size_t end = left < 2 * width ? left : 2 * width;
            merge(&s, from + i, width < end ? width : end, end, to + i);
        }
        uint32_t *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != order)
        memcpy(order, from, count * sizeof *order);
    free(other);
}
