/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Execution traces as a task graph. Nodes of a rank are added as they become ready, of several the
 * one that began first in the file, so that the order of a resource never holds up what waits for
 * nothing else. Collectives meet by the name of their group and their turn in it, transfers by
 * source, target, tag and turn.
 */
#include "workload/execution.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* What a category of tasks is called, and how it counts. */
typedef enum category {
    CATEGORY_METADATA,
    CATEGORY_HOST,
    CATEGORY_COMPUTE,
    CATEGORY_MEMORY,
    CATEGORY_SEND,
    CATEGORY_RECEIVE,
    CATEGORY_COLLECTIVE, /* the first of them */
    CATEGORIES = CATEGORY_COLLECTIVE + ST_CHAKRA_COLLECTIVES
} category;

static const struct {
    const char *name;
    st_work work;
} categories[CATEGORIES] = {
    [CATEGORY_METADATA] = {"metadata", ST_WORK_NONE},
    [CATEGORY_HOST] = {"host", ST_WORK_NONE},
    [CATEGORY_COMPUTE] = {"compute", ST_WORK_COMPUTE},
    [CATEGORY_MEMORY] = {"memory", ST_WORK_COMPUTE},
    [CATEGORY_SEND] = {"send", ST_WORK_COMMUNICATION},
    [CATEGORY_RECEIVE] = {"receive", ST_WORK_NONE},
    [CATEGORY_COLLECTIVE + ST_CHAKRA_ALL_REDUCE] = {"all_reduce", ST_WORK_COMMUNICATION},
    [CATEGORY_COLLECTIVE + ST_CHAKRA_REDUCE] = {"reduce", ST_WORK_COMMUNICATION},
    [CATEGORY_COLLECTIVE + ST_CHAKRA_ALL_GATHER] = {"all_gather", ST_WORK_COMMUNICATION},
    [CATEGORY_COLLECTIVE + ST_CHAKRA_GATHER] = {"gather", ST_WORK_COMMUNICATION},
    [CATEGORY_COLLECTIVE + ST_CHAKRA_SCATTER] = {"scatter", ST_WORK_COMMUNICATION},
    [CATEGORY_COLLECTIVE + ST_CHAKRA_BROADCAST] = {"broadcast", ST_WORK_COMMUNICATION},
    [CATEGORY_COLLECTIVE + ST_CHAKRA_ALL_TO_ALL] = {"all_to_all", ST_WORK_COMMUNICATION},
    [CATEGORY_COLLECTIVE + ST_CHAKRA_REDUCE_SCATTER] = {"reduce_scatter", ST_WORK_COMMUNICATION},
    [CATEGORY_COLLECTIVE +
        ST_CHAKRA_REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", ST_WORK_COMMUNICATION},
    [CATEGORY_COLLECTIVE + ST_CHAKRA_BARRIER] = {"barrier", ST_WORK_COMMUNICATION},
};

/* One end of a transfer. */
typedef struct ending {
    int64_t source;
    int64_t target;
    int64_t tag;
    st_task_id task;
} ending;

typedef struct ending_list {
    ending *items;
    size_t count;
} ending_list;

/* The rank's resource for a purpose. */
typedef struct used {
    st_resource_kind kind;
    uint32_t name;
    uint32_t resource;
} used;

typedef struct maker {
    st_execution_replay *made;
    st_graph *graph;
    st_arena *arena;
    st_errors *errors;
    st_status status; /* of the first failure, after which nothing is added */
    uint16_t category[CATEGORIES];
    ending_list sent;
    ending_list received;
    /* the rank that is added */
    const st_execution *rank;
    uint32_t number;
    used *resources;
    size_t resource_count;
    st_task_id *tasks; /* by node */
} maker;

static bool ok(const maker *make)
{
    return make->status == ST_OK;
}

static uint32_t add_name(maker *make, const char *text)
{
    uint32_t name = 0;
    if (ok(make))
        make->status = st_graph_name(make->graph, text, &name, make->errors);
    return name;
}

static category category_of(const st_execution_node *node)
{
    switch (node->type) {
    case ST_CHAKRA_COMP:
        return node->host ? CATEGORY_HOST : CATEGORY_COMPUTE;
    case ST_CHAKRA_MEM_LOAD:
    case ST_CHAKRA_MEM_STORE:
        return CATEGORY_MEMORY;
    case ST_CHAKRA_SEND:
        return CATEGORY_SEND;
    case ST_CHAKRA_RECV:
        return CATEGORY_RECEIVE;
    case ST_CHAKRA_COLL:
        return (category)(CATEGORY_COLLECTIVE + (int)node->collective);
    default:
        return CATEGORY_METADATA;
    }
}

/* ---- resources ---- */

/* The host, the GPU, its copies, and a stream for each group and neighbour. */
static uint32_t find_resource(maker *make, const st_execution_node *node)
{
    static const st_resource_kind kinds[] = {
        [CATEGORY_METADATA] = ST_RESOURCE_HOST,      [CATEGORY_HOST] = ST_RESOURCE_HOST,
        [CATEGORY_COMPUTE] = ST_RESOURCE_COMPUTE,    [CATEGORY_MEMORY] = ST_RESOURCE_COPY,
        [CATEGORY_SEND] = ST_RESOURCE_COMMUNICATION, [CATEGORY_RECEIVE] = ST_RESOURCE_HOST};
    category is = category_of(node);
    const char *text = categories[is].name;
    char name[32];
    used wanted = {.kind = is < CATEGORY_COLLECTIVE ? kinds[is] : ST_RESOURCE_COMMUNICATION};
    if (is >= CATEGORY_COLLECTIVE)
        text = node->group != NULL ? node->group : "all ranks";
    if (is == CATEGORY_SEND || is == CATEGORY_RECEIVE) {
        (void)snprintf(name, sizeof name, "%s %lld", is == CATEGORY_SEND ? "to" : "from",
                       (long long)(is == CATEGORY_SEND ? node->target : node->source));
        text = name;
    }
    wanted.name = add_name(make, text);
    for (size_t i = 0; i < make->resource_count; i++)
        if (make->resources[i].kind == wanted.kind && make->resources[i].name == wanted.name)
            return make->resources[i].resource;
    if (ok(make))
        make->status = st_graph_resource(make->graph, make->number, wanted.kind, text,
                                         &wanted.resource, make->errors);
    (void)ST_APPEND(make->arena, make->resources, make->resource_count, wanted);
    return wanted.resource;
}

/* ---- tasks ---- */

static void add_task(maker *make, size_t place)
{
    const st_execution_node *node = &make->rank->nodes[place];
    category is = category_of(node);
    int64_t duration_ns = node->price_ns >= 0 ? node->price_ns : (int64_t)node->duration_us * 1000;
    st_task_spec spec = {.category = make->category[is],
                         .duration_ns =
                             is == CATEGORY_RECEIVE || is == CATEGORY_METADATA ? 0 : duration_ns};
    if (duration_ns == 0 && node->price_ns < 0 && node->num_ops > 0) {
        ST_NOTE(make, ST_ERR_VALUE, (st_place){.file = make->rank->file},
                "byte %zu: node %llu '%.80s' has %lld operations and no duration" ST_HINT
                "record durations, or price them with --gpu or "
                "--cluster",
                node->offset, (unsigned long long)node->id, node->name, (long long)node->num_ops);
        return;
    }
    spec.resource = find_resource(make, node);
    spec.name = add_name(make, node->name);
    if (is >= CATEGORY_COLLECTIVE)
        spec.key = 1 + (uint64_t)add_name(make, node->group != NULL ? node->group : "all ranks");
    if (ok(make))
        make->status = st_graph_add(make->graph, &spec, &make->tasks[place], make->errors);
    const ending made = {node->source, node->target, node->tag, make->tasks[place]};
    if (node->type == ST_CHAKRA_SEND || node->type == ST_CHAKRA_RECV) {
        ending_list *list = node->type == ST_CHAKRA_SEND ? &make->sent : &make->received;
        (void)ST_APPEND(make->arena, list->items, list->count, made);
    }
}

/* ---- the order of a rank ---- */

/* Nodes that wait for nothing that is not added yet, the earliest on top. */
typedef struct heap {
    const st_execution_node *nodes;
    size_t *items;
    size_t count;
} heap;

static bool is_before(const heap *ready, size_t a, size_t b)
{
    uint64_t first = ready->nodes[a].start_us;
    uint64_t second = ready->nodes[b].start_us;
    return first != second ? first < second : a < b;
}

static void swap(size_t *a, size_t *b)
{
    size_t kept = *a;
    *a = *b;
    *b = kept;
}

static void push(heap *ready, size_t place)
{
    size_t at = ready->count++;
    ready->items[at] = place;
    for (; at > 0 && is_before(ready, ready->items[at], ready->items[(at - 1) / 2]);
         at = (at - 1) / 2)
        swap(&ready->items[at], &ready->items[(at - 1) / 2]);
}

static size_t pop(heap *ready)
{
    size_t top = ready->items[0];
    size_t at = 0;
    ready->items[0] = ready->items[--ready->count];
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < ready->count; child++)
            if (is_before(ready, ready->items[child], ready->items[least]))
                least = child;
        if (least == at)
            return top;
        swap(&ready->items[at], &ready->items[least]);
        at = least;
    }
}

