/* SPDX-License-Identifier: Apache-2.0 */
/* What measured neighbours of a shape predict; see operators.h. */
#include "operator-times/fit/operators.h"

#include <math.h>
#include <string.h>

static double distance_of(const double *first, const double *second, size_t keys)
{
    double sum = 0;
    for (size_t i = 0; i < keys; i++)
        sum += (first[i] - second[i]) * (first[i] - second[i]);
    return sum;
}

double st_operator_between(const st_operator_points *points, const double *logs)
{
    static const double softening =
        0.01; /* of a squared distance: equal shapes do not rule alone */
    st_near nearest[ST_OPERATOR_NEIGHBOURS];
    size_t count = 0;
    double weights = 0;
    double sum = 0;
    for (size_t i = 0; i < points->count; i++)
        st_keep_near(nearest, &count, ST_OPERATOR_NEIGHBOURS,
                     (st_near){distance_of(points->logs + i * points->keys, logs, points->keys),
                               points->ratios[i]});
    for (size_t i = 0; i < count; i++) {
        double weight = 1.0 / (nearest[i].distance + softening);
        weights += weight;
        sum += weight * nearest[i].value;
    }
    return weights > 0 ? sum / weights : 1.0;
}
