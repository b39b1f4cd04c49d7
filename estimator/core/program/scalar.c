/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evaluator of single rows: a switch over groups of equal operations (see instruction_order.c).
 *
 * It is a file of its own because it wants its own compiler flags (see meson.build): optimisers
 * like to merge the ends of the cases, and then one hard to predict jump serves all operations.
 */
#include "program/scalar.h"

#include <math.h>

/* A provider that fails, or gives what no estimate can use, leaves a value that is not finite. */
void st_provider_call(const st_provider *provider, size_t rows, const double *const *arguments,
                      double *values)
{
    for (size_t i = 0; i < rows; i++)
        values[i] = (double)NAN; /* a row that the provider forgets has no value */
    bool failed = provider->evaluate(provider->self, rows, arguments, values) != ST_OK;
    if (failed && rows > 1) {
        /* What fails for a block is asked again row by row: a row never pays for its neighbours. */
        const double *row_arguments[ST_EXPR_MAX_ARGUMENTS];
        for (size_t row = 0; row < rows; row++) {
            for (size_t i = 0; i < provider->argument_count; i++)
                row_arguments[i] = arguments[i] + row;
            st_provider_call(provider, 1, row_arguments, values + row);
        }
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        bool usable = !failed && values[i] >= 0 && isfinite(values[i]);
        values[i] = usable ? values[i] : (double)NAN;
    }
}

double st_provider_call_one(const st_provider *provider, const double *const *arguments)
{
    double value = (double)NAN;
    st_provider_call(provider, 1, arguments, &value);
    return value;
}

static double call_scalar(const double *scalars, const st_program_call *call)
{
    const double *arguments[ST_EXPR_MAX_ARGUMENTS];
    for (size_t i = 0; i < call->provider->argument_count; i++)
        arguments[i] = &scalars[call->arguments[i]];
    return st_provider_call_one(call->provider, arguments);
}

void st_scalars_run_one(const st_program *program, const st_instruction *instruction,
                        double *scalars)
{
    scalars[instruction->target] = instruction->op == ST_OP_CALL
                                       ? call_scalar(scalars, &program->calls[instruction->a])
                                       : st_apply(instruction->op, scalars[instruction->a],
                                                  scalars[instruction->b], scalars[instruction->c]);
}

/* A group of one operation runs in its own small loop. */
#define GROUP(name, value)                                                                         \
    case ST_OP_##name:                                                                             \
        do {                                                                                       \
            scalars[i->target] = (value);                                                          \
            i++;                                                                                   \
        } while (i->op == ST_OP_##name);                                                           \
        break;

static inline double unary(const double *scalars, const st_instruction *i, st_op op)
{
    return st_apply(op, scalars[i->a], 0, 0);
}

static inline double binary(const double *scalars, const st_instruction *i, st_op op)
{
    return st_apply(op, scalars[i->a], scalars[i->b], 0);
}

void st_scalars_run(const st_program *program, const st_instruction *list, double *scalars)
{
    const st_instruction *i = list;
    for (;;) {
        switch (i->op) {
#define GROUP_UNARY(name, symbol, value)  GROUP(name, unary(scalars, i, ST_OP_##name))
#define GROUP_BINARY(name, symbol, value) GROUP(name, binary(scalars, i, ST_OP_##name))
            ST_UNARY_OPS(GROUP_UNARY)
            ST_BINARY_OPS(GROUP_BINARY)
            GROUP(SELECT, st_select(scalars[i->a], scalars[i->b], scalars[i->c]))
            GROUP(CALL, call_scalar(scalars, &program->calls[i->a]))
        case ST_OP_CONSTANT: /* the end */
        case ST_OP_INPUT:
            return;
        }
    }
}
