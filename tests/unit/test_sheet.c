/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading sheets: what a sheet holds after loading, and what its files may say. Its limits are in
 * test_sheet_limits.c.
 */
#include "../support/sheets.h"

/* Loads `text` and demands one list of errors. */
typedef struct refused {
    st_status status;
    const char *text;
    const char *said;
} refused;

static void assert_refused(shelf *own, const refused *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_string_equal(refuse(own, cases[i].status, cases[i].text), cases[i].said);
}

/* --- what a sheet holds ---------------------------------------------------------------------- */

static const char pump[] = "sheet: pump-2.b\n"
                           "title: ' A pump '\n"
                           "doc: Moves bytes.\n"
                           "enums:\n"
                           "  gear: [none, half, 1f1b]\n"
                           "inputs:\n"
                           "  V: {from: constants.v, unit: MB, doc: volume, cite: p. 7}\n"
                           "  C: {from: cluster.nic, unit: GB/s, doc: flow, default: 12.5 GB/s}\n"
                           "  g: {from: constants.gear, unit: gear, doc: gear, default: 1f1b}\n"
                           "  on: {from: constants.on, unit: bool, doc: switch, default: true}\n"
                           "  loss: {from: constants.loss, unit: '%', doc: loss, default: 2.5 %}\n"
                           "  n: {from: parallel.dp, doc: pumps, default: 3}\n"
                           "functions:\n"
                           "  move:\n"
                           "    open: true\n"
                           "    args: {size: B, rate: GB/s}\n"
                           "    unit: ms\n"
                           "    is:   size/rate\n"
                           "    doc: time to move\n"
                           "    cite: p. 9\n"
                           "  given: {open: true, args: {x: 1}, unit: s}\n"
                           "cells:\n"
                           "  T: {unit: ms, is: ' move(V, C)*n ', doc: time, cite: p. 8}\n"
                           "  out: {unit: bool, is: g != none and on, open: true}\n"
                           "  rest: {is: 1 - loss}\n"
                           "checks:\n"
                           "  - {that: n >= 1, else: '{n} pumps'}\n"
                           "  - that: T < 5[s]\n    else: slow\n    level: warning\n"
                           "report:\n"
                           "  - {section: Time, cells: [T, n]}\n"
                           "  - {section: Gear, cells: [out]}\n"
                           "  - {section: Time, cells: [rest]}\n";

TEST_WITH(a_sheet_holds_what_its_file_says, make_shelf, drop_shelf)
{
    const st_sheet *sheet = accept(*state, pump);
    size_t count = 0;
    assert_string_equal(st_sheet_name(sheet), "pump-2.b");
    assert_string_equal(st_sheet_title(sheet), "A pump");
    assert_string_equal(st_sheet_doc(sheet), "Moves bytes.");
    assert_string_equal(st_sheet_file(sheet), "main");
    const st_enum *enums = st_sheet_enums(sheet, &count);
    assert_int_equal(count, 1);
    assert_string_equal(enums[0].name, "gear");
    assert_int_equal(enums[0].count, 3);
    assert_string_equal(enums[0].values[2], "1f1b");
    const st_sheet_section *sections = st_sheet_sections(sheet, &count);
    assert_int_equal(count, 2);
    assert_string_equal(sections[0].title, "Time");
    assert_int_equal(sections[0].count, 3);
    assert_string_equal(sections[0].cells[1], "n");
    assert_string_equal(sections[0].cells[2], "rest");
    assert_string_equal(sections[1].cells[0], "out");
    const st_sheet_check *checks = st_sheet_checks(sheet, &count);
    assert_int_equal(count, 2);
    assert_string_equal(checks[0].formula, "n >= 1");
    assert_string_equal(checks[0].message, "{n} pumps");
    assert_false(checks[0].warning);
    assert_int_equal(checks[0].place.line, 27);
    assert_int_equal(checks[0].place.column, 12);
    assert_true(checks[1].warning);
}

TEST_WITH(inputs_have_types_and_defaults, make_shelf, drop_shelf)
{
    const st_sheet *sheet = accept(*state, pump);
    size_t count = 0;
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    assert_int_equal(count, 6);
    assert_string_equal(inputs[0].name, "V");
    assert_string_equal(inputs[0].from, "constants.v");
    assert_string_equal(inputs[0].doc, "volume");
    assert_string_equal(inputs[0].cite, "p. 7");
    assert_string_equal(inputs[0].type.unit.text, "MB");
    assert_false(inputs[0].has_default);
    assert_int_equal(inputs[0].place.line, 7);
    assert_int_equal(inputs[0].place.column, 3);
    static const double defaults[] = {0, 12.5e9, 2, 1, 2.5 / 100, 3};
    for (size_t i = 1; i < count; i++) {
        assert_true(inputs[i].has_default);
        assert_double(inputs[i].default_value, defaults[i], inputs[i].name);
    }
    assert_int_equal(inputs[2].type.kind, ST_TYPE_ENUM);
    assert_ptr_equal(inputs[2].type.enumeration, st_sheet_enums(sheet, &count));
    assert_int_equal(inputs[3].type.kind, ST_TYPE_BOOL);
    assert_string_equal(inputs[5].type.unit.text, "1");
    assert_string_equal(inputs[5].cite, "");
}

