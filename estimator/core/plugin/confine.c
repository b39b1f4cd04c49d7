/* SPDX-License-Identifier: Apache-2.0 */
/* See confine.h. The filter is a program of the kernel's: what it does not name is allowed. */
#define _GNU_SOURCE /* syscall, CLONE_THREAD; NOLINT(bugprone-reserved-identifier) */

#include "plugin/confine.h"

#include "base/lists.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define HAS_FILTER 1
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
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

#if defined(__x86_64__)
#define OWN_MACHINE AUDIT_ARCH_X86_64
#else
#define OWN_MACHINE AUDIT_ARCH_AARCH64
#endif

/* Calls that are refused whatever their arguments are. */
static const int refused[] = {
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
    SYS_creat,
    SYS_unlink,
    SYS_rename,
    SYS_mkdir,
    SYS_rmdir,
    SYS_link,
    SYS_symlink,
    SYS_chmod,
    SYS_chown,
    SYS_mknod,
#endif
    SYS_execve,
    SYS_execveat,
    SYS_unlinkat,
    SYS_renameat2,
    SYS_mkdirat,
    SYS_linkat,
    SYS_symlinkat,
    SYS_fchmodat,
    SYS_fchownat,
    SYS_fchmod,
    SYS_fchown,
    SYS_mknodat,
    SYS_truncate,
    SYS_ftruncate,
    SYS_socket,
    SYS_socketpair,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_setsid,
    SYS_setpgid,
    SYS_mount,
    SYS_umount2,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_keyctl,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_shmget,
    SYS_msgget,
    SYS_io_uring_setup,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
};

enum { MOST_RULES = 256 };

typedef struct filter {
    struct sock_filter rules[MOST_RULES];
    unsigned short count;
} filter;

static void add(filter *code, struct sock_filter rule)
{
    if (code->count < MOST_RULES)
        code->rules[code->count++] = rule;
}

static void load_word(filter *code, size_t offset)
{
    add(code, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

static void answer(filter *code, unsigned verdict)
{
    add(code, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

/* Refuses a call with an error. */
static void refuse(filter *code, int call, int fault)
{
    add(code, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1));
    answer(code, SECCOMP_RET_ERRNO | (unsigned)fault);
}

/* Low word of an argument; all machines here are little-endian. */
static size_t place_of(unsigned argument)
{
    return offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t);
}

/* Refuses a call where an argument has any of some bits (`bits`), or lacks all of them. */
static void refuse_bits(filter *code, int call, unsigned argument, unsigned bits, bool has)
{
    enum { RULES = 4 };
    add(code, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, RULES));
    load_word(code, place_of(argument));
    add(code,
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, has ? 0 : 1, has ? 1 : 0));
    answer(code, SECCOMP_RET_ERRNO | EPERM);
    answer(code, SECCOMP_RET_ALLOW);
}

/* Refuses signals to others. */
static void refuse_others(filter *code, int call)
{
    enum { RULES = 4 };
    add(code, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, RULES));
    load_word(code, place_of(0));
    add(code, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)getpid(), 1, 0));
    answer(code, SECCOMP_RET_ERRNO | EPERM);
    answer(code, SECCOMP_RET_ALLOW);
}

/* Refuses a request of ioctl; the kernel reads its low word alone. */
static void refuse_request(filter *code, unsigned request)
{
    enum { RULES = 4 };
    add(code, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, RULES));
    load_word(code, place_of(1));
    add(code, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, request, 0, 1));
    answer(code, SECCOMP_RET_ERRNO | EPERM);
    load_word(code, offsetof(struct seccomp_data, nr));
}

static bool install_filter(void)
{
    enum { WRITES = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC };
    filter code = {.count = 0};
    load_word(&code, offsetof(struct seccomp_data, arch));
    add(&code, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_MACHINE, 1, 0));
    answer(&code, SECCOMP_RET_KILL_PROCESS);
    load_word(&code, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < ST_COUNT(refused); i++)
        refuse(&code, refused[i], EPERM);
    refuse(&code, SYS_clone3, ENOSYS); /* its flags lie in memory; the C library falls back */
#ifdef SYS_openat2
    refuse(&code, SYS_openat2, ENOSYS);
#endif
    refuse_bits(&code, SYS_prlimit64, 2, UINT32_MAX, true); /* reading them is fine */
    refuse_bits(&code, SYS_clone, 0, CLONE_THREAD, false);
#ifdef SYS_open
    refuse_bits(&code, SYS_open, 1, WRITES, true);
#endif
    refuse_bits(&code, SYS_openat, 2, WRITES, true);
    refuse_request(&code, TIOCSTI); /* types into a terminal, for root into any */
    refuse_request(&code, TIOCLINUX);
    refuse_others(&code, SYS_kill);
    refuse_others(&code, SYS_tgkill);
    refuse(&code, SYS_tkill, EPERM);
    answer(&code, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {.len = code.count, .filter = code.rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#else

static bool install_filter(void)
{
    return false;
}

#endif

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

bool st_confine(const st_confine_limits *limits)
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
    return install_filter();
}
