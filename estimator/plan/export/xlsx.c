/* SPDX-License-Identifier: Apache-2.0 */
/* The workbook of an estimate; see xlsx.h. */
#include "export/xlsx.h"

#include "base/dimension.h"
#include "base/lists.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/chars.h"
#include "estimate/estimate_internal.h"
#include "estimate/groups.h"
#include "export/spreadsheet.h"
#include "export/xlsx_file.h"
#include "sheet/expr.h"
#include "sheet/type_write.h"
#include "steptime/keys.h"

#include <math.h>
#include <string.h>

/* Columns of the sheet with cells; the other sheets have fewer, in the same order. */
enum {
    ST_BOOK_NAME,
    ST_BOOK_VALUE,
    ST_BOOK_UNIT,
    ST_BOOK_DOC,
    ST_BOOK_CITE,
    ST_BOOK_FORMULA,
    ST_BOOK_BASE, /* the live formula */
    ST_BOOK_BASE_UNIT,
    ST_BOOK_DEFINED, /* the name that formulas use */
    ST_BOOK_COLUMNS
};

typedef struct st_book_formats {
    lxw_format *title;
    lxw_format *section;
    lxw_format *heading;
    lxw_format *input;    /* to be changed */
    lxw_format *assumed;  /* a mark */
    lxw_format *provided; /* a value without a formula */
    lxw_format *good;
    lxw_format *bad;
    lxw_format *warning;
} st_book_formats;

typedef struct st_book {
    st_xlsx *file;
    const st_estimate *estimate;
    st_live_sheet live;
    st_book_formats formats;
    lxw_worksheet *cells;
    lxw_worksheet *inputs;
    lxw_worksheet *checks;
    lxw_worksheet *parts;     /* NULL: none are needed */
    lxw_worksheet *provided;  /* NULL */
    lxw_worksheet *functions; /* NULL */
    lxw_worksheet *lists;
    lxw_row_t *input_rows; /* of every input */
    lxw_row_t *cell_rows;
} st_book;

/* A place on a sheet. */
typedef struct st_spot {
    lxw_worksheet *sheet;
    lxw_row_t row;
    lxw_col_t column;
} st_spot;

typedef struct st_heading {
    const char *text;
    double width; /* in characters */
} st_heading;

static void note(st_book *book, lxw_error fault)
{
    book->file->failed = book->file->failed || fault != LXW_NO_ERROR;
}

static const char *keep(st_book *book, const char *text)
{
    book->file->failed = book->file->failed || text == NULL;
    return text != NULL ? text : "";
}

static void book_text(st_book *book, st_spot spot, const char *text, lxw_format *format)
{
    if (text != NULL && text[0] != '\0')
        st_xlsx_text(book->file, spot.sheet, spot.row, spot.column, text, format);
}

/* `formula` without "="; shows `value`, as `type` says, until it is computed anew. */
static void book_formula(st_book *book, st_spot spot, const char *formula, const st_type *type,
                         double value)
{
    if (formula == NULL) {
        book->file->failed = true;
        return;
    }
    if (!isfinite(value)) {
        note(book, book->file->lxw.worksheet_write_formula_str(spot.sheet, spot.row, spot.column,
                                                               formula, NULL, "#NUM!"));
        return;
    }
    if (type->kind == ST_TYPE_ENUM) {
        char text[ST_QUANTITY_TEXT];
        st_type_format(type, value, ST_STYLE_EXACT, text, sizeof text);
        note(book, book->file->lxw.worksheet_write_formula_str(spot.sheet, spot.row, spot.column,
                                                               formula, NULL, text));
        return;
    }
    note(book, book->file->lxw.worksheet_write_formula_num(spot.sheet, spot.row, spot.column,
                                                           formula, NULL, value));
}

/* A formula that gives a text. */
static void book_said(st_book *book, st_spot spot, const char *formula, const char *text)
{
    if (formula == NULL || text == NULL) {
        book->file->failed = true;
        return;
    }
    note(book, book->file->lxw.worksheet_write_formula_str(spot.sheet, spot.row, spot.column,
                                                           formula, NULL, text));
}

static void book_rule(st_book *book, st_spot spot, lxw_row_t last, lxw_conditional_format *rule)
{
    lxw_error fault = book->file->lxw.worksheet_conditional_format_range(
        spot.sheet, spot.row, spot.column, last, spot.column, rule);
    book->file->failed = book->file->failed || fault != LXW_NO_ERROR;
}

/* Colours the texts from `spot` down to the row `last` that begin with a word. */
static void book_color(st_book *book, st_spot spot, lxw_row_t last, const char *word,
                       lxw_format *format)
{
    char *text = st_arena_printf(book->file->arena, "%s", word);
    lxw_conditional_format rule = {.type = LXW_CONDITIONAL_TYPE_TEXT,
                                   .criteria = LXW_CONDITIONAL_CRITERIA_TEXT_BEGINS_WITH,
                                   .value_string = text,
                                   .format = format};
    if (text == NULL) {
        book->file->failed = true;
        return;
    }
    book_rule(book, spot, last, &rule);
}

