/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wrong unit of an input, a cell or a function makes every formula that reads it wrong. Where a
 * unit is unknown, errors of units that follow are left out; where it is a valid one that does not
 * fit, the name that three formulas or more share is blamed once. A name that is not defined is
 * reported once.
 */
#include "sheet/unit_faults.h"
#include "sheet/type_write.h"

#include <string.h>

enum { LEAST = 3 };

typedef struct name {
    st_name_kind kind;
    size_t index;
} name;

static bool is_blamed(const st_expr *expr, name blamed)
{
    bool may_be = expr->kind == ST_EXPR_NAME || expr->kind == ST_EXPR_CALL;
    if (may_be && expr->name_kind == blamed.kind && expr->index == blamed.index)
        return true;
    for (size_t i = 0; i < expr->child_count; i++)
        if (is_blamed(st_expr_child(expr, i), blamed))
            return true;
    return false;
}

static bool is_spoilt(const st_unit_fault *fault, name blamed)
{
    return (blamed.kind == fault->kind && fault->owner == blamed.index) ||
           is_blamed(fault->expr, blamed);
}

static size_t count_spoilt(const st_unit_faults *faults, name blamed)
{
    size_t count = 0;
    for (size_t i = 0; i < faults->count; i++)
        count += is_spoilt(&faults->items[i], blamed) ? 1 : 0;
    return count;
}

/* The name below a node that spoils the most formulas. */
static void find_worst(const st_unit_faults *faults, const st_expr *expr, name *worst, size_t *most)
{
    bool may_be = expr->kind == ST_EXPR_NAME || expr->kind == ST_EXPR_CALL;
    const name candidate = {expr->name_kind, expr->index};
    bool has_unit = candidate.kind == ST_NAME_INPUT || candidate.kind == ST_NAME_CELL ||
                    candidate.kind == ST_NAME_FUNCTION;
    size_t count = may_be && has_unit ? count_spoilt(faults, candidate) : 0;
    if (count > *most) {
        *worst = candidate;
        *most = count;
    }
    for (size_t i = 0; i < expr->child_count; i++)
        find_worst(faults, st_expr_child(expr, i), worst, most);
}

static const char *text_of(const st_sheet *sheet, name blamed, const st_type **type)
{
    if (blamed.kind == ST_NAME_INPUT) {
        *type = &sheet->inputs[blamed.index].type;
        return sheet->inputs[blamed.index].name;
    }
    *type = blamed.kind == ST_NAME_CELL ? &sheet->cells[blamed.index].type
                                        : &sheet->functions[blamed.index].type;
    return blamed.kind == ST_NAME_CELL ? sheet->cells[blamed.index].name
                                       : sheet->functions[blamed.index].name;
}

static bool reads_unknown(const st_sheet *sheet, const st_expr *expr)
{
    const st_type *type = NULL;
    bool may_be = expr->kind == ST_EXPR_NAME || expr->kind == ST_EXPR_CALL;
    bool has_unit = expr->name_kind == ST_NAME_INPUT || expr->name_kind == ST_NAME_CELL ||
                    expr->name_kind == ST_NAME_FUNCTION;
    if (may_be && has_unit)
        (void)text_of(sheet, (name){expr->name_kind, expr->index}, &type);
    if (type != NULL && type->kind == ST_TYPE_NUMBER &&
        strcmp(type->unit.text, ST_UNIT_UNKNOWN) == 0)
        return true;
    for (size_t i = 0; i < expr->child_count; i++)
        if (reads_unknown(sheet, st_expr_child(expr, i)))
            return true;
    return false;
}

static bool has_unknown(const st_sheet *sheet, const st_unit_fault *fault)
{
    const st_type *type = NULL;
    if (fault->kind != ST_NAME_UNKNOWN)
        (void)text_of(sheet, (name){fault->kind, fault->owner}, &type);
    bool own = type != NULL && type->kind == ST_TYPE_NUMBER &&
               strcmp(type->unit.text, ST_UNIT_UNKNOWN) == 0;
    return own || reads_unknown(sheet, fault->expr);
}

