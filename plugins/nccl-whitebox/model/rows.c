/* SPDX-License-Identifier: Apache-2.0 */
/* From the arguments of a call to a machine and a group of ranks, or to the reason why not. */
#include "settings.h"

#include <math.h>

#define MOST_RANKS 16777216.0
#define MOST_BYTES 9223372036854775808.0 /* 2^63 */

/*
 * What NCCL counts of a rate on a data sheet: 20 of 25 GB/s for a link of NVLink 2 and 3, 20.6 of
 * NVLink 4, 40.1 of 50 for NVLink 5, 12 of 15.75 for sixteen lanes of PCIe 3, 12 of 12.5 for a NIC.
 */
static const double nvlink_share[] = {0.8, 0.8, 0.824, 0.802};
#define PCI_SHARE 0.762
#define NIC_SHARE 0.96

#define NVLINK_FROM 70e9 /* PCIe 5 with 16 lanes has 63 GB/s */

static bool given(double value)
{
    return isfinite(value) && value > 0.0;
}

static bool whole(double value, double most)
{
    return value >= 1.0 && value <= most && value == floor(value);
}

static const char *read_group(const double *values, int collective, st_nccl_group *group,
                              double *gpus)
{
    double ranks = values[ST_NCCL_RANKS];
    double per_node = values[ST_NCCL_PER_NODE];
    if (collective == ST_NCCL_SEND_RECV && isnan(ranks)) {
        /* Two neighbours of whom nothing is said are as far apart as the rate of their transfer
         * shows. */
        double *pair_per_node = &per_node;
        double pair_gpus = values[ST_NCCL_GPUS];
        double bus = values[ST_NCCL_BANDWIDTH];
        double nics = values[ST_NCCL_NICS];
        bool far =
            given(bus) && given(nics) && given(pair_gpus) && bus * pair_gpus <= nics * (1.0 + 1e-9);
        ranks = 2.0;
        *pair_per_node = isnan(*pair_per_node) ? (far ? 1.0 : 2.0) : fmin(*pair_per_node, 2.0);
    }
    *gpus = isnan(values[ST_NCCL_GPUS]) ? per_node : values[ST_NCCL_GPUS];
    if (isnan(per_node)) {
        per_node = fmin(ranks, *gpus);
    } else if (per_node <= *gpus && ranks >= 1.0) {
        per_node = fmin(per_node, ranks); /* room for more ranks than there are */
    }
    *group = (st_nccl_group){.ranks = ranks, .per_node = per_node, .nodes = ranks / per_node};
    const double group_gpus = *gpus;
    if (!whole(ranks, MOST_RANKS))
        return "the ranks must be a whole number from 1 to 16777216";
    if (isnan(group_gpus))
        return "the ranks of a machine are unknown: cluster.gpus_per_node is missing";
    if (!whole(per_node, MOST_RANKS) || !whole(group_gpus, MOST_RANKS))
        return "the ranks and GPUs of a machine must be whole numbers from 1";
    if (per_node > group_gpus)
        return "a machine cannot hold more ranks of the group than it has GPUs";
    return group->nodes == floor(group->nodes)
               ? NULL
               : "the ranks are not a multiple of the ranks of a machine";
}

/* Of a GPU inside a machine, as NCCL counts it. */
static void read_links(const st_nccl_settings *settings, const double *values, st_nccl_case *out)
{
    st_nccl_machine *machine = &out->machine;
    double links = values[ST_NCCL_LINKS];
    bool pair = out->group.ranks <= 2.0 && given(links); /* reaches its peer directly */
    double reached =
        given(settings->link_rate) && !pair ? settings->link_rate : values[ST_NCCL_BANDWIDTH];
    double rate = given(links) ? links : reached;
    if (settings->link != ST_NCCL_ANY)
        machine->link = settings->link;
    else
        machine->link = rate >= NVLINK_FROM ? ST_NCCL_NVLINK : ST_NCCL_PCI;
    double share = machine->link == ST_NCCL_PCI ? PCI_SHARE : nvlink_share[machine->arch];
    double inside = given(links) ? links * share : reached;
    machine->reached = !given(links);
    bool of_board = out->group.nodes <= 1.0 || (given(settings->link_rate) && !pair);
    if (machine->link == ST_NCCL_PCI && of_board && given(reached) && reached < inside) {
        /* Over PCIe the board decides what GPUs reach of each other; a caller may know better. */
        inside = reached;
        machine->reached = true;
    }
    machine->links_gbs = 1e-9 * inside;
}

