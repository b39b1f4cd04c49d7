/* SPDX-License-Identifier: Apache-2.0 */
/* See confine.h. */
#define _GNU_SOURCE /* syscall; NOLINT(bugprone-reserved-identifier) */

#include "plugin/confine.h"

#include "base/lists.h"
#include "plugin/call_filter.h"
#include "plugin/namespaces.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define HAS_FILTER 1
#include <sys/prctl.h>
#include <sys/syscall.h>
#else
#define HAS_FILTER 0
#endif

/* A sanitizer's shadow memory needs more address space than any limit. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SHADOW_MEMORY 1
#endif
#endif
#ifndef HAS_SHADOW_MEMORY
#define HAS_SHADOW_MEMORY 0
#endif

enum { MOST_FILES = 256, SCANNED_FILES = 4096 };

static void close_range_of(unsigned first, unsigned last)
{
    if (first > last)
        return;
#if HAS_FILTER && defined(SYS_close_range)
    if (syscall(SYS_close_range, first, last, 0) == 0)
        return;
#endif
    for (unsigned file = first; file <= last && file < SCANNED_FILES; file++)
        (void)close((int)file);
}

#if HAS_FILTER
enum { CREATE = 444, ADD_RULE = 445, RESTRICT = 446, ASK_VERSION = 1, BENEATH = 1 };
enum { READ_FILE = 4, READ_FOLDER = 8 };

static void allow(int rules, const char *path, uint32_t rights)
{
    const int folder = open(path, O_PATH | O_CLOEXEC);
    if (folder < 0)
        return; /* nothing to read */
    /* A long word and a short one. */
    const uint32_t rule[] = {rights, 0, (uint32_t)folder};
    (void)syscall(ADD_RULE, rules, BENEATH, rule, 0);
    (void)close(folder);
}

/*
 * What can be read: all but devices and processes of others. Reading takes what a user types at a
 * terminal, and opening some devices (watchdogs, tapes) does something.
 */
static void allow_reading(int rules)
{
    static const char *const within[] = {
        "/dev/null",    "/dev/zero",     "/dev/random",       "/dev/urandom", "/dev/shm",
        "/proc/self",   "/proc/cpuinfo", "/proc/meminfo",     "/proc/stat",   "/proc/version",
        "/proc/driver", "/proc/loadavg", "/proc/filesystems", "/proc/sys"};
    char path[sizeof((struct dirent *)NULL)->d_name + 1] = "/";
    allow(rules, "/", READ_FOLDER);
    for (size_t i = 0; i < ST_COUNT(within); i++)
        allow(rules, within[i], READ_FILE);
    DIR *root = opendir("/");
    for (const struct dirent *one; root != NULL && (one = readdir(root)) != NULL;) {
        (void)snprintf(path + 1, sizeof path - 1, "%s", one->d_name);
        if (path[1] != '.' && strcmp(path, "/dev") != 0 && strcmp(path, "/proc") != 0)
            allow(rules, path, READ_FILE);
    }
    if (root != NULL)
        (void)closedir(root);
}
#endif

/*
 * Landlock, where the kernel has it: no right to change files, to run programs, to use ports and
 * devices, or to reach processes and sockets of others. A kernel refuses bits that it does not
 * know, hence the version. The structure is the kernel's; older headers lack its last words.
 */
static bool lock_land(void)
{
#if HAS_FILTER
    static const struct {
        uint64_t files, ports, scopes;
    } rights[] = {{0x1fff, 0, 0}, {0x3fff, 0, 0}, {0x7fff, 0, 0},
                  {0x7fff, 3, 0}, {0xffff, 3, 0}, {0xffff, 3, 3}}; /* all, by version */
    static const size_t sizes[] = {8, 8, 8, 16, 16, 24};
    long version = syscall(CREATE, NULL, 0, ASK_VERSION);
    if (version < 1)
        return false;
    const size_t row =
        (size_t)version <= ST_COUNT(rights) ? (size_t)version - 1 : ST_COUNT(rights) - 1;
    int rules = (int)syscall(CREATE, &rights[row], sizes[row], 0);
    if (rules >= 0)
        allow_reading(rules);
    bool locked = rules >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                  syscall(RESTRICT, rules, 0) == 0;
    if (rules >= 0)
        (void)close(rules);
    return locked;
#else
    return false;
#endif
}

static bool here;

bool st_is_confined_here(void)
{
    return here;
}

unsigned st_confine_here(void)
{
    here = true;
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    const unsigned walls = lock_land() ? ST_WALL_LANDLOCK : 0;
    return walls | (st_call_filter_install(NULL) ? ST_WALL_FILTER : 0);
}

void st_confine_files(int kept)
{
    int null = open("/dev/null", O_RDWR);
    for (int stream = 0; null >= 0 && stream <= STDERR_FILENO; stream++)
        (void)dup2(null, stream);
    if (null > STDERR_FILENO)
        (void)close(null);
    unsigned first = STDERR_FILENO + 1;
    if (kept >= (int)first) {
        close_range_of(first, (unsigned)kept - 1);
        first = (unsigned)kept + 1;
    }
    close_range_of(first, UINT32_MAX);
}

unsigned st_confine(const st_confine_limits *limits)
{
    /* A child must not run the handlers of its parent. */
    sigset_t none;
    for (int number = 1; number < 32; number++)
        (void)signal(number, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    st_confine_files(limits->kept);
    const struct rlimit resource_none = {0, 0};
    const struct rlimit files = {MOST_FILES, MOST_FILES};
    const struct rlimit memory = {limits->memory_bytes, limits->memory_bytes};
    (void)setrlimit(RLIMIT_CORE, &resource_none);
    (void)setrlimit(RLIMIT_FSIZE, &resource_none);
    (void)setrlimit(RLIMIT_NOFILE, &files);
    if (limits->memory_bytes > 0 && !HAS_SHADOW_MEMORY)
        (void)setrlimit(RLIMIT_AS, &memory);
    unsigned walls = lock_land() ? ST_WALL_LANDLOCK : 0;
    if (st_call_filter_install(limits->refused))
        walls |= ST_WALL_FILTER | ST_WALL_NETWORK; /* no socket is made, and none is inherited */
    return walls;
}
