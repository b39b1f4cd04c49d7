/* SPDX-License-Identifier: Apache-2.0 */
/* Programs over ranges; see bounds.h. */
#include "program/instructions.h"
#include "program/scalar.h"
#include "search/guided/bounds.h"
#include "search/guided/intervals.h"

#include <float.h>
#include <string.h>

#define ST_NO_ENTRY UINT32_MAX

struct st_bounds {
    const st_program *program;
    bool *unknown;     /* per call: its provider is not asked */
    bool *open;        /* per slot: depends on such a call */
    double *values;    /* per slot that is not open */
    st_range *ranges;  /* per slot that is */
    st_range *slopes;  /* per slot that is: how an output changes with it */
    uint32_t *entries; /* per slot that is: the last one through which all that is open comes */
    double *least;     /* per slot that is: its value where providers give nothing */
};

static size_t operand_count(st_op op);
static void find_entries(st_bounds *self);
static bool region_rises(const st_bounds *self, const st_instruction *target);
static st_range range_of(const st_bounds *self, uint32_t slot);

static const st_range any = {-HUGE_VAL, HUGE_VAL};
static const st_range rising = {0, HUGE_VAL};
static const st_range falling = {-HUGE_VAL, 0};
static const st_range plus_one = {1, 1};
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
    st_range inverse = scaled(ST_OP_DIVIDE, plus_one, b);
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
    slopes[0] = first ? plus_one : second ? flat : either;
    slopes[1] = first ? flat : second ? plus_one : either;
}

