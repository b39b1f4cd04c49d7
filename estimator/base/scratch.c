/* SPDX-License-Identifier: Apache-2.0 */
/* See scratch.h. A signal handler finds nothing but what is global; so the table is. */
#define _DEFAULT_SOURCE /* syscall; NOLINT(bugprone-reserved-identifier) */

#include "base/scratch.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

typedef _Atomic(const char *) scratch_slot;

static scratch_slot slots[ST_SCRATCH_MOST];

bool st_scratch_note(const char *path)
{
    for (size_t i = 0; i < ST_SCRATCH_MOST; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&slots[i], &none, path))
            return true;
    }
    return false;
}

void st_scratch_forget(const char *path)
{
    for (size_t i = 0; i < ST_SCRATCH_MOST && path != NULL; i++) {
        const char *noted = path;
        if (atomic_compare_exchange_strong(&slots[i], &noted, NULL))
            return;
    }
}

/* Removes the files in a folder; opendir may not be called by a handler, what it calls may. */
static void empty_folder(const char *path)
{
#ifdef SYS_getdents64
    enum { BEFORE_NAME = 19, AT_LENGTH = 16 }; /* in struct linux_dirent64 */
    _Alignas(8) char entries[1024];
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    long length = 0;
    while (folder >= 0 && (length = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
        unsigned short size = 0;
        for (long at = 0; at < length; at += size) {
            memcpy(&size, entries + at + AT_LENGTH, sizeof size);
            (void)unlinkat(folder, entries + at + BEFORE_NAME, 0);
        }
    }
    if (folder >= 0)
        (void)close(folder);
#else
    (void)path;
#endif
}

void st_scratch_remove(void)
{
    for (size_t i = ST_SCRATCH_MOST; i > 0; i--) {
        const char *path = atomic_load(&slots[i - 1]);
        if (path == NULL || unlink(path) == 0)
            continue;
        empty_folder(path);
        (void)rmdir(path);
    }
}

void st_signals_hold(sigset_t *before)
{
    sigset_t ending;
    (void)sigemptyset(&ending);
    (void)sigaddset(&ending, SIGINT);
    (void)sigaddset(&ending, SIGTERM);
    (void)sigaddset(&ending, SIGHUP);
    (void)sigaddset(&ending, SIGQUIT);
    (void)sigaddset(&ending, SIGXCPU);
    (void)pthread_sigmask(SIG_BLOCK, &ending, before);
}

void st_signals_release(const sigset_t *before)
{
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}
