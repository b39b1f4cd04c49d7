/* SPDX-License-Identifier: Apache-2.0 */
/* A map from names to indices, for symbol tables. */
#ifndef STEPTIME_SHEET_NAMES_H
#define STEPTIME_SHEET_NAMES_H

#include "sheet/relative.h"
#include "steptime/arena.h"

typedef struct st_name_slot {
    st_relative name; /* to nothing: free */
    uint32_t index;
    uint32_t hash;
} st_name_slot;

typedef struct st_names {
    st_arena *arena;
    st_name_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
} st_names;

/* Sets or replaces; `name` must live as long as the map. False when out of memory. */
bool st_names_put(st_names *names, const char *name, size_t index) ST_NODISCARD;
/* False where the name is unknown. */
bool st_names_get(const st_names *names, const char *name, size_t *index);
/* The same for the first `length` bytes of a text. */
bool st_names_get_part(const st_names *names, const char *text, size_t length, size_t *index);

#endif
