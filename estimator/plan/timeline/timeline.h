/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline of a job: its step as tasks of a pipeline schedule, replayed, compared with what the
 * sheet's closed form says.
 *
 * Durations are cells of the sheet: of formulas/megatron.yaml, or of formulas/li2024.yaml, whose
 * stages are alike. Times are counted in picoseconds, so that rounding stays below 1e-9 of a step.
 */
#ifndef STEPTIME_TIMELINE_TIMELINE_H
#define STEPTIME_TIMELINE_TIMELINE_H

#include "base/result.h"
#include "estimate/report.h"
#include "plugin/refine_parse.h"
#include "schedule/schedule.h"
#include "steptime/tool/timelines.h"

/* What a step is made of on the way from closed form to replay. */
typedef enum st_term {
    ST_TERM_STEADY, /* all micro-batches on the slowest stage */
    ST_TERM_BUBBLE, /* what filling and draining adds */
    ST_TERM_TRANSFERS,
    ST_TERM_DATA,
    ST_TERM_TIED,
    ST_TERM_SLOWDOWN,
    ST_TERM_OPTIMIZER,
    ST_TERM_OVERHEAD,
    ST_TERMS
} st_term;

const char *st_term_name(st_term term);
/* Why closed form and replay may differ in a term. */
const char *st_term_reason(st_term term);

/* What becomes of the communication of the slowest stage. */
typedef enum st_hiding {
    ST_HIDING_EXPOSED, /* nothing computes at the same time */
    ST_HIDING_HIDDEN,
    ST_HIDING_SLOWDOWN, /* what the hidden part adds to the computation concurrent with it */
    ST_HIDINGS
} st_hiding;

/* "exposed communication", ... */
const char *st_hiding_name(st_hiding hiding);
/* Why closed form and replay may differ in it. */
const char *st_hiding_reason(st_hiding hiding);

/* Computation by kernel class; a message slows down each class differently. */
typedef enum st_slowed {
    ST_SLOWED_FORWARD,
    ST_SLOWED_BACKWARD,
    ST_SLOWED_INPUTS,  /* backward passes where gradients of weights are computed apart */
    ST_SLOWED_WEIGHTS, /* those gradients */
    ST_SLOWED_REST,
    ST_SLOWED_KINDS
} st_slowed;

/* Passes with a rate of hidden gradients and weights of their own. */
enum { ST_RATE_FORWARD, ST_RATE_BACKWARD };

/* A stage of a plan whose stages differ in devices, or in how they are split or recompute. */
typedef struct st_own_stage {
    st_estimate *estimate; /* of a job all of whose stages are as this one */
    uint32_t tp, cp, dp;
    const uint32_t *ranks; /* tp * cp * dp, those of a tensor-parallel group side by side, then
                              those of a context-parallel group */
} st_own_stage;

/* Ranks up to the last that any of them has. */
uint64_t st_own_ranks(const st_own_stage *stages, size_t count);

/* A job as a plan, and what the closed form says of it. */
typedef struct st_timeline_plan {
    const char *job;
    const char *sheet;
    st_refinements refinements; /* that its durations come from */
    st_schedule_plan schedule;
    uint32_t layers;            /* of a chunk, the most; 1 where the sheet has no layers */
    const double *place_layers; /* of every chunk of the model */
    double closed_s;            /* step time of the sheet */
    double term_s[ST_TERMS];    /* adds up to it */
    bool closed_same_schedule;  /* the sheet models the schedule that is replayed */
    const char *step_cell;      /* that holds it: "step_time" */
    double hiding_s[ST_HIDINGS];
    double hidden_inside_s; /* the part of what is hidden that is not laid out as tasks */
    /* By which computation slows down concurrent with messages of data parallelism; at least 1. */
    double slowdown[ST_SLOWED_KINDS];
    /* Of these messages, over that alone, during passes and transfers; above 0, at most 1. By chunk
     * of the model, forward and backward. */
    const double (*data_rate)[2]; /* ST_RATE_FORWARD, ST_RATE_BACKWARD */
    double data_rate_sending;
    /* NULL: the order of the schedule's kind; else one's own, with its name. */
    const st_schedule_order *order;
    const char *order_name;
    bool order_staggered;           /* stages begin the next step without waiting for each other */
    const st_own_stage *own_stages; /* by stage; NULL: stages are alike */
    bool splits_differ; /* stages have other devices or groups: the schedule knows no groups */
} st_timeline_plan;

/* The name of the schedule that is replayed. */
const char *st_timeline_schedule(const st_timeline_plan *plan);

