/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/kit/formula_c.h"

#include "sheet/expr.h"

#include <string.h>

/* A function whose formula is written, and the arguments that it was called with. */
typedef struct frame {
    const st_sheet *sheet;
    const st_expr *call; /* NULL: the arguments are variables */
    const struct frame *outer;
} frame;

static void write_expr(const frame *view, const st_expr *expr, st_buffer *buffer);

/* ---- names ----------------------------------------------------------------------------------- */

void st_formula_write_name(const char *name, st_buffer *buffer)
{
    static const char *const taken[] = {
        "auto",     "break",    "case",   "char",   "const",    "continue", "default", "do",
        "double",   "else",     "enum",   "extern", "float",    "for",      "goto",    "if",
        "inline",   "int",      "long",   "main",   "register", "restrict", "return",  "short",
        "signed",   "sizeof",   "static", "struct", "switch",   "typedef",  "union",   "unsigned",
        "void",     "volatile", "while",  "own",    "row",      "columns",  "sqrt",    "log",
        "log2",     "lgamma",   "exp",    "fabs",   "floor",    "ceil",     "round",   "fmin",
        "fmax",     "pow",      "NAN",    "class",  "new",      "this",     "private", "public",
        "template", "virtual",  "friend"};
    st_buffer_text(buffer, name);
    if (st_has_text(taken, ST_COUNT(taken), name))
        st_buffer_text(buffer, "_");
}

