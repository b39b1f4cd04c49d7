/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See whatif_stretch.h.
 *
 * Of several micro-batches all but the last are stretched, since gradients are reduced in the last
 * alone.
 */
#include "trace/whatif_stretch.h"
#include "trace/whatif_host.h"

#include <stdlib.h>
#include <string.h>

/* GPU tasks by launch, from first to before end, and how much longer they last. */
typedef struct part {
    uint32_t first;
    uint32_t end;
    bool hands_over; /* the host's way to the next part belongs to it */
    double compute;
    double communication;
    double host;
    double late; /* what tasks were late */
} part;

typedef struct stretcher {
    st_whatif *w;
    const st_trace *trace;
    const st_trace_rank *rank;
    const st_repeats *repeats;
    double *factors;
    double *delays;
    part *parts;
    size_t count;
} stretcher;

static st_status add_part(stretcher *s, const part *one)
{
    return ST_APPEND(s->w->arena, s->parts, s->count, *one) ? ST_OK : ST_ERR_MEMORY;
}

/* --- layers ------------------------------------------------------------------------------------
 */

static st_status add_layers(stretcher *s)
{
    double factor = s->w->values.set[ST_KEY_LAYERS] / s->w->repeats[0].layers;
    st_status status = ST_OK;
    for (size_t i = 0; i < s->repeats->count && status == ST_OK; i++) {
        const st_repeat *run = &s->repeats->items[i];
        status = add_part(
            s, &(part){run->first, st_repeat_end(run), false, factor, factor, factor, factor});
    }
    return status;
}

/* --- micro-batches -----------------------------------------------------------------------------
 */

static bool is_communication(const stretcher *s, uint32_t task)
{
    return s->trace->events[s->repeats->tasks[task]].class_ == ST_TRACE_COMMUNICATION;
}

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

static st_status add_step(stretcher *s, const st_repeat *runs, size_t micros)
{
    double set = s->w->values.set[ST_KEY_MICROS];
    double factor = micros > 1 ? (set - 1) / (double)(micros - 1) : set;
    const st_repeat *backward = &runs[2 * micros - 1];
    part made = {.first = runs[0].first,
                 .end = micros > 1 ? backward[-1].first : st_repeat_end(backward),
                 .hands_over = true,
                 .compute = factor,
                 .communication = factor,
                 .host = factor,
                 .late = factor};
    return add_part(s, &made);
}

static st_status add_micros(stretcher *s, size_t rank)
{
    size_t steps = 0;
    size_t micros = 0;
    st_status status = st_whatif_micros(s->w, rank, &steps, &micros);
    for (size_t i = 0; i < steps && status == ST_OK; i++)
        status = add_step(s, s->repeats->items + 2 * micros * i, micros);
    return status;
}

/* --- stretching --------------------------------------------------------------------------------
 */

/* The part in whose time a host task ends; parts stand in the order of their launches. */
static double host_factor(const stretcher *s, int64_t end_ns)
{
    double factor = 1;
    for (size_t i = 0; i < s->count; i++)
        if (end_ns > prepared_ns(s, s->parts[i].first) &&
            end_ns <= over_ns(s, s->parts[i].end, s->parts[i].hands_over))
            factor *= s->parts[i].host;
    return factor;
}

static st_status stretch_host(stretcher *s)
{
    size_t count = st_graph_task_count(s->w->graph->graph);
    st_status status = ST_OK;
    for (st_task_id task = 0; task < count && s->count > 0 && status == ST_OK; task++) {
        if (!st_whatif_is_host_work(s->w, s->rank, task))
            continue;
        double factor = host_factor(s, st_replay_task(s->w->replay, task).end_ns);
        if (factor != 1)
            status = st_whatif_scale(s->w, task, factor);
    }
    return status;
}

static void stretch_task(stretcher *s, const part *one, uint32_t task)
{
    uint32_t event = s->repeats->tasks[task];
    s->factors[event] *= is_communication(s, task) ? one->communication : one->compute;
    s->delays[event] *= one->late;
}

static void stretch_gpu(stretcher *s)
{
    for (size_t p = 0; p < s->count; p++)
        for (uint32_t i = s->parts[p].first; i < s->parts[p].end; i++)
            stretch_task(s, &s->parts[p], i);
}

st_status st_whatif_stretch(st_whatif *w, size_t rank, st_stretch *stretch)
{
    const st_trace *trace = w->graph->set->ranks[rank];
    stretcher s = {.w = w,
                   .trace = trace,
                   .rank = &w->graph->ranks[rank],
                   .repeats = &w->repeats[rank],
                   .factors = st_arena_alloc(w->arena, trace->event_count + 1, sizeof *s.factors),
                   .delays = st_arena_alloc(w->arena, trace->event_count + 1, sizeof *s.delays)};
    if (s.factors == NULL || s.delays == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < trace->event_count; i++)
        s.factors[i] = s.delays[i] = 1;
    *stretch = (st_stretch){s.factors, s.delays};
    st_status status = ST_OK;
    if (w->values.set[ST_KEY_LAYERS] > 0 && !w->repeats_layers)
        status = add_layers(&s);
    if (status == ST_OK && st_whatif_adds_micros(w) && !w->repeats_micros)
        status = add_micros(&s, rank);
    if (status == ST_OK)
        stretch_gpu(&s);
    return status == ST_OK ? stretch_host(&s) : status;
}
