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

#include "base/same.h"

#include <stdint.h>
#include <stdlib.h>

#define ST_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The index of the first text that is `text`, of some that stand `stride` bytes apart; SIZE_MAX
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

static inline bool st_has_text(const char *const *texts, size_t count, const char *text)
{
    return st_find_text(texts, count, sizeof *texts, text) != SIZE_MAX;
}

/* The index of the first item of a list whose `member` is `text`, SIZE_MAX where there is none. */
#define ST_FIND(list, count, member, text)                                                         \
    ((count) > 0 ? st_find_text(&(list)->member, (count), sizeof *(list), (text)) : SIZE_MAX)
#define ST_HAS(list, count, member, text) (ST_FIND(list, count, member, text) != SIZE_MAX)

/* -1, 0 or 1, as functions that sort want it. */
#define ST_ORDER(first, second) (((first) > (second)) - ((first) < (second)))

/* Doubles, rising; texts by their bytes. */
static inline int st_order_numbers(const void *first, const void *second)
{
    return ST_ORDER(*(const double *)first, *(const double *)second);
}

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
