/* SPDX-License-Identifier: Apache-2.0 */
/* The sheets behind the formulas: parts, provided values, functions and lists. */
#include "estimate/groups.h"
#include "base/lists.h"
#include "export/xlsx_book.h"

#include <string.h>

/* --- parts ----------------------------------------------------------------------------------- */

enum { PART, PART_BASE, PART_UNIT, PART_TEXT, PART_OWNER, PART_COLUMNS };

static const st_heading part_headings[PART_COLUMNS] = {{"Part", 30},
                                                       {"Live formula, in base units", 26},
                                                       {"Base unit", 12},
                                                       {"Stands for", 80},
                                                       {"In", 30}};

void st_book_write_parts(st_book *book)
{
    lxw_row_t row = 0;
    if (book->parts == NULL)
        return;
    st_book_headings(book, (st_spot){book->parts, row, 0}, part_headings, PART_COLUMNS);
    for (size_t i = 0; i < book->live.part_count && !book->file->failed; i++) {
        const st_live *part = &book->live.parts[i];
        if (part->call != NULL)
            continue;
        row++;
        st_book_text(book, (st_spot){book->parts, row, PART}, part->name, NULL);
        st_book_text(book, (st_spot){book->parts, row, PART_UNIT},
                     st_book_base_unit(book, part->type), NULL);
        st_book_text(book, (st_spot){book->parts, row, PART_TEXT}, part->text, NULL);
        st_book_text(book, (st_spot){book->parts, row, PART_OWNER}, part->owner, NULL);
        st_spot base = {book->parts, row, PART_BASE};
        st_book_formula(book, base, part->formula, part->type, part->value);
        st_book_define(book, base, part->name);
    }
}

/* --- values of providers --------------------------------------------------------------------- */

enum {
    WHAT,
    PROVIDED_VALUE,
    PROVIDED_UNIT,
    PROVIDER,
    STATE,
    PROVIDED_BASE,
    PROVIDED_BASE_UNIT,
    ARGUMENTS,
    ARGUMENT_COLUMNS = 3 /* name, value then, value now */
};
enum { SUMMARY_ROW = 5 };

static const st_heading provided_headings[] = {
    {"Value of", 40},  {"Value", 18},
    {"Unit", 12},      {"Provided by", 40},
    {"State", 34},     {"In base units", 20},
    {"Base unit", 12}, {"Argument, its value then and now", 20}};
static const char current[] = "as provided";
static const char stale[] = "stale: run steptime again";

static void write_provided(st_book *book, const st_live *value, const char *what, lxw_row_t row)
{
    st_spot base = {book->provided, row, PROVIDED_BASE};
    st_book_text(book, (st_spot){book->provided, row, WHAT}, what, NULL);
    st_book_text(book, (st_spot){book->provided, row, PROVIDED_UNIT}, st_book_unit(value->type),
                 NULL);
    st_book_text(book, (st_spot){book->provided, row, PROVIDER}, value->call->provider->source,
                 NULL);
    st_book_text(book, (st_spot){book->provided, row, PROVIDED_BASE_UNIT},
                 st_book_base_unit(book, value->type), NULL);
    if (value->owner != NULL) { /* a part lives here, a cell on its own sheet */
        st_book_value(book, base, value->type, value->value, book->formats.provided);
        st_book_define(book, base, value->name);
    } else {
        st_book_formula(book, base, value->name, value->type, value->value);
    }
    st_book_shown(book, (st_spot){book->provided, row, PROVIDED_VALUE}, value->name, value->type,
                  value->value);
    const st_live_call *call = value->call;
    for (size_t i = 0; i < call->provider->argument_count; i++) {
        lxw_col_t column = (lxw_col_t)(ARGUMENTS + ARGUMENT_COLUMNS * i);
        st_spot now = {book->provided, row, (lxw_col_t)(column + 2)};
        st_book_text(book, (st_spot){book->provided, row, column}, call->labels[i], NULL);
        st_book_value(book, (st_spot){book->provided, row, (lxw_col_t)(column + 1)}, call->types[i],
                      call->values[i], NULL);
        st_book_formula(book, now, call->formulas[i], call->types[i], call->values[i]);
    }
    const st_live_call *state_call = value->call;
    st_buffer same = {0};
    st_buffer_text(&same, "IF(AND(TRUE");
    for (size_t i = 0; i < state_call->provider->argument_count; i++) {
        lxw_col_t column = (lxw_col_t)(ARGUMENTS + ARGUMENT_COLUMNS * i);
        const char *then = st_book_address(book, NULL, row, (lxw_col_t)(column + 1));
        const char *now = st_book_address(book, NULL, row, (lxw_col_t)(column + 2));
        if (state_call->types[i]->kind == ST_TYPE_NUMBER)
            st_buffer_printf(&same, ",ABS(%s-%s)<=1E-12*ABS(%s)", now, then, then);
        else
            st_buffer_printf(&same, ",%s=%s", now, then);
    }
    st_buffer_printf(&same, "),\"%s\",\"%s\")", current, stale);
    const char *formula =
        same.failed ? NULL : st_arena_copy(book->file->arena, same.data, same.length);
    st_buffer_free(&same);
    st_book_said(book, (st_spot){book->provided, row, STATE}, formula, current);
}

