/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for whom on one rank: the four kinds of dependency of Lumos (sec. 3.2).
 *
 * A dependency is exact where the trace has ids for it, inferred where only the order of calls
 * speaks for it, and contradicted, and then left out, where the recorded times rule it out.
 */
#ifndef STEPTIME_TRACE_DEPEND_H
#define STEPTIME_TRACE_DEPEND_H

#include "trace/sends.h"

typedef enum st_dependency_kind {
    ST_DEPEND_STREAM, /* GPU task after GPU task of another stream */
    ST_DEPEND_SYNC,   /* host after GPU task; before: ST_TRACE_NONE where the task is not known */
    ST_DEPEND_THREAD  /* a thread goes on after another one */
} st_dependency_kind;

typedef struct st_dependency {
    uint32_t before; /* GPU task, or for a thread the event after whose end it goes on */
    uint32_t after;  /* GPU task, call, or the first event after the pause of a thread */
    st_dependency_kind kind;
    int64_t from_ns; /* of the host: when it began to wait, and when it went on */
    int64_t to_ns;
    bool is_own; /* the call waits for all, and all is recorded: the rest of it is its own work */
} st_dependency;

typedef struct st_dependencies {
    st_dependency *items;
    size_t count;
    st_trace_edges edges[ST_TRACE_EDGE_KINDS];
} st_dependencies;

/* Leaves out operators that no dependency is found by: most of them. */
void st_depend_thin(st_trace *trace);
void st_depend_find(const st_order *order, st_arena *arena, st_dependencies *dependencies);

/*
 * Collectives that ranks meet in, and the clocks of ranks.
 *
 * Kernels of one collective are found by communicator and sequence number, by communicator and
 * order, or, without metadata, by order alone, in groups inferred from their ends. All end
 * together, for none can be done before the last has come: their ends align the clocks, and what a
 * kernel lasts from the arrival of the last rank is the transfer; the rest is waiting.
 */

typedef struct st_instance_member {
    uint64_t key;
    uint32_t place; /* in the order of the key, or the sequence number */
    uint32_t rank;  /* index */
    uint32_t event;
    bool exact;
} st_instance_member;

typedef struct st_instance {
    size_t first; /* member */
    uint32_t count;
    bool dropped;          /* the recorded times contradict it */
    int64_t last_start_ns; /* aligned */
} st_instance;

typedef struct st_collation {
    st_instance_member *members; /* of an instance one behind the other */
    size_t member_count;
    st_instance *instances;
    size_t instance_count;
    int64_t *offsets_ns; /* by rank: what to add to its times */
    st_messages messages;
    size_t inferred_groups; /* of ranks, where no trace names any; 0: it is all ranks, or unknown */
    st_trace_edges edges;
    int64_t most_apart_ns; /* the largest spread of ends in an instance, after alignment */
} st_collation;

/* `orders`: one per rank. */
void st_collate(const st_order *orders, size_t count, st_arena *arena, st_collation *collation);

/* A GPU task that began later than all that it is known to wait for. */
typedef struct st_delay {
    st_task_id task;
    st_task_id blocker; /* its kernel, or ST_TASK_NONE; a number of the rank while building */
    int64_t recorded_ns;
    int64_t explained_ns; /* the usual gap in a queue, or all where another kernel blocked it */
    int64_t blocker_ns;   /* recorded time of the blocker */
} st_delay;

/*
 * Gives back what is needed to change durations and to compare with the recording: the events of
 * its set, tasks and hosts of ranks, delays. A replay, the critical path and steps need none.
 */
void st_trace_graph_shed(st_trace_graph *graph, st_trace_set *set);

/* A graph that is replayed once, in half of the memory: the set has no events afterwards, the graph
 * neither tasks of ranks nor delays. */
st_status st_trace_graph_of_path(st_trace_set *set, unsigned without, st_trace_graph **graph,
                                 st_errors *errors) ST_NODISCARD;

#endif
