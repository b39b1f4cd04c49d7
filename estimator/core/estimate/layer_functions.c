/* SPDX-License-Identifier: Apache-2.0 */
/* A table of functions over a layer list. Functions with the same arguments share one in C, which
 * returns the value that the line of the table names. */
#include "estimate/layer_functions.h"

#include "schedule/layer_stages.h"

#include <math.h>

enum {
    PARAMETERS,
    FORWARD_FLOP, /* arguments: tokens in a sample */
    MOVED,        /* tokens in a sample, compiled */
    KERNELS,      /* compiled */
    KEPT,         /* tokens in a sample */
    LAYERS
};

static double sum_of_list(const void *over, const double *arguments, int which)
{
    const st_layers *layers = over;
    double tokens = layers->per_token ? arguments[0] : 1;
    double sum = 0;
    switch (which) {
    case PARAMETERS:
        return layers->parameters;
    case FORWARD_FLOP:
        return layers->forward_flop * tokens;
    case MOVED:
        return layers->moved[arguments[1] != 0 ? ST_COMPILED : ST_UNCOMPILED] * tokens;
    case KERNELS:
        return layers->kernels[arguments[0] != 0 ? ST_COMPILED : ST_UNCOMPILED];
    default:
        for (size_t i = 0; i < layers->count; i++)
            sum += which == KEPT ? layers->tensors[i].kept : layers->tensors[i].begins ? 1 : 0;
        return which == KEPT ? sum * tokens : sum;
    }
}

static st_bucket_caps caps_of(const double *arguments)
{
    return (st_bucket_caps){
        .first_bytes = arguments[0], .cap_bytes = arguments[1], .width_bytes = arguments[2]};
}

typedef struct bucket_tally {
    double from_bytes; /* inclusive */
    double to_bytes;   /* exclusive */
    double between;
    double largest;
} bucket_tally;

static bool count_bucket(void *context, const st_bucket *bucket)
{
    bucket_tally *tally = context;
    tally->between += bucket->bytes >= tally->from_bytes && bucket->bytes < tally->to_bytes ? 1 : 0;
    tally->largest = bucket->bytes > tally->largest ? bucket->bytes : tally->largest;
    return true;
}

enum { BUCKETS, LARGEST, BETWEEN };

/* arguments: first cap, cap, width; of BETWEEN from, to */
static double count_buckets(const void *layers, const double *arguments, int which)
{
    st_bucket_caps caps = caps_of(arguments);
    bucket_tally tally = {.from_bytes = arguments[3], .to_bytes = arguments[4]};
    double count = (double)st_buckets_visit(layers, &caps, count_bucket, &tally);
    return which == BUCKETS ? count : which == LARGEST ? tally.largest : tally.between;
}

/* arguments: first cap, cap, width, number of the size, from 1; 0 where there are fewer */
static double bucket_size(const void *layers, const double *arguments, int which)
{
    st_bucket_caps caps = caps_of(arguments);
    st_bucket_curve curve;
    double place = arguments[3];
    (void)which;
    st_bucket_sizes(layers, &caps, &curve);
    return place >= 1 && place <= (double)curve.count ? curve.bytes[(size_t)place - 1] : 0;
}

enum { TOTAL, EXPOSED, ADDED };

/* arguments: first cap, cap, width, backward pass, slowdown of the pass during an all-reduce, time
 * of an all-reduce of each size */
static double run_buckets(const void *layers, const double *arguments, int which)
{
    st_bucket_caps caps = caps_of(arguments);
    st_bucket_curve curve;
    st_bucket_times times = {.backward = arguments[3],
                             .curve = &curve,
                             .slowdown = arguments[4] >= 1 ? arguments[4] : (double)NAN};
    st_bucket_sizes(layers, &caps, &curve);
    for (size_t i = 0; i < curve.count; i++)
        curve.times[i] = arguments[5 + i];
    const st_bucket_outcome outcome = st_buckets_run(layers, &caps, &times);
    return which == TOTAL ? outcome.total : which == EXPOSED ? outcome.exposed : outcome.added;
}

