/* SPDX-License-Identifier: Apache-2.0 */
/* A strategy: replaces the plan of a job; see strategy.h. */
#include "timeline/strategy.h"

#include "base/memory.h"
#include "estimate/placement.h"
#include "estimate/stage_layers.h"
#include "steptime/keys.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct applier {
    const st_strategy *strategy;
    const st_job *job;
    st_arena *arena;
    st_errors *errors;
    st_strategy_sets *sets;
    st_status status; /* of the first error */
} applier;

static double number_of(const applier *self, const char *path)
{
    const st_job_value *value = st_job_value_of(self->job, path);
    return value != NULL && value->origin != ST_ORIGIN_NONE ? value->number : 0;
}

static size_t own_or_job(const applier *self, double own, const char *path)
{
    double number = own > 0 ? own : number_of(self, path);
    return number > 0 ? (size_t)number : 1;
}

/* --- layers ----------------------------------------------------------------------------------- */

/* The spans of all chunks in the order of the model. */
static const st_strategy_span *span_of(const st_strategy *strategy, size_t place)
{
    assert(strategy->count > 0); /* a file without stages is refused when it is read */
    return &strategy->stages[place % strategy->count].layers.items[place / strategy->count];
}

static void check_layers(applier *self)
{
    const st_strategy *strategy = self->strategy;
    size_t places = strategy->count * strategy->stages[0].layers.count;
    uint32_t layers = (uint32_t)number_of(self, ST_KEY_MODEL_LAYERS);
    uint32_t next = 0;
    for (size_t i = 0; i < places && self->status == ST_OK; i++) {
        const st_strategy_span *span = span_of(strategy, i);
        if (span->first < next)
            ST_NOTE(self, ST_ERR_VALUE, span->place,
                    "layer %lu of stage %zu is assigned twice or out of order" ST_EXPECTED
                    "a range from %lu",
                    (unsigned long)span->first, i % strategy->count, (unsigned long)next);
        else if (span->first > next)
            ST_NOTE(self, ST_ERR_VALUE, span->place,
                    "no stage contains layer %lu" ST_EXPECTED "a range from %lu",
                    (unsigned long)next, (unsigned long)next);
        else if (span->last >= layers)
            ST_NOTE(self, ST_ERR_VALUE, span->place,
                    "unknown layer %lu" ST_EXPECTED "from 0 to %lu (model.layers)",
                    (unsigned long)span->last, (unsigned long)layers - 1);
        next = span->last + 1;
    }
    if (self->status == ST_OK && next < layers)
        ST_NOTE(self, ST_ERR_VALUE, span_of(strategy, places - 1)->place,
                "no stage contains layer %lu" ST_EXPECTED "all layers to %lu (model.layers)",
                (unsigned long)next, (unsigned long)layers - 1);
}

static void count_experts(applier *self)
{
    const st_strategy *strategy = self->strategy;
    const st_job_value *pattern = st_job_value_of(self->job, ST_KEY_MODEL_PATTERN);
    size_t places = strategy->count * strategy->stages[0].layers.count;
    bool is_known = pattern == NULL || pattern->origin == ST_ORIGIN_NONE;
    double leading = number_of(self, ST_KEY_MODEL_DENSE_LAYERS);
    double every = number_of(self, ST_KEY_MODEL_EXPERTS) > 0
                       ? (double)own_or_job(self, 0, ST_KEY_MODEL_MOE_EVERY)
                       : 0;
    double *moe = st_arena_alloc(self->arena, places, sizeof *moe);
    if (moe == NULL)
        self->status = st_out_of_memory(self->errors);
    for (size_t i = 0; moe != NULL && i < places; i++) {
        const st_strategy_span *span = span_of(strategy, i);
        moe[i] = st_routed_before(leading, every, 1.0 + span->last) -
                 st_routed_before(leading, every, span->first);
    }
    self->sets->moe_layers = is_known ? moe : NULL;
}

const st_place_layers *st_strategy_layers(const st_strategy *strategy, const st_strategy_sets *sets,
                                          st_arena *arena)
{
    size_t places = strategy->count * strategy->stages[0].layers.count;
    double *layers = st_arena_alloc(arena, places, sizeof *layers);
    st_place_layers *made = st_arena_alloc(arena, 1, sizeof *made);
    for (size_t i = 0; layers != NULL && i < places; i++) {
        const st_strategy_span *span = span_of(strategy, i);
        layers[i] = 1.0 + span->last - span->first;
    }
    if (layers == NULL || made == NULL)
        return NULL;
    *made = (st_place_layers){.all = layers, .moe = sets->moe_layers};
    return made;
}

