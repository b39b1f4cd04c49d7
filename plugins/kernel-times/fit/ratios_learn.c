/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of ratios learnt from kernels that were measured on both GPUs; see ratios.h. */
#include "kernel-times/fit/ratios.h"

#include <math.h>
#include <string.h>

enum { LEAST_KERNELS = 5 }; /* behind a point */

/* The doubling that a duration falls into, from 2^-40 s on. */
static size_t doubling_of(double seconds)
{
    double at = round(log2(seconds)) + 40;
    return (size_t)fmin(fmax(at, 0), ST_RATIOS_POINTS - 1);
}

static bool counts(const st_ratios_kernel *kernel, st_trace_class class_, size_t left_out)
{
    return kernel->class_ == class_ && kernel->group != left_out;
}

/* The median of those in a doubling, or of all; NaN where they are too few. */
static double ratio_of(const st_ratios_kernels *kernels, st_trace_class class_, size_t left_out,
                       size_t doubling, double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        const st_ratios_kernel *kernel = &kernels->items[i];
        if (counts(kernel, class_, left_out) &&
            (doubling == SIZE_MAX || doubling_of(kernel->from_s) == doubling))
            values[count++] = kernel->to_s / kernel->from_s;
    }
    return count >= LEAST_KERNELS ? st_median(values, count) : (double)NAN;
}

static void add_point(st_ratios *ratios, st_trace_class class_, double from_s, double ratio)
{
    if (!isnan(ratio))
        ratios->points[class_][ratios->counts[class_]++] = (st_ratios_point){from_s, ratio};
}

st_status st_ratios_learn(const st_ratios_kernels *kernels, size_t left_out, bool flat,
                          st_arena *arena, st_ratios *ratios)
{
    double *values = st_arena_alloc(arena, kernels->count + 1, sizeof *values);
    if (values == NULL)
        return ST_ERR_MEMORY;
    memset(ratios->counts, 0, sizeof ratios->counts);
    for (st_trace_class class_ = 0; class_ < ST_TRACE_CLASSES; class_++) {
        if (flat)
            add_point(ratios, class_, 1, ratio_of(kernels, class_, left_out, SIZE_MAX, values));
        for (size_t i = 0; i < ST_RATIOS_POINTS && !flat; i++)
            add_point(ratios, class_, ldexp(1, (int)i - 40),
                      ratio_of(kernels, class_, left_out, i, values));
    }
    return ST_OK;
}
