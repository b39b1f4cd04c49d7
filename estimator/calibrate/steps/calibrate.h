/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calibration: inputs of a sheet moved until its estimates meet what was measured, and how well the
 * result does on rows that it has not seen.
 */
#ifndef STEPTIME_CALIBRATE_STEPS_CALIBRATE_H
#define STEPTIME_CALIBRATE_STEPS_CALIBRATE_H

#include "calibrate/steps/measured.h"
#include "calibrate/steps/solve.h"
#include "calibrate/steps/stats.h"
#include "base/result.h"

/* A key or constant that is fitted, with its bounds in base units. */
typedef struct st_varied {
    const char *path;
    const st_type *type; /* of the inputs that read it */
    double low;
    double high;
    double start; /* NaN: where the rows have it */
} st_varied;

/* Rows of one value of --group, estimated by a fit that has not seen them. */
typedef struct st_held_group {
    const char *value;
    st_error_summary errors;
} st_held_group;

typedef struct st_used_row {
    size_t set; /* index of its st_measured */
    size_t row;
    double error; /* of the fit to all rows */
    double error_left_out;
} st_used_row;

typedef struct st_calibration {
    const st_measured *sets;
    size_t set_count;
    const st_varied *varied;
    size_t varied_count;
    st_loss loss;
    double scale;
    const char *group; /* column, NULL: none */
    bool whole;        /* no fits to parts of the rows: `left_out` stays empty */
    st_solution solution;
    st_used_row *rows;
    size_t row_count;
    st_error_summary errors;
    st_error_summary left_out; /* each row by a fit to the others */
    size_t folds;              /* fits for that: the number of rows, or fewer where they are many */
    st_held_group *groups;
    size_t group_count;
    st_error_summary group_errors; /* of all of them together */
} st_calibration;

/* Up to this many rows each row is left out alone; beyond, a tenth at a time. */
enum { ST_LEFT_OUT_ALONE = 500, ST_FOLDS = 10 };

/*
 * Reads "KEY=LOW..HIGH" or "KEY=LOW..START..HIGH", separated by commas, for what the sheets of the
 * calibration's `sets` read, into its `varied`; quantities carry their unit.
 */
st_status st_varied_parse(st_calibration *calibration, const char *const *texts, size_t count,
                          st_arena *arena, st_errors *errors) ST_NODISCARD;

/*
 * Fits. `calibration` names what to fit, to which rows (`sets` have run) and how; everything else
 * is filled in. Fewer rows than constants, a constant to which no row is sensitive and constants
 * that the rows cannot tell apart are errors; one that ends at a bound is a warning.
 */
st_status st_calibrate(st_calibration *calibration, st_arena *arena,
                       st_errors *errors) ST_NODISCARD;

/* What a fit was made of, for its file. */
typedef struct st_fit_record {
    const char *date;           /* "2026-11-21" */
    const char *const *tables;  /* as on the command line */
    const char *const *filters; /* NULL for a table without one */
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
