/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A space: one job on one sheet, and axes along which its keys vary.
 *
 * What an axis changes is found out once, before the first row: the inputs of the sheet that a key
 * or a file gives other values, and the programs that an order of ranks or a layer list needs. A
 * row is then a few numbers that are copied into columns.
 *
 * Rows are numbered; the last axis varies fastest. In a zipped space all axes advance together.
 */
#ifndef STEPTIME_SWEEP_SPACE_H
#define STEPTIME_SWEEP_SPACE_H

#include "estimate/estimate_internal.h"
#include "program/rates.h"
#include "sweep/axis.h"
#include "program/blocks.h"

enum {
    ST_SPACE_ORDER_GROUPS = 4, /* of an order of ranks: tp, cp, dp, pp */
    ST_SPACE_MAX_VARIANTS = 1000,
    ST_SPACE_BLOCK = 1024,     /* rows that a thread takes at a time */
    ST_SPACE_MOST_ROWS = 4096, /* that a worker can take */
};

/* Two axes that advance together. */
typedef struct st_joined {
    const char *key;
    const char *with;
} st_joined;

typedef struct st_space_request {
    const char *job;
    const char *sheet; /* NULL: the job's own */
    const char *const *sets;
    size_t set_count;
    const char *const *refine; /* plugins, as in st_request */
    size_t refine_count;
    const char *option;              /* with which the axes came: "--over" */
    const char *const *overs;        /* KEY=VALUES */
    const char *const *over_options; /* with which each came; NULL: `option` for all */
    size_t over_count;
    const char *const *wheres; /* conditions in the language of sheets */
    size_t where_count;
    const char *const *cells; /* to be computed */
    size_t cell_count;        /* 0: the cells that one asks for first */
    bool once;                /* each is one column, and none that an axis is already */
    bool zip;
    const st_joined *joined; /* axes that do, where not all are zipped */
    size_t joined_count;
    uint64_t sample; /* 0: every row */
    bool uncounted;  /* the caller draws its own sample: their number is unlimited */
    uint64_t seed;
    bool checks_warn;  /* a check of the sheet that fails rejects no row, as by --check none */
    bool keeps_bounds; /* rows whose closed form is a lower bound are not replayed */
} st_space_request;

/* The programs of one combination of values that no column can hold. */
typedef struct st_variant {
    const st_program *program;
    const st_program *whole;           /* for rows whose `replayed` is 1; NULL: none */
    size_t settled_checks;             /* the first ones, which say the same of a row in both */
    size_t plugin_count;               /* of the program's providers: the first ones are plugins' */
    const char *order;                 /* of ranks; NULL: none */
    bool named[ST_SPACE_ORDER_GROUPS]; /* groups that the order has */
} st_variant;

/* An axis, and what it does to the sheet's inputs. */
typedef struct st_space_axis {
    st_axis axis;
    const double *numbers; /* per value, base units; NULL: axis.start, ... or no numbers */
    size_t variant_stride; /* 0: it changes no program */
    size_t follows;        /* index + 1 of an axis before it with which it advances; 0: none */
    const st_type *type;   /* of an input that reads it; NULL: shown as text */
    st_type shown;         /* of its numbers, in the unit in which they are shown */
    bool has_numbers;
    size_t text_width; /* of its longest value among the first ones; 0: its values are numbers */
} st_space_axis;

/* An input of the sheet that an axis drives. */
typedef struct st_driven {
    size_t input;
    size_t axis;
    const double *values; /* per value of the axis; NULL: axis.start + index * axis.step */
} st_driven;

/* Where an order's group gets its size from. */
typedef struct st_group_size {
    size_t axis; /* SIZE_MAX: it is fixed */
    double fixed;
} st_group_size;

typedef struct st_space {
    const st_paths *paths;
    st_arena *arena;
    st_space_request request;
    st_estimate base;      /* every axis at its first value */
    const st_sheet *sheet; /* with the conditions */
    st_space_axis axes[ST_AXES_MAX];
    size_t axis_count;
    st_driven *driven;
    size_t driven_count;
    st_variant *variants;
    size_t variant_count;
    st_group_size group_sizes[ST_SPACE_ORDER_GROUPS];
    const char **cells;
    const st_type **types; /* of the cells */
    size_t cell_count;
    const char *replayed; /* an output behind the cells: 1 of a row for `whole`; NULL: none is */
    size_t check_count;
    const st_provider *const *plugins; /* providers of plugins, the first ones of every program */
    size_t plugin_count;
    const char **refusals; /* per such provider: what its refusal is called */
    st_refine_keys plugin_keys;
    const char **refine; /* the plugins that are on, as a command line would ask for them */
    size_t refine_count;
    const char *infeasible; /* why a row is not a plan; NULL: sizes do not divide */
    uint64_t total;         /* rows, before sampling */
    uint64_t rows;
} st_space;

