/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of steptime-fit, for the program and for callers in one process. */
#include "fit/cli/verbs.h"

#include "command/tool.h"
#include "steptime/fit.h"

/* clang-format off */
static const cli_verb *const verbs[] = {
    &cli_verb_validate,
    &cli_verb_fit,
    &cli_verb_fit_kernels,
    &cli_verb_fit_operators,
    &cli_verb_fit_overlap,
    &cli_verb_fit_ratios,
    &cli_verb_fit_nccl,
    &cli_verb_profile_list,
    &cli_verb_profile_show,
    &cli_verb_profile_import,
    &cli_verb_profile_export,
    &cli_verb_profile_remove,
    &cli_verb_trace_layers,
};
/* clang-format on */

const cli_program cli_fit_program = {
    .verbs = verbs, .verb_count = ST_COUNT(verbs), .mark = CLI_TOOL_MARK("fit")};

st_status st_fit_run(const char *const *words, size_t count, st_answer *answer, st_errors *errors)
{
    return cli_call(&cli_fit_program, words, count, answer, errors);
}