/* --- devices ---------------------------------------------------------------------------------- */

static size_t device_count(const st_strategy_stage *stage)
{
    size_t count = 0;
    for (size_t i = 0; i < stage->devices.count; i++)
        count += (size_t)1 + stage->devices.items[i].last - stage->devices.items[i].first;
    return count;
}

static void check_device(applier *self, const st_strategy_span *span, size_t stage,
                         uint16_t *stage_of)
{
    for (uint32_t rank = span->first; rank <= span->last; rank++) {
        if (stage_of[rank] != 0) {
            ST_NOTE(self, ST_ERR_VALUE, span->place,
                    "device %lu is on stage %zu and on stage %u" ST_EXPECTED "each on one stage",
                    (unsigned long)rank, stage, stage_of[rank] - 1U);
            return;
        }
        stage_of[rank] = (uint16_t)(stage + 1);
    }
}

static void check_places(applier *self, const st_placement *placement)
{
    const st_strategy *strategy = self->strategy;
    size_t stride = placement->stride[ST_GROUP_PP];
    for (size_t i = 0; i < strategy->count; i++) {
        const st_strategy_spans *devices = &strategy->stages[i].devices;
        for (size_t k = 0; k < devices->count; k++) {
            const st_strategy_span *span = &devices->items[k];
            for (uint32_t rank = span->first; rank <= span->last; rank++) {
                if (rank < placement->ranks && rank / stride % strategy->count == i)
                    continue;
                ST_NOTE(self, ST_ERR_VALUE, span->place,
                        "device %lu is on stage %zu" ST_EXPECTED
                        "the stage that parallel.order assigns; stage %zu starts at device %zu and "
                        "has %zu",
                        (unsigned long)rank, i, i, i * stride, placement->ranks);
                break;
            }
        }
    }
}

/* How the devices of a stage are split. */
typedef struct st_split {
    size_t tp;
    size_t cp;
    size_t dp;
} st_split;

/* --- in place of the job's plan --------------------------------------------------------------- */

/* Notes that there was no memory for a text. */
static const char *checked(applier *self, const char *text)
{
    if (text == NULL && self->status == ST_OK)
        self->status = st_out_of_memory(self->errors);
    return text;
}

static void add_set(applier *self, const char *text)
{
    self->sets->items[self->sets->count++] = checked(self, text);
}

static void add_count(applier *self, const char *path, size_t count)
{
    add_set(self, st_arena_printf(self->arena, "%s=%zu", path, count));
}

/* Sequences of a micro-batch on each rank of a stage, such that all stages take as many. */
static size_t micro_of(applier *self, size_t stage, const st_split *first, const st_split *own)
{
    double micro = number_of(self, ST_KEY_BATCH_MICRO);
    double all = (micro > 0 ? micro : 1) * (double)first->dp;
    double each = all / (double)own->dp;
    if (each != floor(each))
        ST_NOTE(
            self, ST_ERR_VALUE, self->strategy->stages[stage].devices.items[0].place,
            "%zu data-parallel ranks of stage %zu do not divide the %.0f sequences that stage 0 "
            "takes at a time" ST_EXPECTED "a divisor, or another batch.micro",
            own->dp, stage, all);
    return (size_t)each;
}

static const char *count_set(applier *self, const char *path, size_t count)
{
    return checked(self, st_arena_printf(self->arena, "%s=%zu", path, count));
}

