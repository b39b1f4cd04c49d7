/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that tries every system call, while it is loaded, on a folder ($VICTIM_FOLDER) and a
 * process ($VICTIM_PROCESS) of others, and reports those that succeeded although they can have an
 * effect outside of its process.
 */
#define _GNU_SOURCE /* syscall; NOLINT(bugprone-reserved-identifier) */

#include "steptime/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    NUMBERS = 480,
    PAGE = 4096,
    WORDS = 6,
    OTHER_TABLE = 0x40000000,
    KEY = 2385,
    OUT_OF_REACH = 300
};

static st_plugin self;

/* Calls whose success changes nothing but this process. */
static const int harmless[] = {
    SYS_read,
    SYS_readv,
    SYS_pread64,
    SYS_preadv,
    SYS_write,
    SYS_writev,
    SYS_lseek,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_fstatfs,
    SYS_statfs,
    SYS_getdents64,
    SYS_getcwd,
    SYS_readlinkat,
    SYS_faccessat,
    SYS_fadvise64,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    SYS_eventfd2,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_msync,
    SYS_brk,
    SYS_membarrier,
    SYS_get_mempolicy,
    SYS_futex,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_times,
    SYS_getrusage,
    SYS_getcpu,
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_uname,
    SYS_sysinfo,
    SYS_getrandom,
    SYS_umask,
    SYS_getitimer,
    SYS_setitimer,
    SYS_chdir,
    SYS_fchdir,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigpending,
    SYS_sigaltstack,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_set_tid_address,
    SYS_prlimit64 /* reads: the limits of the other process are compared */,
    SYS_close_range,
#ifdef SYS_open
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_alarm,
    SYS_arch_prctl,
    SYS_dup2,
    SYS_epoll_create,
    SYS_eventfd,
    SYS_getdents,
    SYS_getrlimit,
    SYS_pipe,
    SYS_poll,
    SYS_readlink,
    SYS_time,
#endif
};
/* Those that end this process, never return, or have arguments of their own below. */
static const int left_out[] = {
    SYS_exit,  SYS_exit_group, SYS_rt_sigreturn, SYS_rt_sigsuspend,
    SYS_ppoll, SYS_pselect6,   SYS_openat,       SYS_restart_syscall,
#ifdef SYS_open
    SYS_open,  SYS_pause,      SYS_select,
#endif
};

/* Of the kernel's own probes; newer kernels run them before any filter, and end who calls them. */
enum { URETPROBE = 335, UPROBE = 336 };

static bool has(const int *list, size_t count, long number)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == number)
            return true;
    return false;
}

static char through[4096];
static unsigned tried;

static void try(long number, const long *words)
{
    const pid_t here = getpid();
    if ((number == SYS_kill || number == SYS_tgkill) && words[0] == here)
        return; /* itself */
    long result = syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    tried++;
    if (getpid() != here)
        (void)syscall(SYS_exit_group, 0);
    const bool is_own = has(harmless, sizeof harmless / sizeof *harmless, number) ||
                        (number == SYS_fcntl && words[1] <= F_GETFL);
    /* A kernel without the other table answers ENOSYS to what no filter has refused. */
    const bool is_through = result >= 0 || (number >= OTHER_TABLE && errno == ENOSYS);
    const bool counts = number >= OTHER_TABLE || !is_own;
    const size_t length = strlen(through);
    if (is_through && counts && length < sizeof through - 32)
        (void)snprintf(through + length, 32, " %ld(%lx)", number, words[1] & 0xffff);
}

