/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline schedules: the order in which each stage runs its passes, and the tasks of a step. */
#ifndef STEPTIME_TOOL_PIPELINE_SCHEDULE_H
#define STEPTIME_TOOL_PIPELINE_SCHEDULE_H

#include "steptime/graph.h"

typedef enum st_schedule_kind {
    ST_SCHEDULE_GPIPE,         /* all forward, all backward (Huang et al. 2019) */
    ST_SCHEDULE_1F1B,          /* one forward, one backward (Narayanan et al. 2019, 2021) */
    ST_SCHEDULE_INTERLEAVED,   /* 1F1B with several chunks a stage (Narayanan et al. 2021) */
    ST_SCHEDULE_ZERO_BUBBLE,   /* ZB-H1 (Qi et al. 2024) */
    ST_SCHEDULE_ZERO_BUBBLE_2, /* ZB-2p (Qi et al. 2024): up to twice the activations */
    ST_SCHEDULE_ZERO_BUBBLE_V, /* ZB-V: two chunks a stage, there and back (Qi et al. 2024b) */
    ST_SCHEDULE_V_HALF,        /* the same in half of the memory of 1F1B */
    ST_SCHEDULE_V_MIN,         /* in a third of it */
    ST_SCHEDULE_DUALPIPE,      /* from both ends at once (DeepSeek-AI 2024) */
    ST_SCHEDULES
} st_schedule_kind;

/* "gpipe", "1f1b", "interleaved", "zero_bubble", "zero_bubble_2", "zero_bubble_v", "v_half",
 * "v_min", "dualpipe". */
const char *st_schedule_name(st_schedule_kind kind);

typedef enum st_pass {
    ST_PASS_FORWARD,
    ST_PASS_BACKWARD, /* gradients of activations */
    ST_PASS_WEIGHTS,  /* gradients of weights */
    ST_PASSES
} st_pass;

/* What a pass of a chunk consists of, in this order. */
typedef enum st_part {
    ST_PART_WORK,
    ST_PART_SLOWDOWN, /* computation slowed down by hidden communication */
    ST_PART_LAUNCH,   /* waiting for the host */
    ST_PART_TP,       /* exposed communication */
    ST_PART_CP,
    ST_PART_EP,
    ST_PART_ALONE, /* communication that hides only in a pass that runs as one with another */
    ST_PARTS
} st_part;

typedef struct st_chunk_times {
    int64_t part[ST_PASSES][ST_PARTS];
} st_chunk_times;

/* One step of the order of a stage. */
typedef struct st_slot {
    uint32_t micro; /* batch, from 0 */
    uint16_t chunk; /* of the stage, from 0 */
    uint8_t pass;
    bool with_weights; /* a backward pass that does both parts */
    bool with_next;    /* runs as one with the next slot: both start when both can, and what they
                          send leaves when both have ended */
} st_slot;

typedef struct st_schedule_shape {
    st_schedule_kind kind;
    uint32_t stages; /* at least 1 */
    uint32_t micros; /* micro-batches of a pipeline, at least 1 */
    uint32_t chunks; /* of a stage; several for interleaved, 2 for those that are folded, else 1;
                        DualPipe has 2 by itself */
    /*
     * What ZB-2p and the folded schedules look at: times of the passes of each chunk of the model,
     * how long a transfer takes, how many micro-batches' activations a stage may hold (0: twice the
     * stages, or what the schedule is made for), and which share of them stays until the weights'
     * gradients are computed (above 0, at most 1; 0 is taken as 1).
     */
    const st_chunk_times *times;
    int64_t transfer;
    uint32_t held;
    double held_for_weights;
} st_schedule_shape;

typedef struct st_schedule_order {
    const st_slot *const *slots; /* by stage */
    const size_t *counts;
    size_t stages;
} st_schedule_order;

/*
 * The order of every stage; lives in `arena`. ST_ERR_VALUE for a shape that the schedule does not
 * know: no stages or micro-batches, another number of chunks than it has, DualPipe with an odd
 * number of stages or fewer than two micro-batches a stage; ST_ERR_LIMIT beyond 2^24 slots.
 */
st_status st_schedule_order_make(const st_schedule_shape *shape, st_arena *arena,
                                 st_schedule_order *order, st_errors *errors) ST_NODISCARD;

