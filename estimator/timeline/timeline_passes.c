/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of the passes of every chunk, from those of its layers and of the ends of the model, and
 * what surrounds them. The times are roles of the sheet; which layers a chunk has follows from how
 * many its stages have.
 */
#include "timeline/timeline_plan.h"

#include "estimate/by_stage.h"

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

/* Layers of a stage. The sheet fills every stage as the fullest one; what that is too much is taken
 * from the stages before the last, so that the model keeps its layers. */
typedef struct st_stage_layers {
    double all;
    double moe;
    st_pass_seconds dense_layer; /* the mean one without routed experts */
    st_pass_seconds moe_layer;
} st_stage_layers;

static void take_surplus(const st_planner *planner, st_stage_layers *stages, uint32_t count)
{
    double surplus = -planner->value[ST_ROLE_LAYERS][0];
    double surplus_moe = -planner->value[ST_ROLE_MOE_LAYERS][0];
    for (uint32_t i = 0; i < count; i++) {
        surplus += stages[i].all;
        surplus_moe += stages[i].moe;
    }
    for (uint32_t turn = 0; turn < count; turn++) {
        st_stage_layers *stage = &stages[(2 * count - 2 - turn) % count];
        bool last = turn + 1 == count;
        double less = last ? surplus : fmin(surplus, 1);
        less = less > 0 ? fmin(less, stage->all) : 0;
        stage->all -= less;
        surplus -= less;
        double less_moe = surplus_moe > 0 ? fmin(last ? surplus_moe : 1, stage->moe) : 0;
        less_moe = fmax(fmin(less_moe, surplus_moe), stage->moe - stage->all);
        stage->moe -= less_moe;
        surplus_moe -= less_moe;
    }
}

/* A pattern or a layout says of every stage which layers it has. */
static bool is_placed(const st_planner *planner)
{
    return st_plan_has(planner, ST_ROLE_PLACED_LAYERS) &&
           planner->value[ST_ROLE_PLACED_LAYERS][0] >= 0 && planner->given == NULL;
}

/* The roles that say of one stage how many layers it has and what these take. */
enum { PLACED_ROLES = 1 + 2 * ST_PASSES };

static st_role placed_role(int i)
{
    return i == 0 ? ST_ROLE_PLACED_LAYERS : (st_role)(ST_ROLE_LAYER_FORWARD + i - 1);
}

/* Every stage is asked for its own layers. */
static st_status ask_stages(st_planner *planner, st_stage_layers *stages, uint32_t count)
{
    enum { MOST = PLACED_ROLES * ST_PARTS };
    const char *names[MOST];
    double *places[MOST];
    size_t asked = 0;
    for (int i = 0; i < PLACED_ROLES; i++) {
        for (size_t part = 0; part < ST_PARTS; part++) {
            st_role role = placed_role(i);
            names[asked] = st_sheet_role_part(planner->estimate->sheet, role, part);
            places[asked] = &planner->value[role][part];
            asked += names[asked] != NULL ? 1 : 0;
        }
    }
    double *values = st_arena_alloc(planner->arena, asked * count, sizeof *values);
    if (values == NULL)
        return st_graph_no_memory(planner->errors);
    const st_stage_question question = {names, asked, count};
    st_status status =
        st_estimate_by_stage(planner->estimate, &question, planner->arena, values, planner->errors);
    for (uint32_t stage = 0; stage < count && status == ST_OK; stage++) {
        for (size_t i = 0; i < asked; i++)
            *places[i] = values[stage * asked + i];
        stages[stage] =
            (st_stage_layers){.all = planner->value[ST_ROLE_PLACED_LAYERS][0],
                              .moe = planner->value[ST_ROLE_PLACED_LAYERS][1],
                              .dense_layer = pass_seconds(planner, ST_ROLE_LAYER_FORWARD),
                              .moe_layer = pass_seconds(planner, ST_ROLE_MOE_LAYER_FORWARD)};
    }
    return status;
}

