/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL's topology search ends with, for machines whose GPUs are all alike: channels and the
 * rate of one. NCCL tries rates from a ladder; here the ladder's best rung is computed.
 */
#include "model.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const double intra_old[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
static const double intra_new[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
static const double intra_blackwell[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
static const double inter_old[] = {48, 30, 28, 24, 20, 18,  15,  12,  10, 9,
                                   7,  6,  5,  4,  3,  2.4, 1.2, .24, .12};
static const double inter_new[] = {48, 45, 42, 40, 30,  24,  22,  20, 17.5,
                                   15, 12, 6,  3,  2.4, 1.2, .24, .12};
static const double inter_blackwell[] = {96,   48, 45.1, 42, 40, 30,  24,  22,  20,
                                         17.5, 15, 12,   6,  3,  2.4, 1.2, .24, .12};

typedef struct ladder {
    const double *rungs;
    size_t count;
} ladder;

static ladder inside_of(int arch)
{
    return arch >= ST_NCCL_BLACKWELL ? (ladder){intra_blackwell, COUNT(intra_blackwell)}
           : arch >= ST_NCCL_HOPPER  ? (ladder){intra_new, COUNT(intra_new)}
                                     : (ladder){intra_old, COUNT(intra_old)};
}

#define MOST_HEADS 32.0 /* GPUs that reduce in a switch, at most */

/* The greatest rung that is not above `limit`; below the lowest one the limit itself. */
static double rung(ladder steps, double limit)
{
    for (size_t i = 0; i < steps.count; i++) {
        if (steps.rungs[i] <= limit * (1.0 + 1e-9)) {
            return steps.rungs[i];
        }
    }
    return limit;
}

/* Rings inside a machine: the highest rung that fills the links best. */
static void search_inside(st_nccl_search *found, const st_nccl_machine *machine)
{
    ladder steps = inside_of(machine->arch);
    double total = machine->links_gbs;
    if (machine->link == ST_NCCL_PCI || total < steps.rungs[steps.count - 1]) {
        found->intra_gbs = machine->reached ? total : rung(steps, total);
        found->channels = 1.0;
        found->inter_gbs = found->intra_gbs;
        return;
    }
    for (size_t i = 0; i < steps.count; i++) {
        double rate = steps.rungs[i];
        double channels = fmin(16.0, floor(total / rate * (1.0 + 1e-9)));
        if (channels * rate > found->channels * found->intra_gbs) {
            found->channels = channels;
            found->intra_gbs = rate;
        }
    }
    found->inter_gbs = found->intra_gbs;
    /* Fast channels are halved, and there are twice as many (ncclTopoDupChannels). */
    bool many = machine->arch >= ST_NCCL_HOPPER && found->intra_gbs < 50.0 && found->channels > 4.0;
    if (found->intra_gbs >= 25.0 && !many) {
        found->channels *= 2.0;
        found->intra_gbs *= 0.5;
        found->inter_gbs *= 0.5;
        found->tree_gbs *= 0.5;
    }
}

st_nccl_search st_nccl_search_rings(const st_nccl_machine *machine, const st_nccl_group *group,
                                    const st_nccl_choices *choices)
{
    st_nccl_search found = {0};
    if (group->nodes > 1.0) {
        /* Rings across machines: one channel a NIC. A GPU sends one of the channels to its NIC
         * and the others to its neighbour, so that the links have to carry all but one. Between
         * two machines a tree sends every byte once each way, so that inside it may go twice as
         * fast. */
        const int arch = machine->arch;
        ladder steps = arch >= ST_NCCL_BLACKWELL ? (ladder){inter_blackwell, COUNT(inter_blackwell)}
                       : arch >= ST_NCCL_HOPPER  ? (ladder){inter_new, COUNT(inter_new)}
                                                 : (ladder){inter_old, COUNT(inter_old)};
        double pooled = machine->nics_gbs * group->per_node / machine->gpus;
        double nics = fmax(1.0, fmin(group->per_node, floor(pooled / 12.0)));
        double limit = pooled / nics;
        if (group->per_node > 1.0)
            limit = fmin(limit, machine->links_gbs / fmax(1.0, nics - 1.0));
        found.channels = nics;
        found.inter_gbs = machine->reached ? limit : rung(steps, limit);
        found.intra_gbs = found.inter_gbs;
        found.tree_gbs = 2.0 * found.inter_gbs;
        if (group->per_node > 1.0)
            found.tree_gbs = fmax(found.inter_gbs, fmin(found.tree_gbs, machine->links_gbs / nics));
    } else {
        search_inside(&found, machine);
        found.tree_gbs = found.intra_gbs;
    }
    found.plain_tree = group->nodes > 1.0 && machine->arch >= ST_NCCL_HOPPER;
    double total = fmin(32.0, 2.0 * found.channels);
    if (machine->arch >= ST_NCCL_HOPPER && group->nodes > 1.0 && found.intra_gbs > 45.0 &&
        total < 16.0)
        total *= 2.0;
    /* The switch: every GPU of a machine is the head of a channel, which loads a head's link
     * twice and the others once. */
    double heads = fmin(group->per_node, MOST_HEADS);
    bool blackwell = machine->arch >= ST_NCCL_BLACKWELL;
    found.nvls_heads = heads;
    found.nvls_gbs =
        rung(inside_of(machine->arch), machine->links_gbs / (fmin(group->per_node, heads) + 1.0));
    found.nvls_channels = !blackwell                                                ? 16.0
                          : choices->version >= ST_NCCL_2_27 && group->nodes <= 1.0 ? 24.0
                                                                                    : 32.0;
    found.total = choices->channels > 0.0 ? choices->channels : total;
    return found;
}