/* The machine's own rates, then the options', then what the caller calls the group's bandwidth. */
static const char *read_rates(const st_nccl_settings *settings, const double *values,
                              st_nccl_case *out)
{
    st_nccl_machine *machine = &out->machine;
    double nics = values[ST_NCCL_NICS];
    double bus = values[ST_NCCL_BANDWIDTH];
    double own = settings->nic_rate * machine->gpus;
    if (out->group.per_node > 1.0 && !given(values[ST_NCCL_LINKS]) && !given(bus) &&
        !given(settings->link_rate))
        return "the rate of the links is unknown: cluster.gpu.link_bandwidth is missing";
    if (out->group.nodes > 1.0 && !given(nics) && !given(bus) && !given(own))
        return "the rate of the NICs is unknown: cluster.nic_bandwidth is missing";
    read_links(settings, values, out);
    double pooled = given(own) ? own : bus * machine->gpus / out->group.per_node;
    if (out->group.nodes > 1.0)
        machine->reached = !given(nics);
    machine->nics_gbs = 1e-9 * (given(nics) ? nics * NIC_SHARE : pooled);
    return NULL;
}

const char *st_nccl_read_row(const st_nccl_settings *settings, int collective,
                             const st_nccl_row *row, st_nccl_case *out)
{
    const double capability = row->values[ST_NCCL_CAPABILITY];
    if (settings->arch != ST_NCCL_ANY)
        out->machine.arch = settings->arch;
    else if (!given(capability))
        out->machine.arch = ST_NCCL_ANY;
    else
        out->machine.arch = capability < 8.0    ? ST_NCCL_VOLTA
                            : capability < 9.0  ? ST_NCCL_AMPERE
                            : capability < 10.0 ? ST_NCCL_HOPPER
                                                : ST_NCCL_BLACKWELL;
    const char *reason = read_group(row->values, collective, &out->group, &out->machine.gpus);
    out->choices = settings->choices;
    if (reason || out->group.ranks <= 1.0)
        return reason;
    if (out->machine.arch == ST_NCCL_ANY)
        return "the GPU's architecture is unknown: cluster.gpu.compute_capability is missing";
    double carrier = row->values[ST_NCCL_CARRIER];
    bool is_known = carrier >= 0.0 && carrier < ST_NCCL_CARRIERS;
    out->machine.carrier = is_known ? (int)carrier : ST_NCCL_INFINIBAND;
    /* The option, else what the cluster says, else what such GPUs mostly have. */
    const double code = row->values[ST_NCCL_VERSION];
    st_nccl_choices *choices = &out->choices;
    if (choices->version == ST_NCCL_ANY && given(code)) {
        choices->version = code < 22300.0   ? ST_NCCL_2_22
                           : code < 22800.0 ? ST_NCCL_2_27
                           : code < 22900.0 ? ST_NCCL_2_28
                           : code < 23000.0 ? ST_NCCL_2_29
                                            : ST_NCCL_2_30;
    } else if (choices->version == ST_NCCL_ANY) {
        choices->version = out->machine.arch >= ST_NCCL_BLACKWELL ? ST_NCCL_2_29 : ST_NCCL_2_22;
    }
    if (out->choices.nvls == ST_NCCL_ANY)
        out->choices.nvls = out->machine.gpus >= 8.0;
    reason = read_rates(settings, row->values, out);
    out->group.over_pcie = out->machine.link == ST_NCCL_PCI;
    return reason;
}

const char *st_nccl_check_size(double bytes)
{
    return bytes >= 0.0 && bytes <= MOST_BYTES ? NULL : "the size must be from 0 to 2^63 bytes";
}

/* NCCL's lines with the factors of a generation and a transport, and with a share of what was
 * calibrated. */
