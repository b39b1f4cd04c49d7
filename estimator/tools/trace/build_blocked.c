/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that are ready and have no room: another stream's kernel fills the GPU. They begin when
 * its last blocks drain, which is a little before it ends, or right after its end. How long they
 * waited then follows that kernel's time.
 */
#include "trace/build.h"

/* A shorter wait is the lag of a launch or a queue. */
static const int64_t LEAST_NS = 20000;
/* What begins later after a kernel's end was not waiting for it. */
static const int64_t WAKE_UP_NS = 12000;
/* The last blocks drain within this part of a kernel: 0.7 to 1.5 % where it was seen. */
static const double DRAIN_FRAC = 1.0 / 32;
/* Of its wait the other stream must have been busy for this part. */
static const double LEAST_BUSY_FRAC = 0.9;

/* How long a stream was busy from `from_ns` to `to_ns`; `end` is the place behind its last task. */
static int64_t busy_ns(const st_order *order, uint32_t track, uint32_t end, int64_t from_ns,
                       int64_t to_ns)
{
    int64_t sum = 0;
    for (uint32_t i = end; i > order->by_start.starts[track]; i--) {
        const st_trace_event *event = &order->trace->events[order->by_start.items[i - 1]];
        int64_t begin = event->start_ns > from_ns ? event->start_ns : from_ns;
        int64_t stop = st_trace_end_ns(event) < to_ns ? st_trace_end_ns(event) : to_ns;
        if (st_trace_end_ns(event) <= from_ns)
            break;
        sum += stop > begin ? stop - begin : 0;
    }
    return sum;
}

static bool drains_at(const st_trace_event *kernel, int64_t start_ns)
{
    int64_t left_ns = st_trace_end_ns(kernel) - start_ns;
    double drain_ns = DRAIN_FRAC * (double)kernel->duration_ns;
    return kernel->kind == ST_TRACE_KERNEL && kernel->class_ != ST_TRACE_COMMUNICATION &&
           left_ns >= -WAKE_UP_NS && (double)left_ns <= drain_ns;
}

uint32_t st_build_blocker(const st_rank_build *r, uint32_t task, int64_t ready_ns)
{
    const st_order *order = r->order;
    const st_trace *trace = order->trace;
    const st_trace_event *event = &trace->events[task];
    int64_t wait_ns = event->start_ns - ready_ns;
    if (event->kind != ST_TRACE_KERNEL || wait_ns < LEAST_NS)
        return ST_TRACE_NONE;
    for (uint32_t t = 0; t < trace->track_count; t++) {
        bool same_gpu = trace->tracks[t].process == trace->tracks[event->track].process;
        uint32_t place = st_order_begun(order, t, event->start_ns);
        if (t == event->track || !same_gpu || place == order->by_start.starts[t])
            continue;
        uint32_t last = order->by_start.items[place - 1];
        if (drains_at(&trace->events[last], event->start_ns) &&
            (double)busy_ns(order, t, place, ready_ns, event->start_ns) >=
                LEAST_BUSY_FRAC * (double)wait_ns)
            return last;
    }
    return ST_TRACE_NONE;
}
