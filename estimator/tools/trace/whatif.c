/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What if: the graph manipulations of Lumos (sec. 3.4), on durations.
 *
 * More layers make the repeated part of the work, on the GPU and on the host, longer in proportion;
 * a wider model makes GEMMs, activations, parameters and what is sent grow as they depend on the
 * width; other group sizes change the transfers of their collectives as a ring does (Li et al.
 * 2024, eq. 2 to 5). Who waits for whom stays, and the replay shows the effect.
 */
#include "trace/devices.h"
#include "trace/sends.h"
#include "trace/whatif.h"

#include "base/memory.h"
#include "trace/trace_replay.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum traffic { TRAFFIC_NONE, TRAFFIC_TP, TRAFFIC_DP, TRAFFIC_OTHER } traffic;

typedef struct scaling {
    st_whatif *w;
    const st_trace *trace;
    const st_trace_rank *rank;
    size_t index;          /* of the rank */
    bool *in_layer;        /* by event */
    const double *factors; /* how much longer a task lasts, by event */
    size_t tp_count;
    size_t dp_count;
} scaling;

static bool is_set(const st_whatif *w, st_whatif_key key)
{
    return w->values.set[key] > 0;
}

/* New over old, 1 where the key does not change. */
static double ratio(const st_whatif *w, st_whatif_key key)
{
    return is_set(w, key) && w->values.have[key] > 0 ? w->values.set[key] / w->values.have[key] : 1;
}

/* --- how things grow
 * ------------------------------------------------------------------------------ */

static double ring_share(double ranks)
{
    return (ranks - 1) / ranks;
}

static double ring_growth(const st_whatif *w, st_whatif_key key)
{
    if (!is_set(w, key))
        return 1;
    return ring_share(w->values.set[key]) / ring_share(w->values.have[key]);
}

/* The communicator of a kernel, as far as known. */
static traffic traffic_of(const scaling *s, size_t event)
{
    const st_trace_event *e = &s->trace->events[event];
    double tp = s->w->values.have[ST_WHATIF_TP];
    double dp = s->w->values.have[ST_WHATIF_DP];
    if (e->class_ != ST_TRACE_COMMUNICATION)
        return TRAFFIC_NONE;
    if (st_message_is(s->trace, e, NULL))
        return TRAFFIC_OTHER;
    const st_trace_collective *meta = st_trace_described(s->trace, e);
    if (meta != NULL && meta->group_size > 0 && tp != dp) {
        double size = (double)meta->group_size;
        return size == tp ? TRAFFIC_TP : size == dp ? TRAFFIC_DP : TRAFFIC_OTHER;
    }
    if (strstr(s->trace->names[e->name], "SendRecv") != NULL)
        return TRAFFIC_OTHER;
    if (tp > 1 && dp > 1)
        return s->in_layer[event] ? TRAFFIC_TP : TRAFFIC_DP;
    if (tp > 1)
        return TRAFFIC_TP;
    return dp > 1 ? TRAFFIC_DP : TRAFFIC_OTHER;
}

/* How a collective changes: its message, its group, its links. */
typedef struct message_change {
    traffic traffic;
    double size;
    double ranks;
    double bandwidth;
} message_change;

