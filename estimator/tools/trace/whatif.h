/* SPDX-License-Identifier: Apache-2.0 */
/* What-if: the keys, and the parts of the work; see whatif.c. */
#ifndef STEPTIME_TRACE_WHATIF_H
#define STEPTIME_TRACE_WHATIF_H

#include "steptime/tool/pipeline_schedule.h"
#include "trace/repeat.h"

typedef enum st_whatif_key {
    ST_WHATIF_TP,
    ST_WHATIF_DP,
    ST_WHATIF_PP,
    ST_WHATIF_MICROS,
    ST_WHATIF_LAYERS,
    ST_WHATIF_HIDDEN,
    ST_WHATIF_FFN,
    ST_WHATIF_HEADS,
    ST_WHATIF_MICRO_BATCH, /* samples of one */
    ST_WHATIF_BANDWIDTH,
    ST_WHATIF_BANDWIDTH_TP,
    ST_WHATIF_BANDWIDTH_DP,
    ST_WHATIF_SLOWDOWN,           /* of kernels concurrently with collectives */
    ST_WHATIF_SLOWED_COLLECTIVES, /* of collectives concurrently with kernels that compute */
    ST_WHATIF_TRANSFER,           /* of a pipeline, in microseconds */
    ST_WHATIF_HOST,               /* speed of the host */
    ST_WHATIF_LAUNCH,             /* speed of the calls that launch */
    ST_WHATIF_SPEED,              /* of the first class; the others follow */
    ST_WHATIF_KEYS = ST_WHATIF_SPEED + ST_TRACE_CLASSES
} st_whatif_key;

/* Kernels by name: a glob pattern, and how many times as fast; 0: they are gone. */
typedef struct st_whatif_kernels {
    const char *pattern;
    double speed;
} st_whatif_kernels;

/* Two kernels that become one, or a further kernel behind one. */
typedef struct st_whatif_edit_rule {
    const char *pattern;
    const char *second; /* behind it; NULL: a further kernel */
    double time_ns;     /* of the one kernel, or the further one; 0: of both together */
    size_t count;       /* how often there is such a thing */
} st_whatif_edit_rule;

enum { ST_WHATIF_PATTERNS = 64 };

typedef struct st_whatif_values {
    double have[ST_WHATIF_KEYS]; /* 0: not given */
    double set[ST_WHATIF_KEYS];
    st_whatif_kernels kernels[ST_WHATIF_PATTERNS];
    size_t kernel_count;
    st_whatif_edit_rule edits[ST_WHATIF_PATTERNS];
    size_t edit_count;
    st_schedule_kind schedule;
    bool has_schedule; /* was given */
} st_whatif_values;

/* Reports every faulty key and value; patterns are of `arena`. */
st_status st_whatif_parse(const st_trace_change *change, st_arena *arena, st_whatif_values *values,
                          st_errors *errors) ST_NODISCARD;

const char *st_whatif_key_name(st_whatif_key key);

/* Kernels of a class on another GPU. */
typedef struct st_whatif_moved {
    size_t kernels;
    int64_t recorded_ns;
    st_trace_class taken; /* whose ratios they take */
    bool known;           /* false: they last as recorded */
} st_whatif_moved;

typedef struct st_repeat_unit st_repeat_unit;

/* Two ranks of a pipeline that follow each other. */
typedef struct st_whatif_link {
    uint32_t from;
    uint32_t to;
} st_whatif_link;

/* A pipeline, by the messages of the recorded ranks. */
typedef struct st_whatif_stages {
    uint32_t count;     /* of stages, 0: no rank sends to another one */
    uint32_t *stage_of; /* by rank, an index */
    uint32_t *ranks;    /* by stage: the first rank of it */
    bool is_ring;       /* ranks form a ring: they have several chunks */
    bool is_uneven;     /* numbers of layers differ */
    st_whatif_link *links;
    size_t link_count;
} st_whatif_stages;

/* GPU tasks by launch, from first to before end. */
typedef struct st_micro_span {
    uint32_t first;
    uint32_t end;
} st_micro_span;

/* The micro-batches of a rank, step by step. */
typedef struct st_micros {
    size_t steps;
    size_t each; /* of a step */
    st_micro_span *items;
    size_t count;
    bool reduces; /* the collectives of a single one are those of its pass backward alone */
} st_micros;

