/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that mpirun started together. The module steptime-mpi.so, next to the program or where
 * it was installed, speaks MPI; it is loaded only where the environment says that mpirun did this.
 */
#ifndef STEPTIME_CLI_RANKS_H
#define STEPTIME_CLI_RANKS_H

#include "command/cli.h"
#include "search/processes.h"

typedef struct cli_ranks {
    st_processes ranks;
    void *module;
    int (*end)(int fault);
} cli_ranks;

/* One process where mpirun did not start several. */
st_status cli_ranks_begin(cli_run *run, cli_ranks *ranks) ST_NODISCARD;
/* Whether mpirun started this process in addition to the first one, which does the unshared work.
 */
bool cli_is_other_process(void);
/* Only the first process leaves a result and messages; returns `code`. An error that the others
 * cannot know of ends them, too. */
int cli_ranks_end(cli_run *run, cli_ranks *ranks, int code, bool fault);

#endif
