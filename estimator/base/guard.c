/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See guard.h. What is global here is what a handler of a signal, the end of a thread and the end
 * of the process have to find.
 */
#define _GNU_SOURCE /* O_PATH, uselocale, unshare; NOLINT(bugprone-reserved-identifier) */

#include "base/guard.h"

#include "base/lists.h"
#include "base/scratch.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif
#if defined(__linux__)
#include <sys/prctl.h>
#endif

enum { MAX_REPORTS = 32, SSE_CONTROL = 0xFFC0 };

typedef enum guard_deed {
    ROUNDING,
    LOCALE,
    FOLDER,
    UMASK,
    HANDLERS,
    MASK,
    TIMERS,
    LIMITS,
    STREAMS,
    ENVIRONMENT,
    USER,
    STACK,
    FLAGS,
    ARGUMENTS, /* from here on no result counts */
    DESCRIPTORS,
    PROCESS,
    DEEDS
} guard_deed;

static const char *const deed_texts[DEEDS] = {
    [ROUNDING] = "changed floating-point rounding or traps",
    [LOCALE] = "changed the locale",
    [FOLDER] = "changed the working folder",
    [UMASK] = "changed the umask",
    [HANDLERS] = "changed signal handlers",
    [MASK] = "blocked signals",
    [TIMERS] = "set a timer",
    [LIMITS] = "lowered resource limits",
    [STREAMS] = "closed or replaced standard streams",
    [ENVIRONMENT] = "changed the environment",
    [USER] = "changed the user or group",
    [STACK] = "changed the stack of signal handlers",
    [FLAGS] = "changed flags of the processor",
    [ARGUMENTS] = "wrote to its arguments",
    [DESCRIPTORS] = "closed or replaced file descriptors that cannot be restored",
    [PROCESS] = "ended its process or was killed",
};

enum { SIGNALS = 32 }; /* of which KILL and STOP have no handlers */

/* Those of a program; the C library has one of its own. */
enum {
    ACTION_FLAGS = SA_NOCLDSTOP | SA_NOCLDWAIT | SA_NODEFER | SA_ONSTACK | SA_RESTART | SA_SIGINFO
};

static const unsigned timers[ST_GUARD_TIMERS] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
static const unsigned limits[ST_GUARD_LIMITS] = {
    RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_CPU, RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_NPROC};

/* What a descriptor means, and a second one for it. */
typedef struct kept {
    bool known;
    int copy;
    dev_t device;
    ino_t inode;
} kept;

enum { STREAM_COUNT = 3, FIRST_ASIDE = 10, FIRST_COPY = 512 }; /* above what shells use */

/* What was remembered. */
static struct {
    bool known;
    kept folder;
    kept streams[STREAM_COUNT];
    mode_t umask;
    struct sigaction actions[SIGNALS];
    uid_t user;
    gid_t group;
    int filter;
} before;
static int result_stream = STDOUT_FILENO; /* -1 while it is parked */
static int hushed = -1;                   /* standard error, while it is hushed */
static int parking[2] = {-1, -1};         /* a socket: the stream is in it, and nobody can write */
static size_t stream_count;               /* 0 in a process whose streams are another program's */

typedef struct deed_report {
    char who[96]; /* copies: plugins are unloaded before the end */
    char what[96];
    char more[400]; /* "" or what else is known */
    guard_deed deed;
    bool shown;
} deed_report;

static _Thread_local const char *running_who;
static _Thread_local const char *running_what;
static _Thread_local pid_t running_process; /* a fork has another */
static _Atomic(const char *) latest_who;    /* on any thread */
static _Atomic(const char *) latest_what;
static char last_who[96]; /* who had the latest call, also when it is over: a copy */
static char last_what[96];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;
static bool has_key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static deed_report list[MAX_REPORTS];
static size_t list_count;
static atomic_bool accused;

/* ---- ends ------------------------------------------------------------------------------------ */

/* Only what may be called wherever foreign code can be. */
static void end_here(const char *does)
{
    const bool runs = running_who != NULL;
    const char *const words[] = {"error: ", runs ? running_who : last_who, does,
                                 runs ? running_what : last_what, "'\n"};
    for (size_t i = 0; i < ST_COUNT(words); i++)
        (void)!write(st_guard_messages(), words[i], strlen(words[i]));
    if (!runs || getpid() == running_process)
        st_scratch_remove();
    running_who = NULL;
    atomic_store(&latest_who, NULL);
    _exit(1);
}

