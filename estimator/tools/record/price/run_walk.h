/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recorded run takes: the calls of the workers walked through once more, each GPU task with
 * its price, in the order of streams and events, and collectives with all that meet in them.
 *
 * The host goes on after a call when that returns: after what the call costs, and where it waits
 * for the GPU after that. Between calls passes what passed while recording, or a fixed gap. Workers
 * are walked side by side, because what a host waits for may be a collective of others.
 */
#ifndef STEPTIME_RECORD_PRICE_RUN_WALK_H
#define STEPTIME_RECORD_PRICE_RUN_WALK_H

#include "record/price/rendezvous.h"

/* What the host takes for a call, by globs of names. */
typedef struct st_call_cost {
    const char *name;
    int64_t time_ns;
} st_call_cost;

typedef struct st_walk_options {
    int64_t gap_ns;            /* between two calls of a thread; below 0: as recorded */
    const st_call_cost *costs; /* the first that fits; a call that none fits costs nothing */
    size_t cost_count;
} st_walk_options;

enum { ST_WALK_LAUNCHED = -2, ST_WALK_STARTED = -1 };

/* A task of a GPU. */
typedef struct st_walk_task {
    int64_t start_ns; /* a collective waits for others from then on; before it is known: when the
                         host had launched it */
    int64_t end_ns;   /* ST_WALK_LAUNCHED, ST_WALK_STARTED until it is known */
    uint32_t call;    /* of the worker, that launched it */
    uint32_t what;    /* that describes it: another call where a graph was launched */
    uint32_t lane;    /* stream */
    uint32_t next;    /* on its stream */
    uint32_t wait;    /* the first of its waits, ST_NO_INDEX: none */
    uint32_t meet;    /* the first collective of it, all of one group of NCCL; ST_NO_INDEX: none */
} st_walk_task;

/* A task that another one waits for. */
typedef struct st_walk_wait {
    uint32_t task;
    uint32_t record; /* call that recorded the event; ST_NO_INDEX: order of the default stream */
    uint32_t next;
} st_walk_wait;

/* A collective that a task takes part in. */
typedef struct st_walk_meet {
    int64_t duration_ns; /* of the first of a task: of all of them, without waiting for others */
    uint32_t instance;
    uint32_t what; /* call */
    uint32_t next;
} st_walk_meet;

typedef struct st_walk_lane {
    uint32_t device;
    uint32_t stream;         /* as the log has it */
    uint32_t thread;         /* of a default stream for each thread */
    bool inner;              /* of graphs: a captured stream other than the first one */
    bool blocking;           /* waits for the legacy default stream */
    uint32_t head;           /* the first task that is not resolved */
    uint32_t tail;           /* the last task */
    uint32_t waited;         /* the last task of the default stream that it waits for ... */
    uint32_t default_waited; /* ... and its own that the default stream waits for */
    int64_t ready_ns;        /* end of the last task that is resolved */
    uint32_t wait;           /* for its next task */
} st_walk_lane;

typedef struct st_walk_worker {
    const st_worker *worker; /* begin_ns of whose calls is that of the walk */
    int64_t *end_ns;         /* by call */
    st_walk_task *tasks;
    size_t task_count;
    size_t task_room;
    st_walk_wait *waits;
    size_t wait_count;
    st_walk_meet *meets;
    size_t meet_count;
    st_walk_lane *lanes;
    size_t lane_count;
} st_walk_worker;

typedef struct st_walk {
    const st_run *run;
    const st_price *prices; /* by shape */
    st_groups *groups;
    st_walk_worker *workers;
    uint64_t unmatched; /* collectives for which not all came */
    st_arena *arena;
} st_walk;

/* How long a task takes, without waiting for others. */
static inline int64_t st_walk_task_ns(const st_walk_worker *walked, const st_walk_task *task)
{
    return task->meet == ST_NO_INDEX ? task->end_ns - task->start_ns
                                     : walked->meets[task->meet].duration_ns;
}

/* `prices`: one for each shape of the run. Everything lives in the arena of `groups`. */
st_status st_walk_run(const st_run *run, const st_price *prices, st_groups *groups,
                      const st_walk_options *options, st_walk **walk,
                      st_errors *errors) ST_NODISCARD;

#endif