/* A value in base units, as formulas read it. */
static void book_value(st_book *book, st_spot spot, const st_type *type, double value,
                       lxw_format *format)
{
    if (!isfinite(value)) {
        note(book, book->file->lxw.worksheet_write_formula_str(spot.sheet, spot.row, spot.column,
                                                               "NA()", format, "#N/A"));
    } else if (type->kind == ST_TYPE_BOOL) {
        note(book, book->file->lxw.worksheet_write_boolean(spot.sheet, spot.row, spot.column,
                                                           value != 0.0, format));
    } else if (type->kind == ST_TYPE_ENUM) {
        char text[ST_QUANTITY_TEXT];
        st_type_format(type, value, ST_STYLE_EXACT, text, sizeof text);
        book_text(book, spot, text, format);
    } else {
        st_xlsx_number(book->file, spot.sheet, spot.row, spot.column, value, format);
    }
}

/* "*1000/8", as st_unit_from_base multiplies. */
static const char *factors(st_book *book, double multiplier, double divisor)
{
    char text[2][ST_QUANTITY_TEXT];
    (void)st_number_format(multiplier, text[0], sizeof text[0]);
    (void)st_number_format(divisor, text[1], sizeof text[1]);
    for (size_t i = 0; i < 2; i++) {
        char *e = strchr(text[i], 'e');
        if (e != NULL)
            *e = 'E';
    }
    return keep(book, st_arena_printf(book->file->arena, "%s%s%s%s", multiplier != 1 ? "*" : "",
                                      multiplier != 1 ? text[0] : "", divisor != 1 ? "/" : "",
                                      divisor != 1 ? text[1] : ""));
}

/* "x*1000" or "x/1000": between a declared unit and base units. */
static const char *book_scaled(st_book *book, const char *from, const st_unit *unit, bool to_base)
{
    const char *factor = to_base ? factors(book, unit->multiplier, unit->divisor)
                                 : factors(book, unit->divisor, unit->multiplier);
    return keep(book, st_arena_printf(book->file->arena, "%s%s", from, factor));
}

/* The value of a defined name in its declared unit. */
static void book_shown(st_book *book, st_spot spot, const char *name, const st_type *type,
                       double value)
{
    const char *formula = name;
    double shown = value;
    if (type->kind == ST_TYPE_NUMBER) {
        formula = book_scaled(book, name, &type->unit, false);
        shown = st_unit_from_base(&type->unit, value);
    } else if (type->kind == ST_TYPE_BOOL) {
        formula = keep(book, st_arena_printf(book->file->arena, "IF(%s,\"yes\",\"no\")", name));
        if (isfinite(value)) {
            book_said(book, spot, formula, value != 0.0 ? "yes" : "no");
            return;
        }
    }
    book_formula(book, spot, formula, type, shown);
}

/* "$B$7", with "Sheet!" in front unless `sheet` is NULL; "" when out of memory. */
static const char *book_address(st_book *book, const char *sheet, lxw_row_t row, lxw_col_t column)
{
    char cell[LXW_MAX_CELL_NAME_LENGTH];
    book->file->lxw.lxw_rowcol_to_cell_abs(cell, row, column, LXW_TRUE, LXW_TRUE);
    return keep(book, st_arena_printf(book->file->arena, "%s%s%s", sheet != NULL ? sheet : "",
                                      sheet != NULL ? "!" : "", cell));
}

static void book_define(st_book *book, st_spot spot, const char *name)
{
    const char *address = book_address(book, spot.sheet->name, spot.row, spot.column);
    note(book, book->file->lxw.workbook_define_name(book->file->workbook, name, address));
}

/* A row of headings, above which nothing scrolls away, and the widths of their columns. */
static void book_headings(st_book *book, st_spot first, const st_heading *headings, size_t count)
{
    const st_xlsx_library *lxw = &book->file->lxw;
    for (size_t i = 0; i < count; i++) {
        lxw_col_t column = (lxw_col_t)(first.column + i);
        book_text(book, (st_spot){first.sheet, first.row, column}, headings[i].text,
                  book->formats.heading);
        note(book, lxw->worksheet_set_column(first.sheet, column, column, headings[i].width, NULL));
    }
    lxw->worksheet_freeze_panes(first.sheet, first.row + 1, 1);
    lxw->worksheet_set_landscape(first.sheet);
    lxw->worksheet_fit_to_pages(first.sheet, 1, 0);
    note(book, lxw->worksheet_repeat_rows(first.sheet, first.row, first.row));
}

