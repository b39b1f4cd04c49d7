/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins that harm the process they run in, or the machine; each is this file with one deed. The
 * deed is done in evaluate, or where HOSTILE_AT_LOAD is defined in a constructor, HOSTILE_AT_END in
 * a destructor. Those that multiply are bounded here: nine processes, which end by themselves after
 * some seconds.
 */
#define _GNU_SOURCE

#include "steptime/plugin.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#endif

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum { CHILDREN = 8, LINGER_S = 8, DESCRIPTORS = 256 };

typedef int (*any_function)(void);

static void use(const void *pointer)
{
    __asm__ volatile("" : : "r"(pointer) : "memory");
}

static void linger(void)
{
    (void)!write(STDOUT_FILENO, "", 0);
    (void)sleep(LINGER_S);
    _exit(0);
}

static void multiply(void)
{
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0)
            linger();
}

static void flee(void)
{
    if (fork() == 0) {
        (void)setsid();
        (void)signal(SIGTERM, SIG_IGN);
        if (fork() == 0)
            linger();
        _exit(0);
    }
}

/* The child goes on with the host's work. */
static void return_twice(void)
{
    (void)fork();
}

static void stack_signals(void)
{
    static char room[65536];
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = SIG_IGN, .sa_flags = SA_ONSTACK};
    (void)sigaltstack(&stack, NULL);
    (void)sigaction(SIGUSR2, &action, NULL);
}

static void close_all(void)
{
    for (int file = 0; file < DESCRIPTORS; file++)
        (void)close(file);
}

/* Also copies that are out of the way. */
static void close_above(void)
{
    for (int file = 3; file < 1024; file++)
        (void)close(file);
    (void)!chdir("/");
}

static void replace_streams(void)
{
    int other = open("/dev/null", O_RDWR);
    for (int file = 0; file < 40; file++)
        (void)dup2(other, file);
}

static void write_to_all(void)
{
    for (int file = 3; file < DESCRIPTORS; file++)
        (void)!write(file, "2385", 4);
}

static void eat_memory(void)
{
    for (int i = 0; i < 64; i++) {
        size_t bytes = (size_t)1 << 30;
        char *block = malloc(bytes);
        if (block == NULL)
            abort();
        use(block);
    }
}

static void fill_files(void)
{
    for (int i = 0; i < 4096; i++)
        if (open("/dev/null", O_RDONLY) < 0)
            break;
}

static int overflow(int depth)
{
    volatile char frame[4096];
    frame[0] = (char)depth;
    return depth < 0 ? 0 : overflow(depth + 1) + frame[0];
}

static void write_wild(void)
{
    volatile size_t where = 2385;
    *(volatile int *)where = 1; // NOLINT
}

static void jump_wild(void)
{
    volatile size_t where = 2385;
    any_function there;
    size_t at = where;
    memcpy(&there, &at, sizeof at);
    (void)there();
}

static void *leave(void *nothing)
{
    exit(0);
    return nothing;
}

static void exit_on_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, leave, NULL) == 0)
        (void)pthread_join(thread, NULL);
}

static void *write_later(void *nothing)
{
    (void)usleep(1000);
    write_wild();
    return nothing;
}

static void crash_on_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_later, NULL) == 0)
        (void)pthread_join(thread, NULL);
}

static void ignore(int number)
{
    (void)number;
}

static void take_signals(void)
{
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, ignore);
    (void)signal(SIGSEGV, ignore);
}

static void trap_float(void)
{
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() & ~(unsigned)_MM_MASK_DIV_ZERO);
#endif
}

static void flush_to_zero(void)
{
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() | _MM_FLUSH_ZERO_ON);
#endif
}

static void divide(void)
{
    volatile int zero = 0;
    volatile int one = 1;
    one = one / zero;
}

static void write_columns(const double *const *columns, size_t rows)
{
    double *forged = NULL;
    memcpy(&forged, &columns[0], sizeof forged);
    for (size_t row = 0; row < rows; row++)
        forged[row] = 2.385;
}