TEST_WITH(cells_and_functions_have_formulas, make_shelf, drop_shelf)
{
    const st_sheet *sheet = accept(*state, pump);
    size_t count = 0;
    const st_sheet_cell *cells = st_sheet_cells(sheet, &count);
    assert_int_equal(count, 3);
    assert_string_equal(cells[0].name, "T");
    assert_string_equal(cells[0].formula, "move(V, C)*n");
    assert_string_equal(cells[0].doc, "time");
    assert_string_equal(cells[0].cite, "p. 8");
    assert_int_equal(cells[0].formula_place.line, 23);
    assert_int_equal(cells[0].formula_place.column, 23);
    assert_non_null(cells[0].expr);
    assert_false(cells[0].open);
    assert_true(cells[1].open);
    assert_string_equal(cells[2].cite, "");
    const st_sheet_function *functions = st_sheet_functions(sheet, &count);
    assert_int_equal(count, 2);
    assert_string_equal(functions[0].name, "move");
    assert_string_equal(functions[0].formula, "size/rate");
    assert_int_equal(functions[0].argument_count, 2);
    assert_string_equal(functions[0].arguments[1].name, "rate");
    assert_string_equal(functions[0].arguments[1].type.unit.text, "GB/s");
    assert_string_equal(functions[0].type.unit.text, "ms");
    assert_true(functions[0].open);
    assert_int_equal(functions[0].formula_place.column, 11);
    assert_null(functions[1].formula);
    assert_null(functions[1].expr);
}

TEST_WITH(things_are_found_by_name, make_shelf, drop_shelf)
{
    const st_sheet *sheet = accept(*state, pump);
    assert_string_equal(st_sheet_find_cell(sheet, "rest")->name, "rest");
    assert_null(st_sheet_find_cell(sheet, "V"));
    assert_null(st_sheet_find_cell(sheet, "move"));
    assert_string_equal(st_sheet_find_input(sheet, "loss")->name, "loss");
    assert_null(st_sheet_find_input(sheet, "T"));
    assert_string_equal(st_sheet_nearest(sheet, "rset"), "rest");
    assert_string_equal(st_sheet_nearest(sheet, "lost"), "loss");
    assert_null(st_sheet_nearest(sheet, "bandwidth"));
}

TEST_OF(values_are_shown_by_type, shelf *own, make_shelf, drop_shelf)
{
    const st_sheet *sheet = accept(own, pump);
    const st_type *gear = &st_sheet_find_input(sheet, "g")->type;
    const st_type *truth = &st_sheet_find_input(sheet, "on")->type;
    const st_type *time = &st_sheet_find_cell(sheet, "T")->type;
    char text[ST_QUANTITY_TEXT];
    assert_string_equal(st_type_format(gear, 1, ST_STYLE_SCALED, text, sizeof text), "half");
    assert_string_equal(st_type_format(gear, 2, ST_STYLE_EXACT, text, sizeof text), "1f1b");
    assert_string_equal(st_type_format(gear, 3, ST_STYLE_SCALED, text, sizeof text), "not finite");
    assert_string_equal(st_type_format(gear, -1, ST_STYLE_SCALED, text, sizeof text), "not finite");
    assert_string_equal(st_type_format(gear, NOT_A_NUMBER, ST_STYLE_UNIT, text, sizeof text),
                        "not finite");
    assert_string_equal(st_type_format(truth, 1, ST_STYLE_SCALED, text, sizeof text), "yes");
    assert_string_equal(st_type_format(truth, 0, ST_STYLE_SCALED, text, sizeof text), "no");
    assert_string_equal(st_type_format(truth, NOT_A_NUMBER, ST_STYLE_UNIT, text, sizeof text),
                        "not finite");
    assert_string_equal(st_type_format(time, 0.0125, ST_STYLE_UNIT, text, sizeof text), "12.5 ms");
}

TEST_OF(a_sheet_may_be_nearly_empty, shelf *own, make_shelf, drop_shelf)
{
    const st_sheet *sheet = accept(own, "sheet: nothing\n");
    size_t count = 1;
    (void)st_sheet_cells(sheet, &count);
    assert_int_equal(count, 0);
    (void)st_sheet_inputs(sheet, &count);
    assert_int_equal(count, 0);
    assert_string_equal(st_sheet_title(sheet), "");
    assert_string_equal(st_sheet_doc(sheet), "");
    assert_null(st_sheet_nearest(sheet, "T"));
    assert_int_equal(st_errors_size(own->errors), 0);
    (void)accept(own, "sheet: nothing\ncells: {}\ninputs: {}\nchecks: []\nreport: []\n");
}

/* --- keys ------------------------------------------------------------------------------------ */

