/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on ranges; see intervals.h. */
#include "search/guided/intervals.h"

static const st_range none = {(double)NAN, (double)NAN};

/* A range of values that are finite; none where there can be no such value. */
static st_range make(double low, double high)
{
    bool exists = low <= high && low < HUGE_VAL && high > -HUGE_VAL;
    return exists ? (st_range){low, high} : none;
}

/* Mathematics libraries err by an ulp or two, which is 1e-15 of the value, and may not keep order.
 */
static st_range widen(double low, double high)
{
    const double slack = 1e-12;
    double down = isfinite(low) ? low - slack * fabs(low) : low;
    double up = isfinite(high) ? high + slack * fabs(high) : high;
    return make(down, up);
}

static st_range hull(st_range a, st_range b)
{
    if (st_range_is_none(a) || st_range_is_none(b))
        return st_range_is_none(a) ? b : a;
    return make(a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high);
}

static st_range hull_of(const double corners[4])
{
    st_range range = {corners[0], corners[0]};
    for (int i = 1; i < 4; i++) {
        range.low = corners[i] < range.low ? corners[i] : range.low;
        range.high = corners[i] > range.high ? corners[i] : range.high;
    }
    return make(range.low, range.high);
}

/* Infinite ends represent finite values: zero times any of them is zero. */
static double times(double x, double y)
{
    return x == 0 || y == 0 ? 0 : x * y;
}

/* `y` is an end of a range that lies, but for that end, on the side of `sign`. */
static double over(double x, double y, double sign)
{
    if (x == 0 || isinf(y))
        return 0;
    return y == 0 ? x * sign * HUGE_VAL : x / y;
}

static st_range divide(st_range a, st_range b)
{
    if (st_range_is(b, 0))
        return none;
    if (b.low < 0 && b.high > 0)
        return st_range_is(a, 0) ? a : make(-HUGE_VAL, HUGE_VAL);
    double sign = b.low < 0 ? -1 : 1;
    return hull_of((double[4]){over(a.low, b.low, sign), over(a.low, b.high, sign),
                               over(a.high, b.low, sign), over(a.high, b.high, sign)});
}

static st_range truth(bool can_be_false, bool can_be_true)
{
    return make(can_be_false ? 0 : 1, can_be_true ? 1 : 0);
}

static st_range compare(st_op op, st_range a, st_range b)
{
    bool same = st_range_is(a, b.low) && b.low == b.high;
    bool meet = a.low <= b.high && b.low <= a.high;
    switch (op) {
    case ST_OP_LESS:
        return truth(a.high >= b.low, a.low < b.high);
    case ST_OP_LESS_EQUAL:
        return truth(a.high > b.low, a.low <= b.high);
    case ST_OP_EQUAL:
        return truth(!same, meet);
    case ST_OP_UNEQUAL:
        return truth(meet, !same);
    default: /* other operations may yield anything */
        return make(-HUGE_VAL, HUGE_VAL);
    }
}

/* `and` and `or` ask the other operand only where one does not decide. */
static st_range decide(st_range a, st_range b, double decisive)
{
    if (st_range_is(a, decisive) || st_range_is(b, decisive))
        return (st_range){decisive, decisive};
    if (st_range_is_none(a) || st_range_is_none(b)) {
        st_range other = st_range_is_none(a) ? b : a;
        bool may = !st_range_is_none(other) && other.low <= decisive && other.high >= decisive;
        return may ? (st_range){decisive, decisive} : none;
    }
    return decisive == 0 ? make(a.low * b.low, a.high * b.high)
                         : make(a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high);
}

static st_range apply_unary(st_op op, st_range a)
{
    switch (op) {
    case ST_OP_NEGATE:
        return make(-a.high, -a.low);
    case ST_OP_NOT:
        return make(1 - a.high, 1 - a.low);
    case ST_OP_ABS: {
        double low = fabs(a.low);
        double high = fabs(a.high);
        double most = low > high ? low : high;
        bool around = a.low <= 0 && a.high >= 0;
        return make(around ? 0 : low < high ? low : high, most);
    }
    case ST_OP_SQRT:
        return a.high < 0 ? none : make(a.low > 0 ? sqrt(a.low) : 0, sqrt(a.high));
    case ST_OP_LOG2:
    case ST_OP_LOG: {
        if (a.high <= 0)
            return none;
        double low = a.low > 0 ? st_apply(op, a.low, 0, 0) : -HUGE_VAL;
        return widen(low, isinf(a.high) ? a.high : st_apply(op, a.high, 0, 0));
    }
    case ST_OP_LGAMMA: { /* rises from 2 on; falls from infinity to its least value before */
        double ends[] = {a.low > 0 ? lgamma(a.low) : HUGE_VAL, lgamma(a.high)};
        double most = ends[0] > ends[1] ? ends[0] : ends[1];
        return a.high <= 0 ? none : widen(a.low >= 2 ? ends[0] : -0.1215, most);
    }
    case ST_OP_EXP:
        return widen(exp(a.low), exp(a.high));
    default: /* floor, ceil, round: they keep order, and infinite ends */
        return make(isinf(a.low) ? a.low : st_apply(op, a.low, 0, 0),
                    isinf(a.high) ? a.high : st_apply(op, a.high, 0, 0));
    }
}

static st_range apply_binary(st_op op, st_range a, st_range b)
{
    switch (op) {
    case ST_OP_ADD:
        return make(a.low + b.low, a.high + b.high);
    case ST_OP_SUBTRACT:
        return make(a.low - b.high, a.high - b.low);
    case ST_OP_MULTIPLY:
        return hull_of((double[4]){times(a.low, b.low), times(a.low, b.high), times(a.high, b.low),
                                   times(a.high, b.high)});
    case ST_OP_DIVIDE:
        return divide(a, b);
    case ST_OP_POWER: {
        /* Of a base that is not negative a power is monotone in both; other bases are not looked
         * into. */
        if (a.low < 0 || (a.low == 0 && b.low <= 0) || isinf(a.high) || isinf(b.low) ||
            isinf(b.high))
            return a.low >= 0 ? make(0, HUGE_VAL) : make(-HUGE_VAL, HUGE_VAL);
        st_range range = hull_of((double[4]){pow(a.low, b.low), pow(a.low, b.high),
                                             pow(a.high, b.low), pow(a.high, b.high)});
        return st_range_is_none(range) ? range : widen(range.low, range.high);
    }
    case ST_OP_MIN:
        return make(a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high);
    case ST_OP_MAX:
        return make(a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high);
    default:
        return compare(op, a, b);
    }
}

static bool is_unary(st_op op)
{
    return op >= ST_OP_NEGATE && op <= ST_OP_EXP;
}

st_range st_range_apply(st_op op, st_range a, st_range b, st_range c)
{
    switch (op) {
    case ST_OP_SELECT:
        if (st_range_is_none(c))
            return none;
        return st_range_is(c, 1) ? a : st_range_is(c, 0) ? b : hull(a, b);
    case ST_OP_AND:
        return decide(a, b, 0);
    case ST_OP_OR:
        return decide(a, b, 1);
    case ST_OP_OTHERWISE: /* what is known to exist is taken; what may be refused is not known */
        return a.low == a.high ? a : hull(a, b);
    default:
        break;
    }
    if (st_range_is_none(a) || (!is_unary(op) && st_range_is_none(b)))
        return none;
    return is_unary(op) ? apply_unary(op, a) : apply_binary(op, a, b);
}
