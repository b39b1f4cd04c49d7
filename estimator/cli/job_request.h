/* SPDX-License-Identifier: Apache-2.0 */
/* The job of the command line, for verbs that look inside an estimate. */
#ifndef STEPTIME_CLI_JOB_REQUEST_H
#define STEPTIME_CLI_JOB_REQUEST_H

#include "command/cli.h"
#include "estimate/report.h"

/* The verb's first argument as a job, with --sheet, --set and --refine. */
st_request cli_request(const cli_run *run);
st_status cli_load_job(cli_run *run, st_estimate *estimate) ST_NODISCARD;

#endif
