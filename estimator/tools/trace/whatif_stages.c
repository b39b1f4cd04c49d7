/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded pipeline: which rank is which stage, by who sends to whom first; what a pass of a
 * stage takes, by what runs between its messages; and the schedule of other numbers of stages or
 * micro-batches with these times.
 */
#include "trace/sends.h"
#include "trace/whatif.h"
#include "trace/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Between two pieces of work of a stage. */
typedef enum border {
    BORDER_NONE, /* begin or end of the recording */
    RECEIVES_FORWARD,
    SENDS_FORWARD,
    RECEIVES_BACKWARD,
    SENDS_BACKWARD,
    BORDERS
} border;

/* Lengths of all pieces between two kinds of borders. */
typedef struct pieces {
    int64_t *items_ns;
    size_t count;
} pieces;

/* What a stage does for a micro-batch. */
typedef struct stage_times {
    int64_t forward_ns;
    int64_t backward_ns; /* of the last stage both are in it where they follow each other */
} stage_times;

typedef struct stage_plan {
    st_schedule_kind kind;
    uint32_t stages;
    uint32_t micros;
    const stage_times *times; /* by stage */
    int64_t send_ns;
    int64_t receive_ns;
    bool is_inline; /* messages are on the stream of the kernels */
} stage_plan;

/* --- which rank is which stage -----------------------------------------------------------------
 */

/* Of two ranks that send to each other the one whose message was first is before the other one. */
static bool is_forward(const st_whatif *w, const st_trace_message *one)
{
    const st_trace_graph *graph = w->graph;
    int64_t first_ns = INT64_MAX;
    bool forward = true;
    for (size_t i = 0; i < graph->message_count; i++) {
        const st_trace_message *other = &graph->messages[i];
        bool same = other->from == one->from && other->to == one->to;
        if (!same && (other->from != one->to || other->to != one->from))
            continue;
        const st_trace_rank *rank = &graph->ranks[other->from];
        int64_t at_ns = st_trace_base_ns(rank->trace) + rank->clock_ns +
                        rank->trace->events[other->send].start_ns;
        forward = at_ns < first_ns ? same : forward;
        first_ns = at_ns < first_ns ? at_ns : first_ns;
    }
    return forward;
}

/* One link for each pair of ranks that send to each other, in the direction of the passes forward.
 */
static void find_links(st_whatif *w, st_whatif_stages *stages)
{
    const st_trace_graph *graph = w->graph;
    for (size_t i = 0; i < graph->message_count; i++) {
        const st_trace_message *one = &graph->messages[i];
        bool known = false;
        for (size_t k = 0; k < stages->link_count && !known; k++)
            known = (stages->links[k].from == one->from && stages->links[k].to == one->to) ||
                    (stages->links[k].from == one->to && stages->links[k].to == one->from);
        if (known)
            continue;
        bool forward = is_forward(w, one);
        st_whatif_link link = {forward ? one->from : one->to, forward ? one->to : one->from};
        ST_XAPPEND(w->arena, stages->links, stages->link_count, link);
    }
}

/* Kernels of a rank that send or receive, nobody knows which: without the profiler's metadata, or
 * of several messages at once, which the profiler calls "coalesced". */
static size_t count_unnamed(const st_trace *trace, size_t *coalesced)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        const st_trace_event *event = &trace->events[i];
        if (event->kind != ST_TRACE_KERNEL || event->class_ != ST_TRACE_COMMUNICATION ||
            strstr(trace->names[event->name], "SendRecv") == NULL)
            continue;
        const st_trace_collective *meta = st_trace_described(trace, event);
        const char *name = meta == NULL ? NULL : st_trace_name(trace, meta->name);
        bool several = name != NULL && strcmp(name, "coalesced") == 0;
        *coalesced += several;
        count += name == NULL || several;
    }
    return count;
}

/* The file of a rank with such kernels; NULL without one. */
static const char *unnamed_messages(const st_whatif *w)
{
    size_t coalesced = 0;
    for (size_t r = 0; r < w->graph->set->count; r++)
        if (count_unnamed(w->graph->set->ranks[r], &coalesced) > 0)
            return w->graph->set->ranks[r]->file;
    return NULL;
}

/*
 * Of two ranks each kernel has its partner on the other one. Of more it is unknown: only kernels of
 * which every rank has as many can be all-to-alls, for the inner stages of a pipeline have more.
 */
