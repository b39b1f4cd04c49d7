/* SPDX-License-Identifier: Apache-2.0 */
/* The workload of the job on the command line. */
#ifndef STEPTIME_WORKLOAD_CLI_JOB_WORKLOAD_H
#define STEPTIME_WORKLOAD_CLI_JOB_WORKLOAD_H

#include "command/cli.h"
#include "workload/workload.h"

/* What the options of CLI_ROWS_SCHEDULE give. */
typedef struct job_layout {
    const char *schedule; /* NULL: the job's own */
    const cli_texts *settings;
    bool layers; /* a task for each layer */
} job_layout;

/* The work of all stages. */
st_status cli_make_workload(cli_run *run, const job_layout *layout,
                            st_workload *workload) ST_NODISCARD;

#endif
