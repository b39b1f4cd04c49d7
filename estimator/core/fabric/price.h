/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What messages cost on a network. Messages of a round go at once: each takes its way's latency,
 * and its bytes at the rate of the busiest link on it, which all messages of the round share that
 * cross it. Rounds follow each other.
 */
#ifndef STEPTIME_FABRIC_PRICE_H
#define STEPTIME_FABRIC_PRICE_H

#include "fabric/network.h"
#include "fabric/step_table.h"

/* Where the ranks of a group are: `per_node` on each of its nodes, where `gpus_per_node` GPUs
 * are used. All groups of that shape communicate at once, as those of a parallel training do. */
typedef struct st_site {
    uint32_t ranks;
    uint32_t per_node;
    uint32_t gpus_per_node;
    uint32_t node_gpus; /* that a node has; 0: nobody says, as many as are used */
} st_site;

/* A message of one round: a straight line over the bytes. */
typedef struct st_price_line {
    double fixed_s;
    double s_per_byte;
} st_price_line;

/* Lines of a round; the longest one counts at any size. */
typedef struct st_price_round {
    st_price_line *lines;
    size_t count;
    double times; /* how often the round comes */
} st_price_round;

typedef struct st_price {
    double start_s;
    st_price_round *rounds;
    size_t round_count;
} st_price;

/* Ways in which a collective may be done without a table of steps. */
typedef enum st_way {
    ST_WAY_RING,   /* every rank sends to the next */
    ST_WAY_DIRECT, /* every rank sends to every other at once */
    ST_WAY_PAIR,   /* the first rank sends to the second */
    ST_WAY_SUMMED  /* the network sums up on the way (topology->reduces) */
} st_way;

/* One kind of round, repeated, with messages of a share of the whole. */
typedef struct st_pattern {
    st_way way;
    double rounds;
    double share;
} st_pattern;

/* NULL, or why the topology has no place for the group; in `arena`. */
const char *st_site_error(const st_topology *topology, const st_site *site, st_arena *arena);

/* The price of a table's messages, or of a pattern; in `arena`. ST_ERR_MEMORY, ST_ERR_LIMIT. */
st_status st_price_transfers(const st_topology *topology, const st_site *site,
                             const st_transfers *transfers, st_arena *arena,
                             st_price *price) ST_NODISCARD;
st_status st_price_pattern(const st_topology *topology, const st_site *site,
                           const st_pattern *pattern, st_arena *arena,
                           st_price *price) ST_NODISCARD;

/* Seconds of a message of `bytes`. */
double st_price_at(const st_price *price, double bytes);

#endif
