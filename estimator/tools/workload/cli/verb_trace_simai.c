/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace simai */
#include "workload/cli/verbs.h"
#include "steptime/tool/input_files.h"
#include "workload/simai.h"

static const cli_option option_rows[] = {CLI_ROW_JSON, CLI_ROW_CSV, CLI_ROW_OUTPUT, CLI_END};

static const cli_example examples[] = {
    {"steptime trace simai job.txt", "what the rows add up to"},
    {NULL, NULL},
};

static int run_simai(cli_run *run)
{
    st_source source = {0};
    st_simai simai = {0};
    st_result result;
    st_status status =
        st_file_read_foreign(run->arguments[0], (st_place){0}, run->arena, &source, run->errors);
    if (status == ST_OK)
        status = st_simai_read(&source, run->arena, &simai, run->errors);
    if (status == ST_OK) {
        st_simai_report(&simai, run->arena, &result);
        cli_show(run, &result);
    }
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_trace_simai = {
    .name = "trace simai",
    .arguments = "FILE",
    .words = {CLI_WORD_FILE, CLI_WORD_NONE},
    .summary = "add up a workload file of SimAI",
    .doc =
        "Reads a workload file as AICB or 'steptime export simai' writes it and shows its sizes, "
        "the computation of each column, and messages and bytes of each collective by group. "
        "Bytes are those of the rows: the whole buffer of a collective.",
    .examples = examples,
    .options = option_rows,
    .run = run_simai,
};
