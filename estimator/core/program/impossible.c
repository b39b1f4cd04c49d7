/* SPDX-License-Identifier: Apache-2.0 */
/* Which members of families a job cannot have: what conditions say of what is given alone. */
#include "program/impossible.h"

#include "program/scalar.h"

#include <math.h>

enum { MOST_CELLS = 16 }; /* that read each other */

bool st_absence_begin(st_absence *absence, const st_sheet *sheet, const st_given *given,
                      const st_provider *const *providers, st_arena *arena)
{
    *absence = (st_absence){.sheet = sheet, .given = given, .providers = providers};
    if (given == NULL)
        return true;
    size_t count = sheet->cell_count + 1;
    absence->values = st_arena_alloc(arena, count, sizeof *absence->values);
    absence->asked = st_arena_alloc(arena, count, sizeof *absence->asked);
    absence->states = st_arena_alloc(arena, count, sizeof *absence->states);
    return !st_arena_failed(arena);
}

static bool has_provider(const st_absence *absence, size_t cell)
{
    return absence->providers != NULL && absence->providers[cell] != NULL;
}

static st_guess ask_provider(const st_absence *absence, const st_provider *provider)
{
    const bool asks = absence->asks_providers && provider->argument_count == 0;
    const double value = asks ? st_provider_call_one(provider, NULL) : (double)NAN;
    return isfinite(value) ? (st_guess){true, value} : (st_guess){0};
}

static st_guess guess_binary(st_absence *absence, const st_expr *expr)
{
    if (expr->op == ST_OPERATOR_OR || expr->op == ST_OPERATOR_AND) {
        double deciding = expr->op == ST_OPERATOR_OR ? 1 : 0;
        st_guess left = st_absence_guess(absence, st_expr_child(expr, 0));
        if (left.known && left.value == deciding)
            return left;
        st_guess right = st_absence_guess(absence, st_expr_child(expr, 1));
        if (right.known && right.value == deciding)
            return right;
        return (st_guess){left.known && right.known, 1 - deciding};
    }
    st_guess a = st_absence_guess(absence, st_expr_child(expr, 0));
    st_guess b = st_absence_guess(absence, st_expr_child(expr, 1));
    if (!a.known || !b.known)
        return (st_guess){0};
    switch (expr->op) {
    case ST_OPERATOR_EQUAL:
        return (st_guess){true, a.value == b.value};
    case ST_OPERATOR_UNEQUAL:
        return (st_guess){true, a.value != b.value};
    case ST_OPERATOR_LESS:
        return (st_guess){true, a.value < b.value};
    case ST_OPERATOR_LESS_EQUAL:
        return (st_guess){true, a.value <= b.value};
    case ST_OPERATOR_GREATER:
        return (st_guess){true, a.value > b.value};
    case ST_OPERATOR_GREATER_EQUAL:
        return (st_guess){true, a.value >= b.value};
    default:
        return (st_guess){0};
    }
}

st_guess st_absence_guess(st_absence *absence, const st_expr *expr)
{
    switch (expr->kind) {
    case ST_EXPR_NUMBER:
    case ST_EXPR_BOOL:
        return (st_guess){true, expr->number};
    case ST_EXPR_NAME: {
        st_guess result = {0};
        switch (expr->name_kind) {
        case ST_NAME_INPUT:
            result.known = absence->given->value(
                absence->given->context, &absence->sheet->inputs[expr->index], &result.value);
            return result;
        case ST_NAME_CELL: {
            const size_t cell = expr->index;
            if (has_provider(absence, cell))
                return ask_provider(absence, absence->providers[cell]);
            if (absence->depth == MOST_CELLS)
                return (st_guess){0};
            if (absence->asked[cell] == ST_NOT_ASKED) {
                absence->asked[cell] = ST_UNKNOWN;
                absence->depth++;
                result = st_absence_guess(absence, absence->sheet->cells[cell].expr);
                absence->depth--;
                absence->asked[cell] = result.known ? ST_KNOWN : ST_UNKNOWN;
                absence->values[cell] = result.value;
            }
            return (st_guess){absence->asked[cell] == ST_KNOWN, absence->values[cell]};
        }
        case ST_NAME_VALUE:
            return (st_guess){true, expr->number};
        case ST_NAME_ARGUMENT:
        case ST_NAME_FUNCTION:
        case ST_NAME_UNKNOWN:
            break;
        }
        return result;
    }
    case ST_EXPR_UNARY: {
        st_guess inner = st_absence_guess(absence, st_expr_child(expr, 0));
        bool truth = expr->op == ST_OPERATOR_NOT;
        return (st_guess){inner.known, truth ? 1 - inner.value : -inner.value};
    }
    case ST_EXPR_BINARY:
        return guess_binary(absence, expr);
    case ST_EXPR_CALL:
        break;
    }
    return (st_guess){0};
}

bool st_absence_refutes(st_absence *absence, const st_expr *choice)
{
    st_guess condition = st_absence_guess(absence, st_expr_child(choice, 0));
    return condition.known && condition.value == 0;
}

st_presence st_absence_decide(st_absence *absence, size_t cell)
{
    bool is_absent = !has_provider(absence, cell) &&
                     st_absence_denies(absence, absence->sheet->cells[cell].expr);
    absence->states[cell] = is_absent ? ST_ABSENT : ST_PRESENT;
    return absence->states[cell];
}

bool st_absence_is_zero(st_absence *absence, const st_expr *expr)
{
    if (expr->kind == ST_EXPR_NAME)
        return expr->name_kind == ST_NAME_CELL && st_absence_has_cell(absence, expr->index);
    if (expr->kind == ST_EXPR_CALL)
        return st_expr_child(expr, 2)->kind == ST_EXPR_NUMBER &&
               st_expr_child(expr, 2)->number == 0 &&
               st_absence_has_term(absence, st_expr_child(expr, 1));
    return st_absence_has_term(absence, st_expr_child(expr, 0)) ||
           (expr->op == ST_OPERATOR_TIMES && st_absence_has_term(absence, st_expr_child(expr, 1)));
}
