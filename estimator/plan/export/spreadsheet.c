/* SPDX-License-Identifier: Apache-2.0 */
/* A sheet as spreadsheet formulas: names, cells, checks; see spreadsheet.h. */
#include "export/spreadsheet.h"

#include "base/memory.h"
#include "base/number.h"
#include "export/cell_names.h"
#include "program/session.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Against functions that call functions twice each. */
enum {
    ST_LIVE_MAX_WORK = 500000,       /* nodes that are inlined as text */
    ST_LIVE_MAX_LOWERED = 100000000, /* nodes looked at to find values */
    ST_LIVE_MAX_PARTS = 100000,      /* a tenth of the rows of a spreadsheet */
    ST_LIVE_RECALLED = 64            /* calls whose text is kept for reuse */
};

typedef enum st_strength {
    ST_BINDS_COMPARISON = 1,
    ST_BINDS_SUM,
    ST_BINDS_PRODUCT,
    ST_BINDS_POWER,
    ST_BINDS_SIGN, /* tighter than a power: -2^2 is 4 there */
    ST_BINDS_ATOM
} st_strength;

typedef struct st_piece {
    const char *text;
    size_t length;
    st_strength strength;
    unsigned depth;
    bool may_fail;
    bool single;       /* a name or a literal: nothing is gained by a cell of its own */
    const char *joins; /* "AND" or "OR": a plain call of that, which takes more operands */
} st_piece;

/* The context of a tree: a cell or check, or a function with these arguments. */
typedef struct st_piece_context {
    const char *formula;
    const st_sheet_function *function; /* NULL: none */
    const st_piece *arguments;
    st_scope values;
} st_piece_context;

/* A call that was put in place, by the graph's number of its value. */
typedef struct st_recent {
    uint32_t key;
    st_piece piece;
} st_recent;

typedef struct st_translator {
    const st_sheet *sheet;
    st_session session;
    st_arena *arena;
    st_live_sheet *live;
    st_cell_names names;
    bool *may_fail;      /* per cell */
    st_live *owner;      /* the cell or check at work */
    size_t first_part;   /* of the owner */
    uint32_t *part_keys; /* the graph's value of every part */
    size_t key_capacity;
    st_recent recent[ST_LIVE_RECALLED]; /* of the owner */
    size_t recent_next;
    size_t work;
    size_t lowered;
    bool failed; /* out of memory */
    bool too_large;
} st_translator;

static st_piece translate(st_translator *own, const st_expr *expr, const st_piece_context *where);

/* What a call reads, one entry per argument. */
typedef struct st_call_columns {
    const char **labels;
    const char **formulas;
    const st_type **types;
    double *values;
} st_call_columns;

static const st_piece piece_none = {
    .text = "NA()", .length = 4, .strength = ST_BINDS_ATOM, .may_fail = true};

static st_piece finish(st_translator *own, const char *text, st_piece made)
{
    if (text == NULL) {
        own->failed = true;
        return piece_none;
    }
    made.text = text;
    made.length = strlen(text);
    return made;
}

static st_piece piece_single(st_translator *own, const char *text)
{
    return finish(own, text, (st_piece){.strength = ST_BINDS_ATOM, .single = true});
}

/* Decimal digits that spreadsheets read of a number in a formula. */
enum { READ_DIGITS = 15, REST_DIGITS = 6 };

static void raise_exponent(char *text)
{
    for (char *c = text; *c != '\0'; c++)
        *c = *c == 'e' ? 'E' : *c;
}

