/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random formulas: trees that are made, written as text and evaluated here, with nothing of
 * estimator/sheet in between. A value that does not exist is NaN.
 */
#ifndef STEPTIME_TESTS_TREES_H
#define STEPTIME_TESTS_TREES_H

#include "../property/property.h"
#include "steptime/arena.h"

typedef enum tree_type { TREE_NUMBER, TREE_TRUTH, TREE_GEAR, TREE_TYPES } tree_type;

typedef enum tree_op {
    TREE_LITERAL,
    TREE_NAME,
    TREE_MINUS,
    TREE_NOT,
    TREE_OR,
    TREE_AND,
    TREE_EQUAL,
    TREE_UNEQUAL,
    TREE_LESS,
    TREE_LESS_EQUAL,
    TREE_GREATER,
    TREE_GREATER_EQUAL,
    TREE_ADD,
    TREE_SUBTRACT,
    TREE_MULTIPLY,
    TREE_DIVIDE,
    TREE_POWER,
    TREE_IF,
    TREE_MIN,
    TREE_MAX,
    TREE_ABS,
    TREE_FLOOR,
    TREE_CEIL,
    TREE_ROUND,
    TREE_SQRT,
    TREE_LOG2,
    TREE_LOG,
    TREE_LGAMMA,
    TREE_EXP,
    TREE_CALL,
    TREE_OPS
} tree_op;

enum { TREE_MOST_OPERANDS = 4, TREE_MOST_NAMES = 64 };

typedef struct tree {
    tree_op op;
    double number;    /* literals */
    const char *text; /* literals and names */
    size_t index;     /* of a name in its scope, of a called function */
    size_t count;
    struct tree *operands[TREE_MOST_OPERANDS];
} tree;

/* What a formula may name. */
typedef struct tree_scope {
    const char *names[TREE_MOST_NAMES];
    tree_type types[TREE_MOST_NAMES];
    size_t count;
    size_t varying; /* the first of them are inputs: never constants */
} tree_scope;

/* A function of numbers; without a body it is its provider, tree_provided(). */
typedef struct tree_function {
    const char *name;
    size_t argument_count;
    const tree *body;
} tree_function;

typedef struct tree_maker {
    property_random *random;
    st_arena *arena;
    const tree_scope *scope;
    const tree_function *functions;
    size_t function_count;
} tree_maker;

static const char *const tree_gears[] = {"none", "half", "full"};

static const char *const tree_words[TREE_OPS] = {
    [TREE_MINUS] = "-",    [TREE_NOT] = "not",
    [TREE_OR] = "or",      [TREE_AND] = "and",
    [TREE_EQUAL] = "==",   [TREE_UNEQUAL] = "!=",
    [TREE_LESS] = "<",     [TREE_LESS_EQUAL] = "<=",
    [TREE_GREATER] = ">",  [TREE_GREATER_EQUAL] = ">=",
    [TREE_ADD] = "+",      [TREE_SUBTRACT] = "-",
    [TREE_MULTIPLY] = "*", [TREE_DIVIDE] = "/",
    [TREE_POWER] = "^",    [TREE_IF] = "if",
    [TREE_MIN] = "min",    [TREE_MAX] = "max",
    [TREE_ABS] = "abs",    [TREE_FLOOR] = "floor",
    [TREE_CEIL] = "ceil",  [TREE_ROUND] = "round",
    [TREE_SQRT] = "sqrt",  [TREE_LOG2] = "log2",
    [TREE_LOG] = "log",    [TREE_LGAMMA] = "lgamma",
    [TREE_EXP] = "exp",
};

/* --- making ---------------------------------------------------------------------------------- */

static inline tree *tree_node(tree_maker *maker, tree_op op, size_t count)
{
    tree *node = st_arena_alloc(maker->arena, 1, sizeof *node);
    assert_non_null(node);
    node->op = op;
    node->count = count;
    return node;
}

static inline tree *tree_make(tree_maker *maker, tree_type type, int depth);

static inline tree *tree_number(tree_maker *maker)
{
    static const char *const usual[] = {"0", "1", "2", "3", "0.5", "2.385", "1e-3", "7.25E+2", "4"};
    tree *node = tree_node(maker, TREE_LITERAL, 0);
    size_t pick = random_below(maker->random, 2 * sizeof usual / sizeof usual[0]);
    node->text =
        pick < sizeof usual / sizeof usual[0]
            ? usual[pick]
            : st_arena_printf(maker->arena, "%.9g", fabs(random_magnitude(maker->random, 5)));
    node->number = strtod(node->text, NULL);
    return node;
}

