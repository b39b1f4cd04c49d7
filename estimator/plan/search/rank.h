/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a search ranks: the best plans, a Pareto front of two cells, and the plan that is nearest
 * to fitting where none fits. Plans are compared by their cells and then by their numbers, so that
 * neither threads nor processes affect the result.
 */
#ifndef STEPTIME_SEARCH_RANK_H
#define STEPTIME_SEARCH_RANK_H

#include "steptime/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ST_RANK_MAX_FRONT = 10000 };

/* A plan that was found: its number and values. */
typedef struct st_found {
    uint64_t row;
    double goal;
    double front[2];
    bool too_large; /* exceeds a limit, such as the memory of a GPU; kept with --all alone */
} st_found;

/* What one thread, one process or all of them have found. */
typedef struct st_results {
    st_found *ranking; /* the best first */
    size_t ranking_count;
    size_t top;      /* plans that it holds at most */
    st_found *front; /* by the first cell; NULL: none is wanted */
    size_t front_count;
    bool front_full; /* more points than are kept */
    uint64_t done;   /* plans that were looked at */
    uint64_t kept;   /* plans that pass all checks */
    uint64_t *reasons;
    size_t reason_count;
    st_found nearest; /* goal: checks that fail; front[0]: how far from fitting */
    bool has_nearest;
} st_results;

/* Empty results in `arena`; false when out of memory. */
bool st_results_make(st_results *results, size_t top, bool has_front, size_t reason_count,
                     st_arena *arena);
void st_results_clear(st_results *results);

/* Adds a plan to the ranking where it is among the best. */
void st_rank_add(st_results *results, const st_found *one);
/* The last of the best plans; NULL while there is room for more. */
const st_found *st_rank_worst(const st_results *results);
/* Keeps the points that no other beats in both cells: the second falls as the first rises. */
void st_rank_add_front(st_results *results, const st_found *one);
/* A plan that fails so many checks and needs so much of what is scarce: the nearest one stays. */
void st_rank_add_nearest(st_results *results, uint64_t row, double failing, double need);

/* Adds all that was found elsewhere. */
void st_results_merge(st_results *into, const st_results *from);

/* Results as bytes for another process: as many whatever was found, at a multiple of 8. */
size_t st_results_bytes(const st_results *results);
void st_results_pack(const st_results *results, unsigned char *bytes);
void st_results_merge_packed(st_results *into, unsigned char *bytes);

#endif
