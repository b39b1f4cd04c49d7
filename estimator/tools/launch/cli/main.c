/* SPDX-License-Identifier: Apache-2.0 */
/* steptime-launch: started by `steptime`, which has the same verbs. */
#include "launch/cli/verbs.h"

#include "command/tool.h"

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

int main(int argc, char **argv)
{
    return cli_main(&(cli_program){.verbs = verbs,
                                   .verb_count = ST_COUNT(verbs),
                                   .mark = CLI_TOOL_MARK("launch")},
                    argc, argv);
}
