/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions as trees: what the parser makes, the checker annotates and the compiler lowers.
 *
 * A tree belongs to one formula. Every node knows the span of text that it came from, so that
 * messages and explanations can point at it and quote it. What a node points to it knows by its
 * distance, so that a tree is right wherever its memory lies: those of the library's own sheets are
 * used where the program has them (sheet/image.h). A node is therefore never copied by `=`.
 */
#ifndef STEPTIME_SHEET_EXPR_H
#define STEPTIME_SHEET_EXPR_H

#include "base/yaml.h"
#include "sheet/relative.h"
#include "steptime/sheet.h"
#include "steptime/tool/formula_names.h"

enum {
    ST_EXPR_MAX_BYTES = 64 * 1024,
    ST_EXPR_MAX_NESTING = 200, /* parentheses, calls, signs: bounds the parser's recursion */
    ST_EXPR_MAX_HEIGHT = 1000, /* operators in a chain: bounds everybody else's recursion */
    ST_EXPR_MAX_ARGUMENTS = 144
};

typedef enum st_expr_kind {
    ST_EXPR_NUMBER,
    ST_EXPR_BOOL,
    ST_EXPR_NAME,
    ST_EXPR_UNARY, /* ST_OPERATOR_MINUS, ST_OPERATOR_NOT */
    ST_EXPR_BINARY,
    ST_EXPR_CALL
} st_expr_kind;

typedef enum st_operator {
    ST_OPERATOR_OR,
    ST_OPERATOR_AND,
    ST_OPERATOR_NOT,
    ST_OPERATOR_EQUAL,
    ST_OPERATOR_UNEQUAL,
    ST_OPERATOR_LESS,
    ST_OPERATOR_LESS_EQUAL,
    ST_OPERATOR_GREATER,
    ST_OPERATOR_GREATER_EQUAL,
    ST_OPERATOR_PLUS,
    ST_OPERATOR_MINUS,
    ST_OPERATOR_TIMES,
    ST_OPERATOR_DIVIDE,
    ST_OPERATOR_POWER
} st_operator;

typedef enum st_builtin {
    ST_BUILTIN_NONE, /* a function of the sheet */
    ST_BUILTIN_IF,
    ST_BUILTIN_MIN,
    ST_BUILTIN_MAX,
    ST_BUILTIN_FLOOR,
    ST_BUILTIN_CEIL,
    ST_BUILTIN_ROUND,
    ST_BUILTIN_SQRT,
    ST_BUILTIN_LOG2,
    ST_BUILTIN_LOG,
    ST_BUILTIN_LGAMMA,
    ST_BUILTIN_EXP,
    ST_BUILTIN_ABS,
    ST_BUILTIN_SUM, /* over a family, as the next two; families put it in place */
    ST_BUILTIN_ARGMIN,
    ST_BUILTIN_ARGMAX
} st_builtin;

/* What a name means; decided by the checker. */
typedef enum st_name_kind {
    ST_NAME_UNKNOWN,
    ST_NAME_INPUT,
    ST_NAME_CELL,
    ST_NAME_ARGUMENT,
    ST_NAME_VALUE,   /* of an enumeration */
    ST_NAME_FUNCTION /* a call of a function of the sheet */
} st_name_kind;

struct st_expr {
    st_expr_kind kind;
    st_operator op;
    st_builtin builtin;     /* calls */
    st_name_kind name_kind; /* names and calls */
    uint32_t offset;        /* span in the formula's text */
    uint32_t length;
    uint32_t operator_offset; /* of a binary operator; of a name inside its parentheses */
    uint32_t name_length;     /* of a name, as it is written */
    uint32_t index; /* of the input, cell, argument, enumeration value or sheet function */
    uint32_t child_count;
    uint16_t height;
    bool guards;   /* an `if` that a family put there: of a member that may not exist */
    double number; /* base units */
    st_relative name_at;
    st_relative type_at;
    st_relative children[];
};

static inline st_expr *st_expr_child(const st_expr *expr, size_t i)
{
    return st_relative_target(&expr->children[i]);
}

/* A node over `count` children that begins at `offset` of its formula; NULL when out of memory. */
st_expr *st_expr_make(st_arena *arena, st_expr_kind kind, size_t offset, size_t count);
/* Sets where the node ends, and its height, once it has its children. */
void st_expr_end(st_expr *expr, size_t end);

/* Of names, with their index as "M[first,moe]", and of calls; of numbers as written, with their
 * unit. */
static inline const char *st_expr_name(const st_expr *expr)
{
    return st_relative_target(&expr->name_at);
}

/* Of numbers from the parser, of everything else from the checker. */
static inline const st_type *st_expr_type(const st_expr *expr)
{
    return st_relative_target(&expr->type_at);
}

/* Where in a sheet a stretch of an expanded formula was written. */
typedef struct st_formula_piece {
    uint32_t start;  /* in the expanded text; it reaches to the next piece */
    uint32_t offset; /* in the source's text */
    uint16_t source; /* among those of the formula */
    bool fixed;      /* all of it belongs to that one character */
} st_formula_piece;

/* A formula's text and place. */
typedef struct st_formula {
    const char *text; /* outer blanks removed */
    size_t length;
    const st_yaml_node *scalar; /* to turn offsets into places; NULL: `place` is all there is */
    size_t scalar_offset;       /* of text[0] in the scalar */
    st_place place;
    st_expr *expr;                  /* the tree; NULL where the text is faulty */
    bool indexed;                   /* has names with an index */
    const st_formula_piece *pieces; /* of an expanded text */
    size_t piece_count;
    const struct st_formula *const *sources; /* that the pieces come from */
    size_t source_count;
    const struct st_formula *origin; /* the text that it shares with other members of its family */
} st_formula;

/* A number without a unit, until the checker knows better; a truth value. */
extern const st_type st_type_pure;
extern const st_type st_type_truth;

st_place st_formula_place_at(const st_formula *formula, size_t offset);

/* Sets formula->expr; adds one error (the first error) when the text does not follow the grammar.
 */
st_status st_expr_parse(st_formula *formula, st_arena *arena, st_errors *errors) ST_NODISCARD;

const char *st_operator_text(st_operator op);
/* Where its text ends. */
static inline size_t st_expr_stop(const st_expr *expr)
{
    return (size_t)expr->offset + expr->length;
}

const char *st_builtin_text(st_builtin builtin);
st_builtin st_builtin_find(const char *name);
/* How tightly an operator binds; larger is tighter. */
int st_operator_strength(const st_expr *expr);

#endif
