/* SPDX-License-Identifier: Apache-2.0 */
/* When which bytes leave a node; see nic.h. */
#include "timeline/nic.h"

#include "base/memory.h"
#include "steptime/keys.h"

#include <math.h>
#include <string.h>

/* What tasks can send: each kind of traffic in its own, and all that hides in the passes. */
enum { IN_PASSES = ST_GROUPS, LANES };

static const char *const lane_category[ST_GROUPS] = {
    [ST_GROUP_TP] = "tp",       [ST_GROUP_CP] = "cp", [ST_GROUP_EP] = "ep",
    [ST_GROUP_DP] = "dp",       [ST_GROUP_PP] = "pp", [ST_GROUP_EMBEDDING] = "tied",
    [ST_GROUP_EXPERT_DP] = "dp"};

/* --- when a stage sends ----------------------------------------------------------------------- */

/* Time that the tasks of a lane run, in each bin; in ticks. */
typedef struct nic_lane {
    double *ticks;
    double all;
} nic_lane;

typedef struct nic_builder {
    const st_timeline *timeline;
    const st_traffic_report **traffic; /* by stage */
    const st_traffic_report *visited;  /* of the stages whose flows are being added */
    size_t gpus_per_node;
    st_arena *arena;
    size_t bins;
    size_t stages;
    nic_lane *lanes; /* stage by stage */
    double *sent;    /* node by node, stage by stage, kind by kind */
    double rate;
} nic_builder;

static void add_time(nic_lane *lane, const nic_builder *builder, st_task_time time)
{
    double width = (double)builder->timeline->end / (double)builder->bins;
    double at = (double)time.start_ns;
    double end = (double)time.end_ns;
    if (width <= 0)
        return; /* a step without time */
    lane->all += end - at;
    for (size_t bin = (size_t)(at / width); at < end && bin < builder->bins; bin++) {
        double until = bin + 1 == builder->bins ? end : fmin(end, width * (double)(bin + 1));
        lane->ticks[bin] += fmax(until - at, 0);
        at = fmax(until, at);
    }
}

/* The row of a stage, the first where every rank has one; SIZE_MAX: not its first. */
static size_t stage_of_rank(const st_timeline *timeline, uint32_t rank)
{
    for (size_t i = 0; i < timeline->row_count; i++) {
        if (timeline->rows[i].rank != rank)
            continue;
        for (size_t k = 0; k < i; k++)
            if (timeline->rows[k].stage == timeline->rows[i].stage)
                return SIZE_MAX;
        return timeline->rows[i].stage;
    }
    return SIZE_MAX;
}

static st_status fill_lanes(nic_builder *builder, st_errors *errors)
{
    const st_timeline *timeline = builder->timeline;
    size_t resources = st_graph_resource_count(timeline->graph);
    size_t *stages = st_arena_alloc(builder->arena, resources + 1, sizeof *stages);
    builder->lanes = st_arena_alloc(builder->arena, builder->stages * LANES, sizeof(nic_lane));
    if (stages == NULL || builder->lanes == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < builder->stages * LANES; i++)
        builder->lanes[i].ticks = st_arena_alloc(builder->arena, builder->bins, sizeof(double));
    if (st_arena_failed(builder->arena))
        return st_out_of_memory(errors);
    for (size_t i = 0; i < resources; i++)
        stages[i] = stage_of_rank(timeline, st_graph_resource_rank(timeline->graph, (uint32_t)i));
    for (size_t i = 0; i < st_graph_task_count(timeline->graph); i++) {
        size_t stage = stages[st_graph_task(timeline->graph, (st_task_id)i).resource];
        if (stage < builder->stages) {
            const st_task_id task = (st_task_id)i;
            st_task_view view = st_graph_task(builder->timeline->graph, task);
            nic_lane *lanes = &builder->lanes[stage * LANES];
            st_task_time time = st_replay_task(builder->timeline->replay, task);
            for (int group = 0; group < ST_GROUPS; group++)
                if (strcmp(view.category_name, lane_category[group]) == 0)
                    add_time(&lanes[group], builder, time);
            if (st_is_pass(view.category_name))
                add_time(&lanes[IN_PASSES], builder, time);
        }
    }
    return ST_OK;
}