/* A number of more digits is the sum of two that have fewer. */
static st_piece piece_number(st_translator *own, double value)
{
    char text[ST_QUANTITY_TEXT];
    char rest[ST_QUANTITY_TEXT];
    (void)st_number_format(value, text, sizeof(text));
    raise_exponent(text);
    size_t digits = 0;
    for (const char *c = text; *c != '\0' && *c != 'E'; c++)
        digits += *c != '.' && (digits > 0 || *c != '0') ? 1 : 0;
    double most = value;
    (void)st_number_print('e', READ_DIGITS - 1, value, rest, sizeof(rest));
    if (digits <= READ_DIGITS ||
        st_number_parse(rest, strlen(rest), (st_place){0}, &most, NULL) != ST_OK || most == value)
        return piece_single(own, st_arena_copy(own->arena, text, strlen(text)));
    (void)st_number_format(most, text, sizeof(text));
    (void)st_number_print('g', REST_DIGITS, fabs(value - most), rest, sizeof(rest));
    raise_exponent(text);
    raise_exponent(rest);
    return piece_single(
        own, st_arena_printf(own->arena, "(%s%s%s)", text, value < most ? "-" : "+", rest));
}

static unsigned deepest(const st_piece *operands, size_t count)
{
    unsigned depth = 0;
    for (size_t i = 0; i < count; i++)
        depth = operands[i].depth > depth ? operands[i].depth : depth;
    return depth;
}

static bool any_may_fail(const st_piece *operands, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any = any || operands[i].may_fail;
    return any;
}

static st_piece piece_call(st_translator *own, const char *name, const st_piece *operands,
                           size_t count)
{
    st_buffer text = {0};
    st_buffer_printf(&text, "%s(", name);
    for (size_t i = 0; i < count; i++)
        st_buffer_printf(&text, "%s%s", i == 0 ? "" : ",", operands[i].text);
    st_buffer_text(&text, ")");
    const char *copy = text.failed ? NULL : st_arena_copy(own->arena, text.data, text.length);
    st_buffer_free(&text);
    return finish(own, copy,
                  (st_piece){.strength = ST_BINDS_ATOM,
                             .depth = deepest(operands, count) + 1,
                             .may_fail = any_may_fail(operands, count)});
}

static st_piece infix(st_translator *own, const char *sign, st_strength binds,
                      const st_piece *operands)
{
    const st_piece *a = &operands[0];
    const st_piece *b = &operands[1];
    bool left = a->strength < binds ||
                (binds == ST_BINDS_COMPARISON && a->strength == ST_BINDS_COMPARISON) ||
                (binds == ST_BINDS_POWER && a->strength != ST_BINDS_ATOM);
    bool right = b->strength <= binds || b->text[0] == '-';
    const char *text =
        st_arena_printf(own->arena, "%s%s%s%s%s%s%s", left ? "(" : "", a->text, left ? ")" : "",
                        sign, right ? "(" : "", b->text, right ? ")" : "");
    return finish(own, text,
                  (st_piece){.strength = binds,
                             .depth = deepest(operands, 2) + (left || right ? 1 : 0),
                             .may_fail = any_may_fail(operands, 2)});
}

/* "IF(condition,first,second)", where `decided` is what `and` and `or` are once they are. */
static st_piece choose(st_translator *own, const st_piece *condition, bool both,
                       const st_piece *rest)
{
    const st_piece decided = piece_single(own, both ? "FALSE" : "TRUE");
    const st_piece parts[] = {*condition, both ? *rest : decided, both ? decided : *rest};
    return piece_call(own, "IF", parts, 3);
}

static bool is_enumeration(const st_type *type)
{
    return type->kind == ST_TYPE_ENUM && type->enumeration != NULL;
}

static bool is_nonzero_literal(const st_expr *expr)
{
    return expr->kind == ST_EXPR_NUMBER && expr->number != 0.0;
}

