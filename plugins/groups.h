/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of a group of ranks, as all plugins that time them offer them: the arguments that
 * come first, and the providers. A model has two functions for all of them, which receive which
 * collective it is.
 */
#ifndef STEPTIME_PLUGINS_GROUPS_H
#define STEPTIME_PLUGINS_GROUPS_H

#include "describe.h"

enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, ALL_TO_ALL, SEND_RECV };

#define GROUP_RANKS ARGUMENT("ranks", "", "ranks of the group")
#define GROUP_PAIR  OPTIONAL("ranks", "", "ranks that forward the message; default 2")

/* Seven arguments, of which the second is one of these. */
#define GROUP_ARGUMENTS(ranks, bandwidth)                                                          \
    ARGUMENT("size", "B", "bytes of the message; of all ranks together in a gathering"), ranks,    \
        OPTIONAL("per_node", "", "ranks of a machine; default: as many as fit"),                   \
        OPTIONAL("bandwidth", "GB/s", bandwidth),                                                  \
        OPTIONAL("cluster.gpus_per_node", "", "GPUs of a machine"),                                \
        OPTIONAL("cluster.gpu.link_bandwidth", "GB/s", "links of a GPU"),                          \
        OPTIONAL("cluster.nic_bandwidth", "GB/s", "NICs of a machine")

#define GROUP_CALLS(evaluate, explain)                                                             \
    CALLS(all_reduce, ALL_REDUCE, evaluate, explain)                                               \
    CALLS(all_gather, ALL_GATHER, evaluate, explain)                                               \
    CALLS(reduce_scatter, REDUCE_SCATTER, evaluate, explain)                                       \
    CALLS(broadcast, BROADCAST, evaluate, explain)                                                 \
    CALLS(reduce, REDUCE, evaluate, explain)
#define GROUP_PROVIDERS(how, list, source)                                                         \
    PROVIDER(how, "all_reduce", "us", all_reduce, list, "all-reduce of a buffer of every rank",    \
             source),                                                                              \
        PROVIDER(how, "all_gather", "us", all_gather, list,                                        \
                 "all-gather of this many bytes in total", source),                                \
        PROVIDER(how, "reduce_scatter", "us", reduce_scatter, list,                                \
                 "reduce-scatter of this many bytes", source),                                     \
        PROVIDER(how, "broadcast", "us", broadcast, list, "broadcast from one rank to all",        \
                 source),                                                                          \
        PROVIDER(how, "reduce", "us", reduce, list, "reduce of all ranks to one", source)

/* Those for which NCCL has no cost model. */
#define TRANSFER_CALLS(evaluate, explain)                                                          \
    CALLS(all_to_all, ALL_TO_ALL, evaluate, explain)                                               \
    CALLS(send_recv, SEND_RECV, evaluate, explain)
#define TRANSFER_PROVIDERS(list, pair_list, source)                                                \
    PROVIDER(ST_PLUGIN_COLLECTIVE, "all_to_all", "us", all_to_all, list,                           \
             "all-to-all in which every rank has this many bytes, including its own part",         \
             source),                                                                              \
        PROVIDER(0, "send_recv", "us", send_recv, pair_list, "transfer to a neighbour", source)

#endif
