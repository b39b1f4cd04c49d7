/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: built-in functions and those of the sheet. */
#include "sheet/check_parts.h"
#include "base/dimension.h"

#include <string.h>

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
