/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least of a few lines, each a start-up time and a share of the group's rate. What a rank has
 * to send of a message is that of a ring: 2(n-1)/n in an all-reduce.
 */
#include "lines.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MOST_RANKS 16777216.0
#define MOST_BYTES 9223372036854775808.0 /* 2^63 */

typedef struct lines {
    const st_plugin_host *host;
    size_t count;
    double start_up_s[ST_LINES_MOST];
    double share[ST_LINES_MOST];
} lines;

enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, ALL_TO_ALL, SEND_RECV };

static double cell(const double *const *columns, size_t column, size_t row)
{
    return columns[column] ? columns[column][row] : (double)NAN;
}

static bool given(double value)
{
    return isfinite(value) && value > 0.0;
}

static bool whole(double value)
{
    return value >= 1.0 && value <= MOST_RANKS && value == floor(value);
}

/* What the caller calls the group's bandwidth, else the narrower of links and share of the NICs. */
static double rate_of(const double *const *columns, size_t row, double ranks, double per_node)
{
    double bandwidth = cell(columns, ST_LINES_BANDWIDTH, row);
    if (given(bandwidth)) {
        return bandwidth;
    }
    double gpus = cell(columns, ST_LINES_GPUS, row);
    double links = cell(columns, ST_LINES_LINKS, row);
    double nics = cell(columns, ST_LINES_NICS, row);
    if (ranks <= per_node) {
        return links;
    }
    double pooled = nics * per_node / (given(gpus) ? gpus : per_node);
    return per_node > 1.0 && given(links) ? fmin(links, pooled) : pooled;
}

static const char *read_row(const double *const *columns, size_t row, int collective, double *ranks,
                            double *rate)
{
    double size = cell(columns, ST_LINES_SIZE, row);
    double per_node = cell(columns, ST_LINES_PER_NODE, row);
    double gpus = cell(columns, ST_LINES_GPUS, row);
    *ranks = cell(columns, ST_LINES_RANKS, row);
    if (collective == SEND_RECV && isnan(*ranks)) {
        *ranks = 2.0;
    }
    if (!(size >= 0.0 && size <= MOST_BYTES)) {
        return "the size has to be from 0 to 2^63 bytes";
    }
    if (!whole(*ranks)) {
        return "the ranks have to be a whole number from 1 to 16777216";
    }
    if (isnan(per_node)) {
        per_node = given(gpus) ? fmin(*ranks, gpus) : *ranks;
    }
    if (per_node > *ranks) {
        per_node = *ranks; /* room for more ranks than there are */
    }
    if (!whole(per_node) || fmod(*ranks, per_node) != 0.0) {
        return "the ranks are no multiple of the ranks of a machine";
    }
    *rate = rate_of(columns, row, *ranks, per_node);
    return *ranks <= 1.0 || given(*rate) ? NULL : "the rate of the group is not known";
}

static double traffic(int collective, double ranks)
{
    switch (collective) {
    case ALL_REDUCE:
        return 2.0 * (ranks - 1.0) / ranks;
    case BROADCAST:
    case REDUCE:
    case SEND_RECV:
        return 1.0;
    default:
        return (ranks - 1.0) / ranks;
    }
}

static double least(const lines *model, double seconds, size_t *which)
{
    double best = HUGE_VAL;
    for (size_t i = 0; i < model->count; i++) {
        double time = model->start_up_s[i] + seconds / model->share[i];
        if (time < best) {
            best = time;
            *which = i;
        }
    }
    return best;
}

static int evaluate(const lines *model, int collective, size_t rows, const double *const *columns,
                    double *values)
{
    for (size_t i = 0; i < rows; i++) {
        double ranks;
        double rate;
        size_t which = 0;
        if (read_row(columns, i, collective, &ranks, &rate)) {
            values[i] = (double)NAN;
        } else if (ranks <= 1.0 || columns[ST_LINES_SIZE][i] == 0.0) {
            values[i] = 0.0;
        } else {
            double bytes = columns[ST_LINES_SIZE][i] * traffic(collective, ranks);
            values[i] = least(model, bytes / rate, &which);
        }
    }
    return ST_PLUGIN_OK;
}

static int explain(const lines *model, int collective, const double *const *columns,
                   const st_plugin_sink *sink)
{
    double ranks;
    double rate;
    size_t which = 0;
    const char *reason = read_row(columns, 0, collective, &ranks, &rate);
    if (reason) {
        return st_plugin_fail(model->host, reason);
    }
    bool nothing = ranks <= 1.0 || columns[ST_LINES_SIZE][0] == 0.0;
    double bytes = columns[ST_LINES_SIZE][0] * traffic(collective, ranks);
    if (!nothing) {
        least(model, bytes / rate, &which);
    }
    st_plugin_tell_part(sink, "start-up", "us", nothing ? 0.0 : model->start_up_s[which], NULL);
    st_plugin_tell_part(sink, "transfer", "us", nothing ? 0.0 : bytes / rate / model->share[which],
                        NULL);
    if (!nothing) {
        st_plugin_tell_value(sink, "line", "", (double)which + 1.0, NULL);
        st_plugin_tell_value(sink, "rate", "GB/s", rate * model->share[which], NULL);
    }
    return ST_PLUGIN_OK;
}

