/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in YAML: scalars are written in every style, with random line ends and escapes, while the
 * place of every character is noted; the reader must find the same text and the same places.
 */
#include "property.h"

#include "base/yaml.h"

enum { ROUNDS = 4000, MOST_CHARACTERS = 80, FILE_BYTES = 16384 };

/* A file under the pen. */
typedef struct pen {
    char text[FILE_BYTES];
    size_t length;
    int line;
    int column;
} pen;

/* The scalar's text and where each of its bytes was written. */
typedef struct scalar {
    char text[4 * MOST_CHARACTERS + 1];
    size_t length;
    int line[4 * MOST_CHARACTERS + 1];
    int column[4 * MOST_CHARACTERS + 1];
} scalar;

static void write_bytes(pen *out, const char *text)
{
    for (; *text != '\0'; text++) {
        out->text[out->length++] = *text;
        if (*text == '\n') {
            out->line++;
            out->column = 1;
        } else if (((unsigned char)*text & 0xC0) != 0x80) {
            out->column++;
        }
    }
}

static void write_blanks(pen *out, int count)
{
    for (int i = 0; i < count; i++)
        write_bytes(out, " ");
}

/* The text gets `character`, which is about to be written here. */
static void note(scalar *value, const pen *out, const char *character)
{
    for (; *character != '\0'; character++) {
        value->text[value->length] = *character;
        value->line[value->length] = out->line;
        value->column[value->length++] = out->column;
    }
}

static const char *random_character(property_random *random)
{
    static const char *const characters[] = {
        "a",
        "b",
        "T",
        "_",
        "+",
        "*",
        "(",
        ")",
        "7",
        ".",
        "'",
        "\"",
        "\\",
        "\xC3\xBC",
        "\xE2\x82\xAC",
        "\xF0\x9F\x98\x80",
    };
    return characters[random_below(random, sizeof characters / sizeof characters[0])];
}

/* A character that begins and ends plain scalars and block lines safely. */
static const char *random_letter(property_random *random)
{
    static const char *const letters[] = {"a", "T", "x", "\xC3\xBC", "\xE2\x82\xAC"};
    return letters[random_below(random, sizeof letters / sizeof letters[0])];
}

/* As plain, 'single' or "double" would have it; in double quotes some characters are escaped. */
static void write_character(property_random *random, pen *out, scalar *value, char style,
                            const char *character)
{
    note(value, out, character);
    bool is_escapable = strlen(character) < 3;
    if (style == '\'' && *character == '\'') {
        write_bytes(out, "''");
    } else if (style == '"' && strchr("\"\\", *character) != NULL) {
        write_bytes(out, "\\");
        write_bytes(out, character);
    } else if (style == '"' && is_escapable && random_below(random, 5) == 0) {
        unsigned code = (unsigned char)*character;
        if (character[1] != '\0')
            code = (code & 0x1FU) << 6 | ((unsigned char)character[1] & 0x3FU);
        char escape[16];
        size_t form = random_below(random, 3);
        if (form == 0)
            (void)snprintf(escape, sizeof escape, "\\x%02x", code);
        else if (form == 1)
            (void)snprintf(escape, sizeof escape, "\\u%04X", code);
        else
            (void)snprintf(escape, sizeof escape, "\\U%08x", code);
        write_bytes(out, escape);
    } else {
        write_bytes(out, character);
    }
}

/* A blank of the text as a line end, or line ends of the text as more of them. */
static void write_fold(property_random *random, pen *out, scalar *value)
{
    int breaks = random_between(random, 1, 3);
    write_blanks(out, random_between(random, 0, 2));
    if (breaks == 1)
        note(value, out, " ");
    for (int i = 1; i < breaks; i++)
        note(value, out, "\n");
    for (int i = 0; i < breaks; i++) {
        if (i > 0)
            write_blanks(out, random_between(random, 0, 3));
        write_bytes(out, "\n");
    }
    write_blanks(out, random_between(random, 2, 6));
}

