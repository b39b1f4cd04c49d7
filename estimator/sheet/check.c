/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The static checker: what every name stands for, what type every expression has.
 *
 * It runs once when a sheet is loaded and annotates the trees; nothing is checked again when a
 * program runs. Declared types are trusted while other formulas are checked, so one fault does not
 * bring others with it.
 */
#include "sheet/check.h"

#include <math.h>
#include <string.h>

enum { DIMENSION_TEXT = 64 };

static st_type number_type(st_dimension dimension)
{
    st_type type = {.kind = ST_TYPE_NUMBER, .unit = st_unit_one()};
    type.unit.dimension = dimension;
    return type;
}

static st_type truth_type(void)
{
    return (st_type){.kind = ST_TYPE_BOOL, .unit = st_unit_one()};
}

static const char *describe_type(st_checker *checker, const st_type *type)
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
    if (st_dimension_is_number(type->unit.dimension)) {
        return "a pure number";
    }
    return st_dimension_text(type->unit.dimension, text, sizeof(text)) == NULL
               ? ""
               : st_errors_text(checker->errors, "%s", text);
}

/* "'V' in B": an operand as it is written, with what it is. */
static const char *describe(st_checker *checker, const st_expr *expr)
{
    int length = expr->length > 60 ? 60 : (int)expr->length;
    return st_errors_text(checker->errors, "'%.*s%s' (%s)", length,
                          checker->formula->text + expr->offset, expr->length > 60 ? "..." : "",
                          describe_type(checker, &expr->type));
}

/* Finding a place takes a walk through the text: not for an error that nobody will see. */
static st_place place_at(const st_checker *checker, size_t offset)
{
    return st_errors_full(checker->errors) ? (st_place){0}
                                           : st_formula_place_at(checker->formula, offset);
}

static bool fault(st_checker *checker, size_t offset, st_status status, const char *message,
                  const char *expected)
{
    (void)st_errors_add(checker->errors, &(st_error){.status = status,
                                                     .place = place_at(checker, offset),
                                                     .message = message,
                                                     .expected = expected});
    return false;
}

static bool same_type(const st_type *a, const st_type *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    if (a->kind == ST_TYPE_ENUM) {
        return a->enumeration == b->enumeration;
    }
    return a->kind == ST_TYPE_BOOL || st_dimension_equal(a->unit.dimension, b->unit.dimension);
}

/* --- names ----------------------------------------------------------------------------------- */

static bool find_argument(const st_checker *checker, const char *name, uint32_t *index)
{
    for (size_t i = 0; checker->function != NULL && i < checker->function->argument_count; i++) {
        if (strcmp(checker->function->arguments[i].name, name) == 0) {
            *index = (uint32_t)i;
            return true;
        }
    }
    return false;
}

/* A value of an enumeration, where no other name is near. */
static const char *nearest_value(const st_checker *checker, const char *name)
{
    const char *nearest = NULL;
    for (size_t i = 0; i < checker->sheet->enum_count && nearest == NULL; i++) {
        const st_enum *entry = &checker->sheet->enums[i];
        nearest = st_nearest(name, entry->values, entry->count);
    }
    return nearest;
}

static const char *nearest_name(const st_checker *checker, const char *name)
{
    const char *nearest = NULL;
    if (st_errors_full(checker->errors)) {
        return NULL;
    }
    if (checker->function == NULL) {
        nearest = st_sheet_nearest(checker->sheet, name);
    } else {
        const char *names[ST_EXPR_MAX_ARGUMENTS];
        for (size_t i = 0; i < checker->function->argument_count; i++) {
            names[i] = checker->function->arguments[i].name;
        }
        nearest = st_nearest(name, names, checker->function->argument_count);
    }
    return nearest != NULL ? nearest : nearest_value(checker, name);
}

static bool unknown_name(st_checker *checker, const st_expr *expr)
{
    const st_sheet *sheet = checker->sheet;
    const char *expected = NULL;
    size_t index = 0;
    if (checker->function != NULL && (st_sheet_find_cell(sheet, expr->name) != NULL ||
                                      st_sheet_find_input(sheet, expr->name) != NULL)) {
        expected = "one of the function's arguments: pass the cell as an argument";
    } else if (st_names_get(&sheet->function_names, expr->name, &index)) {
        expected = "arguments in parentheses: it is a function";
    }
    (void)st_errors_add(
        checker->errors,
        &(st_error){.status = ST_ERR_NAME,
                    .place = place_at(checker, expr->offset),
                    .message = st_errors_text(checker->errors, "unknown name '%.60s'", expr->name),
                    .expected = expected,
                    .suggestion = expected == NULL ? nearest_name(checker, expr->name) : NULL});
    return false;
}

