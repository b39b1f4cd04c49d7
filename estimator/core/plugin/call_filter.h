/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls that foreign code may make: those on a list, with the arguments on it. */
#ifndef STEPTIME_PLUGIN_CALL_FILTER_H
#define STEPTIME_PLUGIN_CALL_FILTER_H

#include "steptime/arena.h"

#include <stdbool.h>

enum { ST_REFUSED_CALLS = 1024 };

/* How often each call was refused, by its number; the last one counts all others. */
typedef struct st_refused_calls {
    unsigned counts[ST_REFUSED_CALLS];
} st_refused_calls;

/* In memory that child processes share; NULL when out of memory. */
st_refused_calls *st_refused_calls_create(void);
void st_refused_calls_destroy(st_refused_calls *refused);

/*
 * From now on the kernel refuses this process all other calls (seccomp); false where it cannot.
 * With `refused` a signal counts them, which costs time and which the code may switch off: for its
 * author, not for safety.
 */
bool st_call_filter_install(st_refused_calls *refused);

/* Whether the kernel has what that needs. */
bool st_call_filter_exists(void);

/* "socket (3 times), call 321"; "" where nothing was refused; NULL when out of memory. */
const char *st_refused_text(const st_refused_calls *refused, st_arena *arena);

#endif
