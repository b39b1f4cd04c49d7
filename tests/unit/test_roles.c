/* SPDX-License-Identifier: Apache-2.0 */
/* Roles: which cell of a sheet is what others ask for, and what a sheet may say of it. */
#include "../support/sheets.h"

#include "steptime/tool/roles.h"

#include <stdio.h>

static const char cells[] = "sheet: t\nenums:\n  gear: [low, high]\n"
                            "inputs:\n  d: {from: a.d}\n"
                            "cells:\n  T: {unit: ms, is: '2.385[ms]*d'}\n"
                            "  T_e: {unit: us, is: 0.25*T}\n  M: {unit: GiB, is: '3.5[GiB]'}\n"
                            "  g: {unit: gear, is: low}\n  big: {unit: bool, is: d > 7}\n";

static const char *with(shelf *own, const char *roles)
{
    return st_arena_printf(own->arena, "%sroles:\n%s", cells, roles);
}

TEST_WITH(roles_name_cells_and_inputs, make_shelf, drop_shelf)
{
    const st_sheet *sheet = accept(
        *state,
        with(*state, "  step: T\n  memory: {cell: M}\n  dp: d\n  communication: {hidden: T_e}\n"));
    assert_string_equal(st_sheet_role(sheet, ST_ROLE_STEP), "T");
    assert_string_equal(st_sheet_role(sheet, ST_ROLE_MEMORY), "M");
    assert_string_equal(st_sheet_role(sheet, ST_ROLE_DP), "d");
    assert_null(st_sheet_role(sheet, ST_ROLE_MFU));
    assert_null(st_sheet_role(sheet, ST_ROLE_COMMUNICATION));
    assert_string_equal(st_sheet_role_part(sheet, ST_ROLE_COMMUNICATION, 1), "T_e");
    assert_null(st_sheet_role_part(sheet, ST_ROLE_COMMUNICATION, 2));
}

TEST_WITH(a_name_alone_fills_the_first_part, make_shelf, drop_shelf)
{
    const st_sheet *sheet = accept(*state, with(*state, "  communication: T_e\n"));
    assert_string_equal(st_sheet_role_part(sheet, ST_ROLE_COMMUNICATION, 0), "T_e");
    assert_null(st_sheet_role_part(sheet, ST_ROLE_COMMUNICATION, 1));
}

/* An input that nothing but a role reads is of use. */
TEST_OF(an_input_in_a_role_is_used, shelf *own, make_shelf, drop_shelf)
{
    const st_sheet *sheet = accept(
        own, "sheet: t\ninputs:\n  n: {from: a.n}\ncells:\n  a: {is: 2.5}\nroles:\n  tp: n\n");
    size_t count = 0;
    assert_true(st_sheet_inputs(sheet, &count)[0].used);
    assert_int_equal(st_errors_size(own->errors), 0);
}

TEST_WITH(faulty_roles_are_told_with_their_places, make_shelf, drop_shelf)
{
    static const struct {
        st_status status;
        const char *roles;
        const char *said;
    } cases[] = {
        {ST_ERR_NAME, "  setp: T\n",
         "main:13:3: error: unknown role 'setp': expected a role of docs/sheet-language.md; did "
         "you "
         "mean 'step'?\n"},
        {ST_ERR_NAME, "  step: T_f\n",
         "main:13:9: error: role 'step': unknown cell 'T_f'; did you mean 'T_e'?\n"},
        {ST_ERR_NAME, "  communication: {exposed: T, hidden: x_y}\n",
         "main:13:39: error: role 'communication': unknown cell 'x_y'\n"},
        {ST_ERR_UNIT, "  step: M\n",
         "main:13:9: error: role 'step' requires another unit: found 'M' (GiB), expected s\n"},
        {ST_ERR_UNIT, "  step: d\n",
         "main:13:9: error: role 'step' requires another unit: found 'd' (1), expected s\n"},
        {ST_ERR_UNIT, "  tp: g\n",
         "main:13:7: error: role 'tp' requires another unit: found 'g' (gear), expected 1\n"},
        {ST_ERR_UNIT, "  tp: big\n",
         "main:13:7: error: role 'tp' requires another unit: found 'big' (bool), expected 1\n"},
        {ST_ERR_NAME, "  step: {cell: T, override: true}\n",
         "main:13:3: error: role 'step' overrides nothing: expected a role filled by an included "
         "sheet\n"},
        {ST_ERR_NAME, "  communication: {exposde: T}\n",
         "main:13:19: error: role 'communication' has no key 'exposde': expected one of exposed, "
         "hidden, slowdown, override; did you mean 'exposed'?\n"},
        {ST_ERR_VALUE, "  step: [T]\n",
         "main:13:9: error: role 'step': expected the name of a cell, or a map with names of "
         "cells\n"},
        {ST_ERR_VALUE, "  step: {cell: [T]}\n",
         "main:13:16: error: 'cell' of role 'step': found a list, expected a text\n"},
        {ST_ERR_VALUE, "  step: {cell: T, override: 2}\n",
         "main:13:29: error: 'override' of the role: found '2', expected true or false\n"},
    };
    shelf *own = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_string_equal(refuse(own, cases[i].status, with(own, cases[i].roles)), cases[i].said);
    }
}

