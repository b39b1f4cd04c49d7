/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of expressions: precedence climbing, one error per formula.
 *
 * Nesting is bounded before the parser recurses, and the height of every tree is bounded too (a sum
 * of thousands of terms is a deep tree), so that no later walk can exhaust the stack.
 */
#include "sheet/lexer.h"

#include "base/chars.h"

#include <string.h>

typedef struct st_parser {
    st_formula *formula;
    st_arena *arena;
    st_errors *errors;
    st_token token; /* the next one */
    int nesting;
} st_parser;

/* In the order of st_builtin, from ST_BUILTIN_IF on. */
static const char *const builtin_names[] = {"if",    "min",  "max",  "floor",  "ceil",
                                            "round", "sqrt", "log2", "log",    "lgamma",
                                            "exp",   "abs",  "sum",  "argmin", "argmax"};

static const char *const operator_texts[] = {
    "or", "and", "not", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "^"};

const char *st_operator_text(st_operator op)
{
    return operator_texts[op];
}

const char *st_builtin_text(st_builtin builtin)
{
    return builtin == ST_BUILTIN_NONE ? "" : builtin_names[builtin - ST_BUILTIN_IF];
}

st_builtin st_builtin_find(const char *name)
{
    const size_t found = st_text_at(builtin_names, ST_COUNT(builtin_names), name);
    return found == SIZE_MAX ? ST_BUILTIN_NONE : (st_builtin)(ST_BUILTIN_IF + (int)found);
}

const char *const *st_builtin_names(size_t *count)
{
    *count = ST_COUNT(builtin_names);
    return builtin_names;
}

bool st_expr_is_reserved(const char *name)
{
    static const char *const words[] = {"and", "or", "not", "true", "false", "bool"};
    return st_has_text(words, ST_COUNT(words), name) || st_builtin_find(name) != ST_BUILTIN_NONE;
}

const st_type st_type_pure = {.kind = ST_TYPE_NUMBER,
                              .unit = {.multiplier = 1, .divisor = 1, .text = "1"}};
const st_type st_type_truth = {.kind = ST_TYPE_BOOL,
                               .unit = {.multiplier = 1, .divisor = 1, .text = "1"}};

enum { STRENGTH_NOT = 3, STRENGTH_COMPARE = 4, STRENGTH_SIGN = 7, STRENGTH_POWER = 8 };

static int binary_strength(st_operator op)
{
    switch (op) {
    case ST_OPERATOR_OR:
        return 1;
    case ST_OPERATOR_AND:
        return 2;
    case ST_OPERATOR_NOT:
        return 0; /* not between operands */
    case ST_OPERATOR_EQUAL:
    case ST_OPERATOR_UNEQUAL:
    case ST_OPERATOR_LESS:
    case ST_OPERATOR_LESS_EQUAL:
    case ST_OPERATOR_GREATER:
    case ST_OPERATOR_GREATER_EQUAL:
        return STRENGTH_COMPARE;
    case ST_OPERATOR_PLUS:
    case ST_OPERATOR_MINUS:
        return 5;
    case ST_OPERATOR_TIMES:
    case ST_OPERATOR_DIVIDE:
        return 6;
    case ST_OPERATOR_POWER:
        return STRENGTH_POWER;
    }
    return 0;
}

int st_operator_strength(const st_expr *expr)
{
    if (expr->kind == ST_EXPR_BINARY)
        return binary_strength(expr->op);
    if (expr->kind == ST_EXPR_UNARY)
        return expr->op == ST_OPERATOR_NOT ? STRENGTH_NOT : STRENGTH_SIGN;
    return STRENGTH_POWER + 1;
}

static ST_PRINTF(4, 5) st_expr *fail(st_parser *parser, size_t offset, st_status status,
                                     const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)st_vfail(parser->errors, status, st_formula_place_at(parser->formula, offset), format,
                   arguments);
    va_end(arguments);
    return NULL;
}

static st_expr *fail_memory(st_parser *parser)
{
    return fail(parser, 0, ST_ERR_MEMORY, "out of memory");
}

