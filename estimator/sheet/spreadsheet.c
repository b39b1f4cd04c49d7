/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From expression trees to spreadsheet formulas; see spreadsheet.h.
 *
 * A tree is translated from the leaves up. Every piece of text knows how tightly it binds in a
 * spreadsheet (where a sign binds tighter than a power), how deep it nests and whether it may fail:
 * AND and OR look at all of their operands there, so that operands that may fail need an IF.
 */
#include "sheet/spreadsheet.h"

#include "base/number.h"
#include "sheet/cell_names.h"
#include "sheet/session.h"

#include <math.h>
#include <string.h>

enum { MAX_WORK = 20000000 }; /* nodes, against functions that call functions twice each */

typedef enum strength {
    COMPARISON = 1,
    SUM,
    PRODUCT,
    POWER,
    SIGN, /* tighter than a power: -2^2 is 4 there */
    ATOM
} strength;

typedef struct piece {
    const char *text;
    size_t length;
    strength strength;
    unsigned depth;
    bool may_fail;
    bool single;       /* a name or a literal: nothing is gained by a cell of its own */
    const char *joins; /* "AND" or "OR": a plain call of that, which takes more operands */
} piece;

/* Where a tree stands: in a cell or check, or in a function with these arguments. */
typedef struct context {
    const char *formula;
    const st_sheet_function *function; /* NULL: none */
    const piece *arguments;
    st_scope values;
} context;

typedef struct translator {
    const st_sheet *sheet;
    st_session session;
    st_arena *arena;
    st_live_sheet *live;
    st_cell_names names;
    bool *may_fail;      /* per cell */
    const char *owner;   /* defined name of the cell or check at work */
    size_t first_part;   /* of the owner */
    uint32_t *part_keys; /* the graph's value of every part */
    size_t key_capacity;
    size_t work;
    bool failed; /* out of memory */
    bool too_large;
} translator;

static piece translate(translator *own, const st_expr *expr, const context *where);

static const piece nothing = {.text = "NA()", .length = 4, .strength = ATOM, .may_fail = true};

static piece finish(translator *own, const char *text, piece made)
{
    if (text == NULL) {
        own->failed = true;
        return nothing;
    }
    made.text = text;
    made.length = strlen(text);
    return made;
}

static piece single(translator *own, const char *text)
{
    return finish(own, text, (piece){.strength = ATOM, .single = true});
}

static uint32_t value_number(translator *own, const st_expr *expr, const context *where)
{
    uint32_t value = st_session_lower(&own->session, expr, where->values);
    own->work += own->session.lowering.work;
    own->too_large = own->too_large || own->work > MAX_WORK || own->session.lowering.too_large;
    own->failed = own->failed || own->session.failed;
    return value;
}

/* --- parts ----------------------------------------------------------------------------------- */

/* A part with that value among those from `first` on, NULL where there is none. */
static const st_live *find_part(const translator *own, size_t first, uint32_t key)
{
    for (size_t i = first; i < own->live->part_count; i++) {
        if (own->part_keys[i] == key) {
            return &own->live->parts[i];
        }
    }
    return NULL;
}

static st_live *add_part(translator *own, uint32_t key, const char *wanted)
{
    st_live_sheet *live = own->live;
    size_t count = live->part_count;
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
    parts[count] = (st_live){.name = name, .owner = own->owner};
    live->part_count++;
    return &parts[count];
}

static piece use_part(translator *own, const st_live *part, bool may_fail)
{
    piece used = single(own, part->name);
    used.may_fail = may_fail;
    return used;
}

static const char *text_of(translator *own, const st_expr *expr, const context *where)
{
    return st_arena_printf(own->arena, "%.*s%s%s", (int)expr->length, where->formula + expr->offset,
                           where->function != NULL ? "  in " : "",
                           where->function != NULL ? where->function->name : "");
}

/* Gives a piece a cell of its own. */
static piece take_out(translator *own, const st_expr *expr, const context *where, piece whole)
{
    uint32_t key = value_number(own, expr, where);
    const st_live *known = find_part(own, own->first_part, key);
    if (known != NULL) {
        return use_part(own, known, whole.may_fail);
    }
    const char *wanted = st_arena_printf(own->arena, "%s_part%zu", own->owner,
                                         own->live->part_count - own->first_part + 1);
    st_live *part = add_part(own, key, wanted);
    if (part == NULL) {
        return nothing;
    }
    part->formula = whole.text;
    part->text = text_of(own, expr, where);
    part->type = &expr->type;
    part->value = st_session_value_of(&own->session, key);
    return use_part(own, part, whole.may_fail);
}

