/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of collectives of all ranks, which ones met, and for whom they waited. */
#include "trace/busy.h"
#include "trace/view.h"
#include "trace/whatif.h"
#include "trace/xalloc.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * How much computation slows collectives: transfers of one kind, message and group that run alone
 * give their duration, those that overlap computation how much longer they take meanwhile.
 */

static const double alone_frac = 0.05; /* of a transfer: so little overlap is none */

static bool is_alone(const st_transfer_time *one)
{
    return (double)one->overlap_ns < alone_frac * (double)one->time_ns;
}

/* Work of this length alone is done during computation, in overlap_ns; below 0 where this transfer
 * is so much faster than the mean. Leaving these out would bias the sums. */
static double overlapped_work(const st_transfer_time *one, double work_ns)
{
    return work_ns - (double)(one->time_ns - one->overlap_ns);
}

/* Sums over overlapped transfers whose time alone is known. */
typedef struct sums {
    size_t alone; /* that say it */
    double overlap_ns;
    double work_ns;
    double error;      /* of what the others say */
    double error_none; /* of the time alone */
} sums;

typedef void (*visit)(const st_transfer_time *one, double work_ns, st_transfer_slowdown *found,
                      sums *all);

static void add(const st_transfer_time *one, double work_ns, st_transfer_slowdown *found, sums *all)
{
    found->overlapped++;
    all->overlap_ns += (double)one->overlap_ns;
    all->work_ns += overlapped_work(one, work_ns);
}

static void compare(const st_transfer_time *one, double work_ns, st_transfer_slowdown *found,
                    sums *all)
{
    double others_ns = all->work_ns - overlapped_work(one, work_ns);
    double others_overlap_ns = all->overlap_ns - (double)one->overlap_ns;
    double factor = others_ns > 0 ? others_overlap_ns / others_ns : 1;
    double time_ns =
        (double)(one->time_ns - one->overlap_ns) + factor * overlapped_work(one, work_ns);
    (void)found;
    all->error += fabs(time_ns / (double)one->time_ns - 1);
    all->error_none += fabs(work_ns / (double)one->time_ns - 1);
}

static void visit_all(const st_transfer_time *times, size_t count, visit see,
                      st_transfer_slowdown *found, sums *all)
{
    for (size_t first = 0, end = 0; first < count; first = end) {
        while (end < count && times[end].kind == times[first].kind)
            end++;
        size_t alone = 0;
        /* The mean of those of equal kind, message and group that run alone, `alone` of them;
         * NaN without any. */
        const st_transfer_time *n_times = &times[first];
        const size_t n_count = end - first;
        double sum = 0;
        alone = 0;
        for (size_t i = 0; i < n_count; i++)
            if (is_alone(&n_times[i])) {
                sum += (double)n_times[i].time_ns;
                ++alone;
            }
        double work_ns = alone > 0 ? sum / (double)alone : (double)NAN;
        for (size_t i = first; i < end && alone > 0; i++)
            if (!is_alone(&times[i]))
                see(&times[i], work_ns, found, all);
        all->alone += alone < end - first ? alone : 0;
    }
}

void st_transfer_slowdown_find(const st_transfer_time *times, size_t count,
                               st_transfer_slowdown *found)
{
    sums all = {0};
    *found = (st_transfer_slowdown){
        .slowdown = (double)NAN, .error_frac = (double)NAN, .error_none_frac = (double)NAN};
    visit_all(times, count, add, found, &all);
    found->alone = all.alone;
    if (found->overlapped < 2 || all.work_ns <= 0)
        return;
    found->slowdown = all.overlap_ns / all.work_ns;
    visit_all(times, count, compare, found, &all);
    found->error_frac = all.error / (double)found->overlapped;
    found->error_none_frac = all.error_none / (double)found->overlapped;
}

typedef struct viewer {
    const st_view_orders *orders;
    st_collation collation;
    st_arena *arena;
    st_collectives *found;
    st_busy_spans *computes; /* by rank, in its own time */
} viewer;

double st_bus_factor(const char *collective, int64_t ranks)
{
    /* Times that each byte passes a link, as n-1 of n ranks or whole (nccl-tests,
     * doc/PERFORMANCE.md). */
    static const struct {
        const char *name;
        double shares; /* of (n-1)/n */
        double whole;
    } factors[] = {{"all_reduce", 2, 0}, {"all_gather", 1, 0}, {"reduce_scatter", 1, 0},
                   {"all_to_all", 1, 0}, {"broadcast", 0, 1},  {"reduce", 0, 1},
                   {"send_recv", 0, 1}};
    size_t i = ST_FIND(factors, ST_COUNT(factors), name, collective);
    if (i == SIZE_MAX || ranks < 2)
        return (double)NAN;
    return factors[i].whole + factors[i].shares * (double)(ranks - 1) / (double)ranks;
}

