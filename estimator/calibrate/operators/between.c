/* SPDX-License-Identifier: Apache-2.0 */
/* What measured neighbours of a shape tell; see operators.h. */
#include "calibrate/operators/operators.h"

#include <math.h>
#include <string.h>

/* The nearest points so far, the nearest first. */
typedef struct nearest {
    double distances[ST_OPERATOR_NEIGHBOURS];
    double ratios[ST_OPERATOR_NEIGHBOURS];
    size_t count;
} nearest;

static double distance_of(const double *first, const double *second, size_t keys)
{
    double sum = 0;
    for (size_t i = 0; i < keys; i++)
        sum += (first[i] - second[i]) * (first[i] - second[i]);
    return sum;
}

static void insert(nearest *own, double distance, double ratio)
{
    size_t place = own->count;
    if (place == ST_OPERATOR_NEIGHBOURS && distance >= own->distances[place - 1])
        return;
    if (place == ST_OPERATOR_NEIGHBOURS)
        place--;
    else
        own->count++;
    for (; place > 0 && own->distances[place - 1] > distance; place--) {
        own->distances[place] = own->distances[place - 1];
        own->ratios[place] = own->ratios[place - 1];
    }
    own->distances[place] = distance;
    own->ratios[place] = ratio;
}

double st_operator_between(const st_operator_points *points, const double *logs)
{
    static const double softening =
        0.01; /* of a squared distance: equal shapes do not rule alone */
    nearest own = {.count = 0};
    double weights = 0;
    double sum = 0;
    for (size_t i = 0; i < points->count; i++)
        insert(&own, distance_of(points->logs + i * points->keys, logs, points->keys),
               points->ratios[i]);
    for (size_t i = 0; i < own.count; i++) {
        double weight = 1.0 / (own.distances[i] + softening);
        weights += weight;
        sum += weight * own.ratios[i];
    }
    return weights > 0 ? sum / weights : 1.0;
}
