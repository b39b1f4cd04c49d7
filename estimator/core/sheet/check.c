/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The static checker: the meaning of every name, the type of every expression.
 *
 * It runs once when a sheet is loaded and annotates the trees; nothing is checked again when a
 * program runs. Declared types are trusted while other formulas are checked, so one error does not
 * bring others with it.
 */
#include "sheet/check.h"
#include "base/dimension.h"
#include "base/memory.h"
#include "sheet/order.h"

#include <math.h>
#include <string.h>

/* --- types ----------------------------------------------------------------------------------- */

enum { DIMENSION_TEXT = 64 };

/* Values without a kind of their own count by their dimension. */
static bool is_same_type(const st_type *a, const st_type *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == ST_TYPE_ENUM)
        return a->enumeration == b->enumeration;
    return a->kind == ST_TYPE_BOOL || st_dimension_equal(a->unit.dimension, b->unit.dimension);
}

/* There are few, and most expressions have the type of one before. */
static const st_type *only_one(st_checker *checker, const st_type *type)
{
    for (size_t i = checker->type_count; i-- > 0;) {
        const st_type *known = checker->types[i];
        if (known->enumeration == type->enumeration && is_same_type(known, type))
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

/* A number in base units, a value of an enumeration: the same one every time. */
static const st_type *number_type(st_checker *checker, st_dimension dimension)
{
    st_type type = st_type_pure;
    type.unit.dimension = dimension;
    return st_dimension_is_number(dimension) ? &st_type_pure : only_one(checker, &type);
}

static const st_type *enum_type(st_checker *checker, const st_enum *enumeration)
{
    st_type type = st_type_pure;
    type.kind = ST_TYPE_ENUM;
    type.enumeration = enumeration;
    return only_one(checker, &type);
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
    if (st_dimension_is_number(type->unit.dimension))
        return "a pure number";
    return st_dimension_text(type->unit.dimension, text, sizeof(text)) == NULL
               ? ""
               : st_errors_text(checker->errors, "%s", text);
}

/* "'V' in B": an operand as written, with its type. */
static const char *describe(st_checker *checker, const st_expr *expr)
{
    int length = expr->length > 60 ? 60 : (int)expr->length;
    return st_errors_text(checker->errors, "'%.*s%s' (%s)", length,
                          checker->formula->text + expr->offset, expr->length > 60 ? "..." : "",
                          describe_type(checker, st_expr_type(expr)));
}

/* Finding a place takes a walk through the text: not for an error that nobody will see. */
static st_place place_of(const st_checker *checker, size_t offset)
{
    return st_errors_full(checker->errors) ? (st_place){0}
                                           : st_formula_place_at(checker->formula, offset);
}

/* Adds an error; returns false. */
static bool refuse(st_checker *checker, size_t offset, st_status status, const char *format, ...)
    ST_PRINTF(4, 5);
static bool refuse(st_checker *checker, size_t offset, st_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)st_vfail(checker->errors, status, place_of(checker, offset), format, arguments);
    va_end(arguments);
    return false;
}

/* True where the expression is a value (or a choice of values) of a not yet known enumeration. */
static bool is_unsettled(const st_expr *expr)
{
    return st_expr_type(expr)->kind == ST_TYPE_ENUM && st_expr_type(expr)->enumeration == NULL;
}

/* Whether the expression is settled and of the type: nothing is left to report. */
static bool fits_type(const st_expr *expr, const st_type *type)
{
    return !is_unsettled(expr) && is_same_type(st_expr_type(expr), type);
}

/* Gives an unsettled expression its enumeration. */
static bool settle(st_checker *checker, st_expr *expr, const st_enum *enumeration)
{
    if (!is_unsettled(expr))
        return true;
    st_relative_set(&expr->type_at, enum_type(checker, enumeration));
    if (expr->kind == ST_EXPR_CALL) { /* if(c, a, b) */
        bool good = settle(checker, st_expr_child(expr, 1), enumeration);
        return settle(checker, st_expr_child(expr, 2), enumeration) && good;
    }
    size_t i = st_text_at(enumeration->values, enumeration->count, st_expr_name(expr));
    if (i < enumeration->count) {
        expr->index = (uint32_t)i;
        expr->number = (double)i;
        return true;
    }
    st_fail(checker->errors, ST_ERR_NAME, place_of(checker, expr->offset),
            "unknown value '%.60s' of '%s'" ST_HINT "%s", st_expr_name(expr), enumeration->name,
            st_errors_nearest(checker->errors, st_expr_name(expr), enumeration->values,
                              enumeration->count));
    return false;
}

static bool refuse_unsettled(st_checker *checker, const st_expr *expr)
{
    int length = expr->length > 60 ? 60 : (int)expr->length;
    return refuse(checker, expr->offset, ST_ERR_VALUE,
                  "cannot infer the enumeration of '%.*s'" ST_EXPECTED
                  "a comparison with an input or a cell of that enumeration",
                  length, checker->formula->text + expr->offset);
}

/* Demands; `what` begins the message, e.g. "'+'". */
static bool need_number(st_checker *checker, const st_expr *expr, const char *what)
{
    if (st_expr_type(expr)->kind == ST_TYPE_NUMBER)
        return true;
    return refuse(checker, expr->offset, ST_ERR_VALUE, "%s needs numbers, not %s", what,
                  describe(checker, expr));
}

static bool need_truth(st_checker *checker, const st_expr *expr, const char *what)
{
    if (st_expr_type(expr)->kind == ST_TYPE_BOOL)
        return true;
    return refuse(checker, expr->offset, ST_ERR_VALUE,
                  "%s needs a truth value, not %s" ST_EXPECTED "a comparison, or true or false",
                  what, describe(checker, expr));
}

static bool need_pure(st_checker *checker, const st_expr *expr, const char *what)
{
    if (!need_number(checker, expr, what))
        return false;
    if (st_dimension_is_number(st_expr_type(expr)->unit.dimension))
        return true;
    return refuse(checker, expr->offset, ST_ERR_UNIT,
                  "%s needs a pure number, not %s" ST_EXPECTED
                  "a ratio, e.g. divided by a literal such as 1[B]",
                  what, describe(checker, expr));
}

/* Both sides of `what` must have one type; an unsettled side takes the other's enumeration. */
static bool need_same(st_checker *checker, size_t offset, st_expr *a, st_expr *b, const char *what)
{
    if (is_unsettled(a) && is_unsettled(b))
        return true;
    if (st_expr_type(a)->kind == ST_TYPE_ENUM && st_expr_type(b)->kind == ST_TYPE_ENUM) {
        const st_enum *known = st_expr_type(a)->enumeration != NULL ? st_expr_type(a)->enumeration
                                                                    : st_expr_type(b)->enumeration;
        if (!settle(checker, a, known) || !settle(checker, b, known))
            return false;
    }
    if (is_same_type(st_expr_type(a), st_expr_type(b)))
        return true;
    bool numbers =
        st_expr_type(a)->kind == ST_TYPE_NUMBER && st_expr_type(b)->kind == ST_TYPE_NUMBER;
    return refuse(checker, offset, numbers ? ST_ERR_UNIT : ST_ERR_VALUE,
                  "cannot %s %s and %s" ST_EXPECTED "%s", what, describe(checker, a),
                  describe(checker, b),
                  numbers ? "the same dimension on both sides" : "the same type on both sides");
}

/* --- names with an index --------------------------------------------------------------------- */

/* "M[stage, kind]" */
static const char *pattern_of(st_checker *checker, const st_family *family)
{
    const char *text = family->name;
    for (size_t i = 0; i < family->axis_count; i++)
        text = st_errors_text(checker->errors, "%s%s%s", text, i == 0 ? "[" : ", ",
                              family->axes[i]->name);
    return st_errors_text(checker->errors, "%s]", text);
}

static bool refuse_base(st_checker *checker, const st_expr *expr)
{
    const char *base = st_errors_text(checker->errors, "%.*s",
                                      (int)strcspn(st_expr_name(expr), "["), st_expr_name(expr));
    bool known = st_sheet_find_cell(checker->sheet, base) != NULL ||
                 st_sheet_find_input(checker->sheet, base) != NULL;
    st_fail(checker->errors, ST_ERR_NAME, place_of(checker, expr->operator_offset),
            "%s" ST_EXPECTED "%s" ST_HINT "%s",
            st_errors_text(checker->errors,
                           known ? "'%.60s' is not a family of cells" : "unknown name '%.60s'",
                           base),
            known ? "its name only; units follow numbers, as in 2[B]" : "",
            known ? "" : st_or_none(st_sheet_nearest(checker->sheet, st_expr_name(expr))));
    return false;
}

static bool refuse_index(st_checker *checker, const st_expr *expr)
{
    const st_family *family = st_sheet_family(checker->sheet, st_expr_name(expr));
    const char *item = strchr(st_expr_name(expr), '[');
    size_t count = 0;
    if (family == NULL)
        return refuse_base(checker, expr);
    if (item == NULL)
        return refuse(checker, expr->operator_offset, ST_ERR_NAME,
                      "family '%s' requires an index" ST_EXPECTED
                      "%s, a value such as %s, or '*' in a reduction",
                      family->name, pattern_of(checker, family), family->axes[0]->values[0]);
    for (const char *c = item; *c != '\0'; c++)
        count += *c == ',' || *c == ']';
    if (count != family->axis_count)
        return refuse(checker, expr->operator_offset, ST_ERR_NAME,
                      "'%.60s' has %zu %s" ST_EXPECTED "%s", st_expr_name(expr), count,
                      count == 1 ? "index" : "indices", st_or_none(pattern_of(checker, family)));
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(++item, ",]");
        bool known = false;
        for (size_t k = 0; k < family->axes[i]->count; k++) {
            const char *value = family->axes[i]->values[k];
            known = known || (strlen(value) == length && memcmp(value, item, length) == 0);
        }
        if (!known) {
            const st_enum *axis = family->axes[i];
            const char *value = st_errors_text(checker->errors, "%.*s", (int)length, item);
            bool open = strcmp(value, axis->name) == 0;
            st_place place = place_of(checker, expr->operator_offset);
            if (open)
                st_fail(checker->errors, ST_ERR_NAME, place,
                        "ambiguous '%s' for '%.60s'" ST_EXPECTED
                        "a value of it, or a cell that is 'per: %s'",
                        value, st_expr_name(expr), axis->name);
            else
                st_fail(checker->errors, ST_ERR_NAME, place,
                        "unknown value '%.60s' of '%s' in '%.60s'" ST_HINT "%s", value, axis->name,
                        st_expr_name(expr),
                        st_errors_nearest(checker->errors, value, axis->values, axis->count));
            return false;
        }
        item += length;
    }
    return refuse_base(checker, expr); /* a member that could not be read: reported there */
}

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
            st_relative_set(&expr->type_at, enum_type(checker, NULL));
        return true;
    } else {
        const st_sheet *name_sheet = checker->sheet;
        const char *expected = NULL;
        size_t name_index = 0;
        if (checker->function == NULL && (strchr(st_expr_name(expr), '[') != NULL ||
                                          st_sheet_family(name_sheet, st_expr_name(expr)) != NULL))
            return refuse_index(checker, expr);
        if (checker->function != NULL &&
            (strchr(st_expr_name(expr), '[') != NULL ||
             st_sheet_find_cell(name_sheet, st_expr_name(expr)) != NULL ||
             st_sheet_find_input(name_sheet, st_expr_name(expr)) != NULL))
            expected = "one of the function's arguments: pass the cell as an argument";
        else if (st_names_get(&name_sheet->function_names, st_expr_name(expr), &name_index))
            expected = "arguments in parentheses: it is a function";
        st_fail(checker->errors, ST_ERR_NAME, place_of(checker, expr->offset),
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
    if (!need_number(checker, base, "'^'") || !need_pure(checker, exponent, "the exponent of '^'"))
        return false;
    st_relative_set(&expr->type_at, number_type(checker, st_expr_type(base)->unit.dimension));
    if (st_dimension_is_number(st_expr_type(base)->unit.dimension))
        return true;
    if (!constant_value(exponent, &value))
        return refuse(checker, exponent->offset, ST_ERR_UNIT,
                      "the power of %s must be a constant" ST_EXPECTED "a number such as 2 or 0.5",
                      describe(checker, base));
    st_dimension result;
    if (st_dimension_power(st_expr_type(base)->unit.dimension, value, &result) != ST_OK ||
        is_silly(result)) {
        int length = exponent->length > 60 ? 60 : (int)exponent->length;
        return refuse(checker, exponent->offset, ST_ERR_UNIT,
                      "%s to the power %.*s has an invalid unit" ST_EXPECTED
                      "a multiple of a twelfth, such as 0.5 or 1/3, and not beyond 100",
                      describe(checker, base), length, checker->formula->text + exponent->offset);
    }
    st_relative_set(&expr->type_at, number_type(checker, result));
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
        (void)(need_number(checker, a, what) && need_number(checker, b, what));
        return false;
    }
    if (is_unsettled(a) && is_unsettled(b))
        return refuse_unsettled(checker, a);
    st_relative_set(&expr->type_at, &st_type_truth);
    return need_same(checker, expr->operator_offset, a, b, "compare");
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
        bool logic_good = need_truth(checker, st_expr_child(expr, 0), what);
        st_relative_set(&expr->type_at, &st_type_truth);
        return need_truth(checker, st_expr_child(expr, 1), what) && logic_good;
    }
    case ST_OPERATOR_PLUS:
    case ST_OPERATOR_MINUS: {
        st_expr *a = st_expr_child(expr, 0);
        st_expr *b = st_expr_child(expr, 1);
        bool plus = expr->op == ST_OPERATOR_PLUS;
        bool sum_good = need_number(checker, a, plus ? "'+'" : "'-'");
        if (!need_number(checker, b, plus ? "'+'" : "'-'") || !sum_good)
            return false;
        st_relative_set(&expr->type_at, number_type(checker, st_expr_type(a)->unit.dimension));
        return need_same(checker, expr->operator_offset, a, b, plus ? "add" : "subtract");
    }
    case ST_OPERATOR_TIMES:
    case ST_OPERATOR_DIVIDE: {
        const st_expr *a = st_expr_child(expr, 0);
        const st_expr *b = st_expr_child(expr, 1);
        const char *what = expr->op == ST_OPERATOR_TIMES ? "'*'" : "'/'";
        bool product_good = need_number(checker, a, what);
        if (!need_number(checker, b, what) || !product_good)
            return false;
        st_dimension dimension =
            st_dimension_multiply(st_expr_type(a)->unit.dimension, st_expr_type(b)->unit.dimension,
                                  expr->op == ST_OPERATOR_TIMES ? 1 : -1);
        st_relative_set(&expr->type_at, number_type(checker, dimension));
        return is_silly(dimension) ? refuse(checker, expr->operator_offset, ST_ERR_UNIT,
                                            "the unit's exponent exceeds 100")
                                   : true;
    }
    case ST_OPERATOR_POWER:
        return check_power(checker, expr);
    default:
        return check_comparison(checker, expr);
    }
}

