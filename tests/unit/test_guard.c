/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of foreign code: what they change is put back, what the program around changes stays. */
#include "base_support.h"

#include "base/guard.h"
#include "base/lists.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPEN_FILES = 93, FEWER_FILES = 61, MINUTES = 45 };

static void set_open_files(rlim_t count)
{
    struct rlimit now;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    now.rlim_cur = count;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
}

static rlim_t open_files(void)
{
    struct rlimit now;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    return now.rlim_cur;
}

static void set_timer(time_t minutes)
{
    const struct itimerval some = {.it_value.tv_sec = 60 * minutes};
    assert_int_equal(setitimer(ITIMER_REAL, &some, NULL), 0);
}

static bool timer_is_set(void)
{
    struct itimerval now;
    assert_int_equal(getitimer(ITIMER_REAL, &now), 0);
    return now.it_value.tv_sec > 0;
}

static void hold(int how, int number)
{
    sigset_t one;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    assert_int_equal(pthread_sigmask(how, &one, NULL), 0);
}

static bool is_held(int number)
{
    sigset_t now;
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
    return sigismember(&now, number) == 1;
}

static void change_nothing(void)
{
}

static void change_all(void)
{
    set_open_files(FEWER_FILES);
    set_timer(MINUTES);
    hold(SIG_BLOCK, SIGTERM);
}

static void call(const char *who, void (*deed)(void))
{
    st_guard guard;
    st_guard_begin(&guard, who, "evaluate", true);
    deed();
    st_guard_end(&guard);
}

/* As the program was before: no timer, no signal of these held, its own limit. */
static void leave(rlim_t files)
{
    set_timer(0);
    hold(SIG_UNBLOCK, SIGHUP);
    hold(SIG_UNBLOCK, SIGTERM);
    set_open_files(files);
}

static size_t reports(void)
{
    st_errors *errors = st_errors_create();
    assert_non_null(errors);
    assert_int_equal(st_guard_tell(errors), ST_OK);
    size_t count = st_errors_count(errors, ST_SEVERITY_WARNING);
    st_errors_destroy(errors);
    return count;
}

static int lowered;

static void lower_one(void)
{
    struct rlimit now;
    assert_int_equal(getrlimit(lowered, &now), 0);
    now.rlim_cur = (now.rlim_cur == RLIM_INFINITY ? (rlim_t)1 << 46 : now.rlim_cur) / 2;
    assert_int_equal(setrlimit(lowered, &now), 0);
}

TEST(each_limit_is_raised_again)
{
    static const int all[] = {RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CPU,  RLIMIT_AS,
                              RLIMIT_DATA,  RLIMIT_STACK,  RLIMIT_NPROC};
    for (size_t i = 0; i < ST_COUNT(all); i++) {
        struct rlimit old;
        struct rlimit now;
        lowered = all[i];
        assert_int_equal(getrlimit(lowered, &old), 0);
        call("plugin 'low'", lower_one);
        assert_int_equal(getrlimit(lowered, &now), 0);
        assert_true(now.rlim_cur == old.rlim_cur);
    }
    assert_int_equal(reports(), 1);
}

TEST(what_the_program_changes_between_calls_stays)
{
    rlim_t files = open_files();
    set_open_files(FEWER_FILES);
    st_guard_remember();
    call("plugin 'innocent'", change_nothing);
    set_open_files(OPEN_FILES);
    set_timer(MINUTES);
    hold(SIG_BLOCK, SIGHUP);
    call("plugin 'innocent'", change_nothing);
    assert_int_equal(reports(), 0);
    assert_int_equal(open_files(), OPEN_FILES);
    assert_true(timer_is_set());
    assert_true(is_held(SIGHUP));
    set_open_files(FEWER_FILES);
    set_timer(0);
    hold(SIG_UNBLOCK, SIGHUP);
    call("plugin 'innocent'", change_nothing);
    assert_int_equal(reports(), 0);
    assert_int_equal(open_files(), FEWER_FILES);
    assert_false(timer_is_set());
    assert_false(is_held(SIGHUP));
    leave(files);
}

TEST(what_a_call_changes_is_put_back)
{
    enum { DEEDS = 3 };
    rlim_t files = open_files();
    st_guard_remember();
    set_open_files(OPEN_FILES);
    hold(SIG_BLOCK, SIGHUP);
    call("plugin 'guilty'", change_all);
    assert_int_equal(open_files(), OPEN_FILES);
    assert_false(timer_is_set());
    assert_true(is_held(SIGHUP));
    assert_false(is_held(SIGTERM));
    assert_int_equal(reports(), DEEDS);
    assert_int_equal(reports(), 0);
    leave(files);
}