static void check_unnamed(st_whatif *w)
{
    const st_trace_set *set = w->graph->set;
    size_t coalesced = 0;
    const size_t first = count_unnamed(set->ranks[0], &coalesced);
    bool differ = false;
    for (size_t r = 1; r < set->count; r++)
        differ = count_unnamed(set->ranks[r], &coalesced) != first || differ;
    const double have = w->values.have[ST_WHATIF_PP];
    if (set->count <= 2 || have == 1 || unnamed_messages(w) == NULL ||
        (!differ && coalesced == 0 && have <= 0))
        return;
    st_whatif_refuse(w,
                     "%s: its kernels send and receive, and nothing says to and from which of "
                     "%zu ranks" ST_EXPECTED "a recording of PyTorch 2.4 or later with one "
                     "message a kernel, or --have parallel.pp=1 where these are all-to-alls",
                     unnamed_messages(w), set->count);
}

void st_whatif_find_stages(st_whatif *w)
{
    check_unnamed(w);
    if (w->status != ST_OK)
        return;
    st_whatif_stages *stages = &w->stages;
    size_t ranks = w->graph->set->count;
    bool moved = true;
    *stages = (st_whatif_stages){.stage_of = st_xalloc(w->arena, ranks, sizeof *stages->stage_of),
                                 .ranks = st_xalloc(w->arena, ranks + 1, sizeof *stages->ranks)};
    find_links(w, stages);
    /* A stage is one behind those that send to it; in a ring that has no end. */
    for (size_t round = 0; round < ranks && moved; round++) {
        moved = false;
        for (size_t i = 0; i < stages->link_count; i++) {
            uint32_t least = stages->stage_of[stages->links[i].from] + 1;
            if (stages->stage_of[stages->links[i].to] >= least)
                continue;
            stages->stage_of[stages->links[i].to] = least;
            moved = true;
        }
    }
    for (uint32_t i = (uint32_t)ranks; i-- > 0 && !moved;) {
        uint32_t stage = stages->stage_of[i];
        stages->ranks[stage] = i;
        stages->count = stage + 1 > stages->count ? stage + 1 : stages->count;
    }
    stages->is_ring = moved && stages->link_count > 0;
    stages->count = stages->link_count > 0 ? stages->count : 0;
    w->outcome->stages = stages->count;
    if (stages->count > 1 && w->graph->outside_messages == 0) {
        double *have = &w->values.have[ST_WHATIF_PP];
        if (*have > 0 && *have != stages->count)
            st_whatif_refuse(w,
                             "parallel.pp was not %.0f: the messages of the recorded ranks make a "
                             "pipeline of %u stages",
                             *have, stages->count);
        *have = stages->count;
    }
}

/* What the sizes of a pipeline mean needs all of its stages. */
void st_whatif_check_stages(st_whatif *w)
{
    const double *set = w->values.set;
    const st_trace_graph *graph = w->graph;
    bool of_job = set[ST_WHATIF_PP] > 0 || set[ST_WHATIF_MICROS] > 0 || set[ST_WHATIF_LAYERS] > 0;
    if (graph->outside_messages > 0) {
        const char *file = graph->set->ranks[0]->file;
        if (of_job)
            st_whatif_refuse(
                w,
                "%s: %zu of its messages are for ranks that are not recorded, and what "
                "these do is unknown" ST_EXPECTED
                "a recording of a rank of every stage for model.layers, parallel.pp "
                "and batch.micro_batches",
                file, graph->outside_messages);
        st_whatif_note(w,
                       "%zu messages are for ranks that are not recorded: their waits stay as "
                       "recorded",
                       graph->outside_messages);
    }
    if (of_job && graph->unmatched_messages > 0)
        st_whatif_refuse(w,
                         "%s: %zu messages of the recorded ranks have no partner, so its passes "
                         "are not known" ST_EXPECTED "a complete recording of every stage",
                         graph->set->ranks[0]->file, graph->unmatched_messages);
    const char *unnamed = unnamed_messages(w);
    if (of_job && unnamed != NULL && w->values.have[ST_WHATIF_PP] <= 0)
        st_whatif_refuse(w,
                         "%s: its kernels send and receive, and nothing says whether these are "
                         "messages of a pipeline" ST_EXPECTED
                         "--have parallel.pp=N, 1 for all-to-alls",
                         unnamed);
    if (set[ST_WHATIF_PP] + set[ST_WHATIF_MICROS] > 0 && unnamed != NULL && w->stages.count > 1)
        st_whatif_refuse(
            w,
            "%s: its kernels do not say whether they send or receive, which passes are "
            "found by" ST_EXPECTED "a recording of PyTorch 2.4 or later, which does",
            unnamed);
    if (of_job && w->stages.is_ring)
        st_whatif_refuse(w, "the recorded ranks send to each other in a ring: stages with several "
                            "chunks cannot be laid out anew");
}

