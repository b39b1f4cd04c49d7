/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals that end the program. Whichever verb runs, temporary files go first; verbs that know a
 * result before they are done ask for a flag instead (cli_catch_interrupts).
 */
#define _GNU_SOURCE /* sigaltstack, syscall; NOLINT(bugprone-reserved-identifier) */

#include "command/stream.h"

#include "base/guard.h"
#include "base/scratch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

/* A sanitizer has handlers of its own. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_OWN_HANDLERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_OWN_HANDLERS 1
#endif
#endif
#ifndef HAS_OWN_HANDLERS
#define HAS_OWN_HANDLERS 0
#endif

/* A signal handler has no other way to leave word, or to know who may be in the middle of a file.
 */
static volatile sig_atomic_t catching;
static volatile sig_atomic_t interrupted;
static pthread_t main_thread;
static pid_t main_process; /* its children may end as they like */

static void say(const char *text)
{
    (void)!write(st_guard_messages(), text, strlen(text));
}

static void report(const char *who, const char *does, const char *what, const char *rest)
{
    say("error: ");
    say(who);
    say(does);
    say(what);
    say(rest);
}

static void report_running(void)
{
    const char *who = NULL;
    const char *what = NULL;
    if (st_guard_running(&who, &what))
        report(who, " was running in '", what, "'\n");
}

/* What it calls is a comparison of numbers, and unlink, open, rmdir and the like. */
/* NOLINTBEGIN(bugprone-signal-handler) */
static void end_by(int number)
{
    /* Only there is a signal held while a file gets its name. */
    if (pthread_equal(pthread_self(), main_thread) == 0) {
        (void)pthread_kill(main_thread, number);
        return;
    }
    if (catching != 0 && interrupted == 0) {
        interrupted = 1;
        return;
    }
    report_running();
    st_scratch_remove();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static const struct {
    int number;
    const char *text;
} crashes[] = {
    {SIGSEGV, "invalid memory access (SIGSEGV)"},
    {SIGBUS, "invalid memory access (SIGBUS)"},
    {SIGFPE, "division by zero (SIGFPE)"},
    {SIGILL, "invalid instruction (SIGILL)"},
    {SIGABRT, "abort (SIGABRT)"},
    {SIGALRM, "timer expired (SIGALRM)"},
    {SIGVTALRM, "timer expired (SIGVTALRM)"},
    {SIGPROF, "timer expired (SIGPROF)"},
    {SIGSYS, "refused system call (SIGSYS)"},
    {SIGTRAP, "trap (SIGTRAP)"},
    {SIGUSR1, "signal SIGUSR1"},
    {SIGUSR2, "signal SIGUSR2"},
    {SIGIO, "signal SIGIO"},
    {SIGQUIT, "signal SIGQUIT"},
#if defined(SIGPWR)
    {SIGPWR, "signal SIGPWR"},
#endif
#if defined(SIGSTKFLT)
    {SIGSTKFLT, "signal SIGSTKFLT"},
#endif
};

/* Whose code it was, then the end that the signal brings. */
static void crash(int number)
{
    const char *who = NULL;
    const char *what = NULL;
    const bool runs = st_guard_running(&who, &what);
    if (runs || st_guard_last(&who, &what)) {
        const char *why = "a signal that nobody expects";
        for (size_t i = 0; i < ST_COUNT(crashes); i++)
            why = crashes[i].number == number ? crashes[i].text : why;
        report(who, runs ? " crashes in '" : " ran last before the program ended, in '", what,
               "': ");
        say(why);
        say("\n");
    }
    st_scratch_remove();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}
/* NOLINTEND(bugprone-signal-handler) */

#if !HAS_OWN_HANDLERS && defined(SYS_exit_group)
/*
 * Plugins find this one before the C library's. A plugin that ends the process on the spot, which
 * runs no handlers, would make a run without a result look like a success.
 */
__attribute__((visibility("default"), noreturn)) void _exit(int status)
{
    const char *who = NULL;
    const char *what = NULL;
    if (getpid() == main_process && st_guard_running(&who, &what)) {
        report(who, " ends the program in '", what, "'\n");
        st_scratch_remove();
        status = 1;
    }
    for (;;)
        (void)syscall(SYS_exit_group, status);
}

/* The C library's ends the process at once and goes on in another; nothing here wants that. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) int daemon(int stay, int keep)
{
    (void)stay;
    (void)keep;
    errno = EPERM;
    return -1;
}
#endif

/* On a stack of its own: the other one may be what has run out. */
static void handle_crashes(void)
{
    static _Alignas(16) char own_stack[64 * 1024];
    const stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
    struct sigaction action = {.sa_handler = crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaltstack(&stack, NULL);
    for (size_t i = 0; i < ST_COUNT(crashes); i++) {
        struct sigaction old;
        if (sigaction(crashes[i].number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            (void)sigaction(crashes[i].number, &action, NULL);
    }
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        (void)sigaction(number, &action, NULL);
}

/* Whether main() has come to its end, before which only foreign code ends the program. */
static volatile sig_atomic_t finished;

static void check_finished(void)
{
    if (finished != 0)
        return;
    const char *who = NULL;
    const char *what = NULL;
    say("error: the program ended before its work was done");
    if (st_guard_last(&who, &what)) {
        say(": ");
        say(who);
        say(" ran last, in '");
        say(what);
        say("'");
    }
    say("\n");
    st_scratch_remove();
    _exit(1);
}

void cli_finish(void)
{
    finished = 1;
}

void cli_handle_signals(void)
{
    main_thread = pthread_self();
    main_process = getpid();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* writing fails then, as on a full disk */
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
    struct sigaction action = {.sa_handler = end_by};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ST_COUNT(numbers); i++) {
        struct sigaction old;
        bool ignored =
            sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN; /* as by nohup */
        if (!ignored)
            (void)sigaction(numbers[i], &action, NULL);
    }
    if (!HAS_OWN_HANDLERS)
        handle_crashes();
    (void)atexit(check_finished);
}

const volatile sig_atomic_t *cli_catch_interrupts(void)
{
    catching = 1;
    return &interrupted;
}

/* After a table, in the form's syntax for lines that are not rows. */
void cli_say_partial(const cli_run *run, uint64_t done, uint64_t total, st_buffer *text)
{
    unsigned long long known = done;
    unsigned long long all = total;
    if (run->common.json)
        st_buffer_printf(text, "{\"interrupted\": true, \"done\": %llu, \"of\": %llu}\n", known,
                         all);
    else
        st_buffer_printf(text, "# interrupted after %llu of %llu: the result is incomplete\n",
                         known, all);
}