static bool check_name(st_checker *checker, st_expr *expr)
{
    st_sheet *sheet = checker->sheet;
    size_t index = 0;
    if (find_argument(checker, expr->name, &expr->index)) {
        expr->name_kind = ST_NAME_ARGUMENT;
        expr->type = checker->function->arguments[expr->index].type;
        return true;
    }
    if (checker->function == NULL && st_names_get(&sheet->cell_names, expr->name, &index)) {
        expr->name_kind = ST_NAME_CELL;
        expr->type = sheet->cells[index].type;
    } else if (checker->function == NULL && st_names_get(&sheet->input_names, expr->name, &index)) {
        expr->name_kind = ST_NAME_INPUT;
        expr->type = sheet->inputs[index].type;
        sheet->inputs[index].used = true;
    } else if (st_names_get(&sheet->value_names, expr->name, &index)) {
        /* Which enumeration is meant, its surroundings tell: st_checker_expect settles it. */
        expr->name_kind = ST_NAME_VALUE;
        expr->type = (st_type){.kind = ST_TYPE_ENUM, .unit = st_unit_one()};
        return true;
    } else {
        return unknown_name(checker, expr);
    }
    expr->index = (uint32_t)index;
    return true;
}

/* True where the expression is a value (or a choice of values) of a not yet known enumeration. */
static bool is_unsettled(const st_expr *expr)
{
    return expr->type.kind == ST_TYPE_ENUM && expr->type.enumeration == NULL;
}

/* Gives an unsettled expression its enumeration. */
static bool settle(st_checker *checker, st_expr *expr, const st_enum *enumeration)
{
    if (!is_unsettled(expr)) {
        return true;
    }
    expr->type.enumeration = enumeration;
    if (expr->kind == ST_EXPR_CALL) { /* if(c, a, b) */
        bool good = settle(checker, expr->children[1], enumeration);
        return settle(checker, expr->children[2], enumeration) && good;
    }
    for (size_t i = 0; i < enumeration->count; i++) {
        if (strcmp(enumeration->values[i], expr->name) == 0) {
            expr->index = (uint32_t)i;
            expr->number = (double)i;
            return true;
        }
    }
    (void)st_errors_add(
        checker->errors,
        &(st_error){.status = ST_ERR_NAME,
                    .place = place_at(checker, expr->offset),
                    .message = st_errors_text(checker->errors, "'%.60s' is no value of '%s'",
                                              expr->name, enumeration->name),
                    .suggestion = st_nearest(expr->name, enumeration->values, enumeration->count)});
    return false;
}

static bool refuse_unsettled(st_checker *checker, const st_expr *expr)
{
    int length = expr->length > 60 ? 60 : (int)expr->length;
    return fault(checker, expr->offset, ST_ERR_VALUE,
                 st_errors_text(checker->errors, "nothing tells which enumeration '%.*s' is from",
                                length, checker->formula->text + expr->offset),
                 "a comparison with an input or a cell of that enumeration");
}

/* --- operators ------------------------------------------------------------------------------- */

static bool need_number(st_checker *checker, const st_expr *expr, const char *what)
{
    if (expr->type.kind == ST_TYPE_NUMBER) {
        return true;
    }
    return fault(
        checker, expr->offset, ST_ERR_VALUE,
        st_errors_text(checker->errors, "%s needs numbers, not %s", what, describe(checker, expr)),
        NULL);
}

static bool need_truth(st_checker *checker, const st_expr *expr, const char *what)
{
    if (expr->type.kind == ST_TYPE_BOOL) {
        return true;
    }
    return fault(checker, expr->offset, ST_ERR_VALUE,
                 st_errors_text(checker->errors, "%s needs a truth value, not %s", what,
                                describe(checker, expr)),
                 "a comparison, or true or false");
}

static bool need_pure(st_checker *checker, const st_expr *expr, const char *what)
{
    if (!need_number(checker, expr, what)) {
        return false;
    }
    if (st_dimension_is_number(expr->type.unit.dimension)) {
        return true;
    }
    return fault(checker, expr->offset, ST_ERR_UNIT,
                 st_errors_text(checker->errors, "%s needs a pure number, not %s", what,
                                describe(checker, expr)),
                 "a ratio, e.g. divided by a literal such as 1[B]");
}

