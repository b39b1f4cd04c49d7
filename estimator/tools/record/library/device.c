/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, their properties, contexts, errors, and functions whose answer is a constant. */
#include "record/library/handlers.h"
#include "record/library/device_blocks.h"
#include "record/library/objects.h"

#include <stdlib.h>

/* Limits that all GPUs of compute capability 7.0 and above share (CUDA C++ Programming Guide,
 * "Technical Specifications per Compute Capability"), and those that differ. */
enum {
    WARP = 32,
    BLOCK_THREADS = 1024,
    BLOCK_REGISTERS = 65536,
    BLOCK_SHARED = 49152,
    CONSTANT_BYTES = 65536,
    GRID_Y = 65535,
    MIB = 1 << 20
};

typedef struct limits {
    uint32_t capability; /* from this one on */
    uint32_t threads;    /* of a multiprocessor */
    uint32_t shared;     /* bytes of a multiprocessor */
    uint32_t l2;         /* bytes, of the largest GPU of that kind */
} limits;

static const limits all_limits[] = {
    {120, 1536, 102400, 128 * MIB}, {100, 2048, 233472, 126 * MIB}, {90, 2048, 233472, 50 * MIB},
    {89, 1536, 102400, 72 * MIB},   {86, 1536, 102400, 6 * MIB},    {80, 2048, 167936, 40 * MIB},
    {75, 1024, 65536, 4 * MIB},     {0, 2048, 98304, 6 * MIB},
};

static bool is_device(int32_t device)
{
    return device >= 0 && (uint32_t)device < st_now.header.device_count;
}

/*
 * What a device is asked for: by the number of an attribute, the same in cudaDeviceAttr and
 * CUdevice_attribute, or by its place in cudaDeviceProp, which lost some fields in CUDA 13.
 */
typedef struct fact {
    int32_t attribute; /* 0: none */
    uint16_t at_13;    /* 0: no field */
    uint16_t at_12;
    uint8_t bytes; /* of the field */
    uint64_t value;
} fact;

enum { MOST_FACTS = 48, PROPERTIES_13 = 1008, PROPERTIES_12 = 1032, PROPERTIES_11 = 728 };

typedef struct facts {
    fact rows[MOST_FACTS]; /* up to one of no bytes */
} facts;

static facts facts_of(int32_t device)
{
    const limits *row = all_limits;
    while (row->capability > st_now.compute_capability)
        row++;
    const uint64_t number = (uint64_t)device + 1;
    return (facts){{
        {0, 256, 256, 4, number}, /* a UUID that differs between devices */
        {0, 288, 288, 8, st_now.header.device_bytes},
        {1, 320, 320, 4, BLOCK_THREADS},
        {2, 324, 324, 4, BLOCK_THREADS},
        {3, 328, 328, 4, BLOCK_THREADS},
        {4, 332, 332, 4, 64},
        {5, 336, 336, 4, INT32_MAX},
        {6, 340, 340, 4, GRID_Y},
        {7, 344, 344, 4, GRID_Y},
        {8, 296, 296, 8, BLOCK_SHARED},
        {9, 352, 352, 8, CONSTANT_BYTES},
        {10, 308, 308, 4, WARP},
        {11, 312, 312, 8, INT32_MAX},
        {12, 304, 304, 4, BLOCK_REGISTERS},
        {13, 0, 348, 4, st_now.clock_khz},
        {14, 368, 368, 8, 512},
        {15, 0, 0, 4, 1},
        {16, 384, 388, 4, st_now.multiprocessors},
        {19, 392, 400, 4, 1},
        {31, 560, 576, 4, 1},
        {32, 564, 580, 4, 1},
        {33, 0, 0, 4, 1},
        {0, 568, 584, 4, number}, /* its bus */
        {36, 0, 608, 4, st_now.memory_clock_khz},
        {37, 592, 612, 4, st_now.memory_bus},
        {38, 596, 616, 4, row->l2},
        {39, 604, 624, 4, row->threads},
        {40, 584, 600, 4, 3},
        {41, 588, 604, 4, 1},
        {75, 360, 360, 4, st_now.compute_capability / 10},
        {76, 364, 364, 4, st_now.compute_capability % 10},
        {78, 608, 628, 4, 1},
        {81, 624, 640, 8, row->shared},
        {82, 632, 648, 4, BLOCK_REGISTERS},
        {83, 636, 652, 4, 1},
        {88, 0, 0, 4, 1},
        {89, 656, 676, 4, 1},
        {95, 668, 688, 4, 1},
        {97, 672, 696, 8, row->shared - 1024},
        {102, 0, 0, 4, 1},
        {115, 720, 744, 4, 1},
    }};
}

