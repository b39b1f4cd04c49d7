/* SPDX-License-Identifier: Apache-2.0 */
/* Workbooks where libxlsxwriter was not at hand when steptime was built: a clear word; see xlsx.h.
 */
#include "export/xlsx.h"

#ifndef STEPTIME_HAVE_XLSXWRITER

static st_status left_out(const char *path, st_errors *errors)
{
    return st_fail(errors, ST_ERR_USAGE, (st_place){.file = path},
                   "cannot write a workbook: steptime was built without libxlsxwriter" ST_HINT
                   "install libxlsxwriter-dev and rebuild");
}

st_status st_estimate_write_xlsx(const st_estimate *estimate, const char *path, st_arena *arena,
                                 st_errors *errors)
{
    (void)estimate;
    (void)arena;
    return left_out(path, errors);
}

st_status st_sheet_write_xlsx(const st_sheet *sheet, st_arena *arena, st_buffer *buffer,
                              st_errors *errors)
{
    (void)sheet;
    (void)arena;
    (void)buffer;
    return left_out(NULL, errors);
}

st_status st_xlsx_table_begin(const char *path, const st_xlsx_layout *layout, st_arena *arena,
                              st_xlsx_table **table, st_errors *errors)
{
    (void)layout;
    (void)arena;
    *table = NULL;
    return left_out(path, errors);
}

st_status st_xlsx_table_row(st_xlsx_table *table, const st_xlsx_field *fields, st_errors *errors)
{
    (void)table;
    (void)fields;
    return left_out(NULL, errors);
}

st_status st_xlsx_table_end(st_xlsx_table *table, const st_xlsx_chart *chart, st_errors *errors)
{
    (void)table;
    (void)chart;
    return left_out(NULL, errors);
}

void st_xlsx_table_drop(st_xlsx_table *table)
{
    (void)table;
}

#endif
