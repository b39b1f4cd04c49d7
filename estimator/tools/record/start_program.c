/* SPDX-License-Identifier: Apache-2.0 */
/* see start_program.h. */
#include "record/start_program.h"

#include "base/memory.h"
#include "record/waiting.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    POLL_NS = 500000,
    GRACE_MS = 500,
    CANNOT_RUN = 127,
    WINDOW_NS = 10000000,   /* in which a process that waits ... */
    WINDOW_CPU_NS = 500000, /* ... takes less than this of a processor */
};

/* Of one that waits for ranks that do not come: longer than programs sleep for each other. */
static const uint64_t PATIENCE_NS = UINT64_C(3000000000);

typedef struct running {
    pid_t pid; /* 0: it has ended */
    double start_s;
    bool was_asked;    /* to end */
    uint64_t seen_ns;  /* when its activity was read last, on CLOCK_MONOTONIC */
    uint64_t cpu_ns;   /* what it had taken then */
    uint64_t still_ns; /* since when it has waited; 0: it does not */
} running;

struct st_fleet {
    st_launch_request request;
    st_arena *arena;
    running *processes;
    size_t count;
    st_launch_end *ends; /* of each process */
    size_t end_count;
    size_t alive;
    double said_s;  /* when progress was said; 0: not yet */
    double stuck_s; /* since when all are known to wait for ever; 0: they are not */
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static double seconds(void)
{
    return 1e-9 * (double)now_ns();
}

/* A program that misses a part of its environment would be recorded elsewhere, or not at all. */
static void put(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        _exit(CANNOT_RUN);
}

static void put_number(const char *name, uint32_t number)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%u", number);
    put(name, text);
}

/* "FIRST:previous value" */
static void put_before(const char *name, const char *first)
{
    const char *old = getenv(name);
    size_t bytes = strlen(first) + (old != NULL ? strlen(old) : 0) + 2;
    char *text = malloc(bytes);
    if (text == NULL)
        _exit(CANNOT_RUN);
    (void)snprintf(text, bytes, old != NULL && *old != '\0' ? "%s:%s" : "%s", first, old);
    put(name, text);
    free(text);
}

static void put_environment(const st_launch_request *request, int32_t rank)
{
    char library[4096];
    const char *name = request->cupti != NULL ? "profile" : "record";
    (void)snprintf(library, sizeof library, "%s/libsteptime-%s.so", request->library, name);
    put_before("LD_PRELOAD", library);
    if (request->cupti != NULL) {
        /* The driver loads it before it does anything. */
        put("CUDA_INJECTION64_PATH", library);
        put("STEPTIME_RECORD_CUPTI", request->cupti);
        (void)snprintf(library, sizeof library, "%s/nccl", request->library);
        put_before("LD_LIBRARY_PATH", library);
    } else {
        put_before("LD_LIBRARY_PATH", request->library);
        put("NVTX_INJECTION64_PATH", library);
    }
    put("STEPTIME_RECORD", request->folder);
    put("STEPTIME_RECORD_DEVICE", request->device);
    put("STEPTIME_RECORD_CHARGES", request->charges);
    put("STEPTIME_RECORD_POLICY", request->policy);
    put_number("STEPTIME_RECORD_DEVICES", request->devices);
    put_number("STEPTIME_RECORD_COMPLETE", request->complete);
    if (rank < 0)
        return;
    put_number("RANK", (uint32_t)rank);
    put_number("WORLD_SIZE", request->world);
    put_number("LOCAL_RANK", (uint32_t)rank % request->devices);
    put_number("LOCAL_WORLD_SIZE",
               request->world < request->devices ? request->world : request->devices);
    if (request->store != NULL || getenv("MASTER_ADDR") == NULL)
        put("MASTER_ADDR", "127.0.0.1");
    if (getenv("MASTER_PORT") == NULL)
        put("MASTER_PORT", "29500");
    if (request->store == NULL)
        return;
    put_number("MASTER_PORT", st_store_port(request->store));
    /* As torchrun has it: PyTorch's rank 0 then serves no store of its own. Its client of torchrun
     * needs libuv, which builds without it say; there, rank 0 serves one that nobody asks. */
    const char *libuv = getenv("USE_LIBUV");
    if (libuv != NULL && strcmp(libuv, "0") == 0) {
        put_number("STEPTIME_RECORD_STORE", st_store_port(request->store));
        return;
    }
    put("TORCHELASTIC_USE_AGENT_STORE", "True");
    put("TORCHELASTIC_RESTART_COUNT", "0");
}