uint64_t st_do_device_properties(st_call *call)
{
    unsigned char *to = st_pointer(call, 0);
    /* The name without _v2 has this form since CUDA 13 only. */
    bool is_12 = call->entry->constant == 12 || st_now.header.cuda_version < 13000;
    const facts known = facts_of(st_int(call, 1));
    /* CUDA 11's has the first fields of CUDA 12's. */
    bool is_11 = st_now.header.cuda_version < 12000;
    uint16_t size = is_11 ? PROPERTIES_11 : is_12 ? PROPERTIES_12 : PROPERTIES_13;
    memset(to, 0, size);
    (void)snprintf((char *)to, 256, "%s", st_now.device_name);
    for (const fact *row = known.rows; row->bytes > 0; row++)
        if ((is_12 ? row->at_12 : row->at_13) > 0 && (!is_11 || row->at_12 < PROPERTIES_11))
            memcpy(to + (is_12 ? row->at_12 : row->at_13), &row->value, row->bytes);
    return 0;
}

static uint32_t attribute_of(int32_t attribute)
{
    const facts known = facts_of(0);
    for (const fact *row = known.rows; row->bytes > 0; row++)
        if (row->attribute == attribute && attribute > 0)
            return (uint32_t)row->value;
    return 0;
}

uint64_t st_do_device_attribute(st_call *call)
{
    return ST_PUT(call, 0, uint32_t, attribute_of(st_int(call, 1)));
}

uint64_t st_do_set_device(st_call *call)
{
    call->thread->device = (uint32_t)st_int(call, 0);
    return 0;
}

/* cuDeviceGet, nvmlDeviceGetHandleByIndex: a device's handle is its number. */
uint64_t st_do_device_get(st_call *call)
{
    if (call->entry->library == ST_NVML) {
        int32_t index = st_int(call, 0);
        return is_device(index) ? ST_PUT(call, 1, uint64_t, (uint64_t)index + 1) : 2;
    }
    if (!is_device(st_int(call, 1)))
        return st_misuse(call, ST_CUDA_INVALID_DEVICE, "invalid device");
    return ST_PUT(call, 0, uint32_t, (uint32_t)st_int(call, 1));
}

uint64_t st_do_device_name(st_call *call)
{
    bool nvml = call->entry->library == ST_NVML;
    char *to = st_pointer(call, nvml ? 1 : 0);
    int32_t length = st_int(call, nvml ? 2 : 1);
    if (to == NULL || length <= 0)
        return nvml ? 2 : ST_CUDA_INVALID_VALUE;
    (void)snprintf(to, (size_t)length, "%s", st_now.device_name);
    return 0;
}

/* 16 bytes that differ between devices, as in their properties */
uint64_t st_do_device_uuid(st_call *call)
{
    const uint64_t uuid[2] = {(uint64_t)st_int(call, 1) + 1, 0};
    return st_put_bytes(st_pointer(call, 0), uuid, sizeof uuid);
}

/* nvmlDeviceGetUUID(device, text *, bytes): the same as NVML writes it */
uint64_t st_do_nvml_uuid(st_call *call)
{
    char *to = st_pointer(call, 1);
    if (to == NULL)
        return 2;
    (void)snprintf(to, (size_t)st_int(call, 2), "GPU-%02x000000-0000-0000-0000-000000000000",
                   (unsigned)st_word(call, 0));
    return 0;
}

/* nvmlSystemGetDriverVersion(text *, bytes) and the like: the first driver of the runtime's version
 */
uint64_t st_do_nvml_version(st_call *call)
{
    char *to = st_pointer(call, 0);
    if (to == NULL)
        return 2;
    (void)snprintf(to, (size_t)st_int(call, 1), "%s",
                   st_now.header.cuda_version >= 13000 ? "580.65.06" : "570.86.10");
    return 0;
}

/* nvmlDeviceGetClockInfo, nvmlDeviceGetMaxClockInfo(device, 2 of memory, value *), in MHz */
uint64_t st_do_nvml_clock(st_call *call)
{
    uint32_t khz = st_int(call, 1) == 2 ? st_now.memory_clock_khz : st_now.clock_khz;
    return ST_PUT(call, 2, uint32_t, khz / 1000) != 0 ? 2 : 0;
}

/* nvmlPciInfo_t: the bus as short and as long text, numbers between them. The constant is the bytes
 * of the function's version: the first one ends before the subsystem, the second before the long
 * text. */
uint64_t st_do_nvml_bus(st_call *call)
{
    struct {
        char old_bus[16];
        uint32_t numbers[5];
        char bus[32];
    } info = {.numbers = {0, (uint32_t)st_word(call, 0)}};
    (void)snprintf(info.old_bus, sizeof info.old_bus, "0000:%02X:00.0", (unsigned)st_word(call, 0));
    (void)snprintf(info.bus, sizeof info.bus, "00000000:%02X:00.0", (unsigned)st_word(call, 0));
    return st_put_bytes(st_pointer(call, 1), &info, (size_t)call->entry->constant) != 0 ? 2 : 0;
}

uint64_t st_do_device_bus(st_call *call)
{
    (void)snprintf(st_pointer(call, 0), (size_t)st_int(call, 1), "0000:%02x:00.0",
                   st_int(call, 2) + 1);
    return 0;
}

