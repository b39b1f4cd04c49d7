/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of all ranks by kind, message and group, and who comes late to them. Ranks are
 * compared on clocks that are aligned where collectives end (collate.h).
 */
#include "trace/busy.h"
#include "trace/view.h"
#include "trace/whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A kernel of a collective. */
typedef struct member {
    const char *name;
    int64_t ranks;
    double bytes;
    int64_t kernel_ns;
    int64_t waiting_ns; /* -1: not known */
    int64_t skew_ns;    /* of its instance, told by one member; -1: the others */
    int64_t mean_ns;    /* the transfer of the ranks of the same, and what of it they compute */
    int64_t beside_ns;
} member;

typedef struct viewer {
    const st_view_orders *orders;
    st_collation collation;
    st_arena *arena;
    st_collective_view *view;
    member *members;
    size_t member_count;
    size_t *first_of;        /* by rank: members of its events, in their order */
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

static void describe(const st_trace *trace, const st_trace_event *event, member *made)
{
    st_trace_transfer transfer;
    *made = (member){.name = kind_of(trace->names[event->name]),
                     .ranks = -1,
                     .bytes = (double)NAN,
                     .kernel_ns = event->duration_ns,
                     .waiting_ns = -1,
                     .skew_ns = -1};
    if (event->detail == ST_TRACE_NONE)
        return;
    const st_trace_collective *meta = &trace->collectives[event->detail];
    made->ranks = meta->group_size;
    if (st_whatif_transfer(trace, event, &transfer)) {
        made->name = transfer.collective;
        made->bytes = transfer.size_bytes;
    } else if (meta->name != ST_TRACE_NONE) {
        made->name = trace->names[meta->name];
    }
}

static st_status list_members(viewer *v)
{
    size_t room = 1;
    for (size_t r = 0; r < v->orders->count; r++)
        room += v->orders->orders[r].gpu_count;
    v->members = st_arena_alloc(v->arena, room, sizeof *v->members);
    v->first_of = st_arena_alloc(v->arena, v->orders->count, sizeof *v->first_of);
    if (v->members == NULL || v->first_of == NULL)
        return ST_ERR_MEMORY;
    for (size_t r = 0; r < v->orders->count; r++) {
        const st_trace *trace = v->orders->orders[r].trace;
        v->first_of[r] = v->member_count;
        for (size_t i = 0; i < trace->event_count; i++)
            if (st_trace_is_gpu(&trace->events[i]) &&
                trace->events[i].class_ == ST_TRACE_COMMUNICATION)
                describe(trace, &trace->events[i], &v->members[v->member_count++]);
    }
    return ST_OK;
}

/* By rank and event: where its member stands. */
static st_status place_members(const viewer *v, size_t rank, size_t **places)
{
    const st_trace *trace = v->orders->orders[rank].trace;
    size_t next = v->first_of[rank];
    size_t *made = st_arena_alloc(v->arena, trace->event_count + 1, sizeof *made);
    *places = made;
    if (made == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < trace->event_count; i++)
        if (st_trace_is_gpu(&trace->events[i]) && trace->events[i].class_ == ST_TRACE_COMMUNICATION)
            made[i] = next++;
    return ST_OK;
}

/* ---- instances ---- */

static st_status list_computation(viewer *v)
{
    v->computes = st_arena_alloc(v->arena, v->orders->count, sizeof *v->computes);
    for (size_t r = 0; r < v->orders->count && v->computes != NULL; r++) {
        const st_trace *trace = v->orders->orders[r].trace;
        st_busy_spans *own = &v->computes[r];
        own->items =
            st_arena_alloc(v->arena, v->orders->orders[r].gpu_count + 1, sizeof *own->items);
        if (own->items == NULL)
            return ST_ERR_MEMORY;
        for (size_t i = 0; i < trace->event_count; i++) {
            const st_trace_event *event = &trace->events[i];
            if (st_trace_is_gpu(event) && event->class_ != ST_TRACE_COMMUNICATION)
                own->items[own->count++] =
                    (st_busy_span){.start_ns = event->start_ns, .end_ns = st_trace_end_ns(event)};
        }
        st_busy_spans_merge(own);
    }
    return v->computes != NULL ? ST_OK : ST_ERR_MEMORY;
}

/* How long of a transfer, which takes the end of a kernel, its rank computes. */
static int64_t beside_ns(const viewer *v, const st_instance_member *one, int64_t transfer_ns)
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

static void see_instance(viewer *v, const st_instance *instance, size_t *const *places)
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
    v->view->instances++;
    for (uint32_t i = 0; i < instance->count; i++) {
        st_straggler *rank = &v->view->stragglers[members[i].rank];
        member *own = &v->members[places[members[i].rank][members[i].event]];
        int64_t waiting_ns = last_ns - arrival_ns(v, &members[i]);
        own->waiting_ns = waiting_ns < own->kernel_ns ? waiting_ns : own->kernel_ns;
        transfer_ns += own->kernel_ns - own->waiting_ns;
        computing_ns += beside_ns(v, &members[i], own->kernel_ns - own->waiting_ns);
        own->skew_ns = i == last ? last_ns - first_ns : -1;
        own->ranks = own->ranks < 0 ? (int64_t)instance->count : own->ranks;
        rank->instances++;
        rank->last += i == last;
        rank->late_ns += arrival_ns(v, &members[i]) - first_ns;
        rank->caused_ns += i == last ? last_ns - second_ns : 0;
        rank->waiting_ns += own->waiting_ns;
    }
    member *told = &v->members[places[members[last].rank][members[last].event]];
    told->mean_ns = transfer_ns / (int64_t)instance->count;
    told->beside_ns = computing_ns / (int64_t)instance->count;
}

