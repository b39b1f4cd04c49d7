/* SPDX-License-Identifier: Apache-2.0 */
/* Colour, wrapping and columns. */
#include "report_support.h"

#include "base/text.h"

TEST(ink_surrounds_text_only_in_colour)
{
    st_buffer buffer = {0};
    const st_paint color = {true, 0};
    st_paint_text(&plain, ST_INK_STRONG, "T_iter", &buffer);
    assert_text(&buffer, "T_iter");
    st_paint_text(&color, ST_INK_STRONG, "T_iter", &buffer);
    assert_text(&buffer, "\033[1mT_iter\033[0m");
    st_paint_text(&color, ST_INK_PLAIN, "T_iter", &buffer);
    assert_text(&buffer, "T_iter");
    st_paint_text(&color, ST_INK_BAD, "", &buffer);
    assert_text(&buffer, "");
}

TEST(what_a_terminal_acts_on_is_not_sent_to_it)
{
    st_buffer buffer = {0};
    st_paint_text(&plain, ST_INK_PLAIN,
                  "a\033[31mb\177c\xC2\x9B"
                  "d\xFF"
                  "e",
                  &buffer);
    assert_text(&buffer, "a?[31mb?c?d?e");
    st_paint_text(&plain, ST_INK_PLAIN, "right\xE2\x80\xAEleft", &buffer);
    assert_text(&buffer, "right?left");
    st_paint_text(&plain, ST_INK_PLAIN, "two  blanks\t\n and é", &buffer);
    assert_text(&buffer, "two blanks and é");
    st_paint_span(&plain, ST_INK_PLAIN, "abcdef", 4, &buffer);
    assert_text(&buffer, "abcd");
}

TEST(text_wraps_to_the_width_of_a_terminal)
{
    st_buffer buffer = {0};
    const st_paint narrow = {false, 12};
    const char *text = "one two three four";
    st_paint_wrapped(&plain, text, 0, 2, &buffer);
    assert_text(&buffer, "one two three four");
    st_paint_wrapped(&narrow, text, 0, 2, &buffer);
    assert_text(&buffer, "one two\n  three four");
    st_paint_wrapped(&narrow, text, 8, 2, &buffer);
    assert_text(&buffer, "one\n  two three\n  four");
    st_paint_wrapped(&narrow, " é\xC3\xA9é\xC3\xA9 éééé \n x ", 0, 0, &buffer);
    assert_text(&buffer, "éééé éééé x");
    st_paint_wrapped(&narrow, "", 0, 0, &buffer);
    assert_text(&buffer, "");
    st_paint_wrapped(&narrow, "a-word-that-does-not-fit at all", 0, 1, &buffer);
    assert_text(&buffer, "a-word-that-does-not-fit\n at all");
}

static const st_table_column columns[] = {
    {.ink = ST_INK_NAME}, {.right = true}, {.joined = true}, {.elastic = true}};

static st_table *table_of(st_arena *arena)
{
    st_table *table = st_table_create(arena, columns, COUNT(columns));
    assert_non_null(table);
    return table;
}

static void row(st_table *table, const char *a, const char *b, const char *c, const char *d)
{
    const char *const fields[] = {a, b, c, d};
    st_table_row(table, fields);
}

TEST_OF(columns_are_as_wide_as_their_widest_field, const fixture *own, set_up, tear_down)
{
    st_buffer buffer = {0};
    st_table *table = table_of(own->arena);
    st_table_title(table, "Time, a title that is wider than any row");
    row(table, "T", "16.73", "s", "iteration");
    row(table, "T_comp", "2.385", "ms", NULL);
    st_table_title(table, "");
    row(table, "é", "1", "", "two  blanks\nhere");
    st_table_write(table, &plain, 2, &buffer);
    assert_text(&buffer, "Time, a title that is wider than any row\n"
                         "  T       16.73 s   iteration\n"
                         "  T_comp  2.385 ms\n"
                         "\n"
                         "  é           1     two blanks here\n");
}

TEST_OF(columns_without_a_field_take_no_room, const fixture *own, set_up, tear_down)
{
    st_buffer buffer = {0};
    st_table *table = table_of(own->arena);
    row(table, "a", "", "", "b");
    st_table_write(table, &plain, 0, &buffer);
    assert_text(&buffer, "a  b\n");
    st_table *none = table_of(own->arena);
    st_table_write(none, &plain, 0, &buffer);
    assert_text(&buffer, "");
    row(none, "", NULL, "", "");
    st_table_write(none, &plain, 3, &buffer);
    assert_text(&buffer, "\n");
}

