/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large and how entangled sheets may be: every count has its bound, and sheets that are made to
 * take long are read, or refused, at once.
 */
#include "../support/sheets.h"

/* --- limits ---------------------------------------------------------------------------------- */

/* "before", then `count` times `each` with a counter, then "after". */
static char *many(shelf *own, const char *before, const char *format, int count, const char *after)
{
    st_buffer text = {0};
    st_buffer_text(&text, before);
    for (int i = 0; i < count; i++) {
        for (const char *c = format; *c != '\0'; c++) {
            if (*c == '#')
                st_buffer_printf(&text, "%d", i);
            else
                st_buffer_append(&text, c, 1);
        }
    }
    st_buffer_text(&text, after);
    assert_false(text.failed);
    char *copy = st_arena_copy(own->arena, text.data, text.length);
    assert_non_null(copy);
    st_buffer_free(&text);
    return copy;
}

TEST_OF(counts_are_bounded, shelf *own, make_shelf, drop_shelf)
{
    static const struct {
        const char *before;
        const char *each;
        int most;
        const char *after;
        const char *said;
    } cases[] = {
        {"sheet: t\nenums:\n  gear: [", "v#, ", 64, "]\n",
         "main:3:9: error: enumeration 'gear': expected a list of 1 to 64 names\n"},
        {"sheet: t\nenums:\n", "  e#: [none]\n", 1000, "",
         "main:1003:3: error: too many enumerations: expected at most 1000\n"},
        {"sheet: t\nfunctions:\n  f:\n    is: 2.5\n    args: {", "x#: 1, ", 144, "}\n",
         "main:5:11: error: function 'f': expected at most 144 arguments\n"},
        {"sheet: t\nfunctions:\n", "  f#: {is: 2.5}\n", 1000, "",
         "main:3:3: error: the sheet has too many functions: expected at most 1000\n"},
        {"sheet: t\nchecks:\n", "  - {that: true, else: no#}\n", 1000, "",
         "main:3:3: error: the sheet has too many checks: expected at most 1000\n"},
        {"sheet: t\nreport:\n", "  - {section: s#, cells: []}\n", 1000, "",
         "main:3:3: error: the report has too many sections: expected at most 1000\n"},
        {"sheet: t\nchecks:\n  - {that: true, else: '", "{#} ", 31, "'}\n",
         "main:3:24: error: the message has too many values: expected at most 31\n"},
        {"sheet: t\ncells:\n", "  a#: {is: 2.5}\n", 20000, "",
         "main:20003:3: error: the sheet has too many inputs and cells: expected at most 20000\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        (void)accept(own, many(own, cases[i].before, cases[i].each, cases[i].most, cases[i].after));
        const char *more =
            many(own, cases[i].before, cases[i].each, cases[i].most + 1, cases[i].after);
        const st_sheet *sheet = NULL;
        put(own, "main", more);
        assert_int_not_equal(load_main(own, &sheet), ST_OK);
        assert_string_equal(said(own), cases[i].said);
    }
    assert_string_equal(refuse(own, ST_ERR_VALUE, "sheet: t\nenums:\n  gear: []\n"),
                        "main:3:9: error: enumeration 'gear': expected a list of 1 to 64 names\n");
}

/* Included sheets count together: the limits of one file are not the limits of a sheet. */
TEST_OF(counts_of_all_files_are_bounded, shelf *own, make_shelf, drop_shelf)
{
    put(own, "base", many(own, "sheet: base\ncells:\n", "  a#: {is: 2.5}\n", 15000, ""));
    assert_string_equal(
        refuse(own, ST_ERR_LIMIT,
               many(own, "sheet: t\ninclude: base\ncells:\n", "  b#: {is: 2.5}\n", 15000, "")),
        "main:5004:3: error: the sheet has too many inputs and cells: expected at most 20000\n");
}

TEST_OF(functions_that_call_functions_are_bounded, shelf *own, make_shelf, drop_shelf)
{
    st_buffer body = {0};
    for (int i = 0; i < 900; i++)
        st_buffer_text(&body, "+1");
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: t\nfunctions:\n");
    for (int i = 0; i < 6; i++) {
        st_buffer_printf(&text, "  f%d: {args: {x: 1}, is: %s%s}\n", i,
                         i == 0 ? "x" : st_arena_printf(own->arena, "f%d(x)", i - 1), body.data);
    }
    assert_string_equal(refuse(own, ST_ERR_LIMIT, text.data),
                        "main:7:3: error: functions call functions, and the formula gets too deep: "
                        "expected at most 4000 levels\n");
    st_buffer_free(&text);
    st_buffer_free(&body);
}

/* --- sheets that are made to take long ------------------------------------------------------- */

/* Each of these took minutes when work was quadratic; they are done at once. */
TEST_OF(entangled_sheets_are_refused_at_once, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: t\ncells:\n");
    for (int i = 0; i < 20000; i++) {
        st_buffer_printf(&text, "  a%d: {is: a%d", i, i * 7919 % 20000);
        for (int j = 1; j < 12; j++)
            st_buffer_printf(&text, "+a%d", (i * 7919 + j * 4729) % 20000);
        st_buffer_text(&text, "}\n");
    }
    assert_contains(refuse(own, ST_ERR_CYCLE, text.data), "circular dependency of cells: ");
    st_buffer_free(&text);
    assert_contains(
        refuse(own, ST_ERR_NAME,
               many(own, "sheet: t\ncells:\n", "  abc#: {is: abd#+abe#+abf#}\n", 20000, "")),
        "59950 more errors not shown");
    char *names = many(own, "", "abd#,", 60000, "");
    char *cells = many(own, "sheet: t\ncells:\n", "  abc#: {is: 2.5}\n", 20000, "");
    assert_contains(
        refuse(own, ST_ERR_NAME,
               st_arena_printf(own->arena, "%sreport:\n  - section: A\n    cells: [%s]\n", cells,
                               names)),
        "unknown cell or input 'abd0' in the report");
}

TEST_OF(long_formulas_of_numbers_are_read_at_once, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: t\ncells:\n");
    for (int i = 0; i < 25; i++) {
        st_buffer_printf(&text, "  a%d:\n    is: min(1", i);
        for (int j = 1; j < 32000; j++)
            st_buffer_text(&text, j % 900 == 0 ? ",1" : "+1");
        st_buffer_text(&text, ")\n");
    }
    (void)accept(own, text.data);
    st_buffer_free(&text);
}

TEST_OF(many_enumerations_are_searched_at_once, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: t\nenums:\n");
    for (int i = 0; i < 900; i++) {
        st_buffer_printf(&text, "  e%d: [", i);
        for (int j = 0; j < 64; j++)
            st_buffer_printf(&text, "v%d_%d,", i, j);
        st_buffer_text(&text, "]\n");
    }
    st_buffer_text(&text, "inputs:\n  g: {from: a.g, unit: e899}\ncells:\n");
    for (int i = 0; i < 300; i++) {
        st_buffer_printf(&text, "  c%d: {unit: bool, is: g == v899_63", i);
        for (int j = 0; j < 150; j++)
            st_buffer_text(&text, " or g == v899_1");
        st_buffer_text(&text, "}\n");
    }
    (void)accept(own, text.data);
    st_buffer_free(&text);
}

TEST_OF(long_chains_of_cells_are_fine, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: t\ncells:\n");
    for (int i = 20000; i-- > 1;)
        st_buffer_printf(&text, "  a%d: {is: a%d+1}\n", i, i - 1);
    st_buffer_text(&text, "  a0: {is: 2.5}\n");
    (void)accept(own, text.data);
    st_buffer_free(&text);
}

TESTS(sheet_limits);
