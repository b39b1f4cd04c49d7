/* SPDX-License-Identifier: Apache-2.0 */
/* See launch.h. */
#include "record/launch.h"

#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_NS = 2000000, GRACE_MS = 500, CANNOT_RUN = 127 };

typedef struct running {
    pid_t pid; /* 0: it has ended */
    double start_s;
    bool was_asked; /* to end */
} running;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void put(const char *name, const char *value)
{
    (void)setenv(name, value, 1);
}

static void put_number(const char *name, uint32_t number)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%u", number);
    put(name, text);
}

/* "FIRST:what stood there before" */
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
    (void)snprintf(library, sizeof library, "%s/libsteptime-record.so", request->library);
    put_before("LD_PRELOAD", library);
    put_before("LD_LIBRARY_PATH", request->library);
    put("STEPTIME_RECORD", request->folder);
    put("STEPTIME_RECORD_DEVICE", request->device);
    put("STEPTIME_RECORD_CHARGES", request->charges);
    put("STEPTIME_RECORD_POLICY", request->policy);
    put_number("STEPTIME_RECORD_DEVICES", request->devices);
    if (rank < 0)
        return;
    put_number("RANK", (uint32_t)rank);
    put_number("WORLD_SIZE", request->world);
    put_number("LOCAL_RANK", (uint32_t)rank % request->devices);
    put_number("LOCAL_WORLD_SIZE",
               request->world < request->devices ? request->world : request->devices);
    (void)setenv("MASTER_ADDR", "127.0.0.1", 0);
    (void)setenv("MASTER_PORT", "29500", 0);
}

static st_status start(const st_launch_request *request, int32_t rank, running *into,
                       st_errors *errors)
{
    pid_t pid = fork();
    if (pid < 0)
        return st_fail(errors, ST_ERR_IO, (st_place){.file = request->path},
                       "cannot start the program: %s", strerror(errno));
    if (pid == 0) {
        (void)setpgid(0, 0);
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        (void)signal(SIGPIPE, SIG_DFL);
        put_environment(request, rank);
        /* The array is execv's to read; its type is older than const. */
        char **command;
        const char *const *given = request->command;
        memcpy(&command, &given, sizeof command);
        (void)execv(request->path, command);
        _exit(CANNOT_RUN);
    }
    (void)setpgid(pid, pid);
    *into = (running){.pid = pid, .start_s = seconds()};
    return ST_OK;
}

/* Ends a process group that is over its time: first politely. */
static void end_late(const st_launch_request *request, running *process, st_launch_end *end)
{
    double over_s = seconds() - process->start_s - request->limit_s;
    if (request->limit_s <= 0 || over_s <= 0)
        return;
    end->over_time = true;
    if (!process->was_asked)
        (void)kill(-process->pid, SIGTERM);
    else if (over_s * 1000 > GRACE_MS)
        (void)kill(-process->pid, SIGKILL);
    process->was_asked = true;
}

static bool has_ended(running *process, st_launch_end *end)
{
    int state = 0;
    pid_t got = waitpid(process->pid, &state, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR))
        return false;
    /* What it left behind in its group goes with it. */
    (void)kill(-process->pid, SIGKILL);
    end->exit_code = got > 0 && WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    end->signal = got > 0 && WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    process->pid = 0;
    return true;
}

static void wait_for(const st_launch_request *request, running *processes, size_t count,
                     st_launch_end *ends)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        left += processes[i].pid != 0;
    while (left > 0) {
        for (size_t i = 0; i < count; i++) {
            if (processes[i].pid == 0)
                continue;
            if (has_ended(&processes[i], &ends[i]))
                left--;
            else
                end_late(request, &processes[i], &ends[i]);
        }
        if (left > 0)
            (void)nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    }
}

st_status st_launch(const st_launch_request *request, const int32_t *ranks, size_t count,
                    bool together, st_launch_end *ends, st_errors *errors)
{
    running *processes = calloc(count, sizeof *processes);
    if (processes == NULL)
        return st_out_of_memory(errors);
    st_status status = ST_OK;
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        ends[i] = (st_launch_end){.rank = ranks[i]};
        status = start(request, ranks[i], &processes[i], errors);
        if (!together)
            wait_for(request, &processes[i], 1, &ends[i]);
    }
    wait_for(request, processes, count, ends);
    free(processes);
    return status;
}