TEST_OF(an_elastic_column_gives_way_on_a_terminal, const fixture *own, set_up, tear_down)
{
    st_buffer buffer = {0};
    const st_paint narrow = {false, 40};
    const st_paint tiny = {false, 10};
    st_table *table = table_of(own->arena);
    row(table, "T", "16.73", "s", "time of one iteration with everything in it");
    row(table, "C", "2", "GB/s", "short");
    st_table_write(table, &narrow, 2, &buffer);
    assert_text(&buffer, "  T  16.73 s     time of one iteration\n"
                         "                 with everything in it\n"
                         "  C      2 GB/s  short\n");
    /* Nothing gives way beyond a readable width. */
    st_table_write(table, &tiny, 2, &buffer);
    assert_text(&buffer, "  T  16.73 s     time of one\n"
                         "                 iteration with\n"
                         "                 everything in it\n"
                         "  C      2 GB/s  short\n");
}

TEST_OF(a_very_long_field_moves_its_own_row_only, const fixture *own, set_up, tear_down)
{
    static const st_table_column two[] = {{.elastic = true}, {0}};
    st_buffer buffer = {0};
    st_buffer expected = {0};
    char longest[131];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    st_table *table = st_table_create(own->arena, two, COUNT(two));
    assert_non_null(table);
    const char *const first[] = {longest, "a"};
    const char *const second[] = {"y", "b"};
    st_table_row(table, first);
    st_table_row(table, second);
    st_table_write(table, &plain, 0, &buffer);
    st_buffer_printf(&expected, "%s  a\ny%89s  b\n", longest, "");
    assert_text(&buffer, expected.data);
    st_buffer_free(&expected);
}

TEST_OF(long_words_are_cut_where_the_column_ends, const fixture *own, set_up, tear_down)
{
    st_buffer buffer = {0};
    const st_paint narrow = {false, 24};
    st_table *table = table_of(own->arena);
    row(table, "T", "", "", "abcdefghijklmnopqrstuvwxyzäöü0123456789");
    st_table_write(table, &narrow, 0, &buffer);
    assert_text(&buffer, "T  abcdefghijklmnopqrstu\n"
                         "   vwxyzäöü0123456789\n");
}

TEST_OF(fields_have_their_own_ink, const fixture *own, set_up, tear_down)
{
    st_buffer buffer = {0};
    const st_paint color = {true, 0};
    st_table *table = table_of(own->arena);
    st_table_ink(table, 0, ST_INK_BAD); /* no row yet: nothing happens */
    st_table_title(table, "Title");
    row(table, "T", "1", "s", "x");
    st_table_ink(table, 3, ST_INK_GOOD);
    row(table, "Tee", "2", "s", "y");
    st_table_write(table, &color, 0, &buffer);
    assert_text(&buffer, "\033[1mTitle\033[0m\n"
                         "\033[36mT\033[0m    1 s  \033[32mx\033[0m\n"
                         "\033[36mTee\033[0m  2 s  y\n");
}

TEST_OF(two_tables_share_the_width_of_their_columns, const fixture *own, set_up, tear_down)
{
    st_buffer buffer = {0};
    st_table *first = table_of(own->arena);
    st_table *second = table_of(own->arena);
    row(first, "long_name", "1", "s", "a long meaning");
    row(second, "T", "16.73", "GB/s", "b");
    st_table_align(first, second, 3);
    st_table_write(first, &plain, 0, &buffer);
    st_table_write(second, &plain, 0, &buffer);
    assert_text(&buffer, "long_name      1 s     a long meaning\n"
                         "T          16.73 GB/s  b\n");
}

TEST(numbers_part_from_their_units)
{
    static const struct {
        const char *text, *number, *unit;
    } cases[] = {
        {"16.73 s", "16.73", "s"}, {"-2.5 FLOP/(B*s)", "-2.5", "FLOP/(B*s)"}, {"680", "680", ""},
        {"full", "full", ""},      {"not finite", "not finite", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[32];
        const char *number = NULL;
        const char *unit = NULL;
        (void)snprintf(text, sizeof text, "%s", cases[i].text);
        st_split_unit(text, &number, &unit);
        assert_string_equal(number, cases[i].number);
        assert_string_equal(unit, cases[i].unit);
    }
}

TESTS(table);