/*
 * Runs the sheet of `estimate`, which must be loaded, and turns its cells into a plan. ddp becomes
 * a step of one stage whose gradients are reduced bucket by bucket. A sheet without the roles, a
 * pipeline whose chunks do not divide the layers of a stage, and times that a step cannot have are
 * errors.
 */
st_status st_timeline_plan_make(st_estimate *estimate, st_arena *arena, st_timeline_plan *plan,
                                st_errors *errors) ST_NODISCARD;
/* Layers of every chunk of the model, as many as stages and chunks, not folded. */
typedef struct st_place_layers {
    const double *all;
    const double *moe; /* those with routed experts; NULL: a model has them in all or none */
} st_place_layers;

/*
 * The same with layers of every chunk that somebody names, in place of those that the sheet's
 * fullest, first and last stage define; NULL: as above.
 */
st_status st_timeline_plan_of(st_estimate *estimate, const st_place_layers *layers, st_arena *arena,
                              st_timeline_plan *plan, st_errors *errors) ST_NODISCARD;

/* A stage, or with every rank a rank. */
typedef struct st_timeline_row {
    uint32_t rank;
    uint32_t stage;
    st_rank_time time;
    int64_t slowdown; /* by which concurrent messages lengthen its computation */
    int64_t first;    /* start of its first task */
    int64_t last;     /* end of its last */
    int64_t begins;   /* when it can begin at the latest: its first pass, less its own gathering */
} st_timeline_row;

/* A category of tasks. */
typedef struct st_timeline_category {
    const char *name;
    uint64_t count;
    int64_t time; /* all ranks */
    int64_t path; /* on the critical path */
} st_timeline_category;

typedef struct st_timeline {
    st_timeline_plan plan;
    st_schedule_order order;
    st_graph *graph;   /* owned */
    st_replay *replay; /* owned */
    int64_t end;       /* of the last task */
    int64_t step;      /* the step time: `end`, for ZB-2p the longest of a rank from `begins` on */
    int64_t term[ST_TERMS];
    double hiding_s[ST_HIDINGS]; /* as in the plan */
    double bubble; /* share of the step that the slowest stage is without passes and transfers */
    st_timeline_row *rows;
    size_t row_count;
    st_timeline_category *categories;
    size_t category_count;
    const st_path_step *path;
    size_t path_count;
} st_timeline;

/* Builds, replays and breaks down; what it owns is freed by st_timeline_free. */
st_status st_timeline_make(const st_timeline_plan *plan, bool every_rank, st_arena *arena,
                           st_timeline *timeline, st_errors *errors) ST_NODISCARD;
/* Whether the sheet fills the roles that a timeline requires. */
bool st_timeline_has_roles(const st_sheet *sheet);
/* The step of its replay alone, in ticks; of plans whose passes are one time each without a graph.
 */
st_status st_timeline_step(const st_timeline_plan *plan, int64_t *step,
                           st_errors *errors) ST_NODISCARD;
/* What that step is made of, by replays that leave out one more term each. `order`: that of the
 * passes; NULL: of the schedule. */
st_status st_timeline_find_terms(const st_timeline_plan *plan, const st_schedule_order *order,
                                 int64_t step, int64_t term[ST_TERMS],
                                 st_errors *errors) ST_NODISCARD;
void st_timeline_free(st_timeline *timeline);

void st_timeline_report(const st_timeline *timeline, st_arena *arena, st_result *result);
/* The terms of closed form and replay alone, and why they differ. */
void st_timeline_terms_report(const st_timeline *timeline, st_arena *arena, st_result *result);
/* One row of boxes a stage over time; refuses more tasks than can be drawn. */
st_status st_timeline_write_svg(const st_timeline *timeline, st_buffer *buffer,
                                st_errors *errors) ST_NODISCARD;

/* --- memory -------------------------------------------------------------------------------------
 */

/*
 * Memory of the ranks of a timeline through the step, as Figure 8 of Moye draws it. Weights,
 * gradients, optimizer state and buffers stay. A forward pass leaves its activations layer by
 * layer, a backward pass releases them, with gradients of weights apart the part that these need
 * later; a running pass adds its working set. All sizes are roles of the sheet;
 * what is laid out is when they are there and how many at once. Activations of a layer are rounded
 * as the allocator rounds what it gives out.
 */

/* A moment; between two of them memory changes linearly, at one moment by a jump. */
typedef struct st_memory_point {
    int64_t time;             /* ticks */
    double allocated_bytes;   /* all of it */
    double activations_bytes; /* what passes have left */
    double working_bytes;     /* of the pass that runs, with gathered weights */
} st_memory_point;

