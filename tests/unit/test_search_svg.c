/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of a search: where plans stand on its scales, what is drawn of them, its limit. */
#include "search_support.h"

#include <math.h>

static const char *drawn(fixture *own, const char *set)
{
    st_search_request request = bread_request(&set, set != NULL ? 1 : 0, 2);
    st_buffer svg = {0};
    request.picture = true;
    const st_search_view *view = view_of(own, &request);
    if (st_search_svg(own->paths, view, &svg, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    const char *copy = st_arena_copy(own->arena, svg.data, svg.length);
    assert_non_null(copy);
    st_buffer_free(&svg);
    return copy;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

/* From 2 to 12.5 GiB over 550 pixels, with 4 % of the way on each side. */
static double x_of(double gib)
{
    return 100 + 550 * (log(gib / 2) / log(12.5 / 2) + 0.04) / 1.08;
}

/* From 0.33425 to 0.4435 s over 420 pixels, with 2 % more on each side, which is more than 4 % of
 * the way. */
static double y_of(double seconds)
{
    double least = 0.33425 / 1.02;
    return 70 + 420 * (1 - log(seconds / least) / log(0.4435 * 1.02 / least));
}

static const char *mark(fixture *own, double gib, double seconds, double size, const char *color)
{
    char numbers[2][32];
    const double at[2] = {x_of(gib) - size / 2, y_of(seconds) - size / 2};
    for (size_t i = 0; i < 2; i++) /* as few digits as it needs, two at most */
        (void)snprintf(numbers[i], sizeof numbers[i], "%.7g", round(100 * at[i]) / 100);
    return st_arena_printf(own->arena,
                           "<rect x=\"%s\" y=\"%s\" width=\"%g\" height=\"%g\" fill=\"%s\"/>\n",
                           numbers[0], numbers[1], size, size, color);
}

TEST_OF(plans_stand_where_their_values_are, fixture *own, set_up, tear_down)
{
    const char *text = drawn(own, NULL);
    static const double front[][2] = {{7, 0.33425},  {6.5, 0.3535},  {5, 0.354625}, {4, 0.36425},
                                      {3.5, 0.3835}, {2.5, 0.39425}, {2, 0.4135}};
    static const double others[][2] = {{7, 0.34925}, {6.5, 0.3685}, {5.5, 0.4098125}, {2, 0.4435}};
    for (size_t i = 0; i < COUNT(front); i++) {
        assert_contains(text, mark(own, front[i][0], front[i][1], 3, "#0072b2"));
        assert_contains(text, mark(own, front[i][0], front[i][1], 6, "#d55e00"));
    }
    for (size_t i = 0; i < COUNT(others); i++)
        assert_contains(text, mark(own, others[i][0], others[i][1], 3, "#0072b2"));
    assert_contains(text, mark(own, 12.5, 0.3385, 3, "#999999"));
    /* Of 25 plans that fit seven stand where another one does: 2 x 2 and four by one GPU alone. */
    assert_int_equal(count_of(text, "width=\"3\" height=\"3\" fill=\"#0072b2\""), 18);
    assert_int_equal(count_of(text, "fill=\"#999999\""), 2); /* with the legend */
    assert_int_equal(count_of(text, "width=\"6\" height=\"6\""), 7);
}

TEST_WITH(axes_and_legend_say_what_it_is, set_up, tear_down)
{
    const char *text = drawn(*state, NULL);
    static const char *const parts[] = {
        "<text x=\"100\" y=\"26\" class=\"large\">T over M of 26 plans of bread</text>\n"
        "<rect x=\"100\" y=\"70\" width=\"550\" height=\"420\" class=\"panel\"/>\n"
        "<path d=\"M120.37 490L120.37 70\" class=\"grid\"/>\n",
        "<text x=\"375\" y=\"534\" class=\"middle\">M: heat</text>\n",
        "<text x=\"92\" y=\"408.22\" class=\"end\">0.35 s</text>\n",
        "class=\"middle upwards\">T: a day</text>\n",
        /* 100 + 550 (ln 4 / ln 6.25 + 0.04) / 1.08 */
        "<path d=\"M505.61 490L505.61 70\" class=\"ink\"/>\n",
        "<text x=\"505.61\" y=\"64\" class=\"middle\">room 8 GiB</text>\n",
        "<text x=\"686\" y=\"82\">plans that fit, 25</text>\n",
        "<text x=\"686\" y=\"102\">too large, 1</text>\n",
        "<text x=\"686\" y=\"122\">Pareto front, 7</text>\n</svg>\n"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(text, parts[i]);
    assert_lacks(text, "drawn uniformly");
}

/* A limit beyond all plans widens the picture; where all plans fit nothing says otherwise. */
TEST_WITH(the_limit_is_in_sight, set_up, tear_down)
{
    const char *text = drawn(*state, "cluster.gpu.memory=25 GiB");
    /* 100 + 550 x 1.04 / 1.08 */
    assert_contains(text, "<text x=\"629.63\" y=\"64\" class=\"middle\">room 25 GiB</text>\n");
    assert_contains(text, "<text x=\"686\" y=\"82\">plans that fit, 26</text>\n"
                          "<rect x=\"670\" y=\"94\" width=\"8\" height=\"8\" fill=\"#d55e00\"/>\n");
    assert_lacks(text, "too large");
}

TEST_OF(without_plans_there_is_no_picture, fixture *own, set_up, tear_down)
{
    static const char *const sets[] = {"parallel.tp=8"}; /* too wide, each of them */
    st_search_request request = bread_request(sets, 1, 2);
    st_buffer svg = {0};
    request.picture = true;
    const st_search_view *view = view_of(own, &request);
    st_errors_clear(own->errors);
    assert_int_equal(st_search_svg(own->paths, view, &svg, own->errors), ST_ERR_CHECK);
    assert_contains(said(own), "no plan to draw: none has positive values of T and M");
    st_buffer_free(&svg);
}

TESTS(search_svg);
