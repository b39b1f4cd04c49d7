/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a task graph is made of: one array per property of a task, so that a replay touches only
 * what it needs, and lists of neighbours as offsets into one array.
 *
 * Program order is not stored as edges but as each task's predecessor on its resource. Edges are
 * kept as added until the graph is sealed, then as lists of predecessors.
 */
#ifndef STEPTIME_SCHEDULE_GRAPH_INTERNAL_H
#define STEPTIME_SCHEDULE_GRAPH_INTERNAL_H

#include "base/index.h"
#include "base/memory.h"
#include "steptime/tool/graph_arrays.h"

enum { ST_GRAPH_CATEGORIES = 1000 };

/* Numbers pairs of 64 bits, or texts by their hash, in the order of their first mention. */
typedef struct st_pair {
    uint64_t first;
    uint64_t second;
} st_pair;

typedef struct st_pair_table {
    st_pair *pairs; /* by number */
    size_t count;
    size_t capacity;
    st_index index;
} st_pair_table;

/* The number of a pair, count - 1 where it is new; ST_TASK_NONE when out of memory. */
uint32_t st_pair_number(st_pair_table *table, st_pair pair);
/* The same without adding it: ST_TASK_NONE where it is not known. */
uint32_t st_pair_find(const st_pair_table *table, st_pair pair);
void st_pair_table_free(st_pair_table *table);

typedef struct st_resource_record {
    uint32_t rank_index;
    uint32_t name;
    st_task_id last;
    st_resource_kind kind;
} st_resource_record;

typedef struct st_category_record {
    uint32_t name;
    st_work work;
} st_category_record;

/* A task that meets others by a key. */
typedef struct st_keyed_task {
    uint64_t key;
    st_task_id task;
    uint32_t ranks;
} st_keyed_task;

struct st_graph {
    st_arena *texts;
    uint64_t task_limit;
    uint64_t edge_limit;
    uint64_t resource_limit;
    uint64_t instance_limit;
    bool sealed;
    bool broken; /* sealing failed */

    /* tasks */
    size_t task_count;
    size_t task_capacity;
    int64_t *duration_ns;
    int64_t *earliest_ns; /* NULL while every task may start at 0 */
    uint32_t *resource;
    uint32_t *name;
    uint32_t *instance;   /* NULL while no task meets others; not once sealed */
    st_task_id *previous; /* on the same resource; once sealed */
    uint16_t *category;

    /* edges as added, until sealed */
    size_t edge_count;
    size_t edge_capacity;
    st_task_id *edge_from;
    st_task_id *edge_to;
    uint8_t *edge_kind;

    /* once sealed: predecessors of task i are before[before_first[i]] ... */
    uint32_t *before_first;
    st_task_id *before;
    uint8_t *before_kind;
    st_task_id
        *order; /* every task after those it waits for; members of an instance side by side */

    st_resource_record *resources;
    size_t resource_count;
    size_t resource_capacity;
    uint32_t *ranks; /* their numbers, by index */
    size_t rank_capacity;
    st_pair_table rank_table;

    const char **names;
    size_t name_capacity;
    size_t name_count;
    st_index name_index;
    st_category_record *categories;
    size_t category_count;
    size_t category_capacity;

    uint32_t *instance_size; /* by number; [0] is not used */
    size_t instance_count;
    size_t instance_capacity;
    uint32_t *member_first;
    st_task_id *members;

    st_keyed_task *keyed;
    size_t keyed_count;
    size_t keyed_capacity;

    st_task_id *cycle;
    size_t cycle_count;
};

/* "rank 3 'compute' task 17 'F 4'". */
const char *st_graph_describe(const st_graph *graph, st_task_id task, st_errors *errors);

/* Gives every task with a key its instance. */
st_status st_graph_compose(st_graph *graph, st_errors *errors) ST_NODISCARD;
/* Lists the members of every instance and checks how many they are. */
st_status st_graph_list_members(st_graph *graph, st_errors *errors) ST_NODISCARD;
/*
 * After a sort that did not come to its end: waits[i] is how many tasks that never run task i waits
 * for (0 for a member that waits for other members alone), the first `ordered` tasks of the order
 * are those that do run. Finds a cycle among the others, keeps it in the graph and reports it.
 */
st_status st_graph_report_cycle(st_graph *graph, const uint32_t *waits, size_t ordered,
                                st_errors *errors) ST_NODISCARD;

/* What follows each task, from the predecessors that a graph keeps once it is sealed. */
typedef struct st_successors {
    uint32_t *first; /* those of task i by edges are items[first[i]] ... */
    st_task_id *items;
    st_task_id *next;  /* on the same resource */
    uint32_t *waits;   /* how many predecessors a task has */
    uint32_t *missing; /* how many members, by instance */
} st_successors;

/* In `arena`; false when out of memory. */
bool st_graph_successors(const st_graph *graph, st_arena *arena, st_successors *after);

struct st_replay {
    const st_graph *graph;
    int64_t *ready_ns; /* NULL where no task meets others: ends of predecessors say it */
    int64_t *start_ns; /* the same */
    int64_t *end_ns;
    int64_t last_ns;
};

int64_t st_replay_ready_ns(const st_replay *replay, st_task_id task);
int64_t st_replay_start_ns(const st_replay *replay, st_task_id task);
st_status st_replay_too_late(const st_graph *graph, st_task_id task, st_errors *errors);

#endif
