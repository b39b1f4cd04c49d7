/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a sheet: what is read, what an including sheet changes of it, what is refused. */
#include "../support/sheets.h"

#include "sheet/summary.h"

#define CELLS                                                                                      \
    "enums: {part: [low, mid, high], other: [low_too, high_too]}\n"                                \
    "inputs:\n  p: {from: constants.p, unit: s, doc: d}\n  q: {from: constants.q, doc: d}\n"       \
    "cells:\n"                                                                                     \
    "  T: {unit: s, is: '2.385[s]', doc: d}\n"                                                     \
    "  U: {unit: min, is: '0.385[s]', doc: d}\n"                                                   \
    "  V: {unit: B, is: '23.85[B]', doc: d}\n"                                                     \
    "  which: {unit: part, is: mid, doc: d}\n"                                                     \
    "  wrong: {unit: other, is: high_too, doc: d}\n"                                               \
    "  M: {per: part, unit: s, is: {low: '1.5[s]', mid: '2.5[s]', high: '3.5[s]'}, doc: d}\n"

TEST_OF(parts_and_bars_are_read, shelf *own, make_shelf, drop_shelf)
{
    const st_sheet *sheet =
        accept(own, "sheet: t\n" CELLS "summary:\n  answer: {a step: T, each: V}\n  bars:\n"
                    "    - {bar: A, of: T, limit: U, member: which,\n"
                    "       parts: {one: M, two: {exposed: T, hidden: p}, three: 'M[high]'}}\n"
                    "    - {bar: B, of: V, parts: {all: V}}\n");
    const st_summary *summary = st_sheet_summary(sheet);
    assert_int_equal(summary->answer_count, 2);
    assert_string_equal(summary->answer[1].label, "each");
    assert_string_equal(summary->answer[1].cell, "V");
    assert_int_equal(summary->bar_count, 2);
    const st_summary_bar *bar = &summary->bars[0];
    assert_string_equal(bar->total, "T");
    assert_string_equal(bar->limit, "U");
    assert_string_equal(bar->member, "which");
    assert_int_equal(bar->count, 3);
    assert_string_equal(bar->parts[0].cell, "M");
    assert_null(bar->parts[0].hidden);
    assert_string_equal(bar->parts[1].label, "two");
    assert_string_equal(bar->parts[1].cell, "T");
    assert_string_equal(bar->parts[1].hidden, "p");
    assert_null(summary->bars[1].limit);
    assert_null(summary->bars[1].member);
    /* What the summary alone reads is of use; q nobody reads. */
    const char *warned = said(own);
    assert_contains(warned, "'q'");
    assert_lacks(warned, "'p'");
    assert_string_equal(st_summary_members(sheet, bar)->name, "part");
    assert_null(st_summary_members(sheet, &summary->bars[1]));
    assert_string_equal(st_summary_cell(sheet, "M", 0, own->arena), "M[low]");
    assert_string_equal(st_summary_cell(sheet, "M", 2, own->arena), "M[high]");
    assert_null(st_summary_cell(sheet, "M", 3, own->arena));
    assert_string_equal(st_summary_cell(sheet, "T", 2, own->arena), "T");
    assert_string_equal(st_summary_cell(sheet, "M[mid]", 2, own->arena), "M[mid]");
}

TEST_OF(answers_have_lines_and_say_what_is_given, shelf *own, make_shelf, drop_shelf)
{
    put(own, "below", "sheet: below\n" CELLS "summary:\n  answer: {a step: T}\n");
    const st_sheet *sheet =
        accept(own, "sheet: t\ninclude: below\nsummary:\n  answer:\n"
                    "    - {a step: U, 'as {which}': V}\n"
                    "    - {words: {cell: T, given: p, otherwise: one hour}}\n");
    const st_summary *summary = st_sheet_summary(sheet);
    assert_int_equal(summary->answer_count, 3);
    assert_string_equal(summary->answer[0].cell, "U");
    assert_null(summary->answer[0].inner);
    assert_null(summary->answer[0].given);
    assert_string_equal(summary->answer[1].inner, "which");
    assert_int_equal(summary->answer[1].line, 0);
    assert_string_equal(summary->answer[2].given, "p");
    assert_string_equal(summary->answer[2].otherwise, "one hour");
    assert_int_equal(summary->answer[2].line, 1);
}

