/* SPDX-License-Identifier: Apache-2.0 */
/* Whether texts are the same, for walks through short lists: most differ in their first byte. */
#ifndef STEPTIME_BASE_SAME_H
#define STEPTIME_BASE_SAME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool st_same(const char *a, const char *b)
{
    return a[0] == b[0] && strcmp(a, b) == 0;
}

/* Whether `length` bytes of `text`, at least one and none of them NUL, are all of `whole`. */
static inline bool st_same_part(const char *text, size_t length, const char *whole)
{
    return text[0] == whole[0] && strncmp(text, whole, length) == 0 && whole[length] == '\0';
}

#endif
