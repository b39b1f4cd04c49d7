/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as points; see lattice.h. */
#include "search/guided/lattice.h"

/* Sizes by which shapes are enumerated, the outermost first: all ranks, then their factors. */
static double size_of(const st_shape *shape, size_t level)
{
    const double *sizes = shape->sizes;
    switch (level) {
    case 0:
        return sizes[ST_PARAM_TP] * sizes[ST_PARAM_CP] * sizes[ST_PARAM_PP] * sizes[ST_PARAM_DP];
    case 1:
        return sizes[ST_PARAM_TP];
    case 2:
        return sizes[ST_PARAM_PP];
    case 3:
        return sizes[ST_PARAM_CP];
    case 4:
        return sizes[ST_PARAM_FIRST];
    default:
        return sizes[ST_PARAM_LAST];
    }
}

static bool level_varies(const st_plans *plans, size_t level)
{
    for (size_t i = 1; i < plans->shape_count; i++)
        if (size_of(&plans->shapes[i], level) != size_of(&plans->shapes[0], level))
            return true;
    return false;
}

static bool list_varies(const st_plans *plans, size_t list)
{
    for (size_t i = 0; i < plans->shape_count; i++)
        if (plans->shapes[i].counts[list] > 1)
            return true;
    return false;
}

st_lattice st_lattice_make(const st_search *search)
{
    st_lattice made = {.search = search};
    for (size_t i = 0; i < ST_LATTICE_SIZES; i++)
        if (level_varies(&search->plans, i))
            made.choices[made.dimension++] = i;
    for (size_t i = 0; i < ST_SHAPE_LISTS; i++)
        if (list_varies(&search->plans, i))
            made.choices[made.dimension++] = ST_LATTICE_SIZES + i;
    for (size_t i = 0; i < search->space->axis_count; i++)
        if (search->space->axes[i].axis.count > 1)
            made.choices[made.dimension++] = ST_LATTICE_SIZES + ST_SHAPE_LISTS + i;
    return made;
}

/* One of `count` equal parts of the range from 0 to 1. */
static uint64_t part_of(double coordinate, uint64_t count)
{
    double part = coordinate * (double)count;
    return part < 1 ? 0 : part >= (double)count ? count - 1 : (uint64_t)part;
}

/* Narrows the shapes to those with one size out of the sizes that they have. */
static void narrow(const st_shape *shapes, size_t level, double coordinate, size_t range[2])
{
    size_t groups = 1;
    for (size_t i = range[0] + 1; i < range[1]; i++)
        groups += size_of(&shapes[i], level) != size_of(&shapes[i - 1], level) ? 1 : 0;
    uint64_t wanted = part_of(coordinate, groups);
    size_t first = range[0];
    for (size_t i = range[0] + 1; i < range[1]; i++) {
        if (size_of(&shapes[i], level) == size_of(&shapes[i - 1], level))
            continue;
        if (wanted == 0) {
            range[1] = i;
            break;
        }
        wanted--;
        first = i;
    }
    range[0] = first;
}

uint64_t st_lattice_row(const st_lattice *lattice, const double *point)
{
    const st_search *search = lattice->search;
    const st_space *space = search->space;
    double at[ST_LATTICE_MOST] = {0};
    size_t range[2] = {0, search->plans.shape_count};
    for (size_t i = 0; i < lattice->dimension; i++)
        at[lattice->choices[i]] = point[i];
    for (size_t i = 0; i < ST_LATTICE_SIZES; i++)
        narrow(search->plans.shapes, i, at[i], range);
    const st_shape *shape = &search->plans.shapes[range[0]];
    uint64_t plan = 0;
    for (size_t i = 0; i < ST_SHAPE_LISTS; i++)
        plan = plan * shape->counts[i] + part_of(at[ST_LATTICE_SIZES + i], shape->counts[i]);
    uint64_t row = 0;
    for (size_t i = 0; i < space->axis_count; i++) {
        uint64_t count = space->axes[i].axis.count;
        row = row * count + part_of(at[ST_LATTICE_SIZES + ST_SHAPE_LISTS + i], count);
    }
    return (shape->first + plan) * space->total + row;
}
