/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of estimator/sheet share: sheets that live in memory, and messages as text. */
#ifndef STEPTIME_TESTS_SHEETS_H
#define STEPTIME_TESTS_SHEETS_H

#include "program/program.h"
#include "text_cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define NOT_A_NUMBER ((double)NAN) /* the macros are floats */
#define INFINITE     ((double)INFINITY)

enum { SHELF_FILES = 48 };

/* A sheet by name; "main" is the one that is loaded. */
typedef struct shelf_file {
    const char *name;
    const char *text;
    size_t length;
} shelf_file;

typedef struct shelf {
    st_arena *arena;
    st_errors *errors;
    shelf_file files[SHELF_FILES];
    size_t file_count;
} shelf;

static inline int make_shelf(void **state)
{
    shelf *own = calloc(1, sizeof *own);
    assert_non_null(own);
    own->arena = st_arena_create();
    own->errors = st_errors_create();
    assert_non_null(own->arena);
    assert_non_null(own->errors);
    *state = own;
    return 0;
}

static inline int drop_shelf(void **state)
{
    shelf *own = *state;
    st_arena_destroy(own->arena);
    st_errors_destroy(own->errors);
    free(own);
    return 0;
}

static inline void put_bytes(shelf *own, const char *name, const char *text, size_t length)
{
    for (size_t i = 0; i < own->file_count; i++) {
        if (strcmp(own->files[i].name, name) == 0) {
            own->files[i] = (shelf_file){name, text, length};
            return;
        }
    }
    assert_true(own->file_count < SHELF_FILES);
    own->files[own->file_count++] = (shelf_file){name, text, length};
}

static inline void put(shelf *own, const char *name, const char *text)
{
    put_bytes(own, name, text, strlen(text));
}

static inline st_status read_shelf(void *context, const char *name, st_place place, st_arena *arena,
                                   st_source *source, st_errors *errors)
{
    const shelf *own = context;
    for (size_t i = 0; i < own->file_count; i++) {
        const shelf_file *file = &own->files[i];
        if (strcmp(file->name, name) == 0) {
            char *text = st_arena_copy(arena, file->text, file->length);
            *source = (st_source){.file = file->name, .text = text, .length = file->length};
            return text != NULL ? ST_OK : ST_ERR_MEMORY;
        }
    }
    return st_errors_add(
        errors, &(st_error){.status = ST_ERR_IO, .place = place, .message = "no such sheet"});
}

/* Loads "main"; own->errors has its errors and no others. */
static inline st_status load_main(shelf *own, const st_sheet **sheet)
{
    st_errors_clear(own->errors);
    st_sheet_reader reader = {.read = read_shelf, .context = own};
    return st_sheet_load(&reader, "main", own->arena, sheet, own->errors);
}

/* Everything that the list says, on a line each; the list is empty afterwards. */
static inline const char *said(shelf *own)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    st_errors_write(own->errors, stream);
    assert_int_equal(fclose(stream), 0);
    const char *copy = st_arena_copy(own->arena, text, length);
    assert_non_null(copy);
    free(text);
    st_errors_clear(own->errors);
    return copy;
}

/* A sheet without errors; warnings stay in the list. */
static inline const st_sheet *accept(shelf *own, const char *text)
{
    const st_sheet *sheet = NULL;
    put(own, "main", text);
    st_status status = load_main(own, &sheet);
    if (status != ST_OK)
        fail_msg("a good sheet is refused: %s%s", said(own), text);
    return sheet;
}

/* What is said about a faulty sheet, the first error being of kind `status`. */
static inline const char *refuse(shelf *own, st_status status, const char *text)
{
    const st_sheet *sheet = NULL;
    put(own, "main", text);
    st_status found = load_main(own, &sheet);
    if (found != status)
        fail_msg("status %d instead of %d: %s%s", found, status, said(own), text);
    assert_null(sheet);
    return said(own);
}

static inline void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' does not contain '%s'", text, part);
}

static inline void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part) != NULL)
        fail_msg("'%s' contains '%s'", text, part);
}

/* Bit by bit, except that everything that is not a number is one thing. */
static inline bool same_double(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static inline void assert_double(double value, double expected, const char *what)
{
    if (!same_double(value, expected))
        fail_msg("%s: %.17g is not %.17g", what, value, expected);
}

/* Inputs of every type, which most sheets of these tests begin with. */
#define SHEET_INPUTS                                                                               \
    "sheet: t\n"                                                                                   \
    "enums:\n"                                                                                     \
    "  mode: [none, part, full]\n"                                                                 \
    "  link: [none, ib, eth]\n"                                                                    \
    "inputs:\n"                                                                                    \
    "  n: {from: parallel.dp, doc: ranks}\n"                                                       \
    "  V: {from: constants.v, unit: MB, doc: message}\n"                                           \
    "  C: {from: constants.c, unit: GB/s, doc: bandwidth}\n"                                       \
    "  t: {from: constants.t, unit: us, doc: latency}\n"                                           \
    "  w: {from: constants.w, unit: bool, doc: switch}\n"                                          \
    "  m: {from: constants.m, unit: mode, doc: mode}\n"                                            \
    "  k: {from: constants.k, unit: link, doc: link}\n"

/*
 * Puts the sheet of a text case: "@NAME" begins another file than "main", "%inputs" is
 * SHEET_INPUTS.
 */
static inline void put_given(shelf *own, const char *given)
{
    own->file_count = 0;
    for (const char *end = given; end != NULL && *given != '\0';
         given = end == NULL ? given : end + 1) {
        const char *name = "main";
        if (*given == '@') {
            const char *line_end = strchr(given, '\n');
            name = st_arena_copy(own->arena, given + 1, (size_t)(line_end - given - 1));
            given = line_end + 1;
        }
        end = strstr(given, "\n@");
        size_t length = end != NULL ? (size_t)(end + 1 - given) : strlen(given);
        bool has_inputs = strncmp(given, "%inputs\n", 8) == 0;
        put(own, name,
            st_arena_printf(own->arena, "%s%.*s", has_inputs ? SHEET_INPUTS : "",
                            (int)length - (has_inputs ? 8 : 0), given + (has_inputs ? 8 : 0)));
    }
}

/* What is said about the sheet of a text case. */
static inline const char *answer_sheet(void *context, const char *name, char *given)
{
    shelf *own = context;
    const st_sheet *sheet = NULL;
    (void)name;
    put_given(own, given);
    st_status status = load_main(own, &sheet);
    assert_true((status == ST_OK) == (sheet != NULL));
    return st_arena_printf(own->arena, "=> %s\n%s", st_status_text(status), said(own));
}

#endif
