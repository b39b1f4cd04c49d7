/* SPDX-License-Identifier: Apache-2.0 */
/* Which members of families a job cannot have: what conditions say of what is given alone. */
#include "program/impossible.h"

enum { MOST_CELLS = 16 }; /* that read each other */

bool st_absence_begin(st_absence *absence, const st_sheet *sheet, const st_given *given,
                      const st_provider *const *providers, st_arena *arena)
{
    *absence = (st_absence){.sheet = sheet, .given = given, .providers = providers};
    if (given == NULL)
        return true;
    size_t count = sheet->cell_count + 1;
    absence->cells = st_arena_alloc(arena, count, sizeof *absence->cells);
    absence->is_asked = st_arena_alloc(arena, count, sizeof *absence->is_asked);
    absence->is_absent = st_arena_alloc(arena, count, sizeof *absence->is_absent);
    absence->is_decided = st_arena_alloc(arena, count, sizeof *absence->is_decided);
    return !st_arena_failed(arena);
}

static st_guess guess(st_absence *absence, const st_expr *expr);

static st_guess guess_binary(st_absence *absence, const st_expr *expr)
{
    if (expr->op == ST_OPERATOR_OR || expr->op == ST_OPERATOR_AND) {
        double deciding = expr->op == ST_OPERATOR_OR ? 1 : 0;
        st_guess left = guess(absence, st_expr_child(expr, 0));
        if (left.known && left.value == deciding)
            return left;
        st_guess right = guess(absence, st_expr_child(expr, 1));
        if (right.known && right.value == deciding)
            return right;
        return (st_guess){left.known && right.known, 1 - deciding};
    }
    st_guess a = guess(absence, st_expr_child(expr, 0));
    st_guess b = guess(absence, st_expr_child(expr, 1));
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

static st_guess guess(st_absence *absence, const st_expr *expr)
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
            if (absence->providers[cell] != NULL || absence->depth == MOST_CELLS)
                return (st_guess){0};
            if (!absence->is_asked[cell]) {
                absence->is_asked[cell] = true;
                absence->depth++;
                absence->cells[cell] = guess(absence, absence->sheet->cells[cell].expr);
                absence->depth--;
            }
            return absence->cells[cell];
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
        st_guess inner = guess(absence, st_expr_child(expr, 0));
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

bool st_absence_denies(st_absence *absence, const st_expr *choice)
{
    if (absence->given == NULL || !choice->guards)
        return false;
    st_guess condition = guess(absence, st_expr_child(choice, 0));
    return condition.known && condition.value == 0;
}

bool st_absence_has_cell(st_absence *absence, size_t cell)
{
    if (absence->given == NULL || absence->providers[cell] != NULL)
        return false;
    if (!absence->is_decided[cell]) {
        absence->is_decided[cell] = true;
        absence->is_absent[cell] = st_absence_denies(absence, absence->sheet->cells[cell].expr);
    }
    return absence->is_absent[cell];
}

bool st_absence_has_term(st_absence *absence, const st_expr *expr)
{
    if (absence->given == NULL)
        return false;
    if (expr->kind == ST_EXPR_NAME)
        return expr->name_kind == ST_NAME_CELL && st_absence_has_cell(absence, expr->index);
    if (expr->kind == ST_EXPR_CALL)
        return expr->builtin == ST_BUILTIN_IF && st_expr_child(expr, 2)->kind == ST_EXPR_NUMBER &&
               st_expr_child(expr, 2)->number == 0 &&
               st_absence_has_term(absence, st_expr_child(expr, 1));
    bool product = expr->kind == ST_EXPR_BINARY && expr->op == ST_OPERATOR_TIMES;
    bool quotient = expr->kind == ST_EXPR_BINARY && expr->op == ST_OPERATOR_DIVIDE;
    return (product || quotient) &&
           (st_absence_has_term(absence, st_expr_child(expr, 0)) ||
            (product && st_absence_has_term(absence, st_expr_child(expr, 1))));
}