/* The unit that a reader sees, "" for a pure number, and the one of formulas. */
static const char *book_unit(const st_type *type)
{
    const char *unit = type->kind == ST_TYPE_NUMBER ? type->unit.text : "";
    return strcmp(unit, "1") == 0 ? "" : unit;
}

static const char *book_base_unit(st_book *book, const st_type *type)
{
    char text[ST_QUANTITY_TEXT];
    if (type->kind != ST_TYPE_NUMBER || st_dimension_is_number(type->unit.dimension))
        return "";
    return keep(book, st_arena_printf(book->file->arena, "%s",
                                      st_dimension_text(type->unit.dimension, text, sizeof text)));
}

/* --- parts ----------------------------------------------------------------------------------- */

enum { PART, PART_BASE, PART_UNIT, PART_TEXT, PART_OWNER, PART_COLUMNS };

static const st_heading part_headings[PART_COLUMNS] = {{"Part", 30},
                                                       {"Live formula, in base units", 26},
                                                       {"Base unit", 12},
                                                       {"Stands for", 80},
                                                       {"In", 30}};

static void book_write_parts(st_book *book)
{
    lxw_row_t row = 0;
    if (book->parts == NULL)
        return;
    book_headings(book, (st_spot){book->parts, row, 0}, part_headings, PART_COLUMNS);
    for (size_t i = 0; i < book->live.part_count && !book->file->failed; i++) {
        const st_live *part = &book->live.parts[i];
        if (part->call != NULL)
            continue;
        row++;
        book_text(book, (st_spot){book->parts, row, PART}, part->name, NULL);
        book_text(book, (st_spot){book->parts, row, PART_UNIT}, book_base_unit(book, part->type),
                  NULL);
        book_text(book, (st_spot){book->parts, row, PART_TEXT}, part->text, NULL);
        book_text(book, (st_spot){book->parts, row, PART_OWNER}, part->owner, NULL);
        st_spot base = {book->parts, row, PART_BASE};
        book_formula(book, base, part->formula, part->type, part->value);
        book_define(book, base, part->name);
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
enum { PROVIDED_ROW = 5 };

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
    book_text(book, (st_spot){book->provided, row, WHAT}, what, NULL);
    book_text(book, (st_spot){book->provided, row, PROVIDED_UNIT}, book_unit(value->type), NULL);
    book_text(book, (st_spot){book->provided, row, PROVIDER}, value->call->provider->source, NULL);
    book_text(book, (st_spot){book->provided, row, PROVIDED_BASE_UNIT},
              book_base_unit(book, value->type), NULL);
    if (value->owner != NULL) { /* a part lives here, a cell on its own sheet */
        book_value(book, base, value->type, value->value, book->formats.provided);
        book_define(book, base, value->name);
    } else {
        book_formula(book, base, value->name, value->type, value->value);
    }
    book_shown(book, (st_spot){book->provided, row, PROVIDED_VALUE}, value->name, value->type,
               value->value);
    const st_live_call *call = value->call;
    for (size_t i = 0; i < call->provider->argument_count; i++) {
        lxw_col_t column = (lxw_col_t)(ARGUMENTS + ARGUMENT_COLUMNS * i);
        st_spot now = {book->provided, row, (lxw_col_t)(column + 2)};
        book_text(book, (st_spot){book->provided, row, column}, call->labels[i], NULL);
        book_value(book, (st_spot){book->provided, row, (lxw_col_t)(column + 1)}, call->types[i],
                   call->values[i], NULL);
        book_formula(book, now, call->formulas[i], call->types[i], call->values[i]);
    }
    const st_live_call *state_call = value->call;
    st_buffer same = {0};
    st_buffer_text(&same, "IF(AND(TRUE");
    for (size_t i = 0; i < state_call->provider->argument_count; i++) {
        lxw_col_t column = (lxw_col_t)(ARGUMENTS + ARGUMENT_COLUMNS * i);
        const char *then = book_address(book, NULL, row, (lxw_col_t)(column + 1));
        const char *now = book_address(book, NULL, row, (lxw_col_t)(column + 2));
        if (state_call->types[i]->kind == ST_TYPE_NUMBER)
            st_buffer_printf(&same, ",ABS(%s-%s)<=1E-12*ABS(%s)", now, then, then);
        else
            st_buffer_printf(&same, ",%s=%s", now, then);
    }
    st_buffer_printf(&same, "),\"%s\",\"%s\")", current, stale);
    const char *formula =
        same.failed ? NULL : st_arena_copy(book->file->arena, same.data, same.length);
    st_buffer_free(&same);
    book_said(book, (st_spot){book->provided, row, STATE}, formula, current);
}

static void book_write_provided(st_book *book)
{
    size_t count = 0;
    const st_sheet_cell *cells = st_sheet_cells(book->estimate->sheet, &count);
    lxw_row_t row = 0;
    if (book->provided == NULL)
        return;
    book_headings(book, (st_spot){book->provided, row, 0}, provided_headings,
                  ST_COUNT(provided_headings));
    for (size_t i = 0; i < count && !book->file->failed; i++)
        if (book->live.cells[i].call != NULL)
            write_provided(book, &book->live.cells[i], cells[i].name, ++row);
    for (size_t i = 0; i < book->live.part_count && !book->file->failed; i++)
        if (book->live.parts[i].call != NULL)
            write_provided(book, &book->live.parts[i], book->live.parts[i].text, ++row);
    const char *range =
        st_arena_printf(book->file->arena, "%s:%s", book_address(book, "Provided", 1, STATE),
                        book_address(book, NULL, row, STATE));
    const char *formula =
        st_arena_printf(book->file->arena, "IF(COUNTIF(%s,\"%s\")=%u,\"%s\",\"%s\")", range,
                        current, (unsigned)row, current, stale);
    st_spot spot = {book->cells, PROVIDED_ROW, ST_BOOK_VALUE};
    book_text(book, (st_spot){book->cells, PROVIDED_ROW, ST_BOOK_NAME}, "Provided values", NULL);
    book_said(book, spot, formula, current);
    book_color(book, spot, spot.row, "stale", book->formats.bad);
    book_color(book, (st_spot){book->provided, 1, STATE}, row, "stale", book->formats.bad);
}

/* --- functions ------------------------------------------------------------------------------- */

static const st_heading function_headings[] = {
    {"Function", 50}, {"Unit", 12}, {"Formula of the sheet", 70}, {"Meaning", 70}, {"Source", 34}};

static void book_write_functions(st_book *book)
{
    size_t count = 0;
    const st_sheet_function *functions = st_sheet_functions(book->estimate->sheet, &count);
    if (book->functions == NULL)
        return;
    book_headings(book, (st_spot){book->functions, 0, 0}, function_headings,
                  ST_COUNT(function_headings));
    for (size_t i = 0; i < count && !book->file->failed; i++) {
        st_buffer signature = {0};
        st_signature_write(&functions[i], &signature);
        book->file->failed = book->file->failed || signature.failed;
        const char *const texts[] = {signature.data, book_unit(&functions[i].type),
                                     functions[i].formula != NULL ? functions[i].formula
                                                                  : "none: from a provider",
                                     functions[i].doc, functions[i].cite};
        for (size_t k = 0; k < ST_COUNT(texts); k++)
            book_text(book, (st_spot){book->functions, (lxw_row_t)(i + 1), (lxw_col_t)k}, texts[k],
                      NULL);
        st_buffer_free(&signature);
    }
}

/* --- lists ----------------------------------------------------------------------------------- */

static const char *const answers[] = {"yes", "no"};
static const st_enum book_answers = {.name = "truth values", .values = answers, .count = 2};

/* The range of a list's values: "Lists!$B$2:$B$4". */
static const char *book_list(st_book *book, const st_enum *list)
{
    size_t enum_count = 0;
    const st_enum *enums = st_sheet_enums(book->estimate->sheet, &enum_count);
    lxw_col_t column = (lxw_col_t)(list == &book_answers ? 0 : list - enums + 1);
    const char *range =
        st_arena_printf(book->file->arena, "%s:%s", book_address(book, "Lists", 1, column),
                        book_address(book, NULL, (lxw_row_t)list->count, column));
    book->file->failed = book->file->failed || range == NULL;
    return range != NULL ? range : "";
}

static void book_write_lists(st_book *book)
{
    size_t count = 0;
    const st_enum *enums = st_sheet_enums(book->estimate->sheet, &count);
    for (size_t i = 0; i <= count && !book->file->failed; i++) {
        const st_enum *list = i == 0 ? &book_answers : &enums[i - 1];
        st_heading heading = {list->name, 18};
        book_headings(book, (st_spot){book->lists, 0, (lxw_col_t)i}, &heading, 1);
        for (size_t k = 0; k < list->count; k++)
            book_text(book, (st_spot){book->lists, (lxw_row_t)(k + 1), (lxw_col_t)i},
                      list->values[k], NULL);
    }
}

enum { TITLE_ROWS = 7, ERROR_ROW = 6 };

static const st_heading cell_headings[ST_BOOK_COLUMNS] = {
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

/* The source of a value: a citation, and its provider, if any. */
static const char *source_of(st_book *book, const st_sheet_cell *cell, const st_live *live)
{
    const char *cite = st_text_or_empty(cell->cite);
    if (live->call != NULL)
        return st_arena_printf(book->file->arena, "value provided by %s%s%s",
                               live->call->provider->source, cite[0] != '\0' ? "; " : "", cite);
    if (live->formula == NULL)
        return "not computed: calls a function without formula and provider";
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
        [ST_BOOK_NAME] = cell->name,       [ST_BOOK_UNIT] = book_unit(&cell->type),
        [ST_BOOK_DOC] = cell->doc,         [ST_BOOK_CITE] = source_of(book, cell, live),
        [ST_BOOK_FORMULA] = cell->formula, [ST_BOOK_BASE_UNIT] = book_base_unit(book, &cell->type),
        [ST_BOOK_DEFINED] = live->name,
    };
    for (size_t i = 0; i < ST_BOOK_COLUMNS; i++)
        book_text(book, (st_spot){book->cells, row, (lxw_col_t)i}, texts[i],
                  i == ST_BOOK_CITE && live->formula == NULL ? book->formats.provided : NULL);
    st_spot base = {book->cells, row, ST_BOOK_BASE};
    if (live->formula != NULL)
        book_formula(book, base, live->formula, live->type, live->value);
    else
        book_value(book, base, live->type, live->value, book->formats.provided);
    book_shown(book, (st_spot){book->cells, row, ST_BOOK_VALUE}, live->name, live->type,
               live->value);
    book_define(book, base, live->name);
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
        return "no job: fill in the inputs without default on the sheet Inputs";
    return st_arena_printf(book->file->arena, "model %s, cluster %s, job %s",
                           st_text_or_empty(st_job_section_name(job, ST_KEY_MODEL)),
                           st_text_or_empty(st_job_section_name(job, ST_KEY_CLUSTER)),
                           st_text_or_empty(st_job_file(job)));
}

static void book_write_cells(st_book *book)
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
        "Change a yellow value on the sheet Inputs to recalculate everything here. Formulas "
        "compute in base units (B, FLOP, s, J, $); Value shows their results in the unit next to "
        "it.",
    };
    for (size_t i = 0; i < ST_COUNT(lines); i++) {
        book->file->failed = book->file->failed || lines[i] == NULL;
        book_text(book, (st_spot){book->cells, (lxw_row_t)i, 0}, lines[i],
                  i == 0 ? book->formats.title : NULL);
    }
    /* How far estimates like this have been off, of an estimate that knows it. */
    const st_error_band *band = &book->estimate->band;
    if (book->estimate->job != NULL && band->sources != NULL) {
        const char *text = st_error_band_text(band, book->file->arena);
        book->file->failed = book->file->failed || text == NULL;
        book_text(book, (st_spot){book->cells, ERROR_ROW, ST_BOOK_NAME}, "Error", NULL);
        book_text(book, (st_spot){book->cells, ERROR_ROW, ST_BOOK_VALUE}, text, NULL);
    }
    book_headings(book, (st_spot){book->cells, row, 0}, cell_headings, ST_BOOK_COLUMNS);
    row++;
    for (size_t i = 0; i < count && !book->file->failed; i++) {
        book_text(book, (st_spot){book->cells, row, 0},
                  groups[i].title[0] != '\0' ? groups[i].title : "Further cells",
                  book->formats.section);
        for (size_t k = 0; k < groups[i].count; k++)
            write_cell(book, groups[i].cells[k], ++row);
        row += 2;
    }
}

