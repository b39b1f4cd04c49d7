/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing; nothing is ever removed. Hashes are kept: they distinguish most names. */
#include "sheet/names.h"

#include <stdint.h>
#include <string.h>

/* Eight bytes at a time; what is missing at the end counts as zeros. */
static size_t hash(const char *name, size_t length)
{
    const uint64_t factor = 0x9E3779B97F4A7C15ULL;
    uint64_t value = length;
    for (; length > 0; name += length < 8 ? length : 8, length -= length < 8 ? length : 8) {
        uint64_t word = 0;
        memcpy(&word, name, length < 8 ? length : 8);
        value = (value ^ word) * factor;
        value ^= value >> 29;
    }
    return (size_t)(value ^ (value >> 32));
}

/* The name's slot, or the free one where it belongs. */
static st_name_slot *find(const st_names *names, const char *name, size_t length, size_t hashed)
{
    size_t mask = names->capacity - 1;
    size_t i = hashed & mask;
    for (;; i = (i + 1) & mask) {
        st_name_slot *slot = &names->slots[i];
        if (slot->name == NULL || (slot->hash == hashed && strncmp(slot->name, name, length) == 0 &&
                                   slot->name[length] == '\0'))
            return slot;
    }
}

bool st_names_put(st_names *names, const char *name, size_t index)
{
    if (2 * (names->count + 1) > names->capacity) {
        st_names larger = {.arena = names->arena,
                           .capacity = names->capacity == 0 ? 64 : names->capacity * 4,
                           .count = names->count};
        larger.slots = st_arena_alloc(names->arena, larger.capacity, sizeof(*larger.slots));
        if (larger.slots == NULL)
            return false;
        for (size_t i = 0; i < names->capacity; i++) {
            size_t at = names->slots[i].hash & (larger.capacity - 1);
            while (names->slots[i].name != NULL && larger.slots[at].name != NULL)
                at = (at + 1) & (larger.capacity - 1);
            if (names->slots[i].name != NULL)
                larger.slots[at] = names->slots[i];
        }
        *names = larger;
    }
    size_t length = strlen(name);
    size_t hashed = hash(name, length);
    st_name_slot *slot = find(names, name, length, hashed);
    if (slot->name == NULL)
        names->count++;
    *slot = (st_name_slot){.name = name, .index = index, .hash = hashed};
    return true;
}

bool st_names_get_part(const st_names *names, const char *text, size_t length, size_t *index)
{
    if (names->capacity == 0)
        return false;
    const st_name_slot *slot = find(names, text, length, hash(text, length));
    if (slot->name == NULL)
        return false;
    *index = slot->index;
    return true;
}

bool st_names_get(const st_names *names, const char *name, size_t *index)
{
    return st_names_get_part(names, name, strlen(name), index);
}
