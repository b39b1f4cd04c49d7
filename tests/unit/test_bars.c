/* SPDX-License-Identifier: Apache-2.0 */
/* Bars of characters: rows line up, stacked ends meet, what is small is seen, lines fit. */
#include "report_support.h"

#include "base/bars.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

static void rows_line_up_and_ends_meet(void **state)
{
    (void)state;
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

static void lines_fit_the_width_and_notes_are_kept(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_line_up_and_ends_meet),
        cmocka_unit_test(lines_fit_the_width_and_notes_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
