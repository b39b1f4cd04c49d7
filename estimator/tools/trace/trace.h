/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded traces: what ran when on the host threads and GPU streams of the ranks of a job.
 *
 * The reader takes what PyTorch's profiler (Kineto) writes, in every form since 2020, one file per
 * rank. It keeps what a task graph needs, so that memory depends on the number of calls and
 * kernels. Times are whole nanoseconds; a double would lose the last digits of times since 1970.
 */
#ifndef STEPTIME_TRACE_TRACE_H
#define STEPTIME_TRACE_TRACE_H

#include "base/lists.h"
#include "steptime/graph.h"

#define ST_TRACE_NONE UINT32_MAX

/* Bounds of what is read; beyond them a trace is refused. */
enum {
    ST_TRACE_MAX_EVENTS = 1 << 28, /* kept events of a file */
    ST_TRACE_MAX_STREAMS = 4096,
    ST_TRACE_MAX_THREADS = 61440, /* with the streams what 16 bits number */
    ST_TRACE_MAX_RANKS = 65536
};

typedef enum st_trace_kind {
    ST_TRACE_KERNEL, /* the first three are GPU tasks */
    ST_TRACE_MEMCPY,
    ST_TRACE_MEMSET,
    ST_TRACE_CALL,     /* of the runtime or the driver */
    ST_TRACE_SYNC,     /* a record of the profiler on what waits for what (cuda_sync) */
    ST_TRACE_OPERATOR, /* of the framework, on a thread */
    ST_TRACE_STEP,     /* ProfilerStep#N */
    ST_TRACE_RANGE,    /* Optimizer.step, around operators */
    ST_TRACE_KINDS
} st_trace_kind;

/* What a GPU task is for, by its name. */
typedef enum st_trace_class {
    ST_TRACE_GEMM, /* and convolutions */
    ST_TRACE_ATTENTION,
    ST_TRACE_NORM,
    ST_TRACE_ELEMENTWISE,
    ST_TRACE_OPTIMIZER,
    ST_TRACE_MEMORY, /* copies, fills, gathers */
    ST_TRACE_COMMUNICATION,
    ST_TRACE_OTHER,
    ST_TRACE_CLASSES
} st_trace_class;

/* "gemm", "attention", "norm", "elementwise", "optimizer", "memory", "communication", "other". */
const char *st_trace_class_name(st_trace_class class_);
/* The class of a kernel by its name, by the library's table; see classes.h. */
st_trace_class st_trace_classify(const char *name);
typedef struct st_trace_classes st_trace_classes;

/* What a call does to the order of things. */
typedef enum st_trace_call {
    ST_CALL_OTHER,
    ST_CALL_LAUNCH, /* kernels, copies, fills, graphs */
    ST_CALL_RECORD, /* an event into a stream */
    ST_CALL_WAIT,   /* a stream for an event */
    ST_CALL_SYNC_STREAM,
    ST_CALL_SYNC_EVENT,
    ST_CALL_SYNC_DEVICE,
    ST_CALL_FREE,  /* of GPU memory: waits for all that runs */
    ST_CALL_QUERY, /* asks without waiting */
    ST_CALLS
} st_trace_call;

typedef struct st_trace_event {
    int64_t start_ns; /* of the file's own clock; see base_ns */
    int64_t duration_ns;
    int64_t link; /* correlation, -1: none; below it, what has it: st_trace_detail of link.h */
    uint32_t name;
    uint16_t track; /* index of its stream or thread */
    uint8_t kind;   /* st_trace_kind */
    uint8_t class_; /* st_trace_class of a GPU task, st_trace_call of a call */
} st_trace_event;

typedef struct st_trace_track {
    bool is_stream;
    bool is_text;    /* the number is one of a name */
    int64_t process; /* of a stream: the device */
    int64_t number;  /* thread or stream */
} st_trace_track;