TEST_WITH(sheets_without_one_have_nothing, make_shelf, drop_shelf)
{
    const st_summary *summary = st_sheet_summary(accept(*state, "sheet: t\n" CELLS));
    assert_int_equal(summary->answer_count, 0);
    assert_int_equal(summary->bar_count, 0);
}

/* A bar of the same title takes the place of the included one, others stand behind. */
TEST_OF(including_sheets_change_bars_by_title, shelf *own, make_shelf, drop_shelf)
{
    put(own, "below",
        "sheet: below\n" CELLS "summary:\n  answer: {a step: T}\n  bars:\n"
        "    - {bar: A, of: T, limit: U, parts: {one: T}}\n    - {bar: B, of: V, parts: {all: "
        "V}}\n");
    const st_sheet *sheet = accept(own, "sheet: t\ninclude: below\nsummary:\n  bars:\n"
                                        "    - {bar: C, of: V, parts: {all: V}}\n"
                                        "    - {bar: A, of: U, parts: {two: U, three: T}}\n");
    const st_summary *summary = st_sheet_summary(sheet);
    assert_int_equal(summary->answer_count, 1);
    assert_int_equal(summary->bar_count, 3);
    assert_string_equal(summary->bars[0].title, "A");
    assert_string_equal(summary->bars[0].total, "U");
    assert_null(summary->bars[0].limit);
    assert_int_equal(summary->bars[0].count, 2);
    assert_string_equal(summary->bars[1].title, "B");
    assert_string_equal(summary->bars[2].title, "C");
}

/* A sheet with so many bars, of so many parts each. */
static const char *large(shelf *own, int bars, int parts)
{
    const char *text = "sheet: t\n" CELLS "summary:\n  bars:\n";
    for (int i = 0; i < bars; i++) {
        text = st_arena_printf(own->arena, "%s    - {bar: B%d, of: T, parts: {", text, i);
        for (int k = 0; k < parts; k++)
            text = st_arena_printf(own->arena, "%s%sp%d: T", text, k > 0 ? ", " : "", k);
        text = st_arena_printf(own->arena, "%s}}\n", text);
    }
    assert_non_null(text);
    return text;
}

TEST_OF(a_summary_has_room_for_so_much, shelf *own, make_shelf, drop_shelf)
{
    const st_summary *summary = st_sheet_summary(accept(own, large(own, 8, 32)));
    assert_int_equal(summary->bar_count, 8);
    assert_int_equal(summary->bars[7].count, 32);
    assert_contains(refuse(own, ST_ERR_LIMIT, large(own, 9, 1)),
                    "the summary has too many bars: expected at most 8");
    assert_contains(refuse(own, ST_ERR_LIMIT, large(own, 1, 33)),
                    "the summary has too many cells: expected at most 32");
}

