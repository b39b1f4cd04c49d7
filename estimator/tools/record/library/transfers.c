/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that programs allocate, copy and set. */
#include "record/library/handlers.h"
#include "record/library/device_blocks.h"
#include "record/library/objects.h"
#include "record/library/transfers.h"

#include <fcntl.h>

static uint64_t bad_pointer(st_call *call)
{
    return st_misuse(call, ST_CUDA_INVALID_VALUE, "invalid or freed pointer");
}

static void draft_block(st_call *call, st_log_kind kind, const st_block *block)
{
    call->draft.kind = (uint16_t)kind;
    call->draft.memory = (st_log_memory){.pointer = block->start,
                                         .bytes = block->bytes,
                                         .charged_bytes = block->charged,
                                         .live_bytes = st_memory_live(call->thread->device),
                                         .stream = ST_LOG_NO_STREAM,
                                         .memory = block->memory};
}

/* Allocations: p where the pointer goes, z bytes, s stream; the constant is a st_log_memory_kind.
 */
uint64_t st_do_malloc(st_call *call)
{
    st_block block;
    uint64_t bytes = st_role(call, 'z', 0);
    if (st_word(call, 0) == 0)
        return bad_pointer(call);
    if (bytes == 0 && call->entry->library == ST_CUDA)
        return st_misuse(call, ST_CUDA_INVALID_VALUE, "allocation of zero bytes");
    if (bytes == 0)
        return ST_PUT(call, 0, uint64_t, 0);
    st_log_memory_kind memory = (st_log_memory_kind)call->entry->constant;
    uint64_t result = st_memory_take(call, bytes, memory, &block);
    if (result != 0)
        return result;
    draft_block(call, ST_LOG_MALLOC, &block);
    if (memory == ST_LOG_POOL) {
        call->draft.flags = ST_LOG_ASYNC;
        call->draft.memory.stream = call->stream->number;
    }
    st_mix_size(bytes);
    return ST_PUT(call, 0, uint64_t, block.start);
}

/* cudaMallocPitch(pointer *, pitch *, width, height): rows of a multiple of 512 bytes */
uint64_t st_do_malloc_pitch(st_call *call)
{
    st_block block;
    const uint64_t pitch = (st_word(call, 2) + 511) / 512 * 512;
    uint64_t bytes = 0;
    if (pitch < st_word(call, 2) || __builtin_mul_overflow(pitch, st_word(call, 3), &bytes))
        bytes = UINT64_MAX; /* which fits nowhere */
    uint64_t result = st_memory_take(call, bytes, ST_LOG_DEVICE, &block);
    if (result != 0)
        return result;
    draft_block(call, ST_LOG_MALLOC, &block);
    (void)ST_PUT(call, 1, uint64_t, pitch);
    return ST_PUT(call, 0, uint64_t, block.start);
}

/* The constant is ST_LOG_PINNED for memory of the host. */
uint64_t st_do_free(st_call *call)
{
    st_block block;
    uint64_t start = st_word(call, 0);
    const st_block *found = st_memory_find(start);
    if (start == 0)
        return 0;
    const bool is_host = call->entry->constant == ST_LOG_PINNED;
    if (found == NULL || (found->memory == ST_LOG_PINNED) != is_host ||
        !st_memory_give(start, &block))
        return bad_pointer(call);
    draft_block(call, ST_LOG_FREE, &block);
    if (call->stream != NULL) {
        call->draft.flags = ST_LOG_ASYNC;
        call->draft.memory.stream = call->stream->number;
    }
    return 0;
}

uint64_t st_do_host_register(st_call *call)
{
    uint64_t error = st_memory_register(st_word(call, 0), st_word(call, 1));
    if (error != 0)
        return st_misuse(call, error, "host memory range cannot be registered");
    draft_block(call, ST_LOG_MALLOC, st_memory_find(st_word(call, 0)));
    return 0;
}

uint64_t st_do_host_unregister(st_call *call)
{
    st_block block;
    if (!st_memory_give(st_word(call, 0), &block))
        return st_misuse(call, ST_CUDA_HOST_NOT_REGISTERED, "host memory range is not registered");
    draft_block(call, ST_LOG_FREE, &block);
    return 0;
}