TEST_OF(a_role_is_filled_once, shelf *own, make_shelf, drop_shelf)
{
    put(own, "base", with(own, "  step: T\n"));
    put(own, "left", "sheet: left\ninclude: base\nroles:\n  step: {cell: T_e, override: true}\n");
    put(own, "right", "sheet: right\ninclude: base\nroles:\n  step: {cell: T_e, override: true}\n");
    assert_string_equal(
        refuse(own, ST_ERR_NAME, "sheet: t\ninclude: base\nroles:\n  step: T_e\n"),
        "main:4:3: error: role 'step' is already filled at base:13: expected one cell per role, or "
        "'override: true' to replace the cell of an included sheet\n");
    assert_string_equal(refuse(own, ST_ERR_NAME, "sheet: t\ninclude: [left, right]\n"),
                        "right:4:3: error: conflicting overrides of 'step' here and at left:4: "
                        "neither sheet includes the other: expected one override, or another one "
                        "in a sheet that includes both\n");
    assert_contains(refuse(own, ST_ERR_NAME, with(own, "  step: T\n  step: T_e\n")), "step");
    const st_sheet *sheet = accept(own, "sheet: t\ninclude: left\n");
    assert_string_equal(st_sheet_role(sheet, ST_ROLE_STEP), "T_e");
    sheet = accept(own, "sheet: t\ninclude: [left, right]\nroles:\n"
                        "  step: {cell: T, override: true}\n");
    assert_string_equal(st_sheet_role(sheet, ST_ROLE_STEP), "T");
}

TEST_WITH(what_misses_a_role_says_which, make_shelf, drop_shelf)
{
    static const st_role_part wanted[] = {
        {.role = ST_ROLE_DP}, {.role = ST_ROLE_STEP}, {ST_ROLE_COMMUNICATION, 1}};
    shelf *own = *state;
    const char *names[3];
    const st_sheet *sheet = accept(own, with(own, "  dp: d\n"));
    assert_int_equal(st_sheet_need_roles(sheet, &(st_role_list){wanted, 3, "a timeline needs"},
                                         names, own->errors),
                     ST_ERR_USAGE);
    assert_string_equal(
        said(own), "error: sheet 't' lacks role 'step', which a timeline needs: expected "
                   "'step: CELL' under 'roles' in main (time of a training step)\n"
                   "error: sheet 't' lacks role 'communication.hidden', which a timeline needs: "
                   "expected 'communication: {hidden: CELL}' under 'roles' in main (exposed and "
                   "hidden communication of a step, and the slowdown of computation that it "
                   "causes)\n");
    assert_int_equal(st_sheet_need_roles(sheet, &(st_role_list){wanted, 1, "a timeline needs"},
                                         names, own->errors),
                     ST_OK);
    assert_string_equal(names[0], "d");
}

/* docs/sheet-language.md lists the roles as the table has them. */
TEST_OF(the_page_lists_every_role, shelf *own, make_shelf, drop_shelf)
{
    FILE *file = fopen("docs/sheet-language.md", "rb");
    assert_non_null(file);
    static char page[1 << 17];
    size_t length = fread(page, 1, sizeof page - 1, file);
    page[length] = '\0';
    (void)fclose(file);
    for (int i = 0; i < ST_ROLES; i++) {
        const st_role_row *row = st_role_describe((st_role)i);
        const char *parts = "";
        for (size_t k = 0; row->parts[1] != NULL && row->parts[k] != NULL; k++) {
            parts =
                st_arena_printf(own->arena, "%s%s`%s`", parts, k > 0 ? ", " : "", row->parts[k]);
        }
        const char *line = st_arena_printf(own->arena, "| `%s` | `%s` | %s | %s |\n", row->name,
                                           row->unit, parts, row->doc);
        if (strstr(page, line) == NULL) {
            print_error("docs/sheet-language.md lacks: %s", line);
            fail();
        }
        assert_true(st_role_part_count((st_role)i) <= ST_ROLE_PARTS);
    }
}

TESTS(roles);