/* A name of the type from the scope; NULL where there is none. */
static inline tree *tree_name(tree_maker *maker, tree_type type)
{
    const tree_scope *scope = maker->scope;
    size_t start = scope->count > 0 ? random_below(maker->random, scope->count) : 0;
    for (size_t i = 0; i < scope->count; i++) {
        size_t index = (start + i) % scope->count;
        if (scope->types[index] == type) {
            tree *node = tree_node(maker, TREE_NAME, 0);
            node->text = scope->names[index];
            node->index = index;
            return node;
        }
    }
    return NULL;
}

static inline tree *tree_leaf(tree_maker *maker, tree_type type)
{
    tree *name = random_below(maker->random, 3) > 0 ? tree_name(maker, type) : NULL;
    if (name != NULL)
        return name;
    if (type == TREE_NUMBER)
        return tree_number(maker);
    tree *node = tree_node(maker, TREE_LITERAL, 0);
    size_t value = random_below(maker->random, type == TREE_TRUTH ? 2 : 3);
    node->number = (double)value;
    node->text = type == TREE_GEAR ? tree_gears[value] : value == 1 ? "true" : "false";
    return node;
}

static inline tree *tree_with(tree_maker *maker, tree_op op, tree_type type, size_t count,
                              int depth)
{
    tree *node = tree_node(maker, op, count);
    for (size_t i = 0; i < count; i++)
        node->operands[i] = tree_make(maker, type, depth - 1);
    return node;
}

static inline tree *tree_choice(tree_maker *maker, tree_type type, int depth)
{
    tree *node = tree_with(maker, TREE_IF, type, 3, depth);
    node->operands[0] = tree_make(maker, TREE_TRUTH, depth - 1);
    return node;
}

/* An exponent is a literal, one with a sign, or an input: whether it is a constant can be seen. */
static inline tree *tree_power(tree_maker *maker, int depth)
{
    tree *node = tree_node(maker, TREE_POWER, 2);
    node->operands[0] = tree_make(maker, TREE_NUMBER, depth - 1);
    tree *name = random_below(maker->random, 4) == 0 ? tree_name(maker, TREE_NUMBER) : NULL;
    bool varies = name != NULL && name->index < maker->scope->varying;
    node->operands[1] = varies ? name : tree_number(maker);
    if (random_below(maker->random, 3) == 0) {
        tree *sign = tree_node(maker, TREE_MINUS, 1);
        sign->operands[0] = node->operands[1];
        node->operands[1] = sign;
    }
    return node;
}

static inline tree *tree_call(tree_maker *maker, int depth)
{
    size_t index = random_below(maker->random, maker->function_count);
    const tree_function *function = &maker->functions[index];
    tree *node = tree_with(maker, TREE_CALL, TREE_NUMBER, function->argument_count, depth);
    node->index = index;
    node->text = function->name;
    return node;
}

static inline tree *tree_arithmetic(tree_maker *maker, int depth)
{
    size_t pick = random_below(maker->random, 20);
    if (pick < 9)
        return tree_with(maker, (tree_op)(TREE_ADD + pick % 4), TREE_NUMBER, 2, depth);
    if (pick < 10)
        return tree_with(maker, TREE_MINUS, TREE_NUMBER, 1, depth);
    if (pick < 12)
        return tree_power(maker, depth);
    if (pick < 14)
        return tree_choice(maker, TREE_NUMBER, depth);
    if (pick < 16)
        return tree_with(maker, pick == 14 ? TREE_MIN : TREE_MAX, TREE_NUMBER,
                         2 + random_below(maker->random, TREE_MOST_OPERANDS - 1), depth);
    if (pick < 18 && maker->function_count > 0)
        return tree_call(maker, depth);
    return tree_with(maker, (tree_op)(TREE_ABS + random_below(maker->random, 8)), TREE_NUMBER, 1,
                     depth);
}

static inline tree *tree_logic(tree_maker *maker, int depth)
{
    size_t pick = random_below(maker->random, 10);
    if (pick < 5)
        return tree_with(maker, (tree_op)(TREE_EQUAL + random_below(maker->random, 6)), TREE_NUMBER,
                         2, depth);
    if (pick == 5)
        return tree_with(maker, TREE_NOT, TREE_TRUTH, 1, depth);
    if (pick == 6)
        return tree_choice(maker, TREE_TRUTH, depth);
    if (pick == 7) { /* one side says which enumeration is meant */
        tree *node = tree_with(maker, TREE_EQUAL, TREE_GEAR, 2, depth);
        tree *name = tree_name(maker, TREE_GEAR);
        node->op = name != NULL ? node->op : TREE_LESS;
        size_t side = random_below(maker->random, 2);
        if (name == NULL)
            return tree_with(maker, TREE_LESS, TREE_NUMBER, 2, depth);
        node->operands[side] = name;
        return node;
    }
    return tree_with(maker, pick == 8 ? TREE_AND : TREE_OR, TREE_TRUTH, 2, depth);
}