static st_stage_layers *stage_layers(st_planner *planner, uint32_t count)
{
    enum { FIRST, MIDDLE, LAST };
    const double *all = planner->value[ST_ROLE_STAGE_LAYERS];
    const double *moe = planner->value[ST_ROLE_STAGE_MOE_LAYERS];
    st_stage_layers *stages = st_arena_alloc(planner->arena, count, sizeof *stages);
    st_pass_seconds dense_layer = pass_seconds(planner, ST_ROLE_LAYER_FORWARD);
    st_pass_seconds moe_layer = pass_seconds(planner, ST_ROLE_MOE_LAYER_FORWARD);
    for (uint32_t i = 0; stages != NULL && i < count; i++) {
        int stage = i == 0 ? FIRST : i + 1 == count ? LAST : MIDDLE;
        stages[i] = st_plan_has(planner, ST_ROLE_STAGE_LAYERS)
                        ? (st_stage_layers){.all = all[stage], .moe = moe[stage]}
                        : (st_stage_layers){.all = 1};
        stages[i].dense_layer = dense_layer;
        stages[i].moe_layer = moe_layer;
    }
    if (stages != NULL && st_plan_has(planner, ST_ROLE_LAYERS))
        take_surplus(planner, stages, count);
    return stages;
}

static st_status refuse_chunks(const st_planner *planner, uint32_t stage, double layers,
                               uint32_t chunks)
{
    return st_fail(planner->errors, ST_ERR_CHECK, (st_place){0},
                   "%lu chunks per rank (parallel.virtual_stages) do not divide the %lu layers of "
                   "stage %lu" ST_EXPECTED
                   "a divisor of the layers of every stage; the first and the last may have fewer",
                   (unsigned long)chunks, (unsigned long)layers, (unsigned long)stage);
}

/*
 * Layers of every chunk. Where first or last stage have fewer layers than the others, the chunks at
 * the ends of the model do.
 */