static void calibrate(const st_nccl_settings *settings, const st_nccl_case *from, double share,
                      st_nccl_plan *plan)
{
    st_nccl_factors factors = settings->factors;
    /* So much of the factors' logarithms, and of what they are away from as they come. */
    st_nccl_kind *kind = from->group.nodes > 1.0 ? &factors.across : &factors.inside;
    if (!(share >= 1.0)) {
        for (size_t i = 0; i < ST_NCCL_PROTOCOLS; i++) {
            kind->setup[i] = pow(kind->setup[i], share);
            kind->latency[i] = pow(kind->latency[i], share);
            kind->bandwidth[i] = pow(kind->bandwidth[i], share);
        }
        kind->tree_latency = pow(kind->tree_latency, share);
        kind->tree_bandwidth = pow(kind->tree_bandwidth, share);
        factors.nvls_latency = pow(factors.nvls_latency, share);
        factors.nvls_bandwidth = pow(factors.nvls_bandwidth, share);
        factors.small_group =
            ST_NCCL_SMALL_GROUP + share * (factors.small_group - ST_NCCL_SMALL_GROUP);
        factors.sharpness = ST_NCCL_SHARPNESS * pow(factors.sharpness / ST_NCCL_SHARPNESS, share);
    }
    st_nccl_of_generation(&from->machine, plan, &factors);
    st_nccl_of_carrier(&from->machine, &factors);
    if (from->machine.reached) {
        factors.small_group = 0.0; /* the rate has it in it */
    }
    st_nccl_calibrate(plan, &factors);
    if (settings->correction.count > 0)
        st_nccl_correct(plan, &settings->correction, share);
}

static double share_of(const st_nccl_settings *settings, const st_nccl_group *group, int range)
{
    return st_nccl_closeness(group, &settings->correction,
                             settings->transfer[group->nodes > 1.0 ? 1 : 0][range]);
}

static void tune(int collective, const st_nccl_case *from, st_nccl_plan *plan)
{
    *plan = (st_nccl_plan){.collective = collective, .group = from->group};
    plan->search = st_nccl_search_rings(&from->machine, &from->group, &from->choices);
    if (collective >= ST_NCCL_ALL_TO_ALL) {
        st_nccl_tune_transfers(plan, &from->machine, &from->choices);
    } else {
        st_nccl_tune(plan, &from->machine, &from->choices);
    }
}

/* Finishes a tuned plan for small messages or large ones. */
static void finish_range(const st_nccl_settings *settings, const st_nccl_case *from, int range,
                         st_nccl_plan *plan)
{
    const st_nccl_curve *curves[2];
    st_nccl_plan ends[2];
    if (plan->count == 0 || !st_nccl_between(&from->group, &settings->correction, range, curves)) {
        calibrate(settings, from, share_of(settings, &from->group, range), plan);
        return;
    }
    calibrate(settings, from, 0.0, plan);
    for (int i = 0; i < 2; i++) {
        st_nccl_case end = *from;
        end.group.ranks = curves[i]->ranks;
        end.group.nodes = curves[i]->nodes;
        end.group.per_node = curves[i]->ranks / curves[i]->nodes;
        tune(plan->collective, &end, &ends[i]);
        calibrate(settings, &end, 1.0, &ends[i]);
    }
    st_nccl_interpolate(plan, ends);
}

void st_nccl_make_plans(const st_nccl_settings *settings, int collective, const st_nccl_case *from,
                        st_nccl_plans *plans)
{
    st_nccl_plan *plan = &plans->large;
    const st_nccl_curve *ends[2];
    const st_nccl_group *group = &from->group;
    plans->differ = false;
    tune(collective, from, plan);
    if (settings->model == ST_NCCL_NOMINAL) {
        st_nccl_finish(plan);
        return;
    }
    plans->differ =
        share_of(settings, group, ST_NCCL_SMALL) != share_of(settings, group, ST_NCCL_LARGE) ||
        st_nccl_between(group, &settings->correction, ST_NCCL_SMALL, ends) !=
            st_nccl_between(group, &settings->correction, ST_NCCL_LARGE, ends);
    if (plans->differ) {
        plans->small = *plan;
        finish_range(settings, from, ST_NCCL_SMALL, &plans->small);
    }
    finish_range(settings, from, ST_NCCL_LARGE, plan);
}

double st_nccl_weight_of_large(const st_nccl_plans *plans, double bytes)
{
    static const double begin = 524288.0;
    return !plans->differ || bytes >= 2.0 * begin ? 1.0
           : bytes <= begin                       ? 0.0
                                                  : log2(bytes / begin);
}