/* Both sides of `what` must have one type; an unsettled side takes the other's enumeration. */
static bool need_same(st_checker *checker, size_t offset, st_expr *a, st_expr *b, const char *what)
{
    if (is_unsettled(a) && is_unsettled(b)) {
        return true;
    }
    if (a->type.kind == ST_TYPE_ENUM && b->type.kind == ST_TYPE_ENUM) {
        const st_enum *known =
            a->type.enumeration != NULL ? a->type.enumeration : b->type.enumeration;
        if (!settle(checker, a, known) || !settle(checker, b, known)) {
            return false;
        }
    }
    if (same_type(&a->type, &b->type)) {
        return true;
    }
    bool numbers = a->type.kind == ST_TYPE_NUMBER && b->type.kind == ST_TYPE_NUMBER;
    return fault(checker, offset, numbers ? ST_ERR_UNIT : ST_ERR_VALUE,
                 st_errors_text(checker->errors, "cannot %s %s and %s", what, describe(checker, a),
                                describe(checker, b)),
                 numbers ? "the same dimension on both sides" : "the same type on both sides");
}

/* The value of an expression made of literals; false when it has names or units. */
static bool constant_value(const st_expr *expr, double *value)
{
    double a = 0;
    double b = 0;
    if (expr->kind == ST_EXPR_NUMBER) {
        *value = expr->number;
        return st_dimension_is_number(expr->type.unit.dimension);
    }
    if (expr->kind == ST_EXPR_UNARY && expr->op == ST_OPERATOR_MINUS) {
        bool known = constant_value(expr->children[0], &a);
        *value = -a;
        return known;
    }
    if (expr->kind != ST_EXPR_BINARY || !constant_value(expr->children[0], &a) ||
        !constant_value(expr->children[1], &b)) {
        return false;
    }
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
    for (size_t i = 0; i < ST_DIMENSIONS; i++) {
        if (dimension.exponent[i] > MOST || dimension.exponent[i] < -MOST) {
            return true;
        }
    }
    return false;
}

static bool check_power(st_checker *checker, st_expr *expr)
{
    const st_expr *base = expr->children[0];
    const st_expr *exponent = expr->children[1];
    double value = 0;
    if (!need_number(checker, base, "'^'") ||
        !need_pure(checker, exponent, "the exponent of '^'")) {
        return false;
    }
    expr->type = number_type(base->type.unit.dimension);
    if (st_dimension_is_number(base->type.unit.dimension)) {
        return true;
    }
    if (!constant_value(exponent, &value)) {
        return fault(checker, exponent->offset, ST_ERR_UNIT,
                     st_errors_text(checker->errors, "the power of %s must be a constant",
                                    describe(checker, base)),
                     "a number such as 2 or 0.5");
    }
    st_dimension result;
    if (st_dimension_power(base->type.unit.dimension, value, &result) != ST_OK ||
        is_silly(result)) {
        int length = exponent->length > 60 ? 60 : (int)exponent->length;
        return fault(checker, exponent->offset, ST_ERR_UNIT,
                     st_errors_text(checker->errors, "%s to the power %.*s has no unit",
                                    describe(checker, base), length,
                                    checker->formula->text + exponent->offset),
                     "a multiple of a twelfth, such as 0.5 or 1/3, and not beyond 100");
    }
    expr->type = number_type(result);
    return true;
}

static bool check_product(st_checker *checker, st_expr *expr)
{
    const st_expr *a = expr->children[0];
    const st_expr *b = expr->children[1];
    const char *what = expr->op == ST_OPERATOR_TIMES ? "'*'" : "'/'";
    bool good = need_number(checker, a, what);
    if (!need_number(checker, b, what) || !good) {
        return false;
    }
    st_dimension dimension = st_dimension_multiply(a->type.unit.dimension, b->type.unit.dimension,
                                                   expr->op == ST_OPERATOR_TIMES ? 1 : -1);
    expr->type = number_type(dimension);
    return is_silly(dimension) ? fault(checker, expr->operator_offset, ST_ERR_UNIT,
                                       "the unit's exponent grows beyond 100", NULL)
                               : true;
}

static bool check_comparison(st_checker *checker, st_expr *expr)
{
    st_expr *a = expr->children[0];
    st_expr *b = expr->children[1];
    bool equality = expr->op == ST_OPERATOR_EQUAL || expr->op == ST_OPERATOR_UNEQUAL;
    const char *what = st_errors_text(checker->errors, "'%s'", st_operator_text(expr->op));
    if (!equality && (!need_number(checker, a, what) || !need_number(checker, b, what))) {
        return false;
    }
    if (is_unsettled(a) && is_unsettled(b)) {
        return refuse_unsettled(checker, a);
    }
    expr->type = truth_type();
    return need_same(checker, expr->operator_offset, a, b, "compare");
}

