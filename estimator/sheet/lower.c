/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering. Cells are taken in an order in which each comes behind its operands, so a chain of
 * thousands of cells needs no deep recursion; recursion follows trees and function calls only, and
 * the checker has bounded both.
 */
#include "sheet/lower.h"
#include "sheet/order.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_WORK = 20000000 };

/* --- providers ------------------------------------------------------------------------------- */

static st_status refuse_provider(const st_provider *provider, const char *reason, st_errors *errors)
{
    return st_errors_add(
        errors, &(st_error){.status = ST_ERR_PROVIDER,
                            .message = st_errors_text(errors, "the provider '%s' for '%s' %s",
                                                      provider->source, provider->name, reason)});
}

static st_status bind_function(st_lowering *lowering, size_t index, const st_provider *provider,
                               st_errors *errors)
{
    const st_sheet_function *function = &lowering->sheet->functions[index];
    if (!function->open) {
        return refuse_provider(provider, "fits no open function: this one is closed", errors);
    }
    if (function->type.kind != ST_TYPE_NUMBER) {
        return refuse_provider(provider, "gives a number, but the function no number", errors);
    }
    if (lowering->function_providers[index] != NULL) {
        return refuse_provider(provider, "comes second: there is one already", errors);
    }
    if (provider->argument_count != function->argument_count) {
        return refuse_provider(provider, "takes another number of arguments", errors);
    }
    bool same = st_dimension_equal(provider->unit.dimension, function->type.unit.dimension);
    for (size_t i = 0; i < provider->argument_count; i++) {
        same = same && st_dimension_equal(provider->argument_units[i].dimension,
                                          function->arguments[i].type.unit.dimension);
    }
    if (!same) {
        return refuse_provider(provider, "has other units than the sheet declares", errors);
    }
    lowering->function_providers[index] = provider;
    return ST_OK;
}

static st_status bind_cell(st_lowering *lowering, size_t index, const st_provider *provider,
                           st_errors *errors)
{
    const st_sheet *sheet = lowering->sheet;
    const st_sheet_cell *cell = &sheet->cells[index];
    if (!cell->open) {
        return refuse_provider(provider, "fits no open cell: this one is closed", errors);
    }
    if (cell->type.kind != ST_TYPE_NUMBER) {
        return refuse_provider(provider, "gives a number, but the cell holds no number", errors);
    }
    if (lowering->cell_providers[index] != NULL) {
        return refuse_provider(provider, "comes second: there is one already", errors);
    }
    if (!st_dimension_equal(provider->unit.dimension, cell->type.unit.dimension)) {
        return refuse_provider(provider, "has another unit than the sheet declares", errors);
    }
    if (provider->argument_count > ST_EXPR_MAX_ARGUMENTS) {
        return refuse_provider(provider, "reads more than 64 cells", errors);
    }
    for (size_t i = 0; i < provider->argument_count; i++) {
        const st_sheet_cell *operand = st_sheet_find_cell(sheet, provider->argument_names[i]);
        const st_sheet_input *input = st_sheet_find_input(sheet, provider->argument_names[i]);
        if (operand == NULL && input == NULL) {
            return refuse_provider(provider, "reads a cell that the sheet does not have", errors);
        }
        st_dimension dimension =
            operand != NULL ? operand->type.unit.dimension : input->type.unit.dimension;
        if (!st_dimension_equal(provider->argument_units[i].dimension, dimension)) {
            return refuse_provider(provider, "reads a cell in another unit", errors);
        }
    }
    lowering->cell_providers[index] = provider;
    lowering->has_cell_providers = true;
    return ST_OK;
}

static st_status bind_provider(st_lowering *lowering, const st_provider *provider,
                               st_errors *errors)
{
    size_t index = 0;
    if (st_names_get(&lowering->sheet->function_names, provider->name, &index)) {
        return bind_function(lowering, index, provider, errors);
    }
    if (st_names_get(&lowering->sheet->cell_names, provider->name, &index)) {
        return bind_cell(lowering, index, provider, errors);
    }
    return refuse_provider(provider, "fits no function and no cell of the sheet", errors);
}

