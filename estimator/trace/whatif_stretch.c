/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See whatif_stretch.h.
 *
 * Of several micro-batches all but the last are stretched, since gradients are reduced in the last
 * alone. Of a single one that reduces them the forward pass is, by what forward and backward pass
 * of the further ones take together, so that the reduction hides behind the same backward pass as
 * before.
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
} part;

typedef struct stretcher {
    st_whatif *w;
    const st_trace *trace;
    const st_trace_rank *rank;
    const st_repeats *repeats;
    double *factors;
    part *parts;
    size_t count;
    size_t capacity;
} stretcher;

static st_status add_part(stretcher *s, const part *one)
{
    return st_arena_append(s->w->arena, &s->parts, &s->count, &s->capacity, one, sizeof *s->parts)
               ? ST_OK
               : ST_ERR_MEMORY;
}

static uint32_t run_end(const st_repeat *run)
{
    return run->first + run->period * run->layers;
}

/* --- layers ------------------------------------------------------------------------------------
 */

static st_status add_layers(stretcher *s)
{
    double factor = s->w->values.set[ST_KEY_LAYERS] / s->w->repeats[0].layers;
    st_status status = ST_OK;
    for (size_t i = 0; i < s->repeats->count && status == ST_OK; i++) {
        const st_repeat *run = &s->repeats->items[i];
        status = add_part(s, &(part){run->first, run_end(run), false, factor, factor, factor});
    }
    return status;
}

/* --- micro-batches -----------------------------------------------------------------------------
 */

/* The forward and backward passes of a step, one pair for each micro-batch. */
typedef struct step {
    const st_repeat *runs;
    size_t micros;
} step;

static bool is_communication(const stretcher *s, uint32_t task)
{
    return s->trace->events[s->repeats->tasks[task]].class_ == ST_TRACE_COMMUNICATION;
}

/* How long kernels, or collectives, of a stretch of tasks take. */
static double sum_ns(const stretcher *s, uint32_t first, uint32_t end, bool communication)
{
    double sum = 0;
    for (uint32_t i = first; i < end; i++)
        if (is_communication(s, i) == communication)
            sum += (double)s->trace->events[s->repeats->tasks[i]].duration_ns;
    return sum;
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

/* Of the host between two times, waiting left out. */
static double host_ns(const stretcher *s, int64_t from_ns, int64_t to_ns)
{
    double sum = 0;
    size_t count = st_graph_task_count(s->w->graph->graph);
    for (st_task_id task = 0; task < count; task++) {
        int64_t end_ns = st_replay_task(s->w->replay, task).end_ns;
        if (end_ns > from_ns && end_ns <= to_ns && st_whatif_is_host_work(s->w, s->rank, task))
            sum += (double)st_graph_task(s->w->graph->graph, task).duration_ns;
    }
    return sum;
}

/* Collectives in the backward pass alone. */
static bool reduces_gradients(const stretcher *s, const step *one)
{
    return sum_ns(s, one->runs[0].first, run_end(&one->runs[0]), true) <= 0 &&
           sum_ns(s, one->runs[1].first, run_end(&one->runs[1]), true) > 0;
}

/* `more` further times a forward and a backward pass, in the forward pass. */
static part stretch_one(const stretcher *s, const step *one, double more)
{
    const st_repeat *forward = &one->runs[0];
    uint32_t first = forward->first;
    uint32_t middle = run_end(forward);
    uint32_t end = run_end(&one->runs[1]);
    part made = {.first = first, .end = middle, .compute = 1, .communication = 1, .host = 1};
    double compute_ns = sum_ns(s, first, middle, false);
    double host_forward_ns = host_ns(s, prepared_ns(s, first), over_ns(s, middle, false));
    double host_all_ns = host_ns(s, prepared_ns(s, first), over_ns(s, end, true));
    if (compute_ns > 0)
        made.compute += more * sum_ns(s, first, end, false) / compute_ns;
    /* Collectives of the backward pass alone reduce gradients, once a step. */
    if (sum_ns(s, first, middle, true) > 0)
        made.communication += 2 * more;
    if (host_forward_ns > 0)
        made.host += more * host_all_ns / host_forward_ns;
    return made;
}

static st_status add_step(stretcher *s, const step *one)
{
    double set = s->w->values.set[ST_KEY_MICROS];
    double factor = one->micros > 1 ? (set - 1) / (double)(one->micros - 1) : set;
    part made = {.first = one->runs[0].first,
                 .end = one->micros > 1 ? one->runs[2 * (one->micros - 1)].first
                                        : run_end(&one->runs[1]),
                 .hands_over = true,
                 .compute = factor,
                 .communication = factor,
                 .host = factor};
    if (one->micros == 1 && reduces_gradients(s, one))
        made = stretch_one(s, one, set - 1);
    return set == (double)one->micros ? ST_OK : add_part(s, &made);
}

static st_status add_micros(stretcher *s)
{
    size_t forward = 0;
    st_status status = st_whatif_passes(s->w, s->repeats, s->trace, &forward);
    size_t steps = s->rank->step_count > 0 ? s->rank->step_count : 1;
    double have = s->w->values.have[ST_KEY_MICROS];
    size_t micros = have > 0 ? (size_t)have : forward / steps;
    if (status != ST_OK)
        return status;
    if (micros == 0 || micros * steps != forward)
        return st_whatif_refuse_micros(s->w, forward, steps, (uint32_t)micros);
    for (size_t i = 0; i < steps && status == ST_OK; i++)
        status = add_step(s, &(step){s->repeats->items + 2 * micros * i, micros});
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

static void stretch_gpu(stretcher *s)
{
    for (size_t p = 0; p < s->count; p++)
        for (uint32_t i = s->parts[p].first; i < s->parts[p].end; i++)
            s->factors[s->repeats->tasks[i]] *=
                is_communication(s, i) ? s->parts[p].communication : s->parts[p].compute;
}

st_status st_whatif_stretch(st_whatif *w, size_t rank, st_stretch *stretch)
{
    const st_trace *trace = w->graph->set->ranks[rank];
    stretcher s = {.w = w,
                   .trace = trace,
                   .rank = &w->graph->ranks[rank],
                   .repeats = &w->repeats[rank],
                   .factors = st_arena_alloc(w->arena, trace->event_count + 1, sizeof *s.factors)};
    if (s.factors == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < trace->event_count; i++)
        s.factors[i] = 1;
    stretch->factors = s.factors;
    st_status status = ST_OK;
    if (w->values.set[ST_KEY_LAYERS] > 0)
        status = add_layers(&s);
    if (status == ST_OK && st_whatif_adds_micros(w))
        status = add_micros(&s);
    if (status == ST_OK)
        stretch_gpu(&s);
    return status == ST_OK ? stretch_host(&s) : status;
}
