/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's structure as a model: what the hardware is, which lines of latency
 * plus bytes over bandwidth a group of ranks has, and what a collective of so
 * many bytes takes on the best of them.
 *
 * Inside, times are microseconds and rates GB/s (10^9), as in NCCL's own
 * tables.
 */
#ifndef ST_NCCL_MODEL_H
#define ST_NCCL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ST_NCCL_TREE, ST_NCCL_RING, ST_NCCL_NVLS, ST_NCCL_NVLS_TREE, ST_NCCL_PAT, ST_NCCL_P2P };
#define ST_NCCL_ALGORITHMS 6

enum { ST_NCCL_LL, ST_NCCL_LL128, ST_NCCL_SIMPLE };
#define ST_NCCL_PROTOCOLS 3

enum {
    ST_NCCL_ALL_REDUCE,
    ST_NCCL_ALL_GATHER,
    ST_NCCL_REDUCE_SCATTER,
    ST_NCCL_BROADCAST,
    ST_NCCL_REDUCE,
    ST_NCCL_ALL_TO_ALL,
    ST_NCCL_SEND_RECV
};
#define ST_NCCL_COLLECTIVES 7

/* From one rank to all or back: a ring that is cut open at it, and no other algorithm. */
static inline bool st_nccl_is_chain(int collective)
{
    return collective == ST_NCCL_BROADCAST || collective == ST_NCCL_REDUCE;
}

/* Versions whose constants differ; one in between has those of the version before it. */
enum { ST_NCCL_2_22, ST_NCCL_2_27, ST_NCCL_2_28, ST_NCCL_2_29, ST_NCCL_2_30 };
#define ST_NCCL_VERSIONS 5
enum { ST_NCCL_VOLTA, ST_NCCL_AMPERE, ST_NCCL_HOPPER, ST_NCCL_BLACKWELL };
enum { ST_NCCL_NVLINK, ST_NCCL_PCI, ST_NCCL_NET };
/* In the order of the names of cluster.protocol. */
enum {
    ST_NCCL_INFINIBAND,
    ST_NCCL_ROCE,
    ST_NCCL_EFA,
    ST_NCCL_TCPXO,
    ST_NCCL_TCPX,
    ST_NCCL_SLINGSHOT,
    ST_NCCL_TCP
};
#define ST_NCCL_CARRIERS 7
enum { ST_NCCL_INTEL, ST_NCCL_AMD, ST_NCCL_OTHER };

#define ST_NCCL_ANY (-1)

/* Factors of NCCL's own figures of one kind of group. */
typedef struct st_nccl_kind {
    double setup[ST_NCCL_PROTOCOLS];     /* of a kernel's base latency */
    double latency[ST_NCCL_PROTOCOLS];   /* of the latency per hop */
    double bandwidth[ST_NCCL_PROTOCOLS]; /* of the rate */
    double tree_latency;                 /* further, where the algorithm is a tree */
    double tree_bandwidth;
} st_nccl_kind;

/*
 * What measurements may adjust; 1: as NCCL has it. Groups inside a machine and those of several
 * have factors of their own, so that tables of one kind say nothing of the other.
 */
typedef struct st_nccl_factors {
    st_nccl_kind inside;
    st_nccl_kind across;
    double nvls_latency; /* in place of the protocol's, inside a machine */
    double nvls_bandwidth;
    double small_group; /* loss of rate, times 1/ranks; twice that where bytes pass once */
    double offset_us;   /* before every kernel */
    double sharpness;   /* exponent of the power mean in place of the minimum; 0:
                           the minimum */
} st_nccl_factors;

/* What the user may say about NCCL, whatever the machine is. */
typedef struct st_nccl_choices {
    int version;   /* ST_NCCL_2_22 ... */
    int cpu;       /* ST_NCCL_INTEL ... */
    int nvls;      /* 0 off, 1 where the hardware has it */
    int algorithm; /* the one allowed, or ST_NCCL_ANY */
    int protocol;
    double channels; /* 0: as NCCL counts them */
} st_nccl_choices;

/* Hardware of one machine. */
typedef struct st_nccl_machine {
    int arch;
    int link;         /* ST_NCCL_NVLINK or ST_NCCL_PCI, between GPUs of a machine */
    int carrier;      /* between machines: ST_NCCL_INFINIBAND ... */
    double gpus;      /* GPUs of a machine */
    double links_gbs; /* of a GPU, one direction, as NCCL counts a link */
    double nics_gbs;  /* of the whole machine, one direction, as NCCL counts a NIC */
    bool reached;     /* the rates are what a group reaches, not what the hardware has */
} st_nccl_machine;

/* A group of ranks, the same number of them on each of its machines. */
typedef struct st_nccl_group {
    double ranks;
    double per_node;
    double nodes;
    bool over_pcie; /* GPUs of its nodes have no NVLink */
} st_nccl_group;

/* What NCCL's search for rings and trees finds: so many channels of so many
 * GB/s. */
