/* SPDX-License-Identifier: Apache-2.0 */
/* The sheet of checks: verdicts that change with the inputs, and colours where one fails. */
#include "report/xlsx_book.h"

#include "sheet/expr.h"

#include <math.h>

enum { CHECK, VERDICT, LEVEL, MESSAGE, TRUTH, DEFINED, COLUMNS };
enum { SUMMARY_ROW = 4, FIRST_ROW = 1 };

static const st_heading headings[COLUMNS] = {
    {"Check", 60},          {"Verdict", 18},      {"Level", 12},
    {"Where it fails", 80}, {"Live formula", 16}, {"Name in formulas", 20},
};

static const char *verdict_of(double value)
{
    return !isfinite(value) ? "cannot be told" : value != 0.0 ? "holds" : "FAILS";
}

static void color_verdicts(st_book *book, st_spot spot, lxw_row_t last, lxw_format *failing)
{
    st_book_color(book, spot, last, "FAILS", failing);
    st_book_color(book, spot, last, "cannot", failing);
    st_book_color(book, spot, last, "holds", book->formats.good);
}

/* Colours the value of an input or a cell while a check that reads it fails. */
static void color_operand(st_book *book, const st_expr *name, const char *check, lxw_format *format)
{
    char *formula = st_arena_printf(book->file->arena, "=NOT(%s)", check);
    bool is_input = name->name_kind == ST_NAME_INPUT;
    st_spot spot = {is_input ? book->inputs : book->cells,
                    is_input ? book->input_rows[name->index] : book->cell_rows[name->index],
                    ST_BOOK_VALUE};
    lxw_conditional_format rule = {
        .type = LXW_CONDITIONAL_TYPE_FORMULA, .value_string = formula, .format = format};
    if (formula == NULL) {
        book->file->failed = true;
        return;
    }
    st_book_rule(book, spot, spot.row, &rule);
}

static void color_operands(st_book *book, const st_expr *expr, const char *check,
                           lxw_format *format)
{
    if (expr->kind == ST_EXPR_NAME &&
        (expr->name_kind == ST_NAME_INPUT || expr->name_kind == ST_NAME_CELL))
        color_operand(book, expr, check, format);
    for (uint32_t i = 0; i < expr->child_count; i++)
        color_operands(book, expr->children[i], check, format);
}

static void write_check(st_book *book, const st_sheet_check *check, const st_live *live,
                        lxw_row_t row)
{
    lxw_format *failing = check->warning ? book->formats.warning : book->formats.bad;
    st_spot truth = {book->checks, row, TRUTH};
    st_spot verdict = {book->checks, row, VERDICT};
    const char *formula = st_arena_printf(
        book->file->arena, "IF(ISERROR(%s),\"cannot be told\",IF(%s,\"holds\",\"FAILS\"))",
        live->name, live->name);
    st_book_text(book, (st_spot){book->checks, row, CHECK}, check->formula, NULL);
    st_book_text(book, (st_spot){book->checks, row, LEVEL}, check->warning ? "warning" : "error",
                 NULL);
    st_book_text(book, (st_spot){book->checks, row, MESSAGE}, check->message, NULL);
    st_book_text(book, (st_spot){book->checks, row, DEFINED}, live->name, NULL);
    st_book_formula(book, truth, live->formula, live->type, live->value);
    st_book_define(book, truth, live->name);
    st_book_said(book, verdict, formula, verdict_of(live->value));
    color_verdicts(book, verdict, row, failing);
    color_operands(book, check->expr, live->name, failing);
}

/* One line on the first sheet: what all checks say together. */
static void write_summary(st_book *book, size_t count)
{
    st_spot spot = {book->cells, SUMMARY_ROW, ST_BOOK_VALUE};
    size_t failing = 0;
    for (size_t i = 0; i < count; i++)
        failing += book->live.checks[i].value == 1.0 ? 0 : 1;
    st_book_text(book, (st_spot){book->cells, SUMMARY_ROW, ST_BOOK_NAME}, "Checks", NULL);
    if (count == 0) {
        st_book_text(book, spot, "the sheet has none", NULL);
        return;
    }
    const char *range = st_arena_printf(
        book->file->arena, "%s:%s", st_book_address(book, "Checks", FIRST_ROW, VERDICT),
        st_book_address(book, NULL, (lxw_row_t)(FIRST_ROW + count - 1), VERDICT));
    const char *formula = st_arena_printf(
        book->file->arena,
        "IF(COUNTIF(%s,\"holds\")=%zu,\"holds\",\"FAILS: \"&(%zu-COUNTIF(%s,\"holds\"))&\" of %zu, "
        "see the sheet Checks\")",
        range, count, count, range, count);
    const char *said =
        failing == 0 ? "holds"
                     : st_arena_printf(book->file->arena, "FAILS: %zu of %zu, see the sheet Checks",
                                       failing, count);
    st_book_said(book, spot, formula, said);
    color_verdicts(book, spot, spot.row, book->formats.bad);
}

void st_book_write_checks(st_book *book)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(book->estimate->sheet, &count);
    st_book_headings(book, (st_spot){book->checks, 0, 0}, headings, COLUMNS);
    for (size_t i = 0; i < count && !book->file->failed; i++)
        write_check(book, &checks[i], &book->live.checks[i], (lxw_row_t)(FIRST_ROW + i));
    write_summary(book, count);
}
