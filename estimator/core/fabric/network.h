/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a cluster as a graph: ranks and switches, links with a rate and a latency, and the
 * way that a message takes. docs/topologies.md describes the files in configs/topologies.
 */
#ifndef STEPTIME_FABRIC_NETWORK_H
#define STEPTIME_FABRIC_NETWORK_H

#include "steptime/arena.h"

enum { ST_TOPOLOGY_MAX_RANKS = 1 << 16, ST_TOPOLOGY_MAX_LINKS = 1 << 20 };

/* One direction of a link. */
typedef struct st_link {
    uint32_t from;
    uint32_t to;
    uint32_t axis; /* of a torus, else 0: messages go along the first ones first */
    double rate_bytes_per_s;
    double latency_s;
} st_link;

typedef struct st_topology {
    const char *name;
    size_t ranks; /* vertices 0 to ranks - 1; the rest are switches */
    size_t vertices;
    st_link *links; /* by `from` */
    size_t link_count;
    uint32_t *first;    /* of a vertex's links; vertices + 1 entries */
    double start_s;     /* of every collective, before its first message */
    bool reduces;       /* switches sum up what comes from below, and send sums back */
    uint32_t node_gpus; /* ranks of the lowest level where it is called `node`; 0: it is not */
} st_topology;

/*
 * Reads a description. Refused, with its place: a link without a rate, a link from a vertex to
 * itself, the same link twice, a rank that cannot be reached, in-network reduction where links
 * close a loop, more than ST_TOPOLOGY_MAX_RANKS ranks.
 */
st_status st_topology_read(const st_source *source, st_arena *arena, const st_topology **topology,
                           st_errors *errors) ST_NODISCARD;

/* Finds ways; belongs to one thread. */
typedef struct st_router st_router;

st_router *st_router_create(const st_topology *topology); /* NULL: out of memory */
void st_router_destroy(st_router *router);                /* NULL is fine */

/* The links of a shortest way in the order from its end to its begin; 0 where there is none. The
 * list lives until the next call. */
size_t st_router_way(st_router *router, uint32_t from, uint32_t to, const uint32_t **links);

#endif