bool st_formula_is_collective(const st_sheet_function *function)
{
    const st_expr *expr = function->expr;
    if (expr == NULL || expr->kind != ST_EXPR_CALL || expr->builtin != ST_BUILTIN_IF)
        return false;
    const st_expr *condition = st_expr_child(expr, 0);
    const st_expr *otherwise = st_expr_child(expr, 2);
    return condition->kind == ST_EXPR_BINARY && condition->op == ST_OPERATOR_GREATER &&
           st_expr_child(condition, 0)->kind == ST_EXPR_NAME &&
           strcmp(st_expr_name(st_expr_child(condition, 0)), "ranks") == 0 &&
           otherwise->kind == ST_EXPR_NUMBER && !(otherwise->number < 0) &&
           !(otherwise->number > 0);
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* Always with a point or an exponent, so that no quotient is one of whole numbers. */
static void write_number(double value, st_buffer *buffer)
{
    char text[ST_QUANTITY_TEXT];
    (void)st_number_format(value, text, sizeof text);
    st_buffer_printf(buffer, "%s%s", text, strpbrk(text, ".e") == NULL ? ".0" : "");
}

static void write_call(const frame *view, const st_expr *expr, st_buffer *buffer)
{
    static const char *const names[] = {
        [ST_BUILTIN_MIN] = "fmin",  [ST_BUILTIN_MAX] = "fmax",     [ST_BUILTIN_FLOOR] = "floor",
        [ST_BUILTIN_CEIL] = "ceil", [ST_BUILTIN_ROUND] = "round",  [ST_BUILTIN_SQRT] = "sqrt",
        [ST_BUILTIN_LOG2] = "log2", [ST_BUILTIN_LOG] = "log",      [ST_BUILTIN_EXP] = "exp",
        [ST_BUILTIN_ABS] = "fabs",  [ST_BUILTIN_LGAMMA] = "lgamma"};
    if (expr->builtin == ST_BUILTIN_NONE) {
        size_t count = 0;
        const st_sheet_function *called = &st_sheet_functions(view->sheet, &count)[expr->index];
        const frame inner = {view->sheet, expr, view};
        if (called->expr == NULL)
            st_buffer_text(buffer, "NAN");
        else
            write_expr(&inner, called->expr, buffer);
        return;
    }
    if (expr->builtin == ST_BUILTIN_IF) {
        st_buffer_text(buffer, "(");
        write_expr(view, st_expr_child(expr, 0), buffer);
        st_buffer_text(buffer, " ? ");
        write_expr(view, st_expr_child(expr, 1), buffer);
        st_buffer_text(buffer, " : ");
        write_expr(view, st_expr_child(expr, 2), buffer);
        st_buffer_text(buffer, ")");
        return;
    }
    const char *name = names[expr->builtin];
    /* fmin and fmax take two: fmin(a, fmin(b, c)). */
    uint32_t count = expr->child_count;
    for (uint32_t i = 0; i < count; i++) {
        bool last = i + 1 == count;
        st_buffer_printf(buffer, "%s", i > 0 ? ", " : "");
        if (!last || count == 1)
            st_buffer_printf(buffer, "%s(", name);
        write_expr(view, st_expr_child(expr, i), buffer);
    }
    for (uint32_t i = 0; i < (count > 1 ? count - 1 : count); i++)
        st_buffer_text(buffer, ")");
}

/* In parentheses wherever C or its warnings want them. */
static void write_operand(const frame *view, const st_expr *expr, uint32_t side, st_buffer *buffer)
{
    const frame *from = view;
    /* An argument of a call becomes an operand as written there. */
    const st_expr *behind_expr = st_expr_child(expr, side);
    while (behind_expr->kind == ST_EXPR_NAME && behind_expr->name_kind == ST_NAME_ARGUMENT &&
           from->call != NULL) {
        behind_expr = st_expr_child(from->call, behind_expr->index);
        from = from->outer;
    }
    const st_expr *operand = behind_expr;
    bool arithmetic = expr->op == ST_OPERATOR_PLUS || expr->op == ST_OPERATOR_MINUS ||
                      expr->op == ST_OPERATOR_TIMES || expr->op == ST_OPERATOR_DIVIDE;
    int least = st_operator_strength(expr) + (side == 0 && arithmetic ? 0 : 1);
    bool body = operand->kind == ST_EXPR_CALL && operand->builtin == ST_BUILTIN_NONE;
    bool group = body || (operand->kind == ST_EXPR_BINARY && operand->op != ST_OPERATOR_POWER &&
                          (!arithmetic || st_operator_strength(operand) < least));
    st_buffer_text(buffer, group ? "(" : "");
    write_expr(from, operand, buffer);
    st_buffer_text(buffer, group ? ")" : "");
}

static void write_binary(const frame *view, const st_expr *expr, st_buffer *buffer)
{
    static const char *const signs[] = {
        [ST_OPERATOR_OR] = "||",     [ST_OPERATOR_AND] = "&&",
        [ST_OPERATOR_EQUAL] = "==",  [ST_OPERATOR_UNEQUAL] = "!=",
        [ST_OPERATOR_LESS] = "<",    [ST_OPERATOR_LESS_EQUAL] = "<=",
        [ST_OPERATOR_GREATER] = ">", [ST_OPERATOR_GREATER_EQUAL] = ">=",
        [ST_OPERATOR_PLUS] = "+",    [ST_OPERATOR_MINUS] = "-",
        [ST_OPERATOR_TIMES] = "*",   [ST_OPERATOR_DIVIDE] = "/"};
    if (expr->op == ST_OPERATOR_POWER) {
        st_buffer_text(buffer, "pow(");
        write_expr(view, st_expr_child(expr, 0), buffer);
        st_buffer_text(buffer, ", ");
        write_expr(view, st_expr_child(expr, 1), buffer);
        st_buffer_text(buffer, ")");
        return;
    }
    write_operand(view, expr, 0, buffer);
    st_buffer_printf(buffer, " %s ", signs[expr->op]);
    write_operand(view, expr, 1, buffer);
}

static void write_expr(const frame *view, const st_expr *expr, st_buffer *buffer)
{
    switch (expr->kind) {
    case ST_EXPR_NUMBER:
        write_number(expr->number, buffer);
        break;
    case ST_EXPR_BOOL:
        st_buffer_text(buffer, expr->number > 0 ? "1.0" : "0.0");
        break;
    case ST_EXPR_NAME:
        if (expr->name_kind == ST_NAME_VALUE)
            write_number(expr->index, buffer);
        else if (expr->name_kind == ST_NAME_ARGUMENT && view->call != NULL)
            write_expr(view->outer, st_expr_child(view->call, expr->index), buffer);
        else
            st_formula_write_name(st_expr_name(expr), buffer);
        break;
    case ST_EXPR_UNARY:
        st_buffer_text(buffer, expr->op == ST_OPERATOR_NOT ? "(!(" : "(-(");
        write_expr(view, st_expr_child(expr, 0), buffer);
        st_buffer_text(buffer, "))");
        break;
    case ST_EXPR_BINARY:
        write_binary(view, expr, buffer);
        break;
    case ST_EXPR_CALL:
        write_call(view, expr, buffer);
        break;
    }
}

void st_formula_write_c(const st_sheet *sheet, const st_sheet_function *function, st_buffer *buffer)
{
    const frame top = {.sheet = sheet};
    if (function->expr == NULL)
        st_buffer_text(buffer, "NAN");
    else
        write_expr(&top, function->expr, buffer);
}
