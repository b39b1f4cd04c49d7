/* SPDX-License-Identifier: Apache-2.0 */
/* Members of families that a job cannot have: what is known of their conditions, and what is not.
 */
#include "../support/sheets.h"

#include "program/impossible.h"

/* p is 3 and b holds; q may be anything. */
static bool give(const void *context, const st_sheet_input *input, double *value)
{
    (void)context;
    if (strcmp(input->name, "q") == 0)
        return false;
    *value = strcmp(input->name, "p") == 0 ? 3 : 1;
    return true;
}

static const st_given given = {give, NULL};

/* A sheet whose family M has `m` under a condition, with further cells. */
static const st_sheet *sheet_of(shelf *own, const char *condition, const char *cells)
{
    const char *text = st_arena_printf(
        own->arena,
        "sheet: t\nenums: {part: [l, m]}\ninputs:\n  p: {from: constants.p, doc: d}\n"
        "  q: {from: constants.q, doc: d}\n  b: {from: constants.b, unit: bool, doc: d}\ncells:\n"
        "  M: {per: part, where: {m: '%s'}, is: p + 0.385, doc: d}\n%s",
        condition, cells);
    assert_non_null(text);
    return accept(own, text);
}

static size_t cell_of(const st_sheet *sheet, const char *name)
{
    for (size_t i = 0; i < sheet->cell_count; i++)
        if (strcmp(sheet->cells[i].name, name) == 0)
            return i;
    fail_msg("no cell %s", name);
    return 0;
}

/* Whether a cell is known to be absent; `provided` is a cell that a provider replaces. */
static bool lacks(shelf *own, const st_sheet *sheet, const char *cell, const char *provided)
{
    static const st_provider other = {.name = "other"};
    st_absence absence;
    const st_provider **providers =
        st_arena_alloc(own->arena, sheet->cell_count + 1, sizeof *providers);
    assert_non_null(providers);
    if (provided != NULL)
        providers[cell_of(sheet, provided)] = &other;
    assert_true(st_absence_begin(&absence, sheet, &given, providers, own->arena));
    bool absent = st_absence_has_cell(&absence, cell_of(sheet, cell));
    assert_int_equal(st_absence_has_cell(&absence, cell_of(sheet, cell)), absent); /* once more */
    return absent;
}

TEST_WITH(conditions_are_known_as_far_as_what_they_read, make_shelf, drop_shelf)
{
    static const struct {
        const char *condition;
        bool absent;
    } cases[] = {
        {"p == 3", false},
        {"p == 4", true},
        {"p != 3", true},
        {"p != 4", false},
        {"p < 3", true},
        {"p < 4", false},
        {"p <= 3", false},
        {"p <= 2", true},
        {"p > 3", true},
        {"p > 2", false},
        {"p >= 3", false},
        {"p >= 4", true},
        {"b", false},
        {"not b", true},
        {"not (p == 4)", false},
        {"-p == -3", false},
        {"-p == -4", true},
        {"false", true},
        {"q == 3", false},
        {"not (q == 3)", false},
        {"q == 3 and p == 4", true},
        {"p == 4 and q == 3", true},
        {"p == 3 and q == 3", false},
        {"p == 4 or p == 5", true},
        {"q == 3 or p == 4", false},
        {"p == 3 or q == 3", false},
        {"p == 4 or p == 3", false},
        {"p == 3 and b", false},
        {"p == 3 and not b", true},
        {"not (q == 3 or b)", true},
        {"p + 1 == 5", false}, /* nobody computes */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const st_sheet *sheet = sheet_of(*state, cases[i].condition, "");
        if (lacks(*state, sheet, "M[m]", NULL) != cases[i].absent)
            fail_msg("%s", cases[i].condition);
        assert_false(lacks(*state, sheet, "M[l]", NULL));
    }
}

TEST_WITH(conditions_look_into_cells, make_shelf, drop_shelf)
{
    static const char cells[] = "  large: {unit: bool, is: p > 7, doc: d}\n"
                                "  small: {unit: bool, is: not large, doc: d}\n";
    const st_sheet *sheet = sheet_of(*state, "large", cells);
    assert_true(lacks(*state, sheet, "M[m]", NULL));
    assert_false(lacks(*state, sheet, "M[m]", "large"));
    assert_false(lacks(*state, sheet, "M[m]", "M[m]"));
    sheet = sheet_of(*state, "not small", cells);
    assert_true(lacks(*state, sheet, "M[m]", NULL));
    assert_false(lacks(*state, sheet, "small", NULL)); /* no member of a family */
}

/* Cells that read each other are followed sixteen deep. */
TEST_OF(long_ways_are_not_followed, shelf *own, make_shelf, drop_shelf)
{
    for (int depth = 15; depth <= 17; depth++) {
        const char *cells = "  c0: {unit: bool, is: p > 7, doc: d}\n";
        for (int i = 1; i < depth; i++)
            cells = st_arena_printf(own->arena, "%s  c%d: {unit: bool, is: c%d, doc: d}\n", cells,
                                    i, i - 1);
        const char *condition = st_arena_printf(own->arena, "c%d", depth - 1);
        assert_int_equal(lacks(own, sheet_of(own, condition, cells), "M[m]", NULL), depth <= 16);
    }
}

/* A product with what is not there is not there, nor is a quotient of it; a sum is. */
TEST_WITH(terms_of_what_is_absent_are_zero, make_shelf, drop_shelf)
{
    static const struct {
        const char *formula;
        bool absent;
    } cases[] = {{"M[m]", true},         {"M[l]", false},           {"M[m]*p", true},
                 {"p*M[m]", true},       {"M[l]*p", false},         {"M[m]/p", true},
                 {"p/M[m]", false},      {"M[m] + p", false},       {"p", false},
                 {"2.385", false},       {"if(b, M[m], 0)", true},  {"if(b, M[m], 2.385)", false},
                 {"if(b, p, 0)", false}, {"if(b, M[m], p)", false}, {"max(M[m], 0)", false},
                 {"p*(M[m]/p)", true}};
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *cells =
            st_arena_printf(own->arena, "  t: {is: '%s', doc: d}\n", cases[i].formula);
        const st_sheet *sheet = sheet_of(own, "p == 4", cells);
        st_absence absence;
        const st_provider **none = st_arena_alloc(own->arena, sheet->cell_count + 1, sizeof *none);
        assert_non_null(none);
        assert_true(st_absence_begin(&absence, sheet, &given, none, own->arena));
        const st_expr *expr = sheet->cells[cell_of(sheet, "t")].expr;
        if (st_absence_has_term(&absence, expr) != cases[i].absent)
            fail_msg("%s", cases[i].formula);
        assert_true(st_absence_begin(&absence, sheet, NULL, none, own->arena));
        assert_false(st_absence_has_term(&absence, expr)); /* where nothing is given */
        assert_false(st_absence_has_cell(&absence, cell_of(sheet, "M[m]")));
    }
}

TESTS(absent);
