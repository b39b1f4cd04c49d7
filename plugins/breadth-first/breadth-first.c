/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The breadth-first pipeline schedule (Lamy-Poirier 2023): all micro-batches go through a chunk
 * before any goes through the next one, so that what a chunk's weights cost (gathering them,
 * reducing their gradients) is paid once a chunk and hides behind whole rounds of passes. One chunk
 * a stage makes it GPipe.
 */
#include "schedules.h"

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

static const st_plugin_schedule *const schedules[] = {SCHEDULE(
    ST_PLUGIN_CHUNKED, "breadth_first",
    "every micro-batch through a chunk before the next chunk, and back", "lamypoirier2023 sec. 4")};

DESCRIBE("breadth-first", "1.0.0", "the breadth-first pipeline schedule",
         WITH_SCHEDULES(schedules));