/* ---- kernels ---- */

/* The kind by the name of NCCL's and RCCL's kernels, where the profiler wrote nothing else. */
static const char *kind_of(const char *kernel)
{
    static const struct {
        const char *part;
        const char *kind;
    } kinds[] = {{"AllReduce", "all_reduce"},
                 {"AllGather", "all_gather"},
                 {"ReduceScatter", "reduce_scatter"},
                 {"AllToAll", "all_to_all"},
                 {"SendRecv", "send_recv"},
                 {"Broadcast", "broadcast"},
                 {"Reduce", "reduce"}};
    for (size_t i = 0; i < ST_COUNT(kinds); i++)
        if (strstr(kernel, kinds[i].part) != NULL)
            return kinds[i].kind;
    return kernel;
}

static void describe(const st_trace *trace, uint32_t index, st_collective *made)
{
    const st_trace_event *event = &trace->events[index];
    st_trace_transfer transfer;
    *made = (st_collective){.event = index,
                            .group = ST_TRACE_NONE,
                            .dtype = ST_TRACE_NONE,
                            .name = kind_of(trace->names[event->name]),
                            .ranks = -1,
                            .bytes = (double)NAN,
                            .sequence = -1,
                            .start_ns = event->start_ns,
                            .duration_ns = event->duration_ns,
                            .instance = -1,
                            .waiting_ns = -1,
                            .transfer_ns = -1,
                            .late_ns = -1,
                            .caused_ns = -1,
                            .skew_ns = -1};
    const st_trace_collective *meta = st_trace_described(trace, event);
    if (meta == NULL)
        return;
    made->group = meta->group;
    made->dtype = meta->dtype;
    made->ranks = meta->group_size;
    made->sequence = meta->sequence;
    if (st_whatif_transfer(trace, event, &transfer)) {
        made->name = transfer.collective;
        made->bytes = transfer.size_bytes;
    } else if (meta->name != ST_TRACE_NONE) {
        made->name = trace->names[meta->name];
    }
}

static st_collective *find_kernel(const viewer *v, const st_instance_member *one)
{
    assert(v->found->ranks != NULL); /* made for every rank before members are looked up */
    st_collective *kernels = v->found->ranks[one->rank];
    size_t low = 0;
    ST_BISECT(low, v->found->counts[one->rank], kernels[middle].event < one->event);
    return &kernels[low];
}

/* ---- instances ---- */

static void list_computation(viewer *v)
{
    v->computes = st_xalloc(v->arena, v->orders->count, sizeof *v->computes);
    for (size_t r = 0; r < v->orders->count; r++) {
        const st_trace *trace = v->orders->orders[r].trace;
        st_busy_spans *own = &v->computes[r];
        own->items = st_xalloc(v->arena, v->orders->orders[r].gpu_count + 1, sizeof *own->items);
        for (size_t i = 0; i < trace->event_count; i++) {
            const st_trace_event *event = &trace->events[i];
            if (st_trace_is_gpu(event) && event->class_ != ST_TRACE_COMMUNICATION)
                own->items[own->count++] =
                    (st_busy_span){.start_ns = event->start_ns, .end_ns = st_trace_end_ns(event)};
        }
        st_busy_spans_merge(own);
    }
}

/* How long of a transfer, which takes the end of a kernel, its rank computes. */
static int64_t overlap_ns(const viewer *v, const st_instance_member *one, int64_t transfer_ns)
{
    const st_busy_spans *computes = &v->computes[one->rank];
    int64_t end_ns = st_trace_end_ns(&v->orders->orders[one->rank].trace->events[one->event]);
    return st_busy_spans_until(computes, end_ns) -
           st_busy_spans_until(computes, end_ns - transfer_ns);
}

static int64_t arrival_ns(const viewer *v, const st_instance_member *one)
{
    const st_trace *trace = v->orders->orders[one->rank].trace;
    return trace->events[one->event].start_ns + (trace->base_ns > 0 ? trace->base_ns : 0) +
           v->collation.offsets_ns[one->rank];
}