static void *work_with_held_signals(void *kept)
{
    hold(SIG_BLOCK, SIGTERM);
    call("plugin 'on a thread'", change_nothing);
    *(bool *)kept = is_held(SIGTERM);
    return NULL;
}

TEST(threads_hold_their_own_signals)
{
    pthread_t thread;
    bool kept = false;
    st_guard_remember();
    assert_int_equal(pthread_create(&thread, NULL, work_with_held_signals, &kept), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(kept);
    assert_false(is_held(SIGTERM));
    assert_int_equal(reports(), 0);
}

/* ---- one deed at a time ---------------------------------------------------------------------- */

static void round_up(void)
{
    (void)fesetround(FE_UPWARD);
}

static void leave_folder(void)
{
    assert_int_equal(chdir("/"), 0);
}

static void open_to_all(void)
{
    (void)umask(S_IWOTH);
}

static void ignore_signal(void)
{
    (void)signal(SIGXFSZ, SIG_IGN);
}

static void set_locale(void)
{
    (void)setlocale(LC_ALL, "C.UTF-8");
}

static void set_interval(void)
{
    const struct itimerval some = {.it_interval.tv_usec = 2385, .it_value.tv_sec = 7200};
    assert_int_equal(setitimer(ITIMER_PROF, &some, NULL), 0);
}

static bool is_as_before(const char *folder)
{
    char now[512];
    struct itimerval timer;
    struct sigaction action;
    mode_t mask = umask(S_IRWXO);
    (void)umask(mask);
    return fegetround() == FE_TONEAREST && mask == (S_IWGRP | S_IWOTH) &&
           getcwd(now, sizeof now) != NULL && strcmp(now, folder) == 0 &&
           strcmp(setlocale(LC_ALL, NULL), "C") == 0 && sigaction(SIGXFSZ, NULL, &action) == 0 &&
           action.sa_handler == SIG_DFL && getitimer(ITIMER_PROF, &timer) == 0 &&
           timer.it_value.tv_sec == 0;
}

TEST(each_deed_is_told_by_its_name)
{
    static const struct {
        const char *who;
        void (*deed)(void);
        const char *text; /* NULL: not told */
    } cases[] = {
        {"plugin 'round'", round_up, "changed floating-point rounding or traps"},
        {"plugin 'folder'", leave_folder, "changed the working folder"},
        {"plugin 'umask'", open_to_all, "changed the umask"},
        {"plugin 'handler'", ignore_signal, "changed signal handlers"},
        {"plugin 'interval'", set_interval, "set a timer"},
        {"plugin 'good'", change_nothing, NULL},
        {"plugin 'locale'", set_locale, "changed the locale"},
        {"plugin 'umask'", open_to_all, NULL}, /* once for each */
    };
    char folder[512];
    st_errors *errors = st_errors_create();
    (void)state;
    bool has_locale = setlocale(LC_ALL, "C.UTF-8") != NULL;
    assert_non_null(setlocale(LC_ALL, "C"));
    assert_non_null(getcwd(folder, sizeof folder));
    assert_string_not_equal(folder, "/");
    mode_t mask = umask(S_IWGRP | S_IWOTH);
    st_guard_remember();
    for (size_t i = 0; i < COUNT(cases); i++) {
        char expected[160] = "";
        if (cases[i].deed == set_locale && !has_locale)
            continue;
        call(cases[i].who, cases[i].deed);
        if (cases[i].text != NULL)
            (void)snprintf(expected, sizeof expected,
                           "warning: %s %s in 'evaluate'; steptime restored it\n", cases[i].who,
                           cases[i].text);
        assert_int_equal(st_guard_tell(errors), ST_OK);
        assert_string_equal(said(errors), expected);
        if (!is_as_before(folder))
            fail_msg("%s is not put back", cases[i].who);
    }
    (void)umask(mask);
    st_errors_destroy(errors);
}

/* What costs system calls is looked at by thorough calls, and at the latest when all is told. */
TEST(what_is_not_looked_at_is_put_back_in_the_end)
{
    char folder[512];
    char now[512];
    st_guard guard;
    st_errors *errors = st_errors_create();
    (void)state;
    assert_non_null(getcwd(folder, sizeof folder));
    st_guard_remember();
    st_guard_begin(&guard, "plugin 'late'", "evaluate", false);
    leave_folder();
    round_up();
    st_guard_end(&guard);
    assert_string_equal(getcwd(now, sizeof now), "/");
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_int_equal(st_guard_tell(errors), ST_OK);
    assert_string_equal(getcwd(now, sizeof now), folder);
    assert_string_equal(said(errors), "warning: plugin 'late' changed floating-point rounding or "
                                      "traps in 'evaluate'; steptime restored it\n");
    st_errors_destroy(errors);
}

TEST(calls_may_be_inside_of_calls)
{
    st_guard outer;
    st_guard inner;
    const char *who = NULL;
    const char *what = NULL;
    (void)state;
    assert_false(st_guard_running(&who, &what));
    st_guard_begin(&outer, "plugin 'outer'", "open", false);
    st_guard_begin(&inner, "plugin 'inner'", "evaluate", false);
    assert_true(st_guard_running(&who, &what));
    assert_string_equal(who, "plugin 'inner'");
    assert_string_equal(what, "evaluate");
    st_guard_end(&inner);
    assert_true(st_guard_running(&who, &what));
    assert_string_equal(who, "plugin 'outer'");
    assert_string_equal(what, "open");
    st_guard_end(&outer);
    assert_false(st_guard_running(&who, &what));
}

TEST(standard_output_has_three_names)
{
    assert_true(st_guard_is_stdout("/dev/stdout"));
    assert_true(st_guard_is_stdout("/dev/fd/1"));
    assert_true(st_guard_is_stdout("/proc/self/fd/1"));
    assert_false(st_guard_is_stdout("/dev/fd/11"));
    assert_false(st_guard_is_stdout("/dev/stderr"));
}

/* ---- in a process of its own ----------------------------------------------------------------- */

/* The status of a child that does this, and what it wrote to both streams. */
static int status_of(bool (*work)(void), char *text, size_t size)
{
    int ends[2];
    int status = 0;
    size_t filled = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        _exit(work() ? 23 : 3);
    }
    (void)close(ends[1]);
    for (ssize_t length = 1; length > 0; filled += (size_t)length) {
        length = read(ends[0], text + filled, size - 1 - filled);
        assert_true(length >= 0);
    }
    text[filled] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool exit_in_a_call(void)
{
    st_guard guard;
    st_guard_begin(&guard, "plugin 'rude'", "open", true);
    exit(0);
}

static void *end_thread_in_a_call(void *context)
{
    st_guard guard;
    st_guard_begin(&guard, "plugin 'rude'", "all_reduce", true);
    return context;
}

static bool end_a_thread(void)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, end_thread_in_a_call, NULL);
    (void)pthread_join(thread, NULL);
    return true;
}

