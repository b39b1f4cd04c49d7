/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering. Cells are taken in an order in which each comes behind its operands, so a chain of
 * thousands of cells needs no deep recursion; recursion follows trees and function calls only, and
 * the checker has bounded both.
 */
#include "program/lower.h"
#include "base/arena_size.h"
#include "base/memory.h"
#include "sheet/order.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_WORK = 20000000 };

/* In the place of a value: a member that is left out, or a term that one makes zero. */
#define ABSENT (ST_NO_VALUE - 1)

/* --- providers ------------------------------------------------------------------------------- */

st_status st_lowering_begin(st_lowering *lowering, const st_sheet *sheet,
                            const st_program_options *options, st_arena *arena, st_errors *errors)
{
    *lowering = (st_lowering){.sheet = sheet, .graph = {.arena = arena}};
    /* A report has most of a sheet, a few cells have little of it. */
    enum { FEW_OUTPUTS = 16, MANY_CELLS = 1024, FEW_VALUES = 1024 };
    const bool is_report = options->outputs == NULL || options->output_count >= FEW_OUTPUTS;
    if (is_report && sheet->cell_count >= MANY_CELLS)
        st_arena_expect_megabytes(arena);
    st_dataflow_begin(&lowering->graph, is_report ? 3 * sheet->cell_count : FEW_VALUES);
    lowering->cells = st_arena_alloc(arena, sheet->cell_count + 1, sizeof(*lowering->cells));
    lowering->searched =
        st_arena_alloc(arena, sheet->function_count + 1, sizeof(*lowering->searched));
    lowering->marked = st_arena_alloc(arena, sheet->function_count + 1, sizeof(*lowering->marked));
    if (lowering->cells == NULL || lowering->searched == NULL || lowering->marked == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < sheet->cell_count; i++)
        lowering->cells[i] = ST_NO_VALUE;
    st_bindings bindings = {0};
    st_status status = st_bind_providers(sheet, options->providers, options->provider_count, arena,
                                         &bindings, errors);
    lowering->cell_providers = bindings.cells;
    lowering->function_providers = bindings.functions;
    lowering->has_readers = bindings.has_readers;
    for (size_t i = 0; i < sheet->function_count && status == ST_OK; i++)
        lowering->lacks =
            lowering->lacks || (sheet->functions[i].expr == NULL && bindings.functions[i] == NULL);
    if (status == ST_OK &&
        !st_absence_begin(&lowering->absence, sheet, options->given, bindings.cells, arena))
        return st_out_of_memory(errors);
    lowering->order = sheet->cell_order;
    if (status == ST_OK && bindings.has_readers) {
        /* A provider may read cells that the formula does not. */
        status = st_order_cells(sheet, &bindings, arena, &lowering->order, errors);
    }
    return status;
}

uint32_t st_lowering_read(st_lowering *lowering, const st_read *read, st_scope arguments)
{
    switch (read->kind) {
    case ST_READ_ARGUMENT:
        return arguments == NULL ? ST_NO_VALUE : arguments[read->index];
    case ST_READ_CELL:
        return lowering->cells[read->index];
    case ST_READ_INPUT:
        return st_dataflow_input(&lowering->graph, (uint32_t)read->index);
    case ST_READ_NOTHING:
        break;
    }
    return ST_NO_VALUE;
}

/* `function` and its `arguments` are NULL where the provider gives a cell. */
static uint32_t call_provider(st_lowering *lowering, const st_sheet_function *function,
                              const st_provider *provider, st_scope arguments)
{
    uint32_t reads[ST_EXPR_MAX_ARGUMENTS];
    for (size_t i = 0; i < provider->argument_count; i++) {
        st_read read = st_provider_read(lowering->sheet, function, provider, i);
        reads[i] = st_lowering_read(lowering, &read, arguments);
    }
    return st_dataflow_call(&lowering->graph, provider, reads);
}

/* --- expressions ----------------------------------------------------------------------------- */

