/* SPDX-License-Identifier: Apache-2.0 */
/* See objects.h. */
#include "record/library/objects.h"

#include "base/lists.h"

#include <stdlib.h>

enum { CHUNK = 1024, MOST_CHUNKS = 16384, TAG = 0x5d };

static st_object *chunks[MOST_CHUNKS];
static uint32_t used;
static uint32_t *freed;
static uint32_t freed_count;
static size_t freed_capacity;
static uint32_t generations;
static uint32_t numbers[ST_OBJECT_KINDS];

static st_object *at(uint32_t place)
{
    return &chunks[place / CHUNK][place % CHUNK];
}

st_object *st_object_make(st_object_kind kind)
{
    uint32_t place = freed_count > 0 ? freed[--freed_count] : used;
    if (place == used) {
        if (used / CHUNK >= MOST_CHUNKS)
            return NULL;
        if (chunks[used / CHUNK] == NULL)
            chunks[used / CHUNK] = calloc(CHUNK, sizeof(st_object));
        if (chunks[used / CHUNK] == NULL)
            return NULL;
        used++;
    }
    st_object *object = at(place);
    /* 0x5dKKGGGGIIIIIIII: tag, kind, generation, place. */
    *object = (st_object){.handle = (uint64_t)TAG << 56 | (uint64_t)kind << 48 |
                                    (uint64_t)(++generations & 0xffff) << 32 | place,
                          .number = ++numbers[kind]};
    return object;
}

st_object *st_object_of(uint64_t handle, st_object_kind kind)
{
    uint32_t place = (uint32_t)handle;
    if (place >= used || handle >> 48 != ((uint64_t)TAG << 8 | (uint64_t)kind))
        return NULL;
    st_object *object = at(place);
    return object->handle == handle ? object : NULL;
}

void st_object_drop(st_object *object)
{
    uint32_t place = (uint32_t)object->handle;
    object->handle = 0;
    if (ST_ROOM(freed, freed_count, freed_capacity)) /* or its place is not used again */
        freed[freed_count++] = place;
}

void st_object_each(st_object_kind kind, void (*visit)(st_object *object, void *context),
                    void *context)
{
    for (uint32_t place = 0; place < used; place++)
        if (at(place)->handle >> 48 == ((uint64_t)TAG << 8 | (uint64_t)kind))
            visit(at(place), context);
}