enum { MOST_LISTED = 255 /* characters of a list in a rule */ };
static const double SMALLEST = 1e-300; /* within what every spreadsheet reads */
static const double LARGEST = 1e100;
enum { NAME, VALUE, UNIT, DOC, ASSUMED, ORIGIN, SOURCE, KEY, BASE, BASE_UNIT, DEFINED };

static const st_heading input_headings[] = {
    {"Input", 22},
    {"Value", 18},
    {"Unit", 12},
    {"Meaning", 60},
    {"Assumed", 12},
    {"Given by", 40},
    {"Source", 40},
    {"Key of the job", 34},
    {"In base units", 20},
    {"Base unit", 12},
    {"Name in formulas", 22},
};

/* The value that is typed: the shortest number that gives the input's bits again, where there is
 * one. */
static double shown_value(const st_type *type, double value)
{
    char text[ST_QUANTITY_TEXT];
    double shown = st_unit_from_base(&type->unit, value);
    st_exact_text(type, value, text, sizeof text);
    if (st_number_parse(text, strlen(text), (st_place){0}, &shown, NULL) != ST_OK)
        return st_unit_from_base(&type->unit, value);
    return shown;
}

/* The least value; spreadsheets do not know how small a number above zero may be. */
static double least_of(const st_key *key, const st_unit *unit)
{
    double least = st_unit_from_base(unit, key->minimum);
    return key->minimum > 0 && least < SMALLEST ? SMALLEST : least;
}

