/* SPDX-License-Identifier: Apache-2.0 */
/* One tree as text, JSON and CSV. */
#include "report_support.h"

#include "base/result.h"

#include <math.h>

typedef struct held_tree {
    st_arena *arena;
    st_result result;
    st_node *root;
} held_tree;

static int begin(void **state)
{
    static held_tree own;
    own.arena = st_arena_create();
    own.root = st_result_begin(&own.result, own.arena);
    *state = &own;
    return own.arena == NULL;
}

static int end(void **state)
{
    held_tree *own = *state;
    st_arena_destroy(own->arena);
    return 0;
}

static void assert_form(const st_result *result, st_form form, const char *expected)
{
    st_buffer buffer = {0};
    st_result_write(result, form, &plain, &buffer);
    assert_text(&buffer, expected);
}

#define HEAD "{\n  \"schema_version\": 1,\n  \"steptime\": \"" STEPTIME_VERSION "\""

TEST_OF(values_keep_their_kind, held_tree *own, begin, end)
{
    st_unit rate = st_unit_one();
    assert_int_equal(st_unit_parse("GB/s", 4, (st_place){0}, &rate, NULL), ST_OK);
    st_put_text(own->root, "text", "a \"b\"");
    st_put_text(own->root, "absent", NULL);
    st_put_text_or_null(own->root, "empty", "");
    st_put_format(own->root, "format", "%d of %s", 23, "85");
    st_put_bool(own->root, "truth", true);
    st_put_count(own->root, "count", 18446744073709551615U);
    st_put_number(own->root, "number", 0.1 + 0.2);
    st_put_number(own->root, "infinite", (double)INFINITY);
    st_put_quantity(own->root, "rate", 2.385e9, &rate);
    st_put_seconds(own->root, "time", 0.002385);
    st_put_seconds(own->root, "unknown", (double)NAN);
    st_put_place(own->root, "place", (st_place){"job.yaml", 12, 3});
    st_put_place(own->root, "line", (st_place){"job.yaml", 12, 0});
    st_put_place(own->root, "file", (st_place){"job.yaml", 0, 0});
    st_put_place(own->root, "nowhere", (st_place){0});
    st_put_text(own->root, ".hidden", "only text");
    assert_form(&own->result, ST_FORM_JSON,
                HEAD ",\n  \"text\": \"a \\\"b\\\"\",\n  \"absent\": null,\n  \"empty\": null,\n"
                     "  \"format\": \"23 of 85\",\n  \"truth\": true,\n"
                     "  \"count\": 18446744073709551615,\n  \"number\": 0.30000000000000004,\n"
                     "  \"infinite\": null,\n  \"rate\": 2.385,\n  \"time\": 0.002385,\n"
                     "  \"unknown\": null,\n  \"place\": \"job.yaml:12:3\",\n"
                     "  \"line\": \"job.yaml:12\",\n  \"file\": \"job.yaml\",\n"
                     "  \"nowhere\": null\n}\n");
    assert_form(&own->result, ST_FORM_TEXT, "");
    assert_form(&own->result, ST_FORM_CSV, "");
}

TEST_OF(maps_and_lists_stand_on_one_line_or_several, held_tree *own, begin, end)
{
    st_node *list = st_put_list(own->root, "list");
    st_put_number(st_put_map(list, NULL), "a", 2.385);
    st_node *line = st_put_line_map(list, NULL);
    st_put_number(st_put_map(line, "b"), "c", 7.31);
    (void)st_put_list(line, "none");
    (void)st_put_map(own->root, "nothing");
    st_put_texts(own->root, "texts", (const char *const[]){"x", "y"}, 2);
    st_put_texts(own->root, "no_texts", NULL, 0);
    assert_form(&own->result, ST_FORM_JSON,
                HEAD ",\n  \"list\": [\n    {\n      \"a\": 2.385\n    },\n"
                     "    {\"b\": {\"c\": 7.31}, \"none\": []}\n  ],\n  \"nothing\": {},\n"
                     "  \"texts\": [\"x\", \"y\"]\n}\n");
}

static const double measured[] = {0.1385, (double)NAN, 0.0207};

/* The row of 0.0207 is left out. */
static void fill_row(const void *context, size_t index, st_node *row)
{
    const double *values = context;
    if (index == 2)
        return;
    st_put_format(row, "name", "row %zu", index);
    st_put_number(row, "share", values[index]);
    st_put_ink(row, ST_INK_BAD);
    st_put_seconds(row, "time", values[0]);
    st_put_text(row, ".note", index == 0 ? "long note, with a comma" : NULL);
}

static const st_table_column columns[] = {
    {.title = "name", .ink = ST_INK_NAME},
    {.title = "change", .look = ST_LOOK_CHANGE, .digits = 1, .none = "-", .right = true},
    {.title = "share", .look = ST_LOOK_DIGITS, .digits = 2, .right = true},
    {.title = "time", .right = true, .split = true},
    {.joined = true},
    {.title = "note", .elastic = true},
};

