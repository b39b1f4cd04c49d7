/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists in memory: how many items an array has, the item that has a text, the order of two items.
 *
 *     static const recipe recipes[] = {{"echo", 12}, {"bag-40", 6}};
 *     size_t at = ST_FIND(recipes, ST_COUNT(recipes), name, "bag-40");       1
 *     bool known = ST_HAS(job->constants, job->constant_count, path, path);  a member's text
 *     bool skipped = st_has_text(names, ST_COUNT(names), name);              a list of texts
 */
#ifndef STEPTIME_BASE_LISTS_H
#define STEPTIME_BASE_LISTS_H

#include "base/chars.h"
#include "steptime/arena.h"

#include <stdint.h>
#include <stdlib.h>

#define ST_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The index of the first text that is `text`, of some that are `stride` bytes apart; SIZE_MAX
 * where there is none. */
static inline size_t st_find_text(const char *const *texts, size_t count, size_t stride,
                                  const char *text)
{
    const char *at = (const char *)texts;
    for (size_t i = 0; i < count; i++, at += stride)
        if (st_same(*(const char *const *)(const void *)at, text))
            return i;
    return SIZE_MAX;
}

static inline size_t st_text_at(const char *const *texts, size_t count, const char *text)
{
    return st_find_text(texts, count, sizeof *texts, text);
}

static inline bool st_has_text(const char *const *texts, size_t count, const char *text)
{
    return st_text_at(texts, count, text) != SIZE_MAX;
}

/* The index of the first item of a list whose `member` is `text`, SIZE_MAX where there is none. */
#define ST_FIND(list, count, member, text)                                                         \
    ((count) > 0 ? st_find_text(&(list)->member, (count), sizeof *(list), (text)) : SIZE_MAX)
#define ST_HAS(list, count, member, text) (ST_FIND(list, count, member, text) != SIZE_MAX)

/*
 * Appends a copy of an item to an array of the arena, with room for 8, 16, 32 ... items: NULL and 0
 * at the beginning, and only ever longer. False where the arena has failed, so that an item may
 * hold what the arena was asked for just before, unchecked.
 *
 *     ST_APPEND(arena, list->rows, list->count, row)
 */
#define ST_APPEND(arena, items, count, ...)                                                        \
    st_append((arena), &(items), &(count), true ? &(__VA_ARGS__) : (items), sizeof(__VA_ARGS__))

static inline bool st_append(st_arena *arena, void *items, size_t *count, const void *item,
                             size_t size_bytes)
{
    size_t capacity = *count == 0 ? 0 : 8;
    while (capacity < *count)
        capacity *= 2;
    return st_arena_append(arena, items, count, &capacity, item, size_bytes);
}

/*
 * Room for one more item of an array that the owner frees, by doubling: NULL, 0 and 0 at the
 * beginning. False when out of memory, and then the array stays as it was.
 *
 *     if (!ST_ROOM(graph->tasks, graph->count, graph->capacity))
 */
#define ST_ROOM(items, count, capacity) st_room(&(items), (count), &(capacity), sizeof *(items))

static inline bool st_room(void *list, size_t count, size_t *capacity, size_t size_bytes)
{
    void *items;
    const size_t wanted = *capacity < 64 ? 64 : 2 * *capacity;
    if (count < *capacity)
        return true;
    memcpy(&items, list, sizeof items); /* a pointer to any type */
    items = wanted <= SIZE_MAX / 2 / size_bytes ? realloc(items, wanted * size_bytes) : NULL;
    if (items == NULL)
        return false;
    memcpy(list, &items, sizeof items);
    *capacity = wanted;
    return true;
}

/*
 * Moves `low`, a size_t, up to the first index for which `before` does not hold, at most to `end`;
 * `before` says it of the index `middle`, and holds for the first ones alone.
 *
 *     size_t low = 0;
 *     ST_BISECT(low, count, times_ns[middle] < from_ns);
 */
#define ST_BISECT(low, end, before)                                                                \
    for (size_t high = (end); (low) < high;) {                                                     \
        const size_t middle = (low) + (high - (low)) / 2;                                          \
        if (before)                                                                                \
            (low) = middle + 1;                                                                    \
        else                                                                                       \
            high = middle;                                                                         \
    }                                                                                              \
    (void)0

/* -1, 0 or 1, as functions that sort want it. */
#define ST_ORDER(first, second) (((first) > (second)) - ((first) < (second)))

/*
 * A function that gives st_sort the order of two items: by their members, the first that differs.
 *
 *     ST_COMPARE(compare_rows, row, ST_FALLING(total_ns) ST_RISING(rank) ST_BY_TEXT(name));
 */
#define ST_COMPARE(function, type, members)                                                        \
    static inline int function(const void *first, const void *second)                              \
    {                                                                                              \
        const type *a = first;                                                                     \
        const type *b = second;                                                                    \
        int order = 0;                                                                             \
        members return order;                                                                      \
    }                                                                                              \
    _Static_assert(sizeof(type) > 0, "a type of items")
#define ST_THEN(next)      order = order != 0 ? order : (next);
#define ST_RISING(member)  ST_THEN(ST_ORDER(a->member, b->member))
#define ST_FALLING(member) ST_THEN(ST_ORDER(b->member, a->member))
#define ST_BY_TEXT(member) ST_THEN(strcmp(a->member, b->member))

/* Numbers, rising; texts by their bytes. */
#define ST_COMPARE_NUMBERS(function, type)                                                         \
    static inline int function(const void *first, const void *second)                              \
    {                                                                                              \
        return ST_ORDER(*(const type *)first, *(const type *)second);                              \
    }                                                                                              \
    _Static_assert(sizeof(type) > 0, "a type of numbers")
ST_COMPARE_NUMBERS(st_order_numbers, double);
ST_COMPARE_NUMBERS(st_order_indices, uint32_t);
ST_COMPARE_NUMBERS(st_order_times, int64_t); /* nanoseconds */

static inline int st_order_texts(const void *first, const void *second)
{
    return strcmp(*(const char *const *)first, *(const char *const *)second);
}

/* qsort, which no list at all may be given to. */
static inline void st_sort(void *items, size_t count, size_t size_bytes,
                           int (*order)(const void *, const void *))
{
    if (count > 1)
        qsort(items, count, size_bytes, order);
}

#endif
