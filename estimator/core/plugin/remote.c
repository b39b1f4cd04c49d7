/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See remote.h. A lane's state goes from IDLE to ASKED, by the host, to ANSWERED, by the server.
 * The first lane is IDLE once the process is confined, and the host notes by what before it asks
 * for anything foreign. Another lane gets its thread once all are taken. Both
 * sides look for some microseconds before they sleep on a state, so that a block of rows costs its
 * copies and little more; the host wakes up every few milliseconds to see whether anybody is there.
 */
#define _GNU_SOURCE /* syscall, mmap; NOLINT(bugprone-reserved-identifier) */

#include "plugin/remote.h"

#include "base/guard.h"
#include "plugin/child.h"
#include "plugin/confine.h"
#include "plugin/namespaces.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

enum { UNSERVED, IDLE, ASKED, ANSWERED };
enum { MOST_LANES = 16, LOOKS = 200, NAP_MS = 5, IDLE_NAP_MS = 200 };

struct st_remote {
    st_remote_server server;
    st_remote_lane *lanes; /* shared */
    size_t lane_count;
    atomic_bool taken[MOST_LANES];
    st_call_memo *memo;
    pid_t process; /* its keeper (namespaces.h) */
    unsigned walls;
    pthread_mutex_t lock; /* of what is below */
    atomic_bool dead;
    char reason[ST_REMOTE_REASON];
    /* Of a process that may be shared, under shared_lock: */
    char *key;
    size_t users;
    st_remote *next;
};

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static st_remote *shared;

/* ---- waiting --------------------------------------------------------------------------------- */

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void sleep_while(_Atomic uint32_t *state, uint32_t value, long most_ms)
{
    const struct timespec nap = {.tv_sec = most_ms / 1000, .tv_nsec = most_ms % 1000 * 1000000L};
#ifdef __linux__
    (void)syscall(SYS_futex, state, FUTEX_WAIT, value, &nap, NULL, 0);
#else
    (void)state;
    (void)value;
    (void)nanosleep(&nap, NULL);
#endif
}

static void wake(_Atomic uint32_t *state)
{
#ifdef __linux__
    (void)syscall(SYS_futex, state, FUTEX_WAKE, 1, NULL, NULL, 0);
#else
    (void)state;
#endif
}

/* Whether the state changes from `value` within some microseconds. */
static bool looks_changed(_Atomic uint32_t *state, uint32_t value)
{
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(state, memory_order_acquire) != value)
            return true;
        pause_briefly();
    }
    return false;
}

/* ---- the server's side ----------------------------------------------------------------------- */

typedef struct lane_thread {
    const st_remote_server *server;
    st_remote_lane *lane;
    size_t later; /* lanes after it */
    pid_t keeper;
} lane_thread;

static void *serve_lane(void *context)
{
    lane_thread *thread = context;
    _Atomic uint32_t *state = &thread->lane->state;
    lane_thread next = {thread->server, thread->lane + 1, thread->later - 1, thread->keeper};
    atomic_store_explicit(state, IDLE, memory_order_release);
    wake(state);
    for (;;) {
        pthread_t made;
        uint32_t seen = atomic_load_explicit(state, memory_order_acquire);
        if (seen != ASKED) {
            if (!looks_changed(state, seen)) /* sleeps until it is asked */
                sleep_while(state, seen, IDLE_NAP_MS);
            if (getppid() != thread->keeper)
                _exit(0);
            continue;
        }
        if (thread->later > 0 && atomic_load(&thread->lane->more) != 0 &&
            pthread_create(&made, NULL, serve_lane, &next) == 0)
            thread->later = 0;
        thread->server->serve(thread->server->context, thread->lane);
        atomic_store_explicit(state, ANSWERED, memory_order_release);
        wake(state);
    }
    return NULL;
}

static void be_server(const st_remote *remote, unsigned walls)
{
    lane_thread first = {&remote->server, remote->lanes, remote->lane_count - 1, getppid()};
    const st_confine_limits limits = {remote->server.memory_bytes, -1, NULL};
    first.lane->walls = walls | st_confine(&limits);
    st_guard_alone();
    (void)serve_lane(&first);
}

/* ---- the host's side ------------------------------------------------------------------------- */

/* Notes how it ended; `late`: it was ended. */
static void bury(st_remote *remote, int status, bool late)
{
    if (late)
        (void)snprintf(remote->reason, sizeof remote->reason, "it did not answer within %g s",
                       remote->server.limit_ms / 1e3);
    else if (WIFSTOPPED(status))
        (void)snprintf(remote->reason, sizeof remote->reason, "it stopped its process");
    else if (WIFSIGNALED(status))
        (void)snprintf(remote->reason, sizeof remote->reason, "it crashed: signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        (void)snprintf(remote->reason, sizeof remote->reason, "%s",
                       WEXITSTATUS(status) == ST_NO_PROCESS ? "cannot start a process for it"
                                                            : "it ended its process");
    atomic_store(&remote->dead, true);
}

/* Whether the process has ended, or is ended now as it is late. */
static bool is_over(st_remote *remote, bool late)
{
    int status = 0;
    (void)pthread_mutex_lock(&remote->lock);
    if (!atomic_load(&remote->dead)) {
        pid_t ended = late ? -1 : waitpid(remote->process, &status, WNOHANG | WUNTRACED);
        if (ended != 0)
            bury(remote, status, late);
        if (late || (ended > 0 && WIFSTOPPED(status)))
            st_namespaces_end(remote->process, &status);
    }
    (void)pthread_mutex_unlock(&remote->lock);
    return atomic_load(&remote->dead);
}

