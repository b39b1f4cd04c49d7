/* SPDX-License-Identifier: Apache-2.0 */
/* A table of functions over a layer list; one function here, one line in the table. */
#include "estimate/layer_functions.h"

#include "schedule/layer_stages.h"

#include <math.h>

static double parameter_count(const void *layers, const double *arguments)
{
    (void)arguments;
    return ((const st_layers *)layers)->parameters;
}

/* arguments: tokens in a sample */
static double forward_flop(const void *over, const double *arguments)
{
    const st_layers *layers = over;
    return layers->forward_flop * (layers->per_token ? arguments[0] : 1);
}

static st_bucket_caps caps_of(const double *arguments)
{
    return (st_bucket_caps){
        .first_bytes = arguments[0], .cap_bytes = arguments[1], .width_bytes = arguments[2]};
}

static bool count_on(void *context, const st_bucket *bucket)
{
    (void)context;
    (void)bucket;
    return true;
}

/* arguments: first cap, cap, width */
static double bucket_count(const void *layers, const double *arguments)
{
    st_bucket_caps caps = caps_of(arguments);
    return (double)st_buckets_visit(layers, &caps, count_on, NULL);
}

static bool keep_largest(void *context, const st_bucket *bucket)
{
    double *largest = context;
    *largest = bucket->bytes > *largest ? bucket->bytes : *largest;
    return true;
}

/* arguments: first cap, cap, width */
static double bucket_largest(const void *layers, const double *arguments)
{
    st_bucket_caps caps = caps_of(arguments);
    double largest = 0;
    (void)st_buckets_visit(layers, &caps, keep_largest, &largest);
    return largest;
}

typedef struct st_bucket_range {
    double from_bytes; /* inclusive */
    double to_bytes;   /* exclusive */
    double count;
} st_bucket_range;

static bool count_range(void *context, const st_bucket *bucket)
{
    st_bucket_range *range = context;
    range->count += bucket->bytes >= range->from_bytes && bucket->bytes < range->to_bytes ? 1 : 0;
    return true;
}

/* arguments: first cap, cap, width, from, to */
static double buckets_between(const void *layers, const double *arguments)
{
    st_bucket_caps caps = caps_of(arguments);
    st_bucket_range range = {.from_bytes = arguments[3], .to_bytes = arguments[4]};
    (void)st_buckets_visit(layers, &caps, count_range, &range);
    return range.count;
}

/* arguments: first cap, cap, width, which of the sizes, from 1 on; 0 where there are fewer */
static double bucket_size(const void *layers, const double *arguments)
{
    st_bucket_caps caps = caps_of(arguments);
    st_bucket_curve curve;
    st_bucket_sizes(layers, &caps, &curve);
    double place = arguments[3];
    return place >= 1 && place <= (double)curve.count ? curve.bytes[(size_t)place - 1] : 0;
}

/* arguments: first cap, cap, width, backward pass, slowdown of the pass during an all-reduce, time
 * of an all-reduce of each size */
static st_bucket_outcome run_buckets(const st_layers *layers, const double *arguments)
{
    st_bucket_caps caps = caps_of(arguments);
    st_bucket_curve curve;
    st_bucket_times times = {.backward = arguments[3],
                             .curve = &curve,
                             .slowdown = arguments[4] >= 1 ? arguments[4] : (double)NAN};
    st_bucket_sizes(layers, &caps, &curve);
    for (size_t i = 0; i < curve.count; i++)
        curve.times[i] = arguments[5 + i];
    return st_buckets_run(layers, &caps, &times);
}

static double bucket_total(const void *layers, const double *arguments)
{
    return run_buckets(layers, arguments).total;
}

static double bucket_exposed(const void *layers, const double *arguments)
{
    return run_buckets(layers, arguments).exposed;
}

static double bucket_price(const void *layers, const double *arguments)
{
    return run_buckets(layers, arguments).added;
}

