/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor of nccl-whitebox. */
#include "collectives.h"

GROUP_CALLS(st_nccl_evaluate, st_nccl_explain)
TRANSFER_CALLS(st_nccl_evaluate, st_nccl_explain)

static const st_plugin_provider *const providers[] = {
    GROUP_PROVIDERS(ST_PLUGIN_COLLECTIVE, st_nccl_arguments, ST_NCCL_SOURCE),
    TRANSFER_PROVIDERS(st_nccl_arguments, st_nccl_pair_arguments, ST_NCCL_SOURCE)};

DESCRIBE("nccl-whitebox", "1.0.0",
         "collectives from NCCL's structure, or from the equations of Echo",
         WITH_OPTIONS(st_nccl_options), WITH_PROVIDERS(providers), .open = st_nccl_open,
         .close = st_nccl_close);
