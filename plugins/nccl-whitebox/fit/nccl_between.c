/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a table foretells without a model of collectives: straight lines between the logarithms of
 * times, over those of neighbouring sizes or numbers of ranks, beyond the outermost as far as the
 * nearest two go. A model that does no better is not worth its options.
 */
#include "nccl-whitebox/fit/nccl_fit.h"

#include <math.h>

enum { MOST_POINTS = 8192 }; /* every pair is looked at */

/* Two points of a line over logarithms; `count` of them are known. */
typedef struct pair {
    double places[2];
    double times[2];
    size_t count;
} pair;

/* The nearest two known places around one: on both sides where there are some, else on one. */
static void take(pair *both, double at, double place, double time)
{
    bool below = place < at;
    for (size_t i = 0; i < both->count; i++) {
        if ((both->places[i] < at) != below)
            continue;
        if (fabs(place - at) >= fabs(both->places[i] - at))
            return;
        both->places[i] = place;
        both->times[i] = time;
        return;
    }
    both->places[both->count] = place;
    both->times[both->count++] = time;
}

/* The second nearest on the same side, where the other side has none. */
static void take_second(pair *both, double place, double time)
{
    double away = fabs(place - both->places[0]);
    if (away == 0 || (both->count > 1 && away >= fabs(both->places[1] - both->places[0])))
        return;
    both->places[1] = place;
    both->times[1] = time;
    both->count = 2;
}

typedef struct neighbour {
    const st_nccl_fit *fit;
    size_t point; /* that is foretold */
    bool by_ranks;
    const bool *counts; /* points that help, and of these those around alone; NULL: all */
} neighbour;

/* Whether groups differ in their number alone: as many ranks on each of several nodes, or no pair
 * over PCIe, which reaches each other directly. */
static bool is_alike(const st_nccl_fit *fit, const st_nccl_table *mine, const st_nccl_table *its)
{
    if (mine->nodes > 1 || its->nodes > 1)
        return mine->nodes > 1 && its->nodes > 1 &&
               mine->ranks * its->nodes == its->ranks * mine->nodes;
    for (size_t i = 0; i < fit->table_count; i++)
        if ((fit->tables[i] == mine || fit->tables[i] == its) && fit->tables[i]->ranks <= 2 &&
            st_nccl_is_over_pcie(&fit->model.group_rates[i]))
            return false;
    return true;
}

/* Whether a point helps to foretell another, and where it lies. */
static bool helps(const neighbour *near, size_t other, double *place)
{
    const st_nccl_point *points = near->fit->model.points;
    const st_nccl_table *mine = near->fit->tables[points[near->point].table];
    const st_nccl_table *its = near->fit->tables[points[other].table];
    double size = points[near->point].row->size_bytes;
    double its_size = points[other].row->size_bytes;
    if (!near->by_ranks) {
        *place = log(its_size);
        return points[other].table == points[near->point].table && its_size != size;
    }
    *place = log((double)its->ranks);
    if (near->counts != NULL && (!near->counts[other] || !is_alike(near->fit, mine, its)))
        return false;
    return its_size == size && its->ranks != mine->ranks && (its->nodes > 1) == (mine->nodes > 1);
}

static double foretell(const neighbour *near)
{
    const st_nccl_model *model = &near->fit->model;
    const st_nccl_point *point = &model->points[near->point];
    double at = near->by_ranks ? log((double)near->fit->tables[point->table]->ranks)
                               : log(point->row->size_bytes);
    pair around = {.count = 0};
    double place = 0;
    for (size_t i = 0; i < model->point_count; i++)
        if (helps(near, i, &place))
            take(&around, at, place, log(model->points[i].measured_s));
    if (near->counts != NULL &&
        (around.count < 2 || (around.places[0] < at) == (around.places[1] < at)))
        return (double)NAN;
    for (size_t i = 0; around.count == 1 && i < model->point_count; i++)
        if (helps(near, i, &place) && place != around.places[0]) {
            pair second = around;
            take_second(&second, place, log(model->points[i].measured_s));
            for (size_t k = i + 1; k < model->point_count; k++)
                if (helps(near, k, &place))
                    take_second(&second, place, log(model->points[k].measured_s));
            around = second;
        }
    if (around.count == 0)
        return (double)NAN;
    if (around.count == 1)
        return exp(around.times[0]);
    double slope = (around.times[1] - around.times[0]) / (around.places[1] - around.places[0]);
    return exp(around.times[0] + slope * (at - around.places[0]));
}

/* How much less straight lines are off than nominal times, summed over the points of a number of
 * ranks in a range; NaN: it lies between no others. */
static double gain_between(const st_nccl_fit *fit, const bool *counts, const st_nccl_table *group,
                           const st_nccl_range *range)
{
    double gain = (double)NAN;
    for (size_t i = 0; i < fit->model.point_count; i++) {
        const st_nccl_point *point = &fit->model.points[i];
        const st_nccl_table *table = fit->tables[point->table];
        double nominal = fit->times_s[ST_NCCL_NOMINAL][i];
        const neighbour near = {.fit = fit, .point = i, .by_ranks = true, .counts = counts};
        if (!counts[i] || table->ranks != group->ranks || table->nodes != group->nodes ||
            point->row->size_bytes < range->from_bytes || point->row->size_bytes > range->to_bytes)
            continue;
        double off = fabs(nominal / point->measured_s - 1);
        double line = foretell(&near);
        if (isfinite(off) && isfinite(line))
            gain = (isnan(gain) ? 0 : gain) + off - fabs(line / point->measured_s - 1);
    }
    return gain;
}

const char *st_nccl_between_mark(const st_nccl_fit *fit, const bool *counts, size_t table)
{
    static const char *const marks[] = {"", "~small", "~large", "~all"};
    const st_nccl_table *ends[2] = {fit->tables[table], NULL};
    size_t chosen = 0;
    for (size_t i = 0; i < fit->model.point_count; i++) {
        const st_nccl_table *its = fit->tables[fit->model.points[i].table];
        if (counts[i] && its->ranks > ends[0]->ranks && is_alike(fit, ends[0], its) &&
            (ends[1] == NULL || its->ranks < ends[1]->ranks))
            ends[1] = its;
    }
    for (size_t k = 0; ends[1] != NULL && k < 2 && fit->model.point_count <= MOST_POINTS; k++) {
        const st_nccl_range *range = &st_nccl_ranges[k > 0 ? ST_NCCL_LARGE : ST_NCCL_SMALL];
        double below = gain_between(fit, counts, ends[0], range);
        double above = gain_between(fit, counts, ends[1], range);
        bool one = isfinite(below) || isfinite(above);
        chosen += one && !(below <= 0) && !(above <= 0) ? (size_t)1 << k : 0;
    }
    return marks[chosen];
}

st_status st_nccl_baselines(st_nccl_fit *fit, st_arena *arena)
{
    size_t points = fit->model.point_count;
    for (int by_ranks = 0; by_ranks < 2; by_ranks++) {
        double *times = st_arena_alloc(arena, points + 1, sizeof *times);
        bool some = false;
        if (times == NULL)
            return ST_ERR_MEMORY;
        for (size_t i = 0; i < points; i++) {
            const neighbour near = {.fit = fit, .point = i, .by_ranks = by_ranks > 0};
            times[i] = points <= MOST_POINTS ? foretell(&near) : (double)NAN;
            some = some || isfinite(times[i]);
        }
        if (some)
            fit->times_s[by_ranks ? ST_NCCL_BETWEEN_RANKS : ST_NCCL_BETWEEN_SIZES] = times;
    }
    return ST_OK;
}
