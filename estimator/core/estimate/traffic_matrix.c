/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends how much to whom: flows rank by rank, and their sums in closed form. */
#include "estimate/placement.h"

#include <math.h>

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

static size_t stage_of(const st_placement *placement, size_t rank)
{
    return rank / placement->stride[ST_GROUP_PP] % placement->size[ST_GROUP_PP];
}

static uint64_t bytes_of(const st_traffic_walk *walk, st_group group, size_t rank)
{
    return walk->traffic->sent_bytes[stage_of(walk->placement, rank)][group];
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
    return send(walk, group, rank, next, bytes_of(walk, group, rank));
}

/* Gradients go around the data- and context-parallel ranks together, in the order of their
 * numbers. */
static bool send_data(const st_traffic_walk *walk, st_group group, size_t rank)
{
    const st_placement *placement = walk->placement;
    bool data_outside = placement->stride[ST_GROUP_DP] >= placement->stride[ST_GROUP_CP];
    st_group inner = data_outside ? ST_GROUP_CP : ST_GROUP_DP;
    st_group outer = data_outside ? ST_GROUP_DP : ST_GROUP_CP;
    st_group_shape near = st_placement_shape(placement, inner, rank);
    size_t along = (rank - near.first_rank) / placement->stride[inner];
    if (along + 1 < near.ranks)
        return send(walk, group, rank, rank + placement->stride[inner],
                    bytes_of(walk, group, rank));
    st_group_shape far = st_placement_shape(placement, outer, near.first_rank);
    size_t place = (near.first_rank - far.first_rank) / placement->stride[outer];
    size_t next = far.first_rank + (place + 1) % far.ranks * placement->stride[outer];
    return send(walk, group, rank, next, bytes_of(walk, group, rank));
}

static bool send_experts_data(const st_traffic_walk *walk, size_t rank)
{
    return walk->placement->experts_unfolded ? send_data(walk, ST_GROUP_EXPERT_DP, rank)
                                             : send_ring(walk, ST_GROUP_EXPERT_DP, rank);
}

/* Activations to the next stage, their gradients to the one before; between the chunks of an
 * interleaved pipeline from the last stage to the first, and back. */
static bool send_stages(const st_traffic_walk *walk, size_t rank)
{
    const st_placement *placement = walk->placement;
    size_t stride = placement->stride[ST_GROUP_PP];
    size_t last = placement->size[ST_GROUP_PP] - 1;
    size_t stage = stage_of(placement, rank);
    uint64_t bytes = bytes_of(walk, ST_GROUP_PP, rank);
    uint64_t back = stage == 0 ? 0 : bytes_of(walk, ST_GROUP_PP, rank - stride);
    uint64_t around = walk->traffic->around_bytes;
    if (last == 0)
        return true;
    if (last == 1) /* the stage before is the one behind, too */
        return send(walk, ST_GROUP_PP, rank, stage == 0 ? rank + stride : rank - stride,
                    (stage == 0 ? bytes : back) + around);
    if (stage > 0 && !send(walk, ST_GROUP_PP, rank, rank - stride, back))
        return false;
    if (stage < last && !send(walk, ST_GROUP_PP, rank, rank + stride, bytes))
        return false;
    if (stage == 0)
        return send(walk, ST_GROUP_PP, rank, rank + last * stride, around);
    return stage < last || send(walk, ST_GROUP_PP, rank, rank - last * stride, around);
}

/* What the ranks before the i-th get of the tokens of the sender, as a share. */
static double share_before(const st_traffic *traffic, size_t ranks, size_t sender, size_t i)
{
    const st_token_shares *tokens = traffic->tokens;
    if (i == 0 || i == ranks)
        return i == 0 ? 0 : 1;
    if (tokens != NULL)
        return tokens->until[(tokens->lines > 1 ? sender : 0) * ranks + i - 1];
    double load = traffic->expert_load == 0 ? 1 : traffic->expert_load;
    double busiest = fmin(load, (double)ranks) / (double)ranks;
    return busiest + (1 - busiest) / (double)(ranks - 1) * (double)(i - 1);
}

/* The ranks of an expert group, and what each of them sends and gets back. */
typedef struct st_exchange {
    const st_traffic *traffic;
    size_t ranks;
    size_t joined; /* ranks next to each other that hand on what came for any of them */
    st_token_bytes bytes;
} st_exchange;

