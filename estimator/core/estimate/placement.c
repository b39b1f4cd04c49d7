/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders and shapes. A group is an arithmetic progression of ranks, so what it touches follows from
 * its first rank, its stride and its size; nothing loops over ranks.
 */
#include "estimate/placement.h"

#include <string.h>

enum { MOST_RANKS = 100000000 };

static const char *const names[ST_GROUPS] = {"tp", "cp", "ep", "dp", "pp", "emb", "expert_dp"};

const char *st_group_name(st_group group)
{
    return names[group];
}

/* The group that a word of the order names; ST_GROUPS when it names none. */
static st_group find_group(const char *word, size_t length)
{
    for (st_group group = ST_GROUP_TP; group < ST_GROUP_EMBEDDING; group++)
        if (length == strlen(names[group]) && memcmp(word, names[group], length) == 0)
            return group;
    return ST_GROUPS;
}

static st_status read_order(const st_placement_plan *plan, st_placement *placement,
                            st_errors *errors)
{
    const char *order = plan->order == NULL ? ST_PLACEMENT_ORDER : plan->order;
    bool named[ST_GROUPS] = {false};
    for (const char *word = order; *word != '\0';) {
        size_t length = strcspn(word, "-");
        st_group group = find_group(word, length);
        if (group == ST_GROUPS || named[group])
            return st_fail(errors, ST_ERR_VALUE, plan->place,
                           "unexpected '%.*s' in order '%.60s'" ST_EXPECTED
                           "tp, cp, ep, dp and pp joined by '-', each at most once",
                           length > 20 ? 20 : (int)length, word, order);
        named[group] = true;
        if (group != ST_GROUP_EP) { /* cut out of dp below */
            placement->stride[group] = placement->ranks;
            placement->ranks *= placement->size[group];
        }
        if (placement->ranks > MOST_RANKS)
            return st_fail(errors, ST_ERR_VALUE, plan->place,
                           "the plan has too many ranks" ST_EXPECTED "at most 100,000,000");
        word += length + (word[length] == '-' ? 1 : 0);
    }
    for (st_group group = ST_GROUP_TP; group < ST_GROUP_EMBEDDING; group++) {
        if (group != ST_GROUP_EP && placement->size[group] > 1 && !named[group])
            return st_fail(errors, ST_ERR_VALUE, plan->place,
                           "order '%.60s' omits '%s' (%zu ranks)" ST_EXPECTED
                           "every group with more than one rank",
                           order, names[group], placement->size[group]);
    }
    return ST_OK;
}

/* Experts at the place of dp, or before the stages where the order has none. */
static void next_place(st_placement *placement, size_t *stride)
{
    placement->stride[ST_GROUP_EP] = *stride;
    *stride *= placement->size[ST_GROUP_EP];
    placement->stride[ST_GROUP_EXPERT_DP] = *stride;
    *stride *= placement->size[ST_GROUP_EXPERT_DP];
}

static st_status place_experts(const st_placement_plan *plan, st_placement *placement,
                               st_errors *errors)
{
    const char *order = plan->order == NULL ? ST_PLACEMENT_ORDER : plan->order;
    const size_t *size = placement->size;
    size_t expert_tp = plan->expert_tp > 0 ? plan->expert_tp : size[ST_GROUP_TP];
    size_t ranks = size[ST_GROUP_TP] * size[ST_GROUP_CP] * size[ST_GROUP_DP];
    if (expert_tp > ranks || ranks % (size[ST_GROUP_EP] * expert_tp) != 0)
        return st_fail(errors, ST_ERR_VALUE, plan->place,
                       "expert groups of %zu x %zu ranks (ep x expert_tp) do not divide the %zu "
                       "ranks of a stage" ST_EXPECTED "a divisor of %zu",
                       size[ST_GROUP_EP], expert_tp, ranks, ranks);
    placement->size[ST_GROUP_EXPERT_DP] = ranks / (size[ST_GROUP_EP] * expert_tp);
    /* Strides of the experts' groups; whether they leave the stages where they are. */
    size_t stride = 1;
    bool placed = false;
    bool fits = true;
    bool data_named = strstr(order, "dp") != NULL;
    for (const char *word = order; *word != '\0';) {
        size_t length = strcspn(word, "-");
        st_group group = find_group(word, length);
        if (group == ST_GROUP_TP)
            stride *= expert_tp;
        if (group == ST_GROUP_DP || (group == ST_GROUP_PP && !data_named)) {
            next_place(placement, &stride);
            placed = true;
        }
        if (group == ST_GROUP_PP) {
            fits = stride == placement->stride[ST_GROUP_PP] || placement->size[ST_GROUP_PP] == 1;
            stride *= placement->size[ST_GROUP_PP];
        }
        word += length + (word[length] == '-' ? 1 : 0);
    }
    if (!placed)
        next_place(placement, &stride);
    placement->experts_unfolded = size[ST_GROUP_EP] == 1 && expert_tp == size[ST_GROUP_TP];
    if (fits || placement->experts_unfolded)
        return ST_OK;
    return st_fail(errors, ST_ERR_VALUE, plan->place,
                   "in order '%.60s', expert groups of %zu x %zu ranks span "
                   "stages" ST_EXPECTED "pp behind dp, or expert_tp of %zu",
                   order, size[ST_GROUP_EP], expert_tp, placement->stride[ST_GROUP_PP]);
}