/* The splits of stages, compared with that of the first one. */
static st_split split_stages(applier *self)
{
    size_t count = self->strategy->count;
    st_split *splits = st_arena_alloc(self->arena, count, sizeof *splits);
    st_strategy_variant *variants = st_arena_alloc(self->arena, count, sizeof *variants);
    if (splits == NULL || variants == NULL) {
        self->status = st_out_of_memory(self->errors);
        return (st_split){1, 1, 1};
    }
    for (size_t i = 0; i < count; i++) {
        const st_strategy_stage *stage = &self->strategy->stages[i];
        size_t devices = device_count(stage);
        st_split split = {.tp = own_or_job(self, stage->tp, ST_KEY_PARALLEL_TP),
                          .cp = own_or_job(self, stage->cp, ST_KEY_PARALLEL_CP),
                          .dp = 1};
        if (devices % (split.tp * split.cp) != 0)
            ST_NOTE(self, ST_ERR_VALUE, stage->devices.items[0].place,
                    "stage %zu has %zu devices" ST_EXPECTED
                    "a multiple of %zu (parallel.tp * parallel.cp)",
                    i, devices, split.tp * split.cp);
        else
            split.dp = devices / (split.tp * split.cp);
        splits[i] = split;
        self->sets->is_uneven =
            self->sets->is_uneven || memcmp(&splits[i], &splits[0], sizeof splits[i]) != 0;
    }
    for (size_t i = 0; i < count && self->status == ST_OK; i++) {
        const st_split *own = &splits[i];
        const char *recompute = self->strategy->stages[i].recompute;
        st_strategy_variant made = {
            .tp = (uint32_t)own->tp, .cp = (uint32_t)own->cp, .dp = (uint32_t)own->dp};
        if (own->tp != splits->tp)
            made.items[made.count++] = count_set(self, ST_KEY_PARALLEL_TP, own->tp);
        if (own->cp != splits->cp)
            made.items[made.count++] = count_set(self, ST_KEY_PARALLEL_CP, own->cp);
        if (own->dp != splits->dp) {
            made.items[made.count++] = count_set(self, ST_KEY_PARALLEL_DP, own->dp);
            made.items[made.count++] =
                count_set(self, ST_KEY_BATCH_MICRO, micro_of(self, i, splits, own));
        }
        if (recompute != NULL)
            made.items[made.count++] =
                checked(self, st_arena_printf(self->arena, ST_KEY_RECOMPUTE "=%s", recompute));
        variants[i] = made;
    }
    if (self->status == ST_OK && !self->sets->is_uneven) {
        /* Ranks on the stages of the job's order, where all stages are split alike. */
        const st_job_value *order = st_job_value_of(self->job, ST_KEY_PARALLEL_ORDER);
        st_placement placement;
        st_placement_plan plan = {
            .size = {splits->tp, splits->cp, 1, splits->dp, self->strategy->count, 0},
            .gpus_per_node = 1};
        if (order != NULL && order->origin != ST_ORIGIN_NONE) {
            plan.order = order->text;
            plan.place = order->place;
        }
        self->status = st_placement_create(&plan, &placement, self->errors);
        if (self->status == ST_OK)
            check_places(self, &placement);
    }
    self->sets->stages = variants;
    return splits[0];
}

static void add_plan(applier *self, const st_split *split)
{
    static const char *const ends[] = {ST_KEY_PARALLEL_FIRST_STAGE_LAYERS,
                                       ST_KEY_PARALLEL_LAST_STAGE_LAYERS};
    const st_strategy *strategy = self->strategy;
    add_count(self, ST_KEY_PARALLEL_PP, strategy->count);
    add_count(self, ST_KEY_PARALLEL_DP, split->dp);
    add_count(self, ST_KEY_PARALLEL_VIRTUAL_STAGES, strategy->stages[0].layers.count);
    if (strategy->stages[0].tp > 0)
        add_count(self, ST_KEY_PARALLEL_TP, split->tp);
    if (strategy->stages[0].cp > 0)
        add_count(self, ST_KEY_PARALLEL_CP, split->cp);
    if (self->sets->is_uneven) {
        /* Nodes for as many stages as the largest one: the cluster's own are counted by
         * check_devices. */
        double per_node = number_of(self, ST_KEY_CLUSTER_GPUS_PER_NODE);
        size_t most = 0;
        for (size_t i = 0; i < self->strategy->count; i++) {
            size_t own = device_count(&self->strategy->stages[i]);
            most = own > most ? own : most;
        }
        if (per_node > 0)
            add_count(self, ST_KEY_CLUSTER_NODES,
                      (size_t)ceil((double)(most * self->strategy->count) / per_node));
    }
    for (size_t i = 0; i < ST_COUNT(ends); i++)
        if (number_of(self, ends[i]) > 0)
            add_count(self, ends[i], 0);
    /* The layers as parallel.layout writes them; a plan of one stage needs none but in place of
     * the job's. */
    size_t places = self->strategy->count * self->strategy->stages[0].layers.count;
    const st_job_value *own = st_job_value_of(self->job, ST_KEY_PARALLEL_LAYOUT);
    st_buffer text = {0};
    if (places > 1 || (own != NULL && own->origin != ST_ORIGIN_NONE)) {
        st_buffer_text(&text, ST_KEY_PARALLEL_LAYOUT "=E");
        for (size_t i = 0; i < places; i++) {
            const st_strategy_span *span = span_of(self->strategy, i);
            st_buffer_printf(&text, "%st*%lu", i > 0 ? "|" : "",
                             (unsigned long)span->last - span->first + 1);
        }
        for (uint32_t mtp = (uint32_t)number_of(self, ST_KEY_MODEL_MTP); mtp > 0; mtp--)
            st_buffer_text(&text, "m");
        st_buffer_text(&text, "L");
        add_set(self, st_arena_copy(self->arena, text.data, text.length));
    }
    st_buffer_free(&text);
    if (strategy->stages[0].order != NULL)
        add_set(self, ST_KEY_PARALLEL_SCHEDULE "=1f1b");
    else if (strategy->schedule != NULL)
        add_set(self,
                st_arena_printf(self->arena, ST_KEY_PARALLEL_SCHEDULE "=%s", strategy->schedule));
}