/* The rule holds the list itself if it fits, because the library loses a little memory over
 * ranges. */
static bool fits_in_rule(const st_enum *list)
{
    size_t length = 0;
    for (size_t i = 0; i < list->count && length <= MOST_LISTED; i++)
        length += strlen(list->values[i]) + 1;
    return length <= MOST_LISTED;
}

static void write_value(st_book *book, st_spot spot, const st_bound_input *input)
{
    const st_type *type = &input->input->type;
    char text[ST_QUANTITY_TEXT];
    lxw_format *format = book->formats.input;
    if (type->kind == ST_TYPE_NUMBER) {
        st_xlsx_number(book->file, spot.sheet, spot.row, spot.column,
                       shown_value(type, input->value), format);
        /* Numbers stay in the range of the job's key. */
        const st_key *key = input->from != NULL ? input->from->key : NULL;
        const st_unit *unit = &input->input->type.unit;
        if (key != NULL) {
            double most = st_unit_from_base(unit, key->maximum);
            bool bounded = most < LARGEST;
            lxw_data_validation number_rule = {
                .validate = key->kind == ST_KEY_COUNT ? LXW_VALIDATION_TYPE_INTEGER
                                                      : LXW_VALIDATION_TYPE_DECIMAL,
                .criteria = bounded ? LXW_VALIDATION_CRITERIA_BETWEEN
                                    : LXW_VALIDATION_CRITERIA_GREATER_THAN_OR_EQUAL_TO,
                .ignore_blank = LXW_VALIDATION_OFF,
                .error_type = LXW_VALIDATION_ERROR_TYPE_WARNING,
                .value_number = least_of(key, unit),
                .minimum_number = least_of(key, unit),
                .maximum_number = most,
            };
            lxw_error number_fault = book->file->lxw.worksheet_data_validation_cell(
                spot.sheet, spot.row, spot.column, &number_rule);
            book->file->failed = book->file->failed || number_fault != LXW_NO_ERROR;
        }
        return;
    }
    if (isfinite(input->value))
        book_text(book, spot, st_type_format(type, input->value, ST_STYLE_EXACT, text, sizeof text),
                  format);
    else
        st_xlsx_number(book->file, spot.sheet, spot.row, spot.column, input->value, format);
    const st_enum *list = type->kind == ST_TYPE_BOOL ? &book_answers : type->enumeration;
    lxw_data_validation rule = {.ignore_blank = LXW_VALIDATION_OFF};
    char **values = st_arena_alloc(book->file->arena, list->count + 1, sizeof *values);
    char *range = st_arena_printf(book->file->arena, "=%s", book_list(book, list));
    if (values == NULL || range == NULL) {
        book->file->failed = true;
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        values[i] = st_arena_copy(book->file->arena, list->values[i], strlen(list->values[i]));
        book->file->failed = book->file->failed || values[i] == NULL;
    }
    if (book->file->failed)
        return;
    if (fits_in_rule(list)) {
        rule.validate = LXW_VALIDATION_TYPE_LIST;
        rule.value_list = values;
    } else {
        rule.validate = LXW_VALIDATION_TYPE_LIST_FORMULA;
        rule.value_formula = range;
    }
    lxw_error fault =
        book->file->lxw.worksheet_data_validation_cell(spot.sheet, spot.row, spot.column, &rule);
    book->file->failed = book->file->failed || fault != LXW_NO_ERROR;
}

