/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plans of a search: every way to divide a job over a number of GPUs.
 *
 * A shape is a factorization of the GPUs into tensor, context, pipeline and data ranks, with the
 * layers of the first and the last stage where stages do not divide the layers; within it,
 * chunks per stage, expert ranks, micro-batches, recomputation, sequence parallelism and ZeRO vary
 * freely over lists that the shape allows. What cannot divide is never enumerated; everything else
 * is left to the checks of the sheet. Plans are numbered, so that any thread can start anywhere.
 */
#ifndef STEPTIME_SEARCH_PLANS_H
#define STEPTIME_SEARCH_PLANS_H

#include "sweep/space.h"

typedef enum st_plan_param {
    ST_PARAM_NODES,
    ST_PARAM_TP,
    ST_PARAM_CP,
    ST_PARAM_PP,
    ST_PARAM_DP,
    ST_PARAM_FIRST, /* layers of the first stage; 0: as the others */
    ST_PARAM_LAST,
    ST_PARAM_VIRTUAL, /* the first that varies within a shape */
    ST_PARAM_EP,
    ST_PARAM_MICRO,
    ST_PARAM_RECOMPUTE,
    ST_PARAM_SEQUENCE,
    ST_PARAM_ZERO,
    ST_PARAMS
} st_plan_param;

enum { ST_SHAPE_LISTS = ST_PARAMS - ST_PARAM_VIRTUAL, ST_SHAPES_MAX = 200000 };

const char *st_plan_param_key(st_plan_param param);
/* ST_PARAMS where the key is none of them. */
st_plan_param st_plan_param_find(const char *key);

/* Which values a plan parameter may take. */
typedef struct st_plan_choice {
    bool read;            /* by the sheet */
    bool free;            /* it varies over all that a shape allows */
    bool held;            /* it does not vary: by request, or because it has one value */
    const double *values; /* not free: these alone */
    size_t count;
} st_plan_choice;

/* What plans depend on; a search may vary it along with them. */
typedef enum st_plan_base {
    ST_PLAN_LAYERS,  /* 0: unknown, then chunks per stage stay at what is given */
    ST_PLAN_BATCH,   /* 0: unknown */
    ST_PLAN_EXPERTS, /* 0: a dense model */
    ST_PLAN_EXPERT_TP,
    ST_PLAN_BASES
} st_plan_base;

enum { ST_PLAN_MOST_NUMBERS = 100 };

const char *st_plan_base_key(st_plan_base base);

/* Its values in the rows of a search, rising, none twice. A plan that any of them allows is one. */
typedef struct st_plan_numbers {
    const double *values;
    size_t count; /* 0: so many that they are left to the checks */
} st_plan_numbers;

/* What the plans are made for. */
typedef struct st_plan_request {
    const double *gpus; /* counts, each a whole number of at least 1 */
    size_t gpus_count;
    double gpus_per_node; /* 0: unknown, and one node does */
    bool nodes_differ;    /* from row to row: nodes are counted in GPUs, to be divided later */
    st_plan_numbers bases[ST_PLAN_BASES];
    st_plan_choice choices[ST_PARAMS];
    unsigned zero;             /* where it is free: the stages of ZeRO, each a bit; 0: all */
    unsigned zero_with_stages; /* and those of several pipeline stages */
    bool whole_groups;         /* interleaved: micro-batches are a multiple of the stages */
    bool near_ends;            /* the ends lack layers of one chunk at most */
    const double
        *own;        /* the job's own plan, one of the plans whatever divides; NULL: it has none */
    double balanced; /* a balanced layout distributes so many parts besides the layers; 0: none */
} st_plan_request;

typedef struct st_shape {
    uint64_t first; /* number of its first plan */
    double sizes[ST_PARAM_VIRTUAL];
    const double *lists[ST_SHAPE_LISTS];
    size_t counts[ST_SHAPE_LISTS];
} st_shape;

/* The first of the factorizations that came nearest to a plan, and what none of its values suits.
 */
typedef struct st_plan_miss {
    bool given;
    st_plan_param param;
    double gpus;
    double left; /* ranks that the sizes before it leave */
    double sizes[ST_PARAM_VIRTUAL];
} st_plan_miss;

typedef struct st_plans {
    st_shape *shapes;
    size_t shape_count;
    uint64_t count;
    uint64_t own; /* the number of the job's own plan; UINT64_MAX: it is none of them */
    st_plan_miss miss;
} st_plans;

/* "no value of batch.micro times 8 data-parallel ranks divides the 128 sequences of a step"; NULL
 * when out of memory. */
const char *st_plan_miss_text(const st_plan_request *request, const st_plan_miss *miss,
                              st_arena *arena);

st_status st_plans_make(const st_plan_request *request, st_arena *arena, st_plans *plans,
                        st_errors *errors) ST_NODISCARD;

/* Whether a plan is one for these very values of what plans depend on. */
bool st_plan_divides(const st_plan_request *request, const double bases[ST_PLAN_BASES],
                     const double values[ST_PARAMS]);

/* Whether the stack's software runs a plan, see whole_groups and near_ends. */
bool st_plan_runs(const st_plan_request *request, const double bases[ST_PLAN_BASES],
                  const double values[ST_PARAMS]);

/* The shape of one plan. */
const st_shape *st_plan_shape(const st_plans *plans, uint64_t plan);
/* The values of one plan. */
void st_plan_at(const st_plans *plans, uint64_t plan, double values[ST_PARAMS]);

/* A plan at hand: that behind it is found without a search of its shape and without divisions.
 * Begins with `plans` alone. */
typedef struct st_plan_cursor {
    const st_plans *plans;
    const st_shape *shape; /* NULL: none yet */
    uint64_t plan;
    uint64_t end; /* the first plan behind the shape */
    size_t digits[ST_SHAPE_LISTS];
    double values[ST_PARAMS];
} st_plan_cursor;

/* The values of one plan, within the cursor. */
const double *st_plan_cursor_at(st_plan_cursor *cursor, uint64_t plan);

/* How many of `rows` rows from `first` on are of one shape, each plan `repeat` times. */
size_t st_plans_run(const st_plans *plans, uint64_t repeat, uint64_t first, size_t rows);

/* The lists of the shape of a plan, and its place among their combinations. */
st_product st_plans_product(const st_plans *plans, uint64_t plan);

/* Writes plan `first` / `repeat` and those behind it into columns (NULL: not wanted), each plan
 * `repeat` times; `first` counts the repeated rows. */
void st_plans_fill(const st_plans *plans, uint64_t repeat, uint64_t first, size_t rows,
                   double *const columns[ST_PARAMS]);

#endif
