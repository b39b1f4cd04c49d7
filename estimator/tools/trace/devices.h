/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of several GPUs in one file: of one process that drives them, or of ranks whose files
 * were merged. */
#ifndef STEPTIME_TRACE_DEVICES_H
#define STEPTIME_TRACE_DEVICES_H

#include "trace/link.h"

typedef struct st_trace_device {
    int64_t number;
    int64_t process; /* that alone launches on it; -1: all do */
} st_trace_device;

/* The devices with tasks, by number, and how many; `are_ranks`: each has a process of its own. */
size_t st_trace_devices(const st_trace *trace, st_arena *arena, st_trace_device **found,
                        bool *are_ranks);

/* Takes away what is of other devices and of other processes. */
void st_trace_keep_device(st_trace *trace, const st_trace_device *one);

#endif
