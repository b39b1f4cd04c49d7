/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of an estimate: rows of a total, stacks up to a limit, their axes and legends. */
#include "report_support.h"

static const char shelf[] =
    "sheet: shelf\n"
    "enums:\n"
    "  board: [lower, middle, upper]\n"
    "inputs:\n"
    "  room: {from: cluster.gpu.memory, unit: GiB, doc: room, default: 8 GiB}\n"
    "  tiny: {from: constants.tiny, unit: s, doc: little, default: 0.42 ms}\n"
    "  gone: {from: constants.gone, unit: s, doc: taken away, default: '-0.3 s'}\n"
    "cells:\n"
    "  work: {unit: s, is: '0.6[s]', doc: work}\n"
    "  sieve: {unit: s, is: '0.25[s]', doc: sieving}\n"
    "  behind: {unit: s, is: '0.9[s]', doc: behind}\n"
    "  none: {unit: s, is: '0[s]', doc: none}\n"
    "  late: {unit: s, is: '0.3[s]', doc: late}\n"
    "  T: {unit: s, is: work + sieve, doc: all}\n"
    "  books_of: {per: board, unit: GiB, is: 'if(board == lower, 6[GiB], if(board == upper, "
    "9[GiB], 0[GiB]))', doc: books}\n"
    "  dust: {unit: GiB, is: '1.5[GiB]', doc: dust}\n"
    "  most: {unit: GiB, is: '10.5[GiB]', doc: most}\n"
    "  where: {unit: board, is: upper, doc: where}\n"
    "report: [{section: Times, cells: [T]}]\n"
    "summary:\n"
    "  answer: {in all: T}\n"
    "  bars:\n"
    "    - bar: Time\n"
    "      of: T\n"
    "      parts: {work: work, sieving: {exposed: sieve, hidden: behind}, little: tiny,\n"
    "              late: {exposed: none, hidden: late}, taken: gone}\n"
    "    - bar: Shelf\n"
    "      of: most\n"
    "      limit: room\n"
    "      member: where\n"
    "      parts: {books: books_of, dust: dust}\n"
    "    - {bar: Nothing, of: none, parts: {nothing: none}}\n";

static const char *picture_of(fixture *own, const char *set)
{
    st_estimate estimate;
    st_buffer svg = {0};
    write_text(own, "formulas/shelf.yaml", shelf);
    write_text(own, "configs/jobs/library.yaml", "name: library\nsheet: shelf\n");
    if (load_estimate(own, "library", set, &estimate) != ST_OK ||
        st_estimate_show_report(&estimate, false, own->arena) != ST_OK ||
        st_estimate_run(&estimate, own->arena, own->errors) != ST_OK ||
        st_summary_svg(&estimate, own->arena, &svg, own->errors) != ST_OK)
        fail_msg("%s", said(own));
    assert_false(svg.failed);
    const char *copy = st_arena_copy(own->arena, svg.data, svg.length);
    assert_non_null(copy);
    st_buffer_free(&svg);
    return copy;
}

static void expect_parts(const char *text, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_contains(text, parts[i]);
}

/* 460 pixels from 230 on are 0.25 s and the 0.9 s behind it: 400 a second; a row is 26 high. */
TEST_WITH(parts_of_a_total_are_rows, set_up, tear_down)
{
    static const char *const parts[] = {
        "class=\"page\"/>\n<text x=\"24\" y=\"30\" class=\"large\">library</text>\n"
        "<text x=\"230\" y=\"64\" class=\"large\">Time: 850 ms</text>\n"
        "<path d=\"M230 80L230 158\" class=\"grid\"/>\n"
        "<text x=\"230\" y=\"174\" class=\"middle faint\">0 s</text>\n"
        "<path d=\"M310 80L310 158\" class=\"grid\"/>\n"
        "<text x=\"310\" y=\"174\" class=\"middle faint\">200 ms</text>\n",
        "<text x=\"630\" y=\"174\" class=\"middle faint\">1 s</text>\n"
        "<rect x=\"230\" y=\"84\" width=\"240\" height=\"18\" fill=\"#0072b2\"/>\n"
        "<text x=\"222\" y=\"97\" class=\"end\">work</text>\n",
        "\n<text x=\"476\" y=\"97\">600 ms</text>\n"
        "<rect x=\"230\" y=\"110\" width=\"100\" height=\"18\" fill=\"#0072b2\"/>\n"
        "<g fill-opacity=\"0.35\"><rect x=\"330\" y=\"110\" width=\"360\" height=\"18\" "
        "fill=\"#0072b2\"/>\n</g>\n"
        "<text x=\"222\" y=\"123\" class=\"end\">sieving</text>\n",
        "\n<text x=\"696\" y=\"123\">250 ms, 900 ms hidden</text>\n"
        "<rect x=\"230\" y=\"136\" width=\"0\" height=\"18\" fill=\"#0072b2\"/>\n"
        "<g fill-opacity=\"0.35\"><rect x=\"230\" y=\"136\" width=\"120\" height=\"18\" "
        "fill=\"#0072b2\"/>\n</g>\n"
        "<text x=\"222\" y=\"149\" class=\"end\">late</text>\n",
        "\n<text x=\"356\" y=\"149\">300 ms hidden</text>\n<text x=\"230\"",
        "\n<text x=\"230\" y=\"234\" class=\"large\">Shelf: "};
    const char *text = picture_of(*state, NULL);
    expect_parts(text, parts, COUNT(parts));
    assert_lacks(text, ">taken<");
    assert_lacks(text, ">little<"); /* 0.42 ms are less than 0.0005 of 850 ms */
    assert_contains(picture_of(*state, "constants.tiny=0.43ms"), ">little<");
}