/* On a ring; the model's, if there is one and the trace has the message. */
static double communication_growth(scaling *s, size_t event)
{
    st_whatif *w = s->w;
    const double *set = w->values.set;
    message_change c = {.traffic = traffic_of(s, event), .size = 1, .ranks = 1, .bandwidth = 1};
    c.bandwidth = is_set(w, ST_WHATIF_BANDWIDTH) ? set[ST_WHATIF_BANDWIDTH] : 1;
    switch (c.traffic) {
    case TRAFFIC_TP:
        s->tp_count++;
        c.size = ratio(w, ST_WHATIF_HIDDEN) * ratio(w, ST_WHATIF_MICRO_BATCH);
        c.ranks = ratio(w, ST_WHATIF_TP);
        c.bandwidth *= is_set(w, ST_WHATIF_BANDWIDTH_TP) ? set[ST_WHATIF_BANDWIDTH_TP] : 1;
        break;
    case TRAFFIC_DP:
        s->dp_count++;
        c.size = w->growth.parameters / ratio(w, ST_WHATIF_TP);
        if (!s->in_layer[event] &&
            is_set(w, ST_WHATIF_LAYERS)) /* gradients of all layers at once */
            c.size *= w->layer_growth;
        c.ranks = ratio(w, ST_WHATIF_DP);
        c.bandwidth *= is_set(w, ST_WHATIF_BANDWIDTH_DP) ? set[ST_WHATIF_BANDWIDTH_DP] : 1;
        break;
    default:
        s->w->others++;
        s->w->others_ns = st_add_ns(s->w->others_ns, s->trace->events[event].duration_ns);
        s->w->unknown += !s->in_layer[event] && is_set(w, ST_WHATIF_LAYERS) &&
                         !st_message_is(s->trace, &s->trace->events[event], NULL);
        c.size = ratio(w, ST_WHATIF_HIDDEN) * ratio(w, ST_WHATIF_MICRO_BATCH);
        break;
    }
    st_trace_transfer before;
    double by_model = 0;
    double growth = c.size / c.bandwidth;
    if (c.traffic == TRAFFIC_TP)
        growth *= ring_growth(w, ST_WHATIF_TP);
    else if (c.traffic == TRAFFIC_DP)
        growth *= ring_growth(w, ST_WHATIF_DP);
    if (w->model != NULL && st_whatif_transfer(s->trace, &s->trace->events[event], &before)) {
        double tp = w->values.have[ST_WHATIF_TP];
        before.stride = c.traffic == TRAFFIC_DP && tp > 1 ? tp : 1;
        st_trace_transfer after = before;
        after.size_bytes *= c.size;
        after.ranks *= c.ranks;
        after.stride *= c.traffic == TRAFFIC_DP ? ratio(w, ST_WHATIF_TP) : 1;
        after.bandwidth_factor = c.bandwidth;
        if (after.ranks > 1) /* else there is nothing to send */
            by_model = st_whatif_ratio(w, &before, &after);
    }
    w->modelled += by_model > 0;
    w->by_ring += by_model <= 0 && growth != 1;
    return by_model > 0 ? by_model : growth;
}

/* Without what all tasks of a layer have in common. */
static double class_growth(scaling *s, size_t event)
{
    st_whatif *w = s->w;
    const st_trace_event *e = &s->trace->events[event];
    /* Where no layers are found, all products are taken for a layer's. */
    bool in_layer = s->in_layer[event] || w->repeats[0].layers == 0;
    if (w->priced && e->class_ != ST_TRACE_COMMUNICATION)
        w->outcome->kernels_ns = st_add_ns(w->outcome->kernels_ns, e->duration_ns);
    switch ((st_trace_class)e->class_) {
    case ST_TRACE_GEMM:
        return in_layer ? w->growth.products : w->growth.logits;
    case ST_TRACE_ATTENTION:
        return w->growth.attention;
    case ST_TRACE_OPTIMIZER: {
        /* Optimizers update the parameters of all layers at once. */
        bool of_layers = is_set(w, ST_WHATIF_LAYERS) && !s->in_layer[event];
        return w->growth.updated * (of_layers ? w->layer_growth : 1);
    }
    case ST_TRACE_COMMUNICATION:
        return communication_growth(s, event);
    case ST_TRACE_NORM:
    case ST_TRACE_ELEMENTWISE:
        return w->growth.elementwise;
    default:
        w->outcome->unpriced += w->priced;
        if (w->priced)
            w->outcome->unpriced_ns = st_add_ns(w->outcome->unpriced_ns, e->duration_ns);
        return 1;
    }
}

/* --- the graph
 * ------------------------------------------------------------------------------------ */

/* A task is late as it was; its delay is right before it. */
static void scale_rank(scaling *s)
{
    for (size_t i = 0; i < s->trace->event_count && s->w->status == ST_OK; i++) {
        st_task_id task = s->rank->tasks[i];
        if (task == ST_TASK_NONE)
            continue;
        const st_whatif *w = s->w;
        st_whatif_key speed = (st_whatif_key)(ST_WHATIF_SPEED + s->trace->events[i].class_);
        double growth_factor = class_growth(s, i);
        growth_factor *= s->factors[i] * st_whatif_kernel_factor(w, s->trace, i) *
                         st_whatif_move(s->w, s->index, i);
        double factor = growth_factor / (is_set(w, speed) ? w->values.set[speed] : 1);
        st_task_id delay = s->factors[i] != 1 ? st_whatif_delay_of(s->w, task) : ST_TASK_NONE;
        s->w->outcome->scaled += factor != 1;
        if (factor != 1)
            st_whatif_scale(s->w, task, factor);
        if (delay != ST_TASK_NONE)
            st_whatif_scale(s->w, delay, s->factors[i]);
    }
}

