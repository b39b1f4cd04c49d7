/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The static checker: the meaning of every name, the type of every expression.
 *
 * It runs once when a sheet is loaded and annotates the trees; nothing is checked again when a
 * program runs. Declared types are trusted while other formulas are checked, so one error does not
 * bring others with it.
 */
#include "sheet/check_parts.h"
#include "base/dimension.h"

#include <math.h>
#include <string.h>

/* --- names ----------------------------------------------------------------------------------- */

static const char *nearest_name(const st_checker *checker, const char *name)
{
    const char *nearest = NULL;
    if (st_errors_full(checker->errors))
        return NULL;
    if (checker->function == NULL) {
        nearest = st_sheet_nearest(checker->sheet, name);
    } else {
        const char *names[ST_EXPR_MAX_ARGUMENTS];
        for (size_t i = 0; i < checker->function->argument_count; i++)
            names[i] = checker->function->arguments[i].name;
        nearest = st_nearest(name, names, checker->function->argument_count);
    }
    if (nearest != NULL)
        return nearest;
    /* A value of an enumeration, where no other name is near. */
    const char *value_nearest = NULL;
    for (size_t i = 0; i < checker->sheet->enum_count && value_nearest == NULL; i++) {
        const st_enum *entry = &checker->sheet->enums[i];
        value_nearest = st_nearest(name, entry->values, entry->count);
    }
    return value_nearest;
}

static bool check_name(st_checker *checker, st_expr *expr)
{
    st_sheet *sheet = checker->sheet;
    size_t index = 0;
    const char *name = st_expr_name(expr);
    const st_sheet_function *function = checker->function;
    size_t i = function == NULL
                   ? SIZE_MAX
                   : ST_FIND(function->arguments, function->argument_count, name, name);
    expr->index = (uint32_t)i;
    if (i != SIZE_MAX) {
        expr->name_kind = ST_NAME_ARGUMENT;
        st_relative_set(&expr->type_at, &checker->function->arguments[expr->index].type);
        return true;
    }
    if (checker->function == NULL && st_names_get(&sheet->cell_names, st_expr_name(expr), &index)) {
        expr->name_kind = ST_NAME_CELL;
        st_relative_set(&expr->type_at, &sheet->cells[index].type);
    } else if (checker->function == NULL &&
               st_names_get(&sheet->input_names, st_expr_name(expr), &index)) {
        expr->name_kind = ST_NAME_INPUT;
        st_relative_set(&expr->type_at, &sheet->inputs[index].type);
        sheet->inputs[index].used = true;
    } else if (st_names_get(&sheet->value_names, st_expr_name(expr), &index)) {
        /* The context decides which enumeration is meant: st_checker_expect settles it. */
        expr->name_kind = ST_NAME_VALUE;
        /* It is settled for an index, or in another member before. */
        if (st_expr_type(expr)->kind != ST_TYPE_ENUM)
            st_relative_set(&expr->type_at, st_checker_value(checker, NULL));
        return true;
    } else {
        const st_sheet *name_sheet = checker->sheet;
        const char *expected = NULL;
        size_t name_index = 0;
        if (checker->function == NULL && (strchr(st_expr_name(expr), '[') != NULL ||
                                          st_sheet_family(name_sheet, st_expr_name(expr)) != NULL))
            return st_checker_refuse_index(checker, expr);
        if (checker->function != NULL &&
            (strchr(st_expr_name(expr), '[') != NULL ||
             st_sheet_find_cell(name_sheet, st_expr_name(expr)) != NULL ||
             st_sheet_find_input(name_sheet, st_expr_name(expr)) != NULL))
            expected = "one of the function's arguments: pass the cell as an argument";
        else if (st_names_get(&name_sheet->function_names, st_expr_name(expr), &name_index))
            expected = "arguments in parentheses: it is a function";
        st_fail(checker->errors, ST_ERR_NAME, st_checker_place(checker, expr->offset),
                "unknown name '%.60s'" ST_EXPECTED "%s" ST_HINT "%s", st_expr_name(expr),
                st_or_none(expected),
                expected == NULL ? st_or_none(nearest_name(checker, st_expr_name(expr))) : "");
        return false;
    }
    expr->index = (uint32_t)index;
    return true;
}

