/* SPDX-License-Identifier: Apache-2.0 */
/* steptime export simai */
#include "workload/cli/verbs.h"
#include "workload/cli/job_workload.h"
#include "workload/simai.h"

typedef struct simai_options {
    const char *schedule;
    cli_texts settings;
    unsigned detail;
    uint64_t stage;
} simai_options;

static const cli_option option_rows[] = {
    CLI_COUNT(simai_options, stage, "stage", 0, UINT32_MAX,
              "the pipeline stage to write, from 0; default 0"),
    CLI_ROWS_SCHEDULE(simai_options),
    CLI_ROWS_PLAN,
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime export simai gpt3-175b-64xa100 -o gpt3.txt", "a row for each pass"},
    {"steptime export simai gpt3-175b-64xa100 --stage 3 --detail layers -o gpt3.txt",
     "each layer of the fourth of 8 stages"},
    {NULL, NULL},
};

static int run_export_simai(cli_run *run)
{
    const simai_options *options = run->options;
    const job_layout layout = {options->schedule, &options->settings, options->detail != 0};
    st_workload workload = {0};
    st_simai simai = {0};
    st_status status = cli_make_workload(run, &layout, &workload);
    if (status == ST_OK && options->stage >= workload.stage_count)
        status = cli_wrong_use(
            run, st_errors_text(run->errors, "unknown stage %zu", (size_t)options->stage),
            st_errors_text(run->errors, "stages are 0 to %zu", workload.stage_count - 1));
    if (status == ST_OK)
        status = st_simai_make(&workload, (size_t)options->stage, run->arena, &simai, run->errors);
    if (status == ST_OK)
        st_simai_write(&simai, &run->result);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_export_simai = {
    .name = "export simai",
    .arguments = "JOB",
    .words = {CLI_WORD_JOB, CLI_WORD_NONE},
    .summary = "write a stage of a job's step as a workload file of SimAI",
    .doc =
        "Lays the job's step out as 'steptime timeline' does and writes what a rank of a stage "
        "computes and sends in the text that AICB writes and SimAI reads: a row for each pass "
        "of a micro-batch, or each of its layers, then those of data parallelism. Computation has "
        "the sheet's time, communication its bytes: the simulator computes how long it takes.",
    .examples = examples,
    CLI_OPTIONS(option_rows, simai_options),
    .run = run_export_simai,
};
