/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing; nothing is ever removed. Hashes are kept: they distinguish most names. */
#include "sheet/names.h"

#include <stdint.h>
#include <string.h>

/* Eight bytes at a time; what is missing at the end counts as zeros. */
static uint32_t hash(const char *name, size_t length)
{
    const uint64_t factor = 0x9E3779B97F4A7C15ULL;
    uint64_t value = length;
    for (; length > 0; name += length < 8 ? length : 8, length -= length < 8 ? length : 8) {
        uint64_t word = 0;
        memcpy(&word, name, length < 8 ? length : 8);
        value = (value ^ word) * factor;
        value ^= value >> 29;
    }
    return (uint32_t)(value ^ (value >> 32));
}

static const char *text_of(const st_name_slot *slot)
{
    return st_relative_target(&slot->name);
}

/* The name's slot, or the free one where it belongs. */
static st_name_slot *find(const st_names *names, const char *name, size_t length, uint32_t hashed)
{
    size_t mask = names->capacity - 1;
    size_t i = hashed & mask;
    for (;; i = (i + 1) & mask) {
        st_name_slot *slot = &names->slots[i];
        if (slot->name.distance == 0 ||
            (slot->hash == hashed && strncmp(text_of(slot), name, length) == 0 &&
             text_of(slot)[length] == '\0'))
            return slot;
    }
}

static void fill(st_name_slot *slot, const char *name, uint32_t index, uint32_t hashed)
{
    st_relative_set(&slot->name, name);
    slot->index = index;
    slot->hash = hashed;
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
            const st_name_slot *slot = &names->slots[i];
            size_t at = slot->hash & (larger.capacity - 1);
            while (slot->name.distance != 0 && larger.slots[at].name.distance != 0)
                at = (at + 1) & (larger.capacity - 1);
            if (slot->name.distance != 0)
                fill(&larger.slots[at], text_of(slot), slot->index, slot->hash);
        }
        *names = larger;
    }
    size_t length = strlen(name);
    uint32_t hashed = hash(name, length);
    st_name_slot *slot = find(names, name, length, hashed);
    if (slot->name.distance == 0)
        names->count++;
    fill(slot, name, (uint32_t)index, hashed);
    return true;
}

bool st_names_get_part(const st_names *names, const char *text, size_t length, size_t *index)
{
    if (names->capacity == 0)
        return false;
    const st_name_slot *slot = find(names, text, length, hash(text, length));
    if (slot->name.distance == 0)
        return false;
    *index = slot->index;
    return true;
}

bool st_names_get(const st_names *names, const char *name, size_t *index)
{
    return st_names_get_part(names, name, strlen(name), index);
}