/* What Kineto writes at a kernel of a collective since 2024. Texts: ST_TRACE_NONE for none. */
typedef struct st_trace_collective {
    int64_t correlation; /* of the kernel */
    uint32_t name;       /* "allreduce" */
    uint32_t dtype;      /* "BFloat16" */
    uint32_t group;      /* name of the process group */
    uint32_t ranks;      /* "[0, 1]" */
    int64_t in_elements; /* -1: unknown, as below */
    int64_t out_elements;
    int64_t group_size;
    int64_t sequence;
    int64_t
        source; /* of a message: ranks of the job, or places in the group, as frameworks differ */
    int64_t destination;
    int64_t channels; /* of NCCL: the blocks of its kernel */
} st_trace_collective;

typedef struct st_trace_wait {
    int64_t correlation;        /* of the record */
    int64_t device;             /* of the streams; -1: unknown */
    int64_t stream;             /* that waits; -1: unknown */
    int64_t on_stream;          /* that is waited for; -1: unknown */
    int64_t record_correlation; /* of the call that recorded the event; -1: unknown */
} st_trace_wait;

/* Ranges on a thread that show where work comes from. */
typedef enum st_trace_frame_kind {
    ST_FRAME_OPERATOR, /* of the framework */
    ST_FRAME_ANNOTATION,
    ST_FRAME_MODULE, /* "nn.Module: Linear_3" */
    ST_FRAME_PYTHON, /* another function of Python */
    ST_FRAME_KINDS
} st_trace_frame_kind;

typedef struct st_trace_frame {
    int64_t start_ns;
    int64_t duration_ns;
    int64_t sequence; /* of an operator: the same forward and backward; -1: none */
    uint32_t name;
    uint16_t track;
    uint32_t stack;   /* of an operator: its calls in Python, the innermost first, or none */
    uint32_t shapes;  /* of an operator's inputs, "[[8192, 4096], [4096, 1536]]", or none */
    uint32_t types;   /* of these, "[\"c10::Half\", \"c10::Half\"]", or none */
    bool is_backward; /* runs what another thread ran forward */
    uint8_t kind;
} st_trace_frame;

/* Memory that was taken, or given back where `bytes` is negative. */
typedef struct st_trace_allocation {
    int64_t at_ns;
    int64_t bytes;
    int64_t address;         /* -1: unknown, as below */
    int64_t allocated_bytes; /* in all, afterwards */
    int64_t reserved_bytes;
    int64_t device; /* of a GPU; -1: the host */
    uint16_t track;
} st_trace_allocation;

/* A category of the file and its events of all phases. */
typedef struct st_trace_category {
    uint32_t name;
    uint64_t count;
} st_trace_category;

enum { ST_TRACE_CATEGORIES = 256 };

/* One file. All is to be read only. */
typedef struct st_trace {
    const char *file;
    const char *const *names;
    uint32_t name_count;
    st_trace_event *events; /* by start, then as in the file */
    size_t event_count;
    st_trace_track *tracks;
    size_t track_count;
    st_trace_collective *collectives;
    size_t collective_count;
    st_trace_wait *waits;
    size_t wait_count;
    st_trace_frame *frames; /* as in the file; of `details` only, as allocations */
    size_t frame_count;
    st_trace_allocation *allocations;
    size_t allocation_count;
    st_trace_category categories[ST_TRACE_CATEGORIES];
    size_t category_count;
    size_t kind_counts[ST_TRACE_KINDS];

    uint64_t file_events;     /* all of the file */
    uint64_t complete_events; /* those with a duration, phase X */
    bool is_array;            /* the file is a bare list of events */
    bool has_decimals;        /* some times are not whole microseconds */
    bool partial;             /* the file ended too soon, or events had to be left out */
    bool is_apart;            /* only tasks of this device were kept */
    int64_t device;
    size_t parts;      /* ranks in a file of several, 0: it is one of one rank */
    uint64_t left_out; /* events of a negative duration, or without one, name or time */
    int64_t base_ns;   /* add it to times to compare files; -1: the file has none */
    int64_t rank;      /* -1: the file does not say, as below */
    int64_t world_size;
    uint32_t gpu;     /* name of the first device, or ST_TRACE_NONE */
    uint32_t unit;    /* displayTimeUnit, or ST_TRACE_NONE */
    int64_t sm_count; /* of the first device, -1: unknown */
    bool is_cut;      /* what is not in some steps was taken away: the window is theirs */
    int64_t cut_start_ns;
    int64_t cut_end_ns;
    void *owner;
} st_trace;