/* arguments: size of a unit, width of a weight, forward and backward pass, whether weights are
 * gathered again, a reduce-scatter over an all-gather, time of an all-gather of each size */
static double shard_exposed(const void *layers, const double *arguments, int which)
{
    (void)which;
    st_bucket_curve curve;
    const st_shards shards = {.layers = layers,
                              .caps = {arguments[0], arguments[0], arguments[1]},
                              .forward = arguments[2],
                              .backward = arguments[3],
                              .gathers_again = arguments[4] != 0,
                              .scatter = arguments[5],
                              .gather = &curve};
    st_bucket_sizes(layers, &shards.caps, &curve);
    for (size_t i = 0; i < curve.count; i++)
        curve.times[i] = arguments[6 + i];
    return st_shards_exposed(&shards);
}

/* arguments: stages of equal parameters, compiled, share of a pass that scales with moved values,
 * stages, micro-batches, all forward passes first, tokens in a sample */
enum {
    BY_PARAMETERS,
    IS_COMPILED,
    MOVED_SHARE,
    STAGE_COUNT,
    MICROS,
    GPIPE,
    TOKENS,
    STAGE_ARGUMENTS
};
#define STAGES "1", "1", "1", "1", "1", "1", "1"

static st_layer_pipeline pipeline_of(const void *layers, const double *arguments)
{
    return (st_layer_pipeline){.layers = layers,
                               .by_parameters = arguments[BY_PARAMETERS] != 0,
                               .compiled = arguments[IS_COMPILED] != 0,
                               .moved_share = arguments[MOVED_SHARE],
                               .stages = arguments[STAGE_COUNT],
                               .micros = arguments[MICROS],
                               .gpipe = arguments[GPIPE]};
}

static double tokens_of(const void *over, const double *arguments)
{
    return ((const st_layers *)over)->per_token ? arguments[TOKENS] : 1;
}

/* and: with transfers, forward and backward pass, a value's time between stages, start of that */
static double run_stages(const void *layers, const double *arguments, int which)
{
    (void)which;
    st_layer_pipeline pipeline = pipeline_of(layers, arguments);
    const double *more = arguments + STAGE_ARGUMENTS;
    pipeline.forward = more[1];
    pipeline.backward = more[2];
    pipeline.value_time = more[3] * tokens_of(layers, arguments);
    pipeline.start = more[4];
    return st_layer_stages_run(&pipeline, more[0] != 0);
}

enum { PEAK, MOST_PARAMETERS, LARGEST_SHARE };

/* The maximum over all stages, NaN where the list cannot be cut. PEAK also takes the bytes of a
 * parameter and of a value that a micro-batch keeps. */
static double most_of_stages(const void *layers, const double *arguments, int which)
{
    st_layer_stage stages[ST_LAYER_STAGES];
    st_layer_pipeline pipeline = pipeline_of(layers, arguments);
    const double *more = arguments + STAGE_ARGUMENTS;
    double most = 0;
    if (!st_layer_stages_cut(&pipeline, stages))
        return (double)NAN;
    for (size_t i = 0; i < (size_t)pipeline.stages; i++)
        most = fmax(most, which == MOST_PARAMETERS ? stages[i].parameters
                          : which == LARGEST_SHARE
                              ? stages[i].share
                              : stages[i].parameters * more[0] + stages[i].kept *
                                                                     tokens_of(layers, arguments) *
                                                                     stages[i].in_flight * more[1]);
    return most;
}

enum { STAGE_PARAMETERS, STAGE_KEPT, STAGE_IN_FLIGHT, STAGE_SHARE, STAGE_OUTPUT };

/* and: a stage, from 0; NaN where there is none. Values kept and passed on are those of a sample;
 * the last stage passes none on. */
