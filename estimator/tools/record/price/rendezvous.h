/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators of a run: which workers are in each, how its ranks lie on nodes, and the
 * collectives in which they meet.
 *
 * If all ranks of a communicator were recorded, its number identifies them. Otherwise the recorded
 * rank, its rank in the communicator and its size give the stride of its ranks, and the workers
 * that represent these ranks meet.
 */
#ifndef STEPTIME_RECORD_PRICE_RENDEZVOUS_H
#define STEPTIME_RECORD_PRICE_RENDEZVOUS_H

#include "record/price/workers.h"

/* What an operation of NCCL is called. */
typedef struct st_operation_words {
    const char *name;       /* in results */
    const char *collective; /* of providers */
    const char *torch;      /* in traces of PyTorch */
    const char *kernel;     /* "ncclDevKernel_..." */
    bool all_ranks;         /* its message is that of one rank times all ranks */
} st_operation_words;

extern const st_operation_words st_operations[ST_LOG_OPERATIONS];

/* A communicator of a worker. */
typedef struct st_communicator {
    uint32_t worker;
    uint32_t device;
    uint64_t comm;
    uint64_t key; /* the same for those that meet */
    int64_t rank; /* of the worker in it */
    int64_t ranks;
    int64_t base;   /* rank of the run that is the first of it */
    int64_t stride; /* between its ranks */
    uint32_t meets; /* so many different workers, or devices of one, come to each collective */
    bool exact;     /* all were recorded */
    uint32_t counts[ST_LOG_OPERATIONS]; /* of collectives so far; of sends and receives in pairs */
} st_communicator;

typedef struct st_instance_of {
    uint64_t key;
    uint32_t expected;
    uint32_t arrived;
    int64_t last_ns; /* latest arrival */
    int64_t duration_ns;
    st_price price;
} st_instance_of;

/* How many messages went from one worker to another so far. */
typedef struct st_message_pair {
    uint64_t key;
    uint32_t count;
} st_message_pair;

/* A collective of several workers: a number of times of one key. */
typedef struct st_groups {
    const st_run *run;
    st_prices *prices;
    st_communicator *groups;
    size_t group_count;
    size_t *firsts; /* by worker: its first group, and behind the last worker the end */
    st_instance_of *instances;
    size_t instance_count;
    st_index index; /* of instances, by key */
    st_message_pair *pairs;
    size_t pair_count;
    size_t inferred;  /* communicators whose ranks are inferred from sizes */
    size_t ambiguous; /* those of them that several distances between ranks fit */
    st_arena *arena;
    st_errors *errors;
} st_groups;

st_status st_groups_make(const st_run *run, st_prices *prices, st_arena *arena, st_groups **groups,
                         st_errors *errors) ST_NODISCARD;

/* The communicator of a collective, NULL where the log has none. */
st_communicator *st_groups_find(const st_groups *groups, uint32_t worker,
                                const st_log_record *record);

/* The instance that the next collective of a worker is, with its price. */
st_status st_groups_meet(st_groups *groups, uint32_t worker, const st_log_record *record,
                         uint32_t *instance) ST_NODISCARD;

/* Whether a worker waits in a collective and nobody waits for it: it receives from one that
 * represents several ranks. */
bool st_groups_only_waits(const st_groups *groups, uint32_t worker, const st_log_record *record);

/* The bytes by which providers price it. */
double st_collective_message(const st_log_collective *collective, int64_t ranks);

#endif
