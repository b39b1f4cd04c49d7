/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evaluator of single rows: one switch in one loop.
 *
 * It is a file of its own because it wants its own compiler flags (see meson.build): optimisers
 * like to merge the ends of the cases, and then one hard to predict jump serves all operations.
 */
#include "sheet/scalar.h"

#include <math.h>

/* A provider that fails, or gives what no estimate can use, leaves a value that is not finite. */
void st_provider_call(const st_provider *provider, size_t rows, const double *const *arguments,
                      double *values)
{
    if (provider->evaluate(provider->self, rows, arguments, values) != ST_OK) {
        for (size_t i = 0; i < rows; i++) {
            values[i] = (double)NAN;
        }
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        values[i] = values[i] >= 0 && isfinite(values[i]) ? values[i] : (double)NAN;
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
    for (size_t i = 0; i < call->provider->argument_count; i++) {
        arguments[i] = &scalars[call->arguments[i]];
    }
    return st_provider_call_one(call->provider, arguments);
}

/* Operations over scalars; the loop of a single estimate, so each case loads only what it needs. */
void st_scalars_run(const st_program *program, const st_instruction *first, size_t count,
                    double *scalars)
{
    for (const st_instruction *i = first; i < first + count; i++) {
        switch (i->op) {
#define RUN_UNARY(name, symbol, value)                                                             \
    case ST_OP_##name: {                                                                           \
        const double x = scalars[i->a];                                                            \
        scalars[i->target] = (value);                                                              \
        break;                                                                                     \
    }
#define RUN_BINARY(name, symbol, value)                                                            \
    case ST_OP_##name: {                                                                           \
        const double x = scalars[i->a];                                                            \
        const double y = scalars[i->b];                                                            \
        scalars[i->target] = (value);                                                              \
        break;                                                                                     \
    }
            ST_UNARY_OPS(RUN_UNARY)
            ST_BINARY_OPS(RUN_BINARY)
        case ST_OP_SELECT:
            scalars[i->target] = st_select(scalars[i->a], scalars[i->b], scalars[i->c]);
            break;
        case ST_OP_CALL:
            scalars[i->target] = call_scalar(scalars, &program->calls[i->a]);
            break;
        case ST_OP_CONSTANT:
        case ST_OP_INPUT:
            break;
        }
    }
}
