/* SPDX-License-Identifier: Apache-2.0 */
/* Building a task graph: resources, tasks and edges, appended to arrays that double. */
#include "schedule/graph_internal.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT          UINT64_C(4000000000)
#define DEFAULT_RESOURCE_LIMIT (UINT64_C(1) << 26)

const char *st_resource_kind_name(st_resource_kind kind)
{
    static const char *const names[ST_RESOURCE_KINDS] = {"compute", "communication", "copy",
                                                         "host"};
    return (unsigned)kind < ST_RESOURCE_KINDS ? names[kind] : "";
}

const char *st_edge_kind_name(st_edge_kind kind)
{
    static const char *const names[ST_EDGE_KINDS] = {"program",  "launch", "sync", "stream",
                                                     "instance", "user",   "queue"};
    return (unsigned)kind < ST_EDGE_KINDS ? names[kind] : "";
}

static uint64_t limit_or(uint64_t limit, uint64_t otherwise)
{
    return limit == 0 || limit > otherwise ? otherwise : limit;
}

st_graph *st_graph_create(const st_graph_limits *limits)
{
    static const st_graph_limits none = {0};
    uint32_t empty = 0;
    uint16_t other = 0;
    st_graph *graph = calloc(1, sizeof(*graph));
    if (graph == NULL)
        return NULL;
    limits = limits == NULL ? &none : limits;
    graph->task_limit = limit_or(limits->tasks, DEFAULT_LIMIT);
    graph->edge_limit = limit_or(limits->edges, DEFAULT_LIMIT);
    graph->resource_limit = limit_or(limits->resources, DEFAULT_RESOURCE_LIMIT);
    graph->instance_limit = limit_or(limits->instances, DEFAULT_LIMIT);
    graph->texts = st_arena_create();
    if (graph->texts == NULL || !ST_ROOM(graph->instance_size, 0, graph->instance_capacity) ||
        st_graph_name(graph, "", &empty, NULL) != ST_OK ||
        st_graph_category(graph, "other", ST_WORK_NONE, &other, NULL) != ST_OK) {
        st_graph_destroy(graph);
        return NULL;
    }
    graph->instance_size[0] = 0;
    return graph;
}

void st_graph_destroy(st_graph *graph)
{
    if (graph == NULL)
        return;
    void *const owned[] = {
        graph->duration_ns, graph->earliest_ns,   graph->resource,      graph->name,
        graph->instance,    graph->previous,      graph->category,      graph->edge_from,
        graph->edge_to,     graph->edge_kind,     graph->before_first,  graph->before,
        graph->before_kind, graph->order,         graph->resources,     graph->ranks,
        graph->categories,  graph->instance_size, graph->member_first,  graph->members,
        graph->keyed,       graph->cycle,         (void *)graph->names,
    };
    for (size_t i = 0; i < ST_COUNT(owned); i++)
        free(owned[i]);
    st_pair_table_free(&graph->rank_table);
    st_arena_destroy(graph->texts);
    free(graph);
}

static st_status too_many(st_errors *errors, const char *what, uint64_t limit)
{
    return st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                   "too many %s in a task graph" ST_EXPECTED "at most %llu", what,
                   (unsigned long long)limit);
}

static st_status open_for(const st_graph *graph, st_errors *errors, const char *what)
{
    if (!graph->sealed && !graph->broken)
        return ST_OK;
    return st_fail(errors, ST_ERR_USAGE, (st_place){0}, "cannot add %s to a sealed task graph",
                   what);
}

/* --- names and categories ----------------------------------------------------------------------
 */

st_status st_graph_name(st_graph *graph, const char *text, uint32_t *name, st_errors *errors)
{
    const uint64_t hash = st_hash_text(ST_HASH_BEGIN, text);
    ST_INDEX_FIND(&graph->name_index, hash, *name,
                  graph->names != NULL && strcmp(graph->names[*name], text) == 0);
    if (*name != ST_INDEX_NONE)
        return ST_OK;
    if (graph->name_count == DEFAULT_LIMIT)
        return too_many(errors, "names", DEFAULT_LIMIT);
    const char *copy = st_arena_copy(graph->texts, text, strlen(text));
    if (copy == NULL || !ST_ROOM(graph->names, graph->name_count, graph->name_capacity) ||
        !st_index_add(&graph->name_index, graph->texts, hash, graph->name_count))
        return st_out_of_memory(errors);
    *name = (uint32_t)graph->name_count;
    graph->names[graph->name_count++] = copy;
    return ST_OK;
}

static const char *work_name(st_work work)
{
    static const char *const names[] = {"no device work", "computation", "communication"};
    return (unsigned)work < 3 ? names[work] : "";
}

