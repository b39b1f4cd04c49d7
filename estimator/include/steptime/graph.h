/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Task graphs: who does what, in which order, and who waits for whom; and their replay.
 *
 * A task lasts whole nanoseconds on a resource of a rank (a compute or communication stream, a copy
 * engine, a host thread). Tasks of a resource run one after the other in the order in which they
 * were added. A task also waits for the tasks that edges name, for its earliest time, and,
 * if it belongs to a rendezvous, for the last of its members: a collective starts when its last
 * rank arrives, and its duration is the transfer alone (Echo's and Lumos' composition of ranks).
 *
 * Life of a graph: create, add resources, tasks and edges in any mixture, seal, replay as often as
 * durations change. Everything is the same on every run: nothing depends on addresses or threads.
 *
 * Unless stated otherwise, a function that fails adds one error to `errors` (which may be NULL) and
 * leaves the graph as it was. A graph serves one thread at a time; sealed, several may replay it as
 * long as nobody changes durations.
 */
#ifndef STEPTIME_GRAPH_H
#define STEPTIME_GRAPH_H

#include "steptime/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct st_graph st_graph;

/* Tasks, resources, names, categories and instances are numbered from 0 in the order of adding. */
typedef uint32_t st_task_id;
#define ST_TASK_NONE UINT32_MAX

typedef enum st_resource_kind {
    ST_RESOURCE_COMPUTE,       /* stream of kernels */
    ST_RESOURCE_COMMUNICATION, /* stream of collectives and transfers */
    ST_RESOURCE_COPY,          /* copy engine */
    ST_RESOURCE_HOST,          /* thread of the host */
    ST_RESOURCE_KINDS
} st_resource_kind;

/* "compute", "communication", "copy", "host". */
ST_API const char *st_resource_kind_name(st_resource_kind kind);

/* What a category of tasks counts for in the breakdown of a rank's time. */
typedef enum st_work {
    ST_WORK_NONE, /* keeps no device busy: host, waiting */
    ST_WORK_COMPUTE,
    ST_WORK_COMMUNICATION
} st_work;

typedef enum st_edge_kind {
    ST_EDGE_PROGRAM, /* the order of a resource, or of threads of one rank */
    ST_EDGE_LAUNCH,  /* host to device */
    ST_EDGE_SYNC,    /* device to host */
    ST_EDGE_STREAM,  /* across streams of a device */
    ST_EDGE_MEETING, /* the last member of a rendezvous; never added as an edge */
    ST_EDGE_USER,    /* anything else: data between stages, user-defined rules */
    ST_EDGE_QUEUE,   /* device to host: a full launch queue has room again */
    ST_EDGE_KINDS
} st_edge_kind;

/* "program", "launch", "sync", "stream", "instance", "user", "queue". */
ST_API const char *st_edge_kind_name(st_edge_kind kind);

/* Bounds of a graph; 0 takes the default (4 * 10^9 tasks, edges and instances, 2^26 resources). */
typedef struct st_graph_limits {
    uint64_t tasks;
    uint64_t edges;
    uint64_t resources;
    uint64_t instances;
} st_graph_limits;

/* NULL when out of memory; `limits` may be NULL. */
ST_API st_graph *st_graph_create(const st_graph_limits *limits);
ST_API void st_graph_destroy(st_graph *graph); /* NULL is fine */

/* --- building -------------------------------------------------------------------------------- */

/* The number of a text; equal texts have equal numbers, "" is 0. Copies the text. */
ST_API st_status st_graph_name(st_graph *graph, const char *text, uint32_t *name,
                               st_errors *errors) ST_NODISCARD;

/*
 * The number of a category ("gemm", "tp"), made at its first mention; category 0 is "other" and
 * counts as what its resource is for. At most 1000. A known category must count as before.
 */
ST_API st_status st_graph_category(st_graph *graph, const char *text, st_work work,
                                   uint16_t *category, st_errors *errors) ST_NODISCARD;

/* A new resource of a rank; ranks may have any numbers and need not follow each other. */
ST_API st_status st_graph_resource(st_graph *graph, uint32_t rank, st_resource_kind kind,
                                   const char *name, uint32_t *resource,
                                   st_errors *errors) ST_NODISCARD;

