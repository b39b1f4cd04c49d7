/* SPDX-License-Identifier: Apache-2.0 */
/* Families and their members by name. */
#include "sheet/family.h"

#include "base/same.h"
#include "sheet/internal.h"

#include <string.h>

size_t st_family_value(const st_family *family, size_t member, size_t axis)
{
    for (size_t i = family->axis_count; i-- > axis + 1;)
        member /= family->axes[i]->count;
    return member % family->axes[axis]->count;
}

const char *st_family_member_name(const st_family *family, size_t member, st_arena *arena)
{
    const char *values[ST_FAMILY_MAX_AXES];
    size_t lengths[ST_FAMILY_MAX_AXES];
    size_t length = strlen(family->name);
    size_t whole = length + 1 + family->axis_count;
    for (size_t i = 0; i < family->axis_count; i++) {
        values[i] = family->axes[i]->values[st_family_value(family, member, i)];
        lengths[i] = strlen(values[i]);
        whole += lengths[i];
    }
    char *name = st_arena_alloc(arena, whole + 1, 1);
    if (name == NULL)
        return NULL;
    memcpy(name, family->name, length);
    for (size_t i = 0; i < family->axis_count; i++) {
        name[length++] = i == 0 ? '[' : ',';
        memcpy(name + length, values[i], lengths[i]);
        length += lengths[i];
    }
    name[length] = ']';
    return name;
}

size_t st_family_find(const st_family *family, const char *name)
{
    const char *item = strchr(name, '[');
    size_t member = 0;
    for (size_t i = 0; i < family->axis_count; i++) {
        if (item == NULL || *item == ']' || *item == '\0')
            return SIZE_MAX;
        item++;
        size_t length = strcspn(item, ",]");
        size_t value = SIZE_MAX;
        const st_enum *axis = family->axes[i];
        for (size_t j = 0; j < axis->count; j++)
            if (length > 0 && st_same_part(item, length, axis->values[j])) {
                value = j;
                break;
            }
        if (value == SIZE_MAX)
            return SIZE_MAX;
        member = member * family->axes[i]->count + value;
        item += length;
    }
    return item != NULL && strcmp(item, "]") == 0 ? member : SIZE_MAX;
}

const st_family *st_sheet_family(const st_sheet *sheet, const char *name)
{
    size_t index = 0;
    return st_names_get_part(&sheet->family_names, name, strcspn(name, "["), &index)
               ? sheet->families[index]
               : NULL;
}

bool st_family_is_reduction(const st_expr *expr)
{
    switch (expr->builtin) {
    case ST_BUILTIN_SUM:
    case ST_BUILTIN_ARGMIN:
    case ST_BUILTIN_ARGMAX:
    case ST_BUILTIN_MIN:
    case ST_BUILTIN_MAX:
        return expr->kind == ST_EXPR_CALL && expr->child_count == 1;
    default:
        return false;
    }
}

const st_formula *st_family_where(st_family_member member)
{
    return member.family == NULL ? NULL : member.family->wheres[member.index];
}

/* Whether a condition says the same for all members. */
static bool is_plain(const st_family *family, const st_expr *expr)
{
    bool plain = expr->kind != ST_EXPR_NAME || strchr(st_expr_name(expr), '[') == NULL;
    for (size_t i = 0; i < family->axis_count && plain && expr->kind == ST_EXPR_NAME; i++)
        plain = strcmp(family->axes[i]->name, st_expr_name(expr)) != 0;
    for (size_t i = 0; i < expr->child_count && plain; i++)
        plain = is_plain(family, st_expr_child(expr, i));
    return plain;
}

bool st_family_same_condition(st_family_member a, st_family_member b)
{
    const st_formula *one = st_family_where(a);
    const st_formula *other = st_family_where(b);
    if (one == NULL || other == NULL || strcmp(one->text, other->text) != 0)
        return false;
    return (a.family == b.family && a.index == b.index) ||
           (is_plain(a.family, one->expr) && is_plain(b.family, other->expr));
}

bool st_family_has_places(const st_expr *expr)
{
    bool found = expr->kind == ST_EXPR_NAME && strchr(st_expr_name(expr), '[') != NULL &&
                 (strchr(st_expr_name(expr), '*') != NULL ||
                  strlen(st_expr_name(expr)) != expr->name_length);
    for (size_t i = 0; i < expr->child_count && !found; i++)
        found = st_family_has_places(st_expr_child(expr, i));
    return found;
}

void st_sheet_expand(st_sheet *sheet, st_arena *arena, st_errors *errors)
{
    const st_family_member none = {0};
    st_expansion expansion = {.sheet = sheet, .arena = arena, .errors = errors};
    const st_formula *refused = NULL; /* one report for all members that a text has made */
    for (size_t i = 0; i < sheet->family_count; i++) {
        /* In a member's formula the name of an enumeration is its index and can be nothing else. */
        const st_family *family = sheet->families[i];
        size_t index = 0;
        for (size_t j = 0; j < family->axis_count; j++) {
            const char *name = family->axes[j]->name;
            if (st_names_get(&sheet->input_names, name, &index) ||
                st_names_get(&sheet->cell_names, name, &index))
                (void)st_fail(errors, ST_ERR_NAME, family->place,
                              "the index '%s' of '%s' is an input or a cell, too" ST_EXPECTED
                              "another name for one of them",
                              name, family->name);
        }
    }
    for (size_t i = 0; i < sheet->cell_count; i++) {
        st_formula *formula = &sheet->cell_formulas[i];
        bool again = formula->origin != NULL && formula->origin == refused;
        if (again) {
            formula->expr = NULL;
        } else if (formula->expr != NULL) {
            st_family_expand(&expansion, sheet->cell_members[i], &sheet->cells[i].type, formula);
            refused = formula->expr == NULL ? formula->origin : refused;
        }
        sheet->cells[i].formula = formula->text == NULL ? "" : formula->text;
        sheet->cells[i].expr = formula->expr;
    }
    for (size_t i = 0; i < sheet->check_count; i++) {
        st_family_expand(&expansion, none, NULL, &sheet->check_formulas[i]);
        sheet->checks[i].formula = sheet->check_formulas[i].text;
        sheet->checks[i].expr = sheet->check_formulas[i].expr;
        for (size_t k = 0; k < sheet->messages[i].count; k++)
            st_family_expand(&expansion, none, NULL, &sheet->messages[i].parts[k].formula);
    }
    st_buffer_free(&expansion.text);
    st_buffer_free(&expansion.name);
}
