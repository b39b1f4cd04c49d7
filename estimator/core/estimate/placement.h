/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placement: which ranks of a plan share a node, and who sends how much to whom.
 *
 * Ranks are numbered by an order such as "tp-cp-ep-dp-pp": the first group's neighbours have
 * neighbouring numbers, and rank r runs on node r / gpus_per_node. Experts fold the ranks of a
 * stage anew, as Megatron-Core does: in the same order, tp is the size inside of an expert, cp is 1
 * and dp gives place to ep and then to the ranks that hold the same experts; "ep" in an order only
 * says that they exist.
 */
#ifndef STEPTIME_ESTIMATE_PLACEMENT_H
#define STEPTIME_ESTIMATE_PLACEMENT_H

#include "estimate/token_shares.h"
#include "steptime/tool/rank_groups.h"

/* The order of Megatron-LM; the default where a job says nothing. */
#define ST_PLACEMENT_ORDER "tp-cp-ep-dp-pp"

/* The group of one rank, in closed form. */
typedef struct st_group_shape {
    size_t first_rank;
    size_t ranks;
    size_t nodes;         /* that it touches */
    size_t most_per_node; /* ranks on the node that holds most of it */
} st_group_shape;

/* The group of a kind that a rank is in; a rank that has no part in one is a group alone. */
st_group_shape st_placement_shape(const st_placement *placement, st_group group, size_t rank);
/* Groups of a kind; embedding groups exist only for ranks of the first and the last stage. */
size_t st_placement_group_count(const st_placement *placement, st_group group);
/* True when every group of the kind has the same shape up to its first rank. */
bool st_placement_is_even(const st_placement *placement, st_group group);
/*
 * Groups of the kind that leave a full node together and share its network cards; 0 when the first
 * group does not leave its node.
 */
size_t st_placement_sharing(const st_placement *placement, st_group group);

/* Bytes of a rank's tokens in all dispatches together, with what stays; half of them there and half
 * back. */
typedef struct st_token_bytes {
    uint64_t exchanged; /* to a rank of each group of `experts_joined` with experts of a token */
    uint64_t forwarded; /* from there to the ranks of the group that have them */
} st_token_bytes;

/* Bytes that a rank sends in a step; whole numbers. */
typedef struct st_traffic {
    /* By stage and kind: rings to the next rank; pp to the next stage, and as much to the one
     * before; ep around a ring where `token_bytes` are 0, and in their place where there are none
     */
    const uint64_t (*sent_bytes)[ST_GROUPS];
    const st_token_bytes *token_bytes; /* by stage; NULL: ep is exchanged, with what stays */
    size_t experts_joined;             /* ranks of an expert group that forward; 0 is 1 */
    uint64_t around_bytes;             /* from the last to the first stage, and as much back */
    /* Tokens of the busiest rank of an expert group, the first one, over the mean; 0 is 1. */
    double expert_load;
    const st_token_shares *tokens; /* who gets which share instead; NULL: by expert_load */
} st_traffic;

typedef struct st_flow {
    size_t source;
    size_t target;
    st_group group;
    uint64_t bytes;
} st_flow;

/*
 * Calls `visit` with every flow that is not zero, by source rank; stops where it returns false.
 * Rings (tp, cp, dp with cp, expert_dp, embedding, gathered tokens) send to the next rank of the
 * group, stages to their neighbours (forward and back), experts as `token_bytes` says. Needs no
 * memory for the matrix.
 */
void st_traffic_visit(const st_placement *placement, const st_traffic *traffic,
                      bool (*visit)(void *context, const st_flow *flow), void *context);

/* Whether tokens go around a ring to everyone in the expert group. */
bool st_traffic_gathers_tokens(const st_placement *placement, const st_traffic *traffic);

/* What a rank of a stage sends of a kind, mean over the stage's ranks, in bytes. */
uint64_t st_traffic_sent_bytes(const st_placement *placement, const st_traffic *traffic,
                               st_group group, size_t stage);

/* What the flows of a kind sum up to over all ranks, in bytes, in closed form. */
uint64_t st_traffic_total_bytes(const st_placement *placement, const st_traffic *traffic,
                                st_group group);

#endif
