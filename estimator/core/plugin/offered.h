/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that the program itself has offered (steptime/in_process.h). */
#ifndef STEPTIME_PLUGIN_OFFERED_H
#define STEPTIME_PLUGIN_OFFERED_H

#include "steptime/plugin.h"

/* NULL where none of that id is offered. */
const st_plugin *st_plugin_offered(const char *id);

#endif