static uint32_t lower_call(st_lowering *lowering, const st_expr *expr, st_scope scope)
{
    const st_sheet_function *function = &lowering->sheet->functions[expr->index];
    const st_provider *provider = lowering->function_providers[expr->index];
    uint32_t arguments[ST_EXPR_MAX_ARGUMENTS];
    for (size_t i = 0; i < expr->child_count; i++)
        arguments[i] = st_lower(lowering, st_expr_child(expr, i), scope);
    if (provider != NULL) {
        uint32_t value = call_provider(lowering, function, provider, arguments);
        return provider->fallback && function->expr != NULL
                   ? st_dataflow_binary(&lowering->graph, ST_OP_OTHERWISE, value,
                                        st_lower(lowering, function->expr, arguments))
                   : value;
    }
    /* Without a body, it is in a formula that a provider replaces: nothing needs its value. */
    return function->expr == NULL ? ST_NO_VALUE : st_lower(lowering, function->expr, arguments);
}

/* Whether an argument of a maximum is the first one again, in the place of a member left out. */
static bool is_passed_over(st_lowering *lowering, const st_expr *expr, size_t child)
{
    return child > 0 && st_absence_denies(&lowering->absence, st_expr_child(expr, child));
}

static uint32_t lower_builtin(st_lowering *lowering, const st_expr *expr, st_scope scope)
{
    static const st_op ops[] = {[ST_BUILTIN_MIN] = ST_OP_MIN,       [ST_BUILTIN_MAX] = ST_OP_MAX,
                                [ST_BUILTIN_FLOOR] = ST_OP_FLOOR,   [ST_BUILTIN_CEIL] = ST_OP_CEIL,
                                [ST_BUILTIN_ROUND] = ST_OP_ROUND,   [ST_BUILTIN_SQRT] = ST_OP_SQRT,
                                [ST_BUILTIN_LOG2] = ST_OP_LOG2,     [ST_BUILTIN_LOG] = ST_OP_LOG,
                                [ST_BUILTIN_LGAMMA] = ST_OP_LGAMMA, [ST_BUILTIN_EXP] = ST_OP_EXP,
                                [ST_BUILTIN_ABS] = ST_OP_ABS};
    st_dataflow *graph = &lowering->graph;
    if (expr->builtin == ST_BUILTIN_ARGMIN || expr->builtin == ST_BUILTIN_ARGMAX) {
        /* The first of the largest (smallest) arguments, from the last one on: its place among
         * them. */
        st_dataflow *place_graph = &lowering->graph;
        bool largest = expr->builtin == ST_BUILTIN_ARGMAX;
        size_t i = expr->child_count - 1;
        while (is_passed_over(lowering, expr, i))
            i--;
        uint32_t best = st_lower(lowering, st_expr_child(expr, i), scope);
        uint32_t place = st_dataflow_constant(place_graph, (double)i);
        while (i-- > 0) {
            if (is_passed_over(lowering, expr, i))
                continue;
            uint32_t value = st_lower(lowering, st_expr_child(expr, i), scope);
            uint32_t wins = st_dataflow_binary(place_graph, ST_OP_LESS_EQUAL,
                                               largest ? best : value, largest ? value : best);
            place = st_dataflow_select(place_graph, wins,
                                       st_dataflow_constant(place_graph, (double)i), place);
            best = st_dataflow_binary(place_graph, largest ? ST_OP_MAX : ST_OP_MIN, value, best);
        }
        return place;
    }
    if (st_absence_denies(&lowering->absence, expr))
        return st_lower(lowering, st_expr_child(expr, 2), scope);
    uint32_t first = st_lower(lowering, st_expr_child(expr, 0), scope);
    if (expr->builtin == ST_BUILTIN_IF) {
        uint32_t a = st_lower(lowering, st_expr_child(expr, 1), scope);
        uint32_t b = st_lower(lowering, st_expr_child(expr, 2), scope);
        return st_dataflow_select(graph, first, a, b);
    }
    if (expr->builtin != ST_BUILTIN_MIN && expr->builtin != ST_BUILTIN_MAX)
        return st_dataflow_unary(graph, ops[expr->builtin], first);
    for (size_t i = 1; i < expr->child_count; i++) {
        if (is_passed_over(lowering, expr, i))
            continue;
        uint32_t next = st_lower(lowering, st_expr_child(expr, i), scope);
        first = st_dataflow_binary(graph, ops[expr->builtin], first, next);
    }
    return first;
}

