/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What foreign code may do in a process that is its own: compute, take memory, start threads and
 * read files. Not: start processes or programs, signal others, write, make, rename or remove files,
 * talk over networks.
 */
#ifndef STEPTIME_PLUGIN_CONFINE_H
#define STEPTIME_PLUGIN_CONFINE_H

#include "plugin/call_filter.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct st_confine_limits {
    size_t memory_bytes; /* of address space; 0: no limit */
    int kept;            /* the descriptor that stays open with the standard streams; -1: none */
    st_refused_calls
        *refused; /* counts them, in memory shared with the caller; NULL: nobody asks */
} st_confine_limits;

/*
 * For a process that was just forked: standard streams become /dev/null, other descriptors are
 * closed, and the rest holds from now on. Limits of resources hold on every system; the result says
 * what the kernel also refuses: ST_WALL_FILTER, ST_WALL_LANDLOCK (namespaces.h).
 */
unsigned st_confine(const st_confine_limits *limits);

/* This process from now on: open descriptors stay, and can be written to. The result as above. */
unsigned st_confine_here(void);

/* Whether it was called: no other process can be started. */
bool st_is_confined_here(void);

/* The part that concerns open files. */
void st_confine_files(int kept);

#endif