/* --- operators ------------------------------------------------------------------------------- */

/* The value of an expression made of literals; false when it has names or units. */
static bool constant_value(const st_expr *expr, double *value)
{
    double a = 0;
    double b = 0;
    if (expr->kind == ST_EXPR_NUMBER) {
        *value = expr->number;
        return st_dimension_is_number(st_expr_type(expr)->unit.dimension);
    }
    if (expr->kind == ST_EXPR_UNARY && expr->op == ST_OPERATOR_MINUS) {
        bool known = constant_value(st_expr_child(expr, 0), &a);
        *value = -a;
        return known;
    }
    if (expr->kind != ST_EXPR_BINARY || !constant_value(st_expr_child(expr, 0), &a) ||
        !constant_value(st_expr_child(expr, 1), &b))
        return false;
    switch (expr->op) {
    case ST_OPERATOR_PLUS:
        *value = a + b;
        return true;
    case ST_OPERATOR_MINUS:
        *value = a - b;
        return true;
    case ST_OPERATOR_TIMES:
        *value = a * b;
        return true;
    case ST_OPERATOR_DIVIDE:
        *value = a / b;
        return true;
    case ST_OPERATOR_POWER:
        *value = pow(a, b);
        return true;
    default:
        return false;
    }
}

/* Exponents stay far from the ends of their type, whatever formulas do to them. */
static bool is_silly(st_dimension dimension)
{
    enum { MOST = 100 * ST_EXPONENT_ONE };
    for (size_t i = 0; i < ST_DIMENSIONS; i++)
        if (dimension.exponent[i] > MOST || dimension.exponent[i] < -MOST)
            return true;
    return false;
}

static bool check_power(st_checker *checker, st_expr *expr)
{
    const st_expr *base = st_expr_child(expr, 0);
    const st_expr *exponent = st_expr_child(expr, 1);
    double value = 0;
    if (!st_checker_need_number(checker, base, "'^'") ||
        !st_checker_need_pure(checker, exponent, "the exponent of '^'"))
        return false;
    st_relative_set(&expr->type_at, st_checker_number(checker, st_expr_type(base)->unit.dimension));
    if (st_dimension_is_number(st_expr_type(base)->unit.dimension))
        return true;
    if (!constant_value(exponent, &value))
        return st_checker_fail(checker, exponent->offset, ST_ERR_UNIT,
                               "the power of %s must be a constant" ST_EXPECTED
                               "a number such as 2 or 0.5",
                               st_checker_describe(checker, base));
    st_dimension result;
    if (st_dimension_power(st_expr_type(base)->unit.dimension, value, &result) != ST_OK ||
        is_silly(result)) {
        int length = exponent->length > 60 ? 60 : (int)exponent->length;
        return st_checker_fail(checker, exponent->offset, ST_ERR_UNIT,
                               "%s to the power %.*s has an invalid unit" ST_EXPECTED
                               "a multiple of a twelfth, such as 0.5 or 1/3, and not beyond 100",
                               st_checker_describe(checker, base), length,
                               checker->formula->text + exponent->offset);
    }
    st_relative_set(&expr->type_at, st_checker_number(checker, result));
    return true;
}

static bool check_comparison(st_checker *checker, st_expr *expr)
{
    st_expr *a = st_expr_child(expr, 0);
    st_expr *b = st_expr_child(expr, 1);
    bool equality = expr->op == ST_OPERATOR_EQUAL || expr->op == ST_OPERATOR_UNEQUAL;
    bool numbers =
        st_expr_type(a)->kind == ST_TYPE_NUMBER && st_expr_type(b)->kind == ST_TYPE_NUMBER;
    if (!equality && !numbers) {
        const char *what = st_errors_text(checker->errors, "'%s'", st_operator_text(expr->op));
        (void)(st_checker_need_number(checker, a, what) &&
               st_checker_need_number(checker, b, what));
        return false;
    }
    if (st_checker_is_unsettled(a) && st_checker_is_unsettled(b))
        return st_checker_refuse_unsettled(checker, a);
    st_relative_set(&expr->type_at, &st_type_truth);
    return st_checker_need_same(checker, expr->operator_offset, a, b, "compare");
}

