/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How NCCL cuts a message: channels that it uses at a size, the chunk of a channel, and the rounds
 * that this takes. Facts of src/enqueue.cc and src/init.cc of v2.22.3-1.
 */
#include "model.h"

#include <math.h>

/* A step is an eighth of a channel's buffer. */
static const double step_bytes[ST_NCCL_PROTOCOLS] = {65536.0, 614400.0, 524288.0};
static const double grain_bytes[ST_NCCL_PROTOCOLS] = {16.0, 1920.0, 512.0};

static double channels_used(const st_nccl_plan *plan, int algorithm, int protocol, double bytes)
{
    double threads = protocol == ST_NCCL_LL128 ? 640.0 : 512.0;
    double threshold = protocol == ST_NCCL_SIMPLE ? 64.0 : 8.0;
    if (protocol == ST_NCCL_SIMPLE && plan->search.intra_gbs <= 12.0)
        threads = 256.0;
    if (protocol == ST_NCCL_LL && algorithm == ST_NCCL_RING)
        threshold *= plan->group.ranks;
    if (algorithm == ST_NCCL_NVLS || algorithm == ST_NCCL_NVLS_TREE) {
        return plan->search.nvls_channels; /* whatever the message is */
    }
    double most = plan->search.total;
    return fmax(1.0, fmin(most, floor(bytes / (threads * threshold))));
}

/* A tree's LL128 chunk shrinks until every machine has enough of them under way. */
static double shrink_tree(const st_nccl_plan *plan, double chunk, double share)
{
    double per_node = plan->group.per_node;
    double depth = 1.0 + floor(log2(plan->group.nodes)) + 0.1 * per_node;
    while (chunk > 131072.0 && floor(share / chunk) < depth * 64.0 / per_node)
        chunk /= 2.0;
    while (chunk > 32768.0 && floor(share / chunk) < depth * 16.0 / per_node)
        chunk /= 2.0;
    return chunk;
}

double st_nccl_switch_chunk(const st_nccl_plan *plan, int algorithm, double bytes,
                            double operations)
{
    static const double sizes[] = {262144.0, 131072.0, 65536.0, 32768.0, 16384.0};
    static const double plain[] = {HUGE_VAL, HUGE_VAL, 64.0, 8.0, 2.0};
    static const double tree[] = {32.0, 16.0, 4.0, 1.0, 0.0};
    bool branched = algorithm == ST_NCCL_NVLS_TREE;
    double chunk = !branched ? 131072.0 : plan->group.nodes >= 4.0 ? 65536.0 : 524288.0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        double limit = branched ? tree[i] : plain[i];
        if (chunk > sizes[i] && bytes < limit * operations * chunk) {
            chunk = sizes[i];
        }
    }
    return chunk;
}

st_nccl_cut st_nccl_cut_of(const st_nccl_plan *plan, int algorithm, int protocol, double bytes)
{
    st_nccl_cut cut = {.channels = channels_used(plan, algorithm, protocol, bytes)};
    double parts = 1.0; /* chunks of a round and channel */
    if (algorithm == ST_NCCL_P2P) {
        /* Transfers between two ranks have chunks of their own. */
        double chunk = plan->group.nodes > 1.0 ? 131072.0 : 524288.0;
        if (plan->group.nodes > 1.0 && protocol == ST_NCCL_SIMPLE)
            chunk /= bytes < chunk ? 4.0 : bytes < 8.0 * chunk ? 2.0 : 1.0;
        cut.chunk_bytes = chunk;
        parts = plan->collective == ST_NCCL_ALL_TO_ALL ? plan->group.ranks : 1.0;
    } else {
        bool ring = algorithm == ST_NCCL_RING;
        double chunk = step_bytes[protocol];
        if (protocol == ST_NCCL_LL) {
            chunk /= 2.0; /* half of LL's bytes are flags */
        } else if (protocol == ST_NCCL_LL128) {
            chunk = floor(chunk / 16.0) * 15.0; /* a sixteenth */
        } else if (ring && !st_nccl_is_chain(plan->collective)) {
            chunk *= 4.0;
        }
        if (algorithm == ST_NCCL_TREE && protocol == ST_NCCL_LL128) {
            chunk = shrink_tree(plan, chunk, bytes / cut.channels);
        } else if (algorithm == ST_NCCL_NVLS || algorithm == ST_NCCL_NVLS_TREE) {
            chunk = st_nccl_switch_chunk(plan, algorithm, bytes,
                                         cut.channels * plan->search.nvls_heads);
        } else if (algorithm == ST_NCCL_PAT) {
            while (chunk > 65536.0 && bytes < cut.channels * chunk)
                chunk /= 2.0;
        }
        cut.chunk_bytes = chunk;
        if (algorithm == ST_NCCL_RING && !st_nccl_is_chain(plan->collective)) {
            parts = plan->group.ranks;
        } else if (algorithm == ST_NCCL_NVLS || algorithm == ST_NCCL_NVLS_TREE) {
            parts = plan->search.nvls_heads;
        }
    }
    double grain = grain_bytes[protocol];
    cut.sent_bytes = fmax(grain, floor(cut.chunk_bytes / grain) * grain);
    cut.rounds = fmax(1.0, ceil(bytes / (cut.channels * parts * cut.sent_bytes)));
    return cut;
}