/* ---- rows ---- */

ST_COMPARE(compare_members, member,
           ST_BY_TEXT(name) ST_RISING(ranks) ST_THEN(isnan(a->bytes) - isnan(b->bytes))
               ST_RISING(bytes));

ST_COMPARE(compare_rows, st_collective_row, ST_FALLING(kernel_ns) ST_FALLING(bytes));

static st_status make_rows(viewer *v)
{
    st_collective_view *view = v->view;
    view->rows = st_arena_alloc(v->arena, v->member_count + 1, sizeof *view->rows);
    if (view->rows == NULL)
        return ST_ERR_MEMORY;
    st_sort(v->members, v->member_count, sizeof *v->members, compare_members);
    for (size_t i = 0; i < v->member_count; i++) {
        const member *own = &v->members[i];
        if (i == 0 || compare_members(own, own - 1) != 0)
            view->rows[view->count++] =
                (st_collective_row){.name = own->name, .ranks = own->ranks, .bytes = own->bytes};
        st_collective_row *row = &view->rows[view->count - 1];
        row->count++;
        row->kernel_ns += own->kernel_ns;
        if (own->waiting_ns < 0)
            continue;
        row->matched++;
        row->waiting_ns += own->waiting_ns;
        row->transfer_ns += own->kernel_ns - own->waiting_ns;
        row->instances += own->skew_ns >= 0;
        row->skew_ns += own->skew_ns > 0 ? own->skew_ns : 0;
        row->most_skew_ns = own->skew_ns > row->most_skew_ns ? own->skew_ns : row->most_skew_ns;
    }
    st_sort(view->rows, view->count, sizeof *view->rows, compare_rows);
    return ST_OK;
}

/* Transfers of unknown message are not of one kind. */
static st_status compare_transfers(viewer *v)
{
    st_transfer_time *times = st_arena_alloc(v->arena, v->member_count + 1, sizeof *times);
    size_t count = 0;
    size_t kind = 0;
    if (times == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < v->member_count; i++) {
        const member *own = &v->members[i];
        kind += i > 0 && compare_members(own, own - 1) != 0;
        if (own->skew_ns >= 0 && own->mean_ns > 0 && !isnan(own->bytes))
            times[count++] = (st_transfer_time){kind, own->mean_ns, own->beside_ns};
    }
    st_view_beside(times, count, &v->view->beside);
    return ST_OK;
}

/* ---- ranks ---- */

ST_COMPARE(compare_stragglers, st_straggler, ST_FALLING(caused_ns) ST_RISING(trace->rank));

static st_status list_ranks(viewer *v, const st_trace_set *set, st_errors *errors)
{
    v->view->stragglers = st_arena_alloc(v->arena, set->count, sizeof *v->view->stragglers);
    v->view->rank_count = set->count;
    if (v->view->stragglers == NULL)
        return ST_ERR_MEMORY;
    for (size_t r = 0; r < set->count; r++) {
        st_trace_summary summary;
        st_status status = st_trace_summarize(set->ranks[r], v->arena, &summary, errors);
        if (status != ST_OK)
            return status;
        v->view->stragglers[r] = (st_straggler){.trace = set->ranks[r],
                                                .compute_ns = summary.time.exposed_compute_ns +
                                                              summary.time.overlapped_ns};
    }
    return ST_OK;
}

st_status st_view_collectives(const st_trace_set *set, st_arena *arena, st_collective_view *view,
                              st_errors *errors)
{
    st_view_orders orders;
    viewer v = {.orders = &orders, .arena = arena, .view = view};
    *view = (st_collective_view){0};
    st_status status = st_view_orders_make(set, arena, &orders);
    if (status == ST_OK)
        status = st_collate(orders.orders, orders.count, arena, &v.collation);
    if (status == ST_OK)
        status = list_members(&v);
    if (status == ST_OK && v.member_count == 0)
        status = st_fail(errors, ST_ERR_VALUE, (st_place){.file = set->ranks[0]->file},
                         "the trace has no collectives" ST_EXPECTED
                         "kernels of NCCL or RCCL, as ranks of a job run them");
    if (status == ST_OK)
        status = list_ranks(&v, set, errors);
    if (status == ST_OK)
        status = list_computation(&v);
    if (status == ST_OK) {
        size_t **places = st_arena_alloc(v.arena, v.orders->count, sizeof *places);
        st_status instance_status = places != NULL ? ST_OK : ST_ERR_MEMORY;
        for (size_t r = 0; r < v.orders->count && instance_status == ST_OK; r++)
            instance_status = place_members(&v, r, &places[r]);
        for (size_t i = 0; i < v.collation.instance_count && instance_status == ST_OK; i++) {
            const st_instance *instance = &v.collation.instances[i];
            if (!instance->dropped && instance->count > 1)
                see_instance(&v, instance, places);
        }
        status = instance_status;
    }
    if (status == ST_OK)
        status = make_rows(&v);
    if (status == ST_OK)
        status = compare_transfers(&v);
    if (status == ST_OK)
        st_sort(view->stragglers, view->rank_count, sizeof *view->stragglers, compare_stragglers);
    st_view_orders_free(&orders);
    return status;
}
