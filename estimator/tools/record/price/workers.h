/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logs of a recorded run as workers: the calls of each process in order of time, with names
 * that all of them share. Processes with equal hashes at the end of their logs are one worker,
 * which represents all of them; only its log is read.
 */
#ifndef STEPTIME_RECORD_PRICE_WORKERS_H
#define STEPTIME_RECORD_PRICE_WORKERS_H

#include "base/index.h"
#include "record/log.h"
#include "trace/prices.h"

/* So that no time overflows, with the bounds on a gap and on a price. */
enum {
    ST_WORKERS_MOST_CALLS = 1 << 24,
    ST_WORKERS_MOST_TASKS = 1 << 23,
    ST_WORKERS_MOST_RANKS = 1 << 20
};

#define ST_NO_INDEX UINT32_MAX

/* A recorded call. */
typedef struct st_worker_call {
    const st_log_record *record; /* without times, which calls that are alike share; of its strings
                                    functions (0: none), kernels and marks are in st_run.names,
                                    others not to be used */
    int64_t begin_ns;            /* as recorded; once walked, as in the priced run */
    uint32_t length_ns;
    uint32_t thread; /* of the process, from 0 */
    uint32_t shape;  /* of the GPU task, in st_run.shapes; or ST_NO_INDEX */
    uint32_t times;  /* in st_run.times; 0: none */
} st_worker_call;

/* What a real GPU took, see cupti_join.h. */
typedef struct st_call_times {
    st_log_measured log;
    uint32_t behind; /* so many places after the call that put this on a GPU; 0: it is a call */
    bool joined;     /* has its call */
} st_call_times;

/* A communicator as a process got it. */
typedef struct st_worker_comm {
    uint64_t comm;
    uint64_t parent;
    int64_t rank; /* -1: not known */
    int64_t ranks;
    int64_t color;
    int64_t key;
    uint32_t device;
} st_worker_comm;

typedef struct st_worker {
    const char *file;
    st_log_header header;
    int64_t rank;
    uint64_t hash;       /* of what it did; 0: not known */
    uint64_t rank_count; /* ranks that it represents, itself included */
    bool whole;          /* its logs end in order */
    st_worker_call *calls;
    size_t call_count;
    size_t call_room; /* of `calls` */
    size_t thread_count;
    st_worker_comm *comms;
    size_t comm_count;
    uint64_t unsupported; /* calls that the recorder does not know */
    uint64_t out_of_memory;
} st_worker;

typedef struct st_run {
    const char *folder;
    st_worker *workers; /* by rank */
    size_t worker_count;
    size_t process_count; /* recorded */
    uint64_t world;
    uint32_t *worker_of;    /* by rank: the worker that represents it */
    uint64_t assumed;       /* ranks that were not recorded */
    uint64_t left_out;      /* processes that used no GPU, where others did */
    uint64_t lost_tasks;    /* measured ones, whose calls are not in the logs */
    struct st_names *names; /* trace/strings.h */
    st_task_shape *shapes;  /* of GPU tasks, each once; collectives are not among them */
    size_t shape_count;
    st_index shape_index;
    const st_log_record **records; /* of calls, each once */
    size_t record_count;
    st_index record_index;
    st_call_times *times; /* of calls; the first is none */
    size_t time_count;
    st_arena *arena;
} st_run;

typedef struct st_run_options {
    bool each;             /* read every log, also of workers that do the same */
    uint64_t world;        /* 0: as the logs say */
    const st_rules *rules; /* of kernels, with formulas for their sizes */
} st_run_options;

/* Reads a run; on success *run is for st_run_destroy. */
st_status st_run_read(const char *folder, const st_run_options *options, st_run **run,
                      st_errors *errors) ST_NODISCARD;
void st_run_destroy(st_run *run); /* NULL is fine */

/* The index of a shape, which is added where it is new. */
uint32_t st_run_shape(st_run *run, const st_task_shape *shape);

/* A record as the run keeps it, without its times. */
const st_log_record *st_run_record(st_run *run, const st_log_record *record);

/* The stream that a record goes to, NULL for none. */
const uint32_t *st_record_stream(const st_log_record *record);

/* What a record does on the GPU; false where the rules have no task for it. */
bool st_task_shape_of(const st_log_record *record, const char *name, st_task_shape *shape);

#endif
