/* SPDX-License-Identifier: Apache-2.0 */
/* Rates of a timeline's tasks: what computation and hidden gradients and weights do to each other.
 */
#include "timeline/timeline.h"

#include "schedule/graph_internal.h"
#include "schedule/pipeline_time.h"
#include "schedule/schedule_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a resource has of hidden gradients and weights. */
typedef enum data_stream { STREAM_OF_OTHERS, STREAM_OF_GRADIENTS, STREAM_OF_WEIGHTS } data_stream;

/* Of a message while another one of its group is on its way: as good as none. */
#define RATE_OF_WAITING 1e-6

typedef struct interference {
    const double *slowdown;    /* by st_slowed */
    const st_slowed *slowed;   /* by category of the graph */
    const double *data_rate;   /* by task: of hidden gradients and weights meanwhile */
    const data_stream *stream; /* by resource */
} interference;

/*
 * Computation runs at 1/slowdown of its speed while its rank communicates. Hidden gradients and
 * weights run at the rate that the passes' own messages leave them, which need links and NICs for
 * no longer where computation slows down.
 */
static double rate_beside(void *self, const st_graph *graph, st_task_id task,
                          const st_task_id *parallel, size_t count)
{
    const interference *rules = self;
    data_stream own = rules->stream[graph->resource[task]];
    if (own != STREAM_OF_OTHERS) {
        double rate = 1;
        for (size_t i = 0; i < count; i++) {
            data_stream other = rules->stream[graph->resource[parallel[i]]];
            if (other == STREAM_OF_OTHERS) {
                double slow = st_graph_work(graph, parallel[i]) == ST_WORK_COMPUTE
                                  ? rules->slowdown[rules->slowed[graph->category[parallel[i]]]]
                                  : 1;
                rate = fmin(rate, 1 - (1 - rules->data_rate[parallel[i]]) / slow);
            } else if (own == STREAM_OF_GRADIENTS && other == STREAM_OF_WEIGHTS) {
                rate = RATE_OF_WAITING;
            }
        }
        return rate;
    }
    bool communicates = false;
    for (size_t i = 0; i < count; i++)
        communicates = communicates || st_graph_work(graph, parallel[i]) == ST_WORK_COMMUNICATION;
    return communicates && st_graph_work(graph, task) == ST_WORK_COMPUTE
               ? 1 / rules->slowdown[rules->slowed[graph->category[task]]]
               : 1;
}

static data_stream stream_named(const char *name)
{
    return strcmp(name, ST_DATA_STREAM) == 0      ? STREAM_OF_GRADIENTS
           : strcmp(name, ST_WEIGHTS_STREAM) == 0 ? STREAM_OF_WEIGHTS
                                                  : STREAM_OF_OTHERS;
}

/* A pass by the name of its tasks, "F 3" or "F 3.1" (schedule_build.c); other names have none. */
typedef struct named_pass {
    char letter; /* 0: none */
    uint32_t micro;
    uint32_t chunk;
    bool has_chunk;
} named_pass;

static named_pass pass_named(const char *name)
{
    named_pass pass = {0};
    if (name[0] == '\0' || strchr("FBW", name[0]) == NULL || name[1] != ' ')
        return pass;
    char *end = NULL;
    unsigned long micro = strtoul(name + 2, &end, 10);
    bool has_chunk = *end == '.';
    unsigned long chunk = has_chunk ? strtoul(end + 1, NULL, 10) : 0;
    if (micro > 0 && (!has_chunk || chunk > 0))
        pass = (named_pass){name[0], (uint32_t)micro - 1, has_chunk ? (uint32_t)chunk - 1 : 0,
                            has_chunk};
    return pass;
}

static double rate_beside_pass(const st_timeline_plan *plan, const named_pass *pass, uint32_t stage)
{
    const st_schedule_shape *shape = &plan->schedule.shape;
    uint32_t place = st_schedule_place(shape, stage, pass->chunk);
    /* A rank of DualPipe has two chunks, one for each direction. */
    for (uint32_t i = 0; !pass->has_chunk && i < st_schedule_rank_chunks(shape); i++) {
        uint32_t other = st_schedule_place(shape, stage, i);
        if (st_schedule_stage(shape, other, pass->micro) == stage)
            place = other;
    }
    return pass->letter == 'W'
               ? 1
               : plan->data_rate[place][pass->letter == 'F' ? ST_RATE_FORWARD : ST_RATE_BACKWARD];
}

