/* SPDX-License-Identifier: Apache-2.0 */
/* The workbook of an estimate; see xlsx.h. */
#include "export/xlsx.h"

#include "base/memory.h"
#include "base/output.h"
#include "export/xlsx_book.h"

#include <math.h>

static lxw_format *filled(st_book *book, lxw_color_t background, lxw_color_t ink)
{
    lxw_format *format = st_xlsx_format(book->file);
    if (format == NULL)
        return NULL;
    const st_xlsx_library *lxw = &book->file->lxw;
    lxw->format_set_bg_color(format, background);
    lxw->format_set_pattern(format, LXW_PATTERN_SOLID);
    lxw->format_set_font_color(format, ink);
    return format;
}

static bool has_calls(const st_book *book, bool wanted)
{
    size_t count = 0;
    bool any = false;
    (void)st_sheet_cells(book->estimate->sheet, &count);
    for (size_t i = 0; i < count && wanted; i++)
        any = any || book->live.cells[i].call != NULL;
    for (size_t i = 0; i < book->live.part_count; i++)
        any = any || (book->live.parts[i].call != NULL) == wanted;
    return any;
}

/* A workbook with all its sheets, ready to be written. */
static st_status fill(st_book *book, const char *target, st_arena *arena, st_errors *errors)
{
    const st_estimate *estimate = book->estimate;
    size_t cell_count = 0;
    (void)st_sheet_cells(estimate->sheet, &cell_count);
    book->input_rows = st_arena_alloc(arena, estimate->input_count + 1, sizeof *book->input_rows);
    book->cell_rows = st_arena_alloc(arena, cell_count + 1, sizeof *book->cell_rows);
    if (book->input_rows == NULL || book->cell_rows == NULL)
        return st_out_of_memory(errors);
    st_status status =
        st_live_translate(estimate->program, estimate->input_values, arena, &book->live, errors);
    if (status == ST_OK)
        status = st_xlsx_begin(book->file, target, false, arena, errors);
    if (status != ST_OK)
        return status;
    st_book_formats *formats = &book->formats;
    formats->title = st_xlsx_format(book->file);
    formats->section = st_xlsx_format(book->file);
    formats->heading = filled(book, 0xD9E1F2, LXW_COLOR_BLACK);
    formats->input = filled(book, 0xFFF2CC, LXW_COLOR_BLACK);
    formats->assumed = filled(book, 0xFCE4D6, LXW_COLOR_BLACK);
    formats->provided = filled(book, 0xE7E6E6, LXW_COLOR_BLACK);
    formats->good = filled(book, 0xC6EFCE, 0x006100);
    formats->bad = filled(book, 0xFFC7CE, 0x9C0006);
    formats->warning = filled(book, 0xFFEB9C, 0x9C5700);
    if (!book->file->failed) {
        const st_xlsx_library *lxw = &book->file->lxw;
        lxw->format_set_bold(formats->title);
        lxw->format_set_font_size(formats->title, 14);
        lxw->format_set_bold(formats->section);
        lxw->format_set_bold(formats->heading);
        lxw->format_set_border(formats->input, LXW_BORDER_THIN);
        lxw->format_set_border_color(formats->input, LXW_COLOR_SILVER);
    }
    if (!book->file->failed) {
        static void (*const writers[])(st_book *) = {
            st_book_write_inputs,   st_book_write_cells, st_book_write_checks,
            st_book_write_provided, st_book_write_parts, st_book_write_functions,
            st_book_write_lists,
        };
        /* Sheets in the order of their tabs; those that would be empty are left out. */
        size_t functions = 0;
        (void)st_sheet_functions(book->estimate->sheet, &functions);
        book->cells = st_xlsx_sheet(book->file, "Estimate");
        book->inputs = st_xlsx_sheet(book->file, "Inputs");
        book->checks = st_xlsx_sheet(book->file, "Checks");
        book->provided = has_calls(book, true) ? st_xlsx_sheet(book->file, "Provided") : NULL;
        book->parts = has_calls(book, false) ? st_xlsx_sheet(book->file, "Parts") : NULL;
        book->functions = functions > 0 ? st_xlsx_sheet(book->file, "Functions") : NULL;
        book->lists = st_xlsx_sheet(book->file, "Lists");
        for (size_t i = 0; i < ST_COUNT(writers) && !book->file->failed; i++)
            writers[i](book);
    }
    return ST_OK;
}

static st_status make(const st_estimate *estimate, const char *target, st_arena *arena,
                      st_buffer *bytes, st_errors *errors)
{
    st_xlsx file = {0};
    st_book book = {.file = &file, .estimate = estimate};
    st_status status = fill(&book, target, arena, errors);
    return status == ST_OK ? st_xlsx_pack(&file, bytes, errors) : status;
}

/* Appends the bytes of the file. */
static st_status make_twice(const st_estimate *estimate, const char *target, st_arena *arena,
                            st_buffer *bytes, st_errors *errors)
{
    st_buffer again = {0};
    size_t before = bytes->length;
    st_status status = make(estimate, target, arena, bytes, errors);
    if (status == ST_OK)
        status = make(estimate, target, arena, &again, errors);
    if (status == ST_OK)
        status = st_xlsx_compare(bytes->data + before, bytes->length - before, &again, errors);
    st_buffer_free(&again);
    return status;
}

st_status st_estimate_write_xlsx(const st_estimate *estimate, const char *path, st_arena *arena,
                                 st_errors *errors)
{
    st_buffer bytes = {0};
    st_status status = make_twice(estimate, path, arena, &bytes, errors);
    if (status == ST_OK)
        status = st_output_write(path, bytes.data, bytes.length, errors);
    st_buffer_free(&bytes);
    return status;
}

st_status st_sheet_write_xlsx(const st_sheet *sheet, st_arena *arena, st_buffer *buffer,
                              st_errors *errors)
{
    st_estimate estimate = {0};
    /* What an estimate without a job knows: defaults, and NaN for the rest. */
    st_status status;
    static const char *const none[] = {NULL};
    const st_program_options options = {.outputs = none, .without_checks = true};
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &estimate.input_count);
    st_bound_input *bound = st_arena_alloc(arena, estimate.input_count + 1, sizeof *bound);
    double *values = st_arena_alloc(arena, estimate.input_count + 1, sizeof *values);
    if (bound == NULL || values == NULL) {
        status = st_out_of_memory(errors);
    } else {
        for (size_t i = 0; i < estimate.input_count; i++) {
            values[i] = inputs[i].has_default ? inputs[i].default_value : (double)NAN;
            bound[i] = (st_bound_input){.input = &inputs[i], .value = values[i]};
        }
        estimate.sheet = sheet;
        estimate.inputs = bound;
        estimate.input_values = values;
        status = st_program_compile(sheet, &options, arena, &estimate.program, errors);
    }
    return status == ST_OK ? make_twice(&estimate, NULL, arena, buffer, errors) : status;
}