/* Rows that a command may ask for without --sample. */
extern const uint64_t st_space_most_rows;

/* Everything lives in `arena`. All errors of the axes are reported at once. */
st_status st_space_create(const st_paths *paths, const st_space_request *request, st_arena *arena,
                          st_space **space, st_errors *errors) ST_NODISCARD;
/* The same of a space that was made before, whose warnings were reported then. */
st_status st_space_create_again(const st_paths *paths, const st_space_request *request,
                                st_arena *arena, st_space **space, st_errors *errors) ST_NODISCARD;

/* Why a row has no result. */
enum { ST_REASON_NONE = 0 /* 1 ...: the check of that number */ };
static inline size_t st_reason_no_value(const st_space *space)
{
    return space->check_count + 1;
}
static inline size_t st_reason_order(const st_space *space)
{
    return space->check_count + 2;
}
/* The row is a plan for other values of what plans depend on, not for its own. */
static inline size_t st_reason_infeasible(const st_space *space)
{
    return space->check_count + 3;
}
/* A plugin's provider without a fallback refuses. */
static inline size_t st_reason_refused(const st_space *space, size_t provider)
{
    return space->check_count + 4 + provider;
}
static inline size_t st_reason_count(const st_space *space)
{
    return space->check_count + 4 + space->plugin_count;
}

/* Columns that a program of the space writes before its checks. */
static inline size_t st_space_outputs(const st_space *space)
{
    return space->cell_count + (space->replayed != NULL ? 1 : 0);
}

/* Rows of a block that follow each other. */
typedef struct st_space_run_rows {
    size_t rows;
    bool slow;          /* the slow inputs are the same in all of them */
    st_product product; /* of slow rows, whose inputs come from lists; without counts: of none */
} st_space_run_rows;

/* Inputs that are constant over many rows: what depends only on them is computed once for these. */
typedef struct st_slow {
    st_workspace *workspace;
    st_workspace *judge; /* as that of the worker */
    unsigned level;      /* as that of the worker */
    st_column *columns;  /* per input */
    double *values;      /* per input */
    uint8_t *levels; /* per input: 1 for the slow ones, 2 for those that differ from row to row */
    uint8_t *lists;  /* per input: 1 + the list of the product that its values come from; 0: none */
    bool laid_out;
} st_slow;

/* Scratch memory of one thread, and the rows that it computed last. */
typedef struct st_space_worker {
    st_arena *arena; /* holds all of it, itself too */
    const st_space *space;
    st_workspace **workspaces; /* per variant, then per variant those of whole programs */
    st_workspace *judge;       /* of checks alone, where the values of rejected rows are not needed;
                                * NULL until then */
    unsigned level;     /* the outermost that has moved since the first of the workspaces ran */
    st_column *columns; /* per input */
    double **inputs;    /* per varying input, those that axes drive first */
    size_t *varying;    /* which inputs they are */
    size_t varying_count;
    const double *group_sizes[ST_SPACE_ORDER_GROUPS]; /* per row; NULL: as the space says */
    const bool *infeasible; /* per row: not a plan, see st_reason_infeasible; NULL: none */
    uint64_t **digits;      /* per axis */
    double **outputs;       /* per cell, then of `replayed` */
    double **checks;        /* per check */
    double **spare;         /* outputs and checks of one variant among several */
    double **spare_inputs;  /* its inputs */
    uint32_t *variants;     /* per row */
    uint32_t *picked;       /* rows of one variant */
    uint32_t *reasons;      /* per row */
    st_check_codes *codes;  /* per check */
    double *failures;       /* per row: its reason, infinity for none */
    double *spare_failures;
    uint32_t *refused;             /* per row, see st_paced; NULL: no plugins */
    uint32_t *spare_refused;       /* of one variant among several */
    double *base;                  /* values of inputs that are the same in a whole piece */
    size_t inner;                  /* axes from this one on vary within a piece */
    uint64_t piece_rows;           /* rows over which the axes before it are constant */
    uint64_t current[ST_AXES_MAX]; /* digits of those axes in the last piece */
    st_product product;            /* of the axes within a piece; without counts: none */
    bool *laid_out;                /* per workspace: it has run before */
    double **outputs_at;           /* outputs and checks of the current piece */
    st_slow *slow;                 /* NULL: none */
    const st_space_run_rows *runs; /* of the filled rows, while there are slow inputs; NULL: none */
    size_t run_count;
    bool scattered;  /* the rows were picked: axes may move from each to the next */
    bool all_checks; /* also wanted: a column per check, also of those that are the same in all rows
                      */
    bool kept_alone; /* the values of rejected rows are not needed */
    bool checks_laid_out; /* as all_checks in the last run */
    bool judged_laid_out; /* checks ran first in the last run */
    size_t rows;
    uint64_t first;
} st_space_worker;

