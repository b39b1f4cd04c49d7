/* SPDX-License-Identifier: Apache-2.0 */
/* Distances are in standard deviations, so that no counter outweighs the others by its unit. */
#include "overlap-xgboost/fit/neighbours.h"

#include "fit/steps/stats.h"

#include <math.h>
#include <string.h>

static bool is_word(size_t feature)
{
    return feature == ST_FEATURE_PROTOCOL || feature == ST_FEATURE_ALGORITHM ||
           feature == ST_FEATURE_COLLECTIVE || feature == ST_FEATURE_GPU;
}

static double deviation_of(const st_kernel_rows *rows, size_t feature)
{
    double sum = 0;
    double squares = 0;
    size_t known = 0;
    for (size_t i = 0; i < rows->count; i++) {
        double value = (double)rows->kernels->rows[rows->items[i]].features[feature];
        known += isnan(value) ? 0 : 1;
        sum += isnan(value) ? 0 : value;
    }
    double mean = known > 0 ? sum / (double)known : 0;
    for (size_t i = 0; i < rows->count; i++) {
        double value = (double)rows->kernels->rows[rows->items[i]].features[feature];
        squares += isnan(value) ? 0 : (value - mean) * (value - mean);
    }
    return known > 0 ? sqrt(squares / (double)known) : 0;
}

st_status st_neighbours_learn(const st_kernel_rows *rows, st_arena *arena,
                              st_neighbours *neighbours)
{
    size_t *items = st_arena_alloc(arena, rows->count + 1, sizeof *items);
    if (items == NULL)
        return ST_ERR_MEMORY;
    *neighbours = (st_neighbours){.rows = {.kernels = rows->kernels, .items = items}};
    for (size_t i = 0; i < rows->count; i++)
        if (rows->kernels->rows[rows->items[i]].share >= ST_LEAST_SHARE)
            items[neighbours->rows.count++] = rows->items[i];
    for (size_t j = 0; j < ST_FEATURE_CLASS; j++)
        neighbours->deviation[j] = is_word(j) ? 0 : deviation_of(&neighbours->rows, j);
    return ST_OK;
}

/* What is known of one kernel alone counts as one deviation, another word likewise. */
static double distance(const st_neighbours *neighbours, const st_kernel *left,
                       const st_kernel *right)
{
    double sum = 0;
    for (size_t j = 0; j < ST_FEATURE_CLASS; j++) {
        double a = (double)left->features[j];
        double b = (double)right->features[j];
        double apart = 0;
        if (isnan(a) || isnan(b))
            apart = isnan(a) && isnan(b) ? 0 : 1;
        else if (is_word(j))
            apart = a < b || a > b ? 1 : 0;
        else if (neighbours->deviation[j] > 0)
            apart = (a - b) / neighbours->deviation[j];
        sum += apart * apart;
    }
    return sum;
}

double st_neighbours_ask(const st_neighbours *neighbours, const st_kernel *kernel)
{
    st_near nearest[ST_NEIGHBOURS];
    double slowdowns[ST_NEIGHBOURS];
    size_t count = 0;
    for (size_t i = 0; i < neighbours->rows.count; i++) {
        const st_kernel *other = &neighbours->rows.kernels->rows[neighbours->rows.items[i]];
        if (strcmp(other->name, kernel->name) == 0)
            st_keep_near(nearest, &count, ST_NEIGHBOURS,
                         (st_near){distance(neighbours, other, kernel), other->slowdown});
    }
    for (size_t i = 0; i < count; i++)
        slowdowns[i] = nearest[i].value;
    return count > 0 ? fmax(st_median(slowdowns, count), neighbours->rows.kernels->least)
                     : (double)NAN;
}