static void see_instance(viewer *v, const st_instance *instance, int64_t number)
{
    const st_instance_member *members = &v->collation.members[instance->first];
    int64_t first_ns = INT64_MAX;
    int64_t last_ns = INT64_MIN;
    int64_t second_ns = INT64_MIN; /* the last but one */
    int64_t transfer_ns = 0;
    int64_t computing_ns = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < instance->count; i++) {
        int64_t at_ns = arrival_ns(v, &members[i]);
        first_ns = at_ns < first_ns ? at_ns : first_ns;
        if (at_ns > last_ns) {
            second_ns = last_ns;
            last_ns = at_ns;
            last = i;
        } else if (at_ns > second_ns) {
            second_ns = at_ns;
        }
    }
    for (uint32_t i = 0; i < instance->count; i++) {
        st_collective *own = find_kernel(v, &members[i]);
        int64_t waiting_ns = last_ns - arrival_ns(v, &members[i]);
        own->waiting_ns = waiting_ns < own->duration_ns ? waiting_ns : own->duration_ns;
        own->transfer_ns = own->duration_ns - own->waiting_ns;
        transfer_ns += own->transfer_ns;
        computing_ns += overlap_ns(v, &members[i], own->transfer_ns);
        own->instance = number;
        own->late_ns = arrival_ns(v, &members[i]) - first_ns;
        own->ranks = own->ranks < 0 ? (int64_t)instance->count : own->ranks;
    }
    st_collective *latest = find_kernel(v, &members[last]);
    latest->skew_ns = last_ns - first_ns;
    latest->caused_ns = last_ns - second_ns;
    latest->mean_ns = transfer_ns / (int64_t)instance->count;
    latest->overlap_ns = computing_ns / (int64_t)instance->count;
}

/* ---- transfers during computation ---- */

ST_COMPARE(compare_kernels, st_collective,
           ST_BY_TEXT(name) ST_RISING(ranks) ST_THEN(isnan(a->bytes) - isnan(b->bytes))
               ST_RISING(bytes));

/* Transfers of unknown message are not of one kind. */
static void compare_transfers(viewer *v)
{
    st_transfer_time *times = st_xalloc(v->arena, v->found->count + 1, sizeof *times);
    st_collective *all = st_xalloc(v->arena, v->found->count + 1, sizeof *all);
    size_t count = 0;
    size_t kind = 0;
    assert(v->found->ranks != NULL || v->orders->count == 0);
    for (size_t r = 0; r < v->orders->count; r++) {
        memcpy(&all[count], v->found->ranks[r], v->found->counts[r] * sizeof *all);
        count += v->found->counts[r];
    }
    st_sort(all, v->found->count, sizeof *all, compare_kernels);
    count = 0;
    for (size_t i = 0; i < v->found->count; i++) {
        const st_collective *own = &all[i];
        kind += i > 0 && compare_kernels(own, own - 1) != 0;
        if (own->skew_ns >= 0 && own->mean_ns > 0 && !isnan(own->bytes))
            times[count++] = (st_transfer_time){kind, own->mean_ns, own->overlap_ns};
    }
    st_transfer_slowdown_find(times, count, &v->found->slowdown);
}

void st_collectives_find(const st_trace_set *set, st_arena *arena, st_collectives *found)
{
    st_view_orders orders;
    viewer v = {.orders = &orders, .arena = arena, .found = found};
    int64_t number = 0;
    *found = (st_collectives){0};
    st_view_orders_make(set, arena, &orders);
    st_collate(orders.orders, orders.count, arena, &v.collation);
    found->ranks = st_xalloc(v.arena, set->count, sizeof *found->ranks);
    found->counts = st_xalloc(v.arena, set->count, sizeof *found->counts);
    for (size_t r = 0; r < set->count; r++) {
        const st_trace *trace = set->ranks[r];
        found->ranks[r] =
            st_xalloc(v.arena, v.orders->orders[r].gpu_count + 1, sizeof *found->ranks[r]);
        for (uint32_t i = 0; i < trace->event_count; i++)
            if (st_trace_is_gpu(&trace->events[i]) &&
                trace->events[i].class_ == ST_TRACE_COMMUNICATION)
                describe(trace, i, &found->ranks[r][found->counts[r]++]);
        found->count += found->counts[r];
    }
    list_computation(&v);
    for (size_t i = 0; i < v.collation.instance_count; i++)
        if (!v.collation.instances[i].dropped && v.collation.instances[i].count > 1)
            see_instance(&v, &v.collation.instances[i], number++);
    compare_transfers(&v);
    st_view_orders_free(&orders);
}