static st_piece piece_binary(st_translator *own, const st_expr *expr, const st_piece *operands)
{
    st_piece whole;
    switch (expr->op) {
    case ST_OPERATOR_OR:
    case ST_OPERATOR_AND: {
        /* A false operand decides an `and` and a true one an `or`, whatever the other is. */
        bool both = expr->op == ST_OPERATOR_AND;
        const st_piece *a = &operands[0];
        const st_piece *b = &operands[1];
        if (!a->may_fail && !b->may_fail) {
            /* What does not fail goes to AND and OR, which take any number of operands. */
            const char *name = both ? "AND" : "OR";
            const st_piece *join_first = &operands[0];
            st_piece joined;
            if (join_first->joins != NULL && strcmp(join_first->joins, name) == 0)
                joined = finish(
                    own,
                    st_arena_printf(own->arena, "%.*s,%s)", (int)join_first->length - 1,
                                    join_first->text, operands[1].text),
                    (st_piece){.strength = ST_BINDS_ATOM, .depth = deepest(operands, 2) + 1});
            else
                joined = piece_call(own, name, operands, 2);
            joined.joins = name;
            return joined;
        }
        if (!a->may_fail || !b->may_fail)
            return a->may_fail ? choose(own, b, both, a) : choose(own, a, both, b);
        const st_piece safe[] = {*a, piece_single(own, both ? "TRUE" : "FALSE")};
        const st_piece first = piece_call(own, "IFERROR", safe, 2);
        const st_piece rest = choose(own, b, both, a);
        return choose(own, &first, both, &rest);
    }
    case ST_OPERATOR_PLUS:
        return infix(own, "+", ST_BINDS_SUM, operands);
    case ST_OPERATOR_MINUS:
        return infix(own, "-", ST_BINDS_SUM, operands);
    case ST_OPERATOR_TIMES:
        return infix(own, "*", ST_BINDS_PRODUCT, operands);
    case ST_OPERATOR_DIVIDE:
        whole = infix(own, "/", ST_BINDS_PRODUCT, operands);
        whole.may_fail = whole.may_fail || !is_nonzero_literal(st_expr_child(expr, 1));
        return whole;
    case ST_OPERATOR_POWER:
        whole = infix(own, "^", ST_BINDS_POWER, operands);
        whole.may_fail = true;
        return whole;
    default: {
        static const char *const signs[] = {
            [ST_OPERATOR_EQUAL] = "=",   [ST_OPERATOR_UNEQUAL] = "<>",
            [ST_OPERATOR_LESS] = "<",    [ST_OPERATOR_LESS_EQUAL] = "<=",
            [ST_OPERATOR_GREATER] = ">", [ST_OPERATOR_GREATER_EQUAL] = ">="};
        const st_type *type = st_expr_type(st_expr_child(expr, 0));
        if (is_enumeration(type) && st_live_is_exact(own->live, type->enumeration)) {
            st_piece equal = piece_call(own, "EXACT", operands, 2);
            return expr->op == ST_OPERATOR_EQUAL ? equal : piece_call(own, "NOT", &equal, 1);
        }
        return infix(own, signs[expr->op], ST_BINDS_COMPARISON, operands);
    }
    }
}

static st_piece piece_negate(st_translator *own, const st_piece *operand)
{
    bool group = operand->strength != ST_BINDS_ATOM;
    return finish(
        own,
        st_arena_printf(own->arena, "-%s%s%s", group ? "(" : "", operand->text, group ? ")" : ""),
        (st_piece){.strength = ST_BINDS_SIGN,
                   .depth = operand->depth + (group ? 1 : 0),
                   .may_fail = operand->may_fail});
}

