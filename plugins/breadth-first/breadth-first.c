/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The breadth-first pipeline schedule (Lamy-Poirier 2023): all micro-batches go through a chunk
 * before any goes through the next one, so that what a chunk's weights cost (gathering them,
 * reducing their gradients) is paid once a chunk and hides behind whole rounds of passes. One chunk
 * a stage makes it GPipe.
 */
#include "steptime/plugin.h"

static int order_stage(const st_plugin_pipeline *pipeline, uint32_t stage,
                       const st_plugin_order *order)
{
    int full = 0;
    for (uint32_t chunk = 0; chunk < pipeline->chunks; chunk++) {
        for (uint32_t i = 0; i < pipeline->micro_batches && !full; i++) {
            full = order->pass(order->context, stage, ST_PLUGIN_FORWARD, i, chunk);
        }
    }
    for (uint32_t chunk = pipeline->chunks; chunk > 0; chunk--) {
        for (uint32_t i = 0; i < pipeline->micro_batches && !full; i++) {
            full = order->pass(order->context, stage, ST_PLUGIN_BOTH, i, chunk - 1);
        }
    }
    return full;
}

static int order(void *instance, const st_plugin_pipeline *pipeline, const st_plugin_order *order)
{
    (void)instance;
    for (uint32_t stage = 0; stage < pipeline->stages; stage++) {
        if (order_stage(pipeline, stage, order) != 0) {
            return ST_PLUGIN_FAILED;
        }
    }
    return ST_PLUGIN_OK;
}

static const st_plugin_schedule breadth_first = {
    .struct_size = sizeof(st_plugin_schedule),
    .flags = ST_PLUGIN_CHUNKED,
    .name = "breadth_first",
    .doc = "every micro-batch through a chunk before the next chunk, and back",
    .cite = "lamypoirier2023 sec. 4",
    .order = order,
};
static const st_plugin_schedule *const schedules[] = {&breadth_first};

const st_plugin *st_plugin_describe(void)
{
    static const st_plugin plugin = {
        .struct_size = sizeof(plugin),
        .abi = ST_PLUGIN_ABI,
        .id = "breadth-first",
        .version = "1.0.0",
        .licence = "Apache-2.0",
        .summary = "the breadth-first pipeline schedule",
        .schedules = schedules,
        .schedule_count = 1,
    };
    return &plugin;
}