st_status st_lowering_begin(st_lowering *lowering, const st_sheet *sheet,
                            const st_program_options *options, st_arena *arena, st_errors *errors)
{
    *lowering = (st_lowering){.sheet = sheet, .graph = {.arena = arena}};
    lowering->cells = st_arena_alloc(arena, sheet->cell_count + 1, sizeof(*lowering->cells));
    lowering->cell_providers =
        st_arena_alloc(arena, sheet->cell_count + 1, sizeof(*lowering->cell_providers));
    lowering->function_providers =
        st_arena_alloc(arena, sheet->function_count + 1, sizeof(*lowering->function_providers));
    lowering->searched =
        st_arena_alloc(arena, sheet->function_count + 1, sizeof(*lowering->searched));
    if (lowering->cells == NULL || lowering->cell_providers == NULL ||
        lowering->function_providers == NULL || lowering->searched == NULL) {
        return st_errors_add(errors,
                             &(st_error){.status = ST_ERR_MEMORY, .message = "out of memory"});
    }
    for (size_t i = 0; i < sheet->cell_count; i++) {
        lowering->cells[i] = ST_NO_VALUE;
    }
    st_status status = ST_OK;
    for (size_t i = 0; i < options->provider_count; i++) {
        st_status bound = bind_provider(lowering, options->providers[i], errors);
        status = status == ST_OK ? bound : status;
    }
    lowering->order = sheet->cell_order;
    if (status == ST_OK && lowering->has_cell_providers) {
        /* A provider may read cells that the formula does not. */
        status = st_order_cells(sheet, lowering->cell_providers, arena, &lowering->order, errors);
    }
    return status;
}

/* --- expressions ----------------------------------------------------------------------------- */

static uint32_t lower_call(st_lowering *lowering, const st_expr *expr, st_scope scope)
{
    const st_sheet_function *function = &lowering->sheet->functions[expr->index];
    const st_provider *provider = lowering->function_providers[expr->index];
    uint32_t arguments[ST_EXPR_MAX_ARGUMENTS];
    for (size_t i = 0; i < expr->child_count; i++) {
        arguments[i] = st_lower(lowering, expr->children[i], scope);
    }
    if (provider != NULL) {
        return st_graph_call(&lowering->graph, provider, arguments);
    }
    /* Without a body, it stands in a formula that a provider replaces: nothing needs its value. */
    return function->expr == NULL ? ST_NO_VALUE : st_lower(lowering, function->expr, arguments);
}

static uint32_t lower_builtin(st_lowering *lowering, const st_expr *expr, st_scope scope)
{
    static const st_op ops[] = {[ST_BUILTIN_MIN] = ST_OP_MIN,     [ST_BUILTIN_MAX] = ST_OP_MAX,
                                [ST_BUILTIN_FLOOR] = ST_OP_FLOOR, [ST_BUILTIN_CEIL] = ST_OP_CEIL,
                                [ST_BUILTIN_ROUND] = ST_OP_ROUND, [ST_BUILTIN_SQRT] = ST_OP_SQRT,
                                [ST_BUILTIN_LOG2] = ST_OP_LOG2,   [ST_BUILTIN_LOG] = ST_OP_LOG,
                                [ST_BUILTIN_EXP] = ST_OP_EXP,     [ST_BUILTIN_ABS] = ST_OP_ABS};
    st_graph *graph = &lowering->graph;
    uint32_t first = st_lower(lowering, expr->children[0], scope);
    if (expr->builtin == ST_BUILTIN_IF) {
        uint32_t a = st_lower(lowering, expr->children[1], scope);
        uint32_t b = st_lower(lowering, expr->children[2], scope);
        return st_graph_select(graph, first, a, b);
    }
    if (expr->builtin != ST_BUILTIN_MIN && expr->builtin != ST_BUILTIN_MAX) {
        return st_graph_unary(graph, ops[expr->builtin], first);
    }
    for (size_t i = 1; i < expr->child_count; i++) {
        uint32_t next = st_lower(lowering, expr->children[i], scope);
        first = st_graph_binary(graph, ops[expr->builtin], first, next);
    }
    return first;
}

/*
 * Powers: small whole exponents are products, which are exact in the way a reader expects (x^2 is
 * x*x) and much faster than the library's pow.
 */
