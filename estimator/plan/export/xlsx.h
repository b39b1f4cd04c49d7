/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workbooks: an estimate whose formulas live, and tables with a chart. docs/spreadsheet.md says
 * which sheet holds what.
 *
 * Without libxlsxwriter these functions report that steptime was built without it (ST_ERR_USAGE).
 */
#ifndef STEPTIME_EXPORT_XLSX_H
#define STEPTIME_EXPORT_XLSX_H

#include "estimate/estimate_internal.h"

/*
 * Writes an estimate that was run: its inputs, every cell of its sheet and its checks, as formulas
 * over defined names that compute what steptime computes when an input is changed. The file is
 * whole or stays as it was, and depends on nothing but the estimate.
 */
st_status st_estimate_write_xlsx(const st_estimate *estimate, const char *path, st_arena *arena,
                                 st_errors *errors) ST_NODISCARD;

/*
 * Appends such a workbook of a sheet alone: the inputs have the sheet's defaults, and those that
 * have none are to be filled in.
 */
st_status st_sheet_write_xlsx(const st_sheet *sheet, st_arena *arena, st_buffer *buffer,
                              st_errors *errors) ST_NODISCARD;

/* ---- tables ---- */

typedef struct st_xlsx_column {
    const char *name;    /* the heading; its unit is below it */
    const st_type *type; /* NULL: texts; else how values in base units are shown */
} st_xlsx_column;

typedef struct st_xlsx_layout {
    const st_xlsx_column *columns;
    size_t count;
} st_xlsx_layout;

/* Lines over a column, on a sheet of their own. */
typedef struct st_xlsx_chart {
    const char *title;
    size_t x;            /* index of a column */
    const size_t *lines; /* indices of columns of numbers */
    size_t line_count;   /* 0: no chart */
} st_xlsx_chart;

/* A field of a row: `text` in columns of texts, else `number`; a number that is not finite leaves
 * the field empty. */
typedef struct st_xlsx_field {
    double number;
    const char *text;
} st_xlsx_field;

enum {
    ST_XLSX_MAX_ROWS = 1048574, /* 1,048,576 of a spreadsheet without headings and units */
    ST_XLSX_MAX_COLUMNS = 16384
};

typedef struct st_xlsx_table st_xlsx_table;

/*
 * Begins a table; rows follow one by one and are not kept in memory. The layout with its names and
 * types must live until the end. One thread writes a table; between these calls it may do what it
 * likes. ST_ERR_LIMIT for more columns than ST_XLSX_MAX_COLUMNS.
 */
st_status st_xlsx_table_begin(const char *path, const st_xlsx_layout *layout, st_arena *arena,
                              st_xlsx_table **table, st_errors *errors) ST_NODISCARD;
/* One field per column. ST_ERR_LIMIT beyond ST_XLSX_MAX_ROWS. */
st_status st_xlsx_table_row(st_xlsx_table *table, const st_xlsx_field *fields,
                            st_errors *errors) ST_NODISCARD;
/* Writes the file, with a chart unless `chart` is NULL; the table is gone afterwards. */
st_status st_xlsx_table_end(st_xlsx_table *table, const st_xlsx_chart *chart,
                            st_errors *errors) ST_NODISCARD;
/* Gives up a table that was begun; NULL is fine. */
void st_xlsx_table_drop(st_xlsx_table *table);

#endif