static void scale_graph(st_whatif *w)
{
    size_t tp = 0;
    size_t dp = 0;
    st_whatif_check_kernels(w);
    for (size_t i = 0; i < w->graph->set->count && w->status == ST_OK; i++) {
        const st_trace *trace = w->graph->set->ranks[i];
        bool *in_layer = st_xcalloc(trace->event_count + 1, sizeof *in_layer);
        scaling s = {
            .w = w, .trace = trace, .rank = &w->graph->ranks[i], .index = i, .in_layer = in_layer};
        const st_repeats *repeats = &w->repeats[i];
        for (size_t j = 0; j < repeats->count; j++) {
            const st_repeat *run = &repeats->items[j];
            for (uint32_t k = 0; k < run->period * run->layers; k++)
                in_layer[repeats->tasks[run->first + k]] = true;
        }
        st_whatif_launches launches = {0};
        s.factors = st_whatif_stretch(s.w, i);
        if (s.w->status == ST_OK)
            scale_rank(&s);
        if (s.w->status == ST_OK)
            st_whatif_edit(s.w, i, s.factors, &launches);
        if (s.w->status == ST_OK)
            st_whatif_host(s.w, i, &launches);
        tp += s.tp_count;
        dp += s.dp_count;
        free(in_layer);
    }
    bool for_tp = is_set(w, ST_WHATIF_TP) || is_set(w, ST_WHATIF_BANDWIDTH_TP);
    bool for_dp = is_set(w, ST_WHATIF_DP) || is_set(w, ST_WHATIF_BANDWIDTH_DP);
    if ((for_tp && tp == 0) || (for_dp && dp == 0))
        st_whatif_refuse(w,
                         "%s" ST_EXPECTED "--have parallel.tp and parallel.dp as the job had them",
                         for_tp && tp == 0 ? "the trace shows no tensor-parallel collective"
                                           : "the trace shows no data-parallel collective");
}

/* --- what a trace shows
 * ------------------------------------------------------------------------------ */

static void demand_have(st_whatif *w, st_whatif_key key, double least)
{
    const char *name = st_whatif_key_name(key);
    if (!is_set(w, key) || w->values.have[key] >= least || w->status != ST_OK)
        return;
    if (w->values.have[key] > 0)
        ST_NOTE(w, ST_ERR_VALUE, (st_place){.file = "--set"},
                "%s was %.0f: the trace has no collectives of such groups, and does not show where "
                "they would run or how long" ST_HINT
                "'steptime estimate' prices a job that has them",
                name, w->values.have[key]);
    else
        ST_NOTE(w, ST_ERR_USAGE, (st_place){.file = "--set"},
                "%s changes from an unknown value" ST_HINT "give the recorded one: --have %s=N%s",
                name, name, least > 1 ? ", at least 2" : "");
}

/* What held in the recording holds after the change, unless that is what changes. */
static void check_slowdown(st_whatif *w, st_whatif_key key)
{
    enum { LARGEST = 1000 };
    double *values[] = {&w->values.have[key], &w->values.set[key]};
    static const char *const options[] = {"--have", "--set"};
    double held = 1;
    for (size_t i = 0; i < ST_COUNT(values) && w->status == ST_OK; i++) {
        *values[i] = *values[i] > 0 ? *values[i] : held;
        held = *values[i];
        if (held < 1 || held > LARGEST)
            ST_NOTE(w, ST_ERR_USAGE, (st_place){.file = options[i]},
                    "invalid value of %s" ST_FOUND "%g" ST_EXPECTED "from 1 to %d",
                    st_whatif_key_name(key), held, LARGEST);
    }
}

