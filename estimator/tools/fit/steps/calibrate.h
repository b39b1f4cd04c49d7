/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calibration: inputs of a sheet moved until its estimates meet what was measured, and how well the
 * result does on rows that it has not seen.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_CALIBRATE_H
#define STEPTIME_CALIBRATE_STEPS_CALIBRATE_H

#include "fit/steps/measured.h"
#include "fit/steps/solve.h"
#include "fit/steps/stats.h"
#include "base/result.h"

/* A key or constant that is fitted, with its bounds in base units. */
typedef struct st_varied {
    const char *path;
    const char *name;    /* what reports call it; the path if nothing else distinguishes it */
    const st_type *type; /* of the inputs that read it */
    double low;
    double high;
    double start;       /* NaN: where the rows have it */
    double prior;       /* what is known of it beforehand; 0: nothing */
    double sd;          /* of its logarithm */
    const char *source; /* of the prior, NULL: none */
    st_when when;       /* rows for which it holds; of several for one key the first that does */
    bool moves;         /* some row is sensitive to it */
} st_varied;

/* What a row would be estimated at by somebody who only looks at other rows. */
typedef enum st_naive { ST_NAIVE_MFU, ST_NAIVE_NEAREST, ST_NAIVES } st_naive;

/* Columns by which rows are alike, the first the first that is given up where no row agrees in all;
 * "COLUMN?" looks only at whether a field is blank. */
typedef struct st_alike {
    const char *const *columns;
    size_t count;
} st_alike;

/* Rows of a value of a column, or of a group of their source, estimated by fits that have not seen
 * them. */
typedef struct st_held_group {
    const char *value; /* "" all rows */
    st_error_summary errors;
    st_error_summary naive[ST_NAIVES];
} st_held_group;

/* All rows, those of each value of a column left out in turn. */
typedef struct st_held {
    const char *column;
    st_held_group *groups; /* by value */
    size_t group_count;
    st_held_group *parts; /* all rows, then the groups of their sources */
    size_t part_count;
} st_held;

typedef struct st_used_row {
    size_t set; /* index of its st_measured */
    size_t row;
    bool test;    /* no fit sees it */
    double error; /* of the fit to all rows */
    double error_left_out;
} st_used_row;

typedef struct st_calibration {
    const st_measured *sets;
    size_t set_count;
    size_t
        first_test; /* sets from this one on are estimated by what the others give; 0: none are */
    st_varied *varied;
    size_t varied_count;
    st_loss loss;
    double scale;
    bool logarithms; /* as in st_problem */
    double noise;
    const char *const *columns; /* whose values are left out in turn */
    size_t column_count;
    bool whole; /* no fits to parts of the rows but those of `columns`: `left_out` stays empty */
    st_alike alike[ST_NAIVES]; /* none: nothing naive is computed */
    st_solution solution;
    st_used_row *rows;
    size_t row_count;
    st_error_summary errors;
    st_error_summary left_out; /* each row by a fit to the others */
    size_t folds;              /* fits for that: the number of rows, or fewer where they are many */
    st_held *held;             /* one per column */
    st_held_group *tests;      /* rows that no fit sees: all, then the groups of their sources */
    size_t test_count;
} st_calibration;

/* Up to this many rows each row is left out alone; beyond, a tenth at a time. */
enum { ST_LEFT_OUT_ALONE = 500, ST_FOLDS = 10 };

/*
 * Reads "KEY=LOW..HIGH" or "KEY=LOW..START..HIGH", separated by commas, for what the sheets of the
 * calibration's `sets` read, into its `varied`; quantities carry their unit.
 */
st_status st_varied_parse(st_calibration *calibration, const char *const *texts, size_t count,
                          st_arena *arena, st_errors *errors) ST_NODISCARD;

/* The number input of one of the sheets that reads a key; NULL where there is none, with the
 * nearest such key in `nearest`. */
const st_sheet_input *st_varied_input(const st_calibration *calibration, const char *path,
                                      st_arena *arena, const char **nearest);

/*
 * The time that somebody would give a row who takes the MFU of others: `mfu` are those of all used
 * rows as measured, `seen` which of them are known. NaN where there are none. `scratch` has room
 * for all rows.
 */
double st_naive_mfu(const st_calibration *calibration, st_naive naive, size_t row,
                    const double *mfu, const bool *seen, double *scratch);

/*
 * Fits. `calibration` names what to fit, to which rows (`sets` have run) and how; everything else
 * is filled in. Fewer rows than constants, a constant to which no row is sensitive and constants
 * that the rows cannot separate are errors where nothing is known of them beforehand; one that
 * ends at a bound is a warning.
 */
st_status st_calibrate(st_calibration *calibration, st_arena *arena,
                       st_errors *errors) ST_NODISCARD;

/* What a fit was made of, for its file. */
typedef struct st_fit_record {
    const char *date;                /* "2026-11-21" */
    const st_measured_table *tables; /* as on the command line */
    size_t table_count;
    const char *const *sets;
    size_t set_count;
    const char *const *refine;
    size_t refine_count;
} st_fit_record;

/* "square" or "soft-l1" */
const char *st_loss_name(st_loss loss);
void st_calibration_report(const st_calibration *calibration, const st_fit_record *record,
                           st_arena *arena, st_result *result);
/* A file of constants: the constants among what was fitted, and below `fit` how. */
void st_calibration_write_yaml(const st_calibration *calibration, const st_fit_record *record,
                               st_buffer *buffer);

#endif