static bool accuse(void)
{
    st_errors *errors = st_errors_create();
    st_guard_accuse("plugin 'a'", "open");
    st_guard_accuse_ended("plugin 'b'", "reduce", "it crashes");
    st_guard_accuse_ended("plugin 'b'", "gather", "told before");
    st_guard_accuse_ended("plugin 'c'", "reduce", NULL);
    bool good = st_guard_tell(errors) == ST_ERR_PROVIDER;
    st_errors_write(errors, stderr);
    st_errors_clear(errors);
    good = good && st_guard_tell(errors) == ST_ERR_PROVIDER && st_errors_size(errors) == 0;
    st_errors_destroy(errors);
    return good;
}

static void close_streams(void)
{
    (void)close(st_guard_stdout());
    (void)close(STDERR_FILENO);
    (void)close(STDOUT_FILENO);
    for (int i = 0; i < 3; i++)
        (void)!open("/dev/null", O_WRONLY | O_CLOEXEC);
}

static bool keep_streams(void)
{
    st_errors *errors = st_errors_create();
    st_guard_stdout_aside();
    if (st_guard_stdout() <= STDERR_FILENO)
        return false;
    st_guard_remember();
    call("plugin 'close'", close_streams);
    (void)!write(st_guard_stdout(), "result\n", 7);
    (void)!write(STDOUT_FILENO, "word\n", 5);
    bool good = st_guard_tell(errors) == ST_OK;
    st_errors_write(errors, stderr);
    st_errors_destroy(errors);
    return good && st_guard_stdout_close() == 0 && fcntl(st_guard_stdout(), F_GETFD) < 0;
}

TEST(ends_and_accusations_are_told)
{
    static const struct {
        bool (*work)(void);
        int status;
        const char *text;
    } cases[] = {
        {exit_in_a_call, 1, "error: plugin 'rude' ends the program in 'open'\n"},
        {end_a_thread, 1, "error: plugin 'rude' ends its thread in 'all_reduce'\n"},
        {accuse, 23,
         "error: plugin 'a' wrote to its arguments in 'open': all results of this run are invalid\n"
         "error: plugin 'b' ended its process or was killed in 'reduce' (it crashes): all results "
         "of this run are invalid\n"
         "error: plugin 'c' ended its process or was killed in 'reduce': all results of this run "
         "are invalid\n"},
        {keep_streams, 23,
         "result\n"
         "word\n"
         "warning: plugin 'close' closed or replaced standard streams in 'evaluate'; steptime "
         "restored it\n"},
    };
    char text[2048];
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(status_of(cases[i].work, text, sizeof text), cases[i].status);
        assert_string_equal(text, cases[i].text);
    }
}

TESTS(guard);
