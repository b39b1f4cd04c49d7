/* SPDX-License-Identifier: Apache-2.0 */
/* Types of expressions: what they are called, which are equal, which values are still open. */
#include "sheet/check_parts.h"
#include "base/dimension.h"
#include "base/memory.h"

#include <string.h>

enum { DIMENSION_TEXT = 64 };

/* There are few, and most expressions have the type of one before. */
static const st_type *only_one(st_checker *checker, const st_type *type)
{
    for (size_t i = checker->type_count; i-- > 0;) {
        const st_type *known = checker->types[i];
        if (known->enumeration == type->enumeration && st_checker_is_same(known, type))
            return known;
    }
    st_type *made = st_arena_alloc(checker->arena, 1, sizeof *made);
    const st_type *kept = made;
    if (made != NULL)
        *made = *type;
    if (ST_APPEND(checker->arena, checker->types, checker->type_count, kept))
        return kept;
    (void)st_out_of_memory(checker->errors);
    return &st_type_pure;
}

const st_type *st_checker_number(st_checker *checker, st_dimension dimension)
{
    st_type type = st_type_pure;
    type.unit.dimension = dimension;
    return st_dimension_is_number(dimension) ? &st_type_pure : only_one(checker, &type);
}

const st_type *st_checker_value(st_checker *checker, const st_enum *enumeration)
{
    st_type type = st_type_pure;
    type.kind = ST_TYPE_ENUM;
    type.enumeration = enumeration;
    return only_one(checker, &type);
}

const char *st_checker_describe_type(st_checker *checker, const st_type *type)
{
    char text[DIMENSION_TEXT];
    switch (type->kind) {
    case ST_TYPE_BOOL:
        return "a truth value";
    case ST_TYPE_ENUM:
        return type->enumeration == NULL
                   ? "a value of some enumeration"
                   : st_errors_text(checker->errors, "a value of '%s'", type->enumeration->name);
    case ST_TYPE_NUMBER:
        break;
    }
    if (st_dimension_is_number(type->unit.dimension))
        return "a pure number";
    return st_dimension_text(type->unit.dimension, text, sizeof(text)) == NULL
               ? ""
               : st_errors_text(checker->errors, "%s", text);
}

/* "'V' in B": an operand as written, with its type. */
const char *st_checker_describe(st_checker *checker, const st_expr *expr)
{
    int length = expr->length > 60 ? 60 : (int)expr->length;
    return st_errors_text(checker->errors, "'%.*s%s' (%s)", length,
                          checker->formula->text + expr->offset, expr->length > 60 ? "..." : "",
                          st_checker_describe_type(checker, st_expr_type(expr)));
}

/* Finding a place takes a walk through the text: not for an error that nobody will see. */
st_place st_checker_place(const st_checker *checker, size_t offset)
{
    return st_errors_full(checker->errors) ? (st_place){0}
                                           : st_formula_place_at(checker->formula, offset);
}

bool st_checker_fail(st_checker *checker, size_t offset, st_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)st_vfail(checker->errors, status, st_checker_place(checker, offset), format, arguments);
    va_end(arguments);
    return false;
}

bool st_checker_is_same(const st_type *a, const st_type *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == ST_TYPE_ENUM)
        return a->enumeration == b->enumeration;
    return a->kind == ST_TYPE_BOOL || st_dimension_equal(a->unit.dimension, b->unit.dimension);
}

/* True where the expression is a value (or a choice of values) of a not yet known enumeration. */
bool st_checker_is_unsettled(const st_expr *expr)
{
    return st_expr_type(expr)->kind == ST_TYPE_ENUM && st_expr_type(expr)->enumeration == NULL;
}

bool st_checker_fits(const st_expr *expr, const st_type *type)
{
    return !st_checker_is_unsettled(expr) && st_checker_is_same(st_expr_type(expr), type);
}

