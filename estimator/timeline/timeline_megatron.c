/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of passes from the cells of formulas/megatron.yaml.
 *
 * A forward pass is a layer's forward cells, a backward pass all others; recomputation goes with
 * the backward pass that needs it. Where the sheet knows a time for all passes only (launch floor,
 * exposed rings, head, embedding), it is divided as its formula does.
 */
#include "timeline/timeline_plan.h"

#include <math.h>
#include <string.h>

/* The cells that make a plan, in parts that can be laid out. */
#define CELLS_1(cell)                                                                              \
    cell(CELL_P, "p") cell(CELL_T, "t") cell(CELL_D, "d") cell(CELL_CP, "cp") cell(CELL_EP, "ep")  \
        cell(CELL_M, "m") cell(CELL_V, "v") cell(CELL_L, "L") cell(CELL_L_MOE, "L_moe")            \
            cell(CELL_L_FIRST, "L_first") cell(CELL_L_MIDDLE, "L_middle")                          \
                cell(CELL_L_LAST, "L_last") cell(CELL_L_MOE_FIRST, "L_moe_first")

#define CELLS_2(cell)                                                                              \
    cell(CELL_L_MOE_MIDDLE, "L_moe_middle") cell(CELL_L_MOE_LAST, "L_moe_last")                    \
        cell(CELL_T_FORWARD, "t_forward") cell(CELL_T_BACKWARD, "t_backward")                      \
            cell(CELL_T_AGAIN, "t_again") cell(CELL_T_WGRAD, "t_wgrad") cell(CELL_T_GPU, "t_gpu")  \
                cell(CELL_T_LAYER, "t_layer") cell(CELL_T_FORWARD_MOE, "t_forward_moe")            \
                    cell(CELL_T_BACKWARD_MOE, "t_backward_moe")                                    \
                        cell(CELL_T_AGAIN_MOE, "t_again_moe") cell(CELL_T_GEMM_MOE, "t_gemm_moe")  \
                            cell(CELL_T_GPU_MOE, "t_gpu_moe")

#define CELLS_3(cell)                                                                              \
    cell(CELL_T_LAYER_MOE, "t_layer_moe") cell(CELL_N_TP, "n_tp") cell(CELL_T_TP, "t_tp")          \
        cell(CELL_PRICE_TP, "price_tp") cell(CELL_T_RING, "t_ring_cp")                             \
            cell(CELL_SLOW_CP, "slow_cp") cell(CELL_HIDE_CP, "hide_cp")                            \
                cell(CELL_T_CORE, "t_core_forward") cell(CELL_T_CP, "t_cp")                        \
                    cell(CELL_PRICE_CP, "price_cp") cell(CELL_PASSES, "passes")                    \
                        cell(CELL_T_EP, "t_ep") cell(CELL_PRICE_EP, "price_ep")

#define CELLS_4(cell)                                                                              \
    cell(CELL_T_EMBEDDING, "t_embedding") cell(CELL_T_HEAD, "t_head")                              \
        cell(CELL_T_LOGITS, "t_logits") cell(CELL_T_TRANSFER, "t_transfer")                        \
            cell(CELL_HIDE_PP, "hide_pp") cell(CELL_ZERO, "zero") cell(CELL_T_REDUCE, "t_reduce")  \
                cell(CELL_T_GATHER, "t_gather") cell(CELL_HIDE_GRADIENTS, "hide_gradients")        \
                    cell(CELL_HIDE_WEIGHTS, "hide_weights") cell(CELL_T_DATA, "T_data")            \
                        cell(CELL_T_DATA_HIDDEN, "T_data_hidden") cell(CELL_T_PRICE, "T_price")

#define CELLS_5(cell)                                                                              \
    cell(CELL_T_TIED, "t_tied") cell(CELL_T_OPTIMIZER, "T_optimizer")                              \
        cell(CELL_SITE, "site_factor") cell(CELL_STEP, "step_time")                                \
            cell(CELL_T_STEADY, "T_steady") cell(CELL_T_RAMP, "T_ramp")                            \
                cell(CELL_T_TRANSFERS, "T_transfers") cell(CELL_A, "a") cell(CELL_H, "h")          \
                    cell(CELL_S, "s") cell(CELL_SLOW_FORWARD, "slow_forward")                      \
                        cell(CELL_SLOW_BACKWARD, "slow_backward")                                  \
                            cell(CELL_SLOW_WEIGHTS, "slow_weights")

