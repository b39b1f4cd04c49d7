/* SPDX-License-Identifier: Apache-2.0 */
/* From a trampoline to a handler and into the log of the thread, see entry.h. */
#define _GNU_SOURCE
#include "record/library/entry.h"

#include "base/hash.h"
#include "record/library/clock.h"
#include "record/library/environment.h"
#include "record/library/objects.h"
#include "record/library/texts.h"

#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

st_process st_now;
static atomic_uint lock; /* 0: free, 1: taken, 2: taken, and somebody waits */
static pthread_key_t thread_key;
static __attribute__((tls_model("initial-exec"))) _Thread_local st_thread *self;

uint64_t st_dispatch(uint32_t index, const uint64_t *registers, const uint64_t *stack);

/* A futex of three states. Free it is one exchange, and none at all while there is one thread. */
static inline void take_lock(void)
{
    unsigned free_state = 0;
    if (__libc_single_threaded && atomic_load_explicit(&lock, memory_order_relaxed) == 0) {
        atomic_store_explicit(&lock, 1, memory_order_relaxed);
        return;
    }
    if (atomic_compare_exchange_strong_explicit(&lock, &free_state, 1, memory_order_acquire,
                                                memory_order_relaxed))
        return;
    while (atomic_exchange_explicit(&lock, 2, memory_order_acquire) != 0)
        (void)syscall(SYS_futex, &lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static inline void leave_lock(void)
{
    if (__libc_single_threaded)
        atomic_store_explicit(&lock, 0, memory_order_relaxed);
    else if (atomic_exchange_explicit(&lock, 0, memory_order_release) == 2)
        (void)syscall(SYS_futex, &lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

uint64_t st_put_bytes(void *to, const void *value, size_t bytes)
{
    if (to == NULL)
        return ST_CUDA_INVALID_VALUE;
    memcpy(to, value, bytes);
    return 0;
}

uint64_t st_host_ns(void)
{
    return st_clock_ns(st_clock_ticks()) - st_now.header.start_monotonic_ns;
}

void st_mix(uint64_t value)
{
    self->work_hash = st_hash_word(self->work_hash, value);
}

void st_mix_size(uint64_t bytes)
{
    unsigned bits = bytes > 0 ? 64U - (unsigned)__builtin_clzll(bytes) : 0;
    st_mix(bits > 5 ? bytes >> (bits - 5) << (bits - 5) : bytes);
}

void st_mix_order(uint64_t value)
{
    st_mix(value > 0 ? 64U - (unsigned)__builtin_clzll(value) : 0);
}

/* ---- the log of a thread ---- */

static inline bool is_defined(const st_thread *thread, uint32_t string)
{
    return string / 64 < thread->defined_words &&
           (thread->defined[string / 64] >> (string % 64) & 1) != 0;
}

/* A log defines a string before the first record that uses it. */
static inline bool define(st_thread *thread, uint32_t string)
{
    if (is_defined(thread, string))
        return true;
    size_t word = string / 64;
    if (word >= thread->defined_words) {
        size_t words = word + 64;
        uint64_t *grown = realloc(thread->defined, words * sizeof *grown);
        if (grown == NULL)
            return false;
        memset(grown + thread->defined_words, 0, (words - thread->defined_words) * sizeof *grown);
        thread->defined = grown;
        thread->defined_words = words;
    }
    thread->defined[word] |= UINT64_C(1) << (string % 64);
    return st_log_define(thread->log, string, st_string_text(string));
}

/* When a record's call was, and what came of it. */
typedef struct moment {
    uint64_t begin_ns;
    uint32_t length_ns;
    uint16_t device;
    uint16_t status;
} moment;

/* A log that cannot grow ends here, without its end: it is a cut one. Said once, since nothing else
 * knows the reason. */
static void give_up(st_thread *thread)
{
    static bool said;
    if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
        (void)dprintf(STDERR_FILENO,
                      "steptime record: cannot write the log, calls are missing: %s\n",
                      strerror(errno));
    st_log_close(thread->log);
    thread->log = NULL;
}

/* The moment goes straight into the log: what was written just before is copied slowly. */
static inline void keep(st_thread *thread, const st_log_record *record, moment when)
{
    if (thread->log == NULL)
        return;
    bool fine = record->call == 0 || define(thread, record->call);
    if (record->kind == ST_LOG_LAUNCH && record->launch.kernel != 0)
        fine = define(thread, record->launch.kernel) && fine;
    if (record->kind == ST_LOG_CUDNN && record->cudnn.operations != 0)
        fine = define(thread, record->cudnn.operations) && fine;
    for (size_t i = 0; record->kind == ST_LOG_ARGUMENTS && i < ST_LOG_ARGUMENTS_OF_RECORD; i++)
        if (record->arguments.kind[i] == ST_LOG_ARG_STRUCT)
            fine = define(thread, (uint32_t)record->arguments.value[i]) && fine;
    bool has_text = record->kind == ST_LOG_MARK || record->kind == ST_LOG_MISUSE ||
                    record->kind == ST_LOG_UNSUPPORTED || record->kind == ST_LOG_FORKED;
    if (has_text && record->mark.text != 0)
        fine = define(thread, record->mark.text) && fine;
    st_log_record *into = fine ? st_log_next(thread->log) : NULL;
    if (into == NULL) {
        give_up(thread);
        return;
    }
    into->status = when.status;
    into->call = record->call;
    into->begin_ns = when.begin_ns;
    into->length_ns = when.length_ns;
    into->device = when.device;
    into->flags = record->flags;
    memcpy(&into->launch, &record->launch, sizeof *into - offsetof(st_log_record, launch));
    st_log_commit(into, record->kind);
}

static void keep_now(st_thread *thread, const st_log_record *record)
{
    keep(thread, record, (moment){.begin_ns = st_host_ns()});
}

static void end_log(st_thread *thread)
{
    if (thread->log == NULL)
        return;
    st_log_record end = {.kind = ST_LOG_END};
    end.end = (st_log_end){.records = st_log_written(thread->log),
                           .calls = thread->calls,
                           .unsupported = thread->unsupported,
                           .work_hash = thread->work_hash};
    keep_now(thread, &end);
    st_log_close(thread->log); /* NULL where the end did not fit */
    thread->log = NULL;
}

static void end_thread(void *context)
{
    take_lock();
    end_log(context);
    leave_lock();
}

static st_thread *begin_thread(void)
{
    st_thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL)
        return NULL;
    thread->work_hash = ST_HASH_BEGIN;
    st_log_header header = st_now.header;
    char path[sizeof st_now.folder + 64];
    char name[32];
    header.tid = (uint32_t)syscall(SYS_gettid);
    header.thread = thread->number = st_now.thread_count++;
    (void)snprintf(name, sizeof name, "%u-%u", header.pid, header.tid);
    st_settings_path(&st_now, name, path, sizeof path);
    thread->log = st_log_create(path, &header);
    if (thread->log == NULL)
        give_up(thread);
    thread->next = st_now.threads;
    st_now.threads = thread;
    self = thread;
    (void)pthread_setspecific(thread_key, thread);
    return thread;
}

/* ---- forks ---- */

static void before_fork(void)
{
    take_lock();
}

static void after_fork_in_parent(void)
{
    if (st_now.started && !st_now.ended && self != NULL) {
        st_log_record forked = {.kind = ST_LOG_FORKED};
        forked.mark.text = st_string("process forked after CUDA initialization");
        keep_now(self, &forked);
    }
    leave_lock();
}

/* The maps are the parent's: its child must not write into them. */
static void after_fork_in_child(void)
{
    for (st_thread *thread = st_now.threads; thread != NULL; thread = thread->next) {
        st_log_abandon(thread->log);
        thread->log = NULL;
    }
    st_now.threads = NULL;
    self = NULL;
    if (st_now.started) {
        st_now.header.parent_pid = st_now.header.pid;
        st_now.header.pid = (uint32_t)getpid();
        st_now.is_child = true;
    }
    leave_lock();
}

static void start(void)
{
    int error = errno;
    st_now.started = true;
    st_clock_start();
    st_settings_read(&st_now);
    (void)pthread_key_create(&thread_key, end_thread);
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    errno = error;
}

void st_begin_process(void)
{
    take_lock();
    if (!st_now.started)
        start();
    leave_lock();
}

static void end_logs(void)
{
    /* What was loaded after the first call, and registered no kernels, is seen at the end alone. */
    if (!st_now.two_versions && st_now.threads != NULL && !st_settings_versions(&st_now))
        keep_now(st_now.threads, &(st_log_record){.kind = ST_LOG_MISUSE,
                                                  .call = st_string("libcudart.so"),
                                                  .mark = {.text = st_string(ST_TWO_VERSIONS)}});
    for (st_thread *thread = st_now.threads; thread != NULL; thread = thread->next)
        end_log(thread);
    st_now.ended = true;
}

/* Runs after the program's own functions of atexit, which still call CUDA. */
static __attribute__((destructor)) void end_process(void)
{
    take_lock();
    end_logs();
    leave_lock();
}

/* Ends a process without its destructors, as children of Python's multiprocessing do. One of vfork
 * has its parent's memory, and a handler of signals may interrupt a call: their logs stay open. */
__attribute__((visibility("default"), noreturn)) void exit_now(int code) __asm__("_exit");
void exit_now(int code)
{
    unsigned free_state = 0;
    if (st_now.started && !st_now.ended && st_now.header.pid == (uint32_t)getpid() &&
        atomic_compare_exchange_strong(&lock, &free_state, 1))
        end_logs();
    for (;;)
        (void)syscall(SYS_exit_group, code);
}

/* The port of --store is also that of the store which PyTorch's rank 0 serves. Connections to
 * 127.0.0.1 reach the former, which listens there alone. */
__attribute__((visibility("default"))) int bind_too(int file, const struct sockaddr *address,
                                                    socklen_t bytes) __asm__("bind");
int bind_too(int file, const struct sockaddr *address, socklen_t bytes)
{
    const int yes = 1;
    uint16_t port = 0; /* at the same place in addresses of both families */
    const char *shared = getenv("STEPTIME_RECORD_STORE");
    bool is_internet = shared != NULL && bytes >= sizeof(struct sockaddr_in) &&
                       (address->sa_family == AF_INET || address->sa_family == AF_INET6);
    if (is_internet)
        memcpy(&port, address->sa_data, sizeof port);
    if (is_internet && ntohs(port) == strtoul(shared, NULL, 10))
        (void)setsockopt(file, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    return (int)syscall(SYS_bind, file, address, bytes);
}

void st_call_back(void (*function)(void *), void *data)
{
    leave_lock();
    function(data);
    take_lock();
}

void st_pause(uint32_t ms)
{
    leave_lock();
    (void)nanosleep(&(struct timespec){.tv_nsec = (long)ms * 1000000}, NULL);
    take_lock();
}

/* ---- calls ---- */

uint64_t st_misuse(st_call *call, uint64_t error, const char *what)
{
    call->draft.kind = ST_LOG_MISUSE;
    call->draft.status = (uint16_t)error;
    call->draft.mark = (st_log_mark){.text = st_string(what)};
    return error;
}

/* Of the records of a call. */
static uint16_t device_of(const st_call *call)
{
    return (uint16_t)(call->device != ST_NO_DEVICE ? call->device : call->thread->device);
}

st_log_record *st_extra(st_call *call, st_log_kind kind)
{
    uint32_t at =
        call->extra_count < ST_CALL_EXTRAS ? call->extra_count++ : (uint32_t)ST_CALL_EXTRAS - 1;
    call->extra[at] = (st_log_record){.kind = (uint16_t)kind, .device = device_of(call)};
    return &call->extra[at];
}

static uint64_t unsupported(st_call *call)
{
    static const uint16_t answers[ST_LIBRARIES] = {
        [ST_CUDART] = 801, [ST_CUDA] = 801, [ST_CUBLAS] = 15, [ST_CUBLASLT] = 15,
        [ST_CUDNN] = 3000, [ST_NCCL] = 3,   [ST_NVML] = 3,
    };
    st_thread *thread = call->thread;
    uint32_t name = call->draft.call;
    thread->unsupported++;
    call->draft.kind = is_defined(thread, name) ? ST_LOG_CALL : ST_LOG_UNSUPPORTED;
    return answers[call->entry->library];
}

static uint64_t run(st_call *call)
{
    bool runtime = call->entry->library == ST_CUDART || call->entry->library == ST_CUDA;
    if (st_now.is_child && runtime && !call->entry->quiet)
        return st_misuse(call, ST_CUDA_NOT_INITIALIZED,
                         "CUDA used in a child forked after CUDA initialization");
    if (call->entry->run == NULL)
        return unsupported(call);
    uint64_t error = call->entry->takes[0].kind != 0 ? st_take_arguments(call) : 0;
    return error != 0 ? error : call->entry->run(call);
}

/* The moment of a call that ends now. Readings of the clock are most of what a call costs: short
 * calls are as long as the shortest of their kind were, whose ends were read. */
static moment moment_of(const st_call *call, uint64_t begin, uint64_t result)
{
    enum { READ = 64 };
    static uint32_t shortest_ns = UINT32_MAX;
    static uint32_t readings;
    uint64_t length_ns = shortest_ns;
    const uint64_t start_ns = st_clock_ns(begin);
    if (!call->is_short || readings < READ) {
        length_ns = st_clock_length_ns(st_clock_ticks() - begin);
        length_ns = length_ns < UINT32_MAX ? length_ns : UINT32_MAX;
        if (call->is_short && length_ns < shortest_ns)
            shortest_ns = (uint32_t)length_ns;
        readings += call->is_short;
    }
    return (moment){.begin_ns = start_ns - st_now.header.start_monotonic_ns,
                    .length_ns = (uint32_t)length_ns,
                    .device = device_of(call),
                    .status = call->entry->quiet ? call->draft.status : (uint16_t)result};
}

uint64_t st_dispatch(uint32_t index, const uint64_t *registers, const uint64_t *stack)
{
    const bool counts = st_clock_now.scale > 0;
    const bool quiet = st_entries[index].quiet;
    uint64_t begin = quiet ? 0 : st_clock_ticks();
    take_lock();
    if (!st_now.started)
        start();
    if (counts != (st_clock_now.scale > 0)) /* the clock began meanwhile, in other ticks */
        begin = st_clock_ticks();
    st_thread *thread = self != NULL ? self : begin_thread();
    uint64_t result = ST_CUDA_DEINITIALIZED;
    if (thread != NULL && !st_now.ended) {
        st_call call;
        call.entry = &st_entries[index];
        call.registers = registers;
        call.stack = stack;
        call.thread = thread;
        call.stream = NULL;
        call.extra_count = 0;
        call.extra = thread->extra;
        call.device = ST_NO_DEVICE;
        call.is_short = false;
        call.draft = (st_log_record){.kind = ST_LOG_CALL, .call = index + 1};
        thread->calls++;
        st_now.per_thread = call.entry->per_thread;
        result = run(&call);
        if (result != 0 && result != ST_CUDA_NOT_READY && call.entry->library == ST_CUDART &&
            !call.entry->quiet)
            thread->last_error = (uint32_t)result;
        if (!quiet || call.draft.kind != ST_LOG_CALL) {
            moment when = moment_of(&call, quiet ? st_clock_ticks() : begin, result);
            keep(call.thread, &call.draft, when);
            when.length_ns = 0;
            for (uint32_t i = 0; i < call.extra_count; i++) {
                when.status = call.extra[i].status;
                when.device = call.extra[i].device;
                keep(call.thread, &call.extra[i], when);
            }
        }
    }
    leave_lock();
    return result;
}