static st_piece piece_builtin(st_translator *own, const st_expr *expr, const st_piece *operands)
{
    static const char *const names[] = {
        [ST_BUILTIN_NONE] = "",         [ST_BUILTIN_IF] = "IF",     [ST_BUILTIN_MIN] = "MIN",
        [ST_BUILTIN_MAX] = "MAX",       [ST_BUILTIN_FLOOR] = "INT", [ST_BUILTIN_CEIL] = "INT",
        [ST_BUILTIN_ROUND] = "ROUND",   [ST_BUILTIN_SQRT] = "SQRT", [ST_BUILTIN_LOG2] = "LOG",
        [ST_BUILTIN_LOG] = "LN",        [ST_BUILTIN_EXP] = "EXP",   [ST_BUILTIN_ABS] = "ABS",
        [ST_BUILTIN_LGAMMA] = "GAMMALN"};
    if (expr->builtin == ST_BUILTIN_ARGMAX || expr->builtin == ST_BUILTIN_ARGMIN) {
        /* IF(a>=MAX(b,c),"first",IF(b>=c,"middle","last")): the first of the largest. */
        bool largest = expr->builtin == ST_BUILTIN_ARGMAX;
        size_t i = expr->child_count - 1;
        const char *const *values = st_expr_type(expr)->enumeration->values;
        st_piece place = piece_single(own, st_arena_printf(own->arena, "\"%s\"", values[i]));
        while (i-- > 0 && !own->failed) {
            size_t rest = expr->child_count - i - 1;
            const st_piece pair[] = {operands[i], rest == 1
                                                      ? operands[i + 1]
                                                      : piece_call(own, largest ? "MAX" : "MIN",
                                                                   operands + i + 1, rest)};
            const st_piece parts[] = {
                infix(own, largest ? ">=" : "<=", ST_BINDS_COMPARISON, pair),
                piece_single(own, st_arena_printf(own->arena, "\"%s\"", values[i])), place};
            place = piece_call(own, "IF", parts, 3);
        }
        return place;
    }
    bool fails = expr->builtin == ST_BUILTIN_SQRT || expr->builtin == ST_BUILTIN_LOG2 ||
                 expr->builtin == ST_BUILTIN_LOG || expr->builtin == ST_BUILTIN_EXP ||
                 expr->builtin == ST_BUILTIN_LGAMMA;
    st_piece whole;
    if (expr->builtin == ST_BUILTIN_ROUND || expr->builtin == ST_BUILTIN_LOG2) {
        const st_piece pair[] = {operands[0],
                                 piece_single(own, expr->builtin == ST_BUILTIN_ROUND ? "0" : "2")};
        whole = piece_call(own, names[expr->builtin], pair, 2);
    } else if (expr->builtin == ST_BUILTIN_CEIL) {
        /* CEILING differs between spreadsheets below zero; INT rounds down everywhere. */
        const st_piece negative = piece_negate(own, operands);
        const st_piece lower = piece_call(own, "INT", &negative, 1);
        whole = piece_negate(own, &lower);
    } else {
        whole = piece_call(own, names[expr->builtin], operands, expr->child_count);
    }
    whole.may_fail = whole.may_fail || fails;
    return whole;
}

bool st_live_is_exact(const st_live_sheet *live, const st_enum *enumeration)
{
    return live->exact[enumeration - live->enums];
}

static uint32_t value_number(st_translator *own, const st_expr *expr, const st_piece_context *where)
{
    uint32_t value = st_session_lower(&own->session, expr, where->values);
    own->lowered += own->session.lowering.work;
    own->too_large =
        own->too_large || own->lowered > ST_LIVE_MAX_LOWERED || own->session.lowering.too_large;
    own->failed = own->failed || own->session.failed;
    return value;
}

/* --- parts ----------------------------------------------------------------------------------- */

/* A part with that value among those from `first` on, or NULL. */
static const st_live *find_part(const st_translator *own, size_t first, uint32_t key)
{
    for (size_t i = first; i < own->live->part_count; i++)
        if (own->part_keys[i] == key)
            return &own->live->parts[i];
    return NULL;
}

static st_live *add_part(st_translator *own, uint32_t key, const char *wanted)
{
    st_live_sheet *live = own->live;
    size_t count = live->part_count;
    if (count >= ST_LIVE_MAX_PARTS) {
        own->too_large = true;
        return NULL;
    }
    st_live *parts =
        st_arena_grow(own->arena, live->parts, sizeof(*parts), count + 1, &live->part_capacity);
    uint32_t *keys =
        st_arena_grow(own->arena, own->part_keys, sizeof(*keys), count + 1, &own->key_capacity);
    const char *name = wanted != NULL ? st_cell_names_add(&own->names, wanted) : NULL;
    if (parts == NULL || keys == NULL || name == NULL) {
        own->failed = true;
        return NULL;
    }
    live->parts = parts;
    own->part_keys = keys;
    keys[count] = key;
    parts[count] = (st_live){.name = name, .owner = own->owner->name};
    live->part_count++;
    return &parts[count];
}