/* Who waits for a node: lists by node, one behind the other. */
typedef struct followers {
    size_t *first; /* nodes + 1 */
    size_t *items;
    size_t *missing; /* how many nodes a node still waits for */
} followers;

static void add_in_order(maker *make, st_arena *scratch)
{
    const st_execution *rank = make->rank;
    size_t added = 0;
    followers found;
    heap ready = {.nodes = rank->nodes,
                  .items = st_arena_alloc(scratch, rank->count + 1, sizeof *ready.items)};
    size_t count = 0;
    for (size_t i = 0; i < rank->count; i++)
        count += rank->nodes[i].dep_count;
    found.first = st_arena_alloc(scratch, rank->count + 2, sizeof *found.first);
    found.items = st_arena_alloc(scratch, count + 1, sizeof *found.items);
    found.missing = st_arena_alloc(scratch, rank->count + 1, sizeof *found.missing);
    for (size_t i = 0; i < rank->count; i++)
        for (size_t j = 0; j < rank->nodes[i].dep_count; j++)
            found.first[rank->deps[rank->nodes[i].dep_first + j] + 2]++;
    for (size_t i = 0; i < rank->count; i++)
        found.first[i + 2] += found.first[i + 1];
    for (size_t i = 0; i < rank->count; i++) {
        found.missing[i] = rank->nodes[i].dep_count;
        for (size_t j = 0; j < rank->nodes[i].dep_count; j++)
            found.items[found.first[rank->deps[rank->nodes[i].dep_first + j] + 1]++] = i;
    }
    for (size_t i = 0; i < rank->count && ok(make); i++)
        if (found.missing[i] == 0)
            push(&ready, i);
    for (; ready.count > 0 && ok(make); added++) {
        size_t place = pop(&ready);
        add_task(make, place);
        for (size_t i = found.first[place]; i < found.first[place + 1]; i++)
            if (--found.missing[found.items[i]] == 0)
                push(&ready, found.items[i]);
    }
    for (size_t i = 0; i < rank->count && ok(make) && added < rank->count; i++)
        if (found.missing[i] > 0)
            ST_NOTE(make, ST_ERR_CYCLE, (st_place){.file = rank->file},
                    "byte %zu: node %llu '%.80s' waits for itself, directly or through "
                    "others; %zu nodes can never begin",
                    rank->nodes[i].offset, (unsigned long long)rank->nodes[i].id,
                    rank->nodes[i].name, rank->count - added);
}

