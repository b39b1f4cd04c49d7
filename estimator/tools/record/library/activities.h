/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI reports about calls and GPU tasks, as records of a log.
 *
 * The beginnings of CUPTI's records have been the same since CUDA 11; what follows them, and what
 * no record here needs, is left alone. The CUPTI reference declares them (CUpti_Activity...).
 */
#ifndef STEPTIME_RECORD_LIBRARY_ACTIVITIES_H
#define STEPTIME_RECORD_LIBRARY_ACTIVITIES_H

#include "record/log.h"

/* What becomes of one. */
typedef struct st_activity_draft {
    st_log_record record; /* of kind ST_LOG_NONE: it is not logged */
    st_log_measured measured;
    uint32_t stream;
} st_activity_draft;

/* A kind of them: where it has what others have, too, in bytes from its beginning; 0: nowhere. */
typedef struct st_activity {
    uint32_t kind; /* CUpti_ActivityKind */
    uint8_t start, end, device, context, stream, correlation;
    void (*draft)(const char *from, st_activity_draft *into);
    const char *refused; /* said where CUPTI does not report it */
} st_activity;

extern const st_activity st_activities[]; /* without a draft behind the last */

/* cuptiGetCallbackName */
typedef int st_callback_name(uint32_t domain, uint32_t callback, const char **name);

/* Begins a log; false where that fails. CUPTI's time 0 is `zero_ns` after the process' first call,
 * modulo 2^64. */
bool st_activities_open(const char *path, const st_log_header *header, uint64_t zero_ns,
                        st_callback_name *name);
/* Writes one of CUPTI's records; ignores kinds not listed there. */
void st_activities_take(const void *taken);
/* Gives a product its number, which is pushed; 0: no log is open. */
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
