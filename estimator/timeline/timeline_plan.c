/* SPDX-License-Identifier: Apache-2.0 */
/* From a job to the plan of its timeline: which sheet, its cells, the ranks. */
#include "timeline/timeline_plan.h"

#include "steptime/placement.h"

#include <math.h>
#include <string.h>

#define MOST_SECONDS 1e6

typedef enum st_li_cell {
    LI_P,
    LI_T,
    LI_D,
    LI_M,
    LI_AR_BLOCK,
    LI_COMP,
    LI_TP,
    LI_PP,
    LI_DP,
    LI_BUBBLE,
    LI_ITER,
    LI_CELLS
} st_li_cell;

static const char *const li2024_names[] = {
    "p",       "t",       "d",    "m",        "AR_block", "T_comp_mb",
    "T_TP_mb", "T_PP_mb", "T_DP", "T_bubble", "T_iter",   NULL,
};

int64_t st_plan_ticks(st_planner *planner, double seconds)
{
    if (!(seconds >= 0 && seconds <= MOST_SECONDS)) {
        planner->out_of_range = true;
        return 0;
    }
    return (int64_t)llround(seconds * ST_TICKS_PER_S);
}

st_status st_plan_run(st_planner *planner, const char *const *names)
{
    size_t count = 0;
    while (names[count] != NULL) {
        count++;
    }
    st_estimate *estimate = planner->estimate;
    st_status status = st_estimate_show_names(estimate, names, count, (st_place){0}, planner->arena,
                                              planner->errors);
    if (status == ST_OK) {
        status = st_estimate_run(estimate, planner->arena, planner->errors);
    }
    for (size_t i = 0; i < count && status == ST_OK; i++) {
        planner->cell[i] = estimate->shown[i].value;
    }
    return status;
}

static bool sheet_has(const st_sheet *sheet, const char *name)
{
    if (st_sheet_find_cell(sheet, name) != NULL) {
        return true;
    }
    return st_sheet_find_input(sheet, name) != NULL;
}

/* The first name that the sheet lacks, NULL where it has all. */
static const char *lacking(const st_sheet *sheet, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        if (!sheet_has(sheet, names[i])) {
            return names[i];
        }
    }
    return NULL;
}

uint32_t st_plan_whole(double value)
{
    return value >= 1 && value <= UINT32_MAX ? (uint32_t)value : 1;
}

/* Strides of the ranks by the job's order of them. */
static st_status fill_groups(st_planner *planner)
{
    st_schedule_groups *groups = &planner->plan->schedule.groups;
    const st_job_value *order = st_job_value_of(planner->estimate->job, "parallel.order");
    st_placement placement;
    /* Expert groups lie across the others and have no stride that matters here. */
    st_placement_plan plan = {
        .size = {groups->tp, groups->cp, 1, groups->dp, planner->plan->schedule.shape.stages, 0},
        .gpus_per_node = 1};
    if (order != NULL && order->origin != ST_ORIGIN_NONE) {
        plan.order = order->text;
        plan.place = order->place;
    }
    st_status status = st_placement_create(&plan, &placement, planner->errors);
    if (status == ST_OK) {
        groups->tp_stride = (uint32_t)placement.stride[ST_GROUP_TP];
        groups->cp_stride = (uint32_t)placement.stride[ST_GROUP_CP];
        groups->dp_stride = (uint32_t)placement.stride[ST_GROUP_DP];
        groups->pp_stride = (uint32_t)placement.stride[ST_GROUP_PP];
    }
    return status;
}

st_schedule_kind st_plan_kind(const st_planner *planner)
{
    const st_job_value *value = st_job_value_of(planner->estimate->job, "parallel.schedule");
    st_schedule_kind kind = ST_SCHEDULE_1F1B;
    for (int i = 0; value != NULL && value->text != NULL && i < ST_SCHEDULES; i++) {
        if (strcmp(value->text, st_schedule_name((st_schedule_kind)i)) == 0) {
            kind = (st_schedule_kind)i;
        }
    }
    return kind;
}

/* --- li2024 -------------------------------------------------------------------------------------
 */

