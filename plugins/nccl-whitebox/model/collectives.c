/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin as the host sees it: collectives evaluated in blocks, and their
 * explanation. */
#include "collectives.h"

#include "answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Plans that a block keeps: rows of a sweep come back to the same few groups.
 */
#define KEPT 32

typedef struct kept_plan {
    st_nccl_row row;
    const char *reason;
    st_nccl_case from;
    st_nccl_plans plans;
} kept_plan;

static st_nccl_row row_at(const double *const *columns, size_t index)
{
    st_nccl_row row;
    for (size_t i = 0; i < ST_NCCL_COLUMNS; i++)
        row.values[i] = columns[i] ? columns[i][index] : (double)NAN;
    return row;
}

/* Whether these columns are those of a row; what is not a number is never the same, but for columns
 * that have one value throughout, which are not among these. */
static bool same_group(const st_nccl_row *row, const double *const *columns, const size_t *varied,
                       size_t count, size_t index)
{
    for (size_t i = 0; i < count; i++) {
        if (columns[varied[i]][index] != row->values[varied[i]]) {
            return false;
        }
    }
    return true;
}

static void prepare(const st_nccl_settings *settings, int collective, const st_nccl_row *row,
                    kept_plan *kept)
{
    kept->row = *row;
    kept->reason = st_nccl_read_row(settings, collective, row, &kept->from);
    if (!kept->reason && kept->from.group.ranks > 1.0)
        st_nccl_make_plans(settings, collective, &kept->from, &kept->plans);
}

static double time_us(const st_nccl_plans *plans, double bytes)
{
    double weight = st_nccl_weight_of_large(plans, bytes);
    double large = weight > 0.0 ? st_nccl_time_us(&plans->large, bytes) : 0.0;
    return weight < 1.0 ? weight * large + (1.0 - weight) * st_nccl_time_us(&plans->small, bytes)
                        : large;
}

static double value_of(const st_nccl_settings *settings, const kept_plan *kept, double bytes)
{
    if (kept->reason || st_nccl_check_size(bytes))
        return (double)NAN;
    if (kept->from.group.ranks <= 1.0 || bytes == 0.0)
        return 0.0;
    if (settings->model == ST_NCCL_ECHO)
        return 1e-6 * st_nccl_answer_for(settings, &kept->plans.large, bytes).total_us;
    return 1e-6 * time_us(&kept->plans, bytes);
}

int st_nccl_evaluate(void *instance, int collective, size_t rows, const double *const *columns,
                     double *values)
{
    const st_nccl_settings *settings = instance;
    kept_plan kept[KEPT];
    bool used[KEPT] = {false};
    size_t varied[ST_NCCL_COLUMNS];
    /* The columns but the size that are not the same in all rows of a block; returns how many. */
    size_t count = 0;
    for (size_t i = ST_NCCL_RANKS; i < ST_NCCL_COLUMNS; i++) {
        if (columns[i] && rows > 1 &&
            memcmp(columns[i], columns[i] + 1, (rows - 1) * sizeof(double)) != 0) {
            varied[count++] = i;
        }
    }
    for (size_t i = 0; i < rows; i++) {
        double mixed = columns[ST_NCCL_RANKS] ? columns[ST_NCCL_RANKS][i] : 0.0;
        mixed += columns[ST_NCCL_PER_NODE] ? 3.0 * columns[ST_NCCL_PER_NODE][i] : 0.0;
        uint64_t bits;
        memcpy(&bits, &mixed, sizeof(bits));
        bits = (bits ^ bits >> 32) * UINT64_C(0x9e3779b97f4a7c15);
        size_t slot = (size_t)(bits >> 59);
        if (!used[slot] || !same_group(&kept[slot].row, columns, varied, count, i)) {
            st_nccl_row row = row_at(columns, i);
            prepare(settings, collective, &row, &kept[slot]);
            used[slot] = true;
        }
        values[i] = value_of(settings, &kept[slot], columns[ST_NCCL_SIZE][i]);
    }
    return ST_PLUGIN_OK;
}