static st_piece use_part(st_translator *own, const st_live *part, bool may_fail)
{
    st_piece used = piece_single(own, part->name);
    used.may_fail = may_fail;
    return used;
}

static const char *text_of(st_translator *own, const st_expr *expr, const st_piece_context *where)
{
    return st_arena_printf(own->arena, "%.*s%s%s", (int)expr->length, where->formula + expr->offset,
                           where->function != NULL ? "  in " : "",
                           where->function != NULL ? where->function->name : "");
}

/* Gives a st_piece a cell of its own. */
static st_piece take_out(st_translator *own, const st_expr *expr, const st_piece_context *where,
                         st_piece whole)
{
    uint32_t key = value_number(own, expr, where);
    const st_live *known = find_part(own, own->first_part, key);
    if (known != NULL)
        return use_part(own, known, whole.may_fail);
    const char *wanted = st_arena_printf(own->arena, "%s_part%zu", own->owner->name,
                                         own->live->part_count - own->first_part + 1);
    st_live *part = add_part(own, key, wanted);
    if (part == NULL)
        return piece_none;
    part->formula = whole.text;
    part->text = text_of(own, expr, where);
    part->type = st_expr_type(expr);
    part->value = st_session_value_of(&own->session, key);
    return use_part(own, part, whole.may_fail);
}

/* Takes operands out until the rest is neither too long nor too deep. */
static void shorten(st_translator *own, const st_expr *expr, const st_piece_context *where,
                    st_piece *operands)
{
    size_t count = expr->child_count;
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (operands[i].depth > ST_LIVE_DEPTH)
            operands[i] = take_out(own, st_expr_child(expr, i), where, operands[i]);
        total += operands[i].length;
    }
    while (total > ST_LIVE_LENGTH) {
        size_t longest = count;
        for (size_t i = 0; i < count; i++) {
            bool longer = longest == count || operands[i].length > operands[longest].length;
            longest = !operands[i].single && longer ? i : longest;
        }
        if (longest == count || own->failed)
            return; /* names alone */
        total -= operands[longest].length;
        operands[longest] = take_out(own, st_expr_child(expr, longest), where, operands[longest]);
        total += operands[longest].length;
    }
}

/* --- functions and providers ----------------------------------------------------------------- */

/* How often a function's body names an argument, counted up to two. */
static unsigned uses_of(const st_expr *body, uint32_t argument)
{
    if (body->kind == ST_EXPR_NAME)
        return body->name_kind == ST_NAME_ARGUMENT && body->index == argument ? 1 : 0;
    unsigned uses = 0;
    for (uint32_t i = 0; i < body->child_count && uses < 2; i++)
        uses += uses_of(st_expr_child(body, i), argument);
    return uses;
}

/* NULL when out of memory; the columns are the caller's to fill. */
static st_live_call *make_live_call(st_translator *own, const st_provider *provider,
                                    st_call_columns *columns)
{
    size_t count = provider->argument_count + 1;
    st_live_call *made = st_arena_alloc(own->arena, 1, sizeof(*made));
    columns->labels = st_arena_alloc(own->arena, count, sizeof(*columns->labels));
    columns->formulas = st_arena_alloc(own->arena, count, sizeof(*columns->formulas));
    columns->types = st_arena_alloc(own->arena, count, sizeof(*columns->types));
    columns->values = st_arena_alloc(own->arena, count, sizeof(*columns->values));
    if (made == NULL || columns->labels == NULL || columns->formulas == NULL ||
        columns->types == NULL || columns->values == NULL) {
        own->failed = true;
        return NULL;
    }
    *made = (st_live_call){provider, columns->labels, columns->formulas, columns->types,
                           columns->values};
    return made;
}

