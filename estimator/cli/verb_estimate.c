/* SPDX-License-Identifier: Apache-2.0 */
/* steptime estimate */
#include "cli/verbs.h"
#include "cli/job_from_options.h"
#include "command/tool.h"
#include "estimate/report.h"

#include <string.h>

typedef struct estimate_options {
    bool cite;
    const char *gpus;
    const char *svg;
    const char *xlsx;
    bool nearest;
} estimate_options;

static const cli_option option_rows[] = {
    CLI_ROW_MODEL,
    CLI_ROW_CLUSTER,
    CLI_TEXT(estimate_options, gpus, "gpus", "N",
             "with --model: estimate the plan with the least step time on N GPUs"),
    CLI_ROW_BATCH,
    CLI_ROW_SEQUENCE,
    CLI_ROWS_JOB,
    CLI_ROW_CHECK,
    CLI_ROW_QUIET,
    CLI_FLAG(cli_common, all, "all",
             "show every cell of the sheet with its meaning and source, and every assumption",
             .common = true),
    CLI_FLAG(estimate_options, cite, "cite", "show the sources of constants"),
    CLI_FLAG(estimate_options, nearest, "nearest",
             "show the measured rows nearest to JOB instead, as 'steptime validate --nearest JOB'"),
    CLI_ROW_JSON,
    CLI_ROW_CSV,
    CLI_RESULT(estimate_options, svg, "svg",
               "also draw the breakdown of the step and the memory of every stage into FILE"),
    CLI_RESULT(estimate_options, xlsx, "xlsx", "also write a workbook with live formulas to FILE"),
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_ROW_COLOR,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime estimate gpt-3b-32x3090", "the step time of a shipped job and its breakdown"},
    {"steptime estimate --model llama3-70b --cluster dgx-h100 --gpus 64",
     "a model on a cluster, under the best plan of a search"},
    {"steptime estimate my-job.yaml --set parallel.tp=4 --set parallel.dp=2",
     "a job of your own under another plan"},
    {"steptime estimate gpt-3b-32x3090 --sheet mine.yaml", "the same job with a sheet of your own"},
    {"steptime estimate llama3-8b-8xh100 --nearest",
     "the measured steps nearest to the job, with the errors of their estimates"},
    {"steptime estimate gpt-3b-32x3090 --json -o estimate.json", "every number, for a program"},
    {"steptime estimate gpt-3b-32x3090 --xlsx estimate.xlsx",
     "a workbook for LibreOffice or Excel that recalculates when an input changes"},
    {NULL, NULL},
};

/* A report has its warnings; they need not be reported twice unless it goes out of sight. */
static bool shows_warnings(const cli_run *run)
{
    return !run->common.csv && run->common.output == NULL;
}

/* A job that is described has no plan yet. */
static st_status find_plan(cli_run *run, st_found_plan *found)
{
    const estimate_options *options = run->options;
    st_status status = cli_job_read(run, options->gpus);
    if (status != ST_OK)
        return status;
    if (run->argument_count > 0)
        return options->gpus == NULL
                   ? ST_OK
                   : cli_wrong_use(run,
                                   "--gpus requires --model; a job file already defines its plan",
                                   "'steptime search JOB --gpus N' ranks other plans");
    if (options->gpus == NULL)
        return cli_wrong_use(run, "--model requires --gpus", "add --gpus N, such as --gpus 64");
    if (strchr(options->gpus, ',') != NULL || strstr(options->gpus, "..") != NULL)
        return cli_wrong_use(
            run,
            st_errors_text(run->errors, "--gpus %.100s: found several numbers, expected one",
                           options->gpus),
            "'steptime search --model' ranks plans for all of them, 'steptime scale JOB' compares "
            "the best for each");
    return cli_job_find_plan(run, options->gpus, found);
}

