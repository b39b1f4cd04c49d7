/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strides follow from the order alone: those of a group are the sizes of the groups before it, all
 * multiplied. What a row of a sweep changes are the sizes, so that the order is read once and the
 * sizes with every row.
 */
#include "estimate/placement_cells.h"

#include "base/memory.h"
#include "job/bind.h"
#include "steptime/keys.h"
#include "steptime/tool/roles.h"
#include "estimate/placement.h"

#include <math.h>
#include <string.h>

/* The sizes that matter, the axes of an order first; a sheet without one has one rank there. */
enum { TP, CP, DP, PP, EP, EXPERT_TP, GPUS_PER_NODE, SIZES, AXES = EP };

static const st_role size_roles[SIZES] = {ST_ROLE_TP,           ST_ROLE_CP, ST_ROLE_DP,
                                          ST_ROLE_PP,           ST_ROLE_EP, ST_ROLE_EXPERT_TP,
                                          ST_ROLE_GPUS_PER_NODE};

static const struct {
    const char *name;
    const char *key;
    st_group group;
} axes[AXES] = {
    [TP] = {"tp", ST_KEY_PARALLEL_TP, ST_GROUP_TP},
    [CP] = {"cp", ST_KEY_PARALLEL_CP, ST_GROUP_CP},
    [DP] = {"dp", ST_KEY_PARALLEL_DP, ST_GROUP_DP},
    [PP] = {"pp", ST_KEY_PARALLEL_PP, ST_GROUP_PP},
};

/* Axes from the innermost outwards; those that the order leaves out have one rank. */
typedef struct axis_order {
    int axes[AXES];
    size_t count;
} axis_order;

/* The sizes that a sheet has, in the order in which a provider gets them. */
typedef struct size_list {
    const char *names[SIZES];
    int sizes[SIZES];
    size_t count;
} size_list;

typedef struct cell_entry {
    st_role role;
    double (*value)(const axis_order *order, const double *sizes);
} cell_entry;

typedef struct cell_self {
    const axis_order *order;
    const size_list *given;
    const cell_entry *entry;
} cell_self;

static axis_order read_order(const char *text)
{
    axis_order order = {.count = 0};
    for (const char *word = text; *word != '\0';) {
        size_t length = strcspn(word, "-");
        for (int axis = 0; axis < AXES; axis++)
            if (length == strlen(axes[axis].name) && memcmp(word, axes[axis].name, length) == 0 &&
                order.count < AXES)
                order.axes[order.count++] = axis;
        word += length + (word[length] == '-' ? 1 : 0);
    }
    return order;
}

/* Ranks between neighbours along an axis. */
static double stride_of(const axis_order *order, const double *sizes, int axis)
{
    double stride = 1;
    for (size_t i = 0; i < order->count && order->axes[i] != axis; i++)
        stride *= sizes[order->axes[i]];
    return stride;
}

/* Experts take their ranks from all groups but the pipeline's: tensor parallelism has its own size
 * inside of them, and context parallelism none. */
static double expert_stride(const axis_order *order, const double *sizes)
{
    double stride = 1;
    for (size_t i = 0; i < order->count && order->axes[i] != DP; i++)
        if (order->axes[i] == TP)
            stride *= sizes[EXPERT_TP];
        else if (order->axes[i] == PP)
            stride *= sizes[PP];
    return stride;
}

static double on_a_node(double ranks, double stride, const double *sizes)
{
    return fmin(ranks, fmax(floor(sizes[GPUS_PER_NODE] / stride), 1));
}

static double tp_per_node(const axis_order *order, const double *sizes)
{
    return on_a_node(sizes[TP], stride_of(order, sizes, TP), sizes);
}

static double cp_per_node(const axis_order *order, const double *sizes)
{
    return on_a_node(sizes[CP], stride_of(order, sizes, CP), sizes);
}

/* Gradients are reduced over the data- and context-parallel ranks together. */
static double dp_per_node(const axis_order *order, const double *sizes)
{
    double data = on_a_node(sizes[DP], stride_of(order, sizes, DP), sizes);
    return data * cp_per_node(order, sizes);
}

static double ep_per_node(const axis_order *order, const double *sizes)
{
    return on_a_node(sizes[EP], expert_stride(order, sizes), sizes);
}

static double expert_dp_per_node(const axis_order *order, const double *sizes)
{
    double ranks = sizes[TP] * sizes[CP] * sizes[DP] / (sizes[EP] * sizes[EXPERT_TP]);
    return on_a_node(ranks, expert_stride(order, sizes) * sizes[EP], sizes);
}

