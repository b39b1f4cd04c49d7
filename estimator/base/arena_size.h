/* SPDX-License-Identifier: Apache-2.0 */
/* How large an arena will be; the rest is in steptime/arena.h. */
#ifndef STEPTIME_BASE_ARENA_SIZE_H
#define STEPTIME_BASE_ARENA_SIZE_H

#include "steptime/arena.h"

/* The next chunk is a large one, instead of doubles of small ones before it. */
void st_arena_expect_megabytes(st_arena *arena);

#endif
