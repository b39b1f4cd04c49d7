/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds ranks with identical work, so that one of them runs. The rolling hash of what a rank
 * enqueued identifies its work. The ranks form a grid whose axes follow from the communicators of
 * the ranks that ran: a communicator of 8 ranks with stride 2 is an axis, and so is a node. Along
 * each axis the ranks through three points of the grid run; places where all three have equal work
 * are one, and one rank of each combination runs. Random ranks verify the result; a rank that
 * differs adds a point to the axes. With few ranks all of them run.
 */
#ifndef STEPTIME_RECORD_RANK_DEDUP_H
#define STEPTIME_RECORD_RANK_DEDUP_H

#include "record/start_program.h"

#define ST_RANK_DEDUP_FILE "ranks.csv"

typedef struct st_rank_dedup {
    uint32_t world;
    int32_t *as;      /* by rank: the one that ran with identical work; itself if it ran */
    size_t run;       /* ranks that were run, each counted once */
    size_t again;     /* further runs, because ranks got wrong sizes from ncclCommSplit */
    size_t proven;    /* random ranks that verified the result */
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
