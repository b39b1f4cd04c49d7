/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temporary files and folders that have a name: what a signal handler removes before the program
 * ends. Few have one: outputs are unnamed until they are whole, where the system knows such files.
 */
#ifndef STEPTIME_BASE_SCRATCH_H
#define STEPTIME_BASE_SCRATCH_H

#include <signal.h>
#include <stdbool.h>

enum { ST_SCRATCH_MOST = 64 };

/*
 * Notes a file, or a folder with the files in it; the text stays where it is until it is forgotten.
 * False: there are ST_SCRATCH_MOST already, and it is not noted.
 */
bool st_scratch_note(const char *path);
void st_scratch_forget(const char *path); /* one that was not noted is fine */

/* Removes all of them. Can be called from a signal handler. */
void st_scratch_remove(void);

/*
 * Signals that end the program wait from hold to release, on this thread: between two calls that
 * must not be parted, for microseconds.
 */
void st_signals_hold(sigset_t *before);
void st_signals_release(const sigset_t *before);

#endif
