/* SPDX-License-Identifier: Apache-2.0 */
/* steptime completion */
#include "cli/verbs.h"

#include <string.h>

static const cli_option option_rows[] = {CLI_ROW_OUTPUT, CLI_END};

static const cli_example examples[] = {
    {"source <(steptime completion bash)", "completion in this shell"},
    {"steptime completion bash -o ~/.local/share/bash-completion/completions/steptime",
     "completion in every new shell"},
    {"steptime completion zsh -o ~/.zfunc/_steptime",
     "the same for zsh, with fpath+=(~/.zfunc) before compinit"},
    {"steptime completion fish -o ~/.config/fish/completions/steptime.fish", "and for fish"},
    {NULL, NULL},
};

static int run_completion(cli_run *run)
{
    if (strcmp(run->arguments[0], "words") == 0)
        cli_complete(run, run->arguments + 1, run->argument_count - 1);
    else if (run->argument_count > 1)
        return cli_exit_code(run, cli_wrong_use(run, "the script of a shell takes no words", NULL));
    else
        cli_write_completion(run, run->arguments[0]);
    return CLI_DONE;
}

const cli_verb cli_verb_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish|words",
    .maximum = SIZE_MAX,
    .words = {CLI_WORD_CHOICE, CLI_WORD_NONE},
    .choices = "bash zsh fish words",
    .summary = "write the completion script of a shell",
    .doc = "Writes the commands that complete verbs, options, jobs, sheets, keys and cells in the "
           "shell. They run 'steptime completion words -- WORD...', which prints the candidates "
           "for the last word, one per line, each followed by a tab and its meaning; ':files', "
           "':yaml', ':folders' and ':nospace' are directives for the shell.",
    .examples = examples,
    .options = option_rows,
    .run = run_completion,
};