/* --- calls ----------------------------------------------------------------------------------- */

static bool check_count(st_checker *checker, const st_expr *expr, size_t least, size_t most)
{
    size_t count = expr->child_count;
    if (count >= least && count <= most)
        return true;
    st_fail(checker->errors, ST_ERR_VALUE, place_of(checker, expr->offset),
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
        if (number && fits_type(st_expr_child(expr, i), st_expr_type(st_expr_child(expr, 0))))
            continue;
        const char *what = st_errors_text(checker->errors, "'%s'", st_expr_name(expr));
        if (!need_number(checker, st_expr_child(expr, i), what) ||
            !need_same(
                checker, st_expr_child(expr, i)->offset, st_expr_child(expr, 0),
                st_expr_child(expr, i),
                st_errors_text(checker->errors, "take the %s of",
                               expr->builtin == ST_BUILTIN_MIN || expr->builtin == ST_BUILTIN_ARGMIN
                                   ? "smaller"
                                   : "larger")))
            return false;
    }
    st_relative_set(&expr->type_at,
                    number_type(checker, st_expr_type(st_expr_child(expr, 0))->unit.dimension));
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
        st_fail(checker->errors, ST_ERR_NAME, place_of(checker, expr->offset),
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
        if (fits_type(st_expr_child(expr, i), &function->arguments[i].type))
            continue;
        const char *what = st_errors_text(checker->errors, "argument '%s' of '%s'",
                                          function->arguments[i].name, st_expr_name(expr));
        good = st_checker_expect(checker, st_expr_child(expr, i), &function->arguments[i].type,
                                 what) &&
               good;
    }
    return good;
}

