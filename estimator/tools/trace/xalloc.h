/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory, or the end of the program. A tool has nothing to save when memory runs out: it says so,
 * removes its temporary files and exits, as git's xmalloc does. Code that uses these functions
 * does not ask whether memory came. Called in the process of another program, that code jumps back
 * to the call, and what it holds is lost (decision 0079).
 */
#ifndef STEPTIME_TRACE_XALLOC_H
#define STEPTIME_TRACE_XALLOC_H

#include "base/lists.h"

#define ST_NEVER_NULL __attribute__((returns_nonnull))

/* Ends the program unless `memory` is there. */
ST_NEVER_NULL void *st_xmemory(void *memory);
/* Ends the program unless `done`: for functions of the library that fail only without memory. */
void st_xdone(bool done);
/* The same for a status, and hands on every other one. */
st_status st_xstatus(st_status status) ST_NODISCARD;

/* Calls; ST_ERR_MEMORY where memory runs out on this thread, or on one of a team that it starts. */
st_status st_xcall(st_status (*call)(void *context), void *context);

enum { ST_XTEAM_MOST = 16 };
/* Up to `count` threads, this one among them, work at the same; returns when all of them have. */
void st_xteam(st_status (*work)(void *context), void *context, size_t count);

/* Zeroed memory and texts of an arena. */
ST_NEVER_NULL void *st_xalloc(st_arena *arena, size_t count, size_t size_bytes);
ST_NEVER_NULL char *st_xcopy(st_arena *arena, const char *text, size_t length);
ST_NEVER_NULL char *st_xprintf(st_arena *arena, const char *format, ...) ST_PRINTF(2, 3);
/* Memory that the caller frees; zeroed by st_xcalloc. */
ST_NEVER_NULL void *st_xmalloc(size_t size_bytes);
ST_NEVER_NULL void *st_xcalloc(size_t count, size_t size_bytes);
ST_NEVER_NULL st_arena *st_xarena(void);

#define ST_XAPPEND(arena, items, count, ...) st_xdone(ST_APPEND((arena), items, count, __VA_ARGS__))

#endif
