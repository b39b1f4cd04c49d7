/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See call_filter.h. The filter is a program of the kernel's, which compares number and arguments
 * of a call with the rules below, in their order. Numbers of other tables (x32) match none.
 */
#define _GNU_SOURCE /* CLONE_THREAD, registers of signals; NOLINT(bugprone-reserved-identifier) */

#include "plugin/call_filter.h"

#include "base/lists.h"

#include <string.h>
#include <sys/mman.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_MACHINE AUDIT_ARCH_X86_64
#else
#define OWN_MACHINE AUDIT_ARCH_AARCH64
#endif

/* Computing, memory, threads of its own, time, and reading. */
static const int allowed[] = {
    SYS_futex,
    SYS_read,
    SYS_write, /* to its wire alone: no other descriptor can be written to */
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_msync,
    SYS_membarrier,
    SYS_get_mempolicy,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_fstatfs,
    SYS_statfs,
    SYS_lseek,
    SYS_pread64,
    SYS_readv,
    SYS_preadv,
    SYS_writev,
    SYS_getdents64,
    SYS_getcwd,
    SYS_readlinkat,
    SYS_faccessat,
    SYS_fadvise64,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    SYS_eventfd2,
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
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
    SYS_umask, /* state of its own, as the next ones are */
    SYS_getitimer,
    SYS_setitimer,
    SYS_chdir,
    SYS_fchdir,
    SYS_uname,
    SYS_sysinfo,
    SYS_getrandom,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigpending,
    SYS_rt_sigreturn,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_set_tid_address,
    SYS_exit,
    SYS_exit_group,
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_close_range
    SYS_close_range,
#endif
#ifdef SYS_faccessat2
    SYS_faccessat2,
#endif
#ifdef SYS_open /* calls of x86-64 that newer machines lack */
    SYS_access,
    SYS_alarm,
    SYS_arch_prctl,
    SYS_dup2,
    SYS_epoll_create,
    SYS_epoll_wait,
    SYS_eventfd,
    SYS_getdents,
    SYS_getrlimit,
    SYS_lstat,
    SYS_pause,
    SYS_pipe,
    SYS_poll,
    SYS_readlink,
    SYS_select,
    SYS_stat,
    SYS_time,
#endif
};

/* Calls of newer kernels that the C library replaces by older ones where they are unknown. */
static const int unknown[] = {
    SYS_clone3, /* its flags lie in memory, where no filter sees them */
#ifdef SYS_openat2
    SYS_openat2,
#endif
};

/*
 * A call that is allowed where argument & mask == value. Of an argument that the kernel reads as 64
 * bits both words count; of others it ignores the upper one.
 */
typedef struct call_rule {
    int call;
    unsigned argument;
    uint64_t mask, value;
    bool is_wide;
} call_rule;

enum { CHANGES = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND };

/* A thread, and what the C library asks for with it; no new namespace, no other process. */
#define THREAD ((uint64_t)(CLONE_THREAD | CLONE_VM | CLONE_SIGHAND))
#define THREAD_DETAILS                                                                             \
    ((uint64_t)(CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |      \
                CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | CLONE_DETACHED))
#define WHOLE UINT64_MAX

static const call_rule rules[] = {
    {SYS_openat, 2, CHANGES, O_RDONLY, false},
#ifdef SYS_open
    {SYS_open, 1, CHANGES, O_RDONLY, false},
#endif
    {SYS_clone, 0, WHOLE & ~THREAD_DETAILS, THREAD, true},
    {SYS_prlimit64, 2, WHOLE, 0, true}, /* reads limits */
    {SYS_fcntl, 1, WHOLE, F_GETFD, false},
    {SYS_fcntl, 1, WHOLE, F_SETFD, false},
    {SYS_fcntl, 1, WHOLE, F_GETFL, false},
    {SYS_fcntl, 1, WHOLE, F_DUPFD, false},
    {SYS_fcntl, 1, WHOLE, F_DUPFD_CLOEXEC, false},
    {SYS_prctl, 0, WHOLE, PR_SET_NAME, false},
    {SYS_prctl, 0, WHOLE, PR_GET_NAME, false},
    {SYS_prctl, 0, WHOLE, PR_GET_SECCOMP, false},
#ifdef PR_SET_VMA
    {SYS_prctl, 0, WHOLE, PR_SET_VMA, false},
#endif
};

enum { MOST_STEPS = 1024 };

typedef struct filter {
    struct sock_filter steps[MOST_STEPS];
    unsigned short count;
} filter;

static void add(filter *code, struct sock_filter step)
{
    if (code->count < MOST_STEPS)
        code->steps[code->count++] = step;
}