/* Takes operands out until the rest is neither too long nor too deep. */
static void shorten(translator *own, const st_expr *expr, const context *where, piece *operands)
{
    size_t count = expr->child_count;
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (operands[i].depth > ST_LIVE_DEPTH) {
            operands[i] = take_out(own, expr->children[i], where, operands[i]);
        }
        total += operands[i].length;
    }
    while (total > ST_LIVE_LENGTH) {
        size_t longest = count;
        for (size_t i = 0; i < count; i++) {
            bool longer = longest == count || operands[i].length > operands[longest].length;
            longest = !operands[i].single && longer ? i : longest;
        }
        if (longest == count || own->failed) {
            return; /* names alone */
        }
        total -= operands[longest].length;
        operands[longest] = take_out(own, expr->children[longest], where, operands[longest]);
        total += operands[longest].length;
    }
}

/* --- operators and calls --------------------------------------------------------------------- */

static unsigned deepest(const piece *operands, size_t count)
{
    unsigned depth = 0;
    for (size_t i = 0; i < count; i++) {
        depth = operands[i].depth > depth ? operands[i].depth : depth;
    }
    return depth;
}

static bool any_may_fail(const piece *operands, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        any = any || operands[i].may_fail;
    }
    return any;
}

static piece call(translator *own, const char *name, const piece *operands, size_t count)
{
    st_buffer text = {0};
    st_buffer_printf(&text, "%s(", name);
    for (size_t i = 0; i < count; i++) {
        st_buffer_printf(&text, "%s%s", i == 0 ? "" : ",", operands[i].text);
    }
    st_buffer_text(&text, ")");
    const char *copy = text.failed ? NULL : st_arena_copy(own->arena, text.data, text.length);
    st_buffer_free(&text);
    return finish(own, copy,
                  (piece){.strength = ATOM,
                          .depth = deepest(operands, count) + 1,
                          .may_fail = any_may_fail(operands, count)});
}

static piece infix(translator *own, const char *sign, strength binds, const piece *operands)
{
    const piece *a = &operands[0];
    const piece *b = &operands[1];
    bool left = a->strength < binds || (binds == COMPARISON && a->strength == COMPARISON) ||
                (binds == POWER && a->strength != ATOM);
    bool right = b->strength <= binds || b->text[0] == '-';
    const char *text =
        st_arena_printf(own->arena, "%s%s%s%s%s%s%s", left ? "(" : "", a->text, left ? ")" : "",
                        sign, right ? "(" : "", b->text, right ? ")" : "");
    return finish(own, text,
                  (piece){.strength = binds,
                          .depth = deepest(operands, 2) + (left || right ? 1 : 0),
                          .may_fail = any_may_fail(operands, 2)});
}

/* What does not fail goes to AND and OR, which take any number of operands. */
static piece plain_join(translator *own, const char *name, const piece *operands)
{
    const piece *first = &operands[0];
    piece joined;
    if (first->joins != NULL && strcmp(first->joins, name) == 0) {
        joined = finish(own,
                        st_arena_printf(own->arena, "%.*s,%s)", (int)first->length - 1, first->text,
                                        operands[1].text),
                        (piece){.strength = ATOM, .depth = deepest(operands, 2) + 1});
    } else {
        joined = call(own, name, operands, 2);
    }
    joined.joins = name;
    return joined;
}

/* A false operand decides an `and` and a true one an `or`, whatever the other is. */
static piece join(translator *own, st_operator op, const piece *operands)
{
    bool both = op == ST_OPERATOR_AND;
    piece a = operands[0];
    piece b = operands[1];
    if (!a.may_fail && !b.may_fail) {
        return plain_join(own, both ? "AND" : "OR", operands);
    }
    if (a.may_fail && b.may_fail) {
        const piece safe[] = {a, single(own, both ? "TRUE" : "FALSE")};
        const piece inner[] = {b, both ? a : single(own, "TRUE"), both ? single(own, "FALSE") : a};
        const piece decided = single(own, both ? "FALSE" : "TRUE");
        const piece rest = call(own, "IF", inner, 3);
        const piece parts[] = {call(own, "IFERROR", safe, 2), both ? rest : decided,
                               both ? decided : rest};
        piece whole = call(own, "IF", parts, 3);
        whole.may_fail = true;
        return whole;
    }
    const piece first = a.may_fail ? b : a;
    const piece second = a.may_fail ? a : b;
    const piece parts[] = {first, both ? second : single(own, "TRUE"),
                           both ? single(own, "FALSE") : second};
    return call(own, "IF", parts, 3);
}

