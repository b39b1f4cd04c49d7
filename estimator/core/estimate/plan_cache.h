/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of plans per thread, freed with it. It is too large for a thread-local variable: a
 * library opened at run time has little room for these.
 */
#ifndef STEPTIME_ESTIMATE_PLAN_CACHE_H
#define STEPTIME_ESTIMATE_PLAN_CACHE_H

#include <stddef.h>

typedef enum st_plan_cache_kind {
    ST_PLAN_CACHE_LAYOUTS,
    ST_PLAN_CACHE_REPLAYS,
    ST_PLAN_CACHE_KINDS
} st_plan_cache_kind;

/* The calling thread's memory of a kind, zeros at first; NULL when out of memory. `release`
 * frees what it holds, not itself. */
void *st_plan_cache(st_plan_cache_kind kind, size_t size_bytes, void (*release)(void *state));

#endif