/* Plain and quoted scalars: characters with blanks and folded line ends between them. */
static void write_flow(property_random *random, pen *out, scalar *value, char style)
{
    char quote[2] = {style, '\0'};
    if (style != ' ')
        write_bytes(out, quote);
    write_character(random, out, value, style, random_letter(random));
    for (int left = random_between(random, 0, MOST_CHARACTERS - 2) / 2; left > 0; left--) {
        size_t kind = random_below(random, 12);
        if (kind == 0) {
            write_fold(random, out, value);
        } else if (kind == 1) {
            note(value, out, " ");
            write_bytes(out, " ");
        } else if (kind == 2 && style == '"') {
            write_bytes(out, "\\\n");
            write_blanks(out, random_between(random, 2, 6));
        }
        write_character(random, out, value, style,
                        kind < 3 ? random_letter(random) : random_character(random));
    }
    if (style != ' ')
        write_bytes(out, quote);
}

/* A line of a block scalar, without its line end. */
static void write_block_line(property_random *random, pen *out, scalar *value)
{
    note(value, out, "x");
    write_bytes(out, "x");
    for (int left = random_between(random, 0, 8); left > 0; left--) {
        const char *character = random_character(random);
        note(value, out, character);
        write_bytes(out, character);
    }
}

/* Literal: each line end is one; further blanks before a line belong to it. */
static void write_literal(property_random *random, pen *out, scalar *value)
{
    int indent = random_between(random, 1, 5);
    write_bytes(out, "|\n");
    for (int left = random_between(random, 1, 5), first = 1; left > 0; left--, first = 0) {
        write_blanks(out, indent);
        for (int i = first ? 0 : random_between(random, 0, 2); i > 0; i--) {
            note(value, out, " ");
            write_bytes(out, " ");
        }
        write_block_line(random, out, value);
        int breaks = left == 1 ? 1 : random_between(random, 1, 3);
        for (int i = 0; i < breaks; i++)
            note(value, out, "\n");
        for (int i = 0; i < breaks; i++)
            write_bytes(out, "\n");
    }
}

/* Folded: one line end gives a blank, more give one less. */
static void write_folded(property_random *random, pen *out, scalar *value)
{
    int indent = random_between(random, 1, 5);
    write_bytes(out, ">-\n");
    for (int left = random_between(random, 1, 5); left > 0; left--) {
        write_blanks(out, indent);
        write_block_line(random, out, value);
        int breaks = left == 1 ? 1 : random_between(random, 1, 3);
        if (left > 1 && breaks == 1)
            note(value, out, " ");
        for (int i = 1; i < breaks; i++)
            note(value, out, "\n");
        for (int i = 0; i < breaks; i++)
            write_bytes(out, "\n");
    }
}

static void write_scalar(property_random *random, pen *out, scalar *value)
{
    if (random_below(random, 4) == 0)
        write_bytes(out, "&name ");
    write_blanks(out, random_between(random, 0, 3));
    switch (random_below(random, 5)) {
    case 0:
        write_flow(random, out, value, ' ');
        break;
    case 1:
        write_flow(random, out, value, '\'');
        break;
    case 2:
        write_flow(random, out, value, '"');
        break;
    case 3:
        write_literal(random, out, value);
        break;
    default:
        write_folded(random, out, value);
        break;
    }
}

static void compare(const pen *out, const scalar *value, const st_yaml_node *node)
{
    if (node == NULL || node->kind != ST_YAML_SCALAR || strcmp(node->text, value->text) != 0)
        fail_msg("%s\nreads as '%s' instead of '%s'", out->text,
                 node != NULL && node->text != NULL ? node->text : "nothing", value->text);
    for (size_t i = 0; i < value->length; i++) {
        bool is_inside = ((unsigned char)value->text[i] & 0xC0) == 0x80;
        bool is_break = value->text[i] == '\n' || value->text[i] == ' ';
        if (is_inside || is_break)
            continue; /* line ends have no character of their own */
        st_place place = st_yaml_place_at(node, i);
        if (place.line != value->line[i] || place.column != value->column[i])
            fail_msg("%s\nbyte %zu of '%s' is said to stand at %d:%d instead of %d:%d", out->text,
                     i, value->text, place.line, place.column, value->line[i], value->column[i]);
    }
}