TEST_WITH(unknown_keys_get_the_nearest_one, make_shelf, drop_shelf)
{
    static const refused cases[] = {
        {ST_ERR_NAME, "sheet: t\ncell: {}\n",
         "main:2:1: error: the sheet has no key 'cell': expected one of sheet, title, doc, "
         "stack, include, "
         "enums, inputs, functions, cells, roles, checks, report, summary; did you mean "
         "'cells'?\n"},
        {ST_ERR_NAME, "sheet: t\ninputs:\n  n: {form: a.b, from: a.b}\n",
         "main:3:7: error: input 'n' has no key 'form': expected one of from, unit, doc, cite, "
         "default, override; did you mean 'from'?\n"},
        {ST_ERR_NAME, "sheet: t\ncells:\n  a: {is: 2.5, dok: b}\n",
         "main:3:16: error: cell 'a' has no key 'dok': expected one of unit, is, doc, cite, open, "
         "override; did you mean 'doc'?\n"},
        {ST_ERR_NAME, "sheet: t\nfunctions:\n  f: {is: 2.5, arg: {x: 1}}\n",
         "main:3:16: error: function 'f' has no key 'arg': expected one of args, unit, is, open, "
         "doc, cite, override; did you mean 'args'?\n"},
        {ST_ERR_NAME, "sheet: t\nchecks:\n  - {that: true, else: no, levle: warning}\n",
         "main:3:28: error: a check has no key 'levle': expected one of that, else, level; did you "
         "mean 'level'?\n"},
        {ST_ERR_NAME, "sheet: t\nreport:\n  - {section: A, cell: [], cells: []}\n",
         "main:3:18: error: a report section has no key 'cell': expected one of section, cells; "
         "did "
         "you mean 'cells'?\n"},
    };
    assert_refused(*state, cases, COUNT(cases));
}

TEST_WITH(summaries_name_cells_of_one_unit, make_shelf, drop_shelf)
{
#define SUMMED                                                                                     \
    "sheet: t\ncells:\n  T: {unit: s, is: '2.385[s]', doc: d}\n"                                   \
    "  V: {unit: B, is: '23.85[B]', doc: d}\nsummary:\n"
    static const refused cases[] = {
        {ST_ERR_NAME, SUMMED "  answer: {a step: TT}\n",
         "main:6:20: error: unknown cell 'TT' in the summary; did you mean 'T'?\n"},
        {ST_ERR_UNIT, SUMMED "  bars: [{bar: B, of: T, parts: {work: V}}]\n",
         "main:6:40: error: a part of the bar has the wrong unit: found 'V' in B, expected s, as "
         "the total\n"},
        {ST_ERR_NAME, SUMMED "  bars: [{bar: B, parts: {work: V}}]\n",
         "main:6:10: error: a bar of the summary requires 'bar', 'of' and 'parts': expected {bar: "
         "TITLE, of: CELL, parts: {LABEL: CELL}}\n"},
        {ST_ERR_NAME, SUMMED "  bars: [{bar: B, of: T, parts: {work: {hidden: T}}}]\n",
         "main:6:40: error: a part of a bar requires 'exposed': expected {exposed: CELL, hidden: "
         "CELL}\n"},
        {ST_ERR_VALUE, SUMMED "  bars: [{bar: B, of: T, member: V, parts: {work: T}}]\n",
         "main:6:10: error: a bar with families requires 'member': expected a cell whose value is "
         "of their enumeration\n"},
    };
    assert_refused(*state, cases, COUNT(cases));
}

TEST_WITH(commas_in_flow_maps_are_explained, make_shelf, drop_shelf)
{
    assert_string_equal(refuse(*state, ST_ERR_NAME, "sheet: t\ncells:\n  a: {is: max(2.5, 3.5)}\n"),
                        "main:3:20: error: cell 'a' has no key '3.5)': expected one of unit, is, "
                        "doc, cite, open, override; quote a formula with commas inside { }\n"
                        "main:3:18: error: unexpected end of the formula: expected ',' or ')' in "
                        "the call's arguments\n");
}

TEST_WITH(needed_keys_are_demanded, make_shelf, drop_shelf)
{
    static const refused cases[] = {
        {ST_ERR_NAME, "cells: {}\n",
         "main:1:1: error: missing sheet name: expected 'sheet: NAME' at the top\n"},
        {ST_ERR_NAME, "sheet: ''\n",
         "main:1:1: error: missing sheet name: expected 'sheet: NAME' at the top\n"},
        {ST_ERR_NAME, "sheet: a b\n",
         "main:1:8: error: 'a b' cannot name a sheet: expected letters, digits, '-', '_' and "
         "'.'\n"},
        {ST_ERR_NAME, "sheet: t\ninputs:\n  n: {doc: ranks}\n",
         "main:3:3: error: input 'n' has no key 'from': expected the job key that gives its value, "
         "e.g. 'from: model.hidden'\n"},
        {ST_ERR_NAME, "sheet: t\ncells:\n  a: {doc: b}\n",
         "main:3:3: error: cell 'a' has no key 'is': expected its formula, e.g. 'is: V/C'\n"},
        {ST_ERR_NAME, "sheet: t\nfunctions:\n  f: {args: {x: 1}}\n",
         "main:3:3: error: function 'f' has no key 'is': expected its formula, or 'open: true' "
         "where "
         "a provider gives the value\n"},
        {ST_ERR_NAME, "sheet: t\nchecks:\n  - {that: true}\n",
         "main:3:5: error: a check requires 'that' and 'else': expected {that: CONDITION, else: "
         "MESSAGE}\n"},
        {ST_ERR_VALUE, "sheet: t\nchecks:\n  - {that: true, else: ''}\n",
         "main:3:24: error: the check's message is empty: expected a sentence that describes the "
         "problem\n"},
        {ST_ERR_NAME, "sheet: t\nreport:\n  - {section: A}\n",
         "main:3:5: error: a report section requires 'section' and 'cells': expected {section: "
         "TITLE, cells: [names]}\n"},
    };
    assert_refused(*state, cases, COUNT(cases));
}

