/* SPDX-License-Identifier: Apache-2.0 */
/* The sheet of cells, in the order of the report: values, and the formulas that give them. */
#include "estimate/groups.h"
#include "base/chars.h"
#include "export/xlsx_book.h"
#include "steptime/keys.h"

#include <string.h>

enum { TITLE_ROWS = 7, ERROR_ROW = 6 };

static const st_heading headings[ST_BOOK_COLUMNS] = {
    {"Cell", 24},
    {"Value", 18},
    {"Unit", 12},
    {"Meaning", 70},
    {"Source", 34},
    {"Formula of the sheet", 60},
    {"Live formula, in base units", 26},
    {"Base unit", 12},
    {"Name in formulas", 24},
};

/* Who stands behind a value: a citation, and a provider where there is one. */
static const char *source_of(st_book *book, const st_sheet_cell *cell, const st_live *live)
{
    const char *cite = st_text_or_empty(cell->cite);
    if (live->call != NULL)
        return st_arena_printf(book->file->arena, "value provided by %s%s%s",
                               live->call->provider->source, cite[0] != '\0' ? "; " : "", cite);
    if (live->formula == NULL)
        return "not computed: it calls a function that has no formula and no provider";
    if (live->with != NULL)
        return st_arena_printf(book->file->arena, "from values provided by %s%s%s", live->with,
                               cite[0] != '\0' ? "; " : "", cite);
    return cite;
}

static void write_cell(st_book *book, const st_sheet_cell *cell, lxw_row_t row)
{
    size_t count = 0;
    size_t index = (size_t)(cell - st_sheet_cells(book->estimate->sheet, &count));
    const st_live *live = &book->live.cells[index];
    const char *const texts[ST_BOOK_COLUMNS] = {
        [ST_BOOK_NAME] = cell->name,
        [ST_BOOK_UNIT] = st_book_unit(&cell->type),
        [ST_BOOK_DOC] = cell->doc,
        [ST_BOOK_CITE] = source_of(book, cell, live),
        [ST_BOOK_FORMULA] = cell->formula,
        [ST_BOOK_BASE_UNIT] = st_book_base_unit(book, &cell->type),
        [ST_BOOK_DEFINED] = live->name,
    };
    for (size_t i = 0; i < ST_BOOK_COLUMNS; i++)
        st_book_text(book, (st_spot){book->cells, row, (lxw_col_t)i}, texts[i],
                     i == ST_BOOK_CITE && live->formula == NULL ? book->formats.provided : NULL);
    st_spot base = {book->cells, row, ST_BOOK_BASE};
    if (live->formula != NULL)
        st_book_formula(book, base, live->formula, live->type, live->value);
    else
        st_book_value(book, base, live->type, live->value, book->formats.provided);
    st_book_shown(book, (st_spot){book->cells, row, ST_BOOK_VALUE}, live->name, live->type,
                  live->value);
    st_book_define(book, base, live->name);
    book->cell_rows[index] = row;
}

/* What the estimate is of; a sheet alone has no job. */
static const char *title_of(st_book *book)
{
    const st_estimate *estimate = book->estimate;
    if (estimate->job == NULL)
        return st_arena_printf(book->file->arena, "sheet %s", st_sheet_name(estimate->sheet));
    return st_arena_printf(book->file->arena, "%s by sheet %s", st_job_name(estimate->job),
                           st_sheet_name(estimate->sheet));
}

static const char *job_of(st_book *book)
{
    const st_job *job = book->estimate->job;
    if (job == NULL)
        return "no job: what the sheet has no default for is to be filled in on the sheet Inputs";
    return st_arena_printf(book->file->arena, "model %s, cluster %s, job %s",
                           st_text_or_empty(st_job_section_name(job, ST_KEY_MODEL)),
                           st_text_or_empty(st_job_section_name(job, ST_KEY_CLUSTER)),
                           st_text_or_empty(st_job_file(job)));
}

void st_book_write_cells(st_book *book)
{
    size_t count = 0;
    const st_cell_group *groups = st_sheet_groups(book->estimate->sheet, book->file->arena, &count);
    lxw_row_t row = TITLE_ROWS;
    if (groups == NULL) {
        book->file->failed = true;
        return;
    }
    const char *const lines[] = {
        title_of(book),
        st_sheet_title(book->estimate->sheet),
        job_of(book),
        "Change a yellow value on the sheet Inputs, and everything here is computed anew. Formulas "
        "compute in base units (B, FLOP, s, J, $); Value shows their results in the unit beside "
        "it.",
    };
    for (size_t i = 0; i < ST_COUNT(lines); i++) {
        book->file->failed = book->file->failed || lines[i] == NULL;
        st_book_text(book, (st_spot){book->cells, (lxw_row_t)i, 0}, lines[i],
                     i == 0 ? book->formats.title : NULL);
    }
    /* How far estimates like this have been off, of an estimate that knows it. */
    const st_error_band *band = &book->estimate->band;
    if (book->estimate->job != NULL && band->sources != NULL) {
        const char *text = st_error_band_text(band, book->file->arena);
        book->file->failed = book->file->failed || text == NULL;
        st_book_text(book, (st_spot){book->cells, ERROR_ROW, ST_BOOK_NAME}, "Error", NULL);
        st_book_text(book, (st_spot){book->cells, ERROR_ROW, ST_BOOK_VALUE}, text, NULL);
    }
    st_book_headings(book, (st_spot){book->cells, row, 0}, headings, ST_BOOK_COLUMNS);
    row++;
    for (size_t i = 0; i < count && !book->file->failed; i++) {
        st_book_text(book, (st_spot){book->cells, row, 0},
                     groups[i].title[0] != '\0' ? groups[i].title : "Further cells",
                     book->formats.section);
        for (size_t k = 0; k < groups[i].count; k++)
            write_cell(book, groups[i].cells[k], ++row);
        row += 2;
    }
}
