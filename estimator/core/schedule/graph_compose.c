/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composition: which tasks of different ranks meet.
 *
 * The k-th task with a key on a rank meets the k-th task with that key on the others. Two tables of
 * numbered pairs do it in linear time: (key, rank) to count the tasks seen so far, (key, k) to find
 * the instance.
 */
#include "schedule/graph_internal.h"

#include <stdlib.h>

enum { RANKS_NAMED = 6 };

typedef struct st_composer {
    st_graph *graph;
    st_errors *errors;
    st_pair_table seen;   /* (key, rank index) */
    uint32_t *seen_count; /* by number in `seen` */
    size_t seen_capacity;
    st_pair_table instances; /* (key, occurrence) */
    uint32_t *expected;      /* by number in `instances`: 0 as many as come */
    size_t expected_capacity;
    uint32_t first_instance; /* number of the first instance made from keys */
} st_composer;

static st_status join(st_composer *composer, const st_keyed_task *keyed)
{
    st_graph *graph = composer->graph;
    uint32_t rank_index = graph->resources[graph->resource[keyed->task]].rank_index;
    /* How many tasks with this key the rank had before; ST_TASK_NONE when out of memory. */
    uint32_t turn = ST_TASK_NONE;
    const uint64_t key = keyed->key;
    size_t occurrence_known = composer->seen.count;
    if (ST_ROOM(composer->seen_count, occurrence_known, composer->seen_capacity)) {
        uint32_t occurrence_number = st_pair_number(&composer->seen, (st_pair){key, rank_index});
        if (occurrence_number != ST_TASK_NONE) {
            if (occurrence_number == occurrence_known)
                composer->seen_count[occurrence_number] = 0;
            turn = composer->seen_count[occurrence_number]++;
        }
    }
    size_t known = composer->instances.count;
    bool room = ST_ROOM(composer->expected, known, composer->expected_capacity);
    uint32_t number = turn == ST_TASK_NONE || !room
                          ? ST_TASK_NONE
                          : st_pair_number(&composer->instances, (st_pair){keyed->key, turn});
    if (number == ST_TASK_NONE)
        return st_out_of_memory(composer->errors);
    if (number == known) {
        uint32_t made = 0;
        st_status status = st_graph_instance(graph, 1, &made, composer->errors);
        if (status != ST_OK)
            return status;
        composer->expected[number] = keyed->ranks;
        graph->instance_size[made] = keyed->ranks;
    } else if (composer->expected[number] != keyed->ranks) {
        return st_fail(composer->errors, ST_ERR_VALUE, (st_place){0},
                       "%s waits for a different number of ranks than its partners" ST_FOUND
                       "%lu" ST_EXPECTED "%lu",
                       st_graph_describe(graph, keyed->task, composer->errors),
                       (unsigned long)keyed->ranks, (unsigned long)composer->expected[number]);
    }
    graph->instance[keyed->task] = composer->first_instance + number;
    graph->instance_size[composer->first_instance + number] += keyed->ranks == 0 ? 1 : 0;
    return ST_OK;
}

st_status st_graph_compose(st_graph *graph, st_errors *errors)
{
    st_composer composer = {
        .graph = graph, .errors = errors, .first_instance = (uint32_t)graph->instance_count + 1};
    st_status status = ST_OK;
    for (size_t i = 0; i < graph->keyed_count && status == ST_OK; i++)
        status = join(&composer, &graph->keyed[i]);
    st_pair_table_free(&composer.seen);
    st_pair_table_free(&composer.instances);
    free(composer.seen_count);
    free(composer.expected);
    free(graph->keyed);
    graph->keyed = NULL;
    graph->keyed_count = graph->keyed_capacity = 0;
    return status;
}

/* The ranks of those that came, a few by name. */
static const char *ranks_of(const st_graph *graph, const st_task_id *members, size_t count,
                            st_errors *errors)
{
    st_buffer text = {0};
    for (size_t i = 0; i < count && i < RANKS_NAMED; i++) {
        uint32_t rank = st_graph_resource_rank(graph, graph->resource[members[i]]);
        st_buffer_printf(&text, "%s%lu", i == 0 ? "" : ", ", (unsigned long)rank);
    }
    const char *more = count > RANKS_NAMED ? ", ..." : "";
    const char *result =
        st_errors_text(errors, "%zu (of rank%s %s%s)", count, count == 1 ? "" : "s",
                       text.data == NULL ? "" : text.data, more);
    st_buffer_free(&text);
    return count == 0 ? "0" : result;
}

st_status st_graph_list_members(st_graph *graph, st_errors *errors)
{
    size_t instances = graph->instance_count;
    size_t attending = 0;
    st_status status = ST_OK;
    graph->member_first = calloc(instances + 2, sizeof(*graph->member_first));
    if (graph->member_first == NULL)
        return st_out_of_memory(errors);
    uint32_t *first = graph->member_first;
    for (size_t i = 0; i < graph->task_count; i++) {
        if (graph->instance[i] != 0) {
            first[graph->instance[i] + 1]++;
            attending++;
        }
    }
    graph->members = malloc((attending + 1) * sizeof(*graph->members));
    if (graph->members == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 1; i <= instances + 1; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < graph->task_count; i++)
        if (graph->instance[i] != 0)
            graph->members[first[graph->instance[i]]++] = (st_task_id)i;
    /* Every offset has moved to the next instance's: move them back. */
    for (size_t i = instances + 1; i > 0; i--)
        first[i] = first[i - 1];
    first[0] = 0;
    for (size_t i = 1; i <= instances; i++) {
        st_status one = ST_OK;
        size_t size_first = graph->member_first[i];
        size_t count = graph->member_first[i + 1] - size_first;
        if (count != graph->instance_size[i]) {
            const char *what =
                count == 0
                    ? st_errors_text(errors, "instance %zu has no tasks", i)
                    : st_errors_text(errors, "%s has a wrong number of partners",
                                     st_graph_describe(graph, graph->members[size_first], errors));
            one = st_fail(errors, ST_ERR_VALUE, (st_place){0}, "%s" ST_FOUND "%s" ST_EXPECTED "%lu",
                          what, ranks_of(graph, graph->members + size_first, count, errors),
                          (unsigned long)graph->instance_size[i]);
        }
        status = status == ST_OK ? one : status;
    }
    return status;
}
