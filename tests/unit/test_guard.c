/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of foreign code: what they change is put back, what the program around changes stays. */
#include "base_support.h"

#include "base/guard.h"

#include <pthread.h>
#include <sys/time.h>

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

static void what_the_program_changes_between_calls_stays(void **state)
{
    (void)state;
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

static void what_a_call_changes_is_put_back(void **state)
{
    (void)state;
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

static void threads_hold_their_own_signals(void **state)
{
    (void)state;
    pthread_t thread;
    bool kept = false;
    st_guard_remember();
    assert_int_equal(pthread_create(&thread, NULL, work_with_held_signals, &kept), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(kept);
    assert_false(is_held(SIGTERM));
    assert_int_equal(reports(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_program_changes_between_calls_stays),
        cmocka_unit_test(what_a_call_changes_is_put_back),
        cmocka_unit_test(threads_hold_their_own_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
