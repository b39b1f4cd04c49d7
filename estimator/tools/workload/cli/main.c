/* SPDX-License-Identifier: Apache-2.0 */
/* steptime-workload: started by `steptime`, which has the same verbs. */
#include "workload/cli/verbs.h"

#include "command/tool.h"

/* clang-format off */
static const cli_verb *const verbs[] = {
    &cli_verb_export_chakra,
    &cli_verb_export_simai,
    &cli_verb_trace_chakra,
    &cli_verb_trace_simai,
};
/* clang-format on */

int main(int argc, char **argv)
{
    cli_end_without_memory();
    return cli_main(&(cli_program){.verbs = verbs,
                                   .verb_count = ST_COUNT(verbs),
                                   .mark = CLI_TOOL_MARK("workload")},
                    argc, argv);
}
