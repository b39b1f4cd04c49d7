/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins with one schedule: they give the order of one stage after the other, order_stage. */
#ifndef STEPTIME_PLUGINS_SCHEDULES_H
#define STEPTIME_PLUGINS_SCHEDULES_H

#include "describe.h"

/* Not 0: the host takes no more passes. */
static int order_stage(const st_plugin_pipeline *pipeline, uint32_t stage,
                       const st_plugin_order *order);

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

#define SCHEDULE(how, id, words, source)                                                           \
    &(const st_plugin_schedule)                                                                    \
    {                                                                                              \
        .struct_size = sizeof(st_plugin_schedule), .flags = how, .name = id, .doc = words,         \
        .cite = source, .order = order                                                             \
    }

#endif