/* Slopes of an operation in its operands; a choice is seen to by who calls. */
static void find_slopes(st_op op, st_range a, st_range b, st_range slopes[2])
{
    switch (op) {
    case ST_OP_ADD:
    case ST_OP_SUBTRACT:
        slopes[0] = plus_one;
        slopes[1] = op == ST_OP_ADD ? plus_one : minus_one;
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
        slopes[0] = a.low >= 0 ? plus_one : a.high <= 0 ? minus_one : both;
        break;
    }
    case ST_OP_SQRT:
    case ST_OP_LOG2:
    case ST_OP_LOG:
    case ST_OP_EXP:
        slopes[0] = rising;
        break;
    case ST_OP_LGAMMA:
        slopes[0] = a.low >= 2 ? rising : any;
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

/* Unknown: a provider's value, or that of the formula if the provider rejects the row. */
static bool is_leaf(const st_instruction *i)
{
    return i->op == ST_OP_CALL || i->op == ST_OP_OTHERWISE;
}

static bool never_falls(st_bounds *self, uint32_t slot)
{
    for (size_t i = 0; i < self->program->slot_count; i++)
        self->slopes[i] = flat;
    self->slopes[slot] = plus_one;
    for (size_t i = self->program->instruction_count; i-- > 0;) {
        const st_instruction *each = &self->program->instructions[i];
        st_range slope = self->slopes[each->target];
        if (!self->open[each->target] || (slope.low == 0 && slope.high == 0))
            continue;
        /* Never negative: any other leaf could be below 0. A product that
         * rises, although the slopes of its factors are inconclusive. */
        if (each->op == ST_OP_MULTIPLY && self->open[each->a] && self->open[each->b] &&
            region_rises(self, each)) {
            add_slope(self, self->entries[each->target], product(slope, rising));
        } else if (!is_leaf(each)) {
            st_range slopes[2] = {flat, flat};
            if (each->op == ST_OP_SELECT) {
                pass_choice(self, each, slope);
                continue;
            }
            size_t operands = operand_count(each->op);
            find_slopes(each->op, range_of(self, each->a),
                        operands > 1 ? range_of(self, each->b) : flat, slopes);
            add_slope(self, each->a, product(slope, slopes[0]));
            if (operands > 1)
                add_slope(self, each->b, product(slope, slopes[1]));
        } else if (!(slope.low >= 0) || !(range_of(self, each->target).low >= 0)) {
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
        for (size_t k = 0; !is_leaf(each) && k < operand_count(each->op) && k < 3; k++)
            operands[k] =
                bounds->open[slots[k]] ? bounds->least[slots[k]] : bounds->values[slots[k]];
        bounds->least[each->target] =
            is_leaf(each) ? 0 : st_apply(each->op, operands[0], operands[1], operands[2]);
    }
    double least = bounds->least[slot];
    return isfinite(least) ? least - slack * fabs(least) : -HUGE_VAL;
}

static bool is_listed(const st_provider *provider, const st_provider *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == provider)
            return true;
    return false;
}

/* Operands of an instruction other than a call. */
static size_t operand_count(st_op op)
{
    switch (op) {
#define ONE(name, symbol, value) case ST_OP_##name:
        ST_UNARY_OPS(ONE)
#undef ONE
        return 1;
    case ST_OP_SELECT:
        return 3;
    default:
        return 2;
    }
}

st_bounds *st_bounds_create(const st_program *program, const st_provider *const *unknown,
                            size_t unknown_count, st_arena *arena)
{
    size_t slots = program->slot_count + 1;
    st_bounds *self = st_arena_alloc(arena, 1, sizeof *self);
    if (self == NULL)
        return NULL;
    *self = (st_bounds){.program = program,
                        .unknown =
                            st_arena_alloc(arena, program->call_count + 1, sizeof *self->unknown),
                        .open = st_arena_alloc(arena, slots, sizeof *self->open),
                        .values = st_arena_alloc(arena, slots, sizeof *self->values),
                        .ranges = st_arena_alloc(arena, slots, sizeof *self->ranges),
                        .slopes = st_arena_alloc(arena, slots, sizeof *self->slopes),
                        .least = st_arena_alloc(arena, slots, sizeof *self->least),
                        .entries = st_arena_alloc(arena, slots, sizeof *self->entries)};
    if (st_arena_failed(arena))
        return NULL;
    memcpy(self->values + st_program_first_constant(program), program->constants,
           program->constant_count * sizeof *self->values);
    for (size_t i = 0; i < program->call_count; i++)
        self->unknown[i] = is_listed(program->calls[i].provider, unknown, unknown_count);
    /* Marks what depends on a call that is not made; instructions follow their operands. */
    for (size_t i = 0; i < self->program->instruction_count; i++) {
        const st_instruction *one = &self->program->instructions[i];
        if (one->op == ST_OP_CALL) {
            const st_program_call *call = &self->program->calls[one->a];
            bool open = self->unknown[one->a];
            for (size_t j = 0; j < call->provider->argument_count; j++)
                open = open || self->open[call->arguments[j]];
            self->open[one->target] = open;
            continue;
        }
        size_t operands = operand_count(one->op);
        self->open[one->target] = self->open[one->a] || (operands > 1 && self->open[one->b]) ||
                                  (operands > 2 && self->open[one->c]);
    }
    find_entries(self);
    return self;
}

static st_range range_of(const st_bounds *self, uint32_t slot)
{
    return self->open[slot] ? self->ranges[slot] : st_range_point(self->values[slot]);
}

static void read_ranges(const st_bounds *self, const st_program_output *outputs, size_t count,
                        st_range *ranges)
{
    for (size_t i = 0; i < count; i++)
        ranges[i] = range_of(self, outputs[i].slot);
}

void st_bounds_run(st_bounds *bounds, const double *inputs, st_range *outputs, st_range *checks)
{
    const st_program *program = bounds->program;
    memcpy(bounds->values, inputs, st_program_first_constant(program) * sizeof *inputs);
    for (size_t i = 0; i < program->instruction_count; i++) {
        const st_instruction *one = &program->instructions[i];
        if (bounds->open[one->target]) {
            static const st_range any_time = {0, HUGE_VAL};
            st_range none = {0, 0};
            size_t operands = operand_count(one->op);
            bounds->ranges[one->target] =
                one->op == ST_OP_CALL
                    ? any_time
                    : st_range_apply(one->op, range_of(bounds, one->a),
                                     operands > 1 ? range_of(bounds, one->b) : none,
                                     operands > 2 ? range_of(bounds, one->c) : none);
        } else {
            st_scalars_run_one(program, one, bounds->values);
        }
    }
    read_ranges(bounds, program->outputs, program->output_count, outputs);
    read_ranges(bounds, program->checks, program->check_count, checks);
}

bool st_bounds_output_is_open(const st_bounds *bounds, size_t output)
{
    return bounds->open[bounds->program->outputs[output].slot];
}

bool st_bounds_check_is_open(const st_bounds *bounds, size_t check)
{
    return bounds->open[bounds->program->checks[check].slot];
}

/* ---- regions ---- */

/*
 * Products whose factors both depend on one slot, as in a soft maximum, x*(1 + (c/x)^n)^(1/n):
 * ranges of the factors' slopes know nothing of each other, and their sum seems to fall. Relative
 * slopes (elasticities) do better there: those of a product add, and those of a sum are weighted
 * means.
 */

enum { MOST_INSTRUCTIONS = 64 };

/* --- where all that is open comes in ---------------------------------------------------------- */

/* The slot nearest to both through which everything open in them goes (dominators; Cooper, Harvey
 * and Kennedy, A Simple, Fast Dominance Algorithm, 2001). Slots follow their operands. */
static uint32_t meet(const uint32_t *entries, uint32_t a, uint32_t b)
{
    while (a != b && a != ST_NO_ENTRY && b != ST_NO_ENTRY)
        if (a > b)
            a = entries[a];
        else
            b = entries[b];
    return a == b ? a : ST_NO_ENTRY;
}

static uint32_t entry_of(const st_bounds *self, const st_instruction *i)
{
    const uint32_t slots[3] = {i->a, i->b, i->c};
    uint32_t entry = ST_NO_ENTRY;
    bool seen = false;
    for (size_t k = 0; k < operand_count(i->op) && k < 3; k++) {
        if (self->open[slots[k]]) {
            entry = seen ? meet(self->entries, entry, slots[k]) : slots[k];
            seen = true;
        }
    }
    return entry;
}

/* Fills the entries. */
static void find_entries(st_bounds *self)
{
    for (size_t i = 0; i < self->program->instruction_count; i++) {
        const st_instruction *each = &self->program->instructions[i];
        bool leaf = each->op == ST_OP_CALL || !self->open[each->target];
        self->entries[each->target] = leaf ? ST_NO_ENTRY : entry_of(self, each);
    }
}

/* --- relative slopes -------------------------------------------------------------------------- */

/* A value of the region and its relative slope in the entry. */
typedef struct grade {
    st_range range;
    st_range slope;
} grade;

static st_range apply(st_op op, st_range a, st_range b)
{
    return st_range_apply(op, a, b, flat);
}

static st_range scale(st_range a, double factor)
{
    return apply(ST_OP_MULTIPLY, a, st_range_point(factor));
}

static st_range hull(st_range a, st_range b)
{
    return (st_range){fmin(a.low, b.low), fmax(a.high, b.high)};
}

/* Only of operands that are never negative is the relative slope of anything known. */
static st_range slope_of(st_op op, grade a, grade b)
{
    if (!(a.range.low >= 0) || !(b.range.low >= 0))
        return any;
    switch (op) {
    case ST_OP_ADD: {
        /* Relative slopes of a sum, weighted by the summands' shares. */
        double least = a.range.low == 0 || isinf(b.range.high)
                           ? 0
                           : a.range.low / (a.range.low + b.range.high);
        double most = b.range.low == 0 || isinf(a.range.high)
                          ? 1
                          : a.range.high / (a.range.high + b.range.low);
        st_range low = apply(ST_OP_ADD, scale(a.slope, least), scale(b.slope, 1 - least));
        st_range high = apply(ST_OP_ADD, scale(a.slope, most), scale(b.slope, 1 - most));
        return hull(low, high);
    }
    case ST_OP_MULTIPLY:
        return apply(ST_OP_ADD, a.slope, b.slope);
    case ST_OP_DIVIDE:
        return apply(ST_OP_SUBTRACT, a.slope, b.slope);
    case ST_OP_POWER:
        return b.range.low == b.range.high ? scale(a.slope, b.range.low) : any;
    case ST_OP_MIN:
    case ST_OP_MAX: {
        const bool least = op == ST_OP_MIN;
        bool first = least ? a.range.high <= b.range.low : a.range.low >= b.range.high;
        bool second = least ? b.range.high <= a.range.low : b.range.low >= a.range.high;
        return first ? a.slope : second ? b.slope : hull(a.slope, b.slope);
    }
    case ST_OP_SQRT:
        return scale(a.slope, 0.5);
    default:
        return any;
    }
}

/* --- regions ---------------------------------------------------------------------------------- */

/* The instructions between an entry and a target that depend on the entry. */
typedef struct region {
    const st_bounds *bounds;
    uint32_t entry;
    const st_instruction *instructions;
    size_t count;
    grade entry_grade;
    grade grades[MOST_INSTRUCTIONS];
} region;

static grade grade_at(const region *self, uint32_t slot)
{
    const st_bounds *bounds = self->bounds;
    uint32_t first = self->instructions[0].target;
    if (slot == self->entry)
        return self->entry_grade;
    bool inside = bounds->open[slot] && slot >= first && slot - first < self->count;
    return inside ? self->grades[slot - first]
                  : (grade){.range = range_of(bounds, slot), .slope = flat};
}

/* Whether the target does not fall while the entry rises within its range. */
static bool rises(region *self)
{
    for (size_t i = 0; i < self->count; i++) {
        const st_instruction *each = &self->instructions[i];
        size_t operands = each->op == ST_OP_CALL ? 0 : operand_count(each->op);
        grade a = operands > 0 ? grade_at(self, each->a) : (grade){flat, flat};
        grade b = operands > 1 ? grade_at(self, each->b) : (grade){flat, flat};
        bool known = operands > 0 && operands < 3 && each->op != ST_OP_OTHERWISE;
        self->grades[i].slope = known ? slope_of(each->op, a, b) : any;
        self->grades[i].range =
            known ? apply(each->op, a.range, b.range) : range_of(self->bounds, each->target);
    }
    const grade *last = &self->grades[self->count - 1];
    return last->slope.low >= 0 && last->range.low >= 0;
}

/* A value that the entry is compared with: on either side of it min and max are known. */
static bool find_corner(const region *self, double *corner)
{
    for (size_t i = 0; i < self->count; i++) {
        const st_instruction *each = &self->instructions[i];
        bool picks = each->op == ST_OP_MIN || each->op == ST_OP_MAX;
        uint32_t other = each->a == self->entry ? each->b : each->a;
        bool meets = each->a == self->entry || each->b == self->entry;
        if (picks && meets && !self->bounds->open[other]) {
            *corner = self->bounds->values[other];
            return true;
        }
    }
    return false;
}

/* Whether a product does not fall while the slot through which all that is open comes rises. */
static bool region_rises(const st_bounds *self, const st_instruction *target)
{
    uint32_t entry = self->entries[target->target];
    size_t end = (size_t)(target - self->program->instructions) + 1;
    uint32_t first = st_program_first_result(self->program);
    if (entry == ST_NO_ENTRY || entry < first || end - (entry - first) - 1 > MOST_INSTRUCTIONS)
        return false;
    const st_range whole = range_of(self, entry);
    region own = {.bounds = self,
                  .entry = entry,
                  .instructions = self->program->instructions + (entry - first) + 1,
                  .count = end - (entry - first) - 1,
                  .entry_grade = {whole, {1, 1}}};
    double corner = 0;
    if (!find_corner(&own, &corner) || !(corner > whole.low && corner < whole.high))
        return rises(&own);
    own.entry_grade.range = (st_range){whole.low, corner};
    bool below = rises(&own);
    own.entry_grade.range = (st_range){corner, whole.high};
    return below && rises(&own);
}
