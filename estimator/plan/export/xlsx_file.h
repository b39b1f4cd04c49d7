/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A workbook on its way to a file.
 *
 * libxlsxwriter writes files by name and prints numbers by the locale, so a workbook is made in a
 * folder of its own for temporary files, under the C locale, looked over, and only then written as
 * every output is: to a temporary file, then renamed. Equal contents give equal bytes.
 *
 * The library does not check its allocations: some of its failures silently leave a part out
 * of a faultless file. Hence every workbook is made twice, and is one only where both are the same.
 */
#ifndef STEPTIME_EXPORT_XLSX_FILE_H
#define STEPTIME_EXPORT_XLSX_FILE_H

#include "base/guard.h"
#include "steptime/arena.h"

#include <locale.h>
#include <xlsxwriter.h>

/*
 * Functions of libxlsxwriter. It is loaded when a workbook is written: with the library of
 * cryptography that it needs it takes as long to load as an estimate takes.
 */
/* clang-format off */
#define ST_XLSX_FUNCTIONS(X)                                                                       \
    X(chart_add_series) X(chart_axis_set_name) X(chart_series_set_categories)                      \
    X(chart_series_set_name) X(chart_series_set_values) X(chart_title_set_name)                    \
    X(chartsheet_set_chart) X(format_set_bg_color) X(format_set_bold) X(format_set_border)         \
    X(format_set_border_color) X(format_set_bottom) X(format_set_font_color)                       \
    X(format_set_font_size) X(format_set_italic) X(format_set_pattern) X(lxw_rowcol_to_cell_abs)   \
    X(lxw_strerror) X(lxw_workbook_free) X(workbook_add_chart) X(workbook_add_chartsheet)          \
    X(workbook_add_format) X(workbook_add_worksheet) X(workbook_close) X(workbook_define_name)     \
    X(workbook_new_opt) X(workbook_set_properties) X(worksheet_conditional_format_range)           \
    X(worksheet_data_validation_cell) X(worksheet_fit_to_pages) X(worksheet_freeze_panes)          \
    X(worksheet_repeat_rows) X(worksheet_set_column) X(worksheet_set_landscape)                    \
    X(worksheet_write_blank) X(worksheet_write_boolean) X(worksheet_write_formula_num)             \
    X(worksheet_write_formula_str) X(worksheet_write_number) X(worksheet_write_string)
/* clang-format on */

typedef struct st_xlsx_library {
#define ST_XLSX_MEMBER(name) __typeof__(name) *name;
    ST_XLSX_FUNCTIONS(ST_XLSX_MEMBER)
#undef ST_XLSX_MEMBER
} st_xlsx_library;

typedef struct st_xlsx {
    st_xlsx_library lxw;
    lxw_workbook *workbook;
    st_arena *arena;
    const char *target;
    const char *folder;  /* for temporary files */
    const char *scratch; /* the workbook in it */
    locale_t c_locale;
    locale_t locale; /* the caller's */
    st_guard guard;  /* names the library where it crashes, as it does when memory runs out */
    bool failed;     /* out of memory, or a call of the library failed */
} st_xlsx;

/*
 * `streaming`: every sheet is written row by row from top to bottom and no row is kept. From here
 * to st_xlsx_pack or st_xlsx_drop this thread runs under the C locale; a caller that goes elsewhere
 * in between leaves and enters again.
 */
st_status st_xlsx_begin(st_xlsx *file, const char *target, bool streaming, st_arena *arena,
                        st_errors *errors) ST_NODISCARD;
void st_xlsx_enter(st_xlsx *file);
void st_xlsx_leave(st_xlsx *file);
/* Appends the bytes of the file, and is done with it. */
st_status st_xlsx_pack(st_xlsx *file, st_buffer *bytes, st_errors *errors) ST_NODISCARD;
/* Whether the bytes of a workbook are those of the same made again; else memory was lacking. */
st_status st_xlsx_compare(const char *data, size_t length, const st_buffer *again,
                          st_errors *errors) ST_NODISCARD;
/* Gives up; after st_xlsx_pack nothing is left to do. */
void st_xlsx_drop(st_xlsx *file);

/* A sheet of that name; NULL (and file->failed) when it cannot be had. */
lxw_worksheet *st_xlsx_sheet(st_xlsx *file, const char *name);
lxw_format *st_xlsx_format(st_xlsx *file);

/* Texts stay texts, whatever they begin with; what is longer than a cell takes is cut. */
void st_xlsx_text(st_xlsx *file, lxw_worksheet *sheet, lxw_row_t row, lxw_col_t column,
                  const char *text, lxw_format *format);
/* NaN leaves the cell empty. */
void st_xlsx_number(st_xlsx *file, lxw_worksheet *sheet, lxw_row_t row, lxw_col_t column,
                    double value, lxw_format *format);

/*
 * Whether a ZIP file is complete: every part unpacks to its size and is well-formed XML with as
 * many children as its elements declare, and rows and cells follow each other. libxlsxwriter does
 * not check its temporary files: on a full disk a part may end early or lack a block.
 */
bool st_xlsx_is_whole(const char *data, size_t length);

#endif