static bool check_call(st_checker *checker, st_expr *expr)
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
            !need_truth(checker, st_expr_child(expr, 0), "the condition of 'if'"))
            return false;
        bool if_good = need_same(checker, st_expr_child(expr, 2)->offset, st_expr_child(expr, 1),
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
            return refuse(checker, expr->offset, ST_ERR_VALUE,
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
            st_relative_set(&expr->type_at, number_type(checker, dimension));
            return need_number(checker, argument, what);
        }
        if (expr->builtin == ST_BUILTIN_SQRT) {
            if (!need_number(checker, argument, what))
                return false;
            if (st_dimension_power(st_expr_type(argument)->unit.dimension, 0.5, &dimension) !=
                ST_OK)
                return refuse(checker, expr->offset, ST_ERR_UNIT, "%s has no square root",
                              describe(checker, argument));
            st_relative_set(&expr->type_at, number_type(checker, dimension));
            return true;
        }
        st_relative_set(&expr->type_at, &st_type_pure);
        return need_pure(checker, argument, what);
    }
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
            return need_truth(checker, operand, "'not'");
        }
        st_relative_set(&expr->type_at,
                        number_type(checker, st_expr_type(operand)->unit.dimension));
        return need_number(checker, operand, "'-'");
    }
    case ST_EXPR_BINARY:
        return check_binary(checker, expr);
    case ST_EXPR_CALL:
        return check_call(checker, expr);
    }
    return false;
}

