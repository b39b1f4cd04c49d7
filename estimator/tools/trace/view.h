/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of recordings: why a GPU is idle, how far the host is ahead of it, what
 * collectives of all ranks cost, and who is late. What a recording does not show is -1 or NaN,
 * never 0: a single rank of several does not know for whom it waited.
 */
#ifndef STEPTIME_TRACE_VIEW_H
#define STEPTIME_TRACE_VIEW_H

#include "trace/collate.h"
#include "trace/reports.h"

/*
 * Leaves of each rank what runs in the steps "3" or "2..4", by the numbers of ProfilerStep#N: GPU
 * tasks are clipped to them, calls stay where they begin in them or launch what is left. Steps that
 * a rank lacks are refused with those that it has.
 */
st_status st_trace_cut_steps(st_trace_set *set, const char *steps, st_errors *errors) ST_NODISCARD;

/* The ranks with GPU clocks that agree with the hosts'; freed by st_view_orders_free. */
typedef struct st_view_orders {
    st_order *orders;
    size_t count;
} st_view_orders;

void st_view_orders_make(const st_trace_set *set, st_arena *arena, st_view_orders *orders);
void st_view_orders_free(st_view_orders *orders);

/* The window of a rank: its steps, or from the first to the last call or GPU task. */
void st_view_window(const st_order *order, int64_t *start_ns, int64_t *end_ns);

/* --- idle time ------------------------------------------------------------------------------- */

typedef enum st_idle_cause {
    ST_IDLE_HOST,          /* nothing was launched yet */
    ST_IDLE_SYNC,          /* the same, as the host had waited for the GPU */
    ST_IDLE_DEPENDENCY,    /* launched, but waiting for another stream */
    ST_IDLE_COMMUNICATION, /* the same, for a collective */
    ST_IDLE_LAUNCH,        /* launched, and nothing known to wait for: on its way to the GPU */
    ST_IDLE_UNKNOWN,       /* without a recorded call, or late for no known reason */
    ST_IDLE_CAUSES
} st_idle_cause;

/* "host_bound_ns" and the like. */
const char *st_idle_cause_key(st_idle_cause cause);

/* A stream, or all streams together. */
typedef struct st_idle {
    int64_t stream; /* -1: all */
    int64_t device; /* -1: all */
    size_t tasks;
    int64_t idle_ns; /* the sum of its causes; with the time in which something runs, the window */
    int64_t causes_ns[ST_IDLE_CAUSES];
} st_idle;

/* How far the host is ahead on a stream. Times: -1 without a launch. */
typedef struct st_queue {
    size_t launched;    /* tasks with a recorded call */
    double mean_length; /* tasks that are launched and have not begun, over the window */
    size_t most_length;
    int64_t delay_median_ns; /* from the begin of the call to that of the task */
    int64_t delay_p90_ns;
    int64_t delay_most_ns;
    int64_t empty_median_ns; /* the same on a stream that has nothing to do */
    int64_t call_median_ns;  /* how long the call lasts */
    size_t shorter;          /* tasks that last less than the call that launches them */
} st_queue;

typedef struct st_idle_rank {
    const st_trace *trace;
    int64_t window_ns;
    st_idle gpu;
    st_idle *streams;
    st_queue *queues; /* by stream */
    size_t stream_count;
} st_idle_rank;

/* One for each rank, in `arena`. */
void st_view_idle(const st_trace_set *set, st_arena *arena, st_idle_rank **ranks);
void st_view_idle_result(const st_idle_rank *ranks, size_t count, st_arena *arena,
                         st_result *result);

/* --- collectives ----------------------------------------------------------------------------- */

/* A kernel of a collective. Times but for the kernel's own are -1 where not all ranks of its group
 * are recorded: it is not known to have met others. */
typedef struct st_collective {
    uint32_t event;
    uint32_t group; /* names of its metadata, or ST_TRACE_NONE */
    uint32_t dtype;
    const char *name; /* "all_reduce" */
    int64_t ranks;    /* of the group, -1: unknown, as below */
    double bytes;     /* message, as nccl-tests count it; NaN: unknown */
    int64_t sequence;
    int64_t start_ns;
    int64_t duration_ns;
    int64_t instance;    /* number of the collective that ranks meet in */
    int64_t waiting_ns;  /* until the last rank arrives */
    int64_t transfer_ns; /* from then on */
    int64_t late_ns;     /* behind the first */
    int64_t caused_ns;   /* of the last rank: by which it delayed all others, which is what it was
                            behind the last but one */
    int64_t skew_ns;     /* of the last rank, from the first arrival; -1: it is not the last */
    int64_t mean_ns;     /* of the last rank: the mean transfer, and what of it ranks compute */
    int64_t overlap_ns;
} st_collective;

/* The transfer of a collective, from the arrival of the last rank on, mean of its ranks. */
typedef struct st_transfer_time {
    size_t kind; /* of equal kind, message and group; in order */
    int64_t time_ns;
    int64_t overlap_ns; /* of it, while a rank computes */
} st_transfer_time;

/* Transfers during computation, and others of the same kinds that run alone. */
typedef struct st_transfer_slowdown {
    size_t alone;
    size_t overlapped;
    double slowdown;        /* NaN: fewer than two of them, as the others */
    double error_frac;      /* of their times, each by the slowdown of the others */
    double error_none_frac; /* without a slowdown */
} st_transfer_slowdown;

void st_transfer_slowdown_find(const st_transfer_time *times, size_t count,
                               st_transfer_slowdown *found);

typedef struct st_collectives {
    st_collective **ranks; /* by rank: its kernels in their order */
    size_t *counts;
    size_t count; /* of all ranks */
    st_transfer_slowdown slowdown;
} st_collectives;

/* Ranks are compared on clocks that are aligned where collectives end (collate.h). */
void st_collectives_find(const st_trace_set *set, st_arena *arena, st_collectives *found);

/* Bus over algorithm bandwidth, as nccl-tests define it; NaN for what they do not. */
double st_bus_factor(const char *collective, int64_t ranks);

/* --- pictures -------------------------------------------------------------------------------- */

/* The streams of up to 16 ranks over their windows, each moment in the colour of the class of which
 * most runs. */
void st_view_streams_svg(const st_trace_set *set, st_buffer *svg);

/* --- what views share ------------------------------------------------------------------------ */

enum { ST_SHORT_NAME = 72 };
/* The name, or in `text` both ends of a long one. */
const char *st_short_name(const char *name, char *text);
/* Both ends of a long name, as kernels of one template differ at the end. */
void st_put_short(st_node *node, const char *key, const char *name, bool whole);
/* "rank 3", or by its place where the trace does not say */
void st_put_rank_title(st_node *node, const char *key, const st_trace *trace, size_t index);

#endif
