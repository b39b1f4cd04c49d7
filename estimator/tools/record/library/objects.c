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
    if (kind == ST_OBJECT_EVENT)
        object->event.stream = ST_LOG_NO_STREAM;
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

st_object *st_object_of_node(uint64_t node, uint32_t *number)
{
    uint32_t place = (uint32_t)node;
    if (place >= used || at(place)->handle >> 48 != ((uint64_t)TAG << 8 | ST_OBJECT_GRAPH))
        return NULL;
    *number = (uint32_t)((node - at(place)->handle) >> 32);
    return st_node_at(at(place)->graph.capture, *number) != NULL ? at(place) : NULL;
}

/* ---- nodes ---- */

typedef struct node_list {
    st_node *nodes;
    size_t count;
    size_t room;
} node_list;

static node_list *captures; /* by number */
static size_t capture_count;
static size_t capture_room;

st_node *st_node_add(uint32_t capture, uint32_t type)
{
    while (capture >= capture_count) {
        if (!ST_ROOM(captures, capture_count, capture_room))
            return NULL;
        captures[capture_count++] = (node_list){0};
    }
    node_list *list = &captures[capture];
    if (!ST_ROOM(list->nodes, list->count, list->room))
        return NULL;
    list->nodes[list->count] = (st_node){.type = type};
    return &list->nodes[list->count++];
}

uint32_t st_node_count(uint32_t capture)
{
    return capture < capture_count ? (uint32_t)captures[capture].count : 0;
}

st_node *st_node_at(uint32_t capture, uint32_t number)
{
    bool is_there = number > 0 && number <= st_node_count(capture);
    return is_there ? &captures[capture].nodes[number - 1] : NULL;
}

void st_nodes_drop(uint32_t capture)
{
    for (uint32_t i = st_node_count(capture); i > 0; i--)
        free(captures[capture].nodes[i - 1].arguments);
    if (capture < capture_count) {
        free(captures[capture].nodes);
        captures[capture] = (node_list){0};
    }
}

/* The error of a library for a NULL pointer, and for a bad stream. */
const uint16_t st_null_errors[ST_LIBRARIES] = {
    ST_CUDA_INVALID_VALUE, ST_CUDA_INVALID_VALUE, 7, 7, 2002, 4, 2};
static const uint16_t stream_errors[ST_LIBRARIES] = {
    ST_CUDA_INVALID_HANDLE, ST_CUDA_INVALID_HANDLE, 7, 7, 2000, 4, 2};

st_object *st_stream_taken(st_call *call, uint64_t handle)
{
    st_object *found = st_stream_of(handle);
    if (found == NULL)
        (void)st_misuse(call, stream_errors[call->entry->library], "invalid stream handle");
    return found;
}

uint64_t st_take_arguments(st_call *call)
{
    enum { BLAS_NOT_INITIALIZED = 1, CUDNN_BAD_PARAM = 2000, NCCL_INVALID_ARGUMENT = 4 };
    static const struct {
        uint16_t error;
        const char *what;
    } misuses[] = {
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
        [ST_TAKE_DEVICE] = {ST_CUDA_INVALID_DEVICE, "invalid device"},
    };
    size_t count = 0;
    for (size_t i = 0; i < ST_TAKES && call->entry->takes[i].kind != 0; i++) {
        unsigned kind = call->entry->takes[i].kind;
        uint64_t word = st_word(call, call->entry->takes[i].word - 1U);
        bool fine = true;
        if (kind == ST_TAKE_POINTER && word == 0)
            return st_null_errors[call->entry->library];
        if (kind == ST_OBJECT_STREAM) {
            call->stream = st_stream_taken(call, word);
            if (call->stream == NULL)
                return call->draft.status;
        } else if (kind == ST_TAKE_DEVICE) {
            fine = (uint32_t)word < st_now.header.device_count;
        } else if (kind != ST_TAKE_POINTER) {
            kind = kind == ST_TAKE_CREATED_STREAM ? ST_OBJECT_STREAM : kind;
            call->taken[count] = st_object_of(word, (st_object_kind)kind);
            fine = call->taken[count++] != NULL;
        }
        if (!fine)
            return st_misuse(call, misuses[kind].error, misuses[kind].what);
    }
    return 0;
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

/* Makes an object of the st_object_kind that is the constant: f flags, of which 2 leaves an event
 * without times. */
uint64_t st_do_object_make(st_call *call)
{
    enum { DISABLE_TIMING = 2 };
    st_object *object = st_object_make((st_object_kind)call->entry->constant);
    if (object == NULL)
        return call->entry->library <= ST_CUDA ? ST_CUDA_OUT_OF_MEMORY : 3; /* not allocated */
    object->device = call->thread->device;
    if (call->entry->constant == ST_OBJECT_EVENT)
        object->event.untimed = (st_role(call, 'f', 0) & DISABLE_TIMING) != 0;
    return ST_PUT(call, 0, uint64_t, object->handle);
}

uint64_t st_do_object_drop(st_call *call)
{
    st_object_drop(call->taken[0]);
    return 0;
}
