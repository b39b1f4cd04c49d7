/* SPDX-License-Identifier: Apache-2.0 */
/* YAML as a tree: what is kept, where it stands, and everything that is refused. */
#include "base_support.h"

#include "base/yaml.h"

#include <time.h>

/* A parsed text with everything that it needs. */
typedef struct fixture {
    st_arena *arena;
    st_errors *errors;
    const st_yaml_node *root;
} fixture;

static int make_fixture(void **state)
{
    fixture *own = calloc(1, sizeof *own);
    if (own == NULL)
        return -1;
    own->arena = st_arena_create();
    own->errors = st_errors_create();
    *state = own;
    return own->arena == NULL || own->errors == NULL ? -1 : 0;
}

static int drop_fixture(void **state)
{
    fixture *own = *state;
    st_arena_destroy(own->arena);
    st_errors_destroy(own->errors);
    free(own);
    return 0;
}

static st_status parse_bytes(fixture *own, const char *text, size_t length)
{
    own->root = NULL;
    /* libyaml and the reader get exactly these bytes, so that a sanitizer sees what lies beyond */
    char *bytes = malloc(length > 0 ? length : 1);
    assert_non_null(bytes);
    memcpy(bytes, text, length);
    st_status status = st_yaml_parse("f", bytes, length, own->arena, &own->root, own->errors);
    free(bytes);
    assert_true(status != ST_OK || own->root != NULL);
    assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_ERROR) > 0, status != ST_OK);
    return status;
}

static st_status parse(fixture *own, const char *text)
{
    return parse_bytes(own, text, strlen(text));
}

static const st_yaml_node *parsed(fixture *own, const char *text)
{
    if (parse(own, text) != ST_OK)
        fail_msg("%s", said(own->errors));
    return own->root;
}

static void assert_place(st_place place, int line, int column)
{
    if (place.line != line || place.column != column)
        fail_msg("%d:%d instead of %d:%d", place.line, place.column, line, column);
    assert_string_equal(place.file, "f");
}

static void assert_scalar(const st_yaml_node *node, const char *text, bool quoted, int line,
                          int column)
{
    assert_non_null(node);
    assert_int_equal(node->kind, ST_YAML_SCALAR);
    assert_string_equal(node->text, text);
    assert_int_equal(node->length, strlen(text));
    assert_int_equal(node->quoted, quoted);
    assert_place(node->place, line, column);
}

TEST_WITH(a_tree_knows_its_texts_and_places, make_fixture, drop_fixture)
{
    const st_yaml_node *root = parsed(*state, "# a sheet\n"
                                              "sheet: ring\n"
                                              "cells:\n"
                                              "  T_dp: {unit: us, 'is': \"V / C\"}\n"
                                              "list:\n"
                                              "  - 2.385\n"
                                              "  - [a, b]\n"
                                              "none:\n");
    assert_int_equal(root->kind, ST_YAML_MAP);
    assert_int_equal(root->count, 4);
    assert_place(root->place, 2, 1);
    assert_string_equal(root->keys[1], "cells");
    assert_place(root->key_places[1], 3, 1);
    assert_scalar(st_yaml_get(root, "sheet"), "ring", false, 2, 8);
    const st_yaml_node *cell = st_yaml_get(st_yaml_get(root, "cells"), "T_dp");
    assert_place(cell->place, 4, 9);
    assert_place(cell->key_places[1], 4, 20);
    assert_scalar(st_yaml_get(cell, "unit"), "us", false, 4, 16);
    assert_scalar(st_yaml_get(cell, "is"), "V / C", true, 4, 26);
    const st_yaml_node *list = st_yaml_get(root, "list");
    assert_int_equal(list->kind, ST_YAML_LIST);
    assert_int_equal(list->count, 2);
    assert_null(list->keys);
    assert_scalar(list->items[0], "2.385", false, 6, 5);
    assert_scalar(list->items[1]->items[1], "b", false, 7, 9);
    assert_scalar(st_yaml_get(root, "none"), "", false, 8, 6);
}

TEST_WITH(nothing_is_found_where_nothing_is, make_fixture, drop_fixture)
{
    const st_yaml_node *root = parsed(*state, "a: 1\nb: [x]\n");
    assert_null(st_yaml_get(root, "c"));
    assert_null(st_yaml_get(root, "A"));
    assert_null(st_yaml_get(st_yaml_get(root, "b"), "x"));
    assert_null(st_yaml_get(st_yaml_get(root, "a"), "1"));
    assert_null(st_yaml_get(NULL, "a"));
}