static bool is_enumeration(const st_type *type)
{
    return type->kind == ST_TYPE_ENUM && type->enumeration != NULL;
}

static piece compare(translator *own, const st_expr *expr, const piece *operands)
{
    static const char *const signs[] = {
        [ST_OPERATOR_EQUAL] = "=",   [ST_OPERATOR_UNEQUAL] = "<>",
        [ST_OPERATOR_LESS] = "<",    [ST_OPERATOR_LESS_EQUAL] = "<=",
        [ST_OPERATOR_GREATER] = ">", [ST_OPERATOR_GREATER_EQUAL] = ">="};
    const st_type *type = &expr->children[0]->type;
    if (is_enumeration(type) && st_live_is_exact(own->live, type->enumeration)) {
        piece equal = call(own, "EXACT", operands, 2);
        return expr->op == ST_OPERATOR_EQUAL ? equal : call(own, "NOT", &equal, 1);
    }
    return infix(own, signs[expr->op], COMPARISON, operands);
}

static bool is_nonzero_literal(const st_expr *expr)
{
    return expr->kind == ST_EXPR_NUMBER && expr->number != 0.0;
}

static piece translate_binary(translator *own, const st_expr *expr, const piece *operands)
{
    piece whole;
    switch (expr->op) {
    case ST_OPERATOR_OR:
    case ST_OPERATOR_AND:
        return join(own, expr->op, operands);
    case ST_OPERATOR_PLUS:
        return infix(own, "+", SUM, operands);
    case ST_OPERATOR_MINUS:
        return infix(own, "-", SUM, operands);
    case ST_OPERATOR_TIMES:
        return infix(own, "*", PRODUCT, operands);
    case ST_OPERATOR_DIVIDE:
        whole = infix(own, "/", PRODUCT, operands);
        whole.may_fail = whole.may_fail || !is_nonzero_literal(expr->children[1]);
        return whole;
    case ST_OPERATOR_POWER:
        whole = infix(own, "^", POWER, operands);
        whole.may_fail = true;
        return whole;
    default:
        return compare(own, expr, operands);
    }
}

static piece negate(translator *own, const piece *operand)
{
    bool group = operand->strength != ATOM;
    return finish(
        own,
        st_arena_printf(own->arena, "-%s%s%s", group ? "(" : "", operand->text, group ? ")" : ""),
        (piece){.strength = SIGN,
                .depth = operand->depth + (group ? 1 : 0),
                .may_fail = operand->may_fail});
}

static piece translate_builtin(translator *own, const st_expr *expr, const piece *operands)
{
    static const char *const names[] = {
        [ST_BUILTIN_NONE] = "",       [ST_BUILTIN_IF] = "IF",     [ST_BUILTIN_MIN] = "MIN",
        [ST_BUILTIN_MAX] = "MAX",     [ST_BUILTIN_FLOOR] = "INT", [ST_BUILTIN_CEIL] = "INT",
        [ST_BUILTIN_ROUND] = "ROUND", [ST_BUILTIN_SQRT] = "SQRT", [ST_BUILTIN_LOG2] = "LOG",
        [ST_BUILTIN_LOG] = "LN",      [ST_BUILTIN_EXP] = "EXP",   [ST_BUILTIN_ABS] = "ABS"};
    bool fails = expr->builtin == ST_BUILTIN_SQRT || expr->builtin == ST_BUILTIN_LOG2 ||
                 expr->builtin == ST_BUILTIN_LOG || expr->builtin == ST_BUILTIN_EXP;
    piece whole;
    if (expr->builtin == ST_BUILTIN_ROUND || expr->builtin == ST_BUILTIN_LOG2) {
        const piece pair[] = {operands[0],
                              single(own, expr->builtin == ST_BUILTIN_ROUND ? "0" : "2")};
        whole = call(own, names[expr->builtin], pair, 2);
    } else if (expr->builtin == ST_BUILTIN_CEIL) {
        /* CEILING differs between spreadsheets below zero; INT rounds down everywhere. */
        const piece negative = negate(own, operands);
        const piece lower = call(own, "INT", &negative, 1);
        whole = negate(own, &lower);
    } else {
        whole = call(own, names[expr->builtin], operands, expr->child_count);
    }
    whole.may_fail = whole.may_fail || fails;
    return whole;
}