bool st_checker_expect(st_checker *checker, st_expr *expr, const st_type *type, const char *what)
{
    if (type->kind == ST_TYPE_ENUM && type->enumeration != NULL && is_unsettled(expr))
        return settle(checker, expr, type->enumeration);
    if (is_unsettled(expr))
        return refuse_unsettled(checker, expr);
    if (is_same_type(st_expr_type(expr), type))
        return true;
    bool numbers = st_expr_type(expr)->kind == ST_TYPE_NUMBER && type->kind == ST_TYPE_NUMBER;
    const char *wanted = describe_type(checker, type);
    st_fail(checker->errors, numbers ? ST_ERR_UNIT : ST_ERR_VALUE, place_of(checker, expr->offset),
            "%s has the wrong %s" ST_FOUND "%s" ST_EXPECTED "%s", what, numbers ? "unit" : "type",
            describe(checker, expr),
            st_or_none(type->kind == ST_TYPE_NUMBER && strcmp(type->unit.text, "1") != 0 &&
                               strcmp(type->unit.text, wanted) != 0
                           ? st_errors_text(checker->errors, "%s (%s)", type->unit.text, wanted)
                           : wanted));
    return false;
}

/* --- whole sheets ---------------------------------------------------------------------------- */

/* Types a formula and demands its declared type; false where an error was reported. */
static bool check_formula(st_checker *checker, const st_formula *formula, const st_type *type,
                          const char *kind, const char *name)
{
    size_t error = st_errors_size(checker->errors);
    checker->formula = formula;
    bool typed = formula->expr != NULL && st_checker_expr(checker, formula->expr);
    if (typed && fits_type(formula->expr, type))
        return true;
    const char *what = name == NULL ? kind : st_errors_text(checker->errors, "%s '%s'", kind, name);
    bool fits = typed && st_checker_expect(checker, formula->expr, type, what);
    if (!fits && error < st_errors_size(checker->errors) &&
        st_errors_at(checker->errors, error)->status == ST_ERR_UNIT) {
        st_unit_fault *fault = &checker->faults->items[checker->faults->count++];
        *fault = (st_unit_fault){.expr = formula->expr,
                                 .error = error,
                                 .errors = st_errors_size(checker->errors) - error};
        if (checker->function != NULL) {
            fault->kind = ST_NAME_FUNCTION;
            fault->owner = (size_t)(checker->function - checker->sheet->functions);
        } else if (strcmp(kind, "cell") == 0) {
            fault->kind = ST_NAME_CELL;
            fault->owner = (size_t)(formula - checker->sheet->cell_formulas);
        }
    }
    return fits;
}