TEST_WITH(values_have_kinds, make_shelf, drop_shelf)
{
    static const refused cases[] = {
        {ST_ERR_VALUE, "[a, b]\n",
         "main:1:1: error: a sheet must be a map: found a list, expected a map with 'sheet', "
         "'inputs', 'cells', ...\n"},
        {ST_ERR_VALUE, "sheet: t\ncells: [a]\n",
         "main:2:8: error: 'cells' of the sheet: found a list, expected a map\n"},
        {ST_ERR_VALUE, "sheet: t\nchecks: {a: b}\n",
         "main:2:9: error: 'checks' of the sheet: found a map, expected a list\n"},
        {ST_ERR_VALUE, "sheet: t\ntitle: [a]\n",
         "main:2:8: error: 'title' of the sheet: found a list, expected a text\n"},
        {ST_ERR_VALUE, "sheet: t\ncells:\n  a: 2*b\n",
         "main:3:6: error: cell 'a' must be a map: found '2*b', expected a map, e.g. {unit: us, "
         "is: V/C, doc: transfer}\n"},
        {ST_ERR_VALUE, "sheet: t\ncells:\n  a: {is: [2.5]}\n",
         "main:3:11: error: 'is' of cell 'a': found a list, expected a text\n"},
        {ST_ERR_VALUE, "sheet: t\ncells:\n  a: {is: 2.5, unit: [B]}\n",
         "main:3:22: error: a unit must be text: found a list, expected a unit, 'bool' or the name "
         "of an enumeration\n"},
        {ST_ERR_VALUE, "sheet: t\ncells:\n  a: {is: 2.5, open: yes}\n",
         "main:3:22: error: 'open' of cell 'a': found 'yes', expected true or false\n"},
        {ST_ERR_VALUE, "sheet: t\nchecks:\n  - n > 1\n",
         "main:3:5: error: a check must be a map: expected {that: CONDITION, else: MESSAGE}\n"},
        {ST_ERR_VALUE, "sheet: t\nchecks:\n  - {that: true, else: a, level: hint}\n",
         "main:3:34: error: unknown check level 'hint': expected error, limit or warning\n"},
        {ST_ERR_VALUE, "sheet: t\nreport: [a]\n",
         "main:2:10: error: a report section must be a map: found 'a', expected a map, e.g. "
         "{section: Time, cells: [step_time]}\n"},
        {ST_ERR_VALUE, "sheet: t\nreport:\n  - {section: A, cells: [[a]]}\n",
         "main:3:26: error: a report section must list cell names: expected the name of a cell or "
         "an input\n"},
        {ST_ERR_NAME,
         "sheet: t\ncells:\n  rest: {is: 2.5}\nreport:\n"
         "  - {section: A, cells: [rset]}\n",
         "main:5:26: error: unknown cell or input 'rset' in the report; did you mean 'rest'?\n"},
        {ST_ERR_VALUE, "sheet: t\ninclude: {a: b}\n",
         "main:2:10: error: 'include' must be a list of sheets: expected names of sheets, or paths "
         "relative to this file\n"},
        {ST_ERR_VALUE, "sheet: t\ninclude: ['']\n",
         "main:2:11: error: 'include' must be a list of sheets: expected names of sheets, or paths "
         "relative to this file\n"},
        {ST_ERR_UNIT, "sheet: t\ncells:\n  a: {is: 2.5, unit: GBps}\n",
         "main:3:22: error: unknown unit 'GBps'; did you mean 'GB/s'?\n"},
        {ST_ERR_SYNTAX, "sheet: t\ncells:\n  a: {is: }\n",
         "main:3:11: error: the formula is empty: expected an expression\n"},
    };
    assert_refused(*state, cases, COUNT(cases));
}

TEST_WITH(defaults_fit_their_inputs, make_shelf, drop_shelf)
{
    static const refused cases[] = {
        {ST_ERR_UNIT, "sheet: t\ninputs:\n  V: {from: a.b, unit: MB, default: 3 s}\n", NULL},
        {ST_ERR_UNIT, "sheet: t\ninputs:\n  V: {from: a.b, unit: MB, default: 3}\n", NULL},
        {ST_ERR_SYNTAX, "sheet: t\ninputs:\n  n: {from: a.b, default: two}\n", NULL},
        {ST_ERR_VALUE, "sheet: t\ninputs:\n  w: {from: a.b, unit: bool, default: 1}\n",
         "main:3:39: error: the default of 'w': found '1', expected true or false\n"},
        {ST_ERR_VALUE,
         "sheet: t\nenums:\n  gear: [none, half]\ninputs:\n  g: {from: a.b, unit: gear, default: "
         "halv}\n",
         "main:5:39: error: the default of 'g': found 'halv', expected a value of its enumeration; "
         "did you mean 'half'?\n"},
        {ST_ERR_VALUE, "sheet: t\ninputs:\n  n: {from: a.b, default: [1]}\n",
         "main:3:27: error: 'default' of input 'n': found a list, expected a text\n"},
    };
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *text = refuse(own, cases[i].status, cases[i].text);
        if (cases[i].said != NULL)
            assert_string_equal(text, cases[i].said);
        else
            assert_contains(text, "main:3:");
    }
}

/* --- names ----------------------------------------------------------------------------------- */

