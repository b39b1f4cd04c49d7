/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives by a model: what the profiler wrote about a kernel's message and group is enough to
 * ask a model for its time before and after the change. The recorded transfer is scaled by the
 * ratio of the two, so that a model need not hit the recorded time.
 */
#include "steptime/quantity.h"
#include "steptime/tool/graph_arrays.h"
#include "trace/busy.h"
#include "trace/link.h"
#include "trace/sends.h"
#include "trace/whatif.h"
#include "trace/xalloc.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Names of PyTorch's collectives, without '_' and in small letters, and whose bytes count: those
 * of the input, or of the output where that is larger. */
static const struct {
    const char *recorded;
    const char *collective;
    bool output;
} names[] = {
    {"allreduce", "all_reduce", false},
    {"allreducecoalesced", "all_reduce", false},
    {"allgather", "all_gather", true},
    {"allgatherbase", "all_gather", true},
    {"allgatherintotensor", "all_gather", true},
    {"allgatherintotensorcoalesced", "all_gather", true},
    {"reducescatter", "reduce_scatter", false},
    {"reducescatterbase", "reduce_scatter", false},
    {"reducescattertensor", "reduce_scatter", false},
    {"reducescattertensorcoalesced", "reduce_scatter", false},
    {"alltoall", "all_to_all", false},
    {"alltoallbase", "all_to_all", false},
    {"alltoallv", "all_to_all", false},
    {"broadcast", "broadcast", false},
};