TEST_OF(the_text_may_go_once_it_is_parsed, fixture *own, make_fixture, drop_fixture)
{
    char text[] = "a: &x 'it''s'\nb: *x\n";
    char file[] = "g.yaml";
    assert_int_equal(st_yaml_parse(file, text, strlen(text), own->arena, &own->root, own->errors),
                     ST_OK);
    memset(text, '#', sizeof text);
    memset(file, '#', sizeof file - 1);
    const st_yaml_node *node = st_yaml_get(own->root, "a");
    assert_string_equal(node->text, "it's");
    assert_string_equal(node->place.file, "g.yaml");
    assert_int_equal(st_yaml_place_at(node, 3).column, 12);
}

TEST_WITH(styles_are_told_apart, make_fixture, drop_fixture)
{
    const st_yaml_node *root = parsed(*state, "plain: true\nsingle: 'true'\ndouble: \"true\"\n"
                                              "literal: |\n  true\nfolded: >-\n  true\n");
    assert_false(st_yaml_get(root, "plain")->quoted);
    assert_true(st_yaml_get(root, "single")->quoted);
    assert_true(st_yaml_get(root, "double")->quoted);
    assert_true(st_yaml_get(root, "literal")->quoted);
    assert_string_equal(st_yaml_get(root, "literal")->text, "true\n");
    assert_true(st_yaml_get(root, "folded")->quoted);
    assert_string_equal(st_yaml_get(root, "folded")->text, "true");
}

TEST_WITH(aliases_stand_for_what_they_name, make_fixture, drop_fixture)
{
    const st_yaml_node *root = parsed(*state, "a: &x [1, &y 2]\nb: *x\nc: {d: *y}\n? *y\n: e\n"
                                              "f: &x 3\ng: *x\n<<: h\n");
    assert_ptr_equal(st_yaml_get(root, "b"), st_yaml_get(root, "a"));
    assert_string_equal(st_yaml_get(st_yaml_get(root, "c"), "d")->text, "2");
    assert_string_equal(st_yaml_get(root, "2")->text, "e");
    assert_string_equal(st_yaml_get(root, "g")->text, "3");  /* the later anchor of that name */
    assert_string_equal(st_yaml_get(root, "<<")->text, "h"); /* a key like any other */
}

TEST_WITH(a_single_scalar_or_list_is_a_document, make_fixture, drop_fixture)
{
    assert_scalar(parsed(*state, "ring"), "ring", false, 1, 1);
    assert_scalar(parsed(*state, "''\n"), "", true, 1, 1);
    assert_int_equal(parsed(*state, "- a\n- b\n")->count, 2);
    assert_int_equal(parsed(*state, "{}\n")->count, 0);
    assert_int_equal(parsed(*state, "%YAML 1.1\n---\n[]\n...\n")->count, 0);
}

TEST_WITH(line_ends_and_marks_of_other_systems_are_read, make_fixture, drop_fixture)
{
    const st_yaml_node *root = parsed(*state, "\xEF\xBB\xBF"
                                              "a: b\r\nc:\r\n  - d\r\n");
    assert_scalar(st_yaml_get(root, "a"), "b", false, 1, 4);
    assert_scalar(st_yaml_get(root, "c")->items[0], "d", false, 3, 5);
    root = parsed(*state, "a: b\rc: d\r");
    assert_scalar(st_yaml_get(root, "c"), "d", false, 2, 4);
}

TEST_WITH(columns_count_characters, make_fixture, drop_fixture)
{
    const st_yaml_node *root =
        parsed(*state, "{gr\xC3\xBC\xC3\x9F: \xE2\x82\xAC, \"\xF0\x9F\x98\x80\": [x, y]}\n");
    assert_scalar(st_yaml_get(root, "gr\xC3\xBC\xC3\x9F"), "\xE2\x82\xAC", false, 1, 8);
    assert_place(root->key_places[1], 1, 11);
    assert_scalar(root->items[1]->items[1], "y", false, 1, 20);
    assert_place(st_yaml_place_at(root->items[0], 3), 1, 9);
}