static void add_edge(maker *make, st_task_id from, st_task_id to)
{
    if (ok(make))
        make->status = st_graph_edge(make->graph, from, to, ST_EDGE_USER, make->errors);
}

/* ---- transfers ---- */

ST_COMPARE(by_ends, ending, ST_RISING(source) ST_RISING(target) ST_RISING(tag) ST_RISING(task));

static int same_way(const ending *a, const ending *b)
{
    const ending first = {a->source, a->target, a->tag, 0};
    const ending second = {b->source, b->target, b->tag, 0};
    return by_ends(&first, &second);
}

/* ---- the whole ---- */

static void build(maker *make)
{
    const st_execution_set *set = make->made->set;
    for (int i = 0; i < CATEGORIES && ok(make); i++)
        make->status = st_graph_category(make->graph, categories[i].name, categories[i].work,
                                         &make->category[i], make->errors);
    for (size_t i = 0; i < set->count && ok(make); i++) {
        const st_execution *rank = &set->ranks[i];
        st_arena *scratch = st_arena_create();
        make->rank = rank;
        make->number = rank->rank >= 0 ? (uint32_t)rank->rank : 0;
        make->resource_count = 0;
        make->tasks = st_arena_alloc(scratch, rank->count + 1, sizeof *make->tasks);
        add_in_order(make, scratch);
        for (size_t k = 0; k < rank->count && ok(make); k++)
            for (size_t j = 0; j < rank->nodes[k].dep_count; j++)
                add_edge(make, make->tasks[rank->deps[rank->nodes[k].dep_first + j]],
                         make->tasks[k]);
        st_arena_destroy(scratch);
    }
    /* What is received was sent: both lists in one order. */
    ending_list *sent = &make->sent;
    ending_list *received = &make->received;
    size_t i = 0;
    size_t j = 0;
    st_sort(sent->items, sent->count, sizeof *sent->items, by_ends);
    st_sort(received->items, received->count, sizeof *received->items, by_ends);
    while (i < sent->count || j < received->count) {
        int order = i == sent->count       ? 1
                    : j == received->count ? -1
                                           : same_way(&sent->items[i], &received->items[j]);
        if (order == 0)
            add_edge(make, sent->items[i].task, received->items[j].task);
        else
            make->made->unmatched++;
        i += order <= 0 ? 1 : 0;
        j += order >= 0 ? 1 : 0;
    }
    if (ok(make) && make->made->unmatched > 0)
        st_report(make->errors, ST_SEVERITY_WARNING, ST_ERR_NAME, (st_place){0},
                  "%zu transfers have no counterpart in the files: nothing waits for them",
                  make->made->unmatched);
    if (ok(make))
        make->status = st_graph_seal(make->graph, make->errors);
}

