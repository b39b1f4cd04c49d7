/* SPDX-License-Identifier: Apache-2.0 */
/* The workbook of an estimate from the inside: what its sheets share. */
#ifndef STEPTIME_EXPORT_XLSX_BOOK_H
#define STEPTIME_EXPORT_XLSX_BOOK_H

#include "estimate/estimate_internal.h"
#include "export/xlsx_file.h"
#include "export/spreadsheet.h"

/* Columns of the sheet with cells; the other sheets have fewer, in the same order. */
enum {
    ST_BOOK_NAME,
    ST_BOOK_VALUE,
    ST_BOOK_UNIT,
    ST_BOOK_DOC,
    ST_BOOK_CITE,
    ST_BOOK_FORMULA,
    ST_BOOK_BASE, /* the live formula */
    ST_BOOK_BASE_UNIT,
    ST_BOOK_DEFINED, /* the name that formulas use */
    ST_BOOK_COLUMNS
};

typedef struct st_book_formats {
    lxw_format *title;
    lxw_format *section;
    lxw_format *heading;
    lxw_format *input;    /* to be changed */
    lxw_format *assumed;  /* a mark */
    lxw_format *provided; /* a value without a formula */
    lxw_format *good;
    lxw_format *bad;
    lxw_format *warning;
} st_book_formats;

typedef struct st_book {
    st_xlsx *file;
    const st_estimate *estimate;
    st_live_sheet live;
    st_book_formats formats;
    lxw_worksheet *cells;
    lxw_worksheet *inputs;
    lxw_worksheet *checks;
    lxw_worksheet *parts;     /* NULL: none are needed */
    lxw_worksheet *provided;  /* NULL */
    lxw_worksheet *functions; /* NULL */
    lxw_worksheet *lists;
    lxw_row_t *input_rows; /* of every input */
    lxw_row_t *cell_rows;
} st_book;

/* A place on a sheet. */
typedef struct st_spot {
    lxw_worksheet *sheet;
    lxw_row_t row;
    lxw_col_t column;
} st_spot;

typedef struct st_heading {
    const char *text;
    double width; /* in characters */
} st_heading;

/* xlsx_write.c */
void st_book_text(st_book *book, st_spot spot, const char *text, lxw_format *format);
/* `formula` without "="; shows `value`, as `type` says, until it is computed anew. */
void st_book_formula(st_book *book, st_spot spot, const char *formula, const st_type *type,
                     double value);
/* A formula that gives a text. */
void st_book_said(st_book *book, st_spot spot, const char *formula, const char *text);
/* Colours the texts from `spot` down to the row `last` that begin with a word. */
void st_book_color(st_book *book, st_spot spot, lxw_row_t last, const char *word,
                   lxw_format *format);
void st_book_rule(st_book *book, st_spot spot, lxw_row_t last, lxw_conditional_format *rule);
/* A value in base units, as formulas read it. */
void st_book_value(st_book *book, st_spot spot, const st_type *type, double value,
                   lxw_format *format);
/* The value of a defined name in its declared unit. */
void st_book_shown(st_book *book, st_spot spot, const char *name, const st_type *type,
                   double value);
/* "x*1000" or "x/1000": between a declared unit and base units. */
const char *st_book_scaled(st_book *book, const char *from, const st_unit *unit, bool to_base);
void st_book_define(st_book *book, st_spot spot, const char *name);
/* A row of headings, above which nothing scrolls away, and the widths of their columns. */
void st_book_headings(st_book *book, st_spot first, const st_heading *headings, size_t count);
/* The unit that a reader sees, "" for a pure number, and the one of formulas. */
const char *st_book_unit(const st_type *type);
const char *st_book_base_unit(st_book *book, const st_type *type);
/* "$B$7", with "Sheet!" in front unless `sheet` is NULL; "" when out of memory. */
const char *st_book_address(st_book *book, const char *sheet, lxw_row_t row, lxw_col_t column);

/* One function per sheet. */
void st_book_write_inputs(st_book *book);
void st_book_write_cells(st_book *book);
void st_book_write_checks(st_book *book);
void st_book_write_parts(st_book *book);
void st_book_write_provided(st_book *book);
void st_book_write_functions(st_book *book);
void st_book_write_lists(st_book *book);
/* "yes" and "no", as a list. */
extern const st_enum st_book_answers;
/* The range of a list's values: "Lists!$B$2:$B$4". */
const char *st_book_list(st_book *book, const st_enum *list);

#endif