static void at_exit(void)
{
    if (running_who != NULL)
        end_here(" ends the program in '");
}

static void at_thread_end(void *value)
{
    (void)value;
    if (running_who != NULL)
        end_here(" ends its thread in '");
}

static void prepare(void)
{
    has_key = pthread_key_create(&thread_key, at_thread_end) == 0;
    (void)atexit(at_exit);
    (void)at_quick_exit(at_exit);
}

/* ---- state ----------------------------------------------------------------------------------- */

static unsigned float_control(void)
{
#if defined(__SSE2__)
    return _mm_getcsr() & SSE_CONTROL;
#else
    return 0;
#endif
}

static void set_float_control(unsigned control)
{
#if defined(__SSE2__)
    _mm_setcsr((_mm_getcsr() & ~(unsigned)SSE_CONTROL) | control);
#else
    (void)control;
#endif
}

/* Whether something that code counts on is not as it was called: the direction of string
 * instructions, which then write before what they are given, or the check of alignment. */
static bool clear_flags(void)
{
#if defined(__x86_64__)
    enum { DIRECTION = 1 << 10, ALIGNMENT = 1 << 18 };
    const unsigned long long flags = __builtin_ia32_readeflags_u64();
    if ((flags & (DIRECTION | ALIGNMENT)) != 0) {
        __builtin_ia32_writeeflags_u64(flags & ~(unsigned long long)(DIRECTION | ALIGNMENT));
        return true;
    }
#endif
    return false;
}

/* Calls that a filter answers look as if they had been done: no file and no message counts. */
static int filter_of_calls(void)
{
#if defined(PR_GET_SECCOMP)
    return prctl(PR_GET_SECCOMP);
#else
    return 0;
#endif
}

static mode_t read_umask(void)
{
    mode_t mask = umask(S_IRWXG | S_IRWXO);
    (void)umask(mask);
    return mask;
}

static bool ticks(unsigned timer)
{
    struct itimerval now = {0};
    return getitimer(timer, &now) == 0 &&
           (now.it_value.tv_sec != 0 || now.it_value.tv_usec != 0 || now.it_interval.tv_sec != 0 ||
            now.it_interval.tv_usec != 0);
}

static bool means(int descriptor, const kept *one)
{
    struct stat now = {0};
    return fstat(descriptor, &now) == 0 && now.st_dev == one->device && now.st_ino == one->inode;
}

static void forget(kept *one)
{
    if (one->known && means(one->copy, one))
        (void)close(one->copy);
    one->known = false;
}

static void keep(int descriptor, kept *one)
{
    struct stat now = {0};
    forget(one);
    one->known = fstat(descriptor, &now) == 0;
    one->copy = one->known ? fcntl(descriptor, F_DUPFD_CLOEXEC, FIRST_COPY) : -1;
    if (one->known && one->copy < 0) /* few may be open */
        one->copy = fcntl(descriptor, F_DUPFD_CLOEXEC, FIRST_ASIDE);
    one->device = now.st_dev;
    one->inode = now.st_ino;
}

static int stream_at(size_t index)
{
    return index == 0 ? result_stream : index == 1 ? STDERR_FILENO : STDOUT_FILENO;
}

/* ---- environment ----------------------------------------------------------------------------- */

static void drop_environment(char **copy)
{
    for (char **text = copy; text != NULL && *text != NULL; text++)
        free(*text);
    free(copy);
}

/* The texts in memory of their own; NULL when out of memory. */
static char **copy_environment(char **from)
{
    size_t count = 0;
    while (from != NULL && from[count] != NULL)
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy != NULL && i < count; i++) {
        copy[i] = strdup(from[i]);
        if (copy[i] == NULL) {
            drop_environment(copy);
            copy = NULL;
        }
    }
    return copy;
}

static bool is_environment(char **one, char **other)
{
    size_t i = 0;
    while (one != NULL && other != NULL && one[i] != NULL && other[i] != NULL &&
           strcmp(one[i], other[i]) == 0)
        i++;
    return one != NULL && other != NULL && one[i] == NULL && other[i] == NULL;
}

