/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures that a caller's compiler and the library may know in different sizes: the first member
 * is the size that the caller knows. What the caller does not know is zero, which is the default;
 * what the library does not know must be zero, or it would be ignored without a word.
 */
#ifndef STEPTIME_BASE_SIZED_STRUCT_H
#define STEPTIME_BASE_SIZED_STRUCT_H

#include "steptime/status.h"

/* Copies what was `given` into the library's own structure of `size` bytes. */
st_status st_sized_take(const void *given, void *ours, size_t size, st_errors *errors) ST_NODISCARD;
/* Copies the library's structure to the caller's; a tail that the library lacks becomes zero. */
st_status st_sized_give(const void *ours, size_t size, void *given, st_errors *errors) ST_NODISCARD;

#endif
