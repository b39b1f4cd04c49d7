/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which members of families a job cannot have; see left_out.h. Formulas are asked as they were
 * parsed, before any is checked: what they say of zeros and truth values alone is enough here.
 */
#include "sheet/left_out.h"

#include <string.h>

enum { MOST_CELLS = 16 }; /* that read each other */

/* A number as far as it is known. */
typedef struct st_guess {
    bool known;
    double value;
} st_guess;

typedef struct st_asker {
    const st_sheet *sheet;
    const st_given *given;
    st_guess *cells; /* asked before */
    bool *asked;
    size_t depth; /* in cells */
} st_asker;

static st_guess guess(st_asker *asker, const st_expr *expr);

static st_guess guess_name(st_asker *asker, const st_expr *expr)
{
    const st_sheet *sheet = asker->sheet;
    st_guess result = {0};
    size_t index = 0;
    if (st_names_get(&sheet->input_names, expr->name, &index)) {
        result.known =
            asker->given->value(asker->given->context, &sheet->inputs[index], &result.value);
        return result;
    }
    if (!st_names_get(&sheet->cell_names, expr->name, &index) || sheet->cells[index].open ||
        sheet->cell_formulas[index].expr == NULL || asker->depth == MOST_CELLS)
        return result;
    if (!asker->asked[index]) {
        asker->asked[index] = true; /* unknown to itself, if it reads itself */
        asker->depth++;
        asker->cells[index] = guess(asker, sheet->cell_formulas[index].expr);
        asker->depth--;
    }
    return asker->cells[index];
}

static st_guess guess_logic(st_asker *asker, const st_expr *expr)
{
    double deciding = expr->op == ST_OPERATOR_OR ? 1 : 0;
    st_guess left = guess(asker, expr->children[0]);
    if (left.known && left.value == deciding)
        return left;
    st_guess right = guess(asker, expr->children[1]);
    if (right.known && right.value == deciding)
        return right;
    return (st_guess){left.known && right.known, 1 - deciding};
}

static st_guess guess_binary(st_asker *asker, const st_expr *expr)
{
    if (expr->op == ST_OPERATOR_OR || expr->op == ST_OPERATOR_AND)
        return guess_logic(asker, expr);
    st_guess a = guess(asker, expr->children[0]);
    st_guess b = guess(asker, expr->children[1]);
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

static st_guess guess(st_asker *asker, const st_expr *expr)
{
    switch (expr->kind) {
    case ST_EXPR_NUMBER:
    case ST_EXPR_BOOL:
        return (st_guess){true, expr->number};
    case ST_EXPR_NAME:
        return guess_name(asker, expr);
    case ST_EXPR_UNARY: {
        st_guess inner = guess(asker, expr->children[0]);
        bool truth = expr->op == ST_OPERATOR_NOT;
        return (st_guess){inner.known, truth ? 1 - inner.value : -inner.value};
    }
    case ST_EXPR_BINARY:
        return guess_binary(asker, expr);
    case ST_EXPR_CALL:
        break;
    }
    return (st_guess){0};
}

/* That nobody reads an input is no news where the reader is left out. */
static void note_inputs(st_sheet *sheet, const st_expr *expr)
{
    size_t index = 0;
    if (expr->kind == ST_EXPR_NAME && st_names_get(&sheet->input_names, expr->name, &index))
        sheet->inputs[index].used = true;
    for (size_t i = 0; i < expr->child_count; i++)
        note_inputs(sheet, expr->children[i]);
}

static void note_formula(st_sheet *sheet, const st_formula *formula)
{
    if (formula != NULL && formula->expr != NULL)
        note_inputs(sheet, formula->expr);
}

static bool is_false(st_asker *asker, const st_formula *where)
{
    st_guess condition = where->expr == NULL ? (st_guess){0} : guess(asker, where->expr);
    return condition.known && condition.value == 0;
}

void st_sheet_leave_out(st_sheet *sheet, const st_given *given, st_arena *arena)
{
    const st_formula *noted = NULL;
    st_asker asker = {
        .sheet = sheet,
        .given = given,
        .cells = st_arena_alloc(arena, sheet->cell_count + 1, sizeof *asker.cells),
        .asked = st_arena_alloc(arena, sheet->cell_count + 1, sizeof *asker.asked),
    };
    sheet->leaves_out = asker.cells != NULL && asker.asked != NULL;
    if (!sheet->leaves_out)
        return; /* an arena that is full stays full: the next to ask it tells */
    for (size_t i = 0; i < sheet->family_count; i++) {
        const st_family *family = sheet->families[i];
        const st_formula *asked = NULL; /* members that share a condition follow each other */
        bool out = false;
        for (size_t k = 0; k < family->member_count; k++) {
            const st_formula *where = family->wheres[k];
            out = where != NULL && (where == asked ? out : is_false(&asker, where));
            asked = where;
            family->left_out[k] = out;
            if (out)
                note_formula(sheet, where);
        }
    }
    for (size_t i = 0; i < sheet->cell_count; i++) {
        const st_family_member *member = &sheet->cell_members[i];
        const st_formula *formula = &sheet->cell_formulas[i];
        if (st_family_leaves_out(*member) && formula->origin != noted) {
            note_formula(sheet, formula);
            noted = formula->origin;
        }
    }
}