/* "" for none. */
static inline const char *st_trace_name(const st_trace *trace, uint32_t name)
{
    return name == ST_TRACE_NONE ? "" : trace->names[name];
}

/* What its times are counted from. */
static inline int64_t st_trace_base_ns(const st_trace *trace)
{
    return trace->base_ns > 0 ? trace->base_ns : 0;
}

typedef struct st_trace_options {
    /*
     * Use what could be read: files that end too soon, sets in which ranks are missing, events of a
     * negative duration (left out), correlation ids used twice, clocks that jump. Otherwise these
     * are errors.
     */
    bool partial;
    bool details;           /* keep frames and allocations, too */
    bool without_operators; /* they are for the task graph alone */
    bool apart;  /* GPUs that one process drives are ranks of their own, as merged ones are */
    size_t part; /* of a file of several ranks: which one, from 1 on; 0: the file as it is */
    const struct st_visitor *visitor; /* who looks at every event; see scan.h */
    const st_trace_classes *classes;  /* of kernels; NULL: the library's */
} st_trace_options;

/* Reads one file. `options` may be NULL. */
st_status st_trace_read(const char *path, const st_trace_options *options, st_trace **trace,
                        st_errors *errors) ST_NODISCARD;
/* The same from memory, which may go afterwards; `name` is for messages. */
st_status st_trace_read_memory(const char *name, const char *text, size_t length,
                               const st_trace_options *options, st_trace **trace,
                               st_errors *errors) ST_NODISCARD;
void st_trace_destroy(st_trace *trace); /* NULL is fine */

/* The ranks of one job, by rank. */
typedef struct st_trace_set {
    st_trace **ranks;
    size_t count;
    int64_t world_size; /* -1: unknown */
    st_arena *arena;
    struct st_trace_work **works; /* by rank, see st_recorded_work; NULL: not asked for */
    size_t *work_counts;
} st_trace_set;

/*
 * Reads files, and of folders every file whose name ends in .json or .json.gz, several at a time.
 * Refuses files of different jobs, two files of one rank and, unless options->partial, sets of
 * several files in which a rank is missing.
 */
st_status st_trace_set_read(const char *const *paths, size_t count, const st_trace_options *options,
                            st_trace_set **set, st_errors *errors) ST_NODISCARD;
void st_trace_set_destroy(st_trace_set *set); /* NULL is fine */

/* --- what is in a trace ---------------------------------------------------------------------- */

/* Where the time of a rank's GPU goes; the first four add up to the window. */
typedef struct st_trace_breakdown {
    int64_t exposed_compute_ns; /* kernels, copies and fills run, no collective does */
    int64_t exposed_communication_ns;
    int64_t overlapped_ns; /* both */
    int64_t idle_ns;
    int64_t window_ns; /* first to last GPU task or call */
} st_trace_breakdown;

typedef struct st_trace_tally {
    const char *name;
    st_trace_class class_; /* of a kernel */
    uint64_t count;
    int64_t total_ns;
} st_trace_tally;

typedef struct st_trace_step {
    const char *name;
    int64_t start_ns; /* from the window's start */
    int64_t duration_ns;
    st_trace_breakdown time; /* clipped to the step */
} st_trace_step;

