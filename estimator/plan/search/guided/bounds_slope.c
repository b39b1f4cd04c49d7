/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an output is least: slopes with respect to what every provider gives, as ranges over all
 * that providers may give, backwards through the program (reverse accumulation; Griewank and
 * Walther, Evaluating Derivatives, 2nd ed., sec. 3.2, on intervals instead of numbers).
 *
 * An operation with a corner, such as min, has the slopes of both sides for its range (Clarke's
 * generalised gradient). One that jumps, as a choice that depends on a provider does, has any
 * slope, and then nothing is shown. A slope that is nowhere negative keeps an output from falling.
 */
#include "search/guided/bounds_inside.h"

#include <float.h>

static const st_range any = {-HUGE_VAL, HUGE_VAL};
static const st_range rising = {0, HUGE_VAL};
static const st_range falling = {-HUGE_VAL, 0};
static const st_range one = {1, 1};
static const st_range minus_one = {-1, -1};
static const st_range flat = {0, 0};

/*
 * A product or quotient of slopes. One too small for a number is still no 0, which would say that
 * nothing changes: it keeps its sign.
 */
static st_range scaled(st_op op, st_range a, st_range b)
{
    st_range made = st_range_apply(op, a, b, flat);
    bool may_fall = (a.low < 0 && b.high > 0) || (a.high > 0 && b.low < 0);
    bool may_rise = (a.low < 0 && b.low < 0) || (a.high > 0 && b.high > 0);
    made.low = made.low == 0 && may_fall ? -DBL_TRUE_MIN : made.low;
    made.high = made.high == 0 && may_rise ? DBL_TRUE_MIN : made.high;
    return made;
}

static st_range product(st_range a, st_range b)
{
    return scaled(ST_OP_MULTIPLY, a, b);
}

/* Slopes of a quotient in its two operands. */
static void divide(st_range a, st_range b, st_range slopes[2])
{
    if (b.low < 0 && b.high > 0) {
        slopes[0] = slopes[1] = any;
        return;
    }
    st_range inverse = scaled(ST_OP_DIVIDE, one, b);
    st_range quotient = scaled(ST_OP_DIVIDE, a, b);
    slopes[0] = inverse;
    slopes[1] = product(minus_one, product(quotient, inverse));
}

/* A power of what is not negative; its slope in the exponent is not looked into. */
static void raise(st_range a, st_range b, st_range slopes[2])
{
    bool known = a.low >= 0 && b.low == b.high;
    slopes[0] = !known ? any : b.low >= 0 ? rising : falling;
    slopes[1] = any;
}

/* One side of min (or max) counts, or either may. */
static void pick(bool least, st_range a, st_range b, st_range slopes[2])
{
    static const st_range either = {0, 1};
    bool first = least ? a.high <= b.low : a.low >= b.high;
    bool second = least ? b.high <= a.low : b.low >= a.high;
    slopes[0] = first ? one : second ? flat : either;
    slopes[1] = first ? flat : second ? one : either;
}

/* Slopes of an operation in its operands; a choice is seen to by who calls. */
static void find_slopes(st_op op, st_range a, st_range b, st_range slopes[2])
{
    switch (op) {
    case ST_OP_ADD:
    case ST_OP_SUBTRACT:
        slopes[0] = one;
        slopes[1] = op == ST_OP_ADD ? one : minus_one;
        break;
    case ST_OP_MULTIPLY:
        slopes[0] = b;
        slopes[1] = a;
        break;
    case ST_OP_DIVIDE:
        divide(a, b, slopes);
        break;
    case ST_OP_POWER:
        raise(a, b, slopes);
        break;
    case ST_OP_MIN:
    case ST_OP_MAX:
        pick(op == ST_OP_MIN, a, b, slopes);
        break;
    case ST_OP_NEGATE:
        slopes[0] = minus_one;
        break;
    case ST_OP_ABS: {
        static const st_range both = {-1, 1};
        slopes[0] = a.low >= 0 ? one : a.high <= 0 ? minus_one : both;
        break;
    }
    case ST_OP_SQRT:
    case ST_OP_LOG2:
    case ST_OP_LOG:
    case ST_OP_EXP:
        slopes[0] = rising;
        break;
    default:
        slopes[0] = slopes[1] = any;
    }
}