static uint32_t lower_term(st_lowering *lowering, const st_expr *expr, st_scope scope);

/* An operation with a member that is left out: what is left of it; ST_NO_VALUE: all. */
static uint32_t what_is_left(const st_expr *expr, uint32_t a, uint32_t b)
{
    switch (expr->op) {
    case ST_OPERATOR_TIMES:
        return a == ABSENT || b == ABSENT ? ABSENT : ST_NO_VALUE;
    case ST_OPERATOR_DIVIDE:
        return a == ABSENT ? ABSENT : ST_NO_VALUE;
    case ST_OPERATOR_PLUS:
        return a == ABSENT ? b : b == ABSENT ? a : ST_NO_VALUE;
    default:
        return ST_NO_VALUE;
    }
}

static uint32_t present(st_lowering *lowering, uint32_t value)
{
    return value == ABSENT ? st_dataflow_constant(&lowering->graph, 0) : value;
}

static uint32_t lower_binary(st_lowering *lowering, const st_expr *expr, st_scope scope)
{
    static const st_op ops[] = {
        [ST_OPERATOR_OR] = ST_OP_OR,          [ST_OPERATOR_AND] = ST_OP_AND,
        [ST_OPERATOR_EQUAL] = ST_OP_EQUAL,    [ST_OPERATOR_UNEQUAL] = ST_OP_UNEQUAL,
        [ST_OPERATOR_LESS] = ST_OP_LESS,      [ST_OPERATOR_LESS_EQUAL] = ST_OP_LESS_EQUAL,
        [ST_OPERATOR_GREATER] = ST_OP_LESS,   [ST_OPERATOR_GREATER_EQUAL] = ST_OP_LESS_EQUAL,
        [ST_OPERATOR_PLUS] = ST_OP_ADD,       [ST_OPERATOR_MINUS] = ST_OP_SUBTRACT,
        [ST_OPERATOR_TIMES] = ST_OP_MULTIPLY, [ST_OPERATOR_DIVIDE] = ST_OP_DIVIDE,
        [ST_OPERATOR_POWER] = ST_OP_POWER};
    uint32_t a = lower_term(lowering, st_expr_child(expr, 0), scope);
    uint32_t b = lower_term(lowering, st_expr_child(expr, 1), scope);
    uint32_t left = what_is_left(expr, a, b);
    if (left != ST_NO_VALUE)
        return left;
    a = present(lowering, a);
    b = present(lowering, b);
    if (expr->op == ST_OPERATOR_POWER) {
        /* Powers: small whole exponents are products, which are exact in the way a reader expects
         * (x^2 is x*x), halves and quarters are roots; all are much faster than the library's pow.
         * What is known only when the program runs gets the same values from ST_SHORT_POWERS. */
        st_dataflow *graph = &lowering->graph;
        if (a == ST_NO_VALUE || b == ST_NO_VALUE)
            return ST_NO_VALUE;
        const st_value *value = &graph->values[b];
        double power = value->op == ST_OP_CONSTANT ? value->constant : 0;
        double size = fabs(power);
        uint32_t result = a;
        if (size == 2 || size == 3 || size == 4) {
            uint32_t square = st_dataflow_binary(graph, ST_OP_MULTIPLY, a, a);
            if (size == 2)
                result = square;
            else
                result = st_dataflow_binary(graph, ST_OP_MULTIPLY, square, size == 3 ? a : square);
        } else if (size == 0.5 || power == 0.25) {
            result = st_dataflow_unary(graph, ST_OP_SQRT, a);
            result = power == 0.25 ? st_dataflow_unary(graph, ST_OP_SQRT, result) : result;
        } else if (size != 1) {
            return st_dataflow_binary(graph, ST_OP_POWER, a, b);
        }
        return power > 0 ? result
                         : st_dataflow_binary(graph, ST_OP_DIVIDE, st_dataflow_constant(graph, 1),
                                              result);
    }
    bool swap = expr->op == ST_OPERATOR_GREATER || expr->op == ST_OPERATOR_GREATER_EQUAL;
    return st_dataflow_binary(&lowering->graph, ops[expr->op], swap ? b : a, swap ? a : b);
}

