/* SPDX-License-Identifier: Apache-2.0 */
/* Where a result goes: standard output in one piece, or a file that changes only on success. */
#include "command/cli.h"

#include "base/error_report.h"
#include "base/guard.h"
#include "base/oom_flag.h"
#include "base/memory.h"
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool cli_open_streams(void)
{
    bool stdout_open = true;
    /* The next file to be opened would take the number of a closed stream. */
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        if (fcntl(stream, F_GETFD) != -1 || errno != EBADF)
            continue;
        stdout_open = stdout_open && stream != STDOUT_FILENO;
        (void)!open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY);
    }
    st_guard_stdout_aside();
    return stdout_open;
}

void cli_limits_shown(cli_run *run)
{
    run->warnings_shown =
        cli_shows_messages(run) &&
        st_errors_size(run->errors) == st_errors_count(run->errors, ST_SEVERITY_LIMIT);
}

void cli_show(cli_run *run, st_result *result)
{
    st_paint paint = cli_paint(run);
    st_form form = run->common.json ? ST_FORM_JSON : run->common.csv ? ST_FORM_CSV : ST_FORM_TEXT;
    bool exceeds = st_errors_count(run->errors, ST_SEVERITY_LIMIT) > 0;
    if (exceeds && form == ST_FORM_TEXT) {
        /* What a job exceeds is above its text and not repeated. */
        st_result limits;
        st_limits_say(run->errors, st_result_begin(&limits, run->arena));
        st_result_write_text(&limits, &paint, &run->result);
        cli_limits_shown(run);
    }
    if (exceeds && form == ST_FORM_JSON)
        st_limits_put(run->errors, &result->root);
    if (form == ST_FORM_JSON)
        st_warnings_put(run->errors, &result->root);
    st_result_write(result, form, &paint, &run->result);
}

st_buffer *cli_make_file(cli_run *run, const char *path)
{
    cli_file *file = st_arena_alloc(run->arena, 1, sizeof *file);
    cli_file **last = &run->files;
    if (file == NULL) { /* the arena has failed, and so will the result */
        run->result.failed = true;
        return &run->result;
    }
    while (*last != NULL)
        last = &(*last)->next;
    file->path = path;
    *last = file;
    return &file->text;
}

void cli_free_files(cli_run *run)
{
    for (cli_file *file = run->files; file != NULL; file = file->next) {
        st_buffer_free(&file->text);
        st_output_discard(file->output);
    }
    run->files = NULL;
}

static st_status write_text(cli_run *run)
{
    const char *file = run->common.output;
    if (run->result.length == 0 || run->called)
        return ST_OK;
    if (file == NULL || strcmp(file, "-") == 0) {
        (void)st_guard_stdout(); /* no code of others runs now */
        int fault = run->stdout_closed
                        ? EBADF
                        : st_guard_stdout_write(run->result.data, run->result.length);
        if (fault == 0) /* some file systems report a full disk only now */
            fault = st_guard_stdout_close();
        if (fault == 0)
            return ST_OK;
        if (st_errors_count(run->errors, ST_SEVERITY_ERROR) == 0)
            st_errors_clear(run->errors); /* warnings about hidden output */
        const char *reason = fault == EBADF ? "it is closed" : strerror(fault);
        return st_fail(run->errors, ST_ERR_IO, (st_place){0}, "cannot write to standard output: %s",
                       reason);
    }
    if (!run->interrupted)
        return st_output_write(file, run->result.data, run->result.length, run->errors);
    /* What was known when the user lost patience does not take the place of what was whole. */
    st_output *output = NULL;
    const char *name = NULL;
    st_status status = st_output_open(file, &output, run->errors);
    if (status != ST_OK)
        return status;
    status = st_output_append(output, run->result.data, run->result.length, run->errors);
    if (status == ST_OK)
        return st_output_commit_partial(output, &name, run->arena, run->errors);
    st_output_discard(output);
    return status;
}

int cli_write_result(cli_run *run, int code)
{
    bool has_result = code == CLI_DONE || code == CLI_CHECK_FAILS;
    st_status status = run->result.failed ? ST_ERR_MEMORY : st_guard_tell(run->errors);
    if (status == ST_OK && has_result && st_oom_happened())
        status = st_out_of_memory(run->errors);
    if (status == ST_OK && has_result) {
        /* Under their names only once all of them are on disk. */
        st_status file_status = ST_OK;
        for (cli_file *file = run->files; file != NULL && file_status == ST_OK; file = file->next) {
            const st_buffer *text = &file->text;
            file_status = text->failed ? ST_ERR_MEMORY
                                       : st_output_open(file->path, &file->output, run->errors);
            if (file_status == ST_OK)
                file_status = st_output_append(file->output, text->data, text->length, run->errors);
        }
        for (cli_file *file = run->files; file != NULL && file_status == ST_OK; file = file->next) {
            file_status = st_output_commit(file->output, run->errors);
            file->output = NULL;
        }
        cli_free_files(run);
        status = file_status;
    }
    if (status == ST_OK)
        status = write_text(run);
    if (status == ST_OK)
        return code;
    run->warnings_shown = false;
    return status == ST_ERR_MEMORY ? cli_exit_code(run, status) : CLI_FAILED;
}

static bool is_file(const cli_given *given)
{
    return given->option->result && strcmp(given->value, "-") != 0;
}

st_status cli_check_results(cli_run *run)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < run->given_count; i++) {
        const cli_given *given = &run->given[i];
        if (!is_file(given))
            continue;
        for (size_t k = 0; k < i; k++) {
            if (is_file(&run->given[k]) && strcmp(given->value, run->given[k].value) == 0)
                return cli_wrong_use(
                    run,
                    st_errors_text(run->errors, "two options write to the file '%s'", given->value),
                    "use a separate file for each");
        }
        st_note(&status, st_output_check(given->value, run->errors));
    }
    return status;
}

const char *cli_partial_name(const cli_run *run)
{
    const char *file = run->common.output;
    return file == NULL || strcmp(file, "-") == 0
               ? ""
               : st_errors_text(run->errors, "the partial result is in %s.partial", file);
}

st_status cli_write_file(cli_run *run, const char *path, const st_buffer *text)
{
    return text->failed ? ST_ERR_MEMORY
                        : st_output_write(path, text->data, text->length, run->errors);
}
