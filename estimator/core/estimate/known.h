/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread keeps of plans that are asked for again: memory of its own, freed with it. It is
 * too large for a thread-local variable: a library that is opened at run time has little room for
 * these.
 */
#ifndef STEPTIME_ESTIMATE_KNOWN_H
#define STEPTIME_ESTIMATE_KNOWN_H

#include <stddef.h>

typedef enum st_known_kind { ST_KNOWN_LAYOUTS, ST_KNOWN_REPLAYS, ST_KNOWN_KINDS } st_known_kind;

/* The calling thread's memory of a kind, zeros at first; NULL when out of memory. `release`
 * frees what it holds, not itself. */
void *st_known_here(st_known_kind kind, size_t size_bytes, void (*release)(void *own));

#endif