static void leave_out(const st_unit_fault *fault, const st_errors *found, bool *left_out)
{
    for (size_t k = fault->error; k < fault->error + fault->errors; k++)
        left_out[k] = st_errors_at(found, k)->status == ST_ERR_UNIT;
}

/* Leaves out all that one name spoils but its own formula, or else the first. */
static size_t blame(st_unit_faults *faults, name worst, const st_errors *found, bool *left_out)
{
    size_t kept = SIZE_MAX;
    size_t left = 0;
    for (size_t i = 0; i < faults->count; i++) {
        const st_unit_fault *fault = &faults->items[i];
        bool own = worst.kind == fault->kind && fault->owner == worst.index;
        if (!is_spoilt(fault, worst)) {
            faults->items[left++] = *fault;
            continue;
        }
        leave_out(fault, found, left_out);
        if (kept == SIZE_MAX || own)
            kept = fault->error;
    }
    faults->count = left;
    left_out[kept] = false;
    return kept;
}

/* A role or a part of the summary that is this very cell, or one of an unknown unit. */
static bool names_one_of(const st_error *error, const char *const *blamed, size_t count)
{
    if (error->status != ST_ERR_UNIT || error->found == NULL)
        return false;
    bool named = strstr(error->found, "(" ST_UNIT_UNKNOWN ")") != NULL;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(blamed[i]);
        named = named ||
                (error->found[0] == '\'' && strncmp(error->found + 1, blamed[i], length) == 0 &&
                 error->found[length + 1] == '\'');
    }
    return named;
}

/* A name that nothing defines is reported where it is first read; with how many others read it. */
static size_t join_names(const st_errors *found, size_t first, bool *left_out)
{
    const st_error *error = st_errors_at(found, first);
    size_t more = 0;
    for (size_t i = first + 1; error->status == ST_ERR_NAME && i < st_errors_size(found); i++) {
        const st_error *other = st_errors_at(found, i);
        if (other->status != ST_ERR_NAME || strcmp(other->message, error->message) != 0)
            continue;
        left_out[i] = true;
        more++;
    }
    return more;
}

void st_unit_faults_report(const st_sheet *sheet, st_unit_faults *faults, const st_errors *found,
                           st_errors *errors)
{
    const char *more[ST_ERRORS_KEPT] = {0};
    const char *blamed[ST_ERRORS_KEPT];
    size_t blamed_count = 0;
    bool left_out[ST_ERRORS_KEPT] = {false};
    size_t known = 0;
    for (size_t i = 0; i < faults->count; i++)
        if (has_unknown(sheet, &faults->items[i]))
            leave_out(&faults->items[i], found, left_out);
        else
            faults->items[known++] = faults->items[i];
    faults->count = known;
    for (size_t most = LEAST; most >= LEAST;) {
        name worst = {0};
        most = 0;
        for (size_t i = 0; i < faults->count; i++)
            find_worst(faults, faults->items[i].expr, &worst, &most);
        if (most < LEAST)
            break;
        const st_type *type = NULL;
        const char *text = text_of(sheet, worst, &type);
        blamed[blamed_count++] = text;
        more[blame(faults, worst, found, left_out)] =
            st_errors_text(errors, "; %zu more formulas do not fit '%s' in %s", most - 1, text,
                           st_type_unit_text(type));
    }
    for (size_t i = 0; i < st_errors_size(found); i++) {
        st_error error = *st_errors_at(found, i);
        if (left_out[i] || (more[i] == NULL && names_one_of(&error, blamed, blamed_count)))
            continue;
        size_t others = join_names(found, i, left_out);
        if (others > 0)
            error.message = st_errors_text(errors, "%s, here and %s%zu more times", error.message,
                                           st_errors_full(found) ? "at least " : "", others);
        if (more[i] != NULL)
            error.expected = st_errors_text(errors, "%s%s", st_or_none(error.expected), more[i]);
        (void)st_errors_add(errors, &error);
    }
    /* Those that were counted and not kept, if the list is as full. */
    size_t kept = st_errors_size(found);
    for (size_t i = kept; i < st_errors_count(found, ST_SEVERITY_ERROR); i++)
        if (st_errors_full(errors))
            (void)st_errors_add(errors, st_errors_at(found, kept - 1));
}