/* d device *, t its bus as text; the constant is 1 where handles of devices are numbers from 1. */
uint64_t st_do_device_by_bus(st_call *call)
{
    uint64_t word = st_role(call, 't', 0);
    const char *text;
    memcpy(&text, &word, sizeof text);
    const char *colon = text != NULL ? strchr(text, ':') : NULL;
    uint32_t bus = colon != NULL ? (uint32_t)strtoul(colon + 1, NULL, 16) : 0;
    bool nvml = call->entry->constant == 1;
    if (bus == 0 || !is_device((int32_t)bus - 1))
        return nvml ? 2 : ST_CUDA_INVALID_VALUE;
    unsigned place = call->entry->place['d' - 'a'] - 1U;
    return nvml ? ST_PUT(call, place, uint64_t, bus) : ST_PUT(call, place, uint32_t, bus - 1);
}

/* nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, nvmlPciInfo_t *): a switch, as on all links */
uint64_t st_do_link_remote(st_call *call)
{
    struct {
        char old_bus[16];
        uint32_t numbers[5];
        char bus[32];
    } info = {.old_bus = "0000:FE:00.0", .numbers = {0, 0xfe}, .bus = "00000000:FE:00.0"};
    return st_put_bytes(st_pointer(call, 2), &info, sizeof info) != 0 ? 2 : 0;
}

uint64_t st_do_device_sync(st_call *call)
{
    call->draft.kind = ST_LOG_DEVICE_SYNC;
    return 0;
}

/* nvmlMemory_t: total, free, used */
uint64_t st_do_nvml_memory(st_call *call)
{
    uint64_t device = st_word(call, 0);
    if (device == 0 || device > st_now.header.device_count)
        return 2;
    uint64_t live = st_memory_live((uint32_t)device - 1);
    const uint64_t memory[] = {st_now.header.device_bytes, st_now.header.device_bytes - live, live};
    return st_put_bytes(st_pointer(call, 1), memory, sizeof memory) != 0 ? 2 : 0;
}

/* ---- errors ---- */

uint64_t st_do_last_error(st_call *call)
{
    uint32_t error = call->thread->last_error;
    if (call->entry->constant == 0)
        call->thread->last_error = 0;
    return error;
}

typedef struct error_text {
    uint32_t error;
    const char *name;
    const char *text;
} error_text;

static const error_text error_texts[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {4, "cudaErrorCudartUnloading", "driver shutting down"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {13, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {500, "cudaErrorSymbolNotFound", "named symbol not found"},
    {600, "cudaErrorNotReady", "device not ready"},
    {712, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {713, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {903, "cudaErrorStreamCaptureUnmatched", "the capture was not initiated in this stream"},
};

/* cudaGetErrorName and cudaGetErrorString return it, cuGetErrorName and -String write it. */
uint64_t st_do_error_text(st_call *call)
{
    const error_text *found = NULL;
    for (size_t i = 0; i < sizeof error_texts / sizeof error_texts[0]; i++)
        if (error_texts[i].error == (uint32_t)st_word(call, 0))
            found = &error_texts[i];
    const char *text = "unrecognized error code";
    if (found != NULL)
        text = call->entry->constant == 0 ? found->name : found->text;
    if (call->entry->library != ST_CUDA)
        return st_text_word(text);
    return ST_PUT(call, 1, uint64_t, st_text_word(text));
}

/* ---- contexts ---- */

uint64_t st_do_context_create(st_call *call)
{
    st_object *context = st_object_make(ST_OBJECT_CONTEXT);
    if (context == NULL)
        return ST_CUDA_OUT_OF_MEMORY;
    context->device = (uint32_t)st_role(call, 'd', 0);
    call->thread->device = context->device;
    return ST_PUT(call, 0, uint64_t, context->handle);
}

typedef struct wanted_context {
    uint32_t device;
    st_object *found;
} wanted_context;

static void first_of_device(st_object *object, void *context)
{
    wanted_context *wanted = context;
    if (object->device == wanted->device && wanted->found == NULL)
        wanted->found = object;
}

/* Puts the one context that a device has here. */
static uint64_t put_primary(st_call *call, uint32_t device)
{
    wanted_context wanted = {.device = device};
    st_object_each(ST_OBJECT_CONTEXT, first_of_device, &wanted);
    if (wanted.found == NULL)
        wanted.found = st_object_make(ST_OBJECT_CONTEXT);
    if (wanted.found == NULL)
        return ST_CUDA_OUT_OF_MEMORY;
    wanted.found->device = device;
    return ST_PUT(call, 0, uint64_t, wanted.found->handle);
}

uint64_t st_do_context_current(st_call *call)
{
    return put_primary(call, call->thread->device);
}

uint64_t st_do_context_primary(st_call *call)
{
    return put_primary(call, (uint32_t)st_int(call, 1));
}

uint64_t st_do_context_set(st_call *call)
{
    const st_object *context = st_object_of(st_word(call, 0), ST_OBJECT_CONTEXT);
    if (context == NULL && st_word(call, 0) != 0)
        return st_misuse(call, 201, "invalid context");
    if (context != NULL)
        call->thread->device = context->device;
    return 0;
}
