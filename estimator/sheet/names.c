/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing over FNV-1a; nothing is ever removed. */
#include "sheet/names.h"

#include <string.h>

static size_t hash(const char *name, size_t length)
{
    uint64_t value = 14695981039346656037ULL;
    for (size_t i = 0; i < length; i++) {
        value = (value ^ (unsigned char)name[i]) * 1099511628211ULL;
    }
    return (size_t)(value ^ (value >> 32));
}

static st_name_slot *find(const st_names *names, const char *name, size_t length)
{
    size_t mask = names->capacity - 1;
    size_t i = hash(name, length) & mask;
    while (names->slots[i].name != NULL && (strncmp(names->slots[i].name, name, length) != 0 ||
                                            names->slots[i].name[length] != '\0')) {
        i = (i + 1) & mask;
    }
    return &names->slots[i];
}

static bool grow(st_names *names)
{
    st_names larger = {.arena = names->arena,
                       .capacity = names->capacity == 0 ? 64 : names->capacity * 2,
                       .count = names->count};
    larger.slots = st_arena_alloc(names->arena, larger.capacity, sizeof(*larger.slots));
    if (larger.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < names->capacity; i++) {
        if (names->slots[i].name != NULL) {
            *find(&larger, names->slots[i].name, strlen(names->slots[i].name)) = names->slots[i];
        }
    }
    *names = larger;
    return true;
}

bool st_names_put(st_names *names, const char *name, size_t index)
{
    if (2 * (names->count + 1) > names->capacity && !grow(names)) {
        return false;
    }
    st_name_slot *slot = find(names, name, strlen(name));
    if (slot->name == NULL) {
        names->count++;
    }
    *slot = (st_name_slot){.name = name, .index = index};
    return true;
}

bool st_names_get_part(const st_names *names, const char *text, size_t length, size_t *index)
{
    if (names->capacity == 0) {
        return false;
    }
    const st_name_slot *slot = find(names, text, length);
    if (slot->name == NULL) {
        return false;
    }
    *index = slot->index;
    return true;
}

bool st_names_get(const st_names *names, const char *name, size_t *index)
{
    return st_names_get_part(names, name, strlen(name), index);
}
