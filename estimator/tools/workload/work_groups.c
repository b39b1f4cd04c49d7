/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks meet whom: groups as arithmetic progressions of the placement. */
#include "workload/workload.h"

#include "base/memory.h"

size_t st_workload_stage(const st_workload *workload, size_t rank)
{
    return st_placement_position(&workload->placement, ST_GROUP_PP, rank);
}

size_t st_workload_peer(const st_workload *workload, size_t rank, size_t stage)
{
    const size_t stride = workload->placement.stride[ST_GROUP_PP];
    return rank - st_workload_stage(workload, rank) * stride + stage * stride;
}

/* One or two progressions whose sums are the members. */
typedef struct axes {
    size_t first;
    size_t size[2];
    size_t stride[2];
} axes;

static axes axes_of(const st_workload *workload, st_group group, size_t rank)
{
    const st_placement *placement = &workload->placement;
    /* Only the first and the last stage take part in the embedding's sum. */
    size_t stage = st_placement_position(placement, ST_GROUP_PP, rank);
    if (group == ST_GROUP_EMBEDDING && stage > 0 && stage + 1 < placement->size[ST_GROUP_PP])
        return (axes){.first = rank, .size = {1, 1}};
    if (group == ST_GROUP_EMBEDDING)
        return (axes){.first = st_workload_peer(workload, rank, 0),
                      .size = {placement->size[group], 1},
                      .stride = {placement->stride[group], 0}};
    /* Ranks without experts of their own reduce those with all other gradients. */
    if (group == ST_GROUP_EXPERT_DP && placement->experts_unfolded)
        group = ST_GROUP_DP;
    axes made = {.first = rank -
                          st_placement_position(placement, group, rank) * placement->stride[group],
                 .size = {placement->size[group], 1},
                 .stride = {placement->stride[group], 0}};
    if (group == ST_GROUP_DP) {
        made.first -=
            st_placement_position(placement, ST_GROUP_CP, rank) * placement->stride[ST_GROUP_CP];
        made.size[1] = placement->size[ST_GROUP_CP];
        made.stride[1] = placement->stride[ST_GROUP_CP];
    }
    return made;
}

size_t st_workload_group_id(const st_workload *workload, st_group group, size_t rank)
{
    return 1 + (size_t)group * workload->placement.ranks + axes_of(workload, group, rank).first;
}

st_work_group st_workload_group(const st_workload *workload, st_group group, size_t rank,
                                st_arena *arena)
{
    axes all = axes_of(workload, group, rank);
    uint32_t *ranks = st_arena_alloc(arena, all.size[0] * all.size[1], sizeof *ranks);
    for (size_t i = 0; i < all.size[0] * all.size[1]; i++)
        ranks[i] = (uint32_t)(all.first + i % all.size[0] * all.stride[0] +
                              i / all.size[0] * all.stride[1]);
    st_sort(ranks, all.size[0] * all.size[1], sizeof *ranks, st_order_indices);
    return (st_work_group){ranks, all.size[0] * all.size[1]};
}
