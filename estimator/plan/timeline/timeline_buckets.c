/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients in buckets: one stage, whose last backward pass is cut where a bucket is full. Each
 * bucket's all-reduce runs alongside what is left of the pass, one after the other. Split weights
 * in units: every pass is cut where one is full. How much hides is what the replay finds.
 */
#include "timeline/timeline_plan.h"

#include "schedule/buckets.h"
#include "estimate/builtin.h"

#include <math.h>

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

st_status st_plan_buckets(st_planner *planner)
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