static uint32_t lower_term(st_lowering *lowering, const st_expr *expr, st_scope scope)
{
    if (++lowering->work > MAX_WORK) {
        lowering->too_large = true;
        lowering->graph.failed = true;
    }
    if (lowering->graph.failed)
        return ST_NO_VALUE;
    switch (expr->kind) {
    case ST_EXPR_NUMBER:
    case ST_EXPR_BOOL:
        return st_dataflow_constant(&lowering->graph, expr->number);
    case ST_EXPR_NAME:
        switch (expr->name_kind) {
        case ST_NAME_INPUT:
            return st_dataflow_input(&lowering->graph, expr->index);
        case ST_NAME_CELL:
            return st_absence_has_cell(&lowering->absence, expr->index)
                       ? ABSENT
                       : lowering->cells[expr->index];
        case ST_NAME_ARGUMENT:
            assert(scope != NULL); /* the checker finds arguments in functions alone */
            return scope[expr->index];
        case ST_NAME_VALUE:
            return st_dataflow_constant(&lowering->graph, expr->number);
        case ST_NAME_FUNCTION:
        case ST_NAME_UNKNOWN:
            break;
        }
        lowering->graph.failed = true;
        return ST_NO_VALUE;
    case ST_EXPR_UNARY:
        return st_dataflow_unary(&lowering->graph,
                                 expr->op == ST_OPERATOR_NOT ? ST_OP_NOT : ST_OP_NEGATE,
                                 st_lower(lowering, st_expr_child(expr, 0), scope));
    case ST_EXPR_BINARY:
        return lower_binary(lowering, expr, scope);
    case ST_EXPR_CALL:
        if (st_absence_has_term(&lowering->absence, expr))
            return ABSENT;
        return expr->builtin == ST_BUILTIN_NONE ? lower_call(lowering, expr, scope)
                                                : lower_builtin(lowering, expr, scope);
    }
    return ST_NO_VALUE;
}

uint32_t st_lower(st_lowering *lowering, const st_expr *expr, st_scope scope)
{
    return present(lowering, lower_term(lowering, expr, scope));
}

/* --- cells ----------------------------------------------------------------------------------- */

static void mark_reads(st_lowering *lowering, const st_sheet_function *function,
                       const st_provider *provider, bool *needed)
{
    for (size_t i = 0; i < provider->argument_count; i++) {
        st_read read = st_provider_read(lowering->sheet, function, provider, i);
        if (read.kind == ST_READ_CELL)
            needed[read.index] = true;
    }
}

/* The operands from which on a tree counts: the last one of a choice that is denied, else all. */
static size_t first_that_counts(st_lowering *lowering, const st_expr *expr)
{
    if (st_absence_denies(&lowering->absence, expr))
        return 2;
    return st_absence_has_term(&lowering->absence, expr) ? expr->child_count : 0;
}

/* Once only: functions that call functions twice each would take for ever. */
static void mark_function(st_lowering *lowering, size_t index, bool *needed)
{
    const st_sheet_function *function = &lowering->sheet->functions[index];
    const st_provider *provider = lowering->function_providers[index];
    if (!lowering->has_readers || lowering->marked[index])
        return;
    lowering->marked[index] = true;
    if (provider != NULL)
        mark_reads(lowering, function, provider, needed);
    if (function->expr != NULL && (provider == NULL || provider->fallback))
        st_lowering_mark(lowering, function->expr, needed);
}

