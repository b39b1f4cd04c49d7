/* SPDX-License-Identifier: Apache-2.0 */
/* Work in a child process: what foreign code does there, it does to the child alone. */
#ifndef STEPTIME_PLUGIN_CHILD_H
#define STEPTIME_PLUGIN_CHILD_H

#include "plugin/call_filter.h"

typedef struct st_child_limits {
    unsigned time_ms;
    size_t memory_bytes;       /* address space beyond what is in use; 0: no limit */
    st_refused_calls *refused; /* counts refused calls, in shared memory; NULL: nobody asks */
} st_child_limits;

typedef enum st_child_end {
    ST_CHILD_DONE,
    ST_CHILD_CRASHED, /* by a signal, or by leaving before the work was done */
    ST_CHILD_LATE,
    ST_CHILD_NONE /* the system starts no more processes */
} st_child_end;

typedef struct st_child_result {
    st_child_end end;
    int signal;       /* 0 where there was none */
    const char *text; /* what the work wrote; "" unless it was done */
    size_t length;
    unsigned walls; /* namespaces.h; of one that was done */
} st_child_result;

/* Of a clock that only runs forward. */
long long st_now_ms(void);

/* What the child does: its answer is the text that it leaves. */
typedef void (*st_child_work)(void *context, st_buffer *text);

/*
 * Runs `work` in a child whose standard streams are /dev/null; what it appends to `text` comes back
 * once it returns; "" where others have answered for it. The child is confined (confine.h,
 * namespaces.h) and killed when its time is up.
 */
st_status st_child_run(st_child_work work, void *context, const st_child_limits *limits,
                       st_arena *arena, st_child_result *result, st_errors *errors) ST_NODISCARD;

/* What a command with --confine says, which starts no process. */
st_status st_child_is_refused(st_errors *errors);

/* What an answer is that no child of ours gives: "it forged its answer". */
extern const char st_child_forged[];
/* Why there is no answer, "it crashed: signal 11 (...)"; NULL when out of memory. */
const char *st_child_end_text(const st_child_result *result, unsigned limit_ms, st_arena *arena);

#endif
