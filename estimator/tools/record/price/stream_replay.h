/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of a worker while it is walked: what calls put into them, in which order, and when each
 * task begins and ends as far as that is known. A collective ends when all have come to it.
 */
#ifndef STEPTIME_RECORD_PRICE_STREAM_REPLAY_H
#define STEPTIME_RECORD_PRICE_STREAM_REPLAY_H

#include "record/price/run_walk.h"

#define ST_REPLAY_NO_CALL UINT64_MAX /* of recorded_ns: there was none yet */

/* Where an event was recorded last. */
typedef struct st_replay_event {
    uint32_t task;   /* ST_NO_INDEX: nothing was in the stream, or never recorded */
    uint32_t record; /* call */
} st_replay_event;

/* What a node of a graph does. */
typedef struct st_replay_node {
    uint32_t place; /* the call by which it became a node, with its stream */
    uint32_t what;  /* the call that says what is done; ST_NO_INDEX: no more */
    bool is_off;
} st_replay_node;

/* A graph, or an executable one. */
typedef struct st_replay_graph {
    uint32_t capture; /* numbers, as in st_log_graph; 0: none */
    uint32_t graph;
    uint32_t executable;
    uint32_t stream; /* that was captured first */
    uint32_t first;  /* call behind the begin of the capture */
    bool shares;     /* `nodes` with another one */
    st_replay_node *nodes;
    size_t node_count;
    size_t node_room;
} st_replay_graph;

typedef struct st_stream_replay {
    st_walk *walk;
    st_walk_worker *walked;
    uint32_t index;        /* of the worker */
    size_t next;           /* call */
    bool launched;         /* what the next call launches is in its stream already */
    int64_t *clock_ns;     /* by thread */
    uint64_t *recorded_ns; /* by thread: when its last call returned while recording */
    st_replay_event *events;
    size_t event_count;
    st_replay_graph *graphs;
    size_t graph_count;
    uint64_t nested;     /* graphs that were launched within others */
    uint32_t open_group; /* of NCCL, whose tasks may get more collectives */
    size_t group_first;  /* the first task of it */
    st_errors *errors;
} st_stream_replay;

/* The stream of a call; ST_NO_INDEX when out of memory. */
uint32_t st_stream_replay_lane(st_stream_replay *replay, const st_worker_call *call,
                               uint32_t stream);

/* What a call puts into streams, once the host is done with it. */
st_status st_stream_replay_launch(st_stream_replay *replay, uint32_t call,
                                  int64_t launch_ns) ST_NODISCARD;

/* The task that waiting for an event waits for, ST_NO_INDEX for none. */
uint32_t st_stream_replay_event(const st_stream_replay *replay, const st_log_event *event);

/* Finds beginnings and ends as far as they are known; whether there were new ones. */
bool st_stream_replay_resolve(st_stream_replay *replay);

/* Whether all tasks have an end. */
bool st_stream_replay_is_done(const st_stream_replay *replay);

#endif