/* --- functions and providers ----------------------------------------------------------------- */

/* How often a function's body names an argument, counted up to two. */
static unsigned uses_of(const st_expr *body, uint32_t argument)
{
    if (body->kind == ST_EXPR_NAME) {
        return body->name_kind == ST_NAME_ARGUMENT && body->index == argument ? 1 : 0;
    }
    unsigned uses = 0;
    for (uint32_t i = 0; i < body->child_count && uses < 2; i++) {
        uses += uses_of(body->children[i], argument);
    }
    return uses;
}

static piece put_in_place(translator *own, const st_expr *expr, const context *where,
                          piece *arguments)
{
    const st_sheet_function *function = &own->sheet->functions[expr->index];
    uint32_t *values = st_arena_alloc(own->arena, expr->child_count + 1u, sizeof(*values));
    if (values == NULL || function->expr == NULL) {
        own->failed = own->failed || values == NULL;
        return nothing;
    }
    for (uint32_t i = 0; i < expr->child_count; i++) {
        bool twice = arguments[i].length > ST_LIVE_SHORT && !arguments[i].single &&
                     uses_of(function->expr, i) > 1;
        if (twice) {
            arguments[i] = take_out(own, expr->children[i], where, arguments[i]);
        }
        values[i] = value_number(own, expr->children[i], where);
    }
    context inside = {.formula = function->formula,
                      .function = function,
                      .arguments = arguments,
                      .values = values};
    return translate(own, function->expr, &inside);
}

/* What a call reads, one entry per argument. */
typedef struct call_columns {
    const char **labels;
    const char **formulas;
    const st_type **types;
    double *values;
} call_columns;

/* NULL when out of memory; the columns are the caller's to fill. */
static st_live_call *make_call(translator *own, const st_provider *provider, call_columns *columns)
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
static piece take_value(translator *own, const st_expr *expr, const context *where,
                        const piece *arguments)
{
    const st_sheet_function *function = &own->sheet->functions[expr->index];
    uint32_t key = value_number(own, expr, where);
    double value = st_session_value_of(&own->session, key);
    /* Other cells' parts are taken only where they read nothing: else a formula could come to read
     * itself by a detour that a fold of the graph hides. */
    const st_live *known = find_part(own, expr->child_count == 0 ? 0 : own->first_part, key);
    if (known != NULL) {
        return use_part(own, known, !isfinite(value));
    }
    call_columns columns;
    st_live_call *made =
        make_call(own, own->session.lowering.function_providers[expr->index], &columns);
    st_live *part = made != NULL ? add_part(own, key, function->name) : NULL;
    if (part == NULL) {
        return nothing;
    }
    for (uint32_t i = 0; i < expr->child_count; i++) {
        columns.labels[i] = function->arguments[i].name;
        columns.types[i] = &function->arguments[i].type;
        columns.formulas[i] = arguments[i].text;
        columns.values[i] =
            st_session_value_of(&own->session, value_number(own, expr->children[i], where));
    }
    part->text = text_of(own, expr, where);
    part->type = &function->type;
    part->call = made;
    part->value = value;
    return use_part(own, part, !isfinite(value));
}

static piece translate_call(translator *own, const st_expr *expr, const context *where,
                            piece *operands)
{
    if (expr->builtin != ST_BUILTIN_NONE) {
        return translate_builtin(own, expr, operands);
    }
    return own->session.lowering.function_providers[expr->index] != NULL
               ? take_value(own, expr, where, operands)
               : put_in_place(own, expr, where, operands);
}

/* --- trees ----------------------------------------------------------------------------------- */

/* Decimal digits that spreadsheets read of a number in a formula. */
enum { READ_DIGITS = 15, REST_DIGITS = 6 };