static st_expr *unexpected(st_parser *parser, const char *expected)
{
    const st_token *token = &parser->token;
    bool end = token->kind == ST_TOKEN_END;
    if (token->kind != ST_TOKEN_FAULT) {
        const char *found = end ? NULL
                                : st_errors_text(parser->errors, "'%.*s'",
                                                 token->length > 60 ? 60 : (int)token->length,
                                                 parser->formula->text + token->offset);
        st_fail(parser->errors, ST_ERR_SYNTAX, st_formula_place_at(parser->formula, token->offset),
                "%s" ST_FOUND "%s" ST_EXPECTED "%s",
                end ? "unexpected end of the formula" : "unexpected token in the formula",
                st_or_none(found), st_or_none(expected));
    }
    return NULL;
}

static void advance(st_parser *parser)
{
    size_t end = parser->token.offset + parser->token.length;
    parser->token = st_lexer_next(parser->formula, end, parser->errors);
}

st_expr *st_expr_make(st_arena *arena, st_expr_kind kind, size_t offset, size_t count)
{
    st_expr *expr = st_arena_alloc(arena, 1, sizeof(*expr) + count * sizeof(*expr->children));
    if (expr == NULL)
        return NULL;
    expr->kind = kind;
    expr->offset = (uint32_t)offset;
    expr->child_count = (uint32_t)count;
    st_relative_set(&expr->type_at, &st_type_pure);
    return expr;
}

void st_expr_end(st_expr *expr, size_t end)
{
    expr->length = (uint32_t)(end - expr->offset);
    expr->height = 1;
    for (size_t i = 0; i < expr->child_count; i++)
        if (st_expr_child(expr, i)->height >= expr->height)
            expr->height = (uint16_t)(st_expr_child(expr, i)->height + 1);
}

/* A node over `count` children; the span reaches from `offset` to the end of the last child. */
static st_expr *new_node(st_parser *parser, st_expr_kind kind, size_t offset, size_t count)
{
    st_expr *expr = st_expr_make(parser->arena, kind, offset, count);
    return expr != NULL ? expr : fail_memory(parser);
}

/* Sets the span's end and the height; NULL when the tree got too high. */
static st_expr *finish(st_parser *parser, st_expr *expr, size_t end)
{
    st_expr_end(expr, end);
    if (expr->height > ST_EXPR_MAX_HEIGHT)
        return fail(parser, expr->offset, ST_ERR_LIMIT,
                    "the formula chains too many operators" ST_EXPECTED
                    "at most 1000 in a row: split it into several cells");
    return expr;
}

static st_expr *parse_binary(st_parser *parser, int weakest);

/* False when out of memory. */
static bool set_unit(st_parser *parser, const st_unit *unit, st_expr *expr)
{
    if (strcmp(unit->text, st_type_pure.unit.text) == 0)
        return true;
    st_type *type = st_arena_alloc(parser->arena, 1, sizeof *type);
    if (type != NULL) {
        *type = (st_type){.kind = ST_TYPE_NUMBER, .unit = *unit};
        st_relative_set(&expr->type_at, type);
    }
    return type != NULL;
}

static st_expr *parse_number(st_parser *parser)
{
    st_token token = parser->token;
    st_expr *expr = new_node(parser, ST_EXPR_NUMBER, token.offset, 0);
    if (expr == NULL)
        return NULL;
    expr->number = token.number;
    st_relative_set(
        &expr->name_at,
        st_arena_copy(parser->arena, parser->formula->text + token.offset, token.length));
    if (st_expr_name(expr) == NULL || !set_unit(parser, &token.unit, expr))
        return fail_memory(parser);
    advance(parser);
    return finish(parser, expr, token.offset + token.length);
}

/*
 * The index behind a name, M[first, *]: lengthens the token by it and gives the name without
 * blanks, "M[first,*]". NULL for an error.
 */
