/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas of a sheet's functions as expressions of C. */
#ifndef STEPTIME_PLUGIN_KIT_FORMULA_C_H
#define STEPTIME_PLUGIN_KIT_FORMULA_C_H

#include "steptime/sheet.h"

/* What a function's formula reads besides its arguments: inputs and cells, each once. */
typedef struct st_formula_reads {
    const char **names;
    const st_type **types;
    size_t count;
} st_formula_reads;

/* ST_ERR_MEMORY or ST_OK. Functions that the formula calls are looked into. */
st_status st_formula_reads_find(const st_sheet *sheet, const st_sheet_function *function,
                                st_arena *arena, st_formula_reads *reads) ST_NODISCARD;

/* The formula over variables of the arguments' names, in base units; calls are put in place. */
void st_formula_write_c(const st_sheet *sheet, const st_sheet_function *function,
                        st_buffer *buffer);

/* A name as a variable of C: words of C and what the plugin's file calls its own get a '_'. */
void st_formula_write_name(const char *name, st_buffer *buffer);

/* It is `if(ranks > 1, ..., 0)`: zero for one rank. */
bool st_formula_is_collective(const st_sheet_function *function);

#endif