static st_status plan_li2024(st_planner *planner, bool dualpipe)
{
    st_status status = st_plan_run(planner, li2024_names);
    const double *cell = planner->cell;
    st_schedule_plan *schedule = &planner->plan->schedule;
    if (status != ST_OK) {
        return status;
    }
    schedule->shape.kind = dualpipe ? ST_SCHEDULE_DUALPIPE : st_plan_kind(planner);
    schedule->shape.stages = st_plan_whole(cell[LI_P]);
    schedule->shape.micros = st_plan_whole(cell[LI_M]);
    schedule->shape.chunks = 1;
    schedule->groups = (st_schedule_groups){
        .tp = st_plan_whole(cell[LI_T]), .cp = 1, .dp = st_plan_whole(cell[LI_D]), .ep = 1};
    status = st_schedule_check(&schedule->shape, planner->errors);
    st_chunk_times *times = st_arena_alloc(planner->arena, schedule->shape.stages, sizeof(*times));
    if (status != ST_OK || times == NULL) {
        return times == NULL ? st_graph_no_memory(planner->errors) : status;
    }
    /* Two of a block's all-reduces are forward; backward takes twice as long, recomputation once.
     */
    double forward = 2 / cell[LI_AR_BLOCK];
    double work = 1 / (cell[LI_AR_BLOCK] > 4 ? 4.0 : 3.0);
    for (uint32_t i = 0; i < schedule->shape.stages; i++) {
        int64_t(*part)[ST_PARTS] = times[i].part;
        part[ST_PASS_FORWARD][ST_PART_WORK] = st_plan_ticks(planner, work * cell[LI_COMP]);
        part[ST_PASS_WEIGHTS][ST_PART_WORK] = part[ST_PASS_FORWARD][ST_PART_WORK];
        part[ST_PASS_BACKWARD][ST_PART_WORK] =
            st_plan_ticks(planner, cell[LI_COMP]) - 2 * part[ST_PASS_FORWARD][ST_PART_WORK];
        part[ST_PASS_FORWARD][ST_PART_TP] = st_plan_ticks(planner, forward * cell[LI_TP]);
        part[ST_PASS_BACKWARD][ST_PART_TP] =
            st_plan_ticks(planner, cell[LI_TP]) - part[ST_PASS_FORWARD][ST_PART_TP];
    }
    schedule->shape.times = times;
    schedule->shape.transfer = st_plan_ticks(planner, cell[LI_PP] / 2);
    schedule->ends.reduce_exposed = st_plan_ticks(planner, cell[LI_DP]);
    double step = cell[LI_COMP] + cell[LI_TP];
    double *term = planner->plan->term_s;
    term[ST_TERM_STEADY] = cell[LI_M] * step;
    term[ST_TERM_RAMP] = (cell[LI_P] - 1) * step;
    term[ST_TERM_TRANSFERS] = (cell[LI_M] + cell[LI_P] - 1) * cell[LI_PP];
    term[ST_TERM_DATA] = cell[LI_DP];
    planner->plan->hiding_s[ST_HIDING_EXPOSED] =
        cell[LI_M] * cell[LI_TP] + term[ST_TERM_TRANSFERS] + cell[LI_DP];
    planner->plan->closed_s = cell[LI_ITER];
    planner->plan->step_cell = "T_iter";
    return ST_OK;
}

/* --- any sheet ----------------------------------------------------------------------------------
 */

static st_status refuse_sheet(const st_estimate *estimate, st_errors *errors)
{
    const char *lacks = lacking(estimate->sheet, st_megatron_names);
    return st_fail(errors, ST_ERR_USAGE, (st_place){0},
                   "sheet '%s' has no times of passes to lay out" ST_FOUND
                   "no cell '%s'" ST_EXPECTED
                   "the cells of megatron, of li2024 or of ddp (--sheet)",
                   st_sheet_name(estimate->sheet), lacks);
}

st_status st_timeline_plan_make(st_estimate *estimate, bool dualpipe, st_arena *arena,
                                st_timeline_plan *plan, st_errors *errors)
{
    st_status status = ST_OK;
    st_planner planner = {.estimate = estimate, .arena = arena, .errors = errors, .plan = plan};
    *plan = (st_timeline_plan){.job = st_job_name(estimate->job),
                               .sheet = st_sheet_name(estimate->sheet),
                               .layers = 1,
                               .closed_same_schedule = !dualpipe,
                               .slowdown = {1, 1, 1, 1, 1},
                               .schedule = {.transfers_block = true}};
    if (lacking(estimate->sheet, st_megatron_names) == NULL) {
        status = st_plan_megatron(&planner, dualpipe);
    } else if (lacking(estimate->sheet, li2024_names) == NULL) {
        status = plan_li2024(&planner, dualpipe);
        plan->closed_same_schedule = plan->schedule.shape.kind == ST_SCHEDULE_1F1B ||
                                     plan->schedule.shape.kind == ST_SCHEDULE_GPIPE;
    } else if (lacking(estimate->sheet, st_ddp_names) == NULL) {
        status = st_plan_ddp(&planner, dualpipe);
    } else {
        status = refuse_sheet(estimate, errors);
    }
    if (status == ST_OK && planner.out_of_range) {
        status = st_fail(errors, ST_ERR_LIMIT, (st_place){0},
                         "a task would last too long, or less than nothing" ST_EXPECTED
                         "at most 10^6 s");
    }
    return status == ST_OK ? fill_groups(&planner) : status;
}