/* What kernels of another shape take, by the sheet and its plugins, and what has no price. */
static void note_prices(st_whatif *w)
{
    const st_trace_growth *g = &w->growth;
    const st_trace_outcome *outcome = w->outcome;
    if (!w->priced && g->updated != 1 && is_set(w, ST_WHATIF_DP))
        st_whatif_note(w,
                       "the optimizer takes %.3f of its recorded time, as a rank "
                       "updates so many of its parameters by the job's sheet",
                       g->updated);
    if (!w->priced)
        return;
    st_whatif_note(
        w,
        "kernels of another shape take, by the job's sheet, times their recorded time: products "
        "%.3f, of the output layer %.3f, attention %.3f, element-wise ones and norms %.3f, "
        "optimizer %.3f",
        g->products, g->logits, g->attention, g->elementwise, g->updated);
    if (w->repeats[0].layers == 0)
        st_whatif_note(w, "no layers were found: all products change as a layer's");
    if (outcome->unpriced > 0 && outcome->kernels_ns > 0)
        st_whatif_note(w,
                       "%zu copies and kernels of no known kind, %.1f %% of the time of "
                       "kernels, have no price for another shape: they last as recorded",
                       outcome->unpriced,
                       100 * (double)outcome->unpriced_ns / (double)outcome->kernels_ns);
}

/* Which collectives have changed, and how. */
static void note_collectives(st_whatif *w)
{
    if (w->unknown > 0)
        st_whatif_note(w,
                       "%zu collectives outside of layers last as before; --have "
                       "give parallel.dp and parallel.tp to identify gradients",
                       w->unknown);
    if (w->others > 0 && (is_set(w, ST_WHATIF_DP) || is_set(w, ST_WHATIF_TP)))
        st_whatif_note(w,
                       "%zu all-to-alls and others of neither tp nor dp, %.3f ms over all "
                       "ranks, last as before",
                       w->others, (double)w->others_ns / 1e6);
    if (w->model == NULL || w->modelled + w->by_ring == 0)
        return;
    if (w->by_ring == 0)
        st_whatif_note(w, "%zu collectives take the model's ratio of times", w->modelled);
    else
        st_whatif_note(w,
                       "%zu collectives take the model's ratio of times, %zu as rings "
                       "do: the trace lacks their messages, or the model does not "
                       "know them",
                       w->modelled, w->by_ring);
}

static void note_assumptions(st_whatif *w)
{
    /* What stays as it was recorded. */
    const st_trace_set *set = w->graph->set;
    int64_t late_ns = 0;
    int64_t graphs_ns = 0;
    if (set->count == 1 && set->world_size > 1)
        st_whatif_note(w,
                       "one rank of %lld: its collectives last as recorded, waiting for "
                       "others included",
                       (long long)set->world_size);
    else if ((int64_t)set->count < set->world_size)
        st_whatif_note(w,
                       "%zu ranks of %lld: their collectives wait for the others as "
                       "recorded",
                       set->count, (long long)set->world_size);
    for (size_t i = 0; i < set->count; i++) {
        late_ns = st_add_ns(late_ns, w->graph->ranks[i].unexplained_ns);
        graphs_ns = st_add_ns(graphs_ns, w->graph->ranks[i].graphs_ns);
    }
    if (graphs_ns > 0)
        st_whatif_note(w,
                       "nodes of CUDA graphs that the profiler did not record, %.3f ms "
                       "over all ranks, stay",
                       (double)graphs_ns / 1e6);
    if (late_ns > 0)
        st_whatif_note(w,
                       "what tasks were late for no known reason, %.3f ms over all "
                       "ranks, stays",
                       (double)late_ns / 1e6);
    for (size_t i = 0; i < set->count; i++) {
        const st_trace_queue *queue = &w->graph->ranks[i].queue;
        if (queue->waiting > 0 && !queue->is_seen)
            st_whatif_note(w,
                           "the launch queue holds %u launches, as current drivers do: the "
                           "recording never fills it",
                           queue->depth);
    }
    if (w->model == NULL && (is_set(w, ST_WHATIF_DP) || is_set(w, ST_WHATIF_TP)))
        st_whatif_note(w, "collectives of another size are rings on links of the same bandwidth");
    if (st_whatif_adds_micros(w))
        st_whatif_note(w, "further micro-batches last as the recorded ones; gradients are "
                          "reduced in the last one alone");
    if (is_set(w, ST_WHATIF_TP) && !w->priced)
        st_whatif_note(w, "kernels of other shards are as efficient as recorded");
}

/* --- before and after
 * ------------------------------------------------------------------------------ */

