/* SPDX-License-Identifier: Apache-2.0 */
/* Bars of characters: rows line up, stacked ends meet, what is small is seen, lines fit. */
#include "report_support.h"

#include "base/bars.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

#define NAN_MARK ((double)NAN) /* none */

TEST(rows_line_up_and_ends_meet)
{
    st_arena *arena = st_arena_create();
    st_bars *bars = st_bars_create(arena, 0.625);
    const st_paint paint = {.width = 60};
    st_buffer text = {0};
    st_bars_add(bars, &(st_bar){"long label", "23.85 s", "62 %", "", 0, 0.25, 0.125, false});
    st_bars_add(bars, &(st_bar){"b", "2.385 s", "6 %", "", 0.25, 0.375, 0, false});
    st_bars_add(bars, &(st_bar){"tiny", "2 ms", "0 %", "", 0.625, 0.0001, 0, false});
    st_bars_write(bars, &paint, &text);
    assert_string_equal(text.data, "  long label  23.85 s  62 %  ████████░░░        │\n"
                                   "  b           2.385 s   6 %          ███████████│\n"
                                   "  tiny           2 ms   0 %                     ▏\n");
    st_buffer_free(&text);
    st_arena_destroy(arena);
}

TEST(lines_fit_the_width_and_notes_are_kept)
{
    for (size_t width = 50; width <= 120; width += 7) {
        st_arena *arena = st_arena_create();
        st_bars *bars = st_bars_create(arena, (double)NAN);
        const st_paint paint = {.width = width};
        st_buffer text = {0};
        st_bars_add(bars,
                    &(st_bar){"gradients", "2.385 s", "62 %", "1.2 s hidden", 0, 0.7, 0.3, false});
        st_bars_write(bars, &paint, &text);
        size_t length = strlen(text.data) - 1;
        assert_true(st_utf8_count(text.data, length) <= width);
        assert_non_null(strstr(text.data, "1.2 s hidden\n"));
        st_buffer_free(&text);
        st_arena_destroy(arena);
    }
}

/* Beside columns of 19 characters: 6 of the bar at least, 60 at most, else what the width leaves.
 */
TEST(bars_are_as_wide_as_they_may)
{
    static const struct {
        size_t width;
        double mark;
        size_t cells;
    } cases[] = {{0, NAN_MARK, 60},  {100, NAN_MARK, 60}, {79, NAN_MARK, 60},
                 {78, NAN_MARK, 59}, {39, NAN_MARK, 20},  {39, 1, 19},
                 {26, NAN_MARK, 7},  {25, NAN_MARK, 6},   {7, NAN_MARK, 6}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        st_arena *arena = st_arena_create();
        st_bars *bars = st_bars_create(arena, cases[i].mark);
        const st_paint paint = {.width = cases[i].width};
        st_buffer text = {0};
        st_bars_add(bars, &(st_bar){"abc", "10 s", "50 %", "", 0, 1, 0, false});
        st_bars_write(bars, &paint, &text);
        size_t cells = 0;
        for (const char *at = strstr(text.data, "█"); at != NULL; at = strstr(at + 1, "█"))
            cells++;
        assert_int_equal(cells, cases[i].cells);
        st_buffer_free(&text);
        st_arena_destroy(arena);
    }
}

/* Twenty cells to a bar, and a mark at 18 where there is one. */
TEST(rows_end_where_their_texts_do)
{
    static const struct {
        double mark;
        st_bar row;
        const char *expected;
    } cases[] = {
        {NAN_MARK,
         {"a", "1 s", "5 %", "", 0, 0.5, 0.25, false},
         "  a     1 s   5 %  ██████████░░░░░\n"},
        {0.9,
         {"a", "1 s", "5 %", "", 0, 0.5, 0.25, false},
         "  a     1 s   5 %  ██████████░░░░░   │\n"},
        {0.9,
         {"a", "1 s", "5 %", "", 0, 0.5, 0.4, false},
         "  a     1 s   5 %  ██████████░░░░░░░░│\n"},
        {0.9,
         {"a", "1 s", "5 %", "", 0, 0.5, 0.45, false},
         "  a     1 s   5 %  ██████████░░░░░░░░░\n"},
        {0.9, {"a", "1 s", "", "", 0, 0.001, 0, false}, "  a     1 s        ▏                 │\n"},
        {NAN_MARK, {"a", "1 s", "5 %", "", 0, 0.05, 0, false}, "  a     1 s   5 %  █\n"},
        /* A note takes three characters from all bars: 8.5 of 17 are 9. */
        {NAN_MARK, {"a", "1 s", "5 %", "n", 0, 0.5, 0, false}, "  a     1 s   5 %  █████████  n\n"},
        {NAN_MARK, {"a", "1 s", "", "", 0.5, 0, 0, false}, "  a     1 s\n"},
        {NAN_MARK, {"a", "1 s", "5 %", "", 0.5, 0, 0, false}, "  a     1 s   5 %\n"},
        {NAN_MARK,
         {"a", "1 s", "5 %", "", 0.25, 2.5, 0, false},
         "  a     1 s   5 %       ███████████████\n"},
        {NAN_MARK, {"a", "1 s", "5 %", "", -0.5, 0.75, 0, false}, "  a     1 s   5 %  █████\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        st_arena *arena = st_arena_create();
        st_bars *bars = st_bars_create(arena, cases[i].mark);
        const st_paint paint = {.width = isfinite(cases[i].mark) ? 40 : 39};
        st_buffer text = {0};
        st_bars_add(bars, &cases[i].row);
        st_bars_add(bars, &(st_bar){"abc", "10 s", "50 %", "", 0, 1, 0, false});
        st_bars_write(bars, &paint, &text);
        if (strncmp(text.data, cases[i].expected, strlen(cases[i].expected)) != 0)
            fail_msg("case %zu:\n%s", i, text.data);
        st_buffer_free(&text);
        st_arena_destroy(arena);
    }
}

TESTS(bars);
