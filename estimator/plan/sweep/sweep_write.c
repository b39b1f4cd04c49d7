/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a sweep as a table for people, CSV or lines of JSON. */
#include "sweep/sweep.h"

#include "base/error_report.h"
#include "base/result.h"
#include "steptime/tool/roles.h"
#include "sheet/type_write.h"
#include "estimate/report.h"

#include <math.h>
#include <string.h>

enum { VALUE_TEXT = 512, COLUMN_WIDTH = 10 };

/* --- heads ----------------------------------------------------------------------------------- */

static void write_csv_name(const char *name, const char *unit, bool first, st_buffer *buffer)
{
    char text[VALUE_TEXT];
    bool has_unit = unit[0] != '\0' && strcmp(unit, "1") != 0;
    (void)snprintf(text, sizeof text, has_unit ? "%s [%s]" : "%s", name, unit);
    st_buffer_text(buffer, first ? "" : ",");
    st_buffer_csv_field(buffer, text);
}

static const char *cell_unit(const st_type *type)
{
    return type->kind == ST_TYPE_NUMBER ? type->unit.text : "";
}

static void put_column(st_node *list, const char *name, const char *unit)
{
    st_node *column = st_put_map(list, NULL);
    st_put_text(column, "name", name);
    st_put_text(column, "unit", unit);
}

static size_t width_of(const char *name)
{
    size_t length = strlen(name);
    return length > COLUMN_WIDTH ? length : COLUMN_WIDTH;
}

/* Names of files and of enumerations are as wide as they are; a number fits. */
static size_t axis_width(const st_space *space, size_t axis)
{
    const st_space_axis *own = &space->axes[axis];
    size_t width = width_of(own->axis.path);
    return own->text_width > width ? own->text_width : width;
}

static void write_padded(const char *text, size_t width, bool first, st_buffer *buffer)
{
    st_buffer_printf(buffer, "%s%*s", first ? "" : "  ", (int)width, text);
}

void st_sweep_write_head(const st_space *space, const st_sweep_options *options,
                         const st_errors *errors, st_buffer *buffer)
{
    switch (options->format) {
    case ST_SWEEP_TEXT: {
        const bool all = options->all;
        for (size_t i = 0; i < space->refine_count; i++)
            st_buffer_printf(buffer, "refine  %s\n", space->refine[i]);
        st_buffer_text(buffer, space->refine_count > 0 ? "\n" : "");
        for (size_t i = 0; i < space->axis_count; i++) {
            const char *name = space->axes[i].axis.path;
            write_padded(name, axis_width(space, i), i == 0, buffer);
        }
        for (size_t i = 0; i < space->cell_count; i++)
            write_padded(space->cells[i], width_of(space->cells[i]), space->axis_count + i == 0,
                         buffer);
        st_buffer_text(buffer, st_sweep_marks(space) ? "  failed" : "");
        st_buffer_text(buffer, all ? "  rejected\n" : "\n");
        break;
    }
    case ST_SWEEP_CSV: {
        const bool all = options->all;
        for (size_t i = 0; i < space->axis_count; i++)
            write_csv_name(space->axes[i].axis.path, st_space_axis_unit(space, i), i == 0, buffer);
        for (size_t i = 0; i < space->cell_count; i++)
            write_csv_name(space->cells[i], cell_unit(space->types[i]), space->axis_count + i == 0,
                           buffer);
        st_buffer_text(buffer, st_sweep_marks(space) ? ",fits,failed" : "");
        st_buffer_text(buffer, all ? ",rejected\n" : "\n");
        break;
    }
    case ST_SWEEP_JSON: {
        /* A line that says what the lines of the rows hold. */
        st_result result;
        st_node *root = st_result_begin(&result, space->arena);
        st_put_text(root, "job", st_job_name(space->base.job));
        st_put_text(root, "sheet", st_sheet_name(space->base.sheet));
        st_put_texts(root, "refine", space->refine, space->refine_count);
        st_node *axes = st_put_list(root, "axes");
        for (size_t i = 0; i < space->axis_count; i++) {
            const char *unit = st_space_axis_unit(space, i);
            put_column(axes, space->axes[i].axis.path, unit[0] != '\0' ? unit : "1");
        }
        st_node *cells = st_put_list(root, "cells");
        for (size_t i = 0; i < space->cell_count; i++)
            put_column(cells, space->cells[i], st_type_unit_text(space->types[i]));
        st_warnings_put(errors, root);
        st_node_write_line(root, buffer);
        buffer->failed = buffer->failed || result.failed;
        break;
    }
    case ST_SWEEP_NOTHING:
        break;
    }
}