/* A rank; numbers are in bytes. */
typedef struct st_memory_row {
    uint32_t rank;
    uint32_t stage;
    double weights_bytes;
    double gradients_bytes;
    double optimizer_bytes;
    double buffers_bytes; /* and weights that stay gathered */
    st_memory_point peak; /* the first moment of the most */
    const char *peak_task;
    double rounding_bytes;  /* of it, by the allocator */
    double embedding_bytes; /* of it, embedded tokens, on the first stage */
    double in_flight;       /* micro-batches that are kept at once, at most */
    double gpu_bytes;       /* what the GPU sees of the peak */
    double closed_bytes;    /* the sheet's peak of this stage */
    double closed_in_flight;
    double closed_embedding_bytes;
    const st_memory_point *points;
    size_t count;
} st_memory_row;

typedef struct st_timeline_memory {
    const st_timeline *timeline;
    st_memory_row *rows; /* of the timeline's */
    size_t worst;        /* the row with the highest peak */
    double closed_bytes; /* the sheet's peak of the worst stage */
    double gpu_closed_bytes;
    double gpu_memory_bytes;
} st_timeline_memory;

/*
 * `estimate` is the job that the timeline was made of; its sheet is run for the sizes. Everything
 * lives in `arena`. A sheet without the roles is an error.
 */
st_status st_timeline_memory_make(st_estimate *estimate, const st_timeline *timeline,
                                  st_arena *arena, st_timeline_memory *memory,
                                  st_errors *errors) ST_NODISCARD;

void st_timeline_memory_report(const st_timeline_memory *memory, st_arena *arena,
                               st_result *result);
/* A panel a stage, its memory over time in kinds one above the other. */
st_status st_timeline_memory_write_svg(const st_timeline_memory *memory, st_buffer *buffer,
                                       st_errors *errors) ST_NODISCARD;

/* --- ranks that are not alike -------------------------------------------------------------------
 */

/* Whether tasks of a plan slow each other down, and a replay in which they do (timeline_rates.c).
 */
bool st_timeline_is_slowed(const st_timeline_plan *plan);
st_status st_timeline_run_slowed(st_timeline *timeline, st_errors *errors) ST_NODISCARD;

/*
 * Replays the graph as it now is, with the slowdown by messages: the step time. `rows` is scratch,
 * one for each of the timeline's.
 */
st_status st_timeline_again(const st_timeline *timeline, st_replay *replay, st_timeline_row *rows,
                            int64_t *step, st_errors *errors) ST_NODISCARD;

/* What is asked: who is slow, "rank:17=1.385", "node:3=1.2", "links:dp=1.5", and how many steps. */
typedef struct st_variance_wish {
    const char *const *slow;
    size_t slow_count;
    uint64_t samples;
    uint64_t seed;
} st_variance_wish;

enum { ST_VARIANCE_QUANTILES = 9 };
extern const double st_variance_quantiles[ST_VARIANCE_QUANTILES]; /* 0 to 1 */

static inline double st_ticks_s(int64_t ticks)
{
    return (double)ticks / ST_TICKS_PER_S;
}

typedef struct st_variance {
    const st_timeline *timeline;
    double jitter;
    const char *distribution;
    uint64_t seed;
    uint64_t ranks;
    uint64_t pipelines; /* whose passes do not meet */
    uint64_t together;  /* ranks of a stage that meet in every pass, the most */
    double even_s;      /* the step of ranks that are alike */
    double expected_s;  /* in closed form; 0: the sheet has none of such stages or links */
    double mean_s;      /* of the sampled steps */
    double deviation_s;
    double quantile_s[ST_VARIANCE_QUANTILES];
    const double *steps_s; /* as drawn */
    size_t count;
} st_variance;

/*
 * Steps of ranks whose computation takes a factor longer, drawn anew in every step: the factor is
 * that of the slowest of the ranks that meet in every pass, the step that of the slowest pipeline.
 * Links are slow in every step. The timeline must have one rank a stage; its graph is as before
 * afterwards. Without jitter there is one step. Everything lives in `arena`.
 */
st_status st_variance_make(st_estimate *estimate, const st_timeline *timeline,
                           const st_variance_wish *wish, st_arena *arena, st_variance *variance,
                           st_errors *errors) ST_NODISCARD;
void st_variance_report(const st_variance *variance, st_arena *arena, st_result *result);

#endif