uint64_t st_do_host_pointer(st_call *call)
{
    if (st_memory_find(st_word(call, 1)) == NULL)
        return bad_pointer(call);
    return ST_PUT(call, 0, uint64_t, st_word(call, 1));
}

/* cudaPointerAttributes: type, device, pointers of the device and the host */
uint64_t st_do_pointer_attributes(st_call *call)
{
    static const uint32_t types[] = {
        [ST_LOG_DEVICE] = 2,  [ST_LOG_POOL] = 2,   [ST_LOG_VIRTUAL] = 2,
        [ST_LOG_MANAGED] = 3, [ST_LOG_PINNED] = 1, [ST_LOG_COMM_BUFFER] = 2};
    uint64_t address = st_word(call, 1);
    const st_block *block = st_memory_find(address);
    struct {
        uint32_t type;
        uint32_t device;
        uint64_t on_device;
        uint64_t on_host;
    } found = {0};
    if (block != NULL) {
        found.type = types[block->memory];
        found.device = block->device;
        found.on_device = address;
        found.on_host = found.type == 2 ? 0 : address;
    }
    return st_put_bytes(st_pointer(call, 0), &found, sizeof found);
}

/* ---- copies and sets ---- */

static bool on_device(uint64_t address)
{
    const st_block *block = st_memory_find(address);
    return block != NULL && block->memory != ST_LOG_PINNED;
}

void st_copy_draft(st_call *call, uint64_t to, uint64_t from, uint64_t bytes)
{
    bool to_device = on_device(to);
    bool from_device = on_device(from);
    st_log_copy *copy = &call->draft.copy;
    call->draft.kind = ST_LOG_COPY;
    *copy = (st_log_copy){.bytes = bytes, .to = to, .from = from};
    copy->direction =
        (uint8_t)(to_device ? (from_device ? ST_LOG_DEVICE_TO_DEVICE : ST_LOG_HOST_TO_DEVICE)
                            : (from_device ? ST_LOG_DEVICE_TO_HOST : ST_LOG_HOST_TO_HOST));
    uint64_t address = to_device ? from : to;
    copy->host_memory = st_memory_find(address) != NULL ? ST_LOG_PINNED : ST_LOG_PAGEABLE;
    if (to_device && from_device && st_memory_find(to)->device != st_memory_find(from)->device) {
        copy->direction = ST_LOG_PEER;
        copy->peer = (uint16_t)st_memory_find(to)->device;
    }
}

/* Whether the direction fits the pointers. */
static bool fits(uint64_t to, uint64_t from, uint64_t direction)
{
    switch (direction) {
    case 1:
        return on_device(to);
    case 2:
        return on_device(from);
    case 3:
        return on_device(to) && on_device(from);
    default:
        return true;
    }
}

/* Checks rows of a copy or a fill, from an address on: those in memory of a device are in its
 * block, as the driver rounds it. 0, or the error. */
static uint64_t check_rows(st_call *call, uint64_t address, uint64_t bytes, uint64_t rows,
                           uint64_t pitch)
{
    const st_block *block = st_memory_find(address);
    if (rows > 1 && pitch < bytes)
        return st_misuse(call, ST_CUDA_INVALID_PITCH, "pitch is less than a row");
    if (block == NULL || block->memory == ST_LOG_PINNED)
        return 0;
    const uint64_t room = block->start + block->charged - address;
    if (bytes > room || (rows > 1 && rows - 1 > (room - bytes) / pitch))
        return st_misuse(call, ST_CUDA_INVALID_VALUE, "copy or fill exceeds its allocation");
    return 0;
}