/* ---- what is remembered ---------------------------------------------------------------------- */

static bool is_alone;

void st_guard_alone(void)
{
    is_alone = true;
}

void st_guard_remember(void)
{
    if (is_alone)
        return;
    (void)pthread_mutex_lock(&lock);
    before.user = geteuid();
    before.group = getegid();
    before.filter = filter_of_calls();
    int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        keep(folder, &before.folder);
        (void)close(folder);
    } else {
        forget(&before.folder);
    }
    for (size_t i = 0; i < stream_count; i++)
        if (stream_at(i) >= 0)
            keep(stream_at(i), &before.streams[i]);
    before.umask = read_umask();
    for (int number = 1; number < SIGNALS; number++)
        (void)sigaction(number, NULL, &before.actions[number]);
    before.known = true;
    (void)pthread_mutex_unlock(&lock);
}

/* `who` is NULL where it may be anyone, also one already reported. */
static void note_locked(const char *who, const char *what, guard_deed deed)
{
    if (deed >= ARGUMENTS)
        atomic_store(&accused, true);
    bool known = list_count == MAX_REPORTS;
    for (size_t i = 0; i < list_count && !known; i++)
        known = list[i].deed == deed && (who == NULL || strcmp(list[i].who, who) == 0);
    if (known)
        return;
    deed_report *one = &list[list_count++];
    one->deed = deed;
    (void)snprintf(one->who, sizeof one->who, "%s", who != NULL ? who : "a plugin");
    (void)snprintf(one->what, sizeof one->what, "%s", who != NULL ? what : "some call");
}

static void note_of(const char *who, const char *what, guard_deed deed)
{
    (void)pthread_mutex_lock(&lock);
    note_locked(who, what, deed);
    (void)pthread_mutex_unlock(&lock);
}

static void note(const st_guard *guard, guard_deed deed)
{
    note_of(guard->who, guard->what, deed);
}

static void restore_handlers(const char *who, const char *what)
{
    for (int number = 1; number < SIGNALS; number++) {
        const struct sigaction *old = &before.actions[number];
        struct sigaction now;
        if (sigaction(number, NULL, &now) == 0 &&
            (now.sa_handler != old->sa_handler ||
             ((now.sa_flags ^ old->sa_flags) & ACTION_FLAGS) != 0)) {
            (void)sigaction(number, old, NULL);
            note_locked(who, what, HANDLERS);
        }
    }
}

static void restore_user(const char *who, const char *what)
{
    if (geteuid() != before.user || getegid() != before.group) {
        bool back = seteuid(before.user) == 0 && setegid(before.group) == 0;
        note_locked(who, what, back ? USER : DESCRIPTORS);
    }
}

