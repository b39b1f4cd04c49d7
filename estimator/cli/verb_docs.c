/* SPDX-License-Identifier: Apache-2.0 */
/* steptime docs: the pages that are written from tables and sheets. */
#include "cli/schema.h"
#include "cli/verbs.h"
#include "estimate/report.h"
#include "job/sections.h"

#include "job/files.h"

#include <string.h>

static const cli_option option_rows[] = {CLI_ROW_PATH, CLI_ROW_OUTPUT, CLI_END};

static const cli_example examples[] = {
    {"steptime docs configuration", "every key of a job"},
    {"steptime docs man | man -l -", "the man page, without installing it"},
    {NULL, NULL},
};

typedef struct sheet_list {
    const st_path_entry *entries;
    bool *included; /* by another sheet of the list, which shows its formulas */
    size_t count;
} sheet_list;

static void mark(sheet_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        list->included[i] = list->included[i] || strcmp(list->entries[i].name, name) == 0;
}

static st_status list_sheets(cli_run *run, sheet_list *list)
{
    st_status status = st_paths_list(run->paths, ST_FOLDER_SHEETS, run->arena, &list->entries,
                                     &list->count, run->errors);
    if (status != ST_OK)
        return status;
    list->included = st_arena_alloc(run->arena, list->count + 1, sizeof *list->included);
    if (list->included == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; status == ST_OK && i < list->count; i++) {
        /* Marks what a sheet includes by name; a file that cannot be read is reported when the
         * sheet is loaded. */
        const st_yaml_node *root = NULL;
        st_status included_status = st_paths_read_yaml(
            run->paths, ST_FOLDER_SHEETS, list->entries[i].name, run->arena, &root, run->errors);
        const st_yaml_node *include =
            included_status == ST_OK ? st_yaml_get(root, "include") : NULL;
        if (include != NULL && include->kind == ST_YAML_SCALAR)
            mark(list, include->text);
        for (size_t j = 0; include != NULL && include->kind == ST_YAML_LIST && j < include->count;
             j++)
            if (include->items[j]->kind == ST_YAML_SCALAR)
                mark(list, include->items[j]->text);
        status = included_status;
    }
    return status;
}

static st_status write_formulas(cli_run *run)
{
    sheet_list list = {0};
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = list_sheets(run, &list);
    st_buffer_text(&run->result, "# Formulas\n\nEvery sheet that steptime ships, with the sheets "
                                 "that it includes, written by `steptime docs formulas`.\n");
    for (size_t i = 0; status == ST_OK && i < list.count; i++)
        if (!list.included[i]) {
            const char *name = list.entries[i].name;
            st_sheet_reader reader = st_paths_sheet_reader(run->paths);
            const st_sheet *sheet = NULL;
            st_status sheet_status = st_sheet_load(&reader, name, run->arena, &sheet, run->errors);
            if (sheet_status == ST_OK)
                st_sheet_write_markdown(sheet, ST_MARKDOWN_CODE, 2, run->arena, &run->result);
            status = sheet_status;
        }
    if (status != ST_OK)
        st_buffer_free(&run->result);
    return status;
}

static int run_docs(cli_run *run)
{
    static const struct {
        const char *page, *section;
    } schemas[] = {{"job-schema", ""},
                   {"model-schema", "model"},
                   {"cluster-schema", "cluster"},
                   {"gpu-schema", "cluster.gpu"}};
    const char *page = run->arguments[0];
    for (size_t i = 0; i < ST_COUNT(schemas); i++)
        if (strcmp(page, schemas[i].page) == 0) {
            cli_write_schema(schemas[i].section, &run->result);
            return CLI_DONE;
        }
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
    .arguments = "PAGE",
    .words = {CLI_WORD_CHOICE, CLI_WORD_NONE},
    .choices = "configuration commands formulas man job-schema model-schema cluster-schema "
               "gpu-schema",
    .summary = "write a reference page",
    .doc = "Writes a page of the documentation from the program's own tables and sheets: the keys "
           "of a job (configuration), the commands, the formulas of all sheets, the man page, or a "
           "JSON Schema with which an editor completes and checks jobs, models, clusters or GPUs "
           "(docs/editors.md).",
    .examples = examples,
    .options = option_rows,
    .run = run_docs,
};
