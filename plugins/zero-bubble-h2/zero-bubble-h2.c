/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZB-H2, the second handcrafted schedule of Qi et al. 2024 (section 2.3): stages fill the warm-up
 * with further forward passes, in nearly twice the memory of 1F1B, and compute the weights'
 * gradients of stage s 2 s micro-batches late, so that all stages end one after the other as they
 * have begun.
 */
#include "schedules.h"

static int order_stage(const st_plugin_pipeline *pipeline, uint32_t stage,
                       const st_plugin_order *order)
{
    uint32_t micros = pipeline->micro_batches;
    uint32_t ahead = 2 * (pipeline->stages - 1 - stage);
    uint32_t late = 2 * stage;
    uint32_t weights = 0;
    int full = 0;
    ahead = ahead < micros ? ahead : micros;
    for (uint32_t i = 0; i < micros + ahead && !full; i++) {
        if (i < micros) {
            full = order->pass(order->context, stage, ST_PLUGIN_FORWARD, i, 0);
        }
        if (i >= ahead) {
            full = order->pass(order->context, stage, ST_PLUGIN_BACKWARD, i - ahead, 0) || full;
        }
        if (i >= ahead && i - ahead >= late) {
            full = order->pass(order->context, stage, ST_PLUGIN_WEIGHTS, weights++, 0) || full;
        }
    }
    while (weights < micros && !full)
        full = order->pass(order->context, stage, ST_PLUGIN_WEIGHTS, weights++, 0);
    return full;
}

static const st_plugin_schedule *const schedules[] = {SCHEDULE(
    ST_PLUGIN_STAGGERED, "zero_bubble_h2",
    "ZB-H2: a warm-up filled with forward passes, weights' gradients late", "qi2024 sec. 2.3")};

DESCRIBE("zero-bubble-h2", "1.0.0", "the pipeline schedule ZB-H2", WITH_SCHEDULES(schedules));