int st_lines_open(const st_plugin_host *host, void **instance)
{
    lines *model = host->allocate(host->context, sizeof(*model));
    if (!model) {
        return st_plugin_fail(host, "no memory");
    }
    memset(model, 0, sizeof(*model));
    model->host = host;
    model->count = host->setting_count / 2;
    for (size_t i = 0; i < model->count && i < ST_LINES_MOST; i++) {
        model->start_up_s[i] = host->settings[2 * i]->number;
        model->share[i] = host->settings[2 * i + 1]->number;
    }
    *instance = model;
    return ST_PLUGIN_OK;
}

void st_lines_close(void *instance)
{
    lines *model = instance;
    model->host->release(model->host->context, model);
}

#define ARGUMENT(id, key, how, of, text)                                                           \
    static const st_plugin_argument id = {.struct_size = sizeof(st_plugin_argument),               \
                                          .flags = (how),                                          \
                                          .name = (key),                                           \
                                          .unit = (of),                                            \
                                          .doc = (text)}

ARGUMENT(size, "size", 0, "B", "bytes of the message; of all ranks together in a gathering");
ARGUMENT(ranks, "ranks", 0, "", "ranks of the group");
ARGUMENT(pair, "ranks", ST_PLUGIN_OPTIONAL, "", "ranks that pass the message on, 2 without it");
ARGUMENT(per_node, "per_node", ST_PLUGIN_OPTIONAL, "",
         "of these on a machine; without it as many as fit");
ARGUMENT(bandwidth, "bandwidth", ST_PLUGIN_OPTIONAL, "GB/s",
         "of the group; without it what the machine has");
ARGUMENT(gpus, "cluster.gpus_per_node", ST_PLUGIN_OPTIONAL, "", "GPUs of a machine");
ARGUMENT(links, "cluster.gpu.link_bandwidth", ST_PLUGIN_OPTIONAL, "GB/s", "links of a GPU");
ARGUMENT(nics, "cluster.nic_bandwidth", ST_PLUGIN_OPTIONAL, "GB/s", "NICs of a machine");

static const st_plugin_argument *const arguments[] = {&size, &ranks, &per_node, &bandwidth,
                                                      &gpus, &links, &nics};
static const st_plugin_argument *const pair_arguments[] = {&size, &pair,  &per_node, &bandwidth,
                                                           &gpus, &links, &nics};

#define PROVIDER(id, kind, list, how, text)                                                        \
    static int evaluate_##id(void *instance, size_t rows, const double *const *columns,            \
                             double *values)                                                       \
    {                                                                                              \
        return evaluate(instance, kind, rows, columns, values);                                    \
    }                                                                                              \
    static int explain_##id(void *instance, const double *const *columns,                          \
                            const st_plugin_sink *sink)                                            \
    {                                                                                              \
        return explain(instance, kind, columns, sink);                                             \
    }                                                                                              \
    static const st_plugin_provider id = {.struct_size = sizeof(st_plugin_provider),               \
                                          .flags = (how),                                          \
                                          .name = #id,                                             \
                                          .unit = "us",                                            \
                                          .doc = (text),                                           \
                                          .cite = "hockney1994; nccl-tests PERFORMANCE.md",        \
                                          .arguments = (list),                                     \
                                          .argument_count = ST_LINES_COLUMNS,                      \
                                          .evaluate = evaluate_##id,                               \
                                          .explain = explain_##id}

PROVIDER(all_reduce, ALL_REDUCE, arguments, ST_PLUGIN_COLLECTIVE,
         "all-reduce of a buffer of every rank");
PROVIDER(all_gather, ALL_GATHER, arguments, ST_PLUGIN_COLLECTIVE,
         "all-gather of so many bytes in all");
PROVIDER(reduce_scatter, REDUCE_SCATTER, arguments, ST_PLUGIN_COLLECTIVE,
         "reduce-scatter of so many bytes");
PROVIDER(broadcast, BROADCAST, arguments, ST_PLUGIN_COLLECTIVE, "broadcast from one rank to all");
PROVIDER(reduce, REDUCE, arguments, ST_PLUGIN_COLLECTIVE, "reduce of all ranks to one");
PROVIDER(all_to_all, ALL_TO_ALL, arguments, ST_PLUGIN_COLLECTIVE,
         "all-to-all in which every rank has so many bytes, its own part included");
PROVIDER(send_recv, SEND_RECV, pair_arguments, 0, "transfer to a neighbour");

const st_plugin_provider *const st_lines_providers[7] = {
    &all_reduce, &all_gather, &reduce_scatter, &broadcast, &reduce, &all_to_all, &send_recv};
