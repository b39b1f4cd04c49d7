/* SPDX-License-Identifier: Apache-2.0 */
/* Results in pieces, the progress bar and interrupts; see stream.h. */
#include "command/stream.h"

#include "base/guard.h"
#include "base/oom_flag.h"
#include "base/memory.h"
#include "base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

st_status cli_stream_open(cli_run *run, cli_stream *stream)
{
    const char *file = run->common.output;
    *stream = (cli_stream){.run = run};
    if (file != NULL && strcmp(file, "-") != 0)
        return st_output_open(file, &stream->file, run->errors);
    return ST_OK;
}

static st_status fail(cli_stream *stream, int fault)
{
    st_errors *errors = stream->run->errors;
    stream->failed = true;
    const char *reason = fault == EBADF ? "it is closed" : strerror(fault);
    return st_fail(errors, ST_ERR_IO, (st_place){0}, "cannot write to standard output: %s", reason);
}

st_status cli_stream_write(void *context, const char *data, size_t length)
{
    cli_stream *stream = context;
    if (stream->file != NULL)
        return st_output_append(stream->file, data, length, stream->run->errors);
    if (stream->run->stdout_closed)
        return fail(stream, EBADF);
    const int fault = st_guard_stdout_write(data, length);
    st_guard_stdout_park(); /* the rows to come are other code's, too */
    return fault == 0 ? ST_OK : fail(stream, fault);
}

static st_status close_stream(cli_stream *stream, bool keep, st_status status)
{
    if (stream->file != NULL && keep && stream->run->interrupted) {
        const char *name = NULL;
        st_status committed =
            st_output_commit_partial(stream->file, &name, stream->run->arena, stream->run->errors);
        return status == ST_OK ? committed : status;
    }
    if (stream->file != NULL && keep) {
        st_status committed = st_output_commit(stream->file, stream->run->errors);
        return status == ST_OK ? committed : status;
    }
    st_output_discard(stream->file);
    /* Some file systems report a full disk only now. */
    int fault =
        stream->file == NULL && keep && !stream->run->stdout_closed ? st_guard_stdout_close() : 0;
    if (fault != 0) {
        st_status closed = fail(stream, fault);
        return status == ST_OK ? closed : status;
    }
    return status;
}

st_status cli_stream_close(cli_stream *stream, bool keep, st_status status)
{
    if (keep && status == ST_OK && st_oom_happened())
        return close_stream(stream, false, st_out_of_memory(stream->run->errors));
    return close_stream(stream, keep, status);
}

/* --- progress -------------------------------------------------------------------------------- */

enum { BAR = 30, BILLION = 1000000000 };

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / BILLION;
}

void cli_progress_begin(cli_progress *progress, const char *what)
{
    double now = now_s();
    *progress = (cli_progress){
        .shown = isatty(STDERR_FILENO) == 1, .start_s = now, .drawn_s = now, .what = what};
}

void cli_progress_show(cli_progress *progress, uint64_t done, uint64_t total)
{
    static const double first_s = 1;
    static const double every_s = 0.2;
    if (!progress->shown || total == 0)
        return;
    double now = now_s();
    double spent_s = now - progress->start_s;
    if (spent_s < first_s || now - progress->drawn_s < every_s)
        return;
    double share = (double)done / (double)total;
    double rate = (double)done / spent_s;
    double left_s = rate > 0 ? (double)(total - done) / rate : 0;
    char bar[BAR + 1];
    for (int i = 0; i < BAR; i++)
        bar[i] = i < (int)(share * BAR) ? '#' : '.';
    bar[BAR] = '\0';
    fprintf(stderr, "\r[%s] %3.0f %%  %.3g %s/s  %.0f s left \033[K", bar, 100 * share, rate,
            progress->what, left_s);
    fflush(stderr);
    progress->drawn = true;
    progress->drawn_s = now;
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}

double cli_progress_seconds(const cli_progress *progress)
{
    return now_s() - progress->start_s;
}
