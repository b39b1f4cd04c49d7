/* SPDX-License-Identifier: Apache-2.0 */
/* steptime steps check */
#include "cli/verbs.h"

#include "estimate/report.h"

typedef struct steps_options {
    st_steps_request request;
} steps_options;

static const cli_option option_rows[] = {
    CLI_COUNT(steps_options, request.ranks, "ranks", 2, ST_STEPS_MOST_RANKS,
              "simulate the table for N ranks (default: the supported numbers from 2 to 16)"),
    CLI_COUNT(steps_options, request.per_node, "per-node", 1, ST_STEPS_MOST_RANKS,
              "ranks per node (default: as many as a node of --topology has, or all)"),
    CLI_COUNT(steps_options, request.gpus_per_node, "gpus-per-node", 1, ST_STEPS_MOST_RANKS,
              "GPUs per node of --topology; those that are not in the group send in groups of the "
              "same shape (default: from the topology, or --per-node)"),
    CLI_TEXT(
        steps_options, request.topology, "topology", "NAME",
        "estimate the time of the steps on this topology, a name in configs/topologies or a path"),
    CLI_ROW_JSON,
    CLI_ROW_CSV,
    CLI_ROW_PATH,
    CLI_ROW_OUTPUT,
    CLI_ROW_COLOR,
    CLI_END,
};

static const cli_example examples[] = {
    {"steptime steps check ring", "a table that steptime ships"},
    {"steptime steps check ./mine.steps --ranks 16 --per-node 8",
     "a table of your own, for two nodes of 8"},
    {"steptime steps check two-level --ranks 32 --per-node 8 --topology rails-h100-128",
     "a table with its times on a topology"},
    {NULL, NULL},
};

static int run_steps(cli_run *run)
{
    const steps_options *options = run->options;
    st_steps_request request = options->request;
    st_result result;
    request.steps = run->arguments[0];
    if (request.gpus_per_node > 0 && request.topology == NULL)
        return cli_exit_code(
            run, cli_wrong_use(run, "--gpus-per-node requires --topology", "add --topology NAME"));
    st_status status = cli_paths(run);
    if (status == ST_OK)
        status = st_steps_report(run->paths, &request, run->arena, &result, run->errors);
    if (status == ST_OK)
        cli_show(run, &result);
    return cli_exit_code(run, status);
}

const cli_verb cli_verb_steps_check = {
    .name = "steps check",
    .arguments = "TABLE",
    .words = {CLI_WORD_FILE, CLI_WORD_NONE},
    .summary = "simulate the table of steps of a collective",
    .doc =
        "Reads a table of the steps of a collective (docs/topologies.md), by name in configs/steps "
        "or by path, and simulates it chunk by chunk. It verifies that no rank waits forever, "
        "sends data that it does not have, or counts a value twice, and that every rank ends with "
        "the result. Shows the rounds, the messages and the bytes that a rank sends, as a multiple "
        "of the message, and with --topology the time of messages of three sizes.",
    .examples = examples,
    CLI_OPTIONS(option_rows, steps_options),
    .run = run_steps,
};
