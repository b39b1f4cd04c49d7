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
static const double inter_old[] = {48, 30, 28, 24, 20, 18,  15,  12,  10, 9,
                                   7,  6,  5,  4,  3,  2.4, 1.2, .24, .12};
static const double inter_new[] = {48, 45, 42, 40, 30,  24,  22,  20, 17.5,
                                   15, 12, 6,  3,  2.4, 1.2, .24, .12};

/* The rate of a channel with which NVLink machines of an architecture come out. */
static const double usual_gbs[] = {20.0, 20.0, 30.0, 40.0};

/* The greatest rung that is not above `limit`; below the lowest one the limit itself. */
static double rung(const double *ladder, size_t count, double limit)
{
    for (size_t i = 0; i < count; i++) {
        if (ladder[i] <= limit) {
            return ladder[i];
        }
    }
    return limit;
}

static double channels_at(double total_gbs, double rate_gbs)
{
    return fmin(16.0, floor(total_gbs / rate_gbs * (1.0 + 1e-9)));
}

/* Rings inside a machine: the usual rate, or a lower rung that wastes less of the links. */
static void search_inside(st_nccl_search *found, const st_nccl_machine *machine)
{
    const double *ladder = machine->arch >= ST_NCCL_HOPPER ? intra_new : intra_old;
    size_t count = machine->arch >= ST_NCCL_HOPPER ? COUNT(intra_new) : COUNT(intra_old);
    double total = machine->links_gbs;
    double rate = machine->link == ST_NCCL_NVLINK ? usual_gbs[machine->arch] : total;
    if (machine->link == ST_NCCL_PCI || total < rate) {
        found->intra_gbs = machine->reached ? total : rung(ladder, count, total);
        found->channels = 1.0;
        return;
    }
    double best = rate;
    for (size_t i = 0; i < count; i++) {
        if (ladder[i] <= rate &&
            channels_at(total, ladder[i]) * ladder[i] > channels_at(total, best) * best) {
            best = ladder[i];
        }
    }
    found->intra_gbs = best;
    found->channels = fmax(1.0, channels_at(total, best));
}

/*
 * Rings across machines: one channel a NIC. A GPU sends one of the channels to its NIC and the
 * others to its neighbour, so that the links have to carry all but one.
 */
static void search_across(st_nccl_search *found, const st_nccl_machine *machine,
                          const st_nccl_group *group)
{
    const double *ladder = machine->arch >= ST_NCCL_HOPPER ? inter_new : inter_old;
    size_t count = machine->arch >= ST_NCCL_HOPPER ? COUNT(inter_new) : COUNT(inter_old);
    double pooled = machine->nics_gbs * group->per_node / machine->gpus;
    double nics = fmax(1.0, fmin(group->per_node, floor(pooled / 12.0)));
    double limit = pooled / nics;
    if (group->per_node > 1.0) {
        limit = fmin(limit, machine->links_gbs / fmax(1.0, nics - 1.0));
    }
    found->channels = nics;
    found->inter_gbs = machine->reached ? limit : rung(ladder, count, limit * (1.0 + 1e-9));
    found->intra_gbs = found->inter_gbs;
}

st_nccl_search st_nccl_search_rings(const st_nccl_machine *machine, const st_nccl_group *group,
                                    const st_nccl_choices *choices)
{
    st_nccl_search found = {0};
    if (group->nodes > 1.0) {
        search_across(&found, machine, group);
    } else {
        search_inside(&found, machine);
        found.inter_gbs = found.intra_gbs;
    }
    found.plain_tree = group->nodes > 1.0 && machine->arch >= ST_NCCL_HOPPER;
    double total = fmin(32.0, 2.0 * found.channels);
    if (machine->arch >= ST_NCCL_HOPPER && group->nodes > 1.0 && found.intra_gbs > 45.0 &&
        total < 16.0) {
        total *= 2.0;
    }
    found.nvls_channels = 16.0;
    found.nvls_gbs = fmin(machine->links_gbs, 16.0 * 20.0) / 16.0;
    if (machine->arch >= ST_NCCL_BLACKWELL) {
        found.nvls_gbs = rung(intra_new, COUNT(intra_new), machine->links_gbs / 16.0);
    }
    found.total = choices->channels > 0.0 ? choices->channels : total;
    return found;
}
