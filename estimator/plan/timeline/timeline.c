/* SPDX-License-Identifier: Apache-2.0 */
/* Plans, builds and replays the timeline of a job, and breaks it down. */
#include "timeline/timeline.h"

#include "estimate/builtin.h"
#include "estimate/placement.h"
#include "schedule/buckets.h"
#include "schedule/graph_internal.h"
#include "schedule/pipeline_time.h"
#include "schedule/schedule_internal.h"
#include "steptime/keys.h"
#include "steptime/tool/estimates.h"
#include "steptime/tool/roles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the roles that are split consist of. */
enum { ST_SPLIT_EXPOSED, ST_SPLIT_HIDDEN };

/* Of ST_ROLE_DATA_RATE. */
enum { RATE_SENDING = ST_RATE_BACKWARD + 1 };

/* A plan in the making. */
typedef struct st_planner {
    st_estimate *estimate;
    st_arena *arena;
    st_errors *errors;
    st_timeline_plan *plan;
    const st_place_layers *given;          /* NULL: as the sheet fills stages */
    double value[ST_ROLES][ST_ROLE_PARTS]; /* in base units; 0 where nothing fills the role */
    const double *transfer_s;              /* by stage, where they are asked one by one */
    bool out_of_range;                     /* a time that no step has */
} st_planner;

static bool st_plan_has(const st_planner *planner, st_role role);
static uint32_t st_plan_whole(double value);
static st_status st_plan_passes(st_planner *planner);
static st_status st_plan_ends(st_planner *planner);
static st_status st_plan_buckets(st_planner *planner);

/* --- the roles -------------------------------------------------------------------------------- */

/* Roles that a timeline has a use for. */
static bool is_wanted(st_role role)
{
    return role == ST_ROLE_STEP || role == ST_ROLE_COMMUNICATION ||
           (role >= ST_ROLE_TP && role <= ST_ROLE_EP) ||
           (role >= ST_ROLE_MICRO_BATCHES && role <= ST_ROLE_HIDDEN_IN_PASSES &&
            role != ST_ROLE_LAYER_WORK && role != ST_ROLE_LAYER_PARAMETERS);
}

/* Runs the sheet for the cells of all roles that it fills, and of no others. */
static st_status run_roles(st_planner *planner)
{
    enum { MOST = ST_ROLES * ST_ROLE_PARTS };
    st_estimate *estimate = planner->estimate;
    const char **names = st_arena_alloc(planner->arena, MOST, sizeof *names);
    double **values = st_arena_alloc(planner->arena, MOST, sizeof *values);
    size_t count = 0;
    if (names == NULL || values == NULL)
        return st_out_of_memory(planner->errors);
    for (int role = 0; role < ST_ROLES; role++) {
        for (size_t part = 0; part < ST_ROLE_PARTS && is_wanted((st_role)role); part++) {
            names[count] = st_sheet_role_part(estimate->sheet, (st_role)role, part);
            values[count] = &planner->value[role][part];
            count += names[count] != NULL ? 1 : 0;
        }
    }
    st_status status = st_estimate_show_names(estimate, names, count, (st_place){0}, planner->arena,
                                              planner->errors);
    if (status == ST_OK)
        status = st_estimate_run(estimate, planner->arena, planner->errors);
    planner->value[ST_ROLE_SITE_FACTOR][0] = 1;
    for (size_t i = 0; i < count && status == ST_OK; i++)
        *values[i] = estimate->shown[i].value;
    return status;
}

/* --- ranks and schedule ------------------------------------------------------------------------
 */

static st_status fill_shape(st_planner *planner)
{
    st_schedule_plan *schedule = &planner->plan->schedule;
    double(*value)[ST_ROLE_PARTS] = planner->value;
    uint32_t chunks = st_plan_whole(value[ST_ROLE_CHUNKS][0]);
    bool buckets = st_plan_has(planner, ST_ROLE_BUCKET_BYTES);
    schedule->shape.stages = st_plan_whole(value[ST_ROLE_PP][0]);
    schedule->shape.micros = st_plan_whole(value[ST_ROLE_MICRO_BATCHES][0]);
    schedule->shape.chunks = chunks;
    const st_job_value *job_value =
        st_job_value_of(planner->estimate->job, ST_KEY_PARALLEL_SCHEDULE);
    st_schedule_kind kind = ST_SCHEDULE_1F1B;
    for (int i = 0; job_value != NULL && job_value->text != NULL && i < ST_SCHEDULES; i++)
        if (strcmp(job_value->text, st_schedule_name((st_schedule_kind)i)) == 0)
            kind = (st_schedule_kind)i;
    if (buckets && schedule->shape.stages == 1 &&
        kind != ST_SCHEDULE_DUALPIPE) /* of one stage, which has an even number alone */
        kind = ST_SCHEDULE_1F1B;
    /* Stages with chunks are interleaved or folded, whatever checks of the sheet may say of
     * others. */
    st_status status = ST_OK;
    const st_job_value *chunk_value =
        st_job_value_of(planner->estimate->job, ST_KEY_PARALLEL_SCHEDULE);
    if (chunks != 1 && kind != ST_SCHEDULE_1F1B && kind != ST_SCHEDULE_INTERLEAVED &&
        !st_schedule_is_folded(kind))
        status = st_fail(planner->errors, ST_ERR_VALUE, chunk_value->place,
                         "schedule '%s' does not support chunks: found %lu per stage" ST_EXPECTED
                         "interleaved, or one chunk",
                         chunk_value->text, (unsigned long)chunks);
    if (chunks > 1 && !st_schedule_is_folded(kind))
        kind = ST_SCHEDULE_INTERLEAVED;
    schedule->shape.kind = kind;
    schedule->shape.held_for_weights = value[ST_ROLE_HELD_FOR_WEIGHTS][0];
    schedule->groups = (st_schedule_groups){.tp = st_plan_whole(value[ST_ROLE_TP][0]),
                                            .cp = st_plan_whole(value[ST_ROLE_CP][0]),
                                            .dp = st_plan_whole(value[ST_ROLE_DP][0]),
                                            .ep = st_plan_whole(value[ST_ROLE_EP][0])};
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(planner->estimate->sheet, &count);
    bool reads = false;
    for (size_t i = 0; i < count; i++)
        reads = reads || strcmp(inputs[i].from, ST_KEY_PARALLEL_SCHEDULE) == 0;
    planner->plan->closed_same_schedule =
        reads || kind == ST_SCHEDULE_1F1B || kind == ST_SCHEDULE_GPIPE;
    return status;
}