/* The height of a tree once the functions are expanded. */
static size_t inlined_height(const st_expr *expr, const size_t *functions)
{
    size_t height = 0;
    for (size_t i = 0; i < expr->child_count; i++) {
        size_t child = inlined_height(st_expr_child(expr, i), functions);
        height = child > height ? child : height;
    }
    if (expr->name_kind == ST_NAME_FUNCTION && functions[expr->index] > height)
        height = functions[expr->index];
    return height + 1;
}

static size_t check_height(st_checker *checker, const st_expr *expr, const size_t *functions,
                           st_place place)
{
    size_t height = expr == NULL ? 0 : inlined_height(expr, functions);
    if (height > ST_SHEET_MAX_HEIGHT) {
        st_fail(checker->errors, ST_ERR_LIMIT, place,
                "functions call functions, and the formula gets too deep" ST_EXPECTED
                "at most 4000 levels");
        return 0; /* reported once, not for every caller */
    }
    return height;
}

void st_sheet_warn_unused(const st_sheet *sheet, st_errors *errors)
{
    for (size_t i = 0; i < sheet->input_count; i++) {
        const st_sheet_input *input = &sheet->inputs[i];
        if (!input->used)
            st_report(errors, ST_SEVERITY_WARNING, ST_ERR_NAME, input->place,
                      "no cell or check reads input '%s'", input->name);
    }
}

