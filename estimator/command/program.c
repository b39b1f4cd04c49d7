/* SPDX-License-Identifier: Apache-2.0 */
/* How a run goes from words to an exit code, for `steptime` and for each of its tools. */
#include "command/tool.h"

#include "base/guard.h"
#include "base/oom_flag.h"
#include "base/scratch.h"
#include "base/sized_struct.h"
#include "command/stream.h"
#include "plugin/confine.h"
#include "plugin/kit/probe_process.h"
#include "plugin/namespaces.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static st_status demand_isolation(cli_run *run)
{
    const char *lacking = "";
    st_status status = st_plugin_isolation_lacks(run->arena, &lacking, run->errors);
    return status != ST_OK || lacking[0] == '\0'
               ? status
               : st_fail(run->errors, ST_ERR_PROVIDER, (st_place){0},
                         "this system cannot isolate plugins in full: it lacks %s" ST_HINT
                         "--isolate runs them with what there is",
                         lacking);
}

/* What the verb reads from here on may be hostile: it computes, reads files and writes its result.
 */
static st_status confine(cli_run *run)
{
    if (run->called)
        return cli_wrong_use(run, "--confine holds for a process of its own", "run the program");
    for (size_t i = 0; i < run->given_count; i++)
        if (run->given[i].option->result)
            return cli_wrong_use(run,
                                 st_errors_text(run->errors, "--confine and --%s: it writes a file",
                                                run->given[i].option->name),
                                 "redirect standard output");
    if (strncmp(run->verb->name, "plugin ", strlen("plugin ")) == 0)
        return cli_wrong_use(run, "--confine: this verb confines the processes that it starts",
                             "leave it out");
    if (run->common.isolate != CLI_ISOLATE_OFF)
        return cli_wrong_use(run, "--confine and --isolate", "give one of them");
    if (run->common.color == CLI_COLOR_AUTO) /* terminals answer no more */
        run->common.color = cli_paint(run).color ? CLI_COLOR_ALWAYS : CLI_COLOR_NEVER;
    (void)st_guard_stdout();
    if ((st_confine_here() & ST_WALL_FILTER) != 0)
        return ST_OK;
    return st_fail(run->errors, ST_ERR_USAGE, (st_place){0},
                   "this system cannot filter system calls" ST_HINT "leave out --confine");
}

static int run_words(cli_run *run, size_t count, const char *const *words)
{
    if (count == 0) {
        cli_learn_tools(run);
        cli_write_overview(&run->result);
        if (!run->called)
            (void)fwrite(run->result.data, 1, run->result.length, stderr);
        return CLI_WRONG_USE;
    }
    if (cli_running()->mark != NULL && strcmp(words[0], CLI_PAGE) == 0)
        return cli_write_result(run, cli_write_page(run, count - 1, words + 1));
    st_status status = cli_parse(run, count, words);
    if (status == ST_OK && !run->common.help && !run->common.version)
        status = cli_check_results(run);
    if (status == ST_OK && run->common.isolate == CLI_ISOLATE_STRICT)
        status = demand_isolation(run);
    if (status != ST_OK)
        return cli_exit_code(run, status);
    /* Help and version are wanted whatever else the command line has. */
    int verb = CLI_DONE;
    if (run->common.version) {
        st_buffer_text(&run->result, "steptime " STEPTIME_VERSION "\n");
    } else if (run->common.help) {
        cli_learn_tools(run);
        if (run->verb != NULL)
            cli_write_help(run->verb, &run->result);
        else if (run->argument_count == 0 || !cli_write_group(run->arguments[0], &run->result))
            cli_write_overview(&run->result);
    } else {
        if (run->common.confine && (status = confine(run)) != ST_OK)
            return cli_exit_code(run, status);
        verb = run->verb->run(run);
    }
    return cli_write_result(run, verb);
}

/* A process that was forked goes on: its answer says that it failed. */
static pid_t ending_process;

