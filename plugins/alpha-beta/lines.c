/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least of a few lines, each a start-up time and a share of the group's rate. What a rank has
 * to send of a message is that of a ring: 2(n-1)/n in an all-reduce.
 */
#include "lines.h"

#include "groups.h"

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
    if (given(bandwidth))
        return bandwidth;
    double gpus = cell(columns, ST_LINES_GPUS, row);
    double links = cell(columns, ST_LINES_LINKS, row);
    double nics = cell(columns, ST_LINES_NICS, row);
    if (ranks <= per_node)
        return links;
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
    if (collective == SEND_RECV && isnan(*ranks))
        *ranks = 2.0;
    if (!(size >= 0.0 && size <= MOST_BYTES))
        return "the size must be from 0 to 2^63 bytes";
    if (!whole(*ranks))
        return "the ranks must be a whole number from 1 to 16777216";
    if (isnan(per_node))
        per_node = given(gpus) ? fmin(*ranks, gpus) : *ranks;
    if (per_node > *ranks) {
        per_node = *ranks; /* room for more ranks than there are */
    }
    if (!whole(per_node) || fmod(*ranks, per_node) != 0.0)
        return "the ranks are not a multiple of the ranks of a machine";
    *rate = rate_of(columns, row, *ranks, per_node);
    return *ranks <= 1.0 || given(*rate) ? NULL : "the rate of the group is unknown";
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
    if (reason)
        return st_plugin_fail(model->host, reason);
    bool nothing = ranks <= 1.0 || columns[ST_LINES_SIZE][0] == 0.0;
    double bytes = columns[ST_LINES_SIZE][0] * traffic(collective, ranks);
    if (!nothing)
        least(model, bytes / rate, &which);
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
    if (!model)
        return st_plugin_fail(host, "out of memory");
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

#define SOURCE    "hockney1994; nccl-tests PERFORMANCE.md"
#define BANDWIDTH "of the group; default: the rate of the machine"

static const st_plugin_argument *const arguments[] = {GROUP_ARGUMENTS(GROUP_RANKS, BANDWIDTH)};
static const st_plugin_argument *const pair_arguments[] = {GROUP_ARGUMENTS(GROUP_PAIR, BANDWIDTH)};

GROUP_CALLS(evaluate, explain)
TRANSFER_CALLS(evaluate, explain)

const st_plugin_provider *const st_lines_providers[ST_LINES_PROVIDERS] = {
    GROUP_PROVIDERS(ST_PLUGIN_COLLECTIVE, arguments, SOURCE),
    TRANSFER_PROVIDERS(arguments, pair_arguments, SOURCE)};