st_status st_strategy_apply(const st_strategy *strategy, const st_job *job, st_arena *arena,
                            st_strategy_sets *sets, st_errors *errors)
{
    applier self = {strategy, job, arena, errors, sets, ST_OK};
    st_split split = {1, 1, 1};
    *sets = (st_strategy_sets){0};
    const st_strategy *chunk_strategy = self.strategy;
    for (size_t i = 1; i < chunk_strategy->count; i++)
        if (chunk_strategy->stages[i].layers.count != chunk_strategy->stages[0].layers.count)
            ST_NOTE(&self, ST_ERR_VALUE, chunk_strategy->stages[i].layers.items[0].place,
                    "stage %zu has %zu ranges of layers" ST_EXPECTED
                    "%zu, one for each chunk, as stage 0 has",
                    i, chunk_strategy->stages[i].layers.count,
                    chunk_strategy->stages[0].layers.count);
    /* Every device once, and no more of them than the cluster has. */
    const st_strategy *device_strategy = self.strategy;
    double gpus =
        number_of(&self, ST_KEY_CLUSTER_NODES) * number_of(&self, ST_KEY_CLUSTER_GPUS_PER_NODE);
    uint16_t *stage_of = st_arena_alloc(self.arena, ST_STRATEGY_NUMBER + 1, sizeof *stage_of);
    if (stage_of == NULL) {
        self.status = st_out_of_memory(self.errors);
    } else {
        for (size_t i = 0; i < device_strategy->count; i++) {
            const st_strategy_stage *stage = &device_strategy->stages[i];
            for (size_t k = 0; k < stage->devices.count; k++) {
                const st_strategy_span *span = &stage->devices.items[k];
                if (gpus > 0 && span->last >= gpus)
                    ST_NOTE(&self, ST_ERR_VALUE, span->place,
                            "unknown device %lu" ST_EXPECTED
                            "from 0 to %.0f, the devices of the cluster",
                            (unsigned long)span->last, gpus - 1);
                check_device(&self, span, i, stage_of);
            }
        }
    }
    if (self.status == ST_OK)
        check_layers(&self);
    if (self.status == ST_OK)
        split = split_stages(&self);
    if (strategy->schedule == NULL && strategy->stages[0].order == NULL) {
        const st_job_value *own = st_job_value_of(self.job, ST_KEY_PARALLEL_SCHEDULE);
        for (int i = ST_SCHEDULE_ZERO_BUBBLE_V;
             own != NULL && own->text != NULL && i < ST_SCHEDULES; i++)
            if (strcmp(own->text, st_schedule_name((st_schedule_kind)i)) == 0)
                ST_NOTE(&self, ST_ERR_VALUE, own->place,
                        "schedule '%s' of the job defines its own chunks" ST_EXPECTED
                        "a schedule or orders in the strategy",
                        own->text);
    }
    if (self.status != ST_OK)
        return self.status;
    count_experts(&self);
    if (self.status == ST_OK)
        add_plan(&self, &split);
    return self.status;
}