uint64_t st_copy_run(st_call *call, const st_copy *copy)
{
    st_object *stream = call->stream != NULL ? call->stream : st_stream_of(0);
    if (copy->bytes == 0 || copy->rows == 0)
        return 0;
    if (copy->to == 0 || copy->from == 0 || !fits(copy->to, copy->from, (uint32_t)copy->kind))
        return bad_pointer(call);
    uint64_t error = check_rows(call, copy->to, copy->bytes, copy->rows, copy->to_pitch);
    if (error == 0)
        error = check_rows(call, copy->from, copy->bytes, copy->rows, copy->from_pitch);
    if (error != 0)
        return error;
    st_copy_draft(call, copy->to, copy->from, copy->bytes * copy->rows);
    call->draft.copy.stream = stream->number;
    call->draft.flags = call->stream != NULL ? ST_LOG_ASYNC : 0;
    st_enqueue_as(call, stream, ST_NODE_COPY);
    if (stream->stream.capture == 0)
        for (uint64_t i = 0; i < copy->rows; i++)
            st_memory_copy(copy->to + i * copy->to_pitch, copy->from + i * copy->from_pitch,
                           copy->bytes);
    st_mix(call->draft.copy.direction);
    if (call->draft.copy.direction == ST_LOG_DEVICE_TO_DEVICE)
        st_mix_size(copy->bytes * copy->rows);
    else
        st_mix_order(copy->bytes * copy->rows);
    return 0;
}

/* Copies: t to, f from, z bytes, h rows of z bytes (p, q: pitches), k kind, s stream. */
uint64_t st_do_copy(st_call *call)
{
    st_copy wanted = {.to = st_role(call, 't', 0),
                      .from = st_role(call, 'f', 0),
                      .bytes = st_role(call, 'z', 0),
                      .rows = st_role(call, 'h', 1),
                      .to_pitch = st_role(call, 'p', 0),
                      .from_pitch = st_role(call, 'q', 0),
                      .kind = st_role(call, 'k', (uint64_t)call->entry->constant)};
    return st_copy_run(call, &wanted);
}

/* cuMemcpy2D(CUDA_MEMCPY2D *, stream): memory of the host (type 1) or of the device, no arrays */
uint64_t st_do_copy_plane(st_call *call)
{
    typedef struct plane_side {
        uint64_t x, y;
        uint64_t type;
        uint64_t host, device, array, pitch;
    } side;
    struct {
        side from, to;
        uint64_t width, height;
    } plane;
    enum { HOST = 1, ARRAY = 3 };
    memcpy(&plane, st_pointer(call, 0), sizeof plane);
    const side *sides[] = {&plane.from, &plane.to};
    uint64_t starts[2];
    for (size_t i = 0; i < 2; i++) {
        const uint32_t type = (uint32_t)sides[i]->type;
        if (type == ARRAY)
            return ST_CUDA_NOT_SUPPORTED;
        starts[i] = (type == HOST ? sides[i]->host : sides[i]->device) +
                    sides[i]->y * sides[i]->pitch + sides[i]->x;
    }
    st_copy wanted = {.to = starts[1],
                      .from = starts[0],
                      .bytes = plane.width,
                      .rows = plane.height,
                      .to_pitch = plane.to.pitch,
                      .from_pitch = plane.from.pitch,
                      .kind = 4};
    return st_copy_run(call, &wanted);
}

/* Sets: t to, v value, z how many of the constant's bytes (1 without), h rows, stream. */
uint64_t st_do_set(st_call *call)
{
    uint64_t to = st_role(call, 't', 0);
    uint64_t width = (uint64_t)call->entry->constant;
    uint64_t count = st_role(call, 'z', 1);
    uint64_t rows = st_role(call, 'h', 1);
    st_object *stream = call->stream != NULL ? call->stream : st_stream_of(0);
    if (count == 0 || rows == 0)
        return 0;
    /* A stream may write into memory of the host, too. */
    if (call->entry->place['z' - 'a'] > 0 ? !on_device(to) : st_memory_find(to) == NULL)
        return bad_pointer(call);
    const uint64_t bytes = count <= UINT64_MAX / width ? width * count : UINT64_MAX;
    const uint64_t error = check_rows(call, to, bytes, rows, st_role(call, 'p', 0));
    if (error != 0)
        return error;
    call->draft.kind = ST_LOG_SET;
    call->draft.copy = (st_log_copy){.bytes = width * count * rows,
                                     .stream = stream->number,
                                     .direction = ST_LOG_DEVICE_TO_DEVICE,
                                     .to = to,
                                     .from = st_role(call, 'v', 0)};
    call->draft.flags = call->stream != NULL ? ST_LOG_ASYNC : 0;
    st_enqueue_as(call, stream, ST_NODE_SET);
    if (stream->stream.capture == 0)
        for (uint64_t i = 0; i < rows; i++)
            st_memory_set(to + i * st_role(call, 'p', 0), st_role(call, 'v', 0), (unsigned)width,
                          count);
    st_mix(ST_LOG_SET);
    st_mix_size(width * count * rows);
    return 0;
}

