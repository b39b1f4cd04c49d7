/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libxlsxwriter, loaded when a workbook is written: it brings a library of cryptography, and both
 * together would take as long to load as an estimate takes.
 */
#ifndef STEPTIME_EXPORT_XLSX_LIBRARY_H
#define STEPTIME_EXPORT_XLSX_LIBRARY_H

#include "steptime/arena.h"

#include <xlsxwriter.h>

/* What is used of it. */
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

/* Each under its own name, as the library's header declares it. */
typedef struct st_xlsx_library {
    void *handle;
#define ST_XLSX_MEMBER(name) __typeof__(name) *name;
    ST_XLSX_FUNCTIONS(ST_XLSX_MEMBER)
#undef ST_XLSX_MEMBER
} st_xlsx_library;

st_status st_xlsx_library_open(st_xlsx_library *library, st_errors *errors) ST_NODISCARD;
void st_xlsx_library_close(st_xlsx_library *library); /* also one that is not open */

#endif
