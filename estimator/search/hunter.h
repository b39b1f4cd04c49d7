/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator of a search, for who asks for plans one by one; each thread has its own. */
#ifndef STEPTIME_SEARCH_HUNTER_H
#define STEPTIME_SEARCH_HUNTER_H

#include "search/search.h"

typedef struct st_hunter st_hunter;

/* NULL when out of memory. */
st_hunter *st_hunter_create(const st_search *search);
void st_hunter_destroy(st_hunter *self);

/*
 * Puts the inputs of some plans in place, at most ST_SPACE_BLOCK: those picked by their numbers in
 * the whole space, or where `picks` is NULL those from row `first` of the search on. Ready for
 * st_space_compute.
 */
st_space_worker *st_hunter_fill(st_hunter *self, const uint64_t *picks, uint64_t first,
                                size_t rows);

/* Any plan is nearer to fitting than a row that is none. */
enum { ST_STRAY_FAULTS = 100000 };

/* How many checks a row fails that was computed with all of them. */
double st_search_faults(const st_space *space, const st_space_worker *worker, size_t row);

/* Puts a plan into a ranking of `count` plans where it is among the best `top`; the new count. */
size_t st_ranking_add(st_found *ranking, size_t count, const st_found *one, size_t top);

#endif
