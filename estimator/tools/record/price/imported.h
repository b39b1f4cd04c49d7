/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded run as a trace: its logs read, what they launch priced for a GPU, walked through, and
 * written as what `steptime trace` reads.
 */
#ifndef STEPTIME_RECORD_PRICE_IMPORTED_H
#define STEPTIME_RECORD_PRICE_IMPORTED_H

#include "base/result.h"
#include "record/price/run_walk.h"

typedef struct st_import_request {
    const char *folder;
    st_run_options run;
    st_prices_request prices; /* gpu NULL and no cluster: the device that was recorded */
    int64_t gap_ns;           /* below 0: as recorded */
    const char *costs;        /* table of what calls cost the host; NULL: nothing */
    const char *step_kernel;  /* glob of the kernels that end a step; NULL: they are found */
} st_import_request;

/* Collectives of one kind. */
typedef struct st_imported_collective {
    uint64_t count;
    double bytes; /* as providers count them */
    int64_t time_ns;
} st_imported_collective;

/* Tasks of one operation. */
typedef struct st_imported_operation {
    const char *name;
    uint64_t count;
    double work_flop;
    int64_t time_ns;
    bool unknown;
} st_imported_operation;

/* What one worker does and takes. */
typedef struct st_imported_worker {
    uint64_t tasks;
    uint64_t products; /* matrix products, those of a batch once */
    double work_flop;
    int64_t busy_ns;    /* of all tasks, without waiting for others */
    int64_t waiting_ns; /* in collectives for others */
    uint64_t unknown;
    int64_t unknown_ns;
    uint64_t bounded; /* known, but of at most so many bytes */
    int64_t bounded_ns;
    uint64_t refined; /* whose time plugins change */
    int64_t refined_ns;
    st_imported_collective collectives[ST_LOG_OPERATIONS];
    st_imported_operation *operations;
    size_t operation_count;
    uint64_t peak_bytes; /* charged on the fullest device */
    int64_t peak_ns;
    int64_t length_ns; /* to the last call or task */
    size_t steps;      /* that repeat at the end */
    int64_t step_ns;   /* the median of them; 0: nothing repeats */
    size_t step_tasks;
    uint64_t step_unknown; /* tasks of a step whose time is a guess, and that on average */
    int64_t step_unknown_ns;
    int64_t *step_begin_ns; /* steps + 1 */
    size_t *step_first;     /* the first task of each, and behind the last one; steps + 1 */
} st_imported_worker;

typedef struct st_imported {
    st_run *run;
    st_prices *prices;
    st_price *shape_prices;
    st_groups *groups;
    st_walk *walk;
    st_imported_worker *workers; /* by worker of the run */
    uint64_t unpriced;           /* collectives that no provider knows */
    const char *device;          /* priced for */
    const char *step_kernel;     /* of the request */
    int64_t gap_ns;              /* ditto */
    bool has_costs;
} st_imported;

#define ST_OPTIMIZER_OPERATION "stream" /* of the rules: one pass over all parameters */

/* Everything lives in `arena`, with which the run goes. */
st_status st_imported_make(const st_paths *paths, const st_import_request *request, st_arena *arena,
                           st_imported **imported, st_errors *errors) ST_NODISCARD;

/* The trace of one rank, from its worker, as PyTorch's profiler would write it. */
void st_imported_write(const st_imported *imported, uint64_t rank, st_buffer *buffer);

/* The closed form of the same step. */
typedef struct st_imported_job {
    const char *job; /* a name or path; NULL: as the recording shows it */
    const char *const *sets;
    size_t set_count;
} st_imported_job;

/* Estimates the job, and adds both steps by part to what `steptime trace import` prints: those of
 * the worker with the longest step. An error where no worker has one; of a job that the recording
 * does not show in full it says what is missing. */
st_status st_imported_compare(const st_paths *paths, const st_imported *imported,
                              const st_imported_job *job, st_arena *arena, st_node *root,
                              st_errors *errors) ST_NODISCARD;

/* What `steptime trace import` prints; the root, to which more can be added. */
st_node *st_imported_result(const st_imported *imported, st_arena *arena, st_result *result);

/* Costs of calls by their names: a table "call,time_us", or a recording to learn them from
 * (docs/record.md). */
st_status st_call_costs_read(const char *file, st_arena *arena, const st_call_cost **costs,
                             size_t *count, st_errors *errors) ST_NODISCARD;

/* Finds the steps at the end of a worker, and adds up what it does. */
void st_imported_count(const st_imported *imported, size_t worker, st_arena *arena);
void st_imported_find_steps(const st_imported *imported, size_t worker, st_arena *arena);

#endif
