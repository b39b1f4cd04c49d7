/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins whose schedules are not as they should be; each is this file with one fault. */
#include "steptime/plugin.h"

#define MOST 1000000u

#if !defined(BAD_EMPTY)
static int order_stage(const st_plugin_pipeline *pipeline, uint32_t stage,
                       const st_plugin_order *order)
{
    uint32_t micros = pipeline->micro_batches;
    int full = 0;
#if defined(BAD_WAITS)
    /* The first stage wants a micro-batch back before it sends the next one, the others begin with
     * the last one. */
    for (uint32_t i = 0; i < micros; i++) {
        uint32_t micro = stage == 0 ? i : micros - 1 - i;
        full |= order->pass(order->context, stage, ST_PLUGIN_FORWARD, micro, 0);
        full |= order->pass(order->context, stage, ST_PLUGIN_BOTH, micro, 0);
    }
    return full;
#endif
    for (uint32_t i = 0; i < micros; i++) {
        full |= order->pass(order->context, stage, ST_PLUGIN_FORWARD, i, 0);
    }
    for (uint32_t i = 0; i < micros; i++) {
#if defined(BAD_LACKS)
        if (stage == pipeline->stages - 1 && i == micros - 1) {
            full |= order->pass(order->context, stage, ST_PLUGIN_BACKWARD, i, 0);
            continue;
        }
#elif defined(BAD_DOUBLES)
        full |= order->pass(order->context, stage, ST_PLUGIN_BACKWARD, i, 0);
#elif defined(BAD_EARLY)
        full |= order->pass(order->context, stage, ST_PLUGIN_WEIGHTS, i, 0);
#elif defined(BAD_BEYOND)
        full |= order->pass(order->context, stage, ST_PLUGIN_FORWARD, micros + 7, 0);
#elif defined(BAD_STAGE)
        full |= order->pass(order->context, stage + 23, ST_PLUGIN_FORWARD, i, 0);
#elif defined(BAD_KIND)
        full |= order->pass(order->context, stage, 2385, i, 0);
#elif defined(BAD_FLOOD)
        for (uint32_t k = 0; k < MOST && !full; k++) {
            full = order->pass(order->context, stage, ST_PLUGIN_FORWARD, i, 0);
        }
#elif defined(BAD_MOODY)
        static uint32_t calls = 0;
        if (stage == 0 && calls++ % 7 < 3) {
            full |= order->pass(order->context, stage, ST_PLUGIN_BACKWARD, i, 0);
            full |= order->pass(order->context, stage, ST_PLUGIN_WEIGHTS, i, 0);
            continue;
        }
#endif
        full |= order->pass(order->context, stage, ST_PLUGIN_BOTH, i, 0);
    }
    return full;
}

static int order(void *instance, const st_plugin_pipeline *pipeline, const st_plugin_order *order)
{
    (void)instance;
    int full = 0;
    for (uint32_t stage = 0; stage < pipeline->stages; stage++) {
        full |= order_stage(pipeline, stage, order);
    }
#if defined(BAD_MUTE)
    full = 1;
#endif
    return full != 0 ? ST_PLUGIN_FAILED : ST_PLUGIN_OK;
}

#endif

static const st_plugin_schedule schedule = {
#if defined(BAD_SMALL)
    .struct_size = 8,
#else
    .struct_size = sizeof(st_plugin_schedule),
#endif
    .name = "all_then_all",
    .doc = "all forward, all backward, with a fault",
#if defined(BAD_EMPTY)
    .cite = "",
#else
    .order = order,
#endif
};
static const st_plugin_schedule *const schedules[] = {&schedule, &schedule};

static const st_plugin plugin = {
    .struct_size = sizeof(st_plugin),
    .abi = ST_PLUGIN_ABI,
    .id = BAD_ID,
    .version = "0.1.0",
    .licence = "Apache-2.0",
    .summary = "a schedule with a fault",
    .schedules = schedules,
#if defined(BAD_SAME)
    .schedule_count = 2,
#elif defined(BAD_NOTHING)
    .schedule_count = 0,
#elif defined(BAD_MANY)
    .schedule_count = 2385,
#else
    .schedule_count = 1,
#endif
};

const st_plugin *st_plugin_describe(void)
{
    return &plugin;
}