/* The content of the value's cell, as formulas read it. */
static const char *base_formula(st_book *book, lxw_row_t row, const st_bound_input *input)
{
    st_arena *arena = book->file->arena;
    const st_type *type = &input->input->type;
    const char *cell = book_address(book, NULL, row, VALUE);
    if (type->kind == ST_TYPE_NUMBER) {
        const char *scaled = book_scaled(book, cell, &type->unit, true);
        /* A spreadsheet reads an empty cell as 0, which would be wrong. */
        return isfinite(input->value)
                   ? scaled
                   : st_arena_printf(arena, "IF(ISBLANK(%s),NA(),%s)", cell, scaled);
    }
    if (type->kind == ST_TYPE_BOOL)
        return st_arena_printf(arena, "MATCH(%s,%s,0)=1", cell, book_list(book, &book_answers));
    if (st_live_is_exact(&book->live, type->enumeration))
        return cell;
    const char *list = book_list(book, type->enumeration);
    return st_arena_printf(arena, "INDEX(%s,MATCH(%s,%s,0))", list, cell, list);
}

static const char *origin_text(st_book *book, const st_bound_input *input)
{
    static const char *const words[] = {"the job's default", "the sheet's default", "--set"};
    const char *origin = st_input_origin(input);
    if (strcmp(origin, "default") == 0)
        return words[0];
    if (strcmp(origin, "sheet") == 0)
        return isfinite(input->value) ? words[1] : "to fill in";
    if (strcmp(origin, "set") == 0)
        return words[2];
    st_buffer place = {0};
    st_place_text(st_input_place(input), &place);
    const char *text = place.failed || place.data == NULL
                           ? NULL
                           : st_arena_copy(book->file->arena, place.data, place.length);
    st_buffer_free(&place);
    return text;
}

