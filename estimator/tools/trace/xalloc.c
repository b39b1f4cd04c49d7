/* SPDX-License-Identifier: Apache-2.0 */
/* See xalloc.h. */
#include "trace/xalloc.h"

#include "base/print.h"
#include "base/scratch.h"

#include <string.h>
#include <unistd.h>

void st_xdone(bool done)
{
    static const char text[] = "error: out of memory\n";
    if (done)
        return;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    st_scratch_remove();
    _exit(1);
}

void *st_xmemory(void *memory)
{
    st_xdone(memory != NULL);
    return memory;
}

st_status st_xstatus(st_status status)
{
    st_xdone(status != ST_ERR_MEMORY);
    return status;
}

void *st_xalloc(st_arena *arena, size_t count, size_t size_bytes)
{
    return st_xmemory(st_arena_alloc(arena, count, size_bytes));
}

char *st_xcopy(st_arena *arena, const char *text, size_t length)
{
    return st_xmemory(st_arena_copy(arena, text, length));
}

char *st_xprintf(st_arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = st_arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return st_xmemory(text);
}

void *st_xmalloc(size_t size_bytes)
{
    return st_xmemory(malloc(size_bytes));
}

void *st_xcalloc(size_t count, size_t size_bytes)
{
    return st_xmemory(calloc(count, size_bytes));
}

st_arena *st_xarena(void)
{
    return st_xmemory(st_arena_create());
}
