/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that start a training: a job written as the arguments or the configuration of a framework,
 * and such files read back.
 *
 * What is written and read back is the same job. Values without an option in the framework that
 * change nothing in what it runs (the cluster, constants, shares of overlap) are carried in
 * comments as "steptime: KEY=VALUE"; a value that would change what runs is refused, with the
 * nearest that the framework can run.
 */
#ifndef STEPTIME_FRAMEWORKS_FRAMEWORKS_H
#define STEPTIME_FRAMEWORKS_FRAMEWORKS_H

#include "launch/import/import.h"

typedef enum st_framework {
    ST_MEGATRON,        /* a shell script with arguments of Megatron-LM */
    ST_MEGATRON_BRIDGE, /* overrides of a recipe, in YAML */
    ST_TORCHTITAN,      /* TOML */
    ST_DEEPSPEED,       /* JSON, and arguments of Megatron-DeepSpeed */
    ST_FRAMEWORKS
} st_framework;

/* "megatron-bridge", as the command line has it. */
const char *st_framework_name(st_framework framework);

typedef struct st_export_options {
    const char *version; /* of the framework; NULL: the newest that configs/launches knows */
    bool is_batch;       /* a script for sbatch that starts it */
} st_export_options;

/*
 * Appends the file that runs the plan of a job. Refused: jobs that lack a value of the plan, and
 * plans that the framework cannot run. What the file leaves out is a warning in `errors`.
 */
st_status st_framework_export(st_framework framework, const st_paths *paths, const st_job *job,
                              const st_export_options *options, st_buffer *file,
                              st_errors *errors) ST_NODISCARD;

/* Appends the job file of a file of the framework. */
st_status st_framework_import(st_framework framework, const st_import_request *request,
                              st_buffer *job, st_errors *errors) ST_NODISCARD;

/*
 * Appends the job of a run's log: the configuration that the framework prints at its start, and the
 * times of its steps as measured.step_time. Reported with their places: no configuration or one
 * that is cut, several runs (the last one counts), steps that are cut or whose loss is NaN (left
 * out).
 */
st_status st_log_import(const st_import_request *request, st_buffer *job,
                        st_errors *errors) ST_NODISCARD;

/* A text that may be such a log: it has a configuration or the time of a step. */
bool st_is_log(const char *text, size_t length);

#endif
