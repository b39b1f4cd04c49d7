/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many estimates at once: grids, which vary keys of a job, and searches for the best plan of a job.
 *
 * A row equals the single estimate with the same values bit for bit. Returned texts and lists live
 * in the given arena; numbers are in base units (byte, flop, second,
 * joule, dollar), and st_type_format shows them in a cell's own unit.
 */
#ifndef STEPTIME_SEARCH_H
#define STEPTIME_SEARCH_H

#include "steptime/paths.h"
#include "steptime/sheet.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The job of a grid or a search. Texts are those of the command line; lists may be empty. */
typedef struct st_job_request {
    const char *job;         /* a name on the search path or a file */
    const char *sheet;       /* in place of the job's own; NULL: its own */
    const char *const *sets; /* "KEY=VALUE", as --set takes it */
    size_t set_count;
    const char *const
        *refine; /* plugins in place of the job's own, "none" for none; NULL: its own */
    size_t refine_count;
    const char *const *conditions; /* that a row must meet, in the language of sheets */
    size_t condition_count;
    const char *const *cells; /* to compute; none: the main ones of the sheet */
    size_t cell_count;
} st_job_request;

/* --- grids ----------------------------------------------------------------------------------- */

typedef struct st_grid st_grid;

typedef struct st_grid_request {
    st_job_request job;
    const char *const *axes; /* "KEY=VALUES", as --over takes it: at most 32 */
    size_t axis_count;
    bool zip;        /* all axes advance together; else every combination, the last axis fastest */
    uint64_t sample; /* rows drawn evenly from all; 0: every row */
    uint64_t seed;
} st_grid_request;

/*
 * Loads everything and checks axes, conditions and cells; all errors are reported at once. The grid
 * lives in `arena`, and `paths` must outlive it. ST_ERR_LIMIT: more than 10^9 rows without a
 * sample.
 */
ST_API st_status st_grid_open(const st_paths *paths, const st_grid_request *request,
                              st_arena *arena, const st_grid **grid,
                              st_errors *errors) ST_NODISCARD;

/* Rows, and cells and axes in the order of the request; indices are below the counts. */
ST_API uint64_t st_grid_row_count(const st_grid *grid);
ST_API size_t st_grid_cell_count(const st_grid *grid);
ST_API const char *st_grid_cell_name(const st_grid *grid, size_t cell);
ST_API const st_type *st_grid_cell_type(const st_grid *grid, size_t cell);
ST_API size_t st_grid_axis_count(const st_grid *grid);
ST_API const char *st_grid_axis_key(const st_grid *grid, size_t axis); /* "parallel.tp" */
/* An axis' value in a row as it is shown, at most `size` bytes with the end; returns `text`. */
ST_API const char *st_grid_axis_text(const st_grid *grid, size_t axis, uint64_t row, char *text,
                                     size_t size);

/* The type of an axis of numbers; NULL: its values are texts. Lives as long as the grid. */
ST_API const st_type *st_grid_axis_type(const st_grid *grid, size_t axis);
/* Values of an axis, and one of them as it is shown; returns `text`. */
ST_API uint64_t st_grid_axis_value_count(const st_grid *grid, size_t axis);
ST_API const char *st_grid_axis_value_text(const st_grid *grid, size_t axis, uint64_t value,
                                           char *text, size_t size);
/* Where values of an axis go, one for each row; each may be NULL. */
typedef struct st_axis_columns {
    uint32_t *places; /* in the axis' list of values */
    double *numbers;  /* base units; of an axis of numbers */
    int64_t *counts;  /* the same as whole numbers */
} st_axis_columns;

/* An axis' values in rows first to first + rows - 1. ST_ERR_USAGE: no such row, or numbers of an
 * axis of texts. */
ST_API st_status st_grid_axis_read(const st_grid *grid, size_t axis, uint64_t first, size_t rows,
                                   const st_axis_columns *columns) ST_NODISCARD;

/* Why a row has no result: 0 it has one; else below st_grid_reason_count. */
ST_API size_t st_grid_reason_count(const st_grid *grid);
/* "not: FORMULA - MESSAGE" of the check that fails, or a few words; of 0 "". */
ST_API const char *st_grid_reason_text(const st_grid *grid, size_t reason);

