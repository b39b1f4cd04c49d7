/* SPDX-License-Identifier: Apache-2.0 */
/* See device_blocks.h. */
#define _GNU_SOURCE
#include "record/library/device_blocks.h"

#include "base/lists.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_DEVICES = 64, TOP = 10, NO_FILE = 0 /* which Linux does not look at */ };
#define MIB         (UINT64_C(1) << 20)
#define SMALL_BYTES MIB
#define SMALL_STEP  UINT64_C(512)
#define LARGE_STEP  (2 * MIB)
#define POOL_STEP   (32 * MIB)
#define RANGE_BYTES (UINT64_C(1) << 42)
#define LEAST_RANGE (UINT64_C(1) << 34)

typedef struct range {
    uint64_t start; /* 0: not reserved yet */
    uint64_t bytes;
    uint64_t next; /* where the next block goes */
    uint64_t charged;
    uint64_t small; /* bytes of small blocks; their pieces are in `charged` */
    uint64_t pool;  /* bytes in use of the pool; its pieces are in `charged` */
} range;

static range ranges[MOST_DEVICES];
static st_block *blocks; /* by start */
static size_t block_count;
static size_t block_capacity;
static size_t freed_count;
static uint64_t changes; /* of the blocks, from 1 */

static uint64_t up(uint64_t bytes, uint64_t step)
{
    return bytes > UINT64_MAX - step ? UINT64_MAX : (bytes + step - 1) / step * step;
}

static void *host_of(uint64_t address)
{
    void *pointer;
    memcpy(&pointer, &address, sizeof pointer);
    return pointer;
}

static uint64_t address_of(const void *pointer)
{
    uint64_t address;
    memcpy(&address, &pointer, sizeof address);
    return address;
}

/* ---- where blocks lie ---- */

static bool reserve(range *into)
{
    for (uint64_t bytes = RANGE_BYTES; bytes >= LEAST_RANGE; bytes /= 2) {
        void *start =
            mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, NO_FILE, 0);
        if (start == MAP_FAILED)
            continue;
        into->start = up(address_of(start), LARGE_STEP);
        into->bytes = bytes - LARGE_STEP;
        into->next = into->start;
        into->charged = st_now.header.context_bytes;
        return true;
    }
    return false;
}

static range *range_of(uint32_t device)
{
    if (device >= MOST_DEVICES || (ranges[device].start == 0 && !reserve(&ranges[device])))
        return NULL;
    return &ranges[device];
}

/* The first block that starts behind an address. */
static size_t behind(uint64_t address)
{
    size_t low = 0;
    ST_BISECT(low, block_count, blocks[middle].start <= address);
    return low;
}

static const st_block *search(uint64_t address)
{
    size_t at = behind(address);
    if (at == 0)
        return NULL;
    const st_block *block = &blocks[at - 1];
    bool inside = !block->freed && address - block->start < (block->bytes > 0 ? block->bytes : 1);
    return inside ? block : NULL;
}

