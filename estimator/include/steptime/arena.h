/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arena and text buffer: the two ways in which steptime holds memory.
 *
 * One run allocates everything that it loads (sheets, jobs, programs) from one arena and frees it
 * at once. After the first failed allocation an arena returns NULL forever and its lists stop
 * growing, so that a stage that only collects can check once, at its end. An arena serves one
 * thread at a time.
 */
#ifndef STEPTIME_ARENA_H
#define STEPTIME_ARENA_H

#include "steptime/status.h"

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct st_arena st_arena;

ST_API st_arena *st_arena_create(void);        /* NULL when out of memory */
ST_API void st_arena_destroy(st_arena *arena); /* NULL is fine */
/*
 * Calls `release` with `context` when the arena is destroyed, the latest first, before any memory
 * is freed: for resources other than memory that live as long as the arena. False when out of
 * memory; then the caller must release it.
 */
ST_API bool st_arena_defer(st_arena *arena, void (*release)(void *context),
                           void *context) ST_NODISCARD;
/* Zeroed memory for `count` objects of `size_bytes`, aligned for any type; NULL when out of memory
 * or when the product overflows. */
ST_API void *st_arena_alloc(st_arena *arena, size_t count, size_t size_bytes);
/* Whether an allocation of the arena failed. */
ST_API bool st_arena_failed(const st_arena *arena);
/* Copies of texts, NUL-terminated, in the arena; NULL when out of memory. */
ST_API char *st_arena_copy(st_arena *arena, const char *text, size_t length);
ST_API char *st_arena_printf(st_arena *arena, const char *format, ...) ST_PRINTF(2, 3);
/*
 * Grows an array that was allocated from the arena: returns room for at least `needed` items and
 * updates *capacity; old items are kept. NULL when out of memory.
 */
ST_API void *st_arena_grow(st_arena *arena, void *items, size_t size_bytes, size_t needed,
                           size_t *capacity);
/*
 * Appends a copy of `item` to a list of the arena; `list` is the address of the pointer to its
 * first item, NULL while it is empty. False, with nothing appended, when the arena has failed, so
 * that an item may contain allocations of the arena that were not checked.
 */
ST_API bool st_arena_append(st_arena *arena, void *list, size_t *count, size_t *capacity,
                            const void *item, size_t size_bytes);

/* Text that grows; appending after a failed allocation does nothing; check `failed` at the end. */
typedef struct st_buffer {
    char *data; /* NUL-terminated once anything was appended; NULL before */
    size_t length;
    size_t capacity;
    bool failed;
} st_buffer;

/* Append `length` bytes, a text, a formatted text. */
ST_API void st_buffer_append(st_buffer *buffer, const char *text, size_t length);
ST_API void st_buffer_text(st_buffer *buffer, const char *text);
ST_API void st_buffer_printf(st_buffer *buffer, const char *format, ...) ST_PRINTF(2, 3);
ST_API void st_buffer_json_string(st_buffer *buffer, const char *text); /* with quotes, escaped */
ST_API void st_buffer_csv_field(st_buffer *buffer, const char *text);   /* quoted where needed */
ST_API void st_buffer_free(st_buffer *buffer);                          /* all zero afterwards */

#ifdef __cplusplus
}
#endif
#endif
