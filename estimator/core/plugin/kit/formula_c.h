/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas of a sheet's functions as expressions of C. */
#ifndef STEPTIME_PLUGIN_KIT_FORMULA_C_H
#define STEPTIME_PLUGIN_KIT_FORMULA_C_H

#include "steptime/sheet.h"

/* The formula over variables of the arguments' names, in base units; calls are put in place. */
void st_formula_write_c(const st_sheet *sheet, const st_sheet_function *function,
                        st_buffer *buffer);

/* A name as a variable of C: words of C and what the plugin's file calls its own get a '_'. */
void st_formula_write_name(const char *name, st_buffer *buffer);

/* It is `if(ranks > 1, ..., 0)`: zero for one rank. */
bool st_formula_is_collective(const st_sheet_function *function);

#endif