/* Breaks the replay down that `replay` runs. */
static void measure(st_whatif *w, void (*replay)(st_whatif *w), st_trace_breakdown **ranks,
                    int64_t ***steps_ns, int64_t *end_ns)
{
    size_t count = w->graph->set->count;
    *ranks = st_xalloc(w->arena, count + w->outcome->lane_count, sizeof **ranks);
    *steps_ns = st_xalloc(w->arena, count, sizeof **steps_ns);
    replay(w);
    *end_ns = 0;
    for (size_t i = 0; i < count && w->status == ST_OK; i++) {
        st_replayed_rank(w->graph, w->replay, i, false, &(*ranks)[i]);
        /* The steps of a rank in the replay that ran. */
        const st_trace_rank *rank = &w->graph->ranks[i];
        int64_t **step_steps_ns = &(*steps_ns)[i];
        *step_steps_ns = st_xalloc(w->arena, rank->step_count + 1, sizeof **step_steps_ns);
        for (size_t j = 0; j < rank->step_count; j++)
            (*step_steps_ns)[j] = st_replayed_step_ns(&rank->steps[j], w->replay);
        int64_t end = w->graph->ranks[i].start_ns + (*ranks)[i].window_ns;
        *end_ns = end > *end_ns ? end : *end_ns;
    }
    for (size_t i = 0; i < w->outcome->lane_count && w->status == ST_OK; i++)
        st_replayed_device(w->graph, w->replay, w->outcome->lanes[i].rank,
                           w->outcome->lanes[i].device, false, &(*ranks)[count + i]);
}

/* When the last of a step's work is over, on the host and on the GPU, in the replay that ran. */
static int64_t completed_ns(const st_whatif *w, const st_trace_rank *rank, size_t step)
{
    int64_t from_ns = st_replay_task(w->replay, rank->steps[step].begins).end_ns;
    int64_t to_ns = st_replay_task(w->replay, rank->steps[step].ends).end_ns;
    int64_t end_ns = to_ns;
    for (size_t i = 0; i < rank->trace->event_count; i++) {
        if (rank->tasks[i] == ST_TASK_NONE || rank->hosts[i] == ST_TASK_NONE)
            continue;
        int64_t launched_ns = st_replay_task(w->replay, rank->hosts[i]).end_ns;
        int64_t task_ns = st_replay_task(w->replay, rank->tasks[i]).end_ns;
        if (launched_ns > from_ns && launched_ns <= to_ns && task_ns > end_ns)
            end_ns = task_ns;
    }
    return end_ns;
}

/* Tasks belong to steps by the calls that launch them. */
static bool has_steps(const st_trace_rank *rank)
{
    size_t tasks = 0;
    for (size_t i = 0; i < rank->trace->event_count; i++)
        tasks += rank->tasks[i] != ST_TASK_NONE;
    return rank->step_count > 0 && !st_trace_lacks_calls(rank->unlaunched, tasks);
}

/* The longest mean step of a rank; 0 without steps. */
static int64_t mean_step_ns(const st_whatif *w)
{
    int64_t most_ns = 0;
    for (size_t i = 0; i < w->graph->set->count; i++) {
        const st_trace_rank *rank = &w->graph->ranks[i];
        size_t count = rank->step_count;
        if (!has_steps(rank))
            continue;
        int64_t last_ns = completed_ns(w, rank, count - 1);
        int64_t step_ns = count > 1
                              ? (last_ns - completed_ns(w, rank, 0)) / (int64_t)(count - 1)
                              : last_ns - st_replay_task(w->replay, rank->steps[0].begins).end_ns +
                                    rank->steps[0].lead_ns;
        most_ns = step_ns > most_ns ? step_ns : most_ns;
    }
    return most_ns;
}

/* The time of all computing kernels, as the graph has it. */
static double computing_ns(const st_whatif *w, bool recorded)
{
    double sum_ns = 0;
    for (size_t r = 0; r < w->graph->set->count; r++) {
        const st_trace_rank *rank = &w->graph->ranks[r];
        for (size_t i = 0; i < rank->trace->event_count; i++) {
            const st_trace_event *event = &rank->trace->events[i];
            if (rank->tasks[i] != ST_TASK_NONE && event->class_ != ST_TRACE_COMMUNICATION)
                sum_ns += recorded
                              ? (double)event->duration_ns
                              : (double)st_graph_task(w->graph->graph, rank->tasks[i]).duration_ns;
        }
    }
    return sum_ns;
}

