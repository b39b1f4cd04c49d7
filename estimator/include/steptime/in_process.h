/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins of the program itself: functions of any language that can be called back. */
#ifndef STEPTIME_IN_PROCESS_H
#define STEPTIME_IN_PROCESS_H

#include "steptime/plugin.h"
#include "steptime/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Offers a plugin by its descriptor, which is checked as that of a file is: it is found by its id,
 * before those of files, until it is withdrawn. The descriptor must live until then, and until what
 * uses it is destroyed. One of the same id takes its place. Such plugins run in this process,
 * whatever a request says. ST_ERR_LIMIT: more than 256 are offered. For threads.
 */
ST_API st_status st_plugin_offer(const st_plugin *plugin, st_errors *errors) ST_NODISCARD;
ST_API void st_plugin_withdraw(const st_plugin *plugin);

#ifdef __cplusplus
}
#endif
#endif