/* NULL when out of memory. */
st_space_worker *st_space_worker_create(const st_space *space);
void st_space_worker_destroy(st_space_worker *worker);

/*
 * A column for an input that no axis drives, to be filled before every run by who asked for it;
 * NULL when out of memory.
 */
double *st_space_worker_add(st_space_worker *worker, size_t input);

/*
 * Declares that a column is constant over runs of rows, which its writer then passes; false
 * when out of memory. To be said before the first run, of spaces that have one program alone.
 */
bool st_space_worker_slow(st_space_worker *worker, size_t input);
/* The same of a column that takes its values from one list of products. */
bool st_space_worker_listed(st_space_worker *worker, size_t input, size_t list);

/* Computes rows `first` to first + rows - 1, at most ST_SPACE_MOST_ROWS. Allocates nothing
 * but when its programs are laid out, in the first run. */
void st_space_run(st_space_worker *worker, uint64_t first, size_t rows);

/* The same in two steps: rows of the axes alone (beyond the last they begin anew), in a row or
 * picked; then the values. */
void st_space_fill(st_space_worker *worker, uint64_t first, size_t rows);
void st_space_fill_rows(st_space_worker *worker, const uint64_t *picks, size_t rows);
/* The same of rows whose axes stand still over the runs of the worker (see runs). */
void st_space_fill_runs(st_space_worker *worker, const uint64_t *picks, size_t rows);
void st_space_compute(st_space_worker *worker, size_t rows);
/* Whether the order of ranks that a variant has lacks a group that a filled row needs. */
bool st_space_order_lacks(const st_space_worker *worker, size_t variant, size_t row);
/* The sheet's inputs in a row that was filled and not computed yet; returns its variant. */
size_t st_space_row_inputs(const st_space_worker *worker, size_t row, double *inputs);

/* The number of a row in the whole space: another than its own in a sample. */
uint64_t st_space_pick(const st_space *space, uint64_t row);
/* The index of an axis' value in a row of the whole space. */
uint64_t st_space_digit(const st_space *space, size_t axis, uint64_t pick);
/* The axis over a key; SIZE_MAX: none. */
static inline size_t st_space_axis_of(const st_space *space, const char *key)
{
    return ST_FIND(space->axes, space->axis_count, axis.path, key);
}
/* An axis' value as it is shown: a number in its key's unit, or a text; returns `text`. */
const char *st_space_value_text(const st_space *space, size_t axis, uint64_t digit, char *text,
                                size_t size);
/* The type of an axis of numbers, in the unit in which they are shown; NULL: its values are texts.
 */
const st_type *st_space_axis_type(const st_space *space, size_t axis);
/* A value of an axis of numbers, in base units. */
double st_space_axis_number(const st_space *space, size_t axis, uint64_t digit);
/* "GB/s", "" for numbers without a unit and for names. */
const char *st_space_axis_unit(const st_space *space, size_t axis);
/* What a reason says: the check's formula, or a few words. */
const char *st_reason_text(const st_space *space, size_t reason);
/* The same, of a check "not: FORMULA - MESSAGE". Of the arena; NULL: out of memory. */
const char *st_reason_sentence(const st_space *space, size_t reason, st_arena *arena);

#endif
