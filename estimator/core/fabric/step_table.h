/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collective as a table of steps: what every rank sends, receives and sums up, in its order, as a
 * text that holds for any number of ranks or for one. docs/topologies.md describes the language.
 *
 * A table is followed chunk by chunk before it is used: each send must have what it sends, each
 * receive must find it, nothing may be counted twice, and at the end every rank has the result.
 */
#ifndef STEPTIME_FABRIC_STEP_TABLE_H
#define STEPTIME_FABRIC_STEP_TABLE_H

#include "steptime/arena.h"

typedef enum st_collective {
    ST_COLLECTIVE_ALL_REDUCE,
    ST_COLLECTIVE_ALL_GATHER,
    ST_COLLECTIVE_REDUCE_SCATTER,
    ST_COLLECTIVE_ALL_TO_ALL,
    ST_COLLECTIVE_BROADCAST,
    ST_COLLECTIVES
} st_collective;

const char *st_collective_name(st_collective collective);

typedef struct st_steps st_steps; /* a table, read */

/* Ranks that a table is followed for. */
typedef struct st_steps_group {
    uint32_t ranks;
    uint32_t per_node; /* of them on a node */
} st_steps_group;

/* One message of a table. */
typedef struct st_transfer {
    uint32_t from;
    uint32_t to;
    uint32_t round; /* messages of a round do not wait for each other */
    double share;   /* of the collective's message */
} st_transfer;

typedef struct st_transfers {
    st_transfer *items; /* by round; free() */
    size_t count;
    uint32_t rounds;
} st_transfers;

/* Reads a table; errors have file, line and column. */
st_status st_steps_read(const st_source *source, st_arena *arena, const st_steps **steps,
                        st_errors *errors) ST_NODISCARD;

st_collective st_steps_collective(const st_steps *steps);

/* "any number of ranks", "4 ranks", "a multiple of 8 ranks" */
const char *st_steps_ranks(const st_steps *steps, st_arena *arena);

/* Whether the table says that it holds for the group; one rank sends nothing, and has no steps. */
bool st_steps_fit(const st_steps *steps, const st_steps_group *group);

/*
 * Follows the table. Refused, with the line of the step: a number of ranks that it does not hold
 * for, a deadlock, a chunk that a rank sends and has not, what is never received, a value counted
 * twice, a rank without the result, too many steps to simulate.
 */
st_status st_steps_follow(const st_steps *steps, const st_steps_group *group,
                          st_transfers *transfers, st_errors *errors) ST_NODISCARD;

#endif