/* --- what passes take --------------------------------------------------------------------------
 */

static border border_of(const st_whatif *w, const st_trace_message *one, uint32_t rank)
{
    uint32_t from = w->stages.stage_of[one->from];
    uint32_t to = w->stages.stage_of[one->to];
    if (rank == one->from)
        return to == from + 1 ? SENDS_FORWARD : from == to + 1 ? SENDS_BACKWARD : BORDER_NONE;
    return to == from + 1 ? RECEIVES_FORWARD : from == to + 1 ? RECEIVES_BACKWARD : BORDER_NONE;
}

/* By event of a rank: what of its messages it is. */
static uint8_t *find_borders(const st_whatif *w, uint32_t rank)
{
    uint8_t *found =
        st_xalloc(w->arena, w->graph->set->ranks[rank]->event_count + 1, sizeof *found);
    for (size_t i = 0; i < w->graph->message_count; i++) {
        const st_trace_message *one = &w->graph->messages[i];
        if (one->from == rank)
            found[one->send] = (uint8_t)border_of(w, one, rank);
        if (one->to == rank)
            found[one->receive] = (uint8_t)border_of(w, one, rank);
    }
    return found;
}

static int64_t median(pieces *list)
{
    st_sort(list->items_ns, list->count, sizeof *list->items_ns, st_order_times);
    return list->count > 0 ? list->items_ns[list->count / 2] : 0;
}

/* Lengths of what a rank does between its messages, in the order of launches, in the replay. */
static void measure_pieces(st_whatif *w, uint32_t rank, pieces found[BORDERS][BORDERS])
{
    const st_trace *trace = w->graph->set->ranks[rank];
    const st_trace_rank *own = &w->graph->ranks[rank];
    const uint8_t *borders = find_borders(w, rank);
    st_order order;
    st_order_make(trace, w->arena, &order);
    st_launch *tasks = st_xalloc(w->arena, order.gpu_count + 1, sizeof *tasks);
    size_t count = 0;
    for (uint32_t i = 0; i < trace->event_count; i++)
        if (own->tasks[i] != ST_TASK_NONE)
            tasks[count++] = (st_launch){st_order_launch_ns(&order, i), i};
    st_sort(tasks, count, sizeof *tasks, st_launch_compare);
    uint8_t last = BORDER_NONE;
    int64_t from_ns = INT64_MAX;
    int64_t to_ns = INT64_MIN;
    for (size_t i = 0; i <= count; i++) {
        uint8_t next = i < count ? borders[tasks[i].event] : BORDER_NONE;
        if (i < count && next == BORDER_NONE) {
            st_task_time time = st_replay_task(w->replay, own->tasks[tasks[i].event]);
            from_ns = time.ready_ns < from_ns ? time.ready_ns : from_ns;
            to_ns = time.end_ns > to_ns ? time.end_ns : to_ns;
            continue;
        }
        if (to_ns > from_ns) {
            pieces *list = &found[last][next];
            int64_t length_ns = to_ns - from_ns;
            ST_XAPPEND(w->arena, list->items_ns, list->count, length_ns);
        }
        last = next;
        from_ns = INT64_MAX;
        to_ns = INT64_MIN;
    }
    st_order_free(&order);
}