static uint32_t lower_power(st_lowering *lowering, uint32_t base, uint32_t exponent)
{
    st_graph *graph = &lowering->graph;
    if (base == ST_NO_VALUE || exponent == ST_NO_VALUE) {
        return ST_NO_VALUE;
    }
    const st_value *value = &graph->values[exponent];
    double power = value->op == ST_OP_CONSTANT ? value->constant : 0.5;
    if (power != floor(power) || fabs(power) > 4 || power == 0) {
        return st_graph_binary(graph, ST_OP_POWER, base, exponent);
    }
    uint32_t square = st_graph_binary(graph, ST_OP_MULTIPLY, base, base);
    uint32_t product = base;
    if (fabs(power) == 2) {
        product = square;
    } else if (fabs(power) == 3) {
        product = st_graph_binary(graph, ST_OP_MULTIPLY, square, base);
    } else if (fabs(power) == 4) {
        product = st_graph_binary(graph, ST_OP_MULTIPLY, square, square);
    }
    return power > 0 ? product
                     : st_graph_binary(graph, ST_OP_DIVIDE, st_graph_constant(graph, 1), product);
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
    uint32_t a = st_lower(lowering, expr->children[0], scope);
    uint32_t b = st_lower(lowering, expr->children[1], scope);
    if (expr->op == ST_OPERATOR_POWER) {
        return lower_power(lowering, a, b);
    }
    bool swap = expr->op == ST_OPERATOR_GREATER || expr->op == ST_OPERATOR_GREATER_EQUAL;
    return st_graph_binary(&lowering->graph, ops[expr->op], swap ? b : a, swap ? a : b);
}

static uint32_t lower_name(st_lowering *lowering, const st_expr *expr, st_scope scope)
{
    switch (expr->name_kind) {
    case ST_NAME_INPUT:
        return st_graph_input(&lowering->graph, expr->index);
    case ST_NAME_CELL:
        return lowering->cells[expr->index];
    case ST_NAME_ARGUMENT:
        assert(scope != NULL); /* the checker finds arguments in functions alone */
        return scope[expr->index];
    case ST_NAME_VALUE:
        return st_graph_constant(&lowering->graph, expr->number);
    case ST_NAME_FUNCTION:
    case ST_NAME_UNKNOWN:
        break;
    }
    lowering->graph.failed = true;
    return ST_NO_VALUE;
}

uint32_t st_lower(st_lowering *lowering, const st_expr *expr, st_scope scope)
{
    if (++lowering->work > MAX_WORK) {
        lowering->too_large = true;
        lowering->graph.failed = true;
    }
    if (lowering->graph.failed) {
        return ST_NO_VALUE;
    }
    switch (expr->kind) {
    case ST_EXPR_NUMBER:
    case ST_EXPR_BOOL:
        return st_graph_constant(&lowering->graph, expr->number);
    case ST_EXPR_NAME:
        return lower_name(lowering, expr, scope);
    case ST_EXPR_UNARY:
        return st_graph_unary(&lowering->graph,
                              expr->op == ST_OPERATOR_NOT ? ST_OP_NOT : ST_OP_NEGATE,
                              st_lower(lowering, expr->children[0], scope));
    case ST_EXPR_BINARY:
        return lower_binary(lowering, expr, scope);
    case ST_EXPR_CALL:
        return expr->builtin == ST_BUILTIN_NONE ? lower_call(lowering, expr, scope)
                                                : lower_builtin(lowering, expr, scope);
    }
    return ST_NO_VALUE;
}

/* --- cells ----------------------------------------------------------------------------------- */

void st_lowering_mark(const st_lowering *lowering, const st_expr *expr, bool *needed)
{
    if (expr->kind == ST_EXPR_NAME && expr->name_kind == ST_NAME_CELL) {
        needed[expr->index] = true;
    }
    for (size_t i = 0; i < expr->child_count; i++) {
        st_lowering_mark(lowering, expr->children[i], needed);
    }
}

static void mark_operands(const st_lowering *lowering, size_t cell, bool *needed)
{
    const st_sheet *sheet = lowering->sheet;
    const st_provider *provider = lowering->cell_providers[cell];
    if (provider == NULL) {
        st_lowering_mark(lowering, sheet->cells[cell].expr, needed);
        return;
    }
    for (size_t i = 0; i < provider->argument_count; i++) {
        size_t index = 0;
        if (st_names_get(&sheet->cell_names, provider->argument_names[i], &index)) {
            needed[index] = true;
        }
    }
}

