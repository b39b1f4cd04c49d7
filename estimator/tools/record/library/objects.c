/* SPDX-License-Identifier: Apache-2.0 */
/* See objects.h. */
#include "record/library/objects.h"

#include "base/lists.h"
#include "record/library/handlers.h"

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

st_object *st_object_taken(st_call *call, unsigned index, st_object_kind kind)
{
    enum { BLAS_NOT_INITIALIZED = 1, CUDNN_BAD_PARAM = 2000, NCCL_INVALID_ARGUMENT = 4 };
    static const struct {
        uint16_t error;
        const char *what;
    } misuses[ST_OBJECT_KINDS] = {
        [ST_OBJECT_EVENT] = {ST_CUDA_INVALID_HANDLE, "invalid event handle"},
        [ST_OBJECT_STREAM] = {ST_CUDA_INVALID_HANDLE, "invalid stream handle"},
        [ST_OBJECT_GRAPH] = {ST_CUDA_INVALID_HANDLE, "invalid graph handle"},
        [ST_OBJECT_EXECUTABLE] = {ST_CUDA_INVALID_HANDLE, "invalid graph handle"},
        [ST_OBJECT_MODULE] = {ST_CUDA_INVALID_HANDLE, "invalid module handle"},
        [ST_OBJECT_FUNCTION] = {ST_CUDA_INVALID_HANDLE, "invalid function handle"},
        [ST_OBJECT_PHYSICAL] = {ST_CUDA_INVALID_VALUE, "invalid memory handle"},
        [ST_OBJECT_BLAS] = {BLAS_NOT_INITIALIZED, "invalid cuBLAS or cuDNN handle"},
        [ST_OBJECT_CUDNN] = {CUDNN_BAD_PARAM, "invalid cuBLAS or cuDNN handle"},
        [ST_OBJECT_COMM] = {NCCL_INVALID_ARGUMENT, "invalid communicator"},
    };
    st_object *found = st_object_of(st_word(call, index), kind);
    if (found == NULL && call->draft.kind != ST_LOG_MISUSE)
        (void)st_misuse(call, misuses[kind].error, misuses[kind].what);
    return found;
}

st_object *st_stream_taken(st_call *call, uint64_t handle)
{
    st_object *found = st_stream_of(handle);
    if (found == NULL && call->draft.kind != ST_LOG_MISUSE)
        (void)st_misuse(call, ST_CUDA_INVALID_HANDLE, "invalid stream handle");
    return found;
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

/* Destroys a handle of the st_object_kind that is the constant. */
uint64_t st_do_object_drop(st_call *call)
{
    st_object *object = st_object_taken(call, 0, (st_object_kind)call->entry->constant);
    if (object == NULL)
        return call->draft.status;
    st_object_drop(object);
    return 0;
}

/* Whether such a handle is valid. */
uint64_t st_do_object_check(st_call *call)
{
    const st_object *object = st_object_taken(call, 0, (st_object_kind)call->entry->constant);
    return object == NULL ? call->draft.status : 0;
}
