/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data parallelism with buckets from the cells of formulas/ddp.yaml: one stage, one micro-batch,
 * whose backward pass is cut where a bucket is full. Each bucket's all-reduce runs beside what is
 * left of the pass, one after the other; how much of it hides is what the replay finds.
 */
#include "timeline/timeline_plan.h"

#include "schedule/buckets.h"
#include "estimate/builtin.h"

#include <math.h>

typedef enum st_ddp_cell {
    DDP_RANKS,
    DDP_FORWARD,
    DDP_BACKWARD,
    DDP_UPDATE,
    DDP_FIRST,
    DDP_CAP,
    DDP_WIDTH,
    DDP_START,
    DDP_RATE,
    DDP_RING,
    DDP_SLOW,
    DDP_BYTES,
    DDP_MESSAGES,
    DDP_EXPOSED,
    DDP_HIDDEN,
    DDP_PRICE,
    DDP_STEP
} st_ddp_cell;

const char *const st_ddp_names[] = {
    "d",        "T_forward", "T_backward", "T_update", "first",  "cap",
    "width",    "start",     "C",          "ring",     "slow",   "message_bytes",
    "messages", "T_exposed", "T_hidden",   "T_price",  "T_step", NULL};

/* Pieces of the backward pass in the making. */
typedef struct st_ddp_pieces {
    st_planner *planner;
    st_schedule_piece *pieces;
    size_t count;
    size_t capacity;
    bool failed;
} st_ddp_pieces;

static bool add_bucket(void *context, const st_bucket *bucket)
{
    st_ddp_pieces *list = context;
    const double *cell = list->planner->cell;
    st_schedule_piece *pieces = st_arena_grow(list->planner->arena, list->pieces, sizeof(*pieces),
                                              list->count + 1, &list->capacity);
    if (pieces == NULL) {
        list->failed = true;
        return false;
    }
    double takes = cell[DDP_START] + bucket->bytes * fmax(cell[DDP_RING], 0.5) / cell[DDP_RATE];
    list->pieces = pieces;
    pieces[list->count++] = (st_schedule_piece){
        .until = bucket->ready_frac, .reduce_hidden = st_plan_ticks(list->planner, takes)};
    return true;
}

/* Buckets of equal size where nothing is known of the layers. */
static void add_equal_buckets(st_ddp_pieces *list)
{
    const double *cell = list->planner->cell;
    uint32_t count = st_plan_whole(fmin(cell[DDP_MESSAGES], ST_MOST_PIECES));
    for (uint32_t i = 0; i < count && !list->failed; i++) {
        (void)add_bucket(list,
                         &(st_bucket){.bytes = cell[DDP_BYTES] / count,
                                      .ready_frac = i + 1 == count ? 1 : (double)(i + 1) / count});
    }
}

static st_status fill_buckets(st_planner *planner)
{
    const double *cell = planner->cell;
    const st_estimate *estimate = planner->estimate;
    const st_layers *layers = st_builtin_layers(estimate->providers, estimate->provider_count);
    st_schedule_pieces *pieces = st_arena_alloc(planner->arena, 1, sizeof(*pieces));
    st_ddp_pieces list = {.planner = planner};
    if (layers == NULL) {
        add_equal_buckets(&list);
    } else {
        st_bucket_caps caps = {.first_bytes = cell[DDP_FIRST],
                               .cap_bytes = cell[DDP_CAP],
                               .width_bytes = cell[DDP_WIDTH]};
        (void)st_buckets_visit(layers, &caps, add_bucket, &list);
    }
    if (pieces == NULL || list.failed) {
        return st_graph_no_memory(planner->errors);
    }
    *pieces = (st_schedule_pieces){.backward = list.pieces, .backward_count = list.count};
    planner->plan->schedule.pieces = pieces;
    planner->plan->order_name = "buckets";
    return ST_OK;
}

static void fill_closed(st_planner *planner)
{
    const double *cell = planner->cell;
    st_timeline_plan *plan = planner->plan;
    plan->term_s[ST_TERM_STEADY] = cell[DDP_FORWARD] + cell[DDP_BACKWARD];
    plan->term_s[ST_TERM_DATA] = cell[DDP_EXPOSED];
    plan->term_s[ST_TERM_SLOWDOWN] = cell[DDP_PRICE];
    plan->term_s[ST_TERM_OPTIMIZER] = cell[DDP_UPDATE];
    plan->hiding_s[ST_HIDING_EXPOSED] = cell[DDP_EXPOSED];
    plan->hiding_s[ST_HIDING_HIDDEN] = cell[DDP_HIDDEN];
    plan->hiding_s[ST_HIDING_PRICE] = cell[DDP_PRICE];
    plan->closed_s = cell[DDP_STEP];
    plan->step_cell = "T_step";
}

st_status st_plan_ddp(st_planner *planner, bool dualpipe)
{
    st_status status = st_plan_run(planner, st_ddp_names);
    const double *cell = planner->cell;
    st_schedule_plan *schedule = &planner->plan->schedule;
    if (status != ST_OK) {
        return status;
    }
    schedule->shape =
        (st_schedule_shape){.kind = dualpipe ? ST_SCHEDULE_DUALPIPE : ST_SCHEDULE_1F1B,
                            .stages = 1,
                            .micros = 1,
                            .chunks = 1};
    schedule->groups =
        (st_schedule_groups){.tp = 1, .cp = 1, .dp = st_plan_whole(cell[DDP_RANKS]), .ep = 1};
    status = st_schedule_check(&schedule->shape, planner->errors);
    st_chunk_times *times = st_arena_alloc(planner->arena, 1, sizeof(*times));
    if (status != ST_OK || times == NULL) {
        return times == NULL ? st_graph_no_memory(planner->errors) : status;
    }
    *times = (st_chunk_times){0};
    times->part[ST_PASS_FORWARD][ST_PART_WORK] = st_plan_ticks(planner, cell[DDP_FORWARD]);
    times->part[ST_PASS_BACKWARD][ST_PART_WORK] = st_plan_ticks(planner, cell[DDP_BACKWARD]);
    schedule->shape.times = times;
    schedule->ends.optimizer = st_plan_ticks(planner, cell[DDP_UPDATE]);
    for (int i = 0; i < ST_SLOWED_KINDS; i++) {
        planner->plan->slowdown[i] = fmax(cell[DDP_SLOW], 1);
    }
    if (cell[DDP_RANKS] > 1) {
        status = fill_buckets(planner);
    }
    fill_closed(planner);
    return status;
}