/* Programs hand the same pointers over again and again. */
const st_block *st_memory_find(uint64_t address)
{
    static struct {
        uint64_t address;
        uint64_t changes; /* when it was found */
        const st_block *block;
    } recent[256];
    size_t slot = (size_t)((address * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
    if (recent[slot].address != address || recent[slot].changes != changes) {
        recent[slot].block = search(address);
        recent[slot].address = address;
        recent[slot].changes = changes;
    }
    return recent[slot].block;
}

static void pack(void)
{
    size_t kept = 0;
    for (size_t i = 0; i < block_count; i++)
        if (!blocks[i].freed)
            blocks[kept++] = blocks[i];
    block_count = kept;
    freed_count = 0;
}

static bool insert(const st_block *block)
{
    changes++;
    if (freed_count > 64 && freed_count > block_count / 2)
        pack();
    if (!ST_ROOM(blocks, block_count, block_capacity))
        return false;
    size_t at = behind(block->start);
    memmove(blocks + at + 1, blocks + at, (block_count - at) * sizeof *blocks);
    static uint32_t numbers;
    blocks[at] = *block;
    blocks[at].number = ++numbers;
    block_count++;
    return true;
}

/* Behind the last block, and where the range is used up, in the first gap; 0: nowhere. */
static uint64_t place_for(range *in, uint64_t bytes)
{
    if (bytes > in->bytes)
        return 0;
    uint64_t place = in->next;
    if (place + bytes > in->start + in->bytes) {
        pack();
        place = in->start;
        for (size_t i = behind(in->start - 1); i < block_count; i++) {
            if (blocks[i].start >= in->start + in->bytes || blocks[i].start - place >= bytes)
                break;
            place = up(blocks[i].start + blocks[i].charged, SMALL_STEP);
        }
        if (place + bytes > in->start + in->bytes)
            return 0;
        return place;
    }
    in->next = place + bytes;
    return place;
}

/* ---- what is charged ---- */

uint64_t st_memory_live(uint32_t device)
{
    const range *in = range_of(device);
    return in != NULL ? in->charged : 0;
}

static bool recharge(range *in, uint64_t *kind, uint64_t now, uint64_t step)
{
    uint64_t before = up(*kind, step);
    uint64_t after = up(now, step);
    if (after > before && in->charged + (after - before) > st_now.header.device_bytes)
        return false;
    in->charged += after - before;
    *kind = now;
    return true;
}

bool st_memory_charge(uint32_t device, uint64_t bytes)
{
    range *in = range_of(device);
    if (in == NULL || bytes > st_now.header.device_bytes ||
        in->charged + bytes > st_now.header.device_bytes)
        return false;
    in->charged += bytes;
    return true;
}

void st_memory_discharge(uint32_t device, uint64_t bytes)
{
    range *in = range_of(device);
    if (in != NULL)
        in->charged -= bytes < in->charged ? bytes : in->charged;
}

static uint64_t step_of(const st_block *block)
{
    bool small = block->memory == ST_LOG_POOL ||
                 (block->memory != ST_LOG_VIRTUAL && block->bytes <= SMALL_BYTES);
    return small ? SMALL_STEP : LARGE_STEP;
}

static bool charge_block(range *in, const st_block *block, bool take)
{
    uint64_t sign = take ? 1 : UINT64_MAX;
    if (block->memory == ST_LOG_PINNED || block->memory == ST_LOG_VIRTUAL)
        return true;
    if (block->memory == ST_LOG_POOL)
        return recharge(in, &in->pool, in->pool + sign * block->charged, POOL_STEP);
    if (block->bytes <= SMALL_BYTES)
        return recharge(in, &in->small, in->small + sign * block->charged, LARGE_STEP);
    if (take)
        return st_memory_charge((uint32_t)(in - ranges), block->charged);
    st_memory_discharge((uint32_t)(in - ranges), block->charged);
    return true;
}

/* ---- out of memory ---- */

uint64_t st_memory_exhausted(st_call *call, uint64_t bytes, uint64_t charged)
{
    const st_block *top[TOP] = {NULL};
    uint32_t device = call->thread->device;
    size_t count = 0;
    for (size_t i = 0; i < block_count; i++) {
        const st_block *block = &blocks[i];
        if (block->freed || block->device != device || block->memory == ST_LOG_PINNED)
            continue;
        size_t at = count < TOP ? count++ : TOP - 1;
        if (at == TOP - 1 && count == TOP && top[at] != NULL && top[at]->charged >= block->charged)
            continue;
        for (; at > 0 && top[at - 1]->charged < block->charged; at--)
            top[at] = top[at - 1];
        top[at] = block;
    }
    call->draft.kind = ST_LOG_OUT_OF_MEMORY;
    call->draft.memory = (st_log_memory){
        .bytes = bytes, .charged_bytes = charged, .live_bytes = st_memory_live(device)};
    for (size_t i = 0; i < count; i++)
        st_extra(call, ST_LOG_BLOCK)->memory = (st_log_memory){.pointer = top[i]->start,
                                                               .bytes = top[i]->bytes,
                                                               .charged_bytes = top[i]->charged,
                                                               .memory = top[i]->memory};
    return ST_CUDA_OUT_OF_MEMORY;
}

/* ---- blocks ---- */

static bool back(st_block *block)
{
    const uint64_t page = 4096;
    uint64_t start = block->start / page * page;
    uint64_t bytes = up(block->start + block->bytes - start, page);
    if (!block->backed)
        block->backed = mprotect(host_of(start), bytes, PROT_READ | PROT_WRITE) == 0;
    return block->backed;
}

uint64_t st_memory_take(st_call *call, uint64_t bytes, st_log_memory_kind memory, st_block *block)
{
    uint32_t device = call->thread->device;
    *block = (st_block){.bytes = bytes, .device = device, .memory = (uint8_t)memory};
    if (memory == ST_LOG_PINNED) {
        void *pointer = mmap(NULL, up(bytes > 0 ? bytes : 1, 4096), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, NO_FILE, 0);
        if (pointer == MAP_FAILED)
            return ST_CUDA_OUT_OF_MEMORY;
        block->start = address_of(pointer);
        block->charged = up(bytes, 4096);
        block->backed = true;
        return insert(block) ? 0 : ST_CUDA_OUT_OF_MEMORY;
    }
    range *in = range_of(device);
    if (in == NULL)
        return ST_CUDA_OUT_OF_MEMORY;
    block->charged = up(bytes, step_of(block));
    if (block->charged > st_now.header.device_bytes || !charge_block(in, block, true))
        return st_memory_exhausted(call, bytes, block->charged);
    block->start = place_for(in, block->charged);
    if (block->start == 0 || !insert(block)) {
        (void)charge_block(in, block, false);
        return ST_CUDA_OUT_OF_MEMORY;
    }
    if (memory == ST_LOG_MANAGED)
        (void)back(&blocks[behind(block->start) - 1]);
    return 0;
}

uint64_t st_memory_register(uint64_t start, uint64_t bytes)
{
    if (start == 0 || bytes == 0)
        return ST_CUDA_INVALID_VALUE;
    if (st_memory_find(start) != NULL)
        return ST_CUDA_HOST_ALREADY_REGISTERED;
    st_block block = {
        .start = start, .bytes = bytes, .memory = ST_LOG_PINNED, .backed = true, .borrowed = true};
    return insert(&block) ? 0 : ST_CUDA_OUT_OF_MEMORY;
}

bool st_memory_give(uint64_t start, st_block *block)
{
    const st_block *found = st_memory_find(start);
    if (found == NULL || found->start != start)
        return false;
    *block = *found;
    blocks[found - blocks].freed = true;
    changes++;
    freed_count++;
    if (block->memory == ST_LOG_PINNED) {
        if (!block->borrowed)
            (void)munmap(host_of(start), block->charged);
        return true;
    }
    (void)charge_block(&ranges[block->device], block, false);
    if (block->backed) {
        uint64_t unback_start = up(block->start, 4096);
        uint64_t end = (block->start + block->bytes) / 4096 * 4096;
        if (end > unback_start) {
            const void *now =
                mmap(host_of(unback_start), end - unback_start, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, NO_FILE, 0);
            /* Where that fails the pages stay, unused. */
            (void)now;
        }
    }
    return true;
}

/* ---- contents ---- */

static st_block *device_block(uint64_t address)
{
    const st_block *found = st_memory_find(address);
    bool is_device = found != NULL && found->memory != ST_LOG_PINNED;
    return is_device ? &blocks[found - blocks] : NULL;
}

static bool keeps(uint64_t bytes)
{
    const char *policy = st_now.header.policy;
    return strcmp(policy, "full") == 0 ||
           (strcmp(policy, "shadow") == 0 && bytes <= ST_SHADOW_BYTES);
}

static uint64_t within(const st_block *block, uint64_t address, uint64_t bytes)
{
    uint64_t left = block->start + block->bytes - address;
    return bytes < left ? bytes : left;
}

void st_memory_copy(uint64_t to, uint64_t from, uint64_t bytes)
{
    st_block *target = device_block(to);
    const st_block *source = device_block(from);
    if (target != NULL && target->memory != ST_LOG_MANAGED) {
        bytes = within(target, to, bytes);
        if (!keeps(bytes) || (source != NULL && !source->backed && !target->backed))
            return;
        if (!back(target))
            return;
    }
    if (source != NULL)
        bytes = within(source, from, bytes);
    if (source != NULL && !source->backed)
        memset(host_of(to), 0, bytes);
    else
        memmove(host_of(to), host_of(from), bytes);
}

void st_memory_touch(const st_block *block, uint64_t address)
{
    enum { NUMBER_BYTES = 8 };
    if (block->backed && block->memory != ST_LOG_MANAGED && block->memory != ST_LOG_PINNED)
        memset(host_of(address), 0, within(block, address, NUMBER_BYTES));
}

void st_memory_set(uint64_t to, uint64_t value, unsigned width, uint64_t count)
{
    st_block *target = device_block(to);
    if (target == NULL)
        return;
    uint64_t bytes = within(target, to, width * count);
    if (target->memory != ST_LOG_MANAGED && (!keeps(bytes) || (value == 0 && !target->backed)))
        return;
    if (!back(target))
        return;
    for (uint64_t at = 0; at + width <= bytes; at += width)
        memcpy(host_of(to + at), &value, width);
}
