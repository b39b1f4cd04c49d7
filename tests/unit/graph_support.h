/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of task graphs share: a graph that must accept what it is given. */
#ifndef STEPTIME_TESTS_GRAPH_SUPPORT_H
#define STEPTIME_TESTS_GRAPH_SUPPORT_H

#include "base_support.h"

#include "steptime/graph.h"

typedef struct graph_fixture {
    st_arena *arena;
    st_errors *errors;
    st_graph *graph;
    st_replay *replay;
} graph_fixture;

static inline int make_graph(void **state)
{
    graph_fixture *self = calloc(1, sizeof(*self));
    self->arena = st_arena_create();
    self->errors = st_errors_create();
    self->graph = st_graph_create(NULL);
    *state = self;
    return self->graph == NULL || self->arena == NULL || self->errors == NULL ? -1 : 0;
}

static inline int drop_graph(void **state)
{
    graph_fixture *self = *state;
    st_replay_destroy(self->replay);
    st_graph_destroy(self->graph);
    st_errors_destroy(self->errors);
    st_arena_destroy(self->arena);
    free(self);
    return 0;
}

static inline uint32_t resource(graph_fixture *self, uint32_t rank, st_resource_kind kind)
{
    uint32_t added = 0;
    assert_int_equal(st_graph_resource(self->graph, rank, kind, st_resource_kind_name(kind), &added,
                                       self->errors),
                     ST_OK);
    return added;
}

static inline uint32_t name_of(graph_fixture *self, const char *text)
{
    uint32_t name = 0;
    assert_int_equal(st_graph_name(self->graph, text, &name, self->errors), ST_OK);
    return name;
}

static inline st_task_id add(graph_fixture *self, const st_task_spec *spec)
{
    st_task_id task = 0;
    assert_int_equal(st_graph_add(self->graph, spec, &task, self->errors), ST_OK);
    return task;
}

static inline st_task_id task_on(graph_fixture *self, uint32_t on, int64_t duration_ns)
{
    return add(self, &(st_task_spec){.resource = on, .duration_ns = duration_ns});
}

static inline void edge(graph_fixture *self, st_task_id before, st_task_id task)
{
    assert_int_equal(st_graph_edge(self->graph, before, task, ST_EDGE_USER, self->errors), ST_OK);
}

static inline void replay(graph_fixture *self)
{
    assert_int_equal(st_graph_seal(self->graph, self->errors), ST_OK);
    self->replay = st_replay_create(self->graph);
    assert_non_null(self->replay);
    assert_int_equal(st_replay_run(self->replay, self->errors), ST_OK);
}

#define assert_time(task, ready, start, end)                                                       \
    do {                                                                                           \
        st_task_time is = st_replay_task(self->replay, (task));                                    \
        assert_int_equal(is.ready_ns, (ready));                                                    \
        assert_int_equal(is.start_ns, (start));                                                    \
        assert_int_equal(is.end_ns, (end));                                                        \
    } while (0)

#endif
