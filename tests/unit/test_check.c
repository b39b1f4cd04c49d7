/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker of formulas: which types and units are accepted, and what is said about others, with
 * the place of every error.
 */
#include "../support/sheets.h"

static const char *one_cell(shelf *own, const char *unit, const char *formula)
{
    char *text = st_arena_printf(
        own->arena, SHEET_INPUTS "cells:\n  T:\n    unit: %s\n    is: %s\n", unit, formula);
    assert_non_null(text);
    return text;
}

static const char *with_ring(shelf *own, const char *body, const char *unit, const char *formula)
{
    return st_arena_printf(own->arena,
                           SHEET_INPUTS "functions:\n"
                                        "  ring:\n"
                                        "    args: {size: B, ranks: 1, on: bool, how: mode}\n"
                                        "    unit: us\n"
                                        "    is: %s\n"
                                        "cells:\n"
                                        "  T:\n"
                                        "    unit: %s\n"
                                        "    is: %s\n",
                           body, unit, formula);
}

/* Adds what is said about a formula that begins in column 9, below the place of each error. */
static bool judge(shelf *own, const char *formula, st_buffer *found)
{
    const st_sheet *sheet = NULL;
    st_status status = load_main(own, &sheet);
    if (status == ST_OK) {
        st_errors_clear(own->errors);
        return false;
    }
    st_buffer_printf(found, "%s\n", formula);
    for (size_t i = 0; i < st_errors_size(own->errors); i++)
        if (st_errors_at(own->errors, i)->severity == ST_SEVERITY_ERROR)
            st_buffer_printf(found, "%*s^ %s:", st_errors_at(own->errors, i)->place.column - 9, "",
                             st_status_text(status));
    const char *text = strstr(said(own), "error:");
    st_buffer_printf(found, "%s", text + strlen("error:"));
    return true;
}

/* Rows of a text case: "UNIT | FORMULA"; "body | FORMULA" is that of the function which they call.
 */
static const char *judge_rows(shelf *own, char *rows, bool calls_ring)
{
    static const char body[] = "if(on and how != none, size/2.5[GB/s]*ranks, 0[s])";
    st_buffer found = {0};
    int count = 0;
    int refused = 0;
    for (char *unit = strtok(rows, "\n"); unit != NULL; unit = strtok(NULL, "\n"), count++) {
        char *formula = strstr(unit, " | ") + 3;
        formula[-3] = '\0';
        put(own, "main",
            !calls_ring                 ? one_cell(own, unit, formula)
            : strcmp(unit, "body") == 0 ? with_ring(own, formula, "us", "ring(V, n, w, m)")
                                        : with_ring(own, body, unit, formula));
        refused += judge(own, formula, &found);
    }
    const char *text = st_arena_printf(own->arena, "=> %d of %d are refused\n%s", refused, count,
                                       found.data != NULL ? found.data : "");
    st_buffer_free(&found);
    return text;
}

static const char *answer(void *context, const char *name, char *given)
{
    bool calls_ring = strncmp(name, "ring: ", 6) == 0;
    if (calls_ring || strncmp(name, "formulas: ", 10) == 0)
        return judge_rows(context, given, calls_ring);
    return answer_sheet(context, name, given);
}

TEST_OF(formulas_are_judged_as_in_the_cases, shelf *own, make_shelf, drop_shelf)
{
    run_text_cases("tests/unit/cases/check.txt", answer, own, own->arena);
}

TEST_OF(long_cycles_show_their_ends, shelf *own, make_shelf, drop_shelf)
{
    st_buffer text = {0};
    st_buffer_text(&text, "sheet: t\ncells:\n");
    for (int i = 0; i < 5000; i++)
        st_buffer_printf(&text, "  a%d: {is: a%d}\n", i, (i + 1) % 5000);
    assert_string_equal(
        refuse(own, ST_ERR_CYCLE, text.data),
        "main:5002:15: error: circular dependency of cells: a0 -> a1 -> a2 -> a3 -> a4 -> a5 -> a6 "
        "-> a7 -> a8 -> a9 -> a10 -> a11 -> ... 4976 more ... -> a4988 -> a4989 -> a4990 -> a4991 "
        "-> a4992 -> a4993 -> a4994 -> a4995 -> a4996 -> a4997 -> a4998 -> a4999 -> a0\n");
    st_buffer_free(&text);
}

TEST_OF(inputs_that_nothing_reads_are_known, shelf *own, make_shelf, drop_shelf)
{
    const st_sheet *sheet = accept(own, SHEET_INPUTS "cells:\n  T: {unit: us, is: V/C}\n"
                                                     "checks:\n  - {that: w, else: 'no {m}'}\n");
    assert_true(st_sheet_find_input(sheet, "V")->used);
    assert_true(st_sheet_find_input(sheet, "w")->used);
    assert_true(st_sheet_find_input(sheet, "m")->used); /* by a message */
    assert_false(st_sheet_find_input(sheet, "n")->used);
}

TESTS(check);
