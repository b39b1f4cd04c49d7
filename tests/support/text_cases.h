/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases as text: a line "--- NAME", what is given, a line that begins with "=>", and what is
 * expected, from "=>" to the next case. Lines in front of the first case are comments. With
 * STEPTIME_CASES=update a file is written anew with what is found.
 *
 * Rows as text: a line "GIVEN => EXPECTED" each, below a line "## SECTION"; other lines with "#"
 * are comments. Both sides may have \n, \t, \r, \\ and \xHH.
 */
#ifndef STEPTIME_TESTS_TEXT_CASES_H
#define STEPTIME_TESTS_TEXT_CASES_H

#include "steptime/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What is found, beginning with "=>", in memory of the arena. */
typedef const char *text_answer(void *context, const char *name, char *given);

static inline char *read_cases(const char *path, st_arena *arena)
{
    st_buffer text = {0};
    char piece[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (size_t length; (length = fread(piece, 1, sizeof piece, file)) > 0;)
        st_buffer_append(&text, piece, length);
    assert_int_equal(fclose(file), 0);
    char *copy = st_arena_copy(arena, text.data, text.length);
    st_buffer_free(&text);
    assert_non_null(copy);
    return copy;
}

/* The first line that differs. */
static inline void print_difference(const char *path, const char *name, const char *found,
                                    const char *expected)
{
    size_t at = 0;
    while (found[at] == expected[at] && found[at] != '\0')
        at++;
    while (at > 0 && found[at - 1] != '\n')
        at--;
    print_message("%s: %s\n  found:    %.*s\n  expected: %.*s\n", path, name,
                  (int)strcspn(found + at, "\n"), found + at, (int)strcspn(expected + at, "\n"),
                  expected + at);
}

static inline void end_cases(const char *path, st_buffer *anew, size_t failed, size_t count)
{
    const char *update = getenv("STEPTIME_CASES");
    if (failed > 0 && update != NULL && strcmp(update, "update") == 0) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(anew->data, 1, anew->length, file), anew->length);
        assert_int_equal(fclose(file), 0);
    }
    st_buffer_free(anew);
    if (failed > 0)
        fail_msg("%zu of %zu cases in %s", failed, count, path);
    assert_true(count > 0);
}

static inline void run_text_cases(const char *path, text_answer *answer, void *context,
                                  st_arena *arena)
{
    st_buffer anew = {0};
    size_t failed = 0;
    size_t count = 0;
    char *at = read_cases(path, arena);
    char *first = strstr(at, "--- ");
    assert_non_null(first);
    st_buffer_append(&anew, at, (size_t)(first - at));
    for (char *name = first + 4, *next; name != NULL; name = next) {
        char *given = strchr(name, '\n');
        char *expected = strstr(given, "\n=>");
        assert_non_null(expected);
        next = strstr(expected, "\n--- ");
        if (next != NULL) {
            next[1] = '\0'; /* the expected text ends with its last line */
            next += 5;
        }
        *given++ = '\0';
        size_t length = expected < given ? 0 : (size_t)(expected + 1 - given);
        char *text = st_arena_copy(arena, given, length);
        const char *found = answer(context, name, text);
        if (strcmp(found, expected + 1) != 0) {
            print_difference(path, name, found, expected + 1);
            failed++;
        }
        st_buffer_printf(&anew, "--- %s\n%.*s%s", name, (int)length, given, found);
        count++;
    }
    end_cases(path, &anew, failed, count);
}

/* Replaces escapes by what they stand for; returns the length, since \x00 may be among them. */
static inline size_t unescape(char *text)
{
    size_t length = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at != '\\') {
            text[length++] = *at;
        } else if (*++at == 'x') {
            text[length++] = (char)strtol((char[]){at[1], at[2], '\0'}, NULL, 16);
            at += 2;
        } else {
            text[length++] = *at == 'n' ? '\n' : *at == 't' ? '\t' : *at == 'r' ? '\r' : *at;
        }
    }
    text[length] = '\0';
    return length;
}

static inline void add_escaped(const char *text, st_buffer *escaped)
{
    for (; *text != '\0'; text++) {
        const char *special = strchr("\nn\tt\rr\\\\", *text);
        if (special != NULL && strchr("\n\t\r\\", *text) != NULL)
            st_buffer_printf(escaped, "\\%c", special[1]);
        else
            st_buffer_append(escaped, text, 1);
    }
}

/* What is found of a row, in memory of the arena. */
typedef const char *text_row(void *context, const char *section, char *given, size_t length);

static inline void run_text_rows(const char *path, text_row *answer, void *context, st_arena *arena)
{
    const char *section = "";
    st_buffer anew = {0};
    size_t failed = 0;
    size_t count = 0;
    char *next = read_cases(path, arena);
    for (char *line = next; *line != '\0'; line = next) {
        next = strchr(line, '\n');
        *next++ = '\0';
        st_buffer_text(&anew, line);
        char *expected = strstr(line, " =>");
        if (line[0] == '#') {
            section = strncmp(line, "## ", 3) == 0 ? line + 3 : section;
        } else if (expected != NULL) {
            anew.length -= strlen(expected);
            *expected = '\0';
            expected += expected[3] == ' ' ? 4 : 3;
            const char *name = st_arena_printf(arena, "%s: %s", section, line);
            const char *found = answer(context, section, line, unescape(line));
            st_buffer_text(&anew, found[0] != '\0' ? " => " : " =>");
            add_escaped(found, &anew);
            (void)unescape(expected);
            if (strcmp(found, expected) != 0) {
                print_difference(path, name, found, expected);
                failed++;
            }
            count++;
        }
        st_buffer_text(&anew, "\n");
    }
    end_cases(path, &anew, failed, count);
}

#endif