static void write_input(st_book *book, size_t index, lxw_row_t row)
{
    const st_bound_input *bound = &book->estimate->inputs[index];
    const st_sheet_input *input = bound->input;
    const char *source = bound->from != NULL ? bound->from->source : NULL;
    const char *name = book->live.input_names[index];
    const struct {
        lxw_col_t column;
        const char *text;
        lxw_format *format;
    } texts[] = {
        {NAME, input->name, NULL},
        {UNIT, book_unit(&input->type), NULL},
        {DOC, input->doc, NULL},
        {ASSUMED, st_input_is_assumed(bound) && isfinite(bound->value) ? "assumption" : "",
         book->formats.assumed},
        {ORIGIN, origin_text(book, bound), NULL},
        {SOURCE, source != NULL ? source : input->cite, NULL},
        {KEY, input->from, NULL},
        {BASE_UNIT, book_base_unit(book, &input->type), NULL},
        {DEFINED, name, NULL},
    };
    for (size_t i = 0; i < ST_COUNT(texts); i++)
        book_text(book, (st_spot){book->inputs, row, texts[i].column}, texts[i].text,
                  texts[i].format);
    st_spot base = {book->inputs, row, BASE};
    write_value(book, (st_spot){book->inputs, row, VALUE}, bound);
    book_formula(book, base, base_formula(book, row, bound), &input->type, bound->value);
    book_define(book, base, name);
    book->input_rows[index] = row;
}

/* Inputs with the same first word of their key belong together. */
static size_t topic_length(const st_bound_input *input)
{
    return strcspn(input->input->from, ".");
}

static bool same_topic(const st_bound_input *a, const st_bound_input *b)
{
    size_t length = topic_length(a);
    return length == topic_length(b) && memcmp(a->input->from, b->input->from, length) == 0;
}

static lxw_row_t write_topic(st_book *book, size_t first, lxw_row_t row)
{
    const st_bound_input *inputs = book->estimate->inputs;
    const char *title =
        st_arena_copy(book->file->arena, inputs[first].input->from, topic_length(&inputs[first]));
    book->file->failed = book->file->failed || title == NULL;
    book_text(book, (st_spot){book->inputs, row, NAME}, title, book->formats.section);
    for (size_t i = first; i < book->estimate->input_count; i++)
        if (same_topic(&inputs[first], &inputs[i]))
            write_input(book, i, ++row);
    return row + 2;
}

static void book_write_inputs(st_book *book)
{
    const st_bound_input *inputs = book->estimate->inputs;
    lxw_row_t row = 2;
    book_text(book, (st_spot){book->inputs, 0, 0},
              "Change values in yellow cells; everything else is computed from them.",
              book->formats.title);
    book_headings(book, (st_spot){book->inputs, 1, 0}, input_headings, ST_COUNT(input_headings));
    for (size_t i = 0; i < book->estimate->input_count && !book->file->failed; i++) {
        bool is_first = true;
        for (size_t j = 0; j < i && is_first; j++)
            is_first = !same_topic(&inputs[j], &inputs[i]);
        if (is_first)
            row = write_topic(book, i, row);
    }
}

enum { CHECK, VERDICT, LEVEL, MESSAGE, TRUTH, CHECK_NAME, CHECK_COLUMNS };
enum { CHECKS_ROW = 4, FIRST_ROW = 1 };

static const st_heading check_headings[CHECK_COLUMNS] = {
    {"Check", 60},          {"Verdict", 18},      {"Level", 12},
    {"Where it fails", 80}, {"Live formula", 16}, {"Name in formulas", 20},
};

static const char holds[] = "holds";
static const char cannot[] = "unknown";

/* What a check says where it does not hold. */
static const char *failure_of(const st_sheet_check *check)
{
    return check->warning ? "warns" : "FAILS";
}

static const char *verdict_of(const st_sheet_check *check, double value)
{
    return !isfinite(value) ? cannot : value != 0.0 ? holds : failure_of(check);
}

static void color_verdicts(st_book *book, st_spot spot, lxw_row_t last)
{
    book_color(book, spot, last, "FAILS", book->formats.bad);
    book_color(book, spot, last, "cannot", book->formats.bad);
    book_color(book, spot, last, "warns", book->formats.warning);
    book_color(book, spot, last, holds, book->formats.good);
}

static void color_operands(st_book *book, const st_expr *expr, const char *check,
                           lxw_format *format)
{
    if (expr->kind == ST_EXPR_NAME &&
        (expr->name_kind == ST_NAME_INPUT || expr->name_kind == ST_NAME_CELL)) {
        /* Colours the value of an input or a cell while a check that reads it fails. */
        char *formula = st_arena_printf(book->file->arena, "=NOT(%s)", check);
        bool is_input = expr->name_kind == ST_NAME_INPUT;
        st_spot spot = {is_input ? book->inputs : book->cells,
                        is_input ? book->input_rows[expr->index] : book->cell_rows[expr->index],
                        ST_BOOK_VALUE};
        lxw_conditional_format rule = {
            .type = LXW_CONDITIONAL_TYPE_FORMULA, .value_string = formula, .format = format};
        if (formula == NULL)
            book->file->failed = true;
        else
            book_rule(book, spot, spot.row, &rule);
    }
    for (uint32_t i = 0; i < expr->child_count; i++)
        color_operands(book, st_expr_child(expr, i), check, format);
}