st_status st_graph_category(st_graph *graph, const char *text, st_work work, uint16_t *category,
                            st_errors *errors)
{
    uint32_t name = 0;
    st_status status = st_graph_name(graph, text, &name, errors);
    for (size_t i = 0; i < graph->category_count && status == ST_OK; i++) {
        if (graph->categories[i].name != name)
            continue;
        if (graph->categories[i].work != work)
            return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                           "category '%s' has two kinds of work" ST_FOUND "%s" ST_EXPECTED "%s",
                           text, work_name(work), work_name(graph->categories[i].work));
        *category = (uint16_t)i;
        return ST_OK;
    }
    if (status != ST_OK)
        return status;
    if (graph->category_count == ST_GRAPH_CATEGORIES)
        return too_many(errors, "categories", ST_GRAPH_CATEGORIES);
    if (!ST_ROOM(graph->categories, graph->category_count, graph->category_capacity))
        return st_out_of_memory(errors);
    graph->categories[graph->category_count] = (st_category_record){.name = name, .work = work};
    *category = (uint16_t)graph->category_count++;
    return ST_OK;
}

/* --- resources and instances --------------------------------------------------------------------
 */

/* The index of a rank, new ones at the end; ST_TASK_NONE when out of memory. */
static uint32_t rank_index(st_graph *graph, uint32_t rank)
{
    size_t known = graph->rank_table.count;
    if (!ST_ROOM(graph->ranks, known, graph->rank_capacity))
        return ST_TASK_NONE;
    uint32_t index = st_pair_number(&graph->rank_table, (st_pair){rank, 0});
    if (index == known)
        graph->ranks[index] = rank;
    return index;
}

st_status st_graph_resource(st_graph *graph, uint32_t rank, st_resource_kind kind, const char *name,
                            uint32_t *resource, st_errors *errors)
{
    uint32_t name_number = 0;
    st_status status = open_for(graph, errors, "resources");
    if (status != ST_OK)
        return status;
    if ((unsigned)kind >= ST_RESOURCE_KINDS || rank == ST_RANKS_ALL)
        return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                       "invalid kind of resource or rank" ST_EXPECTED
                       "a kind of st_resource_kind and a rank below 4294967295");
    if (graph->resource_count >= graph->resource_limit)
        return too_many(errors, "resources", graph->resource_limit);
    status = st_graph_name(graph, name, &name_number, errors);
    if (status != ST_OK)
        return status;
    uint32_t index = ST_ROOM(graph->resources, graph->resource_count, graph->resource_capacity)
                         ? rank_index(graph, rank)
                         : ST_TASK_NONE;
    if (index == ST_TASK_NONE)
        return st_out_of_memory(errors);
    graph->resources[graph->resource_count] = (st_resource_record){
        .rank_index = index, .name = name_number, .last = ST_TASK_NONE, .kind = kind};
    *resource = (uint32_t)graph->resource_count++;
    return ST_OK;
}

st_status st_graph_instance(st_graph *graph, uint32_t members, uint32_t *instance,
                            st_errors *errors)
{
    st_status status = open_for(graph, errors, "instances");
    if (status != ST_OK)
        return status;
    if (members == 0)
        return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                       "an instance needs members" ST_FOUND "0" ST_EXPECTED "at least 1");
    if (graph->instance_count >= graph->instance_limit)
        return too_many(errors, "instances", graph->instance_limit);
    if (!ST_ROOM(graph->instance_size, graph->instance_count + 1, graph->instance_capacity))
        return st_out_of_memory(errors);
    graph->instance_size[++graph->instance_count] = members;
    *instance = (uint32_t)graph->instance_count;
    return ST_OK;
}

/* --- tasks and edges ---------------------------------------------------------------------------
 */

#define GROW(array, capacity)                                                                      \
    do {                                                                                           \
        void *grown = realloc((array), (capacity) * sizeof(*(array)));                             \
        if (grown == NULL)                                                                         \
            return false;                                                                          \
        (array) = grown;                                                                           \
    } while (0)

/* Capacities grow by half: these arrays are most of the memory. */
static size_t larger(size_t capacity)
{
    return capacity < 1024 ? 1024 : capacity + capacity / 2;
}

static bool more_tasks(st_graph *graph)
{
    size_t capacity = larger(graph->task_capacity);
    GROW(graph->duration_ns, capacity);
    GROW(graph->resource, capacity);
    GROW(graph->name, capacity);
    GROW(graph->category, capacity);
    if (graph->instance != NULL)
        GROW(graph->instance, capacity);
    if (graph->earliest_ns != NULL)
        GROW(graph->earliest_ns, capacity);
    graph->task_capacity = capacity;
    return true;
}

static bool more_edges(st_graph *graph)
{
    size_t capacity = larger(graph->edge_capacity);
    GROW(graph->edge_from, capacity);
    GROW(graph->edge_to, capacity);
    GROW(graph->edge_kind, capacity);
    graph->edge_capacity = capacity;
    return true;
}

static st_status check_times(int64_t duration_ns, int64_t earliest_ns, st_errors *errors)
{
    if (duration_ns < 0)
        return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                       "a task has a negative duration" ST_FOUND "%lld ns" ST_EXPECTED
                       "at least 0 ns",
                       (long long)duration_ns);
    if (earliest_ns < 0)
        return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                       "a task has a negative earliest start" ST_FOUND "%lld ns" ST_EXPECTED
                       "at least 0 ns",
                       (long long)earliest_ns);
    return ST_OK;
}