/* Scratch memory of one thread; the grid must outlive it. NULL when out of memory. */
typedef struct st_grid_reader st_grid_reader;
ST_API st_grid_reader *st_grid_reader_create(const st_grid *grid);
ST_API void st_grid_reader_destroy(st_grid_reader *reader); /* NULL is fine */

/*
 * Computes rows first to first + rows - 1, any number of them: values[cell][i] is a cell's value in
 * row first + i, and reasons[i] why it is none (then its values may not be finite). ST_ERR_USAGE:
 * no row does. Allocates nothing.
 */
ST_API st_status st_grid_read(st_grid_reader *reader, uint64_t first, size_t rows,
                              double *const *values, uint32_t *reasons) ST_NODISCARD;

/* --- searches -------------------------------------------------------------------------------- */

typedef enum st_method {
    ST_METHOD_EXHAUSTIVE, /* every plan */
    ST_METHOD_BOUND,      /* the least bound first, until none is below what was found */
    ST_METHOD_CMAES,      /* walks that end early: covariance matrix adaptation, */
    ST_METHOD_RANDOM,     /* random plans, */
    ST_METHOD_EVOLUTION,  /* crossed and changed ones of the best, */
    ST_METHOD_BAYES       /* a tree-structured Parzen estimator */
} st_method;

typedef enum st_pruning {
    ST_PRUNING_NONE,
    ST_PRUNING_PROVEN,  /* skip plans by rules that hold for every pair of plans */
    ST_PRUNING_DECLARED /* and those that nothing contradicts */
} st_pruning;

typedef struct st_best_request {
    st_job_request job;
    const char *gpus;        /* "512", "8..64*2"; NULL: as many as the job's plan takes */
    const char *const *only; /* "KEY" or "KEY=VALUES"; none: every key of a plan not in sets */
    size_t only_count;
    const char *const *varies; /* the same: keys that vary in addition */
    size_t vary_count;
    const char *minimise; /* a cell; NULL: the step time */
    const char *maximise; /* a cell in its place; NULL: none */
    size_t top;           /* plans to be ranked, 1 to 1000 */
    uint64_t sample;      /* plans drawn evenly from all; 0: every plan */
    uint64_t seed;        /* of the sample, or of the walk */
    st_method method;
    st_pruning pruning;
    const char
        *bound;      /* a cell that the caller declares to be a lower bound of the minimised one */
    uint64_t trials; /* plans that a walk computes at most; 0: 2000 */
    uint64_t stop_after; /* plans without a change of the best five that end a walk; 0: none */
    int threads;         /* 0: as many as the machine has cores; the result is the same */
    /* Called now and then by one thread; false ends the search early. NULL: none. */
    bool (*progress)(void *context, uint64_t done, uint64_t plans);
    void *context;
} st_best_request;

typedef struct st_best_plan {
    const char *const *sets; /* "KEY=VALUE": all that the search may vary */
    size_t set_count;
    double goal;          /* of the cell by which plans are ranked */
    const double *values; /* of the cells that the request names, in their order */
} st_best_plan;

typedef struct st_best_reason {
    const char *text;
    uint64_t plans;
} st_best_reason;

typedef struct st_best {
    const char *goal; /* the cell by which they are ranked */
    const st_type *goal_type;
    const st_best_plan *plans; /* the best first */
    size_t plan_count;
    uint64_t total;    /* all plans */
    uint64_t computed; /* of those, computed */
    uint64_t passed;   /* of these, passed all checks */
    bool interrupted;
    /*
     * By how much a plan that was not computed may be below the best one, as a share of the best
     * one's value: 0 where none is better, NaN where unknown.
     */
    double gap;
    const st_best_reason *reasons; /* why plans were rejected; of none: what divides nothing */
    size_t reason_count;
    const st_best_plan *nearest; /* where none passed: the closest one; else NULL */
} st_best;

/* Results live in `arena`. A search without a result is not an error. */
ST_API st_status st_best_find(const st_paths *paths, const st_best_request *request,
                              st_arena *arena, st_best *best, st_errors *errors) ST_NODISCARD;

#ifdef __cplusplus
}
#endif
#endif
