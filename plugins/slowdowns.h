/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four functions of sheets that the plugins for overlap provide. A plugin defines
 * SLOWDOWN_CITE, slowdown_values and slowdown_explain; then provider_list is what its descriptor
 * names. Rows come with the message's size and with the rates that tell the job's GPU.
 */
#ifndef STEPTIME_PLUGINS_SLOWDOWNS_H
#define STEPTIME_PLUGINS_SLOWDOWNS_H

#include "gpus.h"

#include "steptime/plugin.h"

typedef enum slowdown_kind {
    SLOWDOWN_GEMM,
    SLOWDOWN_ATTENTION,
    SLOWDOWN_ELEMENTWISE,
    SLOWDOWN_STEP,
    SLOWDOWN_KINDS
} slowdown_kind;

/* By the plugin: as st_plugin_provider's functions of these names. */
static int slowdown_values(void *instance, slowdown_kind kind, size_t rows,
                           const double *const *columns, double *values);

#define SLOWDOWN_VALUES(name, kind)                                                                \
    static int name(void *instance, size_t rows, const double *const *columns, double *values)     \
    {                                                                                              \
        return slowdown_values(instance, kind, rows, columns, values);                             \
    }

SLOWDOWN_VALUES(slowdown_gemm, SLOWDOWN_GEMM)
SLOWDOWN_VALUES(slowdown_attention, SLOWDOWN_ATTENTION)
SLOWDOWN_VALUES(slowdown_elementwise, SLOWDOWN_ELEMENTWISE)
SLOWDOWN_VALUES(slowdown_step, SLOWDOWN_STEP)

static int slowdown_explain(void *instance, slowdown_kind kind, const double *const *columns,
                            const st_plugin_sink *sink);

#define SLOWDOWN_EXPLAIN(name, kind)                                                               \
    static int name(void *instance, const double *const *columns, const st_plugin_sink *sink)      \
    {                                                                                              \
        return slowdown_explain(instance, kind, columns, sink);                                    \
    }

SLOWDOWN_EXPLAIN(explain_gemm, SLOWDOWN_GEMM)
SLOWDOWN_EXPLAIN(explain_attention, SLOWDOWN_ATTENTION)
SLOWDOWN_EXPLAIN(explain_elementwise, SLOWDOWN_ELEMENTWISE)
SLOWDOWN_EXPLAIN(explain_step, SLOWDOWN_STEP)

/* ---- what a row is told ---- */

enum { COLUMN_SIZE, COLUMN_PEAK, COLUMN_MEMORY, COLUMN_LINKS, COLUMNS };

#define SLOWDOWN_ARGUMENT(of, in, text)                                                            \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_argument), .flags = ST_PLUGIN_OPTIONAL, .name = (of),      \
        .unit = (in), .doc = (text)                                                                \
    }

static const st_plugin_argument arguments[COLUMNS] = {
    [COLUMN_SIZE] = SLOWDOWN_ARGUMENT("size", "B", "bytes of the message"),
    [COLUMN_PEAK] =
        SLOWDOWN_ARGUMENT("cluster.gpu.peak_fp16", "TFLOP/s", "peak rate, which tells the GPU"),
    [COLUMN_MEMORY] = SLOWDOWN_ARGUMENT("cluster.gpu.memory_bandwidth", "GB/s",
                                        "memory bandwidth, which tells it"),
    [COLUMN_LINKS] =
        SLOWDOWN_ARGUMENT("cluster.gpu.link_bandwidth", "GB/s", "links, which tell A800 and H800"),
};
static const st_plugin_argument *const argument_list[COLUMNS] = {
    &arguments[COLUMN_SIZE], &arguments[COLUMN_PEAK], &arguments[COLUMN_MEMORY],
    &arguments[COLUMN_LINKS]};

static int slowdown_gpu(const double *const *columns, size_t row)
{
    double rates[COLUMNS];
    for (size_t i = COLUMN_PEAK; i < COLUMNS; i++) {
        rates[i] = columns[i] != NULL ? columns[i][row] : (double)NAN;
    }
    return gpu_of_rates(rates[COLUMN_PEAK], rates[COLUMN_MEMORY], rates[COLUMN_LINKS]);
}

static void slowdown_tell(const st_plugin_sink *sink, double factor, const char *origin)
{
    st_plugin_tell_part(sink, "undisturbed", "", 1, "the computation alone");
    st_plugin_tell_part(sink, "disturbed", "", factor - 1, "what the concurrent message adds");
    st_plugin_tell_text(sink, "origin", origin, "of the factor");
}

/* ---- providers ---- */

#define SLOWDOWN_PROVIDER(kind, text)                                                              \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_provider), .name = "slowdown_" #kind, .unit = "",          \
        .doc = text, .cite = SLOWDOWN_CITE, .evaluate = slowdown_##kind,                           \
        .arguments = argument_list, .argument_count = COLUMNS, .explain = explain_##kind           \
    }

static const st_plugin_provider providers[SLOWDOWN_KINDS] = {
    [SLOWDOWN_GEMM] = SLOWDOWN_PROVIDER(gemm, "GEMMs alongside a message"),
    [SLOWDOWN_ATTENTION] = SLOWDOWN_PROVIDER(attention, "attention alongside a message"),
    [SLOWDOWN_ELEMENTWISE] =
        SLOWDOWN_PROVIDER(elementwise, "memory-bound kernels alongside a message"),
    [SLOWDOWN_STEP] = SLOWDOWN_PROVIDER(step, "the kernels of a step alongside a message"),
};

static const st_plugin_provider *const provider_list[SLOWDOWN_KINDS] = {
    &providers[SLOWDOWN_GEMM], &providers[SLOWDOWN_ATTENTION], &providers[SLOWDOWN_ELEMENTWISE],
    &providers[SLOWDOWN_STEP]};

#endif
