/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps as workbooks; see sweep_xlsx.h. */
#include "sweep/sweep_xlsx.h"

#include "base/memory.h"
#include "export/xlsx.h"
#include "sweep/sweep.h"

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
