/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as workbooks, row by row, with a chart of some columns; see xlsx.h. */
#include "base/memory.h"
#include "base/output.h"
#include "export/xlsx.h"
#include "export/xlsx_file.h"

#include <math.h>
#include <string.h>

enum { HEADINGS = 2, COLUMN_WIDTH = 16 };
static const char sheet_name[] = "Table";

/* One of the two that must come out alike (xlsx_file.h). */
typedef struct copy {
    st_xlsx file;
    lxw_worksheet *sheet;
} copy;

enum { COPIES = 2 };

struct st_xlsx_table {
    copy copies[COPIES];
    st_xlsx_layout layout;
    size_t rows;
};

static const char *unit_of(const st_xlsx_column *column)
{
    bool number = column->type != NULL && column->type->kind == ST_TYPE_NUMBER;
    const char *unit = number ? column->type->unit.text : "";
    return strcmp(unit, "1") == 0 ? "" : unit;
}

static st_status begin_copy(const st_xlsx_table *table, copy *own, const char *path,
                            st_arena *arena, st_errors *errors)
{
    st_status status = st_xlsx_begin(&own->file, path, true, arena, errors);
    if (status != ST_OK)
        return status;
    own->sheet = st_xlsx_sheet(&own->file, sheet_name);
    if (!own->file.failed) {
        lxw_format *bold = st_xlsx_format(&own->file);
        lxw_format *faint = st_xlsx_format(&own->file);
        if (!own->file.failed) {
            const st_xlsx_library *lxw = &own->file.lxw;
            lxw->format_set_bold(bold);
            lxw->format_set_italic(faint);
            lxw->format_set_bottom(faint, LXW_BORDER_THIN);
            lxw->worksheet_freeze_panes(own->sheet, HEADINGS, 0);
            for (size_t i = 0; i < table->layout.count; i++) {
                const st_xlsx_column *column = &table->layout.columns[i];
                lxw_col_t at = (lxw_col_t)i;
                (void)lxw->worksheet_set_column(own->sheet, at, at, COLUMN_WIDTH, NULL);
                st_xlsx_text(&own->file, own->sheet, 0, at, column->name, bold);
            }
            for (size_t i = 0; i < table->layout.count; i++)
                st_xlsx_text(&own->file, own->sheet, 1, (lxw_col_t)i,
                             unit_of(&table->layout.columns[i]), faint);
        }
    }
    st_xlsx_leave(&own->file);
    return ST_OK;
}

st_status st_xlsx_table_begin(const char *path, const st_xlsx_layout *layout, st_arena *arena,
                              st_xlsx_table **table, st_errors *errors)
{
    *table = NULL;
    if (layout->count > ST_XLSX_MAX_COLUMNS)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = path},
                       "too many columns for a spreadsheet" ST_EXPECTED "at most 16,384 columns");
    st_xlsx_table *made = st_arena_alloc(arena, 1, sizeof *made);
    if (made == NULL)
        return st_out_of_memory(errors);
    made->layout = *layout;
    st_status status = ST_OK;
    for (size_t i = 0; i < COPIES && status == ST_OK; i++)
        status = begin_copy(made, &made->copies[i], path, arena, errors);
    if (status == ST_OK)
        *table = made;
    else
        st_xlsx_table_drop(made);
    return status;
}

st_status st_xlsx_table_row(st_xlsx_table *table, const st_xlsx_field *fields, st_errors *errors)
{
    if (table->rows >= ST_XLSX_MAX_ROWS)
        return st_fail(errors, ST_ERR_LIMIT, (st_place){.file = table->copies[0].file.target},
                       "too many rows for a spreadsheet" ST_EXPECTED "at most 1,048,574 rows");
    bool failed = false;
    for (size_t k = 0; k < COPIES; k++) {
        copy *own = &table->copies[k];
        st_xlsx_enter(&own->file);
        for (size_t i = 0; i < table->layout.count && !own->file.failed; i++) {
            const st_xlsx_field *field = &fields[i];
            const st_type *type = table->layout.columns[i].type;
            lxw_row_t row = (lxw_row_t)(table->rows + HEADINGS);
            lxw_col_t at = (lxw_col_t)i;
            if (type != NULL && type->kind == ST_TYPE_NUMBER) {
                st_xlsx_number(&own->file, own->sheet, row, at,
                               st_unit_from_base(&type->unit, field->number), NULL);
                continue;
            }
            char text[ST_QUANTITY_TEXT];
            if (type != NULL && isfinite(field->number))
                st_xlsx_text(&own->file, own->sheet, row, at,
                             st_type_format(type, field->number, ST_STYLE_EXACT, text, sizeof text),
                             NULL);
            else if (type == NULL && field->text != NULL)
                st_xlsx_text(&own->file, own->sheet, row, at, field->text, NULL);
        }
        st_xlsx_leave(&own->file);
        failed = failed || own->file.failed;
    }
    table->rows++;
    return failed ? st_out_of_memory(errors) : ST_OK;
}

