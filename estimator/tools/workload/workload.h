/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of a rank as other simulators take it: what it computes, in which collectives and
 * transfers it takes part, and what waits for what.
 *
 * It is made of a timeline with one rank of each stage: all ranks of a stage do the same, in groups
 * of their own. A task of a timeline represents all messages of its kind in a pass, so that a node
 * of communication carries all of their bytes: of what a rank sends in a step nothing is lost.
 */
#ifndef STEPTIME_WORKLOAD_WORKLOAD_H
#define STEPTIME_WORKLOAD_WORKLOAD_H

#include "steptime/estimate.h"
#include "steptime/tool/rank_groups.h"
#include "steptime/tool/timelines.h"
#include "workload/chakra.h"

#define ST_NODE_NONE UINT32_MAX

/* What a rank does; names and lists live in the arena of who made it. */
typedef struct st_work_node {
    const char *name;
    st_chakra_type type; /* ST_CHAKRA_COMP, _SEND, _RECV or _COLL */
    st_chakra_collective collective;
    st_group group; /* of a collective */
    bool host;      /* nothing of the GPU: waiting for launches */
    bool is_pass;   /* computation of a forward, backward or weights pass itself */
    uint64_t bytes; /* of a message: a rank's share of an all-gather, else all that it hands over */
    int64_t start;  /* of the timeline, in its ticks */
    int64_t duration;
    uint32_t peer; /* of a transfer: the stage it goes to or comes from */
    uint32_t tag;  /* counts the transfers from one stage to another */
    uint32_t dep_first;
    uint32_t dep_count;
} st_work_node;

/* What every rank of a stage does, each node after those that it waits for. */
typedef struct st_work_stage {
    st_work_node *nodes;
    size_t count;
    uint32_t *deps; /* nodes of the stage that another one waits for */
    size_t dep_count;
} st_work_stage;

typedef struct st_workload {
    const char *job;
    const char *sheet;
    const char *schedule;
    st_placement placement;
    uint32_t cp;     /* ranks reduce gradients over dp and cp together */
    uint32_t micros; /* micro-batches of a pipeline */
    uint32_t chunks; /* of a stage */
    st_work_stage *stages;
    size_t stage_count;
    uint64_t unplaced[ST_GROUPS]; /* bytes of a step without a task; of the stage with most */
} st_workload;

/*
 * The workload of an estimate that is loaded and whose timeline is folded, in `arena`. Refused: a
 * sheet that does not say how many bytes its collectives carry (role 'handed'). Bytes for which the
 * timeline has no task (they hide inside passes or take no time) cause warnings.
 */
st_status st_workload_make(st_estimate *estimate, const st_timeline *timeline, st_arena *arena,
                           st_workload *workload, st_errors *errors) ST_NODISCARD;

/* Ranks of a rank's group, ascending; 1 if it is alone. */
typedef struct st_work_group {
    uint32_t *ranks;
    size_t count;
} st_work_group;

st_work_group st_workload_group(const st_workload *workload, st_group group, size_t rank,
                                st_arena *arena);
/* The stage of a rank, and the rank of another stage that has the same place in it. */
size_t st_workload_stage(const st_workload *workload, size_t rank);
size_t st_workload_peer(const st_workload *workload, size_t rank, size_t stage);

/* A number of the group that its members agree on, above 0: what Chakra names it. */
size_t st_workload_group_id(const st_workload *workload, st_group group, size_t rank);

/* --- Chakra ---------------------------------------------------------------------------------- */

/* The trace of a rank, appended to `buffer`. */
void st_chakra_write(const st_workload *workload, size_t rank, st_buffer *buffer);

/*
 * Writes JOB.RANK.et for each of the ranks, and comm_group.json with the groups that they are in,
 * into a folder that must not exist yet, or be empty: all of it, or nothing.
 */
typedef struct st_chakra_request {
    const char *folder;
    const char *name; /* of the files */
    const uint32_t *ranks;
    size_t count;
} st_chakra_request;

st_status st_chakra_write_folder(const st_workload *workload, const st_chakra_request *request,
                                 uint64_t *bytes, st_errors *errors) ST_NODISCARD;

#endif
