/* SPDX-License-Identifier: Apache-2.0 */
/* steptime trace chakra */
#include "cli/cli.h"
#include "workload/execution.h"

static const cli_option option_rows[] = {
    CLI_ROW_PARTIAL, CLI_ROW_JSON, CLI_ROW_CSV, CLI_ROW_OUTPUT, CLI_END,
};

static const cli_example examples[] = {
    {"steptime trace chakra et", "all ranks of a folder"},
    {"steptime trace chakra job.0.et job.1.et --json", "two ranks"},
    {"steptime trace chakra chakra.0.et --partial", "a trace that lacks nodes"},
    {NULL, NULL},
};

static int run_replay(cli_run *run)
{
    st_execution_set set = {0};
    st_execution_replay replay = {0};
    st_status status = st_execution_read_files(run->arguments, run->argument_count,
                                               run->common.partial, run->arena, &set, run->errors);
    if (status == ST_OK)
        status = st_execution_replay_make(&set, run->arena, &replay, run->errors);
    if (status == ST_OK) {
        st_result result;
        st_execution_report(&replay, run->arena, &result);
        cli_show(run, &result);
    }
    st_execution_replay_free(&replay);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_trace_chakra = {
    .name = "trace chakra",
    .arguments = "FILE|FOLDER...",
    .words = {CLI_WORD_FILE, CLI_WORD_FILE},
    .summary = "replay Chakra execution traces with the durations that they have",
    .doc = "Reads NAME.RANK.et, a file a rank, and lays the nodes out as they wait for each other: "
           "a rank computes one node at a time, messages of a group follow each other, "
           "collectives begin with their last rank, what is received was sent.\n\n"
           "--partial leaves out dependencies on nodes that a file does not have, as PyTorch's "
           "converter writes them.",
    .examples = examples,
    .options = option_rows,
    .run = run_replay,
};
