/* SPDX-License-Identifier: Apache-2.0 */
/* One row of a program with every intermediate value at hand; see session.h. */
#include "program/session.h"
#include "base/memory.h"
#include "program/scalar.h"

#include <math.h>

/* Runs the values that were added to the graph since the last time. */
static bool catch_up(st_session *session)
{
    const st_dataflow *graph = &session->lowering.graph;
    double *values = st_arena_grow(graph->arena, session->values, sizeof(double), graph->count + 1,
                                   &session->value_capacity);
    if (values == NULL || graph->failed) {
        session->failed = true;
        return false;
    }
    session->values = values;
    for (; session->value_count < graph->count; session->value_count++) {
        const st_value *value = &graph->values[session->value_count];
        double *result = &values[session->value_count];
        if (value->op == ST_OP_CONSTANT) {
            *result = value->constant;
        } else if (value->op == ST_OP_INPUT) {
            *result = session->inputs[value->a];
        } else if (value->op == ST_OP_CALL) {
            const st_call *call = &graph->calls[value->a];
            const double *arguments[ST_EXPR_MAX_ARGUMENTS];
            for (size_t i = 0; i < call->provider->argument_count; i++)
                arguments[i] = &values[call->arguments[i]];
            *result = st_provider_call_one(call->provider, arguments);
        } else {
            bool binary = value->op >= ST_OP_ADD;
            *result = st_apply(value->op, values[value->a], values[binary ? value->b : 0],
                               values[value->op == ST_OP_SELECT ? value->c : 0]);
        }
    }
    return true;
}

st_status st_session_begin(st_session *session, const st_program *program, const double *inputs,
                           st_arena *arena, st_errors *errors)
{
    const st_sheet *sheet = program->sheet;
    *session = (st_session){.program = program, .inputs = inputs};
    st_status status =
        st_lowering_begin(&session->lowering, sheet, &program->options, arena, errors);
    if (status != ST_OK)
        return status;
    bool *needed = st_arena_alloc(arena, sheet->cell_count + 1, sizeof(*needed));
    if (needed == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < program->output_count; i++) {
        size_t cell = 0;
        if (st_names_get(&sheet->cell_names, program->outputs[i].name, &cell))
            needed[cell] = true;
    }
    for (size_t i = 0; i < program->check_count; i++) {
        st_lowering_mark(&session->lowering, sheet->checks[i].expr, needed);
        for (size_t j = 0; j < sheet->messages[i].count; j++) {
            const st_expr *shown = sheet->messages[i].parts[j].formula.expr;
            if (shown != NULL)
                st_lowering_mark(&session->lowering, shown, needed);
        }
    }
    status = st_lowering_cells(&session->lowering, needed, errors);
    session->needed = needed;
    if (status == ST_OK && session->lowering.has_readers) {
        session->lowering.work = 0;
        st_lowering_rest(&session->lowering);
    }
    if (status == ST_OK && !catch_up(session))
        status = st_out_of_memory(errors);
    return status;
}

double st_session_value_of(const st_session *session, uint32_t value)
{
    return value < session->value_count ? session->values[value] : (double)NAN;
}

void st_session_catch_up(st_session *session)
{
    (void)catch_up(session);
}

uint32_t st_session_lower(st_session *session, const st_expr *expr, st_scope scope)
{
    session->lowering.work = 0; /* the bound is per formula here */
    uint32_t value = st_lower(&session->lowering, expr, scope);
    return catch_up(session) ? value : ST_NO_VALUE;
}

double st_session_value(st_session *session, const st_expr *expr, st_scope scope)
{
    return st_session_value_of(session, st_session_lower(session, expr, scope));
}

void st_session_arguments(st_session *session, const st_expr *call, st_scope scope,
                          uint32_t *arguments)
{
    session->lowering.work = 0;
    for (size_t i = 0; i < call->child_count; i++)
        arguments[i] = st_lower(&session->lowering, st_expr_child(call, i), scope);
    (void)catch_up(session);
}

double st_session_ask(st_session *session, const st_sheet_function *function,
                      const st_provider *provider, st_scope arguments, st_provider_account *account)
{
    const double *columns[ST_EXPR_MAX_ARGUMENTS];
    uint32_t reads[ST_EXPR_MAX_ARGUMENTS];
    for (size_t i = 0; i < provider->argument_count; i++) {
        st_read read = st_provider_read(session->lowering.sheet, function, provider, i);
        reads[i] = st_lowering_read(&session->lowering, &read, arguments);
    }
    bool ready = catch_up(session);
    for (size_t i = 0; i < provider->argument_count && ready; i++) {
        ready = reads[i] < session->value_count;
        columns[i] = ready ? &session->values[reads[i]] : NULL;
    }
    *account = (st_provider_account){0};
    if (!ready)
        return (double)NAN;
    double value = st_provider_call_one(provider, columns);
    if (provider->explain != NULL &&
        provider->explain(provider->self, columns, session->lowering.graph.arena, account) ==
            ST_ERR_MEMORY)
        session->failed = true;
    return value;
}

double st_session_cell(const st_session *session, size_t cell)
{
    return st_session_value_of(session, session->lowering.cells[cell]);
}

bool st_session_skips(st_session *session, const st_expr *expr, size_t child, st_scope scope)
{
    if (expr->kind == ST_EXPR_CALL && expr->builtin == ST_BUILTIN_IF && child > 0) {
        double condition = st_session_value(session, st_expr_child(expr, 0), scope);
        return child == 1 ? condition == 0.0 : condition == 1.0;
    }
    if (expr->kind == ST_EXPR_BINARY && child == 1 &&
        (expr->op == ST_OPERATOR_AND || expr->op == ST_OPERATOR_OR)) {
        double left = st_session_value(session, st_expr_child(expr, 0), scope);
        return left == (expr->op == ST_OPERATOR_AND ? 0.0 : 1.0);
    }
    return false;
}
