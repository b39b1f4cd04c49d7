/* SPDX-License-Identifier: Apache-2.0 */
/* A strategy beside a job: what it says in place of the job's plan; see strategy.h. */
#include "timeline/strategy.h"

#include "base/error_scope.h"
#include "base/memory.h"
#include "estimate/placement.h"
#include "estimate/stage_layers.h"
#include "job/files.h"

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
    return &strategy->stages[place % strategy->count].layers.items[place / strategy->count];
}

static void check_chunks(applier *self)
{
    const st_strategy *strategy = self->strategy;
    for (size_t i = 1; i < strategy->count; i++)
        if (strategy->stages[i].layers.count != strategy->stages[0].layers.count)
            ST_NOTE(self, ST_ERR_VALUE, strategy->stages[i].layers.items[0].place,
                    "stage %zu has %zu ranges of layers" ST_EXPECTED
                    "%zu, one for each chunk, as stage 0 has",
                    i, strategy->stages[i].layers.count, strategy->stages[0].layers.count);
}

static void check_layers(applier *self)
{
    const st_strategy *strategy = self->strategy;
    size_t places = strategy->count * strategy->stages[0].layers.count;
    uint32_t layers = (uint32_t)number_of(self, "model.layers");
    uint32_t next = 0;
    for (size_t i = 0; i < places && self->status == ST_OK; i++) {
        const st_strategy_span *span = span_of(strategy, i);
        if (span->first < next)
            ST_NOTE(self, ST_ERR_VALUE, span->place,
                    "layer %lu is on stage %zu and on an earlier one, or before it in the "
                    "model" ST_EXPECTED "a range from %lu",
                    (unsigned long)span->first, i % strategy->count, (unsigned long)next);
        else if (span->first > next)
            ST_NOTE(self, ST_ERR_VALUE, span->place,
                    "layer %lu is on no stage" ST_EXPECTED "a range from %lu", (unsigned long)next,
                    (unsigned long)next);
        else if (span->last >= layers)
            ST_NOTE(self, ST_ERR_VALUE, span->place,
                    "there is no layer %lu" ST_EXPECTED "from 0 to %lu (model.layers)",
                    (unsigned long)span->last, (unsigned long)layers - 1);
        next = span->last + 1;
    }
    if (self->status == ST_OK && next < layers)
        ST_NOTE(self, ST_ERR_VALUE, span_of(strategy, places - 1)->place,
                "layer %lu is on no stage" ST_EXPECTED "all layers to %lu (model.layers)",
                (unsigned long)next, (unsigned long)layers - 1);
}

