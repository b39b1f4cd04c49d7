/* SPDX-License-Identifier: Apache-2.0 */
/* See child.h. */
#define _DEFAULT_SOURCE /* getentropy; NOLINT(bugprone-reserved-identifier) */

#include "plugin/child.h"

#include "plugin/confine.h"
#include "plugin/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_TEXT_BYTES = 4 * 1024 * 1024 };

const char st_child_forged[] = "it forged its answer";

static const char end_mark = '\x04'; /* the last byte of a text that is whole */

static bool write_all(int file, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t written = write(file, data, length);
        if (written < 0 && errno != EINTR)
            return false;
        data += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* What an answer begins with; who writes to every file that is open does not know it. */
typedef struct child_token {
    uint64_t words[2];
} child_token;

/* What the answers of all children begin with: the token of this one, and the walls around it. */
typedef struct child_head {
    child_token token;
    uint64_t walls;
} child_head;

long long st_now_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads until the child closes its end or the time is up; false then. */
static bool read_until(int file, long long deadline_ms, st_buffer *text)
{
    char block[4096];
    for (;;) {
        long long left = deadline_ms - st_now_ms();
        struct pollfd wait = {.fd = file, .events = POLLIN};
        int ready = left <= 0 ? 0 : poll(&wait, 1, (int)left);
        if (ready == 0)
            return false;
        ssize_t length = ready < 0 ? -1 : read(file, block, sizeof(block));
        if (length == 0)
            return true;
        if (length < 0 && errno != EINTR)
            return true;
        if (length > 0 && text->length < MAX_TEXT_BYTES)
            st_buffer_append(text, block, (size_t)length);
    }
}

/* A child may close its end and continue; false where the time is up first. */
static bool wait_until(pid_t child, long long deadline_ms, int *status)
{
    const struct timespec nap = {.tv_nsec = 500000};
    while (waitpid(child, status, WNOHANG) == 0) {
        if (st_now_ms() >= deadline_ms)
            return false;
        (void)nanosleep(&nap, NULL);
    }
    return true;
}

static st_status cannot(const char *what, st_errors *errors)
{
    return st_fail(errors, ST_ERR_IO, (st_place){0}, "cannot %s: %s", what, strerror(errno));
}

st_status st_child_is_refused(st_errors *errors)
{
    return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                   "--confine: an isolated plugin is a process of its own" ST_HINT
                   "leave out --confine, or 'isolate: true' in the job: the plugin then "
                   "shares the system calls of the command");
}

st_status st_child_run(st_child_work work, void *context, const st_child_limits *limits,
                       st_arena *arena, st_child_result *result, st_errors *errors)
{
    int ends[2];
    int status = 0;
    st_buffer text = {0};
    if (pipe(ends) != 0)
        return cannot("make a pipe", errors);
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    (void)fflush(NULL);
    child_token token = {{(uint64_t)getpid(), 0}};
    if (getentropy(&token, sizeof token) != 0)
        token.words[1] = (uint64_t)time(NULL);
    unsigned walls = 0;
    pid_t child = st_namespaces_fork(&walls);
    if (child == 0) {
        (void)close(ends[0]);
        child_head *head = &(child_head){token, walls};
        const int file = ends[1];
        st_buffer child_text = {0};
        head->walls |=
            st_confine(&(st_confine_limits){limits->memory_bytes, file, limits->refused});
        st_buffer_append(&child_text, (const char *)head, sizeof *head);
        work(context, &child_text);
        st_buffer_append(&child_text, &end_mark, 1);
        bool good = !child_text.failed && write_all(file, child_text.data, child_text.length);
        _exit(good ? 0 : 1); /* nothing that the parent set up is run or flushed twice */
    }
    (void)close(ends[1]);
    if (child < 0) {
        (void)close(ends[0]);
        return st_is_confined_here() ? st_child_is_refused(errors)
                                     : cannot("start a process", errors);
    }
    long long deadline_ms = st_now_ms() + limits->time_ms;
    bool in_time =
        read_until(ends[0], deadline_ms, &text) && wait_until(child, deadline_ms, &status);
    (void)close(ends[0]);
    if (!in_time)
        st_namespaces_end(child, &status);
    (void)kill(-child, SIGKILL); /* what it may have started, where nothing forbade that */
    bool whole = text.length > 0 && text.data[text.length - 1] == end_mark && !text.failed;
    *result = (st_child_result){.end = ST_CHILD_CRASHED, .text = ""};
    if (!in_time) {
        result->end = ST_CHILD_LATE;
    } else if (WIFSIGNALED(status)) {
        result->signal = WTERMSIG(status);
    } else if (WEXITSTATUS(status) == ST_NO_PROCESS && text.length == 0) {
        result->end = ST_CHILD_NONE;
    } else if (whole && WEXITSTATUS(status) == 0) {
        child_head head = {0};
        if (text.length > sizeof head)
            memcpy(&head, text.data, sizeof head);
        bool is_ours = memcmp(&head.token, &token, sizeof token) == 0;
        result->end = ST_CHILD_DONE;
        result->walls = is_ours ? (unsigned)head.walls : 0;
        result->length = is_ours ? text.length - sizeof head - 1 : 0;
        result->text = st_arena_copy(arena, is_ours ? text.data + sizeof head : "", result->length);
    }
    st_status taken = result->text == NULL ? ST_ERR_MEMORY : ST_OK;
    st_buffer_free(&text);
    return taken;
}

const char *st_child_end_text(const st_child_result *result, unsigned limit_ms, st_arena *arena)
{
    if (result->end == ST_CHILD_NONE)
        return "cannot start a process for it";
    if (result->end == ST_CHILD_LATE)
        return st_arena_printf(arena, "it did not finish within %g s", limit_ms / 1e3);
    return result->signal != 0 ? st_arena_printf(arena, "it crashed: signal %d (%s)",
                                                 result->signal, strsignal(result->signal))
                               : "it ended the process";
}
