/* SPDX-License-Identifier: Apache-2.0 */
/* steptime: the table of verbs, and how a run goes from words to an exit code. */
#include "cli/stream.h"

#include <string.h>

/* One line a verb, those of a group together, and those with the same first word. */
/* clang-format off */
static const cli_verb *const verbs[] = {
    &cli_verb_estimate,
    &cli_verb_explain,
    &cli_verb_search,
    &cli_verb_compare,
    &cli_verb_import_hf,
    &cli_verb_import_megatron,
    &cli_verb_import_bridge,
    &cli_verb_import_torchtitan,
    &cli_verb_import_deepspeed,
    &cli_verb_import_topology,
    &cli_verb_export,

    &cli_verb_list,
    &cli_verb_sweep,
    &cli_verb_scale,
    &cli_verb_timeline,
    &cli_verb_traffic,
    &cli_verb_export_chakra,
    &cli_verb_export_simai,
    &cli_verb_import_layers,

    &cli_verb_sheet_check,
    &cli_verb_sheet_show,
    &cli_verb_sheet_list,
    &cli_verb_sheet_export,
    &cli_verb_plugin_list,
    &cli_verb_plugin_info,
    &cli_verb_plugin_check,
    &cli_verb_plugin_new,

    &cli_verb_validate,
    &cli_verb_fit,
    &cli_verb_fit_kernels,
    &cli_verb_fit_operators,
    &cli_verb_fit_overlap,
    &cli_verb_fit_ratios,
    &cli_verb_fit_nccl,
    &cli_verb_profile_list,
    &cli_verb_profile_show,
    &cli_verb_profile_import,
    &cli_verb_profile_export,
    &cli_verb_profile_remove,
    &cli_verb_steps_check,

    &cli_verb_trace_summary,
    &cli_verb_trace_idle,
    &cli_verb_trace_breakdown,
    &cli_verb_trace_kernels,
    &cli_verb_trace_collectives,
    &cli_verb_trace_memory,
    &cli_verb_trace_diff,
    &cli_verb_trace_graph,
    &cli_verb_trace_replay,
    &cli_verb_trace_path,
    &cli_verb_trace_export,
    &cli_verb_trace_import,
    &cli_verb_trace_layers,
    &cli_verb_trace_whatif,
    &cli_verb_trace_rank,
    &cli_verb_trace_chakra,
    &cli_verb_trace_simai,
    &cli_verb_record,

    &cli_verb_docs,
    &cli_verb_completion,
    &cli_verb_help,
};

static const cli_group groups[] = {
    {"Every day", &cli_verb_estimate},
    {"More about a job", &cli_verb_list},
    {"Formulas and plugins", &cli_verb_sheet_check},
    {"Measurements", &cli_verb_validate},
    {"Recorded steps", &cli_verb_trace_summary},
    {"The program itself", &cli_verb_docs},
};
/* clang-format on */

const char *cli_group_of(const cli_verb *verb)
{
    for (size_t i = 0; i < ST_COUNT(groups); i++)
        if (groups[i].first == verb)
            return groups[i].title;
    return NULL;
}

const cli_verb *const *cli_verbs(size_t *count)
{
    *count = ST_COUNT(verbs);
    return verbs;
}

/* Help and version are wanted whatever else stands on the command line. */
static int run_verb(cli_run *run)
{
    if (run->common.version) {
        st_buffer_text(&run->result, "steptime " STEPTIME_VERSION "\n");
        return CLI_DONE;
    }
    if (run->common.help) {
        if (run->verb != NULL)
            cli_write_help(run->verb, &run->result);
        else if (run->argument_count == 0 || !cli_write_group(run->arguments[0], &run->result))
            cli_write_overview(&run->result);
        return CLI_DONE;
    }
    return run->verb->run(run);
}

static int run_words(cli_run *run, size_t count, const char *const *words)
{
    if (count == 0) {
        cli_write_overview(&run->result);
        (void)fwrite(run->result.data, 1, run->result.length, stderr);
        return CLI_WRONG_USE;
    }
    st_status status = cli_parse(run, count, words);
    if (status == ST_OK && !run->common.help && !run->common.version)
        status = cli_check_results(run);
    if (status != ST_OK)
        return cli_exit_code(run, status);
    return cli_write_result(run, run_verb(run));
}

static void write_messages(const cli_run *run)
{
    for (size_t i = 0; run->common.quiet && i < st_errors_size(run->errors); i++)
        if (st_errors_at(run->errors, i)->severity != ST_SEVERITY_WARNING)
            st_error_write(st_errors_at(run->errors, i), stderr);
    if (!run->common.quiet)
        st_errors_write(run->errors, stderr);
}

int main(int argc, char **argv)
{
    cli_run run = {.stdout_closed = !cli_open_streams()};
    int code = CLI_FAILED;
    cli_handle_signals();
    run.arena = st_arena_create();
    run.errors = st_errors_create();
    if (run.arena == NULL || run.errors == NULL)
        fputs("error: out of memory\n", stderr);
    else
        code = run_words(&run, argc > 0 ? (size_t)argc - 1 : 0, (const char *const *)argv + 1);
    if (run.errors != NULL && !run.warnings_shown)
        write_messages(&run);
    st_buffer_free(&run.result);
    cli_free_files(&run);
    st_paths_destroy(run.paths);
    st_errors_destroy(run.errors);
    st_arena_destroy(run.arena);
    cli_finish();
    return code;
}