static bool check_logic(st_checker *checker, st_expr *expr)
{
    const char *what = expr->op == ST_OPERATOR_OR ? "'or'" : "'and'";
    bool good = need_truth(checker, expr->children[0], what);
    expr->type = truth_type();
    return need_truth(checker, expr->children[1], what) && good;
}

static bool check_sum(st_checker *checker, st_expr *expr)
{
    st_expr *a = expr->children[0];
    st_expr *b = expr->children[1];
    bool plus = expr->op == ST_OPERATOR_PLUS;
    bool good = need_number(checker, a, plus ? "'+'" : "'-'");
    if (!need_number(checker, b, plus ? "'+'" : "'-'") || !good) {
        return false;
    }
    expr->type = number_type(a->type.unit.dimension);
    return need_same(checker, expr->operator_offset, a, b, plus ? "add" : "subtract");
}

static bool check_binary(st_checker *checker, st_expr *expr)
{
    bool good = st_checker_expr(checker, expr->children[0]);
    if (!st_checker_expr(checker, expr->children[1]) || !good) {
        return false;
    }
    switch (expr->op) {
    case ST_OPERATOR_OR:
    case ST_OPERATOR_AND:
        return check_logic(checker, expr);
    case ST_OPERATOR_PLUS:
    case ST_OPERATOR_MINUS:
        return check_sum(checker, expr);
    case ST_OPERATOR_TIMES:
    case ST_OPERATOR_DIVIDE:
        return check_product(checker, expr);
    case ST_OPERATOR_POWER:
        return check_power(checker, expr);
    default:
        return check_comparison(checker, expr);
    }
}

static bool check_unary(st_checker *checker, st_expr *expr)
{
    const st_expr *operand = expr->children[0];
    if (!st_checker_expr(checker, expr->children[0])) {
        return false;
    }
    if (expr->op == ST_OPERATOR_NOT) {
        expr->type = truth_type();
        return need_truth(checker, operand, "'not'");
    }
    expr->type = number_type(operand->type.unit.dimension);
    return need_number(checker, operand, "'-'");
}

/* --- calls ----------------------------------------------------------------------------------- */

static bool check_count(st_checker *checker, const st_expr *expr, size_t least, size_t most)
{
    size_t count = expr->child_count;
    if (count >= least && count <= most) {
        return true;
    }
    (void)st_errors_add(
        checker->errors,
        &(st_error){.status = ST_ERR_VALUE,
                    .place = place_at(checker, expr->offset),
                    .message = st_errors_text(checker->errors, "wrong number of arguments for '%s'",
                                              expr->name),
                    .found = st_errors_text(checker->errors, "%zu", count),
                    .expected = st_errors_text(checker->errors,
                                               least == most ? "%zu" : "%zu or more", least)});
    return false;
}

static bool check_if(st_checker *checker, st_expr *expr)
{
    if (!check_count(checker, expr, 3, 3) ||
        !need_truth(checker, expr->children[0], "the condition of 'if'")) {
        return false;
    }
    bool good = need_same(checker, expr->children[2]->offset, expr->children[1], expr->children[2],
                          "choose between");
    expr->type = expr->children[1]->type; /* now that one branch has settled the other */
    return good;
}

static bool check_extreme(st_checker *checker, st_expr *expr)
{
    const char *what = st_errors_text(checker->errors, "'%s'", expr->name);
    if (!check_count(checker, expr, 2, ST_EXPR_MAX_ARGUMENTS)) {
        return false;
    }
    for (size_t i = 0; i < expr->child_count; i++) {
        if (!need_number(checker, expr->children[i], what) ||
            !need_same(checker, expr->children[i]->offset, expr->children[0], expr->children[i],
                       st_errors_text(checker->errors, "take the %s of",
                                      expr->builtin == ST_BUILTIN_MIN ? "smaller" : "larger"))) {
            return false;
        }
    }
    expr->type = number_type(expr->children[0]->type.unit.dimension);
    return true;
}

