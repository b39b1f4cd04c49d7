/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of spreadsheet formulas from their operands; see spreadsheet_piece.h. */
#include "export/spreadsheet_piece.h"

#include "base/number.h"

#include <math.h>
#include <string.h>

const st_piece st_piece_none = {
    .text = "NA()", .length = 4, .strength = ST_BINDS_ATOM, .may_fail = true};

static st_piece finish(st_translator *own, const char *text, st_piece made)
{
    if (text == NULL) {
        own->failed = true;
        return st_piece_none;
    }
    made.text = text;
    made.length = strlen(text);
    return made;
}

st_piece st_piece_single(st_translator *own, const char *text)
{
    return finish(own, text, (st_piece){.strength = ST_BINDS_ATOM, .single = true});
}

/* Decimal digits that spreadsheets read of a number in a formula. */
enum { READ_DIGITS = 15, REST_DIGITS = 6 };

static void raise_exponent(char *text)
{
    for (char *c = text; *c != '\0'; c++)
        *c = *c == 'e' ? 'E' : *c;
}

/* A number of more digits is the sum of two that have fewer. */
st_piece st_piece_number(st_translator *own, double value)
{
    char text[ST_QUANTITY_TEXT];
    char rest[ST_QUANTITY_TEXT];
    (void)st_number_format(value, text, sizeof(text));
    raise_exponent(text);
    size_t digits = 0;
    for (const char *c = text; *c != '\0' && *c != 'E'; c++)
        digits += *c != '.' && (digits > 0 || *c != '0') ? 1 : 0;
    double most = value;
    (void)st_number_print('e', READ_DIGITS - 1, value, rest, sizeof(rest));
    if (digits <= READ_DIGITS ||
        st_number_parse(rest, strlen(rest), (st_place){0}, &most, NULL) != ST_OK || most == value)
        return st_piece_single(own, st_arena_copy(own->arena, text, strlen(text)));
    (void)st_number_format(most, text, sizeof(text));
    (void)st_number_print('g', REST_DIGITS, fabs(value - most), rest, sizeof(rest));
    raise_exponent(text);
    raise_exponent(rest);
    return st_piece_single(
        own, st_arena_printf(own->arena, "(%s%s%s)", text, value < most ? "-" : "+", rest));
}

static unsigned deepest(const st_piece *operands, size_t count)
{
    unsigned depth = 0;
    for (size_t i = 0; i < count; i++)
        depth = operands[i].depth > depth ? operands[i].depth : depth;
    return depth;
}

static bool any_may_fail(const st_piece *operands, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any = any || operands[i].may_fail;
    return any;
}

st_piece st_piece_call(st_translator *own, const char *name, const st_piece *operands, size_t count)
{
    st_buffer text = {0};
    st_buffer_printf(&text, "%s(", name);
    for (size_t i = 0; i < count; i++)
        st_buffer_printf(&text, "%s%s", i == 0 ? "" : ",", operands[i].text);
    st_buffer_text(&text, ")");
    const char *copy = text.failed ? NULL : st_arena_copy(own->arena, text.data, text.length);
    st_buffer_free(&text);
    return finish(own, copy,
                  (st_piece){.strength = ST_BINDS_ATOM,
                             .depth = deepest(operands, count) + 1,
                             .may_fail = any_may_fail(operands, count)});
}

static st_piece infix(st_translator *own, const char *sign, st_strength binds,
                      const st_piece *operands)
{
    const st_piece *a = &operands[0];
    const st_piece *b = &operands[1];
    bool left = a->strength < binds ||
                (binds == ST_BINDS_COMPARISON && a->strength == ST_BINDS_COMPARISON) ||
                (binds == ST_BINDS_POWER && a->strength != ST_BINDS_ATOM);
    bool right = b->strength <= binds || b->text[0] == '-';
    const char *text =
        st_arena_printf(own->arena, "%s%s%s%s%s%s%s", left ? "(" : "", a->text, left ? ")" : "",
                        sign, right ? "(" : "", b->text, right ? ")" : "");
    return finish(own, text,
                  (st_piece){.strength = binds,
                             .depth = deepest(operands, 2) + (left || right ? 1 : 0),
                             .may_fail = any_may_fail(operands, 2)});
}

