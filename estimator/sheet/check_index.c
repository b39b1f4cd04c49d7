/* SPDX-License-Identifier: Apache-2.0 */
/* Names with an index that name no cell, and why. */
#include "sheet/check_parts.h"

#include <string.h>

/* "M[stage, kind]" */
static const char *pattern_of(st_checker *checker, const st_family *family)
{
    const char *text = family->name;
    for (size_t i = 0; i < family->axis_count; i++) {
        text = st_errors_text(checker->errors, "%s%s%s", text, i == 0 ? "[" : ", ",
                              family->axes[i]->name);
    }
    return st_errors_text(checker->errors, "%s]", text);
}

static bool refuse_missing(st_checker *checker, const st_expr *expr, const st_family *family)
{
    return st_checker_fault(
        checker, expr->operator_offset, ST_ERR_NAME,
        st_errors_text(checker->errors, "'%s' is a family of cells and needs an index",
                       family->name),
        st_errors_text(checker->errors,
                       "%s, a value such as %s in its place, or '*' in a reduction",
                       pattern_of(checker, family), family->axes[0]->values[0]));
}

static bool refuse_base(st_checker *checker, const st_expr *expr)
{
    const char *base =
        st_errors_text(checker->errors, "%.*s", (int)strcspn(expr->name, "["), expr->name);
    bool known = st_sheet_find_cell(checker->sheet, base) != NULL ||
                 st_sheet_find_input(checker->sheet, base) != NULL;
    (void)st_errors_add(
        checker->errors,
        &(st_error){.status = ST_ERR_NAME,
                    .place = st_checker_place(checker, expr->operator_offset),
                    .message = st_errors_text(
                        checker->errors,
                        known ? "'%.60s' is no family of cells" : "unknown name '%.60s'", base),
                    .expected = known ? "its name alone; units follow numbers, as in 2[B]" : NULL,
                    .suggestion = known ? NULL : st_sheet_nearest(checker->sheet, expr->name)});
    return false;
}

static bool refuse_value(st_checker *checker, const st_expr *expr, const st_enum *axis,
                         const char *item, size_t length)
{
    const char *value = st_errors_text(checker->errors, "%.*s", (int)length, item);
    bool open = strcmp(value, axis->name) == 0;
    (void)st_errors_add(
        checker->errors,
        &(st_error){.status = ST_ERR_NAME,
                    .place = st_checker_place(checker, expr->operator_offset),
                    .message = open ? st_errors_text(checker->errors,
                                                     "nothing tells which '%s' '%.60s' is of",
                                                     value, expr->name)
                                    : st_errors_text(checker->errors,
                                                     "'%.60s' is no value of '%s' in '%.60s'",
                                                     value, axis->name, expr->name),
                    .expected = open ? st_errors_text(checker->errors,
                                                      "a value of it, or a cell that is 'per: %s'",
                                                      axis->name)
                                     : NULL,
                    .suggestion = open ? NULL : st_nearest(value, axis->values, axis->count)});
    return false;
}

bool st_checker_refuse_index(st_checker *checker, const st_expr *expr)
{
    const st_family *family = st_sheet_family(checker->sheet, expr->name);
    const char *item = strchr(expr->name, '[');
    size_t count = 0;
    if (family == NULL) {
        return refuse_base(checker, expr);
    }
    if (item == NULL) {
        return refuse_missing(checker, expr, family);
    }
    for (const char *c = item; *c != '\0'; c++) {
        count += *c == ',' || *c == ']';
    }
    if (count != family->axis_count) {
        return st_checker_fault(checker, expr->operator_offset, ST_ERR_NAME,
                                st_errors_text(checker->errors, "'%.60s' has %zu %s", expr->name,
                                               count, count == 1 ? "index" : "indices"),
                                pattern_of(checker, family));
    }
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(++item, ",]");
        bool known = false;
        for (size_t k = 0; k < family->axes[i]->count; k++) {
            const char *value = family->axes[i]->values[k];
            known = known || (strlen(value) == length && memcmp(value, item, length) == 0);
        }
        if (!known) {
            return refuse_value(checker, expr, family->axes[i], item, length);
        }
        item += length;
    }
    return refuse_base(checker, expr); /* a member that could not be read: reported there */
}
