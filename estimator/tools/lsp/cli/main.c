/* SPDX-License-Identifier: Apache-2.0 */
/* steptime-lsp: started by `steptime lsp`, between an editor's pipes. */
#include "base/guard.h"
#include "command/tool.h"
#include "lsp/server.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

typedef struct lsp_options {
    const char *job;
} lsp_options;

static const cli_option option_rows[] = {
    CLI_TEXT(lsp_options, job, "job", "JOB",
             "show values of cells for this job; default: the first of the search path that the "
             "sheet can estimate",
             .word = CLI_WORD_JOB),
    CLI_ROW_PATH,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime lsp --job gpt3-175b-64xa100", "as an editor starts it (docs/editors.md)"},
    {NULL, NULL},
};

/* More of the editor's bytes are there to be read now. */
static bool is_waiting(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) > 0;
}

/* Diagnostics wait for the last of several keystrokes. */
static bool serve(st_lsp_server *server)
{
    static char bytes[1 << 16];
    bool is_written = true;
    while (!st_lsp_has_ended(server) && is_written) {
        st_buffer out = {0};
        const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        st_lsp_feed(server, bytes, (size_t)count, &out);
        if (!st_lsp_has_ended(server) && !is_waiting())
            st_lsp_settle(server, &out);
        is_written = st_guard_stdout_write(out.data, out.length) == 0;
        st_buffer_free(&out);
    }
    return st_lsp_ended_well(server);
}

static int run_lsp(cli_run *run)
{
    const lsp_options *options = run->options;
    const st_lsp_settings settings = {.folders = run->common.paths.items,
                                      .folder_count = run->common.paths.count,
                                      .job = options->job,
                                      .log = stderr};
    st_lsp_server *server = st_lsp_create(&settings, run->errors);
    if (server == NULL)
        return cli_exit_code(run, ST_ERR_IO);
    const bool ended_well = serve(server);
    st_lsp_destroy(server);
    return ended_well ? CLI_DONE : CLI_FAILED;
}

static const cli_verb verb_lsp = {
    .name = "lsp",
    .arguments = "",
    .summary = "serve an editor: errors, values and completion in sheets and jobs",
    .doc = "Speaks the Language Server Protocol on standard input and output. Reports what is "
           "wrong with sheets, jobs, models, clusters and GPUs while they are written; shows "
           "meaning, unit, value and source of a cell or a key; completes keys and names; goes to "
           "definitions and renames cells, inputs and functions in all sheets of a folder.\n\n"
           "A folder of the editor that has formulas/ or configs/ is part of the search path. "
           "Ends with 0 after the requests shutdown and exit, else with 1.",
    .examples = examples,
    CLI_OPTIONS(option_rows, lsp_options),
    .run = run_lsp,
};

int main(int argc, char **argv)
{
    static const cli_verb *const verbs[] = {&verb_lsp};
    cli_end_without_memory();
    return cli_main(
        &(cli_program){.verbs = verbs, .verb_count = ST_COUNT(verbs), .mark = CLI_TOOL_MARK("lsp")},
        argc, argv);
}