/* How much longer or shorter the computing kernel lasts that changes most. */
static double largest_change(const st_whatif *w)
{
    double most = 1;
    for (size_t r = 0; r < w->graph->set->count; r++) {
        const st_trace_rank *rank = &w->graph->ranks[r];
        for (size_t i = 0; i < rank->trace->event_count; i++) {
            const st_trace_event *event = &rank->trace->events[i];
            if (rank->tasks[i] == ST_TASK_NONE || event->class_ == ST_TRACE_COMMUNICATION ||
                event->duration_ns <= 0)
                continue;
            double now_ns = (double)st_graph_task(w->graph->graph, rank->tasks[i]).duration_ns;
            double factor = now_ns / (double)event->duration_ns;
            bool more = factor > 0 && fabs(log(factor)) > fabs(log(most));
            most = more ? factor : most;
        }
    }
    return most;
}

/*
 * A rank whose peers are not recorded waits for them in its collectives. The shortest one of a name
 * and message is taken to be all transfer; what others last longer is waiting, which changes as
 * much as the rank's own kernels do. What it waits for messages without a partner depends on
 * kernels that nobody knows: it changes as much as the kernel that changes most.
 */
static void replay_waiting(st_whatif *w)
{
    st_graph *graph = w->graph->graph;
    double recorded_ns = computing_ns(w, true);
    double ratio_of_kernels = recorded_ns > 0 ? computing_ns(w, false) / recorded_ns : 1;
    const double ratio_of_lost = largest_change(w);
    size_t changed = 0;
    for (size_t r = 0; r < w->graph->set->count; r++) {
        const st_trace_rank *rank = &w->graph->ranks[r];
        const st_trace *trace = rank->trace;
        int64_t *least_ns = st_xalloc(w->arena, trace->name_count + 1, sizeof *least_ns);
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < trace->event_count && w->status == ST_OK; i++) {
                const st_trace_event *event = &trace->events[i];
                if (rank->tasks[i] == ST_TASK_NONE)
                    continue;
                /* A message that is lost leaves its wait behind, as a delay of what follows. */
                st_task_id delay = pass == 1 && w->graph->unmatched_messages > 0
                                       ? st_whatif_delay_of(w, rank->tasks[i])
                                       : ST_TASK_NONE;
                if (delay != ST_TASK_NONE && st_graph_task(graph, delay).duration_ns > 0) {
                    changed++;
                    st_whatif_scale(w, delay, ratio_of_lost);
                }
                if (event->class_ != ST_TRACE_COMMUNICATION ||
                    st_graph_task(graph, rank->tasks[i]).instance != 0)
                    continue;
                int64_t *least = &least_ns[event->name];
                if (pass == 0) {
                    *least =
                        *least == 0 || event->duration_ns < *least ? event->duration_ns : *least;
                    continue;
                }
                double now_ns = (double)st_graph_task(graph, rank->tasks[i]).duration_ns;
                double growth = event->duration_ns > 0 ? now_ns / (double)event->duration_ns : 1;
                double waiting_ns = (double)(event->duration_ns - *least);
                changed += waiting_ns > 0;
                double ratio_of_wait =
                    st_message_is(trace, event, NULL) ? ratio_of_lost : ratio_of_kernels;
                st_whatif_set_time(w, rank->tasks[i],
                                   growth * (double)*least + ratio_of_wait * waiting_ns);
            }
    }
    st_trace_breakdown *ranks = NULL;
    int64_t **steps_ns = NULL;
    if (w->status == ST_OK && changed > 0)
        measure(w, st_whatif_replay, &ranks, &steps_ns, &w->outcome->after_waiting_ns);
    if (w->status == ST_OK && w->outcome->after_waiting_ns != w->outcome->after_ns)
        st_whatif_note(w,
                       "the other ranks are not recorded: with collectives as long as recorded "
                       "%.3f ms, with their time beyond the shortest alike as waiting that changes "
                       "as the rank's kernels do %.3f ms",
                       (double)w->outcome->after_ns / 1e6,
                       (double)w->outcome->after_waiting_ns / 1e6);
}

