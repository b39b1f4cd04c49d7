/* SPDX-License-Identifier: Apache-2.0 */
/* What a topology file of NCCL says, counted, between its reader and its writer. */
#ifndef STEPTIME_IMPORT_TOPOLOGY_H
#define STEPTIME_IMPORT_TOPOLOGY_H

#include "launch/import/import.h"

enum {
    ST_TOPOLOGY_MAX_BYTES = 8 * 1024 * 1024,
    ST_TOPOLOGY_MAX_ELEMENTS = 100000,
    ST_TOPOLOGY_MAX_DEPTH = 32,
    ST_TOPOLOGY_MAX_GPUS = 4096,
    ST_TOPOLOGY_MAX_NETS = 4096,
    ST_TOPOLOGY_MAX_LINKS = 256 /* of a GPU */
};

typedef struct st_topology_gpu {
    unsigned sm; /* compute capability times ten, 0: not said */
    unsigned nvlinks;
    double c2c_mbit_per_s; /* to the processor that it is soldered to */
    double pcie_mbit_per_s;
    bool described; /* by an element of its own, not only by the class of a PCI device */
} st_topology_gpu;

typedef struct st_topology_net {
    const char *name;
    double mbit_per_s; /* 0: not said */
    bool described;
} st_topology_net;

typedef struct st_topology {
    st_topology_gpu *gpus;
    size_t gpu_count;
    st_topology_net *nets;
    size_t net_count;
    size_t hosts; /* with names of their own; at least 1 */
} st_topology;

/* Appends the cluster. */
st_status st_topology_write(const st_topology *topology, const st_topology_request *request,
                            st_buffer *cluster, st_errors *errors) ST_NODISCARD;

#endif
