/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of programs and what each computes.
 *
 * One definition serves constant folding, the evaluator of single rows and the block kernels, so
 * that all give the same bits. A value that does not exist is NaN or an infinity and must not turn
 * finite again: operations that could hide one (x/inf is 0, inf > 1 holds, min(inf, 1) is 1) add
 * st_taint of their operands, which is 0 for a finite number and NaN otherwise.
 */
#ifndef STEPTIME_PROGRAM_OPS_H
#define STEPTIME_PROGRAM_OPS_H

#include <math.h>
#include <stdint.h>

/* X(name, symbol, value of x) */
#define ST_UNARY_OPS(X)                                                                            \
    X(NEGATE, "-", -x)                                                                             \
    X(NOT, "not", 1.0 - x)                                                                         \
    X(ABS, "abs", fabs(x))                                                                         \
    X(FLOOR, "floor", floor(x))                                                                    \
    X(CEIL, "ceil", ceil(x))                                                                       \
    X(ROUND, "round", st_round(x))                                                                 \
    X(SQRT, "sqrt", sqrt(x))                                                                       \
    X(LOG2, "log2", log2(x))                                                                       \
    X(LOG, "log", log(x))                                                                          \
    X(LGAMMA, "lgamma", x > 0.0 ? lgamma(x) : (double)NAN)                                         \
    X(EXP, "exp", exp(x) + st_taint(x))

/* X(name, symbol, value of x and y) */
#define ST_BINARY_OPS(X)                                                                           \
    X(ADD, "+", x + y)                                                                             \
    X(SUBTRACT, "-", x - y)                                                                        \
    X(MULTIPLY, "*", (x) * (y))                                                                    \
    X(DIVIDE, "/", x / y + st_taint(y))                                                            \
    X(POWER, "^", st_power(x, y) + (st_taint(x) + st_taint(y)))                                    \
    X(MIN, "min", (x < y ? x : y) + (st_taint(x) + st_taint(y)))                                   \
    X(MAX, "max", (x > y ? x : y) + (st_taint(x) + st_taint(y)))                                   \
    X(LESS, "<", (x < y ? 1.0 : 0.0) + (st_taint(x) + st_taint(y)))                                \
    X(LESS_EQUAL, "<=", (x <= y ? 1.0 : 0.0) + (st_taint(x) + st_taint(y)))                        \
    X(EQUAL, "==", (x == y ? 1.0 : 0.0) + (st_taint(x) + st_taint(y)))                             \
    X(UNEQUAL, "!=", (x != y ? 1.0 : 0.0) + (st_taint(x) + st_taint(y)))                           \
    X(AND, "and", x == 0.0 || y == 0.0 ? 0.0 : (x) * (y))                                          \
    X(OR, "or", x == 1.0 || y == 1.0 ? 1.0 : x + y)                                                \
    X(OTHERWISE, "otherwise", isfinite(x) ? x : y) /* y where a provider refuses */

/*
 * X(exponent, value): powers that are products, quotients and roots wherever they come from, a
 * formula or an input, so that they cost no call of the library and give one value in all places.
 */
#define ST_SHORT_POWERS(X)                                                                         \
    X(1.0, x)                                                                                      \
    X(2.0, (x) * (x))                                                                              \
    X(3.0, (x) * (x) * (x))                                                                        \
    X(4.0, ((x) * (x)) * ((x) * (x)))                                                              \
    X(0.5, sqrt(x))                                                                                \
    X(0.25, sqrt(sqrt(x)))                                                                         \
    X(-1.0, st_inverse(x))                                                                         \
    X(-2.0, st_inverse((x) * (x)))                                                                 \
    X(-3.0, st_inverse((x) * (x) * (x)))                                                           \
    X(-4.0, st_inverse(((x) * (x)) * ((x) * (x))))                                                 \
    X(-0.5, st_inverse(sqrt(x)))

typedef enum st_op {
    ST_OP_CONSTANT,
    ST_OP_INPUT,
#define ST_OP_NAME(name, symbol, value) ST_OP_##name,
    ST_UNARY_OPS(ST_OP_NAME) ST_BINARY_OPS(ST_OP_NAME)
#undef ST_OP_NAME
        ST_OP_SELECT, /* a where c is 1, b where c is 0: the condition is the third operand */
    ST_OP_CALL        /* a provider */
} st_op;

static inline double st_taint(double x)
{
    return x - x;
}

/* 1/x as the formula gives it. */
static inline double st_inverse(double x)
{
    return 1.0 / x + st_taint(x);
}

static inline double st_power(double x, double y)
{
#define ST_SHORT(exponent, value)                                                                  \
    if (y == (exponent))                                                                           \
        return value;
    ST_SHORT_POWERS(ST_SHORT)
#undef ST_SHORT
    return pow(x, y);
}

/* Halves away from zero, without the library call that compilers cannot vectorise. */
static inline double st_round(double x)
{
    double whole = trunc(x);
    return whole + (fabs(x - whole) >= 0.5 ? copysign(1.0, x) : 0.0);
}

static inline double st_select(double a, double b, double c)
{
    return c == 1.0 ? a : c == 0.0 ? b : (double)NAN;
}

/* What an output gets: of the values that do not exist, all NaN have the same bits. */
static inline double st_output(double x)
{
    return x == x ? x : (double)NAN;
}

static inline double st_apply(st_op op, double x, double y, double c)
{
    switch (op) {
#define ST_CASE(name, symbol, value)                                                               \
    case ST_OP_##name:                                                                             \
        return value;
        ST_UNARY_OPS(ST_CASE)
        ST_BINARY_OPS(ST_CASE)
#undef ST_CASE
    case ST_OP_SELECT:
        return st_select(x, y, c);
    case ST_OP_CONSTANT:
    case ST_OP_INPUT:
    case ST_OP_CALL:
        break;
    }
    return (double)NAN;
}

#endif