static void write_check(st_book *book, const st_sheet_check *check, const st_live *live,
                        lxw_row_t row)
{
    lxw_format *failing = check->warning ? book->formats.warning : book->formats.bad;
    st_spot truth = {book->checks, row, TRUTH};
    st_spot verdict = {book->checks, row, VERDICT};
    const char *formula =
        st_arena_printf(book->file->arena, "IF(ISERROR(%s),\"%s\",IF(%s,\"%s\",\"%s\"))",
                        live->name, cannot, live->name, holds, failure_of(check));
    book_text(book, (st_spot){book->checks, row, CHECK}, check->formula, NULL);
    book_text(book, (st_spot){book->checks, row, LEVEL}, st_check_level(check), NULL);
    book_text(book, (st_spot){book->checks, row, MESSAGE}, check->message, NULL);
    book_text(book, (st_spot){book->checks, row, CHECK_NAME}, live->name, NULL);
    book_formula(book, truth, live->formula, live->type, live->value);
    book_define(book, truth, live->name);
    book_said(book, verdict, formula, verdict_of(check, live->value));
    color_operands(book, check->expr, live->name, failing);
}

/* What all checks say together: warnings fail nothing. */
static const char *summary_of(st_book *book, const st_sheet_check *checks, size_t count)
{
    size_t failing = 0;
    size_t warning = 0;
    for (size_t i = 0; i < count; i++) {
        const char *verdict = verdict_of(&checks[i], book->live.checks[i].value);
        failing += strcmp(verdict, "FAILS") == 0 || verdict == cannot ? 1 : 0;
        warning += strcmp(verdict, "warns") == 0 ? 1 : 0;
    }
    st_arena *arena = book->file->arena;
    if (failing > 0)
        return st_arena_printf(arena, "FAILS: %zu of %zu, see the sheet Checks", failing, count);
    if (warning > 0)
        return st_arena_printf(arena, "warns: %zu of %zu, see the sheet Checks", warning, count);
    return holds;
}

/* The same as a formula over the verdicts. */
static const char *summary_formula(st_book *book, size_t count)
{
    const char *range = st_arena_printf(
        book->file->arena, "%s:%s", book_address(book, "Checks", FIRST_ROW, VERDICT),
        book_address(book, NULL, (lxw_row_t)(FIRST_ROW + count - 1), VERDICT));
    if (range == NULL)
        return NULL;
    return st_arena_printf(
        book->file->arena,
        "IF(COUNTIF(%s,\"holds\")=%zu,\"holds\",IF(COUNTIF(%s,\"holds\")+COUNTIF(%s,\"warns\")=%zu,"
        "\"warns: \"&COUNTIF(%s,\"warns\"),\"FAILS: \"&(%zu-COUNTIF(%s,\"holds\")-COUNTIF(%s,"
        "\"warns\")))&\" of %zu, see the sheet Checks\")",
        range, count, range, range, count, range, count, range, range, count);
}

/* One line on the first sheet. */
static void write_summary(st_book *book, const st_sheet_check *checks, size_t count)
{
    st_spot spot = {book->cells, CHECKS_ROW, ST_BOOK_VALUE};
    book_text(book, (st_spot){book->cells, CHECKS_ROW, ST_BOOK_NAME}, "Checks", NULL);
    if (count == 0) {
        book_text(book, spot, "the sheet has none", NULL);
        return;
    }
    book_said(book, spot, summary_formula(book, count), summary_of(book, checks, count));
    color_verdicts(book, spot, spot.row);
    color_verdicts(book, (st_spot){book->checks, FIRST_ROW, VERDICT},
                   (lxw_row_t)(FIRST_ROW + count - 1));
}

static void book_write_checks(st_book *book)
{
    size_t count = 0;
    const st_sheet_check *checks = st_sheet_checks(book->estimate->sheet, &count);
    book_headings(book, (st_spot){book->checks, 0, 0}, check_headings, CHECK_COLUMNS);
    for (size_t i = 0; i < count && !book->file->failed; i++)
        write_check(book, &checks[i], &book->live.checks[i], (lxw_row_t)(FIRST_ROW + i));
    write_summary(book, checks, count);
}

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
            book_write_inputs, book_write_cells,     book_write_checks, book_write_provided,
            book_write_parts,  book_write_functions, book_write_lists,
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

/* Appends the bytes of the file, or nothing. */
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
    if (status != ST_OK) /* never an incomplete book */
        bytes->length = before;
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