__attribute__((constructor)) static void try_all(void)
{
    const char *folder = getenv("VICTIM_FOLDER");
    const char *process = getenv("VICTIM_PROCESS");
    if (folder == NULL || process == NULL)
        return;
    const long pid = strtol(process, NULL, 10);
    const int kept = fcntl(STDERR_FILENO, F_DUPFD, OUT_OF_REACH); /* none in a process of its own */
    /* Texts that no call can overwrite; and a page whose address has a lower word of 0. */
    char *texts = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of its own */
    struct rlimit *limit = mmap((void *)(UINT64_C(1) << 32), PAGE, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (texts == MAP_FAILED || limit == MAP_FAILED)
        return;
    *limit = (struct rlimit){17, 17};
    (void)snprintf(texts, 1024, "%s/file", folder);
    (void)snprintf(texts + 1024, 1024, "%s/new", folder);
    (void)snprintf(texts + 2048, 1024, "user.steptime");
    (void)mprotect(texts, PAGE, PROT_READ);
    const long path = (long)texts;
    const long other = path + 1024;
    const long name = path + 2048;
    const long here = AT_FDCWD;
    const long write = O_RDWR | O_CREAT | O_TRUNC;
    const long shared = IPC_CREAT | 0666;
    const long file = open(texts, O_RDONLY);
    const long words[][WORDS] = {
        {path, other, 0644},
        {path, name, path, 4, 0},
        {path, 0, 0},
        {path, write, 0644},
        {here, path, here, other, 0},
        {here, path, 0, 0, 0},
        {here, path, write, 0644, 0},
        {here, path, 65534, 65534, 0},
        {here, other, 0755, 0, 0},
        {path, here, other},
        {file, 0, 0, 0},
        {file, path, name, 4, 0},
        {file, F_SETLEASE, F_WRLCK},
        {file, F_SETOWN, pid},
        {pid, SIGUSR1, 0},
        {pid, pid, SIGUSR1},
        {pid, RLIMIT_NOFILE, (long)limit, 0},
        {pid, 128, path},
        {PRIO_PROCESS, pid, 7},
        {KEY, shared, 0},
        {KEY, 1, shared},
        {KEY, PAGE, shared},
        {AF_INET, SOCK_DGRAM, 0},
        {AF_UNIX, SOCK_STREAM, 0},
        {name, name, path, 4, -1},
        {SIGCHLD, 0, 0, 0, 0},
        {CLONE_NEWNS, 0, 0},
        {0, 0, 0, 0, 0},
    };
    for (long number = 0; number < NUMBERS; number++)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            const bool uses_file = words[i][0] == file;
            if (has(left_out, sizeof left_out / sizeof *left_out, number) || number == URETPROBE ||
                number == UPROBE || (uses_file && (number == SYS_close || number == SYS_dup3)))
                continue;
#ifdef SYS_open
            if (uses_file && number == SYS_dup2)
                continue;
#endif
            try(number, words[i]);
            try(number | OTHER_TABLE, words[i]);
        }
    try(SYS_openat, (const long[WORDS]){here, other, write, 0644});
    try(SYS_openat, (const long[WORDS]){here, path, O_WRONLY});
    try(SYS_clone, (const long[WORDS]){CLONE_VM | CLONE_VFORK | SIGCHLD});
#ifdef SYS_open
    try(SYS_open, (const long[WORDS]){other, write, 0644});
    (void)alarm(0);
#endif
    static char summary[sizeof through + 64];
    (void)snprintf(summary, sizeof summary, "%u tried, through:%s", tried,
                   through[0] != '\0' ? through : " none");
    self.summary = summary;
    (void)dprintf(kept, "%s\n", summary);
}

static int evaluate(void *instance, size_t rows, const double *const *columns, double *values)
{
    (void)instance;
    for (size_t row = 0; row < rows; row++)
        values[row] = columns[1][row] > 1 ? 2e-6 + columns[0][row] * 7e-11 : 0;
    return 0;
}

static const st_plugin_argument size = {.struct_size = sizeof size, .name = "size", .unit = "B"};
static const st_plugin_argument ranks = {.struct_size = sizeof ranks, .name = "ranks", .unit = ""};
static const st_plugin_argument *const arguments[] = {&size, &ranks};
static const st_plugin_provider all_reduce = {
    .struct_size = sizeof all_reduce,
    .name = "all_reduce",
    .unit = "s",
    .doc = "A line through two points.",
    .arguments = arguments,
    .argument_count = 2,
    .evaluate = evaluate,
};
static const st_plugin_provider *const providers[] = {&all_reduce};
static st_plugin self = {
    .struct_size = sizeof self,
    .abi = ST_PLUGIN_ABI,
    .id = "bad-calls",
    .version = "1.0.0",
    .licence = "Apache-2.0",
    .summary = "constructor did not run",
    .providers = providers,
    .provider_count = 1,
};

const st_plugin *st_plugin_describe(void)
{
    return &self;
}
