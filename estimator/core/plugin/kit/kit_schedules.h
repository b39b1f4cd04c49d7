/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin's schedules have to keep to. */
#ifndef STEPTIME_PLUGIN_KIT_KIT_SCHEDULES_H
#define STEPTIME_PLUGIN_KIT_KIT_SCHEDULES_H

#include "plugin/kit/kit.h"

/*
 * Asks every schedule for orders of pipelines of several shapes: each pass once on its stage, no
 * order that waits on itself, the same order twice, and a reason where a shape is refused. A
 * schedule that refuses every shape fails. Without schedules it is skipped.
 */
st_finding_kind st_kit_schedules(const st_plugin_instance *instance, st_errors *errors,
                                 st_buffer *text);

#endif
