/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What isolates foreign code from the rest of the machine, in addition to the call filter
 * (confine.h): namespaces of the kernel. Each is tried by itself, as containers and administrators
 * forbid some of them, and what holds is reported, so that nothing is claimed that is not there.
 */
#ifndef STEPTIME_PLUGIN_NAMESPACES_H
#define STEPTIME_PLUGIN_NAMESPACES_H

#include "steptime/arena.h"

#include <sys/types.h>

enum {
    ST_WALL_FILTER = 1,     /* only the calls that computing needs are allowed */
    ST_WALL_USER = 2,       /* no rights over what belongs to others, even for root */
    ST_WALL_NETWORK = 4,    /* no network at all: no socket or a network of its own */
    ST_WALL_IPC = 8,        /* no shared memory or queues of others */
    ST_WALL_FILES = 16,     /* every file system is mounted read-only */
    ST_WALL_PROCESSES = 32, /* reaches no process of others, and leaves none */
    ST_WALL_LANDLOCK = 64,  /* Landlock: changes no file and uses no port, whatever calls do it */
    ST_WALLS = 127
};

enum { ST_NO_PROCESS = 71 }; /* a keeper's status where the system starts no more; as sysexits.h */

/*
 * fork() for foreign code: 0 in the new process, which has the walls that are reported, and -1 with
 * errno where there is none. The process whose number the caller gets is a keeper between the two:
 * it ends as the new one ends, by the same signal or status, and with its caller; and whatever the
 * new process may have started ends with it. Its group has its own number.
 */
pid_t st_namespaces_fork(unsigned *walls);

/* Has a keeper end, with all that it keeps, and waits for that: whatever is stopped or stops again
 * is killed after a second. */
void st_namespaces_end(pid_t keeper, int *status);

/* "filtered system calls, read-only files, no network, ..."; "" for none, NULL when out of memory.
 */
const char *st_walls_text(unsigned walls, st_arena *arena);

#endif
