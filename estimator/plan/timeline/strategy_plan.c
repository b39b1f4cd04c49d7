/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a timeline from a strategy: stages with something of their own. */
#include "timeline/strategy.h"

#include "base/error_scope.h"
#include "base/lists.h"
#include "base/memory.h"
#include "job/files.h"
#include "steptime/keys.h"

#include <stdlib.h>
#include <string.h>

/* --- as a whole ------------------------------------------------------------------------------- */

st_status st_strategy_load(const char *path, const st_job *job, st_arena *arena,
                           const st_strategy **strategy, st_strategy_sets *sets, st_errors *errors)
{
    st_source source = {0};
    const st_yaml_node *root = NULL;
    st_strategy *read = st_arena_alloc(arena, 1, sizeof *read);
    if (read == NULL)
        return st_out_of_memory(errors);
    const st_job_value *layers = st_job_value_of(job, ST_KEY_MODEL_LAYERS);
    if (layers == NULL || layers->origin == ST_ORIGIN_NONE || layers->number <= 0)
        return st_fail(errors, ST_ERR_USAGE, (st_place){.file = "--strategy"},
                       "a job without model.layers, such as one with a layer list, cannot have a "
                       "strategy" ST_HINT "parallel.pp divides a layer list into stages");
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
    /* Of a variant only its own stage counts. */
    st_error_scope scope = {.edit = st_error_is_severe};
    st_errors_enter(errors, &scope);
    st_status status = st_estimate_load(job->paths, &request, arena, &made->estimate, errors);
    if (status == ST_OK)
        status = st_timeline_plan_of(&made->estimate, layers, arena, &made->plan, errors);
    st_errors_leave(errors, &scope);
    return status;
}

/* Drops what the sheet says of whether the job fits. */
static bool is_not_about_fit(const void *context, st_errors *errors, st_error *error)
{
    const st_sheet *sheet = context;
    const char *fits = st_sheet_role(sheet, ST_ROLE_FITS);
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(sheet, &count);
    bool kept = true;
    (void)errors;
    for (size_t i = 0; i < count && fits != NULL; i++)
        kept = kept &&
               (strcmp(checks[i].formula, fits) != 0 || checks[i].place.file != error->place.file ||
                checks[i].place.line != error->place.line);
    return kept;
}

/* Whether the stage itself fits, in closed form: of the stages between the ends the fullest one. */
static void check_memory(const st_strategy *strategy, size_t stage, const st_estimate *estimate,
                         st_arena *arena, st_errors *errors)
{
    enum { NEEDED, ROOM, FRAGMENTATION, FRAMEWORK, PARTS };
    size_t at = stage == 0 ? 0 : stage + 1 == strategy->count ? 2 : 1;
    const st_role_part parts[PARTS] = {{ST_ROLE_STAGE_MEMORY, at},
                                       {ST_ROLE_GPU_MEMORY, 0},
                                       {ST_ROLE_FRAGMENTATION, 0},
                                       {ST_ROLE_FRAMEWORK_MEMORY, 0}};
    const st_role_list list = {parts, PARTS, "a stage's memory needs"};
    const char *names[PARTS];
    double value[PARTS];
    char needed[ST_QUANTITY_TEXT];
    char room[ST_QUANTITY_TEXT];
    st_unit unit = st_unit_one();
    if (st_sheet_need_roles(estimate->sheet, &list, names, NULL) != ST_OK ||
        st_estimate_look(estimate, names, PARTS, arena, value, NULL) != ST_OK ||
        st_unit_parse("GiB", 3, strategy->stages[stage].place, &unit, errors) != ST_OK)
        return; /* a sheet without memory */
    double bytes = value[FRAGMENTATION] * value[NEEDED] + value[FRAMEWORK];
    if (!(bytes > value[ROOM]))
        return;
    st_report(errors, estimate->checks_warn ? ST_SEVERITY_WARNING : ST_SEVERITY_LIMIT, ST_ERR_CHECK,
              strategy->stages[stage].place,
              "stage %zu does not fit: its GPUs need up to %s and have %s", stage,
              st_quantity_format(bytes, &unit, ST_STYLE_SCALED, needed, sizeof needed),
              st_quantity_format(value[ROOM], &unit, ST_STYLE_SCALED, room, sizeof room));
}