/* --- rows ------------------------------------------------------------------------------------ */

/* One row of what a worker holds. */
typedef struct row_view {
    const st_space_worker *worker;
    const st_space *space;
    size_t row;
    bool all;
} row_view;

static const char *axis_text(const row_view *view, size_t axis, char *text)
{
    return st_space_value_text(view->space, axis, view->worker->digits[axis][view->row], text,
                               VALUE_TEXT);
}

static size_t reason_of(const row_view *view)
{
    return view->worker->reasons[view->row];
}

/* Numbers mean something in a row that is kept, and in one that exceeds a limit. */
static bool stands(const row_view *view, size_t cell)
{
    size_t count = 0;
    size_t reason = reason_of(view);
    const st_sheet_check *checks = st_sheet_checks(view->space->sheet, &count);
    double value = view->worker->outputs[cell][view->row];
    if (reason == ST_REASON_NONE)
        return !isnan(st_sheet_known(view->space->sheet, view->space->cells[cell], value));
    return reason <= count && checks[reason - 1].limit &&
           isfinite(st_sheet_known(view->space->sheet, view->space->cells[cell], value));
}

bool st_sweep_failed(const st_space_worker *worker, size_t row, st_buffer *text)
{
    const st_space *space = worker->space;
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(space->sheet, &count);
    bool fits = true;
    for (size_t i = 0; st_sweep_marks(space) && i < count; i++) {
        if (checks[i].warning || worker->checks[i][row] != 0.0)
            continue;
        fits = fits && !checks[i].limit;
        st_buffer_printf(text, "%s%s", text->length > 0 ? "; " : "",
                         st_reason_text(space, (uint32_t)(i + 1)));
    }
    return fits;
}

/* Whether a row exceeds no limit, and the checks that it fails, in the form of its columns. */
static void write_failed(const row_view *view, st_sweep_format format, st_buffer *buffer)
{
    st_buffer text = {0};
    if (!st_sweep_marks(view->space))
        return;
    bool fits = st_sweep_failed(view->worker, view->row, &text);
    if (format == ST_SWEEP_CSV) {
        st_buffer_text(buffer, fits ? ",true," : ",false,");
        st_buffer_csv_field(buffer, st_buffer_read(&text));
    } else if (format == ST_SWEEP_JSON) {
        st_buffer_text(buffer, fits ? ", \"fits\": true" : ", \"fits\": false");
        st_buffer_text(buffer, ", \"failed\": ");
        st_buffer_json_string(buffer, st_buffer_read(&text));
    } else {
        st_buffer_printf(buffer, "  %s", text.length > 0 ? text.data : "-");
    }
    st_buffer_end(&text, &buffer->failed);
}

