/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer times from measured steps. A step without a pipeline is so many layers, one after the
 * other, and some ends: what the sheet says of the ends is taken from the measured time, and the
 * rest shared among the layers.
 */
#ifndef STEPTIME_CALIBRATE_LAYERS_STEPS_H
#define STEPTIME_CALIBRATE_LAYERS_STEPS_H

#include "fit/steps/measured.h"
#include "kernel-times/fit/predict.h"

/* What came of the rows of some tables. */
typedef struct st_step_rows {
    size_t used;
    size_t left_out; /* by the reader of tables */
    size_t pipelined;
    size_t mixed;   /* with MoE layers */
    size_t shorter; /* than the ends of the model alone */
} st_step_rows;

/*
 * Adds the times of dense layers, all passes, to their set. Rows with a pipeline or with
 * MoE layers are passed over and counted, and so are those that are faster than all but their
 * layers. Refused: rows of two GPUs.
 */
st_status st_time_steps(const st_measured *measured, st_arena *arena, st_time_sets *sets,
                        st_step_rows *rows, st_errors *errors) ST_NODISCARD;

/* What is asked of every row: the features of its shape up to the width, then these. */
enum {
    ST_STEP_TIME = ST_TIMES_WIDTH + 1,
    ST_STEP_LAYER, /* the sheet's time of one, all passes */
    ST_STEP_LAYERS,
    ST_STEP_MICROS,
    ST_STEP_STAGES,
    ST_STEP_PEAK,
    ST_STEP_BANDWIDTH,
    ST_STEP_FACTOR,
    ST_STEP_MOE_LAYERS, /* which a sheet of dense layers need not fill */
    ST_STEP_VALUES
};

/* Times of a layer in place of the sheet's: seconds, by row. */
typedef struct st_step_layers {
    const double *times;
    size_t row; /* that is running */
} st_step_layers;

/* values[which][row]; `layers` may be NULL. */
st_status st_step_ask(const st_measured *measured, st_step_layers *layers, st_arena *arena,
                      double **values, st_errors *errors) ST_NODISCARD;

/* The shape of a row's layers, with the sheet's own time. */
void st_step_shape(double *const *values, size_t row, st_times_shape *shape);

/* Marks the lines of a table from which st_time_steps would take times. */
st_status st_step_usable(const st_measured *measured, st_arena *arena, bool *lines,
                         st_errors *errors) ST_NODISCARD;

/* Which rows an error is about. */
typedef enum st_step_part {
    ST_STEPS_USED,
    ST_STEPS_MEASURED,  /* other rows, whose layers were measured */
    ST_STEPS_PREDICTED, /* other rows, inside of the measured range */
    ST_STEPS_OUTSIDE,   /* of it */
    ST_STEPS_OTHERS,    /* all but those used */
    ST_STEP_PARTS
} st_step_part;

/* Errors of the formulas alone and with the layer times. */
typedef struct st_step_errors {
    double *formula[ST_STEP_PARTS]; /* by part */
    double *refined[ST_STEP_PARTS];
    size_t count[ST_STEP_PARTS];
} st_step_errors;

/*
 * Estimates all rows of a table with `times`, which must be of whole layers, and adds their errors.
 * `used` says of each line of the table whether the times come from it. Rows with MoE layers and
 * those that the reader leaves out do not count.
 */
st_status st_step_try(const st_measured *measured, const st_times *times, const bool *used,
                      st_arena *arena, st_step_errors *result, st_errors *errors) ST_NODISCARD;

#endif
