/* SPDX-License-Identifier: Apache-2.0 */
/* The sheet of checks: verdicts that change with the inputs, and colours where one fails. */
#include "export/xlsx_book.h"

#include "sheet/expr.h"

#include <math.h>
#include <string.h>

enum { CHECK, VERDICT, LEVEL, MESSAGE, TRUTH, DEFINED, COLUMNS };
enum { SUMMARY_ROW = 4, FIRST_ROW = 1 };

static const st_heading headings[COLUMNS] = {
    {"Check", 60},          {"Verdict", 18},      {"Level", 12},
    {"Where it fails", 80}, {"Live formula", 16}, {"Name in formulas", 20},
};

static const char holds[] = "holds";
static const char cannot[] = "cannot be told";

/* What a check says where it does not hold. */
static const char *failure_of(const st_sheet_check *check)
{
    return check->warning ? "warns" : "FAILS";
}

static const char *verdict_of(const st_sheet_check *check, double value)
{
    return !isfinite(value) ? cannot : value != 0.0 ? holds : failure_of(check);
}

static void color_verdicts(st_book *book, st_spot spot, lxw_row_t last)
{
    st_book_color(book, spot, last, "FAILS", book->formats.bad);
    st_book_color(book, spot, last, "cannot", book->formats.bad);
    st_book_color(book, spot, last, "warns", book->formats.warning);
    st_book_color(book, spot, last, holds, book->formats.good);
}

static void color_operands(st_book *book, const st_expr *expr, const char *check,
                           lxw_format *format)
{
    if (expr->kind == ST_EXPR_NAME &&
        (expr->name_kind == ST_NAME_INPUT || expr->name_kind == ST_NAME_CELL)) {
        /* Colours the value of an input or a cell while a check that reads it fails. */
        char *formula = st_arena_printf(book->file->arena, "=NOT(%s)", check);
        bool is_input = expr->name_kind == ST_NAME_INPUT;
        st_spot spot = {is_input ? book->inputs : book->cells,
                        is_input ? book->input_rows[expr->index] : book->cell_rows[expr->index],
                        ST_BOOK_VALUE};
        lxw_conditional_format rule = {
            .type = LXW_CONDITIONAL_TYPE_FORMULA, .value_string = formula, .format = format};
        if (formula == NULL)
            book->file->failed = true;
        else
            st_book_rule(book, spot, spot.row, &rule);
    }
    for (uint32_t i = 0; i < expr->child_count; i++)
        color_operands(book, st_expr_child(expr, i), check, format);
}

static void write_check(st_book *book, const st_sheet_check *check, const st_live *live,
                        lxw_row_t row)
{
    lxw_format *failing = check->warning ? book->formats.warning : book->formats.bad;
    st_spot truth = {book->checks, row, TRUTH};
    st_spot verdict = {book->checks, row, VERDICT};
    const char *formula =
        st_arena_printf(book->file->arena, "IF(ISERROR(%s),\"%s\",IF(%s,\"%s\",\"%s\"))",
                        live->name, cannot, live->name, holds, failure_of(check));
    st_book_text(book, (st_spot){book->checks, row, CHECK}, check->formula, NULL);
    st_book_text(book, (st_spot){book->checks, row, LEVEL}, st_check_level(check), NULL);
    st_book_text(book, (st_spot){book->checks, row, MESSAGE}, check->message, NULL);
    st_book_text(book, (st_spot){book->checks, row, DEFINED}, live->name, NULL);
    st_book_formula(book, truth, live->formula, live->type, live->value);
    st_book_define(book, truth, live->name);
    st_book_said(book, verdict, formula, verdict_of(check, live->value));
    color_operands(book, check->expr, live->name, failing);
}

/* What all checks say together: warnings fail nothing. */
static const char *summary_of(st_book *book, const st_sheet_check *checks, size_t count)
{
    size_t failing = 0;
    size_t warning = 0;
    for (size_t i = 0; i < count; i++) {
        const char *verdict = verdict_of(&checks[i], book->live.checks[i].value);
        failing += strcmp(verdict, "FAILS") == 0 || verdict == cannot ? 1 : 0;
        warning += strcmp(verdict, "warns") == 0 ? 1 : 0;
    }
    st_arena *arena = book->file->arena;
    if (failing > 0)
        return st_arena_printf(arena, "FAILS: %zu of %zu, see the sheet Checks", failing, count);
    if (warning > 0)
        return st_arena_printf(arena, "warns: %zu of %zu, see the sheet Checks", warning, count);
    return holds;
}

/* The same as a formula over the verdicts. */
static const char *summary_formula(st_book *book, size_t count)
{
    const char *range = st_arena_printf(
        book->file->arena, "%s:%s", st_book_address(book, "Checks", FIRST_ROW, VERDICT),
        st_book_address(book, NULL, (lxw_row_t)(FIRST_ROW + count - 1), VERDICT));
    if (range == NULL)
        return NULL;
    return st_arena_printf(
        book->file->arena,
        "IF(COUNTIF(%s,\"holds\")=%zu,\"holds\",IF(COUNTIF(%s,\"holds\")+COUNTIF(%s,\"warns\")=%zu,"
        "\"warns: \"&COUNTIF(%s,\"warns\"),\"FAILS: \"&(%zu-COUNTIF(%s,\"holds\")-COUNTIF(%s,"
        "\"warns\")))&\" of %zu, see the sheet Checks\")",
        range, count, range, range, count, range, count, range, range, count);
}

/* One line on the first sheet. */
static void write_summary(st_book *book, const st_sheet_check *checks, size_t count)
{
    st_spot spot = {book->cells, SUMMARY_ROW, ST_BOOK_VALUE};
    st_book_text(book, (st_spot){book->cells, SUMMARY_ROW, ST_BOOK_NAME}, "Checks", NULL);
    if (count == 0) {
        st_book_text(book, spot, "the sheet has none", NULL);
        return;
    }
    st_book_said(book, spot, summary_formula(book, count), summary_of(book, checks, count));
    color_verdicts(book, spot, spot.row);
    color_verdicts(book, (st_spot){book->checks, FIRST_ROW, VERDICT},
                   (lxw_row_t)(FIRST_ROW + count - 1));
}

void st_book_write_checks(st_book *book)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(book->estimate->sheet, &count);
    st_book_headings(book, (st_spot){book->checks, 0, 0}, headings, COLUMNS);
    for (size_t i = 0; i < count && !book->file->failed; i++)
        write_check(book, &checks[i], &book->live.checks[i], (lxw_row_t)(FIRST_ROW + i));
    write_summary(book, checks, count);
}
