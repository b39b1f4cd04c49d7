/* SPDX-License-Identifier: Apache-2.0 */
/* What the sheets of an estimate's workbook are written with. */
#include "export/xlsx_book.h"
#include "base/dimension.h"

#include <math.h>
#include <string.h>

static void note(st_book *book, lxw_error fault)
{
    book->file->failed = book->file->failed || fault != LXW_NO_ERROR;
}

static const char *keep(st_book *book, const char *text)
{
    book->file->failed = book->file->failed || text == NULL;
    return text != NULL ? text : "";
}

void st_book_text(st_book *book, st_spot spot, const char *text, lxw_format *format)
{
    if (text != NULL && text[0] != '\0')
        st_xlsx_text(book->file, spot.sheet, spot.row, spot.column, text, format);
}

void st_book_formula(st_book *book, st_spot spot, const char *formula, const st_type *type,
                     double value)
{
    if (formula == NULL) {
        book->file->failed = true;
        return;
    }
    if (!isfinite(value)) {
        note(book, book->file->lxw.worksheet_write_formula_str(spot.sheet, spot.row, spot.column,
                                                               formula, NULL, "#NUM!"));
        return;
    }
    if (type->kind == ST_TYPE_ENUM) {
        char text[ST_QUANTITY_TEXT];
        st_type_format(type, value, ST_STYLE_EXACT, text, sizeof text);
        note(book, book->file->lxw.worksheet_write_formula_str(spot.sheet, spot.row, spot.column,
                                                               formula, NULL, text));
        return;
    }
    note(book, book->file->lxw.worksheet_write_formula_num(spot.sheet, spot.row, spot.column,
                                                           formula, NULL, value));
}

void st_book_said(st_book *book, st_spot spot, const char *formula, const char *text)
{
    if (formula == NULL || text == NULL) {
        book->file->failed = true;
        return;
    }
    note(book, book->file->lxw.worksheet_write_formula_str(spot.sheet, spot.row, spot.column,
                                                           formula, NULL, text));
}

void st_book_rule(st_book *book, st_spot spot, lxw_row_t last, lxw_conditional_format *rule)
{
    lxw_error fault = book->file->lxw.worksheet_conditional_format_range(
        spot.sheet, spot.row, spot.column, last, spot.column, rule);
    book->file->failed = book->file->failed || fault != LXW_NO_ERROR;
}

void st_book_color(st_book *book, st_spot spot, lxw_row_t last, const char *word,
                   lxw_format *format)
{
    char *text = st_arena_printf(book->file->arena, "%s", word);
    lxw_conditional_format rule = {.type = LXW_CONDITIONAL_TYPE_TEXT,
                                   .criteria = LXW_CONDITIONAL_CRITERIA_TEXT_BEGINS_WITH,
                                   .value_string = text,
                                   .format = format};
    if (text == NULL) {
        book->file->failed = true;
        return;
    }
    st_book_rule(book, spot, last, &rule);
}

void st_book_value(st_book *book, st_spot spot, const st_type *type, double value,
                   lxw_format *format)
{
    if (!isfinite(value)) {
        note(book, book->file->lxw.worksheet_write_formula_str(spot.sheet, spot.row, spot.column,
                                                               "NA()", format, "#N/A"));
    } else if (type->kind == ST_TYPE_BOOL) {
        note(book, book->file->lxw.worksheet_write_boolean(spot.sheet, spot.row, spot.column,
                                                           value != 0.0, format));
    } else if (type->kind == ST_TYPE_ENUM) {
        char text[ST_QUANTITY_TEXT];
        st_type_format(type, value, ST_STYLE_EXACT, text, sizeof text);
        st_book_text(book, spot, text, format);
    } else {
        st_xlsx_number(book->file, spot.sheet, spot.row, spot.column, value, format);
    }
}

