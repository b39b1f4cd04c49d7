/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor of nccl-whitebox. */
#include "collectives.h"

ST_NCCL_PROVIDER(all_reduce, st_nccl_arguments, ST_PLUGIN_COLLECTIVE,
                 "all-reduce of a buffer of every rank");
ST_NCCL_PROVIDER(all_gather, st_nccl_arguments, ST_PLUGIN_COLLECTIVE,
                 "all-gather of so many bytes in all");
ST_NCCL_PROVIDER(reduce_scatter, st_nccl_arguments, ST_PLUGIN_COLLECTIVE,
                 "reduce-scatter of so many bytes");
ST_NCCL_PROVIDER(broadcast, st_nccl_arguments, ST_PLUGIN_COLLECTIVE,
                 "broadcast from one rank to all");
ST_NCCL_PROVIDER(reduce, st_nccl_arguments, ST_PLUGIN_COLLECTIVE, "reduce of all ranks to one");
ST_NCCL_PROVIDER(all_to_all, st_nccl_arguments, ST_PLUGIN_COLLECTIVE,
                 "all-to-all in which every rank has so many bytes, its own part included");
ST_NCCL_PROVIDER(send_recv, st_nccl_pair_arguments, 0, "transfer to a neighbour");

static const st_plugin_provider *const providers[] = {
    &all_reduce, &all_gather, &reduce_scatter, &broadcast, &reduce, &all_to_all, &send_recv};

const st_plugin *st_plugin_describe(void)
{
    static const st_plugin plugin = {
        .struct_size = sizeof(plugin),
        .abi = ST_PLUGIN_ABI,
        .id = "nccl-whitebox",
        .version = "1.0.0",
        .licence = "Apache-2.0",
        .summary = "collectives from NCCL's structure, or from the equations of Echo",
        .options = st_nccl_options,
        .option_count = ST_NCCL_OPTION_COUNT,
        .providers = providers,
        .provider_count = sizeof(providers) / sizeof(providers[0]),
        .open = st_nccl_open,
        .close = st_nccl_close,
    };
    return &plugin;
}
