/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What carries messages between machines. NCCL's latencies are those of InfiniBand; other
 * transports take longer for a hop, by protocol, as `steptime fit nccl` finds on published tables,
 * the weighted geometric mean over tables. Sites of RoCE differ more from each other than from
 * InfiniBand, and so do those of Slingshot in LL: there NCCL's latencies hold. TCP reaches 1/1.8
 * of RoCE's rate (li2024 sec. 4.2, Figure 7a). How, from which tables, and how far off sites that
 * were left out are: docs/fits/nccl-carriers.md.
 */
#include "model.h"

typedef struct carrier {
    double latency[ST_NCCL_PROTOCOLS]; /* LL, LL128, Simple */
    double bandwidth;
} carrier;

#define AS_NCCL                                                                                    \
    {                                                                                              \
        {1.0, 1.0, 1.0}, 1.0                                                                       \
    }

static const carrier carriers[ST_NCCL_CARRIERS] = {
    [ST_NCCL_INFINIBAND] = AS_NCCL,
    [ST_NCCL_ROCE] = AS_NCCL,
    [ST_NCCL_EFA] = {{2.5, 6.5, 1.5}, 1.0},       /* the second generation */
    [ST_NCCL_TCPXO] = {{3.2, 7.0, 1.3}, 1.0},     /* three tables of two sites */
    [ST_NCCL_TCPX] = {{20.0, 19.6, 10.8}, 1.0},   /* two tables of two sites */
    [ST_NCCL_SLINGSHOT] = {{1.0, 4.0, 3.4}, 1.0}, /* three sites */
    [ST_NCCL_TCP] = {{4.6, 1.4, 6.2}, 1.0 / 1.8}, /* sockets over Slingshot; the rate: li2024 */
};

void st_nccl_of_carrier(const st_nccl_machine *machine, st_nccl_factors *factors)
{
    const carrier *found = &carriers[machine->carrier];
    for (int i = 0; i < ST_NCCL_PROTOCOLS; i++) {
        factors->across.latency[i] *= found->latency[i];
        factors->across.bandwidth[i] *= found->bandwidth;
    }
}
