/* SPDX-License-Identifier: Apache-2.0 */
/* YAML as a tree: what is kept, where it stands, and everything that is refused. */
#include "base_support.h"
#include "../support/fixture.h"

#include "../support/text_cases.h"

#include "base/yaml.h"

#include <time.h>

/* A parsed text with everything that it needs. */
FIXTURE(const st_yaml_node *root;, );

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

TEST_WITH(a_tree_knows_its_texts_and_places, set_up, tear_down)
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

TEST_WITH(nothing_is_found_where_nothing_is, set_up, tear_down)
{
    const st_yaml_node *root = parsed(*state, "a: 1\nb: [x]\n");
    assert_null(st_yaml_get(root, "c"));
    assert_null(st_yaml_get(root, "A"));
    assert_null(st_yaml_get(st_yaml_get(root, "b"), "x"));
    assert_null(st_yaml_get(st_yaml_get(root, "a"), "1"));
    assert_null(st_yaml_get(NULL, "a"));
}

TEST_OF(the_text_may_go_once_it_is_parsed, fixture *own, set_up, tear_down)
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

TEST_WITH(styles_are_told_apart, set_up, tear_down)
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

TEST_WITH(aliases_stand_for_what_they_name, set_up, tear_down)
{
    const st_yaml_node *root = parsed(*state, "a: &x [1, &y 2]\nb: *x\nc: {d: *y}\n? *y\n: e\n"
                                              "f: &x 3\ng: *x\n<<: h\n");
    assert_ptr_equal(st_yaml_get(root, "b"), st_yaml_get(root, "a"));
    assert_string_equal(st_yaml_get(st_yaml_get(root, "c"), "d")->text, "2");
    assert_string_equal(st_yaml_get(root, "2")->text, "e");
    assert_string_equal(st_yaml_get(root, "g")->text, "3");  /* the later anchor of that name */
    assert_string_equal(st_yaml_get(root, "<<")->text, "h"); /* a key like any other */
}

TEST_WITH(a_single_scalar_or_list_is_a_document, set_up, tear_down)
{
    assert_scalar(parsed(*state, "ring"), "ring", false, 1, 1);
    assert_scalar(parsed(*state, "''\n"), "", true, 1, 1);
    assert_int_equal(parsed(*state, "- a\n- b\n")->count, 2);
    assert_int_equal(parsed(*state, "{}\n")->count, 0);
    assert_int_equal(parsed(*state, "%YAML 1.1\n---\n[]\n...\n")->count, 0);
}

TEST_WITH(line_ends_and_marks_of_other_systems_are_read, set_up, tear_down)
{
    const st_yaml_node *root = parsed(*state, "\xEF\xBB\xBF"
                                              "a: b\r\nc:\r\n  - d\r\n");
    assert_scalar(st_yaml_get(root, "a"), "b", false, 1, 4);
    assert_scalar(st_yaml_get(root, "c")->items[0], "d", false, 3, 5);
    root = parsed(*state, "a: b\rc: d\r");
    assert_scalar(st_yaml_get(root, "c"), "d", false, 2, 4);
}

TEST_WITH(columns_count_characters, set_up, tear_down)
{
    const st_yaml_node *root =
        parsed(*state, "{gr\xC3\xBC\xC3\x9F: \xE2\x82\xAC, \"\xF0\x9F\x98\x80\": [x, y]}\n");
    assert_scalar(st_yaml_get(root, "gr\xC3\xBC\xC3\x9F"), "\xE2\x82\xAC", false, 1, 8);
    assert_place(root->key_places[1], 1, 11);
    assert_scalar(root->items[1]->items[1], "y", false, 1, 20);
    assert_place(st_yaml_place_at(root->items[0], 3), 1, 9);
}