static bool wait_for_answer(st_remote *remote, st_remote_lane *lane, uint32_t from)
{
    long long until = 0;
    while (atomic_load_explicit(&lane->state, memory_order_acquire) == from) {
        if (looks_changed(&lane->state, from))
            break;
        until = until > 0 ? until : st_now_ms() + remote->server.limit_ms;
        sleep_while(&lane->state, from, NAP_MS);
        bool waits = atomic_load_explicit(&lane->state, memory_order_acquire) == from;
        if (waits && is_over(remote, st_now_ms() >= until))
            return false;
    }
    return true;
}

/* At most its bytes are read: the text may be another process's. */
static void set_reason(char *reason, const char *text)
{
    (void)snprintf(reason, ST_REMOTE_TEXT, "%.*s", ST_REMOTE_TEXT - 1, text);
}

static bool begin(st_remote *remote, char *reason)
{
    unsigned walls = 0;
    remote->process = st_namespaces_fork(&walls);
    if (remote->process == 0)
        be_server(remote, walls);
    if (remote->process < 0) {
        set_reason(reason, strerror(errno));
        return false;
    }
    if (!wait_for_answer(remote, &remote->lanes[0], UNSERVED)) {
        set_reason(reason, remote->reason);
        return false;
    }
    remote->walls = remote->lanes[0].walls;
    return true;
}

static void end(st_remote *remote)
{
    if (remote->process > 0) {
        (void)is_over(remote, true);
        (void)kill(-remote->process, SIGKILL); /* where nothing forbade it to start others */
    }
    if (remote->lanes != NULL)
        (void)munmap(remote->lanes, remote->lane_count * sizeof *remote->lanes);
    st_call_memo_destroy(remote->memo);
    (void)pthread_mutex_destroy(&remote->lock);
    free(remote->key);
    free(remote);
}

st_remote *st_remote_start(const st_remote_server *server, char *reason)
{
    st_remote *made = calloc(1, sizeof *made);
    if (made == NULL || pthread_mutex_init(&made->lock, NULL) != 0) {
        set_reason(reason, "out of memory");
        free(made);
        return NULL;
    }
    made->server = *server;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    made->lane_count = cores < 1 ? 1 : cores > MOST_LANES ? MOST_LANES : (size_t)cores;
    void *memory =
        mmap(NULL, made->lane_count * sizeof *made->lanes, PROT_READ | PROT_WRITE,
             /* cppcheck-suppress invalidFunctionArg ; memory of no file has the number -1 */
             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    made->lanes = memory != MAP_FAILED ? memory : NULL;
    made->memo = st_call_memo_create();
    const bool has_memory = made->lanes != NULL && made->memo != NULL;
    if (!has_memory)
        set_reason(reason, "out of memory");
    (void)fflush(NULL);
    if (has_memory && begin(made, reason))
        return made;
    end(made);
    return NULL;
}

st_remote *st_remote_share(const char *key, st_remote *(*make)(void *context), void *context)
{
    if (key == NULL)
        return make(context);
    (void)pthread_mutex_lock(&shared_lock);
    st_remote *found = shared;
    while (found != NULL && (strcmp(found->key, key) != 0 || is_over(found, false)))
        found = found->next;
    if (found != NULL) {
        found->users++;
    } else if ((found = make(context)) != NULL && (found->key = strdup(key)) != NULL) {
        found->users = 1;
        found->next = shared;
        shared = found;
    }
    (void)pthread_mutex_unlock(&shared_lock);
    return found;
}

void st_remote_stop(st_remote *remote)
{
    size_t users = 0;
    if (remote == NULL)
        return;
    (void)pthread_mutex_lock(&shared_lock);
    if (remote->key != NULL && (users = --remote->users) == 0) {
        st_remote **link = &shared;
        while (*link != remote)
            link = &(*link)->next;
        *link = remote->next;
    }
    (void)pthread_mutex_unlock(&shared_lock);
    if (users == 0)
        end(remote);
}

void st_remote_set_limit(st_remote *remote, unsigned limit_ms)
{
    remote->server.limit_ms = limit_ms;
}

st_call_memo *st_remote_memo(const st_remote *remote)
{
    return remote->memo;
}

st_remote_lane *st_remote_take(st_remote *remote)
{
    for (;;) {
        for (size_t i = 0; i < remote->lane_count; i++)
            if ((i == 0 || atomic_load(&remote->lanes[i].state) != UNSERVED) &&
                !atomic_exchange(&remote->taken[i], true))
                return &remote->lanes[i];
        for (size_t i = 0; i < remote->lane_count; i++)
            atomic_store(&remote->lanes[i].more, 1);
        (void)sched_yield();
    }
}

void st_remote_give(st_remote *remote, st_remote_lane *lane)
{
    atomic_store(&remote->taken[lane - remote->lanes], false);
}

bool st_remote_ask(st_remote *remote, st_remote_lane *lane)
{
    if (atomic_load(&remote->dead))
        return false;
    atomic_store_explicit(&lane->state, ASKED, memory_order_release);
    wake(&lane->state);
    bool answered = wait_for_answer(remote, lane, ASKED);
    atomic_store_explicit(&lane->state, IDLE, memory_order_release);
    return answered;
}

unsigned st_remote_walls(const st_remote *remote)
{
    return remote->walls;
}

const char *st_remote_reason(const st_remote *remote)
{
    return remote->reason;
}
