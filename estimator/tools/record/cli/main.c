/* SPDX-License-Identifier: Apache-2.0 */
/* steptime-record: started by `steptime`, which has the same verbs. */
#include "record/cli/verbs.h"

#include "command/tool.h"

/* clang-format off */
static const cli_verb *const verbs[] = {
    &cli_verb_trace_import,
    &cli_verb_record,
};
/* clang-format on */

int main(int argc, char **argv)
{
    cli_end_without_memory();
    return cli_main(&(cli_program){.verbs = verbs,
                                   .verb_count = ST_COUNT(verbs),
                                   .mark = CLI_TOOL_MARK("record")},
                    argc, argv);
}