static void count_experts(applier *self)
{
    const st_strategy *strategy = self->strategy;
    const st_job_value *pattern = st_job_value_of(self->job, "model.pattern");
    size_t places = strategy->count * strategy->stages[0].layers.count;
    bool is_known = pattern == NULL || pattern->origin == ST_ORIGIN_NONE;
    double leading = number_of(self, "model.dense_layers");
    double every =
        number_of(self, "model.experts") > 0 ? (double)own_or_job(self, 0, "model.moe_every") : 0;
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

/* Every device once, and no more of them than the cluster has. */
static void check_devices(applier *self)
{
    const st_strategy *strategy = self->strategy;
    double gpus = number_of(self, "cluster.nodes") * number_of(self, "cluster.gpus_per_node");
    uint16_t *stage_of = st_arena_alloc(self->arena, ST_STRATEGY_NUMBER + 1, sizeof *stage_of);
    if (stage_of == NULL) {
        self->status = st_out_of_memory(self->errors);
        return;
    }
    for (size_t i = 0; i < strategy->count; i++) {
        const st_strategy_stage *stage = &strategy->stages[i];
        for (size_t k = 0; k < stage->devices.count; k++) {
            const st_strategy_span *span = &stage->devices.items[k];
            if (gpus > 0 && span->last >= gpus)
                ST_NOTE(self, ST_ERR_VALUE, span->place,
                        "there is no device %lu" ST_EXPECTED "from 0 to %.0f, as the cluster has",
                        (unsigned long)span->last, gpus - 1);
            check_device(self, span, i, stage_of);
        }
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
                        "the stage on which parallel.order puts it; stage %zu begins with device "
                        "%zu, of %zu",
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

static st_split split_stage(applier *self, size_t index)
{
    const st_strategy_stage *stage = &self->strategy->stages[index];
    size_t devices = device_count(stage);
    st_split split = {.tp = own_or_job(self, stage->tp, "parallel.tp"),
                      .cp = own_or_job(self, stage->cp, "parallel.cp"),
                      .dp = 1};
    if (devices % (split.tp * split.cp) != 0)
        ST_NOTE(self, ST_ERR_VALUE, stage->devices.items[0].place,
                "stage %zu has %zu devices" ST_EXPECTED
                "a multiple of %zu (parallel.tp * parallel.cp)",
                index, devices, split.tp * split.cp);
    else
        split.dp = devices / (split.tp * split.cp);
    return split;
}

/* Ranks on the stages of the job's order, where all stages are split alike. */
static void place_devices(applier *self, const st_split *split)
{
    const st_job_value *order = st_job_value_of(self->job, "parallel.order");
    st_placement placement;
    st_placement_plan plan = {
        .size = {split->tp, split->cp, 1, split->dp, self->strategy->count, 0}, .gpus_per_node = 1};
    if (order != NULL && order->origin != ST_ORIGIN_NONE) {
        plan.order = order->text;
        plan.place = order->place;
    }
    self->status = st_placement_create(&plan, &placement, self->errors);
    if (self->status == ST_OK)
        check_places(self, &placement);
}

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

/* The layers as parallel.layout writes them; a plan of one stage has none. */
static void add_layout(applier *self)
{
    size_t places = self->strategy->count * self->strategy->stages[0].layers.count;
    st_buffer text = {0};
    if (places > 1) {
        st_buffer_text(&text, "parallel.layout=E");
        for (size_t i = 0; i < places; i++) {
            const st_strategy_span *span = span_of(self->strategy, i);
            st_buffer_printf(&text, "%st*%lu", i > 0 ? "|" : "",
                             (unsigned long)span->last - span->first + 1);
        }
        for (uint32_t mtp = (uint32_t)number_of(self, "model.mtp"); mtp > 0; mtp--)
            st_buffer_text(&text, "m");
        st_buffer_text(&text, "L");
        add_set(self, st_arena_copy(self->arena, text.data, text.length));
    }
    st_buffer_free(&text);
}

static void check_schedule(applier *self)
{
    const st_job_value *own = st_job_value_of(self->job, "parallel.schedule");
    for (int i = ST_SCHEDULE_ZERO_BUBBLE_V; own != NULL && own->text != NULL && i < ST_SCHEDULES;
         i++)
        if (strcmp(own->text, st_schedule_name((st_schedule_kind)i)) == 0)
            ST_NOTE(self, ST_ERR_VALUE, own->place,
                    "schedule '%s' of the job has its own chunks" ST_EXPECTED
                    "a schedule or orders in the strategy",
                    own->text);
}

/* Nodes for as many stages as the largest one: the cluster's own are counted by check_devices. */
static void add_nodes(applier *self)
{
    double per_node = number_of(self, "cluster.gpus_per_node");
    size_t most = 0;
    for (size_t i = 0; i < self->strategy->count; i++) {
        size_t own = device_count(&self->strategy->stages[i]);
        most = own > most ? own : most;
    }
    if (per_node > 0)
        add_count(self, "cluster.nodes",
                  (size_t)ceil((double)(most * self->strategy->count) / per_node));
}

/* Sequences of a micro-batch on each rank of a stage, such that all stages take as many. */
static size_t micro_of(applier *self, size_t stage, const st_split *first, const st_split *own)
{
    double micro = number_of(self, "batch.micro");
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

static st_strategy_variant make_variant(applier *self, size_t stage, const st_split *splits)
{
    const st_split *own = &splits[stage];
    const char *recompute = self->strategy->stages[stage].recompute;
    st_strategy_variant made = {.count = 0};
    if (own->tp != splits->tp)
        made.items[made.count++] = count_set(self, "parallel.tp", own->tp);
    if (own->cp != splits->cp)
        made.items[made.count++] = count_set(self, "parallel.cp", own->cp);
    if (own->dp != splits->dp) {
        made.items[made.count++] = count_set(self, "parallel.dp", own->dp);
        made.items[made.count++] =
            count_set(self, "batch.micro", micro_of(self, stage, splits, own));
    }
    if (recompute != NULL)
        made.items[made.count++] =
            checked(self, st_arena_printf(self->arena, "recompute=%s", recompute));
    return made;
}

/* What stages have of their own, and the split of the first one, which all others are told by. */
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
        splits[i] = split_stage(self, i);
        self->sets->is_uneven =
            self->sets->is_uneven || memcmp(&splits[i], &splits[0], sizeof splits[i]) != 0;
    }
    for (size_t i = 0; i < count && self->status == ST_OK; i++)
        variants[i] = make_variant(self, i, splits);
    if (self->status == ST_OK && !self->sets->is_uneven)
        place_devices(self, splits);
    self->sets->stages = variants;
    return splits[0];
}

static void add_plan(applier *self, const st_split *split)
{
    static const char *const ends[] = {"parallel.first_stage_layers", "parallel.last_stage_layers"};
    const st_strategy *strategy = self->strategy;
    add_count(self, "parallel.pp", strategy->count);
    add_count(self, "parallel.dp", split->dp);
    add_count(self, "parallel.virtual_stages", strategy->stages[0].layers.count);
    if (strategy->stages[0].tp > 0)
        add_count(self, "parallel.tp", split->tp);
    if (strategy->stages[0].cp > 0)
        add_count(self, "parallel.cp", split->cp);
    if (self->sets->is_uneven)
        add_nodes(self);
    for (size_t i = 0; i < ST_COUNT(ends); i++)
        if (number_of(self, ends[i]) > 0)
            add_count(self, ends[i], 0);
    add_layout(self);
    if (strategy->stages[0].order != NULL)
        add_set(self, "parallel.schedule=1f1b");
    else if (strategy->schedule != NULL)
        add_set(self, st_arena_printf(self->arena, "parallel.schedule=%s", strategy->schedule));
}

st_status st_strategy_apply(const st_strategy *strategy, const st_job *job, st_arena *arena,
                            st_strategy_sets *sets, st_errors *errors)
{
    applier self = {strategy, job, arena, errors, sets, ST_OK};
    st_split split = {1, 1, 1};
    *sets = (st_strategy_sets){0};
    check_chunks(&self);
    check_devices(&self);
    if (self.status == ST_OK)
        check_layers(&self);
    if (self.status == ST_OK)
        split = split_stages(&self);
    if (strategy->schedule == NULL && strategy->stages[0].order == NULL)
        check_schedule(&self);
    if (self.status != ST_OK)
        return self.status;
    count_experts(&self);
    if (self.status == ST_OK)
        add_plan(&self, &split);
    return self.status;
}

/* --- orders ----------------------------------------------------------------------------------- */

/* Tries the orders, with errors told at the first of them. */
static st_status try_orders(const st_strategy *strategy, const st_timeline_plan *plan,
                            st_errors *errors)
{
    st_errors *own = st_errors_create();
    if (own == NULL)
        return st_out_of_memory(errors);
    st_status status = st_schedule_try(&plan->schedule.shape, plan->order, own);
    for (size_t i = 0; i < st_errors_size(own); i++) {
        st_error error = *st_errors_at(own, i);
        const char *word = error.status == ST_ERR_CYCLE ? "waits on itself" : "is no step";
        error.message =
            st_errors_text(errors, "strategy '%s' %s: %s", strategy->name, word, error.message);
        error.place = strategy->stages[0].order_place;
        (void)st_errors_add(errors, &error);
    }
    st_errors_destroy(own);
    return status;
}

st_status st_strategy_order(const st_strategy *strategy, st_arena *arena, st_timeline_plan *plan,
                            st_errors *errors)
{
    st_schedule_shape *shape = &plan->schedule.shape;
    st_schedule_order *order = st_arena_alloc(arena, 1, sizeof *order);
    const st_slot **slots = st_arena_alloc(arena, strategy->count, sizeof *slots);
    size_t *counts = st_arena_alloc(arena, strategy->count, sizeof *counts);
    if (strategy->stages[0].order == NULL)
        return ST_OK;
    if (order == NULL || slots == NULL || counts == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < strategy->count; i++) {
        const st_strategy_stage *stage = &strategy->stages[i];
        st_slot *own = st_arena_alloc(arena, stage->pass_count + 1, sizeof *own);
        if (own == NULL)
            return st_out_of_memory(errors);
        for (size_t k = 0; k < stage->pass_count; k++) {
            own[k] = stage->order[k].slot;
            if (own[k].micro >= shape->micros || own[k].chunk >= shape->chunks)
                return st_fail(errors, ST_ERR_VALUE, stage->order[k].place,
                               "there is no micro-batch %lu of chunk %u" ST_EXPECTED
                               "%lu micro-batches and %lu chunks, both from 0",
                               (unsigned long)own[k].micro, (unsigned)own[k].chunk,
                               (unsigned long)shape->micros, (unsigned long)shape->chunks);
        }
        slots[i] = own;
        counts[i] = stage->pass_count;
    }
    *order = (st_schedule_order){.slots = slots, .counts = counts, .stages = strategy->count};
    plan->closed_same_schedule = false;
    plan->order = order;
    plan->order_name = strategy->name;
    return try_orders(strategy, plan, errors);
}

/* --- as a whole ------------------------------------------------------------------------------- */

st_status st_strategy_load(const char *path, const st_job *job, st_arena *arena,
                           const st_strategy **strategy, st_strategy_sets *sets, st_errors *errors)
{
    st_source source = {0};
    const st_yaml_node *root = NULL;
    st_strategy *read = st_arena_alloc(arena, 1, sizeof *read);
    if (read == NULL)
        return st_out_of_memory(errors);
    st_status status = st_file_read(path, (st_place){.file = "--strategy"}, arena, &source, errors);
    if (status == ST_OK)
        status = st_yaml_read(&source, arena, &root, errors);
    if (status == ST_OK)
        status = st_strategy_read(root, arena, read, errors);
    if (status == ST_OK)
        status = st_strategy_apply(read, job, arena, sets, errors);
    *strategy = status == ST_OK ? read : NULL;
    return status;
}

/* The job with what a stage has of its own. */
typedef struct st_variant_plan {
    st_estimate estimate;
    st_timeline_plan plan;
} st_variant_plan;

/* Estimates it and lays it out. */
static st_status plan_variant(const st_strategy_job *job, const st_strategy_variant *variant,
                              const st_place_layers *layers, st_arena *arena, st_variant_plan *made,
                              st_errors *errors)
{
    st_request request = *job->request;
    size_t count = request.set_count;
    const char **sets = st_arena_alloc(arena, count + variant->count, sizeof *sets);
    if (sets == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < count; i++)
        sets[i] = request.sets[i];
    for (size_t i = 0; i < variant->count; i++)
        sets[count++] = variant->items[i];
    request.sets = sets;
    request.set_count = count;
    /* What the whole plan lacks was told of the job; of a variant only its own stage counts. */
    st_error_scope scope = {.edit = st_error_is_severe};
    st_errors_enter(errors, &scope);
    st_status status = st_estimate_load(job->paths, &request, arena, &made->estimate, errors);
    if (status == ST_OK)
        status = st_timeline_plan_of(&made->estimate, layers, arena, &made->plan, errors);
    st_errors_leave(errors, &scope);
    return status;
}

/* Whether the stage itself fits, in closed form: of the stages between the ends the fullest one. */
static void warn_if_too_large(const st_strategy *strategy, size_t stage,
                              const st_estimate *estimate, st_arena *arena, st_errors *errors)
{
    size_t at = stage == 0 ? 0 : stage + 1 == strategy->count ? 2 : 1;
    const st_role_part parts[] = {{ST_ROLE_STAGE_MEMORY, at}, {ST_ROLE_GPU_MEMORY, 0}};
    const st_role_list list = {parts, 2, "a stage's memory needs"};
    const char *names[2];
    double bytes[2];
    char needed[ST_QUANTITY_TEXT];
    char room[ST_QUANTITY_TEXT];
    st_unit unit = st_unit_one();
    if (st_sheet_need_roles(estimate->sheet, &list, names, NULL) != ST_OK ||
        st_estimate_look(estimate, names, 2, arena, bytes, NULL) != ST_OK ||
        !(bytes[0] > bytes[1]) ||
        st_unit_parse("GiB", 3, strategy->stages[stage].place, &unit, errors) != ST_OK)
        return; /* a sheet without memory, or a stage that fits */
    st_report(errors, ST_SEVERITY_WARNING, ST_ERR_CHECK, strategy->stages[stage].place,
              "stage %zu does not fit: its GPUs need up to %s and have %s", stage,
              st_quantity_format(bytes[0], &unit, ST_STYLE_SCALED, needed, sizeof needed),
              st_quantity_format(bytes[1], &unit, ST_STYLE_SCALED, room, sizeof room));
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A plan with passes of its own for every stage. */
typedef struct st_own_passes {
    st_timeline_plan *plan;
    st_chunk_times *times;
    st_schedule_pieces *pieces; /* NULL: passes are not in pieces */
} st_own_passes;

static bool copy_passes(st_timeline_plan *plan, st_arena *arena, st_own_passes *own)
{
    size_t places = (size_t)plan->schedule.shape.stages * plan->schedule.shape.chunks;
    *own = (st_own_passes){.plan = plan};
    own->times = st_arena_alloc(arena, places, sizeof *own->times);
    if (plan->schedule.pieces != NULL)
        own->pieces = st_arena_alloc(arena, places, sizeof *own->pieces);
    if (own->times == NULL || (plan->schedule.pieces != NULL && own->pieces == NULL))
        return false;
    memcpy(own->times, plan->schedule.shape.times, places * sizeof *own->times);
    if (own->pieces != NULL)
        memcpy(own->pieces, plan->schedule.pieces, places * sizeof *own->pieces);
    plan->schedule.shape.times = own->times;
    plan->schedule.pieces = own->pieces;
    return true;
}

/* The passes of a stage as its variant has them; what is the same on all stages is the slowest's.
 */
static void take_stage(const st_timeline_plan *variant, size_t stage, const st_own_passes *own)
{
    const st_schedule_shape *shape = &own->plan->schedule.shape;
    st_schedule_ends *ends = &own->plan->schedule.ends;
    const st_schedule_ends *other = &variant->schedule.ends;
    for (size_t place = stage; place < (size_t)shape->stages * shape->chunks;
         place += shape->stages) {
        own->times[place] = variant->schedule.shape.times[place];
        if (own->pieces != NULL && variant->schedule.pieces != NULL)
            own->pieces[place] = variant->schedule.pieces[place];
    }
    own->plan->schedule.shape.transfer = later(shape->transfer, variant->schedule.shape.transfer);
    ends->gather_exposed = later(ends->gather_exposed, other->gather_exposed);
    ends->gather_hidden = later(ends->gather_hidden, other->gather_hidden);
    ends->reduce_exposed = later(ends->reduce_exposed, other->reduce_exposed);
    ends->reduce_hidden = later(ends->reduce_hidden, other->reduce_hidden);
    ends->optimizer = later(ends->optimizer, other->optimizer);
    ends->slowdown = later(ends->slowdown, other->slowdown);
}

static bool same_sets(const st_strategy_variant *a, const st_strategy_variant *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = strcmp(a->items[i], b->items[i]) == 0;
    return same;
}

/* Stages that have the same of their own are estimated once. */
static st_status plan_stages(const st_strategy *strategy, const st_strategy_job *job,
                             const st_place_layers *layers, st_arena *arena, st_timeline_plan *plan,
                             st_errors *errors)
{
    const st_strategy_variant *own = job->sets->stages;
    st_variant_plan *plans = st_arena_alloc(arena, strategy->count, sizeof *plans);
    st_own_passes passes;
    st_status status =
        plans != NULL && copy_passes(plan, arena, &passes) ? ST_OK : st_out_of_memory(errors);
    for (size_t i = 0; i < strategy->count && status == ST_OK; i++) {
        size_t same = 0;
        while (same < i && !same_sets(&own[same], &own[i]))
            same++;
        if (own[i].count == 0)
            continue;
        if (same == i)
            status = plan_variant(job, &own[i], layers, arena, &plans[i], errors);
        if (status == ST_OK) {
            take_stage(&plans[same].plan, i, &passes);
            warn_if_too_large(strategy, i, &plans[same].estimate, arena, errors);
        }
        plan->closed_same_schedule = false;
        plan->stages_differ = true;
    }
    return status;
}

st_status st_strategy_plan(const st_strategy *strategy, const st_strategy_job *job, st_arena *arena,
                           st_timeline_plan *plan, st_errors *errors)
{
    const st_place_layers *layers = st_strategy_layers(strategy, job->sets, arena);
    if (layers == NULL)
        return st_out_of_memory(errors);
    st_status status = st_timeline_plan_of(job->estimate, layers, arena, plan, errors);
    if (status == ST_OK)
        status = plan_stages(strategy, job, layers, arena, plan, errors);
    if (status == ST_OK && job->sets->is_uneven) /* no stride leads from stage to stage */
        plan->schedule.groups = (st_schedule_groups){.tp = 1,
                                                     .tp_stride = 1,
                                                     .cp = 1,
                                                     .cp_stride = 1,
                                                     .dp = 1,
                                                     .dp_stride = 1,
                                                     .pp_stride = 1,
                                                     .ep = 1};
    return status == ST_OK ? st_strategy_order(strategy, arena, plan, errors) : status;
}
