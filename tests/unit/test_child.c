/* SPDX-License-Identifier: Apache-2.0 */
/* Work in a child process: what comes back, and what is said of one that gives no answer. */
#include "plugin/child.h"
#include "plugin/namespaces.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { LONG_TEXT = 23850 }; /* several reads of a pipe */

static const st_child_limits limits = {20000, 0, NULL};
static const st_child_limits short_limits = {150, 0, NULL};

static void answer(void *context, st_buffer *text)
{
    st_buffer_text(text, context);
}

static void answer_at_length(void *context, st_buffer *text)
{
    (void)context;
    for (size_t i = 0; i < LONG_TEXT; i++)
        st_buffer_append(text, i % 2 == 0 ? "a" : "\0", 1);
}

static void crash(void *context, st_buffer *text)
{
    (void)context;
    st_buffer_text(text, "lost");
    (void)raise(SIGUSR2);
    abort();
}

static void leave(void *context, st_buffer *text)
{
    const int *code = context;
    st_buffer_text(text, "lost");
    _exit(*code);
}

static void loop(void *context, st_buffer *text)
{
    (void)context;
    (void)text;
    for (;;)
        (void)pause();
}

/* Answers for the one who was asked, on every descriptor that is open. */
static void forge(void *context, st_buffer *text)
{
    static const char lie[] = "0123456789abcdef01234567all is well\x04";
    (void)context;
    (void)text;
    for (int file = 3; file < 256; file++)
        (void)!write(file, lie, sizeof lie - 1);
    _exit(0);
}

/* Whether a descriptor of the caller is open; whether more files can be opened than any plugin
 * needs, and a byte be written to one. */
static void try_files(void *context, st_buffer *text)
{
    enum { MANY = 1000 };
    struct rlimit bytes = {1, 1};
    int opened = 0;
    const bool is_open = fcntl(*(const int *)context, F_GETFD) >= 0;
    while (opened < MANY && open("/dev/null", O_RDONLY) >= 0)
        opened++;
    (void)getrlimit(RLIMIT_FSIZE, &bytes);
    st_buffer_text(text, is_open ? "open" : "closed");
    st_buffer_text(text, opened > 0 && opened < MANY ? ", limited" : ", unlimited");
    st_buffer_text(text, bytes.rlim_cur == 0 && bytes.rlim_max == 0 ? ", empty" : ", full");
}

static st_child_result run(st_child_work work, void *context, const st_child_limits *within,
                           st_arena *arena)
{
    st_child_result result;
    st_errors *errors = st_errors_create();
    assert_int_equal(st_child_run(work, context, within, arena, &result, errors), ST_OK);
    st_errors_destroy(errors);
    return result;
}

TEST(answers_come_back_whole)
{
    st_arena *arena = st_arena_create();
    char text[] = "2.385 us";
    (void)state;
    st_child_result result = run(answer, text, &limits, arena);
    assert_int_equal(result.end, ST_CHILD_DONE);
    assert_string_equal(result.text, "2.385 us");
    assert_int_equal(result.length, 8);
    text[0] = '\0';
    result = run(answer, text, &limits, arena);
    assert_int_equal(result.end, ST_CHILD_DONE);
    assert_int_equal(result.length, 0);
    assert_string_equal(result.text, "");
    result = run(answer_at_length, NULL, &limits, arena);
    assert_int_equal(result.end, ST_CHILD_DONE);
    assert_int_equal(result.length, LONG_TEXT);
    for (size_t i = 0; i < LONG_TEXT; i++)
        assert_int_equal(result.text[i], i % 2 == 0 ? 'a' : '\0');
    st_arena_destroy(arena);
}

