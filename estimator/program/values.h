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

typedef struct st_graph {
    st_arena *arena;
    st_value *values;
    size_t count;
    size_t capacity;
    st_index index; /* of values */
    st_call *calls;
    size_t call_count;
    st_index call_index;
    bool failed; /* out of memory or too large; every later value is ST_NO_VALUE */
} st_graph;

uint32_t st_graph_constant(st_graph *graph, double constant);
uint32_t st_graph_input(st_graph *graph, uint32_t input);
uint32_t st_graph_unary(st_graph *graph, st_op op, uint32_t a);
uint32_t st_graph_binary(st_graph *graph, st_op op, uint32_t a, uint32_t b);
uint32_t st_graph_select(st_graph *graph, uint32_t condition, uint32_t a, uint32_t b);
/* `arguments` are copied. */
uint32_t st_graph_call(st_graph *graph, const st_provider *provider, const uint32_t *arguments);

/*
 * Per value whether no input and no provider has a say in it: one that exists is a constant then.
 * In the graph's arena; NULL when out of memory.
 */
bool *st_graph_settled(const st_graph *graph);

/* Calls `visit` with every operand of a value. */
void st_graph_operands(const st_graph *graph, uint32_t value,
                       void (*visit)(void *context, uint32_t operand), void *context);

#endif