typedef struct st_trace_summary {
    const st_trace *trace;
    int64_t window_start_ns; /* of the file's clock */
    st_trace_breakdown time;
    int64_t hidden_by_copies_ns; /* of time.overlapped_ns: only copies and fills run meanwhile */
    size_t gpu_tasks;
    size_t streams;
    size_t launches_linked;       /* different correlations of GPU tasks with a call */
    size_t unlaunched;            /* GPU tasks without a call */
    size_t records;               /* calls that record an event */
    size_t waits;                 /* calls that make a stream wait for one */
    size_t exact_waits;           /* records of the profiler that name the event waited for */
    size_t collectives;           /* communication kernels */
    size_t described_collectives; /* those with the profiler's metadata */
    size_t overlaps; /* GPU tasks that begin before the one before on the stream ends */
    st_trace_tally classes[ST_TRACE_CLASSES];
    st_trace_tally *kernels; /* of one name, longest total first */
    size_t kernel_count;
    st_trace_tally *sync_calls; /* calls that wait for the GPU, by name */
    size_t sync_call_count;
    st_trace_tally *sync_records; /* cuda_sync, by name */
    size_t sync_record_count;
    st_trace_step *steps;
    size_t step_count;
    /* The share of each period in which at least one stream runs a task (as Lumos, sec. 4.2.3). */
    double *utilization_frac;
    size_t period_count;
    int64_t period_ns; /* 1 ms; more where that would be over a million periods */
} st_trace_summary;

/* Adds up one rank; everything lives in `arena`. A trace without GPU work has a window of calls. */
void st_trace_summarize(const st_trace *trace, st_arena *arena, st_trace_summary *summary);

/* --- dependencies and replay ------------------------------------------------------------------ */

typedef enum st_trace_edge_kind {
    ST_TRACE_EDGE_THREAD,  /* host after host: order of a thread, and between threads */
    ST_TRACE_EDGE_LAUNCH,  /* GPU task after its call */
    ST_TRACE_EDGE_SYNC,    /* host after GPU task */
    ST_TRACE_EDGE_STREAM,  /* GPU task after the one before it on its stream */
    ST_TRACE_EDGE_STREAMS, /* GPU task after one of another stream */
    ST_TRACE_EDGE_RANKS,   /* collectives that ranks meet in */
    ST_TRACE_EDGE_KINDS
} st_trace_edge_kind;

typedef struct st_trace_edges {
    uint64_t exact;        /* the trace has ids for them */
    uint64_t inferred;     /* from the order of calls */
    uint64_t contradicted; /* inferred, but impossible by the recorded times: left out */
} st_trace_edges;

/* What the host waits for the GPU. */
typedef struct st_trace_waiting {
    size_t count; /* calls, threads that ask again and again, pauses that the GPU ends */
    int64_t total_ns;
    size_t unknown_count; /* those of which nothing that is known explains over 100 us */
    int64_t unknown_ns;   /* what is not explained */
    int64_t own_ns;       /* what calls that wait for all did when all that was recorded was over */
    st_task_id *unknown;  /* the host tasks of that */
} st_trace_waiting;

/* A step of the profiler (ProfilerStep#N) in a graph. */
typedef struct st_trace_mark {
    const char *name;
    st_task_id begins; /* the host tasks that end where it begins and ends */
    st_task_id ends;
    int64_t
        lead_ns; /* what of it passes before the first call of any rank, where the graph begins */
} st_trace_mark;

/* A GPU task that a what-if adds: it is what a recorded one is. */
typedef struct st_trace_copy {
    uint32_t event;
    st_task_id task;
} st_trace_copy;

/* A call that waited for room in the launch queue, and how long. */
typedef struct st_trace_blocked {
    uint32_t call; /* event */
    int64_t wait_ns;
} st_trace_blocked;