void st_book_write_provided(st_book *book)
{
    size_t count = 0;
    const st_sheet_cell *cells = st_sheet_cells(book->estimate->sheet, &count);
    lxw_row_t row = 0;
    if (book->provided == NULL)
        return;
    st_book_headings(book, (st_spot){book->provided, row, 0}, provided_headings,
                     ST_COUNT(provided_headings));
    for (size_t i = 0; i < count && !book->file->failed; i++)
        if (book->live.cells[i].call != NULL)
            write_provided(book, &book->live.cells[i], cells[i].name, ++row);
    for (size_t i = 0; i < book->live.part_count && !book->file->failed; i++)
        if (book->live.parts[i].call != NULL)
            write_provided(book, &book->live.parts[i], book->live.parts[i].text, ++row);
    const char *range =
        st_arena_printf(book->file->arena, "%s:%s", st_book_address(book, "Provided", 1, STATE),
                        st_book_address(book, NULL, row, STATE));
    const char *formula =
        st_arena_printf(book->file->arena, "IF(COUNTIF(%s,\"%s\")=%u,\"%s\",\"%s\")", range,
                        current, (unsigned)row, current, stale);
    st_spot spot = {book->cells, SUMMARY_ROW, ST_BOOK_VALUE};
    st_book_text(book, (st_spot){book->cells, SUMMARY_ROW, ST_BOOK_NAME}, "Provided values", NULL);
    st_book_said(book, spot, formula, current);
    st_book_color(book, spot, spot.row, "stale", book->formats.bad);
    st_book_color(book, (st_spot){book->provided, 1, STATE}, row, "stale", book->formats.bad);
}

/* --- functions ------------------------------------------------------------------------------- */

static const st_heading function_headings[] = {
    {"Function", 50}, {"Unit", 12}, {"Formula of the sheet", 70}, {"Meaning", 70}, {"Source", 34}};

void st_book_write_functions(st_book *book)
{
    size_t count = 0;
    const st_sheet_function *functions = st_sheet_functions(book->estimate->sheet, &count);
    if (book->functions == NULL)
        return;
    st_book_headings(book, (st_spot){book->functions, 0, 0}, function_headings,
                     ST_COUNT(function_headings));
    for (size_t i = 0; i < count && !book->file->failed; i++) {
        st_buffer signature = {0};
        st_signature_write(&functions[i], &signature);
        book->file->failed = book->file->failed || signature.failed;
        const char *const texts[] = {signature.data, st_book_unit(&functions[i].type),
                                     functions[i].formula != NULL ? functions[i].formula
                                                                  : "none: a provider's",
                                     functions[i].doc, functions[i].cite};
        for (size_t k = 0; k < ST_COUNT(texts); k++)
            st_book_text(book, (st_spot){book->functions, (lxw_row_t)(i + 1), (lxw_col_t)k},
                         texts[k], NULL);
        st_buffer_free(&signature);
    }
}

/* --- lists ----------------------------------------------------------------------------------- */

static const char *const answers[] = {"yes", "no"};
const st_enum st_book_answers = {.name = "truth values", .values = answers, .count = 2};

const char *st_book_list(st_book *book, const st_enum *list)
{
    size_t enum_count = 0;
    const st_enum *enums = st_sheet_enums(book->estimate->sheet, &enum_count);
    lxw_col_t column = (lxw_col_t)(list == &st_book_answers ? 0 : list - enums + 1);
    const char *range =
        st_arena_printf(book->file->arena, "%s:%s", st_book_address(book, "Lists", 1, column),
                        st_book_address(book, NULL, (lxw_row_t)list->count, column));
    book->file->failed = book->file->failed || range == NULL;
    return range != NULL ? range : "";
}

void st_book_write_lists(st_book *book)
{
    size_t count = 0;
    const st_enum *enums = st_sheet_enums(book->estimate->sheet, &count);
    for (size_t i = 0; i <= count && !book->file->failed; i++) {
        const st_enum *list = i == 0 ? &st_book_answers : &enums[i - 1];
        st_heading heading = {list->name, 18};
        st_book_headings(book, (st_spot){book->lists, 0, (lxw_col_t)i}, &heading, 1);
        for (size_t k = 0; k < list->count; k++)
            st_book_text(book, (st_spot){book->lists, (lxw_row_t)(k + 1), (lxw_col_t)i},
                         list->values[k], NULL);
    }
}
