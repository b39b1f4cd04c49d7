/* SPDX-License-Identifier: Apache-2.0 */
/* See lack.h. */
#include "base/lack.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_bool lacked;

void st_lack_note(void)
{
    atomic_store_explicit(&lacked, true, memory_order_relaxed);
}

bool st_lack_known(void)
{
    return atomic_load_explicit(&lacked, memory_order_relaxed);
}

void st_lack_fault(int fault)
{
    if (fault == ENOMEM)
        st_lack_note();
}

DIR *st_open_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        st_lack_fault(errno);
    return folder;
}