static uint32_t call_cell_provider(st_lowering *lowering, const st_provider *provider)
{
    uint32_t arguments[ST_EXPR_MAX_ARGUMENTS];
    for (size_t i = 0; i < provider->argument_count; i++) {
        size_t index = 0;
        if (st_names_get(&lowering->sheet->cell_names, provider->argument_names[i], &index)) {
            arguments[i] = lowering->cells[index];
        } else if (st_names_get(&lowering->sheet->input_names, provider->argument_names[i],
                                &index)) {
            arguments[i] = st_graph_input(&lowering->graph, (uint32_t)index);
        } else {
            arguments[i] = ST_NO_VALUE;
        }
    }
    return st_graph_call(&lowering->graph, provider, arguments);
}

static st_status search_function(st_lowering *lowering, size_t index, st_errors *errors)
{
    const st_sheet_function *function = &lowering->sheet->functions[index];
    /* Once only: functions that call functions twice each would take for ever. */
    if (lowering->function_providers[index] != NULL || lowering->searched[index]) {
        return ST_OK;
    }
    lowering->searched[index] = true;
    if (function->expr != NULL) {
        return st_lowering_search(lowering, function->expr, errors);
    }
    return st_errors_add(
        errors,
        &(st_error){.status = ST_ERR_PROVIDER,
                    .place = function->place,
                    .message = st_errors_text(
                        errors, "function '%s' has no formula and no provider", function->name)});
}

st_status st_lowering_search(st_lowering *lowering, const st_expr *expr, st_errors *errors)
{
    st_status status = ST_OK;
    if (expr->name_kind == ST_NAME_FUNCTION) {
        status = search_function(lowering, expr->index, errors);
    }
    for (size_t i = 0; i < expr->child_count; i++) {
        st_status searched = st_lowering_search(lowering, expr->children[i], errors);
        status = status == ST_OK ? searched : status;
    }
    return status;
}

st_status st_lowering_status(const st_lowering *lowering, st_errors *errors)
{
    if (lowering->too_large || lowering->graph.count >= ST_GRAPH_MAX_VALUES) {
        return st_errors_add(errors, &(st_error){.status = ST_ERR_LIMIT,
                                                 .place = {.file = lowering->sheet->file},
                                                 .message = "the sheet grows too large when its "
                                                            "functions are put in place"});
    }
    if (lowering->graph.failed) {
        return st_errors_add(errors,
                             &(st_error){.status = ST_ERR_MEMORY, .message = "out of memory"});
    }
    return ST_OK;
}

static void lower_cell(st_lowering *lowering, size_t cell)
{
    const st_provider *provider = lowering->cell_providers[cell];
    lowering->cells[cell] = provider != NULL
                                ? call_cell_provider(lowering, provider)
                                : st_lower(lowering, lowering->sheet->cells[cell].expr, NULL);
}

st_status st_lowering_cells(st_lowering *lowering, bool *needed, st_errors *errors)
{
    const st_sheet *sheet = lowering->sheet;
    st_status status = ST_OK;
    for (size_t i = sheet->cell_count; i-- > 0;) {
        if (needed[lowering->order[i]]) {
            mark_operands(lowering, lowering->order[i], needed);
        }
    }
    for (size_t i = 0; i < sheet->cell_count; i++) {
        if (needed[i] && lowering->cell_providers[i] == NULL) {
            st_status searched = st_lowering_search(lowering, sheet->cells[i].expr, errors);
            status = status == ST_OK ? searched : status;
        }
    }
    for (size_t i = 0; i < sheet->cell_count && status == ST_OK; i++) {
        if (needed[lowering->order[i]]) {
            lower_cell(lowering, lowering->order[i]);
        }
    }
    return status == ST_OK ? st_lowering_status(lowering, errors) : status;
}

void st_lowering_rest(st_lowering *lowering)
{
    for (size_t i = 0; i < lowering->sheet->cell_count; i++) {
        if (lowering->cells[lowering->order[i]] == ST_NO_VALUE) {
            lower_cell(lowering, lowering->order[i]);
        }
    }
}
