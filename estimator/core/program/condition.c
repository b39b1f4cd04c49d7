/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions in addition to a sheet's checks; see condition.h. */
#include "program/condition.h"

#include "base/memory.h"
#include "sheet/check.h"

#include <string.h>

enum { MAX_CONDITIONS = 100, MAX_SHOWN = 8 };

/* Copies `count` items and leaves room for `more`. */
static void *copy_items(st_arena *arena, const void *items, size_t count, size_t more,
                        size_t size_bytes)
{
    void *copy = st_arena_alloc(arena, count + more + 1, size_bytes);
    if (copy != NULL && count > 0)
        memcpy(copy, items, count * size_bytes);
    return copy;
}

static st_status check(st_sheet *sheet, st_formula *formula, st_arena *arena, st_errors *errors)
{
    static const st_type truth = {.kind = ST_TYPE_BOOL};
    st_checker checker = {.sheet = sheet, .errors = errors, .arena = arena, .formula = formula};
    size_t before = st_errors_count(errors, ST_SEVERITY_ERROR);
    bool good = st_checker_expr(&checker, formula->expr) &&
                st_checker_expect(&checker, formula->expr, &truth, "the condition");
    if (good)
        return ST_OK;
    return st_errors_count(errors, ST_SEVERITY_ERROR) > before ? st_errors_status(errors)
                                                               : st_out_of_memory(errors);
}

/* The side of a comparison that a reader wants to know, mostly a cell; NULL: there is none. */
static st_expr *compared_side(st_expr *expr)
{
    bool compares = expr->kind == ST_EXPR_BINARY && expr->op >= ST_OPERATOR_EQUAL &&
                    expr->op <= ST_OPERATOR_GREATER_EQUAL;
    st_expr *name = NULL;
    for (size_t i = 0; compares && i < expr->child_count; i++) {
        st_expr *side = st_expr_child(expr, i);
        if (st_expr_type(side)->kind == ST_TYPE_NUMBER && side->kind != ST_EXPR_NUMBER)
            return side;
        name = name == NULL && side->kind == ST_EXPR_NAME ? side : name;
    }
    return name;
}

/* What a message shows of a condition. */
typedef struct shown_sides {
    st_expr *items[MAX_SHOWN];
    size_t count;
    const char *text; /* of the condition */
} shown_sides;

static void show(shown_sides *into, st_expr *side)
{
    for (size_t i = 0; i < into->count; i++) {
        st_expr *other = into->items[i];
        if (other->length == side->length &&
            memcmp(into->text + other->offset, into->text + side->offset, side->length) == 0)
            return;
    }
    if (into->count < MAX_SHOWN)
        into->items[into->count++] = side;
}

/* Sides of all comparisons that 'and', 'or' and 'not' join, and names that are true or false. */
static void find_sides(st_expr *expr, shown_sides *into)
{
    st_expr *side = compared_side(expr);
    if (side != NULL) {
        show(into, side);
        return;
    }
    if (expr->kind == ST_EXPR_NAME && st_expr_type(expr)->kind == ST_TYPE_BOOL) {
        show(into, expr);
        return;
    }
    bool joins = (expr->kind == ST_EXPR_UNARY || expr->kind == ST_EXPR_BINARY) &&
                 st_expr_type(expr)->kind == ST_TYPE_BOOL;
    for (size_t i = 0; joins && i < expr->child_count; i++)
        find_sides(st_expr_child(expr, i), into);
}

/* "'memory < 1[GiB]' does not hold: memory is 2.385 GiB"; false when out of memory. */
static bool write_message(const st_formula *formula, const char *plain, st_arena *arena,
                          st_message *message)
{
    shown_sides shown = {.text = formula->text};
    find_sides(formula->expr, &shown);
    size_t count = shown.count > 0 ? shown.count : 1;
    st_message_part *parts = st_arena_alloc(arena, count, sizeof *parts);
    if (parts == NULL)
        return false;
    parts[0].text = plain;
    for (size_t i = 0; i < shown.count; i++) {
        st_expr *side = shown.items[i];
        parts[i].text = st_arena_printf(arena, "%s%.*s is ", i == 0 ? plain : ", ",
                                        (int)side->length, formula->text + side->offset);
        parts[i].formula = *formula;
        parts[i].formula.expr = side;
        if (parts[i].text == NULL)
            return false;
    }
    *message = (st_message){.parts = parts, .count = count};
    return true;
}

static st_status add_condition(st_sheet *sheet, const char *option, const char *text,
                               st_arena *arena, st_errors *errors)
{
    char *copy = st_arena_copy(arena, text, strlen(text));
    const char *file = st_arena_printf(arena, "%s '%s'", option, text);
    if (copy == NULL || file == NULL)
        return st_out_of_memory(errors);
    st_formula formula = {
        .text = copy, .length = strlen(copy), .place = {.file = file, .column = 1}};
    st_status status = st_expr_parse(&formula, arena, errors);
    if (status == ST_OK)
        status = check(sheet, &formula, arena, errors);
    if (status != ST_OK)
        return status;
    st_message message;
    const char *plain = st_arena_printf(arena, "'%s' does not hold", copy);
    const char *before = st_arena_printf(arena, "'%s' does not hold: ", copy);
    if (plain == NULL || before == NULL || !write_message(&formula, before, arena, &message))
        return st_out_of_memory(errors);
    if (message.parts[0].formula.expr == NULL)
        message.parts[0].text = plain;
    size_t index = sheet->check_count++;
    sheet->checks[index] = (st_sheet_check){
        .formula = copy, .message = plain, .expr = formula.expr, .place = formula.place};
    sheet->check_formulas[index] = formula;
    sheet->messages[index] = message;
    return ST_OK;
}

st_status st_sheet_with_conditions(const st_sheet *sheet, const st_conditions *conditions,
                                   st_arena *arena, const st_sheet **extended, st_errors *errors)
{
    st_status status = ST_OK;
    size_t count = conditions->count;
    if (count > MAX_CONDITIONS)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = conditions->option},
                       "too many conditions" ST_EXPECTED "at most 100");
    st_sheet *copy = st_arena_alloc(arena, 1, sizeof *copy);
    if (copy == NULL)
        return st_out_of_memory(errors);
    *copy = *sheet;
    size_t room = copy->check_count;
    copy->checks = copy_items(arena, copy->checks, room, count, sizeof *copy->checks);
    copy->check_formulas =
        copy_items(arena, copy->check_formulas, room, count, sizeof *copy->check_formulas);
    copy->messages = copy_items(arena, copy->messages, room, count, sizeof *copy->messages);
    if (copy->checks == NULL || copy->check_formulas == NULL || copy->messages == NULL)
        return st_out_of_memory(errors);
    for (size_t i = 0; i < count; i++)
        st_note(&status,
                add_condition(copy, conditions->option, conditions->texts[i], arena, errors));
    if (status == ST_OK)
        *extended = copy;
    return status;
}
