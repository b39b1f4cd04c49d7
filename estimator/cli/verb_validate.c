/* SPDX-License-Identifier: Apache-2.0 */
/* steptime validate */
#include "cli/cli.h"

#include "report/cases.h"

static const cli_option options[] = {CLI_ROW_JSON,   CLI_ROW_CSV,   CLI_ROW_PATH,
                                     CLI_ROW_OUTPUT, CLI_ROW_COLOR, CLI_ROW_END};

static const cli_example examples[] = {
    {"steptime validate", "every source"},
    {"steptime validate li2024", "what one paper printed, against what its sheet gives"},
    {NULL, NULL},
};

/* The sources on the command line, or all of them. */
static st_status choose_sources(cli_run *run, const st_paths *paths, const char *const **names,
                                size_t *count)
{
    *names = run->arguments;
    *count = run->argument_count;
    if (*count > 0)
        return ST_OK;
    const st_path_entry *entries = NULL;
    st_status status =
        st_paths_list(paths, ST_FOLDER_VALIDATION, run->arena, &entries, count, run->errors);
    if (status != ST_OK)
        return status;
    const char **list = st_arena_alloc(run->arena, *count + 1, sizeof *list);
    if (list == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < *count; i++)
        list[i] = entries[i].name;
    *names = list;
    return *count > 0 ? ST_OK
                      : st_errors_add(run->errors,
                                      &(st_error){.status = ST_ERR_NAME,
                                                  .message = "the search path has no validation "
                                                             "sources"});
}

/* All sources are read before any is run, so that every fault of a file is told at once. */
static st_status load_sources(cli_run *run, const st_paths *paths, st_case_source **sources,
                              size_t *count)
{
    const char *const *names = NULL;
    st_status status = choose_sources(run, paths, &names, count);
    if (status != ST_OK)
        return status;
    *sources = st_arena_alloc(run->arena, *count, sizeof **sources);
    if (*sources == NULL)
        return ST_ERR_MEMORY;
    for (size_t i = 0; i < *count; i++) {
        st_status own = st_cases_load(paths, names[i], run->arena, &(*sources)[i], run->errors);
        status = status == ST_OK ? own : status;
    }
    return status;
}

static void write_sources(cli_run *run, const st_case_source *sources, size_t count)
{
    st_paint paint = cli_paint(run);
    if (cli_is_given(run, CLI_JSON))
        st_cases_write_json(sources, count, &run->result);
    else if (cli_is_given(run, CLI_CSV))
        st_cases_write_csv(sources, count, &run->result);
    else
        st_cases_write_text(sources, count, &paint, run->arena, &run->result);
}

static int run_validate(cli_run *run)
{
    st_paths *paths = NULL;
    st_case_source *sources = NULL;
    size_t count = 0;
    size_t failed = 0;
    st_status status = cli_paths(run, &paths);
    if (status == ST_OK)
        status = load_sources(run, paths, &sources, &count);
    for (size_t i = 0; status == ST_OK && i < count; i++) {
        status = st_cases_run(paths, run->arena, &sources[i], run->errors);
        failed += sources[i].failed;
    }
    if (status == ST_OK)
        write_sources(run, sources, count);
    st_paths_destroy(paths);
    if (status != ST_OK)
        return cli_exit_code(run, status);
    return failed > 0 || st_errors_status(run->errors) != ST_OK ? CLI_FAILED : CLI_DONE;
}

const cli_verb cli_verb_validate = {
    .name = "validate",
    .arguments = "[SOURCE...]",
    .maximum = SIZE_MAX,
    .words = {CLI_WORD_SOURCE, CLI_WORD_SOURCE},
    .summary = "compare estimates with published numbers",
    .doc =
        "For each source under validation/, shows what is compared, the published value, ours, the "
        "difference and the one that is declared. Exits 1 where a difference is larger than "
        "declared or a case cannot run.",
    .examples = examples,
    .options = options,
    .run = run_validate,
};