typedef struct st_nccl_search {
    double channels;
    double intra_gbs;     /* of a channel */
    double inter_gbs;     /* of a channel; where there is one machine as inside */
    double total;         /* channels that kernels use */
    double tree_gbs;      /* of a tree's channel on two machines */
    double nvls_heads;    /* GPUs that reduce, each a part; channels of this search */
    double nvls_gbs;      /* of one */
    double nvls_channels; /* that the kernels of NVLS use */
    bool plain_tree;      /* the tree enters a machine at the GPU where it leaves */
} st_nccl_search;

/* One algorithm with one protocol: nominal latency in parts, and rate of the
 * message's bytes. */
typedef struct st_nccl_line {
    int algorithm;
    int protocol;
    int scaled_as; /* the protocol whose factors count */
    double base_us;
    double intra_us;
    double inter_us;
    double from_bytes; /* messages that it carries */
    double to_bytes;
    double plateau; /* factor of the latency above `plateau_bytes` */
    double plateau_bytes;
    double rate_gbs;
    double reach_gbs;  /* rate and start of the switch as they are, where NCCL predicts with */
    double reach_us;   /* others; 0: they are NCCL's */
    double most_gbs;   /* what kernels reach of the rate at most; 0: no such limit */
    double further_us; /* hops between machines that NCCL does not count */
    double round_us;   /* of one round of the switch's chunks, besides its bytes */
    double round_ops;  /* chunks of a round; 0: no rounds */
    double latency_us; /* the parts together; st_nccl_finish sets this and the
                          next */
    double us_per_byte;
    double asked_us; /* latency and time per byte before calibration: NCCL chooses by these */
    double asked_us_per_byte;
} st_nccl_line;

#define ST_NCCL_LINES 10

/* Powers of two for which corrections are kept: up to 128 TiB. */
#define ST_NCCL_OCTAVES 48

/* All that does not depend on the size of a message. */
typedef struct st_nccl_plan {
    st_nccl_group group;
    st_nccl_search search;
    int collective;
    bool obeys;  /* the line that counts is the one that NCCL predicts to be fastest */
    bool smooth; /* a tree's share of its rate changes gradually with the size */
    double sharpness;
    int squarings; /* that give the power, where it is one of two; 0: none do */
    double near;   /* below this share of the best time a line does not count in the
                      mean */
    double far;    /* its term there */
    size_t count;
    st_nccl_line lines[ST_NCCL_LINES];
    bool corrected;                      /* the time follows measurements; see correction.h */
    double factor_logs[ST_NCCL_OCTAVES]; /* at 2^k bytes */
} st_nccl_plan;

/* A time in parts that sum to it; the last part may be below zero. */
typedef struct st_nccl_answer {
    double total_us;
    double setup_us;
    double intra_us;
    double inter_us;
    double reduction_us;
    double correction_us;     /* difference between measurements and the model */
    const st_nccl_line *line; /* the fastest one */
} st_nccl_answer;

/* How a message is cut. */
typedef struct st_nccl_cut {
    double channels;    /* that a message of this size uses */
    double chunk_bytes; /* as tuned, before it is rounded down to whole grains */
    double sent_bytes;  /* after that */
    double rounds;      /* Echo's eta */
} st_nccl_cut;

st_nccl_search st_nccl_search_rings(const st_nccl_machine *machine, const st_nccl_group *group,
                                    const st_nccl_choices *choices);

/* Fills plan->lines of all-reduce, all-gather, reduce-scatter and broadcast, as
 * NCCL tunes them. */
void st_nccl_tune(st_nccl_plan *plan, const st_nccl_machine *machine,
                  const st_nccl_choices *choices);

/* The same for all-to-all and send/receive, for which NCCL has no cost model.
 */
void st_nccl_tune_transfers(st_nccl_plan *plan, const st_nccl_machine *machine,
                            const st_nccl_choices *choices);

/* Multiplies the plan's lines by the factors; then the plan is ready, without
 * st_nccl_finish. */
void st_nccl_calibrate(st_nccl_plan *plan, const st_nccl_factors *factors);

/* Multiplies the factors by those of the machine's generation of GPUs; see generations.c. */
void st_nccl_of_generation(const st_nccl_machine *machine, const st_nccl_plan *plan,
                           st_nccl_factors *factors);

/* The same for what carries messages between machines; see carriers.c. */
void st_nccl_of_carrier(const st_nccl_machine *machine, st_nccl_factors *factors);

/* Makes the lines ready as NCCL has them: the minimum of all, a tree's share in
 * steps. */
void st_nccl_finish(st_nccl_plan *plan);

/* What a tree reaches of its rate at so many bytes: NCCL's table, or straight
 * lines through it. */
double st_nccl_tree_share(int protocol, double bytes, bool smooth);

/* Time of one message; a plan without a line gives NaN. */
double st_nccl_time_us(const st_nccl_plan *plan, double bytes);

/* The same in parts. */
st_nccl_answer st_nccl_answer_of(const st_nccl_plan *plan, double bytes);

/* The chunk in which NVLS and its tree cut a message, of which so many are under way at a time. */
double st_nccl_switch_chunk(const st_nccl_plan *plan, int algorithm, double bytes,
                            double operations);

/* Channels, chunk and rounds of a message on one line. */
st_nccl_cut st_nccl_cut_of(const st_nccl_plan *plan, int algorithm, int protocol, double bytes);

#endif
