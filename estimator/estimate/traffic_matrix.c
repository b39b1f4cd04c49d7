/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends how much to whom: flows rank by rank, and their sums in closed form. */
#include "estimate/placement.h"

typedef struct st_traffic_walk {
    const st_placement *placement;
    const st_traffic *traffic;
    bool (*visit)(void *context, const st_flow *flow);
    void *context;
} st_traffic_walk;

static bool send(const st_traffic_walk *walk, st_group group, size_t source, size_t target,
                 uint64_t bytes)
{
    st_flow flow = {.source = source, .target = target, .group = group, .bytes = bytes};
    return bytes == 0 || source == target || walk->visit(walk->context, &flow);
}

/* To the next rank of the group; the last sends to the first. */
static bool send_ring(const st_traffic_walk *walk, st_group group, size_t rank)
{
    const st_placement *placement = walk->placement;
    st_group_shape shape = st_placement_shape(placement, group, rank);
    size_t stride = placement->stride[group];
    if (shape.ranks == 1)
        return true;
    size_t along = (rank - shape.first_rank) / stride;
    size_t next = shape.first_rank + (along + 1) % shape.ranks * stride;
    return send(walk, group, rank, next, walk->traffic->sent_bytes[group]);
}

/* Activations to the next stage, their gradients to the one before. */
static bool send_stages(const st_traffic_walk *walk, size_t rank)
{
    const st_placement *placement = walk->placement;
    size_t stride = placement->stride[ST_GROUP_PP];
    size_t stages = placement->size[ST_GROUP_PP];
    size_t stage = rank / stride % stages;
    uint64_t bytes = walk->traffic->sent_bytes[ST_GROUP_PP];
    if (stage > 0 && !send(walk, ST_GROUP_PP, rank, rank - stride, bytes))
        return false;
    return stage + 1 >= stages || send(walk, ST_GROUP_PP, rank, rank + stride, bytes);
}

/* An equal share to everybody else; bytes that are left over go to the first ones. */
static bool send_all(const st_traffic_walk *walk, size_t rank)
{
    const st_placement *placement = walk->placement;
    st_group_shape shape = st_placement_shape(placement, ST_GROUP_EP, rank);
    uint64_t bytes = walk->traffic->sent_bytes[ST_GROUP_EP];
    uint64_t others = shape.ranks - 1;
    if (others == 0)
        return true;
    uint64_t left = bytes % others;
    for (size_t i = 0; i < shape.ranks; i++) {
        size_t target = shape.first_rank + i * placement->stride[ST_GROUP_EP];
        if (target == rank)
            continue;
        uint64_t share = bytes / others + (left > 0 ? 1 : 0);
        left -= left > 0 ? 1 : 0;
        if (!send(walk, ST_GROUP_EP, rank, target, share))
            return false;
    }
    return true;
}

void st_traffic_visit(const st_placement *placement, const st_traffic *traffic,
                      bool (*visit)(void *context, const st_flow *flow), void *context)
{
    st_traffic_walk walk = {
        .placement = placement, .traffic = traffic, .visit = visit, .context = context};
    for (size_t rank = 0; rank < placement->ranks; rank++)
        if (!send_ring(&walk, ST_GROUP_TP, rank) || !send_ring(&walk, ST_GROUP_CP, rank) ||
            !send_all(&walk, rank) || !send_ring(&walk, ST_GROUP_DP, rank) ||
            !send_stages(&walk, rank) || !send_ring(&walk, ST_GROUP_EMBEDDING, rank))
            return;
}

uint64_t st_traffic_total_bytes(const st_placement *placement, const st_traffic *traffic,
                                st_group group)
{
    uint64_t ranks = placement->ranks;
    if (placement->size[group] == 1)
        return 0;
    if (group == ST_GROUP_PP) {
        uint64_t stages = placement->size[ST_GROUP_PP];
        return 2 * (stages - 1) * (ranks / stages) * traffic->sent_bytes[group];
    }
    if (group == ST_GROUP_EMBEDDING)
        return 2 * st_placement_group_count(placement, group) * traffic->sent_bytes[group];
    return ranks * traffic->sent_bytes[group];
}
