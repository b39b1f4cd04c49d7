/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of steptime-launch, for the program and for callers in one process. */
#include "launch/cli/verbs.h"

#include "command/tool.h"
#include "steptime/launch.h"

/* clang-format off */
static const cli_verb *const verbs[] = {
    &cli_verb_import_hf,
    &cli_verb_import_megatron,
    &cli_verb_import_bridge,
    &cli_verb_import_torchtitan,
    &cli_verb_import_deepspeed,
    &cli_verb_import_topology,
    &cli_verb_export,
    &cli_verb_import_layers,
};
/* clang-format on */

const cli_program cli_launch_program = {
    .verbs = verbs, .verb_count = ST_COUNT(verbs), .mark = CLI_TOOL_MARK("launch")};

st_status st_launch_run(const char *const *words, size_t count, st_answer *answer,
                        st_errors *errors)
{
    return cli_call(&cli_launch_program, words, count, answer, errors);
}
