/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes that share a search. Without MPI there is one.
 *
 * The program itself knows no MPI: a module of its own does, which is loaded where the program was
 * started by mpirun, so that a single estimate does not pay for it.
 */
#ifndef STEPTIME_SEARCH_PROCESSES_H
#define STEPTIME_SEARCH_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct st_processes {
    int rank;
    int count;
    /* Puts `bytes` of every process one behind the other into `all`; 0 when it succeeded. */
    int (*gather)(void *context, const void *own, size_t bytes, void *all);
    void *context;
} st_processes;

static const st_processes st_one_process = {.rank = 0, .count = 1, .gather = NULL, .context = NULL};

#endif