static st_status chunk_layers(const st_planner *planner, const st_stage_layers *stages,
                              uint32_t count, uint32_t chunks, double *layers)
{
    double most = 0;
    for (uint32_t i = 0; i < count; i++)
        most = fmax(most, stages[i].all);
    double each = most / chunks;
    for (uint32_t i = 0; i < count; i++) {
        double less = most - stages[i].all;
        if (each != floor(each) || (less != 0 && i != 0 && i + 1 != count))
            return refuse_chunks(planner, i, stages[i].all, chunks);
        for (uint32_t k = 0; k < chunks; k++) {
            uint32_t chunk = i == 0 ? k : chunks - 1 - k;
            double taken = fmin(less, each);
            layers[st_schedule_place(&planner->plan->schedule.shape, i, chunk)] = each - taken;
            less -= taken;
        }
    }
    return ST_OK;
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

/* Pieces of every chunk from the layers that it has. */
static st_status fill_pieces(st_planner *planner, const double *layers, uint32_t places)
{
    st_schedule_pieces *pieces = st_arena_alloc(planner->arena, places, sizeof(*pieces));
    for (uint32_t i = 0; pieces != NULL && i < places; i++) {
        uint32_t count = st_plan_whole(fmin(ceil(layers[i]), ST_MOST_PIECES));
        pieces[i] = (st_schedule_pieces){.forward = split_pass(planner, count, false),
                                         .forward_count = count,
                                         .backward = split_pass(planner, count, true),
                                         .backward_count = count};
        if (pieces[i].forward == NULL || pieces[i].backward == NULL)
            return st_graph_no_memory(planner->errors);
    }
    planner->plan->schedule.pieces = pieces;
    planner->plan->schedule.prefetch = (uint32_t)planner->value[ST_ROLE_PREFETCH][0];
    return pieces == NULL ? st_graph_no_memory(planner->errors) : ST_OK;
}

/* Layers of every chunk: those that somebody names, or those of the sheet's stages. */
static st_status place_layers(const st_planner *planner, const st_stage_layers *stages,
                              double *of_chunk)
{
    const st_schedule_shape *shape = &planner->plan->schedule.shape;
    double moe = planner->value[ST_ROLE_MOE_LAYERS][0];
    const st_place_layers *given = planner->given;
    if (given != NULL && given->moe == NULL && moe > 0 && moe < planner->value[ST_ROLE_LAYERS][0])
        return st_fail(planner->errors, ST_ERR_VALUE, (st_place){0},
                       "only some layers of a model with a pattern have experts" ST_EXPECTED
                       "no model.pattern where stages are named by layer");
    if (given == NULL && shape->chunks > 1 && !is_placed(planner))
        return chunk_layers(planner, stages, shape->stages, shape->chunks, of_chunk);
    for (uint32_t place = 0; place < shape->stages * shape->chunks; place++)
        of_chunk[place] = given != NULL
                              ? given->all[place]
                              : stages[st_schedule_stage(shape, place, 0)].all / shape->chunks;
    return ST_OK;
}

/* The most of a chunk. */
static uint32_t most_layers(const st_planner *planner, const st_stage_layers *stages,
                            const double *of_chunk)
{
    const st_schedule_shape *shape = &planner->plan->schedule.shape;
    double most = 0;
    for (uint32_t i = 0; i < shape->stages; i++)
        most = fmax(most, stages[i].all / shape->chunks);
    if (planner->given != NULL)
        most = 0;
    for (uint32_t i = 0; planner->given != NULL && i < shape->stages * shape->chunks; i++)
        most = fmax(most, of_chunk[i]);
    return st_plan_whole(most);
}

static void fill_times(st_planner *planner, const st_pass_seconds *seconds, st_chunk_times *times)
{
    for (int pass = 0; pass < ST_PASSES; pass++) {
        for (int part = 0; part < ST_PARTS; part++)
            times->part[pass][part] = st_plan_ticks(
                planner, planner->value[ST_ROLE_SITE_FACTOR][0] * seconds->part[pass][part]);
    }
}

/* Times of every chunk of the model. */
st_status st_plan_passes(st_planner *planner)
{
    const st_schedule_shape *shape = &planner->plan->schedule.shape;
    uint32_t stages = shape->stages;
    uint32_t chunks = shape->chunks;
    st_pass_seconds embedding = pass_seconds(planner, ST_ROLE_EMBEDDING_FORWARD);
    st_pass_seconds head = pass_seconds(planner, ST_ROLE_HEAD_FORWARD);
    st_chunk_times *times = st_arena_alloc(planner->arena, (size_t)stages * chunks, sizeof(*times));
    st_stage_layers *layers = stage_layers(planner, stages);
    double *of_chunk = st_arena_alloc(planner->arena, (size_t)stages * chunks, sizeof(*of_chunk));
    if (times == NULL || layers == NULL || of_chunk == NULL)
        return st_graph_no_memory(planner->errors);
    st_status status = is_placed(planner) ? ask_stages(planner, layers, stages) : ST_OK;
    if (status == ST_OK)
        status = place_layers(planner, layers, of_chunk);
    for (uint32_t place = 0; place < stages * chunks && status == ST_OK; place++) {
        const st_stage_layers *stage = &layers[st_schedule_stage(shape, place, 0)];
        st_pass_seconds seconds = {0};
        double own = of_chunk[place];
        double own_moe = stage->all > 0 ? own * stage->moe / stage->all : 0;
        if (planner->given != NULL && planner->given->moe != NULL)
            own_moe = planner->given->moe[place];
        add_scaled(&seconds, &stage->dense_layer, own - own_moe);
        add_scaled(&seconds, &stage->moe_layer, own_moe);
        if (place == 0)
            add_scaled(&seconds, &embedding, 1);
        if (place + 1 == stages * chunks)
            add_scaled(&seconds, &head, 1);
        fill_times(planner, &seconds, &times[place]);
    }
    planner->plan->layers = most_layers(planner, layers, of_chunk);
    planner->plan->place_layers = of_chunk;
    planner->plan->schedule.shape.times = times;
    if (status == ST_OK && planner->value[ST_ROLE_GRADIENTS_SPLIT][0] != 0)
        status = fill_pieces(planner, of_chunk, stages * chunks);
    return status;
}

static int64_t site_ticks(st_planner *planner, st_role role, size_t part)
{
    return st_plan_ticks(planner,
                         planner->value[ST_ROLE_SITE_FACTOR][0] * planner->value[role][part]);
}

void st_plan_ends(st_planner *planner)
{
    st_schedule_plan *schedule = &planner->plan->schedule;
    schedule->shape.transfer = site_ticks(planner, ST_ROLE_TRANSFER, 0);
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
}