static double value_of_stage(const void *layers, const double *arguments, int which)
{
    st_layer_stage stages[ST_LAYER_STAGES];
    st_layer_pipeline pipeline = pipeline_of(layers, arguments);
    double stage = arguments[STAGE_ARGUMENTS];
    double tokens = tokens_of(layers, arguments);
    if (!st_layer_stages_cut(&pipeline, stages))
        return (double)NAN;
    if (which == STAGE_OUTPUT)
        return stage >= 0 && stage + 1 < pipeline.stages ? stages[(size_t)stage].output * tokens
                                                         : 0;
    if (!(stage >= 0 && stage < pipeline.stages))
        return (double)NAN;
    const st_layer_stage *chosen = &stages[(size_t)stage];
    return which == STAGE_PARAMETERS  ? chosen->parameters
           : which == STAGE_KEPT      ? chosen->kept * tokens
           : which == STAGE_IN_FLIGHT ? chosen->in_flight
                                      : chosen->share;
}

/* Units of the arguments of run_buckets: a time for each of ST_BUCKET_SIZES. */
#define SIX_TIMES   "s", "s", "s", "s", "s", "s"
#define BUCKETS_RUN "B", "B", "B", "s", "1", SIX_TIMES, SIX_TIMES, SIX_TIMES, SIX_TIMES

static const st_open_function entries[] = {
    {"parameter_count", {NULL}, "1", sum_of_list, PARAMETERS},
    {"forward_flop", {"1", NULL}, "FLOP", sum_of_list, FORWARD_FLOP},
    {"bucket_count", {"B", "B", "B", NULL}, "1", count_buckets, BUCKETS},
    {"bucket_largest", {"B", "B", "B", NULL}, "B", count_buckets, LARGEST},
    {"buckets_between", {"B", "B", "B", "B", "B", NULL}, "1", count_buckets, BETWEEN},
    {"bucket_size", {"B", "B", "B", "1", NULL}, "B", bucket_size, 0},
    {"bucket_total", {BUCKETS_RUN}, "s", run_buckets, TOTAL},
    {"bucket_exposed", {BUCKETS_RUN}, "s", run_buckets, EXPOSED},
    {"bucket_price", {BUCKETS_RUN}, "s", run_buckets, ADDED},
    {"moved_values", {"1", "1", NULL}, "1", sum_of_list, MOVED},
    {"kernel_count", {"1", NULL}, "1", sum_of_list, KERNELS},
    {"kept_values", {"1", NULL}, "1", sum_of_list, KEPT},
    {"layer_count", {NULL}, "1", sum_of_list, LAYERS},
    {"shard_exposed",
     {"B", "B", "s", "s", "1", "1", SIX_TIMES, SIX_TIMES, SIX_TIMES, SIX_TIMES, NULL},
     "s",
     shard_exposed,
     0},
    {"stages_run", {STAGES, "1", "s", "s", "s", "s", NULL}, "s", run_stages, 0},
    {"stage_peak", {STAGES, "B", "B", NULL}, "B", most_of_stages, PEAK},
    {"stage_parameters", {STAGES, NULL}, "1", most_of_stages, MOST_PARAMETERS},
    {"parameters_of", {STAGES, "1", NULL}, "1", value_of_stage, STAGE_PARAMETERS},
    {"kept_by", {STAGES, "1", NULL}, "1", value_of_stage, STAGE_KEPT},
    {"kept_micros", {STAGES, "1", NULL}, "1", value_of_stage, STAGE_IN_FLIGHT},
    {"stage_output", {STAGES, "1", NULL}, "1", value_of_stage, STAGE_OUTPUT},
    {"stage_share", {STAGES, "1", NULL}, "1", value_of_stage, STAGE_SHARE},
    {"stage_largest", {STAGES, NULL}, "1", most_of_stages, LARGEST_SHARE},
};

const st_open_function *st_layer_functions(size_t *count)
{
    *count = ST_COUNT(entries);
    return entries;
}
