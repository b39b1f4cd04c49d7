/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vsnprintf for the formats that steptime is full of: texts, characters and whole numbers put
 * together. A start formats some thousand of them, mostly names and what errors would say, and the
 * C library takes a thousand instructions for each.
 */
#ifndef STEPTIME_BASE_PRINT_H
#define STEPTIME_BASE_PRINT_H

#include "steptime/arena.h"

/* What vsnprintf does, with the same result; a format with anything but %s, %.*s, %.9s, %c, %d,
 * %zu and %% is given to it, and what a failed attempt left in the room is overwritten. */
int st_vprint(char *text, size_t size, const char *format, va_list arguments) ST_PRINTF(3, 0);

/* st_arena_printf with a list of arguments. */
char *st_arena_vprintf(st_arena *arena, const char *format, va_list arguments) ST_PRINTF(2, 0);

#endif