/* "IF(condition,first,second)", where `decided` is what `and` and `or` are once they are. */
static st_piece choose(st_translator *own, const st_piece *condition, bool both,
                       const st_piece *rest)
{
    const st_piece decided = st_piece_single(own, both ? "FALSE" : "TRUE");
    const st_piece parts[] = {*condition, both ? *rest : decided, both ? decided : *rest};
    return st_piece_call(own, "IF", parts, 3);
}

static bool is_enumeration(const st_type *type)
{
    return type->kind == ST_TYPE_ENUM && type->enumeration != NULL;
}

static bool is_nonzero_literal(const st_expr *expr)
{
    return expr->kind == ST_EXPR_NUMBER && expr->number != 0.0;
}

st_piece st_piece_binary(st_translator *own, const st_expr *expr, const st_piece *operands)
{
    st_piece whole;
    switch (expr->op) {
    case ST_OPERATOR_OR:
    case ST_OPERATOR_AND: {
        /* A false operand decides an `and` and a true one an `or`, whatever the other is. */
        bool both = expr->op == ST_OPERATOR_AND;
        const st_piece *a = &operands[0];
        const st_piece *b = &operands[1];
        if (!a->may_fail && !b->may_fail) {
            /* What does not fail goes to AND and OR, which take any number of operands. */
            const char *name = both ? "AND" : "OR";
            const st_piece *join_first = &operands[0];
            st_piece joined;
            if (join_first->joins != NULL && strcmp(join_first->joins, name) == 0)
                joined = finish(
                    own,
                    st_arena_printf(own->arena, "%.*s,%s)", (int)join_first->length - 1,
                                    join_first->text, operands[1].text),
                    (st_piece){.strength = ST_BINDS_ATOM, .depth = deepest(operands, 2) + 1});
            else
                joined = st_piece_call(own, name, operands, 2);
            joined.joins = name;
            return joined;
        }
        if (!a->may_fail || !b->may_fail)
            return a->may_fail ? choose(own, b, both, a) : choose(own, a, both, b);
        const st_piece safe[] = {*a, st_piece_single(own, both ? "TRUE" : "FALSE")};
        const st_piece first = st_piece_call(own, "IFERROR", safe, 2);
        const st_piece rest = choose(own, b, both, a);
        return choose(own, &first, both, &rest);
    }
    case ST_OPERATOR_PLUS:
        return infix(own, "+", ST_BINDS_SUM, operands);
    case ST_OPERATOR_MINUS:
        return infix(own, "-", ST_BINDS_SUM, operands);
    case ST_OPERATOR_TIMES:
        return infix(own, "*", ST_BINDS_PRODUCT, operands);
    case ST_OPERATOR_DIVIDE:
        whole = infix(own, "/", ST_BINDS_PRODUCT, operands);
        whole.may_fail = whole.may_fail || !is_nonzero_literal(st_expr_child(expr, 1));
        return whole;
    case ST_OPERATOR_POWER:
        whole = infix(own, "^", ST_BINDS_POWER, operands);
        whole.may_fail = true;
        return whole;
    default: {
        static const char *const signs[] = {
            [ST_OPERATOR_EQUAL] = "=",   [ST_OPERATOR_UNEQUAL] = "<>",
            [ST_OPERATOR_LESS] = "<",    [ST_OPERATOR_LESS_EQUAL] = "<=",
            [ST_OPERATOR_GREATER] = ">", [ST_OPERATOR_GREATER_EQUAL] = ">="};
        const st_type *type = st_expr_type(st_expr_child(expr, 0));
        if (is_enumeration(type) && st_live_is_exact(own->live, type->enumeration)) {
            st_piece equal = st_piece_call(own, "EXACT", operands, 2);
            return expr->op == ST_OPERATOR_EQUAL ? equal : st_piece_call(own, "NOT", &equal, 1);
        }
        return infix(own, signs[expr->op], ST_BINDS_COMPARISON, operands);
    }
    }
}