/* ncclMemAlloc(pointer *, bytes), ncclMemFree(pointer) */
uint64_t st_do_comm_memory(st_call *call)
{
    st_block block;
    if (st_memory_take(call, st_word(call, 1), ST_LOG_DEVICE, &block) != 0)
        return 2; /* ncclSystemError */
    draft_block(call, ST_LOG_MALLOC, &block);
    return ST_PUT(call, 0, uint64_t, block.start);
}

/* ---- virtual memory: cuMemAddressReserve and its like ---- */

enum { GRANULARITY = 2 << 20 }; /* as calls.txt has it */

/* cuMemAddressReserve(pointer *, bytes, ...): addresses, and nothing charged */
uint64_t st_do_reserve(st_call *call)
{
    st_block block;
    uint64_t bytes = st_word(call, 1);
    if (bytes == 0 || bytes % GRANULARITY != 0)
        return st_misuse(call, ST_CUDA_INVALID_VALUE, "size is not a multiple of 2 MiB");
    uint64_t limit = st_now.header.device_bytes;
    st_now.header.device_bytes = UINT64_MAX / 4; /* addresses may be more than memory */
    uint64_t result = st_memory_take(call, bytes, ST_LOG_VIRTUAL, &block);
    st_now.header.device_bytes = limit;
    return result != 0 ? result : ST_PUT(call, 0, uint64_t, block.start);
}

uint64_t st_do_unreserve(st_call *call)
{
    st_block block;
    return st_memory_give(st_word(call, 0), &block) ? 0 : bad_pointer(call);
}

/* cuMemCreate(handle *, bytes, ...) */
uint64_t st_do_physical(st_call *call)
{
    uint64_t bytes = st_word(call, 1);
    uint32_t device = call->thread->device;
    if (bytes == 0 || bytes % GRANULARITY != 0)
        return st_misuse(call, ST_CUDA_INVALID_VALUE, "size is not a multiple of 2 MiB");
    if (!st_memory_charge(device, bytes))
        return st_memory_exhausted(call, bytes, bytes);
    st_object *object = st_object_make(ST_OBJECT_PHYSICAL);
    if (object == NULL)
        return ST_CUDA_OUT_OF_MEMORY;
    object->device = device;
    object->physical.bytes = bytes;
    draft_block(
        call, ST_LOG_MALLOC,
        &(st_block){
            .start = object->handle, .bytes = bytes, .charged = bytes, .memory = ST_LOG_VIRTUAL});
    return ST_PUT(call, 0, uint64_t, object->handle);
}

uint64_t st_do_physical_release(st_call *call)
{
    st_object *object = call->taken[0];
    st_memory_discharge(object->device, object->physical.bytes);
    draft_block(call, ST_LOG_FREE,
                &(st_block){.start = object->handle,
                            .bytes = object->physical.bytes,
                            .charged = object->physical.bytes,
                            .memory = ST_LOG_VIRTUAL});
    st_object_drop(object);
    return 0;
}

/* cuMemExportToShareableHandle(into *, memory, type, flags): a descriptor (type 1), or 64 bytes */
uint64_t st_do_share_memory(st_call *call)
{
    const st_object *object = call->taken[0];
    if (st_int(call, 2) == 1)
        return ST_PUT(call, 0, int32_t, open("/dev/null", O_RDONLY | O_CLOEXEC));
    const uint64_t name[8] = {object->handle, object->physical.bytes};
    return st_put_bytes(st_pointer(call, 0), name, sizeof name);
}
