/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions as LaTeX mathematics.
 *
 * T_comp_mb becomes T with an upright subscript, step_time two upright words, quotients become
 * fractions (and need no parentheses inside), a choice becomes a brace of cases: one brace,
 * whatever further choices it has in it.
 */
#include "sheet/expr.h"
#include "export/latex.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

static void write_expr(const st_expr *expr, st_buffer *buffer);

/* Text in upright letters; an exponent of a unit is set as one. */
static void write_escaped(const char *text, size_t length, st_buffer *buffer)
{
    size_t i = 0;
    while (i < length) {
        size_t exponent = text[i] == '^' ? strspn(text + i + 1, "-0123456789") : 0;
        if (exponent > 0) {
            st_buffer_printf(buffer, "^{%.*s}", (int)exponent, text + i + 1);
        } else {
            st_buffer_text(buffer, strchr("_%$&#{}", text[i]) != NULL ? "\\" : "");
            st_buffer_append(buffer, text + i, 1);
        }
        i += exponent + 1;
    }
}

static bool is_greek(const char *name, size_t length)
{
    static const char *const letters[] = {"alpha", "beta",  "gamma",  "delta", "epsilon", "eta",
                                          "theta", "kappa", "lambda", "mu",    "nu",      "rho",
                                          "sigma", "tau",   "phi",    "omega"};
    for (size_t i = 0; i < ST_COUNT(letters); i++)
        if (strlen(letters[i]) == length && memcmp(letters[i], name, length) == 0)
            return true;
    return false;
}

/* Whether a name begins with a word and not with a symbol: then words follow, no subscript. */
static bool is_phrase(const char *name, size_t length)
{
    enum { WORD = 4 };
    bool goes_on = name[length] == '_' && isalpha((unsigned char)name[length + 1]) != 0;
    return length >= WORD && goes_on && !is_greek(name, length);
}

void st_name_latex(const char *name, st_buffer *buffer)
{
    size_t bar = strcspn(name, "_[");
    size_t length = bar == 0 ? strcspn(name, "[") : bar;
    if (is_phrase(name, length)) {
        /* "step time" of "step_time"; returns how much of the name that is. */
        size_t phrase_length = strcspn(name, "[");
        st_buffer_text(buffer, "\\mathrm{");
        for (size_t i = 0; i < phrase_length; i++)
            st_buffer_append(buffer, name[i] == '_' ? "\\;" : name + i, name[i] == '_' ? 2 : 1);
        st_buffer_text(buffer, "}");
        length = phrase_length;
    } else if (length == 1 && bar > 0) {
        st_buffer_append(buffer, name, 1);
    } else if (is_greek(name, length)) {
        st_buffer_printf(buffer, "\\%.*s", (int)length, name);
    } else {
        st_buffer_text(buffer, "\\mathrm{");
        write_escaped(name, length, buffer);
        st_buffer_text(buffer, "}");
    }
    if (name[length] != '\0') {
        /* The subscript: the rest of a name, its index separated. */
        const char *text = name + length + (name[length] == '_');
        st_buffer_text(buffer, "_{\\mathrm{");
        for (const char *c = text; *c != '\0'; c++) {
            const char *sign = *c == '_' || *c == ',' ? "," : *c == '[' && c > text ? "," : "";
            bool letter = strchr("_,[]", *c) == NULL;
            st_buffer_append(buffer, letter ? c : sign, letter ? 1 : strlen(sign));
        }
        st_buffer_text(buffer, "}}");
    }
}

void st_signature_latex(const st_sheet_function *function, st_buffer *buffer)
{
    st_name_latex(function->name, buffer);
    st_buffer_text(buffer, "(");
    for (size_t i = 0; i < function->argument_count; i++) {
        st_buffer_text(buffer, i > 0 ? ", " : "");
        st_name_latex(function->arguments[i].name, buffer);
    }
    st_buffer_text(buffer, ")");
}

/* An operand, in parentheses where it binds weaker than `strength`. */
static void write_operand(const st_expr *expr, int strength, st_buffer *buffer)
{
    bool fraction = expr->kind == ST_EXPR_BINARY && expr->op == ST_OPERATOR_DIVIDE;
    bool group = st_operator_strength(expr) < strength && !fraction;
    st_buffer_text(buffer, group ? "\\left(" : "");
    write_expr(expr, buffer);
    st_buffer_text(buffer, group ? "\\right)" : "");
}

