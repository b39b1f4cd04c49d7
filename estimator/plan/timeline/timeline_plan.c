/* SPDX-License-Identifier: Apache-2.0 */
/* From a job to the plan of its timeline: the roles of its sheet, the ranks, the closed form. */
#include "timeline/timeline_plan.h"

#include "estimate/placement.h"
#include "steptime/keys.h"

#include <math.h>
#include <string.h>

/* --- the roles -------------------------------------------------------------------------------- */

/* Roles that a timeline has a use for. */
static bool is_wanted(st_role role)
{
    return role == ST_ROLE_STEP || role == ST_ROLE_COMMUNICATION ||
           (role >= ST_ROLE_TP && role <= ST_ROLE_EP) ||
           (role >= ST_ROLE_MICRO_BATCHES && role <= ST_ROLE_HIDDEN_IN_PASSES &&
            role != ST_ROLE_LAYER_WORK && role != ST_ROLE_LAYER_PARAMETERS);
}

/* Runs the sheet for the cells of all roles that it fills, and of no others. */
static st_status run_roles(st_planner *planner)
{
    enum { MOST = ST_ROLES * ST_ROLE_PARTS };
    st_estimate *estimate = planner->estimate;
    const char **names = st_arena_alloc(planner->arena, MOST, sizeof *names);
    double **values = st_arena_alloc(planner->arena, MOST, sizeof *values);
    size_t count = 0;
    if (names == NULL || values == NULL)
        return st_out_of_memory(planner->errors);
    for (int role = 0; role < ST_ROLES; role++) {
        for (size_t part = 0; part < ST_ROLE_PARTS && is_wanted((st_role)role); part++) {
            names[count] = st_sheet_role_part(estimate->sheet, (st_role)role, part);
            values[count] = &planner->value[role][part];
            count += names[count] != NULL ? 1 : 0;
        }
    }
    st_status status = st_estimate_show_names(estimate, names, count, (st_place){0}, planner->arena,
                                              planner->errors);
    if (status == ST_OK)
        status = st_estimate_run(estimate, planner->arena, planner->errors);
    planner->value[ST_ROLE_SITE_FACTOR][0] = 1;
    for (size_t i = 0; i < count && status == ST_OK; i++)
        *values[i] = estimate->shown[i].value;
    return status;
}

/* --- ranks and schedule ------------------------------------------------------------------------
 */

static st_status fill_shape(st_planner *planner)
{
    st_schedule_plan *schedule = &planner->plan->schedule;
    double(*value)[ST_ROLE_PARTS] = planner->value;
    uint32_t chunks = st_plan_whole(value[ST_ROLE_CHUNKS][0]);
    bool buckets = st_plan_has(planner, ST_ROLE_BUCKET_BYTES);
    schedule->shape.stages = st_plan_whole(value[ST_ROLE_PP][0]);
    schedule->shape.micros = st_plan_whole(value[ST_ROLE_MICRO_BATCHES][0]);
    schedule->shape.chunks = chunks;
    const st_job_value *job_value =
        st_job_value_of(planner->estimate->job, ST_KEY_PARALLEL_SCHEDULE);
    st_schedule_kind kind = ST_SCHEDULE_1F1B;
    for (int i = 0; job_value != NULL && job_value->text != NULL && i < ST_SCHEDULES; i++)
        if (strcmp(job_value->text, st_schedule_name((st_schedule_kind)i)) == 0)
            kind = (st_schedule_kind)i;
    if (buckets && schedule->shape.stages == 1 &&
        kind != ST_SCHEDULE_DUALPIPE) /* of one stage, which has an even number alone */
        kind = ST_SCHEDULE_1F1B;
    /* Stages with chunks are interleaved or folded, whatever checks of the sheet may say of
     * others. */
    st_status status = ST_OK;
    const st_job_value *chunk_value =
        st_job_value_of(planner->estimate->job, ST_KEY_PARALLEL_SCHEDULE);
    if (chunks != 1 && kind != ST_SCHEDULE_1F1B && kind != ST_SCHEDULE_INTERLEAVED &&
        !st_schedule_is_folded(kind))
        status =
            st_fail(planner->errors, ST_ERR_VALUE, chunk_value->place,
                    "schedule '%s' takes stages as a whole: found %lu chunks in each" ST_EXPECTED
                    "interleaved, or one chunk",
                    chunk_value->text, (unsigned long)chunks);
    if (chunks > 1 && !st_schedule_is_folded(kind))
        kind = ST_SCHEDULE_INTERLEAVED;
    schedule->shape.kind = kind;
    schedule->shape.held_for_weights = value[ST_ROLE_HELD_FOR_WEIGHTS][0];
    schedule->groups = (st_schedule_groups){.tp = st_plan_whole(value[ST_ROLE_TP][0]),
                                            .cp = st_plan_whole(value[ST_ROLE_CP][0]),
                                            .dp = st_plan_whole(value[ST_ROLE_DP][0]),
                                            .ep = st_plan_whole(value[ST_ROLE_EP][0])};
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(planner->estimate->sheet, &count);
    bool reads = false;
    for (size_t i = 0; i < count; i++)
        reads = reads || strcmp(inputs[i].from, ST_KEY_PARALLEL_SCHEDULE) == 0;
    planner->plan->closed_same_schedule =
        reads || kind == ST_SCHEDULE_1F1B || kind == ST_SCHEDULE_GPIPE;
    return status;
}

