/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of a program on the device: __device__ and __constant__ are known by the address of
 * their shadow in the host, __managed__ by a pointer that the host reads through. Each gets memory
 * when it is first asked for, a managed one when it is registered.
 */
#include "base/lists.h"
#include "record/library/device_blocks.h"
#include "record/library/handlers.h"
#include "record/library/transfers.h"

#include <stdlib.h>

typedef struct variable {
    uint64_t host;
    uint64_t bytes;
    uint64_t start; /* on the device; 0: it has no memory yet */
} variable;

static variable *variables;
static size_t variable_count;
static size_t variable_capacity;

static variable *add_variable(uint64_t host, uint64_t bytes)
{
    if (!ST_ROOM(variables, variable_count, variable_capacity))
        return NULL;
    variables[variable_count] = (variable){.host = host, .bytes = bytes};
    return &variables[variable_count++];
}

static uint64_t take_memory(st_call *call, variable *of, st_log_memory_kind memory)
{
    st_block block;
    if (of->start != 0)
        return 0;
    uint64_t result = st_memory_take(call, of->bytes > 0 ? of->bytes : 1, memory, &block);
    of->start = result == 0 ? block.start : 0;
    return result;
}

/* __cudaRegisterVar(binary, host, device, name, external, bytes, ...) */
uint64_t st_do_register_variable(st_call *call)
{
    (void)add_variable(st_word(call, 1), st_word(call, 5));
    return 0;
}

/* __cudaRegisterManagedVar(binary, pointer *, device, name, external, bytes, ...) */
uint64_t st_do_register_managed(st_call *call)
{
    variable *made = add_variable(st_word(call, 1), st_word(call, 5));
    if (made == NULL || take_memory(call, made, ST_LOG_MANAGED) != 0)
        return 0;
    return ST_PUT(call, 1, uint64_t, made->start);
}

static variable *variable_of(st_call *call, uint64_t host)
{
    for (size_t i = 0; i < variable_count; i++)
        if (variables[i].host == host)
            return take_memory(call, &variables[i], ST_LOG_DEVICE) == 0 ? &variables[i] : NULL;
    return NULL;
}

static uint64_t unknown(st_call *call)
{
    return st_misuse(call, ST_CUDA_INVALID_SYMBOL, "unknown device symbol");
}

/* cudaGetSymbolAddress(pointer *, symbol) (constant 0), cudaGetSymbolSize(bytes *, symbol) (1) */
uint64_t st_do_variable_get(st_call *call)
{
    const variable *of = variable_of(call, st_word(call, 1));
    if (of == NULL)
        return unknown(call);
    return ST_PUT(call, 0, uint64_t, call->entry->constant == 0 ? of->start : of->bytes);
}

/* Copies: v the variable, m the host's or device's memory, z bytes, o offset, s stream; the
 * constant is 0 to the variable, 1 from it. */
uint64_t st_do_variable_copy(st_call *call)
{
    const variable *of = variable_of(call, st_role(call, 'v', 0));
    uint64_t bytes = st_role(call, 'z', 0);
    uint64_t offset = st_role(call, 'o', 0);
    if (of == NULL)
        return unknown(call);
    if (offset > of->bytes || bytes > of->bytes - offset)
        return st_misuse(call, ST_CUDA_INVALID_VALUE, "copy exceeds a device variable");
    uint64_t own = of->start + offset;
    uint64_t other = st_role(call, 'm', 0);
    bool to = call->entry->constant == 0;
    st_copy wanted = {
        .to = to ? own : other, .from = to ? other : own, .bytes = bytes, .rows = 1, .kind = 4};
    return st_copy_run(call, &wanted);
}