TEST_WITH(names_are_words_of_their_own, make_shelf, drop_shelf)
{
    static const refused cases[] = {
        {ST_ERR_NAME, "sheet: t\ncells:\n  2a: {is: 2.5}\n",
         "main:3:3: error: '2a' cannot name a cell: expected a letter or '_', then letters, digits "
         "and '_'\n"},
        {ST_ERR_NAME, "sheet: t\ncells:\n  a-b: {is: 2.5}\n",
         "main:3:3: error: 'a-b' cannot name a cell: expected a letter or '_', then letters, "
         "digits "
         "and '_'\n"},
        {ST_ERR_NAME, "sheet: t\ncells:\n  \xC3\xA9: {is: 2.5}\n",
         "main:3:3: error: '\xC3\xA9' cannot name a cell: expected a letter or '_', then letters, "
         "digits and '_'\n"},
        {ST_ERR_NAME, "sheet: t\ncells:\n  '': {is: 2.5}\n",
         "main:3:3: error: '' cannot name a cell: expected a letter or '_', then letters, digits "
         "and "
         "'_'\n"},
        {ST_ERR_NAME, "sheet: t\ncells:\n  min: {is: 2.5}\n",
         "main:3:3: error: 'min' cannot name a cell: it is a reserved word\n"},
        {ST_ERR_NAME, "sheet: t\ninputs:\n  not: {from: a.b}\n",
         "main:3:3: error: 'not' cannot name an input: it is a reserved word\n"},
        {ST_ERR_NAME, "sheet: t\nfunctions:\n  abs: {is: 2.5}\n",
         "main:3:3: error: 'abs' cannot name a function: it is a reserved word\n"},
        {ST_ERR_NAME, "sheet: t\nfunctions:\n  f: {args: {if: 1}, is: 2.5}\n",
         "main:3:14: error: 'if' cannot name an argument: it is a reserved word\n"},
        {ST_ERR_NAME, "sheet: t\nenums:\n  gear: [none, true]\n",
         "main:3:16: error: 'true' cannot name a value of an enumeration: it is a reserved word\n"},
        {ST_ERR_NAME, "sheet: t\nenums:\n  bool: [none]\n",
         "main:3:3: error: 'bool' cannot name an enumeration: it is a reserved word\n"},
        {ST_ERR_NAME, "sheet: t\nenums:\n  ms: [none]\n",
         "main:3:3: error: 'ms' cannot name an enumeration: it is a unit\n"},
    };
    assert_refused(*state, cases, COUNT(cases));
}

TEST_OF(names_are_at_most_100_characters, shelf *own, make_shelf, drop_shelf)
{
    char name[1 << 20];
    memset(name, 'n', sizeof name);
    (void)accept(
        own, st_arena_printf(own->arena, "sheet: t\ncells:\n  ? %.100s\n  : {is: 2.5}\n", name));
    assert_string_equal(
        refuse(own, ST_ERR_LIMIT,
               st_arena_printf(own->arena, "sheet: t\ncells:\n  ? %.101s\n  : {is: 2.5}\n", name)),
        st_arena_printf(own->arena,
                        "main:3:5: error: '%.60s...' is too long as the name of a cell: expected "
                        "at most 100 characters\n",
                        name));
    assert_true(
        strlen(refuse(own, ST_ERR_LIMIT,
                      st_arena_printf(own->arena, "sheet: t\ncells:\n  ? %.*s\n  : {is: 2.5}\n",
                                      (int)sizeof name, name))) < 300);
}

TEST_WITH(names_stand_once, make_shelf, drop_shelf)
{
    static const refused cases[] = {
        {ST_ERR_NAME, "sheet: t\ninputs:\n  a: {from: b.c}\ncells:\n  a: {is: 2.5}\n",
         "main:5:3: error: 'a' is already defined at main:3: expected another name\n"},
        {ST_ERR_NAME,
         "sheet: t\ninputs:\n  a: {from: b.c}\ncells:\n  a: {is: 2.5, override: true}\n",
         "main:5:3: error: 'a' is already defined at main:3: expected another name\n"},
        {ST_ERR_NAME, "sheet: t\nenums:\n  gear: [none]\ncells:\n  none: {is: 2.5}\n",
         "main:5:3: error: 'none' is already a value of an enumeration\n"},
        {ST_ERR_NAME, "sheet: t\nenums:\n  gear: [none, none]\n",
         "main:3:16: error: duplicate value 'none'\n"},
        {ST_ERR_NAME,
         "sheet: t\nenums:\n  gear: [none]\nfunctions:\n"
         "  f: {args: {none: 1}, is: 2.5}\n",
         "main:5:14: error: 'none' is already a value of an enumeration\n"},
        {ST_ERR_SYNTAX, "sheet: t\ncells:\n  a: {is: 2.5}\n  a: {is: 3.5}\n", NULL},
    };
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_sheet *sheet = NULL;
        put(own, "main", cases[i].text);
        assert_int_not_equal(load_main(own, &sheet), ST_OK);
        if (cases[i].said != NULL)
            assert_string_equal(said(own), cases[i].said);
        else
            assert_contains(said(own), "main:4:3: error: key 'a' appears twice");
    }
    /* Functions have names of their own, and values may be in several enumerations. */
    (void)accept(own, "sheet: t\nenums:\n  gear: [none, half]\n  door: [open, none]\nfunctions:\n"
                      "  a: {args: {a: 1}, is: a*2}\n  half: {is: 2.5}\n"
                      "cells:\n  a: {is: half()*a(3.5)}\n");
}