/* A call that a provider answers: its value, with what it was computed from. */
static st_piece take_value(st_translator *own, const st_expr *expr, const st_piece_context *where,
                           const st_piece *arguments)
{
    const st_sheet_function *function = &own->sheet->functions[expr->index];
    uint32_t key = value_number(own, expr, where);
    double value = st_session_value_of(&own->session, key);
    own->owner->with = own->session.lowering.function_providers[expr->index]->source;
    /* Other cells' parts are taken only where they read nothing: else a formula could come to read
     * itself by a detour that a fold of the graph hides. */
    const st_live *known = find_part(own, expr->child_count == 0 ? 0 : own->first_part, key);
    if (known != NULL)
        return use_part(own, known, !isfinite(value));
    st_call_columns columns;
    st_live_call *made =
        make_live_call(own, own->session.lowering.function_providers[expr->index], &columns);
    st_live *part = made != NULL ? add_part(own, key, function->name) : NULL;
    if (part == NULL)
        return piece_none;
    for (size_t i = 0; i < made->provider->argument_count; i++) {
        st_read read = st_provider_read(own->sheet, function, made->provider, i);
        columns.labels[i] = read.name;
        columns.types[i] = read.type;
        if (read.kind == ST_READ_ARGUMENT) {
            const st_expr *child = st_expr_child(expr, read.index);
            columns.formulas[i] = arguments[read.index].text;
            columns.values[i] = st_session_value_of(&own->session, value_number(own, child, where));
        } else {
            /* What a provider reads of the sheet itself. */
            bool is_cell = read.kind == ST_READ_CELL;
            columns.formulas[i] =
                is_cell ? own->live->cells[read.index].name : own->live->input_names[read.index];
            columns.values[i] = is_cell ? st_session_cell(&own->session, read.index)
                                        : own->session.inputs[read.index];
        }
    }
    part->text = text_of(own, expr, where);
    part->type = &function->type;
    part->call = made;
    part->value = value;
    return use_part(own, part, !isfinite(value));
}

static st_piece translate_call(st_translator *own, const st_expr *expr,
                               const st_piece_context *where, st_piece *operands)
{
    if (expr->builtin != ST_BUILTIN_NONE)
        return piece_builtin(own, expr, operands);
    if (own->session.lowering.function_providers[expr->index] != NULL)
        return take_value(own, expr, where, operands);
    uint32_t key = value_number(own, expr, where);
    /* A call with the same value that was put in place not long ago. */
    const st_piece *known = NULL;
    for (size_t i = 0; i < ST_LIVE_RECALLED; i++)
        if (own->recent[i].key == key && own->recent[i].piece.text != NULL) {
            known = &own->recent[i].piece;
            break;
        }
    if (known != NULL)
        return *known;
    st_piece whole;
    const st_sheet_function *function = &own->sheet->functions[expr->index];
    uint32_t *values = st_arena_alloc(own->arena, expr->child_count + 1u, sizeof(*values));
    if (values == NULL || function->expr == NULL) {
        own->failed = own->failed || values == NULL;
        whole = piece_none;
    } else {
        for (uint32_t i = 0; i < expr->child_count; i++) {
            bool twice = operands[i].length > ST_LIVE_SHORT && !operands[i].single &&
                         uses_of(function->expr, i) > 1;
            if (twice)
                operands[i] = take_out(own, st_expr_child(expr, i), where, operands[i]);
            values[i] = value_number(own, st_expr_child(expr, i), where);
        }
        st_piece_context inside = {.formula = function->formula,
                                   .function = function,
                                   .arguments = operands,
                                   .values = values};
        whole = translate(own, function->expr, &inside);
    }
    own->recent[own->recent_next] = (st_recent){key, whole};
    own->recent_next = (own->recent_next + 1) % ST_LIVE_RECALLED;
    return whole;
}

/* --- trees ----------------------------------------------------------------------------------- */