/*
 * A rendezvous of exactly `members` tasks (at least 1), to be named in their specs; its number
 * counts from 1; 0 means none.
 */
ST_API st_status st_graph_instance(st_graph *graph, uint32_t members, uint32_t *instance,
                                   st_errors *errors) ST_NODISCARD;

/* A task to add; zeros mean: no name, category "other", no earliest time, no rendezvous. */
typedef struct st_task_spec {
    uint32_t resource;
    uint32_t name;
    uint16_t category;
    int64_t duration_ns; /* not negative */
    int64_t earliest_ns; /* not negative; the replay starts at 0 */
    uint32_t instance;   /* from st_graph_instance, or 0 */
    /*
     * Composition by key, where the instances are not known beforehand: the k-th task with a key on
     * every rank meets the k-th task with that key on all others (k counts in the order of adding).
     * A communicator's number is a good key. `key_ranks` is how many ranks must come, 0 for as many
     * as do. Not together with `instance`.
     */
    uint64_t key; /* 0: none */
    uint32_t key_ranks;
} st_task_spec;

/* `task` may be NULL. */
ST_API st_status st_graph_add(st_graph *graph, const st_task_spec *spec, st_task_id *task,
                              st_errors *errors) ST_NODISCARD;

/* `task` starts after `before` has ended; both exist already. */
ST_API st_status st_graph_edge(st_graph *graph, st_task_id before, st_task_id task,
                               st_edge_kind kind, st_errors *errors) ST_NODISCARD;

/*
 * Ends building: forms the instances, finds an order in which every task comes after those it waits
 * for. ST_ERR_VALUE where an instance has other members than it was made for, ST_ERR_CYCLE where
 * tasks wait for each other: the message names them and their ranks, st_graph_cycle lists all.
 * After a failure the graph can only be looked at and destroyed.
 */
ST_API st_status st_graph_seal(st_graph *graph, st_errors *errors) ST_NODISCARD;

/* The tasks that wait for each other, each for the next and the last for the first; empty if none.
 */
ST_API const st_task_id *st_graph_cycle(const st_graph *graph, size_t *count);

/* --- looking at it --------------------------------------------------------------------------- */

/* How many there are; instances of keys count once the graph is sealed. */
ST_API size_t st_graph_task_count(const st_graph *graph);
ST_API size_t st_graph_edge_count(const st_graph *graph); /* added edges, without program order */
ST_API size_t st_graph_resource_count(const st_graph *graph);
ST_API size_t st_graph_category_count(const st_graph *graph);
ST_API size_t st_graph_instance_count(const st_graph *graph);
ST_API size_t st_graph_rank_count(const st_graph *graph); /* different ranks */
/* Ranks are listed by their first resource: the number of the rank at an index. */
ST_API uint32_t st_graph_rank(const st_graph *graph, size_t index);

typedef struct st_task_view {
    uint32_t resource;
    uint32_t rank;
    st_resource_kind kind;
    const char *name;
    uint16_t category;
    const char *category_name;
    st_work work;
    int64_t duration_ns;
    int64_t earliest_ns;
    uint32_t instance; /* those made from keys are numbered after the others, when sealed */
} st_task_view;

/* `task` must exist; texts live as long as the graph. */
ST_API st_task_view st_graph_task(const st_graph *graph, st_task_id task);
/* Name, rank and kind of a resource, and the name of a category; each must exist. */
ST_API const char *st_graph_resource_name(const st_graph *graph, uint32_t resource);
ST_API uint32_t st_graph_resource_rank(const st_graph *graph, uint32_t resource);
ST_API st_resource_kind st_graph_resource_kind(const st_graph *graph, uint32_t resource);
ST_API const char *st_graph_category_name(const st_graph *graph, uint16_t category);

/* The members of an instance (1 to the count) of a sealed graph, in the order of adding. */
ST_API const st_task_id *st_graph_members(const st_graph *graph, uint32_t instance, size_t *count);

/* Another duration, before or after sealing; refuses negative ones. */
ST_API st_status st_graph_set_duration(st_graph *graph, st_task_id task, int64_t duration_ns,
                                       st_errors *errors) ST_NODISCARD;

/* --- replay ---------------------------------------------------------------------------------- */

typedef struct st_replay st_replay;