static void add_slope(st_bounds *self, uint32_t slot, st_range slope)
{
    if (self->open[slot])
        self->slopes[slot] = st_range_apply(ST_OP_ADD, self->slopes[slot], slope, flat);
}

/* Of a choice that is known the chosen side alone counts. */
static void pass_choice(st_bounds *self, const st_instruction *choice, st_range slope)
{
    if (self->open[choice->c]) {
        add_slope(self, choice->a, any);
        add_slope(self, choice->b, any);
        add_slope(self, choice->c, any);
        return;
    }
    add_slope(self, self->values[choice->c] == 1 ? choice->a : choice->b, slope);
}

/* What nobody knows: a provider's value, or that of the formula where the provider refuses. */
static bool is_leaf(const st_instruction *i)
{
    return i->op == ST_OP_CALL || i->op == ST_OP_OTHERWISE;
}

static bool never_falls(st_bounds *self, uint32_t slot)
{
    for (size_t i = 0; i < self->program->slot_count; i++)
        self->slopes[i] = flat;
    self->slopes[slot] = one;
    for (size_t i = self->program->instruction_count; i-- > 0;) {
        const st_instruction *each = &self->program->instructions[i];
        st_range slope = self->slopes[each->target];
        if (!self->open[each->target] || (slope.low == 0 && slope.high == 0))
            continue;
        /* Never negative: a leaf of which that is not known could be below 0. A product that
         * rises, although slopes of its factors do not tell. */
        if (each->op == ST_OP_MULTIPLY && self->open[each->a] && self->open[each->b] &&
            st_bounds_region_rises(self, each)) {
            add_slope(self, self->entries[each->target], product(slope, rising));
        } else if (!is_leaf(each)) {
            st_range slopes[2] = {flat, flat};
            if (each->op == ST_OP_SELECT) {
                pass_choice(self, each, slope);
                continue;
            }
            size_t operands = st_operand_count(each->op);
            find_slopes(each->op, st_bounds_range(self, each->a),
                        operands > 1 ? st_bounds_range(self, each->b) : flat, slopes);
            add_slope(self, each->a, product(slope, slopes[0]));
            if (operands > 1)
                add_slope(self, each->b, product(slope, slopes[1]));
        } else if (!(slope.low >= 0) || !(st_bounds_range(self, each->target).low >= 0)) {
            return false;
        }
    }
    return true;
}

double st_bounds_least(st_bounds *bounds, size_t output)
{
    const double slack = 1e-9;
    uint32_t slot = bounds->program->outputs[output].slot;
    if (!bounds->open[slot])
        return bounds->values[slot];
    if (!never_falls(bounds, slot))
        return -HUGE_VAL;
    /* Every open slot where all leaves are 0. */
    const st_program *program = bounds->program;
    for (size_t i = 0; i < program->instruction_count; i++) {
        const st_instruction *each = &program->instructions[i];
        if (!bounds->open[each->target])
            continue;
        double operands[3] = {0, 0, 0};
        const uint32_t slots[3] = {each->a, each->b, each->c};
        for (size_t k = 0; !is_leaf(each) && k < st_operand_count(each->op) && k < 3; k++)
            operands[k] =
                bounds->open[slots[k]] ? bounds->least[slots[k]] : bounds->values[slots[k]];
        bounds->least[each->target] =
            is_leaf(each) ? 0 : st_apply(each->op, operands[0], operands[1], operands[2]);
    }
    double least = bounds->least[slot];
    return isfinite(least) ? least - slack * fabs(least) : -HUGE_VAL;
}
