/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of recordings: why a GPU is idle, how far the host is ahead of it, what
 * collectives of all ranks cost, and who is late. What a recording does not show is -1 or NaN,
 * never 0: a single rank of several does not know for whom it waited.
 */
#ifndef STEPTIME_TRACE_VIEW_H
#define STEPTIME_TRACE_VIEW_H

#include "trace/depend.h"
#include "trace/reports.h"
#include "trace/trace.h"

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

/* A stream, or all streams together. */
typedef struct st_idle {
    int64_t stream; /* -1: all */
    int64_t device; /* -1: all */
    size_t tasks;
    int64_t idle_ns;                   /* with the time in which something runs, the window */
    int64_t causes_ns[ST_IDLE_CAUSES]; /* their sum is idle_ns, unless they are replayed */
    bool is_replayed; /* causes are what replays without them save; else a gap belongs to one */
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

/* A rank, or one of several devices that its process drives. */
typedef struct st_idle_rank {
    const st_trace *trace;
    size_t rank;    /* index */
    int64_t device; /* -1: it has one */
    int64_t window_ns;
    st_idle gpu;
    st_idle *streams;
    st_queue *queues; /* by stream */
    size_t stream_count;
} st_idle_rank;

/* One for each rank and device, in `arena`; how many. */
size_t st_view_idle(const st_trace_set *set, st_arena *arena, st_idle_rank **ranks);
/* Replaces each cause by the idle time that a replay without it saves. */
st_status st_view_idle_causes(const st_trace_set *set, st_arena *arena, st_idle_rank *ranks,
                              size_t count, st_errors *errors) ST_NODISCARD;
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

/* Ranks are compared on clocks that are aligned where collectives end (depend.h). */
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

/*
 * What a thread is in at any moment: its ranges become a list of moments at which the innermost one
 * changes, each with a value that the asker gives it. A range that ends after the one around it is
 * taken to end with it.
 */

/* The value of a range inside of one with the value `outer`. */
typedef st_status (*st_sweep_value)(void *context, uint32_t outer, const st_trace_frame *frame,
                                    uint32_t *value);

typedef struct st_sweep_ask {
    const st_trace *trace;
    const uint32_t *frames; /* which ranges */
    size_t count;
    uint32_t none;        /* the value outside of all */
    st_sweep_value value; /* NULL: the range itself, an index */
    void *context;
} st_sweep_ask;

typedef struct st_sweep_change {
    int64_t at_ns;
    uint32_t value; /* from then on */
} st_sweep_change;

typedef struct st_sweep {
    st_sweep_change *items;
    size_t count;
    size_t *firsts; /* by track, and behind the last the end */
    uint32_t none;
} st_sweep;

st_status st_sweep_make(const st_sweep_ask *ask, st_sweep *sweep, st_errors *errors) ST_NODISCARD;
uint32_t st_sweep_at(const st_sweep *sweep, uint32_t track, int64_t at_ns);
void st_sweep_free(st_sweep *sweep);

/*
 * GPU time by where it comes from: modules, annotations, functions of Python or operators, as a
 * tree.
 *
 * A GPU task belongs to the innermost range on the thread of its call in which the call begins.
 * What the backward thread launches belongs to the module or function that ran the operator
 * forward, by the sequence number that both have; under an annotation it belongs to what the thread
 * of the steps is in at that time. What then belongs nowhere stays at the root: unattributed.
 */

typedef enum st_tree_by {
    ST_TREE_MODULE,
    ST_TREE_ANNOTATION,
    ST_TREE_STACK,
    ST_TREE_OPERATOR,
    ST_TREE_NOTHING, /* kernels alone */
    ST_TREE_BYS
} st_tree_by;

/* "module annotation stack operator", in the order of the enumeration. */
#define ST_TREE_WORDS "module annotation stack operator"

typedef struct st_tree_node {
    const char *name;
    uint32_t parent; /* lower than its own; ST_TRACE_NONE of the root */
    uint32_t depth;  /* 0 of the root */
    bool is_kernel;  /* of trees with kernels: below what launches it */
    uint64_t calls;  /* ranges of this name */
    int64_t host_ns; /* their time */
    uint64_t kernels;
    int64_t self_ns;          /* of GPU tasks that belong to none below */
    int64_t gpu_ns;           /* with all below */
    int64_t backward_ns;      /* of these: launched by another thread than ran forward */
    int64_t communication_ns; /* of these: collectives */
} st_tree_node;

/* Node 0 is the root: its time is that of all tasks, its own what belongs nowhere. */
typedef struct st_tree {
    st_tree_by by;
    st_tree_node *nodes;
    size_t count;
    size_t ranks;
    uint32_t *order; /* depth first, siblings by falling time */
} st_tree;

typedef enum st_tree_leaf {
    ST_LEAF_NONE,
    ST_LEAF_KERNEL,  /* kernels below what launches them */
    ST_LEAF_OPERATOR /* the innermost operators in their place, which vendors share */
} st_tree_leaf;

typedef struct st_tree_ask {
    const st_trace_set *set;
    const st_trace_set *other; /* whose instances count, too, as those of `set`; may be NULL */
    st_tree_by by;
    st_tree_leaf leaf;
    bool fold; /* modules Attention_0 to Attention_31 are one, Attention_* */
} st_tree_ask;

st_status st_view_tree_asked(const st_tree_ask *ask, st_arena *arena, st_tree *tree,
                             st_errors *errors) ST_NODISCARD;

/* Of all ranks together. Traces that were read with details; refuses those without such ranges,
 * with what to record. With kernels those of each part are below it. */
st_status st_view_tree(const st_trace_set *set, st_tree_by by, bool with_kernels, st_arena *arena,
                       st_tree *tree, st_errors *errors) ST_NODISCARD;

/* What of a tree is shown: deeper or smaller parts become one line. */
typedef struct st_tree_limits {
    uint64_t depth;     /* 0: all */
    double least_share; /* of all time */
} st_tree_limits;

void st_view_tree_result(const st_tree *tree, const st_tree_limits *limits, st_arena *arena,
                         st_result *result);
/* The tree as a picture: parts lie under their whole, as wide as their time. */
void st_view_tree_svg(const st_tree *tree, st_buffer *svg);

/*
 * Two recordings compared: modules and kernels matched by their names, what grew, what
 * shrank, what is new and what is gone. Times are of a rank and, where both recordings have steps,
 * of a step, so that recordings of different lengths compare; changes add up to that of all.
 */

typedef struct st_diff_side {
    const char *name; /* of its first file */
    size_t ranks;
    size_t steps;    /* of a rank, 0: none */
    double divisor;  /* of all times and counts */
    const char *gpu; /* "" or NULL for none */
} st_diff_side;

/* Times and counts of sides: before, after. */
typedef struct st_diff_row {
    const char *name;
    const char *place; /* modules around it, "" for none */
    bool is_kernel;
    bool has[2];
    double time_ns[2];
    double count[2];
} st_diff_row;

typedef struct st_trace_diff {
    st_diff_side sides[2];
    bool by_module;   /* both have modules */
    bool by_operator; /* rows are operators instead of kernels */
    bool by_step;
    st_diff_row *rows; /* the greatest change first; kernels' changes add up to that of all */
    size_t count;
    double total_ns[2];
} st_trace_diff;

typedef enum st_diff_by {
    ST_DIFF_AUTO, /* by operator where the GPUs are of two vendors, whose kernels have other names
                   */
    ST_DIFF_KERNEL,
    ST_DIFF_OPERATOR
} st_diff_by;

typedef struct st_diff_ask {
    const st_trace_set *sets[2]; /* read with details */
    st_diff_by by;
    bool fold; /* instances of modules, as in st_tree_ask */
} st_diff_ask;

st_status st_view_diff(const st_diff_ask *ask, st_arena *arena, st_trace_diff *diff,
                       st_errors *errors) ST_NODISCARD;
/* "grew", "shrank", "new", "gone", "same" */
const char *st_diff_word(const st_diff_row *row);
/* At most `top` modules and kernels each; the others are one row. */
void st_view_diff_result(const st_trace_diff *diff, size_t top, bool full_names, st_arena *arena,
                         st_result *result);
void st_view_diff_svg(const st_trace_diff *diff, size_t top, st_buffer *svg);

/*
 * The memory of GPUs over time, by where it was allocated: what was there before the recording,
 * forward, backward, in the optimizer, elsewhere. From the profiler's [memory] events: what is
 * given back counts against what took it, by its address. Categories add up to the whole at any
 * moment.
 */

typedef enum st_memory_category {
    ST_MEMORY_BEFORE,
    ST_MEMORY_FORWARD,
    ST_MEMORY_BACKWARD,
    ST_MEMORY_OPTIMIZER,
    ST_MEMORY_OTHER, /* outside of operators; all, where the profiler wrote no addresses */
    ST_MEMORY_CATEGORIES
} st_memory_category;

typedef struct st_memory_sample {
    int64_t at_ns; /* from the begin of the recording's window */
    int64_t bytes[ST_MEMORY_CATEGORIES];
} st_memory_sample;

/* What is there at the peak. */
typedef struct st_memory_block {
    int64_t bytes;
    int64_t at_ns; /* when it was taken */
    st_memory_category category;
    const char *name; /* the operator that took it, or none */
} st_memory_block;

typedef struct st_memory_device {
    const st_trace *trace;
    int64_t device;
    size_t events;
    bool has_addresses;
    bool knows_start; /* what was there before: "Total Allocated" is recorded */
    int64_t start_bytes;
    int64_t peak_bytes;
    int64_t reserved_bytes;   /* at most; -1: not recorded */
    int64_t difference_bytes; /* at most, from the recorded total: events that are missing */
    st_memory_sample peak;
    st_memory_sample *samples; /* by time, at most 500, each the most of its part */
    size_t sample_count;
    st_memory_block *blocks; /* at the peak, the largest first; without those from before */
    size_t block_count;
} st_memory_device;

typedef struct st_memory_view {
    st_memory_device *devices;
    size_t count;
} st_memory_view;

/* Sets that were read with details; refuses those without such events, with what to record. */
st_status st_view_memory(const st_trace_set *set, st_arena *arena, st_memory_view *view,
                         st_errors *errors) ST_NODISCARD;
void st_view_memory_result(const st_memory_view *view, size_t top, st_arena *arena,
                           st_result *result);
void st_view_memory_svg(const st_memory_view *view, st_buffer *svg);

/* The critical path of a recording as tasks: the chain that nothing could have made shorter but one
 * of its own. */

typedef struct st_path_row {
    st_task_view task;
    const char *resource; /* thread or stream */
    const char *why;      /* how it depends on the one before, "" of the first */
    int64_t start_ns;     /* from the first event of any rank */
    int64_t end_ns;
    int64_t adds_ns; /* by how much it is later than the one before; all of these are the whole */
} st_path_row;

typedef struct st_path_view {
    st_path_row *rows; /* in the order of time: those that add most, where `top` asks for few */
    size_t count;
    int64_t length_ns;
    size_t total; /* tasks that add something; of no meaning below `count` */
} st_path_view;

/* Of a replay with the durations that the graph has. */
st_status st_view_path(st_trace_graph *graph, size_t top, st_arena *arena, st_path_view *view,
                       st_errors *errors) ST_NODISCARD;
/* The `top` tasks that add most, in the order of time; 0: all. */
void st_view_path_result(const st_path_view *view, size_t top, bool full_names, st_arena *arena,
                         st_result *result);

#endif
