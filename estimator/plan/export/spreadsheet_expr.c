/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From expression trees to spreadsheet formulas, from the leaves up; see spreadsheet_piece.h.
 *
 * Calls of the sheet's functions are put in place, those of providers become values, and what would
 * make a formula too long or too deep becomes a part.
 */
#include "export/spreadsheet_piece.h"

#include <assert.h>
#include <math.h>
#include <string.h>

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

/* A part with that value among those from `first` on, NULL where there is none. */
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
    st_piece used = st_piece_single(own, part->name);
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
        return st_piece_none;
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

st_live_call *st_live_call_make(st_translator *own, const st_provider *provider,
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
        st_live_call_make(own, own->session.lowering.function_providers[expr->index], &columns);
    st_live *part = made != NULL ? add_part(own, key, function->name) : NULL;
    if (part == NULL)
        return st_piece_none;
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
        return st_piece_builtin(own, expr, operands);
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
        whole = st_piece_none;
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
        whole = st_translate(own, function->expr, &inside);
    }
    own->recent[own->recent_next] = (st_recent){key, whole};
    own->recent_next = (own->recent_next + 1) % ST_LIVE_RECALLED;
    return whole;
}

/* --- trees ----------------------------------------------------------------------------------- */

st_piece st_translate(st_translator *own, const st_expr *expr, const st_piece_context *where)
{
    own->work++;
    own->too_large = own->too_large || own->work > ST_LIVE_MAX_WORK;
    if (own->failed || own->too_large)
        return st_piece_none;
    switch (expr->kind) {
    case ST_EXPR_NUMBER:
        return st_piece_number(own, expr->number);
    case ST_EXPR_BOOL:
        return st_piece_single(own, expr->number == 0.0 ? "FALSE" : "TRUE");
    case ST_EXPR_NAME: {
        st_piece named = st_piece_none;
        switch (expr->name_kind) {
        case ST_NAME_INPUT:
            return st_piece_single(own, own->live->input_names[expr->index]);
        case ST_NAME_CELL:
            named = st_piece_single(own, own->live->cells[expr->index].name);
            named.may_fail = own->may_fail[expr->index];
            return named;
        case ST_NAME_ARGUMENT:
            assert(where->arguments != NULL); /* the checker finds arguments in functions alone */
            return where->arguments[expr->index];
        case ST_NAME_VALUE:
            return st_piece_single(own, st_arena_printf(own->arena, "\"%s\"", st_expr_name(expr)));
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
            return st_piece_none;
        }
        for (uint32_t i = 0; i < expr->child_count; i++)
            operands[i] = st_translate(own, st_expr_child(expr, i), where);
        shorten(own, expr, where, operands);
        switch (expr->kind) {
        case ST_EXPR_UNARY:
            return expr->op == ST_OPERATOR_NOT ? st_piece_call(own, "NOT", operands, 1)
                                               : st_piece_negate(own, operands);
        case ST_EXPR_BINARY:
            return st_piece_binary(own, expr, operands);
        default:
            return translate_call(own, expr, where, operands);
        }
    }
    }
}