TEST_OF(one_list_fills_tables_json_and_csv, held_tree *own, begin, end)
{
    st_node *rows = st_put_rows(own->root, "rows", fill_row, measured, 3);
    st_say_fact(own->root, "job", 5, "gpt-3b");
    st_say_fact(own->root, "none", 5, "");
    st_say_title(own->root, "Rows");
    st_table_show(st_say_table(own->root, columns, 6, 2), rows, "name,share,share,time,.note");
    st_say(own->root, "%zu rows\n", (size_t)2);
    st_result_csv(&own->result, "rows", "name,share=portion,.note=note");
    st_result_csv_column(&own->result, "time", "time, s");
    assert_form(&own->result, ST_FORM_TEXT,
                "job  gpt-3b\n\nRows\n"
                "  name    change  share   time     note\n"
                "  row 0  +13.9 %   0.14  138.5 ms  long note, with a comma\n"
                "  row 1        -         138.5 ms\n2 rows\n");
    assert_form(&own->result, ST_FORM_JSON,
                HEAD ",\n  \"rows\": [\n"
                     "    {\"name\": \"row 0\", \"share\": 0.1385, \"time\": 0.1385},\n"
                     "    {\"name\": \"row 1\", \"share\": null, \"time\": 0.1385}\n  ]\n}\n");
    assert_form(&own->result, ST_FORM_CSV,
                "name,portion,note,\"time, s\"\n"
                "row 0,0.1385,\"long note, with a comma\",0.1385\nrow 1,,,0.1385\n");
}

TEST_OF(csv_looks_for_a_column_in_the_maps_around_a_row, held_tree *own, begin, end)
{
    st_node *sources = st_put_list(own->root, "sources");
    for (int i = 0; i < 2; i++) {
        st_node *source = st_put_map(sources, NULL);
        st_put_format(source, "source", "s%d", i);
        st_say(source, "source %d\n", i);
        (void)st_put_rows(source, "rows", fill_row, measured, 1 + (size_t)i);
    }
    st_result_csv(&own->result, "sources/rows", "source,name,share");
    st_result_csv(&own->result, "sources", "source,source,none");
    st_result_csv(&own->result, "absent", "source");
    assert_form(&own->result, ST_FORM_TEXT, "source 0\nsource 1\n");
    assert_form(&own->result, ST_FORM_CSV,
                "source,name,share\ns0,row 0,0.1385\ns1,row 0,0.1385\ns1,row 1,\n"
                "s0,s0,\ns1,s1,\n");
}

static void fill_counted(const void *context, size_t index, st_node *row)
{
    (void)context;
    st_put_count(row, "index", index);
    st_put_format(row, "text", "%zu", index);
}

TEST_WITH(fields_of_maps_in_a_row_are_named_by_their_path, begin, end)
{
    static const st_table_column shape[] = {
        {.ink = ST_INK_NAME}, ST_COLUMN_SHARE(NULL, 1), ST_COLUMN_CHANGE(NULL, 2)};
    held_tree *own = *state;
    st_node *list = st_put_list(own->root, "fits");
    for (size_t i = 0; i < 2; i++) {
        st_node *row = st_put_map(list, NULL);
        st_put_text(row, "name", i == 0 ? "first" : "second");
        st_put_number(row, "errors", i == 0 ? 7.31 : 2.385);
        st_node *held = st_put_map(st_put_map(row, "held_out"), i == 0 ? "errors" : "none");
        st_put_number(held, "mean", 0.1385);
    }
    st_table_show(st_say_table(own->root, shape, ST_COUNT(shape), 2), list,
                  "name,held_out/errors/mean,errors/mean");
    st_result_csv(&own->result, "fits", "name,held_out/errors/mean=mean");
    assert_form(&own->result, ST_FORM_TEXT, "  first   13.9 %  -\n  second       -  -\n");
    assert_form(&own->result, ST_FORM_CSV, "name,mean\nfirst,0.1385\nsecond,\n");
}

TEST_OF(long_lists_are_filled_when_they_are_rendered, held_tree *own, begin, end)
{
    st_node *rows = st_put_rows(own->root, "rows", fill_counted, NULL, 2385);
    size_t count = 0;
    st_row_walk walk = st_rows_begin(rows);
    for (const st_node *row = st_rows_next(&walk); row != NULL; row = st_rows_next(&walk)) {
        char text[ST_QUANTITY_TEXT];
        assert_string_equal(st_item_exact(st_node_find(row, "index", 5), text, sizeof text),
                            st_node_find(row, "text", 4)->text);
        count++;
    }
    st_rows_end(&walk);
    assert_int_equal(count, 2385);
    assert_false(walk.failed);
}

TEST_OF(a_map_is_a_line_of_its_own, held_tree *own, begin, end)
{
    st_buffer buffer = {0};
    st_node *map = st_put_map(own->root, "map");
    st_put_number(map, "a", 2.385);
    (void)st_put_map(map, "b");
    st_node_write_line(map, &buffer);
    assert_text(&buffer, "{\"a\": 2.385, \"b\": {}}\n");
}

TEST_OF(a_failed_tree_is_reported, held_tree *own, begin, end)
{
    st_buffer buffer = {0};
    own->result.failed = true;
    st_result_write(&own->result, ST_FORM_JSON, &plain, &buffer);
    assert_true(buffer.failed);
    st_buffer_free(&buffer);
    st_table_title(NULL, "no table");
    st_table_row(NULL, NULL);
}

TESTS(result);
