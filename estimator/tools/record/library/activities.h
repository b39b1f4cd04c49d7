/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI reports about calls and GPU tasks, as records of a log.
 *
 * The beginnings of CUPTI's records have been the same since CUDA 11; what follows them, and what
 * no record here needs, is left alone. The CUPTI reference describes them (CUpti_Activity...).
 */
#ifndef STEPTIME_RECORD_LIBRARY_ACTIVITIES_H
#define STEPTIME_RECORD_LIBRARY_ACTIVITIES_H

#include "record/log.h"

/* CUpti_ActivityKind */
enum {
    ST_CUPTI_MEMCPY = 1,
    ST_CUPTI_MEMSET = 2,
    ST_CUPTI_DRIVER = 4,
    ST_CUPTI_RUNTIME = 5,
    ST_CUPTI_KERNEL = 10,
    ST_CUPTI_MEMCPY_PEER = 22,
    ST_CUPTI_EVENT = 36,
    ST_CUPTI_STREAM = 37,
    ST_CUPTI_SYNCHRONIZATION = 38,
    ST_CUPTI_EXTERNAL = 39,
    ST_CUPTI_MEMORY = 49
};

typedef struct st_cupti_api {
    uint32_t kind, callback;
    uint64_t start_ns, end_ns;
    uint32_t process, thread, correlation, result;
} st_cupti_api;

typedef struct st_cupti_kernel {
    uint32_t kind, configuration[3];
    uint64_t start_ns, end_ns, completed_ns;
    uint32_t device, context, stream, grid[3], block[3];
    uint32_t static_shared, dynamic_shared, local[2], correlation;
    uint64_t grid_id;
    const char *name; /* mangled; lives as long as CUPTI */
} st_cupti_kernel;

typedef struct st_cupti_copy {
    uint32_t kind;
    uint8_t direction, from, to, flags;
    uint64_t bytes, start_ns, end_ns;
    uint32_t device, context, stream, correlation;
    uint32_t peers[3];
    uint32_t peer_correlation; /* of ST_CUPTI_MEMCPY_PEER, in place of the other */
} st_cupti_copy;

typedef struct st_cupti_set {
    uint32_t kind, value;
    uint64_t bytes, start_ns, end_ns;
    uint32_t device, context, stream, correlation;
} st_cupti_set;

typedef struct st_cupti_event {
    uint32_t kind, correlation, context, stream, event;
} st_cupti_event;

typedef struct st_cupti_stream {
    uint32_t kind, context, stream, priority, flag, correlation;
} st_cupti_stream;

typedef struct st_cupti_wait {
    uint32_t kind, type;
    uint64_t start_ns, end_ns;
    uint32_t correlation, context, stream, event;
} st_cupti_wait;

typedef struct st_cupti_memory {
    uint32_t kind, operation, memory, correlation;
    uint64_t address, bytes, time_ns, code;
    uint32_t process, device, context, stream;
} st_cupti_memory;

/* What the thread had pushed when it made the call of this number. */
typedef struct st_cupti_external {
    uint32_t kind, pushed_kind;
    uint64_t pushed;
    uint32_t correlation;
} st_cupti_external;

/* cuptiGetCallbackName */
typedef int st_callback_name(uint32_t domain, uint32_t callback, const char **name);

/* Begins a log; false where that fails. CUPTI's time 0 is `zero_ns` after the process' first call,
 * modulo 2^64. */
bool st_activities_open(const char *path, const st_log_header *header, uint64_t zero_ns,
                        st_callback_name *name);
/* Writes one of CUPTI's records; ignores kinds not listed above. */
void st_activities_take(const void *record);
/* Gives a product its number in ST_CUPTI_EXTERNAL; 0: no log is open. */
uint64_t st_activities_product(const st_log_gemm *gemm);
/* Logs that a stream is the default one of its device. */
void st_activities_default(uint32_t stream);
/* Logs what CUPTI refused. */
void st_activities_refused(const char *what, int error);
void st_activities_close(void);
/* For pthread_atfork: CUPTI's thread may hold the lock, and a child's log is its parent's. */
void st_activities_before_fork(void);
void st_activities_after_fork_in_parent(void);
void st_activities_after_fork_in_child(void);

#endif
