/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as workbooks, row by row, with a chart of some columns; see xlsx.h. */
#include "base/memory.h"
#include "export/xlsx.h"
#include "export/xlsx_file.h"

#include <math.h>
#include <string.h>

enum { HEADINGS = 2, COLUMN_WIDTH = 16 };
static const char sheet_name[] = "Table";

struct st_xlsx_table {
    st_xlsx file;
    st_xlsx_layout layout;
    lxw_worksheet *sheet;
    size_t rows;
};

static const char *unit_of(const st_xlsx_column *column)
{
    bool number = column->type != NULL && column->type->kind == ST_TYPE_NUMBER;
    const char *unit = number ? column->type->unit.text : "";
    return strcmp(unit, "1") == 0 ? "" : unit;
}

static void write_headings(st_xlsx_table *table)
{
    lxw_format *bold = st_xlsx_format(&table->file);
    lxw_format *faint = st_xlsx_format(&table->file);
    if (table->file.failed)
        return;
    const st_xlsx_library *lxw = &table->file.lxw;
    lxw->format_set_bold(bold);
    lxw->format_set_italic(faint);
    lxw->format_set_bottom(faint, LXW_BORDER_THIN);
    lxw->worksheet_freeze_panes(table->sheet, HEADINGS, 0);
    for (size_t i = 0; i < table->layout.count; i++) {
        const st_xlsx_column *column = &table->layout.columns[i];
        lxw_col_t at = (lxw_col_t)i;
        (void)lxw->worksheet_set_column(table->sheet, at, at, COLUMN_WIDTH, NULL);
        st_xlsx_text(&table->file, table->sheet, 0, at, column->name, bold);
    }
    for (size_t i = 0; i < table->layout.count; i++)
        st_xlsx_text(&table->file, table->sheet, 1, (lxw_col_t)i,
                     unit_of(&table->layout.columns[i]), faint);
}

st_status st_xlsx_table_begin(const char *path, const st_xlsx_layout *layout, st_arena *arena,
                              st_xlsx_table **table, st_errors *errors)
{
    *table = NULL;
    if (layout->count > ST_XLSX_MAX_COLUMNS)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = path},
                       "the table has too many columns for a spreadsheet" ST_EXPECTED
                       "at most 16,384 columns");
    st_xlsx_table *made = st_arena_alloc(arena, 1, sizeof *made);
    if (made == NULL)
        return st_out_of_memory(errors);
    made->layout = *layout;
    st_status status = st_xlsx_begin(&made->file, path, true, arena, errors);
    if (status != ST_OK)
        return status;
    made->sheet = st_xlsx_sheet(&made->file, sheet_name);
    if (!made->file.failed)
        write_headings(made);
    st_xlsx_leave(&made->file);
    *table = made;
    return ST_OK;
}

static void write_field(st_xlsx_table *table, size_t column, const st_xlsx_field *field)
{
    const st_type *type = table->layout.columns[column].type;
    lxw_row_t row = (lxw_row_t)(table->rows + HEADINGS);
    lxw_col_t at = (lxw_col_t)column;
    if (type != NULL && type->kind == ST_TYPE_NUMBER) {
        st_xlsx_number(&table->file, table->sheet, row, at,
                       st_unit_from_base(&type->unit, field->number), NULL);
        return;
    }
    char text[ST_QUANTITY_TEXT];
    if (type != NULL && isfinite(field->number))
        st_xlsx_text(&table->file, table->sheet, row, at,
                     st_type_format(type, field->number, ST_STYLE_EXACT, text, sizeof text), NULL);
    else if (type == NULL && field->text != NULL)
        st_xlsx_text(&table->file, table->sheet, row, at, field->text, NULL);
}

