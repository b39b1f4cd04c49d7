/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See namespaces.h. A namespace of processes holds those that are started after it was made, and
 * ends with the first of them, for which signals do not work as usual. Hence a keeper outside, a
 * first process, which only ends with the keeper, and the one that works.
 */
#define _GNU_SOURCE /* unshare; NOLINT(bugprone-reserved-identifier) */

#include "plugin/namespaces.h"

#include "base/lists.h"
#include "plugin/call_filter.h"
#include "plugin/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

enum { LOOK_FOR_CALLER_MS = 200, END_LIMIT_MS = 1000 };

#ifdef __linux__

enum { SYS_MOUNT_SETATTR = 442, RECURSIVE = 0x8000, READ_ONLY = 1 };

/* As linux/mount.h has it from 5.12 on. */
typedef struct mount_change {
    uint64_t set;
    uint64_t clear;
    uint64_t propagation;
    uint64_t user_namespace;
} mount_change;

static bool write_file(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool written = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0)
        (void)close(file);
    return written;
}

static bool make_files_read_only(void)
{
    const mount_change change = {.set = READ_ONLY};
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           syscall(SYS_MOUNT_SETATTR, AT_FDCWD, "/", RECURSIVE, &change, sizeof change) == 0;
}

/* For a process of one thread. */
static unsigned build_walls(void)
{
    static const struct {
        int flag;
        unsigned wall;
    } spaces[] = {{CLONE_NEWNET, ST_WALL_NETWORK},
                  {CLONE_NEWIPC, ST_WALL_IPC},
                  {CLONE_NEWPID, ST_WALL_PROCESSES}};
    uid_t user = geteuid();
    gid_t group = getegid();
    if (unshare(CLONE_NEWUSER) != 0)
        return 0;
    unsigned walls = ST_WALL_USER;
    /* The process keeps its own numbers; without this it would be "nobody" to itself. */
    char text[64];
    (void)snprintf(text, sizeof text, "%u %u 1", (unsigned)user, (unsigned)user);
    (void)write_file("/proc/self/uid_map", text);
    (void)snprintf(text, sizeof text, "%u %u 1", (unsigned)group, (unsigned)group);
    if (write_file("/proc/self/setgroups", "deny"))
        (void)write_file("/proc/self/gid_map", text);
    /* A network's takes most of the time; the filter, which allows no socket, is the same wall. */
    const bool has_filter = st_call_filter_exists();
    for (size_t i = has_filter ? 1 : 0; i < ST_COUNT(spaces); i++)
        if (unshare(spaces[i].flag) == 0)
            walls |= spaces[i].wall;
    return walls | (make_files_read_only() ? ST_WALL_FILES : 0);
}

static void die_with_keeper(pid_t keeper)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    pid_t parent = getppid(); /* 0: it is of another namespace */
    if (parent != keeper && parent != 0)
        _exit(0);
}

#else

static unsigned build_walls(void)
{
    return 0;
}

static void die_with_keeper(pid_t keeper)
{
    (void)keeper;
}

#endif

/* The first process of a namespace: ends, and with it all others, once the keeper has ended. */
static _Noreturn void be_first(int held)
{
    char nothing;
    st_confine_files(held);
    while (read(held, &nothing, 1) < 0 && errno == EINTR)
        continue;
    _exit(0);
}

/* What a keeper waits for: the end of those it keeps, and a request to end. */
static void keepers_signals(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGCHLD);
    (void)sigaddset(set, SIGTERM);
}