typedef struct st_whatif {
    st_trace_graph *graph;
    st_replay *replay;
    st_whatif_values values;
    st_repeats *repeats; /* by rank */
    st_micros *micros;   /* by rank, by what the optimizer shows; NULL: by layers */
    st_whatif_stages stages;
    uint32_t folded;     /* layers that a repetition is, 0: one */
    double layer_growth; /* new layers over recorded ones, alike on every stage */
    st_arena *arena;
    st_errors *errors;
    st_status status; /* of what failed first; whoever goes on after a failure looks at it */
    st_trace_outcome *outcome;
    bool keep_times;
    const st_trace_job *job;                /* NULL: nobody says what was recorded */
    const st_trace_collective_model *model; /* NULL: rings */
    const st_trace_kernel_ratios *ratios;   /* NULL: the recorded GPU */
    st_whatif_moved moved[ST_TRACE_CLASSES];
    st_repeat_unit *units; /* of layers or micro-batches, see below */
    size_t unit_count;
    bool repeats_layers; /* further ones are copies of recorded ones; else these last longer */
    bool repeats_micros;
    st_trace_growth growth; /* 1 where nothing changes */
    bool priced;            /* shapes change, and `growth` says how */
    size_t modelled;        /* collectives whose time changed by the model */
    size_t by_ring;         /* and by the formula of rings */
    size_t unknown;         /* outside of layers, of no known group */
    size_t others;          /* collectives of neither tp nor dp, as all-to-alls of experts */
    int64_t others_ns;
    size_t apart;      /* pairs to become one whose second kernel waits for another stream */
    size_t unlaunched; /* further kernels behind one without a known launch */
} st_whatif;

/* Adds a sentence to the outcome; keeps the first of several equal ones. */
void st_whatif_note(st_whatif *w, const char *format, ...) ST_PRINTF(2, 3);
/* Nothing after the first failure. */
void st_whatif_refuse(st_whatif *w, const char *format, ...) ST_PRINTF(2, 3);

/* Makes a task last so long; refused where that is longer than 146 years. */
void st_whatif_set_time(st_whatif *w, st_task_id task, double time_ns);
void st_whatif_set_ns(st_whatif *w, st_task_id task, int64_t time_ns);
/* The delay of a GPU task, right before it; ST_TASK_NONE: none. */
st_task_id st_whatif_delay_of(const st_whatif *w, st_task_id task);

/* Refuses where only one of two parallel sizes is known and groups of that size differ in their
 * ranks. */
void st_whatif_check_groups(st_whatif *w);

/* The message of a collective; false where the trace lacks it. */
bool st_whatif_transfer(const st_trace *trace, const st_trace_event *event,
                        st_trace_transfer *transfer);
/* The model's time after over before; 0 where it has none or nothing changes. */
double st_whatif_ratio(st_whatif *w, const st_trace_transfer *before,
                       const st_trace_transfer *after);

/* After a replay as recorded: tasks concurrently with collectives last as long as they would alone.
 */
void st_whatif_relieve(st_whatif *w);
/* Replays after the change, with the slowdown that holds then. */
void st_whatif_replay(st_whatif *w);

/* Layers that follow each other on a rank by the job; 0: unknown. */
double st_whatif_job_layers(const st_whatif *w);
/* Refuses a job that cannot be the recorded one, and warns where what is found differs from it, or
 * from the layers of --have. */
void st_whatif_check_job(st_whatif *w);
/* Layers of every rank, where something asks for them: numbers of the job become those of rank 0.
 */
void st_whatif_find_layers(st_whatif *w);
/* How many forward passes there are in a rank's trace, with as many backward passes, in turn where
 * `alternate` asks for that; 0: these cannot be distinguished. */
size_t st_whatif_forward_passes(const st_repeats *repeats, const st_trace *trace, bool alternate);
/* Of a rank (an index) how many micro-batches each step has; refuses where that is unknown. */
void st_whatif_micros(st_whatif *w, size_t rank, size_t *steps, size_t *micros);
/* Finds micro-batches by the optimizer, in w->micros; false where the recording does not show it.
 */
bool st_whatif_find_micros(st_whatif *w);
/* Those of a rank (an index), or by its layers; refuses where both are unknown. */
st_micros st_whatif_micros_of(st_whatif *w, size_t rank);
/* Another number of micro-batches, and no other pipeline. */
bool st_whatif_adds_micros(const st_whatif *w);

/* How much longer or shorter a GPU task is on the other GPU; 1 unless it is a computing kernel.
 */
double st_whatif_move(st_whatif *w, size_t rank, size_t index);
/* Says what was assumed; refuses where no kernel has a ratio. */
void st_whatif_note_moved(st_whatif *w);

/* Refuses patterns that no kernel has; warns of classes that none has, and of bandwidth where
 * nothing is sent. */
void st_whatif_check_kernels(st_whatif *w);

/* Whether a rank has what only training leaves in a recording. */
bool st_whatif_is_training(const st_whatif *w);
/* Refuses passes, and layers of unknown number, of recordings of inference; says so otherwise. */
void st_whatif_check_training(st_whatif *w, bool passes);