/* --- the closed form ---------------------------------------------------------------------------
 */

static st_status need_roles(const st_sheet *sheet, st_errors *errors)
{
    static const st_role_part needed[] = {
        {.role = ST_ROLE_STEP}, {.role = ST_ROLE_LAYER_FORWARD}, {.role = ST_ROLE_LAYER_BACKWARD}};
    enum { NEEDED = ST_COUNT(needed) };
    const char *names[NEEDED];
    const st_role_list list = {needed, NEEDED, "a timeline needs"};
    return st_sheet_need_roles(sheet, &list, names, errors);
}

bool st_timeline_has_roles(const st_sheet *sheet)
{
    return need_roles(sheet, NULL) == ST_OK;
}

static st_status fill_plan(st_planner *planner)
{
    st_status status = need_roles(planner->estimate->sheet, planner->errors);
    if (status == ST_OK)
        status = run_roles(planner);
    if (status != ST_OK)
        return status;
    status = fill_shape(planner);
    if (status == ST_OK)
        status = st_schedule_check(&planner->plan->schedule.shape, planner->errors);
    if (status == ST_OK)
        status = st_plan_passes(planner);
    if (status == ST_OK && st_plan_has(planner, ST_ROLE_BUCKET_BYTES))
        status = st_plan_buckets(planner);
    if (status == ST_OK)
        status = st_plan_ends(planner);
    st_timeline_plan *plan = planner->plan;
    for (int i = 0; i < ST_TERMS; i++)
        plan->term_s[i] =
            planner->value[ST_ROLE_SITE_FACTOR][0] * planner->value[ST_ROLE_STEP_TERMS][i];
    for (int i = 0; i < ST_HIDINGS; i++)
        plan->hiding_s[i] = planner->value[ST_ROLE_COMMUNICATION][i];
    plan->hidden_inside_s = planner->value[ST_ROLE_HIDDEN_IN_PASSES][0];
    plan->closed_s = planner->value[ST_ROLE_STEP][0];
    plan->step_cell = st_sheet_role(planner->estimate->sheet, ST_ROLE_STEP);
    return status;
}

st_status st_timeline_plan_make(st_estimate *estimate, st_arena *arena, st_timeline_plan *plan,
                                st_errors *errors)
{
    return st_timeline_plan_of(estimate, NULL, arena, plan, errors);
}

st_status st_timeline_plan_of(st_estimate *estimate, const st_place_layers *layers, st_arena *arena,
                              st_timeline_plan *plan, st_errors *errors)
{
    st_planner planner = {
        .estimate = estimate, .arena = arena, .errors = errors, .plan = plan, .given = layers};
    *plan = (st_timeline_plan){.job = st_job_name(estimate->job),
                               .sheet = st_sheet_name(estimate->sheet),
                               .refinements = {estimate->refinements, estimate->refinement_count},
                               .schedule = {.transfers_block = true}};
    st_status status = fill_plan(&planner);
    if (status == ST_OK && planner.out_of_range)
        status = st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                         "a task has a negative or too long duration" ST_EXPECTED "at most 10^6 s");
    if (status != ST_OK)
        return status;
    /* Strides of the ranks by the job's order of them. */
    st_schedule_groups *groups = &planner.plan->schedule.groups;
    const st_job_value *order = st_job_value_of(planner.estimate->job, ST_KEY_PARALLEL_ORDER);
    st_placement placement;
    /* Expert groups lie across the others and have no stride that matters here. */
    st_placement_plan group_plan = {
        .size = {groups->tp, groups->cp, 1, groups->dp, planner.plan->schedule.shape.stages, 0},
        .gpus_per_node = 1};
    if (order != NULL && order->origin != ST_ORIGIN_NONE) {
        group_plan.order = order->text;
        group_plan.place = order->place;
    }
    st_status group_status = st_placement_create(&group_plan, &placement, planner.errors);
    if (group_status == ST_OK) {
        groups->tp_stride = (uint32_t)placement.stride[ST_GROUP_TP];
        groups->cp_stride = (uint32_t)placement.stride[ST_GROUP_CP];
        groups->dp_stride = (uint32_t)placement.stride[ST_GROUP_DP];
        groups->pp_stride = (uint32_t)placement.stride[ST_GROUP_PP];
    }
    return group_status;
}

#define MOST_SECONDS 1e6

/* Picoseconds; notes times that are negative, too long or not finite. */
static int64_t st_plan_ticks(st_planner *planner, double seconds)
{
    if (!(seconds >= 0 && seconds <= MOST_SECONDS)) {
        planner->out_of_range = true;
        return 0;
    }
    return (int64_t)llround(seconds * ST_TICKS_PER_S);
}

/* Whether the sheet fills the role. */
static bool st_plan_has(const st_planner *planner, st_role role)
{
    return st_sheet_role(planner->estimate->sheet, role) != NULL;
}

/* A count that the sheet's checks have let pass; at least 1. */
static uint32_t st_plan_whole(double value)
{
    return value >= 1 && value <= UINT32_MAX ? (uint32_t)value : 1;
}

/* Seconds of the passes of a chunk or of one of its layers, by what they consist of. */
typedef struct st_pass_seconds {
    double part[ST_PASSES][ST_PARTS];
} st_pass_seconds;

/* The passes of a layer, or of an end of the model; the first of its three roles. */
static st_pass_seconds pass_seconds(const st_planner *planner, int forward)
{
    st_pass_seconds seconds = {0};
    for (int pass = 0; pass < ST_PASSES; pass++)
        for (int part = 0; part < ST_PARTS; part++)
            seconds.part[pass][part] = planner->value[forward + pass][part];
    return seconds;
}

static void add_scaled(st_pass_seconds *to, const st_pass_seconds *from, double factor)
{
    for (int pass = 0; pass < ST_PASSES; pass++)
        for (int part = 0; part < ST_PARTS; part++)
            to->part[pass][part] += factor * from->part[pass][part];
}

/* Layers of a chunk of the model, and what its passes take. */
typedef struct st_place_seconds {
    double all; /* layers */
    double moe; /* those of them with routed experts */
    double data_rate[2];
    st_pass_seconds seconds;
} st_place_seconds;

/* The roles that say of one chunk how many layers it has, what it hands on, what it leaves to
 * gradients and weights, and what its layers and an output layer take. */
