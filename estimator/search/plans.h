/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plans of a search: every way to divide a job over a number of GPUs.
 *
 * A shape is a factorization of the GPUs into tensor, context, pipeline and data ranks; within it,
 * chunks per stage, expert ranks, micro-batches, recomputation, sequence parallelism and ZeRO vary
 * freely over lists that the shape allows. What cannot divide is never enumerated; everything else
 * is left to the checks of the sheet. Plans are numbered, so that any thread can start anywhere.
 */
#ifndef STEPTIME_SEARCH_PLANS_H
#define STEPTIME_SEARCH_PLANS_H

#include "search/space.h"

typedef enum st_knob {
    ST_KNOB_NODES,
    ST_KNOB_TP,
    ST_KNOB_CP,
    ST_KNOB_PP,
    ST_KNOB_DP,
    ST_KNOB_VIRTUAL, /* the first that varies within a shape */
    ST_KNOB_EP,
    ST_KNOB_MICRO,
    ST_KNOB_RECOMPUTE,
    ST_KNOB_SEQUENCE,
    ST_KNOB_ZERO,
    ST_KNOBS
} st_knob;

enum { ST_SHAPE_LISTS = ST_KNOBS - ST_KNOB_VIRTUAL, ST_SHAPES_MAX = 200000 };

const char *st_knob_key(st_knob knob);
/* ST_KNOBS where the key is none of them. */
st_knob st_knob_find(const char *key);

/* Which values a knob may take. */
typedef struct st_knob_choice {
    bool read;            /* by the sheet */
    bool free;            /* it varies over all that a shape allows */
    const double *values; /* not free: these alone */
    size_t count;
} st_knob_choice;

/* What the plans are made for. */
typedef struct st_plan_request {
    const double *gpus; /* counts, each a whole number of at least 1 */
    size_t gpus_count;
    double gpus_per_node;
    double layers;  /* 0: unknown, then chunks per stage stay at what is given */
    double batch;   /* 0: unknown */
    double experts; /* 0: a dense model */
    double expert_tp;
    st_knob_choice choices[ST_KNOBS];
} st_plan_request;

typedef struct st_shape {
    uint64_t first; /* number of its first plan */
    double sizes[ST_KNOB_VIRTUAL];
    const double *lists[ST_SHAPE_LISTS];
    size_t counts[ST_SHAPE_LISTS];
} st_shape;

typedef struct st_plans {
    st_shape *shapes;
    size_t shape_count;
    uint64_t count;
} st_plans;

st_status st_plans_make(const st_plan_request *request, st_arena *arena, st_plans *plans,
                        st_errors *errors) ST_NODISCARD;

/* The shape of one plan. */
const st_shape *st_plan_shape(const st_plans *plans, uint64_t plan);
/* The values of one plan. */
void st_plan_at(const st_plans *plans, uint64_t plan, double values[ST_KNOBS]);

/* Writes plan `first` / `repeat` and those behind it into columns (NULL: not wanted), each plan
 * `repeat` times; `first` counts the repeated rows. */
void st_plans_fill(const st_plans *plans, uint64_t repeat, uint64_t first, size_t rows,
                   double *const columns[ST_KNOBS]);

#endif
