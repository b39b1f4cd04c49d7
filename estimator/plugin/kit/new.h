/* SPDX-License-Identifier: Apache-2.0 */
/* Projects for new plugins. */
#ifndef STEPTIME_PLUGIN_KIT_NEW_H
#define STEPTIME_PLUGIN_KIT_NEW_H

#include "steptime/arena.h"

/* Writes a project for a plugin of that name into a folder that does not exist yet. */
st_status st_plugin_new(const char *name, const char *folder, st_arena *arena,
                        st_errors *errors) ST_NODISCARD;

#endif
