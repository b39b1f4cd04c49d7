/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a process is active, from /proc. */
#ifndef STEPTIME_RECORD_WAITING_H
#define STEPTIME_RECORD_WAITING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct st_activity {
    uint64_t cpu_ns; /* of all threads and children that are alive */
    bool busy;       /* one of them runs, or waits for a disk */
} st_activity;

/* False where nothing can be read, as of a process that has just ended. */
bool st_activity_of(pid_t pid, st_activity *activity);

#endif
