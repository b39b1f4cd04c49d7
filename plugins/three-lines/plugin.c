/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor of three-lines: LL, LL128 and Simple as three lines of their own. */
#include "lines.h"

ST_LINES_START_UP(alpha_1, "30.7 us", "start-up time of the first line");
ST_LINES_SHARE(share_1, "0.115", "share of the rate on the first line");
ST_LINES_START_UP(alpha_2, "63.1 us", "start-up time of the second line");
ST_LINES_SHARE(share_2, "0.562", "share of the rate on the second line");
ST_LINES_START_UP(alpha_3, "108.6 us", "start-up time of the third line");
ST_LINES_SHARE(share_3, "0.787", "share of the rate on the third line");

static const st_plugin_option *const options[] = {&alpha_1, &share_1, &alpha_2,
                                                  &share_2, &alpha_3, &share_3};

const st_plugin *st_plugin_describe(void)
{
    static const st_plugin plugin = {
        .struct_size = sizeof(plugin),
        .abi = ST_PLUGIN_ABI,
        .id = "three-lines",
        .version = "1.0.0",
        .licence = "Apache-2.0",
        .summary = "collectives as the least of three lines, one for each protocol of NCCL",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .providers = st_lines_providers,
        .provider_count = sizeof(st_lines_providers) / sizeof(st_lines_providers[0]),
        .open = st_lines_open,
        .close = st_lines_close,
    };
    return &plugin;
}
