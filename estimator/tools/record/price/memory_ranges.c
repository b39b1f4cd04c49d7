/* SPDX-License-Identifier: Apache-2.0 */
/* See memory_ranges.h. */
#include "record/price/memory_ranges.h"

#include "base/index.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* An argument of a launch, or a pointer inside of one. */
typedef struct value {
    uint64_t value; /* bytes to the end of the block, or the number */
    uint32_t block; /* of a pointer; 0: it points nowhere */
    uint32_t kind;  /* st_log_argument */
} value;

typedef struct launch {
    uint32_t kernel;   /* its name in st_run.names */
    uint32_t measured; /* by CUPTI, whose records alone have no function: 1 */
    uint32_t grid[3];
    uint32_t threads; /* of a block */
    uint32_t kib;     /* as the recorder added them up */
    uint32_t count;
    size_t first; /* of its values */
} launch;

/* Where a tensor begins. */
typedef struct tensor_start {
    uint32_t block;
    uint64_t extent;
} tensor_start;

/* Of millions of launches: lists that grow where they are, not in an arena, which would keep what
 * they have grown out of. Steps repeat their launches, of which each is kept once. */
struct st_memory_ranges {
    launch *launches;
    size_t launch_count;
    size_t launch_room;
    st_index index;  /* of launches */
    bool open;       /* the last launch may get more values */
    uint32_t *order; /* of all launches as they were made: which they are */
    size_t order_count;
    size_t order_room;
    value *values;
    size_t value_count;
    size_t value_room;
    tensor_start *starts; /* each once, in order, once settled */
    size_t start_count;
    size_t start_room;
};

static void release(void *context)
{
    st_memory_ranges *ranges = context;
    free(ranges->launches);
    free(ranges->index.slots);
    free(ranges->order);
    free(ranges->values);
    free(ranges->starts);
}

static uint64_t blocks_of(const launch *of)
{
    return (uint64_t)of->grid[0] * of->grid[1] * of->grid[2];
}

st_memory_ranges *st_memory_ranges_create(st_arena *arena)
{
    st_memory_ranges *made = st_arena_alloc(arena, 1, sizeof *made);
    if (made == NULL || !st_arena_defer(arena, release, made))
        return NULL;
    return made;
}

ST_COMPARE(order_starts, tensor_start, ST_RISING(block) ST_RISING(extent));

static void settle_starts(st_memory_ranges *ranges)
{
    size_t kept = 0;
    if (ranges->start_count > 0)
        st_sort(ranges->starts, ranges->start_count, sizeof *ranges->starts, order_starts);
    for (size_t i = 0; i < ranges->start_count; i++)
        if (kept == 0 || order_starts(&ranges->starts[kept - 1], &ranges->starts[i]) != 0)
            ranges->starts[kept++] = ranges->starts[i];
    ranges->start_count = kept;
}

/* Before the list grows, those that are equal go: a program uses the same tensors in each step. */
static bool add_start(st_memory_ranges *ranges, tensor_start begin)
{
    if (ranges->start_count == ranges->start_room) {
        settle_starts(ranges);
        if (2 * ranges->start_count >= ranges->start_room &&
            !ST_ROOM(ranges->starts, ranges->start_room, ranges->start_room))
            return false;
    }
    ranges->starts[ranges->start_count++] = begin;
    return true;
}

static bool same_launch(const st_memory_ranges *ranges, const launch *a, const launch *b)
{
    const size_t bytes = a->count * sizeof(value);
    return memcmp(a, b, offsetof(launch, first)) == 0 &&
           (bytes == 0 || memcmp(&ranges->values[a->first], &ranges->values[b->first], bytes) == 0);
}