TEST(ends_without_an_answer_are_told)
{
    static int codes[] = {0, 3, ST_NO_PROCESS};
    st_arena *arena = st_arena_create();
    (void)state;
    st_child_result result = run(crash, NULL, &limits, arena);
    assert_int_equal(result.end, ST_CHILD_CRASHED);
    assert_int_equal(result.signal, SIGUSR2);
    assert_string_equal(result.text, "");
    assert_int_equal(result.walls, 0);
    const char *said = st_child_end_text(&result, 2385, arena);
    assert_int_equal(strncmp(said, "it crashed: signal 12 (", 23), 0);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        result = run(leave, &codes[i], &limits, arena);
        bool none = codes[i] == ST_NO_PROCESS;
        assert_int_equal(result.end, none ? ST_CHILD_NONE : ST_CHILD_CRASHED);
        assert_int_equal(result.signal, 0);
        assert_string_equal(result.text, "");
        assert_string_equal(st_child_end_text(&result, 2385, arena),
                            none ? "cannot start a process for it" : "it ended the process");
    }
    st_arena_destroy(arena);
}

TEST(those_that_take_too_long_are_ended)
{
    st_arena *arena = st_arena_create();
    (void)state;
    long long before = st_now_ms();
    st_child_result result = run(loop, NULL, &short_limits, arena);
    long long took = st_now_ms() - before;
    assert_int_equal(result.end, ST_CHILD_LATE);
    assert_string_equal(st_child_end_text(&result, 2385, arena),
                        "it did not finish within 2.385 s");
    assert_true(took >= 150);
    assert_true(took < 10000);
    st_arena_destroy(arena);
}

TEST(answers_of_others_count_for_nothing)
{
    st_arena *arena = st_arena_create();
    (void)state;
    st_child_result result = run(forge, NULL, &limits, arena);
    assert_int_equal(result.end, ST_CHILD_DONE);
    assert_int_equal(result.length, 0);
    assert_string_equal(result.text, "");
    assert_int_equal(result.walls, 0);
    st_arena_destroy(arena);
}

TEST(files_are_limited_and_none_is_the_callers)
{
    st_arena *arena = st_arena_create();
    int file = open("/dev/null", O_RDWR);
    (void)state;
    assert_true(file > STDERR_FILENO);
    st_child_result result = run(try_files, &file, &limits, arena);
    assert_int_equal(result.end, ST_CHILD_DONE);
    assert_string_equal(result.text, "closed, limited, empty");
    assert_int_equal(close(file), 0);
    st_arena_destroy(arena);
}

/* Milliseconds that only grow, of seconds and parts of them. */
static void read_pipe(void *path, st_buffer *text)
{
    char block[16];
    const int file = open(path, O_RDONLY | O_NONBLOCK);
    const ssize_t length = read(file, block, sizeof block);
    st_buffer_append(text, block, length > 0 ? (size_t)length : 0);
}

/* No filter of calls sees what kind of file a path names. */
TEST(named_pipes_are_read)
{
    char path[] = "/tmp/steptime-pipe-XXXXXX";
    st_child_result result = {0};
    st_arena *arena = st_arena_create();
    const int taken = mkstemp(path);
    assert_true(taken >= 0 && close(taken) == 0 && unlink(path) == 0);
    assert_int_equal(mkfifo(path, S_IRUSR | S_IWUSR), 0);
    const int pipe_end = open(path, O_RDWR);
    assert_int_equal(write(pipe_end, "2385", 4), 4);
    assert_int_equal(st_child_run(read_pipe, path, &limits, arena, &result, NULL), ST_OK);
    assert_int_equal(unlink(path), 0);
    (void)close(pipe_end);
    assert_string_equal(result.text, "2385");
    st_arena_destroy(arena);
}

TEST(the_clock_counts_milliseconds)
{
    const struct timespec nap = {.tv_nsec = 30000000};
    struct timespec now;
    (void)state;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    long long seconds = (long long)now.tv_sec;
    long long first = st_now_ms();
    assert_true(first / 1000 >= seconds && first / 1000 <= seconds + 60);
    (void)nanosleep(&nap, NULL);
    long long second = st_now_ms();
    assert_true(second - first >= 29);
    assert_true(second - first < 60000);
}

TESTS(child);
