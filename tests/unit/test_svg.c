/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures: numbers, tones and colours, texts, broken lines. */
#include "report_support.h"

#include "base/svg.h"

#include <math.h>

/* What stands in a picture behind its page. */
static void assert_drawn(st_buffer *svg, const char *expected)
{
    static const char page[] = "height=\"85\" class=\"page\"/>\n";
    assert_false(svg->failed);
    const char *drawn = strstr(svg->data, page);
    assert_non_null(drawn);
    assert_string_equal(drawn + strlen(page), expected);
    st_buffer_free(svg);
}

TEST(a_picture_has_a_light_and_a_dark_face)
{
    st_buffer svg = {0};
    st_svg_begin(&svg, 238, 85, "a < b");
    st_svg_end(&svg);
    assert_contains(svg.data, "width=\"238\" height=\"85\" viewBox=\"0 0 238 85\"");
    assert_contains(svg.data, "<title>a &lt; b</title>");
    assert_contains(svg.data, "@media (prefers-color-scheme:dark)");
    assert_drawn(&svg, "</svg>\n");
}

TEST(pixels_have_as_few_digits_as_they_need)
{
    st_buffer svg = {0};
    st_svg_begin(&svg, 238, 85, "");
    st_svg_box_write(&svg, (st_svg_box){2.386, 7.3, -3.04, 12}, "#123456");
    st_svg_line(&svg, (st_svg_point){0, 0.996}, (st_svg_point){2, -0.001}, "grid");
    assert_drawn(&svg,
                 "<rect x=\"2.39\" y=\"7.3\" width=\"-3.04\" height=\"12\" fill=\"#123456\"/>\n"
                 "<path d=\"M0 1L2 0\" class=\"grid\"/>\n");
}

TEST(lines_break_where_a_value_is_missing)
{
    st_buffer svg = {0};
    const st_svg_point points[] = {{1, 2.5}, {2, (double)NAN}, {3, 4}, {5, 6}};
    st_svg_begin(&svg, 238, 85, "");
    st_svg_curve(&svg, points, COUNT(points), "ink");
    assert_drawn(&svg, "<path d=\"M1 2.5L1 2.5M3 4L3 4L5 6\" stroke-width=\"2\" "
                       "stroke-linecap=\"round\" class=\"ink\"/>\n");
}

TEST(texts_are_escaped_and_may_stand_upwards)
{
    st_buffer svg = {0};
    st_svg_begin(&svg, 238, 85, "");
    st_svg_text(&svg, (st_svg_point){1.5, 2}, "", "a & b");
    st_svg_text(&svg, (st_svg_point){1.5, 2}, "middle upwards", "rank");
    assert_drawn(&svg, "<text x=\"1.5\" y=\"2\">a &amp; b</text>\n"
                       "<text transform=\"translate(1.5 2) rotate(-90)\" class=\"middle upwards\">"
                       "rank</text>\n");
}

TEST(maps_have_one_scale_of_colours)
{
    char color[8];
    assert_string_equal(st_svg_heat(0, color), "#fee6a5");
    assert_string_equal(st_svg_heat(0.125, color), "#fecd80");
    assert_string_equal(st_svg_heat(1, color), "#320a50");
    assert_string_equal(st_svg_heat(-0.3, color), "#fee6a5");
    assert_string_equal(st_svg_heat(2.385, color), "#320a50");
    assert_string_equal(st_svg_color(ST_SVG_HUES + ST_SVG_VERMILION), "#d55e00");
    for (size_t i = 0; i < ST_SVG_HUES; i++) {
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(st_svg_color(i), st_svg_color(k));
    }
}

TEST(labels_that_would_touch_are_left_out)
{
    st_buffer svg = {0};
    const st_svg_label labels[] = {
        {10, "5 GiB", false}, {40, "10 GiB", true}, {70, "20 GiB", false}, {110, "50 GiB", false}};
    st_svg_begin(&svg, 238, 85, "");
    st_svg_labels_across(&svg, labels, COUNT(labels), 12);
    assert_drawn(&svg, "<text x=\"40\" y=\"12\" class=\"middle\">10 GiB</text>\n"
                       "<text x=\"110\" y=\"12\" class=\"middle\">50 GiB</text>\n");
    assert_true(st_svg_is_power(1000) && st_svg_is_power(0.1) && !st_svg_is_power(200));
}

TEST(legends_break_where_there_is_no_room)
{
    st_buffer svg = {0};
    const st_svg_key keys[] = {{"#123456", "forward"}, {"#234567", "backward"}};
    assert_true(st_svg_legend(&svg, keys, 2, (st_svg_box){7, 3, 60, 0}) == 40);
    assert_contains(svg.data, "<text x=\"25\" y=\"34\">backward</text>");
    st_buffer_free(&svg);
    assert_true(st_svg_legend(&svg, keys, 2, (st_svg_box){7, 3, 238, 0}) == 20);
    assert_contains(svg.data, "<text x=\"114\" y=\"14\">backward</text>");
    assert_true(st_svg_legend(&svg, keys, 0, (st_svg_box){7, 3, 238, 0}) == 0);
    st_buffer_free(&svg);
}

TEST(what_is_hidden_is_pale_and_text_may_cover_lines)
{
    st_buffer svg = {0};
    st_svg_begin(&svg, 238, 85, "");
    st_svg_pale_box(&svg, (st_svg_box){1, 2, 3, 4}, "#123456");
    st_svg_text_over(&svg, (st_svg_point){20, 30}, "2.385 s");
    assert_drawn(&svg, "<g fill-opacity=\"0.35\"><rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" "
                       "fill=\"#123456\"/>\n</g>\n"
                       "<rect x=\"18\" y=\"19\" width=\"53\" height=\"14\" class=\"page\"/>\n"
                       "<text x=\"20\" y=\"30\">2.385 s</text>\n");
}

TEST(ticks_are_round_and_within)
{
    double ticks[ST_SVG_TICKS];
    assert_int_equal(st_svg_ticks(0, 23.85, ticks), 5);
    assert_true(fabs(ticks[4] - 20) < 1e-9);
    assert_int_equal(st_svg_ticks(0.371, 0.524, ticks), 3);
    assert_true(fabs(ticks[0] - 0.4) < 1e-9 && fabs(ticks[2] - 0.5) < 1e-9);
    assert_int_equal(st_svg_ticks(2.385, 2.385, ticks), 0);
    assert_int_equal(st_svg_log_ticks(3, 250, ticks), 6);
    assert_true(fabs(ticks[0] - 5) < 1e-9 && fabs(ticks[5] - 200) < 1e-9);
    assert_int_equal(st_svg_log_ticks(2.385e3, 7e12, ticks), 4);
    assert_true(fabs(ticks[0] / 1e5 - 1) < 1e-9);
    assert_int_equal(st_svg_log_ticks(0, 7, ticks), 0);
}

TESTS(svg);