#define CELLS_6(cell)                                                                              \
    cell(CELL_SLOW_INPUTS, "slow_inputs") cell(CELL_SLOW_DP, "slow_dp")                            \
        cell(CELL_T_DATA_PRICE, "T_data_price") cell(CELL_EXPOSED, "time_exposed")                 \
            cell(CELL_HIDDEN, "time_hidden") cell(CELL_PRICE, "time_price")                        \
                cell(CELL_HIDDEN_DP, "hidden_dp") cell(CELL_PREFETCH, "prefetch")

#define CELLS_OF_MEGATRON(cell)                                                                    \
    CELLS_1(cell) CELLS_2(cell) CELLS_3(cell) CELLS_4(cell) CELLS_5(cell) CELLS_6(cell)

#define AS_NUMBER(number, name) number,
#define AS_NAME(number, name)   name,

typedef enum st_cell { CELLS_OF_MEGATRON(AS_NUMBER) CELLS } st_cell;

const char *const st_megatron_names[] = {CELLS_OF_MEGATRON(AS_NAME) NULL};

/* Seconds of one pass of a stage or layer, by its parts. */
typedef struct st_pass_seconds {
    double part[ST_PASSES][ST_PARTS];
} st_pass_seconds;

static double sum_parts(const st_pass_seconds *seconds, int first_pass, int last_pass)
{
    double sum = 0;
    for (int pass = first_pass; pass <= last_pass; pass++) {
        for (int part = 0; part < ST_PARTS; part++) {
            sum += seconds->part[pass][part];
        }
    }
    return sum;
}

/* What the launch floor adds to a layer, over its passes as their time on the GPU. */
static void add_launch(st_pass_seconds *seconds, double gap)
{
    double all = sum_parts(seconds, 0, ST_PASSES - 1);
    double of[ST_PASSES];
    for (int pass = 0; pass < ST_PASSES; pass++) {
        of[pass] = sum_parts(seconds, pass, pass);
    }
    for (int pass = 0; pass < ST_PASSES && all > 0 && gap > 0; pass++) {
        seconds->part[pass][ST_PART_LAUNCH] = gap * of[pass] / all;
    }
}

static st_pass_seconds layer_seconds(const double *cell, bool moe)
{
    st_pass_seconds seconds = {0};
    double forward = cell[moe ? CELL_T_FORWARD_MOE : CELL_T_FORWARD];
    double backward = cell[moe ? CELL_T_BACKWARD_MOE : CELL_T_BACKWARD];
    double again = cell[moe ? CELL_T_AGAIN_MOE : CELL_T_AGAIN];
    double weights = cell[moe ? CELL_T_GEMM_MOE : CELL_T_WGRAD]; /* a third of their products */
    double ring =
        fmax(cell[CELL_T_RING] - cell[CELL_SLOW_CP] * cell[CELL_HIDE_CP] * cell[CELL_T_CORE], 0);
    double experts = moe ? cell[CELL_T_EP] / (cell[CELL_PASSES] + 1) : 0;
    double price = cell[CELL_PRICE_CP] + (moe ? cell[CELL_PRICE_EP] : 0);
    double share = 1 / (cell[CELL_PASSES] + 1);
    double *first = seconds.part[ST_PASS_FORWARD];
    double *second = seconds.part[ST_PASS_BACKWARD];
    first[ST_PART_WORK] = forward;
    first[ST_PART_TP] = 2 * cell[CELL_T_TP];
    first[ST_PART_CP] = ring;
    first[ST_PART_EP] = experts;
    first[ST_PART_SLOWDOWN] = 2 * cell[CELL_PRICE_TP] + share * price;
    second[ST_PART_WORK] = backward + again - fmin(weights, backward);
    second[ST_PART_TP] = (cell[CELL_N_TP] - 2) * cell[CELL_T_TP];
    second[ST_PART_CP] = cell[CELL_T_CP] - ring;
    second[ST_PART_EP] = (moe ? cell[CELL_T_EP] : 0) - experts;
    second[ST_PART_SLOWDOWN] = (cell[CELL_N_TP] - 2) * cell[CELL_PRICE_TP] + (1 - share) * price;
    seconds.part[ST_PASS_WEIGHTS][ST_PART_WORK] = fmin(weights, backward);
    add_launch(&seconds, moe ? cell[CELL_T_LAYER_MOE] - cell[CELL_T_GPU_MOE]
                             : cell[CELL_T_LAYER] - cell[CELL_T_GPU]);
    return seconds;
}

static void add_scaled(st_pass_seconds *to, const st_pass_seconds *from, double factor)
{
    for (int pass = 0; pass < ST_PASSES; pass++) {
        for (int part = 0; part < ST_PARTS; part++) {
            to->part[pass][part] += factor * from->part[pass][part];
        }
    }
}