/* 10.5 GiB fill the width, so that 1.5 GiB are 65.71 pixels; the middle has nothing of its own. */
TEST_WITH(parts_up_to_a_limit_are_stacked, set_up, tear_down)
{
    static const char *const parts[] = {
        "height=\"398\" ",
        "<text x=\"230\" y=\"234\" class=\"large\">Shelf: 10.5 GiB of 8 GiB</text>\n"
        "<path d=\"M230 250L230 302\" class=\"grid\"/>\n"
        "<text x=\"230\" y=\"318\" class=\"middle faint\">0 GiB</text>\n"
        "<path d=\"M317.62 250L317.62 302\" class=\"grid\"/>\n"
        "<text x=\"317.62\" y=\"318\" class=\"middle faint\">2 GiB</text>\n",
        "\n<text x=\"222\" y=\"267\" class=\"end\">lower board</text>\n"
        "<rect x=\"230\" y=\"254\" width=\"262.86\" height=\"18\" fill=\"#0072b2\"/>\n"
        "<rect x=\"492.86\" y=\"254\" width=\"65.71\" height=\"18\" fill=\"#d55e00\"/>\n"
        "<text x=\"700\" y=\"267\">7.5 GiB</text>\n"
        "<text x=\"222\" y=\"293\" class=\"end\">upper board</text>\n"
        "<rect x=\"230\" y=\"280\" width=\"394.29\" height=\"18\" fill=\"#0072b2\"/>\n"
        "<rect x=\"624.29\" y=\"280\" width=\"65.71\" height=\"18\" fill=\"#d55e00\"/>\n"
        "<text x=\"700\" y=\"293\">10.5 GiB</text>\n"
        /* 230 + 460 x 8 / 10.5 */
        "<path d=\"M580.48 244L580.48 302\" class=\"ink\"/>\n"
        "<rect x=\"230\" y=\"336\" width=\"12\" height=\"12\" fill=\"#0072b2\"/>\n"
        "<text x=\"248\" y=\"347\">books</text>\n",
        "fill=\"#d55e00\"/>\n<text x=\"323\" y=\"347\">dust</text>\n</svg>\n"};
    const char *text = picture_of(*state, NULL);
    expect_parts(text, parts, COUNT(parts));
    assert_lacks(text, "middle board");
    /* More room than anybody needs is the width. */
    text = picture_of(*state, "cluster.gpu.memory=15GiB");
    assert_contains(text, "width=\"46\" height=\"18\" fill=\"#d55e00\"");
    assert_contains(text, "<path d=\"M690 244L690 302\" class=\"ink\"/>");
}

TEST_OF(bars_of_nothing_are_not_drawn, fixture *own, set_up, tear_down)
{
    const char *text = picture_of(own, NULL);
    assert_contains(text, ">Shelf: ");
    assert_lacks(text, "Nothing");
}

TEST_OF(a_sheet_without_bars_has_no_picture, fixture *own, set_up, tear_down)
{
    st_estimate estimate;
    st_buffer svg = {0};
    write_pump(own);
    run_station(own, NULL, false, &estimate);
    assert_int_equal(st_summary_svg(&estimate, own->arena, &svg, own->errors), ST_ERR_USAGE);
    assert_contains(said(own), "sheet 'pump' has nothing to draw: expected bars in a summary");
    assert_int_equal(svg.length, 0);
}

TESTS(summary_svg);
