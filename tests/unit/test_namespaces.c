/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process behind a keeper is kept from, tried without the filter of calls: each wall that is
 * reported stands, and where the system gives none, none is reported.
 */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier) */

#include "plugin/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* What the process behind the keeper found. */
typedef struct finding {
    unsigned walls;
    int of_write;  /* errno of opening a file for writing */
    int of_signal; /* errno of looking for the process of the test */
} finding;

static char path[] = "/tmp/steptime-walls-XXXXXX";

static void look_around(pid_t test, unsigned walls, int answer)
{
    finding found = {.walls = walls};
    errno = 0;
    int file = open(path, O_WRONLY);
    found.of_write = file < 0 ? errno : 0;
    errno = 0;
    found.of_signal = kill(test, 0) != 0 ? errno : 0;
    _exit(write(answer, &found, sizeof found) == (ssize_t)sizeof found ? 23 : 1);
}

TEST(walls_hold)
{
    int ends[2];
    finding found;
    int status = 0;
    unsigned walls = 0;
    pid_t test = getpid();
    assert_int_equal(pipe(ends), 0);
    pid_t keeper = st_namespaces_fork(&walls);
    assert_true(keeper >= 0);
    if (keeper == 0)
        look_around(test, walls, ends[1]);
    assert_int_equal(read(ends[0], &found, sizeof found), sizeof found);
    assert_int_equal(waitpid(keeper, &status, 0), keeper);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 23);
    assert_int_equal(found.of_write, (found.walls & ST_WALL_FILES) != 0 ? EROFS : 0);
    assert_int_equal(found.of_signal, (found.walls & ST_WALL_PROCESSES) != 0 ? ESRCH : 0);
    assert_int_equal(found.walls & ST_WALL_FILTER, 0);
    assert_true((found.walls & ST_WALL_USER) != 0 || found.walls == 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Runs `deed` behind a keeper; the status that the keeper ends with. */
static int status_of(void (*deed)(void))
{
    unsigned walls = 0;
    int status = 0;
    pid_t keeper = st_namespaces_fork(&walls);
    assert_true(keeper >= 0);
    if (keeper == 0) {
        deed();
        _exit(0);
    }
    assert_int_equal(waitpid(keeper, &status, WUNTRACED), keeper);
    if (WIFSTOPPED(status)) {
        int end = 0;
        st_namespaces_end(keeper, &end);
    }
    return status;
}

static void give_up(void)
{
    (void)signal(SIGABRT, SIG_DFL);
    abort();
}

static void kill_itself(void)
{
    (void)kill(getpid(), SIGKILL);
}

static void stop(void)
{
    (void)raise(SIGSTOP);
}

TEST(ends_are_passed_on)
{
    assert_int_equal(WTERMSIG(status_of(give_up)), SIGABRT);
    assert_int_equal(WTERMSIG(status_of(kill_itself)), SIGKILL);
    assert_true(WIFSTOPPED(status_of(stop)));
}

/* The descriptor that a process that has fled keeps open: its end is seen at the other one. */
static int kept_open;

static void flee(void)
{
    if (fork() != 0)
        return;
    (void)setsid();
    if (fork() != 0)
        _exit(0);
    (void)sleep(60);
    (void)!write(kept_open, "left", 4);
    _exit(0);
}

TEST(nothing_is_left)
{
    int ends[2];
    char text[8];
    unsigned walls = 0;
    int status = 0;
    assert_int_equal(pipe(ends), 0);
    kept_open = ends[1];
    pid_t keeper = st_namespaces_fork(&walls);
    assert_true(keeper >= 0);
    if (keeper == 0) {
        if ((walls & ST_WALL_PROCESSES) != 0) /* else it would be left */
            flee();
        _exit(0);
    }
    (void)close(ends[1]);
    assert_int_equal(waitpid(keeper, &status, 0), keeper);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], text, sizeof text), 0); /* would wait for a minute */
    (void)close(ends[0]);
}

TEST(is_ended_on_request)
{
    unsigned walls = 0;
    int status = 0;
    pid_t keeper = st_namespaces_fork(&walls);
    assert_true(keeper >= 0);
    if (keeper == 0) {
        (void)pause();
        _exit(0);
    }
    st_namespaces_end(keeper, &status);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(waitpid(keeper, NULL, 0), -1); /* it has been waited for */
}

/* Whoever stops a whole group, as a shell does, leaves nobody that could end the others. */
TEST(is_ended_where_all_are_stopped)
{
    unsigned walls = 0;
    int status = 0;
    pid_t keeper = st_namespaces_fork(&walls);
    assert_true(keeper >= 0);
    if (keeper == 0) {
        for (;;)
            (void)pause();
    }
    (void)usleep(100000); /* until it has a group, and its processes */
    assert_int_equal(kill(-keeper, SIGSTOP), 0);
    st_namespaces_end(keeper, &status);
    assert_true(WIFSIGNALED(status));
}

TEST(texts_name_what_holds)
{
    st_arena *arena = st_arena_create();
    assert_non_null(arena);
    assert_string_equal(st_walls_text(0, arena), "");
    assert_string_equal(st_walls_text(ST_WALL_FILTER | ST_WALL_LANDLOCK, arena),
                        "filtered system calls, locked files and ports");
    assert_string_equal(st_walls_text(ST_WALL_FILTER | ST_WALL_USER | ST_WALL_NETWORK, arena),
                        "filtered system calls, no network, no root privileges");
    st_arena_destroy(arena);
}

static int make_file(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

TESTS_WITH(namespaces, make_file, remove_file);