static const st_role placed_roles[] = {
    ST_ROLE_PLACED_LAYERS,     ST_ROLE_TRANSFER,           ST_ROLE_DATA_RATE,
    ST_ROLE_LAYER_FORWARD,     ST_ROLE_LAYER_BACKWARD,     ST_ROLE_LAYER_WEIGHTS,
    ST_ROLE_MOE_LAYER_FORWARD, ST_ROLE_MOE_LAYER_BACKWARD, ST_ROLE_MOE_LAYER_WEIGHTS,
    ST_ROLE_HEAD_FORWARD,      ST_ROLE_HEAD_BACKWARD,      ST_ROLE_HEAD_WEIGHTS,
};
enum { PLACED_ROLES = ST_COUNT(placed_roles) };

/* A rate of a role that the sheet may lack. */
static double data_rate_of(const st_planner *planner, size_t part)
{
    double rate = planner->value[ST_ROLE_DATA_RATE][part];
    return rate > 0 && rate <= 1 ? rate : 1;
}

/* The passes of the layers of a chunk whose roles have been read. */
static void add_layers(const st_planner *planner, st_place_seconds *place)
{
    st_pass_seconds dense = pass_seconds(planner, ST_ROLE_LAYER_FORWARD);
    st_pass_seconds moe = pass_seconds(planner, ST_ROLE_MOE_LAYER_FORWARD);
    add_scaled(&place->seconds, &dense, place->all - place->moe);
    add_scaled(&place->seconds, &moe, place->moe);
}

/* Every chunk is asked for its own layers. */
static st_status ask_places(st_planner *planner, st_place_seconds *places)
{
    enum { MOST = PLACED_ROLES * ST_PARTS };
    const st_schedule_shape *shape = &planner->plan->schedule.shape;
    const char *names[MOST];
    double *read[MOST];
    size_t asked = 0;
    for (int i = 0; i < PLACED_ROLES; i++) {
        for (size_t part = 0; part < ST_PARTS; part++) {
            st_role role = placed_roles[i];
            names[asked] = st_sheet_role_part(planner->estimate->sheet, role, part);
            read[asked] = &planner->value[role][part];
            asked += names[asked] != NULL ? 1 : 0;
        }
    }
    size_t count = (size_t)shape->stages * shape->chunks;
    double *values = st_arena_alloc(planner->arena, asked * count, sizeof *values);
    double *transfer_s = st_arena_alloc(planner->arena, count, sizeof *transfer_s);
    if (values == NULL || transfer_s == NULL)
        return st_out_of_memory(planner->errors);
    planner->transfer_s = transfer_s;
    bool of_chunks = st_plan_has(planner, ST_ROLE_CHUNK_ASKED);
    const st_stage_question question = {names, asked, shape->stages, shape->chunks};
    st_status status =
        st_estimate_by_stage(planner->estimate, &question, planner->arena, values, planner->errors);
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        uint32_t stage = (uint32_t)(i / shape->chunks);
        uint32_t chunk = (uint32_t)(i % shape->chunks);
        uint32_t at = st_schedule_place(shape, stage, chunk);
        st_place_seconds *place = &places[at];
        for (size_t k = 0; k < asked; k++)
            *read[k] = values[i * asked + k];
        transfer_s[stage] = planner->value[ST_ROLE_TRANSFER][0];
        *place = (st_place_seconds){.all = planner->value[ST_ROLE_PLACED_LAYERS][0],
                                    .moe = planner->value[ST_ROLE_PLACED_LAYERS][1],
                                    .data_rate = {data_rate_of(planner, ST_RATE_FORWARD),
                                                  data_rate_of(planner, ST_RATE_BACKWARD)}};
        if (of_chunks || at + 1 == count)
            place->seconds = pass_seconds(planner, ST_ROLE_HEAD_FORWARD);
        add_layers(planner, place);
    }
    return status;
}

/* The i-th of `count` equal parts of a time; all of them add up to it. */
static int64_t part_of(int64_t time, uint32_t count, uint32_t i)
{
    return time / count + (i < (uint32_t)(time % count) ? 1 : 0);
}

/* Times of the layers of a pass, as exposed and hidden parts of the role's time. */
typedef struct st_split_ticks {
    int64_t hidden;
    int64_t exposed;
} st_split_ticks;

static st_split_ticks split_ticks(st_planner *planner, st_role role)
{
    double site = planner->value[ST_ROLE_SITE_FACTOR][0];
    const double *seconds = planner->value[role];
    int64_t hidden = st_plan_ticks(planner, site * seconds[ST_SPLIT_HIDDEN]);
    int64_t all =
        st_plan_ticks(planner, site * (seconds[ST_SPLIT_EXPOSED] + seconds[ST_SPLIT_HIDDEN]));
    return (st_split_ticks){.hidden = hidden, .exposed = all - hidden};
}

/*
 * A chunk whose weights or gradients are split: each layer's weights are gathered before it
 * computes, forward and backward, and its gradients reduced when they are there.
 */
static const st_schedule_piece *split_pass(st_planner *planner, uint32_t layers, bool backward)
{
    st_split_ticks gather = split_ticks(planner, ST_ROLE_GATHER_PER_PASS);
    st_split_ticks reduce = {0};
    if (backward)
        reduce = split_ticks(planner, ST_ROLE_REDUCE_PER_PASS);
    st_schedule_piece *pieces = st_arena_alloc(planner->arena, layers, sizeof *pieces);
    for (uint32_t i = 0; pieces != NULL && i < layers; i++)
        pieces[i] = (st_schedule_piece){
            .until = i + 1 == layers ? 1 : (double)(i + 1) / layers,
            .gather_hidden = part_of(gather.hidden, layers, i),
            .gather_exposed = part_of(gather.exposed, layers, i),
            .reduce_hidden = part_of(reduce.hidden, layers, i),
            .reduce_exposed = part_of(reduce.exposed, layers, i),
        };
    return pieces;
}

