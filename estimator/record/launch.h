/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting programs with the recorder before CUDA's libraries, one process for each rank.
 *
 * A rank has RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its
 * environment, as torchrun gives them, and is the leader of a process group, which is ended when
 * its time is over. What it prints goes where the standard error goes.
 */
#ifndef STEPTIME_RECORD_LAUNCH_H
#define STEPTIME_RECORD_LAUNCH_H

#include "steptime/arena.h"

typedef struct st_launch_request {
    const char *const *command; /* the program and its arguments, ends with NULL */
    const char *path;           /* of the program */
    const char *library;        /* folder of libsteptime-record.so */
    const char *folder;         /* of the run, an absolute path */
    const char *device;         /* STEPTIME_RECORD_DEVICE, see library/environment.h */
    const char *charges;
    const char *policy;
    uint32_t devices; /* of a process, and ranks of a node */
    uint32_t world;   /* 0: no ranks, the environment is left as it is */
    double limit_s;   /* 0: none */
} st_launch_request;

/* How a rank ended. */
typedef struct st_launch_end {
    int32_t rank; /* -1: the only process of no world */
    int exit_code;
    int signal; /* 0: it ended by itself */
    bool over_time;
} st_launch_end;

/*
 * Runs `count` ranks, `together` or one after the other, and waits for them; ends[i] is how
 * ranks[i] ended. A rank that fails does not keep the others from running.
 */
st_status st_launch(const st_launch_request *request, const int32_t *ranks, size_t count,
                    bool together, st_launch_end *ends, st_errors *errors) ST_NODISCARD;

#endif