/* --- includes and overrides ------------------------------------------------------------------ */

TEST_OF(included_parts_come_first, shelf *own, make_shelf, drop_shelf)
{
    put(own, "base",
        "sheet: base\ntitle: Base\nenums:\n  gear: [none, half]\n"
        "inputs:\n  n: {from: a.n}\nfunctions:\n  f: {args: {x: 1}, is: x*2.5}\n"
        "cells:\n  a: {is: f(n)}\nchecks:\n  - {that: n > 1, else: one}\n"
        "report:\n  - {section: Time, cells: [a]}\n");
    const st_sheet *sheet =
        accept(own, "include: [base]\nsheet: t\ninputs:\n  g: {from: a.g, unit: gear}\n"
                    "cells:\n  b: {is: 'if(g == half, a, f(a))'}\n"
                    "checks:\n  - {that: n > 2, else: two}\n"
                    "report:\n  - {section: More, cells: [g]}\n  - {section: Time, cells: [b]}\n");
    size_t count = 0;
    assert_string_equal(st_sheet_name(sheet), "t");
    assert_string_equal(st_sheet_title(sheet), "");
    assert_string_equal(st_sheet_cells(sheet, &count)[0].name, "a");
    assert_string_equal(st_sheet_cells(sheet, &count)[0].place.file, "base");
    assert_string_equal(st_sheet_cells(sheet, &count)[1].name, "b");
    assert_string_equal(st_sheet_inputs(sheet, &count)[0].name, "n");
    assert_string_equal(st_sheet_checks(sheet, &count)[0].message, "one");
    assert_int_equal(count, 2);
    const st_sheet_section *sections = st_sheet_sections(sheet, &count);
    assert_int_equal(count, 2);
    assert_string_equal(sections[0].title, "Time");
    assert_string_equal(sections[0].cells[1], "b");
}

TEST_OF(a_sheet_counts_once_in_a_diamond, shelf *own, make_shelf, drop_shelf)
{
    put(own, "root", "sheet: root\ncells:\n  a: {is: 2.5}\n");
    put(own, "left", "sheet: left\ninclude: root\ncells:\n  b: {is: a*3}\n");
    put(own, "right", "sheet: right\ninclude: [root]\ncells:\n  c: {is: a*5}\n");
    const st_sheet *sheet =
        accept(own, "sheet: t\ninclude: [left, right, left]\ncells:\n  d: {is: a + b + c}\n");
    size_t count = 0;
    (void)st_sheet_cells(sheet, &count);
    assert_int_equal(count, 4);
}

TEST_OF(circles_of_sheets_are_shown, shelf *own, make_shelf, drop_shelf)
{
    put(own, "one", "sheet: one\ninclude: [two]\n");
    put(own, "two", "sheet: two\ninclude: [three, one]\n");
    put(own, "three", "sheet: three\ncells:\n  a: {is: 2.5}\n");
    assert_string_equal(refuse(own, ST_ERR_CYCLE, "sheet: t\ninclude:\n  - main\n"),
                        "main:3:5: error: the sheet includes itself: main -> main\n");
    assert_string_equal(refuse(own, ST_ERR_CYCLE, "sheet: t\ninclude: one\ncells:\n  b: {is: x}\n"),
                        "two:2:18: error: sheets include each other: one -> two -> one\n");
}

TEST_OF(includes_are_at_most_32_deep, shelf *own, make_shelf, drop_shelf)
{
    for (int i = 0; i < 40; i++) {
        put(own, st_arena_printf(own->arena, "s%d", i),
            st_arena_printf(own->arena, "sheet: s%d\n%s", i,
                            i == 0 ? "" : st_arena_printf(own->arena, "include: s%d\n", i - 1)));
    }
    (void)accept(own, "sheet: t\ninclude: s30\n");
    assert_string_equal(
        refuse(own, ST_ERR_LIMIT, "sheet: t\ninclude: s31\n"),
        "s1:2:10: error: includes are nested too deep: expected at most 32 levels\n");
}

/* Names of a file that cannot be read are not reported one by one. */
TEST_OF(missing_and_broken_includes_are_told_alone, shelf *own, make_shelf, drop_shelf)
{
    put(own, "broken", "sheet: broken\ncells: [\n");
    assert_string_equal(refuse(own, ST_ERR_IO,
                               "sheet: t\ninclude: [gone]\ncells:\n  a: {is: b + c}\n"
                               "report:\n  - {section: A, cells: [b]}\n"),
                        "main:2:11: error: no such sheet\n");
    const char *text =
        refuse(own, ST_ERR_SYNTAX, "sheet: t\ninclude: [broken]\ncells:\n  a: {is: b + }\n");
    assert_contains(text, "broken:3:1: error: malformed YAML");
    assert_contains(text, "main:4:14: error: unexpected end of the formula");
    assert_lacks(text, "unknown name");
    const st_sheet *sheet = NULL;
    st_sheet_reader reader = {.read = read_shelf, .context = own};
    assert_int_equal(st_sheet_load(&reader, "nowhere", own->arena, &sheet, own->errors), ST_ERR_IO);
    assert_string_equal(said(own), "error: no such sheet\n");
}