/* Embedding: half of it forward, as it reads and writes the same in both directions. */
static st_pass_seconds embedding_seconds(const double *cell)
{
    st_pass_seconds seconds = {0};
    seconds.part[ST_PASS_FORWARD][ST_PART_WORK] = cell[CELL_T_EMBEDDING] / 2;
    seconds.part[ST_PASS_BACKWARD][ST_PART_WORK] = cell[CELL_T_EMBEDDING] / 2;
    seconds.part[ST_PASS_FORWARD][ST_PART_TP] = cell[CELL_T_TP];
    seconds.part[ST_PASS_FORWARD][ST_PART_SLOWDOWN] = cell[CELL_PRICE_TP];
    return seconds;
}

/* Output layer and loss: three products alike, the loss with them. */
static st_pass_seconds head_seconds(const double *cell)
{
    st_pass_seconds seconds = {0};
    double third = cell[CELL_T_HEAD] / 3;
    double weights = cell[CELL_T_LOGITS] / 3;
    seconds.part[ST_PASS_FORWARD][ST_PART_WORK] = third;
    seconds.part[ST_PASS_BACKWARD][ST_PART_WORK] = cell[CELL_T_HEAD] - third - weights;
    seconds.part[ST_PASS_WEIGHTS][ST_PART_WORK] = weights;
    seconds.part[ST_PASS_BACKWARD][ST_PART_TP] = cell[CELL_T_TP];
    seconds.part[ST_PASS_BACKWARD][ST_PART_SLOWDOWN] = cell[CELL_PRICE_TP];
    return seconds;
}

/* Layers of a stage. The sheet fills every stage as the fullest one; what that is too much is taken
 * from the stages before the last, so that the model keeps its layers. */
typedef struct st_stage_layers {
    double all;
    double moe;
} st_stage_layers;

