/* SPDX-License-Identifier: Apache-2.0 */
/* What-if of kernels by their names, and of what the host does for them. */
#ifndef STEPTIME_TRACE_WHATIF_HOST_H
#define STEPTIME_TRACE_WHATIF_HOST_H

#include "trace/whatif_edit.h"

/* Makes a task last `factor` times as long. */
void st_whatif_scale(st_whatif *w, st_task_id task, double factor);
/* Whether a task is work of a rank's thread that launches or waits; others only watch, or go on at
 * their own pace. */
bool st_whatif_is_host_work(const st_whatif *w, const st_trace_rank *rank, st_task_id task);
bool st_whatif_has_kernel(const st_trace *trace, const char *pattern);
/* How much longer the patterns make a kernel (an event) last; 0: it is gone. */
double st_whatif_kernel_factor(const st_whatif *w, const st_trace *trace, size_t event);
/*
 * The host of a rank (an index): without the calls of kernels that are gone and what led to them,
 * with those of further kernels, with shorter calls that launch, and all of it faster. A thread's
 * tasks follow each other in the graph, cut where calls begin.
 */
void st_whatif_host(st_whatif *w, size_t rank, const st_whatif_launches *launches);

#endif