static void raise_exponent(char *text)
{
    for (char *c = text; *c != '\0'; c++) {
        *c = *c == 'e' ? 'E' : *c;
    }
}

/* A number of more digits is the sum of two that have fewer. */
static piece translate_number(translator *own, double value)
{
    char text[ST_QUANTITY_TEXT];
    char rest[ST_QUANTITY_TEXT];
    (void)st_number_format(value, text, sizeof(text));
    raise_exponent(text);
    size_t digits = 0;
    for (const char *c = text; *c != '\0' && *c != 'E'; c++) {
        digits += *c != '.' && (digits > 0 || *c != '0') ? 1 : 0;
    }
    double most = value;
    (void)st_number_print('e', READ_DIGITS - 1, value, rest, sizeof(rest));
    if (digits <= READ_DIGITS ||
        st_number_parse(rest, strlen(rest), (st_place){0}, &most, NULL) != ST_OK || most == value) {
        return single(own, st_arena_copy(own->arena, text, strlen(text)));
    }
    (void)st_number_format(most, text, sizeof(text));
    (void)st_number_print('g', REST_DIGITS, fabs(value - most), rest, sizeof(rest));
    raise_exponent(text);
    raise_exponent(rest);
    return single(own,
                  st_arena_printf(own->arena, "(%s%s%s)", text, value < most ? "-" : "+", rest));
}

static piece translate_name(translator *own, const st_expr *expr, const context *where)
{
    piece named = nothing;
    switch (expr->name_kind) {
    case ST_NAME_INPUT:
        return single(own, own->live->input_names[expr->index]);
    case ST_NAME_CELL:
        named = single(own, own->live->cells[expr->index].name);
        named.may_fail = own->may_fail[expr->index];
        return named;
    case ST_NAME_ARGUMENT:
        return where->arguments[expr->index];
    case ST_NAME_VALUE:
        return single(own, st_arena_printf(own->arena, "\"%s\"", expr->name));
    case ST_NAME_FUNCTION:
    case ST_NAME_UNKNOWN:
        break;
    }
    return named;
}

static piece translate_node(translator *own, const st_expr *expr, const context *where)
{
    piece *operands = st_arena_alloc(own->arena, expr->child_count + 1u, sizeof(*operands));
    if (operands == NULL) {
        own->failed = true;
        return nothing;
    }
    for (uint32_t i = 0; i < expr->child_count; i++) {
        operands[i] = translate(own, expr->children[i], where);
    }
    shorten(own, expr, where, operands);
    switch (expr->kind) {
    case ST_EXPR_UNARY:
        return expr->op == ST_OPERATOR_NOT ? call(own, "NOT", operands, 1) : negate(own, operands);
    case ST_EXPR_BINARY:
        return translate_binary(own, expr, operands);
    default:
        return translate_call(own, expr, where, operands);
    }
}

static piece translate(translator *own, const st_expr *expr, const context *where)
{
    own->work++;
    own->too_large = own->too_large || own->work > MAX_WORK;
    if (own->failed || own->too_large) {
        return nothing;
    }
    switch (expr->kind) {
    case ST_EXPR_NUMBER:
        return translate_number(own, expr->number);
    case ST_EXPR_BOOL:
        return single(own, expr->number == 0.0 ? "FALSE" : "TRUE");
    case ST_EXPR_NAME:
        return translate_name(own, expr, where);
    default:
        return translate_node(own, expr, where);
    }
}

/* --- a sheet --------------------------------------------------------------------------------- */

static const st_type truth = {.kind = ST_TYPE_BOOL};

bool st_live_is_exact(const st_live_sheet *live, const st_enum *enumeration)
{
    return live->exact[enumeration - live->enums];
}

static bool differs_in_case_alone(const st_enum *enumeration, st_arena *arena, bool *failed)
{
    st_names lower = {.arena = arena};
    for (size_t i = 0; i < enumeration->count && !*failed; i++) {
        size_t index = 0;
        const char *value = st_cell_name_lower(arena, enumeration->values[i]);
        if (value != NULL && st_names_get(&lower, value, &index)) {
            return true;
        }
        *failed = value == NULL || !st_names_put(&lower, value, i);
    }
    return false;
}

