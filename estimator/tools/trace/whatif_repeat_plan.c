/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layers and micro-batches are repeated; see whatif_repeat.h.
 *
 * A part runs from the call that launches its first kernel to the call that launches the next
 * part's first one, so that a copy holds all that the host does from one to the next. Of layers
 * those are taken in which the host waits for nothing: what is read once in a pass is read once in
 * a pass of more layers, too. Of micro-batches all but the last can be taken; a single one is,
 * without collectives that its backward pass alone has, as these reduce gradients.
 */
#include "trace/whatif_repeat.h"

#include "base/lists.h"
#include "steptime/tool/graph_arrays.h"
#include "trace/whatif_host.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdlib.h>

typedef struct planner {
    st_whatif *w;
    size_t rank;
    const st_repeats *repeats;
    struct wait_list *waits; /* by rank */
} planner;

/* When the host of a rank has waited for something, in order. */
typedef struct wait_list {
    int64_t *ends_ns;
    size_t count;
} wait_list;

/* When the call begins that launches a kernel; -1: that is not recorded. */
static int64_t launch_ns(const planner *p, uint32_t task)
{
    st_task_id host = p->w->graph->ranks[p->rank].hosts[p->repeats->tasks[task]];
    return host == ST_TASK_NONE ? -1 : st_replay_task(p->w->replay, host).end_ns;
}

static bool waits(const st_graph_arrays *graph, st_task_id task)
{
    return graph->before_first[task + 1] > graph->before_first[task];
}

static void take_rank(planner *p, size_t rank)
{
    p->rank = rank;
    p->repeats = &p->w->repeats[rank];
}

static void list_waits(planner *p)
{
    const st_whatif *w = p->w;
    const st_graph_arrays graph = st_graph_arrays_of(w->graph->graph);
    size_t ranks = w->graph->set->count;
    p->waits = st_xalloc(w->arena, ranks, sizeof *p->waits);
    for (size_t rank = 0; rank < ranks; rank++) {
        wait_list *list = &p->waits[rank];
        const st_trace_rank *own = &w->graph->ranks[rank];
        for (st_task_id task = 0; task < graph.task_count; task++) {
            int64_t end_ns = st_replay_task(w->replay, task).end_ns;
            if (waits(&graph, task) && st_whatif_is_host_work(w, own, task))
                ST_XAPPEND(w->arena, list->ends_ns, list->count, end_ns);
        }
        st_sort(list->ends_ns, list->count, sizeof *list->ends_ns, st_order_times);
    }
}

static bool waits_between(const planner *p, int64_t from_ns, int64_t to_ns)
{
    const wait_list *list = &p->waits[p->rank];
    size_t low = 0;
    ST_BISECT(low, list->count, list->ends_ns[middle] <= from_ns);
    return low < list->count && list->ends_ns[low] <= to_ns;
}

static void add_unit(planner *p, const st_repeat_unit *unit)
{
    st_whatif *w = p->w;
    ST_XAPPEND(w->arena, w->units, w->unit_count, *unit);
}

/* --- layers ----------------------------------------------------------------------------------- */

/* How well a layer can be repeated. */
typedef enum fitness { FIT_NOT, FIT_WITH_WAITS, FIT } fitness;

static st_repeat_unit layer_unit(const planner *p, const st_repeat *run, uint32_t layer)
{
    return (st_repeat_unit){.rank = p->rank,
                            .from_ns = launch_ns(p, run->first + layer * run->period),
                            .to_ns = launch_ns(p, run->first + (layer + 1) * run->period)};
}

static bool have_equal_runs(const st_whatif *w)
{
    for (size_t i = 1; i < w->graph->set->count; i++)
        if (w->repeats[i].count != w->repeats[0].count)
            return false;
    return true;
}

/* The same layers on every rank, as their collectives meet. */
static bool plan_run(planner *p, size_t run, uint32_t further)
{
    uint32_t layers = p->w->repeats[0].layers;
    size_t ranks = p->w->graph->set->count;
    fitness *fits = st_xalloc(p->w->arena, layers, sizeof *fits);
    uint32_t *copies = st_xalloc(p->w->arena, layers, sizeof *copies);
    for (uint32_t i = 0; i < layers; i++)
        fits[i] = FIT;
    for (size_t rank = 0; rank < ranks; rank++) {
        take_rank(p, rank);
        /* The last one of a run is not asked: behind it the host goes over to something else. */
        const st_repeat *layer_run = &p->repeats->items[run];
        for (uint32_t layer = 0; layer + 1 < layer_run->layers; layer++) {
            st_repeat_unit unit = layer_unit(p, layer_run, layer);
            fitness fit = unit.from_ns < 0 || unit.to_ns <= unit.from_ns ? FIT_NOT
                          : waits_between(p, unit.from_ns, unit.to_ns)   ? FIT_WITH_WAITS
                                                                         : FIT;
            fits[layer] = fit < fits[layer] ? fit : fits[layer];
        }
    }
    /* Spreads further layers evenly: the share of a layer that does not fit as well as others
     * goes to the next one that does. */
    fitness best = FIT_NOT;
    uint32_t last = 0;
    uint64_t given = 0;
    for (uint32_t i = 0; i + 1 < layers; i++)
        best = fits[i] > best ? fits[i] : best;
    for (uint32_t i = 0; i + 1 < layers; i++) {
        uint64_t share = ((uint64_t)i + 1) * further / layers;
        if (fits[i] != best)
            continue;
        copies[i] = (uint32_t)(share - given);
        given = share;
        last = i;
    }
    copies[last] += (uint32_t)(further - given);
    if (best == FIT_NOT)
        return false;
    for (size_t rank = 0; rank < ranks; rank++) {
        take_rank(p, rank);
        for (uint32_t layer = 0; layer + 1 < layers; layer++) {
            st_repeat_unit unit = layer_unit(p, &p->repeats->items[run], layer);
            unit.copies = copies[layer];
            unit.kind = (uint32_t)run;
            if (unit.copies > 0 || fits[layer] == FIT)
                add_unit(p, &unit);
        }
    }
    return true;
}