/* The library takes what begins with "=" for a formula. */
static const char *plain_name(copy *own, const char *name, const char *unit)
{
    bool has_unit = unit[0] != '\0';
    const char *plain = st_arena_printf(own->file.arena, "%s%s%s%s%s", name[0] == '=' ? " " : "",
                                        name, has_unit ? " [" : "", unit, has_unit ? "]" : "");
    own->file.failed = own->file.failed || plain == NULL;
    return plain;
}

static const char *axis_name(const st_xlsx_table *table, copy *own, size_t index)
{
    const st_xlsx_column *column = &table->layout.columns[index];
    return plain_name(own, column->name, unit_of(column));
}

/* Numbers have their place on the axis; texts and names are spaced evenly. */
static void draw(const st_xlsx_table *table, copy *own, const st_xlsx_chart *chart)
{
    const st_type *across = table->layout.columns[chart->x].type;
    bool numbers = across != NULL && across->kind == ST_TYPE_NUMBER;
    const st_xlsx_library *lxw = &own->file.lxw;
    lxw_chartsheet *sheet = lxw->workbook_add_chartsheet(own->file.workbook, "Chart");
    lxw_chart *drawn = lxw->workbook_add_chart(
        own->file.workbook, numbers ? LXW_CHART_SCATTER_STRAIGHT_WITH_MARKERS : LXW_CHART_LINE);
    if (sheet == NULL || drawn == NULL) {
        own->file.failed = true;
        return;
    }
    for (size_t i = 0; i < chart->line_count; i++) {
        const size_t x = chart->x;
        const size_t y = chart->lines[i];
        lxw_row_t first = HEADINGS;
        lxw_row_t last = (lxw_row_t)(table->rows > 0 ? table->rows + HEADINGS - 1 : HEADINGS);
        lxw_chart_series *line = lxw->chart_add_series(drawn, NULL, NULL);
        if (line == NULL) {
            own->file.failed = true;
            continue;
        }
        lxw_col_t line_across = (lxw_col_t)x;
        lxw_col_t up = (lxw_col_t)y;
        lxw->chart_series_set_categories(line, sheet_name, first, line_across, last, line_across);
        lxw->chart_series_set_values(line, sheet_name, first, up, last, up);
        const char *name = axis_name(table, own, y);
        if (name != NULL)
            lxw->chart_series_set_name(line, name);
    }
    const char *title = plain_name(own, chart->title, "");
    const char *below = axis_name(table, own, chart->x);
    const char *y_name = axis_name(table, own, chart->lines[0]);
    if (own->file.failed)
        return;
    lxw->chart_title_set_name(drawn, title);
    lxw->chart_axis_set_name(drawn->x_axis, below);
    if (chart->line_count == 1)
        lxw->chart_axis_set_name(drawn->y_axis, y_name);
    (void)lxw->chartsheet_set_chart(sheet, drawn);
}

st_status st_xlsx_table_end(st_xlsx_table *table, const st_xlsx_chart *chart, st_errors *errors)
{
    const char *target = table->copies[0].file.target;
    st_buffer bytes[COPIES] = {{0}};
    st_status status = ST_OK;
    for (size_t i = 0; i < COPIES && status == ST_OK; i++) {
        copy *own = &table->copies[i];
        st_xlsx_enter(&own->file);
        if (chart != NULL && chart->line_count > 0 && !own->file.failed)
            draw(table, own, chart);
        status = st_xlsx_pack(&own->file, &bytes[i], errors);
    }
    if (status == ST_OK)
        status = st_xlsx_compare(bytes[0].data, bytes[0].length, &bytes[1], errors);
    if (status == ST_OK)
        status = st_output_write(target, bytes[0].data, bytes[0].length, errors);
    for (size_t i = 0; i < COPIES; i++)
        st_buffer_free(&bytes[i]);
    st_xlsx_table_drop(table);
    return status;
}

void st_xlsx_table_drop(st_xlsx_table *table)
{
    for (size_t i = 0; table != NULL && i < COPIES; i++) {
        st_xlsx *file = &table->copies[i].file;
        if (file->c_locale == (locale_t)0)
            continue; /* it was not begun, or is done */
        st_xlsx_enter(file);
        st_xlsx_drop(file);
    }
}