TEST_OF(faults_name_the_included_file, shelf *own, make_shelf, drop_shelf)
{
    put(own, "base", "sheet: base\ncells:\n  a: {unit: us, is: b*2}\n");
    assert_string_equal(refuse(own, ST_ERR_NAME, "sheet: t\ninclude: base\ncells:\n  c: {is: a}\n"),
                        "base:3:21: error: unknown name 'b'\n"
                        "main:4:11: error: cell 'c' has the wrong unit: found 'a' (s), expected a "
                        "pure number\n");
}

TEST_OF(overrides_replace_in_place, shelf *own, make_shelf, drop_shelf)
{
    put(own, "base",
        "sheet: base\ninputs:\n  n: {from: a.n}\n  V: {from: a.v, unit: MB}\n"
        "functions:\n  f: {args: {x: 1}, is: x*2.5}\n"
        "cells:\n  a: {is: f(n)}\n  b: {unit: MB, is: a*V}\n");
    const st_sheet *sheet =
        accept(own, "sheet: t\ninclude: base\ninputs:\n"
                    "  a: {from: a.a, override: true}\n"
                    "functions:\n  f: {args: {x: B}, unit: B, is: x*3.5, override: true}\n"
                    "cells:\n  n: {is: 7.5, override: true}\n"
                    "  b: {unit: kB, is: f(V)*a*n, doc: new, override: true}\n");
    size_t count = 0;
    const st_sheet_cell *cells = st_sheet_cells(sheet, &count);
    assert_int_equal(count, 2);
    assert_string_equal(cells[0].name, "n");
    assert_string_equal(cells[1].formula, "f(V)*a*n");
    assert_string_equal(cells[1].type.unit.text, "kB");
    assert_string_equal(cells[1].place.file, "main");
    const st_sheet_input *inputs = st_sheet_inputs(sheet, &count);
    assert_int_equal(count, 2);
    assert_string_equal(inputs[0].name, "V");
    assert_string_equal(inputs[1].name, "a");
    const st_sheet_function *functions = st_sheet_functions(sheet, &count);
    assert_int_equal(count, 1);
    assert_string_equal(functions[0].formula, "x*3.5");
}

TEST_OF(overrides_are_said_and_fit, shelf *own, make_shelf, drop_shelf)
{
    put(own, "base",
        "sheet: base\nenums:\n  gear: [none]\nfunctions:\n  f: {args: {x: 1}, is: x}\n"
        "cells:\n  a: {unit: us, is: '2.5[us]'}\n  b: {unit: us, is: a}\n");
    static const refused cases[] = {
        {ST_ERR_NAME, "sheet: t\ninclude: base\ncells:\n  a: {unit: us, is: '3[us]'}\n",
         "main:4:3: error: 'a' is already defined at base:7: expected another name, or 'override: "
         "true' to replace a definition of an included sheet\n"},
        {ST_ERR_NAME, "sheet: t\ninclude: base\ncells:\n  c: {is: 2.5, override: true}\n",
         "main:4:3: error: 'c' overrides nothing: expected the name of an input or a cell of an "
         "included sheet\n"},
        {ST_ERR_NAME, "sheet: t\ninclude: base\nfunctions:\n  f: {is: 2.5}\n",
         "main:4:3: error: function 'f' is already defined: expected another name, or 'override: "
         "true' to replace a definition of an included sheet\n"},
        {ST_ERR_NAME, "sheet: t\ninclude: base\nfunctions:\n  g: {is: 2.5, override: true}\n",
         "main:4:3: error: function 'g' overrides nothing: expected the name of a function of an "
         "included sheet\n"},
        {ST_ERR_UNIT, "sheet: t\ninclude: base\ncells:\n  a: {is: 2.5, override: true}\n",
         "base:8:21: error: cell 'b' has the wrong unit: found 'a' (a pure number), expected us "
         "(s)\n"},
        {ST_ERR_CYCLE,
         "sheet: t\ninclude: base\ncells:\n  a: {unit: us, is: 2*b, override: true}\n",
         "base:8:21: error: circular dependency of cells: a -> b -> a\n"},
        {ST_ERR_NAME, "sheet: t\ninclude: base\nenums:\n  gear: [none, half]\n",
         "main:4:3: error: enumeration 'gear' is already defined\n"},
        {ST_ERR_NAME, "sheet: t\ninclude: base\nenums:\n  door: [a]\n",
         "main:4:10: error: 'a' already names a cell or an input\n"},
    };
    assert_refused(own, cases, COUNT(cases));
}

