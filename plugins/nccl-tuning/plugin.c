/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's own cost model, nothing fitted: what it would predict and choose by itself. */
#include "collectives.h"

static const st_plugin_option *const options[] = {
    &st_nccl_option_version, &st_nccl_option_arch,      &st_nccl_option_link,
    &st_nccl_option_cpu,     &st_nccl_option_algorithm, &st_nccl_option_protocol,
    &st_nccl_option_nvls,    &st_nccl_option_channels,
};

/* No ST_PLUGIN_COLLECTIVE: NCCL corrects the rate of trees in steps, so that its time falls there.
 */
ST_NCCL_PROVIDER(all_reduce, st_nccl_arguments, 0, "all-reduce of a buffer of every rank");
ST_NCCL_PROVIDER(all_gather, st_nccl_arguments, 0, "all-gather of so many bytes in all");
ST_NCCL_PROVIDER(reduce_scatter, st_nccl_arguments, 0, "reduce-scatter of so many bytes");
ST_NCCL_PROVIDER(broadcast, st_nccl_arguments, 0, "broadcast from one rank to all");
ST_NCCL_PROVIDER(reduce, st_nccl_arguments, 0, "reduce of all ranks to one");

static const st_plugin_provider *const providers[] = {&all_reduce, &all_gather, &reduce_scatter,
                                                      &broadcast, &reduce};

static int open_plugin(const st_plugin_host *host, void **instance)
{
    int failed = st_nccl_open(host, instance);
    if (!failed) {
        ((st_nccl_settings *)*instance)->model = ST_NCCL_NOMINAL;
    }
    return failed;
}

const st_plugin *st_plugin_describe(void)
{
    static const st_plugin plugin = {
        .struct_size = sizeof(plugin),
        .abi = ST_PLUGIN_ABI,
        .id = "nccl-tuning",
        .version = "1.0.0",
        .licence = "Apache-2.0",
        .summary = "collectives as NCCL's own cost model predicts them, nothing fitted",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .providers = providers,
        .provider_count = sizeof(providers) / sizeof(providers[0]),
        .open = open_plugin,
        .close = st_nccl_close,
    };
    return &plugin;
}
