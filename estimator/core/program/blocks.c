/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that a compiler turns into vector instructions; ST_KERNELS_NAME is the function to define.
 */
#include "program/blocks.h"

#include <string.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#ifndef ST_KERNELS_NAME
#define ST_KERNELS_NAME st_kernels_baseline
#endif

/* Rows at a time: without a loop for what is left over, a step of few rows takes half the time. */
#if defined(__AVX512F__)
enum { LANES = 8 };
#elif defined(__AVX2__)
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif

static inline size_t whole_vectors(size_t rows)
{
    return (rows + LANES - 1) / LANES * LANES;
}

static inline bool calls_library(st_op op)
{
    return op == ST_OP_LOG2 || op == ST_OP_LOG || op == ST_OP_LGAMMA || op == ST_OP_EXP ||
           op == ST_OP_POWER;
}

#define LOOP(x_value, y_value, value)                                                              \
    for (size_t i = 0; i < count; i++) {                                                           \
        const double x = (x_value);                                                                \
        const double y = (y_value);                                                                \
        (void)y;                                                                                   \
        out[i] = (value);                                                                          \
    }

/* Only vectors reach a unary operation: an operation over scalars alone is not run per row. */
#define UNARY(name, symbol, value)                                                                 \
    static void run_##name(const st_step *step, size_t rows)                                       \
    {                                                                                              \
        const double *restrict a = step->a;                                                        \
        double *restrict out = step->out;                                                          \
        const size_t count = calls_library(ST_OP_##name) ? rows : whole_vectors(rows);             \
        LOOP(a[i], 0.0, value)                                                                     \
    }

#define BINARY(name, symbol, value)                                                                \
    static void run_##name(const st_step *step, size_t rows)                                       \
    {                                                                                              \
        const double *restrict a = step->a;                                                        \
        const double *restrict b = step->b;                                                        \
        double *restrict out = step->out;                                                          \
        const size_t count = calls_library(ST_OP_##name) ? rows : whole_vectors(rows);             \
        if ((step->scalars & ST_SCALAR_A) != 0) {                                                  \
            const double scalar = *a;                                                              \
            LOOP(scalar, b[i], value)                                                              \
        } else if ((step->scalars & ST_SCALAR_B) != 0) {                                           \
            const double scalar = *b;                                                              \
            LOOP(a[i], scalar, value)                                                              \
        } else {                                                                                   \
            LOOP(a[i], b[i], value)                                                                \
        }                                                                                          \
    }

ST_UNARY_OPS(UNARY)
ST_BINARY_OPS(BINARY)

#define SHORT(exponent, value)                                                                     \
    if (scalar == (exponent)) {                                                                    \
        LOOP(a[i], 0.0, (value) + st_taint(x))                                                     \
        return true;                                                                               \
    }

/* A power whose exponent all rows share, and which is a product or a root. */
static bool run_short_power(const st_step *step, size_t rows)
{
    const double *restrict a = step->a;
    double *restrict out = step->out;
    if ((step->scalars & ST_SCALAR_B) == 0)
        return false;
    const double scalar = *step->b;
    const size_t count = whole_vectors(rows);
    ST_SHORT_POWERS(SHORT)
    return false;
}

#define SELECT_LOOP(a_value, b_value, c_value)                                                     \
    for (size_t i = 0; i < count; i++)                                                             \
        out[i] = st_select((a_value), (b_value), (c_value));

static void run_select(const st_step *step, size_t rows)
{
    const double *restrict a = step->a;
    const double *restrict b = step->b;
    const double *restrict c = step->c;
    double *restrict out = step->out;
    const size_t count = whole_vectors(rows);
    switch (step->scalars) {
    case 0:
        SELECT_LOOP(a[i], b[i], c[i])
        break;
    case ST_SCALAR_A: {
        const double scalar = *a;
        SELECT_LOOP(scalar, b[i], c[i])
        break;
    }
    case ST_SCALAR_B: {
        const double scalar = *b;
        SELECT_LOOP(a[i], scalar, c[i])
        break;
    }
    case ST_SCALAR_A | ST_SCALAR_B: {
        const double first = *a;
        const double second = *b;
        SELECT_LOOP(first, second, c[i])
        break;
    }
    default: { /* one condition for all rows */
        const double missing = (double)NAN;
        const bool takes_b = *c == 0.0;
        const double *taken = *c == 1.0 ? a : takes_b ? b : &missing;
        const unsigned scalar = takes_b ? ST_SCALAR_B : ST_SCALAR_A;
        if (taken == &missing || (step->scalars & scalar) != 0) {
            const double same = *taken;
            SELECT_LOOP(same, same, 1.0)
        } else {
            SELECT_LOOP(taken[i], 0.0, 1.0)
        }
        break;
    }
    }
}

static void run_check(const st_step *step, size_t rows)
{
    const double *restrict a = step->a;
    double *restrict out = step->out;
    if (step->codes == NULL) {
        for (size_t i = 0; i < rows; i++)
            out[i] = a[i] < out[i] ? a[i] : out[i];
        return;
    }
    const st_check_codes codes = *step->codes;
    if (step->scalars != 0) {
        for (size_t i = 0; i < rows; i++)
            out[i] = st_check_apply((double)INFINITY, a[i], &codes);
        return;
    }
    for (size_t i = 0; i < rows; i++)
        out[i] = st_check_apply(out[i], a[i], &codes);
}

/* `count` values, `times` rows each. */
static void repeat_each(const double *restrict a, double *restrict out, size_t count, size_t times)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < times; k++)
            out[i * times + k] = a[i];
}