static char *parse_index(st_parser *parser, st_token *name)
{
    static const char blanks[] = " \t\r\n";
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const char *text = parser->formula->text;
    size_t at = name->offset + name->length;
    size_t longest = name->length + strcspn(text + at, "]") + 1;
    char *made = st_arena_copy(parser->arena, text + name->offset, longest);
    size_t count = name->length;
    if (made == NULL) {
        (void)fail_memory(parser);
        return NULL;
    }
    do {
        made[count++] = text[at++];
        at += strspn(text + at, blanks);
        size_t length = text[at] == '*' ? 1 : strspn(text + at, letters);
        if (length == 0) {
            (void)fail(parser, at, ST_ERR_SYNTAX,
                       "invalid index" ST_EXPECTED
                       "a value of an enumeration, the name of one, or '*'");
            return NULL;
        }
        memcpy(made + count, text + at, length);
        count += length;
        at += length + strspn(text + at + length, blanks);
    } while (text[at] == ',');
    if (text[at] != ']') {
        (void)fail(parser, at, ST_ERR_SYNTAX, "unclosed index" ST_EXPECTED "',' or ']'");
        return NULL;
    }
    made[count] = ']';
    made[count + 1] = '\0';
    name->length = at + 1 - name->offset;
    parser->formula->indexed = true;
    return made;
}

static st_expr *parse_name(st_parser *parser)
{
    st_token token = parser->token;
    const char *source = parser->formula->text + token.offset;
    char *text = source[token.length] == '[' ? parse_index(parser, &token)
                                             : st_arena_copy(parser->arena, source, token.length);
    if (text == NULL)
        return source[token.length] == '[' ? NULL : fail_memory(parser);
    parser->token = token;
    advance(parser);
    if (parser->token.kind == ST_TOKEN_OPEN) {
        st_expr *arguments[ST_EXPR_MAX_ARGUMENTS];
        size_t count = 0;
        advance(parser); /* the parenthesis */
        while (parser->token.kind != ST_TOKEN_CLOSE || count > 0) {
            if (count == ST_EXPR_MAX_ARGUMENTS)
                return fail(parser, parser->token.offset, ST_ERR_LIMIT,
                            "the call has too many arguments" ST_EXPECTED "at most 144");
            arguments[count] = parse_binary(parser, 1);
            if (arguments[count] == NULL)
                return NULL;
            count++;
            if (parser->token.kind == ST_TOKEN_CLOSE)
                break;
            if (parser->token.kind != ST_TOKEN_COMMA)
                return unexpected(parser, "',' or ')' in the call's arguments");
            advance(parser);
        }
        size_t end = parser->token.offset + parser->token.length;
        advance(parser);
        st_expr *argument_expr = new_node(parser, ST_EXPR_CALL, token.offset, count);
        if (argument_expr == NULL)
            return NULL;
        for (size_t i = 0; i < count; i++)
            st_relative_set(&argument_expr->children[i], arguments[i]);
        st_relative_set(&argument_expr->name_at, text);
        argument_expr->builtin = st_builtin_find(text);
        return finish(parser, argument_expr, end);
    }
    bool truth = strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
    st_expr *expr = new_node(parser, truth ? ST_EXPR_BOOL : ST_EXPR_NAME, token.offset, 0);
    if (expr == NULL)
        return NULL;
    st_relative_set(&expr->name_at, text);
    expr->operator_offset = (uint32_t)token.offset;
    expr->name_length = (uint32_t)token.length;
    expr->number = truth && text[0] == 't' ? 1.0 : 0.0;
    if (truth)
        st_relative_set(&expr->type_at, &st_type_truth);
    return finish(parser, expr, token.offset + token.length);
}

static st_expr *parse_group(st_parser *parser)
{
    size_t open = parser->token.offset;
    advance(parser);
    st_expr *expr = parse_binary(parser, 1);
    if (expr == NULL)
        return NULL;
    if (parser->token.kind == ST_TOKEN_END)
        return fail(parser, open, ST_ERR_SYNTAX, "unclosed parenthesis" ST_EXPECTED "')'");
    if (parser->token.kind != ST_TOKEN_CLOSE)
        return unexpected(parser, "an operator or ')'");
    /* The span grows over the parentheses, so that a quoted operand reads as it was written. */
    expr->offset = (uint32_t)open;
    expr->length = (uint32_t)(parser->token.offset + parser->token.length - open);
    advance(parser);
    return expr;
}

static st_expr *parse_prefix(st_parser *parser)
{
    st_token token = parser->token;
    bool negation = token.op == ST_OPERATOR_NOT;
    advance(parser);
    /* -x^2 is -(x^2); not binds weaker than a comparison. */
    st_expr *operand = parse_binary(parser, negation ? STRENGTH_NOT : STRENGTH_SIGN);
    if (operand == NULL)
        return NULL;
    st_expr *expr = new_node(parser, ST_EXPR_UNARY, token.offset, 1);
    if (expr == NULL)
        return NULL;
    expr->op = token.op;
    st_relative_set(&expr->children[0], operand);
    return finish(parser, expr, st_expr_stop(operand));
}