/* The launch queue of a rank's GPU, of several the deepest. */
typedef struct st_trace_queue {
    uint32_t depth;   /* launches whose tasks have not ended; 0: no limit is known */
    bool is_seen;     /* by calls that wait; otherwise what current drivers hold */
    int64_t usual_ns; /* of a call that does not wait, where is_seen */
    size_t waiting;   /* launches behind so many others that they wait for one of these */
} st_trace_queue;

/* A send and the receive that takes it. */
typedef struct st_trace_message {
    uint32_t from; /* ranks, indices */
    uint32_t to;
    uint32_t send; /* events */
    uint32_t receive;
    bool exact;    /* by sequence numbers */
    bool buffered; /* the send does not wait for the receive */
} st_trace_message;

/* What holds for one rank of a graph. Times are of the graph: from the first event of any rank. */
typedef struct st_trace_rank {
    const st_trace *trace;
    int64_t gpu_late_ns; /* by how much the times of GPU tasks were late against the host's */
    int64_t clock_ns; /* what was added to the rank's times, besides base_ns, to align its clock */
    int64_t start_ns; /* window: first to last call or GPU task, as recorded */
    int64_t end_ns;
    st_task_id *tasks; /* by event: the task of a GPU task, otherwise ST_TASK_NONE */
    st_trace_copy *copies;
    size_t copy_count;
    st_task_id *hosts;   /* by event: the host task that ends where a GPU task's call begins */
    st_task_id *threads; /* where the last call of each thread returns */
    bool *thread_acts;   /* by thread: it launches or waits; others only watch */
    size_t thread_count;
    st_trace_mark *steps;
    size_t step_count;
    st_trace_edges edges[ST_TRACE_EDGE_KINDS];
    size_t unlaunched;     /* GPU tasks without a call; the first of a stream keeps its time */
    int64_t launch_lag_ns; /* from call to task on an empty stream, 5th percentile */
    int64_t queue_gap_ns;  /* between tasks of a queue, median */
    st_trace_waiting waiting;
    st_trace_queue queue;
    st_trace_blocked *blocked_calls; /* by thread and time */
    size_t blocked_call_count;
    size_t blocked; /* GPU tasks that began later as a kernel of another stream filled the GPU */
    int64_t blocked_ns;
    size_t unexplained; /* GPU tasks that began later than all that they are known to wait for */
    int64_t unexplained_ns; /* by how much, in sum */
    /*
     * Between tasks of a CUDA graph, and in a queue before and behind one, where nothing is known
     * to be waited for: nodes that the profiler did not record.
     */
    int64_t graphs_ns;
} st_trace_rank;

/* A graph of all ranks, sealed, with the recorded durations. */
typedef struct st_trace_graph {
    st_graph *graph;
    const st_trace_set *set;
    st_trace_rank *ranks;
    st_trace_edges instances; /* collectives of several ranks */
    size_t inferred_groups;   /* of ranks, that no trace names; 0: it is all ranks, or unknown */
    st_trace_message *messages;
    size_t message_count;
    size_t unmatched_messages; /* sends and receives without a partner on a recorded rank */
    size_t outside_messages;   /* those of ranks that are not recorded */
    int64_t most_apart_ns; /* of the ends of one collective on different ranks, clocks aligned */
    st_arena *arena;
    st_arena *recorded; /* tasks and hosts of ranks, and delays */
    void *delays;       /* st_delay of depend.h */
    size_t delay_count;
} st_trace_graph;

/*
 * Builds the graph of a set, which must live longer. A GPU task starts after its launch and the
 * lag, after the task before it on its stream, and after what its stream waits for; what it
 * began later than all of these in the recording is kept as a delay. A kernel of a collective of
 * several ranks ends as long after the arrival of the last rank as recorded.
 */
st_status st_trace_graph_make(const st_trace_set *set, st_trace_graph **graph,
                              st_errors *errors) ST_NODISCARD;
/* The same without some dependencies, whose waits take no time. `shed`: the set, of which nothing
 * is kept that a replay does not need; NULL: all is. */