st_status st_placement_create(const st_placement_plan *plan, st_placement *placement,
                              st_errors *errors)
{
    st_placement made = {.ranks = 1, .gpus_per_node = plan->gpus_per_node};
    for (st_group group = ST_GROUP_TP; group < ST_GROUP_EMBEDDING; group++) {
        made.size[group] = plan->size[group];
        made.stride[group] = 1;
        if (plan->size[group] == 0 || plan->size[group] > MOST_RANKS)
            return st_fail(errors, ST_ERR_VALUE, plan->place,
                           "group '%s' has %zu ranks" ST_EXPECTED "1 to 100,000,000", names[group],
                           plan->size[group]);
    }
    if (plan->gpus_per_node == 0)
        return st_fail(errors, ST_ERR_VALUE, plan->place,
                       "nodes have no GPUs" ST_EXPECTED "at least one");
    st_status status = read_order(plan, &made, errors);
    if (status != ST_OK)
        return status;
    status = place_experts(plan, &made, errors);
    if (status != ST_OK)
        return status;
    made.size[ST_GROUP_EMBEDDING] = made.size[ST_GROUP_PP] > 1 ? 2 : 1;
    made.stride[ST_GROUP_EMBEDDING] = (made.size[ST_GROUP_PP] - 1) * made.stride[ST_GROUP_PP];
    *placement = made;
    return ST_OK;
}

/* --- shapes ---------------------------------------------------------------------------------- */

/* Position of a rank along a group's axis. */
size_t st_placement_position(const st_placement *placement, st_group axis, size_t rank)
{
    return rank / placement->stride[axis] % placement->size[axis];
}

st_group_shape st_placement_shape(const st_placement *placement, st_group group, size_t rank)
{
    /* A rank without neighbours of this kind: a middle stage has no part in the embedding's sum. */
    bool is_alone = true;
    if (placement->size[group] != 1) {
        size_t stage = st_placement_position(placement, ST_GROUP_PP, rank);
        is_alone =
            group == ST_GROUP_EMBEDDING && stage != 0 && stage + 1 != placement->size[ST_GROUP_PP];
    }
    if (is_alone)
        return (st_group_shape){.first_rank = rank, .ranks = 1, .nodes = 1, .most_per_node = 1};
    size_t stride = placement->stride[group];
    size_t per_node = placement->gpus_per_node;
    size_t first;
    if (group == ST_GROUP_EMBEDDING) {
        size_t stage = st_placement_position(placement, ST_GROUP_PP, rank);
        bool first_last = stage > 0 && stage + 1 == placement->size[ST_GROUP_PP];
        first = first_last ? rank - placement->stride[ST_GROUP_EMBEDDING] : rank;
    } else {
        first = rank - st_placement_position(placement, group, rank) * placement->stride[group];
    }
    st_group_shape shape = {
        .first_rank = first, .ranks = placement->size[group], .most_per_node = 1};
    size_t last = shape.first_rank + (shape.ranks - 1) * stride;
    if (stride >= per_node) {
        shape.nodes = shape.ranks; /* every step leaves the node */
        return shape;
    }
    size_t first_node = shape.first_rank / per_node;
    size_t last_node = last / per_node;
    shape.nodes = last_node - first_node + 1; /* no step jumps over a node */
    /* How many fall on a node repeats with a period of `stride` nodes. */
    for (size_t i = 0; i < shape.nodes && i <= stride; i++) {
        /* Members of the progression first, first + stride, ... that fall on one node. */
        const size_t member_first = shape.first_rank;
        size_t member_stride = placement->stride[group];
        size_t begin = (first_node + i) * placement->gpus_per_node;
        size_t end = begin + placement->gpus_per_node;
        size_t lowest =
            begin > member_first ? (begin - member_first + member_stride - 1) / member_stride : 0;
        size_t beyond =
            end > member_first ? (end - member_first + member_stride - 1) / member_stride : 0;
        size_t size = placement->size[group];
        beyond = beyond > size ? size : beyond;
        size_t members = beyond > lowest ? beyond - lowest : 0;
        shape.most_per_node = members > shape.most_per_node ? members : shape.most_per_node;
    }
    return shape;
}

size_t st_placement_group_count(const st_placement *placement, st_group group)
{
    if (group == ST_GROUP_EMBEDDING)
        return placement->size[group] > 1 ? placement->ranks / placement->size[ST_GROUP_PP] : 0;
    return placement->ranks / placement->size[group];
}

bool st_placement_is_even(const st_placement *placement, st_group group)
{
    size_t span = placement->stride[group] * placement->size[group];
    size_t per_node = placement->gpus_per_node;
    if (placement->size[group] == 1 || placement->stride[group] % per_node == 0)
        return true;
    return per_node % placement->stride[group] == 0 &&
           (per_node % span == 0 || span % per_node == 0);
}

size_t st_placement_sharing(const st_placement *placement, st_group group)
{
    st_group_shape shape = st_placement_shape(placement, group, 0);
    if (shape.nodes == 1)
        return 0;
    return placement->gpus_per_node / shape.most_per_node;
}
