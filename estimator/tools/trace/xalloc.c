/* SPDX-License-Identifier: Apache-2.0 */
/* See xalloc.h. */
#include "trace/xalloc.h"

#include "base/print.h"
#include "base/scratch.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local jmp_buf *way_back; /* NULL: the process ends */

void st_xdone(bool done)
{
    static const char text[] = "error: out of memory\n";
    if (done)
        return;
    if (way_back != NULL)
        longjmp(*way_back, 1); /* NOLINT(cert-err52-cpp) */
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    st_scratch_remove();
    _exit(1);
}

st_status st_xcall(st_status (*call)(void *context), void *context)
{
    jmp_buf back;
    jmp_buf *const outer = way_back;
    if (setjmp(back) != 0) { /* NOLINT(cert-err52-cpp) */
        way_back = outer;
        return ST_ERR_MEMORY;
    }
    way_back = &back;
    st_status status = call(context);
    way_back = outer;
    return status;
}

typedef struct member {
    st_status (*work)(void *context);
    void *context;
    bool comes_back;
    bool lacks_memory;
    pthread_t thread;
} member;

static void *work_as(void *context)
{
    member *self = context;
    st_status status =
        self->comes_back ? st_xcall(self->work, self->context) : self->work(self->context);
    self->lacks_memory = status == ST_ERR_MEMORY;
    return NULL;
}

void st_xteam(st_status (*work)(void *context), void *context, size_t count)
{
    member members[ST_XTEAM_MOST];
    size_t started = 0;
    for (size_t i = 0; i < ST_XTEAM_MOST; i++)
        members[i] = (member){.work = work, .context = context, .comes_back = way_back != NULL};
    count = count > ST_XTEAM_MOST ? ST_XTEAM_MOST : count;
    /* This thread is the last of them: it works alone where no other can be started. */
    while (started + 1 < count &&
           pthread_create(&members[started].thread, NULL, work_as, &members[started]) == 0)
        started++;
    (void)work_as(&members[started]);
    bool lacks_memory = members[started].lacks_memory;
    for (size_t i = 0; i < started; i++) {
        (void)pthread_join(members[i].thread, NULL);
        lacks_memory = lacks_memory || members[i].lacks_memory;
    }
    st_xdone(!lacks_memory);
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
