/* SPDX-License-Identifier: Apache-2.0 */
/* Computes plans of a search; each thread has its own. */
#ifndef STEPTIME_SEARCH_WORKER_H
#define STEPTIME_SEARCH_WORKER_H

#include "search/search_state.h"

typedef struct st_search_worker st_search_worker;

/* NULL when out of memory. */
st_search_worker *st_search_worker_create(const st_search *search);
void st_search_worker_destroy(st_search_worker *self); /* NULL is fine */

/*
 * Puts the inputs of some plans in place, at most ST_SPACE_MOST_ROWS: those picked by their numbers
 * in the whole space, or where `picks` is NULL those from row `first` of the search on. Ready for
 * st_space_compute.
 */
st_space_worker *st_search_worker_fill(st_search_worker *self, const uint64_t *picks,
                                       uint64_t first, size_t rows);

/*
 * The same of all plans in an order of its own, in which axes move last where that is faster: the
 * visit of a block, and the number of the row that a visit has.
 */
st_space_worker *st_search_worker_visit(st_search_worker *self, uint64_t first, size_t rows);
uint64_t st_search_visited(const st_search_worker *self, uint64_t visit);

/* A block of plans with all their checks; `picks` are their numbers in the whole space. */
typedef void st_search_block(void *context, const st_space_worker *space, const uint64_t *picks,
                             size_t rows);
/* Computes `most` plans of the search, evenly from all, or all of them; for pictures. */
st_status st_search_each_block(const st_search *search, uint64_t most, st_search_block *take,
                               void *context) ST_NODISCARD;

/* Any plan is nearer to fitting than a row that is none. */
enum { ST_INFEASIBLE_CHECKS = 100000 };

/* How many checks a row fails that was computed with all of them. */
double st_search_failing(const st_space *space, const st_space_worker *worker, size_t row);
/* Whether a row is rejected, or exceeds a limit where checks reject nothing. */
bool st_search_is_over(const st_space *space, const st_space_worker *worker, size_t row);
/* Such a row is a plan that exceeds limits and fails nothing else. */
bool st_search_exceeds(const st_space *space, const st_space_worker *worker, size_t row);

#endif