static bool check_binary(st_checker *checker, st_expr *expr)
{
    bool good = st_checker_expr(checker, st_expr_child(expr, 0));
    if (!st_checker_expr(checker, st_expr_child(expr, 1)) || !good)
        return false;
    switch (expr->op) {
    case ST_OPERATOR_OR:
    case ST_OPERATOR_AND: {
        const char *what = expr->op == ST_OPERATOR_OR ? "'or'" : "'and'";
        bool logic_good = st_checker_need_truth(checker, st_expr_child(expr, 0), what);
        st_relative_set(&expr->type_at, &st_type_truth);
        return st_checker_need_truth(checker, st_expr_child(expr, 1), what) && logic_good;
    }
    case ST_OPERATOR_PLUS:
    case ST_OPERATOR_MINUS: {
        st_expr *a = st_expr_child(expr, 0);
        st_expr *b = st_expr_child(expr, 1);
        bool plus = expr->op == ST_OPERATOR_PLUS;
        bool sum_good = st_checker_need_number(checker, a, plus ? "'+'" : "'-'");
        if (!st_checker_need_number(checker, b, plus ? "'+'" : "'-'") || !sum_good)
            return false;
        st_relative_set(&expr->type_at,
                        st_checker_number(checker, st_expr_type(a)->unit.dimension));
        return st_checker_need_same(checker, expr->operator_offset, a, b,
                                    plus ? "add" : "subtract");
    }
    case ST_OPERATOR_TIMES:
    case ST_OPERATOR_DIVIDE: {
        const st_expr *a = st_expr_child(expr, 0);
        const st_expr *b = st_expr_child(expr, 1);
        const char *what = expr->op == ST_OPERATOR_TIMES ? "'*'" : "'/'";
        bool product_good = st_checker_need_number(checker, a, what);
        if (!st_checker_need_number(checker, b, what) || !product_good)
            return false;
        st_dimension dimension =
            st_dimension_multiply(st_expr_type(a)->unit.dimension, st_expr_type(b)->unit.dimension,
                                  expr->op == ST_OPERATOR_TIMES ? 1 : -1);
        st_relative_set(&expr->type_at, st_checker_number(checker, dimension));
        return is_silly(dimension) ? st_checker_fail(checker, expr->operator_offset, ST_ERR_UNIT,
                                                     "the unit's exponent exceeds 100")
                                   : true;
    }
    case ST_OPERATOR_POWER:
        return check_power(checker, expr);
    default:
        return check_comparison(checker, expr);
    }
}

bool st_checker_expr(st_checker *checker, st_expr *expr)
{
    switch (expr->kind) {
    case ST_EXPR_NUMBER:
    case ST_EXPR_BOOL:
        return true;
    case ST_EXPR_NAME:
        return check_name(checker, expr);
    case ST_EXPR_UNARY: {
        const st_expr *operand = st_expr_child(expr, 0);
        if (!st_checker_expr(checker, st_expr_child(expr, 0)))
            return false;
        if (expr->op == ST_OPERATOR_NOT) {
            st_relative_set(&expr->type_at, &st_type_truth);
            return st_checker_need_truth(checker, operand, "'not'");
        }
        st_relative_set(&expr->type_at,
                        st_checker_number(checker, st_expr_type(operand)->unit.dimension));
        return st_checker_need_number(checker, operand, "'-'");
    }
    case ST_EXPR_BINARY:
        return check_binary(checker, expr);
    case ST_EXPR_CALL:
        return st_checker_call(checker, expr);
    }
    return false;
}

