/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's cost model: time = latency + bytes/rate for each algorithm and protocol, from facts of
 * ncclTopoTuneModel and ncclTopoGetAlgoTime (src/graph/tuning.cc of the versions in tables.c).
 */
#include "model.h"
#include "tables.h"

#include <math.h>

/* Of a round of the switch on Hopper; see generations.c. */
#define ROUND_US  5.9
#define SWITCH_US 14.0

/* Of a round of a tree of switches, two machines and more, and what it reaches of the NICs. */
#define PAIR_ROUND_US 19.0
#define TREE_ROUND_US 6.0
#define NIC_REACH     0.92

/* Of a NIC that a ring of Hopper across machines fills; docs/fits/nccl-carriers.md. */
#define HOPPER_NIC_GBS 41.0

/* What the lines of one plan have in common. */
typedef struct setting {
    const st_nccl_machine *machine;
    const st_nccl_choices *choices;
    const st_nccl_plan *plan;
    double ranks, nodes, per_node;
    double steps;     /* of a ring */
    double crossings; /* of these, between machines */
    double doublings; /* of nodes, whole ones */
    size_t span;      /* column of the tables of limits: 1, 2 or more machines */
} plan_setting;

static double ring_steps(int collective, double ranks)
{
    switch (collective) {
    case ST_NCCL_ALL_REDUCE:
        return 2.0 * (ranks - 1.0);
    case ST_NCCL_BROADCAST:
    case ST_NCCL_REDUCE:
        return ranks;
    default:
        return ranks - 1.0;
    }
}

static double ring_crossings(const plan_setting *setting)
{
    if (setting->nodes <= 1.0)
        return 0.0;
    if (setting->plan->collective == ST_NCCL_ALL_REDUCE)
        return setting->choices->version == ST_NCCL_2_22 ? 2.0 * setting->nodes
                                                         : 2.0 * (setting->nodes - 1.0);
    return setting->nodes - 1.0;
}

static double hop(const plan_setting *setting, int link, int algorithm, int protocol)
{
    return st_nccl_hop_us[setting->choices->version][link][algorithm][protocol];
}

static double ll_limit(const plan_setting *setting)
{
    size_t row = (size_t)setting->machine->arch;
    if (setting->nodes > 1.0)
        row = setting->choices->cpu == ST_NCCL_AMD ? ST_NCCL_AMPERE : ST_NCCL_VOLTA;
    return st_nccl_ll_limit_gbs[row][setting->span];
}

static double ring_rate(const plan_setting *setting, int protocol)
{
    const st_nccl_search *found = &setting->plan->search;
    double bus = found->channels * (setting->nodes <= 2.0 ? found->intra_gbs : found->inter_gbs);
    if (protocol == ST_NCCL_LL) {
        bus = fmin(ll_limit(setting), bus * 0.5);
    } else if (protocol == ST_NCCL_LL128) {
        double share =
            setting->per_node < 2.0 && setting->choices->version == ST_NCCL_2_22 ? 0.7 : 0.92;
        double limit = st_nccl_ring_ll128_gbs[setting->choices->version][setting->machine->arch]
                                             [setting->span];
        bus = fmin(bus * share, found->channels * limit);
    }
    return bus * setting->ranks / setting->steps;
}

/* Of the switch's rate that its kernels reach, by NCCL 2.28 and later. */
static double switch_share(const plan_setting *setting)
{
    return setting->machine->arch >= ST_NCCL_BLACKWELL ? 0.74 : 0.85;
}

/* Up to 2.27: five sixths of the rate, and in a gathering of the others' bytes. */
static double nvls_rate_2_27(const plan_setting *setting, int algorithm)
{
    const st_nccl_search *found = &setting->plan->search;
    bool reduces = setting->plan->collective == ST_NCCL_ALL_REDUCE;
    bool spread = !reduces && setting->choices->version > ST_NCCL_2_22;
    double rate = found->nvls_gbs * (spread ? (setting->per_node - 1.0) / setting->per_node : 1.0);
    if (setting->nodes > 1.0) {
        double pooled = found->channels * found->inter_gbs / found->nvls_heads;
        rate = fmin(rate,
                    algorithm == ST_NCCL_NVLS_TREE && setting->nodes > 2.0 ? 0.5 * pooled : pooled);
    }
    return found->nvls_heads * rate * (spread ? 1.0 : 5.0 / 6.0);
}

static double nvls_rate_2_28(const plan_setting *setting, int algorithm)
{
    const st_nccl_search *found = &setting->plan->search;
    double count = found->nvls_heads;
    bool reduces = setting->plan->collective == ST_NCCL_ALL_REDUCE;
    double spread = reduces ? 2.0 : (setting->per_node - 1.0) / setting->per_node;
    double rate = found->nvls_gbs * switch_share(setting) * (count - 1.0) / count * spread;
    if (setting->nodes > 1.0) {
        double pooled = found->channels * found->inter_gbs / count;
        double limit =
            st_nccl_nvls_tree_gbs[setting->choices->version][setting->machine->arch][setting->span];
        bool doubled = algorithm == ST_NCCL_NVLS_TREE && setting->nodes <= 2.0;
        rate = fmin(rate, doubled ? 2.0 * pooled : pooled);
        rate = limit > 0.0 ? fmin(rate, limit) : rate;
    }
    return count * rate * (reduces ? setting->ranks / setting->steps : 1.0);
}

