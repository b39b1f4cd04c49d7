/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another pipeline or another number of micro-batches: the passes of a layer are measured in the
 * replay, and the schedule is built anew from them.
 */
#include "trace/whatif.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdlib.h>

/* What a step consists of, in the replay of the first rank. */
typedef struct passes {
    int64_t forward_ns; /* all layers of the rank, one micro-batch */
    int64_t backward_ns;
    int64_t loss_ns; /* between the passes of a micro-batch */
    int64_t rest_ns; /* of a step, besides passes and bubble: optimizer, first and last things */
    uint32_t micros; /* of a step */
} passes;

static int64_t start_of(const st_whatif *w, const st_repeat *run)
{
    st_task_id task = w->graph->ranks[0].tasks[w->repeats[0].tasks[run->first]];
    return st_replay_task(w->replay, task).ready_ns;
}

static int64_t end_of(const st_whatif *w, const st_repeat *run)
{
    int64_t end = 0;
    for (uint32_t i = run->first; i < run->first + run->period * run->layers; i++) {
        st_task_id task = w->graph->ranks[0].tasks[w->repeats[0].tasks[i]];
        int64_t task_end = st_replay_task(w->replay, task).end_ns;
        end = task_end > end ? task_end : end;
    }
    return end;
}

/* The first run is a forward pass; the other kind is the backward pass. */
static bool is_forward_pass(const st_repeats *repeats, const st_trace *trace, const st_repeat *run)
{
    return run->period == repeats->items[0].period &&
           st_repeat_mark(trace, repeats, run) ==
               st_repeat_mark(trace, repeats, &repeats->items[0]);
}

static size_t count_forward(const st_repeats *repeats, const st_trace *trace, bool *alternate)
{
    size_t forward = 0;
    *alternate = true;
    for (size_t i = 0; i < repeats->count; i++) {
        bool is_forward = is_forward_pass(repeats, trace, &repeats->items[i]);
        *alternate = *alternate && is_forward == (i % 2 == 0);
        forward += is_forward;
    }
    return forward;
}

size_t st_whatif_forward_passes(const st_repeats *repeats, const st_trace *trace, bool alternate)
{
    bool in_turn = false;
    size_t forward = count_forward(repeats, trace, &in_turn);
    return 2 * forward == repeats->count && (in_turn || !alternate) ? forward : 0;
}

static size_t step_count(const st_whatif *w, size_t rank)
{
    size_t steps = w->graph->ranks[rank].step_count;
    return steps > 0 ? steps : 1;
}

void st_whatif_micros(st_whatif *w, size_t rank, size_t *steps, size_t *micros)
{
    double have = w->values.have[ST_WHATIF_MICROS];
    const st_repeats *repeats = &w->repeats[rank];
    const st_trace *trace = w->graph->set->ranks[rank];
    bool in_turn = false;
    size_t forward = st_whatif_forward_passes(repeats, trace, st_whatif_adds_micros(w));
    size_t alike = count_forward(repeats, trace, &in_turn);
    if (forward == 0)
        st_whatif_refuse(w,
                         "%s: forward and backward passes cannot be distinguished: blocks of %u "
                         "layers repeat %zu times in one way and %zu times in others" ST_EXPECTED
                         "as many forward as backward passes",
                         trace->file, repeats->layers, alike, repeats->count - alike);
    *steps = step_count(w, rank);
    *micros = have > 0 ? (size_t)have : forward / *steps;
    if (*micros == 0 || *micros * *steps != forward)
        st_whatif_refuse(w,
                         "%zu forward passes in %zu steps do not make %u micro-batches" ST_EXPECTED
                         "--have batch.micro_batches as the job had it",
                         forward, *steps, (uint32_t)*micros);
}

bool st_whatif_adds_micros(const st_whatif *w)
{
    return w->values.set[ST_WHATIF_MICROS] > 0 && w->values.set[ST_WHATIF_PP] <= 0 &&
           w->values.have[ST_WHATIF_PP] <= 1 && !w->values.has_schedule;
}

static void measure(st_whatif *w, passes *p)
{
    const st_repeats *repeats = &w->repeats[0];
    const st_trace *trace = w->graph->set->ranks[0];
    size_t steps = 0;
    size_t micros = 0;
    int64_t previous_end = 0;
    st_whatif_micros(w, 0, &steps, &micros);
    if (w->status != ST_OK || micros * steps == 0)
        return;
    for (size_t i = 0; i < repeats->count; i++) {
        const st_repeat *one = &repeats->items[i];
        bool is_forward = is_forward_pass(repeats, trace, one);
        int64_t length = end_of(w, one) - start_of(w, one);
        int64_t gap = start_of(w, one) - previous_end;
        *(is_forward ? &p->forward_ns : &p->backward_ns) += length;
        p->loss_ns += !is_forward && gap > 0 ? gap : 0;
        previous_end = end_of(w, one);
    }
    int64_t forward = (int64_t)(micros * steps);
    p->micros = (uint32_t)micros;
    p->forward_ns /= forward;
    p->backward_ns /= forward;
    p->loss_ns /= forward;
}