st_status st_sheet_check_all(st_sheet *sheet, st_arena *arena, st_unit_faults *faults,
                             st_errors *errors)
{
    size_t before = st_errors_count(errors, ST_SEVERITY_ERROR);
    st_checker checker = {.sheet = sheet, .errors = errors, .arena = arena, .faults = faults};
    st_sheet *function_sheet = checker.sheet;
    for (size_t i = 0; i < function_sheet->function_count; i++) {
        checker.function = &function_sheet->functions[i];
        (void)check_formula(&checker, &function_sheet->function_formulas[i],
                            &function_sheet->functions[i].type, "function",
                            function_sheet->functions[i].name);
    }
    checker.function = NULL;
    st_sheet *cell_sheet = checker.sheet;
    const st_formula *refused = NULL; /* one report for all members that a text has made */
    for (size_t i = 0; i < cell_sheet->cell_count; i++) {
        const st_formula *formula = &cell_sheet->cell_formulas[i];
        if ((formula->origin == NULL || formula->origin != refused) &&
            !check_formula(&checker, formula, &cell_sheet->cells[i].type, "cell",
                           cell_sheet->cells[i].name))
            refused = formula->origin;
    }
    static const st_type truth = {.kind = ST_TYPE_BOOL};
    st_sheet *check_sheet = checker.sheet;
    for (size_t i = 0; i < check_sheet->check_count; i++) {
        (void)check_formula(&checker, &check_sheet->check_formulas[i], &truth, "the check", NULL);
        for (size_t j = 0; j < check_sheet->messages[i].count; j++) {
            const st_formula *shown = &check_sheet->messages[i].parts[j].formula;
            if (shown->expr == NULL)
                continue;
            /* Any type may be shown, once it is known which: a bare enumeration value is not. */
            checker.formula = shown;
            if (st_checker_expr(&checker, shown->expr))
                (void)st_checker_expect(&checker, shown->expr, st_expr_type(shown->expr),
                                        "the message");
        }
    }
    size_t *functions = NULL;
    st_status status = st_list_reads(sheet, arena, errors);
    if (status != ST_OK)
        return status;
    if (st_order_functions(sheet, arena, &functions, errors) == ST_OK) {
        /* Recursion follows trees and calls in all that comes later: bound both together. */
        const size_t *order = functions;
        st_sheet *height_sheet = checker.sheet;
        size_t *heights = st_arena_alloc(arena, height_sheet->function_count + 1, sizeof(*heights));
        if (heights == NULL) {
            (void)st_out_of_memory(checker.errors);
        } else {
            for (size_t i = 0; i < height_sheet->function_count; i++) {
                const st_sheet_function *function = &height_sheet->functions[order[i]];
                heights[order[i]] =
                    check_height(&checker, function->expr, heights, function->place);
            }
            for (size_t i = 0; i < height_sheet->cell_count; i++)
                (void)check_height(&checker, height_sheet->cells[i].expr, heights,
                                   height_sheet->cells[i].place);
            for (size_t i = 0; i < height_sheet->check_count; i++)
                (void)check_height(&checker, height_sheet->checks[i].expr, heights,
                                   height_sheet->checks[i].place);
        }
    }
    status = st_order_cells(sheet, NULL, arena, &sheet->cell_order, errors);
    return st_errors_count(errors, ST_SEVERITY_ERROR) > before ? st_errors_status(errors) : status;
}
