/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients in buckets: one stage, one micro-batch, whose backward pass is cut where a bucket is
 * full. Each bucket's all-reduce runs alongside what is left of the pass, one after the other; how
 * much of it hides is what the replay finds.
 */
#include "timeline/timeline_plan.h"

#include "schedule/buckets.h"
#include "estimate/builtin.h"

#include <math.h>

/* What ST_ROLE_BUCKET_BYTES consists of. */
enum { BYTES_FIRST, BYTES_OTHERS, BYTES_VALUE, BYTES_ALL };

/* Pieces of the backward pass in the making. */
typedef struct st_bucket_pieces {
    st_planner *planner;
    st_bucket_curve curve;
    st_schedule_piece *pieces;
    size_t count;
    size_t capacity;
    bool failed;
} st_bucket_pieces;

static bool add_bucket(void *context, const st_bucket *bucket)
{
    st_bucket_pieces *list = context;
    st_schedule_piece *pieces = st_arena_grow(list->planner->arena, list->pieces, sizeof(*pieces),
                                              list->count + 1, &list->capacity);
    if (pieces == NULL) {
        list->failed = true;
        return false;
    }
    double takes = st_bucket_time(&list->curve, bucket->bytes);
    list->pieces = pieces;
    pieces[list->count++] = (st_schedule_piece){
        .until = bucket->ready_frac, .reduce_hidden = st_plan_ticks(list->planner, takes)};
    return true;
}

/* What the sheet says of buckets of each size. */
static void read_curve(const st_planner *planner, st_bucket_curve *curve)
{
    for (size_t i = 0; i < ST_BUCKET_SIZES && planner->value[ST_ROLE_BUCKET_SIZES][i] > 0; i++) {
        curve->bytes[i] = planner->value[ST_ROLE_BUCKET_SIZES][i];
        curve->times[i] = planner->value[ST_ROLE_BUCKET_TIMES][i];
        curve->count = i + 1;
    }
}

/* Buckets of equal size where nothing is known of the layers. */
static void add_equal_buckets(st_bucket_pieces *list)
{
    const st_planner *planner = list->planner;
    double bytes = planner->value[ST_ROLE_BUCKET_BYTES][BYTES_ALL];
    uint32_t count = st_plan_whole(fmin(planner->value[ST_ROLE_BUCKETS][0], ST_MOST_PIECES));
    for (uint32_t i = 0; i < count && !list->failed; i++)
        (void)add_bucket(list,
                         &(st_bucket){.bytes = bytes / count,
                                      .ready_frac = i + 1 == count ? 1 : (double)(i + 1) / count});
}

st_status st_plan_buckets(st_planner *planner)
{
    const double *bytes = planner->value[ST_ROLE_BUCKET_BYTES];
    const st_estimate *estimate = planner->estimate;
    const st_layers *layers = st_builtin_layers(estimate->providers, estimate->provider_count);
    st_schedule_pieces *pieces = st_arena_alloc(planner->arena, 1, sizeof(*pieces));
    st_bucket_pieces list = {.planner = planner};
    read_curve(planner, &list.curve);
    if (layers == NULL) {
        add_equal_buckets(&list);
    } else {
        st_bucket_caps caps = {.first_bytes = bytes[BYTES_FIRST],
                               .cap_bytes = bytes[BYTES_OTHERS],
                               .width_bytes = bytes[BYTES_VALUE]};
        (void)st_buckets_visit(layers, &caps, add_bucket, &list);
    }
    if (pieces == NULL || list.failed)
        return st_graph_no_memory(planner->errors);
    *pieces = (st_schedule_pieces){.backward = list.pieces, .backward_count = list.count};
    planner->plan->schedule.pieces = pieces;
    planner->plan->order_name = "buckets";
    return ST_OK;
}
