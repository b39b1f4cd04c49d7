/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor of three-lines: LL, LL128 and Simple as three lines of their own. */
#include "lines.h"

static const st_plugin_option *const options[] = {
    ST_LINES_START_UP("alpha_1", "30.7 us", "start-up time of the first line"),
    ST_LINES_SHARE("share_1", "0.115", "share of the rate on the first line"),
    ST_LINES_START_UP("alpha_2", "63.1 us", "start-up time of the second line"),
    ST_LINES_SHARE("share_2", "0.562", "share of the rate on the second line"),
    ST_LINES_START_UP("alpha_3", "108.6 us", "start-up time of the third line"),
    ST_LINES_SHARE("share_3", "0.787", "share of the rate on the third line")};

DESCRIBE("three-lines", "1.0.0",
         "collectives as the least of three lines, one for each protocol of NCCL",
         WITH_OPTIONS(options), WITH_PROVIDERS(st_lines_providers), .open = st_lines_open,
         .close = st_lines_close);