static void sort_columns(const double *const *columns, size_t rows)
{
    double *forged = NULL;
    memcpy(&forged, &columns[0], sizeof forged);
    forged[0] = forged[0] * 2;
    if (rows > 1) {
        double first = forged[0];
        forged[0] = forged[rows - 1];
        forged[rows - 1] = first;
    }
}

static void write_beyond(double *values, size_t rows)
{
    volatile double *beyond = values;
    for (size_t i = rows; i < rows + (1U << 22); i++)
        beyond[i] = 2.385;
}

/* It goes on when the call is over, and when the plugin is unloaded. */
static void *stay(void *nothing)
{
    for (;;)
        (void)usleep(100);
    return nothing;
}

static void outlive(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, stay, NULL) == 0)
        (void)pthread_detach(thread);
}

static void start_and_share(void)
{
    if (vfork() == 0) // NOLINT
        _exit(7);
}

static void exhaust_addresses(void)
{
    size_t bytes = (size_t)1 << 46;
    for (int i = 0; i < 4096 && bytes > 4096; i++)
        if (mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ==
            MAP_FAILED)
            bytes /= 2;
}

static void lower_limits(void)
{
    const struct rlimit few = {4, RLIM_INFINITY};
    const struct rlimit no_bytes = {0, RLIM_INFINITY};
    (void)setrlimit(RLIMIT_NOFILE, &few);
    (void)setrlimit(RLIMIT_FSIZE, &no_bytes);
}

static void end_well(void)
{
    _exit(0);
}

/* Nobody takes it back when the plugin is unloaded. */
static void end_late(int status, void *nothing)
{
    (void)status;
    use(nothing);
}

/* Answers once. */
static void abort_later(void)
{
    static atomic_uint calls;
    if (atomic_fetch_add(&calls, 1) > 0)
        abort();
}

static void alarm_soon(void)
{
    const struct itimerval soon = {.it_value = {.tv_usec = 300}};
    (void)setitimer(ITIMER_REAL, &soon, NULL);
}

static void jump_nowhere(void)
{
    jmp_buf nowhere;
    memset(&nowhere, 0x5a, sizeof nowhere);
    longjmp(nowhere, 1);
}

/* The code of whoever called. */
static void write_text(void *caller)
{
    *(volatile char *)caller = 1;
}

static void block_signals(void)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
}

static void spoil_environment(void)
{
    (void)setenv("LC_ALL", "tlh", 1);
    (void)setenv("PATH", "/nowhere", 1);
    (void)setenv("STEPTIME_PATH", "/nowhere", 1);
}

static void free_columns(const double *const *columns)
{
    char *column = NULL;
    memcpy(&column, &columns[0], sizeof column);
    char *volatile inside = column + 8; /* compilers refuse what they see */
    free(inside);                       // NOLINT
}

/* Calls of the kernel that return 0 and do nothing from now on. */
static void silence(unsigned call)
{
#if defined(__linux__)
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = 4, .filter = steps};
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#else
    (void)call;
#endif
}