/* Of a pipeline's links, those over an edge between nodes: as many per edge as the stride. */
static double pp_crossing(const axis_order *order, const double *sizes)
{
    double stride = stride_of(order, sizes, PP);
    double nodes = stride * sizes[PP] / sizes[GPUS_PER_NODE];
    if (sizes[PP] == 1 || nodes <= 1)
        return 0;
    return stride >= sizes[GPUS_PER_NODE] ? 1 : (nodes - 1) / (sizes[PP] - 1);
}

static const cell_entry entries[] = {
    {ST_ROLE_TP_PER_NODE, tp_per_node},     {ST_ROLE_CP_PER_NODE, cp_per_node},
    {ST_ROLE_DP_PER_NODE, dp_per_node},     {ST_ROLE_EP_PER_NODE, ep_per_node},
    {ST_ROLE_STAGES_CROSSING, pp_crossing}, {ST_ROLE_EXPERT_DP_PER_NODE, expert_dp_per_node},
};
enum { ENTRIES = ST_COUNT(entries) };

static st_status evaluate(void *context, size_t rows, const double *const *columns, double *values)
{
    const cell_self *cell = context;
    double sizes[SIZES] = {1, 1, 1, 1, 1, 1, 1};
    for (size_t row = 0; row < rows; row++) {
        bool good = true;
        for (size_t i = 0; i < cell->given->count; i++) {
            double size = columns[i][row];
            sizes[cell->given->sizes[i]] = size;
            good = good && isfinite(size) && size > 0;
        }
        values[row] = good ? cell->entry->value(cell->order, sizes) : (double)NAN;
    }
    return ST_OK;
}

/* The open cell that fills a role; NULL: none does. */
static const char *open_cell(const st_sheet *sheet, st_role role)
{
    const char *name = st_sheet_role(sheet, role);
    const st_sheet_cell *cell = name != NULL ? st_sheet_find_cell(sheet, name) : NULL;
    return cell != NULL && cell->open ? name : NULL;
}

st_status st_placement_providers(const st_job *job, const st_sheet *sheet, st_arena *arena,
                                 st_cell_providers *providers, st_errors *errors)
{
    const st_job_value *order = st_job_value_of(job, ST_KEY_PARALLEL_ORDER);
    *providers = (st_cell_providers){0};
    if (order == NULL || order->origin == ST_ORIGIN_NONE)
        return ST_OK;
    /* The order names every group with more than one rank, and each once. */
    st_placement placement;
    st_placement_plan plan = {.gpus_per_node = 1, .order = order->text, .place = order->place};
    for (size_t i = 0; i < ST_GROUPS; i++)
        plan.size[i] = 1;
    for (int axis = 0; axis < AXES; axis++)
        plan.size[axes[axis].group] = (size_t)st_job_value_of(job, axes[axis].key)->number;
    st_status status = st_placement_create(&plan, &placement, errors);
    if (status != ST_OK)
        return status;
    bool any = false;
    for (size_t i = 0; i < ENTRIES; i++)
        any = any || open_cell(sheet, entries[i].role) != NULL;
    if (!any || st_sheet_role(sheet, ST_ROLE_GPUS_PER_NODE) == NULL)
        return st_job_warn_unread(job, order, sheet, "has no placement roles", errors);
    axis_order *read = st_arena_alloc(arena, 1, sizeof *read);
    cell_self *selves = st_arena_alloc(arena, ENTRIES, sizeof *selves);
    st_provider *made = st_arena_alloc(arena, ENTRIES, sizeof *made);
    st_unit *units = st_arena_alloc(arena, SIZES, sizeof *units);
    size_list *given = st_arena_alloc(arena, 1, sizeof *given);
    const char *source = st_arena_printf(arena, "rank order %s", order->text);
    if (read == NULL || selves == NULL || made == NULL || units == NULL || given == NULL ||
        source == NULL)
        return st_out_of_memory(errors);
    *read = read_order(order->text);
    size_list size_given = {.count = 0};
    for (int i = 0; i < SIZES; i++) {
        const char *name = st_sheet_role(sheet, size_roles[i]);
        if (name != NULL) {
            size_given.names[size_given.count] = name;
            size_given.sizes[size_given.count++] = i;
        }
    }
    *given = size_given;
    for (size_t i = 0; i < SIZES; i++)
        units[i] = st_unit_one();
    for (size_t i = 0; i < ENTRIES; i++) {
        const char *name = open_cell(sheet, entries[i].role);
        if (name == NULL)
            continue;
        selves[i] = (cell_self){.order = read, .given = given, .entry = &entries[i]};
        made[providers->count++] = (st_provider){
            .name = name,
            .source = source,
            .argument_names = given->names,
            .argument_units = units,
            .argument_count = given->count,
            .unit = st_unit_one(),
            .evaluate = evaluate,
            .self = &selves[i],
        };
    }
    providers->items = made;
    return ST_OK;
}