static void ring_latency(const plan_setting *setting, st_nccl_line *line)
{
    int protocol = line->protocol;
    double inside = hop(setting, setting->machine->link, ST_NCCL_RING, protocol);
    bool lone = setting->per_node <= 1.0 && setting->choices->version >= ST_NCCL_2_27;
    double outside = hop(setting, ST_NCCL_NET, lone ? ST_NCCL_TREE : ST_NCCL_RING, protocol);
    double overhead = 0.0;
    if (setting->nodes > 1.0) {
        overhead = setting->choices->cpu == ST_NCCL_AMD ? 2.0 : 1.0;
        overhead *= protocol == ST_NCCL_SIMPLE ? 3.0 : 1.0;
    }
    if (st_nccl_is_chain(setting->plan->collective)) {
        /* One hop: the ranks of a ring's machine are the same in every channel. */
        if (protocol == ST_NCCL_SIMPLE) {
            inside = hop(setting, setting->machine->link, ST_NCCL_TREE, protocol);
        }
        line->intra_us = setting->nodes > 1.0 ? 0.0 : inside;
        line->inter_us = setting->nodes > 1.0 ? outside : 0.0;
        return;
    }
    line->intra_us = fmax(0.0, setting->steps - setting->crossings) * fmax(inside, overhead);
    line->inter_us = setting->crossings * outside;
    if (setting->nodes > 1.0 && setting->per_node > 1.0 &&
        setting->plan->collective != ST_NCCL_ALL_REDUCE) {
        line->further_us = outside; /* most pieces go over every link between machines */
    }
}

static void latency(const plan_setting *setting, st_nccl_line *line)
{
    int algorithm = line->algorithm;
    int protocol = line->protocol;
    double doublings = setting->doublings;
    double inside = hop(setting, setting->machine->link, algorithm, protocol);
    double outside = hop(setting, ST_NCCL_NET, algorithm, protocol);
    line->base_us = st_nccl_base_us[setting->choices->version][algorithm][protocol];
    switch (algorithm) {
    case ST_NCCL_RING:
        ring_latency(setting, line);
        break;
    case ST_NCCL_TREE:
        line->intra_us = 2.0 * (setting->per_node - 1.0) * inside;
        line->inter_us = 2.0 * doublings * outside;
        break;
    case ST_NCCL_NVLS:
        line->intra_us = inside;
        line->inter_us = setting->nodes > 1.0 ? outside : 0.0;
        break;
    case ST_NCCL_NVLS_TREE:
        line->intra_us = inside;
        line->inter_us = 2.0 * doublings * outside;
        break;
    default:
        line->intra_us = 2.8 * setting->ranks;
        line->inter_us = doublings * outside / 3.5;
        break;
    }
}

static bool has_nvls(const plan_setting *setting, int algorithm)
{
    int collective = setting->plan->collective;
    if (!setting->choices->nvls || setting->machine->arch < ST_NCCL_HOPPER ||
        setting->machine->link != ST_NCCL_NVLINK || setting->per_node < 3.0)
        return false;
    if (algorithm == ST_NCCL_NVLS_TREE)
        return collective == ST_NCCL_ALL_REDUCE && setting->nodes > 1.0;
    return !st_nccl_is_chain(collective) && setting->nodes <= 1.0;
}

static bool has_line(const plan_setting *setting, int algorithm, int protocol)
{
    int collective = setting->plan->collective;
    bool simple = protocol == ST_NCCL_SIMPLE;
    if (protocol == ST_NCCL_LL128 && setting->machine->link != ST_NCCL_NVLINK)
        return false;
    switch (algorithm) {
    case ST_NCCL_RING:
        return true;
    case ST_NCCL_TREE:
        return collective == ST_NCCL_ALL_REDUCE;
    case ST_NCCL_PAT:
        return simple && setting->choices->version >= ST_NCCL_2_27 && setting->per_node <= 1.0 &&
               (collective == ST_NCCL_ALL_GATHER || collective == ST_NCCL_REDUCE_SCATTER);
    default:
        return simple && has_nvls(setting, algorithm);
    }
}

