/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a plugin that begins with an open function of a sheet, from templates. */
#ifndef STEPTIME_PLUGIN_KIT_NEW_FUNCTION_H
#define STEPTIME_PLUGIN_KIT_NEW_FUNCTION_H

#include "plugin/kit/new.h"

/*
 * A file of a project for a plugin `name`, whose model is the function's formula times an option:
 * placeholders between two '@' in the template are filled in. NULL when out of memory.
 */
const char *st_plugin_function_file(const char *text, const st_plugin_start *start,
                                    const char *name, st_arena *arena);

#endif