TEST_WITH(summaries_that_make_no_sense_are_refused, make_shelf, drop_shelf)
{
    static const struct {
        st_status status;
        const char *summary;
        const char *words;
    } cases[] = {
        {ST_ERR_VALUE, "  answer: {a step: [T]}\n",
         "a number of the answer is a cell: expected its name"},
        {ST_ERR_VALUE, "  answer: {a step: {cell: T}}\n",
         "a number of the answer is a cell: expected its name, or {cell: CELL, given: INPUT, "
         "otherwise: TEXT}"},
        {ST_ERR_NAME, "  rests: [{rests: r, on: [p], sizes: [T]}]\n",
         "'T' in the summary is not a family over one enumeration"},
        {ST_ERR_VALUE,
         "  rests: [{rests: r, on: "
         "[p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,p,"
         "p]}]\n",
         "of {rests: NOUN, on: [INPUT], sizes: [FAMILY]}, each of fewer than 32 names"},
        {ST_ERR_NAME, "  rests: [{rests: r, on: [T]}]\n", "'T' in the summary is not an input"},
        {ST_ERR_NAME, "  rests: [{rests: r, on: [{p: q}]}]\n", "'' in the summary is not an"},
        {ST_ERR_VALUE, "  rests: [{rests: r}]\n",
         "what rests on measurements has a name, and inputs or sizes: expected at most 8 of"},
        {ST_ERR_NAME, "  answer: {a step: {cell: T, given: p, other: two}}\n",
         "has no key 'other'"},
        {ST_ERR_NAME, "  answer: {a step: {cell: T, given: U, otherwise: two}}\n",
         "'given: U' in the summary is not an input: expected the input by which a user sets 'T'"},
        {ST_ERR_NAME, "  answer: {'at {WW}': T}\n", "unknown cell 'WW' in the summary"},
        {ST_ERR_VALUE, "  answer: [T]\n",
         "the answer must be a map: expected {WORDS: CELL}, or a list of them"},
        {ST_ERR_VALUE, "  bars: [{bar: A, of: T, parts: {a: [T]}}]\n",
         "a part of a bar is a cell: expected its name"},
        {ST_ERR_VALUE, "  bars: [T]\n", "a bar of the summary must be a map"},
        {ST_ERR_NAME, "  bars: [{of: T, parts: {a: T}}]\n", "requires 'bar', 'of' and 'parts'"},
        {ST_ERR_NAME, "  bars: [{bar: A, of: T}]\n", "requires 'bar', 'of' and 'parts'"},
        {ST_ERR_NAME, "  bars: [{bar: A, of: TT, parts: {a: T}}]\n",
         "unknown cell 'TT' in the summary"},
        {ST_ERR_NAME, "  bars: [{bar: A, of: T, limit: UU, parts: {a: T}}]\n",
         "unknown cell 'UU' in the summary"},
        {ST_ERR_NAME, "  bars: [{bar: A, of: T, parts: {a: {exposed: T, hidden: TT}}}]\n",
         "unknown cell 'TT' in the summary"},
        {ST_ERR_UNIT, "  answer: {a step: which}\n", "'which' in the summary is not a number"},
        {ST_ERR_UNIT, "  bars: [{bar: A, of: T, limit: V, parts: {a: T}}]\n",
         "a part of the bar has the wrong unit: found 'V' in B, expected s"},
        {ST_ERR_UNIT, "  bars: [{bar: A, of: T, parts: {a: {exposed: U, hidden: V}}}]\n",
         "a part of the bar has the wrong unit: found 'V' in B, expected s"},
        {ST_ERR_UNIT, "  bars: [{bar: A, of: V, member: which, parts: {a: M}}]\n",
         "a part of the bar has the wrong unit: found 'M' in s, expected B"},
        {ST_ERR_VALUE, "  bars: [{bar: A, of: T, parts: {a: M}}]\n",
         "a bar with families requires 'member': expected a cell whose value is of their "
         "enumeration, part"},
        {ST_ERR_VALUE, "  bars: [{bar: A, of: T, member: wrong, parts: {a: M}}]\n",
         "a bar with families requires 'member'"},
        {ST_ERR_VALUE, "  bars: [{bar: A, of: T, member: T, parts: {a: M}}]\n",
         "a bar with families requires 'member'"},
        {ST_ERR_VALUE, "  bars: [{bar: A, of: T, member: which, parts: {a: T}}]\n",
         "a bar with families requires 'member'"},
    };
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *text =
            st_arena_printf(own->arena, "sheet: t\n" CELLS "summary:\n%s", cases[i].summary);
        assert_contains(refuse(own, cases[i].status, text), cases[i].words);
    }
}

TESTS(summary);