/* "*1000/8", as st_unit_from_base multiplies. */
static const char *factors(st_book *book, double multiplier, double divisor)
{
    char text[2][ST_QUANTITY_TEXT];
    (void)st_number_format(multiplier, text[0], sizeof text[0]);
    (void)st_number_format(divisor, text[1], sizeof text[1]);
    for (size_t i = 0; i < 2; i++) {
        char *e = strchr(text[i], 'e');
        if (e != NULL)
            *e = 'E';
    }
    return keep(book, st_arena_printf(book->file->arena, "%s%s%s%s", multiplier != 1 ? "*" : "",
                                      multiplier != 1 ? text[0] : "", divisor != 1 ? "/" : "",
                                      divisor != 1 ? text[1] : ""));
}

const char *st_book_scaled(st_book *book, const char *from, const st_unit *unit, bool to_base)
{
    const char *factor = to_base ? factors(book, unit->multiplier, unit->divisor)
                                 : factors(book, unit->divisor, unit->multiplier);
    return keep(book, st_arena_printf(book->file->arena, "%s%s", from, factor));
}

void st_book_shown(st_book *book, st_spot spot, const char *name, const st_type *type, double value)
{
    const char *formula = name;
    double shown = value;
    if (type->kind == ST_TYPE_NUMBER) {
        formula = st_book_scaled(book, name, &type->unit, false);
        shown = st_unit_from_base(&type->unit, value);
    } else if (type->kind == ST_TYPE_BOOL) {
        formula = keep(book, st_arena_printf(book->file->arena, "IF(%s,\"yes\",\"no\")", name));
        if (isfinite(value)) {
            st_book_said(book, spot, formula, value != 0.0 ? "yes" : "no");
            return;
        }
    }
    st_book_formula(book, spot, formula, type, shown);
}

const char *st_book_address(st_book *book, const char *sheet, lxw_row_t row, lxw_col_t column)
{
    char cell[LXW_MAX_CELL_NAME_LENGTH];
    book->file->lxw.lxw_rowcol_to_cell_abs(cell, row, column, LXW_TRUE, LXW_TRUE);
    return keep(book, st_arena_printf(book->file->arena, "%s%s%s", sheet != NULL ? sheet : "",
                                      sheet != NULL ? "!" : "", cell));
}

void st_book_define(st_book *book, st_spot spot, const char *name)
{
    const char *address = st_book_address(book, spot.sheet->name, spot.row, spot.column);
    note(book, book->file->lxw.workbook_define_name(book->file->workbook, name, address));
}

void st_book_headings(st_book *book, st_spot first, const st_heading *headings, size_t count)
{
    const st_xlsx_library *lxw = &book->file->lxw;
    for (size_t i = 0; i < count; i++) {
        lxw_col_t column = (lxw_col_t)(first.column + i);
        st_book_text(book, (st_spot){first.sheet, first.row, column}, headings[i].text,
                     book->formats.heading);
        note(book, lxw->worksheet_set_column(first.sheet, column, column, headings[i].width, NULL));
    }
    lxw->worksheet_freeze_panes(first.sheet, first.row + 1, 1);
    lxw->worksheet_set_landscape(first.sheet);
    lxw->worksheet_fit_to_pages(first.sheet, 1, 0);
    note(book, lxw->worksheet_repeat_rows(first.sheet, first.row, first.row));
}

const char *st_book_unit(const st_type *type)
{
    const char *unit = type->kind == ST_TYPE_NUMBER ? type->unit.text : "";
    return strcmp(unit, "1") == 0 ? "" : unit;
}

const char *st_book_base_unit(st_book *book, const st_type *type)
{
    char text[ST_QUANTITY_TEXT];
    if (type->kind != ST_TYPE_NUMBER || st_dimension_is_number(type->unit.dimension))
        return "";
    return keep(book, st_arena_printf(book->file->arena, "%s",
                                      st_dimension_text(type->unit.dimension, text, sizeof text)));
}
