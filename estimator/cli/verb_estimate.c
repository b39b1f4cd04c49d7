/* SPDX-License-Identifier: Apache-2.0 */
/* steptime estimate */
#include "cli/cli.h"

typedef struct estimate_options {
    const char *xlsx;
} estimate_options;

static const cli_option option_rows[] = {
    CLI_ROW_SHEET,
    CLI_ROW_SET,
    CLI_ROW_REFINE,
    CLI_ROW_ALL,
    CLI_ROW_JSON,
    CLI_ROW_CSV,
    CLI_FILE(estimate_options, xlsx, "xlsx",
             "write a workbook whose formulas live into FILE as well"),
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_ROW_COLOR,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime estimate gpt-3b-32x3090", "the step time of a shipped job and what it is made of"},
    {"steptime estimate my-job.yaml --set parallel.tp=4 --set parallel.dp=2",
     "a job of your own under another plan"},
    {"steptime estimate gpt-3b-32x3090 --sheet mine.yaml", "the same job by a sheet of your own"},
    {"steptime estimate gpt-3b-32x3090 --json -o estimate.json", "every number, for a program"},
    {"steptime estimate gpt-3b-32x3090 --xlsx estimate.xlsx",
     "a workbook for LibreOffice or Excel that computes anew when an input is changed"},
    {NULL, NULL},
};

/* A report has its warnings; they need not be reported twice unless it goes out of sight. */
static bool shows_warnings(const cli_run *run)
{
    return !run->common.csv && run->common.output == NULL;
}

static int run_estimate(cli_run *run)
{
    const estimate_options *options = run->options;
    const st_estimate_request request = cli_estimate_request(run);
    const st_estimate_view view = cli_view(run);
    st_estimate *estimate = NULL;
    st_status status = st_estimate_create(&request, &estimate, run->errors);
    if (status == ST_OK)
        status = st_estimate_compute(estimate, run->errors);
    if (status == ST_OK && options->xlsx != NULL)
        status = st_estimate_workbook(estimate, options->xlsx, run->errors);
    if (status == ST_OK)
        status = st_estimate_write(estimate, &view, &run->result, run->errors);
    run->warnings_shown = status == ST_OK && shows_warnings(run);
    st_estimate_destroy(estimate);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_estimate = {
    .name = "estimate",
    .arguments = "JOB",
    .minimum = 1,
    .maximum = 1,
    .words = {CLI_WORD_JOB, CLI_WORD_NONE},
    .summary = "estimate the step time of a training job",
    .doc =
        "Computes the sections that the job's sheet reports and shows every number with its unit, "
        "meaning and source, then what 10 % more of each constant of the cluster would change, "
        "what was "
        "assumed, and the result.\n\n"
        "JOB is the name of a job on the search path ('steptime list jobs'), a file, or '-' for "
        "standard input.",
    .examples = examples,
    .options = option_rows,
    .options_bytes = sizeof(estimate_options),
    .run = run_estimate,
};