static st_piece translate(st_translator *own, const st_expr *expr, const st_piece_context *where)
{
    own->work++;
    own->too_large = own->too_large || own->work > ST_LIVE_MAX_WORK;
    if (own->failed || own->too_large)
        return piece_none;
    switch (expr->kind) {
    case ST_EXPR_NUMBER:
        return piece_number(own, expr->number);
    case ST_EXPR_BOOL:
        return piece_single(own, expr->number == 0.0 ? "FALSE" : "TRUE");
    case ST_EXPR_NAME: {
        st_piece named = piece_none;
        switch (expr->name_kind) {
        case ST_NAME_INPUT:
            return piece_single(own, own->live->input_names[expr->index]);
        case ST_NAME_CELL:
            named = piece_single(own, own->live->cells[expr->index].name);
            named.may_fail = own->may_fail[expr->index];
            return named;
        case ST_NAME_ARGUMENT:
            assert(where->arguments != NULL); /* the checker finds arguments in functions alone */
            return where->arguments[expr->index];
        case ST_NAME_VALUE:
            return piece_single(own, st_arena_printf(own->arena, "\"%s\"", st_expr_name(expr)));
        case ST_NAME_FUNCTION:
        case ST_NAME_UNKNOWN:
            break;
        }
        return named;
    }
    default: {
        st_piece *operands = st_arena_alloc(own->arena, expr->child_count + 1u, sizeof(*operands));
        if (operands == NULL) {
            own->failed = true;
            return piece_none;
        }
        for (uint32_t i = 0; i < expr->child_count; i++)
            operands[i] = translate(own, st_expr_child(expr, i), where);
        shorten(own, expr, where, operands);
        switch (expr->kind) {
        case ST_EXPR_UNARY:
            return expr->op == ST_OPERATOR_NOT ? piece_call(own, "NOT", operands, 1)
                                               : piece_negate(own, operands);
        case ST_EXPR_BINARY:
            return piece_binary(own, expr, operands);
        default:
            return translate_call(own, expr, where, operands);
        }
    }
    }
}

static const st_type truth = {.kind = ST_TYPE_BOOL};

static bool differs_in_case_alone(const st_enum *enumeration, st_arena *arena, bool *failed)
{
    st_names lower = {.arena = arena};
    for (size_t i = 0; i < enumeration->count && !*failed; i++) {
        size_t index = 0;
        const char *value = st_cell_name_lower(arena, enumeration->values[i]);
        if (value != NULL && st_names_get(&lower, value, &index))
            return true;
        *failed = value == NULL || !st_names_put(&lower, value, i);
    }
    return false;
}

/* Inputs come first: of names that differ in case alone, theirs stay as they are. */
static void name_everything(st_translator *own)
{
    const st_sheet *sheet = own->sheet;
    st_live_sheet *live = own->live;
    const char **inputs = st_arena_alloc(own->arena, sheet->input_count + 1, sizeof(*inputs));
    live->cells = st_arena_alloc(own->arena, sheet->cell_count + 1, sizeof(*live->cells));
    live->checks = st_arena_alloc(own->arena, sheet->check_count + 1, sizeof(*live->checks));
    own->may_fail = st_arena_alloc(own->arena, sheet->cell_count + 1, sizeof(*own->may_fail));
    if (inputs == NULL || live->cells == NULL || live->checks == NULL || own->may_fail == NULL) {
        own->failed = true;
        return;
    }
    live->input_names = inputs;
    for (size_t i = 0; i < sheet->input_count; i++) {
        inputs[i] = st_cell_names_add(&own->names, sheet->inputs[i].name);
        own->failed = own->failed || inputs[i] == NULL;
    }
    for (size_t i = 0; i < sheet->cell_count; i++) {
        live->cells[i] = (st_live){.name = st_cell_names_add(&own->names, sheet->cells[i].name),
                                   .type = &sheet->cells[i].type};
        own->failed = own->failed || live->cells[i].name == NULL;
    }
    for (size_t i = 0; i < sheet->check_count; i++) {
        const char *wanted = st_arena_printf(own->arena, "check_%zu", i + 1);
        live->checks[i] = (st_live){
            .name = wanted != NULL ? st_cell_names_add(&own->names, wanted) : NULL, .type = &truth};
        own->failed = own->failed || live->checks[i].name == NULL;
    }
}