/* Pieces of every chunk from the layers that it has; a layer list has its own units. */
static st_status fill_pieces(st_planner *planner, const double *layers, uint32_t places)
{
    if (planner->value[ST_ROLE_GRADIENTS_SPLIT][0] == 0 || st_plan_has(planner, ST_ROLE_UNIT_BYTES))
        return ST_OK;
    st_schedule_pieces *pieces = st_arena_alloc(planner->arena, places, sizeof(*pieces));
    for (uint32_t i = 0; pieces != NULL && i < places; i++) {
        uint32_t count = st_plan_whole(fmin(ceil(layers[i]), ST_MOST_PIECES));
        pieces[i] = (st_schedule_pieces){.forward = split_pass(planner, count, false),
                                         .forward_count = count,
                                         .backward = split_pass(planner, count, true),
                                         .backward_count = count};
        if (pieces[i].forward == NULL || pieces[i].backward == NULL)
            return st_out_of_memory(planner->errors);
    }
    planner->plan->schedule.pieces = pieces;
    planner->plan->schedule.prefetch = (uint32_t)planner->value[ST_ROLE_PREFETCH][0];
    return pieces == NULL ? st_out_of_memory(planner->errors) : ST_OK;
}

/* Times of every chunk of the model. */
static st_status st_plan_passes(st_planner *planner)
{
    const st_schedule_shape *shape = &planner->plan->schedule.shape;
    uint32_t count = shape->stages * shape->chunks;
    bool asks = st_plan_has(planner, ST_ROLE_PLACED_LAYERS) && planner->given == NULL &&
                planner->value[ST_ROLE_PLACED_LAYERS][0] >= 0;
    st_pass_seconds embedding = pass_seconds(planner, ST_ROLE_EMBEDDING_FORWARD);
    st_chunk_times *times = st_arena_alloc(planner->arena, count, sizeof(*times));
    st_place_seconds *places = st_arena_alloc(planner->arena, count, sizeof *places);
    double *layers = st_arena_alloc(planner->arena, count, sizeof *layers);
    double(*data_rate)[2] = st_arena_alloc(planner->arena, count, sizeof *data_rate);
    if (times == NULL || places == NULL || layers == NULL || data_rate == NULL)
        return st_out_of_memory(planner->errors);
    st_status status = asks ? ask_places(planner, places) : ST_OK;
    if (!asks) {
        /* Layers that somebody names, or one a chunk where the sheet knows no layers. */
        double moe = planner->value[ST_ROLE_MOE_LAYERS][0];
        const st_place_layers *given = planner->given;
        st_pass_seconds head = pass_seconds(planner, ST_ROLE_HEAD_FORWARD);
        for (uint32_t i = 0; i < count; i++) {
            places[i] = (st_place_seconds){.all = given != NULL ? given->all[i] : 1,
                                           .data_rate = {data_rate_of(planner, ST_RATE_FORWARD),
                                                         data_rate_of(planner, ST_RATE_BACKWARD)}};
            if (given != NULL && moe > 0)
                places[i].moe = given->moe != NULL ? given->moe[i] : places[i].all;
            if (i + 1 == count)
                places[i].seconds = head;
            add_layers(planner, &places[i]);
        }
    }
    double most = 0;
    for (uint32_t i = 0; i < count && status == ST_OK; i++) {
        if (i == 0)
            add_scaled(&places[i].seconds, &embedding, 1);
        const st_pass_seconds *seconds = &places[i].seconds;
        for (int pass = 0; pass < ST_PASSES; pass++) {
            for (int part = 0; part < ST_PARTS; part++)
                times[i].part[pass][part] = st_plan_ticks(
                    planner, planner->value[ST_ROLE_SITE_FACTOR][0] * seconds->part[pass][part]);
        }
        memcpy(data_rate[i], places[i].data_rate, sizeof data_rate[i]);
        layers[i] = places[i].all;
        most = fmax(most, layers[i]);
    }
    planner->plan->layers = st_plan_whole(most);
    planner->plan->place_layers = layers;
    planner->plan->data_rate = (const double(*)[2])data_rate;
    planner->plan->schedule.shape.times = times;
    return status == ST_OK ? fill_pieces(planner, layers, count) : status;
}

static int64_t site_ticks(st_planner *planner, st_role role, size_t part)
{
    return st_plan_ticks(planner,
                         planner->value[ST_ROLE_SITE_FACTOR][0] * planner->value[role][part]);
}

static st_status st_plan_ends(st_planner *planner)
{
    st_schedule_plan *schedule = &planner->plan->schedule;
    schedule->ends = (st_schedule_ends){
        .reduce_hidden = site_ticks(planner, ST_ROLE_REDUCE_AT_END, ST_SPLIT_HIDDEN),
        .reduce_exposed = site_ticks(planner, ST_ROLE_REDUCE_AT_END, ST_SPLIT_EXPOSED),
        .gather_hidden = site_ticks(planner, ST_ROLE_GATHER_AT_END, ST_SPLIT_HIDDEN),
        .gather_exposed = site_ticks(planner, ST_ROLE_GATHER_AT_END, ST_SPLIT_EXPOSED),
        .tied = site_ticks(planner, ST_ROLE_TIED, 0),
        .slowdown = site_ticks(planner, ST_ROLE_SLOWDOWN_AT_END, 0),
        .optimizer = site_ticks(planner, ST_ROLE_OPTIMIZER, 0),
        .overhead = site_ticks(planner, ST_ROLE_OVERHEAD, 0),
    };
    for (int i = 0; i < ST_SLOWED_KINDS; i++)
        planner->plan->slowdown[i] = fmax(planner->value[ST_ROLE_SLOWED][i], 1);
    bool cuts = false;
    for (int i = 0; i < ST_SLOWED_REST; i++)
        cuts = cuts || planner->plan->slowdown[i] > 1;
    schedule->layers = cuts ? st_slowed_parts(planner->plan->layers) : 0;
    planner->plan->data_rate_sending = data_rate_of(planner, RATE_SENDING);
    /* Transfers that are not alike only delay who waits for them: the sheet has no exposed part. */
    st_schedule_plan *transfer_schedule = &planner->plan->schedule;
    uint32_t stages = transfer_schedule->shape.stages;
    double most = planner->value[ST_ROLE_TRANSFER][0];
    double least = most;
    for (uint32_t i = 0; planner->transfer_s != NULL && i + 1 < stages; i++) {
        most = fmax(most, planner->transfer_s[i]);
        least = fmin(least, planner->transfer_s[i]);
    }
    transfer_schedule->shape.transfer =
        st_plan_ticks(planner, planner->value[ST_ROLE_SITE_FACTOR][0] * most);
    transfer_schedule->transfers_block = !st_plan_has(planner, ST_ROLE_BUCKET_BYTES);
    if (transfer_schedule->transfers_block || planner->transfer_s == NULL || most == least)
        return ST_OK;
    int64_t *transfers = st_arena_alloc(planner->arena, stages, sizeof *transfers);
    for (uint32_t i = 0; transfers != NULL && i < stages; i++)
        transfers[i] =
            st_plan_ticks(planner, planner->value[ST_ROLE_SITE_FACTOR][0] * planner->transfer_s[i]);
    transfer_schedule->transfers = transfers;
    return transfers == NULL ? st_out_of_memory(planner->errors) : ST_OK;
}