/* A plan with passes of its own for every stage. */
typedef struct st_own_passes {
    st_timeline_plan *plan;
    st_chunk_times *times;
    double (*data_rate)[2];
    st_schedule_pieces *pieces; /* NULL: passes are not in pieces */
} st_own_passes;

static bool copy_passes(st_timeline_plan *plan, st_arena *arena, st_own_passes *own)
{
    size_t places = (size_t)plan->schedule.shape.stages * plan->schedule.shape.chunks;
    *own = (st_own_passes){.plan = plan};
    own->times = st_arena_alloc(arena, places, sizeof *own->times);
    if (plan->schedule.pieces != NULL)
        own->pieces = st_arena_alloc(arena, places, sizeof *own->pieces);
    own->data_rate = st_arena_alloc(arena, places, sizeof *own->data_rate);
    if (own->times == NULL || own->data_rate == NULL ||
        (plan->schedule.pieces != NULL && own->pieces == NULL))
        return false;
    memcpy(own->times, plan->schedule.shape.times, places * sizeof *own->times);
    memcpy(own->data_rate, plan->data_rate, places * sizeof *own->data_rate);
    if (own->pieces != NULL)
        memcpy(own->pieces, plan->schedule.pieces, places * sizeof *own->pieces);
    plan->schedule.shape.times = own->times;
    plan->data_rate = (const double(*)[2])own->data_rate;
    plan->schedule.pieces = own->pieces;
    return true;
}

static bool same_sets(const st_strategy_variant *a, const st_strategy_variant *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = strcmp(a->items[i], b->items[i]) == 0;
    return same;
}

/* Stages in the making. */
typedef struct stage_planner {
    const st_strategy *strategy;
    const st_strategy_job *job;
    const st_place_layers *layers; /* NULL: parallel.layout says which kinds stages have */
    st_arena *arena;
    st_errors *errors;
    st_own_passes passes;
    st_variant_plan *variants;
    st_own_stage *stages;
    st_schedule_groups *groups; /* by stage */
} stage_planner;

/* Every rank of a stage, from the lowest. */
static const uint32_t *list_ranks(const st_strategy_stage *stage, const st_strategy_variant *own,
                                  st_arena *arena)
{
    size_t count = 0;
    uint32_t *ranks = st_arena_alloc(arena, (size_t)own->tp * own->cp * own->dp, sizeof *ranks);
    for (size_t i = 0; ranks != NULL && i < stage->devices.count; i++) {
        const st_strategy_span *span = &stage->devices.items[i];
        for (uint32_t rank = span->first; rank <= span->last; rank++)
            ranks[count++] = rank;
    }
    if (ranks != NULL)
        qsort(ranks, count, sizeof *ranks, st_order_indices);
    return ranks;
}