static const struct {
    const char *text;
    st_status status;
    const char *lines;
} faults[] = {
    {"", ST_ERR_SYNTAX, "f: error: the file is empty\n"},
    {" \n\t\n", ST_ERR_SYNTAX, "f: error: the file is empty\n"},
    {"\xEF\xBB\xBF", ST_ERR_SYNTAX, "f: error: the file is empty\n"},
    {"# only\n# words\n", ST_ERR_SYNTAX,
     "f: error: the file is empty: found nothing but comments\n"},
    {"---\n", ST_ERR_SYNTAX, "f: error: the file is empty: found a document without content\n"},
    {"a: 1\nb: 2\na: 3\n", ST_ERR_NAME,
     "f:3:1: error: key 'a' appears twice; first defined at line 1, column 1\n"},
    {"a: {x: 1, y: 2, 'x': 3}\nb: !!int 1\nc: {d: 1, d: 1}\n", ST_ERR_SYNTAX,
     "f:1:17: error: key 'x' appears twice; first defined at line 1, column 5\n"
     "f:2:4: error: tags have no meaning here: found 'tag:yaml.org,2002:int', expected an untagged "
     "value; quote text that begins with '!'\n"
     "f:3:11: error: key 'd' appears twice; first defined at line 3, column 5\n"},
    {"[a]: 1\n? {b: 2}\n: 3\n", ST_ERR_SYNTAX,
     "f:1:1: error: key must be a name: found a list, expected a name followed by ':'; quote text "
     "that begins with '[' or '{'\n"
     "f:2:3: error: key must be a name: found a map, expected a name followed by ':'; quote text "
     "that begins with '[' or '{'\n"},
    {"a: !mine {b: 1}\n", ST_ERR_SYNTAX,
     "f:1:4: error: tags have no meaning here: found '!mine', expected an untagged value; quote "
     "text that begins with '!'\n"},
    {"a: !x [b]\n", ST_ERR_SYNTAX,
     "f:1:4: error: tags have no meaning here: found '!x', expected an untagged value; quote text "
     "that begins with '!'\n"},
    {"a: *b\n", ST_ERR_NAME,
     "f:1:4: error: unknown anchor '*b'; quote text that begins with '*'\n"},
    {"a: &a [1, *a]\n", ST_ERR_CYCLE,
     "f:1:11: error: alias '*a' refers to a value that contains it\n"},
    {"a: 1\n---\nb: 2\n", ST_ERR_SYNTAX,
     "f:2:1: error: a second document starts here: expected one document in a file\n"},
    {"a:\n\tb: 1\n", ST_ERR_SYNTAX, "f:2:1: error: tab in the indentation; indent with blanks\n"},
    {"a:\n  b: 1\n\tc: 2\n", ST_ERR_SYNTAX,
     "f:3:1: error: tab in the indentation; indent with blanks\n"},
    {"a: b: c\n", ST_ERR_SYNTAX,
     "f:1:5: error: malformed YAML: mapping values are not allowed in this context; quote text "
     "that contains ': ', and check the indentation\n"},
    {"a: @b\n", ST_ERR_SYNTAX,
     "f:1:4: error: malformed YAML: found character that cannot start any token; quote the "
     "text\n"},
    {"a: * b\n", ST_ERR_SYNTAX,
     "f:1:5: error: malformed YAML: did not find expected alphabetic or numeric character while "
     "scanning an alias begun at line 1, column 4; quote text that begins with '*' or '&'\n"},
    {"a:\n    b: 1\n  c: 2\n", ST_ERR_SYNTAX,
     "f:3:3: error: malformed YAML: did not find expected key while parsing a block mapping "
     "begun at line 1, column 1; check the indentation\n"},
    {"a: 1\nbcd\ne: 2\n", ST_ERR_SYNTAX,
     "f:3:1: error: malformed YAML: could not find expected ':' while scanning a simple key "
     "begun at line 2, column 1; write 'key: value'\n"},
    {"a: 'it\n", ST_ERR_SYNTAX,
     "f:2:1: error: malformed YAML: found unexpected end of stream while scanning a quoted "
     "scalar begun at line 1, column 4\n"},
    {"a: [1, 2", ST_ERR_SYNTAX,
     "f:1:9: error: malformed YAML: did not find expected ',' or ']' while parsing a flow sequence "
     "begun at line 1, column 4; close it, or quote text with commas, brackets or braces\n"},
    {"'a' 'b'\n", ST_ERR_SYNTAX,
     "f:1:5: error: malformed YAML: did not find expected <document start>; nothing may follow "
     "a complete value; quote it as a whole\n"},
    {"a: 1\nb: \"x\\0y\"\n", ST_ERR_SYNTAX,
     "f:2:4: error: control character in a text: found U+0000, expected printable text\n"},
    {"a: \"\\e[31m\"\n", ST_ERR_SYNTAX,
     "f:1:4: error: control character in a text: found U+001B, expected printable text\n"},
    {"a: \"\\u202e\"\n", ST_ERR_SYNTAX,
     "f:1:4: error: control character in a text: found U+202E, expected printable text\n"},
    {"a: b\x01\n", ST_ERR_SYNTAX,
     "f:1:5: error: control character in the file: found U+0001, expected text\n"},
    {"a: \xE2\x82\xAC\xE2\x80\xAE\n", ST_ERR_SYNTAX,
     "f:1:5: error: control character in the file: found U+202E, expected text\n"},
    {"a: b\r\nc: \xC3\xBC\xE9t\n", ST_ERR_SYNTAX,
     "f:2:5: error: the file is not UTF-8: found byte 0xE9, expected text encoded as UTF-8\n"},
    {"a: \xC0\x80\n", ST_ERR_SYNTAX,
     "f:1:4: error: the file is not UTF-8: found byte 0xC0, expected text encoded as UTF-8\n"},
    {"a\rb\r\xFF", ST_ERR_SYNTAX,
     "f:3:1: error: the file is not UTF-8: found byte 0xFF, expected text encoded as UTF-8\n"},
    {"\xFF\xFE", ST_ERR_SYNTAX,
     "f: error: the file is not UTF-8: found UTF-16 or UTF-32, expected text encoded as "
     "UTF-8\n"},
    {"\xFE\xFF", ST_ERR_SYNTAX,
     "f: error: the file is not UTF-8: found UTF-16 or UTF-32, expected text encoded as "
     "UTF-8\n"},
};