/* Ends as another process has ended. */
static _Noreturn void end_like(int status)
{
    if (WIFSIGNALED(status)) {
        sigset_t none;
        (void)sigemptyset(&none);
        (void)signal(WTERMSIG(status), SIG_DFL);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* The first process of a namespace, 0 for none, and the keeper's end of a pipe that it ends with.
 */
typedef struct kept_first {
    pid_t process;
    int held;
} kept_first;

static _Noreturn void keep(pid_t caller, pid_t kept, const kept_first *first)
{
    const struct timespec nap = {.tv_nsec = LOOK_FOR_CALLER_MS * 1000000L};
    const struct timespec none = {0};
    sigset_t awaited;
    int status = 0;
    bool asked = false;
    keepers_signals(&awaited);
    st_confine_files(first->held);
    while (waitpid(kept, &status, WNOHANG | WUNTRACED) != kept) {
        asked = asked || getppid() != caller;
        if (asked)
            (void)kill(kept, SIGKILL);
        asked = sigtimedwait(&awaited, NULL, &nap) == SIGTERM || asked;
    }
    if (WIFSTOPPED(status)) {
        if (!asked && sigtimedwait(&awaited, NULL, &none) != SIGTERM)
            (void)raise(SIGSTOP); /* notifies the caller */
        (void)kill(kept, SIGKILL);
        (void)waitpid(kept, &status, 0);
    }
    if (first->process > 0) /* which reads no end of a pipe where it is stopped */
        (void)kill(first->process, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    end_like(status);
}

/* Starts a process and ends this one where there is none. */
static pid_t must_fork(void)
{
    pid_t made = fork();
    if (made < 0)
        _exit(ST_NO_PROCESS);
    return made;
}

pid_t st_namespaces_fork(unsigned *walls)
{
    pid_t caller = getpid();
    sigset_t awaited;
    sigset_t before;
    keepers_signals(&awaited);
    (void)pthread_sigmask(SIG_BLOCK, &awaited, &before);
    pid_t made = fork();
    if (made == 0) {
        /* In the keeper; returns in the process that it keeps. */
        int ends[2] = {-1, -1};
        kept_first first = {.held = -1};
        pid_t keeper = getpid();
        (void)setsid(); /* no controlling terminal: the plugin cannot type into the user's */
        (void)signal(SIGCHLD, SIG_DFL);
        *walls = build_walls();
        if ((*walls & ST_WALL_PROCESSES) != 0) {
            if (pipe(ends) != 0)
                _exit(ST_NO_PROCESS);
            first = (kept_first){must_fork(), ends[1]};
            if (first.process == 0) {
                (void)close(ends[1]);
                be_first(ends[0]);
            }
            (void)close(ends[0]);
        }
        pid_t kept = must_fork();
        if (kept > 0)
            keep(caller, kept, &first);
        if (ends[1] >= 0)
            (void)close(ends[1]);
        die_with_keeper(keeper);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made;
}

void st_namespaces_end(pid_t keeper, int *status)
{
    (void)kill(keeper, SIGTERM);
    (void)kill(keeper, SIGCONT);
    struct timespec nap = {.tv_nsec = 1000000 / 16}; /* most need a part of a millisecond */
    for (int i = 0; i < END_LIMIT_MS; i++) {
        pid_t ended = waitpid(keeper, status, WNOHANG);
        if (ended == keeper || (ended < 0 && errno != EINTR))
            return;
        (void)nanosleep(&nap, NULL);
        nap.tv_nsec *= nap.tv_nsec < 1000000 ? 2 : 1;
    }
    (void)kill(-keeper, SIGKILL);
    (void)kill(keeper, SIGKILL);
    while (waitpid(keeper, status, 0) < 0 && errno == EINTR)
        continue;
}

static const struct {
    unsigned wall;
    const char *text;
} wall_names[] = {{ST_WALL_FILTER, "filtered system calls"},
                  {ST_WALL_LANDLOCK, "locked files and ports"},
                  {ST_WALL_FILES, "read-only files"},
                  {ST_WALL_NETWORK, "no network"},
                  {ST_WALL_PROCESSES, "no access to other processes"},
                  {ST_WALL_IPC, "no shared memory"},
                  {ST_WALL_USER, "no root privileges"}};

const char *st_walls_text(unsigned walls, st_arena *arena)
{
    const char *text = "";
    for (size_t i = 0; i < ST_COUNT(wall_names) && text != NULL; i++)
        if ((walls & wall_names[i].wall) != 0)
            text = st_arena_printf(arena, "%s%s%s", text, text[0] != '\0' ? ", " : "",
                                   wall_names[i].text);
    return text;
}
