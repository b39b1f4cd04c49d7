/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether memory was lacking at any time since the process, or what a program calls in its own
 * process, began. Code that asks aside - does this plan fit, is there such a folder - takes a
 * failed allocation for "no" and goes on; the program looks here before it writes a result, so that
 * none of those answers is ever part of one.
 */
#ifndef STEPTIME_BASE_OOM_FLAG_H
#define STEPTIME_BASE_OOM_FLAG_H

#include <dirent.h>
#include <stdbool.h>

void st_oom_note(void);
/*
 * From now on `end` is called where memory is lacking, and does not return. For a program whose own
 * code then need not check what arenas, buffers and lists of errors give it.
 */
void st_oom_end_with(void (*end)(void));
void st_oom_note_errno(int fault); /* an errno: notes that of memory */
/* What happened before, on whatever thread, does not affect what this thread does from now on. */
void st_oom_begin(void);
bool st_oom_happened(void);
/* How often memory was lacking, on any thread: for one call among others. */
unsigned long st_oom_count(void);

/* opendir, which allocates. */
DIR *st_open_folder(const char *path);

#endif
