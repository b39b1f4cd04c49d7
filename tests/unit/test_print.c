/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of texts and whole numbers: what vsnprintf writes, at every size of the room for it. */
#include "base_support.h"

#include "base/print.h"
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static void check(const char *format, ...) ST_PRINTF(1, 2);

static void check(const char *format, ...)
{
    for (size_t size = 0; size < 64; size++) {
        char wanted[64];
        char text[64];
        memset(wanted, '#', sizeof wanted);
        memset(text, '#', sizeof text);
        va_list arguments;
        va_start(arguments, format);
        int wanted_length = vsnprintf(size > 0 ? wanted : NULL, size, format, arguments);
        va_end(arguments);
        va_start(arguments, format);
        int length = st_vprint(size > 0 ? text : NULL, size, format, arguments);
        va_end(arguments);
        assert_int_equal(length, wanted_length);
        assert_memory_equal(text, wanted, sizeof text);
    }
}

TEST(texts_and_whole_numbers_are_printed_as_by_the_c_library)
{
    check("nothing to fill in");
    check("%s", "");
    check("%s[%s,%s]", "t_layer", "dense", "forward");
    check("'%.*s' and %s", 4, "forward", "on");
    check("%.*s|%.*s", 0, "none", -1, "all of it");
    check("%s '%.60s'|%.3s|%.0s", "cell", "t_layer", "forward", "none");
    check("%d %d %d", 2385, -71, 0);
    check("%d %d", INT_MAX, INT_MIN);
    check("%zu and %zu", (size_t)0, SIZE_MAX);
    check("%c%c%%", 'x', '3');
}

TEST(all_other_formats_are_the_c_library_s)
{
    check("%s is %.3f", "pi", 3.14159);
    check("%-8s|%08d|%x", "left", 23, 0xBEEFU);
    check("%5.2s|%+d", "cut", 7);
    check("%ld of %lld", 61L, -62LL);
}

TEST(texts_of_an_arena_leave_it_zeroed)
{
    st_arena *arena = st_arena_create();
    char piece[1000];
    memset(piece, 'p', sizeof piece);
    for (size_t i = 0; i < 9000; i++) {
        const char *text = st_arena_printf(arena, "%.*s%zu", (int)(i * 37 % 997), piece, i);
        const unsigned char *next = st_arena_alloc(arena, 24, 1);
        assert_non_null(text);
        assert_non_null(next);
        for (size_t k = 0; k < 24; k++)
            assert_int_equal(next[k], 0);
        assert_int_equal(strspn(text, "p"), i * 37 % 997);
        assert_int_equal(strtoul(text + strspn(text, "p"), NULL, 10), i);
    }
    st_arena_destroy(arena);
}

/* What a shell makes of a text that is written for it is that text again. */
TEST(a_shell_reads_back_what_is_written_for_it)
{
    static const char *const texts[] = {
        "2.385",       "a;echo b",  "a&b",       "`echo b`",    "$(echo b)", "$HOME", "it's",
        "two words",   "E|t*3|(m)", "\"x\"",     "back\\slash", "~",         "a>b<c", "{a,b}",
        "#no comment", "!history",  "line\nend", "é",           "",          "'",     "?*[a]"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        st_buffer line = {0};
        char read[64] = "";
        st_buffer_text(&line, "printf %s ");
        st_text_shell(texts[i], &line);
        FILE *shell = popen(line.data, "r");
        assert_non_null(shell);
        size_t length = fread(read, 1, sizeof read - 1, shell);
        assert_int_equal(pclose(shell), 0);
        read[length] = '\0';
        assert_string_equal(read, texts[i]);
        st_buffer_free(&line);
    }
    st_buffer plain = {0};
    st_text_shell("parallel.tp=8,a:b/c-1+2@3%", &plain);
    assert_string_equal(plain.data, "parallel.tp=8,a:b/c-1+2@3%");
    st_buffer_free(&plain);
}

TESTS(print);
