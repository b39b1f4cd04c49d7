/* SPDX-License-Identifier: Apache-2.0 */
/* A network whose prices are worked out by hand: four nodes of four ranks below one switch. */
#ifndef STEPTIME_TESTS_FABRIC_SUPPORT_H
#define STEPTIME_TESTS_FABRIC_SUPPORT_H

#include "report_support.h"

/*
 * A message inside of a node passes two links of 0.75 us, one between nodes two more of 2.5 us,
 * whose 20 GB/s all ranks of a node share. Whatever is sent begins 5 us late.
 */
static const char rack[] = "topology: rack\n"
                           "start: 5 us\n"
                           "levels:\n"
                           "  - {name: node, holds: 4, bandwidth: 100 GB/s, latency: 0.75 us}\n"
                           "  - {name: rack, holds: 4, bandwidth: 20 GB/s, latency: 2.5 us}\n";

/* The same, but nobody says how many GPUs a node has. */
static const char routers[] =
    "topology: routers\n"
    "start: 5 us\n"
    "levels:\n"
    "  - {name: router, holds: 4, bandwidth: 100 GB/s, latency: 0.75 us}\n"
    "  - {name: rack, holds: 4, bandwidth: 20 GB/s, latency: 2.5 us}\n";

/* The same; its switches sum up. */
static const char summing[] = "topology: summing\n"
                              "start: 5 us\n"
                              "reduces: true\n"
                              "levels:\n"
                              "  - {name: node, holds: 4, bandwidth: 100 GB/s, latency: 0.75 us}\n"
                              "  - {name: rack, holds: 4, bandwidth: 20 GB/s, latency: 2.5 us}\n";

static inline void write_networks(const fixture *own)
{
    write_text(own, "configs/topologies/rack.yaml", rack);
    write_text(own, "configs/topologies/routers.yaml", routers);
    write_text(own, "configs/topologies/summing.yaml", summing);
}

#endif
