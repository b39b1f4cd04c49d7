/* SPDX-License-Identifier: Apache-2.0 */
/* Running through a space; see sweep.h. */
#include "sweep/sweep.h"

#include "base/error_report.h"
#include "base/memory.h"
#include "base/result.h"
#include "estimate/report.h"
#include "export/xlsx.h"
#include "sheet/type_write.h"
#include "steptime/tool/roles.h"
#include "sweep/threads.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
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

static void write_head(const st_space *space, const st_sweep_options *options,
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
static bool is_visible(const row_view *view, size_t cell)
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
        if (!is_visible(view, i))
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
                if (is_visible(&view, i))
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
                if (is_visible(&view, i)) {
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

enum { TEXT_BYTES = 512 };

struct st_sweep_book {
    const st_space *space;
    st_xlsx_table *table;
    st_xlsx_layout layout;
    st_xlsx_column *columns;
    st_xlsx_field *fields;
    char (*texts)[TEXT_BYTES]; /* per axis */
    st_buffer failed;          /* of the row that is written */
};

st_status st_sweep_book_begin(const st_space *space, const char *path, st_sweep_book **book,
                              st_errors *errors)
{
    size_t count = space->axis_count + space->cell_count;
    st_sweep_book *made = st_arena_alloc(space->arena, 1, sizeof *made);
    if (made == NULL)
        return st_out_of_memory(errors);
    made->space = space;
    made->columns = st_arena_alloc(space->arena, count + 1, sizeof *made->columns);
    made->fields = st_arena_alloc(space->arena, count + 1, sizeof *made->fields);
    made->texts = st_arena_alloc(space->arena, space->axis_count + 1, sizeof *made->texts);
    if (made->columns == NULL || made->fields == NULL || made->texts == NULL)
        return st_out_of_memory(errors);
    const st_space *column_space = made->space;
    for (size_t i = 0; i < column_space->axis_count; i++) {
        made->columns[i].name = column_space->axes[i].axis.path;
        made->columns[i].type = st_space_axis_type(column_space, i);
    }
    for (size_t i = 0; i < column_space->cell_count; i++)
        made->columns[column_space->axis_count + i] =
            (st_xlsx_column){.name = column_space->cells[i], .type = column_space->types[i]};
    size_t column_count = column_space->axis_count + column_space->cell_count;
    made->columns[column_count] = (st_xlsx_column){.name = "failed"};
    made->layout = (st_xlsx_layout){.columns = made->columns,
                                    .count = column_count + (st_sweep_marks(column_space) ? 1 : 0)};
    st_status status = st_xlsx_table_begin(path, &made->layout, space->arena, &made->table, errors);
    if (status == ST_OK)
        *book = made;
    return status;
}

st_status st_sweep_book_take(st_sweep_book *book, const st_space_worker *worker, st_errors *errors)
{
    st_status status = ST_OK;
    for (size_t row = 0; row < worker->rows && status == ST_OK; row++) {
        if (worker->reasons[row] == ST_REASON_NONE) {
            const st_space *space = book->space;
            for (size_t i = 0; i < space->axis_count; i++) {
                uint64_t digit = worker->digits[i][row];
                bool text = book->columns[i].type == NULL;
                book->fields[i] = (st_xlsx_field){
                    .number = text ? 0 : st_space_axis_number(space, i, digit),
                    .text = text ? st_space_value_text(space, i, digit, book->texts[i], TEXT_BYTES)
                                 : NULL};
            }
            for (size_t i = 0; i < space->cell_count; i++)
                book->fields[space->axis_count + i] =
                    (st_xlsx_field){.number = worker->outputs[i][row]};
            book->failed.length = 0;
            if (st_sweep_marks(space))
                (void)st_sweep_failed(worker, row, &book->failed);
            book->fields[space->axis_count + space->cell_count] =
                (st_xlsx_field){.text = book->failed.length > 0 ? book->failed.data : ""};
            status = st_xlsx_table_row(book->table, book->fields, errors);
        }
    }
    return status;
}

st_status st_sweep_book_end(st_sweep_book *book, bool keep, st_errors *errors)
{
    const st_space *space = book->space;
    size_t line = space->axis_count;
    st_xlsx_chart chart = {.title = space->cells[0],
                           .x = space->axis_count - 1,
                           .lines = &line,
                           .line_count = space->types[0]->kind == ST_TYPE_NUMBER ? 1 : 0};
    st_buffer_free(&book->failed);
    if (!keep) {
        st_xlsx_table_drop(book->table);
        return ST_OK;
    }
    return st_xlsx_table_end(book->table, space->axis_count > 0 ? &chart : NULL, errors);
}

typedef struct sweep {
    const st_space *space;
    const st_sweep_options *options;
    const st_sweep_sink *sink;
    st_sweep_result *result;
    st_space_worker **workers; /* per thread */
    st_buffer *buffers;
    int threads;
    st_status status; /* of the first error; written by the thread whose turn it is */
} sweep;

static bool make_workers(sweep *self)
{
    uint64_t blocks = (self->space->rows + ST_SPACE_BLOCK - 1) / ST_SPACE_BLOCK;
    self->threads = st_threads(self->options->threads);
    if (blocks < (uint64_t)self->threads)
        self->threads = blocks > 0 ? (int)blocks : 1;
    self->workers = calloc((size_t)self->threads, sizeof(st_space_worker *));
    self->buffers = calloc((size_t)self->threads, sizeof(st_buffer));
    if (self->workers == NULL || self->buffers == NULL)
        return false;
    for (int i = 0; i < self->threads; i++) {
        self->workers[i] = st_space_worker_create(self->space);
        if (self->workers[i] == NULL)
            return false;
        self->workers[i]->all_checks = st_sweep_marks(self->space);
        self->workers[i]->kept_alone = !self->workers[i]->all_checks && !self->options->all;
    }
    return true;
}

static void compute(sweep *self, int thread, uint64_t first)
{
    uint64_t left = self->space->rows - first;
    size_t rows = left < ST_SPACE_BLOCK ? (size_t)left : ST_SPACE_BLOCK;
    st_buffer *buffer = &self->buffers[thread];
    buffer->length = 0;
    st_space_run(self->workers[thread], first, rows);
    st_sweep_write_rows(self->workers[thread], self->options, buffer);
}

/* What happens in the order of the blocks; true where no further block is wanted. */
static bool take_turn(sweep *self, int thread, uint64_t first)
{
    if (self->sink->interrupted != NULL && *self->sink->interrupted != 0) {
        self->result->interrupted = true;
        return true;
    }
    /* The block's turn to be written. */
    const st_space_worker *worker = self->workers[thread];
    const st_buffer *buffer = &self->buffers[thread];
    st_status status = buffer->failed ? ST_ERR_MEMORY : ST_OK;
    if (status == ST_OK && buffer->length > 0)
        status = self->sink->write(self->sink->context, buffer->data, buffer->length);
    if (status == ST_OK && self->sink->look != NULL)
        status = self->sink->look(self->sink->context, worker, first);
    if (status == ST_OK) {
        st_sweep_result *result = self->result;
        for (size_t row = 0; row < worker->rows; row++) {
            uint32_t reason = worker->reasons[row];
            result->reasons[reason]++;
            result->kept += reason == ST_REASON_NONE ? 1 : 0;
        }
        result->done += worker->rows;
    }
    if (self->sink->progress != NULL)
        self->sink->progress(self->sink->context, self->result->done, self->space->rows);
    self->status = status;
    return self->status != ST_OK;
}

static void run_blocks(sweep *self)
{
    int64_t blocks = (int64_t)((self->space->rows + ST_SPACE_BLOCK - 1) / ST_SPACE_BLOCK);
    atomic_bool stop = false;
#ifdef STEPTIME_HAVE_OPENMP
#pragma omp parallel for ordered schedule(static, 1) num_threads(self->threads)
#endif
    for (int64_t block = 0; block < blocks; block++) {
        int thread = st_thread_number();
        uint64_t first = (uint64_t)block * ST_SPACE_BLOCK;
        if (!atomic_load(&stop))
            compute(self, thread, first);
#ifdef STEPTIME_HAVE_OPENMP
#pragma omp ordered
#endif
        if (!atomic_load(&stop) && take_turn(self, thread, first))
            atomic_store(&stop, true);
    }
}

st_status st_sweep_run(const st_space *space, const st_sweep_options *options,
                       const st_sweep_sink *sink, st_sweep_result *result, st_errors *errors)
{
    sweep self = {.space = space, .options = options, .sink = sink, .result = result};
    st_buffer head = {0};
    *result = (st_sweep_result){
        .reasons = st_arena_alloc(space->arena, st_reason_count(space), sizeof(uint64_t))};
    if (result->reasons == NULL || !make_workers(&self)) {
        self.status = ST_ERR_MEMORY;
        goto cleanup;
    }
    write_head(space, options, errors, &head);
    self.status = head.failed ? ST_ERR_MEMORY : ST_OK;
    if (self.status == ST_OK && head.length > 0)
        self.status = sink->write(sink->context, head.data, head.length);
    if (self.status == ST_OK)
        run_blocks(&self);
cleanup:
    st_buffer_free(&head);
    for (int i = 0; i < self.threads; i++) {
        if (self.workers != NULL)
            st_space_worker_destroy(self.workers[i]);
        if (self.buffers != NULL)
            st_buffer_free(&self.buffers[i]);
    }
    free(self.workers);
    free(self.buffers);
    if (self.status == ST_ERR_MEMORY)
        (void)st_out_of_memory(errors);
    return self.status;
}

void st_sweep_write_reasons(const st_space *space, const st_sweep_result *result, st_buffer *buffer)
{
    uint64_t rejected = result->done - result->kept;
    if (rejected == 0)
        return;
    st_buffer_printf(buffer, "rejected %" PRIu64 " of %" PRIu64 " rows\n", rejected, result->done);
    for (size_t i = 1; i < st_reason_count(space); i++) {
        if (result->reasons[i] == 0)
            continue;
        st_buffer_printf(buffer, "%10" PRIu64 "  %s\n", result->reasons[i],
                         st_or_none(st_reason_sentence(space, i, space->arena)));
    }
}
