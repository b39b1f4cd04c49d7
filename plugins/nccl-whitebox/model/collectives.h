/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that descriptors of plugins over this model point at. */
#ifndef ST_NCCL_COLLECTIVES_H
#define ST_NCCL_COLLECTIVES_H

#include "settings.h"

#include "groups.h"

extern const st_plugin_argument *const st_nccl_arguments[ST_NCCL_COLUMNS];
extern const st_plugin_argument *const st_nccl_pair_arguments[ST_NCCL_COLUMNS];

/* An instance is a st_nccl_settings. */
int st_nccl_open(const st_plugin_host *host, void **instance);
void st_nccl_close(void *instance);

int st_nccl_evaluate(void *instance, int collective, size_t rows, const double *const *columns,
                     double *values);
int st_nccl_explain(void *instance, int collective, const double *const *columns,
                    const st_plugin_sink *sink);

#define ST_NCCL_SOURCE "NCCL 2.22.3, 2.30.7 src/graph/tuning.cc"

_Static_assert((int)SEND_RECV == (int)ST_NCCL_SEND_RECV && (int)REDUCE == (int)ST_NCCL_REDUCE,
               "collectives have the numbers of the model's");

#endif