/* What ST_ROLE_BUCKET_BYTES consists of. */
enum { BYTES_FIRST, BYTES_OTHERS, BYTES_VALUE, BYTES_ALL };
/* What ST_ROLE_UNIT_BYTES and ST_ROLE_UNIT_COLLECTIVES do. */
enum { UNIT_CAP, UNIT_VALUE };
enum { UNIT_GATHERS, UNIT_SCATTER };

/* Pieces of the backward pass in the making. */
typedef struct st_bucket_pieces {
    st_planner *planner;
    st_bucket_curve curve;
    st_schedule_piece *pieces;
    size_t count;
    bool failed;
} st_bucket_pieces;

static bool add_bucket(void *context, const st_bucket *bucket)
{
    st_bucket_pieces *list = context;
    const st_schedule_piece piece = {
        .until = bucket->ready_frac,
        .reduce_hidden = st_plan_ticks(list->planner, st_bucket_time(&list->curve, bucket->bytes))};
    list->failed = !ST_APPEND(list->planner->arena, list->pieces, list->count, piece);
    return !list->failed;
}

/* What the sheet says of buckets or units of each size. */
static void read_curve(const st_planner *planner, st_role sizes, st_bucket_curve *curve)
{
    const double *bytes = planner->value[sizes];
    const double *times = planner->value[sizes + 1];
    for (size_t i = 0; i < ST_BUCKET_SIZES && bytes[i] > 0; i++) {
        curve->bytes[i] = bytes[i];
        curve->times[i] = times[i];
        curve->count = i + 1;
    }
}

/* Units from the last layers to the first become pieces of both passes. */
static st_status plan_units(st_planner *planner, const st_layers *layers)
{
    const double *bytes = planner->value[ST_ROLE_UNIT_BYTES];
    const double *times = planner->value[ST_ROLE_UNIT_COLLECTIVES];
    const st_bucket_caps caps = {bytes[UNIT_CAP], bytes[UNIT_CAP], bytes[UNIT_VALUE]};
    st_schedule_pieces *pieces = st_arena_alloc(planner->arena, 1, sizeof(*pieces));
    st_bucket_pieces list = {.planner = planner};
    read_curve(planner, ST_ROLE_UNIT_SIZES, &list.curve);
    (void)st_buckets_visit(layers, &caps, add_bucket, &list);
    st_schedule_piece *forward = st_arena_alloc(planner->arena, list.count + 1, sizeof(*forward));
    if (pieces == NULL || forward == NULL || list.failed)
        return st_out_of_memory(planner->errors);
    for (size_t i = 0; i < list.count; i++) {
        st_schedule_piece *piece = &list.pieces[i];
        int64_t gather = piece->reduce_hidden;
        forward[list.count - 1 - i] = (st_schedule_piece){
            .until = i == 0 ? 1 : 1 - list.pieces[i - 1].until, .gather_hidden = gather};
        piece->gather_hidden = times[UNIT_GATHERS] > 1 ? gather : 0;
        piece->reduce_hidden = llround((double)gather * times[UNIT_SCATTER]);
    }
    *pieces = (st_schedule_pieces){.forward = forward,
                                   .forward_count = list.count,
                                   .backward = list.pieces,
                                   .backward_count = list.count};
    planner->plan->schedule.pieces = pieces;
    planner->plan->schedule.prefetch = 1;
    planner->plan->schedule.gathers_in_pass = true;
    planner->plan->order_name = "units";
    return ST_OK;
}

/* The buckets or units of a layer list as pieces of its passes; a list in stages has none. */
static st_status st_plan_buckets(st_planner *planner)
{
    const st_estimate *estimate = planner->estimate;
    const st_layers *layers = st_builtin_layers(estimate->providers, estimate->provider_count);
    const st_schedule_plan *schedule = &planner->plan->schedule;
    bool is_split = planner->value[ST_ROLE_GRADIENTS_SPLIT][0] != 0;
    if (schedule->groups.dp <= 1 || schedule->shape.stages > 1)
        return ST_OK;
    if (is_split && layers != NULL)
        return plan_units(planner, layers);
    const double *bytes = planner->value[ST_ROLE_BUCKET_BYTES];
    st_schedule_pieces *pieces = st_arena_alloc(planner->arena, 1, sizeof(*pieces));
    st_bucket_pieces list = {.planner = planner};
    read_curve(planner, ST_ROLE_BUCKET_SIZES, &list.curve);
    if (layers == NULL) {
        /* Buckets of equal size where nothing is known of the layers. */
        const st_planner *bucket_planner = list.planner;
        double bucket_bytes = bucket_planner->value[ST_ROLE_BUCKET_BYTES][BYTES_ALL];
        uint32_t count =
            st_plan_whole(fmin(bucket_planner->value[ST_ROLE_BUCKETS][0], ST_MOST_PIECES));
        for (uint32_t i = 0; i < count && !list.failed; i++)
            (void)add_bucket(
                &list, &(st_bucket){.bytes = bucket_bytes / count,
                                    .ready_frac = i + 1 == count ? 1 : (double)(i + 1) / count});
    } else {
        st_bucket_caps caps = {.first_bytes = bytes[BYTES_FIRST],
                               .cap_bytes = bytes[BYTES_OTHERS],
                               .width_bytes = bytes[BYTES_VALUE]};
        (void)st_buckets_visit(layers, &caps, add_bucket, &list);
    }
    if (pieces == NULL || list.failed)
        return st_out_of_memory(planner->errors);
    *pieces = (st_schedule_pieces){.backward = list.pieces, .backward_count = list.count};
    planner->plan->schedule.pieces = pieces;
    planner->plan->schedule.reduces_last_only = true;
    planner->plan->order_name = "buckets";
    return ST_OK;
}

/* Of a timeline: some 5 GB, and a minute. */
enum { MOST_TASKS = 60000000 };

const char *st_term_name(st_term term)
{
    static const char *const names[ST_TERMS] = {"steady", "bubble",   "transfers", "data",
                                                "tied",   "slowdown", "optimizer", "overhead"};
    return (unsigned)term < ST_TERMS ? names[term] : "";
}