static void load_word(filter *code, size_t offset)
{
    add(code, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

static void answer(filter *code, unsigned verdict)
{
    add(code, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

/* Skips steps unless the word is this one. */
static void unless(filter *code, unsigned word, size_t skipped)
{
    add(code,
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word, 0, (unsigned char)skipped));
}

static void add_call(filter *code, int call, unsigned verdict)
{
    unless(code, (unsigned)call, 1);
    answer(code, verdict);
}

/* Loads, masks and compares each word of the argument; all machines here are little-endian. */
static void add_rule(filter *code, const call_rule *rule)
{
    enum { STEPS_OF_WORD = 3 };
    const size_t words = rule->is_wide ? 2 : 1;
    const size_t at = offsetof(struct seccomp_data, args) + rule->argument * sizeof(uint64_t);
    size_t left = words * STEPS_OF_WORD + 1;
    unless(code, (unsigned)rule->call, left);
    for (size_t i = 0; i < words; i++) {
        left -= STEPS_OF_WORD;
        load_word(code, at + i * sizeof(uint32_t));
        add(code, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K,
                                               (unsigned)(rule->mask >> (32 * i))));
        unless(code, (unsigned)(rule->value >> (32 * i)), left);
    }
    answer(code, SECCOMP_RET_ALLOW);
    load_word(code, offsetof(struct seccomp_data, nr));
}

static st_refused_calls *refused_calls;

/* A call that was refused: as without the signal, and counted. */
static void count_refused(int number, siginfo_t *info, void *context)
{
    (void)number;
    ucontext_t *state = context;
    const unsigned call = (unsigned)info->si_syscall;
    refused_calls->counts[call < ST_REFUSED_CALLS ? call : ST_REFUSED_CALLS - 1]++;
#if defined(__x86_64__)
    state->uc_mcontext.gregs[REG_RAX] = -EPERM;
#else
    state->uc_mcontext.regs[0] = (unsigned long long)-EPERM;
#endif
}

bool st_call_filter_install(st_refused_calls *refused)
{
    const unsigned pid = (unsigned)getpid();
    const call_rule own[] = {{SYS_kill, 0, WHOLE, pid, false}, {SYS_tgkill, 0, WHOLE, pid, false}};
    filter code = {.count = 0};
    refused_calls = refused;
    if (refused != NULL) {
        struct sigaction action = {.sa_sigaction = count_refused, .sa_flags = SA_SIGINFO};
        if (sigaction(SIGSYS, &action, NULL) != 0)
            return false;
    }
    load_word(&code, offsetof(struct seccomp_data, arch));
    add(&code, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_MACHINE, 1, 0));
    answer(&code, SECCOMP_RET_KILL_PROCESS);
    load_word(&code, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < ST_COUNT(allowed); i++)
        add_call(&code, allowed[i], SECCOMP_RET_ALLOW);
    for (size_t i = 0; i < ST_COUNT(unknown); i++)
        add_call(&code, unknown[i], SECCOMP_RET_ERRNO | ENOSYS);
    for (size_t i = 0; i < ST_COUNT(rules); i++)
        add_rule(&code, &rules[i]);
    for (size_t i = 0; i < ST_COUNT(own); i++)
        add_rule(&code, &own[i]);
    answer(&code, refused != NULL ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | EPERM);
    const struct sock_fprog program = {.len = code.count, .filter = code.steps};
    return code.count < MOST_STEPS && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool st_call_filter_exists(void)
{
    const unsigned verdict = SECCOMP_RET_ERRNO;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &verdict) == 0;
}

static const struct {
    const char *name;
    unsigned call;
} names[] = {
#include "plugin/call_names.h"
};

static const char *name_of(unsigned call, st_arena *arena)
{
    for (size_t i = 0; i < ST_COUNT(names); i++)
        if (names[i].call == call)
            return st_arena_printf(arena, "%s%s", names[i].name,
                                   strcmp(names[i].name, "openat") == 0 ||
                                           strcmp(names[i].name, "open") == 0
                                       ? " to write"
                                       : "");
    return st_arena_printf(arena, "call %u", call);
}

#else

bool st_call_filter_install(st_refused_calls *refused)
{
    (void)refused;
    return false;
}

bool st_call_filter_exists(void)
{
    return false;
}

static const char *name_of(unsigned call, st_arena *arena)
{
    return st_arena_printf(arena, "call %u", call);
}

#endif

st_refused_calls *st_refused_calls_create(void)
{
    st_refused_calls *made =
        mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE,
             /* cppcheck-suppress invalidFunctionArg ; memory of no file has the number -1 */
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    return made;
}

void st_refused_calls_destroy(st_refused_calls *refused)
{
    if (refused != NULL)
        (void)munmap(refused, sizeof *refused);
}

const char *st_refused_text(const st_refused_calls *refused, st_arena *arena)
{
    const char *text = "";
    for (unsigned i = 0; i < ST_REFUSED_CALLS && text != NULL; i++) {
        const unsigned count = refused->counts[i];
        if (count == 0)
            continue;
        const char *name = name_of(i, arena);
        text = name == NULL
                   ? NULL
                   : st_arena_printf(arena, "%s%s%s", text, text[0] != '\0' ? ", " : "", name);
        if (text != NULL && count > 1)
            text = st_arena_printf(arena, "%s (%u times)", text, count);
    }
    return text;
}