bool st_checker_expect(st_checker *checker, st_expr *expr, const st_type *type, const char *what)
{
    if (type->kind == ST_TYPE_ENUM && type->enumeration != NULL && st_checker_is_unsettled(expr))
        return st_checker_settle(checker, expr, type->enumeration);
    if (st_checker_is_unsettled(expr))
        return st_checker_refuse_unsettled(checker, expr);
    if (st_checker_is_same(st_expr_type(expr), type))
        return true;
    bool numbers = st_expr_type(expr)->kind == ST_TYPE_NUMBER && type->kind == ST_TYPE_NUMBER;
    const char *wanted = st_checker_describe_type(checker, type);
    st_fail(checker->errors, numbers ? ST_ERR_UNIT : ST_ERR_VALUE,
            st_checker_place(checker, expr->offset),
            "%s has the wrong %s" ST_FOUND "%s" ST_EXPECTED "%s", what, numbers ? "unit" : "type",
            st_checker_describe(checker, expr),
            st_or_none(type->kind == ST_TYPE_NUMBER && strcmp(type->unit.text, "1") != 0 &&
                               strcmp(type->unit.text, wanted) != 0
                           ? st_errors_text(checker->errors, "%s (%s)", type->unit.text, wanted)
                           : wanted));
    return false;
}

/* ---- calls ---- */

/* Calls: built-in functions and those of the sheet. */

static bool check_count(st_checker *checker, const st_expr *expr, size_t least, size_t most)
{
    size_t count = expr->child_count;
    if (count >= least && count <= most)
        return true;
    st_fail(checker->errors, ST_ERR_VALUE, st_checker_place(checker, expr->offset),
            "wrong number of arguments for '%s'" ST_FOUND "%zu" ST_EXPECTED "%s",
            st_expr_name(expr), count,
            st_errors_text(checker->errors, least == most ? "%zu" : "%zu or more", least));
    return false;
}

static bool check_extreme(st_checker *checker, st_expr *expr)
{
    if (!check_count(checker, expr, 2, ST_EXPR_MAX_ARGUMENTS))
        return false;
    for (size_t i = 0; i < expr->child_count; i++) {
        bool number = st_expr_type(st_expr_child(expr, i))->kind == ST_TYPE_NUMBER;
        if (number && st_checker_fits(st_expr_child(expr, i), st_expr_type(st_expr_child(expr, 0))))
            continue;
        const char *what = st_errors_text(checker->errors, "'%s'", st_expr_name(expr));
        if (!st_checker_need_number(checker, st_expr_child(expr, i), what) ||
            !st_checker_need_same(
                checker, st_expr_child(expr, i)->offset, st_expr_child(expr, 0),
                st_expr_child(expr, i),
                st_errors_text(checker->errors, "take the %s of",
                               expr->builtin == ST_BUILTIN_MIN || expr->builtin == ST_BUILTIN_ARGMIN
                                   ? "smaller"
                                   : "larger")))
            return false;
    }
    st_relative_set(
        &expr->type_at,
        st_checker_number(checker, st_expr_type(st_expr_child(expr, 0))->unit.dimension));
    return true;
}

static const char *nearest_function(const st_checker *checker, const char *name)
{
    const st_sheet *sheet = checker->sheet;
    size_t builtin_count = 0;
    const char *const *builtins = st_builtin_names(&builtin_count);
    const char *nearest = st_nearest(name, builtins, builtin_count);
    for (size_t i = 0; i < sheet->function_count && !st_errors_full(checker->errors); i++) {
        const char *pair[2] = {nearest, sheet->functions[i].name};
        nearest = nearest == NULL ? st_nearest(name, pair + 1, 1) : st_nearest(name, pair, 2);
    }
    return nearest;
}

