/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See whatif_stretch.h.
 *
 * Of several micro-batches all but the last are stretched, since gradients are reduced in the last
 * alone. A single one that reduces them, or in whose forward pass the host waits for the GPU, has
 * the further ones at its front: the reduction hides behind the same backward pass as before, and
 * the last wait is followed by as much work as it was.
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
        status =
            add_part(s, &(part){run->first, run_end(run), false, factor, factor, factor, factor});
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

static double count_collectives(const stretcher *s, uint32_t first, uint32_t end)
{
    double count = 0;
    for (uint32_t i = first; i < end; i++)
        count += is_communication(s, i);
    return count;
}

/* Collectives in the backward pass alone. */
static bool reduces_gradients(const stretcher *s, const step *one)
{
    return count_collectives(s, one->runs[0].first, run_end(&one->runs[0])) <= 0 &&
           count_collectives(s, one->runs[1].first, run_end(&one->runs[1])) > 0;
}

/* Whether the host, on its way from one launch of a thread to the next, waited for something. */
static bool waits_between(const stretcher *s, uint32_t before, uint32_t after)
{
    const st_graph *graph = s->w->graph->graph;
    st_task_id from = host_of(s, before);
    st_task_id to = host_of(s, after);
    if (from == ST_TASK_NONE || to == ST_TASK_NONE ||
        st_graph_task(graph, from).resource != st_graph_task(graph, to).resource)
        return false;
    for (st_task_id task = from + 1; task <= to; task++)
        if (st_replay_task(s->w->replay, task).start_ns >
            st_replay_task(s->w->replay, task - 1).end_ns)
            return true;
    return false;
}

/* Where the host first waits within the forward pass; the end of the pass where it does not. */
static uint32_t first_wait(const stretcher *s, const st_repeat *forward)
{
    for (uint32_t i = forward->first + 1; i < run_end(forward); i++)
        if (waits_between(s, i - 1, i))
            return i;
    return run_end(forward);
}

/* When the last kernel of a stretch of tasks ends, in the replay. */
static int64_t computed_ns(const stretcher *s, uint32_t first, uint32_t end)
{
    int64_t last_ns = 0;
    for (uint32_t i = first; i < end; i++) {
        st_task_id task = s->rank->tasks[s->repeats->tasks[i]];
        int64_t end_ns = is_communication(s, i) || task == ST_TASK_NONE
                             ? 0
                             : st_replay_task(s->w->replay, task).end_ns;
        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    return last_ns;
}

/*
 * How long kernels keep the GPU from `middle` to the end of a step's passes. Where the host waited
 * for all of them before, the GPU has nothing left to do, and pauses until it gets more.
 */
static double keeps_ns(const stretcher *s, const step *one, uint32_t middle)
{
    uint32_t first = one->runs[0].first;
    uint32_t end = run_end(&one->runs[1]);
    double busy_ns = sum_ns(s, middle, end, false);
    if (middle == run_end(&one->runs[0]))
        return busy_ns;
    double span_ns = (double)(computed_ns(s, middle, end) - computed_ns(s, first, middle));
    /* Kernels wait for collectives, which are counted apart, unless these reduce gradients. */
    span_ns -= reduces_gradients(s, one) ? 0 : sum_ns(s, middle, end, true);
    return span_ns > busy_ns ? span_ns : busy_ns;
}

/* The last task of a stretch that the host launches by work of its own, behind kernels that take
 * time; `end` where there is none. */
static uint32_t last_launch(const stretcher *s, uint32_t first, uint32_t end)
{
    for (uint32_t task = end; task > first + 1; task--) {
        st_task_id host = host_of(s, task - 1);
        if (host != ST_TASK_NONE && host != host_of(s, task - 2) &&
            st_graph_task(s->w->graph->graph, host).duration_ns > 0)
            return sum_ns(s, first, task - 1, false) > 0 ? task - 1 : end;
    }
    return end;
}

/* Of the host, a forward and a backward pass that reduces no gradients. */
static double pass_host_ns(const stretcher *s, const step *one)
{
    uint32_t first = one->runs[0].first;
    uint32_t end = run_end(&one->runs[1]);
    double sum = host_ns(s, prepared_ns(s, first), over_ns(s, end, true));
    for (uint32_t i = one->runs[1].first; i < end && reduces_gradients(s, one); i++)
        if (is_communication(s, i) && host_of(s, i) != ST_TASK_NONE)
            sum -= (double)st_graph_task(s->w->graph->graph, host_of(s, i)).duration_ns;
    return sum > 0 ? sum : 0;
}

/*
 * `more` further times a forward and a backward pass: on the GPU in what stands before the last
 * launch of the stretch that ends with `middle`, on the host in that launch, so that both work at
 * the same time, and what follows is as recorded.
 */
static st_status add_front(stretcher *s, const step *one, double more, uint32_t middle)
{
    uint32_t first = one->runs[0].first;
    uint32_t end = run_end(&one->runs[1]);
    uint32_t launch = last_launch(s, first, middle);
    double kernels_ns = sum_ns(s, first, middle, false) + keeps_ns(s, one, middle);
    double collectives = count_collectives(s, first, launch);
    part gpu = {.first = first, .end = launch, .communication = 1, .host = 1, .late = 1};
    part host = {
        .first = launch, .end = launch + 1, .compute = 1, .communication = 1, .host = 1, .late = 1};
    gpu.compute = 1 + more * kernels_ns / sum_ns(s, first, launch, false);
    /* Collectives of the backward pass alone reduce gradients, once a step. */
    if (collectives > 0)
        gpu.communication += more * count_collectives(s, first, end) / collectives;
    if (launch == middle)
        host = (part){
            .first = first, .end = middle, .compute = 1, .communication = 1, .host = 1, .late = 1};
    double call_ns = host_ns(s, prepared_ns(s, host.first), over_ns(s, host.end, false));
    if (call_ns > 0)
        host.host += more * pass_host_ns(s, one) / call_ns;
    st_status status = add_part(s, &gpu);
    return status == ST_OK ? add_part(s, &host) : status;
}

/* Where all of the pass is stretched alike, waits within it would be over when all is. */
static bool stretches_front(const stretcher *s, const step *one, uint32_t wait)
{
    uint32_t first = one->runs[0].first;
    return one->micros == 1 && sum_ns(s, first, wait, false) > 0 &&
           (reduces_gradients(s, one) || wait < run_end(&one->runs[0]));
}

static st_status add_step(stretcher *s, const step *one)
{
    double set = s->w->values.set[ST_KEY_MICROS];
    double factor = one->micros > 1 ? (set - 1) / (double)(one->micros - 1) : set;
    uint32_t wait = first_wait(s, &one->runs[0]);
    part made = {.first = one->runs[0].first,
                 .end = one->micros > 1 ? one->runs[2 * (one->micros - 1)].first
                                        : run_end(&one->runs[1]),
                 .hands_over = true,
                 .compute = factor,
                 .communication = factor,
                 .host = factor,
                 .late = factor};
    if (set == (double)one->micros)
        return ST_OK;
    return stretches_front(s, one, wait) ? add_front(s, one, set - 1, wait) : add_part(s, &made);
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
    if (w->values.set[ST_KEY_LAYERS] > 0)
        status = add_layers(&s);
    if (status == ST_OK && st_whatif_adds_micros(w))
        status = add_micros(&s);
    if (status == ST_OK)
        stretch_gpu(&s);
    return status == ST_OK ? stretch_host(&s) : status;
}
