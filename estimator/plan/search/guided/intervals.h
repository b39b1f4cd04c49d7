/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic on ranges, one function per operation of a program.
 *
 * A range represents finite values, although its ends may be infinite: what is
 * not finite never turns finite again in a program, so it is left out wherever it arises.
 */
#ifndef STEPTIME_GUIDED_INTERVALS_H
#define STEPTIME_GUIDED_INTERVALS_H

#include "search/guided/bounds.h"
#include "program/ops.h"

static inline bool st_range_is_none(st_range x)
{
    return x.low != x.low;
}

static inline bool st_range_is(st_range x, double value)
{
    return x.low == value && x.high == value;
}

static inline st_range st_range_point(double value)
{
    double own = isfinite(value) ? value : (double)NAN;
    return (st_range){own, own};
}

/* The range of one operation on ranges: `c` is the condition of a selection. */
st_range st_range_apply(st_op op, st_range a, st_range b, st_range c);

#endif