static bool check_sheet_call(st_checker *checker, st_expr *expr)
{
    size_t index = 0;
    if (!st_names_get(&checker->sheet->function_names, st_expr_name(expr), &index)) {
        const st_sheet *sheet = checker->sheet;
        bool cell = st_sheet_find_cell(sheet, st_expr_name(expr)) != NULL ||
                    st_sheet_find_input(sheet, st_expr_name(expr)) != NULL;
        st_fail(checker->errors, ST_ERR_NAME, st_checker_place(checker, expr->offset),
                "%s" ST_EXPECTED "%s" ST_HINT "%s",
                st_errors_text(checker->errors,
                               cell ? "'%.60s' is not a function" : "unknown function '%.60s'",
                               st_expr_name(expr)),
                cell ? "'*' between a value and a parenthesis" : "",
                cell ? "" : st_or_none(nearest_function(checker, st_expr_name(expr))));
        return false;
    }
    const st_sheet_function *function = &checker->sheet->functions[index];
    expr->index = (uint32_t)index;
    expr->name_kind = ST_NAME_FUNCTION;
    st_relative_set(&expr->type_at, &function->type);
    if (!check_count(checker, expr, function->argument_count, function->argument_count))
        return false;
    bool good = true;
    for (size_t i = 0; i < function->argument_count; i++) {
        if (st_checker_fits(st_expr_child(expr, i), &function->arguments[i].type))
            continue;
        const char *what = st_errors_text(checker->errors, "argument '%s' of '%s'",
                                          function->arguments[i].name, st_expr_name(expr));
        good = st_checker_expect(checker, st_expr_child(expr, i), &function->arguments[i].type,
                                 what) &&
               good;
    }
    return good;
}

bool st_checker_call(st_checker *checker, st_expr *expr)
{
    bool good = true;
    for (size_t i = 0; i < expr->child_count; i++)
        good = st_checker_expr(checker, st_expr_child(expr, i)) && good;
    if (!good)
        return false;
    switch (expr->builtin) {
    case ST_BUILTIN_NONE:
        return check_sheet_call(checker, expr);
    case ST_BUILTIN_IF: {
        if (!check_count(checker, expr, 3, 3) ||
            !st_checker_need_truth(checker, st_expr_child(expr, 0), "the condition of 'if'"))
            return false;
        bool if_good =
            st_checker_need_same(checker, st_expr_child(expr, 2)->offset, st_expr_child(expr, 1),
                                 st_expr_child(expr, 2), "choose between");
        /* Now that one branch has settled the other. */
        st_relative_set(&expr->type_at, st_expr_type(st_expr_child(expr, 1)));
        return if_good;
    }
    case ST_BUILTIN_MIN:
    case ST_BUILTIN_MAX:
        return check_extreme(checker, expr);
    case ST_BUILTIN_SUM:
    case ST_BUILTIN_ARGMIN:
    case ST_BUILTIN_ARGMAX: {
        /* A sum is put in place by then; of the others the tree of a reduction knows the
         * enumeration. */
        const st_type *type = st_expr_type(expr);
        if (type->kind != ST_TYPE_ENUM)
            return st_checker_fail(checker, expr->offset, ST_ERR_VALUE,
                                   "'%s' requires a family of cells" ST_EXPECTED
                                   "one argument with '*', as in %s(M[*])",
                                   st_expr_name(expr), st_expr_name(expr));
        bool reduction_good = expr->child_count == 1 || check_extreme(checker, expr);
        st_relative_set(&expr->type_at, type);
        return reduction_good;
    }
    default: {
        const char *what = st_errors_text(checker->errors, "'%s'", st_expr_name(expr));
        if (!check_count(checker, expr, 1, 1))
            return false;
        const st_expr *argument = st_expr_child(expr, 0);
        st_dimension dimension = st_expr_type(argument)->unit.dimension;
        if (expr->builtin == ST_BUILTIN_ABS) {
            st_relative_set(&expr->type_at, st_checker_number(checker, dimension));
            return st_checker_need_number(checker, argument, what);
        }
        if (expr->builtin == ST_BUILTIN_SQRT) {
            if (!st_checker_need_number(checker, argument, what))
                return false;
            if (st_dimension_power(st_expr_type(argument)->unit.dimension, 0.5, &dimension) !=
                ST_OK)
                return st_checker_fail(checker, expr->offset, ST_ERR_UNIT, "%s has no square root",
                                       st_checker_describe(checker, argument));
            st_relative_set(&expr->type_at, st_checker_number(checker, dimension));
            return true;
        }
        st_relative_set(&expr->type_at, &st_type_pure);
        return st_checker_need_pure(checker, argument, what);
    }
    }
}
