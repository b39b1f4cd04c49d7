/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the heading of a table says of the machine's links and NICs, in the words that people use:
 * "8x400 Gb/s", "IB 400Gb/s per GPU", "4 HCAs NDR", "200G x4", "1 GPU/node", "NVL72".
 *
 * Rates are distinguished by what they are of: a port, a GPU, a node; and by direction: what is
 * said to be both ways counts half. Rows of the table are not looked at.
 */
#ifndef STEPTIME_CALIBRATE_COLLECTIVES_NCCL_RATES_H
#define STEPTIME_CALIBRATE_COLLECTIVES_NCCL_RATES_H

#include "nccl-whitebox/fit/nccl_table.h"

typedef struct st_nccl_rates {
    double nics;          /* of a node, one direction, byte/s; 0: the heading does not say it */
    double links;         /* of a GPU, one direction, byte/s; 0 likewise */
    size_t gpus_per_node; /* 0: the heading does not say it */
    const char *protocol; /* of the network, as cluster.protocol names it; NULL likewise */
    size_t domain;        /* GPUs that NVLink joins across nodes, 72 of "NVL72"; 0: none */
} st_nccl_rates;

/*
 * Reads the fabric and the name of the GPU. Refuses, at the heading's line, two rates of the
 * network that differ, and different rates per GPU and per node.
 */
st_status st_nccl_rates_read(const st_nccl_table *table, st_nccl_rates *rates,
                             st_errors *errors) ST_NODISCARD;

#endif
