/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of steptime-trace, for the program and for callers in one process. */
#include "trace/cli/verbs.h"

#include "command/tool.h"
#include "steptime/trace.h"

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

const cli_program cli_trace_program = {
    .verbs = verbs, .verb_count = ST_COUNT(verbs), .mark = CLI_TOOL_MARK("trace")};

st_status st_trace_run(const char *const *words, size_t count, st_answer *answer, st_errors *errors)
{
    return cli_call(&cli_trace_program, words, count, answer, errors);
}