static void write_json_row(const row_view *view, st_buffer *buffer)
{
    const st_space *space = view->space;
    char text[VALUE_TEXT];
    st_buffer_text(buffer, "{");
    for (size_t i = 0; i < space->axis_count; i++) {
        st_buffer_text(buffer, i == 0 ? "" : ", ");
        st_buffer_json_string(buffer, space->axes[i].axis.path);
        st_buffer_text(buffer, ": ");
        const char *value = axis_text(view, i, text);
        const st_space_axis *axis = &space->axes[i];
        const st_key *key = axis->axis.key;
        bool named = key != NULL && (key->kind == ST_KEY_ENUM || key->kind == ST_KEY_TEXT);
        if (axis->has_numbers && !named && (axis->type == NULL || axis->type->kind != ST_TYPE_ENUM))
            st_buffer_text(buffer, value);
        else
            st_buffer_json_string(buffer, value);
    }
    for (size_t i = 0; i < space->cell_count; i++) {
        st_buffer_text(buffer, space->axis_count + i == 0 ? "" : ", ");
        st_buffer_json_string(buffer, space->cells[i]);
        st_buffer_text(buffer, ": ");
        st_exact_text(space->types[i], view->worker->outputs[i][view->row], text, sizeof text);
        if (!stands(view, i))
            st_buffer_text(buffer, "null");
        else if (space->types[i]->kind == ST_TYPE_ENUM)
            st_buffer_json_string(buffer, text);
        else
            st_buffer_text(buffer, text);
    }
    write_failed(view, ST_SWEEP_JSON, buffer);
    if (view->all && reason_of(view) != ST_REASON_NONE) {
        st_buffer_text(buffer, ", \"rejected\": ");
        st_buffer_json_string(buffer, st_reason_text(space, reason_of(view)));
    } else if (view->all) {
        st_buffer_text(buffer, ", \"rejected\": null");
    }
    st_buffer_text(buffer, "}\n");
}

void st_sweep_write_rows(const st_space_worker *worker, const st_sweep_options *options,
                         st_buffer *buffer)
{
    row_view view = {.worker = worker, .space = worker->space, .all = options->all};
    for (view.row = 0; view.row < worker->rows; view.row++) {
        if (!options->all && worker->reasons[view.row] != ST_REASON_NONE)
            continue;
        switch (options->format) {
        case ST_SWEEP_TEXT: {
            const st_space *space = view.space;
            char text[VALUE_TEXT];
            for (size_t i = 0; i < space->axis_count; i++) {
                char shown[2 * VALUE_TEXT];
                const char *unit = st_space_axis_unit(space, i);
                (void)snprintf(shown, sizeof shown, "%s%s%s", axis_text(&view, i, text),
                               unit[0] != '\0' ? " " : "", unit);
                write_padded(shown, axis_width(space, i), i == 0, buffer);
            }
            for (size_t i = 0; i < space->cell_count; i++) {
                const char *shown = "-";
                if (stands(&view, i))
                    shown = st_type_format(space->types[i], view.worker->outputs[i][view.row],
                                           ST_STYLE_SCALED, text, sizeof text);
                write_padded(shown, width_of(space->cells[i]), space->axis_count + i == 0, buffer);
            }
            write_failed(&view, ST_SWEEP_TEXT, buffer);
            if (view.all && reason_of(&view) != ST_REASON_NONE)
                st_buffer_printf(buffer, "  %s", st_reason_text(space, reason_of(&view)));
            st_buffer_text(buffer, "\n");
            break;
        }
        case ST_SWEEP_CSV: {
            const st_space *space = view.space;
            char text[VALUE_TEXT];
            for (size_t i = 0; i < space->axis_count; i++) {
                st_buffer_text(buffer, i == 0 ? "" : ",");
                st_buffer_csv_field(buffer, axis_text(&view, i, text));
            }
            for (size_t i = 0; i < space->cell_count; i++) {
                st_buffer_text(buffer, space->axis_count + i == 0 ? "" : ",");
                if (stands(&view, i)) {
                    st_exact_text(space->types[i], view.worker->outputs[i][view.row], text,
                                  sizeof text);
                    st_buffer_csv_field(buffer, text);
                }
            }
            write_failed(&view, ST_SWEEP_CSV, buffer);
            if (view.all) {
                st_buffer_text(buffer, ",");
                st_buffer_csv_field(buffer, st_reason_text(space, reason_of(&view)));
            }
            st_buffer_text(buffer, "\n");
            break;
        }
        case ST_SWEEP_JSON:
            write_json_row(&view, buffer);
            break;
        case ST_SWEEP_NOTHING:
            break;
        }
    }
}