/* --- what a node sends ------------------------------------------------------------------------ */

static size_t sent_index(const nic_builder *builder, size_t node, size_t stage, size_t group)
{
    return (node * builder->stages + stage) * ST_GROUPS + group;
}

/*
 * A rank of the traffic as a rank of the job. Where stages have groups of their own, their traffic
 * is that of a job of such stages: its ranks stand for those at the same place of the stage.
 */
static size_t rank_of(const nic_builder *builder, size_t rank)
{
    const st_placement *placement = &builder->visited->placement;
    size_t at[ST_GROUPS] = {0};
    if (!builder->timeline->plan.splits_differ)
        return rank;
    for (int group = ST_GROUP_TP; group <= ST_GROUP_PP; group++)
        at[group] = rank / placement->stride[group] % placement->size[group];
    const st_own_stage *stage = &builder->timeline->plan.own_stages[at[ST_GROUP_PP]];
    size_t tp = at[ST_GROUP_TP] * stage->tp / placement->size[ST_GROUP_TP];
    size_t cp = at[ST_GROUP_CP] * stage->cp / placement->size[ST_GROUP_CP];
    size_t dp = at[ST_GROUP_DP] * stage->dp / placement->size[ST_GROUP_DP];
    return stage->ranks[(dp * stage->cp + cp) * stage->tp + tp];
}

static bool add_flow(void *context, const st_flow *flow)
{
    nic_builder *builder = context;
    const st_placement *placement = &builder->visited->placement;
    size_t stage = flow->source / placement->stride[ST_GROUP_PP] % builder->stages;
    if (builder->traffic[stage] != builder->visited)
        return true;
    size_t node = rank_of(builder, flow->source) / builder->gpus_per_node;
    if (node != rank_of(builder, flow->target) / builder->gpus_per_node)
        builder->sent[sent_index(builder, node, stage, flow->group)] += (double)flow->bytes;
    return true;
}

static st_status fill_class(const nic_builder *builder, st_nic_class *class, st_errors *errors)
{
    double *bins = st_arena_alloc(builder->arena, builder->bins, sizeof *bins);
    if (bins == NULL)
        return st_out_of_memory(errors);
    class->bytes = bins;
    for (size_t stage = 0; stage < builder->stages; stage++)
        for (size_t group = 0; group < ST_GROUPS; group++) {
            double bytes = builder->sent[sent_index(builder, class->first_node, stage, group)];
            if (bytes > 0) {
                /* Bytes of a stage's kind on a node go into the time of its messages, as far as the
                 * cards allow, and the rest into the passes. */
                const nic_lane *lanes = &builder->lanes[stage * LANES];
                double room = builder->rate > 0 ? builder->rate * lanes[group].all / ST_TICKS_PER_S
                                                : (double)INFINITY;
                double own = lanes[group].all > 0 ? fmin(bytes, room) : 0;
                if (lanes[IN_PASSES].all == 0)
                    own = bytes;
                const nic_lane *lane = &lanes[group];
                for (size_t i = 0; i < builder->bins && own > 0 && lane->all > 0; i++)
                    bins[i] += own * lane->ticks[i] / lane->all;
                lane = &lanes[IN_PASSES];
                for (size_t i = 0; i < builder->bins && bytes > own; i++)
                    bins[i] += (bytes - own) * lane->ticks[i] / lane->all;
                class->sent_bytes += bytes;
                class->hidden_bytes += bytes - own;
            }
        }
    /* What kinds or directions would send at once above the rate of the cards waits until these
     * are free, or leaves before where the step ends first. */
    double room =
        builder->rate * (double)builder->timeline->end / ST_TICKS_PER_S / (double)builder->bins;
    double waiting = 0;
    if (!(builder->rate <= 0) && !(class->sent_bytes > room * (double)builder->bins)) {
        for (size_t turn = 0; turn < 2 * builder->bins; turn++) {
            size_t bin = turn < builder->bins ? turn : 2 * builder->bins - 1 - turn;
            double all = bins[bin] + waiting;
            double above = fmax(bins[bin] - room, 0);
            class->delayed_bytes += above;
            bins[bin] = fmin(all, room);
            waiting = all - bins[bin];
        }
    }
    return ST_OK;
}