/* arguments: tokens in a sample, compiled */
static double moved_values(const void *over, const double *arguments)
{
    const st_layers *layers = over;
    return layers->moved[arguments[1] != 0 ? ST_COMPILED : ST_UNCOMPILED] *
           (layers->per_token ? arguments[0] : 1);
}

/* arguments: compiled */
static double kernel_count(const void *layers, const double *arguments)
{
    return ((const st_layers *)layers)->kernels[arguments[0] != 0 ? ST_COMPILED : ST_UNCOMPILED];
}

/* arguments: tokens in a sample */
static double kept_values(const void *over, const double *arguments)
{
    const st_layers *layers = over;
    double kept = 0;
    for (size_t i = 0; i < layers->count; i++)
        kept += layers->tensors[i].kept;
    return kept * (layers->per_token ? arguments[0] : 1);
}

static double layer_count(const void *over, const double *arguments)
{
    const st_layers *layers = over;
    double count = 0;
    (void)arguments;
    for (size_t i = 0; i < layers->count; i++)
        count += layers->tensors[i].begins ? 1 : 0;
    return count;
}

/* arguments: size of a unit, width of a weight, forward and backward pass, whether weights are
 * gathered again, a reduce-scatter over an all-gather, time of an all-gather of each size */
static double shard_exposed(const void *layers, const double *arguments)
{
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
static double stages_run(const void *layers, const double *arguments)
{
    st_layer_pipeline pipeline = pipeline_of(layers, arguments);
    const double *more = arguments + STAGE_ARGUMENTS;
    pipeline.forward = more[1];
    pipeline.backward = more[2];
    pipeline.value_time = more[3] * tokens_of(layers, arguments);
    pipeline.start = more[4];
    return st_layer_stages_run(&pipeline, more[0] != 0);
}

/* and: bytes of a parameter, of a value that a micro-batch keeps */
static double stage_peak(const void *layers, const double *arguments)
{
    st_layer_stage stages[ST_LAYER_STAGES];
    st_layer_pipeline pipeline = pipeline_of(layers, arguments);
    const double *more = arguments + STAGE_ARGUMENTS;
    double peak = 0;
    if (!st_layer_stages_cut(&pipeline, stages))
        return (double)NAN;
    for (size_t i = 0; i < (size_t)pipeline.stages; i++)
        peak = fmax(peak, stages[i].parameters * more[0] + stages[i].kept *
                                                               tokens_of(layers, arguments) *
                                                               stages[i].in_flight * more[1]);
    return peak;
}

/* The largest share and the most parameters of a stage; NaN where the list cannot be cut. */
static st_layer_stage largest_stage(const void *layers, const double *arguments)
{
    st_layer_stage stages[ST_LAYER_STAGES];
    st_layer_pipeline pipeline = pipeline_of(layers, arguments);
    st_layer_stage most = {0};
    if (!st_layer_stages_cut(&pipeline, stages))
        return (st_layer_stage){.share = (double)NAN, .parameters = (double)NAN};
    for (size_t i = 0; i < (size_t)pipeline.stages; i++) {
        most.share = fmax(most.share, stages[i].share);
        most.parameters = fmax(most.parameters, stages[i].parameters);
    }
    return most;
}

static double stage_parameters(const void *layers, const double *arguments)
{
    return largest_stage(layers, arguments).parameters;
}

static double stage_largest(const void *layers, const double *arguments)
{
    return largest_stage(layers, arguments).share;
}

/* and: a stage, from 0 on; NaN where there is none of that number. */
static st_layer_stage stage_asked(const void *layers, const double *arguments)
{
    st_layer_stage stages[ST_LAYER_STAGES];
    st_layer_pipeline pipeline = pipeline_of(layers, arguments);
    double stage = arguments[STAGE_ARGUMENTS];
    bool is_one = st_layer_stages_cut(&pipeline, stages) && stage >= 0 && stage < pipeline.stages;
    return is_one ? stages[(size_t)stage]
                  : (st_layer_stage){.share = (double)NAN,
                                     .parameters = (double)NAN,
                                     .kept = (double)NAN,
                                     .in_flight = (double)NAN};
}

static double parameters_of(const void *layers, const double *arguments)
{
    return stage_asked(layers, arguments).parameters;
}

/* Values of a sample. */
static double kept_by(const void *layers, const double *arguments)
{
    return stage_asked(layers, arguments).kept * tokens_of(layers, arguments);
}

static double kept_micros(const void *layers, const double *arguments)
{
    return stage_asked(layers, arguments).in_flight;
}

static double stage_share(const void *layers, const double *arguments)
{
    return stage_asked(layers, arguments).share;
}

/* and: a stage, from 0 on. Values of a sample that it passes on; 0: it is none but the last. */
static double stage_output(const void *layers, const double *arguments)
{
    st_layer_stage stages[ST_LAYER_STAGES];
    st_layer_pipeline pipeline = pipeline_of(layers, arguments);
    double stage = arguments[STAGE_ARGUMENTS];
    if (!st_layer_stages_cut(&pipeline, stages))
        return (double)NAN;
    bool passes = stage >= 0 && stage + 1 < pipeline.stages;
    return passes ? stages[(size_t)stage].output * tokens_of(layers, arguments) : 0;
}

/* Units of what run_buckets takes: a time for each of ST_BUCKET_SIZES. */
#define SIX_TIMES   "s", "s", "s", "s", "s", "s"
#define BUCKETS_RUN "B", "B", "B", "s", "1", SIX_TIMES, SIX_TIMES, SIX_TIMES, SIX_TIMES

static const st_open_function entries[] = {
    {"parameter_count", {NULL}, "1", parameter_count},
    {"forward_flop", {"1", NULL}, "FLOP", forward_flop},
    {"bucket_count", {"B", "B", "B", NULL}, "1", bucket_count},
    {"bucket_largest", {"B", "B", "B", NULL}, "B", bucket_largest},
    {"buckets_between", {"B", "B", "B", "B", "B", NULL}, "1", buckets_between},
    {"bucket_size", {"B", "B", "B", "1", NULL}, "B", bucket_size},
    {"bucket_total", {BUCKETS_RUN}, "s", bucket_total},
    {"bucket_exposed", {BUCKETS_RUN}, "s", bucket_exposed},
    {"bucket_price", {BUCKETS_RUN}, "s", bucket_price},
    {"moved_values", {"1", "1", NULL}, "1", moved_values},
    {"kernel_count", {"1", NULL}, "1", kernel_count},
    {"kept_values", {"1", NULL}, "1", kept_values},
    {"layer_count", {NULL}, "1", layer_count},
    {"shard_exposed",
     {"B", "B", "s", "s", "1", "1", SIX_TIMES, SIX_TIMES, SIX_TIMES, SIX_TIMES, NULL},
     "s",
     shard_exposed},
    {"stages_run", {STAGES, "1", "s", "s", "s", "s", NULL}, "s", stages_run},
    {"stage_peak", {STAGES, "B", "B", NULL}, "B", stage_peak},
    {"stage_parameters", {STAGES, NULL}, "1", stage_parameters},
    {"parameters_of", {STAGES, "1", NULL}, "1", parameters_of},
    {"kept_by", {STAGES, "1", NULL}, "1", kept_by},
    {"kept_micros", {STAGES, "1", NULL}, "1", kept_micros},
    {"stage_output", {STAGES, "1", NULL}, "1", stage_output},
    {"stage_share", {STAGES, "1", NULL}, "1", stage_share},
    {"stage_largest", {STAGES, NULL}, "1", stage_largest},
};

const st_open_function *st_layer_functions(size_t *count)
{
    *count = ST_COUNT(entries);
    return entries;
}
