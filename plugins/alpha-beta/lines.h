/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives as the least of a few straight lines: start-up time plus traffic over a rate. */
#ifndef ST_LINES_H
#define ST_LINES_H

#include <steptime/plugin.h>

#define ST_LINES_MOST 3

enum {
    ST_LINES_SIZE,
    ST_LINES_RANKS,
    ST_LINES_PER_NODE,
    ST_LINES_BANDWIDTH,
    ST_LINES_GPUS,
    ST_LINES_LINKS,
    ST_LINES_NICS
};
#define ST_LINES_COLUMNS 7

extern const st_plugin_provider *const st_lines_providers[7];

/* Settings are pairs in the order of the lines: start-up time, share of the rate. */
int st_lines_open(const st_plugin_host *host, void **instance);
void st_lines_close(void *instance);

/* Options of line `digit`; the third number is the logarithm's deviation beforehand. */
#define ST_LINES_START_UP(id, initial, text)                                                       \
    static const st_plugin_option id = {.struct_size = sizeof(st_plugin_option),                   \
                                        .kind = ST_PLUGIN_NUMBER,                                  \
                                        .flags = ST_PLUGIN_CALIBRATED,                             \
                                        .name = #id,                                               \
                                        .unit = "us",                                              \
                                        .default_text = (initial),                                 \
                                        .minimum = 1e-8,                                           \
                                        .maximum = 0.1,                                            \
                                        .doc = text "; prior: log sd 1.0",                         \
                                        .cite = "hockney1994"}
#define ST_LINES_SHARE(id, initial, text)                                                          \
    static const st_plugin_option id = {.struct_size = sizeof(st_plugin_option),                   \
                                        .kind = ST_PLUGIN_NUMBER,                                  \
                                        .flags = ST_PLUGIN_CALIBRATED,                             \
                                        .name = #id,                                               \
                                        .unit = "",                                                \
                                        .default_text = (initial),                                 \
                                        .minimum = 1e-4,                                           \
                                        .maximum = 100.0,                                          \
                                        .doc = text "; prior: log sd 1.0",                         \
                                        .cite = "hockney1994"}

#endif