static void write_binary(const st_expr *expr, st_buffer *buffer)
{
    static const char *const signs[] = {
        [ST_OPERATOR_OR] = " \\vee ",    [ST_OPERATOR_AND] = " \\wedge ",
        [ST_OPERATOR_EQUAL] = " = ",     [ST_OPERATOR_UNEQUAL] = " \\neq ",
        [ST_OPERATOR_LESS] = " < ",      [ST_OPERATOR_LESS_EQUAL] = " \\le ",
        [ST_OPERATOR_GREATER] = " > ",   [ST_OPERATOR_GREATER_EQUAL] = " \\ge ",
        [ST_OPERATOR_PLUS] = " + ",      [ST_OPERATOR_MINUS] = " - ",
        [ST_OPERATOR_TIMES] = " \\cdot "};
    const st_expr *a = st_expr_child(expr, 0);
    const st_expr *b = st_expr_child(expr, 1);
    int strength = st_operator_strength(expr);
    if (expr->op == ST_OPERATOR_DIVIDE) {
        st_buffer_text(buffer, "\\frac{");
        write_expr(a, buffer);
        st_buffer_text(buffer, "}{");
        write_expr(b, buffer);
        st_buffer_text(buffer, "}");
    } else if (expr->op == ST_OPERATOR_POWER) {
        /* A fraction under an exponent does need its parentheses, and so does 5 us. */
        bool atom = a->kind == ST_EXPR_NAME ||
                    (a->kind == ST_EXPR_NUMBER && strpbrk(st_expr_name(a), "[eE") == NULL);
        st_buffer_text(buffer, atom ? "{" : "\\left(");
        write_expr(a, buffer);
        st_buffer_text(buffer, atom ? "}^{" : "\\right)^{");
        write_expr(b, buffer);
        st_buffer_text(buffer, "}");
    } else {
        /* Comparisons are never chained, and a sign never follows another. */
        bool chained = st_operator_strength(a) == strength && expr->op >= ST_OPERATOR_EQUAL &&
                       expr->op <= ST_OPERATOR_GREATER_EQUAL;
        bool sign = b->kind == ST_EXPR_UNARY && b->op == ST_OPERATOR_MINUS;
        write_operand(a, chained ? strength + 1 : strength, buffer);
        st_buffer_text(buffer, signs[expr->op]);
        write_operand(b, sign ? st_operator_strength(b) + 1 : strength + 1, buffer);
    }
}

/* Conditions under which a line of a brace counts, the outermost last. */
typedef struct condition {
    const st_expr *expr;
    const struct condition *outer; /* NULL: none */
} condition;

static void write_condition(const condition *own, bool joined, st_buffer *buffer)
{
    const st_expr *expr = own->expr;
    assert(expr != NULL); /* a choice has its condition */
    if (own->outer != NULL) {
        write_condition(own->outer, true, buffer);
        st_buffer_text(buffer, " \\wedge ");
    }
    bool group = (joined || own->outer != NULL) && expr->kind == ST_EXPR_BINARY &&
                 expr->op == ST_OPERATOR_OR;
    st_buffer_text(buffer, group ? "\\left(" : "");
    write_expr(expr, buffer);
    st_buffer_text(buffer, group ? "\\right)" : "");
}

static bool is_choice(const st_expr *expr)
{
    return expr->kind == ST_EXPR_CALL && expr->builtin == ST_BUILTIN_IF;
}

/*
 * The lines of a choice under the conditions of those around it. The first line whose condition
 * holds counts, so that those of a choice inside need not say what does not hold.
 */
static void write_lines(const st_expr *expr, const condition *outer, st_buffer *buffer)
{
    const st_expr *rest = expr;
    while (is_choice(rest)) {
        const condition own = {st_expr_child(rest, 0), outer};
        if (is_choice(st_expr_child(rest, 1))) {
            write_lines(st_expr_child(rest, 1), &own, buffer);
        } else {
            write_expr(st_expr_child(rest, 1), buffer);
            st_buffer_text(buffer, " & \\text{if } ");
            write_condition(&own, false, buffer);
            st_buffer_text(buffer, " \\\\ ");
        }
        rest = st_expr_child(rest, 2);
    }
    write_expr(rest, buffer);
    if (outer == NULL) {
        st_buffer_text(buffer, " & \\text{otherwise}");
        return;
    }
    st_buffer_text(buffer, " & \\text{if } ");
    write_condition(outer, false, buffer);
    st_buffer_text(buffer, " \\\\ ");
}