/* Room for the replay of a sealed graph, which must live longer; NULL when out of memory. */
ST_API st_replay *st_replay_create(const st_graph *graph);
ST_API void st_replay_destroy(st_replay *replay); /* NULL is fine */

/*
 * Runs all tasks with the graph's durations in one pass over tasks and edges; allocates nothing.
 * ST_ERR_LIMIT where a time exceeds what 64 bits of nanoseconds hold.
 */
ST_API st_status st_replay_run(st_replay *replay, st_errors *errors) ST_NODISCARD;

/*
 * How fast a task runs while others run concurrently with it on its rank, from 1e-6 to 1 (alone).
 * Asked whenever that set changes, for tasks that keep a device busy; others always run at 1, and
 * are among those that run concurrently.
 */
typedef struct st_rate_rule {
    double (*rate)(void *self, const st_graph *graph, st_task_id task, const st_task_id *others,
                   size_t count);
    void *self;
} st_rate_rule;

/*
 * Runs all tasks at the rates of a rule; durations are what a task takes alone. Work is conserved:
 * a task's rates over its time add up to its duration, rounded up to whole ns. Takes a logarithm
 * more than the plain replay, which it equals where all rates are 1, and scratch memory.
 * ST_ERR_PROVIDER for a rate out of range.
 */
ST_API st_status st_replay_run_rates(st_replay *replay, const st_rate_rule *rule,
                                     st_errors *errors) ST_NODISCARD;

/* After a run: when the last task ends; 0 without tasks. */
ST_API int64_t st_replay_end_ns(const st_replay *replay);

typedef struct st_task_time {
    int64_t ready_ns; /* all that this task alone waits for has ended: a member's arrival */
    int64_t start_ns; /* the last member has arrived; equal to ready_ns without an instance */
    int64_t end_ns;
} st_task_time;

/* After a run: the times of a task, which must exist. */
ST_API st_task_time st_replay_task(const st_replay *replay, st_task_id task);

/*
 * Where a rank's time goes from 0 to the end of the replay; the five parts add up to it. A moment
 * in which several things happen counts for the first of: computing (overlapped where it
 * communicates, too), communicating, waiting in a rendezvous for other ranks, idle.
 */
typedef struct st_rank_time {
    int64_t exposed_compute_ns; /* computing, not communicating */
    int64_t exposed_communication_ns;
    int64_t overlapped_ns; /* both */
    int64_t waiting_ns;    /* arrived at an instance, nothing else runs */
    int64_t idle_ns;
} st_rank_time;

/*
 * The breakdown of every rank, in the order of st_graph_rank: `times` has room for
 * st_graph_rank_count items. Needs scratch memory for the rank with the most resources.
 */
ST_API st_status st_replay_ranks(const st_replay *replay, st_rank_time *times,
                                 st_errors *errors) ST_NODISCARD;

/*
 * Adds up the running times of each category over the tasks of one rank, or of all with
 * ST_RANKS_ALL: `sums_ns` and `counts` (which may be NULL) have room for st_graph_category_count
 * items. ST_ERR_LIMIT where a sum exceeds 64 bits, ST_ERR_NAME for a rank without resources.
 */
#define ST_RANKS_ALL UINT32_MAX
ST_API st_status st_replay_categories(const st_replay *replay, uint32_t rank, int64_t *sums_ns,
                                      uint64_t *counts, st_errors *errors) ST_NODISCARD;

/* A step of the critical path: why the task could not have started earlier. */
typedef struct st_path_step {
    st_task_id task;
    st_edge_kind edge; /* how it depends on the step before it; of no meaning for the first step */
    int64_t time_ns;   /* what it adds to the end: its duration, 0 where its own start was not what
                          the next step waited for but its arrival (edge ST_EDGE_MEETING) */
} st_path_step;

/*
 * A chain of tasks from time 0 (or from an earliest time) to the end in which each starts when the
 * one before it ends, or when the member before it arrives; allocated from `arena`. Of several such
 * chains: program order before edges, edges in the order of adding.
 */
ST_API st_status st_replay_path(const st_replay *replay, st_arena *arena,
                                const st_path_step **steps, size_t *count,
                                st_errors *errors) ST_NODISCARD;

#ifdef __cplusplus
}
#endif
#endif
