/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Execution traces as graphs: nodes that compute, send, receive and meet others, each with what it
 * waits for, read from Chakra's files and replayed with their durations.
 *
 * A rank computes one node at a time, the host's and the GPU's apart, and takes part in one message
 * at a time, as in ASTRA-sim; of several ready nodes, the first one of the file begins.
 */
#ifndef STEPTIME_WORKLOAD_EXECUTION_H
#define STEPTIME_WORKLOAD_EXECUTION_H

#include "base/result.h"
#include "trace/prices.h"
#include "steptime/graph.h"
#include "workload/chakra.h"

enum { ST_EXECUTION_MAX_NODES = 1 << 26, ST_EXECUTION_MAX_DEPS = 1 << 28 };

typedef struct st_execution_node {
    uint64_t id;
    const char *name;
    st_chakra_type type;
    bool host; /* is_cpu_op */
    uint64_t start_us;
    uint64_t duration_us;
    int64_t num_ops;     /* -1: unknown, as below */
    int64_t tensor_size; /* bytes */
    int64_t collective;  /* a st_chakra_collective */
    int64_t bytes;
    int64_t source;
    int64_t target;
    int64_t tag;
    const char *group; /* NULL: all ranks */
    size_t dep_first;
    size_t dep_count;
    size_t offset;              /* in the file, for messages */
    int64_t group_size;         /* ranks of the group; -1: unknown */
    int64_t group_stride;       /* between its ranks */
    const st_task_shape *shape; /* work on the GPU, NULL if unknown */
    int64_t price_ns;           /* replaces its duration; -1: not priced */
} st_execution_node;

/* An empty node at this byte of the file. */
static inline st_execution_node st_execution_node_at(size_t offset, size_t dep_first)
{
    return (st_execution_node){.name = "",
                               .num_ops = -1,
                               .tensor_size = -1,
                               .collective = -1,
                               .bytes = -1,
                               .source = -1,
                               .target = -1,
                               .tag = -1,
                               .group_size = -1,
                               .group_stride = 1,
                               .price_ns = -1,
                               .dep_first = dep_first,
                               .offset = offset};
}

/* A file: the trace of one rank. */
typedef struct st_execution {
    const char *file;
    bool needs_prices; /* lacks durations, as PyTorch's execution traces */
    int64_t rank;      /* from the file's name, "NAME.3.et"; -1: it has none */
    st_execution_node *nodes;
    size_t count;
    uint64_t *deps; /* ids as read, then places of nodes */
    size_t dep_count;
    size_t dangling;  /* ids that no node has, left out */
    size_t transfers; /* of PyTorch: sends and receives without their peer */
} st_execution;

typedef struct st_execution_text {
    const char *file;
    const char *bytes;
    size_t length;
} st_execution_text;

/*
 * Reads a file of Chakra; texts are copied into `arena`. Refused, each with its place: what is no
 * such file, an unknown type of node, a collective without kind or size, ids that two nodes have,
 * unless `partial` ids that no node has, which PyTorch's converter leaves behind.
 */
st_status st_execution_read_chakra(const st_execution_text *text, bool partial, st_arena *arena,
                                   st_execution *execution, st_errors *errors) ST_NODISCARD;

/* Files by rank; of folders those whose names end in .et, or without one in .json or .json.gz. */
typedef struct st_execution_set {
    st_execution *ranks;
    size_t count;
} st_execution_set;

st_status st_execution_read_files(const char *const *paths, size_t count, bool partial,
                                  st_arena *arena, st_execution_set *set,
                                  st_errors *errors) ST_NODISCARD;

/* What nodes were priced as. */
typedef struct st_execution_prices {
    const char *device;
    uint64_t nodes;   /* that run on the GPU */
    uint64_t unknown; /* whose time is a guess, or that have none */
    uint64_t untimed; /* nothing is known */
    int64_t time_ns;  /* of them all */
    int64_t unknown_ns;
    const char *plugins; /* that give open functions of the sheet; NULL: none */
    uint64_t refined;    /* nodes whose time these change */
    uint64_t kept;       /* nodes without shapes or work that keep the duration of the file */
    uint64_t collectives;
    uint64_t unpriced; /* collectives without a provider or a size */
} st_execution_prices;

/*
 * Prices nodes by what they run: operators by their shapes, nodes of Chakra by their operations and
 * bytes, collectives by providers. `world`: ranks of groups of unknown size; 0: as many as
 * there are files.
 */
st_status st_execution_price(st_execution_set *set, st_prices *prices, uint64_t world,
                             st_arena *arena, st_execution_prices *made,
                             st_errors *errors) ST_NODISCARD;

/* A graph of all ranks, sealed and replayed; times are nanoseconds. */
typedef struct st_execution_replay {
    const st_execution_set *set;
    st_graph *graph;
    st_replay *replay;
    st_rank_time *times;   /* by rank */
    int64_t *kind_ns;      /* by category, over all ranks */
    uint64_t *kind_counts; /* nodes of a category */
    size_t unmatched;      /* transfers whose other end is in no file */
} st_execution_replay;

/*
 * Refused: nodes that wait for each other, with their names; a node that has work but no duration,
 * as nothing says how long it takes. What it owns is freed by st_execution_replay_free.
 */
st_status st_execution_replay_make(const st_execution_set *set, st_arena *arena,
                                   st_execution_replay *replay, st_errors *errors) ST_NODISCARD;
void st_execution_replay_free(st_execution_replay *replay);
/* `prices`: NULL where durations are those of the files. */
void st_execution_report(const st_execution_replay *replay, const st_execution_prices *prices,
                         st_arena *arena, st_result *result);

/* --- groups of ranks, from the file next to Chakra's files ------------------------------------ */

#define ST_EXECUTION_GROUPS_FILE "comm_group.json"

typedef struct st_execution_group {
    const char *name;
    int64_t size;   /* ranks */
    int64_t stride; /* between the first two */
    bool is_uneven; /* others are not as far apart */
    st_place place; /* where its ranks begin */
} st_execution_group;

typedef struct st_execution_groups {
    st_execution_group *items;
    size_t count;
} st_execution_groups;

/* Reads a file into `arena`; a missing file means no groups. Refused: a group given twice;
 * a warning names groups whose ranks are not evenly spaced. */
st_status st_execution_groups_read(const char *path, st_arena *arena, st_execution_groups *groups,
                                   st_errors *errors) ST_NODISCARD;
/* Gives the collectives of a rank the sizes of their groups. */
void st_execution_groups_give(const st_execution_groups *groups, st_execution *rank);

#endif