static stage_times measure_stage(st_whatif *w, uint32_t stage)
{
    pieces found[BORDERS][BORDERS] = {0};
    stage_times times = {0, 0};
    measure_pieces(w, w->stages.ranks[stage], found);
    if (stage > 0 && stage + 1 < w->stages.count)
        return (stage_times){median(&found[RECEIVES_FORWARD][SENDS_FORWARD]),
                             median(&found[RECEIVES_BACKWARD][SENDS_BACKWARD])};
    if (stage == 0) {
        times.forward_ns = found[SENDS_FORWARD][SENDS_FORWARD].count > 0
                               ? median(&found[SENDS_FORWARD][SENDS_FORWARD])
                               : median(&found[BORDER_NONE][SENDS_FORWARD]);
        times.backward_ns =
            found[RECEIVES_BACKWARD][RECEIVES_BACKWARD].count > 0
                ? median(&found[RECEIVES_BACKWARD][RECEIVES_BACKWARD])
                : median(&found[RECEIVES_BACKWARD][SENDS_FORWARD]) - times.forward_ns;
        return times;
    }
    times.forward_ns = median(&found[RECEIVES_FORWARD][RECEIVES_FORWARD]);
    times.backward_ns = found[SENDS_BACKWARD][SENDS_BACKWARD].count > 0
                            ? median(&found[SENDS_BACKWARD][SENDS_BACKWARD])
                            : median(&found[RECEIVES_FORWARD][SENDS_BACKWARD]) - times.forward_ns;
    return times;
}

/* Where the order of the first stage has every pass forward before the first one backward. */
static st_schedule_kind recorded_kind(const st_whatif *w, uint32_t micros)
{
    const st_trace *trace = w->graph->set->ranks[w->stages.ranks[0]];
    const uint8_t *borders = find_borders(w, w->stages.ranks[0]);
    uint32_t sent = 0;
    for (size_t i = 0; i < trace->event_count && borders[i] != RECEIVES_BACKWARD; i++)
        sent += borders[i] == SENDS_FORWARD;
    return sent == micros && micros > w->stages.count ? ST_SCHEDULE_GPIPE : ST_SCHEDULE_1F1B;
}

/* How long messages take without waiting, and whether kernels are on their stream. */
static void measure_messages(const st_whatif *w, stage_plan *plan)
{
    const st_trace_graph *graph = w->graph;
    pieces sends = {0};
    pieces receives = {0};
    for (size_t i = 0; i < graph->message_count; i++) {
        const st_trace_message *one = &graph->messages[i];
        st_task_id send = graph->ranks[one->from].tasks[one->send];
        st_task_id receive = graph->ranks[one->to].tasks[one->receive];
        int64_t send_ns = st_graph_task(graph->graph, send).duration_ns;
        int64_t receive_ns = st_graph_task(graph->graph, receive).duration_ns;
        ST_XAPPEND(w->arena, sends.items_ns, sends.count, send_ns);
        ST_XAPPEND(w->arena, receives.items_ns, receives.count, receive_ns);
    }
    plan->send_ns = median(&sends);
    plan->receive_ns = median(&receives);
    const st_trace_message *first = &graph->messages[0];
    const st_trace *trace = graph->set->ranks[first->from];
    uint32_t track = trace->events[first->send].track;
    for (size_t i = 0; i < trace->event_count && !plan->is_inline; i++)
        plan->is_inline = st_trace_is_gpu(&trace->events[i]) && trace->events[i].track == track &&
                          trace->events[i].class_ != ST_TRACE_COMMUNICATION;
}

/* --- the schedule ------------------------------------------------------------------------------
 */

typedef struct stage_builder {
    st_whatif *w;
    const stage_plan *plan;
    st_graph *graph;
    st_task_id *work; /* by stage, pass and micro-batch */
    st_task_id *received;
} stage_builder;

static size_t cell(const stage_builder *b, uint32_t stage, uint8_t pass, uint32_t micro)
{
    return ((size_t)stage * 2 + (pass != ST_PASS_FORWARD)) * b->plan->micros + micro;
}

static st_task_id add_stage_task(stage_builder *b, uint32_t resource, int64_t duration_ns)
{
    st_task_id task = ST_TASK_NONE;
    st_task_spec spec = {.resource = resource, .duration_ns = duration_ns > 0 ? duration_ns : 0};
    if (b->w->status == ST_OK)
        b->w->status = st_graph_add(b->graph, &spec, &task, b->w->errors);
    return task;
}

static void add_stage_edge(stage_builder *b, st_task_id from, st_task_id to)
{
    if (b->w->status == ST_OK)
        b->w->status = st_graph_edge(b->graph, from, to, ST_EDGE_USER, b->w->errors);
}

