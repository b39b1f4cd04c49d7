/* SPDX-License-Identifier: Apache-2.0 */
/* `steptime fit kernels` and `trace layers`: what their files share. */
#ifndef STEPTIME_CLI_KERNELS_H
#define STEPTIME_CLI_KERNELS_H

#include "cli/tables.h"
#include "calibrate/layers/layer_times.h"
#include "calibrate/layers/steps.h"

#define CLI_MOST_LAYERS UINT64_C(100000)

/* Errors on tables that the models have not seen. */
typedef struct cli_kernel_test {
    const char *name; /* of the file, or of the model that was left out */
    const st_time_models *models;
    st_error_summary errors[ST_TIMES_PIECES][ST_TIMES_FORMS];
    st_error_summary sums[ST_TIMES_FORMS]; /* of all pieces, each as often as a layer has it */
} cli_kernel_test;

typedef struct cli_kernels_options {
    cli_table_options tables;
    const char *gpu;
    const char *job;
    uint64_t layers; /* 0: as many as cover most time */
    const char *form;
    cli_texts test;
    bool leave_one_out;
    const char *save;
    const char *output;
} cli_kernels_options;

typedef struct cli_kernels {
    cli_run *run;
    const cli_kernels_options *options;
    st_paths *paths;
    st_time_sets *sets;
    st_trees_library *library; /* NULL: no XGBoost */
    st_time_models models[ST_TIME_SETS];
    st_measured_request request;
    const cli_table *tables; /* of measured steps */
    size_t table_count;
    st_step_rows rows;
    st_step_errors errors;
    st_trace_layers layers; /* of traces; layers 0: none were given */
    cli_kernel_test *tests;
    size_t test_count;
} cli_kernels;

/* Layer times from everything on the command line. */
st_status cli_kernels_read(cli_kernels *own) ST_NODISCARD;

/* Errors of step times, on all rows of the tables of measured steps. */
st_status cli_kernels_try_steps(cli_kernels *own) ST_NODISCARD;

/* --test and --leave-one-out. */
st_status cli_kernels_test(cli_kernels *own) ST_NODISCARD;

/* --save and --output. */
st_status cli_kernels_save(const cli_kernels *own) ST_NODISCARD;

void cli_kernels_write(const cli_kernels *own);

void cli_kernels_write_layers(const st_trace_layers *layers, cli_run *run);

#endif