/* The same words for the verb that knows the measured rows; it does not return. */
static int show_nearest(cli_run *run)
{
    static const char *const shared[] = {"set",  "sheet", "stack",  "path", "refine",
                                         "json", "csv",   "output", "color"};
    const char **words = st_arena_alloc(run->arena, 2 * run->given_count + 4, sizeof *words);
    size_t count = 0;
    st_status status = words != NULL ? ST_OK : ST_ERR_MEMORY;
    if (status == ST_OK && (run->argument_count == 0 || run->called))
        status = cli_wrong_use(run, "--nearest requires JOB", "'steptime list jobs' lists some");
    if (status != ST_OK)
        return cli_exit_code(run, status);
    words[count++] = "validate";
    words[count++] = "--nearest";
    words[count++] = run->arguments[0];
    for (size_t i = 0; i < run->given_count && status == ST_OK; i++) {
        const cli_given *given = &run->given[i];
        const char *name = given->option->name;
        if (strcmp(name, "nearest") == 0)
            continue;
        if (!st_has_text(shared, ST_COUNT(shared), name))
            status = cli_wrong_use(
                run, st_errors_text(run->errors, "--nearest and --%s exclude each other", name),
                NULL);
        words[count++] = given->value != NULL
                             ? st_arena_printf(run->arena, "--%s=%s", name, given->value)
                             : st_arena_printf(run->arena, "--%s", name);
    }
    if (status == ST_OK)
        status = cli_tool_start(run, count, words);
    return cli_exit_code(run, status);
}

static int run_estimate(cli_run *run)
{
    const estimate_options *options = run->options;
    if (options->nearest)
        return show_nearest(run);
    /* A summary fits the terminal, or a page; all cells have lines as long as they are. */
    const estimate_options *view_options = run->options;
    st_estimate_view view = cli_view(run);
    view.all = run->common.all;
    view.cite = view_options->cite;
    view.quiet = run->common.quiet;
    view.width = view.all ? view.width : cli_report_width(view.width);
    st_estimate *estimate = NULL;
    st_found_plan found = {0};
    st_status status = find_plan(run, &found);
    const st_estimate_request request = cli_estimate_request(run);
    bool whole = request.all || options->xlsx != NULL;
    if (status == ST_OK)
        status = whole ? st_estimate_create(&request, &estimate, run->errors)
                       : st_estimate_create_alone(&request, &estimate, run->errors);
    if (status == ST_OK && found.plans > 0)
        st_estimate_tell_found(estimate, &found);
    if (status == ST_OK)
        status = st_estimate_compute(estimate, run->errors);
    /* If only a limit is exceeded, the values are valid; the exit code says so. */
    if (status == ST_ERR_CHECK && st_errors_count(run->errors, ST_SEVERITY_ERROR) == 0)
        status = ST_OK;
    if (status == ST_OK && options->xlsx != NULL)
        status = st_estimate_workbook(estimate, options->xlsx, run->errors);
    if (status == ST_OK && options->svg != NULL)
        status =
            st_summary_svg(estimate, run->arena, cli_make_file(run, options->svg), run->errors);
    if (status == ST_OK)
        status = st_estimate_write(estimate, &view, &run->result, run->errors);
    run->warnings_shown = status == ST_OK && shows_warnings(run);
    st_estimate_destroy(estimate);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_estimate = {
    .name = "estimate",
    .arguments = "[JOB]",
    .words = {CLI_WORD_JOB, CLI_WORD_NONE},
    .summary = "estimate the step time of a training job",
    .doc = "Shows the step time, the throughput per GPU, whether the plan fits, where time and "
           "memory go, and which constants matter most. --all shows every number with its unit, "
           "meaning and source, and every assumption.\n\n"
           "JOB is the name of a job on the search path ('steptime list jobs'), a file, or '-' for "
           "standard input. Without one, --model, --cluster and --gpus describe it: steptime "
           "compares every plan for that many GPUs, estimates the fastest one that passes all "
           "checks, and lists what it assumed.",
    .examples = examples,
    CLI_OPTIONS(option_rows, estimate_options),
    .run = run_estimate,
};