/* --- micro-batches ---------------------------------------------------------------------------- */

static size_t count_collectives(const planner *p, const st_repeat *run)
{
    const st_trace *trace = p->w->graph->set->ranks[p->rank];
    size_t count = 0;
    for (uint32_t i = run->first; i < st_repeat_end(run); i++)
        count += trace->events[p->repeats->tasks[i]].class_ == ST_TRACE_COMMUNICATION;
    return count;
}

/* `runs`: forward and backward passes of a step in turn. */
static void plan_step(planner *p, const st_repeat *runs, size_t micros, uint32_t copies)
{
    const st_repeat *forward = &runs[micros > 1 ? 2 * (micros - 2) : 0];
    st_repeat_unit unit = {
        .rank = p->rank, .from_ns = launch_ns(p, forward->first), .copies = copies};
    if (unit.from_ns < 0) {
        st_whatif_refuse(p->w, "the call that launches a micro-batch is not recorded");
        return;
    }
    if (micros > 1) {
        unit.to_ns = launch_ns(p, forward[2].first);
    } else {
        /* Where a step's last micro-batch is over on the thread that began it: as far as that
         * thread goes before it launches the next kernel, or waits for the GPU. */
        const st_repeat *backward = &forward[1];
        const st_graph_arrays graph = st_graph_arrays_of(p->w->graph->graph);
        const st_trace_rank *rank = &p->w->graph->ranks[p->rank];
        st_task_id host = rank->hosts[p->repeats->tasks[forward->first]];
        uint32_t resource = graph.resource[host];
        st_task_id next = st_graph_last_task(p->w->graph->graph, resource);
        for (uint32_t i = forward->first; i < p->repeats->task_count; i++) {
            st_task_id one = rank->hosts[p->repeats->tasks[i]];
            if (one == ST_TASK_NONE || graph.resource[one] != resource)
                continue;
            if (i >= st_repeat_end(backward)) {
                next = one;
                break;
            }
            host = one;
        }
        int64_t backward_ns = launch_ns(p, st_repeat_end(backward) - 1);
        for (st_task_id task = host + 1; task <= next; task++) {
            bool for_gpu = false;
            for (uint32_t i = graph.before_first[task]; i < graph.before_first[task + 1]; i++)
                for_gpu = for_gpu || graph.before_kind[i] == ST_EDGE_SYNC;
            if (for_gpu && st_replay_task(p->w->replay, task - 1).end_ns > backward_ns) {
                next = task - 1;
                break;
            }
        }
        unit.to_ns = st_replay_task(p->w->replay, next).end_ns;
        unit.reduces = count_collectives(p, forward) == 0 && count_collectives(p, &forward[1]) > 0;
    }
    if (unit.to_ns > unit.from_ns)
        add_unit(p, &unit);
}

static void plan_micros(planner *p)
{
    st_whatif *w = p->w;
    double set = w->values.set[ST_WHATIF_MICROS];
    w->repeats_micros = true;
    for (size_t rank = 0; rank < w->graph->set->count && w->status == ST_OK; rank++) {
        size_t micros = 0;
        size_t steps = 0;
        take_rank(p, rank);
        st_whatif_micros(w, rank, &steps, &micros);
        if (w->status == ST_OK && (set < (double)micros || fmod(set, 1) != 0))
            w->repeats_micros = false;
        for (size_t i = 0; i < steps && w->repeats_micros && w->status == ST_OK; i++)
            if (set > (double)micros)
                plan_step(p, p->repeats->items + 2 * micros * i, micros,
                          (uint32_t)set - (uint32_t)micros);
    }
}

/* --- both ------------------------------------------------------------------------------------- */

void st_whatif_plan_repeats(st_whatif *w)
{
    planner p = {.w = w};
    bool pipeline = w->values.set[ST_WHATIF_PP] > 0 || w->values.set[ST_WHATIF_MICROS] > 0;
    if (st_whatif_adds_micros(w)) {
        plan_micros(&p); /* layers besides are stretched */
    } else if (w->values.set[ST_WHATIF_LAYERS] > 0 && !pipeline) {
        st_whatif *layer_w = p.w;
        uint32_t layers = layer_w->repeats[0].layers;
        double set = layer_w->values.set[ST_WHATIF_LAYERS];
        bool done = have_equal_runs(layer_w) && set > layers && fmod(set, 1) == 0;
        if (done)
            list_waits(&p);
        for (size_t run = 0; run < layer_w->repeats[0].count && done && layer_w->status == ST_OK;
             run++)
            done = plan_run(&p, run, (uint32_t)set - layers);
        layer_w->repeats_layers = done;
        layer_w->unit_count = done ? layer_w->unit_count : 0;
    }
}
