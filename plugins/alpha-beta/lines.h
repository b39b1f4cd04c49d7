/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives as the least of a few straight lines: start-up time plus traffic over a rate. */
#ifndef ST_LINES_H
#define ST_LINES_H

#include "describe.h"

enum { ST_LINES_MOST = 3, ST_LINES_PROVIDERS = 7 };

enum {
    ST_LINES_SIZE,
    ST_LINES_RANKS,
    ST_LINES_PER_NODE,
    ST_LINES_BANDWIDTH,
    ST_LINES_GPUS,
    ST_LINES_LINKS,
    ST_LINES_NICS,
    ST_LINES_COLUMNS
};

extern const st_plugin_provider *const st_lines_providers[ST_LINES_PROVIDERS];

/* Settings are pairs in the order of the lines: start-up time, share of the rate. */
int st_lines_open(const st_plugin_host *host, void **instance);
void st_lines_close(void *instance);

#define ST_LINES_START_UP(id, initial, words)                                                      \
    OPTION_FITTED(id, "us", initial, 1e-8, 0.1, words "; prior: log sd 1.0", "hockney1994")
#define ST_LINES_SHARE(id, initial, words)                                                         \
    OPTION_FITTED(id, "", initial, 1e-4, 100.0, words "; prior: log sd 1.0", "hockney1994")

#endif
