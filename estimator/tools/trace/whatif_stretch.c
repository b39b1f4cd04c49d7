/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See whatif_stretch.h.
 *
 * Of several micro-batches all but the last are stretched, since gradients are reduced in the last
 * alone.
 */
#include "trace/whatif_stretch.h"
#include "trace/whatif_host.h"
#include "trace/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* GPU tasks by launch, from first to before end, and how much longer all of them last, with what
 * they were late and what the host does for them. */
typedef struct part {
    uint32_t first;
    uint32_t end;
    bool hands_over; /* the host's way to the next part belongs to it */
    double factor;
} part;

typedef struct stretcher {
    st_whatif *w;
    const st_trace_rank *rank;
    const st_repeats *repeats;
    part *parts;
    size_t count;
} stretcher;

static void add_part(stretcher *s, const part *one)
{
    ST_XAPPEND(s->w->arena, s->parts, s->count, *one);
}

/* --- layers ------------------------------------------------------------------------------------
 */

/* --- micro-batches -----------------------------------------------------------------------------
 */

static st_task_id host_of(const stretcher *s, uint32_t task)
{
    return s->rank->hosts[s->repeats->tasks[task]];
}

/* When the host begins to prepare a task, in the replay. */
static int64_t prepared_ns(const stretcher *s, uint32_t task)
{
    st_task_id host = host_of(s, task);
    return host == ST_TASK_NONE ? 0 : st_replay_task(s->w->replay, host).start_ns;
}

/* When it has launched the one before `end`, or, past threads that hand over, goes on to the next.
 */
static int64_t over_ns(const stretcher *s, uint32_t end, bool hands_over)
{
    if (hands_over && end < s->repeats->task_count && prepared_ns(s, end) > 0)
        return prepared_ns(s, end);
    st_task_id host = host_of(s, end - 1);
    return host == ST_TASK_NONE ? 0 : st_replay_task(s->w->replay, host).end_ns;
}

static void add_step(stretcher *s, const st_repeat *runs, size_t micros)
{
    double set = s->w->values.set[ST_WHATIF_MICROS];
    double factor = micros > 1 ? (set - 1) / (double)(micros - 1) : set;
    const st_repeat *backward = &runs[2 * micros - 1];
    uint32_t end = micros > 1 ? backward[-1].first : st_repeat_end(backward);
    add_part(s, &(part){runs[0].first, end, true, factor});
}

/* --- stretching --------------------------------------------------------------------------------
 */

const double *st_whatif_stretch(st_whatif *w, size_t rank)
{
    size_t events = w->graph->set->ranks[rank]->event_count;
    double *factors = st_xalloc(w->arena, events + 1, sizeof *factors);
    stretcher s = {.w = w, .rank = &w->graph->ranks[rank], .repeats = &w->repeats[rank]};
    for (size_t i = 0; i < events; i++)
        factors[i] = 1;
    if (w->values.set[ST_WHATIF_LAYERS] > 0 && !w->repeats_layers) {
        double factor = s.w->values.set[ST_WHATIF_LAYERS] / s.w->repeats[0].layers;
        for (size_t i = 0; i < s.repeats->count; i++) {
            const st_repeat *run = &s.repeats->items[i];
            add_part(&s, &(part){run->first, st_repeat_end(run), false, factor});
        }
    }
    if (st_whatif_adds_micros(w) && !w->repeats_micros) {
        size_t steps = 0;
        size_t micros = 0;
        st_whatif_micros(s.w, rank, &steps, &micros);
        for (size_t i = 0; i < steps && s.w->status == ST_OK; i++)
            add_step(&s, s.repeats->items + 2 * micros * i, micros);
    }
    for (size_t p = 0; p < s.count; p++)
        for (uint32_t i = s.parts[p].first; i < s.parts[p].end; i++)
            factors[s.repeats->tasks[i]] *= s.parts[p].factor;
    if (w->status == ST_OK) {
        size_t count = st_graph_task_count(s.w->graph->graph);
        for (st_task_id task = 0; task < count && s.count > 0; task++) {
            if (!st_whatif_is_host_work(s.w, s.rank, task))
                continue;
            /* The part in whose time a host task ends; parts are in the order of their launches.
             */
            const int64_t end_ns = st_replay_task(s.w->replay, task).end_ns;
            double factor = 1;
            for (size_t i = 0; i < s.count; i++)
                if (end_ns > prepared_ns(&s, s.parts[i].first) &&
                    end_ns <= over_ns(&s, s.parts[i].end, s.parts[i].hands_over))
                    factor *= s.parts[i].factor;
            if (factor != 1)
                st_whatif_scale(s.w, task, factor);
        }
    }
    return factors;
}