static void restore_remembered(const char *who, const char *what)
{
    (void)pthread_mutex_lock(&lock);
    if (before.known) {
        /* Where a copy is gone, too, the next file that is opened must not get the stream's number.
         */
        for (size_t i = 0; i < stream_count; i++) {
            const kept *old = &before.streams[i];
            int stream = stream_at(i);
            if (stream < 0 || !old->known || means(stream, old))
                continue;
            bool back = means(old->copy, old);
            int source = back ? old->copy : open("/dev/null", O_RDWR | O_CLOEXEC);
            if (source >= 0 && source != stream)
                (void)dup3(source, stream, stream >= FIRST_ASIDE ? O_CLOEXEC : 0);
            if (!back && source != stream)
                (void)close(source);
            note_locked(who, what, back ? STREAMS : DESCRIPTORS);
        }
        struct stat now = {0};
        const kept *old = &before.folder;
        if (old->known &&
            (stat(".", &now) != 0 || now.st_dev != old->device || now.st_ino != old->inode)) {
            bool back = means(old->copy, old) && fchdir(old->copy) == 0;
            note_locked(who, what, back ? FOLDER : DESCRIPTORS);
        }
    }
    if (before.known && filter_of_calls() != before.filter)
        end_here(" filters the system calls of the program in '");
    if (before.known && read_umask() != before.umask) {
        (void)umask(before.umask);
        note_locked(who, what, UMASK);
    }
    if (before.known) {
        restore_handlers(who, what);
        restore_user(who, what);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* ---- standard output ------------------------------------------------------------------------- */

void st_guard_stdout_aside(void)
{
    int aside = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, FIRST_ASIDE);
    if (aside >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        result_stream = aside;
    stream_count = STREAM_COUNT;
    st_guard_stdout_park();
}

/* One message with the descriptor in it, which is sent or received. */
typedef union parked {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
} parked;

static struct msghdr message_with(parked *control, struct iovec *byte)
{
    return (struct msghdr){.msg_iov = byte,
                           .msg_iovlen = 1,
                           .msg_control = control->bytes,
                           .msg_controllen = sizeof control->bytes};
}

static bool send_parked(int stream)
{
    char one = 'r';
    struct iovec byte = {&one, 1};
    parked control = {0};
    struct msghdr message = message_with(&control, &byte);
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &stream, sizeof stream);
    return sendmsg(parking[0], &message, MSG_DONTWAIT) == 1;
}

static void close_parking(void)
{
    for (size_t i = 0; i < ST_COUNT(parking); i++) {
        (void)close(parking[i]);
        parking[i] = -1;
    }
}

void st_guard_stdout_park(void)
{
    int pair[2];
    if (result_stream < FIRST_ASIDE || parking[0] >= 0 ||
        socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0)
        return;
    for (size_t i = 0; i < ST_COUNT(pair); i++) {
        parking[i] = fcntl(pair[i], F_DUPFD_CLOEXEC, FIRST_COPY);
        (void)close(pair[i]);
    }
    if (parking[0] < 0 || parking[1] < 0 || !send_parked(result_stream)) {
        close_parking();
        return;
    }
    forget(&before.streams[0]);
    (void)close(result_stream);
    result_stream = -1;
}

/* The stream's descriptor out of the socket, -1 where somebody has closed it. */
static int receive_parked(void)
{
    int stream = -1;
    char one = 0;
    struct iovec byte = {&one, 1};
    parked control = {0};
    struct msghdr message = message_with(&control, &byte);
    if (recvmsg(parking[1], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) == 1 &&
        message.msg_controllen == sizeof control.bytes && control.header.cmsg_type == SCM_RIGHTS)
        memcpy(&stream, CMSG_DATA(&control.header), sizeof stream);
    return stream;
}

int st_guard_stdout(void)
{
    if (result_stream >= 0 || parking[1] < 0)
        return result_stream;
    (void)close(parking[0]); /* room for one more, where a plugin has taken all */
    parking[0] = -1;
    result_stream = receive_parked();
    if (result_stream >= 0) {
        (void)close(parking[1]);
        int aside = fcntl(result_stream, F_DUPFD_CLOEXEC, FIRST_ASIDE);
        if (aside >= 0) {
            (void)close(result_stream);
            result_stream = aside;
        }
    } else { /* somebody has closed it */
        note_of(last_who[0] != '\0' ? last_who : NULL, last_what, DESCRIPTORS);
    }
    parking[1] = -1;
    return result_stream;
}

typedef struct lone_write {
    const char *data;
    size_t length;
    bool has_written; /* or tried to */
    int fault;
} lone_write;

int st_guard_write_all(int file, const char *data, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(file, data, length);
        if (written == 0)
            return EIO; /* as no file of the system's does */
        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0) {
            data += written;
            length -= (size_t)written;
        }
    }
    return 0;
}

/* On a thread whose table of descriptors is its own: no other thread's code can write to it. */
static void *write_alone(void *argument)
{
    lone_write *work = argument;
#if defined(__linux__)
    if (unshare(CLONE_FILES) != 0)
        return NULL;
#else
    return NULL;
#endif
    (void)close(STDIN_FILENO); /* room for one, where a plugin has taken all */
    const int stream = receive_parked();
    work->has_written = stream >= 0;
    if (stream >= 0) {
        work->fault = st_guard_write_all(stream, work->data, work->length);
        (void)send_parked(stream);
    }
    return NULL;
}