/* The last launch has all its values; it goes again where there is an equal one. */
static bool close_launch(st_memory_ranges *ranges)
{
    if (!ranges->open)
        return true;
    const launch *last = &ranges->launches[ranges->launch_count - 1];
    uint32_t found = 0;
    uint64_t hash = st_hash_word(st_hash_word(ST_HASH_BEGIN, last->kernel), last->grid[0]);
    for (size_t i = last->first; i < ranges->value_count; i++)
        hash = st_hash_word(st_hash_word(hash, ranges->values[i].value), ranges->values[i].block);
    ST_INDEX_FIND(&ranges->index, hash, found, same_launch(ranges, &ranges->launches[found], last));
    if (found != ST_INDEX_NONE) {
        ranges->value_count = last->first;
        ranges->launch_count--;
    } else {
        found = (uint32_t)ranges->launch_count - 1;
        if (!st_index_add_own(&ranges->index, hash, found))
            return false;
        for (size_t i = last->first; i < ranges->value_count; i++)
            if (ranges->values[i].block != 0 &&
                !add_start(ranges, (tensor_start){.block = ranges->values[i].block,
                                                  .extent = ranges->values[i].value}))
                return false;
    }
    ranges->open = false;
    if (!ST_ROOM(ranges->order, ranges->order_count, ranges->order_room))
        return false;
    ranges->order[ranges->order_count++] = found;
    return true;
}

bool st_memory_ranges_settle(st_memory_ranges *ranges, size_t *launches)
{
    bool closed = close_launch(ranges);
    settle_starts(ranges);
    *launches = ranges->launch_count;
    return closed;
}

size_t st_memory_ranges_launch(const st_memory_ranges *ranges, size_t index)
{
    return ranges->order[index];
}

uint32_t st_memory_ranges_kernel(const st_memory_ranges *ranges, size_t which, bool *measured)
{
    *measured = ranges->launches[which].measured != 0;
    return ranges->launches[which].kernel;
}

bool st_memory_ranges_add(st_memory_ranges *ranges, const st_log_record *record)
{
    if (record->kind == ST_LOG_LAUNCH) {
        const st_log_launch *from = &record->launch;
        if (!close_launch(ranges))
            return false;
        launch made = {.kernel = from->kernel,
                       .measured = record->call == 0,
                       .threads = (uint32_t)from->block[0] * from->block[1] * from->block[2],
                       .grid = {from->grid[0], from->grid[1], from->grid[2]},
                       .kib = from->pointer_kib,
                       .first = ranges->value_count};
        if (!ST_ROOM(ranges->launches, ranges->launch_count, ranges->launch_room))
            return false;
        ranges->launches[ranges->launch_count++] = made;
        ranges->open = true;
    }
    if (record->kind != ST_LOG_ARGUMENTS || !ranges->open)
        return true;
    const st_log_arguments *from = &record->arguments;
    for (size_t i = 0; i < ST_LOG_ARGUMENTS_OF_RECORD; i++) {
        value made = {.value = from->value[i], .kind = from->kind[i]};
        if (made.kind == ST_LOG_ARG_UNKNOWN)
            continue;
        if (made.kind == ST_LOG_ARG_POINTER || made.kind == ST_LOG_ARG_INSIDE)
            made.block = from->block[i];
        ranges->launches[ranges->launch_count - 1].count++;
        if (!ST_ROOM(ranges->values, ranges->value_count, ranges->value_room))
            return false;
        ranges->values[ranges->value_count++] = made;
    }
    return true;
}

/* Whether the launch has as many threads as so many elements need, each 1 to 16 of them. */
static bool fits(const launch *of, uint64_t elements)
{
    if (of->threads == 0 || elements == 0 || elements > UINT64_MAX / 2)
        return false;
    for (uint64_t each = 1; each <= 16; each *= 2) {
        uint64_t of_block = of->threads * each;
        if ((elements + of_block - 1) / of_block == blocks_of(of))
            return true;
    }
    return false;
}

/* How many elements a launch has. */
typedef struct elements {
    uint64_t each; /* of every tensor; 0: not known */
    uint64_t most; /* of those that have all rows whole, others have less; 0: not known */
} elements;

/* The number, or the product of neighbouring ones, that fits the threads; else one that fits the
 * blocks, by the number behind it. A launch of one block fits too many numbers. */
