/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value graph: what a sheet's formulas compute, each value once.
 *
 * Values are numbered in the order in which they are made, so operands come before their users.
 * Making a value folds constants and returns an equal value that exists already.
 */
#ifndef STEPTIME_PROGRAM_VALUES_H
#define STEPTIME_PROGRAM_VALUES_H

#include "base/index.h"
#include "sheet/internal.h"
#include "program/ops.h"
#include "program/program.h"

enum { ST_GRAPH_MAX_VALUES = 2000000 };
#define ST_NO_VALUE UINT32_MAX

typedef struct st_value {
    st_op op;
    uint32_t a; /* operands; an input's index in the sheet; a call's index in `calls` */
    uint32_t b;
    uint32_t c;
    double constant;
} st_value;

typedef struct st_call {
    const st_provider *provider;
    uint32_t *arguments; /* values, provider->argument_count of them */
} st_call;

typedef struct st_dataflow {
    st_arena *arena;
    st_value *values;
    size_t count;
    size_t capacity;
    st_index index; /* of values */
    st_call *calls;
    size_t call_count;
    st_index call_index;
    bool failed; /* out of memory or too large; every later value is ST_NO_VALUE */
} st_dataflow;

/* Room for about as many values. */
void st_dataflow_begin(st_dataflow *graph, size_t values);
uint32_t st_dataflow_constant(st_dataflow *graph, double constant);
uint32_t st_dataflow_input(st_dataflow *graph, uint32_t input);
uint32_t st_dataflow_unary(st_dataflow *graph, st_op op, uint32_t a);
uint32_t st_dataflow_binary(st_dataflow *graph, st_op op, uint32_t a, uint32_t b);
uint32_t st_dataflow_select(st_dataflow *graph, uint32_t condition, uint32_t a, uint32_t b);
/* `arguments` are copied. */
uint32_t st_dataflow_call(st_dataflow *graph, const st_provider *provider,
                          const uint32_t *arguments);

/*
 * Per value whether no input and no provider has a say in it: one that exists is a constant then.
 * In the graph's arena; NULL when out of memory.
 */
bool *st_dataflow_settled(const st_dataflow *graph);

/* Calls `visit` with every operand of a value. */
void st_dataflow_operands(const st_dataflow *graph, uint32_t value,
                          void (*visit)(void *context, uint32_t operand), void *context);

#endif
