/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job described by options instead of a name: --model, --cluster,
 * --gpus, --batch and --sequence. They become assignments as those of --set, in front of the
 * user's own; what had to be assumed is kept, to be said with the result.
 */
#ifndef STEPTIME_CLI_JOB_FROM_OPTIONS_H
#define STEPTIME_CLI_JOB_FROM_OPTIONS_H

#include "command/cli.h"
#include "estimate/found_plan.h"
#include "estimate/report.h"

#define CLI_ROW_MODEL                                                                              \
    CLI_TEXT(cli_common, asked.model, "model", "NAME|FILE",                                        \
             "without JOB: the model, by name, as a config.json of Hugging Face or as imported "   \
             "from it",                                                                            \
             .word = CLI_WORD_MODEL, .common = true)
#define CLI_ROW_CLUSTER                                                                            \
    CLI_TEXT(cli_common, asked.cluster, "cluster", "NAME|FILE",                                    \
             "with --model: the cluster to train on", .word = CLI_WORD_CLUSTER, .common = true)
#define CLI_ROW_BATCH                                                                              \
    CLI_COUNT(cli_common, asked.batch, "batch", 1, CLI_MOST_GIVEN,                                 \
              "with --model: sequences per step (default: 4 Mi tokens)", .common = true)
#define CLI_ROW_SEQUENCE                                                                           \
    CLI_COUNT(cli_common, asked.sequence, "sequence", 1, CLI_MOST_DIGITS,                          \
              "with --model: tokens per sequence (default: 4096, or fewer learned positions)",     \
              .common = true)

/*
 * Whether the job is named or described: an error where it is neither or both. Afterwards a
 * described job is in run->common.sets; `gpus` is as written, for a batch that divides.
 */
st_status cli_job_read(cli_run *run, const char *gpus) ST_NODISCARD;

/* Warns of assumptions that the result does not list. */
void cli_job_warn(cli_run *run);

/*
 * The fastest plan of a described job on so many GPUs: its keys are added to run->common.sets.
 * `found` says how it was found.
 */
st_status cli_job_find_plan(cli_run *run, const char *gpus, st_found_plan *found) ST_NODISCARD;

/* The verb's first argument as a job, with --sheet, --set and --refine. */
st_request cli_request(const cli_run *run);
st_status cli_load_job(cli_run *run, st_estimate *estimate) ST_NODISCARD;

#endif
