/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts how often a process wakes others up, which a call of an isolated plugin does once, and how
 * many it starts: loaded before all other libraries, it writes both numbers to the file QUESTIONS
 * where the process ends.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_ulong questions;
static atomic_ulong processes;

pid_t fork(void)
{
    static pid_t (*next)(void);
    if (next == NULL)
        next = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
    (void)atomic_fetch_add(&processes, 1);
    return next();
}

long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long given[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        given[i] = va_arg(rest, long);
    va_end(rest);
    if (next == NULL)
        next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_futex && (int)given[1] == FUTEX_WAKE)
        (void)atomic_fetch_add(&questions, 1);
    return next(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

static __attribute__((destructor)) void end(void)
{
    const char *path = getenv("QUESTIONS");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL)
        return;
    (void)fprintf(file, "%lu %lu\n", atomic_load(&questions), atomic_load(&processes));
    (void)fclose(file);
}
