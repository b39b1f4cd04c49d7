/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants of single operators - GEMMs, attention, experts - fitted to tables of times
 * measured alone, for each GPU and precision, and how far off they are on shapes that the fit has
 * not seen.
 *
 * A table is read by the source (validation/SOURCE/table.yaml) of the sheet `operators` whose
 * columns it has: that file says what the columns mean and which rows are left out. The formula is
 * the sheet's; nothing here knows it.
 */
#ifndef STEPTIME_CALIBRATE_OPERATORS_OPERATORS_H
#define STEPTIME_CALIBRATE_OPERATORS_OPERATORS_H

#include "fit/steps/calibrate.h"

enum {
    ST_OPERATOR_CONSTANTS = 8,
    ST_OPERATOR_LIBRARIES = 8,
    ST_OPERATOR_VARIED = ST_OPERATOR_CONSTANTS + 2 * ST_OPERATOR_LIBRARIES,
    ST_OPERATOR_SHAPE = 5,
    ST_OPERATOR_NEIGHBOURS = 8
};

/* What is timed alone; in the order of the values of the key operator.kind. */
typedef enum st_operator_kind {
    ST_OPERATOR_GEMM,
    ST_OPERATOR_ATTENTION,
    ST_OPERATOR_EXPERTS,
    ST_OPERATORS
} st_operator_kind;

/* Rows of one GPU, kind and precision, of experts in all precisions, and what was fitted to them.
 */
typedef struct st_operator_group {
    const st_measured *table;
    const st_job *job;  /* of the GPU */
    const char *source; /* of the rows; NULL: all sources together */
    st_operator_kind kind;
    double precision; /* places in the lists of the keys' values */
    double burst;
    const char *precision_name;
    size_t *rows; /* of `table` */
    size_t row_count;
    const char *fault; /* why nothing was fitted; NULL: it was */
    st_varied
        varied[ST_OPERATOR_VARIED]; /* what all libraries share, then what distinguishes them */
    size_t shared_count;
    size_t varied_count;
    st_solution solution;       /* of all rows */
    st_error_summary fitted;    /* of all rows */
    st_error_summary held_out;  /* the other half of the shapes, by a fit to one half */
    st_error_summary rate;      /* the same half by one rate, the median of the first */
    st_error_summary between;   /* by the rates of its neighbours in the first half */
    st_error_summary corrected; /* by the fit times what its neighbours are off */
    st_error_summary kin;       /* all rows by the constants of other GPUs */
    const char *kin_names;      /* of these GPUs; NULL: not asked for */
} st_operator_group;

typedef struct st_operator_fit {
    st_measured_request request; /* paths, sets; sources, none: all that there are */
    const char *const *files;
    size_t file_count;
    bool each;      /* source alone */
    bool leave_gpu; /* also estimate each GPU by the constants of others */
    const char *date;
    st_arena *arena;
    st_errors *errors;
    st_measured **tables;
    size_t table_count;
    st_operator_group *groups;
    size_t group_count;
} st_operator_fit;

/* What calls a GPU: its file's name. */
const char *st_operator_gpu(const st_operator_group *group);
/* Each table has jobs of its own for the GPUs of its rows. */
bool st_operator_same_gpu(const st_operator_group *group, const st_operator_group *other);
/* The keys that identify a shape of that kind; NULL ends them. The work is proportional to the
 * product of their values, of those in `squared` once more; `half` identifies shapes whose rows are
 * all in the same half. */
typedef struct st_operator_shape {
    const char *keys[ST_OPERATOR_SHAPE + 1];
    const char *squared;
    const char *half[3];
} st_operator_shape;
extern const st_operator_shape st_operator_shapes[ST_OPERATORS];

/* Reads the tables into groups. */
st_status st_operators_read(st_operator_fit *fit) ST_NODISCARD;
/* Fits each group. */
st_status st_operators_fit(st_operator_fit *fit) ST_NODISCARD;

/* Measured over something else, and the shapes that it was measured at: what neighbours predict. */
typedef struct st_operator_points {
    double *logs; /* logs[point * keys + key] */
    double *ratios;
    size_t count;
    size_t keys;
} st_operator_points;
/* The mean ratio of the nearest points, the nearer the heavier. */
double st_operator_between(const st_operator_points *points, const double *logs);

void st_operators_report(const st_operator_fit *fit, st_result *result);
/* Keys of GPUs' files with their sources, by GPU. */
void st_operators_write_yaml(const st_operator_fit *fit, st_buffer *buffer);

#endif
