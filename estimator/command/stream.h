/* SPDX-License-Identifier: Apache-2.0 */
/* A result that is written while it is computed, and who waits for it. */
#ifndef STEPTIME_CLI_STREAM_H
#define STEPTIME_CLI_STREAM_H

#include "command/cli.h"

#include <signal.h>

struct st_output;

/* Standard output, or the file of --output, which changes only when all is written. */
typedef struct cli_stream {
    cli_run *run;
    struct st_output *file; /* NULL: standard output */
    bool failed;
} cli_stream;

st_status cli_stream_open(cli_run *run, cli_stream *stream) ST_NODISCARD;
/* The first failure is reported; `context` is the stream. */
st_status cli_stream_write(void *context, const char *data, size_t length);
/* Ends the stream; `keep` false leaves the file as it was. */
st_status cli_stream_close(cli_stream *stream, bool keep, st_status status);

/* A bar with rate and time left, on a terminal and after a second of work. */
typedef struct cli_progress {
    bool shown; /* standard error is a terminal */
    bool drawn; /* a bar is on the screen */
    double start_s;
    double drawn_s;
    const char *what; /* "rows", "plans" */
} cli_progress;

void cli_progress_begin(cli_progress *progress, const char *what);
void cli_progress_show(cli_progress *progress, uint64_t done, uint64_t total);
void cli_progress_end(cli_progress *progress);
double cli_progress_seconds(const cli_progress *progress); /* since it began */

/* interrupts.c: temporary files are removed before a signal ends the program. */
void cli_handle_signals(void);
/* The work is done: from now on the program may end. Before that, ending it is an error. */
void cli_finish(void);
/* From now on an interrupt sets *flag; the second one ends the program as it always does. */
const volatile sig_atomic_t *cli_catch_interrupts(void);
/* The last line of a result that is not all of it: a comment, or in JSON a line of its own. */
void cli_say_partial(const cli_run *run, uint64_t done, uint64_t total, st_buffer *text);

#endif