/* What a stage has of its own, and its passes by that. */
static st_status plan_stage(const stage_planner *self, size_t stage)
{
    const st_strategy_variant *own = self->job->sets->stages;
    st_own_stage *made = &self->stages[stage];
    size_t same = 0;
    *made = (st_own_stage){self->job->estimate, own[stage].tp, own[stage].cp, own[stage].dp,
                           list_ranks(&self->strategy->stages[stage], &own[stage], self->arena)};
    if (made->ranks == NULL)
        return st_out_of_memory(self->errors);
    self->groups[stage] = self->passes.plan->schedule.groups;
    self->groups[stage].ranks = made->ranks;
    if (own[stage].count == 0) {
        check_memory(self->strategy, stage, made->estimate, self->arena, self->errors);
        return ST_OK;
    }
    while (same < stage && !same_sets(&own[same], &own[stage]))
        same++;
    st_variant_plan *variant = &self->variants[same];
    st_status status = ST_OK;
    if (same == stage)
        status =
            plan_variant(self->job, &own[stage], self->layers, self->arena, variant, self->errors);
    made->estimate = &variant->estimate;
    if (status == ST_OK) {
        self->groups[stage] = variant->plan.schedule.groups;
        self->groups[stage].ranks = made->ranks;
        /* The passes of a stage as its variant has them; what is the same on all stages is the
         * slowest's. */
        const st_timeline_plan *stage_variant = &variant->plan;
        const st_own_passes *stage_own = &self->passes;
        const st_schedule_shape *shape = &stage_own->plan->schedule.shape;
        st_schedule_ends *ends = &stage_own->plan->schedule.ends;
        const st_schedule_ends *other = &stage_variant->schedule.ends;
        for (size_t place = stage; place < (size_t)shape->stages * shape->chunks;
             place += shape->stages) {
            stage_own->times[place] = stage_variant->schedule.shape.times[place];
            memcpy(stage_own->data_rate[place], stage_variant->data_rate[place],
                   sizeof stage_own->data_rate[place]);
            if (stage_own->pieces != NULL && stage_variant->schedule.pieces != NULL)
                stage_own->pieces[place] = stage_variant->schedule.pieces[place];
        }
        stage_own->plan->schedule.shape.transfer =
            st_later(shape->transfer, stage_variant->schedule.shape.transfer);
        ends->gather_exposed = st_later(ends->gather_exposed, other->gather_exposed);
        ends->gather_hidden = st_later(ends->gather_hidden, other->gather_hidden);
        ends->reduce_exposed = st_later(ends->reduce_exposed, other->reduce_exposed);
        ends->reduce_hidden = st_later(ends->reduce_hidden, other->reduce_hidden);
        ends->optimizer = st_later(ends->optimizer, other->optimizer);
        ends->overhead = st_later(ends->overhead, other->overhead);
        ends->slowdown = st_later(ends->slowdown, other->slowdown);
        check_memory(self->strategy, stage, made->estimate, self->arena, self->errors);
    }
    return status;
}

static bool stages_differ(const stage_planner *self)
{
    bool differ = false;
    for (size_t i = 0; i < self->strategy->count; i++)
        differ = differ || self->job->sets->stages[i].count > 0;
    return differ;
}

/* Stages that have the same of their own are estimated once. */
static st_status plan_stages(stage_planner *self, st_timeline_plan *plan)
{
    size_t count = self->strategy->count;
    if (!stages_differ(self))
        return ST_OK;
    self->stages = st_arena_alloc(self->arena, count, sizeof *self->stages);
    self->variants = st_arena_alloc(self->arena, count, sizeof *self->variants);
    self->groups = st_arena_alloc(self->arena, count, sizeof *self->groups);
    if (self->stages == NULL || self->variants == NULL || self->groups == NULL ||
        !copy_passes(plan, self->arena, &self->passes))
        return st_out_of_memory(self->errors);
    plan->closed_same_schedule = false;
    plan->own_stages = self->stages;
    st_status status = ST_OK;
    for (size_t i = 0; i < count && status == ST_OK; i++)
        status = plan_stage(self, i);
    return status;
}

st_status st_strategy_plan(const st_strategy *strategy, const st_strategy_job *job, st_arena *arena,
                           st_timeline_plan *plan, st_errors *errors)
{
    const st_place_layers *layers = st_strategy_layers(strategy, job->sets, arena);
    stage_planner self = {
        .strategy = strategy, .job = job, .layers = layers, .arena = arena, .errors = errors};
    if (layers == NULL)
        return st_out_of_memory(errors);
    if (layers->moe == NULL)
        self.layers = NULL;
    /* The job's own plan; if stages differ, each stage is checked instead of the job. */
    st_estimate *estimate = self.job->estimate;
    st_error_scope scope = {.edit = is_not_about_fit, .context = estimate->sheet};
    if (stages_differ(&self))
        st_errors_enter(self.errors, &scope);
    st_status status = st_timeline_plan_of(estimate, self.layers, self.arena, plan, self.errors);
    if (stages_differ(&self))
        st_errors_leave(self.errors, &scope);
    if (status == ST_OK)
        status = plan_stages(&self, plan);
    plan->splits_differ = job->sets->is_uneven;
    if (status == ST_OK && job->sets->is_uneven) /* no stride leads from stage to stage */
        plan->schedule.own_groups = self.groups;
    return status == ST_OK ? st_strategy_order(strategy, arena, plan, errors) : status;
}
