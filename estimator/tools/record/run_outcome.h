/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the logs of a run say about it: how much was called, what was not supported, misused or out
 * of memory, and which workers did the same. Also what `run.json` holds.
 */
#ifndef STEPTIME_RECORD_RUN_OUTCOME_H
#define STEPTIME_RECORD_RUN_OUTCOME_H

#include "base/result.h"
#include "record/start_program.h"

/* A function that is not supported, or a misuse, and how many threads met it. */
typedef struct st_run_outcome_item {
    const char *text;
    const char *call;
    uint16_t status; /* what CUDA answered */
    uint64_t count;
} st_run_outcome_item;

typedef struct st_run_outcome_block {
    uint64_t bytes;
    uint64_t charged_bytes;
} st_run_outcome_block;

typedef struct st_run_outcome {
    uint64_t logs;
    uint64_t cut_logs;    /* of threads that did not end in order */
    uint64_t unreadable;  /* logs that st_log_read refused */
    uint64_t full;        /* logs that could not grow ... */
    int full_error;       /* ... for this reason, of errno */
    uint64_t calls;       /* recorded */
    uint64_t launches;    /* of kernels */
    uint64_t products;    /* of cuBLAS */
    uint64_t collectives; /* of NCCL */
    uint64_t reads;       /* copies to the host of an executed program */
    uint64_t unsupported; /* calls */
    uint64_t processes;
    uint64_t unique; /* processes that did something no other did, by their hash */
    uint64_t forks;
    uint64_t unsure_splits; /* splits of a communicator that got the size of their parent */
    uint64_t peak_bytes;    /* the most that was charged on one device */
    bool out_of_memory;
    int32_t oom_rank;
    uint64_t oom_bytes; /* the first request that did not fit */
    uint64_t oom_live_bytes;
    st_run_outcome_block *oom_blocks; /* the largest that were alive then */
    size_t oom_block_count;
    st_run_outcome_item *unsupported_items;
    size_t unsupported_count;
    st_run_outcome_item *misuses;
    size_t misuse_count;
    struct st_run_outcome_process *each; /* process */
    size_t each_count;
} st_run_outcome;

/* Reads all logs of a run's folder, which may have none (logs == 0). Unreadable logs are counted,
 * not reported. */
st_status st_run_outcome_read(const char *folder, st_arena *arena, st_run_outcome *outcome,
                              st_errors *errors) ST_NODISCARD;

/* The run as a result: for `run.json`, --json and the terminal. */
void st_run_outcome_put(const st_run_outcome *outcome, const st_launch_end *ends, size_t count,
                        st_node *root);

#endif