int st_guard_stdout_write(const char *data, size_t length)
{
    lone_write work = {.data = data, .length = length};
    pthread_t thread;
    const bool is_parked = result_stream < 0 && parking[0] >= 0 && parking[1] >= 0;
    if (is_parked && pthread_create(&thread, NULL, write_alone, &work) == 0)
        (void)pthread_join(thread, NULL);
    if (work.has_written)
        return work.fault;
    return st_guard_write_all(st_guard_stdout(), data, length);
}

int st_guard_stdout_close(void)
{
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < stream_count; i++)
        if (result_stream >= 0 && stream_at(i) == result_stream)
            forget(&before.streams[i]);
    (void)pthread_mutex_unlock(&lock);
    return close(st_guard_stdout()) == 0 ? 0 : errno;
}

int st_guard_messages(void)
{
    return hushed >= 0 ? hushed : STDERR_FILENO;
}

void st_guard_hush(void)
{
    (void)fflush(stderr);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    hushed = nowhere >= 0 ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, FIRST_ASIDE) : -1;
    if (hushed >= 0)
        (void)dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0)
        (void)close(nowhere);
}

void st_guard_end_hush(void)
{
    int fault = errno;
    (void)fflush(stderr);
    if (hushed >= 0) {
        (void)dup2(hushed, STDERR_FILENO);
        (void)close(hushed);
    }
    hushed = -1;
    errno = fault;
}