/* Devices of ranks that have several. */
static void find_lanes(st_whatif *w)
{
    st_trace_outcome *outcome = w->outcome;
    for (size_t i = 0; i < w->graph->set->count; i++) {
        st_trace_device *devices = NULL;
        bool are_ranks = false;
        size_t count = st_trace_devices(w->graph->set->ranks[i], w->arena, &devices, &are_ranks);
        for (size_t k = 0; k < count && count > 1; k++) {
            st_trace_lane lane = {i, devices[k].number};
            ST_XAPPEND(w->arena, outcome->lanes, outcome->lane_count, lane);
        }
    }
}

static void replay_recorded(st_whatif *w)
{
    st_note(&w->status, st_replay_run(w->replay, w->errors));
}

/* Values that are wrong, or that no change of this trace can follow. */
static void check_change(st_whatif *w, const st_trace_change *change)
{
    static const st_whatif_key shapes[] = {ST_WHATIF_HIDDEN, ST_WHATIF_FFN, ST_WHATIF_HEADS,
                                           ST_WHATIF_MICRO_BATCH};
    w->status = st_whatif_parse(change, w->arena, &w->values, w->errors);
    if (w->status == ST_OK)
        w->status = st_whatif_edits_parse(change, w->arena, &w->values, w->errors);
    if (w->status == ST_OK) {
        const bool approximate = change->approximate;
        if (is_set(w, ST_WHATIF_TP) && !approximate && !w->priced)
            ST_NOTE(w, ST_ERR_USAGE, (st_place){.file = "--set"},
                    "parallel.tp changes the shapes of the kernels, and a trace has no times for "
                    "new shapes" ST_HINT "name the recorded job: --job JOB prices them; "
                    "--approximate divides times by the number of shards");
        demand_have(w, ST_WHATIF_TP, 2);
        demand_have(w, ST_WHATIF_DP, 2);
        demand_have(w, ST_WHATIF_HIDDEN, 1);
        check_slowdown(w, ST_WHATIF_SLOWDOWN);
        check_slowdown(w, ST_WHATIF_SLOWED_COLLECTIVES);
    }
    for (size_t i = 0; i < ST_COUNT(shapes) && w->status == ST_OK && !w->priced; i++)
        if (is_set(w, shapes[i]))
            ST_NOTE(w, ST_ERR_USAGE, (st_place){.file = "--set"},
                    "%s changes the shapes of kernels, which the sheet of a job knows" ST_HINT
                    "name the recorded job: --job JOB",
                    st_whatif_key_name(shapes[i]));
    if (!w->priced) {
        /* Without a price, kernels are as efficient as recorded on the new number of shards. */
        double shards = 1 / ratio(w, ST_WHATIF_TP);
        double updated = w->growth.updated > 0 ? w->growth.updated : shards;
        w->growth = (st_trace_growth){shards, shards, 1, shards, 1, updated};
    }
}

static void keep_times(st_whatif *w, st_trace_times *times)
{
    if (w->keep_times && w->status == ST_OK)
        w->status = st_replayed_times(w->graph, w->replay, w->arena, times, w->errors);
}

static void unblock(st_whatif *w)
{
    w->status = st_trace_graph_unblock(w->graph, w->errors);
}

