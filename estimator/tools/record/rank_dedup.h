/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that do the same as others, so that these alone are run.
 *
 * A rank is told by the rolling hash of what it enqueued. Ranks are taken for the corners of a
 * grid, whose axes the communicators of the ranks that ran tell: a communicator of 8 ranks that are
 * 2 apart is an axis, and so is a node. Ranks along each axis are run through three points of the
 * grid; places on an axis where all three do the same are one, and of each combination one rank is
 * run. Ranks taken at random then prove it, and one that does not do what it should gives the axes
 * another point. All of a few ranks are run.
 */
#ifndef STEPTIME_RECORD_RANK_DEDUP_H
#define STEPTIME_RECORD_RANK_DEDUP_H

#include "record/start_program.h"

#define ST_RANK_DEDUP_FILE "ranks.csv"

typedef struct st_rank_dedup {
    uint32_t world;
    int32_t *as;      /* by rank: the one that was run and does the same; itself where it was run */
    size_t run;       /* ranks that were run, each counted once */
    size_t again;     /* runs beside these, since they were told wrong counts of ncclCommSplit */
    size_t proven;    /* of the ranks, those run to prove the others that did as they should */
    bool is_complete; /* every rank was run */
    bool met;         /* because they wait for one another */
} st_rank_dedup;

/*
 * Runs what has to be run of the request's world. On success dedup->as is in `arena`. Where ranks
 * fail, no more are run than the grid's first points.
 */
st_status st_rank_dedup_run(st_fleet *fleet, const st_launch_request *request, st_arena *arena,
                            st_rank_dedup *dedup, st_errors *errors) ST_NODISCARD;

/* Which rank does as which: a table with the columns first, count and as. */
void st_rank_dedup_write(const st_rank_dedup *dedup, st_buffer *text);
/* Reads it: as[rank] of `world` ranks, -1 where it says nothing; *found is false where the run has
 * none. */
st_status st_rank_dedup_read(const char *folder, uint64_t world, st_arena *arena, int32_t **as,
                             bool *found, st_errors *errors) ST_NODISCARD;

#endif