/* When the replay of a schedule ends; 0 after a failure. */
static int64_t replay_schedule(st_whatif *w, const st_schedule_plan *plan)
{
    st_schedule_order order;
    int64_t end_ns = 0;
    st_graph *graph = st_xmemory(st_graph_create(NULL));
    st_replay *replay = NULL;
    st_status status = st_schedule_order_make(&plan->shape, w->arena, &order, w->errors);
    if (status == ST_OK)
        status = st_schedule_build(plan, &order, graph, w->errors);
    if (status == ST_OK)
        status = st_graph_seal(graph, w->errors);
    if (status == ST_OK) {
        replay = st_xmemory(st_replay_create(graph));
        status = st_replay_run(replay, w->errors);
    }
    if (status == ST_OK)
        end_ns = st_replay_end_ns(replay);
    st_note(&w->status, status);
    st_replay_destroy(replay);
    st_graph_destroy(graph);
    return end_ns;
}

/* A schedule of the passes alone, each stage with so many times the layers that it had. */
static st_schedule_plan make_plan(st_whatif *w, const passes *p, uint32_t stages,
                                  double layers_ratio)
{
    st_chunk_times *times = st_xalloc(w->arena, stages, sizeof *times);
    for (uint32_t i = 0; i < stages; i++) {
        times[i] = (st_chunk_times){0};
        times[i].part[ST_PASS_FORWARD][ST_PART_WORK] =
            llround((double)p->forward_ns * layers_ratio);
        times[i].part[ST_PASS_BACKWARD][ST_PART_WORK] =
            llround((double)p->backward_ns * layers_ratio);
    }
    times[stages - 1].part[ST_PASS_BACKWARD][ST_PART_WORK] += p->loss_ns;
    return (st_schedule_plan){
        .shape = {.kind = ST_SCHEDULE_1F1B,
                  .stages = stages,
                  .micros = p->micros,
                  .chunks = 1,
                  .times = times},
        .groups = {.tp = 1,
                   .tp_stride = 1,
                   .cp = 1,
                   .cp_stride = 1,
                   .dp = 1,
                   .dp_stride = 1,
                   .pp_stride = 1,
                   .ep = 1},
    };
}

void st_whatif_pipeline(st_whatif *w)
{
    const st_whatif_values *v = &w->values;
    passes p = {0};
    double old_pp = v->have[ST_WHATIF_PP] > 0 ? v->have[ST_WHATIF_PP] : 1;
    double new_pp = v->set[ST_WHATIF_PP] > 0 ? v->set[ST_WHATIF_PP] : old_pp;
    uint32_t stages = (uint32_t)new_pp;
    double layers =
        old_pp * (v->set[ST_WHATIF_LAYERS] > 0 ? v->set[ST_WHATIF_LAYERS] : w->repeats[0].layers);
    measure(w, &p);
    if (new_pp > layers || fmod(layers, new_pp) != 0)
        st_whatif_refuse(w,
                         "%.0f layers do not divide into %u stages" ST_EXPECTED
                         "as many layers on every stage",
                         layers, stages);
    if (w->status != ST_OK)
        return;
    /* What of a recorded step is neither pass nor bubble: the step without 1F1B of its passes. */
    const uint32_t rest_stages = (uint32_t)old_pp;
    int64_t step_ns = w->outcome->after_ns / (int64_t)step_count(w, 0);
    if (rest_stages > 1)
        p.loss_ns = 0; /* between its passes a stage waits for others */
    st_schedule_plan rest_plan = make_plan(w, &p, rest_stages, 1);
    int64_t busy_ns = w->status == ST_OK ? replay_schedule(w, &rest_plan) : 0;
    p.rest_ns = step_ns > busy_ns ? step_ns - busy_ns : 0;
    st_schedule_plan plan = make_plan(w, &p, stages, old_pp / new_pp);
    if (w->status != ST_OK)
        return;
    plan.shape.kind = v->schedule;
    plan.shape.micros =
        v->set[ST_WHATIF_MICROS] > 0 ? (uint32_t)v->set[ST_WHATIF_MICROS] : p.micros;
    plan.shape.transfer = llround(1e3 * v->set[ST_WHATIF_TRANSFER]);
    plan.ends.optimizer = llround((double)p.rest_ns * old_pp / new_pp);
    w->outcome->after_ns = replay_schedule(w, &plan);
    w->outcome->before_ns /= (int64_t)step_count(w, 0);
    w->outcome->after = NULL;
    /* No formula of a bubble: what the replay lasts beyond the work that was laid out on a stage.
     */
    double micros = plan.shape.micros;
    double useful = micros * (double)(p.forward_ns + p.backward_ns);
    double busy =
        useful * old_pp / new_pp + micros * (double)p.loss_ns + (double)plan.ends.optimizer;
    if (w->outcome->after_ns > 0)
        w->outcome->bubble_frac = fmax(0, 1 - busy / (double)w->outcome->after_ns);
    const bool moved = new_pp != old_pp;
    st_whatif_note(
        w,
        "before is the mean step of the replay, after the step of a %s schedule with the replay's "
        "times per layer",
        st_schedule_name(w->values.schedule));
    if (moved)
        st_whatif_note(w, "optimizer, gradients and what surrounds the passes shrink with the "
                          "layers of a stage");
    if (moved && w->values.set[ST_WHATIF_TRANSFER] == 0)
        st_whatif_note(w, "transfers between stages take no time; --set pipeline.transfer_us=N "
                          "gives them one");
}