static void end_without_memory(void)
{
    if (getpid() != ending_process)
        return;
    st_scratch_remove();
    const char *who = NULL;
    const char *what = NULL;
    if (st_guard_last(&who, &what))
        fprintf(stderr, "error: out of memory; %s ran last, in '%s'\n", who, what);
    else
        fputs("error: out of memory\n", stderr);
    _exit(CLI_FAILED);
}

void cli_end_without_memory(void)
{
    ending_process = getpid();
    st_oom_end_with(end_without_memory);
}

int cli_main(const cli_program *program, int argc, char **argv)
{
    cli_set_program(program);
    const size_t count = argc > 0 ? (size_t)argc - 1 : 0;
    const char *const *words = (const char *const *)argv + 1;
    cli_run run = {.arena = st_arena_create(), .errors = st_errors_create()};
    const bool has_memory = run.arena != NULL && run.errors != NULL;
    int code = CLI_FAILED;
    /* A tool opens its own streams, and has to find those of the caller. */
    st_status status = has_memory && count > 0 && program->mark == NULL
                           ? cli_tool_start(&run, count, words)
                           : ST_OK;
    run.stdout_closed = !cli_open_streams();
    cli_handle_signals();
    if (!has_memory)
        fputs("error: out of memory\n", stderr);
    else if (status != ST_OK)
        code = cli_exit_code(&run, status);
    else
        code = run_words(&run, count, words);
    if (run.errors != NULL && !run.warnings_shown) {
        for (size_t i = 0; run.common.quiet && i < st_errors_size(run.errors); i++)
            if (st_errors_at(run.errors, i)->severity != ST_SEVERITY_WARNING)
                st_error_write(st_errors_at(run.errors, i), stderr);
        if (!run.common.quiet)
            st_errors_write(run.errors, stderr);
    }
    st_buffer_free(&run.result);
    cli_free_files(&run);
    st_paths_destroy(run.paths);
    st_errors_destroy(run.errors);
    st_arena_destroy(run.arena);
    cli_finish();
    return code;
}

/* The status of a call that failed: that of its first error. */
static st_status status_of(const st_errors *errors)
{
    for (size_t i = 0; i < st_errors_size(errors); i++)
        if (st_errors_at(errors, i)->severity == ST_SEVERITY_ERROR)
            return st_errors_at(errors, i)->status;
    return ST_ERR_USAGE;
}

st_status cli_call(const cli_program *program, const char *const *words, size_t count,
                   st_answer *answer, st_errors *errors)
{
    st_answer found = {.size = sizeof found, .exit_code = CLI_FAILED};
    st_status status = st_sized_give(&found, sizeof found, answer, errors);
    if (status != ST_OK)
        return status;
    const cli_program *outer = cli_running();
    st_oom_begin();
    cli_run run = {.arena = st_arena_create(),
                   .errors = errors != NULL ? errors : st_errors_create(),
                   .called = true,
                   .stdout_closed = true};
    status = ST_ERR_MEMORY;
    if (run.arena != NULL && run.errors != NULL) {
        cli_set_program(program);
        found.exit_code = run_words(&run, count, words);
        cli_set_program(outer);
        const bool done = found.exit_code == CLI_DONE || found.exit_code == CLI_CHECK_FAILS;
        status = done ? ST_OK : status_of(run.errors);
        if (done)
            st_buffer_append(&run.result, "", 1); /* the 0 behind the text */
        if (done && run.result.failed)
            status = ST_ERR_MEMORY;
    }
    if (status == ST_OK) {
        found.text = run.result.data;
        found.length = run.result.length - 1;
    } else {
        st_buffer_free(&run.result);
    }
    st_note(&status, st_sized_give(&found, sizeof found, answer, errors));
    cli_free_files(&run);
    st_paths_destroy(run.paths);
    if (errors == NULL)
        st_errors_destroy(run.errors);
    st_arena_destroy(run.arena);
    return status;
}
