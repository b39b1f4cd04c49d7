/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fitting a plugin's calibrated options to measured collectives, and how far off the plugin is: as
 * it comes, fitted to all rows, and for each size and each number of ranks fitted to the others.
 *
 * Errors count by their logarithm, the same for twice as long and half as long, with a loss that
 * forgives outliers. Each option is drawn weakly towards its nominal value, so that one to which
 * the rows say nothing stays there. Where the plugin takes a correction (a calibrated option that
 * is a text), what the options leave over becomes curves by size; see nccl_rest.h.
 */
#ifndef STEPTIME_CALIBRATE_COLLECTIVES_NCCL_FIT_H
#define STEPTIME_CALIBRATE_COLLECTIVES_NCCL_FIT_H

#include "fit/steps/stats.h"
#include "nccl-whitebox/fit/nccl_model.h"

/* What the estimate of a point was made with. */
typedef enum st_nccl_kind {
    ST_NCCL_NOMINAL,  /* the plugin as it comes */
    ST_NCCL_PROFILE,  /* with the options of a profile */
    ST_NCCL_FITTED,   /* fitted to all rows */
    ST_NCCL_NO_SIZE,  /* fitted to the rows of all other sizes */
    ST_NCCL_NO_RANKS, /* fitted to the rows of all other numbers of ranks */
    /* what needs no model, from the rows of other sizes or ranks */
    ST_NCCL_LINES,         /* three lines fitted to the other sizes of the table */
    ST_NCCL_BETWEEN_SIZES, /* straight lines between the logarithms of neighbouring sizes */
    ST_NCCL_BETWEEN_RANKS, /* the same between neighbouring numbers of ranks */
    ST_NCCL_KINDS
} st_nccl_kind;

typedef struct st_nccl_range {
    const char *name;
    const char *key; /* in JSON */
    double from_bytes;
    double to_bytes; /* the last one */
} st_nccl_range;

enum { ST_NCCL_ALL_SIZES, ST_NCCL_SMALL, ST_NCCL_LARGE, ST_NCCL_MIDDLE, ST_NCCL_RANGES };
extern const st_nccl_range st_nccl_ranges[ST_NCCL_RANGES];

/* How much of the calibration groups take that were not measured, and why; nccl_transfer.h. */
typedef struct st_nccl_transfer {
    double share;
    size_t groups; /* numbers of ranks that were measured and have nominal times */
    double common; /* what nominal is off on all of them, as a logarithm */
    double apart;  /* what it is off besides, by size and by group: a standard deviation */
    double gain;   /* share of nominal's error that a number of ranks gained when it was left out,
                      with the next larger share; NaN: that was not the reason */
    double least_gain; /* of a further one, nine times out of ten */
} st_nccl_transfer;

typedef struct st_nccl_fit {
    const st_nccl_table *const *tables; /* of one collective */
    size_t table_count;
    const char *plugin;
    const char *profile; /* whose options the model has; NULL: its own */
    st_nccl_model model;
    bool wants_fit;                 /* else only the model as it is */
    double *times_s[ST_NCCL_KINDS]; /* by point, NaN where there is none; NULL: not made */
    double values[ST_NCCL_MAX_VARIED];
    double errors[ST_NCCL_MAX_VARIED]; /* standard errors of the logarithms; NaN: rows do not
                                          determine them */
    st_nccl_transfer transfers[ST_NCCL_SHARE_SLOTS]; /* of model.shares */
    const char *correction;                          /* text of model.correction, NULL: none */
    size_t refused; /* points that the plugin refuses, which are left out */
} st_nccl_fit;

/*
 * Fills `times_s` and, where a fit is wanted, `values`. The model is loaded. Reports a plugin that
 * has nothing to fit, that refuses all rows, or whose fit fails.
 */
st_status st_nccl_fit_run(st_nccl_fit *fit, st_arena *arena, st_errors *errors) ST_NODISCARD;

/* The errors of one kind in a range; `table` is SIZE_MAX for all tables. */
st_status st_nccl_fit_errors(const st_nccl_fit *fit, st_nccl_kind kind, size_t range, size_t table,
                             st_error_summary *summary) ST_NODISCARD;

/* The estimates that need no model: st_nccl_fit_run makes them from the rows of the fit. */
st_status st_nccl_baselines(st_nccl_fit *fit, st_arena *arena) ST_NODISCARD;

/*
 * What the plugin reads behind a table's group: "~small", "~large" or "~all" where, between it and
 * the next larger one, straight lines over the logarithm of the ranks are nearer to the points that
 * count than nominal times; "" elsewhere. That is so where it holds for each of both groups that
 * lies between two others, when it is left out, and one does.
 */
const char *st_nccl_between_mark(const st_nccl_fit *fit, const bool *counts, size_t table);

/* "nominal", "fitted", "size left out", "ranks left out", "three lines" ... */
extern const char *const st_nccl_kind_texts[ST_NCCL_KINDS];
extern const char *const st_nccl_kind_keys[ST_NCCL_KINDS];

#endif