double st_trace_element_bytes(const char *dtype)
{
    static const struct {
        const char *name;
        double bytes;
    } types[] = {{"Double", 8}, {"Long", 8},     {"Float", 4},         {"Int", 4},
                 {"Half", 2},   {"BFloat16", 2}, {"Short", 2},         {"Byte", 1},
                 {"Char", 1},   {"Bool", 1},     {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
    size_t i = ST_FIND(types, ST_COUNT(types), name, dtype);
    return i < ST_COUNT(types) ? types[i].bytes : 0;
}

bool st_whatif_transfer(const st_trace *trace, const st_trace_event *event,
                        st_trace_transfer *transfer)
{
    char name[64];
    const st_trace_collective *own = st_trace_described(trace, event);
    if (own == NULL || own->name == ST_TRACE_NONE || own->dtype == ST_TRACE_NONE ||
        own->group_size < 2)
        return false;
    const size_t size = sizeof name;
    size_t length = 0;
    for (const char *c = trace->names[own->name]; *c != '\0' && length + 1 < size; c++)
        if (*c != '_')
            name[length++] = (char)tolower((unsigned char)*c);
    name[length] = '\0';
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        if (strcmp(name, names[i].recorded) != 0)
            continue;
        int64_t elements = names[i].output ? own->out_elements : own->in_elements;
        *transfer = (st_trace_transfer){
            .collective = names[i].collective,
            .size_bytes = (double)elements * st_trace_element_bytes(trace->names[own->dtype]),
            .ranks = (double)own->group_size,
            .stride = 1,
            .bandwidth_factor = 1};
        return transfer->size_bytes > 0;
    }
    return false;
}

double st_whatif_ratio(st_whatif *w, const st_trace_transfer *before,
                       const st_trace_transfer *after)
{
    const st_trace_collective_model *model = w->model;
    double before_s = 0;
    double after_s = 0;
    if (model == NULL || memcmp(before, after, sizeof *before) == 0)
        return 0;
    st_status status = model->time(model->context, before, &before_s, w->errors);
    if (status == ST_OK)
        status = model->time(model->context, after, &after_s, w->errors);
    st_note(&w->status, status);
    return status == ST_OK && before_s > 0 && after_s > 0 ? after_s / before_s : 0;
}

void st_whatif_check_groups(st_whatif *w)
{
    double tp = w->values.have[ST_WHATIF_TP];
    double dp = w->values.have[ST_WHATIF_DP];
    double size = tp > 0 ? tp : dp;
    if ((tp > 0) == (dp > 0) || size < 2)
        return;
    for (size_t i = 0; i < w->graph->set->count; i++) {
        const st_trace *trace = w->graph->set->ranks[i];
        uint32_t first = ST_TRACE_NONE;
        for (size_t k = 0; k < trace->event_count; k++) {
            /* The ranks of a collective that has as many as `size`; ST_TRACE_NONE for others. */
            uint32_t ranks = ST_TRACE_NONE;
            const st_trace_event *e = &trace->events[k];
            const st_trace_collective *meta = st_trace_described(trace, e);
            if (st_trace_is_gpu(e) && e->class_ == ST_TRACE_COMMUNICATION && meta != NULL &&
                !st_message_is(trace, e, NULL))
                ranks = (double)meta->group_size == size ? meta->ranks : ST_TRACE_NONE;
            if (ranks != ST_TRACE_NONE && first != ST_TRACE_NONE && ranks != first)
                st_whatif_refuse(
                    w, "%s: its groups of %.0f ranks are of two kinds, %s and %s" ST_EXPECTED "%s",
                    trace->file, size, trace->names[first], trace->names[ranks],
                    tp > 0 ? "--have parallel.dp, too" : "--have parallel.tp, too");
            first = first == ST_TRACE_NONE ? ranks : first;
        }
    }
}

/*
 * What-if on another GPU: kernels that compute take the ratio that was measured for their class and
 * duration, or that a sheet has for their shapes. Copies, the host, launches and collectives stay
 * as recorded, which is said.
 */

double st_whatif_move(st_whatif *w, size_t rank, size_t index)
{
    const st_trace_event *event = &w->graph->set->ranks[rank]->events[index];
    st_trace_class class_ = (st_trace_class)event->class_;
    if (w->ratios == NULL || event->kind != ST_TRACE_KERNEL || class_ == ST_TRACE_COMMUNICATION ||
        event->duration_ns <= 0)
        return 1;
    st_whatif_moved *moved = &w->moved[class_];
    double ratio = w->ratios->ratio(w->ratios->context, rank, index, &moved->taken);
    moved->known = !isnan(ratio);
    moved->kernels++;
    moved->recorded_ns = st_add_ns(moved->recorded_ns, event->duration_ns);
    return moved->known ? ratio : 1;
}

void st_whatif_note_moved(st_whatif *w)
{
    size_t known = 0;
    if (w->ratios == NULL)
        return;
    for (st_trace_class i = 0; i < ST_TRACE_CLASSES; i++)
        known += w->moved[i].known ? w->moved[i].kernels : 0;
    if (known == 0)
        st_whatif_refuse(w, "no kernel of the trace has a ratio on %s", w->ratios->to);
    st_whatif_note(w,
                   "%zu kernels take %s %s; copies, launches, the host and collectives "
                   "stay as recorded",
                   known, w->ratios->by, w->ratios->to);
    for (size_t i = 0; i < w->ratios->note_count; i++)
        st_whatif_note(w, "%s", w->ratios->notes[i]);
    for (st_trace_class i = 0; i < ST_TRACE_CLASSES; i++) {
        const st_whatif_moved *moved = &w->moved[i];
        double recorded_ms = (double)moved->recorded_ns / 1e6;
        if (moved->kernels == 0 || (moved->known && moved->taken == i))
            continue;
        if (moved->known)
            st_whatif_note(
                w,
                "%zu kernels of class %s, %.3f ms, take the ratios of %s: there are none "
                "of their own",
                moved->kernels, st_trace_class_name(i), recorded_ms,
                st_trace_class_name(moved->taken));
        else
            st_whatif_note(w,
                           "%zu kernels of class %s, %.3f ms, last as recorded: the ratios know "
                           "none that are like them",
                           moved->kernels, st_trace_class_name(i), recorded_ms);
    }
}

/*
 * What-if with interference: kernels that ran concurrently with collectives were recorded slowed.
 * Their times alone are found from the slowdown that is said to have held; the replay slows them
 * anew, where and as long as they run concurrently with a collective after the change.
 */

static size_t rank_of(const st_graph *graph, st_task_id task)
{
    return st_graph_rank_index(graph, st_graph_task(graph, task).resource);
}

/* The spans of all ranks with work of a kind, as the replay that ran has them; NULL when out of
 * memory. */
static st_busy_spans *find_spans(const st_whatif *w, st_work work)
{
    const st_graph *graph = w->graph->graph;
    size_t count = st_graph_rank_count(graph);
    st_busy_spans *ranks = st_xalloc(w->arena, count + 1, sizeof *ranks);
    for (size_t i = 0; i < st_graph_task_count(graph); i++)
        ranks[rank_of(graph, (st_task_id)i)].count +=
            st_graph_work(graph, (st_task_id)i) == work ? 1 : 0;
    for (size_t i = 0; i < count; i++) {
        ranks[i].items = st_xalloc(w->arena, ranks[i].count + 1, sizeof *ranks[i].items);
        ranks[i].count = 0;
    }
    for (size_t i = 0; i < st_graph_task_count(graph); i++) {
        st_busy_spans *list = &ranks[rank_of(graph, (st_task_id)i)];
        if (st_graph_work(graph, (st_task_id)i) != work)
            continue;
        st_task_time time = st_replay_task(w->replay, (st_task_id)i);
        list->items[list->count++] =
            (st_busy_span){.start_ns = time.start_ns, .end_ns = time.end_ns};
    }
    for (size_t i = 0; i < count; i++)
        st_busy_spans_merge(&ranks[i]);
    return ranks;
}

/* What slows, and what is slowed by it. */
typedef struct interference {
    st_whatif_key key;
    st_work by;
    st_work slowed;
    const char *by_name;
    const char *slowed_name;
} interference;

static const interference interferences[] = {
    {ST_WHATIF_SLOWDOWN, ST_WORK_COMMUNICATION, ST_WORK_COMPUTE, "a collective", "task"},
    {ST_WHATIF_SLOWED_COLLECTIVES, ST_WORK_COMPUTE, ST_WORK_COMMUNICATION, "computation",
     "collective"},
};

/* A collective waits for other ranks before it transfers; only the transfer is slowed. */
static int64_t start_of(const st_graph *graph, st_task_id task, st_task_time time)
{
    int64_t work_ns = st_graph_task(graph, task).duration_ns;
    return time.end_ns - time.start_ns > work_ns ? time.end_ns - work_ns : time.start_ns;
}

/* Both kinds by the replay as recorded, whose times stay what they were. */
void st_whatif_relieve(st_whatif *w)
{
    for (size_t i = 0; i < ST_COUNT(interferences); i++) {
        const interference *kind = &interferences[i];
        double slowdown = w->values.have[kind->key];
        char factor[ST_QUANTITY_TEXT];
        if (!(slowdown > 1))
            continue;
        const st_busy_spans *ranks = find_spans(w, kind->by);
        /* How many tasks were slowed. */
        const st_graph *graph = w->graph->graph;
        double relieve_slowdown = w->values.have[kind->key];
        size_t relieved = 0;
        for (st_task_id task = 0; task < st_graph_task_count(graph); task++) {
            if (st_graph_work(graph, task) != kind->slowed)
                continue;
            st_task_time time = st_replay_task(w->replay, task);
            const st_busy_spans *list = &ranks[rank_of(graph, task)];
            int64_t overlap_ns = st_busy_spans_until(list, time.end_ns) -
                                 st_busy_spans_until(list, start_of(graph, task, time));
            if (overlap_ns > 0) {
                double less_ns = (double)overlap_ns * (1 - 1 / relieve_slowdown);
                st_whatif_set_ns(
                    w, task, st_graph_task(graph, task).duration_ns - (int64_t)llround(less_ns));
                relieved++;
            }
        }
        st_whatif_note(w, "%zu %s%s ran alongside %s and %s taken to have been slowed %s times",
                       relieved, kind->slowed_name, relieved == 1 ? "" : "s", kind->by_name,
                       relieved == 1 ? "is" : "are",
                       st_number_format(slowdown, factor, sizeof factor));
    }
}

static double rate_overlapped(void *self, const st_graph *graph, st_task_id task,
                              const st_task_id *others, size_t count)
{
    const st_whatif *w = self;
    st_work work = st_graph_work(graph, task);
    double rate = 1;
    for (size_t k = 0; k < ST_COUNT(interferences); k++) {
        const interference *kind = &interferences[k];
        bool slowed = false;
        for (size_t i = 0; i < count && work == kind->slowed; i++)
            slowed = slowed || st_graph_work(graph, others[i]) == kind->by;
        rate /= slowed ? w->values.set[kind->key] : 1;
    }
    return rate;
}

void st_whatif_replay(st_whatif *w)
{
    bool slows = false;
    st_rate_rule rule = {.rate = rate_overlapped, .self = w};
    for (size_t k = 0; k < ST_COUNT(interferences); k++)
        slows = slows || w->values.set[interferences[k].key] > 1;
    st_note(&w->status, slows ? st_replay_run_rates(w->replay, &rule, w->errors)
                              : st_replay_run(w->replay, w->errors));
}