static st_expr *join(st_parser *parser, st_expr *left, const st_token *op, st_expr *right)
{
    st_expr *expr = new_node(parser, ST_EXPR_BINARY, left->offset, 2);
    if (expr == NULL)
        return NULL;
    expr->op = op->op;
    expr->operator_offset = (uint32_t)op->offset;
    st_relative_set(&expr->children[0], left);
    st_relative_set(&expr->children[1], right);
    return finish(parser, expr, st_expr_stop(right));
}

/* Parses operands joined by operators of at least strength `weakest`. */
static st_expr *parse_binary(st_parser *parser, int weakest)
{
    if (parser->nesting >= ST_EXPR_MAX_NESTING) {
        (void)fail(parser, parser->token.offset, ST_ERR_LIMIT,
                   "the formula is nested too deep" ST_EXPECTED
                   "at most 200 levels: split it into several cells");
        return NULL;
    }
    parser->nesting++;
    st_expr *left = NULL;
    switch (parser->token.kind) {
    case ST_TOKEN_NUMBER:
        left = parse_number(parser);
        break;
    case ST_TOKEN_NAME:
        left = parse_name(parser);
        break;
    case ST_TOKEN_OPEN:
        left = parse_group(parser);
        break;
    case ST_TOKEN_OPERATOR:
        if (parser->token.op == ST_OPERATOR_MINUS || parser->token.op == ST_OPERATOR_NOT) {
            left = parse_prefix(parser);
            break;
        }
        left = unexpected(parser, "a number, a name or '('");
        break;
    case ST_TOKEN_END:
    case ST_TOKEN_CLOSE:
    case ST_TOKEN_COMMA:
    case ST_TOKEN_FAULT:
        left = unexpected(parser, "a number, a name or '('");
        break;
    }
    while (left != NULL && parser->token.kind == ST_TOKEN_OPERATOR) {
        st_token op = parser->token;
        int strength = binary_strength(op.op);
        if (strength == 0 || strength < weakest)
            break;
        advance(parser);
        /* ^ groups from the right, everything else from the left. */
        st_expr *right =
            parse_binary(parser, strength == STRENGTH_POWER ? STRENGTH_SIGN : strength + 1);
        if (right == NULL) {
            left = NULL;
            break;
        }
        left = join(parser, left, &op, right);
        if (left != NULL && strength == STRENGTH_COMPARE &&
            parser->token.kind == ST_TOKEN_OPERATOR &&
            binary_strength(parser->token.op) == STRENGTH_COMPARE)
            left = fail(parser, parser->token.offset, ST_ERR_SYNTAX,
                        "comparisons cannot be chained" ST_EXPECTED "'a < b and b < c'");
    }
    parser->nesting--;
    return left;
}

st_status st_expr_parse(st_formula *formula, st_arena *arena, st_errors *errors)
{
    st_parser parser = {.formula = formula, .arena = arena, .errors = errors};
    if (formula->length == 0) {
        (void)fail(&parser, 0, ST_ERR_SYNTAX, "the formula is empty" ST_EXPECTED "an expression");
        return ST_ERR_SYNTAX;
    }
    if (formula->length > ST_EXPR_MAX_BYTES) {
        (void)fail(&parser, 0, ST_ERR_LIMIT,
                   "the formula is too long" ST_EXPECTED "at most 64 KiB");
        return ST_ERR_LIMIT;
    }
    parser.token = st_lexer_next(formula, 0, errors);
    st_expr *result = parse_binary(&parser, 1);
    if (result == NULL)
        return ST_ERR_SYNTAX;
    if (parser.token.kind == ST_TOKEN_CLOSE) {
        (void)fail(&parser, parser.token.offset, ST_ERR_SYNTAX,
                   "unmatched closing parenthesis in the formula");
        return ST_ERR_SYNTAX;
    }
    if (parser.token.kind != ST_TOKEN_END) {
        (void)unexpected(&parser, "an operator");
        return ST_ERR_SYNTAX;
    }
    formula->expr = result;
    return ST_OK;
}
