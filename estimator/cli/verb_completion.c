/* SPDX-License-Identifier: Apache-2.0 */
/* steptime completion */
#include "cli/cli.h"

static const cli_option option_rows[] = {CLI_ROW_OUTPUT, CLI_END};

static const cli_example examples[] = {
    {"source <(steptime completion bash)", "complete in this shell"},
    {"steptime completion bash -o ~/.local/share/bash-completion/completions/steptime",
     "complete in every new shell"},
    {NULL, NULL},
};

static int run_completion(cli_run *run)
{
    cli_write_completion(&run->result);
    return CLI_DONE;
}

const cli_verb cli_verb_completion = {
    .name = "completion",
    .arguments = "bash",
    .minimum = 1,
    .maximum = 1,
    .words = {CLI_WORD_CHOICE, CLI_WORD_NONE},
    .choices = "bash",
    .summary = "write the completion for a shell",
    .doc = "Writes the commands that complete verbs, options, jobs, sheets and cells in the shell.",
    .examples = examples,
    .options = option_rows,
    .run = run_completion,
};