static bool check_one_argument(st_checker *checker, st_expr *expr)
{
    const char *what = st_errors_text(checker->errors, "'%s'", expr->name);
    if (!check_count(checker, expr, 1, 1)) {
        return false;
    }
    const st_expr *argument = expr->children[0];
    st_dimension dimension = argument->type.unit.dimension;
    if (expr->builtin == ST_BUILTIN_ABS) {
        expr->type = number_type(dimension);
        return need_number(checker, argument, what);
    }
    if (expr->builtin == ST_BUILTIN_SQRT) {
        if (!need_number(checker, argument, what)) {
            return false;
        }
        if (st_dimension_power(argument->type.unit.dimension, 0.5, &dimension) != ST_OK) {
            return fault(checker, expr->offset, ST_ERR_UNIT,
                         st_errors_text(checker->errors, "%s has no square root",
                                        describe(checker, argument)),
                         NULL);
        }
        expr->type = number_type(dimension);
        return true;
    }
    expr->type = number_type(st_unit_one().dimension);
    return need_pure(checker, argument, what);
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

static bool unknown_function(st_checker *checker, const st_expr *expr)
{
    const st_sheet *sheet = checker->sheet;
    bool cell = st_sheet_find_cell(sheet, expr->name) != NULL ||
                st_sheet_find_input(sheet, expr->name) != NULL;
    (void)st_errors_add(
        checker->errors,
        &(st_error){.status = ST_ERR_NAME,
                    .place = place_at(checker, expr->offset),
                    .message = st_errors_text(
                        checker->errors,
                        cell ? "'%.60s' is no function" : "unknown function '%.60s'", expr->name),
                    .expected = cell ? "'*' between a value and a parenthesis" : NULL,
                    .suggestion = cell ? NULL : nearest_function(checker, expr->name)});
    return false;
}

static bool check_sheet_call(st_checker *checker, st_expr *expr)
{
    size_t index = 0;
    if (!st_names_get(&checker->sheet->function_names, expr->name, &index)) {
        return unknown_function(checker, expr);
    }
    const st_sheet_function *function = &checker->sheet->functions[index];
    expr->index = (uint32_t)index;
    expr->name_kind = ST_NAME_FUNCTION;
    expr->type = function->type;
    if (!check_count(checker, expr, function->argument_count, function->argument_count)) {
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < function->argument_count; i++) {
        const char *what = st_errors_text(checker->errors, "argument '%s' of '%s'",
                                          function->arguments[i].name, expr->name);
        good = st_checker_expect(checker, expr->children[i], &function->arguments[i].type, what) &&
               good;
    }
    return good;
}

static bool check_call(st_checker *checker, st_expr *expr)
{
    bool good = true;
    for (size_t i = 0; i < expr->child_count; i++) {
        good = st_checker_expr(checker, expr->children[i]) && good;
    }
    if (!good) {
        return false;
    }
    switch (expr->builtin) {
    case ST_BUILTIN_NONE:
        return check_sheet_call(checker, expr);
    case ST_BUILTIN_IF:
        return check_if(checker, expr);
    case ST_BUILTIN_MIN:
    case ST_BUILTIN_MAX:
        return check_extreme(checker, expr);
    default:
        return check_one_argument(checker, expr);
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
    case ST_EXPR_UNARY:
        return check_unary(checker, expr);
    case ST_EXPR_BINARY:
        return check_binary(checker, expr);
    case ST_EXPR_CALL:
        return check_call(checker, expr);
    }
    return false;
}

bool st_checker_expect(st_checker *checker, st_expr *expr, const st_type *type, const char *what)
{
    if (type->kind == ST_TYPE_ENUM && type->enumeration != NULL && is_unsettled(expr)) {
        return settle(checker, expr, type->enumeration);
    }
    if (is_unsettled(expr)) {
        return refuse_unsettled(checker, expr);
    }
    if (same_type(&expr->type, type)) {
        return true;
    }
    bool numbers = expr->type.kind == ST_TYPE_NUMBER && type->kind == ST_TYPE_NUMBER;
    const char *wanted = describe_type(checker, type);
    (void)st_errors_add(
        checker->errors,
        &(st_error){.status = numbers ? ST_ERR_UNIT : ST_ERR_VALUE,
                    .place = place_at(checker, expr->offset),
                    .message = st_errors_text(checker->errors, "%s has the wrong %s", what,
                                              numbers ? "unit" : "type"),
                    .found = describe(checker, expr),
                    .expected =
                        type->kind == ST_TYPE_NUMBER && strcmp(type->unit.text, "1") != 0 &&
                                strcmp(type->unit.text, wanted) != 0
                            ? st_errors_text(checker->errors, "%s (%s)", type->unit.text, wanted)
                            : wanted});
    return false;
}
