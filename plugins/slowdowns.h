/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four functions of sheets that the plugins for overlap provide. A plugin defines SLOWDOWN_CITE
 * and slowdown_values, and, where it takes the message's size and explains what it says,
 * SLOWDOWN_BY_SIZE and slowdown_explain; then provider_list is what its descriptor names.
 */
#ifndef STEPTIME_PLUGINS_SLOWDOWNS_H
#define STEPTIME_PLUGINS_SLOWDOWNS_H

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

#ifdef SLOWDOWN_BY_SIZE

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

static const st_plugin_argument size_argument = {.struct_size = sizeof(st_plugin_argument),
                                                 .flags = ST_PLUGIN_OPTIONAL,
                                                 .name = "size",
                                                 .unit = "B",
                                                 .doc = "bytes of the message"};
static const st_plugin_argument *const argument_list[] = {&size_argument};

#define SLOWDOWN_REST(kind)                                                                        \
    .arguments = argument_list, .argument_count = 1, .explain = explain_##kind

#else
#define SLOWDOWN_REST(kind) .argument_count = 0
#endif

#define SLOWDOWN_PROVIDER(kind, text)                                                              \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_provider), .name = "slowdown_" #kind, .unit = "",          \
        .doc = text, .cite = SLOWDOWN_CITE, .evaluate = slowdown_##kind, SLOWDOWN_REST(kind)       \
    }

static const st_plugin_provider providers[SLOWDOWN_KINDS] = {
    [SLOWDOWN_GEMM] = SLOWDOWN_PROVIDER(gemm, "matrix products beside a message"),
    [SLOWDOWN_ATTENTION] = SLOWDOWN_PROVIDER(attention, "attention beside a message"),
    [SLOWDOWN_ELEMENTWISE] =
        SLOWDOWN_PROVIDER(elementwise, "memory-bound kernels beside a message"),
    [SLOWDOWN_STEP] = SLOWDOWN_PROVIDER(step, "the kernels of a step beside a message"),
};

static const st_plugin_provider *const provider_list[SLOWDOWN_KINDS] = {
    &providers[SLOWDOWN_GEMM], &providers[SLOWDOWN_ATTENTION], &providers[SLOWDOWN_ELEMENTWISE],
    &providers[SLOWDOWN_STEP]};

#endif