static st_exchange exchange_of(const st_placement *placement, const st_traffic *traffic,
                               size_t stage)
{
    return (st_exchange){
        .traffic = traffic,
        .ranks = placement->size[ST_GROUP_EP],
        .joined = traffic->experts_joined > 1 ? traffic->experts_joined : 1,
        .bytes = traffic->token_bytes != NULL
                     ? traffic->token_bytes[stage]
                     : (st_token_bytes){.exchanged = traffic->sent_bytes[stage][ST_GROUP_EP]}};
}

static bool is_gathered(const st_traffic *traffic, size_t stage)
{
    return traffic->token_bytes != NULL && traffic->token_bytes[stage].exchanged == 0 &&
           traffic->token_bytes[stage].forwarded == 0;
}

/* What the ranks from the i-th to that before the end get of some bytes of the sender: whole
 * numbers that add up to them. */
static uint64_t share_of(const st_exchange *group, uint64_t bytes, size_t sender, size_t i,
                         size_t end)
{
    double before = share_before(group->traffic, group->ranks, sender, i);
    double until = share_before(group->traffic, group->ranks, sender, end);
    return (uint64_t)floor((double)bytes * until + 0.5) -
           (uint64_t)floor((double)bytes * before + 0.5);
}

/* The first of the ranks that are joined with the i-th, and the end of them. */
static size_t first_joined(const st_exchange *group, size_t i)
{
    return i - i % group->joined;
}

static size_t end_joined(const st_exchange *group, size_t i)
{
    size_t end = first_joined(group, i) + group->joined;
    return end < group->ranks ? end : group->ranks;
}

/* Who of the ranks from `first` on that are joined gets what the sender has for any of them: the
 * one at the sender's place, or the last of them. */
static size_t partner_of(const st_exchange *group, size_t sender, size_t first)
{
    size_t partner = first + sender % group->joined;
    size_t end = end_joined(group, first);
    return partner < end ? partner : end - 1;
}

/* One way of the tokens: to the ranks of their experts. */
static uint64_t dispatched(const st_exchange *group, st_token_bytes bytes, size_t from, size_t to)
{
    size_t first = first_joined(group, to);
    if (first == first_joined(group, from)) {
        /* What a rank hands on to a joined one: of tokens of its own, and of all whose partner it
         * is. */
        size_t place = from - first_joined(group, from);
        bool is_last = from + 1 == end_joined(group, from);
        uint64_t sum = 0;
        for (size_t handed_first = 0; handed_first < group->ranks && bytes.forwarded > 0;
             handed_first += group->joined) {
            size_t end = end_joined(group, handed_first);
            for (size_t i = handed_first + place; i < end && (is_last || i == handed_first + place);
                 i++)
                sum += share_of(group, bytes.forwarded, i, to, to + 1);
        }
        return sum;
    }
    return partner_of(group, from, first) != to
               ? 0
               : share_of(group, bytes.exchanged, from, first, end_joined(group, to));
}

static st_token_bytes bytes_there(const st_exchange *group)
{
    return (st_token_bytes){group->bytes.exchanged / 2, group->bytes.forwarded / 2};
}

static st_token_bytes bytes_back(const st_exchange *group)
{
    st_token_bytes there = bytes_there(group);
    return (st_token_bytes){group->bytes.exchanged - there.exchanged,
                            group->bytes.forwarded - there.forwarded};
}

static bool send_tokens(const st_traffic_walk *walk, size_t rank)
{
    const st_placement *placement = walk->placement;
    size_t stage = stage_of(placement, rank);
    if (is_gathered(walk->traffic, stage))
        return send_ring(walk, ST_GROUP_EP, rank);
    st_group_shape shape = st_placement_shape(placement, ST_GROUP_EP, rank);
    size_t stride = placement->stride[ST_GROUP_EP];
    size_t own = (rank - shape.first_rank) / stride;
    st_exchange group = exchange_of(placement, walk->traffic, stage);
    st_token_bytes there = bytes_there(&group);
    st_token_bytes back = bytes_back(&group);
    for (size_t i = 0; i < shape.ranks; i++)
        if (i != own && !send(walk, ST_GROUP_EP, rank, shape.first_rank + i * stride,
                              dispatched(&group, there, own, i) + dispatched(&group, back, i, own)))
            return false;
    return true;
}