bool st_guard_is_stdout(const char *path)
{
    static const char *const names[] = {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    return st_has_text(names, ST_COUNT(names), path);
}

/* ---- calls ----------------------------------------------------------------------------------- */

void st_guard_begin(st_guard *guard, const char *who, const char *what, bool thorough)
{
    (void)pthread_once(&once, prepare);
    if (has_key && running_who == NULL && pthread_getspecific(thread_key) == NULL)
        (void)pthread_setspecific(thread_key, &once);
    guard->who = who;
    guard->what = what;
    guard->outer_who = running_who;
    guard->outer_what = running_what;
    guard->rounding = fegetround();
    guard->float_control = float_control();
    guard->thread_locale = uselocale((locale_t)0);
    guard->locale = setlocale(LC_ALL, NULL);
    size_t length = strlen(guard->locale);
    length = length < sizeof guard->locale_name ? length : sizeof guard->locale_name - 1;
    memcpy(guard->locale_name, guard->locale, length);
    guard->locale_name[length] = '\0';
    guard->thorough = thorough && !is_alone;
    if (guard->thorough) {
        /* What the program around may change between two calls, so that only one call's changes
         * count. */
        const struct rlimit unknown = {0}; /* nothing is lower */
        (void)pthread_sigmask(SIG_BLOCK, NULL, &guard->shared.mask);
        for (size_t i = 0; i < ST_GUARD_TIMERS; i++)
            guard->shared.ticks[i] = ticks(timers[i]);
        for (size_t i = 0; i < ST_GUARD_LIMITS; i++)
            if (getrlimit(limits[i], &guard->shared.limits[i]) != 0)
                guard->shared.limits[i] = unknown;
        if (sigaltstack(NULL, &guard->shared.stack) != 0)
            guard->shared.stack.ss_flags = SS_DISABLE;
        guard->shared.environment = copy_environment(environ);
    }
    if (atomic_load_explicit(&latest_who, memory_order_relaxed) != who) {
        (void)snprintf(last_who, sizeof last_who, "%s", who);
        (void)snprintf(last_what, sizeof last_what, "%s", what);
    }
    running_what = what;
    running_who = who;
    running_process = getpid();
    atomic_store_explicit(&latest_what, what, memory_order_relaxed);
    atomic_store_explicit(&latest_who, who, memory_order_relaxed);
}

void st_guard_end(st_guard *guard)
{
    const bool has_flags = clear_flags(); /* first: copies of memory count on them */
    if (getpid() != running_process)
        end_here(" returns from a fork in '");
    running_who = guard->outer_who;
    running_what = guard->outer_what;
    atomic_store_explicit(&latest_who, guard->outer_who, memory_order_relaxed);
    if (fegetround() != guard->rounding || float_control() != guard->float_control) {
        (void)fesetround(guard->rounding);
        set_float_control(guard->float_control);
        note(guard, ROUNDING);
    }
    if (has_flags)
        note(guard, FLAGS);
    bool locale_changed = uselocale((locale_t)0) != guard->thread_locale;
    if (locale_changed)
        (void)uselocale(guard->thread_locale);
    const char *locale_now = setlocale(LC_ALL, NULL);
    if (locale_now != guard->locale || strcmp(locale_now, guard->locale_name) != 0) {
        locale_changed = strcmp(locale_now, guard->locale_name) != 0;
        (void)setlocale(LC_ALL, guard->locale_name);
    }
    if (locale_changed)
        note(guard, LOCALE);
    if (!guard->thorough)
        return;
    /* The part that can be raised again without rights. A limit that rose stays: a call on
     * another thread may have put it back meanwhile. */
    for (size_t i = 0; i < ST_GUARD_LIMITS; i++) {
        rlim_t old = guard->shared.limits[i].rlim_cur;
        struct rlimit now;
        if (getrlimit(limits[i], &now) != 0 || now.rlim_cur >= old)
            continue;
        now.rlim_cur = old < now.rlim_max ? old : now.rlim_max;
        (void)setrlimit(limits[i], &now);
        note(guard, LIMITS);
    }
    restore_remembered(guard->who, guard->what);
    const sigset_t *mask = &guard->shared.mask;
    sigset_t now;
    bool changed = false;
    (void)pthread_sigmask(SIG_BLOCK, NULL, &now);
    for (int number = 1; number < 32; number++)
        changed = changed || sigismember(&now, number) != sigismember(mask, number);
    if (changed) {
        (void)pthread_sigmask(SIG_SETMASK, mask, NULL);
        note(guard, MASK);
    }
    char **texts = guard->shared.environment;
    if (texts != NULL && !is_environment(environ, texts)) {
        environ = texts; /* and stays: others keep pointers into it */
        note(guard, ENVIRONMENT);
    } else {
        drop_environment(texts);
    }
    stack_t stack;
    const stack_t *own = &guard->shared.stack;
    if (sigaltstack(NULL, &stack) == 0 &&
        (stack.ss_sp != own->ss_sp || stack.ss_flags != own->ss_flags)) {
        (void)sigaltstack(own, NULL);
        note(guard, STACK);
    }
    const struct itimerval none = {0};
    for (size_t i = 0; i < ST_GUARD_TIMERS; i++)
        if (!guard->shared.ticks[i] && ticks(timers[i])) {
            (void)setitimer(timers[i], &none, NULL);
            note(guard, TIMERS);
        }
}

bool st_guard_running(const char **who, const char **what)
{
    *who = running_who;
    *what = running_what;
    if (running_who != NULL)
        return true;
    *what = atomic_load(&latest_what);
    *who = atomic_load(&latest_who);
    return *who != NULL && *what != NULL;
}

bool st_guard_last(const char **who, const char **what)
{
    *who = last_who;
    *what = last_what;
    return last_who[0] != '\0';
}

void st_guard_accuse(const char *who, const char *what)
{
    note_of(who, what, ARGUMENTS);
}

void st_guard_accuse_ended(const char *who, const char *what, const char *more)
{
    (void)pthread_mutex_lock(&lock);
    size_t count = list_count;
    note_locked(who, what, PROCESS);
    if (list_count > count && more != NULL)
        (void)snprintf(list[count].more, sizeof list[count].more, " (%s)", more);
    (void)pthread_mutex_unlock(&lock);
}

st_status st_guard_tell(st_errors *errors)
{
    st_status status = ST_OK;
    restore_remembered(NULL, NULL);
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < list_count; i++) {
        deed_report *one = &list[i];
        bool fault = one->deed >= ARGUMENTS;
        if (one->shown)
            continue;
        one->shown = true;
        const char *rest =
            fault ? ": all results of this run are invalid" : "; steptime restored it";
        st_status added = st_report(errors, fault ? ST_SEVERITY_ERROR : ST_SEVERITY_WARNING,
                                    ST_ERR_PROVIDER, (st_place){0}, "%s %s in '%s'%s%s", one->who,
                                    deed_texts[one->deed], one->what, one->more, rest);
        status = fault ? added : status;
    }
    (void)pthread_mutex_unlock(&lock);
    return atomic_load(&accused) ? ST_ERR_PROVIDER : status;
}
