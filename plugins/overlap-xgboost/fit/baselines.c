/* SPDX-License-Identifier: Apache-2.0 */
/* See baselines.h. */
#include "overlap-xgboost/fit/baselines.h"

#include "fit/steps/stats.h"

#include <math.h>
#include <string.h>

const char *const st_baseline_names[ST_BASELINES] = {"constant", "none", "name median",
                                                     "neighbours"};

double st_slowdown_of_share(const st_kernel *kernel, double slowdown)
{
    return 1 - kernel->share + kernel->share * slowdown;
}

double st_slowdown_constant(const st_kernel_rows *rows)
{
    double concurrent_ns = 0;
    double measured_ns = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const st_kernel *kernel = &rows->kernels->rows[rows->items[i]];
        concurrent_ns += kernel->share * kernel->isolated_ns;
        measured_ns += kernel->overlapped_ns - (1 - kernel->share) * kernel->isolated_ns;
    }
    return concurrent_ns > 0 ? fmax(measured_ns / concurrent_ns, 1) : 1;
}

/* Of all kernels, or of those of a name; NaN where there is none. */
static double median_of(const st_kernel_rows *rows, const char *name, double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const st_kernel *kernel = &rows->kernels->rows[rows->items[i]];
        if (name == NULL || strcmp(kernel->name, name) == 0)
            values[count++] = kernel->slowdown;
    }
    return count == 0 ? (double)NAN : fmax(st_median(values, count), rows->kernels->least);
}

st_status st_baseline_predict(st_baseline baseline, const st_kernel_rows *learn,
                              const st_kernel_rows *held, st_arena *arena, double *factors)
{
    st_neighbours learnt;
    double *values = st_arena_alloc(arena, learn->count + 1, sizeof *values);
    if (values == NULL || st_neighbours_learn(learn, arena, &learnt) != ST_OK)
        return ST_ERR_MEMORY;
    bool by_kernel = baseline == ST_BASELINE_MEDIAN || baseline == ST_BASELINE_NEIGHBOURS;
    double slowdown = baseline == ST_BASELINE_CONSTANT ? st_slowdown_constant(learn) : 1;
    for (size_t i = 0; i < held->count; i++) {
        const st_kernel *kernel = &held->kernels->rows[held->items[i]];
        if (by_kernel) {
            /* The slowdown of one kernel; `values` has room for all rows learnt from. */
            double found = baseline == ST_BASELINE_NEIGHBOURS
                               ? st_neighbours_ask(&learnt, kernel)
                               : median_of(&learnt.rows, kernel->name, values);
            double all =
                baseline == ST_BASELINE_NEIGHBOURS ? 1 : median_of(&learnt.rows, NULL, values);
            slowdown = !isnan(found) ? found : !isnan(all) ? all : 1;
        }
        factors[i] = st_slowdown_of_share(kernel, slowdown);
    }
    return ST_OK;
}