/* Looks from time to time whether a process takes time of a processor. */
static void watch(running *process)
{
    st_activity activity;
    uint64_t now = now_ns();
    if (now - process->seen_ns < WINDOW_NS || !st_activity_of(process->pid, &activity))
        return;
    bool waits = !activity.busy && activity.cpu_ns - process->cpu_ns < WINDOW_CPU_NS;
    /* What children took goes with them. */
    waits = waits || (!activity.busy && activity.cpu_ns < process->cpu_ns);
    if (!waits)
        process->still_ns = 0;
    else if (process->still_ns == 0)
        process->still_ns = now;
    process->seen_ns = now;
    process->cpu_ns = activity.cpu_ns;
}

static void poll_all(st_fleet *fleet)
{
    for (size_t i = 0; i < fleet->count; i++) {
        running *process = &fleet->processes[i];
        if (process->pid == 0)
            continue;
        st_launch_end *end = &fleet->ends[i];
        int state = 0;
        pid_t got = waitpid(process->pid, &state, WNOHANG);
        if (got != 0 && !(got < 0 && errno == EINTR)) {
            /* What it left behind in its group goes with it. */
            (void)kill(-process->pid, SIGKILL);
            end->exit_code = got > 0 && WIFEXITED(state) ? WEXITSTATUS(state) : -1;
            end->signal = got > 0 && WIFSIGNALED(state) ? WTERMSIG(state) : 0;
            process->pid = 0;
            fleet->alive--;
            continue;
        }
        /* Ends a process group that is over its time: first politely. */
        double over_s = seconds() - process->start_s - fleet->request.limit_s;
        bool is_late = fleet->request.limit_s > 0 && over_s > 0;
        if (!is_late && fleet->stuck_s <= 0)
            continue;
        over_s = is_late ? over_s : seconds() - fleet->stuck_s;
        end->over_time = end->over_time || (is_late && end->awaits == NULL);
        end->waited = process->still_ns != 0;
        if (!process->was_asked)
            (void)kill(-process->pid, SIGTERM);
        else if (over_s * 1000 > GRACE_MS)
            (void)kill(-process->pid, SIGKILL);
        process->was_asked = true;
    }
}

/* A program may train for as long as it would with a GPU. */
static void say_progress(st_fleet *fleet)
{
    enum { EVERY_S = 10 };
    double now_s = seconds();
    if (fleet->said_s <= 0)
        fleet->said_s = now_s;
    if (!fleet->request.progress || now_s - fleet->said_s < EVERY_S)
        return;
    fleet->said_s = now_s;
    (void)fprintf(stderr, "recording: %zu processes run, the latest for %.0f s%s\n", fleet->alive,
                  now_s - fleet->processes[fleet->count - 1].start_s,
                  fleet->request.limit_s > 0 ? "" : "; --limit 60s would end it");
}

