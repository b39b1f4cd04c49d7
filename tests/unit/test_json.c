/* SPDX-License-Identifier: Apache-2.0 */
/* Values in JSON, places, and LaTeX as reports write them. */
#include "report_support.h"

#include "sheet/type_write.h"
#include "export/latex.h"

#include <math.h>

TEST(values_have_the_form_of_their_type)
{
    static const char *const names[] = {"none", "selective", "full"};
    const st_enum gear = {.name = "gear", .values = names, .count = 3};
    const st_type mode = {.kind = ST_TYPE_ENUM, .enumeration = &gear};
    const st_type truth = {.kind = ST_TYPE_BOOL};
    st_type rate = {.kind = ST_TYPE_NUMBER};
    st_type share = {.kind = ST_TYPE_NUMBER};
    assert_int_equal(st_unit_parse("GB/s", 4, (st_place){0}, &rate.unit, NULL), ST_OK);
    assert_int_equal(st_unit_parse("%", 1, (st_place){0}, &share.unit, NULL), ST_OK);
    st_result result;
    st_arena *arena = st_arena_create();
    st_node *list = st_put_line_list(st_result_begin_plain(&result, arena), "v");
    st_put_value(list, NULL, &rate, 2.385e9);
    st_put_value(list, NULL, &rate, -2.385e20);
    st_put_value(list, NULL, &rate, (double)INFINITY);
    st_put_value(list, NULL, &share, 0.125);
    st_put_value(list, NULL, &truth, 1.0);
    st_put_value(list, NULL, &truth, 0.0);
    st_put_value(list, NULL, &mode, 2.0);
    st_put_unit(list, NULL, &rate);
    st_put_unit(list, NULL, &truth);
    st_put_unit(list, NULL, &mode);
    st_put_place(list, NULL, (st_place){NULL, 3, 4});
    st_put_place(list, NULL, (st_place){"a \"b\".yaml", 1, 2});
    assert_string_equal(st_node_line(list),
                        "[2.385, -238500000000, null, 12.5, true, false, \"full\", \"GB/s\", "
                        "\"bool\", \"gear\", null, \"a \\\"b\\\".yaml:1:2\"]\n");
    result.failed = true;
    assert_null(st_node_line(list));
    st_arena_destroy(arena);
    char text[ST_QUANTITY_TEXT];
    st_exact_text(&truth, 1.0, text, sizeof text);
    assert_string_equal(text, "true");
    st_exact_text(&mode, 1.0, text, sizeof text);
    assert_string_equal(text, "selective");
    st_exact_text(&rate, 0.1, text, sizeof text);
    assert_string_equal(text, "1e-10");
    /* No decimal in per cent gives exactly this value back: the number stays one of per cent. */
    st_exact_text(&share, 0.35847513748225207, text, sizeof text);
    assert_string_equal(text, "35.847513748225204");
}

TEST(places_have_as_many_parts_as_are_known)
{
    st_buffer buffer = {0};
    st_place_text((st_place){"a.yaml", 12, 3}, &buffer);
    assert_text(&buffer, "a.yaml:12:3");
    st_place_text((st_place){"a.yaml", 12, 0}, &buffer);
    assert_text(&buffer, "a.yaml:12");
    st_place_text((st_place){"--set x=1", 0, 5}, &buffer);
    assert_text(&buffer, "--set x=1");
    st_place_text((st_place){NULL, 12, 3}, &buffer);
    assert_text(&buffer, "");
}

TEST(no_text_can_become_a_command_of_latex)
{
    static const struct {
        const char *text, *latex;
    } cases[] = {
        {"plain", "plain"},
        {"100% of $x & #1_2", "100\\% of $\\mathdollar$x \\& \\#1\\_2"},
        {"\\input{a}^~", "\\textbackslash{}input\\{a\\}\\textasciicircum{}\\textasciitilde{}"},
        {"<|> \"`'", "\\textless{}\\textbar{}\\textgreater{} \\char34{}\\char96{}'"},
        {"--set a-b", "-{}-set a-b"},
        {"a\nb\tc", "a b c"},
        {"é Ö \xC3\x9F", "é Ö \xC3\x9F"},
        {"α ≤ 2 × µ", "$\\alpha$ $\\leq$ 2 $\\times$ $\\mu$"},
        {"Ð 中", "\\texttt{U+00D0} \\texttt{U+4E2D}"},
        {"\xFF", "?"},
    };
    st_buffer buffer = {0};
    for (size_t i = 0; i < COUNT(cases); i++) {
        st_latex_text(cases[i].text, &buffer);
        assert_text(&buffer, cases[i].latex);
    }
    st_latex_text(NULL, &buffer);
    assert_text(&buffer, "");
    st_latex_code("a_b.c/d", &buffer);
    assert_text(&buffer, "\\texttt{a\\_\\allowbreak{}b.\\allowbreak{}c/\\allowbreak{}d}");
}

TESTS(json);
