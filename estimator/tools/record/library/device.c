/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, their properties, contexts, errors, and functions whose answer is a constant. */
#include "record/library/handlers.h"
#include "record/library/device_blocks.h"
#include "record/library/objects.h"
#include "record_tables.h"

#include <stdlib.h>

typedef struct limits {
    uint32_t capability; /* from this one on */
    uint32_t threads;    /* of a multiprocessor */
    uint32_t shared;     /* bytes of a multiprocessor */
    uint32_t l2_mib;     /* of the largest GPU of that kind */
} limits;

static bool is_device(int32_t device)
{
    return device >= 0 && (uint32_t)device < st_now.header.device_count;
}

/* What a device is asked for: by the number of an attribute, or by its place in cudaDeviceProp,
 * which lost some fields in CUDA 13. */
typedef struct fact {
    int32_t attribute; /* 0: none */
    uint16_t at_13;    /* 0: no field */
    uint16_t at_12;
    uint8_t bytes; /* of the field */
    uint8_t what;  /* ST_FACT_NUMBER and the like; 0: the value */
    uint32_t value;
} fact;

static const fact facts[] = {ST_TABLE_FACTS};

enum { FACTS = sizeof facts / sizeof facts[0] };
enum { PROPERTIES_13 = 1008, PROPERTIES_12 = 1032, PROPERTIES_11 = 728 };

static uint64_t value_of(const fact *of, int32_t device)
{
    static const limits all_limits[] = {ST_TABLE_LIMITS};
    const limits *row = all_limits;
    while (row->capability > st_now.compute_capability)
        row++;
    const uint64_t values[] = {
        [0] = of->value,
        [ST_FACT_NUMBER] = (uint64_t)device + 1, /* which differs between devices */
        [ST_FACT_MEMORY] = st_now.header.device_bytes,
        [ST_FACT_CLOCK_KHZ] = st_now.clock_khz,
        [ST_FACT_MULTIPROCESSORS] = st_now.multiprocessors,
        [ST_FACT_MEMORY_KHZ] = st_now.memory_clock_khz,
        [ST_FACT_MEMORY_BUS] = st_now.memory_bus,
        [ST_FACT_L2] = (uint64_t)row->l2_mib << 20,
        [ST_FACT_THREADS] = row->threads,
        [ST_FACT_MAJOR] = st_now.compute_capability / 10,
        [ST_FACT_MINOR] = st_now.compute_capability % 10,
        [ST_FACT_SHARED] = row->shared,
        [ST_FACT_BLOCK_SHARED] = row->shared - 1024,
    };
    return values[of->what];
}

uint64_t st_do_device_properties(st_call *call)
{
    unsigned char *to = st_pointer(call, 0);
    /* The name without _v2 has this form since CUDA 13 only. */
    bool is_12 = call->entry->constant == 12 || st_now.header.cuda_version < 13000;
    /* CUDA 11's has the first fields of CUDA 12's. */
    bool is_11 = st_now.header.cuda_version < 12000;
    uint16_t size = is_11 ? PROPERTIES_11 : is_12 ? PROPERTIES_12 : PROPERTIES_13;
    memset(to, 0, size);
    (void)snprintf((char *)to, 256, "%s", st_now.device_name);
    for (const fact *row = facts; row < facts + FACTS; row++) {
        const uint64_t value = value_of(row, st_int(call, 1));
        const uint16_t at = is_12 ? row->at_12 : row->at_13;
        if (at > 0 && (!is_11 || at < PROPERTIES_11))
            memcpy(to + at, &value, row->bytes);
    }
    return 0;
}

static uint32_t attribute_of(int32_t attribute, int32_t device)
{
    for (const fact *row = facts; row < facts + FACTS; row++)
        if (row->attribute == attribute && attribute > 0)
            return (uint32_t)value_of(row, device);
    return 0;
}

uint64_t st_do_device_attribute(st_call *call)
{
    return ST_PUT(call, 0, uint32_t, attribute_of(st_int(call, 1), st_int(call, 2)));
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

/* Writes a text of so many bytes: t where it goes, z its bytes, h the device's handle in NVML.
 * The constant is 0 its name, 1 its UUID as NVML writes it, 2 its bus, 3 the first driver of the
 * runtime's version. */
uint64_t st_do_device_text(st_call *call)
{
    char text[ST_LOG_NAME_BYTES + 64];
    bool nvml = call->entry->library == ST_NVML;
    unsigned number = (unsigned)(nvml ? st_role(call, 'h', 0) : st_role(call, 'o', 0) + 1);
    int32_t length = (int32_t)(uint32_t)st_role(call, 'z', 0);
    switch (call->entry->constant) {
    case 0:
        (void)snprintf(text, sizeof text, "%s", st_now.device_name);
        break;
    case 1:
        (void)snprintf(text, sizeof text, "GPU-%02x000000-0000-0000-0000-000000000000", number);
        break;
    case 2:
        (void)snprintf(text, sizeof text, "0000:%02x:00.0", number);
        break;
    default:
        (void)snprintf(text, sizeof text, "%s",
                       st_now.header.cuda_version >= 13000 ? "580.65.06" : "570.86.10");
    }
    char *to = st_pointer(call, call->entry->place['t' - 'a'] - 1U);
    if (to == NULL || length <= 0)
        return st_null_errors[call->entry->library];
    (void)snprintf(to, (size_t)length, "%s", text);
    return 0;
}

/* 16 bytes that differ between devices, as in their properties */
uint64_t st_do_device_uuid(st_call *call)
{
    const uint64_t uuid[2] = {(uint64_t)st_int(call, 1) + 1, 0};
    return st_put_bytes(st_pointer(call, 0), uuid, sizeof uuid);
}

/* nvmlDeviceGetClockInfo, nvmlDeviceGetMaxClockInfo(device, 2 of memory, value *), in MHz */
uint64_t st_do_nvml_clock(st_call *call)
{
    uint32_t khz = st_int(call, 1) == 2 ? st_now.memory_clock_khz : st_now.clock_khz;
    return ST_PUT(call, 2, uint32_t, khz / 1000) != 0 ? 2 : 0;
}

/* nvmlPciInfo_t: the bus as short and as long text, numbers between them; p where it goes. The
 * constant is the bytes of the function's version - the first one ends before the subsystem, the
 * second before the long text - or 0 for what is at the other end of a link: a switch. */
uint64_t st_do_nvml_bus(st_call *call)
{
    struct {
        char old_bus[16];
        uint32_t numbers[5];
        char bus[32];
    } info = {.numbers = {0}};
    const size_t bytes = call->entry->constant > 0 ? (size_t)call->entry->constant : sizeof info;
    const unsigned bus = call->entry->constant > 0 ? (unsigned)st_word(call, 0) : 0xfe;
    info.numbers[1] = bus;
    (void)snprintf(info.old_bus, sizeof info.old_bus, "0000:%02X:00.0", bus);
    (void)snprintf(info.bus, sizeof info.bus, "00000000:%02X:00.0", bus);
    return st_put_bytes(st_pointer(call, call->entry->place['p' - 'a'] - 1U), &info, bytes) != 0
               ? 2
               : 0;
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

/* cudaGetErrorName and cudaGetErrorString return it, cuGetErrorName and -String write it. */
uint64_t st_do_error_text(st_call *call)
{
    static const struct {
        uint32_t error;
        const char *names[2];
    } errors[] = {ST_TABLE_ERRORS};
    const char *text = "unrecognized error code";
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].error == (uint32_t)st_word(call, 0))
            text = errors[i].names[call->entry->constant];
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
    context->device = (uint32_t)st_role(call, 'o', 0);
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