static double rate(const plan_setting *setting, int algorithm, int protocol)
{
    switch (algorithm) {
    case ST_NCCL_RING:
        return ring_rate(setting, protocol);
    case ST_NCCL_TREE: {
        const st_nccl_search *found = &setting->plan->search;
        double bus = found->channels * (setting->nodes <= 2.0 ? found->tree_gbs : found->inter_gbs);
        int version = setting->choices->version;
        int arch = setting->machine->arch;
        bus = fmin(0.92 * bus, found->channels * st_nccl_tree_gbs[version][arch][setting->span]);
        if (protocol == ST_NCCL_LL) {
            bus = fmin(bus / 3.8, ll_limit(setting));
        } else if (protocol == ST_NCCL_LL128) {
            bus = fmin(bus * (setting->nodes <= 1.0 ? 7.0 / 9.0 : 120.0 / 128.0),
                       found->channels * st_nccl_tree_ll128_gbs[version][arch][setting->span]);
        }
        return 0.5 * bus * (found->plain_tree ? 0.85 : 1.0);
    }
    case ST_NCCL_PAT:
        return 0.75 * ring_rate(setting, protocol);
    default:
        return setting->choices->version < ST_NCCL_2_28 ? nvls_rate_2_27(setting, algorithm)
                                                        : nvls_rate_2_28(setting, algorithm);
    }
}

/* Large messages on a ring across machines: NCCL's correction of the latency. */
static void plateau(const plan_setting *setting, st_nccl_line *line)
{
    line->plateau = 1.0;
    if (line->algorithm == ST_NCCL_RING && line->protocol == ST_NCCL_SIMPLE &&
        setting->nodes > 1.0 && setting->plan->collective == ST_NCCL_ALL_REDUCE) {
        line->plateau = setting->machine->arch < ST_NCCL_AMPERE ? 1.9 : 1.4;
        line->plateau_bytes = 64.0 * setting->plan->search.total * setting->ranks;
    }
}

void st_nccl_tune(st_nccl_plan *plan, const st_nccl_machine *machine,
                  const st_nccl_choices *choices)
{
    double ranks = plan->group.ranks;
    double nodes = plan->group.nodes;
    plan_setting setting = {
        .machine = machine,
        .choices = choices,
        .plan = plan,
        .ranks = ranks,
        .nodes = nodes,
        .per_node = plan->group.per_node,
        .steps = ring_steps(plan->collective, ranks),
        .doublings = floor(log2(nodes)),
        .span = nodes <= 1.0   ? 0
                : nodes <= 2.0 ? 1
                               : 2,
    };
    setting.crossings = ring_crossings(&setting);
    plan->count = 0;
    for (int algorithm = ST_NCCL_TREE; algorithm <= ST_NCCL_PAT; algorithm++) {
        for (int protocol = ST_NCCL_LL; protocol <= ST_NCCL_SIMPLE; protocol++) {
            if (!has_line(&setting, algorithm, protocol) ||
                (choices->algorithm != ST_NCCL_ANY && choices->algorithm != algorithm) ||
                (choices->protocol != ST_NCCL_ANY && choices->protocol != protocol)) {
                continue;
            }
            st_nccl_line *line = &plan->lines[plan->count++];
            *line = (st_nccl_line){.algorithm = algorithm,
                                   .protocol = protocol,
                                   .scaled_as = protocol,
                                   .to_bytes = HUGE_VAL};
            latency(&setting, line);
            plateau(&setting, line);
            line->rate_gbs = rate(&setting, algorithm, protocol);
            /* Simple's rings across machines on Hopper stay below what faster NICs have. */
            if (line->algorithm == ST_NCCL_RING && line->protocol == ST_NCCL_SIMPLE &&
                setting.nodes > 1.0 && setting.machine->arch == ST_NCCL_HOPPER) {
                line->most_gbs =
                    setting.plan->search.channels * HOPPER_NIC_GBS * setting.ranks / setting.steps;
            }
            /* What the switch takes: it sums what it reads of all GPUs and writes the sum to
             * all, so that each byte goes once over a link each way, in rounds of a chunk for
             * each channel and head. Between two machines a tree sends each byte once each way,
             * between more it goes up and down. */
            const st_nccl_search *found = &setting.plan->search;
            bool branched = line->algorithm == ST_NCCL_NVLS_TREE;
            if ((!branched && line->algorithm != ST_NCCL_NVLS) ||
                setting.plan->collective != ST_NCCL_ALL_REDUCE) {
                continue;
            }
            /* Handshakes were measured on Hopper alone. NCCL's rate of Blackwell has them: of whole
             * rungs for at most 32 heads. */
            bool counted = !branched && setting.machine->arch >= ST_NCCL_BLACKWELL;
            line->reach_gbs = counted ? nvls_rate_2_28(&setting, algorithm)
                                      : setting.machine->links_gbs * switch_share(&setting);
            line->reach_us = branched ? 0.0 : SWITCH_US;
            line->round_us = counted                ? 0.0
                             : !branched            ? ROUND_US
                             : setting.nodes <= 2.0 ? PAIR_ROUND_US
                                                    : TREE_ROUND_US;
            line->round_ops = found->nvls_channels * found->nvls_heads;
            if (branched) {
                double pooled = found->channels * found->inter_gbs * NIC_REACH;
                line->reach_gbs =
                    fmin(line->reach_gbs, setting.nodes <= 2.0 ? pooled : 0.5 * pooled);
            }
        }
    }
}
