/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four functions of sheets that the plugins for overlap provide. A plugin defines
 * SLOWDOWN_CITE, slowdown_values and slowdown_explain; then `providers` is what its descriptor
 * names. Rows come with the message's size and with the rates that identify the job's GPU.
 */
#ifndef STEPTIME_PLUGINS_SLOWDOWNS_H
#define STEPTIME_PLUGINS_SLOWDOWNS_H

#include "describe.h"
#include "gpus.h"

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

static int slowdown_explain(void *instance, slowdown_kind kind, const double *const *columns,
                            const st_plugin_sink *sink);

CALLS(gemm, SLOWDOWN_GEMM, slowdown_values, slowdown_explain)
CALLS(attention, SLOWDOWN_ATTENTION, slowdown_values, slowdown_explain)
CALLS(elementwise, SLOWDOWN_ELEMENTWISE, slowdown_values, slowdown_explain)
CALLS(step, SLOWDOWN_STEP, slowdown_values, slowdown_explain)

/* ---- arguments of a row ---- */

enum { COLUMN_SIZE, COLUMN_PEAK, COLUMN_MEMORY, COLUMN_LINKS, COLUMNS };

static const st_plugin_argument *const arguments[COLUMNS] = {
    [COLUMN_SIZE] = OPTIONAL("size", "B", "bytes of the message"),
    [COLUMN_PEAK] = OPTIONAL("cluster.gpu.peak_fp16", "TFLOP/s", "peak rate; identifies the GPU"),
    [COLUMN_MEMORY] =
        OPTIONAL("cluster.gpu.memory_bandwidth", "GB/s", "memory bandwidth; identifies the GPU"),
    [COLUMN_LINKS] =
        OPTIONAL("cluster.gpu.link_bandwidth", "GB/s", "link bandwidth; identifies A800 and H800")};

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
    st_plugin_tell_part(sink, "disturbed", "", factor - 1, "added by the concurrent message");
    st_plugin_tell_text(sink, "origin", origin, "of the factor");
}

/* ---- providers ---- */

#define SLOWDOWN_PROVIDER(kind, words)                                                             \
    PROVIDER(0, "slowdown_" #kind, "", kind, arguments, words, SLOWDOWN_CITE)

static const st_plugin_provider *const providers[SLOWDOWN_KINDS] = {
    [SLOWDOWN_GEMM] = SLOWDOWN_PROVIDER(gemm, "GEMMs alongside a message"),
    [SLOWDOWN_ATTENTION] = SLOWDOWN_PROVIDER(attention, "attention alongside a message"),
    [SLOWDOWN_ELEMENTWISE] =
        SLOWDOWN_PROVIDER(elementwise, "memory-bound kernels alongside a message"),
    [SLOWDOWN_STEP] = SLOWDOWN_PROVIDER(step, "the kernels of a step alongside a message")};

#endif