static elements elements_of(const st_memory_ranges *ranges, const launch *of)
{
    elements found = {0};
    const uint64_t blocks = blocks_of(of);
    for (size_t i = 0; i < of->count && blocks > 1; i++) {
        uint64_t product = 1;
        for (size_t k = i; k < of->count; k++) {
            const value *pointer = &ranges->values[of->first + k];
            if (pointer->kind != ST_LOG_ARG_INTEGER)
                continue;
            if (pointer->value == 0 || pointer->value >= UINT32_MAX || product >= UINT32_MAX)
                break;
            product *= pointer->value;
            /* The next number behind a place; 0: there is none. */
            uint64_t behind = 0;
            for (size_t j = k + 1; j < of->count; j++)
                if (ranges->values[of->first + j].kind == ST_LOG_ARG_INTEGER) {
                    behind = ranges->values[of->first + j].value;
                    break;
                }
            if (fits(of, product) && product > found.each)
                found.each = product;
            if (blocks > 1 && product % blocks == 0 && product / blocks <= 32 &&
                (product / blocks & (product / blocks - 1)) == 0 && behind < UINT32_MAX &&
                product * behind > found.most)
                found.most = product * behind;
        }
    }
    return found;
}

/* Bytes of the tensor that a pointer is to; *known where they are not just at most so many. */
static double bytes_of(const st_memory_ranges *ranges, const value *pointer, unsigned width,
                       const elements *count, bool *known)
{
    /* To the next tensor of the block, or to its end. */
    tensor_start wanted = {.block = pointer->block, .extent = pointer->value};
    size_t low = 0;
    ST_BISECT(low, ranges->start_count, order_starts(&ranges->starts[middle], &wanted) < 0);
    bool has_next = low > 0 && ranges->starts[low - 1].block == pointer->block;
    uint64_t limit = pointer->value - (has_next ? ranges->starts[low - 1].extent : 0);
    *known = width > 0 && (count->each > 0 || count->most > 0);
    if (count->each > 0 && width > 0)
        limit = pointer->value;
    width = width > 0 ? width : 4;
    uint64_t most = count->each > 0 ? count->each : count->most;
    return (double)(most > 0 && most < limit / width ? most * width : limit);
}

void st_memory_ranges_facts(const st_memory_ranges *ranges, size_t which,
                            const st_kernel_name *name, st_launch_facts *facts,
                            uint32_t structures[ST_LAUNCH_STRUCTURES])
{
    const launch *of = &ranges->launches[which];
    elements count = elements_of(ranges, of);
    size_t place = 0; /* among the parameters */
    bool any = false;
    facts->threads = of->threads;
    facts->reached_bytes = 1024.0 * of->kib;
    memcpy(facts->grid, of->grid, sizeof of->grid);
    for (size_t i = 0; i < of->count; i++) {
        const value *own = &ranges->values[of->first + i];
        st_kernel_parameter parameter = {0};
        bool known = false;
        const bool inside = own->kind == ST_LOG_ARG_INSIDE;
        if (!inside && place < name->parameter_count)
            parameter = name->parameters[place];
        place += !inside;
        if (own->kind == ST_LOG_ARG_STRUCT && facts->structure_count < ST_LAUNCH_STRUCTURES)
            structures[facts->structure_count++] = (uint32_t)own->value;
        if (own->kind == ST_LOG_ARG_INTEGER && !parameter.pointer && !parameter.real &&
            facts->number_count < ST_LAUNCH_NUMBERS)
            facts->numbers[facts->number_count++] = (int64_t)own->value;
        if (own->block == 0)
            continue;
        double bytes = bytes_of(ranges, own, parameter.width, &count, &known);
        if (parameter.pointer && !parameter.constant)
            facts->written_bytes += bytes;
        else
            facts->read_bytes += bytes;
        facts->at_most = facts->at_most || !known;
        any = true;
        if (facts->pointer_count < ST_LAUNCH_NUMBERS)
            facts->widths[facts->pointer_count++] = parameter.width;
    }
    if (!any) {
        facts->at_most = true;
        facts->read_bytes = 1024.0 * of->kib;
    }
}
