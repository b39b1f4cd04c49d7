/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives by a model: what the profiler wrote about a kernel's message and group is enough to
 * ask a model for its time before and after the change. The recorded transfer is scaled by the
 * ratio of the two, so that a model need not hit the recorded time.
 */
#include "trace/link.h"
#include "trace/whatif.h"

#include <ctype.h>
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
    if (event->detail == ST_TRACE_NONE)
        return false;
    const st_trace_collective *own = &trace->collectives[event->detail];
    if (own->name == ST_TRACE_NONE || own->dtype == ST_TRACE_NONE || own->group_size < 2)
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
            if (st_trace_is_gpu(e) && e->class_ == ST_TRACE_COMMUNICATION &&
                e->detail != ST_TRACE_NONE) {
                const st_trace_collective *meta = &trace->collectives[e->detail];
                ranks = (double)meta->group_size == size ? meta->ranks : ST_TRACE_NONE;
            }
            if (ranks != ST_TRACE_NONE && first != ST_TRACE_NONE && ranks != first)
                st_whatif_refuse(
                    w, "%s: its groups of %.0f ranks are of two kinds, %s and %s" ST_EXPECTED "%s",
                    trace->file, size, trace->names[first], trace->names[ranks],
                    tp > 0 ? "--have parallel.dp, too" : "--have parallel.tp, too");
            first = first == ST_TRACE_NONE ? ranks : first;
        }
    }
}
