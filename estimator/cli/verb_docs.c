/* SPDX-License-Identifier: Apache-2.0 */
/* steptime docs: the pages that are written from tables and sheets. */
#include "cli/cli.h"

#include <string.h>

static const cli_option options[] = {CLI_ROW_PATH, CLI_ROW_OUTPUT, CLI_ROW_END};

static const cli_example examples[] = {
    {"steptime docs configuration", "every key of a job"},
    {"steptime docs man | man -l -", "the man page, without installing it"},
    {NULL, NULL},
};

static st_status write_formulas(cli_run *run)
{
    st_paths *paths = NULL;
    const st_path_entry *entries = NULL;
    size_t count = 0;
    st_status status = cli_paths(run, &paths);
    if (status == ST_OK)
        status = st_paths_list(paths, ST_FOLDER_SHEETS, run->arena, &entries, &count, run->errors);
    if (status == ST_OK)
        st_buffer_text(&run->result, "# Formulas\n\nEvery sheet that steptime ships, written by "
                                     "`steptime docs formulas`.\n");
    for (size_t i = 0; status == ST_OK && i < count; i++) {
        st_sheet_reader reader = st_paths_sheet_reader(paths);
        const st_sheet *sheet = NULL;
        status = st_sheet_load(&reader, entries[i].name, run->arena, &sheet, run->errors);
        if (status == ST_OK)
            st_sheet_write_markdown(sheet, 2, run->arena, &run->result);
    }
    st_paths_destroy(paths);
    if (status != ST_OK)
        st_buffer_free(&run->result);
    return status;
}

static int run_docs(cli_run *run)
{
    const char *page = run->arguments[0];
    if (strcmp(page, "configuration") == 0)
        st_job_write_reference(&run->result);
    else if (strcmp(page, "commands") == 0)
        cli_write_commands(&run->result);
    else if (strcmp(page, "man") == 0)
        cli_write_man(&run->result);
    else
        return cli_exit_code(run, write_formulas(run));
    return CLI_DONE;
}

const cli_verb cli_verb_docs = {
    .name = "docs",
    .arguments = "configuration|commands|formulas|man",
    .minimum = 1,
    .maximum = 1,
    .words = {CLI_WORD_CHOICE, CLI_WORD_NONE},
    .choices = "configuration commands formulas man",
    .summary = "write a reference page",
    .doc = "Writes a page of the documentation from the tables and sheets that the program works "
           "with: the keys of a job, the commands, the formulas of all sheets, the man page.",
    .examples = examples,
    .options = options,
    .run = run_docs,
};
