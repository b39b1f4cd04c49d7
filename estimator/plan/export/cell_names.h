/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that spreadsheets take.
 *
 * Excel and LibreOffice know no difference between B and b, and refuse names that could be a cell:
 * T1 is one, R and C are short for a row and a column, R1C1 is the other way to write A1. The rules
 * are those of docs/spreadsheet.md, so that a reader can map a name back:
 *   1. T1, r, RC2, true and names that spreadsheets keep for themselves get a "_" at the end;
 *   2. a name that begins with _xl gets an "n" in front;
 *   3. of names that differ in case alone the first keeps its own, the next get _2, _3, ...
 */
#ifndef STEPTIME_EXPORT_CELL_NAMES_H
#define STEPTIME_EXPORT_CELL_NAMES_H

#include "sheet/names.h"

typedef struct st_cell_names {
    st_arena *arena;
    st_names taken; /* in lower case */
} st_cell_names;

/* A legal name that nothing else has, made of an identifier; NULL when out of memory. */
const char *st_cell_names_add(st_cell_names *names, const char *wanted);
/* In lower case, as far as ASCII goes, which is all that identifiers have. */
char *st_cell_name_lower(st_arena *arena, const char *name);

#endif
