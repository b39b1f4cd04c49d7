/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer times of one GPU from all that was measured: read, tried on what the models have not seen,
 * and stored. Between reading and trying, the caller trains the models.
 */
#ifndef STEPTIME_CALIBRATE_LAYERS_LAYER_FIT_H
#define STEPTIME_CALIBRATE_LAYERS_LAYER_FIT_H

#include "kernel-times/fit/layer_times.h"
#include "kernel-times/fit/steps.h"

/* What is asked for; texts are NULL where nothing is. */
typedef struct st_layer_fit_request {
    const char *const *files; /* tables of layer times and traces */
    size_t file_count;
    const st_measured_table *tables; /* of measured steps */
    size_t table_count;
    st_measured_request steps; /* with what these are read */
    const char *gpu;           /* where the tables do not say it */
    const char *job;           /* that was traced */
    uint32_t layers;           /* in a trace; 0: as many as cover most time */
    const char *const *tests;  /* tables that the models do not see */
    size_t test_count;
    bool leave_one_out;
    const char *profile;  /* its name */
    const char *database; /* NULL: the user's own */
    const char *date;
    const char *output; /* file for the times of one cell */
} st_layer_fit_request;

/* Errors on tables that the models have not seen. */
typedef struct st_layer_fit_test {
    const char *name; /* of the file, or of the model that was left out */
    const st_time_models *models;
    st_error_summary errors[ST_TIMES_PIECES][ST_TIMES_FORMS];
    st_error_summary sums[ST_TIMES_FORMS]; /* of all pieces, each as often as a layer has it */
} st_layer_fit_test;

typedef struct st_layer_fit {
    const st_layer_fit_request *asked;
    const st_paths *paths;
    st_arena *arena;
    st_errors *errors;
    st_time_sets *sets;
    st_trees_library *library; /* NULL: no XGBoost */
    st_time_models models[ST_TIME_SETS];
    st_step_rows rows;
    st_step_errors step_errors;
    st_trace_layers layers; /* of traces; layers 0: none were given */
    st_layer_fit_test *tests;
    size_t test_count;
} st_layer_fit;

/* Layer times from everything that is given. */
st_status st_layer_fit_read(st_layer_fit *fit) ST_NODISCARD;

/* Errors of step times, on all rows of the tables of measured steps. */
st_status st_layer_fit_try_steps(st_layer_fit *fit) ST_NODISCARD;

/* Errors on the tables to be tried, and with one model or file left out at a time. */
st_status st_layer_fit_test_all(st_layer_fit *fit) ST_NODISCARD;

/* To the profile and to the file. */
st_status st_layer_fit_save(const st_layer_fit *fit) ST_NODISCARD;

#endif