static int refuse(const st_nccl_settings *settings, const st_nccl_row *row, const char *reason)
{
    char message[256];
    snprintf(message, sizeof(message), "%s (size %.6g, ranks %.6g, ranks of a machine %.6g)",
             reason, row->values[ST_NCCL_SIZE], row->values[ST_NCCL_RANKS],
             row->values[ST_NCCL_PER_NODE]);
    return st_plugin_fail(settings->host, message);
}

/* Of both plans, by the weight of each; the line is that of the weightier one. */
static st_nccl_answer answer_of(const st_nccl_settings *settings, const st_nccl_plans *plans,
                                double bytes)
{
    double weight = st_nccl_weight_of_large(plans, bytes);
    const st_nccl_answer a = st_nccl_answer_for(settings, &plans->large, bytes);
    if (weight >= 1.0)
        return a;
    const st_nccl_answer b = st_nccl_answer_for(settings, &plans->small, bytes);
    const double rest = 1.0 - weight;
    return (st_nccl_answer){
        .total_us = weight * a.total_us + rest * b.total_us,
        .setup_us = weight * a.setup_us + rest * b.setup_us,
        .intra_us = weight * a.intra_us + rest * b.intra_us,
        .inter_us = weight * a.inter_us + rest * b.inter_us,
        .reduction_us = weight * a.reduction_us + rest * b.reduction_us,
        .correction_us = weight * a.correction_us + rest * b.correction_us,
        .line = weight >= 0.5 ? a.line : b.line,
    };
}

int st_nccl_explain(void *instance, int collective, const double *const *columns,
                    const st_plugin_sink *sink)
{
    const st_nccl_settings *settings = instance;
    st_nccl_row row = row_at(columns, 0);
    kept_plan kept;
    double bytes = row.values[ST_NCCL_SIZE];
    prepare(settings, collective, &row, &kept);
    const char *reason = kept.reason ? kept.reason : st_nccl_check_size(bytes);
    if (reason)
        return refuse(settings, &row, reason);
    st_nccl_answer answer = {0};
    if (kept.from.group.ranks > 1.0 && bytes > 0.0) {
        answer = answer_of(settings, &kept.plans, bytes);
        if (isnan(answer.total_us)) {
            return refuse(settings, &row, "the options leave no algorithm for this");
        }
    }
    st_plugin_tell_part(sink, "set-up", "us", 1e-6 * answer.setup_us, "start of the kernel");
    st_plugin_tell_part(sink, "intra-node", "us", 1e-6 * answer.intra_us,
                        "hops, and bytes passed on, inside machines");
    st_plugin_tell_part(sink, "inter-node", "us", 1e-6 * answer.inter_us,
                        "hops, and bytes passed on, between them");
    st_plugin_tell_part(sink, "reduction", "us", 1e-6 * answer.reduction_us,
                        "bytes in the steps that sum them up");
    if (settings->correction.count > 0) {
        char verdict[192];
        int range =
            st_nccl_weight_of_large(&kept.plans, bytes) >= 0.5 ? ST_NCCL_LARGE : ST_NCCL_SMALL;
        const double *shares = settings->transfer[kept.from.group.nodes > 1.0 ? 1 : 0];
        st_nccl_verdict(&kept.from.group, &settings->correction, shares, range, verdict,
                        sizeof(verdict));
        st_plugin_tell_part(sink, "correction", "us", 1e-6 * answer.correction_us,
                            "difference between measurements and the model");
        st_plugin_tell_text(sink, "calibration", verdict, NULL);
    }
    if (answer.line) {
        static const char *const algorithms[] = {"tree",      "ring", "NVLS",
                                                 "NVLS tree", "PAT",  "transfer"};
        static const char *const protocols[] = {"LL", "LL128", "Simple"};
        const st_nccl_line *line = answer.line;
        st_nccl_cut cut = st_nccl_cut_of(&kept.plans.large, line->algorithm, line->protocol, bytes);
        st_plugin_tell_text(sink, "algorithm", algorithms[line->algorithm], NULL);
        st_plugin_tell_text(sink, "protocol", protocols[line->protocol], NULL);
        st_plugin_tell_value(sink, "channels", "", cut.channels, NULL);
        st_plugin_tell_value(sink, "chunk", "kB", cut.sent_bytes, NULL);
        st_plugin_tell_value(sink, "rounds", "", cut.rounds, NULL);
        /* Report what no data sheet says; do not guess it. */
        if (kept.from.machine.link == ST_NCCL_PCI && kept.from.group.per_node > 2.0 &&
            settings->link_rate <= 0.0) {
            st_plugin_tell_text(sink, "caution",
                                "over PCIe more than two GPUs may go through shared memory, a "
                                "cliff that only measurements show (link_rate)",
                                NULL);
        }
    }
    return ST_PLUGIN_OK;
}