/* A stage's passes in their order, each between what it receives and what it sends. */
static void add_stage(stage_builder *b, uint32_t stage, const st_slot *slots, size_t count)
{
    const stage_plan *plan = b->plan;
    uint32_t resources[2] = {0, 0};
    for (size_t i = 0; i < 2 && b->w->status == ST_OK; i++)
        b->w->status = st_graph_resource(b->graph, stage, ST_RESOURCE_COMPUTE, "stage",
                                         &resources[i], b->w->errors);
    uint32_t messages = resources[plan->is_inline ? 0 : 1];
    for (size_t i = 0; i < count && b->w->status == ST_OK; i++) {
        bool forward = slots[i].pass == ST_PASS_FORWARD;
        bool receives = forward ? stage > 0 : stage + 1 < plan->stages;
        bool sends = forward ? stage + 1 < plan->stages : stage > 0;
        size_t at = cell(b, stage, slots[i].pass, slots[i].micro);
        if (receives)
            b->received[at] = add_stage_task(b, messages, plan->receive_ns);
        b->work[at] = add_stage_task(b, resources[0],
                                     forward ? plan->times[stage].forward_ns
                                             : plan->times[stage].backward_ns);
        if (receives && !plan->is_inline)
            add_stage_edge(b, b->received[at], b->work[at]);
        if (!sends)
            continue;
        st_task_id sent = add_stage_task(b, messages, plan->send_ns);
        if (!plan->is_inline)
            add_stage_edge(b, b->work[at], sent);
    }
}

/* When a step of the schedule ends; 0 after a failure. */
static int64_t replay_stages(st_whatif *w, const stage_plan *plan)
{
    size_t cells = 2 * (size_t)plan->stages * plan->micros;
    stage_builder b = {.w = w,
                       .plan = plan,
                       .graph = st_xmemory(st_graph_create(NULL)),
                       .work = st_xalloc(w->arena, cells + 1, sizeof *b.work),
                       .received = st_xalloc(w->arena, cells + 1, sizeof *b.received)};
    st_schedule_shape shape = {
        .kind = plan->kind, .stages = plan->stages, .micros = plan->micros, .chunks = 1};
    st_schedule_order order = {0};
    int64_t end_ns = 0;
    w->status = st_schedule_order_make(&shape, w->arena, &order, w->errors);
    for (uint32_t stage = 0; stage < plan->stages && w->status == ST_OK; stage++)
        add_stage(&b, stage, order.slots[stage], order.counts[stage]);
    for (uint32_t stage = 0; stage + 1 < plan->stages; stage++)
        for (uint32_t micro = 0; micro < plan->micros; micro++) {
            add_stage_edge(&b, b.work[cell(&b, stage, ST_PASS_FORWARD, micro)],
                           b.received[cell(&b, stage + 1, ST_PASS_FORWARD, micro)]);
            add_stage_edge(&b, b.work[cell(&b, stage + 1, ST_PASS_BACKWARD, micro)],
                           b.received[cell(&b, stage, ST_PASS_BACKWARD, micro)]);
        }
    if (w->status == ST_OK)
        w->status = st_graph_seal(b.graph, w->errors);
    st_replay *replay = w->status == ST_OK ? st_xmemory(st_replay_create(b.graph)) : NULL;
    if (w->status == ST_OK)
        w->status = st_replay_run(replay, w->errors);
    if (w->status == ST_OK)
        end_ns = st_replay_end_ns(replay);
    st_replay_destroy(replay);
    st_graph_destroy(b.graph);
    return end_ns;
}

/* Times of stages of another number: layers are spread evenly, the loss is on the last stage. */
static const stage_times *spread(st_whatif *w, const stage_times *old, uint32_t stages)
{
    uint32_t count = w->stages.count;
    stage_times *made = st_xalloc(w->arena, stages, sizeof *made);
    stage_times sum = {0, 0};
    for (uint32_t i = 0; i + 1 < count; i++) {
        sum.forward_ns += old[i].forward_ns;
        sum.backward_ns += old[i].backward_ns;
    }
    double ratio = (double)count / stages / (count - 1);
    const stage_times *last = &old[count - 1];
    int64_t loss_ns = last->forward_ns + last->backward_ns -
                      (sum.forward_ns + sum.backward_ns) / (int64_t)(count - 1);
    for (uint32_t i = 0; i < stages; i++) {
        made[i].forward_ns = llround((double)sum.forward_ns * ratio);
        made[i].backward_ns = llround((double)sum.backward_ns * ratio);
    }
    made[stages - 1].backward_ns += loss_ns > 0 ? loss_ns : 0;
    return stages == count ? old : made;
}

