/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks of a job differ by its plan: one per pipeline stage. */
#ifndef STEPTIME_CLI_PLANNED_RANKS_H
#define STEPTIME_CLI_PLANNED_RANKS_H

#include "command/cli.h"

typedef struct cli_planned_ranks {
    size_t world;
    int32_t *ranks; /* of each stage the second one of all groups, which gives their order */
    size_t count;
    int32_t *as; /* by rank: the one of its stage */
} cli_planned_ranks;

/* Of a job by name or path; in the arena of the run. */
st_status cli_planned_ranks_of(cli_run *run, const char *job,
                               cli_planned_ranks *planned) ST_NODISCARD;

#endif