st_status st_execution_replay_make(const st_execution_set *set, st_arena *arena,
                                   st_execution_replay *replay, st_errors *errors)
{
    *replay = (st_execution_replay){.set = set, .graph = st_graph_create(NULL)};
    maker make = {.made = replay, .graph = replay->graph, .arena = arena, .errors = errors};
    if (replay->graph == NULL)
        return st_out_of_memory(errors);
    build(&make);
    if (!ok(&make))
        return make.status;
    replay->replay = st_replay_create(replay->graph);
    replay->times = st_arena_alloc(arena, set->count + 1, sizeof *replay->times);
    replay->kind_ns = st_arena_alloc(arena, CATEGORIES + 1, sizeof *replay->kind_ns);
    replay->kind_counts = st_arena_alloc(arena, CATEGORIES + 1, sizeof *replay->kind_counts);
    if (replay->replay == NULL)
        return st_out_of_memory(errors);
    st_status status = st_replay_run(replay->replay, errors);
    if (status == ST_OK)
        status = st_replay_ranks(replay->replay, replay->times, errors);
    return status == ST_OK ? st_replay_categories(replay->replay, ST_RANKS_ALL, replay->kind_ns,
                                                  replay->kind_counts, errors)
                           : status;
}

void st_execution_replay_free(st_execution_replay *replay)
{
    st_replay_destroy(replay->replay);
    st_graph_destroy(replay->graph);
    *replay = (st_execution_replay){0};
}
