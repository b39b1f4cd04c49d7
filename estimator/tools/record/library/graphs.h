/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of graphs, which calls add (to the graph that they take) or change: d the handle of the
 * node, x the executable graph in which alone it changes. */
#ifndef STEPTIME_RECORD_LIBRARY_GRAPHS_H
#define STEPTIME_RECORD_LIBRARY_GRAPHS_H

#include "record/library/objects.h"

/* The draft becomes the node, if new of this type; 0, or the error. */
uint64_t st_graph_node(st_call *call, uint32_t type);
/* The same, with parameters of a kernel's node (cudaKernelNodeParams, CUDA_KERNEL_NODE_PARAMS). */
uint64_t st_kernel_node(st_call *call, const void *given);

/* The handle of a graph's node, counted from 1. */
static inline uint64_t st_node_handle(const st_object *graph, uint32_t number)
{
    return graph->handle + ((uint64_t)number << 32);
}

#endif
