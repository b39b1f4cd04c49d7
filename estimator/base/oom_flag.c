/* SPDX-License-Identifier: Apache-2.0 */
/* See oom_flag.h. */
#include "base/oom_flag.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_ulong lacked; /* how often */
static _Thread_local unsigned long before;
static void (*end_program)(void);

void st_oom_end_with(void (*end)(void))
{
    end_program = end;
}

void st_oom_note(void)
{
    if (end_program != NULL)
        end_program();
    (void)atomic_fetch_add_explicit(&lacked, 1, memory_order_relaxed);
}

unsigned long st_oom_count(void)
{
    return atomic_load_explicit(&lacked, memory_order_relaxed);
}

void st_oom_begin(void)
{
    before = st_oom_count();
}

bool st_oom_happened(void)
{
    return st_oom_count() != before;
}

void st_oom_note_errno(int fault)
{
    if (fault == ENOMEM)
        st_oom_note();
}

DIR *st_open_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        st_oom_note_errno(errno);
    return folder;
}