enum {
    ST_GRAPH_WITHOUT_SYNC = 1,    /* of the host on the GPU */
    ST_GRAPH_WITHOUT_STREAMS = 2, /* of a stream on computation of another one */
    ST_GRAPH_WITHOUT_DELAYS = 4   /* as st_trace_graph_delays leaves them out; of a path alone */
};
st_status st_trace_graph_make_without(const st_trace_set *set, unsigned without, st_trace_set *shed,
                                      st_trace_graph **graph, st_errors *errors) ST_NODISCARD;
void st_trace_graph_destroy(st_trace_graph *graph); /* NULL is fine */

/* Delays as recorded, or only as long as the usual gap in a queue: what dependencies explain. */
st_status st_trace_graph_delays(st_trace_graph *graph, bool keep, st_errors *errors) ST_NODISCARD;

/*
 * After durations have changed: tasks that a kernel of another stream kept from beginning wait
 * longer or shorter, as that kernel lasts.
 */
st_status st_trace_graph_unblock(st_trace_graph *graph, st_errors *errors) ST_NODISCARD;

/* After another graph took the place of this one's: `moved` are the new numbers of its tasks. */
void st_trace_graph_move(st_trace_graph *graph, const st_task_id *moved);

/*
 * The breakdown of a rank (an index) in a replay that ran: a collective counts from the arrival of
 * the rank. `window` of the replay is the rank's, from its first event.
 */
void st_trace_replay_rank(const st_trace_graph *graph, const st_replay *replay, size_t rank,
                          st_trace_breakdown *time);

/* --- what if ------------------------------------------------------------------------------------
 */

/* A collective that a model is asked about. */
typedef struct st_trace_transfer {
    const char *collective;  /* "all_reduce", "all_gather", "reduce_scatter", "all_to_all", ... */
    double size_bytes;       /* of the message; of all ranks together in a gathering */
    double ranks;            /* of the group, at least 2 */
    double stride;           /* how far apart its ranks are */
    double bandwidth_factor; /* links how many times as fast as they are */
} st_trace_transfer;

/* Times of collectives from elsewhere. */
typedef struct st_trace_collective_model {
    void *context;
    /* Sets seconds, to 0 where the model does not know the collective; reports what it refuses. */
    st_status (*time)(void *context, const st_trace_transfer *transfer, double *seconds,
                      st_errors *errors);
} st_trace_collective_model;

/* What kernels take on another GPU. */
typedef struct st_trace_kernel_ratios {
    const void *context;
    const char *to; /* name of that GPU */
    const char *by; /* "what was measured on" it, for messages */
    /* New over recorded time of a kernel, an event of one of the ranks; *taken is the class that
     * the ratio is of. NaN: unknown. */
    double (*ratio)(const void *context, size_t rank, size_t event, st_trace_class *taken);
    const char *const *notes; /* further notes */
    size_t note_count;
} st_trace_kernel_ratios;

/* What the recorded job was and shall be: texts "key=value" of docs/traces.md. */
/* When the tasks of a graph run, and the longest chain of them. */
typedef struct st_trace_times {
    st_task_time *tasks; /* by task; NULL: not known */
    const st_path_step *path;
    size_t path_count;
} st_trace_times;

/* How kernels of another shape last, new over old time; 0: not known. */
typedef struct st_trace_growth {
    double products; /* GEMMs of a layer */
    double attention;
    double elementwise; /* and norms */
    double logits;      /* the GEMM of the output layer */
    double parameters;  /* of a layer: no time */
    double updated;     /* parameters that a GPU's optimizer updates */
} st_trace_growth;

/* What the recorded job is said to be, besides the sizes in `have`. 0: not known. */
typedef struct st_trace_job {
    const char *name;
    double cp;
    double layers; /* of the model */
    double virtual_stages;
    double global_batch; /* sequences of a step */
} st_trace_job;