static st_status fill_classes(nic_builder *builder, st_nic_usage *usage, st_errors *errors)
{
    /* Nodes up to the one of the last rank. */
    const st_timeline_plan *plan = &builder->timeline->plan;
    size_t ranks = plan->splits_differ ? st_own_ranks(plan->own_stages, builder->stages)
                                       : builder->traffic[0]->placement.ranks;
    size_t nodes = (ranks + builder->gpus_per_node - 1) / builder->gpus_per_node;
    st_nic_class *classes = st_arena_alloc(builder->arena, nodes, sizeof *classes);
    builder->sent =
        st_arena_alloc(builder->arena, nodes * builder->stages * ST_GROUPS, sizeof(double));
    if (classes == NULL || builder->sent == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < builder->stages; i++) {
        size_t first = 0;
        while (builder->traffic[first] != builder->traffic[i])
            first++;
        if (first < i)
            continue;
        builder->visited = builder->traffic[i];
        st_traffic_visit(&builder->visited->placement, &builder->visited->traffic, add_flow,
                         builder);
    }
    for (size_t node = 0; node < nodes; node++) {
        /* Nodes that send the same by stage and kind are one class; there are few. */
        size_t bytes = builder->stages * ST_GROUPS * sizeof(double);
        const double *own = &builder->sent[sent_index(builder, node, 0, 0)];
        size_t i = 0;
        while (i < usage->class_count &&
               memcmp(own, &builder->sent[sent_index(builder, classes[i].first_node, 0, 0)],
                      bytes) != 0)
            i++;
        if (i == usage->class_count)
            classes[(usage->class_count)++] = (st_nic_class){.first_node = node};
        classes[i].nodes++;
    }
    usage->classes = classes;
    for (size_t i = 0; i < usage->class_count; i++) {
        st_status status = fill_class(builder, &classes[i], errors);
        if (status != ST_OK)
            return status;
    }
    return ST_OK;
}

/* The traffic of every stage: the job's, or that of its own estimate, made once for each. */
static st_status read_traffic(nic_builder *builder, st_estimate *estimate, st_errors *errors)
{
    const st_own_stage *own = builder->timeline->plan.own_stages;
    for (size_t i = 0; i < builder->stages; i++) {
        size_t same = 0;
        while (own != NULL && own[same].estimate != own[i].estimate)
            same++;
        if (same < i) {
            builder->traffic[i] = builder->traffic[same];
            continue;
        }
        st_traffic_report *report = st_arena_alloc(builder->arena, 1, sizeof *report);
        if (report == NULL)
            return st_out_of_memory(errors);
        st_status status = st_traffic_report_make(own != NULL ? own[i].estimate : estimate,
                                                  ST_GROUPS, builder->arena, report, errors);
        if (status != ST_OK)
            return status;
        builder->traffic[i] = report;
    }
    builder->gpus_per_node = builder->traffic[0]->placement.gpus_per_node;
    return ST_OK;
}

st_status st_nic_usage_make(st_estimate *estimate, const st_timeline *timeline, size_t bins,
                            st_arena *arena, st_nic_usage *usage, st_errors *errors)
{
    const st_job_value *rate = st_job_value_of(estimate->job, ST_KEY_CLUSTER_NIC_BANDWIDTH);
    nic_builder builder = {.timeline = timeline,
                           .arena = arena,
                           .bins = bins,
                           .stages = timeline->plan.schedule.shape.stages};
    if (rate != NULL && rate->origin != ST_ORIGIN_NONE)
        builder.rate = rate->number;
    *usage = (st_nic_usage){.timeline = timeline,
                            .bins = bins,
                            .bin_s = (double)timeline->end / ST_TICKS_PER_S / (double)bins,
                            .rate = builder.rate};
    builder.traffic = st_arena_alloc(arena, builder.stages, sizeof *builder.traffic);
    if (builder.traffic == NULL)
        return st_out_of_memory(errors);
    st_status status = read_traffic(&builder, estimate, errors);
    if (status == ST_OK)
        status = fill_lanes(&builder, errors);
    if (status == ST_OK)
        status = fill_classes(&builder, usage, errors);
    return status;
}