TEST(every_character_is_found_where_it_was_written)
{
    static pen out;
    static scalar value;
    property_random *random = *state;
    for (int round = 0; round < ROUNDS; round++) {
        memset(&out, 0, sizeof out);
        memset(&value, 0, sizeof value);
        out.line = out.column = 1;
        for (int left = random_between(random, 0, 3); left > 0; left--)
            write_bytes(&out, "# gr\xC3\xBC\xC3\x9F\n");
        write_bytes(&out,
                    random_below(random, 2) == 0 ? "before: [\xC3\xBC, 'x']\nkey: " : "key: ");
        write_scalar(random, &out, &value);
        write_bytes(&out, "\nbehind: 1\n");

        st_arena *arena = st_arena_create();
        const st_yaml_node *root = NULL;
        assert_non_null(arena);
        if (st_yaml_parse("f", out.text, out.length, arena, &root, NULL) != ST_OK)
            fail_msg("refused:\n%s", out.text);
        compare(&out, &value, st_yaml_get(root, "key"));
        const st_yaml_node *behind = st_yaml_get(root, "behind");
        assert_non_null(behind);
        assert_int_equal(behind->place.line, out.line - 1);
        assert_int_equal(behind->place.column, 9);
        st_arena_destroy(arena);
    }
}

static void check_places(const st_yaml_node *node, int lines, int depth)
{
    assert_true(depth <= ST_YAML_MAX_DEPTH + 1);
    assert_true(node->place.line >= 1 && node->place.line <= lines);
    assert_true(node->place.column >= 1);
    for (size_t i = 0; node->kind == ST_YAML_SCALAR && i <= node->length; i++) {
        st_place place = st_yaml_place_at(node, i);
        assert_true(place.line >= node->place.line && place.line <= lines);
        assert_true(place.column >= 1);
    }
    for (size_t i = 0; node->kind != ST_YAML_SCALAR && i < node->count; i++)
        check_places(node->items[i], lines, depth + 1);
}

/* A valid file with some bytes changed: every place lies inside the file. */
TEST(mangled_files_are_read_or_refused)
{
    static const char *const start = "a: &x [1, 'it''s', \"q\\x41\\u00e9\"]\nb: *x\nc: |\n  d\n\n"
                                     "  e\nf: >-\n  g\n  h\ni:\n  - j: k l\n      m\n  - {n: o}\n";
    static const char letters[] = "[]{}&*!|>'\"%@`#,:-? \n\t\r\\x0\xC3\xBC";
    property_random *random = *state;
    st_errors *errors = st_errors_create();
    assert_non_null(errors);
    for (int round = 0; round < 4 * ROUNDS; round++) {
        char text[256];
        size_t length = strlen(start);
        (void)snprintf(text, sizeof text, "%s", start);
        for (int i = random_between(random, 1, 6); i > 0; i--)
            text[random_below(random, length)] = letters[random_below(random, sizeof letters - 1)];
        int lines = 1;
        for (size_t i = 0; i < length; i++)
            lines += text[i] == '\n' || text[i] == '\r';
        st_arena *arena = st_arena_create();
        const st_yaml_node *root = NULL;
        assert_non_null(arena);
        st_status status = st_yaml_parse("f", text, length, arena, &root, errors);
        assert_int_equal(status, st_errors_status(errors));
        assert_true(status != ST_OK || root != NULL);
        if (status != ST_OK && root != NULL)
            assert_non_null(strstr(st_errors_at(errors, 0)->message, "appears twice"));
        if (root != NULL)
            check_places(root, lines, 1);
        for (size_t i = 0; i < st_errors_size(errors); i++)
            if (st_errors_at(errors, i)->place.line > lines)
                fail_msg("line %d of\n%.*s", st_errors_at(errors, i)->place.line, (int)length,
                         text);
        st_errors_clear(errors);
        st_arena_destroy(arena);
    }
    st_errors_destroy(errors);
}

TESTS_WITH(yaml_places, property_setup, NULL);