static void begin_owner(st_translator *own, st_live *live)
{
    own->owner = live;
    own->first_part = own->live->part_count;
    memset(own->recent, 0, sizeof(own->recent));
}

static void translate_cell(st_translator *own, size_t index)
{
    const st_provider *provider = own->session.lowering.cell_providers[index];
    const st_sheet_cell *cell = &own->sheet->cells[index];
    st_live *live = &own->live->cells[index];
    live->value = st_session_cell(&own->session, index);
    if (provider != NULL) {
        const st_sheet *sheet = own->sheet;
        st_call_columns columns;
        st_live_call *made = make_live_call(own, provider, &columns);
        for (size_t i = 0; made != NULL && i < provider->argument_count; i++) {
            size_t value_index = 0;
            bool is_cell =
                st_names_get(&sheet->cell_names, provider->argument_names[i], &value_index);
            bool known = is_cell || st_names_get(&sheet->input_names, provider->argument_names[i],
                                                 &value_index);
            columns.labels[i] = provider->argument_names[i];
            columns.formulas[i] = !known    ? "NA()"
                                  : is_cell ? own->live->cells[value_index].name
                                            : own->live->input_names[value_index];
            columns.types[i] =
                is_cell ? &sheet->cells[value_index].type : &sheet->inputs[value_index].type;
            columns.values[i] = is_cell ? st_session_cell(&own->session, value_index)
                                        : own->session.inputs[value_index];
        }
        live->call = made;
        own->may_fail[index] = !isfinite(live->value);
        return;
    }
    if (own->session.lowering.cells[index] == ST_NO_VALUE) {
        own->may_fail[index] = true;
        return;
    }
    begin_owner(own, live);
    st_piece_context where = {.formula = cell->formula};
    st_piece whole = translate(own, cell->expr, &where);
    live->formula = whole.text;
    own->may_fail[index] = whole.may_fail;
}

static st_status outcome(const st_translator *own, st_errors *errors)
{
    if (own->too_large)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = own->sheet->file},
                       "the sheet is too large after its functions are expanded");
    if (own->failed || own->session.failed)
        return st_out_of_memory(errors);
    return ST_OK;
}

st_status st_live_translate(const st_program *program, const double *inputs, st_arena *arena,
                            st_live_sheet *live, st_errors *errors)
{
    st_translator own = {
        .sheet = program->sheet, .arena = arena, .live = live, .names = {.arena = arena}};
    *live = (st_live_sheet){0};
    st_status status = st_session_begin(&own.session, program, inputs, arena, errors);
    if (status != ST_OK)
        return status;
    own.session.lowering.work = 0;
    st_lowering_rest(&own.session.lowering);
    own.too_large = own.session.lowering.too_large;
    st_session_catch_up(&own.session);
    const st_sheet *sheet = own.sheet;
    bool *exact = st_arena_alloc(own.arena, sheet->enum_count + 1, sizeof(*exact));
    own.failed = own.failed || exact == NULL;
    for (size_t i = 0; i < sheet->enum_count && !own.failed; i++)
        exact[i] = differs_in_case_alone(&sheet->enums[i], own.arena, &own.failed);
    own.live->enums = sheet->enums;
    own.live->exact = exact;
    name_everything(&own);
    for (size_t i = 0; i < own.sheet->cell_count && outcome(&own, NULL) == ST_OK; i++)
        translate_cell(&own, own.session.lowering.order[i]);
    for (size_t i = 0; i < own.sheet->check_count && outcome(&own, NULL) == ST_OK; i++) {
        const st_sheet_check *check = &own.sheet->checks[i];
        st_live *check_live = &own.live->checks[i];
        st_piece_context where = {.formula = check->formula};
        begin_owner(&own, check_live);
        check_live->value = st_session_value(&own.session, check->expr, NULL);
        check_live->formula = translate(&own, check->expr, &where).text;
    }
    return outcome(&own, errors);
}
