/* SPDX-License-Identifier: Apache-2.0 */
/* What libraries that launch kernels ask for beyond memory and streams: attributes of pointers,
 * maps of tensors, versions, memory of other processes. */
#include "record/library/device_blocks.h"
#include "record/library/handlers.h"
#include "record/library/objects.h"

/* ---- pointers ---- */

/* CUpointer_attribute: false for one that is not known. */
static bool pointer_attribute(st_call *call, uint32_t attribute, uint64_t address, uint64_t into)
{
    enum {
        MEMORY_TYPE = 2,
        DEVICE_POINTER = 3,
        HOST_POINTER = 4,
        SYNC_OPERATIONS = 6,
        BUFFER = 7,
        IS_MANAGED = 8,
        DEVICE = 9,
        IS_SHARED = 10,
        RANGE_START = 11,
        RANGE_BYTES = 12,
        IS_MAPPED = 13
    };
    const st_block *block = st_memory_find(address);
    void *to;
    memcpy(&to, &into, sizeof to);
    if (block == NULL || to == NULL)
        return false;
    bool pinned = block->memory == ST_LOG_PINNED;
    bool managed = block->memory == ST_LOG_MANAGED;
    const struct {
        uint32_t attribute;
        uint32_t bytes;
        uint64_t value;
    } rows[] = {
        {MEMORY_TYPE, 4, pinned ? 1 : 2},
        {DEVICE_POINTER, 8, address},
        {HOST_POINTER, 8, pinned || managed ? address : 0},
        {SYNC_OPERATIONS, 1, 0},
        {BUFFER, 8, block->number},
        {IS_MANAGED, 1, managed},
        {DEVICE, 4, block->device},
        {IS_SHARED, 1, 1},
        {RANGE_START, 8, block->start},
        {RANGE_BYTES, 8, block->bytes},
        {IS_MAPPED, 1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].attribute == attribute)
            return st_put_bytes(to, &rows[i].value, rows[i].bytes) == 0;
    if (attribute == 1 && call->thread != NULL) /* the context, of which there is one */
        return st_put_bytes(to, &(uint64_t){1}, 8) == 0;
    return false;
}

/* cuPointerGetAttribute(value *, attribute, pointer) */
uint64_t st_do_pointer_attribute(st_call *call)
{
    bool known =
        pointer_attribute(call, (uint32_t)st_int(call, 1), st_word(call, 2), st_word(call, 0));
    return known ? 0 : ST_CUDA_INVALID_VALUE;
}

/* cuPointerGetAttributes(how many, attributes *, values **, pointer): what is not known is zero */
uint64_t st_do_pointer_attribute_list(st_call *call)
{
    enum { MOST = 64 };
    const uint32_t *attributes = st_pointer(call, 1);
    const uint64_t *values = st_pointer(call, 2);
    const uint32_t count = (uint32_t)st_word(call, 0);
    if (attributes == NULL || values == NULL || count > MOST)
        return ST_CUDA_INVALID_VALUE;
    for (uint32_t i = 0; i < count; i++)
        (void)pointer_attribute(call, attributes[i], st_word(call, 3), values[i]);
    return 0;
}

/* ---- versions ---- */

/* GetProperty(0 major, 1 minor, 2 patch level; value *): the constant is 10000 major + 100 minor +
 * patch level */
uint64_t st_do_property(st_call *call)
{
    static const int32_t places[] = {10000, 100, 1};
    uint64_t which = st_word(call, 0) & UINT32_MAX;
    if (which > 2)
        return 7;
    int32_t value = call->entry->constant / places[which];
    return ST_PUT(call, 1, int32_t, which == 0 ? value : value % 100);
}

/* ---- memory and events of other processes ---- */

typedef struct ipc_handle {
    uint64_t start;
    uint64_t bytes;
    uint64_t reserved[6];
} ipc_handle;

/* cudaIpcGetMemHandle(handle *, pointer) */
uint64_t st_do_ipc_get(st_call *call)
{
    const st_block *block = st_memory_find(st_word(call, 1));
    if (block == NULL)
        return st_misuse(call, ST_CUDA_INVALID_VALUE, "invalid or freed pointer");
    const ipc_handle handle = {.start = block->start, .bytes = block->bytes};
    return st_put_bytes(st_pointer(call, 0), &handle, sizeof handle);
}

/* cudaIpcOpenMemHandle(pointer *, handle by value, flags): addresses without memory of their own */
uint64_t st_do_ipc_open(st_call *call)
{
    ipc_handle handle;
    st_block block;
    memcpy(&handle, call->stack, sizeof handle);
    uint64_t result =
        st_memory_take(call, handle.bytes > 0 ? handle.bytes : 1, ST_LOG_VIRTUAL, &block);
    return result != 0 ? result : ST_PUT(call, 0, uint64_t, block.start);
}

/* cudaIpcGetEventHandle(handle *, event) */
uint64_t st_do_ipc_event_get(st_call *call)
{
    const ipc_handle handle = {.start = call->taken[0]->handle};
    return st_put_bytes(st_pointer(call, 0), &handle, sizeof handle);
}