/* "BYTES | TEXT": where these bytes of the value of k are. */
static const char *answer_places(fixture *own, char *given)
{
    char *text = strstr(given, " | ");
    *text = '\0';
    const st_yaml_node *node = st_yaml_get(parsed(own, text + 3), "k");
    const char *found = st_arena_printf(own->arena, "%s |", node->text);
    for (char *at = given; at < text;) {
        st_place place = st_yaml_place_at(node, strtoul(at, &at, 10));
        found = st_arena_printf(own->arena, "%s %d:%d", found, place.line, place.column);
    }
    return found;
}

static const char *answer(void *context, const char *section, char *given, size_t length)
{
    fixture *own = context;
    if (strncmp(section, "places", 6) == 0)
        return answer_places(own, given);
    assert_int_not_equal(parse_bytes(own, given, length), ST_OK);
    return said(own->errors);
}

TEST_OF(faults_and_places_are_those_of_the_cases, fixture *own, set_up, tear_down)
{
    run_text_rows("tests/unit/cases/yaml.txt", answer, own, own->arena);
}

TEST_OF(the_status_is_that_of_the_first_fault, fixture *own, set_up, tear_down)
{
    assert_int_equal(parse(own, "a: 1\na: 2\nb: *c\n"), ST_ERR_NAME);
    st_errors_clear(own->errors);
    assert_int_equal(parse(own, "a: !t &a [*a]\n"), ST_ERR_SYNTAX);
    st_errors_clear(own->errors);
    assert_int_equal(parse(own, "a: &a [*a]\n"), ST_ERR_CYCLE);
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

TEST_OF(nesting_is_bounded, fixture *own, set_up, tear_down)
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

TEST_OF(the_number_of_values_is_bounded, fixture *own, set_up, tear_down)
{
    assert_string_equal(said_about(own, "", "- a\n", ST_YAML_MAX_NODES - 1, ""), "");
    assert_int_equal(own->root->count, ST_YAML_MAX_NODES - 1);
    assert_string_equal(said_about(own, "", "- a\n", ST_YAML_MAX_NODES, ""),
                        "f:200000:3: error: the file has too many values: expected at most "
                        "200000\n");
}

TEST_OF(aliases_are_counted_as_if_written_out, fixture *own, set_up, tear_down)
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

TEST_OF(the_number_of_anchors_is_bounded, fixture *own, set_up, tear_down)
{
    assert_string_equal(said_about(own, "", "- &a x\n", ST_YAML_MAX_ANCHORS, ""), "");
    assert_string_equal(said_about(own, "", "- &a x\n", ST_YAML_MAX_ANCHORS + 1, ""),
                        "f:257:3: error: the file has too many anchors: expected at most 256\n");
    assert_contains(said_about(own, "", "- &a [x]\n", ST_YAML_MAX_ANCHORS + 1, ""),
                    "too many anchors");
}

TEST_OF(the_size_is_bounded, fixture *own, set_up, tear_down)
{
    size_t room = ST_YAML_MAX_BYTES - strlen("a: \n");
    assert_string_equal(said_about(own, "a: ", "b", room, "\n"), "");
    assert_string_equal(said_about(own, "a: ", "b", room + 1, "\n"),
                        "f: error: the file is too large: found 2097153 bytes, expected at most "
                        "2097152 bytes (2 MiB)\n");
}

TEST_OF(many_faults_are_counted, fixture *own, set_up, tear_down)
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

TEST_OF(hostile_files_cost_little_time, fixture *own, set_up, tear_down)
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

TEST_OF(nodes_are_described, fixture *own, set_up, tear_down)
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

TEST_OF(a_mismatch_gives_the_place_of_the_scalar, fixture *own, set_up, tear_down)
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
TEST_OF(a_tree_with_keys_that_appear_twice_is_there, fixture *own, set_up, tear_down)
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

TEST_OF(nothing_stands_behind_the_end, fixture *own, set_up, tear_down)
{
    const st_yaml_node *root = parsed(own, "a: 1\nbc:");
    assert_int_equal(st_yaml_get(root, "bc")->place.line, 2);
    assert_int_equal(st_yaml_get(root, "bc")->place.column, 4);
}

TESTS(yaml);
