/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of the passes of every chunk, from those of its layers and of the ends of the model, and
 * what surrounds them. The times are roles of the sheet; which layers a chunk has follows from how
 * many its stages have.
 */
#include "timeline/timeline_plan.h"

#include "steptime/tool/estimates.h"

#include <math.h>

#define MOST_SECONDS 1e6

int64_t st_plan_ticks(st_planner *planner, double seconds)
{
    if (!(seconds >= 0 && seconds <= MOST_SECONDS)) {
        planner->out_of_range = true;
        return 0;
    }
    return (int64_t)llround(seconds * ST_TICKS_PER_S);
}

bool st_plan_has(const st_planner *planner, st_role role)
{
    return st_sheet_role(planner->estimate->sheet, role) != NULL;
}

uint32_t st_plan_whole(double value)
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
    st_pass_seconds seconds;
} st_place_seconds;

/* The roles that say of one chunk how many layers it has, what it hands on, and what its layers and
 * an output layer take. */
enum { PLACED_ROLES = 2 + 3 * ST_PASSES };

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
            static const st_role first[] = {ST_ROLE_LAYER_FORWARD, ST_ROLE_MOE_LAYER_FORWARD,
                                            ST_ROLE_HEAD_FORWARD};
            st_role role = i == 0 ? ST_ROLE_PLACED_LAYERS
                           : i == 1
                               ? ST_ROLE_TRANSFER
                               : (st_role)((int)first[(i - 2) / ST_PASSES] + (i - 2) % ST_PASSES);
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
                                    .moe = planner->value[ST_ROLE_PLACED_LAYERS][1]};
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
st_status st_plan_passes(st_planner *planner)
{
    const st_schedule_shape *shape = &planner->plan->schedule.shape;
    uint32_t count = shape->stages * shape->chunks;
    bool asks = st_plan_has(planner, ST_ROLE_PLACED_LAYERS) && planner->given == NULL &&
                planner->value[ST_ROLE_PLACED_LAYERS][0] >= 0;
    st_pass_seconds embedding = pass_seconds(planner, ST_ROLE_EMBEDDING_FORWARD);
    st_chunk_times *times = st_arena_alloc(planner->arena, count, sizeof(*times));
    st_place_seconds *places = st_arena_alloc(planner->arena, count, sizeof *places);
    double *layers = st_arena_alloc(planner->arena, count, sizeof *layers);
    if (times == NULL || places == NULL || layers == NULL)
        return st_out_of_memory(planner->errors);
    st_status status = asks ? ask_places(planner, places) : ST_OK;
    if (!asks) {
        /* Layers that somebody names, or one a chunk where the sheet knows no layers. */
        double moe = planner->value[ST_ROLE_MOE_LAYERS][0];
        const st_place_layers *given = planner->given;
        st_pass_seconds head = pass_seconds(planner, ST_ROLE_HEAD_FORWARD);
        for (uint32_t i = 0; i < count; i++) {
            places[i] = (st_place_seconds){.all = given != NULL ? given->all[i] : 1};
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
        layers[i] = places[i].all;
        most = fmax(most, layers[i]);
    }
    planner->plan->layers = st_plan_whole(most);
    planner->plan->place_layers = layers;
    planner->plan->schedule.shape.times = times;
    return status == ST_OK ? fill_pieces(planner, layers, count) : status;
}

static int64_t site_ticks(st_planner *planner, st_role role, size_t part)
{
    return st_plan_ticks(planner,
                         planner->value[ST_ROLE_SITE_FACTOR][0] * planner->value[role][part]);
}

st_status st_plan_ends(st_planner *planner)
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
    };
    for (int i = 0; i < ST_SLOWED_KINDS; i++)
        planner->plan->slowdown[i] = fmax(planner->value[ST_ROLE_SLOWED][i], 1);
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