st_piece st_piece_negate(st_translator *own, const st_piece *operand)
{
    bool group = operand->strength != ST_BINDS_ATOM;
    return finish(
        own,
        st_arena_printf(own->arena, "-%s%s%s", group ? "(" : "", operand->text, group ? ")" : ""),
        (st_piece){.strength = ST_BINDS_SIGN,
                   .depth = operand->depth + (group ? 1 : 0),
                   .may_fail = operand->may_fail});
}

st_piece st_piece_builtin(st_translator *own, const st_expr *expr, const st_piece *operands)
{
    static const char *const names[] = {
        [ST_BUILTIN_NONE] = "",       [ST_BUILTIN_IF] = "IF",     [ST_BUILTIN_MIN] = "MIN",
        [ST_BUILTIN_MAX] = "MAX",     [ST_BUILTIN_FLOOR] = "INT", [ST_BUILTIN_CEIL] = "INT",
        [ST_BUILTIN_ROUND] = "ROUND", [ST_BUILTIN_SQRT] = "SQRT", [ST_BUILTIN_LOG2] = "LOG",
        [ST_BUILTIN_LOG] = "LN",      [ST_BUILTIN_EXP] = "EXP",   [ST_BUILTIN_ABS] = "ABS"};
    if (expr->builtin == ST_BUILTIN_ARGMAX || expr->builtin == ST_BUILTIN_ARGMIN) {
        /* IF(a>=MAX(b,c),"first",IF(b>=c,"middle","last")): the first of the largest. */
        bool largest = expr->builtin == ST_BUILTIN_ARGMAX;
        size_t i = expr->child_count - 1;
        const char *const *values = st_expr_type(expr)->enumeration->values;
        st_piece place = st_piece_single(own, st_arena_printf(own->arena, "\"%s\"", values[i]));
        while (i-- > 0 && !own->failed) {
            size_t rest = expr->child_count - i - 1;
            const st_piece pair[] = {operands[i], rest == 1
                                                      ? operands[i + 1]
                                                      : st_piece_call(own, largest ? "MAX" : "MIN",
                                                                      operands + i + 1, rest)};
            const st_piece parts[] = {
                infix(own, largest ? ">=" : "<=", ST_BINDS_COMPARISON, pair),
                st_piece_single(own, st_arena_printf(own->arena, "\"%s\"", values[i])), place};
            place = st_piece_call(own, "IF", parts, 3);
        }
        return place;
    }
    bool fails = expr->builtin == ST_BUILTIN_SQRT || expr->builtin == ST_BUILTIN_LOG2 ||
                 expr->builtin == ST_BUILTIN_LOG || expr->builtin == ST_BUILTIN_EXP;
    st_piece whole;
    if (expr->builtin == ST_BUILTIN_ROUND || expr->builtin == ST_BUILTIN_LOG2) {
        const st_piece pair[] = {
            operands[0], st_piece_single(own, expr->builtin == ST_BUILTIN_ROUND ? "0" : "2")};
        whole = st_piece_call(own, names[expr->builtin], pair, 2);
    } else if (expr->builtin == ST_BUILTIN_CEIL) {
        /* CEILING differs between spreadsheets below zero; INT rounds down everywhere. */
        const st_piece negative = st_piece_negate(own, operands);
        const st_piece lower = st_piece_call(own, "INT", &negative, 1);
        whole = st_piece_negate(own, &lower);
    } else {
        whole = st_piece_call(own, names[expr->builtin], operands, expr->child_count);
    }
    whole.may_fail = whole.may_fail || fails;
    return whole;
}

bool st_live_is_exact(const st_live_sheet *live, const st_enum *enumeration)
{
    return live->exact[enumeration - live->enums];
}