static void take_surplus(st_stage_layers *stages, uint32_t count, const double *cell)
{
    double surplus = -cell[CELL_L];
    double surplus_moe = -cell[CELL_L_MOE];
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

static st_stage_layers *stage_layers(st_planner *planner, uint32_t count)
{
    const double *cell = planner->cell;
    st_stage_layers *stages = st_arena_alloc(planner->arena, count, sizeof(*stages));
    for (uint32_t i = 0; stages != NULL && i < count; i++) {
        bool first = i == 0;
        bool last = i + 1 == count;
        stages[i].all = cell[first ? CELL_L_FIRST : last ? CELL_L_LAST : CELL_L_MIDDLE];
        stages[i].moe = cell[first ? CELL_L_MOE_FIRST : last ? CELL_L_MOE_LAST : CELL_L_MOE_MIDDLE];
    }
    if (stages != NULL) {
        take_surplus(stages, count, cell);
    }
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
    for (uint32_t i = 0; i < count; i++) {
        most = fmax(most, stages[i].all);
    }
    double each = most / chunks;
    for (uint32_t i = 0; i < count; i++) {
        double less = most - stages[i].all;
        if (each != floor(each) || (less != 0 && i != 0 && i + 1 != count)) {
            return refuse_chunks(planner, i, stages[i].all, chunks);
        }
        for (uint32_t k = 0; k < chunks; k++) {
            uint32_t chunk = i == 0 ? k : chunks - 1 - k;
            double taken = fmin(less, each);
            layers[chunk * count + i] = each - taken;
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

/*
 * A chunk whose weights or gradients are split: each layer's weights are gathered before it
 * computes, forward and backward, and its gradients reduced when they are there. The sheet's times
 * are those of a stage.
 */
static const st_schedule_piece *split_pass(st_planner *planner, uint32_t layers, bool backward)
{
    const double *cell = planner->cell;
    double of_chunk = cell[CELL_SITE] / cell[CELL_V];
    double gather = cell[CELL_ZERO] >= 3 ? of_chunk * cell[CELL_T_GATHER] : 0;
    double reduce = backward ? of_chunk * cell[CELL_T_REDUCE] : 0;
    double weights = cell[CELL_HIDE_WEIGHTS];
    double gradients = cell[CELL_HIDE_GRADIENTS];
    int64_t gathers = st_plan_ticks(planner, gather);
    int64_t reduces = st_plan_ticks(planner, reduce);
    int64_t gathers_hidden = st_plan_ticks(planner, weights * gather);
    int64_t reduces_hidden = st_plan_ticks(planner, gradients * reduce);
    st_schedule_piece *pieces = st_arena_alloc(planner->arena, layers, sizeof(*pieces));
    for (uint32_t i = 0; pieces != NULL && i < layers; i++) {
        pieces[i] = (st_schedule_piece){
            .until = i + 1 == layers ? 1 : (double)(i + 1) / layers,
            .gather_hidden = part_of(gathers_hidden, layers, i),
            .gather_exposed = part_of(gathers - gathers_hidden, layers, i),
            .reduce_hidden = part_of(reduces_hidden, layers, i),
            .reduce_exposed = part_of(reduces - reduces_hidden, layers, i),
        };
    }
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
        if (pieces[i].forward == NULL || pieces[i].backward == NULL) {
            return st_graph_no_memory(planner->errors);
        }
    }
    planner->plan->schedule.pieces = pieces;
    planner->plan->schedule.prefetch = (uint32_t)planner->cell[CELL_PREFETCH];
    return pieces == NULL ? st_graph_no_memory(planner->errors) : ST_OK;
}

static void fill_times(st_planner *planner, const st_pass_seconds *seconds, st_chunk_times *times)
{
    for (int pass = 0; pass < ST_PASSES; pass++) {
        for (int part = 0; part < ST_PARTS; part++) {
            times->part[pass][part] =
                st_plan_ticks(planner, planner->cell[CELL_SITE] * seconds->part[pass][part]);
        }
    }
}

/* Times of every chunk of the model. */
static st_status fill_chunks(st_planner *planner, uint32_t stages, uint32_t chunks)
{
    const double *cell = planner->cell;
    st_pass_seconds dense = layer_seconds(cell, false);
    st_pass_seconds moe = layer_seconds(cell, true);
    st_pass_seconds embedding = embedding_seconds(cell);
    st_pass_seconds head = head_seconds(cell);
    st_chunk_times *times = st_arena_alloc(planner->arena, (size_t)stages * chunks, sizeof(*times));
    st_stage_layers *layers = stage_layers(planner, stages);
    double *of_chunk = st_arena_alloc(planner->arena, (size_t)stages * chunks, sizeof(*of_chunk));
    if (times == NULL || layers == NULL || of_chunk == NULL) {
        return st_graph_no_memory(planner->errors);
    }
    st_status status = ST_OK;
    if (chunks > 1) {
        status = chunk_layers(planner, layers, stages, chunks, of_chunk);
    }
    for (uint32_t place = 0; place < stages * chunks && status == ST_OK; place++) {
        const st_stage_layers *stage = &layers[place % stages];
        st_pass_seconds seconds = {0};
        double own = chunks > 1 ? of_chunk[place] : stage->all;
        double own_moe = stage->all > 0 ? own * stage->moe / stage->all : 0;
        of_chunk[place] = own;
        add_scaled(&seconds, &dense, own - own_moe);
        add_scaled(&seconds, &moe, own_moe);
        if (place == 0) {
            add_scaled(&seconds, &embedding, 1);
        }
        if (place + 1 == stages * chunks) {
            add_scaled(&seconds, &head, 1);
        }
        fill_times(planner, &seconds, &times[place]);
    }
    double most = 0;
    for (uint32_t i = 0; i < stages; i++) {
        most = fmax(most, layers[i].all);
    }
    planner->plan->layers = st_plan_whole(most / chunks);
    planner->plan->schedule.shape.times = times;
    if (status == ST_OK && cell[CELL_ZERO] >= 2) {
        status = fill_pieces(planner, of_chunk, stages * chunks);
    }
    return status;
}

static void fill_ends(st_planner *planner)
{
    const double *cell = planner->cell;
    double site = cell[CELL_SITE];
    double reduce = cell[CELL_ZERO] >= 2 ? 0 : site * cell[CELL_T_REDUCE];
    double gather = cell[CELL_ZERO] >= 3 ? 0 : site * cell[CELL_T_GATHER];
    st_schedule_ends *ends = &planner->plan->schedule.ends;
    ends->reduce_hidden = st_plan_ticks(planner, cell[CELL_HIDE_GRADIENTS] * reduce);
    ends->reduce_exposed = st_plan_ticks(planner, (1 - cell[CELL_HIDE_GRADIENTS]) * reduce);
    ends->gather_hidden = st_plan_ticks(planner, cell[CELL_HIDE_WEIGHTS] * gather);
    ends->gather_exposed = st_plan_ticks(planner, (1 - cell[CELL_HIDE_WEIGHTS]) * gather);
    ends->tied = st_plan_ticks(planner, site * cell[CELL_T_TIED]);
    /* What data parallelism hides is laid out and pays its price there. */
    ends->slowdown =
        st_plan_ticks(planner, site * fmax(cell[CELL_T_PRICE] - cell[CELL_T_DATA_PRICE], 0));
    double *slowdown = planner->plan->slowdown;
    slowdown[ST_SLOWED_FORWARD] = fmax(cell[CELL_SLOW_FORWARD], 1);
    slowdown[ST_SLOWED_BACKWARD] = fmax(cell[CELL_SLOW_BACKWARD], 1);
    slowdown[ST_SLOWED_INPUTS] = fmax(cell[CELL_SLOW_INPUTS], 1);
    slowdown[ST_SLOWED_WEIGHTS] = fmax(cell[CELL_SLOW_WEIGHTS], 1);
    slowdown[ST_SLOWED_REST] = fmax(cell[CELL_SLOW_DP], 1);
    ends->optimizer = st_plan_ticks(planner, site * cell[CELL_T_OPTIMIZER]);
}

static void fill_closed(st_planner *planner)
{
    const double *cell = planner->cell;
    double site = cell[CELL_SITE];
    double *term = planner->plan->term_s;
    term[ST_TERM_STEADY] = site * cell[CELL_T_STEADY];
    term[ST_TERM_RAMP] = site * cell[CELL_T_RAMP];
    term[ST_TERM_TRANSFERS] = site * cell[CELL_T_TRANSFERS];
    term[ST_TERM_DATA] = site * (cell[CELL_T_DATA] - cell[CELL_T_DATA_HIDDEN]);
    term[ST_TERM_TIED] = site * cell[CELL_T_TIED];
    term[ST_TERM_SLOWDOWN] = site * cell[CELL_T_PRICE];
    term[ST_TERM_OPTIMIZER] = site * cell[CELL_T_OPTIMIZER];
    planner->plan->hiding_s[ST_HIDING_EXPOSED] = cell[CELL_EXPOSED];
    planner->plan->hiding_s[ST_HIDING_HIDDEN] = cell[CELL_HIDDEN];
    planner->plan->hiding_s[ST_HIDING_PRICE] = cell[CELL_PRICE];
    planner->plan->hidden_inside_s = cell[CELL_HIDDEN] - cell[CELL_HIDDEN_DP];
    planner->plan->closed_s = cell[CELL_STEP];
    planner->plan->step_cell = "step_time";
}

/* Activations of a layer that its weights' gradients need: 32 of 34 + 5as/h bytes a value, without
 * the scores where attention is fused (Korthikanti et al. 2022, equation 1; Qi et al. 2024). */
static double held_for_weights(const st_planner *planner)
{
    const double *cell = planner->cell;
    const st_job_value *attention = st_job_value_of(planner->estimate->job, "attention");
    bool flash =
        attention == NULL || attention->text == NULL || strcmp(attention->text, "unfused") != 0;
    return 32 / (34 + (flash ? 0 : 5 * cell[CELL_A] * cell[CELL_S] / cell[CELL_H]));
}

st_status st_plan_megatron(st_planner *planner, bool dualpipe)
{
    st_status status = st_plan_run(planner, st_megatron_names);
    const double *cell = planner->cell;
    if (status != ST_OK) {
        return status;
    }
    st_schedule_plan *schedule = &planner->plan->schedule;
    uint32_t chunks = st_plan_whole(cell[CELL_V]);
    schedule->shape.stages = st_plan_whole(cell[CELL_P]);
    schedule->shape.micros = st_plan_whole(cell[CELL_M]);
    schedule->shape.kind = dualpipe     ? ST_SCHEDULE_DUALPIPE
                           : chunks > 1 ? ST_SCHEDULE_INTERLEAVED
                                        : st_plan_kind(planner);
    schedule->shape.chunks = chunks;
    schedule->shape.held_for_weights = held_for_weights(planner);
    schedule->groups = (st_schedule_groups){.tp = st_plan_whole(cell[CELL_T]),
                                            .cp = st_plan_whole(cell[CELL_CP]),
                                            .dp = st_plan_whole(cell[CELL_D]),
                                            .ep = st_plan_whole(cell[CELL_EP])};
    status = st_schedule_check(&schedule->shape, planner->errors);
    if (status == ST_OK) {
        status = fill_chunks(planner, schedule->shape.stages, chunks);
    }
    schedule->shape.transfer =
        st_plan_ticks(planner, cell[CELL_SITE] * (1 - cell[CELL_HIDE_PP]) * cell[CELL_T_TRANSFER]);
    fill_ends(planner);
    fill_closed(planner);
    return status;
}
