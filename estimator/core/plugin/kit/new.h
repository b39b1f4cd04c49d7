/* SPDX-License-Identifier: Apache-2.0 */
/* Projects for new plugins. */
#ifndef STEPTIME_PLUGIN_KIT_NEW_H
#define STEPTIME_PLUGIN_KIT_NEW_H

#include "steptime/sheet.h"

/* What a new plugin begins with: an open function of a sheet, or the template's model. */
typedef struct st_plugin_start {
    const st_sheet *sheet;
    const st_sheet_function *function; /* NULL: the template's */
} st_plugin_start;

/* The open function of that name; an unknown one is reported with the nearest and all there are. */
st_status st_plugin_function_find(const st_sheet *sheet, const char *name,
                                  const st_sheet_function **function,
                                  st_errors *errors) ST_NODISCARD;

/* Writes a project for a plugin of that name into a folder that does not exist yet. */
st_status st_plugin_new(const char *name, const char *folder, const st_plugin_start *start,
                        st_arena *arena, st_errors *errors) ST_NODISCARD;

#endif
