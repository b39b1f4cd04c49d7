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
} neighbour;

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
