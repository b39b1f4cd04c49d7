/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor of alpha-beta: one line. */
#include "lines.h"

ST_LINES_START_UP(alpha, "36 us", "start-up time");
ST_LINES_SHARE(share, "0.78", "share of the rate that large messages reach");

static const st_plugin_option *const options[] = {&alpha, &share};

const st_plugin *st_plugin_describe(void)
{
    static const st_plugin plugin = {
        .struct_size = sizeof(plugin),
        .abi = ST_PLUGIN_ABI,
        .id = "alpha-beta",
        .version = "1.0.0",
        .licence = "Apache-2.0",
        .summary = "collectives as a start-up time plus bytes over a rate",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .providers = st_lines_providers,
        .provider_count = sizeof(st_lines_providers) / sizeof(st_lines_providers[0]),
        .open = st_lines_open,
        .close = st_lines_close,
    };
    return &plugin;
}