static void look_at_enums(translator *own)
{
    const st_sheet *sheet = own->sheet;
    bool *exact = st_arena_alloc(own->arena, sheet->enum_count + 1, sizeof(*exact));
    own->failed = own->failed || exact == NULL;
    for (size_t i = 0; i < sheet->enum_count && !own->failed; i++) {
        exact[i] = differs_in_case_alone(&sheet->enums[i], own->arena, &own->failed);
    }
    own->live->enums = sheet->enums;
    own->live->exact = exact;
}

/* Inputs come first: of names that differ in case alone, theirs stay as they are. */
static void name_everything(translator *own)
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

static void begin_owner(translator *own, const char *name)
{
    own->owner = name;
    own->first_part = own->live->part_count;
}

static void take_cell_value(translator *own, st_live *cell, const st_provider *provider)
{
    const st_sheet *sheet = own->sheet;
    call_columns columns;
    st_live_call *made = make_call(own, provider, &columns);
    for (size_t i = 0; made != NULL && i < provider->argument_count; i++) {
        size_t index = 0;
        bool is_cell = st_names_get(&sheet->cell_names, provider->argument_names[i], &index);
        bool known =
            is_cell || st_names_get(&sheet->input_names, provider->argument_names[i], &index);
        columns.labels[i] = provider->argument_names[i];
        columns.formulas[i] = !known    ? "NA()"
                              : is_cell ? own->live->cells[index].name
                                        : own->live->input_names[index];
        columns.types[i] = is_cell ? &sheet->cells[index].type : &sheet->inputs[index].type;
        columns.values[i] =
            is_cell ? st_session_cell(&own->session, index) : own->session.inputs[index];
    }
    cell->call = made;
}

static void translate_cell(translator *own, size_t index)
{
    const st_provider *provider = own->session.lowering.cell_providers[index];
    const st_sheet_cell *cell = &own->sheet->cells[index];
    st_live *live = &own->live->cells[index];
    live->value = st_session_cell(&own->session, index);
    if (provider != NULL) {
        take_cell_value(own, live, provider);
        own->may_fail[index] = !isfinite(live->value);
        return;
    }
    if (own->session.lowering.cells[index] == ST_NO_VALUE) {
        own->may_fail[index] = true;
        return;
    }
    begin_owner(own, live->name);
    context where = {.formula = cell->formula};
    piece whole = translate(own, cell->expr, &where);
    live->formula = whole.text;
    own->may_fail[index] = whole.may_fail;
}

static void translate_check(translator *own, size_t index)
{
    const st_sheet_check *check = &own->sheet->checks[index];
    st_live *live = &own->live->checks[index];
    context where = {.formula = check->formula};
    begin_owner(own, live->name);
    live->value = st_session_value(&own->session, check->expr, NULL);
    live->formula = translate(own, check->expr, &where).text;
}

static st_status outcome(const translator *own, st_errors *errors)
{
    if (own->too_large) {
        return st_errors_add(errors, &(st_error){.status = ST_ERR_LIMIT,
                                                 .place = {.file = own->sheet->file},
                                                 .message = "the sheet grows too large when its "
                                                            "functions are put in place"});
    }
    if (own->failed || own->session.failed) {
        return st_errors_add(errors,
                             &(st_error){.status = ST_ERR_MEMORY, .message = "out of memory"});
    }
    return ST_OK;
}

st_status st_live_translate(const st_program *program, const double *inputs, st_arena *arena,
                            st_live_sheet *live, st_errors *errors)
{
    translator own = {
        .sheet = program->sheet, .arena = arena, .live = live, .names = {.arena = arena}};
    *live = (st_live_sheet){0};
    st_status status = st_session_begin(&own.session, program, inputs, arena, errors);
    if (status != ST_OK) {
        return status;
    }
    own.session.lowering.work = 0;
    st_lowering_rest(&own.session.lowering);
    own.too_large = own.session.lowering.too_large;
    st_session_catch_up(&own.session);
    look_at_enums(&own);
    name_everything(&own);
    for (size_t i = 0; i < own.sheet->cell_count && outcome(&own, NULL) == ST_OK; i++) {
        translate_cell(&own, own.session.lowering.order[i]);
    }
    for (size_t i = 0; i < own.sheet->check_count && outcome(&own, NULL) == ST_OK; i++) {
        translate_check(&own, i);
    }
    return outcome(&own, errors);
}