static void rest(st_fleet *fleet)
{
    say_progress(fleet);
    if (fleet->request.store != NULL)
        st_store_serve(fleet->request.store, POLL_NS / 1000);
    else
        (void)nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

/* Whether all that run wait for keys, which is known at once. */
static bool all_in_store(const st_fleet *fleet)
{
    const st_store *store = fleet->request.store;
    return store != NULL && st_store_all_wait(store, fleet->alive);
}

/* Until the process has ended or waits. */
static void wait_for_one(st_fleet *fleet, size_t index)
{
    for (poll_all(fleet); fleet->processes[index].pid != 0; poll_all(fleet)) {
        watch(&fleet->processes[index]);
        if (fleet->processes[index].still_ns != 0 || all_in_store(fleet))
            return;
        rest(fleet);
    }
}

/* Whether all that are left have waited for so long. */
static bool all_wait(st_fleet *fleet, uint64_t ns)
{
    bool all = true;
    uint64_t now = now_ns();
    for (size_t i = 0; i < fleet->count; i++) {
        running *process = &fleet->processes[i];
        if (process->pid == 0)
            continue;
        watch(process);
        all = all && process->still_ns != 0 && now > process->still_ns + ns;
    }
    return all;
}

/* What the ranks that run wait for nobody sets, where there are others. */
static void stand_in(st_fleet *fleet)
{
    st_store *store = fleet->request.store;
    if (store == NULL || fleet->request.complete || st_store_waiting(store) == 0 ||
        !(all_in_store(fleet) || all_wait(fleet, 0)))
        return;
    st_store_stand_in(store);
    for (size_t i = 0; i < fleet->count; i++)
        fleet->processes[i].still_ns = 0;
}

/* Where all ranks run, and all that are left wait in the store, nobody sets what they wait for. */
static void end_stuck(st_fleet *fleet)
{
    const st_store *store = fleet->request.store;
    if (!fleet->request.complete || fleet->count < fleet->request.world || fleet->stuck_s > 0 ||
        !all_in_store(fleet) || !all_wait(fleet, PATIENCE_NS))
        return;
    const char *key = st_store_awaited(store, fleet->arena);
    for (size_t i = 0; i < fleet->count; i++)
        if (fleet->processes[i].pid != 0)
            fleet->ends[i].awaits = key;
    fleet->stuck_s = seconds();
}

st_fleet *st_fleet_make(const st_launch_request *request, st_arena *arena)
{
    st_fleet *made = st_arena_alloc(arena, 1, sizeof *made);
    *made = (st_fleet){.request = *request, .arena = arena};
    return made;
}

void st_fleet_complete(st_fleet *fleet)
{
    fleet->request.complete = true;
}

static st_status start_one(st_fleet *fleet, int32_t rank, st_errors *errors)
{
    /* A rank that is run again ends as it does now. */
    for (size_t i = 0; i < fleet->end_count && rank >= 0; i++)
        if (fleet->ends[i].rank == rank)
            fleet->ends[i] = (st_launch_end){.rank = rank};
    st_launch_end end = {.rank = rank};
    pid_t pid = fork();
    if (pid < 0)
        return st_fail(errors, ST_ERR_IO, (st_place){.file = fleet->request.path},
                       "cannot start the program: %s", strerror(errno));
    if (pid == 0) {
        (void)setpgid(0, 0);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody else ends it where steptime ends early */
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        (void)signal(SIGPIPE, SIG_DFL);
        put_environment(&fleet->request, rank);
        /* The array is execv's to read; its type is older than const. */
        char **command;
        const char *const *given = fleet->request.command;
        memcpy(&command, &given, sizeof command);
        (void)execv(fleet->request.path, command);
        _exit(CANNOT_RUN);
    }
    (void)setpgid(pid, pid);
    running process = {.pid = pid, .start_s = seconds(), .seen_ns = now_ns()};
    (void)ST_APPEND(fleet->arena, fleet->ends, fleet->end_count, end);
    (void)ST_APPEND(fleet->arena, fleet->processes, fleet->count, process);
    fleet->alive++;
    return ST_OK;
}

st_status st_fleet_run(st_fleet *fleet, const int32_t *ranks, size_t count, bool patience,
                       st_errors *errors)
{
    st_status status = ST_OK;
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        status = start_one(fleet, ranks[i], errors);
        if (status == ST_OK && !fleet->request.together)
            wait_for_one(fleet, fleet->count - 1);
    }
    if (status == ST_OK) {
        for (poll_all(fleet); fleet->alive > 0; poll_all(fleet)) {
            stand_in(fleet);
            end_stuck(fleet);
            if (all_wait(fleet, PATIENCE_NS) && patience)
                break;
            rest(fleet);
        }
    }
    return status;
}

void st_fleet_end(st_fleet *fleet)
{
    for (size_t i = 0; fleet != NULL && i < fleet->count; i++)
        if (fleet->processes[i].pid != 0) {
            running *process = &fleet->processes[i];
            (void)kill(-process->pid, SIGKILL);
            while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
                continue;
            process->pid = 0;
        }
    if (fleet != NULL)
        fleet->alive = 0;
}

size_t st_fleet_alive(const st_fleet *fleet)
{
    return fleet->alive;
}

const st_launch_end *st_fleet_ends(const st_fleet *fleet, size_t *count)
{
    *count = fleet->end_count;
    return fleet->ends;
}
