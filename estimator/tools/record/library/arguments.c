/* SPDX-License-Identifier: Apache-2.0 */
/* See arguments.h. */
#include "record/library/arguments.h"

#include "record/library/device_blocks.h"
#include "record/library/mangled.h"
#include "record/library/texts.h"

#include <stdlib.h>

/* The records of a launch, as they are filled. */
typedef struct drafter {
    st_call *call;
    st_log_arguments *into;
    uint32_t used; /* of `into` */
    uint32_t first;
    uint64_t reached;
} argument_drafter;

void st_parameters_name(st_parameters *of, const char *kernel)
{
    of->count = (uint8_t)st_mangled_kinds(kernel, of->kinds, ST_MOST_PARAMETERS);
    for (uint32_t i = 0; i < of->count; i++)
        of->bytes[i] = (uint8_t)st_mangled_bytes(of->kinds[i]);
}

static uint64_t read_bytes(uint64_t address, uint64_t bytes)
{
    const void *from;
    uint64_t raw = 0;
    memcpy(&from, &address, sizeof from);
    if (from == NULL)
        return 0;
    if (bytes == sizeof raw) /* loads, not calls */
        memcpy(&raw, from, sizeof raw);
    else if (bytes == sizeof(uint32_t))
        memcpy(&raw, from, sizeof(uint32_t));
    else
        memcpy(&raw, from, bytes < sizeof raw ? bytes : sizeof raw);
    return raw;
}

/* A number of so many bytes, by its letter. */
static uint64_t number_of(uint8_t kind, uint64_t raw, unsigned bytes)
{
    bool is_signed = kind == 'i' || kind == 's' || kind == 'a' || kind == 'c';
    unsigned shift = 64 - 8 * bytes;
    return is_signed ? (uint64_t)((int64_t)(raw << shift) >> shift) : raw;
}

static void put_argument(argument_drafter *drafter, uint8_t kind, uint64_t value, uint32_t block)
{
    if (drafter->into == NULL || drafter->used == ST_LOG_ARGUMENTS_OF_RECORD) {
        if (drafter->call->extra_count == ST_CALL_EXTRAS)
            return;
        drafter->into = &st_extra(drafter->call, ST_LOG_ARGUMENTS)->arguments;
        drafter->into->first = (uint8_t)drafter->first;
        drafter->used = 0;
    }
    drafter->into->kind[drafter->used] = kind;
    drafter->into->value[drafter->used] = value;
    drafter->into->block[drafter->used++] = block;
    drafter->first++;
}

/* A pointer with the bytes to the end of its block; false: it has no block. */
static bool put_pointer(argument_drafter *drafter, uint64_t address, uint8_t code)
{
    const st_block *block = st_memory_find(address);
    if (block == NULL)
        return false;
    st_memory_touch(block, address);
    uint64_t extent = block->start + block->bytes - address;
    drafter->reached += extent;
    put_argument(drafter, code, extent, block->number);
    return true;
}

/* A structure: its bytes, with zeros for pointers, so that equal launches of two steps have equal
 * ones; and behind it the pointers, which are known by the blocks that they point into. */
static void put_structure(argument_drafter *drafter, uint64_t address, uint64_t bytes)
{
    /* Of common structures the first bytes have the sizes, and what is behind may never have been
     * written; large ones are lists of tensors. */
    enum { MOST_BYTES = 8192, LARGE = 2048, FIRST_BYTES = 384, MOST_POINTERS = 16 };
    static const char digits[] = "0123456789abcdef";
    char text[2 * MOST_BYTES + 1];
    uint64_t pointers[MOST_POINTERS];
    size_t count = 0;
    uint64_t most = bytes > LARGE ? MOST_BYTES : FIRST_BYTES;
    bytes = bytes < most ? bytes : most;
    for (uint64_t at = 0; at < bytes; at += 8) {
        uint64_t width = bytes - at < 8 ? bytes - at : 8;
        uint64_t word = read_bytes(address + at, width);
        if (width == 8 && st_memory_find(word) != NULL) {
            if (count < MOST_POINTERS)
                pointers[count++] = word;
            word = 0;
        }
        for (uint64_t i = 0; i < width; i++) {
            text[2 * (at + i)] = digits[word >> (8 * i + 4) & 15];
            text[2 * (at + i) + 1] = digits[word >> (8 * i) & 15];
        }
    }
    text[2 * bytes] = '\0';
    put_argument(drafter, ST_LOG_ARG_STRUCT, st_string(text), 0);
    for (size_t i = 0; i < count; i++)
        (void)put_pointer(drafter, pointers[i], ST_LOG_ARG_INSIDE);
}

uint32_t st_arguments_draft(st_call *call, const st_parameters *of, const st_arguments *given)
{
    argument_drafter drafter = {.call = call};
    bool in_row = given->list == 0;
    uint32_t count = of->layout.count > 0 ? of->layout.count : of->count;
    if (in_row && (given->buffer == 0 || of->layout.count == 0)) /* offsets are not known */
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t address = in_row ? given->buffer + of->layout.offset[i]
                                  : read_bytes(given->list + i * sizeof(void *), sizeof(void *));
        if (i < of->count) {
            const uint64_t raw = read_bytes(address, of->bytes[i]);
            const uint8_t kind = of->kinds[i];
            bool is_real = kind == 'f' || kind == 'd';
            if (kind != 'P')
                put_argument(&drafter, is_real ? ST_LOG_ARG_FLOAT : ST_LOG_ARG_INTEGER,
                             number_of(kind, raw, of->bytes[i]), 0);
            else if (!put_pointer(&drafter, raw, ST_LOG_ARG_POINTER))
                put_argument(&drafter, ST_LOG_ARG_POINTER, 0, 0);
        } else {
            const uint64_t bytes = of->layout.bytes[i];
            uint64_t raw = read_bytes(address, bytes);
            if (bytes > 8) {
                put_structure(&drafter, address, bytes);
            } else if (bytes < 8 || !put_pointer(&drafter, raw, ST_LOG_ARG_POINTER)) {
                put_argument(&drafter, ST_LOG_ARG_INTEGER, raw, 0);
            }
        }
    }
    uint64_t kib = (drafter.reached + 1023) / 1024;
    return kib < UINT32_MAX ? (uint32_t)kib : UINT32_MAX;
}

void *st_arguments_copy(const st_parameters *of, uint64_t list)
{
    enum { ALIGNMENT = 16 };
    const bool laid_out = of->layout.count > 0;
    const size_t count = laid_out ? of->layout.count : of->count;
    size_t bytes[ST_MOST_PARAMETERS];
    size_t total = count * ALIGNMENT;
    for (size_t i = 0; i < count; i++) {
        bytes[i] = laid_out ? of->layout.bytes[i] : of->bytes[i];
        total += (bytes[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    void **copy = count > 0 ? malloc(total) : NULL;
    if (copy == NULL)
        return NULL;
    char *into = (char *)copy + count * ALIGNMENT;
    for (size_t i = 0; i < count; i++) {
        const uint64_t from = read_bytes(list + i * sizeof(void *), sizeof(void *));
        const void *argument;
        memcpy(&argument, &from, sizeof argument);
        if (argument != NULL)
            memcpy(into, argument, bytes[i]);
        copy[i] = into;
        into += (bytes[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return copy;
}
