/* SPDX-License-Identifier: Apache-2.0 */
/* Texts by number: a trace names a few thousand things a million times. */
#ifndef STEPTIME_BASE_NUMBERED_TEXTS_H
#define STEPTIME_BASE_NUMBERED_TEXTS_H

#include "base/index.h"

enum { ST_NAMES_MAX = 1 << 20, ST_NAMES_MAX_BYTES = 1 << 30 };

typedef struct st_names {
    st_arena *arena;
    const char **texts; /* NUL-terminated UTF-8 */
    uint32_t count;
    size_t bytes; /* of all texts */
    st_index index;
} st_names;

st_status st_names_init(st_names *names) ST_NODISCARD;
void st_names_free(st_names *names);

/*
 * The number of a text as JSON spells it, without its quotes; equal texts have equal numbers. Bytes
 * that are not UTF-8 and controls become '?'. ST_ERR_LIMIT, not reported, for too many names.
 */
st_status st_names_add(st_names *names, const char *text, size_t length, bool escaped,
                       uint32_t *name) ST_NODISCARD;

#endif