const char *st_term_reason(st_term term)
{
    static const char *const reasons[ST_TERMS] = {
        "the replay times each chunk of the slowest stage by its layers; the sheet times all "
        "stages as the fullest one",
        "the sheet models a first, a middle and a last stage and counts the wait of one of them; "
        "in the replay several stages may delay each other",
        "the sheet counts those on a micro-batch's critical path, the replay those that a stage "
        "waits for",
        "early stages communicate while others still compute; weights requested late delay the "
        "middle of a step, which the sheet omits",
        "only the first and last stage wait for it",
        "stages slow down one after another while the pipeline fills and drains, which the sheet "
        "counts once; a message may overlap another pass than in the sheet",
        "stages that finish early run it while others compute",
        "every rank ends with it",
    };
    return (unsigned)term < ST_TERMS ? reasons[term] : "";
}

const char *st_timeline_schedule(const st_timeline_plan *plan)
{
    return plan->order_name != NULL ? plan->order_name
                                    : st_schedule_name(plan->schedule.shape.kind);
}

const char *st_hiding_name(st_hiding hiding)
{
    static const char *const names[ST_HIDINGS] = {"exposed communication", "hidden communication",
                                                  "overlap slowdown"};
    return (unsigned)hiding < ST_HIDINGS ? names[hiding] : "";
}

const char *st_hiding_reason(st_hiding hiding)
{
    static const char *const reasons[ST_HIDINGS] = {
        "the sheet hides communication behind all available computation and counts the rest; the "
        "replay counts the exposed messages of the slowest stage, and its waits as idle",
        "the sheet hides as much as computation allows, the replay what overlaps computation on "
        "the slowest stage",
        "the replay slows down computation that overlaps a message on the slowest stage, the sheet "
        "as much computation as the message is long",
    };
    return (unsigned)hiding < ST_HIDINGS ? reasons[hiding] : "";
}

/* --- replays ------------------------------------------------------------------------------------
 */

/* First and last moment and slowdown of every rank; ranks are listed pipeline by pipeline. */
static void measure_rows(st_timeline *timeline)
{
    const st_graph *graph = timeline->graph;
    /* The category of computation that is nothing but the slowdown by messages; the count: none. */
    size_t count = st_graph_category_count(graph);
    size_t slowdown = 0;
    while (slowdown < count &&
           strcmp(st_graph_category_name(graph, (uint16_t)slowdown), "slowdown") != 0)
        slowdown++;
    for (size_t i = 0; i < timeline->row_count; i++)
        timeline->rows[i] =
            (st_timeline_row){.rank = st_graph_rank(graph, i),
                              .stage = st_schedule_stage_of_rank(&timeline->plan.schedule, i),
                              .first = INT64_MAX,
                              .begins = INT64_MAX};
    for (size_t i = 0; i < st_graph_task_count(graph); i++) {
        st_timeline_row *row = &timeline->rows[graph->resources[graph->resource[i]].rank_index];
        st_task_time time = st_replay_task(timeline->replay, (st_task_id)i);
        row->first = time.start_ns < row->first ? time.start_ns : row->first;
        row->last = time.end_ns > row->last ? time.end_ns : row->last;
        int64_t alone = graph->category[i] == slowdown ? 0 : graph->duration_ns[i];
        if (st_graph_work(graph, (st_task_id)i) == ST_WORK_COMPUTE) {
            row->slowdown += time.end_ns - time.start_ns - alone;
            row->begins = time.start_ns < row->begins ? time.start_ns : row->begins;
        }
    }
    for (size_t i = 0; i < timeline->row_count; i++) {
        st_timeline_row *row = &timeline->rows[i];
        /* Weights that a stage gathers before its first pass. */
        int64_t time = timeline->plan.schedule.ends.gather_exposed;
        if (timeline->plan.schedule.pieces != NULL &&
            timeline->plan.schedule.pieces[row->stage].forward_count > 0) {
            const st_schedule_piece *piece = &timeline->plan.schedule.pieces[row->stage].forward[0];
            time += piece->gather_hidden + piece->gather_exposed;
        }
        row->begins -= time;
    }
}

/* --- terms --------------------------------------------------------------------------------------
 */

/* ZB-2p's stages begin the next step without waiting for each other. */
static bool is_staggered(const st_timeline_plan *plan)
{
    return plan->order != NULL ? plan->order_staggered
                               : st_schedule_is_staggered(plan->schedule.shape.kind);
}

/* The step time of a replay. */
static int64_t step_of(const st_timeline *timeline)
{
    int64_t longest = 0;
    if (!is_staggered(&timeline->plan))
        return timeline->end;
    for (size_t i = 0; i < timeline->row_count; i++) {
        int64_t span = timeline->rows[i].last - timeline->rows[i].begins;
        longest = span > longest ? span : longest;
    }
    return longest;
}

/* Builds and replays; returns the rows, which live in `arena`, and the step time. */
static st_status run(st_timeline *timeline, const st_schedule_order *order, st_arena *arena,
                     st_errors *errors)
{
    timeline->graph = st_graph_create(&(st_graph_limits){.tasks = MOST_TASKS});
    if (timeline->graph == NULL)
        return st_out_of_memory(errors);
    st_status status = st_schedule_build(&timeline->plan.schedule, order, timeline->graph, errors);
    if (status == ST_OK)
        status = st_graph_seal(timeline->graph, errors);
    if (status != ST_OK)
        return status;
    timeline->replay = st_replay_create(timeline->graph);
    timeline->row_count = st_graph_rank_count(timeline->graph);
    timeline->rows = st_arena_alloc(arena, timeline->row_count, sizeof(*timeline->rows));
    if (timeline->replay == NULL || timeline->rows == NULL)
        return st_out_of_memory(errors);
    status = st_timeline_is_slowed(&timeline->plan) ? st_timeline_run_slowed(timeline, errors)
                                                    : st_replay_run(timeline->replay, errors);
    if (status != ST_OK)
        return status;
    timeline->end = st_replay_end_ns(timeline->replay);
    measure_rows(timeline);
    timeline->step = step_of(timeline);
    return ST_OK;
}