/* Which of two overrides counts must not depend on the order in which a third sheet lists them. */
TEST_OF(overrides_that_contradict_each_other_are_told, shelf *own, make_shelf, drop_shelf)
{
    put(own, "base",
        "sheet: base\nfunctions:\n  f: {args: {x: 1}, is: x}\ncells:\n  a: {is: f(2.5)}\n");
    put(own, "left",
        "sheet: left\ninclude: base\ncells:\n  a: {is: 3.25, override: true}\n"
        "functions:\n  f: {args: {x: 1}, is: 7*x, override: true}\n");
    put(own, "right", "sheet: right\ninclude: base\ncells:\n  a: {is: 4.125, override: true}\n");
    put(own, "third",
        "sheet: third\ninclude: [left]\nfunctions:\n"
        "  f: {args: {x: 1}, is: 9*x, override: true}\n");
    put(own, "fourth",
        "sheet: fourth\ninclude: base\nfunctions:\n"
        "  f: {args: {x: 1}, is: 11*x, override: true}\n");
    static const refused cases[] = {
        {ST_ERR_NAME, "sheet: t\ninclude: [left, right]\n",
         "right:4:3: error: conflicting overrides of 'a' here and at left:4: neither sheet "
         "includes the other: expected one override, or another one in a sheet that includes "
         "both\n"},
        {ST_ERR_NAME, "sheet: t\ninclude: [right, third]\n",
         "left:4:3: error: conflicting overrides of 'a' here and at right:4: neither sheet "
         "includes the other: expected one override, or another one in a sheet that includes "
         "both\n"},
        {ST_ERR_NAME,
         "sheet: t\ninclude: [third, fourth]\ncells:\n  a: {is: 6.5, override: true}\n",
         "fourth:4:3: error: conflicting overrides of 'f' here and at third:4: neither sheet "
         "includes the other: expected one override, or another one in a sheet that includes "
         "both\n"},
    };
    assert_refused(own, cases, COUNT(cases));
    size_t count = 0;
    const st_sheet *sheet = accept(own, "sheet: t\ninclude: [left, third, base]\n");
    assert_string_equal(st_sheet_functions(sheet, &count)[0].formula, "9*x");
    sheet =
        accept(own, "sheet: t\ninclude: [right, left]\ncells:\n  a: {is: 6.5, override: true}\n");
    assert_string_equal(st_sheet_cells(sheet, &count)[0].formula, "6.5");
}

/* --- messages of checks ---------------------------------------------------------------------- */

TEST_WITH(templates_are_read_with_care, make_shelf, drop_shelf)
{
    static const refused cases[] = {
        {ST_ERR_SYNTAX, "sheet: t\nchecks:\n  - {that: true, else: 'open {n'}\n",
         "main:3:30: error: unclosed brace in the message: expected '}', or '{{' for a literal "
         "brace\n"},
        {ST_ERR_SYNTAX, "sheet: t\nchecks:\n  - {that: true, else: 'n} closes'}\n",
         "main:3:26: error: unmatched closing brace in the message: expected '}}' for a literal "
         "brace\n"},
        {ST_ERR_SYNTAX, "sheet: t\nchecks:\n  - {that: true, else: 'no {}'}\n",
         "main:3:29: error: the formula is empty: expected an expression\n"},
        {ST_ERR_SYNTAX, "sheet: t\nchecks:\n  - {that: true, else: 'a {2.5 *} b'}\n",
         "main:3:33: error: unexpected end of the formula: expected a number, a name or '('\n"},
        {ST_ERR_SYNTAX, "sheet: t\nchecks:\n  - {that: true or, else: 'a {2.5 *} b'}\n",
         "main:3:19: error: unexpected end of the formula: expected a number, a name or '('\n"
         "main:3:36: error: unexpected end of the formula: expected a number, a name or '('\n"},
        {ST_ERR_NAME, "sheet: t\nchecks:\n  - {that: true, else: 'a { oops } b'}\n",
         "main:3:29: error: unknown name 'oops'\n"},
    };
    assert_refused(*state, cases, COUNT(cases));
}

/* --- no sheet at all ------------------------------------------------------------------------- */

TEST_OF(texts_that_are_no_sheets_are_refused, shelf *own, make_shelf, drop_shelf)
{
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        {"", 0},
        {"\n\n", 2},
        {"# nothing\n", 10},
        {"sheet", 5},
        {"\0\1\2", 3},
        {"sheet: t\nx: \xFF\xFE\n", 15},
        {"sheet: t\n\tcells: {}\n", 20},
        {"sheet: t\n---\nsheet: u\n", 22},
        {"null", 4},
        {"sheet: {t: u}\n", 14},
        {"sheet: t\ncells: &a {b: *a}\n", 27},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_sheet *sheet = NULL;
        put_bytes(own, "main", cases[i].text, cases[i].length);
        assert_int_not_equal(load_main(own, &sheet), ST_OK);
        assert_null(sheet);
        assert_true(st_errors_count(own->errors, ST_SEVERITY_ERROR) > 0);
    }
}

TEST_OF(sheets_load_without_a_list_of_errors, shelf *own, make_shelf, drop_shelf)
{
    const st_sheet *sheet = NULL;
    st_sheet_reader reader = {.read = read_shelf, .context = own};
    put(own, "main", pump);
    assert_int_equal(st_sheet_load(&reader, "main", own->arena, &sheet, NULL), ST_OK);
    assert_string_equal(st_sheet_name(sheet), "pump-2.b");
    static const char *const faulty[] = {"sheet: t\ncells:\n  a: {is: b}\n",
                                         "sheet: t\ncells:\n  a: {is: 2 +}\n",
                                         "sheet: t\ncells:\n  a: {is: a}\n",
                                         "sheet: t\ninclude: gone\n",
                                         "cells: {}\n",
                                         "["};
    for (size_t i = 0; i < COUNT(faulty); i++) {
        const st_sheet *none = NULL;
        put(own, "main", faulty[i]);
        assert_int_not_equal(st_sheet_load(&reader, "main", own->arena, &none, NULL), ST_OK);
        assert_null(none);
    }
}

TESTS(sheet);