/* Layers of another number of stages. */
static void check_spread(st_whatif *w, uint32_t stages)
{
    double layers = w->outcome->job_layers;
    if (stages == w->stages.count)
        return;
    if (w->stages.is_uneven)
        st_whatif_refuse(w, "the stages have different numbers of layers" ST_EXPECTED
                            "as many layers on every stage for parallel.pp");
    if (layers > 0 && (stages > layers || fmod(layers, stages) != 0))
        st_whatif_refuse(w,
                         "%.0f layers do not divide into %u stages" ST_EXPECTED
                         "as many layers on every stage",
                         layers, stages);
}

void st_whatif_stages_anew(st_whatif *w)
{
    const st_whatif_values *v = &w->values;
    uint32_t count = w->stages.count;
    uint32_t stages = v->set[ST_WHATIF_PP] > 0 ? (uint32_t)v->set[ST_WHATIF_PP] : count;
    size_t steps = w->graph->ranks[w->stages.ranks[0]].step_count;
    stage_times *times = st_xalloc(w->arena, count, sizeof *times);
    const uint8_t *borders = find_borders(w, w->stages.ranks[0]);
    size_t sent = 0;
    steps = steps > 0 ? steps : 1;
    for (size_t i = 0; i < w->graph->set->ranks[w->stages.ranks[0]]->event_count; i++)
        sent += borders[i] == SENDS_FORWARD;
    double have = v->have[ST_WHATIF_MICROS];
    if (sent % steps != 0 || (have > 0 && have * (double)steps != (double)sent))
        st_whatif_refuse(w,
                         "the first stage sends %zu times forward in %zu steps" ST_EXPECTED
                         "once for each micro-batch of a step%s",
                         sent, steps, have > 0 ? ", as many as --have batch.micro_batches" : "");
    check_spread(w, stages);
    if (w->status != ST_OK)
        return;
    for (uint32_t i = 0; i < count; i++)
        times[i] = measure_stage(w, i);
    stage_plan plan = {.stages = count, .micros = (uint32_t)(sent / steps), .times = times};
    plan.kind = recorded_kind(w, plan.micros);
    measure_messages(w, &plan);
    int64_t step_ns = w->outcome->after_ns / (int64_t)steps;
    int64_t busy_ns = replay_stages(w, &plan);
    int64_t rest_ns = step_ns > busy_ns ? step_ns - busy_ns : 0;
    rest_ns = llround((double)rest_ns * count / stages);
    plan.stages = stages;
    plan.times = spread(w, times, stages);
    plan.kind = v->has_schedule ? v->schedule : plan.kind;
    if (v->set[ST_WHATIF_MICROS] > 0)
        plan.micros = (uint32_t)v->set[ST_WHATIF_MICROS];
    if (v->set[ST_WHATIF_TRANSFER] > 0)
        plan.receive_ns = llround(1e3 * v->set[ST_WHATIF_TRANSFER]);
    int64_t schedule_ns = w->status == ST_OK ? replay_stages(w, &plan) : 0;
    int64_t most_ns = 0;
    for (uint32_t i = 0; i < stages; i++) {
        int64_t pass_ns = plan.times[i].forward_ns + plan.times[i].backward_ns;
        most_ns = pass_ns > most_ns ? pass_ns : most_ns;
    }
    w->outcome->after_ns = schedule_ns + rest_ns;
    w->outcome->before_ns /= (int64_t)steps;
    w->outcome->after = NULL;
    if (w->outcome->after_ns > 0)
        w->outcome->bubble_frac =
            fmax(0, (double)(schedule_ns - plan.micros * most_ns) / (double)w->outcome->after_ns);
    st_whatif_note(w,
                   "before is the mean step of the replay, after the step of a %s schedule of %u "
                   "stages and %u micro-batches; recorded were %u stages and %zu micro-batches",
                   st_schedule_name(plan.kind), stages, plan.micros, count, sent / steps);
    st_whatif_note(w,
                   "a message takes %.3f us to send and %.3f us to receive, %s the kernels of a "
                   "stage",
                   (double)plan.send_ns / 1e3, (double)plan.receive_ns / 1e3,
                   plan.is_inline ? "in a row with" : "alongside");
    if (stages != count)
        st_whatif_note(w, "layers, optimizer and what surrounds the passes are spread evenly over "
                          "the stages, the loss stays on the last one");
}
