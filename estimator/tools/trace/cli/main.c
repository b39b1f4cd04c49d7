/* SPDX-License-Identifier: Apache-2.0 */
/* steptime-trace: started by `steptime`, which has the same verbs. */
#include "trace/cli/verbs.h"

#include "command/tool.h"

/* clang-format off */
static const cli_verb *const verbs[] = {
    &cli_verb_trace_summary,
    &cli_verb_trace_idle,
    &cli_verb_trace_breakdown,
    &cli_verb_trace_kernels,
    &cli_verb_trace_collectives,
    &cli_verb_trace_memory,
    &cli_verb_trace_diff,
    &cli_verb_trace_graph,
    &cli_verb_trace_replay,
    &cli_verb_trace_path,
    &cli_verb_trace_export,
    &cli_verb_trace_whatif,
    &cli_verb_trace_rank,
    &cli_verb_trace_sql,
};
/* clang-format on */

int main(int argc, char **argv)
{
    return cli_main(&(cli_program){.verbs = verbs,
                                   .verb_count = ST_COUNT(verbs),
                                   .mark = CLI_TOOL_MARK("trace")},
                    argc, argv);
}
