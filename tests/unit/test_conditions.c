/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions beside a sheet's checks: what they say where they do not hold, and what is refused. */
#include "../support/sheets.h"

#include "program/condition.h"

static const char text[] = "sheet: t\nenums: {gear: [none, full]}\n"
                           "inputs:\n"
                           "  p: {from: constants.p, doc: d}\n"
                           "  q: {from: constants.q, doc: d}\n"
                           "  b: {from: constants.b, unit: bool, doc: d}\n"
                           "  gear: {from: constants.gear, unit: gear, doc: d}\n"
                           "cells:\n"
                           "  M: {unit: GiB, is: 'p*1[GiB]', doc: d}\n"
                           "checks:\n"
                           "  - {that: q < 100, else: too large}\n";

static const st_sheet *with(shelf *own, const char *const *conditions, size_t count)
{
    const st_sheet *extended = NULL;
    const st_conditions list = {"--where", conditions, count};
    const st_sheet *sheet = accept(own, text);
    st_errors_clear(own->errors);
    if (st_sheet_with_conditions(sheet, &list, own->arena, &extended, own->errors) != ST_OK)
        return NULL;
    size_t checks = 0;
    const st_sheet_check *first = st_sheet_checks(sheet, &checks);
    assert_int_equal(checks, 1); /* as before */
    assert_string_equal(first[0].formula, "q < 100");
    first = st_sheet_checks(extended, &checks);
    assert_int_equal(checks, 1 + count);
    assert_string_equal(first[0].formula, "q < 100");
    for (size_t i = 0; i < count; i++)
        assert_string_equal(first[1 + i].formula, conditions[i]);
    return extended;
}

/* What is said with p of 2.385, q of 3, b and gear full; "" where all hold. */
static const char *verified(shelf *own, const char *const *conditions, size_t count)
{
    static const double inputs[] = {2.385, 3, 1, 1};
    static const char *const none[] = {NULL};
    const st_program_options options = {.outputs = none};
    const st_program *program = NULL;
    const st_sheet *sheet = with(own, conditions, count);
    if (sheet == NULL)
        fail_msg("%s", said(own));
    assert_int_equal(st_program_compile(sheet, &options, own->arena, &program, own->errors), ST_OK);
    st_errors_clear(own->errors);
    st_status status = st_program_verify(program, inputs, own->errors);
    const char *found = said(own);
    assert_int_equal(status == ST_OK, found[0] == '\0');
    return found;
}

TEST_WITH(conditions_show_what_they_compare, make_shelf, drop_shelf)
{
    static const char *const cases[][2] = {
        {"M < 3[GiB]", ""},
        {"M < 1[GiB]", "'M < 1[GiB]' does not hold: M is 2.385 GiB"},
        {"1[GiB] >= M", "does not hold: M is 2.385 GiB"},
        {"M*2 == 1[GiB]", /* 4.77 x 1.0737 */ "does not hold: M*2 is 5.122 GB"},
        {"M < 1[GiB] or M > 10[GiB]", "does not hold: M is 2.385 GiB\n"},
        {"M > 1[GiB] and q > 7", "does not hold: M is 2.385 GiB, q is 3\n"},
        {"not (q <= 3 and p > 2)", "does not hold: q is 3, p is 2.385\n"},
        {"not b", "does not hold: b is "},
        {"gear == none", "does not hold: gear is full\n"},
        {"p != 2.385", "does not hold: p is 2.385\n"},
        {"false", "error: 'false' does not hold\n"},
        {"1 > 2", "'1 > 2' does not hold"},
        {"q > 3 or q > 4 or q > 5+p or p > 3 or p*2 > 9 or p*3 > 9 or p*4 > 99 or p*5 > 99 or p*6 "
         "> "
         "99 or p*7 > 99",
         "q is 3, p is 2.385, p*2 is 4.77, p*3 is 7.155, p*4 is 9.54, p*5 is 11.925, p*6 is 14.31, "
         "p*7 is 16.695\n"},
        {"p > 3 or p*2 > 9 or p*3 > 9 or p*4 > 99 or p*5 > 99 or p*6 > 99 or p*7 > 99 or p*8 > 99 "
         "or "
         "p*9 > 99",
         "p*7 is 16.695, p*8 is 19.08\n"}, /* and no more than eight */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *found = verified(*state, &cases[i][0], 1);
        if (cases[i][1][0] == '\0')
            assert_string_equal(found, "");
        else
            assert_contains(found, cases[i][1]);
    }
}

TEST_WITH(each_condition_is_a_check_of_its_own, make_shelf, drop_shelf)
{
    static const char *const conditions[] = {"p > 2", "q > 7", "not b"};
    const char *found = verified(*state, conditions, 3);
    assert_contains(found, "--where 'q > 7'");
    assert_contains(found, "'q > 7' does not hold: q is 3");
    assert_contains(found, "'not b' does not hold");
    assert_lacks(found, "p > 2");
    assert_lacks(found, "too large");
    assert_string_equal(verified(*state, NULL, 0), "");
}

/* All errors at once, each with the condition that it is in. */
TEST_OF(senseless_conditions_are_refused, shelf *own, make_shelf, drop_shelf)
{
    static const char *const conditions[] = {"M < 1", "N < 3", "M", "p <", "q > 1"};
    assert_null(with(own, conditions, 5));
    const char *found = said(own);
    static const char *const parts[] = {"--where 'M < 1'", "--where 'N < 3'", "--where 'M'",
                                        "--where 'p <'"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(found, parts[i]);
    assert_lacks(found, "'q > 1'");
}

TEST_OF(so_many_conditions_are_taken, shelf *own, make_shelf, drop_shelf)
{
    static const char *conditions[101];
    for (size_t i = 0; i < COUNT(conditions); i++)
        conditions[i] = "p > 2";
    assert_non_null(with(own, conditions, 100));
    assert_null(with(own, conditions, 101));
    assert_contains(said(own), "too many conditions: expected at most 100");
}

TESTS(conditions);
