/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block kernels: one loop per operation and kind of operand.
 *
 * blocks.c is compiled once per instruction set under different names of st_kernels_run; the
 * fastest that the processor has is chosen when a workspace is made. All give the same bits, since
 * no instruction set changes what a correctly rounded operation gives.
 */
#ifndef STEPTIME_PROGRAM_BLOCKS_H
#define STEPTIME_PROGRAM_BLOCKS_H

#include "program/ops.h"

#include <stdbool.h>
#include <stddef.h>

enum { ST_SCALAR_A = 1, ST_SCALAR_B = 2, ST_SCALAR_C = 4 };

/* Steps that are not operations of programs: a copy to an output, what a check says of rows, whose
 * failures begin at infinity where `scalars` is not 0, or what other failures say (no codes), and
 * values of fewer rows over more. */
#define ST_STEP_COPY   ST_OP_CONSTANT
#define ST_STEP_CHECK  ST_OP_INPUT
#define ST_STEP_SPREAD ST_OP_CALL

/* What the number of a row falls to, where it is not lower already, by what a check gives. */
typedef struct st_check_codes {
    double failed;  /* 0 */
    double missing; /* neither 0 nor 1 */
} st_check_codes;

static inline double st_check_apply(double failure, double value, const st_check_codes *codes)
{
    double found = value == 1.0 ? (double)INFINITY : value == 0.0 ? codes->failed : codes->missing;
    return found < failure ? found : failure;
}

/* Each value fills `times` rows, but the first, number `at`, `left`; after the last, of
 * `period`, they begin anew. Where there are numbers, each row takes the value of its own. */
typedef struct st_spread {
    const uint32_t *numbers; /* below `period`; NULL: none; up to a multiple of ST_REGISTER_LANES */
    size_t at;
    size_t left;
    size_t times;
    size_t period;
} st_spread;

/* Registers have room for a multiple of so many rows: operations read and write whole vectors,
 * whatever is behind the last row, and spreads may. Copies and checks write rows alone. */
enum { ST_REGISTER_LANES = 8 };

/* One operation over a block. A scalar operand points at one value, others at a value per row. */
typedef struct st_step {
    st_op op;
    unsigned scalars; /* ST_SCALAR_ bits */
    const double *a;
    const double *b;
    const double *c;
    double *out; /* never an operand's array */
    const st_check_codes *codes;
    const st_spread *spread;
} st_step;

typedef void st_kernels(const st_step *steps, size_t count, size_t rows);

st_kernels st_kernels_baseline;
#if defined(__x86_64__)
st_kernels st_kernels_avx2;
st_kernels st_kernels_avx512;
#endif

#endif
