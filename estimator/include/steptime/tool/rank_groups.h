/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of ranks, and where a plan places them. */
#ifndef STEPTIME_TOOL_RANK_GROUPS_H
#define STEPTIME_TOOL_RANK_GROUPS_H

#include "steptime/job.h"

typedef enum st_group {
    ST_GROUP_TP,
    ST_GROUP_CP,
    ST_GROUP_EP,
    ST_GROUP_DP,
    ST_GROUP_PP,
    ST_GROUP_EMBEDDING, /* first and last stage, which both hold the word embedding */
    ST_GROUP_EXPERT_DP, /* ranks that hold the same experts */
    ST_GROUPS
} st_group;

const char *st_group_name(st_group group); /* "tp" ... "pp", "emb", "expert_dp" */

typedef struct st_placement {
    size_t size[ST_GROUPS];   /* ranks of a group */
    size_t stride[ST_GROUPS]; /* between neighbours of a group */
    size_t ranks;
    size_t gpus_per_node;
    bool experts_unfolded; /* ranks with the same experts are those that reduce gradients */
} st_placement;

/* The position of a rank in its group along an axis. */
size_t st_placement_position(const st_placement *placement, st_group axis, size_t rank);

/* Sizes of all groups from tp to pp; gpus_per_node at least 1. */
typedef struct st_placement_plan {
    size_t size[ST_GROUPS];
    size_t expert_tp; /* ranks of an expert; 0: as tp */
    size_t gpus_per_node;
    const char *order; /* NULL: ST_PLACEMENT_ORDER */
    st_place place;    /* of the order, for messages */
} st_placement_plan;

/*
 * Refuses an order that names a group twice or not at all although it has several ranks, unknown
 * groups, sizes whose product is too large, and expert groups that do not divide the ranks of a
 * stage or would lie across stages.
 */
st_status st_placement_create(const st_placement_plan *plan, st_placement *placement,
                              st_errors *errors) ST_NODISCARD;

/* Places the ranks of a job, as parallel.* says. */
st_status st_traffic_place(const st_job *job, size_t gpus_per_node, st_placement *placement,
                           st_errors *errors) ST_NODISCARD;

#endif
