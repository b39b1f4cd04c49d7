/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts programs with the recorder preloaded, one process per rank. A rank has RANK, WORLD_SIZE,
 * LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment, as with torchrun,
 * and leads a process group, which is killed when its time is over. Its output goes to standard
 * error.
 *
 * Ranks run one after the other, but when one waits - for a file of another rank, for a connection,
 * in ncclCommSplit - the next one starts. So programs can meet by any means, and those that do not
 * meet do not disturb each other's times. If only some ranks run and all of them wait for keys of
 * the store, these keys get placeholders.
 */
#ifndef STEPTIME_RECORD_START_PROGRAM_H
#define STEPTIME_RECORD_START_PROGRAM_H

#include "record/tcp_store.h"
#include "steptime/arena.h"

typedef struct st_launch_request {
    const char *const *command; /* the program and its arguments, ends with NULL */
    const char *path;           /* of the program */
    const char *library;        /* folder of libsteptime-record.so */
    const char *folder;         /* of the run, an absolute path */
    const char *device;         /* STEPTIME_RECORD_DEVICE, see library/environment.h */
    const char *charges;
    const char *policy;
    uint32_t devices;  /* of a process, and ranks of a node */
    uint32_t world;    /* 0: no ranks, the environment is left as it is */
    double limit_s;    /* 0: none */
    bool progress;     /* says every 10 s that the program still runs */
    bool together;     /* start all ranks at once */
    bool complete;     /* all ranks run: those of a communicator can wait for each other */
    st_store *store;   /* by which ranks meet, see tcp_store.h; NULL: none is served */
    const char *cupti; /* CUPTI's library, with a real GPU; NULL: none */
} st_launch_request;

typedef struct st_real_gpu {
    const char *cupti; /* CUPTI's library, as dlopen finds it */
    uint32_t count;    /* GPUs */
} st_real_gpu;

/* The GPU of this machine, and CUPTI, which measures it: the library `cupti`, NULL: looked for by
 * its names and where CUDA installs it. That one of them or the driver is missing is an error. */
st_status st_real_gpu_find(const char *cupti, st_real_gpu *found, st_errors *errors) ST_NODISCARD;

/* How a rank ended. */
typedef struct st_launch_end {
    int32_t rank; /* -1: the only process of no world */
    int exit_code;
    int signal; /* 0: it ended by itself */
    bool over_time;
    bool waited;        /* at that time, for another rank or for anything else */
    const char *awaits; /* a key of the store that no rank that was left set; NULL: none */
} st_launch_end;

typedef struct st_fleet st_fleet;

/* Starts nothing yet. */
st_fleet *st_fleet_make(const st_launch_request *request, st_arena *arena);
/* Every rank of the world is going to run. */
void st_fleet_complete(st_fleet *fleet);
/*
 * Runs `count` ranks more. Returns when all that were started have ended or, with `patience`, when
 * all that are left have waited for two seconds. A rank that fails does not keep the others from
 * running. After an error those that were started may still run.
 */
st_status st_fleet_run(st_fleet *fleet, const int32_t *ranks, size_t count, bool patience,
                       st_errors *errors) ST_NODISCARD;
/* Kills what was started and has not ended, with its process group; NULL is none. */
void st_fleet_end(st_fleet *fleet);
/* Ranks that were started and have not ended. */
size_t st_fleet_alive(const st_fleet *fleet);
/* How those that were started ended, in the order of their start. */
const st_launch_end *st_fleet_ends(const st_fleet *fleet, size_t *count);

#endif
