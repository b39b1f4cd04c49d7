/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arena: a chain of zeroed chunks, freed as a whole.
 *
 * Chunks are never used twice, so that everything handed out is zero without a second pass over it.
 * The first ones come from calloc and double. An arena that outgrows them holds a sheet and will
 * take megabytes: it maps a large chunk and asks for huge pages, because a thousand faults of small
 * ones are a third of a short run's time. Under AddressSanitizer all chunks come from calloc, whose
 * memory it watches.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise; NOLINT(bugprone-reserved-identifier) */
#include "steptime/arena.h"

#include "base/arena_size.h"
#include "base/oom_flag.h"
#include "base/print.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define MAPS_CHUNKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MAPS_CHUNKS 0
#endif
#endif
#ifndef MAPS_CHUNKS
#define MAPS_CHUNKS 1
#endif

enum {
    FIRST_CHUNK_BYTES = 1024,
    LARGEST_CALLOC_BYTES = MAPS_CHUNKS ? 256 * 1024 : 1024 * 1024,
    HUGE_PAGE_BYTES = 2 * 1024 * 1024,
    MAPPED_CHUNK_BYTES = 2 * HUGE_PAGE_BYTES
};

typedef struct chunk {
    struct chunk *previous;
    size_t size_bytes;
    size_t used_bytes;
    void *mapping; /* NULL: from calloc */
    size_t mapping_bytes;
    max_align_t data[];
} chunk;

typedef struct deferred {
    struct deferred *previous;
    void (*release)(void *context);
    void *context;
} deferred;

struct st_arena {
    bool failed;
    chunk *newest;
    deferred *latest;
    size_t next_chunk_bytes;
};

st_arena *st_arena_create(void)
{
    st_arena *arena = calloc(1, sizeof *arena);
    if (arena != NULL)
        arena->next_chunk_bytes = FIRST_CHUNK_BYTES;
    else
        st_oom_note();
    return arena;
}

void st_arena_destroy(st_arena *arena)
{
    if (arena == NULL)
        return;
    for (const deferred *one = arena->latest; one != NULL; one = one->previous)
        one->release(one->context);
    for (chunk *one = arena->newest; one != NULL;) {
        chunk *previous = one->previous;
        if (one->mapping == NULL)
            free(one);
        else
            (void)munmap(one->mapping, one->mapping_bytes);
        one = previous;
    }
    free(arena);
}

static chunk *calloc_chunk(size_t size_bytes)
{
    chunk *one = calloc(1, sizeof(chunk) + size_bytes);
    if (one != NULL)
        one->size_bytes = size_bytes;
    return one;
}

