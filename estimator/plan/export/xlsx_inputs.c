/* SPDX-License-Identifier: Apache-2.0 */
/* The sheet of inputs: what a reader changes. */
#include "estimate/groups.h"
#include "base/lists.h"
#include "sheet/type_write.h"
#include "export/xlsx_book.h"

#include <math.h>
#include <string.h>

enum { MOST_LISTED = 255 /* characters of a list in a rule */ };
static const double SMALLEST = 1e-300; /* within what every spreadsheet reads */
static const double LARGEST = 1e100;
enum { NAME, VALUE, UNIT, DOC, ASSUMED, ORIGIN, SOURCE, KEY, BASE, BASE_UNIT, DEFINED };

static const st_heading headings[] = {
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

/* What stands in the rule itself, where it fits, for the library loses a little memory over
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
        st_book_text(book, spot,
                     st_type_format(type, input->value, ST_STYLE_EXACT, text, sizeof text), format);
    else
        st_xlsx_number(book->file, spot.sheet, spot.row, spot.column, input->value, format);
    const st_enum *list = type->kind == ST_TYPE_BOOL ? &st_book_answers : type->enumeration;
    lxw_data_validation rule = {.ignore_blank = LXW_VALIDATION_OFF};
    char **values = st_arena_alloc(book->file->arena, list->count + 1, sizeof *values);
    char *range = st_arena_printf(book->file->arena, "=%s", st_book_list(book, list));
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

/* What stands in the value's cell, as formulas read it. */
static const char *base_formula(st_book *book, lxw_row_t row, const st_bound_input *input)
{
    st_arena *arena = book->file->arena;
    const st_type *type = &input->input->type;
    const char *cell = st_book_address(book, NULL, row, VALUE);
    if (type->kind == ST_TYPE_NUMBER) {
        const char *scaled = st_book_scaled(book, cell, &type->unit, true);
        /* An empty cell is 0 to a spreadsheet, which nobody has said. */
        return isfinite(input->value)
                   ? scaled
                   : st_arena_printf(arena, "IF(ISBLANK(%s),NA(),%s)", cell, scaled);
    }
    if (type->kind == ST_TYPE_BOOL)
        return st_arena_printf(arena, "MATCH(%s,%s,0)=1", cell,
                               st_book_list(book, &st_book_answers));
    if (st_live_is_exact(&book->live, type->enumeration))
        return cell;
    const char *list = st_book_list(book, type->enumeration);
    return st_arena_printf(arena, "INDEX(%s,MATCH(%s,%s,0))", list, cell, list);
}

static const char *origin_text(st_book *book, const st_bound_input *input)
{
    static const char *const words[] = {"the job's default", "the sheet's default", "--set"};
    const char *origin = st_input_origin(input);
    if (strcmp(origin, "default") == 0)
        return words[0];
    if (strcmp(origin, "sheet") == 0)
        return isfinite(input->value) ? words[1] : "to be filled in";
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
        {UNIT, st_book_unit(&input->type), NULL},
        {DOC, input->doc, NULL},
        {ASSUMED, st_input_is_assumed(bound) && isfinite(bound->value) ? "assumption" : "",
         book->formats.assumed},
        {ORIGIN, origin_text(book, bound), NULL},
        {SOURCE, source != NULL ? source : input->cite, NULL},
        {KEY, input->from, NULL},
        {BASE_UNIT, st_book_base_unit(book, &input->type), NULL},
        {DEFINED, name, NULL},
    };
    for (size_t i = 0; i < ST_COUNT(texts); i++)
        st_book_text(book, (st_spot){book->inputs, row, texts[i].column}, texts[i].text,
                     texts[i].format);
    st_spot base = {book->inputs, row, BASE};
    write_value(book, (st_spot){book->inputs, row, VALUE}, bound);
    st_book_formula(book, base, base_formula(book, row, bound), &input->type, bound->value);
    st_book_define(book, base, name);
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
    st_book_text(book, (st_spot){book->inputs, row, NAME}, title, book->formats.section);
    for (size_t i = first; i < book->estimate->input_count; i++)
        if (same_topic(&inputs[first], &inputs[i]))
            write_input(book, i, ++row);
    return row + 2;
}

void st_book_write_inputs(st_book *book)
{
    const st_bound_input *inputs = book->estimate->inputs;
    lxw_row_t row = 2;
    st_book_text(book, (st_spot){book->inputs, 0, 0},
                 "Change a value in a yellow cell; everything else is computed from these.",
                 book->formats.title);
    st_book_headings(book, (st_spot){book->inputs, 1, 0}, headings, ST_COUNT(headings));
    for (size_t i = 0; i < book->estimate->input_count && !book->file->failed; i++) {
        bool is_first = true;
        for (size_t j = 0; j < i && is_first; j++)
            is_first = !same_topic(&inputs[j], &inputs[i]);
        if (is_first)
            row = write_topic(book, i, row);
    }
}
