/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a task graph. */
#include "schedule/graph_internal.h"

size_t st_graph_task_count(const st_graph *graph)
{
    return graph->task_count;
}

size_t st_graph_edge_count(const st_graph *graph)
{
    return graph->edge_count;
}

size_t st_graph_resource_count(const st_graph *graph)
{
    return graph->resource_count;
}

size_t st_graph_category_count(const st_graph *graph)
{
    return graph->category_count;
}

size_t st_graph_instance_count(const st_graph *graph)
{
    return graph->instance_count;
}

size_t st_graph_rank_count(const st_graph *graph)
{
    return graph->rank_table.count;
}

uint32_t st_graph_rank(const st_graph *graph, size_t index)
{
    return graph->ranks[index];
}

const char *st_graph_resource_name(const st_graph *graph, uint32_t resource)
{
    return graph->names[graph->resources[resource].name];
}

uint32_t st_graph_resource_rank(const st_graph *graph, uint32_t resource)
{
    return graph->ranks[graph->resources[resource].rank_index];
}

st_resource_kind st_graph_resource_kind(const st_graph *graph, uint32_t resource)
{
    return graph->resources[resource].kind;
}

const char *st_graph_category_name(const st_graph *graph, uint16_t category)
{
    return graph->names[graph->categories[category].name];
}

st_work st_graph_work(const st_graph *graph, st_task_id task)
{
    static const st_work by_kind[ST_RESOURCE_KINDS] = {ST_WORK_COMPUTE, ST_WORK_COMMUNICATION,
                                                       ST_WORK_COMPUTE, ST_WORK_NONE};
    uint16_t category = graph->category[task];
    return category == 0 ? by_kind[graph->resources[graph->resource[task]].kind]
                         : graph->categories[category].work;
}

st_task_view st_graph_task(const st_graph *graph, st_task_id task)
{
    uint32_t resource = graph->resource[task];
    return (st_task_view){
        .resource = resource,
        .rank = st_graph_resource_rank(graph, resource),
        .kind = graph->resources[resource].kind,
        .name = graph->names[graph->name[task]],
        .category = graph->category[task],
        .category_name = st_graph_category_name(graph, graph->category[task]),
        .work = st_graph_work(graph, task),
        .duration_ns = graph->duration_ns[task],
        .earliest_ns = graph->earliest_ns == NULL ? 0 : graph->earliest_ns[task],
        .instance = graph->instance == NULL ? 0 : graph->instance[task],
    };
}

const st_task_id *st_graph_members(const st_graph *graph, uint32_t instance, size_t *count)
{
    if (!graph->sealed || instance == 0 || instance > graph->instance_count) {
        *count = 0;
        return NULL;
    }
    *count = graph->member_first[instance + 1] - graph->member_first[instance];
    return graph->members + graph->member_first[instance];
}

st_graph_arrays st_graph_arrays_of(const st_graph *graph)
{
    return (st_graph_arrays){.task_count = graph->task_count,
                             .duration_ns = graph->duration_ns,
                             .earliest_ns = graph->earliest_ns,
                             .resource = graph->resource,
                             .name = graph->name,
                             .instance = graph->instance,
                             .category = graph->category,
                             .previous = graph->previous,
                             .order = graph->order,
                             .before_first = graph->before_first,
                             .before = graph->before,
                             .before_kind = graph->before_kind,
                             .names = graph->names,
                             .name_count = graph->name_count,
                             .instance_size = graph->instance_size};
}

st_work st_graph_category_work(const st_graph *graph, uint16_t category)
{
    return graph->categories[category].work;
}

uint32_t st_graph_rank_index(const st_graph *graph, uint32_t resource)
{
    return graph->resources[resource].rank_index;
}

st_task_id st_graph_last_task(const st_graph *graph, uint32_t resource)
{
    return graph->resources[resource].last;
}