void st_lowering_mark(st_lowering *lowering, const st_expr *expr, bool *needed)
{
    while (expr->child_count > 0) {
        if (expr->name_kind == ST_NAME_FUNCTION)
            mark_function(lowering, expr->index, needed);
        size_t i = first_that_counts(lowering, expr);
        if (i == expr->child_count)
            return;
        for (; i + 1 < expr->child_count; i++)
            st_lowering_mark(lowering, st_expr_child(expr, i), needed);
        expr = st_expr_child(expr, i);
    }
    if (expr->name_kind == ST_NAME_CELL)
        needed[expr->index] = true;
    else if (expr->name_kind == ST_NAME_FUNCTION)
        mark_function(lowering, expr->index, needed);
}

static st_status search_function(st_lowering *lowering, size_t index, st_errors *errors)
{
    const st_sheet_function *function = &lowering->sheet->functions[index];
    const st_provider *provider = lowering->function_providers[index];
    /* Once only: functions that call functions twice each would take for ever. */
    if (lowering->searched[index])
        return ST_OK;
    lowering->searched[index] = true;
    if (provider != NULL && (!provider->fallback || function->expr == NULL))
        return ST_OK;
    if (function->expr != NULL)
        return st_lowering_search(lowering, function->expr, errors);
    return st_fail(errors, ST_ERR_PROVIDER, function->place,
                   "function '%s' has no formula and no provider", function->name);
}

st_status st_lowering_search(st_lowering *lowering, const st_expr *expr, st_errors *errors)
{
    st_status status = ST_OK;
    if (!lowering->lacks)
        return ST_OK;
    if (expr->name_kind == ST_NAME_FUNCTION)
        status = search_function(lowering, expr->index, errors);
    for (size_t i = first_that_counts(lowering, expr); i < expr->child_count; i++)
        st_note(&status, st_lowering_search(lowering, st_expr_child(expr, i), errors));
    return status;
}

st_status st_lowering_status(const st_lowering *lowering, st_errors *errors)
{
    if (lowering->too_large || lowering->graph.count >= ST_GRAPH_MAX_VALUES)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = lowering->sheet->file},
                       "the sheet is too large after its functions are expanded");
    if (lowering->graph.failed)
        return st_out_of_memory(errors);
    return ST_OK;
}

static void lower_cell(st_lowering *lowering, size_t cell)
{
    const st_provider *provider = lowering->cell_providers[cell];
    const st_expr *expr = lowering->sheet->cells[cell].expr;
    uint32_t value = provider == NULL ? st_lower(lowering, expr, NULL)
                                      : call_provider(lowering, NULL, provider, NULL);
    if (provider != NULL && provider->fallback)
        value = st_dataflow_binary(&lowering->graph, ST_OP_OTHERWISE, value,
                                   st_lower(lowering, expr, NULL));
    lowering->cells[cell] = value;
}

st_status st_lowering_cells(st_lowering *lowering, bool *needed, st_errors *errors)
{
    const st_sheet *sheet = lowering->sheet;
    st_status status = ST_OK;
    for (size_t i = sheet->cell_count; i-- > 0;)
        if (needed[lowering->order[i]]) {
            const size_t cell = lowering->order[i];
            const st_provider *provider = lowering->cell_providers[cell];
            if (provider != NULL)
                mark_reads(lowering, NULL, provider, needed);
            if (provider == NULL || provider->fallback)
                st_lowering_mark(lowering, lowering->sheet->cells[cell].expr, needed);
        }
    for (size_t i = 0; i < sheet->cell_count; i++) {
        if (needed[i] &&
            (lowering->cell_providers[i] == NULL || lowering->cell_providers[i]->fallback)) {
            st_note(&status, st_lowering_search(lowering, sheet->cells[i].expr, errors));
        }
    }
    for (size_t i = 0; i < sheet->cell_count && status == ST_OK; i++)
        if (needed[lowering->order[i]])
            lower_cell(lowering, lowering->order[i]);
    return status == ST_OK ? st_lowering_status(lowering, errors) : status;
}

void st_lowering_rest(st_lowering *lowering)
{
    for (size_t i = 0; i < lowering->sheet->cell_count; i++)
        if (lowering->cells[lowering->order[i]] == ST_NO_VALUE)
            lower_cell(lowering, lowering->order[i]);
}