static void write_call(const st_expr *call, st_buffer *buffer)
{
    static const char *const opening[] = {[ST_BUILTIN_MIN] = "\\min\\left(",
                                          [ST_BUILTIN_MAX] = "\\max\\left(",
                                          [ST_BUILTIN_FLOOR] = "\\left\\lfloor ",
                                          [ST_BUILTIN_CEIL] = "\\left\\lceil ",
                                          [ST_BUILTIN_ROUND] = "\\operatorname{round}\\left(",
                                          [ST_BUILTIN_SQRT] = "\\sqrt{",
                                          [ST_BUILTIN_LOG2] = "\\log_2\\left(",
                                          [ST_BUILTIN_LOG] = "\\ln\\left(",
                                          [ST_BUILTIN_LGAMMA] = "\\ln\\Gamma\\left(",
                                          [ST_BUILTIN_EXP] = "\\exp\\left(",
                                          [ST_BUILTIN_ABS] = "\\left|",
                                          [ST_BUILTIN_SUM] = "\\sum\\left(",
                                          [ST_BUILTIN_ARGMIN] = "\\arg\\min\\left(",
                                          [ST_BUILTIN_ARGMAX] = "\\arg\\max\\left("};
    if (call->builtin == ST_BUILTIN_IF) {
        st_buffer_text(buffer, "\\begin{cases} ");
        write_lines(call, NULL, buffer);
        st_buffer_text(buffer, " \\end{cases}");
        return;
    }
    if (call->builtin == ST_BUILTIN_NONE) {
        st_name_latex(st_expr_name(call), buffer);
        st_buffer_text(buffer, "\\left(");
    } else {
        st_buffer_text(buffer, opening[call->builtin]);
    }
    for (uint32_t i = 0; i < call->child_count; i++) {
        st_buffer_text(buffer, i == 0 ? "" : ",\\, ");
        write_expr(st_expr_child(call, i), buffer);
    }
    st_buffer_text(buffer, call->builtin == ST_BUILTIN_FLOOR  ? "\\right\\rfloor"
                           : call->builtin == ST_BUILTIN_CEIL ? "\\right\\rceil"
                           : call->builtin == ST_BUILTIN_SQRT ? "}"
                           : call->builtin == ST_BUILTIN_ABS  ? "\\right|"
                                                              : "\\right)");
}

static void write_expr(const st_expr *expr, st_buffer *buffer)
{
    switch (expr->kind) {
    case ST_EXPR_NUMBER: {
        const char *bracket = strchr(st_expr_name(expr), '[');
        size_t length =
            bracket == NULL ? strlen(st_expr_name(expr)) : (size_t)(bracket - st_expr_name(expr));
        size_t exponent = strcspn(st_expr_name(expr), "eE");
        if (exponent < length)
            st_buffer_printf(buffer, "%.*s \\times 10^{%.*s}", (int)exponent, st_expr_name(expr),
                             (int)(length - exponent - 1), st_expr_name(expr) + exponent + 1);
        else
            st_buffer_append(buffer, st_expr_name(expr), length);
        if (bracket != NULL) {
            st_buffer_text(buffer, "\\,\\mathrm{");
            write_escaped(bracket + 1, strlen(bracket + 1) - 1, buffer);
            st_buffer_text(buffer, "}");
        }
        break;
    }
    case ST_EXPR_BOOL:
        st_buffer_printf(buffer, "\\mathrm{%s}", st_expr_name(expr));
        break;
    case ST_EXPR_NAME:
        if (expr->name_kind == ST_NAME_VALUE) {
            st_buffer_text(buffer, "\\text{");
            write_escaped(st_expr_name(expr), strlen(st_expr_name(expr)), buffer);
            st_buffer_text(buffer, "}");
        } else {
            st_name_latex(st_expr_name(expr), buffer);
        }
        break;
    case ST_EXPR_UNARY:
        st_buffer_text(buffer, expr->op == ST_OPERATOR_NOT ? "\\neg " : "-");
        write_operand(st_expr_child(expr, 0), st_operator_strength(expr) + 1, buffer);
        break;
    case ST_EXPR_BINARY:
        write_binary(expr, buffer);
        break;
    case ST_EXPR_CALL:
        write_call(expr, buffer);
        break;
    }
}

void st_expr_latex(const st_expr *expr, st_buffer *buffer)
{
    write_expr(expr, buffer);
}
