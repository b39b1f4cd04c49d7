/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointers that are right wherever the memory of both ends lies, as long as it moves as one: what
 * has them stays in an image (sheet/image.h) and is never copied by `=`.
 */
#ifndef STEPTIME_SHEET_RELATIVE_H
#define STEPTIME_SHEET_RELATIVE_H

#include <stddef.h>
#include <stdint.h>

/* A pointer as the distance from its own place to what it points to; 0: to nothing. */
typedef struct st_relative {
    intptr_t distance;
} st_relative;

/* By way of numbers: what it points to is not part of the object in which it lies. */
static inline void *st_relative_target(const st_relative *pointer)
{
    const uintptr_t target = (uintptr_t)pointer + (uintptr_t)pointer->distance;
    return pointer->distance == 0 ? NULL : (void *)target; /* NOLINT(performance-no-int-to-ptr) */
}

static inline void st_relative_set(st_relative *pointer, const void *target)
{
    pointer->distance = target == NULL ? 0 : (intptr_t)((uintptr_t)target - (uintptr_t)pointer);
}

#endif
