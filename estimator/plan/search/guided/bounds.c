/* SPDX-License-Identifier: Apache-2.0 */
/* Programs over ranges; see bounds.h. */
#include "search/guided/bounds.h"

#include "search/guided/bounds_inside.h"
#include "program/scalar.h"

#include <string.h>

static bool is_listed(const st_provider *provider, const st_provider *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == provider)
            return true;
    return false;
}

size_t st_operand_count(st_op op)
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
    /* What depends on a call that is not made; instructions stand behind their operands. */
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
        size_t operands = st_operand_count(one->op);
        self->open[one->target] = self->open[one->a] || (operands > 1 && self->open[one->b]) ||
                                  (operands > 2 && self->open[one->c]);
    }
    st_bounds_find_entries(self);
    return self;
}

st_range st_bounds_range(const st_bounds *self, uint32_t slot)
{
    return self->open[slot] ? self->ranges[slot] : st_range_point(self->values[slot]);
}

static void read_ranges(const st_bounds *self, const st_program_output *outputs, size_t count,
                        st_range *ranges)
{
    for (size_t i = 0; i < count; i++)
        ranges[i] = st_bounds_range(self, outputs[i].slot);
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
            size_t operands = st_operand_count(one->op);
            bounds->ranges[one->target] =
                one->op == ST_OP_CALL
                    ? any_time
                    : st_range_apply(one->op, st_bounds_range(bounds, one->a),
                                     operands > 1 ? st_bounds_range(bounds, one->b) : none,
                                     operands > 2 ? st_bounds_range(bounds, one->c) : none);
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

static const st_range flat = {0, 0};
static const st_range any = {-HUGE_VAL, HUGE_VAL};

/* --- where all that is open comes in ---------------------------------------------------------- */

/* The slot nearest to both through which everything open in them goes (dominators; Cooper, Harvey
 * and Kennedy, A Simple, Fast Dominance Algorithm, 2001). Slots stand behind what they read. */
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
    for (size_t k = 0; k < st_operand_count(i->op) && k < 3; k++) {
        if (self->open[slots[k]]) {
            entry = seen ? meet(self->entries, entry, slots[k]) : slots[k];
            seen = true;
        }
    }
    return entry;
}

void st_bounds_find_entries(st_bounds *self)
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
                  : (grade){.range = st_bounds_range(bounds, slot), .slope = flat};
}

/* Whether the target does not fall while the entry rises within its range. */
static bool rises(region *self)
{
    for (size_t i = 0; i < self->count; i++) {
        const st_instruction *each = &self->instructions[i];
        size_t operands = each->op == ST_OP_CALL ? 0 : st_operand_count(each->op);
        grade a = operands > 0 ? grade_at(self, each->a) : (grade){flat, flat};
        grade b = operands > 1 ? grade_at(self, each->b) : (grade){flat, flat};
        bool known = operands > 0 && operands < 3 && each->op != ST_OP_OTHERWISE;
        self->grades[i].slope = known ? slope_of(each->op, a, b) : any;
        self->grades[i].range =
            known ? apply(each->op, a.range, b.range) : st_bounds_range(self->bounds, each->target);
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

bool st_bounds_region_rises(const st_bounds *self, const st_instruction *target)
{
    uint32_t entry = self->entries[target->target];
    size_t end = (size_t)(target - self->program->instructions) + 1;
    uint32_t first = st_program_first_result(self->program);
    if (entry == ST_NO_ENTRY || entry < first || end - (entry - first) - 1 > MOST_INSTRUCTIONS)
        return false;
    const st_range whole = st_bounds_range(self, entry);
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
