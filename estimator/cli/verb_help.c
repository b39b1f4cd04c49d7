/* SPDX-License-Identifier: Apache-2.0 */
/* steptime help */
#include "cli/verbs.h"
#include "command/tool.h"

static const cli_option option_rows[] = {CLI_END};

static const cli_example examples[] = {
    {"steptime help", "the verbs"},
    {"steptime help estimate", "the options of one"},
    {"steptime help sheet", "the verbs of a group"},
    {NULL, NULL},
};

static int run_help(cli_run *run)
{
    cli_learn_tools(run);
    if (run->argument_count == 0) {
        cli_write_overview(&run->result);
        return CLI_DONE;
    }
    const char *name = run->arguments[0];
    if (run->argument_count == 2)
        name = st_errors_text(run->errors, "%s %s", run->arguments[0], run->arguments[1]);
    const cli_verb *verb = cli_find_verb(name);
    if (verb != NULL)
        cli_write_help(verb, &run->result);
    else if (!cli_write_group(name, &run->result))
        return cli_exit_code(run, cli_unknown_verb(run, name));
    return CLI_DONE;
}

const cli_verb cli_verb_help = {
    .name = "help",
    .arguments = "[VERB]",
    .maximum = 2,
    .words = {CLI_WORD_VERB, CLI_WORD_VERB},
    .summary = "show the verbs, or the usage of one",
    .doc = "Same as --help after a verb.",
    .examples = examples,
    .options = option_rows,
    .run = run_help,
};
