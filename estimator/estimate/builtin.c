/* SPDX-License-Identifier: Apache-2.0 */
/* A table of providers over a layer list; one function here, one line in the table. */
#include "estimate/builtin.h"

#include "base/memory.h"
#include "estimate/fabric_functions.h"
#include "estimate/open_functions.h"
#include "estimate/pipeline_functions.h"
#include "estimate/placement_cells.h"
#include "estimate/stage_layers.h"
#include "schedule/buckets.h"

#include <math.h>
#include <string.h>

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

/* arguments: first cap, cap, width, backward pass, slowdown of the pass beside an all-reduce, time
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
};

enum { ENTRIES = ST_COUNT(entries) };

/* Without a list a function keeps its formula; one that has none cannot do without. */
static st_status check_bare(const st_job *job, const st_sheet *sheet, st_errors *errors)
{
    for (size_t i = 0; i < ENTRIES; i++) {
        const st_sheet_function *function = st_open_function_find(sheet, entries[i].name);
        if (function != NULL && function->formula == NULL)
            return st_fail(errors, ST_ERR_NAME, (st_place){.file = st_job_file(job)},
                           "model.layer_list has no value; sheet %s looks into layers" ST_EXPECTED
                           "the name of a list in configs/layers",
                           st_sheet_name(sheet));
    }
    return ST_OK;
}

/* The providers over a layer list; `pointers` has room for all of them. */
static st_status add_layer_providers(const st_layers *layers, const st_sheet *sheet,
                                     st_arena *arena, const st_provider **pointers, size_t *count,
                                     st_errors *errors)
{
    st_provider *made = st_arena_alloc(arena, ENTRIES, sizeof(*made));
    const char *source = st_arena_printf(arena, "layer list %s", layers->name);
    if (made == NULL || source == NULL)
        return st_out_of_memory(errors);
    st_status status = ST_OK;
    for (size_t i = 0; i < ENTRIES && status == ST_OK; i++) {
        if (st_open_function_find(sheet, entries[i].name) != NULL) {
            status = st_open_provider(&entries[i], layers, arena, &made[i], errors);
            made[i].source = source;
            pointers[(*count)++] = &made[i];
        }
    }
    return status;
}

/* The job's layer list; NULL where it has none or the sheet does not look into layers. */
static st_status find_layers(const st_paths *paths, const st_job *job, const st_sheet *sheet,
                             st_arena *arena, const st_layers **layers, st_errors *errors)
{
    const st_job_value *list = st_job_value_of(job, "model.layer_list");
    size_t wanted = 0;
    *layers = NULL;
    for (size_t i = 0; i < ENTRIES; i++)
        wanted += st_open_function_find(sheet, entries[i].name) != NULL ? 1 : 0;
    if (list == NULL || list->origin == ST_ORIGIN_NONE)
        return check_bare(job, sheet, errors);
    if (wanted == 0) {
        if (st_job_is_own(job, list))
            st_report(errors, ST_SEVERITY_WARNING, ST_ERR_NAME, list->place,
                      "model.layer_list has no effect on the estimate: sheet %s does not look into "
                      "layers",
                      st_sheet_name(sheet));
        return ST_OK;
    }
    return st_layers_load(paths, list->text, list->place, arena, layers, errors);
}

st_status st_builtin_providers(const st_paths *paths, const st_job *job, const st_sheet *sheet,
                               st_arena *arena, st_provider_list *providers, st_errors *errors)
{
    const st_layers *layers = NULL;
    st_cell_providers placed = {0};
    st_stage_providers staged = {0};
    st_cell_providers replayed = {0};
    st_cell_providers laid = {0};
    *providers = (st_provider_list){0};
    st_status status = find_layers(paths, job, sheet, arena, &layers, errors);
    if (status == ST_OK)
        status = st_placement_providers(job, sheet, arena, &placed, errors);
    if (status == ST_OK)
        status = st_stage_layer_providers(job, sheet, arena, &staged, errors);
    if (status == ST_OK)
        status = st_pipeline_providers(sheet, arena, &replayed, errors);
    if (status == ST_OK)
        status = st_fabric_providers(paths, job, sheet, arena, &laid, errors);
    if (status != ST_OK)
        return status;
    const st_provider **pointers =
        st_arena_alloc(arena, ENTRIES + placed.count + staged.count + replayed.count + laid.count,
                       sizeof(*pointers));
    if (pointers == NULL)
        return st_out_of_memory(errors);
    if (layers != NULL)
        status = add_layer_providers(layers, sheet, arena, pointers, &providers->count, errors);
    for (size_t i = 0; i < placed.count; i++)
        pointers[providers->count++] = &placed.items[i];
    for (size_t i = 0; i < staged.count; i++)
        pointers[providers->count++] = &staged.items[i];
    for (size_t i = 0; i < replayed.count; i++)
        pointers[providers->count++] = &replayed.items[i];
    for (size_t i = 0; i < laid.count; i++)
        pointers[providers->count++] = &laid.items[i];
    providers->items = pointers;
    return status;
}

const st_layers *st_builtin_layers(const st_provider *const *providers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const st_open_self *self = providers[i]->self;
        if (providers[i]->evaluate == st_open_evaluate && self->over != NULL)
            return self->over;
    }
    return NULL;
}