/* A random formula of a type, at most `depth` operations deep. */
static inline tree *tree_make(tree_maker *maker, tree_type type, int depth)
{
    if (depth <= 0 || random_below(maker->random, 8) == 0)
        return tree_leaf(maker, type);
    if (type == TREE_NUMBER)
        return tree_arithmetic(maker, depth);
    return type == TREE_TRUTH ? tree_logic(maker, depth) : tree_choice(maker, type, depth);
}

/* --- writing --------------------------------------------------------------------------------- */

/* How tightly an operation binds, by the table of docs/sheet-language.md. */
static inline int tree_strength(const tree *node)
{
    static const int strengths[TREE_OPS] = {
        [TREE_OR] = 1,         [TREE_AND] = 2,      [TREE_NOT] = 3,
        [TREE_EQUAL] = 4,      [TREE_UNEQUAL] = 4,  [TREE_LESS] = 4,
        [TREE_LESS_EQUAL] = 4, [TREE_GREATER] = 4,  [TREE_GREATER_EQUAL] = 4,
        [TREE_ADD] = 5,        [TREE_SUBTRACT] = 5, [TREE_MULTIPLY] = 6,
        [TREE_DIVIDE] = 6,     [TREE_MINUS] = 7,    [TREE_POWER] = 8,
    };
    return strengths[node->op] != 0 ? strengths[node->op] : 9;
}

static inline void tree_blank(property_random *random, st_buffer *buffer)
{
    static const char *const blanks[] = {"", "", " ", "  ", " "};
    st_buffer_text(buffer, blanks[random_below(random, sizeof blanks / sizeof blanks[0])]);
}

static inline void tree_write(property_random *random, const tree *node, int weakest,
                              st_buffer *buffer);

/* ^ groups from the right, comparisons not at all, everything else from the left. */
static inline void tree_write_infix(property_random *random, const tree *node, st_buffer *buffer)
{
    int strength = tree_strength(node);
    int left = node->op == TREE_POWER ? 9 : strength == 4 ? 5 : strength;
    tree_write(random, node->operands[0], left, buffer);
    if (node->op == TREE_AND || node->op == TREE_OR) {
        st_buffer_printf(buffer, " %s ", tree_words[node->op]);
    } else {
        tree_blank(random, buffer);
        st_buffer_text(buffer, tree_words[node->op]);
        tree_blank(random, buffer);
    }
    tree_write(random, node->operands[1], node->op == TREE_POWER ? 7 : strength + 1, buffer);
}

static inline void tree_write_call(property_random *random, const tree *node, st_buffer *buffer)
{
    st_buffer_printf(buffer, "%s(", node->op == TREE_CALL ? node->text : tree_words[node->op]);
    for (size_t i = 0; i < node->count; i++) {
        st_buffer_text(buffer, i == 0 ? "" : ",");
        tree_blank(random, buffer);
        tree_write(random, node->operands[i], 1, buffer);
    }
    st_buffer_text(buffer, ")");
}

/* As text, with the parentheses that it needs and now and then one that it does not. */
static inline void tree_write(property_random *random, const tree *node, int weakest,
                              st_buffer *buffer)
{
    bool group = tree_strength(node) < weakest || random_below(random, 12) == 0;
    st_buffer_text(buffer, group ? "(" : "");
    if (node->op == TREE_LITERAL || node->op == TREE_NAME) {
        st_buffer_text(buffer, node->text);
    } else if (node->op == TREE_MINUS || node->op == TREE_NOT) {
        st_buffer_text(buffer, node->op == TREE_NOT ? "not " : "-");
        tree_write(random, node->operands[0], tree_strength(node), buffer);
    } else if (node->op < TREE_IF) {
        tree_write_infix(random, node, buffer);
    } else {
        tree_write_call(random, node, buffer);
    }
    st_buffer_text(buffer, group ? ")" : "");
}

/* --- evaluating ------------------------------------------------------------------------------ */

/* What the provider of a function without a body gives. */
static inline double tree_provided(double x, double y)
{
    return x > 1e6 ? -1 : fabs(x) * 0.75 + fabs(y); /* refuses large numbers */
}

