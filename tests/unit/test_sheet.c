/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading sheets: what a sheet holds after loading, and what its files may say. Its limits are in
 * test_sheet_limits.c.
 */
#include "../support/sheets.h"

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

/* --- what is said ---------------------------------------------------------------------------- */

TEST_OF(faults_are_those_of_the_cases, shelf *own, make_shelf, drop_shelf)
{
    run_text_cases("tests/unit/cases/sheet.txt", answer_sheet, own, own->arena);
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

TEST_OF(the_sheet_itself_may_be_missing, shelf *own, make_shelf, drop_shelf)
{
    const st_sheet *sheet = NULL;
    st_sheet_reader reader = {.read = read_shelf, .context = own};
    assert_int_equal(st_sheet_load(&reader, "nowhere", own->arena, &sheet, own->errors), ST_ERR_IO);
    assert_string_equal(said(own), "error: no such sheet\n");
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

TEST_OF(the_last_override_counts, shelf *own, make_shelf, drop_shelf)
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
    size_t count = 0;
    const st_sheet *sheet = accept(own, "sheet: t\ninclude: [left, third, base]\n");
    assert_string_equal(st_sheet_functions(sheet, &count)[0].formula, "9*x");
    sheet =
        accept(own, "sheet: t\ninclude: [right, left]\ncells:\n  a: {is: 6.5, override: true}\n");
    assert_string_equal(st_sheet_cells(sheet, &count)[0].formula, "6.5");
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