static void repeat(const double *restrict a, double *restrict out, size_t count, size_t times)
{
    switch (times) { /* a constant makes loops without loops inside of them */
    case 1:
        memcpy(out, a, count * sizeof *a);
        break;
    case 2:
        repeat_each(a, out, count, 2);
        break;
    case 3:
        repeat_each(a, out, count, 3);
        break;
    case 4:
        repeat_each(a, out, count, 4);
        break;
    default:
        repeat_each(a, out, count, times);
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The values from number `at` to the one before `end`, as far as there are rows; returns these. */
static size_t repeat_some(const st_step *step, size_t at, size_t end, double *out, size_t rows)
{
    const size_t times = step->spread->times;
    const size_t whole = least(end - at, rows / times);
    const size_t rest = whole < end - at ? rows - whole * times : 0;
    repeat(step->a + at, out, whole, times);
    repeat(step->a + at + whole, out + whole * times, rest > 0 ? 1 : 0, rest);
    return whole * times + rest;
}

/* Plain loads: processors are not quicker at gathering, and some are much slower. */
static void take_each(const st_step *step, size_t rows)
{
    const double *restrict a = step->a;
    const uint32_t *restrict numbers = step->spread->numbers;
    double *restrict out = step->out;
    for (size_t i = 0; i < rows; i += 4) { /* numbers go on to the end of four */
        out[i] = a[numbers[i]];
        out[i + 1] = a[numbers[i + 1]];
        out[i + 2] = a[numbers[i + 2]];
        out[i + 3] = a[numbers[i + 3]];
    }
}

#if defined(__AVX512F__)
enum { PAIR = 2 * LANES, FEW = 2 * PAIR };

/* The values of few rows fit into registers, of which every lane chooses its own. */
static inline void take_from(const st_step *step, size_t rows, size_t pairs)
{
    const double *restrict a = step->a;
    const uint32_t *restrict numbers = step->spread->numbers;
    double *restrict out = step->out;
    const size_t period = (step->spread->period + LANES - 1) / LANES * LANES;
    __m512d values[FEW / LANES];
    for (size_t k = 0; k < 2 * pairs; k++) /* what is behind the last one, nobody takes */
        values[k] = _mm512_loadu_pd(a + (k * LANES < period ? k * LANES : 0));
    for (size_t i = 0; i < rows; i += LANES) { /* numbers and registers go on to its end */
        const __m512i number =
            _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)(numbers + i)));
        __m512d taken = _mm512_permutex2var_pd(values[0], number, values[1]);
        for (size_t k = 1; k < pairs; k++)
            taken = _mm512_mask_blend_pd(
                _mm512_cmpeq_epi64_mask(_mm512_srli_epi64(number, 4),
                                        _mm512_set1_epi64((long long)k)),
                taken, _mm512_permutex2var_pd(values[2 * k], number, values[2 * k + 1]));
        _mm512_storeu_pd(out + i, taken);
    }
}

static bool take_from_few(const st_step *step, size_t rows)
{
    switch ((step->spread->period + PAIR - 1) / PAIR) { /* a constant makes loops without loops */
    case 1:
        take_from(step, rows, 1);
        return true;
    case 2:
        take_from(step, rows, 2);
        return true;
    default:
        return false;
    }
}
#else
static bool take_from_few(const st_step *step, size_t rows)
{
    (void)step;
    (void)rows;
    return false;
}
#endif

/* Once around, and then what is there again and again, twice as much each time. */
static void run_spread(const st_step *step, size_t rows)
{
    const st_spread spread = *step->spread;
    if (spread.numbers != NULL) {
        if (!take_from_few(step, rows))
            take_each(step, rows);
        return;
    }
    const size_t around = least(spread.period * spread.times, rows);
    double *out = step->out;
    size_t done = least(spread.left, around);
    repeat(step->a + spread.at, out, 1, done);
    done += repeat_some(step, spread.at + 1, spread.period, out + done, around - done);
    done += repeat_some(step, 0, spread.at, out + done, around - done);
    repeat(step->a + spread.at, out + done, done < around ? 1 : 0, around - done);
    for (done = around; done < rows;) {
        const size_t more = least(done, rows - done);
        memcpy(out + done, out, more * sizeof *out);
        done += more;
    }
}

void ST_KERNELS_NAME(const st_step *steps, size_t count, size_t rows)
{
    for (size_t i = 0; i < count; i++) {
        const st_step *step = &steps[i];
        if (step->op == ST_OP_POWER && run_short_power(step, rows))
            continue;
        switch (step->op) {
#define RUN(name, symbol, value)                                                                   \
    case ST_OP_##name:                                                                             \
        run_##name(step, rows);                                                                    \
        break;
            ST_UNARY_OPS(RUN)
            ST_BINARY_OPS(RUN)
        case ST_OP_SELECT:
            run_select(step, rows);
            break;
        case ST_STEP_COPY:
            for (size_t row = 0; row < rows; row++)
                step->out[row] = st_output(step->a[row]);
            break;
        case ST_STEP_CHECK:
            run_check(step, rows);
            break;
        case ST_STEP_SPREAD:
            run_spread(step, rows);
            break;
        }
    }
}
