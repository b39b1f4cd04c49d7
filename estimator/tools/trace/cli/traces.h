/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs share that read recordings. */
#ifndef STEPTIME_CLI_TRACES_H
#define STEPTIME_CLI_TRACES_H

#include "command/cli.h"
#include "trace/sql.h"
#include "trace/trace_export.h"
#include "trace/view.h"

/* Recordings of the command line, as one job. */
struct cli_recorded {
    st_trace_set *set;
    st_trace_graph *graph; /* NULL unless it was asked for */
};

/* What a view needs of recordings besides calls of the host and tasks of GPUs. */
enum {
    CLI_TRACE_CALLS = 0,
    CLI_TRACE_DETAILS = 1,   /* frames and allocations */
    CLI_TRACE_OPERATORS = 2, /* without them each GPU is a rank, even if one process drives it */
    CLI_TRACE_GRAPH = 4 | CLI_TRACE_OPERATORS,
    CLI_TRACE_IDLE = 8 /* also recordings without GPU work */
};

/* Reads files as one job, with --partial and the classes of kernels of the search path. */
st_status cli_read_set(cli_run *run, const char *const *files, size_t count,
                       st_trace_options *options, st_trace_set **set) ST_NODISCARD;

/* Reads the files of the command line as one job, and leaves the steps of --steps. */
st_status cli_read_traces(cli_run *run, unsigned needs, st_trace_set **set) ST_NODISCARD;

/* The file of the recorded GPU: what the user says with an option, or else what recordings name. */
st_status cli_recorded_gpu(cli_run *run, const st_trace_set *set, const char *said,
                           const char *option, const char **found) ST_NODISCARD;

/* Reads what a verb's view needs, and shows what it makes of it; the exit code. */
int cli_view_traces(cli_run *run);
#define CLI_TAKES_TRACES .arguments = "FILE|FOLDER...", .words = {CLI_WORD_FILE, CLI_WORD_FILE}
#define CLI_VIEWS_TRACES(needs, shown)                                                             \
    CLI_TAKES_TRACES, .run = cli_view_traces, .view = (shown), .view_needs = (needs)

/* A view by its name or file, as the search path has it. */
st_status cli_read_view(cli_run *run, const char *name, st_source *source) ST_NODISCARD;

/* All ranks as one trace, or the one rank as its own; packed where the file's name ends in .gz. */
st_status cli_make_trace(cli_run *run, const st_trace_export *asked, const char *file,
                         st_buffer *text) ST_NODISCARD;
#define CLI_NO_NEW_THREADS                                                                         \
    "a rebuilt schedule has no threads and streams to write" ST_HINT                               \
    "use 'steptime trace whatif' for its duration"

#endif