/* Makes room for all that a task may need, so that adding it cannot fail half-way. */
static bool task_room(st_graph *graph, const st_task_spec *spec)
{
    if (graph->task_count == graph->task_capacity && !more_tasks(graph))
        return false;
    if (spec->earliest_ns != 0 && graph->earliest_ns == NULL) {
        graph->earliest_ns = calloc(graph->task_capacity, sizeof(*graph->earliest_ns));
        if (graph->earliest_ns == NULL)
            return false;
    }
    if ((spec->instance != 0 || spec->key != 0) && graph->instance == NULL) {
        graph->instance = calloc(graph->task_capacity, sizeof(*graph->instance));
        if (graph->instance == NULL)
            return false;
    }
    return spec->key == 0 || ST_ROOM(graph->keyed, graph->keyed_count, graph->keyed_capacity);
}

st_status st_graph_add(st_graph *graph, const st_task_spec *spec, st_task_id *task,
                       st_errors *errors)
{
    st_status status = open_for(graph, errors, "tasks");
    if (status == ST_OK) {
        const char *what = NULL;
        unsigned long long found = 0;
        size_t count = 0;
        if (spec->resource >= graph->resource_count)
            what = "resource", found = spec->resource, count = graph->resource_count;
        else if (spec->name >= graph->name_count)
            what = "name", found = spec->name, count = graph->name_count;
        else if (spec->category >= graph->category_count)
            what = "category", found = spec->category, count = graph->category_count;
        else if (spec->instance > graph->instance_count)
            what = "instance", found = spec->instance, count = graph->instance_count;
        if (what != NULL) {
            status = st_fail(errors, ST_ERR_NAME, (st_place){0},
                             "a task refers to an unknown %s" ST_FOUND "%llu" ST_EXPECTED
                             "one of the %zu that were added",
                             what, found, count);
        } else if (spec->instance != 0 && spec->key != 0) {
            status = st_fail(errors, ST_ERR_VALUE, (st_place){0},
                             "a task has both an instance and a key" ST_EXPECTED "one of them");
        } else {
            status = check_times(spec->duration_ns, spec->earliest_ns, errors);
        }
    }
    if (status != ST_OK)
        return status;
    if (graph->task_count >= graph->task_limit)
        return too_many(errors, "tasks", graph->task_limit);
    if (!task_room(graph, spec))
        return st_out_of_memory(errors);
    st_task_id added = (st_task_id)graph->task_count++;
    graph->resources[spec->resource].last = added;
    graph->duration_ns[added] = spec->duration_ns;
    graph->resource[added] = spec->resource;
    graph->name[added] = spec->name;
    graph->category[added] = spec->category;
    if (graph->instance != NULL)
        graph->instance[added] = spec->instance;
    if (graph->earliest_ns != NULL)
        graph->earliest_ns[added] = spec->earliest_ns;
    if (spec->key != 0)
        graph->keyed[graph->keyed_count++] =
            (st_keyed_task){.key = spec->key, .task = added, .ranks = spec->key_ranks};
    if (task != NULL)
        *task = added;
    return ST_OK;
}

st_status st_graph_edge(st_graph *graph, st_task_id before, st_task_id task, st_edge_kind kind,
                        st_errors *errors)
{
    st_status status = open_for(graph, errors, "edges");
    if (status != ST_OK)
        return status;
    if (before >= graph->task_count || task >= graph->task_count)
        return st_fail(errors, ST_ERR_NAME, (st_place){0},
                       "an edge refers to an unknown task" ST_FOUND "%lu -> %lu" ST_EXPECTED
                       "one of the %zu that were added",
                       (unsigned long)before, (unsigned long)task, graph->task_count);
    if ((unsigned)kind >= ST_EDGE_KINDS || kind == ST_EDGE_MEETING)
        return st_fail(errors, ST_ERR_VALUE, (st_place){0},
                       "invalid kind of edge" ST_EXPECTED "program, launch, sync, stream or user");
    if (graph->edge_count >= graph->edge_limit)
        return too_many(errors, "edges", graph->edge_limit);
    if (graph->edge_count == graph->edge_capacity && !more_edges(graph))
        return st_out_of_memory(errors);
    graph->edge_from[graph->edge_count] = before;
    graph->edge_to[graph->edge_count] = task;
    graph->edge_kind[graph->edge_count++] = (uint8_t)kind;
    return ST_OK;
}

st_status st_graph_set_duration(st_graph *graph, st_task_id task, int64_t duration_ns,
                                st_errors *errors)
{
    if (task >= graph->task_count)
        return st_fail(errors, ST_ERR_NAME, (st_place){0},
                       "unknown task" ST_FOUND "%lu" ST_EXPECTED "one of the %zu that were added",
                       (unsigned long)task, graph->task_count);
    st_status status = check_times(duration_ns, 0, errors);
    if (status == ST_OK)
        graph->duration_ns[task] = duration_ns;
    return status;
}