/* By task: the rate of hidden gradients and weights during it. */
static bool fill_data_rates(const st_timeline *timeline, st_arena *arena, double *rates)
{
    const st_graph *graph = timeline->graph;
    const st_timeline_plan *plan = &timeline->plan;
    size_t categories = st_graph_category_count(graph);
    double *of_category = st_arena_alloc(arena, categories + 1, sizeof *of_category);
    named_pass *of_name = st_arena_alloc(arena, graph->name_count + 1, sizeof *of_name);
    if (of_category == NULL || of_name == NULL)
        return false;
    for (size_t i = 0; i < categories; i++) {
        const char *category = st_graph_category_name(graph, (uint16_t)i);
        of_category[i] = strcmp(category, "dp") == 0   ? RATE_OF_WAITING
                         : strcmp(category, "pp") == 0 ? plan->data_rate_sending
                                                       : 1;
    }
    for (size_t i = 0; i < graph->name_count; i++)
        of_name[i] = pass_named(graph->names[i]);
    for (size_t i = 0; i < st_graph_task_count(graph); i++) {
        size_t row = graph->resources[graph->resource[i]].rank_index;
        const named_pass *pass = &of_name[graph->name[i]];
        rates[i] = of_category[graph->category[i]];
        if (pass->letter != 0)
            rates[i] =
                rate_beside_pass(plan, pass, st_schedule_stage_of_rank(&plan->schedule, row));
    }
    return true;
}

static st_slowed slowed_of(const char *category, bool splits)
{
    if (strcmp(category, "forward") == 0)
        return ST_SLOWED_FORWARD;
    if (strcmp(category, "backward") == 0)
        return splits ? ST_SLOWED_INPUTS : ST_SLOWED_BACKWARD;
    return strcmp(category, "weights") == 0 ? ST_SLOWED_WEIGHTS : ST_SLOWED_REST;
}

bool st_timeline_is_slowed(const st_timeline_plan *plan)
{
    bool slowed = false;
    for (int i = 0; i < ST_SLOWED_KINDS; i++)
        slowed = slowed || plan->slowdown[i] > 1;
    for (uint32_t i = 0; i < st_schedule_places(&plan->schedule.shape); i++)
        slowed = slowed || plan->data_rate[i][ST_RATE_FORWARD] < 1 ||
                 plan->data_rate[i][ST_RATE_BACKWARD] < 1;
    slowed = slowed || plan->data_rate_sending < 1;
    /* Split weights and gradients share a way. */
    return slowed || (plan->schedule.pieces != NULL && !plan->schedule.gathers_in_pass);
}

st_status st_timeline_run_slowed(st_timeline *timeline, st_errors *errors)
{
    const st_graph *graph = timeline->graph;
    size_t count = st_graph_category_count(graph);
    size_t resources = st_graph_resource_count(graph);
    st_arena *arena = st_arena_create();
    if (arena == NULL)
        return st_out_of_memory(errors);
    st_slowed *slowed = st_arena_alloc(arena, count + 1, sizeof *slowed);
    double *data_rate = st_arena_alloc(arena, st_graph_task_count(graph) + 1, sizeof *data_rate);
    data_stream *stream = st_arena_alloc(arena, resources + 1, sizeof *stream);
    if (slowed == NULL || data_rate == NULL || stream == NULL ||
        !fill_data_rates(timeline, arena, data_rate)) {
        st_arena_destroy(arena);
        return st_out_of_memory(errors);
    }
    size_t backward = 0;
    size_t weights = 0;
    for (size_t i = 0; i < st_graph_task_count(graph); i++) {
        const char *category = st_graph_category_name(graph, graph->category[i]);
        backward += strcmp(category, "backward") == 0 ? 1 : 0;
        weights += strcmp(category, "weights") == 0 ? 1 : 0;
    }
    bool splits = weights > 0 && 2 * weights >= backward;
    for (size_t i = 0; i < count; i++) {
        const char *category = st_graph_category_name(graph, (uint16_t)i);
        slowed[i] = slowed_of(category, splits);
    }
    for (size_t i = 0; i < resources; i++)
        stream[i] = stream_named(st_graph_resource_name(graph, (uint32_t)i));
    interference rules = {timeline->plan.slowdown, slowed, data_rate, stream};
    st_rate_rule rule = {.rate = rate_beside, .self = &rules};
    st_status status = st_replay_run_rates(timeline->replay, &rule, errors);
    st_arena_destroy(arena);
    return status;
}
