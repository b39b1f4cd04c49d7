/* SPDX-License-Identifier: Apache-2.0 */
/* Files of frameworks: the verbs of steptime-launch in this process. Link libsteptime-launch. */
#ifndef STEPTIME_LAUNCH_H
#define STEPTIME_LAUNCH_H

#include "steptime/answer.h"
#include "steptime/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Runs a verb: {"import", "hf", "config.json", "--cluster", "dgx-h100"}. ST_OK with exit codes 0
 * and 3; else `errors`, which may be NULL, says why and the text is empty. Files that options name
 * are written. One call at a time in a process.
 */
ST_API st_status st_launch_run(const char *const *words, size_t count, st_answer *answer,
                               st_errors *errors) ST_NODISCARD;

/* A file that describes a model or a run, to be read as a job. */
typedef struct st_launch_import_request {
    size_t size;
    const char *format; /* hf (a config.json), megatron, megatron-bridge, torchtitan, deepspeed, or
                           layers, whose result is a layer list */
    const char *name;   /* what messages call the source */
    const char *text;   /* of any bytes, `length` of them */
    size_t length;
    const char *cluster;     /* of the job, by name; NULL: left open */
    const char *assume;      /* hf: read the file as one of this architecture; NULL: its own */
    const char *const *sets; /* "key=value"; they win over the source */
    size_t set_count;
    const char *const *folders; /* searched first for clusters and jobs, as by --path */
    size_t folder_count;
    bool strict; /* keys that nothing reads are errors */
} st_launch_import_request;

#define ST_LAUNCH_IMPORT_REQUEST_INIT                                                              \
    {                                                                                              \
        sizeof(st_launch_import_request), NULL, NULL, NULL, 0, NULL, NULL, NULL, 0, NULL, 0, false \
    }

/* Appends the job file, in YAML, that `steptime import` writes; nothing after an error. What the
 * source does not say stays out of it, and is asked for by whoever estimates the job. */
ST_API st_status st_launch_import(const st_launch_import_request *request, st_buffer *job,
                                  st_errors *errors) ST_NODISCARD;

/* A job, to be written as what starts it. */
typedef struct st_launch_export_request {
    size_t size;
    const char *format; /* megatron, megatron-bridge, torchtitan or deepspeed */
    const char *job;    /* a name on the search path or a file; NULL: of `sets` alone */
    const char *const *sets;
    size_t set_count;
    const char *const *folders;
    size_t folder_count;
    const char *version; /* of the framework; NULL: the newest that is known */
    bool slurm;          /* a script for sbatch */
} st_launch_export_request;

#define ST_LAUNCH_EXPORT_REQUEST_INIT                                                              \
    {                                                                                              \
        sizeof(st_launch_export_request), NULL, NULL, NULL, 0, NULL, 0, NULL, false                \
    }

/* Appends the file that `steptime export` writes; nothing after an error. Refused: plans that the
 * framework cannot run, and those that a check of the sheet refuses. Warnings name what it omits.
 */
ST_API st_status st_launch_export(const st_launch_export_request *request, st_buffer *file,
                                  st_errors *errors) ST_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
