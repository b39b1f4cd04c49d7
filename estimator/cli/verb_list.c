/* SPDX-License-Identifier: Apache-2.0 */
/* steptime list */
#include "cli/verbs.h"

#include "job/files.h"

#include <string.h>

static const cli_option option_rows[] = {CLI_ROWS_FORMS, CLI_END};

static const cli_example examples[] = {
    {"steptime list", "the categories"},
    {"steptime list jobs", "the jobs on the search path"},
    {"steptime list gpus --json", "for a program"},
    {NULL, NULL},
};

static const struct {
    const char *name;
    st_folder folder;
    const char *doc;
} folders[] = {
    {"jobs", ST_FOLDER_JOBS, "what can be estimated: a model on a cluster with a plan"},
    {"models", ST_FOLDER_MODELS, "for --model, and for the jobs"},
    {"clusters", ST_FOLDER_CLUSTERS, "for --cluster, and for the jobs"},
    {"gpus", ST_FOLDER_GPUS, "data sheets of GPUs, referenced by clusters"},
    {"stacks", ST_FOLDER_STACKS, "behaviour of software: overlap, recomputation, precision"},
    {"constants", ST_FOLDER_CONSTANTS, "constants fitted to measured steps"},
    {"sheets", ST_FOLDER_SHEETS, "formulas; 'steptime sheet show' prints one"},
    {"sources", ST_FOLDER_VALIDATION, "published values, for 'steptime validate'"},
    {"tables", ST_FOLDER_TABLES, "measured steps, for 'steptime validate'"},
};

typedef struct listing {
    const st_path_entry *entries;
    const char **titles;
    size_t count;
} listing;

static bool is_text(const st_yaml_node *node)
{
    return node != NULL && node->kind == ST_YAML_SCALAR;
}

/* The file that a section of a job names, or is based on; NULL where it names none. */
static const st_yaml_node *file_of(const st_yaml_node *root, const char *section)
{
    const st_yaml_node *node = st_yaml_get(root, section);
    if (node != NULL && node->kind == ST_YAML_MAP)
        node = st_yaml_get(node, "base");
    return is_text(node) ? node : NULL;
}

/* A file's title, what a job combines, or a name that differs from the file's; else "". */
static const char *title_of(cli_run *run, st_folder folder, const char *name)
{
    const st_yaml_node *root = NULL;
    if (st_paths_read_yaml(run->paths, folder, name, run->arena, &root, run->errors) != ST_OK)
        return "(cannot be read)";
    const st_yaml_node *model = file_of(root, "model");
    const st_yaml_node *cluster = file_of(root, "cluster");
    if (folder == ST_FOLDER_JOBS && model != NULL && cluster != NULL)
        return st_errors_text(run->errors, "%s on %s", model->text, cluster->text);
    const st_yaml_node *title = st_yaml_get(root, "title");
    if (title == NULL)
        title = st_yaml_get(root, folder == ST_FOLDER_CONSTANTS ? "doc" : "name");
    return is_text(title) && strcmp(title->text, name) != 0 ? title->text : "";
}

static st_status load(cli_run *run, st_folder folder, listing *list)
{
    st_status status =
        st_paths_list(run->paths, folder, run->arena, &list->entries, &list->count, run->errors);
    if (status != ST_OK)
        return status;
    list->titles = st_arena_alloc(run->arena, list->count + 1, sizeof *list->titles);
    if (list->titles == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < list->count; i++)
        list->titles[i] = title_of(run, folder, list->entries[i].name);
    return ST_OK;
}

static void fill_entry(const void *context, size_t index, st_node *row)
{
    const listing *list = context;
    st_put_text(row, "name", list->entries[index].name);
    st_put_text_or_null(row, "title", list->titles[index]);
    st_put_text(row, "root", list->entries[index].root);
}

int cli_list_folder(cli_run *run, const char *what)
{
    st_folder folder = ST_FOLDER_JOBS;
    listing list = {0};
    for (size_t i = 0; i < ST_COUNT(folders); i++)
        if (strcmp(folders[i].name, what) == 0)
            folder = folders[i].folder;
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = load(run, folder, &list);
    if (status == ST_OK) {
        static const st_table_column columns[] = {
            {.ink = ST_INK_NAME}, {.elastic = true}, {.ink = ST_INK_FAINT}};
        st_result result;
        st_node *root = st_result_begin(&result, run->arena);
        st_node *rows = st_put_rows(root, what, fill_entry, &list, list.count);
        st_table_show(st_say_table(root, columns, 3, 0), rows, "name,title,root");
        st_result_csv(&result, what, "name,title,root");
        cli_show(run, &result);
        /* A file that cannot be read is listed and reported; the others are still listed. */
        status = st_errors_status(run->errors);
    }
    return cli_exit_code(run, status);
}

/* ---- what there is to list ---- */

enum { FOLDER_COUNT = ST_COUNT(folders) };

static void fill_folder(const void *context, size_t index, st_node *row)
{
    const size_t *counts = context;
    st_put_text(row, "name", folders[index].name);
    st_put_count(row, "count", counts[index]);
    st_put_text(row, "doc", folders[index].doc);
}

static int run_list(cli_run *run)
{
    if (run->argument_count > 0)
        return cli_list_folder(run, run->arguments[0]);
    size_t *counts = st_arena_alloc(run->arena, FOLDER_COUNT, sizeof *counts);
    const st_path_entry *entries = NULL;
    st_status status = counts != NULL ? cli_paths(run) : ST_ERR_MEMORY;
    for (size_t i = 0; i < FOLDER_COUNT && status == ST_OK; i++)
        status = st_paths_list(run->paths, folders[i].folder, run->arena, &entries, &counts[i],
                               run->errors);
    if (status == ST_OK) {
        static const st_table_column columns[] = {
            {.ink = ST_INK_NAME}, {.right = true}, {.elastic = true}};
        st_result result;
        st_node *root = st_result_begin(&result, run->arena);
        st_node *rows = st_put_rows(root, "lists", fill_folder, counts, FOLDER_COUNT);
        st_table_show(st_say_table(root, columns, 3, 0), rows, "name,count,doc");
        st_say(root, "\n'steptime list jobs' lists the jobs. Also: 'steptime plugin list', "
                     "'steptime profile list', and 'steptime sheet show' for cells.\n");
        st_result_csv(&result, "lists", "name,count,doc=meaning");
        cli_show(run, &result);
    }
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_list = {
    .name = "list",
    .arguments = "[jobs|models|clusters|gpus|stacks|constants|sheets|sources|tables]",
    .words = {CLI_WORD_CHOICE, CLI_WORD_NONE},
    .choices = "jobs models clusters gpus stacks constants sheets sources tables",
    .summary = "list the contents of the search path",
    .doc = "Lists names with their titles and the folder of the search path that each comes from; "
           "'<embedded>' is the program itself. Without an argument it lists the categories. "
           "'sources' have published values and 'tables' measured rows, for 'steptime validate'.",
    .examples = examples,
    .options = option_rows,
    .run = run_list,
};
