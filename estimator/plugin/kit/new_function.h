/* SPDX-License-Identifier: Apache-2.0 */
/* The source of a plugin that begins with an open function of a sheet, written in C. */
#ifndef STEPTIME_PLUGIN_KIT_NEW_FUNCTION_H
#define STEPTIME_PLUGIN_KIT_NEW_FUNCTION_H

#include "steptime/sheet.h"

/*
 * The files of a project for a plugin `name`: the plugin, which computes the function's formula
 * times an option, and a test of it; NULL when out of memory.
 */
const char *st_plugin_function_source(const st_sheet *sheet, const st_sheet_function *function,
                                      const char *name, st_arena *arena);
const char *st_plugin_function_test(const st_sheet *sheet, const st_sheet_function *function,
                                    const char *name, st_arena *arena);
const char *st_plugin_function_readme(const st_sheet *sheet, const st_sheet_function *function,
                                      const char *name, st_arena *arena);

#endif