st_status st_timeline_again(const st_timeline *timeline, st_replay *replay, st_timeline_row *rows,
                            int64_t *step, st_errors *errors)
{
    st_timeline own = *timeline;
    own.replay = replay;
    own.rows = rows;
    st_status status = st_timeline_is_slowed(&own.plan) ? st_timeline_run_slowed(&own, errors)
                                                        : st_replay_run(replay, errors);
    if (status != ST_OK)
        return status;
    own.end = st_replay_end_ns(replay);
    if (is_staggered(&own.plan))
        measure_rows(&own);
    *step = step_of(&own);
    return ST_OK;
}

/* Whether passes are one time each, so that no graph of tasks is necessary. */
static bool has_plain_passes(const st_timeline_plan *plan)
{
    const st_schedule_plan *schedule = &plan->schedule;
    return schedule->pieces == NULL && schedule->transfers_block && schedule->transfers == NULL &&
           plan->order == NULL && plan->own_stages == NULL && !st_timeline_is_slowed(plan);
}

/* The step of such a plan; false where it has too many passes. */
static bool walk_step(const st_timeline_plan *plan, st_arena *arena, int64_t *step)
{
    const st_schedule_ends *ends = &plan->schedule.ends;
    const st_pipeline pipeline = {.shape = &plan->schedule.shape, .ends = ends};
    st_pipeline_walk *walk = st_pipeline_walk_make(pipeline.shape, arena);
    st_pipeline_times times;
    if (walk == NULL || !st_pipeline_replay(&pipeline, walk, &times))
        return false;
    *step = times.with_data + ends->slowdown + ends->optimizer + ends->overhead;
    return true;
}

/* The step alone, of one rank a stage. */
static st_status find_step(const st_timeline_plan *plan, const st_schedule_order *order,
                           int64_t *step, st_errors *errors)
{
    st_timeline made = {.plan = *plan};
    st_schedule_order own;
    st_arena *arena = st_arena_create();
    st_status status = arena == NULL ? st_out_of_memory(errors) : ST_OK;
    made.plan.schedule.every_rank = false;
    if (status == ST_OK && has_plain_passes(plan) && walk_step(plan, arena, step))
        goto cleanup;
    if (status == ST_OK && order == NULL) {
        status = st_schedule_order_make(&plan->schedule.shape, arena, &own, errors);
        order = &own;
    }
    if (status == ST_OK)
        status = run(&made, order, arena, errors);
    *step = made.step;
    st_timeline_free(&made);
cleanup:
    st_arena_destroy(arena);
    return status;
}

st_status st_timeline_step(const st_timeline_plan *plan, int64_t *step, st_errors *errors)
{
    return find_step(plan, plan->order, step, errors);
}

/* Leaves ends of the step or the transfers out, one more in each round; false where it has none of
 * them. */
static bool leave_out(st_timeline_plan *plan, int round)
{
    st_schedule_plan *schedule = &plan->schedule;
    st_schedule_ends *ends = &schedule->ends;
    const st_schedule_ends before = *ends;
    bool changed = false;
    switch (round) {
    case 1:
        ends->slowdown = 0;
        changed = before.slowdown > 0 || st_timeline_is_slowed(plan);
        for (int i = 0; i < ST_SLOWED_KINDS; i++)
            plan->slowdown[i] = 1;
        return changed;
    case 2:
        ends->tied = 0;
        return before.tied > 0;
    case 3:
        changed = schedule->pieces != NULL || before.gather_hidden > 0 ||
                  before.gather_exposed > 0 || before.reduce_hidden > 0 ||
                  before.reduce_exposed > 0;
        *ends = (st_schedule_ends){0};
        schedule->pieces = NULL;
        return changed;
    default:
        changed = schedule->shape.transfer > 0 || schedule->transfers != NULL;
        schedule->shape.transfer = 0;
        return changed;
    }
}

/*
 * Communication of the slowest stage. Where there is but one stage, its slowdown is known without
 * leaving the messages out: what they delay each other by belongs to the data term.
 */
static void find_hiding(st_timeline *timeline, uint32_t slowest)
{
    const st_timeline_row *row = timeline->rows;
    const st_timeline_plan *plan = &timeline->plan;
    while (row->stage != slowest)
        row++;
    timeline->hiding_s[ST_HIDING_EXPOSED] =
        (double)row->time.exposed_communication_ns / ST_TICKS_PER_S;
    timeline->hiding_s[ST_HIDING_HIDDEN] =
        (double)row->time.overlapped_ns / ST_TICKS_PER_S + plan->hidden_inside_s;
    timeline->hiding_s[ST_HIDING_SLOWDOWN] = (double)row->slowdown / ST_TICKS_PER_S;
    if (st_timeline_is_slowed(plan) && plan->schedule.shape.stages == 1) {
        int64_t inside = 0;
        for (uint32_t i = 0; i < plan->schedule.shape.chunks; i++)
            for (int pass = 0; pass < ST_PASSES; pass++)
                inside += plan->schedule.shape.times[i].part[pass][ST_PART_SLOWDOWN];
        int64_t laid_out = row->slowdown - inside * plan->schedule.shape.micros;
        timeline->term[ST_TERM_DATA] += timeline->term[ST_TERM_SLOWDOWN] - laid_out;
        timeline->term[ST_TERM_SLOWDOWN] = laid_out;
    }
}

/* --- rows and categories ------------------------------------------------------------------------
 */

static st_status break_down(st_timeline *timeline, st_arena *arena, st_errors *errors)
{
    st_rank_time *times = st_arena_alloc(arena, timeline->row_count, sizeof(*times));
    if (times == NULL)
        return st_out_of_memory(errors);
    st_status status = st_replay_ranks(timeline->replay, times, errors);
    for (size_t i = 0; i < timeline->row_count && status == ST_OK; i++)
        timeline->rows[i].time = times[i];
    return status;
}

static st_status add_categories(st_timeline *timeline, st_arena *arena, st_errors *errors)
{
    const st_graph *graph = timeline->graph;
    size_t count = st_graph_category_count(graph);
    int64_t *sums = st_arena_alloc(arena, count, sizeof(*sums));
    uint64_t *counts = st_arena_alloc(arena, count, sizeof(*counts));
    timeline->categories = st_arena_alloc(arena, count, sizeof(*timeline->categories));
    if (sums == NULL || counts == NULL || timeline->categories == NULL)
        return st_out_of_memory(errors);
    st_status status = st_replay_categories(timeline->replay, ST_RANKS_ALL, sums, counts, errors);
    if (status == ST_OK)
        status =
            st_replay_path(timeline->replay, arena, &timeline->path, &timeline->path_count, errors);
    for (size_t i = 0; i < count && status == ST_OK; i++)
        timeline->categories[i] =
            (st_timeline_category){.name = st_graph_category_name(graph, (uint16_t)i),
                                   .count = counts[i],
                                   .time = sums[i]};
    for (size_t i = 0; i < timeline->path_count && status == ST_OK; i++)
        timeline->categories[graph->category[timeline->path[i].task]].path +=
            timeline->path[i].time_ns;
    timeline->category_count = count;
    return status;
}

