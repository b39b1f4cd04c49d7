/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of steptime to start from: the time of an all-reduce on one ring. Put your model in the
 * place of value_of, say in the tables below what it reads and which options it takes, and run
 * `steptime plugin check` on what you built.
 */
#include "steptime/plugin.h"

#include <math.h>

/* ---- options ---- */

enum { LATENCY, EFFICIENCY, OPTIONS };

static const st_plugin_option latency = {
    .struct_size = sizeof(st_plugin_option),
    .kind = ST_PLUGIN_NUMBER,
    .flags = ST_PLUGIN_CALIBRATED,
    .name = "latency",
    .unit = "us",
    .default_text = "4.5 us",
    .minimum = 0,
    .maximum = 1, /* seconds: limits are in base units */
    .doc = "of a step to the next rank",
};

static const st_plugin_option efficiency = {
    .struct_size = sizeof(st_plugin_option),
    .kind = ST_PLUGIN_NUMBER,
    .flags = ST_PLUGIN_CALIBRATED,
    .name = "efficiency",
    .unit = "",
    .default_text = "0.92",
    .minimum = 0.01,
    .maximum = 1,
    .doc = "share of the bandwidth that large messages reach",
};

static const st_plugin_option *const options[OPTIONS] = {&latency, &efficiency};

/* ---- what it reads ---- */

enum { SIZE, RANKS, BANDWIDTH, ARGUMENTS };

static const st_plugin_argument size = {
    .struct_size = sizeof(st_plugin_argument),
    .name = "size",
    .unit = "MB",
    .doc = "message",
};

static const st_plugin_argument ranks = {
    .struct_size = sizeof(st_plugin_argument),
    .name = "ranks",
    .unit = "",
    .doc = "ranks in the group",
};

static const st_plugin_argument bandwidth = {
    .struct_size = sizeof(st_plugin_argument),
    .name = "bandwidth",
    .unit = "GB/s",
    .doc = "of a rank",
};

static const st_plugin_argument *const arguments[ARGUMENTS] = {&size, &ranks, &bandwidth};

/* ---- the model ---- */

typedef struct state {
    const st_plugin_host *host;
    double latency;    /* seconds */
    double efficiency; /* of the bandwidth */
} state;

typedef struct parts {
    double start;    /* seconds */
    double transfer; /* seconds */
} parts;

/* What one row costs; false outside of what the model knows. */
static int parts_of(const state *own, const double *const *columns, size_t row, parts *result)
{
    double n = columns[RANKS][row];
    double bytes = columns[SIZE][row];
    double rate = columns[BANDWIDTH][row];
    if (!(n >= 1) || !(bytes >= 0) || !isfinite(n) || !isfinite(bytes)) {
        return 0;
    }
    result->start = 0;
    result->transfer = 0;
    if (n == 1) {
        return 1;
    }
    if (!(rate > 0)) {
        return 0;
    }
    result->start = 2 * (n - 1) * own->latency;
    result->transfer = 2 * (n - 1) / n * bytes / (rate * own->efficiency);
    return 1;
}

static int evaluate(void *instance, size_t rows, const double *const *columns, double *values)
{
    const state *own = instance;
    for (size_t row = 0; row < rows; row++) {
        parts time;
        values[row] = parts_of(own, columns, row, &time) ? time.start + time.transfer : (double)NAN;
    }
    return ST_PLUGIN_OK;
}

static int explain(void *instance, const double *const *columns, const st_plugin_sink *sink)
{
    const state *own = instance;
    parts time;
    if (!parts_of(own, columns, 0, &time)) {
        return st_plugin_fail(own->host, "needs a rank, a size and a bandwidth above zero");
    }
    st_plugin_tell_part(sink, "start", "us", time.start, "latency of all steps");
    st_plugin_tell_part(sink, "transfer", "us", time.transfer, "bytes over the bandwidth");
    return ST_PLUGIN_OK;
}

static const st_plugin_provider all_reduce = {
    .struct_size = sizeof(st_plugin_provider),
    .flags = ST_PLUGIN_COLLECTIVE,
    .name = "all_reduce",
    .unit = "us",
    .doc = "all-reduce on one ring: twice n - 1 steps, each with a latency",
    .cite = "nccl-tests PERFORMANCE.md",
    .arguments = arguments,
    .argument_count = ARGUMENTS,
    .evaluate = evaluate,
    .explain = explain,
};

static const st_plugin_provider *const providers[] = {&all_reduce};

/* ---- the plugin ---- */

static int open_plugin(const st_plugin_host *host, void **instance)
{
    state *own = host->allocate(host->context, sizeof *own);
    if (own == NULL) {
        return st_plugin_fail(host, "out of memory");
    }
    own->host = host;
    own->latency = host->settings[LATENCY]->number;
    own->efficiency = host->settings[EFFICIENCY]->number;
    *instance = own;
    return ST_PLUGIN_OK;
}

static void close_plugin(void *instance)
{
    state *own = instance;
    own->host->release(own->host->context, own);
}

static const st_plugin plugin = {
    .struct_size = sizeof(st_plugin),
    .abi = ST_PLUGIN_ABI,
    .id = "template",
    .version = "0.1.0",
    .licence = "Apache-2.0",
    .summary = "all-reduce on one ring, with a latency per step",
    .options = options,
    .option_count = OPTIONS,
    .providers = providers,
    .provider_count = sizeof providers / sizeof providers[0],
    .open = open_plugin,
    .close = close_plugin,
};

const st_plugin *st_plugin_describe(void)
{
    return &plugin;
}