/* The chunk begins with a huge page; what the mapping has before and after it is never touched. */
static chunk *map_chunk(size_t least_bytes)
{
    const size_t pages = (sizeof(chunk) + least_bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES;
    const size_t size = pages > 2 ? pages * HUGE_PAGE_BYTES : MAPPED_CHUNK_BYTES;
    const size_t bytes = size + HUGE_PAGE_BYTES;
    /* cppcheck-suppress invalidFunctionArg */
    char *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
        return NULL;
    const size_t over = (uintptr_t)mapping % HUGE_PAGE_BYTES;
    chunk *one = (chunk *)(void *)(mapping + (over > 0 ? HUGE_PAGE_BYTES - over : 0));
#ifdef MADV_HUGEPAGE
    (void)madvise(one, size, MADV_HUGEPAGE); /* refused: slower, as right */
#endif
    *one = (chunk){
        .size_bytes = size - sizeof(chunk),
        .mapping = mapping,
        .mapping_bytes = bytes,
    };
    return one;
}

void st_arena_expect_megabytes(st_arena *arena)
{
    if (MAPS_CHUNKS)
        arena->next_chunk_bytes = (size_t)2 * LARGEST_CALLOC_BYTES;
}

/* What is larger than the next chunk and cannot be mapped gets one for itself, which is full at
 * once: the newest goes on behind it. */
static chunk *add_chunk(st_arena *arena, size_t least_bytes)
{
    size_t size_bytes = arena->next_chunk_bytes;
    if (size_bytes < least_bytes)
        size_bytes = least_bytes;
    const bool maps =
        MAPS_CHUNKS && size_bytes > LARGEST_CALLOC_BYTES && least_bytes <= SIZE_MAX / 4;
    const bool is_full = !maps && size_bytes == least_bytes;
    chunk *one = maps ? map_chunk(least_bytes) : calloc_chunk(size_bytes);
    if (one == NULL)
        return NULL;
    chunk **before = is_full && arena->newest != NULL ? &arena->newest->previous : &arena->newest;
    one->previous = *before;
    *before = one;
    if (!is_full && arena->next_chunk_bytes <= LARGEST_CALLOC_BYTES)
        arena->next_chunk_bytes *= 2;
    return one;
}

/* Rounds up to the strictest alignment; false where no object is that large. An empty request still
 * gets a place. */
static bool padded_size(size_t count, size_t size_bytes, size_t *result)
{
    const size_t alignment = _Alignof(max_align_t);
    const size_t small = (size_t)1 << 30; /* no product of these is too large */
    if ((count >= small || size_bytes >= small) && size_bytes != 0 &&
        count > (PTRDIFF_MAX - sizeof(chunk) - alignment) / size_bytes)
        return false;
    size_t bytes = count * size_bytes;
    if (bytes == 0)
        bytes = 1;
    *result = (bytes + alignment - 1) / alignment * alignment;
    return true;
}

/* Nothing comes of an arena that failed once. */
static void *fail(st_arena *arena)
{
    st_oom_note();
    arena->failed = true;
    return NULL;
}

void *st_arena_alloc(st_arena *arena, size_t count, size_t size_bytes)
{
    size_t bytes;
    if (arena->failed || !padded_size(count, size_bytes, &bytes))
        return fail(arena);
    chunk *one = arena->newest;
    if (one == NULL || one->size_bytes - one->used_bytes < bytes) {
        one = add_chunk(arena, bytes);
        if (one == NULL)
            return fail(arena);
    }
    void *memory = (char *)one->data + one->used_bytes;
    one->used_bytes += bytes;
    return memory;
}

bool st_arena_failed(const st_arena *arena)
{
    return arena->failed;
}

bool st_arena_defer(st_arena *arena, void (*release)(void *context), void *context)
{
    deferred *one = st_arena_alloc(arena, 1, sizeof *one);
    if (one == NULL)
        return false;
    *one = (deferred){.previous = arena->latest, .release = release, .context = context};
    arena->latest = one;
    return true;
}

char *st_arena_copy(st_arena *arena, const char *text, size_t length)
{
    char *copy = st_arena_alloc(arena, length < SIZE_MAX ? length + 1 : length, 1);
    if (copy != NULL && length > 0)
        memcpy(copy, text, length);
    return copy;
}

/* Formats into what is left of the newest chunk; where that is too little, it is zero again. */
static char *print_in_chunk(st_arena *arena, size_t *size_bytes, const char *format,
                            va_list arguments) ST_PRINTF(3, 0);

static char *print_in_chunk(st_arena *arena, size_t *size_bytes, const char *format,
                            va_list arguments)
{
    chunk *one = arena->newest;
    size_t left = one == NULL ? 0 : one->size_bytes - one->used_bytes;
    if (left > INT_MAX)
        left = INT_MAX;
    char *text = left > 0 ? (char *)one->data + one->used_bytes : NULL;
    int length = st_vprint(text, left, format, arguments);
    *size_bytes = length < 0 ? 0 : (size_t)length + 1;
    if (length >= 0 && *size_bytes <= left)
        return st_arena_alloc(arena, *size_bytes, 1);
    if (text != NULL)
        memset(text, 0, left);
    return NULL;
}

char *st_arena_vprintf(st_arena *arena, const char *format, va_list arguments)
{
    if (arena->failed)
        return NULL;
    va_list again;
    size_t size_bytes;
    va_copy(again, arguments);
    char *text = print_in_chunk(arena, &size_bytes, format, again);
    va_end(again);
    if (text != NULL || size_bytes == 0)
        return text;
    text = st_arena_alloc(arena, size_bytes, 1);
    if (text != NULL)
        (void)st_vprint(text, size_bytes, format, arguments);
    return text;
}

char *st_arena_printf(st_arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = st_arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return text;
}

void *st_arena_grow(st_arena *arena, void *items, size_t size_bytes, size_t needed,
                    size_t *capacity)
{
    if (items != NULL && needed <= *capacity)
        return items;
    size_t wanted = *capacity > SIZE_MAX / 2 ? needed : *capacity * 2;
    if (wanted < 8)
        wanted = 8;
    if (wanted < needed)
        wanted = needed;
    void *grown = st_arena_alloc(arena, wanted, size_bytes);
    if (grown == NULL)
        return NULL;
    if (items != NULL && *capacity > 0)
        memcpy(grown, items, *capacity * size_bytes);
    *capacity = wanted;
    return grown;
}

bool st_arena_append(st_arena *arena, void *list, size_t *count, size_t *capacity, const void *item,
                     size_t size_bytes)
{
    void *items;
    if (arena->failed)
        return false;
    memcpy(&items, list, sizeof items); /* a pointer to any type */
    items = st_arena_grow(arena, items, size_bytes, *count + 1, capacity);
    if (items == NULL)
        return false;
    memcpy((char *)items + *count * size_bytes, item, size_bytes);
    memcpy(list, &items, sizeof items);
    (*count)++;
    return true;
}