TEST_OF(faults_have_clear_messages, fixture *own, make_fixture, drop_fixture)
{
    for (size_t i = 0; i < COUNT(faults); i++) {
        st_status status = parse(own, faults[i].text);
        assert_string_equal(said(own->errors), faults[i].lines);
        (void)status;
        assert_int_not_equal(status, ST_OK);
    }
}

TEST_OF(the_status_is_that_of_the_first_fault, fixture *own, make_fixture, drop_fixture)
{
    assert_int_equal(parse(own, "a: 1\na: 2\nb: *c\n"), ST_ERR_NAME);
    st_errors_clear(own->errors);
    assert_int_equal(parse(own, "a: !t &a [*a]\n"), ST_ERR_SYNTAX);
    st_errors_clear(own->errors);
    assert_int_equal(parse(own, "a: &a [*a]\n"), ST_ERR_CYCLE);
}

TEST_OF(bytes_that_are_no_text_are_refused, fixture *own, make_fixture, drop_fixture)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *part;
    } rows[] = {
        {"a: b\0c\n", 7, "f:1:5: error: control character in the file: found U+0000"},
        {"\0", 1, "found U+0000"},
        {"a\0:\0 \0b\0", 8, "found UTF-16 or UTF-32"},
        {"\0a\0:\0 \0b", 8, "found UTF-16 or UTF-32"},
        {"\xFF\xFE\0\0a\0\0\0", 8, "found UTF-16 or UTF-32"},
        {"\0\0\xFE\xFF\0\0\0a", 8, "found UTF-16 or UTF-32"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(parse_bytes(own, rows[i].bytes, rows[i].length), ST_ERR_SYNTAX);
        assert_contains(said(own->errors), rows[i].part);
    }
}

/* `count` times `part`, between `head` and `tail`; the caller frees it. */
static char *repeated(const char *head, const char *part, size_t count, const char *tail)
{
    size_t size = strlen(head) + strlen(part) * count + strlen(tail) + 1;
    char *text = malloc(size);
    assert_non_null(text);
    (void)snprintf(text, size, "%s", head);
    char *end = text + strlen(head);
    for (size_t i = 0; i < count; i++) {
        memcpy(end, part, strlen(part));
        end += strlen(part);
    }
    memcpy(end, tail, strlen(tail) + 1);
    return text;
}

