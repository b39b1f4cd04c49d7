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