static void replay_changed(st_whatif *w)
{
    static void (*const stages[])(st_whatif *) = {st_whatif_plan_repeats,
                                                  st_whatif_relieve,
                                                  scale_graph,
                                                  unblock,
                                                  note_prices,
                                                  note_collectives,
                                                  st_whatif_note_moved,
                                                  st_whatif_note_edits,
                                                  st_whatif_repeat,
                                                  st_whatif_share_queues};
    for (size_t i = 0; i < ST_COUNT(stages) && w->status == ST_OK; i++)
        stages[i](w);
    if (w->status == ST_OK)
        measure(w, st_whatif_replay, &w->outcome->after, &w->outcome->steps_after_ns,
                &w->outcome->after_ns);
    if (w->status != ST_OK)
        return;
    w->outcome->step_after_ns = mean_step_ns(w);
    w->outcome->after_waiting_ns = w->outcome->after_ns;
    if (is_set(w, ST_WHATIF_PP) || (is_set(w, ST_WHATIF_MICROS) && !st_whatif_adds_micros(w))) {
        if (w->stages.count > 1)
            st_whatif_stages_anew(w);
        else
            st_whatif_pipeline(w);
        w->outcome->after_waiting_ns = w->outcome->after_ns;
        w->outcome->step_before_ns = w->outcome->step_after_ns = 0;
        return;
    }
    keep_times(w, &w->outcome->times_after);
    /* What the host waits for no known cause may be over at once after the change. */
    st_trace_graph *graph = w->graph;
    st_trace_breakdown *ranks = NULL;
    int64_t **steps_ns = NULL;
    int64_t unknown_ns = 0;
    size_t count = 0;
    unknown_ns = 0;
    for (size_t i = 0; i < graph->set->count; i++) {
        count += graph->ranks[i].waiting.unknown_count;
        unknown_ns = st_add_ns(unknown_ns, graph->ranks[i].waiting.unknown_ns);
    }
    w->outcome->after_least_ns = w->outcome->after_ns;
    const st_trace_set *set = graph->set;
    bool alone = (int64_t)set->count < (int64_t)set->world_size || graph->outside_messages > 0 ||
                 graph->unmatched_messages > 0;
    if (count == 0) {
        if (alone)
            replay_waiting(w);
        return;
    }
    for (size_t i = 0; i < graph->set->count; i++)
        for (size_t k = 0; k < graph->ranks[i].waiting.unknown_count; k++)
            st_whatif_set_ns(w, graph->ranks[i].waiting.unknown[k], 0);
    measure(w, replay_recorded, &ranks, &steps_ns, &w->outcome->after_least_ns);
    st_whatif_note(w,
                   "%zu times the host waits for no known cause, %.3f ms over all "
                   "ranks: as long as recorded; over at once it would be %.3f ms",
                   count, (double)unknown_ns / 1e6, (double)w->outcome->after_least_ns / 1e6);
    if (alone)
        replay_waiting(w);
}

static void run(st_whatif *w, const st_trace_change *change)
{
    check_change(w, change);
    find_lanes(w);
    if (w->status == ST_OK) {
        bool passes = is_set(w, ST_WHATIF_PP) || is_set(w, ST_WHATIF_MICROS);
        if (passes || is_set(w, ST_WHATIF_LAYERS) || is_set(w, ST_WHATIF_HIDDEN) ||
            is_set(w, ST_WHATIF_FFN))
            st_whatif_check_training(w, passes);
        if (w->status == ST_OK)
            st_whatif_find_stages(w);
        if (w->status == ST_OK)
            st_whatif_check_stages(w);
        w->repeats = st_xalloc(w->arena, w->graph->set->count, sizeof *w->repeats);
        if (w->status == ST_OK && !change->skips_layers)
            st_whatif_find_layers(w);
        if (w->status == ST_OK)
            st_whatif_check_job(w);
        if (w->status == ST_OK &&
            (is_set(w, ST_WHATIF_LAYERS) || is_set(w, ST_WHATIF_TP) || is_set(w, ST_WHATIF_DP) ||
             is_set(w, ST_WHATIF_BANDWIDTH_TP) || is_set(w, ST_WHATIF_BANDWIDTH_DP)))
            st_whatif_check_groups(w);
        note_assumptions(w);
        if (w->status == ST_OK)
            w->status = st_trace_graph_delays(w->graph, true, w->errors);
    }
    if (w->status == ST_OK)
        measure(w, replay_recorded, &w->outcome->before, &w->outcome->steps_before_ns,
                &w->outcome->before_ns);
    keep_times(w, &w->outcome->times_before);
    if (w->status == ST_OK)
        w->outcome->step_before_ns = mean_step_ns(w);
    if (w->status == ST_OK)
        replay_changed(w);
}

st_status st_trace_whatif(st_trace_graph *graph, const st_trace_change *change, st_arena *arena,
                          st_trace_outcome *outcome, st_errors *errors)
{
    *outcome = (st_trace_outcome){0};
    st_whatif w = {.graph = graph,
                   .replay = st_xmemory(st_replay_create(graph->graph)),
                   .arena = arena,
                   .errors = errors,
                   .outcome = outcome,
                   .job = change->job,
                   .model = change->model,
                   .layer_growth = 1,
                   .keep_times = change->keep_times,
                   .ratios = change->ratios,
                   .growth = change->growth,
                   .priced = change->growth.products > 0};
    run(&w, change);
    st_replay_destroy(w.replay);
    return w.status;
}
