/* SPDX-License-Identifier: Apache-2.0 */
/* steptime-fit: started by `steptime`, which has the same verbs. */
#include "fit/cli/verbs.h"

#include "command/tool.h"

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

int main(int argc, char **argv)
{
    return cli_main(
        &(cli_program){.verbs = verbs, .verb_count = ST_COUNT(verbs), .mark = CLI_TOOL_MARK("fit")},
        argc, argv);
}