/* --- the closed form ---------------------------------------------------------------------------
 */

static st_status fill_plan(st_planner *planner)
{
    static const st_role_part needed[] = {
        {.role = ST_ROLE_STEP}, {.role = ST_ROLE_LAYER_FORWARD}, {.role = ST_ROLE_LAYER_BACKWARD}};
    enum { NEEDED = ST_COUNT(needed) };
    const char *names[NEEDED];
    st_status status = st_sheet_need_roles(planner->estimate->sheet,
                                           &(st_role_list){needed, NEEDED, "a timeline needs"},
                                           names, planner->errors);
    if (status == ST_OK)
        status = run_roles(planner);
    if (status != ST_OK)
        return status;
    status = fill_shape(planner);
    if (status == ST_OK)
        status = st_schedule_check(&planner->plan->schedule.shape, planner->errors);
    if (status == ST_OK)
        status = st_plan_passes(planner);
    if (status == ST_OK && st_plan_has(planner, ST_ROLE_BUCKET_BYTES))
        status = st_plan_buckets(planner);
    if (status == ST_OK)
        status = st_plan_ends(planner);
    st_timeline_plan *plan = planner->plan;
    for (int i = 0; i < ST_TERMS; i++)
        plan->term_s[i] =
            planner->value[ST_ROLE_SITE_FACTOR][0] * planner->value[ST_ROLE_STEP_TERMS][i];
    for (int i = 0; i < ST_HIDINGS; i++)
        plan->hiding_s[i] = planner->value[ST_ROLE_COMMUNICATION][i];
    plan->hidden_inside_s = planner->value[ST_ROLE_HIDDEN_IN_PASSES][0];
    plan->closed_s = planner->value[ST_ROLE_STEP][0];
    plan->step_cell = st_sheet_role(planner->estimate->sheet, ST_ROLE_STEP);
    return status;
}

st_status st_timeline_plan_make(st_estimate *estimate, st_arena *arena, st_timeline_plan *plan,
                                st_errors *errors)
{
    return st_timeline_plan_of(estimate, NULL, arena, plan, errors);
}

st_status st_timeline_plan_of(st_estimate *estimate, const st_place_layers *layers, st_arena *arena,
                              st_timeline_plan *plan, st_errors *errors)
{
    st_planner planner = {
        .estimate = estimate, .arena = arena, .errors = errors, .plan = plan, .given = layers};
    *plan = (st_timeline_plan){.job = st_job_name(estimate->job),
                               .sheet = st_sheet_name(estimate->sheet),
                               .refinements = {estimate->refinements, estimate->refinement_count},
                               .schedule = {.transfers_block = true}};
    st_status status = fill_plan(&planner);
    if (status == ST_OK && planner.out_of_range)
        status = st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                         "a task would last too long, or less than nothing" ST_EXPECTED
                         "at most 10^6 s");
    if (status != ST_OK)
        return status;
    /* Strides of the ranks by the job's order of them. */
    st_schedule_groups *groups = &planner.plan->schedule.groups;
    const st_job_value *order = st_job_value_of(planner.estimate->job, ST_KEY_PARALLEL_ORDER);
    st_placement placement;
    /* Expert groups lie across the others and have no stride that matters here. */
    st_placement_plan group_plan = {
        .size = {groups->tp, groups->cp, 1, groups->dp, planner.plan->schedule.shape.stages, 0},
        .gpus_per_node = 1};
    if (order != NULL && order->origin != ST_ORIGIN_NONE) {
        group_plan.order = order->text;
        group_plan.place = order->place;
    }
    st_status group_status = st_placement_create(&group_plan, &placement, planner.errors);
    if (group_status == ST_OK) {
        groups->tp_stride = (uint32_t)placement.stride[ST_GROUP_TP];
        groups->cp_stride = (uint32_t)placement.stride[ST_GROUP_CP];
        groups->dp_stride = (uint32_t)placement.stride[ST_GROUP_DP];
        groups->pp_stride = (uint32_t)placement.stride[ST_GROUP_PP];
    }
    return group_status;
}
