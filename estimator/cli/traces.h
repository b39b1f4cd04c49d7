/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs share that read recordings. */
#ifndef STEPTIME_CLI_TRACES_H
#define STEPTIME_CLI_TRACES_H

#include "cli/cli.h"
#include "trace/view.h"

/* Reads the files of the command line as one job, and leaves the steps of --steps. */
st_status cli_read_traces(cli_run *run, st_trace_set **set) ST_NODISCARD;
/* The same with frames and allocations. */
st_status cli_read_details(cli_run *run, st_trace_set **set) ST_NODISCARD;

#endif
