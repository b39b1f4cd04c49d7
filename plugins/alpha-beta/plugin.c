/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor of alpha-beta: one line. */
#include "lines.h"

static const st_plugin_option *const options[] = {
    ST_LINES_START_UP("alpha", "36 us", "start-up time"),
    ST_LINES_SHARE("share", "0.78", "share of the rate that large messages reach")};

DESCRIBE("alpha-beta", "1.0.0", "collectives as a start-up time plus bytes over a rate",
         WITH_OPTIONS(options), WITH_PROVIDERS(st_lines_providers), .open = st_lines_open,
         .close = st_lines_close);
