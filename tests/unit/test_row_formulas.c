/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas over the columns of a table: which columns they read, and where their errors stand. */
#include "job_support.h"

#include "fit/steps/source.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define HEAD         "source: lab\ntitle: A laboratory\ncite: nobody2026\nmatch: {id: lab-*}\n"

static st_status load(fixture *own, const char *text, st_table_source **source)
{
    *source = st_arena_alloc(own->arena, 1, sizeof **source);
    assert_non_null(*source);
    write_text(own, "validation/lab/table.yaml", text);
    return st_table_source_load(own->paths, below(own, "validation/lab/table.yaml"), own->arena,
                                *source, own->errors);
}

/* The columns of one condition, joined by blanks, in the order of their first place. */
TEST_WITH(every_name_is_a_column_but_functions_and_units, set_up, tear_down)
{
    static const struct {
        const char *formula;
        const char *columns;
        st_status status; /* columns are pure numbers */
    } cases[] = {
        {"layers*dp > 150", "layers dp", ST_OK},
        {"a > b and not (c < a)", "a b c", ST_OK},
        {"min(a1, b_2) > 3", "a1 b_2", ST_OK},
        {"max (a, 4) > 3", "a", ST_OK},
        {"size*x9 > 3[GB] + 2.5e3[B]", "size x9", ST_ERR_UNIT},
        {"if(tp > 1, pp, ceil(dp/2)) >= 2.385", "tp pp dp", ST_OK},
        {"x > 1e3 or y < 1.5e-3", "x y", ST_OK},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_table_source *source = NULL;
        st_buffer found = {0};
        const char *text = st_arena_printf(
            own->arena, HEAD "skip:\n  - {that: '%s', why: larger}\n", cases[i].formula);
        assert_int_equal(load(own, text, &source), cases[i].status);
        st_errors_clear(own->errors);
        for (size_t k = 0; k < source->formulas->column_count; k++)
            st_buffer_printf(&found, "%s%s", k > 0 ? " " : "", source->formulas->columns[k]);
        assert_string_equal(found.data, cases[i].columns);
        st_buffer_free(&found);
    }
}

/* A value that begins with '=' is one behind the blanks. */
TEST_WITH(errors_of_values_stand_behind_their_sign, set_up, tear_down)
{
    static const char *const cases[][2] = {
        {"= layers +* 2", ":6:34: "}, {"=layers +* 2", ":6:33: "}, {"=   layers +* 2", ":6:36: "}};
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_table_source *source = NULL;
        const char *text = st_arena_printf(
            own->arena, HEAD "assume:\n  - set: {parallel.dp: %s}\n    why: w\n", cases[i][0]);
        st_status status = load(own, text, &source);
        const char *messages = said(own);
        if (status == ST_OK || strstr(messages, cases[i][1]) == NULL)
            fail_msg("case %zu: %d, '%s'", i, (int)status, messages);
    }
}

/* The third formula of three is wrong, whatever stands before it. */
TEST_WITH(errors_stand_where_the_formula_does, set_up, tear_down)
{
    static const struct {
        const char *formula; /* from column 11 of line 8 on */
        const char *words;
    } cases[] = {
        {"layers + > 3", ":8:20: "},   /* at the '>' */
        {"layers > 3 4", ":8:22: "},   /* at the 4 */
        {") > 3", ":8:11: "},          /* at its beginning */
        {"layers > 3[GB]", ":8:18: "}, /* units */
        {"layers > 2 or \xc3\xa9 > 3", ":8:25: "},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_table_source *source = NULL;
        const char *text = st_arena_printf(own->arena,
                                           HEAD "skip:\n"
                                                "  - {that: layers > 150, why: larger}\n"
                                                "  - {that: dp > 7 + layers, why: wider}\n"
                                                "  - that: %s\n    why: odd\n"
                                                "  - {that: dp < 3, why: small}\n",
                                           cases[i].formula);
        st_status status = load(own, text, &source);
        const char *messages = said(own);
        if (status == ST_OK || strstr(messages, cases[i].words) == NULL)
            fail_msg("case %zu: %d, '%s'", i, (int)status, messages);
    }
}

TESTS(row_formulas);
