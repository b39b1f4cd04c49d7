/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that descriptors of plugins over this model point at. */
#ifndef ST_NCCL_COLLECTIVES_H
#define ST_NCCL_COLLECTIVES_H

#include "settings.h"

extern const st_plugin_argument *const st_nccl_arguments[ST_NCCL_COLUMNS];
extern const st_plugin_argument *const st_nccl_pair_arguments[ST_NCCL_COLUMNS];

/* An instance is a st_nccl_settings. */
int st_nccl_open(const st_plugin_host *host, void **instance);
void st_nccl_close(void *instance);

#define ST_NCCL_DECLARE(name)                                                                      \
    int st_nccl_evaluate_##name(void *instance, size_t rows, const double *const *columns,         \
                                double *values);                                                   \
    int st_nccl_explain_##name(void *instance, const double *const *columns,                       \
                               const st_plugin_sink *sink)

ST_NCCL_DECLARE(all_reduce);
ST_NCCL_DECLARE(all_gather);
ST_NCCL_DECLARE(reduce_scatter);
ST_NCCL_DECLARE(broadcast);
ST_NCCL_DECLARE(reduce);
ST_NCCL_DECLARE(all_to_all);
ST_NCCL_DECLARE(send_recv);

/* A static descriptor of one of them. */
#define ST_NCCL_PROVIDER(id, list, how, text)                                                      \
    static const st_plugin_provider id = {.struct_size = sizeof(st_plugin_provider),               \
                                          .flags = (how),                                          \
                                          .name = #id,                                             \
                                          .unit = "us",                                            \
                                          .doc = (text),                                           \
                                          .cite = "NCCL 2.22.3, 2.30.7 src/graph/tuning.cc",       \
                                          .arguments = (list),                                     \
                                          .argument_count = ST_NCCL_COLUMNS,                       \
                                          .evaluate = st_nccl_evaluate_##id,                       \
                                          .explain = st_nccl_explain_##id}

#endif