#define BANDWIDTH "of the group; used over PCIe and for jobs without rates"
#define MACHINE                                                                                    \
    OPTIONAL("cluster.gpu.compute_capability", "", "of the GPU; identifies its architecture"),     \
        OPTIONAL("cluster.nccl_version", "",                                                       \
                 "of NCCL, as in its header; used without the option version"),                    \
        OPTIONAL("cluster.protocol", "",                                                           \
                 "of the network, by its place among the names of the key; default: InfiniBand")

const st_plugin_argument *const st_nccl_arguments[ST_NCCL_COLUMNS] = {
    GROUP_ARGUMENTS(GROUP_RANKS, BANDWIDTH), MACHINE};
const st_plugin_argument *const st_nccl_pair_arguments[ST_NCCL_COLUMNS] = {
    GROUP_ARGUMENTS(GROUP_PAIR, BANDWIDTH), MACHINE};

static void release(st_nccl_settings *settings)
{
    const st_plugin_host *host = settings->host;
    if (settings->correction.curves)
        host->release(host->context, settings->correction.curves);
    host->release(host->context, settings);
}

static bool fail(const st_plugin_host *host, const char *message)
{
    host->error(host->context, message);
    return false;
}

static bool load_correction(st_nccl_settings *settings)
{
    const st_plugin_host *host = settings->host;
    const char *text = st_nccl_correction_text(host);
    size_t count = st_nccl_correction_count(text);
    if (count == 0)
        return true;
    if (count > ST_NCCL_MOST_CURVES)
        return fail(host, "correction: more than 256 groups");
    settings->correction.curves =
        host->allocate(host->context, count * sizeof(*settings->correction.curves));
    if (!settings->correction.curves)
        return fail(host, "out of memory");
    size_t at = 0;
    const char *reason = st_nccl_correction_parse(text, &settings->correction, &at);
    if (reason) {
        char message[256];
        snprintf(message, sizeof(message), "correction: %s, found '%.20s' after %zu bytes", reason,
                 text + at, at);
        return fail(host, message);
    }
    return true;
}

int st_nccl_open(const st_plugin_host *host, void **instance)
{
    st_nccl_settings *settings = host->allocate(host->context, sizeof(*settings));
    if (!settings) {
        (void)fail(host, "out of memory");
        return ST_PLUGIN_FAILED;
    }
    memset(settings, 0, sizeof(*settings));
    st_nccl_read_settings(host, settings);
    if (!load_correction(settings) ||
        (settings->model == ST_NCCL_ECHO && !st_nccl_load_table(settings))) {
        release(settings);
        return ST_PLUGIN_FAILED;
    }
    *instance = settings;
    return ST_PLUGIN_OK;
}

void st_nccl_close(void *instance)
{
    release(instance);
}