/* Gives an unsettled expression its enumeration. */
bool st_checker_settle(st_checker *checker, st_expr *expr, const st_enum *enumeration)
{
    if (!st_checker_is_unsettled(expr))
        return true;
    st_relative_set(&expr->type_at, st_checker_value(checker, enumeration));
    if (expr->kind == ST_EXPR_CALL) { /* if(c, a, b) */
        bool good = st_checker_settle(checker, st_expr_child(expr, 1), enumeration);
        return st_checker_settle(checker, st_expr_child(expr, 2), enumeration) && good;
    }
    size_t i = st_text_at(enumeration->values, enumeration->count, st_expr_name(expr));
    if (i < enumeration->count) {
        expr->index = (uint32_t)i;
        expr->number = (double)i;
        return true;
    }
    st_fail(checker->errors, ST_ERR_NAME, st_checker_place(checker, expr->offset),
            "unknown value '%.60s' of '%s'" ST_HINT "%s", st_expr_name(expr), enumeration->name,
            st_errors_nearest(checker->errors, st_expr_name(expr), enumeration->values,
                              enumeration->count));
    return false;
}

bool st_checker_refuse_unsettled(st_checker *checker, const st_expr *expr)
{
    int length = expr->length > 60 ? 60 : (int)expr->length;
    return st_checker_fail(checker, expr->offset, ST_ERR_VALUE,
                           "cannot infer the enumeration of '%.*s'" ST_EXPECTED
                           "a comparison with an input or a cell of that enumeration",
                           length, checker->formula->text + expr->offset);
}

bool st_checker_need_number(st_checker *checker, const st_expr *expr, const char *what)
{
    if (st_expr_type(expr)->kind == ST_TYPE_NUMBER)
        return true;
    return st_checker_fail(checker, expr->offset, ST_ERR_VALUE, "%s needs numbers, not %s", what,
                           st_checker_describe(checker, expr));
}

bool st_checker_need_truth(st_checker *checker, const st_expr *expr, const char *what)
{
    if (st_expr_type(expr)->kind == ST_TYPE_BOOL)
        return true;
    return st_checker_fail(checker, expr->offset, ST_ERR_VALUE,
                           "%s needs a truth value, not %s" ST_EXPECTED
                           "a comparison, or true or false",
                           what, st_checker_describe(checker, expr));
}

bool st_checker_need_pure(st_checker *checker, const st_expr *expr, const char *what)
{
    if (!st_checker_need_number(checker, expr, what))
        return false;
    if (st_dimension_is_number(st_expr_type(expr)->unit.dimension))
        return true;
    return st_checker_fail(checker, expr->offset, ST_ERR_UNIT,
                           "%s needs a pure number, not %s" ST_EXPECTED
                           "a ratio, e.g. divided by a literal such as 1[B]",
                           what, st_checker_describe(checker, expr));
}

/* Both sides of `what` must have one type; an unsettled side takes the other's enumeration. */
bool st_checker_need_same(st_checker *checker, size_t offset, st_expr *a, st_expr *b,
                          const char *what)
{
    if (st_checker_is_unsettled(a) && st_checker_is_unsettled(b))
        return true;
    if (st_expr_type(a)->kind == ST_TYPE_ENUM && st_expr_type(b)->kind == ST_TYPE_ENUM) {
        const st_enum *known = st_expr_type(a)->enumeration != NULL ? st_expr_type(a)->enumeration
                                                                    : st_expr_type(b)->enumeration;
        if (!st_checker_settle(checker, a, known) || !st_checker_settle(checker, b, known))
            return false;
    }
    if (st_checker_is_same(st_expr_type(a), st_expr_type(b)))
        return true;
    bool numbers =
        st_expr_type(a)->kind == ST_TYPE_NUMBER && st_expr_type(b)->kind == ST_TYPE_NUMBER;
    return st_checker_fail(checker, offset, numbers ? ST_ERR_UNIT : ST_ERR_VALUE,
                           "cannot %s %s and %s" ST_EXPECTED "%s", what,
                           st_checker_describe(checker, a), st_checker_describe(checker, b),
                           numbers ? "the same dimension on both sides"
                                   : "the same type on both sides");
}