void st_traffic_visit(const st_placement *placement, const st_traffic *traffic,
                      bool (*visit)(void *context, const st_flow *flow), void *context)
{
    st_traffic_walk walk = {
        .placement = placement, .traffic = traffic, .visit = visit, .context = context};
    for (size_t rank = 0; rank < placement->ranks; rank++) {
        if (!send_ring(&walk, ST_GROUP_TP, rank) || !send_ring(&walk, ST_GROUP_CP, rank) ||
            !send_tokens(&walk, rank) || !send_data(&walk, ST_GROUP_DP, rank) ||
            !send_stages(&walk, rank) || !send_ring(&walk, ST_GROUP_EMBEDDING, rank) ||
            !send_experts_data(&walk, rank))
            return;
    }
}

/* What a rank of a stage sends over the boundaries before it and behind it. */
static uint64_t boundary_bytes(const st_traffic *traffic, size_t stage, size_t last)
{
    uint64_t behind = stage < last ? traffic->sent_bytes[stage][ST_GROUP_PP] : 0;
    return behind + (stage > 0 ? traffic->sent_bytes[stage - 1][ST_GROUP_PP] : 0);
}

/* How many ranks of a stage send these bytes of the stage's kind to others. */
static uint64_t senders_of(const st_placement *placement, st_group group, size_t stage)
{
    uint64_t ranks = placement->ranks / placement->size[ST_GROUP_PP];
    size_t last = placement->size[ST_GROUP_PP] - 1;
    switch (group) {
    case ST_GROUP_EMBEDDING:
        return last > 0 && (stage == 0 || stage == last) ? ranks : 0;
    case ST_GROUP_DP:
        return placement->size[ST_GROUP_CP] * placement->size[group] > 1 ? ranks : 0;
    default:
        return placement->size[group] > 1 ? ranks : 0;
    }
}

/* What stays of the tokens of all ranks of an expert group, one way. */
static uint64_t kept(const st_exchange *group, st_token_bytes bytes)
{
    uint64_t sum = 0;
    for (size_t rank = 0; rank < group->ranks; rank++) {
        sum += share_of(group, bytes.exchanged, rank, first_joined(group, rank),
                        end_joined(group, rank));
        for (size_t i = 0; i < group->ranks && bytes.forwarded > 0; i += group->joined) {
            size_t partner = partner_of(group, rank, i);
            sum += share_of(group, bytes.forwarded, rank, partner, partner + 1);
        }
    }
    return sum;
}

/* What all ranks of a stage send of a kind. */
static uint64_t stage_bytes(const st_placement *placement, const st_traffic *traffic,
                            st_group group, size_t stage)
{
    size_t last = placement->size[ST_GROUP_PP] - 1;
    if (group == ST_GROUP_EP && !is_gathered(traffic, stage)) {
        /* What the ranks of a stage send to experts elsewhere: all but what stays. */
        st_exchange sent_group = exchange_of(placement, traffic, stage);
        uint64_t groups = placement->ranks / placement->size[ST_GROUP_PP] / sent_group.ranks;
        return groups *
               (sent_group.ranks * (sent_group.bytes.exchanged + sent_group.bytes.forwarded) -
                kept(&sent_group, bytes_there(&sent_group)) -
                kept(&sent_group, bytes_back(&sent_group)));
    }
    if (group != ST_GROUP_PP)
        return senders_of(placement, group, stage) * traffic->sent_bytes[stage][group];
    bool is_end = last > 0 && (stage == 0 || stage == last);
    return placement->ranks / (last + 1) *
           (boundary_bytes(traffic, stage, last) + (is_end ? traffic->around_bytes : 0));
}

bool st_traffic_gathers_tokens(const st_placement *placement, const st_traffic *traffic)
{
    for (size_t stage = 0; stage < placement->size[ST_GROUP_PP]; stage++)
        if (is_gathered(traffic, stage) && traffic->sent_bytes[stage][ST_GROUP_EP] > 0)
            return true;
    return false;
}

uint64_t st_traffic_sent_bytes(const st_placement *placement, const st_traffic *traffic,
                               st_group group, size_t stage)
{
    return stage_bytes(placement, traffic, group, stage) /
           (placement->ranks / placement->size[ST_GROUP_PP]);
}

uint64_t st_traffic_total_bytes(const st_placement *placement, const st_traffic *traffic,
                                st_group group)
{
    uint64_t total = 0;
    for (size_t stage = 0; stage < placement->size[ST_GROUP_PP]; stage++)
        total += stage_bytes(placement, traffic, group, stage);
    return total;
}