st_status st_xlsx_table_row(st_xlsx_table *table, const st_xlsx_field *fields, st_errors *errors)
{
    if (table->rows >= ST_XLSX_MAX_ROWS)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = table->file.target},
                       "the table has too many rows for a spreadsheet" ST_EXPECTED
                       "at most 1,048,574 rows");
    st_xlsx_enter(&table->file);
    for (size_t i = 0; i < table->layout.count && !table->file.failed; i++)
        write_field(table, i, &fields[i]);
    st_xlsx_leave(&table->file);
    table->rows++;
    if (table->file.failed)
        return st_out_of_memory(errors);
    return ST_OK;
}

/* The library takes what begins with "=" for a formula. */
static const char *plain_name(st_xlsx_table *table, const char *name, const char *unit)
{
    bool has_unit = unit[0] != '\0';
    const char *plain = st_arena_printf(table->file.arena, "%s%s%s%s%s", name[0] == '=' ? " " : "",
                                        name, has_unit ? " [" : "", unit, has_unit ? "]" : "");
    table->file.failed = table->file.failed || plain == NULL;
    return plain;
}

static const char *axis_name(st_xlsx_table *table, size_t index)
{
    const st_xlsx_column *column = &table->layout.columns[index];
    return plain_name(table, column->name, unit_of(column));
}

static void add_line(st_xlsx_table *table, lxw_chart *drawn, size_t x, size_t y)
{
    const st_xlsx_library *lxw = &table->file.lxw;
    lxw_row_t first = HEADINGS;
    lxw_row_t last = (lxw_row_t)(table->rows > 0 ? table->rows + HEADINGS - 1 : HEADINGS);
    lxw_chart_series *line = lxw->chart_add_series(drawn, NULL, NULL);
    if (line == NULL) {
        table->file.failed = true;
        return;
    }
    lxw_col_t across = (lxw_col_t)x;
    lxw_col_t up = (lxw_col_t)y;
    lxw->chart_series_set_categories(line, sheet_name, first, across, last, across);
    lxw->chart_series_set_values(line, sheet_name, first, up, last, up);
    const char *name = axis_name(table, y);
    if (name != NULL)
        lxw->chart_series_set_name(line, name);
}

/* Numbers stand where they belong; texts and names stand side by side. */
static void draw(st_xlsx_table *table, const st_xlsx_chart *chart)
{
    const st_type *across = table->layout.columns[chart->x].type;
    bool numbers = across != NULL && across->kind == ST_TYPE_NUMBER;
    const st_xlsx_library *lxw = &table->file.lxw;
    lxw_chartsheet *sheet = lxw->workbook_add_chartsheet(table->file.workbook, "Chart");
    lxw_chart *drawn = lxw->workbook_add_chart(
        table->file.workbook, numbers ? LXW_CHART_SCATTER_STRAIGHT_WITH_MARKERS : LXW_CHART_LINE);
    if (sheet == NULL || drawn == NULL) {
        table->file.failed = true;
        return;
    }
    for (size_t i = 0; i < chart->line_count; i++)
        add_line(table, drawn, chart->x, chart->lines[i]);
    const char *title = plain_name(table, chart->title, "");
    const char *below = axis_name(table, chart->x);
    const char *beside = axis_name(table, chart->lines[0]);
    if (table->file.failed)
        return;
    lxw->chart_title_set_name(drawn, title);
    lxw->chart_axis_set_name(drawn->x_axis, below);
    if (chart->line_count == 1)
        lxw->chart_axis_set_name(drawn->y_axis, beside);
    (void)lxw->chartsheet_set_chart(sheet, drawn);
}

st_status st_xlsx_table_end(st_xlsx_table *table, const st_xlsx_chart *chart, st_errors *errors)
{
    st_xlsx_enter(&table->file);
    if (chart != NULL && chart->line_count > 0 && !table->file.failed)
        draw(table, chart);
    return st_xlsx_end(&table->file, errors);
}

void st_xlsx_table_drop(st_xlsx_table *table)
{
    if (table == NULL)
        return;
    st_xlsx_enter(&table->file);
    st_xlsx_drop(&table->file);
}
