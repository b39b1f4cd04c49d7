/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `steptime record` passes to the library in the program's environment:
 *
 *     STEPTIME_RECORD          the folder of the run, an absolute path
 *     STEPTIME_RECORD_DEVICE   "h100-sxm,NVIDIA H100,85899345920,90,132": file, name, bytes of
 *                              memory, compute capability times 10, multiprocessors
 *     STEPTIME_RECORD_DEVICES  devices of the process
 *     STEPTIME_RECORD_CHARGES  bytes of a context and of a communicator: "500000000,100000000"
 *     STEPTIME_RECORD_POLICY   zero, shadow or full
 *
 * and, of the program's own: RANK, WORLD_SIZE and LOCAL_RANK, or those of MPI and Slurm.
 */
#ifndef STEPTIME_RECORD_LIBRARY_ENVIRONMENT_H
#define STEPTIME_RECORD_LIBRARY_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

struct st_process;

void st_settings_read(struct st_process *process);
/* Which version of the runtime is loaded now; false: two of them. */
bool st_settings_versions(struct st_process *process);

/* Where a log of this name goes that is not there yet: a program that another one becomes (exec)
 * has its numbers. */
void st_settings_path(const struct st_process *process, const char *name, char *path, size_t bytes);

#endif