/* The schedule of a pipeline with the times of the replay that ran. */
void st_whatif_pipeline(st_whatif *w);
/* Which rank is which stage; parallel.pp of the recorded job follows. */
void st_whatif_find_stages(st_whatif *w);
/* Refuses what a part of a pipeline's stages cannot answer. */
void st_whatif_check_stages(st_whatif *w);
/* The schedule of a recorded pipeline of several ranks, likewise. */
void st_whatif_stages_anew(st_whatif *w);

/* What-if: kernels that become one, and further kernels behind those that are there. */

/* What becomes of the launches of a rank's kernels, by event. */
typedef struct st_whatif_launches {
    bool *gone;        /* the kernel is part of the one before it */
    uint32_t *further; /* kernels are launched behind it */
} st_whatif_launches;

/* Reads "A,B", "A,B=385us" and "PATTERN=238.5us" of --fuse and --insert. */
st_status st_whatif_edits_parse(const st_trace_change *change, st_arena *arena,
                                st_whatif_values *values, st_errors *errors) ST_NODISCARD;
/*
 * Changes the GPU tasks of a rank (an index), whose times are those after all other changes;
 * `factors` is how much longer each event lasts because it represents more layers or micro-batches.
 */
void st_whatif_edit(st_whatif *w, size_t rank, const double *factors, st_whatif_launches *launches);
/* After all ranks: says what was changed; refuses what changed nothing. */
void st_whatif_note_edits(st_whatif *w);

/* What-if of kernels by their names, and of what the host does for them. */

/* Makes a task last `factor` times as long. */
void st_whatif_scale(st_whatif *w, st_task_id task, double factor);
/* By resource: whether it is a thread of the rank that launches or waits; others only watch, or go
 * on at their own pace. And whether a task is work of one. */
const bool *st_whatif_threads(const st_whatif *w, const st_trace_rank *rank);
bool st_whatif_is_host_work(const st_whatif *w, const bool *threads, st_task_id task);
bool st_whatif_has_kernel(const st_trace *trace, const char *pattern);
/* How much longer the patterns make a kernel (an event) last; 0: it is gone. */
double st_whatif_kernel_factor(const st_whatif *w, const st_trace *trace, size_t event);
/*
 * The host of a rank (an index): without the calls of kernels that are gone and what led to them,
 * with those of further kernels, with shorter calls that launch, and all of it faster. A thread's
 * tasks follow each other in the graph, cut where calls begin.
 */
void st_whatif_host(st_whatif *w, size_t rank, const st_whatif_launches *launches);

/*
 * Parts of a recorded step that are to be done less often, or so often as no copies make it
 * (below): layers within a pass, micro-batches within a step. What the host and the GPU
 * do in such a part lasts longer or shorter in proportion; who waits for whom stays.
 */

/*
 * Finds what of a rank (an index) is stretched by model.layers and, unless the pipeline changes,
 * too, by batch.micro_batches, and stretches the host's part of it. Reads the replay as recorded
 * that ran last. Refuses micro-batches whose passes cannot be distinguished. By event: how much
 * longer a GPU task lasts, and what it was late; 1 for most.
 */
const double *st_whatif_stretch(st_whatif *w, size_t rank);

/*
 * Layers and micro-batches that a recorded step has more of: the tasks of a recorded one, on the
 * host and on the GPU, are in the graph once more for each, right before it, and depend on each
 * other as the recorded ones do.
 */

/*
 * What of a rank is repeated, by the replay as recorded: host tasks that end later than `from_ns`
 * and not later than `to_ns`, and GPU tasks whose calls begin from `from_ns` on and before `to_ns`.
 */
struct st_repeat_unit {
    size_t rank;
    int64_t from_ns;
    int64_t to_ns;
    uint32_t copies; /* 0: it only counts in the mean of its kind */
    uint32_t kind;   /* units of one kind on a rank do the same */
    bool reduces;    /* its collectives are of the step: they are not repeated */
};

/*
 * Finds what is repeated, in w->units; w->repeats_layers and w->repeats_micros say for which of the
 * keys, the others stretch. Refuses micro-batches that cannot be distinguished.
 */
void st_whatif_plan_repeats(st_whatif *w);

/* Builds the graph anew with the copies, and a replay for it. Nothing happens without units. */
void st_whatif_repeat(st_whatif *w);
/* What makes room in a launch queue for a task that waits: the begin or the end of another one. */
typedef struct st_whatif_room {
    st_task_id freed_by; /* ST_TASK_NONE: as before */
    bool at_begin;
} st_whatif_room;

/* Builds the graph anew where no units are, with other tasks that make room, by task. */
void st_whatif_rebuild(st_whatif *w, const st_whatif_room *room);

/*
 * Which task makes room in a shallow queue that streams share depends on which ends first after the
 * change: builds the graph anew until that is so.
 */
void st_whatif_share_queues(st_whatif *w);

#endif
