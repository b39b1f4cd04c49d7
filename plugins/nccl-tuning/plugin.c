/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's own cost model, nothing fitted: what it would predict and choose by itself. */
#include "collectives.h"

static const st_plugin_option *const options[] = {ST_NCCL_MACHINE_OPTIONS, ST_NCCL_CHANNELS_OPTION};

GROUP_CALLS(st_nccl_evaluate, st_nccl_explain)

/* No ST_PLUGIN_COLLECTIVE: NCCL corrects the rate of trees in steps, so that its time falls there.
 */
static const st_plugin_provider *const providers[] = {
    GROUP_PROVIDERS(0, st_nccl_arguments, ST_NCCL_SOURCE)};

static int open_plugin(const st_plugin_host *host, void **instance)
{
    int failed = st_nccl_open(host, instance);
    if (!failed)
        ((st_nccl_settings *)*instance)->model = ST_NCCL_NOMINAL;
    return failed;
}

DESCRIBE("nccl-tuning", "1.0.0", "collectives by NCCL's own cost model, nothing fitted",
         WITH_OPTIONS(options), WITH_PROVIDERS(providers), .open = open_plugin,
         .close = st_nccl_close);