/* How the ranks of the pipeline's stages are multiplied: numbers of ranks and their strides. */
typedef struct st_schedule_groups {
    uint32_t tp, tp_stride;
    uint32_t cp, cp_stride;
    uint32_t dp, dp_stride;
    uint32_t pp_stride;
    /* Neighbours in dp, then in cp, then in tp, that exchange tokens; divides tp * cp * dp. */
    uint32_t ep;
    /* All tp * cp * dp, a tensor-parallel group side by side, then a context-parallel one; NULL: by
     * the strides. */
    const uint32_t *ranks;
} st_schedule_groups;

/* Data parallelism and the end of a step, the same on every stage. */
typedef struct st_schedule_ends {
    int64_t gather_exposed; /* weights, before the first pass */
    int64_t gather_hidden;  /* the rest of it, during the first pass */
    int64_t reduce_hidden;  /* gradients, during the last backward pass */
    int64_t reduce_exposed; /* the rest of it, after the last pass */
    int64_t data_per_micro; /* exposed after every backward pass of a chunk */
    int64_t tied;           /* gradient of the embedding, between first and last stage */
    int64_t slowdown;       /* of all that hides */
    int64_t optimizer;
    int64_t overhead; /* outside of kernels, last */
} st_schedule_ends;

/*
 * Consecutive layers of a pass whose weights are gathered and whose gradients are reduced together:
 * a unit of FSDP, or the layers that fill a bucket of gradients. Hidden times run on a separate
 * stream during the passes, exposed ones stop the passes.
 */
typedef struct st_schedule_piece {
    double until; /* share of the pass at which it ends; grows, 1 for the last one */
    int64_t gather_hidden;
    int64_t gather_exposed;
    int64_t reduce_hidden;
    int64_t reduce_exposed;
} st_schedule_piece;

/* The pieces of a chunk's passes; no pieces: the pass is one and exchanges nothing. */
typedef struct st_schedule_pieces {
    const st_schedule_piece *forward;
    size_t forward_count;
    const st_schedule_piece *backward; /* their gradients are ready after the weights' pass */
    size_t backward_count;
} st_schedule_pieces;

typedef struct st_schedule_plan {
    st_schedule_shape shape; /* its times: one entry a chunk of the model */
    /*
     * `transfer` of the shape is how long a transfer between stages takes. Where transfers block, a
     * stage spends it once a pass on exchanging with its neighbours, at the ends of the model, too
     * (the exposed time of a sheet); else it only delays the receiver.
     */
    bool transfers_block;
    /* NULL, or by chunk of the model how long what it exchanges with the next one takes, each way;
     * the shape's is the longest. */
    const int64_t *transfers;
    st_schedule_ends ends;
    /*
     * NULL, or the pieces of every chunk of the model. The stream gathers the weights of a piece
     * while the ones before it compute, at most `prefetch` pieces ahead, in the order of the passes
     * (Zhao et al. 2023 sections 3.3 and 3.4; with 1, the weights of two pieces are held), and
     * reduces gradients when a piece is done, in the order in which both are asked for.
     */
    const st_schedule_pieces *pieces;
    uint32_t prefetch;      /* at most 1024 */
    bool gathers_in_pass;   /* nothing is gathered before the pass that needs it */
    bool reduces_last_only; /* gradients of pieces, with the last micro-batch */
    uint32_t layers;        /* parts of a pass without pieces repeat so many times, sharing its
                               time; 0 is taken as 1 */
    st_schedule_groups groups;
    /* Of each stage, with its ranks, where stages differ; NULL: as above. */
    const st_schedule_groups *own_groups;
    bool every_rank; /* else one rank represents its pipeline stage */
} st_schedule_plan;

/*
 * Appends the tasks of a step to a graph that takes them; call st_graph_seal afterwards. `order` is
 * from st_schedule_order_make, or user-defined: an order that waits on itself is found when the
 * graph is sealed, one with passes that are missing, doubled or out of place is refused here with
 * ST_ERR_VALUE.
 */
st_status st_schedule_build(const st_schedule_plan *plan, const st_schedule_order *order,
                            st_graph *graph, st_errors *errors) ST_NODISCARD;

#endif
