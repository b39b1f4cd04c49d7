/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures on order, as SQLite's tests have them: loaded before the C library (LD_PRELOAD), it
 * counts calls by kind and lets one of them fail, or ends the process in its place.
 *
 *   FAULT_KIND   memory, open, read, write, sync, name, process or library
 *   FAULT_AT     which call of that kind, from 1; 0: none, and FAULT_COUNTS names a file that gets
 *                the number of calls of each kind
 *   FAULT_KILL   set: the process is killed before the call is made, as by a power cut
 *
 * A process that is one long run, such as an interpreter, orders them by itself: faults_begin and
 * faults_end, between which faults_count counts.
 */
#undef _FILE_OFFSET_BITS /* open and open64 are two functions here */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

typedef enum kind { MEMORY, OPEN, READ, WRITE, SYNC, NAME, PROCESS, LIBRARY, KINDS } kind;

static const char *const names[KINDS] = {"memory", "open", "read",    "write",
                                         "sync",   "name", "process", "library"};
static atomic_long counts[KINDS];
static kind chosen = KINDS;
static long chosen_at;
static int kills;
static atomic_int ready;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

__attribute__((constructor)) static void begin(void)
{
    const char *wanted = getenv("FAULT_KIND");
    const char *at = getenv("FAULT_AT");
    for (int i = 0; i < KINDS && wanted != NULL; i++)
        if (strcmp(wanted, names[i]) == 0)
            chosen = (kind)i;
    chosen_at = at != NULL ? strtol(at, NULL, 10) : 0;
    kills = getenv("FAULT_KILL") != NULL;
    atomic_store(&ready, 1);
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAULT_COUNTS");
    char text[512] = "";
    size_t length = 0;
    atomic_store(&ready, 0);
    for (int i = 0; i < KINDS; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s %ld\n", names[i],
                                   (long)atomic_load(&counts[i]));
    int file = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    if (file >= 0)
        (void)!write(file, text, length);
}

/* Whether this call is the one. */
static int fails(kind of)
{
    if (atomic_load(&ready) == 0)
        return 0;
    long number = atomic_fetch_add(&counts[of], 1) + 1;
    if (of != chosen || number != chosen_at)
        return 0;
    if (kills)
        (void)kill(getpid(), SIGKILL);
    return 1;
}

/* From here on, and of nothing before: a kind by its name, or one that is none. */
void faults_begin(const char *wanted, long at)
{
    atomic_store(&ready, 0);
    chosen = KINDS;
    for (int i = 0; i < KINDS; i++) {
        atomic_store(&counts[i], 0);
        if (strcmp(wanted, names[i]) == 0)
            chosen = (kind)i;
    }
    chosen_at = at;
    atomic_store(&ready, 1);
}

void faults_end(void)
{
    atomic_store(&ready, 0);
}

long faults_count(const char *wanted)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(wanted, names[i]) == 0)
            return atomic_load(&counts[i]);
    return -1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL(of, fault, result)                                                                    \
    do {                                                                                           \
        if (fails(of)) {                                                                           \
            errno = fault;                                                                         \
            return result;                                                                         \
        }                                                                                          \
    } while (0)

void *malloc(size_t bytes)
{
    FAIL(MEMORY, ENOMEM, NULL);
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    FAIL(MEMORY, ENOMEM, NULL);
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    FAIL(MEMORY, ENOMEM, NULL);
    return __libc_realloc(old, bytes);
}

static mode_t mode_of(int flags, va_list rest)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? (mode_t)va_arg(rest, int) : 0;
}

#define OPEN_LIKE(name)                                                                            \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = mode_of(flags, rest);                                                        \
        va_end(rest);                                                                              \
        FAIL(OPEN, EMFILE, -1);                                                                    \
        return NEXT(name)(path, flags, mode);                                                      \
    }
OPEN_LIKE(open)
OPEN_LIKE(open64)

#define FOPEN_LIKE(name)                                                                           \
    FILE *name(const char *path, const char *mode)                                                 \
    {                                                                                              \
        FAIL(OPEN, EMFILE, NULL);                                                                  \
        return NEXT(name)(path, mode);                                                             \
    }
FOPEN_LIKE(fopen)
FOPEN_LIKE(fopen64)

ssize_t read(int file, void *data, size_t bytes)
{
    FAIL(READ, EIO, -1);
    return NEXT(read)(file, data, bytes);
}

ssize_t pread64(int file, void *data, size_t bytes, off64_t at)
{
    FAIL(READ, EIO, -1);
    return NEXT(pread64)(file, data, bytes, at);
}

ssize_t write(int file, const void *data, size_t bytes)
{
    if (file == STDERR_FILENO)
        return NEXT(write)(file, data, bytes);
    FAIL(WRITE, ENOSPC, -1);
    return NEXT(write)(file, data, bytes);
}

ssize_t pwrite64(int file, const void *data, size_t bytes, off64_t at)
{
    FAIL(WRITE, ENOSPC, -1);
    return NEXT(pwrite64)(file, data, bytes, at);
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *stream)
{
    enum { ERROR_SEEN = 0x20 }; /* what glibc's own fwrite then sets, for ferror */
    if (stream == stderr)
        return NEXT(fwrite)(data, size, count, stream);
    if (fails(WRITE)) {
        stream->_flags |= ERROR_SEEN;
        errno = ENOSPC;
        return 0;
    }
    return NEXT(fwrite)(data, size, count, stream);
}

int ftruncate64(int file, off64_t bytes)
{
    FAIL(WRITE, EIO, -1);
    return NEXT(ftruncate64)(file, bytes);
}

int fsync(int file)
{
    FAIL(SYNC, EIO, -1);
    return NEXT(fsync)(file);
}

int fdatasync(int file)
{
    FAIL(SYNC, EIO, -1);
    return NEXT(fdatasync)(file);
}

int rename(const char *from, const char *to)
{
    FAIL(NAME, EACCES, -1);
    return NEXT(rename)(from, to);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    FAIL(NAME, EACCES, -1);
    return NEXT(linkat)(from_folder, from, to_folder, to, flags);
}

int unlink(const char *path)
{
    FAIL(NAME, EACCES, -1);
    return NEXT(unlink)(path);
}

int mkdir(const char *path, mode_t mode)
{
    FAIL(NAME, EACCES, -1);
    return NEXT(mkdir)(path, mode);
}

pid_t fork(void)
{
    FAIL(PROCESS, EAGAIN, -1);
    return NEXT(fork)();
}

int pipe(int ends[2])
{
    FAIL(PROCESS, EMFILE, -1);
    return NEXT(pipe)(ends);
}

void *dlopen(const char *path, int flags)
{
    if (fails(LIBRARY)) /* one that leaves its reason in dlerror, as all do */
        return NEXT(dlopen)("/no/such/library", flags);
    return NEXT(dlopen)(path, flags);
}