typedef struct st_trace_change {
    const st_trace_job *job; /* NULL: nobody says; else the trace is held against it */
    const char *const *have;
    size_t have_count;
    const char *const *sets;
    size_t set_count;
    const char *const *removed; /* patterns of kernels that are not launched */
    size_t removed_count;
    const char *const *fused; /* "A,B", "A,B=385us": kernels that become one */
    size_t fused_count;
    const char *const *inserted; /* "PATTERN=238.5us": a further kernel behind each */
    size_t inserted_count;
    bool approximate; /* allow what a trace does not show: another tensor-parallel size */
    const st_trace_collective_model *model; /* NULL: collectives grow as rings do */
    const st_trace_kernel_ratios *ratios;   /* NULL: kernels run on the recorded GPU */
    /* From a job's sheet and plugins; keys of shapes need it, parallel.tp unless `approximate`. */
    st_trace_growth growth;
    bool keep_times;   /* hand out when each task runs */
    bool skips_layers; /* speeds change alone, and nobody asks for the layers */
} st_trace_change;

/* One of several devices of a rank, an index. */
typedef struct st_trace_lane {
    size_t rank;
    int64_t device;
} st_trace_lane;

typedef struct st_trace_outcome {
    int64_t before_ns; /* first event of any rank to the last that is waited for, replayed */
    int64_t after_ns;
    /* A mean step, from the end of all work of one to that of the next; of a single one from its
     * begin. 0 without steps or calls, or where a new pipeline took the place of the ranks. */
    int64_t step_before_ns;
    int64_t step_after_ns;
    /* One rank of several: after_ns if its collectives beyond the shortest alike are waiting that
     * changes as its kernels do. As after_ns where all ranks are recorded. */
    int64_t after_waiting_ns;
    /* The same, if waits of unknown cause are over at once; else as after_ns. */
    int64_t after_least_ns;
    int64_t band_ns[2];         /* after_ns where kernels are faster or slower; 0: not asked */
    st_trace_breakdown *before; /* by rank, and behind these by lane */
    st_trace_breakdown *after;  /* NULL where a new pipeline schedule took the place of the ranks */
    st_trace_lane *lanes;       /* devices of ranks that have several */
    size_t lane_count;
    int64_t **steps_before_ns;   /* by rank and step, on the host */
    int64_t **steps_after_ns;    /* NULL as above */
    st_trace_times times_before; /* where keep_times asks for them */
    st_trace_times times_after;  /* unknown where a new pipeline schedule took the place */
    double layers_frac;          /* of the time of computing kernels, that these take */
    uint32_t layers;   /* repetitions that were found on rank 0, 0: not looked for or none */
    double job_layers; /* of all stages, which may have different numbers */
    uint32_t stages;   /* of the recorded pipeline, 0: no messages show one */
    size_t scaled;     /* GPU tasks whose time changed */
    size_t unpriced;   /* kernels of another shape that last as recorded */
    int64_t unpriced_ns;
    int64_t kernels_ns; /* of all kernels that compute, where shapes change */
    size_t added;       /* GPU tasks of further layers and micro-batches */
    size_t fused;       /* pairs of kernels that became one */
    size_t inserted;    /* further kernels */
    double bubble_frac; /* of a new pipeline schedule, otherwise 0 */
    const char **notes; /* what was assumed, a sentence each */
    size_t note_count;
} st_trace_outcome;

/*
 * Changes durations in the graph, replays it, and, for another pipeline, builds the schedule of
 * passes with the times that the replay gives. The graph keeps the changed durations. Refuses what
 * cannot be known from the trace: ST_ERR_USAGE for keys, else ST_ERR_VALUE.
 */
st_status st_trace_whatif(st_trace_graph *graph, const st_trace_change *change, st_arena *arena,
                          st_trace_outcome *outcome, st_errors *errors) ST_NODISCARD;

/* Bytes of an element, "BFloat16"; 0: not known. */
double st_trace_element_bytes(const char *dtype);

#endif