static inline double tree_exists(double value)
{
    return isfinite(value) ? value : (double)NAN;
}

/* Whole exponents up to four are products, halves and quarters roots, below zero under a one. */
static inline double tree_raise(double base, double exponent)
{
    double size = fabs(exponent);
    double value = base;
    if (size == 2 || size == 3)
        value = size == 2 ? base * base : base * base * base;
    else if (size == 4)
        value = (base * base) * (base * base);
    else if (size == 0.5 || exponent == 0.25)
        value = size == 0.5 ? sqrt(base) : sqrt(sqrt(base));
    else if (size != 1)
        return pow(base, exponent);
    return exponent > 0 ? value : 1 / tree_exists(value);
}

static inline double tree_function_of(tree_op op, double x)
{
    switch (op) {
    case TREE_MINUS:
        return -x;
    case TREE_NOT:
        return x == 1 ? 0 : 1;
    case TREE_ABS:
        return fabs(x);
    case TREE_FLOOR:
        return floor(x);
    case TREE_CEIL:
        return ceil(x);
    case TREE_ROUND:
        return round(x);
    case TREE_SQRT:
        return sqrt(x);
    case TREE_LOG2:
        return log2(x);
    case TREE_LOG:
        return log(x);
    case TREE_LGAMMA:
        return x > 0 ? lgamma(x) : (double)NAN;
    default:
        return exp(x);
    }
}

static inline bool tree_compare(tree_op op, double x, double y)
{
    switch (op) {
    case TREE_EQUAL:
        return x == y;
    case TREE_UNEQUAL:
        return x != y;
    case TREE_LESS:
        return x < y;
    case TREE_LESS_EQUAL:
        return x <= y;
    case TREE_GREATER:
        return x > y;
    default:
        return x >= y;
    }
}

static inline double tree_operation(tree_op op, double x, double y)
{
    switch (op) {
    case TREE_ADD:
        return x + y;
    case TREE_SUBTRACT:
        return x - y;
    case TREE_MULTIPLY:
        return x * y;
    case TREE_DIVIDE:
        return x / y;
    case TREE_MIN:
        return x < y ? x : y;
    case TREE_MAX:
        return x > y ? x : y;
    default:
        return tree_compare(op, x, y) ? 1 : 0;
    }
}

static inline double tree_value(const tree *node, const double *scope,
                                const tree_function *functions);

static inline double tree_call_value(const tree *node, const double *scope,
                                     const tree_function *functions)
{
    double arguments[TREE_MOST_OPERANDS] = {0};
    for (size_t i = 0; i < node->count; i++)
        arguments[i] = tree_value(node->operands[i], scope, functions);
    const tree_function *function = &functions[node->index];
    if (function->body != NULL)
        return tree_value(function->body, arguments, functions);
    double value = tree_provided(arguments[0], arguments[1]);
    return value >= 0 ? tree_exists(value) : (double)NAN;
}

/* Of two truth values; one that decides alone does not ask for the other. */
static inline double tree_logic_value(tree_op op, double x, double y)
{
    double decides = op == TREE_AND ? 0 : 1;
    if (x == decides || y == decides)
        return decides;
    return isnan(x) || isnan(y) ? (double)NAN : x;
}

/* Of two operands, or of more from the left, all of which must have values. */
static inline double tree_operation_value(const tree *node, const double *operands)
{
    double x = operands[0];
    for (size_t i = 1; i < node->count; i++) {
        double y = operands[i];
        if (isnan(x) || isnan(y))
            return (double)NAN;
        x = tree_exists(node->op == TREE_POWER ? tree_raise(x, y) : tree_operation(node->op, x, y));
    }
    return x;
}

static inline double tree_value(const tree *node, const double *scope,
                                const tree_function *functions)
{
    if (node->op == TREE_LITERAL || node->op == TREE_NAME)
        return node->op == TREE_LITERAL ? node->number : tree_exists(scope[node->index]);
    if (node->op == TREE_CALL)
        return tree_call_value(node, scope, functions);
    double operands[TREE_MOST_OPERANDS] = {0};
    for (size_t i = 0; i < node->count; i++)
        operands[i] = tree_value(node->operands[i], scope, functions);
    double x = operands[0];
    if (node->op == TREE_IF)
        return isnan(x) ? x : operands[x == 1 ? 1 : 2];
    if (node->op == TREE_AND || node->op == TREE_OR)
        return tree_logic_value(node->op, x, operands[1]);
    if (node->count == 1)
        return isnan(x) ? x : tree_exists(tree_function_of(node->op, x));
    return tree_operation_value(node, operands);
}

#endif
