/* SPDX-License-Identifier: Apache-2.0 */
/* Names with an index that name no cell, and why. */
#include "sheet/check_parts.h"

#include <string.h>

/* "M[stage, kind]" */
static const char *pattern_of(st_checker *checker, const st_family *family)
{
    const char *text = family->name;
    for (size_t i = 0; i < family->axis_count; i++)
        text = st_errors_text(checker->errors, "%s%s%s", text, i == 0 ? "[" : ", ",
                              family->axes[i]->name);
    return st_errors_text(checker->errors, "%s]", text);
}

static bool refuse_base(st_checker *checker, const st_expr *expr)
{
    const char *base = st_errors_text(checker->errors, "%.*s",
                                      (int)strcspn(st_expr_name(expr), "["), st_expr_name(expr));
    bool known = st_sheet_find_cell(checker->sheet, base) != NULL ||
                 st_sheet_find_input(checker->sheet, base) != NULL;
    st_fail(checker->errors, ST_ERR_NAME, st_checker_place(checker, expr->operator_offset),
            "%s" ST_EXPECTED "%s" ST_HINT "%s",
            st_errors_text(checker->errors,
                           known ? "'%.60s' is not a family of cells" : "unknown name '%.60s'",
                           base),
            known ? "its name only; units follow numbers, as in 2[B]" : "",
            known ? "" : st_or_none(st_sheet_nearest(checker->sheet, st_expr_name(expr))));
    return false;
}

bool st_checker_refuse_index(st_checker *checker, const st_expr *expr)
{
    const st_family *family = st_sheet_family(checker->sheet, st_expr_name(expr));
    const char *item = strchr(st_expr_name(expr), '[');
    size_t count = 0;
    if (family == NULL)
        return refuse_base(checker, expr);
    if (item == NULL)
        return st_checker_fail(checker, expr->operator_offset, ST_ERR_NAME,
                               "family '%s' requires an index" ST_EXPECTED
                               "%s, a value such as %s, or '*' in a reduction",
                               family->name, pattern_of(checker, family),
                               family->axes[0]->values[0]);
    for (const char *c = item; *c != '\0'; c++)
        count += *c == ',' || *c == ']';
    if (count != family->axis_count)
        return st_checker_fail(checker, expr->operator_offset, ST_ERR_NAME,
                               "'%.60s' has %zu %s" ST_EXPECTED "%s", st_expr_name(expr), count,
                               count == 1 ? "index" : "indices",
                               st_or_none(pattern_of(checker, family)));
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(++item, ",]");
        bool known = false;
        for (size_t k = 0; k < family->axes[i]->count; k++) {
            const char *value = family->axes[i]->values[k];
            known = known || (strlen(value) == length && memcmp(value, item, length) == 0);
        }
        if (!known) {
            const st_enum *axis = family->axes[i];
            const char *value = st_errors_text(checker->errors, "%.*s", (int)length, item);
            bool open = strcmp(value, axis->name) == 0;
            st_place place = st_checker_place(checker, expr->operator_offset);
            if (open)
                st_fail(checker->errors, ST_ERR_NAME, place,
                        "ambiguous '%s' for '%.60s'" ST_EXPECTED
                        "a value of it, or a cell that is 'per: %s'",
                        value, st_expr_name(expr), axis->name);
            else
                st_fail(checker->errors, ST_ERR_NAME, place,
                        "unknown value '%.60s' of '%s' in '%.60s'" ST_HINT "%s", value, axis->name,
                        st_expr_name(expr),
                        st_errors_nearest(checker->errors, value, axis->values, axis->count));
            return false;
        }
        item += length;
    }
    return refuse_base(checker, expr); /* a member that could not be read: reported there */
}