/* --- all of it ----------------------------------------------------------------------------------
 */

uint64_t st_own_ranks(const st_own_stage *stages, size_t count)
{
    uint64_t ranks = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t last = stages[i].ranks[(size_t)stages[i].tp * stages[i].cp * stages[i].dp - 1];
        ranks = last + 1 > ranks ? last + 1 : ranks;
    }
    return ranks;
}

/* Work of every stage, without transfers and the ends of the step; that which has most of it. */
static uint32_t slowest_of(const st_schedule_shape *shape, int64_t *most)
{
    uint32_t slowest = 0;
    uint32_t places = st_schedule_places(shape);
    *most = 0;
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        int64_t sum = 0;
        for (uint32_t place = 0; place < places; place++) {
            /* The first and the last micro-batch of DualPipe go in opposite directions. */
            bool near = st_schedule_stage(shape, place, 0) == stage;
            bool far = shape->kind == ST_SCHEDULE_DUALPIPE &&
                       st_schedule_stage(shape, place, shape->micros - 1) == stage;
            for (int i = 0; i < ST_PASSES * ST_PART_ALONE && (near || far); i++) {
                sum +=
                    (near + far) * shape->times[place].part[i / ST_PART_ALONE][i % ST_PART_ALONE];
            }
        }
        sum = shape->kind == ST_SCHEDULE_DUALPIPE ? sum / 2 : sum;
        slowest = sum > *most ? stage : slowest;
        *most = sum > *most ? sum : *most;
    }
    return slowest;
}

static st_status replay_all(const st_timeline_plan *plan, bool every_rank, st_arena *arena,
                            st_timeline *timeline, st_errors *errors)
{
    st_status status = ST_OK;
    *timeline = (st_timeline){.plan = *plan};
    timeline->plan.schedule.every_rank = every_rank;
    if (plan->order != NULL)
        timeline->order = *plan->order;
    else
        status = st_schedule_order_make(&plan->schedule.shape, arena, &timeline->order, errors);
    if (status == ST_OK)
        status = run(timeline, &timeline->order, arena, errors);
    if (status != ST_OK)
        st_timeline_free(timeline);
    return status;
}

st_status st_timeline_find_terms(const st_timeline_plan *plan, const st_schedule_order *order,
                                 int64_t step, int64_t term[ST_TERMS], st_errors *errors)
{
    static const st_term rounds[] = {ST_TERM_OPTIMIZER, ST_TERM_SLOWDOWN, ST_TERM_TIED,
                                     ST_TERM_DATA, ST_TERM_TRANSFERS};
    st_timeline_plan part = *plan;
    int64_t most = 0;
    st_status status = ST_OK;
    memset(term, 0, ST_TERMS * sizeof *term);
    term[ST_TERM_OPTIMIZER] = part.schedule.ends.optimizer; /* which every rank ends with */
    term[ST_TERM_OVERHEAD] = part.schedule.ends.overhead;
    part.schedule.ends.optimizer = 0;
    part.schedule.ends.overhead = 0;
    step -= term[ST_TERM_OPTIMIZER] + term[ST_TERM_OVERHEAD];
    for (int i = 1; i < (int)ST_COUNT(rounds) && status == ST_OK; i++) {
        int64_t left = step;
        if (leave_out(&part, i))
            status = find_step(&part, order, &left, errors);
        term[rounds[i]] = step - left;
        step = left;
    }
    (void)slowest_of(&plan->schedule.shape, &most);
    term[ST_TERM_STEADY] = most * plan->schedule.shape.micros;
    term[ST_TERM_BUBBLE] = step - term[ST_TERM_STEADY];
    return status;
}

st_status st_timeline_make(const st_timeline_plan *plan, bool every_rank, st_arena *arena,
                           st_timeline *timeline, st_errors *errors)
{
    st_status status = replay_all(plan, every_rank, arena, timeline, errors);
    if (status != ST_OK)
        return status;
    status = break_down(timeline, arena, errors);
    if (status == ST_OK)
        status = add_categories(timeline, arena, errors);
    int64_t step = timeline->step;
    if (status == ST_OK && every_rank)
        status = find_step(&timeline->plan, &timeline->order, &step, errors);
    if (status == ST_OK)
        status =
            st_timeline_find_terms(&timeline->plan, &timeline->order, step, timeline->term, errors);
    /* Measured in the replay, and no formula: what it lasts beyond the work of the slowest stage.
     */
    double pipeline =
        (double)timeline->term[ST_TERM_STEADY] + (double)timeline->term[ST_TERM_BUBBLE];
    timeline->bubble = pipeline > 0 ? (double)timeline->term[ST_TERM_BUBBLE] / pipeline : 0;
    int64_t most = 0;
    if (status == ST_OK)
        find_hiding(timeline, slowest_of(&timeline->plan.schedule.shape, &most));
    else
        st_timeline_free(timeline);
    return status;
}

void st_timeline_free(st_timeline *timeline)
{
    st_replay_destroy(timeline->replay);
    st_graph_destroy(timeline->graph);
    timeline->replay = NULL;
    timeline->graph = NULL;
}

st_timeline_outline st_timeline_outline_of(const st_timeline *timeline)
{
    const st_timeline_plan *plan = &timeline->plan;
    return (st_timeline_outline){.job = plan->job,
                                 .sheet = plan->sheet,
                                 .schedule = st_timeline_schedule(plan),
                                 .cp = plan->schedule.groups.cp,
                                 .micros = plan->schedule.shape.micros,
                                 .chunks = plan->schedule.shape.chunks,
                                 .graph = timeline->graph,
                                 .replay = timeline->replay};
}

uint32_t st_timeline_stage(const st_timeline *timeline, size_t rank_index)
{
    return timeline->rows[rank_index].stage;
}

bool st_is_pass(const char *category)
{
    return strcmp(category, "forward") == 0 || strcmp(category, "backward") == 0 ||
           strcmp(category, "weights") == 0;
}