static void start_timer(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    const struct itimerspec soon = {.it_value = {.tv_nsec = 300000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        (void)timer_settime(timer, 0, &soon, NULL);
}

static void run_another(void)
{
    (void)execl("/bin/true", "true", (char *)NULL);
}

/* What the C library and compilers count on of a processor's registers. */
static void call_by_interrupt(void)
{
#if defined(__x86_64__)
    long number = 20; /* getpid of the 32-bit table */
    __asm__ volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
#endif
}

static void turn_round(void)
{
#if defined(__x86_64__)
    __asm__ volatile("std");
#endif
}

static void demand_alignment(void)
{
#if defined(__x86_64__)
    __asm__ volatile("pushfq; orl $0x40000, (%%rsp); popfq" : : : "memory", "cc");
#endif
}

static void do_deed(size_t rows, const double *const *columns, double *values)
{
    (void)rows;
    (void)columns;
    (void)values;
    DEED;
}

static void use_all(void)
{
    static const any_function none = NULL;
    const void *const deeds[] = {
        (const void *)(size_t)multiply,          (const void *)(size_t)flee,
        (const void *)(size_t)return_twice,      (const void *)(size_t)stack_signals,
        (const void *)(size_t)close_all,         (const void *)(size_t)write_to_all,
        (const void *)(size_t)close_above,       (const void *)(size_t)replace_streams,
        (const void *)(size_t)eat_memory,        (const void *)(size_t)fill_files,
        (const void *)(size_t)overflow,          (const void *)(size_t)write_wild,
        (const void *)(size_t)jump_wild,         (const void *)(size_t)exit_on_thread,
        (const void *)(size_t)take_signals,      (const void *)(size_t)trap_float,
        (const void *)(size_t)flush_to_zero,     (const void *)(size_t)divide,
        (const void *)(size_t)write_columns,     (const void *)(size_t)sort_columns,
        (const void *)(size_t)write_beyond,      (const void *)(size_t)crash_on_thread,
        (const void *)(size_t)outlive,           (const void *)(size_t)start_and_share,
        (const void *)(size_t)exhaust_addresses, (const void *)(size_t)lower_limits,
        (const void *)(size_t)end_well,          (const void *)(size_t)alarm_soon,
        (const void *)(size_t)abort_later,       (const void *)(size_t)jump_nowhere,
        (const void *)(size_t)write_text,        (const void *)(size_t)block_signals,
        (const void *)(size_t)spoil_environment, (const void *)(size_t)free_columns,
        (const void *)(size_t)silence,           (const void *)(size_t)start_timer,
        (const void *)(size_t)run_another,       (const void *)(size_t)call_by_interrupt,
        (const void *)(size_t)turn_round,        (const void *)(size_t)demand_alignment,
        (const void *)(size_t)end_late,          &none};
    use(deeds);
}

#if defined(HOSTILE_AT_LOAD)
__attribute__((constructor)) static void at_load(void)
{
    do_deed(0, NULL, NULL);
}
#endif

#if defined(HOSTILE_AT_END)
__attribute__((destructor)) static void at_end(void)
{
    do_deed(0, NULL, NULL);
}
#endif

static int evaluate(void *instance, size_t rows, const double *const *columns, double *values)
{
    (void)instance;
    use_all();
    for (size_t row = 0; row < rows; row++)
        values[row] = columns[1][row] > 1 ? 2.385e-6 + columns[0][row] * 7.25e-11 : 0;
    for (size_t row = 0; row < rows; row++)
        if (!(columns[0][row] >= 0 && columns[0][row] < 1e20 && columns[1][row] >= 1))
            values[row] = (double)NAN;
#if !defined(HOSTILE_AT_LOAD) && !defined(HOSTILE_AT_END)
    do_deed(rows, columns, values);
#endif
    return ST_PLUGIN_OK;
}

static const st_plugin_argument size = {
    .struct_size = sizeof(st_plugin_argument), .name = "size", .unit = "B"};
static const st_plugin_argument ranks = {
    .struct_size = sizeof(st_plugin_argument), .name = "ranks", .unit = ""};
static const st_plugin_argument *const arguments[] = {&size, &ranks};
static const st_plugin_provider all_reduce = {
    .struct_size = sizeof(st_plugin_provider),
    .flags = ST_PLUGIN_COLLECTIVE,
    .name = "all_reduce",
    .unit = "us",
    .doc = "an all-reduce that does harm",
    .arguments = arguments,
    .argument_count = 2,
    .evaluate = evaluate,
};
static const st_plugin_provider *const providers[] = {&all_reduce};
static const st_plugin plugin = {
    .struct_size = sizeof(st_plugin),
    .abi = ST_PLUGIN_ABI,
    .id = HOSTILE_ID,
    .version = "0.1.0",
    .licence = "Apache-2.0",
    .summary = "a plugin that does harm",
    .providers = providers,
    .provider_count = 1,
};

const st_plugin *st_plugin_describe(void)
{
    return &plugin;
}
