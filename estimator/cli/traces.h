/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs share that read recordings. */
#ifndef STEPTIME_CLI_TRACES_H
#define STEPTIME_CLI_TRACES_H

#include "cli/cli.h"
#include "trace/trace_export.h"
#include "trace/view.h"

/* Reads the files of the command line as one job, and leaves the steps of --steps. */
st_status cli_read_traces(cli_run *run, st_trace_set **set) ST_NODISCARD;
/* The same without operators, for what needs no task graph. */
st_status cli_read_calls(cli_run *run, st_trace_set **set) ST_NODISCARD;
/* The same with frames and allocations. */
st_status cli_read_details(cli_run *run, st_trace_set **set) ST_NODISCARD;
/* All ranks as one trace, or the one rank as its own, into `text`; and into a file, packed where
 * its name ends in .gz. */
st_status cli_make_trace(cli_run *run, const st_trace_export *asked, const char *file,
                         st_buffer *text) ST_NODISCARD;
st_status cli_write_trace(cli_run *run, const st_trace_export *asked,
                          const char *file) ST_NODISCARD;
#define CLI_NO_NEW_THREADS                                                                         \
    "a schedule that is built anew has no threads and streams to write" ST_HINT                    \
    "'steptime trace whatif' tells how long it lasts"

#endif