/* Parses the text made by `repeated`; returns what was said. */
static const char *said_about(fixture *own, const char *head, const char *part, size_t count,
                              const char *tail)
{
    char *text = repeated(head, part, count, tail);
    (void)parse(own, text);
    free(text);
    return said(own->errors);
}

TEST_OF(nesting_is_bounded, fixture *own, make_fixture, drop_fixture)
{
    const char *too_deep = "lists and maps are nested too deep: expected at most 32 levels\n";
    assert_string_equal(
        said_about(own, "[[[[[[[[[[[[[[[[", "[", 16, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"), "");
    assert_contains(
        said_about(own, "[[[[[[[[[[[[[[[[", "[", 17, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"),
        too_deep);
    assert_contains(said_about(own, "", "- ", 33, "x\n"), "f:1:65: error: lists and maps");
    assert_string_equal(said_about(own, "", "- ", 32, "x\n"), "");
    /* an alias is as deep as what it names */
    assert_string_equal(
        said_about(own, "- &a [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]\n-", " -", 14, " *a\n"), "");
    assert_contains(said_about(own, "- &a [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]\n-", " -", 16, " *a\n"),
                    too_deep);
}

TEST_OF(the_number_of_values_is_bounded, fixture *own, make_fixture, drop_fixture)
{
    assert_string_equal(said_about(own, "", "- a\n", ST_YAML_MAX_NODES - 1, ""), "");
    assert_int_equal(own->root->count, ST_YAML_MAX_NODES - 1);
    assert_string_equal(said_about(own, "", "- a\n", ST_YAML_MAX_NODES, ""),
                        "f:200000:3: error: the file has too many values: expected at most "
                        "200000\n");
}

TEST_OF(aliases_are_counted_as_if_written_out, fixture *own, make_fixture, drop_fixture)
{
    /* 1001 values under the anchor, taken 199 times, and the rest */
    char *list = repeated("- &a [", "x,", 1000, "]\n");
    assert_string_equal(said_about(own, list, "- *a\n", 198, ""), "");
    assert_int_equal(own->root->count, 199);
    assert_contains(said_about(own, list, "- *a\n", 199, ""),
                    "f:200:3: error: aliases expand to too many values: expected at most 200000 in "
                    "the file\n");
    free(list);
    assert_contains(said_about(own,
                               "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                               "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                               "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                               "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
                               "f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
                               "", 0, ""),
                    "aliases expand to too many values");
}

TEST_OF(the_number_of_anchors_is_bounded, fixture *own, make_fixture, drop_fixture)
{
    assert_string_equal(said_about(own, "", "- &a x\n", ST_YAML_MAX_ANCHORS, ""), "");
    assert_string_equal(said_about(own, "", "- &a x\n", ST_YAML_MAX_ANCHORS + 1, ""),
                        "f:257:3: error: the file has too many anchors: expected at most 256\n");
    assert_contains(said_about(own, "", "- &a [x]\n", ST_YAML_MAX_ANCHORS + 1, ""),
                    "too many anchors");
}

TEST_OF(the_size_is_bounded, fixture *own, make_fixture, drop_fixture)
{
    size_t room = ST_YAML_MAX_BYTES - strlen("a: \n");
    assert_string_equal(said_about(own, "a: ", "b", room, "\n"), "");
    assert_string_equal(said_about(own, "a: ", "b", room + 1, "\n"),
                        "f: error: the file is too large: found 2097153 bytes, expected at most "
                        "2097152 bytes (2 MiB)\n");
}

TEST_OF(many_faults_are_counted, fixture *own, make_fixture, drop_fixture)
{
    char *text = repeated("", "k: 1\n", 70, "");
    assert_int_equal(parse(own, text), ST_ERR_NAME);
    free(text);
    assert_int_equal(st_errors_count(own->errors, ST_SEVERITY_ERROR), 69);
    assert_int_equal(st_errors_size(own->errors), ST_ERRORS_KEPT);
    assert_place(st_errors_at(own->errors, 0)->place, 2, 1);
    assert_place(st_errors_at(own->errors, 49)->place, 51, 1);
}

static const char *const hostile_parts[] = {
    "[",
    "{",
    "- ",
    "? ",
    ": ",
    "&a ",
    "*a ",
    "%",
    "\"",
    "'",
    "\t",
    "[a, ",
    "{a: ",
    "a: b\n",
    "? a\n: b\n",
    "[[],",
    "{[]: ",
    "[?",
    "{? ",
    "x: |\n",
    "!a ",
    "!<",
    "\n",
    "a ",
    "a\n",
    "# \n",
    "- &a\n",
    "[&a x, *a,",
    "\"\\x41",
    "'' ",
    "a:\n",
    "-\n",
    "---\n",
    "...\n",
    "a: ",
    "|\n ",
    ">\n\n a\n",
    "\r",
    "[\n",
    "{x: [",
    "|\n\n",
    "- |\n",
    "\xC3\xBC",
    "- \xC3\xBC\n",
    "? [a]\n: b\n",
    "!!str a: b\n",
};

TEST_OF(hostile_files_cost_little_time, fixture *own, make_fixture, drop_fixture)
{
    for (size_t i = 0; i < COUNT(hostile_parts); i++) {
        size_t count = ST_YAML_MAX_BYTES / strlen(hostile_parts[i]);
        char *text = repeated("", hostile_parts[i], count, "");
        clock_t start = clock();
        (void)parse(own, text);
        double spent_s = (double)(clock() - start) / CLOCKS_PER_SEC;
        free(text);
        st_errors_clear(own->errors);
        st_arena_destroy(own->arena);
        own->arena = st_arena_create();
        assert_non_null(own->arena);
        if (spent_s > 2.5) /* a tenth of that without sanitizers */
            fail_msg("%s: %.1f s", hostile_parts[i], spent_s);
    }
}

TEST_OF(nodes_are_described, fixture *own, make_fixture, drop_fixture)
{
    const st_yaml_node *root =
        parsed(own, "a: 3.5\nb: '3.5'\nc: [1]\nd: {e: 1}\nf:\ng: ''\n"
                    "h: 0123456789012345678901234567890123456789012345678901234567890123456789\n");
    static const char *const rows[][2] = {
        {"a", "'3.5'"},
        {"b", "the text '3.5'"},
        {"c", "a list"},
        {"d", "a map"},
        {"f", "nothing"},
        {"g", "the text ''"},
        {"none", "nothing"},
        {"h", "'012345678901234567890123456789012345678901234567890123456789...'"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(st_yaml_describe(st_yaml_get(root, rows[i][0]), own->errors),
                            rows[i][1]);
}

/* A scalar and where some bytes of its text stand. */
typedef struct place_row {
    const char *text;
    const char *value;
    struct {
        size_t offset;
        int line;
        int column;
    } at[6];
} place_row;

TEST_WITH(bytes_of_a_scalar_are_found_in_the_file, make_fixture, drop_fixture)
{
    static const place_row rows[] = {
        {"k: a + b", "a + b", {{0, 1, 4}, {2, 1, 6}, {4, 1, 8}, {5, 1, 9}, {99, 1, 9}}},
        {"k: \xC3\xBC + x", "\xC3\xBC + x", {{0, 1, 4}, {3, 1, 6}, {5, 1, 8}}},
        {"k:  a +\n  b  \n\n   c",
         "a + b\nc",
         {{0, 1, 5}, {3, 1, 8}, {4, 2, 3}, {5, 2, 4}, {6, 4, 4}, {7, 4, 5}}},
        {"k: a\r\n  b", "a b", {{0, 1, 4}, {2, 2, 3}}},
        {"k: 'it''s\n  so'", "it's so", {{0, 1, 5}, {2, 1, 7}, {3, 1, 9}, {5, 2, 3}, {7, 2, 5}}},
        {"k: ''", "", {{0, 1, 5}}},
        {"k: \"a\\tb\\x41\\u00e9c\"",
         "a\tbA\xC3\xA9"
         "c",
         {{0, 1, 5}, {1, 1, 6}, {2, 1, 8}, {3, 1, 9}, {4, 1, 13}, {6, 1, 19}}},
        {"k: \"\\U0001F600x\"", "\xF0\x9F\x98\x80x", {{0, 1, 5}, {2, 1, 5}, {4, 1, 15}}},
        {"k: \"a\\\n    b\n  c\"", "ab c", {{0, 1, 5}, {1, 2, 5}, {3, 3, 3}, {4, 3, 4}}},
        {"k: \"a \\\n  b\"", "a b", {{0, 1, 5}, {2, 2, 3}}},
        {"k: \"\\\"q\\\\\"", "\"q\\", {{0, 1, 5}, {1, 1, 7}, {2, 1, 8}, {3, 1, 10}}},
        {"k: |\n  a\n    b\n\n  c\n",
         "a\n  b\n\nc\n",
         {{0, 2, 3}, {2, 3, 3}, {4, 3, 5}, {7, 5, 3}, {8, 5, 4}}},
        {"k: |2 # odd\n   a\n", " a\n", {{0, 2, 4}}}, /* the indicator is not followed */
        {"k: >-\n\n  one\n  two\n\n  three\n    more\n  end\n",
         "\none two\nthree\n  more\nend",
         {{1, 3, 3}, {5, 4, 3}, {9, 6, 3}, {15, 7, 3}, {17, 7, 5}, {22, 8, 3}}},
        {"k: &x   a + b", "a + b", {{0, 1, 9}, {4, 1, 13}}},
        {"k: &x # why\n  a", "a", {{0, 2, 3}}},
        {"k: &x\n  'a'", "a", {{0, 2, 4}}},
        {"k: &x |\n  a\n  b", "a\nb", {{0, 2, 3}, {2, 3, 3}}},
    };
    fixture *own = *state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const st_yaml_node *node = st_yaml_get(parsed(own, rows[i].text), "k");
        assert_string_equal(node->text, rows[i].value);
        for (size_t j = 0; j < COUNT(rows[i].at) && rows[i].at[j].line > 0; j++) {
            st_place place = st_yaml_place_at(node, rows[i].at[j].offset);
            if (place.line != rows[i].at[j].line || place.column != rows[i].at[j].column)
                fail_msg("%s: byte %zu at %d:%d", rows[i].text, rows[i].at[j].offset, place.line,
                         place.column);
        }
    }
}

TEST_OF(a_mismatch_gives_the_place_of_the_scalar, fixture *own, make_fixture, drop_fixture)
{
    st_yaml_node node = *st_yaml_get(parsed(own, "k: a + b\n"), "k");
    node.text = "a - b";
    assert_place(st_yaml_place_at(&node, 2), 1, 6);
    assert_place(st_yaml_place_at(&node, 3), 1, 4);
    st_yaml_node folded = *st_yaml_get(parsed(own, "k: a\n  b\n"), "k");
    folded.text = "a-b";
    assert_place(st_yaml_place_at(&folded, 2), 1, 4);
    st_yaml_node literal = *st_yaml_get(parsed(own, "k: |\n  a\n\n\n  b\n"), "k");
    literal.text = "a b\n";
    literal.length = 4;
    assert_place(st_yaml_place_at(&literal, 2), 1, 4);
    const st_yaml_node *list = parsed(own, "[a, b]\n");
    assert_place(st_yaml_place_at(list, 3), 1, 1);
}

/* The first of them counts, so that a reader can go on. */
TEST_OF(a_tree_with_keys_that_appear_twice_is_there, fixture *own, make_fixture, drop_fixture)
{
    assert_int_equal(parse(own, "a: 1\nb: {c: 2, d: 3, c: 4, e: 5, c: 6}\na: 7\nf: 8\n"),
                     ST_ERR_NAME);
    assert_non_null(own->root);
    assert_int_equal(own->root->count, 3);
    assert_string_equal(st_yaml_get(own->root, "a")->text, "1");
    assert_int_equal(own->root->key_places[2].line, 4);
    const st_yaml_node *inner = st_yaml_get(own->root, "b");
    assert_int_equal(inner->count, 3);
    assert_string_equal(inner->items[0]->text, "2");
    assert_string_equal(inner->keys[2], "e");
    assert_string_equal(inner->items[2]->text, "5");
    st_errors_clear(own->errors);
    assert_int_equal(parse(own, "a: 1\na: !x 2\n"), ST_ERR_NAME);
    assert_null(own->root); /* other errors break it */
    st_errors_clear(own->errors);
}

TEST_OF(nothing_stands_behind_the_end, fixture *own, make_fixture, drop_fixture)
{
    const st_yaml_node *root = parsed(own, "a: 1\nbc:");
    assert_int_equal(st_yaml_get(root, "bc")->place.line, 2);
    assert_int_equal(st_yaml_get(root, "bc")->place.column, 4);
}

TESTS(yaml);
